#include "core/conformance/diagnosis/evidence.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "core/conformance/formulas/arithmetic.h"
#include "core/io/checkpoint.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"
#include "core/stages.h"

namespace locus::conformance {

std::shared_ptr<const ModelFolder> ModelFolder::open(const std::string& folder) {
    const Checkpoint checkpoint = open_checkpoint(folder);
    ModelFolder alone(checkpoint.weights);
    alone.config_json = checkpoint.config_json;
    alone.location = checkpoint.config_file.string();
    alone.family = family_of(alone.config_json, alone.location);
    return alone.with(checkpoint.weights);
}

std::shared_ptr<const ModelFolder> ModelFolder::with(std::shared_ptr<const WeightSource> other) const {
    auto model = std::make_shared<ModelFolder>(std::move(other));
    model->config_json = config_json;
    model->location = location;
    model->family = family;
    const std::string& config = config_json;
    switch (family) {
        case Family::deberta:
            model->deberta =
                std::make_unique<DebertaWeights<double>>(parse_deberta_config(config, location), model->source);
            break;
        case Family::roformer:
            model->roformer = parse_roformer_config(config, location);
            break;
        case Family::transformer_xl:
            model->transformer_xl = parse_transformer_xl_config(config, location);
            break;
        case Family::xlnet:
            model->xlnet = parse_xlnet_config(config, location);
            break;
    }
    return model;
}

std::string ModelFolder::folder() const { return std::filesystem::path(location).parent_path().string(); }

Tensor<double> widened(const Stage& stage) {
    return std::visit(
        [](const auto& stored) {
            return Tensor<double>(stored.shape(), std::vector<double>(stored.values().begin(), stored.values().end()));
        },
        stage.values);
}

const Tensor<double>* SharedWork::get(const std::string& name,
                                      const std::function<std::optional<Tensor<double>>()>& make) {
    const std::lock_guard lock(busy_);
    const auto known = made_.find(name);
    if (known != made_.end()) return &known->second;
    std::optional<Tensor<double>> made = make();
    return made ? &made_.emplace(name, std::move(*made)).first->second : nullptr;
}

bool SharedWork::is(const std::string& name, const std::function<bool()>& find) {
    const std::lock_guard lock(busy_);
    const auto known = answers_.find(name);
    return known != answers_.end() ? known->second : answers_.emplace(name, find()).first->second;
}

const Mask& SharedWork::mask(std::size_t segment, Index b, const std::function<Mask()>& make) {
    const std::lock_guard lock(busy_);
    const auto known = masks_.find({segment, b});
    return known != masks_.end() ? known->second : masks_.emplace(std::pair(segment, b), make()).first->second;
}

const Lineage::Stems& Lineage::of(const std::string& stage, const std::function<Stems()>& find) {
    const std::lock_guard lock(busy_);
    const auto known = found_.find(stage);
    return known != found_.end() ? known->second : found_.emplace(stage, find()).first->second;
}

namespace {

/// The numbers of queries and of keys differ where there is a memory, and T stands for either.
bool is_of_tokens(const std::string& axis) { return axis == "T" || axis == "Tq" || axis == "Tk"; }

/// No axis has a size that the reference, where it has such an axis, never has.
bool agrees_with(const TraceView& reference, const std::string& name, const Shape& shape) {
    const auto own = describe_stage(name);
    if (!own || own->axes.empty()) return true;
    if (own->axes.size() != shape.size()) return false;
    std::vector<bool> is_known(shape.size()), agrees(shape.size());
    for (const std::string& other : reference.names()) {
        const auto known = describe_stage(other);
        const Shape& sizes = *reference.shape_of(other);
        if (!known || known->axes.size() != sizes.size()) continue;
        for (std::size_t a = 0; a < shape.size(); ++a)
            for (std::size_t b = 0; b < sizes.size(); ++b) {
                const bool tokens = is_of_tokens(own->axes[a]) && is_of_tokens(known->axes[b]);
                if (own->axes[a] != known->axes[b] && !tokens) continue;
                is_known[a] = true;
                if (sizes[b] == shape[a]) agrees[a] = true;
            }
    }
    for (std::size_t a = 0; a < shape.size(); ++a)
        if (is_known[a] && !agrees[a]) return false;
    return true;
}

}  // namespace

bool is_of_right_shape(const Evidence& evidence, const TraceView& trace, const std::string& name) {
    const Shape* shape = trace.shape_of(name);
    if (!shape) return false;
    if (const Shape* right = evidence.reference.shape_of(name)) return *shape == *right;
    return evidence.shared->is(name + " of shape " + to_string(*shape),
                               [&] { return agrees_with(evidence.reference, name, *shape); });
}

}  // namespace locus::conformance
