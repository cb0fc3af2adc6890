"""Optimizers, schedules and data loaders of PyTorch's names. tests/python/optim.json has the weights after PyTorch's steps and its
learning rates; where PyTorch is installed they are compared with it. With RECORD=1 the file is written."""
import json
import os
import pickle

from against import attempt, check, finish, ig, np, raises, same, says

try:
    import torch
except ImportError:
    torch = None
RECORD = os.environ.get("RECORD") == "1"
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optim.json")
recorded = {} if RECORD else json.load(open(FILE, encoding="utf-8"))
nn, optim, data, lr_scheduler = ig.nn, ig.optim, ig.data, ig.optim.lr_scheduler
STEPS = 6

RULES = """SGD(p, lr=0.1)
SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)
SGD(p, 0.1, momentum=0.9, nesterov=True, maximize=True)
Adam(p, lr=0.01)
Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1)
AdamW(p, lr=0.01)
NAdam(p)
RAdam(p, lr=0.01)
Adamax(p, weight_decay=0.1)
RMSprop(p)
RMSprop(p, centered=True, momentum=0.5)
Adagrad(p, lr_decay=0.1, initial_accumulator_value=0.2)
Adadelta(p, lr=0.5)
Adam([{'params': p[:1], 'lr': 0.1}, {'params': p[1:], 'weight_decay': 0.5}], lr=0.01)""".split("\n")

SCHEDULES = """StepLR(opt, step_size=3)
MultiStepLR(opt, [2, 5, 5, 8], gamma=0.5)
ExponentialLR(opt, 0.9)
ConstantLR(opt, factor=0.25, total_iters=4)
LinearLR(opt, start_factor=0.1, total_iters=5)
LinearLR(opt, start_factor=1.0, end_factor=0.2, total_iters=5)
PolynomialLR(opt, total_iters=6, power=2.0)
CosineAnnealingLR(opt, T_max=5, eta_min=0.01)
CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2)
LambdaLR(opt, lambda n: 0.95 ** n)
MultiplicativeLR(opt, lambda n: 0.9 + n / 100)
OneCycleLR(opt, max_lr=1.0, total_steps=14)
OneCycleLR(opt, max_lr=1.0, epochs=7, steps_per_epoch=2, anneal_strategy='linear', three_phase=True)
SequentialLR(opt, [s.LinearLR(opt, 0.1, total_iters=3), s.CosineAnnealingLR(opt, 8)], milestones=[3])
ChainedScheduler([s.ConstantLR(opt, 0.5, 3), s.ExponentialLR(opt, 0.9)])""".split("\n")


def arrays():
    rng = np.random.default_rng(3)
    return [rng.standard_normal(n).astype("f4") for n in (4, 3)], [[rng.standard_normal(n).astype("f4") for n in (4, 3)] for _ in range(STEPS)]


def compare(name, got, want, tolerance):
    if RECORD:
        recorded[name] = [float(f"{x:.8g}") for x in want]
    want = recorded[name] if want is None else want
    check(name, np.allclose(got, want, rtol=tolerance, atol=tolerance), f"{got} is not {want}")


def rules():
    for text in RULES:
        start, grads = arrays()
        want = None
        if torch:
            p = [torch.from_numpy(x.copy()).requires_grad_() for x in start]
            opt = eval("o." + text, {"o": torch.optim, "p": p})
            for step in grads:
                for x, g in zip(p, step):
                    x.grad = torch.from_numpy(g)
                opt.step()
            want = np.concatenate([x.detach().numpy() for x in p])
        p = [ig.asarray(x) for x in start]
        opt = eval("o." + text, {"o": optim, "p": p})
        for step in grads:
            opt.step([ig.asarray(g) for g in step])
        compare(text, np.concatenate([np.asarray(x) for x in p]), want, 2e-6)


def scaling():
    """Steps of a network in float16, of which the first and the fourth have gradients that are not finite, in eager form and in jit:
    parameters and scales are PyTorch's, and in the module of a network in float16 gradients that are too small for it are right."""
    for text in ("SGD(p, lr=0.1, momentum=0.9)", "AdamW(p, lr=0.01)"):
        start, grads = arrays()
        grads[0][1][1], grads[3][0][2] = np.inf, np.nan
        want = None
        if torch:
            p = [torch.from_numpy(x.copy()).requires_grad_() for x in start]
            opt, scaler, scales = eval("o." + text, {"o": torch.optim, "p": p}), torch.amp.GradScaler("cpu", growth_interval=2), []
            for step in grads:
                scaler.scale(torch.zeros(()))
                for x, g in zip(p, step):
                    x.grad = torch.from_numpy(g) * scaler.get_scale()
                scaler.step(opt)
                scaler.update()
                scales.append(scaler.get_scale())
            want = np.concatenate([*(x.detach().numpy() for x in p), scales])
        for form in ("eager", "jit"):
            net = nn.mixed(nn.ParameterList(start), "float16")
            opt, scale, scales = eval("o." + text, {"o": optim, "p": net.parameters()}), nn.loss_scale(net), []
            scale.INTERVAL = 2

            def update(net, opt, grads):
                opt.update(net, grads)

            for step in grads:
                (ig.jit(update) if form == "jit" else update)(net, opt, {str(i): ig.asarray(g) for i, g in enumerate(step)})
                scales.append(float(scale.scale))
            compare(f"{text} in float16", np.concatenate([*(np.asarray(x) for x in net.parameters()), scales]), want, 2e-6)
            check(f"{text} {form}: only finite steps count", opt.steps == STEPS - 2 and type(opt.steps) is int, str(opt.steps))
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), ig.asarray([[1.0, -2.0, 3.0]])
    step = nn.value_and_grad(net, lambda net, x: 1e-8 * net(x).sum())
    want = step(net, x)
    got = step(nn.mixed(net, "float16"), x)
    check("the loss is not scaled", abs(float(got[0]) / float(want[0]) - 1) < 1e-2, f"{got[0]} {want[0]}")
    for name, g in want[1].items():
        same(f"a small gradient of {name}", got[1][name] * 1e8, g * 1e8, 2e-3)
    check("state_dict is as before", len(net.state_dict()) == 4 and nn.loss_scale(nn.mixed(net, None)) is None)


class Two(nn.Module):
    def __init__(self):
        self.first, self.rest = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.rest(nn.tanh(self.first(x)))


def forms():
    """The same steps with a network: update, step, groups of modules, of arrays, and a loaded state."""
    x, start = ig.asarray([[1.0, 2.0], [0.5, -1.0]]), Two().state_dict()
    step = nn.value_and_grad(Two(), lambda net, x: (net(x) ** 2).mean())

    def run(make, how, halves=1):
        net = Two().load_state_dict(start)
        opt = make(net)
        for half in range(halves):
            if half:
                saved = pickle.loads(pickle.dumps(opt.state_dict()))
                opt = make(net)
                opt.load_state_dict(saved)
            for _ in range(4 // halves):
                grads = step(net, x)[1]
                opt.step(grads) if how == "step" else opt.update(net, grads)
        return np.concatenate([np.asarray(p).reshape(-1) for p in net.parameters()])

    want = run(lambda net: optim.Adam(1e-2), "update")
    same("step", run(lambda net: optim.Adam(net.parameters(), lr=1e-2), "step"), want)
    same("named parameters", run(lambda net: optim.Adam(net.named_parameters(), 1e-2), "update"), want)
    same("a list", run(lambda net: optim.Adam(list(net.parameters()), 1e-2), "update"), want)
    same("a filter", run(lambda net: optim.Adam(filter(lambda p: p.ndim, net.parameters()), 1e-2), "update"), want)
    same("groups", run(lambda net: optim.Adam([{"params": net.rest.parameters()}, {"params": net.first.parameters()}], 1e-2), "update"), want)
    same("a loaded state", run(lambda net: optim.Adam(net.parameters(), lr=1e-2), "step", 2), want)
    frozen = run(lambda net: optim.Adam([{"params": net.rest.parameters()}, {"params": net.first.parameters(), "lr": 0.0}], 1e-2), "update")
    same("a group's lr", frozen[:6], np.concatenate([np.asarray(start[k]).reshape(-1) for k in ("first.weight", "first.bias")]))
    part = run(lambda net: optim.Adam(net.rest.parameters(), 1e-2), "update")
    same("only some parameters", part[:6], frozen[:6])
    check("which change", not np.allclose(part[6:], np.asarray(start["rest.weight"])[0, 0]))
    net = Two()
    opt = optim.SGD(net.parameters(), 0.1)
    opt.step(step(net, x)[1])
    check("groups hold the arrays of now", all(a is b for a, b in zip(opt.param_groups[0]["params"], net.parameters())))
    net, opt = Two(), optim.SGD(1e-2)
    opt.param_groups[0]["lr"] = 0.5
    check("param_groups", opt.lr == 0.5)
    says("step without gradients", TypeError, ["value_and_grad", "opt.step(grads)"], lambda: optim.Adam(net.parameters()).step())
    says("loss.backward", AttributeError, ["value_and_grad", "opt.step(grads)"], lambda: (net(x) ** 2).mean().backward())
    optim.Adam(net.parameters()).zero_grad()
    net.zero_grad()
    raises("an unknown option", TypeError, lambda: optim.Adam(net.parameters(), momentm=0.9), "momentm")
    raises("two rates", TypeError, lambda: optim.Adam(0.1, lr=0.2))
    raises("an array", TypeError, lambda: optim.Adam(ig.ones(2)))
    raises("no parameters", TypeError, lambda: optim.Adam([]))
    raises("step without parameters", TypeError, lambda: optim.Adam(0.1).step({"a": ig.ones(1)}), "update")
    raises("another network", KeyError, lambda: opt.update(net, {"x": ig.ones(1)}))
    lost = optim.Adam(list(net.parameters()))
    net.load_state_dict({k: v + 1 for k, v in net.state_dict().items()})
    raises("replaced arrays", ValueError, lambda: lost.update(net, step(net, x)[1]), "net.parameters()")
    check("learning_rate", optim.Adam(learning_rate=0.5).lr == 0.5)


def averages():
    """Averages of parameters over steps, whose buffers are the model's or averages, too; early stopping."""
    rng = np.random.default_rng(5)
    steps = [[rng.standard_normal(n).astype("f4") for n in (3, 3, 3)] for _ in range(STEPS)]
    names = ("weight", "bias", "running_mean")
    for rule in ("", "avg_fn=s.get_ema_avg_fn(0.9)", "avg_fn=s.get_ema_avg_fn(0.9), use_buffers=True"):
        def run(library, array):
            net = library.nn.BatchNorm1d(3)
            average = eval(f"s.AveragedModel(net, {rule})", {"s": library.optim.swa_utils, "net": net})
            for step in steps:
                net.load_state_dict({name: array(x) for name, x in zip(names, step)}, strict=False)
                average.update_parameters(net)
            state = average.state_dict()
            return np.concatenate([*(np.asarray(state["module." + name]) for name in names), [int(state["n_averaged"])]])

        compare(f"AveragedModel({rule})", run(ig, ig.asarray), run(torch, torch.from_numpy) if torch else None, 2e-6)
    net, x = Two(), ig.asarray([[1.0, 2.0], [0.5, -1.0]])
    opt, average = optim.Adam(net.parameters(), lr=0.1), optim.swa_utils.AveragedModel(net, avg_fn=optim.swa_utils.get_ema_avg_fn(0.5))
    step = nn.value_and_grad(net, lambda net, x: (net(x) ** 2).mean())

    @ig.jit
    def train(net, opt, average, x):
        loss, grads = step(net, x)
        opt.update(net, grads)
        average.update_parameters(net)
        return loss

    want = None
    for _ in range(4):
        train(net, opt, average, x)
        now = np.asarray(net.first.weight)
        want = now if want is None else want + 0.5 * (now - want)
    same("averages in jit", average.module.first.weight, want, 1e-6)
    check("it computes with them", average(x).shape == (2, 1) and int(average.n_averaged) == 4)
    check("they are no parameters of the network", average.module.first.weight is not net.first.weight)

    stopping, kept = optim.EarlyStopping(patience=2, min_delta=0.1), np.array(net.first.weight)
    found = [stopping.step(5.0)]
    found.append(stopping.step(ig.asarray(4.0), net))
    net.first.weight[...] = 0
    found += [stopping.step(3.95), stopping.step(float("nan"))]
    check("it stops", found == [False, False, False, True] and stopping.best == 4.0 and stopping.best_step == 1, str(found))
    stopping.restore(net)
    same("the best network", net.first.weight, kept)
    again = optim.EarlyStopping(mode="max")
    again.load_state_dict(pickle.loads(pickle.dumps({k: v for k, v in stopping.state_dict().items() if k != "mode"})))
    check("a loaded state", again.patience == 2 and not again.step(6.0) and again.best == 6.0)
    check("a measure that is always NaN", [optim.EarlyStopping(1).step(float("nan"))] == [True])
    raises("a wrong mode", ValueError, lambda: optim.EarlyStopping(mode="least"), "min or max")
    raises("no state", ValueError, lambda: optim.EarlyStopping().restore(net), "step(measure, net)")


def schedules():
    for text in SCHEDULES:
        def rates(library):
            weight = torch.nn.Linear(1, 1).parameters() if library is torch and torch else nn.Linear(1, 1).parameters()
            opt = library.optim.SGD(weight, lr=0.4, momentum=0.9)
            s = library.optim.lr_scheduler
            scheduler = eval("s." + text, {"s": s, "opt": opt})
            found = []
            for _ in range(13):
                found += [opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"]]
                scheduler.step()
            return found

        compare(text, rates(ig), rates(torch) if torch else None, 1e-9 if torch else 1e-6)
    losses = [5, 4, 4, 4, 4, 3.99999, 3, 3, 3, 3, 3, 3, 3, 3]
    for options in ({"patience": 2}, {"factor": 0.5, "patience": 1, "cooldown": 1, "min_lr": 0.01}, {"mode": "max", "patience": 1, "threshold_mode": "abs"}):
        def rates(library):
            opt = library.optim.SGD(library.nn.Linear(1, 1).parameters(), lr=0.1)
            scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(opt, **options)
            return [(scheduler.step(loss), opt.param_groups[0]["lr"])[1] for loss in losses]

        compare(f"ReduceLROnPlateau {options}", rates(ig), rates(torch) if torch else None, 1e-9 if torch else 1e-6)
    opt = optim.Adam(nn.Linear(1, 1).parameters(), lr=0.1)
    scheduler = lr_scheduler.StepLR(opt, 2)
    for _ in range(3):
        scheduler.step()
    again = lr_scheduler.StepLR(optim.Adam(nn.Linear(1, 1).parameters(), lr=0.1), 2)
    again.load_state_dict(scheduler.state_dict())
    check("a schedule's state", again.last_epoch == 3 and again.get_last_lr() == scheduler.get_last_lr())
    raises("a function as lr", TypeError, lambda: lr_scheduler.StepLR(optim.SGD(optim.cosine(0.1, 10)), 2))


def loaders():
    x, y = np.arange(20, dtype="f4").reshape(10, 2), np.arange(10)
    dataset = data.TensorDataset(ig.asarray(x), ig.asarray(y))
    batches = list(data.DataLoader(dataset, batch_size=4))
    check("batches", [b[0].shape for b in batches] == [(4, 2), (4, 2), (2, 2)] and len(data.DataLoader(dataset, 4)) == 3)
    same("rows", batches[1][0], x[4:8])
    check("drop_last", [len(b) for _, b in data.DataLoader(dataset, batch_size=4, drop_last=True)] == [4, 4])
    ig.manual_seed(1)
    loader = data.DataLoader(dataset, batch_size=3, shuffle=True)
    orders = [np.concatenate([np.asarray(b) for _, b in loader]) for _ in range(2)]
    check("shuffled", sorted(orders[0]) == list(range(10)) and not np.array_equal(*orders))
    check("pairs stay", all(np.array_equal(np.asarray(a)[:, 0], 2 * np.asarray(b)) for a, b in loader))
    a, b = data.random_split(dataset, [0.7, 0.3])
    check("random_split", (len(a), len(b)) == (7, 3) and sorted(a.indices + b.indices) == list(range(10)))
    check("of a part", sum(len(b) for _, b in data.DataLoader(a, 2, shuffle=True)) == 7)

    class Squares(data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return {"x": np.full(3, i, "f4"), "y": i * i, "name": str(i)}

    for workers in (0, 2):
        got = list(data.DataLoader(Squares(), batch_size=2, num_workers=workers))
        same(f"items {workers}", got[1]["x"], np.repeat([[2.0], [3.0]], 3, 1).astype("f4"))
        check(f"numbers {workers}", got[1]["y"].tolist() == [4, 9] and got[1]["name"] == ["2", "3"])
    check("collate_fn", list(data.DataLoader(Squares(), 2, collate_fn=len)) == [2, 2, 1])
    check("concatenated", (Squares() + Squares())[6]["y"] == 1)

    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    check("a stream", [b.tolist() for b in data.DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]])
    raises("a shuffled stream", ValueError, lambda: data.DataLoader(Stream(), shuffle=True))
    weighted = list(data.WeightedRandomSampler([0.0, 1.0, 0.0], 5))
    check("weights", weighted == [1] * 5)
    raises("lengths", ValueError, lambda: data.random_split(dataset, [5, 6]))
    raises("no length", TypeError, lambda: len(data.DataLoader(Stream())))


for test in (rules, scaling, forms, averages, schedules, loaders):
    attempt(test.__name__, test)
if RECORD:
    with open(FILE, "w", encoding="utf-8") as file:
        rows = [f"{json.dumps(name)}: " + json.dumps(row, separators=(",", ":")) for name, row in recorded.items()]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")
finish()
