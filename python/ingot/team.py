"""Data-parallel training in the processes of mpirun -n 4 python train.py, with the same bits for every number of processes.

    team.begin()
    for x, y in batches:                                # the same in all processes
        parts = []
        for k in team.shards(8):                        # the shards of this process
            loss, grads = step(net, x[k::8], y[k::8])
            parts.append({name: g / 8 for name, g in grads.items()})
        opt.update(net, team.sum(parts, 8, like=net.parameters()))

Every process computes some of the shards. Their gradients are summed in an order that depends on the number of shards only. Needs
libingot-mpi, which is built where MPI is installed; without mpirun there is one process, which computes all shards."""
import atexit
import sys

from . import _ingot


def begin():
    """Joins the processes that mpirun has started. The team ends with the program."""
    _ingot._team_begin()
    hook = sys.excepthook

    def failed(*error):
        """A process that fails says so, and does not wait for the others."""
        hook(*error)
        atexit.unregister(_end)

    sys.excepthook = failed
    atexit.register(_end)


def _end():
    _ingot._team_end()


def rank():
    """The number of this process, from 0."""
    return _ingot._team_place()[0]


def size():
    """The number of processes."""
    return _ingot._team_place()[1]


def shards(count):
    """The shards of this process, of count in all."""
    return range(*_ingot._team_shards(count))


def sum(parts, count, like):
    """The sums over all count shards of all processes, in the same order for every number of processes. parts: for each shard of this
    process, a dictionary of arrays. like: a dictionary of arrays with the same names and shapes, such as the parameters."""
    names = list(like)
    for part in parts:
        if set(part) != set(names):
            raise ValueError(f"names that only one of both has: {', '.join(sorted(set(part) ^ set(names))[:5])}")
    terms = [part[name] for part in parts for name in names]
    return dict(zip(names, _ingot._team_sum(count, [like[name] for name in names], terms)))
