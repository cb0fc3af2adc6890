"""NumPy's functions for texts and sets of arrays: loadtxt, savetxt, fromstring, savez. Loaded when one of them is first used."""
import io
import math
import os

from . import _ingot

_asarray = _ingot.asarray


def fromstring(string, dtype=None, count=-1, *, sep):
    """A 1-d array of the numbers in a text; sep is what is between them."""
    if not sep:
        raise ValueError("fromstring: sep cannot be empty; use frombuffer for bytes")
    parts = [p for p in (string.split() if sep.isspace() else string.split(sep)) if p.strip()]
    return _numbers(parts if count < 0 else parts[:count], dtype)


def fromfile(file, dtype="float64", count=-1, sep="", offset=0):
    """A 1-d array of the bytes of a file, or with sep of the numbers in its text."""
    data = file.read() if hasattr(file, "read") else _read(file, "rb")
    if sep:
        return fromstring(data.decode() if isinstance(data, bytes) else data, dtype, count, sep=sep)
    from ._numpy_names import frombuffer
    dtype = _ingot.dtype(dtype)
    data = data[offset:]
    return frombuffer(data[:len(data) // dtype.itemsize * dtype.itemsize], dtype, count)


def _read(path, mode):
    with io.open(path, mode) as file:
        return file.read()


def _lines(source):
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if name.endswith((".gz", ".bz2", ".xz")):
            import bz2
            import gzip
            import lzma
            opened = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[os.path.splitext(name)[1]].open(name, "rt")
        else:
            opened = io.open(name, encoding="utf-8")
        with opened as file:
            return file.read().splitlines()
    return [line.decode() if isinstance(line, bytes) else line.rstrip("\n") for line in source]


def _numbers(texts, dtype, missing=None):
    """Texts, or rows of texts, as an array."""
    kind = None if dtype is None else _ingot.dtype(dtype).kind

    def number(text):
        text = text.strip()
        if missing is not None and text in ("", *missing[0]):
            return missing[1]
        if kind in ("i", "u"):
            return int(text, 0) if text.lower().startswith("0x") else int(text)
        if kind == "c" or text.endswith("j"):
            return complex(text.replace(" ", ""))
        return {"True": 1.0, "False": 0.0}.get(text) if text in ("True", "False") else float(text)

    values = [number(t) if isinstance(t, str) else [number(p) for p in t] for t in texts]
    return _asarray(values, dtype=dtype or (_ingot.get_default_dtype() if not values else None))


def _table(name, lines, comments, delimiter, usecols):
    comments = () if comments is None else (comments,) if isinstance(comments, str) else comments
    rows = []
    for line in lines:
        for mark in comments:
            line = line.partition(mark)[0]
        if not line.strip():
            continue
        parts = line.split(delimiter) if delimiter is not None and delimiter.strip() else line.split(delimiter)
        if usecols is not None:
            try:
                parts = [parts[i] for i in ((usecols,) if isinstance(usecols, int) else usecols)]
            except IndexError:
                raise ValueError(f"{name}: line '{line}' has {len(parts)} columns, and usecols is {usecols}") from None
        if rows and len(rows[0]) != len(parts):
            raise ValueError(f"{name}: row {len(rows) + 1} has {len(parts)} columns, the first has {len(rows[0])}; select some by usecols")
        rows.append(parts)
    return rows


def _shaped(x, unpack, ndmin):
    if x.ndim == 2 and 1 in x.shape and ndmin < 2:
        x = x.reshape(-1) if x.size != 1 or ndmin else x.reshape(())
    if x.ndim < ndmin:
        x = x.reshape((1,) * (ndmin - x.ndim) + x.shape)
    return x.T if unpack else x


def loadtxt(fname, dtype=None, comments="#", delimiter=None, converters=None, skiprows=0, usecols=None, unpack=False, ndmin=0,
            encoding=None, max_rows=None):
    """The numbers of a text file, of an open file or of lines. Elements have the default dtype unless dtype says otherwise."""
    if converters is not None:
        raise TypeError("loadtxt: converters are not supported; pass lines whose texts you have converted")
    rows = _table("loadtxt", _lines(fname)[skiprows:], comments, delimiter, usecols)
    return _shaped(_numbers(rows[:max_rows], dtype), unpack, ndmin)


def genfromtxt(fname, dtype=None, comments="#", delimiter=None, skip_header=0, skip_footer=0, missing_values=(), filling_values=math.nan,
               usecols=None, names=None, unpack=False, ndmin=0, max_rows=None, encoding=None, invalid_raise=True):
    """As loadtxt, for files with missing values, which become filling_values."""
    if names not in (None, False):
        raise TypeError("genfromtxt: names give columns of several dtypes, which arrays here do not have; pass skip_header=1")
    lines = _lines(fname)
    rows = _table("genfromtxt", lines[skip_header:len(lines) - skip_footer], comments, delimiter, usecols)
    missing = (missing_values,) if isinstance(missing_values, str) else tuple(missing_values)

    def wrong(text):
        try:
            complex(text.strip())
            return False
        except ValueError:
            return True

    known = missing + tuple({p.strip() for row in rows for p in row if wrong(p)})  # NumPy reads texts as missing, too
    return _shaped(_numbers(rows[:max_rows], dtype, (known, filling_values)), unpack, ndmin)


def savetxt(fname, X, fmt="%.18e", delimiter=" ", newline="\n", header="", footer="", comments="# ", encoding=None):
    """Writes a 1-d or 2-d array as text: one format for all numbers, one for each column, or one for a whole row."""
    if isinstance(X, (str, os.PathLike)) and not isinstance(fname, (str, os.PathLike)):
        fname, X = X, fname
    x = _asarray(X)
    if x.ndim > 2:
        raise ValueError(f"savetxt: the array has {x.ndim} dimensions; reshape it to 2")
    rows = [[v] for v in x.tolist()] if x.ndim == 1 else x.tolist() if x.ndim == 2 else [[x.item()]]
    columns = len(rows[0]) if rows else 0
    if isinstance(fmt, (list, tuple)):
        if len(fmt) != columns:
            raise ValueError(f"savetxt: {len(fmt)} formats are given for {columns} columns")
        fmt = delimiter.join(fmt)
    elif fmt.count("%") == 1:
        fmt = delimiter.join([fmt] * columns)
    parts = [comments + header.replace("\n", "\n" + comments) + newline] if header else []
    parts += [fmt % tuple(row) + newline for row in rows]
    parts += [comments + footer.replace("\n", "\n" + comments) + newline] if footer else []
    text = "".join(parts)
    if hasattr(fname, "write"):
        try:
            fname.write(text)
        except TypeError:
            fname.write(text.encode())
        return
    name = os.fspath(fname)
    if name.endswith(".gz"):
        import gzip
        opened = gzip.open(name, "wt")
    else:
        opened = io.open(name, "w", encoding=encoding or "utf-8", newline="")
    with opened as file:
        file.write(text)


def savez(file, *args, **kwds):
    """Writes several arrays to an .npz file: by keyword, or as arr_0, arr_1 and so on."""
    _save_set("savez", file, args, kwds, False)


def savez_compressed(file, *args, **kwds):
    """As savez, compressed."""
    _save_set("savez_compressed", file, args, kwds, True)


def _save_set(name, file, args, kwds, compressed):
    import zipfile
    arrays = dict(kwds)
    for i, x in enumerate(args):
        if f"arr_{i}" in arrays:
            raise ValueError(f"{name}: arr_{i} is given by position and by name")
        arrays[f"arr_{i}"] = x
    if not hasattr(file, "write"):
        file = os.fspath(file)
        file += "" if file.endswith(".npz") else ".npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for key, x in arrays.items():
            with archive.open(key + ".npy", "w", force_zip64=True) as entry:
                entry.write(_npy(_asarray(x)))


def _npy(x):
    """The bytes of an .npy file."""
    code = "V2" if x.dtype == "bfloat16" else f"{x.dtype.kind}{x.dtype.itemsize}"
    order = "|" if x.dtype.itemsize == 1 or code == "V2" else "<"
    header = f"{{'descr': '{order}{code}', 'fortran_order': False, 'shape': {x.shape!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    raw = x.view("uint16") if code == "V2" else x
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("latin1") + memoryview(raw).tobytes()
