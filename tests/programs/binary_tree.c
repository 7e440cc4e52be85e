/*
 * A whole binary tree of the given depth, made by recursion: each node has a stack of its own, and
 * all of it is so regular that a recording packs thousands to 1.
 */
#include "known.h"

struct node {
    struct node *left, *right;
};

SITE static struct node *make(int depth)
{
    struct node *n = malloc(sizeof *n);
    n->left = depth ? make(depth - 1) : NULL;
    n->right = depth ? make(depth - 1) : NULL;
    return n;
}

int main(int argc, char **argv)
{
    known_sink = make(known_argument(argc, argv, 1, 17));
    return 0;
}
