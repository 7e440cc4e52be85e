"""Programs count their allocations themselves, and never wait for the collector because of them."""
import os

from harness import ROOT, cases


@cases(threads=(1, 8))
def test_no_waiting(t, threads):
    """However fast it allocates, and whether anybody reads."""
    program = t.build(os.path.join(ROOT, "bench", "synthetic.c"), "-O1", "-pthread")
    profile = t.record(program, str(threads), "2", "4", "1000", "2000000")
    t.equal("waits", t.report(profile)["waits"], 0)
