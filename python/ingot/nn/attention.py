"""Attention and transformers. MultiheadAttention and Transformer* have PyTorch's weights and arguments."""
import copy
import math

from .. import _ingot
from . import functional as F
from .activations import Dropout
from .containers import ModuleList
from .layers import Linear, _uniform
from .module import Module, _walk
from .norms import LayerNorm

_op = F._op


class MultiHeadAttention(Module):
    """Attention of x (N, T, width) to context (N, S, width), or to itself."""

    def __init__(self, width, heads, bias=True):
        self.query, self.key, self.value, self.out = (Linear(width, width, bias) for _ in range(4))
        self.heads = heads

    def _split(self, x):
        n, t, width = x.shape
        return x.reshape((n, t, self.heads, width // self.heads)).permute_dims((0, 2, 1, 3))

    def forward(self, x, context=None, mask=None, is_causal=False):
        context = x if context is None else context
        q, k, v = (self._split(f(y)) for f, y in ((self.query, x), (self.key, context), (self.value, context)))
        y = _op.scaled_dot_product_attention(q, k, v, mask, is_causal)
        return self.out(y.permute_dims((0, 2, 1, 3)).reshape(x.shape))


def _added(mask, dtype):
    """A mask of bools, true where nothing attends, as numbers that are added to scores."""
    return _op.where(mask, -math.inf, 0.0).astype(dtype) if mask.dtype == _ingot.bool else mask


class MultiheadAttention(Module):
    """Attention of query (T, N, embed_dim) to key and value (S, N, ...); with batch_first (N, T, ...)."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False):
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide embed_dim {embed_dim}")
        if add_bias_kv or add_zero_attn:
            raise ValueError("MultiheadAttention: add_bias_kv and add_zero_attn are not here; append rows to key and value")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        kdim, vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        if kdim == vdim == embed_dim:
            self.in_proj_weight = _uniform((3 * embed_dim, embed_dim), (6 / (4 * embed_dim)) ** 0.5)
        else:
            for name, width in (("q", embed_dim), ("k", kdim), ("v", vdim)):
                setattr(self, name + "_proj_weight", _uniform((embed_dim, width), (6 / (embed_dim + width)) ** 0.5))
        self.in_proj_bias = _op.zeros(3 * embed_dim) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            self.out_proj.bias = _op.zeros(embed_dim)

    def _project(self, query, key, value):
        if "in_proj_weight" in vars(self):
            weights = _op.split(self.in_proj_weight, 3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if self.in_proj_bias is None else _op.split(self.in_proj_bias, 3)
        return (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        """(output, attention weights or None). Masks of bools are true where nothing attends; others are added to scores."""
        if query.ndim == 2:
            pad = None if key_padding_mask is None else key_padding_mask[None]
            axis = 0 if self.batch_first else 1
            y, w = self.forward(*(_op.expand_dims(x, axis) for x in (query, key, value)), pad, need_weights, attn_mask,
                                average_attn_weights, is_causal)
            return _op.squeeze(y, axis), None if w is None else w[0]
        if is_causal and attn_mask is None:
            raise ValueError("MultiheadAttention: is_causal is a hint that attn_mask is causal; give attn_mask, too")
        if not self.batch_first:
            query, key, value = (_op.swapaxes(x, 0, 1) for x in (query, key, value))
        q, k, v = (x.reshape((*x.shape[:2], self.num_heads, -1)).permute_dims((0, 2, 1, 3)) for x in self._project(query, key, value))
        mask = None if attn_mask is None else _added(attn_mask, q.dtype)
        if mask is not None and mask.ndim == 3:
            mask = mask.reshape((-1, self.num_heads, *mask.shape[1:]))
        if key_padding_mask is not None:
            pad = _added(key_padding_mask, q.dtype)[:, None, None, :]
            mask = pad if mask is None else mask + pad
        weights = None
        if need_weights:
            weights = F.attention_weights(q, k, mask)
            if self.dropout:
                weights = F.dropout(weights, self.dropout, self.training)
            y = weights @ v
            weights = _op.mean(weights, axis=1) if average_attn_weights else weights
        else:
            y = F.scaled_dot_product_attention(q, k, v, mask, self.dropout if self.training else 0.0)
        y = self.out_proj(y.permute_dims((0, 2, 1, 3)).reshape(query.shape))
        return (y if self.batch_first else _op.swapaxes(y, 0, 1)), weights


def _activation(name):
    """An activation: a function, or the name of one."""
    if not isinstance(name, str):
        return name
    if name not in ("relu", "gelu"):
        raise ValueError(f"unknown activation '{name}'; use relu, gelu or a function")
    return getattr(_op, name)


class _Layer(Module):
    """The blocks of a transformer layer: each is added to its input, and normalized before (norm_first) or after."""

    def _block(self, x, norm, f):
        return x + f(norm(x)) if self.norm_first else norm(x + f(x))

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self attention and a feed-forward network."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True):
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, bias), Linear(dim_feedforward, d_model, bias)
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2))
        self.dropout, self.dropout1, self.dropout2 = (Dropout(dropout) for _ in range(3))
        self.norm_first, self.activation = norm_first, _activation(activation)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attend(x):
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0])

        x = self._block(src, self.norm1, attend)
        return self._block(x, self.norm2, lambda y: self.dropout2(self._feed(y)))


class TransformerDecoderLayer(_Layer):
    """Self attention, attention to memory, and a feed-forward network."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True):
        self.self_attn, self.multihead_attn = (
            MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first) for _ in range(2))
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, bias), Linear(dim_feedforward, d_model, bias)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(3))
        self.dropout, self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(4))
        self.norm_first, self.activation = norm_first, _activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        def attend(x):
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0])

        def look(x):
            return self.dropout2(self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal)[0])

        x = self._block(tgt, self.norm1, attend)
        x = self._block(x, self.norm2, look)
        return self._block(x, self.norm3, lambda y: self.dropout3(self._feed(y)))


class TransformerEncoder(Module):
    """Copies of a layer, one after another."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a layer, one after another."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        self.layers = ModuleList(copy.deepcopy(decoder_layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal),
                        memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to it."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation="relu", custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True):
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, LayerNorm(d_model, layer_norm_eps, bias=bias))
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, LayerNorm(d_model, layer_norm_eps, bias=bias))
        for _, _, store, key, x in list(_walk(self)):
            if x.ndim > 1:
                store[key] = _uniform(x.shape, (6 / sum(x.shape)) ** 0.5)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """-inf above the diagonal, 0 elsewhere."""
        return _op.triu(_op.full((sz, sz), -math.inf, dtype=dtype or _ingot.float32), 1)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
                            memory_is_causal)

