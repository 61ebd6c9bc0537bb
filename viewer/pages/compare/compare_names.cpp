// How rows, columns, cells and values are called.
#include <cmath>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

/// "cat / dog" where two sentences of one length differ.
std::vector<std::string> words_of_both(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    if (a.size() != b.size()) return {};
    std::vector<std::string> words = a;
    for (std::size_t n = 0; n < a.size(); ++n)
        if (a[n] != b[n]) words[n] += " / " + b[n];
    return words;
}

}  // namespace

void ComparePage::name_axes(const Scene& scene) {
    const CompareState& state = scene.state.compare;
    const auto sample = static_cast<std::size_t>(state.sample);
    std::vector<std::string> words;
    const CompareAnswer& compared = scene.answer->compare;
    if (state.from_model() && !state.has_own_words())
        words = scene.answer->labels;
    else if (state.from_model())
        words = words_of_both(compared.words_a, compared.words_b);
    else if (sample < scene.answer->compare.tokens.size())
        words = scene.answer->compare.tokens[sample];
    else if (state.report)
        words = state.reported()->tokens;
    const auto fits = [&](const std::string& axis, Index count) {
        return counts_tokens(axis) && static_cast<Index>(words.size()) == count;
    };
    row_words_ = fits(sheets_.row_axis, sheets_.rows) ? words : std::vector<std::string>();
    column_words_ = fits(sheets_.col_axis, sheets_.cols) ? words : std::vector<std::string>();
}

std::string ComparePage::column_axis() const {
    return axis_in_words(sheets_.col_axis) + (sheets_.col_axis == "Tk" ? " j" : "");
}

std::string ComparePage::row_name(Index i) const {
    return row_words_.empty() ? std::to_string(i) : row_words_[static_cast<std::size_t>(i)];
}

std::string ComparePage::column_name(Index j) const {
    return column_words_.empty() ? std::to_string(j) : column_words_[static_cast<std::size_t>(j)];
}

std::string ComparePage::place_in_words(Cell cell) const {
    const auto named = [](const std::string& axis, const std::vector<std::string>& words, Index at) {
        const std::string place = axis_in_words(axis) + " " + std::to_string(at);
        return words.empty() ? place : place + " (" + words[static_cast<std::size_t>(at)] + ")";
    };
    const std::string column = named(sheets_.col_axis, column_words_, cell.j);
    return sheets_.row_axis.empty() ? column : named(sheets_.row_axis, row_words_, cell.i) + ", " + column;
}

std::string ComparePage::value_text(double value) const {
    if (whole_numbers_ && value == std::floor(value)) return whole(static_cast<std::int64_t>(value));
    const double size = std::abs(value);
    return size != 0 && (size >= 1e5 || size < 1e-3) ? brief(value) : fixed(value, 4);
}

}  // namespace locus
