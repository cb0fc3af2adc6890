"""An array in chunks on a cluster of Dask: two workers on this machine compute with Ingot, and one of them is lost.

    pip install dask distributed
    python examples/dask_cluster.py
"""
import os
import signal

from distributed import Client, LocalCluster

import ingot as ig
import ingot.dask


def main():
    x = ig.random.normal(ig.key(0), (2000, 1000))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        d = ingot.dask.scatter(x, client, chunks=(500, 500))
        print(d.numblocks, "chunks")

        scores = (d - d.mean(axis=0)) / d.std(axis=0)  # Dask plans, Ingot computes the chunks
        print("largest score:", float(ingot.dask.gather(scores.max(), client)) > 4)

        gram = d.T @ d
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        got = ingot.dask.gather(gram, client)  # the chunks that are lost are sent again
        print("error:", float(ig.max(ig.abs(got - x.T @ x))) < 0.01)

        tanh = ingot.dask.gather(d.map_blocks(ig.tanh), client)
        print("same bits:", bool((tanh == ig.tanh(x)).all()))


if __name__ == "__main__":  # workers import this file
    main()

# Prints:
# (4, 2) chunks
# largest score: True
# error: True
# same bits: True
