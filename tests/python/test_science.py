"""scikit-learn with array API dispatch, and SciPy's array API functions: the same results with our arrays as with NumPy's, and of
our type. SciPy reads SCIPY_ARRAY_API when it is imported."""
import os
import sys
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"

from against import attempt, check, finish, ig, np, skip  # noqa: E402

rng = np.random.default_rng(3)
x, u = rng.normal(size=(120, 8)), rng.uniform(0.1, 0.9, size=(20, 8))
pairs = (x[:, 0] + 0.5 * x[:, 1] > 0).astype("int64")  # labels of two and three classes, and numbers
triples = np.digitize(x[:, 0], [-0.5, 0.5]).astype("int64")
numbers = x @ rng.normal(size=8) + 0.1 * rng.normal(size=120)
warnings.filterwarnings("ignore")


def ours(values):
    return ig.asarray(values) if isinstance(values, np.ndarray) else values


def compare(name, f, *args, tolerance=1e-6, kind=ig.Array):
    """f of our arrays against f of NumPy's. kind: the type of the results, or None for any."""
    want, got = f(*args), f(*map(ours, args))
    want, got = (r if isinstance(r, tuple) else (r,) for r in (want, got))
    for i, (w, g) in enumerate(zip(want, got)):
        if kind and np.ndim(w):
            check(f"{name} {i}: type", isinstance(g, kind), str(type(g)))
        w, g = np.asarray(w), np.asarray(g)
        check(f"{name} {i}", g.shape == w.shape and np.allclose(g, w, rtol=tolerance, atol=tolerance, equal_nan=True),
              f"is {g.ravel()[:4]}, not {w.ravel()[:4]}")


def namespace(values):
    return ig if isinstance(values, ig.Array) else np


# ---- scikit-learn -------------------------------------------------------------------------------


def dispatched(name, f, *args, **how):
    """The same, with scikit-learn's dispatch."""
    from sklearn import config_context
    with config_context(array_api_dispatch=True):
        attempt(name, lambda: compare(name, f, *args, **how))


def estimators():
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, RidgeCV
    from sklearn.mixture import GaussianMixture
    from sklearn.model_selection import cross_val_score, train_test_split
    from sklearn.naive_bayes import GaussianNB

    def pca(solver, **how):
        def fit(a):
            m = PCA(n_components=3, svd_solver=solver, random_state=0, **how).fit(a)
            size = namespace(a).abs
            return (size(m.components_), m.explained_variance_, m.explained_variance_ratio_, m.mean_, size(m.transform(a)),
                    m.inverse_transform(m.transform(a)))
        return fit

    dispatched("PCA full", pca("full"), x)
    dispatched("PCA eigh", pca("covariance_eigh"), x)
    dispatched("PCA whiten", pca("full", whiten=True), x)
    dispatched("PCA randomized", pca("randomized", power_iteration_normalizer="QR"), x, tolerance=1e-3)
    for solver in ("svd", "auto"):
        dispatched(f"Ridge {solver}", lambda a, r, s=solver: (lambda m: (m.coef_, m.intercept_, m.predict(a)))(
            Ridge(alpha=0.5, solver=s).fit(a, r)), x, numbers)
    dispatched("RidgeCV", lambda a, r: (lambda m: (m.coef_, m.predict(a)))(RidgeCV().fit(a, r)), x, numbers)
    dispatched("RidgeClassifier", lambda a, c: (lambda m: (m.coef_, m.predict(a)))(RidgeClassifier(solver="svd").fit(a, c)), x, pairs)
    for labels in (pairs, triples):
        dispatched("LinearDiscriminantAnalysis", lambda a, c: (lambda m: (m.coef_, m.predict(a), m.predict_proba(a)))(
            LinearDiscriminantAnalysis().fit(a, c)), x, labels)
    dispatched("LogisticRegression", lambda a, c: (lambda m: (m.coef_, m.predict(a)))(LogisticRegression().fit(a, c)), x, pairs,
               tolerance=1e-3)
    dispatched("GaussianNB", lambda a, c: (lambda m: (m.theta_, m.predict(a), m.predict_proba(a)))(GaussianNB().fit(a, c)), x, pairs)
    dispatched("GaussianMixture", lambda a: GaussianMixture(2, init_params="random", random_state=0, covariance_type="diag").fit(a).means_,
               x, tolerance=1e-3)
    dispatched("train_test_split", lambda a, c: tuple(train_test_split(a, c, random_state=0)), x, pairs)
    dispatched("cross_val_score", lambda a, r: cross_val_score(Ridge(solver="svd"), a, r), x, numbers, kind=None)


def preprocessing():
    from sklearn import preprocessing as p
    for name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "PolynomialFeatures", "Binarizer"):
        dispatched(name, lambda a, n=name: getattr(p, n)().fit_transform(a), x)
    dispatched("KernelCenterer", lambda a: p.KernelCenterer().fit_transform(a), x[:8])
    dispatched("LabelEncoder", lambda c: p.LabelEncoder().fit_transform(c), triples)


def metrics():
    from sklearn import metrics as m
    guesses, chances = (x[:, 0] > 0).astype("int64"), 1 / (1 + np.exp(-x[:, 0]))
    for name in ("accuracy_score", "f1_score", "precision_score", "recall_score", "zero_one_loss", "confusion_matrix",
                 "balanced_accuracy_score", "jaccard_score", "hamming_loss"):
        dispatched(name, getattr(m, name), pairs, guesses, kind=None)
    for name in ("log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score"):
        dispatched(name, getattr(m, name), pairs, chances, kind=None)
    for name in ("mean_squared_error", "r2_score", "mean_absolute_error", "root_mean_squared_error", "explained_variance_score", "max_error",
                 "median_absolute_error", "mean_absolute_percentage_error"):
        dispatched(name, getattr(m, name), numbers, x[:, 0].copy(), kind=None)
    for name in ("euclidean_distances", "cosine_similarity", "linear_kernel", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel",
                 "cosine_distances", "paired_euclidean_distances"):
        dispatched(name, getattr(m.pairwise, name), x[:20], x[20:40])


# ---- SciPy --------------------------------------------------------------------------------------


def scipy_functions(module, names, *args, tolerance=1e-8, kind=ig.Array):
    for name in names.split():
        attempt(name, lambda n=name: compare(f"{module.__name__}.{n}", lambda *a: fields(getattr(module, n)(*a)), *args,
                                             tolerance=tolerance, kind=kind))


def fields(result):
    if hasattr(result, "statistic") and hasattr(result, "pvalue"):
        return result.statistic, result.pvalue
    return tuple(result) if isinstance(result, tuple) else result


def scipy_special():
    from scipy import special
    scipy_functions(special, "log_ndtr ndtr ndtri erf erfc i0 i0e i1 i1e gammaln expit logit entr", u)
    scipy_functions(special, "gammainc gammaincc xlogy rel_entr", u, u + 1)
    attempt("betainc", lambda: compare("betainc", special.betainc, u, u + 1, u / 2, tolerance=1e-8))
    big = np.array([-4e18, -2.0**30, -3, -1, 0, 1, 2, 5, 2.0**62, 0.5, 2.5])
    attempt("betaln of large numbers", lambda: compare("betaln", special.betaln, *np.meshgrid(big[:9], big[:9])))
    attempt("poch of large numbers", lambda: compare("poch", special.poch, *np.meshgrid(big[4:], np.array([-3.0, -1, -0.5, 0, 1, 2.5]))))
    free, t = np.meshgrid([-1.0, 0, 0.1, 3, 40, 900, 1e4, 1e18, np.inf, np.nan], [-np.inf, -30.0, -9, -2, -1e-5, 0, 1, 4, np.inf, np.nan])
    for name in ("stdtr", "chdtr", "chdtrc"):
        attempt(name, lambda n=name: compare(n, getattr(special, n), free, t, tolerance=1e-9))
    got, want = np.asarray(special.stdtr(ig.asarray(free), ig.asarray(t))), special.stdtr(free, t)
    small = want > 1e-290
    check("stdtr's tails", np.allclose(got[small], want[small], rtol=1e-9, atol=0), f"are {got[small]}, not {want[small]}")
    attempt("stdtrit", lambda: compare("stdtrit", special.stdtrit, *np.meshgrid(free[0], [-1.0, 1e-12, 0.1, 0.5, 0.8, 1, 2, np.nan]), tolerance=1e-9))
    slope = ig.grad(lambda p: ig.scipy.special.stdtrit(3.0, p))(ig.asarray(0.8))
    check("gradient of stdtrit", abs(float(slope) - 4.7343424) < 1e-5, f"is {slope}")
    for name in ("logsumexp", "softmax", "log_softmax"):
        attempt(name, lambda n=name: compare(n, lambda a: getattr(special, n)(a, axis=1), x, tolerance=1e-10))


def scipy_fft():
    from scipy import fft
    scipy_functions(fft, "fft ifft fft2 ifft2 fftn rfft irfft hfft ihfft rfftn dct dst fftshift ifftshift", x, tolerance=1e-10)


def scipy_stats():
    from scipy import stats
    scipy_functions(stats, "gmean hmean zscore skew kurtosis variation sem skewtest kurtosistest normaltest jarque_bera entropy "
                    "circmean circvar circstd tmean tvar tstd tsem tmin tmax rankdata", u, tolerance=1e-7)
    for name, f in (("pmean", lambda a: stats.pmean(a, 2.0)), ("trim_mean", lambda a: stats.trim_mean(a, 0.1)),
                    ("moment", lambda a: stats.moment(a, 3)), ("kstat", lambda a: stats.kstat(a, 2)),
                    ("ttest_1samp", lambda a: fields(stats.ttest_1samp(a, 0.4)))):
        attempt(name, lambda n=name, g=f: compare(f"stats.{n}", g, u, tolerance=1e-7))
    scipy_functions(stats, "ttest_ind ttest_rel pearsonr spearmanr mannwhitneyu wilcoxon bartlett", u[:, 0].copy(), u[:, 1].copy(),
                    tolerance=1e-6)
    scipy_functions(stats, "chisquare power_divergence", u[:, 0].copy(), u[::-1, 0].copy(), tolerance=1e-6)


def scipy_signal():
    from scipy import signal
    a, b = x[:, 0].copy(), x[:, 1].copy()
    scipy_functions(signal, "oaconvolve fftconvolve convolve correlate", a, b)
    scipy_functions(signal, "detrend hilbert", x[:16])
    top, bottom = signal.butter(3, 0.3)
    attempt("lfilter", lambda: compare("lfilter", signal.lfilter, top, bottom, a))
    attempt("filtfilt", lambda: compare("filtfilt", signal.filtfilt, top, bottom, a))
    attempt("freqz", lambda: compare("freqz", lambda t: signal.freqz(t), top, tolerance=1e-5))
    attempt("welch", lambda: compare("welch", lambda t: signal.welch(t, nperseg=8), a, kind=None))
    attempt("resample", lambda: compare("resample", lambda t: signal.resample(t, 10), a))
    attempt("savgol_filter", lambda: compare("savgol_filter", lambda t: signal.savgol_filter(t, 5, 2), a))


def scipy_numeric():
    from scipy import cluster, differentiate, integrate, ndimage, optimize, spatial
    scipy_functions(integrate, "trapezoid cumulative_trapezoid cumulative_simpson", u, tolerance=1e-6)  # 1/3 is a float32 there
    attempt("nsum", lambda: compare("nsum", lambda t: integrate.nsum(lambda k, p: p**k, t * 0, t * 0 + 20, args=(t,)).sum, u[:3, 0].copy()))
    attempt("tanhsinh", lambda: compare("tanhsinh", lambda t: integrate.tanhsinh(lambda z, p: z * p, t * 0, t * 0 + 1, args=(t,)).integral,
                                        u[:3, 0].copy()))
    attempt("derivative", lambda: compare("derivative", lambda t: differentiate.derivative(lambda z: z**3, t).df, u[:, 0].copy()))
    attempt("jacobian", lambda: compare("jacobian", lambda t: differentiate.jacobian(lambda z: z**2, t).df, u[:3, 0].copy()))
    attempt("rosen", lambda: compare("rosen", optimize.rosen, u[:, 0].copy()))
    attempt("cdist", lambda: compare("cdist", spatial.distance.cdist, u, u + 1, kind=None))
    attempt("whiten", lambda: compare("whiten", cluster.vq.whiten, u))
    attempt("vq", lambda: compare("vq", cluster.vq.vq, u, u[:3].copy()))
    attempt("gaussian_filter", lambda: compare("gaussian_filter", lambda t: ndimage.gaussian_filter(t, 1), u))


try:
    import array_api_compat
    check("array-api-compat", array_api_compat.is_array_api_obj(ig.ones(2)) and array_api_compat.array_namespace(ig.ones(2)) is ig and
          array_api_compat.device(ig.ones(2)) == "cpu" and array_api_compat.size(ig.ones((2, 3))) == 6)
    import scipy  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)
for test in (scipy_special, scipy_fft, scipy_stats, scipy_signal, scipy_numeric):
    attempt(test.__name__, test)
try:
    import sklearn  # noqa: F401
except ImportError as error:
    skip("scikit-learn", str(error))
else:
    for test in (estimators, preprocessing, metrics):
        attempt(test.__name__, test)
finish()
