/* Names found by several threads: the same that a symbolizer finds alone. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/naming/resolver.h"
#include "symbol/symbolizer.h"

enum { FILES = 6, PLACES = 300 };

static char directory[] = "/tmp/tide-resolver-XXXXXX";
static char paths[FILES][64];

/* Libraries with functions of their own, and lines and inlined frames. */
static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    for (int i = 0; i < FILES; i++) {
        char command[1024];
        snprintf(paths[i], sizeof paths[i], "%s/lib%d.so", directory, i);
        snprintf(command, sizeof command,
                 "cd %s && { for n in 1 2 3 4 5 6 7 8 9; do"
                 " echo \"static inline int in${n}(int v) { return v * $n + %d; }\";"
                 " echo \"int f%d_$n(int v) {\"; echo \"return in$n(v) / (v + $n); }\"; done; }"
                 " >s%d.c && cc -shared -fPIC -O2 -g -gz=zlib -o %s s%d.c",
                 directory, i, i, i, paths[i], i);
        if (system(command) != 0)
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static uint64_t address_at(size_t place)
{
    return 0x1000 + place * 2; /* code begins there; behind its end there are no names */
}

/* How many frames had a line, so that nothing is not taken for equal. */
static size_t compare(struct resolver *r, struct symbolizer *s, struct code_address place)
{
    const struct symbol_frame *expected;
    size_t count = 0, lines = 0;
    const char *path = resolver_path(r, place.file);
    size_t expected_count =
        symbolizer_resolve(s, symbolizer_file(s, path, NULL, 0), place.address, &expected);
    const struct frame *frames = resolver_frames(r, place, &count);
    assert_non_null(frames);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(resolver_string(r, frames[i].function), expected[i].function);
        assert_string_equal(resolver_string(r, frames[i].file),
                            expected[i].file ? expected[i].file : "");
        assert_int_equal(frames[i].line, expected[i].line);
        assert_int_equal(frames[i].kind, expected[i].inlined ? FRAME_INLINED : FRAME_NATIVE);
        lines += frames[i].line != 0;
    }
    return lines;
}

static size_t compare_all(struct resolver *r, uint32_t file)
{
    struct symbolizer *s = symbolizer_new();
    size_t lines = 0;
    for (size_t i = 0; i < PLACES; i++)
        lines += compare(r, s, (struct code_address){file, address_at(i)});
    symbolizer_free(s);
    return lines;
}

/* KiB of a file of ours that are resident here; *mapped: is it mapped at all? */
static size_t resident_kib(const char *part, bool *mapped)
{
    char *line = NULL;
    size_t room = 0, sum = 0, kib;
    bool wanted = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    assert_non_null(f);
    *mapped = false;
    while (getline(&line, &room, f) > 0) {
        if (strchr("0123456789abcdef", line[0])) {
            wanted = strstr(line, part) != NULL;
            *mapped |= wanted;
        } else if (wanted && sscanf(line, "Rss: %zu", &kib) == 1) {
            sum += kib;
        }
    }
    free(line);
    fclose(f);
    return sum;
}

/* Symbol tables of 20,000 long names are read through for one name, and do not stay. */
static void test_large_tables_do_not_stay(void **state)
{
    (void)state;
    char command[1024], path[64];
    bool mapped;
    size_t count;
    snprintf(path, sizeof path, "%s/large.so", directory);
    snprintf(command, sizeof command,
             "cd %s && awk 'BEGIN { for (i = 0; i < 20000; i++) {"
             " n = sprintf(\"function_%%090d\", i);"
             " print \".globl \" n \"\\n.type \" n \", @function\\n\" n"
             " \": ret\\n.size \" n \", 1\" } }' >large.s &&"
             " cc -shared -nostdlib -o large.so large.s",
             directory);
    assert_int_equal(system(command), 0);
    struct resolver *r = resolver_new(true);
    struct code_address place = {resolver_file(r, path, NULL, 0), 0};
    for (place.address = 0x1000; place.address < 0x1000000; place.address += 0x1000)
        resolver_ask(r, place); /* wherever the code is */
    resolver_send(r);
    while (!resolver_is_settled(r))
        usleep(1000);
    size_t kib = resident_kib("/large.so", &mapped);
    assert_true(mapped);
    assert_true(kib < 1024); /* the tables have more than 5,000 */
    resolver_wait(r, NULL, NULL);
    resident_kib("/large.so", &mapped);
    assert_false(mapped);
    size_t named = 0;
    for (place.address = 0x1000; place.address < 0x1000000; place.address += 0x1000) {
        const struct frame *frames = resolver_frames(r, place, &count);
        assert_non_null(frames);
        named += strncmp(resolver_string(r, frames[0].function), "function_0", 10) == 0;
    }
    assert_true(named >= 4);
    resolver_free(r);
}

/* Some is asked before the end, the rest right before it, and some of it twice. */
static void test_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct resolver *r = resolver_new(round % 2);
        uint32_t files[FILES];
        for (int f = 0; f < FILES; f++) {
            files[f] = resolver_file(r, paths[f], NULL, 0);
            assert_int_equal(resolver_file(r, paths[f], NULL, 0), files[f]);
        }
        for (size_t i = 0; i < PLACES; i++) {
            for (int f = 0; f < FILES; f++) {
                resolver_ask(r, (struct code_address){files[f], address_at(i)});
                resolver_ask(r, (struct code_address){files[f], address_at(i / 2)});
            }
            if (i == PLACES / 20 * (size_t)round || i + 1 == PLACES)
                resolver_send(r);
        }
        resolver_wait(r, NULL, NULL);
        bool mapped;
        resident_kib(directory, &mapped);
        assert_false(mapped); /* all that is needed of the files is in memory */
        for (int f = 0; f < FILES; f++)
            assert_true(compare_all(r, files[f]) > 20);
        resolver_free(r);
    }
}

/* A copy of us, made while threads are at work, finds all by itself. */
static void test_fork(void **state)
{
    (void)state;
    struct resolver *r = resolver_new(false);
    for (int f = 0; f < FILES; f++)
        for (size_t i = 0; i < PLACES; i += 2)
            resolver_ask(r,
                         (struct code_address){resolver_file(r, paths[f], NULL, 0), address_at(i)});
    resolver_send(r);
    for (int round = 0; round < 8; round++) {
        int status;
        resolver_hold(r);
        pid_t copy = fork();
        assert_true(copy >= 0);
        if (copy == 0) {
            size_t lines = 0;
            resolver_alone(r);
            resolver_go_on(r);
            for (uint32_t f = 0; f < FILES; f++)
                lines += compare_all(r, f);
            _exit(lines > 20 * FILES ? 0 : 1);
        }
        resolver_go_on(r);
        assert_int_equal(waitpid(copy, &status, 0), copy);
        assert_int_equal(status, 0);
    }
    resolver_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_large_tables_do_not_stay),
                                       cmocka_unit_test(test_fork)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
