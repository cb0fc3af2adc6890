"""Forms that kernels of Python functions may have: frexp, slices, loops over tuples and arrays; prints; what the host has."""
import contextlib
import math
import os
import subprocess
import sys
import tempfile

from against import attempt, check, finish, ig, np, raises, same, says
from ingot import cuda

DEVICES = list({d.partition(":")[0]: d for d in reversed(ig.devices()) if not d.startswith("metal")}.values())


@cuda.jit
def parts(x, m, e):
    i = cuda.grid(1)
    if i < x.size:
        m[i], e[i] = math.frexp(x[i])


@cuda.jit(device=True)
def total(part):
    s = 0.0
    for v in part:
        s += v
    return s


@cuda.jit
def slices(x, y, n):
    a = n
    v = x[a:-1]
    a = 0
    y[0] = v.size
    y[1] = total(v)
    y[2] = total(x[:n])
    y[3] = total(x[-3:])
    y[4] = len(x[5:2])
    y[5] = total(x[1:100][1:3])
    y[6] = v[-1]
    while len(x[a:]) > 4:
        a += 1
    y[7] = a
    last = y[8:]
    last[1] = 9
    s = cuda.shared.array(6, cuda.float32)
    half = s[3:]
    half[0] = 5
    y[8] = s[3]


@cuda.jit
def planes(x, y):
    middle = x[1:3]
    y[0] = middle.shape[0]
    y[1] = middle[1, 2]
    k = 2
    for row in middle:
        y[k] = total(row[1:])
        k += 1


@cuda.jit
def past(x, y):
    y[0] = x[1:3][2]


@cuda.jit
def loops(x, y):
    for i, v in enumerate((2, 0.5, x[0])):
        y[i] = v
    for a, (b, c) in zip((10, 20), ((1, 2), (3, 4), (5, 6))):
        if a == 20:
            y[3] = a + b * c
            break
    s = 0.0
    for w in (1, 2, 3, 4):
        if w == 2:
            continue
        s += w
    y[4] = s
    s = 0.0
    for k, (p, q) in enumerate(zip(x, x[1:]), 1):
        s += k * p * q
    y[5] = s
    for w in (7, 8)[1:]:
        y[6] = w


@cuda.jit
def bad_step(x, y):
    y[0] = x[::2][0]


@cuda.jit
def bad_axis(x, y):
    y[0] = x[0, 1:2][0]


@cuda.jit
def bad_place(x, y):
    y[0] = x[1:][0] if x.size > 1 else 0


@cuda.jit
def bad_loop(x, y):
    for v in (x, y):
        v[0] = 1


def forms(device):
    for dtype in ("float32", "float64"):
        x = np.array([0.0, -0.0, 1.0, -3.7, 1e-40, 1e30, np.inf, -np.inf, np.nan], dtype)
        m, e = ig.zeros(x.size, dtype=dtype, device=device), ig.zeros(x.size, dtype="int32", device=device)
        parts[1, 16](ig.asarray(x, device=device), m, e)
        normal = slice(0, None) if dtype == "float64" or device == "cpu" else [0, 1, 2, 3, 5, 6, 7, 8]  # GPUs flush subnormals
        same(f"mantissa {dtype}", m.numpy()[normal], np.frexp(x)[0][normal])
        same(f"exponent {dtype}", e.numpy()[normal], np.where(np.isfinite(x), np.frexp(x)[1], 0)[normal].astype("int32"))
    line = np.arange(8, dtype="float32")
    y = ig.zeros(10, device=device)
    slices[1, 1](ig.asarray(line, device=device), y, 2)
    same("slices", y, np.float32([5, 20, 1, 18, 0, 5, 6, 4, 5, 9]))
    y, cube = ig.zeros(4, device=device), np.arange(12, dtype="float32").reshape(4, 3)
    planes[1, 1](ig.asarray(cube, device=device), y)
    same("planes", y, np.float32([2, cube[2, 2], cube[1, 1:].sum(), cube[2, 1:].sum()]))
    if not device.startswith("cuda"):  # CUDA refuses all further work after a failed assertion
        past[1, 1](ig.asarray(line, device=device), y)
        raises("past a slice", IndexError, y.numpy)
    y = ig.zeros(7, device=device)
    loops[1, 1](ig.asarray(line[1:5], device=device), y)
    want = sum(k * p * q for k, (p, q) in enumerate(zip(line[1:5], line[2:5]), 1))
    same("loops", y, np.float32([2, 0.5, 1, 32, 8, want, 8]))


def refused():
    x, y = ig.ones(4), ig.ones(4)
    for kernel, word in ((bad_step, "step"), (bad_place, "variable"), (bad_loop, "tuples of numbers")):
        says(kernel.__name__, cuda.UnsupportedError, [word], lambda: kernel[1, 1](x, y))
    says("bad_axis", cuda.UnsupportedError, ["first axis"], lambda: bad_axis[1, 1](ig.ones((2, 2)), y))


@cuda.jit
def tell(x, k):
    i = cuda.grid(1)
    if i < x.size:
        print("item", i, x[i] * k)


@cuda.jit
def hello():
    print("hello", cuda.threadIdx.x)


@cuda.jit
def fill(x, v):
    i = cuda.grid(1)
    x[i] = v


def host():
    """Events, streams and host arrays. Launches are lazy; record and synchronize run them."""
    x = ig.zeros(4)
    start, end = cuda.event(), cuda.event(timing=True)
    raises("before record", ValueError, lambda: start.elapsed_time(end))
    stream = cuda.stream()
    start.record(stream)
    fill[1, 4, stream](x, 3)
    check("lazy", not x.is_evaluated)
    end.record()
    end.synchronize()
    check("record runs launches", x.is_evaluated and end.query())
    check("elapsed", start.elapsed_time(end) > 0 and cuda.event_elapsed_time(start, end) == start.elapsed_time(end))
    fill[1, 4](x, 4)
    cuda.synchronize()
    check("synchronize runs launches", x.is_evaluated)
    fill[1, 4](x, 5)
    with stream.auto_synchronize():
        pass
    check("stream", x.is_evaluated)
    fill[1, 5](x, 5)
    raises("errors appear", IndexError, cuda.synchronize)
    del x
    cuda.synchronize()
    a = cuda.pinned_array(4, dtype=np.float32)
    fill[1, 4](a, 2)
    same("pinned", a, np.full(4, 2, "float32"))
    same("mapped", cuda.mapped_array((2, 3)), np.zeros((2, 3)))
    with cuda.pinned(a), cuda.mapped(a) as d:
        fill[1, 4](d, 7)
    same("mapped back", a, np.full(4, 7, "float32"))


def printing():
    """Kernels that write to no array run at each launch. Prints come from C, so a process of its own collects them."""
    text = subprocess.run([sys.executable, __file__, "print"], capture_output=True, text=True, check=True).stdout
    check("print", text == "item 0 0\nitem 1 3\n" * 3 + "hello 0\nhello 1\nhello 0\n", text)


COMMAND = """import ingot as ig
from ingot import cuda
scale = 3

@cuda.jit(device=True)
def times(v):
    return v * scale
@cuda.jit
def f(x):
    x[cuda.grid(1)] = times(2)  # here
x = ig.zeros(2)
f[1, 2](x)
print(x)
try:
    f[1, 3](x)
    x.numpy()
except IndexError as error:
    print("<string>:10" in str(error))
"""
PROMPT = """from ingot import cuda
def f(x):
    x[0] = 1

try:
    cuda.jit(f)[1, 1](__import__("ingot").zeros(1))
    print("ran")
except cuda.UnsupportedError as error:
    print(error)

"""


def python(*arguments, **options):
    path = os.path.dirname(os.path.dirname(ig.__file__))
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path},
                          **options)


def typed(*lines):
    """What Python prints when these lines are typed at its prompt."""
    import pty
    child, terminal = pty.fork()
    if child == 0:
        os.environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(ig.__file__))
        os.execv(sys.executable, [sys.executable, "-q"])
    os.write(terminal, "\n".join([*lines, "exit()", ""]).encode())
    text = b""
    with contextlib.suppress(OSError):  # the end, on Linux
        while part := os.read(terminal, 4096):
            text += part
    os.waitpid(child, 0)
    os.close(terminal)
    return text.decode()


@cuda.jit
def conjugates(z, w, sizes):
    i = cuda.grid(1)
    if i < z.size:
        product = z[i] * z[i].conjugate()
        w[i] = product + 1j
        w[i] += np.conj(z[i])
        sizes[i] = abs(z[i])
        if z[i] == 2:
            w[i] = 7


@cuda.jit
def mirrored(z, w):
    part = cuda.shared.array(4, np.complex64)
    t = cuda.threadIdx.x
    part[t] = z[t]
    cuda.syncthreads()
    w[t] = part[3 - t] / (1 + 1j)


def complex_arrays():
    for dtype, real in (("c8", "f4"), ("c16", "f8")):
        z = np.array([1 + 2j, 2, 0.5j, -1 - 1j]).astype(dtype)
        want = z * z.conj() + 1j + z.conj()
        want[1] = 7
        for make in (np.asarray, ig.asarray):
            w, sizes = make(np.zeros(4, dtype)), make(np.zeros(4, real))
            conjugates[1, 8](make(z), w, sizes)
            same(f"{dtype} of {make}", w, want, 1e-6)
            same("absolute values", sizes, np.abs(z), 1e-6)
    z, w = np.array([1 + 2j, 2, 3j, -1], "c8"), np.zeros(4, "c8")
    mirrored[1, 4](z, w)
    same("shared", w, z[::-1] / np.complex64(1 + 1j), 1e-6)
    says("a complex number as a real one", TypeError, ["z.real"], lambda: cuda.jit("def f(x, z): x[0] = z[0]")[1, 1](ig.zeros(2), z))
    says("order", TypeError, ["parts"], lambda: cuda.jit("def f(x, z): x[0] = z[0] < 1")[1, 1](ig.zeros(2), z))


@cuda.jit
def bodies(r, other):
    i = cuda.grid(1)
    if i < r.size:
        r[i]["n"] = r[i].x * 2
        r[i].n += 1
        body = r[i]
        body.z = body.x + 1j
        other[r.size - 1 - i] = r[i]


def records():
    dtype = np.dtype([("x", "f4"), ("n", "i4"), ("z", "c8")])
    r, other = np.zeros(3, dtype), np.zeros(3, dtype)
    r["x"] = [1, 2, 3]
    bodies[1, 8](r, other)
    check("fields", r["n"].tolist() == [3, 5, 7] and r["z"].tolist() == [1 + 1j, 2 + 1j, 3 + 1j], str(r))
    check("whole structures", other.tolist() == r[::-1].tolist(), str(other))
    says("another layout", TypeError, ["align=True"], lambda: bodies[1, 1](np.zeros(2, [("a", "i1"), ("b", "f4")]), other))
    says("a field", TypeError, ["no field y"], lambda: cuda.jit("def f(r): r[0].y = 1")[1, 1](r))
    says("a structure", IndexError, ["r[9]"], lambda: cuda.jit("def f(r): r[9].x = 1")[1, 1](r))


def grids():
    """grid.sync() with one block and with several, which run at the same time on the CPU only."""
    wait = cuda.jit("""def wait(x, y):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        x[i] = i
        grid.sync()
        y[i] = x[x.size - 1 - i]""")
    x, y = ig.zeros(64), ig.zeros(64)
    wait[1, 64](x, y)
    same("grid.sync", y, np.arange(64, dtype="f4")[::-1])
    with ig.device("cpu"):
        x, y = ig.zeros(96), ig.zeros(96)
        wait[3, 32](x, y)
        same("grid.sync of several blocks", y, np.arange(96, dtype="f4")[::-1])
        checked = cuda.jit(wait.function, check="all")
        says("several blocks with check", TypeError, ["one block"], lambda: checked[3, 32](x, y))
    for device in ig.devices()[1:]:
        x, y = ig.zeros(64, device=device), ig.zeros(64, device=device)
        wait[1, 64](x, y)
        same(f"grid.sync on {device}", y, np.arange(64, dtype="f4")[::-1])
        says(f"several blocks on {device}", TypeError, ["one block"], lambda: wait[2, 32](x, y))


def sources():
    """Functions of python -c, of the prompt, and given as text."""
    for words in (["-c"], ["-W", "ignore", "-Bc"]):
        done = python(*words, COMMAND, "-c", "x")
        check(f"python {words}", done.stdout == "[6. 6.]\nTrue\n", done.stdout + done.stderr)
    with tempfile.TemporaryFile("w+") as file:
        file.write(COMMAND)
        file.seek(0)
        done = python("-", stdin=file)
        check("a program on standard input", done.stdout.startswith("[6. 6.]\n"), done.stdout + done.stderr)
    check("the prompt", "[0. 1.]" in typed("from ingot import cuda", "import ingot as ig", "@cuda.jit", "def f(x):", "    i = cuda.grid(1)",
                                           "    x[i] = i", "", "x = ig.zeros(2)", "f[1, 2](x)", "print(x)"))
    done = python("-", input=PROMPT)
    check("no source", "kernel f" in done.stdout and "cuda.jit(" in done.stdout or done.stdout == "ran\n", done.stdout + done.stderr)
    x = ig.zeros(2)
    text = """
        def weight(v):
            return v + FACTOR

        def f(x):
            i = cuda.grid(1)
            x[i] = weight(i)
    """
    cuda.jit(text)[1, 2](x)
    same("text", x, np.float32([7, 8]))
    cuda.jit("def one(x): x[0] = 1", check=False)[1, 1](x)
    same("line", x, np.float32([1, 8]))
    says("past", IndexError, ["<kernel", "x[2]"], lambda: (cuda.jit("def one(x):\n  x[2] = 1")[1, 1](x), x.numpy()))
    raises("no function", ValueError, lambda: cuda.jit("name = 'def '"))
    raises("syntax", SyntaxError, lambda: cuda.jit("def f(x)"))


FACTOR = 7
if sys.argv[1:] == ["print"]:
    for values in (ig.arange(2), ig.arange(2), np.arange(2)):
        tell[1, 4](values, 3)
    hello[1, 2]()
    cuda.jit(check="all")(hello.function)[1, 1]()
    sys.exit()
for one in DEVICES:
    attempt(f"forms on {one}", lambda: forms(one))
for test in (refused, host, printing, complex_arrays, records, grids, sources):
    attempt(test.__name__, test)
finish()
