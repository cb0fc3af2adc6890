"""Other names of functions, from the library's alias table: an op, an expression of ops, or advice."""
from _thread import _local  # threading.local, without the module

from . import _ingot


class _Traced(_local):
    key = None


_rows = {}
_space = None
_key = None
_traced = _Traced()


def _table():
    """Name to its rows, made when it is first needed."""
    if not _rows:
        for row in _ingot._aliases():
            _rows.setdefault(row[0], []).append(row)
    return _rows


def current_key():
    """The key that the next one is made from. While a thread traces a function for jit, the thread has one of its own."""
    if _traced.key is not None:
        return _traced.key
    if _key is None:
        seed(0)
    return _key


def set_key(key):
    """Sets the key that the next one is made from."""
    global _key
    if _traced.key is None:
        _key = key
    else:
        _traced.key = key


def next_key():
    """A new random key for functions that take none, as NumPy's; the first is made from key(0)."""
    trace = _ingot._pure_trace()
    if trace not in (None, "jit"):
        raise ValueError(f"{trace}: a random function without a key would draw the same numbers each time, because the function that "
                         "calls it is called once. Pass a key: map over ingot.random.split(key, n), or call eval() of the module")
    keys = _ingot._ops["split_key"](current_key())
    set_key(keys[0])
    return keys[1]


def seed(number):
    """Sets the key of functions that take none."""
    set_key(_ingot._ops["key"](number))


class _Space(dict):
    """The names that an expression of the alias table sees: ops, functions, other aliases, dtypes by their short names."""

    def __missing__(self, name):
        if name in ("np", "mx", "lax", "jax", "torch"):
            return _Module(name + ".")
        if name in _DTYPES:
            return _ingot.dtype(name)
        return find(name)


_OTHER_DTYPES = {"long": "int64", "int": "int32", "short": "int16", "float": "float32", "half": "float16", "double": "float64",
                 "cfloat": "complex64", "cdouble": "complex128",
                 "single": "float32", "csingle": "complex64", "int_": "int64", "intp": "int64", "longlong": "int64", "intc": "int32", "uint": "uint64",
                 "uintp": "uint64", "ulong": "uint64", "ulonglong": "uint64", "uintc": "uint32", "ushort": "uint16", "ubyte": "uint8", "byte": "int8"}
_DTYPES = "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128".split()


class _Module:
    """A module of another library in an expression: np.flip."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return find(name, self._name)


def _namespace():
    global _space
    if _space is None:
        import math

        from . import _files, _views, transform
        asarray = _ingot.asarray
        space = _Space(_ingot._ops)
        space.update(
            __builtins__={"__import__": __import__}, array=_views.array, asarray=asarray, bool=_ingot.bool, compute=lambda x: _ingot.eval(asarray(x)),
            dtype=lambda x: asarray(x).dtype, item=lambda x: x.item(), load=_files.load, ndim=lambda x: asarray(x).ndim,
            next_key=next_key, save=_files.save, seed=seed, shape=lambda x: asarray(x).shape, size=lambda x: asarray(x).size,
            vmap=transform.vmap, e=math.e, inf=math.inf, nan=math.nan, pi=math.pi, **{f.__name__: f for f in (
                float, int, isinstance, len, list, range, str, tuple, zip)})
        _space = space
    return _space


def _fits(function, args, kwargs):
    """Whether a function without keyword-only parameters takes these arguments."""
    code = function.__code__
    names, rest = code.co_varnames[:code.co_argcount], code.co_flags & 4
    missing = names[len(args):len(names) - len(function.__defaults__ or ())]
    return ((rest or len(args) <= len(names)) and all(name in names[len(args):] for name in kwargs) and
            all(name in kwargs for name in missing))


def _renamed(function, kwargs):
    """Keywords with the names of the function's parameters: axis for dim."""
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    if all(word in names for word in kwargs):
        return kwargs
    return {word if word in names else next((name for i, name in enumerate(names) if _ingot._is_keyword(word, name, i == 0)), word): x
            for word, x in kwargs.items()}


def _expression(name, rows):
    """The function of one or several rows with expressions; the first that takes the arguments of a call is called."""
    functions = [eval(f"lambda {params}: {expression}", _namespace()) for _, _, params, expression in rows]

    def found(*args, **kwargs):
        for function in functions if len(functions) > 1 else ():
            if _fits(function, args, _renamed(function, kwargs)):
                return function(*args, **_renamed(function, kwargs))
        return functions[0](*args, **_renamed(functions[0], kwargs))

    found.__name__ = found.__qualname__ = name.rpartition(".")[2]
    parent = name.split(".")[-2:-1]
    found.__module__ = f"ingot.{parent[0]}" if parent in (["linalg"], ["fft"]) else "ingot"  # where pickle finds it
    found.__doc__ = "\n".join(f"{name}({row[2]}): {row[3]}" for row in rows)
    found.functions = functions
    return found


def find(name, module=""):
    """The function of a name, such as "cumsum", or "norm" of a module "linalg."; AttributeError if there is none."""
    if name.startswith("__"):
        raise AttributeError(f"module 'ingot' has no attribute '{name}'")
    for full in ([module + name, "np." + module + name] if module else []) + [name]:
        rows = _table().get(full)
        if rows is None or (full == name and name in _ingot._ops):
            continue
        return _ingot._ops[rows[0][1]] if rows[0][1] else _expression(full, rows)
    if name in _ingot._ops:
        return _ingot._ops[name]
    if "torch." + name in _table():
        return _expression(name, _table()["torch." + name])
    if not module and name in _OTHER_DTYPES:
        return getattr(_ingot, _OTHER_DTYPES[name])
    text = advice(module + name)
    raise AttributeError(f"module 'ingot' has no attribute '{module}{name}'" + (f": {text}" if text else ""))


# The advice for a known name such as "compile" or "nn.LazyLinear": its equivalent, or why there is none. None if it is unknown.
advice = _ingot._advice_for


def device_name(device):
    """A device of PyTorch or its name, as the name here: "cuda" is "cuda:0"."""
    name = str(device)
    return {"cuda": "cuda:0", "mps": "metal:0", "gpu": "cuda:0"}.get(name, name.replace("mps:", "metal:"))


def op_space():
    """An object whose attributes are all ops: pickled functions of the op table are attributes of it."""
    from types import SimpleNamespace
    return SimpleNamespace(**_ingot._ops)


def getter(module, space):
    """The __getattr__ of a module whose names, such as fft.fft2, begin with "fft." in the table; found names are kept in its
    globals."""
    def get(name):
        space[name] = find(name, module)
        return space[name]

    return get


_extending = _local()


def extended(name, args, kwargs):
    """Calls the function with the name of an op, for arguments that do not fit the op: round(x, 2). NotImplemented if there
    is none."""
    active = _extending.__dict__.setdefault("names", [])
    if name in active:  # the function itself calls the op with arguments that do not fit
        return NotImplemented
    active.append(name)
    try:
        from . import _tensor
        if name == "round" and args and isinstance(args[0], (list, tuple)):
            args = (_ingot.asarray(args[0]), *args[1:])
        result = _tensor.extended(name, args, dict(kwargs))
        if result is not NotImplemented:
            return result
        rows = [row for row in _table().get(name, []) if row[3] is not None]
        for function in _expression(name, rows).functions if rows else []:
            if _fits(function, args, _renamed(function, kwargs)):
                return function(*args, **_renamed(function, kwargs))
        if not kwargs:
            return NotImplemented
        try:
            from . import _numpy  # arguments that NumPy's function of the name has
        except ImportError:
            return NotImplemented
        return _numpy.extended(name, args, kwargs)
    finally:
        active.pop()


def adviser(module, table):
    """The __getattr__ of a module without other names than its own, whose names are `table` in the table of advice."""
    def get(name):
        text = None if name.startswith("_") else advice(table + name)
        raise AttributeError(f"module '{module}' has no attribute '{name}'" + (f": {text}" if text else ""))

    return get


def known(module=""):
    """The names that find knows for a module."""
    return [name[len(module):] for name, rows in _table().items()
            if name.startswith(module) and "." not in name[len(module):]]
