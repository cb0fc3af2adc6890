"""Devices: the choice of a device, comparison with the CPU, and measurement."""
import time
from typing import NamedTuple

from . import _ingot
from .transform import flatten


class device(str):
    """The name of a device, with its properties. In a with statement, new arrays of the thread are on it."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        facts = next((row for row in _ingot._devices() if row["name"] == self), None)
        if name == "type":  # as PyTorch's device
            return self.partition(":")[0]
        if name == "platform":  # as JAX's device
            return "cpu" if self == "cpu" else "gpu"
        if facts is None:
            raise _ingot.DeviceError(f"there is no device '{self}' here")
        if name not in facts:
            raise AttributeError(f"a device has no '{name}'; it has {', '.join(facts)}")
        return facts[name]

    def __enter__(self):
        before = _ingot.default_device()
        _ingot.set_device(self)
        self.__dict__.setdefault("_before", []).append(before)
        return self

    def __exit__(self, *_):
        _ingot.set_device(self._before.pop())


def devices():
    """The devices that compute arrays: names, with the attributes kind, model, level, memory, limit, used, peak and threads."""
    return [device(row["name"]) for row in _ingot._devices()]


class Report(NamedTuple):
    """How the results of a device compare with the CPU in float64."""
    nodes: int  # that were checked
    failed: int  # whose error is above their bound
    elements: int
    worst_ulp: float  # of elementwise nodes
    worst_relative: float
    worst_bound: float  # the largest error in units of its bound; above 1 is wrong
    node: int  # the first failed node; -1: none
    fused: bool  # it is correct by itself, but not together with others
    op: str
    error: float
    expected: float
    got: float
    text: str  # all of this in one line; "" if none failed


def verify(*results):
    """Compares lazy arrays, computed by their device, with the CPU in float64, node by node. report.failed is the number of
    wrong nodes. The arrays stay lazy."""
    return Report(*_ingot._verify(flatten(results)[0]))


class Timing(NamedTuple):
    """Seconds of a call."""
    median: float
    least: float
    most: float
    calls: int

    def __repr__(self):
        unit, scale = next((u for u in (("s", 1), ("ms", 1e3), ("us", 1e6)) if self.median * u[1] >= 1), ("us", 1e6))
        return f"{self.median * scale:.3g} {unit} (median of {self.calls} calls; {self.least * scale:.3g} to " \
               f"{self.most * scale:.3g})"


def bench(function, *args, seconds=0.5, **kwargs):
    """Measures calls of a function for some seconds, at least 5. Its results are evaluated, and the device is waited for. The
    first calls, which plan and compile, do not count."""
    where = {x.device for x in flatten((args, kwargs))[0]} | {_ingot.default_device()}

    def call():
        start = time.perf_counter()
        _ingot.eval(*flatten(function(*args, **kwargs))[0])
        for name in where:
            _ingot.synchronize(name)
        return time.perf_counter() - start

    for _ in range(2):
        call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 1000000):
        times.append(call())
    times.sort()
    n = len(times)
    return Timing((times[n // 2] + times[(n - 1) // 2]) / 2, times[0], times[-1], n)
