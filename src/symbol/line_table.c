#include "symbol/line_table.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* The rest of the bytes. Reading past the end gives zeros and sets `bad`. */
struct reader {
    const uint8_t *at, *end;
    bool big_endian, bad;
};

/* The header, and the registers that are not part of a row. */
struct program {
    struct reader in;
    const struct line_sections *sections;
    struct line_table *table;
    unsigned version, offset_size;
    uint8_t instruction_bytes, operations_max, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *lengths; /* number of arguments of opcodes 1 to opcode_base - 1 */

    uint64_t address, operation, file, line;
    size_t first; /* first row of the sequence */
};

/* --- reading ---------------------------------------------------------------------------------- */

static uint64_t read_number(struct reader *r, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        value = value << 8 | r->at[r->big_endian ? i : size - 1 - i];
    r->at += size;
    return value;
}

static uint64_t read_leb(struct reader *r, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    do {
        if (r->at == r->end) {
            r->bad = true;
            return 0;
        }
        byte = *r->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return value;
}

static void skip(struct reader *r, uint64_t size)
{
    if (size > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        size = (uint64_t)(r->end - r->at);
    }
    r->at += size;
}

static const char *read_string(struct reader *r)
{
    const char *text = (const char *)r->at;
    const uint8_t *end = memchr(r->at, '\0', (size_t)(r->end - r->at));
    if (!end) {
        r->bad = true;
        r->at = r->end;
        return "";
    }
    r->at = end + 1;
    return text;
}

static const char *section_string(const Elf_Data *section, uint64_t offset)
{
    if (!section || !section->d_buf || offset >= section->d_size)
        return "";
    const char *text = (const char *)section->d_buf + offset;
    return memchr(text, '\0', section->d_size - offset) ? text : "";
}

/* Reads the length at the start of a table; sets the size of its offsets. */
static uint64_t read_length(struct reader *r, unsigned *offset_size)
{
    uint64_t length = read_number(r, 4);
    *offset_size = length == 0xffffffff ? 8 : 4;
    return *offset_size == 8 ? read_number(r, 8) : length;
}

static bool reader_begin(struct reader *r, const struct line_sections *s, uint64_t offset)
{
    if (!s->line || !s->line->d_buf || offset >= s->line->d_size)
        return false;
    const uint8_t *bytes = s->line->d_buf;
    *r = (struct reader){
        .at = bytes + offset, .end = bytes + s->line->d_size, .big_endian = s->big_endian};
    return true;
}

uint64_t line_table_bytes(const struct line_sections *sections, uint64_t offset)
{
    struct reader r;
    unsigned offset_size;
    if (!reader_begin(&r, sections, offset))
        return UINT64_MAX;
    uint64_t length = read_length(&r, &offset_size);
    return r.bad ? UINT64_MAX : length;
}

/* --- files and directories -------------------------------------------------------------------- */

static void add_file(struct line_table *t, const char *name, uint64_t directory)
{
    *vec_push(&t->files) = (struct line_file){.name = name, .directory = directory};
}

/* Up to DWARF 4, each list ends with an empty name. */
static void read_old_file(struct program *p, const char *name)
{
    uint64_t directory = read_leb(&p->in, false);
    read_leb(&p->in, false); /* time */
    read_leb(&p->in, false); /* size */
    add_file(p->table, name, directory);
}

static void read_old_names(struct program *p)
{
    *vec_push(&p->table->directories) = NULL;
    add_file(p->table, "", 0);
    for (const char *name; !p->in.bad && *(name = read_string(&p->in));)
        *vec_push(&p->table->directories) = name;
    for (const char *name; !p->in.bad && *(name = read_string(&p->in));)
        read_old_file(p, name);
}

struct value {
    const char *text;
    uint64_t number;
};

static struct value read_form(struct program *p, uint64_t form)
{
    struct reader *r = &p->in;
    switch (form) {
    case DW_FORM_string:
        return (struct value){.text = read_string(r)};
    case DW_FORM_line_strp:
        return (struct value){
            .text = section_string(p->sections->line_str, read_number(r, p->offset_size))};
    case DW_FORM_strp:
        return (struct value){.text =
                                  section_string(p->sections->str, read_number(r, p->offset_size))};
    case DW_FORM_udata:
        return (struct value){.number = read_leb(r, false)};
    case DW_FORM_data1:
        return (struct value){.number = read_number(r, 1)};
    case DW_FORM_data2:
        return (struct value){.number = read_number(r, 2)};
    case DW_FORM_data4:
        return (struct value){.number = read_number(r, 4)};
    case DW_FORM_data8:
        return (struct value){.number = read_number(r, 8)};
    case DW_FORM_data16:
        skip(r, 16);
        break;
    case DW_FORM_block:
        skip(r, read_leb(r, false));
        break;
    case DW_FORM_block1:
        skip(r, read_number(r, 1));
        break;
    case DW_FORM_block2:
        skip(r, read_number(r, 2));
        break;
    case DW_FORM_block4:
        skip(r, read_number(r, 4));
        break;
    default: /* of unknown size: what follows cannot be found */
        r->bad = true;
    }
    return (struct value){0};
}

/* Reads one list of DWARF 5, of directories or of files: its format, its count, and its entries. */
static void read_list(struct program *p, bool is_files)
{
    struct {
        uint64_t content, form;
    } format[8];
    size_t parts = (size_t)read_number(&p->in, 1);
    if (parts > sizeof format / sizeof *format) {
        p->in.bad = true;
        return;
    }
    for (size_t i = 0; i < parts; i++) {
        format[i].content = read_leb(&p->in, false);
        format[i].form = read_leb(&p->in, false);
    }
    uint64_t count = read_leb(&p->in, false);
    for (uint64_t n = 0; n < count && parts && !p->in.bad; n++) {
        const char *name = "";
        uint64_t directory = 0;
        for (size_t i = 0; i < parts; i++) {
            struct value v = read_form(p, format[i].form);
            if (format[i].content == DW_LNCT_path && v.text)
                name = v.text;
            else if (format[i].content == DW_LNCT_directory_index)
                directory = v.number;
        }
        if (is_files)
            add_file(p->table, name, directory);
        else
            *vec_push(&p->table->directories) = name;
    }
}

/* --- the program ------------------------------------------------------------------------------ */

static void begin_sequence(struct program *p)
{
    p->address = p->operation = 0;
    p->file = p->line = 1;
    p->first = p->table->rows.count;
}

static void end_sequence(struct program *p, uint64_t high)
{
    size_t count = p->table->rows.count - p->first;
    uint64_t low = count ? p->table->rows.items[p->first].address : high;
    if (low < high)
        *vec_push(&p->table->sequences) =
            (struct line_sequence){.low = low, .high = high, .first = p->first, .count = count};
    else
        p->table->rows.count = p->first;
    p->first = p->table->rows.count;
}

static void add_row(struct program *p)
{
    struct line_table *t = p->table;
    if (t->rows.count > p->first) {
        struct line_row *last = vec_last(&t->rows);
        if (p->address <
            /* Compilers do not do this; what follows becomes a sequence of its own. */
            last->address)
            end_sequence(p, last->address + 1);
        else if (p->address == last->address)
            t->rows.count--; /* of several rows for an address, the last one counts */
    }
    *vec_push(&t->rows) =
        (struct line_row){.address = p->address,
                          .file = p->file <= UINT32_MAX ? (uint32_t)p->file : UINT32_MAX,
                          .line = p->line <= INT32_MAX ? (uint32_t)p->line : 0};
}

static void advance(struct program *p, uint64_t operations)
{
    if (p->operations_max <= 1) {
        p->address += operations * p->instruction_bytes;
        return;
    }
    uint64_t all = p->operation + operations;
    p->address += all / p->operations_max * p->instruction_bytes;
    p->operation = all % p->operations_max;
}

static void run_extended(struct program *p)
{
    uint64_t size = read_leb(&p->in, false);
    if (!size || size > (uint64_t)(p->in.end - p->in.at)) {
        p->in.bad = true;
        return;
    }
    const uint8_t *next = p->in.at + size;
    switch (read_number(&p->in, 1)) {
    case DW_LNE_end_sequence:
        end_sequence(p, p->address);
        begin_sequence(p);
        break;
    case DW_LNE_set_address:
        p->address = size - 1 <= 8 ? read_number(&p->in, size - 1) : 0;
        p->operation = 0;
        break;
    case DW_LNE_define_file:
        read_old_file(p, read_string(&p->in));
        break;
    default: /* discriminators, and vendors' extensions */
        break;
    }
    p->in.at = next;
}

static void run_standard(struct program *p, uint8_t opcode)
{
    struct reader *r = &p->in;
    switch (opcode) {
    case DW_LNS_copy:
        add_row(p);
        break;
    case DW_LNS_advance_pc:
        advance(p, read_leb(r, false));
        break;
    case DW_LNS_advance_line:
        p->line = (p->line + read_leb(r, true)) & UINT32_MAX;
        break;
    case DW_LNS_set_file:
        p->file = read_leb(r, false);
        break;
    case DW_LNS_const_add_pc:
        advance(p, (uint8_t)(255 - p->opcode_base) / p->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        p->address += read_number(r, 2);
        p->operation = 0;
        break;
    default: /* column, statement, block, prologue, epilogue, isa, and unknown opcodes */
        for (uint8_t i = 0; i < p->lengths[opcode - 1] && !r->bad; i++)
            read_leb(r, false);
    }
}

static void run(struct program *p)
{
    begin_sequence(p);
    while (p->in.at < p->in.end && !p->in.bad) {
        uint8_t opcode = *p->in.at++;
        if (opcode >= p->opcode_base) {
            uint8_t adjusted = (uint8_t)(opcode - p->opcode_base);
            advance(p, adjusted / p->line_range);
            p->line = (p->line + (uint64_t)(p->line_base + adjusted % p->line_range)) & UINT32_MAX;
            add_row(p);
        } else if (opcode) {
            run_standard(p, opcode);
        } else {
            run_extended(p);
        }
    }
    p->table->rows.count = p->first; /* a sequence without an end is dropped */
}

/* false: the header makes no sense, or its version is not known. */
static bool read_header(struct program *p)
{
    struct reader *r = &p->in;
    uint64_t length = read_length(r, &p->offset_size);
    if (r->bad || length > (uint64_t)(r->end - r->at))
        return false;
    r->end = r->at + length;
    p->version = (unsigned)read_number(r, 2);
    if (p->version < 2 || p->version > 5)
        return false;
    if (p->version >= 5)
        skip(r, 2); /* sizes of addresses and of segments */
    uint64_t header = read_number(r, p->offset_size);
    if (r->bad || header > (uint64_t)(r->end - r->at))
        return false;
    const uint8_t *code = r->at + header;
    p->instruction_bytes = (uint8_t)read_number(r, 1);
    p->operations_max = p->version >= 4 ? (uint8_t)read_number(r, 1) : 1;
    skip(r, 1); /* is_stmt */
    p->line_base = (int8_t)read_number(r, 1);
    p->line_range = (uint8_t)read_number(r, 1);
    p->opcode_base = (uint8_t)read_number(r, 1);
    p->lengths = r->at;
    skip(r, p->opcode_base ? p->opcode_base - 1u : 0);
    if (r->bad || !p->line_range || !p->opcode_base)
        return false;
    if (p->version < 5) {
        read_old_names(p);
    } else {
        read_list(p, false);
        read_list(p, true);
    }
    if (r->bad)
        return false;
    r->at = code;
    return true;
}

static int by_low_address(const void *left, const void *right)
{
    const struct line_sequence *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

void line_table_load(struct line_table *t, const struct line_sections *sections, uint64_t offset)
{
    struct program p = {.sections = sections, .table = t};
    if (!reader_begin(&p.in, sections, offset) || !read_header(&p))
        return;
    run(&p);
    if (t->sequences.count)
        qsort(t->sequences.items, t->sequences.count, sizeof *t->sequences.items, by_low_address);
}

void line_table_release(struct line_table *t)
{
    for (size_t i = 0; i < t->files.count; i++)
        free(t->files.items[i].path);
    vec_release(&t->rows);
    vec_release(&t->sequences);
    vec_release(&t->files);
    vec_release(&t->directories);
}

/* --- lookups ---------------------------------------------------------------------------------- */

const struct line_row *line_table_find(const struct line_table *t, uint64_t address)
{
    size_t at;
    BISECT(at, t->sequences.count, t->sequences.items[at].low <= address);
    const struct line_sequence *s = at ? &t->sequences.items[at - 1] : NULL;
    if (!s || address >= s->high)
        return NULL;
    const struct line_row *rows = t->rows.items + s->first;
    BISECT(at, s->count, rows[at].address <= address);
    return &rows[at - 1];
}

const char *line_table_path(struct line_table *t, uint64_t file)
{
    struct line_file *f = file < t->files.count ? &t->files.items[file] : NULL;
    if (!f || !*f->name)
        return NULL;
    const char *directory =
        f->directory < t->directories.count ? t->directories.items[f->directory] : NULL;
    if (*f->name == '/')
        return f->name;
    if (!f->path) /* units may have the same name in different directories */
        f->path =
            directory && *directory ? xasprintf("%s/%s", directory, f->name) : xstrdup(f->name);
    return f->path;
}
