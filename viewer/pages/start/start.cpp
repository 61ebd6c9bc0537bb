// The page: where everything stands, sentences, cards, models.
#include "viewer/pages/start/start.h"

#include <algorithm>
#include <cmath>

#include "viewer/state/sentence_presets.h"
#include "viewer/ui/formula_bar.h"

namespace locus {

namespace {

struct Card {
    const char* page;
    char key;
    const char* title;
    const char* about;
};

/// What each page answers, in the order of the rail.
constexpr Card kCards[] = {
    {"positions", '1', "Positions", "How far is j from i, and which row of the table serves it?"},
    {"attention", '2', "Attention", "One head, each term by itself, and why a cell is what it is."},
    {"decoder", '3', "Decoder", "The words behind every [MASK], with absolute positions and without."},
    {"rope", '4', "RoPE", "Positions as rotations: only their difference counts."},
    {"transformer-xl", '5', "Transformer-XL", "Looking back into memory, and the shift that finds the place."},
    {"permutation", '6', "Permutation", "Words predicted in any order, and who may see whom."},
    {"text", '7', "Text", "Counting words, and how far they must travel."},
    {"compare", '8', "Compare", "Two sources cell by cell. Here: this head less the next one."},
    {"conformance", '9', "Check my port", "The first stage that is wrong, and the mistake behind it."},
};

/// Across the whole width, below the others.
constexpr Card kTraining = {"training", 'a', "Training",
                            "A small model learns on the spot, in a minute: watch position take shape in one head."};

bool exists(const std::string& page) {
    return std::any_of(page_names().begin(), page_names().end(),
                       [&](const PageName& known) { return page == known.name; });
}

}  // namespace

void StartPage::follow(const State&) {
    if (!worker_) {
        worker_ = std::make_unique<Worker<int, Previews>>(
            [](const int&) { return std::make_shared<const Previews>(make_previews()); }, Window::wake);
        worker_->submit(0);
    }
    if (const auto made = worker_->take()) previews_ = made;
}

float StartPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const DebertaConfig& config = scene.session.config();
    return ui.layer_and_head(bar.x1 - ui.px(16), bar.middle_y(), config.num_hidden_layers, state.layer,
                             config.num_attention_heads, state.head);
}

void StartPage::draw(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    const Rect inside = room.inset(ui.px(16), ui.px(12));
    const float gap = ui.px(14), sentences = ui.px(66), models = ui.px(96);
    draw_sentences(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + sentences});
    const float top = inside.y0 + sentences, bottom = inside.y1 - models;
    const float wide = std::floor((inside.width() - 2 * gap) / 3), strip = ui.px(50),
                high = std::floor((bottom - top - 3 * gap - strip) / 3);
    for (std::size_t n = 0; n < std::size(kCards); ++n) {
        const Card& card = kCards[n];
        const float x = inside.x0 + static_cast<float>(n % 3) * (wide + gap);
        const float y = top + static_cast<float>(n / 3) * (high + gap);
        draw_card(scene, {x, y, x + wide, y + high}, card.page, card.key, card.title, card.about);
    }
    draw_strip(scene, {inside.x0, bottom - strip, inside.x1, bottom});
    draw_models(scene, {inside.x0, bottom + ui.px(18), inside.x1, inside.y1});
}

void StartPage::draw_strip(Scene& scene, const Rect& strip) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Touch mouse = ui.touch(kTraining.page, strip);
    if (mouse.hovered) ui.fill(strip, theme.chip, 6);
    ui.outline(strip, mouse.hovered ? theme.muted : theme.line, 1, 6);
    const float y = strip.middle_y(), pad = ui.px(12);
    float x = strip.x0 + pad;
    x += ui.text(x, y, kTraining.title, theme.text, Face::title) + ui.px(14);
    ui.text_within(x, y, strip.x1 - 2 * pad - ui.px(14) - x, kTraining.about, theme.muted, Face::label);
    ui.text(strip.x1 - pad, y, std::string(1, kTraining.key), theme.muted, Face::mono_small, Align::right);
    if (mouse.clicked) scene.state.page = kTraining.page;
}

void StartPage::draw_sentences(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    ui.text(room.x0, room.y0 + ui.px(8), "Sentences to try", ui.theme->text, Face::title);
    ui.text(room.x1, room.y0 + ui.px(8), "Ctrl L writes your own", ui.theme->muted, Face::mono_small, Align::right);
    const float y = room.y0 + ui.px(36), gap = ui.px(8);
    float needed = 0;
    for (const char* sentence : kSentencePresets) needed += ui.text_width(sentence) + ui.px(20) + gap;
    // All in one row: the longest give way where they do not fit.
    const auto count = static_cast<float>(std::size(kSentencePresets));
    const float most = needed - gap <= room.width() ? room.width() : (room.width() - gap * (count - 1)) / count * 1.12f;
    float x = room.x0;
    const Ui::Group group(ui, "sentences");
    for (const char* sentence : kSentencePresets) {
        const std::string label = ui.cut(sentence, std::max(ui.px(40), std::min(most, room.x1 - x) - ui.px(20)));
        const Rect box{x, y - ui.px(13), x + ui.text_width(label) + ui.px(20), y + ui.px(13)};
        const bool chosen = state.tokens.empty() && state.text == sentence;
        const Touch mouse = ui.touch(sentence, box);
        ui.fill(box, ui.theme->chip, 5);
        if (chosen || mouse.hovered) ui.outline(box, chosen ? ui.theme->accent : ui.theme->muted, chosen ? 2 : 1, 5);
        ui.text(box.middle_x(), y, label, ui.theme->text, Face::ui, Align::centre);
        if (mouse.clicked) {
            state.text = sentence;
            state.tokens.clear();
            state.mask.clear();
        }
        x = box.x1 + gap;
    }
}

void StartPage::draw_card(Scene& scene, const Rect& card, const std::string& page, char key, const std::string& title,
                          const std::string& about) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const bool there = exists(page);
    const Touch mouse = ui.touch(page.c_str(), card);
    if (mouse.hovered) ui.fill(card, theme.chip, 6);
    ui.outline(card, mouse.hovered ? theme.muted : theme.line, 1, 6);
    const float pad = ui.px(12), side = std::floor(std::min(card.height() - 2 * pad, card.width() * 0.46f));
    const Rect picture{card.x0 + pad, card.middle_y() - side / 2, card.x0 + pad + side, card.middle_y() + side / 2};
    float x = picture.x1 + pad;
    if (page == "decoder") {
        draw_words(scene, picture);
    } else if (page == "rope") {
        draw_dials(scene, picture);
    } else if (Heatmap& heatmap = pictures_[page]; show_matrix(scene, page, heatmap)) {
        heatmap.draw_plain(ui, picture);
    } else {
        x = card.x0 + pad;
    }
    const float width = card.x1 - pad - x;
    ui.text_within(x, picture.y0 + ui.px(8), width - ui.px(14), title, theme.text, Face::title);
    ui.text(card.x1 - pad, picture.y0 + ui.px(8), std::string(1, key), there ? theme.muted : faded(theme.muted, 0.5f),
            Face::mono_small, Align::right);
    ui.paragraph(x, picture.y0 + ui.px(20), width, about, theme.muted, Face::label);
    if (page == "conformance")
        ui.text_within(x, card.y1 - pad - ui.px(8), width, "./locus kit check", theme.text, Face::mono);
    if (!mouse.clicked) return;
    if (there) {
        scene.state.page = page;
    } else {
        ImGui::SetClipboardText("./locus kit check my-kit/ dumps/");
        scene.state.notice = "copied: ./locus kit check my-kit/ dumps/";
    }
}

void StartPage::draw_models(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    State& state = scene.state;
    ui.text(room.x0, room.y0 + ui.px(8), "Models that come along", theme.text, Face::title);
    ui.text(room.x1, room.y0 + ui.px(8), "trained small, so that pictures show structure", theme.muted,
            Face::mono_small, Align::right);
    const auto& models = bundled_models();
    const float gap = ui.px(14), top = room.y0 + ui.px(24);
    const float wide = std::floor((room.width() - gap * 3) / 4);
    for (std::size_t n = 0; n < models.size(); ++n) {
        const BundledModel& model = models[n];
        const float x = room.x0 + static_cast<float>(n) * (wide + gap);
        const Rect box{x, top, x + wide, room.y1};
        const Touch mouse = ui.touch(model.name, box);
        if (mouse.hovered) ui.fill({box.x0 - ui.px(6), box.y0, box.x1 + ui.px(2), box.y1}, theme.chip, 6);
        const float y = top + ui.px(10);
        ui.text(x, y, model.name, mouse.hovered ? theme.accent : theme.text);
        if (previews_ && n < previews_->sizes.size())
            ui.text(box.x1, y, previews_->sizes[n], theme.muted, Face::mono_small, Align::right);
        ui.paragraph(x, y + ui.px(10), wide, model.family, theme.muted, Face::label);
        if (!mouse.clicked) continue;
        if (n == 0 && scene.session.name() != model.name) state.wanted_model = model.name;
        state.page = model.page;
    }
}

void StartPage::draw_formula(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    const float x = bar.x0 + ui.px(16);
    const float end = x + ui.text(x, bar.middle_y(), "Its key or a click opens a page.", ui.theme->text);
    draw_bar_note(scene, bar, "every small picture is computed from this sentence or a bundled one", end);
}

std::vector<NamedMatrix> StartPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    for (const Card& card : kCards) {
        Heatmap& heatmap = pictures_[card.page];
        if (!show_matrix(scene, card.page, heatmap)) continue;
        NamedMatrix matrix = named_matrix(card.page, card.title, card.page, Matrix<float>(heatmap.values()));
        const bool of_sentence = scene.answer && heatmap.values().rows() == scene.answer->length();
        const std::string page = card.page;
        if (of_sentence && (page == "positions" || page == "attention" || page == "compare"))
            matrix.rows = matrix.cols = scene.answer->labels;
        matrix.map = heatmap.map();
        matrix.range = heatmap.range();
        matrices.push_back(std::move(matrix));
    }
    return matrices;
}

bool StartPage::press(Scene& scene, const KeyPress& press) {
    if (press.key != Key::enter) return false;
    const DebertaConfig& config = scene.session.config();
    go_to_step(scene.state, 0, config.num_hidden_layers, config.num_attention_heads);
    return true;
}

std::unique_ptr<Page> make_start_page() { return std::make_unique<StartPage>(); }

}  // namespace locus
