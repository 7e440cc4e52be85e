/*
 * Programs that are compiled by each test of the symbolizer, in a folder of its own, and what is
 * asked of them.
 */
#ifndef TIDE_TEST_SYMBOLIZER_FIXTURE_H
#define TIDE_TEST_SYMBOLIZER_FIXTURE_H

#include "unit.h"

#include <inttypes.h>
#include <unistd.h>

#include "symbol/symbolizer.h"

static char directory[256];
static struct symbolizer *symbolizer;
static const struct symbol_frame *frames;

__attribute__((format(printf, 1, 2))) static inline char *text(const char *format, ...)
{
    static char buffers[64][4096];
    static unsigned int next;
    char *buffer = buffers[next++ % 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof *buffers, format, arguments);
    va_end(arguments);
    return buffer;
}

static inline char *path(const char *name)
{
    return text("%s/%s", directory, name);
}

static inline int tried(const char *command)
{
    return system(text("cd %s && { %s; } >/dev/null 2>&1", directory, command));
}

static inline void must(const char *command)
{
    if (tried(command) != 0)
        fail_msg("command failed: %s", command);
}

static inline void source(const char *name, const char *contents)
{
    FILE *file = fopen(path(name), "w");
    assert_non_null(file);
    fputs(contents, file);
    assert_int_equal(fclose(file), 0);
}

static inline uint32_t line_of(const char *contents, const char *remark)
{
    const char *at = strstr(contents, remark);
    assert_non_null(at);
    uint32_t line = 1;
    for (const char *c = contents; c < at; c++)
        line += *c == '\n';
    return line;
}

/* The address and the size of a symbol; a size that nm does not know is 0. */
static inline void symbol_of(const char *program, const char *label, uint64_t *address,
                             uint64_t *size)
{
    FILE *nm = popen(text("nm -P %s", path(program)), "r");
    assert_non_null(nm);
    char line[4096], name[4096];
    *address = *size = 0;
    while (fgets(line, sizeof line, nm)) {
        uint64_t at, bytes = 0;
        if (sscanf(line, "%4095s %*c %" SCNx64 " %" SCNx64, name, &at, &bytes) >= 2 &&
            !strcmp(name, label)) {
            *address = at;
            *size = bytes;
        }
    }
    pclose(nm);
    if (!*address)
        fail_msg("no symbol %s in %s", label, program);
}

static inline uint64_t address_of(const char *program, const char *label)
{
    uint64_t address, size;
    symbol_of(program, label, &address, &size);
    return address;
}

static inline uint64_t size_of(const char *program, const char *label)
{
    uint64_t address, size;
    symbol_of(program, label, &address, &size);
    return size;
}

static inline size_t resolve(const char *program, uint64_t address)
{
    return symbolizer_resolve(symbolizer, symbolizer_file(symbolizer, path(program), NULL, 0),
                              address, &frames);
}

static inline const char *function_at(const char *program, uint64_t address)
{
    assert_int_equal(resolve(program, address), 1);
    assert_false(frames[0].inlined);
    return frames[0].function;
}

static inline void assert_frame(size_t i, const char *function, const char *file, uint32_t line,
                                bool inlined)
{
    assert_string_equal(frames[i].function, function);
    assert_non_null(frames[i].file);
    assert_string_equal(frames[i].file, file);
    assert_int_equal(frames[i].line, line);
    assert_int_equal(frames[i].inlined, inlined);
}

static inline int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/tide-symbols-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    symbolizer = symbolizer_new();
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    symbolizer_free(symbolizer);
    return system(text("rm -rf %s", directory));
}

#endif
