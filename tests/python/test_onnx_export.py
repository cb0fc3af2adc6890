"""ingot.onnx.export: layers, networks and the examples of the op table as ONNX models. Each is run by our reader, and by ONNX
Runtime if it is installed, and compared with the call itself.

Arguments: names of ops and layers to test, or "all" for all examples."""
import os
import sys
import tempfile
import warnings

from against import attempt, check, finish, ig, np, raises, rng, skip

from ingot import nn
from ingot.nn import functional as F
from ingot import _names

import test_numpy
from support import cases_examples
from nn_cases import FUNCTIONS, MODULES

try:
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
except ImportError:
    onnxruntime = None
    skip("onnxruntime", "the Python package is not there")

PLACE = tempfile.TemporaryDirectory(prefix="ingot-onnx-")
PATH = os.path.join(PLACE.name, "net.onnx")
BOUND = 2e-5


def flat(x):
    if isinstance(x, dict):
        x = list(x.values())
    return [part for item in x for part in flat(item)] if isinstance(x, (list, tuple)) else [np.asarray(x)]


def close(got, want, bound=BOUND):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind not in "f":
        return None if np.array_equal(got, want) else f"{got.tolist()!r:.200}, not {want.tolist()!r:.200}"
    bound = 2e-3 if want.dtype == np.float16 else bound
    size = np.max(np.abs(want), initial=1, where=np.isfinite(want))
    fine = np.allclose(got, want, rtol=bound, atol=bound * size, equal_nan=True)
    return None if fine else f"{got.tolist()!r:.200}, not {want.tolist()!r:.200}"


def compare(name, inputs, want, runtime=True):
    """Runs the model at PATH by both readers."""
    model = ig.onnx.load(PATH)
    got = model(*inputs)
    problems = [close(np.asarray(g), w) for g, w in zip(got if isinstance(got, tuple) else (got,), want)]
    check(name, not any(problems), f"here: {problems}")
    if onnxruntime is None or not runtime:
        return
    try:
        session = onnxruntime.InferenceSession(PATH, providers=["CPUExecutionProvider"])
        got = session.run(None, {info.name: np.asarray(x) for info, x in zip(session.get_inputs(), inputs)})
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):  # ONNX has the op for this dtype, ONNX Runtime has not
            return
        raise
    problems = [close(g, w) for g, w in zip(got, want)]
    check(name + ": onnxruntime", not any(problems), f"{problems}")


def sample(shape):
    kind, *rest = shape if shape and isinstance(shape[0], str) else ("", shape)
    if kind == "int":
        return rng.integers(0, rest[0], rest[1])
    if kind == "sign":
        return np.sign(rng.normal(size=rest[0])).astype("f")
    if kind == "mask":
        return rng.integers(0, 2, rest[0]).astype(bool)
    return (rng.uniform(0.05, 0.95, rest[0]) if kind == "unit" else rng.normal(size=rest[0])).astype("f")


def exported(name, call, arrays, **more):
    inputs = [ig.asarray(x) for x in arrays]
    ig.onnx.export(call, inputs, PATH, **more)
    compare(name, inputs, [x for x in flat(call(*inputs))])
    return inputs


def chosen(name):
    return len(sys.argv) < 2 or name in sys.argv[1:] or sys.argv[1] == "all"


def test_layers():
    for text, shapes, training in MODULES:
        if training or not chosen(text.partition("(")[0]):
            continue
        net = eval("nn." + text, {"nn": nn}).eval()
        attempt(text, exported, text, net, [sample(s) for s in shapes])


def test_functions():
    for text, shapes in FUNCTIONS:
        if not chosen(text.partition("(")[0]) or any(s[0] == "int" for s in shapes if isinstance(s[0], str)) and "one_hot(a)" in text:
            continue
        call = eval(f"lambda {', '.join('abcd'[:len(shapes)])}: {text}", {"F": F})
        attempt(text, exported, text, call, [sample(s) for s in shapes])


SPACE = _names._namespace()
SPACE.update(true=True, false=False)


def ordinary(x):
    """No NaN, infinities and numbers of extreme size, which runtimes and compositions treat differently."""
    x = np.abs(x[x != 0]) if x.dtype.kind in "fi" else np.ones(1)
    return x.size == 0 or bool(np.all(np.isfinite(x)) and x.max() < 1e15 and x.min() > 1e-15)


# Ops that ONNX cannot express: complex numbers, factorizations, tables, shapes that depend on data, bits.
REFUSED = set("""erfinv nextafter union1d intersect1d setdiff1d setxor1d unique complex mask_select nonzero unique_all unique_counts
unique_inverse unique_values fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn fft2 ifft2 rfft2 irfft2 dct idct dst
idst fftconvolve roi_align cholesky cho_solve cholesky_inverse solve_triangular tri_inv solve inv lu lu_factor lu_solve det
slogdet qr tensorsolve tensorinv expm compress extract flatnonzero argwhere view segment_max segment_min spacing
ndtri wofz trim_zeros histogram histogram2d histogramdd eigh eigvalsh svd
svdvals pinv matrix_rank lstsq cond polyfit eig eigvals roots""".split())


def table_case(op, text, inputs):
    """Exports the call; returns the error if it is refused."""
    shown = text.format(**{name: name for name in inputs})
    call = eval(f"lambda {', '.join(inputs)}: {shown}", SPACE)
    arrays = [ig.asarray(np.array(x, order="C")) for x in inputs.values()]
    try:
        ig.onnx.export(call, arrays, PATH)
    except (ig.DeviceError, ValueError) as error:
        return error
    attempt(f"{op}: {shown}", compare, f"{op}: {shown}", arrays, flat(call(*arrays)))
    return None


def test_table():
    """One call of each op, in f32 if its examples have that; with "all", all calls in f32, i32, i64 and bool."""
    refused, cases = {}, {}
    if "all" not in sys.argv:
        for dtypes in cases_examples.DTYPES.values():
            dtypes[:] = [dtype for dtype in dtypes if dtype in ("float32", "int32", "bool")] or dtypes[:1]
    for op, text, inputs, *_ in test_numpy.make_cases():
        inputs = inputs if isinstance(inputs, dict) else {"x": inputs}
        kinds = {np.asarray(x).dtype.name for x in inputs.values()}
        if inputs and chosen(op) and kinds <= {"float32", "int64", "bool", "int32"} and all(map(ordinary, inputs.values())):
            cases.setdefault(op, []).append(("float32" not in kinds, text, inputs))
    for op, calls in cases.items():
        for _, text, inputs in calls if "all" in sys.argv else [min(calls, key=lambda call: call[0])]:
            error = table_case(op, text, inputs)
            if error is not None:
                refused[op] = error
                check(f"{op}: {text}: is refused by the export", "onnx export: " in str(error) or "has no elements" in str(error), error)
    if len(sys.argv) == 1:
        check("ops that are refused", set(refused) == REFUSED, {op: str(refused.get(op)) for op in set(refused) ^ REFUSED})


BATCHED = [  # networks with a first axis of any length, and with the shapes of their inputs
    ("nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3), nn.Softmax(dim=-1))", (1, 6)),
    ("nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, stride=2, groups=2), "
     "nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(8, 5))", (2, 3, 12, 12)),
    ("nn.Sequential(nn.ConvTranspose2d(3, 4, 2, stride=2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten())", (2, 3, 4, 5)),
    ("nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)", (3, 6, 8)),
    ("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, norm=nn.LayerNorm(8))", (2, 6, 8)),
    ("nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, padding_mode='reflect'), nn.Upsample(scale_factor=2, mode='bilinear'))", (2, 3, 4, 5)),
    ("nn.LSTM(5, 4, batch_first=True, num_layers=2, bidirectional=True)", (2, 7, 5)),
    ("nn.GRU(5, 4, batch_first=True)", (2, 7, 5)),
    ("nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 2))", ("int", 9, (2, 3))),
    ("nn.Sequential(nn.Unfold(2), nn.Flatten(), nn.Linear(48, 2))", (2, 3, 3, 3)),
]


def test_batch():
    for text, shape in BATCHED:
        attempt(text, batch, text, shape)
    net = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    query, memory = rng.normal(size=(2, 6, 8)).astype("f"), rng.normal(size=(2, 5, 8)).astype("f")
    ig.onnx.export(net, (query, memory, memory), PATH, batch="n", input_names=["q", "k", "v"], output_names=["y", "weights"])
    model = ig.onnx.load(PATH)
    check("names", [i.name for i in model.inputs] == ["q", "k", "v"] and model.inputs[0].shape == ("n", 6, 8), model.inputs)
    check("names of outputs", [o.name for o in model.outputs] == ["y", "weights"] and model.outputs[1].shape[0] == "n", model.outputs)
    check("names of weights", set(net.state_dict()) <= set(model.weights), list(model.weights))


def batch(text, shape):
    net = eval(text, {"nn": nn}).eval()
    ig.onnx.export(net, ig.asarray(sample(shape)), PATH, batch=True)
    for n in (1, 5):
        longer = ("int", shape[1], (n, *shape[2][1:])) if shape[0] == "int" else (n, *shape[1:])
        x = ig.asarray(sample(longer))
        compare(f"{text} of {n}", [x], flat(net(x)))


def test_symbols():
    """Axes without a fixed length, where lengths are sums and multiples; what is refused."""
    x = ig.asarray(rng.normal(size=(4, 6)).astype("f"))
    calls = [(lambda x: ig.concat([x, x * 2, x[:1]]), {0: "n"}), (lambda x: x.T @ x, {0: "n"}), (lambda x: x @ x.T, {0: "n"}),
             (lambda x: ig.arange(x.shape[1]) + x.mean(0), {1: "t"}), (lambda x: x[::-1, 1:-1], {1: "t"}), (lambda x: ig.zeros(x.shape) + x.sum(), {1: "t"}),
             (lambda x: x[:, -2:].reshape(-1), {0: "n"}), (lambda x: ig.sort(x, axis=0)[1:], {0: "n"}), (lambda x: ig.pad(x, [0, 0, 1, 2]), {1: "t"})]
    for i, (call, axes) in enumerate(calls):
        ig.onnx.export(call, x, PATH, dynamic_axes={"input": axes})
        for n in (4, 9):
            y = ig.asarray(rng.normal(size=(n, 6) if 0 in axes else (4, n)).astype("f"))
            compare(f"symbolic {i} of {n}", [y], flat(call(y)))
    raises("refused: elements", ValueError, lambda: ig.onnx.export(lambda x: x * float(x.sum()), x, PATH), "onnx.export: an array")
    refusals = [("a square", lambda x: ig.zeros(x.shape[0] ** 2) + x.sum(), "16, 25 and 49"), ("a number", lambda x: x * (1 / x.shape[0]), "depend"),
                ("a choice", lambda x: x * 2 if x.shape[0] == 4 else ig.exp(x), "something else"), ("one length", lambda x: x.reshape(2, 12), "")]
    for name, call, says in refusals:
        raises("refused: " + name, (ValueError, ig.DeviceError), lambda call=call: ig.onnx.export(call, x, PATH, batch=True), says)
    raises("refused: random numbers", ValueError, lambda: ig.onnx.export(lambda x: x + ig.random.normal(size=(4, 6)), x, PATH), "onnx.export: a random function")
    raises("refused: a loop", ig.DeviceError, lambda: ig.onnx.export(lambda x: ig.lax.scan(lambda c, r: (c + r, c), ig.zeros(6), x)[1], x, PATH), "scan")
    raises("refused: complex numbers", ig.DeviceError, lambda: ig.onnx.export(lambda x: ig.fft.rfft(x).real, x, PATH), "onnx export")
    raises("refused: rounded lengths", ig.DeviceError, lambda: ig.onnx.export(lambda x: ig.roll(x.reshape(-1)[::4], 2), x[:3], PATH, batch=True), "export")
    two = [lambda x: x.reshape(-1) * 2, lambda x: ig.concat([x, ig.ones(x.shape)], axis=1).T, lambda x: ig.softmax(x @ x.T, axis=-1) @ x,
           lambda x: ig.broadcast_to(x[:, None], (x.shape[0], 3, x.shape[1])).reshape(-1, x.shape[1])]
    for i, call in enumerate(two):
        ig.onnx.export(call, x, PATH, dynamic_axes={"input": {0: "n", 1: "t"}})
        for shape in ((4, 6), (1, 9), (5, 3)):
            y = ig.asarray(rng.normal(size=shape).astype("f"))
            compare(f"two symbols {i} of {shape}", [y], flat(call(y)))
    check("two symbols: names", ig.onnx.load(PATH).inputs[0].shape == ("n", "t"), ig.onnx.load(PATH).inputs)
    net = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True).eval()
    ig.onnx.export(net, ig.zeros((2, 6, 8)), PATH, dynamic_axes={"input": {0: "batch", 1: "time"}})
    for shape in ((3, 5, 8), (1, 7, 8)):
        y = ig.asarray(rng.normal(size=shape).astype("f"))
        compare(f"encoder of {shape}", [y], flat(net(y)))
    y = ig.zeros((2, 3, 4))
    raises("refused: three symbols", ValueError, lambda: ig.onnx.export(lambda x: x, y, PATH, dynamic_axes={"input": {0: "n", 1: "t", 2: "c"}}), "two symbols")


def view_of(x, steps):
    """x after random steps that give views, gathers and copies."""
    for kind, a, b in steps:
        n, axis = x.ndim, int(a * x.ndim)
        at, length = (slice(None),) * axis, x.shape[axis] if x.ndim else 0
        if kind == "permute" and n > 1:
            x = ig.permute_dims(x, [(axis + i) % n for i in range(n)])
        elif kind == "slice" and length > 2:
            x = x[(*at, slice(int(2 * b), None, 1 + int(3 * b)))]
        elif kind == "back" and n:
            x = x[(*at, slice(None, None, -1 - int(2 * b)))]
        elif kind == "merge" and n > 1:
            axis = min(axis, n - 2)
            x = x.reshape(*x.shape[:axis], -1, *x.shape[axis + 2:])
        elif kind == "split" and n and length % 2 == 0:
            x = x.reshape(*x.shape[:axis], length // 2, 2, *x.shape[axis + 1:])
        elif kind == "broadcast" and n < 5:
            x = ig.broadcast_to(x[None], (2, *x.shape))
        elif kind == "diagonal" and n > 1:
            x = ig.diagonal(x, int(2 * b))
        elif kind == "sum" and n > 1:
            x = ig.sum(x, axis=axis, keepdims=b < 0.5)
        elif kind == "take" and length > 1:
            x = ig.take(x, ig.asarray([1, 0, -1]), axis=axis)
        elif kind == "join" and n:
            x = ig.concat([x, ig.roll(x, 2, axis=axis)], axis=axis)
        elif kind == "pad" and n:
            x = ig.pad(x, [0, 0] * axis + [1, 2] + [0, 0] * (n - axis - 1))
        if not 0 < x.size < 5000:
            break
    return x * 1


def test_views():
    """Random views of views; with a first axis of any length, exports may be refused, but not be wrong."""
    kinds = ["permute", "slice", "back", "merge", "split", "broadcast", "diagonal", "sum", "take", "join", "pad"]
    refused = 0
    for i in range(2000 if "all" in sys.argv else 100):
        steps = [(kinds[rng.integers(len(kinds))], *rng.uniform(size=2)) for _ in range(rng.integers(1, 7))]
        shape = [int(n) for n in rng.choice([1, 2, 3, 4, 6], rng.integers(1, 5))]
        any_length = i % 2 == 1
        shape[0] = 3 if any_length else shape[0]
        try:
            ig.onnx.export(lambda x: view_of(x, steps), ig.zeros(shape), PATH, batch=any_length)
        except (ig.DeviceError, ValueError) as error:
            refused += 1
            check(f"views {steps} of {shape}", any_length, error)
            continue
        model = ig.onnx.load(PATH)
        for n in (3, 5) if any_length else shape[:1]:
            x = ig.asarray(rng.normal(size=(n, *shape[1:])).astype("f"))
            want = np.asarray(view_of(x, steps))
            problem = close(np.asarray(model(x)), want)
            check(f"views {steps} of {(n, *shape[1:])}", problem is None, problem)
    check("most views are exported", refused < 45 * (20 if "all" in sys.argv else 1), refused)


def test_functions_of_python():
    net = nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    x = ig.asarray(rng.normal(size=(3, 6)).astype("f"))
    ig.onnx.export(ig.jit(lambda x: {"a": net(x), "b": x + 1}), x, PATH)
    check("training is restored", all(module.training for module in net.modules()), [module.training for module in net.modules()])
    want = [np.asarray(net.eval()(x)), np.asarray(x + 1)]
    compare("a compiled function", [x], want)
    check("its weights", "0.weight" in ig.onnx.load(PATH).weights, list(ig.onnx.load(PATH).weights))
    def many(x):
        for _ in range(3000):
            x = ig.sin(x)
        return x
    ig.onnx.export(many, x, PATH)
    compare("a deep graph", [x], [np.asarray(many(x))])


def main():
    warnings.filterwarnings("ignore")
    test_layers()
    test_table()
    if "all" in sys.argv:
        test_functions()
    if len(sys.argv) == 1:
        test_batch()
        test_symbols()
        test_views()
        test_functions_of_python()


main()
finish()
