"""The functions of tree_util with the path of each leaf. Loaded when one of them is first used."""
from typing import NamedTuple

from .tree_util import _Again, _registered, _rows, _State, tree_flatten, tree_unflatten


class DictKey(NamedTuple):
    """A key of a dictionary in the path of a leaf."""
    key: object

    def __str__(self):
        return f"[{self.key!r}]"


class SequenceKey(NamedTuple):
    """An index of a list or a tuple in the path of a leaf."""
    idx: int

    def __str__(self):
        return f"[{self.idx}]"


class GetAttrKey(NamedTuple):
    """An attribute in the path of a leaf."""
    name: str

    def __str__(self):
        return f".{self.name}"


class FlattenedIndexKey(NamedTuple):
    """The number of a child of a registered container in the path of a leaf."""
    key: int

    def __str__(self):
        return f"[<flat index {self.key}>]"


def _paths(structure, path=()):
    """The paths of the leaves of a structure, in order."""
    if type(structure) is not tuple:
        yield path
        return
    kind, items = structure
    if kind == "=" or kind is _Again:
        return
    if items and items[0] is _State:
        pairs = [(GetAttrKey(name), item) for name, item in items[1]]
    elif kind in _registered:
        pairs = [(FlattenedIndexKey(i), item) for i, item in enumerate(items[1])]
    elif issubclass(kind, dict):
        pairs = [(DictKey(key), item) for key, item in items]
    elif hasattr(kind, "_fields"):
        pairs = [(GetAttrKey(name), item) for name, item in zip(kind._fields, items)]
    elif issubclass(kind, (list, tuple)):
        pairs = [(SequenceKey(i), item) for i, item in enumerate(items)]
    else:
        pairs = [(GetAttrKey(name), item) for name, item in items]
    for key, item in pairs:
        yield from _paths(item, (*path, key))


def keystr(keys, *, simple=False, separator=""):
    """The text of a path, such as "['a'][0].w"; with simple, "a", "0" and "w" with a separator between them."""
    return separator.join(str(key[0]) if simple else str(key) for key in keys)


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf), ...], structure) of a container."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    return list(zip(_paths(treedef._structure), leaves)), treedef


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves of a container, each with its path."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(f, tree, *rest, is_leaf=None):
    """A container of f(path, leaf, ...) for each leaf, with the values at its place in the other containers."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    rows = zip(_paths(treedef._structure), _rows(treedef, leaves, rest, is_leaf))
    return tree_unflatten(treedef, [f(path, *row) for path, row in rows])
