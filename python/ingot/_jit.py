"""jit: a function is called once with arrays without elements, and becomes a plan for all arguments of the same structure,
shapes and dtypes.

A plan is also for the default dtype and the default device that a function was traced with. Inputs of a plan are the arrays of the arguments, Python's floats, integers and complex numbers, the arrays of objects with
state (modules) in the arguments, arrays and objects that the function uses from outside (its closure, globals and self), and
the key of random functions that take none. State that the function changes is a result of the plan."""
import types
from _functools import partial  # of functools, without the module

from . import _ingot, _names
from ._ingot import Array
from .tree_util import Constant, Flat, Given, _is_state, holds_state, unflatten, wraps
from .transform import Trace

MOST_PLANS = 64


class _Counts(Exception):
    """The function changes a number that is an attribute of an object with state, so the number becomes an input."""


class _Plan:
    """compiled: the plan. changes: (number of an object, attribute, structure of its new value; int or float for a number).
    keyed: whether the plan takes and gives the key of random functions."""

    def __init__(self, compiled, structure, changes, keyed):
        self.compiled, self.structure, self.changes, self.keyed = compiled, structure, changes, keyed

    def run(self, leaves, objects):
        made = iter(self.compiled.run(leaves + [_names.current_key()] if self.keyed else leaves))
        result = unflatten(self.structure, made)
        for number, name, structure in self.changes:
            vars(objects[number])[name] = structure(next(made)) if structure in (int, float) else unflatten(structure, made)
        if self.keyed:
            _names.set_key(next(made))
        return result


class _Outside:
    """Finds the places of arrays and objects with state that a function uses from outside."""

    def __init__(self, function):
        self.found, self.seen = [], set()
        self.visit(function)

    def visit(self, function):
        if not isinstance(function, (types.FunctionType, types.MethodType, partial)):
            self.value(function, None)
            return
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        if isinstance(function, partial):
            for value in (function.func, *function.args, *function.keywords.values()):
                self.value(value, None)
            return
        if isinstance(function, types.MethodType):
            self.value(function.__self__, None)
            function = function.__func__
        if hasattr(function, "__wrapped__"):
            self.visit(function.__wrapped__)
        for cell in function.__closure__ or ():
            try:
                self.value(cell.cell_contents, (cell, None))
            except ValueError:  # an empty cell
                continue
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.value(value, None)
        space = function.__globals__
        if not str(space.get("__name__", "")).partition(".")[0] == "ingot":
            for name in self.names(function.__code__):
                if name in space:
                    self.value(space[name], (space, name))

    def names(self, code):
        yield from code.co_names
        for one in code.co_consts:
            if isinstance(one, types.CodeType):
                yield from self.names(one)

    def value(self, value, place):
        if isinstance(value, (types.FunctionType, types.MethodType, partial)):
            self.visit(value)
        elif isinstance(value, (types.ModuleType, type)):
            return
        elif holds_state(value):
            if id(value) not in self.seen:
                self.seen.add(id(value))
                self.found.append(place or ({"": value}, ""))
                for kind in type(value).__mro__:
                    if kind.__module__.partition(".")[0] not in ("ingot", "builtins"):
                        for method in vars(kind).values():
                            if isinstance(method, types.FunctionType):
                                self.visit(method)
                for one in vars(value).values():  # modules inside, and functions among layers
                    for item in one.values() if isinstance(one, dict) else one if isinstance(one, (list, tuple)) else (one,):
                        if isinstance(item, (types.FunctionType, types.MethodType, partial)) or holds_state(item):
                            self.inner(item)
        elif place and _is_state(value, 3):
            self.found.append(place)

    def inner(self, item):
        """Finds the arrays and objects that an object inside another one uses; its own arrays belong to the outer object."""
        n = len(self.found)
        self.value(item, None)
        if holds_state(item):
            self.found[n:] = [place for place in self.found[n:] if not (type(place[0]) is dict and place[0].get("") is item)]


def _counts(original, value):
    """Whether an attribute that was a Python number is a number again; in a trace it may be computed."""
    return type(original) in (int, float) and (type(value) is type(original) or _ingot._plain(value) is not value)


def _get(place):
    return place[0][place[1]] if type(place[0]) is dict else place[0].cell_contents


def _set(place, value):
    if type(place[0]) is dict:
        place[0][place[1]] = value
    else:
        place[0].cell_contents = value


class _Compiler:
    """The plans of one function."""

    def __init__(self, function, numbers, names):
        self.function, self.numbers, self.names = function, numbers, names
        self.plans, self.fixed, self.counters, self.known = {}, {}, set(), False
        self.fast = _ingot._jit(self.slow)

    def flat(self, args, kwargs):
        """The arguments and the values from outside. Numbers are leaves, apart from those whose value the function needs."""
        if self.numbers:
            args = tuple(Constant(x) if i in self.numbers or i - len(args) in self.numbers else x for i, x in enumerate(args))
        if self.names:
            kwargs = {key: Constant(x) if key in self.names else x for key, x in kwargs.items()}
        flat = self.parts(args, kwargs, ())
        flat.pattern = flat.structure
        fixed = self.fixed.get(flat.structure)
        return self.parts(args, kwargs, fixed, flat.structure) if fixed else flat

    def parts(self, args, kwargs, fixed, pattern=None):
        flat = Flat((args, kwargs), numbers=True, fixed=fixed, counters=self.counters)
        flat.own, flat.numbers = len(flat.leaves), False
        outside = flat.parts(tuple([_get(place) for place in self.fast.sources]))
        flat.structure = (tuple, flat.structure[1] + (outside,))
        flat.pattern, flat.call = pattern or flat.structure, (args, kwargs)
        flat.key = (flat.structure, _ingot.get_default_dtype(), _ingot.default_device(), *[(x.shape, x.dtype, x.device) if type(x) is Array else None for x in flat.leaves])
        return flat

    def slow(self, args, kwargs):
        """The result, by a plan that is made if there is none."""
        if _ingot._trace_is_open():
            return self.inside(args, kwargs)
        if not self.known:
            self.look()
        flat = self.flat(args, kwargs)
        plan = self.plans.get(flat.key)
        if plan is None:
            if self.look():
                flat = self.flat(args, kwargs)
            plan, flat = self.make(flat)
        if plan.compiled.plain and not plan.changes and not plan.keyed:
            self.fast.keep(plan.compiled)
        return plan.run(flat.leaves, flat.objects)

    def inside(self, args, kwargs):
        """The result in a trace: the function is called, with arrays of its own."""
        flat = Flat((args, kwargs))
        given = Given(flat.structure, map(_ingot._again, flat.leaves), flat.objects)
        try:
            args, kwargs = given.tree
            return self.function(*args, **kwargs)
        finally:
            given.close()

    def look(self):
        """Looks for the places outside; true if they are others than before."""
        self.known = True
        found, before = _Outside(self.function).found, self.fast.sources
        if len(found) == len(before) and all(a[0] is b[0] and a[1] == b[1] or type(a[0]) is dict is type(b[0]) and a[1] == b[1] == ""
                                             and a[0][""] is b[0][""] for a, b in zip(found, before)):
            return False
        self.plans.clear()
        self.fast.forget(None)
        self.fast.sources = tuple(found)
        return True

    def make(self, flat):
        """Traces the function. A number whose value it needs becomes a constant, and so do all if it fails otherwise."""
        fixed, pattern = set(self.fixed.get(flat.pattern, ())), flat.pattern
        while True:
            self.needed = None
            try:
                plan = self.trace(flat)
                break
            except _Counts:  # there is another input
                fixed.clear()
                flat = self.parts(*flat.call, ())
                pattern = flat.pattern
            except Exception:
                if not flat.places or self.needed is not None and self.needed not in flat.places:
                    raise
                fixed.update(flat.places.values() if self.needed is None else [flat.places[self.needed]])
                flat = self.parts(*flat.call, fixed, pattern)
        if fixed:
            self.fixed[pattern] = frozenset(fixed)
        self.plans[flat.key] = plan
        if len(self.plans) > MOST_PLANS:
            oldest = min(self.plans, key=lambda key: self.plans[key].compiled.used)
            self.fast.forget(self.plans.pop(oldest).compiled)
        return plan, flat

    def trace(self, flat):
        """A plan of the function for arguments like these."""
        inputs, owners, seen = [], [], []
        for k, x in enumerate(flat.leaves):
            made, number = ([_ingot._placeholder(x)], None) if type(x) is Array else _ingot._number_placeholder(type(x))
            inputs += made
            owners += [k] * len(made)
            # Arrays from outside are made before the trace begins, so it refuses to change them in place.
            outside = k >= flat.own and k not in flat.owned
            seen.append(number if number is not None else _ingot._again(made[0]) if outside else made[0])
        key, sources = _ingot._placeholder(_names.current_key()), self.fast.sources
        originals = [_get(place) for place in sources]
        with Trace("jit", True, objects=flat.objects):
            seen = [_ingot._again(x) if k < flat.own or k in flat.owned else x for k, x in enumerate(seen)]
            given = Given(flat.structure, seen, flat.objects)
            args, kwargs, outside = given.tree
            try:
                for place, value in zip(sources, outside):
                    _set(place, value)
                _names._traced.key = _ingot._again(key)
                result = Flat(self.function(*args, **kwargs))
                kept = [_get(place) for place in sources]
                last = _names._traced.key
            except Exception:
                at = _ingot._missing(inputs)
                self.needed = owners[at] if at >= 0 and type(flat.leaves[owners[at]]) is not Array else None
                raise
            finally:
                _names._traced.key = None
                for place, value in zip(sources, originals):
                    _set(place, value)
                changed = given.close(keep=False)
        for place, now, value in zip(sources, kept, outside):
            if now is not value:
                raise ValueError(f"jit: the function assigns {place[1] or 'a variable'} outside of it, which calls of the compiled "
                                 "function would not repeat; return the new value")
        keyed = not _ingot._same(last, key)
        changes, outputs = [], [_ingot._plain(x) for x in result.leaves]
        counters = {(number, name) for number, name, value, original in changed
                    if _counts(original, value)} - self.counters
        if counters:
            self.counters |= counters
            raise _Counts
        for number, name, value, original in changed:
            if _counts(original, value):
                changes.append((number, name, type(original)))
                outputs.append(_ingot.asarray(value, dtype=None if type(value) is Array else "int64" if type(value) is int else "float64"))
                continue
            part = Flat(value)
            if not part.leaves:
                raise ValueError(f"jit: the function changes '{name}' of {type(flat.objects[number]).__name__} from {original!r} to "
                                 f"{value!r}. Only arrays can be state: make it an array, or change it outside of jit")
            changes.append((number, name, part.structure))
            outputs += [_ingot._plain(x) for x in part.leaves]
        if keyed:
            inputs, outputs = inputs + [key], outputs + [last]
        compiled = _ingot._compile(inputs, outputs, flat.structure, result.structure)
        return _Plan(compiled, result.structure, changes, keyed)


def _statics(function, numbers, names):
    """Positions and names of static arguments: each of a parameter that is given by the other, as far as the signature says."""
    numbers = {numbers} if isinstance(numbers, int) else set(numbers or ())
    names = {names} if isinstance(names, str) else set(names or ())
    if not numbers and not names:
        return numbers, names
    import inspect  # takes some ms
    try:
        parameters = [p.name for p in inspect.signature(function).parameters.values()
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        return numbers, names
    chosen = {parameters[i] for i in numbers if -len(parameters) <= i < len(parameters)}
    return numbers | {i for i, name in enumerate(parameters) if name in names}, names | chosen


class _Lowered:
    """A compiled function with example arguments, as JAX's f.lower(x): it was called with them, so its plan exists."""

    def __init__(self, function, args, kwargs):
        self._function, self._args, self._kwargs = function, args, kwargs

    def compile(self):
        _ingot.eval(self._function(*self._args, **self._kwargs))
        return self._function

    def as_text(self):
        from .transform import explain
        return str(explain(self._function)(*self._args, **self._kwargs))


def jit(fun=None, static_argnums=(), static_argnames=(), donate_argnums=(), donate_argnames=()):
    """The function, compiled. It is traced once for each structure of its arguments, and for each shape and dtype of the arrays
    in them; later calls run the plan without Python. Floats, integers and complex numbers are inputs, too, unless the function
    needs their values: then each value has a plan. Other values, and arguments of static_argnums and static_argnames, are constants
    of a plan. At most 64 plans are kept. Changes of modules and of the key of random functions are results. donate_argnums and
    donate_argnames are accepted, and have no effect."""
    if fun is None:
        return partial(jit, static_argnums=static_argnums, static_argnames=static_argnames)
    compiler = _Compiler(fun, *_statics(fun, static_argnums, static_argnames))
    call = compiler.fast.call

    def wrapped(*args, **kwargs):
        return call(args, kwargs)

    wraps(fun, isinstance(fun, types.FunctionType))(wrapped)
    wrapped.plans = compiler.plans
    wrapped.lower = lambda *args, **kwargs: _Lowered(wrapped, args, kwargs)
    wrapped.clear_cache = lambda: (compiler.plans.clear(), compiler.fast.forget(None))[1]
    return wrapped
