#include "collect/proc/numa_maps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collect/proc/cut_line.h"

bool proc_next_placement(char **text, struct proc_placement *out)
{
    for (char *line; (line = proc_cut_line(text));) {
        char *at = line;
        struct proc_placement p = {.page_kib = 4};
        if (!proc_parse_hex(&at, ' ', &p.start))
            continue;
        p.policy = at;
        at += strcspn(at, " ");
        p.rest = at;
        if (*at) {
            *at = '\0';
            p.rest = at + 1;
        }
        const char *size = strstr(p.rest, "kernelpagesize_kB=");
        if (size)
            p.page_kib = strtoull(size + strlen("kernelpagesize_kB="), NULL, 10);
        *out = p;
        return true;
    }
    return false;
}

bool proc_next_node(struct proc_placement *p, struct mapping_node *out)
{
    while (*p->rest) {
        const char *word = p->rest;
        p->rest += strcspn(word, " ");
        p->rest += strspn(p->rest, " ");
        if (word[0] != 'N' || !isdigit((unsigned char)word[1]))
            continue;
        char *end;
        unsigned long node = strtoul(word + 1, &end, 10);
        if (*end != '=' || node > UINT32_MAX)
            continue;
        *out = (struct mapping_node){.node = (uint32_t)node,
                                     .kib = strtoull(end + 1, NULL, 10) * p->page_kib};
        return true;
    }
    return false;
}
