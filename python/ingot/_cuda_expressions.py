"""Expressions of kernels written in Python, as CUDA C; see _cuda_translate.py."""
import ast
import math
from typing import NamedTuple

C_NAMES = {"bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
           "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned", "uint64": "unsigned long long",
           "float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double",
           "complex": "ingot_complex"}
COMPLEX = {"complex64": "float", "complex128": "double"}  # dtypes of elements, which are read as "complex"
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


class UnsupportedError(TypeError):
    """A kernel uses something that kernels cannot do. The message shows the file, the line and its text."""


UnsupportedError.__module__ = "ingot.cuda"


class Record(NamedTuple):
    """The type of the elements of an array of structures: the name of the struct, and (name, dtype) of its fields."""
    name: str
    fields: tuple


class Elements(NamedTuple):
    """The type of an array. dtype is a name or a Record."""
    dtype: object
    ndim: int


def c_name(dtype):
    """The C type of elements."""
    return f"struct {dtype.name}" if isinstance(dtype, Record) else f"struct ingot_{dtype}" if dtype in COMPLEX else C_NAMES[dtype]


class Value(NamedTuple):
    """An expression. data: a constant's number, a tuple's items, a Python object, or an array's (dimensions, owner)."""
    type: object
    code: str
    natural: bool = False
    data: object = None


class Method(NamedTuple):
    """A method of a value, which can be called."""
    name: str
    of: Value


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


class Expressions:
    """The part of Function that translates expressions: each becomes a Value."""

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

    def alone(self, node, translate):
        """Translates an expression that may not run, so that it cannot have statements before it."""
        before = len(self.out)
        made = translate(node)
        if len(self.out) > before:
            self.fail(node, "a slice cannot stand in a part of an expression that may not run: assign it to a variable before")
        return made

    def condition(self, node):
        """A test, as C."""
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + sign.join([self.condition(node.values[0])] + [self.alone(v, self.condition) for v in node.values[1:]]) + ")"
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
        if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "tolist"):
            return self.constant_array(node, value)
        return Value("object", "", data=value)

    def constant_array(self, node, array):
        """An array from outside of the kernel: its elements are constants."""
        dtype = str(array.dtype)
        if dtype not in C_NAMES or dtype in STORED or not 0 < array.size <= 4096:
            self.fail(node, f"{ast.unparse(node)} must be an argument: constants have 1 to 4096 numbers, not {dtype}{array.shape}")
        dims = [constant(n, self.real) for n in array.shape]
        return Value(Elements(dtype, len(dims)), self.program.constant(array, dtype), data=(dims, "<constant>"))

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
        if isinstance(value.type, Record):
            return self.field(node, value, node.attr)
        if value.type == "complex" and node.attr in ("conjugate", "conj"):
            return Value("object", "", data=Method("conjugate", value))
        if value.type == "grid" and node.attr == "sync":
            return Value("object", "", data=Method("sync", value))
        if value.type in C_NAMES and node.attr in ("real", "imag"):
            if value.type == "complex":
                return Value(self.real, f"{value.code}.{'x' if node.attr == 'real' else 'y'}")
            return value if node.attr == "real" else constant(0, self.real)
        self.fail(node, f"{ast.unparse(node)} is not known in kernels")

    def x_Slice(self, node):
        self.fail(node, "a slice in kernels is of the first axis, without other indices: x[i][a:b] or x[a:b]")

    def x_Tuple(self, node):
        return Value("tuple", "", data=[self.expression(e) for e in node.elts])

    def x_IfExp(self, node):
        test = self.condition(node.test)
        a, b = self.alone(node.body, self.scalar), self.alone(node.orelse, self.scalar)
        wide = a.type if a.type == b.type else self.arithmetic(a.type, b.type)
        return Value(wide, f"({test} ? {self.cast(a, wide)} : {self.cast(b, wide)})", a.natural and b.natural)

    def x_BoolOp(self, node):
        if any(self.scalar(v).type != "bool" for v in node.values):
            self.fail(node, "and/or of numbers has a value only in tests; write a if a else b")
        return Value("bool", self.condition(node))

    def x_Compare(self, node):
        parts, left = [], self.scalar(node.left)
        for op, right in zip(node.ops, map(self.scalar, node.comparators)):
            if parts and self.program.writes(left.code):
                self.fail(node, "the middle of a chain of comparisons runs twice, so it must not write")
            if type(op) not in COMPARE:
                self.fail(node, f"{ast.unparse(node)}: only < <= > >= == != compare in kernels")
            wide = self.arithmetic(left.type, right.type)
            if wide == "complex":
                if not isinstance(op, (ast.Eq, ast.NotEq)):
                    self.fail(node, "complex numbers have no order; compare their parts")
                equal = f"{self.program.helper('cequal')}({self.cast(left, wide)}, {self.cast(right, wide)})"
                parts.append(f"(!{equal})" if isinstance(op, ast.NotEq) else equal)
                left = right
                continue
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
            return Value(wide, f"{self.program.helper('fmodulo' if op == '%' else 'ffloordiv', wide)}({x}, {y})")
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
                self.fail(node, "indices are integers, or one slice of the first axis")
            code = self.cast(index, "int64")
            if not index.natural and index.type.startswith("i"):
                code = f"({dims[k].code} + {code})" if isinstance(index.data, int) else \
                    f"{self.program.helper('wrap')}({code}, {dims[k].code})"
            size, known = dims[k].data, isinstance(index.data, int) and isinstance(dims[k].data, int)
            inside = known and -size <= index.data < size or owner == "<shared>" and size == 0  # dynamic memory has no size here
            if self.program.check and not inside:
                code = f"{self.program.test(self, node, k)}({code}, {dims[k].code})"
            offset = f"({offset} * {dims[k].code} + {code})" if offset else code
        for d in dims[len(indices):]:
            offset = f"{offset} * {d.code}"
        return f"{array.code}[{offset}]" if len(indices) == len(dims) else f"({array.code} + {offset})", dims[len(indices):]

    def index_list(self, node):
        value = self.expression(node)
        return value.data if value.type == "tuple" else [value]

    def x_Subscript(self, node):
        array = self.expression(node.value)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self.field(node, array, node.slice.value)
        if isinstance(node.slice, ast.Slice):
            return self.part(node, array)
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
        return self.load(array, code)

    def part(self, node, array):
        """x[start:stop] as a view. Its bounds become variables, so that they stay when other variables change."""
        if array.type == "tuple":
            ends = [self.expression(e).data if e else None for e in (node.slice.lower, node.slice.upper, node.slice.step)]
            if any(e is not None and not isinstance(e, int) for e in ends):
                self.fail(node, "the bounds of a tuple's slice are constants")
            return Value("tuple", "", data=array.data[slice(*ends)])
        if not isinstance(array.type, Elements):
            self.fail(node, f"{ast.unparse(node.value)} is not an array")
        if node.slice.step and self.expression(node.slice.step).data != 1:
            self.fail(node, "slices in kernels have no step; index the elements instead")
        (first, *rest), owner = array.data
        if owner == "<shared>" and first.data == 0:
            self.fail(node, "dynamic shared memory has no size that a slice could use: pass bounds and index the elements")
        size, names = self.cast(first, "int64"), []
        for end, given in (("low", node.slice.lower), ("high", node.slice.upper)):
            name = f"{end}_{node.lineno}_{node.col_offset}"
            code = "0" if end == "low" else size
            if given:
                code = f"{self.program.helper('clip')}({self.cast(self.integer(given), 'int64')}, {size})"
            if end == "high":
                code = f"max({code}, {names[0]}) - {names[0]}"
            self.bounds[f"long long {name} = 0;"] = True
            self.emit(f"{name} = {code};")
            names.append(name)
        offset = " * ".join([names[0]] + [d.code for d in rest])
        return Value(array.type, f"({array.code} + {offset})", data=([Value("int64", names[1], True), *rest], owner))

    def field(self, node, value, name):
        """A field of a structure, which can be assigned to."""
        if not isinstance(value.type, Record):
            self.fail(node, f"{ast.unparse(node.value)} is not an element of an array of structures; write x[i]['{name}'] or x[i].{name}")
        dtype = dict(value.type.fields).get(name)
        if dtype is None:
            self.fail(node, f"the structure has no field {name}, only {', '.join(n for n, _ in value.type.fields)}")
        return self.load(Value(Elements(dtype, 0), "", data=(None, value.data)), f"{value.code}.{name}")

    def field_target(self, node, target):
        """The structure and the name of the field that an assignment changes; None if it changes something else."""
        name = target.attr if isinstance(target, ast.Attribute) else \
            target.slice.value if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str) else None
        if name is None:
            return None
        value = self.expression(target.value)
        self.field(target, value, name)
        if value.data == "<constant>":
            self.fail(node, "constants cannot be assigned")
        return Value(Elements(dict(value.type.fields)[name], 0), "", data=(None, value.data)), f"{value.code}.{name}"

    def load(self, array, code):
        dtype = array.type.dtype
        if isinstance(dtype, Record):
            return Value(dtype, code, data=array.data[1])
        if dtype in COMPLEX:
            return Value("complex", f"{self.program.helper('cload' + dtype[7:])}({code})")
        if dtype in STORED:
            return Value("float32", f"{STORED[dtype][0]}({code})")
        return Value(dtype, code, dtype.startswith("u") and dtype != "uint64")

    def element(self, node, target, settle=False):
        """The array of a target, and its element as C. With settle, the indices are computed once."""
        field = self.field_target(node, target)
        if field:
            return field
        array = self.expression(target.value)
        if not isinstance(array.type, Elements):
            self.fail(node, f"{ast.unparse(target.value)} is not an array")
        if isinstance(target.slice, ast.Slice):
            self.fail(node, "an assignment sets one element of an array to a number; write a loop")
        indices = self.index_list(target.slice)
        code, dims = self.place(target, array, self.settled(indices) if settle else indices)
        if dims or array.data[1] == "<constant>":
            self.fail(node, "an assignment sets one element of an array to a number")
        return array, code

    def put(self, array, code, value):
        """Emits an assignment to an element."""
        self.written.add(array.data[1])
        dtype = array.type.dtype
        if isinstance(dtype, Record):
            if value.type != dtype:
                raise UnsupportedError(f"an element of an array of structures is set to an element of {value.type}; assign its fields")
            return self.emit(f"{code} = {value.code};")
        if value.type == "complex" and dtype not in COMPLEX:
            raise UnsupportedError(f"{self.function.__name__}: an element of {dtype} is set to a complex number; take a part, such as z.real")
        if dtype in COMPLEX:
            return self.emit(f"{code} = {self.program.helper('cstore' + dtype[7:])}({self.cast(value, 'complex')});")
        text = f"{STORED[dtype][1]}({self.cast(value, 'float32')})" if dtype in STORED else self.cast(value, dtype)
        self.emit(f"{code} = {text};")
