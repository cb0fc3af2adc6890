"""Arrays as ingot eval prints them, against str() of NumPy, character for character.

Arrays of every dtype, many shapes and magnitudes (denormals, powers of two, NaN, infinities, all of
f16) are saved as npy and printed by one program of `print(load(...))` lines for each batch.

INGOT names the command. Ends with "N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

INGOT = os.environ.get("INGOT", "build/ingot")
FOLDER = tempfile.TemporaryDirectory(prefix="ingot-print-")
MARK = "=" * 20
BATCH = 200
SHAPES = [(), (1,), (2,), (5,), (20,), (50,), (3, 4), (2, 3, 4), (1, 1, 1), (2, 2, 2, 2), (0,),
          (2, 0), (1001,), (40, 40), (12, 12, 12), (7, 200), (200, 7), (1000,), (3, 30), (11, 2, 60)]
FLOATS = {"float16": "uint16", "float32": "uint32", "float64": "uint64"}
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
rng = np.random.default_rng(20251)


def magnitudes(shape):
    """Float64 arrays of one shape, each with its own habit."""
    x = rng.standard_normal(shape)
    chance = rng.random(shape)
    edges = [0.0, -0.0, 0.1, 1e-4, 9.9999e-5, 1e3, 1001.0, 999999.0, 1e6, 1e8, 99999999.0]
    yield x
    yield x * 10.0 ** rng.integers(-6, 6, shape)
    yield np.round(x * 10)
    yield np.round(x, 2)
    yield x * 1e6
    yield np.abs(x) * 1e-5
    yield x * 10.0 ** rng.integers(-300, 300, shape)
    yield 2.0 ** rng.integers(-30, 30, shape)
    yield np.where(chance < 0.3, np.nan, x)
    yield np.where(chance < 0.3, -np.inf, np.where(chance > 0.7, np.inf, x * 100))
    yield np.where(chance < 0.5, np.nan, np.inf)
    yield rng.choice(edges, shape)


def arrays():
    for dtype, bits in FLOATS.items():
        for shape in SHAPES:
            for x in magnitudes(shape):
                with np.errstate(all="ignore"):
                    yield np.asarray(x).astype(dtype)
        for _ in range(100):
            x = rng.integers(0, np.iinfo(bits).max, 8, dtype=bits, endpoint=True).view(dtype)
            yield x
            yield x[0]
    yield from np.arange(1 << 16).astype("uint16").view("float16").reshape(-1, 64)
    for dtype, low, high in [("float32", -149, 128), ("float64", -1074, 1024)]:
        for exponent in range(low, high, 7):
            yield np.array([2.0**exponent]).astype(dtype)
            yield np.array(2.0**exponent).astype(dtype)
    for shape in SHAPES:
        yield rng.integers(0, 2, shape).astype(bool)
        for dtype in INTEGERS:
            limits = np.iinfo(dtype)
            yield rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
            yield rng.integers(0, 100, shape, dtype=dtype)


def ingot_prints(batch, *options):
    lines = []
    for i, x in enumerate(batch):
        path = os.path.join(FOLDER.name, f"{i}.npy")
        np.save(path, x)
        lines += [f'print(load("{path}"))', f'print("{MARK}")']
    program = os.path.join(FOLDER.name, "program")
    with open(program, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    done = subprocess.run([INGOT, "eval", *options, "-f", program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr)
    return done.stdout.split("\n" + MARK + "\n")[:-1]


def compare(batch, expected, *options):
    got = ingot_prints(batch, *options)
    got += [""] * (len(batch) - len(got))
    wrong = 0
    for x, text, ours in zip(batch, expected, got):
        if text != ours:
            wrong += 1
            if wrong <= 3:
                print(f"FAILED {np.asarray(x).dtype} {np.shape(x)}\nNumPy\n{text}\nIngot\n{ours}")
    return len(batch) - wrong, wrong


def main():
    # Before 2.3 NumPy wrote [1000000.] where it now writes [1.e+06] for f32.
    if tuple(int(n) for n in np.__version__.split(".")[:2]) < (2, 3):
        print(f"NumPy {np.__version__} prints large numbers in another way: 2.3 or later is needed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    everything = list(arrays())
    passed = failed = 0
    for start in range(0, len(everything), BATCH):
        batch = everything[start:start + BATCH]
        good, bad = compare(batch, [str(x) for x in batch])
        passed, failed = passed + good, failed + bad
    long = [x for x in everything if np.size(x) > 1000 and np.size(x) < 2000][:30]
    with np.printoptions(threshold=sys.maxsize):
        good, bad = compare(long, [str(x) for x in long], "--full")
    print(f"{passed + good} passed, {failed + bad} failed")
    return 1 if failed + bad else 0


if __name__ == "__main__":
    sys.exit(main())
