"""tidemark attach, and threads that come and go, run elsewhere than on their own stack, or execute a program."""
from attaching import SUPPORTED, program, stack_start
from harness import eventually


def attach_often(t, p, times, refusals=()):
    """Returns how often it was refused, which is for one of these reasons. The program's code is its own each time."""
    refused = 0
    for i in range(times):
        stdout, stderr, status = t.run("attach", str(p.pid), "--duration", "%dms" % (1 + 3 * i), "--quiet", "-o", t.file("o.tide"))
        if status == 1 and any(reason in stderr for reason in refusals):
            refused += 1
        else:
            t.equal("attach %d (%s)" % (i, stderr), status, 0)
        t.equal("it runs after %d (9: its memory was changed)" % i, p.process.poll(), None)
    return refused


def test_threads_that_start_and_end(t):
    """A thread may end just when it is to be stopped, and holds locks of libc when it is joined."""
    if not SUPPORTED:
        return
    with program(t, t.build("threads_come_and_go.c", "-O1", "-D_GNU_SOURCE")) as p:
        code = p.code()
        attach_often(t, p, 6)
        t.equal("its code is its own", p.code() == code, True)


def test_a_thread_on_another_stack(t):
    """Below a coroutine's stack may be anything: nothing is written there."""
    if not SUPPORTED:
        return
    with program(t, t.build("other_stack_runs.c", "-O1", "-D_GNU_SOURCE")) as p:
        code = p.code()
        attach_often(t, p, 3)
        t.equal("its code is its own", p.code() == code, True)


def test_a_thread_of_the_kernel(t):
    """It is one of the program's, but never executes its code, and need not be stopped."""
    if not SUPPORTED:
        return
    with program(t, t.build("kernel_worker.c", "-O1", "-D_GNU_SOURCE")) as p:
        code = p.code()
        attach_often(t, p, 3)
        t.equal("its code is its own", p.code() == code, True)


def test_a_thread_that_executes(t):
    """The kernel ends all other threads first: those that tidemark has stopped must not keep it from that."""
    if not SUPPORTED:
        return
    with program(t, t.build("executes_itself.c", "-O1", "-D_GNU_SOURCE")) as p:
        attach_often(t, p, 12, ("executed another program", "only just started"))
        before = stack_start(p.pid)
        eventually("it executes itself once more", lambda: stack_start(p.pid) not in (0, before))
