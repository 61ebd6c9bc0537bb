#pragma once
// DeBERTa versions 1, 2 and 3 for inference: embeddings, encoder, enhanced mask decoder, masked-word head.
// He et al. 2021; microsoft/DeBERTa; transformers modeling_deberta(_v2).py.  Dropout is off.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/models/deberta_config.h"
#include "core/models/dialect.h"
#include "core/models/model_input.h"
#include "core/models/operations.h"
#include "core/trace.h"
#include "core/weights.h"

namespace locus {

/// One head of one layer, as a picture of all heads shows it: the raw terms and the probabilities, [T,T] each, by the
/// readable formulas of core/attention.  c2p and p2c are empty where the model has none.
template <class Scalar>
struct HeadOverview {
    Index layer = 0, sample = 0, head = 0;
    Matrix<Scalar> c2c, c2p, p2c, probs;
};
template <class Scalar>
using VisitHead = std::function<void(const HeadOverview<Scalar>&)>;

template <class Scalar>
struct FastPath;  // core/models/fast_encoder.h

template <class Scalar>
class Deberta {
public:
    /// Checks that every tensor the configuration calls for is there and has its shape, reading no values.
    /// Throws Error(unreadable) that names the first missing or misshapen tensor.
    /// `compute` does the arithmetic of every pass and must outlive this.  ForwardPath::fast: see takes_fast_path.
    Deberta(DebertaConfig config, std::shared_ptr<const WeightSource> weights,
            const Operations<Scalar>& compute = cpu_operations<Scalar>(), ForwardPath path = ForwardPath::reference);
    ~Deberta();
    Deberta(Deberta&&) noexcept;
    Deberta& operator=(Deberta&&) noexcept;

    const DebertaConfig& config() const;
    /// True if there is a masked-word head (cls.predictions.* or lm_predictions.lm_head.*).
    bool has_head() const;
    /// True if the enhanced mask decoder can run: an absolute table, position_biased_input false, two layers or more, E
    /// = D.
    bool has_decoder() const;

    /// The rows of the relative table for T x T pairs under these options.  Throws Error(usage) without relative
    /// attention.
    RelativeBuckets bucket_line(Index length, const DebertaOptions& options) const;
    /// I of the decoder: the first rows of the absolute table [length,E].  Throws Error(unsupported) if it has fewer.
    Matrix<Scalar> absolute_rows(Index length) const;

    /// Every stage that `forward` can leave for this input, in model order.
    std::vector<std::string> stage_names(const ModelInput& input, const DebertaOptions& options) const;

    /// Runs as much of the model as the wanted stages need and returns them in model order.  Weights are read on first
    /// use and kept; position projections (k_r, q_r) are computed once per layer.
    /// Throws Error(usage) for a token id >= V, a mask of the wrong shape or a pattern that matches no stage, and
    /// Error(unsupported) for more tokens than the absolute table has rows where one is asked for.
    /// `stop` is asked before every layer and ends the pass by throwing Cancelled.
    Trace forward(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted = {},
                  const CancelToken& stop = {}) const;

    /// True if `forward` runs whole layers by the fast path: this was opened with ForwardPath::fast and computes on the
    /// processor, the model has a fast path (core/models/fast_encoder.h), and no wanted stage lies inside a layer, so
    /// that every stage inside is the reference's, and so is what it was made from.
    bool takes_fast_path(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted) const;

    /// Calls visit(head) for every head of every encoder layer and sample: its raw terms and probabilities, for a
    /// picture of all of them.  Layer by layer, the heads of a layer in any order, maybe on several threads at once.
    /// With the fast path only what a layer hands on is computed by it.  Throws like forward, Cancelled included.
    void visit_heads(const ModelInput& input, const DebertaOptions& options, const VisitHead<Scalar>& visit,
                     const CancelToken& stop = {}) const;

    /// One sentence per weight tensor read so far that holds NaN or infinity.
    std::vector<std::string> warnings() const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
    std::shared_ptr<FastPath<Scalar>> fast_;  // none: every pass is the reference's
};

extern template class Deberta<float>;
extern template class Deberta<double>;

}  // namespace locus
