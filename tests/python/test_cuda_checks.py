"""Kernels that access arrays out of bounds: IndexError for functions of Python, reports of the check for CUDA C."""
import os
import subprocess
import sys

from against import attempt, check, finish, ig, np, raises, same, says
from ingot import cuda

DEVICES = list({d.partition(":")[0]: d for d in reversed(ig.devices()) if not d.startswith("metal")}.values())


@cuda.jit
def shift(x, y, d):
    i = cuda.grid(1)
    y[i + d] = x[i]  # here


@cuda.jit
def pick(x, y, i, j):
    if cuda.grid(1) == 0:
        y[0] = x[i, j]


@cuda.jit
def own(y, i, j):
    shared = cuda.shared.array(4, cuda.float32)
    local = cuda.local.array((2, 3), cuda.float32)
    shared[cuda.threadIdx.x] = 1
    local[1, j] = 3
    cuda.syncthreads()
    y[0] = shared[i] + local[1, j]


@cuda.jit(device=True)
def last(row, k):
    return row[k - 1]


@cuda.jit
def rows(x, y, k):
    y[0] = last(x[k], k)


@cuda.jit
def count(y, i):
    cuda.atomic.add(y, i, 1)


@cuda.jit
def nested(x, y, i, j):
    y[0] = x[i][j % 5]


@cuda.jit
def guarded(x, y):
    i = cuda.grid(1)
    y[i % y.size] = x[i] if i < x.size else 0
    if i < x.size and x[i] > 2:
        y[i] = -1


def run(device, kernel, shape, *args):
    y = ig.zeros(shape, device=device)
    kernel[1, 4](*(ig.asarray(a, device=device) if isinstance(a, np.ndarray) else y if a is Ellipsis else a for a in args))
    return y.numpy()


def bounds(device):
    line, square = np.arange(4, dtype="float32"), np.arange(12, dtype="float32").reshape(3, 4)

    def out(name, kernel, *args):
        says(name, IndexError, ["out of bounds", kernel.__name__, "thread"], lambda: run(device, kernel, 4, *args))

    same("in range", run(device, shift, 4, line, ..., 0), line)
    same("wraps", run(device, shift, 4, line, ..., -1), np.roll(line, -1))
    first = shift.function.__code__.co_firstlineno
    says("write", IndexError, [f"{__file__}:{first + 3}", "y[i + d]", "axis 0"], lambda: run(device, shift, 4, line, ..., 1))
    out("far", shift, line, ..., 10**12)
    out("far below", shift, line, ..., -10**12)
    out("read", shift, line[:3], ..., 0)
    for i, j in ((2, 3), (-1, -1), (-3, -4), (0, 0)):
        same(f"x[{i}, {j}]", run(device, pick, 4, square, ..., i, j)[0], square[i, j])
    for i, j in ((3, 0), (0, 4), (-4, 0), (0, -5)):
        out(f"x[{i}, {j}]", pick, square, ..., i, j)
    same("own arrays", run(device, own, 4, ..., 3, -3)[0], np.float32(4))
    out("shared", own, ..., 4, 0)
    out("local", own, ..., 0, 3)
    out("negative local", own, ..., 0, -4)
    same("rows", run(device, rows, 4, square, ..., 2)[0], square[2, 1])
    out("row", rows, square, ..., 3)
    says("device function", IndexError, ["last", "row[k - 1]"], lambda: run(device, rows, 4, square[:, :1], ..., 2))
    says("row of rows", IndexError, ["nested: x[i]: index"], lambda: run(device, nested, 4, square, ..., 3, 0))
    says("element of a row", IndexError, ["nested: x[i][j % 5]: index"], lambda: run(device, nested, 4, square, ..., 0, 4))
    same("atomic", run(device, count, 4, ..., -1), np.float32([0, 0, 0, 4]))
    out("atomic out", count, ..., 4)
    same("guarded", run(device, guarded, 4, np.float32([1, 2, 3]), ...), np.float32([1, 2, -1, 0]))


def lazy():
    """The error appears at evaluation, for NumPy's arrays at the launch; arrays that were not written keep their values."""
    x, y = ig.arange(4.0), ig.zeros(4)
    shift[1, 4](x, y, 1)
    raises("at evaluation", IndexError, y.numpy)
    mine = np.zeros(4, "float32")
    raises("NumPy", IndexError, lambda: shift[1, 4](np.arange(4, dtype="float32"), mine, 1))
    same("nothing is written", mine, np.zeros(4, "float32"))
    same("later launches", run("cpu", shift, 4, np.ones(4, "float32"), ..., 0), np.ones(4, "float32"))


def options():
    x, y = ig.arange(4.0), ig.zeros(4)
    check("checked", "assert" in shift.compiled(x, y, 1).source)
    for off in (cuda.jit(check=False), cuda.jit("void(float32[:])", check=False)):
        check("unchecked", "assert" not in off(shift.function).compiled(x, y, 1).source)
    check("boundscheck", "assert" in cuda.jit(shift.function, check=False, boundscheck=True).compiled(x, y, 1).source)
    raises("option", ValueError, lambda: cuda.jit(check="some"))
    done = subprocess.run([sys.executable, __file__, "debug"], capture_output=True, text=True, env=dict(os.environ))
    check("debug", "shift: y[i + d]: index out of bounds for axis 0: index 4, size 4\n" in done.stdout and "IndexError" in done.stdout,
          done.stdout + done.stderr)


@cuda.jit(check="all")
def race(y):
    y[0] = cuda.threadIdx.x


@cuda.jit(check="all")
def double(x, y):
    y[cuda.grid(1)] = 2 * x[cuda.grid(1)]


def checked(device):
    says("race", ig.DeviceError, ["race", f"{__file__}:{race.function.__code__.co_firstlineno + 2}"],
         lambda: race[1, 64](ig.zeros(4, device=device)))
    x, y = ig.arange(4.0, device=device), ig.zeros(4, device=device)
    double[1, 4](x, y)
    same("result", y, 2 * np.arange(4, dtype="float32"))
    check("device", y.device == x.device, y.device)
    source = "__global__ void next(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x + 1]; }"
    k = ig.kernel(source, check=True)
    says("CUDA C", ig.DeviceError, ["kernel.cu:1:", "out of bounds", "element 4 of 'x', which has 4"], lambda: k[1, 4](x, y))
    k[1, 3](x, y)
    same("CUDA C in range", y, np.float32([1, 2, 3, 6]))
    raises("no launch", ig.DeviceError, lambda: k(x, np.zeros(4, "float32")))
    raises("shape", TypeError, lambda: k[1, 3](x, 4))
    two = ig.kernel("template <typename T> __global__ void put(T *y, T v) { y[threadIdx.x] = v; }", "put<int>", check=True)
    numbers = np.zeros(3, "int32")
    two[1, 3](numbers, ig.asarray(7))
    same("template", numbers, np.full(3, 7, "int32"))


if sys.argv[1:] == ["debug"]:
    shift = cuda.jit(shift.function, debug=True)
    try:
        run("cpu", shift, 4, np.zeros(4, "float32"), ..., 1)
    except IndexError:
        print("IndexError", flush=True)
    sys.exit()
for one in DEVICES:
    for test in (bounds, checked):
        attempt(f"{test.__name__} on {one}", lambda: test(one))
for test in (lazy, options):
    attempt(test.__name__, test)
finish()
