"""Memory limits that are far too small. The error names the smallest limit that works; with exactly this limit, and with larger ones,
the evaluation ends, with the bits of the same program on data in memory, after CPU time that is bounded by the size of the data.
If builders evaluate, the error says so, and a few of such limits lead to one that works.

Without IG_TEST_LARGE=1 a sample: every twelfth expression with one of the files. `tests/test_limits.py PATTERN...` takes all cases whose
expression contains one of the patterns. Ends with "N passed, N failed".
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from support.tally import check, finish

INGOT = os.path.abspath(os.environ.get("INGOT", os.path.join(os.environ.get("BUILD", "build"), "ingot")))
LARGE = os.environ.get("IG_TEST_LARGE") == "1"
TINY, SMALL = 600, 5000  # bytes
SECONDS = 60  # of CPU time, for about a MiB of data
LEAST = re.compile(r"(?:the smallest limit that works is|to at least) (\d+) bytes")
LATER = "may need more"  # it was one of several evaluations, or a table that a builder makes
ROUNDS = 12
SAMPLE = 12

# Programs that make the files, each with the names of its arrays: v, w long; m a matrix; s a stack of matrices; i indices of m's rows; h a
# mask.
MAKES = """
v = {0}[:120000]; w = {0}[120000:240000]; m = reshape({0}[:176000], [800, 220]); s = reshape({0}[:160000], [100, 40, 40]);
i = randint(key(5), [9000], 0, 800); h = uniform(key(6), [120000]) < 0.4; b = randint(key(7), [200000], 0, 300)
"""
VALUES = {
    "f32": "normal(key(1), [240000])",
    "f64": "normal(key(1), [240000], dtype=f64)",
    "i32": "astype(randint(key(1), [240000], -40000, 40000), i32)",
    "u8": "astype(randint(key(1), [240000], 0, 255), u8)",
    "f16": "astype(normal(key(1), [240000]), f16)",
    "c64": "normal(key(1), [240000]) + 1j*normal(key(2), [240000])",
}
NAMES = "vwmsihb"

EXPRESSIONS = """
v * 2 + 1 | exp(m) / (m + 2) | m - mean(m, axis=0) | m - mean(m, axis=1, keepdims=True) | abs(m - m[0]) | v[::-1] | m[::3, 5:200:7] | m.T
m.T + m.T[:1] | concat([v, w]) | concat([m, m * 2], axis=1) | stack([v, w], axis=1) | pad(m, [[3, 5], [2, 9]]) | roll(v, 777) | roll(m, 5, axis=1)
tile(m, [2, 1]) | repeat(v, 3) | reshape(v, [400, 300]) | reshape(m.T, [-1]) | flip(m, 0) | slice_update(m, m[:20, :30] * 2, [5, 6])
where(h, v, w) | clip(v, -1, 1) | outer(v[:300], w[:500])
sum(v) | sum(m) | sum(m, axis=0) | sum(m, axis=1) | mean(v) | mean(m, axis=0) | mean(m, axis=1) | prod(v) | max(m, axis=0) | min(v) | argmax(v)
argmin(m, axis=0) | argmax(m, axis=1) | any(h) | std(m, axis=0) | var(v) | logsumexp(m, axis=1) | softmax(m, axis=1) | softmax(m, axis=0) | softmax(v)
layer_norm(m) | vector_norm(v) | count_nonzero(m, axis=0) | sum(s, axis=1) | sum(s, axis=(0, 2)) | mean(v * w) | sum(v[::5]) | average(v, weights=abs(w) + 1)
cumulative_sum(v) | cumulative_sum(m, axis=0) | cumulative_sum(m, axis=1) | cumulative_prod(v) | cumulative_max(m, axis=0) | diff(v) | cumulative_logsumexp(v)
v[h] | m[m > 1] | sum(v[h]) | v[h] * 2 | nonzero(h)[0] | argwhere(m > 1) | compress(h, v) | extract(h, v) | flatnonzero(h)
m[i] | m[i, :3] | m[[0, 5, 7], :2] | take(m, i, axis=0) | take(v, b) | take(m, i % 220, axis=1) | take_along_axis(m, argsort(m, axis=1), axis=1)
gather(m, i[:800].reshape([800, 1]) % 220, 1) | v[b] + 1 | m[0, :3] | m[5] | v[:5] | select([v > 1, v < 0], [v, w], 0)
scatter(v, b, ones([200000], dtype=u8)) | scatter_add(zeros([800], dtype=f64), b, astype(b, f64)) | scatter_add(v, i, w[:9000]) | scatter(v, i, w[:9000])
put(v, i, w[:9000]) | put_along_axis(m, i[:8000].reshape([800, 10]) % 220, 7, 1) | segment_sum(b, b % 500, num_segments=500)
bincount(b) | bincount(b, weights=astype(b, f64)) | histogram(v, 50)[0] | histogram(v, sort(w[:40]))[0] | digitize(v, sort(w[:90])) | searchsorted(sort(w), v)
searchsorted(sort(w[:500]), v) | searchsorted(w[:1000].sort(), v.sort()) | isin(v, w) | isin(b, i[:100]) | interp(v, sort(w[:100]), arange(100) * 1.0)
sort(v) | sort(m, axis=0) | sort(m, axis=1) | argsort(v) | argsort(m, axis=0) | argsort(m, axis=1) | topk(v, 10)[0] | topk(m, 3)[1] | partition(v, 50)
argpartition(m, 5) | median(v) | median(m, axis=0) | median(m, axis=1) | quantile(v, 0.3) | quantile(m, 0.7, axis=0) | percentile(v, [10, 50]) | nanmedian(v)
mode(v)[0] | unique_values(v) | unique_values(b) | unique_counts(b)[1] | unique_inverse(b)[1] | unique_all(b)[1] | unique_all(v)[0] | unique(b) | union1d(v, w)
intersect1d(v, w) | setdiff1d(v, w) | lexsort([v, w]) | sort(v)[::100] | unique_values(m[0])
m @ m.T | m.T @ m | m @ m[:220] | v @ w | vecdot(m, m) | einsum("ij,kj->ik", m, m[:50]) | einsum("ij->ji", m) | einsum("bij,bjk->bik", s, s) | matmul(s, s[0])
tensordot(s, s, axes=([0, 1], [0, 1])) | outer(v[:200], w[:700]) | kron(m[:30, :20], m[:7, :9]) | conv1d(m[:1].reshape([1, 1, 220]), m[:1, :5].reshape([1, 1, 5]))
convolve(v, w[:30]) | correlate(v, w[:9]) | multi_dot([m[:, :50], m[:50], m.T]) | trace(m[:220]) | corrcoef(m[:, :20], rowvar=False) | cov(m[:, :30], rowvar=False)
fft(v) | fft(m) | fft(m, axis=0) | rfft(v) | fft2(m) | ifft(m) | fftshift(v) | dct(m) | fftconvolve(v, w[:100])
qr(m[:, :20])[0] | qr(m[:, :20])[1] | svd(m[:, :12])[1] | svdvals(m[:, :12]) | cholesky(s @ matrix_transpose(s) + 50 * eye(40)) | inv(s + 60 * eye(40))
solve(s + 60 * eye(40), s) | det(s) | lstsq(m[:, :9], m[:, 9:11])[0] | pinv(m[:, :8]) | eigvalsh(s + matrix_transpose(s)) | norm(m)
trapezoid(v) | gradient(v) | nansum(m, axis=0) | ptp(m, axis=0) | unwrap(v) | sliding_window_view(v, 5)[::3] | max_pool1d(m.reshape([1, 800, 220]), 3)
one_hot(b, 30) | tril(m) | diag(m[:200, :200]) | diagonal(m) | rot90(m) | delete(v, 5) | insert(v, 7, 1) | append(v, w) | meshgrid(v[:300], w[:400])[0]
""".replace("\n", "|").split("|")
EXPRESSIONS = [e.strip() for e in EXPRESSIONS if e.strip()]


def run(program, limit=None, out="out.npy"):
    """The exit code and messages of a program; negative codes are signals, such as of the limit of CPU time."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    options = (["--memory-limit", str(limit)] if limit else []) + (["-o", out] if out else [])
    p = subprocess.run([INGOT, "eval", *options, program], capture_output=True, text=True, check=False, preexec_fn=bound,
                       env={**os.environ, "IG_NUM_THREADS": "2"})
    return p.returncode, p.stderr.strip()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def compute(program, limit, want, in_memory):
    """The same for a program whose result is not in memory, unless it is small, and True if it has the bits that are wanted."""
    if in_memory or len(want) < SMALL:
        code, error = run(program, limit)
    else:
        before, last = program.rsplit("; ", 1)
        code, error = run(f'{before}; save({last}, "out.zarr", compressors=None); 0', limit, None)
        if code == 0:
            code, error = run('load("out.zarr")')
        shutil.rmtree("out.zarr", ignore_errors=True)
    return code, error, code == 0 and read("out.npy") == want


def sources(folder, opener):
    """Assigns the arrays that an expression uses."""
    return lambda expression: "".join(f'{n} = {opener}("{folder}/{n}.{"zarr" if folder.endswith("z") and opener == "open" else "npy"}"); '
                                      for n in NAMES if re.search(rf"\b{n}\b", expression)) + expression


def limits_from(least):
    """Larger limits than the smallest one, up to where all is in memory."""
    return [least + 1, least * 5 // 4, least * 3 // 2] + [least << k for k in range(1, 4)]


def check_limits(dtype, expression, kind):
    """False if the expression does not exist for the dtype. kind: of the files; "memory" are .npy files, and the result stays in memory."""
    whole = sources(dtype, "load")(expression)
    code, _ = run(whole, out="want.npy")
    if code:
        return False
    program = sources(dtype + ("z" if kind == "zarr" else ""), "open")(expression)
    name = f"{dtype} {kind}: {expression}"
    want = read("want.npy")
    limit, promised = TINY, False
    for _ in range(ROUNDS):
        code, error, same = compute(program, limit, want, kind == "memory")
        least = LEAST.search(error)
        if code == 0 or promised or not least or int(least[1]) <= limit:
            break
        limit, promised = int(least[1]), "smallest" in least[0] and LATER not in error
    check(name, same, f"with {limit} bytes{', which should work' * promised}: {'other bits' if code == 0 else f'{code} {error[-400:]}'}")
    for more in limits_from(limit) if same and limit > TINY else []:
        code, error, same = compute(program, more, want, kind == "memory")
        check(name, same, f"with {more} bytes, where {limit} works: {'other bits' if code == 0 else f'{code} {error[-400:]}'}")
        if not same:
            break
    return True


def make(dtype):
    os.mkdir(dtype)
    os.mkdir(dtype + "z")
    program = MAKES.format("x").replace("\n", " ")
    saves = "; ".join(f'save("{dtype}/{n}.npy", {n}); save(rechunk({n}, {chunks}), "{dtype}z/{n}.zarr")'
                      for n, chunks in zip(NAMES, ("9000", "9000", "70, 90", "30, 40, 17", "4000", "50000", "30000")))
    code, error = run(f"x = {VALUES[dtype]}; {program}; {saves}; 0")
    check(f"the files of {dtype}", code == 0, error)


def main():
    patterns = sys.argv[1:]
    for dtype in VALUES:
        make(dtype)
    kinds = [(dtype, kind) for kind in ("npy", "zarr") for dtype in VALUES]
    some = EXPRESSIONS if LARGE or patterns else EXPRESSIONS[2::SAMPLE]
    if not patterns:  # what memory for the mask, but not for the elements, gave
        check_limits("f64", "sum(v[h])", "zarr")
        for expression in ("m[::3, 5:200:7]", "cumulative_sum(m, axis=0)"):  # views, which are copied
            check_limits("f32", expression, "memory")
        check_limits("c64", "exp(m) / (m + 2)", "memory")  # no way to cut helps
        code, error = run(sources("c64", "open")("m[[0, 5, 7], :2]"), 30000)  # the slabs that are read depend on the limit
        check("c64 npy: m[[0, 5, 7], :2] with 30000 bytes", code == 0, error)
        code, error = run(sources("f32", "open")("fft(v)"), 200000)
        check("f32 npy: the first error of fft(v) names the smallest limit", code == 1 and "the smallest limit that works" in error, error)
        for expression in ("rfft(v)", "irfft(v)", "ifft(v)", "dct(v)", "dst(v, 4)"):  # irfft: no small factors
            error = run(sources("f32", "open")(expression), TINY)[1]
            code = run(sources("f32", "open")(expression), LEAST.search(error).group(1))[0]
            check(f"f32 npy: the limit that the first error of {expression} names is enough", code == 0, error)
    chosen = [e for e in some if not patterns or any(p in e for p in patterns)]
    for number, expression in enumerate(chosen):
        runs = 0
        for turn in range(len(kinds)):
            runs += check_limits(kinds[(number + turn) % len(kinds)][0], expression, kinds[(number + turn) % len(kinds)][1])
            if runs and not (LARGE or patterns):
                break
        check(f"{expression} exists for a dtype", runs)


home, folder = os.getcwd(), tempfile.mkdtemp(prefix="ingot-limits-")
os.chdir(folder)
try:
    main()
finally:
    os.chdir(home)
    shutil.rmtree(folder)
finish()
