"""Kernels written in Python, as Numba's users know them: @cuda.jit, cuda.grid(1), kernel[blocks, threads](a, b).

The function's syntax tree becomes CUDA C, which every device runs. docs/PYTHON.md says what functions may contain.
"""
import sys
import types

from . import _cuda_host, _ingot, _names
from . import _cuda_random as random
from ._cuda_calls import BUILTINS
from ._cuda_expressions import COMPLEX, SPECIAL, Builtin, Elements, Record, UnsupportedError, c_name
from ._cuda_host import (Event, Stream, default_stream, event, event_elapsed_time, managed_array, mapped, mapped_array, pinned,
                         pinned_array, stream, synchronize)
from ._cuda_source import function_of
from ._cuda_translate import Function, Program
from ._kernel import Launchable, checked, is_foreign, kernel, write_back

__all__ = ["jit", "kernel", "reduce", "Reduce", "random", "UnsupportedError", "to_device", "device_array", "device_array_like", "synchronize", "is_available",
           "vectorize", "guvectorize", "Event", "Stream", "event", "event_elapsed_time", "stream", "default_stream", "pinned", "mapped", "pinned_array",
           "mapped_array", "managed_array"]

for _name in list(SPECIAL) + BUILTINS:
    _group, _, _rest = _name.replace("atomic_", "atomic.").replace("shared_", "shared.").replace("local_", "local.").replace(
        "const_", "const.").replace("cg_", "cg.").partition(".")
    if _rest:
        globals().setdefault(_group, types.SimpleNamespace())
        setattr(globals()[_group], _rest, Builtin(f"{_group}.{_rest}"))
    else:
        globals()[_group] = Builtin(_group)

FULL_MASK = 0xFFFFFFFF
for _dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"):
    globals()[_dtype] = getattr(_ingot, _dtype)


def _type(value):
    """The type of an argument: Elements, the name of a dtype, or "float" for a float that has no dtype."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "int64" if isinstance(value, int) else "float"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if getattr(value.dtype, "names", None):
            return Elements(_record(value.dtype), len(value.shape))
        name = _ingot.dtype(value.dtype).name
        if name in COMPLEX and not len(value.shape):
            raise UnsupportedError("a kernel takes complex numbers in arrays: pass an array of one element, or both parts")
        return Elements(name, len(value.shape)) if len(value.shape) else name
    raise UnsupportedError(f"kernels take arrays and numbers, not {type(value)}")


def _bytes_of(array):
    """The bytes of an array of structures."""
    import numpy
    return numpy.ascontiguousarray(array).reshape(-1).view("uint8")


class _Bytes:
    """An array of structures, which gets its elements from their bytes."""
    dtype = "uint8"

    def __init__(self, array):
        self.array, self.shape = array, (array.size * array.dtype.itemsize,)

    def __setitem__(self, _, data):
        self.array[...] = data.view(self.array.dtype).reshape(self.array.shape)


def _record(dtype):
    """A structured dtype of NumPy, whose fields must be where C has them."""
    fields, end, widest = [], 0, 1
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        try:
            kind = _ingot.dtype(inner).name
        except TypeError:
            raise UnsupportedError(f"the field {name} of a structure is {inner}; kernels take fields of numbers") from None
        unit = inner.itemsize // (2 if kind in COMPLEX else 1)
        if offset != -(-end // unit) * unit or not name.isidentifier():
            break
        fields.append((name, kind))
        end, widest = offset + inner.itemsize, max(widest, unit)
    if len(fields) < len(dtype.names) or dtype.itemsize != -(-end // widest) * widest:
        raise UnsupportedError(f"the fields of {dtype} are not where C has them; use numpy.dtype(..., align=True)")
    return Record("ingot_" + "_".join(f"{name}_{kind}" for name, kind in fields), tuple(fields))


class Compiled:
    """A kernel for one signature."""

    def __init__(self, function, signature, check):
        dtypes = [t.dtype if isinstance(t, Elements) else t for t in signature]
        records = [t for t in dtypes if isinstance(t, Record)]
        dtypes = [t for t in dtypes if isinstance(t, str)] + [t for r in records for _, t in r.fields]
        narrow = any(t in ("float32", "float16", "bfloat16", "complex64") for t in dtypes) and not {"float64", "complex128"} & set(dtypes)
        program = Program("float32" if narrow else "float64", check)
        for r in records:
            program.records[r.name] = f"struct {r.name} {{ {' '.join(f'{c_name(t)} {n};' for n, t in r.fields)} }};"
        arguments = [program.real if t == "float" else t for t in signature]
        arguments = ["float32" if t in ("float16", "bfloat16") else t for t in arguments]
        made = Function(program, function, arguments, function.__name__ + "_kernel")
        last = made.translate("__global__")
        self.source, self.name, self.file = program.text(last), made.name, made.file
        self.waits = program.waits
        self.written = [p in made.written for p in made.params]
        self.pointers = []  # for each parameter of the source, whether it is a pointer
        for t in arguments:
            self.pointers += [True] + [False] * t.ndim if isinstance(t, Elements) else [False]
        self.pointers += [True] * (not any(self.written))
        self.arguments = arguments


class Dispatcher(Launchable):
    """A function as a kernel, compiled for each signature: self[blocks, threads](...), self.forall(n)(...)."""

    def __init__(self, function, device=False, check=True):
        self.function, self.device, self.check = function, device, check
        self._compiled = {}
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function

    def __repr__(self):
        return f"<{'device function' if self.device else 'kernel'} {self.__name__}>"

    def __call__(self, *args):
        raise TypeError(f"{self.__name__} is a device function: only kernels call it" if self.device else
                        f"launch a kernel with {self.__name__}[blocks, threads](...)")

    def compiled(self, *args):
        """The kernel for arguments of these types; its .source is CUDA C."""
        signature = tuple(map(_type, args))
        if signature not in self._compiled:
            self._compiled[signature] = Compiled(self.function, signature, self.check)
        return self._compiled[signature]

    def forall(self, n, tpb=0, stream=0, sharedmem=0):
        """A launch of at least n threads along x."""
        threads = tpb or 256
        return self[max(1, -(-int(n) // threads)), threads, stream, sharedmem]

    def _launch(self, grid, block, shared, args, kwargs):
        if self.device or kwargs:
            raise TypeError("device functions are not launched" if self.device else "arguments by name are not supported")
        kernel = self.compiled(*args)
        device = next((a.device for a in args if isinstance(a, _ingot.Array)), None)
        defines = ("INGOT_BLOCKS",) if kernel.waits and grid != (1, 1, 1) else ()
        if defines and ((device or _ingot.default_device()) != "cpu" or self.check == "all"):
            raise UnsupportedError(f"kernel {self.__name__}: grid.sync() waits for all blocks, which run at the same time only on the CPU "
                                   "and without check='all'; launch one block, or make a kernel of each part")
        values, targets, pairs = [], [], []
        for value, type, written in zip(args, kernel.arguments, kernel.written):
            paired = isinstance(type, Elements) and type.dtype in COMPLEX and isinstance(value, _ingot.Array)
            if paired:  # the struct of the source reads both parts
                values += [_ingot._ops["stack"]([value.real, value.imag], -1), *value.shape]
            elif isinstance(type, Elements) and (isinstance(type.dtype, Record) or type.dtype in COMPLEX):
                values += [_ingot.asarray(_bytes_of(value), device=device), *map(int, value.shape)]
                value = _Bytes(value)
            elif isinstance(type, Elements):
                values += [_ingot.asarray(value, device=device) if is_foreign(value) else value, *map(int, value.shape)]
            elif isinstance(value, _ingot.Array):
                values.append(value)
            else:
                number = value.item() if hasattr(value, "item") else value
                values.append(float(number) if type.startswith("float") else number)
            if written:
                if any(value is t or getattr(value, "array", value) is getattr(t, "array", t) for t in targets):
                    raise ValueError(f"kernel {self.__name__} writes to two parameters that are the same array")
                targets.append(value)
                pairs.append(paired)
        if not targets:  # it only prints: nothing else would run it
            targets = [_ingot._ops["zeros"]((1,), dtype=_ingot.int32)]
            values += targets if device is None else [targets[0].to(device)]
        if self.check == "all":
            results = checked(kernel.source, kernel.file, kernel.name, values, kernel.pointers, grid, block, shared, defines)
        else:
            results = _ingot._kernel(kernel.source, kernel.file, kernel.name, tuple(values), grid, block, shared, defines, ())
        results = [_ingot._ops["complex"](r[..., 0], r[..., 1]) if paired else r for r, paired in zip(results, pairs)] or results
        write_back(targets, results)
        if any(kernel.written):
            _cuda_host.note(targets)
        else:
            targets[0].numpy()


def jit(function=None, *, device=False, check=True, **options):
    """Makes a kernel of a function: @cuda.jit; or, with device=True, a function that kernels call. An index out of bounds
    raises IndexError when the result is evaluated. check=False leaves these tests out. check="all" runs the kernel at
    once on the CPU, slowly, and also finds races, divergent barriers, reads of memory without a value and endless loops.

    The text of a function can stand for it: cuda.jit("def f(x): ..."). It uses the caller's global names.

    A signature and options of Numba's compiler, such as fastmath, are accepted and ignored: types come from the arguments
    of a launch. debug=True also prints the first index that is out of bounds, and its size, to standard output."""
    unknown = set(options) - {"fastmath", "cache", "inline", "opt", "debug", "lineinfo", "max_registers", "boundscheck"}
    if unknown:
        raise TypeError(f"cuda.jit has no option {', '.join(sorted(unknown))}")
    if check not in (True, False, "all"):
        raise ValueError(f'check is True, False or "all", not {check!r}')
    if check != "all" and (options.get("debug") or options.get("boundscheck")):
        check = "print" if options.get("debug") else True
    if isinstance(function, str) and "def " in function:
        function = function_of(function, sys._getframe(1).f_globals)
    if isinstance(function, types.FunctionType):
        return Dispatcher(function, device, check)
    return lambda inner: Dispatcher(inner, device, check)


def reduce(function):
    """Makes a reduction of a function of two numbers: @cuda.reduce."""
    return Reduce(function)


def to_device(array, stream=0, copy=True, to=None):
    """A copy of an array on the current device."""
    return _ingot.asarray(array, copy=True)


def device_array(shape, dtype="float64"):
    """An array of zeros."""
    return _ingot._ops["zeros"](shape if isinstance(shape, tuple) else (shape,), dtype=_ingot.dtype(dtype))


def device_array_like(array):
    return device_array(tuple(array.shape), array.dtype)


def is_available():
    """Whether there is an NVIDIA GPU. Kernels run without one, too: on the CPU and on every other device."""
    return any(row["name"].startswith("cuda:") for row in _ingot._devices())


def _copy_to_host(self, ary=None, stream=0):
    """The elements as a new NumPy array, or in ary."""
    if ary is None:
        return self.numpy().copy()
    ary[...] = self.numpy()
    return ary


__getattr__ = _names.adviser(__name__, "cuda.")
_ingot.Array.copy_to_host = _copy_to_host
sys.modules[__name__ + ".random"] = random  # as Numba has it

from ._cuda_reduce import Reduce  # noqa: E402  (its kernels use this module)
from ._cuda_vectorize import guvectorize, vectorize  # noqa: E402, F401
