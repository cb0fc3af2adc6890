"""Tokenizers of random configurations equal those of the `tokenizers` package.

Each round draws a tokenizer.json (normalizers, pre-tokenizers, a model trained on some lines, post-processors, added tokens,
truncation, padding) and encodes random texts and pairs with both. A file that the package reads is either encoded the same
way or refused when it is loaded. A difference is printed with the smallest configuration and text that show it.

test_tokenizer_configs.py [ROUNDS [SEED]]
"""
import copy
import ctypes
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_tokenizers as lines  # exits if the package is not installed
from tokenizers import Tokenizer, models, trainers

ROUNDS, SEED = 150, 1
TEXTS = 12


# ---- the library ----------------------------------------------------------------------------------


class Text(ctypes.Structure):
    _fields_ = [("at", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class Encoding(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int)] + [(name, ctypes.POINTER(ctypes.c_int32)) for name in
                                        ("ids", "types", "starts", "ends", "words")] + [
        ("sequences", ctypes.POINTER(ctypes.c_int8)), ("mask", ctypes.POINTER(ctypes.c_uint8)),
        ("special", ctypes.POINTER(ctypes.c_uint8))]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("plain", ctypes.c_bool), ("max_length", ctypes.c_int), ("pad", ctypes.c_int)]


def library():
    lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(lines.INGOT)), "libingot.so"))
    lib.ig_error.restype = ctypes.c_char_p
    lib.ig_tokenizer_load.restype = ctypes.c_void_p
    lib.ig_tokenizer_load.argtypes = [ctypes.c_char_p]
    lib.ig_tokenizer_free.argtypes = [ctypes.c_void_p]
    lib.ig_tokenizer_token.restype = ctypes.c_char_p
    lib.ig_tokenizer_token.argtypes = [ctypes.c_void_p, ctypes.c_int]
    lib.ig_tokenizer_encode.restype = ctypes.POINTER(Encoding)
    lib.ig_tokenizer_encode.argtypes = [ctypes.c_void_p, ctypes.POINTER(Text), ctypes.POINTER(Text), ctypes.c_int,
                                        ctypes.POINTER(Options)]
    lib.ig_free.argtypes = [ctypes.c_void_p]
    return lib


LIB = library()


class Refused(Exception):
    pass


def text_list(texts):
    return (Text * len(texts))(*[Text(text, len(text)) for text in texts])


FIELDS = ("ids", "types", "offsets", "words", "sequences", "mask", "special", "tokens")


def encode_ours(path, firsts, seconds, plain):
    """A tuple of FIELDS for each text; an exception if the file or a text is refused."""
    t = LIB.ig_tokenizer_load(path.encode())
    if not t:
        raise Refused("load: " + LIB.ig_error(None).decode(errors="replace"))
    options = Options(ctypes.sizeof(Options), plain, 0, 0)
    got = LIB.ig_tokenizer_encode(t, text_list(firsts), text_list(seconds) if seconds else None, len(firsts),
                                  ctypes.byref(options))
    if not got:
        LIB.ig_tokenizer_free(t)
        raise Refused("encode: " + LIB.ig_error(None).decode(errors="replace"))
    out = []
    for e in got[:len(firsts)]:
        n = e.n
        tokens = [LIB.ig_tokenizer_token(t, i) for i in e.ids[:n]]
        offsets, special = list(zip(e.starts[:n], e.ends[:n])), e.special[:n]
        sequences = [None if special[i] else e.sequences[i] for i in range(n)]
        out.append((e.ids[:n], e.types[:n], offsets, e.words[:n], sequences, e.mask[:n], special, tokens))
    LIB.ig_free(got)
    LIB.ig_tokenizer_free(t)
    return out


def encode_theirs(oracle, firsts, seconds, plain):
    read = [[lines.decoded(text) for text in side] for side in (firsts, seconds or [])]
    inputs = list(zip(*([text for text, _ in side] for side in read))) if seconds else [text for text, _ in read[0]]
    out, added = [], oracle.get_added_tokens_decoder()
    for i, e in enumerate(oracle.encode_batch(inputs, add_special_tokens=not plain)):
        special = e.special_tokens_mask
        sequences = [None if special[j] else s for j, s in enumerate(e.sequence_ids)]
        starts = [[0] if s is None else read[s][i][1] for s in sequences]
        offsets = [(at[a], at[b]) if max(a, b) < len(at) else (a, b, "beyond the text") for at, (a, b) in zip(starts, e.offsets)]
        words = [-1 if w is None else w for w in e.word_ids]
        tokens = [added[i].content if i in added else oracle.id_to_token(i) for i in e.ids]
        out.append((e.ids, e.type_ids, offsets, words, sequences, e.attention_mask, e.special_tokens_mask,
                    [None if token is None else token.split("\0")[0].encode() for token in tokens]))
    return out


# ---- drawing a configuration ----------------------------------------------------------------------

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
PATTERNS = [GPT2, LLAMA3, QWEN2, CL100K, O200K, DEEPSEEK, BLOOM, r"\s+", r"\w+|[^\w\s]+", r"\d", r"\p{P}", r"\p{Lu}", r"[一-龥぀-ゟ]+",
            r"a|e", r"\n", r"^", r"x*", r".", r"\s+$", r"(?<=[a-z])[0-9]", r"\bt", r"[^a-z]+", r"\p{Han}+", r" {2,}"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
WORDS = lines.WORDS


def pattern(r):
    if r.random() < 0.5:
        return {"String": r.choice([" ", "e", "the", "-", "▁", "''", "é", "\n", "😀", "ab", "..", "́"])}
    return {"Regex": r.choice(PATTERNS)}


def maybe(r, made):
    """Some optional fields are left out."""
    return {k: v for k, v in made.items() if k == "type" or r.random() < 0.95}


def normalizer(r, depth=0):
    kinds = {
        "BertNormalizer": lambda: {"clean_text": r.random() < .5, "handle_chinese_chars": r.random() < .5,
                                   "strip_accents": r.choice([None, True, False]), "lowercase": r.random() < .5},
        "NFC": dict, "NFD": dict, "NFKC": dict, "NFKD": dict, "Lowercase": dict, "StripAccents": dict, "Nmt": dict,
        "ByteLevel": dict,
        "Strip": lambda: {"strip_left": r.random() < .5, "strip_right": r.random() < .5},
        "Replace": lambda: {"pattern": pattern(r), "content": r.choice(["", " ", "▁", "x", "éa", "''", "<mask>"])},
        "Prepend": lambda: {"prepend": r.choice(["▁", " ", "ab", "é", "", "I "])},
        "Sequence": lambda: {"normalizers": [normalizer(r, depth + 1) for _ in range(r.randint(0, 4))]},
    }
    if CHARSMAPS:
        kinds["Precompiled"] = lambda: {"precompiled_charsmap": r.choice(CHARSMAPS)}
    name = r.choice([k for k in kinds if k != "Sequence"] + ["Sequence"] * (4 if depth < 2 else 0))
    return {"type": name, **kinds[name]()}


def pre_tokenizer(r, depth=0):
    kinds = {
        "BertPreTokenizer": dict, "Whitespace": dict, "WhitespaceSplit": dict, "UnicodeScripts": dict,
        "Punctuation": lambda: {"behavior": r.choice(BEHAVIORS)},
        "Digits": lambda: {"individual_digits": r.random() < .5},
        "Metaspace": lambda: {"replacement": r.choice(["▁", "▁", "_", "é"]),
                              "prepend_scheme": r.choice(["always", "first", "never"]), "split": r.random() < .7},
        "ByteLevel": lambda: {"add_prefix_space": r.random() < .5, "trim_offsets": r.random() < .5,
                              "use_regex": r.random() < .5},
        "CharDelimiterSplit": lambda: {"delimiter": r.choice([" ", "-", "e", "▁", "é"])},
        "Split": lambda: {"pattern": r.choice([pattern(r), pattern(r), {"String": ""}]), "behavior": r.choice(BEHAVIORS), "invert": r.random() < .3},
        "FixedLength": lambda: {"length": r.randint(1, 7)},
        "Sequence": lambda: {"pretokenizers": [pre_tokenizer(r, depth + 1) for _ in range(r.randint(0, 3))]},
    }
    name = r.choice([k for k in kinds if k != "Sequence"] + ["Sequence"] * (4 if depth < 2 else 0))
    return {"type": name, **kinds[name]()}


BYTES = [f"<0x{b:02X}>" for b in range(256)]
SPECIAL = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]


def model(r, config):
    """A model that is trained on some lines with the parts of the configuration."""
    kind = r.choice(["WordPiece", "BPE", "Unigram", "WordLevel", "BPE", "Unigram"])
    names = SPECIAL + (BYTES[:256 if r.random() < .8 else 200] if r.random() < .3 else [])
    size = len(names) + r.choice([60, 200, 500, 900])
    extra = {}
    if kind == "WordPiece":
        prefix = r.choice(["##", "##", "", "é", "@@"])
        empty, trainer = models.WordPiece(), trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=names, continuing_subword_prefix=prefix, show_progress=False)
        extra = {"unk_token": "[UNK]", "continuing_subword_prefix": prefix,
                 "max_input_chars_per_word": r.choice([100, 100, 5, 12])}
    elif kind == "BPE":
        affixes = {"continuing_subword_prefix": r.choice([None, None, "", "##"]),
                   "end_of_word_suffix": r.choice([None, None, "", "</w>"])}
        empty, trainer = models.BPE(), trainers.BpeTrainer(
            vocab_size=size, special_tokens=names, show_progress=False, limit_alphabet=r.choice([40, 200, 1000]),
            **{k: v for k, v in affixes.items() if v is not None})
        fallback = r.random() < (.1 if any(affixes.values()) else .5)
        extra = {"dropout": r.choice([None, None, 0.0]), "unk_token": r.choice([None, "[UNK]", "[UNK]"]),
                 "fuse_unk": r.random() < .5, "byte_fallback": fallback, "ignore_merges": r.random() < .4, **affixes}
    elif kind == "Unigram":
        empty, trainer = models.Unigram(), trainers.UnigramTrainer(
            vocab_size=size + 300, special_tokens=names, unk_token="[UNK]", show_progress=False, max_piece_length=8)
        extra = {"byte_fallback": r.random() < .5, "unk_id": r.choice([0, 0, 0, 3])}
    else:
        empty, trainer = models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(
            vocab_size=size, special_tokens=names, show_progress=False)
        extra = {"unk_token": "[UNK]"}
    t = Tokenizer(empty)
    parts = {**json.loads(t.to_str()), "normalizer": config["normalizer"], "pre_tokenizer": config["pre_tokenizer"]}
    t = Tokenizer.from_str(json.dumps(parts))
    t.train_from_iterator(r.sample(CORPUS, 60), trainer)
    made = {**json.loads(t.to_str())["model"], **extra}
    if kind == "BPE" and r.random() < .3 and not any(" " in part for pair in made["merges"] for part in pair):
        made["merges"] = [" ".join(pair) for pair in made["merges"]]
    if kind == "Unigram" and r.random() < .3:
        made["vocab"] = [[token, round(score * 2) / 2] for token, score in made["vocab"]]  # ties
    return made


def added_tokens(r, made):
    vocab = [entry[0] for entry in made["vocab"]] if isinstance(made["vocab"], list) else list(made["vocab"])
    ids = {token: i for i, token in enumerate(vocab)} if isinstance(made["vocab"], list) else made["vocab"]
    names = r.sample(SPECIAL, r.randint(0, 5))
    names += r.sample(["<mask>", "yesterday", "the", "the of", "of", " hello ", "Hello", "WORLD", "café", "CAFÉ", "e", "é", "C++",
                       "...", "<s>", "你好", "好世", "😀", "▁", "İ", "foo", "foo-bar", "\n", "- -"], r.randint(0, 6))
    names += r.sample(vocab, min(len(vocab), r.choice([0, 0, 0, 1, 3])))
    next_id, out = len(ids), []
    for name in dict.fromkeys(names):
        if not name:
            continue
        known = name in ids
        out.append({"id": ids[name] if known else next_id, "content": name, "single_word": r.random() < .3,
                    "lstrip": r.random() < .3, "rstrip": r.random() < .3, "normalized": r.random() < .5,
                    "special": r.random() < .5})
        next_id += not known
    if r.random() < .5:
        out.sort(key=lambda token: token["id"])
    if out and r.random() < .2:  # ids of the file do not count, and of one text the last
        out.append({**r.choice(out), "id": r.randint(0, 99), "lstrip": True, "normalized": r.random() < .5})
    return out


def processor(r, ids, depth=0):
    def special(name):
        return [name, ids.get(name, 0)]

    def item():
        return {"SpecialToken": {"id": r.choice(["[CLS]", "[SEP]"]), "type_id": r.randint(0, 3)}}

    def sequence(name):
        return {"Sequence": {"id": name, "type_id": r.randint(0, 2)}}

    def template():
        single = [item() for _ in range(r.randint(0, 2))] + [sequence("A")] + [item() for _ in range(r.randint(0, 2))]
        pair = [item() for _ in range(r.randint(0, 2))] + [sequence("A")] + [item() for _ in range(r.randint(0, 2))]
        pair += [sequence("B")] + [item() for _ in range(r.randint(0, 2))]
        if r.random() < .15:
            a, b = pair.index(next(i for i in pair if i.get("Sequence", {}).get("id") == "A")), pair.index(
                next(i for i in pair if i.get("Sequence", {}).get("id") == "B"))
            pair[a], pair[b] = pair[b], pair[a]
        known = {name: {"id": name, "ids": [ids.get(name, 0)] * r.choice([1, 1, 1, 2]), "tokens": []}
                 for name in ("[CLS]", "[SEP]")}
        for entry in known.values():
            entry["tokens"] = [entry["id"]] * len(entry["ids"])
        return {"single": single, "pair": pair, "special_tokens": known}

    def several():
        """Byte-level ones are first: behind a template, the package numbers the texts wrongly."""
        made = [processor(r, ids, depth + 1) for _ in range(r.randint(0, 3))]
        return {"processors": sorted(made, key=lambda one: one["type"] != "ByteLevel")}

    kinds = {
        "BertProcessing": lambda: {"sep": special("[SEP]"), "cls": special("[CLS]")},
        "RobertaProcessing": lambda: {"sep": special("[SEP]"), "cls": special("[CLS]"), "trim_offsets": r.random() < .6,
                                      "add_prefix_space": r.random() < .5},
        "TemplateProcessing": template,
        "ByteLevel": lambda: {"add_prefix_space": r.random() < .5, "trim_offsets": r.random() < .7, "use_regex": r.random() < .5},
        "Sequence": several,
    }
    name = r.choice([k for k in kinds if k != "Sequence"] + ["Sequence"] * (2 if depth == 0 else 0))
    return {"type": name, **kinds[name]()}


def configuration(r):
    config = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
              "pre_tokenizer": None, "post_processor": None, "decoder": None}
    if r.random() < .75:
        config["normalizer"] = normalizer(r)
    if r.random() < .85:
        config["pre_tokenizer"] = pre_tokenizer(r)
    config["model"] = model(r, config)
    vocab = config["model"]["vocab"]
    ids = {entry[0]: i for i, entry in enumerate(vocab)} if isinstance(vocab, list) else vocab
    config["added_tokens"] = added_tokens(r, config["model"])
    rule = config["normalizer"] and Tokenizer.from_str(json.dumps(config)).normalizer
    forms = {""}  # the package never ends if a normal form is empty; of several equal ones it takes any
    for token in config["added_tokens"]:
        form = rule.normalize_str(token["content"]) if rule else token["content"]
        token["normalized"] &= form not in forms
        forms |= {form} if token["normalized"] else set()
    if r.random() < .7:
        config["post_processor"] = processor(r, ids)
    if r.random() < .3:
        config["truncation"] = {"direction": r.choice(["Left", "Right"]), "max_length": r.randint(8, 24),
                                "strategy": r.choice(["LongestFirst", "LongestFirst", "OnlyFirst", "OnlySecond"]),
                                "stride": r.choice([0, 0, 2])}
    if r.random() < .3:
        config["padding"] = {"strategy": r.choice(["BatchLongest", {"Fixed": r.randint(0, 40)}]),
                             "direction": r.choice(["Left", "Right"]), "pad_to_multiple_of": r.choice([None, 0, 8, 5]),
                             "pad_id": r.randint(0, 5), "pad_type_id": r.randint(0, 3), "pad_token": "[PAD]"}
    return config


def text(r):
    """Bytes, also with line ends and pieces of added tokens."""
    out = lines.line(r) if r.random() < .7 else " ".join(r.choice(WORDS) for _ in range(r.randint(0, 12))).encode()
    for _ in range(r.choice([0, 0, 1, 3])):
        at = r.randint(0, len(out))
        out = out[:at] + r.choice(["\n", "\r\n", " \n ", "[MASK]", " [SEP] ", "  <mask>  ", "the of", "HELLO", "Café", "▁", "..",
                                   "foo-bar", " ", "  ", "'s", "'LL", "123456", "e\u0301", "\u0301", "你好世界", "\0"]).encode() + out[at:]
    return out[:2000]


# ---- comparing ------------------------------------------------------------------------------------


def difference(config, firsts, seconds, plain, path):
    """What differs: None, or a pair of a name and a message. 'refused' and 'skipped' are not failures."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file, ensure_ascii=False)
    failure = None
    try:
        oracle = Tokenizer.from_file(path)
        expected = encode_theirs(oracle, firsts, seconds, plain)
    except BaseException as problem:  # pylint: disable=broad-except
        if isinstance(problem, KeyboardInterrupt):
            raise
        failure = str(problem)
    try:
        got = encode_ours(path, firsts, seconds, plain)
    except Refused as problem:
        return ("skipped", failure, str(problem)) if failure else (
            "refused" if str(problem).startswith("load") else "error", str(problem), str(problem))
    if failure is not None:
        return "accepted", failure
    for i, (e, g) in enumerate(zip(expected, got)):
        for name, a, b in zip(FIELDS, e, g):
            if a != b:
                return name, f"{firsts[i]!r} {seconds[i] if seconds else ''!r}\n  expected {a}\n  got      {b}\n  {e[7]}\n  {g[7]}"
    return None


def smaller(value):
    """Simpler forms of a part of a configuration."""
    if isinstance(value, dict) and "type" in value:
        yield None
        for key in ("normalizers", "pretokenizers", "processors"):
            for i in range(len(value.get(key, []))):
                yield {**value, key: value[key][:i] + value[key][i + 1:]}
                yield value[key][i]
                for other in smaller(value[key][i]):
                    if other is not None:
                        yield {**value, key: value[key][:i] + [other] + value[key][i + 1:]}
    elif isinstance(value, dict):
        yield None
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1:]


def shrink(config, firsts, seconds, plain, path, kind):
    def same(*arguments):
        found = difference(*arguments, path)
        return found is not None and found[0] == kind

    for i in range(len(firsts)):
        one = (config, firsts[i:i + 1], seconds and seconds[i:i + 1], plain)
        if same(*one):
            firsts, seconds = one[1], one[2]
            break
    changed = True
    while changed:
        changed = False
        for part in ("truncation", "padding", "post_processor", "added_tokens", "pre_tokenizer", "normalizer"):
            for other in smaller(config[part]):
                if other != config[part] and same({**config, part: other}, firsts, seconds, plain):
                    config, changed = {**config, part: other}, True
                    break
        if seconds and same(config, firsts, None, plain):
            seconds, changed = None, True
        if len(firsts) == 1:
            for which in range(2 if seconds else 1):
                texts = [firsts, seconds]
                n = max(1, len(texts[which][0]) // 2)
                while n:
                    at = 0
                    while at < len(texts[which][0]):
                        short = texts[which][0][:at] + texts[which][0][at + n:]
                        tried = [firsts, seconds]
                        tried[which] = [short]
                        if same(config, *tried, plain):
                            texts[which] = tried[which]
                            firsts, seconds = texts
                            changed = True
                        else:
                            at += n
                    n //= 2
    return config, firsts, seconds


def shown(config):
    out = copy.deepcopy(config)
    out["model"] = {k: v for k, v in out["model"].items() if k not in ("vocab", "merges")}
    return json.dumps({k: v for k, v in out.items() if v not in (None, [])}, ensure_ascii=False)


def charsmaps():
    """Character maps of sentencepiece, if that package is installed."""
    try:
        import base64
        import io
        import sentencepiece as trainer
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        return []
    out = []
    for rule in ("nmt_nfkc", "nfkc_cf"):
        made = io.BytesIO()
        trainer.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d"] * 9), model_writer=made, vocab_size=12,
                                           model_type="char", normalization_rule_name=rule, minloglevel=2)
        one = sentencepiece_model_pb2.ModelProto()
        one.ParseFromString(made.getvalue())
        out.append(base64.b64encode(one.normalizer_spec.precompiled_charsmap).decode())
    return out


# ---- cases ----------------------------------------------------------------------------------------


def token(content, number, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": False, **flags}


def wordlevel(**parts):
    vocab = {name: i for i, name in enumerate(["[UNK]", "a", "b", "x", "ab", "tok", "[CLS]", "[SEP]"])}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "FixedLength", "length": 1}, "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab}, **parts}


def replaced(expression, content="x"):
    return wordlevel(normalizer={"type": "Replace", "pattern": {"Regex": expression}, "content": content})


def byte_level(**flags):
    return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True, **flags}


UNIGRAM = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0], ["a", -1.0]]}

# Each found a difference once: a name, a configuration, texts.
CASES = [
    ("a token whose blanks another token takes", wordlevel(added_tokens=[token("a", 1, rstrip=True), token(" ", 8)]),
     [b"a b", b"a  b a"]),
    ("ids that the file gives", wordlevel(added_tokens=[token("A", 99), token("tok", 3), token("B", 50), token("A", 7, lstrip=True)]),
     [b"A B tok  A"]),
    ("two texts of one id", wordlevel(model={"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 1}}), [b"ab"]),
    ("padding to 0", wordlevel(padding={"strategy": {"Fixed": 0}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                                        "pad_type_id": 0, "pad_token": "[UNK]"}), [b"a", b"ab"]),
    ("two processors that trim", wordlevel(added_tokens=[token("tok", 5, rstrip=True)], post_processor={
        "type": "Sequence", "processors": [byte_level(), byte_level(add_prefix_space=False), byte_level(trim_offsets=False)]}),
     [b" a tok  b"]),
    ("blanks of unknown tokens", wordlevel(model=UNIGRAM, post_processor=byte_level(add_prefix_space=False)), [b"\ta\xe3\x80\x80"]),
    ("word characters", replaced(r"\w"), ["x²¼½¹\u200d\u200cé_1٣".encode()]),
    ("categories of Unicode 16", replaced(r"\p{Lu}|\p{Mn}|\p{So}"), ["\u1c89\u0897\u2427\ua7dc\U00010d50".encode()]),
    ("word characters in a class", replaced(r"[\w]"), ["x²¼½¹\u200d\u200cé_1٣".encode()]),
    ("the last bit of scores", wordlevel(pre_tokenizer=None, model={**UNIGRAM, "vocab": [["<unk>", 0], *(
        [name, random.Random(i).uniform(-9, -3)] for i, name in enumerate(["a", "aa", "aaa", "b", "bb", "bbb", "ab", "ba"]))]}),
     [b"a" * n + b"b" * m for n in range(9) for m in range(9)]),
    ("the beginning of a line", replaced("^"), [b"a\nb\n", b"\n"]),
    ("empty matches", replaced("x*", "ab"), [b"axxb", b"x", b"bx"]),
    ("a class in a class", replaced(BLOOM), ["a b, (c) [d]|é。".encode()]),
    ("an intersection of classes", replaced(r"[\p{L}&&[^a-cé]]+"), ["abcdé éfg".encode()]),
    ("lookbehind and boundaries", replaced(r"(?<=[ab]|xy)1|(?<!a)2|\bt\B"), [b"a1 xy1 1 a2 b2 tt t at"]),
    ("scripts", replaced(r"\p{Han}+|[^\P{Hangul}]|\p{Katakana}\p{^Hiragana}"), ["東京a한ｶあカaカあ々〇".encode()]),
    ("any case", replaced(r"(?i:[A-C]|K|s)"), ["abcdkKsSſ\u212aé".encode()]),
    ("a long search", replaced("a+z"), [b"a" * 4000 + b"bz"]),
    ("a prefix without text", wordlevel(normalizer={"type": "Prepend", "prepend": ""}), [b"ab"]),
]

# What is refused, and the words of the message.
REFUSED = [
    ("pre_tokenizer 'UnicodeScripts'", wordlevel(pre_tokenizer={"type": "UnicodeScripts"})),
    ("normalizer 'Nothing'", wordlevel(normalizer={"type": "Nothing"})),
    ("post_processor 'Nothing'", wordlevel(post_processor={"type": "Nothing"})),
    ("model 'Nothing'", wordlevel(model={"type": "Nothing", "vocab": {"a": 0}})),
    ("property", replaced(r"\p{Thai}")),
    ("empty", replaced(r"(a*)*")),
    ("unlimited length", replaced(r"(?<=a+)b")),
    ("byte_fallback", wordlevel(model={"type": "BPE", "byte_fallback": True, "continuing_subword_prefix": "##", "vocab": {"a": 0},
                                       "merges": []})),
    ("prepend_scheme", wordlevel(pre_tokenizer={"type": "Metaspace", "replacement": "_", "prepend_scheme": "sometimes"})),
    ("replacement", wordlevel(pre_tokenizer={"type": "Metaspace", "replacement": "__"})),
    ("contradicts", wordlevel(pre_tokenizer={"type": "Metaspace", "replacement": "_", "add_prefix_space": False,
                                             "prepend_scheme": "first"})),
    ("delimiter", wordlevel(pre_tokenizer={"type": "CharDelimiterSplit", "delimiter": "ab"})),
    ("length", wordlevel(pre_tokenizer={"type": "FixedLength", "length": 0})),
    ("behavior", wordlevel(pre_tokenizer={"type": "Punctuation", "behavior": "isolated"})),
    ("truncation.direction", wordlevel(truncation={"direction": "left", "max_length": 2, "strategy": "LongestFirst", "stride": 0})),
    ("truncation.strategy", wordlevel(truncation={"max_length": 2, "strategy": "longest_first", "stride": 0})),
    ("padding.direction", wordlevel(padding={"direction": "left", "strategy": "BatchLongest", "pad_to_multiple_of": None,
                                             "pad_id": 0, "pad_type_id": 0, "pad_token": "a"})),
    ("padding.strategy", wordlevel(padding={"direction": "Left", "strategy": "Longest", "pad_to_multiple_of": None,
                                            "pad_id": 0, "pad_type_id": 0, "pad_token": "a"})),
    ("version", {**wordlevel(), "version": "2.0"}),
    ("merges", wordlevel(model={"type": "BPE", "vocab": {"a": 0, " b": 1, "a b": 2}, "merges": ["a  b"]})),
    ("unknown token", wordlevel(model={"type": "BPE", "vocab": {"b": 0}, "merges": [], "unk_token": "?"})),
    ("dropout", wordlevel(model={"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []})),
]


def no_room(path):
    """One token is too few for two special ones; the package then does not truncate."""
    config = wordlevel(truncation={"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
                       post_processor={"type": "BertProcessing", "sep": ["[SEP]", 7], "cls": ["[CLS]", 6]})
    found = difference(config, [b"ab"], None, False, path)
    return not (found and found[0] == "error" and "2 special tokens" in found[1])


def cases(path):
    """The number of cases that fail."""
    wrong = no_room(path)
    for name, config, texts in CASES:
        found = difference(config, texts, None, False, path)
        if found and found[0] != "tokens":  # of two texts of one id, the package shows any
            print(f"{name}: {found[0]} {str(found[1])[:1000]}")
            wrong += 1
    for word, config in REFUSED:
        found = difference(config, [b"a"], None, False, path)
        fine = found and found[0] in ("refused", "skipped") and word in found[2] and (path in found[2] or "encode" in found[2])
        if not fine:
            print(f"not refused with '{word}': {found}")
        wrong += not fine
    return wrong


CORPUS = lines.corpus()
CHARSMAPS = charsmaps()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    counts = {"equal": 0}
    reasons = {}
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "tokenizer.json")
        broken = cases(path)
        for i in range(seed, seed + rounds):
            r = random.Random(i)
            try:
                config = configuration(r)
            except BaseException as problem:  # pylint: disable=broad-except
                if isinstance(problem, (KeyboardInterrupt, TypeError, NameError)):
                    raise
                counts["untrained"] = counts.get("untrained", 0) + 1
                continue
            firsts = [text(r) for _ in range(TEXTS)]
            seconds = [text(r) for _ in range(TEXTS)] if r.random() < .3 else None
            plain = r.random() < .2
            found = difference(config, firsts, seconds, plain, path)
            kind = found[0] if found else "equal"
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("refused", "skipped", "accepted"):
                reasons[kind + ": " + found[1]] = reasons.get(kind + ": " + found[1], 0) + 1
            elif found:
                config, firsts, seconds = shrink(config, firsts, seconds, plain, path, kind)
                name, why = difference(config, firsts, seconds, plain, path)[:2]
                print(f"---- seed {i}: {name}{', plain' if plain else ''}\n{shown(config)}\n{why}", flush=True)
    for why, n in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"  {n} x {why[:300]}")
    print(counts)
    wrong = broken + sum(n for kind, n in counts.items() if kind not in ("equal", "refused", "skipped", "accepted", "untrained"))
    print(f"{rounds + len(CASES) + len(REFUSED) + 1 - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
