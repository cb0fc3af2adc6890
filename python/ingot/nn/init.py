"""Initial values, as PyTorch's torch.nn.init: functions that change an array in place and return it."""
import math

from .. import _names
from .._names import next_key

_op = _names.op_space()


def __getattr__(name):
    return _names.find(name, "init.")


def _set(tensor, values):
    tensor[...] = values.astype(tensor.dtype)
    return tensor


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    return _set(tensor, _op.uniform(_key(generator), tensor.shape, minval=a, maxval=b))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    return _set(tensor, _op.normal(_key(generator), tensor.shape, loc=mean, scale=std))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers between a and b."""
    draws = _op.truncated_normal(_key(generator), (a - mean) / std, (b - mean) / std, tensor.shape)
    return _set(tensor, mean + std * draws)


def constant_(tensor, val):
    return _set(tensor, _op.full(tensor.shape, val, dtype=tensor.dtype))


def zeros_(tensor):
    return constant_(tensor, 0)


def ones_(tensor):
    return constant_(tensor, 1)


def eye_(tensor):
    return _set(tensor, _op.eye(*tensor.shape))


def dirac_(tensor, groups=1):
    """Kernels (out, in, ...) of convolutions that keep their input, as many channels as possible."""
    out = tensor.shape[0] // groups
    values = _op.zeros(tensor.shape)
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for g in range(groups):
        for k in range(min(out, tensor.shape[1])):
            values[(g * out + k, k, *middle)] = 1
    return _set(tensor, values)


def _key(generator):
    return next_key() if generator is None else generator


def _calculate_fan_in_and_fan_out(tensor):
    """Inputs of an output, and outputs of an input, of weights (out, in, ...)."""
    if tensor.ndim < 2:
        raise ValueError(f"the shape {tensor.shape} has no inputs and outputs; it needs 2 axes or more")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance of a network with these activations."""
    gains = {"tanh": 5 / 3, "relu": 2 ** 0.5, "selu": 0.75}
    if nonlinearity == "leaky_relu":
        return (2 / (1 + (0.01 if param is None else param) ** 2)) ** 0.5
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity in ("sigmoid", "linear") or nonlinearity.startswith("conv"):
        return 1.0
    raise ValueError(f"calculate_gain: unknown nonlinearity '{nonlinearity}'; use linear, conv1d, sigmoid, tanh, relu, leaky_relu or selu")


def xavier_uniform_(tensor, gain=1.0, generator=None):
    bound = gain * (6 / sum(_calculate_fan_in_and_fan_out(tensor))) ** 0.5
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    return normal_(tensor, 0.0, gain * (2 / sum(_calculate_fan_in_and_fan_out(tensor))) ** 0.5, generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"unknown mode '{mode}'; use fan_in or fan_out")
    fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / fan ** 0.5


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    bound = 3 ** 0.5 * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Orthogonal rows or columns, whichever are fewer, of (out, the rest)."""
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: the shape {tensor.shape} is not a matrix; it needs 2 axes or more")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q = _op.orthogonal(_key(generator), max(rows, columns))
    return _set(tensor, gain * q[:rows, :columns].reshape(tensor.shape))


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, and zeros for the fraction `sparsity` of each column."""
    rows = tensor.shape[0]
    order = _op.argsort(_op.uniform(_key(generator), tensor.shape), axis=0)
    kept = _op.argsort(order, axis=0) >= math.ceil(sparsity * rows)
    return _set(tensor, _op.where(kept, _op.normal(next_key(), tensor.shape, scale=std), 0.0))
