# ingot eval at a terminal: a script types into a pseudo terminal and reads what is printed.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1 TERM=dumb XDG_STATE_HOME=$temporary/state PAGER=

cat >"$temporary/play.py" <<'PYTHON'
"""Plays sessions on a pseudo terminal; prints a line "name|ok" or "name|what went wrong" for each check."""
import os, pty, re, select, signal, sys, time

INGOT, FOLDER = sys.argv[1:]
CTRL_C, CTRL_D, TAB = "\x03", "\x04", "\t"
WAIT_S = 600


class Terminal:
    def __init__(self, *arguments, **environment):
        self.said = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(environment)
            os.chdir(FOLDER)
            os.execv(INGOT, [INGOT, "eval", *arguments])
        self.until("> ")

    def until(self, text):
        """Reads until what was printed since the last call ends with text; returns it."""
        said, end = "", time.monotonic() + WAIT_S
        while not said.endswith(text):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise TimeoutError(f"no {text!r} after {said!r}")
            try:
                more = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                more = ""
            if not more:
                raise EOFError(f"ended after {said!r}")
            said = (said + more).replace("\r", "").replace("\x07", "")
        self.said += said
        return said

    def type(self, text):
        os.write(self.fd, text.encode())

    def run(self, line, until="> "):
        self.type(line + "\n")
        said = self.until(until)
        return said.split("\n", 1)[1].rsplit(until, 1)[0] if "\n" in said else said

    def stat(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()

    def idle(self):
        """Waits until the prompt has read all that was typed: it is blocked in a read."""
        asleep = 0
        while asleep < 3:
            time.sleep(0.05)
            asleep = asleep + 1 if self.stat()[0] == "S" else 0

    def busy(self):
        """Waits until it computes."""
        begin = int(self.stat()[11])
        while int(self.stat()[11]) < begin + 30:  # ticks of 10 ms
            time.sleep(0.05)

    def end(self):
        self.type(CTRL_D)
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def check(name, got, wanted):
    fine = wanted.search(got) if hasattr(wanted, "search") else got == wanted
    print(f"{name}|{'ok' if fine else repr(got).replace('|', '/')}")


t = Terminal()
edits = "Tab completes" in t.said
check("an assignment prints nothing", t.run("a = [10, 20, 30]"), "")
check("an expression prints its value", t.run("a * 2"), "[20 40 60]\n")
check("an error points at its place", t.run("sofmax(a)"),
      re.compile(r"unknown op 'sofmax'; did you mean 'softmax'\?\n  sofmax\(a\)\n  \^~~~~~\n"))
check("and does not end the prompt", t.run("a + 1"), "[11 21 31]\n")
check("_ is the last result", t.run("_ * 2"), "[22 42 62]\n")
check("an open bracket asks for more", t.run("b = [1,", "... "), "")
check("the rest of the list", t.run("2]"), "")
check("what was typed on two lines", t.run("b.shape"), "(2,)\n")
check("an operator asks for more", t.run("1 +", "... "), "")
check("the rest of the sum", t.run("2"), "3\n")
check("'=' asks for more", t.run("c =", "... "), "")
check("the rest of the assignment", t.run("7"), "")
check("an empty line gives up", (t.run("(1 +", "... "), t.run(""))[1], re.compile("'\\(' is never closed"))
check("+= changes a variable", (t.run("c += 1"), t.run("c"))[1], "8\n")
check("help shows an op", t.run("help softmax"), re.compile(r"^softmax\(x: array"))
check("so does '?'", t.run("softmax?"), re.compile(r"^softmax\(x: array"))
check("a variable is described", t.run("a?"), "a  list of 3\n")
check("an unknown name suggests", t.run("softm?"), "unknown op 'softm'; did you mean 'softmax'?\n")
check("grad by what was named before it", (t.run("x = 5.0"), t.run("y = x * x"), t.run("grad(y, x)"))[2],
      "10.0\n")
check("grad by arrays computed before it",
      (t.run("v = [7.0, 8.0]"), t.run("s = sum(v * v)"), t.run("grad(s, v)"))[2], "[14. 16.]\n")
check("variables are listed", (t.run("m = zeros(300, 400)"), t.run("vars"))[1],
      re.compile(r"^a  +list of 3\n(.*\n)*m  +f32 \(300, 400\)  469 KiB\n"))

# ---- Ctrl-C
t.type("1 + 2 + ")
t.idle()
t.type(CTRL_C)
t.until("> ")
check("Ctrl-C cancels the line", t.run("a * 3"), "[30 60 90]\n")
t.run("(1 +", "... ")
t.type(CTRL_C)
t.until("> ")
check("Ctrl-C cancels what several lines began", t.run("a"), "[10 20 30]\n")
t.run("big = ones(3000, 3000)")
t.type("big = " + " @ ".join(["big"] * 100) + "\n")
t.busy()
t.type(CTRL_C)
check("Ctrl-C cancels the computation", t.until("> "), re.compile("ingot eval: the evaluation was cancelled\n> $"))
check("and loses no variable", t.run("a + 0"), "[10 20 30]\n")
check("an interrupted assignment changes nothing", t.run("big[5, 5]"), "1.0\n")
check("None prints nothing", t.run("None"), "")
check("Ctrl-D ends it well", str(t.end()), "0")

t = Terminal("--trace", os.path.join(FOLDER, "trace.json"))
t.type("1 + 2")
t.idle()
t.type(CTRL_C)
t.until("> ")
check("Ctrl-C cancels the line under --trace", t.run("4 * 5"), "20\n")
t.end()

# ---- long texts
t = Terminal(PAGER="sed s/^/PAGED/")
check("long help goes through the pager", t.run("help"), re.compile("PAGED.*softmax"))
check("short help does not", t.run("relu?"), re.compile("^relu"))
t.end()
t = Terminal(PAGER="/nonexistent/pager")
check("without the pager it is printed", t.run("help"), re.compile("\n +softmax\\("))
t.end()

# ---- editing: with libedit or readline only
if edits:
    history = os.path.join(FOLDER, "state", "ingot", "history")
    t = Terminal()
    t.run("123 * 4")
    t.kill()
    check("history is written with each line", open(history).read(), re.compile("\n123 \\* 4\n"))
    t = Terminal()
    t.type("\x10")  # Ctrl-P
    t.idle()
    check("and recalled by the next session", t.run(""), "492\n")
    t.type("softma" + TAB)
    t.idle()
    check("Tab completes ops", t.run("[0.0, 0.0])"), "[0.5 0.5]\n")
    t.run("long_name = 41")
    t.type("1 + long" + TAB)
    t.idle()
    check("Tab completes variables", t.run(""), "42\n")
    t.type("arange(6).resh" + TAB)
    t.idle()
    check("Tab completes methods", t.run("2, 3).shape"), "(2, 3)\n")
    t.type("[1, 2].dty" + TAB)
    t.idle()
    check("Tab completes attributes", t.run(""), "i64\n")
    os.makedirs(os.path.join(FOLDER, "data folder"))
    t.run("save('data folder/an array.npy', [5, 6])")
    t.type("load('data f" + TAB)
    t.idle()
    t.type("an" + TAB)
    t.idle()
    check("Tab completes files", t.run("')"), "[5 6]\n")
    t.type("sum([[1, 2], [3, 4]], keepd" + TAB)
    t.idle()
    check("Tab completes keywords", t.run("true)"), "[[10]]\n")
    open(os.path.join(FOLDER, "only.txx"), "w").close()
    open(os.path.join(FOLDER, "only.cu"), "w").write("__global__ void k(int *y) { y[0] = 7; }\n")
    t.type("kernel('onl" + TAB)
    t.idle()
    check("Tab completes files by their kind", t.run("', 'k', y=1)"), "[7]\n")
    t.type("zzz" + TAB)
    t.idle()
    check("and nothing else", t.run("1"), re.compile("unknown name 'zzz1'"))
    check("Ctrl-D ends that too", str(t.end()), "0")
else:
    print("history and completion|skip")
PYTHON

python3 "$temporary/play.py" "$(realpath "$ingot")" "$temporary" >"$temporary/results" 2>"$temporary/trouble" ||
    cat "$temporary/trouble" >>"$temporary/failed"
same() { [ "$1" = ok ] || { echo "$1"; return 1; }; }
while IFS='|' read -r name result; do
    if [ "$result" = skip ]; then
        skip "$name" 'built without libedit or readline'
    else
        check "$name" same "$result"
    fi
done <"$temporary/results"
whole() { [ ! -s "$temporary/failed" ] || { cat "$temporary/failed"; return 1; }; }
check 'the whole script was played' whole
finish
