/*
 * sampled_tree: the tree of stacks that the collector itself unwound from samples; like the tree
 * that programs write in shared memory. Its nodes are numbered from 1; when the profile is made,
 * they are appended to the program's nodes (sampled_tree_join).
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

/* Finds or adds the node of a call from `parent` to `address`, which includes the epoch. */
uint32_t sampled_tree_child(struct sampled_tree *t, uint32_t parent, uint64_t address);
/* Appends the nodes to those of a profile. Returns what must be added to the number of a node other
 * than 0. */
uint32_t sampled_tree_join(const struct sampled_tree *t, struct profile *p);
void sampled_tree_release(struct sampled_tree *t);

#endif
