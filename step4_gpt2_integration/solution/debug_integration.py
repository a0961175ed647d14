"""A patch that puts GPT-NeoX's residual adds on one kernel of the course's library, (a + b) + c.

    enable(model, library)      disable(model)

The patched model's numbers are those of the unpatched one, bit for bit.
"""
#:swap
#:stub
#: # This file has four faults. The lab's sheet says how to find them.
#:end

import torch
from torch import Tensor
#:swap
from transformers import GPTNeoXForCausalLM
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXLayer
#:stub
#: from transformers import GPTNeoXForCausalLM
#: from transformers.models.gpt_neox import modeling_gpt_neox
#: from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXLayer
#:end


def three_way_add(library, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """(a + b) + c, rounded to the type after each add; a, b, c: (..., C).

    A launcher takes out, a, b, c, N, C and a stream: addresses of N rows of C elements, one after the other.
    """
#:swap
    launcher = {
        torch.float32: library.three_way_add_f32,
        torch.float16: library.three_way_add_f16,
        torch.bfloat16: library.three_way_add_bf16,
    }[a.dtype]
    a, b, c = a.contiguous(), b.contiguous(), c.contiguous()
#:stub
#:     launcher = library.three_way_add_f32 if a.dtype == torch.float32 else library.three_way_add_f16
#:end
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
#:swap
        if not self.use_parallel_residual:
            normed = self.post_attention_layernorm(attended + hidden_states)
            return three_way_add(self.library, attended, hidden_states, self.post_mlp_dropout(self.mlp(normed)))
        normed = self.post_attention_layernorm(hidden_states)
        return three_way_add(self.library, self.post_mlp_dropout(self.mlp(normed)), attended, hidden_states)
#:stub
#:         normed = self.post_attention_layernorm(attended + hidden_states)
#:         widened = self.post_mlp_dropout(self.mlp(normed))
#:         return three_way_add(self.library, attended, hidden_states, widened)
#:end


def enable(model: GPTNeoXForCausalLM, library) -> None:
    """From now on the model's layers add with the library's kernel."""
#:swap
    for layer in model.gpt_neox.layers:
        layer.__class__ = PatchedLayer
        layer.library = library
#:stub
#:     PatchedLayer.library = library
#:     modeling_gpt_neox.GPTNeoXLayer = PatchedLayer
#:end


def disable(model: GPTNeoXForCausalLM) -> None:
    """The model as it was."""
#:swap
    for layer in model.gpt_neox.layers:
        layer.__class__ = GPTNeoXLayer
#:stub
#:     modeling_gpt_neox.GPTNeoXLayer = GPTNeoXLayer
#:end
