#include "viewer/ui/relative_microscope.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

namespace {

std::size_t shown_term(const std::vector<NamedTerm>& terms, Index wished) {
    if (wished >= 0 && wished < static_cast<Index>(terms.size()) &&
        terms[static_cast<std::size_t>(wished)].term->active)
        return static_cast<std::size_t>(wished);
    std::size_t best = 0;
    for (std::size_t n = 1; n < terms.size(); ++n)
        if (terms[n].term->active && std::abs(terms[n].term->value) > std::abs(terms[best].term->value)) best = n;
    return best;
}

}  // namespace

void draw_column_choice(const Ui& ui, SideColumn& column, const char* own, CellColumn choice) {
    const std::size_t before = choice.side;
    ui.choice("column", column.left(), column.y() + ui.px(3), {own, "this cell", "channels"}, choice.side);
    if (choice.side != before) choice.first_channel = 0;
    column.skip(40);
}

ImU32 named_term_colour(const Theme& theme, RelativeScheme scheme, std::size_t term) {
    // What the code adds has the colour of its larger part: content blue, distance orange, segment green.
    if (scheme == RelativeScheme::xlnet) return std::array{theme.c2c, theme.c2p, theme.p2c}.at(term);
    return std::array{theme.c2c, theme.c2p, theme.p2c, theme.p2p, theme.c2c, theme.c2p}.at(term);
}

void draw_named_terms(const Ui& ui, SideColumn& column, const RelativeCellExplanation<float>& cell,
                      RelativeScheme scheme, CellColumn choice, const std::string& place) {
    const std::vector<NamedTerm> terms = named_terms(cell, scheme);
    for (const NamedTerm& named : terms)
        ui.note((place + "/" + named.letter).c_str(), static_cast<double>(named.term->value));
    ui.note((place + "/sum").c_str(), static_cast<double>(cell.sum));
    ui.note((place + "/score").c_str(), static_cast<double>(cell.score));
    ui.note((place + "/probability").c_str(), static_cast<double>(cell.softmax.probability));
    ui.note((place + "/row").c_str(), static_cast<double>(cell.row));
    const std::size_t count = scheme == RelativeScheme::xlnet ? terms.size() : 4;
    double largest = 1e-9;
    for (std::size_t n = 0; n < count; ++n)
        largest = std::max(largest, std::abs(static_cast<double>(terms[n].term->value)));
    for (std::size_t n = 0; n < count; ++n) {
        const ImU32 colour = named_term_colour(*ui.theme, scheme, n);
        const double value = static_cast<double>(terms[n].term->value);
        const Rect line{column.left(), column.y() - ui.px(11), column.right(), column.y() + ui.px(11)};
        const Touch mouse = ui.touch((std::string("term ") + terms[n].letter).c_str(), line);
        if (mouse.clicked && terms[n].term->active) {
            choice.term = static_cast<Index>(n);
            choice.side = 2;
            choice.first_channel = 0;
        }
        const std::string label = std::string(terms[n].letter) + " " + terms[n].product;
        column.bar({{label, mouse.hovered ? ui.theme->text : colour, Face::mono_small}},
                   faded(colour, value < 0 ? 0.45f : 1.0f), std::abs(value) / largest, compact(value, 4));
        column.skip(23);
    }
}

void draw_score_steps(SideColumn& column, const RelativeCellExplanation<float>& cell, const std::string& why) {
    const SoftmaxSteps<float>& steps = cell.softmax;
    const auto number = [](float value) { return compact(static_cast<double>(value), 4); };
    // The code puts 0 in place of the position term of a hidden pair; the bars above show what it would be.
    column.row(steps.visible ? "sum" : "sum, the position term 0", number(cell.sum));
    column.row("\u00f7 \u221a" + std::to_string(cell.ac.products.size()), number(cell.score), true);
    if (steps.sees_nothing) {
        column.row("probability", number(steps.probability), true);
        column.sentence(steps.probability == 0 ? "This query sees no key at all; in this dialect all its weights are 0."
                                               : "This query sees no key at all; the code then weighs all keys alike.");
        return;
    }
    if (!steps.visible) {
        column.row("probability", "0", true);
        column.sentence("Hidden: " + (why.empty() ? std::string("the mask hides this pair") : why) + ".");
        return;
    }
    column.row("\u2212 row maximum " + number(steps.row_maximum), number(steps.shifted));
    column.row("exp", number(steps.exponential));
    column.row("\u00f7 row sum " + number(steps.denominator), number(steps.probability), true);
}

void draw_channel_table(const Ui& ui, SideColumn& column, const Rect& area, const RelativeCellExplanation<float>& cell,
                        RelativeScheme scheme, CellColumn choice) {
    const std::vector<NamedTerm> terms = named_terms(cell, scheme);
    std::vector<std::string> letters;
    for (const NamedTerm& named : terms) letters.emplace_back(named.letter);
    std::size_t shown = shown_term(terms, choice.term);
    const std::size_t before = shown;
    ui.choice("channels of", column.left(), column.y(), letters, shown);
    if (shown != before) {
        choice.term = static_cast<Index>(shown);
        choice.first_channel = 0;
    }
    column.skip(32);
    const NamedTerm& named = terms[shown];
    const ImU32 colour = named_term_colour(*ui.theme, scheme, shown);
    column.heading({{named.product, colour, Face::title}}, compact(static_cast<double>(named.term->value), 4));
    if (!named.term->active) {
        column.sentence("R has no row for this distance, so the term is 0.");
        return;
    }
    const float width = column.width(), number = width * 0.1f;
    const std::array<float, 4> ends = {column.left() + number + width * 0.225f, column.left() + number + width * 0.45f,
                                       column.left() + number + width * 0.675f, column.right()};
    const auto cells = [&](float y, const std::array<std::string, 4>& texts, ImU32 ink) {
        for (std::size_t n = 0; n < texts.size(); ++n)
            ui.text(ends[n], y, texts[n], ink, Face::mono_small, Align::right);
    };
    cells(column.y(), {named.left, named.right, "product", "sum"}, ui.theme->muted);
    column.skip(20);
    const TermExplanation<float>& term = *named.term;
    const auto channels = static_cast<Index>(term.products.size());
    const float pitch = ui.px(16.5f), top = column.y() - pitch / 2;
    const Index fit = std::max<Index>(1, static_cast<Index>((area.y1 - ui.px(30) - top) / pitch));
    const Index last = std::max<Index>(0, channels - fit);
    choice.first_channel = std::clamp<Index>(choice.first_channel, 0, last);
    const Index count = std::min(fit, channels);
    const Rect table{column.left() - ui.px(6), top, column.right() + ui.px(6), top + pitch * static_cast<float>(count)};
    const Touch mouse = ui.touch("channel table", table);
    if (mouse.hovered && ImGui::GetIO().MouseWheel != 0)
        choice.first_channel = std::clamp<Index>(choice.first_channel + (Ui::take_wheel() > 0 ? -3 : 3), 0, last);
    float largest = 0;
    for (const float product : term.products) largest = std::max(largest, std::abs(product));
    for (Index n = 0; n < count; ++n) {
        const Index channel = choice.first_channel + n;
        const auto c = static_cast<std::size_t>(channel);
        const float y = top + (static_cast<float>(n) + 0.5f) * pitch;
        // Behind the numbers: how much of the largest product this one is.
        const float share = largest > 0 ? std::abs(term.products[c]) / largest : 0;
        if (std::isfinite(share))
            ui.fill({table.x0, y - pitch / 2, table.x0 + share * table.width(), y + pitch / 2 - ui.px(1)},
                    faded(colour, term.products[c] < 0 ? 0.08f : 0.2f));
        const auto three = [](float value) { return compact(static_cast<double>(value), 3, 1); };
        ui.text(column.left() + number * 0.75f, y, std::to_string(channel), ui.theme->muted, Face::mono_tiny,
                Align::right);
        cells(y, {three(term.left[c]), three(term.right[c]), three(term.products[c]), three(term.running[c])},
              ui.theme->text);
    }
    column.skip(static_cast<float>(count) * 16.5f);
    if (last > 0)
        ui.text(column.left(), column.y(),
                "channels " + std::to_string(choice.first_channel) + " to " +
                    std::to_string(choice.first_channel + count - 1) + " of " + std::to_string(channels) +
                    "; wheel, j, k",
                ui.theme->muted, Face::label);
}

void copy_cell(State& state, const std::string& text) {
    ImGui::SetClipboardText(text.c_str());
    state.notice = "copied: this cell with all its channels, as text";
}

void draw_copy_button(Scene& scene, SideColumn& column, const std::string& text) {
    const Ui& ui = scene.ui;
    const float wide = ui.text_width("copy as text") + ui.px(20);
    const Rect box{column.left(), column.y() - ui.px(12), column.left() + wide, column.y() + ui.px(12)};
    if (ui.button("copy", box, "copy as text")) copy_cell(scene.state, text);
    ui.text(box.x1 + ui.px(10), column.y(), "c", ui.theme->muted, Face::mono_small);
    column.skip(32);
}

bool press_cell_column(const KeyPress& press, CellColumn choice, std::size_t terms, Index channels) {
    if (press.key == Key::tab) {
        choice.term = (choice.term + 1) % static_cast<Index>(terms);
        choice.first_channel = 0;
        return true;
    }
    if (press.key != Key::character || press.ctrl) return false;
    switch (press.character) {
        case 'w':
            choice.side = (choice.side + 1) % 3;
            return true;
        case 'j':
        case 'k':
            choice.first_channel = std::clamp<Index>(choice.first_channel + (press.character == 'j' ? 4 : -4), 0,
                                                     std::max<Index>(0, channels - 1));
            return true;
        default:
            return false;
    }
}

}  // namespace locus
