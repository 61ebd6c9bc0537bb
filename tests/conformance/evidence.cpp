#include "tests/conformance/evidence.h"

#include <algorithm>
#include <cctype>

#include "core/io/checkpoint.h"
#include "tests/conformance/arithmetic.h"

namespace locus::conformance {

std::shared_ptr<const ModelFolder> ModelFolder::open(const std::string& folder) {
    const Checkpoint checkpoint = open_checkpoint(folder);
    auto model = std::make_shared<ModelFolder>(checkpoint.weights);
    model->config_json = checkpoint.config_json;
    model->location = checkpoint.config_file.string();
    model->family = family_of(model->config_json, model->location);
    if (model->family == Family::deberta)
        model->deberta = std::make_unique<DebertaWeights<double>>(
            parse_deberta_config(model->config_json, model->location), model->source);
    return model;
}

Tensor<double> widened(const Stage& stage) {
    Tensor<double> values(stage.shape());
    for (Index n = 0; n < values.size(); ++n) values[n] = stage.at(n);
    return values;
}

Replay::Replay(const Evidence& evidence, std::string scope, std::vector<Formula> replaced)
    : evidence_(evidence), scope_(std::move(scope)), replaced_(std::move(replaced)) {
    if (scope_.starts_with("segment.")) segment_ = scope_.substr(0, scope_.find('.', 8) + 1);
}

const ModelInput& Replay::input() const {
    const std::size_t segment = segment_.empty() ? 0 : std::stoul(segment_.substr(8));
    if (segment >= evidence_.segments.size()) throw NotEnough{"the inputs"};
    return evidence_.segments[segment];
}

const ModelFolder& Replay::model() const {
    if (!evidence_.model) throw NotEnough{"a model folder"};
    return *evidence_.model;
}

const DebertaWeights<double>& Replay::deberta() const {
    if (!model().deberta) throw NotEnough{"a DeBERTa model folder"};
    return *model().deberta;
}

Index Replay::layer() const {
    const std::string at = scope_.substr(segment_.size());
    if (at.starts_with("layer.")) return std::stol(at.substr(6));
    if (at.starts_with("emd.")) return deberta().config().num_hidden_layers - 1;
    throw NotEnough{"a layer around " + scope_};
}

std::string Replay::input_name(bool of_query) const {
    const std::string at = scope_.substr(segment_.size());
    const auto output_of = [&](Index l) {
        return segment_ + (l < 0 ? "embeddings.output" : "layer." + std::to_string(l) + ".output");
    };
    if (at.starts_with("emd.")) {
        const Index pass = std::stol(at.substr(4));
        if (!of_query) return output_of(layer() - 1);
        return pass == 0 ? "emd.query.0" : "emd." + std::to_string(pass - 1) + ".output";
    }
    return output_of(layer() - 1);
}

std::string Replay::full_name(const std::string& stem) const {
    if (stem == "x") return input_name(false);
    if (stem == "x_q") return input_name(true);
    return stem.starts_with('/') ? segment_ + stem.substr(1) : scope_ + stem;
}

const Tensor<double>* Replay::reported(const std::string& name) const {
    const auto known = evidence_.shared->find(name);
    if (known != evidence_.shared->end()) return &known->second;
    for (const Trace* trace : {&evidence_.candidate, &evidence_.reference})
        if (const Stage* stage = trace->find(name))
            return &evidence_.shared->emplace(name, widened(*stage)).first->second;
    return nullptr;
}

const Tensor<double>& Replay::table_products(const std::string& rows, const std::string& table) const {
    const std::string name = scope_ + rows + " x " + table;  // no stage has such a name
    SharedWork& work = touches(rows) || touches(table) ? kept_ : *evidence_.shared;
    const auto known = work.find(name);
    if (known != work.end()) return known->second;
    return work.emplace(name, products_with_table((*this)(rows), (*this)(table))).first->second;
}

std::optional<Tensor<double>> Replay::expected(const std::string& stem) const {
    const Stage* stage = evidence_.reference.find(full_name(stem));
    return stage ? std::optional(widened(*stage)) : std::nullopt;
}

std::optional<Tensor<double>> Replay::found(const std::string& stem) const {
    const Stage* stage = evidence_.candidate.find(full_name(stem));
    return stage ? std::optional(widened(*stage)) : std::nullopt;
}

const Formula* Replay::right_formula_of(const std::string& stem) const {
    const std::vector<Formula>& right = formulas_of(evidence_.model ? evidence_.model->family : Family::deberta);
    const auto found =
        std::find_if(right.begin(), right.end(), [&](const Formula& formula) { return formula.stem == stem; });
    return found == right.end() ? nullptr : &*found;
}

const Formula* Replay::formula_of(const std::string& stem) const {
    const auto found =
        std::find_if(replaced_.begin(), replaced_.end(), [&](const Formula& formula) { return formula.stem == stem; });
    return found == replaced_.end() ? right_formula_of(stem) : &*found;
}

Tensor<double> Replay::right(const std::string& stem) const {
    const Formula* formula = right_formula_of(stem);
    if (!formula) throw NotEnough{"a formula of " + full_name(stem)};
    return formula->compute(*this);
}

bool Replay::touches(const std::string& stem) const {
    if (std::any_of(replaced_.begin(), replaced_.end(), [&](const Formula& each) { return each.stem == stem; }))
        return true;
    const Formula* formula = formula_of(stem);
    return formula && std::any_of(formula->inputs.begin(), formula->inputs.end(),
                                  [&](const std::string& input) { return touches(input); });
}

Tensor<double> Replay::computed(const std::string& stem) const {
    const Formula* formula = formula_of(stem);
    if (!formula) throw NotEnough{"a formula of " + full_name(stem)};
    return formula->compute(*this);
}

const Tensor<double>& Replay::operator()(const std::string& stem) const {
    const auto known = kept_.find(stem);
    if (known != kept_.end()) return known->second;
    if (!touches(stem))
        if (const Tensor<double>* values = reported(full_name(stem))) return *values;
    // What nobody reports may still follow from what somebody does.
    return kept_.emplace(stem, computed(stem)).first->second;
}

Mask Replay::mask(Index b) const {
    const ModelInput& given = input();
    if (given.mask.empty()) return {};
    const Index length = given.length();
    Mask mask(length, length);
    // DeBERTa hides queries too; RoFormer hides keys alone.
    const bool outer = !evidence_.model || evidence_.model->family == Family::deberta;
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j)
            mask(i, j) = given.mask.rank() == 3
                             ? given.mask[(b * length + i) * length + j] != 0
                             : given.mask[b * length + j] != 0 && (!outer || given.mask[b * length + i] != 0);
    return mask;
}

}  // namespace locus::conformance
