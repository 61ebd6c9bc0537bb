#include "viewer/data/model_opener.h"

#include <algorithm>

#include "viewer/plots/stage_slice.h"

namespace locus {

namespace {

constexpr std::uint64_t kAnswersOfOneSession = std::uint64_t{1} << 32;

}  // namespace

OpenedSession open_session(const std::string& model, std::uint64_t first_serial) {
    OpenedSession opened;
    opened.model = model;
    try {
        opened.session = std::make_shared<const DebertaSession>(model, first_serial);
    } catch (const Error& error) {
        opened.error = error.what();
    } catch (const std::bad_alloc&) {
        opened.error = "the model " + model + " needs more memory than there is, expected a smaller one";
    }
    return opened;
}

ModelOpener::ModelOpener(std::function<void()> opened)
    : worker_(
          [](const Order& order) {
              return std::make_shared<const OpenedSession>(open_session(order.model, order.first_serial));
          },
          std::move(opened)) {}

void ModelOpener::open(const std::string& model) { worker_.submit({model, ++opened_ * kAnswersOfOneSession}); }

std::string fit_to_session(const DebertaSession& session, State& state) {
    const Index layers = session.config().num_hidden_layers, heads = session.config().num_attention_heads;
    const auto fit = [](Index& value, Index count) { value = std::min(value, count - 1); };
    fit(state.layer, layers);
    fit(state.head, heads);
    fit(state.decoder_head, heads);
    CompareState& compare = state.compare;
    if (compare.from_model()) {
        compare.stage = at_layer(compare.stage, std::min(std::max<Index>(0, layer_of(compare.stage)), layers - 1));
        fit(compare.head, heads);
        fit(compare.other_head, heads);
    }
    for (CompareSide* side : {&compare.a, &compare.b})
        if (side->file.empty()) fit(side->layer, layers);
    if (state.tokens.empty()) return {};
    const auto known = [&] {
        try {
            const ModelInput input = session.input_of({state.text, state.tokens, state.mask});
            for (Index t = 0; t < input.length(); ++t)
                if (input.tokens[t] >= session.config().vocab_size) return false;
            return true;
        } catch (const Error&) {
            return false;
        }
    };
    if (known()) return {};
    state.tokens.clear();
    state.mask.clear();
    return "Not all of the token ids are words of this model: the sentence is shown instead.";
}

}  // namespace locus
