"""Methods of Array that change it in place, as NumPy's, and NumPy's descriptions of memory: flags and flat."""
from . import _ingot

_ops = _ingot._ops


def _sort(self, axis=-1, kind=None, order=None, *, stable=None, descending=False):
    """Sorts in place, along axis. ig.sort gives a sorted copy."""
    if order is not None:
        raise ValueError("sort: order is for arrays of structures, which Ingot does not have")
    self[...] = _ops["sort"](self, axis, descending)


def _partition(self, kth, axis=-1, kind="introselect", order=None):
    """Sorts in place, along axis, so that the elements at kth are where a sorted array has them."""
    length = self.shape[axis]
    for k in kth if isinstance(kth, (tuple, list)) else (kth,):
        if not -length <= k < length:
            raise ValueError(f"partition: kth {k} is out of bounds for an axis of length {length}")
    _sort(self, axis, order=order)


def _fill(self, value):
    """Sets all elements to a number."""
    self[...] = value


def _put(self, indices, values, mode="raise"):
    """Sets elements at positions in row-major order; values are repeated as needed."""
    self[...] = _ops["put"](self, indices, _ingot.asarray(values, dtype=self.dtype), mode)


def ravel(x, order="C"):
    """The elements in row-major order, or with order="F" in column-major order: a view if they follow each other in memory."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"ravel: order must be 'C', 'F', 'A' or 'K', not {order!r}")
    x = _ingot.asarray(x)
    c, f = _ingot._layout(x)[:2]
    if order == "K" and not (c or f) and x.ndim > 1:
        order = [axis for _, axis in sorted((-abs(stride), axis) for axis, stride in enumerate(x.strides))]
        return _ops["permute_dims"](x, order).reshape(-1).copy()
    if order == "F" or (order in "AK" and f and not c):
        x, c = x.T, f
    return x.reshape(-1) if c else x.reshape(-1).copy()


def _tobytes(self, order="C"):
    """The elements as bytes, in row-major order, or with order="F" in column-major order."""
    if order not in ("C", "F", "A", None):
        raise ValueError(f"tobytes: order must be 'C', 'F' or 'A', not {order!r}")
    layout = _ingot._layout(self)
    source = self.T if order == "F" or (order == "A" and layout[1] and not layout[0]) else self
    return bytes(source.__reduce__()[1][0])


def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, device=None):
    """A new array with the elements of object. With copy=None, or False, an array stays the same array, as in asarray."""
    if order not in ("K", "A", "C"):
        raise ValueError(f"array: order is 'C', 'A' or 'K', not {order!r}: arrays have row-major order")
    made = _ingot.asarray(object, dtype=dtype, device=device, copy=copy)
    return made if made.ndim >= ndmin else made.reshape((1,) * (ndmin - made.ndim) + made.shape)


class Flags:
    """Facts about the memory of an array, with the names of NumPy's flags. writeable can be set."""

    def __init__(self, array):
        self._array = array

    c_contiguous = property(lambda self: _ingot._layout(self._array)[0])
    f_contiguous = property(lambda self: _ingot._layout(self._array)[1])
    owndata = property(lambda self: _ingot._layout(self._array)[2])
    aligned = property(lambda self: True)
    writebackifcopy = property(lambda self: False)
    contiguous = c_contiguous
    fortran = fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)
    behaved = property(lambda self: self.writeable)
    carray = property(lambda self: self.writeable and self.c_contiguous)
    farray = property(lambda self: self.writeable and self.fortran)

    @property
    def writeable(self):
        return _ingot._layout(self._array)[3]

    @writeable.setter
    def writeable(self, value):
        _ingot._set_writeable(self._array, value)

    _SHORT = {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned", "X": "writebackifcopy"}

    def _name(self, name):
        name = self._SHORT.get(name, name).lower()
        if name.startswith("_") or not isinstance(getattr(Flags, name, None), property):
            raise KeyError(f"flags have no {name!r}")
        return name

    def __getitem__(self, name):
        return getattr(self, self._name(name))

    def __setitem__(self, name, value):
        setattr(self, self._name(name), value)

    def __repr__(self):
        return "\n".join(f"  {name.upper()} : {self[name]}" for name in self._SHORT.values())


class Flat:
    """The elements of an array in row-major order, to read and to assign to: x.flat[3] = 7."""
    __slots__ = ("base", "_at")

    def __init__(self, array):
        self.base, self._at = array, 0

    def __len__(self):
        return self.base.size

    def __iter__(self):
        return iter(self.base.reshape(-1))

    def __next__(self):
        if self._at >= self.base.size:
            raise StopIteration
        self._at += 1
        return self[self._at - 1]

    @property
    def index(self):
        return self._at

    @property
    def coords(self):
        at, place = self._at, []
        for n in reversed(self.base.shape):
            place.append(at % n)
            at //= n
        return tuple(reversed(place))

    def copy(self):
        return self.base.reshape(-1).copy()

    def __array__(self, dtype=None, copy=None):
        return self.copy().__array__(dtype, copy)

    def __getitem__(self, key):
        return self.base.reshape(-1)[key].copy()

    def __setitem__(self, key, value):
        flat = self.base.reshape(-1)
        flat[key] = value
        if flat.base is None:  # a copy, because the elements do not follow each other
            self.base[...] = flat.reshape(self.base.shape)


def _flat(self):
    """The elements in row-major order."""
    return Flat(self)


def _set_flat(self, value):
    values = _ingot.asarray(value, dtype=self.dtype).reshape(-1)
    self[...] = _ops["resize"](values, self.shape)


def _install(array):
    for name, method in {"sort": _sort, "partition": _partition, "fill": _fill, "put": _put, "ravel": ravel, "tobytes": _tobytes}.items():
        if name != "ravel":
            method.__name__, method.__qualname__ = name, f"Array.{name}"
        setattr(array, name, method)
    array.flags = property(Flags, doc="What NumPy's flags say about the memory.")
    array.flat = property(_flat, _set_flat, doc="The elements in row-major order, to read and to assign to.")


_install(_ingot.Array)
