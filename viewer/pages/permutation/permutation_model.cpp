// What is asked of the model, what has come back, and the state kept inside it.
#include <algorithm>

#include "viewer/pages/permutation/permutation.h"

namespace locus {

void PermutationPage::follow(const State& state) {
    const PermutationState& own = state.permutation;
    source_.update(state.choices.xlnet);
    if (!source_.shown()) return;
    // The other sentences are looked at without a model; what it said of its own one stays.
    PermutationState model = own;
    if (!runs_model(own)) model = PermutationState{};
    const bool all = answers_.shown() && answers_.shown()->request.sentence == source_.share() &&
                     answers_.shown()->layer < 0;  // the stages of all layers are there
    answers_.update({source_.share(), cards_in(model, *source_.shown()), own.segments, all ? 0 : own.layer});
}

std::string PermutationPage::trouble() { return source_.error().empty() ? answers_.error() : source_.error(); }

bool PermutationPage::settled(const State& state) const {
    if (!source_.settled(state.choices.xlnet)) return false;
    return !source_.error().empty() || answers_.settled();
}

void PermutationPage::fit(PermutationState& state) {
    const ModelSizes sizes = sentence().sizes();
    state.sentence = std::min<std::size_t>(state.sentence, sentences_.size() - 1);
    if (fitted_ != sentence().words()) {
        if (!fitted_.empty() && runs_model(state)) {
            state.order.clear();
            state.row = state.card = -1;
            scroll_ = -1;
        }
        fitted_ = sentence().words();
        // A cell of the query stream needs a target that looks.
        const std::vector<Index> predicted = predicted_of(cards(state));
        if (runs_model(state) && std::find(predicted.begin(), predicted.end(), state.cell.i) == predicted.end())
            state.cell = {shown_row(state), 0};
    }
    const auto length = static_cast<Index>(words(state).size());
    const auto inside = [](Index& value, Index low, Index high) {
        value = std::clamp(value, low, std::max(low, high));
    };
    inside(state.layer, 0, sizes.layers - 1);
    inside(state.head, 0, sizes.heads - 1);
    inside(state.row, -1, length - 1);
    inside(state.card, -1, length);
    inside(state.cell.i, 0, length - 1);
    inside(state.cell.j, 0, length - 1);
    inside(state.term, -1, 2);
    state.side = std::min<std::size_t>(state.side, 2);
    state.stream = std::min<std::size_t>(state.stream, 1);
}

void PermutationPage::refresh(Scene& scene) {
    PermutationState& state = scene.state.permutation;
    fit(state);
    if (const CardRow row = cards(state); row != visible_for_) {
        visible_for_ = row;
        visible_ = visibility_of(row);
    }
    const PictureVersion wanted{answers_.serial(), state.layer * sentence().sizes().heads + state.head,
                                scene.state.theme};
    if (shown_ == wanted || answer().stage(Stream::content, state.layer, "probs", state.head).size() == 0) return;
    shown_ = wanted;
    cell_.reset();
    const StreamVisibility seen = visibility_of(answer().request.cards);
    for (const Stream stream : {Stream::content, Stream::query}) {
        const std::size_t n = stream == Stream::content ? 0 : 1;
        probabilities_[n] = answer().stage(stream, state.layer, "probs", state.head);
        tensors_[n] = probabilities_[n].size() > 0 ? answer().head(stream, state.layer, state.head)
                                                   : RelativeHeadTensors<float>{};
        Matrix<float> all = Matrix<float>::Zero(answer().length(), answer().length());
        for (Index i = 0; i < all.rows(); ++i)
            if (const Index row = answer().row_of(stream, i); row >= 0 && row < probabilities_[n].rows())
                all.row(i) = probabilities_[n].row(row);
        masks_[n].show(wanted, all, n == 0 ? seen.content : seen.query, MapKind::sequential, ValueRange{0, 1});
    }
}

std::optional<float> PermutationPage::attention(const PermutationState& state, bool query, Index i, Index j) const {
    if (!runs_model(state)) return std::nullopt;
    const Matrix<float>& all = probabilities_[query ? 1 : 0];
    const Index row = answer().row_of(query ? Stream::query : Stream::content, i);
    if (row < 0 || row >= all.rows() || j >= all.cols()) return std::nullopt;
    return all(row, j);
}

}  // namespace locus
