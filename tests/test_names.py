#!/usr/bin/env python3
"""Expressions that users of NumPy, MLX, JAX and PyTorch type, from tests/names.txt: what `ingot eval` gives, against NumPy.

A line is an expression. Python evaluates the same text, or the text behind " => ". "ok" stands for any value. "error: text" is
a part of the message. Setup in front of ";" runs in both. A line "todo: ..." is expected to fail. Every function of src/engine/ops/aliases.def must be in the file."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

INGOT = os.path.abspath(os.environ.get("INGOT", "build/ingot"))
FOLDER = tempfile.TemporaryDirectory()  # for files that lines write
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.txt")
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/engine/ops/aliases.def")


def lines():
    for number, line in enumerate(open(PAGE), 1):
        line = line.rstrip("\n")
        if line and not line.startswith("#"):
            text, arrow, python = line.partition(" => ")
            yield number, text.replace("\\n", "\n"), python if arrow else text


def reference(text):
    space = {"np": np, "array": lambda x: np.array(x), "math": math}
    for name in ("arange", "ones", "zeros", "linspace", "eye", "pi", "e", "inf", "nan", "sum", "max", "min", "abs", "round"):
        space[name] = getattr(np, name)
    setup, _, last = text.replace("\n", ";").rpartition(";")
    with np.errstate(all="ignore"):
        exec(setup.strip().replace("; ", "\n").replace(";", "\n"), space)
        return eval(last.strip(), space)


def run(text):
    done = subprocess.run([INGOT, "eval", "--json", "--", text], capture_output=True, text=True, timeout=300,
                          cwd=FOLDER.name)
    return done.returncode, done.stdout, done.stderr.strip()


def number(x):
    return float(x) if isinstance(x, str) and x in ("nan", "inf", "-inf") else x


def as_array(facts):
    value, dtype = facts["value"], facts.get("dtype", "")
    x = np.array(np.vectorize(number, otypes=[object])(np.array(value, dtype=object)).tolist() if np.size(value) else value)
    if dtype in ("c64", "c128"):
        x = np.asarray(x, dtype=float)
        return x[..., 0] + 1j * x[..., 1]
    return x.reshape(facts["shape"]) if "shape" in facts and x.size == math.prod(facts["shape"]) else x


def same(got, expected):
    """"" if the values agree, else why not."""
    if not isinstance(got, dict):
        got = {"value": got}
    if got.get("dtype") == "tuple":
        items, expected = got["value"], list(expected)
        if len(items) != len(expected):
            return f"{len(items)} results, not {len(expected)}"
        return next(filter(None, (same(g, e) for g, e in zip(items, expected))), "")
    if got.get("dtype") in ("str", "dtype", "none"):
        equal = str(got["value"]) == str(expected) or (got["dtype"] == "none" and expected is None)
        return "" if equal else f"{got['value']} is not {expected}"
    x, y = as_array(got), np.asarray(expected)
    if x.shape != y.shape:
        return f"shape {x.shape}, not {y.shape}"
    if y.dtype == bool or x.dtype == bool:
        return "" if np.array_equal(x.astype(bool), y.astype(bool)) else f"{x} is not {y}"
    scale = np.max(np.abs(y[np.isfinite(y)]), initial=1e-30) if y.size else 1.0
    fine = np.allclose(x.astype(complex), y.astype(complex), rtol=2e-5, atol=2e-6 * scale, equal_nan=True)
    return "" if fine else f"{x} is not {y}"


def check(line):
    where, text, python = line
    if text.startswith("todo: "):
        _, _, why = check((where, text[6:], python[6:] if python == text else python))
        return where, text, why
    code, out, error = run(text)
    if python.startswith("error: "):
        return where, text, "" if code and python[7:] in error else f"gives {out}{error}"
    if code:
        return where, text, error
    if python == "ok":
        return where, text, ""
    try:
        expected = reference(python)
    except Exception as problem:  # the line itself is wrong
        return where, text, f"in Python: {problem}"
    return where, text, same(json.loads(out), expected)


def main():
    every = list(lines())
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(check, every))
    late = [row for row in found if row[1].startswith("todo: ")]
    done = [row for row in late if not row[2]]
    failed = [row for row in found if row[2] and row not in late]
    for where, text, _ in done:
        print(f"tests/names.txt:{where}: works, so it is no longer to do: {text}")
    for where, text, why in failed:
        print(f"tests/names.txt:{where}: {text}\n    {why}")
    words = set(re.findall(r"[A-Za-z]\w*", open(PAGE).read()))
    names = re.findall(r'^(?:DEFINE|EXTEND)\("([\w.]+)"', open(TABLE).read(), re.M)
    missing = [name for name in names if name.split(".")[-1] not in words]
    if missing:
        print("tests/names.txt has no line with:", *missing)
    print(f"{len(late) - len(done)} to do")
    print(f"{len(found) - len(failed) - len(late)} passed, {len(failed) + len(missing)} failed")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
