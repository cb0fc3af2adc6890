"""Loops and branches with the names and arguments of JAX. They are nodes of the graph: the function that is a step or a branch
is called once, with arrays that stand for its arguments, and its plan runs on the device for each step. They work outside
and inside of jit, grad, vmap and the other transforms. Reading elements of the arguments (if, float) is an error."""
from . import _ingot
from ._collectives import all_gather, axis_index, axis_size, pmax, pmean, pmin, ppermute, pshuffle, psum  # noqa: F401
from ._ingot import Array
from ._lax_shapes import dot_general, pad, reduce, reduce_window, window_margins  # noqa: F401
from ._names import find as _find
from .transform import Trace, flatten, follows_arguments, unflatten

_ops = _ingot._ops
_NUMBERS = (bool, int, float, complex)


# ---- containers ----

def _map(function, tree):
    """The container with function applied to everything in it that is not a container."""
    kind = type(tree)
    if kind in (list, tuple):
        return kind([_map(function, item) for item in tree])
    if kind is dict:
        return {key: _map(function, item) for key, item in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind(*[_map(function, item) for item in tree])
    if hasattr(kind, "__dataclass_fields__") and not isinstance(tree, type):
        return kind(**{name: _map(function, getattr(tree, name)) for name in kind.__dataclass_fields__})
    return function(tree)


def _array(x):
    return _ingot.asarray(x) if type(x) in _NUMBERS else x


def _names(tree, name):
    """A name for each array of a container, in the order of flatten."""
    kind = type(tree)
    if kind in (list, tuple):
        return [found for i, item in enumerate(tree) for found in _names(item, f"{name}[{i}]")]
    if kind is dict:
        return [found for key in tree for found in _names(tree[key], f"{name}[{key!r}]")]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [found for field in tree._fields for found in _names(getattr(tree, field), f"{name}.{field}")]
    if hasattr(kind, "__dataclass_fields__") and not isinstance(tree, type):
        return [found for field in kind.__dataclass_fields__ for found in _names(getattr(tree, field), f"{name}.{field}")]
    return [name] * len(flatten(tree)[0])


def _kind(x):
    return f"{x.dtype}{list(x.shape)}"


def _given(structure, stand):
    """A container of handles, which the function may change in place."""
    return unflatten(structure, iter([_ingot._handle(x) for x in stand]))


class _Carry:
    """The values that a loop hands from step to step: arrays, and arrays made of Python's numbers, which take the dtype that
    the step returns."""

    def __init__(self, who, what, tree):
        numbers = []
        _map(lambda x: numbers.append(x) if type(x) in _NUMBERS or type(x) is Array else None, tree)
        self.who, self.what = who, what
        self.tree = _map(_array, tree)
        self.first, self.structure = flatten(self.tree)
        numbers = numbers if len(numbers) == len(self.first) else self.first
        self.free = [type(x) in _NUMBERS for x in numbers]

    def begin(self):
        self.stand = [_ingot._placeholder(x) for x in self.first]

    def end(self, tree):
        """The arrays of what a step returned; None if the dtype of a number has to change first."""
        dtypes = iter(x.dtype for x in self.first)
        leaves, structure = flatten(_map(_array, tree))
        if structure != self.structure:
            raise TypeError(f"{self.who}: {self.what} has another structure after a step: {_shape(self.tree)} before, "
                            f"{_shape(tree)} after; return a container like the one that the step gets")
        names, numbers = _names(self.tree, self.what), []
        _map(lambda x: numbers.append(type(x) in _NUMBERS) if type(x) in _NUMBERS or type(x) is Array else None, tree)
        again = False
        for i, (x, dtype) in enumerate(zip(leaves, dtypes)):
            if len(numbers) == len(leaves) and numbers[i] and x.dtype != dtype:
                x = leaves[i] = x.astype(dtype)
            if x.shape == self.first[i].shape and x.dtype == dtype:
                continue
            if x.shape == self.first[i].shape and self.free[i]:
                self.first[i] = self.first[i].astype(x.dtype)
                self.free[i], again = False, True
                continue
            advice = "; convert one of them with astype" if x.shape == self.first[i].shape else ""
            raise TypeError(f"{self.who}: {names[i]} is {_kind(self.first[i])} before a step, but {_kind(x)} after it{advice}")
        return None if again else leaves


def _shape(tree):
    return _map(lambda x: _kind(x) if type(x) is Array else x if x is None else type(x).__name__, tree)


# ---- loops ----

@follows_arguments
def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """(carry, ys): calls f(carry, x) -> (carry, y) for each row x along the first axis of the arrays in xs. ys: all y, stacked.
    Without xs, `length` steps. The loop is one node: its steps are not unrolled, whatever `unroll` says, and it has
    gradients."""
    rows, row_structure = flatten(xs)
    if any(x.ndim == 0 for x in rows):
        raise ValueError("scan: xs has an array without axes; a scan goes along the first axis")
    lengths = {x.shape[0] for x in rows} | (set() if length is None else {int(length)})
    if len(lengths) != 1:
        raise ValueError("scan: give xs or length" if not lengths else
                         f"scan: the arrays of xs and length must have one length, but they are {sorted(lengths)}")
    carry = _Carry("scan", "carry", init)
    after = None
    while after is None:
        stand = [_ingot._placeholder(x, 0) for x in rows]
        carry.begin()
        with Trace("scan", True, carry.stand + stand):
            result = f(_given(carry.structure, carry.stand), _given(row_structure, stand))
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"scan: the function must return (carry, y), not {type(result).__name__}")
        after = carry.end(result[0])
    ys, y_structure = flatten(_map(_array, result[1]))
    made = _ingot._scan(carry.stand, after, carry.first, stand, rows, ys, lengths.pop(), bool(reverse))
    n = len(after)
    return unflatten(carry.structure, iter(made[:n])), unflatten(y_structure, iter(made[n:]))


@follows_arguments
def while_loop(cond_fun, body_fun, init_val):
    """The first value for which cond_fun is false: val = init_val; while cond_fun(val): val = body_fun(val). The number of steps
    is not known beforehand, so there is no gradient in reverse mode (grad, vjp); jvp works."""
    carry = _Carry("while_loop", "the value", init_val)
    after = None
    while after is None:
        carry.begin()
        with Trace("while_loop", True, carry.stand):
            more, val = cond_fun(_given(carry.structure, carry.stand)), body_fun(_given(carry.structure, carry.stand))
        after = carry.end(val)
    if not isinstance(more, (Array, bool)):
        raise TypeError(f"while_loop: cond_fun must return one bool, not {type(more).__name__}")
    more = _ingot.asarray(more)
    if more.shape != () or more.dtype != _ingot.bool:
        raise TypeError(f"while_loop: cond_fun must return one bool, not {_kind(more)}")
    return unflatten(carry.structure, iter(_ingot._while(more, carry.stand, after, carry.first)))


@follows_arguments
def fori_loop(lower, upper, body_fun, init_val, *, unroll=None):
    """val = init_val; for i in range(lower, upper): val = body_fun(i, val). With Python's integers as bounds it has gradients;
    with arrays it is a while_loop."""
    if isinstance(lower, int) and isinstance(upper, int):
        steps = _ops["arange"](lower, max(lower, upper))
        return scan(lambda val, i: (body_fun(i, val), None), init_val, steps)[0]
    lower, upper = _ingot.asarray(lower).astype("int64"), _ingot.asarray(upper).astype("int64")
    return while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], body_fun(c[0], c[2])), (lower, upper, init_val))[2]


def map(f, xs, *, batch_size=None):
    """f applied to each row of the arrays in xs, one after another; the results, stacked. vmap does it at once."""
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


@follows_arguments
def associative_scan(fn, elems, reverse=False, axis=0):
    """The results of combining all elements up to each one along an axis by an associative function of two containers. It takes
    about 2 log2(n) steps, each of which combines many elements."""
    leaves, structure = flatten(elems)
    if not leaves:
        return elems
    lengths = {x.shape[axis] for x in leaves}
    if len(lengths) != 1:
        raise ValueError(f"associative_scan: the arrays have different lengths along axis {axis}: {sorted(lengths)}")
    move, join = _ops["moveaxis"], _ops["concat"]
    leaves = [move(x, axis, 0) for x in leaves]

    def combine(a, b):
        return flatten(fn(unflatten(structure, iter([move(x, 0, axis) for x in a])),
                          unflatten(structure, iter([move(x, 0, axis) for x in b]))))[0]

    def steps(x):
        n = x[0].shape[0]
        if n < 2:
            return x
        pairs = combine([a[:n - 1:2] for a in x], [a[1::2] for a in x])
        odd = steps([move(a, axis, 0) for a in pairs])
        even = [a[:1] for a in x]
        if n > 2:
            later = combine([a[:(n - 1) // 2] for a in odd], [a[2::2] for a in x])
            even = [join([a, move(b, axis, 0)], axis=0) for a, b in zip(even, later)]
        return [_weave(a, b) for a, b in zip(even, odd)]

    flip = _ops["flip"]
    leaves = [flip(x, axis=0) for x in leaves] if reverse else leaves
    leaves = steps(leaves)
    leaves = [flip(x, axis=0) for x in leaves] if reverse else leaves
    return unflatten(structure, iter([move(x, 0, axis) for x in leaves]))


def _weave(a, b):
    """Rows of a and b in turn; a has as many as b, or one more."""
    n, rest = b.shape[0], a.shape[1:]
    both = _ops["stack"]([a[:n], b], axis=1).reshape((2 * n,) + rest)
    return both if a.shape[0] == n else _ops["concat"]([both, a[n:]], axis=0)


# ---- branches ----

@follows_arguments
def switch(index, branches, *operands):
    """branches[index](*operands). An index outside of the range counts as the nearest one inside."""
    branches = list(branches)
    if not branches:
        raise ValueError("switch: there are no branches")
    known = index if isinstance(index, int) else _ingot._known(index)
    if known is not None:
        return branches[min(max(int(known), 0), len(branches) - 1)](*operands)
    return _branch("switch", index, branches, operands)


@follows_arguments
def cond(pred, true_fun, false_fun, *operands, operand=None):
    """true_fun(*operands) if pred else false_fun(*operands)."""
    operands = operands if operand is None else operands + (operand,)
    known = pred if isinstance(pred, bool) else _ingot._known(pred)
    if known is not None:
        return (true_fun if known else false_fun)(*operands)
    pred = _ingot.asarray(pred)
    if pred.shape != ():
        raise TypeError(f"cond: the predicate must be one bool, not {_kind(pred)}")
    return _branch("cond", pred != 0 if pred.dtype != _ingot.bool else pred, [false_fun, true_fun], operands)


def _branch(who, index, branches, operands):
    leaves, structure = flatten(_map(_array, operands))
    stand = [_ingot._placeholder(x) for x in leaves]
    outputs, first = [], None
    for k, branch in enumerate(branches):
        with Trace(who, True, stand):
            made = _map(_array, branch(*_given(structure, stand)))
        found, own = flatten(made)
        if first is None:
            first, first_structure, names = found, own, _names(made, "the result")
        if own != first_structure:
            raise TypeError(f"{who}: the branches return different structures: {_shape(made)} in branch {k}")
        for name, a, b in zip(names, first, found):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise TypeError(f"{who}: {name} is {_kind(a)} in one branch, but {_kind(b)} in another")
        outputs += found
    made = _ingot._switch(index, stand, leaves, outputs, len(branches))
    return unflatten(first_structure, iter(made))


def select(pred, on_true, on_false):
    """Elements of on_true where pred is true, else of on_false."""
    return _ops["where"](pred, on_true, on_false)


# ---- parts of arrays at computed positions ----

def _starts(x, start, sizes):
    return [_ops["clip"](_ingot.asarray(s), 0, n - m) for s, n, m in zip(start, x.shape, sizes)]


@follows_arguments
def dynamic_slice(operand, start_indices, slice_sizes):
    """A part of an array with these lengths. It begins at computed indices, which are moved into the array if it would end
    outside."""
    for axis, (start, size) in enumerate(zip(_starts(operand, start_indices, slice_sizes), slice_sizes)):
        if size != operand.shape[axis]:
            operand = _ops["take"](operand, start + _ops["arange"](size), axis)
    return operand


@follows_arguments
def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0):
    """The same along one axis."""
    start, size = [0] * operand.ndim, list(operand.shape)
    start[axis], size[axis] = start_index, slice_size
    return dynamic_slice(operand, start, size)


@follows_arguments
def dynamic_index_in_dim(operand, index, axis=0, keepdims=True):
    """One row of an array along an axis; a negative index counts from the end."""
    index = _ingot.asarray(index)
    row = dynamic_slice_in_dim(operand, _ops["where"](index < 0, index + operand.shape[axis], index), 1, axis)
    return row if keepdims else _ops["squeeze"](row, axis)


@follows_arguments
def dynamic_update_slice(operand, update, start_indices):
    """The array with `update` at computed indices, which are moved into the array if it would end outside."""
    index = [start + _ops["arange"](size) for start, size in zip(_starts(operand, start_indices, update.shape), update.shape)]
    shaped = [x.reshape(tuple(-1 if i == axis else 1 for i in range(len(index)))) for axis, x in enumerate(index)]
    return operand.at[tuple(shaped)].set(update)


@follows_arguments
def dynamic_update_slice_in_dim(operand, update, start_index, axis):
    """The same along one axis."""
    start = [0] * operand.ndim
    start[axis] = start_index
    return dynamic_update_slice(operand, update, start)


@follows_arguments
def dynamic_update_index_in_dim(operand, update, index, axis):
    """The array with another row along an axis."""
    update = _ops["expand_dims"](update, axis=axis) if update.ndim < operand.ndim else update
    return dynamic_update_slice_in_dim(operand, update, index, axis)


# ---- elementwise functions, by their names here ----

_SAME = dict(add="add", sub="subtract", mul="multiply", pow="pow", neg="negative", max="maximum", min="minimum",
             abs="abs", exp="exp", log="log", expm1="expm1", log1p="log1p", sin="sin", cos="cos", tan="tan", tanh="tanh",
             sinh="sinh", cosh="cosh", asin="asin", acos="acos", atan="atan", atan2="atan2", sqrt="sqrt", rsqrt="rsqrt",
             square="square", sign="sign", floor="floor", ceil="ceil", erf="erf", logistic="sigmoid", eq="equal",
             ne="not_equal", lt="less", le="less_equal", gt="greater", ge="greater_equal", stop_gradient="stop_gradient",
             is_finite="isfinite", clamp=None)


def argmax(operand, axis, index_dtype=_ingot.int64):
    """The place of the largest element along an axis."""
    return _ops["argmax"](operand, axis).astype(index_dtype)


def argmin(operand, axis, index_dtype=_ingot.int64):
    """The place of the smallest element along an axis."""
    return _ops["argmin"](operand, axis).astype(index_dtype)


def sort(operand, dimension=-1, is_stable=True, num_keys=1):
    """The elements along an axis in order; of several arrays in the order of the first num_keys."""
    if not isinstance(operand, (tuple, list)):
        return _ops["sort"](operand, dimension)
    order = _ops["argsort"](operand[num_keys - 1], dimension, stable=True)
    for key in reversed(operand[:num_keys - 1]):
        order = _ops["take_along_axis"](order, _ops["argsort"](_ops["take_along_axis"](key, order, dimension), dimension, stable=True), dimension)
    return tuple(_ops["take_along_axis"](x, order, dimension) for x in operand)


def clamp(min, x, max):
    """x, at least min and at most max."""
    return _ops["clip"](x, min, max)


def conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, dimension_numbers=None,
                         feature_group_count=1, batch_group_count=1, precision=None, preferred_element_type=None):
    """A cross-correlation of lhs (N, C, ...) and rhs (C out, C in, ...). dimension_numbers: three texts such as ("NHWC", "HWIO", "NHWC").
    lhs_dilation n puts n - 1 zeros between the elements of lhs."""
    if batch_group_count != 1:
        raise ValueError("conv: batch_group_count is not supported; use feature_group_count, or vmap of a convolution")
    axes = lhs.ndim - 2
    if not 1 <= axes <= 3:
        raise ValueError(f"conv: lhs has {lhs.ndim} axes; it takes 3 to 5")
    letters = "HWD"[:axes] if axes < 3 else "DHW"
    names = dimension_numbers or ("NC" + letters, "OI" + letters, "NC" + letters)
    places = [letter for letter in names[0] if letter not in "NC"]
    x = _ops["permute_dims"](lhs, [names[0].index(c) for c in ["N", "C", *places]])
    w = _ops["permute_dims"](rhs, [names[1].index(c) for c in ["O", "I", *places]])
    spread = tuple(rhs_dilation or (1,) * axes)
    gaps = tuple(n - 1 for n in lhs_dilation or (1,) * axes)
    if any(gaps) and isinstance(padding, str):
        raise ValueError("conv: with lhs_dilation, padding is a pair for each axis; lax.conv_transpose takes 'SAME' and 'VALID'")
    margins = window_margins("conv", padding, x.shape[2:], w.shape[2:], window_strides, spread)
    if any(gaps) or any(n for pair in margins for n in pair):
        x = pad(x, 0, [(0, 0, 0), (0, 0, 0), *((*pair, gap) for pair, gap in zip(margins, gaps))])
    y = _ops[f"conv{axes}d"](x, w, stride=tuple(window_strides), dilation=spread, groups=feature_group_count)
    y = _ops["permute_dims"](y, [["N", "C", *places].index(c) for c in names[2]])
    return y if preferred_element_type is None else y.astype(preferred_element_type)


def conv(lhs, rhs, window_strides, padding, precision=None, preferred_element_type=None):
    return conv_general_dilated(lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=None, preferred_element_type=None):
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, preferred_element_type=preferred_element_type)


def conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None, transpose_kernel=False, precision=None,
                   preferred_element_type=None, use_consistent_padding=False):
    """A convolution of lhs with zeros between its elements, for n times its length. Without dimension_numbers the channels are last:
    ("NHWC", "HWIO", "NHWC"). With transpose_kernel it is the gradient of the convolution with rhs."""
    axes = lhs.ndim - 2
    letters = ("", "H", "HW", "HWD")[axes] if axes in (1, 2, 3) else ""
    numbers = dimension_numbers or (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    places = [letter for letter in numbers[0] if letter not in "NC"]
    spread = tuple(rhs_dilation or (1,) * axes)
    if use_consistent_padding or isinstance(padding, str):
        given = [padding] * axes if isinstance(padding, str) else padding
        sizes = [(rhs.shape[numbers[1].index(letter)] - 1) * d + 1 for letter, d in zip(places, spread)]
        padding = [_transposed_margins(*row) for row in zip(sizes, strides, given)]
    if transpose_kernel:
        rhs = _ops["flip"](rhs, axis=tuple(numbers[1].index(letter) for letter in places))
        rhs = _ops["swapaxes"](rhs, numbers[1].index("I"), numbers[1].index("O"))
    return conv_general_dilated(lhs, rhs, (1,) * axes, padding, strides, spread, numbers, preferred_element_type=preferred_element_type)


def _transposed_margins(size, step, padding):
    """The margins for a kernel of this size whose results have step times the input's length, or what VALID leaves."""
    if not isinstance(padding, str):
        return size - 1 - padding[0], size - 1 - padding[1]
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"conv_transpose: padding is 'SAME', 'VALID' or a pair for each axis, not {padding!r}")
    total = size + step - 2 + (max(size - step, 0) if padding == "VALID" else 0)
    before = size - 1 if padding == "VALID" or step > size - 1 else -(-total // 2)
    return before, total - before


def __getattr__(name):
    if name.endswith("_p"):
        raise AttributeError(f"module 'ingot.lax' has no attribute '{name}': use the function without _p, or an op of docs/ops.md, "
                             "and ig.custom_grad for rules of gradients")
    return _ops[_SAME[name]] if _SAME.get(name) else _find(name, "lax.")
