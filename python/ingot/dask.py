"""Ingot's arrays as chunks of dask.array, and arrays on a running cluster of Dask.

    d = dask.array.from_array(x, chunks=1000)         # the chunks are Ingot's arrays
    d = ingot.dask.scatter(x, client, chunks=1000)    # the same, with the chunks on the workers of the client
    y = ingot.dask.gather(d.mean(axis=0), client)     # one array again

Dask schedules, and Ingot computes the chunks. Elements travel as buffers of pickle's protocol 5, which are not copied.
"""
import itertools
import warnings

import dask
import dask.array as da
import numpy as np
from dask.array.dispatch import percentile_lookup
from dask.array.percentile import _percentile
from dask.highlevelgraph import HighLevelGraph

from . import _ingot
from ._ingot import Array

da.register_chunk_type(Array)


@percentile_lookup.register(Array)
def _percentile_of(x, q, method="linear"):
    """Percentiles of a chunk. Dask merges the percentiles of several chunks with NumPy."""
    return _percentile(np.asarray(x), q, method)


def _slices(chunks):
    """The part of the array that each chunk is, by the chunk's index."""
    ranges = [[slice(end - n, end) for n, end in zip(lengths, itertools.accumulate(lengths))] for lengths in chunks]
    return {index: tuple(r[i] for r, i in zip(ranges, index)) for index in itertools.product(*(range(len(r)) for r in ranges))}


def _client(client):
    if client is None:
        from distributed import get_client
        return get_client()
    return client


def from_array(x, chunks="auto"):
    """A Dask array of the chunks of x. A chunk is computed when Dask asks for it."""
    return da.from_array(x, chunks=chunks, asarray=False)


def _of_futures(futures, chunks, like):
    """A Dask array of chunks that are on workers."""
    name = "ingot-" + dask.base.tokenize(sorted(f.key for f in futures.values()))
    graph = {(name, *index): future for index, future in futures.items()}
    layers = HighLevelGraph.from_collections(name, graph, dependencies=())
    return da.Array(layers, name, chunks=chunks, meta=like)


def _chunk(x):
    """A task whose result is a chunk."""
    return x


def scatter(x, client=None, chunks="auto"):
    """Sends the chunks of x to the workers of a client, and returns a Dask array of them. Only one chunk at a time is computed here.
    Each chunk is a task that the scheduler keeps, so Dask sends a lost worker's chunks again."""
    client = _client(client)
    chunks = da.core.normalize_chunks(chunks, shape=x.shape, dtype=np.dtype(x.dtype))
    futures = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # that is the purpose
        for index, part in _slices(chunks).items():
            futures[index] = client.submit(_chunk, _ingot.eval(x[part] if part else x), pure=False)
    return _of_futures(futures, chunks, x[(slice(0, 0),) * x.ndim] if x.ndim else x)


def gather(d, client=None):
    """Computes a Dask array on the cluster of a client, and returns it as one Array. Chunks arrive in any order, and each is
    dropped when its elements are in place."""
    client = _client(client)
    if any(np.isnan(n) for lengths in d.chunks for n in lengths) or d.ndim == 0:
        return _ingot.asarray(client.compute(d).result())
    from distributed import as_completed
    parts = _slices(d.chunks)
    blocks = np.asarray(d.to_delayed(), dtype=object).reshape(d.numblocks)
    futures = {client.compute(blocks[index]): part for index, part in parts.items()}
    whole = None
    for future, chunk in as_completed(list(futures), with_results=True):
        if future.cancelled():
            raise RuntimeError("the cluster cancelled a chunk, because the data that it needs is lost; compute it again")
        chunk = chunk if isinstance(chunk, Array) else _ingot.asarray(chunk)
        if chunk.dtype == _ingot.bfloat16:  # NumPy has none
            return _ingot.asarray(client.compute(d).result())
        if whole is None:
            whole = np.empty(d.shape, np.dtype(chunk.dtype))
        whole[futures.pop(future)] = np.asarray(chunk)
    return _ingot.asarray(np.empty(d.shape, np.dtype(d.dtype)) if whole is None else whole, copy=False)
