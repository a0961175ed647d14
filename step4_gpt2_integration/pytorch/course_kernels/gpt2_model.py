"""Hugging Face's GPT-2 on the course's kernels: on with one line, off with another.

    enable(model)        disable(model)        with enabled(model): ...

A patched model has the same modules and Parameters as before: only the classes of its blocks, MLPs and last LayerNorm are
replaced by subclasses of themselves, and its attention by a name in transformers' interface (attention.py). So state_dict,
optimizers, checkpoints, hooks, DDP and save_pretrained do not see it.

A block then runs

    attention                                       lab 4's fused kernel, or PyTorch's (attention.py)
    residual add + LayerNorm                        one kernel instead of two
    matmul, bias + GELU, matmul                     one kernel instead of those of gelu_new
    residual add + the next block's LayerNorm       one kernel instead of two

The last one is computed a block early. The next block uses it only if it gets the very tensor that this block returned,
unchanged.

In inference with the fused attention a block does not call the modules inside it (gpt2_inference.py), unless one of them has a
hook or was replaced.
"""

import copy
import inspect
import weakref

import torch
from torch import Tensor, nn
from transformers import GPT2Model
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention, GPT2Block
from transformers.pytorch_utils import Conv1D

from .attention import FUSED, SOFTMAX
from .autograd_function import bias_gelu, layer_norm, residual_layer_norm
from .gpt2_inference import Layers, can_infer, infer
from .patching import for_a_while, is_patched, is_plain, models_of, swap
from .stats import count_standard

_TANH_GELU = {"NewGELUActivation", "GELUTanh", "PytorchGELUTanh", "FastGELUActivation"}  # the same function, by class
_EXPECTED = ["self", "hidden_states", "past_key_values", "attention_mask", "encoder_hidden_states", "encoder_attention_mask"]
if list(inspect.signature(GPT2Block.forward).parameters)[: len(_EXPECTED)] != _EXPECTED:
    raise ImportError(
        "course_kernels: GPT2Block.forward of this transformers has other arguments than that of 5.17 to 5.23, for which"
        " gpt2_model.py is written. Install one of those: pip install 'transformers>=5.17'"
    )


def _is_plain_norm(module: nn.Module) -> bool:
    return is_plain(module, nn.LayerNorm, OptimizedLayerNorm) and module.bias is not None


def _is_tanh_gelu(module: nn.Module) -> bool:
    return type(module).__name__ in _TANH_GELU and is_plain(module, type(module))


def _is_idle(dropout: nn.Module) -> bool:
    return is_plain(dropout, nn.Dropout) and not (dropout.training and dropout.p > 0)


class Ready:
    """A LayerNorm's result that was computed before its turn, for one tensor. It is dropped with that tensor."""

    def __init__(self, norm: nn.LayerNorm):
        self.norm = norm
        self._entry: tuple[weakref.ref, tuple, Tensor] | None = None  # one object, so that threads never mix two

    @staticmethod
    def _state_of(tensor: Tensor) -> tuple:
        return None if tensor.is_inference() else tensor._version, torch.is_grad_enabled()

    def put(self, of: Tensor, normed: Tensor) -> None:
        """normed = LayerNorm(of); both (..., C)."""
        self._entry = weakref.ref(of, self._drop), self._state_of(of), normed

    def _drop(self, reference: weakref.ref) -> None:
        entry = self._entry
        if entry is not None and entry[0] is reference:
            self._entry = None

    def take(self, of: Tensor) -> Tensor | None:
        """The result for this very tensor, once. None: there is none, the tensor was written since, or gradients are recorded
        now and were not then, as behind a reentrant checkpoint."""
        entry, self._entry = self._entry, None
        if entry is None or entry[0]() is not of or entry[1] != self._state_of(of):
            return None
        return entry[2]

    def __deepcopy__(self, memo: dict) -> "Ready":
        return Ready(copy.deepcopy(self.norm, memo))

    def __reduce__(self):
        return Ready, (self.norm,)


def _may_compute_ahead(block: nn.Module) -> bool:
    """Not where a block is computed twice (checkpointing), or traced, or where a hook may write its result without a trace."""
    if torch.compiler.is_compiling() or (torch.is_inference_mode_enabled() and block._forward_hooks):
        return False
    if not torch.is_grad_enabled():
        return True
    checkpoints = getattr(block, "gradient_checkpointing", False) and block.training
    return not checkpoints and torch._C._autograd._top_saved_tensors_default_hooks(False) is None


def fused_attention_layer_norm(
    ln_1: nn.LayerNorm, attention: nn.Module, ln_2: nn.LayerNorm, hidden: Tensor, normed: Tensor | None = None, **arguments
) -> tuple[Tensor, Tensor]:
    """The first half of a block. hidden: (B, T, C); normed: ln_1(hidden), if it is known; arguments: the attention's.

    Gives (ln_2(sum), sum) with sum = attention(ln_1(hidden)) + hidden, both (B, T, C).
    """
    if normed is None:
        normed = layer_norm(hidden, ln_1.weight, ln_1.bias, ln_1.eps)
    attended = attention(normed, **arguments)[0]
    return residual_layer_norm(attended, hidden, ln_2.weight, ln_2.bias, ln_2.eps)


class FusedAttentionLayerNorm(nn.Module):
    """LayerNorm, attention, residual add and the next LayerNorm as one module, around modules that exist: their Parameters
    are shared.

    forward(hidden (B, T, C), ...) gives (ln_2(sum), sum), as fused_attention_layer_norm.
    """

    def __init__(self, ln_1: nn.LayerNorm, attention: nn.Module, ln_2: nn.LayerNorm):
        super().__init__()
        self.ln_1, self.attention, self.ln_2 = ln_1, attention, ln_2

    @classmethod
    def of(cls, block: GPT2Block) -> "FusedAttentionLayerNorm":
        """The first half of this block."""
        return cls(block.ln_1, block.attn, block.ln_2)

    def forward(self, hidden: Tensor, **arguments) -> tuple[Tensor, Tensor]:
        return fused_attention_layer_norm(self.ln_1, self.attention, self.ln_2, hidden, **arguments)


class OptimizedLayerNorm(nn.LayerNorm):
    """nn.LayerNorm on the course's kernel; x: (..., C)."""

    def forward(self, x: Tensor) -> Tensor:
        ready = self.__dict__.get("_ready")
        normed = ready.take(x) if ready is not None and not torch.compiler.is_compiling() else None
        return layer_norm(x, self.weight, self.bias, self.eps) if normed is None else normed


class OptimizedGPT2MLP(GPT2MLP):
    """GPT2MLP with its first bias and its GELU in one kernel; x: (..., C)."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        if not (is_plain(self.c_fc, Conv1D) and _is_tanh_gelu(self.act)):
            count_standard("mlp", f"an activation {type(self.act).__name__} after a {type(self.c_fc).__name__}, or hooks")
            return super().forward(hidden_states)
        rows = hidden_states.reshape(-1, hidden_states.shape[-1])
        wide = bias_gelu(torch.mm(rows, self.c_fc.weight), self.c_fc.bias)
        narrow = self.dropout(self.c_proj(wide))
        return narrow.view(*hidden_states.shape[:-1], narrow.shape[-1])


class OptimizedGPT2Block(GPT2Block):
    """GPT2Block on the course's kernels; hidden_states: (B, T, C)."""

    def forward(
        self,
        hidden_states,
        past_key_values=None,
        attention_mask=None,
        encoder_hidden_states=None,
        encoder_attention_mask=None,
        use_cache=False,
        **kwargs,
    ):
        reason = None
        if encoder_hidden_states is not None:
            reason = "cross-attention"
        elif not (_is_plain_norm(self.ln_1) and _is_plain_norm(self.ln_2)):
            reason = "a LayerNorm of another class, without bias, or with hooks"
        if reason is not None:
            count_standard("block", reason)
            return super().forward(
                hidden_states,
                past_key_values,
                attention_mask,
                encoder_hidden_states,
                encoder_attention_mask=encoder_attention_mask,
                use_cache=use_cache,
                **kwargs,
            )
        mine, following = self.__dict__.get("_ready"), self.__dict__.get("_following")
        ahead = _may_compute_ahead(self)
        compute_next = ahead and following is not None and _is_plain_norm(following.norm)
        normed = mine.take(hidden_states) if ahead and mine is not None else None
        if compute_next and can_infer(hidden_states, past_key_values, kwargs):
            layers = _layers_inside(self, following.norm)
            results = layers and infer(layers, hidden_states, normed, past_key_values, attention_mask)
            if results:
                following.put(*results)
                return results[0]
        normed, total = fused_attention_layer_norm(
            self.ln_1,
            self.attn,
            self.ln_2,
            hidden_states,
            normed=normed,
            past_key_values=past_key_values,
            attention_mask=attention_mask,
            use_cache=use_cache,
            **kwargs,
        )
        wide = self.mlp(normed)
        if not compute_next or following.norm.weight.device != wide.device:
            return total + wide
        norm = following.norm
        normed, total = residual_layer_norm(wide, total, norm.weight, norm.bias, norm.eps)
        following.put(total, normed)
        return total


def _layers_inside(block: OptimizedGPT2Block, next_norm: nn.Module) -> Layers | None:
    """What infer() computes with. None: a module of the block does something else or has a hook, and must be called."""
    inside = block._modules
    attention, mlp = inside["attn"], inside["mlp"]
    if not (is_plain(attention, GPT2Attention) and is_plain(mlp, OptimizedGPT2MLP)):
        return None
    if attention.config._attn_implementation != FUSED or not attention.is_causal:
        return None
    of_attention, of_mlp = attention._modules, mlp._modules
    products = of_attention["c_attn"], of_attention["c_proj"], of_mlp["c_fc"], of_mlp["c_proj"]
    for product in products:
        if not is_plain(product, Conv1D):
            return None
    for dropout in (of_attention["attn_dropout"], of_attention["resid_dropout"], of_mlp["dropout"]):
        if not _is_idle(dropout):
            return None
    if not _is_tanh_gelu(of_mlp["act"]):
        return None
    return Layers(inside["ln_1"], *products[:2], inside["ln_2"], *products[2:], next_norm, attention)


# ---- on and off ----

def enable(model: nn.Module, attention: str | None = FUSED, blocks: bool = True) -> nn.Module:
    """Patches every GPT2Model in `model` and returns `model`. A second call changes the choice.

    attention   "course", "course_softmax" (attention.py), or None: the model's own stays
    blocks      LayerNorms, residual adds and GELU on the kernels
    Raises TypeError if there is no GPT2Model, ValueError for another name.
    """
    if attention not in (FUSED, SOFTMAX, None):
        raise ValueError(f'course_kernels: attention is {attention!r}, and must be "{FUSED}", "{SOFTMAX}" or None')
    disable(model)
    for gpt2 in models_of(model, GPT2Model):
        swapped = []
        patch = {"swapped": swapped, "attention": gpt2.config._attn_implementation}
        if blocks:
            for block in gpt2.h:
                swap(block.mlp, GPT2MLP, OptimizedGPT2MLP, swapped)
                swap(block, GPT2Block, OptimizedGPT2Block, swapped)
            swap(gpt2.ln_f, nn.LayerNorm, OptimizedLayerNorm, swapped)
            _link(gpt2)
        if attention is not None:
            gpt2.set_attn_implementation(attention)
        gpt2.__dict__["_course_patch"] = patch
    return model


def _link(gpt2: GPT2Model) -> None:
    """Each optimized block learns whose LayerNorm comes after it. In __dict__, because they are no submodules."""
    blocks = list(gpt2.h)
    for block, follower in zip(blocks, [*blocks[1:], gpt2.ln_f]):
        norm = follower if follower is gpt2.ln_f else follower.ln_1
        if isinstance(block, OptimizedGPT2Block) and isinstance(follower, (OptimizedGPT2Block, OptimizedLayerNorm)):
            block.__dict__["_following"] = follower.__dict__["_ready"] = Ready(norm)


def disable(model: nn.Module) -> nn.Module:
    """Takes the patch off every GPT2Model in `model` and returns `model`. Without a patch it does nothing."""
    for gpt2 in models_of(model, GPT2Model):
        patch = gpt2.__dict__.pop("_course_patch", None)
        if patch is None:
            continue
        for module, original in patch["swapped"]:
            module.__class__ = original
            module.__dict__.pop("_ready", None)
            module.__dict__.pop("_following", None)
        if gpt2.config._attn_implementation != patch["attention"]:
            gpt2.set_attn_implementation(patch["attention"])
    return model


def is_enabled(model: nn.Module) -> bool:
    """Is every GPT2Model in `model` patched?"""
    return is_patched(model, GPT2Model)


enabled = for_a_while(enable, disable)
