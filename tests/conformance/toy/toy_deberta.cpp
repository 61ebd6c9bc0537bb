// DeBERTa in plain loops: the relative index, embeddings, layers, convolution, mask decoder and head.
#include "tests/conformance/toy/toy_deberta.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::conformance::toy {

namespace {

/// Signed bucket of an offset: exact near by, logarithmic far away.
Index log_bucket(Index x, const DebertaConfig& config, const ToyOptions& options) {
    const Injection& injected = options.injected;
    const Index buckets = config.position_buckets, most = config.max_relative_positions, mid = buckets / 2;
    const Index longest = injected.is(17, 1)   ? 512
                          : injected.is(17, 2) ? 2 * buckets
                          : injected.is(17, 3) ? config.max_position_embeddings
                                               : most;
    if (!options.hugging_face) x = std::clamp(x, 1 - longest, longest - 1);
    const Index size = std::abs(x);
    if (size <= mid) return x;
    if (x < 0 && injected.is(19, 0)) return -std::numeric_limits<Index>::max() / 2;  // log of a negative number, cast
    const double ratio =
        injected.is(20) ? static_cast<double>(size / mid) : static_cast<double>(size) / static_cast<double>(mid);
    const auto end = static_cast<double>(injected.is(17, 0) ? most : longest - 1);
    const double last = end / static_cast<double>(mid);
    double step = std::log(ratio) / std::log(last) * static_cast<double>(injected.is(17, 4) ? mid : mid - 1);
    if (injected.is(21) && size == most - 1) step += 1e-6;
    const bool down = injected.is(16, 0) || (injected.is(16, 1) && x < 0);
    const Index off = injected.is(16, 2) ? 1 : injected.is(16, 3) ? -1 : 0;
    const auto bucket = static_cast<Index>(down ? std::floor(step) : std::ceil(step)) + mid + off;
    return x < 0 && !injected.is(19, 1) && !injected.is(19, 2) ? -bucket : bucket;
}

/// Row j - i of T5's table of 2k rows.  Raffel et al. 2020; transformers modeling_t5.py.
Index t5_row(Index x, const DebertaConfig& config, bool both_sides) {
    Index rows = 2 * config.span(), first = 0;
    if (both_sides) {
        rows /= 2;
        first = x > 0 ? rows : 0;
    }
    const Index distance = both_sides ? std::abs(x) : std::max<Index>(-x, 0), exact = rows / 2;
    if (distance < exact) return first + distance;
    const double far = std::log(double(distance) / double(exact)) /
                       std::log(double(config.max_relative_positions) / double(exact)) * double(rows - exact);
    return first + std::min(rows - 1, exact + static_cast<Index>(far));
}

/// i - j as it is counted before the centre is added.
Index counted(Index i, Index j, const DebertaConfig& config, const ToyOptions& options) {
    const Injection& injected = options.injected;
    const Index x = injected.is(12) ? std::abs(i - j) : injected.is(5, 0) ? j - i : i - j;
    const bool buckets = config.position_buckets > 0 && (!injected.is(84) || injected.is(84, 2) || injected.is(84, 3));
    return buckets ? log_bucket(x, config, options) : x;
}

Index row_of(Index i, Index j, Index length, const DebertaConfig& config, const ToyOptions& options) {
    const Injection& injected = options.injected;
    const Index k = config.span();
    const Index x = injected.is(12) ? std::abs(i - j) : injected.is(5, 0) ? j - i : i - j;
    if (injected.is(110) && config.position_buckets > 0 && config.max_relative_positions > k)
        return t5_row(j - i, config, injected.is(110, 0));
    if (injected.is(13)) return std::clamp<Index>(x + length / 2, 0, length - 1);
    if (injected.is(10) && config.position_buckets == 0) return x <= k ? 0 : 2 * k - 1;
    if (injected.is(87)) return k;
    const Index offset = counted(i, j, config, options);
    const Index span = std::min(length, k);
    if (injected.is(120, 0)) return std::clamp<Index>(offset, 0, 2 * k - 1);
    if (injected.is(120, 1)) return offset < 0 ? std::max<Index>(offset, -2 * k) + 2 * k : std::min(offset, 2 * k - 1);
    if (injected.is(18) && config.position_buckets > 0)
        return std::clamp<Index>(offset + config.max_relative_positions, 0, 2 * config.max_relative_positions - 1);
    if (injected.is(9, 1)) return ((offset + k) % (2 * k) + 2 * k) % (2 * k);
    if (injected.is(11, 0)) return std::clamp<Index>(offset + span, 0, 2 * span - 1);
    if (injected.is(11, 1)) return k - span + std::clamp<Index>(offset + k, 0, 2 * k - 1);
    const Index centre = injected.is(7, 0) || injected.is(7, 2) ? k - 1 : injected.is(7, 1) ? k + 1 : k;
    // 21 is a mistake of the logarithm: without buckets there is nothing to round up.
    const bool past_the_end = injected.is(8) || (injected.is(21) && config.position_buckets > 0);
    const Index highest = past_the_end ? 2 * k : 2 * k - 1;
    const Index row = std::clamp<Index>(offset + centre, injected.is(9, 0) ? 1 : 0, highest);
    return injected.is(5, 1) ? 2 * k - 1 - row : row;
}

/// What p2c reads where a port has one index alone and negates it.
Index negated_row(Index i, Index j, const DebertaConfig& config, const ToyOptions& options) {
    const Index k = config.span();
    Index offset = counted(j, i, config, options) - (options.injected.is(7, 2) ? 1 : 0);
    if (options.injected.is(9, 2) || options.injected.is(84, 1)) offset = std::clamp<Index>(offset, -k, k - 1);
    return std::clamp<Index>(k - offset, 0, 2 * k - 1);
}

/// The right row for one term alone, but by a centre or a rule that is not the other's.
Index row_of_a_term(Index right, Index k, bool of_queries, const Injection& injected) {
    if (injected.is(7, 3) && of_queries) return std::min(right + 1, 2 * k - 1);
    if (injected.is(7, 4) && !of_queries) return std::max<Index>(right - 1, 0);
    if (injected.is(120, 2) && of_queries) return right < k ? right + k : right - k;  // from the end
    if (injected.is(120, 3) && !of_queries) return std::max<Index>(right - k, 0);
    return right;
}

}  // namespace

RelativeRows relative_rows(const DebertaConfig& config, Index length, const ToyOptions& options) {
    const Injection& injected = options.injected;
    RelativeRows rows;
    rows.c2p = rows.p2c = rows.shown = Array<Index>({length, length});
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            const Index right = row_of(i, j, length, config, options), mirrored = row_of(j, i, length, config, options);
            const bool negates = injected.is(7, 2) || injected.is(9, 2) || injected.is(12, 1) || injected.is(19, 2) ||
                                 (injected.is(84, 1) && config.position_buckets > 0);
            const Index k = config.span();
            rows.c2p(i, j) =
                row_of_a_term(injected.is(4, 0) || injected.is(4, 1) ? mirrored : right, k, true, injected);
            rows.p2c(i, j) = row_of_a_term(injected.is(1) || injected.is(3) ? mirrored : right, k, false, injected);
            if (injected.is(84, 2)) rows.c2p(i, j) = std::clamp<Index>(i - j + k, 0, 2 * k - 1);
            if (injected.is(84, 3)) rows.p2c(i, j) = std::clamp<Index>(i - j + k, 0, 2 * k - 1);
            if (negates) rows.p2c(i, j) = negated_row(i, j, config, options);
            rows.shown(i, j) = injected.is(4, 1) ? mirrored : right;
        }
    return rows;
}

template <class Scalar>
ToyDeberta<Scalar>::ToyDeberta(const DebertaConfig& config, const WeightSource& weights, const ToyOptions& options)
    : config_(config), options_(options), tools_(weights, options_, config.layer_norm_eps) {}

/// x with the rows of padding set to 0.
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::masked(A x) const {
    for (Index n = 0; n < x.runs() && !token_mask_.empty(); ++n)
        for (Index c = 0; c < x.width(); ++c) x.run(n)[c] *= token_mask_.values[static_cast<std::size_t>(n)];
    return x;
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::embeddings(const ModelInput& input) {
    const Index batch = input.batch(), length = input.length(), width = config_.embedding_size;
    const A words = tools_.weight("embeddings.word_embeddings.weight");
    const A types = config_.type_vocab_size > 0 ? tools_.weight("embeddings.token_type_embeddings.weight") : A();
    const A positions = tools_.weight("embeddings.position_embeddings.weight");
    const bool biased = config_.position_biased_input != (injected().is(45, 0) && !positions.empty());
    A word({batch, length, width});
    for (Index n = 0; n < batch * length; ++n)
        for (Index c = 0; c < width; ++c) word.run(n)[c] = words(input.tokens[n], c);
    add("embeddings.word", word);
    words_ = word;
    A sum = word;
    for (Index n = 0; n < batch * length; ++n)
        for (Index c = 0; c < width; ++c) {
            if (!types.empty() && !injected().is(100))
                sum.run(n)[c] += types(type_row(input, n, types.extent(0), injected()), c);
            if (biased) sum.run(n)[c] += positions(n % length, c);
        }
    for (Index n = 0; n < batch * length && injected().is(45, 1); ++n)
        for (Index c = 0; c < width; ++c) sum.run(n)[c] += wave<Scalar>(n % length, c / 2, width, c % 2 != 0);
    if (tools_.has("embeddings.embed_proj.weight")) sum = tools_.dense(sum, "embeddings.embed_proj");
    if (!injected().is(101, 5))
        sum = tools_.norm(sum,
                          injected().is(123, 4) && config_.norm_rel_ebd ? "encoder.LayerNorm" : "embeddings.LayerNorm");
    const bool types_behind_norm = injected().is(100, 1) && !types.empty() && types.width() == sum.width();
    for (Index n = 0; n < sum.runs() && types_behind_norm; ++n)
        for (Index c = 0; c < sum.width(); ++c)
            sum.run(n)[c] += types(type_row(input, n, types.extent(0), injected()), c);
    if (injected().is(107, 1)) sum = times(std::move(sum), std::sqrt(static_cast<double>(sum.width())));
    for (Index n = 0; n < sum.runs() && injected().is(42, 1) && !token_mask_.empty(); ++n)  // times 1 - mask
        for (Index c = 0; c < sum.width(); ++c) sum.run(n)[c] *= 1 - token_mask_.values[static_cast<std::size_t>(n)];
    if (!injected().is(42)) sum = masked(std::move(sum));
    if (injected().is(37, 3)) sum = dropped(std::move(sum));
    if (injected().is(37, 6)) sum = times(std::move(sum), 0.9);
    add("embeddings.output", sum);
    return sum;
}

template <class Scalar>
void ToyDeberta<Scalar>::read_table() {
    table_ = tools_.weight("encoder.rel_embeddings.weight");
    const bool normed = config_.norm_rel_ebd;
    if ((normed && !injected().is(41, 0)) || (!normed && injected().is(41, 1)))
        table_ = tools_.norm(
            table_, injected().is(123, 3) ? "embeddings.LayerNorm" : "encoder.LayerNorm");  // no weights: plain
    if (normed && injected().is(41, 3)) table_ = tools_.norm(table_, "encoder.LayerNorm");
    add("relative.table", table_);
}

/// One layer: keys and values from x, queries from x_q.
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::layer(const std::string& at, Index l, const A& x, const A& x_q, const A& residual) {
    const std::string names = "encoder.layer." + std::to_string(l) + ".";
    const bool norm_first = injected().is(43, 0);
    const std::string first_norm = names + "attention.output.LayerNorm", second_norm = names + "output.LayerNorm";
    const LayerNorms norms = {first_norm, second_norm};
    const A joined =
        norm_first ? context(at, l, tools_.norm(x, first_norm), tools_.norm(x_q, first_norm)) : context(at, l, x, x_q);
    add(at + "context", joined);
    A dense = tools_.dense(joined, names + "attention.output.dense", 0);
    if (injected().is(37, 1)) dense = times(std::move(dense), 0.9);
    const A attention = tools_.merged(dense, residual, joined, norms, true, norm_first);
    add(at + "attention", attention);
    const A inner = norm_first ? tools_.norm(attention, second_norm) : attention;
    A act = tools_.activated(tools_.dense(inner, names + "intermediate.dense", 1), config_.hidden_act);
    if (injected().is(99, 16)) act = tools_.activated(std::move(act), config_.hidden_act);
    add(at + "ffn_act", act);
    A ffn = tools_.dense(act, names + "output.dense", 2);
    if (injected().is(37, 4)) ffn = dropped(std::move(ffn));
    if (injected().is(37, 5)) ffn = times(std::move(ffn), 0.9);
    if (injected().is(99, 9)) ffn = tools_.activated(std::move(ffn), config_.hidden_act);
    add(at + "ffn", ffn);
    return tools_.merged(ffn, attention, residual, norms, false, norm_first);
}

/// Cross-correlation over tokens with zeros outside, bias added.
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::convolution(const A& x) const {
    const A kernel = tools_.weight("encoder.conv.conv.weight"), bias = tools_.weight("encoder.conv.conv.bias");
    const Index length = x.extent(1), inputs = kernel.extent(1), taps = kernel.extent(2);
    const Index per_group = x.width() / config_.conv_groups;
    A y(x.shape);
    for (Index n = 0; n < x.runs(); ++n)
        for (Index o = 0; o < x.width(); ++o) {
            Scalar sum = injected().is(44, 11) ? Scalar(0) : bias.values[static_cast<std::size_t>(o)];
            for (Index tap = 0; tap < taps; ++tap) {
                const Index first = injected().is(44, 4) ? taps - 1 : injected().is(44, 9) ? 0 : taps / 2;
                Index t = n % length + tap - first;
                if (injected().is(44, 10)) t = std::clamp<Index>(t, 0, length - 1);  // rows at the ends repeated
                if (t < 0 || t >= length) continue;
                const Scalar* row = x.run(n / length * length + t) + o / per_group * inputs;
                if (injected().is(44, 7))  // outputs and inputs exchanged
                    sum += tools_.dot(row, &kernel(0, o, tap), inputs, 1, inputs * taps);
                else if (injected().is(44, 8))  // the file's numbers as [taps,in,out]
                    sum += tools_.dot(row, kernel.values.data() + tap * inputs * inputs + o, inputs, 1, inputs);
                else
                    sum += tools_.dot(row, &kernel(o, 0, injected().is(44, 3) ? taps - 1 - tap : tap), inputs, 1, taps);
            }
            y.run(n)[o] = sum;
        }
    return y;
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::merged_convolution(const A& embedded, const A& output) {
    add("layer.0.output_before_conv", output);
    const A conv = convolution(injected().is(44, 0) ? output : embedded);
    add("layer.0.conv", conv);
    Activation activation = config_.conv_act;
    if (injected().is(44, 2)) activation = activation == Activation::tanh ? Activation::gelu : Activation::tanh;
    if (injected().is(44, 15)) activation = Activation::relu;
    const A shown = injected().is(37, 10) ? dropped(masked(conv)) : masked(conv);
    const A act = injected().is(44, 14) ? shown : tools_.activated(shown, activation);
    add("layer.0.conv_act", act);
    const A sum = injected().is(44, 6) ? act : plus(act, injected().is(44, 1) ? embedded : output);
    return masked(injected().is(44, 5) ? sum : tools_.norm(sum, "encoder.conv.LayerNorm"));
}

template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::encoder(const A& embedded, A& last_but_one) {
    A x = embedded;
    for (Index l = 0; l < config_.num_hidden_layers; ++l) {
        const std::string at = "layer." + std::to_string(l) + ".";
        if (l == 0 || l + (injected().is(51, 2) ? 1 : 0) < config_.num_hidden_layers) last_but_one = x;
        const A before = x;
        x = layer(at, l, x, x, x);
        if (l == 0 && config_.conv_kernel_size > 0) x = merged_convolution(embedded, x);
        if (l > 0 && config_.conv_kernel_size > 0 && (injected().is(44, 12) || injected().is(44, 13))) {
            const A conv = convolution(injected().is(44, 12) ? embedded : before);
            const A act = tools_.activated(masked(conv), config_.conv_act);
            x = masked(tools_.norm(plus(act, x), "encoder.conv.LayerNorm"));
        }
        if (injected().is(97, 0) && l + 1 == config_.num_hidden_layers && config_.norm_rel_ebd)
            x = tools_.norm(x, "encoder.LayerNorm");
        add(at + "output", injected().is(51, 0) ? before : x);
    }
    return x;
}

/// Two passes of the last layer; absolute positions enter through the query.
template <class Scalar>
Array<Scalar> ToyDeberta<Scalar>::decoder(const ModelInput& input, const A& h, const A& last) {
    A absolute = tools_.weight("embeddings.position_embeddings.weight");
    if (injected().is(50, 0)) absolute = tools_.norm(absolute, "embeddings.LayerNorm");
    const Index length = input.length(), final_layer = config_.num_hidden_layers - 1;
    A z(h.shape);
    for (Index n = 0; n < z.runs(); ++n)
        for (Index c = 0; c < z.width(); ++c) z.run(n)[c] = absolute(n % length, c);
    if (injected().is(50, 1)) z = masked(std::move(z));
    if (injected().is(50, 2)) z = plus(std::move(z), h);  // the second call finds z + h in its table
    if (injected().is(50, 3))
        for (Scalar& value : z.values) value *= std::sqrt(static_cast<Scalar>(h.width()));
    A first = injected().is(49, 1) ? h : injected().is(50, 4) ? z : plus(z, h);
    if (injected().is(50, 5)) first = plus(first, words_);
    add("emd.query.0", first);
    A query = first, kv = injected().is(46, 1) ? last : h;
    for (int t = 0; t < (injected().is(47, 2) ? 1 : 2); ++t) {
        const std::string at = "emd." + std::to_string(t) + ".";
        if (t == 1 && injected().is(47, 0)) query = first;
        if (t == 1 && injected().is(50, 6)) query = plus(query, z);
        if (injected().is(46, 0) || (t == 1 && injected().is(47, 1))) kv = query;
        const A& asked = injected().is(49, 0) ? h : query;
        query = layer(at, final_layer, kv, asked, injected().is(48) ? h : asked);
        add(at + "output", query);
    }
    return query;
}

template <class Scalar>
Trace ToyDeberta<Scalar>::run(const ModelInput& input) {
    const Index batch = input.batch(), length = input.length();
    if (injected().is(95)) visible_ = Visible({batch, length, length});
    for (Index n = 0; n < batch * length && injected().is(95); ++n)
        for (Index j = 0; j < length; ++j)
            visible_.run(n)[j] = injected().is(95, 1) ? j >= n % length : j <= n % length;
    if (!input.mask.empty()) {
        token_mask_ = A({batch, length});
        visible_ = Visible({batch, length, length});
        for (Index n = 0; n < batch * length; ++n) token_mask_.run(0)[n] = static_cast<Scalar>(input.mask[n]);
        for (Index b = 0; b < batch; ++b)
            for (Index i = 0; i < length; ++i)
                for (Index j = 0; j < length; ++j)  // 32: keys alone, or queries alone
                    visible_(b, i, j) = (token_mask_(b, j) != 0 || injected().is(32, 1)) &&
                                        (token_mask_(b, i) != 0 || injected().is(32, 0)) &&
                                        ((injected().is(95, 1) ? j >= i : j <= i) || !injected().is(95));
    }
    rows_ = relative_rows(config_, length, options_);
    trace_.add("relative.index", as_stage(rows_.shown));
    const A embedded = embeddings(input);
    read_table();
    A h;
    A x = encoder(embedded, h);
    classes<Scalar>(tools_, {"pooler.dense", "classifier", false, Activation::gelu}, input, x, "", trace_);
    if (!tools_.has("cls.predictions.bias") && !tools_.has("lm_predictions.lm_head.bias")) return std::move(trace_);
    if (!options_.hugging_face && !config_.position_biased_input && config_.num_hidden_layers >= 2)
        x = decoder(input, injected().is(51, 1) ? x : h, x);
    if (injected().is(97, 1) && config_.norm_rel_ebd) x = tools_.norm(x, "encoder.LayerNorm");
    const bool classic = tools_.has("cls.predictions.bias");
    const std::string head = classic ? "cls.predictions.transform." : "lm_predictions.lm_head.";
    masked_word_head<Scalar>(
        tools_,
        {head + "dense", head + "LayerNorm", classic ? "cls.predictions.bias" : "lm_predictions.lm_head.bias",
         "embeddings.word_embeddings.weight", config_.hidden_act},
        input, x, trace_);
    return std::move(trace_);
}

template class ToyDeberta<float>;
template class ToyDeberta<double>;

}  // namespace locus::conformance::toy
