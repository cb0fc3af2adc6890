"""grad, vjp, jvp, hessian, jacobian, vmap, jit, checkpoint and custom_grad over containers, against differences and NumPy."""
import dataclasses

from against import attempt, check, finish, ig, np, raises, rng, same


@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = "layer"


def f64(*shape):
    return ig.asarray(rng.standard_normal(shape))


def difference(f, x, h=1e-6):
    """The gradient of f at a NumPy array, by differences."""
    g = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[i] = h
        g[i] = (f(x + step) - f(x - step)) / (2 * h)
    return g


def gradients():
    x = f64(4, 3)

    def loss(w):
        return ig.tanh(x @ w).sum() + (w ** 2).mean()

    w = f64(3, 2)
    want = difference(lambda v: float(loss(ig.asarray(v))), np.asarray(w))
    same("grad", ig.grad(loss)(w), want, 1e-6)
    value, g = ig.value_and_grad(loss)(w)
    check("value", abs(float(value) - float(loss(w))) < 1e-12)
    same("value_and_grad", g, want, 1e-6)
    tree = {"a": [f64(3), f64(3)], "l": Layer(f64(3), f64())}
    g = ig.grad(lambda t: (t["a"][0] * t["a"][1]).sum() + (t["l"].w * t["l"].b).sum())(tree)
    same("in a list", g["a"][0], tree["a"][1])
    same("in a dataclass", g["l"].w, np.full(3, float(tree["l"].b)))
    check("a constant", g["l"].name == "layer")
    a, b = ig.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(f64(2), ig.asarray([2.0, 3.0], dtype=ig.float64))
    same("argnums", a, np.array([2.0, 3.0]))
    g, aux = ig.grad(lambda v: ((v * v).sum(), v + 1), has_aux=True)(ig.asarray([3.0]))
    check("has_aux", float(g[0]) == 6 and float(aux[0]) == 4)
    check("of a number", float(ig.grad(lambda v: v ** 3)(2.0)) == 12)
    check("twice", float(ig.grad(ig.grad(lambda v: v ** 3))(2.0)) == 12)
    check("three times", float(ig.grad(ig.grad(ig.grad(lambda v: v ** 4)))(2.0)) == 48)

    def branch(v):
        y = v * v
        return y * 3 if float(y) > 1 else y

    check("through a branch on a value", float(ig.grad(branch)(2.0)) == 12)

    def writes(v):
        y = v * 2
        y[1] = 0
        y[y > 3] += 1
        return (y * y).sum()

    same("through assignments", ig.grad(writes)(ig.asarray([1.0, 5.0, 3.0])), np.array([8, 0, 28], "f4"))
    same("of integers", ig.grad(lambda t: (t[0] * t[1]).sum())([ig.ones(2), ig.arange(2)])[1], np.zeros(2, "i8"))
    raises("of a vector", TypeError, lambda: ig.grad(lambda v: v)(ig.ones(2)))


def products():
    x = f64(3)
    y, pull = ig.vjp(lambda v: (v * v, v.sum()), x)
    same("vjp", pull((ig.ones(3), ig.asarray(2.0)))[0], 2 * np.asarray(x) + 2)
    out, t = ig.jvp(lambda v, u: ig.sin(v) * u, (x, x), (ig.ones(3, dtype=ig.float64), ig.zeros(3, dtype=ig.float64)))
    same("jvp", t, np.cos(np.asarray(x)) * np.asarray(x), 1e-12)
    same("hessian", ig.hessian(lambda v: (v ** 3).sum())(x), np.diag(6 * np.asarray(x)), 1e-12)
    same("jacobian", ig.jacobian(lambda v: ig.stack([v[0] * v[1], v[2]]))(x),
         np.array([[x[1].item(), x[0].item(), 0], [0, 0, 1]]))
    policies = ig.checkpoint_policies
    check("policies", all(float(ig.grad(ig.checkpoint(lambda v, n: v ** n, policy=p, static_argnums=1))(3.0, 2)) == 6
                          for p in (None, policies.nothing_saveable, policies.everything_saveable)))
    raises("another policy", ValueError, lambda: ig.checkpoint(ig.sin, policy=lambda *_: True), "nothing_saveable")
    raises("advice on policies", AttributeError, lambda: policies.dots_saveable, "ig.checkpoint of the parts")
    check("checkpoint", abs(float(ig.grad(lambda v: ig.checkpoint(lambda u: ig.sin(u) * u)(v))(1.0)) -
                            (np.cos(1) + np.sin(1))) < 1e-6)
    own = ig.custom_grad(lambda v: v * 2, lambda inputs, out, g: [g * 100])
    same("custom_grad", ig.grad(lambda v: own(v).sum())(ig.ones(2)), np.full(2, 100, "f4"))

    def wrong(inputs, out, g):
        raise KeyError("inside")

    raises("an exception in a rule", KeyError, lambda: ig.grad(lambda v: ig.custom_grad(lambda u: u + 1, wrong)(v).sum())(ig.ones(2)))


def interpolation():
    """jvp of interp in the directions of x, xp and fp against its Jacobian."""
    at = [ig.asarray(v, dtype=ig.float64) for v in ([0.5, 1.5, 3.0, -1.0, 5.0], [0.0, 1.0, 2.0, 4.0], [1.0, 3.0, 2.0, 5.0])]
    for i, name in enumerate(("x", "xp", "fp")):
        along = ig.asarray(np.linspace(0.3, 1, at[i].shape[0]))
        of = lambda v: ig.interp(*[v if k == i else a for k, a in enumerate(at)])
        same("jvp of interp in " + name, ig.jvp(of, (at[i],), (along,))[1], np.asarray(ig.jacobian(of)(at[i])) @ np.asarray(along), 1e-12)


def maps():
    a, b = f64(5, 3), f64(3)
    same("vmap", ig.vmap(lambda r: (r * b).sum())(a), np.asarray(a) @ np.asarray(b), 1e-12)
    same("in_axes", ig.vmap(lambda c, v: c * v, in_axes=(1, None), out_axes=1)(a, ig.asarray(2.0, dtype=ig.float64)),
         np.asarray(a) * 2)
    same("of a gradient", ig.vmap(ig.grad(lambda v: (v ** 2).sum()))(a), 2 * np.asarray(a))
    same("of containers", ig.vmap(lambda t: t["a"] + t["b"])({"a": a, "b": a}), 2 * np.asarray(a))
    raises("no axis", ValueError, lambda: ig.vmap(lambda v: v, in_axes=None)(a))
    z = ig.asarray(np.asarray(a) + 1j)
    same("of complex numbers", ig.vmap(lambda r: (r * r).sum())(z), (np.asarray(z) ** 2).sum(1), 1e-12)
    s = ig.asarray(2.0, dtype=ig.float64)
    same("a value outside", ig.vmap(lambda r: r if s > 0 else -r)(a), np.asarray(a))
    same("a value of an argument that is not mapped", ig.vmap(lambda r, s: r * float(s), in_axes=(0, None))(a, s), 2 * np.asarray(a))
    v = ig.asarray([1.0, -2.0, 3.0])
    for name, of in {"if": lambda x: x if x > 0 else -x, "max": lambda x: max(x, -x), "float": lambda x: x * float(x),
                     "int": lambda x: x * int(x), "item": lambda x: x * x.item(), "tolist": lambda x: ig.asarray(x.tolist()),
                     "numpy": lambda x: ig.asarray(np.asarray(x)), "bool": lambda x: x * bool(x)}.items():
        raises("vmap: " + name, Exception, lambda: ig.vmap(of)(v), "vmap")
    for name, of in {"mask": lambda r: r[r > 0].sum(), "nonzero": lambda r: ig.nonzero(r)[0], "unique": lambda r: ig.unique(r),
                     "max": lambda r: r * float(r.max()), "iterate": lambda r: sum(float(x) for x in r)}.items():
        raises("vmap of rows: " + name, Exception, lambda: ig.vmap(of)(a), "vmap")
    raises("vmap of complex numbers", Exception, lambda: ig.vmap(lambda r: r * complex(r[0]))(z), "vmap")


def repeated():
    """Arguments that repeat elements, and are used through other views: each place is an element of its own."""
    row = np.array([0.5, -1.5])
    for name, (part, shape) in {"rows": (row, (3, 2)), "columns": (row[:, None], (2, 3)), "no rows": (row, (0, 2)),
                                "complex": (row * (1 + 1j), (3, 2))}.items():
        x = np.broadcast_to(part, shape)
        of, own = ig.broadcast_to(ig.asarray(part), shape), ig.asarray(np.ascontiguousarray(x))

        def loss(x, y):
            return ig.real(x.T * x.T * y).sum() + ig.real(x[::2, :1] * y[:1].sum()).sum() + ig.real(x.reshape(-1) ** 3).sum()

        def chosen(x, y):
            return ig.where(x.T > 0 if name != "complex" else y > 0, x.T * y, y)

        y, ys = ig.asarray(rng.random(x.shape[::-1])), ig.asarray(rng.random((2,) + x.shape[::-1]))
        for what, f in {"grad": lambda x: ig.grad(loss)(x, y), "jvp": lambda x: ig.jvp(lambda x: loss(x, y), (x,), (x,))[1],
                        "vmap": lambda x: ig.vmap(chosen, in_axes=(None, 0))(x, ys),
                        "vmap of grad": lambda x: ig.vmap(ig.grad(loss), in_axes=(None, 0))(x, ys)}.items():
            same(f"{what} by repeated {name}", f(of), np.asarray(f(own)), 1e-12)
    mask = ig.broadcast_to(ig.asarray([True, False]), (0, 2))
    same("vmap with an empty mask", ig.vmap(lambda m, y: ig.where(m.T, 1.0, y), in_axes=(None, 0))(mask, ig.ones((3, 2, 0))),
         np.ones((3, 2, 0), "f4"))


def compiled():
    calls = []

    @ig.jit
    def step(tree, scale):
        calls.append(1)
        return {"y": tree["x"] * scale, "n": 3}

    for _ in range(3):
        out = step({"x": ig.arange(3.0)}, 2.0)
    same("jit", out["y"], np.array([0, 2, 4], "f4"))
    check("a constant", out["n"] == 3)
    check("traced once", len(calls) == 1)
    step({"x": ig.arange(4.0)}, 2.0)
    step({"x": ig.arange(4.0)}, 3.0)
    check("traced by shape", len(calls) == 2)
    g = ig.jit(ig.grad(lambda w: (w ** 2).sum()))
    same("of a gradient", g(ig.arange(3.0)), np.array([0, 2, 4], "f4"))
    raises("a value inside", Exception, lambda: ig.jit(lambda v: v if float(v) > 0 else -v)(ig.asarray(1.0)))
    check("explain", "program" in ig.explain(lambda v: v + 1)(ig.ones(3)))


def training():
    """A small regression with jit, gradients and updates."""
    x = f64(64, 3)
    y = x @ ig.asarray([1.0, -2.0, 0.5], dtype=ig.float64)

    @ig.jit
    def step(w, x, y):
        loss, g = ig.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * g, loss

    w = ig.zeros(3, dtype=ig.float64)
    for _ in range(200):
        w, loss = step(w, x, y)
    same("training", w, np.array([1.0, -2.0, 0.5]), 1e-4)


for test in (gradients, products, interpolation, maps, repeated, compiled, training):
    attempt(test.__name__, test)
finish()
