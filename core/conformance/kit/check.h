#pragma once
// Judges what a port computed, case by case.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/kit/case.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/report/report.h"

namespace locus::conformance {

/// A mistake that a port knows of and lives with, with a reason and a last day.
struct Waiver {
    std::string id, stage, reason, expires;  // "L1/p2c_t9_k3", "layer.0.p2c", ..., "2027-01-31"
};

/// A JSON list of {id, stage, reason, expires}.  Throws Error(unreadable) for anything else; the sentence names the
/// entry and the field.
std::vector<Waiver> read_waivers(const std::filesystem::path& file);

/// "2026-11-21", the day in UTC.
std::string today();

struct CheckOptions {
    std::string family;              // only this one; empty: all
    std::optional<Dialect> dialect;  // nothing: each case as it was recorded
    std::vector<Waiver> waivers;
    std::string today;      // "2026-11-21"
    std::string candidate;  // folder or command, for the report
    CancelToken stop = {};  // asked before every case, and before every hypothesis about one
};

/// Where the dumps come from: nothing where a port said nothing about a case.
using DumpOf = std::function<std::optional<Dump>(const KitCase&)>;

struct CheckResult {
    Report report;
    std::optional<Error> refusal;  // the first dump that could not be read; its status is the program's
};

/// Every case of the kit.  A dump that cannot be read fails its case with a sentence, and the others are judged.
/// Throws Error(usage) for an unknown family, Error(unreadable) if there is no dump of any case or none
/// says anything about its case, PortDoesNotRun from the first that is asked for, and Cancelled.
CheckResult check_kit(const Kit& kit, const DumpOf& dump_of, const CheckOptions& options);

/// One case and one dump of it.  Throws what inspect_dump throws.
CaseReport check_case(const Kit& kit, const KitCase& one, const Dump& dump, const CheckOptions& options);

// What is wrong with a dump before any value is judged: unknown names, axes in another order.

/// Throws Error(unsupported) naming the stages that have no known name, the first one with the nearest known one, or
/// the first whose axes stand in another order than the reference's: another order of the same values, or the sizes
/// written in ggml's order.
void inspect_dump(const Dump& dump, const KitCase& one, const Trace& reference, const Trace& inputs);

/// The order of `found`'s axes as places in `expected`, if that is what tells them apart; of several that the sizes
/// allow the one under which the values agree best.  Empty if the sizes are no permutation, or are the same.
std::vector<std::size_t> axes_exchanged(const Stage& expected, const Stage& found);

}  // namespace locus::conformance
