#include "viewer/data/relative_cell_text.h"

#include <cstdio>

#include "viewer/plots/cell_text.h"

namespace locus {

namespace {

std::string channels(const NamedTerm& named) {
    std::string text = "\n" + std::string(named.letter) + "  " + named.product + " = " + exact_text(named.term->value) +
                       "\n" + padded("channel", 7) + padded(named.left, 17) + padded(named.right, 17) +
                       padded("product", 17) + padded("sum so far", 17) + "\n";
    const TermExplanation<float>& term = *named.term;
    for (std::size_t c = 0; c < term.products.size(); ++c)
        text += padded(std::to_string(c), 7) + padded(exact_text(term.left[c]), 17) +
                padded(exact_text(term.right[c]), 17) + padded(exact_text(term.products[c]), 17) +
                padded(exact_text(term.running[c]), 17) + "\n";
    return text;
}

std::string softmax_lines(const RelativeCellExplanation<float>& cell, const std::string& hidden) {
    const SoftmaxSteps<float>& steps = cell.softmax;
    if (steps.sees_nothing)
        return "the query sees no key at all\n" + cell_text_line("probability", exact_text(steps.probability));
    std::string text;
    if (!steps.visible)
        text += hidden.empty() ? "the mask hides this pair\n" : "the mask hides this pair: " + hidden + "\n";
    else
        text += cell_text_line("row maximum (key " + std::to_string(steps.row_maximum_key) + ")",
                               exact_text(steps.row_maximum)) +
                cell_text_line("score - row maximum", exact_text(steps.shifted)) +
                cell_text_line("exp", exact_text(steps.exponential)) +
                cell_text_line("sum of the row's exp", exact_text(steps.denominator));
    return text + cell_text_line("probability", exact_text(steps.probability));
}

}  // namespace

std::string exact_text(float value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
    return text;
}

std::vector<NamedTerm> named_terms(const RelativeCellExplanation<float>& cell, RelativeScheme scheme) {
    if (scheme == RelativeScheme::transformer_xl)
        return {{"a", "q\u00b7k", "q", "k", &cell.a},         {"b", "q\u00b7r", "q", "r", &cell.b},
                {"c", "u\u00b7k", "u", "k", &cell.c},         {"d", "v\u00b7r", "v", "r", &cell.d},
                {"ac", "(q+u)\u00b7k", "q+u", "k", &cell.ac}, {"bd", "(q+v)\u00b7r", "q+v", "r", &cell.bd}};
    std::vector<NamedTerm> terms = {{"ac", "(q+u)\u00b7k", "q+u", "k", &cell.ac},
                                    {"bd", "(q+v)\u00b7r", "q+v", "r", &cell.bd}};
    if (cell.ef.active) terms.push_back({"ef", "(q+s)\u00b7g", "q+s", "g", &cell.ef});
    return terms;
}

std::string cell_text(const RelativeCellExplanation<float>& cell, RelativeScheme scheme, const CellNames& names,
                      const ShiftSource& shift) {
    const std::string width = std::to_string(cell.ac.products.size());
    std::string text =
        names.model + ", " + names.place + ", cell (" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")\n";
    text += cell_text_line("query",
                           "\"" + names.query + "\", position " + std::to_string(cell.position) + " of its segment");
    text += cell_text_line("key", "\"" + names.key + "\", column " + std::to_string(cell.j));
    text += cell_text_line("distance", std::to_string(cell.distance) + " = M + i - j");
    if (cell.row < 0)
        text += "no row of R stands for this distance: b and d are 0\n";
    else
        text += cell_text_line("row of R", std::to_string(cell.row)) +
                cell_text_line("before the shift", "row " + std::to_string(shift.row) + ", column " +
                                                       std::to_string(shift.column) + " of (q+v)\u00b7r; " +
                                                       std::to_string(shift.place) + " numbers before it in memory");
    for (const NamedTerm& named : named_terms(cell, scheme))
        if (named.term->active)
            text += cell_text_line(std::string(named.letter) + "  " + named.product, exact_text(named.term->value));
    if (cell.ef.active)
        text += cell_text_line("segments",
                               cell.other_segment ? "another one: row 1 of the table" : "the same: row 0 of the table");
    text += cell_text_line(cell.ef.active ? "sum ac + bd + ef" : "sum ac + bd", exact_text(cell.sum));
    text += cell_text_line("/ sqrt(" + width + ") = score", exact_text(cell.score));
    text += softmax_lines(cell, names.hidden);
    for (const NamedTerm& named : named_terms(cell, scheme))
        if (named.term->active) text += channels(named);
    return text;
}

}  // namespace locus
