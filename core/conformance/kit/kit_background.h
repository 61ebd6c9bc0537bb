#pragma once
// Everything that is known about a case beside what a port says of it.
#include "core/conformance/kit/kit_case.h"

namespace locus::conformance {

/// The model, its inputs, and all recorded stages of the whole case behind those of this one.
struct Background {
    Trace reference;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};

/// `reference`: the stages of the case as `dialect` makes them; they come first.
Background background_of(const Kit& kit, const KitCase& one, const Trace& reference, Dialect dialect);

}  // namespace locus::conformance
