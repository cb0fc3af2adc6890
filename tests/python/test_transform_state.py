"""What transforms do with numbers, state, arrays from outside, changes in place and values that a function reads."""
import functools
import gc
import pickle
import weakref

from against import attempt, check, finish, ig, np, raises, says, same
from ingot import nn, optim
from ingot import tree_util as tree

X = ig.arange(1.0, 4.0)


def counted(function):
    calls = []

    def of(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    of.calls = calls
    return of


def in_place():
    """Changes of arguments in place are part of the function, and leave the caller's array."""
    def scales(x):
        x *= 2
        return x.sum()

    def centers(x):
        x -= x.mean()
        return (x * x * x).sum()

    def sets(x):
        x[0] = 1
        x[1:] += 3
        return (x * x).sum()

    for name, f, g in [("scales", scales, lambda v: np.full(3, 2.0)), ("centers", centers, None), ("sets", sets, lambda v: np.array([0, 2 * (v[1] + 3), 2 * (v[2] + 3)]))]:
        x = ig.asarray([1.0, 2.0, 4.0], dtype=ig.float64)
        v = np.asarray(x)
        want = float(f(ig.asarray(v.copy())))
        check(f"jit: {name}", abs(float(ig.jit(f)(x)) - want) < 1e-12)
        check(f"jit: {name}, again", abs(float(ig.jit(f)(x)) - want) < 1e-12)
        check(f"vjp: {name}", abs(float(ig.vjp(f, x)[0]) - want) < 1e-12)
        check(f"vmap: {name}", abs(float(ig.vmap(f)(ig.stack([x, x]))[1]) - want) < 1e-12)
        value, grad = ig.value_and_grad(f)(x)
        check(f"grad: {name}, the value", abs(float(value) - want) < 1e-12)
        if g is None:
            d = v - v.mean()
            g = lambda v: 3 * d * d - (3 * d * d).mean()
        same(f"grad: {name}", grad, g(v), 1e-12)
        same(f"jacobian: {name}", ig.jacobian(f)(x), g(v), 1e-12)
        same(f"checkpoint: {name}", ig.grad(ig.checkpoint(f))(x), g(v), 1e-12)
        same(f"the argument of {name}", x, v)
    total = ig.zeros(3)

    def adds(x):
        nonlocal total
        total += x
        return x * 2

    raises("jit: an array from outside", ValueError, lambda: ig.jit(adds)(X), "return it")
    raises("vmap: an array from outside", ValueError, lambda: ig.vmap(adds)(ig.ones((2, 3))), "return it")
    same("and it is as before", total, np.zeros(3, "f4"))


def reading():
    """Reading a value in jit and vmap is an error that names the transform; in grad it is allowed."""
    for name, f in {"if": lambda x: x if x[0] > 0 else -x, "float": lambda x: x * float(x[0]), "mask": lambda x: x[x > 0],
                    "nonzero": lambda x: ig.nonzero(x)[0], "unique": lambda x: ig.unique(x), "max": lambda x: max(x[0], x[1]),
                    "numpy": lambda x: ig.asarray(np.asarray(x) * 2), "iterate": lambda x: sum(float(v) for v in x),
                    "item": lambda x: x * x[0].item(), "tolist": lambda x: ig.asarray(x.tolist()), "print": lambda x: f"{x}"}.items():
        says(f"jit: {name}", Exception, ["jit", "where"], lambda: ig.jit(f)(X))
        says(f"vmap: {name}", Exception, ["vmap", "where"], lambda: ig.vmap(f)(ig.stack([X, X])))
    same("grad: if", ig.grad(lambda x: (x * x if x[0] > 0 else -x).sum())(X), np.array([2, 4, 6], "f4"))
    same("grad: numpy", ig.grad(lambda x: (x * float(np.asarray(x)[2])).sum())(X), np.full(3, 3, "f4"))
    check("repr in jit", float(ig.jit(lambda x: (repr(x), x.sum())[1])(X)) == 6)
    check("eval in jit does nothing", float(ig.jit(lambda x: (x * 2).eval().sum())(X)) == 12)


def numbers():
    """Numbers are inputs of compiled functions, unless their values are needed."""
    f = counted(lambda x, n: x * n)
    j = ig.jit(f)
    for n in (2.0, 3.0, -0.0, 0.0, float("nan"), 2, 3, True, 1, 1.0, 1 + 2j):
        want = X * n
        got = j(X, n)
        same(f"x * {n!r}", got, np.asarray(want))
        if n == 0:
            same(f"the sign of x * {n!r}", np.signbit(np.asarray(got)), np.signbit(np.asarray(want)))
    check("one plan for each type", len(f.calls) == 4, str(len(f.calls)))  # float, int, bool, complex
    x = ig.arange(3.0, dtype=ig.float64)
    same("in full precision", ig.jit(lambda x, n: x + n)(x, 0.1), np.arange(3.0) + 0.1)
    same("numbers with numbers", ig.jit(lambda x, n, k: x * (1 - n ** 2 / 3 + k // 2 * 2))(x, 0.1, 7), np.arange(3.0) * (1 - 0.1 ** 2 / 3 + 6))
    check("the dtype of x", ig.jit(lambda x, n: x * (n * 2 + 1))(ig.ones(2, dtype="float16"), 0.5).dtype == ig.float16)
    check("an integer", ig.jit(lambda x, n: x + (n + 1))(ig.ones(2, dtype="int8"), 3).dtype == ig.int8)
    check("a step count", abs(float(ig.jit(lambda x, t: (x * (1 - 0.9 ** t)).sum())(ig.ones(1, dtype=ig.float64), 3)) - (1 - 0.9 ** 3)) < 1e-15)
    for name, of in {"shape": lambda x, n: ig.ones(n), "slice": lambda x, n: x[:n], "if": lambda x, n: x if n > 1 else -x,
                     "range": lambda x, n: sum(x[i] for i in range(n)), "axis": lambda x, n: ig.stack([x] * n),
                     "table": lambda x, n: x * {1: 5, 2: 7}[n]}.items():
        of = counted(of)
        j = ig.jit(of)
        for n in (1, 2, 1, 2):
            same(f"{name} of {n}", j(X, n), np.asarray(of(X, n)))
        check(f"{name}: a plan for each value", len(j.plans) == 2, str(len(j.plans)))
    of = counted(lambda x, n, a: x[:n] * a)
    j = ig.jit(of)
    for a in (1.0, 2.0, 3.0):
        j(X, 2, a)
    check("the other number is an input", len(j.plans) == 1)
    check("an index", [float(ig.jit(lambda x, i: x[i])(X, i)) for i in (0, 2)] == [1, 3])
    of = counted(lambda x, mode="sum": x.sum() if mode == "sum" else x.max())
    j = ig.jit(of, static_argnames="mode")
    check("a static name", (float(j(X)), float(j(X, mode="max")), float(j(X, "max"))) == (6, 3, 3))
    j = ig.jit(lambda n, x: x * n, static_argnums=0)
    check("static numbers", np.signbit(np.asarray(j(-0.0, X))).all() and not np.signbit(np.asarray(j(0.0, X))).any())
    check("donated", float(ig.jit(lambda x: x.sum(), donate_argnums=0)(X)) == 6 and float(X.sum()) == 6)
    check("as a decorator with options", float(ig.jit(static_argnums=(1,))(lambda x, n: x[n])(X, 1)) == 2)
    j = ig.jit(lambda d: d)
    check("the order of keys", list(j({"a": X, "b": X})) == ["a", "b"] and list(j({"b": X, "a": X})) == ["b", "a"])
    z = ig.asarray([1 + 2j, 3j])
    same("complex arguments", ig.jit(lambda z: z * z)(z), np.asarray(z) ** 2)
    same("complex numbers", ig.jit(lambda x, c: x * c)(X, 2 - 1j), np.asarray(X) * np.complex64(2 - 1j))
    j = ig.jit(lambda x: x * 2)
    for n in range(1, 90):
        j(ig.ones(n))
    check("at most 64 plans", len(j.plans) == 64, str(len(j.plans)))
    same("and all shapes work", j(ig.ones(1)), np.full(1, 2, "f4"))


def gradients_of_numbers():
    g = ig.grad(lambda t: (t["w"] * t["a"]).sum() + t["n"] * t["a"])({"w": X, "a": 2.0, "n": 3, "flag": True, "name": "x"})
    check("a float", abs(float(g["a"]) - 9) < 1e-6 and g["a"].dtype == ig.float32)
    check("others are zero", g["n"] == 0 and g["flag"] is True and g["name"] == "x", str(g))
    check("in f64", abs(float(ig.grad(lambda a: (a * ig.ones(1, dtype=ig.float64)).sum() * a)(0.1)) - 0.2) < 1e-7)
    raises("an integer", TypeError, lambda: ig.grad(lambda x: x * x)(3), "float")
    raises("an array of integers", TypeError, lambda: ig.grad(lambda x: x.sum())(ig.arange(3)), "astype")
    check("reading it", float(ig.grad(lambda a: a * float(a))(3.0)) == 3)
    check("sinc", abs(float(ig.grad(ig.grad(ig.sinc))(0.0)) + np.pi ** 2 / 3) < 1e-5)


def higher_derivatives():
    """Where a formula has a singularity that its function does not have."""
    half, two = ig.asarray(0.5, dtype=ig.float64), ig.asarray(2.0, dtype=ig.float64)
    root = np.sqrt(np.pi)
    for name, f, at, want in [
            ("sinc", ig.sinc, 0.0, (1, 0, -np.pi ** 2 / 3, 0)), ("x ** 1", lambda x: x ** 1, 0.0, (0, 1, 0, 0)),
            ("x ** 0", lambda x: x ** 0, 0.0, (1, 0, 0, 0)), ("x ** 2", lambda x: x ** 2, 0.0, (0, 0, 2, 0)),
            ("x ** 3", lambda x: x ** 3, 0.0, (0, 0, 0, 6)), ("x ** x", lambda x: x ** x, 1.0, (1, 1, 2, 3)),
            ("xlogy", lambda x: ig.xlogy(x, half), 0.0, (0, np.log(0.5), 0, 0)), ("xlog1py", lambda x: ig.xlog1py(x, two), 0.0, (0, np.log(3), 0, 0)),
            ("erfc", ig.erfc, 0.0, (1, -2 / root, 0, 4 / root)), ("ndtr", ig.ndtr, 0.0, (0.5, 1 / np.sqrt(2 * np.pi), 0, -1 / np.sqrt(2 * np.pi))),
            ("ndtri", ig.ndtri, 0.5, (0, np.sqrt(2 * np.pi), 0, (2 * np.pi) ** 1.5)), ("hypot", lambda x: ig.hypot(x, two), 0.0, (2, 0, 0.5, 0)),
            ("expm1", ig.expm1, 0.0, (0, 1, 1, 1)), ("log1p", ig.log1p, 0.0, (0, 1, -1, 2))]:
        for order, value in enumerate(want):
            got = float(f(ig.asarray(at, dtype=ig.float64)))
            check(f"derivative {order} of {name}", abs(got - value) < 1e-9 * max(1, abs(value)), f"is {got}, not {value}")
            f = ig.grad(f)


class Net(nn.Module):
    def __init__(self):
        self.one, self.norm, self.drop, self.two = nn.Linear(3, 4), nn.BatchNorm(4), nn.Dropout(0.5), nn.Linear(4, 1)

    def forward(self, x):
        return self.two(self.drop(self.norm(nn.relu(self.one(x)))))


def modules():
    """A module in a compiled function: weights are inputs, statistics change, keys advance."""
    ig.random.seed(1)
    net, x = Net(), ig.random.normal(ig.key(0), (8, 3))
    for name, f, args in [("an argument", lambda net, x: net(x), (net, x)), ("from outside", lambda x: net(x), (x,)), ("itself", net, (x,)),
                          ("a method", net.forward, (x,)), ("a default", lambda x, net=net: net(x), (x,)),
                          ("a partial function", functools.partial(lambda net, x: net(x), net), (x,)),
                          ("a function that is called", lambda x: (lambda y: net.forward(y))(x), (x,))]:
        j = ig.jit(f)
        net.train()
        before = np.asarray(net.norm.running_mean)
        first, second = np.asarray(j(*args)), np.asarray(j(*args))
        check(f"{name}: another mask", not np.array_equal(first, second))
        check(f"{name}: statistics change", not np.array_equal(before, np.asarray(net.norm.running_mean)))
        check(f"{name}: all arrays have values", all(a.eval() is not None for a in net.state_dict().values()))
        net.eval()
        same(f"{name}: inference", j(*args), np.asarray(net(x)), 1e-5)
        net.two.weight = net.two.weight * 2
        same(f"{name}: other weights", j(*args), np.asarray(net(x)), 1e-5)
        net.two.weight += 1
        same(f"{name}: weights changed in place", j(*args), np.asarray(net(x)), 1e-5)
    net.train()
    ig.random.seed(3)
    a, stats = np.asarray(net(x)), np.asarray(net.norm.running_var)
    net.norm.running_var, net.norm.running_mean = ig.ones(4), ig.zeros(4)
    j = ig.jit(lambda net, x: net(x))
    net.norm.running_var = ig.ones(4)
    ig.random.seed(3)
    same("the mask of the function as written", j(net, x), a, 1e-5)

    def loss(net, x, y):
        return ((net(x) - y) ** 2).mean()

    net.drop.p = 0.0
    y = ig.zeros((8, 1))
    plain, compiled = nn.value_and_grad(net, loss), ig.jit(nn.value_and_grad(net, loss))
    v, g = plain(net, x, y)
    w, h = compiled(net, x, y)
    check("a compiled gradient", abs(float(v) - float(w)) < 1e-5 and all(np.allclose(np.asarray(g[k]), np.asarray(h[k]), atol=1e-4) for k in g))
    tree_g = ig.grad(loss)(net, x, y)
    same("the gradient of a module is a module", tree_g.one.weight, np.asarray(g["one.weight"]), 1e-4)
    check("with the module as before", type(tree_g) is Net and net.one.weight.is_evaluated)
    raises("vmap: state", ValueError, lambda: ig.vmap(lambda r: net(r.reshape((1, 3))))(x), "vmap")
    check("and it is as before", bool(ig.isfinite(net.norm.running_mean).all()))
    net.eval()
    same("vmap in inference", ig.vmap(lambda r: net(r.reshape((1, 3)))[0])(x), np.asarray(net(x)), 1e-5)
    raises("state that is no array", ValueError, lambda: ig.jit(lambda net, x: (setattr(net, "steps", 1), net(x))[1])(net, x), "steps")
    net.tied = net.one
    same("a module twice", ig.jit(lambda net, x: net.tied(x) + net.one(x))(net, x), 2 * np.asarray(net.one(x)), 1e-5)


def training():
    """A compiled training step: parameters, the state of the optimizer and its count of steps change."""
    x = ig.random.normal(ig.key(5), (32, 3))
    y = (x[:, 0] > 0).astype("int64")

    class Trainer:
        def __init__(self):
            ig.random.seed(0)
            self.net, self.opt, self.calls = nn.Sequential(nn.Linear(3, 8), nn.relu, nn.Linear(8, 2)), optim.AdamW(1e-2), 0
            self.gradients = nn.value_and_grad(self.net, lambda net, x, y: nn.cross_entropy(net(x), y))

        def step(self, x, y):
            loss, grads = self.gradients(self.net, x, y)
            self.opt.update(self.net, grads)
            self.calls += 1
            return loss

    a, b = Trainer(), Trainer()
    step = ig.jit(b.step)
    for i in range(5):
        check(f"step {i}", abs(float(a.step(x, y)) - float(step(x, y))) < 1e-6)
    check("counts of steps", a.opt.steps == b.opt.steps == b.calls == 5)
    check("a plan for the first step, and one for the others", len(step.plans) == 2, str(len(step.plans)))
    for name, w in a.net.state_dict().items():
        same(name, b.net.state_dict()[name], np.asarray(w), 1e-5)


SCALE = ig.asarray(2.0)
PARAMETERS = {"w": ig.ones(3), "b": [ig.zeros(3)]}


def outside():
    """Arrays from outside of a compiled function are inputs."""
    global SCALE
    j = ig.jit(lambda x: x * SCALE)
    same("a global array", j(X), np.array([2, 4, 6], "f4"))
    SCALE = ig.asarray(3.0)
    same("another global array", j(X), np.array([3, 6, 9], "f4"))
    SCALE += 1
    same("changed in place", j(X), np.array([4, 8, 12], "f4"))
    f = counted(lambda x: x * PARAMETERS["w"] + PARAMETERS["b"][0])
    j = ig.jit(f)
    j(X)
    PARAMETERS["w"] = ig.full((3,), 5.0)
    same("in a global dict", j(X), np.array([5, 10, 15], "f4"))
    check("without another trace", len(f.calls) == 1)

    class Model:
        def __init__(self):
            self.w = ig.ones(3)

        @ig.jit
        def __call__(self, x):
            return self.w * x

    m = Model()
    m(X)
    m.w = m.w * 7
    same("in an object", m(X), np.array([7, 14, 21], "f4"))
    y = ig.ones(1000)
    there = weakref.ref(y)
    j = ig.jit(lambda x: x * y)
    j(ig.ones(1000))
    del j, y
    gc.collect()
    check("a compiled function is released", there() is None)


def random_numbers():
    """Random functions without a key draw other numbers in each call, or are refused."""
    drop = nn.Dropout(0.5)
    generator = ig.random.default_rng(1)
    plain = ig.random.default_rng(1)
    j = ig.jit(lambda: generator.normal(0, 1, 4))
    for i in range(3):
        same(f"a generator, call {i}", j(), np.asarray(plain.normal(0, 1, 4)))
    raises("vmap of dropout", ValueError, lambda: ig.vmap(drop)(ig.ones((3, 8))), "Pass a key")
    raises("scan of dropout", ValueError, lambda: ig.lax.scan(lambda c, _: (c, drop(ig.ones(4))), 0.0, None, 3), "Pass a key")
    drawn = ig.vmap(lambda key: ig.random.normal(key, (2,)))(ig.random.split(ig.key(0), 3))
    check("vmap of keys", len(np.unique(np.asarray(drawn))) == 6)


def maps():
    rows = ig.stack([X, X * 2])
    same("a keyword", ig.vmap(lambda x, *, y: x * y)(rows, y=rows), np.asarray(rows) ** 2)
    t = {"a": rows, "b": (rows, ig.asarray(3.0))}
    same("axes in containers", ig.vmap(lambda t: t["a"] * t["b"][0] * t["b"][1], in_axes=({"a": 0, "b": (0, None)},))(t), 3 * np.asarray(rows) ** 2)
    out = ig.vmap(lambda x: {"s": x.sum(), "x": x, "c": 4.0}, out_axes={"s": 0, "x": 1, "c": None})(rows)
    check("results along axes", out["s"].shape == (2,) and out["x"].shape == (3, 2) and out["c"].shape == ())
    same("a number as a result", ig.vmap(lambda x: 4.0)(rows), np.full(2, 4, "f4"))
    raises("None for a result that differs", ValueError, lambda: ig.vmap(lambda x: x, out_axes=None)(rows), "differs")
    raises("lengths", ValueError, lambda: ig.vmap(lambda a, b: a)(rows, ig.ones((3, 3))), "slices")
    raises("no such axis", ValueError, lambda: ig.vmap(lambda a, b: a)(rows, ig.asarray(1.0)), "None")
    keys = ig.random.split(ig.key(0), 3)
    check("keys", np.asarray(ig.vmap(lambda k: ig.random.normal(k, (2,)))(keys)).shape == (3, 2))


def jacobians():
    a, b = ig.arange(1.0, 3.0), ig.arange(1.0, 4.0)

    def f(a, b):
        return {"s": a.sum() * b, "t": a}

    for name, j in {"jacrev": ig.jacrev, "jacfwd": ig.jacfwd, "jacobian": ig.jacobian}.items():
        of_a, of_b = (j(f, (0, 1))(a, b)[k] for k in ("s", "t"))
        check(f"{name}: shapes", of_a[0].shape == (3, 2) and of_a[1].shape == (3, 3) and of_b[0].shape == (2, 2) and of_b[1].shape == (2, 3))
        same(f"{name}: of b", of_a[1], 3 * np.eye(3, dtype="f4"))
        same(f"{name}: zero", of_b[1], np.zeros((2, 3), "f4"))
        got, aux = j(lambda a: (a * a, "other"), has_aux=True)(a)
        check(f"{name}: has_aux", got.shape == (2, 2) and aux == "other")
        same(f"{name}: a dict", j(lambda p: p["x"] * p["y"])({"x": a, "y": 3.0})["y"], np.asarray(a))
    h = ig.hessian(lambda p: (p["x"] ** 2).sum() * p["y"])({"x": a, "y": ig.asarray(2.0)})
    same("hessian of a dict", h["x"]["y"], 2 * np.asarray(a))
    h = ig.hessian(lambda a, b: (a * a).sum() * b.sum(), (0, 1))(a, b)
    same("hessian of two", h[0][1], np.outer(2 * np.asarray(a), np.ones(3)).astype("f4"))
    y, pull, aux = ig.vjp(lambda a: (a * 2, 5), a, has_aux=True)
    check("vjp: has_aux", aux == 5 and pull(a)[0].shape == (2,))
    y, t, aux = ig.jvp(lambda a: (a * 2, 5), (a,), (a,), has_aux=True)
    check("jvp: has_aux", aux == 5 and float(t[1]) == 4)
    y, pull = ig.vjp(lambda a: {"p": a, "q": a * 2}, a)
    same("cotangents by key", pull({"q": ig.zeros(2), "p": ig.ones(2)})[0], np.ones(2, "f4"))
    y, push = ig.linearize(lambda a: a * a, a)
    same("linearize", push(ig.ones(2)), np.array([2, 4], "f4"))


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def trees():
    t = {"b": [X, (1, None)], "a": 2.0}
    leaves, structure = tree.tree_flatten(t)
    check("leaves", len(leaves) == 3 and structure.num_leaves == 3)
    back = tree.tree_unflatten(structure, leaves)
    check("and back", back["b"][1] == (1, None) and back["b"][0] is X and list(back) == ["a", "b"])
    check("tree_map", ig.tree_map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"y": (10,), "x": 20}) == {"x": 21, "y": (12,)})
    raises("tree_map of others", ValueError, lambda: ig.tree_map(lambda a, b: a, {"x": 1}, {"y": 1}))
    check("leaves and structures", tree.tree_leaves([1, [2, 3]]) == [1, 2, 3] and tree.tree_structure([1, 2]) == tree.tree_structure([3, 4]))
    tree.register_pytree_node(Pair, lambda p: ((p.a, p.b), "data"), lambda data, children: Pair(*children))
    g = ig.grad(lambda p: (p.a * p.b).sum())(Pair(X, X * 2))
    same("a registered type", g.a, 2 * np.asarray(X))
    j = ig.jit(lambda p: Pair(p.a * 2, p.b))
    same("compiled", j(Pair(X, X)).a, 2 * np.asarray(X))
    check("eval of a container", ig.eval({"x": X + 1, "y": [X * 2]})["x"].is_evaluated)
    class Names(dict):
        pass

    same("a type of dict", ig.grad(lambda d: (d["a"] ** 2).sum())(Names(a=X))["a"], 2 * np.asarray(X))
    check("jax.tree", ig.tree.map(lambda a: a + 1, [1, {"a": 2}]) == [2, {"a": 3}] and ig.tree.leaves((1, 2)) == [1, 2])
    check("reduce", tree.tree_reduce(lambda a, b: a + b, {"a": 1, "b": [2, 3]}, 10) == 16)


def defaults():
    """A plan is for the default dtype and the default device with which it was made."""
    functions = {"zeros": lambda x: x + ig.zeros(2), "mean": lambda x: x.mean(), "divide": lambda x: x / 2, "own": lambda x: ig.ones(3)}
    integers = ig.asarray([1, 2])
    for name, f in functions.items():
        compiled = ig.jit(f)
        for dtype in ("float32", "float64", "float32"):
            ig.set_default_dtype(dtype)
            try:
                for _ in range(3):
                    check(f"{name} with {dtype}", str(compiled(integers).dtype) == str(f(integers).dtype) == dtype)
            finally:
                ig.set_default_dtype("float32")
    compiled = ig.jit(lambda n: ig.ones(3) * n)
    for device in ("cpu", "gang", "cpu", "gang"):
        with ig.device(device):
            check(f"a new array on {device}", [compiled(2.0).device for _ in range(2)] == [device] * 2)


def paths():
    """Leaves with their paths, and classes whose fields are given."""
    class Point:
        def __init__(self, x, y, name):
            self.x, self.y, self.name = x, y, name

    tree.register_dataclass(Point, ["x", "y"], ["name"])
    state = {"w": [X, 2.0], "p": Point(1.0, 3.0, "a"), "n": None}
    found = [(tree.keystr(path), leaf) for path, leaf in tree.tree_leaves_with_path(state)]
    check("paths", [name for name, _ in found] == ["['p'][<flat index 0>]", "['p'][<flat index 1>]", "['w'][0]", "['w'][1]"], str(found))
    check("leaves", [leaf for _, leaf in found if leaf is not X] == [1.0, 3.0, 2.0] and found[2][1] is X)
    made = tree.tree_map_with_path(lambda path, a, b: tree.keystr(path, simple=True, separator="/") + str(a + b), {"a": (1, 2)}, {"a": (3, 4)})
    check("tree_map_with_path", made == {"a": ("a/04", "a/16")}, str(made))
    check("attributes", tree.keystr(tree.tree_leaves_with_path(nn.Linear(2, 1))[0][0]).startswith("."))
    check("fields", float(ig.grad(lambda p: p.x * p.y)(Point(2.0, 5.0, "b")).x) == 5)
    check("all_leaves", tree.all_leaves([1, X]) and not tree.all_leaves([[1]]))

    @tree.register_static
    class Options:
        pass

    check("register_static", tree.tree_leaves([Options(), 1.0]) == [1.0])
    raises("advice", AttributeError, lambda: tree.tree_broadcast, "ig.tree_util.tree_map")
    p = tree.Partial(lambda w, x, b: (w["a"] * x + b).sum(), {"a": X}, b=2.0)
    check("Partial", [type(x) for x in tree.tree_leaves(p)] == [ig.Array, float] and pickle.loads(pickle.dumps(tree.Partial(max, 3)))(2) == 3)
    same("grad by a Partial", ig.grad(lambda p, x: p(x))(p, X).args[0]["a"], X)
    same("jit of a Partial", ig.jit(lambda p, x: p(x))(p, X), (X * X + 2).sum())


for test in (defaults, in_place, reading, numbers, gradients_of_numbers, higher_derivatives, modules, training, outside, random_numbers, maps, jacobians, trees, paths):
    attempt(test.__name__, test)
finish()
