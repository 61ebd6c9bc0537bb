#include "core/io/write_safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/check.h"

namespace locus {

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

}  // namespace locus
