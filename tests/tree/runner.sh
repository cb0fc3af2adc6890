# tests/run counts what a test printed, records each skip, and ends a test that hangs or uses too much CPU time.
. tests/check.sh
counts() { # EXPECTED OUTPUT [CODE]
    python3 - "$@" <<'PYTHON'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("runner", "tests/run")
sys.dont_write_bytecode = True
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
loader.exec_module(runner)
test = runner.Test("t", [])
runner.count(test, int(sys.argv[3]) if len(sys.argv) > 3 else 0, sys.argv[2])
got = f"{test.passed} {test.failed} {test.skipped}"
assert got == sys.argv[1], got
PYTHON
}
check 'a tally' counts '3 1 0' $'noise\n3 passed, 1 failed\n' 1
check 'a tally with skips' counts '3 0 2' $'3 passed, 0 failed, 2 skipped\n'
check 'no tally' counts '1 0 0' $'fine\n'
check 'no tally, and a failure' counts '0 1 0' $'fine\n' 1
check 'only skipped' counts '0 0 1' $'skipped: no GPU\n'
check 'partly skipped' counts '1 0 2' $'fine\nskipped: no GPU\nskipped: no nvcc\n'
check 'skipped, and a failure' counts '0 1 1' $'skipped: no GPU\n' 1
check 'tests that cmocka skips' counts '2 0 1' $'[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n'

ended() { # REASON LIMIT COMMAND...
    python3 - "$@" <<'PYTHON'
import importlib.machinery, importlib.util, os, sys, tempfile
loader = importlib.machinery.SourceFileLoader("runner", "tests/run")
sys.dont_write_bytecode = True
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
loader.exec_module(runner)
runner.IDLE_S = 3
with tempfile.TemporaryDirectory() as folder:
    code, text, _ = runner.run_command(sys.argv[3:], os.path.join(folder, "log"), {}, float(sys.argv[2]))
assert code is None and sys.argv[1] in text, (code, text)
PYTHON
}
if [ -d /proc/self ]; then
    check 'a loop is ended' ended 'exceeded its limit' 1 sh -c 'while :; do :; done'
    check 'a child that loops is ended' ended 'exceeded its limit' 1 sh -c '(while :; do :; done); :'
    check 'a test that waits for ever is ended' ended 'used no CPU time' 100 sleep 1000
else
    skip 'limits of CPU time' 'there is no /proc'
fi
finish
