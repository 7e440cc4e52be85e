"""pandas: tables joined, grouped and written, below an array of 300 MB."""
import io

import numpy as np
import pandas as pd

rng = np.random.default_rng(1)


def work():
    n = 200_000
    left = pd.DataFrame({"key": rng.integers(0, 5000, n), "x": rng.normal(size=n), "word": rng.integers(0, 999, n).astype(str)})
    right = pd.DataFrame({"key": np.arange(5000), "y": rng.normal(size=5000)})
    joined = left.merge(right, on="key")
    sums = joined.groupby(["key", "word"])[["x", "y"]].agg(["mean", "max", "count"])
    text = joined.head(50_000).to_csv()
    again = pd.read_csv(io.StringIO(text))
    dates = pd.Series(np.arange(n), index=pd.date_range("2020-01-01", periods=n, freq="min")).resample("h").mean()
    return len(sums), len(again), round(float(dates.sum()))


big = np.empty(37_500_000)  # the big one
big.fill(1)
print(work(), big.sum())
