#pragma once
// Writes a kit: everything a port needs to find its first wrong term.
#include <filesystem>

#include "core/cancel.h"
#include "core/models/dialect.h"

namespace locus::conformance {

struct ExportSummary {
    std::size_t cases = 0, files = 0;
    std::uintmax_t bytes = 0;
};

/// What a kit is made of: a part of the source tree beside an installed program, else the tree it was built from.
std::filesystem::path source_tree();

/// Writes the kit into `folder`, which must not exist yet or be empty; it appears there as a whole or not at all.
/// `source`: the source tree, with the recorded cases in tests/oracle and what is copied unchanged in
/// core/conformance/kit/copied and core/conformance/shims.
/// Throws Error(usage) if the folder holds something, Error(unreadable) if it cannot be written or a source is missing;
/// Cancelled, asked before every case.
ExportSummary export_kit(const std::filesystem::path& folder, const std::filesystem::path& source,
                         const CancelToken& stop = {});

/// Where the model of a kit for one checkpoint lies.
enum class ModelPlace {
    stays,   // the cases name its folder; the kit is small, and goes with that folder
    copied,  // config.json and weights lie in the kit under "model"; the kit may be moved
};

/// The same for one checkpoint, a folder or the name of a built-in model: model_cases() in the conventions of
/// `dialect`. `copied` takes weights in one file; throws Error(unreadable) for those in shards.
ExportSummary export_kit_for(const std::filesystem::path& folder, const std::filesystem::path& source,
                             const std::filesystem::path& model, Dialect dialect, const CancelToken& stop = {},
                             ModelPlace place = ModelPlace::stays);

}  // namespace locus::conformance
