"""The base of networks, and gradients of their parameters."""
import functools

from .. import _ingot, _names, transform
from .._ingot import Array


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

    def __iter__(self):
        return iter(self.values())


transform.register_pytree_node(Parameters, lambda p: (list(p.values()), tuple(p.keys())), lambda names, items: dict(zip(names, items)))


class Module:
    """The base of networks and layers. Define forward; call the module."""

    training = True
    _state = ()  # names of arrays that are not trained
    _unsaved = ()  # names of arrays that are not in state_dict
    _frozen = False
    _holds_state = True  # transforms see the arrays in a module as inputs

    def __setattr__(self, name, value):
        if transform._active.objects and type(vars(self).get(name)) is Array:
            transform.check_change(self, name)
        object.__setattr__(self, name, value)

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

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

    def zero_grad(self, set_to_none=True):
        """Does nothing: gradients are results of value_and_grad, and are not kept in the module."""

    def extra_repr(self):
        return ""

    def __repr__(self):
        shapes = ", ".join(f"{name}: {x.shape}" for name, x in self.state_dict().items())
        return f"{type(self).__name__}({', '.join(filter(None, (self.extra_repr(), shapes)))})"


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

        def of(parameters):
            model.load_state_dict(parameters, strict=False)
            return function(model, *args, **kwargs)

        try:
            return transform.value_and_grad(of)(before)
        finally:
            model.load_state_dict(before, strict=False)

    return wrapped
