/*
 * deep_tree DEPTH LEVELS: below DEPTH calls of descend, a whole binary tree of so many levels. Each of
 * its 2^LEVELS - 1 nodes has 16 bytes and a stack of its own.
 */
#include "known.h"

struct node {
    struct node *left, *right;
};

SITE static struct node *make(int levels)
{
    struct node *n = malloc(sizeof *n);
    n->left = levels > 1 ? make(levels - 1) : NULL;
    n->right = levels > 1 ? make(levels - 1) : NULL;
    return n;
}

SITE static struct node *descend(int depth, int levels)
{
    struct node *n = depth > 1 ? descend(depth - 1, levels) : make(levels);
    known_sink = n;
    return n;
}

int main(int argc, char **argv)
{
    int depth = known_argument(argc, argv, 1, 10), levels = known_argument(argc, argv, 2, 4);
    known_sink = depth ? descend(depth, levels) : make(levels);
    return 0;
}
