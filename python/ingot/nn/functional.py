"""Functions of PyTorch's torch.nn.functional, with its arguments. Functions that have the same arguments here are the ops:
functional.relu6 is ingot.relu6. `inplace` is accepted and has no effect: use the result."""
import math

from .. import _ingot, _names
from .._names import next_key

_op = _names.op_space()


def __getattr__(name):
    return _names.find(name, "functional.")


# ---- activations ----

def relu(input, inplace=False):
    return _op.relu(input)


def relu6(input, inplace=False):
    return _op.clip(input, 0, 6)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return _op.leaky_relu(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    return _op.elu(input, alpha)


def selu(input, inplace=False):
    return _op.selu(input)


def celu(input, alpha=1.0, inplace=False):
    return _op.celu(input, alpha)


def silu(input, inplace=False):
    return _op.silu(input)


def mish(input, inplace=False):
    return _op.mish(input)


def hardswish(input, inplace=False):
    return _op.hardswish(input)


def hardsigmoid(input, inplace=False):
    return _op.clip(input / 6 + 0.5, 0, 1)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return _op.clip(input, min_val, max_val)


def hardshrink(input, lambd=0.5):
    return _op.where(_op.abs(input) > lambd, input, 0)


def threshold(input, threshold, value, inplace=False):
    return _op.where(input > threshold, input, value)


def prelu(input, weight):
    """x, or weight * x below 0; weight has one element, or one for each channel (axis 1)."""
    if weight.size > 1 and input.ndim > 1:
        weight = weight.reshape((-1,) + (1,) * (input.ndim - 2))
    return _op.prelu(input, weight)


def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    if not training:
        return _op.leaky_relu(input, (lower + upper) / 2)
    slope = _op.uniform(next_key(), input.shape, minval=lower, maxval=upper).astype(input.dtype)
    return _op.where(input >= 0, input, input * slope)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold."""
    return _op.where(input * beta > threshold, input, _op.softplus(_op.minimum(input * beta, threshold)) / beta)


def softmax(input, dim=None, dtype=None):
    x = input if dtype is None else input.astype(dtype)
    return _op.softmax(x, _last(x, dim))


def log_softmax(input, dim=None, dtype=None):
    x = input if dtype is None else input.astype(dtype)
    return _op.log_softmax(x, _last(x, dim))


def softmin(input, dim=None):
    return softmax(-input, dim)


def _last(x, dim):
    """The axis that PyTorch takes where none is given."""
    return dim if dim is not None else 0 if x.ndim in (0, 1, 3) else 1


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Draws from the distribution of logits: probabilities, or with hard one of each, with the gradient of probabilities."""
    y = _op.softmax((logits + _op.gumbel(next_key(), logits.shape).astype(logits.dtype)) / tau, dim)
    if not hard:
        return y
    one = _op.moveaxis(_op.one_hot(_op.argmax(y, dim), y.shape[dim], dtype=y.dtype), -1, dim)
    return _op.stop_gradient(one - y) + y


# ---- linear maps, embeddings, attention ----

def linear(input, weight, bias=None):
    y = input @ weight.T
    return y if bias is None else y + bias


def bilinear(input1, input2, weight, bias=None):
    y = _op.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def embedding(input, weight, padding_idx=None):
    """Rows of weight. The row padding_idx gets no gradient."""
    y = _op.embedding(input, weight)
    if padding_idx is None:
        return y
    row = padding_idx + len(weight) if padding_idx < 0 else padding_idx
    return _op.where((input == row)[..., None], _op.stop_gradient(y), y)


def one_hot(tensor, num_classes=-1):
    """1 at the index along a new last axis, else 0, as int64. Without num_classes the largest index is read."""
    n = int(_op.max(tensor)) + 1 if num_classes == -1 else num_classes
    return _op.one_hot(tensor, n, dtype=_ingot.int64)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = _op.repeat(key, times, axis=-3), _op.repeat(value, times, axis=-3)
    if not dropout_p:
        return _op.scaled_dot_product_attention(query, key, value, attn_mask, is_causal, scale)
    return dropout(attention_weights(query, key, attn_mask, is_causal, scale), dropout_p) @ value


def attention_weights(query, key, attn_mask=None, is_causal=False, scale=None):
    """softmax(query @ key.T * scale + mask). A mask of bools is true where a query attends."""
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = _op.tril(_op.ones(scores.shape[-2:], dtype=_ingot.bool))
    if attn_mask is not None:
        scores = _op.where(attn_mask, scores, -math.inf) if attn_mask.dtype == _ingot.bool else scores + attn_mask
    return _op.softmax(scores, -1)


# ---- convolutions, pools, resampling ----

_PAD_MODES = {"zeros": "constant", "constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input, pad, mode="constant", value=None):
    """x with a border: pad has two widths for the last axis, then two for the one before it, and so on. Negative widths cut."""
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ValueError(f"pad: {len(pad)} widths for {input.ndim} axes; give two for each axis, the last axis first")
    if mode not in _PAD_MODES:
        raise ValueError(f"pad: unknown mode '{mode}'; use one of {', '.join(_PAD_MODES)}")
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [tuple(pad[i:i + 2]) for i in range(len(pad) - 2, -1, -2)]
    if any(w < 0 for pair in pairs for w in pair):
        input = input[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape))]
        pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    return _op.pad(input, [w for pair in pairs for w in pair], _PAD_MODES[mode], value or 0) if any(map(any, pairs)) else input


def _tuple(value, n):
    return (value,) * n if isinstance(value, int) else tuple(value)


def _batched(function, x, axes):
    """The function of x with an axis for the batch, which PyTorch's inputs need not have."""
    return function(x) if x.ndim == axes + 2 else function(x[None])[0]


def _convolution(axes):
    op = getattr(_op, f"conv{axes}d")

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if padding == "valid":
            padding = 0
        if padding == "same":
            if set(_tuple(stride, axes)) != {1}:
                raise ValueError("padding='same' needs stride=1; give the padding as numbers")
            total = [d * (k - 1) for d, k in zip(_tuple(dilation, axes), weight.shape[2:])]
            padding = [n // 2 for n in total]
            if any(n % 2 for n in total):
                input = pad(input, [w for n in reversed(total) for w in (0, n % 2)])
        return _batched(lambda x: op(x, weight, bias, stride, padding, dilation, groups), input, axes)

    conv.__name__ = conv.__qualname__ = f"conv{axes}d"
    conv.__doc__ = f"Cross-correlation along the last {axes} axes of (N, C, ...). padding: numbers, 'valid' or 'same'."
    return conv


def _transposed(axes):
    op = getattr(_op, f"conv_transpose{axes}d")

    def conv(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _batched(lambda x: op(x, weight, bias, stride, padding, output_padding, groups, dilation), input, axes)

    conv.__name__ = conv.__qualname__ = f"conv_transpose{axes}d"
    return conv


def _max_pool(axes):
    op, both = getattr(_op, f"max_pool{axes}d"), getattr(_op, f"max_pool{axes}d_with_indices")

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            if input.ndim == axes + 2:
                return both(input, kernel_size, stride, padding, dilation, ceil_mode)
            return tuple(y[0] for y in both(input[None], kernel_size, stride, padding, dilation, ceil_mode))
        return _batched(lambda x: op(x, kernel_size, stride, padding, dilation, ceil_mode), input, axes)

    pool.__name__ = pool.__qualname__ = f"max_pool{axes}d"
    return pool


def _avg_pool(axes):
    op = getattr(_op, f"avg_pool{axes}d")

    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if divisor_override is not None:
            if ceil_mode or not count_include_pad:
                raise ValueError("avg_pool: divisor_override needs ceil_mode=False and count_include_pad=True")
            return pool(input, kernel_size, stride, padding) * (math.prod(_tuple(kernel_size, axes)) / divisor_override)
        return _batched(lambda x: op(x, kernel_size, stride, padding, ceil_mode, count_include_pad), input, axes)

    pool.__name__ = pool.__qualname__ = f"avg_pool{axes}d"
    return pool


def _adaptive(kind, axes):
    op = getattr(_op, f"adaptive_{kind}_pool{axes}d")

    def pool(input, output_size):
        sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * axes
        sizes = [n if size is None else size for size, n in zip(sizes, input.shape[-axes:])]
        return _batched(lambda x: op(x, sizes), input, axes)

    pool.__name__ = pool.__qualname__ = f"adaptive_{kind}_pool{axes}d"
    return pool


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed, (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("avg", n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("max", n) for n in (1, 2, 3))

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """x (N, C, ...) resampled to size, or to scale_factor times its size."""
    axes = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * axes
        exact = [n * f for n, f in zip(input.shape[2:], factors)]
        size = [int(n) for n in exact]
        if not recompute_scale_factor and any(n != s for n, s in zip(exact, size)):
            raise ValueError(f"interpolate: scale_factor {scale_factor} gives the fractional size {exact}; give size, or "
                             "recompute_scale_factor=True to round it down")
    size = [size] * axes if isinstance(size, int) else list(size)
    if mode == "area":
        return globals()[f"adaptive_avg_pool{axes}d"](input, size)
    if mode not in _MODES:
        raise ValueError(f"interpolate: unknown mode '{mode}'; use one of {', '.join(_MODES)}, area")
    return _op.interpolate(input, size, _MODES[mode], bool(align_corners), antialias)


upsample = interpolate


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    if mode not in _MODES:
        raise ValueError(f"grid_sample: unknown mode '{mode}'; use nearest, bilinear or bicubic")
    return _op.grid_sample(input, grid, _MODES[mode], padding_mode, bool(align_corners))


# ---- norms ----

def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalized over the last axes, of normalized_shape."""
    return _over_last(_op.layer_norm, input, normalized_shape, weight, bias, eps=eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean(x**2) + eps) over the last axes; eps None is the epsilon of the dtype."""
    return _over_last(_op.rms_norm, input, normalized_shape, weight, eps=_ingot._finfo(input.dtype)[1] if eps is None else eps)


def _over_last(op, x, shape, *parameters, eps):
    shape = _tuple(shape, 1)
    if x.shape[x.ndim - len(shape):] != shape:
        raise _ingot.ShapeError(f"the last axes of {x.shape} are normalized over {shape}; they must be the same")
    if len(shape) == 1:
        return op(x, *parameters, eps=eps)
    flat = [None if p is None else p.reshape((-1,)) for p in parameters]
    return op(x.reshape(x.shape[:x.ndim - len(shape)] + (-1,)), *flat, eps=eps).reshape(x.shape)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return _op.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalized by channel (axis 1): by the batch in training, which also updates the statistics in place, else by these."""
    if not training:
        return _op.batch_norm(input, running_mean, running_var, weight, bias, eps)
    if running_mean is not None:
        mean, var = batch_statistics(input)
        running_mean[...] = (1 - momentum) * running_mean + momentum * mean
        running_var[...] = (1 - momentum) * running_var + momentum * var
    return _op.batch_norm(input, weight=weight, bias=bias, eps=eps)


def batch_statistics(x):
    """The mean and the unbiased variance of each channel (axis 1), without gradients."""
    x = _op.stop_gradient(x)
    axes = [a for a in range(x.ndim) if a != 1]
    if x.size == x.shape[1]:
        raise _ingot.ShapeError(f"batch norm in training needs more than one value for each channel, but x is {x.shape}")
    return _op.mean(x, axis=axes), _op.var(x, axis=axes, correction=1)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats:
        return _op.batch_norm(input, running_mean, running_var, weight, bias, eps)
    if running_mean is not None:
        raise ValueError("instance_norm: running statistics are not updated here; use nn.InstanceNorm2d(track_running_stats=True)")
    return _op.instance_norm(input, weight, bias, eps)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x divided by its norms along dim, which are at least eps."""
    return input / _op.maximum(_op.vector_norm(input, axis=dim, keepdims=True, ord=p), eps)


# ---- dropout ----

def _dropout(op):
    def drop(input, p=0.5, training=True, inplace=False):
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: the probability {p} is not within [0, 1]")
        return input if not training or p == 0 else _op.zeros_like(input) if p == 1 else op(input, next_key(), p)

    drop.__name__ = drop.__qualname__ = op.__name__
    return drop


dropout, alpha_dropout = _dropout(_op.dropout), _dropout(_op.alpha_dropout)
dropout1d = dropout2d = dropout3d = _dropout(_op.feature_dropout)
feature_alpha_dropout = _dropout(_op.feature_alpha_dropout)


# ---- distances and losses ----

def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    return _op.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return _op.vector_norm(x1 - x2 + eps, axis=-1, keepdims=keepdim, ord=p)


def _reduced(loss, reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"unknown reduction '{reduction}'; use none, mean or sum")
    return loss if reduction == "none" else _op.mean(loss) if reduction == "mean" else _op.sum(loss)


def _weighted(loss, weight, reduction):
    return _reduced(loss if weight is None else loss * weight, reduction)


def _same_shape(name, input, target):
    """PyTorch warns of different shapes, whose broadcast loss is rarely meant."""
    if input.shape != target.shape:
        raise _ingot.ShapeError(f"{name}: input has shape {input.shape} and target {target.shape}; they must be the same")


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    _same_shape("mse_loss", input, target)
    return _weighted(_op.mse(input, target, "none"), weight, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    _same_shape("l1_loss", input, target)
    return _weighted(_op.l1(input, target, "none"), weight, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    _same_shape("smooth_l1_loss", input, target)
    return _op.smooth_l1(input, target, beta, reduction) if beta else _op.l1(input, target, reduction)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    _same_shape("huber_loss", input, target)
    return _weighted(_op.huber(input, target, delta, "none"), weight, reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The loss of probabilities. Its logarithms are at least -100."""
    _same_shape("binary_cross_entropy", input, target)
    return _weighted(_op.binary_cross_entropy(input, target, "none"), weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    _same_shape("binary_cross_entropy_with_logits", input, target)
    if pos_weight is None:
        return _weighted(_op.bce_with_logits(input, target, "none"), weight, reduction)
    log_weight = 1 + (pos_weight - 1) * target
    return _weighted((1 - target) * input - log_weight * _op.log_sigmoid(input), weight, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input): input holds log probabilities, and with log_target so does target."""
    loss = _op.exp(target) * (target - input) if log_target else _op.xlogy(target, target) - target * input
    return _op.sum(loss) / input.shape[0] if reduction == "batchmean" else _reduced(loss, reduction)


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """The loss of logits (N, C, ...) or (C): target holds the indices of classes, or has the shape of input and holds
    probabilities. Targets of ignore_index do not count."""
    axis = 0 if input.ndim == 1 else 1
    if target.shape == input.shape and target.dtype.kind == "f":
        return _of_probabilities(input, target, weight, axis, reduction, label_smoothing)
    if weight is None and not label_smoothing:
        return _of_indices(lambda at: _op.cross_entropy(input, at, axis, "none"), target, None, ignore_index, reduction)
    logs = _op.log_softmax(input, axis)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    wide = weight if weight is None or axis == 0 else weight.reshape((-1,) + (1,) * (input.ndim - 2))
    even = _op.where(target == ignore_index, 0, -_op.sum(logs if wide is None else logs * wide, axis=axis))
    if reduction == "mean":
        even = _op.sum(even) / _op.sum(_counted(target, weight, ignore_index, logs.dtype)[1])
    else:
        even = _reduced(even, reduction)
    return (1 - label_smoothing) * loss + label_smoothing / input.shape[axis] * even


def _of_probabilities(input, target, weight, axis, reduction, smoothing):
    classes = input.shape[axis]
    target = target * (1 - smoothing) + smoothing / classes
    logs = _op.log_softmax(input, axis)
    if weight is not None:
        logs = logs * (weight if axis == 0 else weight.reshape((-1,) + (1,) * (input.ndim - 2)))
    loss = -_op.sum(logs * target, axis=axis)
    return _reduced(loss, reduction)


def _counted(target, weight, ignored, dtype):
    """Targets without those that do not count, and the weight of each."""
    counts = target != ignored
    at = _op.where(counts, target, 0)
    return at, counts.astype(dtype) if weight is None else _op.where(counts, _op.take(weight, at), 0)


def _of_indices(losses, target, weight, ignored, reduction):
    """The reduced losses(target), without losses of the class `ignored`, each times the weight of its class."""
    at, counts = _counted(target, weight, ignored, _ingot.float32 if weight is None else weight.dtype)
    loss = losses(at)
    loss = loss * counts.astype(loss.dtype)
    return _op.sum(loss) / _op.sum(counts).astype(loss.dtype) if reduction == "mean" else _reduced(loss, reduction)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Minus the log probabilities input (N, C, ...) at the classes of target, weighted by class."""
    axis = 0 if input.ndim == 1 else 1
    return _of_indices(lambda at: _op.nll(input, at, axis, "none"), target, weight, ignore_index, reduction)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    loss = _op.poisson_nll(input, target, log_input, eps, "none")
    if full:
        stirling = target * _op.log(target) - target + 0.5 * _op.log(2 * math.pi * target)
        loss = loss + _op.where(target > 1, stirling, 0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    return _op.gaussian_nll(input, target, var, full, eps, reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _op.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced(_op.relu(near - far + margin), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    return _op.margin_ranking(input1, input2, target, margin, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    return _op.hinge_embedding(input, target, margin, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    return _op.cosine_embedding(input1, input2, target, margin, -1, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _op.soft_margin(input, target, reduction)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    loss = _op.multi_margin(input, target, p, margin, "none")
    return _reduced(loss if weight is None else loss * _op.take(weight, target), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    loss = -(target * _op.log_sigmoid(input) + (1 - target) * _op.log_sigmoid(-input))
    return _reduced(_op.mean(loss if weight is None else loss * weight, axis=-1), reduction)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    return _op.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
