// One stream of XLNet through attention and feed-forward.
#include <algorithm>
#include <cmath>

#include "tests/conformance/toy/toy_xlnet.h"

namespace locus::conformance::toy {

/// A kernel stored [D,H,d], as a matrix [H*d,D].
template <class Scalar>
Array<Scalar> ToyXlnet<Scalar>::kernel(const std::string& name) const {
    const A stored = tools_.weight(name);
    const Index in = stored.extent(0), out = stored.extent(1) * stored.extent(2);
    A matrix({out, in});
    for (Index r = 0; r < in; ++r)
        for (Index c = 0; c < out; ++c) matrix(c, r) = stored.values[static_cast<std::size_t>(r * out + c)];
    return matrix;
}

template <class Scalar>
Array<Scalar> ToyXlnet<Scalar>::projected(const A& x, const std::string& name) const {
    return tools_.dense(x, kernel(name), A());
}

/// Rows of a mask for the tokens that the rows of a stream stand for; nothing is seen by an unused row.
template <class Scalar>
Visible ToyXlnet<Scalar>::rows_of(const Visible& sees, const std::vector<std::vector<Index>>& tokens) const {
    const Index batch = sees.extent(0), keys = sees.width(), rows = static_cast<Index>(tokens.front().size());
    Visible y({batch, rows, keys});
    for (Index b = 0; b < batch; ++b)
        for (Index p = 0; p < rows; ++p) {
            const Index token = tokens[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)];
            for (Index j = 0; j < keys && token >= 0; ++j) y(b, p, j) = sees(b, token, j);
        }
    return y;
}

/// raw = (q + r_r_bias) r_k; bd[i,j] = raw[i, j + T - i], hidden cells 0.
template <class Scalar>
void ToyXlnet<Scalar>::position_term(const A& asked, const Asked& who, Index l, A& raw, A& bd) const {
    const std::string names = "layer." + std::to_string(l) + ".rel_attn.";
    const Index batch = asked.extent(0), heads = asked.extent(1), rows = asked.extent(2), keys = who.sees.width();
    const Index length = keys - (memory_.empty() ? 0 : memory_.front().extent(1));
    raw = A({batch, heads, rows, r_.extent(0)});
    bd = A({batch, heads, rows, keys});
    for (Index b = 0; b < batch; ++b) {
        const bool backward = config_.bi_data && b >= batch / 2;
        A one({1, r_.extent(0), r_.width()});
        one.values = backward ? r_backward_.values : r_.values;
        const A r_k = tools_.split(projected(one, names + "r"), heads, true);
        for (Index h = 0; h < heads; ++h)
            for (Index p = 0; p < rows; ++p) {
                const Index i = who.tokens[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)];
                if (i < 0) continue;
                for (Index t = 0; t < raw.width(); ++t)
                    raw(b, h, p, t) = tools_.dot(&asked(b, h, p, 0), &r_k(0, h, t, 0), asked.width());
                // Number `flat` of the buffer that holds the rows of all queries.
                const auto number = [&](Index flat) {
                    const Index row = flat / raw.width();
                    const A bias = tools_.weight(names + "r_r_bias");  // a query that is no target is 0
                    Scalar value =
                        row < length ? tools_.dot(&bias(h, 0), &r_k(0, h, flat % raw.width(), 0), bias.width()) : 0;
                    for (Index other = 0; other < rows; ++other)
                        if (who.tokens[static_cast<std::size_t>(b)][static_cast<std::size_t>(other)] == row)
                            value =
                                tools_.dot(&asked(b, h, other, 0), &r_k(0, h, flat % raw.width(), 0), asked.width());
                    return value;
                };
                for (Index j = 0; j < keys && injected().is(67, 1); ++j)
                    // Rows of the folded buffer are sliced to as many as there are keys, then it is unfolded.
                    if (who.sees(b, p, j)) bd(b, h, p, j) = number(length + i * keys + j);
                for (Index j = 0; j < keys && injected().is(67, 5); ++j)
                    if (who.sees(b, p, j)) bd(b, h, p, j) = number(i * raw.width() + j + length - i + 1);
                for (Index j = 0; j < keys && !injected().is(67, 1) && !injected().is(67, 5); ++j) {
                    const Index right = j + length - i - (injected().is(67, 0) ? 1 : injected().is(67, 3) ? -1 : 0);
                    const Index from = injected().is(105) ? raw.width() - 1 - right : right;
                    if (who.sees(b, p, j) && from < raw.width()) bd(b, h, p, j) = raw(b, h, p, from);
                }
            }
    }
}

/// ef[i,j] = (q_i + r_s_bias) . seg_embed[i and j differ]; memory has segment 0.
template <class Scalar>
Array<Scalar> ToyXlnet<Scalar>::segment_term(const A& q, const Asked& who, Index l, Index keys,
                                             const ModelInput& input) const {
    const std::string names = "layer." + std::to_string(l) + ".rel_attn.";
    const std::string biases = injected().is(106) ? "layer.0.rel_attn." : names;
    const A table = tools_.weight(names + "seg_embed"), bias = tools_.weight(biases + "r_s_bias");  // [2,H,d], [H,d]
    const A asked = biased(q, bias, injected().is(76, 2) ? 0 : 1);
    const Index length = input.length(), memory = keys - length;
    A y({q.extent(0), q.extent(1), q.extent(2), keys});
    for (Index b = 0; b < q.extent(0); ++b)
        for (Index p = 0; p < q.extent(2); ++p) {
            const Index i = who.tokens[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)];
            for (Index j = 0; j < keys && i >= 0; ++j) {
                const auto remembered = injected().is(76, 1) ? 1 : 0;
                const auto own = input.token_types[b * length + i];
                bool differs = own != (j < memory ? remembered : input.token_types[b * length + j - memory]);
                if (injected().is(76, 0)) differs = !differs;
                if (injected().is(76, 4)) differs = false;
                for (Index h = 0; h < q.extent(1); ++h)
                    if (!injected().is(76, 3))
                        y(b, h, p, j) = tools_.dot(&asked(b, h, p, 0), &table(differs ? 1 : 0, h, 0), q.width());
            }
        }
    return y;
}

template <class Scalar>
Array<Scalar> ToyXlnet<Scalar>::after_attention(Index l, const std::string& at, const A& joined, const A& residual) {
    const std::string names = "layer." + std::to_string(l) + ".";
    A o = tools_.weight(names + "rel_attn.o");  // [D,H,d]: out first
    o.shape = {o.extent(0), o.extent(1) * o.extent(2)};
    const A dense = tools_.dense(joined, o, A());
    const LayerNorms norms = {names + "rel_attn.layer_norm", names + "ff.layer_norm"};
    const A attention = tools_.merged(dense, residual, joined, norms, true, false);
    add(at + "attention", attention);
    A act = tools_.activated(tools_.dense(attention, names + "ff.layer_1", 1), config_.ff_activation);
    if (injected().is(99, 16)) act = tools_.activated(std::move(act), config_.ff_activation);
    if (injected().is(37, 12)) act = dropped(std::move(act));
    add(at + "ffn_act", act);
    A ffn = tools_.dense(act, names + "ff.layer_2", 2);
    if (injected().is(37, 5)) ffn = times(std::move(ffn), 0.9);
    if (injected().is(99, 9)) ffn = tools_.activated(std::move(ffn), config_.ff_activation);
    add(at + "ffn", ffn);
    return tools_.merged(ffn, attention, residual, norms, false, false);
}

template <class Scalar>
Array<Scalar> ToyXlnet<Scalar>::stream(Index l, const std::string& at, const Asked& asked, const A& k, const A& v,
                                       const ModelInput& input, const A& residual) {
    const std::string names = "layer." + std::to_string(l) + ".rel_attn.";
    const bool by_keys = injected().is(103, 1) || injected().is(103, 5);
    A q = tools_.split(projected(asked.rows, names + (by_keys ? "k" : "q")), config_.n_head);
    // Rows that stand for no token stay 0 up to the context.
    const auto clear = [&](A& x) {
        for (Index b = 0; b < x.extent(0); ++b)
            for (Index p = 0; p < x.extent(2); ++p)
                for (Index h = 0; h < x.extent(1); ++h)
                    for (Index c = 0; c < x.width(); ++c)
                        if (asked.tokens[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)] < 0)
                            x(b, h, p, c) = 0;
    };
    clear(q);
    add(at + "q", q);
    const std::string biases = injected().is(106) ? "layer.0.rel_attn." : names;
    A u = tools_.weight(biases + "r_w_bias"), w = tools_.weight(biases + "r_r_bias");
    misread(u, w, injected());
    const double root = std::sqrt(static_cast<double>(config_.d_head));
    const double factor = bias_factor(root, injected());
    A ac = tools_.products(biased(q, u, factor), k), raw, bd;
    clear(ac);
    add(at + "ac", ac);
    position_term(biased(q, w, factor), asked, l, raw, bd);
    add(at + "bd_raw", raw);
    add(at + "bd", bd);
    const double of_bd = injected().is(28, 3) ? root : injected().is(126, 3) ? -1 : injected().is(126, 4) ? 2 : 1;
    const double of_words = injected().is(28, 7) ? root : 1;
    A scores = injected().is(86, 3) ? ac : plus(times(ac, of_words), times(bd, of_bd));
    if (!input.token_types.empty()) {
        const A ef = segment_term(q, asked, l, k.extent(2), input);
        add(at + "ef", ef);
        scores = plus(std::move(scores), times(ef, of_words));
    }
    double divisor = injected().is(27) ? std::sqrt(static_cast<double>(config_.d_model)) : root;
    if (injected().is(26, 2)) divisor = root * root;
    if (!injected().is(26, 1)) scores = times(std::move(scores), 1 / divisor);
    add(at + "scores", scores);
    if (injected().is(35, 1)) {  // hidden cells of bd hold what the shift left when the weak constant is added
        Asked everything = asked;
        std::fill(everything.sees.values.begin(), everything.sees.values.end(), char(1));
        A unmasked;
        position_term(biased(q, w, factor), everything, l, raw, unmasked);
        scores = plus(std::move(scores), times(plus(std::move(unmasked), times(bd, -1)), 1 / divisor));
    }
    A probs = tools_.softmax(scores, asked.sees);
    clear(probs);
    add(at + "probs", probs);
    const A joined = tools_.context(probs, v);
    add(at + "context", joined);
    const A output = after_attention(l, at, joined, residual);
    add(at + "output", output);
    return output;
}

template Array<float> ToyXlnet<float>::projected(const A&, const std::string&) const;
template Visible ToyXlnet<float>::rows_of(const Visible&, const std::vector<std::vector<Index>>&) const;
template Array<float> ToyXlnet<float>::stream(Index, const std::string&, const Asked&, const A&, const A&,
                                              const ModelInput&, const A&);
template Array<double> ToyXlnet<double>::projected(const A&, const std::string&) const;
template Visible ToyXlnet<double>::rows_of(const Visible&, const std::vector<std::vector<Index>>&) const;
template Array<double> ToyXlnet<double>::stream(Index, const std::string&, const Asked&, const A&, const A&,
                                                const ModelInput&, const A&);

}  // namespace locus::conformance::toy
