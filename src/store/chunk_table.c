#include "store/chunk_table.h"

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
IS_THERE(gpu, p->gpu[GPU_DRIVER].known || p->gpu[GPU_TENSORS].known)
IS_THERE(histograms, p->has_histograms)
IS_THERE(chain_rows, p->chains.count != 0)
IS_THERE(inputs, p->merge != NULL)
IS_THERE(spreads, p->merge && p->merge->spreads.count)
IS_THERE(modules, p->modules.count != 0)
IS_THERE(frames, p->frame_runs.count != 0)

#define CODEC(name) name##_put, name##_take, name##_there
const struct chunk_codec chunk_table[CHUNK_CODECS] = {
    {CHUNK_PROCESS, PROFILE_ENDING, CODEC(process), false},
    {CHUNK_IMPORTED, PROFILE_ENDING, CODEC(imported), true},
    {CHUNK_SAMPLING, PROFILE_ENDING, CODEC(sampling), true},
    {CHUNK_NOTES, PROFILE_ENDING, CODEC(notes), true},
    {CHUNK_THREADS, PROFILE_FIGURES, CODEC(threads), false},
    {CHUNK_NODES, PROFILE_FIGURES, CODEC(nodes), false},
    {CHUNK_SITES, PROFILE_FIGURES, NULL, sites_take, sites_there, false, sites_put},
    {CHUNK_INTERVALS, PROFILE_FIGURES, NULL, intervals_take, intervals_there, false, intervals_put},
    {CHUNK_STAMPS, PROFILE_FIGURES, CODEC(stamps), false},
    {CHUNK_MARKS, PROFILE_FIGURES, CODEC(marks), true},
    {CHUNK_INHERITED, PROFILE_FIGURES, CODEC(inherited), true},
    {CHUNK_ATTACHED, PROFILE_FIGURES, CODEC(attached), true},
    {CHUNK_LIVE, PROFILE_FIGURES, CODEC(live_blocks), true},
    {CHUNK_MAPS, PROFILE_FIGURES, CODEC(captures), true},
    {CHUNK_FOOTPRINTS, PROFILE_FIGURES, CODEC(footprints), true},
    {CHUNK_PYTHON, PROFILE_FIGURES, CODEC(python), true},
    {CHUNK_GPU, PROFILE_FIGURES, CODEC(gpu), true},
    {CHUNK_HISTOGRAMS, PROFILE_FIGURES, CODEC(histograms), true},
    {CHUNK_CHAINS, PROFILE_FIGURES, CODEC(chain_rows), true},
    {CHUNK_INPUTS, PROFILE_FIGURES, CODEC(inputs), true},
    {CHUNK_SPREADS, PROFILE_FIGURES, CODEC(spreads), true},
    {CHUNK_MODULES, PROFILE_NAMES, CODEC(modules), false},
    {CHUNK_FRAMES, PROFILE_NAMES, CODEC(frames), false},
};
