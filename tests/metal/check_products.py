#!/usr/bin/env python3
"""Matrix products by MPSMatrixMultiplication: the layouts that it can have, epilogues, results within bounds, never in math mode
`same`; and the choice, which is measured once, kept, and otherwise the emitted kernel's."""
import os
import tempfile

from simulated import READY, close, prepare, read, run
from support.tally import check, finish, skip

GIVEN = ("x = to_device(uniform(key(1), [5, 40, 70]), \"metal\"); y = to_device(uniform(key(2), [5, 70, 30]), \"metal\"); "
         "w = to_device(uniform(key(3), [70, 30]), \"metal\"); b = to_device(uniform(key(4), [30]), \"metal\"); ")
# A product, and whether MPS can do it: matrices at a constant distance, of which a row is contiguous.
PRODUCTS = [
    ("x[0] @ w", True), ("x @ y", True), ("x @ w", True), ("x[3] @ y[2]", True), ("x[1:] @ y[:4]", True),
    ("x[0].T @ x[1]", True), ("x[0] @ x[1].T", True), ("y[0].T @ x[0].T", True), ("x[0, 3:20, 5:] @ w[5:]", True),
    ("relu(x[0] @ w + b)", True), ("exp(x @ y) * 2", True), ("astype(x, \"f16\") @ astype(y, \"f16\")", True),
    ("sum(x @ w) + sum(x[2] @ w)", True), ("x[:, ::2] @ y", True), ("x[:, :, ::2] @ y[:, ::2]", False), ("x[::-1] @ y", False), ("x[0] @ y", False),
    ("astype(x, \"bf16\") @ astype(y, \"bf16\")", False), ("astype(x * 9, \"i32\") @ astype(y * 9, \"i32\")", False),
]
VERIFY = ["verify", "--quick", "--device", "metal", "--dtype", "f32,f16"]
OPS = ["matmul", "einsum", "tensordot", "conv2d"]
CHOSEN = "x = to_device(uniform(key(1), [128, 129]), \"metal\"); y = to_device(uniform(key(2), [129, 128]), \"metal\"); "
SMALL = "x = to_device(uniform(key(1), [16, 16]), \"metal\"); x @ x"


def evaluate(folder, text, *more, **env):
    path = os.path.join(folder, "out.npy")
    done = run("eval", *more, "-o", path, text, **env)
    return done, read(path) if done.returncode == 0 else None


def by_mps(text, *more, **env):
    done = run("eval", "--explain", *more, text, **env)
    return done.returncode == 0 and "by MPS" in done.stdout


def check_results(folder):
    for text, can in PRODUCTS:
        got = [evaluate(folder, GIVEN + text, IG_MPS=mode) for mode in ("on", "off")]
        fine = all(values is not None for _, values in got)
        fine = fine and close(got[0][1], got[1][1], 2e-3 if "f16" in text else 2e-6)
        check(f"{text}: MPS and the kernel agree", fine, f"{[done.stderr for done, _ in got]}")
        check(f"{text}: by MPS: {can}", by_mps(GIVEN + text, IG_MPS="on") == can)
        check(f"{text}: not without a measurement", not by_mps(GIVEN + text, IG_MPS="", XDG_CACHE_HOME=folder))
    check("never in math mode same", not by_mps(GIVEN + "x @ y", "--math", "same", IG_MPS="on"))


def check_verify():
    for op in OPS:
        done = run(*VERIFY, "--op", op, IG_MPS="on", limit=900)
        check(f"verify {op} with MPS", done.returncode == 0 and " 0 failed" in done.stdout, done.stdout[-2000:] + done.stderr[-1000:])


def check_choice(folder):
    """The simulated MPS is faster than the simulated kernels, unless it waits."""
    for name, env, wins in (("fast", {}, True), ("slow", {"METALSIM_PRODUCT_MS": 700}, False)):
        kept = {"XDG_CACHE_HOME": os.path.join(folder, name)}
        plain = evaluate(folder, CHOSEN + "x @ y", IG_MPS="off")[1]
        done, first = evaluate(folder, CHOSEN + "x @ y", IG_MPS="measure", **kept, **env)
        check(f"{name}: the first result is the kernel's", done.returncode == 0 and first == plain, done.stderr)
        check(f"{name}: the faster one runs", by_mps(CHOSEN + "x @ y", IG_MPS="", **kept) == wins)
        check(f"{name}: also with an epilogue", by_mps(CHOSEN + "relu(x @ y)", IG_MPS="measured", **kept) == wins)
        check(f"{name}: 'devices' shows it", ("mps-f32-2^21" in run("devices", IG_MPS="", **kept).stdout) == wins)
        check(f"{name}: not other dtypes", not by_mps(CHOSEN + "astype(x, \"f16\") @ astype(y, \"f16\")", IG_MPS="", **kept))
        check(f"{name}: not small ones", not by_mps(SMALL, IG_MPS="", **kept))
        check(f"{name}: off is off", not by_mps(CHOSEN + "x @ y", IG_MPS="off", **kept))
    kept = os.path.join(folder, "bench")
    run("bench", "--device", "metal", "--only", "copy", "--seconds", "1", "--quiet", IG_MPS="", XDG_CACHE_HOME=kept, METALSIM_RECORD=1)
    check("bench measures and keeps it", os.listdir(os.path.join(kept, "ingot", "mps")) if os.path.isdir(kept) else False)
    done = run("eval", "--device", "metal", "arange(3) + 1", IG_MPS="maybe")
    check("another value of IG_MPS is an error", done.returncode == 4 and "IG_MPS" in done.stderr, done.stderr)


def main():
    if not READY:
        skip("products by MPS", "clang 16 or newer is needed")
        finish()
    prepare(*[["eval", GIVEN + text] for text, _ in PRODUCTS], ["eval", CHOSEN + "x @ y"], ["eval", CHOSEN + "relu(x @ y)"],
            *[["eval", "--math", "same", GIVEN + "x @ y"]])
    prepare(*[["eval", GIVEN + text] for text, _ in PRODUCTS], *[[*VERIFY, "--op", op] for op in OPS], IG_MPS="on")
    with tempfile.TemporaryDirectory() as folder:
        check_results(folder)
        check_choice(folder)
    check_verify()
    finish()


if __name__ == "__main__":
    main()
