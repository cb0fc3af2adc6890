"""Kernels from Python: ig.kernel with CUDA C, and @ig.cuda.jit with functions, against NumPy, on the CPU, OpenCL and CUDA."""
import math
import os
import subprocess
import tempfile

from against import attempt, check, finish, ig, np, raises, rng, same
from ingot import cuda

DEVICES = list({d.partition(":")[0]: d for d in reversed(ig.devices()) if not d.startswith("metal")}.values())  # doubles are used
TPB = 8
SOURCE = """
__global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void one(float *y) { y[0] = 1; }
"""


def f32(*shape):
    return rng.standard_normal(shape).astype("float32")


def on(device, *arrays):
    return [ig.asarray(a, device=device) for a in arrays]


# ---- CUDA C ----

def sources(device):
    k = ig.kernel(SOURCE, "axpy")
    x, y = f32(100), f32(100)
    gx, gy = on(device, x, y)
    before = gy * 1
    check("returns", k[4, 32](100, 2.0, gx, gy) is None)
    same("in place", gy, y + np.float32(2) * x)
    same("others keep their values", before, y)
    same("new array", k(100, 3.0, gx, (100,)), np.float32(3) * x)
    same("by name", k[4, 32](a=3.0, x=gx, n=100, y=100), np.float32(3) * x)
    mine = y.copy()
    k[4, 32](100, 2.0, x, mine)
    same("NumPy", mine, y + np.float32(2) * x)
    same("fused", k(100, 1.0, gx + 1, (100,)) * 2, (x + 1) * 2)
    same("array of one element", k(100, ig.asarray(np.float32(2), device=device), gx, (100,)), 2 * x)


def mistakes():
    raises("two kernels", ValueError, lambda: ig.kernel(SOURCE))
    raises("no kernel", ValueError, lambda: ig.kernel(SOURCE, "none"))
    raises("syntax", ValueError, lambda: ig.kernel("__global__ void f(float *y) { y[0] = ; }")[1, 1](1))
    k = ig.kernel(SOURCE, "axpy")
    raises("missing", TypeError, lambda: k[1, 1](1))
    raises("unknown", TypeError, lambda: k[1, 1](1, 2.0, ig.ones(1), 1, z=3))
    raises("dtype", TypeError, lambda: k[1, 1](1, 2.0, ig.arange(3), 1))
    raises("launch", TypeError, lambda: k[1])
    raises("blocks", ValueError, lambda: k[0, 1])
    square = ig.kernel("""__global__ void square(int n, const float *x, float *y) {
            int i = threadIdx.x; if (i < n) y[i] = x[i] * x[i]; }
        __global__ void back(int n, const float *x, const float *grad_y, float *grad_x) {
            int i = threadIdx.x; if (i < n) grad_x[i] = 2 * x[i] * grad_y[i]; }""", "square", gradient="back")
    same("gradient", ig.grad(lambda x: square(5, x, 5).sum())(ig.arange(5.0)), 2 * np.arange(5, dtype="float32"))
    tile = ig.kernel("template <typename T, int N> __global__ void tile(T *y) { y[threadIdx.x] = N; }", "tile<int, 7>")
    same("template", tile[1, 3](3), np.full(3, 7, "int32"))


# ---- kernels of Numba's manual, from their descriptions ----

@cuda.jit
def increment(a):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i < a.size:
        a[i] += 1


@cuda.jit
def increment_2d(a):
    x, y = cuda.grid(2)
    if x < a.shape[0] and y < a.shape[1]:
        a[x, y] += 1


@cuda.jit
def add(x, y, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        out[i] = x[i] + y[i]


@cuda.jit
def matmul(a, b, c):
    """Naive."""
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@cuda.jit
def fast_matmul(a, b, c):
    sa = cuda.shared.array(shape=(TPB, TPB), dtype=cuda.float32)
    sb = cuda.shared.array((TPB, TPB), np.float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    total = np.float32(0)
    for i in range((a.shape[1] + TPB - 1) // TPB):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and tx + i * TPB < a.shape[1]:
            sa[ty, tx] = a[y, tx + i * TPB]
        if x < b.shape[1] and ty + i * TPB < b.shape[0]:
            sb[ty, tx] = b[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            total += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@cuda.jit
def block_sum(data, result):
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    part = cuda.shared.array(128, cuda.int64)
    part[tid] = data[i] if i < len(data) else 0
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            part[tid] += part[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        cuda.atomic.add(result, 0, part[0])


@cuda.jit
def histogram(x, low, high, bins):
    width = (high - low) / bins.shape[0]
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        b = int((x[i] - low) / width)
        if 0 <= b < bins.shape[0]:
            cuda.atomic.add(bins, b, 1)


@cuda.jit
def laplace(a, new):
    i, j = cuda.grid(2)
    n, m = a.shape
    if 1 <= i < n - 1 and 1 <= j < m - 1:
        new[i, j] = 0.25 * (a[i, j + 1] + a[i, j - 1] + a[i - 1, j] + a[i + 1, j])


@cuda.jit(device=True)
def mandel(x, y, limit):
    c = complex(x, y)
    z = 0.0j
    for i in range(limit):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return limit


@cuda.jit
def mandelbrot(x0, x1, y0, y1, image, limit):
    height, width = image.shape
    dx = (x1 - x0) / width
    dy = (y1 - y0) / height
    sx, sy = cuda.grid(2)
    gx = cuda.gridDim.x * cuda.blockDim.x
    gy = cuda.gridDim.y * cuda.blockDim.y
    for x in range(sx, width, gx):
        for y in range(sy, height, gy):
            image[y, x] = mandel(x0 + x * dx, y0 + y * dy, limit)


@cuda.jit(device=True)
def cnd(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    r = 0.39894228040143267794 * math.exp(-0.5 * d * d) * (k * (0.31938153 + k * (-0.356563782 + k * (
        1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
    if d > 0:
        r = 1.0 - r
    return r


@cuda.jit
def black_scholes(call, put, s, x, t, r, v):
    i = cuda.grid(1)
    if i >= s.shape[0]:
        return
    root = math.sqrt(t[i])
    d1 = (math.log(s[i] / x[i]) + (r + 0.5 * v * v) * t[i]) / (v * root)
    d2 = d1 - v * root
    n1, n2 = cnd(d1), cnd(d2)
    rest = math.exp((-1. * r) * t[i])
    call[i] = s[i] * n1 - x[i] * rest * n2
    put[i] = x[i] * rest * (1.0 - n2) - s[i] * (1.0 - n1)


def manual(device):
    a, = on(device, np.arange(100, dtype="int32"))
    increment[4, 32](a)
    same("increment", a, np.arange(1, 101, dtype="int32"))
    increment.forall(100)(a)
    same("forall", a, np.arange(2, 102, dtype="int32"))
    m, = on(device, f32(20, 30))
    want = np.asarray(m) + np.float32(1)
    increment_2d[(3, 4), (8, 8)](m)
    same("increment 2-D", m, want)
    x, y = f32(1000), f32(1000)
    gx, gy = on(device, x, y)
    out = ig.zeros(1000, device=device)
    add[3, 64](gx, gy, out)
    same("add", out, x + y)
    p, q = f32(21, 17), f32(17, 13)
    gp, gq = on(device, p, q)
    for kernel, name in ((matmul, "matmul"), (fast_matmul, "matmul in shared memory")):
        c = ig.zeros((21, 13), device=device)
        kernel[(4, 4), (TPB, TPB)](gp, gq, c)
        same(name, c, p @ q, 1e-5)
    data = rng.integers(-50, 50, 1000)
    total, gd = on(device, np.zeros(1, "int64"), data)
    block_sum[8, 128](gd, total)
    same("sum", total, data.sum(keepdims=True))
    z = f32(5000)
    bins, gz = on(device, np.zeros(20, "int32"), z)
    histogram[4, 64](gz, np.float32(-3), np.float32(3), bins)
    width = np.float32(6) / np.float32(20)
    b = ((z + np.float32(3)) / width).astype("int64")
    b = b[((z + np.float32(3)) / width > -1) & (b >= 0) & (b < 20)]
    same("histogram", bins, np.bincount(b, minlength=20).astype("int32"))
    grid = rng.standard_normal((12, 19))
    ga, new = on(device, grid, grid)
    laplace[(2, 3), (8, 8)](ga, new)
    want = grid.copy()
    want[1:-1, 1:-1] = 0.25 * (grid[1:-1, 2:] + grid[1:-1, :-2] + grid[:-2, 1:-1] + grid[2:, 1:-1])
    same("laplace", new, want)


def mandel_numpy(x0, x1, y0, y1, h, w, limit):
    out = np.zeros((h, w), "uint8")
    for y in range(h):
        for x in range(w):
            c, z = complex(x0 + x * ((x1 - x0) / w), y0 + y * ((y1 - y0) / h)), 0j
            out[y, x] = next((i for i in range(limit) if (z := z * z + c).real ** 2 + z.imag ** 2 >= 4), limit)
    return out


def finance(device):
    image, = on(device, np.zeros((16, 24), "uint8"))
    mandelbrot[(2, 2), (8, 4)](-2.0, 1.0, -1.0, 1.0, image, 20)
    same("mandelbrot", image, mandel_numpy(-2.0, 1.0, -1.0, 1.0, 16, 24, 20))
    s, x, t = rng.uniform(5, 30, 50), rng.uniform(1, 100, 50), rng.uniform(0.25, 10, 50)
    call, put, gs, gx, gt = on(device, np.zeros(50), np.zeros(50), s, x, t)
    black_scholes[2, 32](call, put, gs, gx, gt, 0.02, 0.3)
    d1 = (np.log(s / x) + (0.02 + 0.5 * 0.09) * t) / (0.3 * np.sqrt(t))
    d2 = d1 - 0.3 * np.sqrt(t)

    def n(d):
        return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in d])

    same("call", call, s * n(d1) - x * np.exp(-0.02 * t) * n(d2), 1e-5)
    same("put", put, x * np.exp(-0.02 * t) * n(-d2) - s * n(-d1), 1e-5)


# ---- the language ----

@cuda.jit
def integers(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
        out[2, i], out[3, i] = divmod(a[i], 4)
        out[4, i] = (a[i] << 2) ^ (b[i] >> 1) & 5 | ~a[i]
        out[5, i] = abs(a[i]) ** 2 - (-3) ** 3
        out[6, i] = min(a[i], b[i], 2) * 10 + max(a[i], b[i])
        out[7, i] = -a[i] if a[i] < 0 and not b[i] > 0 or a[i] == 3 else +b[i]
        out[8, -1 - i] = a[i - a.size]
        out[9, i] = int(a[i] / b[i]) + round(2.5) + math.floor(-0.5) + len(out)


def integers_numpy(a, b):
    out = np.zeros((10, a.size), "int64")
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist())):
        out[:8, i] = (x // y, x % y, x // 4, x % 4, (x << 2) ^ (y >> 1) & 5 | ~x, abs(x) ** 2 - (-3) ** 3,
                      min(x, y, 2) * 10 + max(x, y), -x if x < 0 and not y > 0 or x == 3 else +y)
        out[8, -1 - i] = x
        out[9, i] = int(x / y) + round(2.5) + math.floor(-0.5) + 10
    return out


@cuda.jit
def floats(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        a, b = x[i], y[i]
        a, b = b, a
        out[0, i] = b // a
        out[1, i] = b % a
        out[2, i] = b ** 2 + b ** -1 + abs(a) ** 0.5
        out[3, i] = math.sin(b) + math.atan2(a, b) + math.hypot(a, b) + math.pi
        out[4, i] = min(a, b) + max(a, 1)
        out[5, i] = np.sqrt(abs(b)) if math.isfinite(a) and b > -math.inf else math.nan
        out[6, i] = i / 3 + bool(i) + (i > 1)


def floats_numpy(x, y):
    return np.array([x // y, x % y, x ** 2 + 1 / x + abs(y) ** 0.5, np.sin(x) + np.arctan2(y, x) + np.hypot(x, y) + np.pi,
                     np.minimum(x, y) + np.maximum(y, 1), np.sqrt(abs(x)),
                     np.arange(x.size) / 3 + (np.arange(x.size) > 0) + (np.arange(x.size) > 1)])


@cuda.jit(device=True)
def swap(values, i, j):
    values[i], values[j] = values[j], values[i]


@cuda.jit
def reuse(a, x_0):
    """Names and places that must not be confused."""
    n = 4
    s = cuda.shared.array(n * 2, cuda.int64)
    x = cuda.local.array(2, np.int64)
    x_1 = x_0 + 1
    i = cuda.threadIdx.x
    s[i] = i
    cuda.syncthreads()
    if i == 0:
        swap(s, 0, 7)
        swap(a, 0, 1)
        x[0] = x_1
        a[x[0]] += 10
        a[cuda.atomic.add(a, 4, 1)] -= 5
    cuda.syncthreads()
    a[8 + i] = s[i]
    double = x_0
    double *= 2.5
    a[7] = double


TABLE = np.array([[1.5, -2.0], [0.25, 8.0]])
OFFSETS = np.array([3, -1, 2], "int32")


@cuda.jit(device=True)
def extremes(row):
    low = high = row[0]
    for k in range(1, len(row)):
        if row[k] < low:
            low = row[k]
        high = max(high, row[k])
    return low, high


def halves(x):
    if x < 0:
        return 0, 0
    return x / 2, x


@cuda.jit
def tuples(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        table = cuda.const.array_like(TABLE)
        low, out[i, 0] = extremes(x[i])
        out[i, 1] = low
        both = halves(low)
        out[i, 2] = both[0] + halves(i)[1]
        out[i, 3] = table[i % 2, 1] + OFFSETS[i % 3]


def make(scale, shape):
    def twice(v):
        return v * 2

    @cuda.jit
    def loops(out):
        tile = cuda.local.array(shape, np.int32)
        for k in range(shape[0] - 1, -1, -1):
            tile[k, 1] = k
        total = 0
        n = 0
        while True:
            n += 1
            if n % 2 == 0:
                continue
            if n > 9:
                break
            total += n
        step = -2 if n > 0 else 2
        for k in range(6, 0, step):
            total += twice(k)
        for k in range(5, 0):
            total = -1
        out[0], out[1], out[2] = total * scale, k, tile[2, 1]
        pos = cuda.grid(2)
        both = last = pos[1] + pos[0]
        out[3] = both + last + n
    return loops


@cuda.jit(device=True)
def fill(row, value):
    for k in range(row.shape[0]):
        row[k] = value + row.size


@cuda.jit
def rows(a):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i, 1]
        fill(row, i)
        fill(a[i][0], -i)


@cuda.jit
def atomics(f, n):
    i = cuda.grid(1)
    cuda.atomic.add(f, (0, 1), 0.5)
    cuda.atomic.max(n, 0, i)
    cuda.atomic.min(n, 1, -i)
    cuda.atomic.sub(n, 2, 2)
    cuda.atomic.exch(n, 3, 7)
    cuda.atomic.cas(n, 4, 0, 9)
    old = cuda.atomic.add(n, 5, 1)
    if old == 63:
        n[6] = 1


@cuda.jit
def bounds(x, out):
    s = cuda.shared.array(1, cuda.float64)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        s[0] = x[i]
    cuda.syncthreads()
    cuda.atomic.max(s, 0, x[i])
    cuda.syncthreads()
    cuda.atomic.max(out, 0, s[0])
    cuda.atomic.min(out, 1, x[i])


@cuda.jit
def warps(x, out):
    v = x[cuda.threadIdx.x]
    d = 16
    while d:
        v += cuda.shfl_down_sync(cuda.FULL_MASK, v, d)
        d >>= 1
    n = cuda.popc(cuda.ballot_sync(0xffffffff, cuda.laneid < 5))
    if cuda.laneid == 0:
        out[0], out[1], out[2] = v, n, cuda.warpsize


@cuda.jit
def dynamic(x):
    s = cuda.shared.array(0, cuda.float32)
    i = cuda.threadIdx.x
    s[i] = x[i]
    cuda.syncthreads()
    x[i] = s[cuda.blockDim.x - 1 - i]


@cuda.jit
def widen(x, out):
    v = 1
    for i in range(x.size):
        v = v + x[i]
    out[0] = v


@cuda.jit
def cube(a):
    i, j, k = cuda.grid(3)
    if i < a.shape[0] and j < a.shape[1] and k < a.shape[2]:
        a[i, j, k] = 100 * i + 10 * j + k


def language(device):
    a, b = rng.integers(-20, 20, 40), rng.integers(1, 9, 40) * rng.choice([-1, 1], 40)
    ga, gb = on(device, a, b)
    out = ig.zeros((10, 40), dtype="int64", device=device)
    integers[2, 32](ga, gb, out)
    for k, (got, want) in enumerate(zip(np.asarray(out), integers_numpy(a, b))):
        same(f"integers {k}", got, want)
    x, y = rng.standard_normal(40), rng.standard_normal(40)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-4)):
        gx, gy = on(device, x.astype(dtype), y.astype(dtype))
        out = ig.zeros((7, 40), dtype=dtype, device=device)
        floats[2, 32](gx, gy, out)
        for k, (got, want) in enumerate(zip(np.asarray(out), floats_numpy(x.astype(dtype), y.astype(dtype)))):
            if dtype == "float64" or k not in (0, 1):
                same(f"floats {k} {dtype}", got, want.astype(dtype), tolerance)
    out = ig.zeros(4, dtype="int64", device=device)
    make(3, (4, 2))[1, 1](out)
    same("loops", out, np.array([(25 + 24) * 3, 2, 2, 11]))
    a, = on(device, np.arange(16))
    reuse[1, 8](a, 2)
    same("names", a, np.array([1, 0, 2, 13, 0, 5, 6, 5, 7, 1, 2, 3, 4, 5, 6, 0]))
    x = rng.standard_normal((6, 5))
    gx, out = on(device, x, np.zeros((6, 4)))
    tuples[1, 8](gx, out)
    low, i = x.min(1), np.arange(6)
    same("tuples", out, np.stack([x.max(1), low, np.where(low < 0, 0, low / 2) + i, TABLE[i % 2, 1] + OFFSETS[i % 3]], 1))
    r = ig.zeros((5, 2, 3), device=device)
    rows[1, 8](r)
    same("rows", r, np.array([[[3 - i] * 3, [3 + i] * 3] for i in range(5)], "float32"))
    f, n = on(device, np.zeros((1, 2), "float32"), np.zeros(7, "int32"))
    atomics[2, 32](f, n)
    same("atomic add", f, np.array([[0, 32]], "float32"))
    same("atomics", n, np.array([63, -63, -128, 7, 9, 64, 1], "int32"))
    for dtype in ("float32", "float64", "int64", "uint32"):
        x = (rng.standard_normal(64) * 100).astype(dtype) if dtype != "uint32" else rng.integers(0, 99, 64).astype(dtype)
        gx, out = on(device, x, x[:2])
        bounds[2, 32](gx, out)
        same(f"atomic max and min {dtype}", out, np.array([x.max(), x.min()]))
    for dtype in ("float32", "float64"):  # a NaN counts as missing, also the one that is there first
        x = np.full(64, np.nan, dtype)
        x[1], x[40] = 1, 3
        gx, out = on(device, x, np.full(2, np.nan, dtype))
        bounds[2, 32](gx, out)
        same(f"atomic max and min of NaN {dtype}", out, np.array([3, 1], dtype))
    v, = on(device, f32(32))
    want = np.asarray(v)[::-1].copy()
    dynamic[1, 32, 0, 128](v)
    same("dynamic shared memory", v, want)
    h, out = on(device, np.array([0.5, 0.25]), np.zeros(1))
    widen[1, 1](h, out)
    same("widen", out, np.array([1.75]))
    c = ig.zeros((3, 4, 5), dtype="int16", device=device)
    cube[(2, 2, 2), (2, 2, 4)](c)
    i, j, k = np.indices((3, 4, 5))
    same("3-D", c, (100 * i + 10 * j + k).astype("int16"))


def dtypes():
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split():
        x = ig.arange(10).astype(name)
        increment[1, 16](x)
        check(f"dtype {name}", str(x.dtype) == name and x.astype("int64").tolist() == list(range(1, 11)), repr(x))
    x, out = ig.asarray(f32(32)), ig.zeros(3)
    warps[1, 32](x, out)
    same("warps", out, np.array([np.asarray(x).sum(), 5, 32], "float32"), 1e-5)


def hosts():
    a = np.arange(5)
    increment[1, 8](a)
    same("NumPy array", a, np.arange(1, 6))
    wide = np.zeros((4, 6))
    increment_2d[(1, 1), (8, 8)](wide[:, ::2])
    same("NumPy view", wide, np.tile([1.0, 0.0], (4, 3)))
    d = cuda.to_device(a)
    increment[1, 8](d)
    same("to_device", d.copy_to_host(), a + 1)
    cuda.synchronize()
    other = cuda.device_array_like(d)
    add[1, 8](d, d, other)
    same("device_array_like", other.copy_to_host(np.zeros(5, "int64")), 2 * a + 2)
    x = ig.arange(4.0)
    y = x + 1
    increment[1, 4](x)
    same("lazy", x * y, np.array([1, 4, 9, 16], "float32"))
    def traced(x):
        y = ig.zeros(4)
        add[1, 4](x, x, y)
        return y * 2

    same("in jit", ig.jit(traced)(ig.arange(4.0)), 4 * np.arange(4, dtype="float32"))
    same("in vmap", ig.vmap(traced)(ig.ones((3, 4))), np.full((3, 4), 4, "float32"))
    check("compiled once", increment.compiled(a) is increment.compiled(d) and "__global__" in increment.compiled(a).source)


# ---- errors ----

@cuda.jit
def has_list(a):
    a[0] = 1
    b = [1, 2]  # here
    a[1] = b[0]


@cuda.jit
def has_slice(a):
    a[0:2] = 1


@cuda.jit
def has_string(a):
    a[0] = "x"


@cuda.jit
def has_return(a):
    return 1


@cuda.jit
def has_float_index(a):
    a[a.size / 2] = 1


@cuda.jit
def has_try(a):
    try:
        a[0] = 1
    finally:
        a[1] = 2


@cuda.jit
def has_unknown(a):
    a[0] = nothing  # noqa: F821


@cuda.jit
def has_call(a):
    a[0] = sorted(a)


@cuda.jit(device=True)
def again(n):
    return again(n - 1)


@cuda.jit
def has_recursion(a):
    a[0] = again(3)


@cuda.jit(device=True)
def half(n):
    if n > 0:
        return
    return n / 2


@cuda.jit
def has_two_returns(a):
    a[0] = half(a[1])


@cuda.jit
def has_constant(a):
    TABLE[0, 0] = a[0]


@cuda.jit
def has_inner(a):
    def inner(x):
        return x
    a[0] = inner(1)


@cuda.jit
def has_shape(a):
    s = cuda.shared.array(a.shape[0], cuda.float32)
    a[0] = s[0]


def errors():
    for kernel in (has_list, has_slice, has_string, has_return, has_float_index, has_try, has_unknown, has_call, has_recursion,
                   has_shape, has_two_returns, has_inner, has_constant):
        raises(kernel.__name__, cuda.UnsupportedError, lambda: kernel[1, 1](ig.zeros(4)))
    try:
        has_list[1, 1](ig.zeros(4))
    except TypeError as error:
        first = has_list.function.__code__.co_firstlineno
        check("place", str(error).startswith(f"{__file__}:{first + 3}: ") and "b = [1, 2]  # here" in str(error), str(error))
    raises("argument", TypeError, lambda: increment[1, 1]("x"))
    raises("too many", TypeError, lambda: increment[1, 1](ig.zeros(4), 1))
    raises("no launch", TypeError, lambda: increment(ig.zeros(4)))
    raises("on the host", RuntimeError, lambda: cuda.grid(1))
    raises("option", TypeError, lambda: cuda.jit(fast=True))
    raises("same array twice", ValueError, lambda: black_scholes[1, 1](*[ig.zeros(4)] * 5, 1.0, 1.0))


def metal():
    """Kernels of float32 arrays have no doubles, which Apple GPUs lack."""
    command = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(ig.__file__))), "ingot")
    if not os.path.exists(command):
        return
    line, square, small = ig.zeros(8), ig.zeros((4, 4)), np.float32(2)
    cases = [(increment, line), (add, line, line, line), (matmul, square, square, square), (fast_matmul, square, square, square),
             (histogram, line, small, small, ig.zeros(3, dtype="int32")), (laplace, square, square), (floats, line, line, square),
             (black_scholes, line, line, line, line, line, 0.1, 0.2), (warps, line, line), (dynamic, line),
             (mandelbrot, small, small, small, small, ig.zeros((2, 2), dtype="uint8"), 20)]
    with tempfile.TemporaryDirectory() as folder:
        for kernel, *args in cases:
            path = os.path.join(folder, kernel.__name__ + ".cu")
            with open(path, "w") as f:
                f.write(kernel.compiled(*args).source)
            done = subprocess.run([command, "translate", "--to", "metal", path], capture_output=True, text=True)
            check(f"{kernel.__name__} in Metal", done.returncode == 0 and "double" not in done.stdout, done.stderr)


for one in DEVICES:
    for test in (sources, manual, finance, language):
        attempt(f"{test.__name__} on {one}", lambda: test(one))
for test in (mistakes, dtypes, hosts, errors, metal):
    attempt(test.__name__, test)
finish()
