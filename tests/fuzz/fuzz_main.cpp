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

/// Called for every piece of memory, so it is not watched itself.
__attribute__((no_sanitize("address", "undefined", "coverage"))) void on_allocation(const volatile void*,
                                                                                    std::size_t size) {
    const auto more = static_cast<std::ptrdiff_t>(size);
    if (live.fetch_add(more, std::memory_order_relaxed) + more > most.load(std::memory_order_relaxed)) {
        most = PTRDIFF_MAX;  // what follows allocates too
        std::fprintf(stderr, "locus-fuzz: more memory than 32 times the file and 64 MB\n");
        std::abort();
    }
}

__attribute__((no_sanitize("address", "undefined", "coverage"))) void on_release(const volatile void* pointer) {
    if (!pointer) return;
    const std::size_t size = __sanitizer_get_allocated_size(const_cast<const void*>(pointer));
    live.fetch_sub(static_cast<std::ptrdiff_t>(size), std::memory_order_relaxed);
}

}  // namespace

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

/// Twice as many inputs a second: where memory came from is not noted (ASAN_OPTIONS=malloc_context_size=30 notes it
/// when a find is looked at), memory that was given back rests for the last megabyte, which is many inputs, and no more
/// than the first 64 bytes of new memory are filled with a pattern.
extern "C" const char* __asan_default_options() {
    return "malloc_context_size=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:max_malloc_fill_size=64";
}

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
