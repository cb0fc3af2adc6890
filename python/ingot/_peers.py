"""Libraries that ask for a registration, or that test for NumPy's own types: einops, xarray, pandas and datasets. Each is adapted when it is
imported, or now if it has been."""
import sys

from . import _ingot

_ops = _ingot._ops


def _einops(module):
    """einops finds backends among the subclasses of its base class."""

    class Backend(module.AbstractBackend):
        framework_name = "ingot"

        def is_appropriate_type(self, tensor):
            return isinstance(tensor, _ingot.Array)

        def from_numpy(self, x):
            return _ingot.asarray(x)

        def to_numpy(self, x):
            return x.numpy()

        def arange(self, start, stop):
            return _ops["arange"](start, stop)

        def stack_on_zeroth_dimension(self, tensors):
            return _ops["stack"](tensors)

        def add_axis(self, x, new_position):
            return _ops["expand_dims"](x, new_position)

        def transpose(self, x, axes):
            return _ops["permute_dims"](x, axes)

        def reduce(self, x, operation, axes):
            return _ops[operation](x, axis=tuple(axes))

        def tile(self, x, repeats):
            return _ops["tile"](x, repeats)

        def concat(self, tensors, axis):
            return _ops["concat"](tensors, axis=axis)

        def is_float_type(self, x):
            return x.dtype.kind in "fc"

        def einsum(self, pattern, *x):
            return _ops["einsum"](pattern, *x)

    _kept.append(Backend)  # subclasses are known only as long as they live


def _xarray(module):
    """xarray takes only NumPy's dtypes when it looks for a dtype with missing values."""
    promote = module.maybe_promote

    def maybe_promote(dtype):
        if type(dtype) is not _ingot.dtype:
            return promote(dtype)
        wide, missing = promote(dtype.__numpy_dtype__)
        if wide.kind not in "biufc":
            raise TypeError(f"missing values of {dtype} need objects, which Ingot does not have; use astype(float) first")
        return _ingot.dtype(wide.name), missing

    module.maybe_promote = maybe_promote
    for name in ("get_fill_value", "get_pos_infinity", "get_neg_infinity"):
        setattr(module, name, _with_numpy_dtype(getattr(module, name)))


def _with_numpy_dtype(function):
    def wrapped(dtype, *args, **kwargs):
        return function(dtype.__numpy_dtype__ if type(dtype) is _ingot.dtype else dtype, *args, **kwargs)

    return wrapped


def _pandas(module):
    """pandas tests for NumPy's arrays where a data frame is indexed by a mask, combined with a matrix, or grouped."""

    def plain(x):
        return x.numpy() if type(x) is _ingot.Array else tuple(map(plain, x)) if type(x) is tuple else x

    def taking_ours(function):
        def wrapped(*args, **kwargs):
            return function(*map(plain, args), **{name: plain(x) for name, x in kwargs.items()})

        wrapped.__name__, wrapped.__doc__, wrapped.__wrapped__ = function.__name__, function.__doc__, function
        return wrapped

    from pandas.core.indexing import _LocationIndexer
    for kind, names in ((module.DataFrame, ("__getitem__", "__setitem__", "_align_for_op", "groupby")), (module.Series, ("groupby",)),
                        (_LocationIndexer, ("__getitem__", "__setitem__"))):
        for name in names:
            if hasattr(kind, name):
                setattr(kind, name, taking_ours(getattr(kind, name)))
    from pandas.core import algorithms
    for name in ("factorize", "unique"):
        taking = taking_ours(getattr(algorithms, name))
        for place in map(sys.modules.get, ("pandas.core.algorithms", "pandas.core.api", "pandas")):
            if hasattr(place, name):
                setattr(place, name, taking)
    from pandas.core.arrays import Categorical
    Categorical.__init__ = taking_ours(Categorical.__init__)
    algorithms.isin = taking_ours(algorithms.isin)  # of a list of the elements it would compare identities


def _datasets(module):
    """dataset.with_format("ingot") gives arrays of Ingot where with_format("numpy") gives arrays and numbers of NumPy."""
    def ours(x):
        if isinstance(x, dict):
            return {name: ours(value) for name, value in x.items()}
        if isinstance(x, (list, tuple)):
            return [ours(value) for value in x]
        kind = getattr(getattr(x, "dtype", None), "kind", "")
        return _ingot.asarray(x) if kind and kind in "biufc" else [ours(value) for value in x] if kind == "O" else x

    class Formatter(module.NumpyFormatter):
        def format_row(self, table):
            return ours(super().format_row(table))

        def format_column(self, table):
            return ours(super().format_column(table))

        def format_batch(self, table):
            return ours(super().format_batch(table))

    module._register_formatter(Formatter, "ingot", aliases=["ig"])


def _numba(module):
    """numba's compiled functions take our arrays as NumPy's arrays over the same memory."""
    made = []

    def make():
        from numba import types, typeof
        from numba.extending import NativeValue, models, register_model, unbox

        class Elements(types.Array):
            def __init__(self, like):
                super().__init__(like.dtype, like.ndim, like.layout, readonly=not like.mutable, name=f"ingot.Array({like})")
                self.like = like

        def take(kind, value, context):
            array = context.pyapi.call_method(value, "numpy")
            native = context.unbox(kind.like, array)
            context.pyapi.decref(array)
            return NativeValue(native.value, is_error=native.is_error)

        register_model(Elements)(models.ArrayModel)
        unbox(Elements)(take)
        made.append(lambda x: Elements(typeof(x.numpy())))

    def typeof(value, context):
        if not made:  # numba is still being imported when this is registered
            make()
        return made[0](value)

    module.typeof_impl.register(_ingot.Array)(typeof)


_ADAPT = {"numba.core.typing.typeof": _numba, "einops._backends": _einops, "xarray.core.dtypes": _xarray, "datasets.formatting": _datasets, "pandas.core.frame": _pandas}
_kept = []


def _try(adapt, module):
    try:
        adapt(module)
    except (AttributeError, ImportError):
        pass  # its internals have changed: it works as without Ingot


class _Finder:
    """Stands in front of Python's importers until all of these libraries are imported."""

    def find_spec(self, name, path=None, target=None):
        if name not in _ADAPT:
            return None
        adapt = _ADAPT.pop(name)
        if not _ADAPT:
            sys.meta_path.remove(self)
        from importlib.util import find_spec
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def execute(module):
                run(module)
                _try(adapt, module)

            spec.loader.exec_module = execute
        return spec


def watch():
    """Adapts the libraries that are imported, and the others when they are."""
    for name in list(_ADAPT):
        if name in sys.modules:
            _try(_ADAPT.pop(name), sys.modules[name])
    if _ADAPT:
        sys.meta_path.insert(0, _Finder())
