"""Random nodes, loops and small graphs of ONNX against ONNX Runtime and ONNX's reference implementation.

Each case is a folder as those of the package onnx; `ingot onnx test --again` runs all of them, once with the results of each. A
case passes if it equals ONNX Runtime's results. If ONNX Runtime refuses the model, or the op is in BY_REFERENCE, it may equal the
reference's instead. docs/ONNX.md says which of the two is followed where they differ.

    tests/test_onnx_ops.py [--rounds N] [--seed N]     a round has about 3,000 nodes and 60 graphs

INGOT names the command. Skipped if a package is absent. Ends with "N passed, N failed".
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as reason:
    print(f"skipped: {reason}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)

INGOT = os.environ.get("INGOT", "build/ingot")
warnings.simplefilter("ignore")
onnxruntime.set_default_logger_severity(4)
options = argparse.ArgumentParser()
options.add_argument("--rounds", type=int, default=1)
options.add_argument("--seed", type=int, default=25)
options = options.parse_args()
rng = np.random.default_rng(options.seed)
F32 = np.float32
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]


# ---- random values

def number(low, high):
    return int(rng.integers(low, high))


def numbers(n, low, high):
    return [number(low, high) for _ in range(n)]


def one_of(items):
    return items[number(0, len(items))]


def array(shape, dtype=F32):
    kind = np.dtype(dtype).kind
    if kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers({"i": -9, "u": 0, "b": 0}[kind], 2 if kind == "b" else 10, shape).astype(dtype)


def ints(values):
    return np.array(values, np.int64)


def signed(axis, ndim):
    return axis - ndim if number(0, 2) else axis


# ---- cases

# Where ONNX Runtime and the reference differ and Ingot follows the reference, with the reason.
BY_REFERENCE = {
    "ArgMax": "NaN is the largest and the smallest element, as in NumPy; ONNX Runtime skips it or not, by its place",
    "ArgMin": "as ArgMax",
    "Hardmax": "NaN as in ArgMax",
    "ReduceMax": "NaN is kept",
    "ReduceMin": "NaN is kept",
    "ReduceProd": "products that overflow wrap around; ONNX Runtime has INT32_MAX on ARM",
    "Resize": "align_corners with a fractional length, and a crop of an axis whose scale is 1",
}


class Cases:
    def __init__(self, folder):
        self.folder, self.n, self.results = folder, 0, {}  # {name: oracles that have results}

    def runtime(self, model, feeds):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(None, feeds)

    def reference(self, model, feeds):
        return ReferenceEvaluator(model).run(None, feeds)

    def write(self, name, model, feeds, rtol, atol):
        """The folders of a model that has outputs without types: one for each oracle that runs it."""
        self.n += 1
        for oracle in (self.runtime, self.reference):
            try:
                expected = [np.asarray(y) for y in oracle(model, feeds)]
            except Exception:  # an oracle that lacks a type raises errors of many kinds
                continue
            self.results.setdefault(name, []).append(oracle.__name__)
            typed = onnx.ModelProto()
            typed.CopyFrom(model)
            for result, y in zip(typed.graph.output, expected):
                result.CopyFrom(helper.make_tensor_value_info(result.name, helper.np_dtype_to_tensor_dtype(y.dtype), y.shape))
            folder = os.path.join(self.folder, oracle.__name__, name)
            os.makedirs(folder + "/test_data_set_0")
            onnx.save(typed, folder + "/model.onnx")
            for kind, arrays in (("input", feeds.values()), ("output", expected)):
                for i, x in enumerate(arrays):
                    with open(f"{folder}/test_data_set_0/{kind}_{i}.pb", "wb") as file:
                        file.write(numpy_helper.from_array(x).SerializeToString())
            with open(folder + "/data.json", "w") as file:
                json.dump({"rtol": rtol, "atol": atol}, file)
            if oracle == self.runtime and name.split("_")[1] not in BY_REFERENCE:
                return

    def add(self, op, inputs, opset, outputs=1, rtol=1e-3, atol=1e-5, **attributes):
        """One node; None: an input or attribute that is not given."""
        attributes = {k: v for k, v in attributes.items() if v is not None}
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
        feeds = {name: x for name, x in zip(names, inputs) if name}
        node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attributes)
        self.graph(op, [node], feeds, [f"y{i}" for i in range(outputs)], opset, rtol, atol)

    def graph(self, op, nodes, feeds, outputs, opset, rtol=1e-3, atol=1e-5):
        info = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in feeds.items()]
        graph = helper.make_graph(nodes, "one", info, [onnx.ValueInfoProto(name=name) for name in outputs])
        model = helper.make_model(graph, ir_version=8 if opset < 21 else 10, opset_imports=[helper.make_opsetid("", opset)])
        self.write(f"test_{op}_{self.n}", model, feeds, rtol, atol)

    def failures(self):
        """Runs all folders; the number of cases that have results, and the reasons of those that equal none."""
        reasons = {name: [] for name in self.results}
        passed = set()
        for oracle in ("runtime", "reference"):
            folder = os.path.join(self.folder, oracle)
            done = subprocess.run([INGOT, "onnx", "test", "--again", "--quiet", "--json", folder], capture_output=True, text=True)
            if not done.stdout:
                return len(reasons), [f"exit code {done.returncode}: {done.stderr}"]
            for case in json.loads(done.stdout)["cases"]:
                if case["result"] == "passed":
                    passed.add(case["name"])
                else:
                    reasons[case["name"]].append(f"{oracle}: {case.get('reason')}")
        differ = {name.split("_")[1] for name, why in reasons.items() if name in passed and why and why[0].startswith("runtime")}
        print(f"as the reference, not as ONNX Runtime: {', '.join(sorted(differ)) or 'none'}")
        return len(reasons), [f"{name}: {'; '.join(why)}" for name, why in reasons.items() if name not in passed]


def elementwise(add):
    for dtype in INTEGERS + FLOATS:
        kind = np.dtype(dtype).kind
        for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Pow", "Equal", "Less", "GreaterOrEqual"):
            shape = numbers(number(0, 4), 1, 4)
            x, y = array(shape, dtype), array([one_of([d, 1]) for d in shape[number(0, len(shape) + 1):]], dtype)
            fmod = None
            if op in ("Div", "Mod") and kind != "f":
                y = np.where(y == 0, np.array(3, dtype), y).astype(dtype).reshape(y.shape)
            if op == "Mod":
                fmod = 1 if kind == "f" else number(0, 2)
            if op == "Pow":
                x, y = np.abs(x) % np.array(4, dtype), np.abs(y) % np.array(3, dtype)
            add(op, [x, y], 16, fmod=fmod, rtol=1e-2)
        low, high = np.array(1, dtype), np.array(4, dtype)
        for bounds in ([low, high], [high, low], [None, high], [low], []):
            add("Clip", [array(5, dtype)] + bounds, 13)
        add("PRelu", [array((2, 3, 2), dtype), array((3, 1), dtype)], 16)
        add("Where", [array((2, 1), bool), array((1, 3), dtype), array((2, 3), dtype)], 16)
        for to in INTEGERS + FLOATS + [bool]:
            x = np.abs(array(6, dtype)) if np.dtype(to).kind == "u" else array(6, dtype)
            add("Cast", [x], 13, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    for base in (np.float32, np.float64, np.int32, np.int64):
        for exponent in (np.float32, np.float64, np.int32, np.int64):
            add("Pow", [np.abs(array(5, base)) % base(5), np.abs(array(5, exponent)) % exponent(3)], 15)
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, np.inf, np.nan, 1e30], F32)
    add("Round", [halves], 11)
    for op in ("Max", "Min"):
        add(op, [halves, array(8)], 13)


def windows(add):
    for _ in range(60):
        n = number(1, 4)
        kernel, stride, dilation, length = numbers(n, 2, 4), numbers(n, 1, 3), numbers(n, 1, 3), numbers(n, 6, 11)
        auto = one_of(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
        free = auto == "NOTSET"
        pads = [number(0, k) for k in kernel + kernel] if free else None
        groups = number(1, 3)
        x, bias = array([2, 2 * groups] + length), [array(2 * groups)] if number(0, 2) else []
        add("Conv", [x, array([2 * groups, 2] + kernel)] + bias, 11, group=groups, strides=stride, auto_pad=auto,
            dilations=dilation if free else None, pads=pads)
        add("ConvTranspose", [x, array([2 * groups, 1] + kernel)], 11, group=groups, strides=stride, auto_pad=auto,
            dilations=dilation, pads=[p // 2 for p in pads] if free else None,
            output_padding=[number(0, s) for s in stride] if number(0, 2) else None)
        shared = dict(kernel_shape=kernel, strides=stride, auto_pad=auto, pads=pads)
        dilated = dict(shared, dilations=dilation if free else None)
        up = number(0, 2) if free else None
        add("MaxPool", [x], 12, ceil_mode=up, **dilated)
        add("MaxPool", [x], 12, outputs=2, ceil_mode=up, storage_order=number(0, 2) if n == 2 else 0, **dilated)
        add("MaxPool", [array([1, 2] + length, one_of([np.int8, np.uint8]))], 12, **shared)
        add("AveragePool", [x], 19, ceil_mode=up, count_include_pad=number(0, 2), **one_of([shared, dilated]))
        add("LpPool", [x], 18, p=number(1, 4), **one_of([shared, dilated]))
    for _ in range(6):
        corner = rng.integers(0, 8, (4, 2))
        regions = np.concatenate([rng.integers(0, 2, (4, 1)), corner, corner + rng.integers(-1, 8, (4, 2))], 1).astype(F32)
        add("MaxRoiPool", [array((2, 3, 9, 10)), regions], 1, pooled_shape=numbers(2, 1, 4), spatial_scale=one_of([1.0, 0.5, 0.7]))


def resampling(add):
    for _ in range(120):
        mode = one_of(["nearest", "linear", "cubic"])
        n = 2 if mode == "cubic" else number(1, 3)  # ONNX Runtime has no other cubic ones
        x, axes = array([1, 2] + numbers(n, 1, 7)), [int(a) + 2 for a in rng.permutation(n)] if number(0, 2) else None
        place = one_of(["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                        "tf_crop_and_resize"])
        fixed, roi, policy = [] if axes else [1, 1], None, None
        if place == "tf_crop_and_resize":
            ends = [0.0] * len(fixed), rng.uniform(-0.2, 0.4, n), [1.0] * len(fixed), rng.uniform(0.6, 1.3, n)
            roi = np.concatenate(ends).astype(F32)
        if place in ("tf_crop_and_resize", "pytorch_half_pixel") or number(0, 2):
            target = [roi, None, ints(([] if axes else [1, 2]) + numbers(n, 1, 10))]
            policy = one_of(["stretch", "not_larger", "not_smaller"]) if axes else None
        else:
            target = [roi, np.array(fixed + list(rng.choice([0.5, 0.6, 0.8, 1, 1.5, 2, 2.5, 3], n)), F32)]
        add("Resize", [x] + target, 19, mode=mode, coordinate_transformation_mode=place, axes=axes,
            nearest_mode=one_of(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]), extrapolation_value=2.5,
            antialias=number(0, 2) if mode != "nearest" and roi is None else None, keep_aspect_ratio_policy=policy,
            exclude_outside=number(0, 2) if mode == "cubic" else None, cubic_coeff_a=one_of([None, -0.5]))
    for _ in range(40):
        n = number(2, 4)
        add("GridSample", [array([2, 2] + numbers(n, 1, 5)), rng.uniform(-1.6, 1.6, [2] + numbers(n, 1, 4) + [n]).astype(F32)], 20,
            mode=one_of(["linear", "nearest", "cubic"][:5 - n]), padding_mode=one_of(["zeros", "border", "reflection"]),
            align_corners=number(0, 2))
    for mode in ("nearest", "linear"):
        add("Resize", [array((1, 1, 5)), None, np.array([1, 1, 2.6], F32)], 19, mode=mode)  # 13 elements: the product is in f32
    scales = np.array([1, 1, 1.5, 2], F32)
    for mode in ("nearest", "linear"):
        x = array((1, 2, 3, 4))
        add("Upsample", [x], 7, mode=mode, scales=[float(s) for s in scales])
        add("Upsample", [x, scales], 9, mode=mode)
        add("Resize", [x, scales], 10, mode=mode)


def moves(add):
    for _ in range(40):
        n = number(1, 4)
        shape = numbers(n, 1, 6)
        x = array(shape, one_of(INTEGERS + FLOATS + [bool]))
        mode = one_of(["constant", "reflect", "edge", "wrap"])
        pads = ints(numbers(2 * n, -1, 4) if mode == "constant" else numbers(2 * n, 0, min(shape)))
        add("Pad", [x, pads, array((), x.dtype)] if mode == "constant" else [x, pads], 19, mode=mode)
        k = number(1, n + 1)
        axes, steps = rng.permutation(n)[:k], rng.choice([-3, -2, -1, 1, 2, 3], k)
        ends = np.where(rng.integers(0, 4, k) == 0, np.where(steps > 0, 2**62, -2**62), rng.integers(-8, 8, k))
        add("Slice", [x, rng.integers(-8, 8, k), ends, axes - n * rng.integers(0, 2, k), steps], 13)
        add("Tile", [x, ints(numbers(n, 0, 3))], 13)
        add("Expand", [array([one_of([d, 1]) for d in shape]), ints([2] * number(0, 2) + shape)], 13)
        add("Flatten", [x], 13, axis=number(-n, n + 1))
        axis = number(0, n)
        half = shape[axis] // 2
        add("Split", [x, ints([half, shape[axis] - half])], 13, outputs=2, axis=signed(axis, n))
        if n > 1:
            add("Trilu", [x, ints(number(-4, 5))], 14, upper=number(0, 2))
            time = number(0, 2)
            add("ReverseSequence", [x, rng.integers(1, shape[time] + 1, shape[1 - time])], 10, time_axis=time, batch_axis=1 - time)


def indexing(add):
    for _ in range(30):
        n = number(1, 4)
        shape, axis = numbers(n, 1, 5), number(0, n)
        x, where, length = array(shape, one_of(INTEGERS + FLOATS + [bool])), signed(axis, n), shape[axis]
        add("Gather", [x, rng.integers(-length, length, numbers(number(0, 3), 1, 4))], 13, axis=where)
        part = [number(1, d + 1) for d in shape]
        part[axis] = number(1, 5)
        places = rng.integers(-length, length, part)
        add("GatherElements", [x, places.astype(one_of([np.int32, np.int64]))], 13, axis=where)
        batch = number(0, n)
        depth = number(1, n - batch + 1)
        tuples = [rng.integers(-d, d, shape[:batch] + [2]) for d in shape[batch:batch + depth]]
        add("GatherND", [x, np.stack(tuples, -1)], 13, batch_dims=batch)
        dtype = one_of([np.float32, np.float64, np.int32, np.int64])
        for reduction in ("add", "mul", "max", "min"):
            add("ScatterElements", [array(shape, dtype), places, array(part, dtype)], 18, axis=where, reduction=reduction)
            at = np.stack([rng.integers(-d, d, 3) for d in shape[:depth]], -1)
            add("ScatterND", [array(shape), at, array([3] + shape[depth:])], 18, reduction=reduction)
        for largest in (0, 1):
            add("TopK", [array(shape, dtype), ints([number(0, length + 1)])], 11, outputs=2, axis=where, largest=largest)
        add("Unique", [array(shape, one_of([np.float32, np.int64, np.int8]))], 11, outputs=4, sorted=number(0, 2),
            axis=one_of([where, None]))
        add("NonZero", [x], 13)
        add("Compress", [x, array(number(1, length + 1), bool)], 11, axis=where)
        add("OneHot", [rng.integers(-6, 6, shape), ints(4), array(2)], 11, axis=number(-n - 1, n + 1))


def reductions(add):
    for _ in range(30):
        n = number(1, 4)
        shape, axis = numbers(n, 1, 5), number(0, n)
        where = signed(axis, n)
        axes = [signed(int(a), n) for a in rng.permutation(n)[:number(0, n + 1)]]
        dtype = one_of([np.float32, np.float64, np.int32, np.int64])
        for op in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"):
            x = np.abs(array(shape)) + F32(1) if op.startswith("Log") else array(shape, dtype)
            add("Reduce" + op, [x], one_of([7, 11, 12]), axes=axes or None, keepdims=number(0, 2))
            add("Reduce" + op, [x.astype(F32), ints(axes)], 13 if op == "Sum" else 18, keepdims=number(0, 2),
                noop_with_empty_axes=number(0, 2))
        for op in ("ArgMax", "ArgMin"):
            add(op, [array(shape, one_of([np.float32, np.int32, np.int8]))], 13, axis=where, keepdims=number(0, 2),
                select_last_index=number(0, 2))
        for op, opset in (("CumSum", 14), ("CumProd", 26)):
            add(op, [array(shape, dtype), ints(where)], opset, exclusive=number(0, 2), reverse=number(0, 2))
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            for opset in (11, 13):
                add(op, [array(shape)], opset, axis=where)
        add("LayerNormalization", [array(shape), array(shape[axis:]), array(shape[axis:])], 17, outputs=one_of([1, 3]), axis=where)


def others(add):
    for _ in range(10):
        m, k, n, left, right = *numbers(3, 1, 5), number(0, 2), number(0, 2)
        a, b = array((k, m) if left else (m, k)), array((n, k) if right else (k, n))
        c = [array(one_of([(), (n,), (1, n), (m, 1), (m, n)]))] if number(0, 3) else []
        add("Gemm", [a, b] + c, 13, transA=left, transB=right, alpha=2.0, beta=float(number(0, 3)))
        add("LRN", [array((2, number(1, 7), 3, 2))], 13, size=2 * number(1, 3) + 1, alpha=0.1, beta=0.5, bias=2.0)
        length = number(1, 9)
        for count, options in ((2, {}), (2, {"inverse": 1}), (1, {"onesided": 1})):
            add("DFT", [array((2, length, count)), one_of([None, ints(number(1, 12))])], 17, axis=1, **options)
        for shape in ((2, 20, 1), (2, 20)):  # exporters leave out the axis of length 1
            add("STFT", [array(shape), ints(number(1, 5)), one_of([None, array(8)]), ints(8)], 17, onesided=number(0, 2), atol=1e-4)
        for reduction in ("none", "mean", "sum"):
            shape, ignored = [3, 4] + [2] * number(0, 3), one_of([None, 1, 7])
            classes = rng.integers(0, 4, [3] + shape[2:])
            if ignored:
                classes = np.where(rng.integers(0, 3, classes.shape) == 0, ignored, classes)
            weight = [np.abs(array(4))] if number(0, 2) else []
            for op, outputs in (("SoftmaxCrossEntropyLoss", 2), ("NegativeLogLikelihoodLoss", 1)):
                add(op, [array(shape), classes] + weight, 13, outputs=outputs, reduction=reduction, ignore_index=ignored)


def empty(add):
    for shape in ((0,), (2, 0), (0, 3), (2, 0, 3)):
        x = array(shape)
        for op in ("Abs", "Exp", "Relu", "Identity", "Sum", "Softmax", "NonZero", "Shape", "Transpose", "Flatten"):
            add(op, [x], 15, axis=0 if op == "Flatten" else None)
        for op in ("Add", "Div", "Equal"):
            add(op, [x, x], 14)
        add("Concat", [x, x], 13, axis=0)
        add("Tile", [x, ints([2] * len(shape))], 13)
        add("Pad", [x, ints([1] * 2 * len(shape))], 13)
        add("Gather", [array((3, 2)), np.zeros(shape, np.int64)], 13)
        for op in ("ReduceSum", "ReduceProd", "ReduceL2"):
            add(op, [x, ints([0])], 18)
    add("MatMul", [array((2, 0)), array((0, 3))], 13)
    add("Conv", [array((0, 2, 5, 5)), array((3, 2, 3, 3))], 11)
    add("Reshape", [array((0, 3)), ints([3, 0, 2])], 14, allowzero=1)


def strings(add):
    x = np.array([["a", "bb", ""], ["x", "a", "bb"]], dtype=object)
    add("Reshape", [x, ints([3, 2])], 13)
    add("Transpose", [x], 13)
    add("Gather", [x, ints([1, -2])], 13, axis=1)
    add("Concat", [x, x], 13, axis=0)
    add("Slice", [x, ints([-1]), ints([-9]), ints([1]), ints([-1])], 13)
    add("Where", [np.array([[True], [False]]), x, np.array("z", dtype=object)], 16)
    add("Equal", [x, np.array(["a", "bb", "q"], dtype=object)], 19)
    add("Split", [x, ints([1, 2])], 13, outputs=2, axis=1)
    add("Unique", [np.array(["b", "a", "b", "c"], dtype=object)], 11, outputs=4)
    add("Cast", [np.array(["1.5", "-2", "1e3", "NaN", "-INF"], dtype=object)], 13, to=1)
    add("Cast", [ints([1, -2, 300])], 13, to=8)


def special(add):
    """Equal elements, NaN and infinities."""
    for _ in range(12):
        shape, axis = numbers(number(1, 4), 1, 6), number(-1, 1)
        for odd in (2, np.nan, np.inf, -np.inf):
            x = np.where(rng.random(shape) < 0.3, odd, rng.integers(-1, 2, shape)).astype(one_of([np.float32, np.float64]))
            for op in ("ArgMax", "ArgMin"):
                add(op, [x], 13, axis=axis, keepdims=number(0, 2), select_last_index=number(0, 2))
            add("Hardmax", [x], 13, axis=axis)
            add("Softmax", [x], 13, axis=axis)
            for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean"):
                add(op, [x, ints([axis])], 18, keepdims=number(0, 2))
            for op in ("Max", "Min"):
                add(op, [x, np.flip(x).copy()], 13)
            for op in ("Sign", "Relu", "Sigmoid", "Tanh", "Floor", "IsNaN", "IsInf", "Erf", "Softplus"):
                add(op, [x], 20)


def body_of(shape, stated, states, scans, limit):
    """The body of a loop: each state gets another value, scan outputs are made of states and of a value outside."""
    info, node = helper.make_tensor_value_info, helper.make_node
    nodes = [node("Cast", ["i"], ["real"], to=1)]
    inputs, outputs = [info("i", 7, []), info("go_in", 9, [])], [info("go", 9, [])]
    if limit is None:
        nodes.append(node("Identity", ["go_in"], ["go"]))
    else:
        nodes += [node("Constant", [], ["last"], value_int=limit - 1), node("Less", ["i", "last"], ["go"])]
    for s in range(states):
        inputs.append(info(f"from{s}", 1, stated))
        nodes.append(node(one_of(["Add", "Mul", "Sub"]), [f"from{s}", one_of(["outer", "real", f"from{number(0, states)}"])], [f"to{s}"]))
        outputs.append(info(f"to{s}", 1, stated))
    for k in range(scans):
        source = one_of(["outer"] + [f"to{s}" for s in range(states)])
        nodes.append(node("Add", [source, "real"], [f"scan{k}"]))
        outputs.append(info(f"scan{k}", 1, shape))
    return helper.make_graph(nodes, "body", inputs, outputs)


def loops(graph):
    for _ in range(60):
        shape, states, scans = numbers(number(0, 3), 1, 4), number(0, 3), number(0, 3)
        if not states + scans:
            continue
        feeds = {"outer": array(shape)} | {f"s{s}": array(shape) for s in range(states)}
        most, go, limit = one_of([None, 0, 1, 3, 20]), one_of([None, True, False]), one_of([None, 2, 5])
        if most is None and limit is None:
            most = 4
        for name, value in (("most", most), ("go0", go)):
            if value is not None:
                feeds[name] = np.array(value)
        names = ["" if most is None else "most", "" if go is None else "go0"] + [f"s{s}" for s in range(states)]
        outputs = [f"y{i}" for i in range(states + scans)]
        body = body_of(shape, one_of([shape, [None] * len(shape), None]), states, scans, limit)
        graph("Loop", [helper.make_node("Loop", names, outputs, body=body)], feeds, outputs, one_of([11, 13, 16, 21]))


def graphs(graph):
    """Chains of several ops, in which a shape is computed and values are used twice."""
    node = helper.make_node
    for _ in range(60):
        shape = numbers(number(2, 4), 1, 6)
        feeds, last, nodes, n = {"x": array(shape), "w": array((shape[-1], shape[-1]))}, "x", [], number(3, 9)
        for i in range(n):
            kind, out = number(0, 8), f"v{i}"
            if kind == 0:
                nodes.append(node(one_of(["Tanh", "Sigmoid", "Abs", "Relu", "Sin"]), [last], [out]))
            elif kind == 1:
                nodes.append(node(one_of(["Add", "Mul", "Max"]), [last, one_of(["x", last])], [out]))
            elif kind == 2:
                nodes.append(node("MatMul", [last, "w"], [out]))
            elif kind == 3:
                nodes.append(node("Softmax", [last], [out], axis=number(-len(shape), len(shape))))
            elif kind == 4:
                nodes += [node("Shape", [last], [f"s{i}"]), node("Reshape", [last, f"s{i}"], [out])]
            elif kind == 5:
                nodes += [node("ReduceMean", [last], [f"m{i}"], axes=[number(0, len(shape))], keepdims=1), node("Sub", [last, f"m{i}"], [out])]
            elif kind == 6:
                nodes += [node("Greater", [last, "x"], [f"c{i}"]), node("Where", [f"c{i}", last, "x"], [out])]
            else:
                order = [int(a) for a in rng.permutation(len(shape))]
                nodes += [node("Transpose", [last], [f"t{i}"], perm=order),
                          node("Transpose", [f"t{i}"], [out], perm=[int(a) for a in np.argsort(order)])]
            last = out
        graph("several", nodes, feeds, [last], 13)


def main():
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(folder)
        for _ in range(options.rounds):
            for group in (elementwise, windows, resampling, moves, indexing, reductions, others, empty, strings, special):
                group(cases.add)
            for group in (loops, graphs):
                group(cases.graph)
        n, failures = cases.failures()
    print("\n".join(failures[:40]))
    print(f"{n - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or n < 2500 * options.rounds else 0


sys.exit(main())
