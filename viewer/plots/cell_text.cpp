#include "viewer/plots/cell_text.h"

#include <cmath>
#include <cstdio>

#include "viewer/plots/ablation.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

/// Nine significant digits tell any two float32 apart.
std::string digits(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
    return text;
}

struct TermWords {
    const char *name, *formula, *left, *right;
};
constexpr TermWords kTerms[] = {{"content to content", "q_i . k_j", "q_i", "k_j"},
                                {"content to position", "q_i . k_r[", "q_i", "k_r"},
                                {"position to content", "k_j . q_r[", "k_j", "q_r"}};

void add_term(std::string& text, const CellExplanation<float>& cell, int number) {
    const TermExplanation<float>& term = term_of(cell, number);
    if (!term.active) return;
    const TermWords& words = kTerms[number];
    const std::string formula = words.formula + (number > 0 ? std::to_string(term.row) + "]" : "");
    text += "\n" + std::string(words.name) + ": " + formula + " = " + digits(term.value) +
            (is_kept(cell, number) ? "" : " (dropped: not in the sum)") + "\n";
    text += "channel" + padded(words.left, 17) + padded(words.right, 17) + padded("product", 17) +
            padded("running sum", 17) + "\n";
    for (std::size_t c = 0; c < term.products.size(); ++c)
        text += padded(std::to_string(c), 7) + padded(digits(term.left[c]), 17) + padded(digits(term.right[c]), 17) +
                padded(digits(term.products[c]), 17) + padded(digits(term.running[c]), 17) + "\n";
}

void add_steps(std::string& text, const CellExplanation<float>& cell, const CellText& about) {
    text += "\n" + cell_text_line("sum of the kept terms", digits(cell.sum));
    text += cell_text_line("sqrt(n d), n = " + std::to_string(cell.terms), digits(cell.divisor));
    text += cell_text_line("score", digits(cell.score));
    if (!cell.visible) {
        text += hidden_pair_sentence(cell) + "\n";
    } else if (about.softmax_follows) {
        text += cell_text_line("row maximum, at j = " + std::to_string(cell.row_maximum_key), digits(cell.row_maximum));
        text += cell_text_line("score - row maximum", digits(cell.shifted));
        text += cell_text_line("exp of it", digits(cell.exponential));
        text += cell_text_line("row sum of exp", digits(cell.denominator));
        text += cell_text_line("probability", digits(cell.probability));
    } else {
        text += "this model mixes the heads before the softmax\n";
    }
    if (about.steps.empty()) return;
    text += "\nwhich table row\n";
    for (const TableStep& step : about.steps)
        text += "  " + (step.why.empty() ? "" : step.why + " ") + step.label + ": " + whole(step.value) + "\n";
    if (cell.p2c.active && cell.p2c.row != about.steps.back().value)
        text += "  position to content uses j - i: " + std::to_string(cell.p2c.row) + "\n";
}

void add_row(std::string& text, const CellExplanation<float>& cell, const CellText& about) {
    if (!about.softmax_follows) return;
    text +=
        "\nthe whole row\n      j" + padded("score", 17) + padded("exp", 17) + padded("probability", 17) + "  token\n";
    for (std::size_t j = 0; j < about.scores.size(); ++j) {
        const bool hidden = !about.visible.empty() && !about.visible[j];
        const float exponential = hidden ? 0.0f : std::exp(about.scores[j] - cell.row_maximum);
        text += padded(std::to_string(j), 7) + padded(digits(about.scores[j]), 17) + padded(digits(exponential), 17) +
                padded(hidden ? digits(cell.sees_nothing ? cell.probability : 0.0f)
                              : digits(exponential / cell.denominator),
                       17) +
                "  " + about.tokens[j] + (hidden ? " (hidden)" : "") + "\n";
    }
}

}  // namespace

std::string padded(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string cell_text_line(const std::string& label, const std::string& value) {
    return label + std::string(label.size() < 28 ? 28 - label.size() : 1, ' ') + value + "\n";
}

const TermExplanation<float>& term_of(const CellExplanation<float>& cell, int term) {
    return term == 0 ? cell.c2c : term == 1 ? cell.c2p : cell.p2c;
}

bool is_kept(const CellExplanation<float>& cell, int term) {
    return is_kept(cell.kept, static_cast<std::size_t>(term));
}

std::string hidden_pair_sentence(const CellExplanation<float>& cell) {
    if (cell.probability == 0) return "The mask hides this pair, so its probability is exactly 0.";
    return "The mask hides every key from this query; this dialect then gives each of them the same probability, 1 / " +
           std::to_string(std::lround(1 / cell.probability)) + ".";
}

std::string cell_text(const CellExplanation<float>& cell, const CellText& about) {
    const auto token = [&](Index t) { return about.tokens.at(static_cast<std::size_t>(t)); };
    std::string text = about.where + "\n";
    text += "cell (" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + "): " + token(cell.i) + " looks at " +
            token(cell.j) + ", " + direction(cell.offset) + "\n";
    for (int term = 0; term < 3; ++term) add_term(text, cell, term);
    add_steps(text, cell, about);
    add_row(text, cell, about);
    return text;
}

}  // namespace locus
