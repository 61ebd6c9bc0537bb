#pragma once
// The tests of this folder are compiled where nvcc is, and skipped where no device answers.
#include <iostream>

#include "cuda/runtime.h"

namespace locus::test {

inline bool has_device() {
    if (cuda::available()) return true;
    std::cout << "skipped: " << cuda::why_unavailable() << std::endl;
    return false;
}

/// Where the kernels for Hopper run.
inline bool is_hopper() { return cuda::device_name().ends_with("compute capability 9.0"); }

}  // namespace locus::test
