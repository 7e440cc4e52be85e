/*
 * sampled_tree: stacks that the collector itself found, as a tree like the one that programs make in
 * shared memory. It has its own numbers, from 1; when the profile is made, its nodes are appended
 * to the program's (sampled_tree_join).
 */
#ifndef TIDE_COLLECT_COUNTING_SAMPLED_TREE_H
#define TIDE_COLLECT_COUNTING_SAMPLED_TREE_H

#include "collect/counting/ledger.h"
#include "store/recording.h"

struct sampled_tree {
    VEC(struct node) nodes; /* by number; once there is any node, 0 is the root */
    struct map addresses;   /* address -> its own number */
    uint32_t address_count; /* how many addresses there are */
    struct map children;    /* (parent, number of the address) -> node */
};

/* The node of a call to `address` (with epoch) below another. */
uint32_t sampled_tree_child(struct sampled_tree *t, uint32_t parent, uint64_t address);
/* Appends the nodes to a profile's; returns what must be added to a node's number (except 0). */
uint32_t sampled_tree_join(const struct sampled_tree *t, struct profile *p);
void sampled_tree_release(struct sampled_tree *t);

#endif
