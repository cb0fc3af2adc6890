"""vectorize: a function of numbers or rows, applied to all elements or rows of arrays, as in NumPy and JAX."""
import math
import re

from . import _ingot
from .transform import vmap, wraps

_ops = _ingot._ops
_LIST = r"\((?:\w+(?:,\w+)*,?)?\)"


def _signature(text):
    """The names of the axes of each input and of each result: "(m,n),(n)->(m)"."""
    if not re.fullmatch(rf"(?:{_LIST}(?:,{_LIST})*)?->{_LIST}(?:,{_LIST})*", text := re.sub(r"\s+", "", text)):
        raise ValueError(f"vectorize: '{text}' is not a signature such as '(m,n),(n)->(m)'")
    return [[tuple(filter(None, one[1:-1].split(","))) for one in re.findall(_LIST, part)] for part in text.split("->")]


def _check(axes, arrays):
    """Compares the lengths of the axes with names."""
    lengths = {}
    for names, x in zip(axes, arrays):
        if x.ndim < len(names):
            raise _ingot.ShapeError(f"vectorize: an argument of shape {x.shape} does not have the axes ({','.join(names)})")
        for name, n in zip(names, x.shape[x.ndim - len(names):]):
            if lengths.setdefault(name, n) != n:
                raise _ingot.ShapeError(f"vectorize: the axis {name} has {lengths[name]} and {n} elements")


def _looped(function, rows):
    """One call after another, with the elements, for functions that read values. Python's numbers have the type of the first."""
    made = [function(*[x[i].item() if x.ndim == 1 else x[i] for x in rows]) for i in range(rows[0].shape[0])]
    if not made:
        raise ValueError("vectorize: the function reads values, so arrays without elements have no result")

    def joined(items):
        if isinstance(items[0], (bool, int, float, complex)):
            return _ingot.asarray([type(items[0])(x) for x in items])
        return _ops["stack"]([_ingot.asarray(x) for x in items], 0)

    return tuple(map(joined, zip(*made))) if isinstance(made[0], tuple) else joined(made)


def vectorize(pyfunc=None, otypes=None, doc=None, excluded=None, cache=False, signature=None):
    """A function that calls pyfunc for all elements of its arguments, which are broadcast. With a signature such as "(m,n),(n)->(m)" it
    gets arrays with these axes, the last ones of the arguments. pyfunc is called once, as by vmap; if it reads values, as in `if x > 0`,
    it is called for each element, with Python's numbers. otypes: the dtypes of the results. excluded: positions and names of arguments
    that are passed as they are."""
    if pyfunc is None:
        return lambda function: vectorize(function, otypes, doc, excluded, cache, signature)
    inputs, results = _signature(signature) if signature else (None, None)
    excluded = set(excluded or ())

    @wraps(pyfunc)
    def vectorized(*args, **kwargs):
        named = [name for name in kwargs if name not in excluded]
        places = [i for i in range(len(args)) if i not in excluded]
        arrays = [_ingot.asarray(args[i]) for i in places] + [_ingot.asarray(kwargs[name]) for name in named]
        if not arrays:
            raise ValueError("vectorize: there is no argument to apply the function to")
        if inputs is not None and len(inputs) != len(arrays):
            raise TypeError(f"vectorize: the signature '{signature}' has {len(inputs)} inputs, but {len(arrays)} are given")
        axes = inputs or [()] * len(arrays)
        _check(axes, arrays)
        cores = [len(names) for names in axes]
        outer = _ops["broadcast_arrays"](*[_ops["zeros"](x.shape[:x.ndim - n]) for x, n in zip(arrays, cores)])[0].shape
        cores = [x.shape[x.ndim - n:] for x, n in zip(arrays, cores)]
        rows = [_ops["broadcast_to"](x, (*outer, *core)).reshape(math.prod(outer), *core) for x, core in zip(arrays, cores)]

        def call(*items):
            full, options = list(args), {**kwargs, **dict(zip(named, items[len(places):]))}
            for i, x in zip(places, items):
                full[i] = x
            return pyfunc(*full, **options)

        try:
            made = vmap(call)(*rows)
        except (TypeError, ValueError):
            if _ingot._pure_trace() is not None:
                raise
            made = _looped(call, rows)
        made = [y.reshape(*outer, *y.shape[1:]) for y in (made if isinstance(made, tuple) else (made,))]
        made = [y.astype(t) for y, t in zip(made, otypes)] if otypes else made
        return tuple(made) if len(made) > 1 else made[0]

    vectorized.__doc__ = doc or vectorized.__doc__
    return vectorized
