#!/usr/bin/env python3
"""Whole commands on the simulated GPU: a text model with the CPU's logits, on OpenCL, too; bench, and what report makes of it;
the steps of selftest."""
import json
import os
import re
import tempfile

from simulated import READY, prepare, run
from support import tiny_model
from support.tally import check, finish, skip

TEXTS = ["the film was very good !", "cats"]
BENCH = ["bench", "--device", "mps", "--only", "launch,chain 64K", "--seconds", "1", "--quiet", "--json"]
STEPS = ["devices", "doctor", "one op", "arithmetic", "kernel saxpy", "kernel block_sum"]


def logits(done):
    return [float(x) for row in done.stdout.splitlines() for x in json.loads(row)["labels"].values()]


def check_text_model(folder):
    words = ["classify", "--model", tiny_model.make(folder, "classify"), "--json", *TEXTS]
    same = [*words, "--math", "same"]
    prepare([*words, "--device", "metal"], [*same, "--device", "metal"])
    listed = run("devices").stdout
    for device in ["metal", *(["opencl:0"] if "opencl:0" in listed else [])]:
        cpu, gpu = run(*words), run(*words, "--device", device)
        near = cpu.returncode == 0 == gpu.returncode and len(logits(cpu)) == len(logits(gpu)) == 4 and all(
            abs(a - b) < 1e-4 for a, b in zip(logits(cpu), logits(gpu)))
        check(f"a tiny DistilBERT on {device}: within 1e-4 of the CPU", near, f"{cpu.stdout}{gpu.stdout}{gpu.stderr}")
        cpu, gpu = run(*same), run(*same, "--device", device)
        check(f"a tiny DistilBERT on {device}: the CPU's bits in mode same", cpu.stdout == gpu.stdout != "",
              f"{cpu.stdout}{gpu.stdout}{gpu.stderr}")


def check_bench(folder):
    """The times of a simulator mean nothing, but the file and the page must be whole."""
    path = os.path.join(folder, "bench.json")
    done = run(*BENCH, "-o", path)
    check("bench", done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:])
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    works = {row["work"] for row in result["rows"] if row["device"] == "metal:0"}
    check("bench has the rows of the GPU", works == {"launch", "chain"}, str(works))
    page = os.path.join(folder, "page.html")
    done = run("report", path, "-o", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    section = re.search(r'id="expected".*?</table>', text, re.S)
    check("report has expected and measured times", done.returncode == 0 and section and "chain" in section[0] and
          "launch" not in section[0], done.stderr)
    row = re.search(r"chain.*?</tr>", section[0], re.S)[0] if section else ""
    expected = 16 * 64000 / (0.8 * 68.25e9)  # three inputs and a result, by the bandwidth of an M1
    times = [float(x) for x in re.findall(r"([\d.]+) \S?s</td>", row)]
    check("the expected time is that of the bytes moved", any(abs(t - 1e6 * expected) < 0.2 for t in times), row)


def check_selftest(folder):
    for step in STEPS:
        path = os.path.join(folder, "selftest.txt")
        done = run("selftest", "--device", "metal", "--only", step, "-o", path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check(f"selftest: {step}", done.returncode == 0 and "exit code 0" in text, done.stdout + text[-2000:])


def check_arithmetic(folder):
    """On a GPU whose compiler knows no pragma, and on one that flushes subnormal numbers."""
    for name, env, code, said in [
            ("right", {}, 0, r"two statements +0 of 4096 contracted"),
            ("contracts", {"METALSIM_CONTRACT": 1, "METALSIM_CACHE": os.path.join(folder, "cache")}, 1,
             r"two statements +[1-9]\d* of 4096 contracted; BROKEN"),
            ("flushes", {"METALSIM_FLUSH": 1}, 0, r"subnormal results +4096 of 4096 flushed to 0; this device does not promise it")]:
        done = run("selftest", "--arithmetic", "--device", "metal", **env)
        check(f"selftest: arithmetic of a GPU that {name}", done.returncode == code and re.search(said, done.stdout),
              done.stdout + done.stderr)


def main():
    if not READY:
        skip("commands on the simulated GPU", "clang 16 or newer is needed")
        finish()
    with tempfile.TemporaryDirectory() as folder:
        check_text_model(os.path.join(folder, "model"))
        check_bench(folder)
        check_selftest(folder)
        check_arithmetic(folder)
    finish()


if __name__ == "__main__":
    main()
