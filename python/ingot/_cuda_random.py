"""Random numbers in kernels, with the names of Numba: the module ingot.cuda.random. A state of the generator xoroshiro128+
is a row of two uint64 of an array; each thread uses its own row, which starts 2**64 numbers after the previous one."""
import math

from . import _ingot

float32, float64, uint64 = _ingot.float32, _ingot.float64, _ingot.uint64
_MASK = (1 << 64) - 1
_JUMP = 0xD86B048B86AA9922_BEAC0467EBA5FACB  # the polynomial of 2**64 steps
_TWO_PI = 2 * math.pi


def xoroshiro128p_next(states, index):
    """The next 64 bits of a state."""
    a = states[index, 0]
    b = states[index, 1]
    c = a ^ b
    states[index, 0] = ((a << 55) | (a >> 9)) ^ c ^ (c << 14)
    states[index, 1] = (c << 36) | (c >> 28)
    return a + b


def xoroshiro128p_uniform_float32(states, index):
    """A float32 in [0, 1)."""
    return float32(xoroshiro128p_next(states, index) >> 40) * float32(2.0 ** -24)


def xoroshiro128p_uniform_float64(states, index):
    """A float64 in [0, 1)."""
    return float64(xoroshiro128p_next(states, index) >> 11) * float64(2.0 ** -53)


def xoroshiro128p_normal_float32(states, index):
    """A float32 of the normal distribution with mean 0 and deviation 1."""
    u = float32(1.0) - xoroshiro128p_uniform_float32(states, index)
    v = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(u)) * math.cos(float32(_TWO_PI) * v)


def xoroshiro128p_normal_float64(states, index):
    """A float64 of the normal distribution with mean 0 and deviation 1."""
    u = float64(1.0) - xoroshiro128p_uniform_float64(states, index)
    v = xoroshiro128p_uniform_float64(states, index)
    return math.sqrt(float64(-2.0) * math.log(u)) * math.cos(float64(_TWO_PI) * v)


# ---- states, on the host; a state is an int of 128 bits, the first word lowest ----

def _step(state):
    a, b = state & _MASK, state >> 64
    c = a ^ b
    first = ((a << 55 | a >> 9) ^ c ^ (c << 14)) & _MASK
    return first | ((c << 36 | c >> 28) & _MASK) << 64


def _jump(state):
    """The state after 2**64 steps."""
    result = 0
    for bit in range(128):
        if _JUMP >> bit & 1:
            result ^= state
        state = _step(state)
    return result


def _jump_tables():
    """The jumps of each byte of the state. A jump is linear, so their xor is the jump of the state."""
    tables = []
    for byte in range(16):
        bits = [_jump(1 << 8 * byte + k) for k in range(8)]
        table = [0]
        for k in range(8):
            table += [t ^ bits[k] for t in table]
        tables.append(table)
    return tables


def _mixed(seed):
    """A word of 64 bits from a seed, as SplitMix64 makes it."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def create_xoroshiro128p_states(n, seed, subsequence_start=0, stream=0):
    """The states of n generators as an array of shape (n, 2). Their sequences do not overlap within 2**64 numbers; states
    with another subsequence_start, at least n apart, do not either."""
    word = _mixed(int(seed) & _MASK)
    state, tables, words = word | word << 64, _jump_tables(), bytearray()
    for i in range(subsequence_start + n):
        if i >= subsequence_start:
            words += state.to_bytes(16, "little")
        state = _jumped(tables, state)
    return _ingot.asarray(memoryview(bytes(words)).cast("Q")).reshape((n, 2)) if n else _ingot._ops["zeros"]((0, 2), dtype=uint64)


def _jumped(tables, state):
    result = 0
    for table, byte in zip(tables, state.to_bytes(16, "little")):
        result ^= table[byte]
    return result
