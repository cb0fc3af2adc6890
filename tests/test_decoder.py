"""Decoder models against the package transformers: the logits of models with random weights, of every architecture.

BUILD names the build, whose tests/unit/decoder_tool computes.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import attempt, check, finish, skip

BUILD = os.environ.get("BUILD", "build")
TOOL = os.path.join(BUILD, "tests/unit/decoder_tool")
INGOT = os.environ.get("INGOT", os.path.join(BUILD, "ingot"))

try:
    import numpy as np
    import torch
    import transformers
except ImportError as error:
    skip("all", f"the Python package {error.name} is not there")
    finish()

torch.set_num_threads(2)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
PLACE = tempfile.TemporaryDirectory(prefix="ingot-decoder-")

SIZES = dict(vocab_size=199, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=512, pad_token_id=0, bos_token_id=1, eos_token_id=2)
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64, "rope_theta": 10000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 10000.0}
LINEAR = {"rope_type": "linear", "factor": 2.5, "rope_theta": 10000.0}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + 0.1 * i for i in range(8)],
        "long_factor": [2.0 + 0.7 * i for i in range(8)]}
GEMMA2 = dict(SIZES, head_dim=24, query_pre_attn_scalar=24, sliding_window=8, num_hidden_layers=4)
LAYERS7 = dict(SIZES, head_dim=24, query_pre_attn_scalar=16, sliding_window=8, num_hidden_layers=7)
GPT_OSS = dict(SIZES, head_dim=24, sliding_window=8, num_hidden_layers=4, num_local_experts=6, num_experts_per_tok=2, tie_word_embeddings=False)
MODELS = {
    "llama": ("Llama", SIZES),
    "llama tied": ("Llama", dict(SIZES, tie_word_embeddings=True, num_key_value_heads=4)),
    "llama biased": ("Llama", dict(SIZES, attention_bias=True, mlp_bias=True, head_dim=24)),
    "llama3": ("Llama", dict(SIZES, rope_scaling=LLAMA3)),
    "yarn": ("Llama", dict(SIZES, rope_scaling=YARN)),
    "linear": ("Llama", dict(SIZES, rope_scaling=LINEAR)),
    "mistral": ("Mistral", dict(SIZES, sliding_window=8)),
    "qwen2": ("Qwen2", SIZES),
    "qwen3": ("Qwen3", dict(SIZES, head_dim=24)),
    "gemma2": ("Gemma2", GEMMA2),
    "gemma3": ("Gemma3", LAYERS7),
    "phi3": ("Phi3", dict(SIZES, sliding_window=None)),
    "phi3 long": ("Phi3", dict(SIZES, sliding_window=None, original_max_position_embeddings=64, rope_scaling=LONG)),
    "phi3 short": ("Phi3", dict(SIZES, sliding_window=16, original_max_position_embeddings=128, rope_scaling=LONG)),
    "gpt2": ("GPT2", dict(vocab_size=199, n_embd=64, n_layer=3, n_head=4, n_positions=512, bos_token_id=1, eos_token_id=2)),
    "gpt_neox": ("GPTNeoX", dict(SIZES, rotary_pct=0.25)),
    "mixtral": ("Mixtral", dict(SIZES, num_local_experts=4, num_experts_per_tok=2)),
    "qwen3_moe": ("Qwen3Moe", dict(SIZES, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=48, head_dim=24,
                                   norm_topk_prob=True)),
    "gpt_oss": ("GptOss", dict(GPT_OSS, rope_scaling=dict(YARN, beta_fast=4.0, beta_slow=1.0, truncate=False))),
    "gpt_oss few": ("GptOss", dict(GPT_OSS, num_local_experts=4, num_key_value_heads=4, swiglu_limit=7.0)),
}


def model_make(kind, settings, folder):
    config_name = "Gemma3TextConfig" if kind == "Gemma3" else kind + "Config"
    class_name = {"GPT2": "GPT2LMHeadModel"}.get(kind, kind + "ForCausalLM")
    torch.manual_seed(7)
    config = getattr(transformers, config_name)(**{k: v for k, v in settings.items() if kind != "GPTNeoX" or k != "num_key_value_heads"})
    config._attn_implementation = "eager"
    model = getattr(transformers, class_name)(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.2 if parameter.ndim > 1 else 0.5)
    model.save_pretrained(folder, max_shard_size="100KB" if kind == "Llama" else "1GB")
    return model


def test_logits(name, kind, settings):
    folder = os.path.join(PLACE.name, name.replace(" ", "_"))
    model = model_make(kind, settings, folder)
    ids = np.random.default_rng(3).integers(3, 199, 90)
    with torch.no_grad():
        expected = model(torch.tensor(ids)[None]).logits[0].double().numpy()
    done = subprocess.run([TOOL, folder, "70", *map(str, ids)], capture_output=True, check=False)
    if done.returncode:
        return check(name, False, done.stderr.decode())
    got = np.frombuffer(done.stdout, np.float32).reshape(len(ids), -1).astype(float)
    error = ((got - expected) ** 2).sum(1) / (expected**2).sum(1)
    check(name, error.max() <= 1e-8, f"NMSE {error.max():.1e} at token {error.argmax()}, allowed 1e-8")
    print(f"  {name}: NMSE {error.max():.1e}", flush=True)
    test_file(name, folder, ids, got)


# What GGUF files of these architectures have no metadata for.
NOT_IN_FILES = {"gemma3": "its scale of attention", "mistral": "its sliding window", "phi3 long": "its form of rope", "phi3 short": "its form of rope"}


def test_file(name, folder, ids, logits):
    """The folder as a GGUF file has the same logits."""
    path = folder + ".gguf"
    words = {"vocab": {f"w{i}": i for i in range(199)}, "unk_token": "w0", "type": "WordLevel"}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "model": words, "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}}, file)
    made = subprocess.run([INGOT, "quantize", folder, "--type", "f32", "-o", path, "--quiet"], capture_output=True, text=True, check=False)
    if NOT_IN_FILES.get(name):
        return check(f"{name}: file", made.returncode and NOT_IN_FILES[name] in made.stderr and not os.path.exists(path), made.stderr)
    if made.returncode:
        return check(f"{name}: file", False, made.stderr)
    done = subprocess.run([TOOL, path, "70", *map(str, ids)], capture_output=True, check=False)
    got = np.frombuffer(done.stdout, np.float32).reshape(-1, logits.shape[1]).astype(float) if done.returncode == 0 else logits * 0
    error = ((got - logits) ** 2).sum() / (logits**2).sum()
    check(f"{name}: file", error <= 1e-10, f"NMSE {error:.1e} {done.stderr.decode()}")
    words = subprocess.run([INGOT, "generate", "--model", path, "--tokens", "3", "w5 w7"], capture_output=True, text=True, check=False)
    same = subprocess.run([INGOT, "generate", "--model", folder, "--tokens", "3", "w5 w7"], capture_output=True, text=True, check=False)
    check(f"{name}: tokenizer", words.returncode == 0 and words.stdout == same.stdout, words.stderr + words.stdout)


for name, (kind, settings) in MODELS.items():
    if len(sys.argv) < 2 or sys.argv[1] in name:
        attempt(name, lambda: test_logits(name, kind, settings))
finish()
