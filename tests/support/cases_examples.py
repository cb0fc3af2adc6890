"""Examples of the op table, in several dtypes, stored as they are and transposed."""
import math
import re

import numpy as np

from support import neural, special_functions
from support.cases import FLOATS, SPECIAL, case, erf, erfinv, floats, rng, seed
from support.ops_table import examples


DTYPES = {"ANY": [*FLOATS, "int32", "uint8", "bool"], "NUMBERS": [*FLOATS, "int32", "uint8"], "FLOATS": FLOATS,
          "INTS": ["int32", "uint8"], "WHOLES": ["int32", "uint8", "bool"], "BOOLS": ["bool"]}
INPUT = re.compile(r"(?P<shape>-|\d+(?:x\d+)*)(?P<source>[+z!?^]|[#~]\d+|\[[^]]*\])?$")


def example_input(text, k, dtype):
    """Input k of an example: its values come from where ops.def says."""
    match = INPUT.match(text)
    shape = () if match["shape"] == "-" else tuple(int(n) for n in match["shape"].split("x"))
    source = match["source"] or ""
    if source == "^":
        eye = np.eye(shape[-1])
        off = np.rint(rng.uniform(-1, 1, shape)) if dtype not in FLOATS else floats(shape, "float64", -0.5, 0.5)
        off = np.maximum(off, 0) if dtype == "uint8" else off
        return (off * (dtype != "bool") * (1 - eye) + (shape[-1] + 1) * eye).astype(dtype)
    if source == "?" or (dtype == "bool" and source[:1] not in ("#", "~")):
        return rng.integers(0, 2, shape).astype(bool)
    if source[:1] in ("#", "~"):
        return rng.integers(-int(source[1:]) if source[0] == "~" else 0, int(source[1:]), shape)
    low, high = ((float(n) for n in source[1:-1].split(",")) if source[:1] == "[" else
                 (0.3, 2.3) if source == "+" else (-2.0, 2.0))
    if dtype in FLOATS:
        x = np.asarray(np.resize(np.roll(SPECIAL, 3 * k), shape).astype(dtype) if source == "!" else
                       floats(shape, dtype, low, high))
    else:
        x = np.asarray(rng.integers(max(math.ceil(low), np.iinfo(dtype).min), math.floor(high) + 1, shape), dtype)
    if source == "z":
        x.reshape(-1)[1::3] = 0
    return x


def lu_factor(a):
    """The factors in one matrix and the pivots, as LAPACK gives them, of one matrix."""
    a = np.array(a, float)
    pivots = np.zeros(min(a.shape), "int32")
    for k in range(len(pivots)):
        pivots[k] = p = k + np.argmax(np.abs(a[k:, k]))
        a[[k, p]] = a[[p, k]]
        if a[k, k]:
            a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a, pivots


def row_order(pivots, m):
    order = np.arange(m)
    for i, p in enumerate(pivots):
        p = min(max(p, i), m - 1)
        order[[i, p]] = order[[p, i]]
    return order


def lu(a):
    if a.ndim > 2:
        return tuple(np.stack(parts) for parts in zip(*[lu(x) for x in a], strict=True))
    f, pivots = lu_factor(a)
    k = len(pivots)
    return (np.eye(len(a))[:, row_order(pivots, len(a))], np.tril(f[:, :k], -1) + np.eye(len(a), k), np.triu(f[:k]))


def expm(a):
    """The exponential by its series, scaled."""
    a, total = a / 16.0, np.zeros(a.shape) + np.eye(a.shape[-1])
    term = total
    for k in range(1, 40):
        term = term @ a / k
        total = total + term
    return np.linalg.matrix_power(total, 16)


def lu_solve(f, pivots, b, trans=0):
    a = (np.tril(f, -1) + np.eye(len(f))) @ np.triu(f)
    a[row_order(pivots, len(f))] = a.copy()
    return np.linalg.solve(a.T if trans else a, b)


def example_results(example, inputs, dtype):
    """What NumPy says, for each result. Results of integers that are floats are f32, as of every op."""
    names = {"np": np, "math": math, "erf": erf, "erfinv": erfinv, "lu": lu,
             "lu_factor": lu_factor, "lu_solve": lu_solve, "expm": expm, "neural": neural, **vars(special_functions)}

    def results(convert):
        own = {"abcde"[k]: convert(x) for k, x in enumerate(inputs)}
        found = eval(example.numpy, {**names, **own, "dtype": dtype})  # the table is ours
        return [np.asarray(x) for x in (found if isinstance(found, tuple) else [found])]

    def wide(x):
        return x.astype(float) if x.dtype == dtype else x

    exact = real = results(wide)
    if dtype not in FLOATS:
        try:
            exact = results(lambda x: x)
        except TypeError:  # NumPy does not compute with bool
            pass
    if not inputs:  # the call says which dtype its results have
        return exact
    rounded = dtype if dtype in FLOATS else "float32"
    pairs = "complex128" if dtype == "float64" else "complex64"
    real = [y.astype(pairs) if y.dtype.kind == "c" else y for y in real]
    exact = [y if y.dtype.kind == "c" else x for x, y in zip(exact, real, strict=True)]
    return [y.astype(rounded) if x.dtype.kind == "f" else x for x, y in zip(exact, real, strict=True)]


def example_cases():
    for example in examples():
        texts = example.inputs.split()
        for dtype in DTYPES[example.takes] if texts else FLOATS[:1]:
            seed(example.op, example.inputs, example.call, dtype)
            inputs = [example_input(text, k, dtype) for k, text in enumerate(texts)]
            wanted = example_results(example, inputs, dtype)
            slack = 2 if dtype == "float16" else 10
            for view in ("", ".T"):  # stored as it is, and transposed
                stored = {"abcde"[k]: np.ascontiguousarray(x.T) if view else x for k, x in enumerate(inputs)}
                text = re.sub(r"\b([a-e])\b(?!')", lambda m: "{" + m[1] + "}" + view, example.call)
                for i, want in enumerate(wanted):
                    case(example.op, f"{text}[{i}]" if len(wanted) > 1 else text, stored, want, slack)
