#include "model/fold.h"

#include "model/frames.h"

uint32_t fold_charged(const struct fold *f, uint32_t call, enum charge charge, bool has_python)
{
    if (f->in_place) {
        bool kernel = charge == CHARGE_PYTHON && f->flags[call] & CALL_KERNEL;
        return kernel && f->parent[call] ? f->parent[call] : call;
    }
    if (charge == CHARGE_PYTHON && has_python) {
        uint32_t python = call;
        while (python && !(f->flags[python] & CALL_PYTHON))
            python = f->parent[python];
        if (python)
            return python;
    }
    while (call && (f->flags[call] & CALL_ALLOCATOR))
        call = f->parent[call];
    if (f->no_fold)
        return call;
    uint32_t user = call, folded = CALL_STD | (f->gpu ? CALL_GPU : 0u);
    while (user && (f->flags[user] & folded))
        user = f->parent[user];
    /* A stack that consists of such calls only keeps them; otherwise nothing would be left to
     * show. */
    return user && !(f->flags[user] & CALL_MARKER) ? user : call;
}
