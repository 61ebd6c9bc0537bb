// How our kernels are compared with those of others: the tensors, the reference of one head, the error, and which peers
// count.  No
// device is needed.
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/products.h"
#include "cuda/fused/half_types.h"
#include "tests/bench/cuda/against.h"
#include "tests/bench/cuda/against_problem.h"

namespace locus::test::test_cuda_against {

using namespace locus::bench;
using nlohmann::ordered_json;

namespace {

const AgainstShape kForward{"forward", 2, 3, 20, 8, 4, 8, {}};
const AgainstShape kPacked{"packed forward", 4, 2, 12, 8, 4, 0, {}};
const AgainstShape kBackward{"backward", 2, 2, 11, 8, 4, 0, {}};

/// One context cell by the definition alone: a loop over all keys.
double naive_context(const AgainstProblem& problem, Index b, Index h, Index i, Index c, bool positions) {
    const AgainstShape& shape = problem.shape();
    const auto q = problem.input().q.matrix(b * shape.heads + h), k = problem.input().k.matrix(b * shape.heads + h),
               v = problem.input().v.matrix(b * shape.heads + h), k_r = problem.input().k_r.matrix(h),
               q_r = problem.input().q_r.matrix(h);
    const RelativeBuckets buckets = problem.longest_buckets();
    double weighed = 0, all = 0;
    for (Index j = 0; j < shape.tokens; ++j) {
        double score = 0;
        for (Index e = 0; e < shape.width; ++e) {
            score += double(q(i, e)) * k(j, e);
            if (positions)
                score += double(q(i, e)) * k_r(buckets.row(i, j), e) + double(k(j, e)) * q_r(buckets.row(i, j), e);
        }
        const double weight = std::exp(score / std::sqrt(3.0 * shape.width));
        weighed += weight * v(j, c);
        all += weight;
    }
    return weighed / all;
}

ordered_json way(const char* name, double ms, double error, bool positions = true) {
    return {{"name", name}, {"ms", ms}, {"error", error}, {"positions", positions}};
}

}  // namespace

TEST_CASE("emulation: CRC-32 is zlib's", "[emulation]") {
    CHECK(crc32("123456789", 9) == 0xcbf43926u);
    CHECK(crc32("", 0) == 0);
}

TEST_CASE("emulation: peers are given numbers that their format has exactly, and ours are the same", "[emulation]") {
    const AgainstProblem bf16(kBackward, cuda::FusedPrecision::bf16), f16(kBackward, cuda::FusedPrecision::f16);
    for (const Tensor<float>* one : {&bf16.input().q, &bf16.input().k_r, &bf16.d_context()})
        for (Index n = 0; n < one->size(); ++n)
            CHECK(cuda::to_float(cuda::from_float<cuda::Bfloat16>((*one)[n])) == (*one)[n]);
    bool finer = false;  // than bfloat16 has
    for (Index n = 0; n < f16.input().v.size(); ++n) {
        const float x = f16.input().v[n];
        CHECK(cuda::to_float(cuda::from_float<cuda::Half>(x)) == x);
        finer = finer || cuda::to_float(cuda::from_float<cuda::Bfloat16>(x)) != x;
    }
    CHECK(finer);
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "locus-against-test";
    std::filesystem::create_directories(folder);
    const auto sums = bf16.write(folder);
    CHECK(sums.size() == 6);
    std::vector<float> read(static_cast<std::size_t>(bf16.input().k.size()));
    std::ifstream(folder / "k", std::ios::binary)
        .read(reinterpret_cast<char*>(read.data()), static_cast<std::streamsize>(read.size() * sizeof(float)));
    CHECK(std::equal(read.begin(), read.end(), bf16.input().k.data()));
    CHECK(sums.at("k") == crc32(read.data(), read.size() * sizeof(float)));
    std::filesystem::remove_all(folder);
    CHECK_THROWS_AS(bf16.write(folder), Error);
}

TEST_CASE("emulation: the truth about a head is the definition, with positions and without", "[emulation]") {
    const AgainstProblem problem(kForward, cuda::FusedPrecision::bf16);
    for (const bool positions : {true, false}) {
        const std::vector<double> found = problem.head<double>(1, positions).at("context");
        REQUIRE(found.size() == 2 * 20 * 8);
        for (Index b = 0; b < 2; ++b)
            for (Index i = 0; i < 20; ++i)
                for (Index c = 0; c < 8; ++c)
                    CHECK(found[static_cast<std::size_t>((b * 20 + i) * 8 + c)] ==
                          Approx(naive_context(problem, b, 1, i, c, positions)).epsilon(1e-12));
    }
}

TEST_CASE("emulation: a head of a whole context is that head, padded and packed", "[emulation]") {
    for (const AgainstShape& shape : {kForward, kPacked}) {
        const AgainstProblem problem(shape, cuda::FusedPrecision::bf16);
        const Tensor<float>& whole = problem.input().v;  // any tensor of the context's shape
        for (Index h = 0; h < shape.heads; ++h) {
            const std::vector<float> found = problem.head_of(whole, h).at("context");
            std::vector<float> expected;
            for (Index b = 0; b < whole.extent(0); ++b)
                for (Index i = 0; i < whole.extent(2); ++i)
                    for (Index c = 0; c < whole.extent(3); ++c)
                        expected.push_back(whole.matrix(b * shape.heads + h)(i, c));
            CHECK(found == expected);
        }
    }
}

TEST_CASE("emulation: packed samples are uneven, lie one after the other and know nothing of each other",
          "[emulation]") {
    const AgainstProblem packed(kPacked, cuda::FusedPrecision::bf16);
    const std::vector<Index>& lengths = packed.input().lengths;
    REQUIRE(lengths.size() == 4);
    CHECK(*std::max_element(lengths.begin(), lengths.end()) == 12);
    CHECK(*std::min_element(lengths.begin(), lengths.end()) >= 8);
    Index tokens = 0;
    for (const Index length : lengths) tokens += length;
    CHECK(packed.input().q.shape() == Shape{1, 2, tokens, 8});
    // The last sample as a problem of its own.
    const Index last = lengths.back();
    const auto rows = [&](const Tensor<float>& tensor) {
        return Matrix<double>(tensor.matrix(1).bottomRows(last).cast<double>());
    };
    const RelativeBuckets buckets = packed.buckets(last);
    Matrix<double> scores = times_transposed<double>(rows(packed.input().q), rows(packed.input().k));
    for (Index i = 0; i < last; ++i)
        for (Index j = 0; j < last; ++j)
            scores(i, j) +=
                rows(packed.input().q).row(i).dot(packed.input().k_r.matrix(1).row(buckets.row(i, j)).cast<double>()) +
                rows(packed.input().k).row(j).dot(packed.input().q_r.matrix(1).row(buckets.row(i, j)).cast<double>());
    Matrix<double> weights = (scores / std::sqrt(24.0)).array().exp();
    for (Index i = 0; i < last; ++i) weights.row(i) /= weights.row(i).sum();
    const Matrix<double> expected = times<double>(weights, rows(packed.input().v));
    const std::vector<double> found = packed.head<double>(1, true).at("context");
    REQUIRE(found.size() == static_cast<std::size_t>(tokens * 8));
    for (Index n = 0; n < expected.size(); ++n)
        CHECK(found[found.size() - static_cast<std::size_t>(expected.size() - n)] ==
              Approx(expected.data()[n]).epsilon(1e-11));
}

TEST_CASE("emulation: gradients of a head add up the tables over samples, and whole tensors give the same head",
          "[emulation]") {
    const AgainstProblem problem(kBackward, cuda::FusedPrecision::bf16);
    const HeadRows<double> expected = problem.head<double>(1, true);
    CHECK(expected.size() == 5);
    CHECK(problem.head<double>(1, false).count("k_r") == 0);
    cuda::FusedGradients whole{Tensor<float>({2, 2, 11, 8}), Tensor<float>({2, 2, 11, 8}), Tensor<float>({2, 2, 11, 8}),
                               Tensor<float>({2, 8, 8}), Tensor<float>({2, 8, 8})};
    for (Index h = 0; h < 2; ++h) {
        const HeadRows<double> head = problem.head<double>(h, true);
        const auto put = [&](const char* name, Tensor<float>& tensor) {
            const std::vector<double>& rows = head.at(name);
            const Index size = tensor.matrix(0).size(), samples = static_cast<Index>(rows.size()) / size;
            for (Index b = 0; b < samples; ++b)
                for (Index n = 0; n < size; ++n)
                    tensor.matrix(samples == 1 ? h : b * 2 + h).data()[n] =
                        static_cast<float>(rows[static_cast<std::size_t>(b * size + n)]);
        };
        put("q", whole.q), put("k", whole.k), put("v", whole.v), put("k_r", whole.k_r), put("q_r", whole.q_r);
    }
    CHECK(relative_error(problem.head_of(whole, 1), expected) < 1e-7);
    CHECK(relative_error(problem.head_of(whole, 0), expected) > 0.1);
    CHECK(relative_error(problem.head<float>(1, true), expected) < 1e-4);
    // A push along a table row changes the sum of d_context times the context by its gradient.
    const auto weighed = [&](double push) {
        AgainstShape forward = kBackward;
        forward.what = "forward";
        AgainstProblem pushed(forward, cuda::FusedPrecision::bf16);
        double sum = 0;
        const_cast<Tensor<float>&>(pushed.input().q_r).matrix(1)(3, 2) += static_cast<float>(push);
        const std::vector<double> context = pushed.head<double>(1, true).at("context");
        for (std::size_t n = 0; n < context.size(); ++n)
            sum += context[n] * problem.d_context()[static_cast<Index>(n / 88) * 176 + 88 + static_cast<Index>(n % 88)];
        return sum;
    };
    const double step = 0x1p-8;
    CHECK((weighed(step) - weighed(-step)) / (2 * step) == Approx(expected.at("q_r")[3 * 8 + 2]).epsilon(1e-3));
}

TEST_CASE("emulation: an error is a share of the largest number, and what is missing or no number is infinite",
          "[emulation]") {
    const HeadRows<double> expected = {{"k", {4, -8}}, {"q", {0.5, 0.25}}};
    CHECK(relative_error({{"k", {4, -7}}, {"q", {0.5, 0.25}}}, expected) == 0.125);
    CHECK(relative_error({{"k", {4, -8}}, {"q", {0.5, 0.5}}}, expected) == 0.5);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isinf(relative_error({{"k", {nan, -8}}, {"q", {0.5, 0.25}}}, expected)));
    CHECK(std::isinf(relative_error({{"k", {4}}, {"q", {0.5, 0.25}}}, expected)));
    CHECK(std::isinf(relative_error({{"k", {4, -8}}}, expected)));
    CHECK(std::isinf(relative_error({{"k", {4, -8}}}, {{"k", {4, nan}}})));
    CHECK(std::isinf(relative_error({{"k", {}}}, {{"k", {}}})));
    CHECK(std::isinf(relative_error({{"k", {4}}}, {})));
    CHECK(relative_error({{"k", {0, 0}}}, {{"k", {0, 0}}}) == 0);
    CHECK(std::isinf(relative_error({{"k", {0, 1}}}, {{"k", {0, 0}}})));
}

TEST_CASE("emulation: the best peer is the fastest that is right and has positions", "[emulation]") {
    const double infinite = std::numeric_limits<double>::infinity();
    ordered_json ways = {way("ours", 2, 1e-3),
                         way("Hugging Face eager", 12, 1e-2),
                         way("flashdeberta", 1, 0.5),
                         way("torch.compile", 3, infinite),
                         way("disentangled-flash", 8, 1e-2),
                         way("SDPA, no position", 1.5, 1e-3, false),
                         {{"name", "FlexAttention"}, {"not_measured", "it is not there"}}};
    const ordered_json found = ratios(ways, 2, 5, 5);
    REQUIRE(found.size() == 3);
    CHECK(found[0]["to"] == "disentangled-flash");
    CHECK(found[0]["value"] == 4);
    CHECK(found[0]["met"] == true);
    CHECK(found[1]["value"] == 6);
    CHECK(found[2]["value"] == 4);
    CHECK(found[2]["met"] == false);

    const std::string table = against_table(
        {{"rehearsal", false},
         {"rows",
          {{{"what", "forward"}, {"precision", "bf16"}, {"B", 2}, {"T", 8192}, {"ways", ways}, {"ratios", found}}}}});
    CHECK_THAT(table, Catch::Contains("goal: 5.0 x disentangled-flash: 4.00 x, MISSED"));
    CHECK_THAT(table, Catch::Contains("not finite") && Catch::Contains("it is not there"));

    ways[0] = {{"name", "ours"}, {"not_measured", "no device"}};
    const ordered_json none = ratios(ways, 2, 0, 0);
    CHECK(none[0]["not_measured"] == "ours were not measured");
    CHECK_FALSE(none[0].contains("value"));
}

}  // namespace locus::test::test_cuda_against
