"""Text models. Generator continues texts and answers messages. Other models come from folders as hubs publish them: vectors
(embed), labels (classify), words for gaps (fill), and answers to questions (answer). Each function takes a model or its folder. BERT, DistilBERT, RoBERTa, MPNet and ELECTRA are known."""
from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

from . import _ingot

if TYPE_CHECKING:
    from . import Array

_WINDOW, _OVERLAP, _BATCH = 384, 128, 8  # tokens of a window, tokens that two windows share, windows of a run


class Encoding(NamedTuple):
    """The tokens of a text. Offsets count characters of the text; (0, 0) for tokens that are not in it."""
    ids: list[int]
    tokens: list[str]
    types: list[int]  # 1 for the second text of a pair, if the model tells them apart
    offsets: list[tuple[int, int]]
    words: list[int]  # the index of the word, -1 for none
    sequences: list[int]  # 0 or 1: in the first or second text; -1: in neither
    mask: list[int]  # 0 for padding
    special: list[int]


class Label(NamedTuple):
    """The most probable label, and the probabilities of all. Models for regression have values instead."""
    label: str
    probability: float
    labels: dict[str, float]


class Word(NamedTuple):
    """A word or entity of a text, from one character to another, and its label."""
    word: str
    start: int
    end: int
    label: str
    probability: float


class Guess(NamedTuple):
    """A word for a gap."""
    word: str
    id: int
    probability: float


class Answer(NamedTuple):
    """The part of a context that answers a question, from one character to another."""
    text: str
    start: int
    end: int
    probability: float


def _listed(texts):
    """The texts as a list, and whether there was one only."""
    return ([texts], True) if isinstance(texts, str) else (list(texts), False)


def _characters(text):
    """A function from places in the bytes of a text to places in its characters."""
    if text.isascii():
        return lambda place: place
    at = []
    for i, letter in enumerate(text):
        at += [i] * len(letter.encode("utf-8", "surrogatepass"))
    at.append(len(text))
    return at.__getitem__


class Tokenizer:
    """The tokenizer of a model folder, a tokenizer.json or a vocab.txt."""

    def __init__(self, source: Any) -> None:
        is_open = isinstance(source, _ingot._Tokenizer)
        self._tokenizer = source if is_open else _ingot._tokenizer_load(os.fspath(source))

    def __len__(self) -> int:
        return self._tokenizer.count()

    def token(self, id: int) -> str | None:
        """The token of an id, or None."""
        return self._tokenizer.token(id)

    def id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._tokenizer.id(token)

    def special(self, name: str) -> int | None:
        """The id of the special token "mask" or "pad", or None."""
        return self._tokenizer.special(name)

    def __call__(self, texts: Any, pairs: Any = None, *, special: bool = True, max_length: int | None = None,
                 pad: int | None = None) -> Any:
        """The encoding of a text, or a list for several texts. pairs: second texts. max_length and pad: the most and least
        tokens; None: what the tokenizer's file says; -1: no limit and no padding."""
        texts, one = _listed(texts)
        pairs = None if pairs is None else _listed(pairs)[0]
        rows = self._tokenizer.encode(texts, pairs, not special, max_length or 0, pad or 0)
        made = [self._encoding(row, (text, None if pairs is None else pairs[i]))
                for i, (row, text) in enumerate(zip(rows, texts))]
        return made[0] if one else made

    def _encoding(self, row, texts):
        ids, types, starts, ends, words, sequences, mask, added = row
        places = [_characters(text) if text is not None else None for text in texts]
        offsets = [(0, 0) if s < 0 else (places[s](start), places[s](end)) for s, start, end in zip(sequences, starts, ends)]
        return Encoding(ids, [self.token(i) for i in ids], types, offsets, words, sequences, mask, added)


def _probabilities(logits, independent):
    if independent:
        return [1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x)) for x in logits]
    most = max(logits)
    parts = [math.exp(x - most) for x in logits]
    total = sum(parts)
    return [part / total for part in parts]


class Model:
    """A text model. head is the task that its folder is for: "embed", "classify", "tag", "fill" or "answer"."""

    architecture: str
    head: str
    layers: int
    heads: int
    width: int
    dimensions: int
    max_length: int
    labels: list[str]
    many_labels: bool
    regression: bool
    parameters: int
    mask_id: int | None
    tokenizer: Tokenizer

    def __init__(self, folder: Any, dtype: Any = None) -> None:
        self._model = _ingot._text_load(os.fspath(folder), dtype)
        self.__dict__.update(self._model.info())
        self.tokenizer = Tokenizer(self._model.tokenizer())

    def __repr__(self):
        return f"<ingot.text.Model {self.architecture} for '{self.head}', {self.parameters:,} parameters>"

    def _needs(self, *heads):
        if self.head not in heads:
            raise ValueError(f"this model is for '{self.head}', not for '{heads[0]}'")

    def _encoded(self, text, pair=None, max_length=None):
        return self.tokenizer(text, pair, max_length=max_length or self.max_length, pad=-1)

    def _logits(self, encodings, head=None, at=None):
        return self._model.head(head or self.head, [(e.ids, e.types) for e in encodings], at)

    def hidden(self, texts: Any) -> Any:
        """Hidden states of a text, (tokens, width); a list of them for several."""
        texts, one = _listed(texts)
        encodings = [self._encoded(text) for text in texts]
        made = []
        for i in range(0, len(encodings), _BATCH):
            batch = encodings[i:i + _BATCH]
            states = self._logits(batch, "hidden")
            made += [states[k, :len(e.ids)] for k, e in enumerate(batch)]
        return made[0] if one else made

    def embed(self, texts: Any) -> Array:
        """The vector of a text, or a matrix with one row per text."""
        texts, one = _listed(texts)
        vectors = self._model.run("embed", texts, None)
        return vectors[0] if one else vectors

    def classify(self, texts: Any, pairs: Any = None, *, entities: bool = False) -> Any:
        """The label of a text, or a list for several texts. pairs: second texts. A model for tagging gives a list of words
        for each text, with entities a list of entities."""
        self._needs("classify", "tag")
        texts, one = _listed(texts)
        if self.head == "tag":
            made = self._tag(texts, entities)
        else:
            made = self._label(texts, None if pairs is None else _listed(pairs)[0])
        return made[0] if one else made

    def _label(self, texts, pairs):
        made = []
        for logits in self._model.run("classify", texts, pairs).tolist():
            values = logits if self.regression else _probabilities(logits, self.many_labels)
            best = values.index(max(values))
            made.append(Label(self.labels[best], values[best], dict(zip(self.labels, values))))
        return made

    def _tag(self, texts, entities):
        made = []
        for i in range(0, len(texts), _BATCH):
            batch = [self._encoded(text) for text in texts[i:i + _BATCH]]
            for text, e, rows in zip(texts[i:], batch, self._logits(batch).tolist()):
                words = self._words(text, e, rows)
                made.append(_entities(text, words) if entities else words)
        return made

    def _words(self, text, e, rows):
        """A word has the label of its first token."""
        words = []
        for i, (start, end) in enumerate(e.offsets):
            if e.sequences[i] != 0:
                continue
            if i and e.sequences[i - 1] == 0 and e.words[i - 1] == e.words[i]:
                words[-1] = words[-1]._replace(word=text[words[-1].start:end], end=end)
                continue
            p = _probabilities(rows[i], False)
            best = p.index(max(p))
            words.append(Word(text[start:end], start, end, self.labels[best], p[best]))
        return words

    def fill(self, texts: Any, top: int = 5) -> Any:
        """The most probable words for each [MASK] of a text: a list for each gap. A list of these for several texts."""
        self._needs("fill")
        texts, one = _listed(texts)
        made = [self._fill(text, top) for text in texts]
        return made[0] if one else made

    def _fill(self, text, top):
        mask = self.tokenizer.token(self.mask_id)
        e = self._encoded(text.replace("<mask>", "[MASK]").replace("[MASK]", mask))
        gaps = [i for i, id in enumerate(e.ids) if id == self.mask_id]
        if not gaps:
            raise ValueError(f"the text {text[:40]!r} has no [MASK]")
        made = []
        for logits in self._logits([e], at=gaps).tolist():
            p = _probabilities(logits, False)
            best = sorted(range(len(p)), key=lambda i: -p[i])[:top]
            made.append([Guess(self._word(i), i, p[i]) for i in best])
        return made

    def _word(self, id):
        """A token as a word, without the mark of the blank before it."""
        token = self.tokenizer.token(id) or ""
        if token.startswith("\u2581"):
            return token[1:]
        return _from_bytes(token) if self._has_bytes() else token

    def _has_bytes(self):
        """Whether tokens are byte-level: the blank before a word is then written as a letter."""
        if "_bytes" not in self.__dict__:
            tokens = self.tokenizer("a a", special=False, max_length=-1, pad=-1).tokens
            self._bytes = any(token.startswith("\u0120") for token in tokens)
        return self._bytes

    def answer(self, questions: Any, context: str, *, tokens: int = 15, none: bool = False) -> Any:
        """The part of the context that answers a question, or a list of parts for several questions. tokens: the most tokens
        of an answer. With none, an answer is empty if that is more probable (SQuAD 2 models)."""
        self._needs("answer")
        questions, one = _listed(questions)
        made = [self._answer(question, context, tokens, none) for question in questions]
        return made[0] if one else made

    def _answer(self, question, context, tokens, none):
        e = self._encoded(question, context, -1)
        inside = [i for i, s in enumerate(e.sequences) if s == 1]
        if not inside:
            raise ValueError("the context has no text")
        first, last = inside[0], inside[-1] + 1
        room = min(self.max_length, _WINDOW) - (len(e.ids) - (last - first))
        if room < 8:
            raise ValueError(f"the question {question[:40]!r} is too long: it leaves room for {max(room, 0)} tokens")
        windows, at = [], first
        while not windows or windows[-1][-1 - (len(e.ids) - last)] < last - 1:
            windows.append([*range(first), *range(at, min(at + room, last)), *range(last, len(e.ids))])
            at += room - min(_OVERLAP, room // 2)
        best, nothing = (-1.0, 0, 0), 1.0
        for i in range(0, len(windows), _BATCH):
            parts = [Encoding(*([column[k] for k in w] for column in e)) for w in windows[i:i + _BATCH]]
            for part, rows in zip(parts, self._logits(parts).tolist()):
                found, empty = _best_span(part, rows, tokens)
                best, nothing = max(best, found, key=lambda s: s[0]), min(nothing, empty)
        if none and nothing > best[0]:
            return Answer("", 0, 0, nothing)
        return Answer(context[best[1]:best[2]], best[1], best[2], best[0])

    def export(self, path: Any, head: str | None = None) -> None:
        """Writes the model as an ONNX model that takes input_ids and attention_mask."""
        self._model.export(os.fspath(path), head)


def _entities(text, words):
    """Joins adjacent words of the same kind to entities, and drops words labelled "O". "B-" begins a new entity."""
    def kind(word):
        return word.label[2:] if word.label[:2] in ("B-", "I-") else word.label

    groups = []
    for word in words:
        if groups and word.label[:2] != "B-" and kind(word) == kind(groups[-1][0]):
            groups[-1].append(word)
        else:
            groups.append([word])
    return [Word(text[g[0].start:g[-1].end], g[0].start, g[-1].end, kind(g[0]), sum(w.probability for w in g) / len(g))
            for g in groups if kind(g[0]) != "O"]


def _from_bytes(token):
    """The text of a byte-level token. Printable bytes stand for themselves, the n-th other one is written as 256 + n."""
    others = [b for b in range(256) if not (33 <= b <= 126 or 0xa1 <= b <= 0xac or b >= 0xae)]
    values = [others[ord(c) - 256] if 256 <= ord(c) < 256 + len(others) else ord(c) for c in token]
    try:
        text = bytes(values).decode("utf-8")
    except ValueError:
        return token
    return text[1:] if text.startswith(" ") else text


def _best_span(e, rows, tokens):
    """The best (probability, start, end) of a window, and the probability of no answer, for which the first token stands."""
    allowed = [s == 1 or (i == 0 and e.special[0]) for i, s in enumerate(e.sequences)]
    columns = []
    for column in (0, 1):
        logits = [row[column] for row in rows[:len(allowed)]]
        columns.append(_probabilities([x if fine else -math.inf for x, fine in zip(logits, allowed)], False))
    start, end = columns
    inside = [i for i, s in enumerate(e.sequences) if s == 1]
    score, i, j = max(((start[i] * end[j], i, j) for i in inside for j in range(i, min(i + tokens, inside[-1] + 1))),
                      key=lambda span: span[0])
    while e.words[i] >= 0 and e.sequences[i - 1] == 1 and e.words[i - 1] == e.words[i]:  # whole words
        i -= 1
    while e.words[j] >= 0 and j + 1 < len(e.ids) and e.sequences[j + 1] == 1 and e.words[j + 1] == e.words[j]:
        j += 1
    return (score, e.offsets[i][0], e.offsets[j][1]), start[0] * end[0] if e.special[0] else 1.0


def load(folder: Any, dtype: Any = None) -> Model:
    """The model of a folder on the current device. dtype: of the computation, float32 unless given."""
    return Model(folder, dtype)


def _model(model):
    return model if isinstance(model, Model) else Model(model)


def embed(model: Any, texts: Any) -> Array:
    """The vector of a text, or a matrix with one row per text."""
    return _model(model).embed(texts)


def classify(model: Any, texts: Any, pairs: Any = None, *, entities: bool = False) -> Any:
    """The label of a text, or a list for several texts; see Model.classify."""
    return _model(model).classify(texts, pairs, entities=entities)


def fill(model: Any, texts: Any, top: int = 5) -> Any:
    """The most probable words for each [MASK] of a text; see Model.fill."""
    return _model(model).fill(texts, top)


def answer(model: Any, questions: Any, context: str, *, tokens: int = 15, none: bool = False) -> Any:
    """The part of the context that answers a question; see Model.answer."""
    return _model(model).answer(questions, context, tokens=tokens, none=none)


class Reply:
    """An answer of a Generator. Iterating over it yields the text in pieces, as it is made; text waits for all of it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._pieces: list[str] = []
        self._ended = False
        self.ids: list[int] = []
        self.logprobs: list[float] = []

    def __iter__(self) -> Iterator[str]:
        at = 0
        while at < len(self._pieces) or self._more():
            at += 1
            if self._pieces[at - 1]:
                yield self._pieces[at - 1]

    def _more(self):
        made = None if self._ended else self._answer.next()
        if made is None:
            self._ended = True
            return False
        id, logprob, piece = made
        self._pieces.append(piece)
        if id >= 0:
            self.ids.append(id)
            self.logprobs.append(logprob)
        return True

    @property
    def text(self) -> str:
        """The whole answer."""
        while self._more():
            pass
        return "".join(self._pieces)

    def __str__(self) -> str:
        return self.text

    def __repr__(self):
        return f"<ingot.text.Reply {''.join(self._pieces)!r}{'' if self._ended else ' ...'}>"

    @property
    def end(self) -> str | None:
        """Why it has ended: "end" (the model ended it), "stop" or "length"; None if it has not."""
        return self._answer.state()[0]

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt."""
        return self._answer.state()[1]

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that an earlier one had computed."""
        return self._answer.state()[2]


class Generator:
    """A model that generates text: a GGUF file, or a model folder. It makes several answers at the same time, up to texts;
    context: tokens of a prompt and its answer (the model's, at most 2048)."""

    architecture: str
    layers: int
    width: int
    vocabulary: int
    context: int
    room: int
    bytes: int

    def __init__(self, path: Any, *, context: int = 0, texts: int = 1, chat_template: Any = None) -> None:
        template = None if chat_template is None else os.fspath(chat_template)
        self._generator = _ingot._generator_load(os.fspath(path), context, texts, template)
        self.__dict__.update(self._generator.info())

    def __repr__(self):
        return f"<ingot.text.Generator {self.architecture}, {self.bytes / 1e6:,.1f} MB>"

    def _begin(self, prompt, is_chat, *, tokens=64, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, typical=1.0, repetition=1.0,
               presence=0.0, frequency=0.0, seed=0, stop=(), ignore_end=False, grammar=None, schema=None):
        stops = [stop] if isinstance(stop, str) else list(stop)
        form = schema if schema is None or isinstance(schema, str) else json.dumps(schema)
        return Reply(self._generator.generate(prompt, is_chat, tokens, temperature, top_k, top_p, min_p, typical, repetition,
                                              presence, frequency, seed, stops, ignore_end, grammar, form))

    def generate(self, prompt: Any, **options: Any) -> Any:
        """The answer after a text, or a list for several texts, which are then made together. Options: tokens (64), temperature
        (0: the most probable token), top_k, top_p, min_p, typical, repetition, presence, frequency, seed, stop (a text or
        several), ignore_end, grammar (GBNF), schema (a JSON schema)."""
        texts, one = _listed(prompt)
        made = [self._begin(text, False, **options) for text in texts]
        return made[0] if one else made

    def chat(self, messages: Any, **options: Any) -> Reply:
        """The answer to messages, [{"role": "user", "content": "..."}], or to one text of the user. Options: see generate."""
        talk = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        return self._begin(json.dumps(talk), True, **options)

    def embed(self, texts: Any) -> Array:
        """The vector of a text, or a matrix with one row per text: the mean of the hidden states, divided by its length."""
        texts, one = _listed(texts)
        vectors = self._generator.embed(texts)
        return vectors[0] if one else vectors
