/*
 * The symbolizer on programs compiled here and now, whose sources say what must come out: an
 * address is that of a label in the code, a line that of the text holding a remark.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/disassembler.h"
#include "symbol/spans.h"
#include "symbol/symbolizer.h"
#include "symbol/unpack.h"

static char directory[256];
static struct symbolizer *symbolizer;
static const struct symbol_frame *frames;

/* ---- helpers ---- */

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
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

static char *path(const char *name)
{
    return text("%s/%s", directory, name);
}

static int tried(const char *command)
{
    return system(text("cd %s && { %s; } >/dev/null 2>&1", directory, command));
}

static void must(const char *command)
{
    if (tried(command) != 0)
        fail_msg("command failed: %s", command);
}

static void source(const char *name, const char *contents)
{
    FILE *file = fopen(path(name), "w");
    assert_non_null(file);
    fputs(contents, file);
    assert_int_equal(fclose(file), 0);
}

static uint32_t line_of(const char *contents, const char *remark)
{
    const char *at = strstr(contents, remark);
    assert_non_null(at);
    uint32_t line = 1;
    for (const char *c = contents; c < at; c++)
        line += *c == '\n';
    return line;
}

static uint64_t address_of(const char *program, const char *label)
{
    FILE *nm = popen(text("nm %s", path(program)), "r");
    assert_non_null(nm);
    char line[4096], name[4096];
    uint64_t address, found = 0;
    while (fgets(line, sizeof line, nm))
        if (sscanf(line, "%" SCNx64 " %*c %4095s", &address, name) == 2 && !strcmp(name, label))
            found = address;
    pclose(nm);
    if (!found)
        fail_msg("no symbol %s in %s", label, program);
    return found;
}

static size_t resolve(const char *program, uint64_t address)
{
    return symbolizer_resolve(symbolizer, symbolizer_file(symbolizer, path(program), NULL, 0),
                              address, &frames);
}

static const char *function_at(const char *program, uint64_t address)
{
    assert_int_equal(resolve(program, address), 1);
    assert_false(frames[0].inlined);
    return frames[0].function;
}

static void assert_frame(size_t i, const char *function, const char *file, uint32_t line,
                         bool inlined)
{
    assert_string_equal(frames[i].function, function);
    assert_non_null(frames[i].file);
    assert_string_equal(frames[i].file, file);
    assert_int_equal(frames[i].line, line);
    assert_int_equal(frames[i].inlined, inlined);
}

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/tide-symbols-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    symbolizer = symbolizer_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    symbolizer_free(symbolizer);
    return system(text("rm -rf %s", directory));
}

/* ---- C: inlined frames, wherever the debug information lies ---- */

static const char inlined_source[] =
    "#define MARK(name) __asm__ volatile(#name \": nop\")\n"
    "volatile int sink;\n"
    "static inline __attribute__((always_inline)) void inner(int n)\n"
    "{\n"
    "    sink += n;\n"
    "    MARK(at_inner); /* in inner */\n"
    "}\n"
    "static inline __attribute__((always_inline)) void middle(int n)\n"
    "{\n"
    "    sink -= n;\n"
    "    inner(n * 3); /* calls inner */\n"
    "    MARK(at_middle); /* in middle */\n"
    "}\n"
    "__attribute__((noinline)) void outer(int n)\n"
    "{\n"
    "    sink *= n;\n"
    "    middle(n + 1); /* calls middle */\n"
    "    MARK(at_outer); /* in outer */\n"
    "}\n"
    "__attribute__((noinline)) static void alone(int n) { sink = n; MARK(at_alone); } /* alone */\n"
    "int main(int argc, char **argv) { (void)argv; outer(argc); alone(argc); return 0; }\n";

static void assert_inlined(const char *program, const char *labels)
{
    char file[sizeof directory + 16];
    snprintf(file, sizeof file, "%s/inlined.c", directory);
    assert_int_equal(resolve(program, address_of(labels, "at_inner")), 3);
    assert_frame(0, "inner", file, line_of(inlined_source, "in inner"), true);
    assert_frame(1, "middle", file, line_of(inlined_source, "calls inner"), true);
    assert_frame(2, "outer", file, line_of(inlined_source, "calls middle"), false);
    assert_int_equal(resolve(program, address_of(labels, "at_middle")), 2);
    assert_frame(0, "middle", file, line_of(inlined_source, "in middle"), true);
    assert_frame(1, "outer", file, line_of(inlined_source, "calls middle"), false);
    assert_int_equal(resolve(program, address_of(labels, "at_outer")), 1);
    assert_frame(0, "outer", file, line_of(inlined_source, "in outer"), false);
    assert_int_equal(resolve(program, address_of(labels, "at_alone")), 1);
    assert_frame(0, "alone", file, line_of(inlined_source, "/* alone"), false);
    assert_true(
        symbol_file_has_lines(symbolizer, symbolizer_file(symbolizer, path(program), NULL, 0)));
}

static void test_inlined(void **state)
{
    (void)state;
    source("inlined.c", inlined_source);
    must("cc -O2 -g -o inlined inlined.c");
    assert_inlined("inlined", "inlined");
    must("cc -O2 -gdwarf-4 -o inlined4 inlined.c");
    assert_inlined("inlined4", "inlined4");
    must("cc -O2 -g -gz=zlib -o inlinedz inlined.c");
    assert_inlined("inlinedz", "inlinedz");
    must("cc -O2 -g -ffunction-sections -Wl,--gc-sections -o inlineds inlined.c");
    assert_inlined("inlineds", "inlineds");
    if (tried("clang --version") == 0) { /* writes no .debug_aranges */
        must("clang -O2 -g -o inlinedc inlined.c");
        assert_inlined("inlinedc", "inlinedc");
    }
}

/* ---- compressed sections ---- */

static void damage_last_byte(const char *name, const char *section_name)
{
    struct elf_image image;
    size_t names;
    long last = 0;
    assert_int_equal(elf_image_open(&image, path(name)), 0);
    assert_int_equal(elf_getshdrstrndx(image.elf, &names), 0);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image.elf, section));) {
        GElf_Shdr header;
        assert_non_null(gelf_getshdr(section, &header));
        if (strcmp(elf_strptr(image.elf, names, header.sh_name), section_name) != 0)
            continue;
        assert_true(header.sh_flags & SHF_COMPRESSED);
        last = (long)(header.sh_offset + header.sh_size) - 1;
    }
    elf_image_release(&image);
    FILE *file = fopen(path(name), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, last, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, last, SEEK_SET), 0);
    fputc(byte ^ 0xff, file);
    assert_int_equal(fclose(file), 0);
}

static void test_unpacked(void **state)
{
    (void)state;
    static const char *const sections[] = {".debug_info", ".debug_abbrev", ".debug_line",
                                           ".debug_str"};
    struct elf_image packed, plain;
    source("inlined.c", inlined_source);
    must("cc -O2 -g -gz=zlib -o packed inlined.c");
    must("objcopy --decompress-debug-sections packed plain");
    assert_int_equal(elf_image_open(&packed, path("packed")), 0);
    assert_int_equal(elf_image_open(&plain, path("plain")), 0);
    elf_image_unpack(&packed);
    elf_image_unpack(&plain);
    assert_non_null(packed.unpacked);
    assert_null(plain.unpacked);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const Elf_Data *a = elf_image_section(&packed, sections[i]);
        const Elf_Data *b = elf_image_section(&plain, sections[i]);
        assert_non_null(a);
        assert_non_null(b);
        assert_int_equal(a->d_size, b->d_size);
        assert_memory_equal(a->d_buf, b->d_buf, b->d_size);
    }
    elf_image_release(&packed);
    elf_image_release(&plain);
    /* The checksum is wrong: nothing of it is believed. */
    must("cp packed damaged");
    damage_last_byte("damaged", ".debug_info");
    assert_string_equal(function_at("damaged", address_of("packed", "at_outer")), "outer");
    assert_null(frames[0].file);
    assert_inlined("packed", "packed");
}

static void test_relative_source_path(void **state)
{
    (void)state;
    must("mkdir -p sub/.");
    source("sub/there.c", "int main(void) { return 0; }\n");
    must("cc -g -o there ./sub//there.c");
    assert_int_equal(resolve("there", address_of("there", "main")), 1);
    assert_frame(0, "main", path("sub/there.c"), 1, false);
}

static void test_debuglink(void **state)
{
    (void)state;
    source("inlined.c", inlined_source);
    must("cc -O2 -g -Wl,--build-id=none -o whole inlined.c && objcopy --only-keep-debug whole "
         "near.debug"
         " && objcopy --strip-all --add-gnu-debuglink=near.debug whole near");
    assert_inlined("near", "whole");

    must("mkdir .debug && cp near.debug .debug/below.debug"
         " && objcopy --strip-all --add-gnu-debuglink=.debug/below.debug whole below");
    assert_inlined("below", "whole");

    /* Another file under the right name: its checksum is wrong. */
    must("cp near.debug forged.debug && objcopy --strip-all --add-gnu-debuglink=forged.debug whole "
         "forged"
         " && printf x >> forged.debug");
    uint64_t address = address_of("whole", "at_alone");
    assert_string_equal(function_at("forged", address), text("forged+0x%" PRIx64, address));
    assert_null(frames[0].file);
    assert_false(
        symbol_file_has_lines(symbolizer, symbolizer_file(symbolizer, path("forged"), NULL, 0)));
}

static void test_build_id_directory(void **state)
{
    (void)state;
    source("inlined.c", inlined_source);
    must("cc -O2 -g -Wl,--build-id=0xabcdef0123456789 -o full inlined.c && strip -o bare full"
         " && mkdir -p root/.build-id/ab"
         " && objcopy --only-keep-debug full root/.build-id/ab/cdef0123456789.debug");
    struct elf_image bare, found;
    struct strbuf where = {0};
    assert_int_equal(elf_image_open(&bare, path("bare")), 0);
    assert_false(bare.has_dwarf);
    assert_int_equal(debugfile_find(path("root"), path("bare"), &bare, &found, &where), 0);
    assert_string_equal(where.data, path("root/.build-id/ab/cdef0123456789.debug"));
    assert_true(found.has_dwarf);
    elf_image_release(&found);

    must("cc -O2 -g -Wl,--build-id=0xabcdef0123456788 -o other inlined.c"
         " && objcopy --only-keep-debug other root/.build-id/ab/cdef0123456789.debug");
    assert_true(debugfile_find(path("root"), path("bare"), &bare, &found, &where) < 0);
    elf_image_release(&bare);
    strbuf_release(&where);
}

static void test_dwz(void **state)
{
    (void)state;
    if (tried("command -v dwz") != 0)
        skip();
    /* Two programs with the same functions, so that dwz moves what they share into a third file. */
    source("inlined.c", inlined_source);
    must("cc -O2 -g -o one inlined.c && cp one one.whole && cc -O2 -g -DTWO=2 -o two inlined.c"
         " && dwz -m shared.debug -M shared.debug one two && readelf -SW one | grep -q "
         "gnu_debugaltlink");
    assert_inlined("one", "one.whole");
    /* Without the shared part there are symbols, but no lines; and nothing else is opened. */
    must("cp one orphan && objcopy --dump-section .gnu_debugaltlink=link orphan"
         " && sed -i s/shared/absent/ link && objcopy --update-section .gnu_debugaltlink=link "
         "orphan");
    assert_string_equal(function_at("orphan", address_of("one.whole", "at_inner")), "outer");
    assert_null(frames[0].file);
}

/* ---- C++ ---- */

static const char cxx_source[] =
    "volatile int sink;\n"
    "#define MARK(name) __asm__ volatile(#name \": nop\")\n"
    "__attribute__((noinline)) int give(int a, int b) { MARK(at_ints); return sink + a + b; }\n"
    "__attribute__((noinline)) int give(double a) { MARK(at_double); return sink + (int)a; }\n"
    "namespace house {\n"
    "template <class T> struct Room {\n"
    "    T t;\n"
    "    explicit Room(T v) __attribute__((noinline)) : t(v) { sink = 1; MARK(at_constructor); }\n"
    "    __attribute__((noinline)) T grow(const T &more) const { MARK(at_grow); return t + more; "
    "}\n"
    "};\n"
    "namespace {\n"
    "__attribute__((noinline)) int hidden(const char *s) { MARK(at_hidden); return sink + *s; }\n"
    "inline __attribute__((always_inline)) int folded(Room<long> &r, unsigned n)\n"
    "{ sink += n; MARK(at_folded); return (int)r.t; } // folded\n"
    "struct Chest { short n; inline __attribute__((always_inline)) long open(const Chest *c, ...) "
    "const\n"
    "{ sink += n; MARK(at_open); return c->n; } };\n"
    "}\n"
    "__attribute__((noinline)) int use(int n) { Chest c{(short)n}; return (int)c.open(&c) + sink; "
    "}\n"
    "}\n"
    "__attribute__((noinline)) static int apply(int (*f)(double), long n) { MARK(at_apply); return "
    "f(n); }\n"
    "inline __attribute__((always_inline)) void tick(int n) { sink -= n; MARK(at_tick); } // tick\n"
    "inline __attribute__((always_inline)) void tock(int n) { sink -= n; MARK(at_tock); } // tock\n"
    "template <class T> struct Nest { T t;\n"
    "    inline __attribute__((always_inline)) T look(T n) const {\n"
    "        auto inside = [&]() __attribute__((noipa)) { tock((int)n); return sink; };\n"
    "        return t + (T)inside();\n"
    "    }\n"
    "};\n"
    "template <class T> __attribute__((noinline)) T twice(T t) { MARK(at_twice); return t + t; }\n"
    "extern \"C\" __attribute__((noinline)) int plain_c(int n) { MARK(at_c); return n + sink; }\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    house::Room<long> room(argc);\n"
    "    auto lambda = [&](int n) __attribute__((noinline)) { MARK(at_lambda); tick(n); return n + "
    "sink; "
    "};\n"
    "    auto first = [&](int n) { sink = n; };\n"
    "    auto near = [&](int n) { sink += n; MARK(at_near); };\n"
    "    first(argc), near(argc);\n"
    "    Nest<long> nest{argc};\n"
    "    return (int)nest.look(argc) + house::use(argc) + give(1, argc) + give(2.0) + "
    "(int)room.grow(3) + "
    "house::hidden(argv[0]) +\n"
    "           house::folded(room, 7) + // calls folded\n"
    "           twice<int>(argc) + apply(give, argc) + plain_c(5) + lambda(argc);\n"
    "}\n";

static void assert_cxx(const char *program, const char *labels)
{
    static const struct {
        const char *label, *name;
    } expected[] = {
        {"at_ints", "give(int, int)"},
        {"at_double", "give(double)"},
        {"at_constructor", "house::Room<long>::Room(long)"},
        {"at_grow", "house::Room<long>::grow(long const&) const"},
        {"at_hidden", "house::(anonymous namespace)::hidden(char const*)"},
        {"at_twice", "int twice<int>(int)"},
        {"at_apply", "apply(int (*)(double), long)"},
        {"at_c", "plain_c"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(function_at(program, address_of(labels, expected[i].label)),
                            expected[i].name);
}

static void test_cxx(void **state)
{
    (void)state;
    source("names.cc", cxx_source);
    must("c++ -O2 -g -o names names.cc");
    assert_cxx("names", "names");
    assert_int_equal(resolve("names", address_of("names", "at_ints")), 1);
    assert_frame(0, "give(int, int)", path("names.cc"), line_of(cxx_source, "at_ints"), false);
    assert_string_equal(function_at("names", address_of("names", "at_lambda")),
                        "main::{lambda(int)#1}::operator()(int) const");

    assert_int_equal(resolve("names", address_of("names", "at_tick")), 2);
    assert_frame(0, "tick(int)", path("names.cc"), line_of(cxx_source, "// tick"), true);
    assert_frame(1, "main::{lambda(int)#1}::operator()(int) const", path("names.cc"),
                 line_of(cxx_source, "tick(n);"), false);

    /* gcc puts the code of this lambda inside the lambda's type. */
    assert_int_equal(resolve("names", address_of("names", "at_tock")), 2);
    assert_frame(0, "tock(int)", path("names.cc"), line_of(cxx_source, "// tock"), true);
    assert_frame(1, "Nest<long>::look(long) const::{lambda()#1}::operator()() const",
                 path("names.cc"), line_of(cxx_source, "tock((int)"), false);

    assert_int_equal(resolve("names", address_of("names", "at_folded")), 2);
    assert_frame(1, "main", path("names.cc"), line_of(cxx_source, "calls folded"), false);
    assert_frame(0, "house::(anonymous namespace)::folded(house::Room<long>&, unsigned int)",
                 path("names.cc"), line_of(cxx_source, "// folded"), true);

    assert_true(resolve("names", address_of("names", "at_near")) == 2);
    assert_string_equal(frames[0].function, "main::{lambda(int)#3}::operator()(int) const");
    assert_true(frames[0].inlined);
    assert_true(resolve("names", address_of("names", "at_open")) >= 2);
    assert_string_equal(frames[0].function,
                        "house::(anonymous namespace)::Chest::open(house::(anonymous "
                        "namespace)::Chest const*, ...) const");

    must("strip -g -o names.symbols names"); /* the same names without DWARF */
    assert_cxx("names.symbols", "names");
    if (tried("clang++ --version") == 0) {
        must("clang++ -O2 -g -o namesc names.cc");
        assert_cxx("namesc", "namesc");
        assert_int_equal(resolve("namesc", address_of("namesc", "at_folded")), 2);
        assert_string_equal(
            frames[0].function,
            "house::(anonymous namespace)::folded(house::Room<long>&, unsigned int)");
    }
}

/* ---- symbols alone ---- */

static const char symbols_source[] =
    ".text\n"
    ".globl _start, _shown, write, __write, third\n"
    ".weak write, sec\n"
    "_start: nop\n"
    "gap: nop; nop; nop; nop; nop; nop; nop\n" /* an untyped label without a size, 7 bytes long */
    ".type sized, @function\n"
    "sized: nop; nop\n"
    "inside: nop; nop\n" /* a label inside a function is not a function */
    ".size sized, 4\n"
    "nop; nop; nop; nop\n" /* after its end: nobody's */
    ".type outer, @function\n"
    "outer: nop; nop\n"
    ".type nested, @function\n"
    "nested: nop; nop\n"
    ".size nested, 2\n"
    "nop; nop\n"
    ".size outer, 6\n"
    ".type write, @function\n.type __write, @function\n.type aaa, @function\n"
    "write: __write: aaa: nop; nop\n"
    ".size write, 2\n.size __write, 2\n.size aaa, 2\n"
    ".type first, @function\n.type sec, @function\n.type third, @function\n"
    "first: sec: third: nop\n"
    ".size first, 1\n.size sec, 1\n.size third, 1\n"
    ".type work.part.0.cold, @function\n"
    "work.part.0.cold: nop\n"
    ".size work.part.0.cold, 1\n"
    ".type _shown, @function\n"
    "_shown: nop\n"
    ".size _shown, 1\n"
    "tail: nop; nop; nop\n"
    ".data\n"
    "datum: .long 1, 2\n";

static void test_symbols(void **state)
{
    (void)state;
    source("symbols.s", symbols_source);
    must("cc -nostdlib -static -o symbols symbols.s");
    uint64_t at = address_of("symbols", "_start");
    static const struct {
        int offset;
        const char *name;
    } expected[] = {
        {0, "_start"}, {1, "gap"},     {7, "gap"},     {8, "sized"},  {10, "sized"}, {11, "sized"},
        {16, "outer"}, {18, "nested"}, {19, "nested"}, {20, "outer"}, {21, "outer"}, {22, "write"},
        {24, "third"}, {25, "work"},   {26, "_shown"}, {27, "tail"},  {29, "tail"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(function_at("symbols", at + (uint64_t)expected[i].offset),
                            expected[i].name);
    for (uint64_t offset = 12; offset < 16; offset++)
        assert_string_equal(function_at("symbols", at + offset),
                            text("symbols+0x%" PRIx64, at + offset));
    uint64_t datum = address_of("symbols", "datum");
    assert_string_equal(function_at("symbols", datum), text("symbols+0x%" PRIx64, datum));
    assert_string_equal(function_at("symbols", at - 1), text("symbols+0x%" PRIx64, at - 1));
    assert_string_equal(function_at("symbols", UINT64_MAX), "symbols+0xffffffffffffffff");
    assert_null(frames[0].file);
    assert_int_equal(frames[0].line, 0);
}

static void test_stripped_library(void **state)
{
    (void)state;
    source("library.c", "static int own(int n) { __asm__ volatile(\"at_own: nop\"); return n; }\n"
                        "int (*hook)(int) = own;\n"
                        "int shared_one(int n) { return n + 1; }\n");
    must("cc -O1 -shared -fPIC -o full.so library.c && strip --strip-all -o bare.so full.so");
    assert_string_equal(function_at("bare.so", address_of("full.so", "shared_one")), "shared_one");
    uint64_t own = address_of("full.so", "at_own");
    assert_string_equal(function_at("full.so", own), "own");
    assert_string_equal(function_at("bare.so", own), text("bare.so+0x%" PRIx64, own));
}

/* ---- files that are not what they should be ---- */

static void test_build_id(void **state)
{
    (void)state;
    source("small.c", "int main(void) { return 0; }\n");
    must("cc -g -Wl,--build-id=0x0123456789abcdef -o small small.c");
    uint64_t address = address_of("small", "main");
    const uint8_t right[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}, wrong[8] = {1};
    struct symbol_file *file = symbolizer_file(symbolizer, path("small"), right, sizeof right);
    assert_ptr_equal(file, symbolizer_file(symbolizer, path("small"), right, sizeof right));
    assert_int_equal(symbolizer_resolve(symbolizer, file, address, &frames), 1);
    assert_string_equal(frames[0].function, "main");
    file = symbolizer_file(symbolizer, path("small"), wrong, sizeof wrong);
    assert_int_equal(symbolizer_resolve(symbolizer, file, address, &frames), 1);
    assert_string_equal(frames[0].function, text("small+0x%" PRIx64, address));
    assert_false(symbol_file_has_lines(symbolizer, file));
}

/* ---- code: where a function is, and what it calls ---- */

static const char calls_source[] = "#include <stdlib.h>\n"
                                   "void *volatile sink;\n"
                                   "__attribute__((noinline)) static void own(void)\n"
                                   "{\n"
                                   "    sink = 0;\n"
                                   "}\n"
                                   "int main(void) /* declared */\n"
                                   "{\n"
                                   "    own();\n"
                                   "    sink = malloc(1);\n"
                                   "    return 0;\n"
                                   "}\n";

static uint64_t size_of(const char *program, const char *label)
{
    FILE *nm = popen(text("nm -S %s", path(program)), "r");
    assert_non_null(nm);
    char line[4096], name[4096];
    uint64_t size, found = 0;
    while (fgets(line, sizeof line, nm))
        if (sscanf(line, "%*x %" SCNx64 " %*c %4095s", &size, name) == 2 && !strcmp(name, label))
            found = size;
    pclose(nm);
    return found;
}

/* By its symbol, by DWARF when it has none, by unwind information when it has neither. */
static void test_extent(void **state)
{
    (void)state;
    source("calls.c", calls_source);
    must("gcc -g -O1 calls.c -o calls && cp calls no_symbols && strip -N main no_symbols");
    must("cp calls stripped && strip stripped");
    uint64_t begin = address_of("calls", "main"), size = size_of("calls", "main"), low, high;
    assert_true(size > 8);
    static const char *const names[] = {"calls", "no_symbols", "stripped"};
    for (size_t i = 0; i < 3; i++) {
        struct symbol_file *file = symbolizer_file(symbolizer, path(names[i]), NULL, 0);
        for (uint64_t at = 0; at < size; at++) {
            assert_true(symbol_file_extent(file, begin + at, &low, &high));
            assert_int_equal(low, begin);
            assert_int_equal(high, begin + size);
        }
        assert_false(symbol_file_extent(file, 8, &low, &high));
        assert_int_equal(symbol_file_state(file), SYMBOL_FILE_GOOD);
    }
    struct symbol_file *file = symbolizer_file(symbolizer, path("calls"), NULL, 0);
    assert_int_equal(symbolizer_declared(symbolizer, file, begin + 1, "main"),
                     line_of(calls_source, "/* declared */"));
    assert_int_equal(symbolizer_declared(symbolizer, file, begin + 1, "own"), 0);
}

/* Where the code of main leads to: a function of its own, and one of another file. */
static void called(const char *program, bool *own, bool *other)
{
    struct symbol_file *file = symbolizer_file(symbolizer, path(program), NULL, 0);
    uint64_t low = address_of(program, "main"), size = size_of(program, "main");
    size_t there;
    const uint8_t *code = symbol_file_code(file, low, &there);
    struct disassembler *d = disassembler_new(symbol_file_machine(file), NULL);
    assert_non_null(code);
    assert_non_null(d);
    assert_true(there >= size);
    *own = *other = false;
    for (uint64_t at = 0; at < size;) {
        struct instruction_text t;
        disassemble(d, code + at, size - at, low + at, &t);
        at += t.size;
        const char *name = t.has_target ? symbolizer_entry(symbolizer, file, t.target)
                           : t.has_slot ? symbolizer_slot(symbolizer, file, t.target)
                                        : NULL;
        *own |= name && !strcmp(name, "own");
        *other |= name && !strcmp(name, "malloc");
    }
    disassembler_free(d);
}

static void test_calls(void **state)
{
    (void)state;
    bool own, other;
    source("calls.c", calls_source);
    must("gcc -O1 calls.c -o lazy -Wl,-z,lazy && gcc -O1 calls.c -o now -Wl,-z,now");
    must("gcc -O1 -fno-plt calls.c -o direct && gcc -O1 -fcf-protection calls.c -o guarded");
    static const char *const names[] = {"lazy", "now", "direct", "guarded"};
    for (size_t i = 0; i < 4; i++) {
        called(names[i], &own, &other);
        assert_true(own && other);
    }
}

static void test_not_code(void **state)
{
    (void)state;
    struct err err;
    struct instruction_text t;
    struct disassembler *d = disassembler_new(EM_X86_64, &err);
    assert_non_null(d);
    static const uint8_t bytes[] = {0x06, 0x06, 0xe8, 0x00}; /* no instruction, and half a call */
    for (size_t at = 0; at < sizeof bytes; at += t.size) {
        disassemble(d, bytes + at, sizeof bytes - at, at, &t);
        assert_true(t.size >= 1 && t.size <= sizeof bytes - at);
    }
    disassemble(d, bytes, 1, 0, &t);
    assert_string_equal(t.text, "(bad)");
    disassembler_free(d);
    assert_null(disassembler_new(EM_SPARC, &err));
    assert_non_null(strstr(err.text, "not known"));
    assert_int_equal(symbol_file_state(symbolizer_file(symbolizer, path("none"), NULL, 0)),
                     SYMBOL_FILE_MISSING);
}

static void test_not_elf(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path("fifo"), 0600), 0);
    source("words", "these are not the bytes of a program\n");
    source("nothing", "");
    must("mkdir folder");
    alarm(10); /* opening a FIFO may wait for ever */
    assert_string_equal(function_at("fifo", 0x1234), "fifo+0x1234");
    assert_string_equal(function_at("words", 0), "words+0x0");
    assert_string_equal(function_at("nothing", 1), "nothing+0x1");
    assert_string_equal(function_at("folder", 2), "folder+0x2");
    assert_string_equal(function_at("absent", 3), "absent+0x3");
    alarm(0);
    static const struct {
        const char *path, *name;
    } odd[] = {{"[vdso]", "[vdso]+0x9"}, {"", "unknown+0x9"}, {"/dev/zero", "zero+0x9"}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct symbol_file *file = symbolizer_file(symbolizer, odd[i].path, NULL, 0);
        assert_int_equal(symbolizer_resolve(symbolizer, file, 9, &frames), 1);
        assert_string_equal(frames[0].function, odd[i].name);
    }
    symbolizer_free(NULL);
}

static void test_cut_short(void **state)
{
    (void)state;
    source("inlined.c", inlined_source);
    must("cc -O2 -g -o sound inlined.c");
    uint64_t address = address_of("sound", "at_inner");
    struct stat status;
    assert_int_equal(stat(path("sound"), &status), 0);
    for (int i = 0; i < 40; i++) {
        must(text("head -c %ld sound > cut%d", (long)status.st_size * i / 40, i));
        size_t count = resolve(text("cut%d", i), address);
        assert_true(count >= 1 && count <= 3);
        assert_non_null(frames[count - 1].function);
        assert_false(frames[count - 1].inlined);
    }
}

/* ---- the parts ---- */

static void assert_demangled(const char *name, const char *expected)
{
    struct strbuf out = {0};
    demangle(&out, name);
    assert_string_equal(out.data, expected);
    strbuf_release(&out);
}

static void test_demangle(void **state)
{
    (void)state;
    assert_demangled("main", "main");
    assert_demangled("_Z4giveii", "give(int, int)");
    assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
                     "std::vector<int, std::allocator<int> >::push_back(int const&)");
    assert_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    assert_demangled("_ZN39_$LT$r..P$LT$u8$GT$$u20$as$u20$r..Q$GT$1q17hc52acdad47f6ba49E",
                     "<r::P<u8> as r::Q>::q");
    assert_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    assert_demangled("_RNvMNtCs1234_7mycrate1mNtB2_3Bar3baz.llvm.1234567",
                     "<mycrate::m::Bar>::baz");
    /* What the compiler and the linker added. */
    assert_demangled("_Z4giveii.cold", "give(int, int)");
    assert_demangled("_Z4giveii.constprop.0.isra.1", "give(int, int)");
    assert_demangled("work.part.0", "work");
    assert_demangled("work.part.0.cold.12", "work");
    assert_demangled("nested.3", "nested");
    assert_demangled("memcpy@@GLIBC_2.14", "memcpy");
    assert_demangled("memcpy@GLIBC_2.2.5", "memcpy");
    assert_demangled("__GI___libc_write", "__libc_write");
    /* What only looks like it. */
    assert_demangled(".cold", ".cold");
    assert_demangled("main.main.func1.2", "main.main.func1.2");
    assert_demangled("a.coldish", "a.coldish");
    assert_demangled("_Z", "_Z");
    assert_demangled("_Znonsense", "_Znonsense");
    assert_demangled("@", "@");
}

static void test_demangle_limits(void **state)
{
    (void)state;
    /* Each level doubles what is printed: 2^40 characters, were there no limit. */
    struct strbuf name = {0}, out = {0};
    strbuf_puts(&name, "_Z1f1AIiiE");
    for (int i = 0; i < 40; i++) {
        if (i == 0)
            strbuf_puts(&name, "S_IS0_S0_E");
        else if (i + 1 <= 10)
            strbuf_printf(&name, "S_IS%d_S%d_E", i, i);
        else
            strbuf_printf(&name, "S_IS%c_S%c_E", 'A' + (i - 10) % 26, 'A' + (i - 10) % 26);
    }
    demangle(&out, name.data);
    assert_true(out.size <= 64 << 10);
    assert_string_equal(out.data, name.data);

    /* Longer than libiberty takes with its limit on. */
    strbuf_clear(&name);
    strbuf_clear(&out);
    strbuf_puts(&name, "_Z1f");
    for (int i = 0; i < 100; i++)
        strbuf_printf(&name, "30a%029d", i);
    demangle(&out, name.data);
    assert_int_equal(out.size, strlen("f()") + 100 * (30 + strlen(", ")) - strlen(", "));
    assert_memory_equal(out.data, "f(a00000", 8);

    /* Too long for any good purpose. */
    strbuf_clear(&name);
    strbuf_clear(&out);
    for (int i = 0; i < 1 << 20; i++)
        strbuf_putc(&name, 'P');
    memcpy(name.data, "_Z1f", 4);
    demangle(&out, name.data);
    assert_int_equal(out.size, 64 << 10);
    strbuf_release(&name);
    strbuf_release(&out);
}

static uint32_t owner_at(const struct spans *s, uint64_t address)
{
    const struct span *span = spans_find(s, address);
    return span ? span->owner : 0;
}

static void test_spans(void **state)
{
    (void)state;
    struct spans s = {0};
    spans_flatten(&s);
    assert_null(spans_find(&s, 0));
    spans_add(&s, 50, 60, 5); /* reaches out of 4 */
    spans_add(&s, 10, 40, 1);
    spans_add(&s, 20, 30, 2); /* nested */
    spans_add(&s, 25, 28, 3); /* nested twice */
    spans_add(&s, 45, 55, 4);
    spans_add(&s, 70, 70, 6); /* empty */
    spans_add(&s, 80, 90, 7);
    spans_add(&s, 80, 90, 8); /* the same again */
    spans_add(&s, 100, 110, 11);
    spans_add(&s, 100, 120, 10); /* begins where a smaller one does */
    spans_add(&s, UINT64_MAX - 1, UINT64_MAX, 9);
    spans_flatten(&s);
    static const struct {
        uint64_t address;
        uint32_t owner;
    } expected[] = {{9, 0},    {10, 1},
                    {19, 1},   {20, 2},
                    {24, 2},   {25, 3},
                    {27, 3},   {28, 2},
                    {29, 2},   {30, 1},
                    {39, 1},   {40, 0},
                    {45, 4},   {50, 5},
                    {54, 5},   {55, 5},
                    {59, 5},   {60, 0},
                    {70, 0},   {85, 8},
                    {100, 11}, {109, 11},
                    {110, 10}, {119, 10},
                    {120, 0},  {UINT64_MAX - 1, 9}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(owner_at(&s, expected[i].address), expected[i].owner);
    for (size_t i = 1; i < s.count; i++)
        assert_true(s.items[i - 1].high <= s.items[i].low);
    spans_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_inlined, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unpacked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_relative_source_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_debuglink, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_id_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dwz, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cxx, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stripped_library, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_code, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_elf, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
        cmocka_unit_test(test_demangle),
        cmocka_unit_test(test_demangle_limits),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
