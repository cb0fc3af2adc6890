"""Libraries that know NumPy's arrays take arrays of this library: pandas, xarray, scikit-learn, PIL, einops, safetensors, pyarrow,
polars. Each is skipped where it is not installed."""
import importlib.util
import os
import tempfile
import warnings

from against import attempt, check, finish, ig, np, raises, rng, same, skip

warnings.simplefilter("ignore")
X = rng.standard_normal((60, 3))
Y = (X[:, 0] > 0).astype(int)


def test_pandas():
    import pandas as pd
    frame, v = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6]}), ig.asarray([1.0, 2, 3], dtype="float64")
    check("a matrix", isinstance(frame * ig.ones((3, 2)), pd.DataFrame) and (frame * ig.ones((3, 2))).equals(frame))
    same("a column", (frame["a"] * v).to_numpy(), np.array([1.0, 4, 9]))
    same("from the left", (v * frame["a"]).to_numpy(), np.array([1.0, 4, 9]))
    same("a mask", frame[v > 1.5].to_numpy(), np.array([[2.0, 5], [3, 6]]))
    same("loc", frame.loc[v > 1.5].to_numpy(), np.array([[2.0, 5], [3, 6]]))
    same("assign", frame.assign(c=v)["c"].to_numpy(), np.array([1.0, 2, 3]))
    same("Series", pd.Series(v).to_numpy(), np.array([1.0, 2, 3]))
    same("groupby", frame.groupby(ig.asarray([1, 0, 1])).sum().to_numpy(), np.array([[2.0, 5], [4, 10]]))
    same("groupby of a column", frame["a"].groupby(ig.asarray([1, 0, 1])).sum().to_numpy(), np.array([2.0, 4]))
    check("groupby(by=)", len(frame.groupby(by=ig.asarray([1, 0, 1]))) == 2)
    check("groupby(level=)", frame.groupby(level=0).sum().equals(frame))
    codes, values = pd.factorize(ig.asarray([3, 1, 3]))
    check("factorize", codes.tolist() == [0, 1, 0] and values.tolist() == [3, 1])
    check("unique", pd.unique(ig.asarray([3, 1, 3])).tolist() == [3, 1] and list(pd.Categorical(ig.asarray([3, 1, 3])).codes) == [1, 0, 1])
    check("isin", frame["a"].isin(v[1:]).tolist() == [False, True, True])
    frame.loc[v > 2.5, "b"] = 0
    frame[v > 1.5] = ig.asarray(-1.0)
    same("loc with a column", frame["b"].to_numpy(), np.array([4.0, -1, -1]))
    check("elements", pd.Series(list(v)).tolist() == [1, 2, 3] and pd.Series([1.0, 2, 3]).map({1.0: v[0]}).isna().sum() == 2)
    same("asarray", ig.asarray(frame), frame.to_numpy())


def test_xarray():
    import xarray as xr

    def pair(data):
        return xr.DataArray(data, dims=("x", "y"), coords={"x": [10, 20, 30]})

    mine, theirs = pair(ig.asarray(np.arange(12.0).reshape(3, 4))), pair(np.arange(12.0).reshape(3, 4))
    weights = xr.DataArray([1.0, 2, 3], dims="x")
    methods = {
        "where": lambda z: z.where(z > 3), "where(other)": lambda z: z.where(z > 3, -1), "shift": lambda z: z.shift(x=1),
        "reindex": lambda z: z.reindex(x=[10, 15, 30]), "pad": lambda z: z.pad(y=1), "rolling": lambda z: z.rolling(y=2).mean(), "rolling max": lambda z: z.rolling(y=2).max(),
        "std": lambda z: z.std("x"), "var": lambda z: z.var("x", ddof=1), "corr": lambda z: xr.corr(z, z * 2 + 1, "x"),
        "cov": lambda z: xr.cov(z, z, "x"), "weighted": lambda z: z.weighted(weights).mean("x"), "fillna": lambda z: z.where(z > 3).fillna(0),
        "polyfit": lambda z: z.polyfit("x", 1)["polyfit_coefficients"], "idxmax": lambda z: z.idxmax("x"), "median": lambda z: z.median("x"),
        "quantile": lambda z: z.quantile(0.3, "x"), "cumsum": lambda z: z.cumsum("x"), "sel": lambda z: z.sel(x=22, method="nearest"),
        "groupby": lambda z: z.groupby("x").mean(), "coarsen": lambda z: z.coarsen(y=2).mean(), "dropna": lambda z: z.where(z > 3).dropna("x")}
    for name, method in methods.items():
        got, want = method(mine), method(theirs).to_numpy()
        check(f"xarray's {name}", np.allclose(np.asarray(got.data), want, equal_nan=True), f"{got.data} is not {want}")


def test_sklearn():
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler
    x, y = ig.asarray(X), ig.asarray(Y)
    same("StandardScaler", StandardScaler().fit_transform(x), StandardScaler().fit_transform(X))
    same("KMeans", KMeans(2, n_init=1, random_state=0).fit(x).labels_, KMeans(2, n_init=1, random_state=0).fit(X).labels_)
    check("LogisticRegression", LogisticRegression().fit(x, y).score(x, y) > 0.9)
    check("train_test_split", [p.shape[0] for p in train_test_split(x, y, test_size=0.25)] == [45, 15, 45, 15])


def test_PIL():
    from PIL import Image
    pixels = np.arange(48, dtype="u1").reshape(4, 4, 3)
    same("fromarray", np.asarray(Image.fromarray(ig.asarray(pixels))), pixels)
    same("asarray", ig.asarray(Image.fromarray(pixels)), pixels)
    same("asarray of gray", ig.asarray(Image.fromarray(pixels[..., 0])), pixels[..., 0])


def test_einops():
    import einops
    x = ig.asarray(np.arange(24.0).reshape(2, 3, 4))
    check("rearrange", einops.rearrange(x, "a b c -> c (a b)").shape == (4, 6))
    same("reduce", einops.reduce(x, "a b c -> a", "mean"), np.array([5.5, 17.5]))
    check("repeat", einops.repeat(x, "a b c -> a b c r", r=2).shape == (2, 3, 4, 2))
    same("gradient", ig.grad(lambda v: einops.rearrange(v, "a b -> (b a)")[1])(ig.ones((2, 2))), np.array([[0, 0], [1, 0]], "f4"))


def test_safetensors():
    from safetensors.numpy import load_file, save_file
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.safetensors")
        save_file({"w": ig.asarray(X).T, "b": ig.arange(3)}, path)
        same("a view", load_file(path)["w"], X.T)
        same("integers", load_file(path)["b"], np.arange(3))
        raises("bfloat16, which NumPy lacks", AttributeError, lambda: save_file({"w": ig.ones(2, dtype="bfloat16")}, path), "ig.save")
        raises("its address", AttributeError, lambda: ig.ones(2, dtype="bfloat16").ctypes, "ig.save")


def test_pyarrow():
    import pyarrow
    x = ig.asarray(X[:, 0].copy())
    taken = pyarrow.array(x)
    same("pyarrow.array", taken.to_numpy(), X[:, 0])
    check("without a copy", taken.buffers()[1].address == x.ctypes.data)
    same("asarray", ig.asarray(taken), X[:, 0])


def test_polars():
    import polars
    x = ig.asarray(X[:, 0].copy())
    same("Series", polars.Series("x", x).to_numpy(), X[:, 0])
    same("asarray", ig.asarray(polars.Series("x", [1.0, 2.0])), np.array([1.0, 2.0]))
    check("without a copy", polars.Series("x", x).to_numpy(allow_copy=False).ctypes.data == x.ctypes.data)
    same("DataFrame", polars.DataFrame(ig.asarray(X)).to_numpy(), X)


def test_zarr():
    import xarray
    with tempfile.TemporaryDirectory() as folder:
        xarray.DataArray(ig.asarray(X), dims=("x", "y"), name="w").to_zarr(folder + "/w.zarr")
        same("to_zarr", xarray.open_zarr(folder + "/w.zarr")["w"].to_numpy(), X)
    same("bytes", ig.asarray([1, 258], dtype="int32").view(dtype="B"), np.array([1, 0, 0, 0, 2, 1, 0, 0], "u1"))


def test_plotly():
    from plotly import graph_objects
    check("plotly", graph_objects.Figure(graph_objects.Scatter(y=ig.arange(3.0))).to_json() == graph_objects.Figure(
        graph_objects.Scatter(y=np.arange(3, dtype="f4"))).to_json())


def test_datasets():
    import datasets
    rows = datasets.Dataset.from_dict({"x": [[1.0, 2], [3, 4]], "y": [0, 1], "z": ["a", "b"]}).with_format("ingot")
    check("a row", isinstance(rows[0]["x"], ig.Array) and rows[0]["z"] == "a")
    same("a batch", rows[:]["x"], np.array([[1, 2], [3, 4]], "f4"))
    same("a column", next(iter(rows.iter(2)))["y"], np.array([0, 1]))


def test_numba():
    import numba

    @numba.njit
    def total(a, b):
        s = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                s += a[i, j] * b[j]
        return s

    check("njit", abs(total(ig.asarray(X), ig.arange(3.0, dtype="float64")) - (X @ np.arange(3.0)).sum()) < 1e-9)
    same("a result", ig.asarray(numba.njit(lambda v: v[1:] * 2)(ig.arange(4.0))), np.array([2.0, 4, 6], "f4"))
    x = ig.arange(10.0)

    @numba.njit
    def number(v):
        for i in range(v.size):
            v[i] = -i

    number(x[1::3])
    check("elements of a view are written", x.tolist() == [0, 0, 2, 3, -1, 5, 6, -2, 8, 9])
    raises("read-only memory", Exception, lambda: number(ig.from_dlpack(np.arange(3.0))))


def test_matplotlib():
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    x = ig.arange(5.0)
    bars = pyplot.bar(x, x + 1)
    check("bar", [b.get_height() for b in bars] == [1, 2, 3, 4, 5])
    check("plot", pyplot.plot(x, x * x)[0].get_ydata().tolist() == [0, 1, 4, 9, 16])
    check("quiver", pyplot.quiver(x, x, ig.ones(5), ig.ones(5)).N == 5)
    check("scatter and imshow", pyplot.scatter(x, x) is not None and pyplot.imshow(ig.ones((2, 2))) is not None)
    check("hist", pyplot.hist(x, bins=5)[0].tolist() == [1, 1, 1, 1, 1])
    pyplot.close("all")


for name, test in list(globals().items()):
    if name.startswith("test_"):
        modules = {"test_zarr": ["zarr", "xarray"]}.get(name, [name.removeprefix("test_")])
        absent = [module for module in modules if importlib.util.find_spec(module) is None]
        if absent:
            skip(name, f"{absent[0]} is not installed")
        else:
            attempt(name, test)
finish()
