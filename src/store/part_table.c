#include "store/part_table.h"

#include "store/merge.h"

#define IS_THERE(name, is)                                                                         \
    static bool name##_there(const struct profile *p)                                              \
    {                                                                                              \
        return is;                                                                                 \
    }
IS_THERE(process, p->executable != NULL)
IS_THERE(imported, p->imported.from != NULL)
IS_THERE(sampling, profile_is_sampled(p))
IS_THERE(notes, p->notes.count != 0)
IS_THERE(threads, p->threads.count != 0)
IS_THERE(nodes, p->nodes.count != 0)
IS_THERE(sites, p->sites.count != 0)
IS_THERE(intervals, p->intervals.count != 0)
IS_THERE(stamps, p->stamps.count != 0)
IS_THERE(marks, p->marks.count != 0)
IS_THERE(inherited, p->inherited.parent != 0)
IS_THERE(attached, p->attached.is)
IS_THERE(live_blocks, p->scans.count != 0)
IS_THERE(captures, p->captures.count != 0)
IS_THERE(footprints, p->footprints.count != 0)
IS_THERE(python, p->python_version != 0)
IS_THERE(histograms, p->has_histograms)
IS_THERE(chain_rows, p->chains.count != 0)
IS_THERE(inputs, p->merge != NULL)
IS_THERE(spreads, p->merge && p->merge->spreads.count)
IS_THERE(modules, p->modules.count != 0)
IS_THERE(frames, p->frame_runs.count != 0)

#define PART(name) name##_put, name##_take, name##_there
const struct part part_table[PARTS] = {
    {CHUNK_PROCESS, PROFILE_ENDING, PART(process), false},
    {CHUNK_IMPORTED, PROFILE_ENDING, PART(imported), true},
    {CHUNK_SAMPLING, PROFILE_ENDING, PART(sampling), true},
    {CHUNK_NOTES, PROFILE_ENDING, PART(notes), true},
    {CHUNK_THREADS, PROFILE_FIGURES, PART(threads), false},
    {CHUNK_NODES, PROFILE_FIGURES, PART(nodes), false},
    {CHUNK_SITES, PROFILE_FIGURES, NULL, sites_take, sites_there, false, sites_put},
    {CHUNK_INTERVALS, PROFILE_FIGURES, NULL, intervals_take, intervals_there, false, intervals_put},
    {CHUNK_STAMPS, PROFILE_FIGURES, PART(stamps), false},
    {CHUNK_MARKS, PROFILE_FIGURES, PART(marks), true},
    {CHUNK_INHERITED, PROFILE_FIGURES, PART(inherited), true},
    {CHUNK_ATTACHED, PROFILE_FIGURES, PART(attached), true},
    {CHUNK_LIVE, PROFILE_FIGURES, PART(live_blocks), true},
    {CHUNK_MAPS, PROFILE_FIGURES, PART(captures), true},
    {CHUNK_FOOTPRINTS, PROFILE_FIGURES, PART(footprints), true},
    {CHUNK_PYTHON, PROFILE_FIGURES, PART(python), true},
    {CHUNK_HISTOGRAMS, PROFILE_FIGURES, PART(histograms), true},
    {CHUNK_CHAINS, PROFILE_FIGURES, PART(chain_rows), true},
    {CHUNK_INPUTS, PROFILE_FIGURES, PART(inputs), true},
    {CHUNK_SPREADS, PROFILE_FIGURES, PART(spreads), true},
    {CHUNK_MODULES, PROFILE_NAMES, PART(modules), false},
    {CHUNK_FRAMES, PROFILE_NAMES, PART(frames), false},
};
