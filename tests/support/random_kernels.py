"""Random functions in the words that CUDA C and C share, and what a block does with them.

The same text is CUDA C and, behind other definitions of the words in capitals, C. It never does what C leaves
undefined, and rounds in one way only, so that every machine has the same answer to the last bit.
"""
import random

THREADS = 96
destructors = False  # scoped is for CUDA alone: OpenCL refuses the pointer of its objects
WHOLE = ["int", "unsigned", "long long", "unsigned long long", "signed char", "unsigned char", "short", "unsigned short"]
REAL = ["float", "double"]
MEMBERS = {"record": {"a": "int", "b": "float", "c": "long long", "d": "unsigned char"},
           "float4": dict.fromkeys("xyzw", "float"), "int2": dict.fromkeys("xy", "int"),
           "uchar4": dict.fromkeys("xyzw", "unsigned char"),
           "made": {"a": "int", "b": "short", "c": "double"}}

COMMON = """
struct record { int a; float b; long long c; unsigned char d; };
CONSTANT int table[8] = {3, -1, 4, -1, 5, -9, 2, 6};
FUNCTION int clamped(double x) { return x > 1000 || !(x > -1000) ? 7 : (int)x; }
FUNCTION struct record recorded(int a, float b, long long c, unsigned char d)
{
    struct record r = {a, b, c, d};
    r.a ^= (int)d;
    return r;
}
FUNCTION unsigned folded(const int *p, unsigned n)
{
    unsigned h = 2166136261u;
    for (; n; n--)
        h = (h ^ (unsigned)*p++) * 16777619u;
    return h;
}
FUNCTION unsigned mixed_0(unsigned a, unsigned b)
{
    return a * 31u + b;
}
FUNCTION unsigned mixed_1(unsigned a, unsigned b)
{
    return (a ^ b) >> 3;
}
FUNCTION unsigned mixed_2(unsigned a, unsigned b)
{
    return a - (b << 5);
}
typedef unsigned (*mixer)(unsigned, unsigned);
FUNCTION unsigned mixed(unsigned which, unsigned a, unsigned b)
{
    mixer all[3] = {mixed_0, mixed_1, mixed_2};
    mixer one = which % 5 ? all[which % 3] : mixed_1;
    return one(a, b) + (one == mixed_2);
}
FUNCTION void turned(int *p, int n)
{
    for (int i = 0; i < n / 2; i++) {
        int t = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = t;
    }
}
"""
CUDA = """#include <cuda_fp16.h>
#define FUNCTION __device__
#define CONSTANT __constant__
#define HADD(a, b) ((a) + (b))
#define HMUL(a, b) ((a) * (b))
#define MADE_0 made()
#define MADE_1(x) made(x)
#define MADE_2(x, y) made(x, y)
#define MADE_SUM(a, b) ((a) + (b))
struct base {
    int a = 7;
    FUNCTION base() { a ^= 1; }
    FUNCTION explicit base(int x) : a(x) {}
};
struct made : base {
    short b;
    double c{0.5};
    FUNCTION made() : b(3) {}
    FUNCTION made(int x) : base(x ^ 5), b(short(x >> 3)), c(a * 0.25) {}
    FUNCTION made(int x, float y) : made(x) { c += y; }
    FUNCTION made operator+(const made &o) const { return made(a ^ o.a, float(b - o.b)); }
};
struct counter {
    unsigned *to, by;
    FUNCTION counter(unsigned *p, unsigned n) : to(p), by(n) { *to ^= by; }
    FUNCTION ~counter() { *to = *to * 33u + by; }
};
FUNCTION unsigned scoped(unsigned a, unsigned b)
{
    unsigned h = a;
    {
        counter first(&h, b);
        for (unsigned i = 0; i < b % 5; i++) {
            counter second(&h, i);
            if ((h & 3) == a % 4)
                break;
            h += i;
        }
        counter third(&h, 9);
    }
    return h;
}
""" + COMMON
C = """#include <math.h>
#include <stdio.h>
#include <string.h>
#define FUNCTION static
#define CONSTANT static const
typedef _Float16 half;
#define HADD(a, b) ((half)((float)(a) + (float)(b)))
#define HMUL(a, b) ((half)((float)(a) * (float)(b)))
typedef struct { float x, y, z, w; } float4;
typedef struct { int x, y; } int2;
typedef struct { unsigned char x, y, z, w; } uchar4;
typedef struct { int a; short b; double c; } made;
#define MADE_0 ((made){6, 3, 0.5})
static made MADE_1(int x) { return (made){x ^ 5, (short)(x >> 3), (x ^ 5) * 0.25}; }
static made MADE_2(int x, float y) { made m = MADE_1(x); m.c += y; return m; }
static made MADE_SUM(made a, made b) { return MADE_2(a.a ^ b.a, (float)(a.b - b.b)); }
#define make_float4(...) ((float4){__VA_ARGS__})
#define make_int2(...) ((int2){__VA_ARGS__})
#define make_uchar4(...) ((uchar4){__VA_ARGS__})
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static int __ffs(int x) { return __builtin_ffs(x); }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
static unsigned __float_as_uint(float x) { unsigned u; memcpy(&u, &x, 4); return u; }
static float __uint_as_float(unsigned u) { float x; memcpy(&x, &u, 4); return x; }
static int __float2int_rn(float x) { return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)rintf(x); }
""" + COMMON


class Function:
    """Writes `FUNCTION long long name(int i, const long long *s, long long r)`."""

    def __init__(self):
        self.variables = [("int", "i"), ("long long", "r")]
        self.depth = self.count = self.labels = 0

    def pick(self, kinds=None):
        fitting = [v for v in self.variables if not kinds or v[0] in kinds]
        return random.choice(fitting) if fitting else None

    def scalar(self):
        """A variable or a part of one, that is a number: its type and text."""
        kind, name = self.pick()
        if kind in MEMBERS:
            member = random.choice(list(MEMBERS[kind]))
            return MEMBERS[kind][member], f"{name}.{member}"
        return kind, name

    def whole(self, depth=0):
        """An expression of type unsigned long long, so that it wraps."""
        if depth > 2 or random.random() < 0.3:
            kind, name = self.scalar()
            if kind in REAL or kind == "half":
                return f"(unsigned long long)clamped((double)(float){name})" if kind == "half" else \
                    f"(unsigned long long)clamped({name})"
            return random.choice([f"(unsigned long long){name}", f"{random.randrange(100)}ull",
                                  f"(unsigned long long)table[{name} & 7]",
                                  f"(unsigned long long)s[(unsigned){name} % {THREADS}u]"])
        a, b = self.whole(depth + 1), self.whole(depth + 1)
        narrow = random.choice(WHOLE)
        return random.choice([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})",
            f"({a} >> ({b} % 64))", f"({a} << ({b} % 64))", f"({a} / ({b} % 17 + 1))", f"({a} % ({b} | 1))",
            f"({self.truth(depth + 1)} ? {a} : {b})", f"(unsigned long long)({narrow})({a})",
            f"(unsigned long long)({narrow})({a} + {b})", f"(unsigned long long)-(short){a}", f"~{a}",
            f"(unsigned long long)((int)({a} % 1000) - (int)({b} % 1000))",
            f"(unsigned long long)((long long)({a}) >> ({b} % 64))",
            f"(unsigned long long)((int)({a}) / (int)({b} % 9 + 1))",
            f"(unsigned long long)((int)({a}) % (int)({b} % 9 + 1))",
            f"(unsigned long long)((long long)({a}) / (long long)({b} % 9 + 1))",
            f"(unsigned long long)((unsigned)({a}) << (int)({b} % 32))",
            f"(unsigned long long)((unsigned)({a}) >> (int)({b} % 32))",
            f"(unsigned long long)(({narrow})({a}) < ({random.choice(WHOLE)})({b}))",
            f"(unsigned long long)__popc((unsigned)({a}))", f"(unsigned long long)__clz((int)({a}))",
            f"(unsigned long long)__umulhi((unsigned)({a}), (unsigned)({b}))",
            f"(unsigned long long)min((int)({a}), (int)({b}))", f"(unsigned long long)max((int)({a}), (int)({b}))",
            f"(unsigned long long)__float_as_uint((float)(int)({a} % 4096))",
            f"(unsigned long long)__float2int_rn({self.real(3)})",
            f"(unsigned long long)mixed((unsigned)({a} % 99), (unsigned)({b}), (unsigned)({a}))",
            f"(unsigned long long){'scoped' if destructors else 'mixed_1'}((unsigned)({a}), (unsigned)({b} % 99))",
            f"(unsigned long long)folded(a, (unsigned)({a} % 6))", f"(unsigned long long)b[{a} % 3][{b} % 4]"])

    def real(self, depth=0):
        if depth > 2 or random.random() < 0.3:
            kind, name = self.scalar()
            if kind == "half":
                return f"(float){name}"
            return random.choice([f"({kind if kind in REAL else 'float'}){name}", f"{random.randrange(80) / 8}f"])
        a, b = self.real(depth + 1), self.real(depth + 1)
        return random.choice([f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / (fabs((double){b}) + 1))",
                              f"({self.truth(depth + 1)} ? {a} : {b})", f"sqrtf(fabsf((float){a}))",
                              f"floor((double){a})", f"(float)({a})", f"ceilf((float){a})", f"truncf((float){a})",
                              f"rintf((float){a})", f"fminf((float){a}, (float){b})", f"fmax((double){a}, (double){b})",
                              f"fmaf((float){a}, 0.5f, (float){b})", f"copysignf((float){a}, (float)clamped({b}))",
                              f"(-{a})", f"sqrt(fabs((double){a}))", f"(float)(half)(float)clamped({a})"])

    def truth(self, depth=0):
        if depth < 3 and random.random() < 0.3:
            return f"({self.truth(depth + 1)} {random.choice(['&&', '||'])} {self.truth(depth + 1)})"
        if random.random() < 0.3:
            return f"({self.real(depth + 1)} {random.choice(['<', '<=', '>', '>='])} {self.real(depth + 1)})"
        if random.random() < 0.1:
            return f"!({self.whole(depth + 1)} & 1)"
        return f"({self.whole(depth + 1)} % {random.randrange(2, 7)} {random.choice(['==', '!=', '<', '>'])} 1)"

    def value(self, kind):
        if kind == "half":
            a, b = self.pick(["half"]), self.pick(["half"])
            if a and random.random() < 0.6:
                return f"{random.choice(['HADD', 'HMUL'])}({a[1]}, {b[1]})"
            return f"(half)(float)clamped({self.real()})"
        if kind in REAL:
            return f"({kind})({self.real()})"
        if kind in MEMBERS:
            same = self.pick([kind])
            if same and random.random() < 0.3:
                return f"MADE_SUM({same[1]}, {self.pick([kind])[1]})" if kind == "made" else same[1]
            if kind == "made":
                return random.choice(["MADE_0", f"MADE_1({self.value('int')})",
                                      f"MADE_2({self.value('int')}, (float)clamped({self.real()}))"])
            maker = "recorded" if kind == "record" else "make_" + kind
            return f"{maker}({', '.join(self.value(k) for k in MEMBERS[kind].values())})"
        return f"({kind})({self.whole()})"

    def assign(self):
        targets = [v for v in self.variables if v[1] not in ("i", "r") and not v[1].startswith("k")]
        if not targets:
            return self.declare()
        kind, name = random.choice(targets)
        if random.random() < 0.25:
            return random.choice([f"a[{self.whole()} % 5] = {self.value('int')};",
                                  f"b[{self.whole()} % 3][{self.whole()} % 4] = {self.value('short')};",
                                  f"turned(a, 1 + (int)({self.whole()} % 5));"])
        if kind in MEMBERS and random.random() < 0.6:
            member = random.choice(list(MEMBERS[kind]))
            return f"{name}.{member} = {self.value(MEMBERS[kind][member])};"
        if random.random() < 0.4 and kind.startswith("unsigned"):
            return random.choice([
                f"{name} {random.choice(['+=', '*=', '^=', '-=', '|=', '&='])} {self.value(kind)};",
                f"{name} {random.choice(['<<=', '>>='])} {self.whole()} % 8;", f"{name}++;", f"--{name};"])
        if random.random() < 0.3 and kind in REAL:
            return f"{name} {random.choice(['+=', '-=', '*='])} {self.value(kind)};"
        return f"{name} = {self.value(kind)};"

    def declare(self):
        kind = random.choice(WHOLE + REAL + ["half", "record", "float4", "int2", "uchar4", "made"])
        name = f"v{self.count}"
        self.count += 1
        text = f"{'struct ' if kind == 'record' else ''}{kind} {name} = {self.value(kind)};"
        self.variables.append((kind, name))
        return text

    def block(self, n, inside):
        before = list(self.variables)
        self.depth += 1
        text = " ".join(self.statement(inside) for _ in range(n))
        self.depth -= 1
        self.variables = before
        return "{ " + text + " }"

    def loop(self):
        name = f"k{self.depth}"
        self.variables.append(("int", name))
        body = self.block(3, "loop")
        self.variables.pop()
        test = random.choice([f"{name} < 5", f"{name} < 9 && {self.truth()}"])
        if random.random() < 0.7:
            return f"for (int {name} = 0; {test}; {name}++) {body}"
        if random.random() < 0.5:
            return f"{{ int {name} = 0; while ({name}++ < 4) {body} }}"
        return f"{{ int {name} = 0; do {body} while (++{name} < 4 && {self.truth()}); }}"

    def statement(self, inside=None):
        if self.depth > 3 or random.random() < 0.45:
            return random.choice([self.assign, self.declare])()
        choice = random.randrange(8)
        if choice == 7 and self.labels:
            label = random.randrange(self.labels)
            return f"if ({self.truth()} && j{label}++ < 2) goto again_{label};"
        if choice < 2:
            other = f" else {self.block(2, inside)}" if random.random() < 0.6 else ""
            return f"if ({self.truth()}) {self.block(2, inside)}{other}"
        if choice < 4:
            return self.loop()
        if choice == 4:
            cases = " ".join(f"case {c}: {self.block(1, inside)} {random.choice(['break;', '', ''])}"
                             for c in random.sample(range(4), 3))
            return f"switch ((int)({self.whole()} % 5)) {{ {cases} default: {self.block(1, inside)} }}"
        if choice == 5 and inside == "loop":
            return f"if ({self.truth()}) {random.choice(['break', 'continue'])};"
        if choice == 6 and self.depth:
            return f"if ({self.truth()}) return (long long)({self.whole()});"
        return self.declare()

    def text(self, name, statements=8):
        n_labels = random.choice([0, 0, 1, 2]) if statements > 2 else 0
        labels = random.sample(range(statements), n_labels)  # for jumps back
        body = ""
        for n in range(statements):
            if n in labels:
                body += f"int j{self.labels} = 0;\nagain_{self.labels}:;\n    "
                self.labels += 1
            body += self.statement() + "\n    "
        sum_up = " ^ ".join(f"(unsigned long long)a[{i}] << {7 * i}" for i in range(5))
        last = " + ".join(f"3 * {self.value('unsigned long long')}" for _ in range(2))
        return (f"FUNCTION long long {name}(int i, const long long *s, long long r)\n{{\n"
                f"    int a[5] = {{i, 1, 2, 3, 4}};\n    short b[3][4] = {{{{1, 2}}, {{3}}}};\n    {body}\n"
                f"    return (long long)(({sum_up}) + {last});\n}}\n")


class Block:
    """What the threads of a block do together, as steps: each is CUDA C, and C over arrays of all threads.

    A thread has a value r; shared memory s has one of each. What is put into s is behind a barrier before anybody
    reads it. Threads may leave in between, in CUDA by `return`, but where warps shuffle.
    """

    def __init__(self, name, warps):
        self.name, self.warps = name, warps
        self.parts = []  # texts of functions
        self.steps = self.make(4, 0)

    def part(self, statements):
        name = f"{self.name}_{len(self.parts)}"
        self.parts.append(Function().text(name, statements))
        return name

    def make(self, n, depth):
        steps = [("put",)] if not depth else []
        for _ in range(n):
            kind = random.choice(["compute", "put", "loop", "when"] + (["shuffle"] * 2 if self.warps else ["leave"]))
            if kind in ("loop", "when") and depth < 2:
                steps.append((kind, random.randrange(1, 4), self.make(2, depth + 1)))
            elif kind == "leave":
                steps.append((kind, self.part(1), random.randrange(3, 8)))
            elif kind == "shuffle":
                steps.append((kind, random.choice(["up", "down", "xor", "at"]), random.randrange(0, 32),
                              random.choice([4, 16, 32])))
            else:
                steps.append(("compute", self.part(2)) if kind == "compute" else ("put",))
        return steps

    def cuda(self, steps, leaves, indent=1):
        tab, out = "    " * indent, []
        for step in steps:
            if step[0] == "compute":
                out.append(f"r = {step[1]}(i, s, r);")
            elif step[0] == "put":
                out.append("__syncthreads();\n" + tab + "s[t] = r;\n" + tab + "__syncthreads();")
            elif step[0] == "leave":
                out.append(f"if ({step[1]}(i, s, r) % {step[2]} == 0)\n{tab}    {leaves}")
            elif step[0] == "shuffle":
                name = {"at": "__shfl_sync", "xor": "__shfl_xor_sync"}.get(step[1], f"__shfl_{step[1]}_sync")
                out.append(f"r = (long long)(r + 5ull * {name}(0xffffffffu, r, {step[2]}, {step[3]}));")
            else:
                inner = self.cuda(step[2], leaves, indent + 1)
                head = f"for (int n{indent} = 0; n{indent} < {step[1]}; n{indent}++)" if step[0] == "loop" else \
                    f"if (blockIdx.x % 4 != {step[1]})"
                out.append(f"{head} {{\n{inner}{tab}}}")
        return "".join(tab + line + "\n" for line in out)

    def c(self, steps, indent=1):
        tab, out = "    " * indent, []
        each = f"for (int t = 0; t < {THREADS}; t++)\n{tab}    if (!gone[t])\n{tab}        "
        for step in steps:
            if step[0] == "compute":
                out.append(each + f"r[t] = {step[1]}(t - 40, s, r[t]);")
            elif step[0] == "put":
                out.append(each + "s[t] = r[t];")
            elif step[0] == "leave":
                out.append(each + f"gone[t] = {step[1]}(t - 40, s, r[t]) % {step[2]} == 0;")
            elif step[0] == "shuffle":
                out.append(f"shuffled(r, '{step[1][0]}', {step[2]}, {step[3]});")
            else:
                inner = self.c(step[2], indent + 1)
                head = f"for (int n{indent} = 0; n{indent} < {step[1]}; n{indent}++)" if step[0] == "loop" else \
                    f"if (block % 4 != {step[1]})"
                out.append(f"{head} {{\n{inner}{tab}}}")
        return "".join(tab + line + "\n" for line in out)

    def cuda_function(self):
        return (f"FUNCTION long long {self.name}(int t, long long *s)\n{{\n    int i = t - 40;\n"
                f"    long long r = i;\n{self.cuda(self.steps, 'return r;')}    return r;\n}}\n")

    def cuda_kernel(self):
        """It returns out of the kernel itself."""
        return (f"__global__ void {self.name}_kernel(long long *out)\n{{\n    __shared__ long long s[{THREADS}];\n"
                f"    int t = threadIdx.x, i = t - 40;\n    long long r = i;\n    s[t] = t;\n    __syncthreads();\n"
                f"    out[t] = -1;\n{self.cuda(self.steps, 'return;')}    out[t] = r;\n}}\n")

    def c_function(self, leaves_result):
        """leaves_result: those that leave have their value; else -1."""
        return (f"static void {self.name}{'' if leaves_result else '_kernel'}(int block, long long *r)\n{{\n"
                f"    long long s[{THREADS}];\n    char gone[{THREADS}] = {{0}};\n"
                f"    for (int t = 0; t < {THREADS}; t++) {{\n        s[t] = t;\n        r[t] = t - 40;\n    }}\n"
                f"{self.c(self.steps)}" +
                ("" if leaves_result else f"    for (int t = 0; t < {THREADS}; t++)\n        if (gone[t])\n"
                 "            r[t] = -1;\n") + "}\n")


SHUFFLED = """
static void shuffled(long long *r, char how, int by, int width)
{
    long long old[96];
    memcpy(old, r, sizeof old);
    for (int t = 0; t < 96; t++) {
        int own = t % 32, first = own / width * width, from = own;
        if (how == 'a') from = first + by % width;
        if (how == 'u' && own - by >= first) from = own - by;
        if (how == 'd' && own + by < first + width) from = own + by;
        if (how == 'x' && (own ^ by) < first + width) from = own ^ by;
        r[t] += 5 * old[t - own + from];
    }
}
"""
