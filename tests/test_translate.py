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


LAUNCHES = """
#include <vector>
namespace ns { template <typename T> __global__ void add(T *x, T a) { x[threadIdx.x] += a; } }
template <typename T, int N> __global__ void fill(T *x) { x[threadIdx.x] = N; }
template <typename T> __global__ void deduced(const T *x, int n) {}
template <typename T, int N> void run(T *p, int n)
{
    const int M = N * 2;
    fill<T, M><<<n, 1>>>(p);
    deduced<<<n, 1>>>(p, n);
}
template <typename T> void outer(int n) { T *p; run<T, 4>(p, n); }
struct app {
    float *d;
    int n;
    void go()
    {
        constexpr int K = 7;
        using real = float;
        fill<real, K><<<1, n>>>(d);
        ns::add<<<1, n>>>(d, 2.f);
    }
};
void f(unsigned *q, std::vector<int> v) { deduced<<<1, 1>>>(q + 1, v.size()); deduced<<<1, 1>>>(q, 4); }
int main()
{
    outer<double>(3);
    for (int i = 0; i < 3; i++) {
        short *s;
        run<short, 8>(s, i);
    }
}
"""
INSTANCES = ["deduced<double>", "deduced<short>", "deduced<unsigned int>", "fill<double, 8>", "fill<float, 7>",
             "fill<short, 16>", "ns::add<float>"]
HALVES = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void k(half2 *x, __nv_bfloat162 *y, float *z)
{
    x[0] = __hadd2(x[0], x[1]);
    y[0] = y[1];
    z[0] = __saturatef(z[1]);
}
"""


def check_launches(folder):
    """Instances from local names, from arguments and through templates of the host."""
    path = os.path.join(folder, "launches.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(LAUNCHES)
    kernels = translate(path, "cuda")
    found = kernels if isinstance(kernels, str) else sorted(k["kernel"] for k in kernels)
    check("instances that local names and arguments select", found == INSTANCES, str(found))


def check_names(folder):
    path = os.path.join(folder, "halves.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HALVES)
    text = whole(path, "cuda")
    names = ["cuda_fp16.h", "cuda_bf16.h", "__nv_bfloat162", "__saturatef("]
    check("names and headers of CUDA", all(n in text for n in names) and "bfloat16_2" not in text, text)


def check_host(folder):
    """The program of --host on the CPU."""
    path, program = os.path.join(folder, "host.c"), os.path.join(folder, "host")
    source = os.path.join(ROOT, "tests", "kernels", "shared_parts.cu")
    done = subprocess.run([INGOT, "translate", "--to", "metal", "--host", "--kernel", "filled<3, float>", source],
                          capture_output=True, text=True, check=False)
    build = os.path.dirname(os.path.abspath(INGOT))
    with open(path, "w", encoding="utf-8") as file:
        file.write(done.stdout)
    if not shutil.which("cc"):
        skip("--host", "no C compiler")
        return
    made = subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-I", os.path.join(ROOT, "include"), path, "-o", program, "-L",
                           build, "-lingot", "-Wl,-rpath," + build], capture_output=True, text=True, check=False)
    check("--host compiles", done.returncode == 0 and made.returncode == 0, done.stderr + made.stderr)
    ran = subprocess.run([program, "cpu"], capture_output=True, text=True, check=False)
    check("--host runs", ran.returncode == 0 and ran.stdout.startswith("3 3 3 3"), ran.stdout + ran.stderr)


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
    with tempfile.TemporaryDirectory() as folder:
        check_launches(folder)
        check_names(folder)
        check_host(folder)
    finish()


if __name__ == "__main__":
    main()
