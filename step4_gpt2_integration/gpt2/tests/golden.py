"""GPT-2 in plain Python, an independent source for test_gpt2_reference.c. In the root of the course:

python3 step4_gpt2_integration/gpt2/tests/golden.py step4_gpt2_integration/gpt2/tiny >step4_gpt2_integration/gpt2/tests/golden.txt
"""
import json, math, operator, struct, sys

config = json.load(open(sys.argv[1] + "/config.json"))
L, H, C, V = config["n_layer"], config["n_head"], config["n_embd"], config["vocab_size"]
D = C // H
tokens = [4095, 17, 300, 2048, 300, 5, 999, 3071, 64, 17, 1500, 4000]

with open(sys.argv[1] + "/model.safetensors", "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()


def tensor(name):
    """Its rows, from bf16; of a vector, one row."""
    at = header["transformer." + name if "transformer." + name in header else name]
    assert at["dtype"] == "BF16"
    words = struct.unpack(f"<{math.prod(at['shape'])}H", data[slice(*at["data_offsets"])])
    values = [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    return [values[i : i + at["shape"][-1]] for i in range(0, len(values), at["shape"][-1])]


def dot(x, y):
    return sum(map(operator.mul, x, y))


def linear(rows, name):
    columns, bias = list(zip(*tensor(name + ".weight"))), tensor(name + ".bias")[0]
    return [[dot(x, column) + b for column, b in zip(columns, bias)] for x in rows]


def normalise(rows, name):
    out, weight, bias = [], tensor(name + ".weight")[0], tensor(name + ".bias")[0]
    for x in rows:
        mean = sum(x) / C
        deviation = math.sqrt(sum((v - mean) ** 2 for v in x) / C + config["layer_norm_epsilon"])
        out.append([(v - mean) / deviation * w + b for v, w, b in zip(x, weight, bias)])
    return out


def attend(qkv):
    out = [[] for _ in qkv]
    for h in range(0, C, D):
        q, k, v = ([row[part + h : part + h + D] for row in qkv] for part in (0, C, 2 * C))
        for i in range(len(qkv)):
            p = [math.exp(dot(q[i], k[j]) / math.sqrt(D)) for j in range(i + 1)]
            out[i] += [sum(p[j] * v[j][d] for j in range(i + 1)) / sum(p) for d in range(D)]
    return out


def gelu(u):
    return u / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def add(a, b):
    return [list(map(operator.add, x, y)) for x, y in zip(a, b)]


wte, wpe = tensor("wte.weight"), tensor("wpe.weight")
x = add([wte[token] for token in tokens], wpe)
for layer in range(L):
    at = f"h.{layer}."
    x = add(x, linear(attend(linear(normalise(x, at + "ln_1"), at + "attn.c_attn")), at + "attn.c_proj"))
    hidden = [[gelu(u) for u in row] for row in linear(normalise(x, at + "ln_2"), at + "mlp.c_fc")]
    x = add(x, linear(hidden, at + "mlp.c_proj"))
logits = [[dot(row, embedding) for embedding in wte] for row in normalise(x, "ln_f")]
loss = sum(math.log(sum(map(math.exp, row))) - row[target] for row, target in zip(logits, tokens[1:]))
print("tokens", *tokens)
print("loss", f"{loss:.12f}")
for t, row in enumerate(logits):
    print("logits", t, *(f"{row[v]:.12f}" for v in range(0, V, 400)))
