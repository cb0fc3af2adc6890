"""Functions that NumPy defines in place: they change the items of their first argument. See _numpy.py."""
import numpy as np

from . import _ingot
from ._numpy import cast_allowed, to_numpy
from ._numpy_names import may_share_memory, shares_memory

ops = _ingot._ops
Array = _ingot.Array


def _array(x, dtype=None):
    return x if type(x) is Array and dtype is None else _ingot.asarray(x, dtype=dtype)


def _no_change(name, x):
    raise TypeError(f"{name} changes its first argument, so that must be an array, not {type(x).__name__}")


def _in_place(name, change):
    """change(x, ...) gives the new elements of an array of this library; NumPy's arrays are changed by NumPy."""
    theirs = getattr(np, name)

    def function(x, *args, **kwargs):
        if type(x) is Array:
            x[...] = change(x, *args, **kwargs)
        elif isinstance(x, np.ndarray):
            theirs(x, *to_numpy(args, name), **to_numpy(kwargs, name))
        else:
            _no_change(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.{name}: changes its first argument in place."
    return function


def _copied(dst, src, casting="same_kind", where=True):
    cast_allowed(src, dst.dtype.__numpy_dtype__, casting, "copyto")
    src = ops["broadcast_to"](_array(src, dst.dtype), dst.shape)
    return src if where is True else ops["where"](_array(where, "bool"), src, dst)


def _fitting(x, values, name):
    cast_allowed(values, x.dtype.__numpy_dtype__, "same_kind", name)
    return _array(values, x.dtype)


copyto = _in_place("copyto", _copied)
put = _in_place("put", lambda a, ind, v, mode="raise": ops["put"](a, ind, _array(v, a.dtype), mode))
place = _in_place("place", lambda arr, mask, vals: ops["place"](arr, _array(mask, "bool"), _array(vals, arr.dtype)))
putmask = _in_place("putmask", lambda a, mask, values: ops["putmask"](a, _array(mask, "bool"), _fitting(a, values, "putmask")))
fill_diagonal = _in_place("fill_diagonal", lambda a, val, wrap=False: ops["fill_diagonal"](a, _array(val, a.dtype), wrap))
put_along_axis = _in_place("put_along_axis", lambda arr, indices, values, axis=-1: ops["put_along_axis"](
    arr, indices, _array(values, arr.dtype), axis))

TABLE = {getattr(np, f.__name__): f for f in (copyto, put, place, putmask, fill_diagonal, put_along_axis, may_share_memory,
                                               shares_memory)}
