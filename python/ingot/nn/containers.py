"""Modules of modules. Their children are attributes with the names that PyTorch gives them: "0", "1", or keys."""
from .. import _ingot
from .module import Module

OWN = {"training", "_frozen", "_state", "_unsaved", "_mixed", "_scaling"}  # attributes of every module


def _children(module):
    return {name: x for name, x in vars(module).items() if name not in OWN}


def _text(x):
    """An item that is not a module: an array by its shape, a function by its name."""
    return f"{x.dtype}{list(x.shape)}" if type(x) is _ingot.Array else getattr(x, "__name__", None) or repr(x)


class _List(Module):
    """A list whose items are the attributes "0", "1", ..."""

    def __init__(self, items=()):
        self._fill(items)

    def _fill(self, items):
        for name in _children(self):
            del vars(self)[name]
        vars(self).update((str(i), x) for i, x in enumerate(items))

    def _parts(self):
        return [(name, repr(x) if isinstance(x, Module) else _text(x)) for name, x in _children(self).items()]

    def __len__(self):
        return len(_children(self))

    def __iter__(self):
        return iter(_children(self).values())

    def __getitem__(self, at):
        items = list(self)
        return type(self)(items[at]) if isinstance(at, slice) else items[at]

    def __setitem__(self, at, value):
        names = list(_children(self))
        vars(self)[names[at]] = value

    def __delitem__(self, at):
        items = list(self)
        del items[at]
        self._fill(items)

    def append(self, item):
        vars(self)[str(len(self))] = item
        return self

    def extend(self, items):
        for item in items:
            self.append(item)
        return self

    def insert(self, at, item):
        items = list(self)
        items.insert(at, item)
        self._fill(items)

    def __contains__(self, item):
        return any(x is item for x in self)

    def __add__(self, other):
        return type(self)([*self, *other])


class ModuleList(_List):
    """A list of modules."""

    def _parts(self):
        """Equal neighbours have one line: ("0-2", "3 x Linear(...)")."""
        groups = []
        for name, text in super()._parts():
            if groups and groups[-1][2] == text:
                groups[-1][1] = name
            else:
                groups.append([name, name, text])
        return [(a, text) if a == b else (f"{a}-{b}", f"{int(b) - int(a) + 1} x {text}") for a, b, text in groups]

    def forward(self, *args, **kwargs):
        raise NotImplementedError("a ModuleList is not called: call its modules, or use Sequential")


class ParameterList(ModuleList):
    """A list of arrays."""

    def _fill(self, items):
        super()._fill(_ingot.asarray(x) for x in items)


class Sequential(_List):
    """Modules and functions, one after another. An OrderedDict gives names."""

    def __init__(self, *layers):
        if len(layers) == 1 and isinstance(layers[0], dict):
            vars(self).update(layers[0])
        else:
            self._fill(layers)

    def __getitem__(self, at):
        items = list(self)
        return type(self)(*items[at]) if isinstance(at, slice) else items[at]

    def __add__(self, other):
        return type(self)(*self, *other)

    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules=None):
        self.update(modules or {})

    def update(self, modules):
        for name, module in dict(modules).items():
            self[name] = module

    def __getitem__(self, name):
        return _children(self)[name]

    def __setitem__(self, name, module):
        if hasattr(type(self), name):
            raise KeyError(f"'{name}' is an attribute of {type(self).__name__}; choose another name")
        vars(self)[name] = module

    def __delitem__(self, name):
        del vars(self)[name]

    _parts = _List._parts

    def __len__(self):
        return len(_children(self))

    def __iter__(self):
        return iter(_children(self))

    def __contains__(self, name):
        return name in _children(self)

    def keys(self):
        return _children(self).keys()

    def values(self):
        return _children(self).values()

    def items(self):
        return _children(self).items()

    def pop(self, name):
        return vars(self).pop(name)


class ParameterDict(ModuleDict):
    """Arrays by name."""

    def __setitem__(self, name, array):
        super().__setitem__(name, _ingot.asarray(array))
