"""What is measured: one Work for each row, with its inputs, its cost and its bar.

bench/ours.c and the classes of bench/peers have a function for each name. `bench/run --list` prints the titles, by
which the code that a row justifies can refer to it.
"""

import platform
from dataclasses import dataclass, replace

X86 = platform.machine() in ("x86_64", "AMD64")
MATMUL_BAR = 0.95 if X86 else 1.0
DISTILBERT_BAR = 1.0 if X86 else 1.25


@dataclass(frozen=True)
class Work:
    name: str  # the function of ours.c and of bench/peers that does it; with "_own" at the end: by own code, without overrides
    size: str  # for readers
    dtype: str = "f32"
    inputs: tuple = ()  # shapes of normal floats, or a kind and a shape: ("index", below, ...), ("small", ...): times
    # 0.03, ("complex", ...): c64, ("definite", ...): positive definite matrices, ("uint8", ...), ("int8", ...): all bytes
    dims: tuple = ()  # other numbers that the function needs
    flops: float = 0  # of one run, if arithmetic is the limit
    bytes: float = 0  # that must be read and written, if the memory is the limit
    bar: float = 0  # at least this many times as fast as the best peer; 0: none
    bar_peer: str = ""  # the peer of the bar, instead of the best
    bar_limit: float = 0  # at least this share of the machine's limit
    bar_us: float = 0  # at most this many microseconds
    check: str = "close"  # how answers are compared: close, order, mean
    tolerance: float = 0  # of the largest element; 0: the dtype's

    @property
    def title(self):
        return f"{self.name} {self.size} {self.dtype}"


M = 1_000_000
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def matmul(n, dtype, bar, bar_limit=0.0):
    return Work("matmul", str(n), dtype, ((n, n), (n, n)), flops=2.0 * n**3, bar=bar, bar_limit=bar_limit)


def linear_bytes(rows):
    """u8 minus a zero point times i8, scaled: a quantized linear layer."""
    x, weight = ("uint8", rows, 768), ("int8", 3072, 768)
    return Work("linear_bytes", f"{rows}x768x3072", inputs=(x, weight), bytes=768 * 3072, bar=0.8 if rows > 1 else 0)


def attention(heads, tokens, width, bar):
    shape = (1, heads, tokens, width)
    flops = 4.0 * heads * tokens**2 * width
    return Work("attention", f"{heads}x{tokens}x{width}", inputs=(shape, shape, shape), flops=flops, bar=bar)


def conv(batch, bar):
    x, weight = (batch, 64, 56, 56), (64, 64, 3, 3)
    return Work("conv", f"{batch}x64x56x56 3x3", inputs=(x, weight), flops=2.0 * batch * 56 * 56 * 64 * 64 * 9, bar=bar)


def distilbert(batch, dtype, bar, tokens=128):
    """Parameters of a kind are stacked. The squares of a layer are query, key, value and output."""
    layers, width, inner, words = 6, 768, 3072, 30522
    inputs = [("index", words, batch, tokens), (words, width), (512, width)]
    for shape in ((layers, 4, width, width), (layers, inner, width), (layers, width, inner)):
        inputs += [("small", *shape), ("small", *shape[:-1])]
    inputs += [(1 + 2 * layers, width)] * 2  # layer norms
    n = batch * tokens
    flops = layers * (2.0 * n * (4 * width**2 + 2 * width * inner) + 4.0 * n * tokens * width)
    tolerance = 1e-3 if dtype == "f32" else 0.1
    return Work("distilbert", f"{batch}x{tokens}", dtype, tuple(inputs), flops=flops, bar=bar, tolerance=tolerance)


def works():
    yield from (matmul(n, "f32", MATMUL_BAR, 0.85 if n == 2048 else 0) for n in (512, 1000, 2048, 4096))
    yield from (matmul(n, "f64", MATMUL_BAR) for n in (512, 1000, 2048, 4096))
    yield from (matmul(n, "bf16", MATMUL_BAR) for n in (512, 1000, 2048))
    yield from (matmul(n, "f16", 1.5) for n in (512, 1000, 2048))

    flat, rows = (16 * M,), (16000, 1000)
    yield Work("relu_fma", "16M", inputs=(flat, flat, flat), bytes=16 * M * 16, bar=1.0)
    yield Work("sum", "16M", inputs=(flat,), bytes=16 * M * 4, bar=1.2)
    yield Work("softmax", "16000x1000", inputs=(rows,), bytes=16 * M * 8, bar=4)
    yield Work("layer_norm", "16000x1000", inputs=(rows, (1000,), (1000,)), bytes=16 * M * 8, bar=3)
    yield attention(12, 128, 64, 1.5)
    yield attention(12, 2048, 64, 1.4)
    yield from (distilbert(batch, "f32", DISTILBERT_BAR) for batch in (1, 8))
    yield from (distilbert(batch, "bf16", 1.0 if X86 else 0) for batch in (1, 8))
    yield conv(1, 1.2)
    yield conv(8, 1.2)
    # Peers that add in order, in f32, are off by some units of the last places.
    yield Work("cumulative_sum", "16M", inputs=(flat,), bytes=16 * M * 8, bar=8, tolerance=3e-3)
    yield Work("sort", "16M", inputs=(flat,), bar=1.5)
    yield Work("uniform_mean", "10000x10000", "f32", dims=(10000, 10000), bar=3, check="mean")
    yield Work("uniform_mean", "10000x10000", "f64", dims=(10000, 10000), bar=2.5, check="mean")
    yield Work("start", "1000", flops=0, bar=3.5, bar_peer="numpy")
    yield Work("graph10_eval", "64", inputs=((64,), (64,)), bar_us=3)

    yield train("train_mlp", "32 32-128-10", MLP, 2.5, "jax")
    yield train("train_mlp", "32 32-128-10 eager", MLP, 20, "torch")
    yield train("train_mlp_compiled", "32 32-128-10", MLP, 4, "jax")
    yield train("train_cnn", "64x1x8x8 32-64-128-10", CNN, 2, "torch")

    # Rows without a bar: other things that programs do.
    yield Work("graph10", "64", inputs=((64,), (64,)))
    yield Work("graph20", "64", inputs=((64,), (64,)))
    yield Work("graph20_eval", "64", inputs=((64,), (64,)))
    yield Work("graph20_launches_eval", "64", inputs=((64,),))
    yield Work("gelu", "16M", inputs=(flat,), bytes=16 * M * 8)
    yield Work("sum_outer", "4096x4096", inputs=((4096, 4096),), bytes=4096**2 * 4)
    yield Work("sum_outer", "16x1000000", inputs=((16, M),), bytes=16 * M * 4)
    yield Work("sum_outer", "64x1024", inputs=((64, 1024),), bytes=64 * 1024 * 4)
    yield Work("deviation", "16000x1000 row", inputs=(rows, (1000,)), bytes=16 * M * 4)  # of a range of rows
    yield Work("transpose", "4096x4096", inputs=((4096, 4096),), bytes=4096**2 * 8)
    yield Work("embedding", "30000x768 4096", inputs=(("index", 30000, 4096), (30000, 768)), bytes=4096 * 768 * 8)
    yield Work("embedding_add", "30000x768 4096", inputs=(("index", 30000, 4096), (30000, 768), (4096, 768)), bytes=4096 * 768 * 12)
    yield Work("argsort", "1M", inputs=((M,),), check="order")
    yield Work("topk", "1M 100", inputs=((M,),), dims=(100,), bytes=M * 4)
    yield Work("matmul", "1x768x3072", inputs=((1, 768), (768, 3072)), bytes=768 * 3072 * 4)
    yield Work("linear", "1x768x3072", inputs=((1, 768), (3072, 768)), bytes=768 * 3072 * 4)
    yield Work("linear", "4x768x3072", inputs=((4, 768), (3072, 768)), bytes=768 * 3072 * 4)
    yield Work("linear", "8x768x3072", inputs=((8, 768), (3072, 768)), bytes=768 * 3072 * 4)
    yield Work("linear", "128x768x768", inputs=((128, 768), (768, 768)), flops=2.0 * 128 * 768 * 768)
    yield Work("linear", "128x768x3072", inputs=((128, 768), (3072, 768)), flops=2.0 * 128 * 768 * 3072)
    yield from (linear_bytes(rows) for rows in (1, 16, 128, 1024))
    yield Work("vecdot", "4096x256", inputs=((4096, 256), (4096, 256)), bytes=4096 * 256 * 8)
    yield Work("matmul", "32x128x10", inputs=((32, 128), (128, 10)), flops=2.0 * 32 * 128 * 10)
    yield Work("matmul", "96x128x64x128", inputs=((96, 128, 64), (96, 64, 128)), flops=2.0 * 96 * 128 * 64 * 128)
    yield mlp(64, (784, 512, 256, 10))
    # One row for each execution path of the CPU's MAP: whole arrays, a chain of six ops, rows that share an operand,
    # short rows, columns, scalars, strides, tiles. `transpose`, `embedding` and `relu_fma` are the others.
    yield Work("add", "16M", inputs=(flat, flat), bytes=16 * M * 12)
    yield Work("chain", "16M", inputs=(flat, flat, flat), bytes=16 * M * 16)
    yield Work("add", "16000x1000 row", inputs=(rows, (1000,)), bytes=16 * M * 8)
    yield Work("add", "2000000x8 row", inputs=((2 * M, 8), (8,)), bytes=16 * M * 8)
    yield Work("add", "4000x4000 outer", inputs=((4000, 1), (4000,)), bytes=16 * M * 4)
    yield Work("add", "16M scalar", inputs=(flat, (1,)), bytes=16 * M * 8)
    yield Work("add_strided", "4096x4096", inputs=((4096, 8192), (4096, 8192)), bytes=4096**2 * 20)
    yield Work("add_transposed", "4096x4096", inputs=((4096, 4096), (4096, 4096)), bytes=4096**2 * 12)
    # The same for the contraction: dot products, many tiny products, a short k, few columns.
    yield Work("matmul", "16M dot", inputs=(flat, flat), bytes=16 * M * 8, tolerance=1e-2)
    yield Work("matmul", "10000x8x8x8", inputs=((10000, 8, 8), (10000, 8, 8)), flops=2.0 * 10000 * 8**3)
    yield Work("matmul", "4096x16x4096", inputs=((4096, 16), (16, 4096)), flops=2.0 * 4096 * 16 * 4096)
    yield Work("gram", "20000x1000", "f64", ((20000, 1000),), flops=2.0 * 20000 * 1000**2)
    yield Work("matmul", "100000x64x64", inputs=((100000, 64), (64, 64)), flops=2.0 * 100000 * 64 * 64)
    yield Work("depthwise", "8x64x56x56 3x3", inputs=((8, 64, 56, 56), (64, 1, 3, 3)), bytes=8 * 64 * 56 * 56 * 8)
    yield Work("depthwise", "1x272x14x14 3x3", inputs=((1, 272, 14, 14), (272, 1, 3, 3)), bytes=272 * 14 * 14 * 8)
    yield Work("depthwise_2", "1x144x56x56 3x3", inputs=((1, 144, 56, 56), (144, 1, 3, 3)), bytes=144 * 56 * 56 * 5)
    yield Work("max_pool", "8x64x56x56 2x2", inputs=((8, 64, 56, 56),), bytes=8 * 64 * 56 * 56 * 5)
    yield Work("max_pool_3", "1x64x112x112 3x3", inputs=((1, 64, 112, 112),), bytes=64 * 112 * 112 * 5)
    yield Work("roi_align", "100 boxes of 256x50x50 7x7", inputs=((1, 256, 50, 50), ("index", 25, 100, 4)), flops=100 * 256 * 49 * 4 * 8.0,
               bar=0.8)


    yield from and_own(linear_algebra())
    yield from and_own(transforms())
    yield from statistics()


def and_own(works):
    """The works, and some of them again by own code: whether a library of the device (IG_OVERRIDES) is faster."""
    for work in works:
        yield work
        if work.size in ("1000", "4000", "2^20", "2^24", "10007", "4096x4096", "1000x1000"):
            yield replace(work, name=work.name + "_own", bar=0)


def linear_algebra():
    """Bars are for two cores, beside LAPACK. Rows of 4000 are for GPUs."""
    for n in (1000, 2000, 4000):
        for dtype in ("f32", "f64") if n < 4000 else ("f32",):
            yield Work("cholesky", str(n), dtype, (("definite", n, n),), flops=n**3 / 3, bar=1.0)
            yield Work("solve", str(n), dtype, (("definite", n, n), (n, 1)), flops=2 * n**3 / 3, bar=1.0)
            yield Work("inv", str(n), dtype, (("definite", n, n),), flops=2.0 * n**3, bar=1.0)
            yield Work("qr", str(n), dtype, ((n, n),), flops=8 * n**3 / 3, bar=1.0, tolerance=1e-3)
            if n != 2000:
                yield Work("eigh", str(n), dtype, (("definite", n, n),), bar=0.7)
                yield Work("svd", str(n), dtype, ((n, n),), bar=0.7)
    for n, m in ((100003, 20), (30000, 100)):  # in slabs of rows
        for dtype in ("f32", "f64"):
            yield Work("qr", f"{n}x{m}", dtype, ((n, m),), flops=4.0 * n * m**2, bar=1.0, tolerance=1e-3)
            yield Work("svd", f"{n}x{m}", dtype, ((n, m),), bar=1.0, tolerance=1e-3)
    for n in (8, 32):
        for name in ("cholesky", "solve", "eigh", "svd"):
            inputs = (("definite", 10000, n, n),) + (((10000, n, 1),) if name == "solve" else ())
            for dtype in ("f32", "f64"):
                yield Work(name, f"10000x{n}x{n}", dtype, inputs, bar=5.0, bar_peer="numpy")


def transforms():
    for size, shape in (("2^20", (2**20,)), ("10007", (10007,)), ("4096x1000", (4096, 1000)), ("2^24", (2**24,)), ("65536x1000", (65536, 1000))):
        yield Work("fft", size, inputs=(("complex", *shape),), bar=2.0)
    yield Work("fft2", "4096x4096", inputs=(("complex", 4096, 4096),), bar=2.0)
    yield Work("rfft2", "1000x1000", inputs=((1000, 1000),), bar=2.0)


def statistics():
    flat = (16 * M,)
    for name in ("median", "quantile", "histogram", "unique"):
        yield Work(name, "16M", inputs=(flat,), bytes=16 * M * 4, bar=2.0)
    yield Work("bincount", "16M", inputs=(("index", 1000, 16 * M),), bytes=16 * M * 8, bar=2.0)
    yield Work("isin", "16M 1000", inputs=(("index", 100000, 16 * M), ("index", 100000, 1000)), bytes=16 * M * 9, bar=2.0)


# x, labels, then weight and bias of each layer.
MLP = ((32, 32), ("index", 10, 32), (128, 32), (128,), (10, 128), (10,))
CNN = ((64, 1, 8, 8), ("index", 10, 64), (32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (128, 1024), (128,), (10, 128), (10,))


def train(name, size, inputs, bar, bar_peer):
    return Work(name, size, inputs=inputs, bar=bar, bar_peer=bar_peer, tolerance=1e-3)


def mlp(batch, widths):
    inputs, flops = [(batch, widths[0])], 0.0
    for n_in, n_out in zip(widths, widths[1:]):
        inputs += [(n_in, n_out), (n_out,)]
        flops += 2.0 * batch * n_in * n_out
    return Work("mlp", f"{batch} {'-'.join(map(str, widths))}", inputs=tuple(inputs), flops=flops)
