"""Low-rank adapters of decoders against the Python package peft: files, logits, losses of training, merging.

BUILD names the build, whose tests/unit/decoder_tool computes.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import attempt, check, finish, skip

BUILD = os.environ.get("BUILD", "build")
TOOL = os.path.join(BUILD, "tests/unit/decoder_tool")
INGOT = os.environ.get("INGOT", os.path.join(BUILD, "ingot"))

try:
    import numpy as np
    import peft
    import safetensors.torch
    import torch
    import transformers
except ImportError as error:
    skip("all", f"the Python package {error.name} is not there")
    finish()

torch.set_num_threads(2)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
PLACE = tempfile.TemporaryDirectory(prefix="ingot-lora-")
SIZES = dict(vocab_size=199, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=512, pad_token_id=0, bos_token_id=1, eos_token_id=2)
MODELS = {
    "llama": ("Llama", SIZES),
    "phi3": ("Phi3", dict(SIZES, sliding_window=None)),
    "gpt2": ("GPT2", dict(vocab_size=199, n_embd=64, n_layer=2, n_head=4, n_positions=512, bos_token_id=1, eos_token_id=2,
                          resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)),
    "gpt_neox": ("GPTNeoX", {k: v for k, v in dict(SIZES, rotary_pct=0.25).items() if k != "num_key_value_heads"}),
}
LENGTH, BATCH, EPOCHS, RATE = 16, 8, 5, 0.01


def path(name):
    return os.path.join(PLACE.name, name)


def ingot(*words, **more):
    return subprocess.run([INGOT, *map(str, words)], capture_output=True, text=True, check=False, **more)


def base_make(name):
    kind, settings = MODELS[name]
    torch.manual_seed(7)
    config = getattr(transformers, kind + "Config")(**settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, kind + ("LMHeadModel" if kind == "GPT2" else "ForCausalLM"))(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.2 if parameter.ndim > 1 else 0.5)
    folder = path(name)
    model.save_pretrained(folder)
    words = {"vocab": {f"w{i}": i for i in range(199)}, "unk_token": "w0", "type": "WordLevel"}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "model": words, "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}}, file)
    return model, folder


def adapters_make(model, folder, **more):
    torch.manual_seed(3)
    settings = dict(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.0)
    adapted = peft.get_peft_model(model, peft.LoraConfig(**dict(settings, **more))).eval()
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, 0.0, 0.1)
    adapted.save_pretrained(folder)
    return adapted


def logits(model, ids, adapters=None):
    done = subprocess.run([TOOL, model, "12", *map(str, ids)], capture_output=True, check=False,
                          env=dict(os.environ, **({"LORA": adapters} if adapters else {})))
    if done.returncode:
        print(done.stderr.decode())
        return np.zeros((len(ids), 199))
    return np.frombuffer(done.stdout, np.float32).reshape(len(ids), -1).astype(float)


def reference(model, ids):
    with torch.no_grad():
        return model(torch.tensor(ids)[None]).logits[0].double().numpy()


def close(name, got, expected, bound):
    error = ((got - expected) ** 2).sum() / (expected**2).sum()
    check(name, error <= bound, f"NMSE {error:.1e}, allowed {bound:.0e}")


def losses_of(adapted, ids):
    """The losses of AdamW on all windows at once, with a rate that falls along a line."""
    adapted.train()
    parameters = [p for p in adapted.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    windows = torch.tensor(np.array([ids[i * LENGTH:i * LENGTH + LENGTH + 1] for i in range(BATCH)]))
    losses = []
    for step in range(EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / EPOCHS)
        out = adapted(windows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(out.reshape(-1, 199), windows[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(float(loss))
    return losses


def test_model(name):
    model, folder = base_make(name)
    ids = np.random.default_rng(3).integers(3, 199, 24)
    adapted = adapters_make(model, path(name + "-peft"))
    expected = reference(adapted, ids)
    close(f"{name}: adapters of peft", logits(folder, ids, path(name + "-peft")), expected, 1e-8)

    file = path(name + ".gguf")
    made = ingot("quantize", folder, "--type", "f32", "-o", file, "--quiet")
    check(f"{name}: file", made.returncode == 0, made.stderr)
    close(f"{name}: adapters for a file", logits(file, ids, path(name + "-peft")), expected, 1e-8)
    for source, base in (("folder", folder), ("file", file)):
        merged = path(f"{name}-{source}.gguf")
        made = ingot("quantize", base, "--lora", path(name + "-peft"), "--type", "f32", "-o", merged, "--quiet")
        check(f"{name}: {source} merged", made.returncode == 0, made.stderr)
        close(f"{name}: {source} with merged adapters", logits(merged, ids), expected, 1e-8)

    text = np.random.default_rng(5).integers(3, 40, LENGTH * BATCH + 1)
    data = path(name + ".txt")
    with open(data, "w", encoding="utf-8") as out:
        out.write(" ".join(f"w{i}" for i in text))
    for source, base in (("folder", folder), ("file", file)):
        saved = path(f"{name}-{source}-trained")
        done = ingot("train", "text", "--lora", 4, "--model", base, "--data", data, "--save", saved, "--from", path(name + "-peft"),
                     "--length", LENGTH, "--batch", BATCH, "--epochs", EPOCHS, "--lr", RATE, "--json", "--quiet")
        if not check(f"{name}: {source} trained", done.returncode == 0, done.stderr):
            continue
        if source == "folder":
            wanted = losses_of(adapted, text)
        got = json.loads(done.stdout)["losses"]
        far = max(abs(a - b) / b for a, b in zip(got, wanted))
        check(f"{name}: losses of the {source}", len(got) == EPOCHS and far < 2e-4, f"{got}, and peft has {wanted}")
        print(f"  {name}: {got[0]:.4f} to {got[-1]:.4f}, relative difference {far:.1e}", flush=True)
        fresh = base_make(name)[0]
        back = peft.PeftModel.from_pretrained(fresh, saved).eval()
        close(f"{name}: peft reads what was trained on the {source}", logits(base, ids, saved), reference(back, ids), 1e-8)


def test_new():
    """New adapters change nothing before the first step, and some layers can be chosen."""
    model, folder = base_make("llama")
    data, saved = path("new.txt"), path("new")
    with open(data, "w", encoding="utf-8") as out:
        out.write(" ".join(f"w{3 + i % 7}" for i in range(400)))
    same = ["train", "text", "--lora", 2, "--model", folder, "--data", data, "--length", 16, "--seed", 5, "--json", "--quiet"]
    first = ingot(*same, "--save", saved, "--targets", "q_proj,v_proj", "--epochs", 2, "--checkpoint", path("c.safetensors"))
    check("new: trained", first.returncode == 0, first.stderr)
    tensors = safetensors.torch.load_file(os.path.join(saved, "adapter_model.safetensors"))
    check("new: the chosen layers", len(tensors) == 8 and all("q_proj" in k or "v_proj" in k for k in tensors), str(list(tensors)))
    again = ingot(*same, "--save", path("again"), "--targets", "q_proj,v_proj", "--epochs", 2)
    check("new: the same losses", again.stdout == first.stdout, again.stdout + first.stdout)
    quantized = path("llama-q8.gguf")
    ingot("quantize", folder, "--type", "q8_0", "-o", quantized, "--quiet")
    done = ingot("train", "text", "--lora", 4, "--model", quantized, "--data", data, "--save", path("q8"), "--length", 16, "--epochs", 3,
                 "--lr", 0.01, "--json", "--quiet", "--hold", 0.2)
    check("new: a quantized base", done.returncode == 0, done.stderr)
    losses = json.loads(done.stdout)["losses"] if done.returncode == 0 else [0, 0, 0]
    check("new: its loss falls", losses[2] < 0.8 * losses[0], str(losses))
    said = ingot("generate", "--model", quantized, "--lora", path("q8"), "--tokens", "4", "w3 w4 w5")
    check("new: generate", said.returncode == 0 and said.stdout.startswith("w3 w4 w5"), said.stderr)
    half = path("half")
    model.to(torch.bfloat16).save_pretrained(half)
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as a, open(os.path.join(half, "tokenizer.json"), "w", encoding="utf-8") as b:
        b.write(a.read())
    done = ingot("train", "text", "--lora", 4, "--model", half, "--data", data, "--save", path("h"), "--length", 16, "--epochs", 3, "--lr", 0.01,
                 "--json", "--quiet")
    losses = json.loads(done.stdout)["losses"] if done.returncode == 0 else [0, 0, 0]
    check("new: a base of bf16", done.returncode == 0 and losses[2] < 0.8 * losses[0], done.stderr + str(losses))


def test_resume():
    """An interrupted run that continues has the bits of one that was not interrupted."""
    _, folder = base_make("llama")
    data, checkpoint = path("resume.txt"), path("resume.safetensors")
    with open(data, "w", encoding="utf-8") as out:
        out.write(" ".join(f"w{3 + i * i % 50}" for i in range(400)))
    same = ["train", "text", "--lora", 4, "--model", folder, "--data", data, "--length", 16, "--batch", 5, "--epochs", 100, "--dropout", 0.1,
            "--quiet", "--json"]
    whole = ingot(*same, "--save", path("whole"))
    check("resume: whole", whole.returncode == 0, whole.stderr)
    words = [INGOT, *map(str, same), "--save", path("parts"), "--checkpoint", checkpoint]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not os.path.exists(checkpoint) and running.poll() is None:
            time.sleep(0.001)
        running.send_signal(signal.SIGINT)
        code = running.wait()
    check("resume: interrupted", code in (0, 130), str(code))
    rest = ingot(*same, "--save", path("parts"), "--resume", checkpoint)
    check("resume: the rest", rest.returncode == 0, rest.stderr)
    print(f"  resume: {len(json.loads(rest.stdout)['losses'])} of 100 epochs after the interruption", flush=True)
    bits = [open(os.path.join(path(name), "adapter_model.safetensors"), "rb").read() for name in ("whole", "parts")]
    check("resume: the same bits", bits[0] == bits[1], "")


def test_refused():
    model, folder = base_make("llama")
    adapters_make(model, path("dora"), use_dora=True)
    words = lambda adapters, base=folder: ingot("generate", "--model", base, "--lora", adapters, "--tokens", "1", "w3").stderr
    check("refused: an option", "use_dora" in words(path("dora")), words(path("dora")))
    check("refused: no folder", "adapter_config.json" in words(path("none")), words(path("none")))
    narrow = transformers.LlamaForCausalLM(transformers.LlamaConfig(**dict(SIZES, hidden_size=32)))
    adapters_make(narrow, path("narrow"))
    check("refused: another model", "do not fit the model" in words(path("narrow")), words(path("narrow")))
    head = adapters_make(base_make("llama")[0], path("head"), target_modules=["q_proj", "lm_head"])
    check("refused: a layer without a role", head is not None and "more than linear layers" in words(path("head")), words(path("head")))
    done = ingot("train", "text", "--lora", 4, "--model", folder, "--data", __file__, "--save", path("x"), "--targets", "nothing")
    check("refused: no such layer", "nothing" in done.stderr and done.returncode, done.stderr)
    check("refused: options", ingot("train", "text", "--lora", 4, "--model", folder).returncode == 2, "")


TESTS = {**{name: lambda name=name: test_model(name) for name in MODELS}, "new": test_new, "resume": test_resume, "refused": test_refused}
for test_name, test in TESTS.items():
    if len(sys.argv) < 2 or sys.argv[1] in test_name:
        attempt(test_name, test)
finish()
