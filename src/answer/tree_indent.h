/*
 * tree_indent: how far the lines of a call tree are indented.
 *
 * A tree that is not deep is indented by two columns for each call. In a deep tree, only calls that
 * have siblings are indented further: a chain of calls, each the only callee of its caller, stays
 * at one indentation. A column of depths distinguishes a chain (5, 6, 7) from calls of one caller
 * (5, 5, 5).
 */
#ifndef TIDE_ANSWER_TREE_INDENT_H
#define TIDE_ANSWER_TREE_INDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDENT_PLAIN 8 /* up to this depth a tree is indented plainly */

/* Converts the depths of lines, each followed by the calls below it, to columns of indentation, in
 * place. true: the tree is deep, and its depths must be shown. */
bool indent_tree(uint32_t *depths, size_t count);

#endif
