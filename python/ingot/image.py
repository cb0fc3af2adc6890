"""Sizes of images, as jax.image has them."""
import math

from . import _ingot

_ops = _ingot._ops


def _triangle(x):
    return _ops["maximum"](1 - x, 0)


def _cubic(x):
    inner = ((1.5 * x - 2.5) * x) * x + 1
    outer = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return _ops["where"](x >= 2, 0, _ops["where"](x >= 1, outer, inner))


def _lanczos(radius):
    return lambda x: _ops["where"](x > radius, 0, _ops["sinc"](x) * _ops["sinc"](x / radius))


_KERNELS = {"linear": _triangle, "bilinear": _triangle, "trilinear": _triangle, "triangle": _triangle, "cubic": _cubic, "bicubic": _cubic,
            "tricubic": _cubic, "lanczos3": _lanczos(3), "lanczos5": _lanczos(5)}


def _weights(n, m, kernel, antialias, dtype):
    """The share of each of n elements in each of m new ones. A kernel is wider where the image becomes smaller."""
    step = n / m
    width = max(step, 1.0) if antialias else 1.0
    at = (_ops["arange"](m, dtype="float64") + 0.5) * step - 0.5
    weights = kernel(_ops["abs"](at[None, :] - _ops["arange"](n, dtype="float64")[:, None]) / width)
    total = _ops["sum"](weights, 0, keepdims=True)
    weights = _ops["where"](_ops["abs"](total) > 1e-6, weights / _ops["where"](total != 0, total, 1), 0)
    return _ops["where"]((at >= -0.5) & (at <= n - 0.5), weights, 0).astype(dtype)


def resize(image, shape, method, antialias=True, precision=None):
    """An image, or any array, with other lengths of its axes. method: "nearest", "linear", "cubic", "lanczos3" or "lanczos5"."""
    x, shape, method = _ingot.asarray(image), tuple(shape), str(getattr(method, "name", method)).lower()
    if len(shape) != x.ndim:
        raise _ingot.ShapeError(f"resize: the new shape {shape} has {len(shape)} axes, the array {x.ndim}")
    if method not in _KERNELS and method != "nearest":
        raise ValueError(f"resize: there is no method '{method}'; use nearest, {', '.join(_KERNELS)}")
    x = x if method == "nearest" or x.dtype.kind in "fc" else x.astype(_ingot.get_default_dtype())
    for axis, (n, m) in enumerate(zip(x.shape, shape)):
        if n == m:
            continue
        if method == "nearest":
            x = _ops["take"](x, _ingot.asarray([math.floor((i + 0.5) * n / m) for i in range(m)]), axis)
        else:
            x = _ops["moveaxis"](_ops["tensordot"](x, _weights(n, m, _KERNELS[method], antialias, x.dtype), axes=[[axis], [0]]), -1, axis)
    return x


def __getattr__(name):
    raise AttributeError(f"module 'ingot.image' has no attribute '{name}': use ig.image.resize, ig.nn.functional.interpolate or "
                         "ig.nn.functional.grid_sample")
