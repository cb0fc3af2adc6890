#!/usr/bin/env python3
"""Every kernel of tests/kernels through ingot translate: what comes out is what compilers accept.

OpenCL C by clang for 1.2 and 3.0; Metal by the strict check of the simulator (tests/metal/sim/msl.py); CUDA C by
ourselves, where translating what was translated changes nothing.
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


def check_opencl(name, text):
    if not shutil.which("clang"):
        skip(name, "no clang")
        return
    for standard in ["CL1.2", "CL3.0"]:
        fine, said = compiles("clang", [*OPENCL, "-cl-std=" + standard], text)
        check(f"{name} as {standard}", fine, said)


def check_metal(name, text, compiler):
    if not compiler:
        skip(name, "clang 16 or newer is needed")
        return
    try:
        said = msl.compile_only(compiler, msl.translate("check", text)[0])
    except msl.Wrong as wrong:
        said = str(wrong)
    check(name, not said, said)
    check(f"{name} is not contracted", not msl.is_contracted(text), text)


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


def main():
    compiler = msl.find_clang()
    for source, kernels in SOURCES.items():
        for kernel in kernels:
            for to in ["opencl", "metal", "cuda"]:
                check_source(source, kernel, to, compiler)
    for source in SOURCES:
        for to in ["opencl", "metal", "cuda"]:
            if (source, to) not in REFUSED:
                check_whole(source, to, compiler)
    finish()


if __name__ == "__main__":
    main()
