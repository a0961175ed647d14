"""The CUDA runtime through ctypes: one arena of memory, one stream, graphs and events. It needs no PyTorch."""

import ctypes
import subprocess

NON_BLOCKING, RELAXED = 1, 2  # cudaStreamNonBlocking, cudaStreamCaptureModeRelaxed
L2_CACHE_SIZE = 38  # cudaDevAttrL2CacheSize
ALIGNMENT = 256  # bytes: that of cudaMalloc
ARENA_BYTES, ARENA_SHARE = 20 << 30, 0.5  # the arena's limits: bytes, and fraction of the free memory


class CudaError(RuntimeError):
    """A call of the runtime or a launcher returned an error."""


def aligned(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Device:
    """`library` is a shared library that is linked with libcudart; it gives access to the runtime's functions."""

    def __init__(self, library):
        self.library = library
        self.library.cudaGetErrorString.restype = ctypes.c_char_p
        self.stream = ctypes.c_void_p()
        self.call("cudaStreamCreateWithFlags", ctypes.byref(self.stream), NON_BLOCKING)
        self.start, self.end = self.new_event(), self.new_event()
        self.l2_bytes = self.attribute(L2_CACHE_SIZE)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        self.arena, self.arena_bytes = ctypes.c_void_p(), min(ARENA_BYTES, int(ARENA_SHARE * free.value))
        self.call("cudaMalloc", ctypes.byref(self.arena), ctypes.c_size_t(self.arena_bytes))
        self.used = 0

    def call(self, name, *arguments):
        self.check(getattr(self.library, name)(*arguments), name)

    def check(self, status, what):
        if status:
            self.library.cudaGetLastError()
            raise CudaError(f"{what}: {self.library.cudaGetErrorString(status).decode()}")

    def new_event(self):
        event = ctypes.c_void_p()
        self.call("cudaEventCreate", ctypes.byref(event))
        return event

    def attribute(self, which):
        value = ctypes.c_int()
        self.call("cudaDeviceGetAttribute", ctypes.byref(value), which, 0)
        return value.value

    def allocate(self, size):
        """The address of `size` bytes of the arena. start_over() frees all of them."""
        address = self.arena.value + self.used
        self.used += aligned(size)
        if self.used > self.arena_bytes:
            raise CudaError(f"out of memory: more than {self.arena_bytes >> 20} MiB requested")
        return address

    def start_over(self):
        self.used = 0

    def synchronize(self):
        self.call("cudaStreamSynchronize", self.stream)

    def time_us(self, enqueue, before):
        """Microseconds of the work that `enqueue` puts on the stream. `before` enqueues other work first. The GPU
        executes it while the CPU enqueues the rest, so the figure contains no CPU time."""
        self.call("cudaCtxResetPersistingL2Cache")
        before()
        self.call("cudaEventRecord", self.start, self.stream)
        enqueue()
        self.call("cudaEventRecord", self.end, self.stream)
        self.call("cudaEventSynchronize", self.end)
        milliseconds = ctypes.c_float()
        self.call("cudaEventElapsedTime", ctypes.byref(milliseconds), self.start, self.end)
        return milliseconds.value * 1e3

    def describe(self):
        """The machine, as stored with every figure."""
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
        gpu, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
        version = ctypes.c_int()
        self.call("cudaRuntimeGetVersion", ctypes.byref(version))
        return {"gpu": gpu, "driver": driver, "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}"}


class Graph:
    """A captured graph, instantiated. `owner` is the object that owns the memory of its nodes."""

    def __init__(self, device, launches, captured, owner=None):
        self.device, self.launches, self.owner = device, launches, owner
        self.instance, nodes = ctypes.c_void_p(), ctypes.c_size_t()
        device.call("cudaGraphGetNodes", captured, None, ctypes.byref(nodes))
        if nodes.value < launches:
            raise CudaError(f"{launches} launches became {nodes.value} nodes of the graph: some work is on another stream")
        device.call("cudaGraphInstantiate", ctypes.byref(self.instance), captured, ctypes.c_ulonglong(0))

    def replay(self):
        self.device.call("cudaGraphLaunch", self.instance, self.device.stream)

    def time_us(self, before):
        """Microseconds per launch."""
        return self.device.time_us(self.replay, before) / self.launches

    def close(self):
        self.device.call("cudaGraphExecDestroy", self.instance)
        self.owner = None


def capture(device, launches, launch):
    """The graph of launch(0) ... launch(launches - 1)."""
    captured = ctypes.c_void_p()
    device.call("cudaStreamBeginCapture", device.stream, RELAXED)
    try:
        for i in range(launches):
            launch(i)
    finally:
        ended = device.library.cudaStreamEndCapture(device.stream, ctypes.byref(captured))
    device.check(ended, "cudaStreamEndCapture")
    graph = Graph(device, launches, captured)
    device.call("cudaGraphDestroy", captured)
    return graph
