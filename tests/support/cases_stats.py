"""Statistics, histograms and sets."""
import numpy as np

from support.cases import case, floats, rng


def stats_cases():
    x, q = floats((5, 7)), np.float32([[0.1, 0.5], [0.75, 1]])
    s = {"x": x, "q": q, "y": floats((5, 7)), "n": np.where(x > 2, np.nan, x).astype("f4")}
    w, n = x.astype(float), s["n"].astype(float)
    for method in ("linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation "
                   "interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased").split():
        for p in (0, 0.25, 0.3, 0.9, 1):
            case("quantile", f"quantile({{x}}, {p}, axis=1, method='{method}')", s,
                 np.quantile(w, p, axis=1, method=method).astype("f4"), 10)
            case("nanquantile", f"nanquantile({{n}}, {p}, axis=0, method='{method}')", s,
                 np.nanquantile(n, p, axis=0, method=method).astype("f4"), 10)
    case("quantile", "quantile({x}, {q}, axis=[0, 1], keepdims=true)", s,
         np.quantile(w, q.astype(float), keepdims=True).astype("f4"), 20)
    case("quantile", "quantile([3, 1, 2], 0.5, method='lower')", s, np.array(2))
    case("median", "median([1, 2])", s, np.float32(1.5))
    case("mode", "mode([[1, 3, 3], [2, 2, 5]], axis=1)[0]", s, np.array([3, 2]))
    case("mode", "mode([[1, 3, 3], [2, 2, 3]], axis=None)[1]", s, np.array(3))
    edges = np.float32([-2, -0.5, 0.25, 1, 3])
    count, _ = np.histogram(x, edges)
    case("histogram", "histogram({x}, [-2.0, -0.5, 0.25, 1.0, 3.0])[0]", s, count)
    case("histogram", "histogram({x}, 6, range=[-1.5, 1.5])[0]", s, np.histogram(x, 6, (-1.5, 1.5))[0])
    case("histogram", "histogram({n}, 6, range=[-1.5, 1.5])[0]", s, np.histogram(s["n"], 6, (-1.5, 1.5))[0])
    case("histogram", "histogram([4.0, 4.0], 2)[1]", s, np.float32([3.5, 4, 4.5]))
    case("histogram", "histogram({x}, 7, weights={y})[0]", s,
         np.histogram(w, 7, weights=s["y"].astype(float))[0].astype("f4"), 40)
    case("histogram2d", "histogram2d({x}[0], {y}[0], bins=[[-3.0, 0.0, 1.0, 3.0], [-3.0, 0.0, 3.0]])[0]", s,
         np.histogram2d(x[0], s["y"][0], bins=[[-3, 0, 1, 3], [-3, 0, 3]])[0].astype("f4"))
    case("histogram2d", "histogram2d({x}[0], {y}[0], 4, range=[[-2, 2], [-1, 1]], density=true)[0]", s,
         np.histogram2d(x[0], s["y"][0], 4, [[-2, 2], [-1, 1]], density=True)[0].astype("f4"), 10)
    case("bincount", "bincount([1, 3, 3, 0])", s, np.array([1, 1, 0, 2]))
    case("bincount", "bincount([1, 3], [0.5, 2.0], minlength=6)", s, np.float32([0, 0.5, 0, 2, 0, 0]))
    for bins in ([-1, 0.5, 2], [2, 0.5, -1], [-1, 0.5, np.nan], [np.nan, 0.5, -1]):
        for right in (False, True):
            case("digitize", f"digitize({{x}}, {[float(b) for b in bins]}, right={str(right).lower()})", s,
                 np.digitize(x, bins, right=right))
    for dtype in ("int32", "float32", "uint8"):
        a, b = rng.integers(0, 9, (3, 4)).astype(dtype), rng.integers(4, 12, 7).astype(dtype)
        t, rows = {"a": a, "b": b}, (a % 2).astype(dtype)
        t["r"] = rows
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
            case(name, f"{name}({{a}}, {{b}})", t, getattr(np, name)(a, b))
        for i, want in enumerate(np.intersect1d(a, b, return_indices=True)):
            case("intersect1d", f"intersect1d({{a}}, {{b}}, return_indices=true)[{i}]", t, want)
        for i, want in enumerate(np.unique(a, True, True, True)):
            case("unique", f"unique({{a}}, true, true, true)[{i}]", t, want)
        for axis in (0, 1):
            for i, want in enumerate(np.unique(rows, True, True, True, axis=axis)):
                case("unique", f"unique({{r}}, true, true, true, axis={axis})[{i}]", t, want)
        case("lexsort", "lexsort({r})", t, np.lexsort(rows))
