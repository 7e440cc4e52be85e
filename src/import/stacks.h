/*
 * stacks: the names and stacks of an imported profile.
 *
 * Files contain names of functions, not addresses that we could look up. So each distinct run of
 * frames (a function with what was inlined into it) gets an artificial address, as Python's frames
 * have. Nodes are added from the outermost frame inwards, so a parent comes before its children:
 * there are no cycles, whatever the file says.
 *
 * Ownership: names and nodes are the recording's; stacks_release frees the indexes. Not thread-
 * safe.
 */
#ifndef TIDE_IMPORT_STACKS_H
#define TIDE_IMPORT_STACKS_H

#include "base/map.h"
#include "store/recording.h"

/* One frame as text; NULL or "" if it is not known. */
struct imported_frame {
    const char *function, *module, *file;
    uint32_t line;
    enum frame_kind kind;
};

struct stacks {
    struct recording *recording;
    struct profile *profile;
    struct map runs;  /* hash of a run -> its number; if two are equal, the next hash is used */
    struct map nodes; /* (parent, run) -> node */
    uint64_t memory;  /* approximate bytes that names and stacks take */
};

void stacks_init(struct stacks *s, struct recording *r, struct profile *p);
void stacks_release(struct stacks *s);
/* The number of a string in the recording. */
uint32_t stacks_string(struct stacks *s, const char *text);
/* The number of a run of frames, innermost first. */
uint32_t stacks_run(struct stacks *s, const struct frame *frames, size_t count);
/* The same for one frame as text. */
uint32_t stacks_frame(struct stacks *s, const struct imported_frame *f);
struct frame stacks_make(struct stacks *s, const struct imported_frame *f);
/* The node of a run that `parent` called; 0 is the root. */
uint32_t stacks_node(struct stacks *s, uint32_t parent, uint32_t run);

#endif
