#pragma once
// What a fuzz test of a reader is: any bytes are given to it as a file.  It refuses them with an Error, or reads them,
// and what was read must keep its promises.  Everything else is a find: a broken promise, another exception, a fault
// that a sanitizer sees, memory that the size of the file does not explain.
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace locus::test {

struct FuzzTarget {
    std::string name;  // "safetensors": of its folders in seeds/ and regressions/
    /// Reads the bytes; files go into `folder`, which belongs to the targets.  Throws Error if they are refused.
    void (*read)(std::string_view bytes, const std::filesystem::path& folder);
};

/// Every target, in the order of README.md.
const std::vector<FuzzTarget>& fuzz_targets();
/// Throws Error(usage) that lists the targets if there is none of that name.
const FuzzTarget& fuzz_target(const std::string& name);

/// What no input may cause.
struct BrokenPromise : std::logic_error {
    using std::logic_error::logic_error;
};
/// Asked many times for every input: words are put together only where they are needed.
inline void promise(bool kept, const char* what) {
    if (!kept) throw BrokenPromise(what);
}
inline void promise(bool kept, const char* what, const std::string& found) {
    if (!kept) throw BrokenPromise(what + (": \"" + found) + "\"");
}

/// True if the bytes are read, false if they are refused.  Throws BrokenPromise if the refusal is not one short
/// sentence, or if more files are in the folder afterwards than the target's own.
bool accepts(const FuzzTarget& target, std::string_view bytes, const std::filesystem::path& folder);

/// Writes a file of a target; quicker than a stream.
std::filesystem::path fuzz_file(const std::filesystem::path& folder, const std::string& name, std::string_view bytes);

/// True for one input in `many`, always the same ones: they go through files, which takes several times as long as
/// what is read from them.
bool takes_its_turn(std::string_view bytes, std::size_t many);

/// The parts of an input that stands for several files: they are divided by lines that hold "%%" alone.  As many as
/// asked for; what is not there is empty.
std::vector<std::string_view> fuzz_parts(std::string_view bytes, std::size_t count);

/// Memory that a reader may take: 32 times the size of its file and 64 MB.
constexpr std::size_t fuzz_memory(std::size_t bytes) { return 32 * bytes + (std::size_t{64} << 20); }

// The readers, by file.
void fuzz_safetensors(std::string_view bytes, const std::filesystem::path& folder);  // tensor_files_fuzz.cpp
void fuzz_zip(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_pickle(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_npy(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_config(std::string_view bytes, const std::filesystem::path& folder);  // models_fuzz.cpp
void fuzz_inputs(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_training(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_tokenizer_json(std::string_view bytes, const std::filesystem::path& folder);  // tokenizers_fuzz.cpp
void fuzz_sentencepiece(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_charsmap(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_vocabulary(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_case(std::string_view bytes, const std::filesystem::path& folder);  // checks_fuzz.cpp
void fuzz_stream(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_report(std::string_view bytes, const std::filesystem::path& folder);
void fuzz_script(std::string_view bytes, const std::filesystem::path& folder);  // viewer_fuzz.cpp
void fuzz_settings(std::string_view bytes, const std::filesystem::path& folder);

}  // namespace locus::test
