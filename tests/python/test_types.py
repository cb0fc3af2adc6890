"""mypy and pyright accept the stubs and a typed program, and find its mistakes. Skipped where they are not installed."""
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

from against import ROOT, check, finish, skip

PACKAGE = os.path.join(ROOT, os.environ.get("BUILD", "build"), "python")
PROGRAM = os.path.join(ROOT, "tests/python/typed.py")
STUBS = sorted(glob.glob(os.path.join(PACKAGE, "ingot/**/*.pyi"), recursive=True))
ENV = {**os.environ, "PYTHONPATH": PACKAGE, "MYPYPATH": PACKAGE}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENV, **options)


def mypy(folder):
    """--strict also reports comments that ignore nothing, so the mistakes of the program must be errors."""
    if importlib.util.find_spec("mypy") is None:
        skip("mypy", "not installed")
        return
    for name, files in {"the stubs": STUBS, "the program": [PROGRAM]}.items():
        got = run(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", folder, *files)
        check(f"mypy accepts {name}", got.returncode == 0, got.stdout[-800:] + got.stderr[-300:])


def pyright(folder):
    if importlib.util.find_spec("pyright") is None:
        skip("pyright", "not installed")
        return
    with open(PROGRAM, encoding="utf-8") as file, open(os.path.join(folder, "typed.py"), "w", encoding="utf-8") as copy:
        copy.write(file.read())
    with open(os.path.join(folder, "pyrightconfig.json"), "w", encoding="utf-8") as file:
        json.dump({"extraPaths": [PACKAGE], "include": ["typed.py"], "reportUnnecessaryTypeIgnoreComment": "error"}, file)
    got = run(sys.executable, "-m", "pyright", "-p", folder, cwd=folder)
    if "error" not in got.stdout:
        skip("pyright", "it could not start")
        return
    check("pyright accepts the program", got.returncode == 0, got.stdout[-800:])


check("stubs", len(STUBS) >= 8, f"only {STUBS}")
ran = run(sys.executable, PROGRAM)
check("the program runs", ran.returncode == 0, ran.stderr[-500:])
with tempfile.TemporaryDirectory() as temporary:
    mypy(temporary)
    pyright(temporary)
finish()
