"""ONNX models: model = load(path), model(x) runs it, model.apply(x) builds its graph on lazy arrays, which can be
differentiated, and model.weights are its tensors. export(net, inputs, path) writes a network or function as a model."""
from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ingot

if TYPE_CHECKING:
    from . import Array, dtype


class Info(NamedTuple):
    """An input or output of a model. A length of the shape is a number, a symbol such as "batch", or None."""
    name: str
    kind: str  # "tensor", "texts", "sequence" or "map"
    type: str  # of elements, as ONNX calls it
    dtype: dtype | None  # of the array that holds them; None for strings
    shape: tuple[int | str | None, ...] | None
    optional: bool


# ---- values ----

def _texts(value):
    """The strings of a value in row-major order and their shape; None if it has none."""
    if isinstance(value, str):
        return [value], ()
    if getattr(getattr(value, "dtype", None), "kind", "") in ("U", "O", "T"):
        return [str(text) for text in value.ravel()], value.shape
    if isinstance(value, (list, tuple)) and value:
        parts = [_texts(item) for item in value]
        if all(part is not None and part[1] == parts[0][1] for part in parts):
            return [text for part in parts for text in part[0]], (len(value),) + parts[0][1]
    return None


def _nested(texts, shape):
    if not shape:
        return texts[0]
    step = len(texts) // shape[0] if shape[0] else 0
    return [_nested(texts[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def _result(value):
    """A value of the model as an array, nested lists of strings, a list or a dict."""
    if type(value) is not tuple:
        return value
    if value[0] == "texts":
        return _nested(value[1], value[2])
    items = [_result(item) for item in value[1]]
    if value[0] == "sequence":
        return items
    keys, values = (x.tolist() if isinstance(x, _ingot.Array) else x for x in items)
    return dict(zip(keys, values))


class _Weights(MutableMapping[str, Any]):
    """The tensors of a model by name. A tensor can be replaced by another one of its shape and dtype."""

    def __init__(self, model):
        self._model = model
        self._at = {name: i for i, name in enumerate(model.weight_names())}

    def _place(self, name):
        if name not in self._at:
            raise KeyError(f"the model has no tensor {name!r}")
        return self._at[name]

    def __getitem__(self, name: str) -> Array:
        return self._model.weight(self._place(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self._model.set_weight(self._place(name), value)

    def __delitem__(self, name: str) -> None:
        raise TypeError("a model's tensors can be replaced, not removed")

    def __iter__(self):
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __repr__(self):
        return f"<{len(self)} weights: {', '.join(list(self._at)[:4])}{', ...' if len(self) > 4 else ''}>"


class Model:
    """An ONNX model. Inputs are given in order, by name, or as one dict, whose names may be any text such as "input:0"."""

    inputs: list[Info]
    outputs: list[Info]
    opsets: dict[str, int]
    weights: MutableMapping[str, Any]

    def __init__(self, source: Any, folder: Any = None) -> None:
        self._model = _ingot._onnx_load(source if isinstance(source, bytes) else os.fspath(source), folder)
        self.inputs = [Info(*row) for row in self._model.inputs()]
        self.outputs = [Info(*row) for row in self._model.outputs()]
        self.opsets = self._model.opsets()
        self.weights = _Weights(self._model)

    def __repr__(self):
        shown = [f"{i.name}: {i.type}{'' if i.shape is None else list(i.shape)}" for i in self.inputs]
        return f"<ingot.onnx.Model ({', '.join(shown)}) -> ({', '.join(o.name for o in self.outputs)})>"

    def _ordered(self, args, kwargs):
        names = [info.name for info in self.inputs]
        if len(args) == 1 and isinstance(args[0], dict):
            args, kwargs = (), {**args[0], **kwargs}
        if len(args) > len(names):
            raise TypeError(f"the model has {len(names)} inputs, not {len(args)}")
        values = list(args) + [None] * (len(names) - len(args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"the model has no input '{name}'; its inputs are {', '.join(names)}")
            if names.index(name) < len(args):
                raise TypeError(f"the input '{name}' is given twice")
            values[names.index(name)] = value
        return [_texts(value) or value for value in values]

    def _results(self, made):
        made = [_result(value) for value in made]
        return made[0] if len(made) == 1 else tuple(made)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The outputs, evaluated: one value, or a tuple of several. A second call with the same shapes builds no graph."""
        return self._results(self._model.run(self._ordered(args, kwargs)))

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The outputs by name, evaluated, for a dict of inputs."""
        return dict(zip([o.name for o in self.outputs], map(_result, self._model.run(self._ordered((), inputs)))))

    def apply(self, /, *args: Any, weights: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        """The outputs as lazy arrays on the graph of the inputs, which can be differentiated. weights: tensors by name that
        stand in for the model's in this call."""
        return self._results(self._with(weights, self._model.apply, args, kwargs))

    def logits(self, /, *args: Any, weights: dict[str, Any] | None = None, **kwargs: Any) -> Array:
        """As apply, the first output of floats of a classifier without the softmax at its end: (n, classes)."""
        return self._with(weights, self._model.logits, args, kwargs)[0]

    def _with(self, weights, call, args, kwargs):
        values, before = self._ordered(args, kwargs), {}
        try:
            for name, value in (weights or {}).items():
                before[name] = self.weights[name]
                self.weights[name] = value
            return call(values)
        finally:
            for name, value in before.items():
                self.weights[name] = value

    def parameters(self, layers: int | None = None) -> dict[str, Array]:
        """The weights that training changes: not statistics, shapes and constants. layers: the number of last layers; None: all."""
        places = self._model.layers()
        first = 0 if layers is None else max(max(places, default=0) + 1 - layers, 0)
        return {name: self.weights[name] for name, place in zip(self.weights, places) if place >= first}

    def set_classes(self, classes: int, seed: int = 0) -> None:
        """Replaces the last layer of a classifier by a new one for other classes."""
        self._model.set_classes(classes, seed)

    def explain(self, /, *args: Any, **kwargs: Any) -> str:
        """A description of the programs that a call would run."""
        return self._model.explain(self._ordered(args, kwargs))

    def save(self, path: Any, external: int = -1) -> None:
        """Writes the model with its present weights. Tensors of at least external bytes go into a second file; -1: only if the
        model has more than 2 GiB."""
        self._model.save(os.fspath(path), external)


def load(source: Any, folder: Any = None) -> Model:
    """The model of a file, or of bytes. folder: where the external data of bytes is."""
    return Model(source, folder)


# ---- export ----

def _names(given, n, default):
    """n names: those that are given, then default, or default_0, default_1, ..."""
    given = [given] if isinstance(given, str) else list(given or ())
    if len(given) > n:
        raise ValueError(f"{len(given)} names are given for {n} {default}s: {', '.join(given)}")
    return given + [default if n == 1 else f"{default}_{i}" for i in range(len(given), n)]


def _parameters(function):
    """(name, array) for the arrays of a module, or of the modules that a function uses."""
    from . import _jit, nn
    from .nn.module import _walk
    if isinstance(function, nn.Module):
        return [(path, x) for path, _, _, _, x in _walk(function)], [function]
    modules = []
    for place in _jit._Outside(function).found:
        value = _jit._get(place)
        if isinstance(value, nn.Module) and not any(value is module for module, _ in modules):
            modules.append((value, str(place[1]) if type(place[0]) is dict and place[1] else "module"))
    return ([(path, x) for module, name in modules for path, _, _, _, x in _walk(module, "" if len(modules) == 1 else name)],
            [module for module, _ in modules])


def _axes(dynamic_axes, batch, names, inputs):
    """The symbols of axes without a fixed length with the lengths in the example, and the symbol of each such axis of each input."""
    chosen, lengths = [{} for _ in inputs], {}
    if batch:
        chosen = [{0: batch if isinstance(batch, str) else "batch"} if x.ndim else {} for x in inputs]
    for name, axes in (dynamic_axes or {}).items():
        if name not in names:
            continue  # an output: its axes follow
        at = names.index(name)
        for axis in axes:
            if not -inputs[at].ndim <= axis < inputs[at].ndim:
                raise ValueError(f"the input '{name}' has {inputs[at].ndim} axes, so none is {axis}")
            chosen[at][axis % inputs[at].ndim] = axes[axis] if isinstance(axes, dict) else f"axis_{axis % inputs[at].ndim}"
    for x, axes in zip(inputs, chosen):
        for axis, symbol in axes.items():
            if lengths.setdefault(symbol, x.shape[axis]) != x.shape[axis]:
                raise ValueError(f"axes of '{symbol}' have the lengths {lengths[symbol]} and {x.shape[axis]} in the example; give one")
    if len(lengths) > 2:
        raise ValueError(f"two symbols are possible for axes without a fixed length, not {len(lengths)}: {', '.join(lengths)}")
    return {symbol: max(2, n) for symbol, n in lengths.items()}, chosen


def export(function: Any, inputs: Any, path: Any, input_names: Any = None, output_names: Any = None,
           dynamic_axes: dict[str, Any] | None = None, batch: bool | str = False, external: int = -1) -> None:
    """Writes a module or a function of arrays as an ONNX model.

    inputs: example arguments, one array or a tuple or list of arrays; their elements are not used. Modules are exported as in
    evaluation, and their arrays become tensors with the names of state_dict. batch: the first axis of all inputs has any length;
    a string is its name. dynamic_axes: these axes have any length, {"x": {0: "batch", 1: "time"}}, with at most two symbols. The
    function is then called for several lengths, and must do the same for all. external: as for Model.save."""
    from . import zeros
    from .transform import Trace
    from .tree_util import Flat
    examples = [_ingot.asarray(x) for x in (inputs if isinstance(inputs, (tuple, list)) else (inputs,))]
    names = _names(input_names, len(examples), "input")
    symbols, chosen = _axes(dynamic_axes, batch, names, examples)
    weights, modules = _parameters(function)
    modes = [(module, module.training) for one in modules for module in one.modules()]
    ins, outs = [], []
    mode = _ingot._math(1)  # no nodes of native code, which a device offers for some lengths only
    try:
        for module, _ in modes:
            module.training = False
        for more in ((0, 0), (1, 0), (3, 0), (0, 1), (0, 3), (1, 1))[:(1, 3, 6)[len(symbols)]]:
            lengths = {symbol: n + k for (symbol, n), k in zip(symbols.items(), more)}
            shapes = [tuple(lengths[axes[axis]] if axis in axes else n for axis, n in enumerate(x.shape)) for x, axes in zip(examples, chosen)]
            made = [_ingot._placeholder(zeros(shape, dtype=x.dtype, device=x.device)) for shape, x in zip(shapes, examples)]
            with Trace("onnx.export", True):
                flat = Flat(function(*map(_ingot._again, made)))
            ins.append(made)
            outs.append([_ingot._plain(x) for x in flat.leaves])
    finally:
        _ingot._math(mode)
        for module, training in modes:
            module.training = training
    if not outs[0]:
        raise ValueError("the function returns no array")
    if any(len(each) != len(outs[0]) for each in outs):
        raise ValueError(f"the function returns {', '.join(str(len(each)) for each in outs)} arrays for different lengths of {' and '.join(symbols)}")
    _ingot._onnx_export(os.fspath(path), ins, outs, names, _names(output_names, len(outs[0]), "output"),
                        [x for _, x in weights], [name for name, _ in weights], " ".join(symbols), external)
