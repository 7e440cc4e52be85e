#include "unwind/cfi_expression.h"

#include <string.h>

#define DEPTH 16
#define STEPS 256

static int64_t read_leb(const uint8_t **at, const uint8_t *end, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    while (*at < end) {
        byte = *(*at)++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80))
            break;
    }
    if (is_signed && shift < 64 && (byte & 0x40))
        v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

static uint64_t read_fixed(const uint8_t **at, const uint8_t *end, unsigned size, bool is_signed)
{
    uint64_t v = 0;
    if ((size_t)(end - *at) < size)
        return 0;
    memcpy(&v, *at, size);
    *at += size;
    unsigned shift = 64 - size * 8;
    return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

int expr_evaluate(const struct unwind_space *space, const struct arch_registers *r,
                  const uint8_t *code, uint32_t size, const uint64_t *initial, uint64_t *out)
{
    const uint8_t *at = code, *end = code + size;
    uint64_t stack[DEPTH];
    unsigned n = 0;
    if (initial)
        stack[n++] = *initial;
    for (unsigned steps = 0; at < end; steps++) {
        uint8_t op = *at++;
        uint64_t v;
        if (steps == STEPS || n + 2 >= DEPTH)
            return -1;
        if (op >= 0x30 && op <= 0x4f) { /* lit0.. */
            stack[n++] = op - 0x30u;
            continue;
        }
        if ((op >= 0x70 && op <= 0x8f) || op == 0x92) { /* breg0.., bregx */
            uint64_t reg = op == 0x92 ? (uint64_t)read_leb(&at, end, false) : op - 0x70u;
            int64_t offset = read_leb(&at, end, true);
            if (arch_made_up(reg, &v)) {
                stack[n++] = v + (uint64_t)offset;
                continue;
            }
            if (reg >= ARCH_REGISTERS || !(r->known >> reg & 1))
                return -1;
            /* The pc is a return address: the instruction in question is before it (PLT entries
             * ask how far into them it is). */
            stack[n++] = r->value[reg] - (reg == ARCH_REG_PC) + (uint64_t)offset;
            continue;
        }
        switch (op) {
        case 0x08:
            stack[n++] = read_fixed(&at, end, 1, false);
            continue;
        case 0x09:
            stack[n++] = read_fixed(&at, end, 1, true);
            continue;
        case 0x0a:
            stack[n++] = read_fixed(&at, end, 2, false);
            continue;
        case 0x0b:
            stack[n++] = read_fixed(&at, end, 2, true);
            continue;
        case 0x0c:
            stack[n++] = read_fixed(&at, end, 4, false);
            continue;
        case 0x0d:
            stack[n++] = read_fixed(&at, end, 4, true);
            continue;
        case 0x03: /* addr */
        case 0x0e:
        case 0x0f:
            stack[n++] = read_fixed(&at, end, 8, false);
            continue;
        case 0x10:
            stack[n++] = (uint64_t)read_leb(&at, end, false);
            continue;
        case 0x11:
            stack[n++] = (uint64_t)read_leb(&at, end, true);
            continue;
        default:
            break;
        }
        if (n == 0)
            return -1;
        uint64_t top = stack[n - 1], below = n > 1 ? stack[n - 2] : 0;
        switch (op) {
        case 0x06: /* deref */
            if (space->read(space, top, &v))
                return -1;
            stack[n - 1] = v;
            continue;
        case 0x12:
            stack[n++] = top;
            continue;
        case 0x13:
            n--;
            continue;
        case 0x1f:
            stack[n - 1] = (uint64_t) - (int64_t)top;
            continue;
        case 0x20:
            stack[n - 1] = ~top;
            continue;
        case 0x23:
            stack[n - 1] = top + (uint64_t)read_leb(&at, end, false);
            continue;
        case 0x96:
            continue; /* nop */
        case 0x28: {  /* bra */
            int64_t by = (int64_t)read_fixed(&at, end, 2, true);
            n--;
            if (top) {
                if (by < code - at || by > end - at)
                    return -1;
                at += by;
            }
            continue;
        }
        case 0x2f: { /* skip */
            int64_t by = (int64_t)read_fixed(&at, end, 2, true);
            if (by < code - at || by > end - at)
                return -1;
            at += by;
            continue;
        }
        default:
            break;
        }
        if (n < 2)
            return -1;
        switch (op) {
        case 0x14:
            stack[n++] = below;
            continue; /* over */
        case 0x16:
            stack[n - 1] = below, stack[n - 2] = top;
            continue;
        case 0x1a:
            v = below & top;
            break;
        case 0x1c:
            v = below - top;
            break;
        case 0x1e:
            v = below * top;
            break;
        case 0x21:
            v = below | top;
            break;
        case 0x22:
            v = below + top;
            break;
        case 0x24:
            v = top < 64 ? below << top : 0;
            break;
        case 0x25:
            v = top < 64 ? below >> top : 0;
            break;
        case 0x26:
            v = (uint64_t)((int64_t)below >> (top < 64 ? top : 63));
            break;
        case 0x27:
            v = below ^ top;
            break;
        case 0x29:
            v = below == top;
            break;
        case 0x2a:
            v = (int64_t)below >= (int64_t)top;
            break;
        case 0x2b:
            v = (int64_t)below > (int64_t)top;
            break;
        case 0x2c:
            v = (int64_t)below <= (int64_t)top;
            break;
        case 0x2d:
            v = (int64_t)below < (int64_t)top;
            break;
        case 0x2e:
            v = below != top;
            break;
        default:
            return -1;
        }
        stack[--n - 1] = v;
    }
    if (n == 0)
        return -1;
    *out = stack[n - 1];
    return 0;
}
