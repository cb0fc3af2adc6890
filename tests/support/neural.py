"""Layers of neural networks in float64, for examples of the op table: plain loops over their definitions."""
import itertools

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates(x, weight, bias, n):
    return np.split(x @ weight.T + (0 if bias is None else bias), n, axis=-1)


def steps(one, x, state, reverse):
    """The rows of all steps, and the last state."""
    rows = [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        state = one(x[t], *state)
        rows[t] = state[0]
    return (np.stack(rows), *state)


def begin(x, width, state):
    return np.zeros((*x.shape[1:-1], width)) if state is None else state


def rnn(x, w, u, b=None, d=None, h=None, f=np.tanh, reverse=False):
    def one(row, h):
        return (f(gates(row, w, b, 1)[0] + gates(h, u, d, 1)[0]),)
    return steps(one, x, (begin(x, u.shape[1], h),), reverse)


def gru(x, w, u, b=None, d=None, h=None, reverse=False):
    def one(row, h):
        (xr, xz, xn), (hr, hz, hn) = gates(row, w, b, 3), gates(h, u, d, 3)
        z = sigmoid(xz + hz)
        return ((1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h,)
    return steps(one, x, (begin(x, u.shape[1], h),), reverse)


def lstm(x, w, u, b=None, d=None, h=None, c=None, reverse=False):
    def one(row, h, c):
        i, f, g, o = (p + q for p, q in zip(gates(row, w, b, 4), gates(h, u, d, 4)))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    return steps(one, x, (begin(x, u.shape[1], h), begin(x, u.shape[1], c)), reverse)


def batch_first(layer, x, *rest, **options):
    y, *state = layer(np.swapaxes(x, 0, 1), *rest, **options)
    return (np.swapaxes(y, 0, 1), *state)


def ctc_loss(log_probs, targets, steps=None, lengths=None, blank=0, reduction="mean"):
    """The sum over all paths that collapse to the target, one by one."""
    T, n, classes = log_probs.shape
    steps = [T] * n if steps is None else steps
    lengths = [targets.shape[1]] * n if lengths is None else lengths
    loss = np.zeros(n)
    for k in range(n):
        total = 0.0
        for path in itertools.product(range(classes), repeat=int(steps[k])):
            read = [c for c, _ in itertools.groupby(path) if c != blank]
            if read == list(targets[k, : lengths[k]]):
                total += np.exp(sum(log_probs[t, k, c] for t, c in enumerate(path)))
        with np.errstate(divide="ignore"):
            loss[k] = -np.log(total)
    if reduction == "mean":
        return np.mean(loss / np.maximum(lengths, 1))
    return loss.sum() if reduction == "sum" else loss


def cosine(x, y):
    def norm(v):
        return np.maximum(np.sqrt((v * v).sum(-1)), 1e-8)
    return (x * y).sum(-1) / (norm(x) * norm(y))


def unfold(x, kernel, dilation=1, padding=0, stride=1):
    """Windows of x (N, C, H, W) as columns."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    rows, columns = ((x.shape[a] - dilation * (kernel[a - 2] - 1) - 1) // stride + 1 for a in (2, 3))
    out = np.zeros((x.shape[0], x.shape[1], *kernel, rows, columns), x.dtype)
    for i, j, r, c in itertools.product(range(kernel[0]), range(kernel[1]), range(rows), range(columns)):
        out[:, :, i, j, r, c] = x[:, :, r * stride + i * dilation, c * stride + j * dilation]
    return out.reshape(x.shape[0], -1, rows * columns)


def fold(y, size, kernel, dilation=1, padding=0, stride=1):
    """The sums of columns at their places: the transpose of unfold."""
    channels = y.shape[1] // (kernel[0] * kernel[1])
    places = unfold(np.arange(1, size[0] * size[1] + 1).reshape(1, 1, *size), kernel, dilation, padding, stride)[0].astype(int)
    out = np.zeros((y.shape[0], channels, size[0] * size[1] + 1))
    for n, c in itertools.product(range(y.shape[0]), range(channels)):
        np.add.at(out[n, c], places, y[n].reshape(channels, *places.shape)[c])
    return out[:, :, 1:].reshape(y.shape[0], channels, *size)


def reflected(v, low, high):
    """v mirrored at low and high until it is between them."""
    if high <= low:
        return 0.0
    v = abs(v - low) % (2 * (high - low))
    return low + min(v, 2 * (high - low) - v)


def grid_sample(x, grid, mode="linear", padding="zeros", corners=False):
    """x (N, C, H, W) at the places of grid (N, P, Q, 2)."""
    n, channels, *size = x.shape
    out = np.zeros((n, channels, *grid.shape[1:3]))

    def place(g, length):
        return (g + 1) / 2 * (length - 1) if corners else ((g + 1) * length - 1) / 2

    def inside(v, length):
        if padding == "reflection":
            v = reflected(v, 0, length - 1) if corners else reflected(v, -0.5, length - 0.5)
        return v if padding == "zeros" else min(max(v, 0), length - 1)

    def weights(v, length):
        """Pairs of an element and its weight."""
        if mode == "cubic":
            a, first, t = -0.75, int(np.floor(v)), v - np.floor(v)
            near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
            far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (1 + t, 2 - t)]
            pairs = zip(range(first - 1, first + 3), (far[0], near[0], near[1], far[1]))
            return [(int(inside(i, length)), w) for i, w in pairs]
        v = inside(v, length)
        if mode == "nearest":
            return [(int(np.rint(v)), 1.0)]
        return [(int(np.floor(v)), 1 - (v - np.floor(v))), (int(np.floor(v)) + 1, v - np.floor(v))]

    for k, p, q in itertools.product(range(n), range(grid.shape[1]), range(grid.shape[2])):
        pairs = [weights(place(grid[k, p, q, 1 - a], size[a]), size[a]) for a in (0, 1)]
        for (i, u), (j, w) in itertools.product(*pairs):
            if 0 <= i < size[0] and 0 <= j < size[1]:
                out[k, :, p, q] += u * w * x[k, :, i, j]
    return out


def interpolate_smooth(x, size, radius):
    """x (N, C, ...) resampled by a triangle (radius 1) or a cubic (2) that is widened by the factor by which an axis shrinks."""
    def weight(d):
        if radius == 1:
            return max(1 - d, 0)
        return 1.5 * d**3 - 2.5 * d**2 + 1 if d < 1 else -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2 if d < 2 else 0

    for axis, m in enumerate(size, 2):
        n = x.shape[axis]
        wide = max(n / m, 1)
        rows = np.array([[weight(abs(j + 0.5 - (i + 0.5) * n / m) / wide) for j in range(n)] for i in range(m)])
        x = np.moveaxis(np.tensordot(x, rows / rows.sum(1, keepdims=True), (axis, 1)), -1, axis) if m != n else x
    return x


def places_of_windows(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows there are along each axis, and the strides. With ceil_mode the last one may begin inside of x only."""
    stride, reach = np.broadcast_to(kernel if stride is None else stride, len(kernel)), dilation * (np.array(kernel) - 1) + 1
    room = size + 2 * padding - reach
    out = -(-room // stride) + 1 if ceil_mode else room // stride + 1
    return out - (ceil_mode & ((out - 1) * stride >= size + padding)), stride


def avg_pool(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The means of windows of x (N, C, ...); the divisor counts elements of x, and of its padding."""
    size = np.array(x.shape[2:])
    out, stride = places_of_windows(size, kernel, stride, padding, 1, ceil_mode)
    means = np.empty((*x.shape[:2], *out))
    for at in np.ndindex(*out):
        first = np.array(at) * stride - padding
        last, more = first + kernel, padding if count_include_pad else 0
        window = x[(Ellipsis, *(slice(max(f, 0), max(t, 0)) for f, t in zip(first, last)))]
        counted = np.prod(np.minimum(last, size + more) - np.maximum(first, -more))
        means[(Ellipsis, *at)] = window.sum(tuple(range(2, x.ndim))) / counted
    return means


def adaptive_avg_pool(x, size):
    """The means of windows that cover each axis."""
    x = x * 1.0
    for axis, m in enumerate(size, 2):
        n = x.shape[axis]
        x = np.stack([x.take(range(i * n // m, -(-(i + 1) * n // m)), axis).mean(axis) for i in range(m)], axis)
    return x


def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Plain loops over the places of the result, in the dtype of x: integers wrap."""
    d = x.ndim - 2
    stride, padding, dilation = (np.broadcast_to(v, d) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    o, c = w.shape[0] // groups, x.shape[1] // groups
    reach = dilation * (np.array(w.shape[2:]) - 1) + 1
    size = (np.array(x.shape[2:]) - reach) // stride + 1
    y = np.zeros((x.shape[0], w.shape[0], *size), x.dtype)
    for place in np.ndindex(*size):
        cut = tuple(slice(p * s, p * s + r, j) for p, s, r, j in zip(place, stride, reach, dilation))
        for g in range(groups):
            block = x[(slice(None), slice(g * c, (g + 1) * c)) + cut]
            y[(slice(None), slice(g * o, (g + 1) * o)) + place] = np.tensordot(block, w[g * o:(g + 1) * o], (list(range(1, 2 + d)),) * 2)
    return y if bias is None else y + bias.reshape(-1, *[1] * d)


def conv_transposed(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each element of x adds its kernel to the result."""
    d = x.ndim - 2
    stride, padding, more, dilation = (np.broadcast_to(v, d) for v in (stride, padding, output_padding, dilation))
    c, o = x.shape[1] // groups, w.shape[1]
    reach = dilation * (np.array(w.shape[2:]) - 1) + 1
    size = (np.array(x.shape[2:]) - 1) * stride + reach + more
    y = np.zeros((x.shape[0], o * groups, *size), x.dtype)
    for place in np.ndindex(*x.shape[2:]):
        cut = tuple(slice(p * s, p * s + r, j) for p, s, r, j in zip(place, stride, reach, dilation))
        for g in range(groups):
            rows = slice(g * c, (g + 1) * c)
            y[(slice(None), slice(g * o, (g + 1) * o)) + cut] += np.tensordot(x[(slice(None), rows) + place], w[rows], (1, 0))
    y = y[(Ellipsis, *(slice(p, n - p) for p, n in zip(padding, size)))]
    return y if bias is None else y + bias.reshape(-1, *[1] * d)


def pad(x, width, mode, **options):
    """np.pad in float64, for modes that compute: bool is not padded by NumPy."""
    y = np.pad(x * 1.0, width, mode, **options)
    return y if x.dtype.kind == "f" else np.pad(x, width, mode, **options)


def pad_odd(x, width, mode):
    return np.pad(x, width, mode, reflect_type="odd")


def logsumexp(x, axis=None, keepdims=False):
    x = x * 1.0
    most = x.max(axis=axis, keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0)
    y = np.log(np.exp(x - most).sum(axis=axis, keepdims=True)) + most
    return y if keepdims else y.reshape(x.sum(axis=axis).shape)


def softmax(x, axis):
    return np.exp(x - logsumexp(x, axis, keepdims=True))


def normal(x, axes, eps=1e-5):
    """(x - mean) / sqrt(var + eps)"""
    x = x * 1.0
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def attention(q, k, v, mask=None, causal=False, scale=None):
    scores = (q * 1.0) @ np.swapaxes(k, -1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.where(np.isneginf(scores).all(-1, keepdims=True), 0, softmax(scores, -1))
    return weights @ v


def max_pool(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest elements of windows of x (N, C, ...), and their positions in row-major order."""
    size = np.array(x.shape[2:])
    out, stride = places_of_windows(size, kernel, stride, padding, dilation, ceil_mode)
    values, places = np.empty((*x.shape[:2], *out), x.dtype), np.empty((*x.shape[:2], *out), np.int64)
    for n, c, *at in np.ndindex(values.shape):
        taps = np.array(list(np.ndindex(*kernel))) * dilation + np.array(at) * stride - padding
        taps = taps[((taps >= 0) & (taps < size)).all(1)]
        found = x[(n, c, *taps.T)]
        values[(n, c, *at)] = found.max()
        places[(n, c, *at)] = np.ravel_multi_index(taps[found.argmax()], size)
    return values, places


def roi_align(x, boxes, images, size, scale=1.0, ratio=0, aligned=False, mode="mean"):
    """Boxes (R, 4) of x (N, C, H, W), place by place."""
    out = np.zeros((len(boxes), x.shape[1], *size))

    def places(low, high, bins, k, length):
        """Of bin k along an axis: a list of pairs of an element and its weight for each place, None outside."""
        start, end = (v * scale - (0.5 if aligned else 0) for v in (low, high))
        span = end - start if aligned else max(end - start, 1)
        n = ratio if ratio > 0 else int(max(np.ceil(span / bins), 0))
        for s in range(n):
            v = start + k * span / bins + (s + 0.5) * span / bins / n
            if not -1 <= v <= length:
                yield None
                continue
            v = min(max(v, 0), length - 1)
            yield [(int(v), 1 - (v - int(v))), (min(int(v) + 1, length - 1), v - int(v))]

    for r, i, j in itertools.product(range(len(boxes)), *map(range, size)):
        image, parts = x[int(images[r])], []
        rows = places(boxes[r, 1], boxes[r, 3], size[0], i, x.shape[2])
        columns = list(places(boxes[r, 0], boxes[r, 2], size[1], j, x.shape[3]))
        for v, u in itertools.product(rows, columns):
            parts.append([p * q * image[:, a, b] for a, p in v for b, q in u] if u and v else [np.zeros(x.shape[1])])
        if parts and mode == "mean":
            out[r, :, i, j] = sum(map(sum, parts)) / len(parts)
        elif parts:
            out[r, :, i, j] = np.max([p for corners in parts for p in corners], 0)
    return out
