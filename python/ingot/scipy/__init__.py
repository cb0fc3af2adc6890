"""The names of jax.scipy and torch.special that are ops here: scipy.special.expit, scipy.linalg.solve."""
from .. import fft  # noqa: F401
from . import linalg, special  # noqa: F401
from .._names import getter

__getattr__ = getter("scipy.", globals())


def _later(name):
    if name in ("stats", "signal"):
        from importlib import import_module
        return import_module(f"ingot.scipy.{name}")
    if name in ("ndimage", "integrate", "interpolate", "sparse", "spatial", "cluster"):
        raise AttributeError(f"module 'ingot.scipy' has no attribute '{name}': use scipy.{name} with SCIPY_ARRAY_API=1, or with "
                             "numpy.asarray(x)")
    if name == "optimize":
        raise AttributeError("module 'ingot.scipy' has no attribute 'optimize': use scipy.optimize with functions of numpy.asarray(x) and "
                             "jac=ig.grad(f), or ingot.optim")
    return _find(name)


_find, __getattr__ = __getattr__, _later
