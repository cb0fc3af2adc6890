"""Dask as a peer: see bench/peer.py."""


class Dask:
    dtypes = {"f32": "float32", "f64": "float64"}

    def __init__(self, threads):
        import dask
        import dask.array

        self.array = dask.array
        self.version = dask.__version__
        dask.config.set(scheduler="threads", num_workers=threads)

    def save(self, path, y):
        import numpy

        numpy.save(path, numpy.asarray(y))

    def uniform_mean(self, *shape, dtype):
        rng = self.array.random.default_rng(1)
        return lambda: rng.random(shape, dtype=self.dtypes[dtype]).mean().compute()
