"""What the tests of the Python package share. BUILD names the folder of the build, whose package is tested."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, os.environ.get("BUILD", "build"), "python"), os.path.join(ROOT, "tests")]

import ingot as ig  # noqa: E402, F401
import numpy as np  # noqa: E402

from support.tally import attempt, check, finish, skip  # noqa: E402, F401

rng = np.random.default_rng(5)


def raises(name, kind, call, says=""):
    """Checks that call raises this kind of exception with a message, which contains the word `says`."""
    try:
        call()
    except kind as error:
        check(name, len(str(error)) > 5 and says in str(error), f"has another message: {error!r}")
    except Exception as error:
        check(name, False, f"raised {error!r}")
    else:
        check(name, False, "raised nothing")


def says(name, kind, words, call):
    """Checks that call raises this kind of exception, and that its message has these words."""
    try:
        call()
    except kind as error:
        check(name, all(word in str(error) for word in words), f"says {error}")
    except Exception as error:
        check(name, False, f"raised {error!r}")
    else:
        check(name, False, "raised nothing")


def same(name, got, want, tolerance=0.0):
    """Checks shape, dtype and elements of an array against NumPy's."""
    got, want = np.asarray(got), np.asarray(want)
    fine = got.shape == want.shape and got.dtype == want.dtype
    if fine and tolerance:
        fine = np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    elif fine:
        fine = np.array_equal(got, want, equal_nan=want.dtype.kind in "fc")
    check(name, fine, f"is {got.dtype}{got.shape} {got.tolist()!r:.200}, not {want.dtype}{want.shape} {want.tolist()!r:.200}")
