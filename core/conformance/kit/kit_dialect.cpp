#include "core/conformance/kit/kit_dialect.h"

#include <algorithm>
#include <cmath>

#include "core/conformance/kit/kit_content.h"
#include "core/io/checkpoint.h"

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

/// True if every stage that the case is given has the same values in the dialect.
bool gives_the_same(const KitCase& one, const Trace& all) {
    const Trace given = inputs_of(one);
    for (const Stage& stage : given.stages()) {
        const Stage* other = all.find(stage.name);
        if (!other || other->shape() != stage.shape()) return false;
        double size = 1;
        for (Index n = 0; n < stage.size(); ++n) size = std::max(size, std::abs(stage.at(n)));
        for (Index n = 0; n < stage.size(); ++n)
            if (!(std::abs(stage.at(n) - other->at(n)) <= 10 * std::max(one.accuracy, 1e-12) * size)) return false;
    }
    return true;
}

/// Replaced tokens and SiFT are in the official code alone, and no pass of Locus leaves their stages.
bool has_one_dialect(const KitCase& one) {
    return std::any_of(one.stages.begin(), one.stages.end(), [](const std::string& stage) {
        return stage.starts_with("rtd.") || stage.starts_with("sift.");
    });
}

}  // namespace

Trace reference_under(const Kit& kit, const KitCase& one, Dialect dialect) {
    const KitCase* whole = whole_case(kit, one);
    const bool is_index = one.level == "L0";
    if (dialect == one.dialect || (!is_index && !whole) || has_one_dialect(one)) return reference_of(one);
    if (is_index) return index_reference(one.config, dialect);
    if (whole == &one) return recompute(*whole, dialect);
    // Where the paper's p2c has changed what is given, its other conventions still are those of the reference.
    for (const Dialect tried : {dialect, dialect == Dialect::paper ? Dialect::reference : dialect}) {
        const Trace all = recompute(*whole, tried);
        if (!gives_the_same(one, all)) continue;
        Trace part;
        for (const std::string& name : one.stages)
            if (const Stage* stage = all.find(name)) part.add(*stage);
        return part;
    }
    return reference_of(one);
}

}  // namespace locus::conformance
