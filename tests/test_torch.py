"""Training against PyTorch: the same network, weights, data and optimizer give the same losses.

Weights are made here and go to Ingot as a safetensors file; tests/unit/train_tool trains on them and
prints its losses. BUILD names the build. PyTorch is taken from this Python, or from that of build/peers
(`make bench` installs it there), or from the one that TORCH_PYTHON names; without it all is skipped.
Ends with "N passed, N failed, N skipped".
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

from support.tally import attempt, check, finish, skip

BUILD = os.environ.get("BUILD", "build")

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError:
    # Again with another Python, once.
    for python in [os.environ.get("TORCH_PYTHON", ""), os.path.join(BUILD, "peers/bin/python")]:
        if os.path.exists(python) and not os.environ.get("INGOT_SECOND_TRY"):
            probe = subprocess.run([python, "-c", "import numpy, torch"], capture_output=True)
            if probe.returncode == 0:
                os.environ["INGOT_SECOND_TRY"] = "1"
                os.execv(python, [python, *sys.argv])
    skip("all", "PyTorch is not there")
    finish()

TOOL = os.path.join(BUILD, "tests/unit/train_tool")
FOLDER = tempfile.TemporaryDirectory(prefix="ingot-torch-")
STEPS = 20
BOUND = 1e-5  # of the losses, relative to the first
CODES = {"float32": "F32", "int64": "I64"}


# ---- files ----


def write(name, arrays):
    """A safetensors file by hand: the length of the header, the header, the elements."""
    header, data = {}, b""
    for key, x in arrays.items():
        raw = np.ascontiguousarray(x).tobytes()
        header[key] = {"dtype": CODES[str(x.dtype)], "shape": list(x.shape),
                       "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path(name), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path(name)


def read(name):
    with open(path(name), "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {key: np.frombuffer(data[slice(*at["data_offsets"])], "f4").reshape(at["shape"])
            for key, at in header.items()}


def path(name):
    return os.path.join(FOLDER.name, name)


# ---- networks: names and shapes as train_tool has them ----


def linear(p, name, x):
    return F.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias"))


def mlp(p, x):
    return linear(p, "out", F.relu(linear(p, "hidden", x)))


def conv(p, x):
    x = F.conv2d(x, p["conv.weight"], stride=2, padding=1)
    x = F.batch_norm(x, p["norm.running_mean"], p["norm.running_var"], p["norm.weight"],
                     p["norm.bias"], training=True, momentum=0.1, eps=1e-5)
    return linear(p, "out", F.relu(x).flatten(1))


def attention(p, x):
    x = F.embedding(x, p["embedding.weight"])
    y = F.layer_norm(x, (12,), p["before.weight"], p["before.bias"], 1e-5)
    q, k, v = (linear(p, f"attention.{part}", y).unflatten(-1, (3, 4)).transpose(1, 2)
               for part in ("query", "key", "value"))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    x = F.rms_norm(x + linear(p, "attention.out", y), (12,), p["after.weight"], 1e-5)
    return linear(p, "out", F.gelu(x).mean(1))


def shapes_linear(name, out, into):
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


SHAPES = {
    "mlp": {**shapes_linear("hidden", 24, 20), **shapes_linear("out", 5, 24)},
    "conv": {"conv.weight": (6, 3, 3, 3), "norm.weight": (6,), "norm.bias": (6,),
             **shapes_linear("out", 5, 96), "norm.running_mean": (6,), "norm.running_var": (6,)},
    "attention": {"embedding.weight": (11, 12), "before.weight": (12,), "before.bias": (12,),
                  **shapes_linear("attention.query", 12, 12), **shapes_linear("attention.key", 12, 12),
                  **shapes_linear("attention.value", 12, 12), **shapes_linear("attention.out", 12, 12),
                  "after.weight": (12,), **shapes_linear("out", 5, 12)},
}
FORWARD = {"mlp": mlp, "conv": conv, "attention": attention}


def start(net, rng):
    """Weights and data."""
    weights = {name: rng.uniform(-0.3, 0.3, shape).astype("f4") for name, shape in SHAPES[net].items()}
    for name in weights:
        if name.endswith("running_var") or (weights[name].ndim == 1 and name.endswith(".weight")):
            weights[name] = 1 + weights[name]
    x = {"mlp": lambda: rng.standard_normal((32, 20)).astype("f4"),
         "conv": lambda: rng.standard_normal((16, 3, 8, 8)).astype("f4"),
         "attention": lambda: rng.integers(0, 11, (16, 9))}[net]()
    return weights, {"x": x, "y": rng.integers(0, 5, x.shape[0])}


# ---- optimizers, with the settings of train_tool ----


class Lion(torch.optim.Optimizer):
    """Chen et al., 2023, algorithm 2."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.001})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("mean", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * 0.1)
                p.sub_(group["lr"] * torch.sign(0.9 * m + 0.1 * p.grad))
                m.mul_(0.99).add_(p.grad, alpha=0.01)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1),
    "momentum": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.01, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, 0.003),
    "adamw": lambda p: torch.optim.AdamW(p, 0.003, betas=(0.9, 0.99), weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.001),
    "rmsprop_momentum": lambda p: torch.optim.RMSprop(p, 0.001, momentum=0.9),
    "lion": Lion,
    "clipped": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
}


def theirs(net, name, weights, data):
    """Losses by PyTorch, and the weights behind them."""
    floats = {key: torch.tensor(x) for key, x in weights.items()}
    x, y = torch.tensor(data["x"]), torch.tensor(data["y"])
    trained = [p.requires_grad_() for key, p in floats.items() if "running" not in key]
    optimizer = OPTIMIZERS[name](trained)
    clipped = name == "clipped"
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS) if clipped else None
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(FORWARD[net](floats, x), y)
        loss.backward()
        if clipped:
            torch.nn.utils.clip_grad_norm_(trained, 0.5)
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
    return np.array(losses), {key: p.detach().numpy() for key, p in floats.items()}


def ours(net, name, weights, data):
    done = subprocess.run([TOOL, net, name, str(STEPS), write("model", weights), write("data", data),
                           path("out")], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return np.array([float(line) for line in done.stdout.split()]), read("out")


def compare(net, name, rng):
    weights, data = start(net, rng)
    want, ends = theirs(net, name, weights, data)
    have, model = ours(net, name, weights, data)
    off = np.abs(have - want).max() / want[0] if len(have) == STEPS else np.inf
    check(f"{net} {name}: losses", off <= BOUND, f"off by {off:.3g}")
    check(f"{net} {name}: it learns", have[-1] < 0.95 * have[0], f"{have[0]} {have[-1]}")
    for key in weights:
        if key == "attention.key.bias":
            continue  # softmax does not see it: its gradient is nothing but rounding
        wrong = np.abs(model[key] - ends[key]).max()
        check(f"{net} {name}: {key}", wrong <= 2e-3, f"off by {wrong:.3g}")


def main():
    torch.set_num_threads(1)
    rng = np.random.default_rng(3)
    for net in FORWARD:
        for name in OPTIMIZERS:
            attempt(f"{net} {name}", compare, net, name, rng)
    finish()


if __name__ == "__main__":
    main()
