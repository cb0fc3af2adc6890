"""Tokenizers of GGUF files, and ingot chat.

Byte-level BPE with each kind of pre-tokenizer against the package tokenizers, which is skipped if it is not installed. The BPE
of sentencepiece against its plain definition: of all neighbours that make a token, those with the highest score are merged.
Control tokens in texts are plain text. ingot chat answers as ingot generate does after the same text, and keeps its cache.
"""
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import check, finish, skip

INGOT = os.environ.get("INGOT", "build/ingot")
PLACE = tempfile.TemporaryDirectory(prefix="ingot-gguf-")
NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6
WORDS = ("the cat's 12345 sat on a caf\u00e9 mat; they'll LOOK at 3.14 old_books\n\n while  rain\tfell \u4e2d\u6587\u5b57 \U0001f600 na\u00efve "
         "\u043f\u0440\u0438\u0432\u0435\u0442 x1y22z333 e\u0301 I'M HelloWorld don't  ...!! \r\n fooBar").split(" ")


def gguf(name, fields):
    """A file without tensors. A field is a text, an int, a bool, or a list of texts, ints or floats."""
    def text(s):
        s = s.encode()
        return struct.pack("<Q", len(s)) + s

    def value(v):
        if isinstance(v, str):
            return struct.pack("<I", 8) + text(v)
        if isinstance(v, bool):
            return struct.pack("<IB", 7, v)
        if isinstance(v, int):
            return struct.pack("<II", 4, v)
        kind = 8 if isinstance(v[0], str) else 6 if isinstance(v[0], float) else 5
        head = struct.pack("<IIQ", 9, kind, len(v))
        return head + (b"".join(map(text, v)) if kind == 8 else struct.pack(f"<{len(v)}{'f' if kind == 6 else 'i'}", *v))
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + b"".join(text(k) + value(v) for k, v in fields.items())
    path = os.path.join(PLACE.name, name)
    with open(path, "wb") as file:
        file.write(out + b"\0" * (-len(out) % 32))
    return path


def tokens(path, texts, *options):
    done = subprocess.run([INGOT, "tokens", "--json", "--model", path, *options, "--", *texts], capture_output=True, text=True, check=False)
    if done.returncode:
        return [done.stderr] * len(texts)
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def texts(r, n):
    return ["".join(r.choice(WORDS) + r.choice([" ", " ", "  ", "\n", ""]) for _ in range(r.randint(1, 12))) for _ in range(n)]


# ---- byte-level BPE ----------------------------------------------------------------------------------

LETTERS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|%s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
PATTERNS = {"gpt-2": [], "smollm": ["\\p{N}"], "llama-bpe": [LETTERS % "\\p{N}{1,3}"], "qwen2": [LETTERS % "\\p{N}"]}


def byte_level(r):
    try:
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers  # pylint: disable=import-outside-toplevel
    except ImportError:
        skip("byte-level BPE", "the Python package tokenizers is not there")
        return
    for name, patterns in PATTERNS.items():
        parts = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
        parts.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=name in ("gpt-2", "smollm")))
        t = Tokenizer(models.BPE(ignore_merges=name == "llama-bpe"))
        t.pre_tokenizer = pre_tokenizers.Sequence(parts)
        t.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
        t.train_from_iterator(texts(r, 300), trainer)
        model = json.loads(t.to_str())["model"]
        vocabulary = sorted(model["vocab"], key=model["vocab"].get)
        merges = [" ".join(m) if isinstance(m, list) else m for m in model["merges"]]
        control, n = "<|end|>", len(vocabulary)
        path = gguf(f"{name}.gguf", {
            "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": name, "tokenizer.ggml.tokens": [*vocabulary, control, "<user>"],
            "tokenizer.ggml.token_type": [NORMAL] * n + [CONTROL, USER], "tokenizer.ggml.merges": merges,
            "tokenizer.ggml.bos_token_id": n, "tokenizer.ggml.add_bos_token": True})
        lines = texts(r, 60)
        check(f"{name}: ids", tokens(path, lines, "--plain") == [e.ids for e in t.encode_batch(lines)])
        plain = t.encode("a<|end|>b").ids
        check(f"{name}: a control token is plain text", tokens(path, ["a<|end|>b"]) == [[n, *plain]])
        check(f"{name}: a user's token is a token", tokens(path, ["a<user>b"], "--plain") == [[*t.encode("a").ids, n + 1, *t.encode("b").ids]])


# ---- scores ------------------------------------------------------------------------------------------


def merged(pieces, scores):
    """The pieces after all merges, by the definition."""
    pieces = list(pieces)
    while True:
        best = max(((scores[a + b], -i) for i, (a, b) in enumerate(zip(pieces, pieces[1:])) if a + b in scores), default=None)
        if best is None:
            return pieces
        i = -best[1]
        pieces[i:i + 2] = [pieces[i] + pieces[i + 1]]


def scored(r):
    alphabet = "\u2581abcd\u00e9"
    pieces = set(alphabet)
    while len(pieces) < 150:
        pieces.add("".join(r.choice(alphabet) for _ in range(r.randint(2, 5))))
    pieces.discard("d")  # only in longer tokens
    pieces = sorted(pieces)
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + pieces
    values = {p: float(r.randint(-30, -1)) for p in pieces}
    ids = {name: i for i, name in enumerate(names)}
    for prefix in (True, False):
        path = gguf(f"scores{prefix}.gguf", {
            "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": names, "tokenizer.ggml.add_space_prefix": prefix,
            "tokenizer.ggml.scores": [values.get(n, 0.0) for n in names],
            "tokenizer.ggml.token_type": [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(pieces)})
        lines = ["".join(r.choice("abcd\u00e9 x\u4e2d") for _ in range(r.choice([1, 3, 9, 60]))).strip() or "a" for _ in range(150)]
        expected = []
        for line in lines:
            all_ids = [1]
            for piece in merged((" " * prefix + line).replace(" ", "\u2581"), values):
                all_ids += [ids[piece]] if piece in ids else [3 + b for b in piece.encode()]
            expected.append(all_ids)
        got = tokens(path, lines)
        wrong = [(a, b, c) for a, b, c in zip(lines, got, expected) if b != c]
        check(f"scores: ids, prefix {prefix}", not wrong and len(got) == len(lines), str(wrong[:1]))
        check(f"scores: control tokens are plain text, prefix {prefix}", 2 not in tokens(path, ["a</s>b"])[0])


def refusals():
    fields = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "none-such", "tokenizer.ggml.tokens": ["a"], "tokenizer.ggml.merges": ["a a"]}
    check("an unknown pre-tokenizer is named", "none-such" in tokens(gguf("pre.gguf", fields), ["a"])[0])
    check("an unknown model is named", "odd" in tokens(gguf("odd.gguf", {**fields, "tokenizer.ggml.model": "odd"}), ["a"])[0])
    check("a merge without its token is an error", "merge" in tokens(gguf("merge.gguf", {**fields, "tokenizer.ggml.pre": "gpt-2"}), ["a"])[0])


# ---- ingot chat --------------------------------------------------------------------------------------

MODEL = os.path.join(os.path.dirname(__file__), "support/tiny_llama.gguf")


def chat():
    template = os.path.join(PLACE.name, "template.jinja")
    with open(template, "w", encoding="utf-8") as file:  # the model's weights are random, so its answers may not be UTF-8
        file.write("{% for m in messages if m.role != 'assistant' %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:")
    base = [INGOT, "chat", "--model", MODEL, "--template", template, "--tokens", "6", "--time", "--system", "s"]

    def run(command, given=b""):
        done = subprocess.run(command, input=given, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr.decode()

    def generated(prompt):
        return run([INGOT, "generate", "--model", MODEL, "--tokens", "6", prompt])[1][len(prompt):]
    code, out, said = run(base, b"one\ntwo\n/new\none\n")
    counts = [list(map(int, re.findall(r"\d+", line))) for line in said.splitlines()]
    check("chat: three answers", code == 0 and len(counts) == 3, said)
    check("chat: the second answer reuses the cache", len(counts) == 3 and counts[0][1] == 0 and counts[1][1] > 8, said)
    one, two = generated("system: s\nuser: one\nassistant:"), generated("system: s\nuser: one\nuser: two\nassistant:")
    check("chat: the answers of generate", out == one + two + one, repr((out, one, two)))
    code, _, said = run([INGOT, "chat", "--model", MODEL, "hi"])
    check("chat: a model without a template", code != 0 and "--template" in said, said)
    code, _, said = run([*base, "--context", "8", "a long message that does not fit"])
    check("chat: a full context", code != 0 and "--context" in said, said)


RANDOM = random.Random(5)
byte_level(RANDOM)
scored(RANDOM)
refusals()
chat()
finish()
