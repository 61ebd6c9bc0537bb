#include "core/io/recorded_inputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/input_file.h"
#include "core/json_text.h"

namespace locus {

namespace {

using InputJson = nlohmann::ordered_json;

constexpr Index kMostNumbers = 1000000;

/// Fields of an input by the names that an input file gives them.
template <class Input>
auto fields_of(Input& input) {
    return std::vector<std::pair<const char*, decltype(&input.tokens)>>{
        {"tokens", &input.tokens},           {"mask", &input.mask},
        {"token_types", &input.token_types}, {"labels", &input.labels},
        {"perm_mask", &input.perm_mask},     {"target_mapping", &input.target_mapping},
        {"input_mask", &input.input_mask},   {"mask_positions", &input.mask_positions}};
}

InputJson nested(const IndexTensor& values, Index axis, Index& at) {
    InputJson list = InputJson::array();
    for (Index n = 0; n < values.extent(axis); ++n)
        list.push_back(axis + 1 == values.rank() ? InputJson(values[at++]) : nested(values, axis + 1, at));
    return list;
}

/// Numbers of a nested list in order; every list of one depth has as many entries as the first.
void flatten(const InputJson& list, std::size_t depth, Shape& shape, std::vector<std::int64_t>& values,
             const std::string& place) {
    if (!list.is_array() || list.empty() || depth >= 4)
        throw_unreadable(place, "expected nested lists of whole numbers, all lists of one depth of one length");
    if (depth == shape.size()) {
        if (!values.empty()) throw_unreadable(place, "numbers and lists stand beside each other, expected one depth");
        shape.push_back(static_cast<Index>(list.size()));
    }
    if (shape[depth] != static_cast<Index>(list.size()))
        throw_unreadable(place, "its lists differ in length, expected " + std::to_string(shape[depth]) + " entries");
    for (const InputJson& entry : list) {
        if (entry.is_number_integer() && depth + 1 >= shape.size())
            values.push_back(entry.get<std::int64_t>());
        else
            flatten(entry, depth + 1, shape, values, place);
    }
}

IndexTensor tensor_of(const InputJson& list, const std::string& place) {
    Shape shape;
    std::vector<std::int64_t> values;
    flatten(list, 0, shape, values, place);
    Index size = 1;
    for (const Index extent : shape) size *= extent;
    if (size != static_cast<Index>(values.size()))
        throw_unreadable(place, "numbers and lists stand beside each other, expected one depth");
    return {shape, std::move(values)};
}

ModelInput segment_of(const InputJson& object, const std::string& place) {
    ModelInput input;
    if (!object.is_object()) throw_unreadable(place, "expected an object of tokens, mask and their like per segment");
    for (const auto& [name, field] : fields_of(input))
        if (object.contains(name)) *field = tensor_of(object[name], place + ", " + name);
    if (input.tokens.rank() != 2) throw_unreadable(place, "has no tokens [B, T]");
    return input;
}

}  // namespace

std::string inputs_as_json(const std::vector<ModelInput>& segments) {
    InputJson list = InputJson::array();
    Index numbers = 0;
    for (const ModelInput& segment : segments) {
        if (!segment.memories.empty()) return "";
        InputJson object = InputJson::object();
        for (const auto& [name, field] : fields_of(segment)) {
            if (field->empty()) continue;
            numbers += field->size();
            if (numbers > kMostNumbers) return "";
            Index at = 0;
            object[name] = nested(*field, 0, at);
        }
        list.push_back(std::move(object));
    }
    return list.dump();
}

std::vector<ModelInput> inputs_from_json(const std::string& text, const std::string& place) {
    const InputJson parsed = parse_json(text, place);
    if (parsed.is_object()) return {segment_of(parsed, place)};
    if (!parsed.is_array() || parsed.empty()) throw_unreadable(place, "expected a list of segments");
    if (parsed.front().is_array()) return {segment_of(InputJson{{"tokens", parsed}}, place)};
    std::vector<ModelInput> segments;
    for (const InputJson& object : parsed)
        segments.push_back(segment_of(object, place + ", segment " + std::to_string(segments.size())));
    return segments;
}

}  // namespace locus
