// XLNet in plain loops: masks and targets of its two streams, positions, segments.
#include "tests/conformance/toy/toy_xlnet.h"

#include <algorithm>
#include <numeric>

namespace locus::conformance::toy {

namespace {

/// 72, 1: the same among the targets alone, counted from the first of them in the text; all other tokens are seen.
std::vector<char> hidden_by_partial_order(std::vector<char> hidden, Index length) {
    std::vector<Index> targets;
    for (Index t = 0; t < length; ++t)
        if (hidden[static_cast<std::size_t>(t * length + t)] != 0) targets.push_back(t);
    const auto cell = [&](Index i, Index j) -> char& { return hidden[static_cast<std::size_t>(i * length + j)]; };
    std::vector<Index> order(targets.size());
    for (std::size_t n = 0; n < targets.size(); ++n) {
        std::size_t seen = 0;
        for (const Index other : targets) seen += cell(targets[n], other) == 0;
        order[seen] = static_cast<Index>(n);
    }
    for (std::size_t a = 0; a < targets.size(); ++a)
        for (std::size_t b = 0; b < targets.size(); ++b) cell(targets[a], targets[b]) = order[b] >= order[a];
    return hidden;
}

/// perm_mask of sample b; mistake 72: where it says a whole order, that order is taken for ranks.
std::vector<char> hidden_by_order(const ModelInput& input, Index b, const Injection& injected) {
    const Index length = input.length();
    std::vector<char> hidden(static_cast<std::size_t>(length * length), 0);
    if (input.perm_mask.empty()) return hidden;
    for (std::size_t n = 0; n < hidden.size(); ++n)
        hidden[n] = static_cast<char>(input.perm_mask[b * length * length + static_cast<Index>(n)]);
    if (injected.is(72, 3)) return std::vector<char>(hidden.size(), 0);
    if (injected.is(72, 5))
        for (char& hides : hidden) hides = hides == 0;
    if (injected.is(72, 2)) {
        std::vector<char> turned = hidden;
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j)
                turned[static_cast<std::size_t>(i * length + j)] = hidden[static_cast<std::size_t>(j * length + i)];
        return turned;
    }
    if (!injected.is(72) || injected.is(72, 4) || injected.is(72, 5) || injected.is(72, 6)) return hidden;
    if (injected.is(72, 1)) return hidden_by_partial_order(hidden, length);
    // The token that sees t others is the t-th of the order.
    std::vector<Index> order(static_cast<std::size_t>(length), -1);
    for (Index i = 0; i < length; ++i) {
        const auto row = hidden.begin() + i * length;
        const auto seen = static_cast<std::size_t>(std::count(row, row + length, 0));
        if (seen >= order.size() || order[seen] >= 0) return hidden;
        order[seen] = i;
    }
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j)
            hidden[static_cast<std::size_t>(i * length + j)] =
                order[static_cast<std::size_t>(j)] >= order[static_cast<std::size_t>(i)];
    return hidden;
}

/// Tokens of the target rows, from one-hot rows [P,T]; -1 where a row is empty.
std::vector<Index> targets_of(const IndexTensor& mapping, Index b, const Injection& injected) {
    const Index targets = mapping.extent(1), length = mapping.extent(2);
    std::vector<Index> tokens;
    for (Index p = 0; p < targets; ++p) {
        Index token = -1;
        for (Index t = 0; t < length; ++t) {
            if (injected.is(75, 2) && t == p) token = t;
            if (injected.is(75, 2)) continue;
            const Index at = injected.is(75, 0) ? t * targets + p : p * length + t;  // 75: the buffer read as [T,P]
            if (mapping[b * targets * length + at] != 0) token = t;
        }
        tokens.push_back(token);
    }
    return tokens;
}

}  // namespace

XlnetPlan plan_of(const XlnetConfig& config, const ModelInput& input, Index memory, const Injection& injected) {
    const Index batch = input.batch(), length = input.length(), keys = memory + length;
    const bool causal = config.direction == Direction::unidirectional || injected.is(95, 2);
    XlnetPlan plan;
    plan.content = plan.query = Visible({batch, length, keys});
    for (Index b = 0; b < batch; ++b) {
        const std::vector<char> hidden = hidden_by_order(input, b, injected);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < keys; ++j) {
                const Index token = j - memory;
                bool hides = token >= 0 && hidden[static_cast<std::size_t>(i * length + token)] != 0;
                hides = hides || (token >= 0 && !input.input_mask.empty() && !injected.is(72, 4) &&
                                  (input.input_mask[b * length + token] != 0) != injected.is(72, 6));
                hides = hides || (causal && token > i);
                hides = hides || (causal && config.same_length && !injected.is(71, 5) && j < length &&
                                  (j < i || (injected.is(71) && j == i)));
                const bool self = token == i;
                plan.query(b, i, j) = !hides || (self && (injected.is(73, 1) || injected.is(73, 2)));
                plan.content(b, i, j) = !hides || (self && !injected.is(73, 0) && !injected.is(73, 2));
            }
        if (!input.target_mapping.empty()) plan.targets.push_back(targets_of(input.target_mapping, b, injected));
    }
    return plan;
}

template <class Scalar>
ToyXlnet<Scalar>::ToyXlnet(const XlnetConfig& config, const WeightSource& weights, const ToyOptions& options)
    : config_(config), options_(options), tools_(weights, options_, config.layer_norm_eps) {}

/// Words for h; the one trainable vector in every target row for g.
template <class Scalar>
typename ToyXlnet<Scalar>::Streams ToyXlnet<Scalar>::start(const ModelInput& input, const XlnetPlan& plan,
                                                           const std::string& segment) {
    const Index length = input.length(), width = config_.d_model;
    const A words = tools_.weight("word_embedding.weight"), vector = tools_.weight("mask_emb");
    Streams x;
    x.h = A({input.batch(), length, width});
    for (Index n = 0; n < x.h.runs(); ++n)
        for (Index c = 0; c < width; ++c) x.h.run(n)[c] = words(input.tokens[n], c);
    add(segment + "embeddings.word", x.h);
    if (injected().is(37, 6)) x.h = times(std::move(x.h), 0.9);
    if (injected().is(107, 1)) x.h = times(std::move(x.h), std::sqrt(static_cast<double>(width)));
    add(segment + "embeddings.output", x.h);
    if (plan.targets.empty()) return x;
    const auto targets = static_cast<Index>(plan.targets.front().size());
    x.g = A({input.batch(), targets, width});
    for (Index n = 0; n < x.g.runs(); ++n) {
        const Index token = plan.targets[static_cast<std::size_t>(n / targets)][static_cast<std::size_t>(n % targets)];
        const Index row = std::max<Index>(token, 0);
        const A place = sinusoids<Scalar>({row}, width, Injection{});
        for (Index c = 0; c < width; ++c) {
            x.g.run(n)[c] = injected().is(74, 0) ? x.h(n / targets, row, c) : vector(0, 0, c);
            if (injected().is(74, 1)) x.g.run(n)[c] += place(0, c);
            if (injected().is(74, 2)) x.g.run(n)[c] = 0;
        }
    }
    return x;
}

/// Rows for the distances keys, keys - 1, ..., 1 - queries, or to 0 where no query looks ahead.
template <class Scalar>
void ToyXlnet<Scalar>::make_positions(Index queries, Index keys, const std::string& segment) {
    const Index last = config_.direction == Direction::bidirectional ? 1 - queries : 0;
    const auto rows = [&](int sign) {
        std::vector<Index> distances;
        for (Index distance = keys; distance >= last; --distance) {
            const Index off = injected().is(94, 1) ? 1 : injected().is(94, 2) ? -1 : injected().is(65, 4) ? 500 : 0;
            const Index signed_distance = sign * (distance + off);
            const Index most = config_.clamp_len + (injected().is(65, 2) ? 1 : 0);
            distances.push_back(config_.clamp_len > 0 && !injected().is(65, 1)
                                    ? std::clamp(signed_distance, -most, most)
                                    : signed_distance);
        }
        if (injected().is(65, 0)) std::reverse(distances.begin(), distances.end());
        const A right = sinusoids<Scalar>(distances, config_.d_model, injected());
        return injected().is(37, 11) ? dropped(right) : right;
    };
    add(segment + "positions.r", r_ = rows(1));
    if (config_.bi_data) add(segment + "positions.r_backward", r_backward_ = rows(injected().is(77) ? 1 : -1));
}

template <class Scalar>
typename ToyXlnet<Scalar>::Streams ToyXlnet<Scalar>::layer(Index l, const std::string& at, const Streams& x,
                                                           const A& memory, const XlnetPlan& plan,
                                                           const ModelInput& input) {
    const std::string names = "layer." + std::to_string(l) + ".rel_attn.";
    const Index heads = config_.n_head;
    const A both = injected().is(70, 5) && !memory.empty() ? after(x.h, memory) : after(memory, x.h);
    const bool exchanged = injected().is(103, 0);
    const bool by_queries = injected().is(103, 1) || injected().is(103, 4);
    const A k = tools_.split(projected(both, names + (exchanged    ? "v"
                                                      : by_queries ? "q"
                                                                   : "k")),
                             heads),
            v = tools_.split(projected(both, names + (exchanged || injected().is(103, 3) ? "k" : "v")), heads);
    add(at + "k", k);
    add(at + "v", v);
    const auto show_positions = [&](const A& rows, const char* stem) {
        A one({1, rows.extent(0), rows.width()});
        one.values = rows.values;
        A r_k = tools_.split(projected(one, names + "r"), heads, true);
        r_k.shape.erase(r_k.shape.begin());
        add(at + stem, r_k);
    };
    show_positions(r_, "r_k");
    if (config_.bi_data) show_positions(r_backward_, "r_k_backward");
    std::vector<Index> all;
    for (Index t = 0; t < input.length(); ++t) all.push_back(t);
    const Asked content{x.h, std::vector<std::vector<Index>>(static_cast<std::size_t>(input.batch()), all),
                        plan.content};
    Streams y;
    y.h = stream(l, at, content, k, v, input, x.h);
    if (plan.targets.empty()) return y;
    A residual = x.g;
    if (injected().is(75, 1))
        for (Index b = 0; b < residual.extent(0); ++b)
            for (Index p = 0; p < residual.extent(1); ++p)
                for (Index c = 0; c < residual.width(); ++c) {
                    const Index token = plan.targets[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)];
                    residual(b, p, c) = token < 0 ? Scalar(0) : x.h(b, token, c);
                }
    const Asked query{x.g, plan.targets, rows_of(plan.query, plan.targets)};
    const bool of_g = injected().is(128, 1) && x.g.shape == x.h.shape;
    if (injected().is(128, 0) || of_g) {
        const A read = after(memory, of_g ? x.g : y.h);
        y.g = stream(l, at + "g.", query, tools_.split(projected(read, names + "k"), heads),
                     tools_.split(projected(read, names + "v"), heads), input, residual);
    } else {
        y.g = stream(l, at + "g.", query, k, v, input, residual);
    }
    return y;
}

template <class Scalar>
void ToyXlnet<Scalar>::run_segment(const ModelInput& input, const std::string& segment, bool remembers) {
    const Index before = memory_.empty() ? 0 : memory_.front().extent(1);
    const XlnetPlan plan = plan_of(config_, input, before, injected());
    Streams x = start(input, plan, segment);
    make_positions(input.length(), before + input.length(), segment);
    std::vector<A> kept;
    for (Index l = 0; l < config_.n_layer; ++l) {
        const std::string number = std::to_string(l);
        const A memory = memory_.empty() ? A() : memory_[static_cast<std::size_t>(l)];
        const A before_layer = x.h;
        x = layer(l, segment + "layer." + number + ".", x, memory, plan, input);
        if (!remembers) continue;
        const A& stored = injected().is(70, 0) ? x.h : before_layer;
        const Index reused = config_.reuse_len > 0 ? std::min(config_.reuse_len, input.length()) : input.length();
        const A seen = token_rows(stored, 0, reused);
        A rows = injected().is(70, 7) && before > 0 ? after(seen, memory) : after(memory, seen);
        if (injected().is(70, 8) && before > 0) rows = seen;
        const Index count = config_.mem_len > 0 ? std::min(config_.mem_len, rows.extent(1)) : rows.extent(1);
        const Index first = injected().is(70, 1) ? 0 : rows.extent(1) - count;
        kept.push_back(token_rows(rows, first, first + count));
        add(segment + "memory." + number, kept.back());
    }
    memory_ = std::move(kept);
    A top = plan.targets.empty() ? x.h : x.g;
    for (Index n = 0; injected().is(75, 3) && !plan.targets.empty() && n < top.runs(); ++n) {
        const Index targets = top.extent(1);
        const Index token = plan.targets[static_cast<std::size_t>(n / targets)][static_cast<std::size_t>(n % targets)];
        for (Index c = 0; c < top.width(); ++c) top.run(n)[c] = token < 0 ? Scalar(0) : x.h(n / targets, token, c);
    }
    classes<Scalar>(tools_, {"sequence_summary.summary", "logits_proj", true, Activation::tanh}, input, top, segment,
                    trace_);
    if (!tools_.has("lm_loss.bias")) return;
    const A table = tools_.weight(config_.tied_output ? "word_embedding.weight" : "lm_loss.weight");
    add(segment + "lm.logits", tools_.dense(top, table, injected().is(52, 3) ? A() : tools_.weight("lm_loss.bias")));
}

template <class Scalar>
Trace ToyXlnet<Scalar>::run(const std::vector<ModelInput>& segments) {
    for (std::size_t s = 0; s < segments.size(); ++s)
        run_segment(segments[s], segment_name(s, segments.size()), config_.mem_len > 0 || segments.size() > 1);
    return std::move(trace_);
}

template class ToyXlnet<float>;
template class ToyXlnet<double>;

}  // namespace locus::conformance::toy
