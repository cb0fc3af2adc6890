"""NumPy's protocols: what np.add(x, y), np.add.reduce(x) and np.mean(x) compute for arrays of this library. Loaded when NumPy
first calls.

No argument is dropped unless it cannot matter. A call is computed in the first of these ways that takes all of its arguments:

  1. by an op: _numpy_functions.py says which arguments of NumPy's functions the ops have
  2. by NumPy, with the elements: only on the CPU and outside of transforms, because gradients do not pass through it

Functions that NumPy defines in place, and `out`, assign to the items of their array."""
import functools
import inspect
import sys

import numpy as np

from . import _ingot, _names

ops = _ingot._ops
Array = _ingot.Array
MISSING = np._NoValue


class Unfit(Exception):
    """The ops do not have these arguments."""


# ---- computing with NumPy ----

def is_differentiating():
    """Whether this thread is inside of a function that is differentiated."""
    keeps = _ingot._keep_history(True)
    _ingot._keep_history(keeps)
    return keeps


def _elements(x, name):
    if x.device != "cpu":
        raise TypeError(f"{name}: the library has no op for these arguments, and the array is on {x.device}; use "
                        "numpy.asarray(x.to_device('cpu'))")
    try:
        return x.__array__()
    except Exception as error:
        raise TypeError(f"{name}: the library has no op for these arguments, so NumPy would compute them, but the elements cannot "
                        f"be read: {error}") from error


def to_numpy(tree, name):
    """A copy of nested lists, tuples and dictionaries with NumPy's arrays instead of ours."""
    kind = type(tree)
    if kind is Array:
        return _elements(tree, name)
    if kind in (list, tuple):
        return kind([to_numpy(item, name) for item in tree])
    if kind is dict:
        return {key: to_numpy(item, name) for key, item in tree.items()}
    if kind is _ingot.dtype:
        return tree.__numpy_dtype__
    return tree


_KEPT = frozenset("biufc")


def from_numpy(result):
    """NumPy's arrays and scalars in a result as ours, if their dtype exists here."""
    if isinstance(result, (np.ndarray, np.generic)):
        kept = result.dtype.kind in _KEPT and result.dtype.itemsize <= (16 if result.dtype.kind == "c" else 8)
        return _ingot.asarray(np.asarray(result)) if kept else result
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(from_numpy, result))
    if type(result) in (list, tuple):
        return type(result)([from_numpy(item) for item in result])
    return result


def by_numpy(function, name, args, kwargs):
    """The result of NumPy's own function as arrays of this library."""
    if is_differentiating():
        raise TypeError(f"{name}: the library has no op for these arguments, and no gradient passes through NumPy; use functions of "
                        "ingot, or numpy.asarray(x) for values that are constants")
    return from_numpy(function(*to_numpy(args, name), **to_numpy(kwargs, name)))


# ---- arguments ----

class _Signature:
    """The parameters of a function of NumPy: names by position, defaults, whether further arguments follow."""

    def __init__(self, function):
        parameters = inspect.signature(function).parameters.values()
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.rest = any(p.kind == p.VAR_POSITIONAL for p in parameters)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}


@functools.lru_cache(maxsize=None)
def _signature(function):
    try:
        return _Signature(function)
    except (TypeError, ValueError):  # some functions in C have none
        return None


_PLAIN = (bool, int, float, str, tuple, type(None))


def _is_default(value, default):
    return value is default or (type(value) is type(default) and type(value) in _PLAIN and value == default)


# Arguments that do not change a result of this library: its arrays have the row-major order.
_HARMLESS = {"subok": None, "overwrite_input": None, "optimize": None, "casting": ("same_kind", "unsafe"), "order": ("C", "K", "A"),
             "device": ("cpu", None)}


def bound(function, args, kwargs):
    """The arguments of a call by NumPy's names, "*" for further ones, without those that equal their defaults."""
    signature = _signature(function)
    if signature is None:
        raise Unfit
    given = dict(zip(signature.names, args))
    if len(args) > len(signature.names):
        given["*"] = tuple(args[len(signature.names):])
    if not given.keys().isdisjoint(kwargs):
        raise TypeError(f"{function.__name__}: {', '.join(given.keys() & kwargs)} is given twice")
    given.update(kwargs)
    for name in list(given):
        value = given[name]
        if name in signature.defaults and _is_default(value, signature.defaults[name]) or value is MISSING:
            del given[name]
        elif name in _HARMLESS and name not in ("casting", "order", "device"):
            del given[name]
        elif name in _HARMLESS and isinstance(value, str) and value in _HARMLESS[name]:
            del given[name]
    return given


def _has_floats(tree):
    return isinstance(tree, (float, complex)) or type(tree) in (list, tuple) and any(map(_has_floats, tree))


def widened(given):
    """The arguments with lists of floats in double precision, if an array has it; else they would have the default dtype."""
    def wide(x):
        return getattr(x, "dtype", None) in ("float64", "complex128") or type(x) in (list, tuple) and any(map(wide, x))

    if any(type(x) in (list, tuple) and _has_floats(x) for x in given.values()) and any(map(wide, given.values())):
        for name, value in given.items():
            if type(value) in (list, tuple) and _has_floats(value) and not wide(value):
                given[name] = np.asarray(value)
    return given


# ---- results in given arrays ----

def cast_allowed(value, dtype, casting, name):
    """Raises TypeError if NumPy would not cast the value to the dtype."""
    dtype = np.dtype(dtype)
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        fits = np.can_cast(np.result_type(dtype, value), dtype, casting)
    else:
        source = value.dtype if hasattr(value, "dtype") else _ingot.asarray(value).dtype
        fits = np.can_cast(getattr(source, "__numpy_dtype__", source), dtype, casting)
    if not fits:
        raise TypeError(f"{name}: cannot cast {getattr(value, 'dtype', type(value).__name__)} to {dtype} by the rule {casting!r}")


def write(out, result, name, casting="same_kind", where=True):
    """Assigns a result to the items of out, an array of this library or of NumPy, and returns out."""
    if type(out) is tuple and type(result) in (tuple, list):
        return tuple(r if o is None else write(o, r, name, casting, where) for o, r in zip(out, result))
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    if type(out) is not Array and not isinstance(out, np.ndarray):
        raise TypeError(f"{name}: out is an array, not {type(out).__name__}")
    shape = tuple(result.shape)
    if shape != tuple(out.shape) and np.broadcast_shapes(shape, tuple(out.shape)) != tuple(out.shape):
        raise ValueError(f"{name}: the result has shape {shape}, and out has {tuple(out.shape)}")
    cast_allowed(result, getattr(out.dtype, "__numpy_dtype__", out.dtype), casting, name)
    if where is not True:
        result = ops["where"](where, result, out)
    if type(out) is Array:
        out[...] = result.astype(out.dtype) if result.dtype != out.dtype else result
    else:
        out[...] = _elements(result, name) if type(result) is Array else result
    return out


# ---- functions ----

def array_function(self, function, types, args, kwargs):
    """Array.__array_function__."""
    for kind in types:
        if kind is not Array and not issubclass(kind, np.ndarray):
            return NotImplemented
    from . import _numpy_functions as defined, _numpy_in_place as in_place
    name = f"numpy.{function.__name__}"
    if function in in_place.TABLE:
        return in_place.TABLE[function](*args, **kwargs)
    error = None
    if kwargs.get("order") == "F" and function.__name__ in defined.LAYOUT:
        raise TypeError(f"{name}: order='F' is a layout in memory, and arrays here have the row-major order; leave it out, or use "
                        "numpy.asarray(x, order='F')")
    try:
        given = bound(function, args, kwargs)
        out = given.pop("out", None)
        result = defined.compute(function, given)
        return result if out is None else write(out, result, name, kwargs.get("casting", "same_kind"))
    except Unfit:
        if function.__name__ in defined.LAYOUT:  # libraries ask in this way whether a dtype of NumPy exists here
            raise TypeError(f"{name}: the library has no arrays of this kind: {', '.join(f'{k}={v!r}' for k, v in kwargs.items())}") from None
    except (TypeError, ValueError, NotImplementedError) as raised:  # NumPy takes more dtypes and forms, or says it in its words
        if function.__name__ in defined.LAYOUT:
            raise
        error = raised
    return _second(function, name, args, kwargs, error)


def _second(function, name, args, kwargs, error):
    """Computes by NumPy; raises the error of the first attempt if the elements cannot be read."""
    out = kwargs.get("out")
    if out is not None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    try:
        result = by_numpy(function, name, args, kwargs)
    except TypeError as other:
        if error is not None and "the library has no op" in str(other):
            raise error from None
        raise
    return result if out is None else write(out, result, name, kwargs.get("casting", "same_kind"))


def extended(name, args, kwargs):
    """The function of this library with arguments that only NumPy's function has, such as out, where and initial. NotImplemented if the
    ops do not have them."""
    from . import _numpy_functions as defined
    function = getattr(np, _NAMES.get(name, name), None)
    if function is None:
        return NotImplemented
    try:
        if isinstance(function, np.ufunc):
            out = kwargs.get("out", ())
            return array_ufunc(None, function, "__call__", *args, **{**kwargs, "out": out if type(out) is tuple else (out,)}, strict=True)
        given = bound(function, args, kwargs)
        out = given.pop("out", None)
        result = defined.compute(function, given)
        return result if out is None else write(out, result, name)
    except (Unfit, AttributeError):
        return NotImplemented


# Names of ops that differ from NumPy's.
_NAMES = {"concat": "concatenate", "permute_dims": "transpose", "pow": "power"}


# ---- ufuncs ----

# NumPy's ufuncs and the functions here that compute the same; the others have the same name.
_UFUNCS = """absolute:abs add arccos:acos arccosh:acosh arcsin:asin arcsinh:asinh arctan:atan arctan2:atan2 arctanh:atanh
bitwise_and bitwise_count bitwise_or bitwise_xor cbrt ceil conjugate:conj copysign cos cosh deg2rad degrees:rad2deg divide divmod
equal exp exp2 expm1 fabs:abs float_power floor floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot
invert:bitwise_invert isfinite isinf isnan lcm ldexp left_shift:bitwise_left_shift less less_equal log log10 log1p log2 logaddexp
logaddexp2 logical_and logical_not logical_or logical_xor matmul matvec maximum minimum modf multiply negative nextafter not_equal
positive power:pow rad2deg radians:deg2rad reciprocal remainder right_shift:bitwise_right_shift rint:round sign signbit sin sinh
spacing sqrt square subtract tan tanh trunc vecdot vecmat"""

# The same of scipy.special. A ufunc with the name of an op, but with other arguments, such as huber, is not here.
_SPECIAL = """beta betainc betaln boxcox boxcox1p dawsn digamma:digamma entr erf erfc erfcx erfinv exp1 exp2 expi expit:sigmoid expm1
expn fresnel gamma gammainc gammaincc gammaln:lgamma i0 i0e i1 i1e kl_div log1p log_expit:log_sigmoid log_ndtr logit ndtr ndtri owens_t
poch psi:digamma rel_entr sici spence wofz xlog1py xlogy"""


def _pairs(text, module, prefix):
    found = {}
    for word in text.split():
        name, _, ours = word.partition(":")
        if hasattr(module, name):
            found[getattr(module, name)] = _names.find(ours or name, prefix)
    return found


@functools.lru_cache(maxsize=None)
def _own():
    return _pairs(_UFUNCS, np, "")


@functools.lru_cache(maxsize=None)
def _special():
    return _pairs(_SPECIAL, sys.modules["scipy.special"], "special.")


def _find(ufunc):
    """The function here that computes a ufunc, or None."""
    found = _own().get(ufunc)
    return found if found or "scipy.special" not in sys.modules else _special().get(ufunc)


# Ufuncs whose results have the dtype of their inputs, so dtype= is a cast of the inputs.
_SAME = frozenset("""add subtract multiply maximum minimum negative positive absolute square bitwise_and bitwise_or bitwise_xor invert
left_shift right_shift floor_divide remainder power fmod sign conjugate gcd lcm fmax fmin""".split())
_FLOATS = frozenset("""divide exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh
arccosh arctanh hypot arctan2 logaddexp logaddexp2 copysign nextafter deg2rad rad2deg degrees radians reciprocal""".split())


def _as_floats(inputs):
    return [_ingot.asarray(x).astype(_ingot.get_default_dtype()) for x in inputs]


def _unfit(inputs):
    raise Unfit


# Ufuncs that differ from their op for integers: NumPy gives floats, or divides integers.
_WHOLE = {np.fabs: _as_floats, np.heaviside: _as_floats, np.rint: _as_floats, np.reciprocal: _unfit}


def _with_dtype(ufunc, inputs, dtype):
    """The inputs cast to the dtype in which NumPy would compute."""
    dtype = np.dtype(getattr(dtype, "__numpy_dtype__", dtype))
    name = ufunc.__name__
    if _own().get(ufunc) is None or not (name in _SAME or name in _FLOATS and dtype.kind in "fc"):
        raise Unfit
    for x in inputs:
        cast_allowed(x, dtype, "same_kind", name)
    return [_ingot.asarray(x, dtype=_ingot.dtype(dtype.name)) if type(x) is not Array else x.astype(_ingot.dtype(dtype.name))
            for x in inputs]


def _check_types(inputs, outputs):
    """False if another library's array takes part, which handles the call itself."""
    for x in (*inputs, *outputs):
        if type(x) is not Array and not isinstance(x, (np.ndarray, np.generic)) and hasattr(x, "__array_ufunc__"):
            return False
    return True


def array_ufunc(self, ufunc, method, *inputs, strict=False, **kwargs):
    """Array.__array_ufunc__. With strict, NumPy computes nothing: Unfit or the op's error is raised."""
    out = kwargs.pop("out", ())
    if not _check_types(inputs, out):
        return NotImplemented
    casting, name = kwargs.get("casting", "same_kind"), ufunc.__name__
    if method == "at":
        return _at(ufunc, *inputs)
    try:
        result = _compute(ufunc, method, inputs, dict(kwargs))
    except Unfit:
        if strict:
            raise
        result = _by_numpy(ufunc, method, inputs, kwargs, None)
    except (TypeError, ValueError) as error:
        if strict:
            raise
        result = _by_numpy(ufunc, method, inputs, kwargs, error)
    if not any(o is not None for o in out):
        return result
    if casting not in ("same_kind", "unsafe"):
        casting = "same_kind"
    return write(out, result, name, casting, kwargs.get("where", True) if method == "__call__" else True)


def _by_numpy(ufunc, method, inputs, kwargs, error):
    name = f"numpy.{ufunc.__name__}" if ufunc in _own() else ufunc.__name__
    try:
        return by_numpy(getattr(ufunc, method), name, inputs, kwargs)
    except TypeError as other:
        if error is not None and "the library has no op" in str(other):
            raise error from None
        raise


def _compute(ufunc, method, inputs, kwargs):
    for name, allowed in _HARMLESS.items():
        value = kwargs.get(name)
        if name in kwargs and (allowed is None or value in allowed):
            del kwargs[name]
    if method == "reduce":
        return _reduce(ufunc, *inputs, **kwargs)
    if method == "accumulate":
        return _accumulate(ufunc, *inputs, **kwargs)
    if method not in ("__call__", "outer"):
        raise Unfit
    function, dtype, where = _find(ufunc), kwargs.pop("dtype", None), kwargs.pop("where", True)
    if function is None or kwargs and not (ufunc is np.vecdot and set(kwargs) == {"axis"}):
        raise Unfit
    if dtype is not None:
        inputs = _with_dtype(ufunc, inputs, dtype)
    if method == "outer":
        first, second = (x if type(x) is Array else _ingot.asarray(x) for x in inputs)
        inputs = first.reshape(first.shape + (1,) * second.ndim), second
    if ufunc in _WHOLE and all(getattr(x, "dtype", np.asarray(x).dtype).kind in "iub" for x in inputs):
        inputs = _WHOLE[ufunc](inputs)
    result = function(*widened(dict(enumerate(inputs))).values(), **kwargs)
    if where is not True:  # NumPy leaves the other elements undefined, or as they are in out
        shape = np.broadcast_shapes(np.shape(where), result.shape)
        result = ops["broadcast_to"](result, shape)
    return result


_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
               "bitwise_and": "reduce_and", "bitwise_or": "reduce_or", "bitwise_xor": "reduce_xor", "logaddexp": "logsumexp"}
_SCANS = {"add": "cumulative_sum", "multiply": "cumulative_prod", "maximum": "cumulative_max", "minimum": "cumulative_min",
          "logaddexp": "cumulative_logsumexp"}


def _reduce(ufunc, x, axis=0, dtype=None, keepdims=False, initial=MISSING, where=True):
    from . import _numpy_functions as defined
    name = _REDUCTIONS.get(ufunc.__name__) if ufunc in _own() else None
    given = {"a": x, "axis": axis, "keepdims": keepdims, "dtype": dtype, "initial": initial, "where": where}
    defaults = {"axis": None, "keepdims": False, "dtype": None, "initial": MISSING, "where": True}
    given = {k: v for k, v in given.items() if k not in defaults or v is not defaults[k]}
    if type(axis) is tuple and not axis or np.ndim(x) == 0:
        raise Unfit
    if name in ("sum", "prod", "max", "min", "all", "any"):
        return defined.compute(getattr(np, name), given)
    if name is None or set(given) - {"a", "axis", "keepdims"}:
        raise Unfit
    return ops[name](x, **{k: v for k, v in given.items() if k != "a"})


def _accumulate(ufunc, x, axis=0, dtype=None):
    name = _SCANS.get(ufunc.__name__) if ufunc in _own() else None
    if name is None or (dtype is not None and name not in ("cumulative_sum", "cumulative_prod")):
        raise Unfit
    return ops[name](x, axis=axis) if dtype is None else ops[name](x, axis=axis, dtype=np.dtype(dtype).name)


_UPDATES = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}


def _at(ufunc, x, indices, *values):
    """np.add.at(x, i, y): changes x in place; repeated indices count each time."""
    name = f"numpy.{ufunc.__name__}.at"
    if type(x) is not Array:
        return ufunc.at(x, *to_numpy((indices, *values), name))
    if ufunc in _own() and ufunc.__name__ in _UPDATES and x.dtype.kind != "b":
        cast_allowed(values[0], x.dtype.__numpy_dtype__, "same_kind", name)
        place = x.at[indices]
        x[...] = getattr(place, _UPDATES[ufunc.__name__])(_ingot.asarray(values[0], dtype=x.dtype))
        return None
    if is_differentiating():
        raise TypeError(f"{name}: no gradient passes through it; use x.at[i]")
    copy = np.array(_elements(x, name))
    ufunc.at(copy, *to_numpy((indices, *values), name))
    x[...] = copy
