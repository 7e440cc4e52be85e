/*
 * memray's files, read by memray itself: its format changes with each version, but its Python API
 * does not. python3 runs the script below, which prints the file's records as lines
 * (memray_records.h); no intermediate file is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import/memray_records.h"

extern char **environ;

/* Lines that begin with "!" say why it failed. */
static const char script[] =
    "import sys\n"
    "try:\n"
    "    import memray\n"
    "    from memray import AllocatorType as A, FileReader\n"
    "except ImportError:\n"
    "    print('!no memray')\n"
    "    sys.exit(0)\n"
    "out = sys.stdout.write\n"
    "def clean(text):\n"
    "    return str(text).encode('utf-8', 'replace').decode().replace('\\n', ' ').replace('\\t', ' "
    "')"
    ".replace('\\0', ' ')\n"
    "frames, stacks, threads = {}, {}, {}\n"
    "def frame_number(f, native):\n"
    "    key = (f[0], f[1], f[2])\n"
    "    if key not in frames:\n"
    "        frames[key] = len(frames)\n"
    "        file = clean(f[1])\n"
    "        python = not native or file.endswith('.py') or file.startswith('<')\n"
    "        out('F %d %s\\t%s\\t%s\\n' % (max(0, f[2] or 0), 'p' if python else 'n', clean(f[0]), "
    "file))\n"
    "    return frames[key]\n"
    "def stack_number(r, native):\n"
    "    key = (r.stack_id, r.native_stack_id, r.native_segment_generation) if native else "
    "r.stack_id\n"
    "    if key not in stacks:\n"
    "        trace = r.hybrid_stack_trace() if native else r.stack_trace()\n"
    "        numbers = [frame_number(f, native) for f in trace]\n"
    "        stacks[key] = len(stacks)\n"
    "        out('K%s\\n' % ''.join(' %d' % n for n in numbers))\n"
    "    return stacks[key]\n"
    "def thread_number(r, main):\n"
    "    name = r.thread_name\n"
    "    if r.tid not in threads or (name and threads[r.tid][1] != name):\n"
    "        known = threads.get(r.tid)\n"
    "        threads[r.tid] = (known[0] if known else len(threads), name)\n"
    "        out('N %d %d %s\\n' % (threads[r.tid][0], r.tid, clean(name) or "
    "('main' if r.tid == main else '')))\n"
    "    return threads[r.tid][0]\n"
    "def describe(reader):\n"
    "    m = reader.metadata\n"
    "    out('v %s\\n' % clean(getattr(memray, '__version__', '?')))\n"
    "    out('P %d\\n' % (m.pid or 0))\n"
    "    out('X %s\\n' % clean(m.command_line))\n"
    "    ms = lambda t: int(t.timestamp() * 1000)\n"
    "    out('T %d %d\\n' % (ms(m.start_time), ms(m.end_time)))\n"
    "    return m\n"
    "def single(reader, m):\n"
    "    native, main = m.has_native_traces, m.main_thread_id\n"
    "    ends = {int(A.FREE), int(A.PYMALLOC_FREE)}\n"
    "    mapping, unmapping = int(A.MMAP), int(A.MUNMAP)\n"
    "    for r in reader.get_allocation_records():\n"
    "        kind = int(r.allocator)\n"
    "        if kind in ends:\n"
    "            out('- %x %d\\n' % (r.address, thread_number(r, main)))\n"
    "        elif kind == unmapping:\n"
    "            out('u %x %d\\n' % (r.address, r.size))\n"
    "        else:\n"
    "            thread, stack = thread_number(r, main), stack_number(r, native)\n"
    "            out('%s %x %d %d %d\\n' % ('m' if kind == mapping else '+', r.address, r.size, "
    "thread, stack))\n"
    "def sums(open_file, m):\n"
    "    native, main = m.has_native_traces, m.main_thread_id\n"
    "    for letter, method in (('H', 'get_high_watermark_allocation_records'), "
    "('L', 'get_leaked_allocation_records')):\n"
    "        with open_file() as reader:\n"
    "            for r in getattr(reader, method)(merge_threads=False):\n"
    "                thread, stack = thread_number(r, main), stack_number(r, native)\n"
    "                mapped = 'm' if int(r.allocator) == int(A.MMAP) else 'h'\n"
    "                out('%s %s %d %d %d %d\\n' % (letter, mapped, r.size, r.n_allocations, "
    "thread, "
    "stack))\n"
    "try:\n"
    "    open_file = lambda: FileReader(sys.argv[1])\n"
    "    with open_file() as reader:\n"
    "        m = describe(reader)\n"
    "        for s in reader.get_memory_snapshots():\n"
    "            out('R %d %d %d\\n' % (s.time, s.rss, s.heap))\n"
    "    aggregated = 'AGGREGATED' in getattr(getattr(m, 'file_format', None), 'name', '')\n"
    "    if aggregated:\n"
    "        sums(open_file, m)\n"
    "    else:\n"
    "        with open_file() as reader:\n"
    "            single(reader, m)\n"
    "    out('E\\n')\n"
    "    sys.stdout.flush()\n"
    "except BrokenPipeError:\n"
    "    sys.stderr.close()\n"
    "except Exception as problem:\n"
    "    out('!%s\\n' % clean(problem))\n";

bool memray_is(const char *bytes, size_t size)
{
    static const char lz4[] = {0x04, 0x22, 0x4d, 0x18};
    bool packed = size > 4 && memcmp(bytes, lz4, sizeof lz4) == 0;
    return (size >= 7 && memcmp(bytes, "memray", 7) == 0) ||
           (packed && memmem(bytes, size < 64 ? size : 64, "memray", 6));
}

/* Starts the script; *fd is its output. */
static int start(const char *python, const char *path, pid_t *pid, int *fd, struct err *err)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    char *const argv[] = {(char *)python, (char *)"-c", (char *)script, (char *)path, NULL};
    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, -errno, "cannot run %s: %s", python, strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int code = posix_spawnp(pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *fd = ends[0];
    if (!code)
        return 0;
    close(ends[0]);
    return err_set(err, -code, "cannot run %s, which memray's files need: %s", python,
                   strerror(code));
}

int memray_import(struct import *m, struct err *err)
{
    const char *python = m->request->python ? m->request->python : "python3";
    struct input lines, *file = m->in;
    pid_t pid;
    int fd = -1, status;
    if (strcmp(m->request->path, "-") == 0)
        return err_set(err, -EINVAL, "memray's files are read by memray: give a file, not '-'");
    int code = start(python, m->request->path, &pid, &fd, err);
    if (code)
        return code;
    input_of_descriptor(&lines, fd, file->name);
    lines.progress = file->progress;
    lines.context = file->context;
    m->in = &lines;
    code = memray_records_import(m, err);
    m->in = file;
    input_release(&lines);
    if (code) /* it may still be writing, but nobody reads */
        kill(pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (code == -ENOPKG)
        return err_set(err, code,
                       "%s has no memray, which reads its own files: 'pip install memray', or "
                       "'--python PROGRAM' for one that has it",
                       python);
    return code;
}
