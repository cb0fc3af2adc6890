#!/usr/bin/env python3
"""Random kernels: the same text as CUDA C by `ingot run`, on the CPU, as native code of the CPU and on an OpenCL
device, and as C by the machine's compiler; see tests/support/random_kernels.py. All answers are the same to the last
bit; functions that are rounded as they please are held to their ulp.

KERNEL_SEED is where the random numbers start (1; 0: elsewhere each time), KERNEL_COUNT how many functions there are.

With --nvcc SECONDS, on a machine with nvcc and an NVIDIA GPU, whole programs of random kernels run there and on the
CPU, as lane code and some as native code, until the time is over.
"""
import argparse
import concurrent.futures
import math
import os
import random
import shutil
import subprocess
import tempfile
import time

import numpy as np

from support import random_kernels as kernels
from support.tally import check, finish, skip

INGOT = os.path.abspath(os.environ.get("INGOT", "build/ingot"))
SEED = int(os.environ.get("KERNEL_SEED", "1")) or random.SystemRandom().randrange(1, 10**9)
COUNT = int(os.environ.get("KERNEL_COUNT", "3" if os.environ.get("IG_TEST_QUICK") else "15"))
THREADS = kernels.THREADS
NATIVE = 2 + COUNT // 10  # functions that are also kernels of their own, as native code
# Vectors of 16, 8 or 4 lanes, as the processor has them, and of 4.
NATIVE_LEVELS = [None, "sse2"] if os.uname().machine == "x86_64" else [None]
# Functions, where they are tried, and by how many ulp OpenCL lets them be off.
MATH = [("expf", math.exp, -80, 80, 3), ("logf", math.log, 1e-30, 1e30, 3), ("sinf", math.sin, -100, 100, 4),
        ("cosf", math.cos, -100, 100, 4), ("tanf", math.tan, -1.5, 1.5, 5), ("atanf", math.atan, -1e3, 1e3, 5),
        ("tanhf", math.tanh, -8, 8, 5), ("exp2f", lambda x: 2.0**x, -100, 100, 3), ("log2f", math.log2, 1e-9, 1e9, 3),
        ("erff", math.erf, -3, 3, 16), ("log1pf", math.log1p, -0.9, 1e3, 2), ("expm1f", math.expm1, -9, 9, 3),
        ("cbrtf", math.cbrt if hasattr(math, "cbrt") else lambda x: math.copysign(abs(x)**(1 / 3), x), -1e9, 1e9, 2),
        ("asinf", math.asin, -1, 1, 4), ("sinhf", math.sinh, -9, 9, 4), ("rsqrtf", lambda x: x**-0.5, 1e-9, 1e9, 2)]
PROGRAM = f"""
static void print(const char *name, const long long *out)
{{
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s %s", name, cudaGetErrorName(e));
    for (int w = 0; w < {THREADS}; w += 32) {{
        unsigned long long h = 0;
        for (int t = w; t < w + 32; t++)
            h = (h ^ (unsigned long long)out[t]) * 1099511628211ull;
        printf(" %016llx", h);
    }}
    printf("\\n");
}}
int main()
{{
    long long *in, *out;
    cudaMallocManaged(&in, {THREADS} * sizeof *in);
    cudaMallocManaged(&out, {THREADS} * sizeof *out);
    for (int t = 0; t < {THREADS}; t++)
        in[t] = t;
"""


class Run:
    """A folder with the two texts, and what the machines say."""

    def __init__(self, folder, statements=8, count=COUNT):
        self.folder = folder
        self.functions = [kernels.Function().text(f"f{n}", statements) for n in range(count)]
        self.blocks = [kernels.Block(f"b{n}", False) for n in range(max(count // 5, 2))]
        self.warps = [kernels.Block(f"w{n}", True) for n in range(max(count // 5, 2))]
        self.own = self.blocks[:2]  # kernels of their own

    def path(self, name):
        return os.path.join(self.folder, name)

    def launches(self):
        """Name, blocks, needs warps, and what each block runs."""
        return [("functions", COUNT, False, self.functions),
                ("blocks", len(self.blocks), False, [b.cuda_function() for b in self.blocks]),
                ("warps", len(self.warps), True, [b.cuda_function() for b in self.warps]),
                *((b.name + "_kernel", 1, False, [b.cuda_kernel()]) for b in self.own)]

    def native_launches(self):
        """As launches, of short kernels, each with its first row of the answers."""
        at = COUNT + len(self.blocks)
        return [*((f"f{n}_kernel", 1, n, [self.functions[n]]) for n in range(min(NATIVE, COUNT))),
                ("warps", len(self.warps), at, [b.cuda_function() for b in self.warps]),
                *((b.name + "_kernel", 1, at + len(self.warps) + n, [b.cuda_kernel()]) for n, b in enumerate(self.own))]

    def cuda(self):
        def switch(calls):
            return "    switch (blockIdx.x) {\n" + "".join(f"    case {n}: r = {call}; break;\n"
                                                           for n, call in enumerate(calls)) + "    }\n"
        out = f"    out[blockIdx.x * {THREADS} + threadIdx.x] = r;\n}}\n"
        text = kernels.CUDA + "".join(self.functions)
        text += "__global__ void functions(const long long *in, long long *out)\n{\n    int i = threadIdx.x - 40;\n"
        text += "    long long r = 0;\n" + switch([f"f{n}(i, in, in[threadIdx.x])" for n in range(COUNT)]) + out
        for name, blocks in (("blocks", self.blocks), ("warps", self.warps)):
            text += "".join("".join(b.parts) + b.cuda_function() for b in blocks)
            text += (f"__global__ void {name}(long long *out)\n{{\n    __shared__ long long s[{THREADS}];\n"
                     "    long long r = 0;\n    s[threadIdx.x] = threadIdx.x;\n    __syncthreads();\n" +
                     switch([f"{b.name}(threadIdx.x, s)" for b in blocks]) + out)
        text += "".join(f"__global__ void f{n}_kernel(const long long *in, long long *out)\n{{\n"
                        f"    int i = threadIdx.x - 40;\n    out[threadIdx.x] = f{n}(i, in, in[threadIdx.x]);\n}}\n"
                        for n in range(min(NATIVE, COUNT)))
        return text + "".join(b.cuda_kernel() for b in self.own)

    def c(self):
        text = kernels.C + kernels.SHUFFLED + "".join(self.functions)
        text += "".join("".join(b.parts) + b.c_function(True) for b in self.blocks + self.warps)
        text += "".join(b.c_function(False) for b in self.own)
        text += (f"static long long r[{THREADS}], in[{THREADS}];\nstatic void print(void)\n{{\n"
                 f"    for (int t = 0; t < {THREADS}; t++)\n        printf(\"%lld\\n\", r[t]);\n}}\nint main(void)\n{{\n"
                 f"    for (int t = 0; t < {THREADS}; t++)\n        in[t] = t;\n")
        for n in range(COUNT):
            text += f"    for (int t = 0; t < {THREADS}; t++)\n        r[t] = f{n}(t - 40, in, in[t]);\n    print();\n"
        for blocks in (self.blocks, self.warps):
            text += "".join(f"    {b.name}({n}, r);\n    print();\n" for n, b in enumerate(blocks))
        return text + "".join(f"    {b.name}_kernel(0, r);\n    print();\n" for b in self.own) + "    return 0;\n}\n"

    def program(self):
        """A whole CUDA program: each function and block is a kernel, and main prints a line of sums for each."""
        text = "#include <cstdio>\n" + kernels.CUDA
        for n, function in enumerate(self.functions):
            text += function + (f"__global__ void f{n}_kernel(const long long *in, long long *out)\n{{\n"
                                f"    int i = threadIdx.x - 40;\n    out[threadIdx.x] = f{n}(i, in, in[threadIdx.x]);\n}}\n")
        for b in self.blocks + self.warps:
            text += "".join(b.parts) + b.cuda_kernel()
        text += PROGRAM
        for n in range(len(self.functions)):
            text += f"    f{n}_kernel<<<1, {THREADS}>>>(in, out);\n    print(\"f{n}\", out);\n"
        for b in self.blocks + self.warps:
            text += f"    {b.name}_kernel<<<1, {THREADS}>>>(out);\n    print(\"{b.name}\", out);\n"
        return text + "    return 0;\n}\n"

    def wanted(self):
        subprocess.run(["cc", "-std=gnu11", "-O1", "-fwrapv", "-fsigned-char", "-ffp-contract=off", "-w", "-o",
                        self.path("k"), self.path("k.c"), "-lm"], check=True)
        said = subprocess.run([self.path("k")], capture_output=True, text=True, check=True).stdout
        return np.array(said.split(), np.int64).reshape(-1, THREADS)

    def launch(self, name, device, blocks, arguments, out, settings=None):
        done = subprocess.run([INGOT, "run", self.path("k.cu"), "--kernel", name, "--device", device, "--grid",
                               str(blocks), "--block", str(THREADS), *arguments, "--out", f"out={out}"],
                              capture_output=True, text=True, check=False, env={**os.environ, **(settings or {})})
        return done.stderr if done.returncode else None

    def check_rows(self, name, device, blocks, part, sources, settings=None):
        out = self.path("out.npy")
        arguments = ["--arg", f"out=zeros:i64[{blocks * THREADS}]"]
        if name[0] == "f":
            arguments += ["--arg", f"in=arange:i64[{THREADS}]"]
        said = self.launch(name, device, blocks, arguments, out, settings)
        if said:
            check(f"{name} on {device}", False, said[:3000])
            return
        got, where = np.load(out).reshape(-1, THREADS), f"{device} {settings or ''}".strip()
        for n in range(blocks):
            wrong = np.flatnonzero(got[n] != part[n])
            check(f"{name} {n} on {where}", not wrong.size,
                  wrong.size and f"{sources[n]}thread {wrong[0]}: {got[n][wrong[0]]}, not {part[n][wrong[0]]}")

    def compare_native(self, wanted):
        """Which kernels became native code is seen by the libraries that are kept; most do."""
        folder, built, tried = self.path("kept"), 0, 0
        for level in NATIVE_LEVELS:
            for name, blocks, at, sources in self.native_launches()[::2 if level else 1]:
                tried += 1
                settings = {"IG_NATIVE": "wait", "IG_KEEP_KERNELS": folder, "IG_CACHE": "off",
                            **({"IG_CPU_LEVEL": level} if level else {})}
                os.makedirs(folder)
                self.check_rows(name, "cpu", blocks, wanted[at:at + blocks], sources, settings)
                built += os.path.exists(os.path.join(folder, f"{name}-{THREADS}x1x1.so"))
                shutil.rmtree(folder)
        check(f"{built} of {tried} kernels are native code", built * 2 > tried)

    def compare(self, device, wanted):
        at = 0
        for name, blocks, warps, sources in self.launches():
            part, at = wanted[at:at + blocks], at + blocks
            if warps and device != "cpu":
                continue
            self.check_rows(name, device, blocks, part, sources, {"IG_NATIVE": "off"})


def check_math(run, device):
    """Each function at random places; a block has one."""
    cases = "".join(f"    case {n}: r = {row[0]}(x[at]); break;\n" for n, row in enumerate(MATH))
    with open(run.path("k.cu"), "w", encoding="utf-8") as file:
        file.write("__global__ void functions(const float *x, float *out)\n{\n    float r = 0;\n"
                   "    int at = blockIdx.x * blockDim.x + threadIdx.x;\n    switch (blockIdx.x) {\n" + cases +
                   "    }\n    out[at] = r;\n}\n")
    x = np.array([[random.uniform(low, high) for _ in range(THREADS)] for _, _, low, high, _ in MATH], np.float32)
    np.save(run.path("x.npy"), x)
    said = run.launch("functions", device, len(MATH), ["--arg", f"x={run.path('x.npy')}", "--arg",
                                                       f"out=zeros:f32[{x.size}]"], run.path("out.npy"))
    if said:
        check(f"functions on {device}", False, said[:3000])
        return
    got = np.load(run.path("out.npy")).reshape(x.shape)
    for n, (name, exact, _, _, most) in enumerate(MATH):
        wanted = np.array([exact(float(v)) for v in x[n]])
        off = np.abs(got[n] - wanted) / np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
        worst = int(np.argmax(off))
        check(f"{name}({x[n][worst]}) on {device} is {got[n][worst]}, off by {off[worst]:.1f} ulp", off[worst] <= most)


def opencl_is_here():
    said = subprocess.run([INGOT, "devices"], capture_output=True, text=True, check=False).stdout
    return "\nopencl:0" in said


def lines_of(command, settings=None):
    """The lines that a command prints, or its last message."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                              env={**os.environ, **(settings or {})})
    except subprocess.TimeoutExpired:
        return [f"{command[0]}: no end in 300 s"]
    return done.stdout.splitlines() if not done.returncode else [f"{command[0]}: {done.stderr.strip()[-1000:]}"]


def by_nvcc(path, *options):
    """What nvcc's program prints."""
    said = lines_of(["nvcc", "-std=c++17", "-w", "-arch=native", "-fmad=false", *options, "-o", path, path + ".cu"])
    return said or lines_of([path])


def batch(folder, seed, count, native):
    """One program of nvcc's and of ours: how many kernels there were, where lines differ, where nvcc's own lines
    differ by optimization level and ours are those of one level, and the seconds it took."""
    begin = time.time()
    path = os.path.join(folder, f"p{seed}")
    want, plain = by_nvcc(path), None
    wrong, split = [], []
    for settings in [{"IG_NATIVE": "off"}] + [{"IG_NATIVE": "wait", "IG_CACHE": "off"}] * native:
        got = lines_of([INGOT, "run", path + ".cu"], settings)
        if len(want) != count or len(got) != count:
            wrong.append(f"seed {seed}: {len(want)} lines: {want[-1:]}, {len(got)} lines: {got[-1:]}")
        for n, (w, g) in enumerate(zip(want, got)):
            if w == g and "cudaSuccess" in w:
                continue
            plain = plain or by_nvcc(path, "-Xptxas", "-O0")
            text = f"seed {seed}, {settings['IG_NATIVE']}: nvcc's '{w}', ours '{g}'"
            (split if plain[n:n + 1] == [g] else wrong).append(text)
    for name in (path, path + ".cu"):
        if os.path.exists(name):
            os.remove(name)
    return count, wrong, split, time.time() - begin


def compare_nvcc(seconds):
    """Batches in parallel, until another might end too late. A batch's seed is SEED plus its number."""
    if not shutil.which("nvcc"):
        skip("nvcc", "there is none")
        finish()
    kernels.destructors = True
    end, tally, seed, longest, splits = time.time() + seconds, {False: 0, True: 0}, SEED, 0, []
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = {}
        while waiting or time.time() + longest < end:
            while len(waiting) < workers and time.time() + longest < end:
                random.seed(seed)
                native = seed - SEED < workers // 4  # these are compiled long
                run = Run(folder, 4, 6 if native else int(os.environ.get("KERNEL_COUNT", "40")))
                with open(os.path.join(folder, f"p{seed}.cu"), "w", encoding="utf-8") as file:
                    file.write(run.program())
                count = len(run.functions) + len(run.blocks) + len(run.warps)
                waiting[pool.submit(batch, folder, seed, count, native)] = native
                seed += 1
            for done in concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED).done:
                count, wrong, split, took = done.result()
                native = waiting.pop(done)
                longest = longest if native else max(longest, took)
                splits += split
                tally[native] += count
                check(f"{count} kernels", not wrong, "\n".join(wrong[:20]))
                print(f"{sum(tally.values())} kernels", flush=True)
    for line in splits:
        print(f"nvcc differs from itself, and ours has the answer of -Xptxas -O0: {line}")
    print(f"{sum(tally.values())} kernels of seeds {SEED} to {seed - 1}, {tally[True]} of them also as native code")
    finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc", metavar="SECONDS", type=float)
    chosen = parser.parse_args()
    if chosen.nvcc:
        compare_nvcc(chosen.nvcc)
    random.seed(SEED)
    print(f"seed {SEED}")
    devices = ["cpu"]
    if opencl_is_here():
        devices.append("opencl")
    else:
        skip("opencl", "there is no device")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder)
        for name, text in (("k.cu", run.cuda()), ("k.c", run.c())):
            with open(run.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        wanted = run.wanted()
        for device in devices:
            run.compare(device, wanted)
        run.compare_native(wanted)
        for device in devices:
            check_math(run, device)
    finish()


if __name__ == "__main__":
    main()
