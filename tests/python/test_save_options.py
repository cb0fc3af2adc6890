"""The options of save for stores, by what zarr-python reads: chunks, shards, compressors, the fill value, attributes, names of axes."""
import os
import tempfile

from against import attempt, check, finish, ig, np, says, skip

try:
    import zarr
except ImportError:
    zarr = None

VALUES = np.random.default_rng(7).normal(size=(60, 50)).astype(np.float32)


def saved(folder, **options):
    path = os.path.join(folder, "y.zarr")
    ig.save(path, VALUES, **options)
    check(f"Ingot reads {options}", np.array_equal(np.asarray(ig.open(path)), VALUES))
    y = zarr.open_array(path, mode="r")
    check(f"zarr-python reads {options}", np.array_equal(y[:], VALUES))
    return y


def test_chunks():
    with tempfile.TemporaryDirectory() as folder:
        for chunks, want in (((20, 10), (20, 10)), ([7, 50], (7, 50)), (16, (16, 16)), ((-1, 5), (60, 5)), (np.int64(9), (9, 9)), ("auto", (60, 50)),
                             (None, (60, 50)), ((100, 50), (100, 50))):
            y = saved(folder, chunks=chunks)
            check(f"chunks={chunks!r}", y.chunks == want and y.shards is None, f"are {y.chunks}, {y.shards}")
        y = saved(folder, chunks=(20, 10), shards=(40, 20))
        check("shards", y.chunks == (20, 10) and y.shards == (40, 20), f"are {y.chunks}, {y.shards}")
        y = saved(folder, chunks=(7, 10), shards=-1)
        check("shards of the whole axes", y.chunks == (7, 10) and y.shards == (63, 50), f"are {y.chunks}, {y.shards}")
        ig.save(f"{folder}/r.zarr", ig.asarray(VALUES).rechunk(30, 25), chunks=(10, 10))
        check("chunks win over rechunk", zarr.open_array(f"{folder}/r.zarr").chunks == (10, 10))


def kinds(y):
    """What zarr.json says of each compressor: its name, and what differs between the cases below."""
    return [(c.to_dict()["name"], *[str(v) for k, v in c.to_dict().get("configuration", {}).items() if k in ("level", "clevel", "cname", "shuffle")])
            for c in y.compressors]


def test_compressors():
    from zarr import codecs
    with tempfile.TemporaryDirectory() as folder:
        for given, want in ((None, []), ("none", []), ([], []), ("zstd:5", [("zstd", "5")]), ("gzip:2", [("gzip", "2")]),
                            ("zstd:1,crc32c", [("zstd", "1"), ("crc32c",)]), (["zstd:1", "crc32c"], [("zstd", "1"), ("crc32c",)]),
                            ("blosc:zstd:3:bitshuffle", [("blosc", "zstd", "3", "bitshuffle")]),
                            (codecs.ZstdCodec(level=4), [("zstd", "4")]), (codecs.GzipCodec(level=6), [("gzip", "6")]),
                            ([codecs.ZstdCodec(level=4), codecs.Crc32cCodec()], [("zstd", "4"), ("crc32c",)]),
                            (codecs.BloscCodec(cname="lz4", clevel=7), [("blosc", "lz4", "7", "shuffle")]),
                            (codecs.BloscCodec(cname="zstd", clevel=2, shuffle="noshuffle"), [("blosc", "zstd", "2", "noshuffle")]),
                            ({"name": "zstd", "configuration": {"level": 2}}, [("zstd", "2")])):
            for key in ("compressors", "codecs"):
                try:
                    y = saved(folder, chunks=(30, 25), **{key: given})
                except RuntimeError as error:  # the library of the codec
                    if "not installed" not in str(error):
                        raise
                    skip(f"{key}={given!r}", error)
                    continue
                check(f"{key}={given!r}", kinds(y) == want, f"are {kinds(y)}")
        y = saved(folder, codecs="big,transpose,none")
        check("big-endian elements", y.serializer.endian.value == "big", y.serializer)


def test_metadata():
    with tempfile.TemporaryDirectory() as folder:
        attributes = {"units": "K", "levels": [1, 2.5, None], "title": "Größe \"x\"", "deep": {"a": True}}
        y = saved(folder, attributes=attributes, dimension_names=("time", None), fill_value=-1.5)
        check("attributes", dict(y.attrs) == attributes, dict(y.attrs))
        check("dimension_names", y.metadata.dimension_names == ("time", None), y.metadata.dimension_names)
        check("fill_value", y.fill_value == -1.5, y.fill_value)
        check("fill_value NaN", np.isnan(saved(folder, fill_value=float("nan")).fill_value))
        check("no fill value is 0", saved(folder).fill_value == 0)
        ig.save(f"{folder}/i.zarr", ig.arange(10), fill_value=-2**53)
        check("fill_value of integers", zarr.open_array(f"{folder}/i.zarr").fill_value == -2**53)


def test_overwrite():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/y.zarr"
        ig.save(path, VALUES, overwrite=False)
        says("overwrite=False", OSError, ["y.zarr", "there already", "overwrite"], lambda: ig.save(path, VALUES + 1, overwrite=False))
        check("it is not replaced", np.array_equal(zarr.open_array(path)[:], VALUES))
        ig.save(path, VALUES + 1, overwrite=True)
        check("it is replaced", np.array_equal(zarr.open_array(path)[:], VALUES + 1))


def test_errors():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/y.zarr"
        for options, kind, words in (
                ({"chunks": (20,)}, ValueError, ["chunks", "lengths is 1", "2 dimensions", "give one for each"]),
                ({"chunks": (20, 0)}, ValueError, ["chunks", "length 0", "axis 1", "give a larger one"]),
                ({"chunks": "large"}, TypeError, ["chunks", "'large'", "(100, 100)"]),
                ({"chunks": (1.5, 2)}, TypeError, ["chunks", "1.5"]),
                ({"chunks": (20, 10), "shards": (30, 20)}, ValueError, ["shards", "30", "axis 0", "multiple", "20"]),
                ({"shards": "auto"}, TypeError, ["shards", "'auto'"]),
                ({"compressors": "zip"}, ValueError, ["codecs", "'zip'", "zstd"]),
                ({"compressors": "zstd:99"}, ValueError, ["codecs", "'99'", "zstd", "22"]),
                ({"compressors": "crc32c:3"}, ValueError, ["codecs", "crc32c", "no level"]),
                ({"compressors": "blosc:lz4:5:mix"}, ValueError, ["codecs", "'mix'", "bitshuffle"]),
                ({"compressors": "zstd:1:2"}, ValueError, ["codecs", "':2'", "leave it out"]),
                ({"compressors": 5}, TypeError, ["compressors", "5", "zstd:5"]),
                ({"codecs": {"name": "zstd", "configuration": {"level": 1, "checksum": True}}}, ValueError, ["codecs", "checksum", "crc32c"]),
                ({"codecs": "zstd", "compressors": None}, TypeError, ["compressors", "codecs", "give one"]),
                ({"fill_value": "x"}, TypeError, ["fill_value", "'x'"]),
                ({"fill_value": 2**53 + 1}, ValueError, ["fill_value", "53 bits"]),
                ({"attributes": [1]}, TypeError, ["attributes", "dictionary"]),
                ({"attributes": {"a": float("nan")}}, ValueError, ["attributes", "JSON"]),
                ({"attributes": {"a": object()}}, TypeError, ["attributes", "JSON"]),
                ({"dimension_names": ["x"]}, ValueError, ["dimension_names", "names is 1", "2 dimensions"]),
                ({"dimension_names": [1, 2]}, ValueError, ["dimension_names", "name or null"]),
                ({"dimension_names": "xy"}, TypeError, ["dimension_names", "list of names"]),
                ({"overwrite": "no"}, TypeError, ["overwrite", "True or False"])):
            says(str(options), kind, words, lambda: ig.save(path, VALUES, **options))
        says("fill_value of u8", ValueError, ["fill_value", "300", "uint8"], lambda: ig.save(path, ig.zeros(3, dtype="uint8"), fill_value=300))
        says("fill_value of i64", ValueError, ["fill_value", "int64"], lambda: ig.save(path, ig.arange(3), fill_value=2**63))
        says("fill_value of ints", ValueError, ["fill_value", "1.5", "int64"], lambda: ig.save(path, ig.arange(3), fill_value=1.5))
        check("nothing is written", not os.path.exists(f"{path}/zarr.json"))
        says("options of .npy", TypeError, ["chunks", "y.npy", "leave it out"], lambda: ig.save(f"{folder}/y.npy", VALUES, chunks=3))
        says("options of .npz", TypeError, ["overwrite", "y.npz"], lambda: ig.save(f"{folder}/y.npz", {"a": VALUES}, overwrite=False))


def test_hdf5():
    try:
        import h5py
    except ImportError:
        skip("hdf5", "h5py is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/y.h5"
        try:
            ig.save(path, VALUES, chunks=(20, -1))
        except RuntimeError as error:
            skip("hdf5", error)
            return
        with h5py.File(path) as file:
            check("chunks in HDF5", file["data"].chunks == (20, 50), file["data"].chunks)
            check("elements in HDF5", np.array_equal(file["data"][:], VALUES))
        says("other options in HDF5", RuntimeError, ["y.h5", "attributes", "leave it out"], lambda: ig.save(path, VALUES, attributes={"a": 1}))
        says("overwrite=False in HDF5", OSError, ["y.h5", "there already"], lambda: ig.save(path, VALUES, overwrite=False))
        says("lengths in HDF5", ValueError, ["y.h5", "chunks", "lengths is 1"], lambda: ig.save(path, VALUES, chunks=(3,)))


def test_containers():
    """Checkpoints: containers of arrays, numbers and texts are read as they were written."""
    with tempfile.TemporaryDirectory() as folder:
        state = {"net": {"w": ig.ones((2, 3))}, "epoch": 3, 7: [None, "x", 1.5, (True, ig.arange(2))]}
        for name in ("a.pt", "a.npz"):
            path = os.path.join(folder, name)
            ig.save(path, state)
            back = ig.load(path, map_location="cpu")
            check(f"a container in {name}", set(back) == {"net", "epoch", 7} and back["epoch"] == 3 and back[7][:3] == [None, "x", 1.5])
            check(f"its arrays in {name}", (back["net"]["w"] == 1).all() and back[7][3][1].tolist() == [0, 1] and type(back[7][3]) is tuple)
        path = os.path.join(folder, "b.pt")
        ig.save(path, ig.arange(3))
        check("an array in .pt", ig.load(path).tolist() == [0, 1, 2])
        with open(path, "wb") as file:
            file.write(b"PK\3\4 archive/data.pkl")
        says("a file of PyTorch", ValueError, ["b.pt", "safetensors"], lambda: ig.load(path))
        says("a module", TypeError, ["state_dict"], lambda: ig.save(path, {"net": ig.nn.Linear(1, 1)}))


if zarr is None:
    skip("zarr", "zarr is not installed")
else:
    attempt("chunks", test_chunks)
    attempt("compressors", test_compressors)
    attempt("metadata", test_metadata)
    attempt("overwrite", test_overwrite)
attempt("errors", test_errors)
attempt("hdf5", test_hdf5)
attempt("containers", test_containers)
finish()
