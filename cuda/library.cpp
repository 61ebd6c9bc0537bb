#include "cuda/library.h"

#include <dlfcn.h>

#include <filesystem>

namespace locus::cuda {

namespace {

[[noreturn]] void throw_unavailable(const std::string& why) {
    throw Error(Fault::unsupported, "CUDA: " + why + "; the CPU computes the same with --device cpu");
}

const Library* open_library() {
    std::error_code failure;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failure);
    const std::string file = (program.parent_path() / "liblocus_cuda.so").string();
    if (failure || !std::filesystem::exists(file, failure))
        throw_unavailable("no CUDA device can be used without " + file +
                          ", which `cmake --build build/release --target locus_cuda_backend` makes in the source tree "
                          "where nvcc is installed; packages of Locus do not hold it");
    // RTLD_LOCAL: what the library brings of core stays its own.  It is never closed.
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw_unavailable("no CUDA device can be used, opening the library failed: " + std::string(dlerror()));
    // The two sides exchange C++ objects, so both must be made from the same declarations.
    const auto interface = reinterpret_cast<const char* (*)()>(dlsym(handle, "locus_cuda_interface"));
    const auto entry = reinterpret_cast<const Library* (*)()>(dlsym(handle, "locus_cuda_library"));
    if (!interface || !entry || std::string(interface()) != LOCUS_CUDA_INTERFACE)
        throw_unavailable("no CUDA device can be used, " + file +
                          " was built from other sources than this program; build the target locus_cuda_backend again");
    return entry();
}

}  // namespace

const Library& library() {
    static const Library* const opened = open_library();  // a throw leaves it closed, and the next call tries again
    const std::string why = opened->why_unavailable();
    if (!why.empty()) throw_unavailable(why);
    return *opened;
}

std::string library_error() {
    try {
        library();
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace locus::cuda
