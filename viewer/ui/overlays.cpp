// What is above the page for a moment: the box of an overlay, the palette, the list of keys, toasts and progress.
#include "viewer/ui/overlays.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include
#include <algorithm>
#include <cmath>

namespace locus {

Overlay::Overlay(const Ui& ui, const Rect& screen, const Rect& box) : canvas_(ui.draw()), log_(ui.log) {
    ui.fill(screen, faded(ui.theme->background, 0.7f));
    ui.fill(box, ui.theme->panel, 6);
    ui.outline(box, ui.theme->muted, 1, 6);
    canvas_.push_clip(box.min(), box.max());
    if (log_) log_->above = true;
}

Overlay::~Overlay() {
    if (log_) log_->above = false;
    canvas_.pop_clip();
}

// Commands by name: type a few letters, Enter does the chosen one.

namespace {

constexpr std::size_t kShown = 12;
constexpr const char* kHint = "action, page, token, layer 3 head 2, go 3,5 \u2026";

CommandScope scope_of(const Scene& scene) {
    const DebertaConfig& config = scene.session.config();
    CommandScope scope{config.num_hidden_layers, config.num_attention_heads, {}, {}};
    scope.reads_text = scene.session.tokenizer() != nullptr;
    if (!scene.answer) return scope;
    scope.labels = scene.answer->labels;
    scope.stages = scene.answer->compare.stages;
    return scope;
}

}  // namespace

std::optional<Command> Palette::draw(Scene& scene, const Rect& screen) {
    const Ui& ui = scene.ui;
    std::vector<Command> found = find_commands(scene.state, scope_of(scene), typed_);
    const std::size_t all = found.size();
    if (found.size() > kShown) found.resize(kShown);

    const float width = std::min(ui.px(560), screen.width() - ui.px(32)), pitch = ui.px(28), pad = ui.px(12);
    const float top = screen.y0 + std::min(ui.px(110), screen.height() / 8);
    const float height = ui.px(52) + pitch * static_cast<float>(std::max<std::size_t>(1, found.size())) +
                         (all > kShown ? pitch : 0) + pad;
    const Rect box{screen.middle_x() - width / 2, top, screen.middle_x() + width / 2, top + height};
    const Overlay sheet(ui, screen, box);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::SetCursorScreenPos({box.x0 + pad, box.y0 + pad});
    ImGui::SetNextItemWidth(width - 2 * pad);
    if (!open_) ImGui::SetKeyboardFocusHere();
    ui.fonts->require(typed_);
    ui.fonts->require(kHint);
    const std::string before = typed_;
    const bool entered = ImGui::InputTextWithHint("##command", kHint, &typed_, ImGuiInputTextFlags_EnterReturnsTrue);
    if (typed_ != before) chosen_ = 0;
    ImGui::PopFont();
    chosen_ = std::min(chosen_, found.empty() ? 0 : found.size() - 1);

    float y = box.y0 + ui.px(52) + pitch / 2;
    if (found.empty()) ui.text(box.x0 + ui.px(22), y, "no command of that name", ui.theme->muted);
    std::optional<std::size_t> run;
    const Ui::Group group(ui, "palette");
    for (std::size_t n = 0; n < found.size(); ++n, y += pitch) {
        const Rect line{box.x0 + pad, y - pitch / 2, box.x1 - pad, y + pitch / 2};
        if (n == chosen_) ui.fill(line, ui.theme->chip, 5);
        if (ui.touch(found[n].title.c_str(), line).clicked) run = n;
        const float key =
            ui.text(line.x1 - ui.px(10), y, found[n].key, ui.theme->muted, Face::mono_small, Align::right);
        ui.text_within(line.x0 + ui.px(10), y, line.width() - ui.px(36) - key, found[n].title, ui.theme->text);
    }
    if (all > kShown)
        ui.text(box.x0 + ui.px(22), y, std::to_string(all - kShown) + " more: go on typing", ui.theme->muted,
                Face::label);
    // Enter also comes as a key: one that is pressed and let go within a frame is lost to the box.
    if ((entered || entered_) && !found.empty()) run = chosen_;
    entered_ = false;
    open_ = !entered;  // the box lets go of the keyboard on Enter: it takes it back while the list is open
    if (!run) return std::nullopt;
    close(scene.state);
    return found[*run];
}

void Palette::press(const KeyPress& press) {
    if (press.key == Key::enter) entered_ = true;
    if (press.key == Key::down) ++chosen_;
    if (press.key == Key::up && chosen_ > 0) --chosen_;
}

void Palette::close(State& state) {
    state.palette = false;
    open_ = entered_ = false;
    typed_.clear();
    chosen_ = 0;
}

// Every key with what it does.

namespace {

const std::vector<KeyLine>& mouse_lines() {
    static const std::vector<KeyLine> lines = {
        {"click a cell", "lock it"},
        {"click a token", "query row; with Shift: key column"},
        {"wheel", "zoom at the pointer"},
        {"right button", "move a zoomed matrix"},
        {"double click", "show all of it; a token: [MASK] and back"},
        {"drag, Ctrl click", "a rectangle; a row or column by its label"},
        {"drop a file", "a model, text, dump or report"},
    };
    return lines;
}

/// Pitch at which all lines of both columns fit.
float pitch_for(const Ui& ui, const Rect& screen, std::size_t lines) {
    const float area = screen.height() - ui.px(90);
    return std::min(ui.px(25), std::floor(area / static_cast<float>(lines)));
}

}  // namespace

void draw_key_overlay(Scene& scene, const Page& page, const Rect& screen) {
    const Ui& ui = scene.ui;
    const std::vector<KeyLine> everywhere = key_lines(""), here = key_lines(page.name());
    const std::size_t right = mouse_lines().size() + here.size() + 3;
    const std::size_t rows = std::max(everywhere.size() + 1, right);
    const float pitch = pitch_for(ui, screen, rows), pad = ui.px(24);
    const float column = std::min(ui.px(545), (screen.width() - ui.px(32)) / 2);
    const float width = 2 * column, height = static_cast<float>(rows) * pitch + 2 * pad;
    const Rect box{screen.middle_x() - width / 2, screen.middle_y() - height / 2, screen.middle_x() + width / 2,
                   screen.middle_y() + height / 2};
    const Overlay sheet(ui, screen, box);
    float x = box.x0 + pad, y = box.y0 + pad + pitch / 2;
    const auto heading = [&](const std::string& title) {
        ui.text(x, y, title, ui.theme->text, Face::title);
        y += pitch;
    };
    const auto lines = [&](const std::vector<KeyLine>& all, Face face) {
        const float split = ui.px(226);
        for (const KeyLine& line : all) {
            ui.text_within(x, y, split - ui.px(8), line.keys, ui.theme->text, face);
            ui.text_within(x + split, y, column - pad - split, line.meaning, ui.theme->muted);
            y += pitch;
        }
    };
    heading("Keys");
    lines(everywhere, Face::mono);
    x += column;
    y = box.y0 + pad + pitch / 2;
    heading(std::string("On this page: ") + page.title());
    lines(here, Face::mono);
    y += pitch;
    heading("Mouse");
    lines(mouse_lines(), Face::ui);
}

// Toasts and the line of work that takes long, above the page at the bottom.

namespace {

constexpr float kWidth = 440, kToastPad = 12;  // design pixels

struct ToastCard {
    std::vector<std::string> lines;
    float height = 0;
};

ToastCard lay_out(const Ui& ui, const std::string& sentence, float width) {
    ToastCard card{ui.wrapped(sentence, width), 0};
    card.height = static_cast<float>(card.lines.size()) * ui.px(19) + 2 * ui.px(9);
    return card;
}

void draw_card(const Ui& ui, const Rect& box, const ToastCard& card, ImU32 mark, float opacity) {
    ui.fill(box, faded(ui.theme->panel, opacity), 6);
    ui.outline(box, faded(ui.theme->muted, opacity), 1, 6);
    ui.fill({box.x0 + ui.px(6), box.y0 + ui.px(8), box.x0 + ui.px(8), box.y1 - ui.px(8)}, faded(mark, opacity));
    float y = box.y0 + ui.px(9) + ui.px(19) / 2;
    for (const std::string& line : card.lines) {
        ui.text(box.x0 + ui.px(kToastPad) + ui.px(6), y, line, faded(ui.theme->text, opacity));
        y += ui.px(19);
    }
}

/// A short piece that runs along a line: work of unknown length.  It does not move where motion is reduced.
void draw_runner(const Ui& ui, const Rect& line, double seconds, bool still) {
    ui.fill(line, ui.theme->line);
    const float piece = line.width() / 4;
    const auto share = static_cast<float>(still ? 0.5 : std::fmod(seconds / 1.6, 1.0));
    const float x = line.x0 + share * (line.width() - piece);
    ui.fill({x, line.y0, x + piece, line.y1}, ui.theme->accent);
}

}  // namespace

void draw_toasts(Scene& scene, const Rect& area, Toasts& toasts, const Progress& progress, double now) {
    if (toasts.shown().empty() && progress.what.empty()) return;
    const Ui& ui = scene.ui;
    const float width = std::min(ui.px(kWidth), area.width() - ui.px(32));
    const float inner = width - 2 * ui.px(kToastPad) - ui.px(6), gap = ui.px(8);
    std::vector<ToastCard> cards;
    float height = 0;
    for (const Toast& toast : toasts.shown()) {
        cards.push_back(lay_out(ui, toast.sentence, inner));
        height += cards.back().height + gap;
    }
    const float working = progress.what.empty() ? 0 : ui.px(46);
    height += working;
    const float x = std::floor(area.middle_x() - width / 2), bottom = area.y1 - ui.px(12);
    // A window of its own, as large as what is shown: beside it the page still reacts to the mouse.
    ImGui::SetNextWindowPos({x, bottom - height});
    ImGui::SetNextWindowSize({width, height});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
    ImGui::Begin("Toasts", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoFocusOnAppearing);
    ImGui::PopStyleVar(2);
    float y = bottom - height;
    std::optional<std::size_t> closed;
    for (std::size_t n = 0; n < cards.size(); ++n) {
        const Toast& toast = toasts.shown()[n];
        const Rect box{x, y, x + width, y + cards[n].height};
        const auto opacity = static_cast<float>(Toasts::opacity(toast, now, scene.state.reduce_motion));
        draw_card(ui, box, cards[n], toast.refusal ? ui.theme->fault : ui.theme->accent, opacity);
        if (ui.touch(("toast " + std::to_string(n)).c_str(), box).clicked) closed = n;
        y = box.y1 + gap;
    }
    if (working > 0) {
        const Rect box{x, y, x + width, y + working};
        ui.fill(box, ui.theme->panel, 6);
        ui.outline(box, ui.theme->muted, 1, 6);
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.1f s", progress.seconds);
        const float text = box.y0 + ui.px(17);
        float right = box.x1 - ui.px(kToastPad);
        right -= ui.text(right, text, "Esc stops", ui.theme->muted, Face::ui, Align::right) + ui.px(14);
        right -= ui.text(right, text, seconds, ui.theme->text, Face::mono, Align::right) + ui.px(14);
        ui.text_within(box.x0 + ui.px(kToastPad), text, right - box.x0 - ui.px(kToastPad), progress.what,
                       ui.theme->text);
        draw_runner(ui, {box.x0 + ui.px(kToastPad), box.y1 - ui.px(13), box.x1 - ui.px(kToastPad), box.y1 - ui.px(11)},
                    progress.seconds, scene.state.reduce_motion);
    }
    ImGui::End();
    if (closed) toasts.dismiss(*closed);
}

}  // namespace locus
