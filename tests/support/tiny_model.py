"""Model folders for tests without other packages than NumPy: a tiny DistilBERT with any head."""
import json
import os
import struct

import numpy as np

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
    r = np.random.default_rng(7)
    made = {}

    def linear(name, n, m):
        made[name + ".weight"] = r.standard_normal((m, n)) / n ** 0.5
        made[name + ".bias"] = 0.1 * r.standard_normal(m)

    def norm(name):
        made[name + ".weight"] = 1 + 0.1 * r.standard_normal(WIDTH)
        made[name + ".bias"] = 0.1 * r.standard_normal(WIDTH)

    made["distilbert.embeddings.word_embeddings.weight"] = r.standard_normal((len(WORDS), WIDTH))
    made["distilbert.embeddings.position_embeddings.weight"] = 0.3 * r.standard_normal((PLACES, WIDTH))
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
        made["vocab_projector.bias"] = 0.1 * r.standard_normal(len(WORDS))
    return {name: value.astype(np.float32) for name, value in made.items()}


def make(folder, head="embed", labels=("no", "yes"), change=None):
    """Writes config.json, tokenizer.json and model.safetensors; returns the folder. change(tensors) may change weights."""
    os.makedirs(folder, exist_ok=True)
    config = {"model_type": "distilbert", "architectures": ["DistilBert" + HEADS[head]], "dim": WIDTH, "n_layers": LAYERS,
              "n_heads": 4, "hidden_dim": INNER, "vocab_size": len(WORDS), "max_position_embeddings": PLACES,
              "activation": "gelu", "id2label": {str(i): label for i, label in enumerate(labels)}}
    header, at = {}, 0
    values = tensors(head, len(labels))
    if change:
        change(values)
    for name, value in values.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in values.values()))
    for name, content in (("config.json", config), ("tokenizer.json", tokenizer())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)
    return folder
