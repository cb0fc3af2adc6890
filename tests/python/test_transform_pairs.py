"""Transforms of transforms without another library: compiled, mapped and checkpointed functions against their definition, and
gradients of transforms against differences."""
import itertools

from against import attempt, check, finish, ig, np, rng, same

A = rng.standard_normal((3, 3))
W = ig.asarray(A)
POINT = np.array([0.5, 1.25, 0.8])


def changed(x):
    x *= 2
    x[0] = x[1] * x[2]
    x -= x.mean()
    return x * x


FUNCTIONS = {
    "cube sum": lambda x: (x ** 3).sum(),
    "sin": lambda x: ig.sin(x) * x,
    "tanh": lambda x: ig.tanh(W @ x),
    "softmax": lambda x: ig.softmax(x),
    "gather": lambda x: x[ig.asarray([2, 0, 0])] * x,
    "in place": changed,
    "cumprod": lambda x: ig.cumprod(x),
}


def total(f):
    return lambda x: f(x).sum()


def of_vjp(f):
    def made(x):
        y, pull = ig.vjp(f, x)
        return pull(ig.cos(y))[0]
    return made


def of_value(f):
    def made(x):
        value, g = ig.value_and_grad(total(f))(x)
        return value + g
    return made


# Those that give what the function gives.
SAME = {"jit": ig.jit, "checkpoint": ig.checkpoint, "jit of jit": lambda f: ig.jit(ig.jit(f)),
        "custom_grad": lambda f: ig.custom_grad(f, lambda inputs, out, g: [ig.vjp(f, inputs[0])[1](g)[0]])}
OTHERS = {"grad": lambda f: ig.grad(total(f)), "value_and_grad": of_value, "vjp": of_vjp,
          "jvp": lambda f: lambda x: ig.jvp(f, (x,), (ig.sin(x),))[1], "jacobian": ig.jacobian, "jacfwd": ig.jacfwd,
          "hessian": lambda f: ig.hessian(total(f)), "vmap": lambda f: lambda x: ig.vmap(f)(ig.stack([x, x * 0.75]))}


def value(f):
    x = ig.asarray(POINT)
    y = np.asarray(f(x))
    if f is not changed:
        check("the argument is as before", np.array_equal(np.asarray(x), POINT))
    return y


def close(name, got, want):
    check(name, got.shape == want.shape and np.allclose(got, want, rtol=1e-9, atol=1e-9), f"is {got.tolist()!r:.200}, not {want.tolist()!r:.200}")


def definitions():
    """A transform of a compiled function, and a compiled transform, give what the transform gives."""
    for f_name, f in FUNCTIONS.items():
        plain = value(f)
        for s_name, s in SAME.items():
            close(f"{s_name} of {f_name}", value(s(f)), plain)
        for t_name, t in OTHERS.items():
            want = value(t(f))
            for s_name, s in SAME.items():
                close(f"{t_name} of {s_name} of {f_name}", value(t(s(f))), want)
                if s_name != "custom_grad":
                    close(f"{s_name} of {t_name} of {f_name}", value(s(t(f))), want)


def differences():
    """Derivatives of transforms."""
    for (t_name, t), (f_name, f) in itertools.product(OTHERS.items(), list(FUNCTIONS.items())[:6]):
        of = t(f)
        h, columns = 1e-5, []
        for i in range(3):
            step = np.zeros(3)
            step[i] = h
            columns.append((np.asarray(of(ig.asarray(POINT + step))) - np.asarray(of(ig.asarray(POINT - step)))) / (2 * h))
        want = np.stack(columns, axis=-1)
        for j_name, j in {"jacrev": ig.jacrev, "jacfwd": ig.jacfwd}.items():
            got = np.asarray(j(of)(ig.asarray(POINT)))
            check(f"{j_name} of {t_name} of {f_name}", got.shape == want.shape and np.allclose(got, want, rtol=1e-5, atol=1e-5),
                  f"is {got.tolist()!r:.200}, not {want.tolist()!r:.200}")


def slices():
    """vmap of a transform is the transform of each row."""
    rows = rng.random((4, 3)) + 0.5
    for (t_name, t), (f_name, f) in itertools.product((OTHERS | SAME).items(), FUNCTIONS.items()):
        of = t(f)
        want = np.stack([np.asarray(of(ig.asarray(row))) for row in rows])
        close(f"vmap of {t_name} of {f_name}", np.asarray(ig.vmap(of)(ig.asarray(rows))), want)


def outside():
    """Arrays that a function knows from outside are differentiated, too."""
    x = ig.asarray(POINT)
    for name, s in {"jit": ig.jit, "checkpoint": ig.checkpoint, "vmap": ig.vmap}.items():
        same(f"grad by an array outside of {name}", ig.grad(lambda w: s(lambda v: v * w)(x).sum())(ig.asarray(2.0, dtype=ig.float64)),
             np.asarray(POINT.sum()))

    def of_middle(w):
        h = w * w
        return ig.checkpoint(lambda v: v * h)(x).sum()

    same("grad through an array outside of checkpoint", ig.grad(of_middle)(ig.asarray(2.0, dtype=ig.float64)), np.asarray(4 * POINT.sum()))


for test in (definitions, differences, slices, outside):
    attempt(test.__name__, test)
finish()
