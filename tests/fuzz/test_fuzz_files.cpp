// Damaged files: whatever a few changed bytes make of a checkpoint, it opens or is refused with one sentence.
#include <catch2/catch.hpp>
#include <random>

#include "core/io/safetensors.h"
#include "core/io/torch_pickle.h"
#include "tests/damage.h"
#include "tests/torch_bytes.h"

namespace locus::test::test_fuzz_files {

namespace {

const fs::path kFormats = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats";
constexpr Index kMostValues = 1 << 20;

void read_all(const TensorFile& file) {
    double sum = 0;
    for (const TensorEntry& entry : file.entries) {
        if (element_count(entry.shape) > kMostValues) continue;
        const Tensor<double> values = read_tensor<double>(entry);
        for (const double value : values.values()) sum += value;
        if (!entry.shape.empty()) read_rows<float>(entry, 0, entry.shape.front());
    }
    REQUIRE((sum < 1 || !(sum < 1)));  // the sum keeps the reading from being optimised away
}

/// Opens `rounds` damaged copies; anything but success or an Error fails the test or ends it.
template <class Open>
void survive(const fs::path& original, unsigned seed, int rounds, Open open) {
    const TemporaryFolder folder;
    const std::string bytes = read_bytes(original);
    read_all(open(original));
    std::mt19937 generator(seed);
    int refused = 0;
    for (int round = 0; round < rounds; ++round) {
        INFO("seed " << seed << ", round " << round);
        const fs::path file = write_bytes(folder / "damaged", damage(bytes, generator));
        try {
            read_all(open(file));
        } catch (const Error& error) {
            ++refused;
            CHECK(error.fault() == Fault::unreadable);
            CHECK(std::string(error.what()).find("damaged: ") != std::string::npos);
            CHECK(std::string(error.what()).size() < 1000);
        }
    }
    CHECK(refused > rounds / 4);  // otherwise the damage does not reach the tables
}

}  // namespace

TEST_CASE("fuzz: damaged safetensors files open or are refused", "[fuzz][safetensors]") {
    survive(kFormats / "safetensors/model.safetensors", 1, 1500, open_safetensors);
    survive(kFormats / "safetensors_bf16/model.safetensors", 2, 1500, open_safetensors);
}

TEST_CASE("fuzz: damaged zip checkpoints open or are refused", "[fuzz][torch_pickle]") {
    survive(kFormats / "bin_zip/pytorch_model.bin", 3, 1500, open_torch_pickle);
    survive(kFormats / "bin_fp16/pytorch_model.bin", 4, 1500, open_torch_pickle);
}

TEST_CASE("fuzz: damaged legacy checkpoints open or are refused", "[fuzz][torch_pickle]") {
    survive(kFormats / "bin_legacy/pytorch_model.bin", 5, 3000, open_torch_pickle);
}

TEST_CASE("fuzz: damaged traces open or are refused", "[fuzz][trace]") {
    survive(kFormats / "trace.float32.safetensors", 6, 1500, [](const fs::path& file) {
        const TensorFile tensors = open_safetensors(file);
        for (const TensorEntry& entry : tensors.entries)
            if (element_count(entry.shape) > kMostValues) return tensors;
        read_trace(file);
        return tensors;
    });
}

}  // namespace locus::test::test_fuzz_files
