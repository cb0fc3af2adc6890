"""JAX as a peer: see bench/peer.py."""

import os

from peers.shared import DEVICE, training


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

    def gram(self, x):
        return self.function(lambda x: x.T @ x, x)

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

    def deviation(self, x, m):
        return self.function(lambda x, m: abs(x - m)[1:].mean(), x, m)

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

    def conv(self, x, weight, groups=1, stride=1):
        f = self.jax.lax.conv_general_dilated
        sides = ((1, 1), (1, 1))
        return self.function(lambda x, w: f(x, w, (stride, stride), sides, feature_group_count=groups), x, weight)

    def depthwise(self, x, weight):
        return self.conv(x, weight, weight.shape[0])

    def depthwise_2(self, x, weight):
        return self.conv(x, weight, weight.shape[0], 2)

    def max_pool(self, x):
        lax = self.jax.lax
        window = (1, 1, 2, 2)
        return self.function(lambda x: lax.reduce_window(x, -float("inf"), lax.max, window, window, "VALID"), x)

    def max_pool_3(self, x):
        lax, sides = self.jax.lax, ((0, 0), (0, 0), (1, 1), (1, 1))
        return self.function(
            lambda x: lax.reduce_window(x, -float("inf"), lax.max, (1, 1, 3, 3), (1, 1, 2, 2), sides), x)

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
