"""Functions with NumPy's names that make arrays from other things, read and write text, or set options. Loaded when one of them is
first used. None of them needs NumPy, except where its docstring says so."""
import contextlib
import itertools
import math

from . import _ingot
from .transform import follows_arguments

_ops = _ingot._ops
_asarray = _ingot.asarray


# ---- arrays from other things ----

def frombuffer(buffer, dtype="float64", count=-1, offset=0):
    """A 1-d array of the bytes of an object with a buffer. dtype is float64 unless given, as in NumPy."""
    dtype = _ingot.dtype(dtype)
    data = memoryview(buffer).cast("B")[offset:]
    if count < 0:
        if len(data) % dtype.itemsize:
            raise ValueError(f"frombuffer: {len(data)} bytes are not a multiple of the {dtype.itemsize} bytes of {dtype}")
        count = len(data) // dtype.itemsize
    if count * dtype.itemsize > len(data):
        raise ValueError(f"frombuffer: {count} elements of {dtype} need {count * dtype.itemsize} bytes, and there are {len(data)}")
    return _ingot._from_bytes(bytes(data[:count * dtype.itemsize]), (count,), dtype)


def fromiter(iter, dtype, count=-1):
    """A 1-d array of the numbers that an iterable gives, at most count of them."""
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if count >= 0 and len(items) < count:
        raise ValueError(f"fromiter: the iterable ended after {len(items)} of {count} elements")
    return _asarray(items, dtype=dtype)


def fromfunction(function, shape, *, dtype=None, **kwargs):
    """function(i, j, ...) of the arrays of indices of each axis. They are floats unless dtype says otherwise, as in NumPy."""
    return function(*_ops["indices"](shape, dtype=dtype or _ingot.get_default_dtype()), **kwargs)


def block(arrays):
    """Joins nested lists of arrays: the innermost lists along the last axis."""
    def depth(item):
        return 1 + depth(item[0]) if isinstance(item, list) and item else 0

    def join(item, axis):
        if isinstance(item, list):
            return _ops["concat"]([join(one, axis + 1) for one in item], axis=axis)
        item = _asarray(item)
        return item.reshape((1,) * (levels - item.ndim) + item.shape) if item.ndim < levels else item

    levels = depth(arrays)
    return join(arrays, -levels)


def pad(x, pad_width, mode="constant", value=0, *, constant_values=None):
    """More elements at the ends of axes, as ops.md says. constant_values may be a pair (before, after), or a pair for each axis."""
    value = value if constant_values is None else constant_values
    if not isinstance(value, (tuple, list)) or mode != "constant":
        return _ops["pad"](x, pad_width, mode, value)
    x, value, widths = _asarray(x), _asarray(value), _asarray(pad_width)
    if value.size == 1:
        return _ops["pad"](x, pad_width, mode, value.reshape(()))
    pairs = [_ops["broadcast_to"](widths.reshape(-1, 2) if widths.size > 2 else widths, (x.ndim, 2)).tolist(),
             _ops["broadcast_to"](value, (x.ndim, 2)).tolist()]
    for axis, (lengths, numbers) in enumerate(zip(*pairs)):
        ends = [_ops["full"](x.shape[:axis] + (int(n),) + x.shape[axis + 1:], number, dtype=x.dtype)
                for n, number in zip(lengths, numbers)]
        x = _ops["concat"]([ends[0], x, ends[1]], axis)
    return x


@follows_arguments
def linspace(start, stop=None, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None, steps=None, end=None):
    """num values from start to stop, which may be arrays: the new axis is then at `axis`. retstep returns (values, step), too. end and steps
    are PyTorch's names of stop and num."""
    stop, num = stop if end is None else end, num if steps is None else steps
    if stop is None:
        raise TypeError("linspace: stop is missing")
    if not isinstance(endpoint, int):  # the order of the standard's parameters, and of the op
        dtype, endpoint = endpoint, True
    if not any(hasattr(x, "ndim") or isinstance(x, (list, tuple, complex)) for x in (start, stop)) and not retstep:
        if axis not in (0, -1):
            raise ValueError(f"linspace: axis {axis} is out of range for an array of 1 dimension")
        return _ops["linspace"](start, stop, num, dtype=dtype, endpoint=endpoint, device=device)
    if num < 0:
        raise ValueError(f"linspace: num is {num}; give 0 or more")
    start, stop = _ops["broadcast_arrays"](_asarray(start), _asarray(stop))
    wide = _ingot.result_type(start, stop, 1.0)
    start, stop = start.astype(wide), stop.astype(wide)
    parts = num - 1 if endpoint else num
    step = (stop - start) / parts if parts > 0 else _ops["full_like"](start, math.nan)
    i = _ops["arange"](num, dtype=wide if wide.kind == "f" else "float64").reshape((num,) + (1,) * start.ndim)
    values = start + i * (step if parts > 0 else 0)
    if endpoint and num > 1:
        values = _ops["where"](i == num - 1, stop, values)
    if dtype is not None:
        dtype = _ingot.dtype(dtype)
        values = (_ops["floor"](values) if dtype.kind in "iu" else values).astype(dtype)
    values = _ops["moveaxis"](values, 0, axis) if axis else values
    values = values if device is None else _asarray(values, device=device)
    return (values, step) if retstep else values


@follows_arguments
def piecewise(x, condlist, funclist, *args, **kwargs):
    """Functions, or numbers, of the elements for which conditions hold. One more function than conditions is for all others."""
    x = _asarray(x)
    conditions, functions = [_asarray(c).astype("bool") for c in condlist], list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"piecewise: {len(functions)} functions for {len(conditions)} conditions; give one for each, and one for the others")
    y = _ops["zeros_like"](x)
    for condition, function in [(True, f) for f in functions[len(conditions):]] + list(zip(conditions, functions)):
        y = _ops["where"](condition, _asarray(function(x, *args, **kwargs) if callable(function) else function).astype(x.dtype), y)
    return y


def _steps(s):
    """The numbers of a slice: arange, or linspace if the step is complex."""
    start = 0 if s.start is None else s.start
    if isinstance(s.step, complex):
        return _ops["linspace"](start, s.stop, int(abs(s.step)))
    if s.stop is None:
        raise ValueError("a slice needs its end")
    return _ops["arange"](start, s.stop, 1 if s.step is None else s.step)


class _Grid:
    """mgrid[0:3, 0:1:5j]: arrays of coordinates, a complex step is a number of points. ogrid has lengths of 1 along other axes."""

    def __init__(self, sparse):
        self.sparse = sparse

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            return _steps(key)
        rows = [_steps(s) for s in key]
        dtype = _ingot.result_type(*rows)
        rows = [r.astype(dtype) for r in rows]
        if self.sparse:
            return tuple(r.reshape((1,) * i + (-1,) + (1,) * (len(rows) - 1 - i)) for i, r in enumerate(rows))
        return _ops["stack"](_ops["meshgrid"](*rows, indexing="ij"))


mgrid, ogrid = _Grid(False), _Grid(True)


class _Joined:
    """r_[1:4, 0, x] joins numbers, slices (as ranges) and arrays; c_ joins them as columns. A text such as '0,2,1' in front gives the
    axis, the least number of axes, and where the axes of smaller arrays come."""

    def __init__(self, axis, ndmin, place):
        self.settings = axis, ndmin, place

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        axis, ndmin, place = self.settings
        if key and isinstance(key[0], str):
            try:
                numbers = [int(n) for n in key[0].split(",")]
            except ValueError:
                raise ValueError(f"r_: '{key[0]}' is not a list of integers; matrices ('r', 'c') do not exist here") from None
            axis, ndmin, place = numbers + list(self.settings[len(numbers):])
            key = key[1:]
        parts = []
        for item in key:
            x = _steps(item) if isinstance(item, slice) else _asarray(item)
            missing = ndmin - x.ndim
            if missing > 0:
                before = place if place >= 0 else place + missing + 1
                x = x.reshape((1,) * before + x.shape + (1,) * (missing - before))
            parts.append(x)
        weak = [k for k in key if isinstance(k, (bool, int, float, complex))]
        strong = [x for x, k in zip(parts, key) if not isinstance(k, (bool, int, float, complex))]
        dtype = _ingot.result_type(*(strong or parts), *(weak if strong else ()))
        return _ops["concat"]([x.astype(dtype) for x in parts], axis=axis)


r_, c_ = _Joined(0, 1, -1), _Joined(-1, 2, 0)


class _Index:
    """s_[1:3, ...] is the key itself; index_exp always gives a tuple."""

    def __init__(self, as_tuple):
        self.as_tuple = as_tuple

    def __getitem__(self, key):
        return (key,) if self.as_tuple and not isinstance(key, tuple) else key


s_, index_exp = _Index(False), _Index(True)


class ndindex:
    """The indices of all elements of a shape, as tuples, in row-major order."""

    def __init__(self, *shape):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        self._all = itertools.product(*(range(n) for n in shape))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._all)


def ndenumerate(x):
    """Pairs of an index and a Python number, in row-major order."""
    x = _asarray(x)
    return zip(ndindex(x.shape), _ops["flatten"](x).tolist())


def nditer(op, flags=(), op_flags=(), order="K"):
    """The elements of an array in row-major order, as 0-d arrays; of several arrays, which are broadcast, tuples of them. With
    op_flags=["readwrite"] they are views: x[...] = 1 changes the array. Flags such as "multi_index" are not supported: use ndenumerate."""
    if set(flags) - {"refs_ok", "zerosize_ok"}:
        raise ValueError(f"nditer: the flag '{min(set(flags) - {'refs_ok', 'zerosize_ok'})}' is not supported; use ndenumerate(x) for indices, or ops of "
                         "whole arrays")
    if order not in ("K", "C", "A"):
        raise ValueError(f"nditer: the order '{order}' is not supported; use nditer(x.T)")
    if isinstance(op, (list, tuple)):
        items = _ops["broadcast_arrays"](*[_asarray(x) for x in op])
        return (tuple(x[i] for x in items) for i in ndindex(items[0].shape))
    x = _asarray(op)
    return (x[(*i, ...)] for i in ndindex(x.shape))


class poly1d:
    """A polynomial by its coefficients, that of the highest power first; with r=True by its roots. p(x) is its value."""

    def __init__(self, c_or_r, r=False, variable=None):
        c = c_or_r.coeffs if isinstance(c_or_r, poly1d) else _ops["poly"](_asarray(c_or_r)) if r else _ops["atleast_1d"](_asarray(c_or_r))
        first = next((i for i, value in enumerate(c.tolist()) if value), c.size - 1)
        self.coeffs, self.variable = c[first:], variable or "x"

    c = coef = coefficients = property(lambda self: self.coeffs)
    order = o = property(lambda self: self.coeffs.size - 1)
    roots = r = property(lambda self: _ops["roots"](self.coeffs))

    def __call__(self, x):
        return poly1d(self._value(x)) if isinstance(x, poly1d) else self._value(x)

    def _value(self, x):
        if isinstance(x, poly1d):
            y = poly1d(0)
            for c in self.coeffs.tolist():
                y = y * x + c
            return y.coeffs
        return _ops["polyval"](self.coeffs, _asarray(x))

    def __len__(self):
        return self.order

    def __getitem__(self, power):
        return self.coeffs[self.order - power] if 0 <= power <= self.order else _asarray(0, dtype=self.coeffs.dtype)

    def __iter__(self):
        return iter(self.coeffs)

    def __array__(self, dtype=None, copy=None):
        return self.coeffs.__array__(dtype)

    def __eq__(self, other):
        return isinstance(other, poly1d) and self.coeffs.tolist() == other.coeffs.tolist()

    def __neg__(self):
        return poly1d(-self.coeffs)

    def _with(self, name, other):
        return poly1d(_ops[name](self.coeffs, poly1d(other).coeffs))

    def __add__(self, other):
        return self._with("polyadd", other)

    def __sub__(self, other):
        return self + -poly1d(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        return self._with("polymul", other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, number):
        return poly1d(self.coeffs / number)

    def __pow__(self, n):
        y = poly1d(1)
        for _ in range(n):
            y = y * self
        return y

    def deriv(self, m=1):
        """The m-th derivative."""
        return poly1d(_ops["polyder"](self.coeffs, m))

    def integ(self, m=1, k=0):
        """An integral, m times, with the constant k."""
        return poly1d(_ops["polyint"](self.coeffs, m, k))

    def __repr__(self):
        return f"poly1d({self.coeffs.tolist()})"


def require(x, dtype=None, requirements=None):
    """x as an array. Its layout is row-major, so 'C' and 'A' always hold, and 'F' cannot be had."""
    wanted = {requirements} if isinstance(requirements, str) else set(requirements or ())
    if wanted & {"F", "F_CONTIGUOUS", "FORTRAN"}:
        raise ValueError("require: arrays here have the row-major order; use numpy.require for column-major memory")
    return _asarray(x, dtype=dtype)


def in1d(x1, x2, assume_unique=False, invert=False):
    """Which elements of the flattened x1 are in x2."""
    return _ops["isin"](_ops["flatten"](_asarray(x1)), x2, invert)


def shape(x):
    """The lengths of the axes of an array, a number or nested lists."""
    return _asarray(x).shape


def ndim(x):
    """The number of axes."""
    return _asarray(x).ndim


def size(x, axis=None):
    """The number of elements, or the length of an axis or of several."""
    x = _asarray(x)
    return x.size if axis is None else math.prod(x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,)))


# ---- functions that work in place ----

def _in_place(name):
    def function(x, *args, **kwargs):
        if type(x) is not _ingot.Array:
            raise TypeError(f"{name} changes its first argument, so that must be an array, not {type(x).__name__}")
        new = _ops[name](x, *args, **kwargs)
        if "biufc".index(new.dtype.kind.replace("u", "i")) > "biufc".index(x.dtype.kind.replace("u", "i")):
            raise TypeError(f"{name}: elements of {new.dtype} cannot be elements of {x.dtype}; use astype")
        x[...] = new

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Changes the first argument in place and returns None, as NumPy does. {_ops[name].__doc__ or ''}"
    return function


copyto, put, place, putmask, fill_diagonal, put_along_axis = map(
    _in_place, ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"))


# ---- dtypes ----

euler_gamma = 0.5772156649015329
NaN = NAN = math.nan
Inf = infty = math.inf
NINF, PINF, NZERO, PZERO = -math.inf, math.inf, -0.0, 0.0

floating, integer, complexfloating, number = "real floating", "integral", "complex floating", "numeric"
signedinteger, unsignedinteger, inexact = "signed integer", "unsigned integer", ("real floating", "complex floating")


def issubdtype(dtype, kind):
    """Whether a dtype is of a kind, such as ingot.floating, or is another dtype."""
    if isinstance(kind, type) and kind.__module__ == "numpy" and kind.__name__ in globals():
        kind = globals()[kind.__name__]
    if kind is int:
        kind = "integral"
    return _ingot.isdtype(dtype, kind)


def promote_types(type1, type2):
    """The common dtype of two dtypes."""
    return _ingot.result_type(_ingot.dtype(type1), _ingot.dtype(type2))


def common_type(*arrays):
    """The floating-point dtype that all arrays can be converted to."""
    return _ingot.result_type(_ingot.get_default_dtype() if all(x.dtype.kind in "iub" for x in arrays) else arrays[0], *arrays)


def isscalar(x):
    """Whether x is a Python or NumPy number or text, and not an array."""
    return isinstance(x, (int, float, complex, str, bytes)) or type(x).__module__ == "numpy" and getattr(x, "shape", None) == () \
        and not hasattr(x, "__setitem__")


def iterable(x):
    """Whether x can be iterated over."""
    try:
        iter(x)
    except TypeError:
        return False
    return True


def _share(name, a, b):
    """NumPy's answer about arrays with the places of a and b, if these are views of one array."""
    from ._ingot import Array, _place
    numpy = _numpy(name)
    if type(a) is Array and type(b) is Array:
        if (a if a.base is None else a.base) is not (b if b.base is None else b.base):
            return False
        places = [(_place(x), x.shape) for x in (a, b)]
        parts = {part for (_, _, part), _ in places}
        if len(parts) == 2 and None not in parts:  # real and imaginary parts
            return False
        root = numpy.empty((a if a.base is None else a.base).size, "u1")
        a, b = (numpy.lib.stride_tricks.as_strided(root[offset:], shape, strides) for (offset, strides, _), shape in places)
    return getattr(numpy, name)(numpy.asarray(a), numpy.asarray(b))


def may_share_memory(a, b, max_work=None):
    """Whether two arrays may have elements in the same memory. Needs NumPy."""
    return _share("may_share_memory", a, b)


def shares_memory(a, b, max_work=None):
    """Whether two arrays have an element in the same memory. Needs NumPy."""
    return _share("shares_memory", a, b)


def _numpy(name):
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"{name} needs NumPy, which is not installed; run pip install numpy") from error
    return numpy


def __getattr__(name):
    if name == "testing":
        from importlib import import_module
        return import_module("numpy.testing") if _numpy("testing") else None
    raise AttributeError(f"module 'ingot._numpy_names' has no attribute '{name}'")


# ---- printing ----

_options = {}


def array_str(x, max_line_width=None, precision=None, suppress_small=None):
    """The elements as text."""
    options = {"max_line_width": max_line_width, "precision": precision, "suppress_small": suppress_small}
    options = {k: v for k, v in options.items() if v is not None}
    return array2string(x, **options) if options else str(_asarray(x))


def array_repr(x, max_line_width=None, precision=None, suppress_small=None):
    """The array as text, with its dtype and device."""
    x = _asarray(x)
    return _repr_with(x, array_str(x, max_line_width, precision, suppress_small))


def array2string(x, **options):
    """The elements as text. Options are NumPy's, and need NumPy."""
    x = _asarray(x)
    if not options:
        return str(x)
    return _numpy("array2string with options").array2string(x.numpy(), **options)


def _repr_with(x, text):
    return f"Array({text.replace(chr(10), chr(10) + ' ' * 6)}, dtype={x.dtype}, device='{x.device}')"


def set_printoptions(**options):
    """Sets how arrays are printed, with NumPy's options: precision, threshold, linewidth, suppress, ... Needs NumPy."""
    numpy = _numpy("set_printoptions")
    with numpy.printoptions(**{k: v for k, v in (_options | options).items()}):
        pass  # checks the names and values
    _options.update(options)
    if not hasattr(_ingot.Array, "_plain_str"):
        _ingot.Array._plain_str, _ingot.Array._plain_repr = _ingot.Array.__str__, _ingot.Array.__repr__
        _ingot.Array.__str__, _ingot.Array.__repr__ = _str, _repr


def _str(x):
    if not _options:
        return x._plain_str()
    import numpy
    with numpy.printoptions(**_options):
        return str(x.numpy())


def _repr(x):
    plain = x._plain_repr()  # shows arrays of transforms, which have no elements, as well
    return plain if not _options or plain.startswith("Array(...") else _repr_with(x, _str(x))


def get_printoptions():
    """The options of set_printoptions that differ from the defaults."""
    return dict(_options)


@contextlib.contextmanager
def printoptions(**options):
    """Sets options of printing for a with statement."""
    before = dict(_options)
    set_printoptions(**options)
    try:
        yield dict(_options)
    finally:
        _options.clear()
        _options.update(before)


# ---- errors of floating point ----

class errstate(contextlib.ContextDecorator):
    """For programs that silence NumPy's warnings about division by 0, overflow and invalid values. Ingot never warns: such results are
    infinities and NaN. 'raise' and 'call' cannot be had."""

    def __init__(self, **settings):
        seterr(**settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def seterr(all=None, divide=None, over=None, under=None, invalid=None, call=None):
    """Checks the settings, which change nothing; see errstate."""
    for name, value in {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}.items():
        if value not in (None, "ignore", "warn", "print", "log"):
            raise ValueError(f"errstate: {name}={value!r} is not supported: Ingot does not watch the floating-point flags; check results "
                             "with isfinite")
    return geterr()


def geterr():
    """The settings of errstate: all are 'ignore'."""
    return dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


def asfarray(x, dtype=None):
    """x as an array of floats."""
    x = _asarray(x, dtype=dtype)
    return x if x.dtype.kind in "fc" else x.astype(_ingot.get_default_dtype())
