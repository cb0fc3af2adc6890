#!/usr/bin/env python3
"""Arrays that are larger than a buffer of the GPU, on a simulated one with buffers of 1 MiB: programs run in tiles of rows or in
boxes, reads and writes at computed places by parts, long scans with carries, all with the CPU's bits; others are refused, or
left to the CPU."""
import os
import re
import tempfile

from simulated import READY, ROOT, close, prepare, read, run
from support.tally import check, finish, skip

SMALL = {"METALSIM_BUFFER_MIB": 1, "METALSIM_MEMORY_MIB": 128}
# Each array here has more than 1 MiB.
SAME = ["x = arange(700000, dtype=\"f32\"); x * 2 + 1", "x = uniform(key(1), [700, 1000]); x * 2 + sum(x)",
        "softmax(normal(key(1), [700, 1000]), axis=-1)", "argmax(normal(key(1), [700, 1000]), axis=-1)",
        "normal(key(1), [700, 1000]) @ ones([1000, 8])", "x = normal(key(1), [900000], dtype=\"bf16\"); x[3:899999] * x[4:]",
        "x = arange(700000, dtype=\"f32\") * 2; sum(x[5000:9000]) + x[699999] + sort(x[7:20] + 0)[1]",
        "x = normal(key(1), [700, 1000]); to_device(to_device(x, \"cpu\"), \"metal\") + 1",
        # boxes: transposed and backwards
        "x = uniform(key(1), [600, 600]); x + x.T", "flip(arange(300000, dtype=\"f32\"), 0) * 2",
        "x = uniform(key(1), [20, 50, 400]); permute_dims(x, [2, 0, 1]) - 1", "x = uniform(key(1), [3, 100000]); x[:, ::-1] + 1",
        "x = uniform(key(1), [300, 1000]); concat([x, x + 1], axis=1)",
        # reads at computed places, by parts of the indexed axis
        "x = uniform(key(1), [300, 1000]); take(x, astype(uniform(key(2), [9]) * 300, \"i32\"), 0)",
        "x = uniform(key(1), [300000]); take(x, astype(uniform(key(2), [300000]) * 300000, \"i32\"), 0)",
        "x = uniform(key(1), [3, 150000]); take(x, [2, 0, 1, 2], 0)",
        "x = uniform(key(1), [300, 1000]); take_along_axis(x, argsort(x[:, :10], axis=1), 1)",
        "x = uniform(key(1), [300000]); grad(sum(take(x, arange(100) * 2500, 0)**2), x)",
        # writes at computed places, by parts of the output and of the updates
        "x = uniform(key(1), [300000]); scatter_add(x, astype(uniform(key(2), [300]) * 70, \"i32\") * 4000, uniform(key(3), [300]), 0)",
        "x = uniform(key(1), [400000], dtype=\"f32\"); scatter(x, astype(uniform(key(2), [270000]) * 400000, \"i32\"), arange(270000, "
        "dtype=\"f32\"), 0)",
        "x = uniform(key(1), [300, 1000]); i = broadcast_to(reshape(astype(uniform(key(2), [20]) * 300, \"i32\"), [20, 1]), [20, 1000]); "
        "scatter_add(x, i, ones([20, 1000]), 0)",
        # scans and sorts of rows, and a scan of one long row
        "cumulative_sum(uniform(key(1), [300, 1000]), axis=1)", "cumulative_sum(uniform(key(1), [300000]))",
        "cumulative_prod(uniform(key(1), [2, 150000]) + 0.5, axis=1)", "cumulative_sum(astype(uniform(key(1), [300000]) * 9, \"i32\"))",
        "argsort(uniform(key(1), [3000, 100]), axis=1)", "searchsorted(arange(1000, dtype=\"f32\"), uniform(key(1), [300000]) * 1000)"]
# By MPS, where a launch reaches the matrices.
BY_MPS = "x = uniform(key(1), [700, 1000]); x[690:] @ ones([1000, 8]) + (x @ ones([1000, 8]))[0]"
REFUSED = ["sum(uniform(key(1), [700, 1000]) + 1, axis=0) + sum(uniform(key(2), [700, 1000]) @ ones([1000, 3]))",
           "sort(arange(700000, dtype=\"f32\"))", "sort(uniform(key(1), [100, 7000]), axis=0)"]


def evaluate(folder, text, device, **settings):
    path = os.path.join(folder, device + ".npy")
    text = text.replace("\"metal\")", f"\"{device}\")")
    done = run("eval", "--math", "same", "--device", device, "-o", path, *settings.pop("options", []), text, **settings)
    with open(path, "rb") if done.returncode == 0 else open(os.devnull, "rb") as file:
        return done, file.read()


def check_mps(folder):
    values = []
    for mode in ("on", "off"):
        path = os.path.join(folder, mode + ".npy")
        done = run("eval", "--device", "metal", "-o", path, BY_MPS, IG_MPS=mode, **SMALL)
        values.append(read(path) if done.returncode == 0 else [])
    check("products by MPS in large arrays", close(*values, 1e-5), done.stderr)


def check_failures():
    """Every message that can fail does so once, and so does every command buffer, while windows are made and used."""
    program = ["eval", "--device", "metal", "x = arange(400000, dtype=\"f32\"); y = x * 2 + 1; sum(y) + y[5]"]
    right = run(*program, METALSIM_COUNT=1, **SMALL)
    counts = re.search(r"(\d+) messages can fail, (\d+) command buffers", right.stderr)
    for kind, n in zip(("METALSIM_FAIL_AT", "METALSIM_FAIL_BUFFER"), counts.groups()):
        wrong = []
        for i in range(1, int(n) + 1):
            done = run(*program, **SMALL, **{kind: i})
            fine = done.stdout == right.stdout if done.returncode == 0 else done.returncode in (1, 4) and not done.stdout
            if not fine or "leaked" in done.stderr or "assertion" in done.stderr:
                wrong.append(f"{i}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        check(f"{kind}: each of {n}", int(n) > 2 and not wrong, "\n".join(wrong))


def main():
    if not READY:
        skip("tiles on the simulated GPU", "clang 16 or newer is needed")
        finish()
    with tempfile.TemporaryDirectory() as folder:
        prepare(*[["eval", "--math", "same", "--device", "metal", text] for text in SAME])
        for text in SAME:
            _, wanted = evaluate(folder, text, "cpu")
            for order in (0, 1):
                done, got = evaluate(folder, text, "metal", METALSIM_ORDER=order, **SMALL)
                check(f"{text}: in tiles, order {order}", done.returncode == 0 and got == wanted and wanted, done.stderr)
        for text in REFUSED:
            done, _ = evaluate(folder, text, "metal", **SMALL)
            check(f"{text}: refused with the reason", done.returncode == 4 and "larger than a buffer there (1 MiB)" in done.stderr,
                  done.stderr)
        check_mps(folder)
        _, wanted = evaluate(folder, REFUSED[0], "cpu")
        done, got = evaluate(folder, REFUSED[0], "metal", options=["--fallback", "auto"], **SMALL)
        check("the CPU takes it if the policy allows it", done.returncode == 0 and got == wanted, done.stderr)
        text = "arange(40000000, dtype=\"f32\")"
        _, wanted = evaluate(folder, text, "cpu")
        done, got = evaluate(folder, text, "metal", **SMALL)
        check("more than the budget of 128 MiB comes in blocks", done.returncode == 0 and got == wanted, done.stderr)
    done = run("run", os.path.join(ROOT, "tests", "metal", "kernels.cu"), "-k", "saxpy", "--grid", "4", "--block", "256", "--arg", "n=1000",
               "--arg", "a=2", "--arg", "x=zeros:f32[700000]", "--arg", "y=ones:f32[1000]", "--device", "metal", **SMALL)
    check("a kernel of the user is refused such an array", done.returncode != 0 and "can use 1048576 at most" in done.stderr,
          done.stderr)
    check_failures()
    text = "take(broadcast_to(arange(3, dtype=\"f32\"), [3000000000, 3]), 2999999999 - arange(2), 0)"
    wide, right = (run("eval", "--device", d, text) for d in ("metal", "cpu"))
    check("indices beyond 31 bits", wide.returncode == 0 and wide.stdout == right.stdout != "", wide.stdout + wide.stderr)
    finish()


if __name__ == "__main__":
    main()
