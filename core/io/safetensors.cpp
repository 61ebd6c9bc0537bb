// Reading: the header is checked as a whole before any value is touched.
#include "core/io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/json_text.h"
#include "core/stages.h"

namespace locus {

namespace {

using Json = nlohmann::json;

// The limit of the reference implementation; the largest real header has a few hundred kilobytes.
constexpr std::uint64_t kMostHeader = 100'000'000;

Dtype parse_dtype(const std::string& name, const std::string& tensor, const std::filesystem::path& file) {
    for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32, Dtype::i16,
                              Dtype::i8, Dtype::u8, Dtype::boolean})
        if (name == to_string(dtype)) return dtype;
    throw_unreadable(file, "tensor " + tensor + " has the unknown dtype \"" + name +
                               "\", expected one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
}

constexpr std::uint64_t kLargestExtent = std::uint64_t{1} << 48;

/// The shape, refused where its byte count, or that of a part of it, would not fit an Index: 63 bits, or 31 of them
/// where addresses have 32.
Shape parse_shape(const Json& json, const std::string& tensor, std::size_t element_bytes,
                  const std::filesystem::path& file) {
    Shape shape;
    std::int64_t bytes = static_cast<std::int64_t>(element_bytes);
    if (!json.is_array()) throw_unreadable(file, "tensor " + tensor + " has no shape, expected a list of sizes");
    for (const Json& extent : json) {
        if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kLargestExtent)
            throw_unreadable(file, "tensor " + tensor + " has the size " + excerpt(extent) +
                                       ", expected a whole number from 0 to " + std::to_string(kLargestExtent));
        // An extent of 0 counts as 1, because strides are products of the others.
        const auto size = extent.get<std::int64_t>();
        if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes) ||
            bytes > std::numeric_limits<Index>::max())
            throw_unreadable(file, "tensor " + tensor + " has the shape " + excerpt(json) + ", larger than any file");
        shape.push_back(static_cast<Index>(size));
    }
    return shape;
}

TensorEntry parse_entry(const std::string& name, const Json& json, std::size_t data_begin, std::size_t data_size,
                        const std::shared_ptr<const MappedFile>& file) {
    const auto& path = file->path();
    if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") || !json.contains("data_offsets"))
        throw_unreadable(path, "tensor " + name + " lacks dtype, shape or data_offsets");
    if (!json["dtype"].is_string())
        throw_unreadable(path, "tensor " + name + " has the dtype " + excerpt(json["dtype"]) + ", expected a string");
    TensorEntry entry;
    entry.name = name;
    entry.file = file;
    entry.dtype = parse_dtype(json["dtype"].get<std::string>(), name, path);
    entry.shape = parse_shape(json["shape"], name, byte_size(entry.dtype), path);
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
        throw_unreadable(path, "tensor " + name + " has data_offsets " + excerpt(offsets) +
                                   ", expected two whole numbers, [begin, end]");
    const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data_size)
        throw_unreadable(path, "tensor " + name + " has data_offsets " + excerpt(offsets) +
                                   ", expected them inside the " + std::to_string(data_size) + " bytes of data");
    const auto bytes = static_cast<std::uint64_t>(element_count(entry.shape)) * byte_size(entry.dtype);
    if (end - begin != bytes)
        throw_unreadable(path, "tensor " + name + " has " + std::to_string(end - begin) + " bytes, expected " +
                                   std::to_string(bytes) + " for shape " + to_string(entry.shape) + " of " +
                                   to_string(entry.dtype));
    entry.offset = data_begin + begin;
    entry.strides.assign(entry.shape.size(), 1);
    for (std::size_t axis = entry.shape.size(); axis-- > 1;)
        entry.strides[axis - 1] = entry.strides[axis] * entry.shape[axis];
    return entry;
}

/// Every tensor begins where the one before it ends, the first at the first byte of data and the last ends at the last:
/// as SafeTensors::deserialize of the reference implementation wants it, so that no byte has two meanings or none.
void check_no_gaps(const std::vector<TensorEntry>& entries, std::size_t data_begin, const MappedFile& file) {
    std::size_t end = data_begin;
    const TensorEntry* before = nullptr;
    for (const TensorEntry& entry : entries) {
        if (entry.offset < end && before)
            throw_unreadable(file.path(), "tensors " + before->name + " and " + entry.name + " overlap");
        if (entry.offset != end)
            throw_unreadable(file.path(), "tensor " + entry.name + " begins at byte " +
                                              std::to_string(entry.offset - data_begin) + " of the data, expected " +
                                              std::to_string(end - data_begin) + ", where " +
                                              (before ? "tensor " + before->name + " ends" : "the data begins"));
        end += static_cast<std::size_t>(element_count(entry.shape)) * byte_size(entry.dtype);
        before = &entry;
    }
    if (end != file.size())
        throw_unreadable(file.path(), "has " + std::to_string(file.size() - end) +
                                          " bytes of data after its last tensor, expected none");
}

std::vector<std::pair<std::string, std::string>> parse_metadata(const Json& json, const std::filesystem::path& file) {
    std::vector<std::pair<std::string, std::string>> metadata;
    if (!json.is_object()) throw_unreadable(file, "__metadata__ is not an object of strings");
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string())
            throw_unreadable(file, "__metadata__ has " + excerpt(value) + " as " + key + ", expected a string");
        metadata.emplace_back(key, value.get<std::string>());
    }
    return metadata;
}

}  // namespace

TensorFile open_safetensors(const std::filesystem::path& path) {
    const auto file = std::make_shared<const MappedFile>(path);
    check_no_pointer(*file);
    std::uint64_t header_size = 0;
    if (file->size() < sizeof header_size)
        throw_unreadable(path, "is " + std::to_string(file->size()) + " bytes long, expected a safetensors header");
    std::memcpy(&header_size, file->data(), sizeof header_size);
    const std::size_t rest = file->size() - sizeof header_size;
    if (header_size > rest)
        throw_unreadable(path, "says its header has " + std::to_string(header_size) + " bytes, but only " +
                                   std::to_string(rest) +
                                   " follow, expected a safetensors file: 8 bytes of length, JSON, values");
    if (header_size > kMostHeader)
        throw_unreadable(path, "says its header has " + std::to_string(header_size) + " bytes, expected at most " +
                                   std::to_string(kMostHeader));
    if (header_size == 0) throw_unreadable(path, "says its header has 0 bytes, expected one JSON object");
    const std::string_view text(reinterpret_cast<const char*>(file->data()) + sizeof header_size, header_size);
    if (text.starts_with("\xef\xbb\xbf"))  // the parser would pass over it
        throw_unreadable(path, "has a byte order mark before its header, expected {");
    const Json header = parse_json_object(text, path.string());

    TensorFile tensors;
    for (const auto& [name, json] : header.items())
        if (name == "__metadata__")
            tensors.metadata = parse_metadata(json, path);
        else
            tensors.entries.push_back(
                parse_entry(name, json, sizeof header_size + header_size, rest - header_size, file));
    // A tensor without values stands before the one that begins at the same byte.
    std::stable_sort(tensors.entries.begin(), tensors.entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
        return std::pair(a.offset, element_count(a.shape) > 0) < std::pair(b.offset, element_count(b.shape) > 0);
    });
    check_no_gaps(tensors.entries, sizeof header_size + header_size, *file);
    return tensors;
}

namespace {

using OrderedJson = nlohmann::ordered_json;

void write_half(const ByteSink& sink, const TensorToWrite& tensor) {
    constexpr Index kHalves = 4096;
    std::vector<Eigen::half> block;
    const Index count = element_count(tensor.shape);
    for (Index first = 0; first < count; first += kHalves) {
        block.clear();
        for (Index n = first; n < std::min(first + kHalves, count); ++n) {
            block.emplace_back(tensor.values[n]);
            if (std::isfinite(tensor.values[n]) && !Eigen::half_impl::isfinite(block.back()))
                throw Error(Fault::unsupported, "tensor " + tensor.name + " holds " + std::to_string(tensor.values[n]) +
                                                    ", too large for F16; write it as F32");
        }
        sink(block.data(), block.size() * sizeof(Eigen::half));
    }
}

}  // namespace

void write_safetensors_header(const ByteSink& sink, const std::vector<TensorHeading>& tensors,
                              const std::map<std::string, std::string>& metadata) {
    OrderedJson header = OrderedJson::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::size_t offset = 0;
    for (const TensorHeading& tensor : tensors) {
        LOCUS_CHECK(!header.contains(tensor.name), "tensor " + tensor.name + " was to be written twice into one file");
        header[tensor.name] = {{"dtype", to_string(tensor.dtype)},
                               {"shape", tensor.shape},
                               {"data_offsets", {offset, offset + tensor.bytes()}}};
        offset += tensor.bytes();
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const OrderedJson::exception&) {
        throw Error(Fault::usage, "a tensor's name or the metadata is not UTF-8, which a safetensors header must be");
    }
    text.append((8 - text.size() % 8) % 8, ' ');  // so that values begin on a multiple of 8
    const std::uint64_t size = text.size();
    sink(&size, sizeof size);
    sink(text.data(), text.size());
}

void write_safetensors(const ByteSink& sink, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
    std::vector<TensorHeading> headings;
    for (const TensorToWrite& tensor : tensors) {
        if (tensor.dtype != Dtype::f32 && tensor.dtype != Dtype::f16)
            throw Error(Fault::unsupported, "tensor " + tensor.name + " was to be written as " +
                                                to_string(tensor.dtype) + ", expected F32 or F16");
        headings.push_back({tensor.name, tensor.shape, tensor.dtype});
    }
    write_safetensors_header(sink, headings, metadata);
    for (std::size_t n = 0; n < tensors.size(); ++n)
        if (tensors[n].dtype == Dtype::f16)
            write_half(sink, tensors[n]);
        else
            sink(tensors[n].values, headings[n].bytes());
}

void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
    write_atomic_file(file, [&](const ByteSink& sink) { write_safetensors(sink, tensors, metadata); });
}

// A trace on disk is a safetensors file whose metadata holds the stage list.

namespace {

using OrderedJson = nlohmann::ordered_json;

TensorHeading heading_of(const Stage& stage) {
    const std::string dtype = stage.dtype();
    return {stage.name, stage.shape(), dtype == "F32" ? Dtype::f32 : dtype == "F64" ? Dtype::f64 : Dtype::i64};
}

Stage read_stage(const TensorEntry& entry) {
    Stage stage;
    stage.name = entry.name;
    switch (entry.dtype) {
        case Dtype::f64:
            stage.values = read_tensor<double>(entry);
            break;
        case Dtype::f32:
        case Dtype::f16:
        case Dtype::bf16:
            stage.values = read_tensor<float>(entry);
            break;
        default:
            stage.values = read_tensor<std::int64_t>(entry);
            break;
    }
    if (const auto description = describe_stage(entry.name)) {
        stage.axes = description->axes;
        stage.formula = description->formula;
        stage.source = description->source;
    }
    return stage;
}

/// Order of the stage list in the metadata; empty if there is none that can be read.
std::vector<std::string> listed_names(const TensorFile& file) {
    std::vector<std::string> names;
    for (const auto& [key, value] : file.metadata) {
        if (key != "stages") continue;
        const OrderedJson list = OrderedJson::parse(value, nullptr, /*allow_exceptions=*/false);
        if (!list.is_array()) continue;
        for (const OrderedJson& stage : list)
            if (stage.is_object() && stage.contains("name") && stage["name"].is_string())
                names.push_back(stage["name"]);
    }
    return names;
}

}  // namespace

void write_trace(const std::filesystem::path& file, const Trace& trace,
                 const std::map<std::string, std::string>& metadata) {
    OrderedJson list = OrderedJson::array();
    std::vector<TensorHeading> headings;
    for (const Stage& stage : trace.stages()) {
        list.push_back(
            {{"name", stage.name}, {"axes", stage.axes}, {"formula", stage.formula}, {"source", stage.source}});
        headings.push_back(heading_of(stage));
    }
    std::map<std::string, std::string> written = metadata;
    written["format"] = "locus-trace-1";
    written["stages"] = list.dump();
    write_atomic_file(file, [&](const ByteSink& sink) {
        write_safetensors_header(sink, headings, written);
        for (std::size_t n = 0; n < headings.size(); ++n)
            std::visit([&](const auto& tensor) { sink(tensor.data(), headings[n].bytes()); }, trace.stages()[n].values);
    });
}

namespace {

/// The tensors of a trace in the order of its stages.
std::vector<TensorEntry> stages_of(const std::filesystem::path& path, std::map<std::string, std::string>* stored) {
    TensorFile file = open_safetensors(path);
    std::map<std::string, std::size_t> places;
    for (const std::string& name : listed_names(file)) places.emplace(name, places.size());
    const auto place = [&](const TensorEntry& entry) {
        const auto found = places.find(entry.name);
        return found == places.end() ? places.size() : found->second;
    };
    std::stable_sort(file.entries.begin(), file.entries.end(), [&](const TensorEntry& a, const TensorEntry& b) {
        const std::size_t place_a = place(a), place_b = place(b);
        return place_a == places.size() && place_b == places.size() ? stage_comes_before(a.name, b.name)
                                                                    : place_a < place_b;
    });
    if (stored)
        for (const TensorEntry& entry : file.entries) (*stored)[entry.name] = to_string(entry.dtype);
    return std::move(file.entries);
}

}  // namespace

Trace read_trace(const std::filesystem::path& path, std::map<std::string, std::string>* stored) {
    Trace trace;
    for (const TensorEntry& entry : stages_of(path, stored)) trace.add(read_stage(entry));
    return trace;
}

TraceView open_trace(const std::filesystem::path& path, std::map<std::string, std::string>* stored) {
    const auto entries = std::make_shared<const std::vector<TensorEntry>>(stages_of(path, stored));
    std::vector<StageHeading> headings;
    for (const TensorEntry& entry : *entries) headings.push_back({entry.name, entry.shape});
    return {std::move(headings), [entries](std::size_t n) {
                const TensorEntry& entry = (*entries)[n];
                Stage stage = read_stage(entry);
                entry.file->forget(entry.offset, static_cast<std::size_t>(stage.size()) * byte_size(entry.dtype));
                return stage;
            }};
}

}  // namespace locus
