#pragma once
// What the ports of Transformer-XL and XLNet share: sinusoids, memory, the post-norm block.
#include <string>

#include "core/models/transformer_xl.h"
#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

/// One row per distance, [sin | cos] of distance * 10000^(-2t/width), but for the mistakes of such rows.
template <class Scalar>
Array<Scalar> sinusoids(const std::vector<Index>& distances, Index width, const Injection& injected);

/// Rows [first,last) of the tokens of x [B,T,D].
template <class Scalar>
Array<Scalar> token_rows(const Array<Scalar>& x, Index first, Index last);

/// memory [B,M,D] (may be empty) followed by x [B,T,D].
template <class Scalar>
Array<Scalar> after(const Array<Scalar>& memory, const Array<Scalar>& x);

/// q [B,H,T,d] + factor * bias [H,d].
template <class Scalar>
Array<Scalar> biased(const Array<Scalar>& q, const Array<Scalar>& bias, double factor);

/// u and v [H,d] as mistake 68 reads them, and the factor it gives both.
template <class Scalar>
void misread(Array<Scalar>& u, Array<Scalar>& v, const Injection& injected);
double bias_factor(double root, const Injection& injected);

/// "segment.2." if there are several, else "".
std::string segment_name(std::size_t segment, std::size_t segments);

// A port of Transformer-XL in plain loops.  Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py.

template <class Scalar>
class ToyTransformerXl {
public:
    ToyTransformerXl(const TransformerXlConfig& config, const WeightSource& weights, const ToyOptions& options);
    Trace run(const std::vector<ModelInput>& segments);

private:
    using A = Array<Scalar>;

    void run_segment(const ModelInput& input, const std::string& segment);
    A embeddings(const ModelInput& input, const std::string& segment);
    A positions(Index keys) const;
    Visible visible(Index batch, Index queries, Index memory) const;
    A shifted(const A& raw, const Visible& sees, Index memory) const;
    A layer(Index l, const std::string& at, const A& x, const A& memory, const A& r, const Visible& sees);
    A context(Index l, const std::string& at, const A& both, const A& own, const A& r, const Visible& sees);
    void remember(const std::vector<A>& hidden, Index queries, const std::string& segment);
    A scores_of_words(const A& x, Index cluster, Index first, Index last) const;
    A adaptive_softmax(const A& x, const std::string& segment);
    void head(const ModelInput& input, const A& x, const std::string& segment);
    void add(const std::string& name, const A& x) { trace_.add(name, as_stage(x)); }
    const Injection& injected() const { return options_.injected; }

    TransformerXlConfig config_;
    ToyOptions options_;
    Toolbox<Scalar> tools_;
    Trace trace_{StageFilter{}, Scheme::transformer_xl};
    std::vector<A> memory_;  // [B,M,D] for the embeddings and every layer
};

}  // namespace locus::conformance::toy
