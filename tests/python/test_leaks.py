"""No leaks over 100,000 calls: the bytes that the C library has given out, Python's blocks and the elements of arrays stay as
they were after a warm-up, for each kind of call on its own."""
import copy
import ctypes
import gc
import os
import pickle
import sys
import tempfile

from against import attempt, check, finish, ig, np, skip

CALLS, ALL = 3000, 100_000
BYTES_PER_CALL = 16  # no object is so small


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def malloc_counter():
    """A function that gives the bytes in use; without glibc's, the size of the process."""
    try:
        info = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        skip("bytes of malloc", "this C library does not count them")
        return lambda: 0
    info.restype = Mallinfo
    return lambda: (lambda m: m.uordblks + m.hblkhd)(info())


in_use = malloc_counter()
x, m = ig.arange(6.0).eval(), ig.ones((3, 4)).eval()
v, mask = np.arange(6, dtype="f4"), ig.asarray([True, False] * 3).eval()
step = ig.jit(lambda d: {"y": d["a"] * 2 + d["b"], "n": [d["a"].sum()]})
net = ig.nn.Sequential(ig.nn.Linear(4, 3), ig.nn.relu, ig.nn.Linear(3, 2))
kernel = ig.kernel("__global__ void twice(const float *x, float *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }")


def failing(kind, call):
    def run():
        try:
            call()
        except kind:
            return
        raise AssertionError("did not fail")
    return run


def assign():
    y = x + 0
    y[2] = 5
    y[1:3] = y[3:5]
    y += 1
    y.eval()


def assign_places():
    y = x + 0
    y[[0, 2]] = 5
    y[y > 2] = 0
    y.eval()


def train():
    loss, grads = ig.nn.value_and_grad(net, lambda n, a: (n(a) ** 2).sum())(net, m)
    ig.eval(loss, *[g for g in net_leaves(grads)])


def net_leaves(tree):
    if isinstance(tree, dict):
        return [g for t in tree.values() for g in net_leaves(t)]
    if isinstance(tree, (list, tuple)):
        return [g for t in tree for g in net_leaves(t)]
    return [tree] if isinstance(tree, ig.Array) else []


square = ig.custom_grad(lambda a: a * a, lambda inputs, out, g: [g * 2 * inputs[0]])


def custom():
    ig.grad(lambda a: square(a).sum())(x).eval()


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        ig.save(path, x)
        ig.load(path).eval()


KINDS = {
    "operators": lambda: (x + x * 2 - 1 / (x + 1)).eval(),
    "functions": lambda: ig.softmax(ig.concat([x, x]), axis=0).eval(),
    "not evaluated": lambda: ig.exp(x) @ x,
    "reductions": lambda: float(ig.mean(m, axis=0).sum()),
    "several results": lambda: ig.eval(*ig.split(x, 2)),
    "results by data": lambda: ig.unique_counts(x).values.eval(),
    "complex": lambda: (ig.asarray([1 + 2j, 3]) * 2).eval(),
    "linalg": lambda: ig.linalg.qr(m),
    "from lists": lambda: ig.asarray([[1, 2.5], [3, 4]]).eval(),
    "from numpy": lambda: (ig.asarray(v) + v).eval(),
    "indexing": lambda: (x[1:3], x[-1], x[None, ..., ::2], x[ig.asarray([0, 2])].eval()),
    "masks": lambda: x[mask].eval(),
    "assignment": assign,
    "assignment to places": assign_places,
    "at": lambda: x.at[[0, 0]].add(1).eval(),
    "iteration": lambda: [float(a) for a in x],
    "printing": lambda: (repr(x), str(m), x._repr_html_(), f"{x[0]:.2f}"),
    "attributes": lambda: (x.shape, x.dtype, x.device, x.T, x.nbytes, x.is_evaluated),
    "pickle": lambda: pickle.loads(pickle.dumps(x)),
    "copies": lambda: (copy.copy(x), copy.deepcopy(x)),
    "numpy.asarray": lambda: (np.asarray(x), np.asarray(x + 1), memoryview(x)),
    "dlpack out": lambda: (np.from_dlpack(x), x.__dlpack__(), x.__dlpack__(max_version=(1, 0), copy=True)),
    "dlpack in": lambda: (ig.from_dlpack(v) + 1).eval(),
    "dlpack in, strided": lambda: (ig.from_dlpack(v[::-2]) + 1).eval(),
    "numpy dispatch": lambda: (np.mean(x), np.add(v, x)),
    "grad": lambda: ig.grad(lambda a: (a * a).sum())(x).eval(),
    "custom_grad": custom,
    "vjp, jvp": lambda: (ig.vjp(ig.sin, x)[1](x), ig.jvp(ig.sin, (x,), (x,))),
    "vmap": lambda: ig.vmap(lambda r: r.sum())(m).eval(),
    "hessian": lambda: ig.hessian(lambda a: (a ** 3).sum())(x[:2]).eval(),
    "jit": lambda: step({"a": x, "b": x}),
    "new jit": lambda: ig.jit(lambda a: a + 1)(x),
    "training": train,
    "kernel": lambda: kernel[1, 6](x, (6,)).eval(),
    "random": lambda: ig.random.normal(ig.key(1), (3,)).eval(),
    "files": files,
    "wrong shapes": failing(ValueError, lambda: x + ig.ones(7)),
    "wrong types": failing(TypeError, lambda: ig.add(x, "a")),
    "wrong index": failing(IndexError, lambda: x[9]),
    "wrong index, later": failing(IndexError, lambda: x[ig.asarray([9])].eval()),
    "wrong assignment": failing(ValueError, lambda: x.__setitem__(slice(None), [1.0, 2.0])),
    "wrong dtype": failing(TypeError, lambda: ig.ones(2, dtype="float13")),
    "error in a function": failing(ZeroDivisionError, lambda: ig.grad(lambda a: 1 / 0)(x)),
    "error in a jit": failing(ValueError, lambda: ig.jit(lambda a: a + float(a[0]))(x)),
    "no file": failing(OSError, lambda: ig.load("/no/such/file.npy")),
}
FEW = {"files": 10, "linalg": 4, "training": 4, "new jit": 4, "hessian": 4, "results by data": 2, "error in a jit": 2}  # fewer calls


def measure():
    gc.collect()
    ig.ones(1).eval()
    return in_use(), sys.getallocatedblocks(), ig.memory()["used"]


def repeat(call, n):
    for _ in range(n):
        call()


def one(name, call):
    n = CALLS // FEW.get(name, 1)
    repeat(call, n // 4)
    for attempt_number in range(3):  # a table that doubles is no leak: it does not grow again at once
        before = measure()
        repeat(call, n)
        after = measure()
        grown = [b - a for a, b in zip(before, after)]
        if grown[0] <= BYTES_PER_CALL * n and grown[1] <= 64 + n // 50 and grown[2] <= 4096:
            break
    else:
        check(name, False, f"{n} calls left {grown[0]} B of malloc, {grown[1]} blocks of Python, {grown[2]} B of elements")
        return n
    check(name, True)
    return n


def all_kinds():
    total = sum(one(name, call) for name, call in KINDS.items())
    before = os_bytes()
    while total < ALL:  # in turn
        for call in list(KINDS.values())[:10]:
            repeat(call, 10)
            total += 10
    check("the size of the process", os_bytes() - before < 8 << 20, f"grew by {os_bytes() - before} B")


def os_bytes():
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


attempt("all kinds", all_kinds)
finish()
