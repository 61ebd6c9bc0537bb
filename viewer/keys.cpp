// What the keyboard does on every page; key_sheet.cpp lists it.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "viewer/app.h"

namespace locus {

namespace {

void zoom_everything(State& state, float factor) {
    state.zoom = factor == 0 ? 1.0f : std::clamp(std::round(state.zoom * factor * 20) / 20, 0.5f, 4.0f);
}

bool press_with_ctrl(State& state, const KeyPress& press, bool& close) {
    switch (press.character) {
        case 'c':
            state.exports.copies |= press.shift;
            return press.shift;
        case 'e':
            state.exports.open = !state.exports.open;
            return true;
        case 'l':
            state.editing = !state.editing;
            return true;
        case 'p':
            state.palette = !state.palette;
            return true;
        case 'q':
            close = true;
            return true;
        case '+':
        case '=':
            zoom_everything(state, 1.1f);
            return true;
        case '-':
            zoom_everything(state, 1 / 1.1f);
            return true;
        case '0':
            zoom_everything(state, 0);
            return true;
        default:
            return false;
    }
}

void escape(State& state) {
    if (state.key_sheet || state.palette || state.editing || state.exports.open)
        state.key_sheet = state.palette = state.editing = state.exports.open = false;
    else if (state.tour.step >= 0)
        end_tour(state);
    else if (state.page == "attention" && !state.attention.selection.empty())
        state.attention.selection = {};
    else
        state.locked = state.positions.locked = state.memory.locked = state.permutation.locked = state.compare.locked =
            state.text_page.locked = false;
}

bool press_character(Scene& scene, char32_t character) {
    State& state = scene.state;
    const DebertaConfig& config = scene.session.config();
    const auto step = [](Index& value, Index by, Index count, Index first = 0) {
        value = std::clamp<Index>(value + by, first, count - 1);
    };
    const bool decoder = state.page == "decoder";
    Index& head = decoder ? state.decoder_head : state.head;
    if (character >= '0' && character <= '9') {
        for (const PageName& page : page_names())
            if (static_cast<char32_t>(page.key) == character) state.page = page.name;
        return true;
    }
    // A page with a layer and a head of its own takes these itself.
    if (has_own_head(state.page) && std::u32string_view(U"[],.d").find(character) != std::u32string_view::npos)
        return false;
    switch (character) {
        case '[':
            step(state.layer, -1, config.num_hidden_layers);
            return true;
        case ']':
            step(state.layer, 1, config.num_hidden_layers);
            return true;
        case ',':
            step(head, -1, config.num_attention_heads, decoder ? -1 : 0);
            return true;
        case '.':
            step(head, 1, config.num_attention_heads);
            return true;
        case 't':
            state.theme = state.theme == ThemeName::dark ? ThemeName::light : ThemeName::dark;
            return true;
        case 'd':
            state.dialect = state.dialect == Dialect::paper      ? Dialect::official
                            : state.dialect == Dialect::official ? Dialect::hf
                                                                 : Dialect::paper;
            return true;
        case '?':
            state.key_sheet = true;
            return true;
        default:
            return false;
    }
}

}  // namespace

bool press_common_key(Scene& scene, const KeyPress& press, bool& close, bool& save) {
    State& state = scene.state;
    if (press.key == Key::escape) {
        escape(state);
        return true;
    }
    if (press.key == Key::f12) {
        save = true;
        return true;
    }
    if (press.key == Key::enter && state.tour.step >= 0 && !state.editing && !state.palette && !state.key_sheet) {
        step_tour(scene, press.shift ? -1 : 1);
        return true;
    }
    if (press.ctrl && press.key == Key::character) return press_with_ctrl(state, press, close);
    if (state.key_sheet) {
        state.key_sheet = false;
        return true;
    }
    if (state.editing || state.palette || state.exports.open || ImGui::GetIO().WantTextInput)
        return true;  // the box reads the keyboard itself
    return press.key == Key::character && press_character(scene, press.character);
}

}  // namespace locus
