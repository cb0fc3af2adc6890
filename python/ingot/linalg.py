"""Linear algebra: the standard's extension and more. A matrix is the last two axes of an array."""
from . import _ingot, _names

_STANDARD = """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
globals().update((name, _ingot._ops[name]) for name in _STANDARD)
__all__ = _STANDARD
LinAlgError = ValueError  # what the library raises for singular matrices and wrong shapes
__getattr__ = _names.getter("linalg.", globals())
