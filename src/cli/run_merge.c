#include "cli/run_merge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/merge_files.h"
#include "store/file.h"

#define SUFFIX ".tide"

char *run_merge_file_of(const char *file, const char *host)
{
    size_t size = strlen(file), end = strlen(SUFFIX);
    if (size > end && strcmp(file + size - end, SUFFIX) == 0)
        size -= end;
    return xasprintf("%.*s.%s%s", (int)size, file, host, SUFFIX);
}

static char *host_name(void)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) || !*host)
        return xstrdup("localhost");
    for (char *c = host; *c; c++)
        *c = *c == '/' ? '_' : *c;
    return xstrdup(host);
}

int run_merge_init(struct run_merge *m, const char *file, struct err *err)
{
    char *host = host_name();
    struct stat st;
    *m = (struct run_merge){.rank = rank_of_environment()};
    m->whole = !m->rank.known || (m->rank.ranks && m->rank.local == m->rank.ranks);
    m->file = m->whole ? xstrdup(file) : run_merge_file_of(file, host);
    m->folder = xasprintf("%s.parts.%s", file, host);
    m->running = xasprintf("%s/%d.running", m->folder, (int)getpid());
    m->part = xasprintf("%s/%d%s", m->folder, (int)getpid(), SUFFIX);
    free(host);
    if (stat(m->file, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, -EEXIST,
                       "cannot merge into %s: it is %s; choose another name with --merge", m->file,
                       S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
    if (mkdir(m->folder, 0700) && errno != EEXIST)
        return err_set(err, -errno, "cannot make the folder %s: %s", m->folder, strerror(errno));
    return 0;
}

void run_merge_release(struct run_merge *m)
{
    free(m->file);
    free(m->folder);
    free(m->running);
    free(m->part);
    *m = (struct run_merge){0};
}

/* --- the lock, which also says to which job the file belongs and how many ranks are in it ----- */

struct lock {
    char *name;
    int fd;
    bool same_job;
    unsigned merged;
};

static int lock_take(struct lock *l, const struct run_merge *m, struct err *err)
{
    char text[1024] = "", *job = rank_job();
    *l = (struct lock){.name = xasprintf("%s/lock", m->folder)};
    l->fd = open(l->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (l->fd < 0 && errno == ENOENT) { /* the folder is gone: everything was merged */
        free(job);
        return 0;
    }
    if (l->fd < 0 || flock(l->fd, LOCK_EX)) {
        int code = -errno;
        free(job);
        return err_set(err, code, "cannot lock %s: %s", l->name, strerror(-code));
    }
    ssize_t size = pread(l->fd, text, sizeof text - 1, 0);
    char *end = size > 0 ? strchr(text, '\n') : NULL;
    if (end) {
        *end = '\0';
        l->same_job = strcmp(text, job) == 0;
        l->merged = l->same_job ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
    }
    free(job);
    return 0;
}

static void lock_note(const struct lock *l)
{
    char *job = rank_job(), *text = xasprintf("%s\n%u\n", job, l->merged);
    if (ftruncate(l->fd, 0) || pwrite(l->fd, text, strlen(text), 0) < 0) {
        /* The next rank takes the file for that of another job, and begins it anew: nothing to do
         * here. */
    }
    free(text);
    free(job);
}

static void lock_release(struct lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    free(l->name);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* A recording that must stay where it is takes part by a link. */
static int put_part(const struct run_merge *m, const char *recorded, struct err *err)
{
    if (strcmp(recorded, m->running) == 0)
        return rename(m->running, m->part)
                   ? err_set(err, -errno, "cannot rename %s: %s", m->running, strerror(errno))
                   : 0;
    char path[PATH_MAX];
    unlink(m->part);
    if (!realpath(recorded, path) || symlink(path, m->part))
        return err_set(err, -errno, "cannot link %s to %s: %s", m->part, recorded, strerror(errno));
    return 0;
}

static int merge_parts(struct run_merge *m, struct lock *l, const struct merge_names *parts,
                       struct err *err)
{
    struct merge_names names = {0};
    if (l->same_job && recording_file_is(m->file))
        *vec_push(&names) = xstrdup(m->file);
    for (size_t i = 0; i < parts->count; i++)
        *vec_push(&names) = xstrdup(parts->items[i]);
    struct merge_job job = {.command = "run --merge", .output = m->file, .jobs = 1};
    int code = merge_files(&job, &names, err);
    merge_names_release(&names);
    if (code)
        return code;
    for (size_t i = 0; i < parts->count; i++)
        unlink(parts->items[i]);
    l->same_job = true;
    l->merged += (unsigned)parts->count;
    lock_note(l);
    return 0;
}

static int merge_all(struct run_merge *m, struct err *err)
{
    struct lock l = {.fd = -1};
    struct merge_names parts = {0};
    int code = lock_take(&l, m, err);
    /* If there are none, another rank has merged ours too. */
    if (!code && l.fd >= 0 && merge_names_add(&parts, m->folder, NULL) == 0 &&
        access(m->folder, F_OK) == 0)
        code = merge_parts(m, &l, &parts, err);
    unsigned all = m->rank.local ? m->rank.local : m->rank.known ? 0 : 1;
    if (!code && l.fd >= 0 && (l.merged >= all || !l.same_job) && all) {
        unlink(l.name); /* nobody needs it any more */
        rmdir(m->folder);
    }
    merge_names_release(&parts);
    lock_release(&l);
    return code;
}

int run_merge_finish(struct run_merge *m, const char *recorded, struct err *err)
{
    int status = 0, code = put_part(m, recorded, err);
    if (code)
        return code;
    /* When one rank fails, mpirun kills the others, by process group. A process in a session of its
     * own survives and merges what they have recorded. */
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return merge_all(m, err);
    if (child == 0) {
        struct err why = {{0}};
        setsid();
        signal(SIGPIPE, SIG_IGN);
        code = merge_all(m, &why);
        if (code)
            fprintf(stderr, "tidemark run: %s\n", why.text);
        fflush(stderr);
        _exit(code != 0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status ? err_set(err, -EIO, "the recordings are left in %s", m->folder) : 0;
}
