"""training_floor.py — the floor of each part of a training step, from the shapes, for the table and the plot of a profile.

A product has its operations, at what a library's large products sustain. Attention has two products forward and five backward, over half
of the square of scores. All other kernels have their bytes, each tensor read or written once, at the memory's rate.
"""

SHAPES = {"124M": (12, 768), "355M": (24, 1024), "774M": (36, 1280), "1558M": (48, 1600)}  # blocks, channels
SUSTAINED = 650e12  # operations a second
MEMORY = {"NVIDIA H100 80GB HBM3": 3.35e12, "NVIDIA H200": 4.8e12}  # bytes a second
V, PADDED = 50257, 50304

INPUTS = {"qkv": (1, 3), "attention's projection": (1, 1), "MLP's first product": (1, 4), "MLP's second product": (4, 1)}


class Floor:
    def __init__(self, line: dict, parts: set[str]):
        self.layers, self.channels = SHAPES[line["size"]]
        self.batch, self.tokens, self.memory = line["batch"], line["tokens"], MEMORY[line["device"]]
        self.summed = 5 if "GELU, gradient" in parts else 9  # C columns a row of a block, whose sums are gradients of biases

    def operations(self, part: str) -> float:
        """0 for a part that is limited by its bytes."""
        of = part.split(",")[0]
        square = self.channels**2 * self.batch * self.tokens
        if of in INPUTS:
            return 2 * square * INPUTS[of][0] * INPUTS[of][1] * self.layers
        if of == "logits":
            return 2 * self.batch * self.tokens * self.channels * PADDED
        if of == "attention":
            products = 5 if "gradient" in part else 2
            return products * self.batch * self.tokens**2 * self.channels * self.layers
        return 0

    def bytes(self, part: str) -> float:
        rows = self.batch * self.tokens
        tensor = 2 * rows * self.channels  # bf16
        weights = self.layers * (12 * self.channels**2 + 13 * self.channels) + (V + self.tokens + 2) * self.channels
        return {
            "embedding": 2 * tensor,
            "LayerNorm": (2 + 4 * 2 * self.layers) * tensor,
            "GELU": 8 * self.layers * tensor,
            "loss and its gradient": rows * (4 * V + 2 * PADDED),
            "LayerNorm, gradient": (3 + 4 * 2 * self.layers) * tensor,
            "biases, gradient": self.summed * self.layers * tensor,
            "GELU, gradient": 12 * self.layers * tensor,
            "embedding, gradient": 2 * tensor,
            "norm of the gradients": 4 * weights,
            "AdamW": 30 * weights,
        }[part]

    def us(self, part: str) -> float:
        operations = self.operations(part)
        return 1e6 * (operations / SUSTAINED if operations else self.bytes(part) / self.memory)

    def rate(self, part: str, us: float) -> str:
        operations = self.operations(part)
        return f"{operations / us * 1e-6:.0f} TFLOP/s" if operations else f"{self.bytes(part) / us * 1e-3:,.0f} GB/s"
