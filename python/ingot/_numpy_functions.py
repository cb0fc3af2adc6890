"""NumPy's functions by the ops of this library: which of their arguments the ops have. See _numpy.py.

Rows of _numpy_rows.py pass arguments on. The functions below have NumPy's names and parameters as far as they are implemented. All
other arguments are unfit: NumPy computes."""
import inspect
import sys

import numpy as np

from . import _ingot, _names, _numpy_rows
from ._numpy import MISSING, Unfit, cast_allowed, to_numpy, widened
from ._views import ravel as views_ravel

ops = _ingot._ops
Array = _ingot.Array

def _op(name, prefix=""):
    return ops[name] if name in ops else _names.find(name, prefix)


def _array(x, dtype=None):
    return x if type(x) is Array and dtype is None else _ingot.asarray(x, dtype=dtype)


# ---- reductions ----

def _filled(a, where, value):
    return a if where is True else ops["where"](where, _array(a), value)


def _start(result, initial, combine, a):
    """The result with an initial value that does not change its dtype."""
    if result.dtype.kind in "iub" and not isinstance(initial, (int, np.integer)):
        raise Unfit
    return ops[combine](result, initial)


def sum(a, axis=None, dtype=None, keepdims=False, initial=None, where=True):
    result = ops["sum"](_filled(a, where, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else _start(result, initial, "add", a)


def prod(a, axis=None, dtype=None, keepdims=False, initial=None, where=True):
    result = ops["prod"](_filled(a, where, 1), axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else _start(result, initial, "multiply", a)


def _extreme(name, combine):
    def extreme(a, axis=None, keepdims=False, initial=None, where=True):
        a = _array(a)
        if initial is None:
            if where is not True:
                raise Unfit  # NumPy's error: there is no identity
            return ops[name](a, axis=axis, keepdims=keepdims)
        if a.dtype.kind == "b" or a.dtype.kind != "f" and not isinstance(initial, (int, np.integer)):
            raise Unfit
        a = _filled(a, where, initial)
        if 0 in a.shape:
            raise Unfit
        return ops[combine](ops[name](a, axis=axis, keepdims=keepdims), initial)

    return extreme


max = _extreme("max", "maximum")
min = _extreme("min", "minimum")


def all(a, axis=None, keepdims=False, where=True):
    return ops["all"](_filled(a, where, True), axis=axis, keepdims=keepdims)


def any(a, axis=None, keepdims=False, where=True):
    return ops["any"](_filled(a, where, False), axis=axis, keepdims=keepdims)


def _float(dtype):
    """A dtype that is None or not of integers; NumPy rounds such means."""
    if dtype is not None and _ingot.dtype(dtype).kind not in "fc":
        raise Unfit
    return dtype


def _moment(name):
    def mean(a, axis=None, dtype=None, keepdims=False, where=True):
        a = _array(a, _float(dtype))
        if where is True:
            return ops[name](a, axis=axis, keepdims=keepdims)
        if name != "mean":
            raise Unfit
        count = ops["sum"](ops["broadcast_to"](where, a.shape), axis=axis, keepdims=keepdims)
        return ops["divide"](sum(a, axis, None, keepdims, None, where), count)

    def spread(a, axis=None, dtype=None, ddof=0, correction=0, keepdims=False):
        return ops[name](_array(a, _float(dtype)), axis=axis, correction=ddof or correction, keepdims=keepdims)

    return mean if name.endswith("mean") else spread


mean, nanmean = _moment("mean"), _moment("nanmean")
std, var, nanstd, nanvar = _moment("std"), _moment("var"), _moment("nanstd"), _moment("nanvar")


def _scan(name):
    def scan(a, axis=None, dtype=None):
        a = _array(a)
        return ops[name](ops["flatten"](a) if axis is None else a, axis=0 if axis is None else axis, dtype=dtype)

    return scan


cumsum, cumprod = _scan("cumulative_sum"), _scan("cumulative_prod")


def _scan_standard(name):
    def scan(x, axis=None, dtype=None, include_initial=False):
        if axis is None and np.ndim(x) > 1:
            raise Unfit  # NumPy's error
        return ops[name](x, axis=0 if axis is None else axis, dtype=dtype, include_initial=include_initial)

    return scan


cumulative_sum, cumulative_prod = _scan_standard("cumulative_sum"), _scan_standard("cumulative_prod")


# ---- order ----

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def _sorted(name):
    def sort(a, axis=-1, kind=None, stable=None):
        if kind not in _KINDS:
            raise Unfit
        a = _array(a)
        return ops[name](ops["flatten"](a) if axis is None else a, axis=0 if axis is None else axis)

    return sort


sort, argsort = _sorted("sort"), _sorted("argsort")


# ---- shapes ----

def _columns_first(a):
    return a.T if a.ndim > 1 else a


def _order(order):
    if order not in ("C", "F", "A", "K"):
        raise Unfit


def ravel(a, order="C"):
    _order(order)
    return views_ravel(_array(a), order)


def reshape(a, shape, order="C", copy=None):
    _order(order)
    a = _array(a)
    if copy is False and order == "F":
        raise Unfit
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if order != "F":
        return ops["reshape"](a, shape)
    return ops["reshape"](_columns_first(a), shape[::-1]).T


def unravel_index(indices, shape, order="C"):
    _order(order)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return ops["unravel_index"](indices, shape) if order != "F" else ops["unravel_index"](indices, shape[::-1])[::-1]


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    _order(order)
    if not isinstance(mode, str):
        raise Unfit
    dims = (dims,) if isinstance(dims, (int, np.integer)) else tuple(dims)
    multi_index = tuple(multi_index)
    return ops["ravel_multi_index"](multi_index[::-1], dims[::-1], mode) if order == "F" else \
        ops["ravel_multi_index"](multi_index, dims, mode)


def transpose(a, axes=None):
    return _array(a).transpose() if axes is None else ops["permute_dims"](a, axes)


def _atleast(name):
    def atleast(*arys):
        made = tuple(ops[name](x) for x in arys)
        return made[0] if len(made) == 1 else made

    return atleast


atleast_1d, atleast_2d, atleast_3d = _atleast("atleast_1d"), _atleast("atleast_2d"), _atleast("atleast_3d")


def diagonal(a, offset=0, axis1=0, axis2=1):
    return ops["diagonal"](ops["moveaxis"](a, (axis1, axis2), (-2, -1)), offset)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    return ops["trace"](ops["moveaxis"](a, (axis1, axis2), (-2, -1)), offset, dtype)


def shape(a):
    return tuple(a.shape)


def ndim(a):
    return a.ndim


def size(a, axis=None):
    if axis is None:
        return a.size
    if isinstance(axis, tuple):
        raise Unfit
    return a.shape[axis]


def meshgrid(*xi, indexing="xy", sparse=False):
    if sparse:
        n = len(xi)
        made = [_array(x).reshape([1] * i + [-1] + [1] * (n - 1 - i)) for i, x in enumerate(xi)]
        return tuple(ops["swapaxes"](x, 0, 1) if n > 1 and indexing == "xy" else x for x in made)
    return ops["meshgrid"](*xi, indexing=indexing)


def broadcast_arrays(*args):
    return tuple(ops["broadcast_arrays"](*args))


def ix_(*args):
    return _names.find("ix_")(*(_array(x) for x in args))


def _cut(name):
    def split(ary, indices_or_sections, axis=MISSING):
        return list(ops[name](ary, indices_or_sections, **({} if axis is MISSING else {"axis": axis})))

    return split


split, array_split, hsplit, vsplit, dsplit = map(_cut, ("split", "array_split", "hsplit", "vsplit", "dsplit"))


def _join(name):
    def join(arrays, axis=MISSING, dtype=None):
        if dtype is not None:
            for x in arrays:
                cast_allowed(_array(x), dtype, "same_kind", name)
            arrays = [_array(x, dtype) for x in arrays]
        return ops[name](arrays, **({} if axis is MISSING else {"axis": axis}))

    return join


concatenate, stack = _join("concat"), _join("stack")


def hstack(tup, dtype=None):
    return _join("hstack")(tup, MISSING, dtype)


def vstack(tup, dtype=None):
    return _join("vstack")(tup, MISSING, dtype)


def block(arrays):
    def depth(item):
        return 1 + depth(item[0]) if isinstance(item, list) and item else 0

    def join(item, axis):
        if not isinstance(item, list):
            item = _array(item)
            return item.reshape((1,) * (levels - item.ndim) + item.shape) if item.ndim < levels else item
        return ops["concat"]([join(one, axis + 1) for one in item], axis=axis)

    levels = depth(arrays)
    return join(arrays, -levels)


# ---- elements ----

def take(a, indices, axis=None, mode="raise"):
    a, indices = _array(a), _array(indices)
    if axis is None:
        a, axis = ops["flatten"](a), 0
    if mode != "raise":
        n = a.shape[axis]
        if mode not in ("wrap", "clip") or n == 0:
            raise Unfit
        indices = ops["remainder"](indices, n) if mode == "wrap" else ops["clip"](indices, 0, n - 1)
    return ops["take"](a, indices, axis)


def where(condition, x=None, y=None):
    if (x is None) != (y is None):
        raise Unfit
    return ops["nonzero"](condition) if x is None else ops["where"](condition, x, y)


def clip(a, a_min=None, a_max=None, min=None, max=None):
    return ops["clip"](a, a_min if min is None else min, a_max if max is None else max)


def round(a, decimals=0):
    return ops["round"](a, decimals) if decimals else ops["round"](a)


def angle(z, deg=False):
    return ops["rad2deg"](ops["angle"](z)) if deg else ops["angle"](z)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    return sys.modules["ingot"].diff(a, n, axis, prepend, append)


def gradient(f, *varargs, axis=None, edge_order=1):
    if np.ndim(axis) == 0 and axis is not None:
        axis = (axis,)
    made = ops["gradient"](f, *varargs, **({} if axis is None else {"axis": axis}), edge_order=edge_order)
    return made if np.ndim(made) == np.ndim(f) else tuple(made)


def outer(a, b):
    return ops["outer"](ops["flatten"](a), ops["flatten"](b))


def einsum(*operands):
    return ops["einsum"](*operands)


def piecewise(x, condlist, funclist, *args):
    x = _array(x)
    if isinstance(condlist, (bool, np.bool_)) or type(condlist) is Array and condlist.ndim == x.ndim or not isinstance(
            condlist[0], (list, Array, np.ndarray)) and x.ndim:
        condlist = [condlist]
    conditions = [_array(c, "bool") for c in condlist]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        others = conditions[0]
        for condition in conditions[1:]:
            others = others | condition
        conditions.append(~others)
    if len(functions) != len(conditions):
        raise Unfit
    y = ops["zeros_like"](x)
    for condition, function in zip(conditions, functions):
        y[condition] = function(x[condition], *args) if callable(function) else function
    return y


def apply_along_axis(func1d, axis, arr, *args):
    return _names.find("apply_along_axis")(lambda row: func1d(row, *args), axis, _array(arr))


def apply_over_axes(func, a, axes):
    return _names.find("apply_over_axes")(func, _array(a), axes)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    made = ops["nan_to_num"](x, nan, posinf, neginf)
    if copy:
        return made
    if type(x) is not Array:
        raise Unfit
    x[...] = made
    return x


def pad(array, pad_width, mode="constant", constant_values=0, reflect_type="even"):
    if not isinstance(mode, str) or isinstance(pad_width, dict):
        raise Unfit
    if reflect_type == "odd" and mode in ("reflect", "symmetric"):
        mode += "_odd"
    elif reflect_type != "even":
        raise Unfit
    if isinstance(constant_values, (tuple, list)):
        flat = np.asarray(to_numpy(constant_values, "pad")).ravel()
        if (flat != flat[0]).any():
            raise Unfit
        constant_values = flat[0].item()
    return ops["pad"](array, pad_width, mode, constant_values)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    return sys.modules["ingot"].linspace(start, stop, num, endpoint=endpoint, retstep=retstep, dtype=dtype, axis=axis)


def linalg_lstsq(a, b, rcond=None):
    if np.shape(a)[0] <= np.shape(a)[1]:
        raise Unfit  # NumPy gives no residuals then
    return ops["lstsq"](a, b, rcond)


def linalg_qr(a, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise Unfit
    return ops["qr"](a, mode)[0] if mode == "r" else ops["qr"](a, mode)


# ---- new arrays ----

def asarray(a, dtype=None, copy=None, ndmin=0):
    a = _ingot.asarray(a, dtype=dtype, copy=True if copy else None)
    return a if a.ndim >= ndmin else a.reshape((1,) * (ndmin - a.ndim) + a.shape)


def array(object, dtype=None, copy=True, ndmin=0):
    return asarray(object, dtype, copy, ndmin)


asanyarray = ascontiguousarray = asarray


def copy(a):
    return _ingot.asarray(a, copy=True)


def astype(x, dtype, copy=True):
    return ops["astype"](x, dtype, copy)


def _like(name):
    def like(a, dtype=None, shape=None):
        if shape is None:
            return ops[name](a, dtype=dtype)
        return getattr(sys.modules["ingot"], name[:-len("_like")])(shape, dtype=dtype or a.dtype, device=a.device)

    return like


zeros_like, ones_like = _like("zeros_like"), _like("ones_like")


def empty_like(prototype, dtype=None, shape=None):
    return _like("empty_like")(prototype, dtype, shape)


def full_like(a, fill_value, dtype=None, shape=None):
    full = sys.modules["ingot"].full
    return full(a.shape if shape is None else shape, fill_value, dtype=dtype or a.dtype, device=a.device)


def _make(name):
    def make(shape, dtype=None):
        return ops[name](shape, dtype=dtype)

    return make


zeros, ones, empty = _make("zeros"), _make("ones"), _make("empty")


# ---- dtypes ----

def result_type(*arrays_and_dtypes):
    return np.result_type(*(getattr(x.dtype, "__numpy_dtype__") if type(x) is Array else to_numpy(x, "result_type")
                            for x in arrays_and_dtypes))


def common_type(*arrays):
    return np.common_type(*(np.empty(0, x.dtype.__numpy_dtype__ if type(x) is Array else x.dtype) for x in arrays))


def min_scalar_type(a):
    if a.ndim == 0:
        raise Unfit
    return a.dtype.__numpy_dtype__


# ---- the tables ----

class _Row:
    def __init__(self, words):
        name, _, ours = words[0].partition(":")
        prefix, _, last = name.rpartition(".")
        self.function = _op(ours or last, prefix + "." if prefix else "")
        at = words.index("|") if "|" in words else len(words)
        self.first = words[1:at]
        self.named, self.may_be_none = {}, set()
        for word in words[at + 1:]:
            theirs, _, here = word.rstrip("?").partition(">")
            self.named[theirs] = here or theirs
            if word.endswith("?"):
                self.may_be_none.add(theirs)

    def __call__(self, given):
        first = []
        for name in self.first:
            if name not in given:
                raise Unfit
            first.append(given.pop(name))
        named = {}
        for name, value in given.items():
            if name not in self.named or value is None and name not in self.may_be_none:
                raise Unfit
            named[self.named[name]] = value
        return self.function(*first, **named)


class _Defined:
    def __init__(self, function):
        self.function = function
        parameters = inspect.signature(function).parameters.values()
        self.names = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
        self.all = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}

    def __call__(self, given):
        rest = given.pop("*", ())
        if not given.keys() <= self.all:
            raise Unfit
        if rest:
            return self.function(*(given.pop(name) for name in self.names), *rest, **given)
        return self.function(**given)


def _tables():
    rows, spaces = {}, {"linalg": np.linalg, "fft": np.fft}
    for line in _numpy_rows.ROWS.strip().split("\n"):
        words = line.split()
        prefix, _, name = words[0].partition(":")[0].rpartition(".")
        function = getattr(spaces.get(prefix, np), name, None)
        if function is not None:
            rows[function] = words
    for name, value in list(globals().items()):
        if inspect.isfunction(value) and not name.startswith("_") and value.__module__ == __name__:
            prefix, _, last = name.partition("_")
            space = spaces.get(prefix) if prefix in spaces else np
            function = getattr(space, last if prefix in spaces else name, None)
            if function is not None:
                rows[function] = value
    for name, same in (("amax", max), ("amin", min), ("around", round)):
        if hasattr(np, name):
            rows[getattr(np, name)] = same
    return rows


# Functions whose order is a layout in memory, which arrays here do not have.
LAYOUT = ("copy", "array", "asarray", "asanyarray", "zeros_like", "ones_like", "empty_like", "full_like", "zeros", "ones", "empty",
           "full", "astype")


def compute(function, given):
    """The result of NumPy's function with the arguments that bound gave; raises Unfit."""
    row = _TABLE.get(function)
    if row is None:
        raise Unfit
    if isinstance(row, list):
        row = _TABLE[function] = _Row(row)
    elif not isinstance(row, (_Row, _Defined)):
        row = _TABLE[function] = _Defined(row)
    return row(widened(given))


_TABLE = _tables()
