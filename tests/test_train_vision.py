"""ingot train vision: the same bits after kill -9 and for any number of threads, folders, and PyTorch's losses by torchvision's networks.

The comparison needs torch, torchvision and safetensors in this Python or in build/peers; without them it is skipped. INGOT names the
command, BUILD the build. Ends with "N passed, N failed, N skipped".
"""
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from support.tally import attempt, check, finish, skip

INGOT = os.environ.get("INGOT", "build/ingot")
BUILD = os.environ.get("BUILD", "build")
RESNET = ["--model", "resnet18", "--config", "side=16,width=4,layers=1,stem=3"]
VIT = ["--model", "vit-b16", "--config", "side=16,patch=4,width=16,layers=2,heads=2,inner=32"]
STEPS = 200 if os.environ.get("IG_TEST_ALL") else 20  # of the comparison


def train(*words, code=0):
    done = subprocess.run([INGOT, "train", "vision", "--json", "--quiet", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout) if code == 0 else done.stderr


def pixels(kind, width, height, rng, channels=3):
    """Waves along x, along y or along both, with noise."""
    out = bytearray()
    for y in range(height):
        for x in range(width):
            wave = math.sin((x, y, x + y)[kind] / 3)
            out += bytes(max(0, min(255, int(127 + 80 * wave * (1 - 0.2 * c) + rng.gauss(0, 15)))) for c in range(channels))
    return bytes(out)


def write(path, width, height, data, gray=False):
    with open(path, "wb") as file:
        file.write(b"P%d\n%d %d\n255\n" % (5 if gray else 6, width, height) + data)


def photos(folder, count=12, side=None, classes=("ant", "bee", "cat")):
    """A folder of images for each class."""
    rng = random.Random(count)
    for kind, name in enumerate(classes):
        os.makedirs(os.path.join(folder, name))
        for i in range(count):
            width, height = (side, side) if side else (rng.randint(16, 40), rng.randint(16, 40))
            gray = not side and i == 3
            write(os.path.join(folder, name, f"{i:03}.{'pgm' if gray else 'ppm'}"), width, height,
                  pixels(kind, width, height, rng, 1 if gray else 3), gray)
    return folder


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def check_resume(folder):
    """A run that is killed in an epoch, and goes on, ends with the bits of one that is not."""
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    options = [*RESNET, "--data", photos(path("data")), "--batch", "4", "--accumulate", "2", "--epochs", "6", "--hold", "0.2", "--least", "0.4"]
    result = train(*options, "--save", path("whole"), "--threads", "1")
    with subprocess.Popen([INGOT, "train", "vision", "--quiet", *options, "--save", path("part"), "--save-every", "2", "--log", path("log.jsonl"),
                           "--log-every", "1"]) as running:
        while running.poll() is None and (not os.path.exists(path("log.jsonl")) or content(path("log.jsonl")).count(b"\n") < 8):
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
    check("it was killed before its end", running.returncode == -signal.SIGKILL)
    again = train(*options, "--save", path("part"), "--resume", "--threads", "3")
    check("the losses after kill -9, with more threads", again == result, f"{again} {result}")
    check("the weights after kill -9", content(path("whole"), "model.safetensors") == content(path("part"), "model.safetensors"))
    check("the test", 0 <= result["test_accuracy"] <= 1 and result["test_loss"] > 0, str(result))
    said = train(*options, "--save", path("part"), "--resume", "--seed", "1", code=5)
    check("other settings are refused", "--seed" in said, said)
    lines = [json.loads(line) for line in content(path("log.jsonl")).splitlines()]
    check("the log", lines[0]["step"] == 1 and lines[0]["images_per_second"] > 0 and any("test_accuracy" in line for line in lines), str(lines[:3]))
    done = subprocess.run([INGOT, "report", path("log.jsonl"), "-o", path("page.html")], capture_output=True, text=True, check=False)
    check("ingot report", done.returncode == 0 and b"images per second" in content(path("page.html")), done.stderr)


def check_learns(folder):
    """Folders train and val; the classes of new images by ingot predict; mixed precision."""
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    photos(path("data/train"), 16)
    photos(path("data/val"), 4)
    options = ["--data", path("data"), "--batch", "8", "--least", "0.5"]
    result = train(*RESNET, *options, "--epochs", "10", "--lr", "0.05", "--save", path("run"))
    check("a ResNet learns", result["test_accuracy"] > 0.8, str(result))
    images = [path(f"data/val/{name}/001.ppm") for name in ("ant", "bee", "cat")]
    done = subprocess.run([INGOT, "predict", "--json", path("run"), *images], capture_output=True, text=True, check=False)
    check("ingot predict", done.returncode == 0 and all(name in done.stdout for name in ("ant", "bee", "cat")), done.stdout + done.stderr)
    fine = train(*VIT, *options, "--steps", "8", "--dropout", "0.1")
    half = train(*VIT, *options, "--steps", "8", "--dropout", "0.1", "--dtype", "bf16")
    check("a ViT in bf16", 0 < abs(half["loss"] - fine["loss"]) < 3e-2, f"{half} {fine}")
    half = train(*RESNET, *options, "--steps", "8", "--dtype", "bf16")
    fine = train(*RESNET, *options, "--steps", "8")
    check("a ResNet in bf16", 0 < abs(half["loss"] - fine["loss"]) < 0.1, f"{half} {fine}")


def check_mistakes(folder):
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    data = photos(path("data"), 4)
    for words, code, says in ((["--data", path("none")], 5, "cannot be read"), (["--data", data, "--model", "resnet5"], 2, "did you mean"),
                              (["--data", data, *VIT[:2], "--config", "side=30"], 2, "patches of 16"),
                              (["--data", data, *RESNET[:2], "--config", "heads=2"], 2, "unknown size"), ([], 2, "--data is needed"),
                              (["--data", data, *RESNET, "--batch", "100"], 5, "fewer than a step has"),
                              (["--data", path("data/ant")], 5, "a folder for each class")):
        said = train(*words, code=code)
        check(f"{words}", says in said, said)
    with open(path("data/bee/000.ppm"), "wb") as file:
        file.write(b"P6\n20 20\n255\nshort")
    said = train("--data", data, *RESNET, "--batch", "12", "--epochs", "1", code=5)
    check("a damaged image", "000.ppm" in said, said)


def order_of(epoch, n):
    done = subprocess.run([INGOT, "eval", "--json", f"permutation(fold_in(key(0), {epoch}), arange(0, {n}))"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["value"]


def rate(step, steps, most, warm):
    """The schedule of --lr, --warmup and --last 0.1."""
    done = (step - warm) / max(steps - warm, 1)
    return most * (step + 1) / warm if step < warm else most * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


def compare(folder, name, net, options, opt, lr, clip, steps=STEPS):
    """Steps of a network of torchvision, from the same weights, on images whose middle is the sample."""
    import torch
    from safetensors.torch import load_file, save_file
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    if not os.path.exists(path("data")):
        photos(path("data"), 8, side=36)  # of which the middle 32 x 32 are read
    save_file({key: value.contiguous() for key, value in net.state_dict().items()}, path(f"{name}.safetensors"))
    files = [path(f"data/{kind}/{i:03}.ppm") for kind in ("ant", "bee", "cat") for i in range(8)]
    x = torch.stack([torch.frombuffer(bytearray(content(file)[-36 * 36 * 3:]), dtype=torch.uint8).reshape(36, 36, 3)[2:34, 2:34] for file in files])
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    x = ((x / 255 - mean) / deviation).permute(0, 3, 1, 2)
    labels = torch.arange(24) // 8
    train(*options, "--data", path("data"), "--weights", path(f"{name}.safetensors"), "--plain", "--batch", "8", "--steps", str(steps), "--lr", str(lr), "--warmup",
          "3", "--last", "0.1", "--log", path(f"{name}.log"), "--log-every", "1", "--save", path(name))
    ours = [json.loads(line)["loss"] for line in content(path(f"{name}.log")).splitlines()]
    orders = [order_of(epoch, 24) for epoch in range(steps // 3 + 1)]
    worst = 0
    for step in range(steps):
        rows = orders[step // 3][step % 3 * 8:][:8]
        loss = torch.nn.functional.cross_entropy(net(x[rows]), labels[rows])
        opt.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        for group in opt.param_groups:
            group["lr"] = rate(step, steps, lr, 3)
        opt.step()
        worst = max(worst, abs(loss.item() - ours[step]))
    check(f"{steps} losses of {name} by PyTorch", worst < 1e-4 and (steps < 20 or ours[-1] < 0.9 * ours[0]), f"they differ by {worst:.3g}, {ours[0]} {ours[-1]}")
    state = load_file(path(f"{name}/model.safetensors"))
    gap = max((state[key].double() - value.double()).abs().max().item() for key, value in net.state_dict().items())
    check(f"the weights of {name}", gap < 1e-3, f"they differ by {gap:.3g}")
    net.load_state_dict(state)
    net.eval()
    done = subprocess.run([INGOT, "predict", "--json", path(name), *files[::8]], capture_output=True, text=True, check=True)
    with torch.no_grad():
        want = torch.softmax(net(x[::8]), -1)
    got = [json.loads(line) for line in done.stdout.splitlines()]
    gap = max(abs(row["labels"][label] - want[i, k].item()) for i, row in enumerate(got) for k, label in enumerate(("ant", "bee", "cat")))
    check(f"torchvision reads {name}", gap < 1e-4, f"probabilities differ by {gap:.3g}: {got} {want}")


def check_torch(folder):
    import torch
    from torchvision.models import VisionTransformer
    from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
    torch.set_num_threads(1)
    torch.manual_seed(0)

    def decayed(net, decay):
        return [{"params": [p for p in net.parameters() if (p.ndim > 1) == matrix], "weight_decay": decay * matrix} for matrix in (True, False)]

    # Rounding errors of a ResNet grow from step to step: on these data the losses of PyTorch's float32 and float64 differ by 0.01 after three
    # steps of the second one.
    for name, block, lr, steps in (("resnet18", BasicBlock, 1e-3, 5), ("resnet50", Bottleneck, 1e-4, 1)):
        net = ResNet(block, [1, 1, 1, 1], num_classes=3)
        opt = torch.optim.SGD(decayed(net, 1e-4), lr=1, momentum=0.9)
        compare(folder, name, net, ["--model", name, "--config", "side=32,layers=1"], opt, lr, 0, steps)
    net = VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=3)
    torch.nn.init.normal_(net.heads.head.weight, std=0.02)
    compare(folder, "vit", net, ["--model", "vit-b16", "--config", "side=32,patch=8,layers=2,heads=2,width=32,inner=64", "--decay", "0.05"],
            torch.optim.AdamW(decayed(net, 0.05)), 3e-3, 1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, run in (("resume", check_resume), ("learns", check_learns), ("mistakes", check_mistakes)):
            os.mkdir(os.path.join(folder, name))
            attempt(name, run, os.path.join(folder, name))
        try:
            import safetensors  # noqa: F401
            import torch  # noqa: F401
            import torchvision  # noqa: F401
        except ImportError:
            skip("losses by PyTorch", "torch, torchvision and safetensors are not installed")
        else:
            os.mkdir(os.path.join(folder, "torch"))
            attempt("torch", check_torch, os.path.join(folder, "torch"))
    finish()


python = os.path.join(BUILD, "peers/bin/python")
if not os.environ.get("INGOT_SECOND_TRY") and os.path.exists(python):
    os.environ["INGOT_SECOND_TRY"] = "1"
    os.execv(python, [python, *sys.argv])
main()
