"""Activations and changes of shape as modules. `inplace` is accepted and has no effect."""
from .. import _ingot
from . import functional as F
from .module import Module

_op = F._op


class _Function(Module):
    """A module of a function without parameters: its attributes are the function's other arguments, in the order of
    _names."""

    _names = ()
    _shown = None  # the names that its text has, if not all

    def _set(self, *values):
        vars(self).update(zip(self._names, values))

    def forward(self, input):
        return self._call(input, *(getattr(self, name) for name in self._names))

    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in (self._names if self._shown is None else self._shown))


class Identity(Module):
    def __init__(self, *args, **kwargs):
        pass

    def forward(self, input):
        return input


class _Plain(_Function):
    def __init__(self, inplace=False):
        pass


class ReLU(_Plain):
    _call = staticmethod(_op.relu)


class ReLU6(_Plain):
    _call = staticmethod(F.relu6)


class SiLU(_Plain):
    _call = staticmethod(_op.silu)


class Mish(_Plain):
    _call = staticmethod(_op.mish)


class Tanh(_Plain):
    _call = staticmethod(_op.tanh)


class Sigmoid(_Plain):
    _call = staticmethod(_op.sigmoid)


class LogSigmoid(_Plain):
    _call = staticmethod(_op.log_sigmoid)


class SELU(_Plain):
    _call = staticmethod(_op.selu)


class Softsign(_Plain):
    _call = staticmethod(_op.softsign)


class Hardswish(_Plain):
    _call = staticmethod(_op.hardswish)


class Hardsigmoid(_Plain):
    _call = staticmethod(F.hardsigmoid)


class Tanhshrink(_Plain):
    _call = staticmethod(lambda x: x - _op.tanh(x))


class GELU(_Function):
    _names = ("approximate",)
    _call = staticmethod(_op.gelu)

    def __init__(self, approximate="none"):
        self._set(approximate)


class LeakyReLU(_Function):
    _names = ("negative_slope",)
    _call = staticmethod(_op.leaky_relu)

    def __init__(self, negative_slope=0.01, inplace=False):
        self._set(negative_slope)


class ELU(_Function):
    _names = ("alpha",)
    _call = staticmethod(_op.elu)

    def __init__(self, alpha=1.0, inplace=False):
        self._set(alpha)


class CELU(ELU):
    _call = staticmethod(_op.celu)


class Softplus(_Function):
    _names = ("beta", "threshold")
    _call = staticmethod(F.softplus)

    def __init__(self, beta=1.0, threshold=20.0):
        self._set(beta, threshold)


class Softshrink(_Function):
    _names = ("lambd",)
    _call = staticmethod(lambda x, lambd: _op.where(x > lambd, x - lambd, _op.where(x < -lambd, x + lambd, 0)))

    def __init__(self, lambd=0.5):
        self._set(lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Hardshrink(Softshrink):
    _call = staticmethod(F.hardshrink)


class Hardtanh(_Function):
    _names = ("min_val", "max_val")
    _call = staticmethod(F.hardtanh)

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        self._set(min_val, max_val)


class Threshold(_Function):
    _names = ("threshold", "value")
    _call = staticmethod(F.threshold)

    def __init__(self, threshold, value, inplace=False):
        self._set(threshold, value)


class Softmax(_Function):
    _names = ("dim",)
    _call = staticmethod(F.softmax)

    def __init__(self, dim=None):
        self._set(dim)


class LogSoftmax(Softmax):
    _call = staticmethod(F.log_softmax)


class Softmin(Softmax):
    _call = staticmethod(F.softmin)


class Softmax2d(_Plain):
    _call = staticmethod(lambda x: _op.softmax(x, -3))


class GLU(_Function):
    _names = ("dim",)
    _call = staticmethod(_op.glu)

    def __init__(self, dim=-1):
        self._set(dim)


class PReLU(Module):
    def __init__(self, num_parameters=1, init=0.25):
        self.weight = _op.full((num_parameters,), float(init), dtype=_ingot.float32)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.weight.shape[0]}"


class RReLU(Module):
    def __init__(self, lower=1 / 8, upper=1 / 3, inplace=False):
        self.lower, self.upper = lower, upper

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}"


# ---- dropout ----

class Dropout(Module):
    """0 with probability p in training, else x / (1 - p)."""

    _call = staticmethod(F.dropout)

    def __init__(self, p=0.5, inplace=False):
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: the probability {p} is not within [0, 1]")
        self.p = p

    def forward(self, input):
        return self._call(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace=False"


class Dropout1d(Dropout):
    """Whole channels of (N, C, ...) become 0."""

    _call = staticmethod(F.dropout2d)


class Dropout2d(Dropout1d):
    pass


class Dropout3d(Dropout1d):
    pass


class AlphaDropout(Dropout):
    _call = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    _call = staticmethod(F.feature_alpha_dropout)


# ---- shapes ----

class Flatten(_Function):
    """The axes from start_dim to end_dim as one."""

    _names = ("start_dim", "end_dim")
    _call = staticmethod(_op.flatten)

    def __init__(self, start_dim=1, end_dim=-1):
        self._set(start_dim, end_dim)


class Unflatten(Module):
    """The axis dim as several axes of the lengths unflattened_size."""

    def __init__(self, dim, unflattened_size):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):
        dim = self.dim % input.ndim
        return input.reshape(input.shape[:dim] + self.unflattened_size + input.shape[dim + 1:])

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(_Function):
    _names = ("upscale_factor",)
    _call = staticmethod(_op.pixel_shuffle)

    def __init__(self, upscale_factor):
        self._set(upscale_factor)


class PixelUnshuffle(_Function):
    _names = ("downscale_factor",)
    _call = staticmethod(_op.pixel_unshuffle)

    def __init__(self, downscale_factor):
        self._set(downscale_factor)


class Upsample(_Function):
    """(N, C, ...) resampled to a size, or to scale_factor times its size."""

    _names = ("size", "scale_factor", "mode", "align_corners")
    _call = staticmethod(F.interpolate)

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        self._set(size, scale_factor, mode, align_corners)

    def _scale(self):
        return tuple(map(float, self.scale_factor)) if isinstance(self.scale_factor, (list, tuple)) else float(self.scale_factor)

    def extra_repr(self):
        of = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self._scale()}"
        return f"{of}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)


class Unfold(_Function):
    _names = ("kernel_size", "dilation", "padding", "stride")
    _call = staticmethod(_op.unfold)

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        self._set(kernel_size, dilation, padding, stride)


class Fold(_Function):
    _names = ("output_size", "kernel_size", "dilation", "padding", "stride")
    _call = staticmethod(_op.fold)

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        self._set(output_size, kernel_size, dilation, padding, stride)


class CosineSimilarity(Module):
    def __init__(self, dim=1, eps=1e-8):
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
