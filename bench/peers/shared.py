"""What the peers share."""

import os

DEVICE = os.environ.get("BENCH_DEVICE")  # set by bench/run --device: peers that can use the GPU do so


def training(begin, stack):
    """A training step as a work. Its answer is the losses of the first steps of a new training."""
    step = begin()

    def run():
        return step()

    def answer():
        new = begin()
        return stack([new() for _ in range(5)])

    run.answer = answer
    return run
