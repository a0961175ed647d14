"""The classic experiments on fused kernels, each a command; the results are in docs/results/pytorch, what they teach in
docs/pytorch-experiments.md.

    python3 experiments.py fused-norm     LayerNorm with residual at 2560 columns: decode, small and large batch
    python3 experiments.py lone-add       the fused add alone in decode: faster in a micro-benchmark, and end to end?
    python3 experiments.py types          FP32, FP16, torch.compile and the kernels on one GPT-2
    python3 experiments.py softmax-chain  scale, mask and softmax in one kernel against a chain of four
    python3 experiments.py triton         hand-written CUDA against Triton
    python3 experiments.py ablation       each kernel of the ladders: what it gives the op and the model
    python3 experiments.py block-size     the kernels with other numbers of threads per block; builds a library for each number
    python3 experiments.py layouts        contiguous, transposed, strided and misaligned tensors

Options as in benchmark.py; --small is for a try on the CPU. An op is timed in a chain of calls on the same tensors, whose time is
divided by their number: "eager" and "ours" with Python's part, "-graph" as a CUDA graph, which leaves the GPU's part.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.masking_utils import eager_mask

import course_kernels as ck
import measuring
from benchmark import SIZES, TYPES, decode_inputs, decode_step, forward_maker, least_bytes, model_of, sharing
from course_kernels import gpt2_model, gpt_neox_model
from course_kernels.launch import Exchanged
from course_kernels.libraries import Library
from measuring import Graph, Report, in_a_chain, side_by_side
from profile_model import Range, layer_of, launches_of, parts_of, row_of, traced

F = torch.nn.functional
CHAIN = 20


def time_ops(arguments, report: Report, about: dict, functions: dict[str, Callable], least: int, graphs=()) -> None:
    """One cell of functions without arguments: each in a chain of calls, and those named in `graphs` as CUDA graphs too."""
    makers = {name: lambda function=function: in_a_chain(function, CHAIN) for name, function in functions.items()}
    if arguments.device == "cuda":
        for name in graphs:
            makers[f"{name}-graph"] = lambda function=functions[name]: Graph(in_a_chain(function, CHAIN))
    report.cell(about, side_by_side(makers, arguments, repeats=CHAIN), least)


def text_of(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def random(*shape: int, arguments, kind: str) -> Tensor:
    return torch.randn(shape, device=arguments.device, dtype=TYPES[kind])


# ---- ops: how to call them, and the bytes that they move at least ----

EAGER = {
    "softmax": lambda x, r, w, b: F.softmax(x, -1),
    "layer_norm": lambda x, r, w, b: F.layer_norm(x, x.shape[-1:], w, b),
    "layer_norm_residual": lambda x, r, w, b: F.layer_norm(x, x.shape[-1:], w, b) + r,
    "residual_layer_norm": lambda x, r, w, b: (lambda total: (F.layer_norm(total, x.shape[-1:], w, b), total))(x + r),
    "bias_gelu": lambda x, r, w, b: F.gelu(x + b, approximate="tanh"),
    "three_way_add": lambda x, r, w, b: (x + r) + x,
}
CALLS = {  # of a module that has a function of this name: course_kernels, triton_kernels
    "softmax": lambda module, x, r, w, b: module.softmax(x),
    "layer_norm": lambda module, x, r, w, b: module.layer_norm(x, w, b),
    "layer_norm_residual": lambda module, x, r, w, b: module.layer_norm_residual(x, r, w, b),
    "residual_layer_norm": lambda module, x, r, w, b: module.residual_layer_norm(x, r, w, b),
    "bias_gelu": lambda module, x, r, w, b: module.bias_gelu(x, b),
    "three_way_add": lambda module, x, r, w, b: module.three_way_add(x, r, x),
    "causal_softmax": lambda module, x, r, w, b: module.causal_softmax(x, 0.125),
}
TENSORS = {  # read and written at least, each of x's size
    "softmax": 2,
    "layer_norm": 2,
    "layer_norm_residual": 3,
    "residual_layer_norm": 4,
    "bias_gelu": 2,
    "three_way_add": 3,  # x, read once for two arguments, r and the result
    "causal_softmax": 1.5,  # the lower triangle is read, everything is written
}


def calls_of(op: str, inputs: tuple, **modules) -> dict[str, Callable]:
    """The op on these inputs by PyTorch, where it has the op in one expression, and by each module, under its name."""
    functions = {"eager": lambda: EAGER[op](*inputs)} if op in EAGER else {}
    return functions | {name: lambda module=module: CALLS[op](module, *inputs) for name, module in modules.items()}


def least_of(op: str, x: Tensor) -> int:
    """Bytes."""
    return int(TENSORS[op] * x.nbytes)


def inputs_of(shape: tuple[int, ...], arguments, kind: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, residual of this shape; weight, bias: (C)."""
    return tuple(random(*dims, arguments=arguments, kind=kind) for dims in (shape, shape, shape[-1:], shape[-1:]))


def fused_norm(arguments, report: Report) -> None:
    shapes = [(1, 1, 64), (2, 4, 64)] if arguments.small else [(1, 1, 2560), (4, 128, 2560), (32, 512, 2560)]
    for op in ("layer_norm_residual", "residual_layer_norm"):
        for shape in shapes:
            inputs = inputs_of(shape, arguments, arguments.type)
            functions = calls_of(op, inputs, ours=ck)
            if not arguments.small:
                compiled = torch.compile(EAGER[op], dynamic=False)
                functions["compile"] = lambda compiled=compiled, inputs=inputs: compiled(*inputs)
            about = {"experiment": "fused-norm", "op": op, "shape": text_of(shape), "type": arguments.type}
            time_ops(arguments, report, about, functions, least_of(op, inputs[0]), graphs=list(functions))
        measuring.forget(arguments.device)


# ---- the lone add ----


def neox_of(arguments) -> GPTNeoXForCausalLM:
    """Pythia 2.8B's shape, or a small one; random weights."""
    layers, heads, channels = (2, 2, 64) if arguments.small else (32, 32, 2560)
    config = GPTNeoXConfig(
        hidden_size=channels,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * channels,
        vocab_size=512 if arguments.small else 50304,
        max_position_embeddings=2048,
        use_parallel_residual=True,
    )
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(TYPES[arguments.type])
    try:
        with torch.device(arguments.device):
            return GPTNeoXForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(before)


NEOX = {  # by variant: what is enabled
    "sdpa": None,
    "ours-adds": {"adds": True, "norms": False},
    "ours": {"adds": True, "norms": True},
}


def neox_prepared(model: GPTNeoXForCausalLM, variant: str) -> GPTNeoXForCausalLM:
    model = sharing(model)
    model.set_attn_implementation("sdpa")
    choice = NEOX[variant.removesuffix("-graph")]
    return model if choice is None else gpt_neox_model.enable(model, **choice)


def mark_neox(model: GPTNeoXForCausalLM) -> None:
    """Ranges around all of a layer but its adds."""
    Range(model.gpt_neox.embed_in, "row: embedding")
    Range(model.get_output_embeddings(), "row: output layer")
    for number, layer in enumerate(model.gpt_neox.layers):
        Range(layer, f"layer: {number}")
        Range(layer.attention, "row: attention")
        Range(layer.mlp, "row: MLP")
        for norm in (layer.input_layernorm, layer.post_attention_layernorm):
            Range(norm, "row: LayerNorms")


def lone_add(arguments, report: Report) -> None:
    model = neox_of(arguments)
    channels, cached = model.config.hidden_size, 16 if arguments.small else 128
    x, r, h = (random(1, 1, channels, arguments=arguments, kind=arguments.type) for _ in range(3))
    functions = {"eager": lambda: (x + r) + h, "ours": lambda: ck.three_way_add(x, r, h)}
    about = {"experiment": "lone-add", "op": "three_way_add", "shape": text_of(x.shape), "type": arguments.type}
    time_ops(arguments, report, about, functions, 4 * x.nbytes, graphs=["eager", "ours"])

    inputs = decode_inputs(model, 1, cached)
    steps = {}
    for variant in NEOX:
        steps[variant] = lambda variant=variant: decode_step(neox_prepared(model, variant), *inputs)
        if arguments.device == "cuda":
            steps[f"{variant}-graph"] = lambda variant=variant: Graph(decode_step(neox_prepared(model, variant), *inputs))
    about = {"experiment": "lone-add", "size": f"neox {model.config.num_hidden_layers}x{channels}", "batch": 1, "tokens": 1}
    about |= {"cached": cached, "type": arguments.type}
    report.cell(about, side_by_side(steps, arguments))

    for variant in ("sdpa", "ours-adds"):
        marked = neox_prepared(model, variant)
        mark_neox(marked)
        times = 2 if arguments.small else 5
        path = arguments.trace and f"{arguments.trace}.{variant}.json.gz"
        trace = traced(decode_step(marked, *inputs), arguments.device, times, path)
        rows: dict[str, list[float]] = {}
        for name, microseconds, ranges in parts_of(trace, arguments.device):
            rows.setdefault(row_of(ranges), []).append(microseconds)
        report.line(
            {
                **about,
                "experiment": "lone-add-profile",
                "by": variant,
                **launches_of(trace, times),
                "rows": {row: {"ms": round(sum(of) / 1e3 / times, 6), "kernels": len(of) / times} for row, of in rows.items()},
            }
        )


# ---- types ----


def types(arguments, report: Report) -> None:
    size, batch, length = ("tiny", 1, 32) if arguments.small else ("small", 8, 512)
    makers = {}
    for kind in ("f32", "f16"):
        model = model_of(size, arguments.device, kind, length)
        ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)
        for variant in ("sdpa", "ours") if arguments.small else ("sdpa", "compile", "ours"):
            makers[f"{kind} {variant}"] = forward_maker(model, variant, ids, True)
    about = {"experiment": "types", "size": size, "batch": batch, "tokens": length}
    report.cell(about, side_by_side(makers, arguments, energy=True))
    measuring.forget(arguments.device)


# ---- scale, mask and softmax ----


def chain_of_four(scores: Tensor, scale: float, mask: Tensor) -> Tensor:
    """scores: (B, H, T, T); mask: (T, T), 0 or the least number. In a 16-bit type the fourth pass changes the type."""
    scaled = scores * scale
    masked = scaled + mask
    weights = F.softmax(masked, -1, dtype=torch.float32)
    return weights.to(scores.dtype)


def chain_bytes(scores: Tensor) -> int:
    """Read and written by chain_of_four: 2 + 2 passes over the type, then to fp32 and from fp32 to the type."""
    element = scores.element_size()
    return scores.numel() * (2 * element + 2 * element + (element + 4) + (4 + element if element < 4 else 0))


def attention_in_four(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs):
    scale = query.size(-1) ** -0.5 if scaling is None else scaling
    T = query.shape[2]
    mask = attention_mask[0, 0, :T, :T] if attention_mask is not None else torch.zeros((), dtype=query.dtype, device=query.device)
    weights = chain_of_four(torch.matmul(query, key.transpose(-1, -2)), scale, mask)
    return torch.matmul(weights, value).transpose(1, 2), weights


AttentionInterface.register("chain_of_four", attention_in_four)
AttentionMaskInterface.register("chain_of_four", eager_mask)


def softmax_chain(arguments, report: Report) -> None:
    batch, heads, channels = (1, 2, 32) if arguments.small else (8, 12, 64)
    for length in (32,) if arguments.small else (512, 1024):
        scores = random(batch, heads, length, length, arguments=arguments, kind=arguments.type)
        least_number = torch.finfo(scores.dtype).min
        mask = torch.full((length, length), least_number, device=scores.device, dtype=scores.dtype).triu(1)
        scale = channels**-0.5
        functions = {
            "eager": lambda: chain_of_four(scores, scale, mask),
            "ours": lambda: ck.causal_softmax(scores, scale),
        }
        if not arguments.small:
            compiled = torch.compile(chain_of_four, dynamic=False)
            functions["compile"] = lambda: compiled(scores, scale, mask)
        about = {"experiment": "softmax-chain", "op": "causal_softmax", "shape": text_of(scores.shape), "type": arguments.type}
        about |= {"chain_bytes": chain_bytes(scores), "fused_bytes": 2 * scores.nbytes}
        time_ops(arguments, report, about, functions, least_of("causal_softmax", scores), graphs=["eager", "ours"])
        del functions, scores
        measuring.forget(arguments.device)
    for size in ("tiny",) if arguments.small else ("distil", "small"):
        for length in (32,) if arguments.small else (512, 1024):
            model = model_of(size, arguments.device, arguments.type, length)
            ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)

            def maker(variant: str, model=model, ids=ids):
                def make():
                    mine = sharing(model)
                    if variant == "ours":
                        gpt2_model.enable(mine, attention="course_softmax", blocks=False)
                    else:
                        mine.set_attn_implementation("chain_of_four" if variant == "eager" else variant)

                    def call():
                        with torch.no_grad():
                            return mine(ids, use_cache=False, logits_to_keep=1).logits

                    return call

                return make

            about = {"experiment": "softmax-chain", "size": size, "batch": batch, "tokens": length, "type": arguments.type}
            makers = {variant: maker(variant) for variant in ("eager", "ours", "sdpa")}
            report.cell(about, side_by_side(makers, arguments), least_bytes(model, batch * length))
            measuring.forget(arguments.device)


# ---- Triton ----


def against_triton(arguments, report: Report) -> None:
    import triton_kernels as written

    rows = [(4, 64)] if arguments.small else [(1, 768), (8192, 768), (65536, 1600)]
    for op in CALLS:
        for shape in squares_of(arguments) if op == "causal_softmax" else rows:
            inputs = inputs_of(shape, arguments, arguments.type)
            functions = calls_of(op, inputs, triton=written, ours=ck)
            about = {"experiment": "triton", "op": op, "shape": text_of(shape), "type": arguments.type}
            compare(arguments, report, about, functions, least_of(op, inputs[0]))


def squares_of(arguments) -> list[tuple[int, ...]]:
    """The shapes of a causal softmax's scores."""
    return [(1, 2, 32, 32)] if arguments.small else [(8, 12, 1024, 1024)]


def compare(arguments, report: Report, about: dict, functions: dict[str, Callable], least: int) -> None:
    """Times the functions, if they compute the same."""
    try:
        same(about["op"], functions["triton"](), functions["ours"]())
        time_ops(arguments, report, about, functions, least, graphs=list(functions))
    except RuntimeError as error:
        report.line({**about, "by": "triton", "error": str(error)})
        print(error, file=sys.stderr)


def same(op: str, theirs, ours) -> None:
    """Raises RuntimeError where two implementations differ by more than a rounding or two: then a comparison says nothing."""
    pairs = zip(theirs, ours) if isinstance(theirs, tuple) else [(theirs, ours)]
    for their, our in pairs:
        difference = (their.float() - our.float()).abs().max().item()
        largest = our.float().abs().max().item()
        if not difference <= 4 * torch.finfo(our.dtype).eps * max(largest, 1.0):
            raise RuntimeError(f"triton: {op} differs by {difference:.3g} from the kernel, at a largest value of {largest:.3g}")


# ---- ablation ----

LADDERS = {  # by launcher: its op, and the kernels of its ladder
    "layernorm_forward": ("layer_norm", range(1, 7)),
    "residual_layernorm_forward": ("residual_layer_norm", range(1, 7)),
    "softmax_forward": ("softmax", range(1, 7)),
    "bias_gelu_forward": ("bias_gelu", range(1, 5)),
    "three_way_add": ("three_way_add", range(1, 5)),
    "causal_softmax_forward": ("causal_softmax", range(1, 7)),
}
IN_MODEL = ("residual_layernorm_forward", "bias_gelu_forward", "causal_softmax_forward")


def on_rung(
    launcher: str, rung: int, arguments, call: Callable[[], object], library: Library | None = None
) -> Callable[[], object]:
    """The call with this kernel of the ladder in place of the launcher; from another library, if one is given."""
    dtype, device = TYPES[arguments.type], torch.empty(0, device=arguments.device).device
    exchanged = Exchanged(launcher, dtype, device, (library or ck.library(arguments.device)).rung(launcher, dtype, rung))

    def with_it():
        with exchanged:
            return call()

    return with_it


def ablation(arguments, report: Report) -> None:
    kind = arguments.type
    rows = [(4, 64)] if arguments.small else [(8192, 2048), (8192, 2560)]
    for launcher, (op, rungs) in LADDERS.items():
        for shape in squares_of(arguments) if op == "causal_softmax" else rows:
            inputs = inputs_of(shape, arguments, kind)
            ours = calls_of(op, inputs, ours=ck)["ours"]
            results = {}
            for rung in rungs:
                repeated = on_rung(launcher, rung, arguments, in_a_chain(ours, CHAIN))
                results[str(rung)] = lambda repeated=repeated: Graph(repeated) if arguments.device == "cuda" else repeated
            about = {"experiment": "ablation", "op": launcher, "shape": text_of(shape), "type": kind}
            report.cell(about, side_by_side(results, arguments, repeats=CHAIN), least_of(op, inputs[0]))
            del results, inputs, ours
            measuring.forget(arguments.device)

    size, batch, length = ("tiny", 1, 32) if arguments.small else ("small", 16, 1024)
    model = model_of(size, arguments.device, kind, length)
    ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)
    whole = ("eager", "sdpa", "ours", "ours-sdpa", "ours-softmax")
    makers = {variant: forward_maker(model, variant, ids, True) for variant in whole}
    patched = forward_maker(model, "ours-softmax", ids, True)
    for launcher in IN_MODEL:
        for rung in LADDERS[launcher][1]:
            makers[f"{launcher} {rung}"] = lambda of=(launcher, rung): on_rung(*of, arguments, patched())
    about = {"experiment": "ablation", "size": size, "batch": batch, "tokens": length, "type": kind}
    report.cell(about, side_by_side(makers, arguments))


# ---- block size ----

ROOT = Path(__file__).resolve().parents[2]
BLOCK_SIZES = (64, 128, 256, 512)
BLOCK_KERNELS = {  # launcher, and its kernel whose block has the number of threads that the file names
    "softmax_forward": 3,
    "layernorm_forward": 3,
    "residual_layernorm_forward": 4,
    "bias_gelu_forward": 3,
    "three_way_add": 3,
    "causal_softmax_forward": 4,
}


def build_with_block_size(threads: int, kind: str, launchers: Iterable[str]) -> Path:
    """The folder with a new library of these launchers only, by the reference solution with blocks of `threads` threads.

    Raises OSError, subprocess.CalledProcessError."""
    folder = ROOT / "build/pytorch/block-size"
    kernels, made = folder / "kernels", folder / str(threads)
    shutil.copytree(ROOT / "step3_fused/solution", kernels, dirs_exist_ok=True)
    names = [launcher.removesuffix("_forward") for launcher in launchers]
    for name in names:
        file = kernels / f"{name}.cu"
        text, found = re.subn(r"\bthreads_per_block = \d+", f"threads_per_block = {threads}", file.read_text())
        if not found:
            raise OSError(f"{file} does not name threads_per_block")
        file.write_text(text)
    target, variables = made.parent / f"libcourse_kernels_{kind}.so", [f"KERNELS={kernels}", f"PYTORCH_OUT={folder}"]
    variables += [f"PYTORCH_FILES={' '.join(names)}", "PYTORCH_SHIMS="]
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *variables, target], cwd=ROOT, check=True, stdout=sys.stderr)
    made.mkdir(parents=True, exist_ok=True)
    shutil.copy2(target, made)
    return made


def block_size(arguments, report: Report) -> None:
    """Ops in chains as CUDA graphs, and the model with the kernels of IN_MODEL exchanged."""
    if arguments.device != "cuda":
        sys.exit("experiments.py: block-size needs a GPU: the CPU backend does not run a block's warps at the same time")
    kind = arguments.type
    libraries = {threads: Library("cuda", build_with_block_size(threads, "cuda", BLOCK_KERNELS)) for threads in BLOCK_SIZES}
    for launcher, rung in BLOCK_KERNELS.items():
        op = LADDERS[launcher][0]
        shape = (4, 64) if arguments.small else squares_of(arguments)[0] if op == "causal_softmax" else (8192, 2048)
        inputs = inputs_of(shape, arguments, kind)
        ours = calls_of(op, inputs, ours=ck)["ours"]
        results = {}
        for threads, library in libraries.items():
            repeated = on_rung(launcher, rung, arguments, in_a_chain(ours, CHAIN), library)
            results[str(threads)] = lambda repeated=repeated: Graph(repeated)
        about = {"experiment": "block-size", "op": launcher, "rung": rung, "shape": text_of(shape), "type": kind}
        report.cell(about, side_by_side(results, arguments, repeats=CHAIN), least_of(op, inputs[0]))
        del results, inputs, ours
        measuring.forget(arguments.device)

    size, batch, length = ("tiny", 1, 32) if arguments.small else ("small", 16, 1024)
    model = model_of(size, arguments.device, kind, length)
    ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)
    patched = forward_maker(model, "ours-softmax", ids, True)
    for launcher in IN_MODEL:
        rung = BLOCK_KERNELS[launcher]
        makers = {
            str(threads): lambda of=(launcher, rung), library=library: on_rung(*of, arguments, patched(), library)
            for threads, library in libraries.items()
        }
        about = {"experiment": "block-size", "op": launcher, "rung": rung, "size": size, "batch": batch}
        report.cell(about | {"tokens": length, "type": kind}, side_by_side(makers, arguments))


# ---- layouts ----

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "strided": lambda x: torch.stack([x, x], -1)[..., 0],
    "misaligned": lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape),
}


def layouts(arguments, report: Report) -> None:
    shape = (2, 4, 64) if arguments.small else (16, 512, 2560)
    for op in EAGER:
        x, r, w, b = inputs_of(shape, arguments, arguments.type)
        for layout, lay in LAYOUTS.items():
            functions = calls_of(op, (lay(x), r, w, b), ours=ck)
            about = {"experiment": "layouts", "op": op, "shape": text_of(shape), "layout": layout, "type": arguments.type}
            time_ops(arguments, report, about, functions, least_of(op, x))
    measuring.forget(arguments.device)


EXPERIMENTS = {
    "fused-norm": fused_norm,
    "lone-add": lone_add,
    "types": types,
    "softmax-chain": softmax_chain,
    "triton": against_triton,
    "ablation": ablation,
    "block-size": block_size,
    "layouts": layouts,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--type", default="f16", choices=TYPES)
    parser.add_argument("--small", action="store_true", help="tiny shapes, without torch.compile")
    parser.add_argument("--trace", help="lone-add: write Chrome traces to files that begin with this name")
    measuring.add_common(parser)
    arguments = parser.parse_args()
    return measuring.run("experiments.py", arguments, EXPERIMENTS[arguments.experiment])


if __name__ == "__main__":
    sys.exit(main())
