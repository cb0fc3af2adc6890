"""ingot train gpt: the same bits after kill -9, every form of token data, and PyTorch's losses.

The comparison needs torch and transformers in this Python or in build/peers; without them it is skipped. INGOT names the
command, BUILD the build. Ends with "N passed, N failed, N skipped".
"""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

from support.tally import attempt, check, finish, skip

INGOT = os.environ.get("INGOT", "build/ingot")
BUILD = os.environ.get("BUILD", "build")
SIZES = "layers=2,heads=2,width=32,length=32"
STEPS = 200  # of the comparison


def train(*words, code=0):
    done = subprocess.run([INGOT, "train", "gpt", "--json", "--quiet", "--config", SIZES, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout) if code == 0 else done.stderr


def text_of(n):
    """Some text: numbers in words."""
    words = "zero one two three four five six seven eight nine".split()
    return " ".join(words[i * i % 97 % 10] for i in range(n)) + "\n"


def check_resume(folder):
    """A run that is killed in an epoch, and goes on, ends with the bits of one that is not."""
    data, log = os.path.join(folder, "data.txt"), os.path.join(folder, "log.jsonl")
    with open(data, "w", encoding="utf-8") as file:
        file.write(text_of(3000))
    options = ["--data", data, "--batch", "2", "--accumulate", "2", "--epochs", "2", "--dropout", "0.1", "--hold", "0.05"]
    whole, part = os.path.join(folder, "whole"), os.path.join(folder, "part")
    result = train(*options, "--save", whole)
    running = subprocess.Popen([INGOT, "train", "gpt", "--quiet", "--config", SIZES, *options, "--save", part, "--save-every", "7",
                                "--log", log, "--log-every", "1"])
    while running.poll() is None and (not os.path.exists(log) or len(open(log, encoding="utf-8").readlines()) < 25):
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    check("it was killed before its end", running.returncode == -signal.SIGKILL)
    again = train(*options, "--save", part, "--resume")
    check("the loss after kill -9", again == result, f"{again} {result}")
    with open(os.path.join(whole, "model.safetensors"), "rb") as one, open(os.path.join(part, "model.safetensors"), "rb") as two:
        check("the weights after kill -9", one.read() == two.read())
    said = train(*options, "--save", part, "--resume", "--lr", "0.1", code=5)
    check("other settings are refused", "--lr" in said, said)
    said = train(*options, "--save", part, code=5)
    check("a checkpoint is not overwritten", "--resume" in said, said)
    lines = [json.loads(line) for line in open(log, encoding="utf-8")]
    check("the log", lines[0]["step"] == 1 and lines[0]["tokens_per_second"] > 0 and lines[0]["lr"] > 0, str(lines[0]))
    text = subprocess.run([INGOT, "generate", "--model", whole, "--tokens", "8", "one two "], capture_output=True, text=True, check=False)
    check("ingot generate reads the model", text.returncode == 0 and len(text.stdout) > 8, text.stderr)
    text = subprocess.run([INGOT, "bench", "--model", whole, "--seconds", "0.1", "--json", "--quiet"], capture_output=True, text=True, check=False)
    rows = json.loads(text.stdout)["rows"] if text.returncode == 0 else []
    check("ingot bench measures the model", [row["work"] for row in rows] == ["prompt", "generate"] and
          all(int(row["size"]) == row["tokens"] > 0 for row in rows), text.stdout + text.stderr)


def check_data(folder):
    """The same tokens from a text, a .bin with and without a header, .npy and Zarr; gradients in one part or in two."""
    text = text_of(600)
    ids = text.encode()
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    with open(path("data.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    numbers = struct.pack(f"<{len(ids)}H", *ids)
    with open(path("raw.bin"), "wb") as file:
        file.write(numbers)
    for name, kind, body in (("u16.bin", 20240520, numbers), ("u32.bin", 20240801, struct.pack(f"<{len(ids)}I", *ids))):
        with open(path(name), "wb") as file:
            file.write(struct.pack("<256i", kind, 1, len(ids), *[0] * 253) + body)
    with open(path("ids.csv"), "w", encoding="utf-8") as file:
        file.write("\n".join(map(str, ids)))
    subprocess.run([INGOT, "eval", "--quiet", f"x = astype(load('{path('ids.csv')}'), 'i32'); save('{path('ids.npy')}', x); save('{path('ids.zarr')}', x)"],
                   check=True)
    options = ["--vocabulary", "256", "--steps", "6", "--batch", "4"]
    want = train("--data", path("data.txt"), *options, "--save", path("bytes"))
    check("--tokenizer", train("--data", path("data.txt"), *options, "--tokenizer", path("bytes")) == want)
    for name in ("raw.bin", "u16.bin", "u32.bin", "ids.npy", "ids.zarr"):
        check(name, train("--data", path(name), *options) == want)
    apart = train("--data", path("data.txt"), *options[:-1], "2", "--accumulate", "2")
    check("--accumulate", abs(apart["loss"] - want["loss"]) < 1e-4, f"{apart} {want}")
    half = train("--data", path("data.txt"), *options, "--dtype", "bf16")
    check("--dtype bf16", 0 < abs(half["loss"] - want["loss"]) < 2e-2, f"{half} {want}")
    said = train("--data", path("ids.npy"), "--vocabulary", "100", "--steps", "1", code=5)
    check("a token that is not a word", "the model has 100 words" in said, said)
    with open(path("u16.bin"), "ab") as file:
        file.write(b"12")
    said = train("--data", path("u16.bin"), *options, code=5)
    check("a wrong header", "its header says" in said, said)
    said = train("--data", path("data.txt"), "--batch", "1000", code=5)
    check("too few tokens", "fewer than a step has" in said, said)


def check_patience(folder):
    """A run stops when the held-out loss no longer falls, with the best model; one that is interrupted stops at the same step."""
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    with open(path("data.txt"), "wb") as file:  # its end is nothing like its start: the loss there grows
        file.write(text_of(120).encode() + bytes(range(128)) * 2)
    options = ["--data", path("data.txt"), "--batch", "2", "--steps", "60", "--lr", "1e-2", "--hold", "0.3", "--save-every", "3", "--patience", "2"]
    whole = train(*options, "--save", path("whole"), "--log", path("log"))
    losses = [(line["step"], line["test_loss"]) for line in map(json.loads, open(path("log"), encoding="utf-8")) if "test_loss" in line]
    best = min(range(len(losses)), key=lambda i: losses[i][1])
    check("it stops two tests after the best", whole["steps"] == losses[-1][0] < 60 and len(losses) == best + 3, str(losses))
    until = train(*options[:5], "60", *options[6:-2], "--save", path("all"))
    check("not without --patience", until["steps"] == 60, str(until))
    again = train(*options, "--save", path("whole"), "--resume")
    check("a run that has stopped stays so", again["steps"] == whole["steps"], f"{again} {whole}")
    short = train(*options[:-2], "--patience", "60", "--save", path("best"), "--log", path("log"))
    check("the best model is saved", short["steps"] == 60 and open(path("best/model.safetensors"), "rb").read() ==
          open(path("whole/model.safetensors"), "rb").read() != open(path("all/model.safetensors"), "rb").read())
    said = train("--data", path("data.txt"), "--patience", "2", code=2)
    check("--patience without --hold", "needs --hold" in said, said)


def check_limits(folder):
    """Limits of memory change no bit; the peak is not above them; a refusal names a limit that is enough for its evaluation."""
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    with open(path("data.txt"), "w", encoding="utf-8") as file:
        file.write(text_of(2000))
    options = ["--data", path("data.txt"), "--batch", "8", "--steps", "2", "--dropout", "0.1", "--config", "layers=4,heads=2,width=32,length=128"]

    def run(name, *more):
        return train(*options, "--save", path(name), "--log", path(name + ".log"), "--log-every", "1", *more)

    want = run("plain")
    peak = max(json.loads(line)["memory_bytes"] for line in open(path("plain.log"), encoding="utf-8"))
    weights = open(path("plain/model.safetensors"), "rb").read()
    for share in (0.95, 0.9, 0.8, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4):
        limit = int(share * peak)
        result = run(f"part{share}", "--memory-limit", str(limit))
        most = max(json.loads(line)["memory_bytes"] for line in open(path(f"part{share}.log"), encoding="utf-8"))
        check(f"{share:.0%} of the memory", result == want and most <= limit and open(path(f"part{share}/model.safetensors"), "rb").read() == weights,
              f"{result} {want}, {most} of {limit} bytes")
    explained = subprocess.run([INGOT, "train", "gpt", *options, "--explain", "--memory-limit", str(peak // 2)], capture_output=True, text=True, check=False)
    check("--explain", explained.returncode == 0 and "computes again to fit in" in explained.stdout, explained.stderr)
    said = train(*options, "--memory-limit", str(peak // 20), code=1)
    check("too little memory", "to at least" in said, said)


def rate(step, most=1e-3, warm=10):
    """The schedule of --lr, --warmup and --last 0.1."""
    import math
    done = (step - warm) / (STEPS - warm)
    return most * (step + 1) / warm if step < warm else most * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


def check_torch(folder):
    """200 steps of transformers' GPT-2 with the same weights and data: the same losses within 1e-4."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                     bos_token_id=None, eos_token_id=None))
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    net.save_pretrained(path("start"))
    ids = text_of(1500).encode()
    with open(path("data.txt"), "wb") as file:
        file.write(ids)
    windows, batch = (len(ids) - 1) // 32, 4
    each = windows // batch
    order = []
    for epoch in range(STEPS // each + 1):
        done = subprocess.run([INGOT, "eval", "--json", f"permutation(fold_in(key(0), {epoch}), arange(0, {windows}))"], capture_output=True, text=True, check=True)
        order.append(json.loads(done.stdout)["value"])
    train("--data", path("data.txt"), "--vocabulary", "128", "--model", path("start"), "--batch", str(batch), "--steps", str(STEPS), "--lr", "1e-3",
          "--warmup", "10", "--log", path("log"), "--log-every", "1", "--save", path("end"))
    ours = [json.loads(line)["loss"] for line in open(path("log"), encoding="utf-8")]
    decayed = [p for p in net.parameters() if p.ndim > 1]
    opt = torch.optim.AdamW([{"params": decayed}, {"params": [p for p in net.parameters() if p.ndim < 2], "weight_decay": 0}], betas=(0.9, 0.95), weight_decay=0.1)
    worst = 0
    for step in range(STEPS):
        rows = [order[step // each][(step % each) * batch + i] for i in range(batch)]
        x = torch.tensor([list(ids[r * 32:r * 32 + 33]) for r in rows])
        logits = net(x[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 128), x[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1)
        for group in opt.param_groups:
            group["lr"] = rate(step)
        opt.step()
        worst = max(worst, abs(loss.item() - ours[step]))
    check(f"{STEPS} losses of GPT-2 by PyTorch", worst < 1e-4 and ours[-1] < 0.7 * ours[0], f"they differ by {worst:.3g}, {ours[0]} {ours[-1]}")
    after = GPT2LMHeadModel.from_pretrained(path("end"))
    with torch.no_grad():
        gap = max((p - q).abs().max().item() for p, q in zip(net.parameters(), after.parameters()))
    check("transformers reads the model", gap < 1e-3, f"weights differ by {gap:.3g}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, run in (("resume", check_resume), ("data", check_data), ("patience", check_patience), ("limits", check_limits)):
            os.mkdir(os.path.join(folder, name))
            attempt(name, run, os.path.join(folder, name))
        try:
            import torch  # noqa: F401
            import transformers  # noqa: F401
        except ImportError:
            skip("losses by PyTorch", "torch and transformers are not installed")
        else:
            os.mkdir(os.path.join(folder, "torch"))
            attempt("torch", check_torch, os.path.join(folder, "torch"))
    finish()


python = os.path.join(BUILD, "peers/bin/python")
if not os.environ.get("INGOT_SECOND_TRY") and os.path.exists(python):
    os.environ["INGOT_SECOND_TRY"] = "1"
    os.execv(python, [python, *sys.argv])
main()
