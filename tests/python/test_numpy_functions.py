"""Every function of NumPy that has the protocol __array_function__, with each of its arguments: the result for arrays of this
library equals NumPy's, or an error is raised. An argument that is dropped shows here."""
import functools
import inspect
import io
import warnings

from against import check, finish, ig, np

warnings.simplefilter("ignore")
ORDERED = np.array([[3.0, 1.0, 2.0, 7.0], [9.0, 5.0, 4.0, 6.0], [8.0, 0.5, 11.0, 10.0]])
INTS = np.array([[3, 1, 2, 7], [9, 5, 4, 6], [8, 0, 11, 10]])
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 2.0], [0.5, 2.0, 6.0]])
VECTOR = np.array([0.5, 3.0, 1.5, 2.5, 4.0])
RISING = np.array([1.0, 2.0, 3.5, 4.0, 6.0])
BYTES = np.array([[1, 2, 255], [7, 0, 16]], dtype="u1")
MASK = ORDERED > 3

# Arguments by the names of functions, then of parameters; the first array is replaced by ours, and so are the others.
BY_FUNCTION = {
    "apply_along_axis": [(np.sum, 0, ORDERED), (np.sort, 1, ORDERED)], "apply_over_axes": [(np.sum, ORDERED, (0, 1))],
    "array_equal": [(ORDERED, ORDERED), (ORDERED, INTS)], "bincount": [(np.array([1, 2, 2, 5]),)], "block": [([[SQUARE, SQUARE], [SQUARE, SQUARE]],)],
    "append": [(ORDERED, ORDERED)], "broadcast_arrays": [(SQUARE, VECTOR[:3])], "broadcast_to": [(VECTOR, (2, 5))],
    "choose": [(np.array([0, 1, 1]), [VECTOR[:3], RISING[:3]])], "column_stack": [([VECTOR, RISING],)], "compress": [(MASK[0], ORDERED)],
    "concatenate": [([SQUARE, SQUARE],)], "concat": [([SQUARE, SQUARE],)], "convolve": [(VECTOR, RISING)], "correlate": [(VECTOR, RISING)],
    "cross": [(SQUARE, SQUARE[::-1])], "delete": [(ORDERED, 1), (ORDERED, [0, 2]), (ORDERED, slice(0, 2))], "diag": [(SQUARE,), (VECTOR,)],
    "diag_indices_from": [(SQUARE,)], "digitize": [(ORDERED, RISING)], "dsplit": [(np.arange(24.0).reshape(2, 3, 4), 2)],
    "einsum": [("ij,jk->ik", SQUARE, SQUARE), (SQUARE, [0, 1], SQUARE, [1, 2], [0, 2])], "einsum_path": [("ij,jk->ik", SQUARE, SQUARE)],
    "expand_dims": [(ORDERED, 1), (ORDERED, (0, 2))], "extract": [(MASK, ORDERED)], "full_like": [(ORDERED, 3.5)], "geomspace": [(VECTOR, RISING)],
    "gradient": [(ORDERED,), (VECTOR, RISING), (VECTOR, 0.5)], "histogram2d": [(VECTOR, RISING)], "histogramdd": [(ORDERED[:, :2],)],
    "hsplit": [(ORDERED, 2)], "i0": [(VECTOR,)], "insert": [(ORDERED, 1, 5.0), (VECTOR, [1, 3], [7.0, 8.0])], "interp": [(ORDERED, RISING, VECTOR)],
    "isin": [(INTS, np.array([1, 5, 9]))], "ix_": [(np.array([0, 2]), np.array([1, 3]))], "kron": [(SQUARE, SQUARE)],
    "lexsort": [([VECTOR, RISING],)], "linspace": [(VECTOR, RISING, 4)], "logspace": [(VECTOR, RISING, 4)], "meshgrid": [(VECTOR, RISING)],
    "moveaxis": [(ORDERED, 0, 1)], "packbits": [(BYTES,)], "pad": [(ORDERED, 1), (ORDERED, ((1, 2), (0, 1)))], "percentile": [(ORDERED, [20, 60])],
    "nanpercentile": [(ORDERED, [20, 60])], "quantile": [(ORDERED, [0.2, 0.6]), (ORDERED, 0.5)], "nanquantile": [(ORDERED, [0.2, 0.6])],
    "piecewise": [(VECTOR, [VECTOR < 2, VECTOR >= 2], [lambda v: -v, lambda v: v * v]), (VECTOR, [VECTOR < 2], [1.0, 2.0])], "poly": [(VECTOR,)],
    "polydiv": [(VECTOR, RISING[:2])], "polyfit": [(VECTOR, RISING, 2)], "polyval": [(VECTOR, ORDERED)], "ravel_multi_index": [((INTS % 3, INTS % 2), (3, 4))],
    "repeat": [(ORDERED, 2)], "reshape": [(ORDERED, (4, 3)), (ORDERED, -1), (ORDERED, (2, -1))], "resize": [(ORDERED, (2, 2))], "roll": [(ORDERED, 1)],
    "rollaxis": [(ORDERED, 1)], "roots": [(np.array([1.0, -6.0, 11.0, -6.0]),)], "searchsorted": [(RISING, ORDERED)], "select": [([MASK, ~MASK], [ORDERED, -ORDERED])],
    "split": [(ORDERED, 3)], "array_split": [(ORDERED, 2)], "stack": [([SQUARE, SQUARE],)], "swapaxes": [(ORDERED, 0, 1)],
    "take": [(ORDERED, [1, 2]), (VECTOR, np.array([[0, 1], [2, -1]]))], "take_along_axis": [(ORDERED, INTS % 3, 0)], "tensordot": [(SQUARE, SQUARE)],
    "tile": [(SQUARE, (2, 1))], "trapezoid": [(ORDERED,)], "unpackbits": [(BYTES,)], "unravel_index": [(np.array([1, 5, 11]), (3, 4))],
    "unwrap": [(ORDERED,)], "vander": [(VECTOR,)], "vsplit": [(ORDERED, 3)], "where": [(MASK, ORDERED, -ORDERED), (MASK,)], "cond": [(SQUARE,)],
    "lstsq": [(ORDERED, RISING[:3])], "matrix_power": [(SQUARE, 3)], "multi_dot": [([SQUARE, SQUARE, SQUARE],)], "solve": [(SQUARE, VECTOR[:3])],
    "tensorinv": [(np.eye(6).reshape(2, 3, 6) + 1,)], "tensorsolve": [(np.eye(6).reshape(2, 3, 2, 3) + 1, np.arange(6.0).reshape(2, 3))],
    "vdot": [(SQUARE, SQUARE)], "vecdot": [(SQUARE, SQUARE)], "trim_zeros": [(np.array([0, 0, 1.0, 2, 0]),)], "inner": [(SQUARE, SQUARE)],
    "dot": [(SQUARE, SQUARE)], "outer": [(VECTOR, RISING)], "average": [(ORDERED,)], "cov": [(ORDERED,)], "corrcoef": [(ORDERED,)],
    "astype": [(ORDERED, "f4"), (ORDERED, int)], "result_type": [(ORDERED, INTS)], "ediff1d": [(ORDERED,)], "sort_complex": [(VECTOR,)],
    "partition": [(ORDERED, 1)], "argpartition": [(ORDERED, 1)], "nan_to_num": [(np.array([1.0, np.nan, np.inf]),)], "angle": [(VECTOR - 2 + 1j,)],
    "unique": [(INTS % 4,)], "hstack": [([SQUARE, SQUARE],)], "vstack": [([SQUARE, SQUARE],)], "dstack": [([SQUARE, SQUARE],)],
    "polyint": [(VECTOR,)], "polyder": [(VECTOR,)], "flatnonzero": [(MASK,)], "can_cast": [("i4", "f8")], "isclose": [(ORDERED, ORDERED + 1e-9)]}
BY_PARAMETER = {"a": ORDERED, "x": ORDERED, "m": ORDERED, "arr": ORDERED, "ary": ORDERED, "b": ORDERED, "z": ORDERED, "v": ORDERED, "val": ORDERED,
                "array": ORDERED, "filt": VECTOR, "p": VECTOR, "y": VECTOR, "a1": VECTOR, "a2": RISING, "ar": INTS, "ar1": VECTOR, "ar2": RISING,
                "prototype": ORDERED, "element": ORDERED, "x1": SQUARE, "x2": SQUARE, "A": SQUARE, "arys": ORDERED, "xi": VECTOR, "f": ORDERED}
KEYWORDS = {
    "axis": (None, 0, 1, -1, (0, 1)), "keepdims": (True,), "dtype": ("f8", "f4", "i4", float, int, np.float32), "order": ("C", "F", "A", "fro", 1, 2),
    "out": ("out",), "where": (MASK,), "initial": (2, 0.5), "ddof": (1,), "correction": (1,), "kind": ("stable", "quicksort", "heapsort"), "stable": (True,),
    "mode": ("wrap", "clip", "raise", "full", "same", "valid", "edge", "reflect", "symmetric", "reduced", "complete", "r"), "method": ("lower", "nearest", "hazen"),
    "casting": ("unsafe", "safe", "no"), "decimals": (1, -1), "deg": (True,), "rtol": (1e-12,), "atol": (0.0,), "equal_nan": (True,), "bias": (True,),
    "rowvar": (False,), "weights": (np.array([1.0, 2.0, 3.0, 4.0]), ORDERED), "returned": (True,), "minlength": (9,), "side": ("right",), "right": (True, 7.5),
    "left": (-3.5,), "period": (4.0,), "k": (1, -1, 2), "n": (2, 5), "norm": ("ortho", "forward"), "s": ((2, 3),), "axes": ((0, 1), (1, 0), 1), "UPLO": ("U",),
    "upper": (True,), "full_matrices": (False,), "compute_uv": (False,), "hermitian": (True,), "bins": (4, "auto", RISING), "range": ((0.0, 5.0),), "density": (True,),
    "return_index": (True,), "return_inverse": (True,), "return_counts": (True,), "assume_unique": (True,), "return_indices": (True,), "invert": (True,),
    "copy": (True, False), "subok": (True, False), "nan": (9.0,), "posinf": (8.0,), "neginf": (7.0,), "offset": (1,), "axis1": (1,), "axis2": (0,),
    "edge_order": (2,), "indexing": ("ij",), "sparse": (True,), "include_initial": (True,), "shape": ((2, 6), (5,)), "num": (3,), "endpoint": (False,),
    "retstep": (True,), "base": (2.0,), "trim": ("f", "b"), "constant_values": (5.0, (1.0, 2.0)), "stat_length": (2,), "reflect_type": ("odd",), "bitorder": ("little",),
    "count": (3,), "to_end": (5.0,), "to_begin": (4.0,), "prepend": (0.0,), "append": (9.0,), "increasing": (True,), "N": (3,), "dx": (0.5,), "start": (2,),
    "ord": (1, 2, np.inf, "fro"), "tol": (0.1,), "rcond": (0.1,), "ind": (1,), "overwrite_input": (True,), "optimize": (True, "greedy"), "default": (3.0,), "a_min": (2.0,),
    "a_max": (5.0,), "min": (2.0,), "max": (5.0,), "discont": (1.0,), "sorter": (np.arange(5),), "axisa": (0,), "axisb": (0,), "full": (True,), "w": (VECTOR,), "cov": (True,),
    "fweights": (np.array([1, 2, 1, 3]),), "aweights": (np.array([1.0, 2.0, 1.0, 0.5]),), "y": (ORDERED,), "sorted": (True,), "precision": (2,), "device": ("cpu",), "mean": (np.array(3.0),),
    "m": (2,), "repeats": ([1, 2, 3],), "fmt": ("%.2f",), "max_work": (1,), "axisc": (0,), "wrap": (True,), "suppress_small": (True,), "x": (RISING[:4],)}
# Random signs and orders, memory that nothing defines, files, dates, and what is tested elsewhere because it works in place.
LEFT_OUT = {"empty_like", "busday_count", "busday_offset", "is_busday", "datetime_as_string", "save", "savez", "savez_compressed", "savetxt", "copyto", "put",
            "place", "putmask", "fill_diagonal", "put_along_axis", "may_share_memory", "shares_memory", "array_repr", "array_str", "array2string", "nanargmax"}


def ours(tree):
    """The arguments with arrays of this library."""
    if isinstance(tree, np.ndarray):
        return ig.asarray(tree)
    return type(tree)(map(ours, tree)) if type(tree) in (list, tuple) else tree


def alike(got, want):
    """Whether results are equal: shapes, kinds of dtypes and values. The precision of means of integers may differ."""
    if isinstance(want, (list, tuple)):
        return isinstance(got, (list, tuple)) and len(got) == len(want) and all(map(alike, got, want))
    if want is None or isinstance(want, (str, type, np.dtype)):
        return got == want
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "c" and want.dtype.kind == "f" and np.allclose(got.imag, 0):  # eigenvalues and roots are complex here
        got = got.real
    if got.shape != want.shape or got.dtype.kind != want.dtype.kind and {got.dtype.kind, want.dtype.kind} - set("iu"):
        return False
    if "f2" in (got.dtype.str[1:], want.dtype.str[1:]):
        return np.allclose(got, want, rtol=2e-3, atol=2e-3, equal_nan=True)
    small = "f4" in (got.dtype.str[1:], want.dtype.str[1:]) or "c8" in (got.dtype.str[1:], want.dtype.str[1:])
    return np.allclose(got, want, rtol=2e-5 if small else 1e-9, atol=1e-5 if small else 1e-9, equal_nan=True)


def signs_removed(name, result):
    """Results that are defined up to signs, as singular vectors, without them."""
    if name in ("svd", "eig", "eigh", "qr"):
        return [np.abs(np.asarray(r)) for r in (result if isinstance(result, tuple) else (result,))]
    return result


def call(function, args, kwargs):
    """The result, or the exception; `out` stands for an array of the right shape."""
    if kwargs.get("out") == "out":
        whole = function(*args)
        if not hasattr(whole, "shape") or whole.shape is None:
            raise TypeError("no array")
        out = (ig.zeros if isinstance(args[0], ig.Array) else np.zeros)(whole.shape, dtype=np.asarray(whole).dtype)
        result = function(*args, out=out)
        if not (alike(result, whole) and alike(out, whole)):
            raise TypeError("NumPy's own results differ")
        return (result, out)
    return function(*args, **kwargs)


def functions():
    for space in (np, np.linalg, np.fft):
        seen = set()
        for name in sorted(dir(space)):
            function = getattr(space, name)
            if hasattr(function, "_implementation") and id(function) not in seen and function.__name__ not in LEFT_OUT:
                seen.add(id(function))
                yield space, function.__name__, function


def calls(name, function):
    """Arguments of calls: the plain one, and one for each value of each keyword."""
    parameters = inspect.signature(function).parameters
    base = BY_FUNCTION.get(name)
    if base is None:
        needed = [p.name for p in parameters.values() if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
        if not needed or any(n not in BY_PARAMETER for n in needed):
            return
        base = [tuple(SQUARE if function.__module__ == "numpy.linalg" and n in ("a", "x") else BY_PARAMETER[n] for n in needed)]
    extra = ["constant_values", "stat_length", "reflect_type"] if name == "pad" else []
    for args in base:
        yield args, {}
        for word in [*parameters, *extra]:
            for value in KEYWORDS.get(word, ()):
                if word not in list(parameters)[:len(args)] or word not in parameters:
                    yield args, {word: value}


tested, raised, wrong = 0, [], []
for space, name, function in functions():
    for args, kwargs in calls(name, function):
        # Arguments that refer to types here stand for NumPy's.
        label = f"{space.__name__}.{name}(..., {', '.join(f'{k}={v!r:.30}' for k, v in kwargs.items())})"
        try:
            want = call(function, tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in args), kwargs)
        except Exception:
            continue
        if inspect.isgenerator(want) or isinstance(want, io.IOBase):
            continue
        tested += 1
        try:
            got = call(function, ours(args), {k: ours(v) if k not in ("range",) else v for k, v in kwargs.items()})
        except Exception as error:
            raised.append(f"{label}: {error!r:.150}")
            continue
        try:
            same = alike(signs_removed(name, got), signs_removed(name, want))
        except Exception as error:
            same, got = False, error
        if not same:
            wrong.append(f"{label} gives {str(got)!r:.150}, not {str(want)!r:.150}")

check("arguments of NumPy's functions", not wrong, "\n  ".join([f"{len(wrong)} differ:", *wrong]))
check("calls that were compared", tested > 700, f"only {tested}")
check("calls that raise an error", len(raised) <= tested // 50, "\n  ".join([f"{len(raised)} of {tested}:", *raised]))


# ---- ufuncs ----

UFUNCS = [u for n, u in vars(np).items() if isinstance(u, np.ufunc)]
wrong, raised, tested = [], [], 0
POSITIVE, OTHER = ORDERED / 12, np.array([2.0, 3.0, 0.5, 1.0])
WHOLE, FEW = INTS, np.array([2, 3, 1, 2])
for ufunc in dict.fromkeys(UFUNCS):
    if ufunc.__name__ in ("isnat", "matmul", "matvec", "vecmat", "vecdot"):
        continue
    for first, second in ((POSITIVE, OTHER), (WHOLE, FEW), (WHOLE > 3, FEW > 2)):
        if first.dtype == bool and ufunc.__name__ in ("conjugate", "spacing"):  # NumPy gives int8 and float16
            continue
        args = (first, second)[:ufunc.nin]
        forms = [("__call__", args, {}), ("__call__", args, {"dtype": "f8"}), ("__call__", args, {"dtype": "f4"}), ("__call__", args, {"casting": "safe"}),
                 ("__call__", args, {"order": "F"}), ("__call__", args, {"subok": False})]
        if ufunc.nin == 2 and ufunc.nout == 1:
            forms += [("outer", args, {}), ("reduce", (first,), {}), ("reduce", (first,), {"axis": 1}), ("reduce", (first,), {"axis": None}),
                      ("reduce", (first,), {"axis": 1, "keepdims": True}), ("reduce", (first,), {"dtype": "f8"}), ("reduce", (first,), {"initial": 3}),
                      ("reduce", (first,), {"where": MASK, "initial": 1}), ("accumulate", (first,), {}), ("accumulate", (first,), {"axis": 1}),
                      ("reduceat", (first, [0, 2]), {}), ("reduceat", (first, [0, 2, 1]), {"axis": 1})]
        for method, given, kwargs in forms:
            call_it = functools.partial(getattr(ufunc, method))
            try:
                want = call_it(*given, **kwargs)
            except Exception:
                continue
            tested += 1
            label = f"{ufunc.__name__}.{method}({given[0].dtype}, {kwargs})"
            try:
                got = call_it(*map(ours, given), **{k: ours(v) for k, v in kwargs.items()})
            except Exception as error:
                raised.append(f"{label}: {error!r:.150}")
                continue
            if not alike(got, want):
                wrong.append(f"{label} gives {str(got)!r:.150}, not {str(want)!r:.150}")

check("ufuncs and their methods", not wrong, "\n  ".join([f"{len(wrong)} differ:", *wrong]))
check("ufuncs that were compared", tested > 800, f"only {tested}")
check("ufuncs that raise an error", len(raised) <= tested // 20, "\n  ".join([f"{len(raised)} of {tested}:", *raised]))
finish()
