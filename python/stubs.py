"""Writes the type stubs (.pyi) of the package from the op table and the alias table: stubs.py FOLDER, where FOLDER/ingot is
the built package."""
import ast
import builtins
import importlib
import keyword
import os
import re
import sys
import types

sys.dont_write_bytecode = True
FOLDER = sys.argv[1]
sys.path.insert(0, FOLDER)

import ingot  # noqa: E402
from ingot import _ingot, fft, linalg, random  # noqa: E402

KINDS = {"array": "ArrayLike", "arrays": "Sequence[ArrayLike]", "int": "int", "ints": "Sequence[int]", "float": "float",
         "bool": "builtins.bool", "dtype": "DTypeLike", "str": "str", "none": "None"}

HEAD = '''"""Made by python/stubs.py from the op table."""
import builtins
from typing import Any, Callable, Literal, NamedTuple, Optional, Sequence, Tuple, Union

'''

TYPES = '''ArrayLike = Any
DTypeLike = Any

class dtype:
    name: str
    itemsize: int
    kind: str
    def __init__(self, name: Any, /) -> None: ...
    def __call__(self, x: Any = 0, /) -> Array: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

class DeviceError(RuntimeError): ...
class ShapeError(ValueError, IndexError): ...

'''

FUNCTIONS = '''def asarray(obj: Any, /, dtype: DTypeLike = None, device: Optional[str] = None, copy: Optional[builtins.bool] = None) -> Array: ...
def array(object: Any, dtype: DTypeLike = None, *, copy: Optional[builtins.bool] = True, order: str = ..., subok: builtins.bool = False,
          ndmin: int = 0, device: Optional[str] = None) -> Array: ...
def from_dlpack(x: Any, /, *, device: Optional[str] = None, copy: Optional[builtins.bool] = None) -> Array: ...
def broadcast_shapes(*shapes: Sequence[int]) -> Tuple[int, ...]: ...
def quantize(x: Any, format: str, block: Optional[int] = None) -> Array: ...
def packed_bytes(x: Array, /) -> Array: ...
def result_type(*arrays_and_dtypes: Any) -> dtype: ...
def can_cast(from_: Any, to: Any, /) -> builtins.bool: ...
def isdtype(dtype: Any, kind: Any) -> builtins.bool: ...
def set_default_dtype(dtype: Any, /) -> None: ...
def get_default_dtype() -> dtype: ...
def eval(*arrays: Any) -> Any: ...
class device(str):
    kind: str
    model: Optional[str]
    level: Optional[str]
    memory: int
    limit: int
    used: int
    threads: int
    def __enter__(self) -> device: ...
    def __exit__(self, *_: Any) -> None: ...
def devices() -> list[device]: ...
def verify(*results: Any) -> _Report: ...
def bench(function: Callable[..., Any], *args: Any, seconds: float = 0.5, **kwargs: Any) -> _Timing: ...
def default_device() -> str: ...
def set_device(name: str, /) -> None: ...
def synchronize(device: Optional[str] = None, /) -> None: ...
def threads() -> int: ...
def set_memory_limit(bytes: int, device: str | None = None, /) -> None: ...
def set_threads(n: int, /) -> None: ...
def memory() -> dict[str, int]: ...
def load(path: Any) -> Any: ...
def open(path: Any) -> Array: ...
def save(path: Any, x: Any, *, chunks: Any = "auto", shards: Any = None, compressors: Any = "auto", codecs: Any = "auto",
         fill_value: Optional[float] = None, attributes: Optional[dict[str, Any]] = None,
         dimension_names: Optional[Sequence[Optional[str]]] = None, overwrite: builtins.bool = True) -> None: ...
def grad(fun: Callable[..., Any], argnums: Any = 0, has_aux: builtins.bool = False) -> Callable[..., Any]: ...
def value_and_grad(fun: Callable[..., Any], argnums: Any = 0, has_aux: builtins.bool = False) -> Callable[..., Any]: ...
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: builtins.bool = False) -> Any: ...
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: builtins.bool = False) -> Any: ...
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: builtins.bool = False) -> Any: ...
def jacobian(fun: Callable[..., Any], argnums: Any = 0, has_aux: builtins.bool = False) -> Callable[..., Any]: ...
def jacrev(fun: Callable[..., Any], argnums: Any = 0, has_aux: builtins.bool = False) -> Callable[..., Any]: ...
def jacfwd(fun: Callable[..., Any], argnums: Any = 0, has_aux: builtins.bool = False) -> Callable[..., Any]: ...
def hessian(fun: Callable[..., Any], argnums: Any = 0, has_aux: builtins.bool = False) -> Callable[..., Any]: ...
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Optional[Callable[[Any], Any]] = None) -> Any: ...
def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: Optional[int] = None) -> Callable[..., Any]: ...
def jit(fun: Any = None, static_argnums: Any = (), static_argnames: Any = (), donate_argnums: Any = (),
        donate_argnames: Any = ()) -> Callable[..., Any]: ...
def checkpoint(fun: Callable[..., Any], *, prevent_cse: bool = ..., policy: Any = ..., static_argnums: Any = ...) -> Callable[..., Any]: ...
checkpoint_policies: Any
def custom_grad(fun: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]: ...
def explain(fun: Callable[..., Any]) -> Callable[..., str]: ...
def kernel(source: str, name: Optional[str] = None, *, defines: Any = (), gradient: Any = (), file: str = "kernel.cu") -> Any: ...
def ravel(x: Any, order: str = "C") -> Array: ...
def __array_namespace_info__() -> Any: ...

class finfo:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any
    def __init__(self, type: Any, /) -> None: ...

class iinfo:
    bits: int
    max: int
    min: int
    dtype: Any
    def __init__(self, type: Any, /) -> None: ...

e: float
inf: float
nan: float
pi: float
newaxis: None
__version__: str
__array_api_version__: str
'''

BINARY = """add sub mul truediv floordiv mod pow matmul and or xor lshift rshift""".split()


def parameter(text):
    """ "axis: int|ints = None" as a parameter of a stub."""
    star = text.startswith("*")
    name, _, rest = text.lstrip("*").partition(": ")
    kinds, _, default = rest.partition(" = ")
    if star:
        return f"*{name}: ArrayLike"
    types = [KINDS[k] for k in kinds.split("|")]
    if default == "None" and "None" not in types:
        types.append("None")
    hint = types[0] if len(types) == 1 else f"Union[{', '.join(types)}]"
    if default and "dtype" in kinds.split("|") and default != "None":
        default = "..."
    return f"{name}: {hint}" + (f" = {default}" if default else "")


def result(row):
    name, _, _, _, gives_list, results = row
    if not gives_list:
        return "Array"
    return f"_{name}_result" if results else "Tuple[Array, ...]"


def function(row, name=None, method=False):
    signature = row[2]
    parts = [parameter(p) for p in signature.split(", ")] if signature else []
    if method:
        parts = ["self"] + parts[1:]
    elif row[0] == "diff":  # its second argument is n, as in NumPy
        parts[1], parts[2] = parts[2], parts[1]
    places = row[1] == "source" or "fftfreq" in row[0] or row[0] == "astype"
    if places:
        parts += ["*" if not any(p.startswith("*") for p in parts) else "", "device: Optional[str] = None"]
    return f"def {name or row[0]}({', '.join(p for p in parts if p)}) -> {result(row)}: ..."


def array_class(rows, aliases):
    lines = ["class Array:"]
    attributes = {"shape": "Tuple[int, ...]", "ndim": "int", "size": "int", "dtype": "dtype", "itemsize": "int", "nbytes": "int",
                  "device": "str", "is_evaluated": "builtins.bool", "T": "Array", "mT": "Array", "real": "Array", "imag": "Array",
                  "at": "Any", "base": "Optional[Array]", "strides": "Tuple[int, ...]", "flags": "Any", "flat": "Any"}
    lines += [f"    @property\n    def {name}(self) -> {hint}: ..." for name, hint in attributes.items()]
    for op in BINARY:
        lines += [f"    def __{p}{op}__(self, other: Any, /) -> Array: ..." for p in ("", "r", "i")]
    lines += [f"    def __{op}__(self, other: Any, /) -> Array: ...  # type: ignore[override]" for op in ("eq", "ne")]
    lines += [f"    def __{op}__(self, other: Any, /) -> Array: ..." for op in ("lt", "le", "gt", "ge")]
    lines += [f"    def __{op}__(self) -> Array: ..." for op in ("neg", "pos", "abs", "invert")]
    lines += ["    def __getitem__(self, key: Any, /) -> Array: ...", "    def __setitem__(self, key: Any, value: Any, /) -> None: ...",
              "    def __len__(self) -> int: ...", "    def __iter__(self) -> Any: ...", "    def __float__(self) -> float: ...",
              "    def __int__(self) -> int: ...", "    def __bool__(self) -> builtins.bool: ...",
              "    def __index__(self) -> int: ...", "    def __complex__(self) -> builtins.complex: ...",
              "    def __dlpack__(self, **kwargs: Any) -> Any: ...", "    def __dlpack_device__(self) -> Tuple[int, int]: ...",
              "    def __array__(self, dtype: Any = None, copy: Any = None) -> Any: ...", "    def __array_namespace__(self, /, *, api_version: Optional[str] = None) -> Any: ...",
              "    def item(self, *index: int) -> Any: ...", "    def tolist(self) -> Any: ...", "    def copy(self) -> Array: ...",
              "    def numpy(self) -> Any: ...", "    def eval(self) -> Array: ...",
              "    def to_device(self, device: str, /, *, stream: None = None) -> Array: ...",
              "    def reshape(self, *shape: Any, copy: Optional[builtins.bool] = None) -> Array: ...",
              "    def transpose(self, *axes: Any) -> Array: ...",
              "    def sort(self, axis: int = -1, kind: Any = None, order: None = None, *, stable: Any = None, "
              "descending: builtins.bool = False) -> None: ...",
              "    def partition(self, kth: Any, axis: int = -1, kind: str = ..., order: None = None) -> None: ...",
              "    def fill(self, value: Any) -> None: ...", "    def put(self, indices: Any, values: Any, mode: str = ...) -> None: ...",
              "    def ravel(self, order: str = ...) -> Array: ...",
              "    def tobytes(self, order: str = ...) -> bytes: ..."]
    own = set(attributes) | {"item", "tolist", "copy", "numpy", "eval", "to_device", "reshape", "transpose"}
    lines += tensor_methods()
    own |= set(re.findall(r"def (\w+)\(", "".join(lines)))
    by_name = {row[0]: row for row in rows}
    for name, row in [(row[0], row) for row in rows] + [(a, by_name[op]) for a, op in aliases]:
        takes = row[2].split(", ")[0]
        if name not in own and hasattr(_ingot.Array, name) and "array" in takes.partition(": ")[2].split(" ")[0].split("|"):
            lines.append("    " + function(row, name, method=True))
            own.add(name)
    from ingot._tensor import _Advised
    own |= set(re.findall(r"def (\w+)\(", "".join(lines)))
    lines += [f"    {name}: Any" for name in sorted(set(dir(_ingot.Array)) - own) if not name.startswith("_") and not keyword.iskeyword(name) and
              not isinstance(_ingot.Array.__dict__.get(name), _Advised)]
    return "\n".join(lines) + "\n\n"


def tensor_methods():
    """The methods of _tensor.py, and those in place that it makes."""
    body = body_of("_tensor")
    methods = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == "_Methods").body
    lines = [plain_function(node, "    ", True).rstrip() for node in methods
             if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    made = [name for name in vars(_ingot.Array) if name.endswith("_") and not name.startswith("_") and
            isinstance(getattr(_ingot.Array, name, None), types.FunctionType) and f"def {name}(" not in "".join(lines)]
    return lines + [f"    def {name}(self, *args: Any, **kwargs: Any) -> Array: ..." for name in sorted(made)]


def results_classes(rows):
    lines = []
    for row in rows:
        if row[5]:
            lines.append(f"class _{row[0]}_result(NamedTuple):")
            lines += [f"    {field}: Array" + ("  # type: ignore[assignment]" if field in ("count", "index") else "")
                      for field in row[5].split()]
    return "\n".join(lines) + "\n\n"


# ---- modules in Python ----

RETURNS = {"__init__": "None", "__setattr__": "None", "__setitem__": "None", "__delitem__": "None", "__len__": "int",
           "__repr__": "str", "__str__": "str", "__contains__": "builtins.bool", "__bool__": "builtins.bool", "__hash__": "int"}


def plain_arguments(node, method):
    """The arguments of a function of the syntax tree; those without an annotation are of any type."""
    args = node.args
    annotate = lambda a: ast.unparse(a.annotation) if a.annotation else "Any"  # noqa: E731
    own = [*args.posonlyargs, *args.args]
    words = [f"{a.arg}: {annotate(a)}" + (" = ..." if i >= len(own) - len(args.defaults) else "") for i, a in enumerate(own)]
    if method and own:
        words[0] = own[0].arg
    if args.posonlyargs:
        words.insert(len(args.posonlyargs), "/")
    if args.vararg:
        words.append(f"*{args.vararg.arg}: {annotate(args.vararg)}")
    elif args.kwonlyargs:
        words.append("*")
    words += [f"{a.arg}: {annotate(a)}" + (" = ..." if d else "") for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    return ", ".join(words + ([f"**{args.kwarg.arg}: {annotate(args.kwarg)}"] if args.kwarg else []))


def plain_function(node, indent="", method=False):
    marks = [ast.unparse(d) for d in node.decorator_list
             if ast.unparse(d) in ("property", "staticmethod", "classmethod", "contextlib.contextmanager") or ast.unparse(d).endswith(".setter")]
    result = ast.unparse(node.returns) if node.returns else RETURNS.get(node.name, "Any")
    arguments = plain_arguments(node, method and "staticmethod" not in marks)
    return "".join(f"{indent}@{m}\n" for m in marks if m != "contextlib.contextmanager") + \
        f"{indent}def {node.name}({arguments}) -> {result}: ...\n"


def plain_class(node):
    """Methods and the attributes that they set. Other attributes are of any type."""
    bases = ", ".join({"dict": "dict[str, Any]"}.get(ast.unparse(b), ast.unparse(b)) for b in node.bases)
    methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
    taken = {m.name for m in methods}
    fields = {n.target.id: ast.unparse(n.annotation) for n in node.body if isinstance(n, ast.AnnAssign)}
    sets = [n for m in methods for n in ast.walk(m) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    fields = {**{n.attr: "Any" for n in sets if ast.unparse(n.value) == "self" and n.attr not in taken}, **fields}
    if any(ast.unparse(d).partition("(")[0] in ("dataclass", "dataclasses.dataclass") for d in node.decorator_list) or "NamedTuple" in bases:
        taken.add("__getattr__")
    text = f"class {node.name}" + (f"({bases})" if bases else "") + ":\n"
    text += "".join(f"    {name}: {kind}\n" for name, kind in fields.items())
    text += "".join(plain_function(m, "    ", True) for m in methods if m.name != "__getattr__")
    return text + ("" if "__getattr__" in taken and fields else "    def __getattr__(self, name: str) -> Any: ...\n")


def body_of(name):
    with open(os.path.join(FOLDER, "ingot", name + ".py"), encoding="utf-8") as f:
        return ast.parse(f.read()).body


def is_package(name):
    return os.path.isdir(os.path.join(FOLDER, "ingot", name))


def bodies_of(name):
    """The statements of a module; of a package, also the statements of the files whose names it imports."""
    if not is_package(name):
        return body_of(name)
    body = body_of(name + "/__init__")
    files = [n.module for n in body if isinstance(n, ast.ImportFrom) and n.level == 1 and n.module]
    return [node for file in files for node in body_of(f"{name}/{file}")] + body


def plain_module(name):
    """The stub of a module that is written in Python. A base class of another module is written, too."""
    body = bodies_of(name)
    bases = {b.id for n in body if isinstance(n, ast.ClassDef) for b in n.bases if isinstance(b, ast.Name)}
    other = [node for n in body if not is_package(name) and isinstance(n, ast.ImportFrom) and n.level == 1 and n.module and bases & {a.name for a in n.names}
             for node in body_of(n.module) if isinstance(node, ast.ClassDef) and node.name in bases]
    text = HEAD + "from ingot import Array\n\n"
    for node in other + body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            text += plain_function(node)
        elif isinstance(node, ast.ClassDef):
            text += plain_class(node)
    return text


def with_others(module, text):
    """The stub with all other names of the module, which are of any type. Where a name of it is a type of Python, too, annotations say
    builtins.float."""
    tree = ast.parse(text)
    known = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {
        a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names} | {
        n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)} | {
        t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets}
    words = {row[0].rpartition(".")[2] for row in _ingot._aliases()} | set(by_name) | set(dir(module)) | set(ingot._names._OTHER_DTYPES)
    later = getattr(module, "_LATER", ())
    made = sorted(w for w in words - known if w.isidentifier() and not keyword.iskeyword(w) and not w.startswith("_") and
                  (w in later or hasattr(module, w)))
    hidden = (known | set(made)) & set(vars(builtins))
    places = [(n.lineno, n.col_offset) for node in ast.walk(tree) for n in annotation_names(node) if n.id in hidden]
    lines = text.splitlines()
    for line, column in sorted(set(places), reverse=True):
        lines[line - 1] = lines[line - 1][:column] + "builtins." + lines[line - 1][column:]
    return "\n".join(lines) + "\n" + "".join(f"{w}: Any\n" for w in made)


def annotation_names(node):
    """The names in the annotations of a node of a syntax tree."""
    for field in ("annotation", "returns"):
        if isinstance(getattr(node, field, None), ast.AST):
            yield from (n for n in ast.walk(getattr(node, field)) if isinstance(n, ast.Name))


def numpy_names():
    """NumPy's names of the package with their stubs: functions and classes of modules in Python, and ops. Others are of any type."""
    stubs = {}
    for module in dict.fromkeys(ingot._NUMPY.values()):
        for node in body_of(module):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                stubs[node.name] = plain_function(node)
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                node.bases = []
                stubs[node.name] = plain_class(node)
    call = "    def __call__(self, x1: ArrayLike, x2: ArrayLike) -> Array: ...\n"
    stubs["Ufunc"] = stubs["Ufunc"].replace("class Ufunc:\n", "class _Ufunc:\n" + call)
    return stubs | {name: f"{name}: {'_Ufunc' if module == '_ufuncs' else 'Any'}\n" for name, module in ingot._NUMPY.items()
                    if name not in stubs}


def write(name, text):
    with open(os.path.join(FOLDER, "ingot", name), "w") as f:
        f.write(text)


rows = _ingot._table()
by_name = {row[0]: row for row in rows}
aliases = [(a[0], a[1]) for a in _ingot._aliases() if a[1] and a[0].isidentifier() and not keyword.iskeyword(a[0])]
dtypes = [name for name in dir(_ingot) if isinstance(getattr(_ingot, name), _ingot.dtype)]
MODULES = "cuda data fft lax linalg nn onnx optim random team text tree_util".split()
text = HEAD + f"from . import {', '.join(f'{m} as {m}' for m in MODULES)}\n"
text += "from ._device import Report as _Report, Timing as _Timing\n\n" + TYPES
text += array_class(rows, aliases) + results_classes(rows)
names = numpy_names()
text += "\n".join(function(row) for row in rows if row[0] not in ("fft", *names)) + "\n" + "".join(names.values())
text += "\n".join(f"{name} = {op}" for name, op in aliases if name not in by_name and name not in names and op != "fft") + "\n" + FUNCTIONS
text += "\n".join(f"{name}: dtype" for name in dtypes if name not in by_name) + "\n"
write("__init__.pyi", with_others(ingot, text))
write("numpy.pyi", "from . import *\n")
for module in (linalg, fft, random):
    named = {n: module.__dict__[n].__name__ for n in module.__all__ if callable(module.__dict__[n])}
    text = HEAD + "from . import Array, ArrayLike, DTypeLike\n"
    named = {n: op for n, op in named.items() if op in by_name}
    used = sorted({f"_{op}_result" for op in named.values() if by_name[op][5]})
    text += (f"from . import {', '.join(used)}\n" if used else "") + "\n"
    text += "\n".join(function(by_name[op], n) for n, op in named.items()) + "\n"
    write(module.__name__.rpartition(".")[2] + ".pyi", with_others(module, text))
for name in ("cuda", "data", "lax", "nn", "nn/functional", "nn/init", "nn/utils", "optim", "optim/lr_scheduler", "optim/swa_utils", "team", "tree_util"):
    module = importlib.import_module("ingot." + name.replace("/", "."))  # modules that are not here have annotations
    write(name + ("/__init__" if is_package(name) else "") + ".pyi", with_others(module, plain_module(name)))
