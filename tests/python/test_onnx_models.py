"""ingot.onnx against ONNX Runtime: inputs, outputs, runs, gradients, weights, files."""
import os
import tempfile

from against import attempt, check, finish, ig, np, raises, rng, same, skip

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    skip("all", "the Python package onnx is not there")
    finish()
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

PLACE = tempfile.TemporaryDirectory(prefix="ingot-onnx-")
LIMIT = 1e-5


def save(name, nodes, inputs, outputs, weights=(), opset=17):
    """Writes a model; inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs],
                              [numpy_helper.from_array(v, k) for k, v in dict(weights).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    path = os.path.join(PLACE.name, name + ".onnx")
    onnx.save(model, path)
    return path


def peer(path, inputs):
    if onnxruntime is None:
        skip("onnxruntime", "the Python package is not there")
        return None
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)


def weights():
    return {"w1": rng.normal(size=(5, 7)).astype("f"), "b1": rng.normal(size=7).astype("f"),
            "w2": rng.normal(size=(7, 3)).astype("f"), "b2": rng.normal(size=3).astype("f")}


def classifier(name, tensors):
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["z"]), helper.make_node("Softmax", ["z"], ["p"], axis=-1)]
    return save(name, nodes, [("x", TensorProto.FLOAT, ["batch", 5])],
                [("p", TensorProto.FLOAT, ["batch", 3]), ("z", TensorProto.FLOAT, ["batch", 3])], tensors)


def test_runs():
    path = classifier("runs", weights())
    m = ig.onnx.load(path)
    i, o = m.inputs[0], m.outputs[0]
    check("inputs", (i.name, i.kind, i.type, i.dtype, i.shape) == ("x", "tensor", "float", ig.float32, ("batch", 5)), i)
    check("outputs", [o.name for o in m.outputs] == ["p", "z"] and o.shape == ("batch", 3), m.outputs)
    check("opsets", m.opsets == {"ai.onnx": 17}, m.opsets)
    check("repr", "x: float" in repr(m) and "p, z" in repr(m), repr(m))
    for n in (1, 4, 33):
        x = rng.normal(size=(n, 5)).astype("f")
        p, z = m(x)
        by_name = m.run({"x": ig.asarray(x)})
        same(f"{n} rows by name", by_name["p"], np.asarray(p))
        same(f"{n} rows by keyword", m(x=x)[1], np.asarray(z))
        check(f"{n} rows are evaluated", p.is_evaluated and z.is_evaluated)
        for name, got, want in zip("pz", (p, z), peer(path, {"x": x}) or ()):
            same(f"{name} of {n} rows", got, want, LIMIT)
    lists = m([[1, 2, 3, 4, 5]])[1]
    same("numbers of lists", lists, np.asarray(m(np.array([[1, 2, 3, 4, 5]], "f"))[1]))
    check("explain", "contract" in m.explain(x) or "matmul" in m.explain(x) or len(m.explain(x)) > 40)
    with open(path, "rb") as file:
        same("from bytes", ig.onnx.load(file.read())(x)[1], np.asarray(m(x)[1]))


def test_names():
    """Names that are not identifiers, and those of a method's own arguments."""
    names = ["input:0", "a=b c", "self", "args"]
    path = save("names", [helper.make_node("Concat", names, ["out:0"], axis=0)], [(n, TensorProto.FLOAT, [1]) for n in names],
                [("out:0", TensorProto.FLOAT, [4])])
    m = ig.onnx.load(path)
    feeds = {name: np.array([i], "f") for i, name in enumerate(names)}
    want = np.arange(4, dtype="f")
    for name, got in (("run", m.run(feeds)["out:0"]), ("a dict", m(feeds)), ("keywords", m(**feeds)), ("apply", m.apply(feeds))):
        same(f"names of any text by {name}", got, want)
    check("explain of a dict", len(m.explain(feeds)) > 20)


def test_errors():
    m = ig.onnx.load(classifier("errors", weights()))
    raises("an unknown name", TypeError, lambda: m(y=1))
    raises("too many inputs", TypeError, lambda: m(1, 2))
    raises("an input given twice", TypeError, lambda: m(1, x=2))
    raises("a missing input", ValueError, m)
    raises("another shape", ValueError, lambda: m(np.ones((2, 6), "f")))
    raises("another dtype", (TypeError, ValueError), lambda: m(np.ones((2, 5), "i8")))
    raises("a missing file", OSError, lambda: ig.onnx.load(os.path.join(PLACE.name, "none.onnx")))
    raises("not a model", ValueError, lambda: ig.onnx.load(b"\x0a\xff\xff"))
    raises("a weight of another shape", ValueError, lambda: m.weights.__setitem__("w1", np.ones((2, 2), "f")))
    raises("an unknown weight", KeyError, lambda: m.weights["w9"])
    raises("an object that is no array", TypeError, lambda: m(object()))


def test_gradients():
    tensors = weights()
    m = ig.onnx.load(classifier("gradients", tensors))
    x = rng.normal(size=(6, 5)).astype("f")

    def plain(w, x):
        return ((ig.maximum(x @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]) ** 2).sum()

    mine = {name: ig.asarray(value) for name, value in tensors.items()}
    want = ig.grad(plain, argnums=(0, 1))(mine, ig.asarray(x))
    got = ig.grad(lambda w, x: (m.apply(x, weights=w)[1] ** 2).sum(), argnums=(0, 1))(dict(m.weights), ig.asarray(x))
    same("of an input", got[1], np.asarray(want[1]), 1e-4)
    for name in tensors:
        same(f"of the weight {name}", got[0][name], np.asarray(want[0][name]), 1e-4)
        same(f"{name} is the same afterwards", m.weights[name], tensors[name])
    check("apply is lazy", not m.apply(x)[0].is_evaluated)
    same("apply", m.apply(x)[0], np.asarray(m(x)[0]), LIMIT)
    same("logits", m.logits(x), np.asarray(m(x)[1]), LIMIT)
    rows = ig.vmap(lambda row: m.apply(row[None])[1][0])(ig.asarray(x))
    same("vmap", rows, np.asarray(m(x)[1]), LIMIT)


def test_weights():
    tensors = weights()
    path = classifier("weights", tensors)
    m = ig.onnx.load(path)
    check("names", list(m.weights) == list(tensors) and len(m.weights) == 4, list(m.weights))
    check("parameters", set(m.parameters()) == set(tensors) and set(m.parameters(1)) == {"w2", "b2"}, m.parameters(1))
    before = np.asarray(m(np.ones((1, 5), "f"))[1]).copy()
    m.weights["b2"] = m.weights["b2"] + 1
    same("a replaced weight", m(np.ones((1, 5), "f"))[1], before + 1, LIMIT)
    m.weights["b2"] = [3, 2, 1]
    x = rng.normal(size=(9, 5)).astype("f")
    saved = os.path.join(PLACE.name, "saved.onnx")
    m.save(saved)
    onnx.checker.check_model(onnx.load(saved))
    same("a saved model", ig.onnx.load(saved)(x)[0], np.asarray(m(x)[0]))
    for got, want in zip(m(x), peer(saved, {"x": x}) or ()):
        same("a saved model in ONNX Runtime", got, want, LIMIT)
    m.set_classes(4)
    check("other classes", m(x)[1].shape == (9, 4), m(x)[1].shape)


def test_training():
    """A few steps of fine-tuning lower the loss, and only the given weights change."""
    tensors = weights()
    m = ig.onnx.load(classifier("training", tensors))
    x = ig.asarray(rng.normal(size=(64, 5)).astype("f"))
    y = (x[:, 0] > 0).astype("int64")
    step = ig.value_and_grad(lambda w: ig.nn.cross_entropy(m.logits(x, weights=w), y))
    losses = []
    for _ in range(20):
        loss, grads = step(m.parameters(1))
        losses.append(float(loss))
        for name, g in grads.items():
            m.weights[name] = (m.weights[name] - 0.5 * g).eval()
    check("the loss", losses[-1] < 0.7 * losses[0], losses)
    same("the first layer", m.weights["w1"], tensors["w1"])


def test_values():
    """Strings, sequences and inputs that are not given."""
    path = save("texts", [helper.make_node("Identity", ["s"], ["t"])], [("s", TensorProto.STRING, ["n", 2])],
                [("t", TensorProto.STRING, ["n", 2])])
    m = ig.onnx.load(path)
    words = [["a", "b\u00e9"], ["", "d"]]
    check("strings of lists", m(words) == words, m(words))
    check("strings of NumPy", m(np.array(words)) == words and m(np.array(words, object)) == words)
    check("a dtype of strings", m.inputs[0].dtype is None and m.inputs[0].kind == "texts", m.inputs)
    graph = helper.make_graph(
        [helper.make_node("SplitToSequence", ["x"], ["y"], axis=0)], "split",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2])],
        [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [1, 2])])
    m = ig.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    x = rng.normal(size=(3, 2)).astype("f")
    got = m(x)
    check("a sequence", isinstance(got, list) and len(got) == 3 and m.outputs[0].kind == "sequence", got)
    for i, part in enumerate(got):
        same(f"item {i} of a sequence", part, x[i:i + 1])


def test_threads():
    from concurrent.futures import ThreadPoolExecutor
    m = ig.onnx.load(classifier("threads", weights()))
    inputs = [rng.normal(size=(n % 3 + 1, 5)).astype("f") for n in range(40)]
    want = [np.asarray(m(x)[0]) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda x: m(x)[0], inputs))
    check("several threads", all(np.array_equal(np.asarray(a), b) for a, b in zip(got, want)))


def test_leaks():
    m = ig.onnx.load(classifier("leaks", weights()))
    x = ig.ones((2, 5)).eval()
    m(x), m.apply(x)
    before = ig.memory()["used"]
    for _ in range(300):
        m(x), m.apply(x, weights={"w1": m.weights["w1"]})
    check("memory after many calls", ig.memory()["used"] <= before + 4096, (before, ig.memory()["used"]))


for test in (test_runs, test_names, test_errors, test_gradients, test_weights, test_training, test_values, test_threads, test_leaks):
    attempt(test.__name__, test)
finish()
