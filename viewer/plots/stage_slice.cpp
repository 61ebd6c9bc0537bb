#include "viewer/plots/stage_slice.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace locus {

namespace {

/// One name per axis, also where the stage is unknown.
std::vector<std::string> axis_names(const Stage& stage) {
    const std::size_t rank = stage.shape().size();
    if (stage.axes.size() == rank) return stage.axes;
    const std::vector<std::string> any = {"B", "H", "row", "column"};
    return rank <= any.size() ? std::vector<std::string>(any.end() - static_cast<std::ptrdiff_t>(rank), any.end())
                              : std::vector<std::string>(rank, "B");
}

Index matrix_number(const StageMatrices& sheets, Index sample, Index head) { return sample * sheets.heads + head; }

}  // namespace

StageMatrices matrices_of(const Stage& stage) {
    const Shape& shape = stage.shape();
    const std::vector<std::string> names = axis_names(stage);
    StageMatrices sheets;
    const std::size_t rank = shape.size();
    if (rank >= 1) {
        sheets.cols = shape[rank - 1];
        sheets.col_axis = names[rank - 1];
    }
    if (rank >= 2) {
        sheets.rows = shape[rank - 2];
        sheets.row_axis = names[rank - 2];
    }
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
        (axis + 3 == rank && names[axis] == "H" ? sheets.heads : sheets.samples) *= shape[axis];
    return sheets;
}

Matrix<double> matrix_of(const Stage& stage, Index sample, Index head) {
    const StageMatrices sheets = matrices_of(stage);
    LOCUS_CHECK(sample >= 0 && sample < sheets.samples && head >= 0 && head < sheets.heads,
                stage.name + " has no sample " + std::to_string(sample) + ", head " + std::to_string(head));
    Matrix<double> values(sheets.rows, sheets.cols);
    const Index first = matrix_number(sheets, sample, head) * values.size();
    for (Index n = 0; n < values.size(); ++n) values.data()[n] = stage.at(first + n);
    return values;
}

std::optional<StagePlace> place_of(const Stage& stage, const std::vector<Index>& index) {
    const Shape& shape = stage.shape();
    bool inside = index.size() == shape.size();
    Index flat = 0;
    for (std::size_t axis = 0; inside && axis < shape.size(); ++axis) {
        inside = index[axis] >= 0 && index[axis] < shape[axis];
        flat = flat * shape[axis] + index[axis];
    }
    if (!inside) return std::nullopt;
    const StageMatrices sheets = matrices_of(stage);
    const Index sheet = flat / (sheets.rows * sheets.cols), rest = flat % (sheets.rows * sheets.cols);
    return StagePlace{sheet / sheets.heads, sheet % sheets.heads, {rest / sheets.cols, rest % sheets.cols}};
}

bool counts_tokens(const std::string& axis) { return axis == "T" || axis == "Tq" || axis == "Tk"; }

std::string axis_in_words(const std::string& axis) {
    static const std::pair<const char*, const char*> kWords[] = {
        {"B", "sample"},    {"H", "head"},         {"T", "token"},       {"Tq", "query"},
        {"Tk", "key"},      {"D", "channel"},      {"d", "channel"},     {"H*d", "channel"},
        {"E", "channel"},   {"F", "channel"},      {"V", "word"},        {"2k", "table row"},
        {"R", "table row"}, {"M", "memory place"}, {"N", "masked word"}, {"d/2", "pair of channels"}};
    for (const auto& [name, words] : kWords)
        if (axis == name) return words;
    return axis.empty() ? "value" : axis;
}

Index layer_of(const std::string& stage) {
    Index layer = -1;
    if (!stage.starts_with("layer.")) return -1;
    const char* end = stage.data() + stage.size();
    return std::from_chars(stage.data() + 6, end, layer).ec == std::errc{} ? layer : -1;
}

std::string at_layer(const std::string& stage, Index layer) {
    if (layer < 0 || layer_of(stage) < 0) return stage;
    return "layer." + std::to_string(layer) + stage.substr(std::min(stage.find('.', 6), stage.size()));
}

}  // namespace locus
