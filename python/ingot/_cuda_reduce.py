"""cuda.reduce: a function of two numbers makes a reduction of arrays, in kernels that are written in Python."""
import math

from . import _ingot, cuda

THREADS, BLOCKS = 128, 64


def _kernel(combine, dtype):
    """A kernel that reduces count elements to one for each block. Each thread has adjacent elements, and neighbours are
    combined, so the order of the elements is kept."""
    def partial(x, out, count):
        tile = cuda.shared.array(THREADS, dtype)
        t = cuda.threadIdx.x
        each = (count + cuda.gridsize(1) - 1) // cuda.gridsize(1)
        start = cuda.grid(1) * each
        stop = min(start + each, count)
        if start < stop:
            tile[t] = x[start]
            for k in range(start + 1, stop):
                tile[t] = combine(tile[t], x[k])
        cuda.syncthreads()
        left = count - cuda.blockIdx.x * THREADS * each
        filled = min(THREADS, (left + each - 1) // each)
        step = 1
        while step < THREADS:
            if t % (2 * step) == 0 and t + step < filled:
                tile[t] = combine(tile[t], tile[t + step])
            cuda.syncthreads()
            step *= 2
        if t == 0 and filled > 0:
            out[cuda.blockIdx.x] = tile[0]

    return cuda.jit(partial)


class Reduce:
    """A reduction of 1-d arrays: self(x), or with the first size elements, an initial value, and an array res for the
    result."""

    def __init__(self, function):
        self.function, self.__name__, self.__doc__ = function, function.__name__, function.__doc__
        self._kernels = {}

    def __call__(self, arr, size=None, res=None, init=None, stream=0):
        x = _ingot.asarray(arr)
        if x.ndim != 1:
            raise ValueError(f"{self.__name__} reduces 1-d arrays, not {x.ndim}-d ones")
        count = x.size if size is None else size
        if not 0 <= count <= x.size:
            raise ValueError(f"{self.__name__}: size is {size}, but the array has {x.size} elements")
        if count == 0 and init is None:
            raise ValueError(f"{self.__name__}: an array without elements needs an initial value")
        value = self._reduced(x, count) if count else _ingot.asarray([init], dtype=x.dtype)
        if count and init is not None:
            value = self._reduced(_ingot._ops["concat"]([_ingot.asarray([init], dtype=x.dtype), value]), 2)
        if res is None:
            return value[0].item()
        res[0] = value[0] if isinstance(res, _ingot.Array) else value[0].item()
        return None

    def _reduced(self, x, count):
        """The first count elements of x, reduced to one, as an array."""
        name = x.dtype.name
        if name not in self._kernels:
            self._kernels[name] = _kernel(self.function, x.dtype)
        while True:
            blocks = min(BLOCKS, math.ceil(count / (2 * THREADS)))
            out = _ingot._ops["zeros"]((blocks,), dtype=x.dtype)
            self._kernels[name][blocks, THREADS](x, out, count)
            used = math.ceil(count / (THREADS * math.ceil(count / (blocks * THREADS))))  # the last blocks may have none
            if blocks == 1:
                return out
            x, count = out, used
