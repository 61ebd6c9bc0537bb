// Start: every page as a small picture of what is on it now, sentences to try, models, a tour.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "viewer/data/previews.h"
#include "viewer/data/stand_in.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/number_format.h"
#include "viewer/state/state.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

class StartPage : public Page {
public:
    const char* name() const override { return "start"; }
    const char* title() const override { return "Start"; }
    char key() const override { return '0'; }
    void update(const State&) override;
    bool settled(const State&) const override { return previews_ != nullptr; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    const Trace* layer_trace(const Scene& scene) const override {
        return scene.answer ? &scene.answer->trace : nullptr;
    }
    bool press(Scene& scene, const KeyPress& press) override;

private:
    void draw_sentences(Scene& scene, const Rect& area);
    void draw_no_sentences(const Ui& ui, const Rect& area) const;
    void draw_strip(Scene& scene, const Rect& strip);
    void draw_card(Scene& scene, const Rect& card, const std::string& page, char key, const std::string& title,
                   const std::string& about);
    void draw_models(Scene& scene, const Rect& area);
    /// The matrix of a page's small picture; false where it has none.
    bool show_matrix(const Scene& scene, const std::string& page, Heatmap& heatmap) const;
    void draw_words(const Scene& scene, const Rect& box) const;
    void draw_dials(Scene& scene, const Rect& box) const;
    void draw_tour(Scene& scene, class SideColumn& column) const;
    void draw_recent(Scene& scene, class SideColumn& column) const;

    float side_scroll_ = 0;
    std::map<std::string, Heatmap> pictures_;
    std::shared_ptr<const Previews> previews_;
    std::unique_ptr<Worker<int, Previews>> worker_;  // last: its thread ends before what it reads
};

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
    {"decoder", '3', "Decoder", "The words for every [MASK], with absolute positions and without."},
    {"rope", '4', "RoPE", "Positions as rotations: only their difference counts."},
    {"transformer-xl", '5', "Transformer-XL", "Looking back into memory, and the shift that aligns distances."},
    {"permutation", '6', "Permutation", "Words predicted in any order, and who may see whom."},
    {"text", '7', "Text", "Counting words, and how far they must travel."},
    {"compare", '8', "Compare", "Two sources cell by cell. Here: this head less the next one."},
    {"conformance", '9', "Check my port", "The first stage that is wrong, and the mistake that explains it."},
};

/// Across the whole width, below the others.
constexpr Card kTraining = {"training", 'a', "Training",
                            "A small model learns in a minute: watch what one head learns about position."};

bool exists(const std::string& page) {
    return std::any_of(page_names().begin(), page_names().end(),
                       [&](const PageName& known) { return page == known.name; });
}

/// Why there are no words at a [MASK]: one sentence, as the Decoder page has it; empty where there are some.
std::string no_words(const Scene& scene) {
    std::string missing = scene.session.decoder_missing();
    if (!missing.empty() || !scene.answer) return missing;
    const DecoderAnswer& decoder = scene.answer->decoder;
    if (!decoder.unavailable.empty()) return decoder.unavailable;
    return decoder.masks.empty() ? decoder.no_words : "";
}

/// Every title has to fit beside its picture, and the pictures are of one size.
float widest_title(const Ui& ui) {
    float widest = 0;
    for (const Card& card : kCards) widest = std::max(widest, ui.text_width(card.title, Face::title));
    return widest;
}

/// The rail's buttons have the pages' names themselves.
Touch touch_card(const Ui& ui, const std::string& page, const Rect& card) {
    const Ui::Group group(ui, "cards");
    return ui.touch(page.c_str(), card);
}

}  // namespace

void StartPage::update(const State&) {
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

void StartPage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float gap = ui.px(14), sentences = ui.px(66), models = ui.px(96);
    draw_sentences(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + sentences});
    const float top = inside.y0 + sentences, bottom = inside.y1 - models;
    // On a page that is much higher than wide the pictures grow with two in a row; the last row has words alone.
    const bool tall = inside.height() > 1.3f * inside.width();
    const std::size_t across = tall ? 2 : 3;
    const auto columns = static_cast<float>(across), rows = tall ? 4.0f : 3.0f;
    const float strip = tall ? ui.px(84) : ui.px(50);
    const float wide = std::floor((inside.width() - (columns - 1) * gap) / columns),
                high = std::floor((bottom - top - rows * gap - strip) / rows);
    const auto place = [&](std::size_t n) {
        const float x = inside.x0 + static_cast<float>(n % across) * (wide + gap);
        const float y = top + static_cast<float>(n / across) * (high + gap);
        return Rect{x, y, x + wide, y + (tall && n / across == 4 ? strip : high)};
    };
    for (std::size_t n = 0; n < std::size(kCards); ++n) {
        const Card& card = kCards[n];
        draw_card(scene, place(n), card.page, card.key, card.title, card.about);
    }
    if (tall)
        draw_card(scene, place(std::size(kCards)), kTraining.page, kTraining.key, kTraining.title, kTraining.about);
    else
        draw_strip(scene, {inside.x0, bottom - strip, inside.x1, bottom});
    draw_models(scene, {inside.x0, bottom + ui.px(18), inside.x1, inside.y1});
}

void StartPage::draw_strip(Scene& scene, const Rect& strip) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Touch mouse = touch_card(ui, kTraining.page, strip);
    if (mouse.hovered) ui.fill(strip, theme.chip, 6);
    ui.outline(strip, mouse.hovered ? theme.muted : theme.line, 1, 6);
    const float y = strip.middle_y(), pad = ui.px(12);
    float x = strip.x0 + pad;
    x += ui.text(x, y, kTraining.title, theme.text, Face::title) + ui.px(14);
    ui.text_within(x, y, strip.x1 - 2 * pad - ui.px(14) - x, kTraining.about, theme.muted, Face::label);
    ui.text(strip.x1 - pad, y, std::string(1, kTraining.key), theme.muted, Face::mono_small, Align::right);
    if (mouse.clicked) scene.state.page = kTraining.page;
}

void StartPage::draw_sentences(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    ui.text(area.x0, area.y0 + ui.px(8), "Sentences to try", ui.theme->text, Face::title);
    if (!scene.session.tokenizer()) return draw_no_sentences(ui, area);
    ui.text(area.x1, area.y0 + ui.px(8), "Ctrl L writes your own", ui.theme->muted, Face::mono_small, Align::right);
    const float y = area.y0 + ui.px(36), gap = ui.px(8);
    float needed = 0;
    for (const char* sentence : kSentencePresets) needed += ui.text_width(sentence) + ui.px(20) + gap;
    // All in one row: the longest give way where they do not fit.
    const auto count = static_cast<float>(std::size(kSentencePresets));
    const float most = needed - gap <= area.width() ? area.width() : (area.width() - gap * (count - 1)) / count * 1.12f;
    float x = area.x0;
    const Ui::Group group(ui, "sentences");
    for (const char* sentence : kSentencePresets) {
        const std::string label = ui.cut(sentence, std::max(ui.px(40), std::min(most, area.x1 - x) - ui.px(20)));
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

/// A sentence would only lead to a refusal.
void StartPage::draw_no_sentences(const Ui& ui, const Rect& area) const {
    ui.text(area.x1, area.y0 + ui.px(8), "Ctrl L writes your own ids", ui.theme->muted, Face::mono_small, Align::right);
    ui.text_within(
        area.x0, area.y0 + ui.px(36), area.width(),
        "None for this model: its folder has no tokenizer that Locus reads, so it takes ids of tokens alone.",
        ui.theme->muted);
}

void StartPage::draw_card(Scene& scene, const Rect& card, const std::string& page, char key, const std::string& title,
                          const std::string& about) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const bool there = exists(page);
    const Touch mouse = touch_card(ui, page, card);
    if (mouse.hovered) ui.fill(card, theme.chip, 6);
    ui.outline(card, mouse.hovered ? theme.muted : theme.line, 1, 6);
    const float pad = ui.px(12), words = ui.px(56);
    const bool below = card.height() > 0.85f * card.width();  // the picture below the words, else at their left
    const float beside = std::min(card.width() * 0.46f, card.width() - 3 * pad - ui.px(16) - widest_title(ui));
    const float side = std::floor(below ? std::min(card.height() - 2 * pad - words, card.width() - 2 * pad)
                                        : std::min(card.height() - 2 * pad, beside));
    const float left = below ? card.middle_x() - side / 2 : card.x0 + pad;
    const float top = below ? card.y0 + pad + words : card.middle_y() - side / 2;
    const Rect picture{left, top, left + side, top + side};
    float x = below ? card.x0 + pad : picture.x1 + pad;
    const std::string missing = page == "decoder" ? no_words(scene) : "";
    if (!missing.empty()) {
        x = card.x0 + pad;
    } else if (page == "decoder") {
        draw_words(scene, picture);
    } else if (page == "rope") {
        draw_dials(scene, picture);
    } else if (Heatmap& heatmap = pictures_[page]; show_matrix(scene, page, heatmap)) {
        heatmap.draw_plain(ui, picture);
    } else {
        x = card.x0 + pad;
    }
    const float width = card.x1 - pad - x, y = below ? card.y0 + pad : picture.y0;
    ui.text_within(x, y + ui.px(8), width - ui.px(14), title, theme.text, Face::title);
    ui.text(card.x1 - pad, y + ui.px(8), std::string(1, key), there ? theme.muted : faded(theme.muted, 0.5f),
            Face::mono_small, Align::right);
    ui.paragraph(x, y + ui.px(20), width, missing.empty() ? about : missing, theme.muted, Face::label);
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

void StartPage::draw_models(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    State& state = scene.state;
    ui.text(area.x0, area.y0 + ui.px(8), "Built-in models", theme.text, Face::title);
    ui.text(area.x1, area.y0 + ui.px(8), "trained small, so that pictures show structure", theme.muted,
            Face::mono_small, Align::right);
    const auto& models = built_in_models();
    const float gap = ui.px(14), top = area.y0 + ui.px(24);
    const float wide = std::floor((area.width() - gap * 3) / 4);
    for (std::size_t n = 0; n < models.size(); ++n) {
        const BuiltInModel& model = models[n];
        const float x = area.x0 + static_cast<float>(n) * (wide + gap);
        const Rect box{x, top, x + wide, area.y1};
        const Touch mouse = ui.touch(model.name, box);
        if (mouse.hovered) ui.fill({box.x0 - ui.px(6), box.y0, box.x1 + ui.px(2), box.y1}, theme.chip, 6);
        const float y = top + ui.px(10);
        ui.text(x, y, model.name, mouse.hovered ? theme.accent : theme.text);
        if (previews_ && n < previews_->sizes.size())
            ui.text(box.x1, y, previews_->sizes[n], theme.muted, Face::mono_small, Align::right);
        ui.paragraph(x, y + ui.px(10), wide, model.family, theme.muted, Face::label);
        if (!mouse.clicked) continue;
        state.page = model.page;
        const ModelChoice* choice = choice_of_page(state, model.page);
        if ((choice ? choice->model : state.model) != model.name) state.wanted_model = model.name;
    }
}

void StartPage::draw_formula(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    const float x = bar.x0 + ui.px(16);
    const float end = x + ui.text(x, bar.middle_y(), "Its key or a click opens a page.", ui.theme->text);
    draw_bar_note(scene, bar, "every small picture is computed from this sentence or a built-in one", end);
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
    if (!scene.session.tokenizer()) {
        scene.state.refusal = "The tour reads sentences, and this model's folder has no tokenizer for them.";
        return true;
    }
    const DebertaConfig& config = scene.session.config();
    go_to_step(scene.state, 0, config.num_hidden_layers, config.num_attention_heads);
    return true;
}

std::unique_ptr<Page> make_start_page() { return std::make_unique<StartPage>(); }

// The small pictures, and the column beside them.

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
    if (page == "positions" && answer.buckets) {
        const Index length = answer.length();
        Matrix<float> rows(length, length);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j)
                rows(i, j) = static_cast<float>(answer.buckets->row(i, j) - answer.buckets->row(0, 0));
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

/// The likeliest words of the first two places, each with its bar at its right: none is too long for its bar there.
void StartPage::draw_words(const Scene& scene, const Rect& box) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    if (!scene.answer || scene.answer->decoder.masks.empty()) return;
    const DecoderAnswer& decoder = scene.answer->decoder;
    const std::size_t masks = std::min<std::size_t>(2, decoder.masks.size()), rows = masks == 1 ? 6 : 3;
    const auto shown = [&](std::size_t m) {
        const std::vector<Word>& words = decoder.masks[m].with_decoder;
        return std::vector<Word>(words.begin(),
                                 words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), rows)));
    };
    float widest = 0;
    for (std::size_t m = 0; m < masks; ++m)
        for (const Word& word : shown(m)) widest = std::max(widest, ui.text_width(word.piece, Face::label));
    const float names = std::min(widest, box.width() * 0.6f), bar = box.x0 + names + ui.px(6);
    const float pitch = box.height() / static_cast<float>(masks * rows);
    for (std::size_t m = 0; m < masks; ++m) {
        const std::vector<Word> words = shown(m);
        for (std::size_t n = 0; n < words.size(); ++n) {
            const float y = box.y0 + (static_cast<float>(m * rows + n) + 0.5f) * pitch;
            const auto share = static_cast<float>(std::sqrt(words[n].probability));
            ui.text_within(box.x0, y, names, words[n].piece, theme.text, Face::label);
            ui.fill({bar, y - pitch * 0.36f, bar + std::max(ui.px(2), (box.x1 - bar) * share), y + pitch * 0.36f},
                    faded(m == 0 ? theme.c2p : theme.c2c, n == 0 ? 0.55f : 0.25f), 2);
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
        "The pages one after the other, one sentence each. Enter goes on, Esc ends it; your sentence comes back.");
    if (!scene.session.tokenizer()) {
        column.sentence("Not with this model: the tour reads sentences, and its folder has no tokenizer for them.",
                        false);
        column.rule();
        return;
    }
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
    const auto cut = [&](const std::string& name, float words) {
        return scene.ui.cut(name, column.width() - scene.ui.px(words), Face::mono);
    };
    if (const auto stand_in = stand_in_of(scene.state))
        column.row(std::string("opened, ") + written_name(stand_in->found), cut(stand_in->opened, 160));
    column.row("now", cut(scene.session.name(), 60));
    const Ui::Group group(scene.ui, "recent");
    for (std::size_t n = 0; n < std::min<std::size_t>(models.size(), 5); ++n)
        if (column.link(scene.ui.cut(models[n], column.width() - scene.ui.px(24))))
            scene.state.wanted_model = models[n];
    if (models.empty())
        column.sentence("Your own: ./locus view FOLDER opens a folder of Hugging Face as it is, without Python.");
    column.rule();
}

void StartPage::draw_side(Scene& scene, const Rect& area) {
    const Ui::Scrolled scrolled(scene.ui);
    SideColumn column(scene.ui, area, side_scroll_);
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
    scroll_column(scene.ui, column, area, side_scroll_);
}

}  // namespace locus
