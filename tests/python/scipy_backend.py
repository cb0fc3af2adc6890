"""A plugin of pytest that adds Ingot to the array API backends of SciPy's own tests. They are in SciPy's wheels, and need pytest and
hypothesis. For one module, with Ingot and with PyTorch:

    PYTHONPATH=tests/python python -m pytest -p scipy_backend -m array_api_backends -k ingot --pyargs scipy.fft
    PYTHONPATH=tests/python python -m pytest -p scipy_backend -m array_api_backends -k torch --pyargs scipy.fft
"""
import os
import sys

import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, os.environ.get("BUILD", "build"), "python"))

import ingot  # noqa: E402

ingot.set_default_dtype("float64")  # as the tests do for PyTorch
plain = pytest.fixture


def fixture(function=None, *, params=None, **options):
    """pytest.fixture; the fixture whose parameters are the backends gets one more."""
    if params and any(getattr(p, "id", None) == "numpy" for p in params):
        params = [*params, pytest.param(ingot, id="ingot", marks=pytest.mark.array_api_backends)]
    return plain(function, params=params, **options)


pytest.fixture = fixture
try:
    import scipy.conftest
finally:
    pytest.fixture = plain
scipy.conftest.xp_known_backends.add("ingot")
