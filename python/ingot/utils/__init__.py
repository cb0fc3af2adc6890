"""The names of torch.utils and mlx.utils: utils.data is ingot.data."""
import sys

from .. import data
from ..tree_util import tree_map  # noqa: F401

sys.modules[__name__ + ".data"] = data


def _items(tree):
    return tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, (list, tuple)) else None


def tree_flatten(tree, prefix="", is_leaf=None, destination=None):
    """MLX's list of (name, leaf), with names such as "layers.0.weight"; in a dict with destination={}. ingot.tree_util.tree_flatten is JAX's."""
    items = None if is_leaf is not None and is_leaf(tree) else _items(tree)
    found = [(prefix[1:], tree)] if items is None else [pair for key, x in items for pair in tree_flatten(x, f"{prefix}.{key}", is_leaf)]
    if destination is None:
        return found
    destination.update(found)
    return destination


def tree_unflatten(tree):
    """The container of the pairs, or the dict, that tree_flatten gives: dicts, and lists where the names are numbers."""
    pairs = list(tree.items() if isinstance(tree, dict) else tree)
    if len(pairs) == 1 and pairs[0][0] == "":
        return pairs[0][1]
    parts = {}
    for name, x in pairs:
        first, _, rest = name.partition(".")
        parts.setdefault(first, []).append((rest, x))
    if not all(name.isdigit() for name in parts):
        return {name: tree_unflatten(rest) for name, rest in parts.items()}
    return [tree_unflatten(parts[str(i)]) if str(i) in parts else {} for i in range(1 + max(map(int, parts), default=-1))]


def tree_map_with_path(fn, tree, *rest, is_leaf=None, path=None):
    """The container with fn(name, leaf, ...) in place of each leaf."""
    others = [dict(tree_flatten(x, is_leaf=is_leaf)) for x in rest]
    return tree_unflatten([(name, fn(name, x, *(other[name] for other in others))) for name, x in tree_flatten(tree, is_leaf=is_leaf)])


def tree_reduce(fn, tree, initializer=None, is_leaf=None):
    """fn over all leaves, from the first to the last."""
    from _functools import reduce
    leaves = [x for _, x in tree_flatten(tree, is_leaf=is_leaf)]
    return reduce(fn, leaves) if initializer is None else reduce(fn, leaves, initializer)
