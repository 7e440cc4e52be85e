"""numpy: temporaries of many sizes."""
import numpy

from timed import timed


def work():
    rng, total = numpy.random.default_rng(1), 0.0
    for i in range(6000):
        a = rng.random(1000 + i % 7 * 3000)
        b = (a * 2 + 1) / (a + 0.5)
        total += float(numpy.sqrt(b).sum() + numpy.sort(a)[: 10].sum())
        total += float(numpy.concatenate([a[:100], b[:100]]).reshape(20, 10).T.copy().sum())
    return total


timed(work)
