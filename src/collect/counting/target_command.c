/* How a process was started: its arguments, its executable, its name, its parent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/counting/target.h"
#include "collect/proc/proc.h"

void target_read_command(struct target *t)
{
    char path[64];
    struct strbuf b = {0};
    proc_read_command(t->pid, &b);
    /* A program that overwrote its arguments may have left no NUL after the last. */
    for (size_t at = 0; at < b.size; at += strlen(b.data + at) + 1)
        *vec_push(&t->profile.command) = xstrdup(b.data + at);
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
