/* Loading of libraries that would bypass the hooks, and unloading of code. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "record/callers_definition.h"
#include "record/libc.h"
#include "record/python.h"
#include "record/deepbind.h"
#include "record/recorder.h"

/* If the library is given by its path, the result does not depend on the caller. */
static __attribute__((noinline)) void *open_deeply(const char *file, int mode)
{
    void *handle = next.dlopen(file, mode);
    int saved = errno;
    if (handle && !(mode & RTLD_NOLOAD))
        rebind(handle);
    errno = saved;
    return handle;
}

/*
 * Only for libraries that would bypass us (deepbind.h). The loader searches on behalf of the
 * function it returns to. So that this stays the caller, the call is the last thing done here: a
 * jump.
 */
EXPORT void *dlopen(const char *file, int mode)
{
    if (UNLIKELY(!next.dlopen)) {
        recorder_start();
        if (!next.dlopen) { /* of a libdl that was loaded later */
            void *f = libc_find("dlopen");
            memcpy(&next.dlopen, &f, sizeof f);
        }
    }
    rebind_now();
    if (UNLIKELY(mode & RTLD_DEEPBIND)) {
        if (file && strchr(file, '/') && !strchr(file, '$'))
            return open_deeply(file, mode);
        rebind_later();
    }
    return next.dlopen(file, mode);
}

/* Forgets what is known about the unloaded addresses. */
EXPORT int dlclose(void *handle)
{
    if (UNLIKELY(!next.dlclose)) {
        recorder_start();
        if (!next.dlclose) {
            void *f = libc_find("dlclose");
            memcpy(&next.dlclose, &f, sizeof f);
        }
    }
    rebind_now();
    definition_hold();
    bool closed = python_close(handle);
    int result = next.dlclose(handle);
    if (closed)
        python_closed();
    if (recorder.rules && atomic_load(&recorder.state) == STATE_LIVE) {
        modules_forget();
        struct thread *t = thread_enter();
        if (t) {
            note_unload(t);
            thread_leave();
        } else {
            wire_move_tick(recorder.header);
        }
    }
    return result;
}
