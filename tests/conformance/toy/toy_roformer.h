#pragma once
// A port of RoFormer in plain loops.  Su et al. 2021; transformers 4.57.6.
#include "core/models/roformer.h"
#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

template <class Scalar>
class ToyRoformer {
public:
    ToyRoformer(const RoformerConfig& config, const WeightSource& weights, const ToyOptions& options);
    Trace run(const ModelInput& input);

private:
    using A = Array<Scalar>;
    enum class Pairs { neighbours, halves };

    A embeddings(const ModelInput& input);
    void read_angles(Index length);
    /// Pairs of channels of x [B,H,T,n] rotated by position; sine and cosine [T,n/2].
    A rotated(A x, const A& sine, const A& cosine, Pairs pairs) const;
    A crossed(const A& x, const A& sine, const A& cosine, bool partners_are_halves) const;
    A turned_heads(const A& x, const A& before, const std::string& projection, bool key) const;
    A wide(const A& x) const;
    A layer(Index l, const A& x);
    void add(const std::string& name, const A& x) { trace_.add(name, as_stage(x)); }
    const Injection& injected() const { return options_.injected; }

    RoformerConfig config_;
    ToyOptions options_;
    Toolbox<Scalar> tools_;
    Trace trace_{StageFilter{}, Scheme::rotary};
    A sine_, cosine_;              // [T,d/2]
    A other_sine_, other_cosine_;  // of mistake 89
    Visible visible_;
    bool masks_tokens_ = false;   // not pairs
    std::vector<Index> counted_;  // of mistake 63: positions by the mask, sample after sample
};

}  // namespace locus::conformance::toy
