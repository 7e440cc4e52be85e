/*
 * fork_image: the heap that a forked child has from its parent.
 *
 * When a process is about to fork, its mappings and live totals are stored as an image. A child
 * that connects later gets the image. Its copy of the block index shows which of its frees are of
 * inherited blocks. Most children execute another program and never connect; their images are
 * dropped for later ones.
 */
#ifndef TIDE_COLLECT_COUNTING_FORK_IMAGE_H
#define TIDE_COLLECT_COUNTING_FORK_IMAGE_H

#include "collect/counting/ledger.h"
#include "collect/proc/address_set.h"
#include "store/recording.h"

struct target;

/* What was live when the process forked, for a child that may still connect. */
struct fork_image {
    uint32_t number;
    struct amount live;
    struct address_set maps, loader; /* as in the target */
    size_t bytes;                    /* memory that the image takes in the collector */
};

struct inheritance {
    VEC(struct fork_image) images; /* for its children */
    struct address_set maps;       /* mappings of its parents, as they were at the forks */
    bool unknown;                  /* the process was forked, and what it inherited is not known */
};

/* Passes what was live at the parent's fork of this number to the child that the fork made. */
void fork_image_hand_over(struct target *parent, uint32_t number, struct target *child);
void fork_image_take(struct target *t, uint32_t number); /* the process is about to fork */
/* Frees all images except the last ones that take at most `bytes` together. Returns how many bytes
 * these take. */
size_t fork_image_keep(struct inheritance *i, size_t bytes);
void fork_images_release(struct inheritance *i);

#endif
