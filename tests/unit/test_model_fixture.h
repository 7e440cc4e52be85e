/*
 * Recordings built by hand for tests of src/model and src/answer.
 *
 * The sample program, with addresses that are easy to read (0x1010 is in `main` and so on):
 *
 *     main (app.c:10) ─ parse (app.c:20) ─ node A   100 B blocks
 *     main ─ parse ─ parse ─ parse ─ node B         recursion
 *     main ─ store, with std::vector inlined ─ node C
 *     worker (app.c:50) ─ lookup in libx.so, without symbols ─ node D, thread "worker"
 *     main ─ mmap'ed by loader ─ node E, domain mapped
 */
#ifndef TIDE_TEST_MODEL_FIXTURE_H
#define TIDE_TEST_MODEL_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/answer.h"

#define SECOND UINT64_C(1000000000)

struct sym {
    const char *function, *module, *file;
    uint32_t line;
    enum frame_kind kind;
};

static inline void fx_symbols(struct recording *r, struct profile *p, uint64_t address, int count,
                              const struct sym *syms)
{
    if (!p->frame_runs.count)
        *vec_push(&p->frame_runs) = 0;
    *map_at(&p->symbols, address) = (uint32_t)p->frame_runs.count - 1;
    for (int i = 0; i < count; i++) {
        struct frame f = {.function = strpool_add(&r->strings, syms[i].function),
                          .module = strpool_add(&r->strings, syms[i].module),
                          .file = syms[i].file ? strpool_add(&r->strings, syms[i].file) : 0,
                          .line = syms[i].line,
                          .kind = syms[i].kind};
        *vec_push(&p->frames) = f;
    }
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
}

static inline uint32_t fx_node(struct profile *p, uint32_t parent, uint64_t address)
{
    *vec_push(&p->nodes) = (struct node){.parent = parent, .address = address};
    return (uint32_t)p->nodes.count - 1;
}

static inline uint32_t fx_thread(struct profile *p, uint32_t tid, const char *name)
{
    *vec_push(&p->threads) = (struct thread){.tid = tid, .name = xstrdup(name)};
    return (uint32_t)p->threads.count - 1;
}

static inline uint32_t fx_site(struct profile *p, uint32_t node, uint32_t thread, uint32_t domain)
{
    *vec_push(&p->sites) = (struct site){.node = node, .thread = thread, .domain = domain};
    return (uint32_t)p->sites.count - 1;
}

/* What was live at the peak and at the site's own, and the largest block. */
static inline void fx_peaks(struct profile *p, uint32_t site, uint64_t bytes, uint64_t blocks,
                            uint64_t own_bytes, uint64_t own_blocks, uint64_t largest)
{
    struct site *s = &p->sites.items[site];
    s->at_peak_bytes = bytes;
    s->at_peak_blocks = blocks;
    s->at_peak_usable = bytes + 8 * blocks;
    s->own_peak_bytes = own_bytes;
    s->own_peak_blocks = own_blocks;
    s->largest_bytes = largest;
}

static inline struct interval *fx_interval(struct profile *p, uint64_t end_ns, uint64_t peak_bytes)
{
    struct interval *i = vec_push(&p->intervals);
    *i = (struct interval){.end_ns = end_ns, .peak_bytes = peak_bytes, .first_row = p->rows.count};
    return i;
}

/* A row of the last interval: blocks of one size, some freed, some of these temporary. */
static inline void fx_row(struct profile *p, uint32_t site, uint64_t size, uint64_t allocs,
                          uint64_t frees, uint64_t temps)
{
    struct row row = {.site = site};
    row.columns[COL_ALLOCS] = allocs;
    row.columns[COL_BYTES] = allocs * size;
    row.columns[COL_FREES] = frees;
    row.columns[COL_FREED] = frees * size;
    row.columns[COL_TEMPS] = temps;
    row.columns[COL_TEMP_BYTES] = temps * size;
    row.columns[COL_USABLE] = allocs * (size + 8); /* every block is rounded up by 8 */
    row.columns[COL_USABLE_FREED] = frees * (size + 8);
    *vec_push(&p->rows) = row;
    vec_last(&p->intervals)->row_count++;
}

static inline struct profile *fx_profile(struct recording *r, uint32_t pid, uint32_t ppid,
                                         const char *program)
{
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.pid = pid, .ppid = ppid, .complete = true};
    *vec_push(&p->command) = xstrdup(program);
    *vec_push(&p->nodes) = (struct node){0};
    return p;
}

enum { SITE_A, SITE_B, SITE_C, SITE_D, SITE_E };

static inline void fx_symbol_table(struct recording *r, struct profile *p)
{
    fx_symbols(r, p, 0x1010, 1, (struct sym[]){{"main", "/bin/app", "/src/app.c", 10, 0}});
    fx_symbols(r, p, 0x1011, 1, (struct sym[]){{"main", "/bin/app", "/src/app.c", 11, 0}});
    fx_symbols(r, p, 0x1020, 1, (struct sym[]){{"parse(int)", "/bin/app", "/src/app.c", 20, 0}});
    fx_symbols(r, p, 0x1021, 1, (struct sym[]){{"parse(int)", "/bin/app", "/src/app.c", 21, 0}});
    fx_symbols(r, p, 0x1030, 3,
               (struct sym[]){{"void std::vector<int>::_M_realloc_insert<int>(int&&)", "/bin/app",
                               "/usr/include/c++/12/bits/vector.tcc", 440, FRAME_INLINED},
                              {"push_back", "/bin/app", "/usr/include/c++/12/bits/stl_vector.h",
                               1280, FRAME_INLINED},
                              {"Store::add(int)", "/bin/app", "/src/store.cc", 30, 0}});
    fx_symbols(r, p, 0x1040, 1,
               (struct sym[]){{"operator new(unsigned long)", "/lib/libstdc++.so.6", NULL, 0, 0}});
    fx_symbols(r, p, 0x1050, 1, (struct sym[]){{"worker", "/bin/app", "/src/app.c", 50, 0}});
}

/*
 *          1 s                      2 s                    4 s
 * A 100 B  10 allocated, 4 freed    2 freed                                live 4   (400 B)
 * B  10 B  1 allocated              9 allocated            5 freed         live 5   ( 50 B)
 * C 1000 B                          3 allocated            3 freed, 1 t.   live 0
 * D  64 B                                                  100 a, 50 f     live 50  (3200 B)
 * E 4096 B 2 mapped                                        1 unmapped      live 1
 * The peak is at 1.9 s: A 500 B in 5, B 100 B in 10, C 3000 B in 3.
 */
static inline struct recording *fx_sample(void)
{
    struct recording *r = recording_new();
    r->complete = true;
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    *vec_push(&p->modules) = (struct module){
        .start = 0x7000, .end = 0x8000, .bias = 0x6000, .path = xstrdup("/lib/libx.so")};
    uint32_t main_thread = fx_thread(p, 100, "main"), worker = fx_thread(p, 101, "worker");

    uint32_t main_node = fx_node(p, 0, 0x1010), other_line = fx_node(p, 0, 0x1011);
    uint32_t a = fx_node(p, main_node, 0x1020);
    uint32_t b = fx_node(p, fx_node(p, fx_node(p, other_line, 0x1020), 0x1020), 0x1021);
    uint32_t c = fx_node(p, fx_node(p, main_node, 0x1030), 0x1040);
    uint32_t d = fx_node(p, fx_node(p, 0, 0x1050), 0x7100);
    fx_site(p, a, main_thread, DOMAIN_HEAP);
    fx_site(p, b, main_thread, DOMAIN_HEAP);
    fx_site(p, c, main_thread, DOMAIN_HEAP);
    fx_site(p, d, worker, DOMAIN_HEAP);
    fx_site(p, main_node, main_thread, DOMAIN_MAPPED);
    fx_peaks(p, SITE_A, 500, 5, 800, 8, 100);
    fx_peaks(p, SITE_B, 100, 10, 100, 10, 10);
    fx_peaks(p, SITE_C, 3000, 3, 3000, 3, 1000);
    fx_peaks(p, SITE_D, 0, 0, 3200, 50, 64);
    fx_peaks(p, SITE_E, 8192, 2, 8192, 2, 4096);

    fx_interval(p, 1 * SECOND, 800)->unknown_frees = 1;
    fx_row(p, SITE_A, 100, 10, 4, 2);
    fx_row(p, SITE_B, 10, 1, 0, 0);
    fx_row(p, SITE_E, 4096, 2, 0, 0);
    fx_interval(p, 2 * SECOND, 3600)->lost_events = 3;
    fx_row(p, SITE_A, 100, 0, 2, 0);
    fx_row(p, SITE_B, 10, 9, 0, 0);
    fx_row(p, SITE_C, 1000, 3, 0, 0);
    fx_interval(p, 4 * SECOND, 3650)->truncated_stacks = 2;
    fx_row(p, SITE_B, 10, 0, 5, 0);
    fx_row(p, SITE_C, 1000, 0, 3, 1);
    fx_row(p, SITE_D, 64, 100, 50, 20);
    vec_last(&p->rows)->columns[COL_REALLOCS] = 7;
    fx_row(p, SITE_E, 4096, 0, 1, 0);
    p->duration_ns = 4 * SECOND;
    p->peak_bytes = 3600;
    p->peak_blocks = 18;
    p->peak_time_ns = 19 * SECOND / 10;
    return r;
}

/* The row of that name; fails the test when there is none or more than one. */
static inline const struct answer_row *fx_find(const struct answer *a, const char *name)
{
    const struct answer_row *found = NULL;
    for (size_t i = 0; i < a->rows.rows.count; i++)
        if (strcmp(a->rows.rows.items[i].name, name) == 0) {
            if (found)
                fail_msg("two rows are named %s", name);
            found = &a->rows.rows.items[i];
        }
    if (!found)
        fail_msg("no row is named %s", name);
    return found;
}

static inline void fx_expect(const struct answer *a, const char *name, int64_t self,
                             int64_t self_count, int64_t total, int64_t total_count)
{
    const struct answer_row *row = fx_find(a, name);
    if (row->self.amount != self || row->self.count != self_count || row->total.amount != total ||
        row->total.count != total_count)
        fail_msg("%s: self %lld in %lld, total %lld in %lld; expected %lld in %lld, %lld in %lld",
                 name, (long long)row->self.amount, (long long)row->self.count,
                 (long long)row->total.amount, (long long)row->total.count, (long long)self,
                 (long long)self_count, (long long)total, (long long)total_count);
}

/* The selves of all rows must be the sum of the question, which must be `amount` in `count`. */
static inline void fx_expect_sum(const struct answer *a, int64_t amount, int64_t count)
{
    struct value sum = {0};
    for (size_t i = 0; i < a->rows.rows.count; i++)
        value_join(&sum, a->rows.rows.items[i].self, false);
    assert_int_equal(sum.amount, amount);
    assert_int_equal(sum.count, count);
    assert_int_equal(a->tree.sum.amount, amount);
    assert_int_equal(a->tree.sum.count, count);
}

static inline void fx_answer(struct answer *a, const struct recording *r, const struct query *q)
{
    struct err err = {{0}};
    if (answer_query(a, r, q, &err))
        fail_msg("%s", err.text);
}

/* The question is refused with this code and a sentence that has this text in it. */
static inline void fx_refused(const struct recording *r, const struct query *q, int code,
                              const char *text)
{
    struct answer a;
    struct err err = {{0}};
    assert_int_equal(answer_query(&a, r, q, &err), code);
    if (!strstr(err.text, text) || strchr(err.text, '\n'))
        fail_msg("'%s' should say '%s' in one line", err.text, text);
}

#endif
