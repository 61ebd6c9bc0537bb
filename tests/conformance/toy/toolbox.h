#pragma once
// What the toy ports compute with: numbers in a std::vector with extents beside them, and the steps that all families
// share.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/models/activation.h"
#include "core/trace.h"
#include "core/weights.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::conformance::toy {

template <class Scalar>
struct Array {
    Shape shape;
    std::vector<Scalar> values;

    Array() = default;
    explicit Array(Shape extents) : shape(std::move(extents)) {
        std::size_t size = 1;
        for (const Index extent : shape) size *= static_cast<std::size_t>(extent);
        values.assign(size, Scalar(0));
    }
    Index extent(std::size_t axis) const { return shape.at(axis); }
    bool empty() const { return values.empty(); }
    Index width() const { return shape.back(); }
    /// How many runs of the last axis there are.
    Index runs() const { return width() == 0 ? 0 : static_cast<Index>(values.size()) / width(); }
    Scalar* run(Index n) { return values.data() + n * width(); }
    const Scalar* run(Index n) const { return values.data() + n * width(); }

    template <class... At>
    Scalar& operator()(At... at) {
        return values[place(at...)];
    }
    template <class... At>
    const Scalar& operator()(At... at) const {
        return values[place(at...)];
    }

private:
    template <class... At>
    std::size_t place(At... at) const {
        Index flat = 0;
        std::size_t axis = 0;
        ((flat = flat * shape[axis++] + static_cast<Index>(at)), ...);
        return static_cast<std::size_t>(flat);
    }
};

template <class Scalar>
Tensor<Scalar> as_stage(const Array<Scalar>& array) {
    return Tensor<Scalar>(array.shape, array.values);
}

/// A tensor of a checkpoint, copied; empty if the checkpoint does not have it.
template <class Scalar>
Array<Scalar> weight(const WeightSource& source, const std::string& name) {
    const auto shape = source.shape(name);
    if (!shape) return {};
    Array<Scalar> array(*shape);
    const Matrix<Scalar> rows = [&]() -> Matrix<Scalar> {
        if constexpr (std::is_same_v<Scalar, double>)
            return source.rows_f64(name, 0, shape->front());
        else
            return source.rows_f32(name, 0, shape->front());
    }();
    array.values.assign(rows.data(), rows.data() + rows.size());
    return array;
}

// The steps that the toy ports of all families share, and the mistakes that people make in them.

/// Who sees whom, [B,Tq,Tk], 1 = visible; empty: everyone sees everyone.
using Visible = Array<char>;

/// The norms of a layer, by their names.
struct LayerNorms {
    std::string of_attention, of_feed_forward;
};

/// One pass of one port: its weights, the mistake it makes, its order of summation.
template <class Scalar>
class Toolbox {
public:
    Toolbox(const WeightSource& weights, const ToyOptions& options, double eps)
        : weights_(weights), options_(options), eps_(eps) {}

    const Injection& injected() const { return options_.injected; }
    bool hugging_face() const { return options_.hugging_face; }
    Array<Scalar> weight(const std::string& name) const { return toy::weight<Scalar>(weights_, name); }
    bool has(const std::string& name) const { return weights_.shape(name).has_value(); }

    /// sum_n a[n * step_a] b[n * step_b], in the chosen order.
    Scalar dot(const Scalar* a, const Scalar* b, Index length, Index step_a = 1, Index step_b = 1) const;
    /// x [...,in] W^T + bias; W [out,in], bias [out] or empty.
    Array<Scalar> dense(const Array<Scalar>& x, const Array<Scalar>& matrix, const Array<Scalar>& bias) const;
    /// name.weight and name.bias.
    Array<Scalar> dense(const Array<Scalar>& x, const std::string& name) const;
    /// The same where mistake 104 of this variant has lost the bias.
    Array<Scalar> dense(const Array<Scalar>& x, const std::string& name, int variant) const;
    /// Mean 0 and variance 1 over the last axis, then scale and shift; empty scale and shift: none.
    Array<Scalar> norm(Array<Scalar> x, const Array<Scalar>& scale, const Array<Scalar>& shift,
                       std::optional<double> other_eps = std::nullopt) const;
    Array<Scalar> norm(const Array<Scalar>& x, const std::string& name) const { return norm_with(x, name, {}); }
    Array<Scalar> norm_with(const Array<Scalar>& x, const std::string& name, std::optional<double> other_eps) const;
    Array<Scalar> activated(Array<Scalar> x, Activation activation) const;

    /// norm(f + residual), the end of attention or of the feed-forward part; mistakes 43, 101, 123 and 124 stand here.
    /// `bare`: without the norm, as in a layer whose norms stand first; `instead`: what 124 takes for the residual.
    Array<Scalar> merged(const Array<Scalar>& f, const Array<Scalar>& residual, const Array<Scalar>& instead,
                         const LayerNorms& norms, bool of_attention, bool bare) const;

    /// [B,T,H*d] -> [B,H,T,d].  121 cuts rows of words, or those of positions, otherwise.
    Array<Scalar> split(const Array<Scalar>& x, Index heads, bool of_positions = false) const;
    /// [B,H,T,d] -> [B,T,H*d].
    Array<Scalar> join(const Array<Scalar>& heads) const;
    /// [B,H,Tq,Tk]: a row of q against a row of k.
    Array<Scalar> products(const Array<Scalar>& q, const Array<Scalar>& k) const;
    /// Softmax over keys; hidden ones exactly 0.
    Array<Scalar> softmax(const Array<Scalar>& scores, const Visible& visible) const;
    /// probs v, heads joined -> [B,Tq,H*d].
    Array<Scalar> context(const Array<Scalar>& probs, const Array<Scalar>& v) const;
    /// [B,H,A,C] -> [B,H,C,A].
    Array<Scalar> transposed(const Array<Scalar>& x) const;

private:
    Array<Scalar> stepping_by_columns(const Array<Scalar>& x) const;
    void softmax_run(Scalar* run, const char* sees, Index length, Index step, Index step_sees) const;

    const WeightSource& weights_;
    const ToyOptions& options_;
    double eps_;
};

/// A dropout mask that is left on: every tenth value is 0, the others are divided by 0.9.
template <class Scalar>
Array<Scalar> dropped(Array<Scalar> x) {
    for (std::size_t n = 0; n < x.values.size(); ++n)
        x.values[n] = n * 7919 % 10 == 3 ? Scalar(0) : x.values[n] / static_cast<Scalar>(0.9);
    return x;
}

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

/// sin or cos of position * 10000^(-2 pair / width).
template <class Scalar>
Scalar wave(Index position, Index pair, Index width, bool cosine) {
    const double angle =
        static_cast<double>(position) / std::pow(10000.0, static_cast<double>(2 * pair) / static_cast<double>(width));
    return static_cast<Scalar>(cosine ? std::cos(angle) : std::sin(angle));
}

/// The row of a table of so many token types that token n of all B*T takes.
Index type_row(const ModelInput& input, Index n, Index types, const Injection& injected);

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

/// The classes of a fine-tuned model: classifier.*, of a text where the file has the pooler's layer, else of every
/// token.
struct ClassLayers {
    std::string pooler, output;
    bool last = false;  // the last token stands for the text, not the first
    Activation activation = Activation::gelu;
};
template <class Scalar>
void classes(const Toolbox<Scalar>& tools, const ClassLayers& layers, const ModelInput& input, const Array<Scalar>& x,
             const std::string& segment, Trace& trace);

}  // namespace locus::conformance::toy
