"""The CUDA text of every kernel that the tests of kernels in Python launch, compiled by NVRTC: with the toolkit's headers and, in
test_cuda.py, without them. No GPU is needed: the driver of tests/cuda/driver loads the images and launches nothing, so only
texts are tested here. IG_TEST_QUICK=1: test_cuda.py alone, with headers."""
import contextlib
import glob
import io
import os
import runpy
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
IDLE = os.path.abspath(os.path.join(BUILD, "tests/cuda/idle.so"))
if os.path.exists(IDLE):
    os.environ["IG_CUDA"] = IDLE

from against import check, finish, ig, skip  # noqa: E402
from ingot import _ingot  # noqa: E402
from support import tally  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
launch, seen, failures = _ingot._kernel, set(), []


def compile_text(source, file, name, values, *rest):
    on_gpu = tuple(v.to("cuda:0") if isinstance(v, ig.Array) else v for v in values)
    try:
        results = launch(source, file, name, on_gpu, *rest)
        for r in results if isinstance(results, (list, tuple)) else [results]:
            r.eval()
    except ig.DeviceError as error:
        failures.append(f"{os.path.basename(file)}, {name}: {error}")


def kernel(source, file, name, values, *rest):
    """A launch on the CPU. The first time, the text is compiled for the GPU, too."""
    result = launch(source, file, name, values, *rest)
    if (source, name) not in seen:
        seen.add((source, name))
        compile_text(source, file, name, values, *rest)
    return result


def kernels_of(path):
    """Runs a test on the CPU alone; returns the number of its kernels. Its own checks count in its own run."""
    import against
    devices, done = ig.devices, against.finish
    counts = tally.passed, tally.failed, tally.skipped
    ig.devices, against.finish, _ingot._kernel = lambda: ["cpu"], lambda: None, kernel
    before = len(seen)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(path, run_name="__main__")
    finally:
        ig.devices, against.finish, _ingot._kernel = devices, done, launch
        tally.passed, tally.failed, tally.skipped = counts
    return len(seen) - before


def nvrtc():
    """The path of NVRTC, as Ingot finds it; None if there is none."""
    try:
        text = f"__global__ void f(int *y) {{ y[0] = {os.getpid()}; }}"  # not in the cache on disk
        ig.kernel(text)[1, 1](ig.zeros(1, dtype=ig.int32, device="cuda:0"))
        ig.synchronize()
    except ig.DeviceError:
        return None
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next((line.split()[-1] for line in maps if "libnvrtc.so" in line), None)


def compile_all(tests):
    for path in tests:
        del failures[:]
        n = kernels_of(path)
        check(f"{os.path.basename(path)}: {n} kernels", n > 0 and not failures, "\n".join([f"{len(failures)} of {n} are refused"] + failures[:5]))


tests = sorted(p for p in glob.glob(os.path.join(HERE, "test_cuda*.py")) if p != os.path.abspath(__file__))
one = [p for p in tests if os.path.basename(p) == "test_cuda.py"]
library = nvrtc() if os.path.exists(IDLE) else None
if not library:
    skip("kernels in Python by NVRTC", "there is no NVRTC, or no driver for tests (make tests)")
elif sys.argv[1:] == ["alone"]:
    compile_all(one)
else:
    quick = os.environ.get("IG_TEST_QUICK")
    compile_all(one if quick else tests)
    if not quick:  # NVRTC in a folder without headers
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "lib"))
            os.symlink(library, os.path.join(folder, "lib/libnvrtc.so"))
            env = {**os.environ, "IG_NVRTC": os.path.join(folder, "lib/libnvrtc.so"), "XDG_CACHE_HOME": os.path.join(folder, "cache")}
            done = subprocess.run([sys.executable, __file__, "alone"], capture_output=True, text=True, env=env)
            check("without the toolkit's headers", done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr)
finish()
