"""The functions of tree_util under their short names, as in jax.tree."""
from ._names import adviser
from .tree_util import (  # noqa: F401
    tree_all as all, tree_flatten as flatten, tree_flatten_with_path as flatten_with_path, tree_leaves as leaves,
    tree_leaves_with_path as leaves_with_path, tree_map as map, tree_map_with_path as map_with_path, tree_reduce as reduce,
    tree_structure as structure, tree_transpose as transpose, tree_unflatten as unflatten)

__getattr__ = adviser(__name__, "tree_util.tree_")
