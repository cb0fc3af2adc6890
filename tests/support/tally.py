"""Counts the checks of a script, reports failures, and prints the last line that tests/run reads."""
import sys
import traceback

passed = failed = skipped = 0


def check(name, fine, why=""):
    """Counts one check; prints the reason if it fails."""
    global passed, failed
    passed, failed = passed + bool(fine), failed + (not fine)
    if not fine:
        print(f"FAILED   {name} {why}".rstrip(), flush=True)


def skip(name, why):
    global skipped
    skipped += 1
    print(f"skipped  {name}: {why}", flush=True)


def attempt(name, test, *arguments):
    """Calls a test; an exception counts as a failure."""
    try:
        test(*arguments)
    except Exception:
        check(name, False, traceback.format_exc())


def finish():
    """Prints the tally and exits."""
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed != 0)
