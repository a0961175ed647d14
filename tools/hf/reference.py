"""reference.py FOLDER PROMPTS OUT.safetensors — all tensors of Hugging Face's GPT-2 for some prompts, in float64 and float32.

PROMPTS has one prompt per line: token ids separated by blanks ("-": standard input). The model computes each prompt alone,
without padding. The rows of all N tokens are concatenated. OUT holds

    tokens (N), lengths (B)            the prompts
    float64.LAYER.STAGE (N, columns)   each tensor of a forward pass, with the name in gpt2/model/model.h. Layer -1 is the
    float32.LAYER.STAGE                embedding, layer L the end. "decoded logits" are computed token by token with a cache
    greedy (B, G)                      the tokens that float32 generates greedily
    float64.loss, float32.loss (1)     mean loss over each prompt's tokens but the first

and with --gradients the gradients of that mean loss, TYPE.gradient.NAME, and the losses before, between and after --steps steps of
AdamW, TYPE.adamw.losses (learning rate 1e-3, betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.1 on the matrices).
"""

import argparse

from hf import decode_step, fail, greedy, open_model, read_prompts, torch, use_device
from safetensors.torch import save_file

TYPES = {"float64": torch.float64, "float32": torch.float32}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("prompts")
    parser.add_argument("out")
    parser.add_argument("--tokens", type=int, default=200, help="generated greedily (%(default)s)")
    parser.add_argument("--gradients", action="store_true", help="also gradients and training losses")
    parser.add_argument("--steps", type=int, default=10, help="of AdamW (%(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="for the computation (%(default)s)")
    return parser.parse_args()


class Observer:
    """Hooks that store every stage of the passes, in order, until close()."""

    def __init__(self, model):
        self.model, self.stages, self.handles = model, {}, []
        body, last = model.transformer, model.config.n_layer
        # The program divides the queries where Hugging Face divides the scores.
        self.divides_queries = model.config.scale_attn_by_inverse_layer_idx
        self.output(body.drop, -1, "embedding")
        for layer, block in enumerate(body.h):
            self.output(block.ln_1, layer, "ln1")
            self.output(block.attn.c_attn, layer, "qkv")
            self.input(block.attn.c_proj, layer, "attention")
            self.output(block.attn.c_proj, layer, "attention projection")
            self.input(block.ln_2, layer, "residual after attention")
            self.output(block.ln_2, layer, "ln2")
            self.output(block.mlp.act, layer, "gelu")
            self.output(block.mlp.c_proj, layer, "mlp projection")
            self.output(block, layer, "residual after mlp")
        self.output(body.ln_f, last, "final layernorm")
        self.output(model.lm_head, last, "logits")

    def keep(self, layer, stage, value):
        value = value[0] if isinstance(value, tuple) else value
        if stage == "qkv" and self.divides_queries:
            value = value.clone()
            value[..., : self.model.config.n_embd] /= layer + 1
        self.stages.setdefault(f"{layer}.{stage}", []).append(value[0].detach().clone())  # of a batch of one

    def output(self, module, layer, stage):
        self.handles.append(module.register_forward_hook(lambda _, __, out: self.keep(layer, stage, out)))

    def input(self, module, layer, stage):
        self.handles.append(module.register_forward_pre_hook(lambda _, given: self.keep(layer, stage, given[0])))

    def close(self):
        for handle in self.handles:
            handle.remove()
        return {name: torch.cat(rows) for name, rows in self.stages.items()}


@torch.no_grad()
def decoded_logits(model, prompts, step):
    """The logits of every position, each computed from one new token and the cache."""
    rows = []
    for prompt in prompts:
        cache = None
        for token in prompt:
            output = step(model, [token], cache)
            cache = output.past_key_values
            rows.append(output.logits[0])
    return torch.cat(rows)


def mean_loss(logits, prompts):
    """The mean loss over all tokens but the first of each prompt."""
    losses, first = [], 0
    for prompt in prompts:
        rows = logits[first : first + len(prompt) - 1]
        losses.append(torch.nn.functional.cross_entropy(rows, torch.tensor(prompt[1:], dtype=torch.long), reduction="sum"))
        first += len(prompt)
    return torch.stack(losses).sum() / max(1, first - len(prompts))


def states(model, prompts, step=decode_step):
    """Every stage of every prompt's pass, the logits of decoding, and the loss."""
    observer = Observer(model)
    with torch.no_grad():
        for prompt in prompts:
            model(torch.tensor([prompt]), use_cache=False)
    found = observer.close()
    last = model.config.n_layer
    found[f"{last}.decoded logits"] = decoded_logits(model, prompts, step)
    found["loss"] = mean_loss(found[f"{last}.logits"], prompts).reshape(1)
    return found


def gradients(model, prompts, steps):
    """The gradients of the mean loss, and the losses of `steps` steps of AdamW."""
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=1e-3, betas=(0.9, 0.999), eps=1e-8,
    )  # fmt: skip
    found, losses = {}, []
    for number in range(steps + 1):
        loss = mean_loss(torch.cat([model(torch.tensor([prompt])).logits[0] for prompt in prompts]), prompts)
        losses.append(loss.detach())
        if number == steps:
            break
        optimizer.zero_grad()
        loss.backward()
        if number == 0:
            for name, tensor in model.named_parameters():
                found[f"gradient.{name.removeprefix('transformer.')}"] = tensor.grad.clone()
        optimizer.step()
    return found | {"adamw.losses": torch.stack(losses)}


def dump(model, prompts, tokens, path, step=decode_step, more=None):
    """Writes OUT. `step` decodes one token. `more` returns further tensors for each type."""
    room = model.config.n_positions - max(map(len, prompts))
    out = {
        "tokens": torch.tensor([token for prompt in prompts for token in prompt], dtype=torch.int32),
        "lengths": torch.tensor([len(prompt) for prompt in prompts], dtype=torch.int32),
    }
    for name, dtype in TYPES.items():
        model.to(dtype)
        found = states(model, prompts, step)
        if name == "float32":
            written = [greedy(model, prompt, min(tokens, room), step) for prompt in prompts]
            out["greedy"] = torch.tensor(written, dtype=torch.int32)
        out |= {f"{name}.{key}": value.contiguous() for key, value in (found | (more(model) if more else {})).items()}
    save_file(out, path)


def write(folder, path, out, tokens=200, steps=None):
    """Reads model and prompts and writes OUT, with gradients if `steps` is given."""
    model = open_model(folder)
    prompts = read_prompts(path, model.config)
    if sum(map(len, prompts)) == len(prompts):
        fail(f"{path}: no prompt has two tokens, so there is no token to predict")

    def train(_):
        again = open_model(folder, next(model.parameters()).dtype)
        return gradients(again, prompts, steps)

    dump(model, prompts, tokens, out, more=None if steps is None else train)


def main():
    options = arguments()
    use_device(options.device)
    write(options.folder, options.prompts, options.out, options.tokens, options.steps if options.gradients else None)


if __name__ == "__main__":
    main()
