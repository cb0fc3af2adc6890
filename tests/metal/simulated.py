"""Runs the command on the simulator. Kernels are compiled together beforehand: a first run only records them."""
import concurrent.futures
import hashlib
import os
import platform
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
INGOT = os.environ.get("INGOT", os.path.join(BUILD, "ingot"))
FOLDER = os.path.join(BUILD, "tests", "metal")
SIM = os.path.join(HERE, "sim")
LEAKED = 86  # the exit code of a process whose objects were not all released

sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, SIM)
import msl  # noqa: E402  pylint: disable=wrong-import-position

CLANG = msl.find_clang()
READY = CLANG is not None


def stamp():
    """Of what compiles kernels: with another compiler, those that are kept are compiled again."""
    version = subprocess.run([CLANG, "--version"], capture_output=True, check=True).stdout if READY else b""
    h = hashlib.sha256(platform.machine().encode() + version)
    for name in ("msl.py", "msl.h", "counted.py", "foreign.py", "foreign.h"):
        with open(os.path.join(SIM, name), "rb") as file:
            h.update(file.read())
    return h.hexdigest()[:12]


# Compiled kernels by their text, outside the build folder: a machine that keeps its disk compiles each only once.
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ingot-tests", "metal-" + stamp())


def settings(**more):
    os.makedirs(CACHE, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("METALSIM_", "IG_"))}
    env.update(IG_METAL=os.path.join(FOLDER, "libmetalsim.so"), METALSIM_CACHE=CACHE, METALSIM_HOME=SIM, METALSIM_LEAKS="1",
               METALSIM_CLANG=CLANG or "", IG_MPS="off", IG_SHUTDOWN="on", NO_COLOR="1")
    env.update({key: str(value) for key, value in more.items()})
    return env


def run(*arguments, program=None, limit=600, **more):
    """The finished process, with its output as text."""
    return subprocess.run([*(program or [INGOT]), *arguments], env=settings(**more), capture_output=True, text=True,
                          check=False, timeout=limit)


def prepare(*commands, program=None, **more):
    """Compiles the kernels of these commands. What is kept from an earlier run is not compiled again. Since nothing is
    computed, a command may fail, and kernels that it would have built later are compiled when they are needed."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda c: run(*c, program=program, METALSIM_RECORD=1, METALSIM_LEAKS=0, **more), commands))
    env = settings(**more)
    done = subprocess.run([sys.executable, os.path.join(SIM, "msl.py"), "--cache", env["METALSIM_CACHE"], "--all"], env=env,
                          capture_output=True, text=True, check=False)
    return done.stderr


def read(path):
    """The elements of a .npy file: numbers, or bytes if it has no floats."""
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    kind = re.search(rb"'descr': '<(f[24])'", data[:start])
    return [x for x, in struct.iter_unpack("<f" if kind[1] == b"f4" else "<e", data[start:])] if kind else data[start:]


def close(a, b, part):
    """Numbers that differ by no more than this part of the second."""
    return len(a) == len(b) > 0 and all(abs(x - y) <= part * abs(y) for x, y in zip(a, b))
