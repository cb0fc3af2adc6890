"""Random arrays as the definitions of Philox 4x32-10 (Salmon et al., SC 2011) and of the draws say, for keys of four words."""
import numpy as np

from support.cases import erfinv

LOW = np.uint64(0xffffffff)


def blocks(key, at):
    """The four words of each block."""
    at, key = np.asarray(at, np.uint64), [np.uint64(int(w)) for w in key]
    x = [at & LOW, at >> np.uint64(32), np.full_like(at, key[2]), np.full_like(at, key[3])]
    k0, k1 = key[0], key[1]
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [(q >> np.uint64(32)) ^ x[1] ^ k0, q & LOW, (p >> np.uint64(32)) ^ x[3] ^ k1, p & LOW]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & LOW, (k1 + np.uint64(0xBB67AE85)) & LOW
    return np.stack(x, -1)


def bits(key, shape, dtype):
    dtype, n = np.dtype(dtype), int(np.prod(shape))
    if dtype.itemsize == 8:
        words = blocks(key, np.arange(n // 2 + 1)).reshape(-1, 2)
        return (words[:, 1] << np.uint64(32) | words[:, 0])[:n].reshape(shape)
    return blocks(key, np.arange(n // 4 + 1)).reshape(-1)[:n].astype(dtype).reshape(shape)


def derived(key, at, domain):
    return blocks([*key[:3], int(key[3]) ^ domain], at).astype(np.uint32)


def split(key, n):
    return derived(key, np.arange(n), 1)


def fold_in(key, data):
    return derived(key, data, 4)


def unit(key, shape, dtype):
    """In [0, 1), with as many bits as the dtype has digits after the first."""
    info = np.finfo(dtype)
    return (bits(key, shape, f"u{info.bits // 8}") >> (info.bits - info.nmant)).astype(float) * 2.0 ** -info.nmant


def uniform(key, shape, dtype, low=0.0, high=1.0):
    def rounded(x):
        return np.asarray(x).astype(dtype).astype(float)
    low, high = rounded(low), rounded(high)
    return np.maximum(low, rounded(rounded(unit(key, shape, dtype) * rounded(high - low)) + low)).astype(dtype)


def normal(key, shape, dtype):
    first = (np.finfo(dtype).eps / 2 - 1).astype(dtype)
    return (np.sqrt(2) * erfinv(uniform(key, shape, dtype, first, 1).astype(float))).astype(dtype)


def randint(key, shape, low, high, dtype):
    """The remainder of twice as many bits as the dtype has, at least 64."""
    word = "uint64" if np.dtype(dtype).itemsize == 8 else "uint32"
    above, below = (bits(k, shape, word) for k in split(key, 2))
    wide = [(int(a) << (64 if word == "uint64" else 32)) + int(b) for a, b in zip(above.flat, below.flat)]
    return np.array([low + v % (high - low) for v in wide]).astype(dtype).reshape(shape)


def bernoulli(key, p, dtype):
    dtype = dtype if np.dtype(dtype).kind == "f" else "float32"
    return unit(key, p.shape, dtype) < p.astype(dtype)


def order(key, n):
    return np.argsort(bits(key, n, "uint64"), kind="stable")
