"""Containers of arrays (pytrees): lists, tuples, dicts, named tuples, dataclasses, modules of ingot.nn, and types that
register_pytree_node has made known. The functions with the names of JAX's take every value that is not a container as a leaf;
None is a container without leaves. The transforms take arrays, and some of them numbers, as leaves.

A structure is "*" for an array, a type for a number (float, int, complex), ("=", constant) for another value, and (type,
parts) for a container. compiled.c reads structures too. Structures can be compared."""
from itertools import count as counter

from . import _ingot
from ._ingot import Array

_registered = {}  # type: (flatten, unflatten)
_NUMBERS = (float, int, complex)


def wraps(fun, state=True):
    """functools.wraps without its module, which takes 4 ms to import. state: whether the attributes of fun are copied."""
    def dressed(function):
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(fun, name):
                setattr(function, name, getattr(fun, name))
        if state:
            function.__dict__.update(getattr(fun, "__dict__", {}))
        function.__wrapped__ = fun
        return function

    return dressed


def register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func=None):
    """Makes a type a container: flatten_func(tree) returns (children, data), unflatten_func(data, children) the tree."""
    _registered[nodetype] = flatten_func, unflatten_func


def register_pytree_node_class(cls):
    """Makes a class with tree_flatten and tree_unflatten a container; a decorator."""
    register_pytree_node(cls, lambda tree: tree.tree_flatten(), cls.tree_unflatten)
    return cls


def _register_collections():
    from _collections import OrderedDict, defaultdict, deque  # of collections, without the module
    register_pytree_node(OrderedDict, lambda d: (list(d.values()), tuple(d)), lambda keys, items: OrderedDict(zip(keys, items)))
    register_pytree_node(defaultdict, lambda d: (list(d.values()), (d.default_factory, tuple(d))),
                         lambda data, items: defaultdict(data[0], zip(data[1], items)))
    register_pytree_node(deque, lambda d: (list(d), d.maxlen), lambda length, items: deque(items, length))


_register_collections()


class Constant:
    """A value that is not an array. Equal to others of the same type and value; floats to those with the same bits."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        if not isinstance(other, Constant) or type(self.value) is not type(other.value):
            return False
        if isinstance(self.value, (float, complex, tuple, list, dict, frozenset)) and repr(self.value) != repr(other.value):
            return False  # -0.0 is not 0.0, and True in a tuple is not 1
        if isinstance(self.value, float):
            return True
        try:
            return self.value is other.value or bool(self.value == other.value)
        except Exception:  # an object that compares its parts
            return False

    def __hash__(self):
        try:
            return hash(self.value)
        except TypeError:
            return hash(type(self.value))


def holds_state(tree):
    """Whether an object is a container by its attributes, which a function may change: a module, or an object with arrays,
    modules or containers of them among its attributes."""
    kind = type(tree)
    if getattr(kind, "_holds_state", False):
        return True
    if kind.__module__.partition(".")[0] in ("builtins", "numpy", "torch", "jax", "jaxlib") or not hasattr(tree, "__dict__"):
        return False
    if isinstance(tree, type) or callable(tree) and hasattr(tree, "__code__") or kind.__name__ in ("module", "function"):
        return False
    return any(_is_state(value) for value in vars(tree).values())


def _is_state(value, deep=2):
    kind = type(value)
    if kind is Array or getattr(kind, "_holds_state", False):
        return True
    if deep and isinstance(value, (list, tuple, dict)):
        return any(_is_state(item, deep - 1) for item in (value.values() if isinstance(value, dict) else value))
    return False


class Flat:
    """A container in parts: its leaves in order, its structure, and the objects with state in it.

    numbers: whether Python's numbers are leaves. opaque: objects with state are constants. leaf: a function that says which
    other values are leaves. fixed: which numbers are constants nevertheless, counted in the order of leaves with all numbers.
    ordered: leaves of dicts are in the order of their keys, as in JAX. counters: which attributes of objects with state are leaves although they are numbers, as (number of the object, name).
    owned: the positions of leaves in objects with state. places: the numbers by their position, as fixed counts them."""

    def __init__(self, tree, numbers=False, opaque=False, leaf=None, fixed=(), counters=(), ordered=False):
        self.leaves, self.objects, self.seen, self.owned = [], [], {}, set()
        self.numbers, self.opaque, self.leaf, self.fixed = numbers, opaque, leaf, fixed
        self.counters, self.places, self.skipped, self.ordered = counters, {}, 0, ordered
        self.structure = self.parts(tree)

    def parts(self, tree):
        kind = type(tree)
        if kind is Array or self.leaf and self.leaf(tree):
            self.leaves.append(tree)
            return "*"
        if kind is list or kind is tuple:
            return (kind, tuple([self.parts(item) for item in tree]))
        if kind is dict:
            return (kind, tuple([(key, self.parts(tree[key])) for key in (sorted(tree, key=_rank) if self.ordered else tree)]))
        if tree is None or kind is str or kind is bool:
            return ("=", Constant(tree))
        if kind is Constant:
            return ("=", tree)
        if self.numbers and isinstance(tree, _NUMBERS):
            return self.number(tree, kind)
        if kind in _registered:
            children, data = _registered[kind][0](tree)
            return (kind, (Constant(data), tuple([self.parts(item) for item in children])))
        if isinstance(tree, dict):  # of another type, whose iteration may differ
            return (kind, tuple([(key, self.parts(item)) for key, item in tree.items()]))
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return (kind, tuple([self.parts(item) for item in tree]))
        if hasattr(kind, "__dataclass_fields__") and not isinstance(tree, type):
            return (kind, tuple([(name, self.parts(getattr(tree, name))) for name in kind.__dataclass_fields__]))
        if kind.__module__ == "numpy" and hasattr(tree, "__array__"):
            self.leaves.append(_ingot.asarray(tree))
            return "*"
        if holds_state(tree):
            return self.state(tree, kind)
        return ("=", Constant(tree))

    def number(self, tree, kind):
        if kind not in _NUMBERS:  # numpy.float64 is a float, an IntEnum is a constant
            if kind.__module__ != "numpy":
                return ("=", Constant(tree))
            kind = float if isinstance(tree, float) else complex
            tree = kind(tree)
        if kind is int and not -2 ** 63 <= tree < 2 ** 63:
            return ("=", Constant(tree))
        at = len(self.leaves) + self.skipped
        if at in self.fixed:
            self.skipped += 1
            return ("=", Constant(tree))
        self.places[len(self.leaves)] = at
        self.leaves.append(tree)
        return kind

    def state(self, tree, kind):
        if self.opaque:
            return ("=", _Same(tree))
        if id(tree) in self.seen:
            return (_Again, self.seen[id(tree)])
        self.seen[id(tree)] = number = len(self.objects)
        self.objects.append(tree)
        before, self.numbers, first = self.numbers, False, len(self.leaves)
        parts = tuple([(name, self.counter(item) if (number, name) in self.counters else self.parts(item))
                       for name, item in vars(tree).items()])
        self.numbers = before
        self.owned.update(range(first, len(self.leaves)))
        return (kind, (_State, parts))


    def counter(self, value):
        if type(value) not in (int, float):
            return self.parts(value)
        self.leaves.append(value)
        return type(value)


def _rank(key):
    """The order of keys: numbers, then texts, then others by their text."""
    return (0, key, "") if isinstance(key, (int, float)) else (1, 0, key) if isinstance(key, str) else (2, 0, str(key))


class _Same:
    """A reference to an object, equal to others to the same."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self):
        return id(self.value)


class _Again:
    """The kind of an object with state that has been met before; its parts are the object's number."""


_State = "state"  # marks the parts of an object with state


class Builder:
    """Makes a container of a structure and an iterator of leaves. Objects with state are copies."""

    def __init__(self, leaves):
        self.leaves, self.objects = iter(leaves), []

    def build(self, structure):
        if type(structure) is not tuple:
            return next(self.leaves)
        kind, items = structure
        if kind == "=":
            return items.value
        if kind is dict:
            return {key: self.build(item) for key, item in items}
        if kind is list or kind is tuple:
            return kind([self.build(item) for item in items])
        if kind is _Again:
            return self.objects[items]
        if items and items[0] is _State:
            return self.state(kind, items[1])
        if kind in _registered:
            return _registered[kind][1](items[0].value, [self.build(item) for item in items[1]])
        if issubclass(kind, tuple):
            return kind(*[self.build(item) for item in items])
        if issubclass(kind, dict):
            return self.named(kind, {key: self.build(item) for key, item in items})
        made = object.__new__(kind)
        for name, item in items:
            object.__setattr__(made, name, self.build(item))
        return made

    def named(self, kind, items):
        """A dict of another type: as a result, a plain one."""
        return items

    def state(self, kind, parts):
        made = object.__new__(kind)
        self.objects.append(made)
        vars(made).update((name, self.build(item)) for name, item in parts)
        return made


class Given(Builder):
    """The arguments of a call of a function: containers are new, objects with state are the caller's, with the leaves as their
    attributes until close."""

    def __init__(self, structure, leaves, objects):
        super().__init__(leaves)
        self.source, self.saved = iter(objects), []
        self.tree = self.build(structure)

    def named(self, kind, items):
        made = kind.__new__(kind)
        dict.update(made, items)
        return made

    def state(self, kind, parts):
        tree = next(self.source)
        self.objects.append(tree)
        store = vars(tree)
        for name, part in parts:
            value, original = self.build(part), store.get(name)
            flat = Flat(value, opaque=True)
            if value is not original:  # an array, or a container, also an empty one: the function may fill it
                store[name] = value
            self.saved.append((tree, name, original, flat.structure, [_ingot._again(x) for x in flat.leaves]))
        return tree

    def close(self, keep=True):
        """Restores the attributes that the function has not changed. Returns the others: (number of the object, name, value,
        original). They are restored, too, unless keep."""
        changes, names = [], {id(tree): set() for tree in self.objects}
        for tree, name, original, structure, kept in self.saved:
            store = vars(tree)
            names[id(tree)].add(name)
            if name not in store:
                continue
            value, store[name] = store[name], original
            flat = Flat(value, opaque=True)
            if flat.structure != structure or not all(map(_ingot._same, flat.leaves, kept)):
                changes.append((tree, name, value, original))
        for tree in self.objects:
            changes += [(tree, name, vars(tree).pop(name), None) for name in list(vars(tree)) if name not in names[id(tree)]]
        if keep:
            for tree, name, value, _ in changes:
                vars(tree)[name] = value
        return [(next(i for i, x in enumerate(self.objects) if x is tree), *rest) for tree, *rest in changes]


def flatten(tree, numbers=False):
    """The arrays of a container in order, and its structure, which unflatten takes."""
    flat = Flat(tree, numbers)
    return flat.leaves, flat.structure


def unflatten(structure, leaves):
    """The container of a structure with these leaves."""
    return Builder(leaves).build(structure)


def count(structure):
    """The number of leaves of a structure."""
    numbers = counter()
    unflatten(structure, numbers)
    return next(numbers)


def leaves_like(structure, tree, what):
    """The leaves of a container in the order of a structure, which it must have; dicts may have another order of keys."""
    found = []
    _collect(structure, tree, found, what)
    return found


def _collect(structure, tree, found, what):
    if type(structure) is not tuple:
        found.append(_ingot.asarray(tree))
        return
    kind, items = structure
    if kind == "=":
        return
    if issubclass(kind, dict) and kind not in _registered:
        if not isinstance(tree, dict) or set(tree.keys()) != {key for key, _ in items}:
            raise ValueError(f"{what}: expected a dict with the keys {[key for key, _ in items]}, not {tree!r:.200}")
        for key, item in items:
            _collect(item, tree[key], found, what)
    elif kind in (list, tuple):
        if not isinstance(tree, (list, tuple)) or len(tree) != len(items):
            raise ValueError(f"{what}: expected a {kind.__name__} of {len(items)}, not {tree!r:.200}")
        for item, one in zip(items, tree):
            _collect(item, one, found, what)
    else:
        leaves, own = flatten(tree, numbers=True)
        if len(leaves) != count(structure):
            raise ValueError(f"{what}: expected a {kind.__name__} with {count(structure)} arrays, not {len(leaves)}")
        found += [_ingot.asarray(x) for x in leaves]


# ---- functions with the names of JAX's ----

def _container(tree):
    kind = type(tree)
    return (tree is None or kind in (list, tuple) or isinstance(tree, dict) or kind in _registered or
            isinstance(tree, tuple) and hasattr(tree, "_fields") or
            hasattr(kind, "__dataclass_fields__") and not isinstance(tree, type) or
            kind is not Array and not kind.__module__.startswith("numpy") and holds_state(tree))


class TreeDef:
    """The structure of a container."""

    def __init__(self, structure):
        self._structure = structure
        self.num_leaves = count(structure)

    def __eq__(self, other):
        return isinstance(other, TreeDef) and self._structure == other._structure

    def __hash__(self):
        return hash(self._structure)

    def __repr__(self):
        return f"TreeDef({unflatten(self._structure, ['*'] * self.num_leaves)!r})"

    def unflatten(self, leaves):
        return tree_unflatten(self, leaves)


def tree_flatten(tree, is_leaf=None):
    """(leaves, structure) of a container; leaves are all values that are not containers. is_leaf(x) makes others leaves."""
    flat = Flat(tree, leaf=lambda x: is_leaf is not None and is_leaf(x) or not _container(x), ordered=True)
    return flat.leaves, TreeDef(flat.structure)


def tree_unflatten(treedef, leaves):
    """The container of a structure with these leaves."""
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError(f"tree_unflatten: the structure has {treedef.num_leaves} leaves, not {len(leaves)}")
    return unflatten(treedef._structure, leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a container."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The structure of a container."""
    return tree_flatten(tree, is_leaf)[1]


def _rows(treedef, leaves, rest, is_leaf):
    """For each leaf of the first container: it and the values at its place in the others."""
    columns = [leaves]
    for tree in rest:
        own, other = tree_flatten(tree, is_leaf)
        if other != treedef:
            own = []
            _subtrees(treedef._structure, tree, own)
        columns.append(own)
    return zip(*columns)


def _subtrees(structure, tree, found):
    if type(structure) is not tuple:
        found.append(tree)
        return
    kind, items = structure
    named = kind != "=" and issubclass(kind, dict) and kind not in _registered
    same = isinstance(tree, dict) if named else kind == "=" or type(tree) is kind
    if same and named:
        same = set(tree.keys()) == {key for key, _ in items}
    elif same and kind in (list, tuple):
        same = len(tree) == len(items)
    if not same:
        raise ValueError(f"tree_map: the containers differ: {tree!r:.200} is no {getattr(kind, '__name__', kind)} as in the first")
    if named:
        for key, item in items:
            _subtrees(item, tree[key], found)
    elif kind in (list, tuple) or kind != "=" and issubclass(kind, tuple):
        for item, one in zip(items, tree):
            _subtrees(item, one, found)
    elif kind in _registered:
        for item, one in zip(items[1], _registered[kind][0](tree)[0]):
            _subtrees(item, one, found)
    elif kind != "=" and kind is not _Again:
        for name, item in items[1] if items and items[0] is _State else items:
            _subtrees(item, getattr(tree, name), found)


def tree_map(f, tree, *rest, is_leaf=None):
    """The container with f applied to its leaves, and to the values at the same places of other containers."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    return unflatten(treedef._structure, [f(*row) for row in _rows(treedef, leaves, rest, is_leaf)])


def tree_eval(trees):
    """Computes all arrays in some containers; returns the container if there is one."""
    leaves = Flat(trees).leaves
    if not leaves and trees:
        raise TypeError(f"eval takes arrays and containers of arrays, not {', '.join(type(t).__name__ for t in trees)}")
    _ingot.eval(*leaves)
    return trees[0] if len(trees) == 1 else None


def tree_reduce(function, tree, *initializer, is_leaf=None):
    """function applied to the leaves one after another, as functools.reduce does."""
    from functools import reduce
    return reduce(function, tree_leaves(tree, is_leaf), *initializer)


def tree_all(tree, is_leaf=None):
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose):
    """A container of containers, with the outer structure inside."""
    flat = tree_flatten(pytree_to_transpose)[0]
    n = inner_treedef.num_leaves
    rows = [flat[i * n:(i + 1) * n] for i in range(outer_treedef.num_leaves)]
    return tree_unflatten(inner_treedef, [tree_unflatten(outer_treedef, column) for column in zip(*rows)])


def all_leaves(iterable, is_leaf=None):
    """Whether no value is a container."""
    return all(is_leaf is not None and is_leaf(x) or not _container(x) for x in iterable)


def register_static(cls):
    """Makes objects of a class constants."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls


def register_dataclass(nodetype, data_fields=None, meta_fields=(), drop_fields=()):
    """Makes a class a container of data_fields; meta_fields are constants. Without them all fields of a dataclass are leaves."""
    if data_fields is None:
        data_fields = [name for name in nodetype.__dataclass_fields__ if name not in (*meta_fields, *drop_fields)]

    def parts(x):
        return [getattr(x, name) for name in data_fields], tuple(getattr(x, name) for name in meta_fields)

    register_pytree_node(nodetype, parts, lambda meta, data: nodetype(**dict(zip(data_fields, data)), **dict(zip(meta_fields, meta))))
    return nodetype


PyTreeDef = TreeDef


def _partial():
    """Partial, whose module takes some ms to import."""
    from functools import partial

    class Partial(partial):
        """A function with its first arguments, as functools.partial. The arguments are leaves, also in containers; the function is constant."""

    Partial.__module__, Partial.__qualname__ = __name__, "Partial"
    register_pytree_node(Partial, lambda p: ((p.args, p.keywords), p.func), lambda func, given: Partial(func, *given[0], **given[1]))
    return Partial


_PATHS = "DictKey SequenceKey GetAttrKey FlattenedIndexKey keystr tree_flatten_with_path tree_leaves_with_path tree_map_with_path".split()


def __getattr__(name):
    if name in _PATHS:
        from . import _tree_paths
        return getattr(_tree_paths, name)
    if name == "Partial":
        globals()[name] = _partial()
        return globals()[name]
    from . import _names
    return _names.adviser(__name__, "tree_util.")(name)
