#include "core/conformance/kit/kit_background.h"

#include "core/conformance/kit/kit_dialect.h"
#include "core/io/safetensors.h"

namespace locus::conformance {

Background background_of(const Kit& kit, const KitCase& one, const Trace& reference, Dialect dialect) {
    Background background;
    const KitCase* whole = one.cut_from.empty() ? &one : kit.find(one.cut_from);
    for (const Stage& stage : reference.stages()) background.reference.add(stage);
    const auto add_all = [&](const Trace& more) {
        for (const Stage& stage : more.stages())
            if (!background.reference.find(stage.name)) background.reference.add(stage);
    };
    add_all(inputs_of(one));
    const Trace given = read_trace(one.folder / "inputs.safetensors");
    if (const Stage* noise = given.find("noise")) background.reference.add(*noise);  // of SiFT
    // A case that was cut out of no model brings its mask with it.
    if (const Stage* mask = given.find("mask"); mask && whole == &one && !one.has_model())
        background.reference.add(*mask);
    if (!whole) return background;
    if (whole != &one) add_all(reference_under(kit, *whole, dialect));
    if (whole->has_model()) {
        background.model = ModelFolder::open((whole->folder / "model").string());
        background.segments = segments_in(whole->folder / "inputs.safetensors");
    }
    return background;
}

}  // namespace locus::conformance
