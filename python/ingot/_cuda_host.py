"""The part of ingot.cuda for the host: streams, events, and arrays that a GPU's driver would map or lock."""
import contextlib
import time
import weakref

from . import _ingot

_waiting = {}  # arrays that launches wrote, by id, while they live: they may not be computed yet


def note(arrays):
    """Remembers the results of a launch, which are lazy, for synchronize."""
    for a in arrays:
        if isinstance(a, _ingot.Array):
            _waiting[id(a)] = weakref.ref(a, lambda _, key=id(a): _waiting.pop(key, None))


def synchronize():
    """Runs all launches whose results are still in use, and waits until the current device has done all its work."""
    arrays = [a for a in (r() for r in list(_waiting.values())) if a is not None]
    _waiting.clear()
    for a in arrays:
        a.eval()
    _ingot.synchronize()


class Stream:
    """For calls that take a stream: there is one order of work for each device."""

    def synchronize(self):
        synchronize()

    @contextlib.contextmanager
    def auto_synchronize(self):
        yield self
        synchronize()


def stream():
    """A stream, which stands for the order of work of the current device."""
    return Stream()


default_stream = stream
Stream.null = Stream()  # as CuPy has it


class Event:
    """A time: record() takes it when all launches before it are done."""

    def __init__(self):
        self._at = None

    def record(self, stream=0):
        """Runs what was launched before, and takes the time."""
        synchronize()
        self._at = time.perf_counter()

    def synchronize(self):
        """Does nothing, since record() has waited."""

    def wait(self, stream=0):
        """Does nothing, since record() has waited."""

    def query(self):
        """Whether the work before the event is done: always, since record() has waited."""
        return True

    def elapsed_time(self, end):
        """Milliseconds from this event to another one."""
        if self._at is None or end._at is None:
            raise ValueError("both events need record() before the time between them is known")
        return (end._at - self._at) * 1e3


def event(timing=True):
    """An event."""
    return Event()


def event_elapsed_time(start, end):
    """Milliseconds between two events."""
    return start.elapsed_time(end)


def pinned_array(shape, dtype="float64", strides=None, order="C"):
    """An array of NumPy with zeros. Launches copy it as they copy every array of NumPy; its memory is not locked."""
    import numpy
    if strides is not None:
        raise ValueError("host arrays have no strides of their own here: leave strides out, or use order")
    return numpy.zeros(shape, dtype=numpy.dtype(str(_ingot.dtype(dtype))), order=order)


def mapped_array(shape, dtype="float64", strides=None, order="C", stream=0, portable=False, wc=False):
    """As pinned_array."""
    return pinned_array(shape, dtype, strides, order)


def managed_array(shape, dtype="float64", strides=None, order="C", stream=0, attach_global=True):
    """As pinned_array."""
    return pinned_array(shape, dtype, strides, order)


@contextlib.contextmanager
def pinned(*arrays):
    """For code that locks host memory during a block: it changes nothing here."""
    yield


@contextlib.contextmanager
def mapped(*arrays, stream=0):
    """The arrays on the device during a block; afterwards the arrays of NumPy have the device's values."""
    made = [_ingot.asarray(a, copy=True) for a in arrays]
    yield made[0] if len(made) == 1 else made
    for a, m in zip(arrays, made):
        a[...] = m.numpy()
