#include "core/conformance/report/place.h"

#include <map>

#include "core/io/input_file.h"

namespace locus::conformance {

namespace {

bool counts_tokens(const std::string& axis) { return axis == "T" || axis == "Tq" || axis == "Tk"; }

/// " 'the'", or nothing where that place of the axis is no token that has a word.
std::string word_at(const ShownStage& stage, std::size_t axis, Index place) {
    if (!stage.in_words || axis >= stage.axes.size() || !counts_tokens(stage.axes[axis])) return "";
    if (stage.expected.extent(static_cast<Index>(axis)) != static_cast<Index>(stage.tokens.size())) return "";
    return " '" + printable(stage.tokens[static_cast<std::size_t>(place)]) + "'";
}

}  // namespace

std::string place_in_words(const ShownStage& stage, const std::vector<Index>& index) {
    static const std::map<std::string, std::string> letters = {
        {"B", "b"}, {"H", "h"},   {"Tq", "q"}, {"Tk", "k"}, {"T", "t"}, {"2k", "r"}, {"d", "c"},
        {"D", "c"}, {"H*d", "c"}, {"E", "c"},  {"F", "c"},  {"V", "v"}, {"M", "m"},  {"R", "r"}};
    std::string text = "[";
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
        const auto letter = axis < stage.axes.size() ? letters.find(stage.axes[axis]) : letters.end();
        text += (axis ? " " : "") + (letter == letters.end() ? std::string() : letter->second) +
                std::to_string(index[axis]) + word_at(stage, axis, index[axis]);
    }
    return text + "]";
}

}  // namespace locus::conformance
