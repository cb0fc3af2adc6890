"""Functions with the names of JAX that are not ops."""
from . import _ingot
from ._names import device_name
from .transform import custom_grad, jit, vjp, wraps
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
