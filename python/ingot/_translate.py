"""Functions of Python as CUDA C, for ingot.cuda: types by inference from a call's arguments, statements one by one.

A Program is one kernel for one signature, with the device functions that it calls, each a Function. A Function is translated
again and again until the types of its variables are stable; they only widen. Scalar types are names of dtypes and "complex".
Every expression becomes a Value, which also knows constants and whether an integer is never negative, so that indices
and floor division need no tests there."""
import ast
import builtins
import inspect
import math
import re
import textwrap
import types
from typing import NamedTuple

from . import _ingot

C_NAMES = {"bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
           "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned", "uint64": "unsigned long long",
           "float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double",
           "complex": "ingot_complex"}
STORED = {"float16": ("__half2float", "__float2half"), "bfloat16": ("__bfloat162float", "__float2bfloat16")}
FLOATS = ("float32", "float64")
SPECIAL = {f"{v}.{axis}": ("int32", f"(int){v}.{axis}") for v in ("threadIdx", "blockIdx", "blockDim", "gridDim") for axis in "xyz"}
SPECIAL.update(warpsize=("int32", "32"), laneid=("int32", "(int)((threadIdx.x + blockDim.x * (threadIdx.y + "
                                                          "blockDim.y * threadIdx.z)) % 32)"))
BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
          ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
FOLD = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
        "%": lambda a, b: a % b, "**": lambda a, b: a ** b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b}

MATH = {name: name for name in """acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc exp exp2 expm1 floor
fmod hypot lgamma log log10 log1p log2 pow remainder rint sin sinh sqrt cbrt tan tanh trunc""".split()}
MATH.update(fabs="fabs", gamma="tgamma", absolute="fabs", power="pow", arctan="atan", arctan2="atan2", arcsin="asin",
            arccos="acos", ldexp="ldexp", degrees="degrees", radians="radians", isnan="isnan", isinf="isinf", isfinite="isfinite")
MATH_FUNCTIONS = {getattr(math, name): MATH[name] for name in MATH if hasattr(math, name)}

HELPERS = {
    "floordiv": "I {n}(I a, I b) {{ I q = a / b; return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q; }}",
    "mod": "I {n}(I a, I b) {{ I r = a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }}",
    "fmodulo": "T {n}(T a, T b) {{ T r = fmod{f}(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; }}",
    "power": "I {n}(I x, I k) {{ I r = 1; if (k < 0) return x == 1 ? 1 : x == -1 ? (k % 2 ? -1 : 1) : 0; "
             "for (; k > 0; k >>= 1) {{ if (k & 1) r *= x; x *= x; }} return r; }}",
    "fpower": "T {n}(T x, I k) {{ T r = 1; bool down = k < 0; if (down) k = -k; "
              "for (; k > 0; k >>= 1) {{ if (k & 1) r *= x; x *= x; }} return down ? 1 / r : r; }}",
    "wrap": "I {n}(I i, I size) {{ return i < 0 ? i + size : i; }}",
    "make": "C {n}(F x, F y) {{ C z; z.x = x; z.y = y; return z; }}",
    "cadd": "C {n}(C a, C b) {{ return ingot_make(a.x + b.x, a.y + b.y); }}",
    "csub": "C {n}(C a, C b) {{ return ingot_make(a.x - b.x, a.y - b.y); }}",
    "cmul": "C {n}(C a, C b) {{ return ingot_make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }}",
    "cdiv": "C {n}(C a, C b) {{ F d = b.x * b.x + b.y * b.y; return ingot_make((a.x * b.x + a.y * b.y) / d, "
            "(a.y * b.x - a.x * b.y) / d); }}",
}


class UnsupportedError(TypeError):
    """A kernel uses something that kernels cannot do. The message shows the file, the line and its text."""


UnsupportedError.__module__ = "ingot.cuda"


class Elements(NamedTuple):
    """The type of an array."""
    dtype: str
    ndim: int


class Value(NamedTuple):
    """An expression. data: a constant's number, a tuple's items, a Python object, or an array's (dimensions, owner)."""
    type: object
    code: str
    natural: bool = False
    data: object = None


class Builtin:
    """A name of ingot.cuda that has a meaning only in kernels."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"cuda.{self.name} can be used only in kernels")

    __repr__ = __str__ = lambda self: f"cuda.{self.name}"


def constant(value, real):
    """The Value of a Python number."""
    if isinstance(value, bool):
        return Value("bool", "true" if value else "false", data=value)
    if isinstance(value, int):
        wide = value > 2 ** 63 - 1
        code = f"{value}ULL" if wide else "(-9223372036854775807LL - 1)" if value == -2 ** 63 else f"{value}LL"
        return Value("uint64" if wide else "int64", f"({code})" if value < 0 else code, value >= 0, value)
    if isinstance(value, complex):
        return Value("complex", f"ingot_make({constant(value.real, real).code}, {constant(value.imag, real).code})")
    text = "NAN" if value != value else "INFINITY" if abs(value) == math.inf else repr(abs(value)) + "f" * (real == "float32")
    return Value(real, f"(-{text})" if math.copysign(1, value) < 0 else text, data=float(value))


class Program:
    def __init__(self, real):
        self.real = real  # the dtype of floats that have none
        self.functions, self.helpers, self.texts = {}, {}, []

    def helper(self, name, dtype=None):
        """The name of a helper for a type, which is added to the text."""
        dtype = dtype or "int64"
        full = f"ingot_{name}" + (f"_{dtype}" if name in ("fmodulo", "fpower") else "")
        if name.startswith("c"):
            self.helper("make")
        body = HELPERS[name].format(n=full, f="f" * (dtype == "float32"))
        words = {"I": "long long", "T": C_NAMES.get(dtype), "F": C_NAMES[self.real], "C": "ingot_complex"}
        self.helpers[full] = "__device__ " + re.sub(r"\b[ITFC]\b", lambda m: words[m[0]], body)
        return full

    def device(self, function, arguments, node, caller):
        """The translated device function for types of arguments."""
        key = (function, tuple(a.type for a in arguments))
        if key not in self.functions:
            self.functions[key] = None
            made = Function(self, function, key[1], f"{function.__name__}_{len(self.functions)}")
            self.texts.append(made.translate("__device__"))
            self.functions[key] = made
        if self.functions[key] is None:
            caller.fail(node, f"{function.__name__} calls itself; recursion is not supported in kernels")
        return self.functions[key]

    def text(self, last):
        pair = f"struct ingot_complex {{ {C_NAMES[self.real]} x, y; }};"
        heads = ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>", pair]
        return "\n".join(heads + list(self.helpers.values()) + self.texts + [last]) + "\n"


class Function:
    def __init__(self, program, function, arguments, name):
        self.program, self.function, self.arguments, self.name = program, function, arguments, name
        self.real = program.real
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise UnsupportedError(f"the source of {function!r} is needed and was not found: {error}") from None
        self.file, self.first, self.lines = function.__code__.co_filename, first, lines
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise UnsupportedError(f"{self.file}:{first}: a kernel is a function that begins with def")
        self.tree = ast.increment_lineno(tree, first - 1) if first > 1 else tree
        closure = inspect.getclosurevars(function)
        self.outside = {**vars(builtins), **function.__globals__, **closure.nonlocals}
        a = tree.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
            self.fail(tree, "parameters of kernels have no defaults, * or **")
        self.params = [p.arg for p in a.posonlyargs + a.args]
        if len(self.params) != len(arguments):
            self.fail(tree, f"{function.__name__} takes {len(self.params)} arguments, not {len(arguments)}")
        self.assigned = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.result, self.written, self.vars = None, set(), {}

    # ---- text ----

    def fail(self, node, message):
        line = getattr(node, "lineno", self.first)
        text = self.lines[line - self.first].strip() if 0 <= line - self.first < len(self.lines) else ""
        raise UnsupportedError(f"{self.file}:{line}: {message}\n    {text}")

    def emit(self, text):
        self.out.append("    " * self.depth + text)

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def translate(self, kind):
        for name, type in zip(self.params, self.arguments):
            if isinstance(type, Elements):
                dims = [Value("int64", f"v_{name}_{k}", True) for k in range(type.ndim)]
                self.vars[name] = Value(type, f"v_{name}", data=(dims, name))
            else:
                self.vars[name] = Value(type, f"v_{name}")
        before = None
        while before != (self.vars, self.result, self.written):
            before = (dict(self.vars), self.result, set(self.written))
            self.out, self.depth, self.count, self.arrays, self.loops = [], 1, 0, {}, 0
            self.block(self.tree.body)
        kind = "__global__" if kind == "__global__" else "__device__"
        result = C_NAMES[self.result] if self.result else "void"
        head = f"{kind} {result} {self.name}({', '.join(self.parameters())})\n{{"
        tail = [] if not self.result else [f"    return {self.cast(constant(0, self.real), self.result)};"]
        return "\n".join([head] + self.declarations() + self.out + tail + ["}"])

    def parameters(self):
        for name, type in zip(self.params, self.arguments):
            if isinstance(type, Elements):
                const = "" if name in self.written else "const "
                yield f"{const}{C_NAMES[type.dtype]} *v_{name}"
                yield from (f"long long v_{name}_{k}" for k in range(type.ndim))
            else:
                yield f"{C_NAMES[type]} {'p' if name in self.assigned else 'v'}_{name}"

    def declarations(self):
        lines = ["    " + text for text in self.arrays.values()]
        for name, v in self.vars.items():
            if isinstance(v.type, Elements) and name not in self.params and name not in self.arrays:
                const = "const " if v.data[1] in self.params and v.data[1] not in self.written else ""
                lines.append(f"    {const}{C_NAMES[v.type.dtype]} *{v.code};")
            elif isinstance(v.type, str) and name in self.params and name in self.assigned:
                start = Value(self.arguments[self.params.index(name)], f"p_{name}")
                lines.append(f"    {C_NAMES[v.type]} {v.code} = {self.cast(start, v.type)};")
            elif isinstance(v.type, str) and v.type in C_NAMES and name not in self.params:
                zero = "" if v.type == "complex" else " = 0"
                lines.append(f"    {C_NAMES[v.type]} {v.code}{zero};")
        return lines

    # ---- types ----

    def arithmetic(self, a, b):
        """The type of a + b."""
        if "complex" in (a, b):
            return "complex"
        if a in FLOATS or b in FLOATS:
            wide = [t if t in FLOATS else self.real for t in (a, b)]
            return "float64" if "float64" in wide else "float32"
        unsigned = [t.startswith("u") for t in (a, b)]
        return "uint64" if all(unsigned) or "uint64" in (a, b) else "int64"

    def cast(self, value, type):
        if value.type == type:
            return value.code
        if type == "complex":
            return f"{self.program.helper('make')}({self.cast(value, self.real)}, 0)"
        if type == "bool":
            return f"({value.code} != 0)"
        if isinstance(value.data, (int, float)) and not isinstance(value.data, bool) and type in FLOATS:
            return constant(float(value.data), type).code
        return f"(({C_NAMES[type]}){value.code})"

    def scalar(self, node):
        value = self.expression(node)
        if not isinstance(value.type, str) or value.type not in C_NAMES:
            self.fail(node, f"{ast.unparse(node)} is not a number here")
        return value

    def real_code(self, node, type=None):
        value = self.scalar(node)
        if value.type == "complex":
            self.fail(node, "a complex number cannot be used here")
        return self.cast(value, type or value.type)

    def integer(self, node):
        value = self.scalar(node)
        if value.type in FLOATS or value.type == "complex":
            self.fail(node, f"{ast.unparse(node)} is a {value.type}; an integer is needed")
        return value

    def condition(self, node):
        """A test, as C."""
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + sign.join(self.condition(v) for v in node.values) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(!{self.condition(node.operand)})"
        return self.cast(self.scalar(node), "bool")

    # ---- expressions ----

    def expression(self, node):
        found = getattr(self, "x_" + type(node).__name__, None)
        if not found:
            self.fail(node, f"{ast.unparse(node)} ({type(node).__name__}) is not supported in kernels")
        return found(node)

    def from_object(self, node, value):
        if isinstance(value, (bool, int, float, complex)):
            if isinstance(value, complex):
                self.program.helper("make")
            return constant(value, self.real)
        if isinstance(value, tuple):
            return Value("tuple", "", data=[self.from_object(node, v) for v in value])
        if isinstance(value, Builtin) and value.name in SPECIAL:
            return Value(*SPECIAL[value.name], True)
        if getattr(value, "shape", None) == () and hasattr(value, "item"):
            return self.from_object(node, value.item())
        if isinstance(value, str):
            self.fail(node, "strings are not supported in kernels")
        return Value("object", "", data=value)

    def x_Constant(self, node):
        if node.value is None or isinstance(node.value, (str, bytes)):
            self.fail(node, f"{node.value!r} is not supported in kernels")
        return self.from_object(node, node.value)

    def x_Name(self, node):
        if node.id in self.vars:
            return self.vars[node.id]
        if node.id in self.assigned:
            self.fail(node, f"{node.id} is used before it is assigned")
        if node.id not in self.outside:
            self.fail(node, f"{node.id} is not defined")
        return self.from_object(node, self.outside[node.id])

    def x_Attribute(self, node):
        value = self.expression(node.value)
        if isinstance(value.type, Elements):
            dims = value.data[0]
            if node.attr == "shape":
                return Value("tuple", "", data=dims)
            if node.attr == "size":
                return Value("int64", "(" + " * ".join(d.code for d in dims) + ")", True)
            if node.attr == "ndim":
                return constant(len(dims), self.real)
        if value.type == "object" and hasattr(value.data, node.attr):
            return self.from_object(node, getattr(value.data, node.attr))
        if value.type in C_NAMES and node.attr in ("real", "imag"):
            if value.type == "complex":
                return Value(self.real, f"{value.code}.{'x' if node.attr == 'real' else 'y'}")
            return value if node.attr == "real" else constant(0, self.real)
        self.fail(node, f"{ast.unparse(node)} is not known in kernels")

    def x_Tuple(self, node):
        return Value("tuple", "", data=[self.expression(e) for e in node.elts])

    def x_IfExp(self, node):
        test, a, b = self.condition(node.test), self.scalar(node.body), self.scalar(node.orelse)
        wide = a.type if a.type == b.type else self.arithmetic(a.type, b.type)
        return Value(wide, f"({test} ? {self.cast(a, wide)} : {self.cast(b, wide)})", a.natural and b.natural)

    def x_BoolOp(self, node):
        if any(self.scalar(v).type != "bool" for v in node.values):
            self.fail(node, "and/or of numbers has a value only in tests; write a if a else b")
        return Value("bool", self.condition(node))

    def x_Compare(self, node):
        if len(node.ops) > 1 and any(isinstance(n, ast.Call) for c in node.comparators[:-1] for n in ast.walk(c)):
            self.fail(node, "a call in the middle of a chain of comparisons would run twice")
        parts, left = [], self.scalar(node.left)
        for op, right in zip(node.ops, map(self.scalar, node.comparators)):
            if type(op) not in COMPARE:
                self.fail(node, f"{ast.unparse(node)}: only < <= > >= == != compare in kernels")
            wide = self.arithmetic(left.type, right.type)
            if wide == "complex":
                self.fail(node, "complex numbers are not compared; compare their parts")
            parts.append(f"({self.cast(left, wide)} {COMPARE[type(op)]} {self.cast(right, wide)})")
            left = right
        return Value("bool", parts[0] if len(parts) == 1 else "(" + " && ".join(parts) + ")")

    def x_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return Value("bool", self.condition(node))
        v = self.scalar(node.operand)
        if isinstance(v.data, (int, float)) and isinstance(node.op, ast.USub):
            return constant(-v.data, self.real)
        if v.type == "complex":
            return self.binary(node, "-", constant(0, self.real), v) if isinstance(node.op, ast.USub) else v
        if isinstance(node.op, ast.Invert) and v.type in FLOATS:
            self.fail(node, "~ takes integers")
        wide = v.type if v.type in FLOATS else "uint64" if v.type == "uint64" and isinstance(node.op, ast.Invert) else "int64"
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return Value(wide, f"({sign}{self.cast(v, wide)})", v.natural and sign == "+")

    def x_BinOp(self, node):
        if type(node.op) not in BINARY:
            self.fail(node, f"{ast.unparse(node)} is not supported in kernels")
        return self.binary(node, BINARY[type(node.op)], self.scalar(node.left), self.scalar(node.right))

    def binary(self, node, op, a, b):
        both = isinstance(a.data, int) and isinstance(b.data, int)
        if both and op in FOLD and not (op in ("//", "%") and b.data == 0) and (op not in ("**", "<<", ">>") or 0 <= b.data < 64):
            value = FOLD[op](int(a.data), int(b.data))
            if -2 ** 63 <= value < 2 ** 64:
                return constant(value, self.real)
        wide, natural = self.arithmetic(a.type, b.type), a.natural and b.natural
        if wide == "complex":
            name = {"+": "cadd", "-": "csub", "*": "cmul", "/": "cdiv"}.get(op)
            if op == "**" and b.data == 2:
                name, b = "cmul", a
            if not name:
                self.fail(node, f"{op} of complex numbers is not supported in kernels")
            return Value("complex", f"{self.program.helper(name)}({self.cast(a, wide)}, {self.cast(b, wide)})")
        if op in ("&", "|", "^") and a.type == b.type == "bool":
            return Value("bool", f"({a.code} {'!=' if op == '^' else op} {b.code})")
        if op in ("&", "|", "^", "<<", ">>") and wide in FLOATS:
            self.fail(node, f"{op} takes integers")
        if op == "/" and wide not in FLOATS:
            wide = self.real
        if op == "**":
            return self.power(wide, a, b)
        x, y = self.cast(a, wide), self.cast(b, wide)
        if op in ("//", "%") and wide in FLOATS:
            f = "f" * (wide == "float32")
            return Value(wide, f"floor{f}({x} / {y})" if op == "//" else f"{self.program.helper('fmodulo', wide)}({x}, {y})")
        if op in ("//", "%") and not natural and wide == "int64":
            return Value(wide, f"{self.program.helper('mod' if op == '%' else 'floordiv')}({x}, {y})", op == "%" and b.natural)
        keeps = natural and op != "-" or op == "&" and (a.natural or b.natural) or op == ">>" and a.natural
        return Value(wide, f"({x} {op.replace('//', '/')} {y})", keeps and wide not in FLOATS)

    def power(self, wide, a, b):
        if wide not in FLOATS:
            code = f"{self.program.helper('power')}({self.cast(a, 'int64')}, {self.cast(b, 'int64')})"
            return Value(wide, code if wide == "int64" else f"((unsigned long long){code})", a.natural)
        if b.type not in FLOATS:
            return Value(wide, f"{self.program.helper('fpower', wide)}({self.cast(a, wide)}, {self.cast(b, 'int64')})")
        return Value(wide, f"pow{'f' * (wide == 'float32')}({self.cast(a, wide)}, {self.cast(b, wide)})")

    # ---- elements of arrays ----

    def place(self, node, array, indices):
        """The array or element at indices, as a pointer expression, and the dimensions that are left."""
        dims, owner = array.data
        if len(indices) > len(dims):
            self.fail(node, f"{len(indices)} indices for an array of {len(dims)} dimensions")
        offset = ""
        for k, index in enumerate(indices):
            if index.type in FLOATS or index.type not in C_NAMES or index.type == "complex":
                self.fail(node, "indices are integers; slices and arrays are not supported in kernels")
            code = self.cast(index, "int64")
            if not index.natural and index.type.startswith("i"):
                code = f"({dims[k].code} + {code})" if isinstance(index.data, int) else \
                    f"{self.program.helper('wrap')}({code}, {dims[k].code})"
            offset = f"({offset} * {dims[k].code} + {code})" if offset else code
        for d in dims[len(indices):]:
            offset = f"{offset} * {d.code}"
        return f"{array.code}[{offset}]" if len(indices) == len(dims) else f"({array.code} + {offset})", dims[len(indices):]

    def index_list(self, node):
        value = self.expression(node)
        return value.data if value.type == "tuple" else [value]

    def x_Subscript(self, node):
        array = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            self.fail(node, "slices are not supported in kernels")
        indices = self.index_list(node.slice)
        if array.type == "tuple":
            k = indices[0].data
            if len(indices) != 1 or not isinstance(k, int) or not -len(array.data) <= k < len(array.data):
                self.fail(node, "a tuple's index is a constant in its range")
            return array.data[k]
        if not isinstance(array.type, Elements):
            self.fail(node, f"{ast.unparse(node.value)} is not an array")
        code, dims = self.place(node, array, indices)
        if dims:
            return Value(Elements(array.type.dtype, len(dims)), code, data=(dims, array.data[1]))
        dtype = array.type.dtype
        if dtype in STORED:
            return Value("float32", f"{STORED[dtype][0]}({code})")
        return Value(dtype, code, dtype.startswith("u") and dtype != "uint64")

    def store(self, node, target, value):
        array = self.expression(target.value)
        if not isinstance(array.type, Elements):
            self.fail(node, f"{ast.unparse(target.value)} is not an array")
        code, dims = self.place(node, array, self.index_list(target.slice))
        if dims or value.type not in C_NAMES or value.type == "complex":
            self.fail(node, "an assignment sets one element of an array to a number")
        self.written.add(array.data[1])
        dtype = array.type.dtype
        text = f"{STORED[dtype][1]}({self.cast(value, 'float32')})" if dtype in STORED else self.cast(value, dtype)
        self.emit(f"{code} = {text};")

    # ---- calls ----

    def x_Call(self, node):
        function = self.expression(node.func)
        target = function.data if function.type == "object" else None
        if target is None:
            self.fail(node, f"{ast.unparse(node.func)} cannot be called")
        if isinstance(target, Builtin):
            return getattr(self, "cuda_" + target.name.replace(".", "_"))(node)
        if node.keywords:
            self.fail(node, "arguments by name are not supported in kernels")
        name = getattr(target, "__name__", "")
        if any(target is f for f in (len, min, max, abs, round, pow, complex, print, divmod)):
            return getattr(self, "call_" + name)(node, *node.args)
        kind = MATH.get(name) if type(target).__name__ == "ufunc" else \
            MATH_FUNCTIONS.get(target) if isinstance(target, types.BuiltinFunctionType) else None
        if kind:
            return self.call_math(node, kind)
        dtype = self.dtype(target)
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
        if isinstance(target, (type, _ingot.dtype)) or hasattr(target, "itemsize"):
            try:
                name = _ingot.dtype(target).name
            except TypeError:
                return None
            return name if name in C_NAMES else None
        return None

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
        return Value(made.result, f"{made.name}({', '.join(codes)})")

    def call_math(self, node, name):
        values = [self.scalar(a) for a in node.args]
        if any(v.type == "complex" for v in values):
            self.fail(node, "functions of complex numbers are not supported in kernels")
        wide = "float64" if "float64" in [v.type for v in values] else "float32" if "float32" in [v.type for v in values] else self.real
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
        if dims or dtype not in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
            self.fail(node, f"atomics change one element of 32 or 64 bits, not {dtype}")
        self.written.add(array.data[1])
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
        return Value(Elements(name, len(dims)), "", data=(dims, space))

    def cuda_shared_array(self, node):
        return self.array_of(node, "shared")

    def cuda_local_array(self, node):
        return self.array_of(node, "local")

    # ---- statements ----

    def block(self, body):
        for statement in body:
            found = getattr(self, "s_" + type(statement).__name__, None)
            if not found:
                self.fail(statement, f"{type(statement).__name__} is not supported in kernels")
            self.out.append(f'#line {statement.lineno} "{self.file}"')
            found(statement)

    def inside(self, body):
        self.depth += 1
        self.block(body)
        self.depth -= 1
        self.emit("}")

    def bind(self, node, name, value):
        """Assigns to a variable, whose type widens if needed."""
        old = self.vars.get(name)
        if isinstance(value.type, Elements):
            return self.bind_array(node, name, value, old)
        if value.type == "tuple":
            items = [self.bind(node, f"{name}.{k}", v) or self.vars[f"{name}.{k}"] for k, v in enumerate(self.settled(value.data))]
            self.vars[name] = Value("tuple", "", data=items)
            return
        if value.type not in C_NAMES or old and old.type not in C_NAMES:
            self.fail(node, f"{name} cannot be assigned this value")
        wide = value.type if not old or old.type == value.type else self.arithmetic(old.type, value.type)
        natural = value.natural and (not old or old.natural)
        self.vars[name] = Value(wide, "v_" + name.replace(".", "_"), natural)
        self.emit(f"{self.vars[name].code} = {self.cast(value, wide)};")

    def bind_array(self, node, name, value, old):
        if old and (old.type != value.type or old.data[1] != value.data[1]):
            self.fail(node, f"{name} is another array already")
        dims, owner = value.data
        self.vars[name] = Value(value.type, f"v_{name}", data=(dims, owner))
        if value.code:
            self.emit(f"v_{name} = {value.code};")
            return
        count = math.prod(d.data for d in dims)
        kind = "" if owner == "local" else "__shared__ " if count else "extern __shared__ "
        self.arrays[name] = f"{kind}{C_NAMES[value.type.dtype]} v_{name}[{count or ''}];"

    def settled(self, values):
        """Values in variables of their own, so that assignments do not change those that follow."""
        made = []
        for v in values:
            if v.type in C_NAMES and v.data is None:
                name = self.fresh("t_")
                self.emit(f"{C_NAMES[v.type]} {name} = {v.code};")
                v = v._replace(code=name)
            made.append(v)
        return made

    def assign(self, node, target, value):
        if isinstance(target, ast.Name):
            self.bind(node, target.id, value)
        elif isinstance(target, ast.Subscript):
            self.store(node, target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if value.type != "tuple" or len(value.data) != len(target.elts):
                self.fail(node, f"{len(target.elts)} values are needed")
            for t, v in zip(target.elts, self.settled(value.data)):
                self.assign(node, t, v)
        else:
            self.fail(node, f"{ast.unparse(target)} cannot be assigned in kernels")

    def s_Assign(self, node):
        value = self.expression(node.value)
        if value.type is None:
            self.fail(node, f"{ast.unparse(node.value)} has no value")
        if len(node.targets) > 1:
            value = self.settled([value])[0]
        for target in node.targets:
            self.assign(node, target, value)

    def s_AnnAssign(self, node):
        if node.value:
            self.assign(node, node.target, self.expression(node.value))

    def s_AugAssign(self, node):
        load = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node)
        for part in ast.walk(load):
            part.lineno = node.lineno
        self.assign(node, node.target, self.binary(node, BINARY[type(node.op)], self.scalar(load), self.scalar(node.value)))

    def s_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.emit(f"{self.expression(node.value).code};")

    def s_Pass(self, node):
        pass

    def s_Assert(self, node):
        self.emit(f"assert({self.condition(node.test)});")

    def s_If(self, node):
        self.emit(f"if ({self.condition(node.test)}) {{")
        self.inside(node.body)
        if node.orelse:
            self.emit("else {")
            self.inside(node.orelse)

    def s_While(self, node):
        if node.orelse:
            self.fail(node, "else after a loop is not supported in kernels")
        self.emit(f"while ({self.condition(node.test)}) {{")
        self.inside(node.body)

    def s_For(self, node):
        call = node.iter
        if node.orelse or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call) or \
                self.expression(call.func).data is not range or not 1 <= len(call.args) <= 3 or call.keywords:
            self.fail(node, "loops are: for name in range(...), without else")
        values = [self.integer(a) for a in call.args]
        start = values[0] if len(values) > 1 else constant(0, self.real)
        stop, step = values[min(1, len(values) - 1)], values[2] if len(values) == 3 else constant(1, self.real)
        if step.data == 0:
            self.fail(node, "the step of a range is not zero")
        i, end, by = self.fresh("i_"), self.fresh("n_"), self.fresh("d_")
        first, last, stride = (self.cast(v, "int64") for v in (start, stop, step))
        if isinstance(step.data, int):
            head, test = "", f"{i} {'<' if step.data > 0 else '>'} {end}"
        else:
            head, test = f", {by} = {stride}", f"({by} > 0 ? {i} < {end} : {i} > {end})"
            stride = by
        self.emit(f"for (long long {i} = {first}, {end} = {last}{head}; {test}; {i} += {stride}) {{")
        self.depth += 1
        self.bind(node, node.target.id, Value("int64", i, start.natural and step.natural))
        self.depth -= 1
        self.inside(node.body)

    def s_Break(self, node):
        self.emit("break;")

    def s_Continue(self, node):
        self.emit("continue;")

    def s_Return(self, node):
        if node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None:
            self.emit("return;")
            return
        value = self.scalar(node.value)
        if self.name.endswith("_kernel"):
            self.fail(node, "a kernel returns nothing; it writes to arrays")
        self.result = value.type if self.result in (None, value.type) else self.arithmetic(self.result, value.type)
        self.emit(f"return {self.cast(value, self.result)};")


def _add(name, method):
    setattr(Function, "cuda_" + name, method)


for _name, _c in {"add": "Add", "max": "Max", "min": "Min", "exch": "Exch", "and_": "And", "or_": "Or", "xor": "Xor",
                  "inc": "Inc", "dec": "Dec"}.items():
    _add("atomic_" + _name, lambda self, node, c="atomic" + _c: self.atomic_call(node, c))
_add("atomic_cas", lambda self, node: self.atomic_call(node, "atomicCAS", 2))
for _name, _row in {
        "syncthreads": ("__syncthreads", "none"), "threadfence": ("__threadfence", "none"),
        "threadfence_block": ("__threadfence_block", "none"), "activemask": ("__activemask", "uint32"),
        "syncthreads_count": ("__syncthreads_count", "int32", "int32"), "syncthreads_and": ("__syncthreads_and", "int32", "int32"),
        "syncthreads_or": ("__syncthreads_or", "int32", "int32"),
        "shfl_sync": ("__shfl_sync", None, "uint32", None, "int32"), "shfl_up_sync": ("__shfl_up_sync", None, "uint32", None, "uint32"),
        "shfl_down_sync": ("__shfl_down_sync", None, "uint32", None, "uint32"),
        "shfl_xor_sync": ("__shfl_xor_sync", None, "uint32", None, "int32"), "all_sync": ("__all_sync", "int32", "uint32", "int32"),
        "any_sync": ("__any_sync", "int32", "uint32", "int32"), "ballot_sync": ("__ballot_sync", "uint32", "uint32", "int32"),
        "popc": ("__popcll", "int32", "uint64"), "clz": ("__clzll", "int32", "int64"), "ffs": ("__ffsll", "int32", "int64")}.items():
    _add(_name, lambda self, node, r=_row: self.plain(node, r[0], r[1], *r[2:])._replace(
        **({"type": None} if r[1] == "none" else {})))
_add("syncwarp", lambda self, node: Value(None, f"__syncwarp({self.cast(self.scalar(node.args[0]), 'uint32') if node.args else ''})"))
BUILTINS = sorted(name[5:] for name in vars(Function) if name.startswith("cuda_"))
