#include "viewer/pages/attention/attention.h"

#include <algorithm>

#include "viewer/plots/head_terms.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

const std::vector<std::string> kPictures = {"head", "all heads", "stage"};

Mask turned_mask(const Mask& visible, bool transposed) {
    return transposed && visible.size() > 0 ? Mask(visible.transpose()) : visible;
}

std::string cell_name(Cell cell) { return "(" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")"; }

/// One row or column, as many times as the matrix is wide: a strip that zooms with the matrix.
Matrix<float> repeated(const std::vector<SelectionTotal>& totals, bool below) {
    const auto length = static_cast<Index>(totals.size());
    Matrix<float> all(length, length);
    for (Index n = 0; n < length; ++n) {
        const auto& total = totals[static_cast<std::size_t>(n)];
        const float mean = total.pairs > 0 ? static_cast<float>(total.mean()) : 0.0f;
        if (below)
            all.col(n).setConstant(mean);
        else
            all.row(n).setConstant(mean);
    }
    return all;
}

Mask seen(const std::vector<SelectionTotal>& totals, bool below) {
    const auto length = static_cast<Index>(totals.size());
    Mask all = Mask::Ones(length, length);
    for (Index n = 0; n < length; ++n)
        if (totals[static_cast<std::size_t>(n)].pairs == 0) {
            if (below)
                all.col(n).setZero();
            else
                all.row(n).setZero();
        }
    return all;
}

}  // namespace

float AttentionPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const DebertaConfig& config = scene.session.config();
    const float left = ui.layer_and_head(bar.x1 - ui.px(16), bar.middle_y(), config.num_hidden_layers, state.layer,
                                         config.num_attention_heads, state.head);
    float width = 0;
    for (const std::string& label : kPictures) width += ui.text_width(label) + ui.px(22);
    auto picture = static_cast<std::size_t>(state.attention.picture);
    const float x = left - ui.px(16) - width;
    ui.choice("picture", x, bar.middle_y(), kPictures, picture);
    state.attention.picture = static_cast<AttentionPicture>(picture);
    return x + ui.px(8);
}

void AttentionPage::refresh(Scene& scene) {
    const Answer& answer = *scene.answer;
    AttentionState& state = scene.state.attention;
    state.selection = inside(state.selection, answer.length(), answer.length());
    const Index head = std::min(scene.state.head, scene.session.config().num_attention_heads - 1);
    const Shown wanted{answer.serial,    head,           scene.state.theme, kept_terms(scene), state.scale_follows,
                       state.transposed, state.selection};
    if (shown_ == wanted && revision_ > 0) return;
    shown_ = wanted;
    const PictureVersion version{++revision_, head, scene.state.theme};
    std::array<Matrix<float>, 5> values;
    for (std::size_t n = 0; n < values.size(); ++n) {
        const Tensor<float>* stage = answer.stage(kAttentionPanels[n].stem);
        present_[n] = stage != nullptr;
        if (stage) values[n] = stage->matrix(head);
    }
    HeadTerms terms{std::move(values[0]), std::move(values[1]), std::move(values[2])};
    divisor_terms_ = divisor_terms_left(terms.present(), wanted.kept, term_scale(scene));
    if (!wanted.kept.all()) {
        AblatedHead left = ablate(terms, wanted.kept, term_scale(scene), answer.visible, answer.options.masked_row);
        values[3] = std::move(left.scores);
        values[4] = std::move(left.probs);
    }
    share_ = shares_by_distance(terms, answer.visible);
    for (std::size_t n = 0; n < strength_.size(); ++n)
        strength_[n] = present_[n] ? strength_by_distance(terms.at(n), answer.visible) : std::vector<double>();
    values[0] = std::move(terms.c2c);
    values[1] = std::move(terms.c2p);
    values[2] = std::move(terms.p2c);
    show_strips(answer, version, values);
    const Mask visible = turned_mask(answer.visible, state.transposed);
    if (state.transposed)
        for (Matrix<float>& each : values) each.transposeInPlace();
    glow(scene, values);
    for (std::size_t n = 0; n < values.size(); ++n) {
        if (!present_[n]) continue;
        const ValueRange range = n == 4 ? probability_range(values[n]) : ValueRange{};
        heatmaps_[n].show(version, std::move(values[n]), visible, n == 4 ? MapKind::sequential : MapKind::diverging,
                          n == 4 ? std::optional(range) : std::nullopt);
    }
}

void AttentionPage::show_strips(const Answer& answer, const PictureVersion& version,
                                const std::array<Matrix<float>, 5>& values) {
    const Selection& selection = shown_.selection;
    const bool transposed = shown_.transposed;
    for (std::size_t n = 0; n < values.size(); ++n) {
        if (!present_[n] || selection.empty()) continue;
        totals_[n] = total_of(values[n], answer.visible, selection);
        const MapKind map = n == 4 ? MapKind::sequential : MapKind::diverging;
        const ValueRange range = n == 4 ? probability_range(values[n]) : symmetric_range(values[n], answer.visible);
        const auto show = [&](Heatmap& strip, const std::vector<SelectionTotal>& totals, bool below) {
            strip.show(version, repeated(totals, below), seen(totals, below), map, range);
        };
        if (!selection.rows.empty())
            show(transposed ? beside_[n] : below_[n], totals_of_rows(values[n], answer.visible, selection.rows),
                 !transposed);
        if (!selection.cols.empty())
            show(transposed ? below_[n] : beside_[n], totals_of_cols(values[n], answer.visible, selection.cols),
                 transposed);
    }
}

void AttentionPage::draw(Scene& scene, const Rect& area) {
    if (!scene.answer || scene.answer->length() == 0) return;
    refresh(scene);
    switch (scene.state.attention.picture) {
        case AttentionPicture::head:
            return draw_head(scene, area);
        case AttentionPicture::all_heads:
            return draw_heads(scene, area);
        case AttentionPicture::stage:
            return draw_stage(scene, area);
    }
}

std::optional<DrawnRow> AttentionPage::drawn_row(const Scene& scene) const {
    if (!scene.answer || heatmaps_[3].empty() || shown_.answer != scene.answer->serial) return std::nullopt;
    const Index row = std::min(scene.state.cell.i, scene.answer->length() - 1);
    DrawnRow drawn;
    for (Index j = 0; j < scene.answer->length(); ++j) {
        const Cell at = transposed_if({row, j}, shown_.transposed);
        drawn.scores.push_back(heatmaps_[3].values()(at.i, at.j));
        drawn.probs.push_back(heatmaps_[4].values()(at.i, at.j));
    }
    return drawn;
}

void AttentionPage::draw_side(Scene& scene, const Rect& area) {
    if (!scene.answer || scene.answer->length() == 0) return;
    const Ui& ui = scene.ui;
    AttentionState& state = scene.state.attention;
    const float unit = ui.px(100) / 100;
    if (area.holds(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        state.scroll -= static_cast<double>(ImGui::GetIO().MouseWheel) * 54;
    state.scroll =
        std::clamp(state.scroll, 0.0, std::max(0.0, static_cast<double>((side_height_ - area.height()) / unit)));
    const float scrolled = std::floor(static_cast<float>(state.scroll) * unit);
    const Ui::Scrolled moved(ui);
    SideColumn column(ui, area, scrolled);
    if (!state.selection.empty()) draw_selection_card(scene, column);
    if (state.picture == AttentionPicture::stage) {
        column.sentence("This column explains the probabilities, at cell " + cell_name(scene.state.cell) +
                        ", and not the cell that is chosen in the picture.");
        column.rule();
    }
    microscope_.draw(scene, column, area, drawn_row(scene));
    side_height_ = column.y() + scrolled - area.y0 - ui.px(4);
    draw_scroll_bar(ui, area, side_height_, scrolled);
}

void AttentionPage::draw_formula(Scene& scene, const Rect& bar) {
    if (const auto* cell = microscope_.explain(scene)) draw_score_formula(scene, bar, *cell);
}

bool AttentionPage::press_character(Scene& scene, char32_t character) {
    AttentionState& state = scene.state.attention;
    switch (character) {
        case 'q':
            state.kept.c2c = !state.kept.c2c;
            return true;
        case 'w':
            state.kept.c2p = !state.kept.c2p;
            return true;
        case 'e':
            state.kept.p2c = !state.kept.p2c;
            return true;
        case 'r':
            state.scale_follows = !state.scale_follows;
            return true;
        case 'x':
        case 'T':
            state.transposed = !state.transposed;
            return true;
        case 'v':
            state.picture = static_cast<AttentionPicture>((static_cast<int>(state.picture) + 1) % 3);
            return true;
        case 's':
            state.curve = 1 - state.curve;
            return true;
        case 'n':
        case 'N':
            step_stage(scene.state, *scene.answer, character == 'n' ? 1 : -1);
            return true;
        case 'p':
            state.table = !state.table;
            return true;
        case 'c':
            state.copies = true;
            return true;
        case 'm':
            toggle(scene.state.masked, scene.state.cell.i);
            return true;
        default:
            return false;
    }
}

bool AttentionPage::press(Scene& scene, const KeyPress& press) {
    if (!scene.answer) return false;
    State& state = scene.state;
    if (press.key == Key::tab) {
        state.shown_term = (state.shown_term + 1) % 3;
        return true;
    }
    if (press.key == Key::enter) state.attention.picture = AttentionPicture::head;
    if (press.key == Key::character && !press.ctrl && press_character(scene, press.character)) return true;
    if (press.key == Key::character && press.ctrl) {
        state.attention.copies = state.attention.copies || (press.character == 'c' && !press.shift);
        return press.character == 'c';
    }
    Cell cell = transposed_if(state.cell, state.attention.transposed);
    const bool moved = move_cell(cell, state.locked, state.view, scene.answer->length(), press);
    state.cell = transposed_if(cell, state.attention.transposed);
    return moved;
}

std::vector<NamedMatrix> AttentionPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!scene.answer) return matrices;
    const Answer& answer = *scene.answer;
    const Index head = std::min(scene.state.head, scene.session.config().num_attention_heads - 1);
    for (std::size_t n = 0; n < kAttentionPanels.size(); ++n) {
        const std::string name = "layer." + std::to_string(answer.request.layer) + "." + kAttentionPanels[n].stem;
        const Stage* stage = answer.trace.find(name);
        if (!stage) continue;
        NamedMatrix matrix = named_slice(kAttentionPanels[n].stem, kAttentionPanels[n].title, *stage, 0, head);
        matrix.rows = matrix.cols = answer.labels;
        matrix.visible = answer.visible;
        if (n == 4) {
            matrix.map = MapKind::sequential;
            matrix.range = probability_range(stage->as<float>().matrix(head));
        }
        matrices.push_back(std::move(matrix));
    }
    const Stage* shown = answer.shown_stage.empty() ? nullptr : answer.trace.find(answer.shown_stage);
    if (shown && !find_matrix(matrices, shown->name)) {
        const Index heads = matrices_of(*shown).heads;
        matrices.push_back(named_slice(shown->name, shown->name, *shown, 0, std::min(head, heads - 1)));
    }
    const AttentionPicture picture = scene.state.attention.picture;
    if (picture == AttentionPicture::head) {
        matrices.push_back(by_distance("strength", "mean |term| by distance", strength_));
        matrices.push_back(by_distance("share", "share of each term by distance", share_));
    }
    if (picture == AttentionPicture::all_heads && answer.overview) matrices.push_back(shares_of(*answer.overview));
    return matrices;
}

std::unique_ptr<Page> make_attention_page() { return std::make_unique<AttentionPage>(); }

}  // namespace locus
