"""The reference networks of bench/train and of tests/test_networks.py. Each is written once: `nn` is torch.nn or ingot.nn, which have the
same layers with the same names of weights, so that both compute the same from the same state_dict. ResNets have the names of
torchvision.

    NETWORKS[name](nn, **sizes) -> module, whose forward gives logits or the prediction
"""
import math


def gpt(nn, layers=12, heads=12, width=768, length=1024, words=50304, **_):
    """GPT-2 (Radford et al. 2019): pre-norm blocks, gelu by tanh, the embedding is the last layer."""
    F = nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.fc = nn.Linear(width, 3 * width), nn.Linear(width, 4 * width)
            self.project, self.out = nn.Linear(width, width), nn.Linear(4 * width, width)

        def forward(self, x):
            n, t, _ = x.shape
            qkv = self.attention(self.ln_1(x)).reshape(n, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], is_causal=True)
            x = x + self.project(y.permute(0, 2, 1, 3).reshape(n, t, width))
            return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, ids):
            x = self.words(ids) + self.places.weight[:ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            return F.linear(self.norm(x), self.words.weight)

    return GPT()


def llama(nn, layers=30, heads=9, kv_heads=3, width=576, inner=1536, words=49152, **_):
    """The network of Touvron et al. 2023 with grouped queries, in the sizes of SmolLM-135M; the embedding is the last layer."""
    F = nn.functional
    each = width // heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
            self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            self.k_proj, self.v_proj = (nn.Linear(width, kv_heads * each, bias=False) for _ in range(2))
            self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
            self.down_proj = nn.Linear(inner, width, bias=False)

        def forward(self, x, cos, sin, concat):
            n, t, _ = x.shape

            def turned(y, count):
                y = y.reshape(n, t, count, each).permute(0, 2, 1, 3)
                a, b = y[..., :each // 2], y[..., each // 2:]
                return concat((a * cos - b * sin, b * cos + a * sin), 3)

            y = self.norm1(x)
            q, k = turned(self.q_proj(y), heads), turned(self.k_proj(y), kv_heads)
            v = self.v_proj(y).reshape(n, t, kv_heads, each).permute(0, 2, 1, 3)
            y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True, enable_gqa=True)
            x = x + self.o_proj(y.permute(0, 2, 1, 3).reshape(n, t, width))
            y = self.norm2(x)
            return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))

    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.RMSNorm(width, eps=1e-5)

        def forward(self, ids, cos, sin, concat):
            """cos and sin (T, D / 2): of the rotary angles."""
            x = self.words(ids)
            for block in self.blocks:
                x = block(x, cos, sin, concat)
            return F.linear(self.norm(x), self.words.weight)

    return Llama()


def resnet(nn, blocks=(3, 4, 6, 3), bottleneck=True, classes=1000, small=False, base=64, **_):
    """He et al. 2015, with the stride in the 3 x 3 convolution. small: for images of 32 x 32, a first convolution of 3 x 3 and no pool."""
    F = nn.functional

    class Block(nn.Module):
        def __init__(self, inputs, channels, stride):
            super().__init__()
            wide = 4 * channels if bottleneck else channels
            sides = (1, 3, 1) if bottleneck else (3, 3)
            at = inputs
            for i, side in enumerate(sides, 1):
                out = wide if i == len(sides) else channels
                own = stride if side == 3 and (bottleneck or i == 1) else 1
                setattr(self, f"conv{i}", nn.Conv2d(at, out, side, stride=own, padding=side // 2, bias=False))
                setattr(self, f"bn{i}", nn.BatchNorm2d(out))
                at = out
            self.parts = len(sides)
            self.downsample = None
            if stride > 1 or inputs != wide:
                self.downsample = nn.Sequential(nn.Conv2d(inputs, wide, 1, stride=stride, bias=False), nn.BatchNorm2d(wide))

        def forward(self, x):
            y = x
            for i in range(1, self.parts + 1):
                y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
                y = F.relu(y) if i < self.parts else y
            return F.relu(y + (x if self.downsample is None else self.downsample(x)))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, base, 3 if small else 7, stride=1 if small else 2, padding=1 if small else 3, bias=False)
            self.bn1 = nn.BatchNorm2d(base)
            at = base
            for k, count in enumerate(blocks):
                layer = []
                for i in range(count):
                    layer.append(Block(at, base << k, 2 if k and i == 0 else 1))
                    at = (base << k) * (4 if bottleneck else 1)
                setattr(self, f"layer{k + 1}", nn.Sequential(*layer))
            self.fc = nn.Linear(at, classes)

        def forward(self, x):
            x = F.relu(self.bn1(self.conv1(x)))
            x = x if small else F.max_pool2d(x, 3, stride=2, padding=1)
            for k in range(len(blocks)):
                x = getattr(self, f"layer{k + 1}")(x)
            return self.fc(x.mean((2, 3)))

    return ResNet()


class _Attention:
    """Functions for blocks of attention without a mask: the same in pre-norm and post-norm networks."""

    @staticmethod
    def run(nn, x, qkv, out, heads):
        n, t, width = x.shape
        parts = qkv(x).reshape(n, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        return out(y.permute(0, 2, 1, 3).reshape(n, t, width))


def vit(nn, layers=12, heads=12, width=768, inner=3072, side=224, patch=16, classes=1000, **_):
    """Dosovitskiy et al. 2020: patches, a class token, pre-norm blocks."""
    F = nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.out = nn.Linear(width, inner), nn.Linear(inner, width)

        def forward(self, x):
            x = x + _Attention.run(nn, self.ln_1(x), self.qkv, self.project, heads)
            return x + self.out(F.gelu(self.fc(self.ln_2(x))))

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, stride=patch)
            self.token, self.places = nn.Embedding(1, width), nn.Embedding((side // patch) ** 2 + 1, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

        def forward(self, x):
            x = self.patches(x)
            x = x.reshape(x.shape[0], width, -1).permute(0, 2, 1)
            # the class token is row 0: a row of zeros before the patches, plus the token
            x = F.pad(x, (0, 0, 1, 0)) + self.places.weight + F.pad(self.token.weight, (0, 0, 0, x.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)[:, 0])

    return ViT()


def distilbert(nn, layers=6, heads=12, width=768, inner=3072, length=512, words=30522, classes=2, **_):
    """Sanh et al. 2019 with a head for classes: post-norm blocks."""
    F = nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
            self.fc, self.out = nn.Linear(width, inner), nn.Linear(inner, width)

        def forward(self, x):
            x = self.ln_1(x + _Attention.run(nn, x, self.qkv, self.project, heads))
            return self.ln_2(x + self.out(F.gelu(self.fc(x))))

    class DistilBert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.norm = nn.LayerNorm(width, eps=1e-12)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.pre_classifier, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)

        def forward(self, ids):
            x = self.norm(self.words(ids) + self.places.weight[:ids.shape[1]])
            for block in self.blocks:
                x = block(x)
            return self.classifier(F.relu(self.pre_classifier(x[:, 0])))

    return DistilBert()


def unet(nn, channels=128, levels=(1, 2, 2, 2), blocks=2, heads=4, attends=(2,), groups=32, **_):
    """The network of Ho et al. 2020: it predicts the noise in an image, given the time of the diffusion. attends: the levels with
    attention."""
    F = nn.functional
    inner = 4 * channels

    class Block(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(groups, inputs), nn.GroupNorm(groups, outputs)
            self.conv1, self.conv2 = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
            self.time = nn.Linear(inner, outputs)
            self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

        def forward(self, x, t):
            y = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
            y = self.conv2(F.silu(self.norm2(y)))
            return y + (x if self.skip is None else self.skip(x))

    class Attend(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.GroupNorm(groups, width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            n, c, h, w = x.shape
            y = self.norm(x).reshape(n, c, h * w).permute(0, 2, 1)
            y = _Attention.run(nn, y, self.qkv, self.project, heads)
            return x + y.permute(0, 2, 1).reshape(n, c, h, w)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.time1, self.time2 = nn.Linear(channels, inner), nn.Linear(inner, inner)
            self.first = nn.Conv2d(3, channels, 3, padding=1)
            at, widths, down = channels, [channels], []
            for k, factor in enumerate(levels):
                for _ in range(blocks):
                    down.append(Block(at, factor * channels))
                    at = factor * channels
                    down.append(Attend(at) if k in attends else nn.Identity())
                    widths.append(at)
                if k + 1 < len(levels):
                    down.append(nn.Conv2d(at, at, 3, stride=2, padding=1))
                    widths.append(at)
            self.down = nn.ModuleList(down)
            self.middle = nn.ModuleList([Block(at, at), Attend(at), Block(at, at)])
            up = []
            for k, factor in reversed(list(enumerate(levels))):
                for _ in range(blocks + 1):
                    up.append(Block(at + widths.pop(), factor * channels))
                    at = factor * channels
                    up.append(Attend(at) if k in attends else nn.Identity())
                if k:
                    up.append(nn.ConvTranspose2d(at, at, 4, stride=2, padding=1))
            self.up = nn.ModuleList(up)
            self.norm, self.last = nn.GroupNorm(groups, at), nn.Conv2d(at, 3, 3, padding=1)

        def forward(self, x, waves, concat):
            """waves (N, channels): sines and cosines of the time. concat: joins along an axis."""
            t = F.silu(self.time2(F.silu(self.time1(waves))))
            kept, parts = [], iter(self.down)
            x = self.first(x)
            kept.append(x)
            for k in range(len(levels)):
                for _ in range(blocks):
                    x = next(parts)(x, t)
                    x = next(parts)(x)
                    kept.append(x)
                if k + 1 < len(levels):
                    x = next(parts)(x)
                    kept.append(x)
            x = self.middle[2](self.middle[1](self.middle[0](x, t)), t)
            parts = iter(self.up)
            for k in reversed(range(len(levels))):
                for _ in range(blocks + 1):
                    x = next(parts)(concat((x, kept.pop()), 1), t)
                    x = next(parts)(x)
                if k:
                    x = next(parts)(x)
            return self.last(F.silu(self.norm(x)))

    return UNet()


def lstm(nn, words=10000, width=650, layers=2, **_):
    """Zaremba et al. 2014, the medium size, without dropout. The result is of (T, N) tokens."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, width, layers)
            self.out = nn.Linear(width, words)

        def forward(self, ids):
            return self.out(self.lstm(self.words(ids))[0])

    return Model()


NETWORKS = {"gpt": gpt, "llama": llama, "resnet": resnet, "vit": vit, "distilbert": distilbert, "unet": unet, "lstm": lstm}


def data(name, sizes, rng):
    """A batch as NumPy arrays: (inputs, target)."""
    import numpy as np

    n = sizes["batch"]
    if name == "llama":
        length, each = sizes.get("length", 2048), sizes.get("width", 576) // sizes.get("heads", 9)
        ids = rng.integers(0, sizes.get("words", 49152), (n, length + 1))
        angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, each, 2) / each)
        return (ids[:, :-1].copy(), np.cos(angles).astype("float32"), np.sin(angles).astype("float32")), ids[:, 1:].copy()
    if name in ("gpt", "lstm"):
        shape = (n, sizes["length"] + 1)
        ids = rng.integers(0, sizes.get("words", 50304 if name == "gpt" else 10000), shape)
        x, y = ids[:, :-1], ids[:, 1:]
        return ((x.T.copy(),), y.T.copy()) if name == "lstm" else ((x.copy(),), y.copy())
    if name == "distilbert":
        return (rng.integers(0, sizes.get("words", 30522), (n, sizes["tokens"])),), rng.integers(0, 2, n)
    side = sizes.get("side", 224)
    x = rng.standard_normal((n, 3, side, side)).astype("float32")
    if name != "unet":
        return (x,), rng.integers(0, sizes.get("classes", 1000), n)
    channels = sizes.get("channels", 128)
    angles = rng.integers(0, 1000, (n, 1)) * [math.exp(-math.log(10000) * i / (channels // 2)) for i in range(channels // 2)]
    waves = [[f(a) for f in (math.sin, math.cos) for a in row] for row in angles]
    return (x, np.array(waves, "float32")), rng.standard_normal(x.shape).astype("float32")


def loss_of(nn, name, net, inputs, target, concat):
    """The loss of a batch, in f32."""
    F = nn.functional
    if name == "unet":
        return F.mse_loss(net(*inputs, concat), target)
    logits = net(*inputs, concat) if name == "llama" else net(*inputs)
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1))
