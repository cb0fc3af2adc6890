"""The base of networks, and gradients of their parameters."""
import functools

from .. import _ingot, _names, transform
from .._ingot import Array

_ops = _ingot._ops


def _walk(value, name="", owner=None, depth=-1):
    """(name, module, store, key, array) for each array in a module, a list or a dict; names as PyTorch's: "hidden.weight".
    module is the innermost one, and store[key] is the array. depth 0: only arrays of the module itself."""
    if isinstance(value, Module):
        if owner is not None and depth == 0:
            return
        items, store, owner = list(vars(value).items()), vars(value), value
    elif isinstance(value, dict):
        items, store = list(value.items()), value
    elif isinstance(value, (list, tuple)):
        items, store = list(enumerate(value)), value
    else:
        return
    for key, item in items:
        path = f"{name}.{key}" if name else str(key)
        if type(item) is Array:
            yield path, owner, store, key, item
        else:
            yield from _walk(item, path, owner, depth)


class Parameters(dict):
    """The trained arrays of a module by name. Iteration gives the arrays, as with PyTorch's parameters(), keys()
    and items() the names. Optimizers that are made with it update the module."""

    module = None
    _rest = None

    def __iter__(self):
        return iter(self.values())

    def __next__(self):
        """next(net.parameters()) is the first array, as of PyTorch's iterator."""
        self._rest = self._rest or iter(self)
        return next(self._rest)


transform.register_pytree_node(Parameters, lambda p: (list(p.values()), tuple(p.keys())), lambda names, items: dict(zip(names, items)))


class Module:
    """The base of networks and layers. Define forward; call the module."""

    training = True
    _state = ()  # names of arrays that are not trained
    _unsaved = ()  # names of arrays that are not in state_dict
    _frozen = False
    _mixed = None  # the dtype that the module computes in, see mixed
    _scaling = None  # its LossScale in float16
    _holds_state = True  # transforms see the arrays in a module as inputs

    def __setattr__(self, name, value):
        if transform._active.objects and type(vars(self).get(name)) is Array:
            transform.check_change(self, name)
        object.__setattr__(self, name, value)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs) if self._mixed is None else _in_dtype(self, args, kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __getattr__(self, name):
        advice = None if name.startswith("__") else _names.advice("module." + name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'" + (f": {advice}" if advice else ""))

    # ---- arrays ----

    def state_dict(self):
        """All arrays by name."""
        return {path: x for path, owner, _, key, x in _walk(self) if key not in owner._unsaved}

    def named_parameters(self, prefix="", recurse=True):
        """(name, array) for each trained array. An array with several names has the first."""
        seen = set()
        for path, owner, _, key, x in _walk(self, prefix, depth=-1 if recurse else 0):
            if key not in owner._state and x.dtype.kind in "fc" and id(x) not in seen:
                seen.add(id(x))
                yield path, x

    def parameters(self, recurse=True):
        """The trained arrays by name. Iteration gives the arrays."""
        found = Parameters(self.named_parameters(recurse=recurse))
        found.module = self
        return found

    def named_buffers(self, prefix="", recurse=True):
        """(name, array) for each array that is not trained, such as statistics of batch norm."""
        for path, owner, _, key, x in _walk(self, prefix, depth=-1 if recurse else 0):
            if key in owner._state or x.dtype.kind not in "fc":
                yield path, x

    def buffers(self, recurse=True):
        return [x for _, x in self.named_buffers(recurse=recurse)]

    def register_buffer(self, name, tensor, persistent=True):
        """Sets an array that is not trained, and is in state_dict if it is persistent."""
        self._state = (*self._state, name)
        if not persistent:
            self._unsaved = (*self._unsaved, name)
        setattr(self, name, tensor if tensor is None else _ingot.asarray(tensor))

    def register_parameter(self, name, param):
        setattr(self, name, param if param is None else _ingot.asarray(param))

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Replaces arrays by arrays of the same names and shapes, also PyTorch's. With strict the names must be the same.
        Arrays keep their dtype, unless assign is set."""
        places, shared = {}, {}
        for path, owner, store, key, x in _walk(self):
            if key not in owner._unsaved:
                shared.setdefault(id(x), []).append((store, key))
                places[path] = (x, shared[id(x)])
        names = dict.keys(state_dict) if isinstance(state_dict, Parameters) else state_dict
        wrong = sorted(set(places) ^ set(names)) if strict else []
        if wrong:
            raise KeyError(f"names that only one of both has: {', '.join(wrong[:5])}")
        for path, x in state_dict.items():
            if path not in places:
                continue
            old, slots = places[path]
            x = _ingot.asarray(x if isinstance(x, Array) or not hasattr(x, "detach") else x.detach())
            if x.shape != old.shape:
                raise ValueError(f"{path} has the shape {old.shape}, not {x.shape}")
            if x.dtype != old.dtype and not assign:
                x = x.astype(old.dtype)
            for store, key in slots:
                store[key] = x
        return self

    def update(self, parameters):
        """Sets the arrays with these names."""
        self.load_state_dict({**self.state_dict(), **parameters})
        return self

    def save_weights(self, file):
        """Saves the arrays by name, as ingot.save."""
        from .._files import save
        save(file, self.state_dict())

    def load_weights(self, file_or_weights, strict=True):
        """Sets the arrays of a file, or of pairs of a name and an array."""
        from .._files import load
        is_pairs = isinstance(file_or_weights, (list, tuple))
        self.load_state_dict(dict(file_or_weights) if is_pairs else load(file_or_weights), strict=strict)
        return self

    def _convert(self, change, floats=False):
        """Replaces each array by change(array); arrays with several names keep them. With floats only floats."""
        made = {}
        for _, _, store, key, x in list(_walk(self)):
            if not floats or x.dtype.kind in "fc":
                store[key] = made[id(x)] = made[id(x)] if id(x) in made else change(x)
        return self

    def to(self, *args, device=None, dtype=None, non_blocking=False):
        """The module with its floats in another dtype, or its arrays on another device; changes it in place."""
        for arg in args:
            if isinstance(arg, Array):
                device, dtype = arg.device, arg.dtype
            elif isinstance(arg, _ingot.dtype) or (isinstance(arg, str) and _is_dtype(arg)):
                dtype = arg
            else:
                device = arg
        if dtype is not None:
            self._convert(lambda x: x.astype(dtype), floats=True)
        return self if device is None else self._convert(lambda x: x.to_device(_names.device_name(device)))

    def half(self):
        return self.to(_ingot.float16)

    def bfloat16(self):
        return self.to(_ingot.bfloat16)

    def float(self):
        return self.to(_ingot.float32)

    def double(self):
        return self.to(_ingot.float64)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=0):
        return self.to(f"cuda:{device}" if isinstance(device, int) else device)

    # ---- modules ----

    def named_children(self):
        """(name, module) for each module that is an attribute."""
        return ((name, x) for name, x in list(vars(self).items()) if isinstance(x, Module))

    def children(self):
        return (x for _, x in self.named_children())

    def named_modules(self, prefix=""):
        """(name, module) for the module, whose name is the prefix, and all modules in it, also in lists and dicts."""
        found = {}
        _collect(self, prefix, found)
        return ((name, module) for name, module in found.values())

    def modules(self):
        """The module and all modules in it."""
        return [module for _, module in self.named_modules()]

    def add_module(self, name, module):
        setattr(self, name, module)

    register_module = add_module

    def get_submodule(self, target):
        """The module of a name such as "encoder.layers.0"."""
        for name, module in self.named_modules():
            if name == target:
                return module
        raise AttributeError(f"{type(self).__name__} has no module '{target}'")

    def get_parameter(self, target):
        return self.parameters()[target]

    def apply(self, fn):
        """Calls fn with each module in this one, then with this one, as for initial values."""
        for module in reversed(self.modules()):
            fn(module)
        return self

    def train(self, mode=True):
        """Selects training, or inference: dropout and batch norm differ."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Includes the parameters in gradients of value_and_grad, or with False leaves them out."""
        for module in self.modules():
            module._frozen = not requires_grad
        return self

    def freeze(self):
        """Leaves the parameters out of gradients, as requires_grad_(False)."""
        return self.requires_grad_(False)

    def unfreeze(self):
        """Includes the parameters in gradients, as requires_grad_(True)."""
        return self.requires_grad_()

    def zero_grad(self, set_to_none=True):
        """Does nothing: gradients are results of value_and_grad, and are not kept in the module."""

    def extra_repr(self):
        """The arguments of the module, for its text."""
        return ""

    def _parts(self):
        """(name, text) of each module in the attributes, also in lists and dicts."""
        for name, value in vars(self).items():
            items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
            yield from ([(name, repr(value))] if isinstance(value, Module) else
                        [(f"{name}.{key}", repr(x)) for key, x in items if isinstance(x, Module)])

    def __repr__(self):
        """PyTorch's text: the arguments, then a line for each module."""
        extra = self.extra_repr()
        lines = [f"({name}): {text}".replace("\n", "\n  ") for name, text in self._parts()]
        inside = "\n  ".join(["", *extra.splitlines(), *lines]) + "\n" if lines else extra
        return f"{type(self).__name__}({inside})"


def mixed(module, dtype="bfloat16"):
    """The module, which from now on computes in dtype: its parameters, gradients and state_dict stay float32, and each call uses
    copies of them and of its float32 arguments in dtype. An evaluation makes each copy once. Results of floats are float32 again, so
    that losses are. dtype None or float32 ends it.

    float16 has dynamic loss scaling: nn.value_and_grad multiplies the loss by a scale and divides the gradients by it. An
    optimizer's step with a gradient that is not finite changes nothing but the scale: see LossScale."""
    dtype = _ingot.float32 if dtype is None else _ingot.dtype(dtype)
    if dtype not in (_ingot.float32, _ingot.bfloat16, _ingot.float16):
        raise TypeError(f"mixed: {dtype} cannot be the dtype of the computation; give bfloat16 or float16, or float32 to end mixed "
                        "precision")
    module._mixed = None if dtype == _ingot.float32 else dtype
    module._scaling = LossScale() if dtype == _ingot.float16 else None
    return module


class LossScale:
    """The dynamic scale of a loss in float16, with the rule and the numbers of PyTorch's GradScaler: a step whose gradients are not
    all finite halves it, and INTERVAL finite ones in sequence double it. scale and steps, the finite ones since it changed, are
    arrays; state_dict of the module is without them."""

    INTERVAL = 2000
    _holds_state = True

    def __init__(self, scale=65536.0, steps=0):
        self.scale, self.steps = _ingot.asarray(scale), _ingot.asarray(steps)

    def update(self, finite):
        """Sets the scale for the next step. finite: whether all gradients of this one were, an array."""
        where, steps = _ops["where"], self.steps + 1
        grows = finite & (steps == self.INTERVAL)
        self.scale = where(finite, where(grows, self.scale * 2, self.scale), self.scale / 2)
        self.steps = where(finite & (steps != self.INTERVAL), steps, 0)


def loss_scale(model):
    """The LossScale of the first module in a model that computes in float16 by nn.mixed; None if there is none."""
    return next((m._scaling for m in model.modules() if m._scaling is not None), None) if isinstance(model, Module) else None


def _to_dtype(tree, old, new):
    return transform.tree_map(lambda x: x.astype(new) if type(x) is Array and x.dtype == old else x, tree)


def _in_dtype(module, args, kwargs):
    """The result of a module with mixed precision. Its parameters are copies in the other dtype during the call."""
    dtype, made, places = module._mixed, {}, []
    for _, owner, store, key, x in list(_walk(module)):
        if key not in owner._state and x.dtype == _ingot.float32:
            places.append((store, key, x))
            made.setdefault(id(x), x.astype(dtype))
    try:
        for store, key, x in places:
            store[key] = made[id(x)]
        args, kwargs = _to_dtype((args, kwargs), _ingot.float32, dtype)
        return _to_dtype(module.forward(*args, **kwargs), dtype, _ingot.float32)
    finally:
        for store, key, x in places:
            store[key] = x


def _is_dtype(name):
    try:
        return bool(_ingot.dtype(name))
    except (TypeError, ValueError):
        return False


def _collect(value, name, found):
    """Adds (name, module) for all modules in a value, each once."""
    if isinstance(value, Module):
        if id(value) in found:
            return
        found[id(value)] = (name, value)
        items = vars(value).items()
    elif isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return
    for key, item in list(items):
        _collect(item, f"{name}.{key}" if name else str(key), found)


class _Parameters(type):
    def __instancecheck__(cls, x):
        return type(x) is _ingot.Array


class Parameter(metaclass=_Parameters):
    """A trained array. Every array of floats that is an attribute of a module is one."""

    def __new__(cls, data, requires_grad=True):
        if not requires_grad:
            raise ValueError("Parameter: for an array that is not trained use register_buffer(name, array)")
        return _ingot.asarray(data, copy=True)


def value_and_grad(model, function):
    """A function like function(model, ...) that returns (value, gradients of the model's parameters by name). State that
    layers change in the call, such as statistics of batch norm, is kept. Frozen modules have no gradients."""

    @functools.wraps(function)
    def wrapped(model, *args, **kwargs):
        frozen = {path for path, owner, _, _, _ in _walk(model) if owner._frozen}
        before = {path: x for path, x in model.named_parameters() if path not in frozen}
        scaling = loss_scale(model)
        scale = None if scaling is None else scaling.scale

        def of(parameters):
            model.load_state_dict(parameters, strict=False)
            value = function(model, *args, **kwargs)
            return value if scale is None else value * scale

        try:
            value, grads = transform.value_and_grad(of)(before)
            return (value, grads) if scale is None else (value / scale, {name: g / scale for name, g in grads.items()})
        finally:
            model.load_state_dict(before, strict=False)

    return wrapped
