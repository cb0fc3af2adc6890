"""Elements shared with NumPy without a copy: buffers, DLPack both ways, lifetimes, strides; arrays in several threads."""
import gc
import io
import pickle
import threading

from against import attempt, check, finish, ig, np, raises, rng, same

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


def address(x):
    return x.__array_interface__["data"][0]


def dlpack():
    for dtype in DTYPES:
        x = rng.integers(0, 2, (3, 4)).astype(dtype)
        same(f"from_dlpack {dtype}", ig.from_dlpack(x), x)
        same(f"numpy.from_dlpack {dtype}", np.from_dlpack(ig.asarray(x)), x)
        same(f"strided {dtype}", ig.from_dlpack(x.T), x.T)
        same(f"backwards {dtype}", ig.from_dlpack(x[::-1, ::-2]), x[::-1, ::-2])
        same(f"no elements {dtype}", ig.from_dlpack(x[:0]), x[:0])
        same(f"0-d {dtype}", ig.from_dlpack(x[:1, :1].reshape(())), x[:1, :1].reshape(()))
    large = np.arange(1 << 16, dtype="f4")
    y = ig.from_dlpack(large)
    check("import without a copy", address(np.asarray(y)) == address(large))
    check("round trip without a copy", address(np.from_dlpack(y)) == address(large))
    check("asarray copies", address(np.asarray(ig.asarray(large))) != address(large))
    check("asarray(copy=False)", address(np.asarray(ig.asarray(large, copy=False))) == address(large))
    check("copy=True", address(np.from_dlpack(y, copy=True)) != address(large))
    before = large.copy()
    same("the last use of an array over foreign memory", ig.from_dlpack(large) + 1, before + 1)
    same("does not change it", large, before)
    same("nor as an argument", ig.add(y, large) * 2, before * 4)
    same("does not change it, either", large, before)
    check("device", y.__dlpack_device__() == (1, 0))
    check("an old capsule", "dltensor" in repr(y.__dlpack__()) and "versioned" not in repr(y.__dlpack__()))
    check("a new capsule", "versioned" in repr(y.__dlpack__(max_version=(1, 0))))
    raises("a stream on the CPU", BufferError, lambda: y.__dlpack__(stream=1))
    raises("not an array", TypeError, lambda: ig.from_dlpack(3))


def devices():
    raises("a device that is no name", TypeError, lambda: ig.from_dlpack(np.ones(3), device=5))
    same("the CPU by name", ig.from_dlpack(np.ones(3), device="cpu"), np.ones(3))


def lifetimes():
    class Owner(np.ndarray):
        pass

    ended = []
    for _ in range(40):
        x = np.ones(1 << 14, "f4").view(Owner)
        x.__class__.__del__ = lambda self: ended.append(1)
        y = ig.from_dlpack(x)
        z = y + 1
        del x, y
        same("the owner is gone", z[:3], np.full(3, 2, "f4"))
        del z
    gc.collect()
    for _ in range(10):
        pass
    check("owners end", len(ended) >= 39, f"{len(ended)} of 40")
    view = np.asarray(ig.arange(1000.0) * 2)
    gc.collect()
    ig.eval(ig.ones(1000))
    same("a view outlives its array", view, np.arange(1000, dtype="f4") * 2)
    a = ig.arange(1000.0) + 1
    view = np.from_dlpack(a)
    before = view.copy()
    a[:] = 0
    a += 5
    a.eval()
    same("a read-only export keeps its elements", view, before)
    capsule = a.__dlpack__()
    del capsule  # not taken
    m = memoryview(ig.asarray([[1, 2], [3, 4]]))
    check("memoryview", m.shape == (2, 2) and m.format == "l" and m.tolist() == [[1, 2], [3, 4]])
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split():
        x, number = ig.zeros(2, dtype=name), np.dtype(name).num
        check(f"the number of {name} that extension modules compare", np.asarray(x).dtype.num == number == np.asarray(memoryview(x)).dtype.num)


def memory():
    """numpy.asarray(x) and x see the same memory. The values of lazy arrays are those of the time when ops were called."""
    x = ig.arange(6.0)
    n = np.asarray(x)
    later = x + 1
    n[0] = 9
    same("NumPy changes the array", x, np.array([9, 1, 2, 3, 4, 5], "f4"))
    same("not results of earlier ops", later, np.arange(1, 7, dtype="f4"))
    check("an element and a number", x[0] == 9 and float(x[0]) == 9)
    x[1] = 8
    x *= 2
    same("the array changes NumPy's", n, np.array([18, 16, 4, 6, 8, 10], "f4"))
    part = x[2:4]
    n[2:] = -1
    part[0] += 5
    same("views of the array", part, np.array([4, -1], "f4"))
    strided = np.asarray(x.reshape(2, 3).T[::-1])
    strided[0, 1] = 100
    check("NumPy's views of views", x[5] == 100 and n[5] == 100 and strided.strides == (-4, 12))
    double = ig.jit(lambda a: a * 2)
    first = double(x)
    n[:] = 1
    check("plans take the values of their calls", first[5] == 200 and double(x)[5] == 2)
    check("gradients too", ig.grad(lambda a: (a * a).sum())(x).tolist() == [2.0] * 6)
    twin = x.copy()
    n[0] = 50
    check("a copy is independent", twin[0] == 1)
    values = ig._ingot._values(x)
    x[0] = 3
    check("pickled elements do not change", values[0] == 50 and pickle.loads(pickle.dumps(x)).tolist() == x.tolist())
    raises("the shape of shared memory", AttributeError, lambda: setattr(x, "shape", (2, 3)), "reshape")
    raises("a change inside of a gradient", ValueError, lambda: ig.grad(lambda a: (x.__setitem__(0, a), a * a)[1])(2.0), "numpy.array")
    del n, strided
    x[0] = 2
    check("after the last export", x.tolist() == [2.0] + [1.0] * 5)
    for complex_ in (ig.asarray([1 + 2j, 3]), ig.asarray([1 + 2j, 3]) + 0):
        k, imag = np.asarray(complex_), np.asarray(complex_.imag)
        k[0], complex_[1] = 5, 2j
        imag[0] = 7
        complex_ *= 2
        check("complex numbers", k.tolist() == complex_.tolist() == [10 + 14j, 4j] and imag.tolist() == [14, 4])
        del k, imag
        check("complex numbers after the last export", complex_.tolist() == [10 + 14j, 4j])
    number = ig.asarray(3.0)
    np.asarray(number)[...] = 4
    check("a number", float(number) == 4)
    given = np.arange(3.0)
    for name, x in {"of a broadcast": ig.broadcast_to(ig.arange(3), (2, 3)), "of bfloat16": ig.ones(2, dtype="bfloat16"),
                    "of another library's memory": ig.from_dlpack(given)}.items():
        check(f"read-only: {name}", not np.asarray(x).flags.writeable)
    seen = []
    ig.grad(lambda a: (seen.append(np.asarray(a).flags.writeable), a.sum())[1])(ig.ones(2))
    check("read-only inside of a gradient", seen == [False])
    rows = ig.ones((2, 3))
    np.add(np.ones(3), 1, out=np.asarray(rows)[1])
    check("out= of a row", rows.tolist() == [[1] * 3, [2] * 3])
    raises("bytes of a view that has gaps", TypeError, lambda: io.BytesIO(bytes(24)).readinto(rows[:, ::2]))
    check("bytes read into an array", io.BytesIO(bytes(24)).readinto(rows) == 24 and not rows.any())


def memory_of_threads():
    """Threads write to rows of one array through NumPy."""
    def work(i):
        np.asarray(real[i])[:] = i
        np.asarray(pairs[i])[0] = 1j * i
        np.asarray(real[i])[3] += 1

    wrong = 0
    for _ in range(30):
        real, pairs = ig.zeros((6, 100)), ig.zeros((6, 2), dtype="complex64")
        running = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in running:
            t.start()
        for t in running:
            t.join()
        want = np.repeat(np.arange(6, dtype="f4")[:, None], 100, 1)
        want[:, 3] += 1
        wrong += not (np.array_equal(np.asarray(real), want) and pairs[:, 0].imag.tolist() == list(range(6)))
    check("threads that write through NumPy", wrong == 0, f"{wrong} of 30 are wrong")


def threads():
    """Arrays shared by threads that build, evaluate and differentiate at the same time."""
    shared = ig.arange(1000.0) * 1.5
    failures = []

    def work(i):
        try:
            for k in range(100):
                y = (shared * i + k).sum()
                if abs(float(y) - (1.5 * 499500 * i + 1000 * k)) > 1e-3 * (1 + abs(float(y))):
                    failures.append((i, k, float(y)))
                g = ig.grad(lambda x: (x * x * i).sum())(shared)
                if abs(float(g[2]) - 6 * i) > 1e-4:
                    failures.append(("grad", i, k))
                z = ig.asarray([1.0, 2.0, 3.0])
                z[z > 1.5] = i
                if z.tolist() != [1.0, i, i]:
                    failures.append(("mask", i, k))
        except Exception as error:
            failures.append(repr(error))

    running = [threading.Thread(target=work, args=(i,)) for i in range(1, 7)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    check("threads", not failures, str(failures[:3]))


for test in (dlpack, devices, lifetimes, memory, memory_of_threads, threads):
    attempt(test.__name__, test)
finish()
