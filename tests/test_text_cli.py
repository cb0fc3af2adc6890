"""The verbs of text models: tokens, embed, classify, fill, answer, train text; with tiny random models."""
import array
import csv
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from support import tiny_model
from support.tally import attempt, check, finish, skip

INGOT = os.environ.get("INGOT", "build/ingot")
PLACE = tempfile.TemporaryDirectory(prefix="ingot-cli-text-")
FOLDERS = {head: tiny_model.make(os.path.join(PLACE.name, head), head) for head in tiny_model.HEADS}


def path(name, content=None):
    where = os.path.join(PLACE.name, name)
    if content is not None:
        with open(where, "w", encoding="utf-8") as file:
            file.write(content)
    return where


def run(*words, text=None, code=0):
    done = subprocess.run([INGOT, *words], input=text, capture_output=True, text=True, check=False)
    check("exit code of " + " ".join(words[:1]), done.returncode == code, f"{done.returncode}: {done.stderr}")
    return done


def rows(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_tokens():
    got = rows(run("tokens", "--model", FOLDERS["embed"], "--json", "Cats!", "dog"))
    check("tokens", got[0]["tokens"] == ["[CLS]", "cat", "##s", "!", "[SEP]"], got)
    check("offsets", got[0]["offsets"] == [[0, 0], [0, 3], [3, 4], [4, 5], [0, 0]], got)
    plain = run("tokens", "--model", FOLDERS["embed"], "--plain", "cats").stdout.split()
    check("tokens as text", plain == ["5", "cat", "0-3", "6", "##s", "3-4"], plain)
    cut = rows(run("tokens", "--model", FOLDERS["embed"], "--json", "--max-length", "3", "cats dog"))
    check("--max-length", cut[0]["ids"] == [2, 5, 3], cut)


def test_embed():
    lines = "cats\n\nthe dog is good\r\na film was very bad"
    one = rows(run("embed", "--model", FOLDERS["embed"], "--json", text=lines))
    other = rows(run("embed", "--model", FOLDERS["embed"], "--json", "--file", path("lines.txt", lines)))
    check("four lines, one of them empty", len(one) == 4 and all(len(row["vector"]) == 16 for row in one))
    check("a file and a pipe", one == other)
    table = run("embed", "--model", FOLDERS["embed"], "--similar", "cats", "cats", "dog").stdout.split()
    check("--similar", len(table) == 9 and table[1] == "1.0000" and table[0] == "1.0000", table)
    f16 = rows(run("embed", "--model", FOLDERS["embed"], "--json", "--dtype", "f16", "cats"))[0]["vector"]
    check("--dtype f16", max(abs(a - b) for a, b in zip(f16, one[0]["vector"])) < 0.02, f16)
    texts = ["cats", "the dog is good", "a film was very bad", "dog"]
    alone = [rows(run("embed", "--model", FOLDERS["embed"], "--json", text))[0]["vector"] for text in texts]
    many = rows(run("embed", "--model", FOLDERS["embed"], "--json", "--file", path("many.txt", "\n".join(texts * 65))))
    wrong = [i for i, row in enumerate(many) if max(abs(a - b) for a, b in zip(row["vector"], alone[i % 4])) > 1e-6]
    check("batches of a shape that was planned", len(many) == 260 and not wrong, wrong[:9])
    gang = rows(run("embed", "--model", FOLDERS["embed"], "--json", "--device", "gang", "cats"))[0]["vector"]
    check("another device", max(abs(a - b) for a, b in zip(gang, one[0]["vector"])) < 1e-5, gang)


def test_output():
    """-o writes what is printed otherwise, in the format of the suffix."""
    texts = ["cats", "the dog, is good", 'a "film" was bad']
    file = path("texts.txt", "\n".join(texts))
    vectors = [row["vector"] for row in rows(run("embed", "--model", FOLDERS["embed"], "--json", "--file", file))]

    def loaded(name, what="x"):
        return json.loads(run("eval", "--json", f"x = load('{path(name)}'); {what}").stdout)

    for name in ("e.npy", "e.csv", "e.tsv"):
        done = run("embed", "--model", FOLDERS["embed"], "--file", file, "-o", path(name))
        check(f"{name}: nothing is printed", done.stdout == done.stderr == "", done)
        check(f"{name}: the vectors", loaded(name, "astype(x, f32)")["value"] == vectors, name)
    run("embed", "--model", FOLDERS["embed"], "--file", file, "-o", path("e.npz"))
    check("e.npz", loaded("e.npz", "x['vectors']")["value"] == vectors)
    run("embed", "--model", FOLDERS["embed"], "--similar", *texts, "-o", path("s.csv"))
    check("--similar", [row[i] for i, row in enumerate(loaded("s.csv")["value"])] == [1, 1, 1])
    for name in ("e.json", "e.jsonl"):
        run("embed", "--model", FOLDERS["embed"], "--file", file, "-o", path(name))
        with open(path(name), encoding="utf-8") as written:
            text = written.read()
        got = json.loads(text) if name == "e.json" else [json.loads(line) for line in text.splitlines()]
        check(name, [row["vector"] for row in got] == vectors, got)
    labels = rows(run("classify", "--model", FOLDERS["classify"], "--json", *texts))
    run("classify", "--model", FOLDERS["classify"], *texts, "-o", path("c.npy"))
    check("probabilities", loaded("c.npy")["value"] == [list(row["labels"].values()) for row in labels])
    run("classify", "--model", FOLDERS["classify"], *texts, "-o", path("c.csv"))
    with open(path("c.csv"), encoding="utf-8", newline="") as written:
        table = list(csv.DictReader(written))
    check("a table of labels", [(row["label"], float(row["probability"])) for row in table] ==
          [(row["label"], row["probability"]) for row in labels] and set(table[0]) == {"label", "probability", "no", "yes"}, table)
    words = rows(run("classify", "--model", FOLDERS["tag"], "--json", *texts))
    run("classify", "--model", FOLDERS["tag"], *texts, "-o", path("w.csv"))
    with open(path("w.csv"), encoding="utf-8", newline="") as written:
        table = list(csv.DictReader(written))
    check("a table of words", [(row["text"], row["word"], row["label"]) for row in table] ==
          [(str(i + 1), word["word"], word["label"]) for i, row in enumerate(words) for word in row["words"]], table)
    tokens = rows(run("tokens", "--model", FOLDERS["embed"], "--json", *texts))
    longest = max(len(row["ids"]) for row in tokens)
    run("tokens", "--model", FOLDERS["embed"], *texts, "-o", path("t.npz"))
    check("ids", loaded("t.npz", "x['ids']")["value"] == [row["ids"] + [0] * (longest - len(row["ids"])) for row in tokens])
    check("their mask", loaded("t.npz", "sum(x['mask'])")["value"] == sum(len(row["ids"]) for row in tokens))
    run("tokens", "--model", FOLDERS["embed"], *texts, "-o", path("t.csv"))
    with open(path("t.csv"), encoding="utf-8", newline="") as written:
        table = list(csv.DictReader(written))
    check("a table of tokens", [row["token"] for row in table] == [token for row in tokens for token in row["tokens"]], table)
    for words, said in ((("embed", "-o", "x.bin"), "ends with .npy"), (("embed", "--json", "-o", "x.json"), "--json prints"),
                        (("embed", "--similar", "-o", "x.json"), "--similar -o FILE writes")):
        done = run(words[0], "--model", FOLDERS["embed"], *words[1:], "cats", code=2)
        check(f"{words} is refused", said in done.stderr, done.stderr)
    done = run("classify", "--model", FOLDERS["tag"], "cats", "-o", path("w.npy"), code=2)
    check("words are not an array", ".csv" in done.stderr and not os.path.exists(path("w.npy")), done.stderr)
    run("embed", "--model", FOLDERS["embed"], "cats", "-o", path("no/e.npy"), code=5)


def test_padding():
    """tokens shows no padding, whatever tokenizer.json says."""
    folder = shutil.copytree(FOLDERS["embed"], path("padded"))
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["padding"] = {"strategy": {"Fixed": 20}, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]", "direction": "Right"}
    path("padded/tokenizer.json", json.dumps(config))
    got = rows(run("tokens", "--model", folder, "--json", "cats", "dog"))
    check("no padding", [len(row["ids"]) for row in got] == [4, 3] and all(min(row["mask"]) for row in got), got)


def test_empty():
    """Empty lines are named."""
    file = path("empty.txt", "cats\n\ndog\n  \n")
    done = run("embed", "--model", FOLDERS["embed"], "--file", file)
    check("empty lines", "lines 2 and 4 are empty" in done.stderr and len(done.stdout.splitlines()) == 4, done.stderr)
    check("--quiet", run("embed", "--model", FOLDERS["embed"], "--quiet", "--file", file).stderr == "")
    done = run("classify", "--model", FOLDERS["classify"], "cats", "")
    check("an empty text", "text 2 is empty" in done.stderr, done.stderr)
    done = run("tokens", "--model", FOLDERS["embed"], "--file", path("many-empty.txt", "\n" * 20))
    check("many", "lines 1, 2, 3, 4, 5, 6, 7, 8 and 12 more are empty" in done.stderr, done.stderr)


def test_not_finite():
    """Results that are NaN are an error, which names the tensor."""
    def spoil(name, value):
        def change(values):
            _, weights = values[name]
            weights[3] = value
        return change

    weight = "distilbert.transformer.layer.1.attention.q_lin.weight"
    for verb, head in (("embed", "embed"), ("classify", "classify"), ("classify", "tag"), ("fill", "fill")):
        for value in (math.nan, math.inf):
            folder = tiny_model.make(path(f"spoilt-{head}-{value}"), head, change=spoil(weight, value))
            done = run(verb, "--model", folder, "cats [MASK]", code=5)
            check(f"{verb} of {value}", f"'{weight}' has the value {value} at element 3" in done.stderr, done.stderr)

    data = path("finite.tsv", "cats\tplus\ndog\tminus\n")
    done = run("train", "text", "--model", path("spoilt-embed-nan"), "--data", data, "--save", path("finite"), "--quiet", code=5)
    check("train text", f"'{weight}' has the value nan" in done.stderr, done.stderr)
    done = run("train", "text", "--model", FOLDERS["embed"], "--data", data, "--save", path("finite"), "--quiet", "--all",
               "--lr", "1e35", "--warmup", "1", "--epochs", "50", code=1)
    check("train text that diverges", "it diverges" in done.stderr, done.stderr)

    def overflow(values):
        for part in ("q_lin", "k_lin"):
            _, weights = values[f"distilbert.transformer.layer.1.attention.{part}.weight"]
            weights[:] = array.array("f", (1e25 * w for w in weights))

    done = run("embed", "--model", tiny_model.make(path("overflows"), "embed", change=overflow), "cats", code=4)
    check("an overflow", "all weights are finite" in done.stderr, done.stderr)


def test_memory_limit():
    """A line or its tokens beyond the memory limit are an error."""
    file = path("long.txt", "!" * (6 << 20))
    done = run("tokens", "--model", FOLDERS["embed"], "--memory-limit", "2MiB", "--file", file, code=5)
    check("a long line", "line 1 is longer than the memory limit" in done.stderr, done.stderr)
    done = run("tokens", "--model", FOLDERS["embed"], "--memory-limit", "40MiB", "--file", file, code=1)
    check("its tokens", "but the memory limit is 40 MiB" in done.stderr, done.stderr)


def test_cut():
    """A note counts the texts that are longer than the model reads."""
    long = "the cat is good . " * 20
    for verb, head in (("embed", "embed"), ("classify", "classify"), ("classify", "tag"), ("fill", "fill")):
        done = run(verb, "--model", FOLDERS[head], "[MASK] " + long, "[MASK] cat", "[MASK] " + long)
        check(f"{verb}: long texts", "2 of 3 texts have more than 48 tokens" in done.stderr, done.stderr)
        check(f"{verb}: short texts", run(verb, "--model", FOLDERS[head], "cat [MASK]").stderr == "")


def test_lower_case():
    """sentence_bert_config.json may lower case only where the tokenizer does too."""
    folder = shutil.copytree(FOLDERS["embed"], path("cased"))
    path("cased/sentence_bert_config.json", '{"max_seq_length": 8, "do_lower_case": true}')
    run("embed", "--model", folder, "A Cat")
    path("cased/tokenizer_config.json", '{"do_lower_case": false}')
    done = run("embed", "--model", folder, "A Cat", code=4)
    check("a cased tokenizer is refused", "sentence_bert_config.json" in done.stderr, done.stderr)


def test_wrong_folders():
    """A path that is not a model folder: the message names it and says what a model folder has."""
    os.makedirs(path("empty"), exist_ok=True)
    for folder, words in (("absent", "cannot be opened: No such file"), ("empty", "the folder has no config.json"),
                          (os.path.join(FOLDERS["embed"], "config.json"), "it is a file; give the path of the model folder")):
        done = run("embed", "--model", folder if os.path.isabs(folder) else path(folder), "cats", code=5)
        check(f"a wrong folder: {words}", words in done.stderr and "model.safetensors" in done.stderr, done.stderr)


def test_same():
    """In mode same, a whole model has the same bits on the CPU and in emitted kernels."""
    words = ["classify", "--model", FOLDERS["classify"], "--json", "--math", "same", "the film was very good !", "cats"]
    cpu, gang = [run(*words, "--device", device).stdout for device in ("cpu", "gang")]
    check("the same bits on two devices", cpu == gang and cpu, (cpu, gang))
    done = run("verify", "--model", FOLDERS["tag"], "--device", "cpu,gang", "--json")
    result = json.loads(done.stdout)
    check("verify --model", result["failed"] == 0 and len(result["devices"]) == 2 and
          all(len(device["states"]) == tiny_model.LAYERS + 2 for device in result["devices"]), result)


def test_defects():
    """verify --model names the first layer that is wrong: for weights that overflow in f32, and on a device that computes
    nothing from some kernel on."""
    def overflow(values):
        for part in ("q_lin", "k_lin"):
            _, weights = values[f"distilbert.transformer.layer.1.attention.{part}.weight"]
            weights[:] = array.array("f", (1e25 * w for w in weights))

    def first(device, folder, **environment):
        done = subprocess.run([INGOT, "verify", "--model", folder, "--device", device, "--json"], capture_output=True,
                              text=True, check=False, env={**os.environ, **environment})
        result = json.loads(done.stdout) if done.returncode in (0, 1) else {"devices": []}
        wrong = [row["first_failure"] for row in result["devices"]]
        check("exit code of verify --model", done.returncode == (1 if any(wrong) else 0), done.stderr)
        return wrong

    folder = tiny_model.make(path("overflow"), "embed", change=overflow)
    check("an overflow in layer 1", first("cpu,gang", folder) == ["layer 1", "layer 1"])
    def overflow_head(values):
        _, weights = values["pre_classifier.weight"]
        weights[:] = array.array("f", (3e38 * w for w in weights))

    check("an overflow in the head", first("cpu", tiny_model.make(path("head"), "classify", change=overflow_head)) == ["head"])
    done = run("verify", "--model", folder, "--device", "cpu", code=1)
    check("as text", "layer 1 is wrong: element" in done.stdout and "0 passed, 1 failed" in done.stdout, done.stdout)
    fake = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "tests/fakecuda/cuda.so"))
    if not os.path.exists(fake):
        skip("a device with a defect", "tests/fakecuda is not built")
        return
    cuda = {"IG_CUDA": fake, "IG_NVRTC": fake, "IG_CUBLASLT": "off", "IG_CUDNN": "off", "IG_CUSOLVER": "off", "IG_CUFFT": "off", "IG_CUDA_GRAPHS": "off",
            "IG_CACHE": "off"}
    wrong = [first("cpu,cuda:0", FOLDERS["embed"], **cuda, FAKE_CUDA_IDLE=str(n)) for n in (1, 6, 12, 18, 24, 1000)]
    names = ["embedding layer", "layer 0", "layer 1", "head", None]
    check("no layer is out of bounds on the CPU", all(row[0] is None for row in wrong), wrong)
    order = [names.index(row[1]) for row in wrong]
    check("the first layer behind the defect", order == sorted(order) and set(order) >= {0, 1, 2, 4}, wrong)


def test_classify():
    got = rows(run("classify", "--model", FOLDERS["classify"], "--json", "good film", "bad film"))
    check("labels", all(row["label"] in ("no", "yes") and abs(sum(row["labels"].values()) - 1) < 1e-6 for row in got), got)
    text = run("classify", "--model", FOLDERS["classify"], "good film").stdout
    check("as text", text == f"{got[0]['label']}\t{got[0]['probability']:.4f}\n", text)
    pair = rows(run("classify", "--model", FOLDERS["classify"], "--json", "--pairs", "good film\tbad cat"))
    check("pairs", pair[0]["labels"] != got[0]["labels"], pair)
    words = rows(run("classify", "--model", FOLDERS["tag"], "--json", "cats is [UNK] film"))[0]["words"]
    check("words", [w["word"] for w in words] == ["cats", "is", "[UNK]", "film"] and words[0]["end"] == 4, words)
    run("classify", "--model", FOLDERS["embed"], "x", code=5)


def test_regression():
    """One label is a probability by sigmoid; the values of a regression stay as they are."""
    one = tiny_model.make(path("one"), "classify", labels=("score",))
    raw = tiny_model.make(path("raw"), "classify", labels=("score",), problem_type="regression")
    score = rows(run("classify", "--model", one, "--json", "good film"))[0]
    value = rows(run("classify", "--model", raw, "--json", "good film"))[0]
    check("sigmoid of one label", abs(score["probability"] - 1 / (1 + math.exp(-value["value"]))) < 1e-6, (score, value))
    check("it is not 1", score["probability"] < 0.999 and value["labels"] == {"score": value["value"]}, (score, value))
    text = run("classify", "--model", raw, "good film").stdout
    check("a value as text", text == f"score\t{value['value']:.4f}\n", text)
    numbers = tiny_model.make(path("numbers"), "classify", labels=(0, 1))
    check("labels that are numbers", rows(run("classify", "--model", numbers, "--json", "cat"))[0]["label"] in ("0", "1"))


def test_entities():
    """Words with the same label are joined, up to one that begins with B-; O is left out."""
    folder = tiny_model.make(path("entities"), "tag", labels=("O", "B-X", "I-X", "Y"))
    texts = ["the cats is good , a film was very bad !", "dog dog dog dog", "the cat the cat was bad"]
    plain = [row["words"] for row in rows(run("classify", "--model", folder, "--json", *texts))]
    joined = [row["entities"] for row in rows(run("classify", "--model", folder, "--json", "--entities", *texts))]
    for text, words, got in zip(texts, plain, joined):
        expected, last = [], None
        for word in words:
            kind = word["label"][2:] if word["label"][1:2] == "-" else word["label"]
            if kind == last and word["label"][:2] != "B-":
                expected[-1].append(word)
            else:
                expected.append([word])
            last = kind
        expected = [group for group in expected if group[0]["label"] != "O"]
        check("entities", [(row["start"], row["end"]) for row in got] ==
              [(group[0]["start"], group[-1]["end"]) for group in expected], (got, words))
        check("their words", all(text[row["start"]:row["end"]] == row["word"] and row["label"] in "XY" for row in got), got)
        check("their means", all(abs(row["probability"] - sum(w["probability"] for w in group) / len(group)) < 1e-6
                                 for row, group in zip(got, expected)), got)
    check("several words were joined", any(len(e) < len(w) for e, w in zip(joined, plain)) and any(joined), joined)


def test_fill():
    done = run("fill", "--model", FOLDERS["fill"], "--json", "--top", "3", "the [MASK] is <mask> !", "no gap", "cat", code=5)
    got = rows(done)
    check("gaps", [len(gap) for gap in got[0]["gaps"]] == [3, 3] and got[1]["gaps"] == [], got)
    check("texts without a gap are named", "texts 2 and 3 have no [MASK]" in done.stderr, done.stderr)
    done = run("fill", "--model", FOLDERS["fill"], "--file", path("gaps.txt", "a [MASK]\ncat\n"), code=5)
    check("a line without a gap", "line 2 has no [MASK]" in done.stderr and done.stdout.count("\t") == 5, done)
    values = [word["probability"] for word in got[0]["gaps"][0]]
    check("in order", values == sorted(values, reverse=True), values)
    run("fill", "--model", FOLDERS["classify"], "[MASK]", code=5)


def test_answer():
    page = path("page.txt", "the cat is good . " * 40 + "a dog was bad !")
    got = rows(run("answer", "--model", FOLDERS["answer"], "--context", page, "--json", "who is good?", "who?"))
    with open(page, encoding="utf-8") as file:
        context = file.read()
    for row in got:
        check("the answer is in the text", context[row["start"]:row["end"]] == row["answer"] and row["answer"], row)
        check("its probability", 0 < row["probability"] <= 1, row)
    long = "who is the cat " * 20
    done = run("answer", "--model", FOLDERS["answer"], "--context", page, "--json", "who is good?", "who?", long, code=1)
    check("answers before a failure stay", rows(done) == got and "too long" in done.stderr, done)
    done = run("answer", "--model", FOLDERS["answer"], "--context", path("blank.txt", ""), "who?", code=5)
    check("a context without text", "blank.txt" in done.stderr, done.stderr)
    run("answer", "--model", FOLDERS["answer"], "who?", code=2)
    run("answer", "--model", FOLDERS["answer"], "--context", path("absent"), "who?", code=5)


def test_stream():
    """Lines are answered as they arrive; Ctrl-C keeps what was answered."""
    process = subprocess.Popen([INGOT, "classify", "--model", FOLDERS["classify"], "--json"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    for line in ("good film", "bad film"):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        check("an answer while the pipe is open", "label" in process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.wait(600)
    check("Ctrl-C", process.returncode == 130, process.returncode)
    process.stdin.close()


def test_train():
    samples = [("the film was good", "plus"), ("very good !", "plus"), ("the film was bad", "minus"),
               ("not good", "minus"), ("a bad cat", "minus"), ("good cats", "plus")] * 4
    data = path("train.tsv", "sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in samples))
    for name, words in (("head", ["--lr", "0.02"]), ("whole", ["--all", "--lr", "0.003"])):
        out = path("trained-" + name)
        done = run("train", "text", "--model", FOLDERS["embed"], "--data", data, "--test", data, "--save", out, "--epochs",
                   "15", "--batch", "8", "--json", "--quiet", *words)
        result = json.loads(done.stdout)
        check(f"{name}: the loss falls", result["loss"] < 0.6, result)
        if name == "whole":
            check("the whole model learns all", result["test_accuracy"] == 1, result)
        got = rows(run("classify", "--model", out, "--json", *[text for text, _ in samples[:6]]))
        right = sum(row["label"] == label for row, (_, label) in zip(got, samples))
        check(f"{name}: the folder has what was learned", right / 6 >= result["test_accuracy"] - 0.01, got)
        again = json.loads(run("train", "text", "--model", FOLDERS["embed"], "--data", data, "--test", data, "--save", out,
                               "--epochs", "15", "--batch", "8", "--json", "--quiet", *words).stdout)
        check(f"{name}: the same seed, the same loss", again["loss"] == result["loss"], (again, result))
    def loss(*words):
        done = run("train", "text", "--model", FOLDERS["embed"], "--data", data, "--save", path("dropped"), "--all",
                   "--epochs", "2", "--batch", "8", "--json", "--quiet", "--lr", "0.003", *words)
        return json.loads(done.stdout)["loss"]

    with open(os.path.join(FOLDERS["embed"], "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    folder = shutil.copytree(FOLDERS["embed"], path("dropout"))
    losses = {}
    for p in (0, 0.3):
        path("dropout/config.json", json.dumps({**config, "dropout": p, "attention_dropout": p, "seq_classif_dropout": p}))
        losses[p] = loss("--model", folder)
        check(f"--dropout {p} is that of config.json", losses[p] == loss("--dropout", str(p)))
    check("dropout is on by default", len({losses[0], losses[0.3], loss()}) == 3)
    check("dropout depends on the seed alone", loss("--seed", "3") == loss("--seed", "3") != loss("--seed", "4"))
    run("train", "text", "--model", FOLDERS["embed"], "--data", data, "--save", path("x"), "--dropout", "1", code=2)
    run("train", "text", "--model", FOLDERS["embed"], "--save", path("x"), code=2)
    run("train", "text", "--model", FOLDERS["embed"], "--data", path("bad.tsv", "one column\n"), "--save", path("x"), code=5)
    with open(path("label.tsv"), "wb") as file:
        file.write(b"good\tplus\nbad\tmi\xffnus\n")
    with open(path("zero.tsv"), "wb") as file:
        file.write(b"good\tplus\nbad\tmi\x00nus\n")
    for file, save, words in (("absent.tsv", "x", ("absent.tsv", "No such file")), ("label.tsv", "x", ("label.tsv:2", "UTF-8")),
                              ("zero.tsv", "x", ("zero.tsv", "zero byte")), ("train.tsv", "no/where", ("no/where",)),
                              ("train.tsv", "train.tsv", ("train.tsv", "Not a directory"))):
        done = run("train", "text", "--model", FOLDERS["embed"], "--data", path(file), "--save", path(save), "--epochs",
                   "100000", "--quiet", code=5)
        check(f"--data {file} --save {save} is refused", all(word in done.stderr for word in words), done.stderr)
    check("nothing is left of it", not os.path.exists(path("x")))


def test_train_data():
    """The same samples as TSV, CSV and JSON lines, with and without a header; and what is refused."""
    samples = [('the "good", film', "1"), ("very\ngood !", "1"), ("bad film", "0"), ("a cat\ris bad", "0"), ("not good", "10"),
               ("a dog", "2")] * 3

    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    def train(name, content, *words, code=0):
        return run("train", "text", "--model", FOLDERS["embed"], "--data", path(name, content), "--save", path("data-out"),
                   "--epochs", "2", "--json", *words, code=code)

    csv = "".join(f"{quoted(text)},{label}\r\n" for text, label in samples)
    files = {"a.csv": "Text,LABEL\n" + csv, "b.csv": csv.rstrip("\r\n"),
             "c.csv": "\ufefflabel,idx,sentence\n" + "".join(f"{label},7,{quoted(text)}\n\n" for text, label in samples),
             "d.jsonl": "".join(json.dumps({"text": text, "label": int(label)}) + "\n" for text, label in samples),
             "e.jsonl": "\n".join(json.dumps({"id": 3, "label": label, "x": text}, ensure_ascii=False) for text, label in samples)}
    losses = {name: json.loads(train(name, content).stdout)["loss"] for name, content in files.items()}
    check("the same loss from all files", len(set(losses.values())) == 1, losses)
    with open(os.path.join(path("data-out"), "config.json"), encoding="utf-8") as file:
        check("numbers in order", list(json.load(file)["id2label"].values()) == ["0", "1", "2", "10"])
    plain = [(text.replace("\n", " "), label) for text, label in samples]
    one = json.loads(train("f.tsv", "".join(f"{text}\t{label}\n" for text, label in plain)).stdout)
    check("quotes and \\r stay in TSV", one["loss"] == losses["a.csv"], (one, losses))
    pairs = [json.loads(train(name, content).stdout)["loss"] for name, content in
             (("g.tsv", "".join(f"{text}\tcats\t{label}\n" for text, label in plain)),
              ("h.jsonl", "".join(json.dumps({"premise": text, "hypothesis": "cats", "label": label}) + "\n"
                                  for text, label in plain)))]
    check("pairs", pairs[0] == pairs[1] != losses["a.csv"], pairs)
    done = train("i.csv", csv, "--hold", "0.25")
    check("samples held back", "test_accuracy" in done.stdout and json.loads(done.stdout)["samples"] == 13, done.stdout)
    check("their accuracy in each epoch", done.stderr.count("test accuracy") == 2, done.stderr)
    for name, content, words in (("j.csv", 'a,"b\nc', ("j.csv:1", "quote")), ("k.csv", 'x,y\n"a"b,c\n', ("k.csv:2", "quote")),
                                 ("l.csv", "x,y\na,b,c\n", ("l.csv:2", "columns")), ("m.csv", "a,b,c,d\n", ("m.csv:1", "header")),
                                 ("n.jsonl", '{"text": "a", "label": 1}\n{"text": "a"}\n', ("n.jsonl:2", "'label'")),
                                 ("o.jsonl", '{"text": "a", "label": 1\n', ("o.jsonl:1", "JSON")),
                                 ("p.jsonl", '{"text": 3, "label": 1}\n', ("p.jsonl:1", "not a string")),
                                 ("q.jsonl", '{"text": "a", "label": null}\n', ("q.jsonl:1", "label")),
                                 ("r.tsv", "a\tb\ncats\n", ("r.tsv:2", "columns")), ("s.csv", "label,text\n", ("no lines",))):
        done = train(name, content, code=5)
        check(f"{name} is refused", all(word in done.stderr for word in words), done.stderr)
    done = run("train", "text", "--model", FOLDERS["embed"], "--data", path("f.tsv"), "--test", path("g.tsv"), "--save",
               path("data-out"), code=5)
    check("pairs to test with", "g.tsv has two texts" in done.stderr, done.stderr)


def test_train_interrupted():
    """Ctrl-C saves the weights so far."""
    data = path("long.tsv", "the cat\tplus\na dog\tminus\n" * 50)
    process = subprocess.Popen([INGOT, "train", "text", "--model", FOLDERS["embed"], "--data", data, "--save",
                                path("stopped"), "--epochs", "100000", "--json"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate()
    check("exit code", process.returncode == 130, errors)
    check("it says so", json.loads(out)["interrupted"] and "weights so far" in errors, (out, errors))
    run("classify", "--model", path("stopped"), "the cat")


def test_c_program():
    """The program of docs/TEXT.md compiles, and prints the vectors that ingot embed prints."""
    with open(os.path.join(os.path.dirname(__file__), "../docs/TEXT.md"), encoding="utf-8") as file:
        source = re.search("^```c\n(.*?)^```", file.read(), re.M | re.S).group(1)
    build = os.environ.get("BUILD", "build")
    if not shutil.which("cc") or not os.path.exists(build + "/libingot.a"):
        skip("the program of docs/TEXT.md", "there is no compiler, or no library")
        return
    done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", path("program"),
                           path("program.c", source), build + "/libingot.a", "-lm", "-lpthread", "-ldl"],
                          capture_output=True, text=True, check=False)
    if any(word in done.stderr for word in ("__asan", "__tsan", "__ubsan", "__gcov")):
        skip("the program of docs/TEXT.md", "the library has checks that the program would need too")
        return
    check("it compiles", done.returncode == 0, done.stderr)
    expected = [row["vector"][0] for row in rows(run("embed", "--model", FOLDERS["embed"], "--json", "cats", "a dog"))]
    done = subprocess.run([path("program"), FOLDERS["embed"], "cats", "a dog"], capture_output=True, text=True, check=False)
    got = [float(line.split(": ")[1].removesuffix(" ...")) for line in done.stdout.splitlines()]
    check("it runs", len(got) == 2 and all(abs(a - b) < 1e-4 for a, b in zip(got, expected)), (done, expected))
    done = subprocess.run([path("program"), path("nowhere")], capture_output=True, text=True, check=False)
    check("its errors", done.returncode == 1 and "nowhere" in done.stderr, done)


def test_mistakes():
    for verb in ("tokens", "embed", "classify", "fill", "answer"):
        done = run(verb, "x", code=2)
        check(verb + " names the option", "--model" in done.stderr, done.stderr)
        done = run(verb, "--model", path("nowhere"), "x", code=5)
        check(verb + " names the folder", "nowhere" in done.stderr, done.stderr)
    run("embed", "--model", FOLDERS["embed"], "--dtype", "i8", "x", code=2)


done = subprocess.run([INGOT, "tokens", "--model", FOLDERS["embed"], "x"], capture_output=True, text=True, check=False)
if "utf8proc" in done.stderr:
    skip("all", "the library utf8proc is not there")
    finish()
for test in (test_tokens, test_embed, test_output, test_padding, test_empty, test_not_finite, test_memory_limit, test_cut,
             test_lower_case, test_wrong_folders, test_same, test_defects, test_classify, test_regression,
             test_entities, test_fill, test_answer, test_stream, test_train, test_train_data, test_train_interrupted, test_c_program,
             test_mistakes):
    attempt(test.__name__, test)
finish()
