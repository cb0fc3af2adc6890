"""Kernels in CUDA C as objects: kernel(source)[blocks, threads](...). Launch code that cuda.jit shares."""
from . import _ingot


def extent(value, what):
    """Blocks or threads as three numbers."""
    try:
        sizes = tuple(int(v) for v in value) if isinstance(value, (tuple, list)) else (int(value),)
    except TypeError:
        raise TypeError(f"{what} are one to three integers, not {value!r}") from None
    if not 1 <= len(sizes) <= 3 or not all(0 < v < 1 << 31 for v in sizes):
        raise ValueError(f"{what} are one to three positive integers, not {value!r}")
    return sizes + (1,) * (3 - len(sizes))


class Launchable:
    """Something with a launch: self[blocks, threads] is the function of its arguments that runs it."""

    def __getitem__(self, launch):
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            raise TypeError("a launch is kernel[blocks, threads] or kernel[blocks, threads, stream, bytes of shared memory]")
        grid, block = extent(launch[0], "blocks"), extent(launch[1], "threads")
        shared = int(launch[3]) if len(launch) == 4 else 0
        return lambda *args, **kwargs: self._launch(grid, block, shared, args, kwargs)


def is_foreign(value):
    """Whether value is an array of NumPy or of another library: it has a shape and a dtype, but is not ours."""
    return not isinstance(value, _ingot.Array) and hasattr(value, "shape") and hasattr(value, "dtype") and value.shape != ()


def write_back(targets, results):
    """Lets arrays refer to the results of a launch, and copies results into NumPy's arrays. Results for the shapes
    among the targets are returned: None, one array, or a tuple."""
    made = []
    for target, result in zip(targets, results):
        if isinstance(target, _ingot.Array):
            _ingot._replace(target, result)
        elif is_foreign(target):
            target[...] = result.numpy()
        else:
            made.append(result)
    return tuple(made) if len(made) > 1 else made[0] if made else None


def plain(value):
    """An argument as the extension takes it: an Array, a number or a tuple."""
    if isinstance(value, (_ingot.Array, bool, int, float, tuple)):
        return value
    if isinstance(value, list) and all(isinstance(v, int) for v in value):
        return tuple(value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of NumPy
        return value.item()
    return _ingot.asarray(value)


def checked(source, file, name, values, pointers, grid, block, shared, defines):
    """The results of a launch that looks for mistakes, as `ingot run --check` does: at once and on the CPU."""
    arrays = [v for v in values if isinstance(v, _ingot.Array)]
    device = arrays[0].device if arrays else None
    made = []
    for value, pointer in zip(values, pointers):
        if pointer and isinstance(value, (int, tuple)):
            raise TypeError(f"with check, kernel {name} takes an array where it writes, not a shape")
        if isinstance(value, _ingot.Array):
            value = value.to("cpu") if pointer else value.item()
        made.append(value)
    results = _ingot._checked(source, file, name, tuple(made), grid, block, shared, defines)
    return [r.to(device) for r in results] if device and device != "cpu" else results


class Kernel(Launchable):
    """A kernel of a source in CUDA C; see ingot.kernel."""

    def __init__(self, source, file, name, params, defines, gradient, check):
        self.source, self.file, self.name, self.params = source, file, name, params
        self._defines, self._gradient, self._check = defines, gradient, check

    def __repr__(self):
        return f"<kernel {self.name}({', '.join(f'{type} {name}' for name, type, *_ in self.params)})>"

    def _bind(self, args, kwargs):
        names = [p[0] for p in self.params]
        given = dict(zip(names, args))
        unknown = [k for k in kwargs if k not in names or k in given]
        missing = [n for n in names if n not in given and n not in kwargs]
        if len(args) > len(names) or unknown or missing:
            raise TypeError(f"{self!r} takes {len(names)} arguments" + (f"; unknown or given twice: {unknown}" if unknown else "") +
                            (f"; missing: {missing}" if missing else ""))
        given.update(kwargs)
        return [given[n] for n in names]

    def _launch(self, grid, block, shared, args, kwargs):
        values = self._bind(args, kwargs)
        written = [v for v, p in zip(values, self.params) if p[4]]
        values = tuple(map(plain, values))
        if self._check:
            if not grid[0]:
                grid, block = (max(1, -(-next((v.size for v in written if hasattr(v, "size")), 1) // 256)), 1, 1), (256, 1, 1)
            results = checked(self.source, self.file, self.name, values, [p[3] for p in self.params], grid, block, shared,
                              self._defines)
        else:
            results = _ingot._kernel(self.source, self.file, self.name, values, grid, block, shared, self._defines,
                                     self._gradient)
        return write_back(written, results)

    def __call__(self, *args, **kwargs):
        """One thread for each element of the first result, in blocks of 256."""
        return self._launch((0, 0, 0), (0, 0, 0), 0, args, kwargs)


def _strings(value):
    return (value,) if isinstance(value, str) else tuple(value)


def kernel(source, name=None, *, defines=(), gradient=(), file="kernel.cu", check=False):
    """A kernel in CUDA C: k = kernel(source), then k[blocks, threads](a, b, ...), or k(a, b, ...) for a thread per element.

    A parameter that is a pointer to const takes an array, a number takes a number or an array of one element. A pointer
    that is written takes an array, which then refers to the result, or the shape of a new array. New arrays are returned.
    Results are lazy, as with ops. NumPy arrays are computed and written at once.

    name is needed if the source has several kernels; "tile<float, 16>" is an instance of a template. defines are
    "NAME=VALUE". gradient names the kernel of the source that computes gradients (docs/KERNELS.md).

    With check=True the kernel runs at once on the CPU, slowly. Accesses out of bounds, races and other mistakes raise
    DeviceError with their lines, as `ingot run --check` reports them."""
    defines, instances = _strings(defines), (name,) if name and "<" in name else ()
    found = dict(_ingot._kernels(source, file, defines, instances))
    skip = _strings(gradient)
    names = [n for n in found if n not in skip]
    if name is None:
        if len(names) != 1:
            raise ValueError(f"{file} has {len(names)} kernels ({', '.join(names)}): name one of them")
        name = names[0]
    key = name if name in found else names[0] if len(names) == 1 and instances else None
    if key is None:
        raise ValueError(f"{file} has no kernel {name!r}, only {', '.join(found) or 'none'}")
    return Kernel(source, file, name, found[key], defines, skip, check)


class RawKernel:
    """CuPy's form of a kernel: RawKernel(source, name)((blocks,), (threads,), (x, y))."""

    def __init__(self, code, name=None, options=(), backend="nvrtc", **unused):
        self._kernel = kernel(code, name, defines=[o[2:] for o in options if o.startswith("-D")])
        self.code, self.name = code, name

    def __call__(self, grid, block, args, *, shared_mem=0):
        self._kernel[grid, block, 0, shared_mem](*args)


class RawModule:
    """CuPy's form of a source of several kernels: RawModule(code=source).get_function(name)."""

    def __init__(self, *, code, options=(), **unused):
        self.code, self._options = code, options

    def get_function(self, name):
        return RawKernel(self.code, name, self._options)


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    """The elements as a new array of NumPy, or in out."""
    made = a.numpy() if isinstance(a, _ingot.Array) else a
    if out is not None:
        out[...] = made
        return out
    import numpy
    return numpy.array(made, order=order)


def get_array_module(*args):
    """The module of functions for these arrays: this one if an array of it is among them, else NumPy."""
    import sys
    if any(isinstance(a, _ingot.Array) for a in args):
        return sys.modules["ingot"]
    import numpy
    return numpy
