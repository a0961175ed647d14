"""The shared libraries of the course's kernels, loaded with ctypes.

`make pytorch` builds libcourse_kernels_cpu.so (the CPU backend) and libcourse_kernels_cuda.so. They are looked for in

  1. the folder that the environment variable COURSE_KERNELS names,
  2. this package's folder lib/ (pip install copies them there),
  3. build/pytorch/ of the checkout that this file lies in.

The C interface: common/ops/*/contract.h for the launchers, library/library.h for the rest.
"""

import ctypes
import functools
import os
import threading
from pathlib import Path

import torch

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
VERSION = 1  # COURSE_LIBRARY_VERSION

_POINTER, _INT, _FLOAT = ctypes.c_void_p, ctypes.c_int, ctypes.c_float

# The arguments of each launcher before its stream: p a pointer, i an int, f a float.
LAUNCHERS = {
    "softmax_forward": "pp ii",  # out x, N C
    "softmax_backward": "ppp ii",  # dx dout out, N C
    "causal_softmax_forward": "ppp iii f i",  # out x lengths, B H T scale upper
    "causal_softmax_backward": "pppp iii f i",  # dx dout out lengths, B H T scale upper
    "layernorm_forward": "pppppp ii f",  # out mean rstd x weight bias, N C eps
    "layernorm_backward": "pppppppp ii",  # dinp dweight dbias dout x weight mean rstd, N C
    "residual_layernorm_forward": "pppppppp ii f",  # out sum mean rstd x residual weight bias, N C eps
    "residual_layernorm_backward": "ppppppppp ii",  # dinp dweight dbias dout dsum sum weight mean rstd, N C
    "layernorm_residual_forward": "ppppppp ii f",  # out mean rstd x residual weight bias, N C eps
    "layernorm_residual_backward": "pppppppp ii",  # dinp dweight dbias dout x weight mean rstd, N C
    "bias_gelu_forward": "ppp ii",  # out x bias, N C
    "bias_gelu_backward": "ppppp ii",  # dx dbias dout x bias, N C
    "three_way_add": "pppp ii",  # out a b c, N C
    "course_attention_forward": "pppp iiii",  # out lse qkv lengths, B T H D
    "course_attention_backward": "pppppp iiii",  # dqkv delta dout out qkv lse, B T H D
}
_KINDS = {"p": _POINTER, "i": _INT, "f": _FLOAT}
_ALLOCATOR = ctypes.CFUNCTYPE(_POINTER, ctypes.c_size_t, _POINTER)

_NOT_SUPPORTED = 801  # cudaErrorNotSupported: what a skeleton returns


class LibraryMissing(RuntimeError):
    """No library for this kind of device, or one that cannot be used."""


class KernelFailed(RuntimeError):
    """A launcher returned an error."""


def folders() -> list[Path]:
    """Where libraries are looked for, in this order."""
    here = Path(__file__).resolve()
    named = os.environ.get("COURSE_KERNELS")
    return ([Path(named)] if named else []) + [here.parent / "lib", here.parents[3] / "build" / "pytorch"]


def how_to_build(kind: str) -> str:
    """What to run for a library of this kind, for messages. An installed package has a copy of its own."""
    build = f"run make pytorch-{kind} in the course's folder"
    in_place = (Path(__file__).resolve().parents[1] / "pyproject.toml").is_file()
    return build if in_place else f"{build}, and there pip install ./step4_gpt2_integration/pytorch again"


class Library:
    """One loaded library: `kind` is "cpu" or "cuda". Without a folder it is looked for. Raises LibraryMissing."""

    def __init__(self, kind: str, folder: Path | None = None):
        self.kind = kind
        self.folders = [folder] if folder else folders()
        self.path = self._find()
        try:
            self._c = ctypes.CDLL(str(self.path))
            version = self._c.course_library_version()
        except (OSError, AttributeError) as error:
            raise LibraryMissing(f"{self.path} cannot be loaded: {error}. To build it again, {how_to_build(kind)}") from error
        if version != VERSION:
            raise LibraryMissing(f"{self.path} has interface {version}, and this package needs {VERSION}: {how_to_build(kind)}")
        self._c.course_library_sources.restype = ctypes.c_char_p
        self._c.course_library_error.restype = ctypes.c_char_p
        self._c.course_library_error.argtypes = [_INT]
        self._c.course_library_device.argtypes = [_INT]
        self.set_device = self._c.course_library_device
        self.launchers = {key: function for key, function in self._functions()}
        self._workspace = threading.local()
        self.workspace_calls = 0
        self._allocator = _ALLOCATOR(self._allocate)  # kept here, because the library holds its address
        self._c.course_library_allocate_with.argtypes = [_ALLOCATOR]
        self._c.course_library_allocate_with(self._allocator)

    def _find(self) -> Path:
        name = f"libcourse_kernels_{self.kind}.so"
        for folder in self.folders:
            if (folder / name).is_file():
                return folder / name
        looked = ", ".join(map(str, self.folders))
        raise LibraryMissing(f"{name} is not built (looked in {looked}): {how_to_build(self.kind)}")

    def _functions(self):
        for op, arguments in LAUNCHERS.items():
            for dtype, name in TYPES.items():
                try:
                    function = getattr(self._c, f"{op}_{name}")
                except AttributeError:
                    continue  # the library was built without it
                function.restype = _INT
                function.argtypes = [_KINDS[kind] for kind in arguments.replace(" ", "")] + [_POINTER]
                yield (op, dtype), function

    def rung(self, op: str, dtype: torch.dtype, number: int):
        """The launcher of kernel `number` of the op's ladder in the reference solution. Raises LibraryMissing without a ladder."""
        try:
            function = getattr(self._c, f"{op}_{TYPES[dtype]}_rung")
        except AttributeError:
            raise LibraryMissing(f"{self.path} has no ladder of {op}. Without KERNELS, {how_to_build(self.kind)}") from None
        function.restype = _INT
        function.argtypes = [_INT, *self.launchers[op, dtype].argtypes]
        return functools.partial(function, number)

    # ---- the workspace: memory of PyTorch's allocator, which reuses it in the order of the stream ----

    def allocate_tensor(self, size: int) -> torch.Tensor | None:
        """`size` bytes on the current device; None: there is no memory."""
        try:
            return torch.empty(size, dtype=torch.uint8, device=self.kind)
        except RuntimeError:
            return None

    def _allocate(self, size: int, _stream) -> int | None:
        tensor = self.allocate_tensor(size)
        if tensor is None:
            return None  # the launcher returns an error
        self.workspace_calls += 1
        self._workspace.tensors = getattr(self._workspace, "tensors", []) + [tensor]
        return tensor.data_ptr()

    def release_workspace(self) -> None:
        """After a launch: the work is enqueued, so what is allocated next on its stream may reuse the memory."""
        if getattr(self._workspace, "tensors", None):
            self._workspace.tensors = []

    # ---- for people ----

    def sources(self) -> dict[str, str]:
        """The folder that each .cu file of the library comes from."""
        listed = self._c.course_library_sources().decode().split(";")
        return dict(one.strip().split("=", 1) for one in listed if one.strip())

    def failure(self, op: str, dtype: torch.dtype, status: int) -> KernelFailed:
        """The error for a launcher's result other than 0."""
        text = self._c.course_library_error(status).decode()
        advice = ""
        if status == _NOT_SUPPORTED:
            advice = " A kernel that is not written yet returns this: finish it, then run make pytorch again."
        return KernelFailed(f"{op}_{TYPES[dtype]} of {self.path} failed: {text} ({status}).{advice}")


_libraries: dict[str, Library | LibraryMissing] = {}


def library(kind: str) -> Library:
    """The library for tensors on devices of this kind, loaded once. Raises LibraryMissing."""
    loaded = _libraries.get(kind)
    if loaded is None:
        try:
            loaded = Library(kind)
        except LibraryMissing as error:
            loaded = error
        _libraries[kind] = loaded
    if isinstance(loaded, LibraryMissing):
        raise loaded
    return loaded


def forget_libraries() -> None:
    """Look for the libraries again at the next call: after make pytorch, or after a change of COURSE_KERNELS.

    A loaded library stays in the process, so a file that was built again under the same path is not read again.
    """
    _libraries.clear()
