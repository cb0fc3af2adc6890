"""Runs the tests of tests/run: one process each, with a limit of CPU time, its output in a log, its counts read from the output."""
import atexit
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TALLY = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
CMOCKA = re.compile(r"^\[ +(PASSED|FAILED|SKIPPED) +\] (\d+) test", re.M)
CMOCKA_FAILED = re.compile(r"^ *(\d+) FAILED TEST\(S\)", re.M)  # those that broke in a fixture, too
SKIPPED = re.compile(r"^skipped\b", re.M)
TAIL_LINES = 30
IDLE_S, LOOK_S = 300, 2  # no test sleeps longer; how often it is looked at

MEMORY, MEMORY_FREE = "/dev/shm", 8 << 30  # bytes
# Tests with temporary files there. In test_blocks_hard, files must not count as memory; test_train interrupts the writing of files.
IN_MEMORY = re.compile(r"^test_(?!blocks_hard$|train$)|unit/test_blocks")


class Test:
    """One program or script: how to run it, and its counts. A test that is `single` prints no counts: it is one test, by its exit
    code."""

    def __init__(self, name, command, env=None, limit=300, single=False):
        self.name, self.command, self.env = name, command, env or {}
        self.limit = limit  # CPU seconds: a busy machine must not fail a test
        self.single = single
        self.passed = self.failed = self.skipped = 0
        self.seconds = self.cpu_seconds = 0.0
        self.log = ""


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, test):
        self.passed += test.passed
        self.failed += test.failed
        self.skipped += test.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed"


# ---- running one command ----------------------------------------------------------------------


def environment(extra, in_memory=False):
    # The stages choose their own builds; the tests their own threads, limits and colours. Every schedule is checked. NumPy's
    # libraries compute references on one thread: their other threads would wait in a loop, for most of the CPU time of a test.
    # Kernels are lane code: whether the background makes native code of them depends on time. Tests of native code wait for it.
    ours = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", "CROSS", "SAN", "COVERAGE", "FUZZ"}
    env = {k: v for k, v in os.environ.items() if k not in ours and (k == "IG_TEST_LARGE" or not k.startswith("IG_"))}
    env.update({"NO_COLOR": "1", "LC_ALL": "C.UTF-8", "IG_CHECK_SCHEDULE": "1", "IG_NATIVE": "off", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    if in_memory and memory_folder():
        env["TMPDIR"] = memory_folder()
    env.update(extra)
    return env


@functools.cache
def memory_folder():
    """A folder in memory for the tests' temporary files, or None. Every file that Ingot saves is written through to the disk, which
    takes 10 ms; test_numpy saves 12,000. The unit tests of files use /tmp."""
    try:
        about = os.statvfs(MEMORY)
        if about.f_bavail * about.f_frsize < MEMORY_FREE or about.f_flag & os.ST_NOEXEC:  # some tests run programs there
            return None
        folder = tempfile.mkdtemp(prefix="ingot-tests-", dir=MEMORY)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    except OSError:
        return None


running = set()  # the processes, each the leader of its group
builds = set()  # of these, the builds
build_awaited = threading.Event()  # set while no test runs and a build is waited for
build_awaited.set()


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def set_nice(process):
    """Sets the priority of a build's session. Linux divides time between sessions first, so the nice value of a
    process has no effect on other sessions."""
    try:
        with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as file:
            file.write("0" if build_awaited.is_set() else "19")
    except OSError:
        pass


def hurry(on):
    """Gives builds full priority while the runner waits for one."""
    (build_awaited.set if on else build_awaited.clear)()
    for process in list(builds):
        set_nice(process)


def session_cpu_seconds(leader):
    """The CPU time of a session's processes and of the children that they waited for; None without /proc."""
    ticks, found = 0, False
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()  # from the state on
        except OSError:
            continue  # it ended
        if int(fields[3]) == leader:
            ticks, found = ticks + sum(map(int, fields[11:15])), True
    return ticks / os.sysconf("SC_CLK_TCK") if found else None


class Watchdog:
    """Ends a process group that used `limit` seconds of CPU time, or that used none for IDLE_S seconds: it hangs.
    Without /proc the limit is of wall-clock time."""

    def __init__(self, process, limit):
        self.process, self.limit, self.reason = process, limit, ""
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        begin, used, idle = time.monotonic(), 0.0, 0
        while not self.done.wait(LOOK_S):
            seconds = session_cpu_seconds(self.process.pid)
            if seconds is None:
                seconds = time.monotonic() - begin
            idle = 0 if seconds > used else idle + LOOK_S  # not by the clock: the whole machine may have stood still
            used = max(seconds, used)
            if used > self.limit:
                self.reason = f"exceeded its limit of {self.limit} CPU seconds"
            elif idle > IDLE_S:
                self.reason = f"used no CPU time for {IDLE_S} s"
            if self.reason:
                kill_group(self.process)
                return

    def stop(self):
        self.done.set()
        self.thread.join()


def run_command(command, log, env, limit, background=False, in_memory=False):
    """Runs to the end or the limit, output into the log; returns (exit code or None, text, CPU seconds)."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen([*(["nice", "-n", "19"] if background else []), *command], cwd=ROOT,
                                       env=environment(env, in_memory), stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            out.write(f"{error}\n".encode())
            return 127, f"{error}\n", 0.0
        running.add(process)
        if background:
            builds.add(process)
            set_nice(process)
        watchdog = Watchdog(process, limit)
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            watchdog.stop()
            kill_group(process)  # ends children that the test left running
            running.discard(process)
            builds.discard(process)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.write(f"\n{watchdog.reason}\n".encode() if watchdog.reason else b"")
    with open(log, encoding="utf-8", errors="replace") as file:
        return None if watchdog.reason else process.returncode, file.read(), used.ru_utime + used.ru_stime


def count(test, code, text):
    """Reads a test's counts from its output. A test that checked nothing and skipped nothing has failed; returns why."""
    tallies = TALLY.findall(text)
    if tallies:
        test.passed, test.failed = int(tallies[-1][0]), int(tallies[-1][1])
        test.skipped = int(tallies[-1][2] or 0)
    else:
        for kind, number in CMOCKA.findall(text):
            field = kind.lower()
            setattr(test, field, getattr(test, field) + int(number))
        test.failed = max(test.failed, sum(map(int, CMOCKA_FAILED.findall(text))))
    why = ""
    if test.passed + test.failed + test.skipped == 0:
        lines = [line for line in text.splitlines() if line.strip() and not TALLY.match(line)]
        test.skipped = len(SKIPPED.findall(text))
        is_skipped = lines and test.skipped == len(lines)
        if test.single:
            test.passed = int(code == 0 and not is_skipped)
        elif not is_skipped:
            why = "the test checked nothing" if tallies or not lines else "the test did not print its counts"
    if test.failed == 0 and (code != 0 or why):
        test.failed = 1
    return why


def run_test(test, log, background=False):
    start = time.monotonic()
    test.log = log
    in_memory = not background and bool(IN_MEMORY.search(test.name))
    code, text, test.cpu_seconds = run_command(test.command, log, test.env, test.limit, background, in_memory)
    why = count(test, code, text)
    test.seconds = time.monotonic() - start
    if why:
        text += f"\n{why}\n"
    if code is not None and code < 0:
        text += f"\nended by {signal.Signals(-code).name}\n"
    return text


def report(test, text, say=print):
    """Prints one line; for a test that failed, also the end of its log."""
    line = f"  {test.name:<34} {test.passed:>6} passed {test.failed:>4} failed"
    line += f" {test.skipped:>4} skipped" if test.skipped else " " * 13
    say(f"{line} {test.seconds:>7.1f} s {test.cpu_seconds:>7.1f} CPU s")
    if test.failed:
        for row in text.splitlines()[-TAIL_LINES:]:
            say("      | " + row)
        say(f"      whole log: {os.path.relpath(test.log, ROOT)}")


class Output:
    """The lines of one stage. They are kept until the stage before it has ended."""

    def __init__(self, before):
        self.before, self.lines, self.lock = before, [], threading.Lock()
        self.cpu_seconds = 0.0
        self.is_alone = False  # the next stage starts when this one has ended
        self.started = threading.Event()  # all of the stage's tests have started
        self.ended = threading.Event()

    def say(self, line):
        with self.lock:
            self.lines.append(line)
            if self.before is None or self.before.ended.is_set():
                self.flush()

    def flush(self):
        for line in self.lines:
            print(line, flush=True)
        self.lines = []

    def end(self):
        self.started.set()
        if self.before:
            self.before.ended.wait()
        with self.lock:
            self.flush()
        self.ended.set()
