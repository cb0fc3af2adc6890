"""Pools and borders as modules."""
from . import functional as F
from .activations import _Function


class _MaxPool(_Function):
    _names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        self._set(kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode, return_indices)

    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPool):
    """The largest element of each window of (N, C, L)."""

    _call = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest element of each window of (N, C, H, W)."""

    _call = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest element of each window of (N, C, D, H, W)."""

    _call = staticmethod(F.max_pool3d)


class _AvgPool(_Function):
    _shown = ("kernel_size", "stride", "padding")


class AvgPool1d(_AvgPool):
    """The mean of each window of (N, C, L)."""

    _names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
    _call = staticmethod(F.avg_pool1d)

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        self._set(F._tuple(kernel_size, 1), F._tuple(kernel_size if stride is None else stride, 1), F._tuple(padding, 1), ceil_mode,
                  count_include_pad)


class AvgPool2d(_AvgPool):
    """The mean of each window of (N, C, H, W)."""

    _names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    _call = staticmethod(F.avg_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        self._set(kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)


class AvgPool3d(AvgPool2d):
    """The mean of each window of (N, C, D, H, W)."""

    _call = staticmethod(F.avg_pool3d)


class _Adaptive(_Function):
    """Windows that cover the input, as many as output_size; None keeps the length of an axis."""

    _names = ("output_size",)

    def __init__(self, output_size):
        self._set(output_size)


class AdaptiveAvgPool1d(_Adaptive):
    _call = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    _call = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    _call = staticmethod(F.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_Adaptive):
    _call = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_Adaptive):
    _call = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_Adaptive):
    _call = staticmethod(F.adaptive_max_pool3d)


# ---- borders ----

class _Pad(_Function):
    """A border of the last axes: a width, or two for each axis, the last axis first."""

    _names, _shown = ("padding", "mode", "value"), ("padding", "value")
    _call = staticmethod(F.pad)
    _axes, _mode = 1, "constant"

    def __init__(self, padding, value=0.0):
        self._set((padding,) * (2 * self._axes) if isinstance(padding, int) else tuple(padding), self._mode, value)


class ConstantPad1d(_Pad):
    pass


class ConstantPad2d(_Pad):
    _axes = 2


class ConstantPad3d(_Pad):
    _axes = 3


class _FixedPad(_Pad):
    def __init__(self, padding):
        super().__init__(padding)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_FixedPad):
    pass


class ZeroPad2d(_FixedPad):
    _axes = 2


class ZeroPad3d(_FixedPad):
    _axes = 3


class ReflectionPad1d(_FixedPad):
    _mode = "reflect"


class ReflectionPad2d(_FixedPad):
    _axes, _mode = 2, "reflect"


class ReflectionPad3d(_FixedPad):
    _axes, _mode = 3, "reflect"


class ReplicationPad1d(_FixedPad):
    _mode = "replicate"


class ReplicationPad2d(_FixedPad):
    _axes, _mode = 2, "replicate"


class ReplicationPad3d(_FixedPad):
    _axes, _mode = 3, "replicate"


class CircularPad1d(_FixedPad):
    _mode = "circular"


class CircularPad2d(_FixedPad):
    _axes, _mode = 2, "circular"


class CircularPad3d(_FixedPad):
    _axes, _mode = 3, "circular"
