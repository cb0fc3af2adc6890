"""The base of networks, and gradients of their parameters."""
import functools

from .. import _ingot, transform
from .._ingot import Array
from .._names import next_key

_ops = _ingot._ops


def _walk(value, name):
    """(name, owner, key, array) for each array in a module, a list or a dict; names as PyTorch's: "hidden.weight"."""
    if isinstance(value, Module):
        items = list(vars(value).items())
        store = vars(value)
    elif isinstance(value, dict):
        items, store = list(value.items()), value
    elif isinstance(value, (list, tuple)):
        items, store = list(enumerate(value)), value
    else:
        return
    for key, item in items:
        path = f"{name}.{key}" if name else str(key)
        if type(item) is Array:
            yield path, value, store, key, item
        else:
            yield from _walk(item, path)


class Module:
    """The base of networks and layers. Define forward; call the module."""

    training = True
    _state = ()  # names of arrays that are not trained

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def state_dict(self):
        """All arrays by name."""
        return {path: x for path, _, _, _, x in _walk(self, "")}

    def parameters(self):
        """The trained arrays by name."""
        return {path: x for path, owner, _, key, x in _walk(self, "")
                if key not in getattr(owner, "_state", ()) and x.dtype.kind in "fc"}

    def load_state_dict(self, arrays, strict=True):
        """Replaces arrays by arrays of the same names and shapes. With strict the names must be the same."""
        own = {path: (store, key, x) for path, _, store, key, x in _walk(self, "")}
        wrong = sorted(set(own) ^ set(arrays)) if strict else []
        if wrong:
            raise KeyError(f"names that only one of both has: {', '.join(wrong[:5])}")
        for path, x in arrays.items():
            if path not in own:
                continue
            store, key, old = own[path]
            x = _ingot.asarray(x)
            if x.shape != old.shape:
                raise ValueError(f"{path} has the shape {old.shape}, not {x.shape}")
            store[key] = x if x.dtype == old.dtype else x.astype(old.dtype)
        return self

    def modules(self):
        """The module and all modules in it."""
        found = [self]
        for item in vars(self).values():
            for one in item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else [item]:
                if isinstance(one, Module):
                    found += one.modules()
        return found

    def train(self, mode=True):
        """Selects training, or inference: dropout and batch norm differ."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def __repr__(self):
        shapes = ", ".join(f"{name}: {x.shape}" for name, x in self.state_dict().items())
        return f"{type(self).__name__}({shapes})"


def value_and_grad(model, function):
    """A function like function(model, ...) that returns (value, gradients of the model's parameters by name). State that
    layers change in the call, such as statistics of batch norm, is kept."""

    @functools.wraps(function)
    def wrapped(model, *args, **kwargs):
        before = model.parameters()

        def of(parameters):
            model.load_state_dict(parameters, strict=False)
            return function(model, *args, **kwargs)

        try:
            return transform.value_and_grad(of)(before)
        finally:
            model.load_state_dict(before, strict=False)

    return wrapped


def _uniform(shape, bound):
    return _ops["uniform"](next_key(), shape, minval=-bound, maxval=bound)


class Linear(Module):
    """x @ weight.T + bias; weight is (out, in), drawn as PyTorch does."""

    def __init__(self, inputs, outputs, bias=True):
        bound = inputs ** -0.5
        self.weight = _uniform((outputs, inputs), bound)
        self.bias = _uniform((outputs,), bound) if bias else None

    def forward(self, x):
        y = x @ self.weight.mT
        return y if self.bias is None else y + self.bias


class Conv(Module):
    """Convolution of x (N, C, ...) in as many dimensions as kernel has numbers."""

    def __init__(self, inputs, outputs, kernel, stride=1, padding=0, dilation=1, groups=1, bias=True):
        kernel = tuple(kernel)
        size = inputs // groups
        for k in kernel:
            size *= k
        self.weight = _uniform((outputs, inputs // groups) + kernel, size ** -0.5)
        self.bias = _uniform((outputs,), size ** -0.5) if bias else None
        self.options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}

    def forward(self, x):
        return _ops[f"conv{self.weight.ndim - 2}d"](x, self.weight, self.bias, **self.options)


def Conv1d(inputs, outputs, kernel, **options):
    return Conv(inputs, outputs, (kernel,) if isinstance(kernel, int) else kernel, **options)


def Conv2d(inputs, outputs, kernel, **options):
    return Conv(inputs, outputs, (kernel,) * 2 if isinstance(kernel, int) else kernel, **options)


def Conv3d(inputs, outputs, kernel, **options):
    return Conv(inputs, outputs, (kernel,) * 3 if isinstance(kernel, int) else kernel, **options)


class Embedding(Module):
    """Rows of a (count, width) table."""

    def __init__(self, count, width):
        self.weight = _ops["normal"](next_key(), (count, width))

    def forward(self, indices):
        return _ops["embedding"](indices, self.weight)


class LayerNorm(Module):
    """Norm over the last axis."""

    def __init__(self, width, eps=1e-5):
        self.weight, self.bias, self.eps = _ops["ones"](width), _ops["zeros"](width), eps

    def forward(self, x):
        return _ops["layer_norm"](x, self.weight, self.bias, eps=self.eps)


class RMSNorm(Module):
    def __init__(self, width, eps=1e-5):
        self.weight, self.eps = _ops["ones"](width), eps

    def forward(self, x):
        return _ops["rms_norm"](x, self.weight, eps=self.eps)


class GroupNorm(Module):
    def __init__(self, groups, width, eps=1e-5):
        self.weight, self.bias, self.groups, self.eps = _ops["ones"](width), _ops["zeros"](width), groups, eps

    def forward(self, x):
        return _ops["group_norm"](x, self.groups, self.weight, self.bias, eps=self.eps)


class BatchNorm(Module):
    """Normalizes channels (axis 1): by the batch in training, by running statistics in inference."""

    _state = ("running_mean", "running_var")

    def __init__(self, width, momentum=0.1, eps=1e-5):
        self.weight, self.bias = _ops["ones"](width), _ops["zeros"](width)
        self.running_mean, self.running_var = _ops["zeros"](width), _ops["ones"](width)
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if not self.training:
            return _ops["batch_norm"](x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        axes = [a for a in range(x.ndim) if a != 1]
        fixed = _ops["stop_gradient"](x)
        m = self.momentum
        self.running_mean = (1 - m) * self.running_mean + m * _ops["mean"](fixed, axis=axes)
        self.running_var = (1 - m) * self.running_var + m * _ops["var"](fixed, axis=axes, correction=1)
        return _ops["batch_norm"](x, weight=self.weight, bias=self.bias, eps=self.eps)


class Dropout(Module):
    """0 with probability p in training, else x / (1 - p)."""

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        return _ops["dropout"](x, next_key(), self.p) if self.training and self.p else x


class MultiHeadAttention(Module):
    """Attention of x (N, T, width) to context (N, S, width), or to itself."""

    def __init__(self, width, heads, bias=True):
        self.query, self.key, self.value, self.out = (Linear(width, width, bias) for _ in range(4))
        self.heads = heads

    def _split(self, x):
        n, t, width = x.shape
        return x.reshape((n, t, self.heads, width // self.heads)).permute_dims((0, 2, 1, 3))

    def forward(self, x, context=None, mask=None, is_causal=False):
        context = x if context is None else context
        q, k, v = (self._split(f(y)) for f, y in ((self.query, x), (self.key, context), (self.value, context)))
        y = _ops["scaled_dot_product_attention"](q, k, v, mask, is_causal)
        return self.out(y.permute_dims((0, 2, 1, 3)).reshape(x.shape))


class Sequential(Module):
    """Modules and functions, one after another."""

    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
