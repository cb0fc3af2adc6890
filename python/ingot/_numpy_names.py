"""Functions with NumPy's names that make arrays from other things, read and write text, or set options. Loaded when one of them is
first used. None of them needs NumPy, except where its docstring says so."""
import contextlib
import io
import itertools
import math
import os

from . import _ingot

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


def fromstring(string, dtype=None, count=-1, *, sep):
    """A 1-d array of the numbers in a text; sep is what is between them."""
    if not sep:
        raise ValueError("fromstring: sep cannot be empty; use frombuffer for bytes")
    parts = [p for p in (string.split() if sep.isspace() else string.split(sep)) if p.strip()]
    return _numbers(parts if count < 0 else parts[:count], dtype)


def fromfile(file, dtype="float64", count=-1, sep="", offset=0):
    """A 1-d array of the bytes of a file, or with sep of the numbers in its text."""
    data = file.read() if hasattr(file, "read") else _read(file, "rb")
    if sep:
        return fromstring(data.decode() if isinstance(data, bytes) else data, dtype, count, sep=sep)
    dtype = _ingot.dtype(dtype)
    data = data[offset:]
    return frombuffer(data[:len(data) // dtype.itemsize * dtype.itemsize], dtype, count)


def _read(path, mode):
    with io.open(path, mode) as file:
        return file.read()


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


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """num values from start to stop, which may be arrays: the new axis is then at `axis`. retstep returns (values, step), too."""
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


class lib:
    """numpy.lib.stride_tricks, which libraries ask for."""

    class stride_tricks:
        @staticmethod
        def sliding_window_view(x, window_shape, axis=None):
            """All windows of a shape along the axes, as a view."""
            return _ops["sliding_window_view"](x, window_shape, axis)


# ---- functions that work in place ----

def _in_place(name):
    def function(x, *args, **kwargs):
        if type(x) is not _ingot.Array:
            raise TypeError(f"{name} changes its first argument, so that must be an array, not {type(x).__name__}")
        x[...] = _ops[name](x, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Changes the first argument in place and returns None, as NumPy does. {_ops[name].__doc__ or ''}"
    return function


copyto, put, place, putmask, fill_diagonal, put_along_axis = map(
    _in_place, ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"))


# ---- dtypes ----

floating, integer, complexfloating, number = "real floating", "integral", "complex floating", "numeric"
signedinteger, unsignedinteger, inexact = "signed integer", "unsigned integer", ("real floating", "complex floating")


def issubdtype(dtype, kind):
    """Whether a dtype is of a kind, such as ingot.floating, or is another dtype."""
    if isinstance(kind, type) and kind.__module__ == "numpy" and kind.__name__ in globals():
        kind = globals()[kind.__name__]
    if kind is int:
        kind = "integral"
    return _ingot.isdtype(dtype, kind)


def may_share_memory(a, b, max_work=None):
    """Whether two arrays may have elements in the same memory. Needs NumPy."""
    numpy = _numpy("may_share_memory")
    return numpy.may_share_memory(numpy.asarray(a), numpy.asarray(b))


def shares_memory(a, b, max_work=None):
    """Whether two arrays have an element in the same memory. Needs NumPy."""
    numpy = _numpy("shares_memory")
    return numpy.shares_memory(numpy.asarray(a), numpy.asarray(b))


def _numpy(name):
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"{name} needs NumPy, which is not installed; run pip install numpy") from error
    return numpy


# ---- texts ----

def _lines(source):
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if name.endswith((".gz", ".bz2", ".xz")):
            import bz2
            import gzip
            import lzma
            opened = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[os.path.splitext(name)[1]].open(name, "rt")
        else:
            opened = io.open(name, encoding="utf-8")
        with opened as file:
            return file.read().splitlines()
    return [line.decode() if isinstance(line, bytes) else line.rstrip("\n") for line in source]


def _numbers(texts, dtype, missing=None):
    """Texts, or rows of texts, as an array."""
    kind = None if dtype is None else _ingot.dtype(dtype).kind

    def number(text):
        text = text.strip()
        if missing is not None and text in ("", *missing[0]):
            return missing[1]
        if kind in ("i", "u"):
            return int(text, 0) if text.lower().startswith("0x") else int(text)
        if kind == "c" or text.endswith("j"):
            return complex(text.replace(" ", ""))
        return {"True": 1.0, "False": 0.0}.get(text) if text in ("True", "False") else float(text)

    values = [number(t) if isinstance(t, str) else [number(p) for p in t] for t in texts]
    return _asarray(values, dtype=dtype or (_ingot.get_default_dtype() if not values else None))


def _table(name, lines, comments, delimiter, usecols):
    comments = () if comments is None else (comments,) if isinstance(comments, str) else comments
    rows = []
    for line in lines:
        for mark in comments:
            line = line.partition(mark)[0]
        if not line.strip():
            continue
        parts = line.split(delimiter) if delimiter is not None and delimiter.strip() else line.split(delimiter)
        if usecols is not None:
            try:
                parts = [parts[i] for i in ((usecols,) if isinstance(usecols, int) else usecols)]
            except IndexError:
                raise ValueError(f"{name}: line '{line}' has {len(parts)} columns, and usecols is {usecols}") from None
        if rows and len(rows[0]) != len(parts):
            raise ValueError(f"{name}: row {len(rows) + 1} has {len(parts)} columns, the first has {len(rows[0])}; select some by usecols")
        rows.append(parts)
    return rows


def _shaped(x, unpack, ndmin):
    if x.ndim == 2 and 1 in x.shape and ndmin < 2:
        x = x.reshape(-1) if x.size != 1 or ndmin else x.reshape(())
    if x.ndim < ndmin:
        x = x.reshape((1,) * (ndmin - x.ndim) + x.shape)
    return x.T if unpack else x


def loadtxt(fname, dtype=None, comments="#", delimiter=None, converters=None, skiprows=0, usecols=None, unpack=False, ndmin=0,
            encoding=None, max_rows=None):
    """The numbers of a text file, of an open file or of lines. Elements have the default dtype unless dtype says otherwise."""
    if converters is not None:
        raise TypeError("loadtxt: converters are not supported; pass lines whose texts you have converted")
    rows = _table("loadtxt", _lines(fname)[skiprows:], comments, delimiter, usecols)
    return _shaped(_numbers(rows[:max_rows], dtype), unpack, ndmin)


def genfromtxt(fname, dtype=None, comments="#", delimiter=None, skip_header=0, skip_footer=0, missing_values=(), filling_values=math.nan,
               usecols=None, names=None, unpack=False, ndmin=0, max_rows=None, encoding=None, invalid_raise=True):
    """As loadtxt, for files with missing values, which become filling_values."""
    if names not in (None, False):
        raise TypeError("genfromtxt: names give columns of several dtypes, which arrays here do not have; pass skip_header=1")
    lines = _lines(fname)
    rows = _table("genfromtxt", lines[skip_header:len(lines) - skip_footer], comments, delimiter, usecols)
    missing = (missing_values,) if isinstance(missing_values, str) else tuple(missing_values)

    def wrong(text):
        try:
            complex(text.strip())
            return False
        except ValueError:
            return True

    known = missing + tuple({p.strip() for row in rows for p in row if wrong(p)})  # NumPy reads texts as missing, too
    return _shaped(_numbers(rows[:max_rows], dtype, (known, filling_values)), unpack, ndmin)


def savetxt(fname, X, fmt="%.18e", delimiter=" ", newline="\n", header="", footer="", comments="# ", encoding=None):
    """Writes a 1-d or 2-d array as text: one format for all numbers, one for each column, or one for a whole row."""
    if isinstance(X, (str, os.PathLike)) and not isinstance(fname, (str, os.PathLike)):
        fname, X = X, fname
    x = _asarray(X)
    if x.ndim > 2:
        raise ValueError(f"savetxt: the array has {x.ndim} dimensions; reshape it to 2")
    rows = [[v] for v in x.tolist()] if x.ndim == 1 else x.tolist() if x.ndim == 2 else [[x.item()]]
    columns = len(rows[0]) if rows else 0
    if isinstance(fmt, (list, tuple)):
        if len(fmt) != columns:
            raise ValueError(f"savetxt: {len(fmt)} formats are given for {columns} columns")
        fmt = delimiter.join(fmt)
    elif fmt.count("%") == 1:
        fmt = delimiter.join([fmt] * columns)
    parts = [comments + header.replace("\n", "\n" + comments) + newline] if header else []
    parts += [fmt % tuple(row) + newline for row in rows]
    parts += [comments + footer.replace("\n", "\n" + comments) + newline] if footer else []
    text = "".join(parts)
    if hasattr(fname, "write"):
        try:
            fname.write(text)
        except TypeError:
            fname.write(text.encode())
        return
    name = os.fspath(fname)
    if name.endswith(".gz"):
        import gzip
        opened = gzip.open(name, "wt")
    else:
        opened = io.open(name, "w", encoding=encoding or "utf-8", newline="")
    with opened as file:
        file.write(text)


def savez(file, *args, **kwds):
    """Writes several arrays to an .npz file: by keyword, or as arr_0, arr_1 and so on."""
    _save_set("savez", file, args, kwds, False)


def savez_compressed(file, *args, **kwds):
    """As savez, compressed."""
    _save_set("savez_compressed", file, args, kwds, True)


def _save_set(name, file, args, kwds, compressed):
    import zipfile
    arrays = dict(kwds)
    for i, x in enumerate(args):
        if f"arr_{i}" in arrays:
            raise ValueError(f"{name}: arr_{i} is given by position and by name")
        arrays[f"arr_{i}"] = x
    if not hasattr(file, "write"):
        file = os.fspath(file)
        file += "" if file.endswith(".npz") else ".npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for key, x in arrays.items():
            with archive.open(key + ".npy", "w", force_zip64=True) as entry:
                entry.write(_npy(_asarray(x)))


def _npy(x):
    """The bytes of an .npy file."""
    code = "V2" if x.dtype == "bfloat16" else f"{x.dtype.kind}{x.dtype.itemsize}"
    order = "|" if x.dtype.itemsize == 1 or code == "V2" else "<"
    header = f"{{'descr': '{order}{code}', 'fortran_order': False, 'shape': {x.shape!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    raw = x.view("uint16") if code == "V2" else x
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("latin1") + memoryview(raw).tobytes()


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


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("contextlib", "io", "itertools", "math", "os")]
