"""Every op against NumPy, through `ingot eval`.

Each case is an expression of the calculator and what NumPy says in float64 or exactly. Cases come from the op table: from its
examples, and of elementwise ops from the columns "numpy" and "domain". tests/support/cases_special.py and cases_stats.py have
those that a row cannot say. Inputs are made here, in several layouts (plain, transposed, every other element backwards), saved
as .npy and loaded by one script; every result is saved and compared, dtype and shape included. The inputs of a case depend on
its own text only, not on other rows. A row of the op table without a case is a failure. python/test_ops.py runs every case through
the Python package, so the command runs each expression once, in the first of its dtypes; with IG_DEVICE, every case on that device.
INGOT names the command, INGOT_JOBS how many of its processes run at a time. Arguments are names of ops: only their cases. Ends with
"N passed, N failed".
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from support.cases import BOUND, cases, seed
from support.cases_elementwise import elementwise_cases
from support.cases_examples import example_cases
from support.cases_special import comb_cases, dropout_cases, random_cases, signal_cases, special_far_cases
from support.cases_stats import stats_cases

INGOT = os.environ.get("INGOT", "build/ingot")
SOME = 200  # lines of a script


def compare(got, want, slack, error=0.0):
    want = np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, not {want.dtype}"
    if want.dtype.kind == "c":  # a result is as exact as the largest one
        g, w = got.astype(complex), want.astype(complex)
        unit = BOUND["float32" if want.dtype == np.complex64 else "float64"]
        finite = np.abs(w[np.isfinite(w)])
        close = np.abs(g - w) <= slack * unit * finite.max(initial=0) + error
        bad = ~((g == w) | close | (np.isnan(g) & np.isnan(w)))
    elif want.dtype.name not in BOUND:
        bad = got != want
    else:
        g, w = got.astype(float), want.astype(float)
        tiny = float(np.finfo(want.dtype).smallest_subnormal)
        close = np.abs(g - w) <= slack * (BOUND[want.dtype.name] * np.abs(w) + tiny) + (
            0 if slack == 1 else slack * BOUND[want.dtype.name] * 0.05) + error
        bad = ~((np.isnan(g) & np.isnan(w)) | (g == w) | close)
    if not np.any(bad):
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{np.count_nonzero(bad)} of {want.size} differ, first at {at}: {got[at]!r}, not {want[at]!r}"


def run(script, lines):
    with open(script, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    return subprocess.run([INGOT, "eval", "-f", script], capture_output=True, text=True)


def run_some(folder, lines, first):
    """Runs lines from the first on; returns the errors by line. A failing statement ends a script: then one by one."""
    part, failures = f"{folder}/part{first}", {}
    if run(part, lines[first:first + SOME]).returncode == 0:
        return failures
    for i in range(first, min(first + SOME, len(lines))):
        done = run(part, lines[i:i + 1])
        if done.returncode != 0:
            failures[i] = done.stderr.strip() or f"exit code {done.returncode}"
    return failures


def make_cases():
    """All cases; tests/python/test_ops.py runs them through the Python package."""
    for make in (elementwise_cases, stats_cases, random_cases, dropout_cases, signal_cases, comb_cases, special_far_cases,
                 example_cases):
        seed(make.__name__)
        make()
    return cases


def chosen_cases(names):
    """Of these ops, or of all; on the default device the first case of each expression."""
    found = {}
    for i, c in enumerate(make_cases()):
        if not names or c[0] in names:
            found.setdefault((i if "IG_DEVICE" in os.environ else c[0], c[1]), c)
    return list(found.values())


def results(folder, chosen):
    """Runs the cases; returns for each the problem, or None."""
    lines, saved, failures = [], {}, {}
    for i, (_, text, inputs, *_) in enumerate(chosen):
        inputs = inputs if isinstance(inputs, dict) else {"x": inputs}
        names = {}
        for name, x in inputs.items():
            if id(x) not in saved:
                np.save(f"{folder}/in{len(saved)}.npy", np.asarray(x, order="C"))
                saved[id(x)] = (f'load("{folder}/in{len(saved)}.npy")', x)
            names[name] = saved[id(x)][0]
        lines.append(f'save("{folder}/out{i}.npy", {text.format(**names)})')
    with ThreadPoolExecutor(int(os.environ.get("INGOT_JOBS", "1"))) as pool:
        for some in pool.map(lambda first: run_some(folder, lines, first), range(0, len(lines), SOME)):
            failures.update(some)
    for i, (*_, want, slack, error) in enumerate(chosen):
        path = f"{folder}/out{i}.npy"
        if i not in failures:
            failures[i] = compare(np.load(path), want, slack, error) if os.path.exists(path) else "there is no result"
    return [failures[i] for i in range(len(chosen))]


def main():
    names = sys.argv[1:]
    chosen = chosen_cases(names)
    ops = subprocess.run([INGOT, "ops"], capture_output=True, text=True, check=True).stdout  # --json would try every op in every dtype
    rows = set(names) or set(re.findall(r"^  (\w+)\(", ops[:ops.index("\ncalculator\n")], re.M))
    failures = [f"{name}: no case in this test" for name in sorted(rows - {c[0] for c in chosen})]
    with tempfile.TemporaryDirectory() as folder:
        failures += [f"{c[0]}: {c[1]}: {problem}" for c, problem in zip(chosen, results(folder, chosen)) if problem]
    for line in failures[:40]:
        print(line)
    print(f"{len(chosen) + len(rows) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
