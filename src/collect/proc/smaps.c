#include "collect/proc/smaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/proc/cut_line.h"
#include "collect/proc/proc.h"

/* "start-end perms offset device inode   name" */
static bool parse_head(char *line, struct proc_mapping *out)
{
    struct mapping m = {0};
    char *at = line;
    if (!proc_parse_hex(&at, '-', &m.start) || !proc_parse_hex(&at, ' ', &m.end) ||
        m.end <= m.start || strlen(at) < 5 || at[4] != ' ')
        return false;
    static const char letters[] = "rwxs";
    for (int i = 0; i < 4; i++)
        m.flags |= (uint32_t)(at[i] == letters[i]) << i;
    at += 5;
    if (!proc_parse_hex(&at, ' ', &m.offset))
        return false;
    for (int field = 0; field < 2; field++) { /* device, inode */
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    *out = (struct proc_mapping){.mapping = m, .name = at};
    return true;
}

/* "Rss:                   4 kB" */
static void parse_size(const char *line, struct mapping *m)
{
    static const struct {
        const char *name;
        enum mapping_size to[2];
    } sizes[] = {
        {"Rss:", {MAPPING_RSS, MAPPING_RSS}},
        {"Pss:", {MAPPING_PSS, MAPPING_PSS}},
        {"Shared_Dirty:", {MAPPING_DIRTY, MAPPING_DIRTY}},
        {"Private_Clean:", {MAPPING_PRIVATE, MAPPING_PRIVATE}},
        {"Private_Dirty:", {MAPPING_PRIVATE, MAPPING_DIRTY}},
        {"Anonymous:", {MAPPING_ANONYMOUS, MAPPING_ANONYMOUS}},
        {"AnonHugePages:", {MAPPING_HUGE, MAPPING_HUGE}},
        {"Swap:", {MAPPING_SWAP, MAPPING_SWAP}},
        {"Locked:", {MAPPING_LOCKED, MAPPING_LOCKED}},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        /* Each mapping has some 25 lines. */
        if (line[0] != sizes[i].name[0])
            continue;
        size_t length = strlen(sizes[i].name);
        if (strncmp(line, sizes[i].name, length) != 0)
            continue;
        uint64_t kib = strtoull(line + length, NULL, 10);
        for (int k = 0; k < 2; k++)
            if (k == 0 || sizes[i].to[1] != sizes[i].to[0])
                m->kib[sizes[i].to[k]] += kib;
        return;
    }
}

static bool has_flag(const char *flags, const char *flag)
{
    for (const char *f = flags; (f = strstr(f, flag)); f++)
        if (f[-1] == ' ' && (f[2] == ' ' || !f[2]))
            return true;
    return false;
}

void proc_parse_smaps(char *text, struct proc_mappings *out)
{
    struct proc_mapping *last = NULL, next;
    uint64_t end = 0;
    for (char *line; (line = proc_cut_line(&text));) {
        if (parse_head(line, &next)) {
            last = NULL;
            if (next.mapping.start < end)
                continue; /* not in order: no kernel writes that */
            end = next.mapping.end;
            last = vec_push(&out->items);
            *last = next;
        } else if (last && text_begins(line, "VmFlags: ")) {
            last->wiped = has_flag(line + 9, "wf");
            last->no_huge = has_flag(line + 9, "nh");
        } else if (last) {
            parse_size(line, &last->mapping);
        }
    }
}

int proc_read_mappings(pid_t pid, const char *name, struct strbuf *text, struct proc_mappings *out)
{
    int code = proc_read_all(pid, name, text);
    if (!code)
        proc_parse_smaps(text->data, out);
    return code;
}

int proc_still_read(struct proc_still *s, pid_t pid)
{
    int code = proc_read_mappings(pid, "smaps", &s->text, &s->all);
    for (size_t i = 0; i < s->all.items.count; i++)
        s->rss_bytes += s->all.items.items[i].mapping.kib[MAPPING_RSS] * 1024;
    return code;
}

void proc_still_copy(const struct proc_still *s, struct strbuf *text, struct proc_mappings *out)
{
    strbuf_add(text, s->text.data, s->text.size);
    for (size_t i = 0; i < s->all.items.count; i++) {
        struct proc_mapping *to = vec_push(&out->items);
        *to = s->all.items.items[i];
        memset(to->mapping.kib, 0, sizeof to->mapping.kib);
        to->name = text->data + (to->name - s->text.data);
    }
}

void proc_still_release(struct proc_still *s)
{
    strbuf_release(&s->text);
    vec_release(&s->all.items);
    *s = (struct proc_still){0};
}

struct proc_mapping *proc_mapping_at(const struct proc_mappings *all, uint64_t address)
{
    size_t i;
    BISECT(i, all->items.count, all->items.items[i].mapping.end <= address);
    return i < all->items.count && all->items.items[i].mapping.start <= address
               ? &all->items.items[i]
               : NULL;
}
