/*
 * deepbind: libraries loaded with RTLD_DEEPBIND.
 *
 * Such a library prefers the libraries that it is linked with to preloaded ones, and so calls
 * libc's malloc and free directly. We would never see when it frees blocks that other libraries
 * allocated. So, after dlopen has loaded it, we set its GOT slots for these functions to our hooks.
 * Calls that its constructors made before that are not recorded, and the recording says so. A
 * library that is bound to another allocator than the one that the hooks call is left alone.
 */
#ifndef TIDE_RECORD_DEEPBIND_H
#define TIDE_RECORD_DEEPBIND_H

#include <stdbool.h>

/* Rebinds the library of this handle and the libraries that were loaded with it; NULL: all
 * libraries. */
void rebind(void *handle);

/* Notes that a library was loaded that could not be rebound at once. */
void rebind_later(void);

/* Rebinds the libraries that rebind_later has noted, if this is possible now. */
void rebind_now(void);

#endif
