"""Ingot: lazy arrays with gradients, on CPU, CUDA, Metal and OpenCL.

The module follows the Python array API standard 2025.12. Every op of the library is a function here and a method of Array.
Names of NumPy, PyTorch, JAX and MLX work too, where the library knows them: ingot.cumsum is cumulative_sum.
"""
from . import _ingot
from ._ingot import *  # the types, dtypes and functions without a row in the op table
from ._ingot import __version__

globals().update(_ingot._ops)  # after this, names such as max, sum and slice are ops
del fft  # a module here, as the standard has it  # noqa: F821

from math import e, inf, nan, pi  # noqa: E402

from . import _views, _array, _names, _tensor, fft, linalg, random  # noqa: E402
from ._info import __array_namespace_info__, finfo, iinfo  # noqa: E402
from ._files import load, open, save  # noqa: E402
from ._kernel import kernel  # noqa: E402
from ._views import array, ravel  # noqa: E402
from .transform import (  # noqa: E402
    checkpoint, checkpoint_policies, custom_grad, explain, grad, hessian, jacfwd, jacobian, jacrev, jit, jvp, linearize, remat, value_and_grad, vjp, vmap)
from .tree_util import tree_map  # noqa: E402
from . import tree_util  # noqa: E402


def diff(x, /, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along axis, n times; prepend and append are joined to x first. The second argument is n, as in
    NumPy."""
    return _ingot._ops["diff"](x, axis, n, prepend, append)


__array_api_version__ = "2025.12"
newaxis = None
ndarray = Tensor = Array  # noqa: F405
get_num_threads, set_num_threads = threads, set_threads  # noqa: F405
Size = tuple  # of PyTorch


# Names of NumPy by the modules that have them.
_NUMPY = dict.fromkeys("""array2string array_repr array_str asfarray block c_ common_type complexfloating copyto errstate euler_gamma
fill_diagonal floating frombuffer fromfunction fromiter get_printoptions geterr in1d index_exp inexact Inf infty integer isscalar
issubdtype iterable linspace may_share_memory mgrid NAN NaN ndenumerate ndim ndindex nditer NINF number ogrid pad PINF piecewise place poly1d printoptions
promote_types put put_along_axis putmask r_ require s_ set_printoptions seterr shape shares_memory signedinteger size testing
unsignedinteger""".split(), "_numpy_names") | dict.fromkeys(
    "fromfile fromstring genfromtxt loadtxt savetxt savez savez_compressed".split(), "_numpy_text") | dict.fromkeys(
    """add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide equal float_power floor_divide fmax fmin fmod gcd greater greater_equal
heaviside hypot lcm left_shift less less_equal logaddexp logical_and logical_or logical_xor maximum minimum mod multiply not_equal power
remainder right_shift subtract true_divide""".split(), "_ufuncs")

# Modules, and functions of modules, that are loaded when they are first used.
_LATER = dict.fromkeys(("nn", "optim", "data", "cuda", "onnx", "text", "dask", "team", "tree", "lax", "numpy", "utils", "scipy", "func", "flatten_util", "image", "ops", "autograd", "lib")) | {"special": "scipy.special"} | dict.fromkeys(
    """block_until_ready compile config custom_jvp custom_vjp debug default_backend device_count device_get device_put eval_shape
local_device_count local_devices named_scope pure_callback ShapeDtypeStruct""".split(), "_jax") | dict.fromkeys(
    ("bench", "device", "devices", "verify"), "_device") | dict.fromkeys(
    ("RawKernel", "RawModule", "asnumpy", "get_array_module"), "_kernel") | dict.fromkeys(("map_blocks", "map_overlap"), "_blocks") | {"vectorize": "_vectorize"} | _NUMPY | _tensor.FUNCTIONS
for _name in (*_NUMPY, *_tensor.FUNCTIONS):  # ops of the table with other arguments, or that return a new array
    globals().pop(_name, None)


def __getattr__(name):
    if name in _LATER:
        from importlib import import_module
        place = _LATER[name] or name
        value = import_module(f"ingot.{place}")
        value = value if place == name or place.endswith("." + name) else getattr(value, name)
    elif name == "fast":
        value = _names._Module("fast.")
    else:
        value = _names.find(name)
    globals()[name] = value
    return value


def __dir__():
    return list(dict.fromkeys((*globals(), *_LATER, *_names.known())))  # sorted and others may be names of this module
