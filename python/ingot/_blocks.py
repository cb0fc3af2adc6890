"""Functions of blocks of arrays, as dask.array has them."""
import inspect

from . import _ingot


def _takes_block_id(function):
    try:
        return "block_id" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # functions of C
        return False


def _caller(function, kwargs):
    with_id = _takes_block_id(function)

    def call(index, blocks):
        return function(*blocks, block_id=index, **kwargs) if with_id else function(*blocks, **kwargs)
    return call


def map_blocks(function, *arrays, chunks=None, dtype=None, **kwargs):
    """An array whose chunks are function(chunk, ...) of the chunks of arrays, which are broadcast to one shape.

    The chunks come from the file or store that the first array was opened from, or from rechunk; else there is one chunk. They do not
    depend on how an evaluation is split. The function gets and returns arrays, and may use NumPy: return ingot.asarray(numpy_function(
    numpy.asarray(chunk))). It is called when the elements are needed. Its result has the shape of its chunk. If it has
    another shape, chunks is that shape. dtype is the dtype of the result; None: the dtype of the first array. If the
    function takes block_id, that is the number of the chunk along each axis.
    """
    arrays = [_ingot.asarray(x) for x in arrays]
    return _ingot._map_blocks(_caller(function, kwargs), arrays, chunks, dtype, None, None, 0.0)


def map_overlap(function, *arrays, depth, boundary="none", dtype=None, **kwargs):
    """map_blocks of chunks that overlap: each gets depth more elements of its neighbours on both sides, for stencils. The function
    returns an array of the shape that it gets, whose border is cut off.

    depth is a number for all axes, one for each axis, or a dictionary from axes to numbers. boundary says what lies beyond the ends:
    "reflect" (the elements at the end, mirrored), "periodic", "nearest", a number, or "none": chunks at the ends get fewer elements.
    """
    arrays = [_ingot.asarray(x) for x in arrays]
    ndim = max(x.ndim for x in arrays)
    if isinstance(depth, dict):
        depth = [depth.get(axis, depth.get(axis - ndim, 0)) for axis in range(ndim)]
    elif not isinstance(depth, (tuple, list)):
        depth = [depth] * ndim
    value, mode = (0.0, boundary or "none") if boundary is None or isinstance(boundary, str) else (float(boundary), "constant")
    return _ingot._map_blocks(_caller(function, kwargs), arrays, None, dtype, list(depth), mode, value)
