#include "tests/conformance/toy/toy_transformer_xl.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace locus::conformance::toy {

namespace {

/// Radians per distance of pair t of `half`.
double frequency(Index t, Index half, const Injection& injected) {
    const double base = injected.is(89, 4) ? 1000 : injected.is(89, 5) ? 777 : 10000;
    const double factor = injected.is(90, 3) ? 0.5 : 1;
    if (injected.is(61, 12)) t = t / 2 * 2;
    if (injected.is(61, 14)) ++t;
    double exponent = injected.is(61, 11) ? 0 : static_cast<double>(t) / static_cast<double>(half);
    if (injected.is(61, 2)) exponent *= 2;
    if (injected.is(61, 5)) exponent /= 2;
    if (injected.is(61, 13)) exponent /= 3;
    if (injected.is(61, 3)) exponent = static_cast<double>(t) / static_cast<double>(half - 1);
    if (injected.is(61, 10)) return 1 / std::pow(base, -exponent);
    return factor * std::pow(base, -exponent);
}

/// 119: what a port in bfloat16, or in float16, keeps of a number.
double in_half_precision(double value, const Injection& injected) {
    const auto number = static_cast<float>(value);
    return injected.is(119, 6) ? static_cast<float>(Eigen::half(number)) : static_cast<float>(Eigen::bfloat16(number));
}

}  // namespace

template <class Scalar>
Array<Scalar> sinusoids(const std::vector<Index>& distances, Index width, const Injection& injected) {
    Array<Scalar> rows({static_cast<Index>(distances.size()), width});
    const Index half = width / 2;
    const bool interleaved = injected.is(69, 0), cosine_first = injected.is(60, 1);
    for (Index n = 0; n < rows.runs(); ++n)
        for (Index t = 0; t < half; ++t) {
            const auto kept = [&injected, everything = injected.is(119, 5) || injected.is(119, 6)](double value) {
                return everything ? in_half_precision(value, injected) : value;
            };
            const double distance = kept(static_cast<double>(distances[static_cast<std::size_t>(n)])),
                         angle = kept((injected.is(65, 3) ? -distance : distance) * kept(frequency(t, half, injected)));
            rows(n, interleaved ? 2 * t : cosine_first ? half + t : t) = static_cast<Scalar>(kept(std::sin(angle)));
            rows(n, interleaved ? 2 * t + 1 : cosine_first ? t : half + t) = static_cast<Scalar>(kept(std::cos(angle)));
        }
    return rows;
}

template <class Scalar>
Array<Scalar> token_rows(const Array<Scalar>& x, Index first, Index last) {
    Array<Scalar> y({x.extent(0), last - first, x.width()});
    for (Index b = 0; b < x.extent(0); ++b)
        for (Index t = first; t < last; ++t)
            for (Index c = 0; c < x.width(); ++c) y(b, t - first, c) = x(b, t, c);
    return y;
}

template <class Scalar>
Array<Scalar> after(const Array<Scalar>& memory, const Array<Scalar>& x) {
    if (memory.empty()) return x;
    const Index kept = memory.extent(1);
    Array<Scalar> y({x.extent(0), kept + x.extent(1), x.width()});
    for (Index b = 0; b < x.extent(0); ++b)
        for (Index t = 0; t < y.extent(1); ++t)
            for (Index c = 0; c < x.width(); ++c) y(b, t, c) = t < kept ? memory(b, t, c) : x(b, t - kept, c);
    return y;
}

template <class Scalar>
Array<Scalar> biased(const Array<Scalar>& q, const Array<Scalar>& bias, double factor) {
    Array<Scalar> y = q;
    for (Index b = 0; b < q.extent(0); ++b)
        for (Index h = 0; h < q.extent(1); ++h)
            for (Index i = 0; i < q.extent(2); ++i)
                for (Index c = 0; c < q.width(); ++c) y(b, h, i, c) += static_cast<Scalar>(factor) * bias(h, c);
    return y;
}

template <class Scalar>
void misread(Array<Scalar>& u, Array<Scalar>& v, const Injection& injected) {
    if (injected.is(68, 0)) std::swap(u, v);
    if (injected.is(68, 8)) v = u;
    if (injected.is(68, 9)) u = v;
    if (injected.is(68, 10)) u = times(std::move(u), -1.0);
    if (injected.is(68, 11)) v = times(std::move(v), -1.0);
    if (!injected.is(68, 5) && !injected.is(68, 6)) return;
    for (Array<Scalar>* bias : {&u, &v}) {
        const Array<Scalar> right = *bias;
        const Index heads = bias->extent(0), width = bias->width();
        for (Index h = 0; h < heads; ++h)
            for (Index c = 0; c < width; ++c)
                bias->run(h)[c] = right.values[static_cast<std::size_t>(injected.is(68, 5) ? c * heads + h : c)];
    }
}

double bias_factor(double root, const Injection& injected) {
    if (injected.is(68, 1)) return root;
    if (injected.is(68, 2)) return 0;
    if (injected.is(68, 3)) return 1 / root;
    return injected.is(68, 4) ? -1 : 1;
}

std::string segment_name(std::size_t segment, std::size_t segments) {
    return segments > 1 ? "segment." + std::to_string(segment) + "." : "";
}

template Array<float> sinusoids<float>(const std::vector<Index>&, Index, const Injection&);
template Array<double> sinusoids<double>(const std::vector<Index>&, Index, const Injection&);
template Array<float> token_rows<float>(const Array<float>&, Index, Index);
template Array<double> token_rows<double>(const Array<double>&, Index, Index);
template Array<float> after<float>(const Array<float>&, const Array<float>&);
template Array<double> after<double>(const Array<double>&, const Array<double>&);
template void misread<float>(Array<float>&, Array<float>&, const Injection&);
template void misread<double>(Array<double>&, Array<double>&, const Injection&);
template Array<float> biased<float>(const Array<float>&, const Array<float>&, double);
template Array<double> biased<double>(const Array<double>&, const Array<double>&, double);

namespace {

/// Rows [first, first + count) of a stored matrix.
template <class Scalar>
Array<Scalar> part_of(const Array<Scalar>& matrix, Index first, Index count) {
    Array<Scalar> y({count, matrix.width()});
    for (Index r = 0; r < count; ++r)
        for (Index c = 0; c < matrix.width(); ++c) y(r, c) = matrix(first + r, c);
    return y;
}

// Words in clusters.

Index first_of(const TransformerXlConfig& config, Index cluster) {
    return cluster == 0 ? 0 : config.cutoffs[static_cast<std::size_t>(cluster) - 1];
}

Index cluster_of(const TransformerXlConfig& config, Index word) {
    Index cluster = 0;
    for (const Index end : config.cutoffs) cluster += word >= end ? 1 : 0;
    return cluster;
}

template <class Scalar>
void log_softmax(Scalar* run, Index length) {
    const Scalar most = *std::max_element(run, run + length);
    Scalar sum = 0;
    for (Index w = 0; w < length; ++w) sum += std::exp(run[w] - most);
    for (Index w = 0; w < length; ++w) run[w] -= most + std::log(sum);
}

}  // namespace

template <class Scalar>
ToyTransformerXl<Scalar>::ToyTransformerXl(const TransformerXlConfig& config, const WeightSource& weights,
                                           const ToyOptions& options)
    : config_(config), options_(options), tools_(weights, options_, config.layer_norm_eps) {}

template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::embeddings(const ModelInput& input, const std::string& segment) {
    A x;
    if (config_.own_tables()) {
        x = A({input.batch(), input.length(), config_.d_model});
        for (Index n = 0; n < x.runs(); ++n) {
            const Index cluster = cluster_of(config_, input.tokens[n]);
            const std::string number = std::to_string(cluster);
            const A words = tools_.weight("word_emb.emb_layers." + number + ".weight");
            const A projection = tools_.weight("word_emb.emb_projs." + number);
            const Scalar* word = words.run(input.tokens[n] - first_of(config_, cluster));
            for (Index c = 0; c < x.width(); ++c)
                x.run(n)[c] = tools_.dot(word, projection.run(c), words.width(), 1, 1);
        }
    } else {
        const A words = tools_.weight("word_emb.emb_layers.0.weight");
        x = A({input.batch(), input.length(), words.width()});
        for (Index n = 0; n < x.runs(); ++n)
            for (Index c = 0; c < x.width(); ++c) x.run(n)[c] = words(input.tokens[n], c);
    }
    add(segment + "embeddings.word", x);
    if (!config_.own_tables() && tools_.has("word_emb.emb_projs.0"))
        x = tools_.dense(x, tools_.weight("word_emb.emb_projs.0"), A());
    if (!injected().is(107, 0)) x = times(std::move(x), std::sqrt(static_cast<double>(config_.d_model)));
    if (injected().is(37, 6)) x = times(std::move(x), 0.9);
    add(segment + "embeddings.output", x);
    return x;
}

/// Rows for the distances keys - 1, ..., 1, 0.
template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::positions(Index keys) const {
    std::vector<Index> distances;
    for (Index t = 0; t < keys; ++t) {
        const Index off = injected().is(94, 1) ? 1 : injected().is(94, 2) ? -1 : injected().is(65, 4) ? 500 : 0;
        const Index distance = injected().is(65, 0) ? t : keys - 1 - t + off;
        const Index most = config_.clamp_len + (injected().is(65, 2) ? 1 : 0);
        distances.push_back(config_.clamp_len > 0 && !injected().is(65, 1) ? std::min(distance, most) : distance);
    }
    return sinusoids<Scalar>(distances, config_.d_model, injected());
}

template <class Scalar>
Visible ToyTransformerXl<Scalar>::visible(Index batch, Index queries, Index memory) const {
    const Index keys = memory + queries, beyond = keys - config_.mem_len;
    const Index shift = beyond > 0 ? queries - beyond : queries;
    Visible sees({batch, queries, keys});
    for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) {
                const Index oldest = i - shift + (injected().is(71, 0) ? 0 : 1);
                const Index off = injected().is(71, 1)                           ? -memory
                                  : injected().is(71, 2) || injected().is(71, 4) ? 1
                                  : injected().is(71, 3)                         ? -1
                                                                                 : 0;
                const bool recent = injected().is(71, 6) ? j >= i : j >= oldest || injected().is(71, 5);
                sees(b, i, j) =
                    j <= i + memory + off && (!config_.same_length || recent) && (!injected().is(71, 7) || j >= memory);
            }
    return sees;
}

/// out[i,j] = raw[i, j + (queries - 1 - i)], hidden cells 0.
template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::shifted(const A& raw, const Visible& sees, Index memory) const {
    const Index queries = raw.extent(2), keys = queries + memory, rows = raw.width();
    A y({raw.extent(0), raw.extent(1), queries, keys});
    for (Index at = 0; at < y.runs(); ++at) {
        const Index i = at % queries, b = at / queries / raw.extent(1);
        const Scalar* const matrix = raw.run(at - i);
        for (Index j = 0; j < keys; ++j) {
            if (injected().is(66)) {  // the padded buffer read to its end, never masked
                const Index flat = i * keys + j + queries, column = flat % (keys + 1);
                y.run(at)[j] = column == 0 ? Scalar(0) : matrix[flat / (keys + 1) * rows + column - 1];
                continue;
            }
            if (injected().is(67, 2)) {
                if (sees(b, i, j)) y.run(at)[j] = matrix[i * rows + j];
                continue;
            }
            if (injected().is(105)) {
                if (sees(b, i, j)) y.run(at)[j] = matrix[i * rows + rows - 1 - (j + queries - i - 1)];
                continue;
            }
            if (injected().is(67, 4)) {
                const Index flat = queries + i * rows + j;
                if (sees(b, i, j) && flat < queries * rows) y.run(at)[j] = matrix[flat];
                continue;
            }
            const Index behind = injected().is(67, 0) ? 0 : injected().is(67, 3) ? 2 : 1;
            const Index from = i * rows + j + queries - i - behind;
            if (from < i * rows) continue;
            if (injected().is(71) && from >= (i + 1) * rows) {  // beyond the row
                if (sees(b, i, j) && injected().is(71, 4)) y.run(at)[j] = matrix[(i + 1) * rows - 1];
                continue;
            }
            if (sees(b, i, j) && from < queries * rows) y.run(at)[j] = matrix[from];
        }
    }
    return y;
}

template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::context(Index l, const std::string& at, const A& both, const A& own, const A& r,
                                                const Visible& sees) {
    const std::string names = "layers." + std::to_string(l) + ".dec_attn.";
    const Index heads = config_.n_head, width = heads * config_.d_head;
    A qkv = tools_.weight(names + "qkv_net.weight");
    if (injected().is(22, 3)) {  // rows that stand block by block, taken head by head
        const A stored = qkv;
        for (Index part = 0; part < 3; ++part)
            for (Index h = 0; h < heads; ++h)
                for (Index c = 0; c < config_.d_head; ++c)
                    for (Index in = 0; in < qkv.width(); ++in)
                        qkv(part * width + h * config_.d_head + c, in) =
                            stored((h * 3 + part) * config_.d_head + c, in);
    }
    const bool qk = injected().is(103, 1);
    const bool q_by_k = qk || injected().is(103, 5);
    const A q = tools_.split(tools_.dense(own, part_of(qkv, q_by_k ? width : 0, width), A()), heads);
    const bool k_by_q = qk || injected().is(103, 4);
    const Index of_keys = injected().is(103, 0) ? 2
                          : k_by_q              ? 0
                                                : 1,
                of_values = injected().is(103, 0) || injected().is(103, 3) ? 1 : 2;
    const A k = tools_.split(tools_.dense(both, part_of(qkv, of_keys * width, width), A()), heads);
    const A v = tools_.split(tools_.dense(both, part_of(qkv, of_values * width, width), A()), heads);
    A rows({1, r.extent(0), r.width()});
    rows.values = r.values;
    const A r_k = tools_.split(tools_.dense(rows, tools_.weight(names + "r_net.weight"), A()), heads, true);
    A shown = r_k;
    shown.shape.erase(shown.shape.begin());
    add(at + "q", q);
    add(at + "k", k);
    add(at + "v", v);
    add(at + "r_k", shown);
    const std::string biases = !config_.untie_r ? "" : injected().is(106) ? "layers.0.dec_attn." : names;
    A u = tools_.weight(biases + "r_w_bias"), w = tools_.weight(biases + "r_r_bias");
    misread(u, w, injected());
    const double root = std::sqrt(static_cast<double>(config_.d_head));
    const double factor = bias_factor(root, injected());
    const bool to_keys = injected().is(68, 7);
    const A ac = to_keys ? tools_.products(q, biased(k, u, 1)) : tools_.products(biased(q, u, factor), k);
    const A asked = to_keys ? q : biased(q, w, factor), answering = to_keys ? biased(r_k, w, 1) : r_k;
    A raw({q.extent(0), heads, q.extent(2), r.extent(0)});
    for (Index n = 0; n < raw.runs(); ++n)
        for (Index t = 0; t < raw.width(); ++t)
            raw.run(n)[t] = tools_.dot(asked.run(n), &answering(0, n / q.extent(2) % heads, t, 0), q.width());
    const A bd = shifted(raw, sees, k.extent(2) - q.extent(2));
    add(at + "ac", ac);
    add(at + "bd_raw", raw);
    add(at + "bd", bd);
    const double of_bd = injected().is(28, 3) ? root : injected().is(126, 3) ? -1 : injected().is(126, 4) ? 2 : 1;
    A scores = injected().is(86, 3) ? ac : plus(injected().is(28, 7) ? times(ac, root) : ac, times(bd, of_bd));
    double divisor = injected().is(27) ? std::sqrt(static_cast<double>(config_.d_model)) : root;
    if (injected().is(26, 2)) divisor = root * root;
    if (!injected().is(26, 1)) scores = times(std::move(scores), 1 / divisor);
    add(at + "scores", scores);
    const A probs = tools_.softmax(scores, injected().is(66) ? Visible() : sees);
    add(at + "probs", probs);
    const A joined = tools_.context(probs, v);
    add(at + "context", joined);
    return tools_.dense(joined, tools_.weight(names + "o_net.weight"), A());
}

template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::layer(Index l, const std::string& at, const A& x, const A& memory, const A& r,
                                              const Visible& sees) {
    const std::string names = "layers." + std::to_string(l) + ".";
    const std::string first = names + "dec_attn.layer_norm", second = names + "pos_ff.layer_norm";
    const bool norm_first = config_.pre_lnorm != injected().is(43, 0);
    // The norm in front of part 0, attention, or part 1, the feed-forward part.
    const auto in_front = [&](const A& rows, int part) {
        if (!norm_first || rows.empty() || injected().is(101, 6) || injected().is(101, 7 + part)) return rows;
        const bool other = injected().is(123, 5) || injected().is(123, 6 + part);
        return tools_.norm(rows, (part == 0) != other ? first : second);
    };
    const A own = in_front(x, 0), remembered = injected().is(70, 6) ? memory : in_front(memory, 0);
    const A both = injected().is(70, 5) && !memory.empty() ? after(own, remembered) : after(remembered, own);
    const A attention = tools_.merged(context(l, at, both, own, r, sees), x, x, {first, second}, true, norm_first);
    add(at + "attention", attention);
    A act = tools_.activated(tools_.dense(in_front(attention, 1), names + "pos_ff.CoreNet.0", norm_first ? 9 : 1),
                             injected().is(99, 4)   ? Activation::gelu
                             : injected().is(99, 5) ? Activation::gelu_tanh
                                                    : Activation::relu);
    if (injected().is(37, 12)) act = dropped(std::move(act));
    add(at + "ffn_act", act);
    A ffn = tools_.dense(act, names + "pos_ff.CoreNet.3", 2);
    if (injected().is(37, 5)) ffn = times(std::move(ffn), 0.9);
    if (injected().is(99, 9)) ffn = tools_.activated(std::move(ffn), Activation::relu);
    add(at + "ffn", ffn);
    const A output = tools_.merged(ffn, attention, x, {first, second}, false, norm_first);
    add(at + "output", injected().is(51) ? x : output);
    return output;
}

/// The newest mem_len rows of what was remembered and what was seen.
template <class Scalar>
void ToyTransformerXl<Scalar>::remember(const std::vector<A>& hidden, Index queries, const std::string& segment) {
    if (config_.mem_len == 0) return;
    const Index before = memory_.empty() ? 0 : memory_.front().extent(1);
    const Index last = before + std::max<Index>(0, queries - config_.ext_len);
    const Index first = std::max<Index>(0, last - config_.mem_len);
    std::vector<A> kept;
    for (std::size_t l = 0; l < hidden.size(); ++l) {
        const A& stored = hidden[injected().is(70, 0) ? std::min(l + 1, hidden.size() - 1) : l];
        const bool front = injected().is(70, 1), turned = injected().is(70, 7) && before > 0;
        const A all = turned ? after(stored, memory_[l]) : after(memory_.empty() ? A() : memory_[l], stored);
        kept.push_back(token_rows(all, front ? 0 : first, front ? last - first : last));
        if (injected().is(70, 8) && before > 0)
            kept.back() = token_rows(stored, std::max<Index>(0, queries - (last - first)), queries);
        add(segment + "memory." + std::to_string(l), kept.back());
    }
    memory_ = std::move(kept);
}

/// x against the words [first, last) of one table, after its projection.
template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::scores_of_words(const A& x, Index cluster, Index first, Index last) const {
    const bool own = config_.own_tables();
    const bool tied = injected().is(113, 2) || config_.tied_projections[static_cast<std::size_t>(cluster)];
    const std::string table = std::to_string(own ? cluster : 0);
    std::string projection = "crit.out_projs." + std::to_string(cluster);
    if (tied || !tools_.has(projection)) projection = "word_emb.emb_projs." + table;
    A rows = x;
    if (own || config_.d_embed != config_.d_model) {
        const A matrix = tools_.weight(projection);
        rows = A({x.extent(0), x.extent(1), matrix.width()});
        for (Index n = 0; n < rows.runs(); ++n)
            for (Index e = 0; e < rows.width(); ++e)
                rows.run(n)[e] = tools_.dot(x.run(n), &matrix(0, e), x.width(), 1, matrix.width());
    }
    A words = tools_.weight(config_.tied_output ? "word_emb.emb_layers." + table + ".weight"
                                                : "crit.out_layers." + table + ".weight");
    A bias = tools_.weight("crit.out_layers." + table + ".bias");
    words.values.assign(words.run(first), words.run(last - 1) + words.width());
    words.shape.front() = last - first;
    bias.values.assign(&bias(first), &bias(last - 1) + 1);
    bias.shape.front() = last - first;
    if (cluster == 0 && !config_.cutoffs.empty()) {  // the other clusters are words of the first
        const A others = tools_.weight("crit.cluster_weight"), more = tools_.weight("crit.cluster_bias");
        words.values.insert(words.values.end(), others.values.begin(), others.values.end());
        bias.values.insert(bias.values.end(), more.values.begin(), more.values.end());
        words.shape.front() += others.extent(0);
        bias.shape.front() += others.extent(0);
    }
    return tools_.dense(rows, words, injected().is(52, 3) ? A() : bias);
}

template <class Scalar>
Array<Scalar> ToyTransformerXl<Scalar>::adaptive_softmax(const A& x, const std::string& segment) {
    const Index others = static_cast<Index>(config_.cutoffs.size()), first = config_.cutoffs.front();
    A choice = scores_of_words(x, 0, 0, first);
    for (Index n = 0; n < choice.runs(); ++n) log_softmax(choice.run(n), choice.width());
    A clusters({x.extent(0), x.extent(1), others}), logits({x.extent(0), x.extent(1), config_.vocab_size});
    const bool from_the_end = options_.hugging_face == injected().is(113, 0);
    for (Index n = 0; n < choice.runs(); ++n) {
        for (Index c = 0; c < others; ++c)
            clusters.run(n)[c] = choice.run(n)[first + (from_the_end ? others - 1 - c : c)];
        std::copy(choice.run(n), choice.run(n) + first, logits.run(n));
    }
    add(segment + "lm.clusters", clusters);
    for (Index c = 1; c <= others; ++c) {
        const Index begin = first_of(config_, c), end = c < others ? first_of(config_, c + 1) : config_.vocab_size;
        A tail = config_.own_tables() ? scores_of_words(x, c, 0, end - begin) : scores_of_words(x, c, begin, end);
        for (Index n = 0; n < tail.runs(); ++n) {
            log_softmax(tail.run(n), tail.width());
            const Scalar often = injected().is(113, 1) ? 0 : injected().is(113, 4) ? 2 : 1;
            const Scalar choice_of = clusters.run(n)[injected().is(113, 5) ? 0 : c - 1];
            for (Index w = begin; w < end; ++w) logits.run(n)[w] = tail.run(n)[w - begin] + often * choice_of;
        }
    }
    return logits;
}

template <class Scalar>
void ToyTransformerXl<Scalar>::head(const ModelInput& input, const A& x, const std::string& segment) {
    const A logits =
        config_.cutoffs.empty() ? scores_of_words(x, 0, 0, config_.vocab_size) : adaptive_softmax(x, segment);
    add(segment + "lm.logits", logits);
    if (input.labels.empty()) return;
    A loss({x.extent(0), x.extent(1)});
    for (Index n = 0; n < logits.runs(); ++n) {
        const Index next = injected().is(52, 9) && (n + 1) % x.extent(1) != 0 ? n + 1 : n;
        const auto target = static_cast<Index>((injected().is(52, 8) ? input.tokens : input.labels)[next]);
        loss.values[static_cast<std::size_t>(n)] = config_.cutoffs.empty()
                                                       ? surprise(logits.run(n), logits.width(), target)
                                                       : -logits.run(n)[target];  // log-probabilities already
    }
    if (injected().is(113, 3) && !config_.cutoffs.empty()) {  // [T,B], cluster by cluster
        A sorted = loss;
        Index next = 0;
        const Index batch = x.extent(0);
        for (Index cluster = 0; cluster <= static_cast<Index>(config_.cutoffs.size()); ++cluster)
            for (Index t = 0; t < x.extent(1); ++t)
                for (Index b = 0; b < batch; ++b)
                    if (cluster_of(config_, input.labels[b * x.extent(1) + t]) == cluster) {
                        sorted(next % batch, next / batch) = loss(b, t);
                        ++next;
                    }
        loss = sorted;
    }
    add(segment + "lm.loss", loss);
}

template <class Scalar>
void ToyTransformerXl<Scalar>::run_segment(const ModelInput& input, const std::string& segment) {
    const Index queries = input.length(), before = memory_.empty() ? 0 : memory_.front().extent(1);
    std::vector<A> hidden = {embeddings(input, segment)};
    const A r = injected().is(37, 11) ? dropped(positions(before + queries)) : positions(before + queries);
    add(segment + "positions.r", r);
    const Visible sees = visible(input.batch(), queries, before);
    const auto read = [&](Index l) {  // 70: another layer's
        if (injected().is(70, 2)) return l + 1;
        if (injected().is(70, 3)) return std::max<Index>(l - 1, 0);
        return injected().is(70, 4) ? 0 : l;
    };
    for (Index l = 0; l < config_.n_layer; ++l)
        hidden.push_back(layer(l, segment + "layer." + std::to_string(l) + ".", hidden.back(),
                               memory_.empty() ? A() : memory_[static_cast<std::size_t>(read(l))], r, sees));
    remember(hidden, queries, segment);
    head(input, hidden.back(), segment);
}

template <class Scalar>
Trace ToyTransformerXl<Scalar>::run(const std::vector<ModelInput>& segments) {
    if (options_.hugging_face && config_.mem_len > 0)
        memory_.assign(static_cast<std::size_t>(config_.n_layer) + 1,
                       A({segments.front().batch(), config_.mem_len, config_.d_model}));
    for (std::size_t s = 0; s < segments.size(); ++s) run_segment(segments[s], segment_name(s, segments.size()));
    return std::move(trace_);
}

template class ToyTransformerXl<float>;
template class ToyTransformerXl<double>;

}  // namespace locus::conformance::toy
