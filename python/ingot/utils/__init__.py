"""The names of torch.utils and mlx.utils: utils.data is ingot.data."""
import sys

from .. import data
from ..tree_util import tree_flatten, tree_map, tree_unflatten  # noqa: F401

sys.modules[__name__ + ".data"] = data
