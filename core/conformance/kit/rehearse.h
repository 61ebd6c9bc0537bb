#pragma once
// locus kit rehearse: the dumps of a port that has one mistake of the catalogue and everything else right.
#include <filesystem>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/kit/case.h"

namespace locus::conformance {

struct Rehearsal {
    int number = 0, way = 1;         // of the mistake that was made
    std::vector<std::string> wrong;  // ids of the cases whose dumps it changes; all others are right
};

/// What such a port says of one case: nothing changed where the mistake cannot be made with it.
MistakenPass rehearse_case(const Kit& kit, const KitCase& one, const Variant& variant, const CancelToken& stop = {});

/// Writes dumps/<id>.safetensors for every case into `dumps`, which must not exist yet or be empty; the folder appears
/// as a whole or not at all.  Without a way the first one that changes a case.
/// Throws Error(usage) for an unknown mistake and where the folder holds something, Error(unreadable) where it cannot
/// be written; Cancelled, asked before every stage of a case.
Rehearsal rehearse(const Kit& kit, const MistakeChoice& choice, const std::filesystem::path& dumps,
                   const CancelToken& stop = {});

}  // namespace locus::conformance
