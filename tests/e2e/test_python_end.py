"""CPython frees nearly everything when it ends: growth is judged until then, and the report says what was freed."""
import os

from harness import PROGRAMS, cases
from test_python_stacks import VERSIONS, interpreter

STEPS, EACH = 40, 500  # of python_leaks.py
BLOCK = 33 + 600  # bytes(600), as sys.getsizeof has it; all of them are too little for a peak to be found
ALL = STEPS * EACH


def record(t, version, how):
    return t.record(interpreter(version), os.path.join(PROGRAMS, "python_leaks.py"), how)


@cases(version=VERSIONS, how=("end", "_exit"))
def test_growth_by_work(t, version, how):
    """Marks end intervals, so that it does not hang on a clock how many there are."""
    found = t.ask(record(t, version, how), "findings")["findings"]
    t.equal("what grew", [(f["kind"], f["function"], f["count"]) for f in found], [("growth", "leak", ALL)])
    blocks, rest = divmod(found[0]["bytes"], BLOCK)
    # On a busy machine the growth may be seen to begin later.
    t.true("its bytes", rest == 0 and ALL / 4 < blocks <= ALL, found)
    until = "until Python began to end, and never shrank" if how == "end" else "until the end, and never shrank"
    t.true("until when", found[0]["title"].endswith(until), found[0]["title"])


def test_growth_by_marks(t):
    """What the interpreter frees when it ends was not freed by the program after its last mark."""
    profile = record(t, "system", "marks")
    sites = t.ask(profile, "growth")["sites"]
    t.equal("growth", [(s["function"], s["bytes"] % (EACH * BLOCK), s["freed_bytes"]) for s in sites], [("leak", 0, 0)])
    found = t.ask(profile, "findings")["findings"]
    t.equal("findings", [(f["kind"], f["function"], f["bytes"]) for f in found], [("growth", "leak", sites[0]["bytes"])])
    t.true("nothing freed", "freed" not in found[0]["title"], found[0]["title"])


def python_line(t, profile, *arguments):
    text = t.run("report", profile, *arguments)[0]
    return [line for line in text.splitlines() if line.startswith("python     freed")], text.splitlines()[-1]


@cases(version=VERSIONS)
def test_report(t, version):
    profile = record(t, version, "end")
    report = t.report(profile)
    end, left = report["python"]["end"], report["totals"]["live_bytes"]
    then = t.report(profile, "live", "--at", "%dns" % end["time_ns"])
    t.equal("live at that moment", (then["totals"]["live_bytes"], t.total(then, "leak")), (end["live_bytes"], (ALL * BLOCK, ALL)))
    t.equal("live at the end", t.total(report, "leak"), (0, 0))
    lines, following = python_line(t, profile)
    t.equal("line", lines, ["python     freed %.1f MiB when it ended; --metric peak shows who held it" %
                            ((end["live_bytes"] - left) / (1 << 20))])
    t.true("next", following.endswith(" --metric peak"), following)
    t.equal("at peak", t.total(t.report(profile, "peak"), "leak"), (ALL * BLOCK, ALL))
    for arguments in (("--at", "50%"), ("--since", "step 3"), ("--metric", "peak"), ("--metric", "total")):
        t.equal("none with " + arguments[0], python_line(t, profile, *arguments)[0], [])


def test_report_of_an_earlier_peak(t):
    """The peak has others then: the moment itself is named."""
    profile = record(t, "system", "earlier")
    lines, _ = python_line(t, profile)
    t.true("one line", len(lines) == 1 and "; --at " in lines[0], lines)
    moment = lines[0].split("--at ")[1].split()[0]
    t.equal("who held it", t.total(t.report(profile, "live", "--at", moment), "leak"), (ALL * BLOCK, ALL))


def test_report_without_an_end(t):
    """os._exit leaves all of it live; a script that keeps little has nothing to say."""
    profile = record(t, "system", "_exit")
    t.true("no end", "end" not in t.report(profile)["python"])
    t.equal("no line", python_line(t, profile)[0], [])
    profile = t.record(interpreter("system"), "-c", "pass")
    t.true("an end", t.report(profile)["python"]["end"]["live_bytes"] > 0)
