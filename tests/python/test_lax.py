"""ingot.lax: loops and branches against the same steps in Python, also in grad, vmap, jit and each other."""
import dataclasses

from against import attempt, check, finish, ig, np, raises, rng, same, says

lax = ig.lax


@dataclasses.dataclass
class State:
    h: object
    c: object


def f64(*shape, scale=1.0):
    return ig.asarray(rng.standard_normal(shape) * scale)


def leaves(tree):
    return ig.transform.flatten(tree)[0]


def unrolled(f, init, xs, length=None, reverse=False):
    """What scan does, step by step. xs: an array, or a container."""
    rows, structure = ig.transform.flatten(xs)
    n = rows[0].shape[0] if rows else length
    carry, ys = init, [None] * n
    for t in reversed(range(n)) if reverse else range(n):
        carry, ys[t] = f(carry, ig.transform.unflatten(structure, iter([x[t] for x in rows])))
    flat = [ig.transform.flatten(y)[0] for y in ys]
    first = ig.transform.flatten(ys[0])[1]
    return carry, ig.transform.unflatten(first, iter([ig.stack([row[i] for row in flat]) for i in range(len(flat[0]))]))


def both(name, f, init, xs=None, tolerance=1e-12, **options):
    """scan and its steps: results; and, of a sum over them, gradients and their gradients by init and xs."""
    for reverse in (False, True):
        got = leaves(lax.scan(f, init, xs, reverse=reverse, **options))
        want = leaves(unrolled(f, init, xs, reverse=reverse, **options))
        for i, (a, b) in enumerate(zip(got, want)):
            same(f"{name} {i}", a, np.asarray(b), tolerance)

    def loss(run):
        def of(init, xs):
            total = 0.0
            for i, x in enumerate(leaves(run(f, init, xs, **options))):
                if x.dtype.kind == "f":
                    total = total + (x * ig.cos(x + i)).sum()
            return total
        return of

    def second(run):
        inner = ig.grad(loss(run), argnums=(0, 1) if leaves(xs) else 0)

        def of(init, xs):
            return sum((ig.sin(g) * g).sum() for g in leaves(inner(init, xs)) if g.dtype.kind == "f")
        return of

    argnums = (0, 1) if leaves(xs) else 0
    for order, make in (("gradient", loss), ("second gradient", second)):
        got = leaves(ig.grad(make(lax.scan), argnums)(init, xs))
        want = leaves(ig.grad(make(unrolled), argnums)(init, xs))
        for i, (a, b) in enumerate(zip(got, want)):
            if a.dtype.kind == "f":
                same(f"{name}: {order} {i}", a, np.asarray(b), 1e-7 if order[0] == "s" else 1e-9)


def scans():
    w, u, b = f64(3, 3, scale=0.5), f64(2, 3), f64(3)
    both("rnn", lambda h, x: ((h := ig.tanh(h @ w + x @ u + b)), h), f64(4, 3), f64(5, 4, 2), 1e-10)
    both("product", lambda c, x: (c * x, c), f64(), f64(6))
    both("logistic map", lambda c, _: (3.7 * c * (1 - c), c), ig.asarray(np.array([0.2, 0.5])), length=6, tolerance=1e-9)
    m = f64(3, 3, scale=0.4)
    both("matrix power", lambda c, _: (c @ m, None), ig.eye(3, dtype="float64"), length=4, tolerance=1e-10)

    def lstm(s, x):
        z = x @ u[:, :2] + s.h @ w[:2, :2]
        c = s.c * ig.sigmoid(z) + ig.tanh(z)
        h = ig.tanh(c) * ig.sigmoid(z)
        return State(h, c), {"y": h, "z": (z * 2, x)}

    both("containers", lstm, State(f64(2), f64(2)), f64(4, 2), 1e-10)
    both("fibonacci", lambda c, _: ((c[1], c[0] + c[1]), c[0]), (f64(), f64()), length=9)
    both("kept", lambda c, x: ((c[0], c[1] + x * c[0]), c[1]), (f64(2), f64(2)), f64(3, 2))
    both("replaced", lambda c, x: (x, c), f64(2), f64(3, 2))
    both("cubes of rows", lambda c, x: (c + 1, x ** 3), ig.asarray(0), f64(4, 3))


def captured():
    """Gradients reach arrays that a step reads from outside, through views too."""
    xs = f64(5, 3)

    def loss(run):
        def of(p):
            w, b = p["w"].T, p["b"]
            h, ys = run(lambda h, x: (ig.tanh(h @ w + b * x), (h * p["s"]).sum()), ig.zeros(3, dtype="float64") + 0.1, xs)
            return (h * h).sum() + ys.sum()
        return of

    for b in (f64(3), ig.ones(3, dtype="float64")):
        p = {"w": f64(3, 3), "b": b, "s": f64()}
        got, want = ig.grad(loss(lax.scan))(p), ig.grad(loss(unrolled))(p)
        for key in p:
            same(f"captured {key}", got[key], np.asarray(want[key]), 1e-10)


def numbers():
    total, ys = lax.scan(lambda c, x: (c + x, c), 0, ig.arange(5))
    check("integers", int(total) == 10 and np.asarray(ys).tolist() == [0, 0, 1, 3, 6])
    total, ys = lax.scan(lambda c, x: (c + x, c), 0.0, ig.asarray(np.arange(5.0)))
    check("a number takes the dtype of the step", total.dtype == ig.float64 and float(total) == 10)
    flag, ys = lax.scan(lambda c, x: (~c, c), True, length=3)
    check("bool", not bool(flag) and np.asarray(ys).tolist() == [True, False, True])
    c, ys = lax.scan(lambda c, x: (c, x + 1), None, ig.arange(3))
    check("no carry", c is None and np.asarray(ys).tolist() == [1, 2, 3])
    c, ys = lax.scan(lambda c, x: (c + 1, {"y": c * x}), 5.0, ig.zeros((0, 2)))
    check("no step", float(c) == 5 and ys["y"].shape == (0, 2))
    z, zs = lax.scan(lambda z, x: (z * 1j * x, z), ig.asarray(1 + 2j), ig.arange(1.0, 4.0))
    same("complex", z, np.asarray((1 + 2j) * 1j ** 3 * 6, dtype="complex64"), 1e-5)
    same("complex rows", zs, np.array([1 + 2j, (1 + 2j) * 1j, (1 + 2j) * 1j * 2j], dtype="complex64"), 1e-5)
    key, draws = lax.scan(lambda k, _: ((k := ig.random.fold_in(k, 3)), ig.random.uniform(k, (2,))), ig.random.key(0), length=3)
    k, want = ig.random.key(0), []
    for _ in range(3):
        k = ig.random.fold_in(k, 3)
        want.append(np.asarray(ig.random.uniform(k, (2,))))
    same("random", draws, np.stack(want))
    table = lax.fori_loop(0, 5, lambda i, t: t.at[i].set(t[i - 1] + 1), ig.zeros(5))
    same("items", table, np.arange(1, 6, dtype=np.float32))
    def in_place(c, x):
        c += x
        x *= 2
        return c, x

    total, ys = lax.scan(in_place, 0.0, ig.arange(4.0))
    check("changes in place", float(total) == 6 and np.asarray(ys).tolist() == [0, 2, 4, 6])
    same("map", lax.map(lambda x: (x @ x, -x), f64(3, 2).astype("float32"))[1].shape == (3, 2), np.asarray(True))


def whiles():
    def root(x):
        return lax.while_loop(lambda c: abs(c * c - x) > 1e-13 * x, lambda c: (c + x / c) / 2, x)

    same("newton", root(ig.asarray(np.float64(2))), np.sqrt(2.0), 1e-12)
    y, t = ig.jvp(root, (ig.asarray(np.float64(2)),), (ig.asarray(np.float64(1)),))
    same("jvp", t, 0.5 / np.sqrt(2.0), 1e-9)
    y, t = ig.jvp(lambda x: ig.jvp(root, (x,), (ig.ones_like(x),))[1], (ig.asarray(np.float64(2)),), (ig.asarray(np.float64(1)),))
    same("jvp of jvp", t, -0.25 * 2 ** -1.5, 1e-6)
    raises("grad", (ValueError, RuntimeError), lambda: float(ig.grad(root)(ig.asarray(np.float64(2)))), "while loop")
    x = ig.asarray(np.array([1.0, 2.0, 9.0, 1e4]))
    same("vmap", ig.vmap(root)(x), np.sqrt(np.asarray(x)), 1e-12)
    same("jit", ig.jit(root)(x[1]), np.sqrt(2.0), 1e-12)
    same("jit of vmap", ig.jit(ig.vmap(root))(x), np.sqrt(np.asarray(x)), 1e-12)

    def steps(n):
        return lax.while_loop(lambda c: c[0] > 1, lambda c: (ig.where(c[0] % 2 == 1, 3 * c[0] + 1, c[0] // 2), c[1] + 1), (n, 0))[1]

    same("collatz", ig.vmap(steps)(ig.asarray([1, 6, 7, 27])), np.array([0, 8, 16, 111]))
    check("never", int(lax.while_loop(lambda c: c < 0, lambda c: c + 1, 3)) == 3)
    for upper in (7, ig.asarray(7)):
        check("fori", int(lax.fori_loop(2, upper, lambda i, c: c + i, 0)) == 20)
    check("fori backwards", int(lax.fori_loop(3, 1, lambda i, c: c + i, 0)) == 0)
    g = ig.grad(lambda x: lax.fori_loop(0, 4, lambda i, c: c * x + i, x))(2.0)
    same("fori has gradients", g, np.float32(5 * 16 + 4 * 0 + 2 * 2 * 1 + 2), 1e-5)


def branches():
    x = f64(3)
    functions = [ig.sin, lambda v: v * v, lambda v: -v]
    for lazy in (False, True):
        for i in (-1, 0, 1, 2, 5):
            at = ig.asarray(i) + ig.asarray(0) if lazy else i
            same(f"switch {i}", lax.switch(at, functions, x), np.asarray(functions[min(max(i, 0), 2)](x)), 1e-12)
        for p in (True, False):
            at = ig.asarray(p) & ig.asarray(True) if lazy else p
            same(f"cond {p}", lax.cond(at, lambda a, b: a + b, lambda a, b: a * b, x, 2.0), np.asarray(x + 2 if p else x * 2), 1e-12)
    choose = ig.jit(lambda p, v: lax.cond(p, lambda v: {"a": v.sum()}, lambda v: {"a": v.prod()}, v))
    same("jit true", choose(ig.asarray(True), x)["a"], np.asarray(x).sum(), 1e-12)
    same("jit false", choose(ig.asarray(False), x)["a"], np.asarray(x).prod(), 1e-12)

    def pick(p, v):
        return lax.cond(p > 0, lambda v: (v * v * v).sum(), lambda v: ig.cos(v).sum(), v)

    for p in (1.0, -1.0):
        want = 3 * np.asarray(x) ** 2 if p > 0 else -np.sin(np.asarray(x))
        same(f"grad {p}", ig.grad(lambda v: pick(ig.asarray(p) + 0, v))(x), want, 1e-12)
        same(f"grad in jit {p}", ig.jit(ig.grad(pick, 1))(ig.asarray(p), x), want, 1e-12)
    p, xs = ig.asarray([1.0, -1.0, 2.0]), f64(3, 2)
    want = np.stack([(np.asarray(v) ** 3).sum() if q > 0 else np.cos(np.asarray(v)).sum() for q, v in zip([1, -1, 2], np.asarray(xs))])
    same("vmap", ig.vmap(pick)(p, xs), want, 1e-12)
    same("vmap of operands", ig.vmap(lambda v: pick(ig.asarray(1.0) + 0, v))(xs), (np.asarray(xs) ** 3).sum(1), 1e-12)
    same("select", lax.select(ig.asarray([True, False]), ig.asarray([1.0, 2.0]), ig.asarray([3.0, 4.0])), np.array([1, 4], np.float32))


def nested():
    """Loops in loops, in transforms and the other way around."""
    def powers(x):
        return lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, 2, lambda k, d: d * x + k, c) + i, x)

    def plain(x):
        c = x
        for i in range(3):
            for k in range(2):
                c = c * x + k
            c = c + i
        return c

    x = ig.asarray(np.array(1.1))
    same("nested", powers(x), np.asarray(plain(x)), 1e-12)
    same("nested: grad", ig.grad(powers)(x), np.asarray(ig.grad(plain)(x)), 1e-10)
    same("nested: hessian", ig.grad(ig.grad(powers))(x), np.asarray(ig.grad(ig.grad(plain))(x)), 1e-8)
    xs = f64(4)
    same("nested: vmap", ig.vmap(powers)(xs), np.stack([np.asarray(plain(v)) for v in xs]), 1e-10)
    same("nested: vmap of grad", ig.vmap(ig.grad(powers))(xs), np.stack([np.asarray(ig.grad(plain)(v)) for v in xs]), 1e-9)
    same("nested: grad of vmap", ig.grad(lambda v: ig.vmap(powers)(v).sum())(xs), np.stack([np.asarray(ig.grad(plain)(v)) for v in xs]), 1e-9)
    same("nested: jit", ig.jit(ig.vmap(ig.grad(powers)))(xs), np.stack([np.asarray(ig.grad(plain)(v)) for v in xs]), 1e-9)
    same("jacobian", ig.jacobian(lambda v: lax.scan(lambda c, r: (c * r, c + r), ig.asarray(np.float64(1)), v)[1])(xs),
         np.asarray(ig.jacobian(lambda v: unrolled(lambda c, r: (c * r, c + r), ig.asarray(np.float64(1)), v)[1])(xs)), 1e-10)

    def step(w, x):
        loss, g = ig.value_and_grad(lambda w: ((x @ w) ** 2).sum() + (w ** 4).sum())(w)
        return w - 0.01 * g, loss

    w, rows = f64(3), f64(6, 3)
    for a, b in zip(leaves(lax.scan(step, w, rows)), leaves(unrolled(step, w, rows))):
        same("training in a scan", a, np.asarray(b), 1e-12)
    same("vmap in a scan", lax.scan(lambda c, x: (ig.vmap(lambda a: a * 2)(c) + x, None), w, rows)[0],
         np.asarray(unrolled(lambda c, x: (c * 2 + x, c), w, rows)[0]), 1e-12)
    same("cond in a scan", lax.scan(lambda c, x: (lax.cond(x > 0, lambda c: c + x, lambda c: c * 2, c), None), f64() * 0, f64(8) * 0 + xs[0])[0].shape == (),
         np.asarray(True))

    def relu_sum(v):
        return lax.scan(lambda c, x: (lax.cond(x > 0, lambda c: c + x * x, lambda c: c, c), None), ig.asarray(np.float64(0)), v)[0]

    same("grad of a cond in a scan", ig.grad(relu_sum)(xs), np.where(np.asarray(xs) > 0, 2 * np.asarray(xs), 0), 1e-12)
    same("checkpoint", ig.grad(lambda v: ig.checkpoint(relu_sum)(v))(xs), np.where(np.asarray(xs) > 0, 2 * np.asarray(xs), 0), 1e-12)


def recomputed():
    """checkpoint and custom_grad in loops, branches, vmap and each other, also of arrays that the function knows from outside."""
    def scanned(step, x):
        return lax.scan(lambda c, v: (c * 0.5 + step(c, v), c), x, ig.stack([x, x * 2]))

    functions = {
        "map": lambda x, k: lax.map(lambda v: k(lambda u: ig.sin(u) * v)(v * 2), ig.stack([x, x * 2])),
        "scan": lambda x, k: scanned(lambda c, v: k(lambda u: ig.sin(u) * v * c)(v * 2), x)[1],
        "cond": lambda x, k: lax.cond((x * x).sum() > 0, k(lambda v: ig.sin(v) * x), lambda v: v, x * 2),
        "vmap": lambda x, k: ig.vmap(lambda v: k(lambda u: ig.sin(u) * v * v)(v * 2))(ig.stack([x, x * 2])),
        "vmap of a scan": lambda x, k: ig.vmap(lambda r: scanned(lambda c, v: k(lambda u: ig.sin(u) * r)(v), r)[0])(ig.stack([x, x * 2])),
        "a constant of a mapped loop": lambda x, k: ig.vmap(
            lambda v: (lambda y: lax.fori_loop(0, 2, lambda i, c: c * y, v))(k(ig.sin)(v)))(ig.stack([x, x * 2])),
        "itself": lambda x, k: k(lambda u: k(lambda w: ig.sin(w) * u)(u * 2) * u)(x),
        "grad": lambda x, k: lax.map(k(lambda u: ig.grad(lambda w: (k(ig.sin)(w) * u).sum())(u * u)), ig.stack([x, x * 2])),
    }
    x = f64(3)
    for name, f in functions.items():
        want = np.asarray(ig.grad(lambda x: f(x, lambda f: f).sum())(x))
        for how, made in (("", lambda g: g), ("jit of ", ig.jit)):
            same(f"{how}checkpoint in {name}", made(ig.grad(lambda x: f(x, ig.checkpoint).sum()))(x), want, 1e-12)

    def ruled(v):
        return ig.custom_grad(lambda u: ig.sin(u) * v, lambda inputs, out, g: [g * ig.cos(inputs[0]) * v])

    def plain(v):
        return lambda u: ig.sin(u) * ig.stop_gradient(v)

    for name, f in {
            "map": lambda x, k: lax.map(lambda v: k(v * v)(v * 2), ig.stack([x, x * 2])),
            "scan": lambda x, k: scanned(lambda c, v: k(v * c)(v * 2 + c), x)[1],
            "vmap": lambda x, k: ig.vmap(lambda v: k(v * v)(v * 2))(ig.stack([x, x * 2])),
            "checkpoint": lambda x, k: ig.checkpoint(lambda v: k(v * v)(v * 2))(x)}.items():
        same(f"a rule with arrays from outside in {name}", ig.grad(lambda x: f(x, ruled).sum())(x),
             np.asarray(ig.grad(lambda x: f(x, plain).sum())(x)), 1e-12)


def walks():
    """Graphs of steps share numbers with other graphs. Plans of both are made in turn."""
    def step(x):
        return lambda c, r: ((c := ig.tanh(lax.cond(c.sum() > 0, ig.sin, lambda a: a * 0.5 + c, c) + x)), c * r)

    def plain(x):
        c = ig.tanh((ig.sin(x) if float(x.sum()) > 0 else x * 1.5) + x)
        return (c * x * 0.3).sum()

    def summed(x, rows):
        return ig.vmap(lambda x, _: lax.scan(step(x), x, ig.stack([x * 0.3]))[1].sum(), in_axes=(None, 0))(x, rows).sum()

    rows, compiled = ig.ones((3, 3)), ig.jit(ig.grad(summed))
    for _ in range(6):
        x = f64(3)
        want = 3 * np.asarray(ig.grad(plain)(x))
        for f in (compiled, ig.grad(summed), ig.grad(summed)):
            same("a condition in a mapped scan", f(x, rows), want, 1e-12)


def associative():
    for n in (1, 2, 3, 8, 13):
        x = f64(n, 2)
        same(f"sums of {n}", lax.associative_scan(ig.add, x), np.cumsum(np.asarray(x), 0), 1e-12)
        same(f"reverse {n}", lax.associative_scan(ig.add, x, reverse=True), np.cumsum(np.asarray(x)[::-1], 0)[::-1], 1e-12)
        same(f"axis {n}", lax.associative_scan(ig.multiply, x.T, axis=1), np.cumprod(np.asarray(x).T, 1), 1e-12)
    m = f64(5, 2, 2)
    want = [np.asarray(m[0])]
    for i in range(1, 5):
        want.append(want[-1] @ np.asarray(m[i]))
    same("matrices", lax.associative_scan(ig.matmul, m), np.stack(want), 1e-12)


def slices():
    x = f64(4, 5)
    a = np.asarray(x)
    same("dynamic_slice", lax.dynamic_slice(x, (1, ig.asarray(9)), (2, 3)), a[1:3, 2:5])
    same("dynamic_index", lax.dynamic_index_in_dim(x, ig.asarray(-1), 0, keepdims=False), a[3])
    want = a.copy()
    want[1:3, 2:4] = 7
    same("dynamic_update_slice", lax.dynamic_update_slice(x, ig.full((2, 2), 7.0, dtype="float64"), (1, 2)), want)
    want = a.copy()
    want[2] = 1
    same("dynamic_update_index", lax.dynamic_update_index_in_dim(x, ig.ones(5, dtype="float64"), ig.asarray(2), 0), want)


def mistakes():
    x = f64(3)
    says("dtype", TypeError, ["carry['h'][1]", "float64", "float32", "astype"],
         lambda: lax.scan(lambda c, _: ({"h": (c["h"][0], c["h"][1].astype("float32"))}, None), {"h": (x, x)}, length=2))
    says("shape", TypeError, ["scan: carry is", "[3]"], lambda: lax.scan(lambda c, _: (c.sum(), None), x, length=2))
    says("structure", TypeError, ["structure"], lambda: lax.scan(lambda c, _: ((c, c), None), x, length=2))
    says("no pair", TypeError, ["(carry, y)"], lambda: lax.scan(lambda c, _: c, x, length=2))
    says("lengths", ValueError, ["length"], lambda: lax.scan(lambda c, _: (c, None), x, (x, f64(4))))
    says("nothing", ValueError, ["xs or length"], lambda: lax.scan(lambda c, _: (c, None), x))
    says("condition", TypeError, ["one bool"], lambda: lax.while_loop(lambda c: c, lambda c: c, x))
    says("branches", TypeError, ["the result", "branch"], lambda: lax.cond(x.sum() > 0, lambda v: v, lambda v: v.sum(), x))
    raises("reads an element", Exception, lambda: lax.scan(lambda c, r: (c + 1 if float(r) > 0 else c, None), 0.0, x))
    says("unknown", AttributeError, ["all_to_all", "team"], lambda: lax.all_to_all)
    says("no axis", NameError, ["psum", "'i'", "axis_name='i'"], lambda: lax.psum(x, "i"))
    says("a gradient inside", ValueError, ["psum", "outside of the vmap"],
         lambda: ig.vmap(ig.grad(lambda v: lax.psum(v * v, "i")), axis_name="i")(x))
    says("axes of dot_general", ig.ShapeError, ["contracting axis 0", "3", "4"], lambda: lax.dot_general(x, f64(4), (((0,), (0,)), ((), ()))))
    says("a window", ig.ShapeError, ["window"], lambda: lax.reduce_window(x, 0.0, lax.add, (4,), (1,), "VALID"))


def products_of_rows():
    """Products that read no carry are computed for all rows before the loop, with the same results and gradients."""
    w, u, m = f64(3, 4, scale=0.5), f64(4, 4, scale=0.5), f64(4, 3)
    both("products of rows", lambda h, x: (ig.tanh(x @ w + h @ u), (m @ x) * h), f64(4), f64(6, 3))
    both("of matrices and of other products", lambda h, x: (ig.tanh(x["a"] @ w @ u + h), ig.sum((x["a"] @ w) * h) + x["b"] @ x["b"]),
         f64(2, 4), {"a": f64(5, 2, 3), "b": f64(5, 3)})
    xs = f64(6, 2, 3)
    of = lambda w: (lax.scan(lambda h, x: (ig.tanh(x @ w + h @ u), None), ig.zeros((2, 4), dtype="float64"), xs)[0] ** 2).sum()  # noqa: E731
    check("one product", "m=12 n=4 k=3" in ig.explain(of)(w), ig.explain(of)(w))
    g, h = np.asarray(ig.grad(of)(w)), 1e-6
    near = [[float(of(w.at[i, k].add(h)) - of(w.at[i, k].add(-h))) / (2 * h) for k in range(4)] for i in range(3)]
    same("the gradient of the matrix", g, np.array(near), 1e-6)
    slices = ig.vmap(lambda w: of(w))(ig.stack([w, w * 2]))
    same("in vmap", slices, np.array([float(of(w)), float(of(w * 2))]), 1e-12)


def collectives():
    """Functions of all slices of a vmap against the whole array, also in grad and jit."""
    x, a = f64(4, 3), ig.arange(4)
    want = np.asarray(x)
    over = lambda f, *args, **kw: ig.vmap(f, axis_name="i", **kw)(*args)  # noqa: E731
    same("psum", over(lambda v: v - lax.psum(v, "i"), x), want - want.sum(0), 1e-12)
    same("pmean", over(lambda v: lax.pmean(v * 2, "i"), x), np.broadcast_to(want.mean(0) * 2, (4, 3)), 1e-12)
    same("pmax", over(lambda v: lax.pmax(v.sum(), "i") - lax.pmin(v.sum(), "i"), x), np.full(4, np.ptp(want.sum(1))), 1e-12)
    same("a container", over(lambda v: lax.psum({"a": v, "b": [1]}, "i")["b"][0] + lax.axis_size("i"), a), np.full(4, 8))
    same("axis_index", over(lambda v: v * 10 + lax.axis_index("i"), a), np.arange(4) * 11)
    same("all_gather", over(lambda v: lax.all_gather(v, "i"), a), np.broadcast_to(np.arange(4), (4, 4)))
    same("tiled", over(lambda v: lax.all_gather(v, "i", axis=1, tiled=True), x.reshape(4, 1, 3))[2], want.reshape(1, 12))
    same("ppermute", over(lambda v: lax.ppermute(v, "i", [(0, 1), (1, 0), (2, 3)]), a + 1), np.array([2, 1, 0, 3]))
    same("pshuffle", over(lambda v: lax.pshuffle(v, "i", [3, 2, 1, 0]), a), np.arange(4)[::-1])
    same("another axis", over(lambda v, w: lax.psum(v * w, "i"), x, 2.0, in_axes=(1, None))[1], want.sum(1) * 2, 1e-12)
    same("in jit", ig.jit(lambda x: over(lambda v: v / lax.psum(v, "i"), x))(x), want / want.sum(0), 1e-12)
    f = lambda x: (over(lambda v: v * lax.psum(v, "i"), x)).sum()  # noqa: E731
    same("in grad", ig.grad(f)(x), np.broadcast_to(2 * want.sum(0), (4, 3)), 1e-12)
    two = ig.vmap(ig.vmap(lambda v: v - lax.psum(v, "k"), axis_name="k"), axis_name="i")
    same("the inner of two", two(x), want - want.sum(1, keepdims=True), 1e-12)


def shapes():
    """dot_general, reduce, reduce_window and image.resize against their definitions, or JAX."""
    a, b = f64(2, 3, 4, 5), f64(4, 6, 2, 3)
    same("dot_general", lax.dot_general(a, b, (((1, 2), (3, 0)), ((0,), (2,)))), np.einsum("bijk,jmbi->bkm", np.asarray(a), np.asarray(b)), 1e-12)
    same("pad", lax.pad(ig.arange(6).reshape(2, 3), 9, [(1, 0, 1), (-1, 2, 2)]),
         np.array([[9] * 8, [9, 9, 1, 9, 9, 2, 9, 9], [9] * 8, [9, 9, 4, 9, 9, 5, 9, 9]]))
    same("reduce", lax.reduce(a, 1.0, lax.add, (1, 3)), np.asarray(a).sum((1, 3)) + 1, 1e-12)
    same("reduce by a function", lax.reduce(a, 0.0, lambda p, q: p + q, (-1,)), np.asarray(a).sum(-1), 1e-12)
    x = f64(5, 7)
    padded = np.pad(np.asarray(x), ((0, 1), (1, 1)), constant_values=-np.inf)
    want = np.array([[padded[i:i + 2, k:k + 3].max() for k in range(0, 7, 2)] for i in range(0, 5)])
    for name, f in (("max", lax.max), ("a function", lambda p, q: ig.where(p > q, p, q))):
        same(f"reduce_window by {name}", lax.reduce_window(x, -np.inf, f, (2, 3), (1, 2), "SAME"), want)
    same("apart", lax.reduce_window(x, 0.0, lax.add, (2, 1), (2, 3), "VALID", window_dilation=(2, 1)), (np.asarray(x)[:-2:2, ::3] + np.asarray(x)[2::2, ::3]), 1e-12)
    try:
        import jax
    except ImportError:
        return
    images, kernel = rng.standard_normal((2, 5, 6, 3)).astype("f4"), rng.standard_normal((3, 2, 3, 4)).astype("f4")
    for steps, padding, options in (((2, 2), "SAME", {}), ((3, 1), "VALID", {}), ((4, 2), "SAME", {"rhs_dilation": (2, 1)}), ((1, 2), [(1, 0), (2, 1)], {}),
                                    ((2, 3), "SAME", {"transpose_kernel": True}), ((2, 1), [(1, 1), (0, 1)], {"use_consistent_padding": True})):
        given = np.swapaxes(kernel, 2, 3) if "transpose_kernel" in options else kernel
        same(f"conv_transpose {steps} {padding} {options}", lax.conv_transpose(ig.asarray(images), ig.asarray(given), steps, padding, **options),
             jax.lax.conv_transpose(images, given, steps, padding, **options), 2e-5)
    same("conv_transpose by names", lax.conv_transpose(images[0], kernel[0], (2,), "SAME", dimension_numbers=("HNC", "HIO", "NCH")),
         jax.lax.conv_transpose(images[0], kernel[0], (2,), "SAME", dimension_numbers=("HNC", "HIO", "NCH")), 2e-5)
    same("gaps with negative margins", lax.conv_general_dilated(images, kernel, (1, 2), [(-1, 2), (0, -3)], (2, 3), (1, 1), ("NHWC", "HWIO", "NHWC")),
         jax.lax.conv_general_dilated(images, kernel, (1, 2), [(-1, 2), (0, -3)], (2, 3), (1, 1), ("NHWC", "HWIO", "NHWC")), 2e-5)
    image = rng.standard_normal((5, 8, 2)).astype("f4")
    for method in ("nearest", "bilinear", "cubic", "lanczos3", "lanczos5"):
        for shape, antialias in (((9, 3, 2), True), ((9, 3, 2), False), ((2, 17, 3), True)):
            same(f"resize {method} {shape}", ig.image.resize(image, shape, method, antialias), jax.image.resize(image, shape, method, antialias), 2e-5)


def long():
    """Time and memory of long loops: no graph of a million nodes."""
    check("a long loop", int(lax.fori_loop(0, 100000, lambda i, c: (c * 3 + i) % 1000003, 1)) == pure(100000))
    x, ys = lax.scan(lambda c, _: (c * 0.5 + 1, c), ig.zeros(8), length=20000)
    check("stacked", ys.shape == (20000, 8) and abs(float(ys[-1, 0]) - 2) < 1e-6)


def pure(n):
    c = 1
    for i in range(n):
        c = (c * 3 + i) % 1000003
    return c


for test in (scans, captured, numbers, whiles, branches, nested, recomputed, walks, associative, slices, mistakes, products_of_rows, collectives, shapes, long):
    attempt(test.__name__, test)
finish()
