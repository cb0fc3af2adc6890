"""Elementwise ops, from the columns "numpy" and "domain" of the op table."""
import numpy as np

from support.cases import FLOATS, INTS, SPECIAL, case, erf, erfinv, floats, ints, layouts, rng, seed
from support.ops_table import elementwise_rows


def wide(f, *xs):
    """f in float64, rounded to the inputs' dtype."""
    return f(*[x.astype(np.float64) for x in xs]).astype(xs[0].dtype)


def function(row):
    """The row's column "numpy" as a function of x, or of x and y."""
    names = {"np": np, "erf": erf, "erfinv": erfinv}
    return lambda x, y=None: eval(row.numpy, names, {"x": x, "y": y})  # the table is ours


# NumPy computes these in the dtype of the inputs, so float64 is no reference for them.
NATIVE = {"remainder", "floor_divide", "nextafter"}
# NumPy's own results for special values differ from the standard's, or have no float64 reference.
NO_SPECIAL = NATIVE | {"pow", "erfinv"}
SLACK = {"erfinv": 4}  # of our own reference


def within(domain, shape, dtype):
    """Floats from the row's domain, as far as float16 can tell them apart."""
    return floats(shape, dtype, max(domain[0], -3), min(domain[1], 3))


def unary_cases(row):
    f, name, bools = function(row), row.name, rng.integers(0, 2, (4, 5)).astype(bool)
    for dtype in FLOATS if row.accepts in ("FLOAT", "ROUND", "NUM") else []:
        exact = f if row.result == "TRUTH" else lambda *xs: wide(f, *xs)
        for text, x, view in layouts(within(row.domain, (5, 9), dtype)):
            case(name, f"{name}({text})", x, exact(view), SLACK.get(name, 1))
        special = SPECIAL.astype(dtype)
        if name not in NO_SPECIAL:
            case(name, f"{name}({{x}})", special, exact(special))
    for dtype in INTS if row.accepts in ("ROUND", "NUM", "BITS") else []:
        for text, x, view in layouts(ints((5, 9), dtype)):
            case(name, f"{name}({text})", x, view if row.accepts == "ROUND" else f(view))
    if row.accepts in ("BOOL", "BITS"):
        case(name, f"{name}({{x}})", bools, f(bools))


def binary_float_cases(row, f, dtype):
    name = row.name
    x, y = within(row.domain[:2], (5, 9), dtype), within(row.domain[2:], (9,), dtype)
    want = (f(x, y) if name in NATIVE or row.result == "TRUTH" else
            f(x.astype(float), y.astype(float)).astype(dtype))
    case(name, f"{name}({{x}}, {{y}})", {"x": x, "y": y}, want)
    case(name, f"{name}({{x}}.T, {{y}}[:, None])", {"x": x, "y": y}, np.swapaxes(want, 0, 1))
    grid = np.array([SPECIAL] * len(SPECIAL)).astype(dtype)
    if name not in NO_SPECIAL:
        want = f(grid, grid.T) if row.result == "TRUTH" else wide(f, grid, grid.T)
        case(name, f"{name}({{x}}, {{x}}.T)", grid, want)


def binary_int_cases(row, f, dtype):
    name, x, y = row.name, ints((6, 7), dtype), ints((6, 7), dtype)[::-1].copy()
    if name in ("bitwise_left_shift", "bitwise_right_shift", "pow"):  # NumPy has no larger ones
        width = 8 * np.dtype(dtype).itemsize if name != "pow" else 4
        y = (np.abs(y.astype(np.int64)) % width).astype(dtype)
    if name in ("floor_divide", "remainder"):  # a division by 0 is an error
        y = np.where(y == 0, 1, y).astype(dtype)
    case(name, f"{name}({{x}}, {{y}})", {"x": x, "y": y}, f(x, y))
    case(name, f"{name}({{x}}[::-1], {{y}})", {"x": x, "y": y}, f(x[::-1], y))


def binary_cases(row):
    f = function(row)
    for dtype in FLOATS if row.accepts in ("FLOAT", "NUM", "ANY") else []:
        binary_float_cases(row, f, dtype)
    for dtype in INTS if row.accepts in ("NUM", "INT", "BITS", "ANY") else []:
        binary_int_cases(row, f, dtype)
    if row.accepts in ("BOOL", "BITS", "ANY"):
        b, c = rng.integers(0, 2, (2, 3, 4)).astype(bool)
        case(row.name, f"{row.name}({{x}}, {{y}})", {"x": b, "y": c}, f(b, c))


def elementwise_cases():
    for row in elementwise_rows():
        seed(row.name)
        (binary_cases if row.arity == 2 else unary_cases)(row)
    seed("operators")
    x, y = ints((6, 7), "int32"), ints((6, 7), "int32") % 31
    case("bitwise_left_shift", "{x} << {y}", {"x": x, "y": y}, np.left_shift(x, y))
    case("bitwise_invert", "~{x}", x, ~x)
    case("pow", "{x} ** {y}", {"x": x, "y": y % 4}, np.power(x, y % 4))
