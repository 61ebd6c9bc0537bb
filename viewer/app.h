#pragma once
// The frame around all pages.
#include <memory>
#include <string>
#include <vector>

#include "viewer/session.h"
#include "viewer/state.h"
#include "viewer/window.h"

namespace locus::view {

/// A page of the rail.
struct PageInfo {
    Page page;
    const char* name;   // of --page
    const char* title;  // in the rail
    char key;           // its number key
};
const std::vector<PageInfo>& pages();
/// Throws Error(usage) that lists the pages.
Page parse_page(const std::string& name);

/// What a page is given to draw itself.
struct PageContext {
    State& state;
    const Snapshot* snapshot;  // nullptr before the first run
    HeatmapTextures& textures;
    const Palette& colours;
    ImVec2 corner, extent;            // the room in the middle
    ImVec2 side_corner, side_extent;  // the microscope
    ImVec2 bar_corner, bar_extent;    // the formula bar
};

/// Draws the whole window and handles keys.
class App {
public:
    App(Window& window, State& state);
    /// One frame.  Returns true if the next frame should follow at once (something moves or is awaited).
    bool frame(Picture* copy = nullptr);
    /// True when the shown snapshot answers what the state asks for and no font is missing.
    bool settled() const;
    const Snapshot* snapshot() const { return shown_.get(); }
    Session& session() { return session_; }

private:
    Request wanted() const;
    void follow_session();
    void keep_fonts();
    void handle_keys();
    void clamp_selection();
    void top_bar(ImVec2 corner, ImVec2 extent);
    void rail(ImVec2 corner, ImVec2 extent);
    void sentence_bar(ImVec2 corner, ImVec2 extent);
    float steppers(ImVec2 corner, ImVec2 extent);
    void token_chips(ImVec2 corner, ImVec2 extent);
    void text_box(ImVec2 corner, ImVec2 extent);
    void page(ImVec2 corner, ImVec2 size);
    void key_sheet(ImVec2 size);
    void open_text_box();
    void take_drops();

    Window& window_;
    State& state_;
    Session session_;
    Request asked_;
    bool asked_once_ = false;
    std::shared_ptr<const Snapshot> shown_;
    HeatmapTextures textures_;
    std::string edited_;
    bool focus_text_ = false;
    float font_scale_ = 0;
    bool theme_applied_ = false, theme_dark_ = true;
    float chip_scroll_ = 0;
    std::string notice_;
};

/// How long to sleep before the next frame: not at all while something moves, a few frames more so that hover states
/// settle, then until there is input.
class Pacer {
public:
    double wait_seconds() const { return soon_ || still_ < 3 ? 0.016 : 60; }
    void drawn(bool soon) {
        still_ = soon || still_ >= 3 ? 0 : still_ + 1;
        soon_ = soon;
    }

private:
    bool soon_ = true;
    int still_ = 0;
};

/// Pages, one file each.
void draw_positions_page(PageContext& context);
void draw_attention_page(PageContext& context);
void draw_decoder_page(PageContext& context);
/// Right column of the Attention page: why is this cell what it is?
void draw_microscope(PageContext& context);

}  // namespace locus::view
