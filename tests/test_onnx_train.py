"""ingot train --model FILE.onnx fine-tunes classifiers: accuracy rises, frozen weights keep their bits, a resumed run has the
losses of a whole one, and the written model gives the same in ONNX Runtime, if it is installed, and in ingot predict.

Also models with external data, which 'ingot onnx export' writes and joins. INGOT names the command. Skipped if the package onnx
is absent. Ends with "N passed, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as reason:
    print(f"skipped: {reason}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

INGOT = os.environ.get("INGOT", "build/ingot")
BOUND = 1e-5  # sums have another order in onnxruntime
random = np.random.default_rng(1)


def ingot(*words, code=0):
    done = subprocess.run([INGOT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr}"
    return done.stdout if code == 0 else done.stderr


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def save(path, nodes, weights, classes, sample=(1, 8, 8), batch="n", opset=17, inputs_too=False, dtype=TensorProto.FLOAT):
    tensors = [numpy_helper.from_array(np.asarray(x, helper.tensor_dtype_to_np_dtype(dtype)), name)
               for name, x in weights.items()]
    inputs = [helper.make_tensor_value_info("x", dtype, [batch, *sample])]
    if inputs_too:  # as models of IR 3 have it
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors]
    graph = helper.make_graph(nodes, "net", inputs, [helper.make_tensor_value_info("y", dtype, [batch, classes])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3 if inputs_too else 8)
    model.metadata_props.add(key="author", value="a test")
    onnx.checker.check_model(model)
    onnx.save(model, path)


def cnn(path, classes=4, softmax=True, batch="n", **more):
    """Convolution, batch norm, and two linear layers: three layers."""
    weights = {"conv.w": random.normal(size=(6, 1, 3, 3)) / 3, "conv.b": random.normal(size=6) / 10,
               "norm.scale": 1 + random.normal(size=6) / 10, "norm.b": random.normal(size=6) / 10,
               "norm.mean": random.normal(size=6) / 10, "norm.var": 1 + random.random(6) / 10,
               "hidden.w": random.normal(size=(16, 96)) / 10, "hidden.b": np.zeros(16),
               "out.w": random.normal(size=(classes, 16)) / 10, "out.b": np.zeros(classes)}
    nodes = [node("Conv", "x conv.w conv.b", "a", pads=[1, 1, 1, 1]),
             node("BatchNormalization", "a norm.scale norm.b norm.mean norm.var", "b"), node("Relu", "b", "c"),
             node("MaxPool", "c", "d", kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", "d", "e"),
             node("Gemm", "e hidden.w hidden.b", "f", transB=1), node("Relu", "f", "g"),
             node("Gemm", "g out.w out.b", "logits" if softmax else "y", transB=1)]
    if softmax:
        nodes.append(node("Softmax", "logits", "y", axis=-1))
    save(path, nodes, weights, classes, batch=batch, **more)


def fully_convolutional(path, classes=4):
    """As SqueezeNet ends: a convolution gives the classes, and a pool their scores."""
    weights = {"a.w": random.normal(size=(8, 1, 3, 3)) / 3, "a.b": np.zeros(8), "b.w": random.normal(size=(classes, 8, 1, 1)) / 3,
               "b.b": np.zeros(classes)}
    save(path, [node("Conv", "x a.w a.b", "a"), node("Relu", "a", "b"), node("Conv", "b b.w b.b", "c"),
                node("GlobalAveragePool", "c", "d"), node("Flatten", "d", "e"), node("Softmax", "e", "y")], weights, classes)


def with_matmul(path, classes=4):
    """MatMul and Add instead of Gemm, a constant 0.5, and a branch that the classes do not depend on."""
    weights = {"half": np.float32(0.5), "w1": random.normal(size=(64, 24)) / 8, "b1": np.zeros(24),
               "w2": random.normal(size=(24, classes)) / 5, "b2": np.zeros(classes), "aside": random.normal(size=(64, 3))}
    save(path, [node("Mul", "x half", "h"), node("MatMul", "h w1", "a"), node("Add", "a b1", "b"), node("Tanh", "b", "c"),
                node("MatMul", "h aside", "unused"), node("MatMul", "c w2", "d"), node("Add", "b2 d", "y")], weights, classes, (64,))


def data(path, classes=4, shape=(8, 8), count=600):
    """Classes are patterns with noise."""
    patterns = random.normal(size=(classes, *shape))
    y = np.arange(count) % classes
    x = (patterns[y] + 0.7 * random.normal(size=(count, *shape))).astype(np.float32)
    np.savez(path, x=x, y=y)
    return x, y


def weights(path):
    model = onnx.load(path)
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def changed(before, after):
    a, b = weights(before), weights(after)
    assert a.keys() == b.keys()
    return {name for name in a if a[name].tobytes() != b[name].tobytes()}


def predicted(folder, model, x):
    np.save(f"{folder}/p.npy", x)
    ingot("predict", model, f"{folder}/p.npy", "-o", f"{folder}/p-out.npy")
    return np.load(f"{folder}/p-out.npy")


def softmax(y):
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def check_written(folder, model, x, batch=None):
    """The file is a model of ONNX, with the same results elsewhere."""
    onnx.checker.check_model(onnx.load(model), full_check=True)
    got = predicted(folder, model, x)
    if onnxruntime:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        x = x[:batch] if batch else x
        want = session.run(None, {"x": x})[0]
        want = want if np.allclose(want.sum(axis=1), 1) else softmax(want)
        assert np.abs(got[:len(want)] - want).max() < BOUND
    return got


def check_layers(folder):
    """Each number of layers changes exactly its weights; accuracy rises; nothing else of the file changes."""
    cnn(f"{folder}/net.onnx")
    x, y = data(f"{folder}/data.npz")
    last = {"out.w", "out.b"}
    hidden = last | {"hidden.w", "hidden.b"}
    every = hidden | {"conv.w", "conv.b", "norm.scale", "norm.b"}
    x = x[:, None]
    before = (predicted(folder, f"{folder}/net.onnx", x).argmax(axis=1) == y).mean()
    scores = []
    for words, trained in (((), last), (("--layers", "2"), hidden), (("--layers", "all"), every), (("--layers", "9"), every)):
        result = json.loads(ingot("train", f"{folder}/data.npz", "--model", f"{folder}/net.onnx", "--epochs", "10", "--json", "--lr", "0.01",
                                  "--quiet", *words, "-o", f"{folder}/tuned.onnx"))
        assert changed(f"{folder}/net.onnx", f"{folder}/tuned.onnx") == trained, words
        assert result["accuracy"][-1] > result["accuracy"][0]
        assert result["options"]["tuned"] == {2: 1, 4: 2, 8: 3}[len(trained)]
        after = (check_written(folder, f"{folder}/tuned.onnx", x).argmax(axis=1) == y).mean()
        assert after > before + 0.2, (words, before, after)
        scores.append(after)
    assert scores[2] > 0.9
    old, new = onnx.load(f"{folder}/net.onnx"), onnx.load(f"{folder}/tuned.onnx")
    del old.graph.initializer[:], new.graph.initializer[:]
    assert old.SerializeToString() == new.SerializeToString()


def check_forms(folder):
    """Other last layers, logits as output, a fixed number of samples, weights that are inputs, f64 and an old opset."""
    for name, make, shape in (("convolution", fully_convolutional, (1, 8, 8)), ("MatMul", with_matmul, (64,)),
                              ("logits", lambda p: cnn(p, softmax=False), (1, 8, 8)),
                              ("batch of 5", lambda p: cnn(p, batch=5), (1, 8, 8)),
                              ("IR 3", lambda p: cnn(p, inputs_too=True, opset=9, softmax=False), (1, 8, 8))):
        for classes in (4, 3):
            make(f"{folder}/net.onnx")
            x, y = data(f"{folder}/data.npz", classes)
            x = x.reshape(-1, *shape)
            said = ingot("train", f"{folder}/data.npz", "--model", f"{folder}/net.onnx", "--epochs", "20", "--layers", "all",
                         "--lr", "0.01", "-o", f"{folder}/tuned.onnx")
            got = check_written(folder, f"{folder}/tuned.onnx", x, 5 if name == "batch of 5" else None)
            assert got.shape == (len(x), classes), name
            assert (got.argmax(axis=1) == y).mean() > 0.8, (name, classes, said)
            info = json.loads(ingot("onnx", "info", "--json", f"{folder}/tuned.onnx"))
            assert str(info["outputs"][0]).find(str(classes)) > 0, info["outputs"]
    assert "aside" not in changed_by_matmul(folder) and "half" not in changed_by_matmul(folder)


def changed_by_matmul(folder):
    with_matmul(f"{folder}/net.onnx")
    data(f"{folder}/data.npz")
    ingot("train", f"{folder}/data.npz", "--model", f"{folder}/net.onnx", "--epochs", "1", "--layers", "all", "-o",
          f"{folder}/tuned.onnx")
    return changed(f"{folder}/net.onnx", f"{folder}/tuned.onnx")


def check_classes(folder):
    """A data set with other classes replaces the last layer, and says so."""
    cnn(f"{folder}/net.onnx", classes=7)
    data(f"{folder}/data.npz", 3)
    done = subprocess.run([INGOT, "train", f"{folder}/data.npz", "--model", f"{folder}/net.onnx", "--epochs", "1", "-o",
                           f"{folder}/tuned.onnx"], capture_output=True, text=True, check=True)
    assert "it gives 7 classes and the data has 3; the last layer is replaced" in done.stderr, done.stderr
    after = weights(f"{folder}/tuned.onnx")
    assert after["out.w"].shape == (3, 16) and after["out.b"].shape == (3,)
    before = weights(f"{folder}/net.onnx")
    assert all(before[name].tobytes() == after[name].tobytes() for name in before if not name.startswith("out"))


def check_resume(folder):
    """A resumed run has the bits of a whole one, in its losses and in its model; also with 1 and 2 threads."""
    cnn(f"{folder}/net.onnx")
    data(f"{folder}/data.npz", 5)
    words = ["train", f"{folder}/data.npz", "--layers", "2", "--json", "--quiet", "--model", f"{folder}/net.onnx"]
    whole = json.loads(ingot(*words, "--epochs", "4", "--threads", "1", "-o", f"{folder}/whole.onnx"))
    ingot(*words, "--epochs", "2", "--threads", "2", "--save", f"{folder}/c.safetensors")
    resumed = json.loads(ingot("train", f"{folder}/data.npz", "--json", "--quiet", "--resume", f"{folder}/c.safetensors",
                               "--epochs", "4", "-o", f"{folder}/resumed.onnx"))
    for key in ("loss", "accuracy", "test_accuracy"):
        assert whole[key] == resumed[key], key
    with open(f"{folder}/whole.onnx", "rb") as a, open(f"{folder}/resumed.onnx", "rb") as b:
        assert a.read() == b.read()
    for wrong, text in ((["--layers", "1"], "--layers"), (["--model", "mlp"], "--model")):
        said = ingot("train", f"{folder}/data.npz", "--resume", f"{folder}/c.safetensors", *wrong, code=5)
        assert text in said, said
    cnn(f"{folder}/net.onnx")
    said = ingot("train", f"{folder}/data.npz", "--resume", f"{folder}/c.safetensors", code=5)
    assert "made from another model" in said, said
    assert "'ingot train -o'" in ingot("predict", f"{folder}/c.safetensors", f"{folder}/data.npz", code=5)


def check_images(folder):
    """A folder of images for each class."""
    cnn(f"{folder}/net.onnx", classes=2)
    for name, bright in (("dark", 60), ("light", 190)):
        os.makedirs(f"{folder}/photos/{name}")
        for i in range(12):
            pixels = np.clip(random.normal(bright, 20, (10, 12)), 0, 255).astype(np.uint8)
            with open(f"{folder}/photos/{name}/{i}.pgm", "wb") as file:
                file.write(b"P5 12 10 255\n" + pixels.tobytes())
    result = json.loads(ingot("train", f"{folder}/photos", "--model", f"{folder}/net.onnx", "--layers", "all", "--epochs", "60",
                              "--lr", "0.01", "--json", "--quiet", "-o", f"{folder}/tuned.onnx"))
    assert result["test_accuracy"] == 1, result
    said = ingot("predict", f"{folder}/tuned.onnx", f"{folder}/photos/dark/3.pgm", f"{folder}/photos/light/3.pgm")
    assert [line.split()[0] for line in said.splitlines()] == ["0", "1"], said
    os.makedirs(f"{folder}/photos/none")
    said = ingot("train", f"{folder}/photos", "--model", f"{folder}/net.onnx", code=5)
    assert "none: it has no images" in said, said


def check_errors(folder):
    x, _ = data(f"{folder}/data.npz")
    net, file = f"{folder}/net.onnx", f"{folder}/data.npz"

    def fails(text, *words, code=5):
        said = ingot("train", file, "--model", net, "--epochs", "1", *words, code=code)
        assert text in said, (text, said)

    save(net, [node("Relu", "x", "a"), node("Flatten", "a", "y")], {}, 64)
    fails("there is nothing to train: it has no layers with weights of floats")
    cnn(net)
    fails("only classifiers can be fine-tuned", "--loss", "mse", code=2)
    fails("the number of last layers to train, or 'all'", "--layers", "16,relu,4", code=2)
    save(net, [node("Conv", "x w", "y", pads=[1, 1, 1, 1])], {"w": random.normal(size=(2, 1, 3, 3))}, 2)
    model = onnx.load(net)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, net)
    fails("a classifier gives (n, classes)")
    save(net, [node("Flatten", "x", "f"), node("Gemm", "f w", "a"), node("Sigmoid", "a", "y")], {"w": random.normal(size=(64, 4))}, 4)
    fails("comes from a Sigmoid")
    cnn(net)
    np.savez(file, x=x.reshape(-1, 4, 16), y=np.arange(len(x)) % 4)
    fails("the samples are 4 x 16, but")
    said = ingot("train", "digits", "-o", f"{folder}/y.onnx", code=2)
    assert "'ingot onnx export'" in said, said
    model = onnx.load(net)
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1]))
    onnx.save(model, net)
    fails("it has 2 inputs")
    # A last layer whose classes other weights scale.
    save(net, [node("Flatten", "x", "f"), node("Gemm", "f w", "a"), node("Mul", "a s", "y")],
         {"w": random.normal(size=(64, 4)), "s": np.ones((1, 4))}, 4)
    data(file, 3)
    ingot("train", file, "--model", net, "--epochs", "1")


def check_external(folder):
    """Large tensors in a file beside the model, and joined again."""
    cnn(f"{folder}/net.onnx")
    os.makedirs(f"{folder}/two")
    ingot("onnx", "export", f"{folder}/net.onnx", "--external", "-o", f"{folder}/two/net.onnx")
    beside = f"{folder}/two/net.onnx.data"
    assert os.path.getsize(beside) >= 16 * 96 * 4
    model = onnx.load(f"{folder}/two/net.onnx", load_external_data=False)
    outside = [t.name for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL]
    assert outside == ["hidden.w"], outside
    assert not changed(f"{folder}/net.onnx", f"{folder}/two/net.onnx")
    x = random.normal(size=(3, 1, 8, 8)).astype(np.float32)
    one, two = (check_written(folder, f"{folder}/{name}", x) for name in ("net.onnx", "two/net.onnx"))
    assert one.tobytes() == two.tobytes()
    ingot("onnx", "export", f"{folder}/two/net.onnx", "-o", f"{folder}/joined.onnx")
    assert not os.path.exists(f"{folder}/joined.onnx.data")
    assert not changed(f"{folder}/net.onnx", f"{folder}/joined.onnx")
    data(f"{folder}/data.npz")
    ingot("train", f"{folder}/data.npz", "--model", f"{folder}/two/net.onnx", "--epochs", "1", "-o", f"{folder}/tuned.onnx")
    assert changed(f"{folder}/net.onnx", f"{folder}/tuned.onnx") == {"out.w", "out.b"}
    ingot("train", "digits", "--epochs", "1", "--save", f"{folder}/c.safetensors")
    ingot("onnx", "export", f"{folder}/c.safetensors", "--external", "-o", f"{folder}/digits.onnx")
    ingot("onnx", "export", f"{folder}/c.safetensors", "-o", f"{folder}/digits-one.onnx")
    assert os.path.getsize(f"{folder}/digits.onnx.data") >= 64 * 128 * 4
    assert not changed(f"{folder}/digits-one.onnx", f"{folder}/digits.onnx")
    with open(beside, "r+b") as file:
        file.truncate(100)
    assert "external data" in ingot("onnx", "info", f"{folder}/two/net.onnx", code=5)


CHECKS = [check_layers, check_forms, check_classes, check_resume, check_images, check_errors, check_external]


def main():
    passed = failed = 0
    for check in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder)
                passed += 1
            except (AssertionError, subprocess.CalledProcessError, KeyError, ValueError) as error:
                failed += 1
                print(f"{check.__name__}: {error!r}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
