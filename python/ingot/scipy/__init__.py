"""The names of jax.scipy and torch.special that are ops here: scipy.special.expit, scipy.linalg.solve."""
from .. import fft, linalg  # noqa: F401
from . import special  # noqa: F401
from .._names import getter

__getattr__ = getter("scipy.", globals())
