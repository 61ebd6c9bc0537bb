// locus-fuzz --target=NAME [CORPUS...] [-libfuzzer_option=value]...: one target under libFuzzer, which makes the bytes.
// locus-fuzz --list: the names.
// Built by clang alone; ./locus fuzz builds and runs it.
#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "core/check.h"
#include "core/io/atomic_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace locus::test;

// libFuzzer calls functions without an argument of ours, so what they share stands here.
const FuzzTarget* chosen = nullptr;
std::optional<locus::ScratchFolder> scratch;
std::atomic<std::ptrdiff_t> live{0}, most{PTRDIFF_MAX};

void on_allocation(const volatile void*, std::size_t size) {
    if (live += static_cast<std::ptrdiff_t>(size); live > most) {
        most = PTRDIFF_MAX;  // what follows allocates too
        std::fprintf(stderr, "locus-fuzz: more memory than 32 times the file and 64 MB\n");
        std::abort();
    }
}

void on_release(const volatile void* pointer) {
    if (pointer) live -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(const_cast<const void*>(pointer)));
}

}  // namespace

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
    // libFuzzer passes over words that begin with two dashes, and gives them to the processes that it starts.
    const std::string word = *count > 1 ? (*words)[1] : "", option = "--target=";
    if (word == "--list") {
        for (const FuzzTarget& target : fuzz_targets()) std::puts(target.name.c_str());
        std::exit(0);
    }
    try {
        chosen = &fuzz_target(word.starts_with(option) ? word.substr(option.size()) : word);
        scratch.emplace("fuzz");
        // Whatever is made once and kept is made before anything is counted.
        accepts(*chosen, {}, scratch->path());
    } catch (const locus::Error& error) {
        std::fprintf(stderr, "locus-fuzz: %s\n", error.what());
        std::exit(error.exit_status());
    }
    std::atexit([] { scratch.reset(); });
    __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    live = 0;
    most = static_cast<std::ptrdiff_t>(fuzz_memory(size));
    accepts(*chosen, {reinterpret_cast<const char*>(data), size}, scratch->path());
    most = PTRDIFF_MAX;
    return 0;
}
