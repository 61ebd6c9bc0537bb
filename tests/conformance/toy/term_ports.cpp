#include "tests/conformance/toy/term_ports.h"

#include <cmath>

#include "core/io/safetensors.h"

namespace locus::conformance::toy {

template <class Scalar>
Given<Scalar>::Given(const KitCase& one) : inputs_(read_trace(one.folder / "inputs.safetensors")) {}

template <class Scalar>
Array<Scalar> Given<Scalar>::operator()(const std::string& name) const {
    const Stage& stage = inputs_.at(name);
    Array<Scalar> values(stage.shape());
    for (Index n = 0; n < stage.size(); ++n)
        values.values[static_cast<std::size_t>(n)] = static_cast<Scalar>(stage.at(n));
    return values;
}

template <class Scalar>
Array<char> Given<Scalar>::visible() const {
    const Stage& stage = inputs_.at("mask");
    Array<char> values(stage.shape());
    for (Index n = 0; n < stage.size(); ++n) values.values[static_cast<std::size_t>(n)] = stage.at(n) != 0;
    return values;
}

namespace {

/// Neighbours of a row turned by position / 10000^(2t/d).
template <class Scalar>
void turn(Scalar* row, Index width, Index position) {
    for (Index t = 0; 2 * t < width; ++t) {
        const double angle = double(position) * std::pow(10000.0, -2 * double(t) / double(width));
        const auto s = static_cast<Scalar>(std::sin(angle)), c = static_cast<Scalar>(std::cos(angle));
        const Scalar a = row[2 * t], b = row[2 * t + 1];
        row[2 * t] = a * c - b * s;
        row[2 * t + 1] = b * c + a * s;
    }
}

template <class Scalar>
Scalar dot(const Scalar* a, const Scalar* b, Index width) {
    Scalar sum = 0;
    for (Index c = 0; c < width; ++c) sum += a[c] * b[c];
    return sum;
}

/// Max over all keys, hidden ones too, taken away in a type of few digits.
template <class Scalar>
Scalar shortened(Scalar value, int variant) {
    if (variant == 1) return static_cast<Scalar>(static_cast<float>(Eigen::half(static_cast<float>(value))));
    if (variant == 2) return static_cast<Scalar>(static_cast<float>(Eigen::bfloat16(static_cast<float>(value))));
    return value;
}

}  // namespace

template <class Scalar>
Trace run_cached_rotation(const KitCase& one, const Slip& slip) {
    const Given<Scalar> given(one);
    Array<Scalar> q = given("layer.0.q"), k = given("layer.0.k");
    const Index fresh = q.extent(2), keys = k.extent(2), past = keys - fresh;
    const auto place = [&](Index m, bool wrong) { return m < past || !wrong ? m : slip.is(63, 3) ? 0 : m - past; };
    for (Index n = 0; n < q.runs(); ++n)
        turn(q.run(n), q.width(), place(past + n % fresh, slip.is(63) && !slip.is(63, 1)));
    for (Index n = 0; n < k.runs(); ++n) turn(k.run(n), k.width(), place(n % keys, slip.is(63) && !slip.is(63, 0)));
    Array<Scalar> scores({q.extent(0), q.extent(1), fresh, keys});
    for (Index n = 0; n < q.runs(); ++n)
        for (Index j = 0; j < keys; ++j)
            scores.run(n)[j] = dot(q.run(n), k.run(n / fresh * keys + j), q.width()) /
                               static_cast<Scalar>(std::sqrt(double(q.width())));
    Trace trace{StageFilter{}, Scheme::rotary};
    trace.add("layer.0.q_rot", as_stage(q));
    trace.add("layer.0.k_rot", as_stage(k));
    trace.add("layer.0.scores", as_stage(scores));
    return trace;
}

template <class Scalar>
Trace run_softmax(const KitCase& one, const Slip& slip) {
    const Given<Scalar> given(one);
    Array<Scalar> scores = given("layer.0.scores");
    const Array<char> visible = given.visible();
    const Index heads = scores.extent(1), queries = scores.extent(2), keys = scores.extent(3);
    Array<Scalar> probs(scores.shape);
    for (Index n = 0; n < scores.runs(); ++n) {
        Scalar* row = scores.run(n);
        const char* sees = visible.run(n / (heads * queries) * queries + n % queries);
        if (slip.is(34)) {
            const Scalar maximum = shortened(*std::max_element(row, row + keys), slip.variant);
            for (Index j = 0; j < keys; ++j)
                row[j] = shortened(shortened(row[j], slip.variant) - maximum, slip.variant);
        }
        Scalar most = -std::numeric_limits<Scalar>::infinity(), sum = 0;
        for (Index j = 0; j < keys; ++j)
            if (sees[j]) most = std::max(most, row[j]);
        for (Index j = 0; j < keys; ++j)
            if (sees[j]) sum += std::exp(row[j] - most);
        for (Index j = 0; j < keys; ++j)
            if (sees[j]) probs.run(n)[j] = std::exp(row[j] - most) / sum;
    }
    Trace trace;
    trace.add("layer.0.probs", as_stage(probs));
    return trace;
}

template <class Scalar>
Trace run_term(const KitCase& one, const Slip& slip) {
    const std::string kind = one.config.value("kind", "");
    if (kind == "linear_attention") return run_linear<Scalar>(one, slip);
    if (kind == "rotary_cache") return run_cached_rotation<Scalar>(one, slip);
    if (one.id == "L1/softmax_huge_hidden") return run_softmax<Scalar>(one, slip);
    LOCUS_CHECK(one.config.contains("span") || one.config.contains("position_buckets"),
                "toy ports: " + one.id + " is no term that they compute");
    return run_disentangled<Scalar>(one, slip);
}

template class Given<float>;
template class Given<double>;
template Trace run_cached_rotation<float>(const KitCase&, const Slip&);
template Trace run_cached_rotation<double>(const KitCase&, const Slip&);
template Trace run_softmax<float>(const KitCase&, const Slip&);
template Trace run_softmax<double>(const KitCase&, const Slip&);
template Trace run_term<float>(const KitCase&, const Slip&);
template Trace run_term<double>(const KitCase&, const Slip&);

}  // namespace locus::conformance::toy
