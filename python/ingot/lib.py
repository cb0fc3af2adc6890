"""The names of numpy.lib: stride_tricks."""
import sys
from types import ModuleType

from . import _ingot, _names

stride_tricks = ModuleType(__name__ + ".stride_tricks", "The names of numpy.lib.stride_tricks.")
sys.modules[stride_tricks.__name__] = stride_tricks
stride_tricks.__getattr__ = _names.adviser(stride_tricks.__name__, "stride_tricks.")


def sliding_window_view(x, window_shape, axis=None):
    """All windows of a shape along the axes, as a view."""
    return _ingot._ops["sliding_window_view"](x, window_shape, axis)


stride_tricks.sliding_window_view, stride_tricks.broadcast_to = sliding_window_view, _ingot._ops["broadcast_to"]
