/*
 * summary: the first lines of every text report: what ran, what it did, how complete the recording
 * is. At most SUMMARY_LINES lines. What was lost, cut off, unknown or ignored is always among them.
 * summary.c puts them in order; summary_program.c, summary_flaws.c, summary_left_out.c and
 * summary_arenas.c write them.
 */
#ifndef TIDE_ANSWER_SUMMARY_H
#define TIDE_ANSWER_SUMMARY_H

#include "base/say.h"
#include "base/strbuf.h"
#include "model/answer.h"
#include "model/mapped_by.h"
#include "model/not_recorded.h"
#include "answer/style.h"

#define SUMMARY_LINES 12
#define SUMMARY_LABEL 11 /* columns of the word at the beginning of a line */

/* How many processes were recorded. A program that a process executes has a profile of its own, but
 * is no further process. */
size_t summary_process_count(const struct recording *r);
/* If there are several processes: one line (wrapped) that says which one the report is about (NULL:
 * each of them) and how to choose another. Nothing if there is only one. */
void summary_choice(const struct recording *r, const struct profile *chosen, const struct style *s,
                    struct strbuf *out);
/* "has the highest peak", or what else distinguishes it from the others; NULL: nothing does. */
const char *summary_why_chosen(const struct recording *r, const struct profile *chosen);
/* The line of summary_choice, and the processes as a tree of a few lines, with `chosen` marked.
 * Processes that are small or alike are counted in one line. */
void summary_processes(const struct recording *r, const struct profile *chosen,
                       const struct style *s, struct strbuf *out);

/* `a` may have no rows: only profile, window, totals, tree sums and query are used. */
void summary_text(const struct answer *a, const struct style *s, struct strbuf *out);

/* Parts of it, for commands with a summary of their own. */

/* The word at the beginning of a line. */
void summary_label(struct strbuf *out, const struct style *s, const char *text);
/* A sentence after such a word, wrapped:
 *
 *   summary_line(out, s, "lost", "%B in %N block(s)", bytes, blocks);
 *
 * More than one sentence can be put between begin and end. */
#define summary_line(out, s, label, ...)                                                           \
    do {                                                                                           \
        size_t summary_start_ = summary_begin(out, s, label);                                      \
        say(out, __VA_ARGS__);                                                                     \
        summary_end(out, s, summary_start_);                                                       \
    } while (0)
size_t summary_begin(struct strbuf *out, const struct style *s, const char *label);
void summary_end(struct strbuf *out, const struct style *s, size_t start);
/* Two lines: the command; how long it ran and how it ended. */
/* A line, if allocations were sampled: all figures of the heap are estimates then. */
void summary_sampled(const struct profile *p, const struct style *s, struct strbuf *out);
/* Why it is not known what was allocated before an attach; NULL: it is known. */
const char *summary_before_unknown(const struct attached_before *a);
void summary_program(const struct profile *p, const struct style *s, struct strbuf *out);
/* One line: the command and its pid. */
void summary_heading(const struct profile *p, const struct style *s, struct strbuf *out);
/* "event#3 (1.500 s)" */
void summary_moment(struct strbuf *out, const struct moment *m);
/* One line with what is missing; false and no line if nothing is. */
bool summary_flaws(const struct recording *r, const struct profile *p, const struct totals *t,
                   const struct style *s, struct strbuf *out);
/* A line (wrapped) if the process, or what its program allocated, could not be recorded;
 * summary_notes then leaves out the note that says so. */
enum recorded summary_not_recorded(const struct profile *p, const struct style *s,
                                   struct strbuf *out);
/* What CPython freed when it ended, if that was most of the live memory and the question is about
 * the end; otherwise 0. */
int64_t summary_python_freed(const struct answer *a);
/* One line: how much of the live memory is arenas of CPython; nothing if none is. */
void summary_arenas_charged(const struct answer *a, const struct style *s, struct strbuf *out);
/* A sentence, if arenas are most of the process's peak. */
void summary_arenas(const struct profile *p, struct strbuf *out);
/* "431.0 MiB by libpolars.so itself, of 479.0 MiB resident at 1.2 s, ..." */
void summary_mapped(const struct mapped_by *m, struct strbuf *out);
/* What was allocated before tidemark attached; nothing for a program that it started. */
void summary_attached(const struct profile *p, const struct style *s, struct strbuf *out);
/* How many lines a summary has that began at `start`, and how many of SUMMARY_LINES are left. */
size_t summary_lines(const struct strbuf *out, size_t start);
size_t summary_room(const struct strbuf *out, size_t start);
/* The notes of a process, in the lines that are left. */
void summary_notes(const struct recording *r, const struct profile *p, const struct style *s,
                   size_t start, struct strbuf *out);
/* The lines that say what was left out and why: up to three, or one if there is not enough room.
 * The sums are of `metric`. "12.0 KiB live in 3 blocks of libc; ..." */
void summary_ignored(const struct call_tree *t, const struct frame_table *frames,
                     enum metric metric, const struct style *s, size_t room, struct strbuf *out);

/* One sentence, if most bytes are charged to functions that only call malloc for others. */
void summary_wrappers(const struct answer *a, const struct style *s, struct strbuf *out);

/* One argument, quoted if a shell needs it. */
void summary_argument(struct strbuf *out, const char *arg);

/* The command with its arguments, quoted if a shell needs it, in at most `width` columns. */
void summary_command(const struct profile *p, size_t width, struct strbuf *out);

/* The same with the program without its folder: in a list, the arguments make the difference. */
void summary_short_command(const struct profile *p, size_t width, struct strbuf *out);

/* The file name of the program. */
void summary_program_name(const struct profile *p, struct strbuf *out);

/* "exit status 0", "killed by SIGSEGV (signal 11)", ... */
void summary_ending(const struct profile *p, struct strbuf *out);

#endif
