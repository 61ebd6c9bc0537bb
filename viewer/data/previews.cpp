#include "viewer/data/previews.h"

#include <filesystem>

#include "core/positions/rope_scaling.h"
#include "core/positions/rotary.h"
#include "viewer/data/memory_text.h"
#include "viewer/data/permutation_sentence.h"
#include "viewer/data/rotary_sentence.h"
#include "viewer/data/text_study.h"
#include "viewer/plots/number_format.h"
#include "viewer/state/state.h"

namespace locus {

namespace {

/// What cannot be opened stays empty; the page that needs it says why.
template <class Make>
void attempt(Make make) {
    try {
        make();
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
    }
}

std::string size_on_disk(const std::string& model) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(resolve_model(model) / "pytorch_model.bin", none);
    return none ? std::string() : fixed(static_cast<double>(bytes) / 1e6, 1) + " MB";
}

void turn_hands(Previews& previews) {
    constexpr Index kLayer = 1, kHead = 2, kPosition = 5;
    const ModelChoice choice = ModelChoices().roformer;
    const RowVector<double> query = open_sentence<RotarySentence>(choice)->query(kLayer, kHead, kPosition);
    const RopeFrequencies frequencies = rope_frequencies(query.size(), {}, 64);
    previews.before = hands_of(query, RotaryLayout::interleaved);
    previews.after = rotate_hands(previews.before, frequencies.theta, kPosition);
}

Matrix<float> attention_with_memory() {
    const ModelChoice choice = ModelChoices().transformer_xl;
    MemoryRequest request;
    request.sentence = open_sentence<MemoryText>(choice);
    return MemoryAnswer::make(request)->stage(0, "probs", 0);
}

Matrix<float> permuted_attention() {
    const ModelChoice choice = ModelChoices().xlnet;
    PermutationRequest request;
    request.sentence = open_sentence<PermutationSentence>(choice);
    request.cards = request.sentence->usual_cards();
    request.layer = 3;
    return PermutationAnswer::make(request)->stage(Stream::content, 3, "probs", 0);
}

Matrix<float> default_nearness() {
    const TextPageState state;
    const auto study = TextStudies().answer({state.documents, state.stop_words, state.topics, state.pair});
    if (!study->error.empty()) return {};
    return (1 - study->tables->distances.array() / 2).matrix().cast<float>();
}

}  // namespace

const std::vector<BuiltInModel>& built_in_models() {
    static const std::vector<BuiltInModel> models = {
        {"tiny-v3", "DeBERTa v3: content and position in separate terms", "attention"},
        {"tiny-roformer", "RoFormer: positions as rotations", "rope"},
        {"tiny-txl", "Transformer-XL: a memory of earlier segments", "transformer-xl"},
        {"tiny-xlnet", "XLNet: words predicted in any order", "permutation"},
    };
    return models;
}

Previews make_previews() {
    Previews previews;
    attempt([&] { turn_hands(previews); });
    attempt([&] { previews.memory = attention_with_memory(); });
    attempt([&] { previews.permuted = permuted_attention(); });
    attempt([&] { previews.nearness = default_nearness(); });
    for (const BuiltInModel& model : built_in_models()) {
        previews.sizes.emplace_back();
        attempt([&] { previews.sizes.back() = size_on_disk(model.name); });
    }
    return previews;
}

}  // namespace locus
