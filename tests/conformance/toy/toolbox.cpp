#include "tests/conformance/toy/toolbox.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::conformance::toy {

namespace {

template <class Scalar>
Scalar pairwise(const Scalar* a, const Scalar* b, Index length, Index step_a, Index step_b) {
    if (length == 0) return 0;
    if (length == 1) return a[0] * b[0];
    const Index half = length / 2;
    return pairwise(a, b, half, step_a, step_b) +
           pairwise(a + half * step_a, b + half * step_b, length - half, step_a, step_b);
}

}  // namespace

template <class Scalar>
Scalar Toolbox<Scalar>::dot(const Scalar* a, const Scalar* b, Index length, Index step_a, Index step_b) const {
    if (options_.summation == Summation::pairwise) return pairwise(a, b, length, step_a, step_b);
    Scalar sum = 0;
    for (Index n = 0; n < length; ++n) {
        const Index at = options_.summation == Summation::reversed ? length - 1 - n : n;
        sum = options_.summation == Summation::fma ? std::fma(a[at * step_a], b[at * step_b], sum)
                                                   : sum + a[at * step_a] * b[at * step_b];
    }
    return sum;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::dense(const Array<Scalar>& x, const Array<Scalar>& matrix,
                                     const Array<Scalar>& bias) const {
    Shape shape = x.shape;
    shape.back() = matrix.extent(0);
    Array<Scalar> y(shape);
    for (Index n = 0; n < x.runs(); ++n)
        for (Index o = 0; o < y.width(); ++o)
            y.run(n)[o] = dot(x.run(n), matrix.run(o), x.width()) +
                          (bias.empty() ? Scalar(0) : bias.values[static_cast<std::size_t>(o)]);
    return y;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::dense(const Array<Scalar>& x, const std::string& name) const {
    return dense(x, weight(name + ".weight"), weight(name + ".bias"));
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::dense(const Array<Scalar>& x, const std::string& name, int variant) const {
    Array<Scalar> matrix = weight(name + ".weight");
    if (injected().is(82, 3 + variant)) {  // the buffer read by columns
        const Array<Scalar> stored = matrix;
        const Index rows = stored.extent(0), columns = stored.width();
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < columns; ++c) matrix(r, c) = stored.values[static_cast<std::size_t>(c * rows + r)];
    }
    return dense(x, matrix, injected().is(104, variant) ? Array<Scalar>() : weight(name + ".bias"));
}

namespace {

/// 127: numbers first, first + step, ... of x with mean 0 and variance 1.
template <class Scalar>
void norm_numbers(Array<Scalar>& x, std::size_t first, std::size_t step, std::size_t count, double eps) {
    Scalar mean = 0, variance = 0;
    for (std::size_t n = 0; n < count; ++n) mean += x.values[first + n * step];
    mean /= static_cast<Scalar>(count);
    for (std::size_t n = 0; n < count; ++n)
        variance += (x.values[first + n * step] - mean) * (x.values[first + n * step] - mean);
    const Scalar root = std::sqrt(variance / static_cast<Scalar>(count) + static_cast<Scalar>(eps));
    for (std::size_t n = 0; n < count; ++n) x.values[first + n * step] = (x.values[first + n * step] - mean) / root;
}

/// x [B,T,D], or a table [R,D], whose mean and variance are taken over the axes of this way of 127.
template <class Scalar>
void norm_over_other_axes(Array<Scalar>& x, double eps, const Injection& injected) {
    const auto width = static_cast<std::size_t>(x.width()), all = x.values.size();
    const std::size_t samples = x.shape.size() == 3   ? static_cast<std::size_t>(x.extent(0))
                                : injected.is(127, 0) ? all / width
                                                      : 1;
    if (injected.is(127, 1)) return norm_numbers(x, 0, 1, all, eps);
    for (std::size_t b = 0; b < samples; ++b) {
        const std::size_t first = b * (all / samples);
        if (injected.is(127, 0)) norm_numbers(x, first, 1, all / samples, eps);
        for (std::size_t c = 0; c < width && injected.is(127, 2); ++c)
            norm_numbers(x, first + c, width, all / samples / width, eps);
    }
}

}  // namespace

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::norm(Array<Scalar> x, const Array<Scalar>& scale, const Array<Scalar>& shift,
                                    std::optional<double> other_eps) const {
    double eps = other_eps.value_or(eps_);
    if (injected().is(40, 0)) eps = eps_ == 1e-12 ? 1e-7 : 1e-12;
    if (injected().is(40, 1)) eps = eps_ == 1e-5 ? 1e-7 : 1e-5;
    if (injected().is(40, 2)) eps = 0.02;
    if (injected().is(40, 5)) eps = 1e-3;
    if (injected().is(40, 6)) eps = 1e-6;
    if (injected().is(40, 7)) eps = 2.5e-4;
    const Index width = x.width();
    if (injected().is(127)) norm_over_other_axes(x, eps, injected());
    for (Index n = 0; n < x.runs(); ++n) {
        Scalar* run = x.run(n);
        Scalar mean = 0, variance = 0;
        for (Index c = 0; c < width; ++c) mean += run[c];
        mean = injected().is(98) ? Scalar(0) : mean / static_cast<Scalar>(width);
        for (Index c = 0; c < width; ++c) variance += (run[c] - mean) * (run[c] - mean);
        const bool unbiased = injected().is(40, 4) || injected().is(40, 9);
        variance /= static_cast<Scalar>(unbiased ? width - 1 : width);
        Scalar root = std::sqrt(variance + static_cast<Scalar>(eps));
        if (injected().is(40, 3)) root = std::sqrt(variance) + static_cast<Scalar>(eps);
        if (injected().is(40, 8) || injected().is(40, 9)) root = std::sqrt(variance) + Scalar(1e-6);
        if (injected().is(40, 10)) root = variance + static_cast<Scalar>(eps);
        for (Index c = 0; c < width; ++c) {
            const auto at = static_cast<std::size_t>(c);
            if (!injected().is(127)) run[c] = (run[c] - mean) / root;
            if (!scale.empty()) run[c] = run[c] * scale.values[at] + shift.values[at];
        }
    }
    return x;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::norm_with(const Array<Scalar>& x, const std::string& name,
                                         std::optional<double> other_eps) const {
    Array<Scalar> scale = weight(name + ".weight"), shift = weight(name + ".bias");
    const bool bare = injected().is(122, 0) || (injected().is(122, 4) && name == "encoder.LayerNorm");
    for (Scalar& value : scale.values) {  // 122: neither is that of the file
        if (bare || injected().is(122, 2)) value = 1;
        if (injected().is(122, 3)) value += 1;
    }
    if (bare || injected().is(122, 1)) std::fill(shift.values.begin(), shift.values.end(), Scalar(0));
    return norm(x, scale, shift, other_eps);
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::merged(const Array<Scalar>& dense, const Array<Scalar>& residual,
                                      const Array<Scalar>& instead, const LayerNorms& norms, bool of_attention,
                                      bool bare) const {
    const int part = of_attention ? 0 : 1;
    const Array<Scalar> f = injected().is(37, 7 + part) ? dropped(dense) : dense;
    const bool exchanged = injected().is(123, 0) || injected().is(123, 1 + part);
    const std::string& name = of_attention != exchanged ? norms.of_attention : norms.of_feed_forward;
    if (injected().is(43, 1 + part) && !bare) return plus(norm(f, name), residual);
    Array<Scalar> sum = injected().is(101, part) ? f : plus(f, injected().is(124, 2 * part + 1) ? instead : residual);
    if (injected().is(124, 2 * part)) sum = plus(std::move(sum), residual);
    return bare || injected().is(101, 2) || injected().is(101, 3 + part) ? sum : norm(sum, name);
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::activated(Array<Scalar> x, Activation activation) const {
    if (injected().is(39) && activation == Activation::gelu) activation = Activation::gelu_tanh;
    const bool another = activation == Activation::gelu && injected().is(99) && !injected().is(99, 4) &&
                         !injected().is(99, 5) && !injected().is(99, 9) && !injected().is(99, 16);
    const auto logistic = [](Scalar a) { return 1 / (1 + std::exp(-a)); };
    for (Scalar& value : x.values) {
        const Scalar a = value;
        if (another) {
            value = injected().is(99, 0)    ? std::max(a, Scalar(0))
                    : injected().is(99, 1)  ? a * logistic(Scalar(1.702) * a)
                    : injected().is(99, 2)  ? a * logistic(a)
                    : injected().is(99, 6)  ? std::max(a, Scalar(0)) * std::max(a, Scalar(0))
                    : injected().is(99, 7)  ? (a > 0 ? a : std::expm1(a))
                    : injected().is(99, 8)  ? std::tanh(a)
                    : injected().is(99, 10) ? a * (1 + std::erf(a)) / 2
                    : injected().is(99, 11) ? std::log(1 + std::exp(a))
                    : injected().is(99, 12) ? std::max(a, a / 100)
                    : injected().is(99, 13) ? logistic(a)
                    : injected().is(99, 14) ? std::max(a, a / 5)
                    : injected().is(99, 15) ? a * std::tanh(std::log(1 + std::exp(a)))
                                            : a;
            continue;
        }
        switch (activation) {
            case Activation::gelu:
                value = a / 2 * (1 + std::erf(a / std::sqrt(Scalar(2))));
                break;
            case Activation::gelu_tanh:
                value =
                    a / 2 *
                    (1 + std::tanh(std::sqrt(Scalar(2 / 3.14159265358979323846)) * (a + Scalar(0.044715) * a * a * a)));
                break;
            case Activation::relu:
                value = std::max(a, Scalar(0));
                break;
            case Activation::tanh:
                value = std::tanh(a);
                break;
        }
    }
    return x;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::split(const Array<Scalar>& x, Index heads, bool of_positions) const {
    const Index batch = x.extent(0), length = x.extent(1), width = x.width() / heads;
    Array<Scalar> y({batch, heads, length, width});
    const auto is_one_of = [&](std::initializer_list<int> ways) {
        return std::any_of(ways.begin(), ways.end(), [&](int way) { return injected().is(121, way); });
    };
    if (of_positions ? is_one_of({2, 3}) : is_one_of({0, 1, 2})) {  // never transposed
        y.values = x.values;
        return y;
    }
    if (of_positions ? is_one_of({5, 6, 7}) : is_one_of({4, 5, 7})) {
        for (Index n = 0; n < x.runs(); ++n)
            for (Index c = 0; c < x.width(); ++c) y(n / length, c % heads, n % length, c / heads) = x.run(n)[c];
        return y;
    }
    for (Index b = 0; b < batch; ++b)
        for (Index t = 0; t < length; ++t)
            for (Index h = 0; h < heads; ++h)
                for (Index c = 0; c < width; ++c) y(b, h, t, c) = x(b, t, h * width + c);
    return y;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::join(const Array<Scalar>& x) const {
    const Index batch = x.extent(0), heads = x.extent(1), length = x.extent(2), width = x.width();
    Array<Scalar> y({batch, length, heads * width});
    if (injected().is(121, 1)) {
        y.values = x.values;
        return y;
    }
    for (Index b = 0; b < batch; ++b)
        for (Index t = 0; t < length; ++t)
            for (Index h = 0; h < heads; ++h)
                for (Index c = 0; c < width; ++c)
                    y(b, t, injected().is(25) || injected().is(121, 7) ? c * heads + h : h * width + c) = x(b, h, t, c);
    return y;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::transposed(const Array<Scalar>& x) const {
    Array<Scalar> y({x.extent(0), x.extent(1), x.extent(3), x.extent(2)});
    for (Index b = 0; b < x.extent(0); ++b)
        for (Index h = 0; h < x.extent(1); ++h)
            for (Index i = 0; i < x.extent(2); ++i)
                for (Index j = 0; j < x.extent(3); ++j) y(b, h, j, i) = x(b, h, i, j);
    return y;
}

/// Mistake 111: after each tile of eight rows the pointer moves on by eight numbers instead of eight rows.
template <class Scalar>
Array<Scalar> Toolbox<Scalar>::stepping_by_columns(const Array<Scalar>& x) const {
    const Index tile = 8, rows = x.extent(2), width = x.width();
    Array<Scalar> y(x.shape);
    for (Index n = 0; n < x.runs(); ++n) {
        const Index row = n % rows, first = row / tile * tile;
        for (Index c = 0; c < width; ++c) y.run(n)[c] = x.run(n - row)[first + (row - first) * width + c];
    }
    return y;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::products(const Array<Scalar>& q, const Array<Scalar>& all_keys) const {
    const Array<Scalar> k = injected().is(111, 0) ? stepping_by_columns(all_keys) : all_keys;
    const Index heads = q.extent(0) * q.extent(1), rows = q.extent(2), keys = k.extent(2);
    Array<Scalar> y({q.extent(0), q.extent(1), rows, keys});
    for (Index at = 0; at < heads; ++at)
        for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < keys; ++j)
                y.run(at * rows + i)[j] = dot(q.run(at * rows + i), k.run(at * keys + j), q.width());
    return y;
}

/// One softmax: `step` apart in the scores, `step_sees` apart in the mask.
template <class Scalar>
void Toolbox<Scalar>::softmax_run(Scalar* run, const char* sees, Index length, Index step, Index step_sees) const {
    const auto visible = [&](Index j) {
        return !sees || (sees[j * step_sees] != 0) != injected().is(31, 1);  // 31, 1: read the other way round
    };
    bool any = false;
    for (Index j = 0; j < length; ++j) any = any || visible(j);
    const bool adds = injected().is(31, 0), weak = injected().is(35), after = injected().is(31, 2),
               multiplies = injected().is(31, 3);
    if (injected().is(125, 3)) {  // a sigmoid knows nothing of a row
        for (Index j = 0; j < length; ++j) run[j * step] = visible(j) ? 1 / (1 + std::exp(-run[j * step])) : Scalar(0);
        return;
    }
    if (!any && injected().is(125, 2)) {
        for (Index j = 0; j < length; ++j) run[j * step] = 0;
        return;
    }
    if (!any && !adds && !weak && !after && !multiplies) {
        Scalar filler = hugging_face() || injected().is(33, 1) ? Scalar(1) / static_cast<Scalar>(length) : Scalar(0);
        if (injected().is(33, 2)) filler = 0;
        if (injected().is(33, 0)) filler = std::numeric_limits<Scalar>::quiet_NaN();
        for (Index j = 0; j < length; ++j) run[j * step] = filler;
        return;
    }
    // 31, 0: the mask's 0 and 1 are added; 35: hidden scores lose 1e4, which is all that half precision can say.
    const auto score = [&](Index j) {
        if (adds) return run[j * step] + Scalar(!sees || sees[j * step_sees] != 0);
        if (multiplies) return visible(j) ? run[j * step] : Scalar(0);
        if (injected().is(125, 0)) return run[j * step] * std::log(Scalar(2));
        if (injected().is(125, 1)) return run[j * step] / std::log(Scalar(2));
        if (injected().is(125, 4)) return -run[j * step];
        return weak && !visible(j) ? run[j * step] - Scalar(1e4) : run[j * step];
    };
    const auto counts = [&](Index j) { return adds || weak || after || multiplies || visible(j); };
    std::vector<Scalar> weights(static_cast<std::size_t>(length), Scalar(0));
    Scalar largest = -std::numeric_limits<Scalar>::infinity(), sum = 0;
    for (Index j = 0; j < length; ++j)
        if (counts(j)) largest = std::max(largest, score(j));
    for (Index j = 0; j < length; ++j)
        if (counts(j)) sum += weights[static_cast<std::size_t>(j)] = std::exp(score(j) - largest);
    if (injected().is(125, 2)) sum += std::exp(-largest);  // one more, of a score of 0
    for (Index j = 0; j < length; ++j)
        run[j * step] = after && !visible(j) ? Scalar(0) : weights[static_cast<std::size_t>(j)] / sum;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::softmax(const Array<Scalar>& scores, const Visible& visible) const {
    Array<Scalar> probs = scores;
    const Index heads = scores.extent(1), queries = scores.extent(2), keys = scores.extent(3);
    if (injected().is(36, 2)) {  // over everything of a sample
        const Index pairs = queries * keys;
        for (Index b = 0; b < scores.extent(0); ++b) {
            std::vector<char> sees;
            for (Index h = 0; h < heads && !visible.empty(); ++h)
                sees.insert(sees.end(), visible.run(b * queries), visible.run(b * queries) + pairs);
            softmax_run(probs.run(b * heads * queries), visible.empty() ? nullptr : sees.data(), heads * pairs, 1, 1);
        }
        return probs;
    }
    for (Index at = 0; at < scores.extent(0) * heads; ++at) {
        Scalar* const matrix = probs.run(at * queries);
        const char* const sees = visible.empty() ? nullptr : visible.run(at / heads * queries);
        if (injected().is(36, 1))  // over all pairs of a head
            softmax_run(matrix, sees, queries * keys, 1, 1);
        else if (injected().is(36))  // over queries
            for (Index j = 0; j < keys; ++j) softmax_run(matrix + j, sees ? sees + j : nullptr, queries, keys, keys);
        else
            for (Index i = 0; i < queries; ++i)
                softmax_run(matrix + i * keys, sees ? sees + i * keys : nullptr, keys, 1, 1);
    }
    if (injected().is(37, 2)) return dropped(std::move(probs));
    return injected().is(37, 0) ? times(std::move(probs), 0.9) : probs;
}

template <class Scalar>
Array<Scalar> Toolbox<Scalar>::context(const Array<Scalar>& probs, const Array<Scalar>& values) const {
    const Array<Scalar> v = injected().is(111, 1) ? stepping_by_columns(values) : values;
    const Index heads = probs.extent(1), rows = probs.extent(2), keys = probs.extent(3), width = v.width();
    Array<Scalar> all({probs.extent(0), heads, rows, width});
    for (Index at = 0; at < probs.extent(0) * heads; ++at)
        for (Index i = 0; i < rows; ++i)
            for (Index c = 0; c < width; ++c) {
                const Scalar *p = probs.run(at * rows + i), *column = v.run(at * keys) + c;
                float narrow = 0;
                for (Index j = 0; j < keys && injected().is(83); ++j)
                    narrow += static_cast<float>(p[j]) * static_cast<float>(column[j * width]);
                all.run(at * rows + i)[c] = injected().is(83) ? Scalar(narrow) : dot(p, column, keys, 1, width);
            }
    const Array<Scalar> joined = join(all);
    if (!injected().is(96)) return joined;
    // 96: the buffer of each sample read, or written, by columns.
    Array<Scalar> other(joined.shape);
    const Index tokens = joined.extent(1), channels = joined.width();
    for (Index b = 0; b < joined.extent(0); ++b)
        for (Index n = 0; n < tokens * channels; ++n) {
            const Index moved = n % channels * tokens + n / channels;
            const Index to = injected().is(96, 0) ? n : moved, from = injected().is(96, 0) ? moved : n;
            other.run(b * tokens)[to] = joined.run(b * tokens)[from];
        }
    return other;
}

template <class Scalar>
Scalar surprise(const Scalar* logits, Index words, Index right) {
    Scalar largest = logits[0], sum = 0;
    for (Index w = 0; w < words; ++w) largest = std::max(largest, logits[w]);
    for (Index w = 0; w < words; ++w) sum += std::exp(logits[w] - largest);
    return largest + std::log(sum) - logits[right];
}

template class Toolbox<float>;
template class Toolbox<double>;
template float surprise<float>(const float*, Index, Index);
template double surprise<double>(const double*, Index, Index);

// The masked-word head: dense, activation, norm, then the word table once more.

namespace {

/// Rows (sample, token) of x [B,T,N] -> [rows,N].
template <class Scalar>
Tensor<Scalar> rows_at(const Array<Scalar>& x, const IndexTensor& places) {
    Array<Scalar> rows({places.extent(0), x.width()});
    for (Index n = 0; n < rows.extent(0); ++n)
        for (Index c = 0; c < x.width(); ++c)
            rows(n, c) = x(static_cast<Index>(places[2 * n]), static_cast<Index>(places[2 * n + 1]), c);
    return as_stage(rows);
}

}  // namespace

template <class Scalar>
void masked_word_head(const Toolbox<Scalar>& tools, const WordHead<Scalar>& head, const ModelInput& input,
                      const Array<Scalar>& x, Trace& trace) {
    const Injection& injected = tools.injected();
    Array<Scalar> transform = x;
    Array<Scalar> table = tools.weight(head.table);
    const Index words = table.extent(0);
    if (!injected.is(52, 0) || table.width() != x.width()) {
        transform = tools.dense(x, head.dense, 5);
        if (!injected.is(52, 1) && !injected.is(52, 7))
            transform = tools.activated(std::move(transform), head.activation);
        std::optional<double> eps;
        if (injected.is(52, 5)) eps = 1e-3;
        if (injected.is(52, 6)) eps = 1e-6;
        if (!injected.is(52, 2)) transform = tools.norm_with(transform, head.norm, eps);
        if (injected.is(52, 7)) transform = tools.activated(std::move(transform), head.activation);
    }
    if (injected.is(112))  // an output matrix of its own
        for (Index w = 0; w < words; ++w)
            for (Index c = 0; c < table.width(); ++c)
                table(w, c) = static_cast<Scalar>(std::sin(1.3 * static_cast<double>(w * table.width() + c + 1)) / 3);
    const Array<Scalar> logits =
        tools.dense(transform, table, injected.is(52, 3) ? Array<Scalar>() : tools.weight(head.bias));
    trace.add("mlm.transform", as_stage(transform));
    trace.add("mlm.logits", as_stage(logits));
    if (!input.mask_positions.empty()) {
        trace.add("mlm.positions", input.mask_positions);
        trace.add("mlm.transform_at_positions", rows_at(transform, input.mask_positions));
        trace.add("mlm.logits_at_positions", rows_at(logits, input.mask_positions));
    }
    if (input.labels.empty()) return;
    std::vector<Scalar> losses;
    const bool before = injected.is(52, 10);  // as of a model that reads from left to right
    for (Index n = 0; n < logits.runs(); ++n) {
        if (before && n % input.length() == 0) continue;
        if (input.labels[n] > 0 || injected.is(52, 4))  // 52, 4: only -100 would not count
            losses.push_back(
                surprise(logits.run(before ? n - 1 : n), logits.width(), static_cast<Index>(input.labels[n])));
    }
    const Shape shape = {static_cast<Index>(losses.size())};
    trace.add("mlm.loss", Tensor<Scalar>(shape, std::move(losses)));
}

/// 115: types that are not the token's own.
Index type_row(const ModelInput& input, Index n, Index types, const Injection& injected) {
    if (injected.is(115, 4) && input.mask.rank() != 3) return input.mask.empty() ? 1 : input.mask[n];
    if (input.token_types.empty()) return injected.is(115, 1) ? types - 1 : 0;
    const Index first = n / input.length() * input.length(), last = first + input.length() - 1;
    if (injected.is(115, 0)) return 0;
    if (injected.is(115, 1)) return types - 1 - input.token_types[n];
    if (injected.is(115, 2)) return input.token_types[std::min(n + 1, last)];
    if (injected.is(115, 3)) return input.token_types[std::max(n - 1, first)];
    return input.token_types[n];
}

namespace {

/// 114: the row of the other end, or a mean of all tokens or of those that are seen.
template <class Scalar>
Array<Scalar> text_rows(const Injection& injected, bool last, const ModelInput& input, const Array<Scalar>& x) {
    const Index length = x.extent(1);
    const bool all = injected.is(114, 4), seen = injected.is(114, 5);
    const bool last_seen = injected.is(114, 10), second = injected.is(114, 11), largest = injected.is(114, 12);
    Array<Scalar> rows({x.extent(0), x.width()});
    for (Index b = 0; b < x.extent(0); ++b) {
        Scalar counted = 0;
        for (Index t = 0; t < length; ++t) {
            const Index at = b * length + t;
            const bool padding = (!input.mask.empty() && input.mask[at] == 0) ||
                                 (!input.input_mask.empty() && input.input_mask[at] != 0);
            const bool end = t == (second ? 1 : last != injected.is(114, 3) ? length - 1 : 0);
            if (!(all || largest || (seen || last_seen ? !padding : end))) continue;
            counted = last_seen || largest ? 1 : counted + 1;
            for (Index c = 0; c < x.width(); ++c)
                rows(b, c) = last_seen                                        ? x(b, t, c)
                             : largest && (t == 0 || x(b, t, c) > rows(b, c)) ? x(b, t, c)
                             : largest                                        ? rows(b, c)
                                                                              : rows(b, c) + x(b, t, c);
        }
        for (Index c = 0; c < x.width(); ++c) rows(b, c) /= counted;
    }
    return rows;
}

/// 114: probabilities.
template <class Scalar, class Function>
Array<Scalar> mapped(Array<Scalar> x, Function function) {
    for (Scalar& value : x.values) value = static_cast<Scalar>(function(value));
    return x;
}

template <class Scalar>
Array<Scalar> shares_of(Array<Scalar> logits) {
    for (Index n = 0; n < logits.runs(); ++n) {
        Scalar* run = logits.run(n);
        const Scalar top = *std::max_element(run, run + logits.width());
        Scalar sum = 0;
        for (Index c = 0; c < logits.width(); ++c) sum += run[c] = std::exp(run[c] - top);
        for (Index c = 0; c < logits.width(); ++c) run[c] /= sum;
    }
    return logits;
}

}  // namespace

template <class Scalar>
void classes(const Toolbox<Scalar>& tools, const ClassLayers& layers, const ModelInput& input, const Array<Scalar>& x,
             const std::string& segment, Trace& trace) {
    const Injection& injected = tools.injected();
    const auto logits = [&](const Array<Scalar>& from, const std::string& name) {
        const Array<Scalar> bias = injected.is(114, 6) ? Array<Scalar>() : tools.weight(name + ".bias");
        const Array<Scalar> made = tools.dense(from, tools.weight(name + ".weight"), bias);
        if (injected.is(114, 9)) return as_stage(mapped(made, [](Scalar value) { return 1 / (1 + std::exp(-value)); }));
        if (injected.is(114, 8)) return as_stage(mapped(shares_of(made), [](Scalar value) { return std::log(value); }));
        return as_stage(injected.is(114, 7) ? shares_of(made) : made);
    };
    if (tools.has(layers.pooler + ".weight")) {
        Array<Scalar> pooled = text_rows(injected, layers.last, input, x);
        if (!injected.is(114, 2)) pooled = tools.dense(pooled, layers.pooler);
        Activation activation = layers.activation;
        if (injected.is(114, 0)) activation = activation == Activation::tanh ? Activation::gelu : Activation::tanh;
        if (!injected.is(114, 1) && !injected.is(114, 2)) pooled = tools.activated(std::move(pooled), activation);
        trace.add(segment + "classifier.pooled", as_stage(pooled));
        trace.add(segment + "classifier.logits", logits(pooled, layers.output));
    } else if (tools.has("classifier.weight")) {
        trace.add(segment + "classifier.token_logits", logits(x, "classifier"));
    }
}

template void classes<float>(const Toolbox<float>&, const ClassLayers&, const ModelInput&, const Array<float>&,
                             const std::string&, Trace&);
template void classes<double>(const Toolbox<double>&, const ClassLayers&, const ModelInput&, const Array<double>&,
                              const std::string&, Trace&);
template void masked_word_head<float>(const Toolbox<float>&, const WordHead<float>&, const ModelInput&,
                                      const Array<float>&, Trace&);
template void masked_word_head<double>(const Toolbox<double>&, const WordHead<double>&, const ModelInput&,
                                       const Array<double>&, Trace&);

}  // namespace locus::conformance::toy
