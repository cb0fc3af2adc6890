"""Modules, optimizers and batches: gradients by name, state, training against NumPy's formulas."""
import os
import re
import subprocess
import sys

from against import attempt, check, finish, ig, np, raises, rng, same

nn, optim, data = ig.nn, ig.optim, ig.data


class Net(nn.Module):
    def __init__(self):
        self.layers = [nn.Linear(4, 8), nn.Linear(8, 3)]
        self.norm = nn.BatchNorm(8)

    def forward(self, x):
        return self.layers[1](nn.relu(self.norm(self.layers[0](x))))


def modules():
    net = Net()
    names = list(net.parameters().keys())
    check("names", names == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "norm.weight", "norm.bias"],
          str(names))
    check("state", "norm.running_mean" in net.state_dict())
    x, y = ig.asarray(rng.standard_normal((16, 4)).astype("f4")), ig.asarray(rng.integers(0, 3, 16))
    step = nn.value_and_grad(net, lambda net, x, y: nn.cross_entropy(net(x), y))
    before = {k: np.array(v) for k, v in net.state_dict().items()}
    loss, grads = step(net, x, y)
    check("gradients by name", list(grads) == names and all(grads[k].shape == net.parameters()[k].shape for k in names))
    same("parameters stay", net.layers[0].weight, before["layers.0.weight"])
    check("statistics change", not np.array_equal(np.asarray(net.norm.running_mean), before["norm.running_mean"]))
    h = 1e-2
    probe = net.layers[1].bias
    up, down = probe.at[1].add(h), probe.at[1].add(-h)
    net.layers[1].bias = up
    high = float(nn.cross_entropy(net(x), y))
    net.layers[1].bias = down
    low = float(nn.cross_entropy(net(x), y))
    net.layers[1].bias = probe
    check("a gradient", abs((high - low) / (2 * h) - float(grads["layers.1.bias"][1])) < 1e-3)
    other = Net().load_state_dict(net.state_dict())
    same("load_state_dict", other.eval()(x), np.asarray(net.eval()(x)))
    raises("another shape", ValueError, lambda: net.load_state_dict({"layers.0.bias": ig.ones(2)}, strict=False))
    raises("another name", KeyError, lambda: net.load_state_dict({"bias": ig.ones(2)}))
    check("inference", not net.norm.training and Net().train().norm.training)


def layers():
    x = ig.asarray(rng.standard_normal((2, 3, 8, 8)).astype("f4"))
    check("conv", nn.Conv2d(3, 5, 3, padding=1)(x).shape == (2, 5, 8, 8))
    check("group norm", nn.GroupNorm(3, 3)(x).shape == x.shape)
    t = ig.asarray(rng.standard_normal((2, 5, 12)).astype("f4"))
    check("attention", nn.MultiHeadAttention(12, 3)(t, is_causal=True).shape == t.shape)
    grouped = nn.GroupedQueryAttention(12, 6, 2, nn.RoPE())
    same("causal grouped queries", grouped(t, is_causal=True), np.asarray(grouped(t, ig.tril(ig.ones((5, 5), dtype=ig.bool)))), 1e-6)
    same("an offset turns queries and keys alike", grouped(t, offset=7), np.asarray(grouped(t)), 1e-5)
    raises("heads that do not divide", ValueError, lambda: nn.GroupedQueryAttention(12, 6, 4), "divide")
    raises("patches that do not divide", ValueError, lambda: nn.PatchEmbedding(3, 5, 3)(x), "pad or resize")
    check("embedding", nn.Embedding(10, 4)(ig.asarray([[1, 2], [3, 4]])).shape == (2, 2, 4))
    y = np.asarray(nn.LayerNorm(12)(t))
    check("layer norm", abs(y.mean()) < 1e-4 and abs(y.std() - 1) < 1e-2)
    check("dropout", float((nn.Dropout(0.5)(ig.ones(1000)) == 0).sum()) > 300)
    check("no dropout", float(nn.Dropout(0.5).eval()(ig.ones(10)).sum()) == 10)
    net = nn.Sequential(nn.Linear(12, 4), nn.gelu, nn.Linear(4, 1))
    net.heads = nn.ModuleList([nn.ReLU(), nn.Dropout(), nn.Dropout()])
    text = """Sequential(
  (0): Linear(in_features=12, out_features=4, bias=True)
  (1): gelu
  (2): Linear(in_features=4, out_features=1, bias=True)
  (heads): ModuleList(
    (0): ReLU()
    (1-2): 2 x Dropout(p=0.5, inplace=False)
  )
)"""
    check("text", repr(net) == text, repr(net))
    del net.heads
    holder = nn.Module()
    holder.blocks, holder.by_name, holder.weight = [nn.Tanh()], {"a": nn.Identity()}, ig.ones(2)
    check("text of modules in lists", repr(holder) == "Module(\n  (blocks.0): Tanh()\n  (by_name.a): Identity()\n)", repr(holder))
    check("sequential", net(t).shape == (2, 5, 1) and len(net.parameters()) == 4)


class One(nn.Module):
    def __init__(self, w):
        self.w = ig.asarray(w)


def adam(w, g, s, n, lr, decay=0.0, decoupled=False):
    w, g = (w * (1 - lr * decay), g) if decoupled else (w, g + decay * w)
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return w - lr * (s["m"] / (1 - 0.9 ** n)) / (np.sqrt(s["v"] / (1 - 0.999 ** n)) + 1e-8)


def sgd(w, g, s, n, lr):
    s["m"] = 0.9 * s["m"] + g if "m" in s else g
    return w - lr * (g + 0.9 * s["m"])


def rules():
    for name, rule, own in (
            ("sgd", sgd, optim.SGD(0.01, momentum=0.9, nesterov=True)),
            ("adam", lambda w, g, s, n, lr: adam(w, g, s, n, lr, 0.1), optim.Adam(0.01, weight_decay=0.1)),
            ("adamw", lambda w, g, s, n, lr: adam(w, g, s, n, lr, 0.1, True), optim.AdamW(0.01, weight_decay=0.1))):
        w = rng.standard_normal(5)
        model, state = One(w), {}
        for n in range(1, 6):
            g = rng.standard_normal(5)
            w = rule(w, g, state, n, 0.01)
            own.update(model, {"w": ig.asarray(g)})
        same(name, model.w, w, 1e-6)
    for own in (optim.RMSprop(0.01, momentum=0.5), optim.Lion(0.01), optim.SGD(optim.warmup(0.1, 5, optim.cosine(0.1, 100)), max_norm=1.0)):
        model = One(np.ones(4))
        for _ in range(50):
            own.update(model, nn.value_and_grad(model, lambda m: (m.w ** 2).sum())(model)[1])
        check(f"{type(own).__name__} descends", float((model.w ** 2).sum()) < 3)


def training():
    x = rng.standard_normal((256, 4)).astype("f4")
    y = (x[:, 0] * x[:, 1] > 0).astype("i8")
    net, opt = nn.Sequential(nn.Linear(4, 32), nn.tanh, nn.Linear(32, 2)), optim.Adam(1e-2)
    step = nn.value_and_grad(net, lambda net, x, y: nn.cross_entropy(net(x), y))
    for epoch in range(30):
        for a, b in data.prefetch(data.batches(x, y, size=64, key=ig.key(epoch))):
            loss, grads = step(net, a, b)
            opt.update(net, grads)
    right = float((ig.argmax(net(ig.asarray(x)), axis=-1) == ig.asarray(y)).astype(ig.float32).mean())
    check("training", right > 0.95, f"{right} are right")
    check("batches", [len(b) for b in data.batches(x, size=100)] == [100, 100, 56])
    check("drop_last", [len(b) for b in data.batches(x, size=100, drop_last=True)] == [100, 100])


def mixed():
    """The network computes in bfloat16; parameters, gradients and results are float32."""
    x, y = ig.asarray(rng.standard_normal((16, 4)).astype("f4")), ig.asarray(rng.integers(0, 3, 16))
    net = Net()
    state = net.state_dict()
    half = Net().load_state_dict(state).to("bfloat16")
    half.norm.running_mean, half.norm.running_var = (a.astype("float32") for a in (half.norm.running_mean, half.norm.running_var))
    check("it is the same module", nn.mixed(net, "bfloat16") is net)
    seen = []
    net.layers[0].forward = lambda v, f=net.layers[0].forward: seen.append((v.dtype, net.layers[0].weight.dtype)) or f(v)
    out = net(x)
    del net.layers[0].forward
    check("layers compute in bfloat16", seen == [(ig.bfloat16, ig.bfloat16)], str(seen))
    check("results are float32", out.dtype == ig.float32)
    same("bits of a network in bfloat16", out, half(x.astype("bfloat16")).astype("float32"), 0)
    step = nn.value_and_grad(net, lambda net, x, y: nn.cross_entropy(net(x), y))
    loss, grads = step(net, x, y)
    check("gradients are float32", all(g.dtype == ig.float32 for g in grads.values()))
    check("parameters are float32", all(p.dtype == ig.float32 for p in net.parameters()))
    check("statistics change", not np.array_equal(np.asarray(net.norm.running_mean), np.asarray(state["norm.running_mean"])))
    opt, before = optim.AdamW(1e-2), float(loss)

    @ig.jit
    def train(net, opt, x, y):
        loss, grads = step(net, x, y)
        opt.update(net, grads)
        return loss
    for _ in range(30):
        loss = train(net, opt, x, y)
    check("it learns in jit", float(loss) < 0.7 * before, f"{before} {loss}")
    check("state is float32", all(a.dtype == ig.float32 for s in opt.state.values() for a in s.values()))
    check("float32 ends it", nn.mixed(net, "float32")._mixed is None)
    check("a Sequential computes in bfloat16", nn.mixed(nn.Sequential(nn.Linear(4, 2)))(x).dtype == ig.float32)
    raises("int8 is refused", TypeError, lambda: nn.mixed(net, "int8"), "bfloat16 or float16")


def recomputed():
    """Gradients that are computed again from x, against those of the plain ops, for random shapes, views and dtypes."""
    def norm(x, w, b, axis, centres):
        c = x - x.mean(axis=axis, keepdims=True) if centres else x
        y = c * ig.rsqrt((c * c).mean(axis=axis, keepdims=True) + 1e-5) * w
        return y + b if centres else y

    tanh = lambda x: 0.5 * x * (1 + ig.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3)))  # noqa: E731
    pairs = [("gelu", lambda x, w, b, axis: ig.gelu(x), lambda x, w, b, axis: 0.5 * x * (1 + ig.erf(x / 2 ** 0.5))),
             ("gelu tanh", lambda x, w, b, axis: ig.gelu(x, approximate="tanh"), lambda x, w, b, axis: tanh(x)),
             ("silu", lambda x, w, b, axis: ig.silu(x), lambda x, w, b, axis: x * ig.sigmoid(x)),
             ("layer_norm", lambda x, w, b, axis: ig.layer_norm(x, w, b, axis=axis), lambda x, w, b, axis: norm(x, w, b, axis, True)),
             ("rms_norm", lambda x, w, b, axis: ig.rms_norm(x, w, axis=axis), lambda x, w, b, axis: norm(x, w, b, axis, False))]
    for name, ours, plain in pairs:
        for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-4), ("float16", 2e-2), ("bfloat16", 2e-1)):
            shape = tuple(int(n) for n in rng.integers(2, 9, 3))
            axis = (1, 2) if rng.random() < 0.3 else -1
            last = shape[1:] if axis == (1, 2) else shape[-1:]
            x = ig.asarray(rng.standard_normal(shape[::-1])).astype(dtype).permute_dims((2, 1, 0))
            w, b = (ig.asarray(rng.standard_normal(last)).astype(dtype) for _ in range(2))
            g = ig.asarray(rng.standard_normal(shape)).astype(dtype)
            fine = "float64" if dtype == "float64" else "float32"
            got = ig.grad(lambda *t: (ours(*t, axis) * g).astype(fine).sum(), argnums=(0, 1, 2))(x, w, b)
            t = [a.astype(fine) for a in (x, w, b)]
            want = ig.grad(lambda *t: (plain(*t, axis) * g.astype(fine)).sum(), argnums=(0, 1, 2))(*t)
            for i in range(3):
                check(f"{name} {dtype} {shape} {axis}: gradient {i}", got[i].dtype == t[i].astype(dtype).dtype
                      and float(ig.abs(got[i].astype(fine) - want[i]).max()) < tolerance * (1 + float(ig.abs(want[i]).max())))
            again = ig.grad(lambda x: (ig.grad(lambda x: (ours(x, w, b, axis) * g).astype(fine).sum())(x) * g).astype(fine).sum())(x)
            two = ig.grad(lambda x: (ig.grad(lambda x: (plain(x, *t[1:], axis) * g.astype(fine)).sum())(x) * g.astype(fine)).sum())(t[0])
            check(f"{name} {dtype} {shape} {axis}: second gradient",
                  float(ig.abs(again.astype(fine) - two).max()) < 4 * tolerance * (1 + float(ig.abs(two).max())))


def example():
    root = os.path.join(os.path.dirname(__file__), "../..")
    words = [sys.executable, os.path.join(root, "examples/gpt.py"), os.path.join(root, "LICENSE"), "--steps", "20", "--batch", "4"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": sys.path[0]})
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", done.stdout)]
    check("examples/gpt.py", len(losses) == 10 and losses[-1] < losses[0] and "import " in done.stdout, done.stdout + done.stderr)


for test in (modules, layers, rules, training, mixed, recomputed, example):
    attempt(test.__name__, test)
finish()
