"""The reference networks of bench/reference.py in small sizes: the losses of PyTorch with the same weights and data, within 1e-4. Without
torch it is skipped. IG_TEST_ALL=1 makes 200 steps instead of 20, and bfloat16 beside PyTorch's autocast. After so many steps rounding errors of a
ResNet have grown, PyTorch's, too: its float32 differs from its float64 by 0.01. So losses may differ from those of float64 by as much."""
import os
import sys

from against import attempt, check, finish, ig, np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
sys.dont_write_bytecode = True
import reference  # noqa: E402  pylint: disable=wrong-import-position

nn, optim = ig.nn, ig.optim
ALL = bool(os.environ.get("IG_TEST_ALL"))
STEPS = 200 if ALL else 20
DATA = 4  # batches, which take turns, so that losses fall
SIZES = {
    "gpt": {"layers": 2, "heads": 2, "width": 32, "length": 32, "words": 64, "batch": 4},
    "llama": {"layers": 2, "heads": 4, "kv_heads": 2, "width": 32, "inner": 48, "length": 24, "words": 64, "batch": 4},
    "resnet": {"blocks": (1, 1), "classes": 10, "small": True, "base": 8, "side": 16, "batch": 8},
    "vit": {"layers": 2, "heads": 2, "width": 32, "inner": 64, "side": 16, "patch": 4, "classes": 10, "batch": 8},
    "distilbert": {"layers": 2, "heads": 2, "width": 32, "inner": 64, "length": 64, "tokens": 32, "words": 64, "batch": 4},
    "unet": {"channels": 16, "levels": (1, 2), "blocks": 1, "heads": 2, "attends": (1,), "groups": 8, "side": 16, "batch": 4},
    "lstm": {"words": 64, "width": 32, "layers": 2, "length": 16, "batch": 4},
}


def optimizers(name, torch, net):
    """ResNet's gradients before its norms are nearly 0; Adam would divide their rounding errors by their size."""
    if name == "resnet":
        return torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4), optim.SGD(0.02, momentum=0.9, weight_decay=1e-4)
    return torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01), optim.AdamW(1e-3, weight_decay=0.01)


def losses(name, torch, half=False, exact=False):
    """The losses of all steps by PyTorch and by Ingot. exact: PyTorch computes in float64."""
    sizes, rng = SIZES[name], np.random.default_rng(0)
    torch.manual_seed(0)
    theirs, ours = reference.NETWORKS[name](torch.nn, **sizes), reference.NETWORKS[name](nn, **sizes)
    for module in theirs.modules():
        if isinstance(module, torch.nn.Embedding):
            torch.nn.init.normal_(module.weight, std=0.02)
    ours.load_state_dict({key: ig.asarray(value.detach().numpy()) for key, value in theirs.state_dict().items()})
    ours = nn.mixed(ours, "bfloat16" if half else "float32")
    theirs = theirs.double() if exact else theirs
    their_opt, our_opt = optimizers(name, torch, theirs)
    gradients = nn.value_and_grad(ours, lambda net, x, y: reference.loss_of(nn, name, net, x, y, lambda parts, axis: ig.concat(parts, axis=axis)))

    @ig.jit
    def step(net, opt, x, y):
        loss, grads = gradients(net, x, y)
        opt.update(net, grads)
        return loss

    batches, out = [reference.data(name, sizes, rng) for _ in range(DATA)], []
    for i in range(STEPS):
        x, y = batches[i % DATA]
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            inputs = [torch.from_numpy(a) for a in x]
            inputs = [a.double() if exact and a.is_floating_point() else a for a in inputs]
            loss = reference.loss_of(torch.nn, name, theirs, inputs, torch.from_numpy(y), torch.cat)
        their_opt.zero_grad()
        loss.backward()
        their_opt.step()
        out.append((loss.item(), float(step(ours, our_opt, [ig.asarray(a) for a in x], ig.asarray(y)))))
    state = ours.state_dict()
    gap = max(np.abs(np.asarray(state[key]) - value.detach().numpy()).max() for key, value in theirs.state_dict().items())
    return np.array(out), gap


def network(name, torch):
    both, gap = losses(name, torch)
    worst = np.abs(both[:, 0] - both[:, 1]).max()
    if ALL and worst >= 1e-4:
        exact, _ = losses(name, torch, exact=True)
        mine, theirs = np.abs(exact[:, 1] - exact[:, 0]).max(), np.abs(both[:, 0] - exact[:, 0]).max()
        check(f"{name}: {STEPS} losses by PyTorch", mine < 2 * theirs, f"they differ from float64 by {mine:.3g}, PyTorch's by {theirs:.3g}")
    else:
        check(f"{name}: {STEPS} losses by PyTorch", worst < 1e-4, f"they differ by {worst:.3g}")
        check(f"{name}: weights and statistics", gap < 5e-3, f"they differ by {gap:.3g}")
    check(f"{name}: it learns", both[-DATA:, 1].mean() < both[:DATA, 1].mean(), str(both[:, 1]))
    if ALL:
        half, _ = losses(name, torch, True)
        theirs, mine = (np.abs(half[:, i] - both[:, i]).max() for i in (0, 1))
        check(f"{name}: bfloat16", mine < 2 * theirs + 1e-2, f"it differs from float32 by {mine:.3g}, PyTorch's autocast by {theirs:.3g}")


def main():
    try:
        import torch
    except ImportError:
        print("skipped  losses by PyTorch: torch is not installed")
        check("the networks are described", set(SIZES) == set(reference.NETWORKS))
    else:
        torch.set_num_threads(1)
        for name in SIZES:
            attempt(name, lambda name=name: network(name, torch))
    finish()


main()
