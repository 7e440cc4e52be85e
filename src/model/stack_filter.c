#include "model/stack_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/frames.h"

void stack_filter_release(struct stack_filter *f)
{
    pattern_list_release(&f->within);
    pattern_list_release(&f->ignore);
    for (size_t i = 0; i < f->paths.count; i++)
        free(f->paths.items[i]);
    vec_release(&f->paths);
    pattern_list_release(&f->fold);
    rename_list_release(&f->merge);
    suppressions_release(&f->suppress);
}

bool stack_filter_is_given(const struct stack_filter *f)
{
    return f->within.patterns.count || f->paths.count || f->ignore.patterns.count ||
           f->fold.patterns.count || f->merge.rules.count || f->no_fold || f->python_only ||
           f->native_only || f->thread || f->suppress.rules.count || f->presets || f->no_defaults;
}

bool stack_filter_takes_all(const struct recording *r, const struct stack_filter *f)
{
    return !f->within.patterns.count && !f->paths.count && !f->ignore.patterns.count &&
           !f->suppress.rules.count && !f->presets && !f->thread && !f->match &&
           (f->no_defaults || !r->defaults.count);
}

static void take_suppressions(struct suppressions *s, const struct recorded_default *d)
{
    size_t before = s->rules.count;
    suppressions_parse(s, d->text, strlen(d->text), d->name, NULL);
    for (size_t i = before; i < s->rules.count; i++)
        s->rules.items[i].only_leaks = d->kind == DEFAULT_OF_PROGRAM;
}

/* A --within of the question replaces the recorded one; --ignore adds to the recorded one. */
void recorded_filter_take(struct recorded_filter *r, const struct recording *from,
                          const struct stack_filter *f)
{
    for (size_t i = 0; i < from->defaults.count; i++) {
        const struct recorded_default *d = &from->defaults.items[i];
        if ((d->kind == DEFAULT_WITHIN || d->kind == DEFAULT_IGNORE) &&
            !pattern_is_harmless(d->text))
            continue;
        if (d->kind == DEFAULT_WITHIN && !f->within.patterns.count)
            pattern_list_add(&r->within, d->text, "--within", NULL);
        else if (d->kind == DEFAULT_IGNORE)
            pattern_list_add(&r->ignore, d->text, "--ignore", NULL);
        else if (d->kind == DEFAULT_SUPPRESSIONS || d->kind == DEFAULT_OF_PROGRAM)
            take_suppressions(&r->suppress, d);
    }
}

void recorded_filter_release(struct recorded_filter *r)
{
    pattern_list_release(&r->within);
    pattern_list_release(&r->ignore);
    suppressions_release(&r->suppress);
}

uint16_t stack_filter_name_flags(const struct stack_filter *f, const struct recorded_filter *r,
                                 const char *name)
{
    bool within = pattern_list_match(&f->within, name) || pattern_list_match(&r->within, name);
    bool ignored = pattern_list_match(&f->ignore, name) || pattern_list_match(&r->ignore, name);
    return (uint16_t)((within ? CALL_WITHIN : 0) | (ignored ? CALL_IGNORED : 0));
}

bool stack_filter_has_file(const struct stack_filter *f, const char *file)
{
    for (size_t i = 0; i < f->paths.count; i++)
        if (strncmp(file, f->paths.items[i], strlen(f->paths.items[i])) == 0)
            return true;
    return false;
}

static bool *chosen_threads(const struct profile *p, const char *wanted, struct err *err)
{
    bool *chosen = xcalloc(p->threads.count + 1, sizeof *chosen), any = false;
    char *end;
    unsigned long tid = strtoul(wanted, &end, 10);
    bool number = *wanted && !*end;
    for (size_t i = 0; i < p->threads.count; i++) {
        const struct thread *t = &p->threads.items[i];
        chosen[i] = (t->name && strcmp(t->name, wanted) == 0) || (number && t->tid == tid);
        any |= chosen[i];
    }
    if (!any) {
        err_set(err, -ENOENT,
                "no thread is named '%s'; --by thread lists the threads of this process", wanted);
        free(chosen);
        return NULL;
    }
    return chosen;
}

int stack_choice_init(struct stack_choice *c, const struct frame_table *frames, struct err *err)
{
    const struct stack_filter *f = frames->filter;
    const struct profile *p = frames->profile;
    *c = (struct stack_choice){.thread_count = p->threads.count};
    if (frames->recorded.within.patterns.count || (f && f->within.patterns.count))
        c->needed |= CALL_WITHIN;
    if (f && f->paths.count)
        c->needed |= CALL_IN_PATH;
    if (f && f->thread && !(c->threads = chosen_threads(p, f->thread, err)))
        return -ENOENT;
    return 0;
}

void stack_choice_release(struct stack_choice *c)
{
    free(c->threads);
    *c = (struct stack_choice){0};
}

/* Does any frame seen so far, or else any frame of any stack, have the flag? */
static bool any_frame_has(struct frame_table *t, enum call_flag flag)
{
    const struct profile *p = t->profile;
    for (size_t i = 0; i < t->frames.count; i++)
        if (t->frames.items[i].flags & flag)
            return true;
    for (size_t n = 1; n < p->nodes.count; n++) {
        struct frame_run run = frame_table_run(t, n);
        for (uint32_t i = 0; i < run.count; i++)
            if (t->frames.items[t->list.items[run.first + i]].flags & flag)
                return true;
    }
    return false;
}

int stack_filter_check(struct frame_table *t, struct err *err)
{
    const struct stack_filter *f = t->filter;
    if (!f || f->lenient || t->profile->nodes.count < 2)
        return 0;
    if (f->within.patterns.count && !any_frame_has(t, CALL_WITHIN))
        return err_set(err, -ENOENT,
                       "no stack of this process has a function that matches --within '%s'%s",
                       f->within.patterns.items[0].text,
                       f->within.patterns.count > 1 ? ", nor the others" : "");
    if (f->paths.count && !any_frame_has(t, CALL_IN_PATH))
        return err_set(err, -ENOENT,
                       "no stack of this process has a function whose file begins with "
                       "--within-path '%s'%s; --by file lists the files",
                       f->paths.items[0], f->paths.count > 1 ? ", nor with the others" : "");
    return 0;
}
