"""scikit-learn and SciPy compute with Ingot's arrays through the array API, and agree with NumPy. Skipped without them."""
import os

os.environ["SCIPY_ARRAY_API"] = "1"

from against import attempt, finish, ig, np, rng, same, skip  # noqa: E402

X = rng.standard_normal((50, 5))
Y = X @ np.arange(5.0) + 1
C = (Y > 0).astype(int)


def both(name, function):
    """function(X, y, classes) with NumPy's arrays and with ours."""
    want = np.asarray(function(X, Y, C))
    got = np.asarray(function(ig.asarray(X), ig.asarray(Y), ig.asarray(C)))
    same(name, got.astype(want.dtype), want, 1e-7)


def learning():
    import sklearn
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import accuracy_score, mean_squared_error, r2_score

    sklearn.set_config(array_api_dispatch=True)
    both("PCA", lambda x, y, c: abs(PCA(n_components=2, svd_solver="full").fit_transform(x)))
    both("Ridge", lambda x, y, c: Ridge(solver="svd").fit(x, y).coef_)
    both("LinearDiscriminantAnalysis", lambda x, y, c: LinearDiscriminantAnalysis().fit(x, c).predict(x))
    both("accuracy_score", lambda x, y, c: accuracy_score(c, c))
    both("r2_score", lambda x, y, c: r2_score(y, y + 0.1))
    both("mean_squared_error", lambda x, y, c: mean_squared_error(y, y + 0.1))


def statistics():
    import scipy.fft
    import scipy.special
    import scipy.stats

    both("zscore", lambda x, y, c: scipy.stats.zscore(x))
    both("skew", lambda x, y, c: scipy.stats.skew(x))
    both("pearsonr", lambda x, y, c: scipy.stats.pearsonr(x[:, 0], y).statistic)
    both("logsumexp", lambda x, y, c: scipy.special.logsumexp(x, axis=1))
    both("expit", lambda x, y, c: scipy.special.expit(x))
    both("fft", lambda x, y, c: abs(scipy.fft.fft(x)))


for module, test in (("sklearn", learning), ("scipy", statistics)):
    try:
        __import__(module)
    except ImportError:
        skip(test.__name__, f"{module} is not installed")
    else:
        attempt(test.__name__, test)
finish()
