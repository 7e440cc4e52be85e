/*
 * Allocation before main and after it: constructors and destructors of statics, thread-local
 * destructors, pthread keys, atexit handlers. One block each, and one that is freed.
 */
#include "known.h"

SITE static void *take(size_t size)
{
    void *block = malloc(size);

    known_sink = malloc(1);
    free(known_sink);
    known_sink = block;
    return block;
}

struct global {
    SITE global()
    {
        take(101);
    }
    SITE ~global()
    {
        take(102);
    }
};
static global the_global;

struct local {
    void *kept = nullptr;
    SITE ~local()
    {
        free(kept);
        take(103);
    }
};
static thread_local local the_local;

SITE static void at_exit()
{
    take(104);
}

static pthread_key_t key;

/* Comes again until the last round. */
SITE static void key_destructor(void *left)
{
    take(105);
    if (left != &key)
        pthread_setspecific(key, (char *)left - 1);
}

SITE static void *thread(void *unused)
{
    the_local.kept = take(106);
    pthread_setspecific(key, (char *)&key + 2); /* three calls */
    return unused;
}

int main()
{
    atexit(at_exit);
    pthread_key_create(&key, key_destructor);
    the_local.kept = take(107);
    for (int i = 0; i < 10; i++) {
        pthread_t id;
        pthread_create(&id, nullptr, thread, nullptr);
        pthread_join(id, nullptr);
    }
    return 0;
}
