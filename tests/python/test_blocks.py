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


attempt("open", test_open)
finish()
