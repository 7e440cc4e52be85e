/* How a process was started: its arguments, its executable, its name, its parent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/counting/target.h"
#include "collect/proc/proc.h"

/* A program that overwrote its arguments may have left no NUL after the last. */
static void add_arguments(struct profile *p, const struct strbuf *text)
{
    for (size_t at = 0; at < text->size; at += strlen(text->data + at) + 1)
        *vec_push(&p->command) = xstrdup(text->data + at);
}

static bool has_arguments(const struct profile *p, const struct strbuf *text)
{
    size_t at = 0, i = 0;
    for (; at < text->size && i < p->command.count; i++) {
        if (strcmp(text->data + at, p->command.items[i]) != 0)
            return false;
        at += strlen(text->data + at) + 1;
    }
    return i == p->command.count && at >= text->size;
}

void target_use_title(struct target *t, const struct strbuf *title, uint64_t stack_start)
{
    struct profile *p = &t->profile;
    if (!t->forked || !title->size || !*title->data || !t->stack_start ||
        stack_start != t->stack_start || has_arguments(p, title))
        return;
    for (size_t i = 0; i < p->command.count; i++)
        free(p->command.items[i]);
    p->command.count = 0;
    add_arguments(p, title);
}

void target_read_command(struct target *t)
{
    char path[64];
    struct strbuf b = {0};
    proc_read_command(t->pid, &b);
    add_arguments(&t->profile, &b);
    strbuf_release(&b);
    char exe[4096];
    proc_read_exe(t->pid, exe, sizeof exe);
    size_t n = strlen(exe);
    char *deleted = n > 10 ? exe + n - 10 : NULL;
    if (deleted && strcmp(deleted, " (deleted)") == 0 && access(exe, F_OK) != 0)
        /* The file was replaced since the start: the build id shows whether it is the same. */
        *deleted = '\0';
    free(t->profile.executable);
    t->profile.executable = xstrdup(exe);
    struct stat file;
    snprintf(path, sizeof path, "/proc/%d/exe", t->pid);
    if (stat(path, &file) == 0) {
        t->exe_device = file.st_dev;
        t->exe_inode = file.st_ino;
    }
    struct proc_state state;
    if (proc_read_state(t->pid, &state)) {
        memcpy(t->name, state.name, sizeof t->name);
        t->profile.ppid = state.ppid;
        t->stack_start = state.stack_start;
    }
}
