"""Batches of data: batches and prefetch, and PyTorch's DataLoader and datasets."""
import queue
import threading

from . import _ingot, _names
from ._ingot import Array

_ops = _ingot._ops


def __getattr__(name):
    return _names.find(name, "data.")


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


# ---- datasets ----

class Dataset:
    """Items by index: define __getitem__ and __len__."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Items in the order in which they come: define __iter__."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class TensorDataset(Dataset):
    """Tuples of the rows of arrays with the same length."""

    def __init__(self, *tensors):
        self.tensors = tuple(_ingot.asarray(x) for x in tensors)
        if not tensors or any(len(x) != len(self.tensors[0]) for x in self.tensors):
            raise ValueError("TensorDataset: give one array or more, of the same length")

    def __getitem__(self, index):
        return tuple(x[index] for x in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    """The items of a dataset at some indices."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __getitem__(self, index):
        at = index + len(self) if index < 0 else index
        for dataset in self.datasets:
            if 0 <= at < len(dataset):
                return dataset[at]
            at -= len(dataset)
        raise IndexError(f"index {index} of {len(self)} items")

    def __len__(self):
        return sum(map(len, self.datasets))


def random_split(dataset, lengths, generator=None):
    """Subsets of these lengths, or fractions, with items that are drawn at random. generator: a random key."""
    n = len(dataset)
    if sum(lengths) <= 1 + 1e-6 and any(isinstance(x, float) for x in lengths):
        parts = [int(n * x) for x in lengths]
        for i in range(n - sum(parts)):
            parts[i % len(parts)] += 1
        lengths = parts
    if sum(lengths) != n:
        raise ValueError(f"random_split: the lengths have the sum {sum(lengths)}, but there are {n} items")
    order, start, found = _order(n, generator), 0, []
    for length in lengths:
        found.append(Subset(dataset, order[start:start + length]))
        start += length
    return found


def _order(n, key=None):
    return _ops["permutation"](_names.next_key() if key is None else key, n).tolist()


# ---- samplers ----

class Sampler:
    """Indices of items: define __iter__."""

    def __init__(self, data_source=None):
        self.data_source = data_source

    def __len__(self):
        return len(self.data_source)


class SequentialSampler(Sampler):
    def __iter__(self):
        return iter(range(len(self)))


class RandomSampler(Sampler):
    """All indices in random order, or with replacement num_samples of them."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__(data_source)
        self.replacement, self.num_samples, self.generator = replacement, num_samples or len(data_source), generator

    def __iter__(self):
        n = len(self.data_source)
        if self.replacement:
            key = _names.next_key() if self.generator is None else self.generator
            return iter(_ops["randint"](key, (self.num_samples,), 0, n).tolist())
        return iter(_order(n, self.generator)[:self.num_samples])

    def __len__(self):
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """num_samples indices, drawn with probabilities proportional to the weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        super().__init__()
        self.weights, self.num_samples, self.replacement, self.generator = _ingot.asarray(weights), num_samples, replacement, generator

    def __iter__(self):
        key = _names.next_key() if self.generator is None else self.generator
        p = self.weights / _ops["sum"](self.weights)
        return iter(_ops["choice"](key, len(self.weights), (self.num_samples,), self.replacement, p).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size indices of a sampler."""

    def __init__(self, sampler, batch_size, drop_last=False):
        super().__init__()
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


# ---- the loader ----

def default_collate(batch):
    """Items as one batch: arrays and numbers are stacked, tuples and dictionaries item by item; texts stay a list."""
    first = batch[0]
    if isinstance(first, Array):
        return _ops["stack"](list(batch))
    if hasattr(first, "__array__"):
        import numpy
        return _ingot.asarray(numpy.stack([numpy.asarray(x) for x in batch]))
    if isinstance(first, (bool, int, float, complex)):
        return _ingot.asarray(list(batch))
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch)))
    if isinstance(first, (list, tuple)):
        return [default_collate(column) for column in zip(*batch)]
    return list(batch)


class DataLoader:
    """Batches of a dataset. With num_workers a thread makes batches ahead; processes are not started. pin_memory,
    persistent_workers and timeout have no effect."""

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        if shuffle and (sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: shuffle=True needs neither sampler nor batch_sampler")
        self.dataset, self.batch_size, self.drop_last, self.num_workers = dataset, batch_size, drop_last, num_workers
        self.collate_fn, self.prefetch_factor = collate_fn, prefetch_factor or 2
        self.batch_sampler = batch_sampler
        if isinstance(dataset, IterableDataset):
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError("DataLoader: items of an IterableDataset come in its order; shuffle there")
            self.sampler = None
        else:
            self.sampler = sampler or (RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset))
        if batch_sampler is None and batch_size is not None and self.sampler is not None:
            self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)

    def _batches(self):
        collate = self.collate_fn or default_collate
        if isinstance(self.dataset, IterableDataset):
            if self.batch_size is None:
                yield from map(self.collate_fn or (lambda item: item), self.dataset)
            else:
                yield from map(collate, BatchSampler(self.dataset, self.batch_size, self.drop_last))
        elif self.batch_sampler is None:  # batch_size=None: items
            for index in self.sampler:
                item = self.dataset[index]
                yield self.collate_fn(item) if self.collate_fn else item
        else:
            rows = self._rows() if self.collate_fn is None else None
            for indices in self.batch_sampler:
                yield rows(indices) if rows else collate([self.dataset[i] for i in indices])

    def _rows(self):
        """The batch of a list of indices, for arrays: one gather instead of many items. None for other datasets."""
        dataset, through = self.dataset, []
        while type(dataset) is Subset:
            through.append(dataset.indices)
            dataset = dataset.dataset
        if type(dataset) is not TensorDataset:
            return None

        def rows(indices):
            for table in through:
                indices = [table[i] for i in indices]
            n, first = len(indices), indices[0]
            if indices == list(range(first, first + n)):
                return [x[first:first + n] for x in dataset.tensors]
            at = _ingot.asarray(indices)
            return [_ops["take"](x, at, 0) for x in dataset.tensors]

        return rows

    def __iter__(self):
        batches = self._batches()
        return prefetch(batches, self.prefetch_factor * self.num_workers) if self.num_workers else batches

    def __len__(self):
        if isinstance(self.dataset, IterableDataset):
            raise TypeError("DataLoader: an IterableDataset has no length")
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
