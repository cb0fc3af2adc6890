"""Ops of com.microsoft and ai.onnx.ml, and variants of ONNX ops that its own tests leave out, against ONNX Runtime.

Writes one folder for each case in the form of ONNX's test folders, with the results of ONNX Runtime, and compares them by
`ingot onnx test`. INGOT names the command. Skipped if the packages onnx and onnxruntime are absent. Ends with "N passed, N failed".
With a folder as argument, the cases are only written there.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as reason:
    print(f"skipped: {reason}\n0 passed, 0 failed")
    sys.exit(0)

INGOT = os.environ.get("INGOT", "build/ingot")
MS, ML = "com.microsoft", "ai.onnx.ml"
COUPLED = 5e-3  # ONNX Runtime stops its iteration for probabilities at this error
OPSETS = {"": 21, MS: 1, ML: 3}
rng = np.random.default_rng(25)
onnxruntime.set_default_logger_severity(4)


def f32(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape, high=256):
    return rng.integers(0, high, shape, dtype=np.uint8)


def i8(*shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def scalar(x, dtype=np.float32):
    return np.array(x, dtype)


class Case:
    """One node: inputs are arrays, None (not given), or (array,) for a constant."""

    def __init__(self, name, op, inputs, outputs=1, domain="", version=None, atol=1e-5, **attributes):
        self.name, self.op, self.inputs, self.domain = name, op, inputs, domain
        self.outputs = [f"y{i}" if n else "" for i, n in enumerate(outputs if isinstance(outputs, tuple) else (1,) * outputs)]
        self.attributes, self.version, self.atol = attributes, version or OPSETS[domain], atol

    def model(self):
        names, infos, constants = [], [], []
        for i, x in enumerate(self.inputs):
            names.append("" if x is None else f"x{i}")
            if isinstance(x, tuple):
                constants.append(numpy_helper.from_array(x[0], f"x{i}"))
            elif isinstance(x, dict):
                infos.append(helper.make_value_info(f"x{i}", map_type(x)))
            elif x is not None:
                kind = TensorProto.STRING if x.dtype.kind in "UO" else helper.np_dtype_to_tensor_dtype(x.dtype)
                infos.append(helper.make_tensor_value_info(f"x{i}", kind, x.shape))
        node = helper.make_node(self.op, names, self.outputs, name=self.op, domain=self.domain, **self.attributes)
        outputs = [self.info(n) for n in self.outputs if n]
        graph = helper.make_graph([node], self.name, infos, outputs, constants)
        opsets = [helper.make_opsetid(d, v) for d, v in ({**OPSETS, self.domain: self.version}).items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def info(self, name):
        if self.op != "ZipMap":
            return helper.make_empty_tensor_value_info(name)
        key = TensorProto.STRING if "classlabels_strings" in self.attributes else TensorProto.INT64
        value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_map_type_proto(key, value)))

    def write(self, folder):
        model = self.model()
        given = {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and not isinstance(x, tuple)}
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1  # DynamicQuantizeLSTM quantizes the rows of each thread by their own range
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        results = session.run(None, given)
        data = os.path.join(folder, self.name, "test_data_set_0")
        os.makedirs(data)
        onnx.save(model, os.path.join(folder, self.name, "model.onnx"))
        with open(os.path.join(folder, self.name, "data.json"), "w") as f:
            json.dump({"atol": self.atol, "rtol": 1e-3}, f)
        for i, (name, x) in enumerate(given.items()):
            save(os.path.join(data, f"input_{i}.pb"), x, name)
        for i, x in enumerate(results):
            save(os.path.join(data, f"output_{i}.pb"), x, f"y{i}")


class Dequantized(Case):
    """One node whose first two inputs are dequantized bytes; scales gives (scale, zero point, axis) for each."""

    def __init__(self, name, op, inputs, scales, **attributes):
        super().__init__(name, op, inputs, **attributes)
        self.scales = scales

    def model(self):
        model = super().model()
        nodes = model.graph.node
        for i, (scale, zero, axis) in enumerate(self.scales):
            for kind, x in (("scale", scale), ("zero", zero)):
                model.graph.initializer.append(numpy_helper.from_array(np.asarray(x), f"{kind}{i}"))
            nodes[-1].input[i] = f"d{i}"
            nodes.insert(0, helper.make_node("DequantizeLinear", [f"x{i}", f"scale{i}", f"zero{i}"], [f"d{i}"], axis=axis))
        return model


def element(x):
    return TensorProto.STRING if isinstance(x, str) else TensorProto.FLOAT if isinstance(x, float) else TensorProto.INT64


def map_type(entries):
    key, value = next(iter(entries.items()))
    return helper.make_map_type_proto(element(key), helper.make_tensor_type_proto(element(value), []))


def save(path, x, name):
    if isinstance(x, dict):
        value = map_proto(x)
    elif isinstance(x, list) and x and isinstance(x[0], dict):
        value = onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP)
        value.map_values.extend(map_proto(m) for m in x)
    else:
        x = np.asarray(x)
        value = numpy_helper.from_array(x.astype(object) if x.dtype.kind == "U" else x, name)
    with open(path, "wb") as f:
        f.write(value.SerializeToString())


def map_proto(entries):
    keys, proto = list(entries), onnx.MapProto()
    if isinstance(keys[0], str):
        proto.key_type = TensorProto.STRING
        proto.string_keys.extend(k.encode() for k in keys)
    else:
        proto.key_type = TensorProto.INT64
        proto.keys.extend(keys)
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    kinds = {TensorProto.STRING: object, TensorProto.FLOAT: np.float32, TensorProto.INT64: np.int64}
    proto.values.tensor_values.extend(numpy_helper.from_array(np.array(entries[k], kinds[element(entries[k])])) for k in keys)
    return proto


# ---- com.microsoft ----

def fusions():
    x = f32(2, 5, 8)
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        yield Case(op, op, [x], domain=MS)
    yield Case("QuickGelu_alpha", "QuickGelu", [x], domain=MS, alpha=1.1)
    yield Case("FastGelu_bias", "FastGelu", [x, f32(8)], domain=MS)
    yield Case("BiasGelu", "BiasGelu", [x, f32(8)], domain=MS)
    a, b = f32(3, 4, 5), f32(3, 5, 6)
    yield Case("FusedMatMul", "FusedMatMul", [a, b], domain=MS, alpha=0.5)
    yield Case("FusedMatMul_trans", "FusedMatMul", [a.swapaxes(1, 2).copy(), b.swapaxes(1, 2).copy()], domain=MS,
               transA=1, transB=1)
    yield Case("FusedMatMul_batch", "FusedMatMul", [a.swapaxes(0, 1).copy(), b.swapaxes(0, 1).copy()], domain=MS,
               transBatchA=1, transBatchB=1)
    yield Case("FusedMatMul_both", "FusedMatMul", [np.moveaxis(a, [0, 1, 2], [1, 2, 0]).copy(), b], domain=MS,
               transBatchA=1, transA=1)
    for name in ("Relu", "Sigmoid", "Tanh", "LeakyRelu"):
        yield Case(f"FusedGemm_{name}", "FusedGemm", [f32(3, 4), f32(5, 4), f32(5)], domain=MS, transB=1, alpha=0.7, beta=0.3,
                   activation=name, **({"activation_alpha": 0.1} if name == "LeakyRelu" else {}))
    image, kernels, bias = f32(2, 4, 7, 6), f32(6, 2, 3, 3), f32(6)
    for name, params in (("Relu", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-0.3, 0.4]), ("HardSigmoid", [0.3, 0.4])):
        yield Case(f"FusedConv_{name}", "FusedConv", [image, kernels, bias], domain=MS, group=2, pads=[1, 0, 1, 2], strides=[1, 2],
                   activation=name, **({"activation_params": params} if params else {}))
    yield Case("FusedConv_sum", "FusedConv", [image, f32(6, 4, 3, 3), bias, f32(2, 6, 7, 6)], domain=MS, pads=[1, 1, 1, 1],
               activation="Relu")
    yield Case("CDist", "CDist", [f32(4, 3), f32(5, 3)], domain=MS, metric="euclidean")
    yield Case("Inverse", "Inverse", [f32(2, 4, 4)], domain=MS)
    yield Case("Trilu", "Trilu", [f32(4, 5), scalar(1, np.int64)], domain=MS, upper=0)
    yield Case("ExpandDims", "ExpandDims", [f32(4, 5), (scalar(1, np.int32),)], domain=MS)


def norms():
    x, skip, gamma, beta, bias = f32(2, 5, 8), f32(2, 5, 8), f32(8), f32(8), f32(8)
    yield Case("SkipLayerNorm", "SkipLayerNormalization", [x, skip, gamma, beta, bias], (1, 0, 0, 1), domain=MS, epsilon=1e-5)
    yield Case("SkipLayerNorm_plain", "SkipLayerNormalization", [x, skip[:1].copy(), gamma], domain=MS)
    yield Case("SkipRmsNorm", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], (1, 0, 0, 1), domain=MS, epsilon=1e-5)
    yield Case("SimplifiedLayerNorm", "SimplifiedLayerNormalization", [x, gamma], axis=-1, epsilon=1e-5)
    ids = rng.integers(0, 20, (2, 6)).astype(np.int32)
    segments = rng.integers(0, 2, (2, 6)).astype(np.int32)
    tables = [f32(20, 8), f32(10, 8), f32(2, 8), gamma, beta]
    mask = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], np.int32)
    yield Case("EmbedLayerNorm", "EmbedLayerNormalization", [ids, segments, *tables, mask], 3, domain=MS)
    yield Case("EmbedLayerNorm_plain", "EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, gamma, beta], 2, domain=MS)
    places = rng.integers(0, 10, (2, 6)).astype(np.int32)
    yield Case("EmbedLayerNorm_places", "EmbedLayerNormalization", [ids, segments, *tables, mask, places], 2, domain=MS)


    gated = {"domain": MS, "epsilon": 1e-5}
    for activation in ("silu", "sigmoid"):
        yield Case(f"GatedRMSNorm_{activation}", "GatedRMSNorm", [f32(2, 3, 16), f32(8), f32(2, 3, 16)], activation=activation, **gated)
    yield Case("GatedAdd", "GatedAdd", [f32(2, 3, 8), f32(2, 3, 8), f32(2, 3, 1)], domain=MS)


def experts():
    x, router = f32(6, 8), f32(6, 4)
    for kind in ("relu", "gelu", "silu", "identity"):
        yield Case(f"MoE_{kind}", "MoE", [x, router, f32(4, 12, 8), f32(4, 12), f32(4, 8, 12), f32(4, 8)], domain=MS, k=2, activation_type=kind)
    yield Case("MoE_normalized", "MoE", [f32(2, 3, 8), router, f32(4, 12, 8), None, f32(4, 8, 12)], domain=MS, k=2, normalize_routing_weights=1)
    yield Case("MoE_swiglu", "MoE", [x, router, f32(4, 24, 8), f32(4, 24), f32(4, 8, 12), f32(4, 8)], domain=MS, k=2,
               activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.5, activation_beta=1.0, swiglu_limit=2.0)


def recurrences():
    heads = {"domain": MS, "q_num_heads": 4, "kv_num_heads": 2}
    q, k, v, past = f32(2, 5, 16), f32(2, 5, 8, scale=0.3), f32(2, 5, 12), f32(2, 2, 4, 6)
    decay, beta = -abs(f32(2, 5, 2)), abs(f32(2, 5, 2, scale=0.3))
    yield Case("LinearAttention", "LinearAttention", [q, k, v, past], 2, update_rule="linear", **heads)
    yield Case("LinearAttention_gated", "LinearAttention", [q, k, v, past, decay], 2, update_rule="gated", **heads)
    yield Case("LinearAttention_delta", "LinearAttention", [q, k, v, past, None, beta], 2, update_rule="delta", **heads)
    yield Case("LinearAttention_both", "LinearAttention", [q, k, v, past, decay, beta], 2, update_rule="gated_delta", **heads)
    yield Case("CausalConv", "CausalConvWithState", [f32(2, 4, 6), f32(4, 1, 3), f32(4), f32(2, 4, 2)], 2, domain=MS, activation="silu")


def attention():
    x, w, b = f32(2, 5, 8), f32(8, 24, scale=0.5), f32(24)
    lengths = np.array([3, 5], np.int32)
    raw = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    past = f32(2, 2, 2, 3, 4)
    yield Case("Attention", "Attention", [x, w, b], domain=MS, num_heads=2)
    yield Case("Attention_lengths", "Attention", [x, w, b, lengths], domain=MS, num_heads=2)
    yield Case("Attention_ranges", "Attention", [x, w, b, np.array([3, 5, 1, 0], np.int32)], domain=MS, num_heads=2)
    yield Case("Attention_mask", "Attention", [x, w, b, raw], domain=MS, num_heads=2)
    yield Case("Attention_mask3", "Attention", [x, w, b, np.repeat(raw[:, None], 5, 1)], domain=MS, num_heads=2)
    yield Case("Attention_causal", "Attention", [x, w, b], domain=MS, num_heads=2, unidirectional=1, scale=0.3)
    yield Case("Attention_past", "Attention", [x, w, b, None, past], 2, domain=MS, num_heads=2, unidirectional=1)
    yield Case("Attention_bias", "Attention", [x, w, b, None, None, f32(1, 2, 5, 5)], domain=MS, num_heads=2)
    yield Case("Attention_sizes", "Attention", [x, f32(8, 20), f32(20)], domain=MS, num_heads=2, qkv_hidden_sizes=[8, 8, 4])
    q, k, v = f32(2, 5, 8), f32(2, 6, 8), f32(2, 6, 12)
    mha = {"domain": MS, "num_heads": 2}
    yield Case("MultiHead", "MultiHeadAttention", [q, k, v], **mha)
    yield Case("MultiHead_bias", "MultiHeadAttention", [q, k, v, f32(28)], **mha, scale=0.4)
    yield Case("MultiHead_mask", "MultiHeadAttention", [q, k, v, None, np.array([[1, 1, 1, 1, 0, 0], [1] * 6], np.int32)], **mha)
    yield Case("MultiHead_lengths", "MultiHeadAttention", [q, k, v, None, np.array([4, 6], np.int32)], **mha)
    yield Case("MultiHead_added", "MultiHeadAttention", [q, k, v, None, None, f32(1, 2, 5, 6)], **mha)
    yield Case("MultiHead_past", "MultiHeadAttention", [q, f32(2, 5, 8), f32(2, 5, 8), None, None, None, f32(2, 2, 3, 4),
                                                         f32(2, 2, 3, 4)], 3, **mha, unidirectional=1)
    yield Case("MultiHead_cross", "MultiHeadAttention", [q, f32(2, 2, 6, 4), f32(2, 2, 6, 4)], **mha)
    qx, qw = u8(2, 5, 8), i8(8, 24)
    yield Case("QAttention", "QAttention", [qx, (qw,), f32(24), scalar(0.02), scalar(0.01), lengths, scalar(120, np.uint8),
                                            (scalar(0, np.int8),)], domain=MS, num_heads=2)
    yield Case("QAttention_past", "QAttention", [qx, (qw,), f32(24), scalar(0.02), scalar(0.01), None, scalar(120, np.uint8),
                                                 (scalar(0, np.int8),), past], 2, domain=MS, num_heads=2, unidirectional=1)


def group_query():
    heads = {"domain": MS, "num_heads": 4, "kv_num_heads": 2}
    cos, sin = f32(16, 8), f32(16, 8)

    def sizes(ends, total):
        return [np.array(ends, np.int32), (scalar(total, np.int32),)]

    q, k, v = f32(2, 5, 64), f32(2, 5, 32), f32(2, 5, 32)
    yield Case("GroupQuery", "GroupQueryAttention", [q, k, v, None, None, *sizes([4, 4], 5)], 3, **heads)
    yield Case("GroupQuery_rotary", "GroupQueryAttention", [q, k, v, None, None, *sizes([4, 4], 5), cos, sin], 3, **heads,
               do_rotary=1)
    yield Case("GroupQuery_interleaved", "GroupQueryAttention", [q, k, v, None, None, *sizes([4, 4], 5), cos, sin], 3, **heads,
               do_rotary=1, rotary_interleaved=1)
    yield Case("GroupQuery_packed", "GroupQueryAttention", [f32(2, 5, 128), None, None, None, None, *sizes([4, 4], 5), cos, sin], 3,
               **heads, do_rotary=1)
    one = [f32(2, 1, 64), f32(2, 1, 32), f32(2, 1, 32)]
    cache = [f32(2, 2, 7, 16), f32(2, 2, 7, 16)]
    yield Case("GroupQuery_step", "GroupQueryAttention", [*one, *cache, *sizes([7, 7], 8), cos, sin], 3, **heads, do_rotary=1)
    yield Case("GroupQuery_softcap", "GroupQueryAttention", [*one, *cache, *sizes([7, 7], 8)], 3, **heads, softcap=2.0, scale=0.5)
    yield Case("GroupQuery_window", "GroupQueryAttention", [q, k, v, None, None, *sizes([4, 4], 5)], 3, **heads, local_window_size=2)
    yield Case("GroupQuery_window_step", "GroupQueryAttention", [*one, *cache, *sizes([7, 7], 8)], 3, **heads, local_window_size=3)
    yield Case("GroupQuery_smooth", "GroupQueryAttention", [*one, *cache, *sizes([7, 7], 8)], 3, **heads, smooth_softmax=1)
    yield Case("GroupQuery_sink", "GroupQueryAttention", [*one, *cache, *sizes([7, 7], 8), None, None, None, None, f32(4)], 3, **heads)
    yield Case("GroupQuery_bias", "GroupQueryAttention", [q, k, v, None, None, *sizes([4, 4], 5), None, None, None, f32(1, 4, 5, 5)], 3,
               **heads)
    few = [f32(1, 3, 64), f32(1, 3, 32), f32(1, 3, 32)]
    yield Case("GroupQuery_chunk", "GroupQueryAttention", [*few, f32(1, 2, 4, 16), f32(1, 2, 4, 16), *sizes([6], 7), cos, sin], 3, **heads,
               do_rotary=1)
    x, places = f32(2, 5, 32), rng.integers(0, 16, (2, 5)).astype(np.int64)
    for interleaved in (0, 1):
        yield Case(f"Rotary_{interleaved}", "RotaryEmbedding", [x, places, cos, sin], domain=MS, interleaved=interleaved)
    yield Case("Rotary_offset", "RotaryEmbedding", [x, np.array([3], np.int64), cos, sin], domain=MS)
    yield Case("Rotary_part", "RotaryEmbedding", [f32(2, 4, 5, 24), places, cos, sin], domain=MS, rotary_embedding_dim=16, num_heads=4)


def quantized():
    for bits, block, k in ((4, 32, 64), (4, 16, 40), (8, 32, 64), (2, 32, 64)):
        blocks, n = (k + block - 1) // block, 6
        b, scales = u8(n, blocks, block * bits // 8), f32(n, blocks, scale=0.1)
        zeros = u8(n, (blocks * bits + 7) // 8)
        attributes = {"domain": MS, "K": k, "N": n, "bits": bits, "block_size": block}
        yield Case(f"MatMulNBits_{bits}_{k}", "MatMulNBits", [f32(3, k), (b,), (scales,)], **attributes)
        yield Case(f"MatMulNBits_{bits}_{k}_zeros", "MatMulNBits", [f32(2, 3, k), (b,), (scales,), (zeros,)], **attributes)
    yield Case("MatMulNBits_bias", "MatMulNBits", [f32(3, 64), (u8(6, 2, 16),), (f32(6, 2),), None, None, (f32(6),)], domain=MS, K=64, N=6,
               bits=4, block_size=32)
    ids = rng.integers(0, 9, (2, 3)).astype(np.int64)
    yield Case("GatherBlock_8", "GatherBlockQuantized", [(u8(9, 64),), ids, (f32(9, 2),), (u8(9, 2),)], domain=MS, bits=8, block_size=32)
    yield Case("GatherBlock_4", "GatherBlockQuantized", [(u8(9, 32),), ids, (f32(9, 2),), (u8(9, 1),)], domain=MS, bits=4, block_size=32)
    yield Case("GatherBlock_plain", "GatherBlockQuantized", [(u8(9, 32),), ids, (f32(9, 2),)], domain=MS, bits=4, block_size=32)
    a, b = f32(3, 8), i8(8, 5)
    for way, directions in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        w, r = i8(directions, 5, 12), i8(directions, 3, 12)
        for columns in ((directions,), (directions, 12)):
            zeros = [np.zeros(columns, m.dtype) for m in (w, r)]
            scales = [rng.uniform(0.005, 0.02, columns).astype(np.float32) for _ in "wr"]
            yield Case(f"DynamicQuantizeLSTM_{way}_{len(columns)}", "DynamicQuantizeLSTM",
                       [f32(6, 2, 5), (w,), (r,), f32(directions, 24), None, f32(directions, 2, 3), f32(directions, 2, 3), None,
                        (scales[0],), (zeros[0],), (scales[1],), (zeros[1],)],
                       outputs=3, domain=MS, direction=way, hidden_size=3)
    yield Case("DynamicQuantizeMatMul", "DynamicQuantizeMatMul", [a, (b,), scalar(0.03), scalar(2, np.int8), f32(5)], domain=MS)
    yield Case("DynamicQuantizeMatMul_columns", "DynamicQuantizeMatMul", [a, (b,), abs(f32(5)), i8(5)], domain=MS)
    yield Case("MatMulIntegerToFloat", "MatMulIntegerToFloat", [u8(3, 8), (u8(8, 5),), scalar(0.1), scalar(0.2), scalar(9, np.uint8),
                                                                scalar(7, np.uint8), f32(5)], domain=MS)
    qa = u8(3, 4)

    def parts(scale, zero, kind=np.uint8):
        return [scalar(scale), scalar(zero, kind)]

    # Scales that are powers of two give many ties. ONNX Runtime rounds those of QLinearAdd by the rules of the processor.
    wide, more = u8(30, 40), u8(30, 40)
    yield Case("QLinearAdd", "QLinearAdd", [wide, *parts(0.3, 3), more, *parts(0.7, 5), *parts(1.1, 7)], domain=MS)
    yield Case("QLinearAdd_signed", "QLinearAdd", [i8(30, 40), *parts(0.3, 3, np.int8), i8(40), *parts(0.7, 5, np.int8), *parts(1.1, -7, np.int8)],
               domain=MS)
    yield Case("QLinearMul", "QLinearMul", [wide, *parts(0.25, 3), more, *parts(0.125, 5), *parts(4, 7)], domain=MS)
    yield Case("QLinearSigmoid", "QLinearSigmoid", [wide, *parts(0.1, 100), *parts(1 / 256, 0)], domain=MS)
    yield Case("QLinearLeakyRelu", "QLinearLeakyRelu", [wide, *parts(0.25, 100), *parts(0.5, 51)], domain=MS, alpha=0.5)
    yield Case("QLinearConcat", "QLinearConcat", [*parts(1, 3), wide, *parts(0.5, 4), u8(30, 2), *parts(0.25, 9)], domain=MS, axis=1)
    yield Case("QLinearWhere", "QLinearWhere", [wide > 100, wide, *parts(0.25, 4), more, *parts(0.125, 5), *parts(0.5, 7)], domain=MS)
    yield Case("QLinearSoftmax", "QLinearSoftmax", [wide, *parts(0.1, 3), *parts(1 / 256, 0)], domain=MS, axis=-1, opset=13)
    yield Case("QLinearGlobalAveragePool", "QLinearGlobalAveragePool", [u8(2, 90, 2, 2), *parts(0.25, 3), *parts(0.5, 4)], domain=MS)
    yield Case("QLinearAveragePool", "QLinearAveragePool", [u8(2, 3, 6, 5), *parts(0.125, 3), *parts(0.25, 5)], domain=MS, kernel_shape=[2, 2],
               strides=[2, 1], pads=[1, 0, 1, 1])
    yield Case("QLinearAveragePool_last", "QLinearAveragePool", [u8(2, 6, 5, 3), *parts(0.125, 3), *parts(0.25, 5)], domain=MS,
               kernel_shape=[2, 2], channels_last=1)
    yield Case("QGemm", "QGemm", [u8(30, 4), *parts(0.25, 3), (u8(5, 4),), *parts(0.5, 5), rng.integers(-900, 900, 5).astype(np.int32),
                                  *parts(64, 101)], domain=MS, transB=1)
    yield Case("QGemm_float", "QGemm", [qa, *parts(0.1, 3), (u8(4, 5),), *parts(0.2, 5)], domain=MS)
    yield Case("QLinearMatMul_ties", "QLinearMatMul", [u8(30, 4), *parts(0.25, 3), u8(4, 40), *parts(0.5, 5), *parts(64, 101)])
    one = (np.float32(0.02), np.uint8(119), 0)
    yield Dequantized("QDQ_MatMul", "MatMul", [u8(2, 7, 33), (i8(33, 19),)], [one, (np.float32(0.1), np.int8(0), 0)])
    yield Dequantized("QDQ_MatMul_columns", "MatMul", [u8(7, 33), (u8(33, 19),)],
                      [one, (abs(f32(19)) + 0.1, rng.integers(100, 150, 19).astype(np.uint8), 1)])
    yield Dequantized("QDQ_MatMul_rows", "MatMul", [u8(7, 33), (i8(33, 19),)], [one, (abs(f32(33)) + 0.1, np.zeros(33, np.int8), 0)])
    yield Dequantized("QDQ_Gemm", "Gemm", [u8(7, 33), (i8(19, 33),), f32(19)], [one, (abs(f32(19)) + 0.1, np.zeros(19, np.int8), 0)],
                      transB=1, alpha=0.5)
    yield Dequantized("QDQ_Conv", "Conv", [u8(2, 6, 9, 8), (i8(10, 3, 3, 2),), f32(10)],
                      [one, (abs(f32(10)) + 0.1, np.zeros(10, np.int8), 0)], group=2, pads=[1, 1, 1, 0], strides=[2, 1])
    yield Dequantized("QDQ_Conv_padded", "Conv", [i8(1, 3, 9, 8), (u8(5, 3, 3, 3),)],
                      [(np.float32(0.3), np.int8(-5), 0), (np.float32(0.1), np.uint8(130), 0)], pads=[1, 1, 1, 1])
    rows = np.array([[3, 0, -1], [29, 3, 7]])
    yield Dequantized("QDQ_Gather", "Gather", [(u8(30, 8),), rows], [one])
    yield Dequantized("QDQ_Gather_columns", "Gather", [i8(4, 30), rows], [(np.float32(0.3), np.int8(-5), 0)], axis=1)
    yield Dequantized("QDQ_Gather_scales", "Gather", [(i8(30, 8),), rows], [(abs(f32(8)) + 0.1, np.zeros(8, np.int8), 1)])
    yield Case("QLinearConv_ties", "QLinearConv", [u8(1, 4, 9, 9), *parts(0.25, 3), (u8(6, 4, 2, 2),), *parts(0.5, 5), *parts(128, 101)])
    yield Case("QuantizeLinear_ties", "QuantizeLinear", [np.arange(-60, 60, dtype=np.float32) / 4, *parts(0.5, 5)])
    image = u8(1, 4, 6, 7)
    yield Case("QLinearConv_group", "QLinearConv", [image, *parts(0.1, 90), (i8(6, 2, 3, 3),), (abs(f32(6)) * 0.1,), (np.zeros(6, np.int8),),
                                                    *parts(1.5, 100), rng.integers(-900, 900, 6).astype(np.int32)], group=2,
               pads=[1, 0, 2, 1], strides=[2, 1])
    yield Case("ConvInteger_zero", "ConvInteger", [image, (u8(3, 4, 2, 2),), scalar(90, np.uint8), (scalar(77, np.uint8),)],
               auto_pad="SAME_UPPER", strides=[1, 2])
    yield Case("MatMulInteger_rows", "MatMulInteger", [u8(2, 3, 4), u8(4, 5), scalar(9, np.uint8), u8(5)])
    for k in (1, 255, 256, 257, 1000):  # the extremes of 8 bits in sums of many products
        extreme = np.where(u8(3, k) < 100, 0, 255).astype(np.uint8)
        yield Case(f"MatMulInteger_{k}", "MatMulInteger", [extreme, np.full((k, 5), 255, np.uint8), scalar(0, np.uint8), scalar(0, np.uint8)])
    yield Case("MatMulInteger_vector", "MatMulInteger", [u8(300), u8(300)])
    yield Case("MatMulInteger_signed", "MatMulInteger", [u8(3, 300), i8(300, 5), scalar(255, np.uint8), scalar(-128, np.int8)])


# ---- recurrent ----

def recurrent():
    t, n, i, h = 4, 3, 5, 6
    lens = np.array([4, 2, 3], np.int32)
    for op, gates, states in (("RNN", 1, 1), ("GRU", 3, 1), ("LSTM", 4, 2)):
        for direction, d in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            x, w, r = f32(t, n, i), f32(d, gates * h, i, scale=0.4), f32(d, gates * h, h, scale=0.4)
            b, start = f32(d, 2 * gates * h), [f32(d, n, h) for _ in range(states)]
            common = {"hidden_size": h, "direction": direction}
            y = 1 + states
            yield Case(f"{op}_{direction}", op, [x, w, r], y, **common)
            yield Case(f"{op}_{direction}_all", op, [x, w, r, b, None, *start], y, **common)
            yield Case(f"{op}_{direction}_lens", op, [x, w, r, b, lens, *start], y, **common)
            yield Case(f"{op}_{direction}_clip", op, [x, w, r, b, None, *start], y, **common, clip=0.3)
            if op == "GRU":
                yield Case(f"{op}_{direction}_linear", op, [x, w, r, b, None, *start], y, **common, linear_before_reset=1)
            if op == "LSTM":
                yield Case(f"{op}_{direction}_peep", op, [x, w, r, b, lens, *start, f32(d, 3 * h)], y, **common)
            names = {"RNN": ["LeakyRelu"], "GRU": ["HardSigmoid", "ScaledTanh"], "LSTM": ["HardSigmoid", "Softsign", "Relu"]}[op]
            alpha = {"RNN": [0.2], "GRU": [0.3, 0.8], "LSTM": [0.3]}[op] * d
            beta = {"RNN": [], "GRU": [0.4, 0.7], "LSTM": [0.4]}[op] * d
            yield Case(f"{op}_{direction}_functions", op, [x, w, r, b], y, **common, activations=names * d, activation_alpha=alpha,
                       **({"activation_beta": beta} if beta else {}))


# ---- vision ----

def vision():
    x = f32(2, 3, 9, 8)
    rois = np.array([[0, 0, 7, 8], [1.5, 2.2, 5.1, 6.4], [3, 3, 3.2, 3.1], [-2, -1, 12, 13]], np.float32)
    images = np.array([0, 1, 1, 0], np.int64)
    for mode in ("avg", "max"):
        for ratio in (0, 2):
            yield Case(f"RoiAlign_{mode}_{ratio}", "RoiAlign", [x, rois, images], version=16, mode=mode, sampling_ratio=ratio, output_height=3,
                       output_width=2, spatial_scale=0.9)
            yield Case(f"RoiAlign_{mode}_{ratio}_old", "RoiAlign", [x, rois, images], version=10, mode=mode, sampling_ratio=ratio,
                       output_height=2, output_width=3)
    yield Case("DeformConv", "DeformConv", [f32(2, 4, 6, 7), f32(6, 2, 3, 2), f32(2, 24, 6, 3), f32(6), f32(2, 12, 6, 3)], version=19, group=2,
               offset_group=2, pads=[1, 1, 1, 0], strides=[1, 2], dilations=[1, 2])
    boxes = rng.random((2, 40, 4), np.float32)
    scores = rng.random((2, 3, 40), np.float32)
    for centre in (0, 1):
        yield Case(f"NonMaxSuppression_{centre}", "NonMaxSuppression", [boxes, scores, np.array([7], np.int64), np.array([0.3], np.float32),
                                                                         np.array([0.2], np.float32)], center_point_box=centre)


# ---- ai.onnx.ml ----

def tree(depth, features, first):
    """Nodes of one random tree, as lists: id, feature, split, true, false, leaf."""
    nodes = []

    def grow(level):
        at = len(nodes)
        nodes.append(None)
        if level == 0 or (level < depth and rng.random() < 0.2):
            nodes[at] = (at, 0, 0.0, 0, 0, True)
            return at
        yes, no = grow(level - 1), grow(level - 1)
        nodes[at] = (at, int(rng.integers(features)), float(np.float32(rng.standard_normal())), yes, no, False)
        return at

    grow(depth)
    return nodes


def trees(count, features, modes, targets, per_leaf, prefix, sign=0):
    """Attributes of an ensemble; sign 1: weights are positive."""
    out = {k: [] for k in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_truenodeids", "nodes_falsenodeids",
                           "nodes_modes", "nodes_missing_value_tracks_true", f"{prefix}_treeids", f"{prefix}_nodeids", f"{prefix}_ids",
                           f"{prefix}_weights")}
    for t in range(count):
        for at, feature, split, yes, no, leaf in tree(4, features, t):
            for key, value in zip(out, (t, at, feature, split, yes, no, "LEAF" if leaf else modes[int(rng.integers(len(modes)))],
                                        0 if leaf else int(rng.integers(2)))):
                out[key].append(value)
            if leaf:
                for target in rng.permutation(targets)[:per_leaf]:
                    weight = float(np.float32(rng.standard_normal()))
                    for key, value in (("treeids", t), ("nodeids", at), ("ids", int(target)), ("weights", abs(weight) / count if sign else weight)):
                        out[f"{prefix}_{key}"].append(value)
    return out


def ensemble(count, features, targets, mode):
    """Attributes of TreeEnsemble: a random forest whose leaves have a list of their own."""
    nodes = {k: [] for k in ("nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids", "nodes_falseleafs",
                             "nodes_missing_value_tracks_true")}
    splits, weights, ids, roots = [], [], [], []
    for _ in range(count):
        grown = tree(4, features, 0)
        inner = {at: len(splits) + i for i, at in enumerate(at for at, *_, leaf in grown if not leaf)}
        leaves = {at: len(weights) + i for i, at in enumerate(at for at, *_, leaf in grown if leaf)}
        if grown[0][-1]:
            continue  # TreeEnsemble has no trees of one leaf
        roots.append(inner[0])
        for at, feature, split, yes, no, leaf in grown:
            if leaf:
                weights.append(rng.standard_normal())
                ids.append(int(rng.integers(targets)))
                continue
            splits.append(split)
            row = [feature]
            for child in (yes, no):
                row += [leaves[child], 1] if child in leaves else [inner[child], 0]
            for key, value in zip(nodes, [*row, int(rng.integers(2))]):
                nodes[key].append(value)
    return {**nodes, "tree_roots": roots, "leaf_targetids": ids, "n_targets": targets,
            "nodes_splits": numpy_helper.from_array(np.array(splits, np.float32)),
            "leaf_weights": numpy_helper.from_array(np.array(weights, np.float32)),
            "nodes_modes": numpy_helper.from_array(np.full(len(splits), mode, np.uint8))}


def ensembles():
    x = f32(20, 5)
    holes = x.copy()
    holes[rng.random(x.shape) < 0.2] = np.nan
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        yield Case(f"TreeRegressor_{mode}", "TreeEnsembleRegressor", [x], domain=ML, n_targets=1, **trees(3, 5, [mode], 1, 1, "target"))
    for function in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield Case(f"TreeRegressor_{function}", "TreeEnsembleRegressor", [holes], domain=ML, n_targets=3, aggregate_function=function,
                   base_values=[0.5, -1.0, 2.0], **trees(6, 5, ["BRANCH_LEQ"], 3, 3, "target"))
    yield Case("TreeRegressor_some", "TreeEnsembleRegressor", [x], domain=ML, n_targets=3, **trees(5, 5, ["BRANCH_LT"], 3, 2, "target"))
    yield Case("TreeRegressor_logistic", "TreeEnsembleRegressor", [x], domain=ML, n_targets=2, post_transform="LOGISTIC",
               **trees(5, 5, ["BRANCH_LT"], 2, 2, "target"))
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield Case(f"TreeClassifier_{transform}", "TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_int64s=[7, 3, 9],
                   post_transform=transform, **trees(6, 5, ["BRANCH_LEQ"], 3, 3, "class"))
        for sign in (0, 1):
            one = trees(6, 5, ["BRANCH_LEQ"], 1, 1, "class", sign)
            yield Case(f"TreeClassifier_binary_{transform}_{sign}", "TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_int64s=[4, 8],
                       post_transform=transform, **one)
    one = trees(6, 5, ["BRANCH_LEQ"], 1, 1, "class")
    yield Case("TreeClassifier_binary_base", "TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_int64s=[4, 8], base_values=[0.7], **one)
    one["class_ids"] = [1] * len(one["class_ids"])
    yield Case("TreeClassifier_binary_second", "TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_int64s=[4, 8], **one)
    yield Case("TreeClassifier_strings", "TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_strings=["a", "b", "cc"],
               base_values=[0.1, 0.2, -0.3], **trees(6, 5, ["BRANCH_LEQ"], 3, 3, "class", 1))
    for mode in range(6):
        yield Case(f"TreeEnsemble_{mode}", "TreeEnsemble", [holes], domain=ML, version=5, aggregate_function=1, **ensemble(6, 5, 2, mode))
    yield Case("TreeRegressor_f64", "TreeEnsembleRegressor", [x.astype(np.float64)], domain=ML, n_targets=2,
               **trees(6, 5, ["BRANCH_LEQ"], 2, 2, "target"))


def linear_models():
    x = f32(9, 4)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield Case(f"LinearClassifier_{transform}", "LinearClassifier", [x], 2, domain=ML, coefficients=f32(12).tolist(),
                   intercepts=f32(3).tolist(), classlabels_ints=[5, 6, 8], post_transform=transform)
        yield Case(f"LinearClassifier_binary_{transform}", "LinearClassifier", [x], 2, domain=ML, coefficients=f32(4).tolist(),
                   intercepts=f32(1).tolist(), classlabels_ints=[5, 6], post_transform=transform)
    yield Case("LinearClassifier_strings", "LinearClassifier", [x], 2, domain=ML, coefficients=f32(12).tolist(),
               intercepts=f32(3).tolist(), classlabels_strings=["x", "yy", ""])
    yield Case("LinearRegressor", "LinearRegressor", [x], domain=ML, coefficients=f32(8).tolist(), intercepts=f32(2).tolist(), targets=2)
    yield Case("LinearRegressor_one", "LinearRegressor", [x], domain=ML, coefficients=f32(4).tolist())
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        params = {"kernel_type": kernel, "kernel_params": [0.3, 0.2, 3.0]}
        yield Case(f"SVMRegressor_{kernel}", "SVMRegressor", [x], domain=ML, coefficients=f32(6).tolist(), support_vectors=f32(24).tolist(),
                   n_supports=6, rho=[0.4], **params)
        yield Case(f"SVMClassifier_{kernel}", "SVMClassifier", [x], 2, domain=ML, coefficients=f32(14).tolist(),
                   support_vectors=f32(28).tolist(), vectors_per_class=[2, 3, 2], rho=f32(3).tolist(), classlabels_ints=[3, 1, 2], **params)
        yield Case(f"SVMClassifier_binary_{kernel}", "SVMClassifier", [x], 2, domain=ML, coefficients=f32(5).tolist(),
                   support_vectors=f32(20).tolist(), vectors_per_class=[2, 3], rho=[0.1], classlabels_ints=[3, 1], **params)
        yield Case(f"SVMClassifier_proba_{kernel}", "SVMClassifier", [x], 2, domain=ML, coefficients=f32(5).tolist(),
                   support_vectors=f32(20).tolist(), vectors_per_class=[2, 3], rho=[0.1], classlabels_ints=[3, 1], prob_a=[-1.3], prob_b=[0.1],
                   atol=COUPLED, **params)
    yield Case("SVMClassifier_proba3", "SVMClassifier", [x], 2, domain=ML, coefficients=f32(14).tolist(),
               support_vectors=f32(28).tolist(), vectors_per_class=[2, 3, 2], rho=f32(3).tolist(), classlabels_strings=["p", "q", "r"],
               kernel_type="RBF", kernel_params=[0.3, 0.0, 0.0], prob_a=[-1.3, -0.7, -2.0], prob_b=[0.1, 0.2, -0.1], atol=COUPLED)
    yield Case("SVMRegressor_linear", "SVMRegressor", [x], domain=ML, coefficients=f32(4).tolist(), rho=[0.4],
               kernel_params=[0.0, 0.0, 0.0])
    yield Case("SVMRegressor_one_class", "SVMRegressor", [x], domain=ML, coefficients=f32(6).tolist(), support_vectors=f32(24).tolist(),
               n_supports=6, rho=[0.1], one_class=1, kernel_type="RBF", kernel_params=[0.3, 0.0, 0.0])
    yield Case("SVMClassifier_linear", "SVMClassifier", [x], 2, domain=ML, coefficients=f32(12).tolist(), rho=[0.2], classlabels_ints=[3, 1, 2],
               kernel_params=[0.0, 0.0, 0.0])


def features():
    x = f32(4, 3)
    yield Case("Scaler", "Scaler", [x], domain=ML, scale=[2.0, 0.5, 3.0], offset=[1.0, -1.0, 0.5])
    for norm in ("MAX", "L1", "L2"):
        yield Case(f"Normalizer_{norm}", "Normalizer", [abs(x)], domain=ML, norm=norm)
    holes = x.copy()
    holes[0, 1] = holes[2, 2] = np.nan
    yield Case("Imputer", "Imputer", [holes], domain=ML, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))
    yield Case("Imputer_int", "Imputer", [np.array([[0, 1], [2, 0]])], domain=ML, imputed_value_int64s=[9], replaced_value_int64=0)
    yield Case("Binarizer", "Binarizer", [x], domain=ML, threshold=0.2)
    yield Case("FeatureVectorizer", "FeatureVectorizer", [x, f32(4, 2)], domain=ML, inputdimensions=[3, 2])
    yield Case("ArrayFeatureExtractor", "ArrayFeatureExtractor", [x, np.array([2, 0])], domain=ML)
    texts = np.array(["red apples, green  pears", "a", "", "über Straße 12", "x1 y2-z3 ", "two,three;four"], object)
    for i, how in enumerate([{"tokenexp": "[a-zA-Z0-9_]+"}, {"tokenexp": "[a-zA-Z0-9_]+", "mark": 1}, {"tokenexp": r"\w\w+", "mincharnum": 3},
                             {"separators": [" "]}, {"separators": [" ", ",", ";"], "mark": 1}, {"separators": [""]},
                             {"separators": ["[,;] *"], "mincharnum": 3}]):
        yield Case(f"Tokenizer_{i}", "Tokenizer", [texts], domain=MS, **{"mark": 0, "mincharnum": 1, "pad_value": "#", **how})
    words = np.array([["b", "zz"], ["a", "b"]], object)
    yield Case("LabelEncoder_int_float", "LabelEncoder", [np.array([3, 1, 8])], domain=ML, keys_int64s=[1, 2, 3], values_floats=[0.5, 1.5, 2.5],
               default_float=-3.0)
    yield Case("LabelEncoder_text_int", "LabelEncoder", [words], domain=ML, keys_strings=["a", "b"], values_int64s=[10, 20], default_int64=-5)
    yield Case("LabelEncoder_int_text", "LabelEncoder", [np.array([3, 1, 8])], domain=ML, keys_int64s=[1, 3], values_strings=["one", "three"],
               default_string="none")
    yield Case("LabelEncoder_float_text", "LabelEncoder", [np.array([0.5, np.nan, 2], np.float32)], domain=ML,
               version=4, keys_floats=[0.5, float("nan")], values_strings=["half", "nan"])
    yield Case("CategoryMapper", "CategoryMapper", [words], domain=ML, cats_strings=["a", "b"], cats_int64s=[4, 5], default_int64=-7)
    yield Case("CategoryMapper_back", "CategoryMapper", [np.array([4, 9, 5])], domain=ML, cats_strings=["a", "b"], cats_int64s=[4, 5])
    yield Case("OneHotEncoder", "OneHotEncoder", [np.array([[1, 5], [2, 3]])], domain=ML, cats_int64s=[3, 1, 2])
    yield Case("OneHotEncoder_text", "OneHotEncoder", [words], domain=ML, cats_strings=["a", "b", "c"])
    yield Case("DictVectorizer", "DictVectorizer", [{"a": 1.5, "c": -2.0, "z": 4.0}], domain=ML, string_vocabulary=["c", "b", "a"])
    yield Case("DictVectorizer_int", "DictVectorizer", [{7: 1.5, 2: -2.0}], domain=ML, int64_vocabulary=[2, 5, 7, 9])
    yield Case("CastMap", "CastMap", [{7: 1.5, 2: -2.0, 4: 3.0}], domain=ML)
    yield Case("CastMap_sparse", "CastMap", [{7: 1.5, 2: -2.0, 4: 3.0}], domain=ML, map_form="SPARSE", max_map=9)
    yield Case("CastMap_int", "CastMap", [{7: 1.0, 2: -2.0}], domain=ML, cast_to="TO_INT64")
    yield Case("ZipMap", "ZipMap", [x], domain=ML, classlabels_int64s=[5, 6, 7])
    yield Case("ZipMap_text", "ZipMap", [x], domain=ML, classlabels_strings=["u", "v", "w"])


# ---- results that are known ----

def write_gradient(folder):
    """The gradient of the sum of x @ w + x * x by both; ONNX Runtime has no Gradient."""
    training = "ai.onnx.preview.training"
    x, w = f32(4, 3), f32(3, 3)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Mul", ["x", "x"], ["q"]),
             helper.make_node("Add", ["p", "q"], ["y"]),
             helper.make_node("Gradient", ["x", "w"], ["dx", "dw"], domain=training, xs=["x", "w"], y="y")]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in (("x", x), ("w", w))]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("dx", "dw")]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(training, 1)]
    data = os.path.join(folder, "Gradient", "test_data_set_0")
    os.makedirs(data)
    onnx.save(helper.make_model(helper.make_graph(nodes, "Gradient", infos, outputs), opset_imports=opsets, ir_version=10),
              os.path.join(folder, "Gradient", "model.onnx"))
    ones = np.ones((4, 3), np.float32)
    for name, value in (("input_0", x), ("input_1", w), ("output_0", ones @ w.T + 2 * x), ("output_1", x.T @ ones)):
        save(os.path.join(data, f"{name}.pb"), value, name)


def packed():
    """Weights in blocks: read from the model's inputs, with zero points that are floats, in halves, and with many rows."""
    b, scales, zeros = u8(6, 2, 16), f32(6, 2, scale=0.1), u8(6, 1)
    four = {"domain": MS, "K": 64, "N": 6, "bits": 4, "block_size": 32}
    yield Case("MatMulNBits_input", "MatMulNBits", [f32(3, 64), b, scales, zeros], **four)
    yield Case("MatMulNBits_floats", "MatMulNBits", [f32(3, 64), (b,), (scales,), (f32(6, 2, scale=4),)], **four)
    yield Case("MatMulNBits_f16", "MatMulNBits", [f32(3, 64).astype(np.float16), (b,), (scales.astype(np.float16),), (zeros,)], atol=1e-2, **four)
    yield Case("MatMulNBits_rows", "MatMulNBits", [f32(70, 1024), (u8(96, 8, 64),), (f32(96, 8, scale=0.01),), (u8(96, 4),)], domain=MS, K=1024,
               N=96, bits=4, block_size=128, atol=1e-4)
    yield Case("MatMulNBits_one", "MatMulNBits", [f32(1, 1024), (u8(96, 32, 16),), (f32(96, 32, scale=0.01),)], domain=MS, K=1024, N=96, bits=4,
               block_size=32, atol=1e-4)


def stays_packed(folder):
    """True if a product of 4-bit weights runs in less memory than its weights would take as f32: 1 MiB, not 4."""
    case = Case("MatMulNBits_memory", "MatMulNBits", [f32(1, 1024), (u8(1024, 32, 16),), (f32(1024, 32),)], domain=MS, K=1024, N=1024, bits=4,
                block_size=32)
    case.write(folder)
    model = os.path.join(folder, case.name, "model.onnx")
    run = subprocess.run([INGOT, "onnx", "bench", "--memory-limit", "3MiB", "--runs", "1", "--quiet", model], capture_output=True, text=True)
    if run.returncode:
        print(f"failed: {case.name}: {run.stderr}")
    return run.returncode == 0


GROUPS = [fusions, norms, experts, recurrences, attention, group_query, quantized, recurrent, vision, ensembles, linear_models, features, packed]


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[1] if len(sys.argv) > 1 else temporary
        refused = []
        for group in GROUPS:
            for case in group():
                try:
                    case.write(folder)
                except Exception as reason:  # ONNX Runtime refuses the model
                    refused.append(f"{case.name}: {str(reason).splitlines()[0][:200]}")
        write_gradient(folder)
        for line in refused:
            print(f"not checked: {line}")
        if len(sys.argv) > 1:
            return 0
        run = subprocess.run([INGOT, "onnx", "test", folder, "--again", "--quiet"], capture_output=True, text=True)
        counts = re.search(r"(\d+) passed, (\d+) failed", run.stdout)
        print(run.stdout, run.stderr)
        if counts and stays_packed(temporary):
            return run.returncode
        print("0 passed, 1 failed")
        return 1


if __name__ == "__main__":
    sys.exit(main())
