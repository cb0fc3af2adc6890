"""Transforms of functions of arrays: gradients, vmap, jit. Arguments and results may be nested lists, tuples, dicts and
dataclasses of arrays; other values in them are constants."""
import functools

from . import _ingot
from ._ingot import Array


# ---- containers ----

def flatten(tree):
    """The arrays of a container in order, and its structure, which unflatten takes. Structures can be compared."""
    leaves = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves):
    kind = type(tree)
    if kind is Array:
        leaves.append(tree)
        return "*"
    if kind in (list, tuple):
        return (kind, tuple([_flatten(item, leaves) for item in tree]))
    if isinstance(tree, dict):  # also nn.Parameters, whose iteration gives arrays
        return (dict, tuple((key, _flatten(item, leaves)) for key, item in tree.items()))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return (kind, tuple(_flatten(item, leaves) for item in tree))
    if hasattr(kind, "__dataclass_fields__"):
        return (kind, tuple((name, _flatten(getattr(tree, name), leaves)) for name in kind.__dataclass_fields__))
    if kind.__module__ == "numpy" and hasattr(tree, "__array__"):
        leaves.append(_ingot.asarray(tree))
        return "*"
    return ("=", _Constant(tree))


class _Constant:
    """A value that is not an array. Equal to others of the same type and value."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Constant) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self):
        try:
            return hash(self.value)
        except TypeError:
            return id(self.value)


def unflatten(structure, leaves):
    """The container of a structure with these arrays, an iterator."""
    if structure == "*":
        return next(leaves)
    kind, items = structure
    if kind == "=":
        return items.value
    if kind is dict:
        return {key: unflatten(item, leaves) for key, item in items}
    if kind in (list, tuple):
        return kind([unflatten(item, leaves) for item in items])
    if issubclass(kind, tuple):
        return kind(*(unflatten(item, leaves) for item in items))
    return kind(**{name: unflatten(item, leaves) for name, item in items})


def tree_map(function, tree, *rest):
    """The container with function applied to its arrays, and to the arrays of other containers with the same structure."""
    leaves, structure = flatten(tree)
    others = [flatten(other)[0] for other in rest]
    return unflatten(structure, iter([function(*row) for row in zip(leaves, *others)]))


class _Tracing:
    """Arrays that a traced function evaluates keep their history, so gradients pass through them."""

    def __enter__(self):
        self.before = _ingot._keep_history(True)

    def __exit__(self, *_):
        _ingot._keep_history(self.before)


def _is_float(x):
    return x.dtype.kind in "fc"


# ---- gradients ----

def _pick(args, argnums):
    return tuple(args[i] for i in argnums)


def _numbers_to_arrays(tree):
    """Floats as arrays, so that they can be differentiated."""
    return _ingot.asarray(tree) if type(tree) in (float, complex) else tree


def value_and_grad(function, argnums=0, has_aux=False):
    """A function that returns (value, gradients) of a function with a scalar result. argnums: the arguments to
    differentiate, a number or a tuple. With has_aux the function returns (value, other), and so does this one:
    ((value, other), gradients)."""
    single = isinstance(argnums, int)
    numbers = (argnums,) if single else tuple(argnums)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        args = list(args)
        at = [i + len(args) if i < 0 else i for i in numbers]
        for i in at:
            args[i] = _numbers_to_arrays(args[i])
        leaves, structure = flatten(_pick(args, at))
        fresh = [_ingot._handle(x) for x in leaves]
        for i, value in zip(at, unflatten(structure, iter(fresh))):
            args[i] = value
        with _Tracing():
            result = function(*args, **kwargs)
            value = result[0] if has_aux else result
            if not isinstance(value, Array) or value.shape != ():
                what = f"an array of shape {value.shape}" if isinstance(value, Array) else repr(type(value))
                raise TypeError(f"grad needs a function with a scalar result, not {what}; see vjp and jacobian")
            if value.dtype.kind != "f":
                raise TypeError(f"grad needs a real floating-point result, not {value.dtype}")
            floats = [x for x in fresh if _is_float(x)]
            made = iter(_ingot._vjp([value], [_ingot._ops["ones_like"](value)], floats))
        grads = unflatten(structure, iter([next(made) if _is_float(x) else _ingot._ops["zeros_like"](x) for x in fresh]))
        return result, grads[0] if single else grads

    return wrapped


def grad(function, argnums=0, has_aux=False):
    """A function that returns the gradients of a function with a scalar result; see value_and_grad."""
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        result, grads = both(*args, **kwargs)
        return (grads, result[1]) if has_aux else grads

    return wrapped


def vjp(function, *primals):
    """(result, pull), where pull(cotangents) returns a tuple of gradients, one for each of primals."""
    leaves, structure = flatten(tuple(_numbers_to_arrays(p) for p in primals))
    fresh = [_ingot._handle(x) for x in leaves]
    with _Tracing():
        result = function(*unflatten(structure, iter(fresh)))
    outputs, _ = flatten(result)

    def pull(cotangents):
        given, _ = flatten(cotangents)
        cots = [c.astype(o.dtype) for c, o in zip(given, outputs)]
        if len(given) != len(outputs):
            raise ValueError(f"{len(outputs)} outputs need as many cotangents, not {len(given)}")
        return unflatten(structure, iter(_ingot._vjp(outputs, cots, fresh)))

    return result, pull


def jvp(function, primals, tangents):
    """(result, its derivative in the direction of tangents), by two vector-Jacobian products."""
    result, pull = vjp(function, *primals)
    outputs, structure = flatten(result)
    along, _ = flatten(tuple(tangents))
    dummies = [_ingot._handle(_ingot._ops["zeros_like"](o)) for o in outputs]
    with _Tracing():
        rows, _ = flatten(pull(unflatten(structure, iter(dummies))))
        made = _ingot._vjp(rows, [t.astype(r.dtype) for t, r in zip(along, rows)], dummies)
    return result, unflatten(structure, iter(made))


def jacobian(function, argnums=0):
    """A function that returns the Jacobian: the shape of the result, then the shape of the argument."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        def of(x):
            changed = list(args)
            changed[argnums] = x
            return function(*changed, **kwargs)

        result, pull = vjp(of, args[argnums])
        n = result.size
        basis = _ingot._ops["eye"](n, dtype=result.dtype).reshape((n,) + result.shape)
        rows = vmap(lambda c: pull(c)[0])(basis)
        x = _ingot.asarray(args[argnums])
        return rows.reshape(result.shape + x.shape)

    return wrapped


def hessian(function, argnums=0):
    """A function that returns the matrix of second derivatives of a function with a scalar result."""
    return jacobian(grad(function, argnums), argnums)


def checkpoint(function):
    """The function, whose gradient computes the intermediate results again instead of keeping them."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        inputs, structure = flatten((args, kwargs))
        fresh = [_ingot._handle(x) for x in inputs]
        args, kwargs = unflatten(structure, iter(fresh))
        outputs, out_structure = flatten(function(*args, **kwargs))
        return unflatten(out_structure, iter([_ingot._checkpoint(o, fresh) for o in outputs]))

    return wrapped


def custom_grad(function, rule):
    """The function with another gradient: rule(inputs, out, g) returns the gradients of the arrays in the arguments,
    None for zero. The function has one array as its result."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        inputs, structure = flatten((args, kwargs))
        fresh = [_ingot._handle(x) for x in inputs]
        args, kwargs = unflatten(structure, iter(fresh))
        return _ingot._custom_grad(function(*args, **kwargs), fresh, rule)

    return wrapped


# ---- vmap ----

def _axes(in_axes, args):
    """The axis of each array of the arguments; -1: not mapped."""
    axes = []
    for i, arg in enumerate(args):
        leaves, _ = flatten(arg)
        axis = in_axes[i] if isinstance(in_axes, (tuple, list)) else in_axes
        axes += [-1 if axis is None else axis + x.ndim if axis < 0 else axis for x in leaves]
    return axes


def vmap(function, in_axes=0, out_axes=0):
    """A function that maps a function over an axis of its arguments. in_axes: the axis, or one for each argument; None: the
    argument is the same for all. Results are stacked along out_axes. The function is called once, with arrays that stand
    for all slices: reading their elements (if, float, numpy.asarray, a mask as an index, nonzero, unique) is an error."""

    @functools.wraps(function)
    def wrapped(*args):
        leaves, structure = flatten(tuple(args))
        axes = _axes(in_axes, args)
        if all(axis < 0 for axis in axes):
            raise ValueError("vmap: no argument has an axis to map over")
        examples = [_ingot._handle(x) if axis < 0 else _ingot._placeholder(x, axis) for x, axis in zip(leaves, axes)]
        outputs, out_structure = flatten(function(*unflatten(structure, iter(examples))))
        made = _ingot._vmap(outputs, examples, leaves, axes)
        if out_axes:
            made = [_ingot._ops["moveaxis"](x, 0, out_axes) for x in made]
        return unflatten(out_structure, iter(made))

    return wrapped


# ---- jit ----

def jit(function):
    """The function, compiled. It is traced once for each structure, shape and dtype of its arguments; later calls run the
    plan without Python. Values that are not arrays are constants of the plan."""
    plans, plain = {}, []

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        for plan in plain:  # the last one that was used is the first
            result = plan.call(args, kwargs)
            if result is not NotImplemented:
                if plan is not plain[0]:
                    plain.remove(plan)
                    plain.insert(0, plan)
                return result
        leaves, structure = flatten((args, kwargs))
        key = (structure, *[(x.shape, x.dtype, x.device) for x in leaves])
        if key not in plans:
            plans[key] = _trace(function, leaves, structure)
            if plans[key][0].plain:
                plain.insert(0, plans[key][0])
        compiled, out_structure = plans[key]
        return unflatten(out_structure, iter(compiled.run(leaves)))

    wrapped.plans = plans
    return wrapped


def _trace(function, leaves, structure):
    for x in leaves:
        if x.dtype.kind == "c":
            raise TypeError("jit: arguments cannot be complex; pass real(x) and imag(x)")
    inputs = [_ingot._placeholder(x) for x in leaves]
    args, kwargs = unflatten(structure, iter(inputs))
    outputs, out_structure = flatten(function(*args, **kwargs))
    return _ingot._compile(inputs, outputs, structure, out_structure), out_structure


def explain(function):
    """A function that returns a description of the programs that a function's results would run."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        outputs, _ = flatten(function(*args, **kwargs))
        return _ingot._explain(*outputs)

    return wrapped
