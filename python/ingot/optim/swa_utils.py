"""Averages of the parameters of a network over its steps, with PyTorch's names and formulas:

    average = swa_utils.AveragedModel(net, avg_fn=swa_utils.get_ema_avg_fn(0.999))
    opt.update(net, grads)
    average.update_parameters(net)

average is a network, too; it is the one to test and to save."""
import copy

from .. import _ingot, _names
from ..nn.module import Module

_ops = _ingot._ops


def __getattr__(name):
    return _names.find(name, "optim.")


def get_ema_avg_fn(decay=0.999):
    """The exponential moving average decay * average + (1 - decay) * new."""
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: the decay {decay} is not within [0, 1]")
    return lambda average, new, n: average + (1 - decay) * (new - average)


def get_swa_avg_fn():
    """The mean of all."""
    return lambda average, new, n: average + (new - average) / (n + 1).astype(average.dtype)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's. avg_fn(average, new, number of updates before) is the rule for
    one array; without it the average is the mean. Buffers are the model's; with use_buffers, those of floats are averaged, too. The
    first update copies the model. state_dict has PyTorch's names: n_averaged, and those of the model after "module."."""

    _state = ("n_averaged",)

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        if multi_avg_fn is not None:
            raise TypeError("AveragedModel: multi_avg_fn changes arrays in place; give avg_fn, such as get_ema_avg_fn(0.999)")
        self.n_averaged, self.avg_fn, self.use_buffers = _ops["zeros"]((), dtype=_ingot.int64), avg_fn or get_swa_avg_fn(), use_buffers
        self.module = copy.deepcopy(model)
        if device is not None:
            self.to(device)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Adds the parameters that the model has now to the average."""
        n, now = self.n_averaged, self.module.state_dict()
        averaged, new = dict(model.named_parameters()), dict(model.state_dict())
        for name, x in new.items():
            if name in averaged or (self.use_buffers and x.dtype.kind in "fc"):
                new[name] = _ops["where"](n == 0, x, self.avg_fn(now[name], x, n)).astype(now[name].dtype)
        self.n_averaged = n + 1
        _ingot.eval(self.n_averaged, *new.values())
        self.module.load_state_dict(new)
