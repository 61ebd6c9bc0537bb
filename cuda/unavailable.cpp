// The same functions in a build without CUDA: each says so.  The twins of the terms are in unavailable_twins.cpp.
#include "cuda/runtime.h"

namespace locus::cuda {

bool available() { return false; }
std::string why_unavailable() { return "no CUDA device (built without CUDA)"; }
std::string device_name() { return ""; }

}  // namespace locus::cuda
