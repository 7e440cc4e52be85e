/* Functions with the names that rustc 1.95 gives: of the standard library, of an allocator, and of
 * a crate called app. They call each other as Vec::push and Box::new do. */
#include <stdlib.h>

static void *volatile kept;

/* alloc::alloc::alloc, mangled as of old */
__attribute__((noinline)) void *
legacy_alloc(size_t size) __asm__("_ZN5alloc5alloc5alloc17h0123456789abcdefE");
void *legacy_alloc(size_t size)
{
    void *p = malloc(size);
    kept = p;
    return p;
}

/* <alloc::raw_vec::RawVecInner>::finish_grow */
__attribute__((noinline)) void *
finish_grow(size_t size) __asm__("_RNvMs4_NtCs1_5alloc7raw_vecNtB5_11RawVecInner11finish_grow");
void *finish_grow(size_t size)
{
    void *p = legacy_alloc(size);
    kept = p;
    return p;
}

/* app::grows */
__attribute__((noinline)) void grows(void) __asm__("_RNvCs1_3app5grows");
void grows(void)
{
    for (int i = 0; i < 10; i++) {
        kept = finish_grow(1000);
    }
}

/* app::boxes, mangled as of old */
__attribute__((noinline)) void boxes(void) __asm__("_ZN3app5boxes17h0123456789abcdefE");
void boxes(void)
{
    for (int i = 0; i < 7; i++) {
        kept = legacy_alloc(2000);
    }
}

int main(void)
{
    grows();
    boxes();
    return 0;
}
