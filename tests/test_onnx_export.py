"""Networks of ingot train and text models as ONNX models: ingot onnx run, and onnxruntime if it is installed, give what
ingot predict, ingot embed and ingot classify give.

INGOT names the command. Ends with "N passed, N failed".
"""
import array
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import tiny_model

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

INGOT = os.environ.get("INGOT", "build/ingot")
BOUND = 1e-5  # sums have another order in onnxruntime
random = np.random.default_rng(0)


def ingot(*words):
    done = subprocess.run([INGOT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: exit code {done.returncode}: {done.stderr}"
    return done.stdout


def images(*shape):
    return random.integers(0, 255, shape).astype(np.uint8), random.integers(0, 3, shape[0])


def rows():
    return random.normal(size=(120, 12)), random.integers(0, 3, 120)


def targets():
    x, _ = rows()
    return x, x[:, :2] @ random.normal(size=(2, 2))


EVERY_LAYER = "16,relu,layer_norm,8,gelu,batch_norm,silu,dropout:0.1,elu,8,leaky_relu,tanh,sigmoid,softplus,3"
NETWORKS = {
    "mlp": (rows(), "--model", "mlp"),
    "layers": (rows(), "--layers", EVERY_LAYER),
    "mse": (targets(), "--layers", "8,gelu,2", "--loss", "mse"),
    "cnn of gray images": (images(60, 8, 9), "--model", "cnn"),
    "cnn with channels last": (images(60, 8, 9, 3), "--model", "cnn"),
    "cnn with channels first": (images(60, 3, 8, 9), "--model", "cnn"),
}


# Text models: keys of config.json, and names of tensors. {l} is the prefix of a layer.
BERT_LAYER = {"attention.self.query": "square", "attention.self.key": "square", "attention.self.value": "square",
              "attention.output.dense": "square", "attention.output.LayerNorm": "norm", "intermediate.dense": "up",
              "output.dense": "down", "output.LayerNorm": "norm"}
MPNET_LAYER = {name.replace("self.query", "attn.q").replace("self.key", "attn.k").replace("self.value", "attn.v")
               .replace("attention.output.dense", "attention.attn.o").replace("attention.output.", "attention."): kind
               for name, kind in BERT_LAYER.items()}
WIDTH, INNER, PLACES, HEADS, NARROW = 16, 32, 40, 4, 8
ARCHITECTURES = {"bert": (BERT_LAYER, "BertModel", WIDTH, 2), "roberta": (BERT_LAYER, "RobertaModel", WIDTH, 1),
                 "mpnet": (MPNET_LAYER, "MPNetModel", WIDTH, 0), "electra": (BERT_LAYER, "ElectraModel", NARROW, 2)}


def encoder(folder, kind):
    """A folder of a tiny encoder with random weights: that of tiny_model with other tensors."""
    layer, name, embedding, types = ARCHITECTURES[kind]
    made = {}

    def put(name, *shape, mean=0.0):
        made[name] = shape, array.array("f", (random.normal(size=shape).ravel() * 0.3 + mean).tolist())

    def linear(name, n, m):
        put(name + ".weight", m, n)
        put(name + ".bias", m)

    def norm(name, width):
        put(name + ".weight", width, mean=1)
        put(name + ".bias", width)

    put("embeddings.word_embeddings.weight", len(tiny_model.WORDS), embedding)
    put("embeddings.position_embeddings.weight", PLACES, embedding)
    if types:
        put("embeddings.token_type_embeddings.weight", types, embedding)
    norm("embeddings.LayerNorm", embedding)
    if embedding != WIDTH:
        linear("embeddings_project", embedding, WIDTH)
    if kind == "mpnet":
        put("encoder.relative_attention_bias.weight", 32, HEADS)
    sizes = {"square": (WIDTH, WIDTH), "up": (WIDTH, INNER), "down": (INNER, WIDTH)}
    for i in range(2):
        for part, what in layer.items():
            full = f"encoder.layer.{i}.{part}"
            if what == "norm":
                norm(full, WIDTH)
            else:
                linear(full, *sizes[what])

    def change(tensors):
        tensors.clear()
        tensors.update(made)

    config = {"model_type": kind, "architectures": [name], "hidden_size": WIDTH, "num_hidden_layers": 2,
              "num_attention_heads": HEADS, "intermediate_size": INNER, "hidden_act": "gelu_new" if types else "gelu",
              "embedding_size": embedding, "max_position_embeddings": PLACES, "type_vocab_size": max(types, 1),
              "layer_norm_eps": 1e-6, "pad_token_id": 1, "relative_attention_num_buckets": 32}
    return tiny_model.make(folder, change=change, **config)


TEXTS = ["the cats was very good !", "a dog", "who is not bad ?"]
TOKENS = [[2, 10, 5, 6, 19, 15, 8, 17, 3], [2, 12, 7, 3], [2, 13, 11, 16, 9, 14, 3]]


def feed(path):
    """The texts as inputs of the model at path."""
    longest = max(map(len, TOKENS))
    ids, mask = (np.zeros((len(TOKENS), longest), np.int64) for _ in range(2))
    for row, tokens in enumerate(TOKENS):
        ids[row, :len(tokens)] = tokens
        mask[row, :len(tokens)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    info = json.loads(ingot("onnx", "info", "--json", path))
    return {each["name"]: inputs[each["name"]] for each in info["inputs"]}


def outputs(folder, path):
    """All outputs by ingot onnx run, after a comparison with onnxruntime."""
    words, inputs = [], feed(path)
    for name, x in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), x)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    ingot("onnx", "run", path, *words, "-o", os.path.join(folder, "all.npz"))
    got = dict(np.load(os.path.join(folder, "all.npz")))
    if onnxruntime:
        session = onnxruntime.InferenceSession(path)
        for info, other in zip(session.get_outputs(), session.run(None, inputs)):
            assert other.shape == got[info.name].shape
            assert np.abs(other - got[info.name]).max() < BOUND, f"onnxruntime differs in {info.name}"
    return got


def check_encoder(folder, kind):
    model, path = os.path.join(folder, "model"), os.path.join(folder, "model.onnx")
    if kind == "distilbert":
        tiny_model.make(model)
    else:
        encoder(model, kind)
    ingot("onnx", "export", model, "-o", path)
    ingot("embed", "--model", model, "--quiet", "-o", os.path.join(folder, "y.npy"), *TEXTS)
    expected, got = np.load(os.path.join(folder, "y.npy")), outputs(folder, path)["sentence_embedding"]
    assert expected.shape == got.shape
    assert np.abs(expected - got).max() < BOUND, "ingot embed differs"


def check_head(folder, head):
    model, path = os.path.join(folder, "model"), os.path.join(folder, "model.onnx")
    tiny_model.make(model, head, labels=("no", "yes", "maybe"))
    ingot("onnx", "export", model, "-o", path)
    got = outputs(folder, path)
    assert set(got) == ({"start_logits", "end_logits"} if head == "answer" else {"logits"})
    if head == "classify":
        ingot("classify", "--model", model, "--quiet", "-o", os.path.join(folder, "y.npy"), *TEXTS)
        expected = np.load(os.path.join(folder, "y.npy"))
        odds = np.exp(got["logits"])
        assert np.abs(expected - odds / odds.sum(axis=1, keepdims=True)).max() < BOUND, "ingot classify differs"


def check(folder, data, *options):
    path = {name: os.path.join(folder, name)
            for name in ("data.npz", "x.npy", "y.npy", "z.npy", "net.safetensors", "net.onnx")}
    x, y = data
    np.savez(path["data.npz"], x=x, y=y)
    samples = x[:7].astype(np.float32)
    np.save(path["x.npy"], samples)
    ingot("train", path["data.npz"], "--epochs", "2", "--quiet", "--save", path["net.safetensors"], *options)
    ingot("onnx", "export", path["net.safetensors"], "-o", path["net.onnx"])
    ingot("predict", path["net.safetensors"], path["x.npy"], "-o", path["y.npy"])
    ingot("onnx", "run", path["net.onnx"], "--input", "x=" + path["x.npy"], "-o", path["z.npy"])
    expected, got = np.load(path["y.npy"]), np.load(path["z.npy"])
    assert expected.shape == got.shape
    assert np.abs(expected - got).max() < BOUND, "ingot onnx run differs"
    if onnxruntime:
        other = onnxruntime.InferenceSession(path["net.onnx"]).run(None, {"x": samples})[0]
        assert np.abs(expected - other).max() < BOUND, "onnxruntime differs"


def main():
    failed = 0
    tests = [(name, check, row) for name, row in NETWORKS.items()]
    tests += [(kind, check_encoder, (kind,)) for kind in ("distilbert", *ARCHITECTURES)]
    tests += [(head, check_head, (head,)) for head in ("classify", "tag", "fill", "answer")]
    for name, test, row in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder, *row)
            except AssertionError as error:
                failed += 1
                print(f"{name}: {error}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
