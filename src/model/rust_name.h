/*
 * rust_name: is a demangled Rust function part of the standard library?
 *
 * Knows both ways that symbols are mangled ("alloc::vec::Vec<T,A>::push" and
 * "<alloc::vec::Vec<u8>>::push") and methods of traits ("<X as Trait>::method"). What a crate
 * implements for its own types is the crate's, also where the trait is the library's; what it
 * implements of its own traits for types of the library is the crate's too. An implementation of an
 * allocator is never what anybody looks for, so these count as the library's whoever wrote them.
 *
 * Any text is accepted. No state, no allocation.
 */
#ifndef TIDE_MODEL_RUST_NAME_H
#define TIDE_MODEL_RUST_NAME_H

#include "model/name.h"

bool rust_name_is_std(struct name_part bare);

/* Is it a source file of Rust's standard library? */
bool rust_file_is_std(const char *path);

#endif
