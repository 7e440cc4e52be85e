#include "collect/counting/sampled_tree.h"

uint32_t sampled_tree_child(struct sampled_tree *t, uint32_t parent, uint64_t address)
{
    if (!t->nodes.count)
        *vec_push(&t->nodes) = (struct node){0};
    uint32_t *number = map_at(&t->addresses, address);
    if (*number == MAP_NONE)
        *number = t->address_count++;
    uint32_t *node = map_at(&t->children, (uint64_t)parent << 32 | *number);
    if (*node == MAP_NONE) {
        *node = (uint32_t)t->nodes.count;
        *vec_push(&t->nodes) = (struct node){.parent = parent, .address = address};
    }
    return *node;
}

uint32_t sampled_tree_join(const struct sampled_tree *t, struct profile *p)
{
    uint32_t by = (uint32_t)p->nodes.count - 1;
    for (size_t i = 1; i < t->nodes.count; i++) {
        struct node n = t->nodes.items[i];
        n.parent += n.parent ? by : 0;
        *vec_push(&p->nodes) = n;
    }
    return by;
}

void sampled_tree_release(struct sampled_tree *t)
{
    vec_release(&t->nodes);
    map_release(&t->addresses);
    map_release(&t->children);
}
