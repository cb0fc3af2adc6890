"""Devices, verification, measurement, and the samplers of ingot.random."""
from against import attempt, check, finish, ig, np, raises, same


def test_devices():
    found = ig.devices()
    cpu = found[0]
    check("the CPU is the first", cpu == "cpu" and isinstance(cpu, str), found)
    check("its facts", cpu.kind == "cpu" and cpu.memory > 1 << 20 and cpu.limit > 0 and cpu.threads >= 1 and cpu.model,
          ig._ingot._devices())
    raises("an unknown fact", AttributeError, lambda: cpu.colour)
    raises("facts of an unknown device", ig.DeviceError, lambda: ig.device("none:7").memory)
    check("devices of the standard", ig.__array_namespace_info__().devices() == found)
    x = ig.ones(3, device=cpu)
    check("as an argument", x.device == cpu)
    for device in found:
        y = ig.full((1,), 2.0, device=device)
        check(f"elements stay on {device}", y[0].device == device and ig.squeeze(y)[()].device == device, f"are on {y[0].device}")


def test_with():
    before = ig.default_device()
    for name in ig.devices():
        with ig.device(name) as current:
            check(f"inside: {name}", ig.default_device() == name == current)
            x = ig.arange(5.0).eval()
            check(f"new arrays: {name}", x.device == name, x.device)
            with current, ig.device("cpu"):
                check("nested", ig.default_device() == "cpu")
            check("after a nested one", ig.default_device() == name)
        check("afterwards", ig.default_device() == before)
    try:
        with ig.device("cpu"):
            raise KeyError
    except KeyError:
        check("after an exception", ig.default_device() == before)

    def enter():
        with ig.device("none:7"):
            pass
    raises("an unknown device", ig.DeviceError, enter)
    check("after a failure", ig.default_device() == before)


def test_arguments_decide():
    """Lists, NumPy's arrays, counters and unit vectors follow the array that they meet, and results are on its device."""
    lax = ig.lax
    f = lambda a: (a[[0, 1]] * ig.sin(a[1:])).sum()
    cases = {
        "mask": lambda x: x[x > 0], "list as index": lambda x: x[[0, 2]], "take": lambda x: ig.take(x, [0]), "operand": lambda x: [1, 2, 3] + x,
        "NumPy's operand": lambda x: np.ones(3, "f4") * x, "list of arrays": lambda x: ig.concatenate([[5.0], x]),
        "where": lambda x: ig.where([True, False, True], x, [0, 0, 0]), "solve": lambda x: ig.solve(np.eye(3, dtype="f4"), x),
        "at": lambda x: x.at[[0]].set([9]), "at of a mask": lambda x: x.at[x > 0].add(1), "linspace": lambda x: ig.linspace(x, [1.0, 2.0, 3.0], 3),
        "jit": ig.jit(f), "gradient": ig.grad(f), "jit of a gradient": ig.jit(ig.grad(f)), "jit of a list": ig.jit(lambda a: a * [1, 2, 3]),
        "jit of its input": ig.jit(lambda a: a), "Jacobian": ig.jacobian(lambda a: a * a), "Hessian": ig.hessian(f),
        "vmap": lambda x: ig.vmap(lambda r: r[[0]])(ig.stack([x, x])), "scan": lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x)[1],
        "gradient of scan": ig.grad(lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x)[1].sum()),
        "jit of scan": ig.jit(lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x)[1]),
        "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, x), "cond": lambda x: lax.cond(x[0] > 0, lambda a: a + 1, lambda a: a - 1, x),
        "while_loop": lambda x: lax.while_loop(lambda c: c.sum() < 99, lambda c: c + 5, x),
        "jit of a transform": ig.jit(lambda a: ig.fft.fft(a).real)}

    def assigned(key, value):
        def change(x):
            x[key] = value
            return x
        return change
    cases |= {"assignment": assigned([0], [7]), "assignment by a mask": assigned(np.array([True, False, True]), 5), "of a slice": assigned(slice(0, 2), [5, 6])}
    before = ig.default_device()
    for name, g in cases.items():
        y = g(ig.asarray([1.0, -2.0, 3.0], device="gang"))
        check(f"the device of {name}", y.device == "gang" and ig.default_device() == before, y.device)
        same(name, y, np.asarray(g(ig.asarray([1.0, -2.0, 3.0], device="cpu"))), 1e-6)
    raises("two devices", ig.DeviceError, lambda: ig.asarray([1.0], device="cpu") + ig.asarray([1.0], device="gang"), "different devices")
    check("after an error", ig.default_device() == before)


def test_verify():
    x = ig.random.normal(ig.key(0), (20, 30))
    y = ig.softmax(x @ x.T).sum(axis=0)
    report = ig.verify(y)
    check("a correct graph", report.failed == 0 and report.nodes > 3 and report.text == "" and report.node == -1, report)
    check("errors are below their bounds", report.worst_bound <= 1, report)
    check("several arrays", ig.verify({"a": ig.exp(x), "b": [x + 1]}).nodes >= 2)
    check("the array is still lazy", not y.is_evaluated)


def test_bench():
    x = ig.ones((50, 50)).eval()
    t = ig.bench(lambda x: x @ x, x, seconds=0.01)
    check("times", 0 < t.least <= t.median <= t.most and t.calls >= 5, t)
    check("repr", "median of" in repr(t), t)
    calls = []
    ig.bench(lambda: calls.append(0), seconds=0)
    check("at least 5 calls", len(calls) >= 5)


def test_random():
    """Every op that takes a key is a function of ingot.random and draws the same numbers."""
    key = ig.key(3)
    names = [row[0] for row in ig._ingot._table() if row[2].startswith("key: ") and row[0] != "key"]
    for name in names:
        short = name.removeprefix("random_")
        function = getattr(ig.random, short, None)
        check(f"random.{short}", getattr(function, "__wrapped__", function) is ig._ingot._ops[name] and short in ig.random.__all__)
    calls = {"normal": ((4, 5),), "uniform": ((4, 5),), "randint": ((9,), 0, 10), "choice": (10, (3,)), "permutation": (7,),
             "exponential": ((6,),), "poisson": (3.0, (5,)), "gamma": (2.0, (5,)), "beta": (1.0, 2.0, (5,))}
    for name, args in calls.items():
        f = getattr(ig.random, name)
        try:
            a = f(key, *args)
        except (TypeError, ValueError):
            a = f(key, *args[::-1])
            args = args[::-1]
        same(f"{name} is the same for a key", f(key, *args), np.asarray(a))
        check(f"{name} differs for others", not np.array_equal(np.asarray(f(ig.key(4), *args)), np.asarray(a)))


for test in (test_devices, test_with, test_arguments_decide, test_verify, test_bench, test_random):
    attempt(test.__name__, test)
finish()
