/*
 * Enters a function with known values in all registers, and compares what it finds: 20 times, then
 * from new threads, whose first mark takes the longest way. The program that includes this has
 * `given`, `seen`, their vectors, and `enters`.
 */
#ifndef ENTERED_REGISTERS_H
#define ENTERED_REGISTERS_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

static int wrong;

static void *enter(void *unused)
{
    enters();
    wrong |= memcmp(given, seen, sizeof seen) != 0 ||
             memcmp(given_vectors, seen_vectors, sizeof seen_vectors) != 0;
    memset(seen, 0, sizeof seen);
    memset(seen_vectors, 0, sizeof seen_vectors);
    return unused;
}

int main(void)
{
    for (int i = 0; i < GENERAL; i++)
        given[i] = UINT64_C(0x1111222233334444) * (uint64_t)(i + 1);
    for (size_t i = 0; i < sizeof given_vectors; i++)
        (&given_vectors[0][0])[i] = (uint8_t)(i * 7 + 1);
    for (int i = 0; i < 20; i++)
        enter(NULL);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, enter, NULL);
        pthread_join(thread, NULL);
    }
    return wrong;
}

#endif
