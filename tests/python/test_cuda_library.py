"""What ingot.cuda has besides kernels: cuda.reduce against NumPy, and the generators of cuda.random against the definition of
xoroshiro128+ in plain Python."""
from against import attempt, check, finish, ig, np, raises, rng, same
from ingot import cuda
from ingot.cuda.random import (
    create_xoroshiro128p_states, xoroshiro128p_next, xoroshiro128p_normal_float32, xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32, xoroshiro128p_uniform_float64)

MASK = (1 << 64) - 1


# ---- reductions ----

@cuda.reduce
def total(a, b):
    return a + b


@cuda.reduce
def largest(a, b):
    return max(a, b)


@cuda.Reduce
def last(a, b):
    """Not commutative: shows that the order is kept."""
    return b


@cuda.reduce
def first(a, b):
    return a


def reductions():
    for n in [1, 2, 3, 127, 128, 129, 255, 256, 257, 1000, 8192, 16384, 16385, 100_003]:
        for dtype in ("int32", "int64", "uint8", "float32", "float64"):
            x = rng.integers(0, 50, n).astype(dtype)
            want = x.sum(dtype=dtype)
            got = total(x)
            check(f"sum of {n} {dtype}", got == want or abs(got - want) <= 1e-5 * abs(want), f"{got} {want}")
            check(f"max of {n} {dtype}", largest(x) == x.max())
        y = np.arange(n, dtype="int64")
        check(f"order of {n}", last(y) == n - 1 and first(y) == 0, f"{last(y)} {first(y)}")
        check(f"some of {n}", total(ig.asarray(y), size=n - 1, init=0) == y[:-1].sum())
    x = np.array([-5, -3, -9], "int32")
    check("negative numbers", largest(x) == -3)
    check("an initial value", total(x, init=100) == 83 and largest(x, init=7) == 7)
    check("nothing", total(np.zeros(0, "float32"), init=4) == 4)
    res = np.zeros(2, "int32")
    check("res", total(x, res=res) is None and res.tolist() == [-17, 0])
    ours = ig.zeros(2, dtype="int32")
    total(x, res=ours)
    check("res as an Array", ours.tolist() == [-17, 0])
    check("of an expression", total(ig.arange(10.0) * 2) == 90)
    raises("two axes", ValueError, lambda: total(np.zeros((2, 2))))
    raises("no elements", ValueError, lambda: total(np.zeros(0)))
    raises("too many", ValueError, lambda: total(x, size=9))


# ---- random numbers ----

def reference(state, n):
    """The next n numbers of a state."""
    a, b = state
    out = []
    for _ in range(n):
        out.append((a + b) & MASK)
        b ^= a
        a = ((a << 55 | a >> 9) ^ b ^ (b << 14)) & MASK
        b = (b << 36 | b >> 28) & MASK
    return out, (a, b)


@cuda.jit
def bits(states, out):
    i = cuda.grid(1)
    if i < states.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_next(states, i)


def generators():
    states = create_xoroshiro128p_states(10, seed=3)
    start = np.asarray(states).tolist()
    out = np.zeros((10, 20), "uint64")
    bits[1, 16](states, out)
    want = [reference(s, 20) for s in start]
    same("bits", out, np.array([w[0] for w in want], "uint64"))
    same("states afterwards", states, np.array([w[1] for w in want], "uint64"))
    more = np.asarray(create_xoroshiro128p_states(4, seed=3, subsequence_start=6))
    same("a later start", more, np.array(start[6:], "uint64"))
    check("other seeds", np.asarray(create_xoroshiro128p_states(1, seed=4)).tolist() != start[:1])
    check("all states differ", len({tuple(s) for s in np.asarray(create_xoroshiro128p_states(500, seed=0)).tolist()}) == 500)


def jumps():
    """Two jumps of 2**64 steps are 2**65 steps: the map of one step, squared 64 and 65 times, on all 128 unit states."""
    from ingot import _cuda_random as module

    def combined(columns, state):
        result = 0
        for k in range(128):
            if state >> k & 1:
                result ^= columns[k]
        return result

    columns = [module._step(1 << k) for k in range(128)]
    for _ in range(64):
        columns = [combined(columns, c) for c in columns]
    check("a jump is 2**64 steps", columns == [module._jump(1 << k) for k in range(128)])
    state = 0x0123456789ABCDEF_FEDCBA9876543210
    check("by tables", module._jumped(module._jump_tables(), state) == module._jump(state))


def draw(function, dtype, n=40, threads=512):
    @cuda.jit
    def fill(states, out):
        i = cuda.grid(1)
        if i < states.shape[0]:
            for k in range(out.shape[1]):
                out[i, k] = function(states, i)

    out = np.zeros((threads, n), dtype)
    fill.forall(threads)(create_xoroshiro128p_states(threads, seed=11), out)
    return out


def distributions():
    for function, dtype in ((xoroshiro128p_uniform_float32, "float32"), (xoroshiro128p_uniform_float64, "float64")):
        x = draw(function, dtype)
        check(f"uniform {dtype}", x.min() >= 0 and x.max() < 1 and abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.005)
    for function, dtype in ((xoroshiro128p_normal_float32, "float32"), (xoroshiro128p_normal_float64, "float64")):
        x = draw(function, dtype)
        check(f"normal {dtype}", abs(x.mean()) < 0.03 and abs(x.std() - 1) < 0.03 and np.isfinite(x).all())
    start = np.asarray(create_xoroshiro128p_states(512, seed=11)).tolist()
    want = np.array([[(w >> 11) * 2.0 ** -53 for w in reference(s, 40)[0]] for s in start])
    same("uniform float64 is the definition", draw(xoroshiro128p_uniform_float64, "float64"), want)
    narrow = np.array([[np.float32(w >> 40) * np.float32(2.0 ** -24) for w in reference(s, 40)[0]] for s in start], "float32")
    same("uniform float32 is the definition", draw(xoroshiro128p_uniform_float32, "float32"), narrow)


def numba_example():
    """The example of Numba's documentation: pi by random points."""
    @cuda.jit
    def compute_pi(rng_states, iterations, out):
        thread_id = cuda.grid(1)
        inside = 0
        for i in range(iterations):
            x = xoroshiro128p_uniform_float32(rng_states, thread_id)
            y = xoroshiro128p_uniform_float32(rng_states, thread_id)
            if x**2 + y**2 <= 1.0:
                inside += 1
        out[thread_id] = 4.0 * inside / iterations

    states = create_xoroshiro128p_states(64 * 8, seed=1)
    out = np.zeros(64 * 8, dtype=np.float32)
    compute_pi[8, 64](states, 200, out)
    check("pi", abs(out.mean() - np.pi) < 0.02, str(out.mean()))


for test in (reductions, generators, jumps, distributions, numba_example):
    attempt(test.__name__, test)
finish()
