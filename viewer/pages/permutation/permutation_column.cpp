// Who sees whom, in words, and why there are two streams.
#include <algorithm>

#include "viewer/pages/permutation/permutation.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

void PermutationPage::draw_side(Scene& scene, const Rect& area) {
    refresh(scene);
    PermutationState& state = scene.state.permutation;
    const Ui::Scrolled scrolled(scene.ui);
    SideColumn column(scene.ui, area, side_scroll_);
    if (runs_model(state)) draw_column_choice(scene.ui, column, "this row", column_of(state));
    if (runs_model(state) && state.side > 0)
        draw_cell(scene, column, area);
    else
        draw_row(scene, column);
    scroll_column(scene.ui, column, area, side_scroll_);
}

void PermutationPage::draw_row(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const Index chosen = shown_row(state);
    const std::vector<Index> predicted = predicted_of(cards(state));
    const auto at = std::find(predicted.begin(), predicted.end(), chosen);
    const bool is_target = at != predicted.end();
    const std::string more = visible_of_ ? visible_of_->hides_more() : "";
    column.heading("Who sees whom?",
                   "\u201c" + cut_token(ui, word(state, chosen), ui.px(110), Face::mono_small) + "\u201d");
    // The order is not all that hides: padding, and models that read from left to right.
    std::vector<bool> hidden;
    for (Index j = 0; j < visible_.query.cols(); ++j) hidden.push_back(visible_.query(chosen, j) == 0);
    std::string sentence = sees_in_words(cards(state), chosen, hidden);
    sentence.front() = 'P';
    column.sentence(sentence + ".", false);
    if (is_target) {
        column.sentence("Its query stream g sees " + std::to_string(visible_.query.row(chosen).cast<int>().sum()) +
                        " words, but not its own; its content stream h sees one more, itself.");
        std::string after;
        for (auto later = at + 1; later != predicted.end() && later - at <= 4; ++later)
            after += (after.empty() ? "" : ", ") + word(state, *later);
        if (predicted.end() - at > 5) after += " and more";
        if (!after.empty()) column.sentence("Hidden, because they come later: " + after + ".");
    } else {
        column.sentence(more.empty() ? "Given words see each other and no word that is to be predicted."
                                     : "Given words see no word that is to be predicted.");
    }
    if (!more.empty()) column.sentence(more);
    if (runs_model(state) && is_target) draw_looks(scene, column, chosen);
    column.rule();
    column.heading("The words do not move");
    column.sentence("Every token keeps its place in the text; the order only says which cells of the masks are open.");
    column.rule();
    column.heading("Why two streams?");
    column.sentence(
        "After the same words the next target may be at different places. g knows its place, through relative "
        "positions, but not what it is. h knows what it is, so that later targets can look at it.");
    if (const auto other = same_prefix(cards(state), chosen)) {
        const std::vector<Index> swapped = predicted_of(*other);
        column.sentence("Order " + order_text(*other) + " begins alike: from the same words it asks for \u201c" +
                        word(state, swapped[static_cast<std::size_t>(at - predicted.begin())]) +
                        "\u201d. What h offers is the same; only g tells the two apart.");
    }
    draw_lesson_links(scene, column,
                      {{"21", "AR, AE, and New York"}, {"22", "Permutation language model"}, {"23", "Two streams"}});
}

void PermutationPage::draw_looks(const Scene& scene, SideColumn& column, Index chosen) const {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    std::vector<std::pair<float, Index>> weights;
    for (Index j = 0; j < static_cast<Index>(words(state).size()); ++j)
        if (const auto weight = attention(state, true, chosen, j); weight) weights.emplace_back(*weight, j);
    std::sort(weights.rbegin(), weights.rend());
    column.rule();
    column.heading("Where does g look?",
                   "layer " + std::to_string(state.layer) + " head " + std::to_string(state.head));
    if (visible_.query.row(chosen).cast<int>().sum() == 0) {
        const bool weighs = weights.empty() || weights.front().first != 0;
        column.sentence(weighs ? "At no word: it sees none. The code then weighs all keys alike, hidden as they are."
                               : "At no word: it sees none, and in this dialect all its weights are 0.");
        if (!weighs) return;
    }
    for (std::size_t n = 0; n < std::min<std::size_t>(4, weights.size()); ++n) {
        const auto [weight, j] = weights[n];
        ui.note(("permutation/weight " + std::to_string(j)).c_str(), static_cast<double>(weight));
        column.bar({{cut_token(ui, word(state, j), ui.px(74), Face::ui), ui.theme->text}}, ui.theme->c2p,
                   static_cast<double>(weight), compact(static_cast<double>(weight), 3));
        column.skip(23);
    }
}

void PermutationPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const auto low = [&](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    std::string order;
    const std::vector<Index> predicted = predicted_of(cards(state));
    for (std::size_t n = 0; n < std::min<std::size_t>(12, predicted.size()); ++n)
        order += (order.empty() ? "" : ", ") + std::to_string(predicted[n] + 1);
    if (predicted.size() > 12) order += " \u2026";
    std::vector<Span> line = {
        plain("z = [" + order + "]   p(x) = \u03a0"), low("t", ui.theme->text),      plain(" p( "),
        {"x", ui.theme->c2p, Face::formula},          low("z\u209c", ui.theme->c2p), plain(" | "),
        {"x", ui.theme->c2c, Face::formula},          low("z<t", ui.theme->c2c),     plain(" )")};
    if (runs_model(state) && !answer().chances.empty()) {
        double product = 1;
        for (std::size_t step = 0; step < answer().chances.size(); ++step) {
            const double chance = named_chance(answer().chances[step]);
            ui.note(("permutation/step " + std::to_string(step + 1)).c_str(), chance);
            product *= chance;
        }
        ui.note("permutation/product", product);
        line.push_back(plain(" = " + chance_text(product)));
    }
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar, "training draws another order for every text", end);
}

// One cell of either stream, taken apart.

namespace {

constexpr RelativeScheme kXlnet = RelativeScheme::xlnet;

}  // namespace

const RelativeCellExplanation<float>* PermutationPage::explain(const PermutationState& state) {
    if (!runs_model(state)) return nullptr;
    const RelativeHeadTensors<float>& tensors = tensors_[state.stream];
    const Index row = answer().row_of(stream_of(state), state.cell.i);
    if (row < 0 || row >= tensors.q.rows() || state.cell.j >= tensors.k.rows()) return nullptr;
    if (!cell_ || cell_stream_ != state.stream || cell_->i != row || cell_->j != state.cell.j) {
        cell_ = explain_relative_cell<float>(tensors, row, state.cell.j);
        cell_stream_ = state.stream;
    }
    return &*cell_;
}

std::string PermutationPage::hidden_because(const PermutationState& state) const {
    const HiddenBy hidden = hidden_by(answer().length(), answer().hiding, stream_of(state), state.cell.i, state.cell.j);
    const std::vector<Index> given = given_of(answer().request.cards);
    const bool from_given = std::find(given.begin(), given.end(), state.cell.i) != given.end();
    if (hidden == HiddenBy::permutation && from_given) return "it is to be predicted, and given words see no such word";
    return reason_of(hidden);
}

CellNames PermutationPage::cell_names(const PermutationState& state) const {
    return {sentence().name(),
            "layer " + std::to_string(state.layer) + ", head " + std::to_string(state.head) +
                (state.stream == 0 ? ", content stream h" : ", query stream g"),
            word(state, state.cell.i), word(state, state.cell.j), hidden_because(state)};
}

std::string PermutationPage::copied_text(const PermutationState& state) {
    const RelativeCellExplanation<float>* cell = explain(state);
    if (!cell) return "";
    const Index length = answer().length(), rows = tensors_[state.stream].r_k.rows();
    return cell_text(*cell, kXlnet, cell_names(state),
                     shift_source_xlnet(length, rows, length, cell->position, cell->j));
}

void PermutationPage::draw_cell(Scene& scene, SideColumn& column, const Rect& area) {
    const Ui& ui = scene.ui;
    PermutationState& state = scene.state.permutation;
    const CellNames names = cell_names(state);
    const std::string stream = state.stream == 0 ? "content stream h" : "query stream g";
    const RelativeCellExplanation<float>* cell = explain(state);
    if (!cell) {
        column.heading("No query stream", "");
        column.sentence("\u201c" + names.query +
                        "\u201d is given, not predicted, so it has no query stream. Click its card, "
                        "or a cell of the content stream.");
        return;
    }
    const std::string pair = "\u201c" + names.query + "\u201d " +
                             (cell->softmax.visible ? "looks at" : "does not see") + " \u201c" + names.key + "\u201d";
    if (state.side == 2) {
        column.heading("Channel by channel", stream);
        column.sentence(pair + ".", false);
        return draw_channel_table(ui, column, area, *cell, kXlnet, column_of(state));
    }
    column.heading("Why is this cell " + compact(static_cast<double>(cell->softmax.probability), 3) + "?",
                   state.stream == 0 ? "stream h" : "stream g");
    column.sentence(pair + ", " + direction(cell->distance) + ".");
    draw_named_terms(ui, column, *cell, kXlnet, column_of(state), "permutation");
    const float x = column.left();
    if (ui.button("segment term", {x, column.y() - ui.px(11), x + ui.px(150), column.y() + ui.px(11)},
                  state.segments ? "without segments" : "with segments"))
        state.segments = !state.segments;
    ui.text(x + ui.px(160), column.y(), "g", ui.theme->muted, Face::mono_small);
    column.skip(30);
    draw_score_steps(column, *cell, names.hidden);
    column.rule();
    draw_cell_row(scene, column, *cell);
    column.rule();
    draw_copy_button(scene, column, copied_text(state));
    draw_lesson_links(scene, column,
                      {{"21", "AR, AE, and New York"}, {"22", "Permutation language model"}, {"23", "Two streams"}});
}

void PermutationPage::draw_cell_row(const Scene& scene, SideColumn& column,
                                    const RelativeCellExplanation<float>& cell) const {
    const PermutationState& state = scene.state.permutation;
    const Index length = answer().length(), rows = tensors_[state.stream].r_k.rows();
    column.heading("Which row of R?", std::to_string(rows) + " rows, both ways");
    // Counted from 1, as on the cards.
    column.row(std::to_string(cell.position + 1) + " \u2212 " + std::to_string(cell.j + 1) + " = distance",
               whole(cell.distance));
    if (cell.row < 0) {
        column.sentence("There is no row for this distance: the model reads from left to right.");
    } else {
        const ShiftSource from = shift_source_xlnet(length, rows, length, cell.position, cell.j);
        column.row(std::to_string(length) + " \u2212 (" + whole(cell.distance) + ") = row", std::to_string(cell.row));
        column.row("before the shift at", "(" + std::to_string(from.row) + ", " + std::to_string(from.column) + ")");
    }
    if (cell.ef.active) column.row("segment table", cell.other_segment ? "row 1: another" : "row 0: the same");
}

// What is asked of the model, what has come back, and the state kept inside it.

void PermutationPage::update(const State& state) {
    const PermutationState& own = state.permutation;
    source_.update(state.choices.xlnet);
    if (!source_.shown()) return;
    // The other sentences are looked at without a model; what it said of its own one stays.
    PermutationState model = own;
    if (!runs_model(own)) model = PermutationState{};
    const bool all = answers_.shown() && answers_.shown()->request.sentence == source_.share() &&
                     answers_.shown()->layer < 0;  // the stages of all layers are there
    answers_.update(
        {source_.share(), cards_in(model, *source_.shown()), own.segments, all ? 0 : own.layer, state.dialect});
}

std::string PermutationPage::error() { return source_.error().empty() ? answers_.error() : source_.error(); }

bool PermutationPage::settled(const State& state) const {
    if (!source_.settled(state.choices.xlnet)) return false;
    return !source_.error().empty() || !source_.shown() || answers_.settled();
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
        if (runs_model(state) && state.stream == 1 &&
            std::find(predicted.begin(), predicted.end(), state.cell.i) == predicted.end())
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
    // The sentence that is shown, whose words the cards are of; one that is opened meanwhile may have other words.
    const auto of = runs_model(state) ? answer().request.sentence : nullptr;
    if (const CardRow row = cards(state); row != visible_for_ || of != visible_of_) {
        visible_for_ = row;
        visible_of_ = of;
        visible_ = of ? of->visible(row) : visibility_of(row);
    }
    const PictureVersion wanted{answers_.serial(), state.layer * sentence().sizes().heads + state.head,
                                scene.state.theme};
    if (shown_ == wanted || answer().stage(Stream::content, state.layer, "probs", state.head).size() == 0) return;
    shown_ = wanted;
    cell_.reset();
    const StreamVisibility seen = answer().request.sentence->visible(answer().request.cards);
    for (const Stream stream : {Stream::content, Stream::query}) {
        const std::size_t n = stream == Stream::content ? 0 : 1;
        probabilities_[n] = answer().stage(stream, state.layer, "probs", state.head);
        tensors_[n] = probabilities_[n].size() > 0 ? answer().head(stream, state.layer, state.head)
                                                   : RelativeHeadTensors<float>{};
        Matrix<float> all = Matrix<float>::Zero(answer().length(), answer().length());
        for (Index i = 0; i < all.rows(); ++i)
            if (const Index row = answer().row_of(stream, i); row >= 0 && row < probabilities_[n].rows())
                all.row(i) = probabilities_[n].row(row);
        masks_[n].show(wanted, all, n == 0 ? seen.content : seen.query, MapKind::sequential, probability_range(all));
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
