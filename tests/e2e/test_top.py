"""tidemark top: its table equals what report says, and its screen, in a real terminal (tmux), does what its keys say."""
import csv
import io
import json
import os
import re
import subprocess

from harness import cases, eventually


class Live:
    """tests/programs/keeps_growing.c under tidemark."""

    def __init__(self, t, name="p"):
        self.t, self.profile = t, t.file(name + ".tide")
        self.tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", self.profile, "--", t.build("keeps_growing.c", "-O1")],
                                     stdin=subprocess.PIPE, cwd=t.dir)

    def end(self):
        if self.tool.stdin:
            self.tool.stdin.close()
        self.t.equal("exit status", self.tool.wait(), 0)
        return self.profile


class Screen:
    """A command in a terminal of tmux, on a server of its own."""

    def __init__(self, t, *command, width=80, height=24):
        self.t, self.socket = t, t.file("tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  "LC_ALL=C.UTF-8 TERM=screen " + " ".join(command) + "; echo left with $?; sleep 1000")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.t.equal("tmux %s: %s" % (words, done.stdout if done.returncode else ""), done.returncode, 0)
        return done.stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, pattern):
        """Waits until a line of the screen matches."""
        found = []

        def look():
            found[:] = re.findall(pattern, self.text(), re.MULTILINE)
            return found
        eventually("%r on the screen, which has\n%s" % (pattern, self.text()), look)
        return found[0]

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], stderr=subprocess.DEVNULL)


def rows_by_name(answer):
    return {row["name"]: row for row in answer["rows"]}


def recorded(t):
    live = Live(t)
    eventually("it has grown", lambda: held_now(t, live) > 200000)
    return live.end()


def held_now(t, live):
    stdout, _, status = t.run("top", str(live.tool.pid), "--json")
    if status:
        return 0
    return rows_by_name(json.loads(stdout)).get("held", {"bytes": 0})["bytes"]


@cases(by=("function", "line", "library", "file", "thread"))
def test_table_equals_report(t, by):
    profile = recorded(t)
    top = t.ask(profile, "top", "--by", by, "--window", "0.2s")
    since, at = "%.9fs" % ((top["time_ns"] - top["window_ns"]) / 1e9), "%.9fs" % (top["time_ns"] / 1e9)
    live = rows_by_name(t.report(profile, "live", "--by", by))
    gained = rows_by_name(t.report(profile, "live", "--by", by, "--since", since, "--at", at))
    total = rows_by_name(t.report(profile, "total", "--by", by, "--since", since, "--at", at))
    brief = rows_by_name(t.report(profile, "temporary", "--by", by, "--since", since, "--at", at))
    t.true("rows", len(top["rows"]) >= 1, top)
    seconds = top["window_ns"] / 1e9
    for row in top["rows"]:
        name = row["name"]

        def value(rows, key="self_bytes"):
            return rows.get(name, {}).get(key, 0)
        t.equal(name + " held", (row["bytes"], row["count"]), (value(live), value(live, "self_count")))
        for key, rows in (("growth", gained), ("allocated", total), ("temporary", brief)):
            rate = row[key + "_bytes_per_second"]
            wanted = value(rows) / seconds if seconds else 0  # one interval can be all that there is
            t.true("%s %s" % (name, key), abs(rate - wanted) <= 1, (rate, value(rows), seconds))
    t.equal("sum", sum(row["bytes"] for row in top["rows"]), top["live_bytes"])


def test_metric_of_another_moment(t):
    """The peak lies in the past; growth, rates and totals are of the end all the same."""
    profile = recorded(t)
    live, peak = t.ask(profile, "top"), t.ask(profile, "top", "--metric", "peak")
    for key in ("time_ns", "window_ns", "live_bytes", "live_blocks", "peak_bytes"):
        t.equal(key, peak[key], live[key])
    t.equal("rates", [r["growth_bytes_per_second"] for r in peak["rows"] if r["name"] == "held"],
            [r["growth_bytes_per_second"] for r in live["rows"] if r["name"] == "held"])


def test_what_is_not_shown_is_said(t):
    profile = recorded(t)
    whole, part = t.ask(profile, "top"), t.ask(profile, "top", "--ignore", "^held$")
    t.equal("the process", (part["live_bytes"], whole["shown_bytes"]), (whole["live_bytes"], whole["live_bytes"]))
    t.equal("shown", part["shown_bytes"], whole["live_bytes"] - rows_by_name(whole)["held"]["bytes"])
    stdout, _, _ = t.run("top", profile, "--ignore", "^held$")
    t.true("in text", "of it in the rows" in stdout, stdout)


def test_process_that_runs(t):
    """A child held most and has ended: the one that runs is shown."""
    script = "%s; cat" % t.build("leaks_much.c", "-O1")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "sh", "-c", script],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=t.dir)
    t.equal("the child has ended", tool.stdout.readline(), b"done\n")
    tool.stdin.write(b"x\n")
    tool.stdin.flush()
    tool.stdout.readline()
    top = json.loads(t.run("top", str(tool.pid), "--json")[0])
    every = json.loads(t.run("top", str(tool.pid), "--json", "--process", "all")[0])
    tool.stdin.close()
    t.equal("exit status", tool.wait(), 0)
    processes = {p["pid"]: p["command"][0] for p in t.report(t.file("p.tide"))["processes"]}
    t.true("not the one that ended", "leaks_much" not in processes[top["pid"]], (top["pid"], processes))
    t.true("all together", every["shown_bytes"] >= 5000000, every)


def test_formats_and_order(t):
    profile = recorded(t)
    stdout, _, _ = t.run("top", profile, "--csv", "--sort", "temporary")
    rows = list(csv.DictReader(io.StringIO(stdout)))
    t.equal("first by temporary", rows[0]["name"], "for_a_moment")
    stdout, _, _ = t.run("top", profile, "--sort", "live")
    t.true("text", re.search(r"^ *\S+ \S+B +100\.0 .* held +keeps_growing\.c:\d+$", stdout, re.MULTILINE), stdout)
    stdout, _, _ = t.run("top", profile, "--top", "1")
    t.true("what is left out is counted", re.search(r"^\.\.\. 1 more row", stdout, re.MULTILINE), stdout)


def test_looking_leaves_no_trace(t):
    live = Live(t)
    for _ in range(3):
        eventually("it has begun", lambda: held_now(t, live) > 0)
    stdout, _, _ = t.run("ctl", str(live.tool.pid), "status")
    t.true("no snapshots", "snapshots 0" in stdout, stdout)
    t.equal("no marks", t.ask(live.end(), "marks")["marks"], [])
    t.equal("no files", sorted(f for f in os.listdir(t.dir) if f.endswith(".tide")), ["p.tide"])


def test_screen(t):
    live = Live(t)
    eventually("it has begun", lambda: held_now(t, live) > 0)
    screen = Screen(t, t.tidemark, "top", str(live.tool.pid), "--every", "0.2s")
    try:
        screen.shows(r"^ *live .*name")
        lines = screen.text().splitlines()
        t.true("fits into 80 x 24", len(lines) <= 24 and max(map(len, lines)) <= 80, lines)
        t.true("keys are shown", lines[-1].startswith("q quit s sort"), lines[-1])
        t.true("the plot", "RSS" in lines[4] and "live" in lines[5] and "\u2588" in "".join(lines[3:7]), lines[3:7])
        first = screen.shows(r"^pid \d+ after ([^:]+):")
        eventually("it goes on", lambda: screen.shows(r"^pid \d+ after ([^:]+):") != first)
        screen.press("s", "s", "s")
        screen.shows(r"^by function, sorted by temporary")
        screen.shows(r"name +where\n.* for_a_moment ")
        screen.press("g")
        screen.shows(r"^by line, ")
        screen.press("m")
        screen.shows(r"^ +peak ")
        screen.press("/")
        screen.press("held", "Enter")
        screen.shows(r"only /held/$")
        t.true("only that", "for_a_moment" not in screen.text(), screen.text())
        screen.press("Space")
        screen.shows(", held$")
        screen.press("?")
        screen.shows("^q +quit; the program and its recording continue")
        screen.press("q")
        screen.shows(r"only /held/, held$")
        screen.press("k")
        screen.press("here", "Enter")
        screen.shows("^marked this moment")
        screen.press("n")
        screen.shows("^snapshot 1, written to ")
        screen.press("l")
        screen.shows(r"^process \d+: lost .* in .* blocks?, ")
        screen.press("p")
        screen.shows("recording paused")
        screen.press("p")
        screen.shows("^allocations are recorded again")
        screen.tmux("resize-window", "-x", "120", "-y", "40")
        screen.shows(r"^ +peak +% +blocks")
        screen.press("Space")
        live_profile = live.end()
        screen.shows("the program has ended")
        screen.press("q")
        screen.shows("^left with 0")
    finally:
        screen.close()
    t.equal("marks", [m["label"] for m in t.ask(live_profile, "marks")["marks"]], ["here", "snapshot", "leaks"])


def ends_with(t, screen, signal, status):
    pid = screen.tmux("list-panes", "-F", "#{pane_pid}").strip()
    top, = subprocess.run(["pgrep", "-P", pid, "-x", "tidemark"], stdout=subprocess.PIPE, text=True).stdout.split()
    subprocess.run(["kill", "-" + signal, top], check=True)
    screen.shows("^left with %d" % status)


@cases(signal=("TERM", "HUP", "QUIT"))
def test_signals_end_it(t, signal):
    screen = Screen(t, t.tidemark, "top", recorded(t))
    try:
        screen.shows(r"^ *live .*name")
        ends_with(t, screen, signal, 128 + {"TERM": 15, "HUP": 1, "QUIT": 3}[signal])
    finally:
        screen.close()


def test_terminal_that_is_not_known(t):
    screen = Screen(t, "TERM=no-such-terminal", t.tidemark, "top", recorded(t))
    try:
        screen.shows(r"the terminal 'no-such-terminal' is not known")
        screen.shows("^left with 1")
    finally:
        screen.close()


def test_screen_of_a_file(t):
    screen = Screen(t, t.tidemark, "top", recorded(t), width=60, height=12)
    try:
        screen.shows(r"^ *live .*name")
        t.true("no plot in so few lines", "RSS \u2591" not in screen.text(), screen.text())
        screen.press("n")
        screen.shows("^this recording does not run any more")
        screen.press("C-c")
        screen.shows("^left with 0")
    finally:
        screen.close()


def test_which_recording(t):
    one, two = Live(t, "one"), Live(t, "two")
    for live in (one, two):
        eventually("it has begun", lambda: held_now(t, live) > 0)
    _, stderr, status = t.run("top", "--once")
    t.equal("several: status", status, 2)
    t.true("several are listed", "there are several recordings" in stderr and stderr.count("\n") == 1, stderr)
    one.end(), two.end()


def test_wrong_words(t):
    for words, said in ((("--sort", "size"), "--sort 'size' is not known"), (("--window", "0"), "--window takes a time"),
                        (("--every", "fast"), "--every takes a time"), (("--by", "stack"), "--by stack is for tidemark report"),
                        (("/no/such/file",), "/no/such/file"), ((str(os.getpid()),), "is not being recorded")):
        _, stderr, status = t.run("top", *words)
        t.true("status of %s" % " ".join(words), status in (1, 2), status)
        t.true("says so", said in stderr and stderr.count("\n") == 1, stderr)
