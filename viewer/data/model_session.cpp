#include "viewer/data/model_session.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/data/polling_operations.h"

#ifdef __EMSCRIPTEN__
#include <emscripten/heap.h>
#include <unistd.h>
#endif

namespace locus {

namespace {

ModelChoice& choice_of(State& state, Family family) {
    return family == Family::roformer         ? state.choices.roformer
           : family == Family::transformer_xl ? state.choices.transformer_xl
                                              : state.choices.xlnet;
}

const char* page_of(Family family) {
    return family == Family::roformer         ? "rope"
           : family == Family::transformer_xl ? "transformer-xl"
           : family == Family::xlnet          ? "permutation"
                                              : "attention";
}

/// Bytes that a program may still ask for, where addresses are too short for what machines have.
double room_for_weights() {
#ifdef __EMSCRIPTEN__
    return static_cast<double>(emscripten_get_heap_max()) -
           static_cast<double>(reinterpret_cast<std::size_t>(::sbrk(0)));
#else
    return std::numeric_limits<double>::infinity();
#endif
}

}  // namespace

std::string unknown_name(const Tokenizer* tokenizer, std::int64_t id) {
    if (!tokenizer) return {};
    // What other byte-level vocabularies name as unknown is never the piece of a text.
    const std::string name = tokenizer->piece(id);
    return name == "[UNK]" || name == "<unk>" ? name : "";
}

std::string label_of_piece(const Tokenizer* tokenizer, std::int64_t id, const std::string& piece) {
    const std::string read = display_piece(piece), shown = read.empty() ? piece : read;
    const std::string unknown = unknown_name(tokenizer, id);
    return unknown.empty() || shown == unknown ? shown : shown + " " + unknown;
}

void check_room(const WeightSource& weights, double room) {
    double needed = 0;
    for (const std::string& name : weights.names())
        needed += sizeof(float) * static_cast<double>(element_count(weights.shape(name).value_or(Shape{0})));
    if (needed <= room) return;
    const auto megabytes = [](double bytes) { return std::to_string(std::lround(std::max(0.0, bytes) / 1e6)) + " MB"; };
    throw Error(Fault::memory, weights.location() + ": its weights take " + megabytes(needed) +
                                   " as float32, and there is room for " + megabytes(room) +
                                   ", expected a smaller model");
}

ModelSession::ModelSession(const std::string& model, Family family)
    : opened_as_(model), checkpoint_(open_checkpoint(resolve_model(model))) {
    const std::filesystem::path folder = std::filesystem::absolute(checkpoint_.folder).lexically_normal();
    name_ = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    const Family found = family_of(checkpoint_.config_json, checkpoint_.config_file.string());
    if (found != family)
        throw Error(Fault::unsupported, checkpoint_.config_file.string() + " names a model of the family " +
                                            to_string(found) + ", expected " + to_string(family) + " on this page");
    check_room(*checkpoint_.weights, room_for_weights());
    model_ = open_model_of<float>(checkpoint_, polling_operations<float>());
    poll_work();
    try {
        tokenizer_ = open_tokenizer(checkpoint_.folder);
    } catch (const Error& error) {
        if (error.fault() != Fault::unsupported) throw;
        no_tokenizer_ = error.what();
    }
}

void ModelSession::require_tokenizer() const {
    if (!tokenizer_) throw Error(Fault::unsupported, no_tokenizer_);
}

ModelInput ModelSession::input_of(const std::string& text, const std::string& tokens, const std::string& mask) const {
    if (tokens.empty()) {
        require_tokenizer();
        return input_of_texts({text}, *tokenizer_, model_->family());
    }
    ModelRequest by_ids;
    by_ids.tokens = tokens;
    by_ids.mask = mask;
    return prepare_input(by_ids, checkpoint_.folder, model_->family(), model_->input_names()).segments.front();
}

std::vector<std::string> ModelSession::words_of(const ModelChoice& choice, const ModelInput& input) const {
    std::vector<std::string> words;
    if (choice.tokens.empty()) {
        const Tokens tokens = encode_text(choice.text, *tokenizer_, model_->family());  // as the input was made
        for (std::size_t t = 0; t < tokens.ids.size(); ++t)
            words.push_back(label_of_piece(tokenizer(), tokens.ids[t], tokens.text(t)));
    } else {
        for (const std::int64_t id : input.tokens.values()) words.push_back(word_of(id));
    }
    return words;
}

Family family_of_model(const std::string& model) {
    const Checkpoint checkpoint = open_config(resolve_model(model));
    return family_of(checkpoint.config_json, checkpoint.config_file.string());
}

ModelChoice* choice_of_page(State& state, const std::string& page) {
    for (const Family family : {Family::roformer, Family::transformer_xl, Family::xlnet})
        if (page == page_of(family)) return &choice_of(state, family);
    return nullptr;
}

bool show_model(State& state, const std::string& model) {
    const Family family = family_of_model(model);
    if (family == Family::deberta) return false;
    ModelChoice& choice = choice_of(state, family);
    choice.model = model;
    choice.tokens.clear();
    choice.mask.clear();
    state.asked_model = model;
    state.page = page_of(family);
    return true;
}

std::string& edited_sentence(State& state) {
    if (ModelChoice* choice = choice_of_page(state, state.page))
        return choice->tokens.empty() ? choice->text : choice->tokens;
    if (state.page == "training") return state.training.text;
    return state.tokens.empty() ? state.text : state.tokens;
}

Index traced_layer(Index cells, Index wished, Index layers) {
    // Up to here another layer is shown without computing.
    constexpr Index kMostCells = 4'000'000;
    return cells > kMostCells ? std::clamp<Index>(wished, 0, layers - 1) : -1;
}

}  // namespace locus
