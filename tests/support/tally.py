"""Counts what a script checks, tells what fails, and ends with the line that tests/run reads."""
import sys
import traceback

passed = failed = skipped = 0


def check(name, fine, why=""):
    """Counts one check; one that fails is told, with why."""
    global passed, failed
    passed, failed = passed + bool(fine), failed + (not fine)
    if not fine:
        print(f"FAILED   {name} {why}".rstrip(), flush=True)


def skip(name, why):
    global skipped
    skipped += 1
    print(f"skipped  {name}: {why}", flush=True)


def attempt(name, test, *arguments):
    """Calls a test; one that breaks has failed, and the others still run."""
    try:
        test(*arguments)
    except Exception:
        check(name, False, traceback.format_exc())


def finish():
    """Prints the tally and ends the script."""
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed != 0)
