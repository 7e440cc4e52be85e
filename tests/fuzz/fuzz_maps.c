/*
 * Any bytes as /proc/PID/smaps and /proc/PID/numa_maps: the first two bytes say how much is the
 * one, the rest is the other.
 */
#include "fuzz.h"

#include "base/err.h"
#include "collect/proc/numa_maps.h"
#include "collect/proc/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t first = (size_t)(data[0] | data[1] << 8);
    first = first < size - 2 ? first : size - 2;
    char *smaps = xstrndup((const char *)data + 2, first);
    char *numa = xstrndup((const char *)data + 2 + first, size - 2 - first), *rest = numa;
    struct proc_mappings all = {0};
    proc_parse_smaps(smaps, &all);
    for (size_t i = 0; i < all.items.count; i++) {
        const struct proc_mapping *m = &all.items.items[i];
        fuzz_must(m->mapping.start < m->mapping.end && !strchr(m->name, '\n'));
        fuzz_must(i == 0 || m[-1].mapping.end <= m->mapping.start);
    }
    struct proc_placement p;
    struct mapping_node node;
    while (proc_next_placement(&rest, &p)) {
        fuzz_must(!strchr(p.policy, ' ') && rest > numa);
        while (proc_next_node(&p, &node))
            ;
    }
    vec_release(&all.items);
    free(smaps);
    free(numa);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char smaps[] = "55d0a4c41000-55d0a4c62000 rw-p 00000000 00:00 0        [heap]\n"
                                "Size:                132 kB\nRss:                   8 kB\n"
                                "Private_Dirty:         8 kB\nSwap: 4 kB\nVmFlags: rd wr nh wf \n"
                                "7f0000000000-7f0000001000 r--s 00001000 fe:00 77 /a b (deleted)\n";
    static const char numa[] = "55d0a4c41000 default heap anon=2 N0=1 N3=1 kernelpagesize_kB=4\n"
                               "7f0000000000 bind=static:0-3 file=/a\\040b\n";
    char text[1024];
    int n = snprintf(text, sizeof text, "%c%c%s%s", (char)(sizeof smaps - 1),
                     (char)((sizeof smaps - 1) >> 8), smaps, numa);
    fuzz_save(folder, "usual", text, (size_t)n);
}
