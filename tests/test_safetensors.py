"""ig_tensors against the format's own Python package, safetensors: what it writes is read, and
written again byte for byte; what Ingot writes it reads; and what it refuses, Ingot refuses.

BUILD names the build, whose tests/unit/tensors_tool loads and saves. Without the package all is
skipped. Ends with "N passed, N failed, N skipped".
"""
import json
import os
import random
import struct
import subprocess
import tempfile

import numpy as np

from support.tally import attempt, check, finish, skip

try:
    import safetensors
    import safetensors.numpy as st
except ImportError:
    skip("all", "the Python package safetensors is not there")
    finish()

TOOL = os.path.join(os.environ.get("BUILD", "build"), "tests/unit/tensors_tool")
FOLDER = tempfile.TemporaryDirectory(prefix="ingot-safetensors-")
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, content):
    with open(path(name), "wb") as file:
        file.write(content)


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def run(*words):
    return subprocess.run([TOOL, *words], capture_output=True, text=True)


def copied(name, content):
    """The file after Ingot has loaded and saved it; None, and a failure, if it would not."""
    write("in", content)
    ran = run("copy", path("in"), path("out"))
    check(name + " loads", ran.returncode == 0, ran.stdout + ran.stderr)
    return read("out") if ran.returncode == 0 else None


def values(dtype, shape):
    """Any bits of the dtype."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng([count, dtype.itemsize, ord(dtype.kind)])
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    bits = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return bits.view(dtype).reshape(shape)


def all_kinds():
    """Odd numbers of narrow elements beside wide ones; 0-d and empty ones; names of all kinds."""
    shapes = [(), (1,), (0,), (7,), (3, 5), (0, 3), (2, 3, 4), (1,) * 8, (1,) * 15 + (3,)]
    x = {f"{dtype}.{i}": values(dtype, shape)
         for dtype in DTYPES for i, shape in enumerate(shapes)}
    x.update({name: values("float32", (2,)) for name in
              ["", " ", "quote \" and \\", "line\nbreak\ttab", "\x01\x1f\x7f", "é€𝄞", "a/b.c"]})
    return x


def same(a, b):
    return list(a) == list(b) and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes()
        for k in a)


def test_theirs():
    """Their files, and the same bytes back: the order of texts and tensors is kept."""
    texts = {"format": "np", "é\n\"": "𝄞\\ \x1f", "empty": ""}
    for name, x, metadata in [("all kinds", all_kinds(), None), ("texts", all_kinds(), texts),
                              ("nothing", {}, None), ("only texts", {}, texts)]:
        content = st.save(x, metadata)
        if not they_take(content):  # version 0.4 writes texts without tensors so
            continue
        again = copied(name, content)
        check(name + ", byte for byte", again == content)
        if again is not None:
            check(name + ", as NumPy sees it", same(dict(sorted(st.load(again).items())),
                                                    dict(sorted(x.items()))))
            with safetensors.safe_open(path("out"), "np") as file:
                check(name + ", its texts", (file.metadata() or {}) == (metadata or {}))


def test_bf16():
    """NumPy has none, so the file is made by hand."""
    data = bytes(range(12))
    header = {"x": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}
    again = copied("bf16", build(header, data))
    found = dict(safetensors.deserialize(again))["x"]
    check("bf16, as they see it", found["dtype"] == "BF16" and bytes(found["data"]) == data
          and list(found["shape"]) == [2, 3], str(found))


def test_ours():
    """Files whose tensors lie in another order: ours has the wide ones first, each where it is
    aligned, and lists them as they were listed."""
    header = {"a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
              "c": {"dtype": "F64", "shape": [1], "data_offsets": [5, 13]},
              "b": {"dtype": "I16", "shape": [1], "data_offsets": [3, 5]}}
    again = copied("an odd order", build(header, bytes(range(13))))
    size = struct.unpack("<Q", again[:8])[0]
    ours = json.loads(again[8:8 + size])
    check("the order of names", list(ours) == ["a", "c", "b"])
    check("the header's padding", size % 8 == 0)
    places = [ours[k]["data_offsets"] for k in "abc"]
    check("wide ones first", places == [[10, 13], [8, 10], [0, 8]])
    x = st.load(again)
    check("the values", x["a"].tobytes() == bytes([0, 1, 2]) and x["b"].tobytes() == bytes([3, 4])
          and x["c"].tobytes() == bytes(range(5, 13)))


def build(header, data, pad=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += pad
    return struct.pack("<Q", len(text)) + text + data


def they_take(content):
    try:
        safetensors.deserialize(content)
        return True
    except Exception:  # whatever it is that they raise
        return False


def we_take(contents):
    for i, content in enumerate(contents):
        write(f"case-{i}", content)
    lines = run("check", *[path(f"case-{i}") for i in range(len(contents))]).stdout.splitlines()
    for i in range(len(contents)):
        os.remove(path(f"case-{i}"))
    return lines


def compare(name, contents):
    """What we take, they take."""
    lines = we_take(contents)
    check(name + ": an answer for each", len(lines) == len(contents))
    ours = 0
    for content, line in zip(contents, lines):
        ours += line == "ok"
        if line == "ok" and not they_take(content):
            check(name, False, f"we take what they refuse: {content!r}")
    check(name, True)
    return ours


def test_damages():
    one = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
    good = build({"a": one}, b"ab")
    check("a good file", compare("good", [good]) == 1 and they_take(good))
    changes = [{"dtype": "U9"}, {"dtype": "F8_E4M3FN"}, {"dtype": None}, {"shape": [3]},
               {"shape": [-2]}, {"shape": [2.0]}, {"shape": "2"}, {"shape": [1 << 63, 2]}, {"shape": [1 << 64]},
               {"data_offsets": [0, 3]}, {"data_offsets": [2, 0]}, {"data_offsets": [0]},
               {"data_offsets": [0, 2, 2]}, {"data_offsets": [1, 3]}, {"data_offsets": [-2, 0]}]
    cases = [build({"a": {**one, **change}}, b"ab") for change in changes]
    cases += [build({"a": one, "b": one}, b"ab"), build({"a": one}, b"a"),
              build({"a": one}, b"abc"), build(b"", b""), build(b"[]", b""), build(b" {}", b""), build(b"{}", b"", b"x"),
              build({"__metadata__": {"a": 1}}, b""), build({"__metadata__": ["a"]}, b"")]
    check("damaged headers: none is taken", compare("damaged headers", cases) == 0)


def test_changed_bytes():
    """Any byte of a small file changed; any cut of it."""
    good = build({"__metadata__": {"k": "v"}, "a": {"dtype": "I16", "shape": [1, 2],
                                                    "data_offsets": [0, 4]},
                  "b": {"dtype": "U8", "shape": [], "data_offsets": [4, 5]}}, b"abcde", b"  ")
    chance = random.Random(1)
    cases = [good[:cut] for cut in range(len(good))]
    for at in range(len(good)):
        for byte in chance.sample(range(256), 4) + [0x20, 0x22, 0x30, 0x39]:
            cases.append(good[:at] + bytes([byte]) + good[at + 1:])
    ours = 0
    for first in range(0, len(cases), 200):
        ours += compare("changed bytes", cases[first:first + 200])
    check("some changes do no harm", ours > 50)


def main():
    if not os.path.exists(TOOL):
        check("all", False, f"{TOOL} is not built")
        finish()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            attempt(name, test)
    finish()


if __name__ == "__main__":
    main()
