"""Elements shared with NumPy without a copy: buffers, DLPack both ways, lifetimes, strides; arrays in several threads."""
import gc
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
    view = np.asarray(a)
    before = view.copy()
    a[:] = 0
    a += 5
    a.eval()
    same("a view keeps its elements", view, before)
    capsule = a.__dlpack__()
    del capsule  # not taken
    m = memoryview(ig.asarray([[1, 2], [3, 4]]))
    check("memoryview", m.shape == (2, 2) and m.format == "l" and m.tolist() == [[1, 2], [3, 4]])
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split():
        x, number = ig.zeros(2, dtype=name), np.dtype(name).num
        check(f"the number of {name} that extension modules compare", np.asarray(x).dtype.num == number == np.asarray(memoryview(x)).dtype.num)
    raises("writable", (BufferError, ValueError), lambda: np.frombuffer(a, "f4").__setitem__(0, 1))


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


for test in (dlpack, devices, lifetimes, threads):
    attempt(test.__name__, test)
finish()
