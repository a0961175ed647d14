"""Decoding without end in bounded memory: the cache keeps the first tokens (attention sinks) and a window of the last ones.

    python3 streaming.py --out streaming.jsonl                          both measurements
    python3 streaming.py time --size tiny --window 60 --device cpu      time of a token, GPT-NeoX with random weights
    python3 streaming.py perplexity --window 124                        of the course's tiny GPT-2

Each measurement is made without and with the course's kernels. The setting is that of StreamingLLM (Xiao et al., 2023): positions
count within the cache. A rotary key can be turned to another position, so GPT-NeoX does this exactly. GPT-2 adds its positions to
the embeddings, so a key in the cache keeps the position that it was computed with. There each token that comes to a full cache has
the cache's last position.
"""

import argparse
import statistics
import sys
import time
from contextlib import nullcontext

import torch
import torch.nn.functional as F
import transformers
from transformers import AutoTokenizer, Cache, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.cache_utils import DynamicLayer
from transformers.models.gpt_neox.modeling_gpt_neox import rotate_half

import course_kernels as ck
from course_kernels import gpt2_model, gpt_neox_model
from demo import TINY
from measuring import Report

SIZES = {"tiny": (2, 64, 2), "410m": (24, 1024, 16), "2.8b": (32, 2560, 32)}  # layers, channels, heads, as in Pythia


class SinkLayer(DynamicLayer):
    """Keys and values of the `sinks` first tokens and of the `window` last ones: (B, H, sinks + window, D) when it is full. A new
    token then replaces the oldest one of the window. One query's attention does not depend on the order of the keys."""

    def __init__(self, sinks: int, window: int):
        super().__init__()
        self.sinks, self.most, self.oldest = sinks, sinks + window, sinks

    def is_full(self) -> bool:
        return self.get_seq_length() == self.most

    def update(self, key_states, value_states, *args, **kwargs):
        if not self.is_full():
            return super().update(key_states, value_states, *args, **kwargs)
        self.keys[:, :, self.oldest] = key_states[:, :, 0]
        self.values[:, :, self.oldest] = value_states[:, :, 0]
        self.oldest = self.oldest + 1 if self.oldest + 1 < self.most else self.sinks
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return (self.most, 0) if self.is_full() else super().get_mask_sizes(query_length)


class Stream:
    """A model that reads tokens one after the other. The first call gives it a prompt of at most sinks + window tokens."""

    def __init__(self, model: GPT2LMHeadModel | GPTNeoXForCausalLM, sinks: int, window: int):
        self.model, self.sinks, self.read = model, sinks, 0
        self.cache = Cache(layers=[SinkLayer(sinks, window) for _ in range(model.config.num_hidden_layers)])
        self.turned = None  # the sinks' keys as they were computed, (layers, B, H, sinks, D)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """ids: (B, T), T == 1 but for the prompt. Gives the logits of the next token, (B, V)."""
        first = self.cache.layers[0]
        positions = torch.arange(self.read, self.read + ids.shape[1], device=ids.device)[None]
        if first.is_full():
            if isinstance(self.model, GPTNeoXForCausalLM):
                self._turn_sinks(self.read + 1 - first.most)
            else:
                positions = torch.full_like(positions, first.most - 1)
        out = self.model(ids, past_key_values=self.cache, position_ids=positions, use_cache=True, logits_to_keep=1)
        self.read += ids.shape[1]
        return out.logits[:, -1]

    def _turn_sinks(self, by: int) -> None:
        """Rotates the sinks' keys to positions that are `by` larger, so that they lie just before the window's."""
        if not self.sinks:
            return
        kept = [layer.keys[:, :, : self.sinks] for layer in self.cache.layers]
        if self.turned is None:
            self.turned = torch.stack(kept)
        cos, sin = self.model.gpt_neox.rotary_emb(self.turned, torch.tensor([[by]], device=self.turned.device))
        keys, unturned = self.turned.split([cos.shape[-1], self.turned.shape[-1] - cos.shape[-1]], -1)
        torch._foreach_copy_(kept, list(torch.cat([keys * cos + rotate_half(keys) * sin, unturned], -1)))


def patched(model, by: str):
    """A context in which the model runs as `by` says: "pytorch" or "ours"."""
    patch = gpt_neox_model if isinstance(model, GPTNeoXForCausalLM) else gpt2_model
    return patch.enabled(model) if by == "ours" else nullcontext()


# ---- time of a token ----


def neox_of(size: str, device: str) -> GPTNeoXForCausalLM:
    """Random weights; fp16 on a GPU, fp32 on the CPU."""
    layers, channels, heads = SIZES[size]
    torch.manual_seed(0)
    config = GPTNeoXConfig(
        hidden_size=channels, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * channels
    )
    with torch.device(device):
        model = GPTNeoXForCausalLM(config)
    return model.to(torch.float16 if device == "cuda" else torch.float32).eval()


def time_of_a_token(arguments) -> list[dict]:
    """Wall clock of a token on a full cache, from idle to idle. The two variants take turns, a token each."""
    device = arguments.device
    model = neox_of(arguments.size, device)
    prompt = torch.randint(0, model.config.vocab_size, (1, arguments.sinks + arguments.window), device=device)
    streams, times = {}, {"pytorch": [], "ours": []}
    for by in times:
        streams[by] = Stream(model, arguments.sinks, arguments.window)
        with patched(model, by):
            streams[by](prompt)
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    for step in range(5 + arguments.tokens):
        token = torch.randint(0, model.config.vocab_size, (1, 1), device=device)
        for by, stream in streams.items():
            with patched(model, by):
                wait()
                begin = time.perf_counter()
                stream(token)
                wait()
                ms = (time.perf_counter() - begin) * 1e3
            times[by] += [ms] if step >= 5 else []
    about = {"experiment": "streaming_time", "size": arguments.size, "tokens": arguments.tokens}
    lines = []
    for by, samples in times.items():
        low, *_, high = statistics.quantiles(samples, n=20)
        found = {"by": by, "ms": statistics.median(samples), "p5": low, "p95": high}
        lines.append(about | {name: value if name == "by" else round(value, 5) for name, value in found.items()})
        print(f"{by:>8}: {found['ms']:.3f} ms a token (p5 {low:.3f}, p95 {high:.3f})")
    return lines


# ---- perplexity ----


def sampled_text(model: GPT2LMHeadModel, tokens: int, start: int) -> torch.Tensor:
    """(1, tokens): texts that the model itself draws, each at most as long as its context, one after the other."""
    torch.manual_seed(0)
    length = min(tokens, model.config.n_positions)
    draw = {"do_sample": True, "max_length": length, "pad_token_id": start, "eos_token_id": None}
    first = torch.full((-(-tokens // length), 1), start, device=model.device)
    return model.generate(first, attention_mask=torch.ones_like(first), **draw).view(1, -1)[:, :tokens]


@torch.no_grad()
def streamed_loss(model, ids: torch.Tensor, sinks: int, window: int) -> float:
    """Mean loss of the tokens of ids, (1, T), that come after a full cache."""
    stream, losses = Stream(model, sinks, window), []
    logits = stream(ids[:, : sinks + window])
    for at in range(sinks + window, ids.shape[1]):
        losses.append(F.cross_entropy(logits.float(), ids[:, at]))
        logits = stream(ids[:, at : at + 1])
    return torch.stack(losses).mean().item()


@torch.no_grad()
def recomputed_loss(model, ids: torch.Tensor, kept: int) -> float:
    """The same with the last `kept` tokens read again for each token: what a cache that forgets is compared with."""
    windows = ids[0, :-1].unfold(0, kept, 1)
    logits = torch.cat([model(part, use_cache=False, logits_to_keep=1).logits[:, -1] for part in windows.split(64)])
    return F.cross_entropy(logits.float(), ids[0, kept:]).item()


def perplexity(arguments) -> list[dict]:
    model = GPT2LMHeadModel.from_pretrained(TINY, dtype=torch.float32).to(arguments.device).eval()
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    kept = arguments.sinks + arguments.window
    if arguments.text:
        ids = tokenizer(open(arguments.text).read(), return_tensors="pt").input_ids[:, : kept + arguments.tokens].to(model.device)
    else:
        ids = sampled_text(model, kept + arguments.tokens, model.config.bos_token_id)
    losses = {("pytorch", "window, read again for each token"): recomputed_loss(model, ids, kept)}
    for by in ("pytorch", "ours"):
        for sinks in sorted({0, arguments.sinks}):
            with patched(model, by):
                losses[by, f"{sinks} sinks + window"] = streamed_loss(model, ids, sinks, kept - sinks)
    lines = []
    for (by, cache), loss in losses.items():
        found = torch.tensor(loss).exp().item()
        lines.append({"experiment": "streaming_perplexity", "by": by, "cache": cache, "loss": loss, "perplexity": found})
        print(f"{by:>8}: perplexity {found:.4f}, {cache}, {ids.shape[1] - kept} tokens")
    return lines


MEASUREMENTS = {"time": time_of_a_token, "perplexity": perplexity}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", nargs="?", choices=[*MEASUREMENTS, "both"], default="both")
    parser.add_argument("--size", default="2.8b", choices=SIZES)
    parser.add_argument("--sinks", type=int, default=4)
    parser.add_argument("--window", type=int, default=124)
    parser.add_argument("--tokens", type=int, default=200, help="that are decoded after the cache is full")
    parser.add_argument("--text", metavar="FILE", help="perplexity of this text; default: of one that the model draws")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cuda", "cpu"])
    parser.add_argument("--out", help="append JSON lines to this file")
    arguments = parser.parse_args()
    if arguments.sinks < 0 or arguments.window < 1 or arguments.tokens < 2:
        parser.error("give --sinks of at least 0, --window of at least 1 and --tokens of at least 2")
    transformers.utils.logging.disable_progress_bar()
    ck.run_cpu_tensors_on_the_cpu_backend(True)
    try:
        ck.library(arguments.device)
        report = Report(arguments)
    except (OSError, ck.LibraryMissing) as error:
        print(f"streaming.py: {error}", file=sys.stderr)
        return 2
    for name in MEASUREMENTS if arguments.measurement == "both" else [arguments.measurement]:
        ck.reset_stats()
        with torch.no_grad():
            lines = MEASUREMENTS[name](arguments)
        print(ck.report())
        if not ck.stats()["kernels"]:
            print("streaming.py: no kernel of the course ran, so no figure of `ours` is one", file=sys.stderr)
            return 1
        for line in lines:
            report.line(line | {"sinks": arguments.sinks, "window": arguments.window})
    return 0


if __name__ == "__main__":
    sys.exit(main())
