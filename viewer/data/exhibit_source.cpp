#include "viewer/data/exhibit_source.h"

#include <algorithm>

#include "core/io/model_request.h"

namespace locus {

namespace {

ExhibitChoice& choice_of(State& state, Family family) {
    return family == Family::roformer         ? state.exhibits.roformer
           : family == Family::transformer_xl ? state.exhibits.transformer_xl
                                              : state.exhibits.xlnet;
}

const char* page_of(Family family) {
    return family == Family::roformer         ? "rope"
           : family == Family::transformer_xl ? "transformer-xl"
           : family == Family::xlnet          ? "permutation"
                                              : "attention";
}

}  // namespace

ExhibitModel::ExhibitModel(const std::string& model, Family family)
    : checkpoint_(open_checkpoint(resolve_model(model))) {
    const std::filesystem::path folder = std::filesystem::absolute(checkpoint_.folder).lexically_normal();
    name_ = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    const Family found = family_of(checkpoint_.config_json, checkpoint_.config_file.string());
    if (found != family)
        throw Error(Fault::unsupported, checkpoint_.config_file.string() + " names a model of the family " +
                                            to_string(found) + ", expected " + to_string(family) + " on this page");
    model_ = open_model_of<float>(checkpoint_);
    try {
        tokenizer_ = open_tokenizer(checkpoint_.folder);
    } catch (const Error& error) {
        if (error.fault() != Fault::unsupported) throw;
        no_tokenizer_ = error.what();
    }
}

ModelInput ExhibitModel::input_of(const ExhibitChoice& choice) const {
    if (choice.tokens.empty()) {
        if (!tokenizer_) throw Error(Fault::unsupported, no_tokenizer_);
        return input_of_texts({choice.text}, *tokenizer_, model_->family());
    }
    ModelRequest by_ids;
    by_ids.tokens = choice.tokens;
    by_ids.mask = choice.mask;
    return prepare_input(by_ids, checkpoint_.folder, model_->family(), model_->input_names()).segments.front();
}

std::vector<std::string> ExhibitModel::words_of(const ModelInput& input) const {
    std::vector<std::string> words;
    for (const std::int64_t id : input.tokens.values()) {
        const std::string piece = tokenizer_ ? tokenizer_->piece(id) : std::to_string(id);
        const std::string shown = display_piece(piece);
        words.push_back(shown.empty() ? piece : shown);
    }
    return words;
}

Family family_of_model(const std::string& model) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model(model));
    return family_of(checkpoint.config_json, checkpoint.config_file.string());
}

ExhibitChoice* choice_of_page(State& state, const std::string& page) {
    for (const Family family : {Family::roformer, Family::transformer_xl, Family::xlnet})
        if (page == page_of(family)) return &choice_of(state, family);
    return nullptr;
}

bool show_model(State& state, const std::string& model) {
    const Family family = family_of_model(model);
    if (family == Family::deberta) return false;
    ExhibitChoice& choice = choice_of(state, family);
    choice.model = model;
    choice.tokens.clear();
    choice.mask.clear();
    state.page = page_of(family);
    return true;
}

std::string& edited_sentence(State& state) {
    if (ExhibitChoice* choice = choice_of_page(state, state.page))
        return choice->tokens.empty() ? choice->text : choice->tokens;
    if (state.page == "training") return state.training.text;
    return state.tokens.empty() ? state.text : state.tokens;
}

Index traced_layer(Index cells, Index wished, Index layers) {
    // Up to here turning the layer computes nothing.
    constexpr Index kMostCells = 4'000'000;
    return cells > kMostCells ? std::clamp<Index>(wished, 0, layers - 1) : -1;
}

}  // namespace locus
