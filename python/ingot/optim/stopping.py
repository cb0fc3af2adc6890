"""Early stopping."""
from .. import _ingot


class EarlyStopping:
    """Says when a measure has not become better for `patience` steps in sequence, and keeps the best network:

        stopping = optim.EarlyStopping(patience=5)
        for epoch in range(100):
            ...
            if stopping.step(test_loss, net):
                break
        stopping.restore(net)

    Better is less, or with mode "max" more, by more than min_delta. A NaN is never better."""

    def __init__(self, patience=10, min_delta=0.0, mode="min"):
        if mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping: mode is min or max, not {mode!r}")
        if patience < 1 or min_delta < 0:
            raise ValueError(f"EarlyStopping: patience {patience} must be at least 1, and min_delta {min_delta} at least 0")
        self.patience, self.min_delta, self.mode = patience, min_delta, mode
        self.best, self.best_step, self.steps, self.weights = None, None, 0, None

    def step(self, measure, net=None):
        """Whether to stop, after a new measure. If it is the best, a copy of the network's state is kept."""
        value = float(measure)
        gain = 0.0 if self.best is None else self.best - value if self.mode == "min" else value - self.best
        if value == value and (self.best is None or gain > self.min_delta):
            self.best, self.best_step = value, self.steps
            self.weights = None if net is None else {name: _ingot.asarray(x, copy=True) for name, x in net.state_dict().items()}
        self.steps += 1
        return self.steps - (0 if self.best is None else self.best_step + 1) >= self.patience

    def restore(self, net):
        """Gives the network the state that it had at the best step."""
        if self.weights is None:
            raise ValueError("EarlyStopping.restore: no state is kept; call step(measure, net) with the network")
        net.load_state_dict({name: _ingot.asarray(x, copy=True) for name, x in self.weights.items()})

    def state_dict(self):
        """What load_state_dict takes, to continue later."""
        return dict(vars(self))

    def load_state_dict(self, state_dict):
        vars(self).update(state_dict)
