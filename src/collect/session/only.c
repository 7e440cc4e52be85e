#include "collect/session/only.h"

#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "collect/proc/proc.h"
#include "wire/only.h"

bool only_wants(const char *only, const char *path)
{
    return !only || wire_only_wants(only, path);
}

/* The kernel names a process after the script, of whose name it keeps this much. */
#define NAME_SIZE (sizeof(((struct proc_state *)0)->name) - 1)

/* Is this argument the script of a process that the kernel calls `name`? */
static bool is_script(const char *argument, const char *name)
{
    const char *base = path_base(argument);
    return *name && text_begins(base, name) &&
           (strlen(base) == strlen(name) || strlen(name) == NAME_SIZE);
}

bool only_wants_process(const char *only, pid_t pid)
{
    char exe[PATH_MAX];
    struct proc_state state;
    struct strbuf command = {0};
    bool wanted = !only || (proc_read_exe(pid, exe, sizeof exe) && wire_only_wants(only, exe));
    if (wanted || !proc_read_state(pid, &state) || proc_read_command(pid, &command) != 0)
        goto out;
    const char *end = command.data + command.size;
    for (const char *argument = command.data; argument < end && !wanted;
         argument += strlen(argument) + 1)
        if (argument == command.data || is_script(argument, state.name))
            wanted = wire_only_wants(only, argument);
out:
    strbuf_release(&command);
    return wanted;
}
