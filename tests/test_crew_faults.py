"""A device fails in the middle of an evaluation in blocks: it is lost, refuses memory, or a command fails, at the first call, at
the last one and at many between. Each evaluation must give the CPU's bits or an error that names the device. Afterwards no
memory is in use, no temporary file is left, and the same process computes the same result on the CPU. A save that failed is
continued by the same command.

Devices are the simulated Apple GPU (tests/metal), the fake CUDA driver (tests/fakecuda) and OpenCL behind tests/opencl/failing.c,
each alone and beside the CPU. With IG_TEST_QUICK half of the graphs. Each failure has its own process, a fork of this one, with a limit of time."""
import ctypes
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
sys.path[:0] = [os.path.join(BUILD, "python"), os.path.join(HERE, "metal")]

import numpy as np  # noqa: E402

import simulated  # noqa: E402
from support.tally import check, finish, skip  # noqa: E402

import ingot as ig  # noqa: E402

LIBRARY = os.path.join(BUILD, "python/ingot/libingot_python.so")
INGOT = os.path.join(BUILD, "ingot")
LIMIT_S = 600  # a child takes less than a second on an idle machine
FAKE = os.path.join(BUILD, "tests/fakecuda/cuda.so")
FAILING = os.path.join(BUILD, "tests/opencl/failing.so")
ROWS, COLUMNS = 5000, 24  # of x; a part of a sum has 1024 rows
BLOCK = {"IG_BLOCK_BYTES": "60000", "IG_MATH": "same", "IG_SHUTDOWN": "on", "IG_MPS": "off", "NO_COLOR": "1"}
POINTS = int(os.environ.get("INGOT_POINTS", "2" if os.environ.get("IG_TEST_QUICK") else "3"))  # of failure, for each kind of failure and graph


# ---- what is computed: stages of each kind

def tiles(x):
    return x * 2 + 1


def fold(x):
    return ig.sum(x * x, axis=0)


def product(x):  # one tile, in parts
    return x.T @ x


def products(x):  # many tiles
    return x[:200] @ x[200:400].T


def stages(x):  # a fold, then tiles that need it
    return x - ig.mean(x, axis=0)


def centred(x):  # its fold has one number
    return x - ig.sum(x)


ALONE, BESIDE = [tiles, fold, product], [fold, products, stages, centred]
if os.environ.get("IG_TEST_QUICK"):
    ALONE, BESIDE = [fold, product], [products, stages]


def compute(make, path):
    """The elements as bytes, which do not keep an array alive. NumPy alone would try again after a failure."""
    y = make(ig.open(path))
    ig.eval(y)
    return np.asarray(y).tobytes()


def save(make, path):
    """The same by way of a store."""
    ig.save("y.zarr", make(ig.open(path)))
    with ig.device("cpu"):
        return np.asarray(ig.open("y.zarr")).tobytes()


# ---- devices that can be made to fail

class Metal:
    """Messages and command buffers are counted from the start of the process, and the count is printed at its end."""
    name, device = "metal", "metal:0"
    modes = ["METALSIM_FAIL_AT", "METALSIM_FAIL_BUFFER"]
    env = {"IG_METAL": os.path.join(simulated.FOLDER, "libmetalsim.so"), "METALSIM_CACHE": simulated.CACHE,
           "METALSIM_HOME": simulated.SIM}

    @staticmethod
    def begin(mode, n):
        os.environ[mode] = str(n)
        os.environ["METALSIM_COUNT"] = os.environ["METALSIM_LEAKS"] = "1"

    @staticmethod
    def end():
        for mode in Metal.modes:
            os.environ.pop(mode, None)

    @staticmethod
    def count(mode, said):
        found = re.search(r"(\d+) messages can fail, (\d+) command buffers", said["stderr"])
        return int(found[1 + Metal.modes.index(mode)]) if found else 0


class Hooked:
    """A library with functions that make it fail, in this process."""
    library = None

    @classmethod
    def call(cls, name, *arguments):
        return getattr(ctypes.CDLL(cls.library), name)(*arguments)

    @staticmethod
    def count(mode, said):
        return said["counts"].get(mode, 0)


class Cuda(Hooked):
    name, device, library = "cuda:0", "cuda:0", FAKE
    modes = ["once", "always", "lose"]
    env = {"IG_CUDA": FAKE, "IG_NVRTC": FAKE, "IG_CUBLASLT": "off", "IG_CUDNN": "off", "IG_CUSOLVER": "off", "IG_CUFFT": "off"}

    @classmethod
    def begin(cls, mode, n):
        if mode == "lose":
            cls.call("fake_lose", ctypes.c_long(n))
        else:
            cls.call("fake_fail", ctypes.c_long(n), ctypes.c_bool(mode == "always"))

    @classmethod
    def end(cls):
        cls.call("fake_fail", ctypes.c_long(0), ctypes.c_bool(False))

    @classmethod
    def counts(cls):
        calls = cls.call("fake_count", 0)
        return {"once": calls, "always": calls, "lose": calls // 10}


class OpenCL(Hooked):
    name, device, library = "opencl", "opencl:0", FAILING
    modes = ["once", "launch"]
    env = {"IG_OPENCL": FAILING, "POCL_DEVICES": "basic"}

    @classmethod
    def begin(cls, mode, n):
        if mode == "launch":
            cls.call("failing_launch", ctypes.c_long(n))
        else:
            cls.call("failing_at", ctypes.c_long(n), ctypes.c_bool(mode == "always"))

    @classmethod
    def end(cls):
        cls.call("failing_at", ctypes.c_long(0), ctypes.c_bool(False))
        cls.call("failing_launch", ctypes.c_long(0))

    @classmethod
    def counts(cls):
        calls = cls.call("failing_calls")
        return {"once": calls, "launch": calls // 10}


# ---- one failure, in a process of its own

def in_use(device):
    """Bytes of array data, in host memory and on the device."""
    gc.collect()
    there = [row.used for row in ig.devices() if row == device]
    return [ig.memory()["used"], *there]


def temporary_files():
    """In TMPDIR, or deleted but open."""
    folder = os.environ["TMPDIR"]
    held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")]
    return os.listdir(folder) + [path for path in held if path.startswith(folder)]


def attempted(call, *arguments):
    """(bytes, None) or (None, the message)."""
    try:
        return call(*arguments), None
    except Exception as error:  # pylint: disable=broad-except
        return None, f"{type(error).__name__}: {error}"


def fail_once(driver, devices, how, make, mode, n, right):
    """In the child: what came of it."""
    ig.set_device(devices)
    start = in_use(driver.device)
    driver.begin(mode, n)
    got, error = attempted(how, make, "x.zarr")
    said = {"error": error, "same": got == right}
    said["counts"] = driver.counts() if hasattr(driver, "counts") else {}
    driver.end()
    said["start"], said["used"], said["files"] = start, in_use(driver.device), temporary_files()
    again, why = attempted(how, make, "x.zarr")
    said["again"] = why if why else again == right
    ig.set_device("cpu")
    on_cpu, why = attempted(how, make, "x.zarr")
    said["cpu"] = why if why else on_cpu == right
    return said


def child(out, *arguments):
    signal.alarm(LIMIT_S)
    shutil.rmtree("y.zarr", ignore_errors=True)
    log = os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 2)
    os.environ.update(BLOCK, **arguments[0].env)
    try:
        said = fail_once(*arguments)
    except BaseException:  # pylint: disable=broad-except
        said = {"crash": traceback.format_exc()}
    os.write(out, json.dumps(said).encode())
    gc.collect()
    ctypes.CDLL(LIBRARY).ig_shutdown()  # the simulator reports objects that are left
    ctypes.CDLL(None).exit(0)  # with the destructors of libraries


def run(*arguments):
    """What a child said, with its exit code and what it wrote to stderr."""
    sys.stdout.flush()
    back, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(back)
        child(out, *arguments)
    os.close(out)
    with open(back, "rb") as file:
        data = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said = json.loads(data) if data else {"crash": "it said nothing"}
    with open("stderr", encoding="utf-8", errors="replace") as file:
        said["stderr"] = file.read()
    said["code"] = code
    return said


# ---- checks

ADVICE = re.compile("restart the process|the CPU goes on if|release arrays|limit")


def wrong(said, driver, first):
    """What is wrong with what a child said; an empty list if nothing is. first: the CPU is the first device, so results are in host
    memory, and every failure of the other device can be survived."""
    if "crash" in said:
        return [said["crash"]]
    problems = [f"exit code {said['code']}"] if said["code"] else []
    if said["error"]:
        if driver.device not in said["error"]:
            problems.append("the error does not name the device")
        if first:
            problems.append("the CPU could have computed it")
    elif not said["same"]:
        problems.append("other bits than the CPU's")
    if said["used"] != said["start"]:
        problems.append(f"{said['used']} bytes are in use, not {said['start']}")
    if said["files"]:
        problems.append(f"files are left: {said['files']}")
    if said["cpu"] is not True:
        problems.append(f"the CPU cannot compute it afterwards: {said['cpu']}")
    lost = "restart the process" in str(said["again"])
    if said["again"] is not True and (first or not lost or driver.device not in said["again"]):
        problems.append(f"again: {said['again']}")
    return problems


def points(n):
    """The first call, the last one, and some between."""
    return sorted({1, max(n, 1), *(1 + (2 * i + 1) * n // (2 * (POINTS - 2)) for i in range(POINTS - 2))})


def check_graph(driver, devices, how, make, right):
    """Returns how many failures were noticed."""
    noticed, what = 0, f"{devices}: {make.__name__}, {how.__name__}"
    whole = run(driver, devices, how, make, driver.modes[0], 0, right)
    if whole.get("error") or whole.get("same") is not True or whole["code"]:
        check(f"{what}: without a failure", False, whole)
        return 0
    for mode in driver.modes:
        name = f"{what}, {mode}"
        n, bad = driver.count(mode, whole), []
        for at in points(n):
            said = run(driver, devices, how, make, mode, at, right)
            bad += [f"call {at} of {n}: {p}: {said}" for p in wrong(said, driver, devices.startswith("cpu,"))]
            noticed += bool(said.get("error")) or "cannot compute a block" in said["stderr"]
        check(name, not bad, "\n".join(bad))
    return noticed


def check_driver(driver, right, *lists):
    for devices in lists:
        noticed = 0
        for make in BESIDE if "," in devices else ALONE:
            noticed += check_graph(driver, devices, compute, make, right[make])
        noticed += check_graph(driver, devices, save, tiles, right[tiles])
        # Beside the CPU, a slow device gets few blocks.
        check(f"{devices}: failures are noticed", noticed >= (1 if "," in devices else 3), f"{noticed} of them")


# ---- saves that are continued

def chunks(path):
    """When each chunk was written."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name != "zarr.json"]
    return {path: os.stat(path).st_mtime_ns for path in paths}


def check_continued(driver, variable, most, right):
    """The same command continues a save that failed; the chunks that it left are not written again."""
    command = [INGOT, "eval", "--device", driver.name, 'x = open("x.zarr"); save(x * 2 + 1, "z.zarr")']
    env = {**os.environ, **BLOCK, **driver.env}
    kept = failed = 0
    for at in range(1, most, most // (4 if os.environ.get("IG_TEST_QUICK") else 8)):
        shutil.rmtree("z.zarr", ignore_errors=True)
        done = subprocess.run(command, env={**env, variable: str(at)}, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        name = f"{driver.name}: a save, {variable}={at}"
        if done.returncode == 0:
            continue
        failed += 1
        check(f"{name}: the error", done.returncode in (1, 4) and driver.device in done.stderr and ADVICE.search(done.stderr), done.stderr)
        before = chunks("z.zarr")
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        after = chunks("z.zarr")
        check(f"{name}: continued", done.returncode == 0, done.stderr)
        check(f"{name}: chunks are kept", all(after.get(k) == when for k, when in before.items()), f"{before} {after}")
        check(f"{name}: the store", done.returncode == 0 and np.asarray(ig.open("z.zarr")).tobytes() == right)
        kept += bool(before)
    check(f"{driver.name}: failed saves are continued", failed and kept, f"{failed} failed, {kept} with chunks")
    shutil.rmtree("z.zarr", ignore_errors=True)


def check_replaced():
    """One device computes a row in parts; if it fails, the next device of the list computes all of it."""
    program = 'x = open("x.zarr"); save(cumulative_sum(reshape(x, [-1])), "r.zarr")'
    env = {**os.environ, **BLOCK, **Cuda.env}
    replaced, right = 0, np.asarray(ig.cumulative_sum(ig.reshape(ig.open("x.zarr"), [-1]))).tobytes()
    for at in range(1, 12, 2):
        shutil.rmtree("r.zarr", ignore_errors=True)
        done = subprocess.run([INGOT, "eval", "--device", "cuda:0,cpu", program], env={**env, "FAKE_CUDA_LOSE": str(at)}, capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        fine = done.returncode == 0 and np.asarray(ig.open("r.zarr")).tobytes() == right
        check(f"cuda:0,cpu: a row in parts, lost at {at}", fine, done.stderr)
        replaced += "so cpu computes all blocks" in done.stderr
    check("cuda:0,cpu: the CPU computes a row in parts", replaced, f"{replaced} times")


def main():
    os.environ.update(BLOCK)
    x = np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    ig.save("x.zarr", ig.rechunk(ig.asarray(x), 250, COLUMNS))
    right = {make: compute(make, "x.zarr") for make in {tiles, *ALONE, *BESIDE}}
    if simulated.READY:
        os.makedirs(simulated.CACHE, exist_ok=True)
        check_driver(Metal, right, "metal", "cpu,metal")
        check_continued(Metal, "METALSIM_FAIL_BUFFER", 20, right[tiles])
    else:
        skip("failures of the simulated GPU", "clang 16 or newer is needed")
    check_driver(Cuda, right, "cuda:0", "cpu,cuda:0")
    check_continued(Cuda, "FAKE_CUDA_LOSE", 100, right[tiles])
    check_replaced()
    if os.path.isdir("/etc/OpenCL/vendors") and os.listdir("/etc/OpenCL/vendors"):
        check_driver(OpenCL, right, "opencl", "cpu,opencl")
    else:
        skip("failures of OpenCL", "there is no driver")


if __name__ == "__main__":
    place = tempfile.mkdtemp()
    os.chdir(place)
    os.mkdir("tmp")
    os.environ.update(TMPDIR=os.path.join(place, "tmp"), XDG_CACHE_HOME=os.path.join(place, "cache"), POCL_CACHE_DIR=os.path.join(place, "pocl"))
    try:
        main()
    finally:
        os.chdir("/")
        shutil.rmtree(place)
    finish()
