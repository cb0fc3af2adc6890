"""Arrays in files, read block by block."""
import os
import tempfile

from against import attempt, check, finish, ig, np, raises


def test_open():
    with tempfile.TemporaryDirectory() as folder:
        values = np.random.default_rng(5).normal(size=(300, 200))
        np.save(f"{folder}/x.npy", values)
        for make in (lambda p: ig.save(p, values), lambda p: ig.save(p, ig.open(f"{folder}/x.npy"))):
            path = os.path.join(folder, "x.zarr")
            make(path)
            x = ig.open(path)
            check("shape and dtype", x.shape == (300, 200) and x.dtype == ig.float64, x.dtype)
            check("elements", np.array_equal(np.asarray(ig.open(path)), values))
            check("a part", np.array_equal(np.asarray(x[10:20, ::3]), values[10:20, ::3]))
            check("a mean", np.array_equal(np.asarray(ig.mean(x, axis=0)), np.asarray(ig.mean(ig.asarray(values), axis=0))))
            centred = os.path.join(folder, "centred.zarr")
            ig.save(centred, x - ig.mean(x, axis=0))
            check("centred", np.allclose(np.asarray(ig.open(centred)), values - values.mean(axis=0), atol=1e-14))
            del x
        raises("a path without a store", OSError, lambda: ig.open(os.path.join(folder, "nowhere.zarr")))


def test_memory_limit():
    with tempfile.TemporaryDirectory() as folder:
        values = np.random.default_rng(6).normal(size=(600, 500))
        path = os.path.join(folder, "x.zarr")
        ig.save(path, values)
        plain = np.asarray(ig.asarray(values).T @ ig.asarray(values))
        ig.set_memory_limit(ig.memory()["used"] + (1 << 10))
        raises("a limit that is too small", MemoryError, lambda: ig.eval(ig.open(path).T @ ig.open(path)))
        ig.set_memory_limit(0)
        check("the limit is restored", np.array_equal(np.asarray(ig.open(path).T @ ig.open(path)), plain))
        raises("a negative limit", OverflowError, lambda: ig.set_memory_limit(-1))


def test_recomputation():
    """A compiled step that does not fit computes values again: the same bits within the limit that its refusal names."""
    def loss(w, x):
        for v in w:
            x = ig.tanh(x @ v) + x
        return ig.mean(x * x)

    w = [ig.asarray(np.random.default_rng(i).normal(size=(48, 48)).astype("f4") / 10) for i in range(8)]
    x = ig.asarray(np.random.default_rng(9).normal(size=(2000, 48)).astype("f4"))
    step = ig.jit(ig.value_and_grad(loss))
    plain = step(w, x)
    ig.eval(plain)
    want = [np.array(plain[0])] + [np.array(g) for g in plain[1]]
    ig.set_memory_limit(ig.memory()["used"] + 1, "cpu")
    try:
        ig.eval(step(w, x))
        check("it is refused", False)
    except MemoryError as refused:
        words = str(refused)
        check("the limit that is enough", "to at least" in words, words)
    ig.set_memory_limit(int(words.split("to at least ")[1].split()[0]))
    found = step(w, x)
    ig.eval(found)
    ig.set_memory_limit(0)
    check("the same bits", all(np.array_equal(a, np.array(b)) for a, b in zip(want, [found[0], *found[1]])))
    raises("a device that does not exist", ig.DeviceError, lambda: ig.set_memory_limit(1, "nowhere"))


def ends(n, chunk):
    return [(i, min(i + chunk, n)) for i in range(0, n, chunk)]


def by_chunks(function, x, chunk, depth=(0, 0), mode="none"):
    """map_overlap by its definition: the border is made by NumPy, and the function gets each chunk with its overlap."""
    modes = {"reflect": "symmetric", "periodic": "wrap", "nearest": "edge"}
    out = np.empty_like(x)
    border = (0, 0) if mode == "none" else depth
    width = [(d, d) for d in border]
    whole = np.pad(x, width, modes[mode]) if mode in modes else np.pad(x, width, constant_values=0 if mode == "none" else mode)
    for r0, r1 in ends(x.shape[0], chunk[0]):
        for c0, c1 in ends(x.shape[1], chunk[1]):
            lo = [max(p + b - d, 0) for p, b, d in zip((r0, c0), border, depth)]
            hi = [p + b + d for p, b, d in zip((r1, c1), border, depth)]
            block = function(whole[lo[0]:hi[0], lo[1]:hi[1]])
            at = [p + b - low for p, b, low in zip((r0, c0), border, lo)]
            out[r0:r1, c0:c1] = block[at[0]:at[0] + r1 - r0, at[1]:at[1] + c1 - c0]
    return out


def sums(block):
    return np.cumsum(np.cumsum(block, 0), 1)


def test_map_blocks():
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        for case in range(25):
            shape = tuple(int(n) for n in rng.integers(1, 90, 2))
            chunk = tuple(int(rng.integers(1, n + 1)) for n in shape)
            values = rng.standard_normal(shape)
            path = f"{folder}/x{case}.zarr"
            ig.save(path, ig.rechunk(ig.asarray(values), chunk))
            x = ig.open(path)
            os.environ["IG_BLOCK_BYTES"] = str(rng.integers(100, 20000))
            name = f"{shape} in {chunk}"
            y = ig.map_blocks(lambda b: sums(np.asarray(b)), x * 1)
            want = by_chunks(sums, values, chunk)
            check(f"map_blocks of {name}", np.array_equal(np.asarray(y), want))
            y = ig.map_blocks(lambda b: ig.sum(b, keepdims=True), x, chunks=(1, 1))
            want = [[np.asarray(ig.sum(ig.asarray(values[a:b, c:d]))) for c, d in ends(shape[1], chunk[1])] for a, b in ends(shape[0], chunk[0])]
            check(f"a number of each chunk of {name}", np.array_equal(np.asarray(y), np.asarray(want)))
            y = ig.map_blocks(lambda a, b, block_id: a * 0 + b + block_id[0], x, ig.asarray(values[0]))
            want = values[0] + (np.arange(shape[0]) // chunk[0])[:, None]
            check(f"several arrays, and block_id, {name}", np.array_equal(np.asarray(y), want))
            for mode in ("reflect", "periodic", "nearest", "none", 3.0):
                depth = tuple(int(rng.integers(0, min(n, 4) + 1)) for n in shape)
                y = ig.map_overlap(lambda b: ig.asarray(sums(np.asarray(b))), x, depth=depth, boundary=mode)
                to = f"{folder}/y{case}{mode}.zarr"
                ig.save(to, y)
                same = np.array_equal(np.asarray(ig.open(to)), by_chunks(sums, values, chunk, depth, mode))
                check(f"map_overlap of {name}, depth {depth}, {mode}", same)
        del os.environ["IG_BLOCK_BYTES"]
        z = rng.standard_normal((20, 30)) + 1j * rng.standard_normal((20, 30))
        y = ig.map_blocks(lambda b, factor: b * factor, ig.rechunk(ig.asarray(z), 7, 8), factor=2)
        check("complex chunks", np.array_equal(np.asarray(y), z * 2))
        check("float32 of float64", ig.map_blocks(lambda b: ig.astype(b, ig.float32), ig.asarray(z.real), dtype=ig.float32).dtype == ig.float32)
        raises("another shape", ig.ShapeError, lambda: ig.eval(ig.map_blocks(lambda b: b[:1], ig.asarray(z))))
        raises("another dtype", ig.ShapeError, lambda: ig.eval(ig.map_blocks(abs, ig.asarray(z))))
        raises("an exception of the function", ZeroDivisionError, lambda: ig.eval(ig.map_blocks(lambda b: 1 // 0, ig.asarray(z))))
        raises("an unknown boundary", ValueError, lambda: ig.map_overlap(abs, ig.asarray(z), depth=1, boundary="far"))
        g = ig.grad(lambda r: ig.sum(ig.rechunk(r, 2) * r))(ig.asarray(np.arange(4.0)))
        check("the gradient of rechunk", np.array_equal(np.asarray(g), 2 * np.arange(4.0)))


def test_against_dask():
    try:
        import dask.array as da
    except ImportError:
        return
    x = np.random.default_rng(3).standard_normal((30, 24))
    for mode in ("reflect", "periodic", "nearest", "none", 3.0):
        want = da.map_overlap(sums, da.from_array(x, chunks=(10, 8)), depth=(2, 3), boundary=mode).compute()
        y = ig.map_overlap(lambda b: sums(np.asarray(b)), ig.rechunk(ig.asarray(x), 10, 8), depth={0: 2, -1: 3}, boundary=mode)
        check(f"map_overlap of Dask, {mode}", np.array_equal(np.asarray(y), want))


attempt("open", test_open)
attempt("memory limit", test_memory_limit)
attempt("recomputation", test_recomputation)
attempt("map_blocks", test_map_blocks)
attempt("dask", test_against_dask)
finish()
