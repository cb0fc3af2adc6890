"""Layers and functions of PyTorch's names against PyTorch, with the same weights: results, and gradients of all parameters and
inputs. tests/python/layers.json has PyTorch's results in short form; where PyTorch is installed, whole results are compared. With
RECORD=1 it writes that file."""
import json
import os
import zlib
from types import SimpleNamespace

from against import attempt, check, finish, ig, np
from nn_cases import FUNCTIONS, MODULES

try:
    import torch
    import torch_blocks
except ImportError:
    torch = None
RECORD = os.environ.get("RECORD") == "1"
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.json")
recorded = {} if RECORD else json.load(open(FILE, encoding="utf-8"))


def inputs_of(shapes, rng):
    made = []
    for shape in shapes:
        kind = shape[0] if shape and isinstance(shape[0], str) else "float"
        if kind == "int":
            made.append(rng.integers(0, shape[1], shape[2]))
        elif kind == "unit":
            made.append(rng.uniform(0.05, 0.95, shape[1]).astype("f4"))
        elif kind == "sign":
            made.append(np.where(rng.random(shape[1]) < 0.5, -1, 1).astype("f4"))
        else:
            made.append(rng.standard_normal(shape).astype("f4"))
    return [np.asarray(x) for x in made]


def weights_of(shapes, rng):
    """Weights for names in order; variances are positive."""
    made = {}
    for name in sorted(shapes):
        x = rng.standard_normal(shapes[name]).astype("f4") * 0.5
        made[name] = np.abs(x) + 0.5 if name.endswith("running_var") else x
        if name.endswith("num_batches_tracked"):
            made[name] = np.asarray(3)
    return made


def is_differentiated(x):
    """Floats, but not targets of -1 and 1."""
    return x.dtype.kind == "f" and not np.all(np.abs(x) == 1)


def results(y):
    """All arrays of a result, in order."""
    if isinstance(y, (tuple, list)):
        return [x for item in y for x in results(item)]
    return [] if y is None else [y]


def sums(arrays):
    """A short form of arrays: sum and sum of squares of each, and an element."""
    found = [(np.sum(x), np.sum(np.square(x)), x.reshape(-1)[x.size // 3]) for x in (np.asarray(a, dtype="f8") for a in arrays)]
    return [[float(f"{x:.6g}") for x in row] for row in found]


def close(got, want, tolerance=2e-4):
    return len(got) == len(want) and all(
        np.shape(g) == np.shape(w) and np.allclose(g, w, rtol=tolerance, atol=tolerance, equal_nan=True) for g, w in zip(got, want))


def probes(outputs):
    """A fixed weight for each element of a result, for gradients."""
    return [np.cos(np.arange(y.size, dtype="f4")).reshape(y.shape) for y in outputs]


def ours(text, shapes, training, seed):
    rng = np.random.default_rng(seed)
    given = inputs_of(shapes, rng)
    net = eval("nn." + text, {"nn": ig.nn})
    net.load_state_dict(weights_of({name: x.shape for name, x in net.state_dict().items()}, rng))
    net.train(training)
    floats = [i for i, x in enumerate(given) if is_differentiated(x)]
    outputs = []

    def of(parameters, some):
        net.load_state_dict(parameters, strict=False)
        full = list(given)
        for i, x in zip(floats, some):
            full[i] = x
        made = results(net(*(ig.asarray(x) for x in full)))
        outputs[:] = [made]
        return sum((y * ig.asarray(p)).sum() for y, p in zip(made, probes(made)))

    _, grads = ig.value_and_grad(of, argnums=(0, 1))(dict(net.parameters().items()), [ig.asarray(given[i]) for i in floats])
    state = [x for name, x in sorted(net.state_dict().items()) if "running" in name or "batches" in name]
    return net, [np.asarray(x) for x in [*outputs[0], *grads[0].values(), *grads[1], *state]], list(grads[0])


def theirs(text, shapes, training, seed):
    rng = np.random.default_rng(seed)
    given = inputs_of(shapes, rng)
    net = eval("nn." + text, {"nn": SimpleNamespace(**{**vars(torch.nn), **vars(torch_blocks)})})
    weights = weights_of({name: tuple(x.shape) for name, x in net.state_dict().items()}, rng)
    net.load_state_dict({name: torch.from_numpy(np.asarray(x)) for name, x in weights.items()})
    net.train(training)
    arrays = [torch.from_numpy(x) for x in given]
    floats = [x.requires_grad_() for x, data in zip(arrays, given) if is_differentiated(data)]
    made = results(net(*arrays))
    loss = sum((y * torch.from_numpy(p)).sum() for y, p in zip(made, probes([y.detach().numpy() for y in made])))
    loss.backward()
    parameters = dict(net.named_parameters())
    state = [x for name, x in sorted(net.state_dict().items()) if "running" in name or "batches" in name]
    zero = [x.grad if x.grad is not None else torch.zeros_like(x) for x in (*parameters.values(), *floats)]
    return net, [x.detach().numpy() for x in (*made, *zero, *state)], list(parameters)


def module(text, shapes, training):
    name = f"{text} {shapes}" + " in training" * training
    seed = zlib.crc32(name.encode())
    net, got, names = ours(text, shapes, training, seed)
    if torch:
        other, want, other_names = theirs(text, shapes, training, seed)
        check(f"{name}: names", sorted(net.state_dict()) == sorted(other.state_dict()), f"{sorted(net.state_dict())}")
        lines = [sorted(repr(n).replace("NonDynamicallyQuantizable", "").replace("(inplace=True)", "()").splitlines()) for n in (net, other)]
        check(f"{name}: text", lines[0] == lines[1], f"{repr(net):.400}")
        check(f"{name}: order", names == other_names, f"{names} {other_names}")
        check(name, close(got, want), f"{[np.abs(g - w).max() if np.shape(g) == np.shape(w) and np.size(g) else (np.shape(g), np.shape(w)) for g, w in zip(got, want)]}")
        if RECORD:
            recorded[name] = [sorted(other.state_dict()), sums(want)]
    else:
        keys, want = recorded[name]
        check(f"{name}: names", sorted(net.state_dict()) == keys)
        check(name, close(sums(got), want, 1e-3))


def function(text, shapes):
    name = f"{text} {shapes}"
    given = inputs_of(shapes, np.random.default_rng(zlib.crc32(name.encode())))
    got = eval(text, {"F": ig.nn.functional, **{n: ig.asarray(x) for n, x in zip("abc", given)}})
    got = [np.asarray(got)]
    if torch:
        want = [eval(text, {"F": torch.nn.functional, **{n: torch.from_numpy(x) for n, x in zip("abc", given)}}).numpy()]
        check(name, close(got, want) and got[0].dtype == want[0].dtype,
              f"{got[0].dtype}{got[0].shape} {want[0].dtype}{want[0].shape} {got[0].reshape(-1)[:3]} {want[0].reshape(-1)[:3]}")
        if RECORD:
            recorded[name] = sums(want)
    else:
        check(name, close(sums(got), recorded[name], 1e-3))


for case in MODULES:
    attempt(f"{case[0]} {case[1]}", module, *case)
for case in FUNCTIONS:
    attempt(f"{case[0]} {case[1]}", function, *case)
if RECORD:
    with open(FILE, "w", encoding="utf-8") as file:
        lines = [f"{json.dumps(name)}: " + json.dumps(row, separators=(",", ":")) for name, row in recorded.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
finish()
