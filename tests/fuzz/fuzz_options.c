/*
 * Any words as the options of `tidemark report`, on a recording whose names are any bytes: moments,
 * processes, patterns, rules for renaming, numbers; and what comes out must be JSON, in UTF-8.
 *
 * The first line is a name (its byte 1 stands for a line's end), every other line is an option.
 */
#include "fuzz.h"

#include <ctype.h>

#include "cli/options.c" /* the command line is no library */
#include "cli/query_options.c"
#include "model/answer.h"
#include "answer/report.h"

/* --- is it JSON? ------------------------------------------------------------------------------ */

struct text {
    const unsigned char *at;
};

static void json_utf8(struct text *t)
{
    unsigned char lead = *t->at++;
    unsigned more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t point = more ? lead & (0x3fu >> more) : lead;
    static const uint32_t least[] = {0x20, 0x80, 0x800, 0x10000};
    fuzz_must(lead < 0x80 || (lead >= 0xc0 && lead < 0xf8));
    for (unsigned i = 0; i < more; i++) {
        fuzz_must((*t->at & 0xc0) == 0x80);
        point = point << 6 | (*t->at++ & 0x3f);
    }
    fuzz_must(point >= least[more] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff));
}

static void json_text(struct text *t)
{
    fuzz_must(*t->at++ == '"');
    while (*t->at != '"') {
        if (*t->at != '\\') {
            json_utf8(t);
        } else if (*++t->at == 'u') {
            for (int i = 0; i < 4; i++)
                fuzz_must(isxdigit(*++t->at));
            t->at++;
        } else {
            fuzz_must(*t->at && strchr("\"\\/bfnrt", *t->at++));
        }
    }
    t->at++;
}

static void json_value_ok(struct text *t)
{
    char open = (char)*t->at;
    if (open == '"') {
        json_text(t);
    } else if (open == '{' || open == '[') {
        char close = open == '{' ? '}' : ']';
        bool first = true;
        for (t->at++; *t->at != close; first = false) {
            fuzz_must(first || *t->at++ == ',');
            if (open == '{') {
                json_text(t);
                fuzz_must(*t->at++ == ':');
            }
            json_value_ok(t);
        }
        t->at++;
    } else if (isalpha((unsigned char)open)) {
        size_t n = strspn((const char *)t->at, "truefalsn");
        fuzz_must((n == 4 && !memcmp(t->at, "true", 4)) || (n == 4 && !memcmp(t->at, "null", 4)) ||
                  (n == 5 && !memcmp(t->at, "false", 5)));
        t->at += n;
    } else {
        char *end;
        strtod((const char *)t->at, &end);
        fuzz_must((isdigit((unsigned char)open) || open == '-') &&
                  (const unsigned char *)end > t->at);
        t->at = (const unsigned char *)end;
    }
}

/* --- a recording with such names -------------------------------------------------------------- */

static struct recording *named(const char *name)
{
    struct recording *r = recording_new();
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.pid = 7, .executable = xstrdup(name), .host = xstrdup(name)};
    *vec_push(&p->command) = xstrdup(name);
    *vec_push(&p->notes) = xstrdup(name);
    *vec_push(&p->threads) = (struct thread){.tid = 7, .name = xstrdup(name)};
    *vec_push(&p->nodes) = (struct node){0};
    *vec_push(&p->frame_runs) = 0;
    for (uint32_t i = 0; i < 3; i++) {
        *vec_push(&p->nodes) = (struct node){.parent = i, .address = 0x1000 + i};
        *map_at(&p->symbols, 0x1000 + i) = i;
        *vec_push(&p->frames) =
            (struct frame){.function = strpool_add(&r->strings, i ? name : "main"),
                           .module = strpool_add(&r->strings, name),
                           .file = strpool_add(&r->strings, name),
                           .line = i};
        *vec_push(&p->frame_runs) = i + 1;
        *vec_push(&p->sites) = (struct site){.node = i + 1, .unit_bytes = 16, .unit_usable = 24};
        *vec_push(&p->rows) = (struct row){.site = i, .columns = {i + 1, 16 * (i + 1)}};
        *vec_push(&p->intervals) = (struct interval){
            .end_ns = (i + 1) * UINT64_C(1000000000), .first_row = i, .row_count = 1};
    }
    p->duration_ns = UINT64_C(3000000000);
    r->complete = true;
    return r;
}

/* glibc's own limits are not ours: repeats of repeats and references back take for ever. */
static bool is_harmless(const char *word)
{
    size_t stars = 0;
    for (const char *s = word; *s; s++) {
        stars += strchr("*+?|", *s) != NULL;
        if (*s == '{' || (*s == '\\' && isdigit((unsigned char)s[1])))
            return false;
    }
    return stars < 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct query_command command = {.name = "report", .files = 1};
    char *text = xstrndup((const char *)data, size), *rest = text, *argv[34] = {"report", "x.tide"};
    const char *name = strsep(&rest, "\n");
    int argc = 2;
    for (char *s = text; *s; s++)
        *s = *s == 1 ? '\n' : *s;
    while (rest && argc < 33) {
        argv[argc] = strsep(&rest, "\n");
        if (is_harmless(argv[argc]))
            argc++;
    }
    argv[argc] = NULL;
    struct query_options o;
    struct answer a;
    struct err err;
    if (query_options_parse(&o, argc, argv, &command, &err) == 0) {
        struct recording *r = named(name);
        if (!o.help && answer_query(&a, r, &o.query, &err) == 0) {
            struct strbuf out = {0};
            const struct style style = {0};
            report_json(&a, NULL, &out);
            struct text json = {(const unsigned char *)out.data};
            json_value_ok(&json);
            fuzz_must(strcmp((const char *)json.at, "\n") == 0);
            strbuf_clear(&out);
            report_text(&a, "x.tide", &style, &out);
            report_csv(&a, NULL, &out);
            strbuf_release(&out);
            answer_release(&a);
        }
        recording_free(r);
        query_options_release(&o);
    }
    free(text);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char *const seeds[] = {
        "f\n--metric\ntotal\n--by\nstack\n--at\n50%\n--since\nstart",
        "std::vector<int>::push_back\n--tree\n--min\n0.5%\n--top=3\n--fold\n^std::",
        "\xff\xc3\xa9\x01\"\\\n--within\nf|g\n--ignore\nh.*\n--merge\ns/f/g/g\n--no-fold",
        "f\n--callers\nf\n--by\nline\n--thread\nf\n--process\n7#1",
        "f\n--callees\nmain\n--size\nusable\n--at\n1.5s\n--python-only\n--metric=sitepeak",
        "f\n--by\nlibrary\n--metric\npeak\n--at\npeak\n--native-only\n--csv"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char file[16];
        snprintf(file, sizeof file, "words%zu", i);
        fuzz_save(folder, file, seeds[i], strlen(seeds[i]));
    }
}
