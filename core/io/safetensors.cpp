// Reading: the header is checked as a whole before any value is touched.
#include "core/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/io/unreadable.h"
#include "core/json_text.h"

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

/// The shape, refused where its byte count, or that of a part of it, would not fit 63 bits.
Shape parse_shape(const Json& json, const std::string& tensor, std::size_t element_bytes,
                  const std::filesystem::path& file) {
    Shape shape;
    std::int64_t bytes = static_cast<std::int64_t>(element_bytes);
    if (!json.is_array()) throw_unreadable(file, "tensor " + tensor + " has no shape, expected a list of sizes");
    for (const Json& extent : json) {
        if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > std::uint64_t{1} << 48)
            throw_unreadable(file,
                             "tensor " + tensor + " has the size " + excerpt(extent) + ", expected a whole number");
        shape.push_back(extent.get<Index>());
        // An extent of 0 counts as 1, because strides are products of the others.
        if (__builtin_mul_overflow(bytes, std::max<Index>(shape.back(), 1), &bytes))
            throw_unreadable(file, "tensor " + tensor + " has the shape " + excerpt(json) + ", larger than any file");
    }
    return shape;
}

TensorEntry parse_entry(const std::string& name, const Json& json, std::size_t data_begin, std::size_t data_size,
                        const std::shared_ptr<const MappedFile>& file) {
    const auto& path = file->path();
    if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() || !json.contains("shape") ||
        !json.contains("data_offsets"))
        throw_unreadable(path, "tensor " + name + " lacks dtype, shape or data_offsets");
    TensorEntry entry;
    entry.name = name;
    entry.file = file;
    entry.dtype = parse_dtype(json["dtype"].get<std::string>(), name, path);
    entry.shape = parse_shape(json["shape"], name, byte_size(entry.dtype), path);
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
        throw_unreadable(path, "tensor " + name + " has data_offsets " + excerpt(offsets) + ", expected [begin, end]");
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

/// `entries` in file order.
void check_overlap(const std::vector<TensorEntry>& entries, const std::filesystem::path& file) {
    const TensorEntry* before = nullptr;
    for (const TensorEntry& entry : entries) {
        const auto bytes = static_cast<std::size_t>(element_count(entry.shape)) * byte_size(entry.dtype);
        if (bytes == 0) continue;
        if (before &&
            before->offset + static_cast<std::size_t>(element_count(before->shape)) * byte_size(before->dtype) >
                entry.offset)
            throw_unreadable(file, "tensors " + before->name + " and " + entry.name + " overlap");
        before = &entry;
    }
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
    std::uint64_t header_size = 0;
    if (file->size() < sizeof header_size)
        throw_unreadable(path, "is " + std::to_string(file->size()) + " bytes long, expected a safetensors header");
    std::memcpy(&header_size, file->data(), sizeof header_size);
    const std::size_t rest = file->size() - sizeof header_size;
    if (header_size > rest)
        throw_unreadable(path, "says its header has " + std::to_string(header_size) + " bytes, but only " +
                                   std::to_string(rest) + " follow");
    if (header_size > kMostHeader)
        throw_unreadable(path, "says its header has " + std::to_string(header_size) + " bytes, expected at most " +
                                   std::to_string(kMostHeader));
    const std::string_view text(reinterpret_cast<const char*>(file->data()) + sizeof header_size, header_size);
    const Json header = parse_json_object(text, path.string());

    TensorFile tensors;
    for (const auto& [name, json] : header.items())
        if (name == "__metadata__")
            tensors.metadata = parse_metadata(json, path);
        else
            tensors.entries.push_back(
                parse_entry(name, json, sizeof header_size + header_size, rest - header_size, file));
    std::stable_sort(tensors.entries.begin(), tensors.entries.end(),
                     [](const TensorEntry& a, const TensorEntry& b) { return a.offset < b.offset; });
    check_overlap(tensors.entries, path);
    return tensors;
}

}  // namespace locus
