"""Arrays larger than memory when things go wrong: four times as much data as memory, kills at random moments, a full disk, chunks that
cannot be read or were altered. A save always ends with the bits of the same program in memory, or with an error.

INGOT_LARGE=1 takes more data and 500 kills. Ends with "N passed, N failed".
"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time

from support.tally import check, finish, skip

INGOT = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "ingot"))
LARGE = os.environ.get("INGOT_LARGE") == "1"
KILLS = 500 if LARGE else 20
ROWS = 64_000 if LARGE else 16_000  # of 8 KiB
MIB = 1 << 20
CENTRED = 'x = open("x.zarr"); save(x - mean(x, axis=0), "{}.zarr")'
folder = tempfile.mkdtemp(prefix="ingot-hard-")
os.chdir(folder)


def ingot(program, *options, **more):
    return subprocess.run([INGOT, "eval", *options, program], capture_output=True, text=True, **more)


def peak_bytes(program, *options, group=None):
    """The largest resident set of a run, and its exit code. group: a control group that it runs in."""
    def enter():
        if group:
            with open(os.path.join(group, "cgroup.procs"), "w") as f:
                f.write("0")
    child = subprocess.Popen([INGOT, "eval", *options, program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=enter)
    error = child.stderr.read().decode()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss * (1 if os.uname().sysname == "Darwin" else 1024), child.returncode, error


def control_group(limit):
    """A new group of control groups version 2 with a memory limit, without swap; None if this process may not make one."""
    path = f"/sys/fs/cgroup/ingot-hard-{os.getpid()}"
    try:
        os.mkdir(path)
        for name, value in (("memory.max", limit), ("memory.swap.max", 0)):
            with open(os.path.join(path, name), "r+") as f:  # the system makes these files
                f.write(str(value))
        return path
    except OSError:
        if os.path.isdir(path):
            os.rmdir(path)
        return None


def same(left, right):
    p = ingot(f'l = open("{left}"); r = open("{right}"); print(shape(l) == shape(r)); all((l == r) | ((l != l) & (r != r)))')
    return p.stdout.split() == ["True", "True"]


def test_memory():
    """Data four times as large as the limit, with the peak of the resident memory beyond that of a tiny run within the limit."""
    limit = ROWS * 8192 // 4
    base, _, _ = peak_bytes("sum(ones(10))")
    for program in ['save(rechunk(normal(key(1), [{0}, 1024], dtype=f64), 64, 1024), "x.zarr")', CENTRED.format("y"),
                    'x = open("x.zarr"); print(sum(std(x, axis=0)))', 'x = open("x.zarr"); print(sum(x.T @ x))',
                    'x = open("x.zarr"); save(rechunk(x, 500, 256), "t.zarr")']:
        program = program.replace("{0}", str(ROWS))
        used, code, error = peak_bytes(program, "--memory-limit", str(limit))
        check(f"{program} within {limit // MIB} MiB", code == 0, error)
        check(f"{program}: the peak is {(used - base) // MIB} MiB more than without data", used - base < limit + 16 * MIB)
    group = control_group(limit + base + 48 * MIB)
    if not group:
        return skip("a control group", "this process may not make one of version 2")
    used, code, error = peak_bytes(CENTRED.format("y"), "--memory-limit", str(limit), group=group)
    os.rmdir(group)
    check("within a control group", code == 0, error)


def test_kills(want):
    """Killed again and again, the same command goes on and ends with the same bits."""
    chance = random.Random(3)
    program = CENTRED.format("killed")
    environment = {**os.environ, "IG_BLOCK_BYTES": str(4 * MIB)}
    finished = 0
    begin = time.monotonic()
    ingot(program, env=environment)
    longest = time.monotonic() - begin
    shutil.rmtree("killed.zarr")
    for _ in range(KILLS):
        child = subprocess.Popen([INGOT, "eval", program], env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(chance.random() * longest * (0.3 if chance.random() < 0.9 else 1.1))
        child.send_signal(signal.SIGKILL)
        if child.wait() == 0:
            finished += 1
        if finished and os.path.exists("killed.zarr"):
            finished = 0
            check("a save that ended between two kills", same("killed.zarr", want))
            shutil.rmtree("killed.zarr")
    p = ingot(program, env=environment)
    check("the last run", p.returncode == 0, p.stderr)
    check(f"after {KILLS} kills", same("killed.zarr", want))
    with open("killed.zarr/zarr.json") as f:
        check("a finished store is not marked", "ingot_unfinished" not in f.read())


def test_full_disk(want):
    """A file that cannot be written is an error, and the same command goes on when there is room again."""
    program = CENTRED.format("full")

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    p = ingot(program, preexec_fn=small)
    check("a full disk is an error", p.returncode > 0 and "save 'full.zarr" in p.stderr, p.stderr)
    p = ingot(program)
    check("with room again", p.returncode == 0 and same("full.zarr", want), p.stderr)


def objects(store):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(store) for name in names if name != "zarr.json")


def test_damage():
    """Chunks that are cut short, altered or unreadable are errors that name them; missing ones are zeros."""
    ingot('save(normal(key(1), [400, 400]), "d.zarr")')
    with open("d.zarr/zarr.json") as f:
        shape = json.load(f)["shape"]
    check("the store", shape == [400, 400])
    path = objects("d.zarr")[0]
    with open(path, "rb") as f:
        whole = f.read()
    for name, content in [("cut short", whole[:len(whole) // 2]), ("empty", b""), ("altered", b"\xff" * 40 + whole[40:]), ("longer", whole + whole)]:
        with open(path, "wb") as f:
            f.write(content)
        p = ingot('print(sum(open("d.zarr")))')
        check(f"a chunk that is {name}", p.returncode in (1, 5) and os.path.basename(path) in p.stderr, f"{p.returncode} {p.stderr}")
    os.remove(path)
    os.mkdir(path)
    p = ingot('print(sum(open("d.zarr")))')
    check("a chunk that is a folder", p.returncode in (1, 5), f"{p.returncode} {p.stderr}")


try:
    test_memory()
    ingot('save(normal(key(1), [4000, 300], dtype=f64), "w.zarr")')
    shutil.rmtree("x.zarr", ignore_errors=True)
    ingot('save(rechunk(open("w.zarr"), 100, 100), "x.zarr")')
    p = ingot('x = copy(open("w.zarr")); save(x - mean(x, axis=0), "want.zarr")')
    check("the same in memory", p.returncode == 0, p.stderr)
    test_kills("want.zarr")
    test_full_disk("want.zarr")
    test_damage()
finally:
    os.chdir("/")
    shutil.rmtree(folder)
finish()
