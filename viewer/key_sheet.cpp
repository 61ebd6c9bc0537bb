// Every key with what it does.
#include <algorithm>

#include "viewer/rooms.h"

namespace locus {

namespace {

struct Line {
    const char* keys;
    const char* meaning;
};

constexpr Line kEverywhere[] = {
    {"0 \u2026 9", "pages"},
    {"[  ]", "layer before, after"},
    {",  .", "head before, after"},
    {"\u2190 \u2191 \u2193 \u2192", "move the cell"},
    {"Space", "lock or unlock the cell"},
    {"+  \u2212  f", "zoom the matrices in, out, fit"},
    {"Ctrl L", "write the sentence; Enter or Esc returns"},
    {"d", "next dialect: paper, official, hf"},
    {"t", "dark or light"},
    {"Ctrl +  Ctrl \u2212  Ctrl 0", "size of everything"},
    {"Ctrl P", "commands"},
    {"Ctrl E", "export a figure or its numbers"},
    {"Ctrl Shift C", "copy the command of this screen"},
    {"F12", "save a picture of this page"},
    {"Esc", "unlock, close"},
    {"?", "this sheet"},
    {"Ctrl Q", "quit"},
};
constexpr Line kMouse[] = {
    {"click a cell", "lock it"},        {"click a token", "query row; with Shift: key column"},
    {"wheel", "zoom at the pointer"},   {"right button", "move a zoomed matrix"},
    {"double click", "show all of it; a token: [MASK] and back"},
};
// A line without a meaning is the name of a page.
constexpr Line kPages[] = {
    {"Start", ""},
    {"Enter", "start the tour; next step, with Shift: back"},
    {"Positions", ""},
    {"x", "clamp or log buckets"},
    {"Attention", ""},
    {"Tab", "next term in the microscope"},
    {"v  Enter", "head, all heads, stage; back to the head"},
    {"q  w  e  r", "drop c2c, c2p, p2c; let the scale follow"},
    {"x  s", "rows and columns; strength or share"},
    {"drag", "select a rectangle"},
    {"Ctrl click", "select a row or column by its label"},
    {"p  c", "table of channels; copy as text"},
    {"m  n  N", "mask the query; stage after, before"},
    {"Decoder", ""},
    {"i  I", "strength of I down, up"},
    {"e  c", "words, cell of a pass; copy the cell"},
    {"p  n  N  v", "film: play, on, back, speed"},
    {"RoPE", ""},
    {"\u2190 \u2192  \u2191 \u2193", "position of the query, of the key"},
    {"w  c", "walk, scores, probabilities, linear; copy"},
    {"s  S", "shift both forth, back"},
    {"p  v", "film of the shift: play, speed"},
    {"x", "interleaved or half-split"},
    {"b  y", "next base, next scaling"},
    {"drag a dial", "turn its hand: moves the position"},
    {"Transformer-XL", ""},
    {"m  M", "memory shorter, longer"},
    {"s  S", "segment after, before"},
    {"p  n  N  v", "film: play, frame after, before, speed"},
    {"x  e", "other shift; how far back"},
    {"w  Tab  c", "column, next term; copy the cell"},
    {"Permutation", ""},
    {"\u2190 \u2192", "choose a card; with Shift: move it"},
    {"Enter", "predict the card, or give it"},
    {"\u2191 \u2193", "row that is explained"},
    {"o  r  x", "next order; reversed; next sentence"},
    {"w  Tab  c  g", "as above; segment term"},
    {"Text", ""},
    {"x  w", "counts or tf\u00b7idf; stop words or not"},
    {"\u2190 \u2192 \u2191 \u2193", "other documents are compared"},
    {",  .  [  ]", "word before, after; fewer, more topics"},
    {"Compare", ""},
    {"n", "next worst cell"},
    {"s  S", "stage after, before"},
    {"c  C", "case of the report after, before"},
    {"d  z", "dialect of B; the bug zoo"},
    {"Conformance", ""},
    {"n  N", "next case that fails, the one before"},
    {"c  C", "case after, before"},
    {"s  S", "stage after, before"},
    {"m  M", "mistake after, before"},
    {"o  r", "only what fails; check again"},
    {"Enter", "its numbers in Compare"},
};

}  // namespace

void draw_key_sheet(Scene& scene, const Rect& screen) {
    const Ui& ui = scene.ui;
    ui.fill(screen, faded(ui.theme->background, 0.8f));
    const float pitch = ui.px(25), pad = ui.px(24), column = ui.px(440);
    const auto rows = std::max(static_cast<float>(std::size(kEverywhere) + std::size(kMouse)) + 1.8f,
                               static_cast<float>(std::size(kPages)));
    const float width = 2 * column, height = rows * pitch + 2 * pad;
    const Rect box{screen.middle_x() - width / 2, screen.middle_y() - height / 2, screen.middle_x() + width / 2,
                   screen.middle_y() + height / 2};
    ui.fill(box, ui.theme->panel, 6);
    ui.outline(box, ui.theme->line, 1, 6);
    const float top = box.y0 + pad + pitch / 4;
    float x = box.x0 + pad, y = top;
    ui.text(x, y, "Keys", ui.theme->text, Face::title);
    const auto lines = [&](const Line* first, std::size_t count, Face face, float split) {
        for (std::size_t n = 0; n < count; ++n) {
            y += pitch;
            const bool heading = first[n].meaning[0] == 0;
            ui.text(x, y, first[n].keys, ui.theme->text, heading ? Face::title : face);
            ui.text(x + split, y, first[n].meaning, ui.theme->muted);
        }
    };
    lines(kEverywhere, std::size(kEverywhere), Face::mono, ui.px(180));
    y += pitch * 0.6f;
    ui.hairline_across(x, x + column - pad, y + pitch / 2 - ui.px(4));
    lines(kMouse, std::size(kMouse), Face::ui, ui.px(180));
    x += column + pad;
    y = top - pitch;
    lines(kPages, std::size(kPages), Face::mono, ui.px(130));
}

}  // namespace locus
