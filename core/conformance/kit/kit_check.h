#pragma once
// Judges what a port computed, case by case.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/kit/kit_case.h"
#include "core/conformance/kit/kit_dump.h"
#include "core/conformance/kit/kit_waivers.h"
#include "core/conformance/report/report.h"

namespace locus::conformance {

struct CheckOptions {
    std::string family;              // only this one; empty: all
    std::optional<Dialect> dialect;  // nothing: each case as it was recorded
    std::vector<Waiver> waivers;
    std::string today;      // "2026-11-21"
    std::string candidate;  // folder or command, for the report
};

/// Where the dumps come from: nothing where a port said nothing about a case.
using DumpOf = std::function<std::optional<Dump>(const KitCase&)>;

struct CheckResult {
    Report report;
    std::optional<Error> refusal;  // the first dump that could not be read; its status is the program's
};

/// Every case of the kit.  A dump that cannot be read fails its case with a sentence, and the others are judged.
/// Throws Error(usage) for an unknown family, Error(unreadable) if there is no dump of any case or none
/// says anything about its case, and PortHangs at once.
CheckResult check_kit(const Kit& kit, const DumpOf& dump_of, const CheckOptions& options);

/// One case and one dump of it.  Throws what inspect_dump throws.
CaseReport check_case(const Kit& kit, const KitCase& one, const Dump& dump, const CheckOptions& options);

}  // namespace locus::conformance
