"""The Array type: conversion, operators, printing, pickling, dtypes, errors, NumPy's protocols."""
import copy
import gc
import io
import pickle
import sys
import unittest.mock
import weakref

from against import attempt, check, finish, ig, np, raises, rng, same, says, skip


def conversion():
    for value in (True, 3, -2.5, 1 + 2j, [1, 2], [[1.5], [2]], [True, False], [], [[]], [1, 2.5, 3j], (1, 2)):
        want = np.asarray(value)
        want = want.astype({"f": "f4", "c": "c8", "i": "i8", "b": "?"}[want.dtype.kind])
        same(f"asarray({value})", ig.asarray(value), want)
    for dtype in ("int8", "uint64", "float16", "float64", "complex128", "bool"):
        same(f"dtype {dtype}", ig.asarray([1, 2, 0], dtype=dtype), np.array([1, 2, 0], dtype))
    same("float64 keeps its digits", ig.asarray(0.1, dtype=ig.float64), np.asarray(0.1))
    same("a NumPy scalar keeps its dtype", ig.asarray(np.float64(0.1)), np.asarray(0.1))
    same("above int64", ig.asarray(2**64 - 1), np.asarray(2**64 - 1, "u8"))
    same("arrays in a list", ig.asarray([ig.arange(3), ig.ones(3)]), np.array([[0, 1, 2], [1, 1, 1]], "f4"))
    for dtype in ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"):
        x = rng.integers(0, 2, (3, 4, 5)).astype(dtype)
        for view in (x, x.T, x[::-1, 1::2], x[:, :0]):
            same(f"NumPy {dtype}", ig.asarray(view), view)
    for number in (ig.asarray(2.5), ig.asarray(7), ig.asarray(True)):
        check(f"float, int, bool of {number!r}", float(number) == number.item() and int(number) == int(number.item()) and
              bool(number) == bool(number.item()))
    check("complex", complex(ig.asarray(1 + 2j)) == 1 + 2j)
    check("index", [10, 20, 30][ig.asarray(1)] == 20)
    check("tolist", ig.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]])
    check("half precision", ig.asarray([0.1, 65504, 6e-8, -2], dtype=ig.float16).tolist() ==
          np.array([0.1, 65504, 6e-8, -2], "f2").tolist())
    raises("bool of many", ValueError, lambda: bool(ig.ones(2)))
    raises("float of many", TypeError, lambda: float(ig.ones(2)))
    raises("ragged", ValueError, lambda: ig.asarray([[1], [2, 3]]))
    raises("a string", TypeError, lambda: ig.asarray("text"))


def operators():
    x, y = rng.integers(1, 9, (3, 4)).astype("f4"), rng.integers(1, 9, 4).astype("f4")
    a, b = ig.asarray(x), ig.asarray(y)
    for text in "a+b a-b a*b a/b a//b a%b a**b a<b a<=b a==b a!=b a>b a>=b -a +a abs(a) a+1 1-a 2*a 1/a 2**a a%2 5//a".split():
        same(text, eval(text), eval(text, {}, {"a": x, "b": y}), 1e-5)
    same("matmul", a @ b, x @ y, 1e-5)
    i, j = ig.asarray([6, 3]), ig.asarray([2, 1])
    for text in "i&j i|j i^j i<<j i>>j ~i".split():
        same(text, eval(text), eval(text, {}, {"i": np.array([6, 3]), "j": np.array([2, 1])}))
    c = ig.asarray(x)
    held = c
    c += 1
    c *= b
    same("in place", c, (x + 1) * y)
    check("the same object", held is c)
    raises("in place with another dtype", TypeError, lambda: i.__itruediv__(2))
    raises("in place with another shape", ValueError, lambda: b.__iadd__(a))
    raises("with a string", TypeError, lambda: a + "b")
    check("weak numbers", (ig.ones(2, dtype=ig.float16) * 2.5).dtype == ig.float16 and (ig.arange(3) + 1.5).dtype == ig.float32)
    check("NumPy on the left", isinstance(y + a, ig.Array) and isinstance(y @ a.T, ig.Array))


def habits():
    x = ig.asarray(rng.standard_normal((4, 5)).astype("f4"))
    n = np.asarray(x)
    check("asarray without a copy", n.__array_interface__["data"] == np.asarray(x).__array_interface__["data"])
    check("writable", n.flags.writeable)
    same("pickle", pickle.loads(pickle.dumps(x)), n)
    same("copy", copy.copy(x), n)
    same("deepcopy", copy.deepcopy({"x": x})["x"], n)
    for name in "mean sum std var max min argmax prod any all".split():
        same(f"np.{name}", getattr(np, name)(x), getattr(np, name)(n), 1e-5)
        same(f"x.{name}()", getattr(x, name)(), getattr(n, name)(), 1e-5)
        same(f"np.{name} along an axis", getattr(np, name)(x, axis=0), getattr(np, name)(n, axis=0), 1e-5)
    for name in "exp sin square negative isfinite".split():
        same(f"np.{name}", getattr(np, name)(x), getattr(np, name)(n), 1e-5)
    same("np.add.reduce", np.add.reduce(x), np.add.reduce(n), 1e-5)
    same("np.concatenate", np.concatenate([x, x]), np.concatenate([n, n]))
    same("np.linalg.norm", np.linalg.norm(x), np.linalg.norm(n), 1e-5)
    same("x.reshape(2, 10)", x.reshape(2, 10), n.reshape(2, 10))
    same("x.T", x.T, n.T)
    same("cumsum, another name", x.cumsum(axis=1), n.cumsum(axis=1), 1e-5)
    same("flatten", x.flatten(), n.flatten())
    check("str", str(ig.asarray([[1, 2], [3, 4.5]])) == str(np.array([[1, 2], [3, 4.5]], "f4")))
    check("repr", repr(ig.arange(2)) == "Array([0 1], dtype=int64, device='cpu')")
    raises("repr of a failed evaluation", ValueError, lambda: repr(ig.arange(3) // ig.zeros(3, dtype="int64")), "divided by 0")
    seen = []
    ig.vmap(lambda v: (seen.append(repr(v)), v)[1])(ig.ones((2, 3)))
    check("repr of a placeholder", seen == ["Array(..., dtype=float32, device='cpu')"], seen)
    check("format", f"{ig.asarray(1.5):.3f}" == "1.500")
    check("weak references", weakref.ref(x)() is x)
    check("html", "4 × 5" in x._repr_html_())
    check("advice", "ingot" in message(lambda: ig.histogramdd_nothing))


def message(call):
    try:
        call()
    except Exception as error:
        return str(error)
    return ""


def dtypes():
    for name in ("bool", "int8", "uint64", "float32", "float64", "complex64"):
        d = getattr(ig, name)
        check(f"dtype {name}", d == name and d == np.dtype(name) and d.name == name and hash(d) == hash(ig.dtype(name)) and
              pickle.loads(pickle.dumps(d)) is d and d.itemsize == np.dtype(name).itemsize)
    check("Python's types", ig.float64 == float and ig.int64 == int and ig.bool == bool)
    check("result_type", ig.result_type(ig.int32, ig.float32, 1) == ig.float32)
    check("result_type of numbers", ig.result_type(ig.int8, 1.0) == ig.float32)
    check("can_cast", ig.can_cast(ig.int8, ig.int16) and not ig.can_cast(ig.int16, ig.int8))
    check("isdtype", ig.isdtype(ig.int8, ("real floating", "integral")) and not ig.isdtype(ig.int8, "bool"))
    check("finfo", ig.finfo(ig.float32).eps == np.finfo("f4").eps and ig.iinfo(ig.uint64).max == 2**64 - 1)
    raises("no dtype", TypeError, lambda: ig.ones(2, dtype="float33"))


def complexes():
    z = ig.asarray([[0j, 1], [2j, 0]])
    n = np.array([[0j, 1], [2j, 0]], "c8")
    for got, want in zip(ig.nonzero(z), np.nonzero(n)):
        same("nonzero", got, want)
    for got, want in zip(ig.unique_all(z), np.unique_all(n)):
        same("unique_all", got, want)
    check("zeros_like in a real dtype", ig.zeros_like(z, dtype=ig.bool).dtype == ig.bool)
    check("full", ig.full(2, 1j).dtype == ig.complex64 and ig.full_like(z, 1j).dtype == ig.complex64)
    a, b = ig.broadcast_arrays(ig.arange(2), z)
    check("broadcast_arrays keeps dtypes", a.dtype == ig.int64 and b.dtype == ig.complex64 and a.shape == (2, 2))
    same("cumulative_sum by keyword", ig.cumulative_sum(z, axis=0, include_initial=True),
         np.concatenate([np.zeros((1, 2), "c8"), np.cumsum(n, axis=0)]))
    for f, value, want in (("exp", -1e5 + 1j * np.inf, "nan+nanj"), ("tanh", 1e5 + 1j * np.inf, "nan+nanj"),
                           ("sign", complex(-0.0, -0.0), "0j"), ("expm1", complex(-0.0, 0.0), "0j")):
        check(f"{f}({value})", str(complex(getattr(ig, f)(ig.asarray(value)))).strip("()") == want)
    same("outer keeps the sign of zeros", ig.signbit(ig.outer(ig.asarray([0.0]), ig.asarray([-1.0]))), np.array([[True]]))
    check("solve without elements", ig.solve(ig.ones((2, 0, 0)), ig.ones(0)).shape == (2, 0))


def errors():
    x = ig.ones((2, 3))
    raises("shape", ValueError, lambda: ig.reshape(x, (5,)))
    raises("broadcast", ig.ShapeError, lambda: x + ig.ones(4))
    raises("axis", IndexError, lambda: ig.sum(x, axis=2))
    raises("dtype", TypeError, lambda: ig.bitwise_and(x, x))
    for kind, word in (([("a", "i4")], "dictionary"), ("U5", "texts"), (bytes, "texts"), ("<M8[D]", "times"), (object, "list"), ("f9", "'f32'")):
        raises(f"dtype {kind}", TypeError, lambda: ig.zeros(2, dtype=kind), word)
        if word != "'f32'":
            raises(f"an array of dtype {kind}", TypeError, lambda: ig.asarray(np.zeros(2, dtype=kind)), word)
    raises("keyword", TypeError, lambda: ig.sum(x, axs=0))
    raises("missing", TypeError, lambda: ig.reshape(x))
    raises("many", TypeError, lambda: ig.exp(x, x))
    raises("twice", TypeError, lambda: ig.sum(x, 0, axis=0))
    raises("device", ig.DeviceError, lambda: ig.ones(2, device="nothing:9"))
    raises("out of bounds when evaluated", IndexError, lambda: ig.eval(ig.take(ig.arange(3), ig.asarray([7]))))
    raises("file", OSError, lambda: ig.load("/nonexistent.npy"))
    same("after errors", x + 1, np.full((2, 3), 2, "f4"))


def files(folder):
    x = ig.arange(6.0).reshape(2, 3)
    for name in ("x.npy", "x.csv"):
        ig.save(folder / name, x)
        check(name, np.array_equal(np.asarray(ig.load(folder / name)), np.asarray(x)))
    for name in ("x.npz", "x.safetensors"):
        ig.save(folder / name, {"a": x, "b": ig.ones(2)})
        back = ig.load(folder / name)
        check(name, list(back) == ["a", "b"] and np.array_equal(np.asarray(back["a"]), np.asarray(x)))
    for order in ("path first", "array first"):
        given = (folder / "y.npy", x) if order == "path first" else (x, folder / "y.npy")
        ig.save(*given)
        check(f"save, {order}", np.array_equal(np.load(folder / "y.npy"), np.asarray(x)))
    for file in (io.BytesIO(), open(folder / "open", "w+b")):
        with file:
            ig.save(file, x)
            file.seek(0)
            check("NumPy reads an open file", np.array_equal(np.load(file), np.asarray(x)))
            file.seek(0)
            check("an open file", np.array_equal(np.asarray(ig.load(file)), np.asarray(x)))
    file = io.BytesIO()
    ig.save({"a": x}, file)
    file.seek(0)
    check("an open file of several arrays", np.array_equal(np.asarray(ig.load(file)["a"]), np.asarray(x)))
    raises("an open file of text", ValueError, lambda: ig.load(io.BytesIO(b"1,2")), "path")


def parquet(folder):
    path = folder / "x.parquet"
    with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
        says("without pyarrow", ImportError, ["pip install pyarrow"], lambda: ig.load(path))
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return skip("parquet", "pyarrow is not there")
    columns = {"n": np.arange(3, dtype="i2"), "x": np.array([0.5, 1.5, np.nan]), "yes": np.array([True, False, True])}
    texts = {"name": ["a", "", "é"], "kind": pyarrow.array(["u", "v", "u"]).dictionary_encode()}
    pyarrow.parquet.write_table(pyarrow.table({**columns, **texts}), path)
    back = ig.load(path)
    check("parquet: names", list(back) == ["n", "x", "yes", "name", "kind"])
    for name, column in columns.items():
        same(f"parquet: {name}", back[name], column)
    check("parquet: texts", back["name"] == ["a", "", "é"] and back["kind"] == ["u", "v", "u"])
    for name, column in {"gap": [1, None], "when": pyarrow.array([1, 2], "timestamp[s]")}.items():
        pyarrow.parquet.write_table(pyarrow.table({name: column}), path)
        says(f"parquet: {name}", (TypeError, ValueError), [f"'{name}'"], lambda: ig.load(path))


def leaks():
    """No memory is left after many calls of each kind."""
    x, w = ig.ones((8, 8)), np.ones((8, 8), "f4")
    loss = ig.grad(lambda p: ((ig.asarray(w) @ p) ** 2).mean())
    step = ig.jit(lambda p: p * 2 + 1)

    def once():
        y = x.copy()
        y[1:3] = 0
        y += ig.asarray(w) + ig.from_dlpack(w)
        y[y > 1] = 3
        np.asarray(y), memoryview(y), np.from_dlpack(y), ig.softmax(y).tolist(), float(y.sum())
        loss(x).eval()
        step(x)
        ig.unique_all(y)
        try:
            ig.reshape(y, (3,))
        except ValueError:
            pass

    for _ in range(20):
        once()
    gc.collect()
    used, count = ig.memory()["used"], len(gc.get_objects())
    for _ in range(1000):
        once()
    gc.collect()
    check("memory of arrays", ig.memory()["used"] <= used + 4096, f"grew from {used} to {ig.memory()['used']} bytes")
    check("objects", len(gc.get_objects()) <= count + 50, f"grew from {count} to {len(gc.get_objects())}")


def owners():
    """Arrays that only a call holds, and arrays that change while another thread reads them."""
    import threading
    x = ig.asarray([[1.0, 2.0], [3.0, 4.0]])
    same("the rows of an array", ig.stack(x * 1), np.array([[1, 2], [3, 4]], "f"))
    same("5000 arrays", ig.concat([ig.full(2, i) for i in range(5000)]), np.repeat(np.arange(5000), 2))
    same("the rows of an array, joined", ig.concat(x + 0), np.array([1, 2, 3, 4], "f"))
    raises("many keywords of a method", TypeError, lambda: x.sum(**{f"a{i}": 1 for i in range(40)}))
    raises("divmod by a text", TypeError, lambda: divmod(x, "a"))
    shared, end = ig.zeros(2000), threading.Event()

    def assign():
        i = 0
        while not end.is_set():
            shared[i % 2000] = 1
            shared.eval()
            i += 1

    thread = threading.Thread(target=assign)
    thread.start()
    seen = []
    for _ in range(300):
        seen += [np.asarray(shared).sum(), sum(shared.tolist()), len(str(shared)) > 0]
    end.set()
    thread.join()
    check("reads while another thread assigns", all(0 <= n <= 2000 for n in seen), seen[:9])


def children():
    """A child of fork computes."""
    import os
    import time
    if not hasattr(os, "fork"):
        return
    for n in (4, 1 << 17):
        child = os.fork()
        if child == 0:
            os._exit(int((ig.arange(n) + 1).sum()) != n * (n + 1) // 2)
        end, done = time.monotonic() + 600, (0, 0)
        while done[0] == 0 and time.monotonic() < end:
            done = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if done[0] == 0:
            os.kill(child, 9)
            os.waitpid(child, 0)
        check(f"a child sums {n} numbers", done == (child, 0), done)


def packed():
    """Arrays in storage formats: q8_0 is an f16 scale and 32 bytes."""
    x = (np.arange(64, dtype=np.float32).reshape(2, 32) - 20) * 127 / 43
    w = ig.quantize(ig.asarray(x), "q8_0")
    data = np.asarray(ig.packed_bytes(w)).reshape(2, 34)
    scale = data[:, :2].copy().view(np.float16).astype(np.float32)
    check("quantize and packed_bytes", np.array_equal(np.asarray(w), scale * data[:, 2:].view(np.int8)))
    check("a product of blocks", np.array_equal(np.asarray(w @ w.T), np.asarray(ig.asarray(np.asarray(w)) @ ig.asarray(np.asarray(w)).T)))
    check("block=", ig.packed_bytes(ig.quantize(ig.ones([2, 32]), "u4", block=16)).shape == (4 * 13,))


def main():
    import pathlib
    import tempfile
    for test in (children, conversion, operators, habits, dtypes, complexes, errors, leaks, owners, packed):
        attempt(test.__name__, test)
    with tempfile.TemporaryDirectory() as folder:
        attempt("files", files, pathlib.Path(folder))
        attempt("parquet", parquet, pathlib.Path(folder))
    finish()


main()
