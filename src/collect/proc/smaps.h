/*
 * smaps: parses /proc/PID/maps and smaps. Any text is accepted: lines that the kernel would not
 * write are skipped. Names point into the text, which is cut into strings. No state.
 */
#ifndef TIDE_COLLECT_PROC_SMAPS_H
#define TIDE_COLLECT_PROC_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "store/recording.h"

/* A mapping as the kernel describes it; `mapping.name` and `policy` are not set. */
struct proc_mapping {
    struct mapping mapping;
    const char *name; /* "": anonymous */
    bool wiped;       /* a forked child finds it zeroed (MADV_WIPEONFORK) */
    bool no_huge;     /* the mapping has no huge pages; only the recorder's memory has both flags */
};

struct proc_mappings {
    VEC(struct proc_mapping) items; /* in order of address */
};

/* Parses smaps, or `maps`: then all sizes are 0. Appends to `out`, and frees nothing in it. */
void proc_parse_smaps(char *text, struct proc_mappings *out);
/* Reads the file `name` ("maps" or "smaps") of a process and parses it; the names point into
 * `text`. Returns 0, or a negative errno. */
int proc_read_mappings(pid_t pid, const char *name, struct strbuf *text, struct proc_mappings *out);
/* The mappings of a process that stands still, read once for everybody who needs them: most of what
 * is done at the end of a short process is to read such lists. */
struct proc_still {
    struct strbuf text; /* names point into it */
    struct proc_mappings all;
    uint64_t rss_bytes; /* the sum of all mappings */
};
/* Returns 0, or a negative errno. */
int proc_still_read(struct proc_still *s, pid_t pid);
/* Copies what `maps` would say: all sizes are 0. */
void proc_still_copy(const struct proc_still *s, struct strbuf *text, struct proc_mappings *out);
void proc_still_release(struct proc_still *s);
/* The mapping that contains an address; NULL: none. */
struct proc_mapping *proc_mapping_at(const struct proc_mappings *all, uint64_t address);

#endif
