#pragma once
// A port of XLNet in plain loops, both streams.  Yang et al. 2019; zihangdai/xlnet modeling.py; transformers 4.57.6.
#include "core/models/xlnet.h"
#include "tests/conformance/toy/toy_transformer_xl.h"

namespace locus::conformance::toy {

/// Who sees whom in the two streams, and which token every target row stands for (-1: none), [B][P].
struct XlnetPlan {
    Visible content, query;  // [B,T,K]
    std::vector<std::vector<Index>> targets;
};
XlnetPlan plan_of(const XlnetConfig& config, const ModelInput& input, Index memory, const Injection& injected);

template <class Scalar>
class ToyXlnet {
public:
    ToyXlnet(const XlnetConfig& config, const WeightSource& weights, const ToyOptions& options);
    Trace run(const std::vector<ModelInput>& segments);

private:
    using A = Array<Scalar>;
    struct Streams {
        A h, g;  // [B,T,D], [B,P,D]
    };
    /// A stream through one attention: its rows, the token each stands for (-1: none), what each sees.
    struct Asked {
        A rows;
        std::vector<std::vector<Index>> tokens;
        Visible sees;
    };

    void run_segment(const ModelInput& input, const std::string& segment, bool remembers);
    Streams start(const ModelInput& input, const XlnetPlan& plan, const std::string& segment);
    void make_positions(Index queries, Index keys, const std::string& segment);
    A projected(const A& x, const std::string& name) const;
    A kernel(const std::string& name) const;
    Streams layer(Index l, const std::string& at, const Streams& x, const A& memory, const XlnetPlan& plan,
                  const ModelInput& input);
    A stream(Index l, const std::string& at, const Asked& asked, const A& k, const A& v, const ModelInput& input,
             const A& residual);
    void position_term(const A& asked, const Asked& who, Index l, A& raw, A& bd) const;
    A segment_term(const A& q, const Asked& who, Index l, Index keys, const ModelInput& input) const;
    A after_attention(Index l, const std::string& at, const A& joined, const A& residual);
    Visible rows_of(const Visible& sees, const std::vector<std::vector<Index>>& tokens) const;
    void add(const std::string& name, const A& x) { trace_.add(name, as_stage(x)); }
    const Injection& injected() const { return options_.injected; }

    XlnetConfig config_;
    ToyOptions options_;
    Toolbox<Scalar> tools_;
    Trace trace_{StageFilter{}, Scheme::two_stream};
    std::vector<A> memory_;
    A r_, r_backward_;  // [R,D]
};

}  // namespace locus::conformance::toy
