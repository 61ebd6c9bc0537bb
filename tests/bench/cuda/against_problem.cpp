#include "tests/bench/cuda/against_problem.h"

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/products.h"
#include "cuda/fused/half_types.h"

namespace locus::bench {

namespace {

float rounded(float x, cuda::FusedPrecision precision) {
    switch (precision) {
        case cuda::FusedPrecision::f16:
            return cuda::to_float(cuda::from_float<cuda::Half>(x));
        case cuda::FusedPrecision::bf16:
            return cuda::to_float(cuda::from_float<cuda::Bfloat16>(x));
        default:
            return x;
    }
}

/// Sentences of 8 to `longest` tokens, short ones more often, the first one the longest.
std::vector<Index> uneven_lengths(int samples, int longest, std::mt19937& generator) {
    std::vector<Index> lengths = {longest};
    std::geometric_distribution<int> more(3.0 / longest);
    while (static_cast<int>(lengths.size()) < samples)
        lengths.push_back(std::min(longest, std::min(longest, 8) + more(generator)));
    return lengths;
}

template <class Scalar>
void append(std::vector<Scalar>& to, const Matrix<Scalar>& rows) {
    to.insert(to.end(), rows.data(), rows.data() + rows.size());
}

template <class Scalar>
void add(std::vector<Scalar>& to, const Matrix<Scalar>& rows) {
    to.resize(static_cast<std::size_t>(rows.size()));
    for (std::size_t n = 0; n < to.size(); ++n) to[n] += rows.data()[n];
}

}  // namespace

AgainstProblem::AgainstProblem(const AgainstShape& shape, cuda::FusedPrecision precision) : shape_(shape) {
    std::mt19937 generator(static_cast<unsigned>(shape.tokens));
    std::normal_distribution<float> normal;
    Index samples = shape.batch, tokens = shape.tokens;
    if (shape.packed()) {
        input_.lengths = uneven_lengths(shape.batch, shape.tokens, generator);
        samples = 1;
        tokens = 0;
        for (const Index length : input_.lengths) tokens += length;
    }
    const Shape of_tokens = {samples, shape.heads, tokens, shape.width},
                of_table = {shape.heads, 2 * shape.span, shape.width};
    const auto random = [&](const Shape& of) {
        Tensor<float> made{Shape(of)};
        for (Index n = 0; n < made.size(); ++n) made[n] = rounded(normal(generator), precision);
        return made;
    };
    for (Tensor<float>* one : {&input_.q, &input_.k, &input_.v}) *one = random(of_tokens);
    for (Tensor<float>* one : {&input_.k_r, &input_.q_r}) *one = random(of_table);
    if (shape.backward()) d_context_ = random(of_tokens);
    input_.scale = static_cast<float>(1 / std::sqrt(3.0 * shape.width));
}

RelativeBuckets AgainstProblem::buckets(Index tokens) const {
    return shape_.max_position > 0
               ? RelativeBuckets::logarithmic(tokens, tokens, shape_.span, shape_.max_position, OffsetClamp::hf)
               : RelativeBuckets::clamped(tokens, tokens, shape_.span);
}

std::map<std::string, std::uint32_t> AgainstProblem::write(const std::filesystem::path& folder) const {
    std::map<std::string, std::uint32_t> sums;
    const auto write_one = [&](const char* name, const Tensor<float>& tensor) {
        const auto bytes = static_cast<std::size_t>(tensor.size()) * sizeof(float);
        std::ofstream file(folder / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(tensor.data()), static_cast<std::streamsize>(bytes));
        if (!file.flush()) throw Error(Fault::unreadable, (folder / name).string() + " cannot be written");
        sums[name] = crc32(tensor.data(), bytes);
    };
    write_one("q", input_.q), write_one("k", input_.k), write_one("v", input_.v);
    write_one("k_r", input_.k_r), write_one("q_r", input_.q_r);
    if (shape_.backward()) write_one("d_context", d_context_);
    return sums;
}

template <class Scalar>
HeadRows<Scalar> AgainstProblem::head(Index h, bool positions) const {
    HeadRows<Scalar> found;
    const auto samples = static_cast<Index>(shape_.packed() ? input_.lengths.size() : shape_.batch);
    Index first = 0;
    for (Index b = 0; b < samples; ++b) {
        const Index length = shape_.packed() ? input_.lengths[static_cast<std::size_t>(b)] : shape_.tokens;
        const Index at = shape_.packed() ? h : b * shape_.heads + h;
        const auto rows = [&](const Tensor<float>& tensor) {
            return Matrix<Scalar>(tensor.matrix(at).middleRows(first, length).cast<Scalar>());
        };
        DisentangledHead<Scalar> head;
        head.q = rows(input_.q);
        head.k = rows(input_.k);
        head.v = rows(input_.v);
        head.divisor = score_divisor<Scalar>(3, shape_.width);
        const RelativeBuckets pairs = buckets(length);
        Matrix<Scalar> scores = content_to_content<Scalar>(head.q, head.k);
        if (positions) {
            head.k_r = input_.k_r.matrix(h).template cast<Scalar>();
            head.q_r = input_.q_r.matrix(h).template cast<Scalar>();
            scores += content_to_position<Scalar>(head.q, head.k_r, pairs);
            scores += position_to_content<Scalar>(head.k, head.q_r, pairs);
        }
        scores /= head.divisor;
        head.probs = masked_softmax<Scalar>(scores, Mask());
        if (shape_.packed()) first += length;
        if (!shape_.backward()) {
            append<Scalar>(found["context"], times<Scalar>(head.probs, head.v));
            continue;
        }
        const DisentangledGradients<Scalar> grad = disentangled_backward<Scalar>(head, pairs, rows(d_context_));
        append(found["q"], grad.q), append(found["k"], grad.k), append(found["v"], grad.v);
        if (positions) add(found["k_r"], grad.k_r), add(found["q_r"], grad.q_r);
    }
    return found;
}

template HeadRows<float> AgainstProblem::head<float>(Index, bool) const;
template HeadRows<double> AgainstProblem::head<double>(Index, bool) const;

HeadRows<float> AgainstProblem::head_of(const Tensor<float>& context, Index h) const {
    HeadRows<float> found;
    for (Index b = 0; b < context.extent(0); ++b) append<float>(found["context"], context.matrix(b * shape_.heads + h));
    return found;
}

HeadRows<float> AgainstProblem::head_of(const cuda::FusedGradients& gradients, Index h) const {
    HeadRows<float> found;
    for (Index b = 0; b < shape_.batch; ++b) {
        append<float>(found["q"], gradients.q.matrix(b * shape_.heads + h));
        append<float>(found["k"], gradients.k.matrix(b * shape_.heads + h));
        append<float>(found["v"], gradients.v.matrix(b * shape_.heads + h));
    }
    add<float>(found["k_r"], gradients.k_r.matrix(h));
    add<float>(found["q_r"], gradients.q_r.matrix(h));
    return found;
}

double relative_error(const HeadRows<float>& found, const HeadRows<double>& expected) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    double worst = expected.empty() ? kInfinite : 0;
    for (const auto& [name, numbers] : expected) {
        const auto at = found.find(name);
        if (numbers.empty() || at == found.end() || at->second.size() != numbers.size()) return kInfinite;
        double largest = 0, difference = 0;
        for (std::size_t n = 0; n < numbers.size(); ++n) {
            if (!std::isfinite(at->second[n]) || !std::isfinite(numbers[n])) return kInfinite;
            largest = std::max(largest, std::abs(numbers[n]));
            difference = std::max(difference, std::abs(static_cast<double>(at->second[n]) - numbers[n]));
        }
        if (difference > 0) worst = std::max(worst, difference / largest);
    }
    return worst;
}

std::uint32_t crc32(const void* bytes, std::size_t count) {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t n = 0; n < 256; ++n) {
            std::uint32_t x = n;
            for (int bit = 0; bit < 8; ++bit) x = (x >> 1) ^ (x & 1 ? 0xedb88320u : 0u);
            made[n] = x;
        }
        return made;
    }();
    std::uint32_t sum = 0xffffffffu;
    for (const auto* at = static_cast<const unsigned char*>(bytes); count > 0; --count, ++at)
        sum = (sum >> 8) ^ table[(sum ^ *at) & 0xffu];
    return sum ^ 0xffffffffu;
}

}  // namespace locus::bench
