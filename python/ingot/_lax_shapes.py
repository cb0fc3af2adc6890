"""Products, windows and reductions with the arguments of jax.lax."""
import itertools
import string

from . import _ingot

_ops = _ingot._ops


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, out_sharding=None):
    """Products of lhs and rhs. dimension_numbers: ((axes of lhs, axes of rhs) that are summed, (axes of lhs, axes of rhs) that go
    in step). The result has the latter axes first, then the others of lhs and of rhs."""
    lhs, rhs = _ingot.asarray(lhs), _ingot.asarray(rhs)
    pairs = [[tuple(int(axis) for axis in axes) for axes in pair] for pair in dimension_numbers]
    letters = iter(string.ascii_letters)
    a, b = [None] * lhs.ndim, [None] * rhs.ndim
    for which, (left, right) in zip(("contracting", "batch"), pairs):
        if len(left) != len(right):
            raise ValueError(f"dot_general: {len(left)} {which} axes of lhs, but {len(right)} of rhs")
        for i, k in zip(left, right):
            if lhs.shape[i] != rhs.shape[k]:
                raise _ingot.ShapeError(f"dot_general: {which} axis {i} of lhs has {lhs.shape[i]} elements, axis {k} of rhs has {rhs.shape[k]}")
            a[i] = b[k] = next(letters)
    a, b = [c or next(letters) for c in a], [c or next(letters) for c in b]
    contracted = {a[i] for i in pairs[0][0]}
    first = [a[i] for i in pairs[1][0]]
    out = first + [c for c in a + b if c not in contracted and c not in first]
    y = _ops["einsum"](f"{''.join(a)},{''.join(b)}->{''.join(out)}", lhs, rhs)
    return y if preferred_element_type is None else y.astype(preferred_element_type)


def pad(operand, padding_value, padding_config):
    """An array with elements added at the ends of its axes and between its elements: (before, after, between) for each axis. Negative
    numbers of elements at the ends remove some."""
    x, value = _ingot.asarray(operand), _ingot.asarray(padding_value)
    value = value.astype(x.dtype)
    if len(padding_config) != x.ndim:
        raise _ingot.ShapeError(f"pad: {len(padding_config)} triples for an array of {x.ndim} axes")
    for axis, (before, after, between) in enumerate(padding_config):
        n, rest = x.shape[axis], x.shape[axis + 1:]
        if between and n > 1:
            gaps = _ops["broadcast_to"](value, x.shape[:axis + 1] + (between,) + rest)
            x = _ops["concat"]([_ops["expand_dims"](x, axis=axis + 1), gaps], axis + 1).reshape(x.shape[:axis] + (n * (between + 1),) + rest)
            x = x[(slice(None),) * axis + (slice(0, x.shape[axis] - between),)]
        ends = [_ops["broadcast_to"](value, x.shape[:axis] + (max(m, 0),) + rest) for m in (before, after)]
        x = _ops["concat"]([ends[0], x, ends[1]], axis)
        x = x[(slice(None),) * axis + (slice(max(-before, 0), x.shape[axis] - max(-after, 0)),)]
    return x


def _known(computation):
    """The reduction that a function of two values stands for, or None."""
    for name, reduction in (("add", "sum"), ("multiply", "prod"), ("maximum", "max"), ("minimum", "min"), ("logical_and", "all"),
                            ("logical_or", "any")):
        if computation is _ops[name] or getattr(computation, "__wrapped__", None) is _ops[name] or getattr(computation, "__name__", "") == name:
            return reduction
    return None


def _folded(computation, rows, init):
    """init and rows, combined one after another; in pairs, because the function is associative."""
    while len(rows) > 1:
        rows = [computation(*rows[i:i + 2]) if i + 1 < len(rows) else rows[i] for i in range(0, len(rows), 2)]
    return computation(init, rows[0]) if rows else init


def reduce(operands, init_values, computation, dimensions):
    """One array reduced over axes by an associative function of two arrays."""
    x, init = _ingot.asarray(operands), _ingot.asarray(init_values)
    init = init.astype(x.dtype)
    if _known(computation):
        found = _ops[_known(computation)](x, tuple(dimensions)).astype(x.dtype)
        return computation(init, found).astype(x.dtype)
    for axis in sorted((axis % x.ndim for axis in dimensions), reverse=True):
        x = _folded(computation, list(_ops["unstack"](x, axis=axis)), init)
    return x


def reduce_window(operand, init_value, computation, window_dimensions, window_strides=None, padding="VALID", base_dilation=None,
                  window_dilation=None):
    """The elements of each window of an array, combined by an associative function of two arrays, beginning with init_value. padding:
    "SAME", "VALID" or a pair for each axis; the margins have init_value."""
    x = _ingot.asarray(operand)
    init = _ingot.asarray(init_value).astype(x.dtype)
    sizes, steps = tuple(window_dimensions), tuple(window_strides or (1,) * x.ndim)
    spread = tuple(window_dilation or (1,) * x.ndim)
    if base_dilation is not None and any(n != 1 for n in base_dilation):
        raise ValueError("reduce_window: base_dilation is not supported; put init_value between the elements first")
    if not len(sizes) == len(steps) == len(spread) == x.ndim:
        raise _ingot.ShapeError(f"reduce_window: the window has {len(sizes)} axes and {len(steps)} strides; the array has {x.ndim} axes")
    margins = window_margins("reduce_window", padding, x.shape, sizes, steps, spread)
    for axis, (before, after) in enumerate(margins):
        ends = [_ops["broadcast_to"](init, x.shape[:axis] + (n,) + x.shape[axis + 1:]) for n in (before, after)]
        x = _ops["concat"]([ends[0], x, ends[1]], axis) if before or after else x
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape, sizes, steps, spread)]
    if any(n < 1 for n in counts):
        raise _ingot.ShapeError(f"reduce_window: a window of {sizes} does not fit into {x.shape}")
    parts = [x[tuple(slice(at * d, at * d + (n - 1) * s + 1, s) for at, n, s, d in zip(place, counts, steps, spread))]
             for place in itertools.product(*map(range, sizes))]
    if _known(computation):
        return computation(init, _ops[_known(computation)](_ops["stack"](parts, 0), 0).astype(x.dtype)).astype(x.dtype)
    return _folded(computation, parts, init)


def window_margins(who, padding, lengths, sizes, steps, spread):
    """What "SAME" or "VALID" adds in front of and after axes."""
    if not isinstance(padding, str):
        return [tuple(pair) for pair in padding]
    if padding.upper() not in ("SAME", "VALID"):
        raise ValueError(f"{who}: padding is 'SAME', 'VALID' or a pair for each axis, not {padding!r}")
    margins = []
    for n, k, step, d in zip(lengths, sizes, steps, spread):
        all_ = max((-(-n // step) - 1) * step + (k - 1) * d + 1 - n, 0) if padding.upper() == "SAME" else 0
        margins.append((all_ // 2, all_ - all_ // 2))
    return margins
