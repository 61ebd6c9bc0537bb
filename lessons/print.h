#pragma once
// How lessons speak: paragraphs, matrices, and claims that prove themselves.  Nothing here computes attention.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "core/cli/program.h"
#include "core/tensor.h"

namespace locus::lesson {

/// One lesson: what it prints, what it claims, and whether every claim held.
class Lesson {
public:
    Lesson(const std::string& number, const std::string& title) : number_(number), title_(title) {
        json_["lesson"] = number;
        json_["title"] = title;
        json_["claims"] = nlohmann::ordered_json::array();
    }

    /// Parses --ascii and --json, runs the lesson, and returns 0 only if every claim held.
    int run(int argc, char** argv, const std::function<void()>& body) {
        CLI::App app("Lesson " + number_ + ": " + title_, "locus lesson " + number_);
        app.add_flag("--ascii", ascii_, "letters and signs of ASCII only");
        app.add_flag("--json", quiet_, "print the numbers as JSON instead");
        return cli::run_program(app, argc, argv, [&] {
            colour_ = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR") && !ascii_;
            say(bold(number_ + "  " + title_) + "\n");
            body();
            if (quiet_) std::cout << json_.dump(2) << '\n';
            return held_ ? 0 : 1;
        });
    }

    /// A paragraph, broken into lines of a terminal; lines that begin with a space stay as they are.
    void say(const std::string& text) const {
        if (!quiet_) std::cout << broken(plain(text)) << "\n";
    }

    /// A matrix with a title; `format` is printf's, e.g. "%3.0f".  A gap follows every `group` columns.
    template <class Scalar>
    void show(const std::string& title, const Matrix<Scalar>& matrix, const char* format, Index group = 1000) {
        std::vector<std::vector<double>> rows;
        say(title);
        for (Index i = 0; i < matrix.rows(); ++i) {
            std::string line = "  ";
            rows.emplace_back();
            for (Index j = 0; j < matrix.cols(); ++j) {
                char cell[32];
                std::snprintf(cell, sizeof cell, format, static_cast<double>(matrix(i, j)));
                line += (j > 0 && j % group == 0 ? "    " : "") + std::string(cell);
                rows.back().push_back(static_cast<double>(matrix(i, j)));
            }
            say(line);
        }
        say("");
        json_["matrices"][title] = rows;
    }

    /// "✓ what (measured 3.1e-07 ≤ 1e-06)": holds if |measured| is inside the bound.
    void prove(const std::string& what, double measured, double bound) {
        char numbers[64];
        std::snprintf(numbers, sizeof numbers, "measured %.3g \u2264 %.3g", measured, bound);
        claim(what, std::abs(measured) <= bound, numbers);
    }
    /// "✓ what (240 = 240)": holds if the numbers are the same.
    void prove_equal(const std::string& what, double measured, double expected) {
        char numbers[64];
        std::snprintf(numbers, sizeof numbers, "%.6g = %.6g", measured, expected);
        claim(what, measured == expected, numbers);
    }

    /// Where to read on.
    void next(const std::string& text) const { say("\nNext: " + text); }

    std::string bold(const std::string& text) const { return colour_ ? "\033[1m" + text + "\033[0m" : text; }

private:
    void claim(const std::string& what, bool holds, const std::string& numbers) {
        held_ = held_ && holds;
        say(std::string(holds ? "\u2713 " : "\u2717 ") + what + " (" + (holds ? numbers : "NOT: " + numbers) + ")");
        json_["claims"].push_back({{"claim", what}, {"holds", holds}, {"numbers", numbers}});
    }

    /// Joins the lines of a paragraph and breaks them anew at 78 columns.
    static std::string broken(const std::string& text) {
        std::string lines;
        std::size_t column = 0;
        for (std::size_t at = 0; at < text.size();) {
            if (text[at] == '\n') {
                const bool soft = at > 0 && text[at - 1] != '\n' && at + 1 < text.size() && text[at + 1] != ' ' &&
                                  text[at + 1] != '\n';
                if (!soft || column == 0) lines += '\n', column = 0;
                ++at;
                continue;
            }
            const bool verbatim = column == 0 && text[at] == ' ';
            const std::size_t end = std::min(text.find_first_of(verbatim ? "\n" : " \n", at + 1), text.size());
            std::string word = text.substr(at, end - at);
            at = end;
            while (!verbatim && at < text.size() && text[at] == ' ') ++at;
            const std::size_t width = cli::display_width(word);
            if (column > 0 && column + 1 + width > 78) lines += '\n', column = 0;
            lines += (column > 0 ? " " : "") + word;
            column += (column > 0 ? 1 : 0) + width;
            if (verbatim && at < text.size()) lines += '\n', ++at, column = 0;
        }
        return lines;
    }

    /// The few signs beyond ASCII, spelt out where they are not wanted.
    std::string plain(std::string text) const {
        if (!ascii_) return text;
        const std::vector<std::pair<std::string, std::string>> spelling = {
            {"\u2713", "[ok]"}, {"\u2717", "[NO]"}, {"\u2264", "<="}, {"\u03b4", "delta"}, {"\u00b7", "."},
            {"\u221a", "sqrt"}, {"\u2212", "-"},    {"\u2192", "->"}, {"\u00d7", "x"},     {"\u2026", "..."}};
        for (const auto& [sign, letters] : spelling)
            for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + letters.size()))
                text.replace(at, sign.size(), letters);
        return text;
    }

    std::string number_, title_;
    bool ascii_ = false, quiet_ = false, colour_ = false, held_ = true;
    nlohmann::ordered_json json_;
};

/// The integers of an index table as numbers to print.
inline Matrix<double> as_matrix(const IndexTensor& index) {
    Matrix<double> matrix(index.extent(0), index.extent(1));
    for (Index n = 0; n < index.size(); ++n) matrix.data()[n] = static_cast<double>(index[n]);
    return matrix;
}

}  // namespace locus::lesson
