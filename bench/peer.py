"""The benchmark process of a peer: `peer.py NAME THREADS` reads commands and answers each with one line.

    version                              the library's version
    prepare WORK DTYPE DIMS [FILE...]    as for bench/ours.c; "none" when the peer lacks the work
    run N                                milliseconds of one run, the mean of N
    save FILE                            one more run, its answer as .npy (f16 and bf16 as f32)

Answers are "ok ...", "none ..." or "error ...". The class of a library, in bench/peers, has a method for each
of its works. The method takes the inputs and returns a function without arguments that does the work, waits for
it, and returns the answer. Each library is used in the way that its documentation recommends for speed.
"""

import os
import sys
import time

from peers.shared import DEVICE
from peers.with_dask import Dask
from peers.with_jax import Jax
from peers.with_mlx import Mlx
from peers.with_numpy import Numpy
from peers.with_onnx import OnnxRuntime
from peers.with_torch import Torch, TorchCompile


PEERS = {
    "numpy": Numpy,
    "torch": Torch,
    "torch.compile": TorchCompile,
    "onnxruntime": OnnxRuntime,
    "jax": Jax,
    "mlx": Mlx,
    "dask": Dask,
}


class Commands:
    def __init__(self, peer):
        self.peer = peer
        self.work = None

    def version(self):
        return f"ok {self.peer.version}"

    def prepare(self, name, dtype, dims, *paths):
        peer = self.peer
        self.work = None
        name = name.removesuffix("_own")  # a variant of ours
        make = getattr(peer, name, None) if name in getattr(peer, "works", (name,)) else None
        if make is None or dtype not in peer.dtypes:
            return "none"
        arguments = [peer.load(path, dtype) for path in paths]
        arguments += [int(d) for d in dims.split(",") if d != "-"]
        self.work = make(*arguments, **({} if paths else {"dtype": dtype}))
        return "ok" if self.work else "none"

    def run(self, n):
        n, work = int(n), self.work
        wait = self.peer.torch.cuda.synchronize if DEVICE and hasattr(self.peer, "torch") else lambda: None
        start = time.perf_counter()
        for _ in range(n):
            work()
            wait()
        return f"ok {(time.perf_counter() - start) * 1e3 / n:.9g}"

    def save(self, path):
        self.peer.save(path, getattr(self.work, "answer", self.work)())
        return "ok"


def main():
    # Libraries may print: only our answers go to the driver.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        commands = Commands(PEERS[sys.argv[1]](int(sys.argv[2])))
    except Exception as problem:  # not there, or not for this machine
        print(f"none {type(problem).__name__}: {str(problem).splitlines()[0]}", file=answers, flush=True)
        return
    print("ok", file=answers, flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            answer = getattr(commands, command)(*arguments)
        except Exception as problem:
            text = (str(problem).splitlines() or [""])[0]
            answer = f"error {type(problem).__name__}: {text}"
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
