// The report as one page: no scripts, no network, dark and light as the reader's system wants it.
#include <algorithm>
#include <cmath>

#include "core/conformance/report/report.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

constexpr Index kWindow = 40;  // cells of a picture per side; larger stages are shown around the worst cell
constexpr Index kSide = 280;   // CSS pixels that a picture tries to fill

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --text: #1a1d23; --muted: #6b7280; --page: #ffffff; --panel: #f4f5f7; --line: #d9dce1;
  --good: #15803d; --bad: #c2261c; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8ec; --muted: #8b93a1; --page: #0f1218; --panel: #161a22;
  --line: #2a2f3a; --good: #4ade80; --bad: #f87171; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; background: var(--panel); }
summary { cursor: pointer; } pre { white-space: pre-wrap; font: 13px/1.5 ui-monospace, monospace; }
.pass { color: var(--good); } .fail { color: var(--bad); font-weight: 600; } .rest { color: var(--muted); }
.pictures { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: 0; } figcaption { color: var(--muted); }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: .1rem .8rem .1rem 0; text-align: left; }
rect.worst { stroke: var(--text); stroke-width: 2; }
)";

/// What part of a stage the pictures show: rows and columns around the worst cell.
struct Window {
    Index offset = 0;  // flat index of the matrix's first value
    Index rows = 1, columns = 1, first_row = 0, first_column = 0, worst_row = 0, worst_column = 0;
    Index shown_rows() const { return std::min(rows, kWindow); }
    Index shown_columns() const { return std::min(columns, kWindow); }
    /// CSS pixels of a cell.
    Index cell() const { return std::clamp<Index>(kSide / std::max(shown_rows(), shown_columns()), 7, 28); }
};

Window window_of(const ShownStage& stage, Index worst) {
    Window window;
    const Shape& shape = stage.expected.shape();
    if (!shape.empty()) window.columns = shape.back();
    if (shape.size() > 1) window.rows = shape[shape.size() - 2];
    const Index matrix = window.rows * window.columns;
    window.offset = worst / matrix * matrix;
    window.worst_row = worst % matrix / window.columns;
    window.worst_column = worst % window.columns;
    const auto first = [](Index at, Index all) {
        return std::clamp<Index>(at - kWindow / 2, 0, std::max<Index>(0, all - kWindow));
    };
    window.first_row = first(window.worst_row, window.rows);
    window.first_column = first(window.worst_column, window.columns);
    return window;
}

/// Blue below zero, orange above; a value near zero is the page itself, dark or light.
std::string colour_of(double value, double scale) {
    if (!std::isfinite(value)) return "fill=\"#a21caf\"";
    const double opacity = scale > 0 ? std::min(1.0, std::abs(value) / scale) : 0;
    return std::string("fill=\"") + (value < 0 ? "#2f7ff0" : "#e8762d") + "\" fill-opacity=\"" +
           format_number(std::round(1000 * opacity) / 1000) + "\"";
}

std::string picture(const std::string& title, const Tensor<double>& values, const Window& window, double scale) {
    const Index rows = window.shown_rows(), columns = window.shown_columns();
    const auto px = [&](Index cells) { return std::to_string(cells * window.cell()); };
    std::string text = "<figure><figcaption>" + markup(title) + " (±" + format_number(scale) +
                       ")</figcaption><svg width=\"" + px(columns) + "\" height=\"" + px(rows) +
                       "\" role=\"img\" aria-label=\"" + markup(title) + "\">";
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < columns; ++j) {
            const Index row = window.first_row + i, column = window.first_column + j;
            const double value = values[window.offset + row * window.columns + column];
            const bool worst = row == window.worst_row && column == window.worst_column;
            text += "<rect" + std::string(worst ? " class=\"worst\"" : "") + " x=\"" + px(j) + "\" y=\"" + px(i) +
                    "\" width=\"" + px(1) + "\" height=\"" + px(1) + "\" " + colour_of(value, scale) + "><title>[" +
                    std::to_string(row) + ", " + std::to_string(column) + "] " + format_number(value) +
                    "</title></rect>";
        }
    return text + "</svg></figure>";
}

double largest(const Tensor<double>& values, const Window& window) {
    double size = 0;
    for (Index n = 0; n < window.rows * window.columns; ++n)
        if (std::isfinite(values[window.offset + n])) size = std::max(size, std::abs(values[window.offset + n]));
    return size;
}

std::string pictures(const ShownStage& stage, Index worst) {
    if (worst < 0 || stage.expected.shape() != stage.found.shape()) return "";
    const Window window = window_of(stage, worst);
    Tensor<double> difference = stage.found;
    for (Index n = 0; n < difference.size(); ++n) difference[n] -= stage.expected[n];
    const double scale = std::max(largest(stage.expected, window), largest(stage.found, window));
    std::string text = "<div class=\"pictures\">" + picture("expected", stage.expected, window, scale) +
                       picture("found", stage.found, window, scale) +
                       picture("found − expected", difference, window, largest(difference, window)) + "</div>";
    if (window.rows > kWindow || window.columns > kWindow)
        text += "<p class=\"rest\">" + std::to_string(window.shown_rows()) + " × " +
                std::to_string(window.shown_columns()) + " cells of " + std::to_string(window.rows) + " × " +
                std::to_string(window.columns) + ", around the worst one</p>";
    return text;
}

std::string stages_table(const Comparison& comparison) {
    std::string text = "<table><tr><th>stage</th><th>largest difference</th><th>rounding allows</th><th></th></tr>";
    for (const StageVerdict& verdict : comparison.stages)
        text += "<tr><td>" + markup(verdict.name) + "</td><td>" +
                (verdict.worst >= 0 ? format_number(verdict.max_difference) : "") + "</td><td>" +
                format_number(verdict.allowed) + "</td><td class=\"" +
                (verdict.pass ? "pass\">ok" : "fail\">" + markup(verdict.reason)) + "</td></tr>";
    return text + "</table>";
}

std::string case_html(const CaseReport& report) {
    const char* kind = report.verdict == Verdict::pass ? "pass" : report.verdict == Verdict::fail ? "fail" : "rest";
    const char* word = report.verdict == Verdict::pass     ? "ok"
                       : report.verdict == Verdict::fail   ? "FAIL"
                       : report.verdict == Verdict::waived ? "waived"
                                                           : "not reported";
    std::string text = std::string("<details") + (report.verdict == Verdict::fail ? " open" : "") +
                       "><summary><span class=\"" + kind + "\">" + word + "</span> " + markup(report.id) +
                       " <span class=\"rest\">" + markup(report.why) + "</span></summary>";
    if (report.verdict == Verdict::fail) {
        text += "<pre>" + markup(divergence_text(report)) + "</pre>";
        if (const StageVerdict* first = report.wrong()) text += pictures(*report.first, first->worst);
    }
    if (!report.waiver.empty()) text += "<p>waived: " + markup(report.waiver) + "</p>";
    for (const std::string& said : {accuracy_text(report), rounded_text(report)})
        if (!said.empty()) text += "<p class=\"rest\">" + markup(said) + "</p>";
    if (!report.comparison.stages.empty()) text += stages_table(report.comparison);
    return text + "</details>";
}

}  // namespace

std::string report_html(const Report& report) {
    std::string text =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Locus: " + markup(report.candidate) +
        "</title><meta name=\"viewport\" content=\"width=device-width\"><link rel=\"icon\" href=\"data:,\"><style>" +
        kStyle + "</style></head><body><h1>" + markup(report.candidate) + " <span class=\"" +
        (report.pass() ? "pass\">passes" : "fail\">fails") + "</span></h1>";
    text += "<p class=\"rest\">" +
            (report.kit.empty() ? std::string("two traces") : "locus kit " + markup(report.kit)) +
            (report.dialect.empty() ? "" : ", dialect " + markup(report.dialect)) +
            (report.dtype.empty() ? "" : ", " + markup(report.dtype)) + "</p>";
    if (!report.kit.empty()) text += "<p>" + counts_of(report.cases).text() + "</p>";
    for (const std::string& error : report.errors) text += "<p class=\"fail\">" + markup(error) + "</p>";
    std::string level = "-";
    for (const CaseReport& one : report.cases) {
        if (one.level != level && !one.level.empty()) text += "<h2>" + markup(one.level) + "</h2>";
        level = one.level;
        text += case_html(one);
    }
    return text + "</body></html>\n";
}

}  // namespace locus::conformance
