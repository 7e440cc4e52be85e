"""docs/slow.md is what happens: its commands are run in order, and what it shows of its program is so."""
import os
import re
import shutil

from harness import ROOT, Skipped
from test_tutorial import carried_out, samples_cpu, steps

PAGE = 4096
MATRICES, MATRIX = 8, 8000000  # bytes
# Rows of source, and the routine in a report. Counts of a page more or less, and times, are left out.
SHOWN = re.compile(r"\(i, j\) = 0\.0d0$|do [ij] = |^ *61\.0 MiB .* initprm_|^-60\.9 MiB.* initprm_|energy = energy|s = r\*\*6")


def plain(line):
    """Without counts, times and shares."""
    line = re.sub(r"-?\b\d+\.\d (ms|s)\b", "TIME", line)
    line = re.sub(r"-?(?<![\w.])\d+\.\d(?= )(?! [KMG]iB)", "SHARE", line)
    line = re.sub(r"-?(?<![\w.])\d{1,2},\d{3}(?= )", "FAULTS", line)
    line = re.sub(r"energy\.f90:\d+", "energy.f90", line)
    return " ".join(line.split())


def test_commands(t):
    if not shutil.which("gfortran"):
        raise Skipped("no gfortran here")
    if not samples_cpu(t):
        raise Skipped("no samples can be taken here")
    with open(os.path.join(ROOT, "docs", "slow.md"), encoding="utf-8") as document:
        known = steps(document.read())
    t.true("commands", len(known) >= 14, len(known))
    compared = 0
    for (command, shown), (status, output) in zip(known, carried_out(t, [c for c, _ in known])):
        t.true(command, status == 0, (status, output[-500:]))
        printed = {plain(line) for line in output.splitlines()}
        for line in shown:
            if not SHOWN.search(line) or "--metric cpu" in command:
                continue
            compared += 1
            t.true("%s: shown and not printed: %s" % (command, line), plain(line) in printed, output[-3000:])
    t.true("lines compared", compared >= 14, compared)

    profile = lambda name: os.path.join(t.dir, "work", name)
    with open(os.path.join(ROOT, "examples", "energy.f90")) as source:
        rows = [n for n, text in enumerate(source, 1) if "(i, j) = 0.0d0" in text]
    result = t.ask(profile("energy.tide"), "annotate", "initprm", "--metric", "faults", "--asm")
    lines = {line["line"]: line for part in result["files"] for line in part["lines"] if line["total_count"]}
    t.equal("the lines", sorted(lines), rows)
    for number, line in lines.items():
        t.true("line %d" % number, abs(line["self_bytes"] - MATRIX) <= 3 * PAGE, line["self_bytes"])
        t.equal("line %d: its instructions" % number, sum(i["self_bytes"] for i in line["instructions"]), line["self_bytes"])
    t.true("all of them", abs(result["self_bytes"] - MATRICES * MATRIX) <= 4 * PAGE, result["self_bytes"])
    used = t.row(t.report(profile("used.tide"), "faults"), "initprm_")
    t.true("with what is used", used["self_bytes"] <= MATRICES * 6 * PAGE, used)
    long = t.report(profile("long.tide"), "cpu")["rows"][0]
    t.equal("most time", long["name"], "energy_")
    for name, word in (("faults.svg", "<svg"), ("initprm.html", "<html")):
        with open(profile(name)) as file:
            t.true(name, word in file.read(300))
