"""Calls in kernels written in Python: Python's and math's functions, device functions, and the names of ingot.cuda."""
import ast
import math
import types

from . import _ingot
from ._cuda_expressions import C_NAMES, COMPLEX, FLOATS, Builtin, Elements, Expressions, Method, Value, constant

MATH = {name: name for name in """acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc exp exp2 expm1 floor
fmod hypot lgamma log log10 log1p log2 pow remainder rint sin sinh sqrt cbrt tan tanh trunc""".split()}
MATH.update(fabs="fabs", gamma="tgamma", absolute="fabs", power="pow", arctan="atan", arctan2="atan2", arcsin="asin",
            arccos="acos", ldexp="ldexp", degrees="degrees", radians="radians", isnan="isnan", isinf="isinf", isfinite="isfinite")
MATH_FUNCTIONS = {getattr(math, name): MATH[name] for name in MATH if hasattr(math, name)}


class Calls(Expressions):
    """The part of Function that translates calls."""

    # ---- calls ----

    def x_Call(self, node):
        function = self.expression(node.func)
        target = function.data if function.type == "object" else None
        if target is None:
            self.fail(node, f"{ast.unparse(node.func)} cannot be called")
        if isinstance(target, Method):
            return getattr(self, "method_" + target.name)(node, target.of)
        if isinstance(target, Builtin):
            return getattr(self, "cuda_" + target.name.replace(".", "_"))(node)
        if node.keywords:
            self.fail(node, "arguments by name are not supported in kernels")
        name = getattr(target, "__name__", "")
        if any(target is f for f in (len, min, max, abs, round, pow, complex, print, divmod)):
            return getattr(self, "call_" + name)(node, *node.args)
        if name == "frexp" and (target is math.frexp or type(target).__name__ == "ufunc"):
            return self.call_frexp(node, *node.args)
        kind = MATH.get(name) if type(target).__name__ == "ufunc" else \
            MATH_FUNCTIONS.get(target) if isinstance(target, types.BuiltinFunctionType) else None
        if kind:
            return self.call_math(node, kind)
        if name in ("conj", "conjugate") and type(target).__name__ == "ufunc" and len(node.args) == 1:
            return self.method_conjugate(node, self.scalar(node.args[0]))
        dtype = self.dtype(target)
        if dtype in COMPLEX:
            return self.call_complex(node, *node.args)
        if dtype:
            if len(node.args) != 1:
                self.fail(node, "a conversion takes one number")
            value = self.scalar(node.args[0])
            if value.type == "complex":
                self.fail(node, "a complex number is not converted; take its parts")
            return Value(dtype, self.cast(value, dtype), value.natural and dtype.endswith(("int64", "int32")))
        inner = getattr(target, "function", target)
        if isinstance(inner, types.FunctionType):
            return self.call_device(node, inner)
        self.fail(node, f"{ast.unparse(node.func)} is not supported in kernels")

    def dtype(self, target):
        """The name of the dtype that an object stands for, or None."""
        if target is int or target is float:  # dtypes are equal to Python's types
            return "int64" if target is int else self.real
        if type(target).__module__.startswith("numba."):  # numba.float32
            target = str(target)
        if isinstance(target, (str, type, _ingot.dtype)) or hasattr(target, "itemsize"):
            try:
                name = _ingot.dtype(target).name
            except TypeError:
                return None
            return name if name in C_NAMES or name in COMPLEX else None
        return None

    def method_conjugate(self, node, z):
        return Value("complex", f"{self.program.helper('cconj')}({z.code})") if z.type == "complex" else z

    def method_sync(self, node, grid):
        self.program.waits = True
        return Value(None, "INGOT_GRID_SYNC()")

    def cuda_cg_this_grid(self, node):
        return Value("grid", "")

    def call_device(self, node, function):
        arguments = [self.expression(a) for a in node.args]
        for a, given in zip(node.args, arguments):
            if given.type in ("object", "tuple"):
                self.fail(a, f"{ast.unparse(a)} cannot be an argument in kernels")
        made = self.program.device(function, arguments, node, self)
        codes = []
        for given, name in zip(arguments, made.params):
            codes.append(given.code)
            if isinstance(given.type, Elements):
                codes += [d.code for d in given.data[0]]
                if name in made.written:
                    self.written.add(given.data[1])
        code = f"{made.name}({', '.join(codes)})"
        if isinstance(made.result, tuple):
            return Value("tuple", code, data=[Value(t, f"{code}.x{k}") for k, t in enumerate(made.result)])
        return Value(made.result, code)

    def call_math(self, node, name):
        values = [self.scalar(a) for a in node.args]
        if any(v.type == "complex" for v in values):
            self.fail(node, "functions of complex numbers are not supported in kernels")
        wide = max((v.type for v in values if v.type in FLOATS), default=self.real)
        codes = [self.cast(v, wide) for v in values]
        if name == "log" and len(codes) == 2:
            f = "f" * (wide == "float32")
            return Value(wide, f"(log{f}({codes[0]}) / log{f}({codes[1]}))")
        if len(codes) != (2 if name in ("atan2", "copysign", "fmod", "hypot", "pow", "remainder", "ldexp") else 1):
            self.fail(node, f"{name} does not take {len(codes)} arguments in kernels")
        if name in ("isnan", "isinf", "isfinite"):
            return Value("bool", f"(bool){name}({codes[0]})")
        if name in ("degrees", "radians"):
            factor = constant(180 / math.pi if name == "degrees" else math.pi / 180, wide).code
            return Value(wide, f"({codes[0]} * {factor})")
        if name == "ldexp":
            codes[1] = self.cast(values[1], "int32")
        code = f"{name}{'f' * (wide == 'float32')}({', '.join(codes)})"
        if name in ("floor", "ceil", "trunc") and isinstance(node.func, (ast.Attribute, ast.Name)) and \
                isinstance(self.expression(node.func).data, types.BuiltinFunctionType):
            return Value("int64", f"((long long){code})")
        return Value(wide, code)

    def call_frexp(self, node, x):
        v = self.scalar(x)
        wide = v.type if v.type in FLOATS else self.real
        if v.type == "complex" or self.program.writes(v.code):
            self.fail(node, "frexp takes a real number that changes nothing; assign it to a variable before")
        code = self.cast(v, wide)
        return Value("tuple", "", data=[Value(wide, f"{self.program.helper('fmantissa', wide)}({code})"),
                                        Value("int32", f"{self.program.helper('fexponent', wide)}({code})")])

    def call_len(self, node, of):
        value = self.expression(of)
        if value.type == "tuple":
            return constant(len(value.data), self.real)
        return value.data[0][0] if isinstance(value.type, Elements) else self.fail(node, "len takes an array")

    def extreme(self, node, nodes, name):
        values = self.expression(nodes[0]).data if len(nodes) == 1 else [self.scalar(n) for n in nodes]
        if not isinstance(values, list) or not values:
            self.fail(node, f"{name} takes numbers")
        best = values[0]
        for v in values[1:]:
            wide = best.type if best.type == v.type and v.type != "bool" else self.arithmetic(best.type, v.type)
            at = wide if wide in FLOATS + ("int64", "uint64", "int32", "uint32") else "int64"
            call = {"float32": f"f{name}f", "float64": f"f{name}"}.get(at, name)
            natural = best.natural and v.natural or name == "max" and (best.natural or v.natural)
            best = Value(at, f"{call}({self.cast(best, at)}, {self.cast(v, at)})", natural)
        return best

    def call_min(self, node, *nodes):
        return self.extreme(node, nodes, "min")

    def call_max(self, node, *nodes):
        return self.extreme(node, nodes, "max")

    def call_abs(self, node, x):
        v = self.scalar(x)
        if v.type == "complex":
            return Value(self.real, f"hypot{'f' * (self.real == 'float32')}({v.code}.x, {v.code}.y)")
        if v.type in FLOATS:
            return Value(v.type, f"fabs{'f' * (v.type == 'float32')}({v.code})")
        return v if v.natural or v.type == "uint64" else Value("int64", f"llabs({self.cast(v, 'int64')})", True)

    def call_round(self, node, x):
        v = self.scalar(x)
        return Value("int64", f"((long long)rint{'f' * (v.type == 'float32')}({v.code}))") if v.type in FLOATS else v

    def call_pow(self, node, a, b):
        return self.binary(node, "**", self.scalar(a), self.scalar(b))

    def call_divmod(self, node, a, b):
        x, y = self.scalar(a), self.scalar(b)
        return Value("tuple", "", data=[self.binary(node, "//", x, y), self.binary(node, "%", x, y)])

    def call_complex(self, node, re, im=None):
        imag = self.real_code(im, self.real) if im else "0"
        return Value("complex", f"{self.program.helper('make')}({self.real_code(re, self.real)}, {imag})")

    def call_print(self, node, *nodes):
        formats, codes = [], []
        for n in nodes:
            if isinstance(n, ast.Constant) and isinstance(n.value, str):
                formats.append(n.value.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
                continue
            v = self.scalar(n)
            formats.append("%.17g" if v.type == "float64" else "%g" if v.type == "float32" else "%lld")
            codes.append(", " + self.cast(v, "float64" if v.type in FLOATS else "int64"))
        return Value(None, f'printf("{" ".join(formats)}\\n"{"".join(codes)})')

    # ---- the names of cuda ----

    def axes(self, node, expressions):
        count = self.expression(node.args[0]).data if len(node.args) == 1 else None
        if count not in (1, 2, 3):
            self.fail(node, "the number of axes is 1, 2 or 3")
        values = [Value("int64", expressions.format(a=axis), True) for axis in "xyz"[:count]]
        return values[0] if count == 1 else Value("tuple", "", data=values)

    def cuda_grid(self, node):
        return self.axes(node, "((long long)blockIdx.{a} * blockDim.{a} + threadIdx.{a})")

    def cuda_gridsize(self, node):
        return self.axes(node, "((long long)gridDim.{a} * blockDim.{a})")

    def plain(self, node, c_name, result, *kinds):
        """A function of CUDA C with arguments of these types; None: as given."""
        if len(node.args) != len(kinds) or node.keywords:
            self.fail(node, f"{ast.unparse(node.func)} takes {len(kinds)} arguments")
        values = [self.scalar(a) for a in node.args]
        codes = [self.cast(v, k) if k else v.code for v, k in zip(values, kinds)]
        return Value(result or next(v.type for v, k in zip(values, kinds) if not k), f"{c_name}({', '.join(codes)})")

    def atomic(self, node, c_name, values):
        """atomicX(&a[i], values...)."""
        array = self.expression(node.args[0])
        if not isinstance(array.type, Elements):
            self.fail(node, "an atomic changes an element of an array")
        indices, *rest = values
        code, dims = self.place(node, array, indices)
        dtype = array.type.dtype
        if dims or isinstance(dtype, tuple) or dtype not in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
            self.fail(node, f"atomics change one element of 32 or 64 bits, not {dtype}")
        self.written.add(array.data[1])
        if dtype == "float64" and c_name in ("atomicMax", "atomicMin"):
            c_name = self.program.helper("d" + c_name[6:].lower())
        plain = dtype == "int64" and c_name not in ("atomicMax", "atomicMin")
        cast = "(unsigned long long)" if plain else ""
        pointer = f"(unsigned long long *)&{code}" if plain else f"&{code}"
        call = f"{c_name}({', '.join([pointer] + [cast + self.cast(v, dtype) for v in rest])})"
        return Value(dtype, f"((long long){call})" if plain else call)

    def atomic_call(self, node, c_name, count=1):
        if len(node.args) != 2 + count:
            self.fail(node, f"{ast.unparse(node.func)} takes an array, an index and {count} number(s)")
        return self.atomic(node, c_name, [self.index_list(node.args[1])] + [self.scalar(a) for a in node.args[2:]])

    def cuda_atomic_sub(self, node):
        value = self.scalar(node.args[-1])
        minus = Value(value.type, f"(-{value.code})") if value.type in FLOATS else Value("int64", f"(-{self.cast(value, 'int64')})")
        return self.atomic(node, "atomicAdd", [self.index_list(node.args[1]), minus])

    def cuda_atomic_compare_and_swap(self, node):
        return self.atomic(node, "atomicCAS", [[constant(0, self.real)]] + [self.scalar(a) for a in node.args[1:]])

    def array_of(self, node, space):
        """The array that shared.array(shape, dtype) or local.array(shape, dtype) declares: its type and dimensions."""
        given = dict(zip(("shape", "dtype"), node.args), **{k.arg: k.value for k in node.keywords})
        if set(given) != {"shape", "dtype"}:
            self.fail(node, f"{space}.array takes a shape and a dtype")
        dims, dtype = self.index_list(given["shape"]), self.expression(given["dtype"])
        name = self.dtype(dtype.data) if dtype.type == "object" else None
        if not name:
            self.fail(node, f"{ast.unparse(given['dtype'])} is not a dtype")
        if not all(isinstance(d.data, int) for d in dims):
            self.fail(node, f"the shape of a {space} array is constant")
        return Value(Elements(name, len(dims)), "", data=(dims, f"<{space}>"))

    def cuda_shared_array(self, node):
        return self.array_of(node, "shared")

    def cuda_const_array_like(self, node):
        value = self.expression(node.args[0]) if len(node.args) == 1 else None
        if not value or not isinstance(value.type, Elements) or value.data[1] != "<constant>":
            self.fail(node, "const.array_like takes an array from outside of the kernel")
        return value

    def cuda_local_array(self, node):
        return self.array_of(node, "local")


def _add(name, method):
    setattr(Calls, "cuda_" + name, method)


for _name, _c in {"add": "Add", "max": "Max", "min": "Min", "exch": "Exch", "and_": "And", "or_": "Or", "xor": "Xor",
                  "inc": "Inc", "dec": "Dec"}.items():
    _add("atomic_" + _name, lambda self, node, c="atomic" + _c: self.atomic_call(node, c))
_add("atomic_cas", lambda self, node: self.atomic_call(node, "atomicCAS", 2))
for _name, _row in {
        "syncthreads": ("__syncthreads", "none"), "threadfence": ("__threadfence", "none"),
        "threadfence_block": ("__threadfence_block", "none"), "activemask": ("__activemask", "uint32"),
        "syncthreads_count": ("__syncthreads_count", "int32", "int32"), "syncthreads_and": ("__syncthreads_and", "int32", "int32"),
        "syncthreads_or": ("__syncthreads_or", "int32", "int32"),
        "shfl_sync": ("__shfl_sync", None, "uint32", None, "int32"),
        "shfl_up_sync": ("__shfl_up_sync", None, "uint32", None, "uint32"),
        "shfl_down_sync": ("__shfl_down_sync", None, "uint32", None, "uint32"),
        "shfl_xor_sync": ("__shfl_xor_sync", None, "uint32", None, "int32"), "all_sync": ("__all_sync", "int32", "uint32", "int32"),
        "any_sync": ("__any_sync", "int32", "uint32", "int32"), "ballot_sync": ("__ballot_sync", "uint32", "uint32", "int32"),
        "popc": ("__popcll", "int32", "uint64"), "clz": ("__clzll", "int32", "int64"),
        "ffs": ("__ffsll", "int32", "int64")}.items():
    _add(_name, lambda self, node, r=_row: self.plain(node, r[0], r[1], *r[2:])._replace(
        **({"type": None} if r[1] == "none" else {})))
_add("syncwarp", lambda self, node: self.plain(node, "__syncwarp", "none", *["uint32"] * len(node.args))._replace(type=None))
BUILTINS = sorted(name[5:] for name in vars(Calls) if name.startswith("cuda_"))
