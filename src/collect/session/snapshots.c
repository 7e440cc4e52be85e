/*
 * Snapshots: the recording so far, each in a file of its own that a forked copy of us writes while
 * we go on. They are asked for by the program or by `tidemark ctl`, or taken by ourselves: on a
 * clock, or when memory reaches what the user named (triggers.h). Of the latter only the newest may
 * be kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/resident/footprint.h"
#include "collect/resident/maps.h"
#include "collect/session/output.h"
#include "collect/session/session_state.h"
#include "collect/counting/stamps.h"

/* %I is the number; the rest is output.h's. */
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

/* Beside the recording's own file: app.tide, app.snapshot1.tide. */
static char *chosen_name(const struct session *s, unsigned number)
{
    const char *file = s->file[0] == '|' ? "tidemark" : s->file;
    size_t size = strlen(file);
    if (size > 5 && strcmp(file + size - 5, ".tide") == 0)
        size -= 5;
    return xasprintf("%.*s.snapshot%u.tide", (int)size, file, number);
}

/* `tidemark ctl` waits until the file is there; a program goes on meanwhile. */
static bool is_waited_for(const struct client *asker)
{
    return asker && asker->request.process;
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
    int code = output_write(&name, &bytes, &err);
    if (is_waited_for(asker)) {
        char *text =
            code ? xasprintf("%s\n", err.text)
                 : xasprintf("snapshot %u, %s %s\n", number,
                             *name == '|' ? "passed to" : "written to", name + (*name == '|'));
        client_tell(asker, code, text);
    }
    _exit(code != 0);
}

/* Those that were taken by ourselves, oldest first, as many as there are too many. */
static void remove_old(struct session *s)
{
    size_t taken = 0;
    for (size_t i = 0; i < s->snapshots.count; i++)
        taken += s->snapshots.items[i].file != NULL;
    for (size_t i = 0; s->options->keep_snapshots && i < s->snapshots.count; i++) {
        struct snapshot *old = &s->snapshots.items[i];
        if (taken <= s->options->keep_snapshots || old->writer)
            return; /* one that is being written is removed when it is done */
        if (!old->file)
            continue;
        unlink(old->file);
        free(old->file);
        old->file = NULL;
        taken--;
    }
}

/* Who is done is forgotten, unless its file may have to be removed. */
static void reap_writers(struct session *s, int options)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->snapshots.count; i++) {
        struct snapshot *one = &s->snapshots.items[i];
        if (one->writer && waitpid(one->writer, NULL, options) != 0)
            one->writer = 0;
    }
    remove_old(s);
    for (size_t i = 0; i < s->snapshots.count; i++)
        if (s->snapshots.items[i].writer || s->snapshots.items[i].file)
            s->snapshots.items[kept++] = s->snapshots.items[i];
    s->snapshots.count = kept;
}

void snapshots_await(struct session *s)
{
    reap_writers(s, 0);
}

/* Someone watches (tidemark top): it leaves no trace in the recording. */
static bool is_look(const struct client *asker)
{
    return asker && asker->request.kind == WIRE_LOOK;
}

/* The moment, with what can only be seen now. */
static void mark_snapshot(struct session *s, const struct client *asker)
{
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        uint64_t at = elapsed_ns(s) - t->start_ns;
        marks_add(t, "snapshot", at);
        if (asker && asker->pid == t->pid)
            stamp_set_held(&vec_last(&t->marks.pending)->stamp, &asker->request.held);
        target_drain(t, elapsed_ns(s) - t->start_ns);
        maps_take(t, CAPTURE_SNAPSHOT, at);
        footprint_take(t, FOOTPRINT_SNAPSHOT, at);
    }
}

static int begin_snapshot(struct session *s, const char *pattern, struct client *asker,
                          struct err *err)
{
    unsigned number = s->snapshot_count + 1;
    char *with_number = numbered(pattern, number);
    char *name = *pattern ? output_name(with_number, s->options->argv[0], s->program, err)
                          : chosen_name(s, number);
    free(with_number);
    int code = name ? output_check(name, err) : -EINVAL;
    if (code) {
        free(name);
        return code;
    }
    if (is_look(asker))
        session_drain(s);
    else
        mark_snapshot(s, asker);
    queue_names(s);
    uint64_t now = elapsed_ns(s);
    naming_hold(s->naming);
    pid_t writer = fork();
    if (writer == 0)
        write_snapshot(s, now, name, number, asker);
    code = writer < 0 ? err_set(err, -errno, "cannot fork: %s", strerror(errno)) : 0;
    naming_go_on(s->naming);
    bool ours = !asker && s->options->keep_snapshots;
    if (!code) {
        *vec_push(&s->snapshots) = (struct snapshot){writer, ours ? xstrdup(name) : NULL};
        s->snapshot_count += !is_look(asker);
    }
    free(name);
    return code;
}

void snapshot_begin(struct session *s, const char *pattern, struct client *asker)
{
    struct err err;
    int code = begin_snapshot(s, pattern, asker, &err);
    if (code && is_waited_for(asker)) {
        char *text = xasprintf("%s\n", err.text);
        client_tell(asker, code, text);
        free(text);
    } else if (is_waited_for(asker))
        client_leave(asker);
    else if (asker)
        client_reply(asker, code, -1, 0, 0);
}

void snapshot_if_due(struct session *s, uint64_t now)
{
    if (s->snapshots.count)
        reap_writers(s, WNOHANG);
    bool clock = now >= s->next_snapshot_ns;
    if (clock)
        s->next_snapshot_ns = now + s->options->snapshot_every_ns;
    bool triggered =
        triggers_look(&s->triggers, s->live.items, s->live.count, now, s->snapshot_count + 1);
    if ((clock || triggered) && s->live.count)
        snapshot_begin(s, "", NULL);
}
