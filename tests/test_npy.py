"""ig_load and ig_save against NumPy, through ingot eval: what NumPy writes is read, and what Ingot
writes is, byte for byte, what NumPy would have written.

INGOT names the command. Ends with "N passed, N failed".
"""
import os
import subprocess
import tempfile
import threading

import numpy as np

from support.tally import attempt, check, finish

INGOT = os.environ.get("INGOT", "build/ingot")
FOLDER = tempfile.TemporaryDirectory(prefix="ingot-npy-")
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


def path(name):
    return os.path.join(FOLDER.name, name)


def ingot(*arguments, **options):
    return subprocess.run([INGOT, "eval", *arguments], capture_output=True, **options)


def values(dtype, shape):
    """Any bits of the dtype, NaN, infinities and limits among them."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng([count, dtype.itemsize, ord(dtype.kind)])
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    bits = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    special = [0, -0.0, np.inf, -np.inf, np.nan] if dtype.kind == "f" else [0, 1]
    if dtype.kind in "iu":
        special += [np.iinfo(dtype).min, np.iinfo(dtype).max]
    x = bits.view(dtype)
    n = min(count, len(special))
    x[:n] = np.array(special[:n], dtype)
    return x.reshape(shape)


def same(a, b):
    """Equal to the last bit, NaN included."""
    return (a.dtype == b.dtype and a.shape == b.shape
            and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes())


def native(x):
    return np.ascontiguousarray(x.astype(x.dtype.newbyteorder("="))).reshape(x.shape)


def through(name, x, index="", version=None):
    """NumPy writes x, Ingot loads and writes it (an index of it), NumPy reads that."""
    source, result, expected = path("in.npy"), path("out.npy"), path("expected.npy")
    with open(source, "wb") as file:
        np.lib.format.write_array(file, x, version=version, allow_pickle=False)
    if os.path.exists(result):
        os.remove(result)
    ran = ingot(f'load("{source}"){index}', "-o", result)
    if ran.returncode != 0:
        return check(name, False, ran.stderr.decode(errors="replace"))
    y = np.load(result, allow_pickle=False)
    want = native(eval("x" + index))  # the index is ours
    check(name, same(y, want), f"{y.dtype}{y.shape} for {want.dtype}{want.shape}")
    np.save(expected, want)
    with open(result, "rb") as ours, open(expected, "rb") as theirs:
        check(name + ", byte for byte", ours.read() == theirs.read())


def test_dtypes_and_orders():
    for dtype in DTYPES:
        x = values(dtype, (3, 5))
        through(f"{dtype} C order", x)
        through(f"{dtype} Fortran order", np.asfortranarray(x))
        through(f"{dtype} 0-d", values(dtype, ()))
        if np.dtype(dtype).itemsize > 1:
            big = np.dtype(dtype).newbyteorder(">")
            through(f"{dtype} big-endian", x.astype(big))
            through(f"{dtype} big-endian Fortran order", np.asfortranarray(x.astype(big)))


def test_shapes():
    shapes = [(1,), (0,), (7,), (0, 3), (3, 0), (1, 1), (2, 3, 4), (4, 0, 2), (2, 1, 3, 1, 2),
              (2,) * 8, (1,) * 15 + (3,), (12345, 3)]
    for shape in shapes:
        x = values("float32", shape)
        through(f"shape {shape}", x)
        through(f"shape {shape} Fortran order", np.asfortranarray(x))


def test_views():
    x = values("int32", (6, 8))
    for index in ["[::2]", "[:, ::-1]", "[::-2, 1:7:3]", "[1:1]", "[2]", "[2, 3]", "[None]", ".T"]:
        through(f"x{index}", x, index)
        through(f"x{index} of Fortran order", np.asfortranarray(x), index)
    through("NumPy writes a strided view", x[::2, ::-3])
    through("NumPy writes a broadcast view", np.broadcast_to(x[0], (3, 8)))


def test_versions():
    for version in [(1, 0), (2, 0), (3, 0)]:
        through(f"version {version}", values("uint16", (4, 2)), version=version)


def test_bf16():
    """NumPy sees bf16 as V2; ml_dtypes, which adds it, writes '<V2'."""
    top = np.array([1.0, -2.5, np.inf, np.nan, 0.0, -0.0], "<f4").view("<u2")[1::2].copy()
    np.save(path("in.npy"), top.view("V2"))
    ran = ingot(f'load("{path("in.npy")}")', "-o", path("out.npy"))
    check("bf16 runs", ran.returncode == 0, ran.stderr.decode(errors="replace"))
    if ran.returncode == 0:
        y = np.load(path("out.npy"))
        check("bf16 is V2", y.dtype == np.dtype("V2") and y.tobytes() == top.tobytes())
    ran = ingot(f'astype(load("{path("in.npy")}"), f32)', "-o", path("out.npy"))
    if ran.returncode == 0:
        want = np.array([1.0, -2.5, np.inf, np.nan, 0.0, -0.0], "f4")
        check("bf16 to f32", np.array_equal(np.load(path("out.npy")), want, equal_nan=True))
    else:
        check("bf16 to f32", False, ran.stderr.decode(errors="replace"))


def test_values_are_used():
    """The elements mean what they mean, not only survive."""
    x = np.asfortranarray(np.arange(12, dtype=">f8").reshape(3, 4))
    np.save(path("in.npy"), x)
    ran = ingot(f'sum(load("{path("in.npy")}") * 2, axis=0)', "-o", path("out.npy"))
    check("sum of a big-endian Fortran array",
          ran.returncode == 0 and same(np.load(path("out.npy")), native((x * 2).sum(axis=0))))
    x = np.array([2, 0, 255], np.uint8).view(bool)
    np.save(path("in.npy"), x)
    ran = ingot(f'sum(astype(load("{path("in.npy")}"), i64))', "-o", path("out.npy"))
    check("bools of any byte", ran.returncode == 0 and np.load(path("out.npy")) == 2)


def test_pipes():
    x = values("float64", (300, 100))
    np.save(path("in.npy"), x)
    with open(path("in.npy"), "rb") as file:
        content = file.read()
    ran = ingot('load("/dev/stdin")', "-o", path("out.npy"), input=content)
    check("from standard input", ran.returncode == 0 and same(np.load(path("out.npy")), x),
          ran.stderr.decode(errors="replace"))

    fifo = path("fifo")
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(open(fifo, "rb").read()), daemon=True)
    reader.start()
    ran = ingot(f'load("{path("in.npy")}")', "-o", fifo)
    reader.join(10)
    check("into a FIFO", ran.returncode == 0 and got == [content],
          ran.stderr.decode(errors="replace"))
    os.remove(fifo)


def test_errors():
    """One line that names the file and says what to do; what was there stays."""
    cases = [
        (np.zeros(2, [("a", "<f4"), ("b", "<i4")]), "structured"),
        (np.array(["text"]), "text"),
        (np.array(["2020-01-01"], "M8[D]"), "dates"),
        (np.array([{}], object), "objects"),
        (np.zeros(2, "V8"), "raw records"),
    ]
    for x, part in cases:
        np.save(path("in.npy"), x)
        with open(path("out.npy"), "wb") as file:
            file.write(b"old")
        ran = ingot(f'load("{path("in.npy")}")', "-o", path("out.npy"))
        text = ran.stderr.decode()
        check(f"{x.dtype} is refused", ran.returncode not in (0, 2) and ran.returncode > 0
              and part in text and "in.npy" in text, text)
        with open(path("out.npy"), "rb") as file:
            check(f"{x.dtype}: the old file stays", file.read() == b"old")

    np.save(path("in.npy"), np.arange(10))
    os.truncate(path("in.npy"), 200)
    text = ingot(f'load("{path("in.npy")}")').stderr.decode()
    check("a file cut short", "80 bytes of i64 data are expected, 72 found" in text, text)
    np.savez(path("in.npz"), a=np.arange(3))
    os.rename(path("in.npz"), path("zip.npy"))
    text = ingot(f'load("{path("zip.npy")}")').stderr.decode()
    check("an npz file under another name", "zip archive" in text, text)
    ran = ingot("ones([2])", "-o", path("no/such/x.npy"))
    check("a folder that is not there", ran.returncode > 0 and b"No such file" in ran.stderr,
          ran.stderr.decode())
    if os.path.exists("/dev/full"):
        ran = ingot("ones([2])", "-o", "/dev/full")
        check("a full disk", ran.returncode > 0 and b"No space left" in ran.stderr,
              ran.stderr.decode())
    left = [name for name in os.listdir(FOLDER.name) if ".tmp-" in name]
    check("no temporary file is left", not left, str(left))


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            attempt(name, test)
    finish()


if __name__ == "__main__":
    main()
