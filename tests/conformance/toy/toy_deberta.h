#pragma once
// A port of DeBERTa, versions 1 to 3, in plain loops.  He et al. 2021; microsoft/DeBERTa; transformers 4.57.6.
#include "core/models/deberta_config.h"
#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

/// Rows of the relative table by query and key, as each term reads them; `shown` is what a dump holds.
struct RelativeRows {
    Array<Index> c2p, p2c, shown;  // [T,T]
};
RelativeRows relative_rows(const DebertaConfig& config, Index length, const ToyOptions& options);

template <class Scalar>
class ToyDeberta {
public:
    ToyDeberta(const DebertaConfig& config, const WeightSource& weights, const ToyOptions& options);
    Trace run(const ModelInput& input);

private:
    using A = Array<Scalar>;
    /// Queries, keys and values before and after the heads are split.
    struct Heads {
        A q, k, v;
    };

    A embeddings(const ModelInput& input);
    A masked(A x) const;
    void read_table();
    Heads project(const std::string& at, Index layer, const A& x, const A& x_q);
    A packed_part(const A& x, const std::string& self, Index part) const;
    A position_heads(Index layer, bool query) const;
    A c2p(const A& q, const A& k_r) const;
    A p2c(const A& k, const A& q_r) const;
    A scores(const std::string& at, Index layer, const Heads& heads);
    A talk(const A& x, const std::string& name) const;
    A context(const std::string& at, Index layer, const A& x, const A& x_q);
    A layer(const std::string& at, Index layer, const A& x, const A& x_q, const A& residual);
    A merged_convolution(const A& embedded, const A& output);
    A convolution(const A& x) const;
    A encoder(const A& embedded, A& last_but_one);
    A decoder(const ModelInput& input, const A& h, const A& last);
    void add(const std::string& name, const A& x) { trace_.add(name, as_stage(x)); }
    const Injection& injected() const { return options_.injected; }

    DebertaConfig config_;
    ToyOptions options_;
    Toolbox<Scalar> tools_;
    Trace trace_;
    A table_, token_mask_;  // [2k,D]; [B,T] of 0 and 1, empty: all visible
    A words_;               // [B,T,E]
    Visible visible_;       // [B,T,T]
    RelativeRows rows_;
};

}  // namespace locus::conformance::toy
