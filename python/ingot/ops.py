"""Reductions of rows with equal ids, as jax.ops has them."""
from . import _ingot

segment_sum, segment_prod, segment_max, segment_min = (_ingot._ops["segment_" + name] for name in ("sum", "prod", "max", "min"))
