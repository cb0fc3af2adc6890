"""Schedules of learning rates with PyTorch's names and formulas. step() after each epoch or batch sets the lr of all groups:

    scheduler = lr_scheduler.CosineAnnealingLR(opt, T_max=100)
    opt.step(grads)
    scheduler.step()
"""
import math
from bisect import bisect_right

from .. import _names


def __getattr__(name):
    return _names.find(name, "optim.")


class LRScheduler:
    """The base: counts steps and sets the rates. A schedule defines get_lr, the rates of the groups at last_epoch."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            if callable(group["lr"]):
                raise TypeError(f"{type(self).__name__}: lr is a function of the number of steps already; give the optimizer a number")
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def rates(self):
        """The rates of the groups now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        return list(self._last)

    def get_lr(self):
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last = self.rates()

    def step(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(self.get_lr())

    def state_dict(self):
        return {name: x for name, x in vars(self).items() if name != "optimizer" and not callable(x)}

    def load_state_dict(self, state_dict):
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """The initial rate times lr_lambda(epoch): a function, or one for each group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambda = lr_lambda
        super().__init__(optimizer, last_epoch)

    def _factors(self):
        functions = self.lr_lambda if isinstance(self.lr_lambda, (list, tuple)) else [self.lr_lambda] * len(self.base_lrs)
        return [f(self.last_epoch) for f in functions]

    def get_lr(self):
        return [base * factor for base, factor in zip(self.base_lrs, self._factors())]

    def state_dict(self):
        return {name: x for name, x in super().state_dict().items() if name != "lr_lambda"}


class MultiplicativeLR(LambdaLR):
    """The rate times lr_lambda(epoch) in each step."""

    def get_lr(self):
        return [lr * factor for lr, factor in zip(self.rates(), self._factors())] if self.last_epoch > 0 else self.rates()


class _Factor(LRScheduler):
    """The rate times factor() in each step; so schedules of one optimizer can be combined."""

    def factor(self):
        raise NotImplementedError

    def get_lr(self):
        factor = self.factor()
        return [lr * factor for lr in self.rates()]


class StepLR(_Factor):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self):
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0


class MultiStepLR(_Factor):
    """Times gamma at each of the milestones."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self):
        return self.gamma ** self.milestones.count(self.last_epoch)


class ExponentialLR(_Factor):
    """Times gamma in each step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self):
        return self.gamma if self.last_epoch else 1.0


class ConstantLR(_Factor):
    """Times factor until total_iters."""

    def __init__(self, optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
        self.start, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self):
        return self.start if self.last_epoch == 0 else 1 / self.start if self.last_epoch == self.total_iters else 1.0


class LinearLR(_Factor):
    """From start_factor to end_factor along a line, in total_iters steps: a warm-up."""

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: start_factor {start_factor} must be above 0, end_factor {end_factor} not below, and both at most 1")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _at(self, n):
        return self.start_factor + (self.end_factor - self.start_factor) * min(n / self.total_iters, 1.0)

    def factor(self):
        n = self.last_epoch
        return self.start_factor if n == 0 else 1.0 if n > self.total_iters else self._at(n) / self._at(n - 1)


class PolynomialLR(_Factor):
    """To 0 in total_iters steps: (1 - n / total_iters)**power."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self):
        n, total = self.last_epoch, self.total_iters
        return 1.0 if n == 0 or n > total else ((1 - n / total) / (1 - (n - 1) / total)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """From the initial rate to eta_min along a cosine, in T_max steps, and back."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        n, half = self.last_epoch, self.T_max
        if n == 0:
            return self.rates()
        if (n - 1 - half) % (2 * half) == 0:  # the turn at eta_min
            return [lr + (base - self.eta_min) * (1 - math.cos(math.pi / half)) / 2 for base, lr in zip(self.base_lrs, self.rates())]
        factor = (1 + math.cos(math.pi * n / half)) / (1 + math.cos(math.pi * (n - 1) / half))
        return [factor * (lr - self.eta_min) + self.eta_min for lr in self.rates()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines from the initial rate to eta_min; the first takes T_0 steps, each other T_mult times as many as the last."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        n, length = self.last_epoch, self.T_0
        while n >= length:
            n, length = n - length, length * self.T_mult
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * n / length)) / 2 for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to max_lr and down again, in total_steps steps: the fraction pct_start of them goes up. The momentum of SGD, or the
    first of Adam's betas, moves the other way."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos",
                 cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: unknown anneal_strategy '{anneal_strategy}'; use cos or linear")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        self.linear, self.momenta = anneal_strategy == "linear", (base_momentum, max_momentum)
        key = "momentum" if "momentum" in optimizer.defaults else "betas"
        if cycle_momentum and key not in optimizer.defaults:
            raise ValueError("OneCycleLR: the optimizer has neither momentum nor betas; use cycle_momentum=False")
        self.key = key if cycle_momentum else None
        highest = max_lr if isinstance(max_lr, (list, tuple)) else [max_lr] * len(optimizer.param_groups)
        for group, lr in zip(optimizer.param_groups, highest):
            group["initial_lr"] = lr / div_factor
        self.points = [(lr / div_factor, lr, lr / div_factor / final_div_factor) for lr in highest]
        top = pct_start * self.total_steps - 1
        # (the last step of a phase, the point where it ends)
        self.phases = [(top, 1), (2 * top, 0), (self.total_steps - 1, 2)] if three_phase else [(top, 1), (self.total_steps - 1, 2)]
        super().__init__(optimizer, last_epoch)

    def _between(self, first, last, part):
        return first + (last - first) * (part if self.linear else (1 - math.cos(math.pi * part)) / 2)

    def get_lr(self):
        n = self.last_epoch
        if n > self.total_steps - 1:
            raise ValueError(f"OneCycleLR: step {n + 1} after {self.total_steps} in all")
        begin, start = 0, 0
        for end, to in self.phases:
            if n <= end or to == 2:
                break
            begin, start = end, to
        part = (n - begin) / (end - begin) if end > begin else 1.0
        if self.key:
            low, high = self.momenta
            momentum = self._between(low if start == 1 else high, low if to == 1 else high, part)
            for group in self.optimizer.param_groups:
                group[self.key] = momentum if self.key == "momentum" else (momentum, *group["betas"][1:])
        return [self._between(point[start], point[to], part) for point in self.points]


class ChainedScheduler:
    """Several schedules of one optimizer, whose steps are made together."""

    def __init__(self, schedulers, optimizer=None):
        self.schedulers, self.optimizer = list(schedulers), optimizer or schedulers[0].optimizer

    def step(self):
        for scheduler in self.schedulers:
            scheduler.step()

    def get_last_lr(self):
        return self.schedulers[-1].get_last_lr()

    def state_dict(self):
        return {"schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state_dict):
        for scheduler, saved in zip(self.schedulers, state_dict["schedulers"]):
            scheduler.load_state_dict(saved)


class SequentialLR(ChainedScheduler):
    """Schedules one after another: the next one begins at each of the milestones."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: {len(schedulers)} schedules need {len(schedulers) - 1} milestones, not {len(milestones)}")
        super().__init__(schedulers, optimizer)
        self.milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self.schedulers:  # they have made a step each
            scheduler.last_epoch -= 1
        self.schedulers[0].step()

    def step(self):
        self.last_epoch += 1
        at = bisect_right(self.milestones, self.last_epoch)
        if at and self.milestones[at - 1] == self.last_epoch:
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"]
            self.schedulers[at].step(0)
        else:
            self.schedulers[at].step()

    def get_last_lr(self):
        return self.schedulers[bisect_right(self.milestones, self.last_epoch)].get_last_lr()

    def state_dict(self):
        return {**super().state_dict(), "last_epoch": self.last_epoch}

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.last_epoch = state_dict["last_epoch"]


class ReduceLROnPlateau:
    """Times factor when a measure has not become better for more than patience steps: step(loss)."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0.0, eps=1e-8):
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError("ReduceLROnPlateau: mode is min or max, and threshold_mode rel or abs")
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor {factor} must be below 1")
        self.optimizer, self.mode, self.factor, self.patience, self.threshold = optimizer, mode, factor, patience, threshold
        self.threshold_mode, self.cooldown, self.min_lr, self.eps = threshold_mode, cooldown, min_lr, eps
        self.best, self.num_bad_epochs, self.cooldown_counter, self.last_epoch = None, 0, 0, 0

    def _is_better(self, value):
        if self.best is None:
            return True
        if self.mode == "min":
            return value < (self.best * (1 - self.threshold) if self.threshold_mode == "rel" else self.best - self.threshold)
        return value > (self.best * (1 + self.threshold) if self.threshold_mode == "rel" else self.best + self.threshold)

    def step(self, metrics, epoch=None):
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for i, group in enumerate(self.optimizer.param_groups):
                least = self.min_lr[i] if isinstance(self.min_lr, (list, tuple)) else self.min_lr
                new = max(group["lr"] * self.factor, least)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        return {name: x for name, x in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        vars(self).update(state_dict)
