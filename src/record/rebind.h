/*
 * rebind: libraries loaded with RTLD_DEEPBIND, which prefer what they are linked with to what is
 * preloaded, and so call libc's malloc and free past us: what others allocate for them would never
 * be seen to be freed.
 *
 * Their slots for such functions are set to our hooks when dlopen has loaded them. What their
 * constructors did before that was not seen, and the recording says so. A library that binds to any
 * other allocator than the one that the hooks call is left alone.
 */
#ifndef TIDE_RECORD_REBIND_H
#define TIDE_RECORD_REBIND_H

#include <stdbool.h>

/* Sees to the library that has this handle and to what was loaded with it; NULL: to all. */
void rebind(void *handle);

/* One was loaded that could not be seen to at once. */
void rebind_later(void);

/* Sees to those, when there is occasion to. */
void rebind_now(void);

#endif
