#include "symbol/scopes.h"

#include <dwarf.h>

/* Deeper than any compiler nests; also bounds our own recursion. */
#define DEPTH_MAX 128

struct walk {
    struct scopes *out;
    const struct spans *code;
    size_t *ranges_left;
    Dwarf_Off last; /* entry visited last: the next one must lie behind it */
    /*
     * C and C++ compilers put definitions beside the type, except for types local to a function
     * (lambdas); Rust, Ada and others inside it. Types are most of a C++ unit: not looking pays.
     */
    bool types_hold_code;
};

size_t die_add_ranges(Dwarf_Die *die, const struct spans *code, uint32_t owner, struct spans *spans,
                      size_t *ranges_left)
{
    size_t before = spans->count;
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    while (*ranges_left && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
        (*ranges_left)--;
        /* Code that the linker dropped keeps its entry, moved to address 0 or thereabouts. */
        if (spans_find(code, low))
            spans_add(spans, low, high, owner);
    }
    return spans->count - before;
}

/* Languages that DWARF 5 does not number yet; compilers use these numbers of the next version. */
enum {
    LANG_C_PLUS_PLUS_17 = 0x2a,
    LANG_C_PLUS_PLUS_20 = 0x2b,
    LANG_C17 = 0x2c,
};

bool unit_is_cplusplus(Dwarf_Die *unit)
{
    int language = dwarf_srclang(unit);
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
           language == LANG_C_PLUS_PLUS_17 || language == LANG_C_PLUS_PLUS_20;
}

static bool unit_is_c(Dwarf_Die *unit)
{
    int language = dwarf_srclang(unit);
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
           language == DW_LANG_C11 || language == LANG_C17;
}

static bool walk_enters(const struct walk *w, int tag, bool local)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_variant_part:
        return local || w->types_hold_code;
    default:
        return false;
    }
}

static void walk_children(struct walk *w, Dwarf_Die *parent, uint32_t scope, bool local, int depth)
{
    Dwarf_Die die;
    if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        /* A forged DW_AT_sibling could lead back, or into what was visited already. */
        Dwarf_Off offset = dwarf_dieoffset(&die);
        if (offset <= w->last)
            return;
        w->last = offset;
        int tag = dwarf_tag(&die);
        if (!walk_enters(w, tag, local))
            continue;
        uint32_t inner = scope;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
            uint32_t number = (uint32_t)w->out->scopes.count;
            if (die_add_ranges(&die, w->code, number, &w->out->spans, w->ranges_left)) {
                bool inlined = tag == DW_TAG_inlined_subroutine;
                *vec_push(&w->out->scopes) = (struct scope){die, scope, inlined};
                inner = number;
            }
        }
        if (dwarf_haschildren(&die) > 0)
            walk_children(w, &die, inner, local || tag == DW_TAG_subprogram, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

void scopes_load(struct scopes *s, Dwarf_Die *unit, const struct spans *code, size_t *ranges_left)
{
    struct walk walk = {.out = s,
                        .code = code,
                        .ranges_left = ranges_left,
                        .last = dwarf_dieoffset(unit),
                        .types_hold_code = !unit_is_c(unit) && !unit_is_cplusplus(unit)};
    walk_children(&walk, unit, SCOPE_NONE, false, 0);
    spans_flatten(&s->spans);
}

uint32_t scopes_find(const struct scopes *s, uint64_t address)
{
    const struct span *span = spans_find(&s->spans, address);
    return span ? span->owner : SCOPE_NONE;
}

struct scope *scopes_get(const struct scopes *s, uint32_t number)
{
    return number == SCOPE_NONE ? NULL : &s->scopes.items[number];
}

void scopes_release(struct scopes *s)
{
    vec_release(&s->scopes);
    spans_release(&s->spans);
}
