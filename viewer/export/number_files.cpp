#include "viewer/export/number_files.h"

#include <charconv>
#include <cmath>

#include "core/io/atomic_file.h"
#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "viewer/state/command_line.h"

namespace locus {

namespace {

constexpr const char* kLineEnd = "\r\n";

/// In quotes where a comma, a quote or the end of a line is in it.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

template <class Number>
std::string shortest(Number number) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// The shortest digits that read back as the same value of the stage's own type.
std::string csv_number(const Stage& stage, Index at) {
    return std::visit(
        [&](const auto& tensor) {
            const auto value = tensor[at];
            if constexpr (std::is_floating_point_v<std::remove_const_t<decltype(value)>>) {
                if (std::isnan(value)) return std::string("nan");
                if (std::isinf(value)) return std::string(value < 0 ? "-inf" : "inf");
            }
            return shortest(value);
        },
        stage.values);
}

std::string label(const std::vector<std::string>& labels, Index at) {
    return labels.empty() ? std::to_string(at) : labels.at(static_cast<std::size_t>(at));
}

}  // namespace

std::string csv_of(const NamedMatrix& matrix) {
    std::string csv = csv_field(matrix.stage.name + (matrix.part.empty() ? "" : " " + matrix.part));
    for (Index j = 0; j < matrix.width(); ++j) csv += "," + csv_field(label(matrix.cols, j));
    csv += kLineEnd;
    for (Index i = 0; i < matrix.height(); ++i) {
        csv += csv_field(label(matrix.rows, i));
        for (Index j = 0; j < matrix.width(); ++j) csv += "," + csv_number(matrix.stage, i * matrix.width() + j);
        csv += kLineEnd;
    }
    return csv;
}

std::string csv_of(const std::vector<NamedMatrix>& matrices) {
    std::string csv = std::string("stage,part,i,j,row,column,value") + kLineEnd;
    for (const NamedMatrix& matrix : matrices)
        for (Index i = 0; i < matrix.height(); ++i)
            for (Index j = 0; j < matrix.width(); ++j)
                csv += csv_field(matrix.stage.name) + "," + csv_field(matrix.part) + "," + std::to_string(i) + "," +
                       std::to_string(j) + "," + csv_field(label(matrix.rows, i)) + "," +
                       csv_field(label(matrix.cols, j)) + "," + csv_number(matrix.stage, i * matrix.width() + j) +
                       kLineEnd;
    return csv;
}

Trace trace_of(const std::vector<NamedMatrix>& matrices) {
    Trace trace;
    for (const NamedMatrix& matrix : matrices) {
        Stage stage = matrix.stage;
        if (trace.find(stage.name)) stage.name += "." + matrix.id;
        trace.add(std::move(stage));
    }
    return trace;
}

void write_numbers(const std::filesystem::path& file, const std::vector<NamedMatrix>& matrices,
                   const std::string& command) {
    LOCUS_CHECK(!matrices.empty(), file.string() + ": there is no matrix on this page whose numbers could be written");
    switch (format_of(file)) {
        case ExportFormat::csv:
            return write_atomic_file(file, matrices.size() == 1 ? csv_of(matrices.front()) : csv_of(matrices));
        case ExportFormat::npy: {
            std::string names;
            for (const NamedMatrix& matrix : matrices) names += (names.empty() ? "" : ", ") + matrix.id;
            LOCUS_CHECK(matrices.size() == 1,
                        file.string() + ": a .npy file holds one matrix, expected --region with one of " + names);
            return write_atomic_file(file, npy_of(matrices.front().stage));
        }
        case ExportFormat::safetensors: {
            std::map<std::string, std::string> about = {{"command", command}, {"software", program_version()}};
            for (const NamedMatrix& matrix : matrices)
                if (!matrix.part.empty()) about["part." + matrix.id] = matrix.part;
            return write_trace(file, trace_of(matrices), about);
        }
        default:
            throw Error(Fault::usage, file.string() + " is a picture, expected .csv, .npy or .safetensors");
    }
}

}  // namespace locus
