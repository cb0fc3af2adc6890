"""Norms, with PyTorch's names and defaults."""
from .. import _ingot
from . import functional as F
from .module import Module

_op = F._op


class LayerNorm(Module):
    """Norm over the last axes, of the lengths normalized_shape."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        self.normalized_shape, self.eps = F._tuple(normalized_shape, 1), eps
        self.weight = _op.ones(self.normalized_shape) if elementwise_affine else None
        self.bias = _op.zeros(self.normalized_shape) if elementwise_affine and bias else None

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}, bias={self.bias is not None}"


class RMSNorm(Module):
    """x / sqrt(mean(x**2) + eps) over the last axes; eps None is the epsilon of the dtype."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        self.normalized_shape, self.eps = F._tuple(normalized_shape, 1), eps
        self.weight = _op.ones(self.normalized_shape) if elementwise_affine else None

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class GroupNorm(Module):
    """Norm over groups of channels (axis 1)."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        if num_channels % num_groups:
            raise ValueError(f"{num_groups} groups do not divide {num_channels} channels")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight, self.bias = (_op.ones(num_channels), _op.zeros(num_channels)) if affine else (None, None)

    def forward(self, input):
        return _op.group_norm(input, self.num_groups, self.weight, self.bias, eps=self.eps)

    def extra_repr(self):
        affine = self.weight is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={affine}, bias={affine}"


class _Norm(Module):
    """The common part of batch norm and instance norm: parameters and running statistics of channels (axis 1)."""

    _state = ("running_mean", "running_var", "num_batches_tracked")
    _ranks = ()  # numbers of axes of the input; any without

    def __init__(self, num_features, eps, momentum, affine, track_running_stats):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight, self.bias = (_op.ones(num_features), _op.zeros(num_features)) if affine else (None, None)
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            self.running_mean, self.running_var = _op.zeros(num_features), _op.ones(num_features)
            self.num_batches_tracked = _op.zeros((), dtype=_ingot.int64)

    def extra_repr(self):
        affine = self.weight is not None
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={affine}, bias={affine}, "
                f"track_running_stats={self.running_mean is not None}")

    def _check(self, input):
        if self._ranks and input.ndim not in self._ranks:
            raise _ingot.ShapeError(f"{type(self).__name__} takes {' or '.join(map(str, self._ranks))} axes, but the input has "
                                    f"the shape {input.shape}")

    def _track(self, mean, var, m):
        self.running_mean = (1 - m) * self.running_mean + m * mean
        self.running_var = (1 - m) * self.running_var + m * var


class BatchNorm(_Norm):
    """Normalizes channels (axis 1): by the batch in training, by running statistics in inference. momentum None: the
    statistics are means of all batches."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, input):
        self._check(input)
        if not self.training and self.running_mean is not None:
            return _op.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        if self.training and self.running_mean is not None:
            self.num_batches_tracked = self.num_batches_tracked + 1
            m = 1 / self.num_batches_tracked.astype(self.running_mean.dtype) if self.momentum is None else self.momentum
            self._track(*F.batch_statistics(input), m)
        return _op.batch_norm(input, weight=self.weight, bias=self.bias, eps=self.eps)


class BatchNorm1d(BatchNorm):
    """Batch norm of (N, C) or (N, C, L)."""

    _ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch norm of (N, C, H, W)."""

    _ranks = (4,)


class BatchNorm3d(BatchNorm):
    """Batch norm of (N, C, D, H, W)."""

    _ranks = (5,)


class _InstanceNorm(_Norm):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, input):
        self._check(input)
        if input.ndim == self._ranks[0]:
            return self.forward(input[None])[0]
        if not self.training and self.running_mean is not None:
            return _op.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        if self.training and self.running_mean is not None:
            fixed = _op.stop_gradient(input)
            axes = list(range(2, input.ndim))
            self._track(*(_op.mean(f, axis=0) for f in (_op.mean(fixed, axis=axes), _op.var(fixed, axis=axes, correction=1))),
                        self.momentum or 0.0)
        return _op.instance_norm(input, self.weight, self.bias, eps=self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Norm of each channel of each item of (N, C, L)."""

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Norm of each channel of each item of (N, C, H, W)."""

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Norm of each channel of each item of (N, C, D, H, W)."""

    _ranks = (4, 5)


class LocalResponseNorm(Module):
    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return _op.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
