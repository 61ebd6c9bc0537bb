#pragma once
// Numbers on disk: CSV for a spreadsheet, .npy for NumPy, safetensors for everything that reads traces.
#include <filesystem>
#include <string>
#include <vector>

#include "viewer/data/named_matrix.h"
#include "viewer/export/export_request.h"

namespace locus {

/// A table: the labels of the columns above it, those of the rows at its left, in its corner the stage.  Every number
/// has as many digits as it needs to read back bit for bit; "nan", "inf", "-inf".  RFC 4180, lines end in CR LF.
std::string csv_of(const NamedMatrix& matrix);
/// Several matrices, one line a cell: stage, part, i, j, row, column, value.
std::string csv_of(const std::vector<NamedMatrix>& matrices);

/// What is on the page, by names that no two share ("layer.2.c2p", "layer.2.c2p.B").
Trace trace_of(const std::vector<NamedMatrix>& matrices);

/// Writes matrices of a page, as a whole file or not at all.  Throws Error(usage) where a .npy file should hold
/// several, or there is none; Error(unreadable) that names the file and the reason.
void write_numbers(const std::filesystem::path& file, const std::vector<NamedMatrix>& matrices,
                   const std::string& command);

}  // namespace locus
