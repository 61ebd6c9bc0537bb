#include "core/conformance/formulas/gradients.h"

#include <cmath>
#include <numeric>

#include "core/attention/relative.h"
#include "core/attention/softmax.h"
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/roformer.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/models/layers.h"
#include "core/products.h"

namespace locus::conformance {

namespace {

/// Every value of pairs goes to place(line, i, j) of `all`; a place that was written before takes it as `write` says.
template <class Place>
void scatter(const Tensor<double>& pairs, Write write, Tensor<double>& all, Place place) {
    const Index queries = pairs.extent(2), keys = pairs.extent(3);
    std::vector<char> written(static_cast<std::size_t>(all.size()), 0);
    for (Index n = 0; n < pairs.size(); ++n) {
        const Index to = place(n / (queries * keys), n / keys % queries, n % keys);
        char& before = written[static_cast<std::size_t>(to)];
        if (write == Write::add)
            all[to] += pairs[n];
        else if (write == Write::keep_last || !before)
            all[to] = pairs[n];
        before = 1;
    }
}

void need_index_of(const Tensor<double>& pairs, const Tensor<double>& index) {
    if (index.rank() != 2 || index.extent(0) != pairs.extent(2) || index.extent(1) != pairs.extent(3))
        throw NotEnough{"an index of as many queries and keys"};
}

}  // namespace

Tensor<double> gradient_of_weights(const Tensor<double>& d_context, const Tensor<double>& v) {
    return products(split_heads(d_context, v.extent(1)), v);
}

const Tensor<double>& values_of_weights(const Replay& at) {
    return at(at.family() == Family::roformer && rotates_values(at) ? "v_rot" : "v");
}

Tensor<double> through_softmax(const Tensor<double>& y, const Tensor<double>& dy) {
    if (y.shape() != dy.shape()) throw NotEnough{"stages of one shape"};
    return each_head(y, y.extent(2), y.extent(3),
                     [&](Index at, Index, Index) { return softmax_backward<double>(y.matrix(at), dy.matrix(at)); });
}

Tensor<double> scattered_by_query(const Tensor<double>& pairs, const Tensor<double>& index, Index rows, Write write) {
    need_index_of(pairs, index);
    const std::vector<Index> row = rows_of(index, rows);
    const Index queries = pairs.extent(2), keys = pairs.extent(3);
    Tensor<double> all({pairs.extent(0), pairs.extent(1), queries, rows});
    scatter(pairs, write, all, [&](Index at, Index i, Index j) {
        return (at * queries + i) * rows + row[static_cast<std::size_t>(i * keys + j)];
    });
    return all;
}

Tensor<double> scattered_by_key(const Tensor<double>& pairs, const Tensor<double>& index, Index rows, Write write) {
    need_index_of(pairs, index);
    const std::vector<Index> row = rows_of(index, rows);
    const Index keys = pairs.extent(3);
    Tensor<double> all({pairs.extent(0), pairs.extent(1), keys, rows});
    scatter(pairs, write, all, [&](Index at, Index i, Index j) {
        return (at * keys + j) * rows + row[static_cast<std::size_t>(i * keys + j)];
    });
    return all;
}

Tensor<double> weighted_rows(const Tensor<double>& weights, const Tensor<double>& table) {
    return each_head(weights, weights.extent(2), table.extent(2),
                     [&](Index at, Index h, Index) { return times<double>(weights.matrix(at), table.matrix(h)); });
}

Tensor<double> summed_over_samples(const Tensor<double>& weights, const Tensor<double>& x, Index begin, Index end) {
    const Index heads = x.extent(1);
    Tensor<double> sum({heads, weights.extent(3), x.extent(3)});
    for (Index b = begin; b < end; ++b)
        for (Index h = 0; h < heads; ++h)
            sum.matrix(h) += transposed_times<double>(weights.matrix(b * heads + h), x.matrix(b * heads + h));
    return sum;
}

Tensor<double> summed_over_rows(const Tensor<double>& x, Index begin, Index end) {
    const Index heads = x.extent(1);
    Tensor<double> sum({heads, x.extent(3)});
    for (Index b = begin; b < end; ++b)
        for (Index h = 0; h < heads; ++h) sum.matrix().row(h) += x.matrix(b * heads + h).colwise().sum();
    return sum;
}

Tensor<double> times_by_head(const Tensor<double>& a, const Tensor<double>& b) {
    return each_head(a, a.extent(2), b.extent(3),
                     [&](Index at, Index, Index) { return times<double>(a.matrix(at), b.matrix(at)); });
}

Tensor<double> transposed_times_by_head(const Tensor<double>& a, const Tensor<double>& b) {
    return each_head(a, a.extent(3), b.extent(3),
                     [&](Index at, Index, Index) { return transposed_times<double>(a.matrix(at), b.matrix(at)); });
}

Tensor<double> shifted_back(const Tensor<double>& d_bd, Index columns) {
    const Index queries = d_bd.extent(2);
    std::vector<Index> positions(static_cast<std::size_t>(queries));
    std::iota(positions.begin(), positions.end(), Index(0));
    return each_head(d_bd, queries, columns, [&](Index at, Index, Index) {
        return shift_back_by_index<double>(d_bd.matrix(at), columns, queries - 1, 0, positions);
    });
}

// The right formulas of a backward pass through attention, stage by stage; "grad.x" is the gradient of the loss with
// respect to x, and grad.context is where it starts.  microsoft/DeBERTa disentangled_attention.py, transformers
// modeling_roformer.py and transformer-xl mem_transformer.py, differentiated.

namespace {

Tensor<double> divided_by(Tensor<double> values, double divisor) {
    return mapped(std::move(values), [divisor](double value) { return value / divisor; });
}

/// Gradient of one raw term: the scale undone once more.  A term that the model does not have has none.
Tensor<double> of_term(const Replay& at, bool Terms::*term = nullptr) {
    Terms terms;
    if (at.has_model()) {
        if (at.deberta().config().talking_head) throw NotEnough{"scores that are not mixed over heads"};
        terms = at.deberta().config().terms;
    }
    if (term && !(terms.*term)) throw NotEnough{"a model with this term"};
    return divided_by(at("grad.scores"), right_divisor(at));
}

bool has_term(const Replay& at, bool Terms::*term) { return !at.has_model() || at.deberta().config().terms.*term; }

/// keep, grad.probs, grad.scores: what all families share.
std::vector<Formula> softmax_gradients() {
    return {{"keep", {}, [](const Replay& at) { return mapped(at("probs"), [](double) { return 1.0; }); }},
            {"grad.probs",
             {"grad.context", "v", "v_rot", "keep"},
             [](const Replay& at) {
                 return product_of(gradient_of_weights(at("grad.context"), values_of_weights(at)), at("keep"));
             }},
            {"grad.scores", {"probs", "grad.probs"}, [](const Replay& at) {
                 return through_softmax(at("probs"), at("grad.probs"));
             }}};
}

/// Gradient of what probs multiply -> [B,H,Tk,d].
Tensor<double> of_values(const Replay& at) {
    const Tensor<double> weights = product_of(at("probs"), at("keep"));
    return transposed_times_by_head(weights, split_heads(at("grad.context"), weights.extent(1)));
}

Tensor<double> of_disentangled_query(const Replay& at) {
    Tensor<double> sum = times_by_head(at("grad.c2c"), at("k"));
    if (has_term(at, &Terms::c2p)) sum = sum_of(std::move(sum), weighted_rows(at("scatter.c2p"), at("k_r")));
    return sum;
}

Tensor<double> of_disentangled_key(const Replay& at) {
    Tensor<double> sum = transposed_times_by_head(at("grad.c2c"), at("q"));
    if (has_term(at, &Terms::p2c)) sum = sum_of(std::move(sum), weighted_rows(at("scatter.p2c"), at("q_r")));
    return sum;
}

Tensor<double> rotated_back(const Replay& at, const Tensor<double>& x) {
    const RotaryTable<double> table{at("/rotary.sin").matrix(), at("/rotary.cos").matrix()};
    return each_head(x, x.extent(2), x.extent(3), [&](Index n, Index, Index) {
        return rotate_back<double>(x.matrix(n), table, RotaryLayout::interleaved);
    });
}

double root_of_width(const Tensor<double>& heads) { return std::sqrt(static_cast<double>(heads.extent(3))); }

}  // namespace

bool rotates_values(const Replay& at) {
    if (at.has_model()) return at.roformer().rotary_value;
    return at.found("v_rot").has_value() || at.expected("v_rot").has_value();
}

std::vector<Formula> deberta_gradient_formulas() {
    std::vector<Formula> all = softmax_gradients();
    const std::vector<Formula> own = {
        {"grad.v", {"probs", "keep", "grad.context"}, of_values},
        {"grad.c2c", {"grad.scores"}, [](const Replay& at) { return of_term(at); }},
        {"grad.c2p", {"grad.scores"}, [](const Replay& at) { return of_term(at, &Terms::c2p); }},
        {"grad.p2c", {"grad.scores"}, [](const Replay& at) { return of_term(at, &Terms::p2c); }},
        {"scatter.c2p",
         {"grad.c2p", "/relative.index", "k_r"},
         [](const Replay& at) {
             return scattered_by_query(at("grad.c2p"), at("/relative.index"), at("k_r").extent(1));
         }},
        {"scatter.p2c",
         {"grad.p2c", "/relative.index", "q_r"},
         [](const Replay& at) { return scattered_by_key(at("grad.p2c"), at("/relative.index"), at("q_r").extent(1)); }},
        {"grad.q", {"grad.c2c", "k", "scatter.c2p", "k_r"}, of_disentangled_query},
        {"grad.k", {"grad.c2c", "q", "scatter.p2c", "q_r"}, of_disentangled_key},
        {"grad.k_r",
         {"scatter.c2p", "q"},
         [](const Replay& at) { return summed_over_samples(at("scatter.c2p"), at("q")); }},
        {"grad.q_r",
         {"scatter.p2c", "k"},
         [](const Replay& at) { return summed_over_samples(at("scatter.p2c"), at("k")); }},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

std::vector<Formula> roformer_gradient_formulas() {
    std::vector<Formula> all = softmax_gradients();
    const std::vector<Formula> own = {
        {"grad.v_rot", {"probs", "keep", "grad.context"}, of_values},
        {"grad.q_rot",
         {"grad.scores", "k_rot"},
         [](const Replay& at) {
             return divided_by(times_by_head(at("grad.scores"), at("k_rot")), root_of_width(at("k_rot")));
         }},
        {"grad.k_rot",
         {"grad.scores", "q_rot"},
         [](const Replay& at) {
             return divided_by(transposed_times_by_head(at("grad.scores"), at("q_rot")), root_of_width(at("q_rot")));
         }},
        {"grad.q",
         {"grad.q_rot", "/rotary.sin", "/rotary.cos"},
         [](const Replay& at) { return rotated_back(at, at("grad.q_rot")); }},
        {"grad.k",
         {"grad.k_rot", "/rotary.sin", "/rotary.cos"},
         [](const Replay& at) { return rotated_back(at, at("grad.k_rot")); }},
        {"grad.v",
         {"grad.v_rot", "/rotary.sin", "/rotary.cos"},
         [](const Replay& at) { return rotates_values(at) ? rotated_back(at, at("grad.v_rot")) : at("grad.v_rot"); }},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

std::vector<Formula> transformer_xl_gradient_formulas() {
    std::vector<Formula> all = softmax_gradients();
    const auto scaled = [](const Replay& at) { return divided_by(at("grad.scores"), root_of_width(at("q"))); };
    const std::vector<Formula> own = {
        {"grad.v", {"probs", "keep", "grad.context"}, of_values},
        {"grad.ac", {"grad.scores"}, scaled},
        {"grad.bd", {"grad.scores"}, scaled},
        {"grad.bd_raw",
         {"grad.bd", "r_k"},
         [](const Replay& at) { return shifted_back(at("grad.bd"), at("r_k").extent(1)); }},
        {"grad.q",
         {"grad.ac", "k", "grad.bd_raw", "r_k"},
         [](const Replay& at) {
             return sum_of(times_by_head(at("grad.ac"), at("k")), weighted_rows(at("grad.bd_raw"), at("r_k")));
         }},
        {"grad.k",
         {"grad.ac", "q", "bias.u"},
         [](const Replay& at) { return transposed_times_by_head(at("grad.ac"), biased(at("q"), at("bias.u"))); }},
        {"grad.r_k",
         {"grad.bd_raw", "q", "bias.v"},
         [](const Replay& at) { return summed_over_samples(at("grad.bd_raw"), biased(at("q"), at("bias.v"))); }},
        {"grad.bias.u",
         {"grad.ac", "k"},
         [](const Replay& at) {
             const Tensor<double> rows = times_by_head(at("grad.ac"), at("k"));
             return summed_over_rows(rows, 0, rows.extent(0));
         }},
        {"grad.bias.v",
         {"grad.bd_raw", "r_k"},
         [](const Replay& at) {
             const Tensor<double> rows = weighted_rows(at("grad.bd_raw"), at("r_k"));
             return summed_over_rows(rows, 0, rows.extent(0));
         }},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

}  // namespace locus::conformance
