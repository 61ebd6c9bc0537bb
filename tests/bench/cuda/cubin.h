#pragma once
// What the compiler gave every kernel, read from the device code inside a program: no device and no tool is needed.
#include <filesystem>
#include <string>
#include <vector>

namespace locus::bench {

struct KernelResources {
    std::string kernel;        // "fused_forward_kernel<Half, 64, 128, 64>"
    std::string architecture;  // "sm_90"
    int registers = 0;         // of a thread
    int stack_bytes = 0;       // of a thread, in slow memory: arrays without fixed indices, and registers that spilled
};

/// Of every kernel in the program, by name and architecture; empty if it holds no device code.
/// Throws Error(unreadable) that names the file if it is no ELF file or its device code is cut short.
/// Source: ELF-64 (System V ABI); CUDA's section .nv_fatbin and the attributes 0x11 (frame size) and 0x2f (registers)
/// of .nv.info, as `cuobjdump --dump-resource-usage` prints them.
std::vector<KernelResources> kernel_resources(const std::filesystem::path& program);

}  // namespace locus::bench
