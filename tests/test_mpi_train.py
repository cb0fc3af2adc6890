"""Data-parallel training under mpirun, by the command, the library and the Python package: the same bits for one process and for 1 to 5
ranks, also where the ranks divide the parameters, when a run is continued by another number of ranks, and after a rank was killed.
Counts as skipped if mpirun or the module is missing."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support import tiny_model
from support.mpi import ENV as TEAM_ENV, MISSING, MODULE, MPIRUN, PATIENCE_S, ranks_of
from support.tally import check, finish, skip

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
INGOT = os.path.join(BUILD, "ingot")
TOOL = os.path.join(BUILD, "tests/unit/shards_tool")

if not MODULE:
    skip("training over ranks", MISSING)
    finish()

ENV = {**os.environ, **TEAM_ENV, "IG_NUM_THREADS": "1"}
folder = tempfile.mkdtemp()
os.chdir(folder)


def some(*values):
    """Of the numbers of ranks and such: all, or with IG_TEST_QUICK the second."""
    return values[1:2] if os.environ.get("IG_TEST_QUICK") else values


def team(n, *words, **how):
    """The words as n processes; 0: without mpirun."""
    start = [*MPIRUN, "-n", str(n)] if n else []
    return subprocess.run([*start, *words], capture_output=True, text=True, env=ENV, timeout=PATIENCE_S, **how)


def content(file):
    with open(file, "rb") as f:
        return f.read()


def train(n, file, *words):
    """The checkpoint of a run by n ranks."""
    p = team(n, INGOT, "train", *words, "--save", file, "--json")
    check(f"{n} ranks: {' '.join(words)}", p.returncode == 0 and p.stdout.count("schema") == 1, p.stdout + p.stderr)
    return content(file) if p.returncode == 0 else None


def same(words, ranks, shards=8):
    """Ranks give the checkpoint of one process."""
    one = train(0, "one", *words, "--shards", str(shards))
    for n in ranks:
        given = [] if shards == 8 else ["--shards", str(shards)]
        check(f"bits of {n} ranks: {' '.join(words)}", one == train(n, "many", *words, *given))


def check_networks():
    layers = "24,batch_norm,relu,dropout:0.3,10"
    same(["digits", "--epochs", "2", "--layers", layers], some(1, 2, 3, 4))
    same(["digits", "--epochs", "1", "--batch", "7", "--layers", layers], (3,), 5)
    same(["digits", "--epochs", "1", "--batch", "200", "--model", "cnn"], (2,))
    same(["digits", "--epochs", "1", "--batch", "100"], (4,), 3)  # one rank without work
    for rule in some("sgd", "adam", "adamw", "rmsprop", "lion"):
        same(["digits", "--epochs", "1", "--optimizer", rule, "--batch", "100"], (3,))
    with open("numbers.csv", "w") as f:
        f.writelines(f"{i % 7},{i % 5 - 2},{(i % 7) * 0.5 - (i % 5)}\n" for i in range(60))
    same(["numbers.csv", "--loss", "mse", "--layers", "8,tanh,1", "--epochs", "3"], some(1, 2, 4))


def check_divided():
    """Ranks that keep parts of the parameters: the same checkpoints, and the memory that the guide promises."""
    words = ["digits", "--epochs", "2", "--layers", "24,batch_norm,relu,dropout:0.3,10"]
    one = train(0, "one", *words, "--shards", "8")
    for n in some(1, 2, 3, 4):
        check(f"bits of {n} ranks that divide", one == train(n, "many", *words, "--divide"))
    same(["digits", "--epochs", "1", "--batch", "100", "--model", "cnn", "--divide"], (2, 3), 3)
    for n in some(2, 3, 4):
        p = team(n, TOOL, "arrays")
        check(f"divided arrays of {n} ranks", p.stdout.count(": right, 0 bytes") == n, p.stdout + p.stderr)
        whole, parts = (dict(line.split(": ") for line in team(n, TOOL, "memory", how).stdout.splitlines()) for how in ("whole", "divide"))
        check(f"memory of {n} ranks", len(whole) == len(parts) == n, f"{whole} {parts}")
        for rank in parts:
            everything, own, most, used = map(int, parts[rank].split())
            piece = 4096
            check(f"a rank has its part, {n} ranks", abs(own - everything / n) <= piece, parts[rank])
            check(f"one layer at a time is whole, {n} ranks", most == everything // 8, parts[rank])
            check(f"parameters and two moments between steps, {n} ranks", used <= 3 * (everything / n + piece), parts[rank])
            check("without it parameters are whole", int(whole[rank].split()[3]) >= everything + 2 * (everything / n - piece), whole[rank])
    team(0, TOOL, "7", "4", "one")
    for n in some(2, 3, 5):
        p = team(n, TOOL, "divide", "7", "4", "many")
        check(f"library: {n} ranks divide", p.returncode == 0 and content("one") == content("many"), p.stdout + p.stderr)
    team(2, TOOL, "divide", "7", "2", "half")
    for n, how in ((3, ["divide"]), (4, []), (0, [])):
        p = team(n, TOOL, *how, "7", "4", "rest", "half")
        check(f"library: continued by {n} ranks", p.returncode == 0 and content("rest") == content("one"), p.stdout + p.stderr)


def check_text():
    """ingot train text: a model folder and a checkpoint of the same bytes for every number of ranks."""
    model = tiny_model.make("tiny", "classify")
    with open("samples.tsv", "w") as f:
        f.writelines(f"{'the ' * (i % 5)}{'cat' if i % 3 else 'dog'} is {'good' if i % 2 else 'not bad'}\t{'yes' if i % 2 else 'no'}\n"
                     for i in range(37))
    words = ["text", "--model", model, "--data", "samples.tsv", "--batch", "9", "--hold", "0.2", "--lr", "0.01"]

    def run(n, name, *more):
        shutil.rmtree(name, ignore_errors=True)
        p = team(n, INGOT, "train", *words, "--save", name, "--checkpoint", name + ".state", "--json", *more)
        check(f"text, {n} ranks: {' '.join(more)}", p.returncode == 0 and p.stdout.count("schema") == 1, p.stdout + p.stderr)
        return content(name + "/model.safetensors") + content(name + ".state") if p.returncode == 0 else None

    for more in (["--all"], []):
        one = run(0, "alone", *more, "--shards", "8")
        for n in some(1, 2, 3, 4):
            check(f"text: bits of {n} ranks", one == run(n, "several", *more))
        check("text: bits of ranks that divide", one == run(3, "several", *more, "--divide"))
    name = "stopped.state"
    running = subprocess.Popen([*MPIRUN, "-n", "3", INGOT, "train", *words, "--all", "--save", "stopped", "--checkpoint", name, "--epochs",
                                "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**ENV, "TEST_TEAM": name})
    wait_for(name, running)
    os.kill(ranks_of(name, INGOT)[1], signal.SIGKILL)
    out, err = running.communicate(timeout=PATIENCE_S)
    check("text: a killed rank ends all", running.returncode != 0 and os.path.exists(name), out + err)
    p = team(2, INGOT, "train", *words, "--all", "--save", "more", "--resume", name, "--epochs", "7")
    check("text: other settings", p.returncode != 0 and "made with '--epochs 100000', not '--epochs 7'" in p.stderr, p.stderr)
    for epochs in ("20", "80", "320"):  # until a run does not end before the signal
        running = subprocess.Popen([*MPIRUN, "-n", "2", INGOT, "train", *words, "--all", "--save", "halted", "--checkpoint", "halted.state",
                                    "--epochs", epochs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**ENV, "TEST_TEAM": "halted.state"})
        wait_for("halted.state", running)
        ranks = ranks_of("halted.state", INGOT)
        if 1 in ranks:
            os.kill(ranks[1], signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE_S)
        if running.returncode:
            break
        shutil.rmtree("halted", ignore_errors=True)
        os.remove("halted.state")
    check("text: interrupted", running.returncode != 0 and "continue with --resume halted.state" in err, out + err)
    whole = run(0, "alone", "--all", "--shards", "8", "--epochs", epochs)
    check("text: resumed in an epoch", whole == run(3, "halted", "--all", "--resume", "halted.state", "--epochs", epochs))


def check_gpt():
    """ingot train gpt: the ranks divide the batches of a step; the files are the same for every number of ranks."""
    with open("gpt.txt", "w") as f:
        f.write("".join(f"{i * i % 97} and {i} " for i in range(400)))
    files = []
    for n in some(1, 2, 3):
        name = f"gpt{n}"
        p = team(n, INGOT, "train", "gpt", "--config", "layers=1,heads=2,width=16,length=16", "--data", "gpt.txt", "--batch", "2",
                 "--accumulate", "4", "--steps", "4", "--dropout", "0.1", "--json", "--save", name)
        check(f"gpt, {n} ranks", p.returncode == 0 and p.stdout.count("schema") == 1, p.stdout + p.stderr)
        files.append([content(f"{name}/{file}.safetensors") for file in ("model", "checkpoint")])
    check("gpt: bits of all ranks", all(x == files[0] for x in files))


def check_resume():
    """Runs of 3, 2 and 1 ranks, and of a process without mpirun, one after the other: a whole run."""
    words = ["digits", "--batch", "100", "--layers", "16,batch_norm,relu,dropout:0.2,10"]
    whole = train(0, "whole", *words, "--epochs", "5", "--shards", "8")
    train(3, "part", *words, "--epochs", "1")
    for epochs, n in ((2, 2), (3, 1), (4, 0), (5, 4)):
        train(n, "part", "digits", "--resume", "part", "--epochs", str(epochs))
    # The number of epochs in the text is the last one that was given.
    check("resumed by other ranks", whole == content("part"))


def wait_for(name, running):
    """Until the run has written a file."""
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(name) and running.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def start(n, name, *words):
    """A run in the background, once it has written its first checkpoint."""
    running = subprocess.Popen([*MPIRUN, "-n", str(n), INGOT, "train", *words, "--save", name], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env={**ENV, "TEST_TEAM": name})
    wait_for(name, running)
    return running, ranks_of(name, INGOT)


def check_killed():
    words = ["digits", "--batch", "50"]
    whole = train(0, "whole", *words, "--epochs", "30", "--shards", "8")
    for victim in (0, 2):
        name = f"killed{victim}"
        running, ranks = start(3, name, *words, "--epochs", "100000", *(["--divide"] if victim else []))
        check("all ranks run", sorted(ranks) == [0, 1, 2], str(ranks))
        os.kill(ranks[victim], signal.SIGKILL)
        out, err = running.communicate(timeout=PATIENCE_S)
        check(f"rank {victim} was killed: the others stop", running.returncode != 0, err)
        check(f"rank {victim} is named", f"ingot: rank {victim} (process" in err, out + err)
        check("no process is left", not ranks_of(name, INGOT), str(ranks_of(name, INGOT)))
        done = json.loads(team(0, INGOT, "train", "digits", "--resume", name, "--epochs", "1", "--json").stdout)["loss"]
        epochs = str(len(done) + 2)
        whole = train(0, "whole", *words, "--epochs", epochs, "--shards", "8")
        check("resumed after the kill", whole == train(2, name, "digits", "--resume", name, "--epochs", epochs, "--divide"))


def check_interrupted():
    """A signal to one rank stops all after the same step, and rank 0 saves."""
    words = ["digits", "--batch", "50"]
    for victim in (0, 1):
        name = f"interrupted{victim}"
        running, ranks = start(2, name, *words, "--epochs", "100000")
        os.kill(ranks[victim], signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE_S)
        check("interrupted", running.returncode != 0 and err.count("saved; continue with --resume") == 1, out + err)
        p = team(0, INGOT, "train", "digits", "--resume", name, "--epochs", "1", "--json")
        epochs = str(len(json.loads(p.stdout)["loss"]) + 2)
        check("resumed after a signal", train(0, "whole", *words, "--epochs", epochs, "--shards", "8") ==
              train(3, name, "digits", "--resume", name, "--epochs", epochs))


def check_errors():
    p = team(2, INGOT, "train", "digit")
    check("one message", p.returncode != 0 and p.stderr.count("ingot train:") == 1, p.stderr)
    team(0, INGOT, "train", "digits", "--epochs", "1", "--save", "plain")
    p = team(2, INGOT, "train", "digits", "--resume", "plain", "--epochs", "2")
    check("a checkpoint without shards", p.returncode != 0 and "give --shards 8 to continue with 2 ranks" in p.stderr, p.stderr)
    train(2, "plain", "digits", "--resume", "plain", "--epochs", "2", "--shards", "4")
    p = team(2, INGOT, "train", "digits", "--resume", "plain", "--shards", "5")
    check("other shards", p.returncode != 0 and "made with --shards 4, not 5" in p.stderr, p.stderr)
    p = team(2, INGOT, "train", "digits", "--epochs", "1", "--save", "/nowhere/x")
    check("no folder", p.returncode != 0 and p.stderr.count("/nowhere") == 1, p.stderr)
    run = [INGOT, "train", "digits", "--epochs", "1", "--seed"]
    p = team(1, *run, "1", ":", "-n", "1", *run, "2")
    check("different settings", p.returncode != 0 and "rank 1 and rank 0 have different settings" in p.stderr, p.stderr)
    for name, last in (("a.csv", 1), ("b.csv", 2)):
        with open(name, "w") as f:
            f.writelines(f"{i % 7},{i % 2}\n" for i in range(60))
            f.writelines(f"{last},0\n" for i in range(6))
    run = [INGOT, "train", "--epochs", "1"]
    p = team(1, *run, "a.csv", ":", "-n", "1", *run, "b.csv")
    check("different samples", p.returncode != 0 and "rank 1 and rank 0 have different" in p.stderr, p.stderr)


def check_library():
    """Parameters of three dtypes, clipping and schedules, by the C functions."""
    for shards in some(1, 4, 7):
        p = team(0, TOOL, str(shards), "4", "one")
        check(f"one process, {shards} shards", p.returncode == 0, p.stdout + p.stderr)
        for n in some(2, 3, 4, 5):
            many = team(n, TOOL, str(shards), "4", "many")
            check(f"{n} ranks, {shards} shards", p.stdout == many.stdout and content("one") == content("many"),
                  many.stdout + many.stderr)
    team(3, TOOL, str(shards), "2", "half")
    p = team(2, TOOL, str(shards), "4", "rest", "half")
    check("loaded by other ranks", p.returncode == 0 and content("rest") == content("one"), p.stdout + p.stderr)
    for shards in some(1, 5, 8):
        one = team(0, TOOL, "sum", str(shards)).stdout
        for n in (2, 3, 4):
            p = team(n, TOOL, "sum", str(shards))
            check(f"sums of {n} ranks, {shards} shards", one and p.stdout.splitlines(True) == [one] * n, p.stdout + p.stderr)
    p = team(3, TOOL, "fail", "1")
    # Rank 0 ends all, perhaps before the other prints.
    check("a rank fails", p.returncode != 0 and p.stdout.count("rank 1 failed:") in (1, 2), p.stdout + p.stderr)
    p = team(2, TOOL, "differ")
    check("different models", p.returncode != 0 and "have different models" in p.stdout, p.stdout + p.stderr)


PROGRAM = """
import hashlib, os, sys
import ingot as ig
from ingot import nn, optim, team

team.begin()
net = nn.Sequential(nn.Linear(40, 50), nn.relu, nn.Linear(50, 3))
key = ig.key(1)
for name, p in list(net.state_dict().items()):
    key = ig.fold_in(key, 1)
    net.load_state_dict({name: ig.normal(key, p.shape)}, strict=False)
step = nn.value_and_grad(net, lambda net, x: ((net(x) - x[:, :3]) ** 2).mean())
opt = optim.Adam(1e-2)
for i in range(3):
    x, parts = ig.normal(ig.key(i), (30, 40)), []
    for k in team.shards(5):
        loss, grads = step(net, x[k::5])
        parts.append({name: g / 5 for name, g in grads.items()})
    if "fail" in sys.argv and team.rank() == 1:
        raise RuntimeError("told to fail")
    opt.update(net, team.sum(parts, 5, like=net.parameters()))
    if "divide" in sys.argv:
        team.divide(net, opt)
digest = hashlib.sha256(b"".join(bytes(memoryview(p)) for p in net.parameters().values())).hexdigest()
os.write(1, f"{digest} {team.rank() < team.size()}\\n".encode())  # at once: lines of ranks must not mix
"""


def check_python():
    package = os.path.join(BUILD, "python")
    if not os.path.exists(os.path.join(package, "ingot")):
        skip("ingot.team", "the Python package is not built")
        return
    with open("program.py", "w") as f:
        f.write(PROGRAM)
    ENV["PYTHONPATH"] = package
    one = team(0, sys.executable, "program.py")
    check("Python: one process", one.returncode == 0 and one.stdout.endswith("True\n"), one.stderr)
    for n in (2, 3):
        for words in ([], ["divide"]):
            p = team(n, sys.executable, "program.py", *words)
            check(f"Python: {n} ranks {words}", p.stdout.splitlines(True) == [one.stdout] * n, p.stdout + p.stderr)
    p = team(3, sys.executable, "program.py", "fail")
    check("Python: a rank fails", p.returncode != 0 and p.stderr.count("RuntimeError: told to fail") == 1, p.stdout + p.stderr)


try:
    for test in (check_python, check_library, check_networks, check_divided, check_text, check_gpt, check_resume, check_killed, check_interrupted, check_errors):
        test()
finally:
    os.chdir("/")
    shutil.rmtree(folder)
finish()
