/*
 * proc: what the kernel says of a process in /proc, read and parsed.
 *
 * The parsers accept any text; false: it is not what was expected, and `out` is as it was. No
 * state.
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

/* Of /proc/PID/stat. What a short text does not have is 0. */
struct proc_state {
    char name[16];
    char state; /* as ps shows it: 'Z' is a zombie */
    uint32_t ppid;
    uint64_t flags; /* PROC_KERNEL_THREAD and others */
    uint64_t minor_faults, major_faults;
    uint64_t user_ticks, system_ticks; /* of CPU time */
    uint64_t threads;
    uint64_t start_ticks;     /* after the machine's start; 0: not known */
    uint64_t stack_start;     /* address, which each exec chooses and fork keeps; 0: not known */
    uint64_t environment_end; /* address; 0 in the middle of exec too */
    int wait_status;          /* of a zombie, to those who may know */
};
#define PROC_KERNEL_THREAD 0x200000u

/* Of /proc/PID/status. */
struct proc_status {
    unsigned threads;
    unsigned tracer;    /* its pid; 0: nobody traces it */
    unsigned filters;   /* of seccomp */
    unsigned uid, euid; /* real and effective */
    unsigned gid, egid;
};

bool proc_parse_statm(const char *text, struct proc_memory *out);
bool proc_parse_stat(const char *text, struct proc_state *out);

/* The beginning of /proc/PID/NAME as a string; false: there is none, or nothing in it. */
bool proc_read_text(pid_t pid, const char *name, char *out, size_t size);
/* All of it, appended; 0, or a negative errno: -ESRCH also when there is nothing in it. */
int proc_read_all(pid_t pid, const char *name, struct strbuf *out);
/*
 * The arguments of a process, each with its NUL; as proc_read_all. A program that writes its title
 * over them leaves the rest of the room empty: empty arguments behind the last are not told, but
 * for a single one, which somebody may have meant.
 */
int proc_read_command(pid_t pid, struct strbuf *out);
/* How many bytes of such a text are arguments. */
size_t proc_command_size(const char *text, size_t size);
/* /proc/PID/stat, also of a process that has ended and is not reaped; false: there is none. */
bool proc_read_state(pid_t pid, struct proc_state *out);
/* The same of one thread. */
bool proc_read_thread_state(pid_t pid, pid_t tid, struct proc_state *out);
/* All zero, and false: it cannot be read. */
bool proc_read_status(pid_t pid, struct proc_status *out);
/* The file that it runs; false, an empty path and errno: none, or we may not know. */
bool proc_read_exe(pid_t pid, char *out, size_t size);
/*
 * How many seccomp filters a process runs under; 0 where that cannot be known. A filter may end a
 * process for a system call. Those that the collector is under too are harmless, as it makes the
 * same calls; a process with more of them is not asked to make any.
 */
unsigned proc_filters(pid_t pid);

/* The folder of a process's threads, for proc_next_number and closedir; NULL and errno: none. */
DIR *proc_open_threads(pid_t pid);
/* The next number in a folder of /proc; 0: there are no more, or the folder is NULL. */
pid_t proc_next_number(DIR *folder);
/* Calls `each` for every child of all threads; how many threads there are. */
unsigned proc_each_child(pid_t pid, void (*each)(void *context, pid_t child), void *context);

#endif
