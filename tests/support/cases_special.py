"""Cases that the examples of rows cannot say: chosen inputs, and results that are compared with each other."""
import math

import numpy as np

from support import special_functions
from support.cases import case, floats


def special_far_cases():
    """Special functions beyond the inputs of examples, where other formulas hold."""
    f = special_functions
    for dtype in ("float32", "float64"):
        x = np.array([-27.25, -12.5, -8.5, -5.25, -3.25, 0.25, 3.75, 4.25, 7.75, 11.5, 18.5, 41.0], dtype)
        small = np.array([1e-30, 1e-9, 0.004, 0.0625, 0.375, 0.998046875], dtype)
        w, p = x.astype(float), small.astype(float)
        rows = {
            "erfcx(abs({x}))": f.erfcx(abs(w)), "log_ndtr(-abs({x}))":
                np.log(f.erfcx(abs(w) / math.sqrt(2)) / 2) - w * w / 2,
            "i0({x})": f.bessel_i(0, w), "i0e({x})": f.bessel_i(0, w) * np.exp(-abs(w)),
            "i1({x})": f.bessel_i(1, w), "i1e({x})": f.bessel_i(1, w) * np.exp(-abs(w)),
            "exp1({x})": f.exp1(w), "expi({x})": f.expi(w), "dawsn({x})": f.dawsn(w),
            "sici({x})[0]": f.si(w), "sici({x})[1]": f.ci(w),
            "fresnel({x})[0]": f.fresnel_s(w), "fresnel({x})[1]": f.fresnel_c(w),
            "ndtri({p})": f.ndtri(p), "logit({p})": np.log(p / (1 - p)),
            "spence(abs({x}))": f.spence(abs(w)), "spence({p})": f.spence(p), "expn(3, abs({x}))": f.expn(3, abs(w)),
            "expn(40, abs({x}))": f.expn(40, abs(w)), "expn(3, {p})": f.expn(3, p),
            "owens_t({x} / 8, 0.75)": f.owens_t(w / 8, 0.75), "owens_t({x} / 8, -7)": f.owens_t(w / 8, -7.0),
            "owens_t(0.5, {x})": f.owens_t(0.5, w),
        }
        c = np.result_type(dtype, np.complex64)
        z = (w[:, None] + 1j * np.array([-1.25, 0.0, 0.5, 6.0])).astype(c)
        case("wofz", "wofz({z})", {"z": z}, f.wofz(z.astype(complex)).astype(c), 2)
        for order, slack in ((1, 4), (45, 40)):
            j = np.stack([f.bessel_j(n, w) for n in range(order + 1)])
            case("bessel_jn", f"bessel_jn({{x}}, {order})", x, j.astype(dtype), slack)
        for expression, expected in rows.items():
            case(expression.split("(")[0], expression, {"x": x, "p": small}, expected.astype(dtype), 2)


def dropout_cases():
    x = floats((2000,), low=1, high=2)
    case("dropout", "abs(mean(dropout({x}, key(1), 0.25) / {x}) - 1) < 0.1", x, np.array(True))
    for kind in ("alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
        case(kind, kind + "(reshape({x}, [20, 100]), key(1), 0.0)", x, x.reshape(20, 100))
    # Whole channels are kept or dropped, and dropped values are those of the definition.
    lowest = -1.0507009873554805 * 1.6732632423543772
    scale = 1 / math.sqrt(0.75 * (1 + 0.25 * lowest ** 2))
    case("feature_dropout", "sum(any(feature_dropout(ones([8, 9, 5]), key(1), 0.25) != 0, axis=2) != "
         "all(feature_dropout(ones([8, 9, 5]), key(1), 0.25) == 1 / 0.75, axis=2))", {}, np.array(0))
    for kind in ("alpha_dropout", "feature_alpha_dropout"):
        y = f"{kind}(zeros([40, 50, 3]), key(1), 0.25)"
        case(kind, f"abs(max({y}) - {-scale * 0.25 * lowest!r}) < 1e-6", {}, np.array(True))
        case(kind, f"abs(min({y}) - {scale * 0.75 * lowest!r}) < 1e-6", {}, np.array(True))


# ---- signals: places and divisors that examples cannot say ----

def signal_cases():
    x, u, v = floats((3, 6), "float64"), floats((6,), "float64"), floats((3,), "float64", 1, 2)
    at = np.sort(floats((6,), "float64"))
    for edge in (1, 2):
        case("gradient", f"gradient({{x}}, {{y}}, axis=1, edge_order={edge})", {"x": x, "y": at},
             np.gradient(x, at, axis=1, edge_order=edge), 10)
        case("gradient", f"gradient({{x}}, 0.25, {{y}}, edge_order={edge})", {"x": x, "y": at},
             np.array(np.gradient(x, 0.25, at, edge_order=edge)), 10)
    for i in range(2):
        case("polydiv", f"polydiv({{x}}, {{y}})[{i}]", {"x": u, "y": v}, np.polydiv(u, v)[i], 10)
    case("polydiv", "polydiv({x}, {y})[1]", {"x": v, "y": u}, v)
    places = floats((4, 9), "float64", -4, 4)
    for ends in ("", ", left=9.0", ", left=-1.0, right=2.5", ", period=1.75"):
        case("interp", f"interp({{x}}, {{y}}, {{z}}{ends})", {"x": places, "y": at, "z": u},
             eval(f"np.interp(places, at, u{ends})", {"np": np, "places": places, "at": at, "u": u}), 10)
    case("interp", "interp({y}, {y}, {z})", {"y": at, "z": u}, u)


# ---- numbers of combinations are exact below 2^53, and not NaN above the largest float ----

def comb_cases():
    pairs = [(n, k) for n in range(60) for k in range(n + 1) if math.comb(n, k) < 2 ** 53] + [(94906266, 2), (2 ** 40, 1)]
    x, y = np.array(pairs).T
    want = np.array([math.comb(n, k) for n, k in pairs], dtype=float)
    case("comb", "comb({x}, {y})", {"x": x, "y": y}, want.astype("f4"), 0)
    case("comb", "comb(astype({x}, f64), {y})", {"x": x, "y": y}, want, 0)
    case("comb", "comb(astype({x} - {y} + 1, f64), {y}, repetition=true)", {"x": x, "y": y}, want, 0)
    case("comb", "comb({x}, {y})", {"x": np.array([2000.0]), "y": np.array([1000.0])}, np.array([np.inf]))


def random_cases():
    x = floats((4, 5))
    for text, want in {
        "any(fold_in(key(1), 5) != key(1))": np.array(True),
        "all((uniform(key(1), [1000], minval=2, maxval=3) >= 2))": np.array(True),
        "all(normal(key(2), [9], f64, [1.0], 3) == normal(key(2), [9], f64) * 3 + 1)": np.array(True),
        "min(randint(key(1), [1000], -3, 4)) + zeros([1], i32)": np.array([-3], "i4"),
        "sort(choice(key(1), 10, 10, replace=false))": np.arange(10),
        "choice(key(1), 3, 2, replace=false, p=[0.0, 0.0, 1.0])[0]": np.array(2),
        "max(abs(orthogonal(key(2), 4) @ orthogonal(key(2), 4).T - eye(4))) < 1e-5": np.array(True),
    }.items():
        names = ["fold_in", "uniform", "normal", "randint", "choice", "orthogonal"]
        case(next(n for n in names if n + "(" in text), text, x, want)
