"""Arrays larger than memory when things go wrong: four times as much data as memory, kills at random moments, a full disk, calls that
transfer fewer bytes, chunks that cannot be read or were altered, files that killed writers left. A save always ends with the
bits of the same program in memory, or with an error.

IG_TEST_LARGE=1 takes more data and 500 kills. Ends with "N passed, N failed".
"""
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support.tally import check, finish, skip

INGOT = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "ingot"))
FAULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "store", "faults.c")
LARGE = os.environ.get("IG_TEST_LARGE") == "1"
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


def group_paths():
    """Where a control group may be made, and the names of its limits: version 2, and version 1 inside the own group."""
    yield "/sys/fs/cgroup", ("memory.max", "memory.swap.max")
    try:
        with open("/proc/self/cgroup") as f:
            for line in f:
                _, kinds, path = line.strip().split(":", 2)
                if "memory" in kinds.split(","):
                    yield "/sys/fs/cgroup/memory" + path.rstrip("/"), ("memory.limit_in_bytes", "memory.swappiness")
    except OSError:
        pass


def control_group(limit):
    """A new control group with a memory limit, without swap; None if this process may not make one."""
    for parent, (most, swap) in group_paths():
        path = os.path.join(parent, f"ingot-hard-{os.getpid()}")
        try:
            os.mkdir(path)
            for name, value in ((most, limit), (swap, 0)):
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
                    'x = open("x.zarr"); save(rechunk(x, 500, 256), "t.zarr")',
                    'x = open("x.zarr"); print(sum(unique_values(x)))', 'x = open("x.zarr"); print(sum(x[x > 1]))']:
        program = program.replace("{0}", str(ROWS))
        used, code, error = peak_bytes(program, "--memory-limit", str(limit))
        check(f"{program} within {limit // MIB} MiB", code == 0, error)
        check(f"{program}: the peak is {(used - base) // MIB} MiB more than without data", used - base < limit + 16 * MIB)
    group = control_group(limit + base + 48 * MIB)
    if not group:
        return skip("a control group", "this process may not make one")
    for program in [CENTRED.format("y"), 'x = open("x.zarr"); save(rechunk(x, 500, 256), "t.zarr")']:
        used, code, error = peak_bytes(program, "--memory-limit", str(limit), group=group)
        check(f"{program} in a control group of {(limit + base) // MIB + 48} MiB", code == 0, f"{code} {error}")
    os.rmdir(group)


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


def faults(fault, path, **more):
    """The environment of a command whose system calls fail on files with this path; see store/faults.c."""
    return {**os.environ, "LD_PRELOAD": os.path.join(folder, "faults.so"), "FAULT": fault, "FAULT_PATH": path,
            **{key: str(value) for key, value in more.items()}}


def with_faults():
    if sys.platform != "linux":
        return skip("system calls that fail", "they are replaced with LD_PRELOAD of Linux")
    built = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", "faults.so", FAULTS, "-ldl"], capture_output=True,
                           text=True)
    check("store/faults.c", built.returncode == 0, built.stderr)
    return built.returncode == 0


def test_short_calls(want):
    """Calls that transfer fewer bytes than asked for, or are interrupted, change nothing."""
    p = ingot(CENTRED.format("short"), env=faults("short", ".zarr"))
    check("short reads and writes", p.returncode == 0 and same("short.zarr", want), p.stderr)


def test_no_space(want):
    """A disk that is full in the middle of a chunk leaves whole chunks only, and the same command goes on with room."""
    program = CENTRED.format("space")
    for size in (0, 1000, 100_000, 3_000_000):
        p = ingot(program, env=faults("full", "space.zarr", FAULT_BYTES=size))
        check(f"no space after {size} bytes", p.returncode > 0 and "save 'space.zarr" in p.stderr and "No space left" in p.stderr, p.stderr)
        check("no file without its chunk", not [name for name in objects("space.zarr") if "/.tmp-" in name])
    p = ingot(program)
    check("with space again", p.returncode == 0 and same("space.zarr", want), p.stderr)


def test_left_files(want):
    """Files that killed writers left are removed when the same command goes on. That of a living writer stays."""
    program = CENTRED.format("left")
    ingot(program, env=faults("full", "left.zarr", FAULT_BYTES=1_000_000))
    place = os.path.dirname(objects("left.zarr")[0])
    gone = [os.path.join(place, ".tmp-999999-0"), "left.zarr/.tmp-999999-17"]
    kept = [os.path.join(place, name) for name in (f".tmp-{os.getpid()}-3", ".tmp-notes", ".tmp-1-2-3")]
    for path in gone + kept:
        with open(path, "w") as f:
            f.write("part of a chunk")
    with open(kept[0]) as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        p = ingot(program)
    check("with files that others left", p.returncode == 0 and same("left.zarr", want), p.stderr)
    check("the files of killed writers are removed", not any(map(os.path.exists, gone)))
    check("other files stay", all(map(os.path.exists, kept)), str([path for path in kept if not os.path.exists(path)]))


def test_unreadable():
    """A chunk that cannot be read is an error that says so and names it, at each operation."""
    ingot('save(normal(key(1), [400, 400]), "u.zarr")')
    chunk = objects("u.zarr")[0]
    for fault, why in (("unread", "Input/output error"), ("denied", "Permission denied")):
        for program in ('print(sum(open("u.zarr")))', 'save(open("u.zarr") * 2, "v.zarr")', 'open("u.zarr")[:3, :3]'):
            p = ingot(program, env=faults(fault, chunk.split("/", 1)[1]))
            check(f"{program}, {why}", p.returncode in (1, 5) and f"read '{chunk}'" in p.stderr and why in p.stderr, f"{p.returncode} {p.stderr}")


def test_damage():
    """Chunks that are cut short or altered are errors that name them; missing ones are zeros."""
    ingot('save(normal(key(1), [400, 400]), "d.zarr")')
    with open("d.zarr/zarr.json") as f:
        shape = json.load(f)["shape"]
    check("the store", shape == [400, 400])
    path = objects("d.zarr")[0]
    with open(path, "rb") as f:
        whole = f.read()
    middle = len(whole) // 2
    for name, content in [("cut short", whole[:middle]), ("empty", b""), ("altered", b"\xff" * 40 + whole[40:]), ("longer", whole + whole)]:
        with open(path, "wb") as f:
            f.write(content)
        p = ingot('print(sum(open("d.zarr")))')
        check(f"a chunk that is {name}", p.returncode in (1, 5) and f"read '{path}'" in p.stderr, f"{p.returncode} {p.stderr}")
    os.remove(path)
    p = ingot('print(all(open("d.zarr")[:2, :2] == 0))')
    check("a chunk that is missing", p.returncode == 0 and p.stdout.split() == ["True"], p.stdout + p.stderr)
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
    if with_faults():
        test_short_calls("want.zarr")
        test_no_space("want.zarr")
        test_left_files("want.zarr")
        test_unreadable()
    test_damage()
finally:
    os.chdir("/")
    shutil.rmtree(folder)
finish()
