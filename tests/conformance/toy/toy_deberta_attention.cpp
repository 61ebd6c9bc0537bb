// Content, position and their products: the scores of one layer and what they weigh.
#include <algorithm>
#include <cmath>

#include "tests/conformance/toy/toy_deberta.h"

namespace locus::conformance::toy {

namespace {

std::string self_of(Index layer) { return "encoder.layer." + std::to_string(layer) + ".attention.self."; }

/// The same numbers, read as if columns came first.
template <class Scalar>
Array<Scalar> read_by_columns(const Array<Scalar>& matrix) {
    Array<Scalar> y(matrix.shape);
    const Index rows = matrix.extent(0), columns = matrix.extent(1);
    for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < columns; ++c) y(r, c) = matrix.values[static_cast<std::size_t>(c * rows + r)];
    return y;
}

/// Mistake 14, where it runs at all: the table cut into pieces of as many rows as there are tokens, piece b for
/// sample b.
Index piece_row(Index b, Index i, Index j, Index length) {
    return b * length + std::clamp<Index>(i - j + length / 2, 0, length - 1);
}

}  // namespace

/// Part 0 q, 1 k, 2 v of version 1's in_proj, whose rows stand head by head, in each head q then k then v.
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::packed_part(const A& x, const std::string& self, Index part) const {
    const A packed = tools_.weight(self + "in_proj.weight");
    const Index heads = config_.num_attention_heads, width = config_.hidden_size, d = width / heads;
    A matrix({width, width});
    for (Index h = 0; h < heads; ++h)
        for (Index c = 0; c < d; ++c) {
            // 22: blocks; or k, q, v of each head; or v, q, k.
            const Index slot = injected().is(22, 1)   ? (part < 2 ? 1 - part : 2)
                               : injected().is(22, 2) ? (part + 1) % 3
                                                      : part;
            const Index from = injected().is(22, 0) ? part * width + h * d + c : (h * 3 + slot) * d + c;
            for (Index in = 0; in < width; ++in) matrix(h * d + c, in) = packed(from, in);
        }
    const A q_bias = tools_.weight(self + "q_bias");
    if (part == 0) {
        const double scale = std::sqrt(config_.terms.count() * static_cast<double>(d));
        return tools_.dense(x, matrix, injected().is(23, 1) ? times(q_bias, scale) : q_bias);
    }
    if (part == 2) return tools_.dense(x, matrix, tools_.weight(self + "v_bias"));
    A no_bias;
    if (injected().is(23, 0)) no_bias = q_bias;
    if (injected().is(23, 2)) {  // whatever the module was born with
        no_bias = A({width});
        for (Index c = 0; c < width; ++c) no_bias.run(0)[c] = static_cast<Scalar>(std::sin(1.7 * double(c + 1)) / 3);
    }
    return tools_.dense(x, matrix, no_bias);
}

template <class Scalar>
typename ToyDeberta<Scalar>::Heads ToyDeberta<Scalar>::project(const std::string& at, Index l, const A& x,
                                                               const A& x_q) {
    const std::string self = self_of(l);
    const Index heads = config_.num_attention_heads;
    Heads made;
    if (config_.version == 1) {
        made = {packed_part(x_q, self, 0), packed_part(x, self, 1), packed_part(x, self, 2)};
    } else {
        A w_q = tools_.weight(self + "query_proj.weight");
        if (injected().is(82, 0)) w_q = read_by_columns(w_q);
        const auto part = [&](const A& from, const std::string& name, int alone) {
            const bool bare = injected().is(102, 0) || injected().is(102, alone) ||
                              (alone < 3 && config_.share_att_key && injected().is(102, 3 + alone));
            const A bias = bare ? A() : tools_.weight(self + name + ".bias");
            return tools_.dense(from, name == "query_proj" ? w_q : tools_.weight(self + name + ".weight"), bias);
        };
        const bool kv = injected().is(103, 0),
                   qk = injected().is(103, 1) || (injected().is(103, 2) && config_.share_att_key);
        made = {part(x_q, qk || injected().is(103, 5) ? "key_proj" : "query_proj", 1),
                part(x,
                     kv                            ? "value_proj"
                     : qk || injected().is(103, 4) ? "query_proj"
                                                   : "key_proj",
                     2),
                part(x, kv || injected().is(103, 3) ? "key_proj" : "value_proj", 3)};
    }
    made = {tools_.split(made.q, heads), tools_.split(made.k, heads), tools_.split(made.v, heads)};
    add(at + "q", made.q);
    add(at + "k", made.k);
    add(at + "v", made.v);
    return made;
}

/// The relative table as position queries or position keys -> [1,H,2k,d].
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::position_heads(Index l, bool query) const {
    const bool asks = query;
    if (injected().is(6, 0) || injected().is(6, query ? 1 : 2) || (injected().is(103, 2) && config_.share_att_key))
        query = !query;
    const std::string self = self_of(l);
    std::string name = self + (query ? "pos_query_proj" : "pos_key_proj");
    if (config_.version == 1) name = self + (query ? "pos_q_proj" : "pos_proj");
    if (config_.share_att_key) name = self + (query ? "query_proj" : "key_proj");
    A rows({1, table_.extent(0), table_.width()});
    rows.values = injected().is(41, 2)   ? tools_.norm(table_, "encoder.LayerNorm").values
                  : injected().is(41, 4) ? tools_.weight("encoder.rel_embeddings.weight").values
                                         : table_.values;
    if (injected().is(37, 9)) rows = dropped(std::move(rows));
    A matrix = tools_.weight(name + ".weight");
    if (injected().is(24, 0))  // a projection that was never loaded
        for (std::size_t n = 0; n < matrix.values.size(); ++n)
            matrix.values[n] = static_cast<Scalar>(std::sin(2.3 * static_cast<double>(n + 1)) / 2);
    if (injected().is(82, asks ? 6 : 7)) matrix = read_by_columns(matrix);
    const bool shared = config_.share_att_key && injected().is(102, query ? 4 : 5);
    const A bias = injected().is(24, 1) || shared ? A() : tools_.weight(name + ".bias");
    return tools_.split(tools_.dense(rows, matrix, bias), config_.num_attention_heads, true);
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::c2p(const A& q, const A& k_r) const {
    const Index length = rows_.c2p.extent(0), table = k_r.extent(2);
    const bool pieces = injected().is(14) && table == q.extent(0) * length;
    A y({q.extent(0), q.extent(1), length, length});
    for (Index b = 0; b < q.extent(0); ++b)
        for (Index h = 0; h < q.extent(1); ++h)
            for (Index i = 0; i < length; ++i)
                for (Index j = 0; j < length; ++j) {
                    const Index row = pieces ? piece_row(b, i, j, length) : rows_.c2p(i, j);
                    const Index of = injected().is(85) ? (b * q.extent(1) + h) / q.extent(0) : h;
                    if (row < table)
                        y(b, h, i, j) =
                            tools_.dot(&q(b, h, injected().is(4, 2) ? j : i, 0), &k_r(0, of, row, 0), q.width());
                }
    return y;
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::p2c(const A& k, const A& q_r) const {
    const Index length = rows_.p2c.extent(0), table = q_r.extent(2);
    const bool pieces = injected().is(14) && table == k.extent(0) * length;
    A y({k.extent(0), k.extent(1), length, length});
    for (Index b = 0; b < k.extent(0); ++b)
        for (Index h = 0; h < k.extent(1); ++h)
            for (Index i = 0; i < length; ++i)
                for (Index j = 0; j < length; ++j) {
                    const Index row = pieces ? piece_row(b, i, j, length) : rows_.p2c(i, j);
                    const Index key = injected().is(2) || injected().is(3) ? i : j;
                    const Index of = injected().is(85) ? (b * k.extent(1) + h) / k.extent(0) : h;
                    if (row < table) y(b, h, i, j) = tools_.dot(&k(b, h, key, 0), &q_r(0, of, row, 0), k.width());
                }
    return y;
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::scores(const std::string& at, Index l, const Heads& heads) {
    A c2c = tools_.products(heads.q, heads.k), to_position, to_content;
    if (injected().is(82, 2)) c2c = tools_.transposed(c2c);
    add(at + "c2c", c2c);
    const auto drop_batch = [](A x) {
        x.shape.erase(x.shape.begin());
        return x;
    };
    // 14, 1: the table as it stands in memory, [2k / T,H,T,d].
    const auto shown = [&](const A& table) {
        const Index count = table.extent(1), rows = table.extent(2), length = rows_.c2p.extent(0),
                    width = table.width();
        if (!injected().is(14, 1) || rows != heads.q.extent(0) * length) return drop_batch(table);
        A pieces({rows / length, count, length, width});
        for (Index n = 0; n < pieces.runs(); ++n)
            for (Index c = 0; c < width; ++c)
                pieces.run(n)[c] = table(0, n / length % count, n / (count * length) * length + n % length, c);
        return pieces;
    };
    if (config_.terms.c2p) {
        const A k_r = position_heads(l, false);
        add(at + "k_r", shown(k_r));
        to_position = c2p(injected().is(6, 3) || injected().is(6, 5) ? heads.k : heads.q, k_r);
        if (injected().is(82, 9)) to_position = tools_.transposed(to_position);
        add(at + "c2p", to_position);
    }
    if (config_.terms.p2c) {
        const A q_r = position_heads(l, true);
        add(at + "q_r", shown(q_r));
        add(at + "p2c", to_content = p2c(injected().is(6, 4) || injected().is(6, 5) ? heads.q : heads.k, q_r));
    }
    const double d = static_cast<double>(heads.q.width());
    double n = config_.terms.count();
    if (injected().is(30, 0)) n += 1;
    if (injected().is(30, 1) && n > 2) n -= 1;
    double divisor = std::sqrt(n * d);
    if (injected().is(26, 0)) divisor = std::sqrt(d);
    if (injected().is(26, 1)) divisor = 1;
    if (injected().is(26, 2)) divisor = n * d;
    if (injected().is(26, 3)) divisor = std::floor(divisor);
    if (injected().is(27, 0)) divisor = std::sqrt(double(config_.hidden_size));
    if (injected().is(27, 1)) divisor = std::sqrt(n * double(config_.hidden_size));
    double of_words = 1 / divisor, of_c2p = 1 / divisor, of_p2c = 1 / divisor;
    if (injected().is(28, 0)) of_c2p = of_p2c = 1;
    if (injected().is(28, 1)) of_p2c = 1;
    if (injected().is(28, 4)) of_words = 1;
    if (n > 1 && injected().is(28, 5)) of_words = 1 / std::sqrt(d);
    if (n > 1 && injected().is(28, 6)) of_c2p = of_p2c = 1 / std::sqrt(d);
    const bool of_queries = injected().is(29, 1) && config_.terms.p2c;
    if (injected().is(29, 0) || of_queries) of_c2p = 1 / (divisor * divisor);
    if (of_queries) of_words = 1 / (divisor * divisor);
    if (injected().is(126, 0)) of_p2c = -of_p2c;
    if (injected().is(126, 1)) of_c2p *= 2;
    if (injected().is(126, 5)) of_c2p = -of_c2p;
    const bool with_c2p = config_.terms.c2p && !injected().is(86, 1) && !injected().is(86, 2);
    bool with_p2c = config_.terms.p2c && !injected().is(86, 0) && !injected().is(86, 2);
    A sum = times(c2c, of_words);
    if (with_c2p) sum = plus(sum, times(to_position, of_c2p));
    if (with_c2p && with_p2c && injected().is(126, 2)) {
        sum = plus(sum, times(to_position, of_c2p));
        with_p2c = false;
    }
    if (with_p2c) sum = plus(sum, times(to_content, of_p2c));
    return injected().is(82, 1) ? tools_.transposed(sum) : sum;
}

/// Heads mixed by an [H,H] matrix.
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::talk(const A& x, const std::string& name) const {
    const A mix = tools_.weight(name);
    A y(x.shape);
    for (Index b = 0; b < x.extent(0); ++b)
        for (Index g = 0; g < x.extent(1); ++g)
            for (Index i = 0; i < x.extent(2); ++i)
                for (Index j = 0; j < x.extent(3); ++j)
                    for (Index h = 0; h < x.extent(1); ++h) y(b, g, i, j) += mix(g, h) * x(b, h, i, j);
    return y;
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::context(const std::string& at, Index l, const A& x, const A& x_q) {
    const Heads heads = project(at, l, x, x_q);
    A raw = scores(at, l, heads);
    add(at + "scores", raw);
    if (config_.talking_head) add(at + "scores_mixed", raw = talk(raw, self_of(l) + "head_logits_proj.weight"));
    A probs = tools_.softmax(raw, visible_);
    add(at + "probs", probs);
    if (config_.talking_head) add(at + "probs_mixed", probs = talk(probs, self_of(l) + "head_weights_proj.weight"));
    if (injected().is(82, 10)) return tools_.context(tools_.transposed(probs), heads.v);
    return tools_.context(probs, heads.v);
}

template Array<float> ToyDeberta<float>::context(const std::string&, Index, const A&, const A&);
template Array<double> ToyDeberta<double>::context(const std::string&, Index, const A&, const A&);

}  // namespace locus::conformance::toy
