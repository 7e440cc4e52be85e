/*
 * C++ helpers of tidemark.h. A scope left by an exception, one inside another, two with long
 * names; a pause inside a pause. Kept: 100 bytes in the outer scope, 20 in the inner one, 3 after
 * both pauses.
 */
#include "known.h"
#include "tidemark.h"

SITE static void kept(size_t size)
{
    known_sink = malloc(size);
}

static void throws(int what)
{
    tide::scope inner("inner");
    kept(20);
    if (what)
        throw what;
}

static void pauses()
{
    tide::paused outer;
    kept(1000);
    {
        tide::paused inner;
        kept(1000);
    }
    kept(1000); /* the outer pause goes on */
}

int main(int argc, char **)
{
    int caught = 0;
    bool recorded = tide_active();
    {
        tide::scope outer("outer");
        kept(100);
        try {
            throws(argc);
        } catch (int what) {
            caught = what;
        }
    }
    pauses();
    if ((tide_active() != 0) != recorded)
        return 3;
    kept(3);
    tide_mark("after pauses");
    tide_pause();
    {
        tide::paused inside;
    }
    if (tide_active())
        return 4;
    tide_resume();
    {
        tide::scope longer("a name of sixty bytes, which is one more than a scope can have..");
    }
    {
        tide::scope wide("\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
                         "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac");
    }
    return caught == 1 ? 0 : 5;
}
