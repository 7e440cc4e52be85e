#include "store/recording.h"

#include <stdlib.h>

#include "store/held_recordings.h"
#include "store/merge.h"

struct recording *recording_new(void)
{
    return xcalloc(1, sizeof(struct recording));
}

uint8_t *profile_stack_ends(const struct profile *p)
{
    uint8_t *ends = xcalloc(p->nodes.count + 1, 1);
    for (size_t i = 1; i < p->nodes.count; i++) { /* a parent comes before its children */
        uint64_t address = p->nodes.items[i].address;
        ends[i] = address == NODE_TRUNCATED || address == NODE_INCOMPLETE
                      ? (uint8_t)address
                      : ends[p->nodes.items[i].parent];
    }
    return ends;
}

void profile_release_figures(struct profile *p)
{
    for (size_t i = 0; i < p->scans.count; i++)
        free(p->scans.items[i].unreachable);
    vec_release(&p->sites);
    vec_release(&p->intervals);
    vec_release(&p->rows);
    vec_release(&p->stamps);
    vec_release(&p->marks);
    vec_release(&p->mark_values);
    vec_release(&p->scans);
    vec_release(&p->live);
    vec_release(&p->captures);
    vec_release(&p->footprints);
    vec_release(&p->pins);
    vec_release(&p->arenas);
    vec_release(&p->mappings);
    vec_release(&p->map_nodes);
    strpool_release(&p->map_names);
    vec_release(&p->sizes);
    vec_release(&p->lifetimes);
    vec_release(&p->freed_readings);
    vec_release(&p->chains);
    vec_release(&p->process_ends);
}

void profile_release_names(struct profile *p)
{
    for (size_t i = 0; i < p->modules.count; i++)
        free(p->modules.items[i].path);
    vec_release(&p->modules);
    vec_release(&p->nodes);
    vec_release(&p->frames);
    vec_release(&p->frame_runs);
    map_release(&p->symbols);
}

void profile_release(struct profile *p)
{
    profile_release_figures(p);
    profile_release_names(p);
    for (size_t i = 0; i < p->command.count; i++)
        free(p->command.items[i]);
    for (size_t i = 0; i < p->threads.count; i++)
        free(p->threads.items[i].name);
    for (size_t i = 0; i < p->notes.count; i++)
        free(p->notes.items[i]);
    merge_free(p->merge);
    free(p->executable);
    free(p->host);
    free(p->imported.from);
    free(p->imported.file);
    vec_release(&p->command);
    vec_release(&p->threads);
    vec_release(&p->notes);
}

void recording_free(struct recording *r)
{
    if (!r || recording_is_held(r))
        return;
    for (size_t i = 0; i < r->profiles.count; i++)
        profile_release(&r->profiles.items[i]);
    vec_release(&r->profiles);
    if (r->combined)
        profile_release(r->combined);
    free(r->combined);
    for (size_t i = 0; i < r->defaults.count; i++) {
        free(r->defaults.items[i].name);
        free(r->defaults.items[i].text);
    }
    vec_release(&r->defaults);
    strpool_release(&r->strings);
    free(r->incomplete);
    free(r);
}

const struct scan *profile_scan(const struct profile *p, enum scan_kind kind)
{
    for (size_t i = p->scans.count; i-- > 0;)
        if (p->scans.items[i].kind == (uint32_t)kind)
            return &p->scans.items[i];
    return NULL;
}
