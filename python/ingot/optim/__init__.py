"""Optimizers with PyTorch's formulas. update(model, grads) takes the gradients by name, as nn.value_and_grad gives them, and
replaces the model's parameters; all updates and the state are evaluated together. lr is a number, or a function of the
number of steps, such as cosine, linear and warmup of this module."""
import math

from .. import _ingot

_ops = _ingot._ops


def warmup(lr, steps, then=None):
    """Grows linearly over the first steps; then is a schedule of the steps after them."""
    return lambda n: lr * (n + 1) / steps if n < steps else lr if then is None else then(n - steps)


def cosine(lr, total, last=0.0):
    """Falls along a cosine to the fraction last of lr."""
    return lambda n: lr * (last + (1 - last) * 0.5 * (1 + math.cos(math.pi * min(n / total, 1.0))))


def linear(lr, total, last=0.0):
    """Falls along a line to the fraction last of lr."""
    return lambda n: lr * (1 - (1 - last) * min(n / total, 1.0))


def clip(grads, max_norm):
    """Gradients scaled down to max_norm if the norm of all of them is larger."""
    norm = sum((_ops["sum"](g * g) for g in grads.values()), _ingot.asarray(0.0)) ** 0.5
    scale = _ops["minimum"](max_norm / (norm + 1e-6), 1.0)
    return {name: g * scale for name, g in grads.items()}


class Optimizer:
    """The base: step counts, state by name, and the evaluation of updates. A rule defines apply."""

    def __init__(self, lr, weight_decay=0.0, max_norm=0.0):
        self.lr, self.weight_decay, self.max_norm = lr, weight_decay, max_norm
        self.steps, self.state = 0, {}

    def rate(self):
        """The learning rate of the next step."""
        return self.lr(self.steps) if callable(self.lr) else self.lr

    def apply(self, p, g, state, lr):
        """The new parameter; changes state, a dictionary of arrays."""
        raise NotImplementedError

    def update(self, model, grads):
        """One step of all parameters that have a gradient."""
        if self.max_norm:
            grads = clip(grads, self.max_norm)
        parameters = model.parameters()
        lr = _ingot.asarray(self.rate())  # data: steps share one schedule
        self.steps += 1
        new = {name: self.apply(parameters[name], g, self.state.setdefault(name, {}), lr).astype(parameters[name].dtype)
               for name, g in grads.items()}
        arrays = [x for s in self.state.values() for x in s.values()]
        _ingot.eval(*new.values(), *arrays)
        model.load_state_dict(new, strict=False)


class SGD(Optimizer):
    def __init__(self, lr, momentum=0.0, nesterov=False, weight_decay=0.0, max_norm=0.0):
        super().__init__(lr, weight_decay, max_norm)
        self.momentum, self.nesterov = momentum, nesterov

    def apply(self, p, g, state, lr):
        if self.weight_decay:
            g = g + self.weight_decay * p
        if self.momentum:
            m = state["momentum"] = self.momentum * state["momentum"] + g if state else g
            g = g + self.momentum * m if self.nesterov else m
        return p - lr * g


class Adam(Optimizer):
    """Adam; weight_decay is added to the gradients."""

    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, max_norm=0.0):
        super().__init__(lr, weight_decay, max_norm)
        self.betas, self.eps = betas, eps

    def apply(self, p, g, state, lr):
        if self.weight_decay:
            g = g + self.weight_decay * p
        return self.moments(p, g, state, lr)

    def moments(self, p, g, state, lr):
        b1, b2 = self.betas
        m = state["m"] = b1 * state["m"] + (1 - b1) * g if state else (1 - b1) * g
        v = state["v"] = b2 * state["v"] + (1 - b2) * g * g if "v" in state else (1 - b2) * g * g
        c1, c2 = (_ingot.asarray(1 - b ** self.steps) for b in (b1, b2))
        return p - lr / c1 * m / ((v / c2) ** 0.5 + self.eps)


class AdamW(Adam):
    """Adam; weight_decay is subtracted from the parameters."""

    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, max_norm=0.0):
        super().__init__(lr, betas, eps, weight_decay, max_norm)

    def apply(self, p, g, state, lr):
        return self.moments(p * (1 - lr * self.weight_decay), g, state, lr)


class RMSprop(Optimizer):
    def __init__(self, lr=1e-2, alpha=0.99, eps=1e-8, momentum=0.0, weight_decay=0.0, max_norm=0.0):
        super().__init__(lr, weight_decay, max_norm)
        self.alpha, self.eps, self.momentum = alpha, eps, momentum

    def apply(self, p, g, state, lr):
        if self.weight_decay:
            g = g + self.weight_decay * p
        first = not state
        v = state["v"] = (1 - self.alpha) * g * g if first else self.alpha * state["v"] + (1 - self.alpha) * g * g
        step = g / (v ** 0.5 + self.eps)
        if self.momentum:
            step = state["momentum"] = step if first else self.momentum * state["momentum"] + step
        return p - lr * step


class Lion(Optimizer):
    def __init__(self, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, max_norm=0.0):
        super().__init__(lr, weight_decay, max_norm)
        self.betas = betas

    def apply(self, p, g, state, lr):
        b1, b2 = self.betas
        m = state.get("m", _ops["zeros_like"](g))
        state["m"] = b2 * m + (1 - b2) * g
        return p * (1 - lr * self.weight_decay) - lr * _ops["sign"](b1 * m + (1 - b1) * g)
