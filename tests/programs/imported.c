/*
 * imported: allocations that every heap profiler tells alike, all of them in the main thread:
 *
 *     keep       10 blocks of 100 bytes stay
 *     churn      50 blocks of 64 bytes, each freed at once
 *     hold       20 blocks of 1,000 bytes, freed together after the peak
 */
#include "known.h"

static void *held[20];

SITE static void keep(void)
{
    for (int i = 0; i < 10; i++)
        known_sink = malloc(100); /* kept */
}

SITE static void churn(void)
{
    for (int i = 0; i < 50; i++) {
        known_sink = malloc(64);
        free(known_sink);
    }
}

SITE static void hold(void)
{
    for (int i = 0; i < 20; i++)
        held[i] = malloc(1000);
}

SITE static void let_go(void)
{
    for (int i = 0; i < 20; i++)
        free(held[i]);
}

int main(void)
{
    keep();
    churn();
    hold();
    let_go();
    return 0;
}
