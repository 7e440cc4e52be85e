/*
 * json_parts: the pieces of JSON that several commands share: who was recorded, totals, stacks.
 * Each adds members or one value to a JSON writer that is inside an object or array.
 */
#ifndef TIDE_ANSWER_JSON_PARTS_H
#define TIDE_ANSWER_JSON_PARTS_H

#include "model/estimate.h"
#include "base/json.h"
#include "model/frames.h"
#include "model/measure.h"
#include "model/answer.h"
#include "model/joined_tree.h"

/* The 95 % interval of an estimate: {"low_bytes": N, "high_bytes": N}, or null if it is not
 * known. */
void json_estimate(struct json *j, const char *key, bool known, struct estimate e);
/* Members command, pid, exit_code, signal, complete, duration_ns. */
void json_program(struct json *j, const struct recording *r, const struct profile *p);
/* Member totals. */
void json_totals(struct json *j, const struct totals *t);
/* Member sampling: what was sampled in the window; nothing if nothing was. */
void json_sampling(struct json *j, const struct answer *a);
/* The same under another key. */
void json_totals_as(struct json *j, const char *key, const struct totals *t);
/* Members as in totals: the change of each, from `a` to `b`. */
void json_totals_change(struct json *j, const struct totals *a, const struct totals *b);
/* An object of bytes and count. */
void json_value(struct json *j, const char *key, struct value v);
/* The same; the count is null unless it is known. */
void json_value_if(struct json *j, const char *key, struct value v, bool counted);
/* Member ignored: bytes and count of everything that was left out, in total and for each reason. */
void json_ignored(struct json *j, const struct call_tree *t);
/* Member attached, for a process that was attached to. */
void json_attached(struct json *j, const struct profile *p);
/* Member inherited, for a process that was forked. */
void json_inherited(struct json *j, const struct profile *p);
/* Member mapped_by, if a library holds much memory besides the heap. */
void json_mapped(struct json *j, const struct profile *p);
/* Members processes and notes. */
void json_processes(struct json *j, const struct recording *r, const struct profile *p);

/*
 * Writes stacks. A frame occurs in many stacks, so its text is made once: with a million frames to
 * write, this takes most of the time. Begin with {0} and `frames` set; release with
 * json_stacks_release.
 */
struct json_stacks {
    const struct frame_table *frames;
    struct strbuf text;
    struct frame_text {
        size_t start, size; /* size 0: not made yet */
    } * made;
};

/* Member stack: the frames from a node of a tree (given by its parents and frames) up to its
 * root. */
void json_frames(struct json *j, struct json_stacks *s, const uint32_t *parent,
                 const uint32_t *frame, uint32_t node);
void json_stack(struct json *j, struct json_stacks *s, const struct merged *m, uint32_t node);
void json_stacks_release(struct json_stacks *s);

#endif
