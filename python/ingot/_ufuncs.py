"""Elementwise functions of two arrays, with the methods of NumPy's ufuncs: ingot.add.reduce(x). Loaded when one of them is first
used."""
from . import _ingot, _names


class Ufunc:
    """An elementwise function of two arrays. Its methods need NumPy."""

    def _method(self, method, x, *args, out=None, **kwargs):
        try:
            import numpy
        except ImportError as error:
            raise ImportError(f"{self.__name__}.{method} needs NumPy, which is not installed; run pip install numpy") from error
        from . import _numpy
        options = kwargs if out is None else {**kwargs, "out": out if type(out) is tuple else (out,)}
        return _numpy.array_ufunc(None, getattr(numpy, self.__name__), method, x if method == "at" else _ingot.asarray(x), *args,
                                  **options)

    def reduce(self, x, axis=0, **options):
        """Combines the elements along axis; None: all."""
        return self._method("reduce", x, axis=axis, **options)

    def accumulate(self, x, axis=0, **options):
        """Combines the elements up to each one along axis."""
        return self._method("accumulate", x, axis=axis, **options)

    def reduceat(self, x, indices, axis=0, **options):
        """Combines the elements between pairs of indices."""
        return self._method("reduceat", x, indices, axis=axis, **options)

    def outer(self, x1, x2, **options):
        """Combines all pairs of elements."""
        return self._method("outer", x1, x2, **options)

    def at(self, x, indices, *values):
        """Changes x in place at the indices, each time that they occur."""
        self._method("at", x, indices, *values)

    def __repr__(self):
        return f"<function {self.__name__}>"

    def __reduce__(self):
        return _named, (self.__name__,)


def _named(name):
    return globals()[name]


def _make(name):
    op = _names.find(name)
    made = type("Ufunc", (Ufunc,), {"__call__": staticmethod(op), "__doc__": op.__doc__})()
    made.__name__, made.__qualname__, made.__module__, made.__wrapped__ = name, name, "ingot", op
    return made


NAMES = """add subtract multiply divide floor_divide remainder maximum minimum logical_and logical_or logical_xor bitwise_and bitwise_or
bitwise_xor logaddexp hypot power arctan2 equal not_equal less less_equal greater greater_equal gcd lcm fmax fmin fmod left_shift right_shift
copysign heaviside true_divide mod float_power""".split()
globals().update((name, _make(name)) for name in NAMES)
