// The small pictures, and the column beside them.
#include <algorithm>
#include <cmath>

#include "viewer/pages/start/start.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/side_column.h"

namespace locus {

bool StartPage::show_matrix(const Scene& scene, const std::string& page, Heatmap& heatmap) const {
    const State& state = scene.state;
    const ThemeName theme = state.theme;
    const auto picture = [&](const Matrix<float>& values, MapKind map) {
        if (values.size() == 0) return false;
        heatmap.show({1, 0, theme}, values, {}, map,
                     map == MapKind::diverging ? std::nullopt : std::optional(ValueRange{0, 1}));
        return true;
    };
    if (page == "transformer-xl") return previews_ && picture(previews_->memory, MapKind::sequential);
    if (page == "permutation") return previews_ && picture(previews_->permuted, MapKind::sequential);
    if (page == "text") return previews_ && picture(previews_->nearness, MapKind::sequential);
    if (!scene.answer) return false;
    const Answer& answer = *scene.answer;
    const Index heads = scene.session.config().num_attention_heads, head = std::min(state.head, heads - 1);
    const PictureVersion version{answer.serial, head, theme};
    if (page == "positions" && answer.line) {
        const Index length = answer.length();
        Matrix<float> rows(length, length);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j)
                rows(i, j) = static_cast<float>(answer.line->row(i, j) - answer.line->row(0, 0));
        heatmap.show(version, rows, {}, MapKind::diverging);
        return true;
    }
    const Tensor<float>* probs = answer.stage("probs");
    if (!probs) return false;
    if (page == "attention") {
        heatmap.show(version, probs->matrix(head), answer.visible, MapKind::sequential, ValueRange{0, 1});
        return true;
    }
    if (page != "compare" || heads < 2) return false;
    const Matrix<float> other = probs->matrix((head + 1) % heads);
    heatmap.show(version, probs->matrix(head) - other, answer.visible, MapKind::diverging);
    return true;
}

void StartPage::draw_words(Scene& scene, const Rect& box) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    if (!scene.answer) return;
    const DecoderAnswer& decoder = scene.answer->decoder;
    if (decoder.masks.empty()) {
        ui.paragraph(box.x0, box.y0, box.width(), "This sentence has no [MASK].", theme.muted, Face::label);
        return;
    }
    const std::size_t masks = std::min<std::size_t>(2, decoder.masks.size());
    const float part = box.height() / static_cast<float>(masks);
    for (std::size_t m = 0; m < masks; ++m) {
        const auto& words = decoder.masks[m].with_decoder;
        const auto rows = static_cast<float>(masks == 1 ? 6 : 3);
        const float pitch = part / rows;
        for (std::size_t n = 0; n < std::min<std::size_t>(words.size(), static_cast<std::size_t>(rows)); ++n) {
            const float y = box.y0 + static_cast<float>(m) * part + (static_cast<float>(n) + 0.5f) * pitch;
            const auto share = static_cast<float>(std::sqrt(words[n].probability));
            ui.fill({box.x0, y - pitch * 0.42f, box.x0 + std::max(ui.px(2), box.width() * share), y + pitch * 0.42f},
                    faded(m == 0 ? theme.c2p : theme.c2c, n == 0 ? 0.55f : 0.25f), 2);
            ui.text_within(box.x0 + ui.px(5), y, box.width() - ui.px(6), words[n].piece, theme.text, Face::label);
        }
    }
}

void StartPage::draw_dials(Scene& scene, const Rect& box) const {
    if (!previews_ || previews_->before.empty()) return;
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const std::size_t count = std::min<std::size_t>(9, previews_->before.size());
    const float cell = box.width() / 3, radius = std::floor(cell / 2 - ui.px(3));
    for (std::size_t n = 0; n < count; ++n) {
        const ImVec2 centre{box.x0 + (static_cast<float>(n % 3) + 0.5f) * cell,
                            box.y0 + (static_cast<float>(n / 3) + 0.5f) * cell};
        ui.draw().circle(centre, radius, theme.line, ui.px(1));
        const auto hand = [&](const Point& p, ImU32 colour, float width) {
            const double length = std::hypot(p.x, p.y);
            if (length == 0) return;
            const auto x = static_cast<float>(p.x / length) * radius, y = static_cast<float>(p.y / length) * radius;
            ui.draw().line(centre, {centre.x + x, centre.y - y}, colour, width);
        };
        hand(previews_->before[n], theme.muted, ui.px(1));
        hand(previews_->after[n], theme.c2c, ui.px(2));
    }
}

void StartPage::draw_tour(Scene& scene, SideColumn& column) const {
    const Ui& ui = scene.ui;
    column.heading("Three minutes", std::to_string(tour_steps().size()) + " steps");
    column.sentence(
        "A walk through the pages, one sentence each. Enter goes on, Esc ends it; your sentence comes back.");
    const Rect box{column.left(), column.y() - ui.px(12), column.left() + ui.text_width("Start the tour") + ui.px(32),
                   column.y() + ui.px(16)};
    if (ui.button("tour", box, "Start the tour", true)) {
        const DebertaConfig& config = scene.session.config();
        go_to_step(scene.state, 0, config.num_hidden_layers, config.num_attention_heads);
    }
    ui.text(box.x1 + ui.px(12), box.middle_y(), "Enter", ui.theme->muted, Face::mono_small);
    column.skip(36);
    column.rule();
}

void StartPage::draw_recent(Scene& scene, SideColumn& column) const {
    const std::vector<std::string>& models = scene.state.recent.models;
    column.heading("Models", models.empty() ? "" : "opened lately");
    column.row("now", scene.ui.cut(scene.session.name(), column.width() - scene.ui.px(60), Face::mono));
    const Ui::Group group(scene.ui, "recent");
    for (std::size_t n = 0; n < std::min<std::size_t>(models.size(), 5); ++n)
        if (column.link(scene.ui.cut(models[n], column.width() - scene.ui.px(24))))
            scene.state.wanted_model = models[n];
    if (models.empty())
        column.sentence("Your own: ./locus view FOLDER opens a folder as it comes from Hugging Face, without Python.");
    column.rule();
}

void StartPage::draw_side(Scene& scene, const Rect& room) {
    SideColumn column(scene.ui, room);
    draw_tour(scene, column);
    draw_recent(scene, column);
    column.heading("Check my port");
    column.sentence(
        "Write what your port computes under the names of our stages. The first stage that is wrong is named, and the "
        "known mistake that looks like it.");
    const Ui::Group group(scene.ui, "port");
    for (const char* command : {"./locus kit export my-kit/", "./locus kit check my-kit/ dumps/"})
        if (column.link(command)) {
            ImGui::SetClipboardText(command);
            scene.state.notice = std::string("copied: ") + command;
        }
    column.rule();
    column.heading("Keys");
    column.row("every command", "Ctrl P");
    column.row("write the sentence", "Ctrl L");
    column.row("dark or light", "t");
    column.row("all keys", "?");
}

}  // namespace locus
