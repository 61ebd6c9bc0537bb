#pragma once

namespace locus {

/// Tells the C library to keep freed memory: a training step frees what the next one asks for again, and getting it
/// from the kernel each time costs a fifth of the step.  For main() of programs that train; nothing where the library
/// is not glibc.
void keep_freed_memory();

}  // namespace locus
