"""polars: a column of 320 MB in its own allocator, then joins and groups."""
import polars as pl


def work():
    frame = pl.DataFrame({"key": range(200_000)}).with_columns(k=pl.col("key") % 997, s=pl.col("key").cast(pl.String))
    sums = frame.lazy().group_by("k").agg(pl.col("key").sum(), pl.col("s").max()).sort("k").collect()
    joined = frame.join(sums, on="k").sort("key")
    return sums.height, joined.height, joined["key"].sum()


big = pl.arange(0, 40_000_000, eager=True)  # the big one
print(work(), big.sum())
