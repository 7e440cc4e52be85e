#include "symbol/inlined_scopes.h"

#include <dwarf.h>

/* Deeper than any compiler nests; also limits our own recursion. */
#define DEPTH_MAX 128

struct walk {
    struct scopes *out;
    struct spans *spans; /* receives the ranges of scopes */
    bool lists;          /* functions are added to the list, and not entered */
    Dwarf_Off last;      /* the last entry visited: the next one must come after it */
    Dwarf_Off end;       /* and before this one */
};

size_t die_add_ranges(Dwarf_Die *die, const struct spans *code, uint32_t owner, struct spans *spans,
                      size_t *ranges_left)
{
    size_t before = spans->count;
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    while (*ranges_left && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
        (*ranges_left)--;
        /* Code that the linker dropped keeps its entry, relocated to address 0 or nearby. */
        if (nested_ranges_find(code, low))
            nested_ranges_add(spans, low, high, owner);
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

/*
 * C and C++ compilers put definitions beside the type, except for types local to a function
 * (lambdas); Rust, Ada and others put them inside. Types are most of a C++ unit, so it pays not to
 * enter them.
 */
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
        return local || w->out->types_hold_code;
    default:
        return false;
    }
}

/* A scope that owns code gets a number; SCOPE_NONE: it owns none. */
static uint32_t add_scope(struct walk *w, Dwarf_Die *die, uint32_t parent, bool inlined)
{
    uint32_t number = (uint32_t)w->out->scopes.count;
    if (!die_add_ranges(die, w->out->code, number, w->spans, w->out->ranges_left))
        return SCOPE_NONE;
    *vec_push(&w->out->scopes) = (struct scope){.die = *die,
                                                .parent = parent,
                                                .inlined = inlined,
                                                .listed = w->lists,
                                                .interior = SCOPE_NONE,
                                                .end = w->end};
    return number;
}

static void walk_children(struct walk *w, Dwarf_Die *parent, uint32_t scope, bool local, int depth)
{
    Dwarf_Die die;
    uint32_t unfinished = SCOPE_NONE; /* it ends where the next entry begins */
    if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        /* A forged DW_AT_sibling could lead backwards, or into what was already visited. */
        Dwarf_Off offset = dwarf_dieoffset(&die);
        if (offset <= w->last || offset >= w->end)
            return;
        w->last = offset;
        if (unfinished != SCOPE_NONE)
            w->out->scopes.items[unfinished].end = offset;
        unfinished = SCOPE_NONE;
        int tag = dwarf_tag(&die);
        if (!walk_enters(w, tag, local))
            continue;
        uint32_t inner = SCOPE_NONE;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            inner = add_scope(w, &die, scope, tag == DW_TAG_inlined_subroutine);
        if (w->lists && inner != SCOPE_NONE)
            unfinished = inner;
        else if (dwarf_haschildren(&die) > 0)
            walk_children(w, &die, inner == SCOPE_NONE ? scope : inner,
                          local || tag == DW_TAG_subprogram, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

void scopes_load(struct scopes *s, Dwarf_Die *unit, const struct spans *code, size_t *ranges_left)
{
    s->code = code;
    s->ranges_left = ranges_left;
    s->types_hold_code = !unit_is_c(unit) && !unit_is_cplusplus(unit);
    struct walk walk = {.out = s,
                        .spans = &s->functions,
                        .lists = true,
                        .last = dwarf_dieoffset(unit),
                        .end = UINT64_MAX};
    walk_children(&walk, unit, SCOPE_NONE, false, 0);
    nested_ranges_flatten(&s->functions);
}

static void read_function(struct scopes *s, uint32_t function, struct spans *spans)
{
    Dwarf_Die die = s->scopes.items[function].die;
    struct walk walk = {.out = s,
                        .spans = spans,
                        .last = dwarf_dieoffset(&die),
                        .end = s->scopes.items[function].end};
    walk_children(&walk, &die, function, true, 1);
}

static uint32_t find_inside(struct scopes *s, uint32_t function, uint64_t address)
{
    if (s->scopes.items[function].interior == SCOPE_NONE) {
        struct spans interior = {0};
        read_function(s, function, &interior);
        nested_ranges_flatten(&interior);
        s->scopes.items[function].interior = (uint32_t)s->interiors.count;
        *vec_push(&s->interiors) = interior;
    }
    const struct span *span =
        nested_ranges_find(&s->interiors.items[s->scopes.items[function].interior], address);
    return span ? span->owner : function;
}

static uint32_t find_anywhere(struct scopes *s, uint64_t address)
{
    size_t listed = s->all_read ? 0 : s->scopes.count;
    for (size_t i = 0; i < listed; i++)
        if (s->scopes.items[i].listed)
            read_function(s, (uint32_t)i, &s->all);
    if (listed)
        nested_ranges_flatten(&s->all);
    s->all_read = true;
    const struct span *span = nested_ranges_find(&s->all, address);
    return span ? span->owner : SCOPE_NONE;
}

uint32_t scopes_find(struct scopes *s, uint64_t address)
{
    const struct span *span = nested_ranges_find(&s->functions, address);
    return span ? find_inside(s, span->owner, address) : find_anywhere(s, address);
}

struct scope *scopes_get(const struct scopes *s, uint32_t number)
{
    return number == SCOPE_NONE ? NULL : &s->scopes.items[number];
}

void scopes_release(struct scopes *s)
{
    for (size_t i = 0; i < s->interiors.count; i++)
        nested_ranges_release(&s->interiors.items[i]);
    vec_release(&s->interiors);
    vec_release(&s->scopes);
    nested_ranges_release(&s->functions);
    nested_ranges_release(&s->all);
}
