"""A program that type checkers accept; test_types.py has them check it, and runs it. Comments mark lines that must be errors."""
from __future__ import annotations

from typing import Any

import ingot as ig
import ingot.nn.functional as F
import ingot.numpy as jnp
from ingot import cuda, data, nn, optim

x: ig.Array = ig.arange(6.0)
y: ig.Array = 2 * x + 1 - x / 3 ** x
shape: tuple[int, ...] = y.shape
number: float = float(ig.mean(y, axis=0))
device: str = x.device
kind: ig.dtype = x.dtype
x[1:3] = 0
x[x > 3] = 1.5
x += 1
z: ig.Array = x.at[0].add(1)
a: ig.Array = ig.concat([x, y]).reshape(3, 4) @ ig.ones((4, 2))
q, r = ig.linalg.qr(ig.ones((3, 3)))
values = ig.linalg.svdvals(a)
spectrum: ig.Array = ig.fft.fft(x)
normal: ig.Array = ig.random.normal(ig.key(0), (2, 3))
rows: list[ig.Array] = list(a)
gradient = ig.grad(lambda w: ig.sum(w * w))(x)
loss, both = ig.value_and_grad(lambda w: ig.sum(w["a"] * w["b"]))({"a": x, "b": y})
fast = ig.jit(lambda v: v + 1)(x)
mapped = ig.vmap(lambda row: row.sum())(a)
count: int = len(a) + int(ig.sum(ig.arange(3)))
joined: ig.Array = F.relu(jnp.zeros(3)) + nn.functional.softmax(x, -1)[:3]
names: list[str] = [d.kind for d in ig.devices()]


class Net(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(4, 8)
        self.last = nn.Linear(8, 2)

    def forward(self, v: ig.Array) -> Any:
        return self.last(nn.relu(self.first(v)))


net = Net()
opt = optim.AdamW(1e-3)
step = nn.value_and_grad(net, lambda n, v, t: nn.cross_entropy(n(v), t))
value, grads = step(net, ig.ones((3, 4)), ig.asarray([0, 1, 0]))
opt.update(net, grads)
layers = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3, padding="same"), nn.ReLU(), nn.Flatten())
adam = optim.Adam(layers.parameters(), lr=1e-3)
for images, labels in data.DataLoader(data.TensorDataset(ig.ones((4, 1, 8, 8)), ig.zeros(4)), batch_size=2, shuffle=True):
    features: ig.Array = layers(images).view(2, -1).add_(1).permute(1, 0)


@cuda.jit
def twice(v: Any, w: Any) -> None:
    i = cuda.grid(1)
    if i < v.size:
        w[i] = 2 * v[i]


out = ig.zeros(6)
twice[1, 8](x, out)
print(shape, number, device, kind, z, q, r, values, spectrum, normal, rows, gradient, loss, both, fast, mapped, count, names, value, data, joined)


def wrong() -> None:
    bad: int = x.shape  # type: ignore[assignment]
    worse: str = ig.sum(x)  # type: ignore[assignment]
    ig.mean()  # type: ignore[call-arg]
    x.device = 5  # type: ignore[misc, assignment]
    ig.summ(x)  # type: ignore[attr-defined]
    x.summ()  # type: ignore[attr-defined]
    F.relluu(x)  # type: ignore[attr-defined]
    nn.Linaer(1, 2)  # type: ignore[attr-defined]
    ig.linalg.invv(x)  # type: ignore[attr-defined]
    print(bad, worse, ig.cumsum(x), x.cumsum(), ig.linalg.inv(y), nn.tanh(x), x.astype(ig.float))
