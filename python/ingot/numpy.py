"""import ingot.numpy as jnp: the module ingot, as jax.numpy is beside jax."""
import sys

sys.modules[__name__] = sys.modules["ingot"]
