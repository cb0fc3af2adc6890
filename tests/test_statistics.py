"""Statistics and sets against NumPy, through `ingot eval`: random dtypes, shapes, axes, ties, NaN, and rows that are long
enough for counts and ranks.

The device gang, whose kernels must give the bits of the CPU, runs every fourth program too. INGOT names the command. Ends with
"N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

INGOT = os.environ.get("INGOT", "build/ingot")
rng = np.random.default_rng(7)
FLOATS, INTS = ("f4", "f8"), ("i1", "u1", "i2", "i4", "u4", "i8")
METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "hazen", "median_unbiased")


def floats(shape, dtype, kind):
    x = rng.standard_normal(shape)
    if kind == "ties":
        x = np.round(x)
    if kind == "wide":
        x = x * 10.0 ** rng.integers(-30, 30, shape)
    if kind == "infinite":
        x = np.where(rng.random(shape) < 0.3, np.inf * np.sign(x), x)
    if kind == "nan":
        x = np.where(rng.random(shape) < 0.5 / shape[-1], np.nan, x)
    return x.astype(dtype)


def integers(shape, dtype):
    info = np.iinfo(dtype)
    if rng.random() < 0.5:
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def shapes():
    yield from ((1,), (7,), (3, 5), (2, 1000), (20000,), (3, 16385), (2, 2, 17000), (100003,))


def cases():
    """(expression, inputs, what it should be, tolerance: relative, or absolute for each element)"""
    for dtype in FLOATS:  # between equal infinities, where NumPy gives NaN
        x = np.array([[-np.inf, -np.inf, -np.inf], [np.inf, np.inf, np.inf], [1, np.inf, np.inf]], dtype)
        for method in ("linear", "midpoint", "hazen"):
            yield f"quantile(x, 0.7, axis=1, method='{method}')", {"x": x}, np.array([-np.inf, np.inf, np.inf], dtype), 0
    for shape in shapes():
        axis = int(rng.integers(-1, 1))
        for dtype in FLOATS:
            for kind in ("plain", "ties", "wide", "infinite", "nan"):
                x = floats(shape, dtype, kind)
                tight = 3e-7 if dtype == "f4" else 1e-15
                q = float(rng.random())
                method = str(rng.choice(METHODS))
                with np.errstate(all="ignore"):
                    yield f"median(x, axis={axis})", {"x": x}, np.median(x, axis=axis), tight
                    yield f"nanmedian(x, axis={axis})", {"x": x}, np.nanmedian(x, axis=axis), tight
                    few = np.array([0, 0.25, 1], dtype)
                    # The place is rounded to the dtype: compare where neighbours are alike or exact.
                    if method in ("lower", "higher"):
                        yield f"quantile(x, 0.5, axis={axis}, method='{method}')", {"x": x}, np.quantile(x, 0.5, axis=axis, method=method), 0
                    if kind != "infinite":
                        yield f"quantile(x, {q}, axis={axis}, method='{method}')", {"x": x}, \
                            np.quantile(x.astype("f8"), q, axis=axis, method=method), \
                            2 * tight * np.nanmax(np.abs(x.astype("f8")), axis=axis)
                        if x.shape[axis] > 1:
                            yield f"quantile(x, [0.0, 1.0], axis={axis})", {"x": x}, np.quantile(x, few[[0, 2]], axis=axis), tight
        for dtype in INTS:
            x = integers(shape, dtype)
            yield f"median(x, axis={axis})", {"x": x}, np.median(x.astype("f8"), axis=axis).astype("f4"), 3e-7
            yield "unique_values(x)", {"x": x}, np.unique(x), 0
            yield "unique_counts(x)[1]", {"x": x}, np.unique(x, return_counts=True)[1], 0
            yield "unique_all(x)[1]", {"x": x}, np.unique(x, return_index=True)[1], 0
            yield "unique_inverse(x)[1]", {"x": x}, np.unique(x, return_inverse=True)[1].reshape(shape), 0
            y = integers((int(rng.integers(1, 300)),), dtype)
            yield "isin(x, y)", {"x": x, "y": y}, np.isin(x, y), 0
            yield "isin(x, y, True)", {"x": x, "y": y}, np.isin(x, y, invert=True), 0
            yield "nonzero(x > 50)[0]", {"x": x}, np.nonzero(x > 50)[0], 0
    yield from counts()


def counts():
    for size in (0, 1, 10, 5000, 70000, 140001):
        for dtype in INTS:
            most = int(rng.choice([1, 5, 100, min(3000, np.iinfo(dtype).max), min(90000, np.iinfo(dtype).max)]))
            x = rng.integers(0, min(most, np.iinfo(dtype).max), size, endpoint=True).astype(dtype)
            yield "bincount(x)", {"x": x}, np.bincount(x.astype("i8")), 0
            yield "bincount(x, minlength=20)", {"x": x}, np.bincount(x.astype("i8"), minlength=20), 0
            yield "bincount(x, length=7)", {"x": x}, np.bincount(x.astype("i8")[x < 7], minlength=7), 0
            w = rng.integers(0, 9, size).astype("f8")
            yield "bincount(x, w)", {"x": x, "w": w}, np.bincount(x.astype("i8"), w), 0
        for dtype in FLOATS:
            x = floats((size,), dtype, "plain")
            n = int(rng.integers(1, 200))
            yield f"histogram(x, {n}, range=[-1.0, 1.5])[0]", {"x": x}, \
                np.histogram(x, n, range=(-1, 1.5))[0], ("counts", 4)
            ties = floats((size,), dtype, "ties")
            yield "histogram(x, 8, range=[-4.0, 4.0])[0]", {"x": ties}, np.histogram(ties, 8, range=(-4, 4))[0], 0
            yield "histogram(x, [-2.0, -0.5, 0.0, 3.0])[0]", {"x": x}, np.histogram(x, np.array([-2, -0.5, 0, 3], dtype))[0], 0
            yield "histogram(x, 20000, range=[-4.0, 4.0])[0].sum()", {"x": x}, np.sum((x >= -4) & (x <= 4)), 0
            if size:
                yield "histogram(x, 10)[0].sum()", {"x": x}, size, 0


def same(got, want, tolerance):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if isinstance(tolerance, tuple):  # edges are rounded: an element may be in the next bin
        return abs(int(got.sum()) - int(want.sum())) <= 1 and np.abs(got - want).sum() <= tolerance[1]
    with np.errstate(all="ignore"):
        a, b = got.astype("f8"), want.astype("f8")
        scale = 1 if isinstance(tolerance, np.ndarray) else np.maximum(np.abs(b), np.abs(a))
        near = np.abs(a - b) <= tolerance * scale
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def run(device, folder, listed):
    """Runs many expressions in one program; returns their results."""
    lines = []
    for i, (text, inputs, _, _) in enumerate(listed):
        for name, x in inputs.items():
            path = f"{folder}/{i}_{name}.npy"
            if not os.path.exists(path):
                np.save(path, x)
            lines.append(f'{name} = load("{path}")')
        lines.append(f'save("{folder}/{device}_{i}.npy", {text})')
    with open(f"{folder}/{device}.txt", "w") as f:
        f.write("\n".join(lines) + "\n0\n")
    done = subprocess.run([INGOT, "eval", "--device", device, "-f", f"{folder}/{device}.txt"], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-800:])
    return [np.load(p) if os.path.exists(p := f"{folder}/{device}_{i}.npy") else None for i in range(len(listed))]


def main():
    passed = failed = 0
    listed = list(cases())
    with tempfile.TemporaryDirectory() as folder:
        found = run("cpu", folder, listed)
        for (text, inputs, want, tolerance), got in zip(listed, found):
            ok = got is not None and same(got, want, tolerance)
            passed, failed = passed + ok, failed + (not ok)
            if not ok:
                first = next(iter(inputs.values()))
                print(f"FAIL {text} of {first.dtype}{first.shape}: {got} is not {want}"[:400])
    with tempfile.TemporaryDirectory() as folder:
        some = listed[::4]
        for (text, inputs, _, _), got, cpu in zip(some, run("gang", folder, some), found[::4]):
            ok = got is not None and cpu is not None and got.dtype == cpu.dtype and np.array_equal(got, cpu, equal_nan=got.dtype.kind == "f")
            passed, failed = passed + ok, failed + (not ok)
            if not ok:
                print(f"FAIL on gang: {text}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
