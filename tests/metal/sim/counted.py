"""Adds counters to the code of kernels, for METALSIM_COUNTS and METALSIM_RACES: a call before each load and store, and one in each block with the
FLOPs and arithmetic instructions of that block. It works on the optimized LLVM assembly that clang writes, as text."""
import re

# Functions of the kernel are inlined, as Metal's compiler does. Loops are unrolled only where the source says so.
OPTIONS = ["-DSIM_COUNTED", "-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-S", "-emit-llvm"]
BITS = {"half": 16, "float": 32, "double": 64, "ptr": 64}
ACCESS = re.compile(r"^  (?:%[\w.]+ = load (?:volatile )?([^,]+)|store (?:volatile )?(.+?) \S+), ptr (\S+?),")
FLOAT = re.compile(r"= f(add|sub|mul|div)\b[\w ]* (<\d+ x )?(?:half|float)\b")
FMA = re.compile(r"= (?:tail )?call [\w ]*(?:<(\d+) x )?\w+>? @llvm\.(fma|fmuladd|sqrt|maxnum|minnum)\.")
INTEGER = re.compile(r"= (?:add|sub|mul|s?div|udiv|urem|srem|and|or|xor|shl|lshr|ashr|icmp|fcmp|select)\b")


def width(kind):
    found = re.fullmatch(r"<(\d+) x (\w+)>", kind.strip())
    if found:
        return int(found[1]) * width(found[2])
    kind = kind.strip()
    bits = BITS.get(kind) or (int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 0)
    return (bits + 7) // 8


def work(line):
    """FLOPs and instructions of a line."""
    found = FLOAT.search(line)
    if found:
        lanes = int(re.search(r"\d+", found[2])[0]) if found[2] else 1
        return lanes, lanes
    found = FMA.search(line)
    if found:
        lanes = int(found[1] or 1)
        return lanes * (2 if found[2] in ("fma", "fmuladd") else 1), lanes
    return 0, 1 if INTEGER.search(line) else 0


def block(lines, ours, atomic):
    """A basic block with its counters. In functions of our library for Metal, only floating-point instructions count: the
    rest is the simulator's way to do what a GPU does in one instruction."""
    flops = sum(work(line)[0] for line in lines)
    instructions = sum(work(line)[1] for line in lines if not ours or work(line)[0])
    out, counted = [], not instructions
    for line in lines:
        if not counted and line.startswith("  ") and " = phi " not in line and "landingpad" not in line:
            out.append(f"  call void @sim_count_work(i32 {flops}, i32 {instructions})")
            counted = True
        found = ACCESS.match(line)
        if found and width(found[1] or found[2]):
            out.append(f"  call void @sim_access(ptr {found[3]}, i32 {width(found[1] or found[2])}, "
                       f"i32 {(1 if found[2] else 0) + (2 if atomic else 0)})")
        out.append(line)
    return out


def count(text):
    """The assembly with counters."""
    out, lines, inside, ours, atomic = [], [], False, False, False
    for line in text.split("\n"):
        if line.startswith("define "):
            inside, ours = True, "@_ZN5metal" in line or "@_ZNK5metal" in line or "@_ZL5metal" in line
            atomic = ours and re.search(r"@_ZN5metalL?\d+atomic_", line)
            out.append(line)
        elif inside and line == "}":
            out += block(lines, ours, atomic) + [line]
            lines, inside = [], False
        elif inside and re.match(r"[\w.]+:", line):
            out += block(lines, ours, atomic) + [line]
            lines = []
        elif inside:
            lines.append(line)
        else:
            out.append(line)
    return "\n".join([*out, "declare void @sim_count_work(i32, i32)", "declare void @sim_access(ptr, i32, i32)", ""])
