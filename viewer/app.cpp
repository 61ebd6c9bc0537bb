#include "viewer/app.h"

#include <algorithm>

#include "viewer/picture_file.h"

namespace locus {

namespace {

/// The wished scale, or the largest at which nothing on a page runs into its neighbour; in steps, because every new
/// scale builds the fonts anew.
float fitting_scale(ImVec2 window, float wished) {
    constexpr float kNarrowest = 1200, kLowest = 770;  // design pixels
    const float largest = std::min(window.x / kNarrowest, window.y / kLowest);
    return largest >= wished ? wished : std::max(0.5f, std::floor(largest * 20) / 20);
}

}  // namespace

App::App(Window& window, const Session& session, State state)
    : window_(window),
      state_(std::move(state)),
      pages_(make_pages()),
      session_(session),
      worker_([&session](const Request& request) { return session.answer(request); }, Window::wake) {}

Request App::wanted() const {
    Request request{state_.text, state_.tokens, state_.mask, state_.dialect, state_.layer};
    if (state_.page == "decoder") {
        request.decoder = true;
        request.strength = state_.strength;
        request.layer = 0;  // its pictures do not depend on the layer, so turning it costs nothing here
    }
    if (state_.page == "compare") {
        request.compare = state_.compare.request();
        request.layer = 0;  // these are the sides' own
        request.dialect = Dialect::official;
    }
    return request;
}

void App::exchange_answers() {
    const Request request = wanted();
    if (asked_ != request) {
        asked_ = request;
        worker_.submit(request);
    }
    const std::shared_ptr<const Answer> answer = worker_.take();
    if (!answer) return;
    error_ = answer->error;
    fault_ = answer->fault;
    if (!error_.empty()) return;
    answer_ = answer;
    const Index last = answer_->length() - 1;
    state_.cell = {std::min(state_.cell.i, last), std::min(state_.cell.j, last)};
}

bool App::settled() const {
    for (const auto& each : pages_)
        if (state_.page == each->name() && each->busy()) return false;
    return asked_ == wanted() && !worker_.busy() && (!error_.empty() || (answer_ && answer_->request == *asked_));
}

bool App::flashes() const { return ImGui::GetTime() < state_.flash_until; }

Page& App::page() {
    for (const auto& page : pages_)
        if (state_.page == page->name()) return *page;
    return *pages_.front();
}

Scene App::scene_for(Ui& ui, const Page& shown) {
    // The decoder's numbers and both sides of a comparison come with their own kinds of request: another page's answer
    // has none of them.
    const std::string name = shown.name();
    const bool fits = answer_ && answer_->request.decoder == (name == "decoder") &&
                      answer_->request.compare.has_value() == (name == "compare");
    return {ui, state_, session_, fits ? answer_.get() : nullptr, worker_.busy()};
}

void App::take_keys(Ui& ui) {
    for (const KeyPress& press : window_.take_keys()) {
        if (state_.palette) palette_.press(press);
        Page& shown = page();
        Scene scene = scene_for(ui, shown);
        if (!press_common_key(scene, press, close_, save_) && !state_.editing && shown.trouble().empty())
            shown.press(scene, press);
    }
}

bool App::draw_frame() {
    exchange_answers();
    const float scale = fitting_scale(window_.size(), window_.content_scale() * state_.zoom);
    for (int attempt = 0; attempt < 3; ++attempt) {
        if (fonts_.update(scale)) window_.reload_fonts();
        if (styled_scale_ != scale || styled_theme_ != state_.theme || attempt == 0)
            apply_theme(theme_of(state_.theme), scale);
        styled_scale_ = scale;
        styled_theme_ = state_.theme;
        window_.begin_frame();
        Ui ui(fonts_, theme_of(state_.theme), scale);
        if (attempt == 0) take_keys(ui);
        // A click may turn the page in the middle of a frame: this frame is still drawn with the page it began with.
        Page& shown = page();
        Scene scene = scene_for(ui, shown);
        draw_rooms(scene, shown);
        if (!fonts_.stale() || attempt == 2) break;
        window_.discard_frame();  // a character was missing: once more, with it
    }
    window_.present(theme_of(state_.theme).background, panels_);
    if (save_) {
        save_ = false;
        try {
            save_picture("locus-" + state_.page + ".png");
            state_.notice = "saved as locus-" + state_.page + ".png in the current folder";
        } catch (const Error& error) {
            state_.notice = error.what();
        }
    }
    return !settled() || fonts_.stale() || flashes();
}

void App::draw_rooms(Scene& scene, Page& shown) {
    const Ui& ui = scene.ui;
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::Begin("Locus", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoBringToFrontOnFocus |
                     ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
    ImGui::PopStyleVar();
    const Rect screen{0, 0, size.x, size.y};
    const Rect top{0, 0, size.x, ui.px(44)};
    const Rect rail{0, top.y1, ui.px(148), size.y};
    const Rect sentence{rail.x1, top.y1, size.x, top.y1 + ui.px(52)};
    const Rect formula{rail.x1, size.y - ui.px(48), size.x, size.y};
    const Rect side{size.x - ui.px(296), sentence.y1, size.x, formula.y0};
    const Rect room{rail.x1, sentence.y1, side.x0, formula.y0};
    panels_.clear();
    for (const Rect& panel : {top, rail, side}) panels_.push_back({panel.min(), panel.max(), ui.theme->panel});

    page_error_ = shown.trouble();
    const bool opens = page_error_.empty();
    draw_top_bar(scene, opens ? shown.card(scene) : ModelCard{}, opens && shown.has_dialects(), top);
    draw_rail(scene, rail, pages_);
    const float free = opens ? shown.draw_bar(scene, sentence) : sentence.x1;
    if (opens && shown.shows_tokens()) sentence_bar_.draw(scene, sentence, free);
    const bool readable = opens && (scene.answer || !shown.needs_answer());
    if (readable) {
        shown.draw(scene, room);
        ui.draw().push_clip(side.min(), side.max());
        shown.draw_side(scene, side);
        ui.draw().pop_clip();
        shown.draw_formula(scene, formula);
    }
    if (!opens || (shown.needs_answer() && !error_.empty()))
        draw_message(ui, {room.x0, room.y0, size.x, size.y}, opens ? error_ : page_error_);
    ui.hairline_across(0, size.x, top.y1 - ui.px(1));
    ui.hairline_down(rail.x1 - ui.px(1), top.y1, size.y);
    ui.hairline_across(rail.x1, size.x, sentence.y1 - ui.px(1));
    ui.hairline_across(rail.x1, size.x, formula.y0);
    ui.hairline_down(side.x0, sentence.y1, formula.y0);
    ImGui::End();
    draw_overlays(scene, screen);
}

void App::draw_overlays(Scene& scene, const Rect& screen) {
    if (!state_.palette) palette_.close(state_);
    if (!state_.palette && !state_.key_sheet) return;
    // A window of its own, above: the rooms below no longer feel the mouse.
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({screen.width(), screen.height()});
    ImGui::SetNextWindowFocus();
    ImGui::Begin("Above", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
    if (state_.palette) palette_.draw(scene, screen);
    if (state_.key_sheet) {
        draw_key_sheet(scene, screen);
        if (scene.ui.touch("close", screen).clicked) state_.key_sheet = false;
    }
    ImGui::End();
}

void App::draw_message(const Ui& ui, const Rect& rooms, const std::string& sentence) const {
    // What was there before stays, but pale: it does not belong to the sentence above it.
    ui.fill(rooms, faded(ui.theme->background, 0.88f));
    const float x = rooms.x0 + ui.px(16), width = std::min(rooms.width() - ui.px(32), ui.px(640));
    ui.fill({x, rooms.y0 + ui.px(18), x + ui.px(2), rooms.y0 + ui.px(58)}, ui.theme->fault);
    ui.text(x + ui.px(14), rooms.y0 + ui.px(26), "This cannot be drawn", ui.theme->fault, Face::title);
    ui.paragraph(x + ui.px(14), rooms.y0 + ui.px(38), width, sentence, ui.theme->text);
}

void App::save_picture(const std::string& file) const { write_picture(file, window_.read_pixels()); }

}  // namespace locus
