"""Methods of Array that are shorter in Python: the protocols of the standard and of NumPy, and the view in notebooks."""
import sys

from . import _ingot, _names


def _namespace(self, /, *, api_version=None):
    """The module of functions for arrays."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"version {api_version!r} of the array API is not supported; 2025.12 is")
    return sys.modules["ingot"]


def _to_device(self, device, /, *, stream=None):
    """The array on another device."""
    if stream is not None:
        raise ValueError("to_device: streams are not supported; pass stream=None")
    return _ingot.asarray(self, device=_names.device_name(device))


def _as_numpy(self, dtype=None, copy=None):
    import numpy
    source = self.astype(_ingot.float32) if self.dtype == _ingot.bfloat16 else self
    view = numpy.asarray(memoryview(self) if source is self and not copy else _ingot._values(source))
    if copy is False and source is not self:
        raise ValueError("NumPy has no bfloat16, so a copy is needed")
    if dtype is not None and view.dtype != dtype:
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return view.astype(dtype)
    return view.copy() if copy else view


def _numpy(self):
    """The elements as a NumPy array: of an array on the CPU over the same memory, otherwise a read-only copy."""
    return _as_numpy(self)


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """np.add(x, y) and np.add.reduce(x)."""
    from . import _numpy
    return _numpy.array_ufunc(self, ufunc, method, *inputs, **kwargs)


def _array_function(self, function, types, args, kwargs):
    """np.mean(x)."""
    from . import _numpy
    return _numpy.array_function(self, function, types, args, kwargs)


def _array_interface(self):
    """The elements in host memory, for libraries that read them by their address."""
    try:
        import numpy
        return numpy.asarray(_ingot._values(self)).__array_interface__
    except Exception as error:  # hasattr must be able to ask
        raise AttributeError(f"the elements have no address in host memory: {error}") from error


def _ctypes(self):
    """NumPy's view of the address of the elements in row-major order: x.ctypes.data."""
    import numpy
    if self.dtype == _ingot.bfloat16:
        raise AttributeError("NumPy has no bfloat16, so there is no ctypes; use x.astype('float32'), and ig.save to write files")
    shared = _as_numpy(self)
    if shared.dtype.kind == "c" or not shared.flags.c_contiguous:  # the memory of complex numbers ends with the export
        shared = numpy.asarray(_ingot._values(self))
    return shared.ctypes


def _arrow_array(self, type=None):
    """For pyarrow.array(x): a 1-d array without a copy, except of bools."""
    import pyarrow
    return pyarrow.array(self.numpy(), type=type)


def _arrow_c_array(self, requested_schema=None):
    """For libraries that read Arrow's arrays, such as polars. Needs pyarrow. A matrix is a structure of its columns."""
    if self.ndim == 2:
        import pyarrow
        columns = [_arrow_array(column.copy()) for column in self.T]
        names = [f"column_{i}" for i in range(len(columns))]
        return pyarrow.StructArray.from_arrays(columns, names).__arrow_c_array__(requested_schema)
    return _arrow_array(self).__arrow_c_array__(requested_schema)


def _from_interface(o):
    """An array of an object with __array_interface__, such as an image of PIL. Copies."""
    facts = o.__array_interface__
    data = facts.get("data")
    if facts.get("strides") is None and isinstance(data, (bytes, bytearray)):
        return _ingot._from_bytes(bytes(data), facts["shape"], facts["typestr"])
    import numpy
    return _ingot.asarray(numpy.asarray(o))


def _html(self):
    shape = " × ".join(map(str, self.shape)) or "scalar"
    text = str(self).replace("&", "&amp;").replace("<", "&lt;")
    return f"<div><code>{shape} · {self.dtype} · {self.device}</code><pre>{text}</pre></div>"


class _Named:
    """A method of the alias table, made when it is used. A __getattr__ instead would slow down the calls of all methods."""
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, array, kind=None):
        try:
            function = _names.find(self.name, "method.")
        except AttributeError as error:
            raise AttributeError(f"'Array' object has no attribute '{self.name}'") from error
        return function if array is None else lambda *args, **kwargs: function(array, *args, **kwargs)


def _round(self, ndigits=None):
    """For Python's round: a number for a 0-d array without ndigits, else an array."""
    if ndigits is None:
        return round(self.item()) if self.ndim == 0 else _ingot._ops["round"](self)
    return _ingot._ops["round"](self, ndigits)


def _reshape(self, *shape, order="C", copy=None):
    """The same elements in another shape: x.reshape(2, 3) or x.reshape((2, 3)). With order="F" in column-major order."""
    shape = shape[0] if len(shape) == 1 else shape
    if order not in ("C", "A", "K", "F"):
        raise ValueError(f"reshape: order is 'C', 'F' or 'A', not {order!r}")
    if order != "F":
        return _ingot._ops["reshape"](self, shape)
    return _ingot._ops["reshape"](self.T, shape[::-1] if isinstance(shape, (tuple, list)) else shape).T


def _transpose(self, *axes):
    """The axes in another order, reversed unless given."""
    axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return _ingot._ops["permute_dims"](self, axes) if axes else self.T


def _contains(self, value):
    """Whether an element equals value."""
    same = self == value
    return bool(same.any()) if isinstance(same, _ingot.Array) else False


def _reduce_ex(self, protocol):
    """For pickle. From protocol 5 on, the elements are a buffer that pickle need not copy; bfloat16 has no buffers."""
    if protocol < 5 or self.dtype == _ingot.bfloat16:
        return self.__reduce__()
    from pickle import PickleBuffer
    return _ingot._from_bytes, (PickleBuffer(_ingot._values(self)), self.shape, str(self.dtype))


def _sizeof(self):
    """For sys.getsizeof, which schedulers ask how much an array holds."""
    return object.__sizeof__(self) + self.nbytes


def _tokenize(self):
    """For Dask: equal arrays have equal tokens."""
    from dask.base import normalize_token
    return "ingot.Array", str(self.dtype), normalize_token(_as_numpy(self))


for _name, _function in {
        "__array_namespace__": _namespace, "to_device": _to_device, "__array__": _as_numpy, "numpy": _numpy,
        "__array_function__": _array_function, "_repr_html_": _html, "reshape": _reshape, "transpose": _transpose,
        "__round__": _round, "__contains__": _contains, "__arrow_array__": _arrow_array, "__arrow_c_array__": _arrow_c_array, "__reduce_ex__": _reduce_ex, "__sizeof__": _sizeof, "__dask_tokenize__": _tokenize}.items():
    _function.__name__ = _name
    _function.__qualname__ = f"Array.{_name}"
    setattr(_ingot.Array, _name, _function)

for _row in _ingot._aliases():
    _name = _row[0].removeprefix("method.")
    if "." not in _name and _name not in _ingot.Array.__dict__:
        setattr(_ingot.Array, _name, _Named(_name))

def _numpy_dtype(self):
    import numpy
    return numpy.dtype("V2" if self.name == "bfloat16" else self.name)


def _numpy_attribute(self, name):
    """The other attributes of NumPy's dtypes, for libraries that expect these."""
    if name.startswith("_") or self.name == "bfloat16":
        raise AttributeError(f"'dtype' object has no attribute '{name}'" + ("" if name.startswith("_") else
                             ": NumPy has no bfloat16; use x.astype('float32'), and ig.save to write files"))
    return getattr(_numpy_dtype(self), name)


_ingot.dtype.__numpy_dtype__ = property(_numpy_dtype, doc="The same dtype of NumPy.")
_ingot.dtype.dtype = _ingot.dtype.__numpy_dtype__  # the name before NumPy 2.4
_ingot.dtype.__getattr__ = _numpy_attribute


class _Ufunc:
    """Array.__array_ufunc__. Dask reads it before it asks whether Array is a chunk type; dask.py registers the type then."""

    def __get__(self, x, kind):
        if "dask.array" in sys.modules:
            from . import dask  # noqa: F401
            _ingot.Array.__array_ufunc__ = _array_ufunc
        return _array_ufunc if x is None else _array_ufunc.__get__(x, kind)


_ingot.Array.__array_ufunc__ = _Ufunc()
_ingot.Array.__array_interface__ = property(_array_interface)
_ingot.Array.ctypes = property(_ctypes, doc=_ctypes.__doc__)
_ingot.Array.__array_priority__ = 20  # over NumPy, where libraries compare these

from . import _peers  # noqa: E402

_peers.watch()
