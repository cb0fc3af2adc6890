"""Reductions, scans and differences."""
import numpy as np

from support.cases import FLOATS, case, floats, ints


def reduce_cases():
    for dtype in FLOATS + ["int32", "uint8"]:
        is_float = dtype in FLOATS
        x3 = floats((4, 5, 6), dtype, -1, 1) if is_float else ints((4, 5, 6), dtype)
        up = np.float64 if is_float else x3.dtype
        total = dtype if is_float else "uint64" if dtype[0] == "u" else "int64"
        for axis in [None, 0, 1, -1, (0, 2), (1, 2), (0, 1, 2)]:
            a = "None" if axis is None else str(list(axis)) if isinstance(axis, tuple) else str(axis)
            for keep in [False, True]:
                k = str(keep).lower()
                for text, x in [("{x}", x3), ("permute_dims({x}, [2, 0, 1])", x3.transpose(2, 0, 1)),
                                ("{x}[::-1, ::2]", x3[::-1, ::2])]:
                    w, o = x.astype(up), dict(axis=axis, keepdims=keep)
                    args = f"({text}, axis={a}, keepdims={k})"
                    slack = 1 + np.sum(np.abs(w)) / (np.min(np.abs(np.sum(w, **o))) + 1e-3)
                    case("sum", "sum" + args, x3, np.sum(w, **o).astype(total), slack)
                    case("max", "max" + args, x3, np.max(x, **o))
                    case("min", "min" + args, x3, np.min(x, **o))
                    case("any", "any" + args, x3, np.any(x, **o))
                    case("all", "all" + args, x3, np.all(x, **o))
                    case("count_nonzero", "count_nonzero" + args, x3, np.count_nonzero(x, **o))
                    if is_float:
                        case("prod", "prod" + args, x3, np.prod(w, **o).astype(dtype), 40)
                        case("mean", "mean" + args, x3, np.mean(w, **o).astype(dtype), slack)
                        case("var", "var" + args, x3, np.var(w, **o).astype(dtype), 10)
                        case("std", "std" + args, x3, np.std(w, **o).astype(dtype), 10)
                        lse = np.log(np.sum(np.exp(w), **o)).astype(dtype)
                        case("logsumexp", "logsumexp" + args, x3, lse, 10)
        for axis in [0, 1, 2]:
            case("argmax", f"argmax({{x}}, axis={axis})", x3, np.argmax(x3, axis=axis))
            case("argmin", f"argmin({{x}}, axis={axis}, keepdims=true)", x3,
                 np.argmin(x3, axis=axis, keepdims=True))
            w = x3.astype(up if is_float else total)
            case("cumulative_sum", f"cumulative_sum({{x}}, axis={axis})", x3,
                 np.cumsum(w, axis=axis).astype(total), 40)
            case("cumulative_prod", f"cumulative_prod({{x}}, axis={axis})", x3,
                 np.cumprod(w, axis=axis).astype(total), 40)
            case("cumulative_max", f"cumulative_max({{x}}, axis={axis})", x3,
                 np.maximum.accumulate(x3, axis=axis))
            case("cumulative_min", f"cumulative_min({{x}}, axis={axis})", x3,
                 np.minimum.accumulate(x3, axis=axis))
            case("diff", f"diff({{x}}, axis={axis}, n=2)", x3, np.diff(x3, n=2, axis=axis))
    x = floats((3, 4))
    case("var", "var({x}, axis=0, correction=1)", x, np.var(x.astype(float), axis=0, ddof=1).astype("f4"), 10)
    case("argmax", "argmax({x})", x, np.argmax(x))
    case("cumulative_sum", "cumulative_sum({x}, axis=1, include_initial=true)", x,
         np.concatenate([np.zeros((3, 1), "f4"), np.cumsum(x.astype(float), axis=1)], 1).astype("f4"), 40)
    case("diff", "diff({x}, prepend={y}, append={y})", {"x": x, "y": x[:, :1]},
         np.diff(x, prepend=x[:, :1], append=x[:, :1]))
    empty = np.zeros((0, 3), "f4")
    case("sum", "sum({x}, axis=0)", empty, np.zeros(3, "f4"))
    case("prod", "prod({x}, axis=0)", empty, np.ones(3, "f4"))
