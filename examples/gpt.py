"""Trains a GPT-2 on a text, byte by byte, and writes a text. Parameters are float32; the network computes in bfloat16.

    python examples/gpt.py                          # a small network on this file
    python examples/gpt.py book.txt --config 124M --device cuda
"""
import argparse
import math
import time

import ingot as ig
from ingot import nn, optim

CONFIGS = {"tiny": (2, 2, 64, 64), "10M": (6, 6, 384, 256), "124M": (12, 12, 768, 1024)}  # layers, heads, width, length


class Block(nn.Module):
    def __init__(self, heads, width, layers):
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.fc = nn.Linear(width, 3 * width), nn.Linear(width, 4 * width)
        self.project, self.out = nn.Linear(width, width), nn.Linear(4 * width, width)
        for layer in (self.attention, self.fc, self.project, self.out):
            deviation = 0.02 / math.sqrt(2 * layers) if layer in (self.project, self.out) else 0.02
            layer.weight, layer.bias = ig.random.normal(0, deviation, size=layer.weight.shape).astype("float32"), ig.zeros(layer.bias.shape)

    def forward(self, x):
        n, t, width = x.shape
        parts = ig.split(self.attention(self.ln_1(x)), 3, axis=-1)
        q, k, v = (p.reshape(n, t, self.heads, -1).permute_dims((0, 2, 1, 3)) for p in parts)
        y = ig.scaled_dot_product_attention(q, k, v, is_causal=True).permute_dims((0, 2, 1, 3)).reshape(n, t, width)
        x = x + self.project(y)
        return x + self.out(nn.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, words, layers, heads, width, length):
        self.words = ig.random.normal(0, 0.02, size=(words, width)).astype("float32")
        self.places = ig.random.normal(0, 0.02, size=(length, width)).astype("float32")
        self.blocks = [Block(heads, width, layers) for _ in range(layers)]
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = nn.functional.embedding(ids, self.words) + self.places[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.T  # the embedding is the last layer, too


def write(net, ids, n, length):
    """Appends n tokens, each drawn from the probabilities of the network."""
    logits = ig.jit(lambda net, x, last: net(x)[0, last])
    for i in range(n):
        x = ids[-length:]
        row = logits(net, ig.asarray([x + [0] * (length - len(x))]), ig.asarray(len(x) - 1))
        ids.append(int(ig.categorical(ig.key(i), row)))
    return bytes(i % 256 for i in ids).decode(errors="replace")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("file", nargs="?", default=__file__)
    options.add_argument("--config", choices=CONFIGS, default="tiny")
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--batch", type=int, default=16)
    options.add_argument("--words", type=int, default=256)
    options.add_argument("--lr", type=float, default=1e-3)
    options.add_argument("--dtype", default="bfloat16")
    options.add_argument("--device", default="cpu")
    options = options.parse_args()
    *sizes, length = CONFIGS[options.config]
    with ig.device(options.device):
        with open(options.file, "rb") as file:
            data = ig.asarray(list(file.read()))
        ig.random.seed(0)
        net = nn.mixed(GPT(options.words, *sizes, length), options.dtype)
        opt = optim.AdamW(options.lr, betas=(0.9, 0.95), weight_decay=0.1, max_norm=1.0)
        gradients = nn.value_and_grad(net, lambda net, x, y: nn.cross_entropy(net(x), y))

        @ig.jit
        def step(net, opt, key, lr):
            opt.lr = lr
            first = ig.randint(key, (options.batch, 1), 0, len(data) - length)
            window = data[first + ig.arange(length + 1)]
            loss, grads = gradients(net, window[:, :-1], window[:, 1:])
            opt.update(net, grads)
            return loss

        print(f"{sum(p.size for p in net.parameters()):,} parameters, {len(data):,} bytes")
        rate = optim.cosine(options.lr, options.steps, 0.1)
        begin, every = time.perf_counter(), max(1, options.steps // 10)
        for i in range(options.steps):
            loss = step(net, opt, ig.key(i), rate(i))
            if (i + 1) % every == 0:
                print(f"step {i + 1}  loss {float(loss):.4f}  {options.batch * length * every / (time.perf_counter() - begin):,.0f} tokens/s")
                begin = time.perf_counter()
        print(write(net, list(b"import "), 60, length))


if __name__ == "__main__":
    main()
