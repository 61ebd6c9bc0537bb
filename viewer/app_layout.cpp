// The picture of one frame: the bars, the page in the middle of them, and what is above.
#include <imgui_internal.h>  // windows that an error left open
#include <algorithm>

#include "viewer/app.h"

namespace locus {

namespace {

/// The window that is being drawn, as it is now: an error may leave windows, styles and clips open above it.
class ImGuiStackGuard {
public:
    ImGuiStackGuard() : window_(ImGui::GetCurrentWindow()), clips_(window_->DrawList->_ClipRectStack.Size) {}
    void restore() const {
        while (ImGui::GetCurrentWindow() != window_) {
            unwind();
            ImGui::End();
        }
        unwind();
        while (window_->DrawList->_ClipRectStack.Size > clips_) window_->DrawList->PopClipRect();
    }

private:
    /// What the current window pushed and did not pop; ImGui's own recovery knows everything but fonts.
    static void unwind() {
        const ImGuiContext& context = *ImGui::GetCurrentContext();
        const int fonts = context.CurrentWindowStack.back().StackSizesOnBegin.SizeOfFontStack;
        while (context.FontStack.Size > fonts) ImGui::PopFont();
        ImGui::ErrorCheckEndWindowRecover(nullptr);
    }

    ImGuiWindow* window_;
    int clips_;
};

}  // namespace

void App::draw_bars(Scene& scene, Page& shown, const Places& at, bool opens, bool edits) {
    draw_top_bar(scene, opens ? shown.card(scene) : ModelCard{}, opens && shown.has_dialects(), at.top);
    draw_rail(scene, at.rail, pages_);
    // The box that edits a sentence takes the place of a page's own controls.
    const float free = opens && !edits ? shown.draw_bar(scene, at.sentence) : at.sentence.x1;
    if (edits || (opens && shown.shows_tokens()))
        sentence_bar_.draw(scene, at.sentence, free);
    else
        sentence_bar_.skip();
}

bool App::draw_page(Scene& scene, Page& shown, const Places& at) {
    const Ui& ui = scene.ui;
    const bool opens = shown.ready();
    const bool edits = opens && !shown.shows_tokens() && !shown.edits_itself() && state_.editing;
    if (state_.embedded)
        sentence_bar_.skip();
    else
        draw_bars(scene, shown, at, opens, edits);
    const bool readable = opens && (scene.answer || !shown.needs_answer());
    if (readable) {
        shown.draw(scene, at.area);
        ui.draw().push_clip(at.side.min(), at.side.max());
        shown.draw_side(scene, at.side);
        ui.draw().pop_clip();
        if (state_.tour.step < 0) shown.draw_formula(scene, at.formula);
    }
    return readable;
}

void App::draw_parts(Scene& scene, Page& shown) {
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
    const float shown_bars = state_.embedded ? 0.0f : 1.0f;
    const Rect top{0, 0, size.x, ui.px(44) * shown_bars};
    const Rect rail{0, top.y1, ui.px(148) * shown_bars, size.y};
    const Rect sentence{rail.x1, top.y1, size.x, top.y1 + ui.px(52) * shown_bars};
    const Rect formula{rail.x1, size.y - ui.px(48), size.x, size.y};
    const Rect side{size.x - ui.px(296), sentence.y1, size.x, formula.y0};
    const Rect area{rail.x1, sentence.y1, side.x0, formula.y0};
    page_area_ = area;
    panels_.clear();
    for (const Rect& panel : {top, rail, side}) panels_.push_back({panel.min(), panel.max(), ui.theme->panel});

    page_error_ = shown.error();
    page_fault_ = shown.fault();
    bool readable = false;
    const ImGuiStackGuard before;
    try {
        readable = draw_page(scene, shown, {top, rail, sentence, formula, side, area});
    } catch (const Error& error) {
        // A page should have said so itself; what was on screen, and that the user can return to it, is worth more than
        // the reason.
        before.restore();
        page_error_ = escaped_ = error.what();
        page_fault_ = error.fault();
    } catch (const std::bad_alloc&) {
        before.restore();
        page_error_ = escaped_ =
            "this page needs more memory than there is, expected a shorter text or a smaller model";
        page_fault_ = Fault::memory;
    }
    if (state_.tour.step >= 0) draw_tour_strip(scene, formula);
    if (!page_error_.empty() || (shown.needs_answer() && !error_.empty()))
        draw_message(ui, {area.x0, area.y0, size.x, size.y}, "This cannot be drawn",
                     page_error_.empty() ? error_ : page_error_);
    else if (!readable && stopped_)
        draw_message(ui, {area.x0, area.y0, size.x, size.y}, "Stopped",
                     "There is no picture yet: any change computes again.");
    ui.hairline_across(0, size.x, top.y1 - ui.px(1));
    ui.hairline_down(rail.x1 - ui.px(1), top.y1, size.y);
    ui.hairline_across(rail.x1, size.x, sentence.y1 - ui.px(1));
    ui.hairline_across(rail.x1, size.x, formula.y0);
    ui.hairline_down(side.x0, sentence.y1, formula.y0);
    ImGui::End();
    draw_toasts(scene, {area.x0, area.y0, area.x1, area.y1}, toasts_, progress(), now());
    draw_overlays(scene, screen);
}

void App::draw_overlays(Scene& scene, const Rect& screen) {
    if (!state_.palette) palette_.close(state_);
    if (!state_.exports.open) export_overlay_.close();
    if (!state_.palette && !state_.key_overlay && !state_.exports.open) return;
    // A window of its own, above: the page below no longer reacts to the mouse.
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({screen.width(), screen.height()});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});  // the dimming reaches the edges
    ImGui::Begin("Above", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
    ImGui::PopStyleVar();
    std::optional<Command> chosen;
    if (state_.palette) chosen = palette_.draw(scene, screen);
    if (state_.exports.open) export_overlay_.draw(scene, page(), screen);
    if (state_.key_overlay) {
        draw_key_overlay(scene, page(), screen);
        if (scene.ui.touch("close", screen).clicked) state_.key_overlay = false;
    }
    ImGui::End();
    if (chosen) perform(*chosen);
}

void App::draw_message(const Ui& ui, const Rect& area, const std::string& title, const std::string& sentence) const {
    // What was there before stays, but pale: it does not belong to the sentence above it, which has a ground of its
    // own.
    ui.fill(area, faded(ui.theme->background, 0.88f));
    const float x = area.x0 + ui.px(16), width = std::min(area.width() - ui.px(32), ui.px(640));
    const auto lines = static_cast<float>(ui.wrapped(sentence, width).size());
    ui.fill({area.x0, area.y0, area.x1, area.y0 + ui.px(50) + lines * ui.px(20)}, ui.theme->background);
    if (ui.log) ui.log->above = true;
    ui.fill({x, area.y0 + ui.px(18), x + ui.px(2), area.y0 + ui.px(58)}, ui.theme->fault);
    ui.text(x + ui.px(14), area.y0 + ui.px(26), title, ui.theme->fault, Face::title);
    ui.paragraph(x + ui.px(14), area.y0 + ui.px(38), width, sentence, ui.theme->text);
    if (ui.log) ui.log->above = false;
}

}  // namespace locus
