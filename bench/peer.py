"""The benchmark process of a peer: `peer.py NAME THREADS` reads commands and answers each with one line.

    version                              the library's version
    prepare WORK DTYPE DIMS [FILE...]    as for bench/ours.c; "none" when the peer lacks the work
    run N                                milliseconds of one run, the mean of N
    save FILE                            one more run, its answer as .npy (f16 and bf16 as f32)

Answers are "ok ...", "none ..." or "error ...". A class has a method for each work of its library. The
method takes the inputs and returns a function without arguments that does the work, waits for it, and
returns the answer. Each library is used in the way that its documentation recommends for speed.
"""

import os
import sys
import time

from peer_onnx import OnnxRuntime


DEVICE = os.environ.get("BENCH_DEVICE")  # set by bench/run --device: peers that can use the GPU do so


def training(begin, stack):
    """A training step as a work. Its answer is the losses of the first steps of a new training."""
    step = begin()

    def run():
        return step()

    def answer():
        new = begin()
        return stack([new() for _ in range(5)])

    run.answer = answer
    return run


class Numpy:
    dtypes = {"f32": "float32", "f64": "float64"}

    def __init__(self, threads):
        import numpy

        self.np = numpy
        self.version = numpy.__version__
        self.rng = numpy.random.default_rng(1)

    def load(self, path, dtype):
        x = self.np.load(path)
        return x.astype(self.dtypes[dtype], copy=False) if x.dtype.kind == "f" else x

    def save(self, path, y):
        self.np.save(path, self.np.asarray(y))

    def matmul(self, a, b):
        return lambda: a @ b

    def linear(self, x, weight):
        return lambda: x @ weight.T

    def add(self, a, b):
        return lambda: a + b

    def add_strided(self, a, b):
        return lambda: a[:, ::2] + b[:, ::2]

    def add_transposed(self, a, b):
        return lambda: a + b.T

    def relu_fma(self, a, b, c):
        return lambda: self.np.maximum(a * b + c, 0)

    def chain(self, a, b, c):
        return lambda: self.np.maximum(self.np.sqrt(self.np.abs(a * b + c)) - a, b)

    def sum(self, x):
        return lambda: x.sum()

    def sum_outer(self, x):
        return lambda: x.sum(axis=0)

    def softmax(self, x):
        np = self.np

        def run():
            e = np.exp(x - x.max(axis=-1, keepdims=True))
            e /= e.sum(axis=-1, keepdims=True)
            return e

        return run

    def layer_norm(self, x, weight, bias):
        np = self.np

        def run():
            y = x - x.mean(axis=-1, keepdims=True)
            y *= 1 / np.sqrt(np.square(y).mean(axis=-1, keepdims=True) + np.float32(1e-5))
            y *= weight
            y += bias
            return y

        return run

    def attention(self, q, k, v):
        np = self.np
        scale = np.float32(q.shape[-1] ** -0.5)

        def run():
            s = (q * scale) @ k.swapaxes(-1, -2)
            np.exp(s - s.max(axis=-1, keepdims=True), out=s)
            return (s @ v) / s.sum(axis=-1, keepdims=True)

        return run

    def cumulative_sum(self, x):
        return lambda: self.np.cumsum(x)

    def sort(self, x):
        return lambda: self.np.sort(x)

    def cholesky(self, x):
        return lambda: self.np.linalg.cholesky(x)

    def solve(self, x, b):
        return lambda: self.np.linalg.solve(x, b)

    def inv(self, x):
        return lambda: self.np.linalg.inv(x)

    def qr(self, x):
        return lambda: self.np.abs(self.np.linalg.qr(x)[1])

    def eigh(self, x):
        return lambda: self.np.linalg.eigh(x)[0]

    def svd(self, x):
        return lambda: self.np.linalg.svd(x, full_matrices=False)[1]

    def fft(self, x):
        return lambda: self.np.fft.fft(x)

    def fft2(self, x):
        return lambda: self.np.fft.fft2(x)

    def rfft2(self, x):
        return lambda: self.np.fft.rfft2(x)

    def median(self, x):
        return lambda: self.np.median(x)

    def quantile(self, x):
        return lambda: self.np.quantile(x, 0.3)

    def histogram(self, x):
        return lambda: self.np.histogram(x, 100)[0]

    def bincount(self, x):
        return lambda: self.np.bincount(x)

    def isin(self, x, y):
        return lambda: self.np.isin(x, y).sum()

    def unique(self, x):
        return lambda: self.np.unique(x)

    def argsort(self, x):
        return lambda: self.np.argsort(x)

    def topk(self, x, k):
        def run():
            best = self.np.partition(x, x.size - k)[-k:]
            best.sort()
            return best[::-1]

        return run

    def uniform_mean(self, *shape, dtype):
        return lambda: self.rng.random(shape, dtype=self.dtypes[dtype]).mean()

    def transpose(self, x):
        return lambda: self.np.ascontiguousarray(x.T).reshape(-1)

    def embedding(self, indices, weight):
        return lambda: self.np.take(weight, indices, axis=0)

    def embedding_add(self, indices, weight, positions):
        return lambda: self.np.take(weight, indices, axis=0) + positions

    def vecdot(self, a, b):
        return lambda: self.np.einsum("ij,ij->i", a, b)

    def mlp(self, x, *layers):
        np = self.np

        def run():
            y = x
            for i in range(0, len(layers), 2):
                y = y @ layers[i] + layers[i + 1]
                if i + 2 < len(layers):
                    y = np.maximum(y, 0)
            return y

        return run

    def graph10(self, a, b):
        np = self.np

        def run():
            y = (a + b) * a
            y = -np.maximum(y - b, a)
            y = (np.abs(y) + b) * a
            return np.square(np.minimum(y, b))

        return run


class Torch:
    dtypes = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
    compiled = False

    def __init__(self, threads):
        import torch

        self.torch = torch
        self.version = torch.__version__
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        torch.manual_seed(1)
        torch.backends.cudnn.allow_tf32 = False  # as ours, and as its products

    def load(self, path, dtype):
        import numpy

        x = self.torch.from_numpy(numpy.load(path)).to("cuda" if DEVICE else "cpu")
        return x.to(getattr(self.torch, self.dtypes[dtype])) if x.is_floating_point() else x

    def save(self, path, y):
        import numpy

        half = y.dtype in (self.torch.float16, self.torch.bfloat16)
        numpy.save(path, (y.float() if half else y).cpu().numpy())

    def function(self, f, *inputs):
        return lambda: f(*inputs)

    def matmul(self, a, b):
        return self.function(self.torch.matmul, a, b)

    def linear(self, x, weight):
        return self.function(self.torch.nn.functional.linear, x, weight)

    def add(self, a, b):
        return self.function(lambda a, b: a + b, a, b)

    def add_strided(self, a, b):
        return self.function(lambda a, b: a[:, ::2] + b[:, ::2], a, b)

    def add_transposed(self, a, b):
        return self.function(lambda a, b: a + b.T, a, b)

    def relu_fma(self, a, b, c):
        return self.function(lambda a, b, c: self.torch.relu(a * b + c), a, b, c)

    def chain(self, a, b, c):
        torch = self.torch
        return self.function(lambda a, b, c: torch.maximum(torch.sqrt(torch.abs(a * b + c)) - a, b), a, b, c)

    def gelu(self, x):
        return self.function(self.torch.nn.functional.gelu, x)

    def sum(self, x):
        return self.function(self.torch.sum, x)

    def sum_outer(self, x):
        return self.function(lambda x: self.torch.sum(x, 0), x)

    def softmax(self, x):
        return self.function(lambda x: self.torch.softmax(x, -1), x)

    def layer_norm(self, x, weight, bias):
        f = self.torch.nn.functional.layer_norm
        return self.function(lambda x, w, b: f(x, w.shape, w, b, 1e-5), x, weight, bias)

    def attention(self, q, k, v):
        return self.function(self.torch.nn.functional.scaled_dot_product_attention, q, k, v)

    def distilbert(self, ids, words, places, *stacks):
        f = self.torch.nn.functional
        squares, square_bias, up, up_bias, down, down_bias, norm, norm_bias = (list(s.unbind()) for s in stacks)
        width = words.shape[1]

        def normed(x, i):
            return f.layer_norm(x, (width,), norm[i], norm_bias[i], 1e-12)

        def attention(x, weight, bias):
            part = [f.linear(x, weight[i], bias[i]).unflatten(2, (-1, 64)).transpose(1, 2) for i in range(3)]
            return f.linear(f.scaled_dot_product_attention(*part).transpose(1, 2).flatten(2), weight[3], bias[3])

        def forward():
            x = normed(f.embedding(ids, words) + places[: ids.shape[1]], 0)
            for i in range(len(up)):
                x = normed(x + attention(x, squares[i], square_bias[i]), 1 + 2 * i)
                y = f.linear(f.gelu(f.linear(x, up[i], up_bias[i])), down[i], down_bias[i])
                x = normed(x + y, 2 + 2 * i)
            return x

        return self.function(forward)

    def conv(self, x, weight):
        return self.function(lambda x, w: self.torch.nn.functional.conv2d(x, w, padding=1), x, weight)

    def depthwise(self, x, weight):
        f = self.torch.nn.functional.conv2d
        return self.function(lambda x, w: f(x, w, padding=1, groups=w.shape[0]), x, weight)

    def max_pool(self, x):
        return self.function(lambda x: self.torch.nn.functional.max_pool2d(x, 2), x)

    def cumulative_sum(self, x):
        return self.function(lambda x: self.torch.cumsum(x, 0), x)

    def sort(self, x):
        return self.function(lambda x: self.torch.sort(x)[0], x)

    def cholesky(self, x):
        return self.function(self.torch.linalg.cholesky, x)

    def solve(self, x, b):
        return self.function(self.torch.linalg.solve, x, b)

    def inv(self, x):
        return self.function(self.torch.linalg.inv, x)

    def qr(self, x):
        return self.function(lambda x: self.torch.linalg.qr(x)[1].abs(), x)

    def eigh(self, x):
        return self.function(lambda x: self.torch.linalg.eigh(x)[0], x)

    def svd(self, x):
        return self.function(lambda x: self.torch.linalg.svd(x, full_matrices=False)[1], x)

    def fft(self, x):
        return self.function(self.torch.fft.fft, x)

    def fft2(self, x):
        return self.function(self.torch.fft.fft2, x)

    def rfft2(self, x):
        return self.function(self.torch.fft.rfft2, x)

    def quantile(self, x):
        return self.function(lambda x: self.torch.kthvalue(x, int(0.3 * (x.numel() - 1)) + 1)[0], x) if DEVICE else None

    def median(self, x):
        return self.function(lambda x: self.torch.quantile(x, 0.5), x)  # median takes the lower of two

    def histogram(self, x):
        return self.function(lambda x: self.torch.histc(x, 100), x)

    def bincount(self, x):
        return self.function(self.torch.bincount, x)

    def isin(self, x, y):
        return self.function(lambda x, y: self.torch.isin(x, y).sum(), x, y)

    def unique(self, x):
        return self.function(self.torch.unique, x)

    def argsort(self, x):
        return self.function(self.torch.argsort, x)

    def topk(self, x, k):
        return self.function(lambda x: self.torch.topk(x, k)[0], x)

    def uniform_mean(self, *shape, dtype):
        dtype = getattr(self.torch, self.dtypes[dtype])
        return self.function(lambda: self.torch.rand(shape, dtype=dtype).mean())

    def transpose(self, x):
        return self.function(lambda x: x.t().contiguous().view(-1), x)

    def embedding(self, indices, weight):
        return self.function(self.torch.nn.functional.embedding, indices, weight)

    def embedding_add(self, indices, weight, positions):
        embedding = self.torch.nn.functional.embedding
        return self.function(lambda i, w, p: embedding(i, w) + p, indices, weight, positions)

    def vecdot(self, a, b):
        return self.function(self.torch.linalg.vecdot, a, b)

    def mlp(self, x, *layers):
        torch = self.torch

        def forward(y, *layers):
            for i in range(0, len(layers), 2):
                y = torch.addmm(layers[i + 1], y, layers[i])
                if i + 2 < len(layers):
                    y = torch.relu(y)
            return y

        return self.function(forward, x, *layers)

    def graph10(self, a, b):
        torch = self.torch

        def forward(a, b):
            y = (a + b) * a
            y = -torch.maximum(y - b, a)
            y = (torch.abs(y) + b) * a
            return torch.square(torch.minimum(y, b))

        return self.function(forward, a, b)


    def whole(self, f):
        """The loss of a training step, as this peer runs it."""
        return f

    def train(self, forward, x, labels, *weights):
        torch = self.torch

        def begin():
            params = [(w * 0.1).requires_grad_() for w in weights]
            optimizer = torch.optim.Adam(params, lr=1e-3)
            compute = self.whole(lambda: torch.nn.functional.cross_entropy(forward(x, params), labels))

            def step():
                with torch.enable_grad():
                    loss = compute()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                return loss.detach()

            return step

        return training(begin, torch.stack)

    def train_mlp(self, *inputs):
        f = self.torch.nn.functional

        def forward(x, p):
            return f.linear(f.relu(f.linear(x, p[0], p[1])), p[2], p[3])

        return self.train(forward, *inputs)

    train_mlp_compiled = train_mlp

    def train_cnn(self, *inputs):
        f = self.torch.nn.functional

        def forward(x, p):
            x = f.relu(f.conv2d(x, p[0], p[1], padding=1))
            x = f.max_pool2d(f.relu(f.conv2d(x, p[2], p[3], padding=1)), 2)
            return f.linear(f.relu(f.linear(x.flatten(1), p[4], p[5])), p[6], p[7])

        return self.train(forward, *inputs)


class TorchCompile(Torch):
    """torch.compile, for works that are more than one library call."""

    works = ("relu_fma", "chain", "gelu", "sum", "sum_outer", "softmax", "layer_norm", "uniform_mean", "mlp", "graph10",
             "train_cnn")

    def whole(self, f):
        return self.torch.compile(f)

    def function(self, f, *inputs):
        compiled = self.torch.compile(f)
        return lambda: compiled(*inputs)


class Jax:
    dtypes = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}

    def __init__(self, threads):
        os.environ["JAX_ENABLE_X64"] = "1"
        os.environ["JAX_PLATFORMS"] = "cuda" if DEVICE else "cpu"
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax

        self.jax = jax
        self.version = jax.__version__

    def load(self, path, dtype):
        import numpy

        x = self.jax.numpy.asarray(numpy.load(path))
        return x.astype(self.dtypes[dtype]) if self.jax.numpy.issubdtype(x.dtype, "float") else x

    def save(self, path, y):
        import numpy

        half = y.dtype.itemsize == 2
        numpy.save(path, numpy.asarray(y.astype("float32") if half else y))

    def function(self, f, *inputs):
        compiled = self.jax.jit(f)
        return lambda: compiled(*inputs).block_until_ready()

    def matmul(self, a, b):
        return self.function(self.jax.numpy.matmul, a, b)

    def linear(self, x, weight):
        return self.function(lambda x, w: x @ w.T, x, weight)

    def add(self, a, b):
        return self.function(lambda a, b: a + b, a, b)

    def add_strided(self, a, b):
        return self.function(lambda a, b: a[:, ::2] + b[:, ::2], a, b)

    def add_transposed(self, a, b):
        return self.function(lambda a, b: a + b.T, a, b)

    def relu_fma(self, a, b, c):
        return self.function(lambda a, b, c: self.jax.nn.relu(a * b + c), a, b, c)

    def chain(self, a, b, c):
        np = self.jax.numpy
        return self.function(lambda a, b, c: np.maximum(np.sqrt(np.abs(a * b + c)) - a, b), a, b, c)

    def gelu(self, x):
        return self.function(lambda x: self.jax.nn.gelu(x, approximate=False), x)

    def sum(self, x):
        return self.function(self.jax.numpy.sum, x)

    def sum_outer(self, x):
        return self.function(lambda x: x.sum(axis=0), x)

    def softmax(self, x):
        return self.function(self.jax.nn.softmax, x)

    def layer_norm(self, x, weight, bias):
        def forward(x, weight, bias):
            y = x - x.mean(axis=-1, keepdims=True)
            return y * self.jax.lax.rsqrt((y * y).mean(axis=-1, keepdims=True) + 1e-5) * weight + bias

        return self.function(forward, x, weight, bias)

    def attention(self, q, k, v):
        scale = q.shape[-1] ** -0.5
        softmax = self.jax.nn.softmax
        return self.function(lambda q, k, v: softmax(q * scale @ k.swapaxes(-1, -2)) @ v, q, k, v)

    def conv(self, x, weight, groups=1):
        f = self.jax.lax.conv_general_dilated
        return self.function(lambda x, w: f(x, w, (1, 1), "SAME", feature_group_count=groups), x, weight)

    def depthwise(self, x, weight):
        return self.conv(x, weight, weight.shape[0])

    def max_pool(self, x):
        lax = self.jax.lax
        window = (1, 1, 2, 2)
        return self.function(lambda x: lax.reduce_window(x, -float("inf"), lax.max, window, window, "VALID"), x)

    def cumulative_sum(self, x):
        return self.function(self.jax.numpy.cumsum, x)

    def sort(self, x):
        return self.function(self.jax.numpy.sort, x)

    def argsort(self, x):
        return self.function(self.jax.numpy.argsort, x)

    def topk(self, x, k):
        return self.function(lambda x: self.jax.lax.top_k(x, k)[0], x)

    def uniform_mean(self, *shape, dtype):
        random, key = self.jax.random, self.jax.random.key(1)
        return self.function(lambda key: random.uniform(key, shape, self.dtypes[dtype]).mean(), key)

    def transpose(self, x):
        return self.function(lambda x: x.T.reshape(-1), x)

    def embedding(self, indices, weight):
        return self.function(lambda i, w: w[i], indices, weight)

    def embedding_add(self, indices, weight, positions):
        return self.function(lambda i, w, p: w[i] + p, indices, weight, positions)

    def vecdot(self, a, b):
        return self.function(lambda a, b: self.jax.numpy.einsum("ij,ij->i", a, b), a, b)

    def mlp(self, x, *layers):
        def forward(y, *layers):
            for i in range(0, len(layers), 2):
                y = y @ layers[i] + layers[i + 1]
                if i + 2 < len(layers):
                    y = self.jax.nn.relu(y)
            return y

        return self.function(forward, x, *layers)

    def graph10(self, a, b):
        jnp = self.jax.numpy

        def forward(a, b):
            y = (a + b) * a
            y = -jnp.maximum(y - b, a)
            y = (jnp.abs(y) + b) * a
            return jnp.square(jnp.minimum(y, b))

        return self.function(forward, a, b)


    def train(self, forward, x, labels, *weights):
        jax, jnp = self.jax, self.jax.numpy

        def loss_of(params):
            logs = jax.nn.log_softmax(forward(x, params))
            return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))

        def update(state, rate, correction):
            params, means, squares = state
            loss, grads = jax.value_and_grad(loss_of)(params)
            means = [0.9 * m + 0.1 * g for m, g in zip(means, grads)]
            squares = [0.999 * v + 0.001 * g * g for v, g in zip(squares, grads)]
            steps = zip(params, means, squares)
            params = [p - rate * m / (jnp.sqrt(v) * correction + 1e-8) for p, m, v in steps]
            return (params, means, squares), loss

        compiled = jax.jit(update, donate_argnums=0)

        def begin():
            params = [w * 0.1 for w in weights]
            state = [params, [p * 0 for p in params], [p * 0 for p in params]]
            count = 0

            def step():
                nonlocal state, count
                count += 1
                rate = 1e-3 / (1 - 0.9**count)
                state, loss = compiled(tuple(state), rate, (1 - 0.999**count) ** -0.5)
                return loss.block_until_ready()

            return step

        return training(begin, jnp.stack)

    def train_mlp(self, *inputs):
        def forward(x, p):
            return self.jax.nn.relu(x @ p[0].T + p[1]) @ p[2].T + p[3]

        return self.train(forward, *inputs)

    train_mlp_compiled = train_mlp

    def train_cnn(self, *inputs):
        lax, relu = self.jax.lax, self.jax.nn.relu

        def conv(x, weight, bias):
            return relu(lax.conv_general_dilated(x, weight, (1, 1), "SAME") + bias[:, None, None])

        def forward(x, p):
            x = conv(conv(x, p[0], p[1]), p[2], p[3])
            x = lax.reduce_window(x, -float("inf"), lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
            return relu(x.reshape(x.shape[0], -1) @ p[4].T + p[5]) @ p[6].T + p[7]

        return self.train(forward, *inputs)


class Mlx:
    dtypes = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}

    def __init__(self, threads):
        import importlib.metadata
        import mlx.core

        self.mx = mlx.core
        self.version = importlib.metadata.version("mlx")
        self.mx.set_default_device(self.mx.cpu)

    def load(self, path, dtype):
        import numpy

        x = numpy.load(path)
        y = self.mx.array(x, getattr(self.mx, self.dtypes[dtype])) if x.dtype.kind == "f" else self.mx.array(x)
        self.mx.eval(y)
        return y

    def save(self, path, y):
        import numpy

        half = y.dtype in (self.mx.float16, self.mx.bfloat16)
        numpy.save(path, numpy.array(y.astype(self.mx.float32) if half else y))

    def function(self, f, *inputs):
        def run():
            y = f(*inputs)
            self.mx.eval(y)
            return y

        return run

    def matmul(self, a, b):
        # Its wheel for Linux multiplies without a BLAS: minutes for one run of the large ones.
        return self.function(self.mx.matmul, a, b) if a.size * b.shape[-1] < 2e10 else None

    def linear(self, x, weight):
        return self.function(lambda x, w: x @ w.T, x, weight)

    def add(self, a, b):
        return self.function(lambda a, b: a + b, a, b)

    def add_strided(self, a, b):
        return self.function(lambda a, b: a[:, ::2] + b[:, ::2], a, b)

    def add_transposed(self, a, b):
        return self.function(lambda a, b: a + b.T, a, b)

    def relu_fma(self, a, b, c):
        return self.function(self.mx.compile(lambda a, b, c: self.mx.maximum(a * b + c, 0)), a, b, c)

    def chain(self, a, b, c):
        mx = self.mx
        work = mx.compile(lambda a, b, c: mx.maximum(mx.sqrt(mx.abs(a * b + c)) - a, b))
        return self.function(work, a, b, c)

    def sum(self, x):
        return self.function(self.mx.sum, x)

    def sum_outer(self, x):
        return self.function(lambda x: self.mx.sum(x, axis=0), x)

    def softmax(self, x):
        return self.function(lambda x: self.mx.softmax(x, axis=-1), x)

    def layer_norm(self, x, weight, bias):
        return self.function(lambda x, w, b: self.mx.fast.layer_norm(x, w, b, 1e-5), x, weight, bias)

    def attention(self, q, k, v):
        f = self.mx.fast.scaled_dot_product_attention
        return self.function(lambda q, k, v: f(q, k, v, scale=q.shape[-1] ** -0.5), q, k, v)

    def cumulative_sum(self, x):
        return self.function(self.mx.cumsum, x)

    def sort(self, x):
        return self.function(self.mx.sort, x)

    def argsort(self, x):
        return self.function(self.mx.argsort, x)

    def uniform_mean(self, *shape, dtype):
        if dtype == "f64":
            return None
        return self.function(lambda: self.mx.random.uniform(shape=shape).mean())

    def transpose(self, x):
        return self.function(lambda x: self.mx.contiguous(x.T).reshape(-1), x)

    def embedding(self, indices, weight):
        return self.function(lambda i, w: w[i], indices, weight)

    def embedding_add(self, indices, weight, positions):
        return self.function(lambda i, w, p: w[i] + p, indices, weight, positions)

    def vecdot(self, a, b):
        return self.function(lambda a, b: (a * b).sum(axis=1), a, b)

    def graph10(self, a, b):
        mx = self.mx

        def forward(a, b):
            y = (a + b) * a
            y = -mx.maximum(y - b, a)
            y = (mx.abs(y) + b) * a
            return mx.square(mx.minimum(y, b))

        return self.function(mx.compile(forward), a, b)


class Dask:
    dtypes = {"f32": "float32", "f64": "float64"}

    def __init__(self, threads):
        import dask
        import dask.array

        self.array = dask.array
        self.version = dask.__version__
        dask.config.set(scheduler="threads", num_workers=threads)

    def save(self, path, y):
        import numpy

        numpy.save(path, numpy.asarray(y))

    def uniform_mean(self, *shape, dtype):
        rng = self.array.random.default_rng(1)
        return lambda: rng.random(shape, dtype=self.dtypes[dtype]).mean().compute()


PEERS = {
    "numpy": Numpy,
    "torch": Torch,
    "torch.compile": TorchCompile,
    "onnxruntime": OnnxRuntime,
    "jax": Jax,
    "mlx": Mlx,
    "dask": Dask,
}


class Commands:
    def __init__(self, peer):
        self.peer = peer
        self.work = None

    def version(self):
        return f"ok {self.peer.version}"

    def prepare(self, name, dtype, dims, *paths):
        peer = self.peer
        self.work = None
        name = name.removesuffix("_own")  # a variant of ours
        make = getattr(peer, name, None) if name in getattr(peer, "works", (name,)) else None
        if make is None or dtype not in peer.dtypes:
            return "none"
        arguments = [peer.load(path, dtype) for path in paths]
        arguments += [int(d) for d in dims.split(",") if d != "-"]
        self.work = make(*arguments, **({} if paths else {"dtype": dtype}))
        return "ok" if self.work else "none"

    def run(self, n):
        n, work = int(n), self.work
        wait = self.peer.torch.cuda.synchronize if DEVICE and hasattr(self.peer, "torch") else lambda: None
        start = time.perf_counter()
        for _ in range(n):
            work()
            wait()
        return f"ok {(time.perf_counter() - start) * 1e3 / n:.9g}"

    def save(self, path):
        self.peer.save(path, getattr(self.work, "answer", self.work)())
        return "ok"


def main():
    # Libraries may print: only our answers go to the driver.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        commands = Commands(PEERS[sys.argv[1]](int(sys.argv[2])))
    except Exception as problem:  # not there, or not for this machine
        print(f"none {type(problem).__name__}: {str(problem).splitlines()[0]}", file=answers, flush=True)
        return
    print("ok", file=answers, flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            answer = getattr(commands, command)(*arguments)
        except Exception as problem:
            text = (str(problem).splitlines() or [""])[0]
            answer = f"error {type(problem).__name__}: {text}"
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
