"""Functions with the names of JAX that are not ops."""
from . import _ingot
from ._names import device_name
from .transform import _active, custom_grad, jit, vjp, wraps
from .tree_util import flatten, tree_leaves, tree_map, unflatten


def block_until_ready(tree):
    """Computes all arrays of a container, and returns it."""
    _ingot.eval(tree)
    return tree


def device_put(tree, device=None):
    """The arrays and numbers of a container as arrays on a device."""
    name = None if device is None else device_name(device)
    return tree_map(lambda x: _ingot.asarray(x, device=name), tree)


def device_get(tree):
    """The arrays of a container as NumPy's."""
    import numpy
    return tree_map(numpy.asarray, tree)


class ShapeDtypeStruct:
    """A shape and a dtype."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), _ingot.dtype(dtype)

    ndim = property(lambda self: len(self.shape))

    def __eq__(self, other):
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, str(self.dtype)))

    def __repr__(self):
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


def eval_shape(fun, *args, **kwargs):
    """Shapes and dtypes of the results. The function is called, and what it builds is not computed."""
    def given(x):
        return _ingot._ops["zeros"](x.shape, dtype=x.dtype) if isinstance(x, ShapeDtypeStruct) else x

    args, kwargs = tree_map(given, (args, kwargs))
    return tree_map(lambda x: ShapeDtypeStruct(x.shape, x.dtype), tree_map(_ingot.asarray, fun(*args, **kwargs)))


class custom_vjp:
    """A function whose gradient is defined by defvjp(forward, backward), as in JAX: forward(*args) returns (result, kept), and
    backward(kept, g) a gradient for each argument. The result is one array."""

    def __init__(self, fun, nondiff_argnums=()):
        if nondiff_argnums:
            raise ValueError("custom_vjp: nondiff_argnums are not supported; give these values by a closure, or use ig.custom_grad")
        self.fun, self.forward, self.backward = fun, None, None
        wraps(fun)(self)

    def defvjp(self, fwd, bwd):
        self.forward, self.backward = fwd, bwd
        return fwd

    def __call__(self, *args):
        if self.forward is None:
            raise TypeError("custom_vjp: call defvjp(forward, backward) first")
        leaves, structure = flatten(args)

        def rule(inputs, out, g):
            made = self.backward(self.forward(*unflatten(structure, inputs))[1], g)
            if not isinstance(made, (tuple, list)) or len(made) != len(args):
                raise TypeError(f"custom_vjp: backward returns a tuple of {len(args)} gradients, one for each argument")
            found = []
            for one, arg in zip(made, args):
                found += [None] * len(flatten(arg)[0]) if one is None else tree_leaves(one)
            return found

        return custom_grad(self.fun, rule)(*args)


class custom_jvp:
    """A function whose derivative is defined by defjvp(rule), as in JAX: rule(primals, tangents) returns (result, tangent). The tangent
    is linear in tangents; gradients transpose it. The result is one array."""

    def __init__(self, fun, nondiff_argnums=()):
        if nondiff_argnums:
            raise ValueError("custom_jvp: nondiff_argnums are not supported; give these values by a closure")
        self.fun, self.rule = fun, None
        wraps(fun)(self)

    def defjvp(self, jvp, symbolic_zeros=False):
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps):
        """A rule for each argument: jvp(tangent, result, *args), or None for zero."""
        def rule(primals, tangents):
            result = self.fun(*primals)
            parts = [jvp(t, result, *primals) for jvp, t in zip(jvps, tangents) if jvp is not None]
            return result, sum(parts[1:], parts[0]) if parts else result * 0

        self.rule = rule

    def __call__(self, *args):
        if self.rule is None:
            raise TypeError("custom_jvp: call defjvp(rule) first")
        leaves, structure = flatten(args)

        def rule(inputs, out, g):
            primals = unflatten(structure, inputs)
            zeros = [_ingot._ops["zeros_like"](_ingot.asarray(x)) for x in inputs]
            return list(vjp(lambda *t: self.rule(primals, unflatten(structure, list(t)))[1], *zeros)[1](g))

        return custom_grad(self.fun, rule)(*args)


def compile(fun=None, **options):
    """jit, with the options of torch.compile and of mlx.core.compile, which have no effect."""
    unknown = options.keys() - {"fullgraph", "dynamic", "backend", "mode", "options", "disable", "inputs", "outputs", "shapeless"}
    if unknown:
        raise TypeError(f"compile has no argument '{min(unknown)}'; use ig.jit")
    if fun is None:
        return compile
    if hasattr(fun, "state_dict"):
        raise TypeError("compile takes a function: use ig.jit(lambda x: net(x))")
    return jit(fun)


def default_backend():
    """"cpu" or "gpu", the kind of the default device."""
    return "cpu" if _ingot.default_device() == "cpu" else "gpu"


def device_count(backend=None):
    """The number of devices of the default device's kind, or of one kind."""
    return len(local_devices(backend=backend))


def local_devices(process_index=None, backend=None, host_id=None):
    """The devices of the default device's kind, or of one kind."""
    from ._device import devices
    kind = {"gpu": ("cuda", "metal", "opencl")}.get(backend, (backend or str(_ingot.default_device()).split(":")[0],))
    return [device for device in devices() if str(device).split(":")[0] in kind]


local_device_count = device_count


class named_scope:
    """A context, or a decorator, that has no effect: programs have no names of the user."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __call__(self, function):
        return function


def pure_callback(callback, result_shape_dtypes, *args, sharding=None, vmap_method=None, **kwargs):
    """callback(*args) of arrays of NumPy, at once. Arrays have no elements in jit, vmap and loops, and no gradient passes."""
    trace = _ingot._pure_trace()
    if trace is not None or _active.traces:
        raise ValueError(f"pure_callback: {trace or 'grad'} cannot pass a function of NumPy; use ops, ig.custom_grad, or call it outside")
    found = callback(*tree_map(_numpy_array, args), **kwargs)
    return tree_map(lambda x, like: _ingot.asarray(x, dtype=_ingot.dtype(like.dtype)).reshape(like.shape), found, result_shape_dtypes)


def _numpy_array(x):
    import numpy
    return numpy.asarray(x)


class debug:
    """Prints of values."""

    @staticmethod
    def print(fmt, *args, ordered=False, **kwargs):
        """Prints a text with values. Arrays have no elements in jit, vmap and loops: that is an error with advice."""
        print(fmt.format(*args, **kwargs))

    @staticmethod
    def callback(callback, *args, ordered=False, **kwargs):
        """Calls a function with the values."""
        callback(*args, **kwargs)


class config:
    """Settings of JAX: jax_enable_x64 is set_default_dtype, and jax_platform_name the default device."""

    @classmethod
    def update(cls, name, value):
        if name == "jax_enable_x64":
            _ingot.set_default_dtype("float64" if value else "float32")
        elif name == "jax_platform_name" or name == "jax_platforms":
            _ingot.set_default_device(device_name(value.split(",")[0]))
        else:
            raise ValueError(f"config: there is no setting '{name}' here; jax_enable_x64 and jax_platform_name are known, docs/SETTINGS.md has others")
