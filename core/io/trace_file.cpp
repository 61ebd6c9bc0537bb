// A trace on disk is a safetensors file whose metadata holds the stage list.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "core/io/write_safetensors.h"
#include "core/stages.h"

namespace locus {

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
