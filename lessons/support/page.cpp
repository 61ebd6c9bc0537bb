#include "lessons/support/page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iostream>
#include <utility>

#include "core/check.h"
#include "core/text/text_table.h"
#include "core/text/tokenizers/unicode.h"

namespace locus::lesson {

namespace {

constexpr int kScreen = 38;  // of 40 lines, two belong to the prompt

/// Signs that no transliteration spells as a reader of formulas would.
const std::pair<const char*, const char*> kSpelling[] = {
    {"\u2713", "[ok]"},  {"\u2717", "[NO]"},   {"\u2264", "<="},    {"\u2265", ">="},  {"\u2248", "~"},
    {"\u2260", "!="},    {"\u00b7", "*"},      {"\u00d7", "x"},     {"\u2212", "-"},   {"\u2192", "->"},
    {"\u2190", "<-"},    {"\u2194", "<->"},    {"\u2191", "^"},     {"\u2193", "v"},   {"\u2026", "..."},
    {"\u221e", "inf"},   {"\u2016", "||"},     {"\u00b2", "^2"},    {"\u00b3", "^3"},  {"\u1d40", "^T"},
    {"\u27e8", "<"},     {"\u27e9", ">"},      {"\u0394", "Delta"}, {"\u2208", "in"},  {"\u00bd", "1/2"},
    {"\u00b1", "+-"},    {"\u2013", "-"},      {"\u2014", "-"},     {"\u2022", "*"},   {"\u201c", "\""},
    {"\u201d", "\""},    {"\u2019", "'"},      {"\u2588", "#"},     {"\u2593", "#"},   {"\u2592", "+"},
    {"\u2591", "."},     {"\u2500", "-"},      {"\u2502", "|"},     {"\u250c", "+"},   {"\u2510", "+"},
    {"\u2514", "+"},     {"\u2518", "+"},      {"\u251c", "+"},     {"\u2524", "+"},   {"\u252c", "+"},
    {"\u2534", "+"},     {"\u253c", "+"},      {"\u25b6", ">"},     {"\u25bc", "v"},   {"\u03b1", "alpha"},
    {"\u03b2", "beta"},  {"\u03b3", "gamma"},  {"\u03b4", "delta"}, {"\u03b5", "eps"}, {"\u03b7", "eta"},
    {"\u03b8", "theta"}, {"\u03bb", "lambda"}, {"\u03bc", "mu"},    {"\u03c0", "pi"},  {"\u03c1", "rho"},
    {"\u03c3", "sigma"}, {"\u03a3", "sum"},    {"\u03c6", "phi"},   {"\u03c8", "psi"}, {"\u2081", "1"},
    {"\u2080", "0"},     {"\u2082", "2"},      {"\u25cf", "o"},     {"\u25cb", "."}};

bool is_ascii(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) < 128; });
}

/// Appends one paragraph of words, joined and broken at `columns`.
void break_words(const std::string& paragraph, std::size_t columns, std::vector<std::string>& lines) {
    if (!paragraph.empty() && display_width(paragraph) <= columns) {  // a heading keeps the gaps between its words
        lines.push_back(paragraph);
        return;
    }
    std::string line;
    std::size_t width = 0;
    for (std::size_t at = 0; at < paragraph.size();) {
        const std::size_t end = std::min(paragraph.find(' ', at), paragraph.size());
        const std::string word = paragraph.substr(at, end - at);
        at = std::min(paragraph.find_first_not_of(' ', end), paragraph.size());
        const std::size_t more = display_width(word);
        if (width > 0 && width + 1 + more > columns) {
            lines.push_back(line);
            line.clear();
            width = 0;
        }
        line += (width > 0 ? " " : "") + word;
        width += (width > 0 ? 1 : 0) + more;
    }
    if (!line.empty()) lines.push_back(line);
}

/// "\u221a(3d)" is sqrt(3d); "\u221ad" needs brackets of its own: sqrt(d).
std::string with_roots(std::string text) {
    const std::string sign = "\u221a";
    for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at)) {
        std::size_t end = at + sign.size();
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '.')) ++end;
        const std::string under = text.substr(at + sign.size(), end - at - sign.size());
        text.replace(at, end - at, "sqrt" + (under.empty() ? "" : "(" + under + ")"));
    }
    return text;
}

}  // namespace

std::string ascii_of(const std::string& text) {
    std::string spelt = with_roots(text);
    for (const auto& [sign, letters] : kSpelling) {
        const std::string find = sign, put = letters;
        for (std::size_t at = spelt.find(find); at != std::string::npos; at = spelt.find(find, at + put.size()))
            spelt.replace(at, find.size(), put);
    }
    if (is_ascii(spelt)) return spelt;
    spelt = latin_letters(spelt);
    LOCUS_CHECK(is_ascii(spelt), "no spelling in ASCII for \"" + text + "\"");
    return spelt;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
    std::vector<std::string> lines;
    std::string paragraph;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        if (!line.empty() && line[0] != ' ') {
            paragraph += (paragraph.empty() ? "" : " ") + line;
            if (at <= text.size()) continue;
        }
        break_words(paragraph, columns, lines);
        paragraph.clear();
        // The end of the text is not an empty line of its own.
        if (line.empty() || line[0] == ' ')
            if (at <= text.size() || !line.empty()) lines.push_back(line);
    }
    for (std::string& line : lines) std::replace(line.begin(), line.end(), kGlue, ' ');
    return lines;
}

std::string Ink::shaded(const std::string& text, double value) const {
    // Seven of the 256 colours: readable letters on each, and a value near zero without any.
    static constexpr std::array<const char*, 7> kColours = {
        "48;5;25;38;5;231", "48;5;67;38;5;231", "48;5;153;38;5;16", "",
        "48;5;223;38;5;16", "48;5;173;38;5;16", "48;5;124;38;5;231"};
    if (!on || !std::isfinite(value)) return text;
    const auto at = static_cast<std::size_t>(std::lround(3 * std::clamp(value, -1.0, 1.0)) + 3);
    return *kColours[at] ? std::string("\033[") + kColours[at] + "m" + text + "\033[0m" : text;
}

void Page::write(const std::string& lines) {
    if (silent) return;
    const auto count = static_cast<int>(std::count(lines.begin(), lines.end(), '\n'));
    if (step && used_ > 0 && used_ + count > kScreen) {
        std::cout << ink.bold(plain("Enter turns the page \u2026")) << std::flush;
        std::string answer;
        std::getline(std::cin, answer);
        std::cout << '\n';
        used_ = 0;
    }
    used_ += count;
    std::cout << lines;
}

}  // namespace locus::lesson
