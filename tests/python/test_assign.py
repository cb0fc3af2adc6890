"""Assignment to items: random programs of assignments, views, aliases and exports against NumPy, and where the elements
are: an assignment does not copy what nobody else holds."""
from against import attempt, check, finish, ig, np, rng, same

DTYPES = ["bool", "int8", "int32", "int64", "float16", "float32", "float64", "complex64"]


def elements(shape, dtype):
    x = rng.integers(-9, 10, shape).astype(dtype)
    return np.asarray(x + 1j * rng.integers(-9, 10, shape).astype(dtype)) if dtype.startswith("complex") else np.asarray(x)


def key_for(shape):
    key = []
    for n in shape[:rng.integers(1, len(shape) + 1)]:
        a, b = sorted(int(i) for i in rng.integers(0, n + 1, 2))
        step = int(rng.choice([1, 1, 1, 2, -1]))
        key.append(int(rng.integers(-n, n)) if rng.random() < 0.5 else slice(a, b, step) if step > 0 else slice(b - 1 if b else 0, a, -1))
    return tuple(key)


class Program:
    """Arrays of the package, each with NumPy's elements, and exports that must not change."""

    def __init__(self):
        self.dtype = str(rng.choice(DTYPES))
        self.shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
        self.pool, self.exports, self.trace = [], [], []
        for _ in range(2):
            self.add(*self.fresh())

    def fresh(self):
        x = elements(self.shape, self.dtype)
        return ig.asarray(x), x

    def add(self, ours, theirs):
        self.pool.append((ours, np.array(theirs)))

    def any(self):
        return int(rng.integers(len(self.pool)))

    def assign(self):
        x, w = self.pool[self.any()]
        if w.size == 0 or w.ndim == 0:
            return
        key = key_for(w.shape)
        kind = rng.random()
        if kind < 0.35:
            value, theirs = (v := elements((), self.dtype)[()].item()), v
        elif kind < 0.7:  # a part of this array or of another one, perhaps in an expression
            y, v = self.pool[self.any()]
            if v.shape != w.shape:
                return
            other = key_for(w.shape) if rng.random() < 0.3 else key
            value, theirs = y[other], v[other]
            if np.shape(theirs) != np.shape(w[key]):
                return
            if rng.random() < 0.5 and self.dtype != "bool":
                value, theirs = value + value, np.asarray(theirs + theirs, self.dtype)
        elif kind < 0.9:
            value = theirs = elements(np.shape(w[key]), self.dtype)
        else:
            self.trace.append(f"swap {key}")
            i, j = 0, w.shape[0] - 1
            x[i], x[j] = x[j], x[i]
            w[i], w[j] = w[j], w[i]  # of rows, which are views, NumPy overwrites one
            return
        self.trace.append(f"assign {key}")
        w[key] = theirs
        x[key] = value

    def operate(self):
        k = self.any()
        x, w = self.pool[k]
        if self.dtype == "bool":
            return
        if rng.random() < 0.5:
            self.trace.append("*= in place")
            x *= 2  # the object stays
            w *= w.dtype.type(2)
        else:
            self.trace.append("new")
            self.add(x + x, w + w)

    def alias(self):
        x, w = self.pool[self.any()]
        kind = rng.random()
        self.trace.append(f"alias {kind:.2f}")
        if kind < 0.25:
            self.pool.append((x, w))  # the same object
        elif kind < 0.5:
            self.add(x.copy() if hasattr(x, "copy") else ig.asarray(x, copy=True), w)
        elif kind < 0.7 and w.ndim and w.size:
            key = key_for(w.shape)
            self.pool.append((x[key], np.asarray(w[key])))
        elif kind < 0.85:
            self.pool.append((x.T.T, w.T.T))
        else:
            export = np.array(x) if rng.random() < 0.5 else np.from_dlpack(x)
            self.exports.append((export, w.copy()))

    def evaluate(self):
        x, _ = self.pool[self.any()]
        self.trace.append("eval")
        x.eval()

    def drop(self):
        if len(self.pool) > 2:
            self.trace.append("drop")
            del self.pool[self.any()]
        if self.exports and rng.random() < 0.5:
            del self.exports[0]

    def run(self):
        steps = [self.assign] * 8 + [self.operate, self.alias, self.alias, self.evaluate, self.evaluate, self.drop]
        for _ in range(int(rng.integers(5, 40))):
            steps[rng.integers(len(steps))]()
        good = all(np.array_equal(np.asarray(x), w) for x, w in self.pool) and \
            all(np.array_equal(x, w) for x, w in self.exports)
        return good


def random_programs():
    bad = None
    for _ in range(600):
        p = Program()
        if not p.run():
            bad = f"{p.dtype}{p.shape}: {p.trace}"
            break
    check("random programs of assignments", bad is None, str(bad))


def place(x):
    return np.asarray(x).__array_interface__["data"][0]


def stays(name, change, want, shape=(40, 50)):
    """The elements of x are where they were after change(x)."""
    w = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    x = ig.asarray(w)
    x.eval()
    before = place(x)
    x = change(x) or x
    check(f"{name}: nothing is copied", place(x) == before, "the elements have moved")
    want(w)
    same(name, x, w)


def in_place():
    def one(x):
        x[3] = 5

    def many(x):
        for i in range(40):
            x[i] = i

    def eager(x):
        for i in range(40):
            x[i, 3] = i
            x.eval()

    def chain(x):
        for i in range(1, 40):
            x[i] = x[i - 1] + 1

    def swap(x):
        for i in range(20):
            x[i, 2], x[39 - i, 5] = x[39 - i, 5], x[i, 2]

    def read(x):
        for i in range(39):
            x[i, 0] = float(x[i + 1, 1]) * 2

    def add(x):
        x[2:5, ::3] += 1
        x[1] *= 2

    def backwards(x):
        x[5:2:-1] = x[6:9] * 3

    for change in (one, many, eager, chain, add, backwards):
        stays(change.__name__, change, change_numpy(change))
    stays("swap", swap, change_numpy(swap))
    stays("read", read, change_numpy(read))


class Plain:
    """NumPy's array with the methods that the changes above call."""

    def __init__(self, w):
        self.w = w

    def __getitem__(self, key):
        return np.array(self.w[key])

    def __setitem__(self, key, value):
        self.w[key] = value

    def eval(self):
        return self


def change_numpy(change):
    return lambda w: change(Plain(w))


def held():
    """Whatever holds the old elements keeps them."""
    w = np.arange(2000, dtype="f4")
    for name, hold in {"another Array": lambda x: x.copy() if hasattr(x, "copy") else ig.asarray(x),
                       "a copy of a part": lambda x: x[5:9].copy(), "numpy.array": np.array,
                       "from_dlpack": np.from_dlpack, "a lazy sum": lambda x: x + 0,
                       "an index": lambda x: x[ig.asarray([5, 6, 7])]}.items():
        x = ig.asarray(w)
        x.eval()
        kept = hold(x)
        want = np.array(np.asarray(kept))
        for i in range(20):
            x[i] = -1
            if i % 3 == 0:
                x.eval()
        same(f"{name} keeps its elements", np.array(np.asarray(kept)), want)
        same(f"{name}: the array has the new ones", x, np.where(np.arange(2000) < 20, -1, w).astype("f4"))
    source = np.arange(100, dtype="f4")
    x = ig.from_dlpack(source)
    x[3] = 0
    x.eval()
    check("memory of another library is not written", source[3] == 3)


def gradients():
    """Assignments inside of differentiated and compiled functions."""
    def f(x):
        y = x * 2
        for i in range(5):
            y[i] = y[i] * x[i + 1]
        y[2] = 7
        return (y * y).sum()

    x = np.arange(8, dtype="f4")

    def g(v):
        y = v * 2
        for i in range(5):
            y[i] = y[i] * v[i + 1]
        y[2] = 7
        return float((y * y).sum())

    check("a function with assignments", abs(float(f(ig.asarray(x))) - g(x)) < 1e-2)
    got = np.asarray(ig.grad(f)(ig.asarray(x)))
    want = [(g(x + d) - g(x - d)) / 2 for d in np.eye(8, dtype="f4")]
    check("its gradient", np.allclose(got, want, rtol=1e-3, atol=0.5), f"{got} {want}")
    step = ig.jit(f)
    check("compiled", abs(float(step(ig.asarray(x))) - g(x)) < 1e-2 and abs(float(step(ig.asarray(x + 1))) - g(x + 1)) < 1)


def loops():
    """Loops over elements of evaluated arrays whose elements are another array's in another order. They are in place after a few steps."""
    def sort(x):
        n = x.shape[0]
        for i in range(n):
            for j in range(n - 1 - i):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]
        return x

    makers = {"a reversed copy": lambda lib: lib.arange(12.0)[::-1].copy(), "a slice": lambda lib: (lib.arange(13.0) * -2)[1:].copy(),
              "a transpose": lambda lib: lib.reshape(lib.arange(12.0), (3, 4)).T.copy().reshape(-1),
              "one number": lambda lib: lib.broadcast_to(lib.asarray(1.0), (12,)).copy()}
    for name, make in makers.items():
        x = ig.eval(make(ig))
        check(f"{name}, sorted", sort(x).tolist() == sort(make(np)).tolist())
        place = x.ctypes.data
        x[0], x[1] = x[1], x[0]
        check(f"{name} in place", x.ctypes.data == place)
    x, s, total = ig.eval(ig.zeros(3)), ig.eval(ig.asarray(2.5)), ig.eval(ig.ones(3).sum())
    x[0], x[1], x[2] = s, total, 7
    s += 1
    check("arrays of one number", x.tolist() == [2.5, 3, 7])
    x[-1] = True
    check("a bool", x.tolist() == [2.5, 3, 1])
    whole = ig.eval(ig.zeros(2, dtype="int8"))
    for value in (300, -129, 1 << 70):
        try:
            whole[1] = value
            check("too large", False, str(value))
        except OverflowError:
            check("too large", whole.tolist() == [0, 0])


for test in (random_programs, in_place, loops, held, gradients):
    attempt(test.__name__, test)
finish()
