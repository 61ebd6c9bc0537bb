#include "viewer/data/stand_in.h"

#include <filesystem>

namespace locus {

namespace {

const std::string& model_of(const State& state, Family family) {
    switch (family) {
        case Family::roformer:
            return state.choices.roformer.model;
        case Family::transformer_xl:
            return state.choices.transformer_xl.model;
        case Family::xlnet:
            return state.choices.xlnet.model;
        case Family::deberta:
            break;
    }
    return state.model;
}

/// The family whose model the user opened last; for a state that a command brought back, any that is not built in.
std::optional<Family> family_opened(const State& state) {
    for (const Family family : kFamilies)
        if (!state.asked_model.empty() && model_of(state, family) == state.asked_model) return family;
    for (const Family family : kFamilies)
        if (model_of(state, family) != model_of(State(), family)) return family;
    return std::nullopt;
}

std::string last_part(const std::string& model) {
    const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

const char* written_name(Family family) {
    switch (family) {
        case Family::roformer:
            return "RoFormer";
        case Family::transformer_xl:
            return "Transformer-XL";
        case Family::xlnet:
            return "XLNet";
        case Family::deberta:
            break;
    }
    return "DeBERTa";
}

std::optional<Family> family_of_page(const std::string& page) {
    if (page == "rope") return Family::roformer;
    if (page == "transformer-xl") return Family::transformer_xl;
    if (page == "permutation") return Family::xlnet;
    for (const char* of_deberta : {"start", "positions", "attention", "decoder", "compare"})
        if (page == of_deberta) return Family::deberta;
    return std::nullopt;
}

std::string StandIn::reason() const {
    // What the Start page shows of a model are the small pictures alone.
    const std::string subject = page == "start" ? "These pictures need " : "This page needs ";
    return subject + written_name(needed) + "; the opened " + opened + " is " + written_name(found) + ":";
}

std::string StandIn::result() const { return "the built-in " + shown + " is shown instead"; }

std::string StandIn::sentence() const {
    return std::string("the page ") + page + " needs " + written_name(needed) + "; the opened " + opened + " is " +
           written_name(found) + ": " + result();
}

std::optional<StandIn> stand_in_of(const State& state) {
    const std::optional<Family> needed = family_of_page(state.page), opened = family_opened(state);
    if (!needed || !opened || *opened == *needed) return std::nullopt;
    const std::string& shown = model_of(state, *needed);
    // A model of each family may be open at once: then nothing stands in.
    if (shown != model_of(State(), *needed)) return std::nullopt;
    if (state.page == "compare" && !state.compare.a.file.empty() && !state.compare.b.file.empty()) return std::nullopt;
    return StandIn{state.page, *needed, *opened, last_part(model_of(state, *opened)), shown};
}

}  // namespace locus
