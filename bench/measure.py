"""Runs one command and says what it cost: time waited for, processor time of all processes, memory of each."""
import os
import subprocess
import time


class Cost:
    def __init__(self, wall_s, cpu_s, status):
        self.wall_s, self.cpu_s, self.status = wall_s, cpu_s, status


def start(workload, prefix=()):
    workload.prepare()
    with open(workload.stdin or os.devnull) as stdin:
        return subprocess.Popen([*prefix, *workload.argv], stdin=stdin, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env={**os.environ, **workload.env})


def finish(process):
    """Waits; the processor time is of the process and of all that it waited for, and they for."""
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("%s ended with %d: %s" % (" ".join(process.args), process.returncode,
                                                      errors.decode(errors="replace").strip()[-500:]))
    return usage.ru_utime + usage.ru_stime


def run(workload, prefix=()):
    """Runs to the end, untouched by anything that would slow it."""
    begin = time.perf_counter()
    process = start(workload, prefix)
    cpu_s = finish(process)
    return Cost(time.perf_counter() - begin, cpu_s, process.returncode)


def descendants(pid):
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir("/proc/%d/task" % parent):
                with open("/proc/%d/task/%s/children" % (parent, task)) as children:
                    found += [int(child) for child in children.read().split()]
        except OSError:  # ended meanwhile
            pass
    return found


def high_water(pid):
    """(name of the executable, VmHWM in bytes), or None when the process is no more."""
    try:
        with open("/proc/%d/status" % pid) as lines:
            for line in lines:
                if line.startswith("VmHWM:"):
                    return os.path.basename(os.readlink("/proc/%d/exe" % pid)), int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def memory(workload, prefix=()):
    """Highest resident size of each executable that took part: {name: bytes}.

    Watches from outside, in a run that is not timed. VmHWM is kept by the kernel, so that only what is reached in the
    last moment before a process ends can be missed.
    """
    process = start(workload, prefix)
    highest = {}
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        for pid in descendants(process.pid):
            seen = high_water(pid)
            if seen:
                highest[seen[0]] = max(highest.get(seen[0], 0), seen[1])
        time.sleep(0.003)
    finish(process)
    return highest
