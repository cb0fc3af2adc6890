"""The extension module needs only symbols of Python's stable ABI of 3.10, so that one binary serves all later versions.
stable-abi-3.10.txt has the names of the ABI. Other Pythons of this machine, from 3.10 on, load the module."""
import glob
import os
import re
import shutil
import subprocess
import sys

from against import ROOT, check, finish, skip

PACKAGE = os.path.join(ROOT, os.environ.get("BUILD", "build"), "python")
MODULE = os.path.join(PACKAGE, "ingot", "_ingot.abi3.so")

# Every Python exports these from 3.10 on. They joined the ABI in 3.11, with the layout that Py_buffer has had since 3.3.
BUFFERS = {"PyBuffer_IsContiguous", "PyBuffer_Release", "PyBuffer_ToContiguous", "PyObject_CheckBuffer", "PyObject_GetBuffer"}

TRY = """
import ingot as ig, pickle
x = ig.arange(6.0).reshape((2, 3))
x[0, 1] = 5
assert x.tolist() == [[0, 5, 2], [3, 4, 5]], x
assert bytes(memoryview(x))[:4] == bytes(4) and ig.asarray(memoryview(x)).tolist() == x.tolist()
assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
assert ig.grad(lambda v: (v * v).sum())(x).tolist()[1] == [6, 8, 10]
assert ig.jit(lambda v: {"y": v + 1})(x)["y"].tolist()[0] == [1, 6, 3]
assert ig.vmap(lambda r: r.sum())(x).tolist() == [7, 12]
assert repr(ig.dtype("float32")) and x.T.shape == (3, 2) and x.cumsum(1).shape == (2, 3)
try:
    x + ig.ones(7)
except ValueError:
    pass
print("works")
"""


def symbols():
    nm = shutil.which("nm")
    if not nm:
        return None
    listed = subprocess.run([nm, "-D", "--undefined-only", MODULE], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines()}


def stable():
    needed = symbols()
    if needed is None:
        skip("symbols", "there is no nm")
        return
    with open(os.path.join(ROOT, "tests/python/stable-abi-3.10.txt"), encoding="ascii") as file:
        abi = set(file.read().split())
    python = {name for name in needed if name.startswith(("Py", "_Py"))}
    check("the module uses Python", len(python) > 50, f"only {len(python)} symbols")
    check("only the stable ABI of 3.10", python - BUFFERS <= abi, f"needs {sorted(python - BUFFERS - abi)}")
    check("no exceptions that are not needed", BUFFERS <= python, f"does not need {sorted(BUFFERS - python)}")


def others():
    """Other Pythons on the PATH, and those that INGOT_PYTHONS names."""
    found = {}
    for path in sorted({p for folder in os.get_exec_path() for p in glob.glob(os.path.join(folder, "python3.[0-9]*"))}) + \
            os.environ.get("INGOT_PYTHONS", "").split():
        if not os.access(path, os.X_OK) or not re.fullmatch(r"python3?(\.\d+)?", os.path.basename(path)):
            continue
        run = subprocess.run([path, "-c", "import sys, sysconfig; print(sys.version_info >= (3, 10), sys.version.split()[0], "
                              "sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"], capture_output=True, text=True, check=False)
        words = run.stdout.split()
        if run.returncode == 0 and words[0] == "True" and words[2] == "0":
            found.setdefault(words[1], path)
    for version, path in found.items():
        run = subprocess.run([path, "-c", TRY], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": PACKAGE})
        check(f"Python {version}", run.stdout == "works\n", run.stderr[-500:])
    if len(found) < 2:
        skip("other versions", f"only {', '.join(found) or sys.version.split()[0]} is here")


stable()
others()
finish()
