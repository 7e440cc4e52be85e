"""What bench/ compiles from the recorder's own sources still compiles."""
import os
import sys

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "bench"))
import check_stacks  # noqa: E402


def test_stack_check_compiles(t):
    check_stacks.FOLDER = t.dir
    t.true("the library", os.path.getsize(check_stacks.build()) > 10000)
