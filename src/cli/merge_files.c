#include "cli/merge_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/session/output.h"
#include "model/merge.h"
#include "store/merge.h"
#include "store/reader.h"
#include "store/writer.h"

#define JOBS_MOST     64u
#define WORTH_A_JOB   16 /* files: fewer are not divided among processes */
#define RECORDING_END ".tide"

/* --- names ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_recording_name(const char *name)
{
    size_t size = strlen(name), end = strlen(RECORDING_END);
    return size > end && strcmp(name + size - end, RECORDING_END) == 0;
}

int merge_names_add(struct merge_names *n, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        *vec_push(n) = xstrdup(path);
        return 0;
    }
    DIR *dir = opendir(path);
    if (!dir)
        return err_set(err, -errno, "cannot read the folder %s: %s", path, strerror(errno));
    size_t first = n->count;
    for (const struct dirent *e; (e = readdir(dir));)
        if (is_recording_name(e->d_name))
            *vec_push(n) = xasprintf("%s/%s", path, e->d_name);
    closedir(dir);
    if (n->count > first)
        qsort(n->items + first, n->count - first, sizeof *n->items, by_name);
    return n->count > first ? 0
                            : err_set(err, -ENOENT, "there is no file *%s in the folder %s",
                                      RECORDING_END, path);
}

void merge_names_release(struct merge_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->items[i]);
    vec_release(n);
}

/* --- one process ------------------------------------------------------------------------------ */

static int add_file(struct merge_job *j, struct merging *m, const char *file, struct err *err)
{
    struct recording *r = NULL;
    struct err why = {{0}};
    int code = recording_read(file, &r, &why);
    if (!code)
        code = merging_add(m, r, file, &why);
    recording_free(r);
    if (code == -EEXIST)
        return err_set(err, code, "%s", why.text);
    if (code) {
        char *note = xasprintf("not merged: %s", why.text);
        fprintf(stderr, "tidemark %s: %s\n", j->command, note);
        merging_note(m, note);
        free(note);
        j->skipped++;
        return 0;
    }
    j->merged++;
    return 0;
}

static int write_merged(struct merge_job *j, struct merging *m, const char *output, struct err *err)
{
    struct recording *r = merging_finish(m);
    struct strbuf bytes = {0};
    if (!r)
        return err_set(err, -ENOENT, "none of the files could be merged; %s is not written",
                       j->output);
    recording_write(&bytes, r);
    j->inputs = r->profiles.items[0].merge->inputs.count;
    j->bytes = bytes.size;
    recording_free(r);
    int code = output_write_file(output, &bytes);
    strbuf_release(&bytes);
    return code ? err_set(err, code, "cannot write %s: %s", output, strerror(-code)) : 0;
}

static int merge_slice(struct merge_job *j, char **names, size_t count, const char *output,
                       struct err *err)
{
    struct merging *m = merging_new();
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = add_file(j, m, names[i], err);
    if (!code)
        code = write_merged(j, m, output, err);
    merging_free(m);
    return code;
}

/* --- several processes ------------------------------------------------------------------------ */

struct slice {
    pid_t pid;
    char *output;
    size_t count;
    int report; /* a pipe: how many files it left out */
};

static void run_slice(struct merge_job *j, char **names, const struct slice *s, int report)
{
    struct err err = {{0}};
    int code = merge_slice(j, names, s->count, s->output, &err);
    if (code && j->merged)
        fprintf(stderr, "tidemark %s: %s\n", j->command, err.text);
    if (write(report, &j->skipped, sizeof j->skipped) != sizeof j->skipped)
        code = -EIO;
    fflush(stderr);
    _exit(!code ? 0 : j->merged ? 1 : 2);
}

static int start_slice(struct merge_job *j, char **names, struct slice *s, struct err *err)
{
    int ends[2];
    if (pipe(ends))
        return err_set(err, -errno, "cannot start a process: %s", strerror(errno));
    s->report = ends[0];
    s->pid = fork();
    if (s->pid == 0) {
        close(ends[0]);
        run_slice(j, names, s, ends[1]);
    }
    close(ends[1]);
    return s->pid < 0 ? err_set(err, -errno, "cannot start a process: %s", strerror(errno)) : 0;
}

/* Merges the results of the slices. */
static int join_slices(struct merge_job *j, struct slice *slices, size_t count, struct err *err)
{
    struct merge_names parts = {0};
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        struct slice *s = &slices[i];
        int status = 0;
        size_t skipped = 0;
        if (s->pid <= 0)
            continue;
        if (read(s->report, &skipped, sizeof skipped) == (ssize_t)sizeof skipped)
            j->skipped += skipped;
        while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (status == 0)
            *vec_push(&parts) = xstrdup(s->output);
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 2) /* 2: none of its files was good */
            code = err_set(err, -EIO, "a part of the files could not be merged");
    }
    size_t skipped = j->skipped;
    if (!code)
        code = merge_slice(j, parts.items, parts.count, j->output, err);
    j->skipped = skipped;
    merge_names_release(&parts);
    return code;
}

static unsigned jobs_of(const struct merge_job *j, size_t count)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = j->jobs ? j->jobs : processors > 0 ? (size_t)processors : 1;
    size_t most = j->jobs ? count : count / WORTH_A_JOB;
    jobs = jobs > JOBS_MOST ? JOBS_MOST : jobs;
    return (unsigned)(jobs > most ? most : jobs);
}

int merge_files(struct merge_job *j, const struct merge_names *names, struct err *err)
{
    unsigned jobs = jobs_of(j, names->count);
    if (jobs < 2)
        return merge_slice(j, names->items, names->count, j->output, err);
    struct slice *slices = xcalloc(jobs, sizeof *slices);
    size_t first = 0;
    int code = 0;
    for (unsigned i = 0; i < jobs && !code; i++) {
        size_t end = names->count * (i + 1) / jobs;
        slices[i] = (struct slice){.count = end - first,
                                   .output = xasprintf("%s.part%u.%d", j->output, i, getpid())};
        code = start_slice(j, names->items + first, &slices[i], err);
        first = end;
    }
    struct err later = {{0}};
    int joined = join_slices(j, slices, jobs, code ? &later : err);
    j->merged = names->count - j->skipped;
    for (unsigned i = 0; i < jobs; i++) {
        if (slices[i].output)
            unlink(slices[i].output);
        if (slices[i].pid > 0)
            close(slices[i].report);
        free(slices[i].output);
    }
    free(slices);
    return code ? code : joined;
}
