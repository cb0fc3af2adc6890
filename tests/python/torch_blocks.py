"""nn.blocks by PyTorch's ops, with the same arguments and names of weights."""
import torch
from torch import nn
from torch.nn import functional as F


class SwiGLU(nn.Module):
    def __init__(self, width, hidden, bias=False):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, bias), nn.Linear(width, hidden, bias)
        self.down_proj = nn.Linear(hidden, width, bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class RoPE(nn.Module):
    def __init__(self, dims=None, traditional=False, base=10000.0, scale=1.0):
        super().__init__()
        self.dims, self.traditional, self.base, self.scale = dims, traditional, base, scale

    def forward(self, x, offset=0):
        dims = self.dims or x.shape[-1]
        turned, rest = x[..., :dims], x[..., dims:]
        frequency = self.base ** (-torch.arange(0, dims, 2, dtype=torch.float64) / dims)
        angle = (torch.arange(x.shape[-2], dtype=torch.float64) + offset)[:, None] * self.scale * frequency
        turn = torch.polar(torch.ones_like(angle), angle)
        if self.traditional:
            pairs = turned.unflatten(-1, (-1, 2))
        else:
            pairs = turned.unflatten(-1, (2, -1)).transpose(-1, -2)
        pairs = torch.view_as_real(torch.view_as_complex(pairs.double().contiguous()) * turn).to(x.dtype)
        made = pairs.flatten(-2) if self.traditional else pairs.transpose(-1, -2).flatten(-2)
        return torch.cat([made, rest], -1)


class GroupedQueryAttention(nn.Module):
    def __init__(self, width, heads, kv_heads=None, rope=None, bias=False, dropout=0.0, head_width=None):
        super().__init__()
        kv_heads, self.each, self.rope = kv_heads or heads, head_width or width // heads, rope
        self.q_proj = nn.Linear(width, heads * self.each, bias)
        self.k_proj, self.v_proj = nn.Linear(width, kv_heads * self.each, bias), nn.Linear(width, kv_heads * self.each, bias)
        self.o_proj = nn.Linear(heads * self.each, width, bias)

    def forward(self, x, mask=None):
        q, k, v = (f(x).unflatten(-1, (-1, self.each)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        if self.rope is not None:
            q, k = self.rope(q), self.rope(k)
        y = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class PatchEmbedding(nn.Module):
    def __init__(self, in_channels, width, patch_size, bias=True):
        super().__init__()
        self.proj = nn.Conv2d(in_channels, width, patch_size, patch_size, bias=bias)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)
