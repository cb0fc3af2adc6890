"""Parts of today's transformers that PyTorch has no modules for, with the names of weights that published networks have."""
from . import functional as F
from .layers import Conv2d, Linear
from .module import Module

_op = F._op


class SwiGLU(Module):
    """The feed-forward network of Llama: down_proj(silu(gate_proj(x)) * up_proj(x)). The width of the result is that of x."""

    def __init__(self, width, hidden, bias=False):
        self.gate_proj, self.up_proj, self.down_proj = Linear(width, hidden, bias), Linear(width, hidden, bias), Linear(hidden, width, bias)

    def forward(self, x):
        return self.down_proj(_op.silu(self.gate_proj(x)) * self.up_proj(x))


class RoPE(Module):
    """Rotary positions of x (..., T, D), whose rows have the positions offset, offset + 1, ...: see ingot.rope."""

    def __init__(self, dims=None, traditional=False, base=10000.0, scale=1.0):
        self.dims, self.traditional, self.base, self.scale = dims, traditional, base, scale

    def forward(self, x, offset=0):
        return _op.rope(x, self.dims, self.traditional, self.base, self.scale, offset)


class GroupedQueryAttention(Module):
    """Attention of x (N, T, width) to itself, in which heads / kv_heads heads of queries share a head of keys and values. rope: a
    RoPE, which turns queries and keys. head_width is width / heads unless it is given. A mask of bools is true where a query attends;
    others are added to scores."""

    def __init__(self, width, heads, kv_heads=None, rope=None, bias=False, dropout=0.0, head_width=None):
        kv_heads = heads if kv_heads is None else kv_heads
        if kv_heads < 1 or heads % kv_heads or (head_width is None and width % heads):
            raise ValueError(f"GroupedQueryAttention: {kv_heads} kv_heads must divide {heads} heads, and these the width {width}")
        self.head_width = width // heads if head_width is None else head_width
        self.rope, self.dropout = rope, dropout
        self.q_proj = Linear(width, heads * self.head_width, bias)
        self.k_proj, self.v_proj = (Linear(width, kv_heads * self.head_width, bias) for _ in range(2))
        self.o_proj = Linear(heads * self.head_width, width, bias)

    def _split(self, x):
        return x.reshape((*x.shape[:-1], -1, self.head_width)).permute_dims((0, 2, 1, 3))

    def forward(self, x, mask=None, is_causal=False, offset=0):
        """offset: the position of the first row of x."""
        q, k, v = (self._split(f(x)) for f in (self.q_proj, self.k_proj, self.v_proj))
        if self.rope is not None:
            q, k = self.rope(q, offset), self.rope(k, offset)
        y = F.scaled_dot_product_attention(q, k, v, mask, self.dropout if self.training else 0.0, is_causal, enable_gqa=True)
        return self.o_proj(y.permute_dims((0, 2, 1, 3)).reshape((*x.shape[:-1], -1)))


class PatchEmbedding(Module):
    """The patches of images (N, C, H, W) as rows (N, patches, width), by a convolution whose stride is its size."""

    def __init__(self, in_channels, width, patch_size, bias=True):
        self.patch_size = F._tuple(patch_size, 2)
        self.proj = Conv2d(in_channels, width, self.patch_size, stride=self.patch_size, bias=bias)

    def forward(self, x):
        if any(n % size for n, size in zip(x.shape[-2:], self.patch_size)):
            raise ValueError(f"PatchEmbedding: patches of {self.patch_size} do not divide images of {x.shape[-2:]}; pad or resize them")
        y = self.proj(x)
        return y.reshape((*y.shape[:2], -1)).mT
