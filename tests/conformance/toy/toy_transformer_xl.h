#pragma once
// A port of Transformer-XL in plain loops.  Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py.
#include "core/models/transformer_xl.h"
#include "tests/conformance/toy/relative_port.h"

namespace locus::conformance::toy {

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
    void head(const ModelInput& input, const A& x, const std::string& segment);
    void add(const std::string& name, const A& x) { trace_.add(name, as_stage(x)); }
    const Slip& slip() const { return options_.slip; }

    TransformerXlConfig config_;
    ToyOptions options_;
    Toolbox<Scalar> tools_;
    Trace trace_{StageFilter{}, Scheme::transformer_xl};
    std::vector<A> memory_;  // [B,M,D] for the embeddings and every layer
};

}  // namespace locus::conformance::toy
