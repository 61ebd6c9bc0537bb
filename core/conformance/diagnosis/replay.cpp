#include "core/conformance/diagnosis/replay.h"

#include <algorithm>
#include <map>

#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"

namespace locus::conformance {

Replay::Replay(const Evidence& evidence, std::string scope, std::vector<Formula> replaced, std::vector<Formula> assumed)
    : evidence_(evidence), scope_(std::move(scope)), replaced_(std::move(replaced)), assumed_(std::move(assumed)) {
    if (scope_.starts_with("segment.")) segment_ = scope_.substr(0, scope_.find('.', 8) + 1);
}

Replay Replay::with(std::vector<Formula> more) const {
    more.insert(more.end(), replaced_.begin(), replaced_.end());
    return {evidence_, scope_, std::move(more), assumed_};
}

void Replay::watch(std::string stem, Watch watch) {
    watched_ = std::move(stem);
    watch_ = std::move(watch);
}

void Replay::show(const std::string& stem, Index at, const Matrix<double>& part) const {
    if (watch_ && not_shown_ == 0 && stem == watched_) watch_(at, part);
}

const ModelInput& Replay::input() const {
    if (segment() >= evidence_.segments.size()) throw NotEnough{"the inputs"};
    return evidence_.segments[segment()];
}

std::size_t Replay::segment() const { return static_cast<std::size_t>(segment_of(segment_)); }

namespace {

/// What the first segment of a Transformer-XL remembers that is given no memory: nothing, or rows of 0.  The reference
/// shows it by how many keys it has, or by what it hands on; where it does not, the dialect says it.
Index rows_before_first_of(const Evidence& evidence, const TransformerXlConfig& config) {
    const Index length = evidence.segments.front().length();
    const std::string prefix = segment_prefix(0, evidence.segments.size());
    const auto extent = [&](const std::string& name, std::size_t axis) -> Index {
        const Shape* shape = evidence.reference.shape_of(prefix + name);
        return shape && axis < shape->size() ? (*shape)[axis] : 0;
    };
    if (const Index keys = extent("positions.r", 0); keys > 0) return std::max<Index>(0, keys - length);
    for (Index l = 0; l < config.n_layer; ++l)
        for (const auto& [stem, axis] :
             {std::pair{"k", 2}, {"v", 2}, {"ac", 3}, {"bd", 3}, {"scores", 3}, {"probs", 3}}) {
            const std::string name = "layer." + std::to_string(l) + "." + stem;
            if (const Index keys = extent(name, static_cast<std::size_t>(axis)); keys > 0)
                return std::max<Index>(0, keys - length);
        }
    const Index zeros = rows_before_first(config, Dialect::hf);
    const auto handed_on = [&](Index rows) {
        const MemoryRows kept = rows_to_keep(config, rows, length, evidence.dialect);
        return kept.end - kept.begin;
    };
    for (Index l = 0; l <= config.n_layer && handed_on(0) != handed_on(zeros); ++l)
        if (const Index kept = extent("memory." + std::to_string(l), 1); kept > 0)
            return kept == handed_on(zeros) ? zeros : 0;
    return rows_before_first(config, evidence.dialect);
}

}  // namespace

Index Replay::remembered() const {
    if (segment() >= evidence_.segments.size()) throw NotEnough{"the inputs"};
    const std::vector<Tensor<double>>& given = evidence_.segments.front().memories;
    Index rows = !given.empty()                       ? given.front().extent(1)
                 : family() == Family::transformer_xl ? rows_before_first_of(evidence_, transformer_xl())
                                                      : 0;
    for (std::size_t s = 0; s < segment(); ++s) {
        const Index length = evidence_.segments[s].length();
        if (family() == Family::transformer_xl) {
            const MemoryRows kept = rows_to_keep(transformer_xl(), rows, length, dialect());
            rows = kept.end - kept.begin;
        } else {
            const XlnetConfig& config = xlnet();
            const bool keeps_everything = XlnetOptions::of(dialect()).keeps_everything;
            const Index all = rows + (config.reuse_len > 0 ? std::min(config.reuse_len, length) : length);
            rows = config.mem_len > 0 ? std::min(config.mem_len, all) : keeps_everything ? all : 0;
        }
    }
    return rows;
}

const ModelFolder& Replay::model() const {
    if (!evidence_.model) throw NotEnough{"a model folder"};
    return *evidence_.model;
}

const DebertaWeights<double>& Replay::deberta() const {
    if (!model().deberta) throw NotEnough{"a DeBERTa model folder"};
    return *model().deberta;
}

const RoformerConfig& Replay::roformer() const {
    if (!model().roformer) throw NotEnough{"a RoFormer model folder"};
    return *model().roformer;
}

const TransformerXlConfig& Replay::transformer_xl() const {
    if (!model().transformer_xl) throw NotEnough{"a Transformer-XL model folder"};
    return *model().transformer_xl;
}

const XlnetConfig& Replay::xlnet() const {
    if (!model().xlnet) throw NotEnough{"an XLNet model folder"};
    return *model().xlnet;
}

namespace {

/// What the code that a dialect follows makes of a query that sees nothing.
MaskedRow masked_row_of(Family family, Dialect dialect) {
    switch (family) {
        case Family::deberta:
            return DebertaOptions::of(dialect).masked_row;
        case Family::roformer:
            return RoformerOptions::of(dialect).masked_row;
        case Family::transformer_xl:
            return dialect == Dialect::hf ? MaskedRow::uniform : MaskedRow::zero;
        case Family::xlnet:
            return XlnetOptions::of(dialect).masked_row;
    }
    return MaskedRow::zero;
}

}  // namespace

MaskedRow Replay::masked_row() const {
    const Tensor<double>* probs = of_reference(full_name("probs"));
    if (!probs || probs->rank() != 4) return masked_row_of(family(), dialect());
    const Index heads = probs->shape()[1], rows = probs->shape()[2], keys = probs->shape()[3];
    const Replay right(evidence_, scope_);  // whatever this hypothesis hides
    Tensor<double> tokens;                  // -1: a target that stands for no token, whose zeros decide nothing
    if (is_query_stream()) try {
            tokens = right("query_tokens");
        } catch (const NotEnough&) {  // nobody says which are used
        }
    bool decides = false;
    for (Index b = 0; b < probs->shape()[0]; ++b) {
        Mask visible;
        try {
            visible = right.mask(b);
        } catch (const NotEnough&) {
            return MaskedRow::zero;  // without inputs only zeros show what is hidden
        }
        if (visible.rows() != rows || visible.cols() != keys) continue;
        for (Index i = 0; i < rows; ++i) {
            if ((visible.row(i).array() != 0).any() || (!tokens.empty() && tokens[b * rows + i] < 0)) continue;
            if ((*probs)[(b * heads * rows + i) * keys] != 0) return MaskedRow::uniform;
            decides = true;
        }
    }
    return decides ? MaskedRow::zero : masked_row_of(family(), dialect());
}

Index Replay::layer() const {
    const std::string at = place();
    if (at.starts_with("layer.")) return number_in_name(at, 6);
    if (at.starts_with("emd.") && has_model()) return deberta().config().num_hidden_layers - 1;
    Index last = -1;  // what the reference shows of a model that was not given
    if (at.starts_with("emd."))
        for (const std::string& name : evidence_.reference.names())
            if (name.starts_with(segment_ + "layer."))
                last = std::max<Index>(last, number_in_name(name, segment_.size() + 6));
    if (last >= 0) return last;
    throw NotEnough{"a layer around " + scope_};
}

std::string Replay::input_name(bool of_query) const {
    const std::string at = place();
    const auto output_of = [&](Index l, const char* stream = "") {
        return segment_ + (l < 0 ? "embeddings.output" : "layer." + std::to_string(l) + "." + stream + "output");
    };
    if (at.starts_with("emd.") && of_query) {
        const Index pass = number_in_name(at, 4);
        return pass == 0 ? "emd.query.0" : "emd." + std::to_string(pass - 1) + ".output";
    }
    if (is_query_stream() && of_query) return layer() == 0 ? segment_ + "query_stream" : output_of(layer() - 1, "g.");
    return output_of(layer() - 1);
}

std::string Replay::full_name(const std::string& stem) const {
    if (stem == "x") return input_name(false);
    if (stem == "x_q") return input_name(true);
    if (stem.starts_with('/')) return segment_ + stem.substr(1);
    if (stem.starts_with("grad.")) {
        const std::size_t mark = stem.find('#');
        if (mark == std::string::npos) return "grad." + full_name(stem.substr(5));
        return stem.substr(0, mark) + std::to_string(layer()) + stem.substr(mark + 1);
    }
    if (stem == "memory" && place().starts_with("layer.")) return segment_ + "memory." + std::to_string(layer());
    // One set of keys and values for both streams.
    const bool shared =
        stem == "k" || stem == "v" || stem == "r_k" || stem == "r_k_backward" || stem == "memory_before";
    return (is_query_stream() && shared ? scope_.substr(0, scope_.size() - 2) : scope_) + stem;
}

std::optional<std::string> Replay::name_here(const std::string& stem) const {
    try {
        return full_name(stem);
    } catch (const NotEnough&) {
        return std::nullopt;
    }
}

namespace {

/// The inputs of a layer, which are outputs of something else; no other stem is called by a second name.
bool has_two_names(const std::string& stem) { return stem == "x" || stem == "x_q"; }

}  // namespace

std::string Replay::canonical(const std::string& stem) const {
    const bool stands_in_layer = place().starts_with("layer.") || place().starts_with("emd.");
    if (!has_two_names(stem) || !stands_in_layer) return stem;
    const std::string name = full_name(stem);
    const bool in_a_layer = name.compare(segment_.size(), 6, "layer.") == 0 || name.ends_with(".output");
    return in_a_layer && !name.ends_with("embeddings.output") ? stem : "/" + name.substr(segment_.size());
}

const Tensor<double>* Replay::reported(const std::string& name) const {
    return evidence_.shared->get(name, [&]() -> std::optional<Tensor<double>> {
        if (is_reported(name)) return widened(*evidence_.candidate.at(name));
        if (evidence_.not_its_own.contains(name)) return std::nullopt;
        if (const auto stage = evidence_.reference.find(name)) return widened(*stage);
        return std::nullopt;
    });
}

const Tensor<double>& Replay::table_products(const std::string& rows, const std::string& table) const {
    const std::string name = scope_ + rows + " x " + table;  // no stage has such a name
    const auto make = [&] { return products_with_table((*this)(rows), (*this)(table)); };
    if (!is_computed(rows) && !is_computed(table)) return *evidence_.shared->get(name, make);
    const auto known = kept_.find(name);
    return known != kept_.end() ? known->second : kept_.emplace(name, make()).first->second;
}

const Tensor<double>* Replay::of_reference(const std::string& name) const {
    return evidence_.shared->get(name + " of the reference", [&]() -> std::optional<Tensor<double>> {
        const auto stage = evidence_.reference.find(name);
        return stage ? std::optional(widened(*stage)) : std::nullopt;
    });
}

std::optional<Tensor<double>> Replay::expected(const std::string& stem) const {
    const Tensor<double>* values = of_reference(full_name(stem));
    return values ? std::optional(*values) : std::nullopt;
}

std::optional<Tensor<double>> Replay::found(const std::string& stem) const {
    const Tensor<double>* values = claimed(stem);
    return values ? std::optional(*values) : std::nullopt;
}

const Tensor<double>* Replay::claimed(const std::string& stem) const {
    const std::string name = full_name(stem);
    if (!evidence_.dump) return is_reported(name) ? reported(name) : nullptr;
    return evidence_.shared->get(name + " of the dump", [&]() -> std::optional<Tensor<double>> {
        if (!is_of_right_shape(evidence_, *evidence_.dump, name)) return std::nullopt;
        return widened(*evidence_.dump->at(name));
    });
}

Index Replay::claimed_rank(const std::string& stem) const {
    const Shape* shape = (evidence_.dump ? *evidence_.dump : evidence_.candidate).shape_of(full_name(stem));
    return shape ? std::ssize(*shape) : 0;
}

namespace {

using FormulasByStem = std::unordered_map<std::string, const Formula*>;

/// A diagnosis asks for formulas millions of times, so they are found by name.
const FormulasByStem& right_formulas_of(Family family) {
    static const std::map<Family, FormulasByStem> all = [] {
        std::map<Family, FormulasByStem> families;
        for (const Family each : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
            for (const Formula& formula : formulas_of(each)) families[each].emplace(formula.stem, &formula);
        return families;
    }();
    return all.at(family);
}

}  // namespace

const Formula* Replay::right_formula_of(const std::string& stem) const {
    if (stem == "grad.context" && !has_model()) return nullptr;  // where the backward pass of one attention starts
    if (has_two_names(stem)) {
        const std::string other = canonical(stem);
        if (other != stem) return right_formula_of(other);
    }
    if (!evidence_.formulas) {
        const FormulasByStem& right = right_formulas_of(family());
        const auto found = right.find(stem);
        return found == right.end() ? nullptr : found->second;
    }
    const std::vector<Formula>& right = *evidence_.formulas;
    const auto found =
        std::find_if(right.begin(), right.end(), [&](const Formula& formula) { return formula.stem == stem; });
    return found == right.end() ? nullptr : &*found;
}

const Formula* Replay::replacement_of(const std::string& stem, std::size_t at) const {
    std::size_t met = 0;
    const auto search = [&](const std::string& name) -> const Formula* {
        for (const std::vector<Formula>* formulas : {&replaced_, &assumed_})
            for (const Formula& formula : *formulas)
                if (formula.stem == name && met++ == at) return &formula;
        return nullptr;
    };
    const Formula* found = search(stem);
    if (found || (replaced_.empty() && assumed_.empty()) || !has_two_names(stem)) return found;
    const std::string other = canonical(stem);
    return other == stem ? nullptr : search(other);
}

const Formula* Replay::formula_of(const std::string& stem) const {
    const Formula* formula = replacement_of(stem, 0);
    return formula ? formula : right_formula_of(stem);
}

namespace {

/// Counts up for as long as it lives.
class Within {
public:
    explicit Within(std::size_t& count) : count_(count) { ++count_; }
    ~Within() { --count_; }
    Within(const Within&) = delete;

private:
    std::size_t& count_;
};

}  // namespace

Tensor<double> Replay::right(const std::string& stem) const {
    const Within unshown(not_shown_);
    const std::string name = canonical(stem);
    std::size_t& busy = busy_[name];
    if (const Formula* next = busy > 0 ? replacement_of(stem, busy) : nullptr) {
        const Within here(busy);
        return next->compute(*this);
    }
    const Formula* formula = right_formula_of(name);
    if (!formula) throw NotEnough{"a formula of " + full_name(stem)};
    return formula->compute(*this);
}

bool Replay::touches(const std::string& stem) const {
    if (replaced_.empty()) return false;
    const auto known = touched_.find(stem);
    if (known != touched_.end()) return known->second;
    const Lineage::Stems& behind = evidence_.lineage->of(scope_ + " " + stem, [&] { return everything_behind(stem); });
    const bool touched = std::any_of(replaced_.begin(), replaced_.end(),
                                     [&](const Formula& formula) { return behind.contains(formula.stem); });
    return touched_[stem] = touched;
}

Lineage::Stems Replay::everything_behind(const std::string& stem) const {
    Lineage::Stems behind;
    std::vector<std::string> open = {stem};
    while (!open.empty()) {
        const std::string next = std::move(open.back());
        open.pop_back();
        if (behind.contains(next) || is_given(next)) continue;
        behind.insert(next);
        if (has_two_names(next)) behind.insert(canonical(next));
        if (const Formula* formula = right_formula_of(next))
            open.insert(open.end(), formula->inputs.begin(), formula->inputs.end());
    }
    return behind;
}

std::unordered_set<std::string> Replay::origins(const std::string& stem, const std::set<std::string>& settled) const {
    const auto is_settled = [&](const std::string& each) {
        const auto name = name_here(each);  // what all layers add to follows from stems that stand in each of them
        return name && (settled.contains(*name) || is_given(each));
    };
    std::unordered_set<std::string> known;
    std::vector<std::string> open = {stem};
    while (!open.empty()) {
        const std::string next = std::move(open.back());
        open.pop_back();
        if (!known.insert(next).second) continue;
        if (has_two_names(next)) known.insert(canonical(next));
        if (next != stem && is_settled(next)) continue;
        if (const Formula* formula = right_formula_of(next))
            open.insert(open.end(), formula->inputs.begin(), formula->inputs.end());
    }
    return known;
}

std::vector<std::string> Replay::inputs_of(const std::string& stem) const {
    const Formula* formula = right_formula_of(stem);
    return formula ? formula->inputs : std::vector<std::string>{};
}

namespace {

bool stands_for(const std::vector<Formula>& formulas, const std::string& stem) {
    return std::any_of(formulas.begin(), formulas.end(), [&](const Formula& formula) { return formula.stem == stem; });
}

}  // namespace

bool Replay::is_replaced(const std::string& stem) const {
    return !replaced_.empty() &&
           (stands_for(replaced_, stem) || (has_two_names(stem) && stands_for(replaced_, canonical(stem)))) &&
           !is_given(stem);
}

bool Replay::follows_assumed(const std::string& stem) const {
    if (assumed_.empty()) return false;
    const auto known = assumes_.find(stem);
    if (known != assumes_.end()) return known->second;
    const std::string name = canonical(stem);
    bool follows = stands_for(assumed_, stem) || stands_for(assumed_, name);
    const Formula* formula = follows ? nullptr : right_formula_of(name);
    for (std::size_t n = 0; formula && n < formula->inputs.size() && !follows; ++n) {
        const auto input = name_here(formula->inputs[n]);
        follows = !(input && is_reported(*input)) && follows_assumed(formula->inputs[n]);
    }
    return assumes_[stem] = follows;
}

bool Replay::is_computed(const std::string& stem) const {
    return touches(stem) || (follows_assumed(stem) && !is_reported(full_name(stem)));
}

Tensor<double> Replay::computed(const std::string& stem) const {
    const Formula* formula = formula_of(stem);
    if (!formula) throw NotEnough{"a formula of " + full_name(stem)};
    if (formula != replacement_of(stem, 0)) return formula->compute(*this);
    const Within here(busy_[canonical(stem)]);
    return formula->compute(*this);
}

const Tensor<double>& Replay::computed_once(const std::string& stem) const {
    if (!evidence_.is_whole_pass) return kept_.emplace(stem, computed(stem)).first->second;  // asked for one stage
    // Every stage after one that lacks something would find it out anew.
    if (!lacking_.insert(stem).second) throw NotEnough{full_name(stem)};
    try {
        const Tensor<double>& stage = kept_.emplace(stem, computed(stem)).first->second;
        lacking_.erase(stem);
        return stage;
    } catch (const Error&) {  // other shapes, which is another thing
        lacking_.erase(stem);
        throw;
    }
}

Index Replay::kept_values() const {
    Index values = 0;
    for (const auto& [stem, stage] : kept_) values += stage.size();
    return values;
}

bool Replay::is_lacking(const std::string& stem) const {
    if (lacking_.contains(stem)) return true;
    const Formula* formula = is_replaced(stem) ? nullptr : right_formula_of(stem);
    if (!formula) return false;
    const auto lacking = std::find_if(formula->inputs.begin(), formula->inputs.end(),
                                      [&](const std::string& input) { return lacking_.contains(input); });
    if (lacking == formula->inputs.end()) return false;
    lacking_.insert(stem);  // and so lacks all that is made of it
    return true;
}

const Tensor<double>& Replay::operator()(const std::string& stem) const {
    const auto known = kept_.find(stem);
    if (known != kept_.end()) return known->second;
    const auto known_to_all = shared_.find(stem);
    if (known_to_all != shared_.end()) return *known_to_all->second;
    if (is_computed(stem)) {
        const Tensor<double>* apart = apart_ ? apart_(stem) : nullptr;
        return apart ? *(shared_[stem] = apart) : computed_once(stem);
    }
    const std::string name = full_name(stem);
    const Tensor<double>* values = reported(name);
    // What is not reported may still follow from what is, by right formulas and so the same for every hypothesis.
    if (!values) values = &common(name + " by its formula", [&] { return Replay(evidence_, scope_).computed(stem); });
    return *(shared_[stem] = values);
}

Mask Replay::mask(Index b) const {
    if (family() == Family::transformer_xl || family() == Family::xlnet)
        return (*this)("visible").matrix(b).cast<std::uint8_t>();
    return evidence_.shared->mask(segment(), b, [&] { return mask_of_input(b); });
}

Mask Replay::mask_of_input(Index b) const {
    const auto alone = evidence_.segments.empty() ? evidence_.reference.find("mask") : nullptr;
    const IndexTensor& given = alone ? alone->as<std::int64_t>() : input().mask;
    const bool causal = evidence_.model && evidence_.model->roformer && evidence_.model->roformer->causal;
    if (given.empty() && !causal) return {};
    const Index length = given.empty() ? input().length() : given.extent(1);
    const Index keys = given.empty() ? length : given.extent(given.rank() - 1);
    const bool outer = family() == Family::deberta;  // hides queries too; RoFormer hides keys alone
    const auto visible = [&](Index i, Index j) {
        if (given.empty()) return true;
        if (given.rank() == 3) return given[(b * length + i) * keys + j] != 0;
        return given[b * length + j] != 0 && (!outer || given[b * length + i] != 0);
    };
    Mask mask(length, keys);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < keys; ++j) mask(i, j) = (!causal || j <= i) && visible(i, j);
    return mask;
}

}  // namespace locus::conformance
