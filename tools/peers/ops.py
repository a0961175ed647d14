"""The ops of the benchmark: tensors in the order of the launcher's arguments, their sizes, their bytes.

A cell is one op with one shape and one type. Shapes are (N, C), or (B, H, T) for the causal ops on (B, H, T, T).
"""

from dataclasses import dataclass

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
EPS, SCALE = 1e-5, 0.125


@dataclass(frozen=True)
class Tensor:
    name: str
    written: bool
    shape: str = "NC"  # NC, N, C; T: the lower triangle of an (N, C) tensor, with its diagonal
    type: str = ""  # "": that of the op


def reads(*names, shape="NC", type=""):
    return tuple(Tensor(name, False, shape, type) for name in names)


def writes(*names, shape="NC", type=""):
    return tuple(Tensor(name, True, shape, type) for name in names)


@dataclass(frozen=True)
class Op:
    name: str
    tensors: tuple
    sizes: str = "N C"  # the launcher's arguments after the tensors
    launcher: str = ""  # "": the op's name

    @property
    def causal(self):
        return "T" in self.sizes

    def symbol(self, type):
        return f"{self.launcher or self.name}_{type}"


STATISTICS = {"shape": "N", "type": "f32"}
GRADIENTS = {"shape": "C", "type": "f32"}
CAUSAL_ZERO, CAUSAL_KEEP = "lengths B H T scale zero", "lengths B H T scale keep"

OPS = {
    op.name: op
    for op in [
        Op("softmax_forward", writes("out") + reads("x")),
        Op("softmax_backward", writes("dx") + reads("dout", "out")),
        Op("causal_softmax_forward", writes("out") + reads("x", shape="T"), CAUSAL_ZERO),
        Op("causal_softmax_backward", writes("dx") + reads("dout", "out", shape="T"), CAUSAL_ZERO),
        Op(
            "causal_softmax_forward_keep",
            writes("out", shape="T") + reads("x", shape="T"),
            CAUSAL_KEEP,
            "causal_softmax_forward",
        ),
        Op(
            "causal_softmax_backward_keep",
            writes("dx", shape="T") + reads("dout", "out", shape="T"),
            CAUSAL_KEEP,
            "causal_softmax_backward",
        ),
        Op(
            "layernorm_forward",
            writes("out") + writes("mean", "rstd", **STATISTICS) + reads("x") + reads("weight", "bias", shape="C"),
            "N C eps",
        ),
        Op(
            "layernorm_backward",
            writes("dinp")
            + writes("dweight", "dbias", **GRADIENTS)
            + reads("dout", "x")
            + reads("weight", shape="C")
            + reads("mean", "rstd", **STATISTICS),
        ),
        Op(
            "residual_layernorm_forward",
            writes("out", "sum")
            + writes("mean", "rstd", **STATISTICS)
            + reads("x", "residual")
            + reads("weight", "bias", shape="C"),
            "N C eps",
        ),
        Op(
            "residual_layernorm_backward",
            writes("dinp")
            + writes("dweight", "dbias", **GRADIENTS)
            + reads("dout", "dsum", "sum")
            + reads("weight", shape="C")
            + reads("mean", "rstd", **STATISTICS),
        ),
        Op(
            "layernorm_residual_forward",
            writes("out")
            + writes("mean", "rstd", **STATISTICS)
            + reads("x", "residual")
            + reads("weight", "bias", shape="C"),
            "N C eps",
        ),
        Op(
            "layernorm_residual_backward",
            writes("dinp")
            + writes("dweight", "dbias", **GRADIENTS)
            + reads("dout", "x")
            + reads("weight", shape="C")
            + reads("mean", "rstd", **STATISTICS),
        ),
        Op("bias_gelu_forward", writes("out") + reads("x") + reads("bias", shape="C")),
        Op(
            "bias_gelu_backward",
            writes("dx") + writes("dbias", **GRADIENTS) + reads("dout", "x") + reads("bias", shape="C"),
        ),
        Op("three_way_add", writes("out") + reads("a", "b", "c")),
    ]
}


@dataclass(frozen=True)
class Cell:
    op: Op
    type: str
    shape: tuple

    @property
    def rows(self):
        return self.shape[0] * self.shape[1] * self.shape[2] if self.op.causal else self.shape[0]

    @property
    def columns(self):
        return self.shape[-1]

    @property
    def label(self):
        return "x".join(map(str, self.shape + (self.shape[-1:] if self.op.causal else ())))

    def type_of(self, tensor):
        return tensor.type or self.type

    def elements(self, tensor):
        """Elements of the tensor's buffer. A triangle has the buffer of an (N, C) tensor."""
        return {"N": self.rows, "C": self.columns}.get(tensor.shape, self.rows * self.columns)

    def buffer_bytes(self, tensor):
        return self.elements(tensor) * ELEMENT_BYTES[self.type_of(tensor)]

    def floor_bytes(self, tensor):
        """Bytes of the tensor that must be read or written."""
        if tensor.shape == "T":
            return self.rows * (self.columns + 1) // 2 * ELEMENT_BYTES[self.type]
        return self.buffer_bytes(tensor)

    @property
    def bytes(self):
        return sum(self.floor_bytes(tensor) for tensor in self.op.tensors)

    def large(self, written):
        """The (N, C) tensors that are read, or those that are written. A copy has the same."""
        return [t for t in self.op.tensors if t.written == written and t.shape in ("NC", "T")]

    def size_arguments(self):
        known = {"N": self.rows, "C": self.columns, "eps": EPS, "scale": SCALE, "zero": 0, "keep": 1, "lengths": None}
        if self.op.causal:
            known.update(zip("BHT", self.shape))
        return [known[name] for name in self.op.sizes.split()]
