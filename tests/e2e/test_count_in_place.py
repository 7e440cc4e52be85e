"""TIDEMARK_COUNT=in-place: the program counts itself (docs/internals/counting_in_place.md), and all answers are the same."""
import importlib
import os

import harness
from harness import ROOT, cases

API = ("-I", os.path.join(ROOT, "include"))
IN_PLACE = {"TIDEMARK_COUNT": "in-place"}
# Programs that do the same in each run, with one thread where the peak is compared.
PROGRAMS = {
    "reallocs": ("reallocs.c",),
    "operator_new": ("operator_new.cpp", "1"),
    "many_stacks": ("many_stacks.c", "12"),
    "marks": ("marks.c", "30"),
    "sawteeth": ("sawteeth.c", "5"),
    "leaks": ("leaks.c",),
}
# Other files' tests, which know the right numbers: one or two for each thing that is counted in another way.
TESTS = (
    "api.c[-O0]", "attach.counts_are_the_programs_own[glibc]",
    "attach.what_was_there_before", "child_processes.tree_of_processes", "ctl.packed_snapshots_are_read_as_they_are",
    "dormant.several_times", "leak_scan.threads_at_work", "python_api.figures", "stacks.no_memory_for_stacks", "tracker.c[on PATH]", "faults.who_allocated_it", "forked_memory.a_scan_unshares_nothing",
    "kills.killed_at_random_moments", "processes.what_was_live_at_the_fork_is_inherited[fork]", "leak_scan.threads_that_still_run", "leak_scan.not_permitted",
    "marks.moments_by_label[-O0]", "marks.what_is_allocated_while_paused_is_not_recorded", "peaks.peaks_of_threads",
    "peaks.peak_inside_an_interval", "python_arenas.arenas_of_a_child[3.11]", "realloc_chains.exact[threads]",
    "sizes.lifetimes[8]", "threads_command.frees_of_others[64]",
)


def figures(t, profile):
    """All that is exact, and the same in each run."""
    report = t.report(profile, "total", "--by", "stack", "--top", "0", "--min", "0")
    totals = {key: value for key, value in report["totals"].items() if not key.endswith("_ns")}
    rows = {metric: sorted((row["name"], row["self_bytes"], row["self_count"])
                           for row in t.report(profile, metric, "--top", "0", "--min", "0")["rows"] if row["self_bytes"])
            for metric in ("total", "live", "peak", "temporary")}
    sizes = t.ask(profile, "report", "--histogram", "size", "--by", "function", "--top", "0", "--min", "0")
    return totals, rows, sorted((row["name"], str(row["histogram"])) for row in sizes["rows"])


@cases(name=tuple(PROGRAMS))
def test_same_figures(t, name):
    source, *arguments = PROGRAMS[name]
    program = t.build(source, "-O1", *(API if name in ("marks", "sawteeth") else ()))
    events = figures(t, t.record(program, *arguments, status=None))
    counted = figures(t, t.record(program, *arguments, env=IN_PLACE, status=None))
    for what, one, other in zip(("totals", "rows", "sizes"), events, counted):
        t.equal(what, other, one)


@cases(name=TESTS)
def test_of_another_file(t, name):
    os.environ.update(IN_PLACE)  # of this test's process
    module = importlib.import_module("test_" + name.split(".")[0])
    dict(harness.tests_of(module))[name](t)


def test_no_waiting(t):
    """However fast a program allocates, and whether anybody reads, it does not wait."""
    profile = t.record(t.build(os.path.join(ROOT, "bench", "synthetic.c"), "-O1", "-pthread"), "8", "2", "4", "1000", "2000000", env=IN_PLACE)
    t.equal("waits", t.report(profile)["waits"], 0)
