// Containers of tensors: safetensors, both forms of pytorch_model.bin, and .npy.
#include <cstring>

#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "core/io/torch_pickle.h"
#include "core/io/zip_directory.h"
#include "tests/fuzz/fuzz_target.h"

namespace locus::test {

namespace {

namespace fs = std::filesystem;

/// More would be memory that the file does not explain: a pickle may name one storage in many tensors.
constexpr Index kMostValues = 1 << 14;
constexpr std::size_t kMostTensors = 64;

/// Every value of the first tensors, as whoever opened the file asks for them.
void read_tensors(const TensorFile& file) {
    std::size_t read = 0;
    for (const TensorEntry& entry : file.entries) {
        promise(file.find(entry.name) != nullptr, "a tensor is found by its name");
        for (const Index length : entry.shape) promise(length >= 0, "no axis is negative");
        if (element_count(entry.shape) > kMostValues || ++read > kMostTensors) continue;
        const Tensor<double> values = read_tensor<double>(entry);
        promise(values.shape() == entry.shape, "a tensor has the shape of its heading");
        if (entry.shape.empty()) continue;
        const Matrix<double> rows = read_rows<double>(entry, 0, entry.shape.front());
        promise(rows.size() == values.size(), "the rows are the whole tensor");
        promise(rows.size() == 0 || std::memcmp(rows.data(), values.data(),
                                                sizeof(double) * static_cast<std::size_t>(rows.size())) == 0,
                "rows and tensor hold the same values");
    }
}

bool same_values(const Stage& a, const Stage& b) {
    if (a.shape() != b.shape() || std::string(a.dtype()) != b.dtype()) return false;
    for (Index n = 0; n < a.size(); ++n) {
        const double x = a.at(n), y = b.at(n);
        if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y)) return false;
    }
    return true;
}

}  // namespace

void fuzz_safetensors(std::string_view bytes, const fs::path& folder) {
    const fs::path file = fuzz_file(folder, "damaged.safetensors", bytes);
    const TensorFile tensors = open_safetensors(file);
    read_tensors(tensors);
    std::size_t end = 0;
    for (const TensorEntry& entry : tensors.entries) {
        const std::size_t size = static_cast<std::size_t>(element_count(entry.shape)) * byte_size(entry.dtype);
        promise(entry.offset <= bytes.size() && size <= bytes.size() - entry.offset, "a tensor lies inside the file");
        end = std::max(end, entry.offset + size);
    }
    promise(tensors.entries.empty() || end == bytes.size(), "every byte after the header belongs to a tensor");

    // As a trace, it is the same after it was written and read again.
    const Trace trace = read_trace(file);
    const fs::path again = folder / "again.safetensors";
    write_trace(again, trace);
    const Trace second = read_trace(again);
    fs::remove(again);
    promise(trace.names() == second.names(), "a trace that is written keeps its stages");
    for (std::size_t n = 0; n < trace.stages().size(); ++n)
        promise(same_values(trace.stages()[n], second.stages()[n]), "a trace that is written keeps its values");
}

void fuzz_zip(std::string_view bytes, const fs::path& folder) {
    const fs::path file = fuzz_file(folder, "damaged.bin", bytes);
    const MappedFile mapped(file);
    if (!looks_like_zip(mapped)) throw_unreadable(file, "is no zip archive");
    std::size_t sum = 0;
    for (const auto& [name, member] : read_zip_directory(mapped)) {
        promise(member.offset <= bytes.size() && member.size <= bytes.size() - member.offset,
                "a member lies inside the archive");
        sum += member.size;
    }
    promise(sum <= bytes.size(), "no two members share a byte");
    read_tensors(open_torch_pickle(file));
}

void fuzz_pickle(std::string_view bytes, const fs::path& folder) {
    const fs::path file = fuzz_file(folder, "damaged.bin", bytes);
    if (looks_like_zip(MappedFile(file))) throw_unreadable(file, "is a zip archive");
    read_tensors(open_torch_pickle(file));
}

void fuzz_npy(std::string_view bytes, const fs::path& folder) {
    std::string stored, stored_again;
    const Stage stage = read_npy(fuzz_file(folder, "damaged.npy", bytes), stored);
    promise(static_cast<std::size_t>(stage.size()) <= bytes.size(), "every value has a byte");
    const Stage again = read_npy(fuzz_file(folder, "again.npy", npy_of(stage)), stored_again);
    promise(same_values(stage, again), "an array that is written keeps its values");
    fs::remove(folder / "again.npy");
}

}  // namespace locus::test
