"""Files of arrays."""
import io
import operator
import os

from . import _ingot

_SETS = (".npz", ".safetensors")


def _is_store(path):
    """Whether the file is written block by block."""
    return path.endswith(".zarr") or any(part in f"{path}/" for part in (".h5/", ".hdf5/"))


def _named(call, bytes, ending):
    """call(path) of a temporary file with these bytes; (result, bytes of the file after it)."""
    from tempfile import TemporaryDirectory
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "file" + ending)
        with io.open(path, "wb") as file:
            file.write(bytes)
        result = call(path)
        with io.open(path, "rb") as file:
            return result, file.read()


# A container with arrays, numbers and texts is an .npz file whose array TREE is JSON: a leaf is itself, everything else a list that
# begins with its kind. Files with the endings of PyTorch are such files; files that PyTorch wrote have no TREE.
_TREE, _PICKLED = "__tree__", (".pt", ".pth", ".ckpt", ".bin", ".pkl")


def _encoded(x, name, arrays):
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, (list, tuple)):
        return ["list" if isinstance(x, list) else "tuple", *(_encoded(item, f"{name}.{i}", arrays) for i, item in enumerate(x))]
    if isinstance(x, dict):
        bad = [key for key in x if not isinstance(key, (str, int))]
        if bad:
            raise TypeError(f"save: the key {bad[0]!r} is a {type(bad[0]).__name__}; keys are texts or integers")
        return ["dict", *([key, _encoded(item, f"{name}.{key}", arrays)] for key, item in x.items())]
    if hasattr(x, "state_dict"):
        raise TypeError(f"save: {type(x).__name__} is not an array; save its state_dict()")
    arrays[f"{len(arrays)}{name}"] = _ingot.asarray(x)
    return ["array", f"{len(arrays) - 1}{name}"]


def _decoded(x, arrays):
    if not isinstance(x, list):
        return x
    kind, *items = x
    if kind == "array":
        return arrays[items[0]]
    if kind == "dict":
        return {key: _decoded(item, arrays) for key, item in items}
    return {"list": list, "tuple": tuple}[kind](_decoded(item, arrays) for item in items)


def _save_tree(path, x):
    from json import dumps
    arrays = {}
    text = dumps(_encoded(x, "", arrays))
    _ingot._save_all(path, {**arrays, _TREE: _ingot.asarray(list(text.encode()), dtype="uint8")}, True)


def _nested(x):
    return isinstance(x, dict) and any(x is None or isinstance(x, (dict, list, tuple, bool, int, float, str)) for x in x.values())


class Archive(dict):
    """The arrays of an .npz file by name, with the methods of what numpy.load returns. All are in memory, so nothing is to be closed."""

    files = property(list)

    def close(self):
        """Does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Does nothing."""


def _load_npz(path):
    from .tree_util import register_pytree_node
    register_pytree_node(Archive, lambda a: (list(a.values()), tuple(a)), lambda names, items: Archive(zip(names, items)))
    arrays = _ingot._load_all(path)
    if _TREE not in arrays:
        return Archive(arrays)
    from json import loads
    return _decoded(loads(memoryview(arrays[_TREE]).tobytes()), arrays)


def load(path, *, map_location=None, weights_only=True):
    """Reads an array (.npy, .csv, .tsv, .txt, .zarr, .h5, images), or a dictionary of arrays (.npz, .safetensors, .gguf). In .parquet files,
    which need pyarrow, columns of texts become lists. A file that is open for reading bytes must be .npy or .npz. A container that save wrote
    is read as it was. map_location is a device for the arrays; weights_only is PyTorch's, and pickled objects are never read."""
    if map_location is not None:
        from ._jax import device_put
        from .tree_util import tree_map
        return tree_map(lambda x: device_put(x, map_location) if type(x) is _ingot.Array else x, load(path))
    if hasattr(path, "read"):
        bytes = path.read()
        zipped = bytes[:2] == b"PK"
        if not zipped and bytes[:6] != b"\x93NUMPY":
            raise ValueError("load: an open file must have the format .npy or .npz; give the path of other files")
        return _named(_load_npz if zipped else lambda path: _ingot.asarray(_ingot._load(path)).eval(), bytes, ".npz" if zipped else ".npy")[0]
    if os.fspath(path).endswith(_PICKLED):
        with io.open(path, "rb") as file:
            bytes = file.read()
        found = _named(_load_npz, bytes, ".npz")[0] if b"%s.npy" % _TREE.encode() in bytes else Archive()
        if type(found) is not Archive:
            return found
        raise ValueError(f"load: '{path}': files of pickled objects are not read; save the arrays as .safetensors there: "
                         "safetensors.torch.save_file(net.state_dict(), path)")
    if os.fspath(path).endswith(".parquet"):
        return _load_parquet(path)
    if os.fspath(path).endswith(".npz"):
        return _load_npz(path)
    return _ingot._load_all(path) if os.fspath(path).endswith((*_SETS, ".gguf")) else _ingot._load(path)


def _load_parquet(path):
    """The columns by name: arrays of numbers and bools, lists of texts."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"load: '{path}': .parquet files are read by pyarrow, which is not installed; run pip install pyarrow") from error
    kinds, columns = pyarrow.types, {}
    table = pyarrow.parquet.read_table(path)
    for name, column in zip(table.column_names, table.columns):
        if kinds.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        texts = kinds.is_string(kind) or kinds.is_large_string(kind)
        if name in columns:
            raise ValueError(f"load: '{path}': two columns are named '{name}'")
        if column.null_count:
            raise ValueError(f"load: '{path}': the column '{name}' has {column.null_count} nulls; fill or drop them")
        if not texts and not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise TypeError(f"load: '{path}': the column '{name}' has the type {kind}; numbers, bools and texts can be read")
        columns[name] = column.to_pylist() if texts else _ingot.asarray(column.to_numpy())
    return columns


def open(path):
    """An array in a Zarr store, an .npy file, a folder of them, a table (.csv, .tsv, .txt) or an HDF5 file, which is read block by block
    when it is needed."""
    return _ingot._open(path)


def _same(value, default):
    return value is default or (isinstance(value, str) and value == default)


def _lengths(name, value, ndim):
    """The chunks or shards: a tuple of lengths, or None. One number is for all axes."""
    if value is None:
        return None
    try:
        if not isinstance(value, (tuple, list)):
            return (operator.index(value),) * ndim
        return tuple(operator.index(n) for n in value)
    except TypeError:
        raise TypeError(f"save: {name} takes a length for each axis, such as (100, 100), or one for all; not {value!r}") from None


def _codec(name, codec):
    """One codec as ig_store_create takes it: a text, or the dictionary or object that zarr-python has."""
    if isinstance(codec, str):
        return codec
    left = set(getattr(codec, "_tunable_attrs", ()))  # those that zarr-python chooses by the dtype, as the library does
    if hasattr(codec, "to_dict"):
        codec = codec.to_dict()
    if not isinstance(codec, dict) or not isinstance(codec.get("name"), str):
        raise TypeError(f'save: {name} takes texts such as "zstd:5", codecs of zarr-python, "auto" or None; not {codec!r}')
    kind, set_ = codec["name"], {k: v for k, v in codec.get("configuration", {}).items() if k not in left}
    set_.pop("typesize", None)  # always the element's
    parts = [kind]
    for key in {"blosc": ("cname", "clevel", "shuffle"), "zstd": ("level",), "gzip": ("level",)}.get(kind, ()):
        value = set_.pop(key, None)
        if value is not None:
            parts.append(str(getattr(value, "value", value)))
    for key, value in set_.items():
        if value:
            raise ValueError(f"save: {name}: Ingot cannot set {key}={value!r} of {kind}; leave it out" +
                             (', and add "crc32c" for a checksum' if key == "checksum" else ""))
    return ":".join(parts)


def _codecs(name, value):
    """The codecs as one text; None: the default."""
    if _same(value, "auto"):
        return None
    if value is None:
        return "none"
    if not isinstance(value, (tuple, list)):
        value = [value]
    return ",".join(_codec(name, c) for c in value) or "none"


def _fill(value):
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"save: fill_value takes a real number, not {value!r}") from None
    if isinstance(value, int) and int(number) != value:
        raise ValueError(f"save: fill_value={value} has more than 53 bits; choose a number that is a float64")
    return number


def _json(name, value, kinds, takes):
    if value is None:
        return None
    if not isinstance(value, kinds):
        raise TypeError(f"save: {name} takes {takes}, not {value!r}")
    try:
        from json import dumps  # takes some ms to import
        return dumps(value, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise type(e)(f"save: {name} cannot be written as JSON: {e}") from None


def _is_place(x):
    return isinstance(x, (str, bytes, os.PathLike)) or hasattr(x, "write")


def save(path, x, *, chunks="auto", shards=None, compressors="auto", codecs="auto", fill_value=None, attributes=None,
         dimension_names=None, overwrite=True):
    """Writes an array (.npy, .csv, .tsv, .txt; block by block as a .zarr store or an .h5 file), or a dictionary of arrays (.npz, .safetensors).
    A container of arrays, numbers and texts, such as a checkpoint with state_dict() of a network and an optimizer, is written to .npz, .pt or
    .pth, which load reads, and PyTorch does not.
    save(x, path), as in the calculator, does the same. A file that is open for writing bytes gets .npy, or .npz for a dictionary.

    The keywords are for .zarr stores. An .h5 file has only chunks and overwrite.

    chunks: the shape of chunks, the unit of reading. One number is for all axes, -1 is the whole axis. "auto": the chunks of x.rechunk or
    of the store that x was opened from, else about 1 MiB.
    shards: the shape of shards, the files of several chunks: a multiple of chunks. None: every chunk is a file.
    compressors: "zstd:5", "gzip", "blosc:lz4:5", "zstd,crc32c" (with a checksum), a list of such texts, or codecs of zarr-python. "auto":
    zstd, if it is installed. None: chunks are not compressed. codecs is another name for it; "big" and "transpose" may come first.
    fill_value: the value of elements that are not written, for programs that open the store.
    attributes: a dictionary that JSON can hold. dimension_names: a name or None for each axis, as xarray reads them.
    overwrite: False refuses to replace an array that is there.
    """
    if _is_place(x) and not _is_place(path):
        path, x = x, path
    if hasattr(path, "write"):
        many = isinstance(x, dict)
        path.write(_named(lambda name: save(name, x), b"", ".npz" if many or isinstance(x, (list, tuple)) else ".npy")[1])
        return
    name = os.fsdecode(path)
    options = {"chunks": chunks, "shards": shards, "compressors": compressors, "codecs": codecs, "fill_value": fill_value,
               "attributes": attributes, "dimension_names": dimension_names, "overwrite": overwrite}
    given = [key for key, value in options.items() if not _same(value, save.__kwdefaults__[key])]
    if _is_store(name):
        if "compressors" in given and "codecs" in given:
            raise TypeError("save: compressors and codecs are the same option; give one of them")
        if not isinstance(overwrite, bool):
            raise TypeError(f"save: overwrite takes True or False, not {overwrite!r}")
        key = "codecs" if "codecs" in given else "compressors"
        x = _ingot.asarray(x)
        _ingot._save_store(path, x, _lengths("chunks", None if _same(chunks, "auto") else chunks, x.ndim),
                           _lengths("shards", shards, x.ndim), _codecs(key, options[key]), _fill(fill_value),
                           _json("attributes", attributes, dict, "a dictionary"),
                           _json("dimension_names", dimension_names, (tuple, list), "a list of names"), overwrite)
    elif not given and (name.endswith(_PICKLED) or (name.endswith(".npz") and _nested(x))):
        _save_tree(path, x)
    elif isinstance(x, dict) and not name.endswith(_SETS):
        raise TypeError(f"save: '{name}' cannot hold a dictionary of arrays; use an .npz or .safetensors file")
    elif given:
        raise TypeError(f"save: {given[0]} is an option of .zarr and .h5 files, and '{name}' is neither; leave it out, or save to one")
    elif name.endswith(_SETS):
        _ingot._save_all(path, dict(x), name.endswith(".npz"))
    else:
        _ingot._save(path, x)
