"""The inputs and outputs of one cell, once for each launch of a batch. Launch i works on set i, so its inputs are not
in the L2 cache. Also the project's own kernels on these sets: the lab's ops, the copies, the one-row kernel."""

import ctypes
import math

from device import aligned
from ops import ELEMENT_BYTES

BATCH_BYTES = 6e9  # moved by a batch: 1.5 ms at 4 TB/s
FEWEST, MOST = 3, 512  # launches in a batch
RSTD = 1.2247  # 1 / standard deviation of the inputs

# The distribution of inputs: offset and scale. All others have offset 0 and scale 1.
SPREAD = {"mean": (0, 0.02), "rstd": (RSTD, 0.02), "weight": (1, 0.1), "bias": (0, 0.1)}


def pointers(addresses):
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)


class Sets:
    def __init__(self, device, cell):
        self.device, self.cell = device, cell
        device.start_over()
        self.scratch = device.allocate(64)  # the output of a copy that only reads
        self.flushed = device.allocate(4 * device.l2_bytes)
        fitting = (device.arena_bytes - device.used) // sum(aligned(cell.buffer_bytes(t)) for t in cell.op.tensors)
        self.count = max(FEWEST, min(MOST, fitting, math.ceil(BATCH_BYTES / cell.bytes)))
        self.addresses = [
            {t.name: device.allocate(cell.buffer_bytes(t)) for t in cell.op.tensors} for _ in range(self.count)
        ]
        for i in range(self.count):
            self.fill(i)
        device.synchronize()

    def fill(self, i):
        """Fills inputs with random numbers, outputs with NaN, accumulated gradients with 0."""
        for number, tensor in enumerate(self.cell.op.tensors):
            address = ctypes.c_void_p(self.addresses[i][tensor.name])
            if tensor.written:
                byte = 0 if tensor.shape == "C" else 0xFF
                size = ctypes.c_size_t(self.cell.buffer_bytes(tensor))
                self.device.call("cudaMemsetAsync", address, byte, size, self.device.stream)
                continue
            offset, scale = SPREAD.get(tensor.name, (0, 1))
            if tensor.name == "out":  # of a softmax: a row sums to 1
                offset, scale = 1 / self.cell.columns, 0.5 / self.cell.columns
            count, type = ctypes.c_size_t(self.cell.elements(tensor)), self.cell.type_of(tensor)
            self.device.call(
                "yardstick_fill",
                *(address, count, ELEMENT_BYTES[type], type == "bf16", i, number),
                *(ctypes.c_float(offset), ctypes.c_float(scale), self.device.stream),
            )

    def flush(self):
        """Fills the L2 cache with other data. It only reads, so no line is dirty."""
        self.copy(0, [self.flushed], [], 4 * self.device.l2_bytes)

    def copy(self, variant, read, write, size, early=False):
        self.device.call(
            "yardstick_copy",
            *(variant, pointers(read), len(read), pointers(write or [self.scratch]), len(write)),
            *(ctypes.c_size_t(size), int(early), self.device.stream),
        )

    @property
    def stream_bytes(self):
        """Bytes of each of a copy's streams: one tensor, or half of one for a causal op."""
        return self.cell.buffer_bytes(self.cell.large(False)[0]) // (2 if self.cell.op.causal else 1) // 16 * 16

    def streams(self, i, written):
        """The addresses that a copy reads or writes. A tensor of a causal op that is needed whole makes two streams."""
        halves = self.cell.op.causal
        return [
            self.addresses[i][tensor.name] + half * self.stream_bytes
            for tensor in self.cell.large(written)
            for half in range(2 if halves and tensor.shape == "NC" else 1)
        ]

    def copies(self):
        """(description, launch) of every copy with as many reads and writes as the op."""
        reads, writes = len(self.streams(0, False)), len(self.streams(0, True))
        for variant in range(self.device.library.yardstick_copies(reads, writes)):
            text = ctypes.create_string_buffer(128)
            self.device.library.yardstick_describe(variant, reads, writes, text, ctypes.c_size_t(128))
            yield text.value.decode(), lambda i, variant=variant, early=False: self.copy(
                variant, self.streams(i, False), self.streams(i, True), self.stream_bytes, early
            )

    def triangles(self):
        """(description, launch) of every copy of the lower triangles. None unless all tensors of the op are triangles."""
        library, cell = self.device.library, self.cell
        if any(tensor.shape != "T" for tensor in cell.op.tensors):
            return
        read, write = ([tensor.name for tensor in cell.large(written)] for written in (False, True))
        sizes = cell.rows // cell.columns, cell.columns, ELEMENT_BYTES[cell.type], self.device.stream
        for variant in range(library.yardstick_triangles()):
            text = ctypes.create_string_buffer(128)
            library.yardstick_describe_triangle(variant, text, ctypes.c_size_t(128))
            yield text.value.decode(), lambda i, variant=variant: self.device.call(
                "yardstick_triangle",
                *(variant, pointers([self.addresses[i][name] for name in read]), len(read)),
                *(ctypes.c_void_p(self.addresses[i][write[0]]), *sizes),
            )

    def launch_row(self, i):
        read, write = self.streams(i, False), self.streams(i, True)
        self.device.call(
            "yardstick_row",
            *(pointers(read), len(read), pointers(write), len(write), self.stream_bytes, self.device.stream),
        )

    def launcher(self, lab, rung=0):
        """A function that launches the lab's op on set i, or None if the lab has no such launcher or rung."""
        symbol = self.cell.op.symbol(self.cell.type) + ("_rung" if rung else "")
        if not hasattr(lab, symbol):
            return None
        function = getattr(lab, symbol)
        sizes = [ctypes.c_float(size) if isinstance(size, float) else size for size in self.cell.size_arguments()]
        if self.cell.op.causal:
            sizes[0] = ctypes.c_void_p()  # lengths: NULL

        def launch(i):
            addresses = [ctypes.c_void_p(self.addresses[i][tensor.name]) for tensor in self.cell.op.tensors]
            arguments = [rung] * bool(rung) + addresses + sizes + [self.device.stream]
            self.device.check(function(*arguments), symbol)

        return launch
