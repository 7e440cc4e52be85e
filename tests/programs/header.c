/* Every call of tidemark.h, also as C++; with <dlfcn.h> BEFORE or AFTER it, or without. */
#ifdef BEFORE
#include <dlfcn.h>
#endif
#include "tidemark.h"
#ifdef AFTER
#include <dlfcn.h>
#endif

int main(void)
{
    struct tide_heap heap = {0, 0, 0, 0, 0, 0};
    const char *keys[2] = {"first", "second"};
    double values[2] = {0.1, -2e300};
    tide_thread_name("named");
    tide_mark("plain");
    tide_mark_value("one", "key", 0.5);
    tide_mark_values("two", 2, keys, values);
    if (tide_figures(&heap, 1) != (tide_active() ? 0 : -1) || heap.size != sizeof heap)
        return 8;
    if (tide_stop() != -3) /* ESRCH */
        return 10;
    tide_pause();
    tide_resume();
#if defined BEFORE || defined AFTER
    if (!dlsym(RTLD_DEFAULT, "malloc"))
        return 9;
#endif
    return tide_active() ? 0 : tide_snapshot("none") < 0 ? 4 : 5;
}
