/*
 * The symbolizer on programs compiled here and now, whose sources say what must come out: an
 * address is that of a label in the code, a line that of the text holding a remark.
 */
#include "test_symbolizer_fixture.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "symbol/debugfile.h"
#include "symbol/decompress_sections.h"

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
    must("cc -O2 -gdwarf-2 -o inlined2 inlined.c");
    assert_inlined("inlined2", "inlined2");
    must("cc -O2 -g -gz=zlib -o inlinedz inlined.c");
    assert_inlined("inlinedz", "inlinedz");
    must("cc -O2 -g -ffunction-sections -Wl,--gc-sections -o inlineds inlined.c");
    assert_inlined("inlineds", "inlineds");
    if (tried("clang --version") == 0) { /* writes no .debug_aranges */
        must("clang -O2 -g -o inlinedc inlined.c");
        assert_inlined("inlinedc", "inlinedc");
    }
}

/* ---- a function within a function: its code is not part of the other's ---- */

static const char nested_source[] =
    "#define MARK(name) __asm__ volatile(#name \": nop\")\n"
    "volatile int sink;\n"
    "static inline __attribute__((always_inline)) void deep(int n)\n"
    "{\n"
    "    sink += n;\n"
    "    MARK(at_deep); /* in deep */\n"
    "}\n"
    "__attribute__((noinline)) void host(int n)\n"
    "{\n"
    "    __attribute__((noinline)) void guest(int k)\n"
    "    {\n"
    "        sink -= k * n;\n"
    "        deep(k); /* calls deep */\n"
    "        sink -= k;\n"
    "    }\n"
    "    guest(n);\n"
    "    MARK(at_host); /* in host */\n"
    "    guest(n + 1);\n"
    "}\n"
    "int main(int argc, char **argv) { (void)argv; host(argc); return 0; }\n";

static void test_nested(void **state)
{
    (void)state;
    source("nested.c", nested_source);
    must("gcc -O2 -g -o nested nested.c");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(resolve("nested", address_of("nested", "at_deep")), 2);
        assert_frame(0, "deep", path("nested.c"), line_of(nested_source, "in deep"), true);
        assert_frame(1, "guest", path("nested.c"), line_of(nested_source, "calls deep"), false);
        assert_int_equal(resolve("nested", address_of("nested", "at_host")), 1);
        assert_frame(0, "host", path("nested.c"), line_of(nested_source, "in host"), false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_inlined, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unpacked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_relative_source_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_debuglink, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_id_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dwz, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cxx, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stripped_library, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_elf, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
