#!/usr/bin/env python3
"""The negative control of the checks for equal bits: on a GPU whose compiler knows no pragma and contracts, these ops must not
have the CPU's bits, and `uniform` must leave its bound. And the positive one: on a GPU that flushes subnormal numbers to zero, as
Apple's do, ops stay within their bounds. With IG_TEST_QUICK a sixth of the random graphs."""
import os
import tempfile

from simulated import READY, prepare, run
from support.tally import check, finish, skip

QUICK = ["verify", "--quick", "--dtype", "f32"]
SAME = [*QUICK, "--same", "cpu,metal", "--op"]
BOUND = [*QUICK, "--device", "metal", "--op"]
CONTRACTED = ["tanh", "cumulative_prod", "uniform"]  # check_arrays.py has them without contraction
OUT_OF_BOUND = ["uniform"]
N_GRAPHS = "10" if os.environ.get("IG_TEST_QUICK") else "60"
GRAPHS = ["verify", "--graphs", N_GRAPHS, "--device", "metal", "--math", "same", "--seed", "1"]  # kernels of check_arrays.py
FLUSHED = ["add", "multiply", "divide", "exp", "expm1", "log", "sum", "cumulative_sum", "sort", "softmax", "matmul"]


def main():
    if not READY:
        skip("the control of contraction", "clang 16 or newer is needed")
        finish()
    with tempfile.TemporaryDirectory() as folder:
        contract = {"METALSIM_CONTRACT": 1, "METALSIM_CACHE": os.path.join(folder, "cache")}
        os.makedirs(contract["METALSIM_CACHE"])
        wrong = [[*SAME, op] for op in CONTRACTED] + [[*BOUND, op] for op in OUT_OF_BOUND]
        said = prepare(*wrong, **contract)
        check("kernels compile with contraction", not said, said)
        for command in wrong:
            done = run(*command, **contract)
            check(f"{' '.join(command)} fails on a GPU that contracts", done.returncode == 1 and " failed" in done.stdout,
                  f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-1000:]}")
    commands = [[*BOUND, op] for op in FLUSHED] + [GRAPHS]
    prepare(*commands)
    for command in commands:
        done = run(*command, METALSIM_FLUSH=1)
        check(f"{' '.join(command)} passes on a GPU that flushes", done.returncode == 0,
              f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-1000:]}")
    finish()


if __name__ == "__main__":
    main()
