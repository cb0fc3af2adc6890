"""Other names of functions, from the library's alias table: an op, an expression of ops, or advice."""
from . import _ingot

_tables = {}
_key = None


def _table(column):
    """Name to row, made when it is first needed."""
    if column not in _tables:
        _tables[column] = {row[0]: row for row in _ingot._aliases()}
    return _tables[column]


def next_key():
    """A new random key for functions that take none, as NumPy's; the first is key(0)."""
    global _key
    ops = _ingot._ops
    keys = ops["split_key"](ops["key"](0) if _key is None else _key)
    _key = keys[0]
    return keys[1]


def seed(number):
    """Sets the key of functions that take none."""
    global _key
    _key = _ingot._ops["key"](number)


class _Space(dict):
    """What an expression of the alias table sees: ops, functions, other aliases, dtypes by their short names."""

    def __missing__(self, name):
        if name in ("np", "mx", "lax", "jax", "torch"):
            return _Module(name + ".")
        if name in _DTYPES:
            return _ingot.dtype(name)
        return find(name)


_DTYPES = "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128".split()


class _Module:
    """A module of another library in an expression: np.flip."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return find(name, self._name)


def _namespace():
    if "space" not in _tables:
        import math

        from . import _files, transform
        asarray = _ingot.asarray
        space = _Space(_ingot._ops)
        space.update(
            __builtins__={}, array=asarray, bool=_ingot.bool, compute=lambda x: _ingot.eval(asarray(x)),
            dtype=lambda x: asarray(x).dtype, item=lambda x: x.item(), load=_files.load, ndim=lambda x: asarray(x).ndim,
            next_key=next_key, save=_files.save, seed=seed, shape=lambda x: asarray(x).shape, size=lambda x: asarray(x).size,
            vmap=transform.vmap, e=math.e, inf=math.inf, nan=math.nan, pi=math.pi, **{f.__name__: f for f in (
                float, int, isinstance, len, list, range, str, tuple, zip)})
        _tables["space"] = space
    return _tables["space"]


def find(name, module=""):
    """The function of a name, such as "cumsum", or "norm" of a module "linalg."; AttributeError if there is none."""
    if name.startswith("__"):
        raise AttributeError(f"module 'ingot' has no attribute '{name}'")
    rows = _table("rows")
    for full in ([module + name, "np." + module + name] if module else []) + [name]:
        row = rows.get(full)
        if row is None:
            continue
        _, op, params, expression, advice = row
        if op:
            return _ingot._ops[op]
        if expression is not None:
            function = eval(f"lambda {params}: {expression}", _namespace())
            function.__name__ = function.__qualname__ = name
            function.__doc__ = f"{name}({params})\n\n{expression}"
            return function
        raise AttributeError(f"ingot has no '{full}': {advice}")
    if name in _ingot._ops:
        return _ingot._ops[name]
    raise AttributeError(f"module 'ingot' has no attribute '{module}{name}'")


def known(module=""):
    """The names that find knows for a module."""
    return [name[len(module):] for name, row in _table("rows").items()
            if name.startswith(module) and row[4] is None and "." not in name[len(module):]]
