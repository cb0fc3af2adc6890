"""Builds the Python package (PEP 517) with make, without other packages: `pip install .`, `pip install -e .`, `make wheel`."""
import base64
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


def _tag():
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"cp310-abi3-{os.environ.get('IG_WHEEL_PLATFORM', platform)}"


def _make(*targets):
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("Ingot's module uses Python's limited API, which free-threaded builds of Python do not have: use "
                         "the default build of Python")
    make = os.environ.get("MAKE") or shutil.which("gmake") or shutil.which("make")
    if not make:
        raise SystemExit("Ingot is built with GNU make: install make and a C compiler")
    subprocess.run([make, "-C", ROOT, *targets, f"PYTHON={sys.executable}"], check=True, stdout=sys.stderr)
    return os.path.join(ROOT, "build")


class _Wheel:
    """A wheel that is being written: files with their hashes."""

    def __init__(self, folder, tag):
        self.name = f"{NAME}-{_version()}-{tag}.whl"
        self.info = f"{NAME}-{_version()}.dist-info"
        self.zip = zipfile.ZipFile(os.path.join(folder, self.name), "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []
        self.add(f"{self.info}/METADATA", _metadata().encode())
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
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


def _stripped(path):
    """The bytes of a file without symbols, where the machine has strip."""
    strip = shutil.which(os.environ.get("STRIP", "strip"))
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, folder)
        if strip:
            subprocess.run([strip, "-x" if sys.platform == "darwin" else "--strip-all", copy], check=True)
        with open(copy, "rb") as f:
            return f.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = _make("python", "build/ingot")
    wheel = _Wheel(wheel_directory, _tag())
    package = os.path.join(build, "python", "ingot")
    for name in sorted(os.listdir(package)):
        source = os.path.join(package, name)
        if name.endswith(".so"):
            wheel.add(f"ingot/{name}", _stripped(source), 0o755)
        elif name.endswith((".py", ".pyi", ".typed")):
            wheel.add_file(f"ingot/{name}", source)
    wheel.add(f"{NAME}-{_version()}.data/scripts/ingot", _stripped(os.path.join(build, "ingot")), 0o755)
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build = _make("python")
    wheel = _Wheel(wheel_directory, _tag())
    wheel.add("ingot.pth", (os.path.join(build, "python") + "\n").encode())
    return wheel.close()


def build_sdist(sdist_directory, config_settings=None):
    name = f"{NAME}-{_version()}"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True)
    files = [f for f in listed.stdout.decode().split("\0") if f] or [
        os.path.relpath(os.path.join(folder, file), ROOT)
        for folder, _, names in os.walk(ROOT) for file in names if "/build" not in folder + "/"]
    with tarfile.open(os.path.join(sdist_directory, name + ".tar.gz"), "w:gz") as tar:
        for file in sorted(files):
            tar.add(os.path.join(ROOT, file), f"{name}/{file}", recursive=False)
        data = _metadata().encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return name + ".tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel

if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    print(os.path.join(folder, build_wheel(folder)))
