// Every key with what it does.
#include <algorithm>

#include "viewer/ui/overlay.h"
#include "viewer/ui/panels_layout.h"

namespace locus {

namespace {

const std::vector<SheetLine>& mouse_lines() {
    static const std::vector<SheetLine> lines = {
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
    const float room = screen.height() - ui.px(90);
    return std::min(ui.px(25), std::floor(room / static_cast<float>(lines)));
}

}  // namespace

void draw_key_sheet(Scene& scene, const Page& page, const Rect& screen) {
    const Ui& ui = scene.ui;
    const std::vector<SheetLine> everywhere = sheet_lines(""), here = sheet_lines(page.name());
    const std::size_t right = mouse_lines().size() + here.size() + 3;
    const std::size_t rows = std::max(everywhere.size() + 1, right);
    const float pitch = pitch_for(ui, screen, rows), pad = ui.px(24);
    const float column = std::min(ui.px(545), (screen.width() - ui.px(32)) / 2);
    const float width = 2 * column, height = static_cast<float>(rows) * pitch + 2 * pad;
    const Rect box{screen.middle_x() - width / 2, screen.middle_y() - height / 2, screen.middle_x() + width / 2,
                   screen.middle_y() + height / 2};
    const Sheet sheet(ui, screen, box);
    float x = box.x0 + pad, y = box.y0 + pad + pitch / 2;
    const auto heading = [&](const std::string& title) {
        ui.text(x, y, title, ui.theme->text, Face::title);
        y += pitch;
    };
    const auto lines = [&](const std::vector<SheetLine>& all, Face face) {
        const float split = ui.px(226);
        for (const SheetLine& line : all) {
            ui.text_within(x, y, split - ui.px(8), line.keys, ui.theme->text, face);
            ui.text_within(x + split, y, column - pad - split, line.meaning, ui.theme->muted);
            y += pitch;
        }
    };
    heading("Keys");
    lines(everywhere, Face::mono);
    x += column;
    y = box.y0 + pad + pitch / 2;
    heading(std::string("On this page: ") + page.name());
    lines(here, Face::mono);
    y += pitch;
    heading("Mouse");
    lines(mouse_lines(), Face::ui);
}

}  // namespace locus
