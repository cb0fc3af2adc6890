#!/usr/bin/env python3
"""Compiles sources in Metal's shading language for the simulator, and checks them strictly.

    msl.py --cache DIR HASH...            the sources DIR/HASH.metal, one by one
    msl.py --cache DIR --all [--jobs N]   all that are not compiled yet, together

The sources must be in the plain form that our printer writes. A source is compiled as C++ for OpenCL (msl.h), in a
namespace of its own, with warnings as errors. clang checks types and address spaces; `lint` checks what clang's
dialect allows and Metal does not. Each kernel gets a function that takes the arguments of the simulator.
"""
import argparse
import concurrent.futures
import functools
import os
import platform
import re
import shutil
import subprocess
import sys

import counted

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.environ.get("METALSIM_HOME") or HERE
OPTIONS = ["-x", "clcpp", "-cl-std=CLC++1.0", "-Xclang", "-cl-ext=+cl_khr_fp16,-cl_khr_fp64", "-cl-no-stdinc",
           "-cl-single-precision-constant", "-fsigned-char", "-fwrapv", "-Werror", "-Wall",
           "-Wno-unknown-attributes", "-Wno-sign-compare", "-Wno-unused", "-Wno-tautological-compare", "-Wno-invalid-constexpr", "-fPIC", "-shared",
           "-fno-color-diagnostics"]
# A source with one of these lines rounds each operation. Without them Metal's compiler contracts a * b + c to an fma, across
# statements and inlined functions, with fast math or without it.
PRAGMAS = ["#pragma METAL fp contract(off)", "#pragma clang fp contract(off)"]
DIRECTIVES = ["#include <metal_stdlib>", "#include <metal_simdgroup_matrix>", *PRAGMAS]
ROUNDED = ["-O0", "-ffp-contract=off"]
CONTRACTED = ["-O2", "-ffp-contract=fast", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"]
if platform.machine() == "aarch64":  # the selector of instructions that compiles fastest
    ROUNDED += ["-mllvm", "-aarch64-enable-global-isel-at-O=-1"]
else:
    CONTRACTED += ["-mfma"]
BATCH = 300  # sources that are compiled together

INPUTS = ["thread_position_in_grid", "threadgroup_position_in_grid", "thread_position_in_threadgroup",
          "threads_per_threadgroup", "threads_per_grid", "threadgroups_per_grid", "thread_index_in_threadgroup",
          "thread_index_in_simdgroup", "simdgroup_index_in_threadgroup", "simdgroups_per_threadgroup",
          "threads_per_simdgroup"]
SCALARS = INPUTS[6:]
# Words of OpenCL that Metal does not have.
FOREIGN = re.compile(r"\b(local|global|private|generic|uniform|pipe|kernel_exec)\b")
VECTOR = re.compile(r"\b((?:u?(?:char|short|int|long)|half|float)[234])\(")
KERNEL = re.compile(r"^kernel void (\w+)\(", re.M)
FUNCTION = re.compile(r"(?:template <[^>]*>\s+)?static [\w ]+?[ *](\w+)\(")
SHARED = re.compile(r"^( +)((?:alignas\(\d+\) )?)threadgroup ([\w ]+?) (\w+)((?:\[[^\]]*\])*);$", re.M)
OWN = re.compile(r"^ +(\w+(?:<[\w, ]+>)?) \w+((?:\[\d+\])+);$", re.M)  # an array of each thread
NAMES = r"(?:bool|(?:u?(?:char|short|int|long)|half|float)[234]?|struct \w+)"
POINTER = re.compile(rf"((?:\b\w+ )*?)\b(?:const )?{NAMES}(?: const)? \*")
SPACES = {"device", "constant", "threadgroup", "thread"}
# What the dialect of clang accepts and Metal has not.
FORBIDDEN = [(r"\bdouble\b", "there is no double"), (r"\bgoto\b", "there is no goto"), (r"\bnew\b", "there is no new"),
             (r"\bvirtual\b", "there are no virtual functions"), (r"\btry\b|\bthrow\b", "there are no exceptions"),
             (r"\b__\w+", "names with __ are reserved"),
             (r"\batomic_(?:ulong|long|float)\b", "32-bit integer atomics only"),
             (r"\b(?:printf|malloc|assert)\b *\(", "there is no C library"), (r"\[&\]|\[=\]", "there are no lambdas"),
             (r"\blong long\b", "there is no long long")]
ANY_FORBIDDEN = re.compile("|".join(pattern for pattern, _ in FORBIDDEN))
PARENTHESIS = re.compile(r"[()]")
BRACKET = re.compile(r"[(\[<)\]>,]")


def find_clang():
    if os.environ.get("METALSIM_CLANG"):
        return os.environ["METALSIM_CLANG"]
    for name in ["clang-19", "clang-20", "clang-21", "clang"]:
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            version = re.search(r"version (\d+)", said)
            if version and int(version[1]) >= 16:
                return name
    return None


class Wrong(Exception):
    """A source that Metal would refuse."""


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def lint(text):
    for line in re.findall(r"^#.*", text, re.M):
        if line not in DIRECTIVES:
            raise Wrong(f"a directive that the printer does not write: {line}")
    if "simdgroup_matrix<" in text and "#include <metal_simdgroup_matrix>" not in text:
        raise Wrong("simdgroup matrices need #include <metal_simdgroup_matrix>")
    for pattern, why in FORBIDDEN if ANY_FORBIDDEN.search(text) else []:
        found = re.search(pattern, text)
        if found:
            raise Wrong(f"line {text[:found.start()].count(chr(10)) + 1}: '{found[0]}': {why}")
    for found in POINTER.finditer(text):
        if not SPACES & set(found[1].split()):
            raise Wrong(f"line {text[:found.start()].count(chr(10)) + 1}: a pointer without an address space: "
                        f"'{found[0]}'")


def is_contracted(source):
    """A pragma counts if it is before all functions. With METALSIM_CONTRACT the compiler does not know the pragmas."""
    head = re.split(r"^(?:static|kernel|template)\b", source, maxsplit=1, flags=re.M)[0].splitlines()
    return bool(os.environ.get("METALSIM_CONTRACT")) or not any(line in head for line in PRAGMAS)


def closing(text, at):
    depth = 0
    for found in PARENTHESIS.finditer(text, at):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    raise Wrong("a parenthesis is not closed")


def split_parameters(text):
    out, depth, start = [], 0, 0
    for found in BRACKET.finditer(text):
        depth += {"(": 1, "[": 1, "<": 1, ",": 0}.get(found[0], -1)
        if found[0] == "," and depth == 0:
            out.append(text[start:found.start()])
            start = found.end()
    return [p.strip() for p in [*out, text[start:]] if p.strip()]


class Parameter:
    """A parameter of a kernel: its address space and index, or the position that it receives."""

    def __init__(self, text, kernel):
        found = re.fullmatch(r"(.*?)([*&]?)(\w+) \[\[(\w+)(?:\((\d+)\))?\]\]", " ".join(text.split()))
        if not found:
            raise Wrong(f"kernel {kernel}: cannot read parameter '{text}'")
        self.type, self.indirect, _, self.attribute, index = found.groups()
        self.type = self.type.strip()
        self.index = int(index) if index is not None else None
        words = self.type.split()
        if self.attribute in ("buffer", "threadgroup"):
            space = words[0] if words[0] != "const" else words[1]
            allowed = {"device", "constant"} if self.attribute == "buffer" else {"threadgroup"}
            if space not in allowed or not self.indirect:
                raise Wrong(f"kernel {kernel}: '{text}' must be a pointer or reference to {' or '.join(allowed)} memory")
            if self.index > 30:
                raise Wrong(f"kernel {kernel}: index {self.index}; the last is 30")
            writes = space == "device" and "const" not in words
            self.kind = "w" if writes else space[0] if self.attribute == "buffer" else "t"
            self.pointed = " ".join(w for w in words if w not in (space, "const"))
        elif self.attribute not in INPUTS:
            raise Wrong(f"kernel {kernel}: there is no attribute [[{self.attribute}]]")
        elif not re.fullmatch(r"u(?:int|short)" + ("" if self.attribute in SCALARS else "[23]?"), self.type):
            raise Wrong(f"kernel {kernel}: [[{self.attribute}]] cannot be '{self.type}'")

    def value(self):
        if self.attribute in ("buffer", "threadgroup"):
            place = "buffer" if self.attribute == "buffer" else "shared"
            pointer = f"({self.type} *)(ulong)a->{place}[{self.index}]"
            return f"*{pointer}" if self.indirect == "&" else pointer
        parts = "xyz"[:int(self.type[-1])] if self.type[-1] in "23" else "x"
        base = self.type.rstrip("23")
        items = ", ".join(f"({base})a->in[{INPUTS.index(self.attribute)}].{c}" for c in parts)
        return f"make_{self.type}({items})" if len(parts) > 1 else items


@functools.lru_cache(None)
def parameter(text, kernel):
    return Parameter(text, kernel)


def shared_variables(text):
    """Threadgroup variables become references to memory of the simulator."""
    def one(found):
        blank, align, kind, name, dims = found.groups()
        return (f"{blank}typedef {align}{kind} sim_type_{name}{dims}; static device char site_{name}; threadgroup sim_type_{name} &{name} = "
                f"*(threadgroup sim_type_{name} *)(ulong)sim_shared((const void *)&site_{name}, sizeof(sim_type_{name}), alignof(sim_type_{name}));")
    return SHARED.sub(one, text)


def structs_in_device_memory(text):
    """C++ for OpenCL cannot copy a struct from constant memory, as Metal can: such a parameter is in device memory."""
    structs = set(re.findall(r"^struct (\w+) \{", text, re.M))
    return re.sub(r"\bconstant (\w+) &(?=\w+ \[\[buffer)", lambda m: f"device const {m[1]} &" if m[1] in structs else m[0], text)


def memory_sizes(body):
    """Bytes of the threadgroup variables of a kernel, and of the arrays that each of its threads has, as expressions."""
    shared, own = "0ul", "0ul"
    for _, align, kind, _, dims in SHARED.findall(body):
        aligned = re.search(r"\d+", align)[0] if align else f"alignof({kind})"
        shared = f"metal::sim_place({shared}, sizeof({kind}{dims}), {aligned})"
    for kind, dims in OWN.findall(body):
        own += f" + sizeof({kind}{dims})"
    return shared, own


def entries(name, text):
    """A function for each kernel of the source, as text; and the rows of its kernels."""
    rows, functions = [], []
    for found in KERNEL.finditer(text):
        end = closing(text, found.end() - 1)
        parameters = [parameter(p, found[1]) for p in split_parameters(text[found.end():end])]
        used = [(p.attribute, p.index) for p in parameters if p.index is not None]
        if len(set(used)) != len(used):
            raise Wrong(f"kernel {found[1]}: an index is used twice")
        widths = {p.type[-1] for p in parameters if p.attribute in INPUTS and p.attribute not in SCALARS}
        if len(widths) > 1:
            raise Wrong(f"kernel {found[1]}: positions and sizes have different numbers of components")
        memory = [p for p in parameters if p.index is not None]
        symbol = f"k{name}_{len(rows)}"
        rows.append((found[1], symbol, " ".join(f"{p.kind} {p.index}" for p in memory)))
        sizes = ", ".join("1" if p.pointed == "void" else f"sizeof({p.pointed})" for p in memory) or "0"
        stop = text.find("\n}\n", end)
        shared, own = memory_sizes(text[end:stop if stop >= 0 else len(text)])
        functions.append(
            f'extern "C" __attribute__((visibility("default"))) constant ulong {symbol}_bytes[] = {{{sizes}}};\n'
            f'extern "C" __attribute__((visibility("default"))) constant ulong {symbol}_memory[] = {{{shared}, {own}}};\n'
            f'extern "C" void {symbol}(const thread sim_arguments *a) {{ {found[1]}({", ".join(p.value() for p in parameters)}); }}\n')
    if not rows:
        raise Wrong("there is no kernel")
    return "".join(functions), rows


def for_clang(text):
    body = re.sub(r"^#.*", "", text, flags=re.M)
    body = KERNEL.sub(r"static void \1(", shared_variables(body))
    return FOREIGN.sub(r"\1_", VECTOR.sub(r"make_\1(", body))


def translate(name, source):
    """The source in a namespace, with a function for each kernel; and the rows of its kernels."""
    text = without_comments(source)
    lint(text)
    text = structs_in_device_memory(text)
    functions, rows = entries(name, text)
    return f"namespace n{name} {{\n# 1 \"{name}.metal\"\n{for_clang(text)}\n# 1 \"thunks\"\n{functions}}}\n", rows


class Part:
    """A declaration of a source: what it declares, which names it uses, and its text for clang."""

    def __init__(self, text):
        lint(text if "simdgroup_matrix<" not in text else "#include <metal_simdgroup_matrix>\n" + text)
        found = FUNCTION.match(text.lstrip())
        self.function = found[1] if found and "threadgroup_barrier" not in text else None
        self.structs = re.findall(r"\bstruct (\w+) \{", text)
        self.words = frozenset(re.findall(r"[A-Za-z_]\w*", text)) if self.function else frozenset()
        self.clang = for_clang(text)


class Together:
    """Many sources as one. Most of their functions are the same, and such a function is compiled once: in a namespace that
    all of them use. A source has functions of its own if one of the same name is another there."""

    def __init__(self):
        self.shared, self.text, self.own, self.rows = {}, [], [], {}
        self.part = functools.lru_cache(None)(Part)

    def add(self, name, source):
        text = without_comments(source) if "/*" in source or "//" in source else source
        if "simdgroup_matrix<" in text and "#include <metal_simdgroup_matrix>" not in text:
            lint(text)
        text = structs_in_device_memory(text)
        parts = [self.part(p) for p in text.split("\n\n") if p.strip()]
        functions, self.rows[name] = entries(name, text)
        seen = [p.function for p in parts]
        own = {f for f in seen if f and seen.count(f) > 1}  # overloads
        for p in parts:
            own.update(p.structs)
            if p.function and (p.words & own or self.shared.get(p.function, p) is not p):
                own.add(p.function)
        mine = []
        for p in parts:
            if not p.function or p.function in own:
                mine.append(p.clang)
            elif p.function not in self.shared:
                self.shared[p.function] = p
                self.text.append(p.clang)
        self.own.append(f"namespace n{name} {{\nusing namespace shared;\n" + "\n".join(mine) + "\n" + functions + "}\n")

    def all(self):
        return "\n".join(["namespace shared {\nusing namespace metal;", *self.text, "}", *self.own])


def compile_only(clang, text):
    """What clang says against a translated source; empty if it is fine."""
    options = [o for o in OPTIONS if o != "-shared"]
    done = subprocess.run([clang, *options, "-fsyntax-only", "-I", HOME, "-"], input='#include "msl.h"\n' + text,
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def add_counters(clang, source):
    """Compiles the source with counters. Returns what is left to do: options, and a file of LLVM assembly."""
    options = [o for o in OPTIONS if o != "-shared"]
    subprocess.run([clang, *options, "-ffp-contract=off", *counted.OPTIONS, "-I", HOME, "-o", source + ".ll", source], check=True)
    os.remove(source)
    with open(source + ".ll", encoding="utf-8") as file:
        text = counted.count(file.read())
    with open(source + ".ll", "w", encoding="utf-8") as file:
        file.write(text)
    return ["-fPIC", "-shared", "-O1", "-Wno-override-module"], source + ".ll"


def read_source(cache, name):
    with open(os.path.join(cache, name + ".metal"), encoding="utf-8") as file:
        return file.read()


def build(clang, cache, names, library):
    """Compiles sources into one library: all of them contracted, or none. Returns what clang said, or None."""
    together = Together()
    for name in names:
        source = read_source(cache, name)
        if len(names) > 1:
            together.add(name, source)
        else:
            text, together.rows[name] = translate(name, source)
    path = os.path.join(cache, library)
    part = f"{path}.{os.getpid()}"
    with open(part + ".clcpp", "w", encoding="utf-8") as file:
        file.write('#include "msl.h"\n' + (together.all() if len(names) > 1 else text))
    options, source = [*OPTIONS, *(CONTRACTED if is_contracted(read_source(cache, names[0])) else ROUNDED)], part + ".clcpp"
    if os.environ.get("METALSIM_COUNTS") or os.environ.get("METALSIM_RACES"):
        options, source = add_counters(clang, source)
    done = subprocess.run([clang, *options, "-I", HOME, "-o", part, source], capture_output=True, text=True,
                          check=False)
    os.remove(source)
    if done.returncode:
        return done.stderr
    os.rename(part, path)
    for name in names:
        target = os.path.join(cache, name + ".kernels")
        with open(f"{target}.{os.getpid()}", "w", encoding="utf-8") as file:
            for kernel, symbol, parameters in together.rows[name]:
                print(kernel, library, symbol, parameters, file=file)
        os.rename(f"{target}.{os.getpid()}", target)
    return None


def build_one(clang, cache, name):
    """Returns an error or None. A source with an error is not kept: `--all` of a later run would find it again."""
    try:
        error = build(clang, cache, [name], name + ".so")
    except Wrong as wrong:
        error = f"{name}.metal: error: {wrong}"
    if error:
        os.remove(os.path.join(cache, name + ".metal"))
    return error


def build_batch(clang, cache, names):
    """Compiles all together; if that fails, one by one, so that each error has its source."""
    try:
        if build(clang, cache, names, f"b{names[0]}.so") is None:
            return []
    except Wrong:
        pass
    said = [build_one(clang, cache, name) for name in names]
    return [s for s in said if s]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    clang = find_clang()
    if not clang:
        print("msl.py: clang 16 or newer is needed", file=sys.stderr)
        return 2
    names = options.names
    if options.all:
        have = {f.split(".")[0] for f in os.listdir(options.cache) if f.endswith(".kernels")}
        names = sorted(f.split(".")[0] for f in os.listdir(options.cache) if f.endswith(".metal"))
        names = [n for n in names if n not in have]
    errors = []
    if options.all and names:
        size = max(1, min(BATCH, -(-len(names) // max(1, options.jobs))))
        kinds = {n: is_contracted(read_source(options.cache, n)) for n in names}
        alike = [[n for n in names if kinds[n] == kind] for kind in (False, True)]
        batches = [part[i:i + size] for part in alike for i in range(0, len(part), size)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for said in pool.map(lambda b: build_batch(clang, options.cache, b), batches):
                errors += said
    else:
        errors = [e for e in (build_one(clang, options.cache, n) for n in names) if e]
    for e in errors[:20]:
        print(e, file=sys.stderr)
    if len(errors) > 20:
        print(f"and {len(errors) - 20} more", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
