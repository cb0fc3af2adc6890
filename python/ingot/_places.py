"""Functions that give places of elements, with the arguments of NumPy, PyTorch and JAX."""
from . import _ingot, _names

_ops = _ingot._ops


class Places(tuple):
    """Indices of elements, an array for each axis. Errors of what only PyTorch's matrix of indices has give advice."""
    __slots__ = ()

    def __getattr__(self, name):
        raise AttributeError(f"'tuple' object has no attribute '{name}': {_names.advice('places.' + name)}")

    def __getitem__(self, index):
        if isinstance(index, tuple):
            raise TypeError(f"a tuple has no index {index}: {_names.advice('places.index')}")
        return tuple.__getitem__(self, index)


def nonzero(x, *, as_tuple=True, size=None, fill_value=None):
    """The places of the elements that are not 0: an array for each axis. With as_tuple=False the matrix of PyTorch, argwhere(x)."""
    if not as_tuple:
        return _ops["argwhere"](x)
    return Places(_ops["nonzero"](x) if size is None else _nonzero(x, size=size, fill_value=fill_value))


def sort(x, axis=-1, *args, **kwargs):
    """The elements along an axis in order. With PyTorch's dim=, or its third argument True, also their places."""
    if args and isinstance(args[0], bool):
        from ._tensor import ALONG
        return ALONG["sort"]("sort", x, axis, *args, **kwargs)
    return _ops["sort"](x, *(() if axis == -1 and "dim" in kwargs else (axis,)), *args, **kwargs)


sort.__wrapped__ = _ops["sort"]


def _triangle(name):
    op = _ops[name]

    def indices(*args, **kwargs):
        if len(args) == 2 and not kwargs and isinstance(args[1], int) and 0 < args[0] <= args[1]:
            raise ValueError(f"{name}{args} has {'all' if name[2] == 'i' and name[3] == 'l' else 'no'} elements in NumPy, where the second number is a "
                             f"diagonal; PyTorch's call is {name}(row={args[0]}, col={args[1]}, offset=0), NumPy's {name}({args[0]}, k={args[1]})")
        return op(*args, **kwargs)

    indices.__name__ = indices.__qualname__ = name
    indices.__module__, indices.__doc__, indices.__wrapped__ = "ingot", op.__doc__, op
    return indices


tril_indices, triu_indices = _triangle("tril_indices"), _triangle("triu_indices")


# ---- results of a given length, as JAX's size= ----

def _nonzero(x, *, size, fill_value=None):
    """The places of elements that are not 0: the first `size`, or all and fill_value, which is 0 unless given."""
    x = _ingot.asarray(x)
    if x.ndim == 0:
        raise ValueError("nonzero: a 0-d array has no places; use ig.atleast_1d(x)")
    found = _ops["reshape"](x != 0, (-1,))
    order = _ops["argsort"](_ops["astype"](found, "int8"), descending=True, stable=True)
    if size > found.size:
        order = _ops["concat"]([order, _ops["zeros"]((size - found.size,), dtype=order.dtype)])
    known = _ops["arange"](size) < _ops["sum"](_ops["astype"](found, "int64"))
    fills = fill_value if isinstance(fill_value, (tuple, list)) else (fill_value or 0,) * x.ndim
    places, at = [], order[:size]
    for n in reversed(x.shape):
        places.append(at % n)
        at = at // n
    return tuple([_ops["where"](known, place, fill) for place, fill in zip(reversed(places), fills)])


def _argwhere(x, *, size, fill_value=None):
    return _ops["stack"](_nonzero(x, size=size, fill_value=fill_value), -1)


def _flatnonzero(x, *, size, fill_value=None):
    return _nonzero(_ops["reshape"](_ingot.asarray(x), (-1,)), size=size, fill_value=fill_value)[0]


def _unique(x, *, size, fill_value=None, **others):
    """The first `size` distinct elements in order, and fill_value, which is the least one unless given."""
    if any(others.values()):
        raise TypeError("unique: with size, there is no other argument than fill_value")
    x = _ops["sort"](_ops["reshape"](_ingot.asarray(x), (-1,)))
    new = _ops["concat"]([_ops["ones"]((1,), dtype="bool"), x[1:] != x[:-1]])
    at = _nonzero(new, size=size, fill_value=x.size)[0]
    return _ops["where"](at < x.size, x[_ops["minimum"](at, x.size - 1)], x[0] if fill_value is None else fill_value)


PADDED = {"nonzero": _nonzero, "where": _nonzero, "argwhere": _argwhere, "flatnonzero": _flatnonzero, "unique": _unique}
