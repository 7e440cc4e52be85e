/* Reads the instructions of the function from the file that was recorded. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/annotate_parts.h"
#include "analyse/debug_package.h"
#include "model/function_name.h"
#include "symbol/disassembler.h"

/* Limits for one function, and for all functions of that name. */
#define FUNCTION_BYTES (1u << 20)
#define ALL_BYTES      (4u << 20)

struct reading {
    struct annotation *a;
    uint32_t code;
    struct disassembler *disassembler;
    size_t bytes_left;
    const struct touched *next, *end; /* addresses in this file, in order */
};

static int by_address(const void *x, const void *y)
{
    const struct touched *a = x, *b = y;
    return a->code != b->code ? (a->code > b->code) - (a->code < b->code)
                              : (a->address > b->address) - (a->address < b->address);
}

/* The place of an instruction: the function's line, and below it what was inlined there. false: the
 * instruction does not belong to this function. */
static bool find_place(struct annotation *a, struct symbol_file *file, uint64_t address,
                       uint32_t *place)
{
    const struct symbol_frame *frames;
    size_t count = symbolizer_resolve(a->symbolizer, file, address, &frames), own = 0;
    *place = PLACE_NONE;
    if (name_is_address(a->name))
        return true;
    while (own < count && strcmp(frames[own].function, a->name) != 0)
        own++;
    if (own == count)
        return false;
    for (size_t i = own + 1; i-- > 0;)
        if (i < own || frames[i].file)
            *place =
                annotation_place(a, *place, frames[i].function, frames[i].file, frames[i].line);
    return true;
}

static char *finished_text(struct annotation *a, struct symbol_file *file,
                           const struct instruction_text *t, uint64_t low, uint64_t high)
{
    bool leaves = t->has_target && (t->target < low || t->target >= high);
    const char *name = leaves        ? symbolizer_entry(a->symbolizer, file, t->target)
                       : t->has_slot ? symbolizer_slot(a->symbolizer, file, t->target)
                                     : NULL;
    struct strbuf text = {0};
    strbuf_puts(&text, t->text);
    if (name) {
        strbuf_puts(&text, " <");
        name_shorten(&text, name, 60);
        strbuf_putc(&text, '>');
    }
    return strbuf_detach(&text);
}

static void read_function(struct reading *r, uint64_t low, uint64_t high)
{
    struct annotation *a = r->a;
    struct symbol_file *file = a->codes.items[r->code].file;
    size_t size = 0;
    const uint8_t *code = symbol_file_code(file, low, &size);
    if (!code)
        return;
    if (size > high - low)
        size = (size_t)(high - low);
    if (size > FUNCTION_BYTES || size > r->bytes_left) {
        annotation_note(a, "the code at 0x%" PRIx64 " of %s is too large to be shown whole", low,
                        a->codes.items[r->code].module->path);
        size = size < r->bytes_left ? size : r->bytes_left;
        size = size < FUNCTION_BYTES ? size : FUNCTION_BYTES;
    }
    r->bytes_left -= size;
    for (size_t at = 0; at < size;) {
        struct instruction_text text;
        disassemble(r->disassembler, code + at, size - at, low + at, &text);
        struct annotated_instruction i = {.code = r->code, .address = low + at};
        at += text.size;
        while (r->next < r->end && r->next->address < low + at) {
            value_join(&i.self, r->next->self, a->answer.tree.by_max);
            value_join(&i.total, r->next->total, a->answer.tree.by_max);
            r->next++;
        }
        if (!find_place(a, file, i.address, &i.place))
            continue;
        if (!a->declared && i.place != PLACE_NONE)
            a->declared = symbolizer_declared(a->symbolizer, file, i.address, a->name);
        i.text = finished_text(a, file, &text, low, high);
        *vec_push(&a->instructions) = i;
    }
}

/* Notes which parts of a file cannot be shown, and what to do. */
static bool check_file(struct annotation *a, struct annotated_code *c)
{
    const char *path = c->module->path;
    struct stat status;
    switch (symbol_file_state(c->file)) {
    case SYMBOL_FILE_MISSING:
        annotation_note(a, "no instructions: %s cannot be read here", path);
        return false;
    case SYMBOL_FILE_REPLACED:
        annotation_note(a,
                        "no instructions: %s is not the file that was recorded (another build id); "
                        "record again, or put that one back",
                        path);
        return false;
    case SYMBOL_FILE_GOOD:
        break;
    }
    c->readable = true;
    c->has_lines = symbol_file_has_lines(a->symbolizer, c->file);
    if (!c->module->build_id_size && stat(path, &status) == 0 &&
        (uint64_t)status.st_mtime > a->answer.profile->start_unix_ns / 1000000000 + 1)
        annotation_note(a,
                        "%s has no build id and was changed after it was recorded: its "
                        "instructions may be others",
                        path);
    if (!c->has_lines) {
        char *package = debug_package(path);
        if (package)
            annotation_note(a, "%s has no debug information; Debian's package %s has it", path,
                            package);
        else
            annotation_note(a,
                            "%s has no debug information; compile it with -g and record again "
                            "to see its lines",
                            path);
        free(package);
    }
    return true;
}

static void read_file(struct reading *r)
{
    struct annotation *a = r->a;
    struct annotated_code *c = &a->codes.items[r->code];
    if (r->next == r->end || !check_file(a, c))
        return;
    struct err err;
    r->disassembler = disassembler_new(symbol_file_machine(c->file), &err);
    if (!r->disassembler) {
        annotation_note(a, "no instructions of %s: %s", c->module->path, err.text);
        return;
    }
    bool lost = false;
    size_t before_it = a->instructions.count;
    while (r->next < r->end) {
        const struct touched *before = r->next;
        uint64_t low, high;
        if (symbol_file_bounds(c->file, before->address, &low, &high) && r->bytes_left)
            read_function(r, low, high);
        if (r->next == before) {
            r->next++;
            lost = true;
        }
    }
    if (a->instructions.count == before_it && !lost)
        annotation_note(a,
                        "no instructions: %s has other names for this code than the recording; "
                        "its debug information may have come or gone since, so record again",
                        c->module->path);
    if (lost)
        annotation_note(a, "not all of its instructions are shown: where the function begins and "
                           "ends is not known everywhere");
    disassembler_free(r->disassembler);
}

void annotate_code(struct annotation *a)
{
    if (!a->touched.count)
        return;
    struct reading r = {.a = a, .bytes_left = ALL_BYTES, .next = a->touched.items};
    const struct touched *last = a->touched.items + a->touched.count;
    qsort(a->touched.items, a->touched.count, sizeof *a->touched.items, by_address);
    for (r.code = 0; r.code < a->codes.count; r.code++) {
        for (r.end = r.next; r.end < last && r.end->code == r.code;)
            r.end++;
        const struct touched *end = r.end;
        read_file(&r);
        r.next = end;
    }
}
