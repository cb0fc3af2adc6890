#!/usr/bin/env python3
"""Compiles kernels that others wrote for the simulator: any source in Metal's language, with macros, templates and includes.

    foreign.py --cache DIR HASH...        the sources DIR/HASH.metal

It takes the place of msl.py where METALSIM_COMPILER names it. A source is compiled as C++ with foreign.h, so that what it
computes is checked, and not how it uses the language. Includes are looked for in the folders of METALSIM_INCLUDE (with
colons between them). A line "// constant N = VALUE" gives a function constant its value, and "// instance NAME = f<float>" a
kernel an instance. Without such lines it has those of the source.
"""
import os
import platform
import re
import subprocess
import sys
import tempfile

import counted
import msl

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = ["atomic", "common", "compute", "geometric", "integer", "limits", "math", "matrix", "numeric", "pack", "relational", "simdgroup",
           "simdgroup_matrix", "stdlib", "types", "type_traits", "uniform"]
OPTIONS = ["-x", "c++", "-std=c++17", "-w", "-fPIC", "-nostdinc", "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fsigned-char",
           "-ffp-contract=fast", "-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", *(["-mfma"] if platform.machine() == "x86_64" else [])]
DEFINES = ["-D__METAL__=1", "-D__METAL_MACOS__=1", "-D__METAL_VERSION__=310", "-D__HAVE_BFLOAT__=1"]
INSTANCE = re.compile(r"\btemplate\s*\[\[\s*host_name\s*\(([^)]*)\)\s*\]\]([^;]*);")
CONSTANT = re.compile(r"\bconstant\s+(\w+)\s+(\w+)\s*\[\[\s*function_constant\s*\(([\d+ ]+)\)\s*\]\]\s*;")
SHARED = re.compile(r"(?<=[;{}])(\s*)threadgroup\s+([\w:]+(?:<[^;=]*?>)?)\s+(\w+)\s*((?:\[[^;]*?\])*)\s*(?:=\s*\{0\}\s*)?;")
KERNEL = re.compile(r"(?:\bkernel|\[\[\s*kernel\b[^\]]*\]\])\s+void\s+(\w+)\s*\(")
HALF = re.compile(r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)h\b")
FLOAT = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])")  # there is no double


def preprocess(clang, source):
    with tempfile.TemporaryDirectory() as folder:
        for name in HEADERS:
            with open(os.path.join(folder, "metal_" + name), "w", encoding="utf-8"):
                pass
        includes = [word for place in [*os.environ.get("METALSIM_INCLUDE", "").split(":"), folder] if place for word in ("-I", place)]
        done = subprocess.run([clang, "-E", "-P", "-x", "c++", "-std=c++17", "-nostdinc", *DEFINES, *includes, "-"], input=source,
                              capture_output=True, text=True, check=False)
    if done.returncode:
        raise msl.Wrong(done.stderr)
    return done.stdout


def instances(text):
    """Host names and expressions of the instances that the source has. The declarator is the last name with arguments."""
    found = {}
    for name, declaration in INSTANCE.findall(text):
        ends = [m for m in re.finditer(r"\b(\w+)\s*<", declaration) if m[1] not in ("decltype", "vec")]
        for m in reversed(ends):
            end = closing(declaration, m.end() - 1)
            rest = declaration[end + 1:].strip()
            if not rest or rest.startswith("("):
                found["".join(re.findall(r'"([^"]*)"', name))] = declaration[m.start():end + 1]
                break
    return found


def closing(text, at):
    """The place of the '>' that closes the '<' at a place."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise msl.Wrong("a '<' is not closed")


def shared(found):
    blank, kind, name, dims = found.groups()
    return (f"{blank}typedef {kind} sim_{name}{dims}; static char site_{name}; sim_{name} &{name} = "
            f"*(sim_{name} *)sim_shared(&site_{name}, sizeof(sim_{name}), alignof(sim_{name}));")


class Arguments:
    """The parameters of a kernel: rows for the simulator, and the values that it passes. An argument whose function constant
    is false is not bound. A buffer without an index has the next one."""

    def __init__(self, name, text, constants):
        self.rows, self.values = [], []
        following = 0
        for p in msl.split_parameters(text):
            attribute = " ".join(re.findall(r"\[\[(.*?)\]\]", p, re.S))
            explicit = re.search(r"\b(buffer|threadgroup)\s*\(\s*(\d+)\s*\)", attribute)
            optional = re.search(r"function_constant\s*\(\s*(\w+)\s*\)", attribute)
            place = explicit[1] if explicit else "buffer"
            given = [i for i, known in enumerate(msl.INPUTS) if re.search(rf"\b{known}\b", attribute)]
            if given:
                self.values.append(f"sim_position{{a->in[{given[0]}]}}")
                continue
            if attribute and not explicit and not optional:
                raise msl.Wrong(f"kernel {name}: [[{attribute}]] is not known")
            index = int(explicit[2]) if explicit else following
            following = max(following, index + 1) if place == "buffer" else following
            space = "t" if place == "threadgroup" else "c" if re.search(r"\bconstant\b", p) else "d" if re.search(r"\bconst\b", p) else "w"
            if not optional or constants.get(optional[1], "0") not in ("0", "false"):
                self.rows.append(f"{space} {index}")
            self.values.append(f"sim_memory{{a->{'shared' if place == 'threadgroup' else 'buffer'}[{index}]}}")


def translate(clang, name, source):
    """C++ for the source; and the rows of its kernels."""
    given = dict(re.findall(r"^// constant (\d+) = (\S+)$", source, re.M))
    wanted = dict(re.findall(r"^// instance (\S+) = (.+)$", source, re.M))
    text = preprocess(clang, source)
    everything = not wanted
    if everything:
        wanted = instances(text)
    text = INSTANCE.sub("", text)
    constants = {constant: given.get(str(sum(map(int, index.split("+")))), "0") for _, constant, index in CONSTANT.findall(text)}
    text = CONSTANT.sub(lambda m: f"static constexpr {m[1]} {m[2]} = {constants[m[2]]};", text)
    text = re.sub(r"\bis_function_constant_defined\s*\(\s*(\w+)\s*\)", "true", text)
    kernels = {}
    for found in KERNEL.finditer(text):
        end = msl.closing(text, found.end() - 1)
        kernels[found[1]] = Arguments(found[1], text[found.end():end], constants)
        if everything and not re.search(r"\btemplate\s*<[^;{}]*$", text[:found.start()]):
            wanted.setdefault(found[1], found[1])
    text = re.sub(r"^\s*#pragma.*|\[\[[^\]]*\]\]", "", text, flags=re.M)
    text = HALF.sub(r"((half)\1f)", FLOAT.sub(r"\1f", SHARED.sub(shared, text)))
    rows, thunks = [], []
    for host, expression in wanted.items():
        base = re.match(r"\w+", expression)[0]
        if base not in kernels:
            raise msl.Wrong(f"there is no kernel {base}")
        symbol, arguments = f"k{name}_{len(rows)}", kernels[base]
        rows.append((host, symbol, " ".join(arguments.rows)))
        thunks.append(f'extern "C" void {symbol}(const sim_arguments *a) {{ {expression}({", ".join(arguments.values)}); }}\n'
                      f'extern "C" const ulong {symbol}_bytes[] = {{{", ".join("1" for _ in range(32))}}}, {symbol}_memory[] = {{0, 0}};\n')
    if not rows:
        raise msl.Wrong("there is no kernel")
    return f'#include "foreign.h"\n{text}\n#undef kernel\n' + "".join(thunks), rows


def build(clang, cache, name):
    """Returns an error or None."""
    path = os.path.join(cache, name)
    text, rows = translate(clang, name, msl.read_source(cache, name))
    with open(path + ".cpp", "w", encoding="utf-8") as file:
        file.write(text)
    options, source = OPTIONS, path + ".cpp"
    if os.environ.get("METALSIM_RACES"):
        done = subprocess.run([clang, *options, "-S", "-emit-llvm", "-I", HERE, "-o", path + ".ll", source], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr
        with open(path + ".ll", encoding="utf-8") as file:
            assembly = counted.count(file.read())
        options, source = ["-fPIC", "-O1", "-Wno-override-module"], path + ".counted.ll"
        with open(source, "w", encoding="utf-8") as file:
            file.write(assembly)
    done = subprocess.run([clang, *options, "-shared", "-nostdlib++", "-I", HERE, "-o", path + ".so", source, "-lm"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return done.stderr
    with open(path + ".part", "w", encoding="utf-8") as file:
        for host, symbol, parameters in rows:
            print(host, name + ".so", symbol, parameters, file=file)
    os.rename(path + ".part", path + ".kernels")
    return None


def main():
    clang = msl.find_clang()
    for name in sys.argv[3:]:
        try:
            said = build(clang, sys.argv[2], name)
        except msl.Wrong as wrong:
            said = str(wrong)
        if said:
            print(said[:6000], file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
