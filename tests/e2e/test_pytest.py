"""The pytest plugin: limits of memory and leaks, what it lists, workers, wrong limits."""
import configparser
import json
import os
import re

from harness import Skipped, cases
from test_python_api import BINDINGS, C_HEAP, ON_PATH, PYTHON, write


LIMITS = C_HEAP + """
import pytest, sys, unittest
kept = []

def keep(size):
    kept.append(c.malloc(size))

@pytest.mark.limit_memory("24 MiB")
def test_exactly():
    c.free(c.malloc(24 << 20))

@pytest.mark.limit_memory("24 MiB")
def test_one_byte_more():
    c.free(c.malloc((24 << 20) + 1))

@pytest.mark.limit_leaks(1000000)
def test_leaves_as_much_as_it_may():
    keep(400000)
    keep(600000)
    c.free(c.malloc(3 << 20))

@pytest.mark.limit_leaks(1000000)
def test_leaves_more():
    keep(1000001)

@pytest.mark.limit_leaks(10000)
@pytest.mark.limit_memory("2 MiB")
def test_cycle_is_no_leak():
    class Cycle: pass
    cycle = Cycle()
    cycle.itself, cycle.data = cycle, bytearray(1 << 20)

@pytest.mark.limit_memory("1 KiB")
def test_fails_by_itself():
    data = bytearray(1 << 20)
    assert not data

@pytest.mark.xfail
@pytest.mark.limit_memory("1M")
def test_expected():
    c.free(c.malloc((1 << 20) + 1))

@pytest.fixture
def prepared():
    block = c.malloc(5 << 20)
    yield
    c.free(block)

@pytest.mark.limit_memory("1 KiB")
@pytest.mark.limit_leaks("1 KiB")
def test_fixtures_do_not_count(prepared):
    pass

class TestCase(unittest.TestCase):
    @pytest.mark.limit_memory("1 MiB")
    def test_of_unittest(self):
        c.free(c.malloc(2 << 20))
"""
RESULTS = {"test_exactly": "passed", "test_one_byte_more": "failed", "test_leaves_as_much_as_it_may": "passed",
           "test_leaves_more": "failed", "test_cycle_is_no_leak": "passed", "test_fails_by_itself": "failed",
           "test_expected": "skipped", "test_fixtures_do_not_count": "passed", "test_of_unittest": "failed"}


EXACT = ("--tidemark", "--tidemark-python", "auto")  # without Python's small objects
NAMED = ("-p", "tidemark.pytest_plugin")


def run_pytest(t, *arguments, env=None, plugin="pytest", named=NAMED):
    if t.plain(PYTHON, "-c", "import " + plugin)[2]:
        raise Skipped("%s is not installed for %s" % (plugin, PYTHON))
    t.plain(PYTHON, "-m", "pytest", "-p", "no:cacheprovider", *named, *arguments,
            env={**ON_PATH, "TIDEMARK": t.tidemark, **(env or {})})


def junit(t):
    """{test: (outcome, properties)} as pytest itself wrote them."""
    import xml.etree.ElementTree as tree
    found = {}
    for case in tree.parse(t.file("junit.xml")).iter("testcase"):
        outcome = next((k for k, tag in (("failed", "failure"), ("skipped", "skipped")) if case.find(tag) is not None), "passed")
        found[case.get("name")] = outcome, {p.get("name"): int(p.get("value")) for p in case.iter("property")}
    return found


def check_limits(t, room=0):
    results = junit(t)
    t.equal("outcomes", {name: outcome for name, (outcome, _) in results.items()}, RESULTS)
    for name, peak, left in (("test_exactly", 24 << 20, 0), ("test_one_byte_more", (24 << 20) + 1, 0),
                             ("test_leaves_more", 1000001, 1000001), ("test_expected", (1 << 20) + 1, 0),
                             ("test_fixtures_do_not_count", 0, 0)):
        figures = results[name][1]
        got = figures["tidemark_peak_bytes"], figures["tidemark_live_bytes"]
        t.true("figures of " + name, abs(got[0] - peak) <= room and got[1] == left, (got, peak, left))
    more = results["test_leaves_as_much_as_it_may"][1]
    t.equal("what is left", more["tidemark_live_bytes"], 1000000)
    t.true("the peak above it", abs(more["tidemark_peak_bytes"] - 1000000 - (3 << 20)) <= room, more)


def test_pytest_limits(t):
    write(t, "test_limits.py", LIMITS)
    run_pytest(t, *EXACT, "--tidemark-top", "2", "--junit-xml", "junit.xml", "test_limits.py")
    t.equal("status", t.status, 1)
    t.equal("errors", t.stderr, "")
    check_limits(t)
    t.true("says why", "limit_memory: at its highest the test's heap was 24.0 MiB above its begin (25165825 bytes); its limit "
           "is 24.0 MiB" in t.stdout, t.stdout)
    t.true("and where", re.search(r"24\.0 MiB in 1 block  test_limits\.py:\d+ \(test_one_byte_more\)", t.stdout))
    t.true("what is left", "limit_leaks: the test left 976.6 KiB behind (1000001 bytes); its limit is 976.6 KiB" in t.stdout)
    table = t.stdout.split("memory of tests")[1].splitlines()[2:4]
    t.equal("the two largest", [line.split("::")[1] for line in table], ["test_one_byte_more", "test_exactly"])
    files = [f for f in os.listdir(t.dir) if f.endswith(".tide")]
    t.equal("recordings", len(files), 1)
    t.true("told of", "recording: " + files[0] in t.stdout)
    scopes = {s["name"]: s["peak_bytes"] for s in t.ask(t.file(files[0]), "marks", "--scopes")["scopes"]}
    t.equal("every test is a scope", len(scopes), len(RESULTS))
    t.equal("with its peak", scopes["test_limits.py::test_exactly"], 24 << 20)


AS_MEMRAY = C_HEAP + """
import pytest, threading

kept = []

@pytest.mark.limit_memory("1 MB")
def test_a_megabyte_is_1024_kilobytes():
    c.free(c.malloc(1 << 20))

@pytest.mark.limit_memory(memory_limit="1 MB")
def test_a_byte_more():
    c.free(c.malloc((1 << 20) + 1))

def in_a_thread(size):
    thread = threading.Thread(target=lambda: kept.append(c.malloc(size)))
    thread.start()
    thread.join()

@pytest.mark.limit_memory("1 MB", current_thread_only=True)
def test_another_thread():
    in_a_thread(8 << 20)

@pytest.mark.limit_memory("1 MB")
def test_any_thread():
    in_a_thread(64 << 20)

@pytest.mark.limit_memory("200 MB")
def test_the_peak_of_all():
    c.free(c.malloc(128 << 20))

@pytest.mark.limit_memory("1 MB", current_thread_only=True)
def test_another_thread_shortly():
    in_a_thread(8 << 20)
    c.free(c.malloc(8000))
    c.free(kept.pop())

@pytest.mark.limit_memory("1 MB", current_thread_only=True)
def test_this_thread_shortly():
    in_a_thread(8 << 20)
    c.free(c.malloc(2 << 20))
    c.free(kept.pop())

def cache(size):
    kept.append(c.malloc(size))

@pytest.mark.limit_leaks("1 MB", filter_fn=lambda stack: all(f.function != "cache" for f in stack.frames))
def test_a_cache_is_no_leak():
    cache(3 << 20)

@pytest.mark.limit_leaks("1 MB", filter_fn=lambda stack: any(f.filename.endswith("test_memray.py") for f in stack.frames if f.filename))
def test_what_is_chosen():
    cache(3 << 20)
"""


def test_markers_of_pytest_memray(t):
    write(t, "test_memray.py", AS_MEMRAY)
    run_pytest(t, *EXACT, "--junit-xml", "junit.xml", "test_memray.py")
    t.equal("outcomes", {name: outcome for name, (outcome, _) in junit(t).items()},
            {"test_a_megabyte_is_1024_kilobytes": "passed", "test_a_byte_more": "failed", "test_another_thread": "passed",
             "test_any_thread": "failed", "test_the_peak_of_all": "passed",
             "test_another_thread_shortly": "passed", "test_this_thread_shortly": "failed",
             "test_a_cache_is_no_leak": "passed", "test_what_is_chosen": "failed"})


HELD = """
import pytest, time

def load(size):
    return bytearray(size)

def churn():
    for _ in range(200):
        load(100000)

@pytest.mark.limit_memory("1 MiB")
def test_held():
    churn()
    one = load(5000000)
    two = bytearray(2000000)
    del one, two
    churn()

@pytest.mark.limit_memory("1 MiB")
def test_lower_and_short():
    load(2000000)

@pytest.mark.limit_leaks("1 KiB")
def test_left():
    global kept
    kept = load(30000)
"""


def test_pytest_lists_what_was_live(t):
    """Of a limit that is exceeded: what was live at that moment, not what came and went; none of tidemark's own lines."""
    write(t, "test_held.py", HELD)
    run_pytest(t, *EXACT, "test_held.py")
    parts = re.split(r"^_+ (test_\w+) _+$", t.stdout, flags=re.MULTILINE)
    said = {name: text.split("=====")[0].splitlines() for name, text in zip(parts[1::2], parts[2::2])}
    held = said["test_held"]
    t.equal("what it lists", held[2], "what was live then, by line:")
    t.true("the lines", re.match(r" +4\.8 MiB in \d blocks?  test_held\.py:5 \(load\)", held[3]) and
           re.match(r" +1\.9 MiB in \d blocks?  test_held\.py:15 \(test_held\)", held[4]), held)
    short = said["test_lower_and_short"]
    t.true("of a lower peak that was short it says that it is not that", short[2].startswith("what was live then") or
           short[2] == "what it allocated in all, by line (the highest was too short to know what was live then):", short)
    t.true("what is left", re.match(r" +29\.[34] KiB in \d blocks?  test_held\.py:5 \(load\)", said["test_left"][3]), said["test_left"])
    t.equal("and nothing else", len(said["test_left"]), 4)
    t.true("nothing of ours", "tidemark/" not in t.stdout.split("memory of tests")[0].split("FAILURES")[1], t.stdout)


NO_FILE = """
import ctypes, pytest, sys
c = ctypes.CDLL(None)

@pytest.mark.limit_leaks("1 KiB")
def test_by_no_line():
    thread = ctypes.c_ulong()
    c.pthread_create(ctypes.byref(thread), None, c.malloc, ctypes.c_size_t(3 << 20))
    c.pthread_join(thread, None)
    exec(compile("kept = bytearray(1 << 20)", "", "exec"), globals())

@pytest.mark.limit_leaks("1 KiB")
def test_by_a_file_of_no_line():
    code = compile("also_kept = bytearray(5 << 20)", __file__, "exec")
    no_lines = b"\\xff" * 40 if sys.version_info >= (3, 11) else b"\\xfe\\x80" * 9
    exec(code.replace(co_linetable=no_lines), globals())
"""


def test_pytest_lists_what_no_file_allocated(t):
    write(t, "test_no_file.py", NO_FILE)
    run_pytest(t, *EXACT, "test_no_file.py")
    t.equal("status", t.status, 1)
    t.equal("errors", t.stderr, "")
    t.true("a thread without Python", "3.0 MiB in 1 block  [native]\n" in t.stdout, t.stdout)
    t.true("code without a file", "1.0 MiB in 1 block  <module>\n" in t.stdout, t.stdout)
    t.true("code without lines", "5.0 MiB in 1 block  test_no_file.py (<module>)\n" in t.stdout, t.stdout)


def test_pytest_counts_objects(t):
    """A million small objects: 16 bytes each, which are in arenas, and a list of 8 MB, which is a block."""
    if t.run("run", "--quiet", "--python=objects", "-o", t.file("x.tide"), "true")[2]:
        raise Skipped("--python=objects is not there")
    write(t, "test_small.py", "import pytest\n@pytest.mark.limit_memory('12 MiB')\ndef test_small():\n"
          "    assert len([object() for _ in range(1000000)]) == 1000000\n")
    run_pytest(t, "--tidemark", "--junit-xml", "junit.xml", "test_small.py")
    outcome, figures = junit(t)["test_small"]
    t.equal("counted", outcome, "failed")
    t.true("both", 24000000 <= figures["tidemark_peak_bytes"] < 30000000, figures)
    run_pytest(t, *EXACT, "--junit-xml", "junit.xml", "test_small.py")
    outcome, figures = junit(t)["test_small"]
    t.equal("counted as arenas", outcome, "failed")
    t.true("both, by arenas", 23000000 <= figures["tidemark_peak_bytes"] < 30000000, figures)


def test_pytest_under_tidemark_run(t):
    """Recorded from outside: limits hold without an option, and no table is shown."""
    write(t, "test_limits.py", LIMITS)
    run_pytest(t, "--version")
    t.record(PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tidemark.pytest_plugin", "--junit-xml", "junit.xml",
             "test_limits.py", status=1)
    check_limits(t)
    t.true("no table", "memory of tests" not in t.stdout)


def test_pytest_without_tidemark(t):
    write(t, "test_limits.py", LIMITS)
    run_pytest(t, "--junit-xml", "junit.xml", "test_limits.py")
    t.equal("outcomes", {name for name, (outcome, _) in junit(t).items() if outcome == "failed"}, {"test_fails_by_itself"})
    t.true("told of", "tidemark: the memory limits of 9 tests were not checked; run pytest --tidemark" in t.stdout, t.stdout)
    t.equal("no recording", [f for f in os.listdir(t.dir) if f.endswith(".tide")], [])
    run_pytest(t, "--tidemark", "test_limits.py", env={"TIDEMARK": "/nowhere"})
    t.equal("no program", (t.status, t.stderr), (4, "ERROR: --tidemark: TIDEMARK is /nowhere, which is not a program that can "
                                                 "be run\n\n"))
    run_pytest(t, "--tidemark", "test_limits.py", env={"TIDEMARK_PYTEST": "1"})
    t.true("never twice", "pytest was started under 'tidemark run', but is not recorded" in t.stdout, t.stdout)


@cases(named=((), NAMED))
def test_pytest_finds_the_plugin(t, named):
    """Installed, by its entry point; and if it is named all the same."""
    config = configparser.ConfigParser()
    config.read(os.path.join(BINDINGS, "setup.cfg"))
    points = config["options.entry_points"]
    os.makedirs(t.file("tidemark-0.1.0.dist-info"))
    write(t, "tidemark-0.1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tidemark\nVersion: 0.1.0\n")
    write(t, "tidemark-0.1.0.dist-info/entry_points.txt",
          "".join("[%s]\n%s\n" % (group, points[group].strip()) for group in points))
    run_pytest(t, "--markers", env={"PYTHONPATH": BINDINGS + ":" + t.dir}, named=named)
    t.equal("status", (t.status, t.stderr), (0, ""))
    t.equal("markers", len(re.findall(r"^@pytest\.mark\.limit_(?:memory|leaks)\(", t.stdout, re.MULTILINE)), 2)


def test_pytest_workers(t):
    write(t, "test_limits.py", LIMITS)
    run_pytest(t, "-n", "2", *EXACT, "--junit-xml", "junit.xml", "test_limits.py", plugin="xdist")
    t.equal("status", t.status, 1)
    check_limits(t, room=2 * 8192)  # a worker has a second thread: the bound of a peak is 8 KiB for each
    t.true("a table of all", "test_exactly" in t.stdout.split("memory of tests")[1])


WRONG_LIMITS = """
import pytest

@pytest.mark.limit_memory("24 lightyears")
def test_no_size(): pass

@pytest.mark.limit_leaks("24 MiB", 3)
def test_two(): pass

@pytest.mark.limit_memory("24 MiB", size="24 MiB")
def test_twice(): pass

@pytest.mark.limit_memory(bytes=5)
def test_another_word(): pass

@pytest.mark.limit_leaks()
def test_none(): pass

@pytest.mark.limit_memory(float("inf"))
def test_endless(): pass

@pytest.mark.limit_memory(size="24 MiB")
@pytest.mark.limit_leaks(size=1 << 20)
def test_right(): pass

@pytest.mark.limit_memory(size="1 MiB")
def test_exceeds(): bytearray(2 << 20)

@pytest.mark.limit_leaks(size="1 MiB")
def test_leaves(): globals()["kept"] = bytearray(2 << 20)

def test_without(): pass
"""


@cases(options=((), EXACT))
def test_pytest_wrong_limits(t, options):
    """One that is wrong fails its test, and no other."""
    write(t, "test_wrong.py", WRONG_LIMITS)
    run_pytest(t, *options, "--junit-xml", "junit.xml", "test_wrong.py")
    t.equal("status", (t.status, t.stderr), (1, ""))
    right = {"test_right", "test_without"} | (set() if options else {"test_exceeds", "test_leaves"})
    t.equal("passed", {name for name, (outcome, _) in junit(t).items() if outcome == "passed"}, right)
    for words in ("limit_memory: '24 lightyears' is no size; write it as 64 KiB, 24 MB or 1.5 GB",
                  "limit_leaks takes one size", "limit_memory takes one size", "limit_memory: cannot convert float infinity"):
        t.true(words, "\n" + words in t.stdout, t.stdout)
    t.true("nothing else", "During handling" not in t.stdout, t.stdout)
    unchecked = re.search(r"the memory limits of (\d+) tests were not checked", t.stdout)
    t.equal("not checked", unchecked and unchecked.group(1), None if options else "3")


def test_pytest_sizes(t):
    run_pytest(t, "--version")
    sizes = {"24 MiB": 24 << 20, "1.5GB": 3 << 29, "64K": 65536, "3 kb": 3072, "10": 10, " 7 b ": 7, ".5 KiB": 512, "2t": 2 << 40}
    t.plain(PYTHON, "-c", "import json, sys\nfrom tidemark.pytest_plugin import parse\n"
            "print(json.dumps([parse(s) for s in json.loads(sys.argv[1])]))", json.dumps(list(sizes)), env=ON_PATH)
    t.equal("bytes", json.loads(t.stdout), list(sizes.values()))


# IPython
