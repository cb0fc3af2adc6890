"""Networks that PyTorch exports, by both of its exporters: the results of PyTorch itself, also for other lengths of dynamic axes.

INGOT names the command. Skipped if PyTorch is absent, and without onnxscript the newer exporter is. Ends with "N passed, N failed".
"""
import logging
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx  # noqa: F401  the exporters need it
    import torch
    from torch import nn
except ImportError as reason:
    print(f"skipped: {reason}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)
try:
    import onnxscript
except ImportError:
    onnxscript = None

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
INGOT = os.environ.get("INGOT", "build/ingot")
BOUND = 2e-5
torch.manual_seed(0)


class Block(nn.Module):
    """A residual block with a smaller image."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                               nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
        self.b = nn.Sequential(nn.Conv2d(4, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 5)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.3)
                module.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = torch.relu(self.a(x) + self.b(x))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class Recurrent(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.net = kind(6, 7, batch_first=True, **more)

    def forward(self, x):
        return self.net(x)[0]


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.out = nn.Embedding(20, 8), nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, ids):
        return self.out(self.norm(self.table(ids)).mean(dim=1))


class Shapes(nn.Module):
    """Views whose sizes depend on the input."""

    def forward(self, x):
        n, c = x.shape[0], x.shape[1]
        y = x.reshape(n, c // 2, 2, -1).permute(0, 2, 1, 3).flatten(1, 2)
        return torch.cat([y, x.flip(1)], dim=1)[:, 1:, ::2] * torch.arange(x.shape[1] * 2 - 1).view(1, -1, 1)


class Masked(nn.Module):
    def forward(self, x):
        causal = torch.tril(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool))
        y = torch.where(causal, x @ x.transpose(1, 2), -1e9)
        return torch.softmax(y, -1) @ x


class Indexed(nn.Module):
    def forward(self, x):
        values, indices = torch.topk(x, 3, dim=-1)
        return values + torch.gather(x, -1, indices) * 2 + torch.cumsum(x, -1)[..., :3]


class Attention(nn.Module):
    def forward(self, x):
        q = x.view(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(q, q * 0.5, q, is_causal=True)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(15, 4, mode="mean")

    def forward(self, ids):
        return self.bag(ids)


class Looped(nn.Module):
    def forward(self, x):
        for _ in range(3):
            x = torch.tanh(x) + x.mean(dim=1, keepdim=True)
        return x.std(dim=1), x.argmax(dim=1), x.norm(dim=1)


def image(n=2, c=4, h=10, w=12):
    return torch.randn(n, c, h, w)


def rows(n=2, t=5, c=6):
    return torch.randn(n, t, c)


def ids(n=3, t=7):
    return torch.randint(0, 15, (n, t))


# The network, an input, the dynamic axes, and another input.
NETWORKS = {
    "residual block": (Block(), image(), {0: "n"}, image(5)),
    "residual block, any size": (Block(), image(), {0: "n", 2: "h", 3: "w"}, image(1, 4, 17, 9)),
    "depthwise": (nn.Sequential(nn.Conv2d(4, 4, 3, groups=4, padding=1), nn.Hardswish(), nn.Conv2d(4, 6, 1), nn.SiLU()), image(), {0: "n"}, image(3)),
    "dilated": (nn.Conv2d(4, 3, 3, dilation=2, padding="same"), image(), {0: "n"}, image(1)),
    "transposed": (nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), image(), {0: "n"}, image(3)),
    "transposed in groups": (nn.ConvTranspose2d(4, 6, 2, stride=2, groups=2), image(), {}, None),
    "1d": (nn.Sequential(nn.Conv1d(6, 4, 3), nn.LeakyReLU(), nn.AvgPool1d(2)), torch.randn(2, 6, 16), {0: "n"}, torch.randn(1, 6, 16)),
    "3d": (nn.Sequential(nn.Conv3d(2, 3, 3), nn.MaxPool3d(2)), torch.randn(1, 2, 6, 8, 7), {}, None),
    "group norm": (nn.Sequential(nn.GroupNorm(2, 4), nn.GELU()), image(), {0: "n"}, image(4)),
    "instance norm": (nn.InstanceNorm2d(4, affine=True), image(), {0: "n"}, image(3)),
    "layer norm": (nn.LayerNorm([10, 12]), image(), {0: "n"}, image(3)),
    "nearest": (nn.Upsample(scale_factor=2), image(), {0: "n"}, image(3)),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), image(), {0: "n"}, image(1)),
    "bilinear, aligned": (nn.Upsample(size=(15, 7), mode="bilinear", align_corners=True), image(), {0: "n"}, image(1)),
    "bicubic": (nn.Upsample(scale_factor=1.5, mode="bicubic"), image(), {}, None),
    "pixel shuffle": (nn.PixelShuffle(2), image(), {0: "n"}, image(3)),
    "max pool": (nn.MaxPool2d(3, 2, padding=1, ceil_mode=True), image(), {0: "n"}, image(3)),
    "average pool": (nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), image(), {0: "n"}, image(3)),
    "padding": (nn.Sequential(nn.ReflectionPad2d(2), nn.ReplicationPad2d(1), nn.ZeroPad2d(1)), image(), {0: "n"}, image(3)),
    "transformer layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), rows(2, 5, 8), {0: "n", 1: "t"}, rows(3, 9, 8)),
    "transformer, norm first": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"), rows(2, 5, 8), {}, None),
    "attention": (Attention(), rows(2, 5, 8), {0: "n"}, rows(4, 5, 8)),
    "causal mask": (Masked(), rows(), {0: "n"}, rows(3)),
    "lstm": (Recurrent(nn.LSTM), rows(), {0: "n"}, rows(3)),
    "lstm, both ways": (Recurrent(nn.LSTM, bidirectional=True, num_layers=2), rows(), {}, None),
    "gru": (Recurrent(nn.GRU), rows(), {}, None),
    "rnn": (Recurrent(nn.RNN), rows(), {}, None),
    "embedding": (Embedded(), ids(), {0: "n", 1: "t"}, ids(2, 11)),
    "embedding bag": (Bag(), ids(), {}, None),
    "shapes": (Shapes(), rows(2, 6, 8), {0: "n"}, rows(3, 6, 8)),
    "indices": (Indexed(), torch.randn(3, 8), {0: "n"}, torch.randn(5, 8)),
    "activations": (nn.Sequential(nn.ELU(), nn.SELU(), nn.Softplus(), nn.Mish(), nn.Hardsigmoid(), nn.PReLU(), nn.LogSoftmax(-1), nn.CELU(), nn.Softsign()),
                    rows(), {0: "n"}, rows(4)),
    "statistics": (Looped(), torch.randn(3, 8), {0: "n"}, torch.randn(2, 8)),
}


def export(name, net, x, dynamic, path, dynamo):
    """False if the exporter itself cannot write the network."""
    try:
        if dynamo:
            shapes = ({axis: torch.export.Dim(symbol) if symbol != "t" else torch.export.Dim.AUTO for axis, symbol in dynamic.items()},)
            torch.onnx.export(net, (x,), path, dynamo=True, dynamic_shapes=shapes if dynamic else None, input_names=["x"], verbose=False)
        else:
            torch.onnx.export(net, (x,), path, dynamo=False, opset_version=17, input_names=["x"],
                              dynamic_axes={"x": dynamic} if dynamic else None)
        return True
    except Exception as error:  # pylint: disable=broad-except  whatever it raises, no model was written
        print(f"not written by PyTorch: {name}: {str(error).splitlines()[0][:100]}")
        return False


def results(folder, path, x):
    np.save(f"{folder}/x.npy", x.numpy())
    done = subprocess.run([INGOT, "onnx", "run", path, f"x={folder}/x.npy", "-o", f"{folder}/y.npz"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    found = np.load(f"{folder}/y.npz")
    return [found[name] for name in found.files]


def compare(folder, path, net, x):
    with torch.no_grad():
        want = net(x)
    want = [want] if isinstance(want, torch.Tensor) else list(want)
    got = results(folder, path, x)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        b = b.numpy()
        assert a.shape == b.shape, f"{a.shape}, expected {b.shape}"
        off = np.abs(a.astype(np.float64) - b.astype(np.float64)).max() if b.size else 0
        assert off <= BOUND * (1 + np.abs(b).max()), f"differs by {off:.3g}"


def main():
    passed = failed = skipped = 0
    for name, (net, x, dynamic, other) in NETWORKS.items():
        net.eval()
        for dynamo in (False, True):
            shown = f"{name} ({'torch.export' if dynamo else 'TorchScript'})"
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/m.onnx"
                if (dynamo and not onnxscript) or not export(shown, net, x, dynamic, path, dynamo):
                    skipped += 1
                    continue
                try:
                    compare(folder, path, net, x)
                    if other is not None:
                        compare(folder, path, net, other)
                    passed += 1
                except AssertionError as error:
                    failed += 1
                    print(f"{shown}: {str(error).strip()[:300]}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0


sys.exit(main())
