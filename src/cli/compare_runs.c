#include "cli/compare_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/record_options.h"
#include "collect/session/session.h"

static volatile sig_atomic_t asked_to_stop;

static void note_signal(int signal)
{
    asked_to_stop = signal;
}

int compare_runs_init(struct compare_runs *r, const char *folder, struct err *err)
{
    static const char *const names[] = {"alone.tide", "together.tide"};
    const char *temporary = getenv("TMPDIR");
    if (folder) {
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            return err_set(err, -errno, "cannot make the folder %s: %s", folder, strerror(errno));
        r->folder = xstrdup(folder);
    } else {
        r->folder =
            xasprintf("%s/tidemark-compare-XXXXXX", temporary && *temporary ? temporary : "/tmp");
        if (!mkdtemp(r->folder))
            return err_set(err, -errno, "cannot make a folder in %s: %s",
                           temporary && *temporary ? temporary : "/tmp", strerror(errno));
        r->own_folder = true;
    }
    for (int i = 0; i < 2; i++)
        r->files[i] = xasprintf("%s/%s", r->folder, names[i]);
    return 0;
}

struct phase {
    const char *title;
    bool shown;
};

static void show_progress(void *context, const struct session_status *s)
{
    struct phase *p = context;
    fprintf(stderr, "\r\033[Ktidemark: %s, %.1f s", p->title, (double)s->elapsed_ns / 1e9);
    fflush(stderr);
    p->shown = true;
}

/* Runs in the process that records; `report` is where the copies' exit states are written to. */
static _Noreturn void be_recorder(const struct compare_runs *r, int which, int report)
{
    size_t copies = which ? r->copies : 1;
    VEC(char *) argv = {0};
    struct strbuf title = {0};
    strbuf_printf(&title, which ? "%zu at once" : "one alone", copies);
    *vec_push(&argv) = xstrdup("/proc/self/exe");
    *vec_push(&argv) = xstrdup(COPIES_COMMAND);
    *vec_push(&argv) = xasprintf("%zu", copies);
    *vec_push(&argv) = xasprintf("%d", report);
    for (char **a = r->program; *a; a++)
        *vec_push(&argv) = *a;
    *vec_push(&argv) = NULL;
    struct phase phase = {.title = title.data};
    struct session_options o = {.argv = argv.items,
                                .library = r->library,
                                .sampling = r->sampling,
                                .launcher = true,
                                .no_scan = true,
                                .mark_on = r->mark_on,
                                .mark_on_count = r->mark_on_count,
                                .interval_ns = 1000000,
                                .output = record_output_literal(r->files[which])};
    if (!r->quiet && isatty(STDERR_FILENO)) {
        o.progress = show_progress;
        o.context = &phase;
    }
    static struct session_result result;
    struct err err = {{0}};
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    /* Copies that have ended stay zombies until we end, so that their resource usage can be
     * read. */
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    int code = session_run(&o, &result, &err);
    if (phase.shown)
        fputs("\r\033[K", stderr);
    if (code)
        fprintf(stderr, "tidemark compare: %s\n", err.text);
    _exit(code || result.status ? 125 : 0);
}

static void read_ends(struct compare_runs *r, int which, int fd)
{
    struct copy_end end;
    while (read(fd, &end, sizeof end) == (ssize_t)sizeof end)
        *vec_push(&r->ends[which]) = end;
}

int compare_runs_record(struct compare_runs *r, int which, struct err *err)
{
    const struct sigaction note = {.sa_handler = note_signal}, normal = {.sa_handler = SIG_DFL};
    struct sigaction before[3];
    int report[2], status;
    if (pipe2(report, O_CLOEXEC) != 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    sigaction(SIGINT, &note, &before[0]);
    sigaction(SIGTERM, &note, &before[1]);
    /* A process that ignores SIGCHLD is not told how its children end. */
    sigaction(SIGCHLD, &normal, &before[2]);
    pid_t recorder = fork();
    if (recorder == 0) {
        sigaction(SIGINT, &before[0], NULL);
        sigaction(SIGTERM, &before[1], NULL);
        sigaction(SIGCHLD, &before[2], NULL);
        fcntl(report[1], F_SETFD, 0);
        be_recorder(r, which, report[1]);
    }
    close(report[1]);
    if (recorder < 0) {
        close(report[0]);
        return err_set(err, -errno, "cannot start a process: %s", strerror(errno));
    }
    while (waitpid(recorder, &status, 0) < 0 && errno == EINTR)
        if (asked_to_stop == SIGTERM) /* Ctrl-C reaches the copies from the terminal */
            kill(recorder, SIGTERM);
    read_ends(r, which, report[0]);
    close(report[0]);
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    sigaction(SIGCHLD, &before[2], NULL);
    r->interrupted |= asked_to_stop != 0;
    size_t wanted = which ? r->copies : 1;
    if (r->ends[which].count != wanted || !WIFEXITED(status) || WEXITSTATUS(status))
        return err_set(err, -EIO, "%s could not be recorded",
                       which ? "the copies" : "the run alone");
    for (size_t i = 0; i < wanted; i++)
        if (r->ends[which].items[i].error)
            return err_set(err, -r->ends[which].items[i].error, "cannot run %s: %s", r->program[0],
                           strerror(r->ends[which].items[i].error));
    return 0;
}

void compare_runs_release(struct compare_runs *r, bool keep)
{
    for (int i = 0; i < 2; i++) {
        if (r->own_folder && !keep)
            unlink(r->files[i]);
        free(r->files[i]);
        vec_release(&r->ends[i]);
    }
    if (r->own_folder && !keep)
        rmdir(r->folder);
    free(r->folder);
}
