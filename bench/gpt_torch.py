"""GPT-2 in plain PyTorch: the peer of bench/train_gpt. Trains on random tokens and prints a JSON object: milliseconds of a step,
peak memory, the last loss.

    python bench/gpt_torch.py --batch 16 --steps 40 [--eager] [--layers 12 --heads 12 --width 768 --length 1024 --words 50304]
"""
import argparse
import json
import math
import time

import torch
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention


class Block(torch.nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        linear, norm = torch.nn.Linear, torch.nn.LayerNorm
        self.heads = heads
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(torch.nn.Module):
    def __init__(self, layers, heads, width, length, words):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                torch.nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if name.endswith(("out.weight", "down.weight")) else 0.02)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = torch.nn.functional.linear(self.norm(x), self.words.weight)  # the embedding is the last layer, too
        return cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("batch", 16), ("steps", 40), ("layers", 12), ("heads", 12), ("width", 768), ("length", 1024), ("words", 50304)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="bf16")
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    o = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    if o.threads:
        torch.set_num_threads(o.threads)
    net = GPT(o.layers, o.heads, o.width, o.length, o.words).to(device)
    matrices = [p for p in net.parameters() if p.ndim == 2]
    others = [p for p in net.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), eps=1e-8, fused=device == "cuda")
    loss_of = net if o.eager else torch.compile(net)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def step():
        ids = torch.randint(o.words, (o.batch, o.length + 1), device=device)
        with torch.autocast(device, torch.bfloat16, enabled=o.dtype == "bf16"):
            loss = loss_of(ids[:, :-1], ids[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    begin = time.perf_counter()
    for _ in range(3):
        step()
    wait()
    first_s, begin, cpu = time.perf_counter() - begin, time.perf_counter(), time.process_time()
    for _ in range(o.steps):
        loss = step()
    wait()
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    print(json.dumps({"step_ms": 1e3 * (time.perf_counter() - begin) / o.steps, "step_cpu_ms": 1e3 * (time.process_time() - cpu) / o.steps,
                      "peak_bytes": peak, "loss": loss.item(),
                      "first_steps_s": first_s, "version": torch.__version__}))


if __name__ == "__main__":
    main()
