"""PyTorch as a peer, eager and compiled: see bench/peer.py."""

from peers.shared import DEVICE, training


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

    def gram(self, x):
        return self.function(lambda x: x.T @ x, x)

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

    def deviation(self, x, m):
        return self.function(lambda x, m: (x - m).abs()[1:].mean(), x, m)

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

    def depthwise(self, x, weight, stride=1):
        f = self.torch.nn.functional.conv2d
        return self.function(lambda x, w: f(x, w, stride=stride, padding=1, groups=w.shape[0]), x, weight)

    def depthwise_2(self, x, weight):
        return self.depthwise(x, weight, 2)

    def max_pool(self, x):
        return self.function(lambda x: self.torch.nn.functional.max_pool2d(x, 2), x)

    def max_pool_3(self, x):
        return self.function(lambda x: self.torch.nn.functional.max_pool2d(x, 3, 2, 1), x)

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
