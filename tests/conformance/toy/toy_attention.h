#pragma once
// One attention in plain loops, forward and backward.
#include "core/models/dialect.h"
#include "core/models/model.h"
#include "core/trace.h"
#include "tests/conformance/toy/toolbox.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::conformance::toy {

/// A stage in the port's numbers; empty if there is none.
template <class Scalar>
Array<Scalar> read(const Trace& trace, const std::string& name) {
    const Stage* stage = trace.find(name);
    if (!stage) return {};
    Array<Scalar> array(stage->shape());
    for (Index n = 0; n < stage->size(); ++n)
        array.values[static_cast<std::size_t>(n)] = static_cast<Scalar>(stage->at(n));
    return array;
}

/// Letters: b sample, h head, i query, j key, c channel, r row of a table.
template <class Scalar>
class ToyAttention {
public:
    using A = Array<Scalar>;
    /// Inputs under names of stages; `rotates_values`: a RoFormer that rotates them too.
    ToyAttention(Family family, const Trace& inputs, bool rotates_values);
    /// Computes and reports every stage from c2c, q_rot or ac to context.
    void attend();

protected:
    A stage(const std::string& stem) const { return read<Scalar>(inputs_, "layer.0." + stem); }
    void report(const std::string& stem, const A& values) { trace_.add<Scalar>("layer.0." + stem, as_stage(values)); }
    A pairs() const { return A({B_, H_, Q_, K_}); }
    Index row(Index i, Index j) const { return static_cast<Index>(index_(i, j)); }
    bool sees(Index b, Index i, Index j) const;
    /// x rotated by `way` times its angles, neighbours paired.
    A rotated(const A& x, Scalar way) const;

    template <class Step>
    void each_pair(Step step) const {
        for (Index b = 0; b < B_; ++b)
            for (Index h = 0; h < H_; ++h)
                for (Index i = 0; i < Q_; ++i)
                    for (Index j = 0; j < K_; ++j) step(b, h, i, j);
    }

    Family family_;
    const Trace& inputs_;
    bool turns_values_;
    A q_, k_, v_, q_r_, k_r_, r_k_, u_, bias_, keep_, sin_, cos_;
    A q_rot_, k_rot_, scores_, probs_, context_;
    Array<double> mask_, index_;
    Index B_ = 0, H_ = 0, Q_ = 0, K_ = 0, d_ = 0;
    Scalar scale_ = 1;
    Trace trace_;

private:
    void disentangled_scores();
    void rotary_scores();
    void shifted_scores();
    void softmax_and_context();
};

extern template class ToyAttention<float>;
extern template class ToyAttention<double>;

// Toy backward passes of one attention, in plain loops, written by hand; and the mistakes they make.

/// Forward and backward of one attention: every stage of a gradient case, from its inputs under names of stages
/// ("layer.0.q", ..., "grad.layer.0.context").  `rotates_values`: a RoFormer
/// that rotates them too.
template <class Scalar>
Trace run_toy_attention(Family family, const Trace& inputs, const Injection& injected, bool rotates_values = false);

extern template Trace run_toy_attention<float>(Family, const Trace&, const Injection&, bool);
extern template Trace run_toy_attention<double>(Family, const Trace&, const Injection&, bool);

}  // namespace locus::conformance::toy
