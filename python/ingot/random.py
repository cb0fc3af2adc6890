"""Random numbers. Functions take a key first, as in JAX: normal(key(0), (2, 3)). The same key gives the same numbers on every device.

NumPy's ways work, too: normal(0, 1, size=3) and standard_normal(3) use a key of this module, which seed sets, and default_rng(0) has
its own. NumPy's generators give other numbers."""
from _functools import partial, reduce  # of functools, without the module
from _thread import allocate_lock  # threading.Lock, without the module

from . import _ingot, _names
from ._names import next_key, seed

_TABLE = _names._table()


def _is_key(x):
    """Whether an argument is a random key, or an array of keys."""
    return getattr(x, "dtype", None) == "uint32" and x.ndim and x.shape[-1] in (2, 4)


def _either(name, op):
    """The op, which takes a key first, or NumPy's function of the same name if the first argument is not a key."""
    def function(*args, **kwargs):
        if (args and _is_key(args[0])) or "key" in kwargs:
            return op(*args, **kwargs)
        if "mx.random." + name in _TABLE and ("shape" in kwargs or "np.random." + name not in _TABLE):
            return _names.find(name, "mx.random.")(*args, **kwargs)
        if name in ("normal", "gumbel", "laplace") and len(args) == 1 and type(args[0]) is tuple and "size" not in kwargs:
            raise ValueError(f"{name}: {args[0]} may be a shape, as in MLX, or the means, as in NumPy; give size={args[0]} or loc=[...]")
        args = [_ingot.asarray(x) if type(x) is list and name in ("normal", "uniform") else x for x in args]
        return _names.find(name, "np.random.")(*args, **kwargs)

    function.__name__, function.__qualname__, function.__module__ = op.__name__, name, __name__
    function.__doc__, function.__wrapped__ = op.__doc__, op
    return function


# key, and every op that takes a key first; random_gamma is gamma here.
_OPS = {row[0].removeprefix("random_"): row[0] for row in _ingot._table() if row[0] == "key" or row[2].startswith("key: ")}
for _name, _op in _OPS.items():
    globals()[_name] = _either(_name, _ingot._ops[_op]) if _TABLE.keys() & {"np.random." + _name, "mx.random." + _name} else _ingot._ops[_op]
split = split_key  # noqa: F821
__all__ = [*_OPS, "split", "seed", "next_key", "default_rng", "Generator", "RandomState", "shuffle"]

_lock = allocate_lock()


def _shuffled(key, x, axis=0):
    """Changes x in place: an array of this library or of NumPy, or a list."""
    if type(x) is list:
        order = permutation(key, len(x)).tolist()  # noqa: F821
        x[:] = [x[i] for i in order]
    elif type(x) is _ingot.Array or hasattr(x, "__setitem__") and hasattr(x, "shape"):
        new = permutation(key, _ingot.asarray(x), axis)  # noqa: F821
        x[...] = new if type(x) is _ingot.Array else new.numpy()
    else:
        raise TypeError(f"shuffle changes its argument, so that must be an array or a list, not {type(x).__name__}; see permutation")


def shuffle(x, axis=0):
    """Changes the order of x along an axis, in place. With a key first, shuffle(key, x) changes nothing and returns the result."""
    if _is_key(x) and not isinstance(axis, int):
        return permutation(x, axis)  # noqa: F821
    _shuffled(next_key(), x, axis)


class Generator:
    """NumPy's generator of random numbers: a key that each call replaces. Floats have the default dtype unless dtype says otherwise.
    The numbers depend on the seed only; they are not NumPy's."""

    def __init__(self, seed=None):
        if isinstance(seed, Generator):
            self._key = seed._key
        elif _is_key(seed):
            self._key = _ingot.asarray(seed)
        else:
            if seed is None:
                import os
                seed = int.from_bytes(os.urandom(8), "little") >> 1
            if isinstance(seed, (list, tuple)):
                seed = reduce(lambda a, b: a * 1000003 + int(b), seed, 7) % (1 << 63)
            self._key = _ingot._ops["key"](int(seed))

    def __repr__(self):
        return f"{type(self).__name__}({self._key.tolist()})"

    def _call(self, function, *args, **kwargs):
        """The result of a function that uses the key of this module, with the key of this generator."""
        with _lock:
            before = _names.current_key()
            _names.set_key(self._key)
            try:
                return function(*args, **kwargs)
            finally:
                self._key = _names.current_key()
                _names.set_key(before)

    def __getattr__(self, name):
        if name.startswith("_") or "np.random." + name not in _TABLE:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return partial(self._call, _names.find(name, "np.random."))

    def _floats(self, name, size, dtype, out, *args):
        """Floats of a dtype, perhaps written to out."""
        if out is not None:
            size = tuple(out.shape)
        x = self._call(lambda: _ingot._ops[name](next_key(), *args, () if size is None else size,
                                                 **({} if dtype is None else {"dtype": dtype})))
        if out is None:
            return x
        out[...] = x if type(out) is _ingot.Array else x.numpy()
        return out

    def random(self, size=None, dtype=None, out=None):
        """Floats in [0, 1)."""
        return self._floats("uniform", size, dtype, out)

    def standard_normal(self, size=None, dtype=None, out=None):
        """Numbers of the standard normal distribution."""
        return self._floats("normal", size, dtype, out)

    def standard_exponential(self, size=None, dtype=None, method="zig", out=None):
        """Numbers of the exponential distribution with scale 1."""
        return self._floats("exponential", size, dtype, out)

    def integers(self, low, high=None, size=None, dtype="int64", endpoint=False):
        """Integers from low to high, without high unless endpoint; below low if high is None. Both may be arrays."""
        low, high = (0, low) if high is None else (low, high)
        if isinstance(low, int) and isinstance(high, int):
            return self._call(_names.find("integers", "np.random."), low, high, size, dtype, endpoint)
        low, high = _ingot._ops["broadcast_arrays"](_ingot.asarray(low, dtype="int64"), _ingot.asarray(high, dtype="int64"))
        count = high - low + int(endpoint)
        if (count <= 0).any():
            raise ValueError("integers: low must be below high")
        part = self.random(low.shape if size is None else size, dtype="float64")
        return (low + _ingot._ops["floor"](part * count).astype("int64")).astype(dtype)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Elements of a, or of arange(a); not in order, whether shuffle or not."""
        return self._call(_names.find("choice", "np.random."), a, size, replace, p, axis)

    def permutation(self, x, axis=0):
        """A copy of x, or arange(x), in another order along axis."""
        return self._call(lambda: permutation(next_key(), x, axis))  # noqa: F821

    def shuffle(self, x, axis=0):
        """Changes the order of x along axis, in place."""
        self._call(lambda: _shuffled(next_key(), x, axis))

    def bytes(self, length):
        """Random bytes."""
        return memoryview(self._call(lambda: _ingot._ops["bits"](next_key(), (length,), "uint8"))).tobytes()

    def spawn(self, n_children):
        """New independent generators."""
        keys = self._call(lambda: _ingot._ops["split_key"](next_key(), n_children))
        return [Generator(keys[i]) for i in range(n_children)]


class RandomState(Generator):
    """NumPy's older generator: a Generator with rand, randn, randint and seed."""

    def rand(self, *shape):
        return self.random(shape or None)

    def randn(self, *shape):
        return self.standard_normal(shape or None)

    def seed(self, seed=None):
        self.__init__(seed)

    random_sample = Generator.random


def default_rng(seed=None):
    """A Generator with this seed; without one, a seed of the system's random numbers."""
    return seed if isinstance(seed, Generator) else Generator(seed)


def __getattr__(name):
    own = name in _ingot._ops and "random." + name not in _TABLE
    value = _ingot._ops[name] if own else _names.find(name, "random.")
    globals()[name] = value
    return value
