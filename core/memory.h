#pragma once
// What a program tells the C library about its memory.

namespace locus {

/// Tells the C library to keep freed memory.  A training step frees what the next one asks for again, and so does every
/// hypothesis of a diagnosis; to get it from the kernel each time costs a fifth of a step and a quarter of a diagnosis.
/// For programs, before they begin, and for their whole process; nothing where the library is not glibc.
void keep_freed_memory();

}  // namespace locus
