"""Threads by the name that Python has for them, on every interpreter: as given, as renamed, and however the Thread keeps it."""
import json
import os

from harness import NO_ARENAS, PROGRAMS, ROOT, cases
from test_python_stacks import VERSIONS, interpreter

SMALLEST = 1000003


def leaked(t, profile):
    """{thread: bytes} of the blocks that the program tells of: all others are small."""
    found = {}
    for row in t.report(profile, "live", "--by", "stack", *NO_ARENAS)["rows"]:
        if row["bytes"] >= SMALLEST:
            found[row["thread"]] = found.get(row["thread"], 0) + row["bytes"]
    return found


@cases(version=VERSIONS)
def test_names(t, version):
    profile = t.record(interpreter(version), os.path.join(PROGRAMS, "thread_names.py"))
    expected = json.loads(t.stdout)
    t.true("threads", len(expected) > 20, expected)
    t.equal("by name", leaked(t, profile), {name: size for name, size in expected.items() if size})
    names = [thread["name"] for thread in t.ask(profile, "threads")["threads"]]
    t.equal("in threads", sorted(set(expected) - set(names)), [])
    only = t.report(profile, "live", "--thread", "worker-6", "--by", "stack", *NO_ARENAS)["rows"]
    t.equal("--thread", [row["bytes"] for row in only if row["bytes"] >= SMALLEST], [expected["worker-6"]])


def test_names_while_samples_are_taken(t):
    """The kernel, which is asked then, has another name for them."""
    profile = t.record("/usr/bin/python3", os.path.join(PROGRAMS, "thread_names.py"), opts=("--cpu=1000",))
    expected = json.loads(t.stdout)
    t.equal("by name", leaked(t, profile), {name: size for name, size in expected.items() if size})


def test_a_name_of_ones_own_comes_first(t):
    script = t.file("own.py")
    with open(script, "w") as file:
        file.write("import threading, tidemark\n"
                   "def work():\n"
                   "    tidemark.thread_name('its own')\n"
                   "    threading.current_thread().name = 'another'\n"
                   "    kept.append(bytearray(%d - 1))\n"
                   "kept = []\n"
                   "t = threading.Thread(target=work, name='first')\n"
                   "t.start()\n"
                   "t.join()\n"
                   "import os; os._exit(0)\n" % SMALLEST)
    profile = t.record("/usr/bin/python3", script, env={"PYTHONPATH": os.path.join(os.path.dirname(PROGRAMS), "..", "bindings", "python")})
    t.equal("by name", leaked(t, profile), {"its own": SMALLEST})


@cases(version=VERSIONS)
def test_renamed_after_a_look_at_attributes_on_the_move(t, version):
    """Dicts free what they have outgrown before the new place is in order."""
    library = t.build("marks_frees.c", "-I", os.path.join(ROOT, "include"), shared=True)
    script = t.file("outgrows.py")
    with open(script, "w") as file:
        file.write("import ctypes, os, sys, threading\n"
                   "malloc = ctypes.PyDLL(None).malloc\n"
                   "malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)\n"
                   "class Laden(threading.Thread):\n"
                   "    def run(self):\n"
                   "        for i in range(300):\n"
                   "            setattr(self, 'attribute_%%d' %% i, i)\n"
                   "        self.name = 'renamed'\n"
                   "        malloc(%d)\n"
                   "ctypes.PyDLL(sys.argv[1]).begin()\n"
                   "laden = Laden(name='laden')\n"
                   "laden.start()\n"
                   "laden.join()\n"
                   "os._exit(0)\n" % SMALLEST)
    profile = t.record(interpreter(version), script, library)
    t.equal("by name", leaked(t, profile), {"renamed": SMALLEST})


@cases(blocks=(2, 4, 8, 16))
def test_first_thread_renamed_in_a_loop(t, blocks):
    """However many allocations a turn has; it is killed, so that nobody looks again at its end."""
    script = t.file("loop.py")
    with open(script, "w") as file:
        file.write("import ctypes, os, threading\n"
                   "m = ctypes.PyDLL(None).malloc\n"
                   "m.restype, m.argtypes = None, (ctypes.c_size_t,)\n"
                   "kill, pid, me = ctypes.PyDLL(None).kill, os.getpid(), threading.main_thread()\n"
                   "def work():\n"
                   "    for i in range(21000):\n"
                   "        if i == 20000: me.name = 'renamed'\n"
                   + "        m(48)\n" * blocks +
                   "    kill(pid, 9)\n"
                   "work()\n")
    profile = t.record("/usr/bin/python3", script, status=137)
    t.equal("name", [thread["name"] for thread in t.ask(profile, "threads")["threads"]], ["renamed"])
