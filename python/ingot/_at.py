"""x.at[i].set(y, mode="drop") and others: places outside of an array, as JAX treats them. Without a mode they are errors."""
from . import _ingot

_ops = _ingot._ops
_MODES = ("promise_in_bounds", "error", "clip", "fill", "drop")


def _key(x, key):
    """The items of an index, and for each integer or array of integers the axis that it belongs to."""
    items = key if isinstance(key, tuple) else (key,)
    items = [_ingot.asarray(item) if isinstance(item, (int, list)) and not isinstance(item, bool) or hasattr(item, "__array__") or
             hasattr(item, "dtype") else item for item in items]
    taken = sum(item.ndim if getattr(item, "dtype", None) == _ingot.bool else item is not None for item in items if item is not Ellipsis)
    axis, axes = 0, []
    for item in items:
        is_index = hasattr(item, "dtype") and item.dtype.kind in "iu"
        axes.append(axis if is_index else None)
        axis += x.ndim - taken if item is Ellipsis else item.ndim if hasattr(item, "dtype") and not is_index else item is not None
    return items, axes


def _in_mode(x, key, mode, outside):
    """The key with integers that are inside: indices outside are moved to the ends, or become `outside(n)`. And where they were outside."""
    items, axes = _key(x, key)
    missing = None
    for i, axis in enumerate(axes):
        if axis is None:
            continue
        n = x.shape[axis]
        at = items[i].astype("int64")
        at = _ops["where"](at < 0, at + n, at)
        out = (at < 0) | (at >= n)
        missing = out if missing is None else missing | out
        items[i] = _ops["clip"](at, 0, max(n - 1, 0)) if mode == "clip" else _ops["where"](out, outside(n), at)
    return tuple(items), [axis for axis in axes if axis is not None], missing


def _checked(mode):
    mode = str(getattr(mode, "name", mode)).lower().replace("fill_or_drop", "drop")
    if mode not in _MODES:
        raise ValueError(f"x.at: there is no mode '{mode}'; use one of {', '.join(_MODES)}")
    return mode


def update(x, key, how, value, mode):
    """The changed copy. With "drop" the array gets one more row along each indexed axis, which takes what is outside."""
    mode = _checked(mode)
    if mode in ("promise_in_bounds", "error"):
        return getattr(x.at[key], how)(value)
    items, axes, _ = _in_mode(x, key, mode, lambda n: n)
    if mode == "clip":
        return getattr(x.at[items], how)(value)
    wide = _ops["pad"](x, [(0, 1 if axis in axes else 0) for axis in range(x.ndim)])
    return getattr(wide.at[items], how)(value)[tuple(slice(0, n) for n in x.shape)]


def get(x, key, mode, fill_value):
    """The elements at the places; those outside are fill_value: NaN for floats and the least integer unless given."""
    mode = "fill" if mode is None else _checked(mode)
    if mode in ("promise_in_bounds", "error"):
        return x.at[key].get()
    items, _, missing = _in_mode(x, key, "clip" if mode == "clip" else "fill", lambda n: 0)
    found = x[items]
    if mode == "clip" or missing is None:
        return found
    if fill_value is None:
        fill_value = float("nan") if x.dtype.kind in "fc" else _ingot.iinfo(x.dtype).min if x.dtype.kind == "i" else \
            _ingot.iinfo(x.dtype).max if x.dtype.kind == "u" else True
    return _ops["where"](missing.reshape(missing.shape + (1,) * (found.ndim - missing.ndim)), _ingot.asarray(fill_value, dtype=x.dtype), found)


def apply(x, key, f, *, mode=None, indices_are_sorted=False, unique_indices=False):
    """x.at[key].apply(f)"""
    found = get(x, key, "clip" if mode is not None and _checked(mode) in ("fill", "drop") else mode or "error", None)
    return update(x, key, "set", f(found), mode or "error")
