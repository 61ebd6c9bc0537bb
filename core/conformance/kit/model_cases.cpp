// Cases for one checkpoint: its real sizes and weights, its first two layers, texts that are short, long and padded.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/conformance/kit/cases.h"
#include "core/io/checkpoint.h"
#include "core/io/model_request.h"
#include "core/models/roformer.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

constexpr Index kLayers = 2;
constexpr Index kShort = 17;
constexpr Index kLong[] = {300, 600};  // beyond the first log bucket, and beyond the ends of most tables
constexpr Index kTenth = 100000;       // of a MB

/// What a case is given, and how many bytes its reference may have.
struct Plan {
    std::string name, why;
    std::vector<ModelInput> segments;
    Index bytes = 0;
};

/// Token ids below the size of the vocabulary, the same on every machine.
IndexTensor tokens_of(Index batch, Index length, Index words) {
    const Tensor<double> numbers = Numbers(static_cast<std::uint64_t>(1000 * batch + length)).tensor({batch, length});
    IndexTensor tokens({batch, length});
    for (Index n = 0; n < tokens.size(); ++n)
        tokens[n] = std::min<Index>(words - 1, static_cast<Index>((numbers[n] + 1) / 2 * static_cast<double>(words)));
    return tokens;
}

ModelInput plain(Index length, Index words) {
    ModelInput input;
    input.tokens = tokens_of(1, length, words);
    return input;
}

/// Two samples, the second of which ends six tokens before the first; XLNet's begins six tokens later.
ModelInput padded(Family family, Index words) {
    constexpr Index kPads = 6;
    ModelInput input;
    input.tokens = tokens_of(2, kShort, words);
    IndexTensor& mask = family == Family::xlnet ? input.input_mask : input.mask;
    mask = IndexTensor({2, kShort});
    for (Index n = 0; n < mask.size(); ++n) {
        const bool pad = family == Family::xlnet ? n >= kShort && n < kShort + kPads : n >= 2 * kShort - kPads;
        mask[n] = family == Family::xlnet ? pad : !pad;
        if (pad) input.tokens[n] = 0;
    }
    return input;
}

/// The longest text that the model has positions for; 0 where positions are relative alone.
Index longest_text(const std::string& config, const std::string& location, Family family) {
    if (family == Family::roformer) return parse_roformer_config(config, location).max_position_embeddings;
    if (family != Family::deberta) return 0;
    const DebertaConfig deberta = parse_deberta_config(config, location);
    return deberta.position_biased_input ? deberta.max_position_embeddings : 0;
}

std::vector<Plan> plans_for(Family family, Index words, Index longest) {
    const auto at_most = [&](Index length) { return longest > 0 ? std::min(length, longest) : length; };
    std::vector<Plan> plans = {
        {"t" + std::to_string(at_most(kShort)),
         "A short text with as many stages as fit: every term of the first layer, and the tables that terms read.",
         {plain(at_most(kShort), words)},
         60 * kTenth}};
    if (family != Family::transformer_xl && at_most(kShort) == kShort)
        plans.push_back({"padded",
                         "Two texts of different lengths: which rows and which columns does the mask hide?",
                         {padded(family, words)},
                         30 * kTenth});
    if (family == Family::transformer_xl)
        plans.push_back({"memory",
                         "Two segments: what does the second see of the first, and at which distances?",
                         {plain(kShort, words), plain(kShort + 4, words)},
                         30 * kTenth});
    std::set<Index> seen = {at_most(kShort)};
    for (const Index length : kLong)
        if (seen.insert(at_most(length)).second)
            plans.push_back({"t" + std::to_string(at_most(length)),
                             "A long text: distances that share a bucket, or lie beyond the end of the table.",
                             {plain(at_most(length), words)},
                             length == kLong[0] ? 37 * kTenth : 69 * kTenth});
    return plans;
}

/// Stages that a shortened pass has: of the first layers, and what they start from.
std::vector<std::string> early_stages(const std::vector<std::string>& names) {
    std::vector<std::string> early;
    for (const std::string& name : names) {
        const std::size_t from = name.starts_with("segment.") ? name.find('.', 8) + 1 : 0;
        const std::string rest = name.substr(from);
        const bool of_layer = rest.starts_with("layer.");
        if (of_layer ? number_in_name(rest, 6) < kLayers
                     : rest.starts_with("embeddings.") || rest.starts_with("relative."))
            early.push_back(name);
    }
    return early;
}

/// Float stages as float32: rounding of 6e-8 is nobody's mistake, and twice as many stages fit.
Stage narrowed(const Stage& stage) {
    Stage narrow = stage;
    if (const auto* values = std::get_if<Tensor<double>>(&stage.values))
        narrow.values = Tensor<float>(values->shape(), {values->values().begin(), values->values().end()});
    return narrow;
}

Index bytes_of(const Stage& stage) { return stage.size() * (std::string(stage.dtype()) == "I64" ? 8 : 4); }

/// What is kept where not everything fits, best first; in one rank the smallest first, which leaves out tables and
/// scores of long texts.
int rank_of(const Stage& stage) {
    const std::string& name = stage.name;
    const bool of_layer = name.find("layer.") != std::string::npos;
    if (name.ends_with("relative.index")) return 0;
    if (name.ends_with(".output")) return of_layer ? 1 : 2;
    if (name.ends_with(".context") || name.ends_with(".attention")) return 3;
    return name.find("layer.0.") != std::string::npos ? 4 : 5;
}

/// The stages that fit, in model order.
Trace within(const Trace& whole, Index bytes) {
    std::vector<const Stage*> order;
    for (const Stage& stage : whole.stages()) order.push_back(&stage);
    std::stable_sort(order.begin(), order.end(), [](const Stage* a, const Stage* b) {
        return std::pair(rank_of(*a), bytes_of(*a)) < std::pair(rank_of(*b), bytes_of(*b));
    });
    std::set<std::string> kept;
    for (const Stage* stage : order) {
        if (bytes_of(*stage) > bytes) continue;
        bytes -= bytes_of(*stage);
        kept.insert(stage->name);
    }
    Trace part;
    for (const Stage& stage : whole.stages())
        if (kept.contains(stage.name)) part.add(narrowed(stage));
    return part;
}

/// The tensors of an input file.
Trace input_tensors(const std::vector<ModelInput>& segments) {
    Trace tensors;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::string behind = segments.size() == 1 ? "" : "." + std::to_string(s);
        const ModelInput& input = segments[s];
        for (const auto& [name, values] : {std::pair<std::string, const IndexTensor&>{"tokens", input.tokens},
                                           {"mask", input.mask},
                                           {"input_mask", input.input_mask}})
            if (!values.empty()) tensors.add({name + behind, {"B", "T"}, "", "", values});
    }
    return tensors;
}

/// A reference that is no number passes no port: the weights must be repaired first.
void check_finite(const Trace& reference, const Model<double>& model, const std::string& location) {
    for (const Stage& stage : reference.stages())
        for (Index n = 0; n < stage.size(); ++n)
            if (!std::isfinite(stage.at(n))) {
                const std::vector<std::string> warnings = model.warnings();
                throw Error(Fault::unreadable, warnings.empty() ? location + ": " + stage.name +
                                                                      " holds NaN or infinity, expected numbers: no "
                                                                      "port could pass such a kit"
                                                                : warnings.front() + ": no port could pass such a kit");
            }
}

}  // namespace

std::vector<CaseContent> model_cases(const std::filesystem::path& folder, Dialect dialect, const CancelToken& stop) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model(folder.string()));
    const std::string location = checkpoint.config_file.string();
    const auto model = open_model_of<double>(checkpoint);
    const Family family = model->family();
    const Index longest = longest_text(checkpoint.config_json, location, family);
    std::vector<CaseContent> cases;
    for (const Plan& plan : plans_for(family, model->sizes().words, longest)) {
        throw_if_cancelled(stop);
        CaseContent content;
        content.id = "L3/" + plan.name;
        content.family = family;
        content.why = plan.why;
        content.dialect = dialect;
        content.accuracy = 1e-6;  // it is stored as float32
        content.source = computed_by_locus();
        content.notes = {"The first " + std::to_string(kLayers) +
                         " layers of the checkpoint; what its other layers compute is not asked for."};
        content.checkpoint = std::filesystem::absolute(checkpoint.config_file).parent_path();
        content.inputs = input_tensors(plan.segments);
        const auto names = early_stages(model->stage_names(plan.segments, dialect));
        const Trace trace = model->forward(plan.segments, dialect, StageFilter::of(names));
        check_finite(trace, *model, location);
        content.reference = within(trace, plan.bytes);
        cases.push_back(std::move(content));
    }
    return cases;
}

}  // namespace locus::conformance
