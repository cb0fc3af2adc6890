"""Numbers in CSV files: load and open read the values that Python's float reads, bit by bit."""
import os
import random
import struct
import subprocess
import tempfile

import numpy as np
from support import tally

INGOT = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "ingot"))
ODD = ["-0", "0", "-0.0", ".5", "5.", "+7", "-.25", "1e5", "1e-5", "1e400", "1e-400", "5e-324", "2.4703282292062328e-324",
       "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616"]


def any_float():
    """Of any exponent, but not 0, infinite or NaN"""
    bits = random.getrandbits(64) & ~(0x7FF << 52) | random.randrange(1, 2047) << 52
    return struct.unpack("d", struct.pack("Q", bits))[0]


def digits(n):
    return "".join(random.choice("0123456789") for _ in range(n))


KINDS = [
    lambda: repr(random.uniform(-1e3, 1e3)),
    lambda: repr(any_float()),
    lambda: f"{random.uniform(-10, 1000):.18e}",
    lambda: f"{random.uniform(-1e6, 1e6):.{random.randrange(20)}f}",
    lambda: str(random.randrange(-2**63, 2**63)),
    lambda: digits(random.randrange(1, 25)) + random.choice(["", ".", ".5", f"e-{random.randrange(30)}", f"E+{random.randrange(30)}"]),
    lambda: str(2 * (random.getrandbits(52) | 1 << 52) + 1) + random.choice(["", ".0", "e0", "e-0"]),  # between two floats
    lambda: f"{random.getrandbits(random.randrange(1, 64))}e-{random.randrange(20)}",
    lambda: random.choice(ODD),
]

random.seed(5)
with tempfile.TemporaryDirectory() as folder:
    path, result = os.path.join(folder, "x.csv"), os.path.join(folder, "y.npy")
    rows = [[random.choice(KINDS)() for _ in range(3)] for _ in range(20000)]
    with open(path, "w") as f:
        f.writelines(",".join(row) + "\n" for row in rows)
    want = np.array([[float(text) for text in row] for row in rows])
    for op in ["load", "open"]:
        p = subprocess.run([INGOT, "eval", "-o", result, f'{op}("{path}")'], capture_output=True, text=True)
        tally.check(f"{op}: {p.stderr}", p.returncode == 0)
        got = np.load(result)
        tally.check(f"{op}: {got.dtype}{got.shape}", got.dtype == np.float64 and got.shape == want.shape)
        wrong = np.argwhere(got.view(np.uint64) != want.view(np.uint64))
        tally.check(f"{op}: {len(wrong)} numbers differ, such as {[rows[i][k] for i, k in wrong[:3]]}", len(wrong) == 0)
tally.finish()
