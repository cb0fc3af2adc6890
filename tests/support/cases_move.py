"""Ops that move elements: shapes, slices, joins, padding; and reads, writes, sorts and sets by index."""
import numpy as np

from support.cases import FLOATS, case, floats, ints, rng


def move_cases():
    for dtype in ["float32", "int16", "bool", "float64"]:
        x = (rng.integers(0, 2, (3, 4, 5)).astype(bool) if dtype == "bool" else
             floats((3, 4, 5), dtype) if dtype in FLOATS else ints((3, 4, 5), dtype))
        rows = {
            "broadcast_to({x}, [2, 3, 4, 5])": np.broadcast_to(x, (2, 3, 4, 5)),
            "broadcast_arrays({x}, {x}[:1])[1]": np.broadcast_to(x[:1], x.shape),
            "concat([{x}, {x}[:, :2]], axis=1)": np.concatenate([x, x[:, :2]], 1),
            "concat([{x}, {x}], axis=None)": np.concatenate([x, x], None),
            "diagonal({x}, offset=1)": np.diagonal(x, 1, -2, -1),
            "diagonal({x}, offset=-2)": np.diagonal(x, -2, -2, -1),
            "expand_dims({x}, axis=1)": np.expand_dims(x, 1),
            "expand_dims({x}, axis=[0, -1])": np.expand_dims(x, (0, -1)),
            "flip({x}, axis=1)": np.flip(x, 1),
            "flip({x})": np.flip(x),
            "matrix_transpose({x})": np.swapaxes(x, -1, -2),
            "meshgrid({x}[0, 0], {x}[0, :, 0])[0]": np.meshgrid(x[0, 0], x[0, :, 0])[0],
            "meshgrid({x}[0, 0], {x}[0, :, 0], indexing='ij')[1]":
                np.meshgrid(x[0, 0], x[0, :, 0], indexing="ij")[1],
            "moveaxis({x}, [0, 1], [-1, 0])": np.moveaxis(x, [0, 1], [-1, 0]),
            "permute_dims({x}, [2, 0, 1])": np.transpose(x, (2, 0, 1)),
            "rechunk({x}, 2)": x,
            "stop_gradient({x})": x,
            "to_device({x}, 'gang')": x,
            "repeat({x}, 3, axis=1)": np.repeat(x, 3, 1),
            "repeat({x}, 2)": np.repeat(x, 2),
            "repeat({x}, [1, 0, 2], axis=0)": np.repeat(x, [1, 0, 2], 0),
            "reshape({x}, [4, -1])": np.reshape(x, (4, -1)),
            "reshape({x}.T, [12, 5])": np.reshape(x.T, (12, 5)),
            "roll({x}, 2)": np.roll(x, 2),
            "roll({x}, [1, -2], axis=[0, 2])": np.roll(x, (1, -2), (0, 2)),
            "slice({x}, [0, 3, 1], [2, 0, 9], [1, -1, 2])": x[0:2, 3:0:-1, 1:9:2],
            "split({x}, 2, axis=1)[1]": np.split(x, 2, 1)[1],
            "split({x}, [1, 3], axis=2)[1]": np.split(x, [1, 3], 2)[1],
            "squeeze({x}[:, :1], axis=1)": np.squeeze(x[:, :1], 1),
            "stack([{x}, {x}], axis=-1)": np.stack([x, x], -1),
            "tile({x}, [2, 1, 2])": np.tile(x, (2, 1, 2)),
            "tile({x}, [2, 1, 1, 1])": np.tile(x, (2, 1, 1, 1)),
            "unstack({x}, axis=1)[2]": x[:, 2],
            "pad({x}, [[0, 1], [2, 0], [1, 1]], mode='edge')":
                np.pad(x, [(0, 1), (2, 0), (1, 1)], mode="edge"),
            "pad({x}, [[0, 1], [2, 0], [1, 1]], mode='reflect')":
                np.pad(x, [(0, 1), (2, 0), (1, 1)], mode="reflect"),
            "pad({x}, 1)": np.pad(x, 1),
        }
        if x.dtype != bool:
            width = [[0, 1], [2, 3], [11, 1]]
            for mode in ("symmetric", "wrap", "maximum", "minimum", "mean", "median", "linear_ramp"):
                rows[f"pad({{x}}, {width}, mode='{mode}')"] = np.pad(x, width, mode=mode)
            for mode in ("reflect", "symmetric"):  # rounding accumulates over the periods
                text = f"pad({{x}}, {width}, mode='{mode}', reflect_type='odd')"
                case("pad", text, x, np.pad(x, width, mode, reflect_type="odd"), 9)
        for text, want in rows.items():
            case(text.split("(")[0], text, x, want)
        y = x.copy()
        y[1:3, ::2] = x[:2, 1:3]
        case("slice_update", "slice_update({x}, {x}[:2, 1:3], [1, 0], [1, 2])", x, y)
        index = {"{x}[1]": x[1], "{x}[-1, ..., 2]": x[-1, ..., 2], "{x}[None, :, None]": x[None, :, None],
                 "{x}[::-1, 3:0:-2]": x[::-1, 3:0:-2], "{x}[[2, 0]]": x[[2, 0]],
                 "{x}[:, [1, -1], 0]": x[:, [1, -1], 0], "{x}[[0, 1], :, [2, 3]]": x[[0, 1], :, [2, 3]],
                 "{x}[5:, 1]": x[5:, 1]}
        for text, want in index.items():
            case("slice", text, x, want)


# ---- index ----

def index_cases():
    for dtype in ["float32", "int32", "uint8", "float16"]:
        x = floats((5, 6), dtype) if dtype in FLOATS else ints((5, 6), dtype)
        i = rng.integers(-5, 5, (4, 6))
        j = rng.integers(0, 5, (3, 6))
        s = {"x": x, "i": i, "j": j}
        case("take", "take({x}, {i}, axis=0)", s, np.take(x, i, 0, mode="wrap"))
        case("take", "take({x}.T, {j}[0], axis=1)", s, np.take(x.T, j[0], 1))
        case("take_along_axis", "take_along_axis({x}, {i}, axis=0)", s, np.take_along_axis(x, i, 0))
        case("gather", "gather({x}, {j}, axis=0)", s, np.take_along_axis(x, j, 0))
        case("sort", "sort({x})", x, np.sort(x))
        case("sort", "sort({x}, axis=0, descending=true)", x, np.flip(np.sort(x, 0), 0))
        case("argsort", "argsort({x}, axis=0)", x, np.argsort(x, 0, kind="stable"))
        case("topk", "topk({x}, 3)[0]", x, np.flip(np.sort(x), -1)[:, :3])
        case("searchsorted", "searchsorted(sort({x}[0]), {x})", x, np.searchsorted(np.sort(x[0]), x))
        case("searchsorted", "searchsorted(sort({x}[0]), {x}, side='right')", x,
             np.searchsorted(np.sort(x[0]), x, side="right"))
        case("unique_values", "unique_values({x})", x, np.unique(x))
        v, first, inverse, counts = np.unique(x, True, True, True)
        case("unique_all", "unique_all({x})[1]", x, first)
        case("unique_counts", "unique_counts({x})[1]", x, counts)
        case("unique_inverse", "unique_inverse({x})[1]", x, inverse.reshape(x.shape))
        case("nonzero", "nonzero({x})[1]", x, np.nonzero(x)[1])
        case("mask_select", "mask_select({x}, {x} > 1)", x, x[x > 1])
        case("mask_select", "{x}[{x} > 1]", x, x[x > 1])
        case("isin", "isin({x}, {x}[1])", x, np.isin(x, x[1]))
        out, add = x.copy(), x.copy()
        u = x[:3] if dtype not in FLOATS else np.round(x[:3])
        for a in range(3):
            for b in range(6):
                out[j[a, b], b] = u[a, b]
                add[j[a, b], b] += u[a, b]
        s["u"] = u
        case("scatter", "scatter({x}, {j}, {u}, axis=0)", s, out)
        case("scatter_add", "scatter_add({x}, {j}, {u}, axis=0)", s, add, 10)
    n = np.array([3.0, np.nan, -0.0, np.inf, 1.0, np.nan, -np.inf, 0.0], "f4")
    case("sort", "sort({x})", n, np.sort(n, kind="stable"))
    case("argsort", "argsort({x})", n, np.argsort(n, kind="stable"))
    labels = np.array([0, 2, 1, 3])
    case("one_hot", "one_hot({x}, 4)", labels, np.eye(4, dtype="f4")[labels])
