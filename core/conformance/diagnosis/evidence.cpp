#include "core/conformance/diagnosis/evidence.h"

#include <cctype>

#include "core/io/checkpoint.h"

namespace locus::conformance {

std::shared_ptr<const ModelFolder> ModelFolder::open(const std::string& folder) {
    const Checkpoint checkpoint = open_checkpoint(folder);
    auto model = std::make_shared<ModelFolder>(checkpoint.weights);
    model->config_json = checkpoint.config_json;
    model->location = checkpoint.config_file.string();
    model->family = family_of(model->config_json, model->location);
    const std::string &config = model->config_json, &location = model->location;
    switch (model->family) {
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

std::pair<std::string, std::string> scope_and_stem(const std::string& name) {
    if (name.starts_with("grad.")) {
        const auto [scope, stem] = scope_and_stem(name.substr(5));
        if (stem.starts_with('/') || stem == "memory") return {"", "/" + name};
        return {scope, "grad." + stem};
    }
    const std::size_t start = name.starts_with("segment.") ? name.find('.', 8) + 1 : 0;
    const auto numbered = [&](const std::string& group) {
        const std::size_t digit = start + group.size();
        return name.compare(start, group.size(), group) == 0 && digit < name.size() &&
               std::isdigit(static_cast<unsigned char>(name[digit]));
    };
    if (numbered("memory."))
        return {name.substr(0, start) + "layer." + name.substr(start + std::string("memory.").size()) + ".", "memory"};
    for (const char* group : {"layer.", "emd."}) {
        if (!numbered(group)) continue;
        std::size_t end = name.find('.', start + std::string(group).size()) + 1;
        if (name.compare(end, 2, "g.") == 0) end += 2;
        return {name.substr(0, end), name.substr(end)};
    }
    return {name.substr(0, start), "/" + name.substr(start)};
}

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

}  // namespace locus::conformance
