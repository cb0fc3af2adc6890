"""Functions of Python as CUDA C, for ingot.cuda: types by inference from a call's arguments, statements one by one.

A Program is one kernel for one signature, with the device functions that it calls, each a Function. A Function is translated
again and again until the types of its variables are stable; they only widen. Scalar types are names of dtypes and "complex".
Every expression becomes a Value, which also knows constants and whether an integer is never negative, so that indices
and floor division need no tests there."""
import ast
import builtins
import math
import re
import textwrap
from collections import Counter

from . import _cuda_source
from ._cuda_calls import Calls
from ._cuda_expressions import BINARY, C_NAMES, COMPLEX, FLOATS, Elements, Record, UnsupportedError, Value, c_name, constant

DOUBLE = ("double {n}(double *p, double v) {{ unsigned long long *q = (unsigned long long *)p, old = *q, was; do {{ was = old; "
          "double w = __longlong_as_double((long long)was); if (!(v ? w || w != w)) break; "
          "old = atomicCAS(q, was, (unsigned long long)__double_as_longlong(v)); }} while (old != was); "
          "return __longlong_as_double((long long)old); }}")
HELPERS = {
    "floordiv": "I {n}(I a, I b) {{ I q = a / b; return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q; }}",
    "mod": "I {n}(I a, I b) {{ I r = a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }}",
    "fmodulo": "T {n}(T a, T b) {{ T r = fmod{f}(a, b); if (r == 0) return copysign{f}(r, b); "
               "return (r < 0) != (b < 0) ? r + b : r; }}",
    "ffloordiv": "T {n}(T a, T b) {{ if (b == 0) return a / b; T q = (a - ingot_fmodulo_{t}(a, b)) / b, w = floor{f}(q); "
                 "return q == 0 ? copysign{f}((T)0, a / b) : q - w > (T)0.5 ? w + 1 : w; }}",
    "power": "I {n}(I x, I k) {{ I r = 1; if (k < 0) return x == 1 ? 1 : x == -1 ? (k % 2 ? -1 : 1) : 0; "
             "for (; k > 0; k >>= 1) {{ if (k & 1) r *= x; x *= x; }} return r; }}",
    "fpower": "T {n}(T x, I k) {{ T r = 1; bool down = k < 0; if (down) k = -k; "
              "for (; k > 0; k >>= 1) {{ if (k & 1) r *= x; x *= x; }} return down ? 1 / r : r; }}",
    "dmax": DOUBLE.replace("?", ">"),
    "dmin": DOUBLE.replace("?", "<"),
    "clip": "I {n}(I i, I size) {{ if (i < 0) i += size; return i < 0 ? 0 : i > size ? size : i; }}",
    "fmantissa": "T {n}(T x) {{ int e; return frexp{f}(x, &e); }}",
    "fexponent": "int {n}(T x) {{ int e = 0; frexp{f}(x, &e); return x == x && x - x == 0 ? e : 0; }}",
    "wrap": "I {n}(I i, I size) {{ return i < 0 ? i + size : i; }}",
    "make": "C {n}(F x, F y) {{ C z; z.x = x; z.y = y; return z; }}",
    "cload64": "C {n}(struct ingot_complex64 z) {{ return ingot_make(z.x, z.y); }}",
    "cload128": "C {n}(struct ingot_complex128 z) {{ return ingot_make(z.x, z.y); }}",
    "cstore64": "struct ingot_complex64 {n}(C z) {{ struct ingot_complex64 w; w.x = z.x; w.y = z.y; return w; }}",
    "cstore128": "struct ingot_complex128 {n}(C z) {{ struct ingot_complex128 w; w.x = z.x; w.y = z.y; return w; }}",
    "cconj": "C {n}(C z) {{ return ingot_make(z.x, -z.y); }}",
    "cequal": "bool {n}(C a, C b) {{ return a.x == b.x && a.y == b.y; }}",
    "cadd": "C {n}(C a, C b) {{ return ingot_make(a.x + b.x, a.y + b.y); }}",
    "csub": "C {n}(C a, C b) {{ return ingot_make(a.x - b.x, a.y - b.y); }}",
    "cmul": "C {n}(C a, C b) {{ return ingot_make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }}",
    "cdiv": "C {n}(C a, C b) {{ F d = b.x * b.x + b.y * b.y; return ingot_make((a.x * b.x + a.y * b.y) / d, "
            "(a.y * b.x - a.x * b.y) / d); }}",
}


# The barrier of all blocks. A launch of one block needs only that block's, which every device has.
GRID_SYNC = """#ifdef INGOT_BLOCKS
#include <cooperative_groups.h>
#define INGOT_GRID_SYNC() cooperative_groups::this_grid().sync()
#else
#define INGOT_GRID_SYNC() __syncthreads()
#endif"""


class Program:
    def __init__(self, real, check=False):
        self.real = real  # the dtype of floats that have none
        self.check = check  # whether indices are tested
        self.functions, self.helpers, self.texts, self.constants = {}, {}, [], {}
        self.records = {}  # declarations of structures
        self.waits = False  # whether the kernel waits for all blocks

    def helper(self, name, dtype=None):
        """The name of a helper for a type, which is added to the text."""
        dtype = dtype or "int64"
        full = f"ingot_{name}" + (f"_{dtype}" if name[0] == "f" and dtype in FLOATS else "")
        if name[0] == "c" or name == "ffloordiv":
            self.helper("make" if name[0] == "c" else "fmodulo", dtype)
        body = HELPERS[name].format(n=full, t=dtype, f="f" * (dtype == "float32"))
        words = {"I": "long long", "T": C_NAMES.get(dtype), "F": C_NAMES[self.real], "C": "ingot_complex"}
        self.helpers[full] = "__device__ " + re.sub(r"\b[ITFC]\b", lambda m: words[m[0]], body)
        return full

    def test(self, function, node, axis):
        """The name of a helper that returns the index of an axis at this place, or ends the launch if it is out of bounds."""
        text = ast.unparse(node).replace("\\", "").replace('"', "'").replace("%", "%%" if self.check == "print" else "%")
        text = f"{function.function.__name__}: {text}: index out of bounds for axis {axis}"
        full = f"ingot_at_{node.lineno}_{node.col_offset}_{node.end_lineno}_{node.end_col_offset}_{axis}_{function.name}"
        say = f'if (i >= size && atomicCAS(&ingot_said, 0, 1) == 0) printf("{text}: index %lld, size %lld\\n", i, size);\n    '
        if self.check == "print":
            self.helpers.setdefault("said", "__device__ int ingot_said;")
        self.helpers[full] = (f"__device__ long long {full}(unsigned long long i, unsigned long long size)\n{{\n"
                              f"#line {node.lineno} {function.quoted}\n    {say if self.check == 'print' else ''}"
                              f'assert(i < size && "{text}");\n    return (long long)i;\n}}')
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

    def constant(self, array, dtype):
        """The name of an array from outside of the kernel, whose elements become part of the text."""
        name, held = self.constants.get(id(array), (None, None))
        if not name:
            name = f"c{len(self.constants)}"
            items = ", ".join(constant(v, dtype).code for v in array.reshape(-1).tolist())
            self.constants[id(array)] = name, array
            self.texts.append(f"__constant__ {C_NAMES[dtype]} {name}[{array.size}] = {{{items}}};")
        return name

    def writes(self, code):
        """Whether an expression changes elements of arrays."""
        return "atomic" in code or any(f and f.written and f.name in code for f in self.functions.values())

    def text(self, last):
        pair = f"struct ingot_complex {{ {C_NAMES[self.real]} x, y; }};"
        parts = list(self.helpers.values()) + self.texts + [last]
        pairs = [f"struct ingot_{dtype} {{ {part} x, y; }};" for dtype, part in COMPLEX.items()
                 if any(f"ingot_{dtype}" in text for text in [*parts, *self.records.values()])]
        heads = ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>", *[GRID_SYNC] * self.waits, pair, *pairs, *self.records.values()]
        return "\n".join(heads + list(self.helpers.values()) + self.texts + [last]) + "\n"


class Function(Calls):
    def __init__(self, program, function, arguments, name):
        self.program, self.function, self.arguments, self.name = program, function, arguments, name
        self.real = program.real
        lines, first = _cuda_source.lines_of(function)
        self.file, self.first, self.lines = function.__code__.co_filename, first, lines
        self.quoted = '"' + self.file.replace("\\", "\\\\").replace('"', '\\"') + '"'
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise UnsupportedError(f"{self.file}:{first}: a kernel is a function that begins with def")
        self.tree = ast.increment_lineno(tree, first - 1) if first > 1 else tree
        cells = zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()))
        self.outside = {**vars(builtins), **function.__globals__, **dict(cells)}
        a = tree.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
            self.fail(tree, "parameters of kernels have no defaults, * or **")
        self.params = [p.arg for p in a.posonlyargs + a.args]
        if len(self.params) != len(arguments):
            self.fail(tree, f"{function.__name__} takes {len(self.params)} arguments, not {len(arguments)}")
        self.assigned = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
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
                dims = [Value("int64", f"n{k}_{name}", True) for k in range(type.ndim)]
                self.vars[name] = Value(type, f"v_{name}", data=(dims, name))
            else:
                self.vars[name] = Value(type, f"v_{name}")
        before = None
        while before != (self.vars, self.result, self.written):
            before = (dict(self.vars), self.result, set(self.written))
            self.out, self.depth, self.count, self.arrays, self.bare, self.bounds = [], 1, 0, {}, None, {}
            self.block(self.tree.body)
        if self.result and self.bare:
            self.fail(self.bare, f"{self.function.__name__} returns a number elsewhere, and nothing here")
        pair = isinstance(self.result, tuple)
        result = f"{self.name}_result" if pair else C_NAMES[self.result] if self.result else "void"
        fields = " ".join(f"{C_NAMES[t]} x{k};" for k, t in enumerate(self.result)) if pair else ""
        lines = [f"struct {result} {{ {fields} }};"] if pair else []
        lines.append(f"{kind} {result} {self.name}({', '.join(self.parameters())})\n{{")
        end = [f"    {result} r; return r;"] if pair or self.result == "complex" else ["    return 0;"] if self.result else []
        return "\n".join(lines + self.declarations() + self.out + end + ["}"])

    def parameters(self):
        for name, type in zip(self.params, self.arguments):
            if isinstance(type, Elements):
                const = "" if name in self.written else "const "
                yield f"{const}{c_name(type.dtype)} *v_{name}"
                yield from (f"long long n{k}_{name}" for k in range(type.ndim))
            else:
                yield f"{C_NAMES[type]} {'p' if name in self.assigned else 'v'}_{name}"
        if self.name.endswith("_kernel") and not any(p in self.written for p in self.params):
            yield "int *ingot_ran"  # kernels that only print need a result, too

    def declarations(self):
        lines = ["    " + text for text in (*self.arrays.values(), *self.bounds)]
        for name, v in self.vars.items():
            if isinstance(v.type, Elements) and name not in self.params and name not in self.arrays:
                const = "const " if v.data[1] in self.params and v.data[1] not in self.written else ""
                lines.append(f"    {const}{c_name(v.type.dtype)} *{v.code};")
            elif isinstance(v.type, str) and name in self.params and name in self.assigned:
                start = Value(self.arguments[self.params.index(name)], f"p_{name}")
                lines.append(f"    {C_NAMES[v.type]} {v.code} = {self.cast(start, v.type)};")
            elif isinstance(v.type, str) and v.type in C_NAMES and name not in self.params:
                zero = "" if v.type == "complex" else " = 0"
                lines.append(f"    {C_NAMES[v.type]} {v.code}{zero};")
        return lines

    # ---- statements ----

    def block(self, body):
        for statement in body:
            found = getattr(self, "s_" + type(statement).__name__, None)
            if not found:
                self.fail(statement, f"{type(statement).__name__} is not supported in kernels")
            self.out.append(f"#line {statement.lineno} {self.quoted}")
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
        if isinstance(value.type, Record):
            if old and (old.type != value.type or old.data != value.data):
                self.fail(node, f"{name} is another structure already")
            const = "const " if value.data in self.params and value.data not in self.written else ""
            self.bounds[f"{const}struct {value.type.name} *v_{name} = 0;"] = True
            self.vars[name] = Value(value.type, f"(*v_{name})", data=value.data)
            return self.emit(f"v_{name} = &{value.code};")
        if value.type == "grid":
            self.vars[name] = value
            return None
        if value.type == "tuple":
            items = [self.bind(node, f"{name}.{k}", v) or self.vars[f"{name}.{k}"] for k, v in enumerate(self.settled(value.data))]
            self.vars[name] = Value("tuple", "", data=items)
            return
        if value.type not in C_NAMES or old and old.type not in C_NAMES:
            self.fail(node, f"{name} cannot be assigned this value")
        wide = value.type if not old or old.type == value.type else self.arithmetic(old.type, value.type)
        natural = value.natural and (not old or old.natural)
        item, _, k = name.partition(".")
        fixed = self.assigned[name] == 1 and name not in self.params and isinstance(value.data, (int, float))
        self.vars[name] = Value(wide, f"t{k}_{item}" if k else f"v_{name}", natural, value.data if fixed else None)
        self.emit(f"{self.vars[name].code} = {self.cast(value, wide)};")

    def bind_array(self, node, name, value, old):
        if old and (old.type != value.type or old.data != value.data):
            self.fail(node, f"{name} is another array already")
        dims, owner = value.data
        self.vars[name] = Value(value.type, f"v_{name}", data=(dims, owner))
        if value.code:
            self.emit(f"v_{name} = {value.code};")
            return
        count = math.prod(d.data for d in dims)
        kind = "" if owner == "<local>" else "__shared__ " if count else "extern __shared__ "
        self.arrays[name] = f"{kind}{c_name(value.type.dtype)} v_{name}[{count or ''}];"

    def settled(self, values):
        """Copies values to new variables, so that an assignment does not change the values after it."""
        made = []
        for v in values:
            if v.type in C_NAMES and v.data is None:
                name = self.fresh("x_")
                self.emit(f"{C_NAMES[v.type]} {name} = {v.code};")
                v = v._replace(code=name)
            elif v.type == "tuple" and not v.code:
                v = v._replace(data=self.settled(v.data))
            made.append(v)
        return made

    def assign(self, node, target, value):
        if isinstance(target, ast.Name):
            self.bind(node, target.id, value)
        elif isinstance(target, ast.Subscript):
            if value.type not in C_NAMES and not isinstance(value.type, Record):
                self.fail(node, "an element of an array is set to a number")
            self.put(*self.element(node, target), value)
        elif isinstance(target, ast.Attribute):
            self.put(*self.field_target(node, target), value)
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
        if value.type == "tuple" and value.code:  # the result of a call
            name = self.fresh("r_")
            self.emit(f"{value.code.partition('(')[0]}_result {name} = {value.code};")
            value = value._replace(data=[v._replace(code=f"{name}.x{k}") for k, v in enumerate(value.data)])
        if len(node.targets) > 1:
            value = self.settled([value])[0]
        for target in node.targets:
            self.assign(node, target, value)

    def s_AnnAssign(self, node):
        if node.value:
            self.assign(node, node.target, self.expression(node.value))

    def s_AugAssign(self, node):
        sign = BINARY.get(type(node.op)) or self.fail(node, "this operator is not supported in kernels")
        if isinstance(node.target, ast.Name):
            self.bind(node, node.target.id, self.binary(node, sign, self.x_Name(node.target), self.scalar(node.value)))
        elif isinstance(node.target, (ast.Subscript, ast.Attribute)):
            array, code = self.field_target(node, node.target) if isinstance(node.target, ast.Attribute) else \
                self.element(node, node.target, settle=True)
            self.put(array, code, self.binary(node, sign, self.load(array, code), self.scalar(node.value)))
        else:
            self.fail(node, f"{ast.unparse(node.target)} cannot be assigned in kernels")

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
        before = len(self.out)
        test = self.condition(node.test)
        moved = self.out[before:]  # statements that the test needs each time
        del self.out[before:]
        self.emit(f"while ({'true' if moved else test}) {{")
        self.out += moved
        if moved:
            self.emit(f"if (!{test}) break;")
        self.inside(node.body)

    def items(self, node):
        """The items that a loop visits: how many there are, as C, and a function from a number in C to a Value."""
        if isinstance(node, ast.Call) and not node.keywords:
            target = self.expression(node.func).data
            if target is enumerate and len(node.args) in (1, 2):
                count, item = self.items(node.args[0])
                start = self.integer(node.args[1]) if len(node.args) == 2 else constant(0, self.real)
                first = self.cast(start, "int64")
                return count, lambda k: Value("tuple", "", data=[Value("int64", f"({first} + {k})", start.natural), item(k)])
            if target is zip and node.args:
                all = [self.items(a) for a in node.args]
                count = all[0][0]
                for n, _ in all[1:]:
                    count = f"min({count}, {n})"
                return count, lambda k: Value("tuple", "", data=[item(k) for _, item in all])
        value = self.expression(node)
        if isinstance(value.type, Elements):
            def element(k):
                code, dims = self.place(node, value, [Value("int64", k, True)])
                return Value(Elements(value.type.dtype, len(dims)), code, data=(dims, value.data[1])) if dims else \
                    self.load(value, code)
            return self.cast(value.data[0][0], "int64"), element
        if value.type != "tuple" or not value.data:
            self.fail(node, "loops visit a range, a tuple, an array, or enumerate or zip of tuples and arrays")
        chosen = self.settled(value.data)
        return f"{len(chosen)}LL", lambda k: self.choice(node, chosen, k)

    def choice(self, node, values, k):
        """The item k of a tuple."""
        if all(v.type == "tuple" and len(v.data) == len(values[0].data) for v in values):
            return Value("tuple", "", data=[self.choice(node, list(column), k) for column in zip(*(v.data for v in values))])
        if any(v.type not in C_NAMES for v in values):
            self.fail(node, "a loop visits tuples of numbers, or of tuples of the same length")
        wide = values[0].type
        for v in values[1:]:
            wide = wide if wide == v.type else self.arithmetic(wide, v.type)
        code = self.cast(values[-1], wide)
        for j, v in reversed(list(enumerate(values[:-1]))):
            code = f"({k} == {j} ? {self.cast(v, wide)} : {code})"
        return Value(wide, code, all(v.natural for v in values))

    def s_For(self, node):
        call = node.iter
        if node.orelse:
            self.fail(node, "else after a loop is not supported in kernels")
        if not isinstance(call, ast.Call) or self.expression(call.func).data is not range:
            count, item = self.items(call)
            k, n = self.fresh("i_"), self.fresh("n_")
            self.emit(f"for (long long {k} = 0, {n} = {count}; {k} < {n}; {k}++) {{")
            self.depth += 1
            self.assign(node, node.target, item(k))
            self.depth -= 1
            self.inside(node.body)
            return
        if not isinstance(node.target, ast.Name) or not 1 <= len(call.args) <= 3 or call.keywords:
            self.fail(node, "a loop over a range is: for name in range(...), with one to three numbers")
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
            self.bare = node
            return
        if self.name.endswith("_kernel"):
            self.fail(node, "a kernel returns nothing; it writes to arrays")
        value = self.expression(node.value)
        items = value.data if value.type == "tuple" else [value]
        if any(v.type not in C_NAMES for v in items):
            self.fail(node, "functions return a number or a tuple of numbers")
        old = self.result if isinstance(self.result, tuple) else (self.result,) if self.result else tuple(v.type for v in items)
        if len(old) != len(items) or self.result and isinstance(self.result, tuple) != (value.type == "tuple"):
            self.fail(node, "this return has another number of values than one before")
        wide = tuple(t if t == v.type else self.arithmetic(t, v.type) for t, v in zip(old, items))
        if value.type != "tuple":
            self.result = wide[0]
            self.emit(f"return {self.cast(value, wide[0])};")
            return
        self.result = wide
        fields = " ".join(f"r.x{k} = {self.cast(v, t)};" for k, (v, t) in enumerate(zip(items, wide)))
        self.emit(f"{{ {self.name}_result r; {fields} return r; }}")
