"""Recurrent layers, with PyTorch's weights: weight_ih_l0, weight_hh_l0, ..., and "_reverse" for the other direction."""
from . import functional as F
from .layers import _uniform
from .module import Module

_op = F._op


class _Recurrent(Module):
    _gates, _states, _run = 1, 1, staticmethod(_op.rnn)

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False):
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        self.directions = 1 + bidirectional
        bound, rows = hidden_size ** -0.5, self._gates * hidden_size
        for layer, end in self._places():
            width = input_size if layer == 0 else hidden_size * self.directions
            shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
            for name, shape in list(shapes.items())[:4 if bias else 2]:
                setattr(self, name + end, _uniform(shape, bound))

    def _places(self):
        """(layer, the end of its names) of each direction of each layer, in the order of the states."""
        return [(k, f"_l{k}" + "_reverse" * d) for k in range(self.num_layers) for d in range(self.directions)]

    def extra_repr(self):
        options = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *(
            f"{name}={getattr(self, name)}" for name, default in options.items() if getattr(self, name) != default)])

    def _options(self):
        return {}

    def flatten_parameters(self):
        """Does nothing: there is no other form of the weights."""

    def forward(self, input, hx=None):
        """(steps, last states). Steps are (T, N, directions * H), or (N, T, ...) with batch_first; states (layers * directions,
        N, H). Without an axis N there is none in the results."""
        batch_first = self.batch_first and input.ndim == 3
        x = _op.swapaxes(input, 0, 1) if batch_first else input
        first = (None,) * self._states if hx is None else hx if self._states > 1 else (hx,)
        if len(first) != self._states:
            raise ValueError(f"{type(self).__name__} has {self._states} states, not {len(first)}")
        last, parts = [[] for _ in first], []
        for i, (layer, end) in enumerate(self._places()):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[:4 if self.bias else 2]
            given = [getattr(self, name + end) for name in names] + [None] * (0 if self.bias else 2)
            states = [None if s is None else s[i] for s in first]
            y, *ends = self._run(x, *given, *states, reverse=end.endswith("_reverse"), **self._options())
            parts.append(y)
            for to, state in zip(last, ends):
                to.append(state)
            if len(parts) == self.directions:
                x, parts = _op.concat(parts, axis=-1) if self.directions > 1 else y, []
                if self.dropout and layer + 1 < self.num_layers:
                    x = F.dropout(x, self.dropout, self.training)
        ends = tuple(_op.stack(s, axis=0) for s in last)
        return _op.swapaxes(x, 0, 1) if batch_first else x, ends if self._states > 1 else ends[0]


class RNN(_Recurrent):
    """h = tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh), or relu."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        self.nonlinearity = nonlinearity

    def _options(self):
        return {"nonlinearity": self.nonlinearity}


class GRU(_Recurrent):
    """Gated recurrent units; the gates r, z and n."""

    _gates, _run = 3, staticmethod(_op.gru)


class LSTM(_Recurrent):
    """Long short-term memory; the gates i, f, g and o. States are (h, c)."""

    _gates, _states, _run = 4, 2, staticmethod(_op.lstm)


class _Cell(Module):
    """One step of a recurrent layer."""

    _gates, _states, _run = 1, 1, staticmethod(_op.rnn)

    def __init__(self, input_size, hidden_size, bias=True):
        self.input_size, self.hidden_size = input_size, hidden_size
        bound, rows = hidden_size ** -0.5, self._gates * hidden_size
        self.weight_ih, self.weight_hh = _uniform((rows, input_size), bound), _uniform((rows, hidden_size), bound)
        self.bias_ih, self.bias_hh = (_uniform((rows,), bound), _uniform((rows,), bound)) if bias else (None, None)

    def _options(self):
        return {}

    def extra_repr(self):
        changed = {"nonlinearity": "tanh", **self._options()}["nonlinearity"] != "tanh"
        return (f"{self.input_size}, {self.hidden_size}" + ", bias=False" * (self.bias_ih is None) +
                (f", nonlinearity={self.nonlinearity}" if changed else ""))

    def forward(self, input, hx=None):
        states = (None,) * self._states if hx is None else hx if self._states > 1 else (hx,)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        _, *ends = self._run(input[None], *weights, *states, **self._options())
        return tuple(ends) if self._states > 1 else ends[0]


class RNNCell(_Cell):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh"):
        super().__init__(input_size, hidden_size, bias)
        self.nonlinearity = nonlinearity

    def _options(self):
        return {"nonlinearity": self.nonlinearity}


class GRUCell(_Cell):
    _gates, _run = 3, staticmethod(_op.gru)


class LSTMCell(_Cell):
    _gates, _states, _run = 4, 2, staticmethod(_op.lstm)
