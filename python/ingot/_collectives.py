"""Collective functions of JAX inside of vmap(f, axis_name="i"): sums, means and exchanges between the slices. The value of a slice
is known for all slices at once by another vmap of what was computed so far."""
from . import _ingot
from .transform import _active
from .tree_util import tree_map

_ops = _ingot._ops


def _axis(who, name):
    """The open vmap with this name for its axis."""
    names = [axis.name for axis in _active.axes if axis.name is not None]
    if name not in names:
        raise NameError(f"{who}: no vmap with axis_name={name!r} is open" + (f"; there are {', '.join(map(repr, names))}" if names else
                        f"; use vmap(f, axis_name={name!r}), or ingot.team for several processes"))
    axis = next(axis for axis in reversed(_active.axes) if axis.name == name)
    if axis.depth != len(_active.traces):
        raise ValueError(f"{who}: another transform or loop is open inside of the vmap over {name!r}; take the gradient outside of the "
                         f"vmap, or call {who} before it")
    return axis


def _all(who, x, name):
    """The values of x in all slices, stacked along a first axis. They are the same in each slice."""
    axis, x = _axis(who, name), _ingot._plain(_ingot.asarray(x))
    return _ingot._vmap([x], axis.examples, axis.args, axis.axes)[0]


def _reduced(who, op):
    def function(x, axis_name, *, axis_index_groups=None):
        if axis_index_groups is not None:
            raise ValueError(f"{who}: axis_index_groups is not supported")
        for name in axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,):
            x = tree_map(lambda one: op(_all(who, one, name)), x)  # noqa: B023
        return x

    function.__name__ = function.__qualname__ = who
    function.__doc__ = f"{who}(x, axis_name): one value for all slices, also in containers."
    return function


def _sum(x):
    return _ops["sum"](x, 0, dtype=None if x.dtype.kind == "b" else x.dtype)


psum = _reduced("psum", _sum)
pmean = _reduced("pmean", lambda x: _ops["mean"](x, 0))
pmax = _reduced("pmax", lambda x: _ops["max"](x, 0))
pmin = _reduced("pmin", lambda x: _ops["min"](x, 0))


def axis_index(axis_name):
    """The number of the slice."""
    return _ingot._again(_axis("axis_index", axis_name).examples[-1])


def axis_size(axis_name):
    """The number of slices."""
    return _axis("axis_size", axis_name).size


def all_gather(x, axis_name, *, axis=0, tiled=False):
    """The values of all slices, stacked along a new axis, or with `tiled` joined along one."""
    def gather(one):
        found = _all("all_gather", one, axis_name)
        if not tiled:
            return _ops["moveaxis"](found, 0, axis)
        return _ops["concat"](_ops["unstack"](found, axis=0), axis=axis)

    return tree_map(gather, x)


def ppermute(x, axis_name, perm):
    """The values of other slices: perm has pairs (source, destination). A slice that is not a destination gets zeros."""
    size, index = axis_size(axis_name), axis_index(axis_name)
    source = [-1] * size
    for a, b in perm:
        source[b] = a
    source = _ops["take"](_ingot.asarray(source), index, 0)

    def send(one):
        found = _ops["take"](_all("ppermute", one, axis_name), _ops["maximum"](source, 0), 0)
        return _ops["where"](source >= 0, found, _ops["zeros_like"](found))

    return tree_map(send, x)


def pshuffle(x, axis_name, perm):
    """The value of slice perm[i] in slice i."""
    return ppermute(x, axis_name, [(a, b) for b, a in enumerate(perm)])
