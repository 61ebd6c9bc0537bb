#pragma once

namespace locus {

/// Tells the C library to keep freed memory: a training step frees what the next one asks for again, and getting it
/// from the kernel each time costs a fifth of the step.  For programs, before they train, and for their whole process;
/// nothing where the library is not glibc.
void keep_freed_memory();

}  // namespace locus
