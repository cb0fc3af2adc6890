"""A container as one vector, as in jax.flatten_util."""
from . import _ingot
from .tree_util import tree_flatten, tree_unflatten

_ops = _ingot._ops


def ravel_pytree(pytree):
    """The elements of all arrays of a container as a vector, and the function that makes such a container of a vector."""
    leaves, structure = tree_flatten(pytree)
    arrays = [_ingot.asarray(x) for x in leaves]
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    ends = [0]
    for x in arrays:
        ends.append(ends[-1] + x.size)
    whole = _ops["concat"]([_ops["reshape"](x, (-1,)) for x in arrays]) if arrays else _ops["zeros"]((0,))

    def unravel(vector):
        if vector.shape != whole.shape:
            raise ValueError(f"unravel: the vector has shape {vector.shape}, not {whole.shape}")
        return tree_unflatten(structure, [vector[a:b].reshape(shape).astype(dtype)
                                     for a, b, shape, dtype in zip(ends, ends[1:], shapes, dtypes)])

    return whole, unravel
