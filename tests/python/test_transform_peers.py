"""Transforms of transforms against JAX, on functions of a vector: all pairs, and some triples. IG_TEST_ALL=1 takes more functions, and
IG_TEST_TRIPLES=k/n part k of n of all triples on all functions. Skipped where JAX is not installed."""
import functools
import itertools
import os

from against import attempt, check, finish, ig, np, rng, skip

try:
    import jax
    import jax.numpy as jnp
    import traced
    jax.config.update("jax_enable_x64", True)
except ImportError:
    skip("jax", "not installed")
    finish()
    raise SystemExit

N = 3
W = rng.standard_normal((N, N))


def functions(np_, lib):
    """Functions of a vector of 3 positive numbers; np_ has NumPy's names, lib is "ig" or "jax"."""
    w = np_.asarray(W)
    where = np_.where

    def changed(x):  # in place, as far as the library has it
        if lib == "ig":
            x *= 2
            x[0] = x[1] * x[2]
            x -= x.mean()
            return x * x
        x = x * 2
        x = x.at[0].set(x[1] * x[2])
        x = x - x.mean()
        return x * x

    return {
        "square": lambda x: x ** 2,
        "cube sum": lambda x: (x ** 3).sum(),
        "sin": lambda x: np_.sin(x) * x,
        "exp": lambda x: np_.exp(-x * x),
        "log": lambda x: np_.log(x + 1),
        "sqrt": lambda x: np_.sqrt(x + x * x),
        "tanh": lambda x: np_.tanh(w @ x),
        "product": lambda x: x[0] * x[1] * x[2],
        "prod": lambda x: np_.prod(x),
        "cumsum": lambda x: np_.cumsum(x * x),
        "cumprod": lambda x: np_.cumprod(x),
        "max": lambda x: (x * x).max(),
        "where": lambda x: where(x > 1, x ** 3, -x),
        "matmul": lambda x: x @ w @ x,
        "outer": lambda x: np_.outer(x, x).sum(axis=0),
        "norm": lambda x: np_.sqrt((x * x).sum()),
        "softmax": lambda x: np_.exp(x) / np_.exp(x).sum(),
        "logsumexp": lambda x: np_.log(np_.exp(x).sum()),
        "mean": lambda x: ((x - x.mean()) ** 2).mean(),
        "reciprocal": lambda x: 1 / (1 + x),
        "flip": lambda x: x[::-1] * x,
        "gather": lambda x: x[np_.asarray([2, 0, 0])] * x,
        "sort": lambda x: np_.sort(x) * np_.asarray([1.0, 2.0, 3.0]),
        "stack": lambda x: np_.stack([x, x * x]).sum(axis=0),
        "concat": lambda x: np_.concatenate([x, np_.sin(x)]).reshape(2, 3).sum(axis=0),
        "pad": lambda x: np_.pad(x * x, (1, 1)).sum(),
        "sinc": lambda x: np_.sinc(x - 1),
        "arctan2": lambda x: np_.arctan2(x, x[::-1] + 1),
        "hypot": lambda x: np_.hypot(x, x[::-1]),
        "power": lambda x: x ** x,
        "in place": changed,
        "logaddexp": lambda x: np_.logaddexp(x, 2 * x),
        "clip": lambda x: np_.clip(x, 0.6, 1.4) * x,
    }


def transforms(lib, np_):
    """Each makes a function of a vector from another one."""
    def total(f):
        return lambda x: f(x).sum()

    def custom(f):
        if lib is ig:
            return ig.custom_grad(f, lambda inputs, out, g: [1.5 * ig.vjp(f, inputs[0])[1](g)[0]])
        own = jax.custom_vjp(f)
        own.defvjp(lambda x: (own(x), x), lambda x, g: (1.5 * jax.vjp(f, x)[1](g)[0],))
        return own

    def of_vjp(f):
        def made(x):
            y, pull = lib.vjp(f, x)
            return pull(np_.cos(y))[0]
        return made

    def of_value(f):
        def made(x):
            value, g = lib.value_and_grad(total(f))(x)
            return value + g
        return made

    jacobian = ig.jacobian if lib is ig else jax.jacrev
    return {
        "jit": lib.jit,
        "grad": lambda f: lib.grad(total(f)),
        "value_and_grad": of_value,
        "vjp": of_vjp,
        "jvp": lambda f: lambda x: lib.jvp(f, (x,), (np_.sin(x),))[1],
        "vmap": lambda f: lambda x: lib.vmap(f)(np_.stack([x, x * 0.75])),
        "checkpoint": lib.checkpoint,
        "custom_grad": custom,
        "jacobian": lambda f: jacobian(f),
        "hessian": lambda f: lib.hessian(total(f)),
    }


ORDER = {"grad": 1, "value_and_grad": 1, "vjp": 1, "jvp": 1, "jacobian": 1, "hessian": 2}
OURS, THEIRS = functions(ig, "ig"), functions(jnp, "jax")
OUR_T, THEIR_T = transforms(ig, ig), transforms(jax, jnp)
POINT = np.array([0.5, 1.25, 0.8])


def allowed(names):
    """jvp of a function with custom_vjp is refused by JAX."""
    for i, outer in enumerate(names):
        if outer == "jvp" and "custom_grad" in names[i:]:
            return False
        if outer in ("hessian",) and "custom_grad" in names[i:]:
            return False  # its second derivative is by forward mode in JAX
    return True


@functools.cache
def wanted(names, f):
    """The result of JAX, or for several transforms of what JAX traces."""
    theirs = THEIRS[f]
    for t in reversed(names):
        theirs = THEIR_T[t](theirs)
    if len(names) > 1:
        return traced.value(theirs, POINT)
    own = np.asarray(theirs(jnp.asarray(POINT)))
    check(f"trace of {names} of {f}", np.allclose(traced.value(theirs, POINT), own, rtol=1e-12, atol=1e-12))
    return own


def compare(names, f):
    name = " of ".join(names) + " of " + f
    ours = OURS[f]
    for t in reversed(names):
        ours = OUR_T[t](ours)
    want = wanted(tuple(t for t in names if THEIR_T[t]), f)
    try:
        x = ig.asarray(POINT)
        got = [np.asarray(ours(x)) for _ in range(2)][1]
    except Exception as error:
        check(name, False, f"raised {type(error).__name__}: {error}")
        return
    scale = max(1.0, float(np.abs(want).max()))
    fine = got.shape == want.shape and np.allclose(got / scale, want / scale, rtol=1e-9, atol=1e-9)
    check(name, fine and np.array_equal(np.asarray(x), POINT), f"is {got.tolist()!r:.200}, not {want.tolist()!r:.200}")


def few(names, i, n):
    """n functions, others for each combination."""
    all_ = list(OURS)
    return [all_[(i * n + k) % len(all_)] for k in range(n)]


def singles():
    for i, (t, f) in enumerate(itertools.product(OUR_T, OURS)):
        if ALL or i % 7 == 0:
            compare((t,), f)


ALL = os.environ.get("IG_TEST_ALL") == "1"


def pairs():
    for i, names in enumerate(itertools.product(OUR_T, repeat=2)):
        if allowed(names):
            for f in few(names, i, 6 if ALL else 1):
                compare(names, f)


def triples():
    for i, names in enumerate(itertools.product(OUR_T, repeat=3)):
        if allowed(names) and sum(ORDER.get(t, 0) for t in names) <= 4 and (ALL or i % 37 == 0):
            for f in few(names, i, 1):
                compare(names, f)


def part():
    """Part k of n of all triples on all functions. In JAX, jit and checkpoint are left out, because they change no value, and what
    remains is computed once."""
    k, n = map(int, PART.split("/"))
    THEIR_T["jit"] = THEIR_T["checkpoint"] = None
    every = [(f, names) for f in OURS for names in itertools.product(OUR_T, repeat=3) if allowed(names)]
    for f, names in every[k * len(every) // n:(k + 1) * len(every) // n]:
        compare(names, f)


PART = os.environ.get("IG_TEST_TRIPLES")
for test in (part,) if PART else (singles, pairs, triples):
    attempt(test.__name__, test)
finish()
