#!/usr/bin/env python3
"""The command as built for macOS on Linux (make macos): a signed Mach-O for arm64 whose imports macOS provides. On aarch64
it also runs here, compiled for Apple's calling convention, with the simulator in place of Metal. With IG_TEST_QUICK
those sources that use more than ISO C are only checked against the declarations of tools/macos."""
import glob
import os
import platform
import re
import shutil
import struct
import subprocess
import sysconfig
import tempfile

from simulated import BUILD, FOLDER, READY, ROOT, prepare, run
from support import tiny_model
from support.tally import check, finish, skip

# The other sources are the same for all systems.
ISO = "assert complex ctype errno fenv float inttypes limits locale math setjmp stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib string time".split()
OF_SYSTEM = re.compile(rf"^\s*#\s*include <(?!ingot|(?:{'|'.join(ISO)})\.h>)|__APPLE__|__linux__", re.M)
PROGRAM = os.path.join(ROOT, "build-macos", "ingot")
RUNNER = os.path.join(FOLDER, "macho_run")
LC_LOAD_DYLIB, LC_CODE_SIGNATURE, LC_BUILD_VERSION, LC_SYMTAB = 0xc, 0x1d, 0x32, 0x2
MH_EXECUTE, MH_DYLIB, MH_BUNDLE = 2, 6, 8
LIBRARY = "libingot_python.dylib"  # of the Python package, which holds the library once


# What GNU make has learned since 3.81, the make of macOS.
NEW_IN_MAKE = [r"^\s*[\w.]+\s*!=", r"^\s*[\w.]+\s*::+=", r"^\s*define\s+\S+\s*[:+?]*=", r"^\s*undefine\b", r"^\s*private\b",
               r"\$\((?:file|guile|let|intcmp)\s", r"^\.ONESHELL", r"^\.(?:EXTRA_PREREQS|NOTINTERMEDIATE|WAIT|RECIPEPREFIX)", r"^[^\t#]*&:",
               r"^\s*(?:unexport|export)\s+\w+\s*!=", r"\.SHELLSTATUS", r"^\s*load\s", r"^else\s+if\w+.*\\\\$"]


def check_makefile():
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = [f"{n}: {line}" for n, line in enumerate(lines, 1) for pattern in NEW_IN_MAKE if re.search(pattern, line)]
    check("the Makefile is for GNU make 3.81", not found, "\n".join(found))


def commands(data, wanted=MH_EXECUTE):
    magic, cpu, _, kind, n, _, _, _ = struct.unpack_from("<8I", data, 0)
    check("it is a Mach-O file for arm64", magic == 0xfeedfacf and cpu == 0x0100000c and kind == wanted)
    at, found = 32, []
    for _ in range(n):
        code, size = struct.unpack_from("<2I", data, at)
        found.append((code & 0x7fffffff, at, size))
        at += size
    return found


def imports(data, at):
    symbols, n, strings, _ = struct.unpack_from("<4I", data, at + 8)
    for i in range(n):
        name, kind, _, _, _ = struct.unpack_from("<IBBHQ", data, symbols + 16 * i)
        if kind & 0x0e == 0 and kind & 1:  # undefined, external
            start = strings + name
            yield data[start:data.index(b"\0", start)].decode()


def check_file(path=PROGRAM, wanted=MH_EXECUTE, also=(), names="$^"):
    """also: libraries besides libSystem. names: a pattern of symbols that these or Python provide."""
    with open(path, "rb") as file:
        data = file.read()
    found = commands(data, wanted)
    kinds = [kind for kind, _, _ in found]
    check("it is signed", LC_CODE_SIGNATURE in kinds)
    check("it names the version of macOS", LC_BUILD_VERSION in kinds)
    libraries = [data[at + 24:at + size].split(b"\0")[0].decode() for kind, at, size in found if kind == LC_LOAD_DYLIB]
    check("it links libSystem only", libraries == [*also, "/usr/lib/libSystem.B.dylib"], str(libraries))
    with open(os.path.join(ROOT, "tools", "macos", "symbols"), encoding="utf-8") as file:
        known = set(file.read().split())
    imported = set(imports(data, next(at for kind, at, _ in found if kind == LC_SYMTAB)))
    unknown = [name for name in sorted(imported - known) if not re.match(names, name)]
    check("macOS provides all that it imports", imported and not unknown, str(unknown))


def sources_of_system():
    for path in sorted(glob.glob("src/**/*.c", root_dir=ROOT, recursive=True) + glob.glob("cli/**/*.c", root_dir=ROOT, recursive=True)):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            if OF_SYSTEM.search(file.read()):
                yield path


def make(target, *variables):
    # The stage clang compiles the lane loops with optimization, which takes as long as all else.
    quick = [f"{name}=-O1" for name in ("OPTIMIZE", "LANES_OPTIMIZE", "MAPS_OPTIMIZE", "STEPS_OPTIMIZE", "PLAIN_OPTIMIZE")]
    made = subprocess.run(["make", "-s", target, f"BUILD={BUILD}", *quick, *variables], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    check(f"make {target}", made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:])
    return made.returncode == 0


def check_package():
    """The binaries of the wheel for macOS: the module and the command load the library from their own folder."""
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        return skip("the Python package for macOS", "Python's headers are missing")
    if make("macos-python"):
        package = os.path.join(ROOT, "build-macos", "python", "ingot")
        check_file(os.path.join(package, LIBRARY), MH_DYLIB)
        check_file(os.path.join(package, "_command"), also=["@rpath/" + LIBRARY], names="_ig_command$")
        check_file(os.path.join(package, "_ingot.abi3.so"), MH_BUNDLE, ["@rpath/" + LIBRARY], "_ig_|__?Py")


def check_run(folder):
    """All verbs but selftest, which starts itself as a new process."""
    program = [RUNNER, os.path.join(FOLDER, "libmetalsim.so"), PROGRAM]
    arrays = ["eval", "--device", "metal", "a = normal(key(0), [40, 30]); sum(relu(a @ a.T)) + a[1, 2]"]
    train = ["train", "digits", "--epochs", "1", "--quiet", "--math", "same", "--device", "metal"]
    text = ["classify", "--model", tiny_model.make(folder, "classify"), "--json", "--device", "metal", "good film"]
    kernel = ["run", os.path.join(ROOT, "tests", "metal", "kernels.cu"), "-k", "saxpy", "--grid", "4", "--block", "256", "--arg",
              "n=1000", "--arg", "a=2", "--arg", "x=arange(1000.0)", "--arg", "y=ones:f32[1000]", "--device", "cpu,metal"]
    rows = [["--version"], ["devices"], ["doctor"], ["eval", "sum(arange(10))"], ["verify", "--quick", "--device", "cpu", "--dtype", "f32,i8"],
            ["verify", "--quick", "--device", "metal", "--op", "add", "--dtype", "f32"]]
    prepare(arrays, train, text, kernel, rows[-1])
    for row in rows:
        done = run(*row, program=program, limit=300)
        check(f"as a Mach-O: ingot {' '.join(row)}", done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}")
    for row in (arrays, train, text, kernel):
        mac, linux = run(*row, program=program), run(*row)
        check(f"as a Mach-O: the same result of ingot {row[0]}", mac.returncode == 0 and mac.stdout == linux.stdout != "",
              mac.stdout + mac.stderr)
    mac, linux = run(*arrays, program=program, IG_MPS="on"), run(*arrays, IG_MPS="on")
    check("as a Mach-O: the same product by MPS", mac.returncode == 0 and mac.stdout == linux.stdout != "", mac.stdout + mac.stderr)
    product = ["eval", "--device", "cpu", "a = normal(key(0), [150, 200]); sum(a @ a.T)"]
    ours, done = run(*product, program=program), run(*product, "--explain", program=program, IG_BLAS="on")
    theirs = run(*product, program=program, IG_BLAS="on")
    check("as a Mach-O: IG_BLAS uses Accelerate", done.returncode == 0 and "accelerate" in done.stdout, done.stdout + done.stderr)
    check("as a Mach-O: Accelerate's product", theirs.returncode == 0 and abs(float(theirs.stdout) - float(ours.stdout)) < 1e-2,
          theirs.stdout + theirs.stderr)


def main():
    check_makefile()
    if not shutil.which("clang") or not (shutil.which("ld64.lld") or os.path.exists("/usr/lib/llvm-14/bin/ld64.lld")):
        skip("the program for macOS", "clang or ld64.lld is missing")
        finish()
    if os.environ.get("IG_TEST_QUICK"):
        make("check-macos", f"CHECK={' '.join(sources_of_system())}")
    elif make("macos"):
        check_file()
        if platform.machine() == "aarch64" and READY:
            with tempfile.TemporaryDirectory() as folder:
                check_run(folder)
        else:
            skip("running it", "that needs aarch64 and clang 16 or newer")
        check_package()
    finish()


if __name__ == "__main__":
    main()
