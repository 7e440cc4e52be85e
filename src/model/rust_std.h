/*
 * rust_std: is a demangled Rust function, or a source file, part of Rust's standard library?
 *
 * It knows both ways of mangling symbols ("alloc::vec::Vec<T,A>::push" and
 * "<alloc::vec::Vec<u8>>::push") and methods of traits ("<X as Trait>::method"). What a crate
 * implements for its own types belongs to the crate, even if the trait is the library's. What it
 * implements of its own traits for types of the library belongs to the crate too. Implementations
 * of allocators count as the library's, whoever wrote them, because a user does not look for them.
 * Any text is accepted. No state, no allocation.
 */
#ifndef TIDE_MODEL_RUST_STD_H
#define TIDE_MODEL_RUST_STD_H

#include "model/function_name.h"

bool rust_name_is_std(struct name_part bare);

/* Is it a source file of Rust's standard library? */
bool rust_file_is_std(const char *path);

#endif
