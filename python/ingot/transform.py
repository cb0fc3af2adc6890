"""Transforms of functions of arrays: gradients, vmap, jit. Arguments and results may be containers of arrays, see tree_util.
A function gets arrays of its own: changes of them in place are part of the function, and do not change the caller's arrays.
While a transform calls a function, jit calls its function directly, so all transforms compose."""
from _thread import _local  # threading.local, without the module

from . import _ingot
from ._ingot import Array
from .tree_util import Flat, Given, count, flatten, leaves_like, register_pytree_node, tree_map, unflatten, wraps  # noqa: F401

_ops = _ingot._ops
_again = _ingot._again


class _Active(_local):
    """The open traces of a thread: the arrays that gradients are taken by or that stand for others, and the objects whose state may
    change."""

    def __init__(self):
        self.traces, self.objects = [], []
        self.axes = []  # of vmap


_active = _Active()


def follows_arguments(function):
    """The function, in which new arrays (counters, unit vectors, lists, zeros) are on the device of the first array argument."""
    @wraps(function)
    def call(*args, **kwargs):
        before = _ingot.default_device()
        for x in flatten((args, kwargs))[0]:
            if type(x) is Array:
                break
        else:
            return function(*args, **kwargs)
        if x.device == before:
            return function(*args, **kwargs)
        _ingot.set_device(x.device)
        try:
            return function(*args, **kwargs)
        finally:
            _ingot.set_device(before)

    return call


class Trace:
    """A call of a function by a transform. In gradients (not pure), arrays that the function evaluates keep their history.
    In a pure trace arrays have no elements, and only the state of the objects may change."""

    def __init__(self, name, pure=False, inputs=(), objects=()):
        self.name, self.pure, self.inputs, self.objects = name, pure, inputs, objects

    def __enter__(self):
        _ingot._trace_begin(self.name, self.pure)
        if not self.pure:
            self.before = _ingot._keep_history(True)
        _active.traces.append(self)
        if self.pure:
            _active.objects.append((self.name, self.objects))
        return self

    def __exit__(self, *_):
        _active.traces.pop()
        if self.pure:
            _active.objects.pop()
        else:
            _ingot._keep_history(self.before)
        _ingot._trace_end()


def check_change(tree, name):
    """Raises an error if the attribute of an object cannot change now, because a pure trace does not see the change."""
    who, objects = _active.objects[-1]
    if not any(x is tree for x in objects):
        raise ValueError(
            f"{who}: the function changes '{name}' of {type(tree).__name__}, " + (
                "which stands for all slices; call eval() of the module first, or pass the state as an argument and return it"
                if who == "vmap" else "which it cannot see; pass the module as an argument"))


def _is_float(x):
    return type(x) is Array and x.dtype.kind in "fc"


# ---- gradients ----

class _Inputs:
    """The arguments of a function in a gradient. Those that are chosen are differentiated: floats among them are arrays."""

    def __init__(self, chosen, others, kwargs):
        self.structure = None
        if not kwargs and _are_arrays(chosen) and _are_arrays(others):  # usually
            self.kept, self.rest = [_ingot._handle(x) for x in chosen], others
            self.floats = [x for x in self.kept if x.dtype.kind in "fc"]
            return
        self.flat = flat = Flat(chosen, numbers=True)
        n, flat.numbers = len(flat.leaves), False
        structure, rest = flat.structure, flat.parts((others, kwargs))
        self.structure, self.all = structure, (tuple, (structure, rest))
        self.kept = [_ingot._handle(x) if type(x) is Array else _ingot._number(x) if type(x) in (float, complex) else x
                     for x in flat.leaves[:n]]
        self.floats = [x for x in self.kept if _is_float(x)]
        self.rest = flat.leaves[n:]

    def call(self, function):
        """The result of function(chosen, others, kwargs)."""
        if self.structure is None:
            return function(tuple([_again(x) for x in self.kept]), tuple([_again(x) for x in self.rest]), {})
        leaves = [_again(x) if type(x) is Array else x for x in self.kept + self.rest]
        if not self.flat.objects:
            chosen, (others, kwargs) = unflatten(self.all, leaves)
            return function(chosen, others, kwargs)
        given = Given(self.all, leaves, self.flat.objects)
        try:
            chosen, (others, kwargs) = given.tree
            return function(chosen, others, kwargs)
        finally:
            given.close()

    def gradients(self, made):
        """The container of the chosen arguments with gradients of the floats; zeros for the others."""
        made, grads = iter(made), []
        for x in self.kept:
            if _is_float(x):
                g, dtype = next(made), _ingot._plain(x).dtype
                grads.append(g if g.dtype == dtype else g.astype(dtype))
            else:
                grads.append(_ops["zeros_like"](x) if type(x) is Array else 0)
        return tuple(grads) if self.structure is None else unflatten(self.structure, grads)

    def like(self, tangents):
        """The leaves of tangents of the chosen arguments."""
        structure = self.structure or (tuple, ("*",) * len(self.kept))
        return leaves_like(structure, tangents, "jvp: tangents")

    def tree(self, leaves):
        """The container of the chosen arguments with other leaves."""
        return tuple(leaves) if self.structure is None else unflatten(self.structure, leaves)


def _are_arrays(values):
    for x in values:
        if type(x) is not Array:
            return False
    return True


def _positions(argnums, args):
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    at = [i + len(args) if i < 0 else i for i in numbers]
    if any(i < 0 or i >= len(args) for i in at):
        raise ValueError(f"argnums {argnums} needs more positional arguments than {len(args)}; arguments to differentiate are "
                         "passed by position")
    return at


def _split(argnums, args):
    """The positions of the arguments to differentiate, these arguments, and the others."""
    if argnums == 0 and args:
        return (0,), args[:1], args[1:]
    at = _positions(argnums, args)
    return at, tuple(args[i] for i in at), tuple(x for i, x in enumerate(args) if i not in at)


def _join(at, chosen, others):
    if at == (0,):
        return chosen + others
    args = list(others)
    for i in sorted(range(len(at)), key=lambda k: at[k]):
        args.insert(at[i], chosen[i])
    return args


def _chosen(function, argnums, args, kwargs):
    """The inputs of a gradient, and function as a function of (chosen, others, kwargs)."""
    at, chosen, others = _split(argnums, args)
    inputs = _Inputs(chosen, others, kwargs)
    if not inputs.floats:
        raise TypeError(f"gradients are taken by floats, not by {', '.join(_kind(x) for x in chosen)}; convert integers with "
                        "float(x) or x.astype('float32')")
    return inputs, lambda chosen, others, kwargs: function(*_join(at, chosen, others), **kwargs)


def _kind(x):
    return f"an array of {x.dtype}" if type(x) is Array else type(x).__name__


def value_and_grad(fun, argnums=0, has_aux=False):
    """A function that returns (value, gradients) of a function with a scalar result. argnums: the arguments to
    differentiate, a number or a tuple. With has_aux the function returns (value, other), and so does this one:
    ((value, other), gradients). Floats in the arguments have gradients; gradients by integers are zero."""

    @wraps(fun)
    def wrapped(*args, **kwargs):
        inputs, function = _chosen(fun, argnums, args, kwargs)
        with Trace("grad", inputs=inputs.floats):
            result = inputs.call(function)
            value = result[0] if has_aux else result
            if not isinstance(value, Array) or value.shape != ():
                what = f"an array of shape {value.shape}" if isinstance(value, Array) else repr(type(value))
                raise TypeError(f"grad needs a function with a scalar result, not {what}; see vjp and jacobian")
            value = _ingot._plain(value)
            if value.dtype.kind != "f":
                raise TypeError(f"grad needs a real floating-point result, not {value.dtype}")
            made = _ingot._vjp([value], [_ops["ones_like"](value)], inputs.floats)
        grads = inputs.gradients(made)
        if has_aux:
            value = value, _plain(result[1])
        return value, grads[0] if isinstance(argnums, int) else grads

    return wrapped


def _plain(tree):
    """A result: numbers of a trace as arrays."""
    flat = Flat(tree)
    return unflatten(flat.structure, map(_ingot._plain, flat.leaves)) if flat.leaves and not flat.objects else tree


def grad(fun, argnums=0, has_aux=False):
    """A function that returns the gradients of a function with a scalar result; see value_and_grad."""
    both = value_and_grad(fun, argnums, has_aux)

    @wraps(fun)
    def wrapped(*args, **kwargs):
        result, grads = both(*args, **kwargs)
        return (grads, result[1]) if has_aux else grads

    return wrapped


class _Pullback:
    """A function with its result at some arguments: vector-Jacobian products, and Jacobian-vector products."""

    def __init__(self, function, primals, has_aux):
        self.inputs = _Inputs(primals, (), {})
        with Trace("grad", inputs=self.inputs.floats):
            result = self.inputs.call(lambda chosen, others, kwargs: function(*chosen))
        result, self.aux = result if has_aux else (result, None)
        self.flat = Flat(result)
        self.outputs = [_ingot._plain(x) for x in self.flat.leaves]
        self.result = unflatten(self.flat.structure, self.outputs)
        self.floats = [x for x in self.outputs if _is_float(x)]

    def pull(self, cotangents):
        """The gradients, a tuple for the primals."""
        given = leaves_like(self.flat.structure, cotangents, "vjp: cotangents")
        cots = [c.astype(o.dtype) for c, o in zip(given, self.outputs) if _is_float(o)]
        return self.inputs.gradients(_ingot._vjp(self.floats, cots, self.inputs.floats))

    def transpose(self):
        """The products with the Jacobian are gradients of the products with its transpose, which are linear."""
        self.dummies = [_ingot._handle(_ops["zeros_like"](o)) for o in self.floats]
        with Trace("grad", inputs=self.dummies):
            self.rows = _ingot._vjp(self.floats, [_again(x) for x in self.dummies], self.inputs.floats)

    def push(self, tangents):
        """The derivatives of the results in the direction of tangents, a list for the floats of the primals."""
        with Trace("grad"):
            made = iter(_ingot._vjp(self.rows, [t.astype(r.dtype) for t, r in zip(tangents, self.rows)], self.dummies))
        return unflatten(self.flat.structure, [next(made) if _is_float(o) else _ops["zeros_like"](o) for o in self.outputs])


def vjp(fun, *primals, has_aux=False):
    """(result, pull), where pull(cotangents) returns a tuple of gradients, one for each of primals. With has_aux the function
    returns (result, other), and this one (result, pull, other)."""
    both = _Pullback(fun, primals, has_aux)
    return (both.result, both.pull, both.aux) if has_aux else (both.result, both.pull)


def linearize(fun, *primals, has_aux=False):
    """(result, push), where push(*tangents) returns the derivative in the direction of tangents."""
    both = _Pullback(fun, primals, has_aux)
    both.transpose()

    def push(*tangents):
        return both.push([t for t, x in zip(both.inputs.like(tangents), both.inputs.kept) if _is_float(x)])

    return (both.result, push, both.aux) if has_aux else (both.result, push)


def jvp(fun, primals, tangents, has_aux=False):
    """(result, its derivative in the direction of tangents), by two vector-Jacobian products. With has_aux the function
    returns (result, other), and this one (result, derivative, other)."""
    result, push, *aux = linearize(fun, *primals, has_aux=has_aux)
    return (result, push(*tangents), *aux)


# ---- Jacobians ----

def _basis(x):
    """The unit vectors in the shape of x, along a new first axis."""
    return _ops["eye"](x.size, dtype=x.dtype).reshape((x.size,) + x.shape)


def _over_basis(function, x, others, at):
    """The leaves of function(leaves) for each unit vector of x as leaf number `at`, stacked along the first axis."""
    def of(one):
        return function(others[:at] + [one] + others[at + 1:])

    if x.shape == ():
        return [y.reshape((1,) + y.shape) for y in of(_ops["ones_like"](x))]
    if x.size == 0:
        return [_ops["zeros"]((0,) + y.shape, dtype=y.dtype) for y in of(_ops["zeros_like"](x))]
    return vmap(of)(_basis(x))


def _jacobian(fun, argnums, has_aux, make):
    @follows_arguments
    @wraps(fun)
    def wrapped(*args, **kwargs):
        at, chosen, others = _split(argnums, args)
        both = _Pullback(lambda *chosen: fun(*_join(at, chosen, others), **kwargs), chosen, has_aux)
        if not both.inputs.floats:
            raise TypeError(f"gradients are taken by floats, not by {', '.join(_kind(x) for x in chosen)}")
        blocks = make(both)  # for each output: one for each input
        rows = [both.inputs.tree(row) for row in blocks]
        made = unflatten(both.flat.structure, [row[0] if isinstance(argnums, int) else row for row in rows])
        return (made, both.aux) if has_aux else made

    return wrapped


def _spread(both, o, kept):
    """For each input the blocks of the floats, and zeros for others."""
    kept = iter(kept)
    return [next(kept) if _is_float(x) else _ops["zeros"](o.shape + getattr(x, "shape", ()), dtype=o.dtype)
            for x in both.inputs.kept]


def _by_rows(both):
    zeros, blocks = [_ops["zeros_like"](o) for o in both.floats], []
    for o in both.outputs:
        i = next((i for i, f in enumerate(both.floats) if f is o), None)
        if i is None:
            blocks.append(_spread(both, o, [_ops["zeros"](o.shape + x.shape, dtype=x.dtype) for x in both.inputs.floats]))
            continue
        rows = _over_basis(lambda cots: _ingot._vjp(both.floats, cots, both.inputs.floats), o, zeros, i)
        blocks.append(_spread(both, o, [_result(r, x).reshape(o.shape + x.shape) for r, x in zip(rows, both.inputs.floats)]))
    return blocks


def _result(made, x):
    dtype = _ingot._plain(x).dtype
    return made if made.dtype == dtype else made.astype(dtype)


def _by_columns(both):
    both.transpose()
    zeros, columns = [_ops["zeros_like"](x) for x in both.inputs.floats], []
    for i, x in enumerate(both.inputs.floats):
        made = _over_basis(lambda tangents: flatten(both.push(tangents))[0], x, zeros, i)
        columns.append([_ops["moveaxis"](m, 0, -1).reshape(o.shape + x.shape) for m, o in zip(made, both.outputs)])
    return [_spread(both, o, [column[k] for column in columns]) for k, o in enumerate(both.outputs)]


def jacrev(fun, argnums=0, has_aux=False):
    """A function that returns the Jacobian, row by row: for each array of the result, and for each array of the arguments of
    argnums, an array with the shape of the one and then the shape of the other. Containers of results have containers of
    arguments inside."""
    return _jacobian(fun, argnums, has_aux, _by_rows)


def jacfwd(fun, argnums=0, has_aux=False):
    """The same as jacrev, column by column: for functions with more results than arguments."""
    return _jacobian(fun, argnums, has_aux, _by_columns)


jacobian = jacrev


def hessian(fun, argnums=0, has_aux=False):
    """A function that returns the second derivatives: the Jacobian of the Jacobian."""
    return jacrev(jacrev(fun, argnums, has_aux), argnums, has_aux)


def _outside():
    """The arrays of open traces, which a function may know from outside."""
    return [x for trace in _active.traces for x in trace.inputs]


def _everything(*_, **__):
    """A policy of checkpoint: all intermediate results are kept."""
    return True


def _nothing(*_, **__):
    """A policy of checkpoint: no intermediate result is kept."""
    return False


class _Policies:
    everything_saveable, nothing_saveable = staticmethod(_everything), staticmethod(_nothing)

    def __getattr__(self, name):
        raise AttributeError(f"checkpoint_policies has no '{name}': a part of a function is kept or computed again as a whole; use "
                             "everything_saveable or nothing_saveable, and ig.checkpoint of the parts to compute again")


checkpoint_policies = _Policies()


def checkpoint(fun, *, prevent_cse=True, policy=None, static_argnums=()):
    """The function, whose gradient computes the intermediate results again instead of keeping them. Arguments that are not arrays are
    constants, with static_argnums and without. policy: checkpoint_policies.nothing_saveable, or everything_saveable."""
    if policy not in (None, _everything, _nothing):
        raise ValueError("checkpoint: policy is ig.checkpoint_policies.nothing_saveable or everything_saveable; for others use checkpoint "
                         "of the parts of the function that are to be computed again")
    if policy is _everything:
        return fun

    @wraps(fun)
    def wrapped(*args, **kwargs):
        flat = Flat((args, kwargs))
        fresh = [_ingot._handle(x) for x in flat.leaves]
        given = Given(flat.structure, map(_again, fresh), flat.objects)
        try:
            args, kwargs = given.tree
            result = Flat(fun(*args, **kwargs))
        finally:
            given.close()
        fresh += _outside()
        return unflatten(result.structure, [_ingot._checkpoint(o, fresh) for o in result.leaves])

    return wrapped


remat = checkpoint  # of JAX


def custom_grad(fun, rule):
    """The function with another gradient: rule(inputs, out, g) returns the gradients of the arrays in the arguments,
    None for zero. The function has one array as its result. Arrays that it knows from outside have no gradient."""

    @wraps(fun)
    def wrapped(*args, **kwargs):
        flat = Flat((args, kwargs))
        fresh = [_ingot._handle(x) for x in flat.leaves]
        given = Given(flat.structure, map(_again, fresh), flat.objects)
        try:
            args, kwargs = given.tree
            result = fun(*args, **kwargs)
        finally:
            given.close()
        if not isinstance(result, Array):
            raise TypeError(f"custom_grad needs a function whose result is one array, not {type(result).__name__}")
        outside = _outside()  # for the rule: it may use them, too
        return _ingot._custom_grad(_ingot._plain(result), fresh + outside, rule if not outside else lambda inputs, out, g: [
            *rule(inputs[:len(fresh)], out, g), *[None] * len(outside)])

    return wrapped


# ---- vmap ----

def _axes(axes, structure, found, what):
    """Adds the axis of each leaf of a structure; axes has containers as the structure, or one axis for all leaves of a part."""
    if axes is None or isinstance(axes, int):
        found += [axes] * count(structure)
        return
    kind, items = structure if type(structure) is tuple else (None, ())
    if kind == "=":
        return
    if kind is dict and isinstance(axes, dict):
        for key, item in items:
            if key not in axes:
                raise ValueError(f"vmap: {what} has no axis for the key {key!r}")
            _axes(axes[key], item, found, what)
    elif kind is not None and isinstance(axes, (list, tuple)) and kind in (list, tuple):
        if len(axes) != len(items):
            raise ValueError(f"vmap: {what} has {len(axes)} axes for {len(items)} values")
        for axis, item in zip(axes, items):
            _axes(axis, item, found, what)
    else:
        flat = Flat(axes, leaf=lambda x: x is None or isinstance(x, int))
        if flat.structure != structure and len(flat.leaves) != count(structure):
            raise ValueError(f"vmap: {what} is {axes!r}, which does not have the structure of the values")
        found += flat.leaves


class _Axis:
    """The axis of an open vmap, for lax.psum and others. If it has a name, the last example is the number of the slice."""

    def __init__(self, name, examples, args, axes, size):
        self.name, self.examples, self.args, self.axes, self.size = name, examples, args, axes, size

    def __enter__(self):
        self.depth = len(_active.traces)
        _active.axes.append(self)

    def __exit__(self, *_):
        _active.axes.pop()


def _check_axes(leaves, axes, size):
    """The axes as numbers, -1 for None, and the number of slices."""
    made = []
    for x, axis in zip(leaves, axes):
        if axis is None:
            made.append(-1)
            continue
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"vmap: an argument of shape {x.shape} has no axis {axis}; in_axes=None is for arguments that are "
                             "the same for all slices")
        made.append(axis % x.ndim)
        if size is not None and x.shape[axis] != size:
            raise ValueError(f"vmap: an argument of shape {x.shape} has {x.shape[axis]} slices along axis {axis}, another has "
                             f"{size}")
        size = x.shape[axis]
    if size is None:
        raise ValueError("vmap: no argument has an axis to map over")
    return made, size


def vmap(fun, in_axes=0, out_axes=0, axis_size=None, axis_name=None, *, in_dims=0, out_dims=0, randomness="error", chunk_size=None):
    """A function that maps a function over an axis of its arguments. in_axes: the axis, or one for each argument, also in
    containers as the arguments; None: the argument is the same for all. Keyword arguments are mapped over their first axis.
    Results are stacked along out_axes. The function is called once, with arrays that stand for all slices: reading their
    elements (if, float, numpy.asarray, a mask as an index, nonzero, unique) is an error. axis_name is what lax.psum and other
    collective functions call the axis. in_dims and out_dims are PyTorch's names of in_axes and out_axes. randomness and chunk_size
    are accepted, and have no effect."""
    in_axes, out_axes = in_axes if in_dims == 0 else in_dims, out_axes if out_dims == 0 else out_dims
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes

    def stack(result, examples, batched, axes):
        outputs = [_ingot._plain(_ingot.asarray(x)) for x in result.leaves]
        to = []
        _axes(out_axes, result.structure, to, "out_axes")
        same = [axis is None for axis in to]
        for x in (x for x, one in zip(outputs, same) if one):
            if any(d for d, axis in zip(_ingot._depends(x, examples), axes) if axis >= 0):
                raise ValueError("vmap: out_axes is None for a result that differs between slices")
        made = iter(_ingot._vmap([x for x, one in zip(outputs, same) if not one], examples, batched, axes)
                    if not all(same) else ())
        made = [x if axis is None else next(made) for x, axis in zip(outputs, to)]
        made = [_ops["moveaxis"](x, 0, axis) if axis else x for x, axis in zip(made, to)]
        return unflatten(result.structure, made)

    @wraps(fun)
    def wrapped(*args, **kwargs):
        if in_axes == 0 == out_axes and not kwargs and axis_name is None and _are_arrays(args) and args:  # usually
            axes, size = _check_axes(args, [0] * len(args), axis_size)
            examples = [_ingot._placeholder(x, 0) for x in args]
            with Trace("vmap", True, examples):
                result = fun(*[_again(x) for x in examples])
            if type(result) is Array:
                return _ingot._vmap([_ingot._plain(result)], examples, args, axes)[0]
            return stack(Flat(result, numbers=True), examples, args, axes)
        flat, axes = Flat((args, kwargs)), []
        _axes(in_axes, flat.structure[1][0], axes, "in_axes")
        axes += [0] * (len(flat.leaves) - len(axes))
        axes, size = _check_axes(flat.leaves, axes, axis_size)
        leaves = list(flat.leaves)
        if axis_name is not None:  # the number of the slice is one more input
            leaves.append(_ops["arange"](size))
            axes.append(0)
        examples = [_ingot._handle(x) if axis < 0 else _ingot._placeholder(x, axis) for x, axis in zip(leaves, axes)]
        with Trace("vmap", True, examples), _Axis(axis_name, examples, leaves, axes, size):
            given = Given(flat.structure, map(_again, examples[:len(flat.leaves)]), flat.objects)
            changes = None
            try:
                args, kwargs = given.tree
                result = Flat(fun(*args, **kwargs), numbers=True)
            finally:
                changes = given.close(keep=False)
            for _, name, _, _ in changes:
                raise ValueError(f"vmap: the function changes '{name}' of an argument, which stands for all slices; call eval() of "
                                 "the module first, or return the new value")
        return stack(result, examples, leaves, axes)

    return wrapped


def explain(fun):
    """A function that returns a description of the programs that a function's results would run."""

    @wraps(fun)
    def wrapped(*args, **kwargs):
        return _ingot._explain(*flatten(fun(*args, **kwargs))[0])

    return wrapped


from ._jit import jit  # noqa: E402, F401
