"""ingot eval with arrays that are larger than the memory limit: results have the bits of the same program in memory, the plan and the
errors say what they should, and a save that was killed goes on where it stopped."""
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from support import tally

BUILD = os.environ.get("BUILD", "build")
INGOT = os.path.abspath(os.path.join(BUILD, "ingot"))
folder = tempfile.mkdtemp()
os.chdir(folder)


def check(fine, name):
    tally.check(name, fine)


def ingot(program, *options, ok=True):
    few = {**os.environ, "IG_NUM_THREADS": "2"}  # each thread that decodes a chunk takes memory of the limit
    p = subprocess.run([INGOT, "eval", *options, program], capture_output=True, text=True, env=few)
    if ok:
        check(p.returncode == 0, f"{program}: {p.stderr}")
    return p


def on_terminal(program, interrupt=False):
    """The exit code and the output of a program on a terminal, interrupted once the bar is there."""
    ours, its = pty.openpty()
    environment = {**os.environ, "IG_BLOCK_BYTES": "10000", "TERM": "xterm", "NO_COLOR": "1"}
    child = subprocess.Popen([INGOT, "eval", program], env=environment, stdout=its, stderr=its)
    os.close(its)
    shown = b""
    more = b" "
    while more:
        try:
            more = os.read(ours, 4096)
        except OSError:  # the child has closed the terminal
            more = b""
        shown += more
        if interrupt and b"%" in shown:
            child.send_signal(signal.SIGINT)
            interrupt = False
    os.close(ours)
    return child.wait(), shown.decode()


def same(left, right):
    return ingot(f'l = load("{left}"); r = load("{right}"); all((l == r) | ((l != l) & (r != r)))').stdout.strip() == "True"


try:
    ingot('x = normal(key(1), [900, 700], dtype=f64); save("x.npy", x); save(x, "x.zarr")')
    for expression in ["mean(x)", "std(x, axis=0)", "x - mean(x, axis=0)", "x.T @ x", "sum(exp(x) * x, axis=1)", "max(x, axis=0)",
                       "argmax(x)", "cumulative_sum(x, axis=1)", "sort(x, axis=0)", "concat([x, 2 * x])[::3]", "x[::-1].T + 1"]:
        ingot(f'x = load("x.npy"); {expression}', "-o", "whole.npy")
        ingot(f'x = open("x.zarr"); {expression}', "-o", "blocks.npy", "--memory-limit", "40MiB")
        check(same("whole.npy", "blocks.npy"), f"{expression}: other bits block by block")
        ingot(f'x = open("x.npy"); {expression}', "-o", "blocks.npy", "--memory-limit", "40MiB")
        check(same("whole.npy", "blocks.npy"), f"{expression}: other bits block by block from .npy")

    # Parts of one array that lie far apart are read apart.
    ingot('save(rechunk(load("x.npy"), 90, 70), "cut.zarr")')
    for expression in ["x - x[0]", "sum(abs(x @ x.T), axis=0)", "sum((2 * x) @ (2 * x)[-9:].T, axis=1)", "x * x[::-1] + x[450]",
                       "concat([x[800:], x[:50]]) * x[3]", "x[:, 1:] - x[:, :-1]", "grad(lambda x: sum((x - x[0]) ** 3))(x)"]:
        ingot(f'x = load("x.npy"); {expression}', "-o", "whole.npy")
        for file in ["x.npy", "cut.zarr"]:
            ingot(f'x = open("{file}"); save(rechunk({expression}, 90), "blocks.zarr")', "--memory-limit", "4MiB")
            ingot('load("blocks.zarr")', "-o", "blocks.npy")
            check(same("whole.npy", "blocks.npy"), f"{expression}: other bits from parts of {file}")
    plan = ingot('x = open("x.npy"); sum(abs(x - x[0]))', "--explain", "--memory-limit", "1MiB").stdout
    check(re.search(r"total read (4\.[89]|5\.[0-4]) MiB", plan), f"an array and its first row are not read once: {plan}")

    ingot('save(open("x.npy") * 2, "like.zarr")')
    check(len(os.listdir("like.zarr")) < 10, "an array from an .npy file is saved in rows, a file for each")

    # One row is longer than the limit.
    ingot('save("long.npy", round(100 * normal(key(2), [700000], dtype=f64)))')
    for expression in ["sum(cumulative_sum(x) * 2)", "max(cumulative_max(x))", "median(x)", "quantile(x, 0.3)", "histogram(x, 30)[0]",
                       "sum(sort(x) * arange(700000))", "sum(argsort(x) * x)", "sort(x)[::1] @ x", "take(sort(x), [5, -1, 350000])",
                       "bincount(astype(abs(x), i32), x)", "x[[3, 600000, -1]]", "topk(x, 7)[0]", "sum(partition(x, 3)[:4])",
                       "sum(isin(x + 1, sort(2 * x)))", "searchsorted(sort(x), [-3., 0., nan])", "sum(digitize(x, sort(x)))", "sum(digitize(x > 0, sort(x > 0)))",
                       "sum(grad(lambda x: sum(sort(x) * arange(700000)))(x) * x)", "sum(grad(lambda x: max(x))(x) * arange(700000))",
                       "sum(grad(lambda x: median(x))(x) * arange(700000))"]:
        ingot(f'x = load("long.npy"); {expression}', "-o", "whole.npy")
        ingot(f'x = open("long.npy"); {expression}', "-o", "blocks.npy", "--memory-limit", "5MiB")
        check(same("whole.npy", "blocks.npy"), f"{expression}: other bits from a row that does not fit")
    # Shapes that depend on data. The elements of "many" are distinct.
    ingot('save("many.npy", normal(key(5), [700000], dtype=f64))')
    for expression in ["unique_values(x)", "unique_counts(x)[1]", "unique_all(x)[1]", "sum(unique_inverse(x)[1] * x)", "sum(unique_values(y) * x)",
                       "sum(unique_all(y)[1] * x)", "sum(unique_inverse(y)[1] * x)", "sum(nonzero(x)[0])", "sum(x[x > 10])", "sum(compress(y > 0, x))",
                       "sum(argwhere(x > 3))", "sum(union1d(x, y))", "sum(setdiff1d(y, x))", "intersect1d(x, round(y))",
                       "sum(grad(lambda x: sum(unique_values(x) ** 2))(x) * y)", "sum(grad(lambda x: sum(x[x > 10] ** 2))(x) * y)"]:
        ingot(f'x = load("long.npy"); y = load("many.npy"); {expression}', "-o", "whole.npy")
        ingot(f'x = open("long.npy"); y = open("many.npy"); {expression}', "-o", "blocks.npy", "--memory-limit", "4MiB")
        check(same("whole.npy", "blocks.npy"), f"{expression}: other bits from an array that does not fit")
    if ingot("1", "--device", "opencl", ok=False).returncode == 0:
        for expression in ["sum(unique_values(y) * x)", "sum(x[x > 10])", "sum(searchsorted(sort(y), x))", "sum(sort(y) * x)"]:
            ingot(f'x = load("long.npy"); y = load("many.npy"); {expression}', "-o", "whole.npy")
            ingot(f'x = open("long.npy"); y = open("many.npy"); {expression}', "-o", "blocks.npy", "--memory-limit", "24MiB", "--device", "opencl")
            check(same("whole.npy", "blocks.npy"), f"{expression}: other bits on OpenCL")
    ingot('save(unique_values(open("many.npy")), "unique.zarr")', "--memory-limit", "9MiB")
    ingot('sort(load("many.npy"))', "-o", "whole.npy")
    ingot('open("unique.zarr")', "-o", "blocks.npy")
    check(same("whole.npy", "blocks.npy"), "unique elements that do not fit are saved with other bits")
    plan = ingot('x = open("long.npy"); sum(argsort(x) * x)', "--explain", "--memory-limit", "5MiB").stdout
    check("merges" in plan and "spill" in plan, f"the plan of a sort is {plan}")

    # Factors of matrices with many rows, and stacks of matrices.
    ingot('x = normal(key(3), [60000, 9], dtype=f64); save("tall.npy", x); save(rechunk(x, 700, 4), "tall.zarr")')
    ingot('x = normal(key(4), [900, 24, 24], dtype=f32); save("stack.npy", x); save(rechunk(x, 50, 24, 9), "stack.zarr")')
    for file, limit, expressions in [
            ("tall", "3MiB", ["sum(abs(qr(x)[0]))", "max(svd(x, full_matrices=false)[0], axis=0)", "qr(x)[1]", "svdvals(x - mean(x, axis=0))", "svd(x, full_matrices=false)[2]",
                              "lstsq(x, sum(x, axis=1))[0]", "sum(abs(grad(sum(qr(x)[1] ** 2), x)))"]),
            ("stack", "3MiB", ["inv(x)", "det(x)", "cholesky(x @ x.mT + eye(24))", "solve(x, x[:, :, 0:2])", "svdvals(x)",
                               "eigvalsh(x)"])]:
        for expression in expressions:
            ingot(f'x = load("{file}.npy"); {expression}', "-o", "whole.npy")
            ingot(f'x = open("{file}.zarr"); {expression}', "-o", "blocks.npy", "--memory-limit", limit)
            check(same("whole.npy", "blocks.npy"), f"{expression} of {file}: other bits block by block")

    ingot('x = load("tall.npy"); save(qr(x)[0], "whole.npy")')
    ingot('x = open("tall.zarr"); save(rechunk(qr(x)[0], 700, 9), "q.zarr")', "--memory-limit", "3MiB")
    ingot('save(load("q.zarr"), "blocks.npy")')
    check(same("whole.npy", "blocks.npy"), "Q, which does not fit: other bits block by block")

    program = 'x = open("x.zarr"); save(x - mean(x, axis=0), "y.zarr")'
    plan = ingot(program, "--explain", "--memory-limit", "24MiB").stdout
    check("block by block" in plan and "-> output" in plan and "peak" in plan, f"the plan is {plan}")
    check(not os.path.exists("y.zarr"), "--explain has written the store")
    # One thread encodes a chunk of 900 x 700 x 8 bytes, and holds it once and as large as it may become three times.
    lines = {}
    for options in ('chunks=[100, 70], shards=[300, 700], codecs="gzip:4,crc32c"', 'chunks=[900, 700], codecs=None', 'chunks=[100, 70], codecs=None'):
        text = ingot(f'x = open("x.zarr"); save(x + 1, "z.zarr", {options})', "--explain", "--threads", "1").stdout
        lines[options] = text.splitlines()
    of = list(lines.values())
    check(of[0][-1].startswith("store chunks (100, 70) in shards (300, 700), codecs gzip:4,crc32c, encoding "), f"{of[0]} does not show the store")
    check(of[1][-1] == "store chunks (900, 700), codecs none, encoding 19.2 MiB of the peak", f"{of[1]} has another memory for encoding")
    check(of[2][-1] == "store chunks (100, 70), codecs none, encoding 219 KiB of the peak", f"{of[2]} has another memory for encoding")
    peaks = [float(re.search(r"^total .* peak ([0-9.]+) MiB", "\n".join(text), re.M)[1]) for text in of[1:]]
    check(peaks[0] - peaks[1] > 18, f"peaks of {peaks} MiB do not have the memory for encoding")
    check(not os.path.exists("z.zarr"), "--explain has written a store with options")
    bad = ingot('x = open("x.zarr"); save(x + 1, "z.zarr", chunks=[1])', "--explain", ok=False)
    check("chunks" in bad.stderr, f"--explain takes wrong options: {bad.stderr}")
    ingot('save("empty.npy", zeros([0])); save("one.npy", array(1.0, f32))')
    one = ingot('save(setxor1d(open("one.npy"), open("empty.npy")), "set.zarr"); print(load("set.zarr"))').stdout
    check(one.split() == ["[1.]"], f"a set without elements: {one}")

    few = ingot('x = open("x.zarr"); save(x - 1, "y.zarr")', "--memory-limit", "100KiB", ok=False)
    check("the smallest limit that works is" in few.stderr, f"a limit that is too small: {few.stderr}")
    again = ingot('x = open("x.zarr"); save(x + 1, "x.zarr")', ok=False)
    check("is open" in again.stderr, f"saving to an open store: {again.stderr}")

    # Tables: the elements that load reads, in blocks too.
    random.seed(2)
    fields = ["{0}", "{0}.5", "", "nan", "-inf", '"{0}"', " {0} ", "1e{0}", "-0"]
    for name, separator, whole, columns in [("a.csv", ",", False, 3), ("b.tsv", "\t", True, 4), ("c.txt", "  ", True, 1), ("d.csv", ",", True, 1),
                                            ("e.txt", " ", False, 2)]:
        with open(name, "w", newline="") as f:
            f.write("\ufeffx" + (separator + '"y, z"') * (columns - 1) + "\r\n")
            for row in range(3000):
                choice = ["{0}"] if whole else fields if "txt" not in name else ["{0}", "nan", "1e{0}"]
                f.write(separator.join(random.choice(choice).format(random.randrange(100)) for _ in range(columns)) or "nan")
                f.write(random.choice(["\n", "\r\n", "\n\n", "\n# note\n"]) if row < 2999 else "")
        for part in ["[:]", "[7::3]", "[2990:]", "[100:101]"]:
            ingot(f'load("{name}"){part}', "-o", "whole.npy")
            ingot(f'open("{name}"){part}', "-o", "blocks.npy")
            check(same("whole.npy", "blocks.npy") and open("whole.npy", "rb").read(128) == open("blocks.npy", "rb").read(128),
                  f"open({name}){part}: other elements than load has")
        environ = {**os.environ, "IG_BLOCK_BYTES": "3000"}
        p = subprocess.run([INGOT, "eval", f'save(open("{name}"), "{name}.zarr")'],
                           env=environ, capture_output=True, text=True)
        check(p.returncode == 0, f"{name} in small blocks: {p.stderr}")
        ingot(f'load("{name}")', "-o", "whole.npy")
        ingot(f'open("{name}.zarr")', "-o", "blocks.npy")
        check(same("whole.npy", "blocks.npy"), f"{name} in small blocks: other elements")
    with open("wrong.csv", "w") as f:
        f.write("1,2\n3,4\n5,x\n")
    wrong = ingot('open("wrong.csv")', ok=False)
    check("open 'wrong.csv': field 2 of line 3 is 'x'" in wrong.stderr, f"a table with a word: {wrong.stderr}")

    # Only the chunks of the elements that are shown are read.
    ingot('x = load("x.npy"); save(rechunk(reshape(x, 90, 100, 70), 10, 20, 70), "p.zarr")')
    shown = ingot('x = load("x.npy"); 1 * reshape(x, 90, 100, 70)').stdout
    for chunk in ["c/4/2/0", "c/0/2/0", "c/8/1/0"]:
        with open(f"p.zarr/{chunk}", "wb") as f:
            f.write(b"damaged")
    check(ingot('1 * open("p.zarr")').stdout == shown, "the corners of an array are printed in another way")
    check("p.zarr" in ingot('sum(open("p.zarr"))', ok=False).stderr, "a damaged chunk is not noticed")
    p = subprocess.run([INGOT, "eval", 'sum(open("x.zarr"))'], env={**os.environ, "IG_BLOCK_BYTES": "12x"}, capture_output=True, text=True)
    check(p.returncode and "IG_BLOCK_BYTES is '12x'" in p.stderr, f"IG_BLOCK_BYTES=12x: {p.stderr}")
    check("open 'no.zarr'" in ingot('open("no.zarr")', ok=False).stderr, "a failing open does not say open")

    # Other chunks.
    ingot('save(rechunk(open("x.zarr"), 100, 350), "r.zarr")', "--memory-limit", "24MiB")
    with open("r.zarr/zarr.json") as f:
        check(json.load(f)["chunk_grid"]["configuration"]["chunk_shape"] == [100, 350], "rechunk: other chunks")
    ingot('open("r.zarr")', "-o", "blocks.npy")
    check(same("x.npy", "blocks.npy"), "rechunk: other bits")
    ingot('save(rechunk(open("x.zarr") + 1, [-1, 7]) * 2, "s.zarr")')
    with open("s.zarr/zarr.json") as f:
        check(json.load(f)["chunk_grid"]["configuration"]["chunk_shape"] == [900, 7], "rechunk before an op")
    wrong = ingot('rechunk(open("x.zarr"), 100, 350, 2)', ok=False)
    check("the chunks have 3 axes" in wrong.stderr, f"rechunk with three axes: {wrong.stderr}")

    # Damaged metadata: billions of chunks are not asked for one by one.
    with open("x.zarr/zarr.json") as f:
        damaged = json.load(f)
    damaged["shape"][0] = 2**40
    os.mkdir("m.zarr")
    with open("m.zarr/zarr.json", "w") as f:
        json.dump(damaged, f)
    wrong = ingot('sum(open("m.zarr"))', ok=False)
    check("'shape': the array has" in wrong.stderr, f"too many chunks: {wrong.stderr}")

    # Interrupted on a terminal: the bar is removed, and the message says how to go on.
    work = 'x = open("x.zarr"); save(exp(sin(x)) * 2, "i.zarr", chunks=[9, 7])'
    code, shown = on_terminal(work, interrupt=True)
    check(code == 130 and re.search(r"\r\x1b\[Kingot eval: save: interrupted, and i.zarr is not complete; the same command", shown), f"interrupted: {shown!r}")
    code, shown = on_terminal(work)
    shares = [int(n) for n in re.findall(r"(\d+) %", shown)]
    check(code == 0 and shares == sorted(shares) and shown.endswith("\r\x1b[K"), f"the bar of a resumed save: {shown!r}")
    check(all(line.count(" left") <= 1 for line in shown.split("\r")), f"the remaining time: {shown!r}")

    # Killed at random points, the same command goes on.
    ingot('x = load("x.npy"); x - mean(x, axis=0)', "-o", "whole.npy")
    random.seed(3)
    environment = {**os.environ, "IG_BLOCK_BYTES": "2000000"}
    for _ in range(12):
        child = subprocess.Popen([INGOT, "eval", program], env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(random.random() * 0.05)
        child.send_signal(signal.SIGKILL)
        child.wait()
    ingot(program)
    ingot('open("y.zarr")', "-o", "blocks.npy")
    check(same("whole.npy", "blocks.npy"), "a resumed save has other bits")
    with open("y.zarr/zarr.json") as f:
        check("ingot_unfinished" not in f.read(), "a finished store is marked as unfinished")
finally:
    os.chdir("/")
    shutil.rmtree(folder)
tally.finish()
