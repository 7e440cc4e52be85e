#include "symbol/declname.h"

#include <dwarf.h>
#include <string.h>

#include "base/text.h"
#include "symbol/demangle.h"

#define NESTING_MAX 16 /* of scopes, of types in types, of functions in functions */
#define OUTPUT_MAX  (8u << 10)

static bool function_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die, int depth);
static bool type_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die, int depth);
static bool parameters_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *function, int depth,
                           bool *constant);

static void text_cut(struct strbuf *out, size_t size)
{
    out->size = size;
    if (out->data)
        out->data[size] = '\0';
}

/* Moves `die` to its next sibling; never to an earlier entry, whatever the file says. */
static bool die_step(struct debuginfo *d, Dwarf_Die *die)
{
    Dwarf_Die next;
    if (!d->naming_steps_left)
        return false;
    d->naming_steps_left--;
    if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
        return false;
    *die = next;
    return true;
}

/* --- enclosing scopes ------------------------------------------------------------------------- */

struct lineage {
    Dwarf_Die scopes[NESTING_MAX]; /* outermost first, without the unit */
    size_t count;
};

/* libdw has no links to parents, so this searches from the unit downwards for what encloses the
 * entry. */
static void lineage_find(struct lineage *l, struct debuginfo *d, Dwarf_Die *die)
{
    Dwarf_Die at, next;
    Dwarf_Off target = dwarf_dieoffset(die);
    l->count = 0;
    if (!dwarf_diecu(die, &at, NULL, NULL))
        return;
    while (l->count < NESTING_MAX && dwarf_child(&at, &next) == 0) {
        /* The last entry that does not begin after the target contains it. */
        do
            at = next;
        while (die_step(d, &next) && dwarf_dieoffset(&next) <= target);
        if (dwarf_dieoffset(&at) >= target)
            return;
        l->scopes[l->count++] = at;
    }
}

static bool scope_is_type(int tag)
{
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_enumeration_type;
}

/* gcc's words for the integer types, and the demangler's; longer ones first. */
static const char *const spelled[][2] = {
    {"long long unsigned int", "unsigned long long"},
    {"short unsigned int", "unsigned short"},
    {"__int128 unsigned", "unsigned __int128"},
    {"long unsigned int", "unsigned long"},
    {"long long int", "long long"},
    {"short int", "short"},
    {"long int", "long"},
};

static bool char_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Names of templates contain names of types. */
static void spelled_add(struct strbuf *out, const char *name)
{
    bool in_word = false;
    while (*name && out->size < OUTPUT_MAX) {
        size_t skip = 0;
        for (size_t i = 0; !in_word && !skip && i < sizeof spelled / sizeof *spelled; i++) {
            size_t size = strlen(spelled[i][0]);
            if (strncmp(name, spelled[i][0], size) != 0 || char_is_word(name[size]))
                continue;
            strbuf_puts(out, spelled[i][1]);
            skip = size;
        }
        if (!skip)
            strbuf_putc(out, name[skip++]);
        in_word = char_is_word(name[skip - 1]);
        name += skip;
    }
}

/* Appends "{lambda(int)" if the unnamed type is a lambda: it has a call operator. */
static bool lambda_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *type, int depth)
{
    Dwarf_Die at;
    bool constant, more = dwarf_child(type, &at) == 0;
    for (; more; more = die_step(d, &at)) {
        const char *name = debuginfo_string(d, &at, DW_AT_name);
        if (dwarf_tag(&at) != DW_TAG_subprogram || !name || strcmp(name, "operator()") != 0)
            continue;
        strbuf_puts(out, "{lambda");
        return parameters_add(out, d, &at, depth + 1, &constant);
    }
    return false;
}

/* Lambdas are numbered among those of one scope with the same parameters. */
static int lambda_number(struct debuginfo *d, Dwarf_Die *parent, Dwarf_Die *die, const char *text,
                         int depth)
{
    Dwarf_Die at;
    struct strbuf other = {0};
    int number = 1;
    bool more = parent && dwarf_child(parent, &at) == 0;
    for (; more && dwarf_dieoffset(&at) < dwarf_dieoffset(die); more = die_step(d, &at)) {
        if (!scope_is_type(dwarf_tag(&at)) || debuginfo_string(d, &at, DW_AT_name))
            continue;
        text_cut(&other, 0);
        number += lambda_add(&other, d, &at, depth + 1) && strcmp(other.data, text) == 0;
    }
    strbuf_release(&other);
    return number;
}

static void type_name_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *parent,
                          Dwarf_Die *die, int depth)
{
    const char *name = debuginfo_string(d, die, DW_AT_name);
    size_t start = out->size;
    if (name) {
        spelled_add(out, name);
    } else if (depth < NESTING_MAX && lambda_add(out, d, die, depth)) {
        int number = lambda_number(d, parent, die, out->data + start, depth);
        strbuf_printf(out, "#%d}", number);
    } else {
        text_cut(out, start);
        strbuf_puts(out, "{unnamed}");
    }
}

/* Appends "app::(anonymous namespace)::", for whatever is in these scopes. */
static void scopes_add(struct strbuf *out, struct debuginfo *d, struct lineage *l, int depth)
{
    size_t first = 0;
    for (size_t i = 0; i < l->count; i++) /* a function's name already contains its scopes */
        if (dwarf_tag(&l->scopes[i]) == DW_TAG_subprogram)
            first = i;
    for (size_t i = first; i < l->count && out->size < OUTPUT_MAX; i++) {
        Dwarf_Die *scope = &l->scopes[i];
        int tag = dwarf_tag(scope);
        if (tag == DW_TAG_namespace) {
            const char *name = debuginfo_string(d, scope, DW_AT_name);
            strbuf_puts(out, name ? name : "(anonymous namespace)");
        } else if (scope_is_type(tag)) {
            type_name_add(out, d, i ? &l->scopes[i - 1] : NULL, scope, depth);
        } else if (tag != DW_TAG_subprogram || !function_add(out, d, scope, depth + 1)) {
            continue; /* a block */
        }
        strbuf_puts(out, "::");
    }
}

/* --- types, spelled as the demangler does ----------------------------------------------------- */

static bool die_follow(Dwarf_Die *die, unsigned int attribute, Dwarf_Die *result)
{
    Dwarf_Attribute reference;
    return dwarf_attr(die, attribute, &reference) && dwarf_formref_die(&reference, result);
}

/* The type that an entry refers to; none means void. */
static bool type_of_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die, int depth)
{
    Dwarf_Die type;
    if (die_follow(die, DW_AT_type, &type))
        return type_add(out, d, &type, depth + 1);
    strbuf_puts(out, "void");
    return true;
}

static bool named_type_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die, int depth)
{
    struct lineage lineage;
    lineage_find(&lineage, d, die);
    scopes_add(out, d, &lineage, depth);
    type_name_add(out, d, lineage.count ? &lineage.scopes[lineage.count - 1] : NULL, die, depth);
    return true;
}

static bool type_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die, int depth)
{
    if (depth > NESTING_MAX || out->size > OUTPUT_MAX)
        return false;
    int tag = dwarf_tag(die);
    const char *after;
    switch (tag) {
    case DW_TAG_base_type:
    case DW_TAG_unspecified_type: {
        const char *name = debuginfo_string(d, die, DW_AT_name);
        if (name)
            spelled_add(out, name);
        return name != NULL;
    }
    case DW_TAG_typedef:
        return type_of_add(out, d, die, depth);
    case DW_TAG_pointer_type:
        after = "*";
        break;
    case DW_TAG_reference_type:
        after = "&";
        break;
    case DW_TAG_rvalue_reference_type:
        after = "&&";
        break;
    case DW_TAG_const_type:
        after = " const";
        break;
    case DW_TAG_volatile_type:
        after = " volatile";
        break;
    default:
        return scope_is_type(tag) && named_type_add(out, d, die, depth);
    }
    if (!type_of_add(out, d, die, depth))
        return false;
    strbuf_puts(out, after);
    return true;
}

/* --- functions -------------------------------------------------------------------------------- */

static bool die_flag(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    bool value;
    return dwarf_attr(die, name, &attribute) && dwarf_formflag(&attribute, &value) == 0 && value;
}

/* In a const member function, `this` points to something const. */
static bool parameter_is_const_this(Dwarf_Die *parameter)
{
    Dwarf_Die type;
    for (int step = 0; step < 2; step++) { /* the pointer itself may be const */
        if (!die_follow(step ? &type : parameter, DW_AT_type, &type))
            return false;
        if (dwarf_tag(&type) == DW_TAG_pointer_type)
            return die_follow(&type, DW_AT_type, &type) && dwarf_tag(&type) == DW_TAG_const_type;
    }
    return false;
}

/* The type of one parameter; const and volatile at the top are not part of a signature. */
static bool parameter_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *parameter, int depth)
{
    Dwarf_Die type = *parameter, next;
    if (!die_follow(parameter, DW_AT_type, &next))
        return false;
    for (int step = 0; step < 3; step++) {
        type = next;
        int tag = dwarf_tag(&type);
        if ((tag != DW_TAG_const_type && tag != DW_TAG_volatile_type) ||
            !die_follow(&type, DW_AT_type, &next))
            break;
    }
    return type_add(out, d, &type, depth + 1);
}

static bool parameters_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *function, int depth,
                           bool *constant)
{
    Dwarf_Die at;
    bool any = false;
    *constant = false;
    strbuf_putc(out, '(');
    bool more = dwarf_child(function, &at) == 0;
    for (; more; more = die_step(d, &at)) {
        int tag = dwarf_tag(&at);
        if (tag == DW_TAG_formal_parameter && die_flag(&at, DW_AT_artificial)) {
            *constant = *constant || parameter_is_const_this(&at);
            continue;
        }
        if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
            continue;
        strbuf_puts(out, any ? ", " : "");
        any = true;
        if (tag == DW_TAG_unspecified_parameters)
            strbuf_puts(out, "...");
        else if (!parameter_add(out, d, &at, depth))
            return false;
    }
    strbuf_putc(out, ')');
    return out->size <= OUTPUT_MAX;
}

static bool function_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die, int depth)
{
    if (depth > NESTING_MAX)
        return false;
    Dwarf_Die declaration = *die;
    const char *name = debuginfo_name(d, &declaration); /* moves to where the name is */
    if (!name)
        return false;
    if (name_is_mangled(name)) {
        demangle(out, name);
        return true;
    }
    struct lineage lineage;
    lineage_find(&lineage, d, &declaration);
    /* External, yet without a linkage name: extern "C", or main. */
    bool overloads = lineage.count || !die_flag(&declaration, DW_AT_external);
    /* As in the demangler, a specialisation of a template shows its result type. */
    if (strchr(name, '<') && !text_begins(name, "operator")) {
        size_t start = out->size;
        if (type_of_add(out, d, &declaration, depth))
            strbuf_putc(out, ' ');
        else
            text_cut(out, start);
    }
    scopes_add(out, d, &lineage, depth);
    spelled_add(out, name);
    size_t end = out->size;
    bool constant;
    if (overloads && parameters_add(out, d, &declaration, depth, &constant))
        strbuf_puts(out, constant ? " const" : "");
    else
        text_cut(out, end);
    return true;
}

bool declname_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die)
{
    return d->naming_steps_left && function_add(out, d, die, 0);
}
