// A difference is described by a rule only if the rule holds everywhere.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/conformance/diagnosis/diagnosis.h"
#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/formulas/arithmetic.h"
#include "tests/seeded.h"

namespace locus::test::test_patterns {

using namespace locus::conformance;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

/// What is said of a stage that should be `right`; axes come from the name.
template <class Scalar>
std::string said(const std::string& name, const Tensor<Scalar>& right, const Tensor<Scalar>& found,
                 const std::vector<ModelInput>& segments = {}, const std::map<std::string, std::string>& stored = {}) {
    Trace reference, candidate;
    reference.add(name, right);
    candidate.add(name, found);
    const Comparison comparison = compare(reference, candidate, std::nullopt, stored);
    REQUIRE(comparison.first());
    return describe_difference({reference, candidate, nullptr, segments}, *comparison.first());
}

using Cell = std::function<bool(Index b, Index h, Index i, Index j)>;

/// Noise in those cells of [B,H,Tq,Tk] that are chosen.
Tensor<double> noisy_where(const Tensor<double>& right, const Cell& chosen) {
    Tensor<double> found = right;
    const Tensor<double> noise = random_tensor(right.shape(), 99);
    const Index keys = right.extent(3), queries = right.extent(2), heads = right.extent(1);
    for (Index n = 0; n < found.size(); ++n)
        if (chosen(n / keys / queries / heads, n / keys / queries % heads, n / keys % queries, n % keys))
            found[n] += noise[n] + std::copysign(0.1, noise[n]);
    return found;
}

std::string said_where(const Cell& chosen, const Shape& shape = {2, 3, 9, 9},
                       const std::vector<ModelInput>& segments = {}) {
    const Tensor<double> right = random_tensor(shape);
    return said("layer.0.c2p", right, noisy_where(right, chosen), segments);
}

/// Slices of one axis in another order.
Tensor<double> reordered(const Tensor<double>& right, std::size_t axis, const std::vector<Index>& order) {
    Index step = 1;
    for (std::size_t a = axis + 1; a < right.shape().size(); ++a) step *= right.shape()[a];
    Tensor<double> found(right.shape());
    for (Index n = 0; n < right.size(); ++n) {
        const Index place = n / step % right.shape()[axis];
        found[n] = right[n + (order[static_cast<std::size_t>(place)] - place) * step];
    }
    return found;
}

}  // namespace

TEST_CASE("patterns: logits that went through a softmax, and a loss in bits", "[kit][patterns]") {
    const Tensor<double> right = random_tensor({2, 5, 40});
    Tensor<double> logarithms = right;
    for (Index row = 0; row < 10; ++row)
        logarithms.rows().row(row).array() -= std::log(right.rows().row(row).array().exp().sum());
    CHECK(said("mlm.logits", right, logarithms) == "each row is the log-softmax of what it should be");
    CHECK(said("mlm.logits", right, mapped(logarithms, [](double x) { return std::exp(x); })) ==
          "each row is the softmax of what it should be");
    // In half precision, numbers that are as small as probabilities of many words.
    const Tensor<double> wide = random_tensor({1, 2, 4000});
    const Tensor<double> small = mapped(random_tensor(wide.shape(), 2), [](double x) { return 1e-4 * x; });
    CHECK(said("mlm.logits", wide, small, {}, {{"mlm.logits", "F16"}}) ==
          "no value is larger than what rounding allows: all may be 0");
    const Tensor<double> losses = mapped(random_tensor({2, 5}), [](double x) { return 2 + x; });
    const auto bits = [](double x) { return x / std::log(2.0); };
    CHECK(said("lm.loss", losses, mapped(losses, bits)) ==
          "every value is 1.4427 times what it should be: in bits instead of nats");
}

TEST_CASE("patterns: cells that hold 0 in both show nothing", "[kit][patterns]") {
    // bd: what the mask hides is 0 in every port, so all that could be wrong is wrong.
    Tensor<double> right = random_tensor({2, 3, 9, 9});
    for (Index n = 0; n < right.size(); ++n)
        if (n % 9 > n / 9 % 9) right[n] = 0;
    const auto seen = [](Index, Index, Index i, Index j) { return j <= i; };
    CHECK(said("layer.0.ac", right, noisy_where(right, seen)) == kNoPattern);
    const auto in_one_head = [&](Index b, Index h, Index i, Index j) { return h == 1 && seen(b, h, i, j); };
    CHECK(said("layer.0.ac", right, noisy_where(right, in_one_head)) == "only head 1 is wrong");
}

TEST_CASE("pattern: one factor, one sign, one offset", "[kit]") {
    const Tensor<double> right = random_tensor({2, 3, 5, 5});
    Tensor<double> large = right, huge = right;
    large[7] = 2;
    huge[7] = 1.7e308;
    CHECK(said("layer.0.c2p", large, huge).find("times what it should be") == std::string::npos);
    CHECK_THAT(said("layer.0.scores", right, mapped(right, [](double v) { return v * std::sqrt(3.0); })),
               Equals("every value is 1.73205 times what it should be = sqrt(3), and H = 3"));
    CHECK_THAT(said("layer.0.scores", right, mapped(right, [](double v) { return v * (1 - 0x1p-19); })),
               Equals("every value is 1 - 1.90735e-06 times what it should be"));
    CHECK_THAT(said("layer.0.scores", right, mapped(right, [](double v) { return -v; })),
               Equals("the sign of every value is flipped"));
    CHECK_THAT(said("layer.0.scores", right, mapped(right, [](double) { return 0.0; })), Equals("every value is 0"));
    CHECK_THAT(said("layer.0.scores", right, mapped(right, [](double v) { return v - 0.25; })),
               Equals("every value is off by -0.25"));
}

TEST_CASE("pattern: axes exchanged or read backwards", "[kit]") {
    const Tensor<double> square = random_tensor({2, 3, 5, 5}), table = random_tensor({3, 8, 4});
    CHECK_THAT(said("layer.0.p2c", square, transposed(square)), StartsWith("transposed"));
    CHECK_THAT(said("layer.0.k_r", table, Tensor<double>(table.shape(), transposed(table).values())),
               StartsWith("the values lie in memory column by column"));
    CHECK_THAT(said("layer.0.c2p", square, reordered(square, 3, {4, 3, 2, 1, 0})), Equals("the key axis is reversed"));
    CHECK_THAT(said("layer.0.c2p", square, reordered(square, 2, {4, 3, 2, 1, 0})),
               Equals("the query axis is reversed"));
    CHECK_THAT(said("layer.0.k_r", table, reordered(table, 1, {7, 6, 5, 4, 3, 2, 1, 0})),
               Equals("the rows of the table are reversed"));
    CHECK_THAT(said("layer.0.k_r", table, reordered(table, 1, {7, 0, 1, 2, 3, 4, 5, 6})),
               Equals("the rows of the table stand 1 further on, the last in front"));
    CHECK_THAT(said("layer.0.q_r", table, reordered(table, 1, {2, 3, 4, 5, 6, 7, 0, 1})),
               Equals("the rows of the table stand 2 further to the front, the first at the end"));
    CHECK_THAT(said("layer.0.k_r", table, reordered(table, 1, {4, 5, 6, 7, 0, 1, 2, 3})),
               Equals("the two halves of the table are exchanged"));
}

TEST_CASE("pattern: rows of zeros", "[kit]") {
    const Tensor<double> x = random_tensor({2, 5, 6});
    Tensor<double> zeros = x;
    for (Index c = 0; c < 6; ++c) zeros[(5 + 3) * 6 + c] = 0;
    CHECK_THAT(said("layer.0.output", x, zeros),
               Equals("1 of 10 rows is 0, the others are right; the first of them: [1, 3]"));
    for (Index c = 0; c < 6; ++c) zeros[2 * 6 + c] = 0;
    CHECK_THAT(said("layer.0.output", x, zeros),
               Equals("2 of 10 rows are 0, the others are right; the first of them: [0, 2]"));
    zeros[0] += 1;  // one more that is wrong
    CHECK_THAT(said("layer.0.output", x, zeros), !Catch::Contains("rows are 0"));
}

TEST_CASE("pattern: heads, samples and channels in another order", "[kit]") {
    const Tensor<double> q = random_tensor({2, 3, 5, 4}), table = random_tensor({3, 8, 4}),
                         x = random_tensor({2, 5, 6});
    CHECK_THAT(said("layer.0.q", q, reordered(q, 1, {2, 0, 1})), Equals("the heads stand in the order 2, 0, 1"));
    CHECK_THAT(said("layer.0.k_r", table, reordered(table, 0, {0, 2, 1})),
               Equals("the heads stand in the order 0, 2, 1"));
    CHECK_THAT(said("layer.0.q", q, reordered(q, 0, {1, 0})), Equals("the samples stand in the order 1, 0"));
    CHECK_THAT(said("layer.0.context", x, reordered(x, 2, {0, 2, 4, 1, 3, 5})),
               Equals("the channels stand in the order 0, 2, 4, 1, 3, 5"));
}

TEST_CASE("pattern: a factor is said as the root or the part of a whole number, where it is one", "[kit][patterns]") {
    const Tensor<double> right = random_tensor({2, 5, 6});
    const auto times = [&](double factor) {
        return said("layer.0.output", right, mapped(right, [=](double v) { return factor * v; }));
    };
    CHECK_THAT(times(1 / std::sqrt(6.0)),
               Equals("every value is 0.408248 times what it should be = 1/sqrt(6), and D = 6"));
    CHECK_THAT(times(std::sqrt(7.0)), Equals("every value is 2.64575 times what it should be = sqrt(7)"));
    CHECK_THAT(times(1 / 12.0), Equals("every value is 0.0833333 times what it should be = 1/12"));
    CHECK_THAT(times(4), Equals("every value is 4 times what it should be"));
    CHECK_THAT(times(0.5), Equals("every value is 0.5 times what it should be"));
    CHECK_THAT(times(0.9), Equals("every value is 0.9 times what it should be"));
    CHECK_THAT(times(0.4082), Equals("every value is 0.4082 times what it should be"));  // 1/sqrt(6) to three digits
}

TEST_CASE("pattern: a constant per row, per head, or one vector in all rows", "[kit]") {
    const Tensor<double> right = random_tensor({2, 3, 5, 5}), x = random_tensor({2, 5, 6}),
                         q = random_tensor({2, 3, 5, 4});
    Tensor<double> rows = right, factors = right, heads = right, vector = x, by_head = q;
    for (Index n = 0; n < right.size(); ++n) {
        const auto row = static_cast<double>(n / 5);
        rows[n] += 0.5 + row;
        factors[n] *= 2 + row;
        heads[n] *= static_cast<double>(1 + n / 25 % 3);
    }
    for (Index n = 0; n < x.size(); ++n) vector[n] += static_cast<double>(1 + n % 6);
    for (Index n = 0; n < q.size(); ++n) by_head[n] += static_cast<double>(1 + n % 4 + 10 * (n / 20 % 3));
    CHECK_THAT(said("layer.0.scores", right, rows),
               Equals("each row is off by a constant of its own, from 0.5 to 29.5"));
    CHECK_THAT(said("layer.0.scores", right, factors), Equals("each row has a factor of its own, from 2 to 31"));
    CHECK_THAT(said("layer.0.scores", right, heads), Equals("each head has a factor of its own: 1, 2, 3"));
    CHECK_THAT(said("layer.0.output", x, vector), Equals("all rows are off by the same vector, from 1 to 6"));
    CHECK_THAT(said("layer.0.q", q, by_head), Equals("all rows of a head are off by the same vector, from 1 to 24"));
}

TEST_CASE("pattern: only some distances", "[kit]") {
    CHECK(said_where([](Index, Index, Index i, Index j) { return std::abs(i - j) >= 4; }) ==
          "only pairs with |i - j| >= 4 are wrong");
    CHECK(said_where([](Index, Index, Index i, Index j) { return i != j; }) == "only pairs off the diagonal are wrong");
    CHECK(said_where([](Index, Index, Index i, Index j) { return i < j; }) == "only pairs with i < j are wrong");
    CHECK(said_where([](Index, Index, Index i, Index j) { return i > j; }) == "only pairs with i > j are wrong");
    CHECK(said_where([](Index, Index, Index i, Index j) { return j - i >= 3; }) ==
          "only pairs with j - i >= 3 are wrong");
    CHECK(said_where([](Index, Index, Index i, Index j) { return i - j == 2 || i - j == 5; }) ==
          "only pairs with i - j = 2, 5 are wrong");
    CHECK(said_where([](Index, Index h, Index i, Index j) { return h != 0 && std::abs(i - j) >= 4; }) ==
          "only pairs with |i - j| >= 4 are wrong in heads 1, 2");
}

TEST_CASE("pattern: only some samples, heads, queries or keys", "[kit]") {
    CHECK(said_where([](Index b, Index, Index, Index) { return b == 1; }) == "only sample 1 is wrong");
    CHECK(said_where([](Index, Index h, Index, Index) { return h != 1; }) == "only heads 0, 2 are wrong");
    CHECK(said_where([](Index, Index, Index i, Index) { return i == 5; }) == "only query 5 is wrong");
    CHECK(said_where([](Index, Index, Index, Index j) { return j == 2 || j == 7; }) == "only keys 2, 7 are wrong");
}

TEST_CASE("pattern: only padding", "[kit]") {
    std::vector<ModelInput> padded(1);
    padded[0].tokens = IndexTensor({2, 9});
    padded[0].mask = IndexTensor({2, 9}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0});
    const auto pad = [](Index b, Index t) { return b == 1 && t >= 6; };
    const Shape shape{2, 3, 9, 9};
    CHECK(said_where([&](Index b, Index, Index i, Index) { return pad(b, i); }, shape, padded) ==
          "only rows of padding queries are wrong");
    CHECK(said_where([&](Index b, Index, Index, Index j) { return pad(b, j); }, shape, padded) ==
          "only columns of padding keys are wrong");
    CHECK(said_where([&](Index b, Index, Index i, Index j) { return pad(b, i) || pad(b, j); }, shape, padded) ==
          "only rows and columns of padding are wrong");
    CHECK(said_where([&](Index b, Index, Index i, Index j) { return !pad(b, i) && pad(b, j); }, shape, padded) ==
          "only padding keys of real queries are wrong");
    // What the mask hides may stay right where far pairs are wrong.
    CHECK(said_where([&](Index b, Index, Index i, Index j) { return std::abs(i - j) >= 4 && !pad(b, i) && !pad(b, j); },
                     shape, padded) == "only pairs with |i - j| >= 4 are wrong");
    const Tensor<double> right = random_tensor({2, 9, 4});
    Tensor<double> found = right;
    for (Index n = 0; n < found.size(); ++n)
        if (pad(n / 36, n / 4 % 9)) found[n] += 1 + found[n] * found[n];
    CHECK(said("layer.0.output", right, found, padded) == "only rows of padding are wrong");
}

/// Probabilities of random scores [2,3,9,9] where `sees` is true; rows that see nothing are 0.
Tensor<double> attention_where(const Cell& sees, unsigned seed = 1) {
    Tensor<double> probs = random_tensor({2, 3, 9, 9}, seed);
    for (Index row = 0; row < probs.size() / 9; ++row) {
        double sum = 0;
        for (Index j = 0; j < 9; ++j) {
            double& value = probs[row * 9 + j];
            value = sees(row / 27, row / 9 % 3, row % 9, j) ? std::exp(value) : 0;
            sum += value;
        }
        for (Index j = 0; j < 9; ++j) probs[row * 9 + j] /= sum > 0 ? sum : 1;
    }
    return probs;
}

TEST_CASE("pattern: another mask, by the zeros of the probabilities", "[kit]") {
    std::vector<ModelInput> padded(1);
    padded[0].tokens = IndexTensor({2, 9});
    padded[0].mask = IndexTensor({2, 9}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0});
    const auto real = [](Index b, Index t) { return b == 0 || t < 6; };
    const Cell bidirectional = [&](Index b, Index, Index i, Index j) { return real(b, i) && real(b, j); };
    const Cell causal = [](Index, Index, Index i, Index j) { return j <= i; };
    const auto with = [&](const Cell& right, const Cell& found, unsigned seed = 1) {
        return said("layer.0.probs", attention_where(right), attention_where(found, seed), padded);
    };
    const auto both = [](const Cell& one, const Cell& other) {
        return [=](Index b, Index h, Index i, Index j) { return one(b, h, i, j) && other(b, h, i, j); };
    };
    const std::string hidden = " hidden that should be visible", shown = " visible that should be hidden",
                      rest = "; the others are right but for the sum of their row";
    CHECK(with(bidirectional, both(bidirectional, causal)) ==
          "another mask: 153 pairs are" + hidden + " (pairs with i < j)" + rest);
    CHECK(with(bidirectional, both(bidirectional, [](Index, Index, Index i, Index j) { return i != j; })) ==
          "another mask: 45 pairs are" + hidden + " (pairs with i - j = 0)" + rest);
    CHECK(with(bidirectional, both(bidirectional, [](Index, Index, Index i, Index j) {
                   return std::abs(i - j) < 4;
               })) == "another mask: 108 pairs are" + hidden + " (pairs with |i - j| >= 4)" + rest);
    CHECK(with(bidirectional, both(bidirectional, [](Index, Index, Index i, Index j) { return j < i; })) ==
          "another mask: 198 pairs are" + hidden + " (pairs with i <= j)" + rest);
    CHECK(with(bidirectional, [&](Index b, Index, Index i, Index) { return real(b, i); }) ==
          "another mask: 54 pairs are" + shown + " (padding keys of real queries)" + rest);
    CHECK(with(bidirectional, [](Index, Index, Index, Index) { return true; }) ==
          "another mask: all 135 pairs are" + shown + rest);
    CHECK(with(causal, [](Index, Index, Index i, Index j) { return j <= i + 1; }) ==
          "another mask: 48 pairs are" + shown + " (pairs with i - j = -1)" + rest);
    // Packed sentences that do not see each other, here the tokens before and after number 4.
    CHECK(with(causal, [](Index, Index, Index i, Index j) { return j <= i && (i < 4) == (j < 4); }) ==
          "another mask: 120 pairs are" + hidden + ", the first [0, 0, 4, 0]" + rest);
    CHECK(with(causal, [](Index, Index, Index i, Index j) { return j >= i; }) ==
          "another mask: 216 pairs are" + hidden + " (pairs with i > j), and all 216 pairs are" + shown + rest);
    CHECK(with(bidirectional, both(bidirectional, causal), 2) ==
          "another mask: 153 pairs are" + hidden + " (pairs with i < j); other values are wrong too");
    // Zeros of bd beside other wrong values come from a shift, not from a mask.
    const Tensor<double> terms = random_tensor({2, 3, 9, 9}, 7);
    Tensor<double> hidden_terms = terms, shifted = terms;
    for (Index n = 0; n < terms.size(); n += 4) hidden_terms[n] = 0;
    for (Index n = 0; n < terms.size(); ++n) shifted[n] = n % 4 == 0 ? 0 : terms[n] + 1;
    CHECK_THAT(said("layer.0.bd", terms, hidden_terms), Catch::StartsWith("another mask: 122 pairs are" + hidden));
    CHECK_THAT(said("layer.0.bd", terms, shifted), !Catch::Contains("mask"));
    // With a memory of 4 keys before 9 queries, a window of 3 keys.
    Tensor<double> scores = random_tensor({1, 2, 9, 13}, 5), wide(scores.shape()), narrow(scores.shape());
    for (Index row = 0; row < 18; ++row)
        for (const auto& [probs, window] : {std::pair(&wide, 13), std::pair(&narrow, 3)}) {
            double sum = 0;
            const auto sees = [&](Index j) { return j <= 4 + row % 9 && 4 + row % 9 - j < window; };
            for (Index j = 0; j < 13; ++j) sum += sees(j) ? std::exp(scores[row * 13 + j]) : 0;
            for (Index j = 0; j < 13; ++j) (*probs)[row * 13 + j] = sees(j) ? std::exp(scores[row * 13 + j]) / sum : 0;
        }
    CHECK(said("segment.1.layer.0.probs", wide, narrow) ==
          "another mask: 108 pairs are" + hidden + " (pairs with M + i - j >= 3)" + rest);
    CHECK(said("segment.1.layer.0.probs", narrow, wide) ==
          "another mask: 108 pairs are" + shown + " (pairs with M + i - j >= 3)" + rest);
    // Of one head and one pair alone.
    CHECK(with(causal, [](Index, Index h, Index i, Index j) { return j <= i || h == 1; }) ==
          "another mask: 72 pairs are" + shown + " (head 1)" + rest);
    CHECK(with(causal, [](Index b, Index h, Index i, Index j) { return j <= i || (b + h == 0 && i == 2 && j == 7); }) ==
          "another mask: 1 pair is" + shown + ", [0, 0, 2, 7]" + rest);
}

TEST_CASE("pattern: a hidden pair is counted however small its probability is, one that was rounded to 0 is not",
          "[kit]") {
    Tensor<double> right = attention_where([](Index, Index, Index, Index) { return true; }), hidden = right;
    const auto set = [](Tensor<double>& probs, Index row, Index j,
                        double value) {  // its share goes to the key after it
        probs[row * 9 + j + 1] += probs[row * 9 + j] - value;
        probs[row * 9 + j] = value;
    };
    for (Index row = 0; row < 54; row += 2) set(right, row, 0, 1e-9);
    for (Index row = 0; row < 54; ++row) {
        hidden[row * 9] = 0;
        for (Index j = 1; j < 9; ++j) hidden[row * 9 + j] = right[row * 9 + j] / (1 - right[row * 9]);
    }
    // In single precision 1e-9 is within what is allowed.
    Tensor<float> brief(right.shape()), without(right.shape()), halves(right.shape());
    for (Index n = 0; n < right.size(); ++n) {
        brief[n] = static_cast<float>(right[n]);
        without[n] = static_cast<float>(hidden[n]);
        halves[n] = std::ldexp(std::round(std::ldexp(brief[n], 11)), -11);  // 1e-9 becomes 0
    }
    CHECK(said("layer.0.probs", brief, without) ==
          "another mask: 54 pairs are hidden that should be visible (key 0); the others are right but for the sum of "
          "their row");
    // A port in half precision, with other values wrong besides; and with a mask of its own.
    const std::map<std::string, std::string> stored = {{"layer.0.probs", "F16"}};
    const auto [least, most] = std::minmax_element(halves.data() + 1, halves.data() + 9);
    std::iter_swap(least, most);
    CHECK_THAT(said("layer.0.probs", brief, halves, {}, stored), !Catch::Matchers::Contains("mask"));
    halves[9 * 9 + 4] += halves[9 * 9 + 5];
    halves[9 * 9 + 5] = 0;
    CHECK_THAT(said("layer.0.probs", brief, halves, {}, stored),
               StartsWith("another mask: 1 pair is hidden that should be visible, [0, 1, 0, 5]; other values"));
}

TEST_CASE("pattern: no mask is read off what is no attention, nor off zeros that are right", "[kit]") {
    const Cell causal = [](Index, Index, Index i, Index j) { return j <= i; };
    const Tensor<double> right = attention_where(causal);
    // Dropout makes zeros, and scales what it keeps.
    Tensor<double> dropped = right;
    for (Index n = 0; n < dropped.size(); ++n) dropped[n] *= n % 3 == 0 ? 0 : 1.5;
    CHECK_THAT(said("layer.0.probs", right, dropped), !Catch::Matchers::Contains("mask"));
    CHECK_THAT(said("layer.0.probs", right, attention_where(causal, 2)), !Catch::Matchers::Contains("mask"));
    // A stage that no mask touches may hold zeros too.
    CHECK_THAT(said("layer.0.c2p", right, attention_where([](Index, Index, Index, Index) { return true; })),
               !Catch::Matchers::Contains("mask"));
    // Nor off numbers that are none, in probabilities or in a term.
    Tensor<double> broken = attention_where([](Index, Index, Index, Index) { return true; });
    broken[8] = std::numeric_limits<double>::quiet_NaN();
    for (const char* name : {"layer.0.probs", "layer.0.bd"})
        CHECK_THAT(said(name, right, broken), StartsWith("NaN at 1 of 486 values"));
    // A term that is 0 where the mask hides a key sums to nothing.
    Tensor<double> term = random_tensor({2, 3, 9, 9}), shown = term;
    for (Index n = 0; n < term.size(); ++n) term[n] *= n % 9 <= n / 9 % 9;
    CHECK(said("layer.0.bd", term, shown) ==
          "another mask: all 216 pairs are visible that should be hidden; the others are right");
}

TEST_CASE("pattern: single cells, NaN, tiles", "[kit]") {
    CHECK(said_where([](Index b, Index h, Index i, Index j) { return b == 1 && h == 2 && i == 3 && j == 4; }) ==
          "a single value is wrong: [1, 2, 3, 4]");
    CHECK(said_where([](Index b, Index h, Index i, Index j) { return b == 0 && h == 0 && i + j == 1; }) ==
          "single values are wrong: [0, 0, 0, 1], [0, 0, 1, 0]");
    Tensor<double> right = random_tensor({1, 2, 3, 3}), found = right;
    found[4] = std::numeric_limits<double>::quiet_NaN();
    CHECK(said("layer.0.probs", right, found) == "NaN at 1 of 18 values, first at [0, 0, 1, 1]");
    found[10] = std::numeric_limits<double>::infinity();
    CHECK(said("layer.0.probs", right, found) == "NaN and infinity at 2 of 18 values, first at [0, 0, 1, 1]");
    CHECK_THAT(said_where([](Index, Index, Index i, Index j) { return i / 16 == 1 && j / 16 != 1; }, {1, 2, 50, 50}),
               StartsWith("only whole tiles of 16 x 16 are wrong, 6 of 32, the first from [0, 0, 16, 0] on"));
}

TEST_CASE("pattern: a text whose rows are all wrong but those of padding has no tiles", "[kit]") {
    std::vector<ModelInput> padded(1);
    padded[0].tokens = IndexTensor({2, 24});
    padded[0].mask = IndexTensor({2, 24});
    for (Index n = 0; n < 48; ++n) padded[0].mask[n] = n < 24 + 15;
    const Tensor<double> right = random_tensor({2, 24, 48});
    Tensor<double> found = random_tensor({2, 24, 48}, 2);
    for (Index n = (24 + 15) * 48; n < found.size(); ++n) found[n] = right[n];
    CHECK(said("layer.0.context", right, found, padded) == "no pattern found");
    CHECK_THAT(said("layer.0.context", right, found), StartsWith("only whole tiles of 16 x 16 are wrong, 9 of 12"));
}

TEST_CASE("pattern: NaN in the rows of queries that see no key says where it comes from", "[kit]") {
    std::vector<ModelInput> padded(1);
    padded[0].tokens = IndexTensor({1, 8});
    padded[0].mask = IndexTensor({1, 8}, {1, 1, 1, 1, 1, 1, 0, 0});
    const Tensor<double> right = random_tensor({1, 8, 4});
    Tensor<double> found = right;
    for (Index n = 6 * 4; n < found.size(); ++n) found[n] = std::numeric_limits<double>::quiet_NaN();
    CHECK(said("layer.0.context", right, found, padded) ==
          "NaN at 8 of 32 values, first at [0, 6, 0]: rows of padding alone; where a query sees no key a softmax over "
          "-inf is NaN");
    found[0] += 1;  // something else is wrong too
    CHECK(said("layer.0.context", right, found, padded) == "NaN at 8 of 32 values, first at [0, 6, 0]");
    found[0] = std::numeric_limits<double>::quiet_NaN();
    CHECK(said("layer.0.context", right, found, padded) == "NaN at 9 of 32 values, first at [0, 0, 0]");
}

TEST_CASE("pattern: one stage in half precision", "[kit]") {
    const Tensor<double> right = random_tensor({2, 3, 9, 9});
    Tensor<double> half = right, brain = right;
    for (Index n = 0; n < right.size(); ++n) {
        int exponent = 0;
        const double mantissa = std::frexp(right[n], &exponent);
        half[n] = std::ldexp(std::round(std::ldexp(mantissa, 11)), exponent - 11);
        brain[n] = std::ldexp(std::round(std::ldexp(mantissa, 8)), exponent - 8);
    }
    CHECK_THAT(said("layer.0.scores", right, half), Equals("every value is one that F16 holds, and off by no more than "
                                                           "rounding to F16 explains: computed or saved in F16"));
    CHECK_THAT(said("layer.0.scores", right, brain), Catch::Matchers::EndsWith("computed or saved in BF16"));
    // Not where the numbers are other ones besides, and not where the right ones are halves too.
    Tensor<double> other = half;
    other[7] += 0.25;
    other[100] -= 0.5;
    CHECK_THAT(said("layer.0.scores", right, other), !Catch::Matchers::Contains("F16"));
    Tensor<double> moved = half;
    for (Index n = 0; n < moved.size(); n += 3) moved[n] += std::ldexp(1.0, std::ilogb(half[n]) - 10);  // the next half
    CHECK_THAT(said("layer.0.scores", half, moved), !Catch::Matchers::Contains("F16"));
}

TEST_CASE("pattern: noise has none, nor has what holds nearly everywhere", "[kit]") {
    const Tensor<double> right = random_tensor({2, 3, 9, 9});
    CHECK(said("layer.0.c2p", right, random_tensor({2, 3, 9, 9}, 2)) == "no pattern found");
    std::mt19937 generator(3);
    std::vector<bool> coin;
    for (Index n = 0; n < right.size(); ++n) coin.push_back(generator() % 3 == 0);
    CHECK(said_where([&](Index b, Index h, Index i, Index j) {
              return coin[static_cast<std::size_t>(((b * 3 + h) * 9 + i) * 9 + j)];
          }) == "no pattern found");
    // One value apart from each rule is enough against it.
    for (const auto& rule : std::vector<std::function<Tensor<double>(const Tensor<double>&)>>{
             [](const Tensor<double>& v) { return mapped(v, [](double x) { return 2 * x; }); },
             [](const Tensor<double>& v) { return mapped(v, [](double x) { return x + 1; }); },
             [](const Tensor<double>& v) { return transposed(v); },
             [](const Tensor<double>& v) {
                 return reordered(v, 3, {8, 7, 6, 5, 4, 3, 2, 1, 0});
             },
             [](const Tensor<double>& v) {
                 return reordered(v, 1, {1, 2, 0});
             }}) {
        Tensor<double> found = rule(right);
        const std::string rule_of_all = said("layer.0.c2p", right, found);
        CHECK(rule_of_all != "no pattern found");
        found[100] += 0.01;
        const std::string left = said("layer.0.c2p", right, found);
        // A transposed stage still is right on its diagonal, which then is all there is to say.
        CHECK((left == "no pattern found" ||
               (rule_of_all.starts_with("transposed") && left == "only pairs off the diagonal are wrong")));
    }
    // Too few values agree with anything.
    CHECK(said("layer.0.c2p", random_tensor({1, 1, 1, 1}), random_tensor({1, 1, 1, 1}, 5)) == "no pattern found");
    CHECK(said("layer.0.c2p", random_tensor({1, 1, 1, 2}), random_tensor({1, 1, 1, 2}, 5)) == "no pattern found");
}

TEST_CASE("pattern: the noise of a zero has no factor, a small difference is no offset, a row of zeros has none",
          "[kit]") {
    const Tensor<double> right = random_tensor({1, 6, 9});
    const auto said_at = [](const Tensor<double>& expected, const Tensor<double>& found, double allowed) {
        Trace reference, candidate;
        reference.add("layer.0.attention", expected);
        candidate.add("layer.0.attention", found);
        const Comparison comparison = compare(reference, candidate, Tolerance{0, allowed});
        REQUIRE(comparison.first());
        return describe_difference({reference, candidate, nullptr, {}}, *comparison.first());
    };
    Tensor<double> noise = right, many_times = right;
    for (Index n = 0; n < noise.size(); ++n) noise[n] *= 1e-17;
    CHECK(said_at(noise, many_times, 1e-9) == kNoPattern);
    // Nothing is said by the names of axes that a tensor of another rank does not have.
    CHECK(said("mlm.logits", random_tensor({6, 9}), random_tensor({6, 9}, 2)) == kNoPattern);

    Tensor<double> near = right;
    for (Index n = 0; n < near.size(); ++n) near[n] += n % 9 == 0 ? 0.5e-9 : 1.5e-9;
    CHECK(said_at(right, near, 1e-9).find("value is off by") == std::string::npos);

    Tensor<double> half_empty = right, by_row = right;
    for (Index n = 0; n < right.size(); ++n) {
        const Index row = n / 9;
        if (row == 2) half_empty[n] = 0;
        by_row[n] = half_empty[n] / static_cast<double>(row + 1);
    }
    CHECK(said_at(half_empty, by_row, 1e-9) == "each row has a factor of its own, from 0.166667 to 1");
}

TEST_CASE("pattern: every sentence about places has a stage that earns it", "[kit]") {
    CHECK(said_where([](Index, Index, Index i, Index j) { return i - j >= 3; }) ==
          "only pairs with i - j >= 3 are wrong");
    CHECK(said_where([](Index, Index h, Index i, Index j) { return h == 1 && i > j; }) ==
          "only pairs with i > j are wrong in head 1");
    CHECK(said_where([](Index b, Index, Index, Index) { return b != 1; }, {3, 2, 4, 4}) ==
          "only samples 0, 2 are wrong");
    CHECK(said_where([](Index b, Index, Index, Index) { return b != 3; }, {15, 1, 2, 2}) ==
          "only samples 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... are wrong");
    std::vector<ModelInput> padded(1);
    padded[0].tokens = IndexTensor({2, 9});
    padded[0].mask = IndexTensor({2, 9}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0});
    const auto pad = [](Index b, Index t) { return b == 1 && t >= 6; };
    CHECK(said_where([&](Index b, Index, Index i, Index j) { return pad(b, i) && !pad(b, j); }, {2, 3, 9, 9}, padded) ==
          "only real keys of padding queries are wrong");

    const auto spoiled_at = [](const Shape& shape, const std::string& name, const std::function<bool(Index)>& chosen) {
        const Tensor<double> right = random_tensor(shape);
        Tensor<double> found = right;
        for (Index n = 0; n < found.size(); ++n)
            if (chosen(n)) found[n] += 0.5 + found[n] * found[n];
        return said(name, right, found);
    };
    CHECK(spoiled_at({2, 9, 6}, "layer.0.output", [](Index n) { return n / 6 % 9 == 4; }) == "only token 4 is wrong");
    CHECK(spoiled_at({3, 8, 4}, "layer.0.k_r", [](Index n) { return n / 4 % 8 < 2; }) ==
          "only table rows 0, 1 are wrong");
    CHECK(spoiled_at({2, 9, 6}, "layer.0.output", [](Index n) { return n % 6 == 5; }) == "only channel 5 is wrong");
    // More than half of the tokens are no place that needs a name.
    CHECK(spoiled_at({2, 9, 6}, "layer.0.output", [](Index n) { return n / 6 % 9 < 5; }) == "no pattern found");

    const Tensor<double> right = random_tensor({1, 2, 3, 3});
    Tensor<double> found = right;
    found[5] = -std::numeric_limits<double>::infinity();
    CHECK(said("layer.0.probs", right, found) == "infinity at 1 of 18 values, first at [0, 0, 1, 2]");
}

TEST_CASE("pattern: an axis without a name of its own, and more heads than a line holds", "[kit]") {
    const Tensor<double> x = random_tensor({2, 5, 6}), scores = random_tensor({1, 17, 5, 5});
    CHECK(said("layer.0.output", x, reordered(x, 1, {4, 3, 2, 1, 0})) == "axis 1 (T) is reversed");
    Tensor<double> factors = scores;
    for (Index n = 0; n < scores.size(); ++n) factors[n] *= static_cast<double>(2 + n / 25);
    CHECK(said("layer.0.scores", scores, factors) == "each head has a factor of its own, from 2 to 18");
}

}  // namespace locus::test::test_patterns
