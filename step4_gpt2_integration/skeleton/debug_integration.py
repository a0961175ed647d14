"""A patch that puts GPT-NeoX's residual adds on one kernel of the course's library, (a + b) + c.

    enable(model, library)      disable(model)

The patched model's numbers are those of the unpatched one, bit for bit.
"""
# This file has four faults. The lab's sheet says how to find them.

import torch
from torch import Tensor
from transformers import GPTNeoXForCausalLM
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXLayer


def three_way_add(library, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """(a + b) + c, rounded to the type after each add; a, b, c: (..., C).

    A launcher takes out, a, b, c, N, C and a stream: addresses of N rows of C elements, one after the other.
    """
    launcher = library.three_way_add_f32 if a.dtype == torch.float32 else library.three_way_add_f16
    out = torch.empty_like(a)
    C = a.shape[-1]
    status = launcher(out.data_ptr(), a.data_ptr(), b.data_ptr(), c.data_ptr(), a.numel() // C, C, None)
    if status != 0:
        raise RuntimeError(f"three_way_add failed with status {status}")
    return out


class PatchedLayer(GPTNeoXLayer):
    """GPTNeoXLayer with its adds in one kernel; hidden_states: (B, T, C)."""

    def forward(self, hidden_states, **arguments):
        attended, _ = self.attention(self.input_layernorm(hidden_states), **arguments)
        attended = self.post_attention_dropout(attended)
        normed = self.post_attention_layernorm(attended + hidden_states)
        widened = self.post_mlp_dropout(self.mlp(normed))
        return three_way_add(self.library, attended, hidden_states, widened)


def enable(model: GPTNeoXForCausalLM, library) -> None:
    """From now on the model's layers add with the library's kernel."""
    PatchedLayer.library = library
    modeling_gpt_neox.GPTNeoXLayer = PatchedLayer


def disable(model: GPTNeoXForCausalLM) -> None:
    """The model as it was."""
    modeling_gpt_neox.GPTNeoXLayer = GPTNeoXLayer
