#include "tests/conformance/kit_dialect.h"

#include "core/io/checkpoint.h"
#include "tests/conformance/kit_content.h"

namespace locus::conformance {

namespace {

/// The whole case that a case is, or was cut out of; nullptr for index tensors and what Locus made up itself.
const KitCase* whole_case(const Kit& kit, const KitCase& one) {
    if (one.cut_from.empty()) return one.level == "L3" ? &one : nullptr;
    return kit.find(one.cut_from);
}

Trace recompute(const KitCase& whole, Dialect dialect) {
    const Checkpoint checkpoint = open_checkpoint(whole.folder / "model");
    const auto model = open_model<double>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights);
    return model->forward(segments_in(whole.folder / "inputs.safetensors"), dialect);
}

}  // namespace

Trace reference_under(const Kit& kit, const KitCase& one, Dialect dialect, bool* computed) {
    if (computed) *computed = false;
    if (dialect == one.dialect) return reference_of(one);
    const bool is_index = one.level == "L0";
    const KitCase* whole = whole_case(kit, one);
    if (!is_index && !whole) return reference_of(one);
    const Trace all = is_index ? index_reference(one.config, dialect) : recompute(*whole, dialect);
    if (computed) *computed = true;
    if (is_index || whole == &one) return all;
    Trace part;
    for (const std::string& name : one.stages)
        if (const Stage* stage = all.find(name)) part.add(*stage);
    return part;
}

}  // namespace locus::conformance
