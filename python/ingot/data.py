"""Batches of data."""
import queue
import threading

from . import _ingot

_ops = _ingot._ops


def batches(*arrays, size, key=None, drop_last=False):
    """Yields tuples of batches of arrays with the same length, shuffled if a random key is given."""
    arrays = [_ingot.asarray(x) for x in arrays]
    n = len(arrays[0])
    if any(len(x) != n for x in arrays):
        raise ValueError("batches: the arrays have different lengths")
    order = None if key is None else _ops["permutation"](key, n).eval()
    for start in range(0, n - size + 1 if drop_last else n, size):
        rows = slice(start, start + size) if order is None else order[start:start + size]
        batch = tuple(x[rows] for x in arrays)
        yield batch if len(batch) > 1 else batch[0]


def prefetch(iterable, count=2):
    """Yields the items of an iterable, which another thread makes ahead, at most count of them. Arrays in them are evaluated
    there."""
    from .transform import flatten
    waiting, end, stop = queue.Queue(count), object(), threading.Event()

    def put(item):
        while not stop.is_set():
            try:
                return waiting.put(item, timeout=0.1)
            except queue.Full:
                continue

    def work():
        try:
            for item in iterable:
                leaves, _ = flatten(item)
                if leaves:
                    _ingot.eval(*leaves)
                put((item, None))
                if stop.is_set():
                    return
            put((end, None))
        except BaseException as error:
            put((end, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            item, error = waiting.get()
            if error:
                raise error
            if item is end:
                return
            yield item
    finally:
        stop.set()
