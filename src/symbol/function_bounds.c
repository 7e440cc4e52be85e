#include "symbol/function_bounds.h"

#include <gelf.h>
#include <string.h>

#define RANGES_MAX 4096 /* of one function */

bool scope_bounds(struct scope *scope, const struct spans *code, uint64_t address, uint64_t *low,
                  uint64_t *high)
{
    struct spans spans = {0};
    size_t left = RANGES_MAX;
    die_add_ranges(&scope->die, code, 0, &spans, &left);
    bool found = false;
    for (size_t i = 0; i < spans.count && !found; i++)
        if (address >= spans.items[i].low && address < spans.items[i].high) {
            *low = spans.items[i].low;
            *high = spans.items[i].high;
            found = true;
        }
    nested_ranges_release(&spans);
    return found;
}

/* --- unwind information ----------------------------------------------------------------------- */

/* Encodings of .eh_frame_hdr: a number of 4 bytes, and one relative to the table's beginning. */
enum { UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b, HEADER = 12, ENTRY = 8 };

static int32_t word(const uint8_t *bytes)
{
    int32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static bool find_header(const struct elf_image *image, uint64_t *address)
{
    size_t count;
    if (elf_getphdrnum(image->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(image->elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME) {
            *address = segment.p_vaddr;
            return true;
        }
    }
    return false;
}

/* The last entry that begins at or before the address; -1: none. */
static int64_t find_entry(const uint8_t *table, uint32_t count, uint64_t base, uint64_t address)
{
    uint32_t from = 0, to = count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        uint64_t begin = base + (uint64_t)(int64_t)word(table + (size_t)middle * ENTRY);
        if (begin <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return (int64_t)from - 1;
}

bool frame_bounds(const struct elf_image *image, uint64_t address, uint64_t *low, uint64_t *high)
{
    uint64_t base;
    size_t size = 0;
    const uint8_t *header = find_header(image, &base) ? elf_image_bytes(image, base, &size) : NULL;
    if (!header || size < HEADER || header[0] != 1 || header[2] != UDATA4 ||
        header[3] != DATAREL_SDATA4)
        return false;
    uint32_t count = (uint32_t)word(header + 8);
    if (count > (size - HEADER) / ENTRY)
        return false;
    int64_t found = find_entry(header + HEADER, count, base, address);
    if (found < 0)
        return false;
    const uint8_t *entry = header + HEADER + (size_t)found * ENTRY;
    *low = base + (uint64_t)(int64_t)word(entry);
    /* Its description: length, origin, begin and length of the code, 4 bytes each in this form of
     * table. */
    const uint8_t *frame = elf_image_bytes(image, base + (uint64_t)(int64_t)word(entry + 4), &size);
    if (!frame || size < 16)
        return false;
    *high = *low + (uint32_t)word(frame + 12);
    return address >= *low && address < *high;
}
