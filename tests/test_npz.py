"""npz archives against NumPy and zlib: what they write is read, what Ingot writes NumPy reads, and
damaged archives are refused.

BUILD names the build, whose tests/unit/tensors_tool loads and saves. Ends with "N passed, N failed".
"""
import io
import os
import random
import struct
import subprocess
import tempfile
import zipfile
import zlib

import numpy as np

from support.tally import attempt, check, finish

TOOL = os.path.join(os.environ.get("BUILD", "build"), "tests/unit/tensors_tool")
FOLDER = tempfile.TemporaryDirectory(prefix="ingot-npz-")
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


def path(name):
    return os.path.join(FOLDER.name, name)


def run(*words, **options):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, **options)


def refusals(contents):
    """What Ingot says of each content: "ok" or the error's text."""
    names = []
    for i, content in enumerate(contents):
        names.append(path(f"case{i}"))
        with open(names[-1], "wb") as file:
            file.write(content)
    lines = []
    for first in range(0, len(names), 500):
        ran = run("check", *names[first:first + 500])
        check("check ends well", ran.returncode == 0, ran.stderr)
        lines += ran.stdout.splitlines()
    for name in names:
        os.remove(name)
    return lines


def values(dtype, shape, seed=0):
    """Any bits of the dtype."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng([count, dtype.itemsize, seed])
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    return rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype).reshape(shape)


def same(arrays, file):
    """The file has these arrays, in this order, to the last bit."""
    with np.load(file, allow_pickle=False) as loaded:
        return loaded.files == list(arrays) and all(
            loaded[name].dtype == x.dtype and loaded[name].shape == x.shape
            and loaded[name].tobytes() == np.ascontiguousarray(x).tobytes()
            for name, x in arrays.items())


def through(name, arrays, save=np.savez):
    save(path("in.npz"), **arrays)
    ran = run("copy", path("in.npz"), path("out.npz"))
    check(name, ran.returncode == 0 and same(arrays, path("out.npz")), ran.stdout + ran.stderr)
    with zipfile.ZipFile(path("out.npz")) as archive:
        check(name + ": checksums", archive.testzip() is None)


def test_round_trips():
    everything = {dtype: values(dtype, (3, 5)) for dtype in DTYPES}
    for save in (np.savez, np.savez_compressed):
        kind = save.__name__
        through(f"{kind}, every dtype", everything, save)
        through(f"{kind}, no arrays", {}, save)
        through(f"{kind}, shapes", {"s": values("f4", ()), "e": values("i2", (0, 3)),
                                    "d": values("u1", (2, 1, 3, 1))}, save)
        through(f"{kind}, Fortran order", {"f": np.asfortranarray(values("f8", (4, 7)))}, save)
        through(f"{kind}, names", {"größe": values("f4", 3), "a/b.c": values("f4", 2)}, save)
        through(f"{kind}, many", {f"x{i}": values("i4", i % 5, i) for i in range(700)}, save)
        through(f"{kind}, large", {"z": np.zeros(1 << 20), "r": values("u1", 1 << 20)}, save)


def test_same_bytes_as_before():
    """Saving the same arrays again gives the same bytes."""
    np.savez(path("in.npz"), a=values("f4", 9), b=values("i8", 2))
    contents = []
    for name in ("one.npz", "two.npz"):
        run("copy", path("in.npz"), path(name))
        with open(path(name), "rb") as file:
            contents.append(file.read())
    check("deterministic", contents[0] == contents[1])
    run("copy", path("one.npz"), path("three.npz"))
    with open(path("three.npz"), "rb") as file:
        check("its own archives round-trip byte for byte", file.read() == contents[0])


def test_pipe():
    arrays = {"a": values("f4", (50, 60)), "b": np.arange(7)}
    np.savez_compressed(path("in.npz"), **arrays)
    with open(path("in.npz"), "rb") as file:
        ran = subprocess.run([TOOL, "copy", "/dev/stdin", path("out.npz")], input=file.read(),
                             capture_output=True)
    check("from a pipe", ran.returncode == 0 and same(arrays, path("out.npz")), ran.stdout)


def member(x):
    out = io.BytesIO()
    np.lib.format.write_array(out, x)
    return out.getvalue()


def archive(raw, content, method=8, name=b"a.npy", flags=0, size=None, crc=None, comment=b""):
    """A zip file of one member: raw is in the file, content is what it stands for."""
    crc = zlib.crc32(content) if crc is None else crc
    size = len(content) if size is None else size
    common = struct.pack("<HHHHHIII", 20, flags, method, 0, 33, crc, len(raw), size)
    local = b"PK\3\4" + common + struct.pack("<HH", len(name), 0) + name
    entry = (b"PK\1\2" + struct.pack("<H", 20) + common
             + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name)
    at = len(local) + len(raw)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), at, len(comment)) + comment
    return local + raw + entry + end


def deflated(content, level=9, strategy=zlib.Z_DEFAULT_STRATEGY, pieces=1):
    c = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    out, step = b"", -(-len(content) // pieces)
    for i in range(0, len(content), step):
        out += c.compress(content[i:i + step]) + c.flush(zlib.Z_FULL_FLUSH)
    return out + c.flush()


def test_inflate_against_zlib():
    """Every kind of block and content that zlib makes of random, regular and mixed bytes."""
    rng = random.Random(5)
    contents = [values("u1", 3000), np.zeros(100000, "u1"), np.arange(20000, dtype="<i4"),
                np.frombuffer(bytes(rng.choice(b"abcd") for _ in range(50000)), "u1"),
                np.repeat(values("u1", 500), 7), np.tile(values("u1", 33000), 3)]
    cases, wanted = [], []
    for x in contents:
        content = member(x)
        for level in (0, 1, 6, 9):
            for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_FIXED, zlib.Z_RLE,
                             zlib.Z_FILTERED):
                cases.append(archive(deflated(content, level, strategy, rng.choice([1, 3, 20])),
                                     content))
                wanted.append(x)
    for i, (case, x) in enumerate(zip(cases, wanted)):
        with open(path("in.npz"), "wb") as file:
            file.write(case)
        ran = run("copy", path("in.npz"), path("out.npz"))
        check(f"deflate stream {i}", ran.returncode == 0 and same({"a": x}, path("out.npz")),
              ran.stdout)


def test_accepted():
    content = member(values("f4", 6))
    cases = [archive(content, content, 0), archive(content, content, 0, comment=b"PK\5\6" * 9),
             archive(content, content, 0, comment=b"c" * 65535)]
    for force in (False, True):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z, z.open("b.npy", "w", force_zip64=force) as f:
            f.write(content)
        cases.append(out.getvalue())
    check("variants of the format", refusals(cases) == ["ok"] * len(cases))


def test_refused():
    content = member(values("f4", 6))
    packed = deflated(content)
    good = archive(packed, content)
    entry = good.index(b"PK\1\2")
    cases = [
        (archive(content, content, 0, name=b"a.txt"), "not an array"),
        (archive(content, content, 0, name=b"a.npy", flags=1), "encrypted"),
        (archive(content, content, 12), "method 12"),
        (archive(packed, content, crc=1), "checksum"),
        (archive(packed, content, size=10**6), "cannot be in"),
        (archive(packed, content, size=len(content) + 1), "decompressed"),
        (archive(packed[:-3], content), "decompressed"),
        (archive(content, content, 0, size=len(content) - 1), "cannot be in"),
        (archive(b"junk", b"junk", 0), "not an npy file"),
        (archive(content + b"!", content + b"!", 0), "unexpected bytes follow"),
        (archive(content, content, 0, name=b"\xff.npy"), "UTF-8"),
        (archive(content, content, 0, name=b"a\0b.npy"), "UTF-8"),
        (good[:-1], "no end record"),
        (b"PK\3\4\x14" + b"\0" * 40, "no end record"),
        (good + b"junk", "no end record"),
        (good[:-14] + struct.pack("<HH", 1, 2) + good[-10:], "several files"),
        (good[:-18] + struct.pack("<HH", 1, 0) + good[-14:], "several files"),
        (good[:-18] + struct.pack("<HH", 0, 1) + good[-14:], "several files"),
        (good[:entry + 34] + b"\1\0" + good[entry + 36:], "several files"),
    ]
    two = io.BytesIO()
    with zipfile.ZipFile(two, "w") as z:
        z.writestr("a.npy", content)
        z.writestr("b.npy", content)
    cases.append((two.getvalue().replace(b"b.npy", b"a.npy"), "two arrays named 'a'"))
    objects = io.BytesIO()
    np.savez(objects, a=np.array([{}], object))
    cases.append((objects.getvalue(), "Python objects"))
    for i, ((case, part), line) in enumerate(zip(cases, refusals([c for c, _ in cases]))):
        check(f"refused {i}: {part}", part in line and line != "ok", line)


def test_damage():
    """Every cut and many flips: refused, or the same arrays; a flip may hit a byte without a meaning,
    such as a date."""
    arrays = {"a": values("f4", (4, 5)), "b": np.arange(50)}
    for save in (np.savez, np.savez_compressed):
        save(path("in.npz"), **arrays)
        with open(path("in.npz"), "rb") as file:
            good = file.read()
        lines = refusals([good[:n] for n in range(len(good))])
        check(f"{save.__name__}: every cut is refused",
              len(lines) == len(good) and "ok" not in lines)
        rng, cases = random.Random(1), []
        for _ in range(1500):
            case = bytearray(good)
            case[rng.randrange(len(case))] ^= 1 << rng.randrange(8)
            cases.append(bytes(case))
        lines = refusals(cases)
        check(f"{save.__name__}: flips are told", len(lines) == len(cases))
        for case, line in zip(cases, lines):
            if line != "ok":
                continue
            with open(path("in.npz"), "wb") as file:
                file.write(case)
            run("copy", path("in.npz"), path("out.npz"))
            with np.load(path("out.npz")) as loaded:
                check("a flip that is accepted",
                      all(any(np.array_equal(loaded[n], x) for x in arrays.values())
                          for n in loaded.files) and len(loaded.files) == 2)


def test_save_refused():
    with open(path("in"), "wb") as file:
        header = b'{"__metadata__":{"k":"v"}}      '
        file.write(struct.pack("<Q", len(header)) + header)
    ran = run("copy", path("in"), path("out.npz"))
    check("texts", ran.returncode == 1 and "hold no texts" in ran.stdout, ran.stdout)


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            attempt(name, test)
    finish()


if __name__ == "__main__":
    main()
