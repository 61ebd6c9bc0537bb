#pragma once
// A whole forward pass of a port that makes one mistake of the catalogue: what its dump would hold.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/conformance/kit/mistake_effect.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

/// The right pass, in double, and everything that formulas may look at.
struct RightPass {
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    Dialect dialect = Dialect::reference;
    Trace trace;
    // Where there is no model:
    std::optional<Family> family = std::nullopt;
    const std::vector<Formula>* formulas = nullptr;  // the right ones, where no family has them
    std::set<std::string> given = {};                // stages that the port is handed, and does not compute
    std::optional<TraceView> dump = std::nullopt;    // of the port that the pass is to explain: its own word

    /// Runs the model.  Throws what Model::forward throws, Cancelled.
    static RightPass of(std::shared_ptr<const ModelFolder> model, std::vector<ModelInput> segments, Dialect dialect,
                        const CancelToken& stop = {});
};

/// The stages of a right pass in the order in which a port computes them, read once for all mistakes that are made in
/// it.  The pass has to live as long.
class PassSteps {
public:
    struct Step {
        const Stage* stage;
        std::size_t scope;  // number of it in scopes()
        std::string stem;
        double allowed;  // how far its values may be off without being others
    };

    PassSteps(const RightPass& right);  // NOLINT: a right pass is all that they are made of
    const RightPass& right() const { return right_; }
    const std::vector<Step>& steps() const { return steps_; }
    const std::vector<std::string>& scopes() const { return scopes_; }
    /// Of all stages, in the order of the trace.
    const std::vector<std::string>& names() const { return names_; }
    /// True if a stage of that stem is computed by the port, and not handed to it.
    bool computes(const std::string& stem) const { return computed_.contains(stem); }
    /// Some stage is a gradient.
    bool goes_back() const { return goes_back_; }
    /// For the evidence of every pass.
    const std::shared_ptr<Lineage>& lineage() const { return lineage_; }

private:
    const RightPass& right_;
    std::vector<Step> steps_;
    std::vector<std::string> scopes_, names_;
    std::set<std::string> computed_;  // stems
    bool goes_back_ = false;
    std::shared_ptr<Lineage> lineage_ = std::make_shared<Lineage>();
};

struct MistakenPass {
    Trace trace;                        // in double, in the order of the model
    std::vector<ChangedStage> changed;  // the first one is where the mistake begins; empty: nothing changes here
    std::vector<std::string> left_out;  // no formula says how they follow from what is wrong now
};

/// A wanted mistake: "7", or its second way, "7.2".
struct MistakeChoice {
    int number = 0;
    int way = 0;  // from 1; 0: the first that changes something

    /// Throws Error(usage) that names what was expected.
    static MistakeChoice parse(const std::string& text);
};

/// The pass of a port that puts these formulas in place of the right ones, wherever they apply; what follows from them
/// is computed anew, everything else is the right pass's own.
/// Throws NotEnough where the formulas need what this model or input does not have; Cancelled, asked before every
/// stage.
MistakenPass mistaken_pass(const RightPass& right, const Variant& variant, const CancelToken& stop = {});

/// Told of every stage of a pass what the mistake makes of it, nullptr where it stays right; true: the rest of the pass
/// is not wanted.
using StageWatch = std::function<bool(const std::string& name, const Tensor<double>* changed)>;

/// As mistaken_pass, but the trace holds the stages that changed and no others, in the order in which they are
/// computed.  A pass that `ends` ended is not asked whether all of the mistake was made.
MistakenPass changed_stages(const PassSteps& steps, const Variant& variant, const StageWatch& ends = {},
                            const CancelToken& stop = {});

/// As mistaken_pass, but no further than the first stage that changes: what the list of mistakes asks.
/// Empty where nothing changes.  Throws NotEnough, Cancelled.
std::vector<ChangedStage> first_change(const PassSteps& steps, const Variant& variant, const CancelToken& stop = {});

/// The way that a choice means.  Throws Error(usage) for an unknown number or way, and for a mistake of other families;
/// Error(unsupported) where no way of it can be made with this model and input, with the reason; Cancelled.
const Variant& chosen_way(const RightPass& right, const MistakeChoice& choice, const CancelToken& stop = {});

}  // namespace locus::conformance
