"""Special functions, as in scipy.special and torch.special. All are functions of ingot, too."""
from .._names import getter

__getattr__ = getter("special.", globals())
