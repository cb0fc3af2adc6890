#!/usr/bin/env python3
"""Random kernels: the same text as CUDA C by `ingot run` and as C by the machine's compiler.

Each function has loops, branches, switches and arithmetic on integers and floats of some widths, and never
does what C leaves undefined. All functions of a run are one file; every thread calls one with its index.
KERNEL_SEED repeats a run, KERNEL_COUNT says how many functions it has.
"""
import os
import random
import subprocess
import sys
import tempfile

INGOT = os.path.abspath(os.environ.get("INGOT", "build/ingot"))
SEED = int(os.environ.get("KERNEL_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
COUNT = int(os.environ.get("KERNEL_COUNT", "12" if os.environ.get("IG_TEST_QUICK") else "40"))
THREADS = 96
TYPES = ["int", "unsigned", "long long", "unsigned char", "short", "float", "double"]
random.seed(SEED)


class Function:
    """Writes the body of `long long f(int i)`."""

    def __init__(self):
        self.variables = [("int", "i")]
        self.depth = 0

    def pick(self):
        return random.choice(self.variables)

    def whole(self, depth=0):
        """An expression of type unsigned long long, so that it wraps."""
        if depth > 2 or random.random() < 0.3:
            kind, name = self.pick()
            if kind in ("float", "double"):
                return f"(unsigned long long)(long long)({name} > 1000 || !({name} > -1000) ? 7 : {name})"
            return random.choice([f"(unsigned long long){name}", f"{random.randrange(100)}ull"])
        a, b = self.whole(depth + 1), self.whole(depth + 1)
        return random.choice([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})",
            f"({a} >> ({b} % 64))", f"({a} << ({b} % 64))", f"({a} / ({b} % 17 + 1))", f"({a} % ({b} | 1))",
            f"({self.truth(depth + 1)} ? {a} : {b})", f"(unsigned long long)(int)({a})",
            f"(unsigned long long)(unsigned char)({a} + {b})", f"(unsigned long long)-(short){a}", f"~{a}"])

    def real(self, depth=0):
        if depth > 2 or random.random() < 0.3:
            kind, name = self.pick()
            return random.choice([f"({kind}){name}", f"{random.randrange(80) / 8}f"])
        a, b = self.real(depth + 1), self.real(depth + 1)
        return random.choice([f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / (fabs((double){b}) + 1))",
                              f"({self.truth(depth + 1)} ? {a} : {b})", f"sqrtf(fabsf((float){a}))",
                              f"floor((double){a})", f"(float)({a})"])

    def truth(self, depth=0):
        if depth < 3 and random.random() < 0.3:
            return f"({self.truth(depth + 1)} {random.choice(['&&', '||'])} {self.truth(depth + 1)})"
        if random.random() < 0.3:
            return f"({self.real(depth + 1)} < {self.real(depth + 1)})"
        return f"({self.whole(depth + 1)} % {random.randrange(2, 7)} {random.choice(['==', '!=', '<', '>'])} 1)"

    def value(self, kind):
        if kind in ("float", "double"):
            return f"({kind})({self.real()})"
        return f"({kind})({self.whole()})"

    def assign(self):
        targets = [v for v in self.variables if v[1] != "i" and not v[1].startswith("k")]
        if not targets:
            return self.declare()
        kind, name = random.choice(targets)
        if random.random() < 0.2:
            return f"a[{self.whole()} % 5] = {self.value('int')};"
        if random.random() < 0.3 and kind in ("unsigned", "unsigned char"):
            return f"{name} {random.choice(['+=', '*=', '^=', '-='])} {self.value(kind)};"
        return f"{name} = {self.value(kind)};"

    def declare(self):
        kind, name = random.choice(TYPES), f"v{len(self.variables)}"
        text = f"{kind} {name} = {self.value(kind)};"
        self.variables.append((kind, name))
        return text

    def block(self, n, inside):
        before = list(self.variables)
        self.depth += 1
        text = " ".join(self.statement(inside) for _ in range(n))
        self.depth -= 1
        self.variables = before
        return "{ " + text + " }"

    def statement(self, inside=None):
        if self.depth > 3 or random.random() < 0.45:
            return random.choice([self.assign, self.declare])()
        choice = random.randrange(7)
        if choice < 2:
            other = f" else {self.block(2, inside)}" if random.random() < 0.6 else ""
            return f"if ({self.truth()}) {self.block(2, inside)}{other}"
        if choice < 4:
            name = f"k{self.depth}"
            self.variables.append(("int", name))
            body = self.block(3, "loop")
            self.variables.pop()
            test = random.choice([f"{name} < 5", f"{name} < 9 && {self.truth()}"])
            return f"for (int {name} = 0; {test}; {name}++) {body}"
        if choice == 4:
            cases = " ".join(f"case {c}: {self.block(1, inside)} {random.choice(['break;', '', ''])}"
                             for c in random.sample(range(4), 3))
            return f"switch ((int)({self.whole()} % 5)) {{ {cases} default: {self.block(1, inside)} }}"
        if choice == 5 and inside == "loop":
            return f"if ({self.truth()}) {random.choice(['break', 'continue'])};"
        if choice == 6 and self.depth:
            return f"if ({self.truth()}) return (long long)({self.whole()});"
        return f"{self.declare()}"

    def text(self, name):
        body = "\n    ".join(self.statement() for _ in range(8))
        sum_up = " ^ ".join(f"(unsigned long long)a[{i}] << {7 * i}" for i in range(5))
        last = " + ".join(f"3 * {self.value('unsigned long long')}" for _ in range(2))
        return (f"FUNCTION long long {name}(int i)\n{{\n    int a[5] = {{i, 1, 2, 3, 4}};\n    {body}\n"
                f"    return (long long)(({sum_up}) + {last});\n}}\n")


def main():
    names = [f"f{n}" for n in range(COUNT)]
    functions = "".join(Function().text(name) for name in names)
    cases = "".join(f"        case {n}: r = {name}(i); break;\n" for n, name in enumerate(names))
    kernel = ("#define FUNCTION __device__\n" + functions + "__global__ void k(long long *out)\n{\n"
              "    int i = threadIdx.x - 40;\n    long long r = 0;\n    switch (blockIdx.x) {\n" + cases +
              f"    }}\n    out[blockIdx.x * {THREADS} + threadIdx.x] = r;\n}}\n")
    program = ("#include <math.h>\n#include <stdio.h>\n#define FUNCTION static\n" + functions +
               "int main(void) {\n    for (int n = 0; n < " + str(COUNT * THREADS) + "; n++) {\n"
               f"        int i = n % {THREADS} - 40;\n        long long r = 0;\n        switch (n / {THREADS}) {{\n"
               + cases + "        }\n        printf(\"%lld\\n\", r);\n    }\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)
        for name, text in (("k.cu", kernel), ("k.c", program)):
            with open(path(name), "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["cc", "-std=c11", "-O1", "-fwrapv", "-fsigned-char", "-ffp-contract=off", "-w", "-o",
                        path("k"), path("k.c"), "-lm"], check=True, timeout=120)
        wanted = subprocess.run([path("k")], capture_output=True, text=True, check=True, timeout=60).stdout
        done = subprocess.run([INGOT, "run", path("k.cu"), "--grid", str(COUNT), "--block", str(THREADS),
                               "--arg", f"out=zeros:[{COUNT * THREADS}]", "--full"],
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            print(f"FAILED   KERNEL_SEED={SEED}: exit code {done.returncode}: {done.stderr[:2000]}")
            print("0 passed, 1 failed")
            return 1
        got = [int(word) for word in done.stdout.strip().removeprefix("out = [").removesuffix("]").split()]
        wanted = [int(word) for word in wanted.split()]
        wrong = [n for n in range(COUNT) if got[n * THREADS:(n + 1) * THREADS] != wanted[n * THREADS:(n + 1) * THREADS]]
        for n in wrong[:3]:
            i = next(i for i in range(n * THREADS, (n + 1) * THREADS) if got[i] != wanted[i])
            print(f"FAILED   KERNEL_SEED={SEED}: f{n}({i % THREADS - 40}) is {got[i]}, not {wanted[i]}")
            print(functions.split("FUNCTION")[n + 1])
        print(f"seed {SEED}")
        print(f"{COUNT - len(wrong)} passed, {len(wrong)} failed")
        return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
