// A trace on disk is a safetensors file whose metadata holds the stage list.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "core/io/whole_file.h"
#include "core/stages.h"

namespace locus {

namespace {

using Json = nlohmann::ordered_json;

std::size_t stage_bytes(const Stage& stage) {
    return static_cast<std::size_t>(stage.size()) * (std::string(stage.dtype()) == "F32" ? 4 : 8);
}

Json describe_header(const Trace& trace, const std::map<std::string, std::string>& metadata) {
    Json header = Json::object(), stages = Json::array();
    for (const Stage& stage : trace.stages())
        stages.push_back(
            {{"name", stage.name}, {"axes", stage.axes}, {"formula", stage.formula}, {"source", stage.source}});
    header["__metadata__"] = metadata;
    header["__metadata__"]["format"] = "locus-trace-1";
    header["__metadata__"]["stages"] = stages.dump();
    std::size_t offset = 0;
    for (const Stage& stage : trace.stages()) {
        header[stage.name] = {{"dtype", stage.dtype()},
                              {"shape", stage.shape()},
                              {"data_offsets", {offset, offset + stage_bytes(stage)}}};
        offset += stage_bytes(stage);
    }
    return header;
}

std::string make_header(const Trace& trace, const std::map<std::string, std::string>& metadata) {
    std::string text;
    try {
        text = describe_header(trace, metadata).dump();
    } catch (const Json::exception&) {
        throw Error(Fault::usage, "the trace's metadata is not UTF-8, which a safetensors header must be");
    }
    text.append((8 - text.size() % 8) % 8, ' ');  // so that values begin on a multiple of 8
    return text;
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
        const Json list = Json::parse(value, nullptr, /*allow_exceptions=*/false);
        if (!list.is_array()) continue;
        for (const Json& stage : list)
            if (stage.is_object() && stage.contains("name") && stage["name"].is_string())
                names.push_back(stage["name"]);
    }
    return names;
}

}  // namespace

void write_trace(const std::filesystem::path& file, const Trace& trace,
                 const std::map<std::string, std::string>& metadata) {
    const std::string header = make_header(trace, metadata);
    const std::uint64_t header_size = header.size();
    write_whole_file(file, [&](const ByteSink& sink) {
        sink(&header_size, sizeof header_size);
        sink(header.data(), header.size());
        for (const Stage& stage : trace.stages())
            std::visit([&](const auto& tensor) { sink(tensor.data(), stage_bytes(stage)); }, stage.values);
    });
}

Trace read_trace(const std::filesystem::path& path, std::map<std::string, std::string>* stored) {
    const TensorFile file = open_safetensors(path);
    std::vector<std::string> order = listed_names(file), names;
    for (const TensorEntry& entry : file.entries) names.push_back(entry.name);
    const auto place = [&](const std::string& name) { return std::find(order.begin(), order.end(), name); };
    std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
        const auto place_a = place(a), place_b = place(b);
        if (place_a == order.end() && place_b == order.end()) return stage_comes_before(a, b);
        return place_a < place_b;
    });
    Trace trace;
    for (const std::string& name : names) {
        const TensorEntry& entry = *file.find(name);
        if (stored) (*stored)[name] = to_string(entry.dtype);
        trace.add(read_stage(entry));
    }
    return trace;
}

}  // namespace locus
