#include "unwind/cfi.h"

#include <string.h>

/* A cursor over the section; `bad` stays set once anything reached outside. */
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t take(struct cursor *c, unsigned size)
{
    uint64_t v = 0;
    if (c->bad || (size_t)(c->end - c->at) < size) {
        c->bad = true;
        return 0;
    }
    memcpy(&v, c->at, size); /* little-endian machines only */
    c->at += size;
    return v;
}

static int64_t take_signed(struct cursor *c, unsigned size)
{
    uint64_t v = take(c, size);
    unsigned shift = 64 - size * 8;
    return (int64_t)(v << shift) >> shift;
}

static uint64_t take_uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)take(c, 1);
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (c->bad || !(byte & 0x80))
            return v;
    }
}

static int64_t take_sleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = (uint8_t)take(c, 1);
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (c->bad || !(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                v |= ~UINT64_C(0) << shift;
            return (int64_t)v;
        }
    }
}

static void skip(struct cursor *c, uint64_t size)
{
    if (c->bad || (uint64_t)(c->end - c->at) < size)
        c->bad = true;
    else
        c->at += size;
}

enum {
    PE_OMIT = 0xff,
    PE_FORMAT = 0x0f,
    PE_APPLY = 0x70,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80
};

/* An encoded pointer (DW_EH_PE_*), as an address in the process. `base` is for DATAREL. */
static uint64_t take_pointer(struct cursor *c, uint8_t encoding, uint64_t delta, uint64_t base)
{
    uint64_t here = (uint64_t)(uintptr_t)c->at + delta, v;
    if (encoding == PE_OMIT)
        return 0;
    switch (encoding & PE_FORMAT) {
    case 0x00:
        v = take(c, 8);
        break;
    case 0x01:
        v = take_uleb(c);
        break;
    case 0x02:
        v = take(c, 2);
        break;
    case 0x03:
        v = take(c, 4);
        break;
    case 0x04:
        v = take(c, 8);
        break;
    case 0x09:
        v = (uint64_t)take_sleb(c);
        break;
    case 0x0a:
        v = (uint64_t)take_signed(c, 2);
        break;
    case 0x0b:
        v = (uint64_t)take_signed(c, 4);
        break;
    case 0x0c:
        v = take(c, 8);
        break;
    default:
        c->bad = true;
        return 0;
    }
    if (v == 0)
        return 0;
    if ((encoding & PE_APPLY) == PE_PCREL)
        v += here;
    else if ((encoding & PE_APPLY) == PE_DATAREL)
        v += base;
    else if (encoding & PE_APPLY)
        c->bad = true;
    if (encoding & PE_INDIRECT)
        c->bad = true; /* personality routines only; nothing we need is indirect */
    return v;
}

/* The last FDE in .eh_frame_hdr's table that begins at or before `address`; NULL: none. */
static const uint8_t *find_fde(const struct cfi_section *s, uint64_t address)
{
    struct cursor c = {.at = s->header, .end = s->end};
    uint64_t base = (uint64_t)(uintptr_t)s->header + s->delta;
    uint8_t version = (uint8_t)take(&c, 1), frame_enc = (uint8_t)take(&c, 1);
    uint8_t count_enc = (uint8_t)take(&c, 1), table_enc = (uint8_t)take(&c, 1);
    take_pointer(&c, frame_enc, s->delta, base);
    uint64_t count = take_pointer(&c, count_enc, s->delta, base);
    if (c.bad || version != 1 || table_enc != (PE_DATAREL | 0x0b) || count == 0 ||
        (uint64_t)(s->end - c.at) / 8 < count)
        return NULL; /* every linker writes sorted 4-byte pairs; other forms are not supported */
    struct {
        int32_t address, fde;
    } pair;
    const uint8_t *table = c.at;
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(&pair, table + middle * 8, 8);
        if (base + (uint64_t)(int64_t)pair.address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    memcpy(&pair, table + (low - 1) * 8, 8);
    const uint8_t *fde = s->header + pair.fde;
    return fde >= s->begin && fde < s->end ? fde : NULL;
}

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t fde_encoding, return_reg;
    bool augmented, signal_frame;
    struct cursor program;
};

static bool read_cie(const struct cfi_section *s, const uint8_t *at, struct cie *cie)
{
    struct cursor c = {.at = at, .end = s->end};
    uint64_t length = take(&c, 4);
    if (length == 0xffffffff || c.bad || (uint64_t)(s->end - c.at) < length)
        return false;
    c.end = c.at + length;
    if (take(&c, 4) != 0) /* the id of a CIE */
        return false;
    uint8_t version = (uint8_t)take(&c, 1);
    const char *augmentation = (const char *)c.at;
    while (take(&c, 1) && !c.bad)
        ;
    if (c.bad || (version != 1 && version != 3))
        return false;
    *cie = (struct cie){.fde_encoding = 0};
    cie->code_align = take_uleb(&c);
    cie->data_align = take_sleb(&c);
    cie->return_reg = version == 1 ? (uint8_t)take(&c, 1) : (uint8_t)take_uleb(&c);
    if (*augmentation == 'z') {
        cie->augmented = true;
        uint64_t size = take_uleb(&c);
        struct cursor data = c;
        skip(&c, size);
        for (const char *a = augmentation + 1; *a; a++) {
            if (*a == 'R') {
                cie->fde_encoding = (uint8_t)take(&data, 1);
            } else if (*a == 'P') {
                uint8_t encoding = (uint8_t)take(&data, 1);
                take_pointer(&data, encoding & 0x7f, s->delta, 0);
            } else if (*a == 'L') {
                take(&data, 1);
            } else if (*a == 'S') {
                cie->signal_frame = true;
            } else {
                break; /* unknown: its data is skipped by the size above */
            }
        }
    } else if (*augmentation) {
        return false;
    }
    cie->program = c;
    return !c.bad && cie->return_reg < ARCH_REGISTERS;
}

#define STATES 4 /* depth of remember_state that is supported; compilers use 1 or 2 */

struct machine {
    const struct cie *cie;
    uint64_t location, target;
    struct cfi_row *row;
    const struct cfi_row *initial; /* NULL while the CIE's program runs */
    struct cfi_row saved[STATES];
    unsigned depth;
    struct cfi_rule nowhere; /* takes the rules of registers that we do not track */
};

static struct cfi_rule *rule_of(struct machine *m, uint64_t reg)
{
    return reg < ARCH_REGISTERS ? &m->row->regs[reg] : &m->nowhere;
}

static void set_offset(struct machine *m, uint64_t reg, enum cfi_how how, int64_t offset)
{
    *rule_of(m, reg) = (struct cfi_rule){.how = (uint8_t)how, .offset = offset};
}

static void set_expression(struct machine *m, struct cursor *c, enum cfi_how how)
{
    uint64_t reg = take_uleb(c), size = take_uleb(c);
    const uint8_t *at = c->at;
    skip(c, size);
    *rule_of(m, reg) =
        (struct cfi_rule){.how = (uint8_t)how, .expression_size = (uint32_t)size, .expression = at};
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg < ARCH_REGISTERS && m->initial)
        m->row->regs[reg] = m->initial->regs[reg];
}

/* Factored offsets. Wraps: in broken tables the product may be anything. */
static int64_t scaled(const struct cie *cie, uint64_t factored)
{
    return (int64_t)(factored * (uint64_t)cie->data_align);
}

/* Runs instructions until the end or until the location passes the target; false: unknown
 * instruction. */
static bool run(struct machine *m, struct cursor c, uint64_t delta)
{
    const struct cie *cie = m->cie;
    struct cfi_row *row = m->row;
    while (c.at < c.end && !c.bad) {
        uint8_t op = (uint8_t)take(&c, 1), low = op & 0x3f;
        uint64_t reg;
        uint64_t advance = 0;
        switch (op & 0xc0) {
        case 0x40:
            advance = low;
            break;
        case 0x80:
            set_offset(m, low, CFI_OFFSET, scaled(cie, take_uleb(&c)));
            continue;
        case 0xc0:
            restore(m, low);
            continue;
        default:
            switch (op) {
            case 0x00:
                continue; /* nop */
            case 0x01:    /* set_loc */
                m->location = take_pointer(&c, cie->fde_encoding, delta, 0);
                if (m->location > m->target)
                    return !c.bad;
                continue;
            case 0x02:
                advance = take(&c, 1);
                break;
            case 0x03:
                advance = take(&c, 2);
                break;
            case 0x04:
                advance = take(&c, 4);
                break;
            case 0x05: /* offset_extended */
                reg = take_uleb(&c);
                set_offset(m, reg, CFI_OFFSET, scaled(cie, take_uleb(&c)));
                continue;
            case 0x06:
                restore(m, take_uleb(&c));
                continue;
            case 0x07:
                set_offset(m, take_uleb(&c), CFI_UNDEFINED, 0);
                continue;
            case 0x08:
                set_offset(m, take_uleb(&c), CFI_SAME, 0);
                continue;
            case 0x09: /* register */
                reg = take_uleb(&c);
                *rule_of(m, reg) =
                    (struct cfi_rule){.how = CFI_REGISTER, .reg = (uint8_t)take_uleb(&c)};
                continue;
            case 0x0a: /* remember_state */
                if (m->depth == STATES)
                    return false;
                m->saved[m->depth++] = *row;
                continue;
            case 0x0b: /* restore_state */
                if (m->depth == 0)
                    return false;
                *row = m->saved[--m->depth];
                continue;
            case 0x0c: /* def_cfa */
                row->cfa_expression = NULL;
                row->cfa_reg = (uint32_t)take_uleb(&c);
                row->cfa_offset = (int64_t)take_uleb(&c);
                continue;
            case 0x0d: /* def_cfa_register */
                row->cfa_expression = NULL;
                row->cfa_reg = (uint32_t)take_uleb(&c);
                continue;
            case 0x0e:
                row->cfa_offset = (int64_t)take_uleb(&c);
                continue;
            case 0x0f: { /* def_cfa_expression */
                uint64_t size = take_uleb(&c);
                row->cfa_expression = c.at;
                row->cfa_expression_size = (uint32_t)size;
                skip(&c, size);
                continue;
            }
            case 0x10:
                set_expression(m, &c, CFI_EXPRESSION);
                continue;
            case 0x11: /* offset_extended_sf */
                reg = take_uleb(&c);
                set_offset(m, reg, CFI_OFFSET, scaled(cie, (uint64_t)take_sleb(&c)));
                continue;
            case 0x12: /* def_cfa_sf */
                row->cfa_expression = NULL;
                row->cfa_reg = (uint32_t)take_uleb(&c);
                row->cfa_offset = scaled(cie, (uint64_t)take_sleb(&c));
                continue;
            case 0x13:
                row->cfa_offset = scaled(cie, (uint64_t)take_sleb(&c));
                continue;
            case 0x14: /* val_offset */
                reg = take_uleb(&c);
                set_offset(m, reg, CFI_VAL_OFFSET, scaled(cie, take_uleb(&c)));
                continue;
            case 0x15: /* val_offset_sf */
                reg = take_uleb(&c);
                set_offset(m, reg, CFI_VAL_OFFSET, scaled(cie, (uint64_t)take_sleb(&c)));
                continue;
            case 0x16:
                set_expression(m, &c, CFI_VAL_EXPRESSION);
                continue;
            case 0x2e:
                take_uleb(&c);
                continue; /* GNU_args_size */
            default:
                if (arch_cfi_is_nothing(op))
                    continue;
                return false;
            }
        }
        m->location += advance * cie->code_align;
        if (m->location > m->target)
            return !c.bad;
    }
    return !c.bad;
}

int cfi_row(const struct cfi_section *s, uint64_t address, struct cfi_row *row)
{
    const uint8_t *fde = find_fde(s, address);
    if (!fde)
        return -1;
    struct cursor c = {.at = fde, .end = s->end};
    uint64_t length = take(&c, 4);
    if (c.bad || length == 0 || length == 0xffffffff || (uint64_t)(s->end - c.at) < length)
        return -1;
    c.end = c.at + length;
    const uint8_t *cie_field = c.at;
    uint64_t back = take(&c, 4);
    if (back == 0 || back > (uint64_t)(cie_field - s->begin))
        return -1;
    struct cie cie;
    if (!read_cie(s, cie_field - back, &cie))
        return -1;
    uint64_t start = take_pointer(&c, cie.fde_encoding, s->delta, 0);
    uint64_t size = take_pointer(&c, cie.fde_encoding & PE_FORMAT, 0, 0);
    if (cie.augmented)
        skip(&c, take_uleb(&c));
    if (c.bad || address < start || address - start >= size)
        return -1;

    struct machine m = {.cie = &cie, .location = start, .target = address, .row = row};
    memset(row, 0, sizeof *row);
    row->function = start;
    row->return_reg = cie.return_reg;
    row->signal_frame = cie.signal_frame;
    if (!run(&m, cie.program, s->delta))
        return -1;
    struct cfi_row initial = *row;
    m.initial = &initial;
    m.location = start;
    return run(&m, c, s->delta) ? 0 : -1;
}
