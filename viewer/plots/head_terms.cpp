#include "viewer/plots/head_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/products.h"
#include "viewer/plots/pyramid.h"

namespace locus {

bool is_kept(const KeptTerms& kept, std::size_t term) { return term == 0 ? kept.c2c : term == 1 ? kept.c2p : kept.p2c; }

bool& kept_flag(KeptTerms& kept, std::size_t term) { return term == 0 ? kept.c2c : term == 1 ? kept.c2p : kept.p2c; }

int divisor_terms_left(const Terms& present, KeptTerms kept, const TermScale& scale) {
    if (!scale.follows) return scale.terms;
    const int dropped = int{!kept.c2c} + int{present.c2p && !kept.c2p} + int{present.p2c && !kept.p2c};
    return std::max(1, scale.terms - dropped);
}

AblatedHead ablate(const HeadTerms& terms, KeptTerms kept, const TermScale& scale, const Mask& visible,
                   MaskedRow masked_row) {
    AblatedHead head;
    head.divisor_terms = divisor_terms_left(terms.present(), kept, scale);
    head.scores = kept.c2c ? terms.c2c : Matrix<float>::Zero(terms.c2c.rows(), terms.c2c.cols());
    for (const std::size_t term : {1u, 2u}) {
        const Matrix<float>& values = terms.at(term);
        if (values.size() == 0 || !is_kept(kept, term)) continue;
        LOCUS_CHECK(values.rows() == head.scores.rows() && values.cols() == head.scores.cols(),
                    "ablate: a term of [" + std::to_string(values.rows()) + ", " + std::to_string(values.cols()) +
                        "], expected [" + std::to_string(head.scores.rows()) + ", " +
                        std::to_string(head.scores.cols()) + "]");
        head.scores += values;
    }
    head.scores /= score_divisor<float>(head.divisor_terms, scale.head_width);
    head.probs = masked_softmax<float>(head.scores, visible, masked_row);
    return head;
}

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

std::vector<double> strength_by_distance(const ConstView<float>& term, const Mask& visible) {
    const Index length = term.rows();
    LOCUS_CHECK(length > 0 && term.cols() == length, "strength_by_distance: a term of [" + std::to_string(term.rows()) +
                                                         ", " + std::to_string(term.cols()) + "], expected a square");
    LOCUS_CHECK(visible.size() == 0 || (visible.rows() == length && visible.cols() == length),
                "strength_by_distance: a mask of " + std::to_string(visible.rows()) + " rows, expected " +
                    std::to_string(length));
    const auto offsets = static_cast<std::size_t>(2 * length - 1);
    std::vector<double> sum(offsets, 0.0), count(offsets, 0.0);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            if (visible.size() > 0 && !visible(i, j)) continue;
            const auto at = static_cast<std::size_t>(i - j + length - 1);
            sum[at] += std::abs(static_cast<double>(term(i, j)));
            count[at] += 1;
        }
    for (std::size_t n = 0; n < offsets; ++n)
        sum[n] = count[n] > 0 ? sum[n] / count[n] : std::numeric_limits<double>::quiet_NaN();
    return sum;
}

Matrix<float> distance_products(const ConstView<float>& contents, const ConstView<float>& table,
                                const RelativeBuckets& buckets, Index reach) {
    LOCUS_CHECK(contents.cols() == table.cols(), "vectors have " + std::to_string(contents.cols()) +
                                                     " channels, the relative table " + std::to_string(table.cols()) +
                                                     ", expected the same number");
    LOCUS_CHECK(reach >= 0 && reach < buckets.queries() && reach < buckets.keys() && table.rows() == 2 * buckets.span(),
                "distances reach to " + std::to_string(reach) + ", the buckets to " +
                    std::to_string(std::min(buckets.queries(), buckets.keys()) - 1));
    const Matrix<float> by_row = times_transposed<float>(contents, table);
    Matrix<float> products(contents.rows(), 2 * reach + 1);
    for (Index offset = -reach; offset <= reach; ++offset)
        products.col(offset + reach) = by_row.col(buckets.row_of_offset(offset));
    return products;
}

std::vector<double> mean_of_rows(const ConstView<float>& values) {
    std::vector<double> means(static_cast<std::size_t>(values.cols()));
    for (Index c = 0; c < values.cols(); ++c)
        means[static_cast<std::size_t>(c)] =
            values.col(c).template cast<double>().sum() / static_cast<double>(values.rows());
    return means;
}

}  // namespace locus
