"""Networks. A module is a plain class whose attributes are arrays (parameters), other modules, and lists or dicts of them.
All ops are functions here too: nn.relu, nn.cross_entropy.

    class Net(nn.Module):
        def __init__(self):
            self.hidden, self.out = nn.Linear(784, 128), nn.Linear(128, 10)

        def forward(self, x):
            return self.out(nn.relu(self.hidden(x)))

    net, opt = Net(), optim.Adam(1e-3)
    step = nn.value_and_grad(net, lambda net, x, y: nn.cross_entropy(net(x), y))
    loss, grads = step(net, x, y)
    opt.update(net, grads)
"""
from .. import _ingot
from .module import (  # noqa: F401
    BatchNorm, Conv, Conv1d, Conv2d, Conv3d, Dropout, Embedding, GroupNorm, LayerNorm, Linear, Module, MultiHeadAttention,
    RMSNorm, Sequential, value_and_grad)

_ops = _ingot._ops


def __getattr__(name):
    if name in _ops:
        return _ops[name]
    raise AttributeError(f"module 'ingot.nn' has no attribute '{name}'")
