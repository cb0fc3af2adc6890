"""Random numbers. Functions take a key first, as in JAX: normal(key(0), (2, 3)). The same key gives the same numbers on
every device. Functions that NumPy has under another name, such as standard_normal(size), use a key of this module, which
seed sets."""
from . import _ingot, _names
from ._names import next_key, seed

# key, and every op that takes a key first; random_gamma is gamma here.
_OPS = {row[0].removeprefix("random_"): row[0] for row in _ingot._table() if row[0] == "key" or row[2].startswith("key: ")}
globals().update((name, _ingot._ops[op]) for name, op in _OPS.items())
split = split_key  # noqa: F821
__all__ = [*_OPS, "split", "seed", "next_key"]


def __getattr__(name):
    rows = _names._table()
    own = name in _ingot._ops and "random." + name not in rows
    value = _ingot._ops[name] if own else _names.find(name, "random.")
    globals()[name] = value
    return value
