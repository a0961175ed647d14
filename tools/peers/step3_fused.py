"""The cells of lab 3: every op at these shapes, in fp32 and bf16, and in fp16 at a third of the shapes."""

from ops import OPS, Cell

SOFTMAX = [(8192, 1024), (65536, 1024), (16384, 8192), (8192, 32768), (1024, 262144)]
CAUSAL = [(1, 12, 1024), (8, 12, 1024), (4, 25, 1024), (32, 12, 1024)]
LAYERNORM = [
    (1, 768),
    (1, 2560),
    (128, 768),
    (8192, 768),
    (8192, 1600),
    (65536, 768),
    (16384, 4096),
    (8192, 16384),
]
BIAS_GELU = [(8192, 3072), (65536, 3072)]
THREE_WAY_ADD = [(1, 768), (8192, 768), (65536, 768)]
IN_FP16_TOO = {(65536, 1024), (1024, 262144), (8, 12, 1024), (1, 768), (8192, 768), (16384, 4096), (65536, 3072)}

SHAPES = {"softmax": SOFTMAX, "causal": CAUSAL, "bias": BIAS_GELU, "three": THREE_WAY_ADD}


def cells():
    return [
        Cell(op, type, shape)
        for op in OPS.values()
        for shape in SHAPES.get(op.name.split("_")[0], LAYERNORM)
        for type in ("f32", "bf16", "f16")
        if type != "f16" or shape in IN_FP16_TOO
    ]
