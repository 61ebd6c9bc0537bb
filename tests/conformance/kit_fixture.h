#pragma once
// For tests of the kit: a kit in a folder that goes away, and dumps in any dtype.
#include <bit>
#include <cmath>

#include "core/conformance/kit/check.h"
#include "core/conformance/kit/export.h"
#include "core/io/safetensors.h"
#include "tests/run_program.h"

namespace locus::test {

using namespace locus::conformance;

/// A kit as users have it, written once per process.
class KitFixture {
public:
    KitFixture() { export_kit(folder_ / "kit", LOCUS_SOURCE_DIR); }
    fs::path root() const { return folder_.path() / "kit"; }

    static const Kit& kit() {
        static const KitFixture fixture;
        static const Kit opened = open_kit(fixture.root());
        return opened;
    }
    static const KitCase& one(const std::string& id) {
        const KitCase* found = kit().find(id);
        REQUIRE(found);
        return *found;
    }

private:
    TemporaryFolder folder_;
};

/// A dump in memory, stored as it is.
inline Dump dump_of(const Trace& trace) {
    Dump dump;
    for (const Stage& stage : trace.stages()) {
        dump.trace.add(stage);
        dump.stored[stage.name] = stage.dtype();
    }
    return dump;
}

/// The report of one case for such a dump.
inline CaseReport check_one(const std::string& id, const Trace& trace, const CheckOptions& options = {}) {
    return check_case(KitFixture::kit(), KitFixture::one(id), dump_of(trace), options);
}

/// Upper half of a float, to nearest, ties to even.
inline std::uint16_t as_bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline std::string value_bytes(const Stage& stage, const std::string& dtype) {
    std::string bytes;
    for (Index n = 0; n < stage.size(); ++n) {
        const double value = stage.at(n);
        if (dtype == "I64") bytes += bytes_of(static_cast<std::int64_t>(value));
        if (dtype == "F64") bytes += bytes_of(value);
        if (dtype == "F32") bytes += bytes_of(static_cast<float>(value));
        if (dtype == "F16") bytes += bytes_of(std::bit_cast<std::uint16_t>(Eigen::half(static_cast<float>(value))));
        if (dtype == "BF16") bytes += bytes_of(as_bfloat16(static_cast<float>(value)));
    }
    return bytes;
}

/// A safetensors file of these stages; floats in the dtype, index tensors in I64.
inline fs::path write_dump(const fs::path& file, const Trace& trace, const std::string& dtype = "F64") {
    fs::create_directories(file.parent_path());
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    std::string data;
    for (const Stage& stage : trace.stages()) {
        const std::string own = std::string(stage.dtype()) == "I64" ? "I64" : dtype;
        const std::size_t begin = data.size();
        data += value_bytes(stage, own);
        header[stage.name] = {{"dtype", own}, {"shape", stage.shape()}, {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    return write_bytes(file, bytes_of(std::uint64_t{text.size()}) + text + data);
}

inline Stage named(const std::string& name, StageValues values) {
    Stage stage;
    stage.name = name;
    stage.values = std::move(values);
    return stage;
}

/// The reference with one stage changed by `change`.
template <class Change>
Trace spoiled(const Trace& reference, const std::string& name, Change change) {
    Trace trace;
    for (const Stage& stage : reference.stages())
        trace.add(stage.name == name ? named(name, change(widened(stage))) : stage);
    return trace;
}

/// Only these stages.
inline Trace only(const Trace& trace, const std::vector<std::string>& names) {
    Trace part;
    for (const std::string& name : names) part.add(trace.at(name));
    return part;
}

/// A file.npy of version 1.
inline fs::path write_npy(const fs::path& file, const std::string& header, const std::string& data) {
    fs::create_directories(file.parent_path());
    return write_bytes(file, std::string("\x93NUMPY\x01\x00", 8) + bytes_of(static_cast<std::uint16_t>(header.size())) +
                                 header + data);
}

}  // namespace locus::test
