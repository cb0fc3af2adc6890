"""Initial values, as jax.nn.initializers: functions that make a function (key, shape, dtype) of parameters."""
import math

from .. import _ingot
from .._names import adviser

_ops = _ingot._ops


def _made(draw):
    def init(key, shape, dtype=None, out_sharding=None):
        return draw(key, tuple(shape)).astype(dtype or _ingot.float32)

    return init


def zeros(key, shape, dtype=None):
    return _ops["zeros"](tuple(shape), dtype=dtype or _ingot.float32)


def ones(key, shape, dtype=None):
    return _ops["ones"](tuple(shape), dtype=dtype or _ingot.float32)


def constant(value, dtype=None):
    return lambda key, shape, dtype=dtype: _ops["full"](tuple(shape), value, dtype=dtype or _ingot.float32)


def normal(stddev=0.01, dtype=None):
    return _made(lambda key, shape: _ops["normal"](key, shape, scale=stddev))


def uniform(scale=0.01, dtype=None):
    return _made(lambda key, shape: _ops["uniform"](key, shape) * scale)


def truncated_normal(stddev=0.01, dtype=None, lower=-2.0, upper=2.0):
    return _made(lambda key, shape: _ops["truncated_normal"](key, lower, upper, shape) * stddev)


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
    """Numbers with the variance scale / n; n is the length that mode names: "fan_in", "fan_out" or "fan_avg"."""
    def axes(given, ndim):
        return [axis % ndim for axis in (given if isinstance(given, (tuple, list)) else (given,))]

    def draw(key, shape):
        if len(shape) < 2:
            raise ValueError(f"variance_scaling needs a shape of two lengths or more, not {shape}")
        inside, outside, batch = (axes(given, len(shape)) for given in (in_axis, out_axis, batch_axis))
        field = math.prod(n for axis, n in enumerate(shape) if axis not in inside + outside + batch)
        fan_in, fan_out = (field * math.prod(shape[axis] for axis in at) for at in (inside, outside))
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
        if mode not in fans:
            raise ValueError(f"variance_scaling: mode is one of {', '.join(fans)}, not {mode!r}")
        variance = scale / max(1, fans[mode])
        if distribution == "normal":
            return _ops["normal"](key, shape) * math.sqrt(variance)
        if distribution == "uniform":
            return _ops["uniform"](key, shape, minval=-1, maxval=1) * math.sqrt(3 * variance)
        if distribution == "truncated_normal":  # divided by the deviation of a normal number between -2 and 2
            return _ops["truncated_normal"](key, -2, 2, shape) * (math.sqrt(variance) / 0.87962566103423978)
        raise ValueError(f"variance_scaling: distribution is normal, uniform or truncated_normal, not {distribution!r}")

    return _made(draw)


def _named(scale, mode, distribution):
    def make(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis)

    return make


glorot_normal = xavier_normal = _named(1.0, "fan_avg", "truncated_normal")
glorot_uniform = xavier_uniform = _named(1.0, "fan_avg", "uniform")
he_normal = kaiming_normal = _named(2.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _named(2.0, "fan_in", "uniform")
lecun_normal = _named(1.0, "fan_in", "truncated_normal")
lecun_uniform = _named(1.0, "fan_in", "uniform")


def orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Matrices with orthogonal columns, or rows if there are fewer of them."""
    def draw(key, shape):
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        q, r = _ops["qr"](_ops["normal"](key, (max(rows, columns), min(rows, columns))))
        q = q * _ops["sign"](_ops["diagonal"](r))
        q = (q if rows >= columns else q.T).reshape(shape[:column_axis % len(shape)] + shape[column_axis % len(shape) + 1:] + (columns,))
        return _ops["moveaxis"](q, -1, column_axis) * scale

    return _made(draw)

__getattr__ = adviser(__name__, "nn.")
