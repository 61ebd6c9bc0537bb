// Every control by keyboard, and the sheet that lists the keys.
#include <algorithm>

#include "viewer/app.h"
#include "viewer/widgets.h"

namespace locus::view {

namespace {

bool typed(char character) {
    const ImVector<ImWchar>& queue = ImGui::GetIO().InputQueueCharacters;
    return std::find(queue.begin(), queue.end(), static_cast<ImWchar>(character)) != queue.end();
}

bool pressed(ImGuiKey key) {
#if IMGUI_VERSION_NUM < 18700
    return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), true);
#else
    return ImGui::IsKeyPressed(key, true);
#endif
}

struct KeyHelp {
    const char *keys, *meaning;
};
constexpr KeyHelp kHelp[] = {
    {"1 2 3", "pages"},
    {"[  ]", "layer down, up"},
    {",  .", "head down, up"},
    {"\u2190 \u2191 \u2192 \u2193", "move the cell"},
    {"Space", "lock or unlock the cell"},
    {"Esc", "unlock, leave the text, close this"},
    {"/", "edit the text"},
    {"d", "next dialect"},
    {"t", "dark or light"},
    {"+  \u2212  0", "larger, smaller, normal size"},
    {"wheel", "zoom into a matrix"},
    {"right drag", "move a zoomed matrix"},
    {"double click", "show the whole matrix"},
    {"?", "this sheet"},
};

}  // namespace

void App::handle_keys() {
    const ImGuiIO& io = ImGui::GetIO();
    if (pressed(ImGuiKey_Escape)) {
        if (state_.show_keys)
            state_.show_keys = false;
        else if (state_.editing)
            state_.editing = false;
        else
            state_.locked = false;
    }
    if (io.WantTextInput || state_.editing) return;
    for (const PageInfo& info : pages())
        if (typed(info.key)) state_.page = info.page;
    if (typed('[')) --state_.layer;
    if (typed(']')) ++state_.layer;
    if (typed(',')) --state_.head;
    if (typed('.')) ++state_.head;
    state_.layer = std::max(0, state_.layer);
    if (typed('/') || (io.KeyCtrl && ImGui::IsKeyPressed('L'))) open_text_box();
    if (typed(' ')) {
        state_.locked = !state_.locked;
        if (state_.locked && state_.pointed.exists()) state_.cell = state_.pointed;
    }
    if (typed('d'))
        state_.dialect = state_.dialect == Dialect::official ? Dialect::hf
                         : state_.dialect == Dialect::hf     ? Dialect::paper
                                                             : Dialect::official;
    if (typed('t')) state_.dark = !state_.dark;
    if (typed('?')) state_.show_keys = !state_.show_keys;
    if (typed('+')) state_.zoom = std::min(2.5F, state_.zoom * 1.1F);
    if (typed('-')) state_.zoom = std::max(0.6F, state_.zoom / 1.1F);
    if (typed('0')) state_.zoom = 1;
    const int down = int{pressed(ImGuiKey_DownArrow)} - int{pressed(ImGuiKey_UpArrow)};
    const int right = int{pressed(ImGuiKey_RightArrow)} - int{pressed(ImGuiKey_LeftArrow)};
    Cell& cell = state_.page == Page::positions ? state_.positions.cell : state_.cell;
    cell.i = std::max(0, cell.i + down);
    cell.j = std::max(0, cell.j + right);
    if (down || right) state_.locked = true;
}

void App::key_sheet(ImVec2 size) {
    const Palette& colours = palette(state_.dark);
    ImDrawList& draw = *ImGui::GetForegroundDrawList();
    const ImVec2 extent = {px(380), px(64) + px(24) * static_cast<float>(std::size(kHelp))};
    const ImVec2 a = {(size.x - extent.x) / 2, (size.y - extent.y) / 2}, b = {a.x + extent.x, a.y + extent.y};
    draw.AddRectFilled({0, 0}, size, IM_COL32(0, 0, 0, 110));
    draw.AddRectFilled(a, b, colours.panel, px(6));
    draw.AddRect(a, b, colours.line, px(6));
    draw.AddText(fonts().semibold, fonts().semibold->FontSize, {a.x + px(24), a.y + px(18)}, colours.text, "Keys");
    float y = a.y + px(48);
    for (const KeyHelp& help : kHelp) {
        draw.AddText(fonts().mono, fonts().mono->FontSize, {a.x + px(24), y}, colours.text, help.keys);
        draw.AddText(fonts().regular, fonts().regular->FontSize, {a.x + px(150), y - px(1)}, colours.muted,
                     help.meaning);
        y += px(24);
    }
}

}  // namespace locus::view
