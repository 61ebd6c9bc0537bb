#include "tests/conformance/toy/toy_roformer.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

namespace locus::conformance::toy {

namespace {

/// Which angles a port takes; right: 10000, 1, all pairs, 0.
struct AngleRule {
    double base = 10000, factor = 1;
    Index pairs = 1 << 30;            // pair t has the angle of t modulo this
    Index first = 0;                  // position of row 0
    double long_factor = 0;           // pair t turns 1 + t times this slower,
    Index longer = 0;                 // from this row on
    double amplitude = 1;             // sines and cosines times this
    Index later = 0;                  // pair t has the angle of t and this
    bool backwards = false;           // the slowest pair first
    Index sharers = 1;                // so many pairs have the angle of the first of them
    std::array<bool, 4> rounds = {};  // frequencies, positions, angles, sines and cosines in half precision,
    bool brain = false;               // which is bfloat16
};

double shortened(bool rounds, bool brain, double value) {
    if (!rounds) return value;
    const auto number = static_cast<float>(value);
    return brain ? static_cast<float>(Eigen::bfloat16(number)) : static_cast<float>(Eigen::half(number));
}

/// sin or cos of position * base^(-power * t / width), [length, pairs].
template <class Scalar>
Array<Scalar> angles(Index length, Index pairs, double power, Index width, double (*wave)(double),
                     const AngleRule& rule = {}) {
    Array<Scalar> y({length, pairs});
    const auto kept = [&rule](std::size_t step, double value) {
        return shortened(rule.rounds[step], rule.brain, value);
    };
    for (Index m = 0; m < length; ++m)
        for (Index t = 0; t < pairs; ++t) {
            const Index own = t / rule.sharers * rule.sharers;
            const Index counted = (rule.backwards ? pairs - 1 - own : own) % rule.pairs + rule.later;
            const double frequency =
                kept(0, std::pow(rule.base, -power * double(counted) / static_cast<double>(width)));
            const double slower = m < rule.longer ? 1 : 1 + rule.long_factor * double(t);
            const double position = kept(1, rule.factor * double(m + rule.first) / slower);
            y(m, t) = static_cast<Scalar>(kept(3, rule.amplitude * wave(kept(2, position * frequency))));
        }
    return y;
}

}  // namespace

template <class Scalar>
ToyRoformer<Scalar>::ToyRoformer(const RoformerConfig& config, const WeightSource& weights, const ToyOptions& options)
    : config_(config), options_(options), tools_(weights, options_, config.layer_norm_eps) {}

template <class Scalar>
Array<Scalar> ToyRoformer<Scalar>::embeddings(const ModelInput& input) {
    const Index count = input.batch() * input.length();
    const A words = tools_.weight("embeddings.word_embeddings.weight");
    const A types = tools_.weight("embeddings.token_type_embeddings.weight");
    A x({input.batch(), input.length(), words.width()});
    for (Index n = 0; n < count; ++n)
        for (Index c = 0; c < x.width(); ++c) x.run(n)[c] = words(input.tokens[n], c);
    add("embeddings.word", x);
    const auto add_types = [&] {
        for (Index n = 0; n < count && !types.empty(); ++n)
            for (Index c = 0; c < x.width(); ++c)
                x.run(n)[c] += types(type_row(input, n, types.extent(0), injected()), c);
    };
    if (injected().is(107, 2)) x = times(std::move(x), std::sqrt(static_cast<double>(x.width())));
    if (!injected().is(100)) add_types();
    for (Index n = 0; n < count && injected().is(45); ++n)
        for (Index c = 0; c < x.width(); ++c) {
            const Index half = x.width() / 2;
            x.run(n)[c] += injected().is(45, 1) ? wave<Scalar>(n % input.length(), c / 2, x.width(), c % 2 != 0)
                                                : wave<Scalar>(n % input.length(), c % half, x.width(), c >= half);
        }
    if (!injected().is(101, 5)) x = tools_.norm(x, "embeddings.LayerNorm");
    if (injected().is(100, 1)) add_types();
    if (tools_.has("embeddings_project.weight")) x = tools_.dense(x, "embeddings_project");
    if (injected().is(37, 6)) x = times(std::move(x), 0.9);
    if (injected().is(107, 1)) x = times(std::move(x), std::sqrt(static_cast<double>(x.width())));
    add("embeddings.output", x);
    return x;
}

/// The table of the file holds the sines, then the cosines.
template <class Scalar>
void ToyRoformer<Scalar>::read_angles(Index length) {
    const Index d = config_.head_width();
    const A table = tools_.weight("encoder.embed_positions.weight");
    AngleRule rule;
    if (injected().is(89, 0)) rule.base = 500000;
    if (injected().is(89, 1)) rule.base = 1000;
    if (injected().is(89, 2)) rule.base = 42000;
    if (injected().is(90)) rule.factor = injected().is(90, 0) ? 0.25 : injected().is(90, 1) ? 2 : 1.0 / 3;
    if (injected().is(108)) rule.long_factor = 0.7;
    if (injected().is(108, 1)) rule.longer = length / 2;
    if (injected().is(108, 2) || injected().is(109)) rule.amplitude = 1.1386;
    if (injected().is(91)) rule.pairs = std::max<Index>(1, d / 4);
    if (injected().is(94)) rule.first = 1;
    const bool another_base = injected().is(89) && !injected().is(89, 3);
    rule.brain = !injected().is(119, 3);
    if (injected().is(119, 0)) rule.rounds = {true, false, false, false};
    if (injected().is(119, 1) || injected().is(119, 3)) rule.rounds = {true, true, true, true};
    if (injected().is(119, 2)) rule.rounds = {false, false, false, true};
    if (injected().is(119, 4)) rule.rounds = {false, false, true, false};
    const bool other = another_base || injected().is(90) || injected().is(91) || injected().is(94) ||
                       injected().is(108) || injected().is(109) || injected().is(119);
    const bool own = table.empty() || injected().is(61) || other;
    if (own) {
        const Index width = injected().is(61, 0) ? config_.hidden_size : injected().is(61, 7) ? d / 2 - 1 : d;
        const double power = injected().is(61, 1)                           ? 4
                             : injected().is(61, 4) || injected().is(61, 7) ? 1
                             : injected().is(61, 11)                        ? 0
                                                                            : 2;
        rule.sharers = injected().is(61, 12) ? 2 : 1;
        if (injected().is(61, 9)) rule.base = 1 / rule.base;
        rule.later = injected().is(61, 6) ? 1 : 0;
        rule.backwards = injected().is(61, 8);
        sine_ = angles<Scalar>(length, d / 2, power, width, std::sin, rule);
        cosine_ = angles<Scalar>(length, d / 2, power, width, std::cos, rule);
    } else {
        sine_ = cosine_ = A({length, d / 2});
        for (Index m = 0; m < length; ++m)
            for (Index t = 0; t < d / 2; ++t) {
                sine_(m, t) = table(m, t);
                cosine_(m, t) = table(m, d / 2 + t);
            }
    }
    if (injected().is(60)) std::swap(sine_, cosine_);
    if (injected().is(69)) {
        const A sine = sine_, cosine = cosine_;
        for (Index m = 0; m < length; ++m)
            for (Index c = 0; c < d; ++c) {  // channel c of a row: of [sin | cos] or of sin, cos, sin, cos, ...
                const bool is_cosine = injected().is(69, 1) ? c % 2 == 1 : c >= d / 2;
                const Scalar value = (is_cosine ? cosine : sine)(m, injected().is(69, 1) ? c / 2 : c % (d / 2));
                const bool second = injected().is(69, 1) ? c >= d / 2 : c % 2 == 1;
                (second ? cosine_ : sine_)(m, injected().is(69, 1) ? c % (d / 2) : c / 2) = value;
            }
    }
    if (injected().is(58, 1)) sine_ = times(std::move(sine_), -1);
    add("rotary.sin", sine_);
    add("rotary.cos", cosine_);
    if (injected().is(58, 0)) sine_ = times(std::move(sine_), -1);
    rule = {};
    rule.base = 160000;
    other_sine_ = angles<Scalar>(length, d / 2, 2, d, std::sin, rule);
    other_cosine_ = angles<Scalar>(length, d / 2, 2, d, std::cos, rule);
}

/// 92: a channel's partner by one layout, its angle by the other.
template <class Scalar>
Array<Scalar> ToyRoformer<Scalar>::crossed(const A& x, const A& sine, const A& cosine, bool partners_are_halves) const {
    const Index length = x.extent(2), width = x.width(), half = width / 2;
    A y(x.shape);
    for (Index n = 0; n < x.runs(); ++n)
        for (Index c = 0; c < width; ++c) {
            const Index t = partners_are_halves ? c / 2 : c % half;
            const bool first = partners_are_halves ? c < half : c % 2 == 0;
            const Index step = partners_are_halves ? half : 1;
            const Scalar partner = first ? -x.run(n)[c + step] : x.run(n)[c - step];
            y.run(n)[c] = x.run(n)[c] * cosine(n % length, t) + partner * sine(n % length, t);
        }
    return y;
}

template <class Scalar>
Array<Scalar> ToyRoformer<Scalar>::rotated(A x, const A& sine, const A& cosine, Pairs pairs) const {
    const Index length = x.extent(2), half = x.width() / 2;
    if (injected().is(92)) return crossed(x, sine, cosine, injected().is(92, 0));
    const A narrow_sine = angles<Scalar>(length, half / 2 + 1, 2, half, std::sin),
            narrow_cosine = angles<Scalar>(length, half / 2 + 1, 2, half, std::cos);
    for (Index n = 0; n < x.runs(); ++n)
        for (Index t = 0; t < half; ++t) {
            if (injected().is(88) && n >= x.extent(1) * length) continue;
            if (injected().is(93) && t >= half / 2) continue;
            const bool narrow = injected().is(93, 1);
            const Index m = injected().is(116, 0)   ? n / length % x.extent(1)
                            : injected().is(116, 1) ? n / length / x.extent(1)
                            : injected().is(63)
                                ? counted_[static_cast<std::size_t>(n / length / x.extent(1) * length + n % length)]
                                : n % length;
            Scalar& first = x.run(n)[pairs == Pairs::halves ? t : 2 * t];
            Scalar& second = x.run(n)[pairs == Pairs::halves ? t + half : 2 * t + 1];
            const Scalar a = first, b = second, s = narrow ? narrow_sine(m, t) : sine(m, t),
                         c = narrow ? narrow_cosine(m, t) : cosine(m, t);
            const bool typo = injected().is(59) && t == half - 1;  // the rotated vector ends -x_{d-1}, x_d
            const Scalar cosines(injected().is(117, 6) ? 0 : 1), sines(injected().is(117, 5) ? 0 : 1);
            first = a * c * cosines - (typo ? a : b) * s * sines * Scalar(injected().is(117, 1) ? -1 : 1);
            const Scalar partner = typo ? b : injected().is(117, 0) ? first : a;
            second = b * c * cosines + partner * s * sines * Scalar(injected().is(117, 4) ? -1 : 1);
            if (injected().is(117, 2)) first = a + s, second = b + c;
        }
    return x;
}

/// x [B,T,D] rotated over its whole width, as if it were one head.
template <class Scalar>
Array<Scalar> ToyRoformer<Scalar>::wide(const A& x) const {
    const Index length = x.extent(1), width = x.width();
    A one({x.extent(0), 1, length, width});
    one.values = x.values;
    one = rotated(std::move(one), angles<Scalar>(length, width / 2, 2, width, std::sin),
                  angles<Scalar>(length, width / 2, 2, width, std::cos), Pairs::neighbours);
    A y(x.shape);
    y.values = one.values;
    return y;
}

template <class Scalar>
Array<Scalar> ToyRoformer<Scalar>::turned_heads(const A& x, const A& before, const std::string& projection,
                                                bool key) const {
    const Index heads = config_.num_attention_heads;
    if (injected().is(62, 1)) return tools_.split(wide(tools_.dense(before, projection)), heads);
    if (injected().is(62, 2)) return tools_.split(tools_.dense(wide(before), projection), heads);
    if (injected().is(62, 4)) {
        const A turned = rotated(tools_.split(before, heads), sine_, cosine_, Pairs::neighbours);
        return tools_.split(tools_.dense(tools_.join(turned), projection), heads);
    }
    if (injected().is(57, key ? 0 : 1) || injected().is(57, 3) || injected().is(57, 4)) return x;
    const bool halves = injected().is(56) || (injected().is(57, 2) && key);
    const A sine = injected().is(58, key ? 3 : 2) ? times(sine_, -1) : sine_;
    A turned = rotated(x, sine, cosine_, halves ? Pairs::halves : Pairs::neighbours);
    if (injected().is(118, 0) || injected().is(118, key ? 1 : 2))
        turned = rotated(turned, sine_, cosine_, Pairs::neighbours);
    if (!injected().is(56, 1)) return turned;
    A beside = turned;
    const Index half = x.width() / 2;
    for (Index n = 0; n < x.runs(); ++n)
        for (Index c = 0; c < x.width(); ++c) beside.run(n)[c % half * 2 + c / half] = turned.run(n)[c];
    return beside;
}

template <class Scalar>
Array<Scalar> ToyRoformer<Scalar>::layer(Index l, const A& x) {
    const std::string at = "layer." + std::to_string(l) + ".", names = "encoder." + at;
    const std::string self = names + "attention.self.", first_norm = names + "attention.output.LayerNorm";
    const bool norm_first = injected().is(43, 0);
    const LayerNorms norms = {first_norm, names + "output.LayerNorm"};
    if (injected().is(89, 3) && l % 2 == 1) {  // every second layer takes the angles of the other type of layer
        std::swap(sine_, other_sine_);
        std::swap(cosine_, other_cosine_);
    }
    const Index heads = config_.num_attention_heads;
    const A in = norm_first ? tools_.norm(x, first_norm) : x;
    const bool kv = injected().is(103, 0), qk = injected().is(103, 1);
    const auto part = [&](const char* name, int alone) {
        const bool bare = injected().is(102, 0) || injected().is(102, alone);
        const A bias = bare ? A() : tools_.weight(self + name + ".bias");
        return tools_.split(tools_.dense(in, tools_.weight(self + name + ".weight"), bias), heads);
    };
    const A q = part(qk || injected().is(103, 5) ? "key" : "query", 1);
    const A k = part(kv ? "value" : qk || injected().is(103, 4) ? "query" : "key", 2);
    A v = part(kv || injected().is(103, 3) ? "key" : "value", 3);
    add(at + "q", q);
    add(at + "k", k);
    if (injected().is(62, 5)) v = rotated(v, sine_, cosine_, Pairs::neighbours);
    add(at + "v", v);
    A q_rot = turned_heads(q, in, self + "query", false), k_rot = turned_heads(k, in, self + "key", true);
    if (injected().is(117, 7)) {  // partners one half after the other
        for (const auto& [from, to] : {std::pair<const A*, A*>{&q, &q_rot}, {&k, &k_rot}})
            for (Index n = 0; n < to->runs(); ++n)
                for (Index c = 0; c < to->width(); ++c) {
                    const Index m = n % to->extent(2), pairs = to->width() / 2;
                    const Scalar partner = c < pairs ? -from->run(n)[2 * c + 1] : from->run(n)[2 * (c - pairs)];
                    to->run(n)[c] = from->run(n)[c] * cosine_(m, c / 2) + partner * sine_(m, c / 2);
                }
    }
    if (injected().is(117, 3)) {  // both hold first channels of queries, second ones of keys
        for (Index n = 0; n < q_rot.runs(); ++n)
            for (Index c = 0; c < q_rot.width(); c += 2) {
                q_rot.run(n)[c + 1] = k_rot.run(n)[c + 1];
                k_rot.run(n)[c] = q_rot.run(n)[c];
            }
    }
    add(at + "q_rot", q_rot);
    add(at + "k_rot", k_rot);
    if (config_.rotary_value != injected().is(62, 0) && !injected().is(57, 4))
        v = rotated(v, sine_, cosine_, Pairs::neighbours);
    if (injected().is(89, 3) && l % 2 == 1) {
        std::swap(sine_, other_sine_);
        std::swap(cosine_, other_cosine_);
    }
    if (config_.rotary_value) add(at + "v_rot", v);
    A scores = tools_.products(q_rot, k_rot);
    if (injected().is(82, 1)) scores = tools_.transposed(scores);
    const double width = static_cast<double>(injected().is(27) ? config_.hidden_size : q.width());
    double divisor = std::sqrt(width);
    if (injected().is(26, 2)) divisor = width;
    if (injected().is(26, 3)) divisor = std::floor(divisor);
    if (!injected().is(26, 1)) scores = times(std::move(scores), 1 / divisor);
    add(at + "scores", scores);
    A probs = tools_.softmax(scores, visible_);
    for (Index n = 0; n < probs.runs() && masks_tokens_; ++n) {
        const Index length = probs.width(), i = n % length, b = n / length / probs.extent(1);
        if ((injected().is(32, 2) || injected().is(32, 3)) && !visible_(b, i, i))  // mistake 32: queries of padding
            std::fill_n(probs.run(n), length, injected().is(32, 2) ? 1 / static_cast<Scalar>(length) : Scalar(0));
    }
    add(at + "probs", probs);
    const A joined = tools_.context(injected().is(82, 10) ? tools_.transposed(probs) : probs, v);
    add(at + "context", joined);
    const A attention =
        tools_.merged(tools_.dense(joined, names + "attention.output.dense", 0), x, joined, norms, true, norm_first);
    add(at + "attention", attention);
    const A inner = norm_first ? tools_.norm(attention, names + "output.LayerNorm") : attention;
    A act = tools_.activated(tools_.dense(inner, names + "intermediate.dense", 1), config_.hidden_act);
    if (injected().is(99, 16)) act = tools_.activated(std::move(act), config_.hidden_act);
    add(at + "ffn_act", act);
    A ffn = tools_.dense(act, names + "output.dense", 2);
    if (injected().is(37, 5)) ffn = times(std::move(ffn), 0.9);
    if (injected().is(99, 9)) ffn = tools_.activated(std::move(ffn), config_.hidden_act);
    add(at + "ffn", ffn);
    const A output = tools_.merged(ffn, attention, x, norms, false, norm_first);
    add(at + "output", injected().is(51) ? x : output);
    return output;
}

template <class Scalar>
Trace ToyRoformer<Scalar>::run(const ModelInput& input) {
    const Index batch = input.batch(), length = input.length();
    masks_tokens_ = input.mask.rank() == 2;
    if (!input.mask.empty() || injected().is(95)) {
        visible_ = Visible({batch, length, length});
        for (Index b = 0; b < batch; ++b)
            for (Index i = 0; i < length; ++i)
                for (Index j = 0; j < length; ++j) {
                    const Index pair = injected().is(32, 4) ? j * length + i : i * length + j;
                    visible_(b, i, j) =
                        ((injected().is(95, 1) ? j >= i : j <= i) || !injected().is(95)) &&
                        (input.mask.empty() ||
                         input.mask[input.mask.rank() == 3 ? b * length * length + pair : b * length + j] != 0);
                }
    }
    for (Index b = 0; b < batch && injected().is(63); ++b)
        for (Index m = 0, next = 0; m < length; ++m) {
            const bool counts = input.mask.empty() || input.mask[b * length + m] != 0;
            counted_.push_back(counts ? next : injected().is(63, 4) ? next - 1 : injected().is(63, 5) ? 0 : 1);
            next += counts;
        }
    A x = embeddings(input);
    read_angles(length);
    for (Index l = 0; l < config_.num_hidden_layers; ++l) x = layer(l, x);
    classes<Scalar>(tools_, {"classifier.dense", "classifier.out_proj", false, config_.hidden_act}, input, x, "",
                    trace_);
    if (!tools_.has("cls.predictions.bias")) return std::move(trace_);
    masked_word_head<Scalar>(tools_,
                             {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                              "cls.predictions.bias", "embeddings.word_embeddings.weight", config_.hidden_act},
                             input, x, trace_);
    return std::move(trace_);
}

template class ToyRoformer<float>;
template class ToyRoformer<double>;

}  // namespace locus::conformance::toy
