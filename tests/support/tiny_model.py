"""Model folders for tests without other packages: a tiny DistilBERT with any head."""
import array
import json
import math
import os
import random
import struct

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "##s", "dog", "good", "bad", "the", "is", "a", "who", "?",
         "very", "not", "!", "film", "was"]
WIDTH, INNER, PLACES, LAYERS = 16, 32, 48, 2
HEADS = {"embed": "Model", "classify": "ForSequenceClassification", "tag": "ForTokenClassification",
         "fill": "ForMaskedLM", "answer": "ForQuestionAnswering"}


def tokenizer():
    special = [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i in range(5)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": None,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(WORDS)}}}


def tensors(head, labels):
    """Shape and values of each."""
    r = random.Random(7)
    made = {}

    def normal(name, *shape, scale=1.0, mean=0.0):
        made[name] = shape, array.array("f", (r.gauss(mean, scale) for _ in range(math.prod(shape))))

    def linear(name, n, m):
        normal(name + ".weight", m, n, scale=n ** -0.5)
        normal(name + ".bias", m, scale=0.1)

    def norm(name):
        normal(name + ".weight", WIDTH, scale=0.1, mean=1)
        normal(name + ".bias", WIDTH, scale=0.1)

    normal("distilbert.embeddings.word_embeddings.weight", len(WORDS), WIDTH)
    normal("distilbert.embeddings.position_embeddings.weight", PLACES, WIDTH, scale=0.3)
    norm("distilbert.embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"distilbert.transformer.layer.{i}."
        for part in ("q_lin", "k_lin", "v_lin", "out_lin"):
            linear(layer + "attention." + part, WIDTH, WIDTH)
        norm(layer + "sa_layer_norm")
        linear(layer + "ffn.lin1", WIDTH, INNER)
        linear(layer + "ffn.lin2", INNER, WIDTH)
        norm(layer + "output_layer_norm")
    if head == "classify":
        linear("pre_classifier", WIDTH, WIDTH)
    if head in ("classify", "tag"):
        linear("classifier", WIDTH, labels)
    if head == "answer":
        linear("qa_outputs", WIDTH, 2)
    if head == "fill":
        linear("vocab_transform", WIDTH, WIDTH)
        norm("vocab_layer_norm")
        normal("vocab_projector.bias", len(WORDS), scale=0.1)
    return made


def make(folder, head="embed", labels=("no", "yes"), change=None, **more):
    """Writes config.json, tokenizer.json and model.safetensors; returns the folder. change(tensors) may change weights, and
    more is added to config.json."""
    os.makedirs(folder, exist_ok=True)
    config = {"model_type": "distilbert", "architectures": ["DistilBert" + HEADS[head]], "dim": WIDTH, "n_layers": LAYERS,
              "n_heads": 4, "hidden_dim": INNER, "vocab_size": len(WORDS), "max_position_embeddings": PLACES,
              "activation": "gelu", "id2label": {str(i): label for i, label in enumerate(labels)}, **more}
    header, at = {}, 0
    values = tensors(head, len(labels))
    if change:
        change(values)
    for name, (shape, value) in values.items():
        size = len(value) * value.itemsize
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for _, value in values.values()))
    for name, content in (("config.json", config), ("tokenizer.json", tokenizer())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)
    return folder
