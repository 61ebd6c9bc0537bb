#include "viewer/plots/matrix_view.h"

#include <algorithm>
#include <numeric>

namespace locus {

double MatrixView::shown(Index cells) const {
    const auto all = static_cast<double>(cells);
    return extent == 0 ? all : std::min(extent, all);
}

void MatrixView::clamp(Index cells) {
    const auto all = static_cast<double>(cells);
    if (extent >= all) extent = 0;
    const double area = all - shown(cells);
    first_i = std::clamp(first_i, 0.0, area);
    first_j = std::clamp(first_j, 0.0, area);
}

void MatrixView::zoom(double factor, double x, double y, Index cells) {
    const double before = shown(cells), all = static_cast<double>(cells);
    extent = std::clamp(before / factor, std::min(2.0, all), all);
    first_j += x * (before - extent);
    first_i += y * (before - extent);
    clamp(cells);
}

void MatrixView::pan(double dx, double dy, Index cells) {
    first_j -= dx * shown(cells);
    first_i -= dy * shown(cells);
    clamp(cells);
}

void MatrixView::reveal(Index i, Index j, Index cells) {
    const double side = shown(cells);
    first_i = std::clamp(first_i, static_cast<double>(i) + 1 - side, static_cast<double>(i));
    first_j = std::clamp(first_j, static_cast<double>(j) + 1 - side, static_cast<double>(j));
    clamp(cells);
}

void MatrixView::reveal(Cell cell, Index rows, Index cols) {
    const Index all = std::max(rows, cols);
    // The last place that a cell covers first, so that the start of a cell wider than the window wins.
    reveal(((cell.i + 1) * all - 1) / rows, ((cell.j + 1) * all - 1) / cols, all);
    reveal(cell.i * all / rows, cell.j * all / cols, all);
}

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
