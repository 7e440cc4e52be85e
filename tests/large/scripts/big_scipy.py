"""scipy: sparse systems, fits, images and signals, below an array of 300 MB."""
import numpy as np
from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, stats
from scipy.sparse.linalg import spsolve

rng = np.random.default_rng(1)


def work():
    a = sparse.diags([-1, 2.5, -1], [-1, 0, 1], shape=(20_000, 20_000), format="csc")
    x = spsolve(a, np.ones(20_000))
    fit = optimize.minimize(optimize.rosen, np.zeros(12), method="BFGS")
    image = ndimage.gaussian_filter(rng.normal(size=(700, 700)), 3)
    tree = spatial.cKDTree(rng.normal(size=(50_000, 3)))
    near = tree.query(rng.normal(size=(5000, 3)), k=5)[0]
    spline = interpolate.CubicSpline(np.arange(1000), np.sin(np.arange(1000)))
    filtered = signal.filtfilt(*signal.butter(4, 0.1), rng.normal(size=100_000))
    area = integrate.solve_ivp(lambda t, y: -y, (0, 5), [1.0]).y[0, -1]
    values = linalg.eigvalsh(np.cov(rng.normal(size=(120, 2000))))
    p = stats.kstest(rng.normal(size=1000), "norm").pvalue
    return [round(float(v), 3) for v in (x.sum(), fit.fun, near.mean(), spline(3.5), area, values.max() > 0, p > 0,
                                         abs(fft.fft(filtered)).max() > 0, image.std() > 0)]


big = np.empty(37_500_000)  # the big one
big.fill(1)
print(work(), big.sum())
