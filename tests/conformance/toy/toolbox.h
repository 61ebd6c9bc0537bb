#pragma once
// The steps that the toy ports of all families share, and the mistakes that people make in them.
#include <string>

#include "core/models/activation.h"
#include "tests/conformance/toy/array.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::conformance::toy {

/// Who sees whom, [B,Tq,Tk], 1 = visible; empty: everyone sees everyone.
using Visible = Array<char>;

/// One pass of one port: its weights, its slip, its order of summation.
template <class Scalar>
class Toolbox {
public:
    Toolbox(const WeightSource& weights, const ToyOptions& options, double eps)
        : weights_(weights), options_(options), eps_(eps) {}

    const Slip& slip() const { return options_.slip; }
    bool hugging_face() const { return options_.hugging_face; }
    Array<Scalar> weight(const std::string& name) const { return toy::weight<Scalar>(weights_, name); }
    bool has(const std::string& name) const { return weights_.shape(name).has_value(); }

    /// sum_n a[n * step_a] b[n * step_b], in the chosen order.
    Scalar dot(const Scalar* a, const Scalar* b, Index length, Index step_a = 1, Index step_b = 1) const;
    /// x [...,in] W^T + bias; W [out,in], bias [out] or empty.
    Array<Scalar> dense(const Array<Scalar>& x, const Array<Scalar>& matrix, const Array<Scalar>& bias) const;
    /// name.weight and name.bias.
    Array<Scalar> dense(const Array<Scalar>& x, const std::string& name) const;
    /// Mean 0 and variance 1 over the last axis, then scale and shift; empty scale and shift: none.
    Array<Scalar> norm(Array<Scalar> x, const Array<Scalar>& scale, const Array<Scalar>& shift) const;
    Array<Scalar> norm(const Array<Scalar>& x, const std::string& name) const;
    Array<Scalar> activated(Array<Scalar> x, Activation activation) const;

    /// [B,T,H*d] -> [B,H,T,d].
    Array<Scalar> split(const Array<Scalar>& x, Index heads) const;
    /// [B,H,T,d] -> [B,T,H*d].
    Array<Scalar> join(const Array<Scalar>& heads) const;
    /// [B,H,Tq,Tk]: a row of q against a row of k.
    Array<Scalar> products(const Array<Scalar>& q, const Array<Scalar>& k) const;
    /// Softmax over keys; hidden ones exactly 0.
    Array<Scalar> softmax(const Array<Scalar>& scores, const Visible& visible) const;
    /// probs v, heads joined -> [B,Tq,H*d].
    Array<Scalar> context(const Array<Scalar>& probs, const Array<Scalar>& v) const;
    /// [B,H,A,C] -> [B,H,C,A].
    Array<Scalar> turned(const Array<Scalar>& x) const;

private:
    void softmax_run(Scalar* run, const char* sees, Index length, Index step, Index step_sees) const;

    const WeightSource& weights_;
    const ToyOptions& options_;
    double eps_;
};

/// a + b of one shape.
template <class Scalar>
Array<Scalar> plus(Array<Scalar> a, const Array<Scalar>& b) {
    for (std::size_t n = 0; n < a.values.size(); ++n) a.values[n] += b.values[n];
    return a;
}

template <class Scalar>
Array<Scalar> times(Array<Scalar> a, double factor) {
    for (Scalar& value : a.values) value *= static_cast<Scalar>(factor);
    return a;
}

/// log(sum exp) - the one that was right.
template <class Scalar>
Scalar surprise(const Scalar* logits, Index words, Index right);

/// The masked-word head of DeBERTa and RoFormer: mlm.transform, mlm.logits and what follows from them.
template <class Scalar>
struct WordHead {
    std::string dense, norm, bias, table;
    Activation activation = Activation::gelu;
};
template <class Scalar>
void masked_word_head(const Toolbox<Scalar>& tools, const WordHead<Scalar>& head, const ModelInput& input,
                      const Array<Scalar>& x, Trace& trace);

}  // namespace locus::conformance::toy
