"""One cell of gpt2_bench.py with PyTorch and transformers: hf, without changes; compile, compiled, in a CUDA graph."""

import os
import pathlib
import statistics
import time

import torch
import transformers

import gpt2_training
from gpt2_bench import SHAPES, replaced_libraries

CONTEXT, VOCABULARY = 1024, 50257
TYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
FEWEST, MOST, WARM_UP, ROTATION = 5, 4096, 3, 4


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(run, device):
    wait(device)
    start = time.perf_counter()
    run()
    wait(device)
    return time.perf_counter() - start


def sample(run, device, seconds):
    """Seconds of each run, at least FEWEST and `seconds` in all, and the processor seconds of one run."""
    times, processors = [], time.process_time()
    while len(times) < FEWEST or (sum(times) < seconds and len(times) < MOST):
        times.append(timed(run, device))
    return times, (time.process_time() - processors) / len(times)


def open_model(cell, device):
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = cell["type"] == "tf32"
    layers, heads, channels = SHAPES[cell["size"]]
    config = transformers.GPT2Config(n_layer=layers, n_head=heads, n_embd=channels, attn_implementation="sdpa")
    with torch.device(device):
        model = transformers.GPT2LMHeadModel(config)
    return model.to(TYPES[cell["type"]]).eval()


def prompts_of(cell, device):
    return torch.randint(0, VOCABULARY, (ROTATION, cell["batch"], cell["tokens"]), device=device)


# ---- a forward pass over prompts: the logits of the last position ----


PROMPT_WORK = "logits and cache"  # stored with each figure; older ones have no such field: see tools/generated/gpt2-bench


def prompt_pass(model):
    """tokens -> logits, keys and values of all layers. A compiler leaves out what is not returned, and decoding needs the
    cache."""

    def forward(tokens):
        done = model(tokens, use_cache=True, logits_to_keep=1)
        return done.logits, [(layer.keys, layer.values) for layer in done.past_key_values.layers]

    return forward


def measure_prompts(cell, model, arguments):
    prompts, turn = prompts_of(cell, arguments.device), 0
    forward = prompt_pass(model)
    if cell["by"] == "compile":
        forward = torch.compile(forward)

    def run():
        nonlocal turn
        turn += 1
        forward(prompts[turn % ROTATION])

    for _ in range(WARM_UP):
        run()
    times, processors = sample(run, arguments.device, arguments.seconds)
    rate = cell["batch"] * cell["tokens"] / statistics.median(times)
    return times, rate, processors


# ---- decoding ----


def measure_generate(cell, model, arguments, steps):
    """Hugging Face's generate: the time of several steps, without the time of the prompt's pass."""
    prompts = prompts_of(cell, arguments.device)[0]
    mask = torch.ones_like(prompts)
    settings = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "attention_mask": mask}

    def run(count):
        model.generate(prompts, min_new_tokens=count, max_new_tokens=count, **settings)

    run(2)
    few, _ = sample(lambda: run(1), arguments.device, arguments.seconds / 2)
    many, processors = sample(lambda: run(steps), arguments.device, arguments.seconds)
    first = statistics.median(few)
    times = [(seconds - first) / (steps - 1) for seconds in many]
    return times, cell["batch"] / statistics.median(times), processors / steps


class Step:
    """A decoding step over a static cache: it replaces self.token by the next token. It is compiled, and on a GPU one CUDA
    graph."""

    def __init__(self, cell, model, device, steps):
        self.model, self.device, self.start, self.graph = model, device, cell["tokens"], None
        self.cache = transformers.StaticCache(config=model.config, max_cache_len=cell["tokens"] + steps)
        self.token = torch.zeros((cell["batch"], 1), dtype=torch.long, device=device)
        prompts = prompts_of(cell, device)[0]
        self.token.copy_(model(prompts, past_key_values=self.cache, logits_to_keep=1).logits.argmax(-1))
        self.compiled = torch.compile(self.forward)
        for _ in range(WARM_UP):
            self.step()
        self.go_back()
        if device == "cuda":
            self.capture()

    def forward(self, token):
        return self.model(token, past_key_values=self.cache, use_cache=True).logits[:, -1:].argmax(-1)

    def step(self):
        self.token.copy_(self.compiled(self.token))

    def go_back(self):
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(self.start)

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()
        self.go_back()

    def run(self):
        if self.graph:
            self.graph.replay()
        else:
            self.step()


def measure_steps(cell, model, arguments, steps):
    device = arguments.device
    step = Step(cell, model, device, steps)
    times = []
    while len(times) < FEWEST or (sum(times) < arguments.seconds and len(times) < MOST):
        step.go_back()
        times += [timed(step.run, device) for _ in range(steps)]

    def queued():
        step.go_back()
        for _ in range(steps):
            step.run()

    rounds, processors = sample(queued, device, arguments.seconds)
    return times, cell["batch"] * steps / statistics.median(rounds), processors / steps


# ---- a cell ----


def quantile(values, p):
    values = sorted(values)
    place = p * (len(values) - 1)
    first = int(place)
    return values[first] + (place - first) * (values[min(first + 1, len(values) - 1)] - values[first])


def peak_bytes(cell, device, free_before):
    """Peak memory: of the device, with that of libraries; in training, the allocated bytes, which `gpt2 train` prints too.
    On a CPU, that of the process."""
    if device == "cuda" and cell["what"] == "train":
        return torch.cuda.max_memory_reserved()
    if device == "cuda":
        return max(free_before - torch.cuda.mem_get_info()[0], torch.cuda.max_memory_reserved())
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@torch.no_grad()
def measure_inference(cell, arguments, steps):
    model = open_model(cell, arguments.device)
    if cell["what"] == "prompt":
        return measure_prompts(cell, model, arguments)
    decode = measure_generate if cell["by"] == "hf" else measure_steps
    return decode(cell, model, arguments, steps)


def measure(cell, arguments):
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    steps = min(arguments.tokens, CONTEXT - cell["tokens"])
    if cell["tokens"] + (cell["what"] == "decode") > CONTEXT:
        return cell | {"not_measured": f"{cell['tokens']} tokens: the context is {CONTEXT}"}
    device, free = arguments.device, 0
    if device == "cuda":
        torch.zeros(1, device=device)
        free = torch.cuda.mem_get_info()[0]
    try:
        if cell["what"] == "train":
            times, rate, processors = gpt2_training.measure_theirs(cell, arguments)
        else:
            times, rate, processors = measure_inference(cell, arguments, steps)
    except Exception as error:  # the message is stored in place of the figure
        return cell | {"not_measured": (str(error).strip().splitlines() or [type(error).__name__])[0][:200]}
    own = pathlib.Path(torch.__file__).parent
    maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
    replaced = replaced_libraries([own / "lib", own.parent / "nvidia"], maps)
    if replaced:
        return cell | {"not_measured": f"PyTorch loaded {replaced[0]} in place of its own: unset LD_LIBRARY_PATH"}
    work = {"prompt": PROMPT_WORK, "train": gpt2_training.WORK}.get(cell["what"])
    return cell | ({"work": work} if work else {}) | {
        "ms_p5": 1e3 * quantile(times, 0.05),
        "ms_p50": 1e3 * quantile(times, 0.5),
        "ms_p95": 1e3 * quantile(times, 0.95),
        "samples": len(times),
        "tokens_per_s": rate,
        "cpu_ms": 1e3 * processors,
        "bytes": peak_bytes(cell, device, free),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "cpu": device == "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
