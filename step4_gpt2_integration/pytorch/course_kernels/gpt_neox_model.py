"""Hugging Face's GPT-NeoX (Pythia) with its residual adds and LayerNorms on the course's kernels.

    enable(model, adds=True, norms=True)        disable(model)

GPT-NeoX's GELU is the erf form, its heads may have 80 channels and its attention is rotary: these stay PyTorch's. What is
left is little:

    parallel residual   (mlp + attention) + hidden, each sum rounded to the type: one kernel instead of two
    serial residual     attention + hidden, then its LayerNorm: one kernel instead of two
    LayerNorms          one kernel each

The adds keep PyTorch's order and rounding, so with norms=False the hidden states are the unpatched ones bit for bit. As for
GPT-2, the modules and Parameters stay the same objects; a layer becomes a subclass of its class, by which transformers
records hidden states.
"""

import inspect

from torch import Tensor, nn
from transformers import GPTNeoXModel
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXLayer

from .autograd_function import layer_norm, residual_layer_norm, three_way_add
from .gpt2_model import OptimizedLayerNorm
from .patching import for_a_while, is_patched, is_plain, models_of, swap
from .stats import count_standard

_EXPECTED = ["hidden_states", "attention_mask", "position_ids", "use_cache", "layer_past", "position_embeddings", "kwargs"]
if list(inspect.signature(GPTNeoXLayer.forward).parameters)[1:] != _EXPECTED:
    raise ImportError(
        "course_kernels: GPTNeoXLayer.forward of this transformers has other arguments than that of 5.17 to 5.23, for which"
        " gpt_neox_model.py is written. Install one of those: pip install 'transformers>=5.17'"
    )


class OptimizedGPTNeoXLayer(GPTNeoXLayer):
    """GPTNeoXLayer with its adds on the course's kernels; hidden_states: (B, T, C)."""

    def forward(
        self,
        hidden_states,
        attention_mask=None,
        position_ids=None,
        use_cache=False,
        layer_past=None,
        position_embeddings=None,
        **kwargs,
    ):
        attended, _ = self.attention(
            self.input_layernorm(hidden_states),
            attention_mask=attention_mask,
            position_ids=position_ids,
            layer_past=layer_past,
            use_cache=use_cache,
            position_embeddings=position_embeddings,
            **kwargs,
        )
        attended = self.post_attention_dropout(attended)
        if self.use_parallel_residual:
            widened = self.post_mlp_dropout(self.mlp(self.post_attention_layernorm(hidden_states)))
            return three_way_add(widened, attended, hidden_states)
        normed, total = self._add_and_normalize(attended, hidden_states)
        return self.post_mlp_dropout(self.mlp(normed)) + total

    def _add_and_normalize(self, attended: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(LayerNorm(attended + hidden), attended + hidden), both (B, T, C)."""
        norm = self.post_attention_layernorm
        if is_plain(norm, OptimizedLayerNorm):
            return residual_layer_norm(attended, hidden, norm.weight, norm.bias, norm.eps)
        if type(norm) is OptimizedLayerNorm:
            count_standard("residual_layer_norm", "a LayerNorm with hooks")
        total = attended + hidden
        return norm(total), total


def enable(model: nn.Module, adds: bool = True, norms: bool = True) -> nn.Module:
    """Patches every GPTNeoXModel in `model` and returns `model`. A second call changes the choice. Raises TypeError without
    one."""
    disable(model)
    for neox in models_of(model, GPTNeoXModel):
        swapped = []
        for layer in neox.layers:
            if norms:
                swap(layer.input_layernorm, nn.LayerNorm, OptimizedLayerNorm, swapped)
                swap(layer.post_attention_layernorm, nn.LayerNorm, OptimizedLayerNorm, swapped)
            if adds:
                swap(layer, GPTNeoXLayer, OptimizedGPTNeoXLayer, swapped)
        if norms:
            swap(neox.final_layer_norm, nn.LayerNorm, OptimizedLayerNorm, swapped)
        neox.__dict__["_course_patch"] = swapped
    return model


def disable(model: nn.Module) -> nn.Module:
    """Takes the patch off every GPTNeoXModel in `model` and returns `model`. Without a patch it does nothing."""
    for neox in models_of(model, GPTNeoXModel):
        for module, original in neox.__dict__.pop("_course_patch", []):
            module.__class__ = original
    return model


def is_enabled(model: nn.Module) -> bool:
    """Is every GPTNeoXModel in `model` patched?"""
    return is_patched(model, GPTNeoXModel)


enabled = for_a_while(enable, disable)
