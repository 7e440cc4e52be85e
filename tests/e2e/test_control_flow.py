"""Control flow that leaves the straight path: numbers and stacks stay exact, and nothing breaks."""
import os

from harness import bare, cases

LEVELS = ("-O0", "-O2")


def stacks(t, profile, innermost=None, metric="total"):
    """{functions of the program, innermost first: (bytes, count)}; libc's and the start's are left out."""
    found = {}
    for row in t.report(profile, metric, "--by", "stack")["rows"]:
        names = tuple(bare(f["function"]) for f in row["stack"]
                      if not os.path.basename(f["module"] or "").startswith(("libc.so", "ld-linux", "libstdc++", "libgcc_s"))
                      and f["function"] != "_start")
        if innermost is None or names[:1] == (innermost,):
            size, count = found.get(names, (0, 0))
            found[names] = (size + row["bytes"], count + row["count"])
    return found


def whole(t, profile, **arguments):
    totals = t.consistent(profile, **arguments)
    t.equal("truncated stacks", totals["truncated_stacks"], 0)
    t.equal("incomplete stacks", totals["incomplete_stacks"], 0)
    return totals


@cases(how=("context", "assembly"), opt=LEVELS)
def test_coroutines(t, how, opt):
    profile = t.record(t.build("coroutines.c", opt), how)
    want = {("leaf",) + ("rise",) * (n + 1) + ("coroutine",): (10 * (n + 1), 10) for n in range(16)}
    want["between", "all_in_turn", "main"] = (160 * 1000, 160)
    t.equal("stacks", stacks(t, profile), want)
    t.equal("allocations", whole(t, profile)["allocations"], 320)


@cases(opt=LEVELS)
def test_stacks_that_are_unmapped(t, opt):
    profile = t.record(t.build("coroutines.c", opt), "unmapped")
    whole(t, profile)
    found = stacks(t, profile)
    t.equal("functions", {(s[-1], frozenset(s[:-1])) for s in found}, {("coroutine_down", frozenset(["down"]))})
    depths = sorted((len(s), figures) for s, figures in found.items())
    t.equal("16 more frames each", [d for d, _ in depths], [1 + 16 * n for n in range(1, 1 + len(depths))])
    small = [d for d, figures in depths if figures == (2, 2)]
    t.equal("the small stack's depths are the large one's first", small, [d for d, _ in depths[:len(small)]])
    t.equal("the others", {f for d, f in depths if d not in small}, {(1, 1)})
    t.true("both stacks were used", len(small) > 5 and len(depths) > 2 * len(small), (len(small), len(depths)))


ROUNDS, DEPTH = 100, 10  # as in jumps.c
FALLS = {("allocates",) + ("falls",) * n + ("main",): (11 * ROUNDS, ROUNDS) for n in range(1, DEPTH + 2)}
FALLS[("allocates",) + ("after",) * (2 * DEPTH + 1) + ("main",)] = (13 * ROUNDS, ROUNDS)


@cases(how=("over", "handler"), opt=LEVELS)
def test_longjmp(t, how, opt):
    profile = t.record(t.build("jumps.c", opt), how)
    want = dict(FALLS)
    if how == "handler":
        want[("allocates", "on_signal") + ("falls",) * (DEPTH + 1) + ("main",)] = (7 * ROUNDS, ROUNDS)
    t.equal("stacks", stacks(t, profile), want)
    whole(t, profile)


@cases(how=("malloc", "depths"), opt=LEVELS)
def test_longjmp_out_of_malloc(t, how, opt):
    """The hook is never returned to, wherever its frame was. What comes after, from deeper frames, is recorded all the same."""
    preload = t.build("jumping_malloc.c", "-O2", shared=True)
    profile = t.record(t.build("jumps.c", opt), how, env={"LD_PRELOAD": preload}, opts=("--only", "jumps"))
    t.equal("stacks", stacks(t, profile), FALLS if how == "malloc" else {("allocates", "main"): (17 * 256, 256)})
    whole(t, profile)


@cases(opt=LEVELS)
def test_handlers_at_every_depth(t, opt):
    profile = t.record(t.build("handler_depths.c", opt))
    t.equal("stacks", stacks(t, profile), {("on_signal",) + ("dive",) * n + ("main",): (10, 2) for n in range(1, 21)})
    whole(t, profile)


def test_handlers_aside_that_interrupt_the_recorder(t):
    profile = t.record(t.build("interrupted_hooks.c", "-O1"), "aside")
    totals = whole(t, profile)
    t.equal("allocations and frees", (totals["allocations"], totals["frees"]), (300100, 300000))
    want = {("deep",) * n + ("main",): (320000, 10000) for n in range(1, 31)}
    want["after", "main"] = (1700, 100)
    t.equal("stacks", stacks(t, profile), want)


def test_jumps_out_of_interrupted_hooks(t):
    profile = t.record(t.build("interrupted_hooks.c", "-O1"), "jumps")
    totals = whole(t, profile)
    t.equal("allocations", totals["allocations"], 100)
    t.equal("stacks", stacks(t, profile), {("after", "main"): (1700, 100)})


@cases(opt=LEVELS)
def test_before_main_and_after_it(t, opt):
    profile = t.record(t.build("around_main.cpp", opt))
    whole(t, profile)
    live = {names[:2]: figures for names, figures in stacks(t, profile, "take", "live").items()}
    t.equal("live", live, {("take", "global::global"): (101, 1), ("take", "global::~global"): (102, 1),
                           ("take", "local::~local"): (103 * 11, 11), ("take", "at_exit"): (104, 1),
                           ("take", "key_destructor"): (105 * 30, 30)})
    made = {}
    for names, (size, count) in stacks(t, profile, "take").items():
        made[names[1]] = made.get(names[1], 0) + count
    t.equal("made", made, {"global::global": 2, "global::~global": 2, "local::~local": 22, "at_exit": 2,
                           "key_destructor": 60, "thread": 20, "main": 2})


@cases(how=("deferred", "asynchronous"))
def test_cancelled_threads(t, how):
    profile = t.record(t.build("cancelled.c", "-O1"), how)
    whole(t, profile)
    t.equal("before", stacks(t, profile, "before"), {("before", "work"): (50 * 10 * 21, 500)})
    t.equal("in cleanup", stacks(t, profile, "in_cleanup"), {("in_cleanup", "work"): (50 * 22, 50)})


def test_smallest_stacks(t):
    profile = t.record(t.build("little_stack.c", "-O1"), "threads")
    whole(t, profile)
    t.equal("allocates", stacks(t, profile, "allocates"), {("allocates", "in_thread"): (20 * 31, 20)})


def test_hooks_need_little_stack(t):
    program = t.build("little_stack.c", "-O1", "-Wl,-z,now")  # binding names takes 3 KiB by itself
    plain = int(t.plain(program, "measure")[0])
    t.record(program, "measure")
    t.true("at most 4 KiB more than without", int(t.stdout) - plain <= 4096, (int(t.stdout), plain))


def test_down_to_the_guard_page(t):
    profile = t.record(t.build("little_stack.c", "-O1"), "guard")
    whole(t, profile)
    depths = sorted((names.count("sinks"), figures) for names, figures in stacks(t, profile, "allocates").items())
    t.equal("one block each", {figures for _, figures in depths}, {(51, 1)})
    t.equal("every 16th depth", [d for d, _ in depths[:-1]], [16 * n for n in range(1, len(depths))])
    t.true("the last one at the limit", depths[-1][0] > depths[-2][0] > 300, depths[-2:])


def test_vfork(t):
    profile = t.record(t.build("vforks.c", "-O1"))
    totals = whole(t, profile)
    t.equal("live", stacks(t, profile, metric="live"), {("in_child", "main"): (20 * 62, 20), ("in_parent", "main"): (20 * 63, 20)})
    t.equal("allocations and frees", (totals["allocations"], totals["frees"]), (60, 20))


DEPTH_THROWN = 8  # as in throws.cpp


@cases(opt=LEVELS)
def test_exceptions_through_many_frames(t, opt):
    profile = t.record(t.build("throws.cpp", opt), "and new fails")
    whole(t, profile)
    found = {}
    for names, figures in stacks(t, profile, "takes", "live").items():
        found[names] = figures
    frames = ("climbs",) * (DEPTH_THROWN + 1)
    want = {("takes",) + frames + ("catches", "main"): (72 * 100, 100), ("takes", "catches", "main"): (74 * 100, 100),
            ("takes",) + frames[:5] + ("catches", "main"): (73 * 100, 100), ("takes", "new_fails", "main"): (76 * 100, 100)}
    for n in range(1, DEPTH_THROWN + 2):
        want[("takes", "guard::~guard") + ("climbs",) * n + ("catches", "main")] = (71 * 100, 100)
    t.equal("live", found, want)
    t.equal("new_fails", stacks(t, profile, "new_fails"), {("new_fails", "main"): (75 * 100, 100)})
    t.equal("no exception is left", stacks(t, profile, "new_fails", "live"), {})
