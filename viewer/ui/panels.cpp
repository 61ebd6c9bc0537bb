// Top bar and page rail.
#include "viewer/ui/panels_layout.h"

namespace locus {

namespace {

/// A key as it is printed on a keyboard.  Returns the left end.
float key_cap(const Ui& ui, float right, float y, const std::string& label) {
    const float width = ui.text_width(label, Face::mono) + ui.px(14);
    const Rect box{right - width, y - ui.px(11), right, y + ui.px(11)};
    ui.outline(box, ui.theme->line, 1, 5);
    ui.text(box.middle_x(), y, label, ui.theme->muted, Face::mono, Align::centre);
    return box.x0;
}

float model_chip(const Ui& ui, const ModelCard& card, float x, float y) {
    const std::string name = ui.cut(card.name, ui.px(220)), size = card.size;
    const float width = ui.text_width(name) + ui.text_width(" " + size) + ui.px(20);
    const Rect box{x, y - ui.px(13), x + width, y + ui.px(13)};
    ui.outline(box, ui.theme->line, 1, 5);
    const float after = box.x0 + ui.px(10) + ui.text(box.x0 + ui.px(10), y, name, ui.theme->text);
    ui.text(after, y, " " + size, ui.theme->muted);
    return box.x1;
}

}  // namespace

void draw_top_bar(Scene& scene, const ModelCard& card, bool dialects, const Rect& bar) {
    const Ui& ui = scene.ui;
    const float y = bar.middle_y();
    float x = bar.x0 + ui.px(16);
    x += ui.text(x, y, "Locus", ui.theme->text, Face::brand) + ui.px(12);
    x = model_chip(ui, card, x, y) + ui.px(12);
    constexpr Dialect kDialects[] = {Dialect::paper, Dialect::official, Dialect::hf};
    std::size_t chosen = 0;
    while (kDialects[chosen] != scene.state.dialect) ++chosen;
    if (dialects) x = ui.choice("dialect", x, y, {"paper", "official", "hf"}, chosen);
    scene.state.dialect = kDialects[chosen];

    float right = bar.x1 - ui.px(16);
    const auto command = [&](const char* id, const std::string& label, const std::string& key, bool& open) {
        const float end = right;
        right = key_cap(ui, right, y, key) - ui.px(6);
        right -= ui.text(right, y, label, ui.theme->muted, Face::ui, Align::right);
        if (ui.touch(id, {right, bar.y0, end, bar.y1}).clicked) open = true;
        right -= ui.px(14);
    };
    command("keys", "Keys", "?", scene.state.key_sheet);
    command("commands", "Commands", "Ctrl P", scene.state.palette);
}

void draw_rail(Scene& scene, const Rect& rail, const std::vector<std::unique_ptr<Page>>& pages) {
    const Ui& ui = scene.ui;
    float y = rail.y0 + ui.px(27);
    for (const auto& page : pages) {
        const Rect box{rail.x0 + ui.px(8), y - ui.px(15), rail.x1 - ui.px(9), y + ui.px(15)};
        const bool chosen = scene.state.page == page->name();
        const Touch mouse = ui.touch(page->name(), box);
        if (mouse.clicked) scene.state.page = page->name();
        if (chosen) ui.fill(box, ui.theme->chip, 6);
        ui.text(box.x0 + ui.px(10), y, page->title(),
                chosen || mouse.hovered ? ui.theme->text : faded(ui.theme->text, 0.85f),
                chosen ? Face::title : Face::ui);
        ui.text(box.x1 - ui.px(7), y, std::string(1, page->key()), ui.theme->muted, Face::mono_small, Align::right);
        y += ui.px(32);
    }
}

}  // namespace locus
