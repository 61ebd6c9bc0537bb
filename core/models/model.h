#pragma once
// Any network that Locus reads, behind one interface: its stages, its forward pass, its warnings.
#include <memory>
#include <string>
#include <vector>

#include "core/models/dialect.h"
#include "core/models/model_input.h"
#include "core/models/operations.h"
#include "core/trace.h"
#include "core/weights.h"

namespace locus {

enum class Family { deberta, roformer, transformer_xl, xlnet };

/// The sizes that programs and files show of every model.
struct ModelSizes {
    Index words = 0;       // V
    Index layers = 0;      // their number
    Index heads = 0;       // H
    Index head_width = 0;  // d
};

template <class Scalar>
class Model {
public:
    virtual ~Model() = default;

    virtual Family family() const = 0;
    virtual ModelSizes sizes() const = 0;
    /// Names of ModelInput's tensors that this family looks at, as in input files.
    virtual std::vector<std::string> input_names() const = 0;
    /// Every stage that `forward` can write for these segments, in model order.
    virtual std::vector<std::string> stage_names(const std::vector<ModelInput>& segments, Dialect dialect) const = 0;

    /// Throws what `forward` would throw of these segments, and computes nothing.
    virtual void check(const std::vector<ModelInput>& segments, Dialect dialect,
                       const StageFilter& wanted = {}) const = 0;

    /// Runs the segments one after the other, each with the memory of those before, until every wanted stage is there.
    /// Several segments: every stage is named segment.{s}.<stage>.
    /// Throws Error(usage) for ids out of range, shapes that do not fit or a pattern that matches no stage, and for
    /// more than one segment where the family has no memory.
    virtual Trace forward(const std::vector<ModelInput>& segments, Dialect dialect,
                          const StageFilter& wanted = {}) const = 0;

    /// `forward` of several texts, each an input of its own without a memory of the others -> a trace for each.
    virtual std::vector<Trace> forward_texts(const std::vector<ModelInput>& texts, Dialect dialect,
                                             const StageFilter& wanted = {}) const;
    /// True if several texts at once take less time than one by one: a DeBERTa with its fast path, where no wanted
    /// stage lies inside a layer.
    virtual bool takes_fast_path(const ModelInput& text, Dialect dialect, const StageFilter& wanted) const;

    /// One sentence per weight tensor read so far that holds NaN or infinity.
    virtual std::vector<std::string> warnings() const = 0;
};

/// Throws Error(usage) for more than one segment.
void check_one_segment(const std::vector<ModelInput>& segments);

/// Throws Error(usage) for several segments of a text where the model hands on no memory from one to the next: for
/// programs that were asked to hand it on.  mem_len is then 0 or null; XLNet of Hugging Face hands on everything.
template <class Scalar>
void check_memory(const Model<Scalar>& model, const std::vector<ModelInput>& segments, Dialect dialect);

/// "deberta", "roformer", "transfo-xl", "xlnet", as model_type spells it.
const char* to_string(Family family);
/// The family that a config.json names.  Throws Error(unsupported) listing what can be read.
Family family_of(const std::string& config_json, const std::string& location);

/// Opens a model of whichever family the configuration names; checks names and shapes of all weights, reading no
/// values. `location` is the file's name, for messages. Throws Error(unreadable) for a damaged configuration, a missing
/// or misshapen tensor, Error(unsupported) for a family or option that Locus does not compute.
/// `compute` does the arithmetic of every pass and must outlive the model.  ForwardPath::fast: where the family has a
/// fast path (DeBERTa on the processor), passes that look inside no layer take it.
template <class Scalar>
std::unique_ptr<Model<Scalar>> open_model(const std::string& config_json, const std::string& location,
                                          std::shared_ptr<const WeightSource> weights,
                                          const Operations<Scalar>& compute = cpu_operations<Scalar>(),
                                          ForwardPath path = ForwardPath::reference);

}  // namespace locus
