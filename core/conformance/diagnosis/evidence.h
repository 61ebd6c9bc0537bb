#pragma once
// What a diagnosis may look at: a candidate's stages, the reference's where the candidate kept silent, and the model.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/cancel.h"
#include "core/conformance/diagnosis/stage_scope.h"
#include "core/models/deberta_weights.h"
#include "core/models/model.h"
#include "core/models/roformer.h"
#include "core/models/transformer_xl.h"
#include "core/models/weight_reader.h"
#include "core/models/xlnet.h"
#include "core/trace_view.h"

namespace locus::conformance {

/// The folder a case was computed with; every formula after the first projection needs it.
struct ModelFolder {
    Family family = Family::deberta;
    std::string config_json, location;
    std::shared_ptr<const WeightSource> source;
    WeightReader<double> weights;
    // The one of its family; the others are empty.
    std::unique_ptr<DebertaWeights<double>> deberta;
    std::optional<RoformerConfig> roformer;
    std::optional<TransformerXlConfig> transformer_xl;
    std::optional<XlnetConfig> xlnet;

    /// Throws what open_checkpoint and family_of throw.
    static std::shared_ptr<const ModelFolder> open(const std::string& folder);
    /// What the configuration lies in, and with it the tokenizer.
    std::string folder() const;
    /// The same configuration over other parameters.
    std::shared_ptr<const ModelFolder> with(std::shared_ptr<const WeightSource> other) const;
    explicit ModelFolder(std::shared_ptr<const WeightSource> from) : source(from), weights(std::move(from)) {}
};

/// Stages widened, and products of them, that all replays of one evidence have in common; several may ask at once.
class SharedWork {
public:
    /// The tensor of that name, made by the first who asks; nullptr if `make` makes none, which is asked again.
    const Tensor<double>* get(const std::string& name, const std::function<std::optional<Tensor<double>>()>& make);
    /// The answer about that name, found by the first who asks.
    bool is(const std::string& name, const std::function<bool()>& find);
    /// The mask of a sample of a segment, made by the first who asks.
    const Mask& mask(std::size_t segment, Index b, const std::function<Mask()>& make);

private:
    std::recursive_mutex busy_;  // what is made may itself need what is shared
    std::unordered_map<std::string, Tensor<double>> made_;
    std::unordered_map<std::string, bool> answers_;
    std::map<std::pair<std::size_t, Index>, Mask> masks_;
};

/// What each stage follows from by right formulas, found by the first who asks; several may ask at once.
class Lineage {
public:
    /// Names of stems: the stage's own and those of everything behind it.
    using Stems = std::unordered_set<std::string>;
    const Stems& of(const std::string& stage, const std::function<Stems()>& find);

private:
    std::mutex busy_;
    std::unordered_map<std::string, Stems> found_;
};

struct Formula;

/// Everything that is known about one wrong pass.
struct Evidence {
    TraceView reference, candidate;
    std::shared_ptr<const ModelFolder> model;  // nullptr: only stages that follow from stages can be explained
    std::vector<ModelInput> segments;          // tokens and masks; may be empty
    Dialect dialect = Dialect::reference;      // what the reference follows; of XLNet and Transformer-XL memories
    std::shared_ptr<SharedWork> shared = std::make_shared<SharedWork>();
    std::shared_ptr<Lineage> lineage = std::make_shared<Lineage>();  // of this model, and of these that are given
    /// Some values of each stage of the reference: what a stage cannot be is seen without reading all of it again.
    std::shared_ptr<SharedWork> few_of_reference = std::make_shared<SharedWork>();
    std::optional<Family> family = std::nullopt;     // of a case without a model; "mask" may stand in its reference
    const std::vector<Formula>* formulas = nullptr;  // its right ones, where no family has them
    Index max_position = 0;                          // M of a case of indices: short ones fit several; 0: unknown
    CancelToken stop = {};                           // asked before every hypothesis of a diagnosis
    double most_work = 1e11;  // multiplications that whole passes may take together: ten seconds on two processors
    /// Told before a whole pass how many are done, of how many.
    std::function<void(std::size_t done, std::size_t of)> passes_done = {};
    /// Stages that follow from one the candidate has wrong and that it does not report: the reference's values are not
    /// its own there, so they are computed from what it does report.
    std::set<std::string> not_its_own = {};
    /// Stages that a case hands to the port: they are right, and no mistake of the port made them.
    std::set<std::string> given = {};
    /// The dump, where `candidate` is a pass that was made to explain it: what Replay::claimed looks at.
    std::optional<TraceView> dump = std::nullopt;
    std::map<std::string, std::string> stored = {};  // dtype that each stage of the candidate came in, "BF16"
    bool is_whole_pass = false;                      // `candidate` is made stage by stage with a mistake in it
};

/// The model's, or the case's; empty where neither is known.
inline std::optional<Family> known_family(const Evidence& evidence) {
    return evidence.model ? std::optional(evidence.model->family) : evidence.family;
}

/// True if `trace` holds the stage in the shape that formulas expect: the reference's, or, where the reference has no
/// such stage, one that agrees with its other stages axis by axis.  Of any other shape it counts as not reported.
bool is_of_right_shape(const Evidence& evidence, const TraceView& trace, const std::string& name);

/// Values of any stage as double, index tables too.
Tensor<double> widened(const Stage& stage);

}  // namespace locus::conformance
