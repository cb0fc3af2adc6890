"""Stores against zarr-python, both ways: every codec and dtype, shards, fill values, key encodings, groups, v2. HDF5 against h5py;
objects of a local server; processes that are killed while they write. With IG_TEST_QUICK each codec has a third of the dtypes.

BUILD names the build, whose tests/unit/store_tool reads and writes. Ends with "N passed, N failed".
"""
import http.server
import json
import logging
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from support.tally import attempt, check, finish, skip

COMMAND = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "ingot"))
TOOL = os.path.join(os.environ.get("BUILD", "build"), "tests/unit/store_tool")
BASE = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
FOLDER = tempfile.TemporaryDirectory(prefix="ingot-store-", dir=BASE)
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]
QUICK = bool(os.environ.get("IG_TEST_QUICK"))
KILLS = 30 if QUICK else 100


def path(name):
    return os.path.join(FOLDER.name, name)


def numbers(shape):
    return ",".join(map(str, shape)) or "-"


def tool(*arguments, data=b""):
    done = subprocess.run([TOOL, *arguments], input=data, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def read(name, shape, dtype, start=None):
    start = start or [0] * len(shape)
    return np.frombuffer(tool("read", path(name), numbers(start), numbers(shape)), dtype).reshape(shape)


def values(dtype, shape):
    """Any bits of the dtype; 0 and 1 for bool. Half of them are small numbers, which compress."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng(count)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    x = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    x[::2] = np.arange(len(x[::2])) % 100
    return x.reshape(shape)


def same(a, b):
    return (a.dtype == b.dtype and a.shape == b.shape
            and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes())


def some_dtypes(i):
    """The dtypes of codec i."""
    return DTYPES[i % 3::3] if QUICK else DTYPES


def ours_to_theirs():
    codecs = ["none", "big", "transpose", "crc32c", "gzip:1", "gzip:9", "zstd", "zstd:-5", "zstd:19", "zstd,crc32c",
              "blosc", "blosc:zstd:3", "blosc:blosclz:9", "blosc:lz4hc", "blosc:zlib", "transpose,big,gzip,crc32c"]
    for i, codec in enumerate(codecs):
        for dtype in some_dtypes(i):
            x = values(dtype, (7, 10, 3))
            for shard in ([], [4, 6, 4]):
                def run(codec=codec, shard=shard, x=x, dtype=dtype):
                    tool("create", path("x"), dtype, "7,10,3", "2,3,2", numbers(shard), codec, "1", data=x.tobytes())
                    z = zarr.open_array(path("x"), mode="r")
                    check(f"written {dtype} {codec} {shard}", same(z[...], x))
                attempt(f"written {dtype} {codec} {shard}", run)


def chunks_that_do_not_compress():
    """Chunks of 512 KiB: the size of each written with zstd, as a part of its elements."""
    rng = np.random.default_rng(1)
    sizes = {
        "uniform": (rng.random(1 << 16), "zstd", 0.99, 1.01),
        "uniform, level 9": (rng.random(1 << 16), "zstd:9", 0.8, 0.96),
        "rounded": (np.round(rng.normal(size=1 << 16), 3), "zstd", 0.1, 0.5),
        "few values of a byte": (rng.normal(size=1 << 19).astype("i1"), "zstd", 0.1, 0.5),
        "long rows": (np.tile(rng.random(1 << 13), 8), "zstd", 0.1, 0.2),
        "zeros after noise": (np.r_[rng.random(1 << 15), np.zeros(1 << 15)], "zstd", 0.4, 0.6),
    }
    for name, (x, codec, least, most) in sizes.items():
        tool("create", path("x"), x.dtype.name, numbers(x.shape), numbers(x.shape), "-", codec, "1", data=x.tobytes())
        part = os.path.getsize(path("x/c/0")) / x.nbytes
        check(f"size of {name}: {part:.2f}", least <= part <= most)
        check(f"elements of {name}", same(zarr.open_array(path("x"), mode="r")[...], x))
        check(f"elements of {name}, read again", same(read("x", x.shape, x.dtype), x))


def their_codecs():
    from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
    yield "none", dict(compressors=None)
    yield "gzip", dict(compressors=GzipCodec(level=6))
    yield "zstd", dict(compressors=ZstdCodec(level=3))
    yield "zstd checksum", dict(compressors=ZstdCodec(level=1, checksum=True))
    yield "zstd crc32c", dict(compressors=[ZstdCodec(), Crc32cCodec()])
    yield "big", dict(serializer=BytesCodec(endian="big"), compressors=None)
    yield "transpose", dict(filters=TransposeCodec(order=(2, 0, 1)), compressors=GzipCodec())
    for cname in ["lz4", "lz4hc", "blosclz", "zlib", "zstd"]:
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"]:
            yield f"blosc {cname} {shuffle}", dict(compressors=BloscCodec(cname=cname, shuffle=shuffle))


def theirs_to_ours():
    for i, (name, options) in enumerate(their_codecs()):
        for dtype in some_dtypes(i):
            x = values(dtype, (7, 10, 3))
            for shard in (None, (4, 6, 4)):
                def run(name=name, options=options, shard=shard, x=x, dtype=dtype):
                    shutil.rmtree(path("y"), ignore_errors=True)
                    z = zarr.create_array(path("y"), shape=x.shape, dtype=dtype, chunks=(2, 3, 2), shards=shard, **options)
                    z[...] = x
                    check(f"read {dtype} {name} {shard}", same(read("y", x.shape, dtype), x))
                    check(f"box {dtype} {name} {shard}",
                          same(read("y", (3, 5, 2), dtype, (2, 4, 1)), x[2:5, 4:9, 1:3].copy()))
                attempt(f"read {dtype} {name} {shard}", run)


def mixed_writes():
    """Both libraries write parts of one array."""
    for shard in ([], [4, 6]):
        x = values("int32", (9, 10))
        tool("create", path("x"), "int32", "9,10", "2,3", numbers(shard), "zstd", "0", data=x.tobytes())
        z = zarr.open_array(path("x"), mode="r+")
        rng = random.Random(5)
        for i in range(30):
            a, b = rng.randrange(9), rng.randrange(10)
            n, m = rng.randint(1, 9 - a), rng.randint(1, 10 - b)
            box = (np.arange(n * m, dtype="int32") + 1000 * i).reshape(n, m)
            x[a:a + n, b:b + m] = box
            if i % 2:
                z[a:a + n, b:b + m] = box
            else:
                tool("write", path("x"), f"{a},{b}", f"{n},{m}", data=box.tobytes())
        check(f"mixed writes {shard}", same(z[...], x) and same(read("x", (9, 10), "int32"), x))


def fills_and_keys():
    fills = [("float32", np.nan), ("float64", -np.inf), ("float16", 1.5), ("int8", -7), ("uint64", 2**64 - 1), ("bool", True),
             ("complex64", 1 + 2j), ("complex128", complex(np.nan, np.inf))]
    for dtype, fill in fills:
        for encoding in ({"name": "default", "separator": "/"}, {"name": "default", "separator": "."},
                         {"name": "v2", "separator": "."}, {"name": "v2", "separator": "/"}):
            shutil.rmtree(path("f"), ignore_errors=True)
            z = zarr.create_array(path("f"), shape=(5, 5), dtype=dtype, chunks=(2, 2), fill_value=fill,
                                  chunk_key_encoding=encoding)
            z[2:4, 2:4] = values(dtype, (2, 2))
            check(f"fill {dtype} {encoding}", same(read("f", (5, 5), dtype), z[...]))
    tool("create", path("x"), "float32", "0", "4", "-", "none", "nan")
    check("fill nan written", np.isnan(zarr.open_array(path("x"), mode="r").fill_value))


def version_2():
    import numcodecs
    compressors = [None, numcodecs.Zlib(3), numcodecs.GZip(5), numcodecs.Zstd(1), numcodecs.Blosc("lz4")]
    for dtype in [*DTYPES, ">i4", ">f8", ">c8"]:
        x = values(np.dtype(dtype).newbyteorder("="), (7, 5)).astype(dtype)
        for compressor in compressors:
            for order in "CF":
                for separator in "./":
                    def run(x=x, dtype=dtype, compressor=compressor, order=order, separator=separator):
                        shutil.rmtree(path("v2"), ignore_errors=True)
                        z = zarr.create_array(path("v2"), shape=x.shape, dtype=dtype, chunks=(3, 2), zarr_format=2,
                                              compressors=compressor, order=order, attributes={"a": [1]},
                                              chunk_key_encoding={"name": "v2", "separator": separator})
                        z[...] = x
                        native = np.dtype(dtype).newbyteorder("=")
                        check(f"v2 {dtype} {compressor} {order} {separator}",
                              same(read("v2", x.shape, native), x.astype(native)))
                    attempt(f"v2 {dtype} {compressor} {order} {separator}", run)
    check("v2 attributes", tool("info", path("v2")).split(None, 4)[4].split() == b'{ "a": [ 1 ] }'.split())


def named_axes():
    """A data set with coordinates, as xarray sees it."""
    data = np.arange(12, dtype="f4").reshape(3, 4)
    tool("name", path("d/x"), "f32", "3,4", '["time", "place"]', '{"units": "K"}', path("d"), data=data.tobytes())
    tool("name", path("d/time"), "f64", "3", '["time"]', "{}", "", data=np.array([1.0, 2, 4]).tobytes())
    z = zarr.open_array(path("d/x"))
    check("names of axes", z.metadata.dimension_names == ("time", "place"), z.metadata.dimension_names)
    check("elements with names", same(z[:], data))
    for wrong in ('["time"]', "[1, 2]", '"time"', '["a", "b"', '["a", "b"] 3'):
        try:
            tool("name", path("e"), "f32", "3,4", wrong, "{}", "", data=data.tobytes())
            check(f"names {wrong}", False)
        except RuntimeError as error:
            check(f"names {wrong}", "dimension_names" in str(error), error)
    try:
        import xarray
    except ImportError as error:
        return skip("xarray", str(error))
    for consolidated in (False, True):
        if consolidated:
            tool("consolidate", path("d"))
        d = xarray.open_zarr(path("d"), consolidated=consolidated, chunks=None)
        check("xarray's data set", d.x.dims == ("time", "place") and d.x.attrs["units"] == "K" and "time" in d.coords, d)
        check("xarray's elements", same(d.x.sel(time=4.0).values, data[2]))


def groups():
    for version in (3, 2):
        for consolidated in (False, True):
            shutil.rmtree(path("g"), ignore_errors=True)
            g = zarr.create_group(path("g"), zarr_format=version, attributes={"title": "t"})
            g.create_array("x", shape=(4,), dtype="f4")[:] = np.arange(4)
            g.create_group("inner").create_array("y", shape=(2, 2), dtype="i2")[:] = 5
            if consolidated:
                zarr.consolidate_metadata(path("g"))
            check(f"group v{version} {consolidated}", tool("group", path("g")) == b"group inner\narray x\n")
            check(f"group member v{version} {consolidated}",
                  same(read("g/inner/y", (2, 2), "int16"), np.full((2, 2), 5, "int16")))
    shutil.rmtree(path("g"))
    g = zarr.create_group(path("g"), attributes={"title": "t"})
    g.create_array("x", shape=(4,), dtype="f4")[:] = np.arange(4)
    g.create_group("inner").create_array("y", shape=(2, 2), dtype="i2")
    tool("consolidate", path("g"))
    g = zarr.open_consolidated(path("g"))
    check("consolidated by us", sorted(g.members()) is not None and sorted(n for n, _ in g.members(max_depth=None)) ==
          ["inner", "inner/y", "x"] and g.attrs["title"] == "t")


def bfloat16():
    """zarr-python has no bf16 of its own: the name in the metadata is that of the registry of extensions."""
    tool("create", path("x"), "bf16", "4", "2", "-", "none", "1.5", data=b"\x80\x3f" * 4)
    with open(path("x/zarr.json"), encoding="utf-8") as file:
        check("bfloat16", json.load(file)["data_type"] == "bfloat16")


def hdf5():
    try:
        import h5py
    except ImportError:
        return skip("hdf5", "h5py is not installed")
    x = np.arange(35).reshape(7, 5) - 3
    dtypes = [*DTYPES, ">i4", ">f8", ">c8"]
    with h5py.File(path("x.h5"), "w") as file:
        for dtype in dtypes:
            file.create_dataset("g/" + dtype.replace(">", "big"), data=(x > 2 if dtype == "bool" else x.astype(dtype)),
                                chunks=(3, 2), compression="gzip")
        file["plain"], file["scalar"], file["words"] = np.arange(6.0), 3.5, [b"abc"]
        file["out"] = h5py.ExternalLink(path("y.h5"), "/x")
    with h5py.File(path("y.h5"), "w") as file:
        file["x"] = np.arange(3, dtype="i2")
    try:
        read("y.h5", (3,), "int16")
    except RuntimeError as error:
        if "not installed" in str(error):
            return skip("hdf5", "libhdf5 is not installed")
        raise
    for dtype in dtypes:
        expected = (x > 2 if dtype == "bool" else x.astype(np.dtype(dtype).newbyteorder("=")))
        check(f"hdf5 {dtype}", same(read("x.h5/g/" + dtype.replace(">", "big"), (4, 3), expected.dtype, (2, 1)),
                                    np.ascontiguousarray(expected[2:6, 1:4])))
    check("hdf5 plain", same(read("x.h5/plain", (2,), "float64", (3,)), np.array([3.0, 4.0])))
    check("hdf5 scalar", read("x.h5/scalar", (), "float64") == 3.5)
    for name, why in [("words", "not numbers"), ("out", "another file"), ("g", "no dataset"), ("none", "no dataset"),
                      ("", "name a dataset")]:
        try:
            tool("info", path("x.h5/" + name if name else "x.h5"))
            check(f"hdf5 refuses {name}", False)
        except RuntimeError as error:
            check(f"hdf5 refuses {name}", why in str(error), str(error))


def hdf5_damaged():
    """Damage that crashes libhdf5, and other damage, is an error with a message, or is read."""
    try:
        import h5py
    except ImportError:
        return skip("hdf5 damaged", "h5py is not installed")
    with h5py.File(path("whole.h5"), "w", libver=("earliest", "v108")) as file:
        file.create_dataset("x", data=np.arange(600.0).reshape(30, 20), chunks=(7, 6), compression="gzip")
    with open(path("whole.h5"), "rb") as file:
        whole = file.read()
    heap = whole.index(b"TREE") - 8  # the address of the root's names: libhdf5 1.10 follows it to a null pointer
    for at in [heap, *range(8, 1600, 40)]:
        with open(path("damaged.h5"), "wb") as file:
            file.write(whole[:at] + b"\xff" * 8 + whole[at + 8:])
        p = subprocess.run([COMMAND, "eval", 'load("damaged.h5/x")'], capture_output=True, text=True, cwd=FOLDER.name)
        if at == heap and "not installed" in p.stderr:
            return skip("hdf5 damaged", "libhdf5 is not installed")
        check(f"hdf5 damaged at {at}", p.returncode == 0 or p.returncode == 5 and "damaged.h5" in p.stderr or
              p.returncode == 4 and "not numbers" in p.stderr, (p.returncode, p.stderr))
        if at == heap:
            check("hdf5 damaged: the child crashes or fails", p.returncode == 5, p.returncode)
    with h5py.File(path("enum.h5"), "w") as file:
        file["x"] = np.array([0, 2], "i1").astype(h5py.enum_dtype({"RED": 0, "BLUE": 2}, basetype="i1"))
    p = subprocess.run([COMMAND, "eval", 'load("enum.h5")'], capture_output=True, text=True, cwd=FOLDER.name)
    check("hdf5: an enum is not a bool", p.returncode == 4 and "not numbers" in p.stderr, p.stderr)


def hdf5_written():
    """load and save of the command against h5py."""
    try:
        import h5py
    except ImportError:
        return skip("hdf5 written", "h5py is not installed")

    def ingot(program, *options, **more):
        return subprocess.run([COMMAND, "eval", *options, program], capture_output=True, text=True, cwd=FOLDER.name, **more)
    if "not installed" in ingot('save(1, "one.h5")').stderr:
        return skip("hdf5 written", "libhdf5 is not installed")
    for dtype in DTYPES:
        x = (np.arange(35).reshape(7, 5) - 3).astype(dtype)
        np.save(path("h.npy"), x)
        p = ingot(f'x = load("h.npy"); save("h{dtype}.h5/g/x", rechunk(x, 3, 2)); y = load("h{dtype}.h5/g/x"); print(all(x == y))')
        check(f"hdf5 written {dtype}", p.stdout.split() == ["True"], p.stderr)
        with h5py.File(path(f"h{dtype}.h5")) as f:
            check(f"hdf5 written {dtype} for h5py", same(f["g/x"][...], x) and f["g/x"].chunks == (3, 2), f["g/x"].dtype)
    p = ingot('save(3.5, "h.h5"); print(load("h.h5")); save(zeros([0, 3]), "h.h5"); print(shape(load("h.h5")))')
    check("hdf5 written: one number, and none", p.stdout.split("\n")[:2] == ["3.5", "(0, 3)"], p.stderr)
    p = ingot('save(normal(key(1), [3000, 500]), "h.zarr"); save(rechunk(open("h.zarr") * 2, 100, 500), "h.h5"); '
              'print(all(open("h.h5") == 2 * load("h.zarr")))', "--memory-limit", "24MiB")
    check("hdf5 written in blocks", p.stdout.split() == ["True"], p.stderr)

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    p = ingot('save(open("h.zarr"), "h.h5")', preexec_fn=small)
    check("hdf5 on a full disk is an error", p.returncode > 0 and "save 'h.h5'" in p.stderr, p.stderr)
    p = ingot('print(all(open("h.h5") == 2 * load("h.zarr")))')
    check("hdf5 on a full disk: the old file stays", p.stdout.split() == ["True"], p.stderr)
    check("no temporary file stays", not [name for name in os.listdir(FOLDER.name) if ".tmp-" in name])
    p = ingot('save(ones(3), "h.h5/other")')
    check("hdf5: no dataset is added", p.returncode > 0 and "adds no datasets" in p.stderr, p.stderr)


def options_of_save():
    """The options of save in the command, by what zarr-python reads."""
    def ingot(program):
        return subprocess.run([COMMAND, "eval", program], capture_output=True, text=True, cwd=FOLDER.name)
    p = ingot('x = reshape(arange(3000), 60, 50); save("o.zarr", x, chunks=[20, 10], shards=40, compressors=["gzip:2", "crc32c"], '
              """fill_value=-3, attributes='{"units": "K"}', dimension_names=["time", None])""")
    check("options of save", p.returncode == 0, p.stderr)
    z = zarr.open_array(path("o.zarr"), mode="r")
    codecs = [c.to_dict()["name"] for c in z.compressors]
    check("options of save: elements", np.array_equal(z[:], np.arange(3000).reshape(60, 50)))
    check("options of save: chunks", (z.chunks, z.shards) == ((20, 10), (40, 40)), f"{z.chunks} {z.shards}")
    check("options of save: codecs", codecs == ["gzip", "crc32c"] and z.compressors[0].level == 2, codecs)
    check("options of save: metadata", z.fill_value == -3 and dict(z.attrs) == {"units": "K"} and
          z.metadata.dimension_names == ("time", None), z.metadata)
    p = ingot('save(ones(9, 8), "o.zarr", chunks=(-1, 4), codecs=None)')  # the path comes second
    z = zarr.open_array(path("o.zarr"), mode="r")
    check("options after the path", (z.shape, z.chunks, z.compressors) == ((9, 8), (9, 4), ()), p.stderr)
    p = ingot('save("o.zarr", 1, overwrite=False)')
    check("overwrite=False", p.returncode > 0 and "there already" in p.stderr and zarr.open_array(path("o.zarr")).shape == (9, 8), p.stderr)
    p = ingot('save("n.npz", [1], chunks=[2, 3])')  # a name there
    check("names of options in an .npz file", sorted(np.load(path("n.npz"))) == ["arr_0", "chunks"], p.stderr)


class Server(http.server.BaseHTTPRequestHandler):
    """Serves FOLDER. The first part of a path is a mood: "busy" refuses the first two requests for each object, "cut"
    ends the first answer too early, "whole" does not know ranges."""
    protocol_version = "HTTP/1.1"
    asked = {}

    def log_message(self, *_):
        pass

    def answer(self, code, content=b"", length=None):
        self.send_response(code)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def do_GET(self):
        mood, _, name = self.path.lstrip("/").partition("/")
        count = self.asked[self.path] = self.asked.get(self.path, 0) + 1
        if mood == "busy" and count < 3:
            return self.answer(503)
        if not os.path.isfile(path(name)):
            return self.answer(404, b"none")
        with open(path(name), "rb") as file:
            content = file.read()
        if mood == "cut" and count < 2:
            self.close_connection = True
            return self.answer(200, content[:3], len(content))
        wanted = self.headers.get("Range")
        if not wanted or mood == "whole":
            return self.answer(200, content)
        first, last = wanted.removeprefix("bytes=").split("-")
        part = content[int(first):int(last) + 1] if first else content[-int(last):]
        return self.answer(206, part)

    do_HEAD = do_GET


def servers():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.handle_error = lambda *_: None  # clients end connections that they do not need
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    x = values("float32", (7, 10))

    def box(url, env=None):
        done = subprocess.run([TOOL, "read", url, "1,2", "5,7"], capture_output=True, env={**os.environ, **(env or {})})
        return done.stdout if done.returncode == 0 else done.stderr.decode()

    expected = np.ascontiguousarray(x[1:6, 2:9]).tobytes()
    for shard in ([], [4, 6]):
        for codec in ("none", "gzip,crc32c"):
            tool("create", path("web"), "float32", "7,10", "2,3", numbers(shard), codec, "0", data=x.tobytes())
            got = box(f"{address}/calm/web")
            if isinstance(got, str) and "not installed" in got:
                return skip("servers", "libcurl is not installed")
            check(f"http {shard} {codec}", got == expected, got)
            Server.asked.clear()
            got = box(f"{address}/busy/web")
            check(f"http busy {shard} {codec}", got == expected, got)
            Server.asked.clear()
            got = box(f"{address}/cut/web")
            check(f"http cut {shard} {codec}", got == expected, got)
            got = box(f"{address}/whole/web")
            check(f"http without ranges {shard} {codec}", "does not support ranges" in got if shard else got == expected, got)
            for env in ({}, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "t"}):
                got = box("s3://calm/web", {"AWS_ENDPOINT_URL": address, **env})
                check(f"s3 {shard} {codec}", got == expected, got)
    os.remove(path("web/c/0/0"))
    tool("create", path("web"), "float32", "7,10", "2,3", "-", "none", "0", data=x.tobytes())
    os.remove(path("web/c/1/1"))
    there = x.copy()
    there[2:4, 3:6] = 0
    check("http missing chunk", box(f"{address}/calm/web") == np.ascontiguousarray(there[1:6, 2:9]).tobytes())
    with open(path("web/c/1/1"), "wb") as file:
        file.write(b"x" * 100000)
    check("http large chunk", "more than the" in str(box(f"{address}/calm/web")), box(f"{address}/calm/web"))
    check("http no array", "no array" in str(box(f"{address}/calm/none")))
    server.shutdown()


def kills():
    """A process that writes versions of an array is killed at random moments: each shard is one version, whole."""
    rng = random.Random(11)
    newest = 0
    for i in range(KILLS):
        process = subprocess.Popen([TOOL, "loop", path("kill")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stdout.readline().strip()
        time.sleep(rng.uniform(0, 0.01))
        process.kill()
        error = process.communicate()[1]
        version = int(line.split()[1]) if line.startswith("version ") else -1
        check(f"kill {i}: {line} {error}", version >= newest and not error)
        newest = max(newest, version)
    left = [name for _, _, names in os.walk(path("kill")) for name in names if name.startswith(".tmp-")]
    # Only a kill between the last two system calls of a write that replaces a file leaves one.
    check(f"{len(left)} temporary files remain", len(left) <= KILLS // 3)
    check("versions were written", newest > 0)
    process = subprocess.Popen([TOOL, "loop", path("kill")], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    left = [name for _, _, names in os.walk(path("kill")) for name in names
            if name.startswith(".tmp-") and not name.startswith(f".tmp-{process.pid}-")]
    process.kill()
    process.communicate()
    check("the next writer has removed them", not left)


def places(value, place=()):
    """The place of each value in the JSON value, the outer ones first."""
    yield place
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*place, key))


def damaged_metadata():
    """Each value of zarr.json is replaced by others. The array is refused, or has the elements that the new shape names; no read
    takes more than a moment of CPU time."""
    def run(expression):
        return subprocess.run([COMMAND, "eval", "--memory-limit", "200MiB", expression], capture_output=True, text=True, cwd=FOLDER.name,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
    said = run('save(reshape(arange(600.0), [20, 30]), "damaged.zarr", chunks=[7, 8])')
    file = path("damaged.zarr/zarr.json")
    with open(file, encoding="utf-8") as f:
        text = f.read()
    check("an array to damage", said.returncode == 0 and run('sum(open("damaged.zarr"))').stdout == "179700.0\n", said.stderr)
    others = [None, 0, -1, 2**31, 2**63, 1e308, "x", [], {}, [2**62, 2**62]]
    for place in list(places(json.loads(text)))[1:]:
        wrong = []
        for other in others[::3] if QUICK else others:
            changed = json.loads(text)
            at = changed
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = other
            with open(file, "w", encoding="utf-8") as f:
                json.dump(changed, f)
            done = run('sum(open("damaged.zarr"))')
            fine = done.stdout == ("0.0\n" if place[0] == "shape" and other == 0 else "179700.0\n")
            if not (fine if done.returncode == 0 else 0 < done.returncode < 6 and done.stderr):
                wrong.append(f"{other}: {done.returncode} {done.stdout}{done.stderr}")
        check(f"zarr.json: {place}", not wrong, "\n".join(wrong))


def bucket():
    """S3 as moto serves it: requests must be signed by a user who may read."""
    try:
        import boto3
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        return skip("moto", str(error))
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    owner = {"endpoint_url": address, "region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    boto3.client("iam", **owner).create_user(UserName="reader")
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    boto3.client("iam", **owner).put_user_policy(UserName="reader", PolicyName="p", PolicyDocument=json.dumps(allowed))
    keys = boto3.client("iam", **owner).create_access_key(UserName="reader")["AccessKey"]
    s3 = boto3.client("s3", **owner)
    s3.create_bucket(Bucket="data")
    x = values("float32", (7, 10))
    for shard in ([], [4, 6]):
        tool("create", path("web"), "float32", "7,10", "2,3", numbers(shard), "zstd,crc32c", "0", data=x.tobytes())
        for folder, _, names in os.walk(path("web")):
            for name in names:
                file = os.path.join(folder, name)
                s3.upload_file(file, "data", f"x{len(shard)}.zarr/" + os.path.relpath(file, path("web")))
    checks = urllib.request.Request(f"{address}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
    urllib.request.urlopen(checks).read()  # from now on signatures are checked

    def read_all(name, secret):
        env = {**os.environ, "AWS_ENDPOINT_URL": address, "AWS_REGION": "us-east-1",
               "AWS_ACCESS_KEY_ID": keys["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": secret}
        return subprocess.run([TOOL, "read", f"s3://data/{name}", "0,0", "7,10"], capture_output=True, env=env)

    for name in ("x0.zarr", "x2.zarr"):
        done = read_all(name, keys["SecretAccessKey"])
        check(f"moto {name}", done.stdout == x.tobytes(), done.stderr)
    denied = read_all("x0.zarr", "another secret")
    check("moto, another secret", denied.returncode == 1 and b"403" in denied.stderr, denied.stderr)
    check("moto, no array", b"no array" in read_all("y.zarr", keys["SecretAccessKey"]).stderr)
    server.stop()


def main():
    kills()
    damaged_metadata()
    if zarr is None:
        skip("zarr-python", "it is not installed")
        return finish()
    ours_to_theirs()
    chunks_that_do_not_compress()
    theirs_to_ours()
    mixed_writes()
    fills_and_keys()
    version_2()
    groups()
    named_axes()
    bfloat16()
    hdf5()
    hdf5_damaged()
    hdf5_written()
    options_of_save()
    servers()
    bucket()
    return finish()


if __name__ == "__main__":
    try:
        import numpy as np
        import zarr
    except ImportError:
        zarr = None
    sys.exit(main())
