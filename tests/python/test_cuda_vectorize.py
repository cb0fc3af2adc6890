"""cuda.vectorize and cuda.guvectorize against NumPy."""
import math

from against import attempt, check, finish, ig, np, raises, rng, same
from ingot import cuda

DEVICES = list({d.partition(":")[0]: d for d in reversed(ig.devices()) if not d.startswith("metal")}.values())


@cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def mix(a, b):
    return a * a + b if a > 0 else b


@cuda.vectorize(["int32(int32)", "f8(f8)"], target="cuda")
def twice(a):
    return 2 * a


@cuda.vectorize
def wave(a, b):
    return math.sin(a) / b


@cuda.vectorize
def larger(a, b):
    return a > b


@cuda.jit(device=True)
def norm(row):
    s = 0.0
    for v in row:
        s += v * v
    return math.sqrt(s)


@cuda.guvectorize(["void(float32[:], float32[:])", "void(float64[:], float64[:])"], "(n)->()")
def length(x, out):
    out[0] = norm(x)


@cuda.guvectorize(["void(float32[:,:], float32[:], float32, float32[:])"], "(m,n),(n),()->(m)", target="cuda")
def apply(a, x, scale, out):
    for i in range(a.shape[0]):
        out[i] = 0
        for j in range(a.shape[1]):
            out[i] += scale * a[i, j] * x[j]


@cuda.guvectorize("(n)->(n),()")
def running(x, sums, last):
    s = 0.0
    for i, v in enumerate(x):
        s += v
        sums[i] = s
    last[0] = s


def elements(device):
    a, b = rng.standard_normal((3, 1)).astype("float32"), rng.standard_normal(4).astype("float32")
    want = np.where(a > 0, a * a + b, b + 0 * a)
    ga, gb = ig.asarray(a, device=device), ig.asarray(b, device=device)
    got = mix(ga, gb)
    check("lazy", isinstance(got, ig.Array) and got.device == ga.device and not got.is_evaluated)
    same("broadcast", got, want, 1e-6)
    same("number", mix(ga, 2), np.where(a > 0, a * a + 2, np.float32(2)), 1e-6)
    same("with NumPy", mix(ga, b), want, 1e-6)
    same("fused", mix(ga * 2, gb) + 1, np.where(a > 0, 4 * a * a + b, b + 0 * a) + 1, 1e-6)
    out = ig.zeros((3, 4), device=device)
    check("out", mix(ga, gb, out=out) is out)
    same("out's elements", out, want, 1e-6)
    same("integers", twice(ig.asarray(np.arange(3, dtype="int32"), device=device)), np.arange(3, dtype="int32") * 2)
    same("wider", twice(ig.asarray(np.arange(3, dtype="float32"), device=device)), np.arange(3.0) * 2)
    same("view", twice(ig.asarray(np.arange(12, dtype="int32").reshape(3, 4), device=device).T[1:]),
         2 * np.arange(12, dtype="int32").reshape(3, 4).T[1:])
    same("types of arguments", wave(ga, 2.0), np.sin(a) / np.float32(2), 1e-6)
    same("bool", larger(gb, 0), b > 0)
    same("empty", twice(ig.zeros((0, 3), dtype="int32", device=device)), np.zeros((0, 3), "int32"))


def rows(device):
    x = rng.standard_normal((2, 3, 5)).astype("float32")
    gx = ig.asarray(x, device=device)
    same("length", length(gx), np.sqrt((x * x).sum(-1)), 1e-6)
    same("one row", length(gx[0, 0]), np.sqrt((x[0, 0] ** 2).sum()), 1e-6)
    a, v = rng.standard_normal((2, 1, 4, 5)).astype("float32"), rng.standard_normal((3, 5)).astype("float32")
    same("matrix times vector", apply(ig.asarray(a, device=device), ig.asarray(v, device=device), 2.0),
         2 * np.einsum("bcij,cj->bci", np.broadcast_to(a, (2, 3, 4, 5)), v), 1e-5)
    sums, last = ig.zeros((2, 3, 5), device=device), ig.zeros((2, 3), device=device)
    running(gx, sums, last)
    same("two results", sums, np.cumsum(x, -1), 1e-5)
    same("the second", last, x.sum(-1), 1e-5)


def hosts():
    x = np.arange(4, dtype="float32")
    got = mix(x, x)
    check("NumPy", isinstance(got, np.ndarray))
    same("NumPy's elements", got, x * x + x)
    check("number", mix(2.0, 3.0) == 7 and isinstance(mix(2.0, 3.0), np.floating), repr(mix(2.0, 3.0)))
    same("list", twice([1, 2.5]), np.array([2.0, 5.0]))
    out = np.zeros((), "float64")
    length(np.array([3.0, 4.0]), out)
    same("out", out, np.array(5.0))
    same("gu NumPy", length(np.array([[3.0, 4.0]])), np.array([5.0]))
    same("jit", ig.jit(lambda a: mix(a, a) * 2)(ig.arange(3.0)), np.float32([0, 4, 12]))


def mistakes():
    x = ig.ones(3)
    raises("count", TypeError, lambda: mix(x), "2 arguments")
    raises("signature", TypeError, lambda: twice(ig.ones(2, dtype="complex64")), "no signature")
    raises("shapes", ValueError, lambda: mix(x, ig.ones(4)))
    raises("out", ValueError, lambda: mix(x, x, out=ig.zeros(4)), "out is")
    raises("type", ValueError, lambda: cuda.vectorize(["text(float32)"])(lambda a: a), "not a type")
    raises("parameters", ValueError, lambda: cuda.vectorize(["float32(float32)"])(mix.function), "2 numbers")
    raises("text", ValueError, lambda: cuda.vectorize(["float32"])(mix.function), "not a signature")
    raises("layout", ValueError, lambda: cuda.guvectorize("n->m")(length.function), "not a layout")
    raises("axes", ValueError, lambda: cuda.guvectorize(["void(float32[:,:], float32[:])"], "(n)->()")(length.function), "axes")
    raises("core sizes", ValueError, lambda: apply(ig.ones((4, 5)), ig.ones(4), 1.0), "n of")
    raises("loops", ValueError, lambda: apply(ig.ones((2, 4, 5)), ig.ones((3, 5)), 1.0), "broadcast")
    raises("no results", TypeError, lambda: running(x), "pass arrays")
    raises("few axes", ValueError, lambda: apply(ig.ones(4), ig.ones(4), 1.0), "2 axes")


for one in DEVICES:
    for test in (elements, rows):
        attempt(f"{test.__name__} on {one}", lambda: test(one))
for test in (hosts, mistakes):
    attempt(test.__name__, test)
finish()
