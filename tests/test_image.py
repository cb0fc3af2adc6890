#!/usr/bin/env python3
"""Images that ig_load and ingot predict read: PNG of all color types, depths, filters and interlacing, by an encoder written here from
the format's description; damaged ones; JPEG; missing libraries; other formats by Pillow, where it is installed."""
import os
import struct
import subprocess
import tempfile
import zlib

import numpy as np

from support.tally import check, finish, skip

INGOT = os.environ.get("INGOT", "build/ingot")
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
SIZES = ((1, 1), (3, 5), (17, 9), (40, 33))
random = np.random.default_rng(0)


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def pack_row(row, depth):
    if depth == 16:
        return row.astype(">u2").tobytes()
    bits = row[:, None] >> np.arange(depth - 1, -1, -1) & 1
    return np.packbits(bits.astype("u1").reshape(-1)).tobytes()


def predict(kind, left, up, corner):
    if kind == 4:
        guess = left + up - corner
        a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
        return np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
    return [0 * left, left, up, (left + up) // 2][kind]


def filtered(pixels, depth, step):
    """The rows of one pass, each with a filter of its own."""
    out, above = b"", None
    for row in pixels:
        now = np.frombuffer(pack_row(row.reshape(-1), depth), "u1").astype(int)
        up = above if above is not None else 0 * now
        left, corner = (np.r_[np.zeros(step, int), x[:-step]][:len(now)] for x in (now, up))
        kind = int(random.integers(0, 5))
        out += bytes([kind]) + ((now - predict(kind, left, up, corner)) % 256).astype("u1").tobytes()
        above = now
    return out


def encode(width, height, color, depth, interlaced, palette, alpha):
    """A random image as PNG, and its pixels."""
    samples = SAMPLES[color]
    pixels = random.integers(0, len(palette) if color == 3 else 1 << depth, (height, width, samples))
    passes = PASSES if interlaced else [(0, 0, 1, 1)]
    parts = [pixels[y::dy, x::dx] for x, y, dx, dy in passes]
    raw = zlib.compress(b"".join(filtered(p, depth, max(1, samples * depth // 8)) for p in parts if p.size))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"tEXt", b"Comment\0a text")
    if color == 3:
        file += chunk(b"PLTE", palette.tobytes()) + (chunk(b"tRNS", alpha.tobytes()) if len(alpha) else b"")
        rest = np.full(len(palette) - len(alpha), 255, "u1")
        table = np.c_[palette, np.r_[alpha, rest]] if len(alpha) else palette
        want = table[pixels[:, :, 0]]
    else:
        want = pixels.astype("u2") if depth == 16 else (pixels * (255 // ((1 << depth) - 1))).astype("u1")
    half = len(raw) // 2
    file += chunk(b"IDAT", raw[:half]) + chunk(b"IDAT", raw[half:]) + chunk(b"IEND", b"")
    return file, want[:, :, 0] if samples == 1 and color != 3 else want


class Loader:
    """Loads many files in one process."""

    def __init__(self, folder):
        self.folder, self.files = folder, []

    def add(self, content):
        number, path = tempfile.mkstemp(".image", dir=self.folder)
        with open(number, "wb") as file:
            file.write(content)
        self.files.append(path)

    def run(self):
        script = "".join(f"save('{p}.npy', load('{p}'))\n" for p in self.files)
        done = subprocess.run([INGOT, "eval", "--file", "-"], input=script, capture_output=True, text=True, check=False)
        return done.stderr, [np.load(p + ".npy") if os.path.exists(p + ".npy") else None for p in self.files]


def load(folder, content):
    """The array of one file, or the message."""
    one = Loader(folder)
    one.add(content)
    error, (x,) = one.run()
    return x if x is not None else error.splitlines()[0]


def test_formats(folder):
    cases, loader = [], Loader(folder)
    for color, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            for interlaced in (0, 1):
                for width, height in SIZES:
                    palette = random.integers(0, 256, (min(1 << depth, 200), 3)).astype("u1")
                    alpha = palette[:len(palette) // 2 * interlaced, 0].copy()
                    content, want = encode(width, height, color, depth, interlaced, palette, alpha)
                    loader.add(content)
                    cases.append((f"color {color} depth {depth} interlaced {interlaced} {width} x {height}", want))
    error, results = loader.run()
    for (name, want), got in zip(cases, results):
        same = got is not None and got.shape == want.shape and got.dtype == want.dtype and (got == want).all()
        check(name, same, error if got is None else f"{got.dtype}{got.shape}")


def test_damage(folder):
    palette = random.integers(0, 256, (4, 3)).astype("u1")
    good, _ = encode(17, 9, 3, 2, 0, palette, palette[:0, 0])
    refusals = [("a cut file", good[:-20], "image is damaged"), ("a changed byte", good[:70] + b"\x7f" + good[71:], "CRC error"),
                ("no pixels", good[:8] + chunk(b"IHDR", good[16:29]) + chunk(b"IEND", b""), "image is damaged")]
    header = lambda w, h, d, c: good[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, d, c, 0, 0, 0)) + good[33:]
    refusals += [("a header of a huge image", header(1 << 30, 1 << 30, 8, 6), "load"), ("no width", header(0, 9, 2, 3), "Invalid IHDR data"),
                 ("an unknown color type", header(17, 9, 2, 5), "Invalid IHDR data"), ("more rows than there are", header(17, 10, 2, 3), "Not enough image data"),
                 ("far fewer pixels than the header says", header(8000, 8000, 2, 3), "fewer pixels than its header says"),
                 ("a color that the palette lacks", good.replace(chunk(b"PLTE", palette.tobytes()), chunk(b"PLTE", palette[:1].tobytes())), "palette")]
    for name, content, part in refusals:
        got = load(folder, content)
        check(name, isinstance(got, str) and part in got, got)


def test_other_formats(folder):
    """Against another reader."""
    try:
        from PIL import Image
    except ImportError:
        return skip("JPEG, BMP, PNM and TIFF", "Pillow is not installed")
    x = (np.cumsum(random.normal(size=(67, 93, 3)), axis=1) * 8 % 256).astype("u1")
    jpeg = ({"quality": 85}, {"quality": 95, "subsampling": 0}, {"quality": 40, "subsampling": 1}, {"quality": 70, "optimize": True})
    cases = [("jpg", options) for options in jpeg] + [("bmp", {}), ("ppm", {}), ("tiff", {}), ("jpg", {"progressive": True})]
    for suffix, options in cases:
        for mode in ("RGB", "L"):
            path = os.path.join(folder, "image." + suffix)
            Image.fromarray(x).convert(mode).save(path, **options)
            with open(path, "rb") as file:
                got = load(folder, file.read())
            image = Image.open(path)
            want = np.asarray(image.convert("RGB") if suffix == "bmp" else image)
            check(f"{suffix} {options} {mode}", not isinstance(got, str) and got.shape == want.shape and (got == want).all(), got)
    for suffix, mode, part in (("jpg", "CMYK", "colors are CMYK"), ("gif", "L", "GIF images are not read")):
        path = os.path.join(folder, "image." + suffix)
        Image.fromarray(x).convert(mode).save(path)
        with open(path, "rb") as file:
            got = load(folder, file.read())
        check(f"{suffix} {mode} is refused", isinstance(got, str) and part in got, got)
    return None


def test_jpeg(folder):
    """Pixels that libjpeg's default settings give, with colors of half the resolution."""
    for name, shape, want in (("jpeg", (9, 11, 3), 3010053283), ("jpeg_gray", (9, 11), 75746890), ("jpeg_progressive", (11, 9, 3), 4033445834)):
        with open(os.path.join("tests/fuzz/corpus/image", name), "rb") as file:
            content = file.read()
        got = load(folder, content)
        check(f"the file {name}", not isinstance(got, str) and got.shape == shape and zlib.crc32(got.tobytes()) == want, got)
        got = load(folder, content[:-len(content) // 3])
        check(f"the file {name}, cut off", isinstance(got, str) and "the image is damaged" in got, got)


def test_absent(folder):
    """Libraries that are not there, because the first one of that name lacks their functions."""
    lib = os.path.join(folder, "lib")
    os.mkdir(lib)
    for name in ("libpng16.so.16", "libturbojpeg.so.0"):
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-o", os.path.join(lib, name), "-x", "c", os.devnull], check=True)
    for file, package in (("rgb", "libpng16-16"), ("jpeg", "libturbojpeg0")):
        done = subprocess.run([INGOT, "eval", f"load('tests/fuzz/corpus/image/{file}')"], capture_output=True, text=True, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": lib})
        check(f"without {package}", done.returncode == 4 and f"install it (Debian: {package}" in done.stderr, done.stderr)
    done = subprocess.run([INGOT, "eval", "shape(load('tests/fuzz/corpus/image/bmp'))"], capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": lib})
    check("BMP needs no library", done.returncode == 0, done.stderr)


def test_predict(folder):
    """An image is the sample that its pixels are, whatever its channels are; another size is resized."""
    at = lambda name: os.path.join(folder, name)
    run = lambda *words: subprocess.run([INGOT, *words], capture_output=True, text=True, check=True).stdout
    run("train", "digits", "--quiet", "--epochs", "2", "--save", at("net"))
    content, pixels = encode(8, 8, 0, 8, 1, np.zeros((1, 3), "u1"), np.zeros(0, "u1"))
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in np.repeat(pixels[:, :, None], 3, axis=2))
    colored = content[:8] + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    large, _ = encode(30, 20, 6, 8, 0, np.zeros((1, 3), "u1"), np.zeros(0, "u1"))
    for name, text in (("gray.png", content), ("colored.png", colored), ("large.png", large)):
        with open(at(name), "wb") as file:
            file.write(text)
    np.save(at("sample.npy"), (pixels / 255 * 16).astype("f4"))
    for name in ("gray.png", "colored.png", "large.png", "sample.npy"):
        run("predict", at("net"), at(name), "-o", at(name) + ".out.npy")
    results = {name: np.load(at(name) + ".out.npy") for name in ("gray.png", "colored.png", "large.png", "sample.npy")}
    for name in ("gray.png", "colored.png"):
        error = abs(results[name] - results["sample.npy"]).max()
        check(f"predict {name}", error < 1e-5, error)
    check("predict large.png", results["large.png"].shape == (1, 10) and abs(results["large.png"].sum() - 1) < 1e-5)


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_formats(folder)
        test_damage(folder)
        test_other_formats(folder)
        test_jpeg(folder)
        test_absent(folder)
        test_predict(folder)
    finish()


if __name__ == "__main__":
    main()
