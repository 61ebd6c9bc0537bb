#pragma once
// Is there a GPU?
#include <string>

namespace locus::cuda {

/// True if a device answers.
bool available();
/// Why none does, in one clause: "no CUDA device (no CUDA-capable device is detected)".  Empty if one does.
std::string why_unavailable();
/// "NVIDIA H200, compute capability 9.0"; empty if there is none.
std::string device_name();

}  // namespace locus::cuda
