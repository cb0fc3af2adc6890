#!/usr/bin/env python3
"""ingot --trace and IG_TRACE: strict JSON, spans that nest in each thread, plausible names, sums and
shares; a path that cannot be written, and Ctrl-C."""
import bisect
import json
import math
import os
import signal
import subprocess
import tempfile

from support.tally import check, finish

INGOT = os.environ.get("INGOT", "build/ingot")


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def ingot(*words, env=None, **options):
    return subprocess.run([INGOT, *words], capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, **options)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse)


def spans(trace, **wanted):
    return [e for e in trace["traceEvents"]
            if e["ph"] == "X" and all(e[k] == v for k, v in wanted.items())]


def check_nesting(name, trace):
    """In each thread, spans are disjoint or one within the other. Times have three decimals."""
    wrong = []
    for thread in {(e["pid"], e["tid"]) for e in spans(trace)}:
        open_until = []
        ours = spans(trace, pid=thread[0], tid=thread[1])
        for e in sorted(ours, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= e["ts"] + 5e-4:
                open_until.pop()
            end = e["ts"] + e["dur"]
            if open_until and end > open_until[-1] + 2e-3:
                wrong.append(e)
            open_until.append(end)
    check(f"{name}: spans nest", not wrong, wrong[:3])


def check_shape(name, trace):
    names = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    check(f"{name}: every thread has a name", {(e["pid"], e["tid"]) for e in spans(trace)} <= names)
    check(f"{name}: nothing was dropped", trace["otherData"]["dropped"] == 0)
    check_nesting(name, trace)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "t.json")

    # One product: its FLOPs, bytes and shares are known.
    n = 512
    run = ingot("eval", "--threads", "2", "--quiet", "--trace", path,
                f"a = ones([{n}, {n}]) * 1.5; b = exp(a); sort(b) @ a")
    check("a product runs", run.returncode == 0, run.stderr)
    trace = read(path)
    check_shape("a product", trace)
    products = [e for e in spans(trace, cat="program") if "contract" in e["name"]]
    check("one product is on the timeline", len(products) == 1, products)
    args = products[0]["args"]
    check("its FLOPs", args["FLOPs"] >= 2 * n ** 3, args)
    check("its bytes", args["bytes written"] == 4 * n * n and args["bytes read"] >= 4 * n * n, args)
    check("its rate", abs(args["GFLOP/s"] * products[0]["dur"] * 1e3 / args["FLOPs"] - 1) < 1e-3, args)
    check("all programs are on the cpu", {e["pid"] for e in spans(trace)} == {1})
    shares = spans(trace, cat="share")
    check("shares are called as their program", {e["name"] for e in shares} <=
          {e["name"] for e in spans(trace, cat="program")})
    check("shares are those of two threads", len({e["tid"] for e in shares}) <= 2 and shares)
    within = [any(p["ts"] <= e["ts"] + 1e-3 and e["ts"] + e["dur"] <= p["ts"] + p["dur"] + 1e-3
                  for p in spans(trace, cat="program", name=e["name"])) for e in shares]
    check("shares are within their programs", all(within))
    steps = [e["name"] for e in spans(trace, cat="graph")]
    check("graph work is there", {"eval", "order", "fuse", "emit", "plan", "compile"} <= set(steps))
    memory = [e["args"]["bytes"] for e in trace["traceEvents"] if e["ph"] == "C"]
    check("memory is a track", memory and max(memory) >= 4 * n * n, memory)

    # Long: a training.
    run = ingot("train", "digits", "--epochs", "2", "--quiet", "--trace", path)
    check("a training runs", run.returncode == 0, run.stderr)
    trace = read(path)
    check_shape("a training", trace)
    evals = sorted((e["ts"], e["ts"] + e["dur"]) for e in spans(trace, name="eval"))
    around = [evals[bisect.bisect(evals, (e["ts"] + 1e-3, math.inf)) - 1] for e in spans(trace, cat="program")]
    within = [b <= e["ts"] + 1e-3 and e["ts"] + e["dur"] <= end + 2e-3 for e, (b, end) in zip(spans(trace, cat="program"), around)]
    check("programs are within evaluations", within and all(within), (within.count(False), len(within)))

    # A setting, for any program.
    os.remove(path)
    run = ingot("eval", "sum(arange(10.0))", env={"IG_TRACE": path})
    check("IG_TRACE", run.returncode == 0 and spans(read(path), cat="program"))
    for setting, checked in (("1", True), ("0", False)):
        run = ingot("eval", "sum(arange(10.0))", env={"IG_TRACE": path, "IG_CHECK_SCHEDULE": setting})
        check(f"IG_CHECK_SCHEDULE={setting}", bool(spans(read(path), cat="graph", name="check")) == checked, run.stderr)
    run = ingot("eval", "1 + 1", "--device", "null", "--quiet", "--trace", path)
    check("other devices are processes of their own", run.returncode == 0, run.stderr)

    # Paths that cannot be written: one line, at once.
    bad = os.path.join(folder, "no", "t.json")
    for words, env in ((["--trace", bad], {}), ([], {"IG_TRACE": bad})):
        run = ingot("eval", *words, "print(1)", env=env)
        check("a bad path is refused", run.returncode == 5 and not run.stdout and
              run.stderr.count("\n") == 1 and "cannot be written" in run.stderr, run)

    # Ctrl-C, after the first line of output: the file is whole.
    # Mostly, it comes while eval prints, and no evaluation runs.
    loop = ["eval", "x = normal(key(0), [99, 99]); for k in range(100000): print(sum(x @ x + k))"]
    for words in (*[loop] * 8, ["train", "digits", "--epochs", "100000"]):
        os.remove(path)
        process = subprocess.Popen([INGOT, *words, "--trace", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
        check(f"Ctrl-C ends {words[0]}", process.returncode == 130, process.returncode)
        check(f"Ctrl-C leaves a timeline of {words[0]}", read(path)["traceEvents"])
    check("nothing else is left", os.listdir(folder) == ["t.json"], os.listdir(folder))

finish()
