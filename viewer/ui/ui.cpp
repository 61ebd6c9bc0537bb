#include "viewer/ui/ui.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace locus {

namespace {

constexpr const char* kEllipsis = "\u2026";

/// Whole window units: text between pixels is blurred.
ImVec2 snapped(float x, float y) { return {std::floor(x + 0.5f), std::floor(y + 0.5f)}; }

/// At most so many bytes from the beginning of a UTF-8 text, up to the end of a character.
std::string_view whole_characters(std::string_view text, std::size_t bytes) {
    while (bytes < text.size() && bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
    return text.substr(0, bytes);
}

}  // namespace

float Ui::px(float design) const {
    return design != std::floor(design) ? design * scale_ : std::max(1.0f, std::floor(design * scale_ + 0.5f));
}

float Ui::text_width(std::string_view text, Face face) const {
    fonts->require(text);
    return fonts->width(face, text);
}

float Ui::text(float x, float y, std::string_view text, ImU32 colour, Face face, Align align) const {
    const float width = text_width(text, face);
    if (align == Align::centre) x -= width / 2;
    if (align == Align::right) x -= width;
    const float top = y + fonts->cap_height(face) / 2 - fonts->ascent(face);
    draw().text(*fonts, face, snapped(x, top), colour, text);
    return width;
}

std::string_view Ui::fitting(std::string_view text, float width, Face face, std::string_view ending) const {
    // A text may be a whole document: what is measured is at most twice as long as what fits.
    const auto fits = [&](std::size_t bytes) {
        return text_width(std::string(whole_characters(text, bytes)).append(ending), face) <= width;
    };
    std::size_t fitting = 0, beyond = 16;
    for (; beyond < text.size() && fits(beyond); beyond *= 2) fitting = beyond;
    if (beyond >= text.size()) beyond = text.size() + 1;
    while (beyond - fitting > 1) {
        const std::size_t middle = fitting + (beyond - fitting) / 2;
        (fits(middle) ? fitting : beyond) = middle;
    }
    return whole_characters(text, fitting);
}

std::string Ui::cut(std::string_view full, float width, Face face) const {
    const std::string_view whole = fitting(full, width, face, {});
    if (whole.size() == full.size()) return std::string(full);
    return std::string(fitting(full, width, face, kEllipsis)) + kEllipsis;
}

float Ui::text_within(float x, float y, float width, std::string_view full, ImU32 colour, Face face,
                      Align align) const {
    return text(x, y, cut(full, width, face), colour, face, align);
}

float Ui::spans_width(const std::vector<Span>& line) const {
    float width = 0;
    for (const Span& span : line) width += text_width(span.text, span.face);
    return width;
}

float Ui::spans(float x, float y, const std::vector<Span>& line) const {
    const float left = x;
    const float baseline = y + fonts->cap_height(Face::ui) / 2;
    for (const Span& span : line) {
        const float raise = span.raise < 0 ? -px(-span.raise) : span.raise > 0 ? px(span.raise) : 0;
        const float top = baseline - raise - fonts->ascent(span.face);
        const float width = text_width(span.text, span.face);
        draw().text(*fonts, span.face, snapped(x, top), span.colour, span.text);
        x += width;
    }
    return x - left;
}

std::vector<std::string> Ui::wrapped(std::string_view text, float width, Face face) const {
    std::vector<std::string> lines;
    std::string line;
    const auto flush = [&] {
        lines.push_back(line);
        line.clear();
    };
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        std::string word(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
        if (!line.empty() && text_width(line + " " + word, face) > width) flush();
        while (line.empty()) {
            std::string_view part = fitting(word, width, face, {});
            if (part.empty() || part.size() == word.size()) break;
            // Names of stages and weights, and paths, where their parts meet.
            if (const std::size_t joint = part.find_last_of("./_"); joint != part.npos && joint >= part.size() / 2)
                part = part.substr(0, joint + 1);
            lines.emplace_back(part);
            word.erase(0, part.size());
        }
        line += line.empty() ? word : " " + word;
    }
    if (!line.empty()) flush();
    return lines;
}

float Ui::paragraph(float x, float y, float width, std::string_view text, ImU32 colour, Face face) const {
    const float pitch = std::floor(fonts->size(face) * 1.18f);
    const float top = y;
    for (const std::string& line : wrapped(text, width, face)) {
        this->text(x, y + pitch / 2, line, colour, face);
        y += pitch;
    }
    return y - top;
}

void Ui::text_upwards(float x, float y, std::string_view label, ImU32 colour, Face face) const {
    fonts->require(label);
    draw().text_upwards(*fonts, face, snapped(x, y), colour, label);
}

void Ui::fill(const Rect& rect, ImU32 colour, float rounding) const {
    draw().fill(rect.min(), rect.max(), colour, rounding > 0 ? px(rounding) : 0);
}

void Ui::outline(const Rect& rect, ImU32 colour, float thickness, float rounding) const {
    const float width = px(thickness);
    // Half a line inwards, so that the stroke covers whole pixels.
    draw().outline({rect.x0 + width / 2 - 0.5f, rect.y0 + width / 2 - 0.5f},
                   {rect.x1 - width / 2 + 0.5f, rect.y1 - width / 2 + 0.5f}, colour, rounding > 0 ? px(rounding) : 0,
                   width);
}

void Ui::hairline_across(float x0, float x1, float y) const { fill({x0, y, x1, y + px(1)}, theme->line); }

void Ui::hairline_down(float x, float y0, float y1) const { fill({x, y0, x + px(1), y1}, theme->line); }

// The few controls that all pages share; each also has a key (see state/actions.cpp).

Ui::Group::Group(const Ui& ui, const char* id) : log_(ui.log) {
    ImGui::PushID(id);
    if (log_) log_->groups.emplace_back(id);
}

Ui::Group::~Group() {
    ImGui::PopID();
    if (log_) log_->groups.pop_back();
}

Ui::Scrolled::Scrolled(const Ui& ui) : log_(ui.log) {
    if (log_) ++log_->scrolled;
}

Ui::Scrolled::~Scrolled() {
    if (log_) --log_->scrolled;
}

void Ui::note(const char* id, double value) const {
    if (log) log->values.push_back({log->full_id(id), value});
}

Touch Ui::touch(const char* id, const Rect& rect) const {
    Touch touch;
    touch.at = ImGui::GetIO().MousePos;
    if (rect.width() < 1 || rect.height() < 1) return touch;
    if (log) log->items.push_back({log->full_id(id), {rect.min(), rect.max()}, draw().clip(), log->scrolled > 0});
    ImGui::SetCursorScreenPos(rect.min());
    // A name out of a file may be empty, which Dear ImGui refuses as a label.
    touch.clicked = ImGui::InvisibleButton(("##touch/" + std::string(id)).c_str(), {rect.width(), rect.height()});
    touch.hovered = ImGui::IsItemHovered();
    touch.held = ImGui::IsItemActive();
    touch.double_clicked = touch.hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    return touch;
}

bool Ui::button(const char* id, const Rect& rect, std::string_view label, bool chosen) const {
    const Touch mouse = touch(id, rect);
    if (chosen || mouse.hovered) fill(rect, chosen ? theme->accent : theme->chip, 5);
    outline(rect, chosen ? theme->accent : theme->line, 1, 5);
    text(rect.middle_x(), rect.middle_y(), label, chosen ? theme->on_accent : theme->text, Face::ui, Align::centre);
    return mouse.clicked;
}

float Ui::scrolled_by(float step, bool across) {
    const ImGuiIO& io = ImGui::GetIO();
    return io.MouseWheel * step + (across ? pulled().x : pulled().y);
}

float Ui::take_wheel() { return std::exchange(ImGui::GetIO().MouseWheel, 0.0f); }

ImVec2 Ui::pulled() {
    // A finger comes to where it presses in one step.
    const bool pulls = ImGui::IsMouseDown(ImGuiMouseButton_Right) && !ImGui::IsMouseClicked(ImGuiMouseButton_Right);
    return pulls ? ImGui::GetIO().MouseDelta : ImVec2();
}

float Ui::stepper(const char* id, float right, float y, std::string_view shown, Index& value, Index low, Index high,
                  float area) const {
    const float arrow = px(20), number = std::max({px(20), area, text_width(shown, Face::mono) + px(4)});
    const Rect box{right - number - 2 * arrow, y - px(13), right, y + px(13)};
    fill(box, theme->panel, 5);
    outline(box, theme->line, 1, 5);
    const Group group(*this, id);
    const Touch less = touch("less", {box.x0, box.y0, box.x0 + arrow, box.y1});
    const Touch more = touch("more", {box.x1 - arrow, box.y0, box.x1, box.y1});
    if (less.clicked) value -= 1;
    if (more.clicked) value += 1;
    if (box.holds(less.at) && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) &&
        ImGui::GetIO().MouseWheel != 0)
        value += take_wheel() > 0 ? 1 : -1;
    value = std::clamp(value, low, high);
    const auto arrow_colour = [&](const Touch& mouse, bool possible) {
        return !possible ? faded(theme->muted, 0.4f) : mouse.hovered ? theme->text : theme->muted;
    };
    text(box.x0 + arrow / 2 + px(1), y, "\u2039", arrow_colour(less, value > low), Face::ui, Align::centre);
    text(box.x1 - arrow / 2 - px(1), y, "\u203a", arrow_colour(more, value < high), Face::ui, Align::centre);
    text(box.middle_x(), y, shown, theme->text, Face::mono, Align::centre);
    return box.x0;
}

float Ui::layer_and_head(float right, float y, Index layers, Index& layer, Index heads, Index& head) const {
    float x = stepper("head", right, y, std::to_string(head), head, 0, heads - 1) - px(6);
    x -= text(x, y, "head", theme->muted, Face::ui, Align::right) + px(8);
    x = stepper("layer", x, y, std::to_string(layer), layer, 0, layers - 1) - px(6);
    return x - text(x, y, "layer", theme->muted, Face::ui, Align::right);
}

float Ui::choice(const char* id, float x, float y, const std::vector<std::string>& labels, std::size_t& chosen) const {
    float width = 0;
    for (const std::string& label : labels) width += text_width(label) + px(22);
    const Rect box{x, y - px(13), x + width, y + px(13)};
    fill(box, theme->panel, 5);
    const Group group(*this, id);
    for (std::size_t n = 0; n < labels.size(); ++n) {
        const Rect segment{x, box.y0, x + text_width(labels[n]) + px(22), box.y1};
        const Touch mouse = touch(labels[n].c_str(), segment);
        if (mouse.clicked) chosen = n;
        const ImDrawFlags corners =
            (n == 0 ? ImDrawFlags_RoundCornersLeft : 0) | (n + 1 == labels.size() ? ImDrawFlags_RoundCornersRight : 0);
        const ImDrawFlags rounding = corners == 0 ? ImDrawFlags_RoundCornersNone : corners;
        if (n == chosen || mouse.hovered)
            draw().fill(segment.min(), segment.max(), n == chosen ? theme->accent : theme->chip, px(5), rounding);
        text(segment.middle_x(), y, labels[n], n == chosen ? theme->on_accent : theme->text, Face::ui, Align::centre);
        x = segment.x1;
    }
    outline(box, theme->line, 1, 5);
    return box.x1;
}

bool Ui::slider(const char* id, float x, float y, float width, double& value, double low, double high,
                double step) const {
    const Rect track{x, y - px(10), x + width, y + px(10)};
    const Touch mouse = touch(id, track);
    const double before = value;
    const float reach = px(6);
    const auto snapped = [&](double raw) { return std::clamp(std::round(raw / step) * step, low, high); };
    if (mouse.held) value = snapped(low + (high - low) * (mouse.at.x - x - reach) / (width - 2 * reach));
    if (mouse.hovered && ImGui::GetIO().MouseWheel != 0) value = snapped(value + (take_wheel() > 0 ? step : -step));
    // A value that was set elsewhere may be beyond the slider's ends.
    const auto share = static_cast<float>(high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0);
    const float knob = x + reach + share * (width - 2 * reach);
    fill({x, y - px(1), x + width, y + px(1)}, theme->line);
    fill({x, y - px(1), knob, y + px(1)}, theme->muted);
    draw().disc({knob, y}, mouse.held ? px(6) : px(5), mouse.hovered ? theme->text : theme->muted);
    return value != before;
}

void draw_dashed(const Ui& ui, const std::vector<ImVec2>& corners, ImU32 colour, float width, float dash) {
    const float length = ui.px(dash);
    float left = length;  // of the dash or gap that is being drawn
    bool on = true;
    for (std::size_t n = 1; n < corners.size(); ++n) {
        ImVec2 from = corners[n - 1];
        const ImVec2 to = corners[n];
        float rest = std::hypot(to.x - from.x, to.y - from.y);
        while (rest > 0) {
            const float step = std::min(rest, left), share = step / rest;
            const ImVec2 end{from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share};
            if (on) ui.draw().line(from, end, colour, width);
            from = end;
            rest -= step;
            left -= step;
            if (left <= 0) {
                left = length;
                on = !on;
            }
        }
    }
}

void draw_arrow_head(const Ui& ui, ImVec2 tip, float dx, float dy, ImU32 colour, float width, float size) {
    const float length = std::hypot(dx, dy), head = ui.px(size);
    if (length == 0) return;
    const float ux = dx / length, uy = dy / length;
    const ImVec2 points[] = {{tip.x - ux * head - uy * head * 0.5f, tip.y - uy * head + ux * head * 0.5f},
                             tip,
                             {tip.x - ux * head + uy * head * 0.5f, tip.y - uy * head - ux * head * 0.5f}};
    ui.draw().polyline(points, 3, colour, width);
}

void draw_play_sign(const Ui& ui, ImVec2 middle, float size, bool playing, ImU32 colour) {
    const float half = size / 2;
    if (playing) {
        const float bar = std::max(1.0f, size * 0.3f);
        ui.fill({middle.x - half, middle.y - half, middle.x - half + bar, middle.y + half}, colour);
        ui.fill({middle.x + half - bar, middle.y - half, middle.x + half, middle.y + half}, colour);
    } else {
        ui.draw().triangle({middle.x - half * 0.8f, middle.y - half}, {middle.x + half, middle.y},
                           {middle.x - half * 0.8f, middle.y + half}, colour);
    }
}

ImU32 mixed(ImU32 from, ImU32 to, float share) {
    ImU32 colour = 0;
    for (const int shift : {IM_COL32_R_SHIFT, IM_COL32_G_SHIFT, IM_COL32_B_SHIFT, IM_COL32_A_SHIFT}) {
        const auto a = static_cast<float>(from >> shift & 0xffu), b = static_cast<float>(to >> shift & 0xffu);
        colour |= static_cast<ImU32>(a + (b - a) * share + 0.5f) << shift;
    }
    return colour;
}

}  // namespace locus
