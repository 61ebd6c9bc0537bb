#include "core/conformance/kit/kit_cut.h"

#include <algorithm>

#include "core/io/checkpoint.h"

namespace locus::conformance {

namespace {

std::string whole_name(const Cut& cut, const std::string& name) {
    return name.starts_with('/') ? name.substr(1) : cut.scope + name;
}

Stage weight_stage(const WeightSource& weights, const std::string& as, const std::string& name) {
    const std::optional<Shape> shape = weights.shape(name);
    LOCUS_CHECK(shape, weights.location() + " has no tensor " + name);
    const Matrix<double> rows = weights.rows_f64(name, 0, shape->front());
    Stage stage;
    stage.name = as;
    stage.formula = name;
    stage.values = Tensor<double>(*shape, std::vector<double>(rows.data(), rows.data() + rows.size()));
    return stage;
}

}  // namespace

CaseContent cut_case(const std::vector<CaseContent>& whole, const Cut& cut, const std::string& level, bool with_model) {
    const auto from =
        std::find_if(whole.begin(), whole.end(), [&](const CaseContent& one) { return one.id == "L3/" + cut.from; });
    LOCUS_CHECK(from != whole.end(), "kit: there is no whole case " + cut.from);
    CaseContent content;
    content.id = level + "/" + cut.name;
    content.family = from->family;
    content.why = cut.why;
    content.dialect = from->dialect;
    content.accuracy = from->accuracy;
    content.cut_from = from->id;
    content.source = from->source;
    if (!cut.config.is_null()) content.config = cut.config;
    if (with_model) content.model = from->model;
    // A name is a stage of the whole case, or one of the inputs of its model.
    std::vector<std::string> given;
    for (const std::string& input : cut.inputs) {
        const std::string name = whole_name(cut, input);
        given.push_back(name);
        const Stage* stage = from->reference.find(name);
        content.inputs.add(stage ? *stage : from->inputs.at(name));
    }
    if (!cut.weights.empty()) {
        const Checkpoint checkpoint = open_checkpoint(from->model);
        for (const auto& [as, name] : cut.weights) content.inputs.add(weight_stage(*checkpoint.weights, as, name));
    }
    for (const std::string& output : cut.outputs) content.reference.add(from->reference.at(whole_name(cut, output)));
    if (cut.outputs.empty())
        for (const Stage& stage : from->reference.stages())
            if (stage.name.starts_with(cut.scope) && std::find(given.begin(), given.end(), stage.name) == given.end())
                content.reference.add(stage);
    return content;
}

}  // namespace locus::conformance
