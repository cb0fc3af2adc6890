"""Teams of processes under mpirun: bytes that are exchanged, results of shared evaluations for 1 to 4 ranks, and failures. Uses Open
MPI or MPICH (MPIRUN=mpirun.mpich); counts as skipped if mpirun or the module is missing. With IG_TEST_QUICK each number of ranks
has one size of blocks."""
import os
import shutil
import signal
import subprocess
import tempfile

from support.mpi import ENV, MISSING, MODULE, MPIRUN, OPEN_MPI, PATIENCE_S, ranks_of
from support.tally import check, finish, skip

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
INGOT = os.path.join(BUILD, "ingot")
TOOL = os.path.join(BUILD, "tests/unit/team_tool")
EXPRESSIONS = ["mean(x @ x.T)", "mean(x)", "sum(x, axis=0)", "std(x, axis=1)", "x - mean(x, axis=0)", "x.T @ x", "max(exp(x), axis=0)",
               "argmax(x)", "argmin(x, axis=0)", "prod(1 + x / 1000)", "cumulative_sum(x, axis=1)", "cumulative_sum(x.reshape(-1))",
               "sort(x, axis=1)[:, 3]", "concat([x, 2 * x])[::3]", "any(x > 4, axis=0)", "sum(x.astype(f16), axis=1)", "sum(i)",
               "bincount(i)", "mean(x[:, :1] @ x[:1])", "softmax(x, axis=0)"]

if not MODULE:
    skip("teams", MISSING)
    finish()

folder = tempfile.mkdtemp()
os.chdir(folder)


def ingot(program, *options):
    p = subprocess.run([INGOT, "eval", *options, program], capture_output=True, text=True)
    check(program, p.returncode == 0, p.stderr)
    return p.stdout


def content(path):
    with open(path, "rb") as f:
        return f.read()


def team(n, *words, **environment):
    """The words as n processes."""
    env = {**os.environ, **ENV, **environment}
    return subprocess.run([*MPIRUN, "-n", str(n), *words], capture_output=True, text=True, env=env, timeout=PATIENCE_S)


try:
    for n in range(2, 5):
        p = team(n, TOOL, "moves")
        check(f"moves of {n} ranks", p.returncode == 0 and p.stdout.count(": right") == n, p.stdout + p.stderr)
    for rank in range(3):
        p = team(3, TOOL, "fail", str(rank))
        said = f"rank {rank} failed: the tool was told to fail" in p.stdout  # rank 0 ends all, perhaps before others print
        check("a rank fails", p.returncode != 0 and (said or rank == 0), p.stdout + p.stderr)
        p = team(3, TOOL, "die", str(rank))
        check("a rank dies", p.returncode != 0 and f"ingot: rank {rank} (process" in p.stderr, p.stdout + p.stderr)
    p = team(2, TOOL, "differ")
    check("different data", "rank 1 and rank 0 have different numbers" in p.stdout, p.stdout)

    p = team(2, INGOT, "eval", "1 + 1")
    check("only rank 0 prints", p.stdout == "2\n" and p.returncode == 0, p.stdout + p.stderr)
    p = team(2, INGOT, "eval", "1 +")
    check("one message", p.returncode != 0 and p.stderr.count("ingot eval:") == 1, p.stderr)
    p = team(2, INGOT, "eval", "1 + 1", IG_MPI="/nowhere/libingot-mpi.so")
    check("no module", p.returncode != 0 and "build Ingot where mpicc is installed" in p.stderr, p.stderr)
    p = team(2, INGOT, "eval", "1 + 1", IG_MPI="off")
    check("switched off", p.stdout == "2\n2\n", p.stdout + p.stderr)

    # The bits of the same program in memory, for blocks of many sizes. The smallest limit spills to files.
    ingot('x = normal(key(1), [300, 501]); save("x.npy", x); save(x, "x.zarr"); '
          'i = randint(key(2), [4000], 0, 9, dtype=i64); save("i.npy", i)')
    names = [f"{k}.npy" for k in range(len(EXPRESSIONS))]
    program = 'x = FROM("x.npy"); i = FROM("i.npy"); ' + "; ".join(f'save("FOLDER/{k}.npy", {e})' for k, e in enumerate(EXPRESSIONS))
    os.mkdir("whole")
    os.mkdir("team")
    ingot(program.replace("FROM", "load").replace("FOLDER", "whole"))
    for n in range(1, 5):
        sizes = ("20000", "150000", "100000000")
        for bytes_most in sizes[n % 3:][:1] if os.environ.get("IG_TEST_QUICK") else sizes:
            shared = program.replace("FROM", "open").replace("FOLDER", "team")
            p = team(n, INGOT, "eval", shared, IG_BLOCK_BYTES=bytes_most)
            check(f"{n} ranks, {bytes_most} bytes", p.returncode == 0, p.stderr)
            for name, expression in zip(names, EXPRESSIONS) if p.returncode == 0 else ():
                check(f"{expression}, {n} ranks, {bytes_most} bytes", content(f"whole/{name}") == content(f"team/{name}"), "other bits")
                os.remove(f"team/{name}")
    spilled = 'x = FROM("x.npy"); y = x @ x.T; sum((y - mean(y, axis=0)).T @ y, axis=0)'
    ingot(spilled.replace("FROM", "load"), "-o", "whole.npy")
    for n in range(2, 5):
        words = [INGOT, "eval", spilled.replace("FROM", "open"), "--memory-limit", "1MiB"]
        p = team(n, *words, "--explain")
        check(f"a plan that spills, {n} ranks", "-> file" in p.stdout, p.stdout + p.stderr)
        p = team(n, *words, "-o", "team.npy", TMPDIR=folder)
        check(f"spilled by {n} ranks", p.returncode == 0 and content("whole.npy") == content("team.npy"), p.stderr or "other bits")
        check("no file is left", not [f for f in os.listdir() if f.startswith("ingot-")])

    # As on two machines: no shared memory, and another TMPDIR, or a file system of its own.
    if OPEN_MPI:
        tcp = [*MPIRUN, "--mca", "btl", "tcp,self"]
        words = [INGOT, "eval", spilled.replace("FROM", "open"), "--memory-limit", "1MiB", "-o", "team.npy"]
        os.mkdir("one")
        os.mkdir("two")

        def two(*how):
            hosts = [*tcp, "-n", "1", "-x", f"TMPDIR={folder}/one", *words, ":", "-n", "1", *how, *words]
            return subprocess.run(hosts, capture_output=True, text=True, env={**os.environ, **ENV}, timeout=PATIENCE_S)

        p = two("-x", f"TMPDIR={folder}/two")
        check("spilled without shared memory", p.returncode == 0 and content("whole.npy") == content("team.npy"), p.stderr or "other bits")
        apart = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none {folder}/one && exec "$@"', "sh"]
        if shutil.which("unshare") and subprocess.run([*apart, "true"], capture_output=True).returncode == 0:
            p = two("-x", f"TMPDIR={folder}/one", *apart)
            check("a folder that only one rank sees", p.returncode != 0 and "set TMPDIR to a folder that all machines share" in p.stderr, p.stderr)
        else:
            skip("a folder that only one rank sees", "this user cannot mount")
        check("no file is left there", not os.listdir("one") and not os.listdir("two"))

    # Shapes that depend on data.
    for expression in ["unique_values(x)", "sum(unique_inverse(x)[1] * reshape(arange(size(x)), shape(x)))", "x[x > 1]"]:
        ingot(f'x = load("x.npy"); {expression}', "-o", "whole.npy")
        for n in (2, 3):
            p = team(n, INGOT, "eval", f'x = open("x.npy"); {expression}', "-o", "team.npy", "--memory-limit", "2MiB", TMPDIR=folder)
            check(f"{expression} by {n} ranks", p.returncode == 0 and content("whole.npy") == content("team.npy"), p.stderr or "other bits")

    # Stores: written by all ranks, read by one process.
    ingot('x = load("x.npy"); x - mean(x, axis=0)', "-o", "whole.npy")
    for n in range(1, 5):
        shutil.rmtree("y.zarr", ignore_errors=True)
        p = team(n, INGOT, "eval", 'x = open("x.zarr"); save(x - mean(x, axis=0), "y.zarr")', IG_BLOCK_BYTES="50000")
        check(f"save by {n} ranks", p.returncode == 0 and p.stdout == "", p.stdout + p.stderr)
        ingot('open("y.zarr")', "-o", "team.npy")
        check(f"saved by {n} ranks", content("whole.npy") == content("team.npy"), "other bits")
        p = team(n, INGOT, "eval", 'x = open("x.zarr"); save("z.npy", x - mean(x, axis=0)); sum(load("z.npy")) * 0')
        check(f".npy by {n} ranks", p.returncode == 0 and content("whole.npy") == content("z.npy"), p.stderr)
    for n in (2, 3, 4):  # a product has a tile for each rank
        p = team(n, INGOT, "eval", "--explain", 'x = open("x.npy"); x @ x.T')
        check(f"tiles of a product, {n} ranks", f"in {n} tiles" in p.stdout, p.stdout + p.stderr)
    p = team(2, INGOT, "eval", "--explain", 'x = open("x.zarr"); mean(x @ x.T)', IG_BLOCK_BYTES="50000")
    check("explain", p.returncode == 0 and p.stdout.count("block by block") == 1, p.stdout + p.stderr)
    if subprocess.run([INGOT, "eval", "--device", "opencl", "1.0"], capture_output=True).returncode == 0:
        for expression in ("mean(x)", "sum(x, axis=0)", "x @ x.T"):
            options = ("--device", "opencl", "--math", "same")
            ingot(f'x = load("x.npy"); {expression}', "-o", "whole.npy", *options)
            p = team(3, INGOT, "eval", f'x = open("x.npy"); {expression}', "-o", "team.npy", *options, IG_BLOCK_BYTES="150000")
            check(f"{expression} by OpenCL", p.returncode == 0 and content("whole.npy") == content("team.npy"), p.stderr or "other bits")
    else:
        skip("teams with OpenCL", "there is no device")

    # One rank fails: it reads a chunk that is damaged.
    ingot('save(normal(key(3), [4000, 100]), "d.zarr")')
    chunks = sorted(os.path.join(at, f) for at, _, files in os.walk("d.zarr/c") for f in files)
    with open(chunks[-1], "wb") as f:
        f.write(b"damaged")
    p = team(2, INGOT, "eval", 'sum(exp(open("d.zarr")))', IG_BLOCK_BYTES="100000")
    check("a damaged chunk", p.returncode != 0 and p.stderr.count("ingot eval:") == 1 and "rank 1 failed" in p.stderr, p.stderr)

    # One rank is killed while the others compute.
    ingot('save(normal(key(3), [2000, 2000]), "k.npy")')
    p = team(2, INGOT, "eval", "--explain", 'x = open("k.npy"); sum(abs(x - mean(x, axis=0)))')
    check("two stages rather than one rank", "2 stages" in p.stdout, p.stdout + p.stderr)
    command = [*MPIRUN, "-n", "3", INGOT, "eval", 'x = open("k.npy"); for k in range(1000): print(sum(sin(x @ x.T + k)))']
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env={**os.environ, **ENV, "IG_BLOCK_BYTES": "1000000", "TEST_TEAM": "killed"})
    check("it begins", child.stdout.readline() != "")
    ranks = ranks_of("killed", INGOT)
    check("three ranks run", sorted(ranks) == [0, 1, 2], str(ranks))
    os.kill(ranks[2], signal.SIGKILL)
    rest = child.communicate(timeout=PATIENCE_S)[0]
    check("a killed rank ends all", child.returncode != 0 and "ingot: rank 2 (process" in rest, rest[-2000:])
finally:
    os.chdir("/")
    shutil.rmtree(folder)
finish()
