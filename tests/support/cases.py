"""The list of cases of tests/test_numpy.py, and what the files of cases (cases_*.py) share: dtypes, random inputs, references."""
import math
import zlib

import numpy as np

rng = np.random.default_rng()  # seed() sets its state
np.seterr(all="ignore")

SHORT = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
         "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32",
         "float64": "f64"}
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
# Relative error allowed, by dtype of the result: a few units in the last place.
BOUND = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 65504.0, 0.5, -2.5,
                    3.5, 1e30])

cases = []  # (op, expression, inputs, expected, slack, error): results may be off by slack units, and by error


def seed(*texts):
    """Random numbers from here on depend only on these texts."""
    rng.bit_generator.state = np.random.PCG64(zlib.crc32(" ".join(texts).encode())).state


def case(op, expression, inputs, expected, slack=1.0, error=0.0):
    cases.append((op, expression, inputs, expected, slack, error))


def floats(shape, dtype="float32", low=-3.0, high=3.0):
    return rng.uniform(low, high, shape).astype(dtype)


def ints(shape, dtype):
    info = np.iinfo(dtype)
    small = rng.integers(max(info.min, -20), 20, shape).astype(dtype)
    flat = small.reshape(-1)
    if flat.size > 4:
        flat[:3] = [info.min, info.max, 0]
    return small


def layouts(x):
    """x seen in several ways: (expression over x, x, the same view by NumPy)."""
    yield "{x}", x, x
    yield "{x}.T", x, x.T
    yield "{x}[::-1, 1::2]", x, x[::-1, 1::2]
    yield "broadcast_to({x}[:1], {x}.shape)", x, np.broadcast_to(x[:1], x.shape)


erf = np.vectorize(math.erf, otypes=[float])


def erfinv(y):
    """Newton's method on erf, in float64."""
    y = np.asarray(y, dtype=float)
    w = -np.log1p(-y * y)
    x = np.sign(y) * np.sqrt(np.sqrt((4.33 + w * -0.5) ** 2 + w / 0.147 * 1.0) - (4.33 - w * 0.5))
    x = np.where(np.isfinite(x), x, 0)
    for _ in range(60):
        x = np.clip(x - (erf(x) - y) * np.exp(x * x) * math.sqrt(math.pi) / 2, -6, 6)
    x = np.where(np.abs(y) == 1, np.sign(y) * np.inf, x)
    return np.where(np.abs(y) > 1, np.nan, x)
