#include "viewer/app.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "viewer/widgets.h"

namespace locus::view {

namespace {

// Measures of the drawings.
constexpr float kTopBar = 44, kRail = 148, kSentenceBar = 52, kMicroscope = 296, kFormulaBar = 48;

void hairline(ImVec2 a, ImVec2 b, const Palette& colours) { ImGui::GetWindowDrawList()->AddLine(a, b, colours.line); }

}  // namespace

const std::vector<PageInfo>& pages() {
    static const std::vector<PageInfo> all = {{Page::positions, "positions", "Positions", '1'},
                                              {Page::attention, "attention", "Attention", '2'},
                                              {Page::decoder, "decoder", "Decoder", '3'}};
    return all;
}

Page parse_page(const std::string& name) {
    std::string known;
    for (const PageInfo& info : pages()) {
        if (name == info.name) return info.page;
        known += (known.empty() ? "" : ", ") + std::string(info.name);
    }
    throw Error(Fault::usage, "--page is \"" + name + "\", expected one of " + known);
}

App::App(Window& window, State& state) : window_(window), state_(state) {}

Request App::wanted() const {
    return {state_.model, state_.text, state_.tokens, state_.dialect, state_.absolute_strength, state_.layer};
}

void App::follow_session() {
    shown_ = session_.latest();
    clamp_selection();  // before asking, so that a key pressed once too often asks for nothing impossible
    const Request request = wanted();
    if (asked_once_ && request == asked_) return;
    session_.ask(request);
    asked_ = request;
    asked_once_ = true;
}

bool App::settled() const { return shown_ && shown_->request == wanted() && !session_.busy() && font_scale_ > 0; }

void App::clamp_selection() {
    if (!shown_ || !shown_->error.empty()) return;
    state_.layer = std::clamp(state_.layer, 0, static_cast<int>(shown_->config.num_hidden_layers) - 1);
    state_.head = std::clamp(state_.head, 0, static_cast<int>(shown_->heads()) - 1);
    const int last = static_cast<int>(shown_->tokens()) - 1;
    state_.cell.i = std::clamp(state_.cell.i, 0, last);
    state_.cell.j = std::clamp(state_.cell.j, 0, last);
}

void App::keep_fonts() {
    const float scale = window_.content_scale() * state_.zoom;
    std::string text = state_.text;
    if (shown_)
        for (const std::string& piece : shown_->pieces) text += piece;
    if (shown_)
        for (const MaskGuesses& guesses : shown_->guesses)
            for (const auto* list : {&guesses.with_decoder, &guesses.last_layer})
                for (const Guess& guess : *list) text += guess.word;
    if (scale != font_scale_ || !fonts_cover(text)) {
        set_scale(scale);
        load_fonts(scale, text);
        window_.fonts_changed();
        font_scale_ = scale;
        theme_applied_ = false;
    }
    if (!theme_applied_ || theme_dark_ != state_.dark) {
        apply_style(state_.dark);
        theme_applied_ = true;
        theme_dark_ = state_.dark;
    }
}

void App::take_drops() {
    for (const std::string& path : window_.take_dropped()) {
        state_.model = path;
        state_.tokens.clear();
    }
}

bool App::frame(Picture* copy) {
    take_drops();
    follow_session();
    keep_fonts();
    window_.begin_frame();
    handle_keys();
    const Palette& colours = palette(state_.dark);
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(size);
    ImGui::PushFont(fonts().regular);
    ImGui::Begin("Locus", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoScrollWithMouse);
    page({0, 0}, size);
    if (state_.show_keys) key_sheet(size);
    ImGui::End();
    ImGui::PopFont();
    window_.end_frame(colours.background, copy);
    return session_.busy() || ImGui::GetIO().WantTextInput || ImGui::IsAnyMouseDown();
}

void App::page(ImVec2 corner, ImVec2 size) {
    const Palette& colours = palette(state_.dark);
    const float top = px(kTopBar), left = px(kRail), sentence = px(kSentenceBar), side = px(kMicroscope),
                bar = px(kFormulaBar);
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    draw.AddRectFilled(corner, {size.x, top}, colours.panel);
    draw.AddRectFilled({0, top}, {left, size.y}, colours.panel);
    draw.AddRectFilled({size.x - side, top + sentence}, {size.x, size.y - bar}, colours.panel);
    top_bar({0, 0}, {size.x, top});
    rail({0, top}, {left, size.y - top});
    sentence_bar({left, top}, {size.x - left, sentence});

    PageContext context{state_,
                        shown_ && shown_->error.empty() ? shown_.get() : nullptr,
                        textures_,
                        colours,
                        {left, top + sentence},
                        {size.x - left - side, size.y - top - sentence - bar},
                        {size.x - side, top + sentence},
                        {side, size.y - top - sentence - bar},
                        {left, size.y - bar},
                        {size.x - left, bar}};
    if (state_.page == Page::positions)
        draw_positions_page(context);
    else if (shown_ && !shown_->error.empty())
        draw_wrapped({context.corner.x + px(16), context.corner.y + px(16)}, context.extent.x - px(32), shown_->error,
                     colours.text);
    else if (context.snapshot && state_.page == Page::attention)
        draw_attention_page(context);
    else if (context.snapshot)
        draw_decoder_page(context);

    hairline({0, top}, {size.x, top}, colours);
    hairline({left, top}, {left, size.y}, colours);
    hairline({left, top + sentence}, {size.x, top + sentence}, colours);
    hairline({size.x - side, top + sentence}, {size.x - side, size.y - bar}, colours);
    hairline({left, size.y - bar}, {size.x, size.y - bar}, colours);
}

void App::top_bar(ImVec2 corner, ImVec2 extent) {
    const Palette& colours = palette(state_.dark);
    const float middle = std::floor(corner.y + (extent.y - fonts().regular->FontSize) / 2);
    ImGui::GetWindowDrawList()->AddText(fonts().semibold, px(20), {corner.x + px(16), corner.y + px(12)}, colours.text,
                                        "Locus");
    std::string name = state_.model;
    const std::size_t slash = name.find_last_of('/', name.size() > 1 ? name.size() - 2 : 0);
    if (slash != std::string::npos) name = name.substr(slash + 1);
    std::vector<TextRun> model = {{name, colours.text}};
    if (shown_ && shown_->error.empty())
        model.push_back({"  " + std::to_string(shown_->config.num_hidden_layers) + " layers \u00d7 " +
                             std::to_string(shown_->heads()) + " heads \u00b7 f32",
                         colours.muted});
    const float width = width_of_runs(model, fonts().regular) + px(20), top = corner.y + px(9), height = px(26);
    ImGui::GetWindowDrawList()->AddRect({corner.x + px(84), top}, {corner.x + px(84) + width, top + height},
                                        colours.line, px(5));
    draw_runs({corner.x + px(94), middle}, model, fonts().regular);

    static const std::vector<std::string> kDialects = {"paper", "official", "hf"};
    int chosen = state_.dialect == Dialect::paper ? 0 : state_.dialect == Dialect::official ? 1 : 2;
    float used = 0;
    if (segmented("dialect", {corner.x + px(96) + width, top}, height, kDialects, chosen, used, colours))
        state_.dialect = parse_dialect(kDialects[static_cast<std::size_t>(chosen)]);
    if (ImGui::IsMouseHoveringRect({corner.x + px(96) + width, top},
                                   {corner.x + px(96) + width + used, top + height})) {
        ImGui::BeginTooltip();
        ImGui::TextUnformatted(
            "paper: p2c with \u03b4(j,i), as printed\nofficial: microsoft/DeBERTa, the weights were trained with "
            "it\nhf: transformers 4.57, no mask decoder");
        ImGui::EndTooltip();
    }
    float x = corner.x + extent.x - px(16);
    for (const auto& [label, key] : {std::pair<const char*, const char*>{"Keys", "?"}, {"Text", "/"}}) {
        const float key_width = text_width(key, fonts().small) + px(14);
        ImGui::GetWindowDrawList()->AddRect({x - key_width, top + px(2)}, {x, top + height - px(2)}, colours.line,
                                            px(4));
        draw_text({x - key_width + px(7), middle + px(2)}, key, colours.muted, fonts().small);
        x -= key_width + px(6) + text_width(label, fonts().regular);
        draw_text({x, middle}, label, colours.muted, fonts().regular);
        ImGui::SetCursorScreenPos({x, top});
        if (ImGui::InvisibleButton(label, {text_width(label, fonts().regular) + key_width, height})) {
            if (std::string(label) == "Keys")
                state_.show_keys = !state_.show_keys;
            else
                open_text_box();
        }
        x -= px(16);
    }
}

void App::rail(ImVec2 corner, ImVec2 extent) {
    const Palette& colours = palette(state_.dark);
    float y = corner.y + px(12);
    for (const PageInfo& info : pages()) {
        const ImVec2 a = {corner.x + px(8), y}, b = {corner.x + extent.x - px(9), y + px(30)};
        ImGui::SetCursorScreenPos(a);
        if (ImGui::InvisibleButton(info.name, {b.x - a.x, b.y - a.y})) state_.page = info.page;
        const bool current = state_.page == info.page;
        if (current || ImGui::IsItemHovered())
            ImGui::GetWindowDrawList()->AddRectFilled(a, b, with_alpha(colours.line, current ? 0.75F : 0.4F), px(6));
        draw_text({a.x + px(10), y + px(7)}, info.title, colours.text, current ? fonts().semibold : fonts().regular);
        draw_text_right(b.x - px(10), y + px(8), std::string(1, info.key), colours.muted, fonts().small);
        y += px(32);
    }
    const float bottom = corner.y + extent.y;
    const std::string state = session_.busy() ? "computing \u2026"
                              : shown_        ? std::to_string(std::lround(shown_->milliseconds)) + " ms"
                                              : "";
    draw_text({corner.x + px(18), bottom - px(28)}, state, colours.muted, fonts().small);
}

void App::sentence_bar(ImVec2 corner, ImVec2 extent) {
    if (state_.page == Page::positions) return;
    const float used = steppers(corner, extent);
    const ImVec2 room = {extent.x - used - px(32), extent.y};
    if (state_.editing)
        text_box({corner.x + px(16), corner.y}, room);
    else
        token_chips({corner.x + px(16), corner.y}, room);
}

float App::steppers(ImVec2 corner, ImVec2 extent) {
    const Palette& colours = palette(state_.dark);
    const float top = corner.y + px(13), height = px(26), text_top = corner.y + px(18);
    if (state_.page == Page::decoder) {
        const char* text = "attention shown: mean of heads";
        draw_text_right(corner.x + extent.x - px(16), text_top, text, colours.muted, fonts().regular);
        return text_width(text, fonts().regular) + px(24);
    }
    const int layers = shown_ && shown_->error.empty() ? static_cast<int>(shown_->config.num_hidden_layers) : 1;
    const int heads = shown_ && shown_->error.empty() ? static_cast<int>(shown_->heads()) : 1;
    float x = corner.x + extent.x - px(16), width = px(60);
    for (const bool head : {true, false}) {
        stepper(head ? "head" : "layer", {x - width, top}, height, head ? state_.head : state_.layer, 0,
                (head ? heads : layers) - 1, width, colours);
        x -= width + px(8);
        const char* label = head ? "head" : "layer";
        draw_text_right(x, text_top, label, colours.muted, fonts().regular);
        x -= text_width(label, fonts().regular) + px(10);
    }
    return corner.x + extent.x - x;
}

void App::token_chips(ImVec2 corner, ImVec2 extent) {
    if (!shown_ || shown_->pieces.empty()) return;
    const Palette& colours = palette(state_.dark);
    ImGui::GetWindowDrawList()->PushClipRect({corner.x - px(3), corner.y}, {corner.x + extent.x, corner.y + extent.y},
                                             true);
    const float height = px(25), top = corner.y + px(14);
    float x = corner.x - chip_scroll_, query_left = 0, query_right = 0;
    for (std::size_t t = 0; t < shown_->pieces.size(); ++t) {
        const int at = static_cast<int>(t);
        const ImU32 outline = at == state_.cell.i                                     ? colours.accent
                              : at == state_.cell.j && state_.page == Page::attention ? colours.c2p
                                                                                      : 0;
        float width = 0;
        const std::string id = "token" + std::to_string(t);
        if (chip(id.c_str(), {x, top}, height, shown_->pieces[t], shown_->special[t] ? colours.muted : colours.text,
                 outline, width, colours)) {
            (ImGui::GetIO().KeyShift ? state_.cell.j : state_.cell.i) = at;
            state_.locked = true;
        }
        if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) open_text_box();
        if (at == state_.cell.i) query_left = x + chip_scroll_ - corner.x, query_right = query_left + width;
        x += width + px(5);
    }
    ImGui::GetWindowDrawList()->PopClipRect();
    // Keep the query in sight; the wheel scrolls.
    const float all = x + chip_scroll_ - corner.x - px(5);
    if (ImGui::IsMouseHoveringRect(corner, {corner.x + extent.x, corner.y + extent.y}))
        chip_scroll_ -= ImGui::GetIO().MouseWheel * px(60);
    else if (query_right > chip_scroll_ + extent.x)
        chip_scroll_ = query_right - extent.x + px(40);
    else if (query_left < chip_scroll_)
        chip_scroll_ = query_left - px(40);
    chip_scroll_ = std::clamp(chip_scroll_, 0.0F, std::max(0.0F, all - extent.x));
    if (all > extent.x) {  // a fading edge says that there is more
        const ImU32 solid = colours.background, clear = with_alpha(colours.background, 0);
        const float right = corner.x + extent.x;
        if (chip_scroll_ < all - extent.x)
            ImGui::GetWindowDrawList()->AddRectFilledMultiColor(
                {right - px(40), corner.y + px(4)}, {right, corner.y + extent.y - px(4)}, clear, solid, solid, clear);
        if (chip_scroll_ > 0)
            ImGui::GetWindowDrawList()->AddRectFilledMultiColor({corner.x - px(3), corner.y + px(4)},
                                                                {corner.x + px(40), corner.y + extent.y - px(4)}, solid,
                                                                clear, clear, solid);
    }
}

void App::open_text_box() {
    state_.editing = true;
    focus_text_ = true;
    edited_ = state_.tokens.empty() ? state_.text : state_.tokens;
}

void App::text_box(ImVec2 corner, ImVec2 extent) {
    ImGui::SetCursorScreenPos({corner.x, corner.y + px(13)});
    ImGui::PushItemWidth(extent.x);
    if (focus_text_) ImGui::SetKeyboardFocusHere();
    edited_.resize(std::max<std::size_t>(edited_.size() + 256, 4096));
    const bool changed = ImGui::InputText("##text", edited_.data(), edited_.size());
    edited_.resize(std::char_traits<char>::length(edited_.c_str()));
    const bool left_it = !focus_text_ && !ImGui::IsItemActive();
    focus_text_ = false;
    ImGui::PopItemWidth();
    if (changed) (state_.tokens.empty() ? state_.text : state_.tokens) = edited_;
    if (left_it) state_.editing = false;
}

}  // namespace locus::view
