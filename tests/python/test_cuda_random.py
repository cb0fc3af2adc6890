"""Random kernels for cuda.jit compute what Python computes with the same functions, thread by thread."""
import importlib.util
import os
import random
import sys
import tempfile
import types

from against import check, finish, ig, np

KERNELS, THREADS = int(os.environ.get("COUNT", 60)), 24
OTHER = next((d for d in ig.devices() if d.startswith(("cuda", "opencl"))), "cpu")
pick = random.Random(int(os.environ.get("SEED", 1)))


def whole(depth):
    """An expression of integers whose value is small."""
    if depth <= 0:
        return pick.choice(["i", "a[i]", "a[i - 3]", "n", "v0", "v1", "v2", str(pick.randrange(9)), f"-{pick.randrange(1, 9)}", "len(a)"])
    x, y = whole(depth - 1), whole(depth - pick.randrange(1, 3))
    return pick.choice([
        f"({x} + {y})", f"({x} - {y})", f"({x} * {y}) % 1009", f"({x} // ({y} % 7 + 1))", f"({x} % ({y} % 5 - 9))",
        f"({x} // (-({y} % 6) - 2))", f"({x} & {y})", f"({x} | {y})", f"({x} ^ {y})", f"(~{x})", f"(-{x})", f"({x} >> 2)",
        f"({x} << 1)", f"abs({x})", f"min({x}, {y})", f"max({x}, {y}, 3)", f"({x} if {test(depth - 1)} else {y})",
        f"int({real(depth - 1)})", f"math.floor({real(depth - 1)})", f"helper({x}, {y})", f"(({x} % 11) ** 2)",
        f"({test(depth - 1)})", f"round({real(depth - 1)})"])


def real(depth):
    """An expression of floats whose value is small."""
    if depth <= 0:
        return pick.choice(["f[i]", "f[-1]", "g", "w0", "w1", "0.5", "-1.25", "3.0"])
    x, y = real(depth - 1), real(depth - pick.randrange(1, 3))
    return pick.choice([
        f"({x} + {y})", f"({x} - {y})", f"({x} * {y} % 97.0)", f"({x} / (abs({y}) + 1))", f"({x} // (abs({y}) + 0.125))",
        f"({x} % (abs({y}) + 0.5))", f"({x} % -(abs({y}) + 0.3))", f"(-{x})", f"abs({x})", f"min({x}, {y})", f"max({x}, {y})",
        f"float({whole(depth - 1)})", f"({whole(depth - 1)} / 4)", f"({x} if {test(depth - 1)} else {y})",
        f"math.sqrt(abs({x}))", f"({x} + {whole(depth - 1)})"])


def test(depth):
    side = pick.choice([whole, real])
    simple = f"{side(depth)} {pick.choice(['<', '<=', '>', '>=', '==', '!='])} {side(depth)}"
    return pick.choice([simple, f"({simple}) and {whole(0)} < {whole(0)}", f"not ({simple})", f"{whole(0)} <= {whole(0)} < {whole(0)}"])


def block(depth, indent, in_loop=False):
    pad, lines = "    " * indent, []
    for _ in range(pick.randrange(1, 4)):
        kind = pick.randrange(9 if depth else 4)
        v, w = f"v{pick.randrange(3)}", f"w{pick.randrange(2)}"
        if kind == 0:
            lines.append(f"{pad}{v} = ({whole(2)}) % {pick.choice([1009, -1009, 64])}")
        elif kind == 1:
            lines.append(f"{pad}{w} = ({real(2)}) % {pick.choice([97.0, -31.5])}")
        elif kind == 2:
            lines += [f"{pad}{v} {pick.choice(['+=', '-=', '*=', '//=', '%=', '|=', '^='])} {whole(1)} % 13 + 14", f"{pad}{v} %= 4093"]
        elif kind == 3:
            lines.append(f"{pad}v0, v1, w0 = v1, {whole(1)} % 511, {real(1)} % 55.0")
        elif kind in (4, 5):
            lines += [f"{pad}if {test(1)}:", *block(depth - 1, indent + 1, in_loop), f"{pad}else:", *block(depth - 1, indent + 1, in_loop)]
        elif kind in (6, 7):
            step = pick.choice(["1", "2", "-1", f"({v} % 3 + 1)", f"-({v} % 3) - 1"])
            lines += [f"{pad}for k{depth} in range({whole(0)} % 8, {whole(0)} % 8, {step}):", *block(depth - 1, indent + 1, True),
                      f"{pad}    {v} = ({v} + k{depth}) % 257"]
        else:
            lines += [f"{pad}c{depth} = 0", f"{pad}while c{depth} < {pick.randrange(2, 6)}:", f"{pad}    c{depth} += 1",
                      *block(depth - 1, indent + 1, True)]
        if in_loop and pick.random() < 0.2:
            lines.append(f"{pad}if {test(0)}:\n{pad}    {pick.choice(['break', 'continue'])}")
    return lines


def source():
    return "\n".join([
        "import math", "from ingot import cuda", "", "def helper(x, y):", f"    if {pick.choice(['x < y', 'x % 3 == 1', 'y >= 0'])}:",
        "        return x - y", "    return (x + 2 * y) // 3", "", "def kernel(a, f, n, g, out, real):", "    i = cuda.grid(1)",
        "    if i >= a.size:", "        return", "    v0, v1, v2 = 1, a[i], i", "    w0, w1 = f[i], 0.5", *block(3, 1),
        "    out[0, i], out[1, i], out[2, i] = v0, v1, v2", "    real[0, i], real[1, i] = w0, w1", ""])


class Plain(list):
    """A list as kernels see arrays, for Python."""
    size = property(len)

    def __setitem__(self, key, value):
        list.__setitem__(self[key[0]], key[1], value) if isinstance(key, tuple) else list.__setitem__(self, key, value)


def compare(number, folder, device):
    text = source()
    path = os.path.join(folder, f"k{number}.py")
    with open(path, "w") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location(f"k{number}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a = [pick.randrange(-30, 30) for _ in range(THREADS)]
    f = [pick.randrange(-200, 200) / 16 + 1 / 3 for _ in range(THREADS)]
    n, g = pick.randrange(-9, 9), pick.uniform(-5, 5)
    kernel = module.cuda.jit(module.kernel)
    out, real = (ig.zeros((rows, THREADS), dtype=dtype, device=device) for rows, dtype in ((3, "int64"), (2, "float64")))
    kernel[2, 16](ig.asarray(np.array(a), device=device), ig.asarray(np.array(f), device=device), n, g, out, real)
    want, floats = Plain([[0] * THREADS for _ in range(3)]), Plain([[0.0] * THREADS for _ in range(2)])
    for i in range(THREADS):
        module.cuda = types.SimpleNamespace(grid=lambda axes: i)
        module.kernel(Plain(a), Plain(f), n, g, want, floats)
    fine = np.asarray(out).tolist() == [[int(v) for v in row] for row in want]
    fine = fine and np.array_equal(np.asarray(real), np.array(floats), equal_nan=True)
    check(f"kernel {number} on {device}", fine, f"differs:\n{text}\n{np.asarray(out).tolist()}\n{want}\n{np.asarray(real).tolist()}\n{floats}")
    return fine


sys.dont_write_bytecode = True
with tempfile.TemporaryDirectory() as folder:
    for number in range(KERNELS):
        try:
            if not compare(number, folder, OTHER if number % 10 == 0 else "cpu"):
                break
        except (OverflowError, ZeroDivisionError) as error:
            check(f"kernel {number}", False, repr(error))
finish()
