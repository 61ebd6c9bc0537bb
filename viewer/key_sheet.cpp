// Every key with what it does.
#include "viewer/rooms.h"

namespace locus {

namespace {

struct Line {
    const char* keys;
    const char* meaning;
};

constexpr Line kLines[] = {
    {"1 2 3", "pages"},
    {"[  ]", "layer before, after"},
    {",  .", "head before, after"},
    {"\u2190 \u2191 \u2193 \u2192", "move the cell"},
    {"Space", "lock or unlock the cell"},
    {"Tab", "next term in the microscope"},
    {"x", "Positions: clamp or log buckets"},
    {"i  I", "Decoder: strength of I down, up"},
    {"Ctrl L", "write the sentence; Enter or Esc returns"},
    {"d", "next dialect: paper, official, hf"},
    {"t", "dark or light"},
    {"+  \u2212  f", "zoom the matrices in, out, fit"},
    {"Ctrl +  Ctrl \u2212  Ctrl 0", "size of everything"},
    {"Ctrl P", "commands"},
    {"F12", "save a picture of this page"},
    {"Esc", "unlock, close"},
    {"?", "this sheet"},
    {"Ctrl Q", "quit"},
};
constexpr Line kMouse[] = {
    {"click a cell", "lock it"},        {"click a token", "query row; with Shift: key column"},
    {"wheel", "zoom at the pointer"},   {"right button", "move a zoomed matrix"},
    {"double click", "show all of it"},
};

}  // namespace

void draw_key_sheet(Scene& scene, const Rect& screen) {
    const Ui& ui = scene.ui;
    ui.fill(screen, faded(ui.theme->background, 0.8f));
    const float pitch = ui.px(25), pad = ui.px(24), split = ui.px(186);
    const auto rows = static_cast<float>(std::size(kLines) + std::size(kMouse)) + 1.6f;
    const float width = ui.px(520), height = rows * pitch + 2 * pad;
    const Rect box{screen.middle_x() - width / 2, screen.middle_y() - height / 2, screen.middle_x() + width / 2,
                   screen.middle_y() + height / 2};
    ui.fill(box, ui.theme->panel, 6);
    ui.outline(box, ui.theme->line, 1, 6);
    float y = box.y0 + pad + pitch / 4;
    ui.text(box.x0 + pad, y, "Keys", ui.theme->text, Face::title);
    const auto lines = [&](const Line* first, std::size_t count, Face face) {
        for (std::size_t n = 0; n < count; ++n) {
            y += pitch;
            ui.text(box.x0 + pad, y, first[n].keys, ui.theme->text, face);
            ui.text(box.x0 + pad + split, y, first[n].meaning, ui.theme->muted);
        }
    };
    lines(kLines, std::size(kLines), Face::mono);
    y += pitch * 0.6f;
    ui.hairline_across(box.x0 + pad, box.x1 - pad, y + pitch / 2 - ui.px(4));
    lines(kMouse, std::size(kMouse), Face::ui);
}

}  // namespace locus
