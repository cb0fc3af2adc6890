"""Optimizers with PyTorch's formulas and names. Gradients are a dictionary by name, as nn.value_and_grad gives them:

    opt = optim.Adam(net.parameters(), lr=1e-3)
    opt.step(grads)

    opt = optim.Adam(1e-3)  # the same, without parameters
    opt.update(net, grads)

All updates and the state are evaluated together. lr is a number, or a function of the number of steps, such as cosine, linear
and warmup of this module; lr_scheduler has PyTorch's schedules."""
import math

from .. import _ingot, _names
from .._ingot import Array
from ..nn.module import Module, Parameters, _walk, loss_scale
from .stopping import EarlyStopping  # noqa: F401

_ops = _ingot._ops
_sqrt = _ops["sqrt"]


def __getattr__(name):
    if name in ("lr_scheduler", "swa_utils"):
        from importlib import import_module
        return import_module("ingot.optim." + name)
    return _names.find(name, "optim.")


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
    norm = _sqrt(sum((_ops["sum"](g * g) for g in grads.values()), _ingot.asarray(0.0)))
    scale = _ops["minimum"](max_norm / (norm + 1e-6), 1.0)
    return {name: g * scale for name, g in grads.items()}


_FORM = ("gradients are results here: step = nn.value_and_grad(net, lambda net, x, y: loss(net(x), y)); "
         "value, grads = step(net, x, y); opt.step(grads)")


def _by_name(grads):
    """Gradients by name; a gradient by a module is a module."""
    return dict(grads.named_parameters()) if isinstance(grads, Module) else grads


class _Part:
    """The parameters of a module that an optimizer changes, by name; iteration gives the arrays that the module has now."""

    def __init__(self, parameters):
        self.module, self.names = parameters.module, tuple(parameters.keys())

    def __iter__(self):
        now = dict(self.module.named_parameters())
        return (now[name] for name in self.names)

    def __len__(self):
        return len(self.names)


class Optimizer:
    """The base: groups of parameters, step counts, state by name, and the evaluation of updates. A rule defines apply.

    params: net.parameters(), a list or dictionary of arrays, or a list of groups {"params": ..., "lr": ...}. Without it the
    first argument is lr, and update(net, grads) makes the steps."""

    default_lr = 1e-3
    _holds_state = True  # transforms see the arrays in an optimizer as inputs

    def __init__(self, params=None, lr=None, more=None, **options):
        """more: max_norm, learning_rate, and PyTorch's choices of an implementation, which have no effect."""
        more = dict(more or {})
        max_norm, learning_rate = more.pop("max_norm", 0.0), more.pop("learning_rate", None)
        unknown = set(more) - {"foreach", "fused", "capturable", "differentiable"}
        if unknown:
            raise TypeError(f"{type(self).__name__} has no argument '{min(unknown)}'; its options are {', '.join(options)}, max_norm")
        if isinstance(params, (int, float)) or (callable(params) and not isinstance(params, dict)):
            if lr is not None or learning_rate is not None:
                raise TypeError(f"{type(self).__name__}: the learning rate is given twice; give other arguments by keyword")
            params, lr = None, params
        lr = learning_rate if lr is None else lr
        self.defaults = {"lr": self.default_lr if lr is None else lr, **options}
        self.max_norm, self.steps, self.state, self.param_groups = max_norm, 0, {}, []
        if isinstance(params, Array):
            raise TypeError(f"{type(self).__name__}: params must be net.parameters() or a list of arrays, not an array")
        if params is None or isinstance(params, dict):
            groups = [{"params": params}]
        else:
            groups = list(params)
            groups = groups if groups and isinstance(groups[0], dict) else [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def lr(self):
        """The learning rate of the first group: a number, or a function of the number of steps."""
        return self.param_groups[0]["lr"]

    @lr.setter
    def lr(self, value):
        for group in self.param_groups:
            group["lr"] = value

    learning_rate = lr  # MLX's name

    def add_param_group(self, param_group):
        """Adds parameters with options of their own."""
        unknown = set(param_group) - set(self.defaults) - {"params", "initial_lr"}
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(sorted(unknown))}; its options are {', '.join(self.defaults)}")
        params = param_group["params"]
        if isinstance(params, Parameters):
            params = _Part(params)
        elif params is not None and not isinstance(params, dict):
            params = [params] if isinstance(params, Array) else [x[1] if isinstance(x, tuple) else x for x in params]
            wrong = [type(x).__name__ for x in params if not isinstance(x, Array)] or ["nothing"] * (not params)
            if wrong:
                raise TypeError(f"{type(self).__name__}: params must hold arrays, not {wrong[0]}; use net.parameters()")
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def rate(self, group=0):
        """The learning rate of the next step of a group."""
        lr = self.param_groups[group]["lr"]
        return lr(self.steps) if callable(lr) else lr

    def apply(self, p, g, state, lr, group):
        """The new parameter; changes state, a dictionary of arrays. group holds the options."""
        raise NotImplementedError(f"{type(self).__name__} has no apply")

    # ---- one step ----

    def step(self, grads=None):
        """One step of the parameters that the optimizer was made with. grads: by name, as value_and_grad returns them, or a
        list for a list of arrays, which change in place."""
        grads = _by_name(grads)
        if grads is None or callable(grads):
            raise TypeError(f"{type(self).__name__}.step needs gradients: {_FORM}")
        params = self.param_groups[0]["params"]
        if params is None or (len(self.param_groups) > 1 and isinstance(grads, dict)):
            raise TypeError(f"{type(self).__name__}.step: the names of gradients belong to a network; use update(net, grads)")
        if isinstance(params, _Part):
            return self.update(params.module, grads)
        if isinstance(params, dict) != isinstance(grads, dict):
            raise TypeError(f"{type(self).__name__}.step: parameters and gradients must both be dictionaries, or both lists")
        groups = dict(enumerate(i for i, group in enumerate(self.param_groups) for _ in group["params"]))
        if not isinstance(params, dict):
            params, grads = dict(enumerate(x for group in self.param_groups for x in group["params"])), dict(enumerate(grads))
        if params.keys() != grads.keys():
            raise ValueError(f"{type(self).__name__}.step: {len(grads)} gradients for {len(params)} parameters; give one for each")
        new = self._new(params, grads, dict(zip(params, groups.values())))
        for name, p in params.items():
            p[...] = new[name]

    def update(self, model, grads):
        """One step of all parameters of a model that have a gradient. grads: by name, or a module, as the gradient of one is."""
        grads = _by_name(grads)
        places = {path: (id(store), key, x) for path, _, store, key, x in _walk(model)}
        unknown = [name for name in grads if name not in places]
        if unknown:
            raise KeyError(f"{type(self).__name__}.update: the model has no parameter '{unknown[0]}'")
        groups = self._groups(places, grads)
        new = self._new({name: places[name][2] for name in groups}, grads, groups, loss_scale(model))
        model.load_state_dict(new, strict=False)
        for name, i in groups.items():  # a list of arrays holds the new ones
            params = self.param_groups[i]["params"]
            if isinstance(params, list):
                params[:] = [new[name] if x is places[name][2] else x for x in params]

    def _groups(self, places, grads):
        """The number of the group of each parameter that has one, by its place in the model."""
        if self.param_groups[0]["params"] is None:
            return dict.fromkeys(grads, 0)
        owners, names = {}, {id(x): (store, key) for store, key, x in places.values()}
        for i, group in enumerate(self.param_groups):
            params = group["params"]
            if isinstance(params, _Part):
                slots = {path: (id(store), key) for path, _, store, key, _ in _walk(params.module)}
                owners.update((slots[name], i) for name in params.names)
                continue
            for x in params.values() if isinstance(params, dict) else params:
                if id(x) not in names:
                    raise ValueError(f"{type(self).__name__}.update: an array of the optimizer is not in the model any more; make "
                                     "the optimizer with net.parameters(), which follows changes")
                owners[names[id(x)]] = i
        return {name: owners[places[name][:2]] for name in grads if places[name][:2] in owners}

    def _new(self, parameters, grads, groups, scaling=None):
        """The new parameters by name; evaluates them and the state. scaling: the LossScale, or None. If a gradient is not
        finite, the parameters, the state and the number of steps stay; state that is new is as of gradients of 0."""
        finite, steps, where = None, self.steps, _ops["where"]
        if scaling is not None:
            finite = _ops["all"](_ops["stack"]([_ops["all"](_ops["isfinite"](g)) for g in grads.values()]))
            grads = {name: where(finite, g, 0) for name, g in grads.items()}
            scaling.update(finite)
        if self.max_norm:
            grads = clip(grads, self.max_norm)
        rates = [_ingot.asarray(self.rate(i)) for i in range(len(self.param_groups))]  # data: steps share one schedule
        self.steps = steps + 1
        new = {}
        for name, i in groups.items():
            p, state = parameters[name], self.state.setdefault(name, {})
            old = dict(state)
            new[name] = self.apply(p, grads[name], state, rates[i], self.param_groups[i]).astype(p.dtype)
            if finite is not None:
                new[name] = where(finite, new[name], p)
                state.update((key, where(finite, state[key], x)) for key, x in old.items())
        more = () if scaling is None else (finite, scaling.scale, scaling.steps)
        _ingot.eval(*new.values(), *(x for s in self.state.values() for x in s.values()), *more)
        if finite is not None:
            finite = finite.astype(_ingot.int64)
            self.steps = steps + (_ingot._as_number(finite) if _ingot._trace_is_open() else int(finite))
        return new

    def zero_grad(self, set_to_none=True):
        """Does nothing: gradients are results of value_and_grad, and are not kept."""

    # ---- saving ----

    def state_dict(self):
        """The state and the options, which load_state_dict takes."""
        groups = [{name: x for name, x in group.items() if name != "params"} for group in self.param_groups]
        return {"state": {name: dict(state) for name, state in self.state.items()}, "param_groups": groups, "steps": self.steps}

    def load_state_dict(self, state_dict):
        """Replaces the state and the options by the state and options of an optimizer with as many groups."""
        if "steps" not in state_dict or len(state_dict["param_groups"]) != len(self.param_groups):
            raise ValueError(f"{type(self).__name__}: this is not the state_dict of an Ingot optimizer with {len(self.param_groups)} groups")
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update(saved)
        self.state = {name: {key: _ingot.asarray(x) for key, x in state.items()} for name, state in state_dict["state"].items()}
        self.steps = state_dict["steps"]

    def __repr__(self):
        options = ", ".join(f"{name}={x!r}" for name, x in self.param_groups[0].items() if name != "params")
        return f"{type(self).__name__}({options})"


def _decayed(p, g, group):
    """The gradient with the weight decay of PyTorch's Adam and SGD, and its sign for maximize."""
    g = -g if group["maximize"] else g
    return g + group["weight_decay"] * p if group["weight_decay"] else g


def _average(state, name, beta, g):
    """The running average beta * state + (1 - beta) * g, from 0."""
    state[name] = beta * state[name] + (1 - beta) * g if name in state else (1 - beta) * g
    return state[name]


class SGD(Optimizer):
    def __init__(self, params=None, lr=None, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *, maximize=False, **more):
        super().__init__(params, lr, more, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                         maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, momentum = _decayed(p, g, group), group["momentum"]
        if momentum:
            m = state["momentum"] = momentum * state["momentum"] + (1 - group["dampening"]) * g if state else g
            g = g + momentum * m if group["nesterov"] else m
        return p - lr * g


class Adam(Optimizer):
    """Adam; weight_decay is added to the gradients."""

    def __init__(self, params=None, lr=None, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *, maximize=False, **more):
        super().__init__(params, lr, more, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        return self.moments(p, _decayed(p, g, group), state, lr, group)

    def moments(self, p, g, state, lr, group):
        b1, b2 = group["betas"]
        m, v = _average(state, "m", b1, g), _average(state, "v", b2, g * g)
        if group["amsgrad"]:
            v = state["largest"] = _ops["maximum"](state["largest"], v) if "largest" in state else v
        c1, c2 = (_ingot.asarray(1 - b ** self.steps) for b in (b1, b2))
        return p - lr / c1 * m / (_sqrt(v / c2) + group["eps"])


class AdamW(Adam):
    """Adam; weight_decay is subtracted from the parameters."""

    def __init__(self, params=None, lr=None, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False, *, maximize=False, **more):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, **more)

    def apply(self, p, g, state, lr, group):
        g = -g if group["maximize"] else g
        return self.moments(p * (1 - lr * group["weight_decay"]), g, state, lr, group)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum."""

    default_lr = 2e-3

    def __init__(self, params=None, lr=None, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3, *, maximize=False, **more):
        super().__init__(params, lr, more, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, (b1, b2), decay = _decayed(p, g, group), group["betas"], group["momentum_decay"]
        now, after = (b1 * (1 - 0.5 * 0.96 ** (n * decay)) for n in (self.steps, self.steps + 1))
        product = state["product"] = state["product"] * now if state else _ingot.asarray(now)
        m, v = _average(state, "m", b1, g), _average(state, "v", b2, g * g)
        root = _sqrt(v / _ingot.asarray(1 - b2 ** self.steps)) + group["eps"]
        now, after = _ingot.asarray(now), _ingot.asarray(after)
        return p - lr * (1 - now) / (1 - product) * g / root - lr * after / (1 - product * after) * m / root


class RAdam(Optimizer):
    """Adam with a rectified variance."""

    def __init__(self, params=None, lr=None, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, maximize=False, **more):
        super().__init__(params, lr, more, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, (b1, b2), n = _decayed(p, g, group), group["betas"], self.steps
        m, v = _average(state, "m", b1, g), _average(state, "v", b2, g * g)
        m = m / _ingot.asarray(1 - b1 ** n)
        most = 2 / (1 - b2) - 1
        length = most - 2 * n * b2 ** n / (1 - b2 ** n)
        if length <= 5:
            return p - lr * m
        rectified = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        return p - lr * _ingot.asarray(rectified * (1 - b2 ** n) ** 0.5) * m / (_sqrt(v) + group["eps"])


class Adamax(Optimizer):
    """Adam with the largest gradient instead of the mean square."""

    default_lr = 2e-3

    def __init__(self, params=None, lr=None, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, maximize=False, **more):
        super().__init__(params, lr, more, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, (b1, b2) = _decayed(p, g, group), group["betas"]
        m, size = _average(state, "m", b1, g), _ops["abs"](g) + group["eps"]
        u = state["largest"] = _ops["maximum"](b2 * state["largest"], size) if "largest" in state else size
        return p - lr / _ingot.asarray(1 - b1 ** self.steps) * m / u


class RMSprop(Optimizer):
    default_lr = 1e-2

    def __init__(self, params=None, lr=None, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, *, maximize=False, **more):
        super().__init__(params, lr, more, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered,
                         maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, alpha = _decayed(p, g, group), group["alpha"]
        v = _average(state, "v", alpha, g * g)
        if group["centered"]:
            v = v - _average(state, "mean", alpha, g) ** 2
        step = g / (_sqrt(v) + group["eps"])
        if group["momentum"]:
            step = state["momentum"] = group["momentum"] * state["momentum"] + step if "momentum" in state else step
        return p - lr * step


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of squares of all gradients."""

    default_lr = 1e-2

    def __init__(self, params=None, lr=None, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, *, maximize=False,
                 **more):
        super().__init__(params, lr, more, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
                         eps=eps, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g = _decayed(p, g, group)
        v = state["v"] = (state["v"] if state else group["initial_accumulator_value"]) + g * g
        return p - lr / _ingot.asarray(1.0 + (self.steps - 1) * group["lr_decay"]) * g / (_sqrt(v) + group["eps"])


class Adadelta(Optimizer):
    """Steps of the size of earlier steps, divided by the size of the gradients."""

    default_lr = 1.0

    def __init__(self, params=None, lr=None, rho=0.9, eps=1e-6, weight_decay=0.0, *, maximize=False, **more):
        super().__init__(params, lr, more, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, rho, eps = _decayed(p, g, group), group["rho"], group["eps"]
        v = _average(state, "v", rho, g * g)
        step = _sqrt(state["steps"] + eps) / _sqrt(v + eps) * g if "steps" in state else eps ** 0.5 / _sqrt(v + eps) * g
        _average(state, "steps", rho, step * step)
        return p - lr * step


class Lion(Optimizer):
    """Steps of the sign of a running average of the gradients."""

    default_lr = 1e-4

    def __init__(self, params=None, lr=None, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False, **more):
        super().__init__(params, lr, more, betas=betas, weight_decay=weight_decay, maximize=maximize)

    def apply(self, p, g, state, lr, group):
        g, (b1, b2) = (-g if group["maximize"] else g), group["betas"]
        m = state.get("m", _ops["zeros_like"](g))
        state["m"] = b2 * m + (1 - b2) * g
        return p * (1 - lr * group["weight_decay"]) - lr * _ops["sign"](b1 * m + (1 - b1) * g)
