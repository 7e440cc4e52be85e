/*
 * What a program tells of its Python code: any bytes, in two parts, and any frame asked for.
 *
 * The input is where it is cut, 8 bytes of a node's address, and the records. Every frame gets a
 * name; a line comes out of every table.
 */
#include "fuzz.h"

#include "collect/naming/python_code.h"
#include "record/python_lines.h"
#include "wire/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t address;
    if (size < 10)
        return 0;
    size_t room = size - 10, cut = room ? (data[0] | (size_t)data[1] << 8) % (room + 1) : 0;
    memcpy(&address, data + 2, 8);
    char *records = malloc(room ? room : 1);
    fuzz_must(records != NULL);
    memcpy(records, data + 10, room);

    struct python_codes codes = {0};
    struct strpool strings = {0};
    strpool_add(&strings, "");
    python_codes_read(&codes, records, (uint32_t)room, (uint32_t)cut);
    python_codes_read(&codes, records, (uint32_t)room, (uint32_t)room + 1); /* nonsense */
    fuzz_must(codes.records.size == cut);
    python_codes_read(&codes, records, (uint32_t)room, (uint32_t)room);
    fuzz_must(codes.records.size == room);
    memset(records, 0xff, room); /* it was copied */
    struct frame f = python_codes_frame(&codes, address | NODE_PYTHON, &strings);
    fuzz_must(f.kind == FRAME_PYTHON && f.function && f.function < strings.strings.count);
    fuzz_must(f.file < strings.strings.count && f.module == f.file);
    for (uint64_t number = 1; number <= room / 8; number++)
        python_codes_frame(&codes, WIRE_PYTHON(number, address), &strings);
    for (int form = WIRE_LINES_LNOTAB; form <= WIRE_LINES_LOCATIONS; form++)
        python_line((enum wire_lines)form, data + 10, room, data[0], (int32_t)address);
    strpool_release(&strings);
    python_codes_release(&codes);
    free(records);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char names[] = "a.py\0\0\0";
    struct {
        uint8_t cut[2], address[8], first[8];
        struct wire_text file;
        char file_text[8];
        struct wire_text name;
        char name_text[8];
        struct wire_code code;
        uint8_t table[8];
    } __attribute__((packed)) seed = {
        .address = {2, 0, 0, 0, 5},
        .file = {WIRE_PYTHON_TEXT, 4},
        .name = {WIRE_PYTHON_TEXT, 1},
        .name_text = "f",
        .code = {WIRE_PYTHON_CODE, 6, 1, 3, 7, WIRE_LINES_LOCATIONS},
        .table = {0xd8, 2, 0xe8, 0x42, 0x01, 0xf8},
    };
    memcpy(seed.file_text, names, sizeof seed.file_text);
    fuzz_save(folder, "locations", &seed, sizeof seed);
    seed.code.lines = WIRE_LINES_RANGES;
    fuzz_save(folder, "ranges", &seed, sizeof seed);
    seed.code.lines = WIRE_LINES_LNOTAB;
    fuzz_save(folder, "increments", &seed, sizeof seed);
}
