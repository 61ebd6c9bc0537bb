#pragma once
// What the tests of the shims share: a case of one term as the kit lays it out, and dumps as plain bytes.
#include <algorithm>
#include <sstream>

#include "core/attention/disentangled.h"
#include "core/io/safetensors.h"
#include "tests/run_program.h"
#include "tests/seeded.h"

namespace locus::test {

inline const fs::path kShims = fs::path(LOCUS_SOURCE_DIR) / "core/conformance/shims";

inline Outcome shell(const std::string& line) { return run_file("/bin/sh", {"-c", line}); }

inline bool installed(const std::string& tool) { return shell("command -v " + quoted(tool)).status == 0; }

/// A tensor as files and frames hold it.
struct Raw {
    std::string name, dtype, shape, bytes;
    bool operator==(const Raw&) const = default;
};

/// Tensors of a safetensors file, by name.
inline std::vector<Raw> raw_tensors(const fs::path& file) {
    const std::string bytes = read_file(file);
    std::vector<Raw> all;
    for (const TensorEntry& entry : open_safetensors(file).entries) {
        const std::size_t size = static_cast<std::size_t>(element_count(entry.shape)) * byte_size(entry.dtype);
        all.push_back({entry.name, to_string(entry.dtype), to_string(entry.shape), bytes.substr(entry.offset, size)});
    }
    std::sort(all.begin(), all.end(), [](const Raw& a, const Raw& b) { return a.name < b.name; });
    return all;
}

/// Frames of a stream, by name.
inline std::vector<Raw> raw_frames(std::string bytes) {
    std::vector<Raw> all;
    const auto word = [&] {
        const std::size_t end = bytes.find('\0');
        REQUIRE(end != std::string::npos);
        const std::string text = bytes.substr(0, end);
        bytes.erase(0, end + 1);
        return text;
    };
    while (!bytes.empty()) {
        Raw raw{word(), word(), "[" + word() + "]", {}};
        std::size_t size = raw.dtype.ends_with("64") ? 8 : raw.dtype.ends_with("32") ? 4 : 2;
        std::istringstream extents(raw.shape.substr(1));
        for (std::size_t extent; extents >> extent; extents.get()) size *= extent;
        for (std::size_t at = 0; (at = raw.shape.find(',', at)) != std::string::npos; at += 2)
            raw.shape.insert(at + 1, " ");
        REQUIRE(bytes.size() >= size);
        raw.bytes = bytes.substr(0, size);
        bytes.erase(0, size);
        all.push_back(raw);
    }
    std::sort(all.begin(), all.end(), [](const Raw& a, const Raw& b) { return a.name < b.name; });
    return all;
}

/// A case of one term, as the kit lays it out: two samples, three heads, T >= 2k, distinct sizes.
struct TermCase {
    TemporaryFolder root;
    fs::path folder = root / "kit/cases/L1/p2c";
    Trace reference;

    TermCase() {
        constexpr Index kBatch = 2, kHeads = 3, kTokens = 7, kWidth = 4, kSpan = 3;
        Numbers numbers(63);
        Tensor<float> k({kBatch, kHeads, kTokens, kWidth});
        Tensor<double> q_r({kHeads, 2 * kSpan, kWidth}), p2c({kBatch, kHeads, kTokens, kTokens});
        for (Index n = 0; n < k.size(); ++n) k[n] = static_cast<float>(numbers.value());
        for (Index n = 0; n < q_r.size(); ++n) q_r[n] = numbers.value();
        const RelativeBuckets buckets = RelativeBuckets::clamped(kTokens, kTokens, kSpan);
        for (Index at = 0; at < kBatch * kHeads; ++at)
            p2c.matrix(at) = position_to_content<double>(k.matrix(at).cast<double>(), q_r.matrix(at % kHeads), buckets);
        reference.add("relative.index", buckets.matrix());
        reference.add("layer.0.k", k);
        reference.add("layer.0.q_r", q_r);
        fs::create_directories(folder);
        write_trace(folder / "inputs.safetensors", reference, {{"note", "\"layer.0.k\": {[\\"}});
        reference.add("layer.0.p2c", p2c);
        write_file(folder / "case.json", R"({"id": "L1/p2c", "level": "L1", "config": {"span": 3}})");
    }
};

/// One sentence on stderr, a status that is not 0, and nothing written.
inline void check_refusal(const Outcome& outcome, const fs::path& dump, const std::string& names) {
    INFO(outcome.err);
    CHECK(outcome.status != 0);
    CHECK(outcome.status < 126);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find(names) != std::string::npos);
    CHECK_FALSE(fs::exists(dump));
}

}  // namespace locus::test
