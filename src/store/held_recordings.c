#include "store/held_recordings.h"

#include <string.h>

#include "base/err.h"

struct held {
    char *name;
    struct recording *recording;
};

static VEC(struct held) held;
static unsigned generation;

void recording_hold(const char *name, struct recording *r)
{
    generation++;
    for (size_t i = 0; i < held.count; i++)
        if (strcmp(held.items[i].name, name) == 0) {
            struct recording *before = held.items[i].recording;
            held.items[i].recording = r;
            recording_free(before);
            return;
        }
    *vec_push(&held) = (struct held){.name = xstrdup(name), .recording = r};
}

struct recording *recording_held(const char *name)
{
    for (size_t i = 0; i < held.count; i++)
        if (strcmp(held.items[i].name, name) == 0)
            return held.items[i].recording;
    return NULL;
}

bool recording_is_held(const struct recording *r)
{
    for (size_t i = 0; i < held.count; i++)
        if (held.items[i].recording == r)
            return true;
    return false;
}

unsigned recording_held_generation(void)
{
    return generation;
}
