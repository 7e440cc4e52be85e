/*
 * Snapshots: the recording so far, each in a file of its own, written by a forked copy of the
 * collector while the collector continues.
 *
 * The program or `tidemark ctl` ask for them, or the collector takes them itself: periodically, or
 * when memory reaches a limit that the user set (snapshot_triggers.h). Of these automatic ones only
 * the newest may be kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/say.h"
#include "collect/resident/footprint.h"
#include "collect/resident/maps.h"
#include "collect/resident/process_sizes.h"
#include "collect/session/output.h"
#include "collect/session/session_state.h"

/* Replaces %I by the number; output.h replaces the rest. */
static char *numbered(const char *pattern, unsigned number)
{
    struct strbuf b = {0};
    strbuf_puts(&b, "");
    for (const char *c = pattern; *c; c++) {
        if (c[0] == '%' && c[1] == 'I') {
            strbuf_printf(&b, "%u", number);
            c++;
            continue;
        }
        strbuf_putc(&b, *c);
        if (c[0] == '%' && c[1] == '%')
            strbuf_putc(&b, *++c);
    }
    return strbuf_detach(&b);
}

/* A name beside the recording's own file: app.tide, app.snapshot1.tide. */
static char *chosen_name(const struct session *s, unsigned number)
{
    const char *file = s->file[0] == '|' ? "tidemark" : s->file;
    size_t size = strlen(file);
    if (size > 5 && strcmp(file + size - 5, ".tide") == 0)
        size -= 5;
    return xasprintf("%.*s.snapshot%u.tide", (int)size, file, number);
}

/* `tidemark ctl` waits until the file exists; a program keeps running meanwhile. */
static bool is_waited_for(const struct client *asker)
{
    return asker && asker->request.process;
}

/* Is it for `tidemark top`? Then it leaves no trace in the recording. */
static bool is_for_top(const struct client *asker)
{
    return asker && asker->request.kind == WIRE_LOOK;
}

/* Is it an automatic snapshot that goes to a server? Then it has no file. */
static bool is_pushed(const struct session *s, const struct client *asker)
{
    return !asker && s->options->push_snapshot;
}

/* `tidemark top` gets a descriptor, so that no file is left behind, whatever happens to it. */
static int send_state(struct client *asker, const struct strbuf *bytes)
{
    int fd = memfd_create("tidemark", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < bytes->size) {
        ssize_t n = write(fd, bytes->data + done, bytes->size - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    int code = fd < 0 || done < bytes->size ? -errno : 0;
    client_reply(asker, code, code ? -1 : fd, bytes->size, 0);
    return code;
}

#define DROPPED 2 /* exit status of a writer: the queue dropped older snapshots */

static int push_status(int code)
{
    return code == -ENOSPC ? DROPPED : code != 0;
}

static _Noreturn void write_snapshot(struct session *s, uint64_t now, char *name, unsigned number,
                                     struct client *asker)
{
    struct recording *r = recording_new();
    struct strbuf bytes = {0};
    struct err err;
    r->complete = true;
    naming_alone(s->naming);
    compose_copy(s, now, r, &bytes);
    if (is_for_top(asker))
        _exit(send_state(asker, &bytes) != 0);
    if (is_pushed(s, asker))
        _exit(push_status(s->options->push_snapshot(s->options->push_context, &bytes, &err)));
    int code = output_write(&name, &bytes, false, &err);
    if (is_waited_for(asker)) {
        char *text =
            code ? xasprintf("%s\n", err.text)
                 : xasprintf("snapshot %u, %s %s\n", number,
                             *name == '|' ? "passed to" : "written to", name + (*name == '|'));
        client_reply_text(asker, code, text);
    }
    _exit(code != 0);
}

#define set_note(s, ...)                                                                           \
    do {                                                                                           \
        struct strbuf note_ = {0};                                                                 \
        say(&note_, __VA_ARGS__);                                                                  \
        free((s)->snapshot_note);                                                                  \
        (s)->snapshot_note = strbuf_detach(&note_);                                                \
    } while (0)

/* Removes the oldest automatic snapshots, if there are too many. */
static void remove_old(struct session *s)
{
    size_t written = 0;
    for (size_t i = 0; i < s->snapshots.count; i++)
        written += s->snapshots.items[i].ours && !s->snapshots.items[i].writer;
    for (size_t i = 0; i < s->snapshots.count && written > s->options->keep_snapshots; i++) {
        struct snapshot *old = &s->snapshots.items[i];
        if (!old->ours || old->writer)
            continue;
        unlink(old->file);
        old->ours = false;
        written--;
    }
}

/* A snapshot that could not be written does not count, and leaves nothing behind. */
static void settle(struct session *s, struct snapshot *one, int status)
{
    if (status != 0 && one->file && output_is_file(one->file))
        output_discard(one->file, one->writer);
    if (status != 0 && one->ours) {
        if (!one->file && WIFEXITED(status) && WEXITSTATUS(status) == DROPPED)
            set_note(s, "at snapshot %N the queue of --push was full: it dropped its oldest",
                     (uint64_t)one->number);
        else
            set_note(s, "snapshot %N could not be %s", (uint64_t)one->number,
                     one->file ? "written" : "pushed");
        one->ours = false;
    }
    one->writer = 0;
}

/* Forgets snapshots that are written, unless they may have to be removed later. */
static void reap_writers(struct session *s, int options)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->snapshots.count; i++) {
        struct snapshot *one = &s->snapshots.items[i];
        int status = 0;
        if (one->writer && waitpid(one->writer, &status, options) != 0)
            settle(s, one, status);
    }
    if (s->options->keep_snapshots)
        remove_old(s);
    for (size_t i = 0; i < s->snapshots.count; i++) {
        struct snapshot *one = &s->snapshots.items[i];
        if (one->writer || (one->ours && s->options->keep_snapshots))
            s->snapshots.items[kept++] = *one;
        else
            free(one->file);
    }
    s->snapshots.count = kept;
}

void snapshots_await(struct session *s)
{
    reap_writers(s, 0);
}

/* Marks the moment, and reads what can only be seen now. */
static void mark_snapshot(struct session *s, const struct client *asker)
{
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        uint64_t at = elapsed_ns(s) - t->start_ns;
        process_sizes_mark(t, "snapshot", at);
        if (asker && asker->pid == t->pid)
            stamp_set_held(&vec_last(&t->marks.pending)->stamp, &asker->request.held);
        target_drain(t, elapsed_ns(s) - t->start_ns);
        maps_take(t, CAPTURE_SNAPSHOT, at);
        footprint_take(t, FOOTPRINT_SNAPSHOT, at);
    }
}

static int name_snapshot(const struct session *s, const char *pattern, unsigned number, char **name,
                         struct err *err)
{
    char *with_number = numbered(pattern, number);
    *name = *pattern ? output_name(with_number, s->options->argv[0], s->program, err)
                     : chosen_name(s, number);
    free(with_number);
    int code = *name ? output_check(*name, err) : -EINVAL;
    if (code) {
        free(*name);
        *name = NULL;
    }
    return code;
}

static int begin_snapshot(struct session *s, const char *pattern, struct client *asker,
                          struct err *err)
{
    unsigned number = s->snapshot_count + 1;
    char *name = NULL;
    bool no_file = is_for_top(asker) || is_pushed(s, asker);
    int code = no_file ? 0 : name_snapshot(s, pattern, number, &name, err);
    if (code)
        return code;
    if (is_for_top(asker))
        session_drain(s);
    else
        mark_snapshot(s, asker);
    queue_names(s);
    uint64_t now = elapsed_ns(s);
    naming_hold(s->naming);
    freeze_counts(s);
    pid_t writer = fork();
    if (writer == 0)
        write_snapshot(s, now, name, number, asker);
    thaw_counts(s);
    code = writer < 0 ? err_set(err, -errno, "cannot fork: %s", strerror(errno)) : 0;
    naming_go_on(s->naming);
    if (code) {
        free(name);
        return code;
    }
    *vec_push(&s->snapshots) =
        (struct snapshot){.writer = writer, .number = number, .file = name, .ours = !asker};
    s->snapshot_count += !is_for_top(asker);
    if (!is_for_top(asker))
        triggers_taken(&s->triggers, s->live.items, s->live.count);
    return 0;
}

void snapshot_begin(struct session *s, const char *pattern, struct client *asker)
{
    struct err err;
    int code = begin_snapshot(s, pattern, asker, &err);
    if (code && is_waited_for(asker)) {
        char *text = xasprintf("%s\n", err.text);
        client_reply_text(asker, code, text);
        free(text);
    } else if (is_waited_for(asker))
        client_leave(asker);
    else if (asker)
        client_reply(asker, code, -1, 0, 0);
}

/* An automatic snapshot waits until the last one is written: memory may be short. */
static bool is_writing(const struct session *s)
{
    for (size_t i = 0; i < s->snapshots.count; i++)
        if (s->snapshots.items[i].writer && s->snapshots.items[i].ours)
            return true;
    return false;
}

static void take_by_ourselves(struct session *s, uint64_t now, const char *why)
{
    struct err err = {{0}};
    if (why) /* the snapshot has this note too */
        set_note(s, "snapshot %N was taken at %T: %s", (uint64_t)s->snapshot_count + 1, now, why);
    if (begin_snapshot(s, "", NULL, &err))
        set_note(s, "a snapshot at %T could not be written: %s", now, err.text);
}

void snapshot_if_due(struct session *s, uint64_t now)
{
    if (s->snapshots.count)
        reap_writers(s, WNOHANG);
    if (!s->live.count || is_writing(s))
        return;
    struct strbuf why = {0};
    bool triggered = triggers_check(&s->triggers, s->live.items, s->live.count, now, &why);
    if (triggered || now >= s->next_snapshot_ns)
        take_by_ourselves(s, now, triggered ? why.data : NULL);
    if (now >= s->next_snapshot_ns)
        s->next_snapshot_ns = now + s->options->snapshot_every_ns;
    strbuf_release(&why);
}
