/* Blocks that only something of a certain kind points to, when the program ends. The sizes tell
 * them apart; what is odd in each case is in a function of its own. */
#include "scan_blocks.h"

static void *volatile global;
static __thread void *volatile thread_local;
static char *volatile kept_inside, *volatile kept_end;
static void **volatile kept_list, *volatile kept_none;
static struct {
    char pad[3];
    void *volatile unaligned;
} __attribute__((packed)) packed;

SITE static void by_global(void)
{
    global = block(1001);
}
SITE static void by_thread_local(void)
{
    thread_local = block(1002);
}
SITE static void by_inside(void)
{
    kept_inside = (char *)block(1003) + 500;
}
SITE static void by_end(void)
{
    kept_end = (char *)block(1008) + 1008;
}
SITE static void by_unaligned(void)
{
    packed.unaligned = block(1005);
}
SITE static void by_nothing(void)
{
    known_sink = block(1006);
}
SITE static void by_lost(void)
{
    void **parent = block(1010);
    *parent = block(1011);
    known_sink = parent;
}
SITE static void by_circle(void)
{
    void **a = block(1020), **b = block(1021), **c = block(1022);
    *a = b;
    *b = c;
    *c = a;
    known_sink = a;
}
SITE static void by_itself(void)
{
    void **a = block(1030);
    *a = a;
    known_sink = a;
}
SITE static void by_reachable(void)
{
    void **second = block(1041);
    void **first = block(1040);
    kept_list = first;
    first[3] = second;
    second[100] = block(1042);
}
/* Nothing points to either list, and one leads into the other. */
SITE static void by_two_lists(void)
{
    void **a = block(1050), **b = block(1051), **c = block(1052);
    *a = c;
    *b = c;
    known_sink = a;
    known_sink = b;
}
SITE static void of_nothing(void)
{
    kept_none = malloc(0);
}

int main(void)
{
    by_global();
    by_thread_local();
    by_inside();
    by_end();
    by_unaligned();
    by_nothing();
    by_lost();
    by_circle();
    by_itself();
    by_reachable();
    by_two_lists();
    of_nothing();
    known_sink = NULL;
    clear_stack();
    return 0;
}
