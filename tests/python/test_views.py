"""Memory that arrays share: views, operators in place, assignments and iteration have NumPy's answers. Random programs run on both
in lock step; arrays are compared after every step, evaluated or not."""
import gc
import operator
import traceback

from against import attempt, check, finish, ig, np, raises, rng, same, says

DTYPES = ["int32", "int64", "float32", "float64", "complex128", "bool"]


def elements(shape, dtype):
    x = rng.integers(-9, 10, shape)
    return (x + 1j * rng.integers(-9, 10, shape)).astype(dtype) if dtype == "complex128" else np.asarray(x).astype(dtype)


def random_key(shape):
    """Integers, slices, None and an Ellipsis, as NumPy and we take them."""
    key = []
    for n in shape[:rng.integers(0, len(shape) + 1)]:
        kind = rng.random()
        if kind < 0.3 and n:
            key.append(int(rng.integers(-n, n)))
        else:
            a, b = sorted(int(i) for i in rng.integers(-n, n + 1, 2))
            step = int(rng.choice([1, 1, 2, 3, -1, -2]))
            key.append(slice(None if rng.random() < 0.3 else (a if step > 0 else b), None if rng.random() < 0.3 else (b if step > 0 else a), step))
        if rng.random() < 0.1 and len(key) < 4:
            key.append(None)
    if rng.random() < 0.3:
        key.append(Ellipsis)
    return tuple(key) if len(key) != 1 or rng.random() < 0.5 else key[0]


def doubled(x):
    """A new array. Ours are in row-major order; a sum of NumPy has the order of its operands, so that its reshape may copy."""
    y = x | x if str(x.dtype) == "bool" else x + x
    return np.ascontiguousarray(y).reshape(y.shape) if isinstance(x, np.ndarray) else y


class Program:
    """Pairs of arrays, ours and NumPy's, that are made and changed by the same steps."""

    def __init__(self, dtype=None):
        self.dtype = dtype or str(rng.choice(DTYPES))
        self.pairs, self.exports, self.trace = [], [], []
        for _ in range(2):
            self.new()

    def new(self):
        w = elements(tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4))), self.dtype)
        x = ig.asarray(w)
        if rng.random() < 0.5:
            x, w = doubled(x), doubled(w)  # not evaluated
        self.trace.append(f"new {w.shape}")
        self.pairs.append((x, w))

    def pick(self):
        return self.pairs[int(rng.integers(len(self.pairs)))]

    # ---- views and copies ----

    def view(self):
        x, w = self.pick()
        kinds = {"key": self.key_view, "T": lambda x, w: (x.T, w.T), "ravel": lambda x, w: (x.ravel(), w.ravel()),
                 "reshape": self.reshape, "swapaxes": self.swapaxes, "moveaxis": self.moveaxis, "flip": self.flip,
                 "squeeze": lambda x, w: (ig.expand_dims(x, 0), np.expand_dims(w, 0)), "row": self.row, "split": self.split,
                 "diagonal": self.diagonal, "broadcast": lambda x, w: (ig.broadcast_to(x, (2,) + w.shape), np.broadcast_to(w, (2,) + w.shape)),
                 "real": lambda x, w: (x.real, w.real), "imag": self.imag, "flatten": lambda x, w: (x.flatten(), w.flatten()),
                 "copy": lambda x, w: (x.copy(), w.copy()), "fancy": self.fancy, "mT": self.mT, "new": lambda x, w: (doubled(x), doubled(w))}
        name = str(rng.choice(list(kinds)))
        made = kinds[name](x, w) if w.ndim < 5 else None
        if made is None:
            return
        self.trace.append(f"{name} of {w.shape}: {made[1].shape if isinstance(made[1], np.ndarray) else ()}")
        if isinstance(made[1], np.ndarray):
            self.pairs.append(made)

    def key_view(self, x, w):
        key = random_key(w.shape)
        self.trace.append(f"[{key}]")
        return x[key], w[key]

    def reshape(self, x, w):
        shapes = [(-1,), (1,) + w.shape, w.shape + (1,)] + [(n, w.size // n) for n in (1, 2, 3) if w.size % n == 0 and w.size]
        shape = shapes[rng.integers(len(shapes))]
        return (x.reshape(shape), w.reshape(shape)) if w.size else None

    def axes(self, w):
        return [int(i) for i in rng.integers(-w.ndim, w.ndim, 2)] if w.ndim else None

    def swapaxes(self, x, w):
        axes = self.axes(w)
        return axes and (ig.swapaxes(x, *axes), np.swapaxes(w, *axes))

    def moveaxis(self, x, w):
        axes = self.axes(w)
        return axes and (ig.moveaxis(x, *axes), np.moveaxis(w, *axes))

    def flip(self, x, w):
        axis = None if rng.random() < 0.5 or not w.ndim else int(rng.integers(w.ndim))
        return ig.flip(x, axis), np.flip(w, axis)

    def row(self, x, w):
        if w.ndim < 2 or not len(w):
            return None
        at = int(rng.integers(len(w)))
        return list(x)[at], list(w)[at]

    def split(self, x, w):
        if not w.ndim or w.shape[-1] < 2:
            return None
        at = int(rng.integers(3))
        return ig.split(x, [1, 1], axis=-1)[at], np.split(w, [1, 1], axis=-1)[at]

    def diagonal(self, x, w):
        k = int(rng.integers(-1, 2))
        return (ig.diagonal(x, k), np.diagonal(w, k, -2, -1)) if w.ndim > 1 else None

    def imag(self, x, w):
        return (x.imag, w.imag) if np.iscomplexobj(w) else None

    def mT(self, x, w):
        return (x.mT, np.swapaxes(w, -1, -2)) if w.ndim > 1 else None

    def fancy(self, x, w):
        if not w.ndim or not len(w):
            return None
        at = [int(i) for i in rng.integers(0, len(w), 2)]
        return x[at], w[at]

    # ---- changes ----

    def change(self):
        x, w = self.pick()
        kinds = [self.set_number, self.set_number, self.set_array, self.set_array, self.set_other, self.operate, self.operate_on, self.mask,
                 self.set_fancy, self.fill, self.sort, self.flat, self.rows]
        step = kinds[rng.integers(len(kinds))]
        ours = theirs = None
        state = rng.bit_generator.state
        try:
            step(x, w, True)
        except (ValueError, TypeError, IndexError) as error:
            theirs = type(error)
        rng.bit_generator.state = state
        try:
            step(x, w, False)
        except (ValueError, TypeError, IndexError) as error:
            ours = error
        self.trace.append(f"{step.__name__} of {w.shape} {w.dtype}" + (f" ({ours} / {theirs})" if ours or theirs else ""))
        if (ours is None) != (theirs is None):
            raise AssertionError(f"we raise {ours!r}, NumPy {theirs}")

    def number(self, w):
        return elements((), str(w.dtype))[()].item()

    def set_number(self, x, w, numpy):
        key, value = random_key(w.shape), self.number(w)
        (w if numpy else x)[key] = value

    def set_array(self, x, w, numpy):
        key = random_key(w.shape)
        shape = np.shape(w[key])
        value = elements(shape[rng.integers(0, len(shape) + 1):], str(w.dtype))
        (w if numpy else x)[key] = value if numpy or rng.random() < 0.5 else ig.asarray(value)

    def set_other(self, x, w, numpy):
        """From another array or from itself, perhaps overlapping."""
        y, v = self.pick()
        key, other = random_key(w.shape), random_key(v.shape)
        if np.ndim(v[other]) > np.ndim(w[key]) or (np.iscomplexobj(v) and not np.iscomplexobj(w)):
            return  # versions of NumPy differ, or we raise
        if numpy:
            w[key] = v[other]
        else:
            x[key] = y[other]

    def operate(self, x, w, numpy):
        kind, value = rng.integers(3), self.number(w)
        target = w if numpy else x
        if w.dtype == bool:
            target ^= bool(value)
        elif kind == 0:
            target += value
        elif kind == 1:
            target -= value
        else:
            target *= 2

    def operate_on(self, x, w, numpy):
        y, v = self.pick()
        if w.dtype == bool or v.dtype == bool:
            return
        if numpy:
            w += v
        else:
            x += y

    def mask(self, x, w, numpy):
        mask, value = rng.random(w.shape) < 0.4, self.number(w)
        (w if numpy else x)[mask if numpy else ig.asarray(mask)] = value

    def set_fancy(self, x, w, numpy):
        if w.ndim and len(w):
            at, value = rng.integers(0, len(w), 3), self.number(w)
            (w if numpy else x)[at] = value

    def fill(self, x, w, numpy):
        (w if numpy else x).fill(self.number(w))

    def sort(self, x, w, numpy):
        if w.ndim and not np.iscomplexobj(w):
            (w if numpy else x).sort()

    def flat(self, x, w, numpy):
        if w.size:
            (w if numpy else x).flat[int(rng.integers(w.size))] = self.number(w)

    def rows(self, x, w, numpy):
        if w.dtype != bool:
            for row in (w if numpy else x) if w.ndim > 1 else []:
                row += 1

    # ---- comparisons ----

    def drop(self):
        if len(self.pairs) > 3:
            del self.pairs[int(rng.integers(len(self.pairs)))]

    def export(self):
        """NumPy's array shares the memory; a read-only one, as of a broadcast, has the values of now."""
        x, w = self.pick()
        shared = np.asarray(x)
        self.exports.append((shared, w if shared.flags.writeable else w.copy()))
        if len(self.exports) > 3:
            del self.exports[0]

    def write_export(self):
        if self.exports:
            n, w = self.exports[int(rng.integers(len(self.exports)))]
            if n.flags.writeable and w.flags.writeable:
                key, value = random_key(w.shape), self.number(w)
                n[key] = value
                w[key] = value
                self.trace.append(f"write to the export {w.shape}")

    def compare(self):
        for x, w in self.pairs:
            got = np.asarray(x + 0 if rng.random() < 0.3 and w.dtype != bool else x)
            if got.shape != w.shape or got.dtype != w.dtype or not np.array_equal(got, w):
                return f"{got.dtype}{got.shape} {got.tolist()} is not {w.dtype}{w.shape} {w.tolist()}"
        return None if all(np.array_equal(x, w) for x, w in self.exports) else "an export has changed"

    def run(self, often):
        for _ in range(int(rng.integers(10, 50))):
            [self.view, self.view, self.change, self.change, self.change, self.new, self.drop, self.export,
             self.write_export][rng.integers(9)]()
            if len(self.pairs) > 12:
                self.pairs = self.pairs[-8:]
            if rng.random() < often:
                wrong = self.compare()
                if wrong:
                    return wrong
        return self.compare()


def random_programs():
    bad = None
    for k in range(300):
        p = Program()
        try:
            wrong = p.run((1, 0.3, 0.05)[k % 3])
        except Exception:
            wrong = traceback.format_exc()
        if wrong:
            bad = f"program {k} of {p.dtype}: {wrong}; steps {p.trace}"
            break
    check("random programs of views and changes", bad is None, str(bad))


# ---- cases ----

def both(name, change, shape=(4, 3), dtype="float32", evaluated=True):
    """The same change of our array and of NumPy's."""
    w = np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)
    x = ig.asarray(w) if evaluated else ig.asarray(w) + 0
    w = w.copy()
    change(x)
    change(w)
    same(f"{name}{'' if evaluated else ', lazy'}", x, w)


def cases():
    def chained(a):
        a[0][1] = 9

    def through(a):
        v = a[2:4]
        v[:] = 0

    def rows(a):
        for row in a:
            row += 1

    def transposed(a):
        a.T[0] = 1

    def raveled(a):
        a.ravel()[3] = 7

    def in_place(a):
        v = a[1:]
        v += 1
        v[0] *= 2
        t = a.T
        t *= 2
        t[0] -= 3

    def masked(a):
        a[1:][a[1:] > 5] = 0
        a[a > 6] += 1
        a[[0, 1]] = 3

    def overlapping(a):
        a[1:] = a[:-1]
        a[::-1] = a
        a[:, 1:] = a[:, :-1]

    def swapped(a):
        a[0], a[1] = a[1].copy(), a[0].copy()

    def methods(a):
        a.reshape(3, 4)[1:, ::2] = -1
        a.swapaxes(0, 1)[0] += 10
        a.squeeze()[0, 0] = 5
        a.view().fill(2) if hasattr(a, "viewed") else a[:2].fill(2)
        a.flat[5] = 8
        a[2].sort()
        a.put([0, -1], [7, 8])

    def nested(a):
        v = a[1:, ::-1].T[::2]
        v[0] = [5, 6, 7]
        v.reshape(2, 3)[1, 1] = 100
        v[..., 0][...] = -5

    for change in (chained, through, rows, transposed, raveled, in_place, masked, overlapping, swapped, methods, nested):
        for evaluated in (True, False):
            both(change.__name__, change, evaluated=evaluated)
    for dtype in ("int8", "uint16", "float16", "complex64", "bool"):
        both(f"chained {dtype}", chained, dtype=dtype)
        both(f"transposed {dtype}", transposed, dtype=dtype)

    z = ig.asarray(np.arange(4) + 1j)
    z.real[1:] = 9
    z.imag += 2
    z.real = z.real * 2
    same("parts of a complex array", z, np.asarray([0 + 3j, 18 + 3j, 18 + 3j, 18 + 3j]))
    a = ig.zeros((2, 3))
    v = a[0]
    a[0, 1] = 5
    check("a view sees a change of its array", float(v[1]) == 5)
    b = a.copy()
    a += 1
    check("a copy does not", float(b[0, 1]) == 5 and float(v[1]) == 6)
    m = ig.zeros((3, 2))
    at = ig.argmax(ig.asarray([1, 5, 2]))  # lazy
    m[at][0] = 4
    m[at] += 1
    m[np.int64(2)][1] = 7
    same("an index that is not evaluated selects a view", m, np.asarray([[0, 0], [5, 1], [0, 7]], "f4"))
    check("an index in jit", float(ig.jit(lambda m, i: m[i + 1][0])(m, ig.asarray(0))) == 5)
    x = ig.arange(4)
    item = x[2]
    x[2] = 9
    check("an element is independent", int(item) == 2)
    raises("a diagonal is read-only", ValueError, lambda: ig.diagonal(ig.zeros((2, 2))).__setitem__(0, 1), "read-only")
    raises("a broadcast is read-only", ValueError, lambda: ig.broadcast_to(ig.zeros(2), (2, 2)).fill(1), "read-only")
    x = ig.zeros(3)
    x.flags.writeable = False
    raises("writeable = False", ValueError, lambda: x.__setitem__(0, 1), "read-only")
    raises("its views are read-only", ValueError, lambda: x[1:].__setitem__(0, 1), "read-only")


def numbers():
    """Numbers that do not fit raise what NumPy raises."""
    for dtype, value, error in (("int32", float("nan"), ValueError), ("int32", float("inf"), OverflowError), ("int8", 300, OverflowError),
                                ("uint8", -1, OverflowError), ("int64", 2**63, OverflowError), ("float32", 1j, TypeError)):
        raises(f"{value} as {dtype}", error, lambda d=dtype, v=value: ig.zeros(3, dtype=d).__setitem__(0, v))
        raises(f"{value} as {dtype}, all", error, lambda d=dtype, v=value: ig.zeros(3, dtype=d).__setitem__(slice(None), v))
    x = ig.zeros(3, dtype="int64")
    x[0] = 1.7
    x[1] = True
    x[2] = 2**62 + 1
    same("numbers become integers", x, np.asarray([1, 1, 2**62 + 1]))
    x = ig.zeros(3, dtype="float64")
    x[0] = 0.1
    x[1:] = [0.2, 0.3]
    same("floats are not rounded to float32", x, np.asarray([0.1, 0.2, 0.3]))
    x = ig.arange(3)
    raises("int += float", TypeError, lambda: x.__iadd__(1.5))
    raises("int /= int", TypeError, lambda: x.__itruediv__(2))
    raises("a shape that does not fit", ValueError, lambda: x.__setitem__(slice(0, 2), [1, 2, 3]))
    says("f'{vector:.2f}'", TypeError, ["format"], lambda: f"{ig.ones(3):.2f}")
    check("f'{number:.2f}'", f"{ig.asarray(1.234):.2f}" == "1.23")


def lists():
    """Sequences are operands of all operators."""
    x, w = ig.asarray([1.0, 2.0, 3.0]), np.asarray([1, 2, 3], "f4")
    for name, f in {"==": lambda a: a == [1, 5, 3], "+": lambda a: a + [1, 2, 3], "r-": lambda a: (1, 2, 3) - a,
                    "@": lambda a: a @ [1, 0, 1], "<": lambda a: a < (2, 2, 2), "r*": lambda a: [2, 2, 2] * a}.items():
        same(f"a list as operand of {name}", ig.astype(f(x), ig.float32), np.asarray(f(w), "f4"))
    x += [1, 1, 1]
    same("+= list", x, w + 1)
    same("a list of floats beside float64", ig.asarray(w.astype("f8")) + [0.1, 0.2, 0.3], w.astype("f8") + [0.1, 0.2, 0.3])


def attributes():
    w = np.arange(24, dtype="f4").reshape(2, 3, 4)
    x = ig.asarray(w)
    for name, f in {"x": lambda a: a, "T": lambda a: a.T, "slice": lambda a: a[1:, ::2, ::-1], "ravel": lambda a: a.ravel(),
                    "reshape": lambda a: a.reshape(6, 4)[::3], "row": lambda a: a[1], "swap": lambda a: a.swapaxes(0, 2)[1:],
                    "copy": lambda a: a.T.copy()}.items():
        a, b = f(x), f(w)
        if name != "copy":
            check(f"strides of {name}", a.strides == b.strides, f"{a.strides} {b.strides}")
            for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE"):
                check(f"{flag} of {name}", a.flags[flag] == b.flags[flag])
            check(f"{name}.flags.c_contiguous", a.flags.c_contiguous == b.flags.c_contiguous)
        check(f"bytes of {name}", a.tobytes() == b.tobytes() and a.tobytes("F") == b.tobytes("F"))
    check("base", x[1:].T.base is x and x.base is None and x.copy().base is None and x[:, 0].ravel().base is None and x[1].ravel().base is x)
    check("a reshape that NumPy copies", x.T.reshape(-1).base is None)
    check("ravel gives elements that follow each other", x.reshape(-1)[::2].ravel().base is None and x.reshape(-1)[::2].reshape(-1).base is x)
    same("ravel in Fortran's order", ig.ravel(x, "F"), w.ravel("F"))
    x.flat = [1, 2]
    w.flat = [1, 2]
    same("flat = values", x, w)
    same("flat[3:5]", x.flat[3:5], w.flat[3:5])
    x.T.flat[1] = 50
    w.T.flat[1] = 50
    same("T.flat[1] = 50", x, w)
    check("list(flat)", [float(v) for v in x.flat] == w.ravel().tolist())


def exports():
    """Read-only exports and values never change."""
    w = np.arange(2000, dtype="f4")
    for name, hold in {"from_dlpack": np.from_dlpack, "a copy for NumPy": np.array, "a lazy sum": lambda x: x + 0, "a copy": lambda x: x.copy(), "a copy of a part": lambda x: x[3:9].copy()}.items():
        x = ig.asarray(w).eval()
        kept = hold(x)
        before = np.array(np.asarray(kept)) if name != "a lazy sum" else w
        for i in range(40):
            x[i] = -1
            x[i:i + 2] += 1
        same(f"{name} keeps its elements", np.asarray(kept), before)
    source = np.arange(10, dtype="f4")
    x = ig.from_dlpack(source)
    x[3] = 0
    x[4:] = 1
    check("memory of another library is not written", source[3] == 3 and source[4] == 4 and float(x[4]) == 1)


def held():
    """Views keep their array; nothing keeps a view. Values of views do not make writes copy."""
    x = ig.zeros(100_000).eval()
    x[0] = 1
    v, t = x[5:], x.reshape(100, -1).T
    np.asarray(t), np.asarray(v)
    del t
    gc.collect()
    place = np.asarray(x).__array_interface__["data"][0]
    float(v.sum()), float(v[0])
    for i in range(50):
        v[i] = i
        v[i:i + 3] += 1
    x.eval()
    check("nothing is copied", np.asarray(x).__array_interface__["data"][0] == place)
    before = ig.memory()["used"]
    rows = [ig.zeros((100, 100)).eval()[0] for _ in range(3)]
    del rows
    check("a view ends with its array", ig.memory()["used"] <= before, f"{ig.memory()['used']} > {before}")
    v = ig.arange(10)
    for _ in range(100_000):
        v = v[:]
    check("views of views have one root", v.base.shape == (10,) and int(v[3]) == 3)


def gradients():
    """Writes through views are differentiable."""
    def through(x):
        y = x * 2
        v = y[1:4]
        v *= x[:3]
        y.T[0] = x[5] ** 2
        y.reshape(2, 4)[1, ::2] += y[:2]
        for i in range(5):
            y[i] = y[i] * x[i + 1]
        y[::-1][0] = 3
        return (y * y * y).sum()

    w = rng.random(8)
    x = ig.asarray(w, dtype="float64")
    check("the value", np.isclose(float(through(x)), float(through(w))))
    got = np.asarray(ig.grad(through)(x))
    want = [(through(w + d) - through(w - d)) / 2e-6 for d in 1e-6 * np.eye(8)]
    check("the gradient", np.allclose(got, want, rtol=1e-5, atol=1e-6), f"{got} {want}")
    same("the argument stays", x, w)

    def diagonal(m):
        y = m * 1
        y.reshape(-1)[::4] = m[0] * 2  # a diagonal is no slice
        y[1:, 1:].T[0] *= y[0, :2]
        return (y * y).sum()

    m = rng.random((3, 3))
    got = np.asarray(ig.grad(diagonal)(ig.asarray(m, dtype="float64")))
    want = np.asarray([(diagonal(m + d) - diagonal(m - d)) / 2e-6 for d in 1e-6 * np.eye(9).reshape(9, 3, 3)]).reshape(3, 3)
    check("the gradient through other shapes", np.allclose(got, want, rtol=1e-5, atol=1e-6), f"{got} {want}")
    stack = np.asarray(ig.vmap(through)(ig.asarray(np.stack([w, w + 1]), dtype="float64")))
    check("vmap", np.allclose(stack, [through(w), through(w + 1)]))
    check("jit", np.isclose(float(ig.jit(through)(x)), through(w)))

    def many(x):
        y = x * 1
        for i in range(40):
            y[i % 8] = y[i % 8] * 1.01 + x[(i + 1) % 8]
        return y.sum()

    got, want = np.asarray(ig.grad(many)(x)), [(many(w + d) - many(w - d)) / 2e-6 for d in 1e-6 * np.eye(8)]
    check("many changes keep their history", np.allclose(got, want, rtol=1e-5), f"{got} {want}")


def kernels():
    k = ig.kernel("__global__ void twice(int n, float *y) { int i = threadIdx.x; if (i < n) y[i] = 2 * y[i]; }")
    x = ig.arange(6.0)
    k[1, 32](3, x[2:5])
    same("a kernel writes to a view", x, np.asarray([0, 1, 4, 6, 8, 5], "f4"))


def few_elements():
    """Operators of rows of an array that is changed in a loop have the results of evaluations."""
    for dtype in ("float32", "float64", "float16", "int32", "uint8"):
        x = ig.asarray(elements((30, 3, 5), dtype))
        for i in range(1, 25):
            x[i] = x[i - 1] + 1
        w = np.array(x)
        for key in (3, (4, 1), (5, slice(None, None, -1)), (6, slice(None), slice(4, 0, -2))):
            for number in (2, -1.5, 3):
                for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq):
                    for g in (lambda v: f(v, number), lambda v: f(number, v)):
                        if not (np.dtype(dtype).kind == "u" and number < 0):
                            got, want = g(x[key]), g(ig.asarray(w[key]))
                            same(f"{f.__name__} of {dtype} and {number} at {key}", got, np.asarray(want))
    x = ig.asarray(elements((30, 4), "float64"))
    for i in range(1, 25):
        x[i] = x[i - 1] * 2 - 1
    grad = ig.grad(lambda s: sum((x[i] * 2 * s).sum() for i in range(3)))(1.0)
    check("a gradient with such rows", abs(float(grad) - 2 * float(np.array(x)[:3].sum())) < 1e-3 * (1 + abs(float(grad))))


def loops():
    """Loops over elements of arrays that are evaluated or not, also while something else holds the elements."""
    for n in (5, 40):
        for lazy in (False, True):
            x, w = ig.zeros(n) if lazy else ig.asarray(np.zeros(n, "f4")), np.zeros(n, "f4")
            kept = []
            for i in range(1, n):
                x[i] = x[i - 1] + 1
                w[i] = w[i - 1] + 1
                x[i] = ig.sin(x[i]) + x[i - 1] * 2
                w[i] = np.sin(w[i]) + w[i - 1] * 2
                if i % 7 == 0:
                    kept.append((np.from_dlpack(x), w.copy(), x.copy()))
            check(f"a recurrence of {n}, {'lazy' if lazy else 'evaluated'}", np.allclose(np.asarray(x), w, rtol=1e-5))
            check("what was held stays", all(np.allclose(a, b, rtol=1e-5) and np.allclose(np.asarray(c), b, rtol=1e-5) for a, b, c in kept))


def constants():
    """Arithmetic of elements has the bits of an evaluation."""
    import operator
    for dtype in ("float32", "float64", "int8", "uint8", "int32", "int64", "uint64"):
        a = rng.integers(0, 120, 60).astype(dtype) if "int" in dtype else (rng.random(60) * 10.0 ** rng.integers(-30, 30, 60)).astype(dtype)
        b = rng.integers(1, 120, 60).astype(dtype) if "int" in dtype else -(rng.random(60) * 10.0 ** rng.integers(-30, 30, 60)).astype(dtype)
        x, y = ig.asarray(a), ig.asarray(b)
        names = ["add", "sub", "mul", "lt", "le", "eq", "ne", "gt", "ge"] + (["truediv"] if "float" in dtype else [])
        for name in names:
            f = getattr(operator, name)
            whole = np.asarray(f(x, y))
            each = np.asarray([np.asarray(f(x[i], y[i])) for i in range(60)])
            check(f"{name} of {dtype}", whole.tobytes() == each.tobytes() and whole.dtype == each.dtype)
        for f in (ig.negative, ig.abs) if not dtype.startswith("u") else (ig.abs,):
            check(f"{f.__name__} of {dtype}", np.asarray(f(x)).tobytes() == np.asarray([np.asarray(f(x[i])) for i in range(60)]).tobytes())
        for f in (ig.maximum, ig.minimum):
            check(f"{f.__name__} of {dtype}", np.asarray(f(x, y)).tobytes() == np.asarray([np.asarray(f(x[i], y[i])) for i in range(60)]).tobytes())
    x = ig.asarray([1, 2, 3])
    check("integers and floats", str((x[0] / x[1]).dtype) == "float32" and float(x[0] / x[1]) == 0.5)


def shared():
    """Whether NumPy says of views of ours what it says of its own."""
    x, y = ig.zeros((4, 6)), np.zeros((4, 6))
    steps = [lambda a: a, lambda a: a[::2], lambda a: a[1::2], lambda a: a.T[2], lambda a: a[:, 3:], lambda a: np.ravel(a)[:7],
             lambda a: a + 1, lambda a: a[:0]]
    for i, f in enumerate(steps):
        for k, g in enumerate(steps):
            for ask in (np.shares_memory, np.may_share_memory):
                check(f"{ask.__name__} {i} {k}", ask(f(x), g(x)) == ask(f(y), g(y)))
    check("memory of others", not np.shares_memory(x, np.asarray([1.0])))


def copies():
    """Functions that give another array, as NumPy's and PyTorch's, and those that give the same one where nothing has to change."""
    import copy
    given = {"array": ig.array, "ig.copy": ig.copy, "np.copy": np.copy, "clone": lambda x: x.clone(), "copy.copy": copy.copy,
             "copy.deepcopy": copy.deepcopy, "tensor": ig.tensor, "asarray(copy=True)": lambda x: ig.asarray(x, copy=True),
             "copy()": lambda x: x.copy(), "astype": lambda x: x.astype("float32"), "flatten": lambda x: x.flatten(),
             "to(copy=True)": lambda x: x.to("cpu", copy=True)}
    kept = {"asarray": ig.asarray, "array(copy=None)": lambda x: ig.array(x, copy=None), "asanyarray": ig.asanyarray,
            "ascontiguousarray": ig.ascontiguousarray, "contiguous": lambda x: x.contiguous(), "float": lambda x: x.float(),
            "to(dtype)": lambda x: x.to(ig.float32), "to(device)": lambda x: x.to("cpu"), "cpu": lambda x: x.cpu(),
            "astype(copy=False)": lambda x: x.astype("float32", copy=False), "np.astype": lambda x: np.astype(x, x.dtype, copy=False),
            "view()": lambda x: x.view(), "as_tensor": ig.as_tensor}
    for functions, want in ((given, 0), (kept, 9)):
        for name, f in functions.items():
            x = ig.arange(4.0)
            f(x)[0] = 9
            check(f"a change of {name}", float(x[0]) == want, f"gives {x}")
            y = ig.arange(8.0)[4:]
            f(y)[0] = 9
            check(f"a change of {name} of a view", float(y[0]) == (want or 4), f"gives {y}")
    check("another dtype", ig.asarray([1.5]).astype("int32", copy=False).dtype == ig.int32)
    raises("bytes as another dtype", ValueError, lambda: ig.arange(4.0).view("int32").fill(1), "read-only")
    same("ndmin", ig.array([1, 2], ndmin=3), np.array([1, 2], ndmin=3))
    raises("order", ValueError, lambda: ig.array([[1]], order="F"), "row-major")


for test in (cases, shared, copies, numbers, lists, attributes, exports, held, gradients, kernels, few_elements, loops, constants, random_programs):
    attempt(test.__name__, test)
finish()
