/* Where this program's own code and its unwind information are. */
#ifndef TIDE_UNIT_OWN_MODULE_H
#define TIDE_UNIT_OWN_MODULE_H

#include <dlfcn.h>

#include "unwind/address_space.h"

static inline int own_module(uint64_t address, struct unwind_module *out)
{
    struct dl_find_object o;
    if (_dl_find_object((void *)(uintptr_t)address, &o) != 0 || !o.dlfo_eh_frame)
        return -1;
    *out = (struct unwind_module){
        .cfi = {.begin = o.dlfo_map_start, .end = o.dlfo_map_end, .header = o.dlfo_eh_frame}};
    return 0;
}

#endif
