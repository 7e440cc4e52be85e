/*
 * Allocation functions with other names than malloc's, each in a function of its own: ROUNDS
 * blocks, of which KEPT are never freed. -DPREFIX is what stands before all names, -DMIMALLOC,
 * -DTCMALLOC say whose they are; else they are jemalloc's. With -DRUST the file says that it is a
 * program of Rust.
 */
#include "known.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define F(name)     JOIN(PREFIX, name)

#ifdef RUST
#ident "rustc version 1.70.0"
#endif

enum { ROUNDS = 50, KEPT = 10 };

#if defined(MIMALLOC) || defined(TCMALLOC) || defined(WHOLE)
void *F(malloc)(size_t);
void *F(calloc)(size_t, size_t);
void *F(realloc)(void *, size_t);
int F(posix_memalign)(void **, size_t, size_t);
void F(free)(void *);

SITE static void by_malloc(int i)
{
    void *p = F(malloc)(1001);
    known_sink = p;
    if (i >= KEPT)
        F(free)(p);
}

SITE static void by_calloc(int i)
{
    void *p = F(calloc)(7, 101);
    known_sink = p;
    if (i >= KEPT)
        F(free)(p);
}

SITE static void by_realloc(int i)
{
    void *p = F(realloc)(NULL, 1303);
    known_sink = p;
    if (i >= KEPT)
        F(free)(p);
}

SITE static void by_posix_memalign(int i)
{
    void *p;
    if (F(posix_memalign)(&p, 64, 1507))
        abort();
    known_sink = p;
    if (i >= KEPT)
        F(free)(p);
}

static void all_common(int i)
{
    by_malloc(i);
    by_calloc(i);
    by_realloc(i);
    by_posix_memalign(i);
}
#else
static void all_common(int i)
{
    (void)i;
}
#endif

#if defined(MIMALLOC)
void *F(zalloc)(size_t);
void *F(malloc_aligned)(size_t, size_t);
void *F(zalloc_aligned)(size_t, size_t);
void *F(realloc_aligned)(void *, size_t, size_t);
char *F(strdup)(const char *);
void F(free_size)(void *, size_t);
void F(free_size_aligned)(void *, size_t, size_t);
void F(free_aligned)(void *, size_t);

SITE static void by_zalloc(int i)
{
    void *p = F(zalloc)(601);
    known_sink = p;
    if (i >= KEPT)
        F(free_size)(p, 601);
}

SITE static void by_malloc_aligned(int i)
{
    void *p = F(malloc_aligned)(613, 64);
    known_sink = p;
    if (i >= KEPT)
        F(free_size_aligned)(p, 613, 64);
}

SITE static void by_zalloc_aligned(int i)
{
    void *p = F(zalloc_aligned)(617, 64);
    known_sink = p;
    if (i >= KEPT)
        F(free_aligned)(p, 64);
}

SITE static void by_realloc_aligned(int i)
{
    void *p = F(realloc_aligned)(NULL, 619, 64);
    known_sink = p;
    if (i >= KEPT)
        F(free_aligned)(p, 64);
}

SITE static void by_strdup(int i)
{
    void *p = F(strdup)("eight...");
    known_sink = p;
    if (i >= KEPT)
        F(free)(p);
}

static void all_own(int i)
{
    by_zalloc(i);
    by_malloc_aligned(i);
    by_zalloc_aligned(i);
    by_realloc_aligned(i);
    by_strdup(i);
}
#elif defined(TCMALLOC)
static void all_own(int i)
{
    (void)i;
}
#else
void *F(mallocx)(size_t, int);
void *F(rallocx)(void *, size_t, int);
size_t F(xallocx)(void *, size_t, size_t, int);
size_t F(sallocx)(const void *, int);
size_t F(nallocx)(size_t, int);
void F(dallocx)(void *, int);
void F(sdallocx)(void *, size_t, int);

SITE static void by_mallocx(int i)
{
    void *p = F(mallocx)(2001, 0);
    if (F(sallocx)(p, 0) < 2001 || F(nallocx)(2001, 0) < 2001)
        abort();
    known_sink = p;
    if (i >= KEPT)
        F(dallocx)(p, 0);
}

/* Aligned to 64 bytes, and zero. */
SITE static void by_aligned_mallocx(int i)
{
    void *p = F(mallocx)(2003, 6 | 0x40);
    known_sink = p;
    if (i >= KEPT)
        F(sdallocx)(p, 2003, 6);
}

/* Another block each time: what is freed in the end is what rallocx gave. */
SITE static void by_rallocx(int i)
{
    void *p = F(rallocx)(F(mallocx)(16, 0), 3001, 0);
    known_sink = p;
    if (i >= KEPT)
        F(sdallocx)(p, 3001, 0);
}

/* The first does not fit where the block is, the second does. */
SITE static void by_xallocx(int i)
{
    void *p = F(mallocx)(100000, 0);
    if (F(xallocx)(p, (size_t)1 << 40, 0, 0) >= (size_t)1 << 40 ||
        F(xallocx)(p, 90000, 0, 0) < 90000)
        abort();
    known_sink = p;
    if (i >= KEPT)
        F(dallocx)(p, 0);
}

static void all_own(int i)
{
    by_mallocx(i);
    by_aligned_mallocx(i);
    by_rallocx(i);
    by_xallocx(i);
}
#endif

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        all_common(i);
        all_own(i);
    }
    return NULL;
}

#ifdef OWN_ZALLOC
/* As zlib calls it: three arguments. */
void *zalloc(void *opaque, unsigned items, unsigned size);
__attribute__((noinline)) void *zalloc(void *opaque, unsigned items, unsigned size)
{
    __asm__ volatile("" ::: "memory");
    return items == 3 && size == 5 ? opaque : NULL;
}
#endif

int main(int argc, char **argv)
{
#ifdef OWN_ZALLOC
    int mine;
    if (zalloc(&mine, 3, 5) != &mine)
        return 9;
#endif
    known_run(known_argument(argc, argv, 1, 1), work);
    return 0;
}
