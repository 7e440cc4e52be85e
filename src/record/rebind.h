/*
 * rebind: libraries loaded with RTLD_DEEPBIND.
 *
 * They prefer what they are linked with to what is preloaded, and so call libc's malloc and free
 * directly: the frees of what others allocate for them would never be seen. Their slots for such
 * functions are set to our hooks when dlopen has loaded them. What their constructors did before
 * that was not recorded, and the recording says so. A library that binds to another allocator than
 * the one that the hooks call is left alone.
 */
#ifndef TIDE_RECORD_REBIND_H
#define TIDE_RECORD_REBIND_H

#include <stdbool.h>

/* Handles the library of this handle and what was loaded with it; NULL: all libraries. */
void rebind(void *handle);

/* A library was loaded that could not be handled at once. */
void rebind_later(void);

/* Handles such libraries, when that is possible. */
void rebind_now(void);

#endif
