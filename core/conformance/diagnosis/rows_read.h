#pragma once
// Which numbers a gathered stage holds: c2p and p2c take one product with the table for every pair, bd takes one cell
// of bd_raw.  A port that takes others is described by the rows that it reads.
#include <optional>
#include <string>

#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/diagnosis/replay.h"

namespace locus::conformance {

/// One sentence, if every number of c2p, p2c or bd is one that it could have read, but not the right one:
///   "each pair reads the row of k_r one place after the right one";
///   "pair (i,j) reads column i + j of bd_raw instead of column 4 - i + j";
///   "the row of k_r depends on i - j, as it should, but is another one: for i - j = 5 row 14 instead of 13".
/// Nothing for any other stage, where a number is none of those, or where the stage is too large to search.
/// here: the scope of the stage, by what the candidate reports; at: the stage [B,H,Tq,Tk] beside what it should be by
/// that.
std::optional<std::string> rows_read_instead(const Replay& here, const std::string& stem, const Compared& at);

}  // namespace locus::conformance
