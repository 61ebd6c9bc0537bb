#include "viewer/plots/selection.h"

#include <algorithm>
#include <numeric>

namespace locus {

namespace {

std::vector<Index> range(Index first, Index last) {
    std::vector<Index> numbers(static_cast<std::size_t>(last - first + 1));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

std::vector<Index> all_if_empty(const std::vector<Index>& numbers, Index count) {
    return numbers.empty() ? range(0, count - 1) : numbers;
}

std::vector<Index> below(const std::vector<Index>& numbers, Index count) {
    std::vector<Index> kept;
    for (const Index n : numbers)
        if (n >= 0 && n < count) kept.push_back(n);
    return kept;
}

}  // namespace

Selection block_of(Cell one, Cell other) {
    return {range(std::min(one.i, other.i), std::max(one.i, other.i)),
            range(std::min(one.j, other.j), std::max(one.j, other.j))};
}

void toggle(std::vector<Index>& numbers, Index number) {
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
    if (at != numbers.end() && *at == number)
        numbers.erase(at);
    else
        numbers.insert(at, number);
}

Selection inside(const Selection& selection, Index rows, Index cols) {
    return {below(selection.rows, rows), below(selection.cols, cols)};
}

std::string runs_in_words(const std::vector<Index>& numbers) {
    std::string words;
    for (std::size_t n = 0; n < numbers.size();) {
        std::size_t last = n;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        words += (n > 0 ? ", " : "") + std::to_string(numbers[n]);
        if (last > n) words += (last == n + 1 ? ", " : " \u2026 ") + std::to_string(numbers[last]);
        n = last + 1;
    }
    return words;
}

SelectionTotal total_of(const ConstView<float>& values, const Mask& visible, const Selection& selection) {
    LOCUS_CHECK(!selection.empty() && inside(selection, values.rows(), values.cols()) == selection,
                "total_of: the selection is empty or lies outside [" + std::to_string(values.rows()) + ", " +
                    std::to_string(values.cols()) + "]");
    SelectionTotal total;
    for (const Index i : all_if_empty(selection.rows, values.rows()))
        for (const Index j : all_if_empty(selection.cols, values.cols())) {
            if (visible.size() > 0 && !visible(i, j)) continue;
            total.sum += static_cast<double>(values(i, j));
            ++total.pairs;
        }
    return total;
}

std::vector<SelectionTotal> totals_of_rows(const ConstView<float>& values, const Mask& visible,
                                           const std::vector<Index>& rows) {
    std::vector<SelectionTotal> totals;
    for (Index j = 0; j < values.cols(); ++j) totals.push_back(total_of(values, visible, {rows, {j}}));
    return totals;
}

std::vector<SelectionTotal> totals_of_cols(const ConstView<float>& values, const Mask& visible,
                                           const std::vector<Index>& cols) {
    std::vector<SelectionTotal> totals;
    for (Index i = 0; i < values.rows(); ++i) totals.push_back(total_of(values, visible, {{i}, cols}));
    return totals;
}

}  // namespace locus
