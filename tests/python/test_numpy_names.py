"""Lines that users of NumPy type, with ingot for numpy: the results are NumPy's. Then what differs on purpose, with advice."""
import io
import itertools
import os
import tempfile
import warnings

from against import attempt, check, finish, ig, np, raises, same

# In these lines np is NumPy, then ingot. Results are compared in float64.
LINES = """
np.array(range(4)) * 2
np.array([1.5, 2.5]) + [1, 2]
[1, 2] * np.array([3, 4])
np.array([1, 2, 3]) == [1, 5, 3]
np.array(x * x for x in range(4)) if np is ig else np.array([x * x for x in range(4)])
np.asarray([1, 2, 3], dtype="int8").sum()
np.array([[1, 2], [3, 4]]).astype(float).mean(axis=0)
np.array([1, 2.5, 3]).astype(int)
np.float64(3) + np.int32(4)
np.float32([1, 2, 3])
np.int64("12")
np.round(np.array([123, 155, -250]), -1)
np.round(np.array([7, 8, 9]))
np.round(np.array([1.234, 5.678]), 2)
np.floor(np.array([1, 2, 3]))
np.mgrid[0:3, 0:2]
np.mgrid[0:1:5j]
np.mgrid[0:4:2, 0:1:3j]
np.ogrid[0:3, 0:2][0]
np.r_[1:4, 0, 4]
np.r_[np.array([1, 2]), 0, 0, np.array([4.5])]
np.r_["0,2", [1, 2], [3, 4]]
np.r_["0,3,-1", [1, 2], [3, 4]]
np.c_[np.array([1, 2, 3]), np.array([4, 5, 6])]
np.c_[np.array([[1, 2, 3]]), 0, 0]
np.arange(10)[np.s_[2:8:2]]
np.arange(10)[np.index_exp[2:8]]
np.frombuffer(b"\\x01\\x02\\x03", dtype=np.uint8)
np.frombuffer(np.arange(4).tobytes() if np is not ig else memoryview(np.arange(4)).tobytes(), dtype="int64", offset=8, count=2)
np.fromiter((i * i for i in range(5)), dtype="float64")
np.fromiter(range(9), "int64", 4)
np.fromstring("1 2 3.5", sep=" ")
np.fromfunction(lambda i, j: i + 10 * j, (2, 3))
np.linspace(np.array([0., 1.]), np.array([1., 3.]), 5)
np.linspace([0, 1], [1, 3], 5, axis=1)
np.linspace(0, 1, 5, endpoint=False)
np.linspace(0, 1, 5, retstep=True)[1]
np.linspace(0, 10, 5, dtype=int)
np.linspace(3, 1)
np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
np.shape(np.ones((2, 3)))
np.ndim(np.ones((2, 3)))
np.size(np.ones((2, 3)), 1)
np.finfo(np.float32).eps
np.finfo("float64").max
np.iinfo(np.int16).min
np.can_cast("i4", "f8")
np.issubdtype(np.array([1.5]).dtype, np.floating)
np.issubdtype("int32", np.integer)
list(np.ndindex(2, 3))
[i for i, v in np.ndenumerate(np.array([[1, 2], [3, 4]]))]
np.sum(np.ones((2, 3)), axis=0, initial=5)
np.array([3, 1, 2]).max(initial=9) if np is not ig else np.max(np.array([9, 3, 1, 2]))
np.sort(np.array([[3, 1], [2, 0]]), axis=None)
np.concatenate([np.ones((2, 2)), np.zeros((1, 2))], axis=None)
np.ravel(np.arange(6).reshape(2, 3), order="F")
np.reshape(np.arange(6), (2, 3), order="F")
np.full((2, 2), 7)
np.identity(3)
np.tri(3)
np.vander(np.array([1, 2, 3]))
np.diff(np.array([1, 4, 9, 16]), 2)
np.cumsum(np.arange(6).reshape(2, 3))
np.median(np.array([3., 1, 2, 4]))
np.percentile(np.arange(11.), 30)
np.std(np.arange(5.), ddof=1)
np.average(np.array([1., 2, 3]), weights=[3, 2, 1])
np.histogram(np.array([1, 2, 2, 3.]), bins=3)[0]
np.digitize(np.array([0.5, 2.5]), [0, 1, 2, 3])
np.searchsorted(np.array([1, 3, 5]), [2, 4])
np.unique(np.array([3, 1, 3, 2]))
np.bincount(np.array([0, 1, 1, 3]))
np.where(np.arange(5) > 2, 1, 0)
np.argwhere(np.array([0, 3, 0, 4]))
np.nonzero(np.array([0, 3, 0, 4]))[0]
np.select([np.arange(4) < 2, np.arange(4) >= 2], [np.arange(4), -np.arange(4)])
np.clip(np.arange(6), 1, 4)
np.outer([1, 2], [3, 4])
np.power.outer(np.array([1, 2]), np.array([1, 2]))
np.equal.outer(np.array([1, 2]), np.array([2, 1]))
np.less.outer([1, 2], [2, 1])
np.gcd.reduce(np.array([12, 18]))
np.fmax.reduce(np.array([1., np.nan]))
np.arctan2.outer(np.array([1.]), np.array([2.]))
np.left_shift.outer(np.array([1, 2]), np.array([1, 2]))
np.einsum("ij,j->i", np.ones((2, 3)), np.arange(3.))
np.tensordot(np.ones((2, 3)), np.ones((3, 2)), 1)
np.dot(np.arange(3.), np.arange(3.))
np.linalg.norm(np.array([3., 4]))
np.linalg.solve(np.array([[2., 0], [0, 4]]), np.array([2., 4]))
np.linalg.inv(np.array([[2., 0], [0, 4]]))
np.linalg.det(np.array([[2., 1], [0, 4]]))
np.fft.fft(np.array([1., 0, 0, 0])).real
np.fft.fftfreq(4)
np.meshgrid(np.arange(2), np.arange(3))[0]
np.tile(np.array([1, 2]), 3)
np.repeat(np.array([1, 2]), 2)
np.roll(np.arange(5), 2)
np.flip(np.arange(3))
np.pad(np.array([1, 2]), 1)
np.stack([np.arange(2), np.arange(2)], axis=1)
np.vstack([np.arange(2), np.arange(2)])
np.hstack([np.arange(2), np.arange(2)])
np.split(np.arange(6), 3)[1]
np.insert(np.arange(3), 1, 9)
np.delete(np.arange(5), [1, 2])
np.append(np.arange(3), [7, 8])
np.isin(np.arange(4), [1, 3])
np.interp(2.5, [1, 2, 3], [3, 2, 0])
np.polyfit(np.arange(4.), np.arange(4.) * 2 + 1, 1)
np.polyval([1, 2, 3], 2)
np.poly1d([0, 1, 2, 3])(np.arange(3.))
np.poly1d([1, 2])(np.poly1d([1, 0, 1])).coeffs
np.poly1d([2., 3], r=True).coeffs
(2 * np.poly1d([1, 2]) ** 2 - np.poly1d([1]) + 3).c
np.poly1d([1., 2, 3]).deriv().c
np.poly1d([1., 2, 3]).integ(k=4).c
np.poly1d([1, 2, 3])[1] + np.poly1d([1, 2]).order
np.array([float(v) for v in np.nditer(np.arange(6.).reshape(2, 3).T)]).sum()
np.array([float(a * b) for a, b in np.nditer([np.arange(3.), np.ones((2, 1))])])
np.vectorize(lambda a, b: a - b if a > b else a + b)([1, 2, 3, 4], [[2], [3]])
np.vectorize(lambda a, b=1: a * b + 1)(np.arange(3.), b=2.0)
np.vectorize(lambda a: (a, -a))(np.arange(3))[1]
np.vectorize(lambda a, n: a * len(n), excluded={1})(np.arange(3), "ab")
np.vectorize(lambda a: a / 2, otypes=["f4"])(np.arange(3))
np.vectorize(lambda m, v: m @ v, signature="(m,n),(n)->(m)")(np.arange(24.).reshape(2, 2, 2, 3), np.ones((2, 1, 3)))
np.vectorize(np.convolve, signature="(n),(m)->(k)")(np.eye(4), [1., 2, 1])
np.vectorize(lambda v: (v.sum(), v * 2), signature="(n)->(),(n)")(np.arange(6.).reshape(2, 3))[1]
np.cov(np.arange(6.).reshape(2, 3))
np.corrcoef(np.array([[1., 2, 3], [1, 3, 2]]))
np.nan_to_num(np.array([np.nan, 1.]))
np.nanmean(np.array([np.nan, 1., 3]))
np.isnan(np.array([np.nan, 1.]))
np.allclose(np.ones(2), np.ones(2) + 1e-9)
np.array_equal(np.arange(3), np.arange(3))
np.any(np.array([0, 1])) and np.all(np.array([1, 1]))
np.prod(np.array([1, 2, 3, 4]))
np.cross([1, 0, 0], [0, 1, 0])
np.kron(np.eye(2), np.ones((1, 2)))
np.trace(np.arange(9).reshape(3, 3))
np.diag(np.arange(3))
np.triu(np.ones((3, 3)))
np.expand_dims(np.arange(3), 0)
np.squeeze(np.ones((1, 3, 1)))
np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
np.swapaxes(np.zeros((2, 3)), 0, 1).shape
np.broadcast_to(np.arange(3), (2, 3))
np.logspace(0, 2, 3)
np.geomspace(1, 8, 4)
np.take_along_axis(np.array([[3, 1]]), np.array([[1, 0]]), axis=1)
np.apply_along_axis(lambda r: r.sum(), 1, np.ones((2, 3)))
np.gradient(np.array([1., 4, 9]))
np.trapezoid(np.array([1., 2, 3]))
np.convolve([1, 2, 3], [0, 1])
np.unravel_index(5, (2, 3))
np.ravel_multi_index(([1], [2]), (2, 3))
np.maximum(np.array([1, 5]), 3)
np.hypot(3., np.array([4.]))
np.sign(np.array([-2, 0, 3]))
np.mod(np.array([-3, 5]), 4)
np.floor_divide(np.array([7, -7]), 2)
np.power(np.array([2, 3]), 2)
np.exp(np.array([0., 1]))
np.log1p(np.array([0., 1]))
np.arctan2(np.array([1.]), np.array([1.]))
np.deg2rad(np.array([180.]))
np.logical_and(np.array([True, False]), True)
np.array([True, False]) & np.array([True, True])
~np.array([True, False])
np.array([5, 6]) // 2
np.array([1, 2, 3])[::-1]
np.array([[1, 2], [3, 4]]).T
np.array([[1, 2], [3, 4]]) @ np.array([1, 1])
np.array([1, 2, 3]).tolist()
np.array([3, 1, 2]).argsort()
np.arange(6).reshape(2, -1)
np.zeros_like(np.arange(3))
np.empty((0, 3)).shape
np.asarray(3.5).item()
np.result_type(np.float32, np.float64) == np.float64
np.column_stack((np.arange(2), np.arange(2)))
np.loadtxt(["1,2", "3,4"], delimiter=",")
np.loadtxt(["# head", "1 2 3", "4 5 6"], skiprows=1, usecols=(0, 2), unpack=True)
np.genfromtxt(["1,,3", "4,5,6"], delimiter=",")
np.genfromtxt(["a,b", "1,x", "4,5"], delimiter=",", skip_header=1, filling_values=-1)
""".strip().split("\n")


def plain(x):
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    return x if isinstance(x, (bool, int, float, str)) else np.asarray(x)


def lines():
    for line in LINES:
        want = plain(eval(line, {"np": np, "ig": ig}))
        try:
            got = plain(eval(line, {"np": ig, "ig": ig}))
        except Exception as error:
            check(line, False, f"raised {error!r}")
            continue
        try:
            g, w = np.asarray(got), np.asarray(want)
            fine = g.shape == w.shape and (g.dtype.kind == w.dtype.kind or {g.dtype.kind, w.dtype.kind} == {"i", "u"})
            fine = fine and np.allclose(g.astype("c16"), w.astype("c16"), rtol=1e-5, atol=1e-6, equal_nan=True)
        except ValueError:
            fine = got == want
        check(line, fine, f"is {got!r:.200}, not {want!r:.200}")


def in_place():
    def both(name, change, start):
        mine, theirs = ig.asarray(start), start.copy()
        change(ig, mine)
        change(np, theirs)
        same(name, mine, theirs)
        mine = ig.asarray(start)
        change(np, mine)
        same(f"numpy's {name}", mine, theirs)

    x = np.arange(12.0).reshape(3, 4)
    both("copyto", lambda m, a: m.copyto(a, 7), x)
    both("copyto(where=)", lambda m, a: m.copyto(a, 7, where=np.arange(4) > 1), x)
    both("put", lambda m, a: m.put(a, [0, 5], [9, 8]), x)
    both("put(mode=)", lambda m, a: m.put(a, [0, 15], [9, 8], mode="wrap"), x)
    both("place", lambda m, a: m.place(a, np.asarray(a) > 6, [1, 2]), x)
    both("putmask", lambda m, a: m.putmask(a, np.asarray(a) > 6, -np.asarray(a)), x)
    both("fill_diagonal", lambda m, a: m.fill_diagonal(a, 5), x)
    both("put_along_axis", lambda m, a: m.put_along_axis(a, np.array([[1], [2], [0]]), 99, axis=1), x)
    n = np.zeros(3)
    np.copyto(n, ig.ones(3))
    same("copyto of NumPy's array", n, np.ones(3))
    n += ig.arange(3.0)
    same("numpy += ingot", n, np.array([1.0, 2.0, 3.0]))
    same("add(out=numpy)", np.add(ig.ones(3), 1.0, out=n), np.full(3, 2.0))
    same("out changed", n, np.full(3, 2.0))
    a, out = ig.arange(4.0, dtype="float64"), ig.zeros(4, dtype="float64")
    check("add(out=) returns out", np.add(a, a, out=out) is out)
    same("add(out=ingot)", out, np.arange(4.0) * 2)
    np.multiply(a, 10, out=out, where=np.array([True, False, True, False]))
    same("where= with out", out, np.array([0.0, 2, 20, 6]))
    same("sum(out=)", np.sum(a, out=ig.zeros((), dtype="float64")), np.array(6.0))
    raises("out of a dtype that the result does not fit", TypeError, lambda: np.add(a, 0.5, out=ig.zeros(4, dtype="int32")))
    raises("out of a wrong shape", ValueError, lambda: np.add(a, a, out=ig.zeros(3, dtype="float64")))
    raises("copyto of floats to integers", TypeError, lambda: np.copyto(ig.arange(3), 1.5))
    raises("ingot's copyto of floats to integers", TypeError, lambda: ig.copyto(ig.arange(3), 1.5))
    raises("a structured dtype", TypeError, lambda: np.empty_like(ig.ones(2), dtype=[("a", "f8"), ("b", "i8")]))
    raises("a column-major copy", TypeError, lambda: np.copy(ig.ones((2, 2)), order="F"), "numpy.asarray")
    raises("a list cannot change", TypeError, lambda: ig.put([1, 2], [0], [5]))
    b = ig.zeros(4, dtype="float64")
    np.add.at(b, [0, 0, 2], 1.5)
    same("add.at", b, np.array([3.0, 0, 1.5, 0]))
    np.divide.at(b, [0], 2)
    same("divide.at", b, np.array([1.5, 0, 1.5, 0]))
    n = np.zeros(3)
    np.add.at(n, ig.asarray([0, 0]), ig.ones(2))
    same("add.at of NumPy's array", n, np.array([2.0, 0, 0]))
    c = ig.arange(10)
    ig.random.default_rng(0).shuffle(c)
    check("Generator.shuffle", sorted(c.tolist()) == list(range(10)) and c.tolist() != list(range(10)))
    c = ig.arange(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.shuffle(c)
    check("numpy.random.shuffle keeps all elements", sorted(c.tolist()) == list(range(8)))


def dtypes():
    check("astype(float)", ig.ones(2).astype(float).dtype == ig.float64 and ig.ones(2, dtype="float").dtype == "float64")
    check("round of int64", ig.round(ig.arange(3)).dtype == ig.int64 and ig.round(ig.arange(3), 1).dtype == ig.int64)
    check("Python's round", round(ig.asarray(2.6)) == 3 and abs(round(ig.asarray(2.567), 2).item() - 2.57) < 1e-6)
    check("floor, ceil, trunc of int64", all(f(ig.arange(3)).dtype == ig.int64 for f in (ig.floor, ig.ceil, ig.trunc)))
    raises("300 as int8", OverflowError, lambda: ig.asarray([300], dtype="int8"), "int8")
    raises("-1 as uint8", OverflowError, lambda: ig.asarray([-1], dtype="uint8"))
    raises("300 as int8, a number", OverflowError, lambda: ig.asarray(300, dtype="int8"))
    raises("2**63 as int64", OverflowError, lambda: ig.asarray([2.0**63], dtype="int64"))
    raises("NaN as int32", ValueError, lambda: ig.asarray([float("nan")], dtype="int32"))
    raises("complex as float32", TypeError, lambda: ig.asarray([1j], dtype="float32"))
    same("limits", ig.asarray([-128, 127], dtype="int8"), np.array([-128, 127], "i1"))
    same("uint64", ig.asarray([2**64 - 1], dtype="uint64"), np.array([2**64 - 1], "u8"))
    same("a list and float64", ig.ones(1, dtype="float64") * [0.1], np.array([0.1]))
    same("a list as an argument", ig.quantile(ig.arange(11.0, dtype="float64"), [0.12]), np.array([1.2]), 1e-12)
    check("a list and float32", (ig.ones(2) + [0.5, 1]).dtype == ig.float32)
    raises("a set", TypeError, lambda: ig.asarray({1, 2}))
    same("add(dtype=) casts first", np.add(ig.asarray([2**24], dtype="int32"), ig.asarray([1], dtype="int32"), dtype="f8"), np.array([2.0**24 + 1]))
    ig.set_default_dtype("float64")
    try:
        kinds = {"asarray": ig.asarray([1.5]), "zeros": ig.zeros(2), "ones": ig.ones(2), "linspace": ig.linspace(0, 1, 3), "eye": ig.eye(2),
                 "arange": ig.arange(2.0), "full": ig.full(2, 0.5), "divide": ig.arange(3) / 2, "mean": ig.mean(ig.arange(3)), "sqrt": ig.sqrt(2),
                 "normal": ig.random.normal(ig.key(0), (2,)), "uniform": ig.random.random(2), "median": ig.median(ig.arange(4)), "std": ig.std(ig.arange(4))}
        for name, x in kinds.items():
            check(f"{name} is float64 by default", x.dtype == ig.float64, f"is {x.dtype}")
        same("full of a complex number", ig.full(2, 1.1j), np.full(2, 1.1j))
        same("complex of integers", ig.complex(ig.arange(2), ig.arange(2)), np.array([0, 1 + 1j]))
        check("complex128 by default", ig.asarray([1j]).dtype == ig.complex128 and ig.fft.fft(ig.arange(4)).dtype == ig.complex128)
        check("float32 stays", (ig.ones(2, dtype="float32") * 0.5).dtype == ig.float32)
        check("result_type", ig.result_type(ig.int32, 1.5) == ig.float64)
        for integer, other in itertools.product(("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"),
                                                ("float16", "float32", "float64", "complex64", "complex128")):
            check(f"{integer} and {other} as in NumPy", ig.result_type(ig.dtype(integer), ig.dtype(other)) == str(np.result_type(integer, other)))
        check("int64 and bfloat16", ig.result_type(ig.int64, ig.bfloat16) == ig.bfloat16)
    finally:
        ig.set_default_dtype(ig.float32)
    check("int64 and float32 are float32 otherwise", ig.result_type(ig.int64, ig.float32) == ig.float32)
    check("float32 again", ig.zeros(1).dtype == ig.float32 and ig.get_default_dtype() == ig.float32)
    raises("float16 by default", TypeError, lambda: ig.set_default_dtype("float16"), "f32 or f64")


def random():
    draws = ig.random.default_rng(0)
    check("normal", draws.normal(0, 1, 3).shape == (3,) and draws.normal(5, 0.001).item() > 4)
    check("integers", all(0 <= v < 5 for v in draws.integers(0, 5, size=20).tolist()) and draws.integers(3, size=(2, 2)).shape == (2, 2))
    bounds = np.asarray(draws.integers([0, 10], [5, 12], size=(50, 2)))
    check("integers between arrays", bounds.min(0).tolist() >= [0, 10] and bounds.max(0).tolist() <= [4, 11] and set(bounds[:, 1]) == {10, 11})
    check("integers(endpoint=)", set(draws.integers(0, 1, 50, endpoint=True).tolist()) == {0, 1})
    check("uniform", draws.uniform(2, 3, size=4).min().item() >= 2)
    check("choice", draws.choice([10, 20, 30], size=5).shape == (5,) and draws.choice(5, 3, replace=False).shape == (3,))
    check("permutation", sorted(draws.permutation(5).tolist()) == [0, 1, 2, 3, 4])
    check("random", draws.random((2, 3)).shape == (2, 3) and draws.random().shape == ())
    check("standard_normal(dtype=)", draws.standard_normal(3, dtype="float64").dtype == ig.float64)
    check("poisson, binomial, exponential", draws.poisson(3, 4).shape == draws.binomial(5, 0.5, 4).shape == draws.exponential(2, size=4).shape == (4,))
    check("a seed gives the same numbers", ig.random.default_rng(7).normal(size=3).tolist() == ig.random.default_rng(7).normal(size=3).tolist())
    check("calls differ", draws.random(2).tolist() != draws.random(2).tolist())
    check("other generators differ", ig.random.default_rng(1).random(2).tolist() != ig.random.default_rng(2).random(2).tolist())
    ig.random.seed(3)
    first = ig.random.rand(2).tolist() + ig.random.randn(1).tolist()
    ig.random.seed(3)
    check("seed, rand, randn", first == ig.random.rand(2).tolist() + ig.random.randn(1).tolist())
    check("normal(loc, scale, size)", ig.random.normal(0, 1, 3).shape == (3,) and ig.random.normal(size=(2, 2)).shape == (2, 2))
    check("randint(low, high, size)", ig.random.randint(0, 9, (2, 3)).shape == (2, 3) and ig.random.randint(9).shape == ())
    check("with a key", ig.random.normal(ig.key(0), (3,)).tolist() == ig.random.normal(ig.key(0), (3,)).tolist())
    check("keys of many", ig.random.uniform(ig.random.split(ig.key(0))[0], (2,)).shape == (2,))
    check("RandomState", ig.random.RandomState(1).randint(0, 3, 4).shape == (4,))
    check("spawn", len(draws.spawn(2)) == 2)
    x = [1, 2, 3, 4]
    draws.shuffle(x)
    check("a list", sorted(x) == [1, 2, 3, 4])
    raises("an unknown distribution", AttributeError, lambda: draws.nonsense)


def files():
    with tempfile.TemporaryDirectory() as folder:
        a, b = os.path.join(folder, "a"), os.path.join(folder, "b.npz")
        ig.savez(b, ig.arange(3), w=ig.ones((2, 2)))
        check("savez", dict(np.load(b)).keys() == {"arr_0", "w"} and np.load(b)["w"].shape == (2, 2))
        with ig.load(b) as arrays:
            check("load", sorted(arrays.files) == ["arr_0", "w"] and isinstance(arrays, dict))
        check("an archive is a container", ig.grad(lambda a: (a["w"] ** 2).sum() + 0 * a["arr_0"].sum())(arrays)["w"].tolist() == [[2, 2], [2, 2]])
        ig.savez_compressed(a, x=ig.zeros(1000))
        check("savez_compressed", os.path.getsize(a + ".npz") < 1000 and np.load(a + ".npz")["x"].shape == (1000,))
        path = os.path.join(folder, "x.npy")
        ig.save(ig.arange(3), path)
        same("save(x, path)", np.load(path), np.arange(3))
        text = os.path.join(folder, "x.txt")
        ig.savetxt(text, ig.asarray([[1, 2], [3, 4]]), fmt="%d", delimiter=",", header="a,b")
        with open(text, encoding="utf-8") as file:
            check("savetxt", file.read() == "# a,b\n1,2\n3,4\n")
        same("loadtxt", ig.loadtxt(text, delimiter=",", dtype=int), np.array([[1, 2], [3, 4]]))
    stream = io.StringIO()
    ig.savetxt(stream, ig.asarray([1.5, 2.0]), fmt="%.1f")
    check("savetxt to a stream", stream.getvalue() == "1.5\n2.0\n")


def printing():
    with ig.printoptions(precision=2, suppress=True):
        check("printoptions", str(ig.asarray([1.23456])) == "[1.23]" and repr(ig.asarray([1.23456])) == "Array([1.23], dtype=float32, device='cpu')")
    check("afterwards", str(ig.asarray([1.25])) == "[1.25]")
    check("array2string", ig.array2string(ig.asarray([1.234]), precision=1) == "[1.2]" and ig.array_repr(ig.arange(2)) == repr(ig.arange(2)))
    with ig.errstate(divide="ignore", invalid="ignore"):
        check("errstate", ig.isinf(ig.ones(1) / 0).item())
    raises("errstate(raise)", ValueError, lambda: ig.errstate(divide="raise"))
    raises("unknown options", TypeError, lambda: ig.set_printoptions(colour=1))
    check("dir", "mgrid" in dir(ig) and "Array" in dir(ig))
    fails = []
    for space in (ig, ig.random, ig.linalg, ig.fft):
        for name in dir(space):
            try:
                getattr(space, name)
            except ImportError:
                pass  # ig.dask needs Dask
            except AttributeError:
                fails.append(name)
    check("all names of dir exist", not fails and "mgrid" in dir(ig), f"{fails}")
    raises("no endless recursion", TypeError, lambda: ig.sort({1, 2}))


def gradients():
    """Gradients pass through NumPy's functions, also through changes in place."""
    start = np.array([0.3, 1.7, -0.6, 0.9])

    def new(*shape):
        return ig.zeros(shape, dtype="float64")

    def changed(array, change):
        change(array)
        return (array * array).sum()

    functions = {
        "sort(axis=None)": lambda v: (np.sort(v, axis=None) * np.arange(4.0)).sum(), "mean(where=)": lambda v: np.mean(v * v, where=start > 0),
        "sum(initial=)": lambda v: np.sum(v * v, initial=2.0), "ravel(order=F)": lambda v: (np.ravel(v.reshape(2, 2), order="F") * np.arange(4.0)).sum(),
        "reshape(order=F)": lambda v: (np.reshape(v, (2, 2), order="F")[0] ** 2).sum(), "linspace": lambda v: (np.linspace(v[:2], v[2:], 3) ** 2).sum(),
        "concatenate(axis=None)": lambda v: np.concatenate([v, v * v], axis=None).sum(), "add.reduce": lambda v: np.add.reduce(v * v),
        "multiply.accumulate": lambda v: np.multiply.accumulate(v)[3], "multiply.outer": lambda v: np.multiply.outer(v, v).sum(),
        "max(initial=)": lambda v: np.max(v, initial=0.5), "piecewise": lambda v: np.piecewise(v, [v < 0], [lambda t: -t, lambda t: t * t]).sum(),
        "average": lambda v: np.average(v, weights=[1, 2, 3, 4]), "copyto": lambda v: changed(new(4), lambda w: np.copyto(w, v)),
        "add.at": lambda v: changed(new(4), lambda w: np.add.at(w, [0, 0, 1], v[:3])), "out": lambda v: changed(new(4), lambda w: np.multiply(v, v, out=w)),
        "fill_diagonal": lambda v: changed(v.reshape(2, 2) * 1, lambda w: np.fill_diagonal(w, 0.0))}
    for name, f in functions.items():
        got = np.asarray(ig.grad(f)(ig.asarray(start)))
        steps = 1e-5 * np.eye(4)
        want = [(float(f(ig.asarray(start + s))) - float(f(ig.asarray(start - s)))) / 2e-5 for s in steps]
        check(f"the gradient of {name}", np.allclose(got, want, atol=1e-6), f"is {got}, not {want}")


def without_gradients():
    """What NumPy would compute has no gradient and no elements in traces, so it is an error there."""
    says = "no op for these arguments"
    x = ig.asarray([0.5, 1.5])
    raises("in grad", TypeError, lambda: ig.grad(lambda v: np.unwrap(np.sort(v), period=2.0 + 0j).sum() + np.histogramdd(v[:, None])[0].sum())(x))
    raises("in jit", TypeError, lambda: ig.jit(lambda v: np.histogramdd(v[:, None])[0])(x), says)
    same("a gradient through NumPy's functions", ig.grad(lambda v: np.sum(np.sort(np.sin(v), axis=None)))(x), np.cos(np.array([0.5, 1.5], "f4")), 1e-6)
    try:
        import scipy.special
        import scipy.stats
    except ImportError:
        return
    z, w = np.array([0.5, 2.0, 3.0]), np.array([1.5, 0.25, 2.0])
    for name in ("kl_div", "huber", "pseudo_huber", "rel_entr", "xlogy", "betaln", "gammainc", "hyp1f1", "kv", "loggamma", "beta"):
        f = getattr(scipy.special, name)
        args = (2.0, z, w) if name == "hyp1f1" else (z, w)[:f.nin]
        mine = [ig.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        same(f"scipy.special.{name}", f(*mine), f(*args), 1e-12)
        check(f"scipy.special.{name} gives an Array", isinstance(f(*mine), ig.Array))
    z, w = np.meshgrid([-5.0, -3, -2.5, -1, -0.5, 0, 0.3, 1, 2, 3, 7.5], [-5.0, -3, -2.5, -1, -0.5, 0, 0.3, 1, 2, 3, 7.5])
    same("betaln at poles", ig.betaln(ig.asarray(z), ig.asarray(w)), scipy.special.betaln(z, w), 1e-12)
    raises("scipy.special in grad", TypeError, lambda: ig.grad(lambda v: scipy.special.kv(1.0, v).sum())(x), says)
    p = np.array([0.01, 0.04, 0.03, 0.2, 0.002])
    same("false_discovery_control", np.asarray(scipy.stats.false_discovery_control(ig.asarray(p))), scipy.stats.false_discovery_control(p), 1e-12)


for test in (lines, in_place, dtypes, random, files, printing, gradients, without_gradients):
    attempt(test.__name__, test)
finish()
