#!/usr/bin/env python3
"""Kernels that others wrote, on the simulator: a check from outside of what it does with Metal's language.

IG_TEST_KERNELS names a folder with a file cases.py. It has INCLUDES, the folders where includes of sources are looked for, and
cases(), which yields dictionaries:

    name        what it is called in messages
    source      the text; foreign.py says how it names instances and function constants
    kernel      the name of the kernel or instance
    groups, threads, arguments, shared     of the launch; see Gpu.launch
    result      the index of the buffer that is compared, and the format of its elements in struct's letters: (1, "f")
    want        the elements
    tolerance   how far numbers may be off, as a part of the largest one (0: not at all)
    races       a text of the race that it is known to have, or None

Each launch runs in ascending and in descending order of threads, and once with the check for races (race.c).
"""
import importlib.util
import os
import struct
import sys

from gpu import Gpu, Refused
from simulated import CACHE, READY
from support.tally import check, finish, skip


def load(folder):
    spec = importlib.util.spec_from_file_location("cases", os.path.join(folder, "cases.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launch(case, includes, **settings):
    """The elements that the kernel wrote, or why there are none."""
    gpu = Gpu(METALSIM_COMPILER="foreign.py", METALSIM_INCLUDE=":".join(includes), **settings)
    data = {index: bytearray(value) if isinstance(value, bytearray) else value for index, value in case["arguments"].items()}
    try:
        kernel = gpu.pipeline(gpu.library("".join(f"// {key}\n" for key in settings) + case["source"]), case["kernel"])
        gpu.launch(kernel, case["groups"], case["threads"], data, case.get("shared", ()))
    except Refused as refused:
        return str(refused)
    index, letter = case["result"]
    return list(struct.unpack(f"<{len(data[index]) // struct.calcsize(letter)}{letter}", data[index]))


def is_right(got, case):
    want, tolerance = list(case["want"]), case.get("tolerance", 0)
    if not isinstance(got, list) or len(got) != len(want):
        return False
    room = tolerance * max(map(abs, want))
    return all(abs(a - b) <= room for a, b in zip(got, want))


def main():
    folder = os.environ.get("IG_TEST_KERNELS")
    if not READY or not folder:
        skip("kernels that others wrote", "IG_TEST_KERNELS names no folder with cases" if READY else "clang 16 or newer is needed")
        finish()
    module = load(folder)
    for case in module.cases():
        if sys.argv[1:] and not any(word in case["name"] for word in sys.argv[1:]):
            continue
        for order in (0, 1):
            got = launch(case, module.INCLUDES, METALSIM_ORDER=order, METALSIM_CACHE=CACHE + "-outside")
            check(f"{case['name']} in order {order}", is_right(got, case), str(got)[:3000])
        got = launch(case, module.INCLUDES, METALSIM_RACES=1, METALSIM_CACHE=CACHE + "-outside-races")
        race = case.get("races")
        check(f"{case['name']}: {'a known race' if race else 'no race'}",
              race in got if race and isinstance(got, str) else not race and is_right(got, case), str(got)[:3000])
    finish()


if __name__ == "__main__":
    main()
