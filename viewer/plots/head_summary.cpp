#include "viewer/plots/head_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/plots/pyramid.h"

namespace locus {

namespace {

bool sees(const Mask& visible, Index i, Index j) { return visible.size() == 0 || visible(i, j) != 0; }

/// Calls visit(term, i, j, |value - mean of the row|) for every visible pair of every term that is there.
template <class Visit>
void for_each_deviation(const HeadTerms& terms, const Mask& visible, Visit&& visit) {
    for (std::size_t term = 0; term < 3; ++term) {
        const Matrix<float>& values = terms.at(term);
        if (values.size() == 0) continue;
        LOCUS_CHECK(visible.size() == 0 || (visible.rows() == values.rows() && visible.cols() == values.cols()),
                    "shares of terms: a mask of [" + std::to_string(visible.rows()) + ", " +
                        std::to_string(visible.cols()) + "], expected [" + std::to_string(values.rows()) + ", " +
                        std::to_string(values.cols()) + "]");
        for (Index i = 0; i < values.rows(); ++i) {
            double sum = 0, count = 0;
            for (Index j = 0; j < values.cols(); ++j)
                if (sees(visible, i, j)) {
                    sum += static_cast<double>(values(i, j));
                    count += 1;
                }
            for (Index j = 0; j < values.cols(); ++j)
                if (sees(visible, i, j)) visit(term, i, j, std::abs(static_cast<double>(values(i, j)) - sum / count));
        }
    }
}

/// Parts of their sum; `nothing` for all three where that is 0 or not finite.
TermShares parts_of_sum(const TermShares& amounts, double nothing) {
    const double sum = amounts[0] + amounts[1] + amounts[2];
    if (!(sum > 0) || !std::isfinite(sum)) return {nothing, nothing, nothing};
    return {amounts[0] / sum, amounts[1] / sum, amounts[2] / sum};
}

}  // namespace

TermShares term_shares(const HeadTerms& terms, const Mask& visible) {
    TermShares amounts{};
    for_each_deviation(terms, visible,
                       [&](std::size_t term, Index, Index, double deviation) { amounts[term] += deviation; });
    return parts_of_sum(amounts, 0);
}

std::optional<std::size_t> dominant_term(const TermShares& shares) {
    const auto largest = std::max_element(shares.begin(), shares.end());
    if (!(*largest > 0)) return std::nullopt;
    return static_cast<std::size_t>(largest - shares.begin());
}

std::array<std::vector<double>, 3> shares_by_distance(const HeadTerms& terms, const Mask& visible) {
    const Index length = terms.c2c.rows();
    LOCUS_CHECK(length > 0 && terms.c2c.cols() == length, "shares_by_distance: a term of [" + std::to_string(length) +
                                                              ", " + std::to_string(terms.c2c.cols()) +
                                                              "], expected a square");
    const auto offsets = static_cast<std::size_t>(2 * length - 1);
    std::vector<TermShares> amounts(offsets, TermShares{});
    // Every term has the same pairs at an offset, so sums serve as well as means.
    for_each_deviation(terms, visible, [&](std::size_t term, Index i, Index j, double deviation) {
        amounts[static_cast<std::size_t>(i - j + length - 1)][term] += deviation;
    });
    std::array<std::vector<double>, 3> curves;
    for (const TermShares& at_offset : amounts) {
        const TermShares shares = parts_of_sum(at_offset, std::numeric_limits<double>::quiet_NaN());
        for (std::size_t term = 0; term < 3; ++term) curves[term].push_back(shares[term]);
    }
    return curves;
}

HeadSummary summarise_head(const HeadTerms& terms, const ConstView<float>& probs, const Mask& visible) {
    HeadSummary summary;
    summary.shares = term_shares(terms, visible);
    const auto halvings = [](Index cells) {
        int times = 0;
        while (cells >> times > kPictureSide) ++times;
        return times;
    };
    const Detail detail{halvings(probs.rows()), halvings(probs.cols())};
    if (detail == Detail{}) {
        summary.picture = probs;
        summary.visible = visible;
        return summary;
    }
    Pyramid pyramid(SharedMatrix(probs), visible, Pooling::largest);
    const CellLevel& level = pyramid.level(detail);
    summary.picture = level.values;
    if (level.hidden.size() > 0)
        summary.visible = level.hidden.unaryExpr([](std::uint8_t hidden) -> std::uint8_t { return hidden ? 0 : 1; });
    return summary;
}

}  // namespace locus
