/*
 * indent: how far the lines of a call tree go in.
 *
 * A tree that is not deep is indented by two columns for each call. In a deep one only calls that
 * have siblings are: a chain of calls, each the only callee of its caller, stays at one
 * indentation. A column of depths distinguishes a chain (5, 6, 7) from calls of one caller (5, 5,
 * 5).
 */
#ifndef TIDE_ANSWER_INDENT_H
#define TIDE_ANSWER_INDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDENT_PLAIN 8 /* the depth up to which a tree needs none of this */

/* Depths of lines, each followed by the calls below it, become columns of indentation, in place;
 * true: the tree is deep, and its depths must be shown. */
bool indent_tree(uint32_t *depths, size_t count);

#endif
