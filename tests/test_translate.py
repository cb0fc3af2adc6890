#!/usr/bin/env python3
"""Every kernel of tests/kernels through ingot translate: what comes out is what compilers accept.

OpenCL C by clang for 1.2 and 3.0; Metal by clang as C++ for OpenCL, with our own declarations of Metal's
library (tests/metal), which has the same rules for address spaces; CUDA C by ourselves, where translating
what was translated changes nothing. Planted mistakes show that the check of Metal is one.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from support.tally import check, finish, skip

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "metal", "sim"))
import msl  # noqa: E402  pylint: disable=wrong-import-position
INGOT = os.environ.get("INGOT", "build/ingot")
SOURCES = {"basics.cu": [None, "smooth<float, 2>", "smooth<int, 3>"], "operations.cu": [None], "warps.cu": [None],
           "wmma.cu": [None], "classes.cu": [None], "shared_parts.cu": [None]}
REFUSED = {("warps.cu", "opencl"): "IG-WARP", ("wmma.cu", "cuda"): "IG-CUDA"}  # others must all be there
OPENCL = ["-x", "cl", "-target", "spir64", "-fsyntax-only", "-Xclang", "-finclude-default-header", "-Werror",
          "-Wall", "-Wno-sign-compare", "-Wno-unused", "-Wno-unknown-pragmas"]
METAL = ["-x", "clcpp", "-cl-std=CLC++1.0", "-Xclang", "-cl-ext=+cl_khr_fp16,-cl_khr_fp64", "-cl-no-stdinc",
         "-cl-single-precision-constant", "-fsigned-char", "-fsyntax-only", "-Werror", "-Wall",
         "-Wno-unknown-attributes", "-Wno-sign-compare", "-Wno-unused", "-I" + os.path.join(ROOT, "tests", "metal")]
# Words of OpenCL that are none of Metal's.
FOREIGN = re.compile(r"\b(local|global|private|generic|uniform|pipe)\b")
VECTOR = re.compile(r"\b((?:u?(?:char|short|int|long)|half|float)[24])\(")


def translate(path, to, kernel=None):
    command = [INGOT, "translate", "--json", "--to", to, path, *(["--kernel", kernel] if kernel else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["kernels"] if done.returncode in (0, 4) else done.stderr


def compiles(compiler, options, text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([compiler, *options, file.name], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def metal_compiler():
    for name in ["clang-19", "clang-20", "clang-21", "clang"]:
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            version = re.search(r"version (\d+)", said)
            if version and int(version[1]) >= 16:
                return name
    return None


def check_opencl(name, text):
    if not shutil.which("clang"):
        skip(name, "no clang")
        return
    for standard in ["CL1.2", "CL3.0"]:
        fine, said = compiles("clang", [*OPENCL, "-cl-std=" + standard], text)
        check(f"{name} as {standard}", fine, said)


def for_clang(text):
    """Metal's text with the words that clang's C++ for OpenCL needs."""
    return FOREIGN.sub(r"\1_", VECTOR.sub(r"make_\1(", msl.structs_in_device_memory(text)))


def check_metal(name, text, compiler):
    if compiler:
        fine, said = compiles(compiler, METAL, for_clang(text))
        check(name, fine, said)
    else:
        skip(name, "clang 16 or newer is needed")


def check_cuda(name, text, entry):
    with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
        file.write(text)
        file.flush()
        again = translate(file.name, "cuda", entry)
    same = isinstance(again, list) and again[0]["text"] == text
    check(name, same, str(again if isinstance(again, str) else again[0]["text"]))


def check_source(source, kernel, to, compiler):
    kernels = translate(os.path.join(ROOT, "tests", "kernels", source), to, kernel)
    if isinstance(kernels, str):
        check(f"{source} as {to}", False, kernels)
        return
    code = REFUSED.get((source, to))
    for k in kernels:
        name = f"{k['kernel']} of {source} as {to}"
        if code:
            check(f"{name} is refused", k["text"] is None and code in (k["said"] or ""), str(k["said"]))
        elif not k["text"]:
            check(name, False, k["said"])
        elif to == "opencl":
            check_opencl(name, k["text"])
        elif to == "metal":
            check_metal(name, k["text"], compiler)
        else:
            check_cuda(name, k["text"], k["entry"])


def whole(path, to):
    done = subprocess.run([INGOT, "translate", "--to", to, path], capture_output=True, text=True, check=False)
    return done.stdout


def check_whole(source, to, compiler):
    """All kernels of a source as one file."""
    text = whole(os.path.join(ROOT, "tests", "kernels", source), to)
    name = f"{source} as one file of {to}"
    if to == "opencl":
        check_opencl(name, text)
    elif to == "metal":
        check_metal(name, text, compiler)
    else:
        with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
            file.write(text)
            file.flush()
            again = whole(file.name, "cuda")
        check(name, again.count("__global__") == text.count("__global__") > 0, again)
    if source == "shared_parts.cu":
        check(f"{name}: shared parts stand once",
              len(re.findall(r"float length_?\(point", text)) == 1 and len(re.findall(r"struct point \{", text)) == 1, text)
        check(f"{name}: instances that are launched", "filled_3_float(" in text and "filled_4_int(" in text, text)


def check_the_check(compiler):
    """Mistakes that Metal refuses, and so must we."""
    head = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *x [[buffer(0)]]) {\n"
    for body in ["thread float *p = x;", "threadgroup float s; device float *p = &s;", "double d = x[0];",
                 "atomic_fetch_add_explicit(x, 1.0f, memory_order_relaxed);", "x[0] = erf(x[0]);",
                 "threadgroup_barrier();", "device int *p = x;", "uint u = as_type<ulong>(x[0]);"]:
        if compiler:
            fine, _ = compiles(compiler, METAL, head + body + "\n}\n")
            check(f"Metal's check refuses '{body}'", not fine)


def main():
    compiler = metal_compiler()
    for source, kernels in SOURCES.items():
        for kernel in kernels:
            for to in ["opencl", "metal", "cuda"]:
                check_source(source, kernel, to, compiler)
    for source in SOURCES:
        for to in ["opencl", "metal", "cuda"]:
            if (source, to) not in REFUSED:
                check_whole(source, to, compiler)
    check_the_check(compiler)
    finish()


if __name__ == "__main__":
    main()
