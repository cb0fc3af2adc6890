"""Other names of functions, from the library's alias table: an op, an expression of ops, or advice."""
from . import _ingot

_tables = {}
_key = None


def _table(column):
    """Name to row, made when it is first needed."""
    if not _tables:
        _tables["rows"] = {row[0]: row for row in _ingot._aliases()}
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
    """What an expression of the alias table sees: ops, dtypes by their short names, other aliases."""

    def __missing__(self, name):
        dtype = _ingot.dtype(name) if name[:1] in "biufc" and name[1:2].isdigit() else None
        if dtype is not None:
            return dtype
        return find(name)


def _shape(x):
    return _ingot.asarray(x).shape


def _namespace():
    if "space" not in _tables:
        import builtins
        space = _Space(_ingot._ops)
        from math import e, inf, nan, pi
        space.update(shape=_shape, next_key=next_key, len=len, range=range, isinstance=isinstance, tuple=tuple, list=list,
                     int=int, float=float, str=str, bool=_ingot.bool, pi=pi, inf=inf, nan=nan, e=e, ndim=lambda x: len(_shape(x)),
                     zip=zip, __builtins__={"True": True, "False": False, "None": None})
        del builtins
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
