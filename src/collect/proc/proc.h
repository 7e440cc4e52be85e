/*
 * proc: reads and parses what the kernel says about a process in /proc. The parsers accept any
 * text. If they return false, the text is not what was expected, and `out` is unchanged. No state.
 */
#ifndef TIDE_COLLECT_PROC_PROC_H
#define TIDE_COLLECT_PROC_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"

struct proc_memory {
    uint64_t vm_bytes, rss_bytes, anon_bytes;
};

/* From /proc/PID/stat. Fields that the text lacks are 0. */
struct proc_state {
    char name[16];
    char state;           /* as ps shows it: 'Z' is a zombie */
    uint32_t ppid, group; /* its parent and its process group */
    uint64_t flags;       /* PROC_KERNEL_THREAD and others */
    uint64_t minor_faults, major_faults;
    uint64_t user_ticks, system_ticks; /* clock ticks of CPU time */
    uint64_t threads;
    uint64_t start_ticks; /* after boot; 0: not known */
    /* An address, which each exec chooses and fork keeps; 0: not known, also in the middle of
     * exec. */
    uint64_t stack_start;
    uint64_t environment_end; /* an address; 0 also in the middle of exec */
    int wait_status;          /* how a zombie ended, if we may read it */
};
#define PROC_KERNEL_THREAD 0x200000u

/* From /proc/PID/status. */
struct proc_status {
    unsigned threads;
    unsigned tracer;    /* PID of its tracer; 0: none */
    unsigned filters;   /* number of seccomp filters */
    unsigned uid, euid; /* real and effective */
    unsigned gid, egid;
};

bool proc_parse_statm(const char *text, struct proc_memory *out);
bool proc_parse_stat(const char *text, struct proc_state *out);
/* Is it a thread of the process that the kernel made for io_uring or vhost? Such a thread never
 * executes code of the program. */
bool proc_is_kernel_worker(const struct proc_state *s);

/* Reads the beginning of /proc/PID/NAME as a string; false: there is no such file, or it is
 * empty. */
bool proc_read_text(pid_t pid, const char *name, char *out, size_t size);
/* Appends all of /proc/PID/NAME to `out`. Returns 0, or a negative errno: -ESRCH also if the file
 * is empty. */
int proc_read_all(pid_t pid, const char *name, struct strbuf *out);
/*
 * Reads the arguments of a process, each with its NUL. Errors as in proc_read_all. A program that
 * writes a title over its arguments leaves the rest of the space empty. So empty arguments at the
 * end are left out, except a single one, which may be meant.
 */
int proc_read_command(pid_t pid, struct strbuf *out);
/* The number of bytes of a command line that are arguments, without the empty rest. */
size_t proc_command_size(const char *text, size_t size);
/* Reads /proc/PID/stat, also of a process that has ended and is not reaped; false: there is
 * none. */
bool proc_read_state(pid_t pid, struct proc_state *out);
/* Reads /proc/PID/task/TID/stat of one thread; false: there is none. */
bool proc_read_thread_state(pid_t pid, pid_t tid, struct proc_state *out);
/* Reads /proc/PID/status; false: the file cannot be read, and all fields are 0. */
bool proc_read_status(pid_t pid, struct proc_status *out);
/* Reads the path of the executable. false, an empty path and errno: there is none, or we may not
 * read it. */
bool proc_read_exe(pid_t pid, char *out, size_t size);
/*
 * How many seccomp filters a process runs under; 0 if that is unknown. A filter may kill a process
 * for making a system call. Filters that also apply to the collector are harmless, because the
 * collector makes the same calls. A process that has more filters than the collector is not asked
 * to make system calls.
 */
unsigned proc_filters(pid_t pid);

/* The number that a thread has in its own pid namespace; 0: not known. */
uint32_t proc_thread_inside(pid_t pid, pid_t tid);

/* How many threads a process has; 0: not known. The cheapest way to learn it. */
unsigned proc_count_threads(pid_t pid);
/* Opens the folder of a process's threads, for proc_next_number and closedir. NULL and errno:
 * error. */
DIR *proc_open_threads(pid_t pid);
/* The next number in a folder of /proc; 0: there are no more, or the folder is NULL. */
pid_t proc_next_number(DIR *folder);
/* Calls `each` for every child of all threads. Returns the number of threads. */
unsigned proc_each_child(pid_t pid, void (*each)(void *context, pid_t child), void *context);

#endif
