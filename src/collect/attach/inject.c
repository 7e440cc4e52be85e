#include "collect/attach/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "collect/attach/attached_library.h"
#include "collect/attach/remote_patches.h"
#include "collect/attach/remote_call.h"
#include "collect/attach/remote_module.h"
#include "collect/attach/safe_point.h"
#include "collect/attach/scratch.h"
#include "collect/proc/stop_threads.h"
#include "collect/proc/proc.h"
#include "machine/remote.h"
#include "wire/attach_code.h"

#define SAFE_NS  UINT64_C(10000000000) /* to find a thread at a safe point */
#define APART_NS 2000000               /* between two tries */
#define LOAD_NS  UINT64_C(60000000000) /* for the library to be loaded */
#define CALL_NS  UINT64_C(60000000000) /* for a thread to be started */
#define LEAVE_NS UINT64_C(10000000000) /* for that thread to end */

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

struct injection {
    pid_t pid;
    const char *library;
    const struct wire_attach *session;
    struct remote_modules modules;
    struct safe_points points;
    struct scratch scratch;
    struct remote_thread thread; /* the thread at a safe point that does the work */
    /* The program was stopped (SIGSTOP) before; we trace all its threads meanwhile. */
    bool halted;
    struct stopped_threads held;
    int memory; /* /proc/PID/mem, for writing */
    /* Descriptor in the program, which closes it once the library is loaded; -1: none. */
    int library_fd;
    struct remote_way way;
    uint64_t pthread_create;
    struct attach_work work;
    struct patience patience; /* how long it has looked for a thread at a safe point */
    unsigned tries;
};

/* --- finding functions in the program --------------------------------------------------------- */

/* The address of a function in libc, or in a library that became part of it in 2.34; 0: none. */
static uint64_t find_in_libc(struct injection *j, const char *name)
{
    static const char *const files[] = {"libc", "libpthread", "libdl"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct remote_module *m = remote_module_named(&j->modules, files[i]);
        struct remote_function f;
        if (m && remote_function(&j->modules, m, name, &f))
            return f.address;
    }
    return 0;
}

static int find_functions(struct injection *j, struct err *err)
{
    struct attach_work *w = &j->work;
    bool way = remote_way_find(&j->modules, j->points.libc, j->memory, &j->way);
    w->dlopen = find_in_libc(j, "dlopen");
    w->dlsym = find_in_libc(j, "dlsym");
    w->dlerror = find_in_libc(j, "dlerror");
    if (!w->dlopen || !w->dlsym) { /* the program has not loaded libdl */
        w->dlopen = find_in_libc(j, "__libc_dlopen_mode");
        w->dlsym = find_in_libc(j, "__libc_dlsym");
        w->dlerror = 0;
    }
    j->pthread_create = find_in_libc(j, "pthread_create");
    if (!way || !w->dlopen || !w->dlsym)
        return err_set(err, -ENOTSUP,
                       "the C library of process %d lacks functions that attaching needs (or the "
                       "program has only just started)",
                       j->pid);
    return 0;
}

/* --- finding a thread to work with ------------------------------------------------------------ */

/* Has the process executed another program since its memory was opened for writing? Then that
 * memory is gone, and no address is valid any more. */
static bool has_executed(const struct injection *j)
{
    uint8_t byte;
    return pread(j->memory, &byte, 1, (off_t)j->way.system_call) != 1;
}

static int executed_another(const struct injection *j, struct err *err)
{
    char first[64];
    struct proc_state state;
    /* A process that ends has no maps. Nor has one whose first thread has ended, because another
     * thread is about to execute a program. */
    if (!proc_read_text(j->pid, "maps", first, sizeof first) &&
        !(proc_read_state(j->pid, &state) && state.threads > 1))
        return err_set(err, -ESRCH, "process %d has ended", (int)j->pid);
    return err_set(err, -EAGAIN, "process %d has just executed another program; attach again",
                   (int)j->pid);
}

/* Stops threads one after the other until one is at a safe point, which is then j->thread. */
static int try_threads(struct injection *j, struct err *err)
{
    int code = 1;
    DIR *all = proc_open_threads(j->pid);
    if (!all)
        return err_set(err, -ESRCH, "process %d has ended", (int)j->pid);
    for (pid_t tid; code > 0 && (tid = proc_next_number(all));) {
        struct proc_state state;
        if (!proc_read_thread_state(j->pid, tid, &state) || strchr("DZX", state.state) ||
            proc_is_kernel_worker(&state))
            continue; /* it cannot be stopped now */
        int stopped = remote_stop(tid, &j->thread);
        bool gone = !proc_read_thread_state(j->pid, tid, &state) || strchr("ZX", state.state);
        if (stopped == -EPERM && !gone)
            code = err_set(err, -EPERM,
                           "process %d cannot be traced, or another process is tracing it (a "
                           "second 'tidemark attach'?)",
                           (int)j->pid);
        if (stopped == -EBUSY) /* it would stay stopped until our process ends */
            code = err_set(err, -EBUSY,
                           "thread %d of process %d sleeps in the kernel and could not be stopped; "
                           "the program was not changed, try again",
                           (int)tid, (int)j->pid);
        if (stopped)
            continue; /* it has ended */
        j->tries++;
        j->thread.way = j->way;
        if (has_executed(j))
            code = executed_another(j, err);
        else if (!j->thread.signal && safe_point_is(&j->points, &j->thread, tid == j->pid))
            code = 0;
        if (code)
            remote_release(&j->thread);
        patience_waited(&j->patience, monotonic_ns());
    }
    closedir(all);
    return code;
}

static int find_thread(struct injection *j, struct err *err)
{
    for (;;) {
        int code = try_threads(j, err);
        if (code <= 0)
            return code;
        if (patience_waited(&j->patience, monotonic_ns()) > SAFE_NS)
            return err_set(err, -EAGAIN,
                           "no thread of process %d could be stopped outside of its allocator and "
                           "loader in 10 s; the program was not changed, try again",
                           (int)j->pid);
        nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
        /* There may be new stacks and libraries by now. */
        remote_modules_release(&j->modules);
        safe_points_release(&j->points);
        if (remote_modules_open(&j->modules, j->pid))
            return executed_another(j, err);
        if ((code = safe_points_find(&j->points, &j->modules, err)))
            return code;
    }
}

/*
 * In a program that was stopped by a signal, no thread can run to release a lock, and a new thread
 * would be stopped as well. So all threads must be at safe points. Then one of them does the work
 * while the others stay stopped.
 */
static int find_in_halted(struct injection *j, struct err *err)
{
    int code = stop_threads_begin(&j->held, j->pid, 0, err);
    for (size_t i = 0; !code && i < j->held.threads.count; i++) {
        const struct stopped_thread *each = &j->held.threads.items[i];
        j->thread.tid = each->tid;
        j->thread.signal = each->signal;
        j->thread.way = j->way;
        j->tries++;
        if (!each->stopped || each->signal || remote_save(&j->thread) != 0 ||
            !safe_point_is(&j->points, &j->thread, each->tid == j->pid))
            code = err_set(err, -EAGAIN,
                           "process %d was stopped while a thread was in its allocator or loader; "
                           "let it continue (kill -CONT %d) and attach again",
                           (int)j->pid, (int)j->pid);
    }
    if (!code && !j->held.threads.count)
        code = err_set(err, -ESRCH, "process %d has ended", (int)j->pid);
    if (code)
        stop_threads_end(&j->held);
    return code;
}

static bool is_halted(pid_t pid)
{
    struct proc_state state;
    return proc_read_state(pid, &state) && state.state == 'T';
}

/* --- loading the library ---------------------------------------------------------------------- */

static int copy_library(int from, int to, struct err *err)
{
    char part[65536];
    for (ssize_t n; (n = read(from, part, sizeof part)) != 0;) {
        if (n < 0 || write(to, part, (size_t)n) != n)
            return err_set(err, -errno, "the library could not be copied into the program: %s",
                           strerror(errno));
    }
    return 0;
}

/* Makes the program create a memory file and copies the library into it. Returns the program's
 * descriptor of that file, or a negative errno. */
static int give_library(struct injection *j, struct err *err)
{
    static const char name[] = WIRE_ATTACH_NAME;
    if (pwrite(j->memory, name, sizeof name, (off_t)j->scratch.data) != (ssize_t)sizeof name)
        return err_set(err, -EFAULT, "the memory of process %d cannot be written to", (int)j->pid);
    long fd =
        remote_syscall(&j->thread, SYS_memfd_create, (uint64_t[6]){j->scratch.data, MFD_CLOEXEC});
    if (fd < 0)
        return err_set(err, (int)fd, "process %d cannot create a memory file: %s%s", (int)j->pid,
                       strerror((int)-fd),
                       fd == -EMFILE ? "; raise its limit on descriptors (prlimit --nofile)" : "");
    char *path = xasprintf("/proc/%d/fd/%ld", (int)j->pid, fd);
    int to = open(path, O_WRONLY | O_CLOEXEC), from = open(j->library, O_RDONLY | O_CLOEXEC);
    int code = to < 0     ? err_set(err, -errno, "cannot open %s: %s", path, strerror(errno))
               : from < 0 ? err_set(err, -errno, "cannot open %s: %s", j->library, strerror(errno))
                          : copy_library(from, to, err);
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    free(path);
    if (code) {
        remote_syscall(&j->thread, SYS_close, (uint64_t[6]){(uint64_t)fd});
        return code;
    }
    return (int)fd;
}

static bool read_work(struct injection *j)
{
    return remote_memory_read(&j->modules.memory, j->scratch.work, &j->work, sizeof j->work) ==
           (ssize_t)sizeof j->work;
}

/* Does the thread still exist? `tid` is its number in the program's own PID namespace. */
static bool thread_is_there(pid_t pid, uint32_t tid)
{
    bool found = false;
    DIR *all = proc_open_threads(pid);
    for (pid_t each; !found && (each = proc_next_number(all));) {
        char name[48], text[4096];
        snprintf(name, sizeof name, "task/%d/status", (int)each);
        const char *line =
            proc_read_text(pid, name, text, sizeof text) ? strstr(text, "\nNSpid:") : NULL;
        if (!line)
            continue;
        const char *end = strchr(line + 1, '\n'), *last = end ? end : line + strlen(line);
        while (last > line && last[-1] != '\t' && last[-1] != ' ')
            last--;
        found = strtoul(last, NULL, 10) == tid;
    }
    if (all)
        closedir(all);
    return found;
}

/* Loads the library in a new thread of the program, while all its other threads run. */
static int load_in_new_thread(struct injection *j, const struct remote_place *where,
                              struct err *err)
{
    uint64_t result = 0;
    struct patience patience = {0}, leaving = {0};
    int code = remote_function_call(
        &j->thread, where, j->pthread_create,
        (uint64_t[4]){j->scratch.data, 0, j->scratch.code, j->scratch.work}, CALL_NS, &result);
    remote_release(&j->thread);
    if (code)
        /* If a thread was started nevertheless, it uses the scratch memory: leave it mapped. */
        j->scratch.start = 0;
    if (code || (int)result)
        return err_set(err, code ? code : -(int)result,
                       "process %d could not start a thread to load the library: %s", (int)j->pid,
                       strerror(code ? -code : (int)result));
    while (read_work(j) && j->work.done == ATTACH_NOT_DONE) {
        if (patience_waited(&patience, monotonic_ns()) > LOAD_NS) {
            j->scratch.start = 0; /* the thread still uses it: leave it mapped */
            return err_set(err, -ETIMEDOUT,
                           "loading the library into process %d took more than a minute; it may be "
                           "waiting for a lock of the loader, and ends when it gets it",
                           (int)j->pid);
        }
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    while (thread_is_there(j->pid, j->work.tid)) {
        if (patience_waited(&leaving, monotonic_ns()) > LEAVE_NS) {
            j->scratch.start = 0; /* the thread may still use it */
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return 0;
}

static int load_by_thread(struct injection *j, const struct remote_place *where, struct err *err)
{
    uint64_t result = 0;
    int code = remote_function_call(&j->thread, where, j->scratch.code,
                                    (uint64_t[4]){j->scratch.work}, LOAD_NS, &result);
    bool read = read_work(j);
    remote_release(&j->thread);
    if (code || !read)
        return err_set(err, code ? code : -ESRCH, "loading the library into process %d failed: %s",
                       (int)j->pid, strerror(code ? -code : ESRCH));
    return 0;
}

static int explain_failure(const struct injection *j, struct err *err)
{
    const char *error = j->work.error;
    if (j->work.done == ATTACH_NOT_LOADED)
        return err_set(err, -ENOEXEC, "process %d could not load the library: %.255s%s",
                       (int)j->pid, *error ? error : "its C library did not say why",
                       strstr(error, "static TLS")
                           ? "; start it with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096"
                           : "");
    switch ((enum wire_attach_failure)j->work.result) {
    case WIRE_ATTACH_BUSY:
        return err_set(err, -EBUSY, "process %d is already being recorded", (int)j->pid);
    case WIRE_ATTACH_COLLECTOR:
        return err_set(err, -ECONNREFUSED,
                       "process %d could not reach tidemark; is it in another network namespace "
                       "(a container)? run tidemark inside",
                       (int)j->pid);
    case WIRE_ATTACH_NO_MALLOC:
    case WIRE_ATTACH_CODE:
        return err_set(err, -ENOTSUP,
                       "the allocation functions of process %d cannot be replaced while it runs; "
                       "start it with 'tidemark run'",
                       (int)j->pid);
    }
    return err_set(err, -EIO, "process %d could not begin to record", (int)j->pid);
}

static int load(struct injection *j, struct err *err)
{
    struct proc_status status;
    struct attach_work *w = &j->work;
    proc_read_status(j->pid, &status);
    bool alone = status.threads == 1 || j->halted;
    if (!alone && !j->pthread_create) {
        scratch_unmap(&j->scratch, &j->thread);
        remote_release(&j->thread);
        return err_set(err, -ENOTSUP, "process %d has threads, but no pthread_create", j->pid);
    }
    int fd = w->function ? -1 : give_library(j, err);
    if (fd < -1) {
        scratch_unmap(&j->scratch, &j->thread);
        remote_release(&j->thread);
        return fd;
    }
    j->library_fd = fd;
    w->self = alone ? 0 : find_in_libc(j, "pthread_self");
    w->detach = alone ? 0 : find_in_libc(j, "pthread_detach");
    snprintf(w->path, sizeof w->path, "/proc/self/fd/%d", fd);
    snprintf(w->name, sizeof w->name, "%s", WIRE_ATTACH_FUNCTION);
    w->session = *j->session;
    w->session.library_fd = fd;
    size_t code_size = (size_t)(attach_code_end - attach_code);
    bool written =
        pwrite(j->memory, attach_code, code_size, (off_t)j->scratch.code) == (ssize_t)code_size &&
        pwrite(j->memory, w, sizeof *w, (off_t)j->scratch.work) == (ssize_t)sizeof *w;
    if (!written) {
        remote_release(&j->thread);
        return err_set(err, -EFAULT, "the memory of process %d cannot be written to", (int)j->pid);
    }
    struct remote_place where = {j->scratch.stack_end, j->scratch.back};
    int code = (alone ? load_by_thread : load_in_new_thread)(j, &where, err);
    if (code)
        return code;
    return w->done == ATTACH_CALLED && w->result == 0 ? 0 : explain_failure(j, err);
}

/* --- a session whose collector was killed ----------------------------------------------------- */

static bool answers(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = strnlen(name, sizeof to.sun_path - 1);
    memcpy(to.sun_path + 1, name, size);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool connected =
        fd >= 0 && connect(fd, (struct sockaddr *)&to,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0;
    if (fd >= 0)
        close(fd);
    return connected;
}

static int end_former(pid_t pid, const struct wire_attached *there, struct err *err)
{
    bool found;
    if (there->live && answers(there->session.socket))
        return err_set(err, -EBUSY,
                       "process %d is already being recorded; 'tidemark detach %d' ends that",
                       (int)pid, (int)pid);
    return inject_restore(pid, &found, err);
}

/* --- attaching, from start to end ------------------------------------------------------------- */

/* Unmaps the scratch memory, unless remote_patches_write has done so already. */
static void drop_scratch(struct injection *j)
{
    DIR *all = j->scratch.start ? proc_open_threads(j->pid) : NULL;
    for (pid_t tid; j->scratch.start && (tid = proc_next_number(all));) {
        if (remote_stop(tid, &j->thread))
            continue;
        j->thread.way = j->way;
        if (has_executed(j)) { /* the memory is gone: another program may use these addresses */
            remote_release(&j->thread);
            break;
        }
        if (j->thread.signal || !safe_stack_is(&j->modules, &j->thread, tid == j->pid)) {
            remote_release(&j->thread);
            continue;
        }
        if (j->work.done == ATTACH_NOT_LOADED && j->library_fd >= 0)
            remote_syscall(&j->thread, SYS_close, (uint64_t[6]){(uint64_t)j->library_fd});
        j->library_fd = -1;
        scratch_unmap(&j->scratch, &j->thread);
        remote_release(&j->thread);
    }
    if (all)
        closedir(all);
}

int inject_attach(pid_t pid, const char *library, const struct wire_attach *session,
                  bool count_before, struct injection_result *out, struct err *err)
{
    static struct injection j; /* large; used once per process */
    struct wire_attached there;
    j = (struct injection){.pid = pid, .library = library, .session = session, .library_fd = -1};
    *out = (struct injection_result){0};
    if (remote_modules_open(&j.modules, pid))
        return executed_another(&j, err);
    j.memory = memory_open_for_writing(pid);
    int code = safe_points_find(&j.points, &j.modules, err);
    if (!code && j.memory < 0)
        code = err_set(err, -EPERM, "the memory of process %d cannot be written to: %s", (int)pid,
                       strerror(-j.memory));
    if (!code)
        code = find_functions(&j, err);
    if (!code)
        code = attached_library_function(&j.modules, &j.work.function, &there, err);
    if (!code && (there.live || there.patched))
        code = end_former(pid, &there, err);
    if (code)
        goto out;
    j.halted = is_halted(pid);
    if ((code = (j.halted ? find_in_halted : find_thread)(&j, err)))
        goto out;
    code = scratch_map(&j.scratch, &j.thread, err);
    if (code)
        remote_release(&j.thread);
    else
        code = load(&j, err);
    stop_threads_end(&j.held);
    if (!code) {
        code = remote_patches_write(pid, &j.scratch, &j.way, count_before, out, err);
        if (code) {
            bool found;
            struct err ignored;
            inject_restore(pid, &found, &ignored);
        }
    }
    drop_scratch(&j);
    out->tries = j.tries;
out:
    if (code && j.memory >= 0 && j.way.system_call && has_executed(&j))
        code = executed_another(&j, err); /* whatever failed because of that */
    if (j.memory >= 0)
        close(j.memory);
    safe_points_release(&j.points);
    remote_modules_release(&j.modules);
    return code;
}
