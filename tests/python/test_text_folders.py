"""ingot.text against the command, with tiny random models: tokenizers, embed, classify, fill, answer, export."""
import json
import os
import subprocess
import tempfile

from against import ROOT, attempt, check, finish, ig, np, raises, same, skip
from support import tiny_model

INGOT = os.environ.get("INGOT", os.path.join(ROOT, os.environ.get("BUILD", "build"), "ingot"))
PLACE = tempfile.TemporaryDirectory(prefix="ingot-text-")
FOLDERS = {head: tiny_model.make(os.path.join(PLACE.name, head), head) for head in tiny_model.HEADS}
TEXTS = ["cats", "the dog is good", "a film was very bad!", "who is the cat?", "dog", ""]
LIMIT = 1e-5


def command(*words):
    """The objects that a command prints as JSON."""
    done = subprocess.run([INGOT, *words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def close(a, b):
    return abs(a - b) < LIMIT


def test_tokenizer():
    t = ig.text.Tokenizer(FOLDERS["embed"])
    want = command("tokens", "--model", FOLDERS["embed"], *TEXTS[:5])
    for text, got, row in zip(TEXTS, t(TEXTS[:5]), want):
        check(f"tokens of '{text}'", (got.ids, got.tokens, [list(o) for o in got.offsets]) ==
              (row["ids"], row["tokens"], row["offsets"]), (got, row))
    one = t("Caf\u00e9 cats", special=False)
    check("offsets count characters", one.offsets[-2:] == [(5, 8), (8, 9)], one)
    pair = t("cats", "\u00e9 dog")
    check("a pair", pair.sequences == [-1, 0, 0, -1, 1, 1, -1] and pair.offsets[5] == (2, 5), pair)
    check("max_length", len(t("cats dog", max_length=3).ids) == 3)
    padded = t("dog", pad=6)
    check("padding", len(padded.ids) == 6 and padded.mask == [1, 1, 1, 0, 0, 0], padded)
    check("ids of tokens", t.id("cat") == 5 and t.token(5) == "cat" and t.id("none") is None and t.token(99) is None)
    check("special tokens", t.special("mask") == 4 and t.special("pad") == 0 and len(t) == len(tiny_model.WORDS))
    raises("a number", TypeError, lambda: t([1]))
    raises("pairs of another length", ValueError, lambda: t(["a", "b"], ["c"]))
    raises("a missing file", OSError, lambda: ig.text.Tokenizer(os.path.join(PLACE.name, "none.json")))


def test_embed():
    m = ig.text.load(FOLDERS["embed"])
    check("facts", (m.architecture, m.head, m.width, m.layers) == ("distilbert", "embed", 16, 2), vars(m))
    check("repr", "distilbert" in repr(m))
    want = [row["vector"] for row in command("embed", "--model", FOLDERS["embed"], *TEXTS[:5])]
    vectors = m.embed(TEXTS[:5])
    same("vectors", vectors, np.array(want, "f"), LIMIT)
    same("one vector", m.embed("cats"), np.asarray(vectors)[0], LIMIT)
    same("the function", ig.text.embed(m, TEXTS[:5]), np.asarray(vectors))
    same("a folder", ig.text.embed(FOLDERS["embed"], "cats"), np.asarray(vectors)[0], LIMIT)
    hidden = m.hidden(TEXTS[:5])
    check("hidden states", [h.shape for h in hidden] == [(len(m.tokenizer(t).ids), 16) for t in TEXTS[:5]], hidden)
    mean = np.asarray(hidden[0]).mean(0)
    same("the vector is the mean", m.embed("cats"), mean / np.linalg.norm(mean) if
         abs(np.linalg.norm(want[0]) - 1) < 1e-4 else mean, 1e-4)
    half = ig.text.load(FOLDERS["embed"], dtype="float16").embed("cats")
    same("float16", half, np.asarray(vectors)[0], 0.02)
    raises("another head", ValueError, lambda: m.classify("cats"))
    raises("a missing folder", (OSError, ValueError), lambda: ig.text.load(os.path.join(PLACE.name, "none")))
    tokenizer = ig.text.load(FOLDERS["embed"]).tokenizer  # outlives its model
    check("the tokenizer of a model", tokenizer("cats").ids == [2, 5, 6, 3])


def test_classify():
    m = ig.text.load(FOLDERS["classify"])
    want = command("classify", "--model", FOLDERS["classify"], *TEXTS[:5])
    for text, got, row in zip(TEXTS, m.classify(TEXTS[:5]), want):
        check(f"label of '{text}'", got.label == row["label"] and close(got.probability, row["probability"]) and
              all(close(got.labels[k], v) for k, v in row["labels"].items()), (got, row))
    check("one text", m.classify("cats").label == want[0]["label"])
    pair = command("classify", "--model", FOLDERS["classify"], "--pairs", "cats\tdog")[0]
    got = m.classify("cats", "dog")
    check("a pair", got.label == pair["label"] and close(got.probability, pair["probability"]), (got, pair))


def test_tag():
    m = ig.text.load(FOLDERS["tag"])
    want = command("classify", "--model", FOLDERS["tag"], *TEXTS[:4])
    for text, got, row in zip(TEXTS, ig.text.classify(m, TEXTS[:4]), want):
        check(f"words of '{text}'", [(w.word, w.start, w.end, w.label) for w in got] ==
              [(w["word"], w["start"], w["end"], w["label"]) for w in row["words"]], (got, row))
    row = command("classify", "--model", FOLDERS["tag"], "--entities", TEXTS[2])[0]["entities"]
    got = m.classify(TEXTS[2], entities=True)
    check("entities", [(w.word, w.label) for w in got] == [(w["word"], w["label"]) for w in row] and
          all(close(a.probability, b["probability"]) for a, b in zip(got, row)), (got, row))


def test_fill():
    m = ig.text.load(FOLDERS["fill"])
    texts = ["the [MASK] is good", "a <mask> was [MASK] bad"]
    want = command("fill", "--model", FOLDERS["fill"], "--top", "3", *texts)
    for text, gaps, row in zip(texts, m.fill(texts, top=3), want):
        check(f"gaps of '{text}'", [[(g.word, g.id) for g in gap] for gap in gaps] ==
              [[(g["word"], g["id"]) for g in gap] for gap in row["gaps"]], (gaps, row))
        check("probabilities", all(close(g.probability, w["probability"]) for gap, other in zip(gaps, row["gaps"])
                                   for g, w in zip(gap, other)))
    check("the function", len(ig.text.fill(m, texts[0], top=2)[0]) == 2)
    raises("no gap", ValueError, lambda: m.fill("the cat"))
    check("byte-level tokens", [ig.text._from_bytes(t) for t in ("\u0120cat", "caf\u00c3\u00a9", "\u00c3", "\u4e2d")] ==
          ["cat", "caf\u00e9", "\u00c3", "\u4e2d"])


def test_answer():
    m = ig.text.load(FOLDERS["answer"])
    path = os.path.join(PLACE.name, "context.txt")
    for n in (1, 3, 40):  # several windows
        context = " ".join(["the cat is good. a dog was not bad!"] * n + ["the film was very good"])
        with open(path, "w", encoding="utf-8") as file:
            file.write(context)
        for more in ([], ["--none"]):
            row = command("answer", "--model", FOLDERS["answer"], "--context", path, *more, "who is good?")[0]
            got = m.answer("who is good?", context, none=bool(more))
            check(f"answer in {len(context)} characters", (got.text, got.start, got.end) ==
                  (row["answer"], row["start"], row["end"]) and close(got.probability, row["probability"]), (got, row))
    several = ig.text.answer(m, ["who is good?", "who is bad?"], context)
    check("several questions", len(several) == 2 and all(context[a.start:a.end] == a.text for a in several), several)
    accents = "\u00e9\u00e9 cat is good"
    got = m.answer("who?", accents)
    check("places count characters", accents[got.start:got.end] == got.text, got)
    raises("an empty context", ValueError, lambda: m.answer("who?", ""))
    raises("a long question", ValueError, lambda: m.answer("who " * 60, "the cat"))


def test_export():
    try:
        import onnxruntime
    except ImportError:
        skip("export", "the Python package onnxruntime is not there")
        return
    m = ig.text.load(FOLDERS["classify"])
    path = os.path.join(PLACE.name, "classify.onnx")
    m.export(path)
    ids = np.array([m.tokenizer("the dog is good").ids], "int64")
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    want = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)[0][0]
    p = np.exp(want - want.max())
    got = m.classify("the dog is good").labels.values()
    same("ONNX Runtime", np.array(list(got)), (p / p.sum()).astype("d"), LIMIT)
    same("ingot.onnx", ig.onnx.load(path).run(inputs)["logits"], want[None], LIMIT)


for test in (test_tokenizer, test_embed, test_classify, test_tag, test_fill, test_answer, test_export):
    attempt(test.__name__, test)
finish()
