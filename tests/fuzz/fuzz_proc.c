/*
 * Any bytes as /proc/PID/stat and /proc/PID/statm: the first byte says how much is the one, the
 * rest is the other. Both also as /proc/PID/fdinfo/FD and /proc/PID/timers.
 */
#include "fuzz.h"

#include "base/err.h"
#include "collect/proc/kernel_pointers.h"
#include "collect/proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t first = data[0] < size - 1 ? data[0] : size - 1;
    char *stat = xstrndup((const char *)data + 1, first);
    char *statm = xstrndup((const char *)data + 1 + first, size - 1 - first);
    struct proc_state state;
    struct proc_memory memory;
    if (proc_parse_stat(stat, &state))
        fuzz_must(strchr(stat, ')') != NULL);
    if (proc_parse_statm(statm, &memory))
        fuzz_must(memory.vm_bytes % 4096 == 0 && memory.anon_bytes % 4096 == 0);
    struct kernel_pointers pointers = {0};
    kernel_pointers_parse_epoll(&pointers, stat);
    kernel_pointers_parse_timers(&pointers, statm);
    fuzz_must(pointers.items.count <= size);
    kernel_pointers_release(&pointers);
    free(stat);
    free(statm);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char stat[] = "42 (a) S (b) R 7 42 42 0 -1 4194304 123 0 5 0 1 2 0 0 20 0 1 0\n";
    char text[256];
    int n = snprintf(text, sizeof text, "%c%s%s", (char)(sizeof stat - 1), stat,
                     "1000 300 200 5 0 90 0\n");
    fuzz_save(folder, "usual", text, (size_t)n);
    static const char epoll[] = "tfd:  5 events: 19 data: 5555deadbeef  pos:0\n";
    n = snprintf(text, sizeof text, "%c%s%s", (char)(sizeof epoll - 1), epoll,
                 "ID: 0\nsignal: 10/00005555deadbeef\nnotify: signal/pid.42\n");
    fuzz_save(folder, "pointers", text, (size_t)n);
}
