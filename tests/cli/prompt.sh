# ingot eval at a terminal: the prompt, played by a pseudo terminal.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1 TERM=dumb XDG_STATE_HOME=$temporary/state

cat >"$temporary/play.py" <<'PYTHON'
"""Runs a command on a pseudo terminal, types the lines of standard input, then Ctrl-D."""
import os, pty, select, sys

def read(fd, seconds, until):
    said = b""
    while select.select([fd], [], [], seconds)[0]:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        said += more
        if until and said.endswith(until):
            break
    return said

lines = [line.rstrip("\n") for line in sys.stdin]
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = read(fd, 20, b"> ")
for line in lines:
    os.write(fd, line.encode() + b"\n")
    said += read(fd, 20, b"... " if line.endswith("[1,") else b"> ")
os.write(fd, b"\x04")
said += read(fd, 5, None)
status = os.waitpid(pid, 0)[1]
sys.stdout.write(said.decode(errors="replace").replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON

python3 "$temporary/play.py" "$ingot" eval >"$temporary/said" <<'LINES'
a = [10, 20, 30]
a * 2
sofmax(a)
a + 1
b = [1,
2]
b.shape
help softmax
x = 5.0
y = x * x
grad(y, x)
v = [7.0, 8.0]
s = sum(v * v)
grad(s, v)
None
LINES
code=$?
has() { grep -qF -- "$1" "$temporary/said" || { cat "$temporary/said"; return 1; }; }
lacks() { ! has "$1" >/dev/null; }
check 'Ctrl-D ends it well' test "$code" = 0
check 'an expression prints its value' has '[20 40 60]'
check 'an assignment prints nothing' lacks '[10 20 30]'
check 'an error points at its place' has "unknown op 'sofmax'; did you mean 'softmax'?"
check 'and does not end the prompt' has '[11 21 31]'
check 'a bracket that is open asks for more' has '(2,)'
check 'help shows an op' has 'softmax(x: array, axis: int|ints = -1)'
check 'grad asks by what was named before it' has '10.0'
check 'and by arrays that were computed before it' has '[14. 16.]'
if "$ingot" eval 1 >/dev/null && [ -d "$temporary/state/ingot" ]; then
    check 'history is kept' grep -q 'a \* 2\|a\\040\*\\0402' "$temporary/state/ingot/history"
else
    skip 'history is kept' 'built without libedit or readline'
fi
finish
