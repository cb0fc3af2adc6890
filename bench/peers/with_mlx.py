"""MLX as a peer: see bench/peer.py."""


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

    def deviation(self, x, m):
        return self.function(lambda x, m: self.mx.mean(self.mx.abs(x - m)[1:]), x, m)

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
