"""Arrays as chunks of dask.array, with NumPy as the oracle; tokens, pickles, operators with Dask's arrays; a cluster of two
workers, one of which is killed; xarray; without IG_TEST_QUICK an example with a cluster, and Ray's object store."""
import os
import pickle
import signal
import subprocess
import sys

from against import ROOT, attempt, check, finish, ig, np, rng, same, skip

try:
    import dask
    import dask.array as da
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

x = rng.normal(size=(40, 30))


def chunked(values=x, chunks=(16, 11)):
    return da.from_array(ig.asarray(values), chunks=chunks)


def agrees(name, d, want, tolerance=1e-10):
    """Computes a Dask array, whose chunks must be Ingot's arrays at the end."""
    got = d.compute()
    check(f"{name}: type", isinstance(got, (ig.Array, bool, float, np.generic)), str(type(got)))
    same(name, np.asarray(got), np.asarray(want), tolerance)


def elementwise():
    d = chunked()
    check("chunks", isinstance(d._meta, ig.Array) and isinstance(d.blocks[1, 1].compute(), ig.Array))
    agrees("whole", d, x)
    agrees("operators", (d + 1) * d - d / 2, (x + 1) * x - x / 2)
    agrees("ufunc", np.exp(d) + np.hypot(d, 2), np.exp(x) + np.hypot(x, 2))
    agrees("comparison", d > 0, x > 0)
    agrees("where", da.where(d > 0, d, 0), np.where(x > 0, x, 0))
    agrees("astype", d.astype("f4"), x.astype("f4"), 1e-6)
    agrees("isnan", da.isnan(d), np.isnan(x))
    agrees("clip", da.clip(d, -1, 1), np.clip(x, -1, 1))
    y = ig.asarray(x)
    for name, both, want in (("Array + dask", y + d, x + x), ("dask + Array", d + y, x + x), ("Array @ dask", y.T @ d, x.T @ x),
                             ("dask - Array", d - y * 2, -x), ("Array < dask", y < d + 1, x < x + 1)):
        check(f"{name} is lazy", isinstance(both, da.Array), str(type(both)))
        agrees(name, both, want)


def blocks():
    d = chunked()
    agrees("map_blocks", d.map_blocks(ig.exp), np.exp(x))
    agrees("map_blocks, dtype", d.map_blocks(ig.tanh, dtype="f8"), np.tanh(x))
    agrees("map_blocks of two", da.map_blocks(lambda a, b: ig.maximum(a, -b), d, d), np.maximum(x, -x))
    agrees("map_overlap", d.map_overlap(lambda b: b * 2, depth=1, boundary="reflect"), x * 2)
    agrees("rechunk", d.rechunk((7, 30)), x)
    agrees("concatenate", da.concatenate([d, d], axis=1), np.concatenate([x, x], axis=1))
    agrees("stack", da.stack([d, d]), np.stack([x, x]))
    agrees("T", d.T, x.T)
    agrees("reshape", chunked(x, (20, 30)).reshape(40 * 30), x.reshape(-1))
    agrees("slices", d[3:20:2, ::-1], x[3:20:2, ::-1])
    agrees("integers", d[[3, 1, 39]], x[[3, 1, 39]])
    agrees("a mask", d[d > 0].sum(), x[x > 0].sum())
    agrees("pad", da.pad(d, 1), np.pad(x, 1))
    whole = np.zeros_like(x)
    da.store(d, whole, compute=True)
    same("store", whole, x)


def reductions():
    d = chunked()
    for name in ("sum", "mean", "std", "var", "max", "min", "prod"):
        for axis in (None, 0, 1):
            agrees(f"{name} {axis}", getattr(d, name)(axis=axis), getattr(x, name)(axis=axis), 1e-8)
    agrees("argmax", d.argmax(axis=0), x.argmax(axis=0))
    agrees("argmin", d.argmin(axis=1), x.argmin(axis=1))
    agrees("any", (d > 5).any(), (x > 5).any())
    agrees("all", (d > -9).all(axis=0), (x > -9).all(axis=0))
    agrees("cumsum", d.cumsum(axis=0), x.cumsum(axis=0))
    agrees("nanmean", da.nanmean(d), x.mean())
    agrees("median", da.median(d, axis=0), np.median(x, axis=0))
    agrees("topk", da.topk(d, 3, axis=0), np.sort(x, axis=0)[::-1][:3])
    same("histogram", np.asarray(da.histogram(d, bins=5, range=(-3, 3))[0].compute()), np.histogram(x, 5, (-3, 3))[0])
    same("unique", np.asarray(da.unique(d > 0).compute()), np.array([False, True]))
    one = chunked(x[:, 0], 40)
    same("percentile", np.asarray(da.percentile(one, [50]).compute()), np.percentile(x[:, 0], [50]), 1e-12)


def products():
    d = chunked()
    agrees("matmul", d @ d.T, x @ x.T)
    agrees("dot", da.dot(d, d.T), x @ x.T)
    agrees("tensordot", da.tensordot(d, d, axes=((0,), (0,))), x.T @ x)
    agrees("einsum", da.einsum("ij,kj->ik", d, d), x @ x.T)
    agrees("outer", da.outer(d[:, 0], d[0]), np.outer(x[:, 0], x[0]))
    tall = chunked(x, (16, 30))
    agrees("svd", da.linalg.svd(tall)[1], np.linalg.svd(x)[1], 1e-8)
    q, r = da.linalg.qr(tall)
    same("qr", np.asarray((q @ r).compute()), x, 1e-8)


def protocols():
    y = ig.asarray(x)
    token = dask.base.tokenize
    check("equal tokens", token(y) == token(ig.asarray(x)))
    check("other elements", token(y) != token(ig.asarray(x + 1)))
    check("another dtype", token(ig.zeros(4)) != token(ig.zeros(4, dtype="float64")))
    check("tokens of bfloat16", token(ig.zeros(4, dtype="bfloat16")) != token(ig.zeros(4)))
    check("sizeof", dask.sizeof.sizeof(ig.zeros(1000)) >= 4000)
    for dtype in ("bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        for shape in ((), (0, 3), (5,), (3, 4)):
            a = ig.astype(ig.reshape(ig.arange(int(np.prod(shape))), shape), dtype)
            for protocol in range(2, 6):
                b = pickle.loads(pickle.dumps(a, protocol=protocol))
                check(f"pickle {dtype} {shape} {protocol}", b.dtype == a.dtype and b.shape == a.shape and bool((a == b).all()))
    large = ig.arange(1 << 18, dtype="float32").eval()
    buffers = []
    text = pickle.dumps(large, protocol=5, buffer_callback=buffers.append)
    check("out of band", len(text) < 200 and len(buffers) == 1 and buffers[0].raw().nbytes == large.nbytes)
    again = pickle.loads(text, buffers=buffers)
    check("not copied", np.asarray(again).ctypes.data == np.frombuffer(buffers[0].raw(), "u1").ctypes.data)
    again += 1
    again[3] = 7
    check("not changed", float(large[3]) == 3 and float(again[3]) == 7 and float(again[4]) == 5)
    frozen = pickle.loads(text, buffers=[memoryview(bytes(buffers[0].raw()))])
    frozen *= 2
    frozen[0] = 5
    same("from read-only memory", frozen[:3], np.array([5, 2, 4], "f4"))
    same("NumPy's dtypes", np.zeros(2, ig.float32), np.zeros(2, "f4"))
    check("NumPy's attributes", ig.float64.type is np.float64 and ig.int32.char == "i" and np.dtype(ig.bool) == np.dtype(bool))


def cluster():
    try:
        from distributed import Client, LocalCluster, wait
    except ImportError as error:
        return skip("cluster", str(error))
    import ingot.dask
    wide = rng.normal(size=(60, 50))
    y = ig.asarray(wide)
    dask.config.set({f"distributed.comm.timeouts.{what}": "600s" for what in ("connect", "tcp")})  # a busy machine answers late
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0) as group, \
            Client(group) as client:
        client.wait_for_workers(2)
        client.run(paths, sys.path[:2])
        d = ingot.dask.scatter(y, client, chunks=(20, 25))
        wait(d)
        check("chunks on workers", len(client.who_has()) >= 6 and all(client.who_has().values()))
        same("there and back", ingot.dask.gather(d, client), wide)
        same("one chunk", ingot.dask.gather(ingot.dask.scatter(y, client, chunks=-1), client), wide)
        same("a number", ingot.dask.gather(d.sum(), client), np.asarray(wide.sum()), 1e-10)
        kept = client.persist(ingot.dask.from_array(y, chunks=(20, 25)).map_blocks(ig.exp))
        check("computed there", client.run(loaded).values() and all(client.run(loaded).values()))
        killed, other = client.run(os.getpid).values()
        os.kill(killed, signal.SIGKILL)
        same("a worker is killed", ingot.dask.gather(d.mean(axis=0), client), wide.mean(axis=0), 1e-12)
        same("results are computed again", ingot.dask.gather(kept, client), np.exp(wide), 1e-12)
        same("product", ingot.dask.gather(d.T @ d, client), wide.T @ wide, 1e-10)
        half = ingot.dask.gather(ingot.dask.scatter(ig.astype(y, "bfloat16"), client, chunks=20), client)
        check("bfloat16", half.dtype == ig.bfloat16 and bool((half == ig.astype(y, "bfloat16")).all()))


def example():
    if subprocess.run([sys.executable, "-c", "import distributed"], capture_output=True, check=False).returncode != 0:
        return skip("examples/dask_cluster.py", "the package distributed is not installed")
    source = os.path.join(ROOT, "examples/dask_cluster.py")
    with open(source) as file:
        want = [line[2:] for line in file.read().partition("# Prints:\n")[2].splitlines()]
    done = subprocess.run([sys.executable, source], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": sys.path[0]})
    check("examples/dask_cluster.py", done.stdout.splitlines() == want, done.stdout + done.stderr[-2000:])


def paths(folders):
    """In a worker: the package that is tested."""
    sys.path[:0] = folders


def loaded():
    return "ingot" in sys.modules


def xarrays():
    try:
        import xarray
    except ImportError as error:
        return skip("xarray", str(error))
    a = xarray.DataArray(ig.asarray(x), dims=("t", "s"))
    check("xarray keeps arrays", isinstance((a + 1).data, ig.Array))
    same("xarray mean", a.mean("t").data, x.mean(0), 1e-12)
    same("xarray in chunks", a.chunk({"t": 11}).mean().compute().data, np.asarray(x.mean()), 1e-12)


RAY = """
import sys
sys.path[:0] = {path!r}
import ctypes, numpy as np, ray
import ingot as ig
ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False, object_store_memory=1 << 27,
         runtime_env={{"env_vars": {{"PYTHONPATH": ":".join(sys.path[:2])}}}})
x = ig.arange(1 << 20, dtype="float32").eval()
ref = ray.put(x)
a, b = ray.get(ref), ray.get(ref)
assert np.asarray(a).ctypes.data == np.asarray(b).ctypes.data, "both use the memory of the store"
assert bool((a == x).all())
a += 1
assert float(b[5]) == 5 and float(a[5]) == 6, "the store is unchanged"
@ray.remote
def double(y):
    return (y * 2).eval()
assert bool((ray.get(double.remote(ref)) == x * 2).all())
ray.shutdown()
print("ray is fine")
"""


def rays():
    if subprocess.run([sys.executable, "-c", "import ray"], capture_output=True, check=False).returncode != 0:
        return skip("Ray", "the package ray is not installed")
    done = subprocess.run([sys.executable, "-c", RAY.format(path=sys.path[:2])], capture_output=True, text=True, check=False, cwd=ROOT,
                          env={**os.environ, "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_USAGE_STATS_ENABLED": "0"})
    check("Ray's object store", "ray is fine" in done.stdout, done.stderr[-2000:])


if __name__ == "__main__":
    longer = () if os.environ.get("IG_TEST_QUICK") else (example, rays)
    for test in (elementwise, blocks, reductions, products, protocols, xarrays, cluster, *longer):
        attempt(test.__name__, test)
    finish()
