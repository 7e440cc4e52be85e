/*
 * attached_library: finds the libtidemark.so that an attach has loaded into another process, and
 * reads the table of patches that the library exports.
 */
#ifndef TIDE_COLLECT_ATTACH_ATTACHED_LIBRARY_H
#define TIDE_COLLECT_ATTACH_ATTACHED_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/attach/remote_module.h"
#include "wire/attach.h"

/* The library that `attach` loaded before; NULL: there is none. */
struct remote_module *attached_library_find(struct remote_modules *m);
/* Reads the table of the library and its address; false: `library` is NULL, or it has no table of
 * this version. */
bool attached_library_read(struct remote_modules *m, struct remote_module *library,
                           uint64_t *address, struct wire_attached *out);
/* Was the library loaded before? Sets *function to the address of tidemark_attach, or to 0, and
 * *there to the table. It is an error if the library was preloaded or is of another version. */
int attached_library_function(struct remote_modules *m, uint64_t *function,
                              struct wire_attached *there, struct err *err);

#endif
