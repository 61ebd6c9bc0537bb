// The mistakes of the catalogue in the column at the right, and what the chosen one looks like.
#include <algorithm>
#include <cmath>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

constexpr float kRow = 22;    // design pixels
constexpr float kCard = 268;  // for the words about the chosen one, at least

const std::vector<MistakeEntry>& entries() {
    static const std::vector<MistakeEntry> all = read_mistake_list(mistake_list_file());
    return all;
}

const MistakeEntry* find_entry(int number) {
    const auto found =
        std::find_if(entries().begin(), entries().end(), [&](const MistakeEntry& one) { return one.number == number; });
    return found == entries().end() ? nullptr : &*found;
}

/// What the list says at the right end of a row.
const char* mark_of(conformance::Effect effect) {
    return effect == conformance::Effect::nothing ? "=" : effect == conformance::Effect::impossible ? "\u2013" : "";
}

}  // namespace

MistakeAsker::MistakeAsker()
    : worker_(
          [](const MistakeQuery& query, const CancelToken& stop) {
              return std::make_shared<const MistakeEffects>(list_mistakes(query, stop));
          },
          Window::wake) {}

const MistakeEffects* MistakeAsker::list_for(const MistakeQuery& query) {
    if (asked_ != query) {
        asked_ = query;
        worker_.submit(query);
    }
    if (auto newest = worker_.take()) list_ = std::move(newest);
    return list_ && list_->query == query ? list_.get() : nullptr;
}

bool ComparePage::settled(const State&) const { return !asker_ || !asker_->busy(); }

const MistakeEffects* ComparePage::mistake_list(const Scene& scene) {
    if (!asker_) asker_ = std::make_unique<MistakeAsker>();
    const State& state = scene.state;
    const CompareSide& side = state.compare.b;
    MistakeQuery query{side.model.empty() ? scene.session.opened_as() : side.model, state.text, state.tokens,
                       state.mask, side.mistake.empty() ? state.compare.a.dialect : side.dialect};
    if (!side.text.empty()) query = {query.model, side.text, "", "", query.dialect};
    return asker_->list_for(query);
}

void ComparePage::draw_mistakes(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const MistakeEffects* list = mistake_list(scene);
    const float left = area.x0 + ui.px(16), right = area.x1 - ui.px(16);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::SetCursorScreenPos({left, area.y0 + ui.px(2)});
    ImGui::SetNextItemWidth(right - left);
    ui.fonts->require(state.mistake_filter);
    const std::string hint = "search " + std::to_string(entries().size()) + " mistakes: mask, 16, log";
    ImGui::InputTextWithHint("##zoo", hint.c_str(), &state.mistake_filter);
    ImGui::PopFont();
    const auto groups = mistake_groups(entries(), "deberta", state.mistake_filter);
    // As tall as the chosen one's words were; hovering over others moves no row from under the pointer.
    const float card = std::min(std::max(ui.px(kCard), card_height_), area.height() * 0.7f);
    const Rect rows{left, area.y0 + ui.px(36), right, area.y1 - card - ui.px(26)};
    draw_mistake_rows(scene, rows, groups, list);
    const std::string legend = !list                  ? "asking what each of them changes here \u2026"
                               : !list->error.empty() ? "what each changes here is not known"
                                                      : "= no change   \u2013 cannot be made here";
    ui.text_within(left, rows.y1 + ui.px(13), right - left, legend, ui.theme->muted, Face::mono_small);
    ui.hairline_across(left, right, rows.y1 + ui.px(25));
    draw_mistake_card(scene, {area.x0, rows.y1 + ui.px(26), area.x1, area.y1}, list);
}

void ComparePage::draw_mistake_rows(Scene& scene, const Rect& rows, const std::vector<MistakeGroup>& groups,
                                    const MistakeEffects* list) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const auto chosen = parse_mistake(state.b.mistake);
    float height = 0;
    for (const MistakeGroup& group : groups) height += ui.px(kRow) * static_cast<float>(group.entries.size() + 1);
    const Touch area = ui.touch("mistakes", rows);
    if (rows.holds(ImGui::GetIO().MousePos)) mistake_scroll_ -= ImGui::GetIO().MouseWheel * ui.px(3 * kRow);
    mistake_scroll_ = std::clamp(mistake_scroll_, 0.0f, std::max(0.0f, height - rows.height()));
    draw_scroll_bar(ui, {rows.x0, rows.y0, rows.x1 + ui.px(12), rows.y1}, height, mistake_scroll_);
    ui.draw().push_clip(rows.min(), rows.max());
    float y = rows.y0 - mistake_scroll_;
    hovered_mistake_ = 0;
    int pressed = 0;
    const auto is_seen = [&](float top) { return top >= rows.y0 - 1 && top + ui.px(kRow) <= rows.y1 + 1; };
    for (const MistakeGroup& group : groups) {
        if (is_seen(y)) ui.text(rows.x0, y + ui.px(kRow / 2 + 2), group.title, ui.theme->muted, Face::mono_small);
        y += ui.px(kRow);
        for (const MistakeEntry* entry : group.entries) {
            const Rect row{rows.x0, y, rows.x1, y + ui.px(kRow)};
            y += ui.px(kRow);
            const bool own = chosen && chosen->first == entry->number;
            if (own && followed_mistake_ != entry->number) {
                mistake_scroll_ += row.y1 > rows.y1 ? row.y1 - rows.y1 : row.y0 < rows.y0 ? row.y0 - rows.y0 : 0;
                followed_mistake_ = entry->number;
            }
            if (!is_seen(row.y0)) continue;  // whole rows alone
            const bool under = area.hovered && row.holds(area.at);
            if (under) hovered_mistake_ = entry->number;
            if (under && area.clicked) pressed = entry->number;
            const conformance::MistakeEffect* known = list ? list->find(entry->number) : nullptr;
            const bool foreign = group.title.starts_with("of ");
            const conformance::Effect effect = foreign ? conformance::Effect::impossible
                                               : known ? known->effect()
                                                       : conformance::Effect::changes;
            const ImU32 ink = effect == conformance::Effect::changes ? ui.theme->text : ui.theme->muted;
            if (own || under) ui.fill(row, ui.theme->chip, 4);
            ui.text(row.x0 + ui.px(20), row.middle_y(), std::to_string(entry->number), ui.theme->muted,
                    Face::mono_small, Align::right);
            ui.text_within(row.x0 + ui.px(28), row.middle_y(), row.width() - ui.px(46), entry->name, ink, Face::label);
            ui.text(row.x1 - ui.px(4), row.middle_y(), mark_of(effect), ui.theme->muted, Face::mono_small,
                    Align::right);
        }
    }
    ui.draw().pop_clip();
    if (groups.empty()) ui.text(rows.x0, rows.y0 + ui.px(16), "No mistake says these words.", ui.theme->muted);
    if (pressed > 0) choose_mistake(scene, pressed, list);
}

void ComparePage::choose_mistake(Scene& scene, int number, const MistakeEffects* list) {
    CompareState& state = scene.state.compare;
    const conformance::MistakeEffect* known = list ? list->find(number) : nullptr;
    const std::string title = "mistake " + std::to_string(number);
    if (list && list->error.empty() && !known) {
        scene.state.refusal = title + " is one of other families than this model's";
        return;
    }
    if (known && known->effect() == conformance::Effect::impossible) {
        scene.state.refusal = title + " cannot be made here: it needs " + known->ways[known->best_way()].needs;
        return;
    }
    const std::size_t way = known ? known->best_way() : 0;
    followed_mistake_ = number;
    state.make_mistake(std::to_string(number) + (known ? "." + std::to_string(way + 1) : ""));
}

void ComparePage::draw_mistake_card(Scene& scene, const Rect& area, const MistakeEffects* list) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const auto chosen = parse_mistake(state.b.mistake);
    const int number = hovered_mistake_ > 0 ? hovered_mistake_ : chosen ? chosen->first : 0;
    const MistakeEntry* entry = find_entry(number);
    ui.draw().push_clip(area.min(), area.max());
    SideColumn column(ui, {area.x0, area.y0 - ui.px(4), area.x1, area.y1});
    if (!entry) {
        column.heading("What would a mistake look like?");
        column.sentence(list && !list->error.empty()
                            ? list->error + "."
                            : "Choose one: B becomes a port that makes it, and the first stage that comes out wrong "
                              "opens beside the right one.");
    } else {
        const bool own = chosen && chosen->first == number;
        const conformance::MistakeEffect* known = list ? list->find(number) : nullptr;
        const auto& made = scene.answer->compare.mistake_b;
        const Index wanted = own && made && made->number == number ? made->way
                             : own && chosen->second > 0           ? chosen->second  // which cannot be made here
                             : known                               ? static_cast<Index>(known->best_way()) + 1
                                                                   : 1;
        const Index ways = std::max<Index>(1, std::ssize(entry->ways));
        Index way = std::min(wanted, ways);
        if (own && ways > 1)
            ui.stepper("way", column.right(), column.y(), std::to_string(way) + " of " + std::to_string(ways), way, 1,
                       ways);
        if (way != wanted) state.make_mistake(std::to_string(number) + "." + std::to_string(way));
        column.heading("Mistake " + std::to_string(number));
        column.sentence(as_sentence(entry->name), false);
        if (ways > 1) column.sentence(as_sentence(entry->ways[static_cast<std::size_t>(way - 1)]));
        if (own && made && made->number == number && made->first.empty())
            column.sentence("With this model and sentence it changes nothing.", false);
        else if (own && made && made->number == number)
            column.sentence("It begins at " + made->first + ": " + grouped(made->wrong) + " of " + grouped(made->size) +
                            " cells; " + grouped(made->stages) + " stages differ in all.");
        column.sentence("To see: " + entry->symptom + ".");
        column.sentence("How to recognise it: " + entry->betrays + ".");
        if (!entry->lesson.empty() && column.link("Lesson " + entry->lesson)) {
            const std::string command = "./locus lesson " + std::to_string(std::stoi(entry->lesson));
            ImGui::SetClipboardText(command.c_str());
            scene.state.notice = "copied: " + command;
        }
        const float needed = column.y() - area.y0 + ui.px(12);
        if (own && std::abs(needed - card_height_) > 1) {
            card_height_ = needed;
            followed_mistake_ = 0;  // its row may lie outside the rows that are left
        }
    }
    ui.draw().pop_clip();
}

}  // namespace locus
