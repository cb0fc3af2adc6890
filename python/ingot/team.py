"""Data-parallel training in the processes of mpirun -n 4 python train.py, with the same bits for every number of processes.

    team.begin()
    for x, y in batches:                                # the same in all processes
        parts = []
        for k in team.shards(8):                        # the shards of this process
            loss, grads = step(net, x[k::8], y[k::8])
            parts.append({name: g / 8 for name, g in grads.items()})
        opt.update(net, team.sum(parts, 8, like=net.parameters()))

For models that are too large for one process, team.divide(net, opt) after each update leaves each process its part of the parameters and
of the optimizer's state only.

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
    names = list(like.keys())
    for part in parts:
        if set(part) != set(names):
            raise ValueError(f"names that only one of both has: {', '.join(sorted(set(part) ^ set(names))[:5])}")
    terms = [part[name] for part in parts for name in names]
    return dict(zip(names, _ingot._team_sum(count, [like[name] for name in names], terms)))


def divide(model, optimizer=None):
    """Divides the parameters of a model, and the state of its optimizer, among the processes: each keeps its part. Operations get the other
    parts when they need them, so results stay the same. Updates make whole arrays, so call it after each one, in all processes."""
    parameters = model.parameters()
    slots = [(state, key) for state in optimizer.state.values() for key in state] if optimizer else []
    arrays = _ingot._team_divide([*parameters.values(), *(state[key] for state, key in slots)])
    model.load_state_dict(dict(zip(parameters.keys(), arrays)), strict=False)
    for (state, key), x in zip(slots, arrays[len(parameters):]):
        state[key] = x


def divided_bytes():
    """Memory of divided arrays in this process: bytes of its parts, and the most bytes of whole arrays at one time since the last call."""
    return _ingot._team_divided_bytes()
