"""Modules, optimizers and batches: gradients by name, state, training against NumPy's formulas."""
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
    check("embedding", nn.Embedding(10, 4)(ig.asarray([[1, 2], [3, 4]])).shape == (2, 2, 4))
    y = np.asarray(nn.LayerNorm(12)(t))
    check("layer norm", abs(y.mean()) < 1e-4 and abs(y.std() - 1) < 1e-2)
    check("dropout", float((nn.Dropout(0.5)(ig.ones(1000)) == 0).sum()) > 300)
    check("no dropout", float(nn.Dropout(0.5).eval()(ig.ones(10)).sum()) == 10)
    net = nn.Sequential(nn.Linear(12, 4), nn.gelu, nn.Linear(4, 1))
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


for test in (modules, layers, rules, training):
    attempt(test.__name__, test)
finish()
