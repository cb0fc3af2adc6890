"""Several devices on one graph (--device cpu,opencl): results have the bits of one device, a device that fails is replaced by the
others, and limits of memory hold for each."""
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from support import mpi, tally

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
INGOT = os.path.join(BUILD, "ingot")
sys.path[:0] = [os.path.join(BUILD, "python")]

import numpy as np  # noqa: E402

import ingot as ig  # noqa: E402

folder = tempfile.mkdtemp()
os.chdir(folder)
SMALL = {"IG_BLOCK_BYTES": "75000"}
STEP = 4 if os.environ.get("IG_TEST_QUICK") else 1  # in the lists of what OpenCL computes


def check(fine, name):
    tally.check(name, fine)


def ingot(program, *options, ok=True, **environment):
    p = subprocess.run([INGOT, "eval", *options, program], capture_output=True, text=True, env={**os.environ, **environment})
    if ok:
        check(p.returncode == 0, f"{program} {options}: {p.stderr}")
    return p


def same(left, right):
    if filecmp.cmp(left, right, shallow=False):
        return True
    return ingot(f'l = load("{left}"); r = load("{right}"); all((l == r) | ((l != l) & (r != r)))').stdout.strip() == "True"


EXPRESSIONS = ["mean(x)", "std(x, axis=0)", "x - mean(x, axis=0)", "x.T @ x", "sum(exp(x) * x, axis=1)", "argmax(x)",
               "cumulative_sum(x, axis=1)", "sort(x, axis=0)", "concat([x, 2 * x])[::3]", "x[::-1].T + 1", "x * arange(350.0) @ arange(350.0)",
               "x[1:] * x[:-1]"]
# Stages whose parts continue each other, in one tile and in several; sorted runs; counts, reads and writes at computed places.
CONTINUED = ["cumulative_sum(reshape(x, [-1]))", "cumulative_prod(1 + x.T / 1000, axis=0)", "x.reshape(-1) @ x.reshape(-1)",
             "sort(x, axis=1)", "argsort(reshape(x, [-1]))", "bincount(i)", "histogram(x, 20)[0]", "take(x, i[:2000] % 350, 1)",
             "searchsorted(reshape(sort(x, axis=0)[:, 0], [-1]), x[0])", "scatter_add(zeros([800]), i, reshape(x, [-1])[:4000])",
             "median(x, axis=0)", "unique_values(floor(x * 10))"]
SAVED = ["x - mean(x, axis=0)", "x.T @ x", "cumulative_prod(1 + x.T / 1000, axis=0)"]


def compare(devices, expressions, *options):
    for e in expressions:
        ingot(f'x = load("x.npy"); i = load("i.npy"); {e}', "-o", "whole.npy", "--math", "same")
        p = ingot(f'x = open("x.npy"); i = open("i.npy"); {e}', "-o", "blocks.npy", "--device", devices, "--math", "same", *options, **SMALL)
        check(p.stderr == "", f"{e} on {devices}: {p.stderr}")
        check(same("whole.npy", "blocks.npy"), f"{e} on {devices}: other bits")
        if e in SAVED:
            ingot(f'x = open("x.npy"); save({e}, "y.zarr")', "--device", devices, "--math", "same", **SMALL)
            ingot('open("y.zarr")', "-o", "blocks.npy")
            check(same("whole.npy", "blocks.npy"), f"{e} on {devices}, saved: other bits")
            shutil.rmtree("y.zarr")


# Graphs without sources.
HELD = ["x + 1", "mean(x)", "x - mean(x, axis=0)", "x.T @ x", "sort(reshape(x, [-1]))", "argsort(x, axis=0)", "cumulative_sum(x, axis=0)",
        "x[::-1].T * 2", "concat([x, 2 * x])[::3]", "take(x, arange(0, 450, 7), 0)", "grad(sum((x @ x.T)**2), x)", "median(x)", "cumulative_sum(ones([170000]))",
        "normal(key(3), [400, 450])", "sum(uniform(key(3), [350, 450]) * exp(x.T), axis=1)", "sort(sqrt(arange(0, 170000)))[5]",
        "y = x * 2; z = y + 1; concat([y, z])"]


def whole(e):
    """The file of what one device computes at once."""
    path = f"whole{HELD.index(e)}.npy"
    if not os.path.exists(path):
        ingot(f'x = load("x.npy"); {e}', "-o", path, "--math", "same")
    return path


def compare_held(devices, expressions, *options, **environment):
    for e in expressions:
        p = ingot(f'x = load("x.npy"); {e}', "-o", "blocks.npy", "--device", devices, "--math", "same", *options, **environment)
        check(p.stderr == "", f"{e} on {devices}: {p.stderr}")
        check(same(whole(e), "blocks.npy"), f"{e} in memory, on {devices} {options}: other bits")


def functions(devices):
    """Users' functions: their chunks, and the thread that calls them, do not depend on the devices."""
    threads = set()

    def spread(block):
        threads.add(threading.get_ident())
        return ig.asarray(np.cumsum(np.asarray(block), 0)) + ig.sin(block)

    def results():
        x = ig.rechunk(ig.open("x.npy"), 25, 150)
        for y in [ig.map_overlap(spread, x * 2, depth=(2, 0), boundary="reflect"), ig.sum(ig.map_blocks(spread, x), axis=0),
                  ig.cumulative_sum(ig.map_blocks(spread, x), axis=1), ig.map_blocks(spread, x).T @ x]:
            ig.eval(y)
            yield np.asarray(y).tobytes()

    ig.set_device("cpu")
    expected = list(results())
    os.environ.update(SMALL)
    ig.set_device(devices)
    for k, y in enumerate(results()):
        check(y == expected[k], f"function {k} on {devices}: other bits")
    ig.set_device("cpu")
    del os.environ["IG_BLOCK_BYTES"]
    check(threads == {threading.get_ident()}, f"functions on {devices} are called by {len(threads)} threads")


def ranks(n, devices, expressions):
    """Each rank has these devices."""
    program = 'x = FROM("x.npy"); i = FROM("i.npy"); ' + "; ".join(f'save("FOLDER{k}.npy", {e})' for k, e in enumerate(expressions))
    ingot(program.replace("FROM", "load").replace("FOLDER", "whole_"), "--math", "same")
    words = [*mpi.MPIRUN, "-n", str(n), INGOT, "eval", "--device", devices, "--math", "same", program.replace("FROM", "open").replace("FOLDER", "team_")]
    p = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **mpi.ENV, **SMALL}, timeout=mpi.PATIENCE_S, check=False)
    check(p.returncode == 0, f"{n} ranks on {devices}: {p.stderr}")
    p = subprocess.run([*words[:-1], "--explain", 'x = open("x.npy"); x.T + 1'], capture_output=True, text=True, check=False,
                       env={**os.environ, **mpi.ENV, **SMALL}, timeout=mpi.PATIENCE_S)
    check(f"stages on {devices.split(',')[0]}" in p.stdout, f"the plan of {n} ranks on {devices} is {p.stdout} {p.stderr}")
    for k, e in enumerate(expressions if p.returncode == 0 else []):
        check(same(f"whole_{k}.npy", f"team_{k}.npy"), f"{e} by {n} ranks on {devices}: other bits")
        os.remove(f"team_{k}.npy")


try:
    os.environ["IG_MATH"] = "same"
    ingot('save("i.npy", randint(key(2), [4000], 0, 800, dtype=i64))')
    ingot('save("x.npy", normal(key(1), [450, 350], dtype=f32))')
    listed = subprocess.run([INGOT, "devices"], capture_output=True, text=True).stdout
    compare("cpu,gang", EXPRESSIONS)
    compare("gang,cpu", EXPRESSIONS[:2])
    compare("cpu,gang", CONTINUED)
    functions("cpu,gang")
    if mpi.MODULE:
        ranks(2, "cpu,gang", EXPRESSIONS + CONTINUED)
    if "opencl:0" in listed:
        compare("cpu,opencl", EXPRESSIONS[:4])
        compare("opencl", EXPRESSIONS[1:4])
        compare("opencl,gang,cpu", EXPRESSIONS[3:4])
        compare("opencl", CONTINUED[::STEP])
        functions("opencl")
        if mpi.MODULE:
            ranks(3, "opencl", EXPRESSIONS[::STEP] + CONTINUED[1::STEP])
            ranks(2, "cpu,opencl", EXPRESSIONS[1::STEP] + CONTINUED[::STEP])

        # Limits hold for each device.
        p = ingot('x = open("x.npy"); x.T @ x', "-o", "blocks.npy", "--device", "cpu,opencl", "--memory-limit", "3MiB", "--math", "same")
        ingot('x = load("x.npy"); x.T @ x', "-o", "whole.npy")
        check(same("whole.npy", "blocks.npy"), "with a limit: other bits")
        few = ingot('x = open("x.npy"); save(x - 1, "z.zarr")', "--device", "cpu,opencl", "--memory-limit", "2KiB", ok=False)
        check("the smallest limit that works is" in few.stderr, f"a limit that is too small: {few.stderr}")

        # An array in host memory that is larger than the device's memory streams through it; a result that is too large stays there.
        compare_held("opencl", [e for e in HELD if "grad" not in e][::STEP], "--memory-limit", "opencl:0=300KiB")
        compare_held("cpu,opencl", HELD[:8:STEP], "--memory-limit", "opencl:0=125KiB", **SMALL)
        compare_held("opencl,cpu", HELD[8::STEP], **SMALL)
        few = ingot('sum(load("x.npy"), axis=0)', "--device", "opencl", "--memory-limit", "opencl:0=100", ok=False)
        check("the smallest limit that works is" in few.stderr, f"a limit that is too small, in memory: {few.stderr}")
        plan = ingot('x = load("x.npy"); x.T @ x', "--explain", "--device", "opencl", "--memory-limit", "opencl:0=250KiB").stdout
        check("block by block" in plan, f"what does not fit on a device is explained as {plan}")
    compare_held("cpu,gang", HELD[:9] + HELD[12:14], **SMALL)
    plan = ingot('x = load("x.npy"); x.T @ x', "--explain", "--device", "cpu,gang", **SMALL).stdout
    check("stages on cpu, gang" in plan, f"the plan in memory is {plan}")
    plan = ingot("ones([10]) + 1", "--explain", "--device", "cpu,gang").stdout
    check("cpu computes it alone" in plan, f"the plan of a small graph is {plan}")

    plan = ingot('x = open("x.npy"); save(x + 1, "z.zarr")', "--explain", "--device", "cpu,gang", **SMALL).stdout
    check("stages on cpu, gang" in plan, f"the plan is {plan}")
    for names in ["cpu,nothing", "cpu,", "cpu,null", "nothing,cpu"]:
        p = ingot("1 + 1", "--device", names, ok=False)
        check(p.returncode != 0 and p.stderr, f"--device {names} is accepted")
    check(ingot("1 + 1", "--device", "all").stdout.strip() == "2", "--device all")
    check(ingot("1 + 1", IG_DEVICE="cpu,gang").stdout.strip() == "2", "IG_DEVICE is a list")
finally:
    os.chdir("/")
    shutil.rmtree(folder)
tally.finish()
