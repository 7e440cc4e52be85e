/*
 * Any bytes as an ELF file: its symbols, DWARF and lines are looked up at addresses all over its
 * code, and some functions by name.
 * scripts/fuzz.sh makes the inputs to begin with: a compiler does.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/disassembler.h"
#include "symbol/elfimage.h"
#include "symbol/find_function.h"
#include "symbol/symbolizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void resolve(struct symbolizer *s, struct symbol_file *file, uint64_t address)
{
    const struct symbol_frame *frames;
    size_t count = symbolizer_resolve(s, file, address, &frames);
    if (!count || frames[count - 1].inlined)
        abort();
    for (size_t i = 0; i < count; i++)
        if (!frames[i].function || !*frames[i].function)
            abort();
}

/* The function around an address, as annotate reads it. */
static void disassembled(struct symbolizer *s, struct symbol_file *file, uint64_t address)
{
    uint64_t low, high;
    size_t size = 0;
    if (!symbol_file_bounds(file, address, &low, &high))
        return;
    if (address < low || address >= high)
        abort();
    const uint8_t *code = symbol_file_code(file, low, &size);
    struct disassembler *d = disassembler_new(symbol_file_machine(file), NULL);
    size = size < high - low ? size : (size_t)(high - low);
    for (size_t at = 0; d && code && at < size && at < 256;) {
        struct instruction_text text;
        disassemble(d, code + at, size - at, low + at, &text);
        if (!text.size || text.size > size - at)
            abort();
        at += text.size;
        if (text.has_target)
            symbolizer_entry(s, file, text.target);
        if (text.has_slot)
            symbolizer_slot(s, file, text.target);
    }
    disassembler_free(d);
    symbolizer_declared(s, file, address, "f");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);

    struct symbolizer *s = symbolizer_new();
    struct symbol_file *file = symbolizer_file(s, path, NULL, 0);
    struct elf_image image;
    resolve(s, file, 0);
    if (elf_image_open(&image, path) == 0) {
        for (size_t i = 0; i < image.code.count && i < 8; i++) {
            const struct span *code = &image.code.items[i];
            uint64_t step = (code->high - code->low) / 64 + 1;
            for (uint64_t k = 0; k < 64 && k * step < code->high - code->low; k++)
                resolve(s, file, code->low + k * step);
            disassembled(s, file, code->low + (code->high - code->low) / 2);
        }
        elf_image_release(&image);
    }
    symbol_file_has_lines(s, file);
    symbolizer_free(s);
    static const char *const names[] = {"main", "_start", "A::b", "operator new", "a<b>::c"};
    struct found_functions found = {0};
    find_functions(path, names, sizeof names / sizeof *names, 8, &found);
    if (found.items.count > 8)
        abort();
    vec_release(&found.items);
    close(fd);
    return 0;
}
