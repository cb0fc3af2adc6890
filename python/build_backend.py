"""Builds the Python package (PEP 517) with make, without other packages: `pip install .`, `pip install -e .`, `make wheel`."""
import base64
import glob
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "ingot"


def _version():
    with open(os.path.join(ROOT, "include/ingot/base.h")) as f:
        return ".".join(re.findall(r"#define IG_VERSION_[A-Z]+ +(\d+)", f.read()))


def _metadata():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\nSummary: Lazy arrays with gradients, on CPU, "
            "CUDA, Metal and OpenCL\nLicense: Apache-2.0\nRequires-Python: >=3.10\n"
            f"Description-Content-Type: text/markdown\n\n{text}")


def _tag(platform=None):
    return f"cp310-abi3-{platform or sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _make(*targets, build="build"):
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("Ingot's module uses Python's limited API, which free-threaded builds of Python do not have: use "
                         "the default build of Python")
    make = os.environ.get("MAKE") or shutil.which("gmake") or shutil.which("make")
    if not make:
        raise SystemExit("Ingot is built with GNU make: install make and a C compiler")
    env = {name: value for name, value in os.environ.items() if name not in ("BUILD", "CROSS")}
    command = [make, "-C", ROOT, f"BUILD={build}", *targets, f"PYTHON={sys.executable}"]
    subprocess.run(command, check=True, stdout=sys.stderr, env=env)
    return os.path.join(ROOT, build)


class _Wheel:
    """A wheel that is being written: files with their hashes."""

    def __init__(self, folder, tag):
        self.name = f"{NAME}-{_version()}-{tag}.whl"
        self.info = f"{NAME}-{_version()}.dist-info"
        self.zip = zipfile.ZipFile(os.path.join(folder, self.name), "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []
        self.add(f"{self.info}/METADATA", _metadata().encode())
        python, abi, platforms = tag.split("-")
        tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\n{tags}".encode())
        self.add_file(f"{self.info}/LICENSE", os.path.join(ROOT, "LICENSE"))

    def add(self, path, data, mode=0o644):
        entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))  # the same files give the same wheel
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{path},sha256={digest},{len(data)}")

    def add_file(self, path, source, mode=0o644):
        with open(source, "rb") as f:
            self.add(path, f.read(), mode)

    def close(self):
        self.add(f"{self.info}/RECORD", ("\n".join(self.record) + f"\n{self.info}/RECORD,,\n").encode())
        self.zip.close()
        return self.name


def _stripped(path, strip="strip"):
    """The bytes of a file without symbols, where the machine has strip. Files for macOS are signed as they were linked."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, folder)
        if shutil.which(strip) and sys.platform != "darwin":
            subprocess.run([strip, "--strip-all", copy], check=True)
        with open(copy, "rb") as f:
            return f.read()


# The command on the PATH: pip writes the path of its Python into the first line. It does not import the package.
SCRIPT = b"""#!python
import importlib.util
import os
import sys

package = importlib.util.find_spec("ingot").submodule_search_locations[0]
os.execv(os.path.join(package, "_command"), sys.argv)
"""


def _write_wheel(folder, tag, package, binaries, strip="strip"):
    """A wheel of the Python files and stubs of a built package, and of the binaries of a folder."""
    wheel = _Wheel(folder, tag)
    for name in sorted(glob.glob("**", root_dir=package, recursive=True)):
        if name.endswith((".py", ".pyi", ".typed")):
            wheel.add_file(f"ingot/{name}", os.path.join(package, name))
    for name in sorted(os.listdir(binaries)):
        if name == "_command" or name.endswith((".so", ".dylib")):
            path = os.path.join(binaries, name)
            wheel.add(f"ingot/{name}", _stripped(path, strip) if strip else open(path, "rb").read(), 0o755)
    wheel.add(f"{NAME}-{_version()}.data/scripts/ingot", SCRIPT, 0o755)
    return wheel.close()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = os.path.join(_make("python"), "python", "ingot")
    return _write_wheel(wheel_directory, _tag(), package, package)


def _manylinux(machine, binaries, objdump):
    """The tag of the oldest glibc that the binaries run with."""
    files = [os.path.join(binaries, name) for name in os.listdir(binaries) if name == "_command" or name.endswith(".so")]
    needed = subprocess.run([sys.executable, os.path.join(ROOT, "tools/old-glibc"), "--check", f"--objdump={objdump}", *files],
                            check=True, capture_output=True, text=True).stdout.strip()
    major, minor = map(int, needed.split("."))
    if (major, minor) <= (2, 17):
        return f"manylinux_2_17_{machine}.manylinux2014_{machine}"
    return f"manylinux_{major}_{minor}_{machine}"


def _linux_wheel(folder, machine, variables=(), prefix=""):
    binaries = os.path.join(_make(*variables, "portable", build=f"build-{machine}" if prefix else "build"), "portable")
    tag = _tag(_manylinux(machine, binaries, prefix + "objdump"))
    return _write_wheel(folder, tag, os.path.join(ROOT, "build/python/ingot"), binaries, prefix + "strip")


def portable_wheels(folder, kinds):
    """Wheels for others, of the kinds native, other (Linux on the other processor) and macos. Without kinds: of all whose
    compilers are there."""
    if not sys.platform.startswith("linux"):
        yield build_wheel(folder)
        return
    _make("python")  # all wheels have its stubs
    machine = os.uname().machine
    other = "aarch64" if machine == "x86_64" else "x86_64"
    prefix = f"{other}-linux-gnu-"
    apple = shutil.which("clang") and (shutil.which("ld64.lld") or glob.glob("/usr/lib/llvm-*/bin/ld64.lld"))
    kinds = kinds or ["native"] + ["other"] * bool(shutil.which(prefix + "gcc")) + ["macos"] * bool(apple)
    if "native" in kinds:
        yield _linux_wheel(folder, machine)
    if "other" in kinds:
        yield _linux_wheel(folder, other, [f"CROSS={prefix}", f"CC={prefix}gcc"], prefix)
    if "macos" in kinds:
        _make("macos-python")
        yield _write_wheel(folder, _tag("macosx_11_0_arm64"), os.path.join(ROOT, "build/python/ingot"),
                           os.path.join(ROOT, "build-macos/python/ingot"), None)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build = _make("python")
    wheel = _Wheel(wheel_directory, _tag())
    wheel.add("ingot.pth", (os.path.join(build, "python") + "\n").encode())
    wheel.add(f"{NAME}-{_version()}.data/scripts/ingot", SCRIPT, 0o755)
    return wheel.close()


def _source_files():
    """The files of the source archive: the files that git knows, or without git all files except build outputs."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True) if shutil.which("git") else None
    files = [f for f in listed.stdout.decode().split("\0") if os.path.isfile(os.path.join(ROOT, f))] if listed else []
    if files and os.path.exists(os.path.join(ROOT, ".git")):
        return sorted(files)
    files = []
    for folder, folders, names in os.walk(ROOT):
        top = folder == ROOT
        folders[:] = [f for f in folders if f not in ("__pycache__", ".git") and not (top and f.split("-")[0] == "build")]
        files += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if not (top and name == "PKG-INFO")]
    return sorted(files)


def _source_time():
    """The time of all files of the source archive: SOURCE_DATE_EPOCH, or the time of the last commit."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if not said and os.path.exists(os.path.join(ROOT, ".git")):
        said = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True).stdout
    return int(said or 1577836800)


def build_sdist(sdist_directory, config_settings=None):
    """The source archive, also of `make dist`: the same files and time give the same archive."""
    name = f"{NAME}-{_version()}"
    time = _source_time()
    with open(os.path.join(sdist_directory, name + ".tar.gz"), "wb") as file, \
            gzip.GzipFile("", "wb", 9, file, time) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(path, data, mode):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode, entry.mtime, entry.uname, entry.gname = len(data), mode, time, "root", "root"
            tar.addfile(entry, io.BytesIO(data))
        for path in _source_files():
            source = os.path.join(ROOT, path)
            with open(source, "rb") as f:
                add(path, f.read(), 0o755 if os.access(source, os.X_OK) else 0o644)
        add("PKG-INFO", _metadata().encode(), 0o644)
    return name + ".tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel

if __name__ == "__main__":
    folder, kinds = sys.argv[1], sys.argv[2:]  # kinds of wheels, or source
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in [build_sdist(folder)] if kinds == ["source"] else portable_wheels(folder, kinds):
        path = os.path.join(folder, name)
        print(f"{os.path.getsize(path):>9,} bytes  {path}")
