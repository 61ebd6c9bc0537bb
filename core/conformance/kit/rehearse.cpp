#include "core/conformance/kit/rehearse.h"

#include "core/check.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/kit/case.h"
#include "core/conformance/kit/export.h"
#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;

/// What the case gives, what it asks for, and the stages of the whole case that formulas may read.
RightPass right_pass_of(const Kit& kit, const KitCase& one, const Trace& reference) {
    Background background = background_of(kit, one, reference, one.dialect);
    RightPass right{background.model,         background.segments,         one.dialect, {},
                    family_named(one.family), formulas_of_kind(one.config)};
    const auto add = [&](const Stage& stage, bool given) {
        if (right.trace.find(stage.name)) return;
        right.trace.add(stage);
        if (given) right.given.insert(stage.name);
    };
    for (const Stage& stage : background.reference.stages())
        if (!reference.find(stage.name)) add(stage, true);
    for (const Stage& stage : reference.stages()) add(stage, false);
    return right;
}

struct Said {
    const KitCase* one;
    MistakenPass pass;
};

/// What the port says of all cases.
std::vector<Said> say_all(const Kit& kit, const Variant& variant, const CancelToken& stop) {
    std::vector<Said> all;
    for (const KitCase& one : kit.cases) all.push_back({&one, rehearse_case(kit, one, variant, stop)});
    return all;
}

bool says_anything_wrong(const std::vector<Said>& all) {
    for (const Said& said : all)
        if (!said.pass.changed.empty()) return true;
    return false;
}

void require_empty(const fs::path& folder) {
    std::error_code error;
    const bool is_there = fs::exists(folder, error);
    LOCUS_CHECK(!is_there || (fs::is_directory(folder, error) && fs::is_empty(folder, error)),
                folder.string() + ": expected a new or empty folder");
}

void write_all(const std::vector<Said>& all, const fs::path& folder) {
    for (const Said& said : all) {
        const fs::path file = folder / (said.one->id + ".safetensors");
        fs::create_directories(file.parent_path());
        write_trace(file, said.pass.trace, {{"case", said.one->id}});
    }
}

}  // namespace

MistakenPass rehearse_case(const Kit& kit, const KitCase& one, const Variant& variant, const CancelToken& stop) {
    const Trace reference = reference_of(one);
    MistakenPass pass;
    try {
        pass = mistaken_pass(right_pass_of(kit, one, reference), variant, stop);
    } catch (const NotEnough&) {
        pass.trace = reference_of(one);  // the mistake is not made here
        return pass;
    }
    Trace asked;
    for (const Stage& stage : reference.stages())
        if (const Stage* made = pass.trace.find(stage.name)) asked.add(*made);
    pass.trace = std::move(asked);
    return pass;
}

Rehearsal rehearse(const Kit& kit, const MistakeChoice& choice, const fs::path& dumps, const CancelToken& stop) {
    const Mistake& mistake = mistake_of(choice.number);
    const auto ways = static_cast<int>(mistake.variants.size());
    LOCUS_CHECK(choice.way <= ways, "mistake " + std::to_string(choice.number) + " is made in " + std::to_string(ways) +
                                        (ways == 1 ? " way" : " ways") + ", expected none other than those");
    require_empty(dumps);
    Rehearsal rehearsal{choice.number, std::max(1, choice.way), {}};
    std::vector<Said> all;
    for (int way = rehearsal.way; way <= (choice.way > 0 ? choice.way : ways); ++way) {
        std::vector<Said> said = say_all(kit, mistake.variants[static_cast<std::size_t>(way - 1)], stop);
        const bool wrong = says_anything_wrong(said);
        if (!wrong && !all.empty()) continue;
        all = std::move(said);
        rehearsal.way = way;
        if (wrong) break;
    }
    for (const Said& said : all)
        if (!said.pass.changed.empty()) rehearsal.wrong.push_back(said.one->id);
    write_new_folder(dumps, [&](const fs::path& draft) { write_all(all, draft); });
    return rehearsal;
}

}  // namespace locus::conformance
