/*
 * A peak in the middle: 20 blocks of 500,000 in first_phase, freed; then 8 of 1,000,000 that stay.
 * spike has its own peak of 3,000,000 when first_phase's 10,000,000 are gone; churn never holds
 * much.
 */
#include "known.h"

static void *first[20], *second[8];

SITE static void base_load(void)
{
    known_sink = malloc(12345);
}

SITE static void first_phase(void)
{
    for (int i = 0; i < 20; i++)
        first[i] = malloc(500000);
}

SITE static void drop_first(void)
{
    for (int i = 0; i < 20; i++)
        free(first[i]);
}

SITE static void spike(void)
{
    void *a = malloc(1000000), *b = malloc(2000000);

    known_sink = a;
    known_sink = b;
    free(a);
    free(b);
    known_sink = a = malloc(1500000);
    free(a);
}

SITE static void churn(void)
{
    for (int i = 1; i <= 1000; i++) {
        void *block = malloc((size_t)i);

        known_sink = block;
        free(block);
    }
}

SITE static void second_phase(void)
{
    for (int i = 0; i < 8; i++)
        second[i] = malloc(1000000);
}

int main(void)
{
    base_load();
    first_phase();
    drop_first();
    spike();
    churn();
    second_phase();
    known_sink = second[0];
    return 0;
}
