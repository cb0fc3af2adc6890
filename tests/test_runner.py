"""tests/run reports every way in which a test can fail: tests with planted faults, counts, limits, what --full repeats.

INGOT names the command, for a test_numpy whose results are missing. Ends with "N passed, N failed".
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import stat
import subprocess
import sys
import tempfile

from support import passed, process
from support.tally import check, finish

HERE = os.path.dirname(os.path.abspath(__file__))
INGOT = os.path.abspath(os.environ.get("INGOT", "build/ingot"))
CMOCKA = "[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n"

# Name, output, exit code, and what is counted: passed, failed, skipped.
COUNTS = [
    ("a tally", "noise\n3 passed, 1 failed\n", 1, (3, 1, 0)),
    ("the last tally", "9 passed, 0 failed\n3 passed, 0 failed\n", 0, (3, 0, 0)),
    ("a tally with skips", "3 passed, 0 failed, 2 skipped\n", 0, (3, 0, 2)),
    ("no check at all", "0 passed, 0 failed\n", 0, (0, 1, 0)),
    ("no output", "", 0, (0, 1, 0)),
    ("output without counts", "fine\n", 0, (0, 1, 0)),
    ("a test that ends after a skip", "fine\nskipped: no GPU\n", 0, (0, 1, 1)),
    ("a failure without counts", "fine\n", 1, (0, 1, 0)),
    ("a failure that the tally leaves out", "3 passed, 0 failed\n", 1, (3, 1, 0)),
    ("a failure that the exit code leaves out", "3 passed, 1 failed\n", 0, (3, 1, 0)),
    ("only skipped", "skipped: no GPU\n", 0, (0, 0, 1)),
    ("only skipped, with an empty tally", "skipped: no package onnx\n0 passed, 0 failed\n", 0, (0, 0, 1)),
    ("only skipped, and counted", "skipped: no GPU\n0 passed, 0 failed, 1 skipped\n", 0, (0, 0, 1)),
    ("skipped, and a failure", "skipped: no GPU\n", 1, (0, 1, 1)),
    ("tests that cmocka skips", CMOCKA, 0, (2, 0, 1)),
    ("a crash", "3 passed, 0 failed\n", -11, (3, 1, 0)),
    ("a limit", "3 passed, 0 failed\n", None, (3, 1, 0)),
]
SINGLE = [("one test", "fine\n", 0, (1, 0, 0)), ("one that fails", "fine\n", 1, (0, 1, 0)), ("one that is skipped", "skipped: no nvcc\n", 0, (0, 0, 1)),
          ("one that is partly skipped", "fine\nskipped: no GPU\nskipped: no nvcc\n", 0, (1, 0, 2))]

# Tests that a run has to report as failed, and one that passes.
PLANTED = {"counts-nothing": "echo 0 passed, 0 failed", "silent": ":", "crashes": "echo 1 passed, 0 failed; kill -SEGV $$",
           "fails": "echo 1 passed, 2 failed; exit 1", "exits": "echo 1 passed, 0 failed; exit 3", "missing": None}


def load_runner():
    loader = importlib.machinery.SourceFileLoader("runner", os.path.join(HERE, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
    loader.exec_module(module)
    return module


def check_counts():
    for single, rows in ((False, COUNTS), (True, SINGLE)):
        for name, output, code, wanted in rows:
            test = process.Test("t", [], single=single)
            process.count(test, code, output)
            got = (test.passed, test.failed, test.skipped)
            check(name, got == wanted, f"is counted as {got}, not {wanted}")


def run_planted(runner, build, scripts, *options):
    """Runs scripts as the tests of a stage; returns the exit code and the output."""
    def stage(self):
        """planted"""
        yield runner.NOTHING
        self.run("tree", [runner.Test(name, ["sh", "-c", text] if text else ["/nonexistent/test"]) for name, text in scripts.items()])

    runner.Runner.stage_tree, sys.argv = stage, ["run", "--stage", "tree", "--build", build, *options]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = runner.main()
    return code, out.getvalue()


def check_planted(runner, build):
    for name, text in PLANTED.items():
        code, said = run_planted(runner, build, {"good": "echo 5 passed, 0 failed", name: text})
        check(f"a run with a test that {name}", code == 1 and f"\nfailed: {name}\n" in said and not said.endswith(" 0 failed\n"), said)
    code, said = run_planted(runner, build, {"good": "echo 5 passed, 0 failed", "absent": "echo skipped: no package onnx; echo 0 passed, 0 failed"})
    check("a skipped test is named and not counted as passed", code == 0 and "skipped: absent: no package onnx\n" in said
          and said.endswith("\n1 skipped\n5 passed, 0 failed\n"), said)
    code, said = run_planted(runner, build, {"good": "echo 5 passed, 0 failed"})
    check("a run without failures", code == 0 and said.endswith("\n0 skipped\n5 passed, 0 failed\n"), said)


def check_full(runner, build):
    """--full does not repeat what passed with the same sources."""
    scripts = {"once": "echo 1 passed, 0 failed; echo . >>" + os.path.join(build, "ran"), "fails": "echo 0 passed, 1 failed; exit 1"}
    runs = []
    for digest in "aab":
        passed.sources_digest = lambda digest=digest: digest
        runs.append(run_planted(runner, build, scripts, "--full"))
    with open(os.path.join(build, "ran"), encoding="utf-8") as file:
        check("a test that passed runs again with other sources only", len(file.read().split()) == 2)
    check("a test that failed runs again", all(code == 1 and "failed: fails" in said for code, said in runs), runs[1][1])
    check("what passed before is counted", runs[1][1].endswith("\n1 passed, 1 failed\n"), runs[1][1])


def check_limits(folder):
    for name, reason, limit, idle, command in (("a loop is ended", "exceeded its limit", 1, 300, "while :; do :; done"),
                                               ("a child that loops is ended", "exceeded its limit", 1, 300, "(while :; do :; done); :"),
                                               ("a test that waits for ever is ended", "used no CPU time", 100, 3, "sleep 1000")):
        process.IDLE_S = idle
        code, text, _ = process.run_command(["sh", "-c", command], os.path.join(folder, "limits"), {}, limit)
        check(name, code is None and reason in text, f"{code}: {text}")


def check_missing_results(folder):
    """A command that computes nothing and exits with 0."""
    idle = os.path.join(folder, "idle")
    with open(idle, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ "$1" = eval ] || exec "{INGOT}" "$@"\n')
    os.chmod(idle, stat.S_IRWXU)
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "test_numpy.py"), "add"], capture_output=True, text=True,
                          env={**os.environ, "INGOT": idle}, check=False)
    check("test_numpy: results that are missing", done.returncode == 1 and "there is no result" in done.stdout
          and "1 passed" in done.stdout, done.stdout + done.stderr)


def main():
    runner = load_runner()
    check_counts()
    with tempfile.TemporaryDirectory() as folder:
        check_planted(runner, folder)
        check_full(runner, folder)
        check_missing_results(folder)
        if os.path.exists("/proc/self"):
            check_limits(folder)
    finish()


if __name__ == "__main__":
    main()
