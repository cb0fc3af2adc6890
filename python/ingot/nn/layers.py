"""Linear maps, embeddings and convolutions, drawn as PyTorch draws them."""
from .._names import next_key
from . import functional as F
from .module import Module

_op = F._op


def _uniform(shape, bound):
    return _op.uniform(next_key(), shape, minval=-bound, maxval=bound)


class Linear(Module):
    """x @ weight.T + bias; weight is (out, in)."""

    def __init__(self, in_features, out_features, bias=True):
        bound = in_features ** -0.5 if in_features else 0.0
        self.in_features, self.out_features = in_features, out_features
        self.weight = _uniform((out_features, in_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, input):
        y = input @ self.weight.mT
        return y if self.bias is None else y + self.bias

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 @ weight @ x2 + bias for each output; weight is (out, in1, in2)."""

    def __init__(self, in1_features, in2_features, out_features, bias=True):
        bound = in1_features ** -0.5
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = _uniform((out_features, in1_features, in2_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class Embedding(Module):
    """Rows of a (num_embeddings, embedding_dim) table. The row padding_idx is 0 and gets no gradient."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = _op.normal(next_key(), (num_embeddings, embedding_dim))
        if padding_idx is not None:
            self.weight[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
        made = cls(*embeddings.shape, padding_idx)
        made.weight = embeddings
        return made.requires_grad_(not freeze)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


# ---- convolutions ----

def _conv_repr(conv, stride, padding, dilation, groups, output_padding=0, padding_mode="zeros"):
    """The arguments of a convolution, as PyTorch shows them: without most defaults."""
    axes = len(conv.kernel_size)
    none, one = (0,) * axes, (1,) * axes
    stride, dilation, output_padding = (F._tuple(n, axes) for n in (stride, dilation, output_padding))
    padding = padding if isinstance(padding, str) else F._tuple(padding, axes)
    options = {"padding": (padding, none), "dilation": (dilation, one), "output_padding": (output_padding, none), "groups": (groups, 1),
               "bias": (conv.bias is not None, True), "padding_mode": (padding_mode, "zeros")}
    return ", ".join([f"{conv.in_channels}, {conv.out_channels}, kernel_size={conv.kernel_size}, stride={stride}",
                      *(f"{name}={value}" for name, (value, default) in options.items() if value != default)])


class Conv(Module):
    """Convolution of x (N, C, ...) in as many dimensions as kernel_size has numbers. padding: numbers, 'valid' or 'same'.
    padding_mode: zeros, reflect, replicate or circular."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros"):
        kernel_size = tuple(kernel_size)
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{groups} groups do not divide {in_channels} inputs and {out_channels} outputs")
        if padding_mode not in F._PAD_MODES:
            raise ValueError(f"unknown padding_mode '{padding_mode}'; use zeros, reflect, replicate or circular")
        size = in_channels // groups
        for k in kernel_size:
            size *= k
        self.in_channels, self.out_channels, self.kernel_size, self.stride = in_channels, out_channels, kernel_size, stride
        self.padding, self.dilation, self.groups, self.padding_mode = padding, dilation, groups, padding_mode
        self.weight = _uniform((out_channels, in_channels // groups) + kernel_size, size ** -0.5)
        self.bias = _uniform((out_channels,), size ** -0.5) if bias else None

    def forward(self, input):
        axes = len(self.kernel_size)
        padding = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            if padding == "same":
                total = [d * (k - 1) for d, k in zip(F._tuple(self.dilation, axes), self.kernel_size)]
            else:
                total = [2 * n for n in F._tuple(padding, axes)]
            input, padding = F.pad(input, [w for n in reversed(total) for w in (n // 2, n - n // 2)], self.padding_mode), 0
        function = getattr(F, f"conv{axes}d")
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self):
        return _conv_repr(self, self.stride, self.padding, self.dilation, self.groups, padding_mode=self.padding_mode)


class Conv1d(Conv):
    """Convolution of (N, C, L); weight is (out, in / groups, k)."""

    def __init__(self, in_channels, out_channels, kernel_size, *args, **options):
        super().__init__(in_channels, out_channels, F._tuple(kernel_size, 1), *args, **options)


class Conv2d(Conv):
    """Convolution of (N, C, H, W); weight is (out, in / groups, k, k)."""

    def __init__(self, in_channels, out_channels, kernel_size, *args, **options):
        super().__init__(in_channels, out_channels, F._tuple(kernel_size, 2), *args, **options)


class Conv3d(Conv):
    """Convolution of (N, C, D, H, W); weight is (out, in / groups, k, k, k)."""

    def __init__(self, in_channels, out_channels, kernel_size, *args, **options):
        super().__init__(in_channels, out_channels, F._tuple(kernel_size, 3), *args, **options)


class _ConvTranspose(Module):
    _axes = 1

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1):
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{groups} groups do not divide {in_channels} inputs and {out_channels} outputs")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, F._tuple(kernel_size, self._axes)
        size = out_channels // groups
        for k in self.kernel_size:
            size *= k
        self.options = {"stride": stride, "padding": padding, "output_padding": output_padding, "groups": groups, "dilation": dilation}
        self.weight = _uniform((in_channels, out_channels // groups) + self.kernel_size, size ** -0.5)
        self.bias = _uniform((out_channels,), size ** -0.5) if bias else None

    def forward(self, input, output_size=None):
        options = self.options
        if output_size is not None:
            options = {**options, "output_padding": self._to_size(input, tuple(output_size)[-self._axes:])}
        return getattr(F, f"conv_transpose{self._axes}d")(input, self.weight, self.bias, **options)

    def extra_repr(self):
        return _conv_repr(self, **self.options)

    def _to_size(self, input, output_size):
        """The output_padding that gives a size."""
        stride, padding, dilation = (F._tuple(self.options[name], self._axes) for name in ("stride", "padding", "dilation"))
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1
                 for n, s, p, d, k in zip(input.shape[-self._axes:], stride, padding, dilation, self.kernel_size)]
        return [size - n for size, n in zip(output_size, least)]


class ConvTranspose1d(_ConvTranspose):
    """The gradient of Conv1d with respect to its input; weight is (in, out / groups, k)."""


class ConvTranspose2d(_ConvTranspose):
    """The gradient of Conv2d with respect to its input; weight is (in, out / groups, k, k)."""

    _axes = 2


class ConvTranspose3d(_ConvTranspose):
    """The gradient of Conv3d with respect to its input; weight is (in, out / groups, k, k, k)."""

    _axes = 3
