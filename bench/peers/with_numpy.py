"""NumPy as a peer: see bench/peer.py."""


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

    def gram(self, x):
        return lambda: x.T @ x

    def linear(self, x, weight):
        return lambda: x @ weight.T

    def linear_bytes(self, x, weight):
        weight = weight.T.astype("float32")
        return lambda: (x.astype("float32") - 7) @ weight * self.np.float32(0.01)

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

    def deviation(self, x, m):
        return lambda: self.np.abs(x - m)[1:].mean()

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
