"""cuda.vectorize and cuda.guvectorize: functions of numbers or rows, applied to arrays that are broadcast."""
import re

from . import _ingot, cuda
from ._cuda_expressions import UnsupportedError
from ._cuda_source import function_of
from ._cuda_translate import Function, Program

TYPES = {"bool": "bool", "bool_": "bool", "boolean": "bool", "b1": "bool", "float": "float32", "double": "float64", "int_": "int64",
         "intp": "int64", "intc": "int32", "uint": "uint64", "uintp": "uint64", "uintc": "uint32", "short": "int16",
         "float_": "float64", "f2": "float16"}
for _bits in (8, 16, 32, 64):
    for _letter, _kind in (("i", "int"), ("u", "uint"), ("f", "float")):
        if (_kind, _bits) != ("float", 8):
            TYPES[f"{_letter}{_bits // 8}"] = TYPES[f"{_kind}{_bits}"] = f"{_kind}{_bits}"
AS_READ = {"float16": "float32", "bfloat16": "float32"}  # the type of an element in a kernel


def parse(text):
    """A signature such as "void(float32[:], int32)": the result's dtype or None, and (dtype, axes) of each parameter."""
    text = str(text)
    if "->" in text:  # a signature of Numba's types
        text = re.sub(r"[Aa]rray\((\w+), (\d)d?[^()]*\)", lambda m: f"{m[1]}[{', '.join(':' * int(m[2]))}]", text)
        text = re.sub(r"^(\(.*\)) -> (\w+)$", lambda m: m[2].replace("none", "void") + m[1].replace(",)", ")"), text)
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text)
    if not match:
        raise ValueError(f"{text!r} is not a signature: write \"float32(float32, float32)\"")
    words = re.findall(r"(\w+)\s*(\[[^\]]*\])?", match[2])
    unknown = [w for w in [match[1], *(name for name, _ in words)] if w not in TYPES and w != "void"]
    if unknown or any(name == "void" for name, _ in words):
        raise ValueError(f"{text!r}: {(unknown or ['void'])[0]} is not a type of a number")
    return TYPES.get(match[1]), [(TYPES[name], axes.count(",") + 1 if axes else 0) for name, axes in words]


def dtype_of(value):
    """The dtype of an argument; for numbers of Python, their type."""
    return value.dtype if hasattr(value, "dtype") else bool if isinstance(value, bool) else int if isinstance(value, int) else float


def fits(value, dtype):
    """Whether an argument can be cast to a dtype without a loss. Numbers of Python fit each dtype of their kind."""
    given, to = dtype_of(value), _ingot.dtype(dtype).name
    if given is bool:
        return True
    if given is int or given is float:  # dtypes are equal to Python's types
        return to.startswith("float") or given is int and to != "bool"
    given = given.name
    if given == to:
        return True
    kinds = {"b": 0, "u": 1, "i": 2, "f": 3}
    a, b = kinds.get(given[0], 4), kinds.get(to[0], 4)  # complex numbers and bfloat16 are cast to nothing
    bits = [int(re.sub(r"\D", "", n) or 8) for n in (given, to)]
    return a == 0 or a == b != 4 and bits[0] <= bits[1] or a < b < 4 and (bits[0] < bits[1] or bits[0] == bits[1] == 64 and b == 3)


def launch(kernel, count, arguments):
    if count:
        kernel.forall(count)(*arguments)


class Broadcast:
    """The common part of functions of numbers and of rows: arguments, the choice of a signature, results."""

    def __init__(self, function, signatures):
        self.function = getattr(function, "function", function)
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, self.function
        self.signatures = [parse(s) for s in ([signatures] if isinstance(signatures, str) else signatures)]
        self.types = [str(s) for s in ([signatures] if isinstance(signatures, str) else signatures)]

    def __repr__(self):
        return f"<{type(self).__name__.lower()} function {self.__name__}>"

    def kernel(self, kind, params, body):
        """A kernel with a line for each element or row."""
        name = f"{self.__name__}_{kind}"
        text = f"def {name}({', '.join(params)}):\n    i = cuda.grid(1)\n    if i < {params[-1]}.shape[0]:\n        {body}\n"
        return cuda.Dispatcher(function_of(text, {"cuda": cuda, "inner": self.function}))

    def taken(self, args):
        """Arrays and numbers of Python, all arrays on one device; and whether no argument was an Array."""
        host = not any(isinstance(a, _ingot.Array) for a in args)
        device = next((a.device for a in args if isinstance(a, _ingot.Array)), None)
        made = [a if type(a) in (_ingot.Array, bool, int, float) else _ingot.asarray(a, device=device) for a in args]
        return made, host, device

    def chosen(self, values):
        for result, params in self.signatures:
            if len(params) >= len(values) and all(fits(v, p[0]) for v, p in zip(values, params)):
                return result, params
        given = ", ".join(getattr(dtype_of(v), "__name__", None) or dtype_of(v).name for v in values)
        raise TypeError(f"{self.__name__} has no signature for ({given}); it has {', '.join(self.types)}")

    def zeros(self, shape, dtype, device):
        made = _ingot._ops["zeros"](tuple(shape), dtype=_ingot.dtype(dtype))
        return made if device is None else made.to(device)

    def store(self, out, result, shape, host):
        """The result, in out if it is given, as NumPy's array or number if no argument was an Array."""
        result = result.reshape(shape)
        if out is None:
            return result if not host else result.numpy() if shape else result.numpy()[()]
        if tuple(out.shape) != tuple(shape) or _ingot.dtype(out.dtype) != result.dtype:
            raise ValueError(f"{self.__name__}: out is {_ingot.dtype(out.dtype).name}{tuple(out.shape)}, the result "
                             f"{result.dtype.name}{tuple(shape)}")
        if isinstance(out, _ingot.Array):
            _ingot._replace(out, result.to(out.device))
        else:
            out[...] = result.numpy()
        return out


class Vectorized(Broadcast):
    """A function of numbers that takes arrays: see cuda.vectorize."""

    def __init__(self, function, signatures):
        super().__init__(function, signatures)
        self.nin = self.function.__code__.co_argcount
        for text, (result, params) in zip(self.types, self.signatures):
            if result is None or len(params) != self.nin or any(axes for _, axes in params):
                raise ValueError(f"{self.__name__}: the signature {text} needs a result and {self.nin} numbers")
        names = [f"a{k}" for k in range(self.nin)]
        self._kernel = self.kernel("elements", names + ["out"], f"out[i] = inner({', '.join(f'{n}[i]' for n in names)})")
        self._results = {}

    def result(self, dtypes):
        """The dtype of the result for arguments of these dtypes."""
        if dtypes not in self._results:
            real = "float32" if any(t in ("float32", *AS_READ) for t in dtypes) and "float64" not in dtypes else "float64"
            made = Function(Program(real), self.function, [AS_READ.get(t, t) for t in dtypes], self.__name__)
            made.translate("__device__")
            if not isinstance(made.result, str) or made.result == "complex":
                raise UnsupportedError(f"{self.__name__} must return one real number")
            self._results[dtypes] = made.result
        return self._results[dtypes]

    def __call__(self, *args, out=None):
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, not {len(args)}")
        values, host, device = self.taken(args)
        if self.signatures:
            result, params = self.chosen(values)
            dtypes = tuple(p[0] for p in params)
        else:
            names = [v.dtype.name for v in values if isinstance(v, _ingot.Array)]
            real = "float32" if any(t in ("float32", *AS_READ) for t in names) and "float64" not in names else "float64"
            python = {bool: "bool", int: "int64", float: real}
            dtypes = tuple(v.dtype.name if isinstance(v, _ingot.Array) else python[type(v)] for v in values)
            result = self.result(dtypes)
        arrays = [_ingot.asarray(v, dtype=_ingot.dtype(t), device=device) for v, t in zip(values, dtypes)]
        arrays = list(_ingot._ops["broadcast_arrays"](arrays)) if len(arrays) > 1 else arrays
        shape = tuple(arrays[0].shape)
        made = self.zeros((arrays[0].size,), result, device)
        launch(self._kernel, made.size, [a.reshape(-1) for a in arrays] + [made])
        return self.store(out, made, shape, host)


class Guvectorized(Broadcast):
    """A function of rows that takes arrays with more axes: see cuda.guvectorize."""

    def __init__(self, function, signatures, layout):
        super().__init__(function, signatures)
        sides = layout.replace(" ", "").split("->")
        if len(sides) != 2 or not all(re.fullmatch(r"\([\w,]*\)(,\([\w,]*\))*", s) for s in sides):
            raise ValueError(f"{layout!r} is not a layout: write \"(m,n),(n)->(m)\"")
        self.layout = layout
        self.inputs, self.outputs = ([tuple(filter(None, g.split(","))) for g in re.findall(r"\(([\w,]*)\)", s)] for s in sides)
        count = len(self.inputs) + len(self.outputs)
        for text, (result, params) in zip(self.types, self.signatures):
            if result is not None or len(params) != count:
                raise ValueError(f"{self.__name__}: the signature {text} is not void with {count} parameters")
            for (_, axes), dims in zip(params, self.inputs + self.outputs):
                if axes != len(dims) and (dims or axes != 1):
                    raise ValueError(f"{self.__name__}: the signature {text} and the layout {layout} have different axes")
        names = [f"a{k}" for k in range(count)]
        self._kernel = self.kernel("rows", names, f"inner({', '.join(f'{n}[i]' for n in names)})")

    def sizes(self, arrays):
        """The core sizes by name, and the shape of the loop."""
        sizes, loops = {}, []
        for a, dims in zip(arrays, self.inputs):
            if len(a.shape) < len(dims):
                raise ValueError(f"{self.__name__}: {self.layout} needs {len(dims)} axes, not {len(a.shape)}")
            core = len(a.shape) - len(dims)
            loops.append(tuple(a.shape)[:core])
            for name, n in zip(dims, tuple(a.shape)[core:]):
                if sizes.setdefault(name, int(name) if name.isdigit() else n) != n:
                    raise ValueError(f"{self.__name__}: {name} of {self.layout} is {sizes[name]} and {n}")
        loop = ()
        for other in loops:
            n = max(len(loop), len(other))
            pairs = list(zip((1,) * (n - len(loop)) + loop, (1,) * (n - len(other)) + other))
            if any(a != b and 1 not in (a, b) for a, b in pairs):
                raise ValueError(f"{self.__name__}: the axes before the rows do not broadcast: {loop} and {other}")
            loop = tuple(b if a == 1 else a for a, b in pairs)
        return sizes, loop

    def __call__(self, *args, out=None):
        nin, nout = len(self.inputs), len(self.outputs)
        outs = list(args[nin:]) or ([None] * nout if out is None else list(out) if isinstance(out, tuple) else [out])
        if len(args) < nin or len(outs) != nout:
            raise TypeError(f"{self.__name__} takes {nin} arrays, and {nout} for results or none; {len(args)} were given")
        values, host, device = self.taken(args[:nin])
        host = host and not any(isinstance(o, _ingot.Array) for o in outs)
        if self.signatures:
            params = self.chosen(values)[1]
        elif all(o is not None for o in outs):
            arrays = [_ingot.asarray(v) for v in values]
            params = [(a.dtype.name, len(d)) for a, d in zip(arrays, self.inputs)]
            params += [(_ingot.dtype(o.dtype).name, len(d) or 1) for o, d in zip(outs, self.outputs)]
        else:
            raise TypeError(f"{self.__name__} has no signatures, so that the dtypes of results are unknown: pass arrays for them")
        arrays = [_ingot.asarray(v, dtype=_ingot.dtype(p[0]), device=device) for v, p in zip(values, params)]
        sizes, loop = self.sizes(arrays)
        count, rows, results = 1, [], []
        for n in loop:
            count *= n
        for a, dims, (_, axes) in zip(arrays, self.inputs, params):
            core = tuple(sizes[d] for d in dims)
            rows.append(_ingot._ops["broadcast_to"](a, loop + core).reshape((count, *(core or (1,) * axes))))
        for dims, (dtype, axes) in zip(self.outputs, params[nin:]):
            unknown = [d for d in dims if d not in sizes and not d.isdigit()]
            if unknown:
                raise ValueError(f"{self.__name__}: no argument has the size {unknown[0]} of {self.layout}")
            core = tuple(sizes.get(d) or int(d) if d.isdigit() else sizes[d] for d in dims)
            results.append((self.zeros((count, *(core or (1,))), dtype, device), loop + core))
        launch(self._kernel, count, rows + [r for r, _ in results])
        made = [self.store(o, r, shape, host) for o, (r, shape) in zip(outs, results)]
        return made[0] if nout == 1 else tuple(made)


def vectorize(signatures=(), *, target="cuda", **options):
    """Makes a function of numbers one of arrays, which are broadcast: @cuda.vectorize(["float32(float32, float32)"]), or
    @cuda.vectorize, whose types follow from the arguments. Arrays of NumPy give such arrays, others lazy ones."""
    if callable(signatures):
        return Vectorized(signatures, ())
    return lambda function: Vectorized(function, signatures)


def guvectorize(signatures, layout=None, *, target="cuda", **options):
    """Makes a function of rows one of arrays with more axes: @cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->()").
    The last parameters are the results, which the function writes. With the layout only, arrays for results are passed."""
    if layout is None:
        signatures, layout = (), signatures
    return lambda function: Guvectorized(function, signatures, layout)
