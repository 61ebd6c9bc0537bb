#include "viewer/plots/cell_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "viewer/plots/head_terms.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

std::string text(Index value) { return std::to_string(value); }

/// The steps between i - j and the bucket where both are not the same.
void add_logarithm(const TableRule& rule, Index offset, std::vector<TableStep>& steps) {
    const Index half = rule.buckets / 2, edge = rule.farthest - 1;
    const Index bucket = log_bucket(offset, rule.buckets, rule.farthest, rule.clamp);
    const std::string size = text(std::abs(offset)), start = text(half);
    steps.push_back({start + " + \u2308" + text(half - 1) + " ln(" + size + "/" + start + ")/ln(" + text(edge) + "/" +
                         start + ")\u2309",
                     std::abs(bucket), "|i\u2212j| is above " + start + ", so its logarithm counts:"});
    if (offset < 0) steps.push_back({"j is to the right: minus", bucket});
}

}  // namespace

TableRule TableRule::of(const DebertaConfig& config, OffsetClamp clamp) {
    return {config.position_buckets, config.span(), config.max_relative_positions, clamp};
}

std::vector<TableStep> table_steps(const TableRule& rule, Index offset) {
    std::vector<TableStep> steps = {{"i \u2212 j", offset}};
    const Index half = rule.buckets / 2, edge = rule.farthest - 1;
    if (rule.buckets > 0 && rule.clamp == OffsetClamp::official && std::abs(offset) > edge) {
        offset = std::clamp(offset, -edge, edge);
        steps.push_back({"kept within \u00b1" + text(edge), offset});
    }
    if (rule.buckets == 0 && offset >= -rule.span && offset < rule.span)
        steps.push_back({"inside \u2212" + text(rule.span) + " \u2026 " + text(rule.span - 1) + ": itself", offset});
    else if (rule.buckets == 0)
        steps.push_back({"clamped to \u2212" + text(rule.span) + " \u2026 " + text(rule.span - 1),
                         std::clamp(offset, -rule.span, rule.span - 1)});
    else if (std::abs(offset) <= half)
        steps.push_back({"bucket (|i\u2212j| \u2264 " + text(half) + ": itself)", offset});
    else
        add_logarithm(rule, offset, steps);
    const Index shifted = steps.back().value + rule.span, row = std::clamp<Index>(shifted, 0, 2 * rule.span - 1);
    const std::string plus = "+ span k = " + text(rule.span);
    if (row != shifted) steps.push_back({plus, shifted});
    steps.push_back({row != shifted ? "kept inside the table \u2192 row" : plus + " \u2192 row", row});
    return steps;
}

std::string exact_text(float value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
    return text;
}

namespace {

/// Right-aligned in so many columns.
std::string padded(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// "score                       1.5\n": values begin in one column.
std::string cell_text_line(const std::string& label, const std::string& value) {
    return label + std::string(label.size() < 28 ? 28 - label.size() : 1, ' ') + value + "\n";
}

/// "channel  left  right  product  running sum", one line per channel.
std::string channel_table(const TermExplanation<float>& term, const char* left, const char* right, const char* sum) {
    std::string text =
        padded("channel", 7) + padded(left, 17) + padded(right, 17) + padded("product", 17) + padded(sum, 17) + "\n";
    for (std::size_t c = 0; c < term.products.size(); ++c)
        text += padded(std::to_string(c), 7) + padded(exact_text(term.left[c]), 17) +
                padded(exact_text(term.right[c]), 17) + padded(exact_text(term.products[c]), 17) +
                padded(exact_text(term.running[c]), 17) + "\n";
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
    text += "\n" + std::string(words.name) + ": " + formula + " = " + exact_text(term.value) +
            (is_kept(cell, number) ? "" : " (dropped: not in the sum)") + "\n";
    text += channel_table(term, words.left, words.right, "running sum");
}

void add_steps(std::string& text, const CellExplanation<float>& cell, const CellText& about) {
    text += "\n" + cell_text_line("sum of the kept terms", exact_text(cell.sum));
    text += cell_text_line("sqrt(n d), n = " + std::to_string(cell.terms), exact_text(cell.divisor));
    text += cell_text_line("score", exact_text(cell.score));
    if (!cell.visible) {
        text += hidden_pair_sentence(cell) + "\n";
    } else if (about.softmax_follows) {
        text +=
            cell_text_line("row maximum, at j = " + std::to_string(cell.row_maximum_key), exact_text(cell.row_maximum));
        text += cell_text_line("score - row maximum", exact_text(cell.shifted));
        text += cell_text_line("exp of it", exact_text(cell.exponential));
        text += cell_text_line("row sum of exp", exact_text(cell.denominator));
        text += cell_text_line("probability", exact_text(cell.probability));
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
        text += padded(std::to_string(j), 7) + padded(exact_text(about.scores[j]), 17) +
                padded(exact_text(exponential), 17) +
                padded(hidden ? exact_text(cell.sees_nothing ? cell.probability : 0.0f)
                              : exact_text(exponential / cell.denominator),
                       17) +
                "  " + about.tokens[j] + (hidden ? " (hidden)" : "") + "\n";
    }
}

}  // namespace

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

namespace {

/// The shortest decimal that reads back as the same number.
template <class Number>
std::string exact(Number number) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string line(const std::string& name, const std::string& value) { return name + " = " + value + "\n"; }

std::string heading(const ExplainedPair& pair) {
    return pair.place + "\nquery \"" + pair.query + "\" at " + std::to_string(pair.m) + " looks at key \"" + pair.key +
           "\" at " + std::to_string(pair.n) + ", m - n = " + std::to_string(pair.m - pair.n) + "\n\n";
}

/// "c  left  right  product  running", one line per channel.
template <class Scalar>
std::string products(const std::string& left, const std::string& right, const std::vector<Scalar>& a,
                     const std::vector<Scalar>& b, const std::vector<Scalar>& product,
                     const std::vector<Scalar>& running) {
    std::string text = "channel\t" + left + "\t" + right + "\tproduct\trunning sum\n";
    for (std::size_t c = 0; c < a.size(); ++c)
        text += std::to_string(c) + "\t" + exact(a[c]) + "\t" + exact(b[c]) + "\t" + exact(product[c]) + "\t" +
                exact(running[c]) + "\n";
    return text;
}

std::string softmax_lines(bool visible, float maximum, Index key, float shifted, float exponential, float denominator,
                          float probability) {
    if (!visible) return "the mask hides this pair, so its probability is exactly 0\n";
    return line("row maximum (key " + std::to_string(key) + ")", exact(maximum)) +
           line("score - row maximum", exact(shifted)) + line("exp", exact(exponential)) +
           line("row sum of exp", exact(denominator)) + line("probability", exact(probability));
}

}  // namespace

std::string cell_text(const RotaryExplanation<float>& cell, const ExplainedPair& pair, const std::vector<double>& theta,
                      bool has_row) {
    std::string text = heading(pair);
    text += "plane\tchannels\ttheta\t(m - n) theta\tq rotated\tk rotated\tproducts\tstep\n";
    for (std::size_t t = 0; t < cell.planes.size(); ++t) {
        const RotatedPlane<float>& plane = cell.planes[t];
        const auto two = [](float a, float b, const char* between) { return exact(a) + between + exact(b); };
        text += std::to_string(t) + "\t" + std::to_string(plane.a) + ", " + std::to_string(plane.b) + "\t" +
                exact(theta.at(t)) + "\t" + exact(static_cast<double>(pair.m - pair.n) * theta.at(t)) + "\t" +
                two(plane.q_a_rot, plane.q_b_rot, ", ") + "\t" + two(plane.k_a_rot, plane.k_b_rot, ", ") + "\t" +
                two(plane.product_a, plane.product_b, " + ") + "\t" + exact(plane.step) + "\n";
    }
    text += "\n" + products("q rotated", "k rotated", cell.left, cell.right, cell.products, cell.running);
    text +=
        line("sum", exact(cell.sum)) + line("square root of d", exact(cell.divisor)) + line("score", exact(cell.score));
    if (!has_row) return text;
    const SoftmaxSteps<float>& steps = cell.softmax;
    return text + softmax_lines(steps.visible, steps.row_maximum, steps.row_maximum_key, steps.shifted,
                                steps.exponential, steps.denominator, steps.probability);
}

std::string cell_text(const LinearExplanation<float>& cell, const ExplainedPair& pair,
                      const std::vector<std::string>& words) {
    std::string text = heading(pair) + "linear attention, phi(x) = elu(x) + 1, rotated in the numerator only\n\n";
    text += products("phi(q) rotated", "phi(k) rotated", cell.left, cell.right, cell.products, cell.running);
    text += "\nkey\tnumerator\trunning\tphi(q) phi(k)\trunning\tweight\n";
    for (std::size_t j = 0; j < cell.keys.size(); ++j) {
        const LinearKey<float>& key = cell.keys[j];
        text += std::to_string(j) + " " + words.at(j) + "\t" + exact(key.numerator) + "\t" +
                exact(key.running_numerator) + "\t" + exact(key.positive) + "\t" + exact(key.running_denominator) +
                "\t" + exact(key.weight) + "\n";
    }
    return text + line("denominator", exact(cell.denominator)) + line("weight", exact(cell.weight));
}

namespace {

std::string channels(const NamedTerm& named) {
    return "\n" + std::string(named.letter) + "  " + named.product + " = " + exact_text(named.term->value) + "\n" +
           channel_table(*named.term, named.left, named.right, "sum so far");
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
        text += "R has no row for this distance: b and d are 0\n";
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
    // A hidden pair's score is made without bd, though its products are listed.
    const bool without = !cell.softmax.visible && cell.bd.active;
    text +=
        cell_text_line(std::string(cell.ef.active ? "sum ac + bd + ef" : "sum ac + bd") + (without ? ", bd as 0" : ""),
                       exact_text(cell.sum));
    text += cell_text_line("/ sqrt(" + width + ") = score", exact_text(cell.score));
    text += softmax_lines(cell, names.hidden);
    for (const NamedTerm& named : named_terms(cell, scheme))
        if (named.term->active) text += channels(named);
    return text;
}

}  // namespace locus
