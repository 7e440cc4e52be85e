/*
 * Any bytes as a suppression file: read or refused with one sentence that names file and line, and
 * then matched against stacks.
 */
#include "fuzz.h"

#include "model/answer.h"

/* Three stacks, the second through the first's functions in another order. */
static struct recording *stacks(void)
{
    static const char *const names[] = {"main", "app::run(int)",
                                        "std::vector<int>::push_back(int&&)",
                                        "operator new(unsigned long)", "f.constprop.0"};
    struct recording *r = recording_new();
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.pid = 7};
    *vec_push(&p->nodes) = (struct node){0};
    *vec_push(&p->threads) = (struct thread){.name = xstrdup("main")};
    *vec_push(&p->modules) = (struct module){.path = xstrdup("/usr/lib/libapp.so.1")};
    *vec_push(&p->frame_runs) = 0;
    for (uint32_t i = 0; i < 5; i++) {
        *vec_push(&p->frames) = (struct frame){.function = strpool_add(&r->strings, names[i]),
                                               .module = strpool_add(&r->strings, "libapp.so.1"),
                                               .file = strpool_add(&r->strings, "/src/app.cc"),
                                               .line = i};
        *vec_push(&p->frame_runs) = i + 1;
        *map_at(&p->symbols, 16 + i) = i;
    }
    for (uint32_t i = 1; i <= 12; i++) {
        *vec_push(&p->nodes) =
            (struct node){.parent = i % 4 == 1 ? 0 : i - 1, .address = 16 + (i * i) % 5};
        *vec_push(&p->sites) = (struct site){.node = i};
        *vec_push(&p->rows) = (struct row){.site = i - 1, .columns = {1, 8}};
    }
    *vec_push(&p->intervals) = (struct interval){.end_ns = 1, .row_count = 12};
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct query q;
    struct err err = {{0}};
    query_init(&q);
    q.filter.leak_kinds = size % 16;
    int code = suppressions_parse(&q.filter.suppress, (const char *)data, size, "x.supp", &err);
    fuzz_must(code == 0 || (strncmp(err.text, "x.supp", 6) == 0 && !strchr(err.text, '\n')));
    size_t places = 0;
    for (size_t i = 0; i < q.filter.suppress.rules.count; i++) {
        fuzz_must(q.filter.suppress.rules.items[i].first == places);
        places += q.filter.suppress.rules.items[i].count;
    }
    fuzz_must(places == q.filter.suppress.places.count);
    struct recording *r = stacks();
    struct answer a;
    fuzz_must(answer_query(&a, r, &q, &err) == 0);
    fuzz_must(a.tree.sum.count + a.tree.ignored.count == 12);
    struct value by_rule = {0};
    for (size_t i = 0; i < a.tree.suppressed.count; i++)
        value_join(&by_rule, a.tree.suppressed.items[i].value, false);
    fuzz_must(by_rule.amount == a.tree.ignored.amount);
    answer_release(&a);
    query_release(&q);
    recording_free(r);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char *const seeds[] = {
        "# sanitizer\nleak:^app::run\nleak:*push*back$\nleak:libapp.so\nrace:x\n",
        "{\n  name\n  Memcheck:Leak\n  match-leak-kinds: definite,possible\n  fun:malloc\n"
        "  fun:_ZN3app3runEi\n  ...\n  obj:*/libapp.so*\n  src:app.cc:3\n}\n",
        "{\n a\n Memcheck,Helgrind:Leak\n ...\n fun:m?in\n}\n{\n b\n Memcheck:Param\n write(buf)\n"
        " fun:f\n}\nleak:main\n",
        "{\n c\n Memcheck:Leak\n fun:memalign\n fun:posix_memalign\n "
        "fun:_ZNSt6vectorIiE9push_backEOi\n"
        " fun:_ZN12_GLOBAL__N_13fooC2E*\n fun:_Z*\n}\n"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char file[16];
        snprintf(file, sizeof file, "list%zu", i);
        fuzz_save(folder, file, seeds[i], strlen(seeds[i]));
    }
}
