"""Methods of Array with PyTorch's arguments: shapes as several numbers, dim= before an index, and in-place methods such as
add_, which assign to the items of the array. A method that NumPy has too, with another meaning, keeps NumPy's, unless its
keyword dim= shows that PyTorch's is meant: x.max(dim=1) gives values and indices, x.std(dim=1) divides by n - 1."""

from sys import _getframe

from . import _ingot, _names
from ._ingot import Array

_ops = _ingot._ops
_PAIRS = {}


def _sizes(sizes):
    return tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes


# ---- results along dim= ----

def _pair(name, values, indices):
    """The named tuple of PyTorch's functions along an axis."""
    if name not in _PAIRS:
        from collections import namedtuple
        _PAIRS[name] = namedtuple(name, "values indices", module="ingot._tensor")
    return _PAIRS[name](values, indices)


def _largest(name, x, dim, keepdim=False):
    return _pair(name, _ops[name](x, dim, keepdim), _ops["arg" + name](x, dim, keepdim))


def _sort(name, x, dim=-1, descending=False, stable=False):
    order = _ops["argsort"](x, dim, descending)
    return _pair(name, _ops["take_along_axis"](x, order, dim), order)


def _kth(name, x, k, dim=-1, keepdim=False):
    at = _ops["take"](_ops["argsort"](x, dim), [k - 1], dim)
    values = _ops["take_along_axis"](x, at, dim)
    return _pair(name, *(y if keepdim else _ops["squeeze"](y, dim) for y in (values, at)))


def _median(name, x, dim, keepdim=False):
    """The lower of the two elements in the middle; NaN where there is one."""
    found = _kth(name, x, (x.shape[dim] + 1) // 2, dim, True)
    if x.dtype.kind == "f":  # NaN is last in the order
        last = _kth(name, x, x.shape[dim], dim, True)
        found = [_ops["where"](_ops["isnan"](last.values), b, a) for a, b in zip(found, last)]
    return _pair(name, *(y if keepdim else _ops["squeeze"](y, dim) for y in found))


def _mode(name, x, dim=-1, keepdim=False):
    values = _ops["mode"](x, dim, True)[0]
    at = x.shape[dim] - 1 - _ops["argmax"](_ops["flip"](x == values, dim), dim, True)
    return _pair(name, *(y if keepdim else _ops["squeeze"](y, dim) for y in (values, at)))


def _running(name, x, dim):
    """The running maximum or minimum, and the last index of each."""
    values = _ops[name](x, dim)
    shape = [1] * x.ndim
    shape[dim] = x.shape[dim]
    at = _ops["where"](x == values, _ops["arange"](x.shape[dim]).reshape(shape), 0)
    return _pair(name, values, _ops["cumulative_max"](at, dim))


def _spread(name, x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return _ops[name](x, dim, int(unbiased) if correction is None else correction, keepdim)


def _split(name, x, split_size_or_sections, dim=0):
    """Parts of a size, of which the last may be smaller, or of several sizes."""
    n, sizes = x.shape[dim], split_size_or_sections
    if isinstance(sizes, int):
        if sizes < 1:
            raise ValueError(f"split: the size {sizes} must be at least 1")
        sizes = [min(sizes, n - at) for at in range(0, n, sizes)] or [0]
    if sum(sizes) != n:
        raise _ingot.ShapeError(f"split: the sizes {list(sizes)} have the sum {sum(sizes)}, but the axis has {n} elements")
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return tuple(_Methods.narrow(x, dim, at, size) for at, size in zip(ends, sizes))


def _topk(name, x, k, dim=-1, largest=True, sorted=True):
    return _ops["topk"](x, k, dim) if largest else _lowest(x, k, dim)


def _lowest(x, k, dim):
    order = _ops["take"](_ops["argsort"](x, dim), _ops["arange"](k), dim)
    return _pair("topk", _ops["take_along_axis"](x, order, dim), order)


# Functions that PyTorch's keywords of an op's call select; the op itself does not take them.
ALONG = {"max": _largest, "min": _largest, "sort": _sort, "median": _median, "mode": _mode,
         "cumulative_max": _running, "cumulative_min": _running, "std": _spread, "var": _spread, "split": _split, "topk": _topk}


def _sized(name, *sizes, **kwargs):
    """zeros(2, 3)"""
    return _ops[name](sizes, **kwargs)


def _randint(name, low, high=None, size=None, dtype=None, device=None):
    """randint(0, 10, (2, 3)), with the key of random.seed."""
    if size is None:
        low, high, size = 0, low, high
    return _ops["randint"](_names.next_key(), size, low, high, dtype=dtype or _ingot.int64, device=device)


def extended(name, args, kwargs):
    """The function of PyTorch for a call whose arguments do not fit an op; NotImplemented if there is none."""
    if name in ("zeros", "ones", "empty") and len(args) > 1 and all(isinstance(n, int) for n in args):
        return _sized(name, *args, **kwargs)
    if name in ("max", "min") and len(args) == 2 and not kwargs and hasattr(args[1], "dtype"):
        return _ops[name + "imum"](*args)
    if name == "permute_dims" and (len(args) == 3 or kwargs.keys() & {"dim0", "dim1"}):  # transpose
        return (lambda input, dim0, dim1: _ops["swapaxes"](input, dim0, dim1))(*args, **kwargs)
    if name == "diagonal" and kwargs.keys() & {"dim1", "dim2"}:
        return (lambda input, offset=0, dim1=0, dim2=1: _ops["diagonal"](
            _ops["moveaxis"](input, (dim1, dim2), (-2, -1)), offset))(*args, **kwargs)
    if name == "gelu" and isinstance(kwargs.get("approximate"), bool):
        return _ops["gelu"](*args, approximate="tanh" if kwargs["approximate"] else "none")
    if name == "randint" and len(args) > 1 and isinstance(args[0], int):
        return _randint(name, *args, **kwargs)
    if kwargs.get("size") is not None:
        from ._places import PADDED
        if name in PADDED:
            return PADDED[name](*args, **kwargs)
    if name == "topk" and len(args) > 3:  # also largest and sorted
        return _topk(name, *args, **kwargs)
    return along(name, args, kwargs)


_OWN = {"dim", "unbiased", "largest", "keepdim"}  # keywords that only PyTorch has


def along(name, args, kwargs):
    """The function of PyTorch for a call of an op with one of its keywords; NotImplemented if there is none."""
    function = ALONG.get(name)
    if function is None or not kwargs.keys() & _OWN:
        return NotImplemented
    if "axis" in kwargs:
        raise TypeError(f"{name}: give axis or dim, not both")
    if "keepdims" in kwargs:
        kwargs["keepdim"] = kwargs.pop("keepdims")
    if "input" in kwargs:
        args = (kwargs.pop("input"), *args)
    return function(name, *args, **kwargs)


# ---- methods ----

class Size(int):
    """The number of elements. Called as PyTorch's x.size() and x.size(0), it gives the shape, or a length."""

    def __call__(self, dim=None):
        return self.shape if dim is None else self.shape[dim]


_count = Array.size.__get__


def _size(self):
    size = Size(_count(self))
    size.shape = self.shape
    return size


class _Methods:
    """The methods that are added to Array."""

    def view(self, *shape, dtype=None):
        """The same elements, in another shape if one is given, or their bytes as another dtype, which cannot be written to."""
        shape = shape if dtype is None else (*shape, dtype)
        if not shape:
            return self[...]
        if len(shape) > 1 or isinstance(shape[0], (int, tuple, list)):
            return _ops["reshape"](self, _sizes(shape))
        made = _ops["view"](self, shape[0])
        _ingot._set_writeable(made, False)  # NumPy's shares its memory, which an array of another dtype cannot
        return made

    def permute(self, *dims):
        return _ops["permute_dims"](self, _sizes(dims))

    def reshape_as(self, other):
        return _ops["reshape"](self, other.shape)

    def expand(self, *sizes):
        """Broadcast to a shape; -1 keeps the length of an axis."""
        sizes = _sizes(sizes)
        new = len(sizes) - self.ndim
        return _ops["broadcast_to"](self, [self.shape[i - new] if n == -1 and i >= new else n for i, n in enumerate(sizes)])

    def unflatten(self, dim, sizes):
        dim %= self.ndim
        return _ops["reshape"](self, (*self.shape[:dim], *sizes, *self.shape[dim + 1:]))

    def chunk(self, chunks, dim=0):
        """At most `chunks` parts of equal size; the last may be smaller."""
        return _split("chunk", self, max(-(-self.shape[dim] // chunks), 1), dim)

    def unbind(self, dim=0):
        return _ops["unstack"](self, dim)

    def narrow(self, dim, start, length):
        return self[(slice(None),) * (dim % self.ndim) + (slice(start, start + length),)]

    def flip(self, *sizes, dims=None, axis=None):
        return _ops["flip"](self, _sizes(sizes) if sizes else dims if axis is None else axis)

    def tile(self, *dims, **options):
        return _ops["tile"](self, *((_sizes(dims),) if dims else ()), **options)

    def diff(self, n=1, dim=-1, prepend=None, append=None, *, axis=None):
        return _ops["diff"](self, dim if axis is None else axis, n, prepend, append)

    def norm(self, p="fro", dim=None, keepdim=False, dtype=None, *, axis=None, keepdims=False):
        """The norm of all elements, or of those along axis: of order p, a number."""
        x, axis, keepdims = self if dtype is None else self.astype(dtype), dim if axis is None else axis, keepdim or keepdims
        if p == "nuc":
            return _ops["matrix_norm"](x, ord=p, keepdims=keepdims)
        return _ops["vector_norm"](x, axis, keepdims, 2 if p in ("fro", None) else p)

    def stride(self, dim=None):
        """The distance of neighbours along each axis, or one, in elements."""
        strides = tuple([n // self.itemsize for n in self.strides])
        return strides if dim is None else strides[dim]

    def nonzero(self, *, as_tuple=True, **padding):
        """The places of the elements that are not 0: an array for each axis."""
        from ._places import nonzero
        return nonzero(self, as_tuple=as_tuple, **padding)

    def select(self, dim, index):
        return self[(slice(None),) * (dim % self.ndim) + (index,)]

    def bernoulli(self, p=None):
        """Draws of 0 and 1 with these probabilities, or all with p."""
        draws = _ops["bernoulli"](_names.next_key(), self if p is None else p, self.shape)
        return draws.astype(self.dtype)

    def index_select(self, dim, index):
        return _ops["take"](self, index, dim)

    def kthvalue(self, k, dim=-1, keepdim=False):
        return _kth("kthvalue", self, k, dim, keepdim)

    def split(self, split_size_or_sections=None, dim=0, *, axis=None, **options):
        """Parts of a length, of which the last may be shorter, or of several lengths, as in PyTorch. With axis=, as ig.split."""
        if axis is not None or options:
            return _ops["split"](self, *(() if split_size_or_sections is None else (split_size_or_sections,)), axis=axis or 0, **options)
        return _split("split", self, split_size_or_sections, dim)

    def aminmax(self, *, dim=None, keepdim=False):
        return _ops["min"](self, dim, keepdim), _ops["max"](self, dim, keepdim)

    def masked_fill(self, mask, value):
        return _ops["where"](mask, _ingot.asarray(value, dtype=self.dtype), self)

    def where(self, condition, other):
        """The elements where the condition holds, and those of other elsewhere."""
        if self.dtype == _ingot.bool and _ingot.asarray(condition).dtype != _ingot.bool:
            return _ops["where"](self, condition, other)  # condition.where(x1, x2)
        return _ops["where"](condition, self, other)

    def compress(self, condition, axis=None):
        """The rows along an axis, or the elements, for which the condition holds."""
        return _ops["compress"](condition, self, axis=axis)

    def polygamma(self, n):
        return _ops["polygamma"](n, self)

    def resize(self, *shape, refcheck=True):
        """Sets the shape, in place as in NumPy."""
        shape = _sizes(shape)
        shape = (shape,) if isinstance(shape, int) else shape
        n = 1
        for length in shape:
            n *= length
        if n != self.size:
            raise ValueError(f"resize: an array of {self.size} elements cannot have the shape {shape} in place; use x = ig.resize(x, {shape})")
        self.shape = shape

    def _at(self, dim, index):
        return self.at[(slice(None),) * (dim % self.ndim) + (index,)]

    def index_add(self, dim, index, source, *, alpha=1):
        return _Methods._at(self, dim, index).add(source if alpha == 1 else alpha * source)

    def index_copy(self, dim, index, source):
        return _Methods._at(self, dim, index).set(source)

    def index_fill(self, dim, index, value):
        return _Methods._at(self, dim, index).set(value)

    def index_put(self, indices, values, accumulate=False):
        place = self.at[tuple(indices)]
        return place.add(values) if accumulate else place.set(values)

    def scatter_reduce(self, dim, index, src, reduce, *, include_self=True):
        ops = {"sum": "scatter_add", "prod": "scatter_mul", "amax": "scatter_max", "amin": "scatter_min"}
        if reduce not in ops or not include_self:
            raise ValueError(f"scatter_reduce: reduce is one of {', '.join(ops)}, with include_self=True, not '{reduce}'")
        return _ops[ops[reduce]](self, index, src, dim)

    def to(self, *args, device=None, dtype=None, non_blocking=False, copy=False):
        """In another dtype, on another device, or both."""
        for arg in args:
            if isinstance(arg, Array):
                device, dtype = arg.device, arg.dtype
            elif isinstance(arg, _ingot.dtype) or isinstance(arg, type) or type(arg).__name__ == "dtype":
                dtype = arg
            elif isinstance(arg, str) and arg.split(":")[0] not in ("cpu", "cuda", "mps", "metal", "opencl", "gang", "gpu"):
                dtype = arg
            elif arg is not None and not isinstance(arg, bool):
                device = arg
        x = self if dtype is None else self.astype(dtype, copy=copy)
        device = None if device is None else _names.device_name(device)
        return x if device in (None, x.device) and not (copy and x is self) else x.to_device(device or x.device)

    def get(self, stream=None, order="C", out=None, *, blocking=True):
        """The elements as a new array of NumPy, as in CuPy."""
        from ._kernel import asnumpy
        return asnumpy(self, stream, order, out)

    def cpu(self):
        return self.to("cpu")

    def devices(self):
        """A set of its device, as in JAX."""
        return {self.device}

    def cuda(self, device=0, non_blocking=False):
        return self.to_device(f"cuda:{device}" if isinstance(device, int) else _names.device_name(device))

    def type(self, dtype=None):
        if isinstance(dtype, str) and dtype.startswith("torch.") and dtype.endswith("Tensor"):
            dtype = globals()[dtype.rpartition(".")[2]]
        return str(self.dtype) if dtype is None else self.astype(getattr(dtype, "elements", dtype))

    def type_as(self, other):
        return self.astype(other.dtype)

    def short(self):
        return self.astype(_ingot.int16)

    def char(self):
        return self.astype(_ingot.int8)

    def element_size(self):
        return self.itemsize

    def ndimension(self):
        return self.ndim

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def is_complex(self):
        return self.dtype.kind == "c"

    def is_contiguous(self):
        return True

    def get_device(self):
        """The number of the GPU; -1 for the CPU."""
        kind, _, number = self.device.partition(":")
        return -1 if kind == "cpu" else int(number or 0)

    def new_zeros(self, *size, dtype=None, device=None):
        return _ops["zeros"](_sizes(size), dtype=dtype or self.dtype, device=device or self.device)

    def new_ones(self, *size, dtype=None, device=None):
        return _ops["ones"](_sizes(size), dtype=dtype or self.dtype, device=device or self.device)

    def new_empty(self, *size, dtype=None, device=None):
        return _ops["zeros"](_sizes(size), dtype=dtype or self.dtype, device=device or self.device)

    def new_full(self, size, fill_value, dtype=None, device=None):
        return _ops["full"](size, fill_value, dtype=dtype or self.dtype, device=device or self.device)

    def new_tensor(self, data, dtype=None, device=None):
        return _ingot.asarray(data, dtype=dtype or self.dtype, device=device or self.device)

    # ---- in place ----

    def add_(self, other, *, alpha=1):
        return _assign(self, self + (other if alpha == 1 else alpha * other))

    def sub_(self, other, *, alpha=1):
        return _assign(self, self - (other if alpha == 1 else alpha * other))

    def copy_(self, src, non_blocking=False):
        self[...] = src
        return self

    def fill_(self, value):
        self[...] = value
        return self

    def zero_(self):
        self[...] = 0
        return self

    def set_data(self, new_data):
        self[...] = new_data

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        return _draw(self, "normal", generator, loc=mean, scale=std)

    def uniform_(self, a=0.0, b=1.0, *, generator=None):
        return _draw(self, "uniform", generator, minval=a, maxval=b)

    def exponential_(self, lambd=1.0, *, generator=None):
        return _draw(self, "exponential", generator, scale=1 / lambd)

    def bernoulli_(self, p=0.5, *, generator=None):
        key = _names.next_key() if generator is None else generator
        self[...] = _ops["bernoulli"](key, p, self.shape)
        return self

    def random_(self, low=0, high=None, *, generator=None):
        """Integers from low to below high; with one number, from 0 to below it."""
        low, high = (0, low) if high is None and low else (low, 2 ** 31 - 1 if high is None else high)
        key = _names.next_key() if generator is None else generator
        self[...] = _ops["randint"](key, self.shape, low, high, dtype=_ingot.int64)
        return self


# Methods with a "_" at the end for each of these: the method's result is assigned to the items of the array.
_IN_PLACE = """abs mul multiply subtract div divide true_divide floor_divide remainder fmod pow clamp clip exp exp2 expm1 log
log2 log10 log1p sqrt rsqrt square reciprocal neg negative sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh arcsin
arccos arctan sigmoid relu floor ceil round trunc frac fix sign erf erfinv sinc lgamma digamma logit atan2 hypot logical_and
logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not eq ne lt le gt ge lerp addcmul addcdiv addmm
cumsum cumprod nan_to_num tril triu masked_fill index_add index_copy index_fill index_put scatter scatter_add scatter_reduce
deg2rad rad2deg nextafter copysign gcd lcm xlogy""".split()


def _assign(x, value):
    if value.dtype.kind in "fc" and x.dtype.kind != value.dtype.kind and (value.dtype.kind == "c" or x.dtype.kind in "biu"):
        raise TypeError(f"an in-place method cannot store {value.dtype} in an array of {x.dtype}; use the method without '_'")
    x[...] = value
    return x


def _draw(x, op, generator, **options):
    key = _names.next_key() if generator is None else generator
    x[...] = _ops[op](key, x.shape, **options)
    return x


def _in_place(name):
    def method(self, *args, **kwargs):
        return _assign(self, getattr(self, name)(*args, **kwargs))

    return method


class _Advised:
    """A known method that Array does not have: the error has advice."""
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, x, kind=None):
        raise AttributeError(f"'Array' object has no attribute '{self.name}': {_names.advice('method.' + self.name)}")

    def __set__(self, x, value):
        self.__get__(x)


def _device(self):
    from ._device import device
    return device(_place(self))


_place = Array.device.__get__


def _refuse(cls, *_, **__):
    raise TypeError("Array is not called; use ig.asarray(data), ig.tensor(data) or ig.empty(shape) to make an array")


def _dir(self):
    return [name for name in object.__dir__(self) if type(Array.__dict__.get(name)) is not _Advised]


def _open():
    """The open transforms of this thread."""
    from .transform import _active
    return _active.traces


def _data(self):
    if _open():
        raise AttributeError("x.data: a transform is open; use x.detach() for a constant")
    return self


def _set_data(self, value):
    _data(self)[...] = value


def _is_used(frame):
    """Whether the result of the call that a frame makes is used, and not only dropped or returned."""
    from opcode import opname
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while code[at:at + 1] == b"\0":  # the caches of the call
        at += 2
    return opname[code[at]] not in ("POP_TOP", "RETURN_VALUE", "PRINT_EXPR", "CALL_INTRINSIC_1")


def _with_dim(name, method):
    """A method in Python, or PyTorch's function where dim= is given."""
    def chosen(self, *args, **kwargs):
        own = kwargs.keys() & _OWN or (name == "sort" and kwargs.keys() & {"descending"})
        if name == "sort" and not own and _is_used(_getframe(1)):
            raise TypeError("x.sort() sorts in place and returns None, as in NumPy; use y = ig.sort(x), or values, indices = x.sort(dim=-1)")
        return ALONG[name](name, self, *args, **kwargs) if own and "axis" not in kwargs else method(self, *args, **kwargs)

    chosen.__name__, chosen.__qualname__, chosen.__doc__ = name, f"Array.{name}", method.__doc__
    return chosen


def _swapping(method):
    """x.transpose(1, 2): two axes are exchanged if x has more; NumPy's call needs all axes. Of a matrix, x.transpose(0, 1) means two
    things."""
    def transpose(self, *axes):
        if len(axes) == 2 and isinstance(axes[0], int) and isinstance(axes[1], int):
            if self.ndim > 2:
                return _ops["swapaxes"](self, *axes)
            if self.ndim == 2 and [axis % 2 for axis in axes] == [0, 1]:
                raise ValueError(f"x.transpose{axes} of a matrix exchanges the axes in PyTorch, and leaves them in NumPy; use x.T, "
                                 f"x.swapaxes{axes} or x.transpose(({axes[0]}, {axes[1]}))")
        return method(self, *axes)

    transpose.__qualname__, transpose.__doc__ = "Array.transpose", method.__doc__
    return transpose


def _repeating(method):
    """x.repeat(2, axis=0), or PyTorch's x.repeat(2, 1, 1) for what cannot be NumPy's. x.repeat(2, 1) may mean both."""
    def repeat(self, *args, **kwargs):
        if len(args) > 1 and all(isinstance(n, int) for n in args):
            if len(args) > 2 or args[1] >= self.ndim:
                return _ops["tile"](self, args)
            if args[1] > 0:
                raise ValueError(f"x.repeat{args} repeats along axis {args[1]} in NumPy, and the whole array in PyTorch; use x.repeat({args[0]}, "
                                 f"axis={args[1]}) or x.tile({args})")
        return method(self, *args, **kwargs)

    repeat.__qualname__, repeat.__doc__ = "Array.repeat", "Each element repeated along axis."
    return repeat


def install():
    Array.transpose, Array.repeat = _swapping(Array.transpose), _repeating(Array.repeat)
    for name in ALONG:
        if hasattr(Array.__dict__.get(name), "__code__"):
            setattr(Array, name, _with_dim(name, Array.__dict__[name]))
    methods = {name: f for name, f in vars(_Methods).items() if not name.startswith("_")}
    methods.update((name + "_", _in_place(name)) for name in _IN_PLACE)
    for name, f in methods.items():
        f.__name__, f.__qualname__ = name, f"Array.{name}"
        setattr(Array, name, f)
    Array.data = property(_data, _set_data, doc="The array itself, for changes in place of its elements.")
    Array.is_cuda = property(lambda self: self.device.startswith("cuda"), doc="Whether the array is on an NVIDIA GPU.")
    Array.device = property(_device, doc="The device of the array, by its name.")
    Array.__new__ = staticmethod(_refuse)
    Array.size = property(_size, doc="The number of elements; x.size(0) is x.shape[0].")
    Array.__dir__ = _dir
    for module, names, _ in _ingot._advice():
        for name in names.split() if module == "method" else ():
            if name not in Array.__dict__:
                setattr(Array, name, _Advised(name))


# ---- functions ----

def tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new array."""
    if requires_grad:
        raise TypeError("tensor: requires_grad is not here: ig.grad(f)(x) gives the gradients of a function's arguments")
    return _ingot.asarray(data, dtype=dtype, device=None if device is None else _names.device_name(device), copy=True)


def as_tensor(data, dtype=None, device=None):
    """An array, which is a copy only if it must be."""
    return _ingot.asarray(data, dtype=dtype, device=None if device is None else _names.device_name(device))


def is_tensor(obj):
    return isinstance(obj, Array)


def manual_seed(seed):
    """Sets the key of random functions that take none."""
    _names.seed(seed)


class no_grad:
    """A context, or a decorator, for code that needs no gradients. It has no effect, because nothing is recorded outside of ig.grad;
    inside of ig.grad it is an error."""

    def __init__(self, mode=True):
        self.function = None if isinstance(mode, bool) else mode  # @no_grad

    def __enter__(self):
        if any(trace.name == "grad" for trace in _open()):
            raise ValueError("no_grad: a gradient is being computed, which would pass this; use ig.stop_gradient(x)")
        return self

    def __exit__(self, *_):
        pass

    def __call__(self, *args, **kwargs):
        if self.function is None:
            return _decorated(self, args[0])
        with self:
            return self.function(*args, **kwargs)


def _decorated(context, function):
    from .transform import wraps

    @wraps(function)
    def inside(*args, **kwargs):
        with context:
            return function(*args, **kwargs)

    return inside


inference_mode = no_grad


class enable_grad:
    """A context, or a decorator, that has no effect: gradients are those that ig.grad asks for."""

    def __init__(self, mode=True):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __call__(self, function):
        return function


def set_grad_enabled(mode):
    """no_grad or enable_grad."""
    return enable_grad() if mode else no_grad()


def _typed(name, dtype):
    """PyTorch's constructor of arrays with a dtype: of data, or of a shape."""
    def function(*data):
        if all(isinstance(n, int) for n in data):
            return _ops["zeros"](data, dtype=dtype)
        return _ingot.asarray(data[0], dtype=dtype, copy=True)

    function.__name__ = function.__qualname__ = name
    function.elements = dtype
    function.__doc__ = f"A new array of {dtype}, of data or with a shape."
    return function


FloatTensor, DoubleTensor, HalfTensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor = (
    _typed(name + "Tensor", dtype) for name, dtype in (("Float", "float32"), ("Double", "float64"), ("Half", "float16"), ("Long", "int64"),
                                                       ("Int", "int32"), ("Short", "int16"), ("Char", "int8"), ("Byte", "uint8"), ("Bool", "bool")))


def is_floating_point(input):
    return input.dtype.kind == "f"


def is_complex(input):
    return input.dtype.kind == "c"


def numel(input):
    return input.size


def chunk(input, chunks, dim=0):
    return input.chunk(chunks, dim)


def kthvalue(input, k, dim=-1, keepdim=False):
    return input.kthvalue(k, dim, keepdim)


def aminmax(input, *, dim=None, keepdim=False):
    return input.aminmax(dim=dim, keepdim=keepdim)


def index_select(input, dim, index):
    return input.index_select(dim, index)


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The number of boundaries below each element, or with right=True at or below it."""
    found = _ops["searchsorted"](_ingot.asarray(boundaries), _ingot.asarray(input), side="right" if right else "left")
    return found.astype("int32" if out_int32 else "int64")


def combinations(input, r=2, with_replacement=False):
    """The combinations of r elements of a vector, as rows."""
    import itertools
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.size), r))
    return _ops["take"](input, _ingot.asarray(rows, dtype="int64").reshape(len(rows), r), 0)


def masked_fill(input, mask, value):
    return input.masked_fill(mask, value)


def _random(name, size, generator, dtype, device, requires_grad):
    if requires_grad:
        raise TypeError(f"{name}: requires_grad is not here: ig.grad(f)(x) gives the gradients of a function's arguments")
    key = _names.next_key() if generator is None else generator
    options = {} if device is None else {"device": _names.device_name(device)}
    return _ops["normal" if name == "randn" else "uniform"](key, _sizes(size) if size else (), **options,
                                                            **({} if dtype is None else {"dtype": dtype}))


def rand(*size, generator=None, dtype=None, device=None, requires_grad=False):
    """Random floats in [0, 1)."""
    return _random("rand", size, generator, dtype, device, requires_grad)


def randn(*size, generator=None, dtype=None, device=None, requires_grad=False):
    """Random numbers of the standard normal distribution."""
    return _random("randn", size, generator, dtype, device, requires_grad)


def rand_like(input, *, dtype=None, device=None, requires_grad=False):
    """Random floats in [0, 1) with the shape of input."""
    return rand(*input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)


def randn_like(input, *, dtype=None, device=None, requires_grad=False):
    """Random numbers of the standard normal distribution with the shape of input."""
    return randn(*input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)


def _keyed(name, other):
    """The op, which takes a key first, or PyTorch's function of the same name if the first argument is no key."""
    op = _ops[name]

    def function(*args, **kwargs):
        first = args[0] if args else None
        is_key = getattr(first, "dtype", None) == "uint32" and first.ndim and first.shape[-1] in (2, 4)
        return (op if is_key or "key" in kwargs else other)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__, function.__wrapped__ = "ingot", op.__doc__, op
    return function


def _bernoulli(input, p=None, *, generator=None):
    """0 or 1 with the probabilities of input."""
    return input.bernoulli() if p is None else input.bernoulli(p)


def _normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None):
    """Normal numbers with these means and standard deviations."""
    draws = _names.find("normal", "np.random.")(mean, std, None if size is None else tuple(size))
    return draws if dtype is None else draws.astype(dtype)


def _multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices that are drawn with the weights in the rows of input."""
    logits = _ops["log"](_ingot.asarray(input))
    shape = logits.shape[:-1]
    if replacement:
        draws = _ops["gumbel"](_names.next_key(), (*shape, num_samples, logits.shape[-1]))
        return _ops["argmax"](logits[..., None, :] + draws, -1)
    if num_samples > logits.shape[-1]:
        raise ValueError(f"multinomial: {num_samples} samples of {logits.shape[-1]} categories need replacement=True")
    return _ops["topk"](logits + _ops["gumbel"](_names.next_key(), logits.shape), num_samples)[1]


bernoulli, normal, multinomial = _keyed("bernoulli", _bernoulli), _keyed("normal", _normal), _keyed("multinomial", _multinomial)

FUNCTIONS = dict.fromkeys("""bernoulli normal multinomial rand randn rand_like randn_like no_grad inference_mode enable_grad set_grad_enabled
FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor tensor as_tensor is_tensor manual_seed is_floating_point is_complex numel chunk kthvalue aminmax
index_select masked_fill bucketize combinations""".split(), "_tensor") | dict.fromkeys(
    "sort nonzero tril_indices triu_indices".split(), "_places")
install()
