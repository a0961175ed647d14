"""Causal attention of whole prompts and its gradient: the course's kernels beside PyTorch's scaled_dot_product_attention, with the
backends of cuDNN and of flash attention. Q, K and V are views of one (B, T, 3, H, D) tensor, as a GPT-2 has them. `fixed` is
flash attention's backward pass with sums in a fixed order (torch.use_deterministic_algorithms).

    make pytorch-cuda && python3 tools/peers/attention.py --out attention.jsonl

A line of the file is a cell of one peer and pass: the median time of a call in microseconds, of samples of 8 calls in a row. The
peers take turns, in several rounds. `off` is the largest difference from float64, over the bound of rounding.
"""

import argparse
import datetime
import json
import os
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../step4_gpt2_integration/pytorch"))
import course_kernels as ck

CELLS = [(32, 1024, 12, 64), (8, 4096, 12, 64), (32, 1024, 20, 64), (1, 1024, 12, 64)]  # B, T, H, D
CELLS += [(32, 1024, 6, 128), (8, 4096, 6, 128), (1, 1024, 6, 128)]
CALLS = 8
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def call_of(by, q, k, v):
    if by == "ours":
        return lambda: ck.causal_attention(q, k, v)

    def call():
        with sdpa_kernel(BACKENDS[by]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    return call


def gradient_of(by, q, k, v, dout):
    """A call that gives the gradients of q, k and v. The forward pass is computed once."""
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    with torch.enable_grad():
        out = call_of("flash" if by == "fixed" else by, q, k, v)()

    def call():
        torch.use_deterministic_algorithms(by == "fixed")
        try:
            return torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)
        finally:
            torch.use_deterministic_algorithms(False)

    return call


def microseconds(call, samples):
    times = []
    for _ in range(samples):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end) / CALLS)
    return statistics.median(times)


def weights_of(q, k):
    scores = q @ k.T / q.shape[-1] ** 0.5
    return scores.masked_fill(~torch.ones(len(q), len(q), dtype=torch.bool, device=q.device).tril(), -torch.inf).softmax(-1)


def off(got, q, k, v):
    """Of the first sequence and head, over a bound of rounding: three roundings of the 16-bit type."""
    q, k, v = (x[0, 0].double() for x in (q, k, v))
    weights = weights_of(q, k)
    bound = 3 * torch.finfo(got.dtype).eps * (weights @ v.abs()) + 1e-5
    return ((got[0, :, 0].double() - weights @ v).abs() / bound).max().item()


def gradient_off(got, q, k, v, dout):
    """As `off`, of the three gradients."""
    eps = torch.finfo(q.dtype).eps
    q, k, v, dout = (x.double() for x in (q[0, 0], k[0, 0], v[0, 0], dout[0, :, 0]))
    p = weights_of(q, k)
    dp = dout @ v.T
    delta = (p * dp).sum(-1, keepdim=True)
    root = q.shape[-1] ** 0.5
    ds, most = p * (dp - delta) / root, p * (dp.abs() + (dout.abs() * (p @ v).abs()).sum(-1, keepdim=True)) / root
    exact = [(ds @ k, most @ k.abs()), (ds.T @ q, most.T @ q.abs()), (p.T @ dout, p.T @ dout.abs())]
    return max(((one[0, 0].double() - x).abs() / (3 * eps * bound + 1e-5)).max().item() for one, (x, bound) in zip(got, exact))


def turns(calls, rounds):
    times = {by: [] for by in calls}
    for _ in range(rounds):
        for by, call in calls.items():
            microseconds(call, 2)
            times[by].append(microseconds(call, 10))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FILE", help="a JSON line for each cell and peer is written there")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each peer (default: 5)")
    arguments = parser.parse_args()
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}
    about |= {"date": str(datetime.date.today()), "command": f"tools/peers/attention.py --rounds {arguments.rounds}"}
    torch.utils.deterministic.fill_uninitialized_memory = False
    with open(arguments.out, "w") as file, torch.no_grad():
        for kind, dtype in TYPES.items():
            for B, T, H, D in CELLS:
                heads = torch.randn(B, T, 3, H, D, device="cuda", dtype=dtype).unbind(2)
                q, k, v = (x.transpose(1, 2) for x in heads)
                dout = torch.randn(B, T, H, D, device="cuda", dtype=dtype)
                forward = {by: call_of(by, q, k, v) for by in ("ours", *BACKENDS)}
                backward = {by: gradient_of(by, q, k, v, dout) for by in ("ours", *BACKENDS, "fixed")}
                wrong = {"forward": {by: off(call(), q, k, v) for by, call in forward.items()}}
                wrong["backward"] = {by: gradient_off(call(), q, k, v, dout) for by, call in backward.items()}
                for what, calls in (("forward", forward), ("backward", backward)):
                    for by, times in turns(calls, arguments.rounds).items():
                        line = {"what": "attention", "pass": what, "batch": B, "tokens": T, "heads": H, "channels": D, "type": kind}
                        line |= {"by": by, "us": statistics.median(times), "least": min(times), "most": max(times)}
                        line |= {"off": wrong[what][by]}
                        print(
                            f"{what:9s}{kind:5s}B{B:<3d}T{T:<5d}H{H:<3d}D{D:<4d}{by:6s}{line['us']:8.1f} us"
                            f"  ({min(times):.1f} to {max(times):.1f})  off {line['off']:.2f}"
                        )
                        file.write(json.dumps(line | about) + "\n")
    standard = ck.stats()["standard"]
    if standard:
        print("attention.py: the course's kernel did not run:", standard, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
