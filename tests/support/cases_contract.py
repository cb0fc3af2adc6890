"""Products, convolutions and pooling."""
import numpy as np

from support.cases import FLOATS, case, floats, ints


def convolve(x, w, stride=1, padding=0, dilation=1, groups=1):
    """Plain loops over output places, any number of spatial axes; float64."""
    d = x.ndim - 2
    x = np.pad(x.astype(float), [(0, 0), (0, 0)] + [(padding, padding)] * d)
    o = w.shape[0] // groups
    c = x.shape[1] // groups
    size = [(x.shape[2 + i] - dilation * (w.shape[2 + i] - 1) - 1) // stride + 1 for i in range(d)]
    y = np.zeros((x.shape[0], w.shape[0], *size))
    for place in np.ndindex(*size):
        cut = tuple(slice(p * stride, p * stride + dilation * (w.shape[2 + i] - 1) + 1, dilation)
                    for i, p in enumerate(place))
        for g in range(groups):
            block = x[(slice(None), slice(g * c, (g + 1) * c)) + cut]
            k = w[g * o:(g + 1) * o].astype(float)
            y[(slice(None), slice(g * o, (g + 1) * o)) + place] = np.tensordot(
                block, k, (list(range(1, 2 + d)), list(range(1, 2 + d))))
    return y


def convolve_transposed(x, w, stride=1, padding=0):
    """Each input element adds its kernel to the output; float64."""
    d = x.ndim - 2
    full = [(x.shape[2 + i] - 1) * stride + w.shape[2 + i] for i in range(d)]
    y = np.zeros((x.shape[0], w.shape[1], *full))
    for place in np.ndindex(*x.shape[2:]):
        cut = tuple(slice(p * stride, p * stride + w.shape[2 + i]) for i, p in enumerate(place))
        y[(slice(None), slice(None)) + cut] += np.tensordot(
            x[(slice(None), slice(None)) + place].astype(float), w.astype(float), (1, 0))
    return y[(slice(None), slice(None)) + (slice(padding, -padding or None),) * d]


def windows(x, size, stride, padding, fill):
    d = x.ndim - 2
    x = np.pad(x.astype(float), [(0, 0), (0, 0)] + [(padding, padding)] * d, constant_values=fill)
    v = np.lib.stride_tricks.sliding_window_view(x, (size,) * d, tuple(range(2, 2 + d)))
    return v[(slice(None), slice(None)) + (slice(None, None, stride),) * d], tuple(range(-d, 0))


def contract_cases():
    for dtype in FLOATS + ["int32", "int8", "uint64"]:
        make = (lambda s: floats(s, dtype, -1, 1)) if dtype in FLOATS else (lambda s: ints(s, dtype))
        up = np.float64 if dtype in FLOATS else dtype
        def mm(a, b):
            return np.matmul(a.astype(up), b.astype(up)).astype(dtype)
        a, b, c = make((7, 33)), make((33, 10)), make((3, 1, 33, 5))
        s = {"a": a, "b": b, "c": c}
        slack = 60
        case("matmul", "{a} @ {b}", s, mm(a, b), slack)
        case("matmul", "{b}.T @ {a}.T", s, mm(b.T, a.T), slack)
        case("matmul", "{a}[::-1, ::2] @ {b}[::2]", s, mm(a[::-1, ::2], b[::2]), slack)
        case("matmul", "{a} @ {c}", s, mm(a, c), slack)
        case("matmul", "{a}[0] @ {b}", s, mm(a[0], b), slack)
        case("matmul", "{a} @ {b}[:, 0]", s, mm(a, b[:, 0]), slack)
        case("tensordot", "tensordot({a}, {b}, axes=1)", s, mm(a, b), slack)
        case("tensordot", "tensordot({a}, {c}, axes=[[1], [2]])", s,
             np.tensordot(a.astype(up), c.astype(up), ([1], [2])).astype(dtype), slack)
        case("vecdot", "vecdot({a}, {b}.T[:7])", s,
             np.sum(a.astype(up) * b.T[:7].astype(up), -1, dtype=up).astype(dtype), slack)
        case("outer", "outer({a}[0], {b}[:, 1])", s,
             np.multiply.outer(a[0].astype(up), b[:, 1].astype(up)).astype(dtype))
        for sub, ops in [("ij,jk->ik", "ab"), ("ij->ji", "a"), ("ij,ij->", "aa"), ("ij,jk", "ab"),
                         ("...j,jk->...k", "ab"), ("ij,jk,lk->il", "abx"), ("ij->j", "a"),
                         ("ii->i", "q"), ("ii", "q")]:
            s2 = {**s, "x": make((4, 10)), "q": make((6, 6))}
            want = np.einsum(sub, *[s2[o].astype(up) for o in ops]).astype(dtype)
            case("einsum", f"einsum('{sub}', {', '.join('{' + o + '}' for o in ops)})", s2, want, 4000)
    for d, space in [(1, (11,)), (2, (9, 8)), (3, (5, 6, 4))]:
        x, w, b = floats((2, 4) + space), floats((6, 4) + (3,) * d), floats((6,))
        s = {"x": x, "w": w, "b": b}
        bias = b.astype(float).reshape((6,) + (1,) * d)
        case(f"conv{d}d", f"conv{d}d({{x}}, {{w}}, {{b}}, padding=1)", s,
             (convolve(x, w, padding=1) + bias).astype("f4"), 500)
        case(f"conv{d}d", f"conv{d}d({{x}}, {{w}}, stride=2, padding=2, dilation=2)", s,
             convolve(x, w, 2, 2, 2).astype("f4"), 500)
        g = floats((6, 2) + (2,) * d)
        case(f"conv{d}d", f"conv{d}d({{x}}, {{g}}, groups=2)", {"x": x, "g": g},
             convolve(x, g, groups=2).astype("f4"), 500)
        t = floats((4, 3) + (3,) * d)
        for stride, padding in [(1, 0), (2, 1), (3, 0)]:
            case(f"conv_transpose{d}d",
                 f"conv_transpose{d}d({{x}}, {{t}}, stride={stride}, padding={padding})",
                 {"x": x, "t": t}, convolve_transposed(x, t, stride, padding).astype("f4"), 500)
        v, axes = windows(x, 3, 2, 1, -np.inf)
        case(f"max_pool{d}d", f"max_pool{d}d({{x}}, 3, stride=2, padding=1)", x,
             v.max(axes).astype("f4"))
        v, axes = windows(x, 2, 2, 0, 0)
        case(f"avg_pool{d}d", f"avg_pool{d}d({{x}}, 2)", x, v.mean(axes).astype("f4"), 20)
        y = x.astype(float)
        for a in range(2, 2 + d):
            n = x.shape[a]
            y = np.stack([y.take(range(i * n // 3, -(-(i + 1) * n // 3)), a).mean(a) for i in range(3)], a)
        case(f"adaptive_avg_pool{d}d", f"adaptive_avg_pool{d}d({{x}}, 3)", x, y.astype("f4"), 20)
