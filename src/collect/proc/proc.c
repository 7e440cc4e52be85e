#include "collect/proc/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/page.h"

bool proc_parse_statm(const char *text, struct proc_memory *out)
{
    unsigned long long pages, resident, shared;
    if (sscanf(text, "%llu %llu %llu", &pages, &resident, &shared) != 3 || pages == 0)
        return false; /* an empty file: the process is a zombie */
    *out = (struct proc_memory){.vm_bytes = pages * page_bytes(),
                                .rss_bytes = resident * page_bytes(),
                                .anon_bytes =
                                    resident > shared ? (resident - shared) * page_bytes() : 0};
    return true;
}

/* Field numbers are those of proc(5). The name may contain anything. */
bool proc_parse_stat(const char *text, struct proc_state *out)
{
    enum { STATE = 3, MAJOR_FAULTS = 12, CODE_START = 26, STACK_START = 28, FIELDS = 53 };
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t field[FIELDS] = {0};
    unsigned n = STATE + 1;
    if (!open || !close || close < open || close[1] != ' ' || !close[2])
        return false;
    char *at = (char *)close + STATE;
    for (char *end; n < FIELDS; n++, at = end) {
        field[n] = strtoull(at, &end, 10);
        if (end == at)
            break;
    }
    if (n <= MAJOR_FAULTS)
        return false;
    /* The kernel moves it during exec: it is final when the place of the code is known, which is
     * written before, and shown before. */
    uint64_t stack_start = field[CODE_START] ? field[STACK_START] : 0;
    *out = (struct proc_state){.state = close[2],
                               .ppid = (uint32_t)field[4],
                               .group = (uint32_t)field[5],
                               .flags = field[9],
                               .minor_faults = field[10],
                               .major_faults = field[MAJOR_FAULTS],
                               .user_ticks = field[14],
                               .system_ticks = field[15],
                               .threads = field[20],
                               .start_ticks = field[22],
                               .stack_start = stack_start,
                               .environment_end = field[51],
                               .wait_status = (int)field[52]};
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

bool proc_is_kernel_worker(const struct proc_state *s)
{
    /* Older kernels give these bits other meanings, so the names that the kernel gives count
     * too. */
    return s->flags & 0x4010 && (text_begins(s->name, "iou-") || text_begins(s->name, "vhost-"));
}

static int open_file(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool proc_read_text(pid_t pid, const char *name, char *out, size_t size)
{
    int fd = open_file(pid, name);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

int proc_read_all(pid_t pid, const char *name, struct strbuf *out)
{
    int fd = open_file(pid, name), code = 0;
    strbuf_puts(out, "");
    if (fd < 0)
        return -errno;
    size_t before = out->size;
    for (ssize_t n = 1; n > 0;) {
        strbuf_reserve(out, 1 << 16);
        n = read(fd, out->data + out->size, out->capacity - out->size - 1);
        code = n < 0 ? -errno : 0;
        out->size += n > 0 ? (size_t)n : 0;
    }
    out->data[out->size] = '\0';
    close(fd);
    return code ? code : out->size > before ? 0 : -ESRCH;
}

size_t proc_command_size(const char *text, size_t size)
{
    size_t used = size;
    while (used && !text[used - 1])
        used--;
    /* Keeps the last argument's NUL, and one empty argument. A text without any NUL is one
     * argument. */
    return size - used > 2 ? used + 1 : size;
}

int proc_read_command(pid_t pid, struct strbuf *out)
{
    size_t before = out->size;
    int code = proc_read_all(pid, "cmdline", out);
    out->size = before + proc_command_size(out->data + before, out->size - before);
    return code;
}

static bool read_stat(pid_t pid, const char *name, struct proc_state *out)
{
    char text[1024];
    return proc_read_text(pid, name, text, sizeof text) && proc_parse_stat(text, out);
}

bool proc_read_state(pid_t pid, struct proc_state *out)
{
    return read_stat(pid, "stat", out);
}

bool proc_read_thread_state(pid_t pid, pid_t tid, struct proc_state *out)
{
    char name[32];
    snprintf(name, sizeof name, "task/%d/stat", tid);
    return read_stat(pid, name, out);
}

/* Reads the first numbers of the line that begins with `label`; missing ones stay 0. */
static void read_line(const char *status, const char *label, unsigned *first, unsigned *second)
{
    const char *at = strstr(status, label);
    if (!at)
        return;
    char *end;
    *first = (unsigned)strtoul(at + strlen(label), &end, 10);
    if (second)
        *second = (unsigned)strtoul(end, NULL, 10);
}

bool proc_read_status(pid_t pid, struct proc_status *out)
{
    struct strbuf text = {0};
    *out = (struct proc_status){0};
    bool known = proc_read_all(pid, "status", &text) == 0;
    read_line(text.data, "\nThreads:", &out->threads, NULL);
    read_line(text.data, "\nTracerPid:", &out->tracer, NULL);
    read_line(text.data, "\nSeccomp_filters:", &out->filters, NULL);
    read_line(text.data, "\nUid:", &out->uid, &out->euid);
    read_line(text.data, "\nGid:", &out->gid, &out->egid);
    strbuf_release(&text);
    return known;
}

uint32_t proc_thread_inside(pid_t pid, pid_t tid)
{
    struct strbuf text = {0};
    char name[48];
    snprintf(name, sizeof name, "task/%d/status", (int)tid);
    uint32_t last = 0;
    if (proc_read_all(pid, name, &text) == 0) {
        const char *line = strstr(text.data, "\nNSpid:");
        char *rest = line ? text.data + (line + 1 - text.data) : NULL;
        char *words = rest ? strtok_r(rest, "\n", &rest) : NULL;
        /* One number for each namespace, down to its own. */
        for (char *word; words && (word = strtok_r(words, "\t ", &words));)
            last = (uint32_t)strtoul(word, NULL, 10);
    }
    strbuf_release(&text);
    return last;
}

unsigned proc_filters(pid_t pid)
{
    struct proc_status status;
    proc_read_status(pid, &status);
    return status.filters;
}

bool proc_read_exe(pid_t pid, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t n = readlink(path, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

unsigned proc_count_threads(pid_t pid)
{
    struct stat tasks;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    return stat(path, &tasks) == 0 && tasks.st_nlink > 2 ? (unsigned)tasks.st_nlink - 2 : 0;
}

DIR *proc_open_threads(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    return opendir(path);
}

pid_t proc_next_number(DIR *folder)
{
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (isdigit((unsigned char)e->d_name[0]))
            return (pid_t)strtol(e->d_name, NULL, 10);
    return 0;
}

unsigned proc_each_child(pid_t pid, void (*each)(void *context, pid_t child), void *context)
{
    unsigned count = 0;
    DIR *threads = proc_open_threads(pid);
    /* The kernel lists a child under the thread that forked it. */
    for (pid_t tid; (tid = proc_next_number(threads)); count++) {
        struct strbuf text = {0};
        char name[48];
        snprintf(name, sizeof name, "task/%d/children", (int)tid);
        char *rest = proc_read_all(pid, name, &text) ? NULL : text.data;
        for (char *word; rest && (word = strtok_r(rest, " \n", &rest));)
            each(context, (pid_t)strtol(word, NULL, 10));
        strbuf_release(&text);
    }
    if (threads)
        closedir(threads);
    return count;
}
