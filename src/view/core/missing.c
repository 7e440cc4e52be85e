/* missing: functions of libc and libraries that wasi-libc lacks and the core needs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A stable sort without recursion: runs of 1, 2, 4, ... are merged. */
void qsort_r(void *base, size_t count, size_t size,
             int (*compare)(const void *, const void *, void *), void *context)
{
    char *from = base, *other = malloc(count * size + 1), *to = other;
    if (!other)
        abort();
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t start = 0; start < count; start += 2 * run) {
            size_t a = start, a_end = start + run < count ? start + run : count;
            size_t b = a_end, b_end = a_end + run < count ? a_end + run : count;
            for (size_t k = start; k < b_end; k++) {
                int first = b == b_end ||
                            (a < a_end && compare(from + a * size, from + b * size, context) <= 0);
                memcpy(to + k * size, from + (first ? a++ : b++) * size, size);
            }
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != base)
        memcpy(base, from, count * size);
    free(other);
}

/* A page has no files. */
char *realpath(const char *path, char *resolved)
{
    (void)resolved;
    return strdup(path);
}

/* It has only one page size. */
int madvise(void *start, size_t size, int advice)
{
    (void)start, (void)size, (void)advice;
    return 0;
}

int gzread(void *file, void *to, unsigned size)
{
    (void)file, (void)to, (void)size;
    return -1;
}

int gzrewind(void *file)
{
    (void)file;
    return -1;
}

/* Pictures that are saved from a page have no script of their own. */
const char plot_script[] = "", flame_script[] = "";
const size_t plot_script_size = 0, flame_script_size = 0;
