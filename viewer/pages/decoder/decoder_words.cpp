// What the model would write, with the decoder and without; and the formula with the strength of I.
#include <algorithm>

#include "viewer/pages/decoder/decoder.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/column_scroll.h"
#include "viewer/ui/formula_bar.h"
#include "viewer/ui/lesson_links.h"
#include "viewer/ui/side_column.h"

namespace locus {

void DecoderPage::draw_side(Scene& scene, const Rect& room) {
    if (!scene.answer) return;
    const Ui& ui = scene.ui;
    const DecoderAnswer& decoder = scene.answer->decoder;
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, room, scroll_);
    DecoderState& state = scene.state.decoder;
    if (decoder.unavailable.empty()) {
        ui.choice("side", column.left(), column.y(), {"words", "cell of pass 1", "of pass 2"}, state.side);
        column.skip(34);
    }
    if (state.side > 0 && decoder.unavailable.empty())
        draw_cell(scene, column);
    else
        draw_all_words(scene, column);
    draw_lesson_links(scene, column, room, {{"13", "Enhanced mask decoder"}, {"04", "Absolute position"}});
    scroll_by_wheel(ui, room, scroll_, column.y() + scroll_ - ui.px(8) - room.y1);
}

void DecoderPage::draw_all_words(Scene& scene, SideColumn& column) const {
    const DecoderAnswer& decoder = scene.answer->decoder;
    DecoderState& state = scene.state.decoder;
    if (!decoder.no_words.empty()) {
        column.heading("What stands at [MASK]?");
        column.sentence(decoder.no_words);
    }
    for (const MaskWords& mask : decoder.masks) draw_words(scene, column, mask);
    if (decoder.unavailable.empty())
        column.sentence("Keys and values come from H in both passes. Only the query learns where it stands.");
    if (decoder.unavailable.empty() && scene.state.dialect == Dialect::hf)
        column.sentence("hf: transformers leaves the decoder out, so its words are the grey ones.");
    if (decoder.masks.empty()) return;
    if (column.link(state.ten ? "five words, as bars" : "ten words, with their logits")) state.ten = !state.ten;
    if (!decoder.unavailable.empty()) return;
    if (column.link(state.at_input ? "without I at the input" : "compare: I added at the input"))
        state.at_input = !state.at_input;
}

void DecoderPage::draw_words(const Scene& scene, SideColumn& column, const MaskWords& mask) const {
    const Theme& theme = *scene.ui.theme;
    constexpr std::size_t kFew = 5;
    const bool ten = scene.state.decoder.ten;
    double largest = 1e-9;
    for (const auto* words : {&mask.with_decoder, &mask.last_layer, &mask.at_input})
        for (const Word& word : *words) largest = std::max(largest, word.probability);
    const auto list = [&](const char* caption, const std::vector<Word>& words, ImU32 colour) {
        if (words.empty()) return;
        scene.ui.text(column.left(), column.y(), caption, theme.muted, Face::label);
        if (ten)
            scene.ui.text(column.right(), column.y(), "logit   probability", theme.muted, Face::label, Align::right);
        column.skip(19);
        for (std::size_t n = 0; n < std::min(words.size(), ten ? words.size() : kFew); ++n) {
            const Word& word = words[n];
            scene.ui.note(("decoder/" + std::to_string(mask.position) + "/" +
                           (&words == &mask.with_decoder ? "with/" : "without/") + word.piece)
                              .c_str(),
                          word.probability);
            if (ten) {
                scene.ui.text_within(column.left(), column.y(), column.width() * 0.5f, word.piece, theme.text);
                scene.ui.text(column.right() - scene.ui.px(72), column.y(), fixed(word.logit, 3), theme.text,
                              Face::mono, Align::right);
                scene.ui.text(column.right(), column.y(), fixed(word.probability, 3), theme.text, Face::mono,
                              Align::right);
            } else {
                const std::string shown = scene.ui.cut(word.piece, scene.ui.px(72));
                column.bar({{shown, theme.text}}, colour, word.probability / largest, fixed(word.probability, 3));
            }
            column.skip(19);
        }
        column.skip(1);
    };
    column.heading("What stands at [MASK] " + std::to_string(mask.position) + "?", ten ? "top 10" : "top 5");
    column.skip(-4);
    list("with the mask decoder", mask.with_decoder, theme.c2p);
    list("last layer alone, same head", mask.last_layer, theme.muted);
    list("I at the input instead", mask.at_input, theme.accent);
    column.skip(-8);
    column.rule();
}

void DecoderPage::draw_formula(Scene& scene, const Rect& bar) {
    if (!scene.answer || !scene.answer->decoder.unavailable.empty()) return;
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    State& state = scene.state;
    const auto part = [](const std::string& text, ImU32 colour) { return Span{text, colour, Face::formula}; };
    const auto low = [](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    const std::string last = std::to_string(scene.session.config().num_hidden_layers - 1);
    const std::string factor = state.strength == 1 ? "" : fixed(state.strength, 2) + "\u00b7";
    const float x = bar.x0 + ui.px(16);
    ui.spans(x, bar.middle_y(),
             {part("q", theme.c2p), low("0", theme.c2p), part(" = ", theme.text), part("H", theme.c2c),
              part(" + " + factor, theme.text), part("I", theme.c2p), part(",  ", theme.text), part("q", theme.c2p),
              low("t+1", theme.c2p), part(" = layer", theme.text), low(last, theme.text), part("(Q = ", theme.text),
              part("q", theme.c2p), low("t", theme.c2p), part(", K = V = ", theme.text), part("H", theme.c2c),
              part(")", theme.text)});
    const float right = bar.x1 - ui.px(16);
    ui.text(right, bar.middle_y(), fixed(state.strength, 2), theme.text, Face::mono, Align::right);
    const float slider = right - ui.px(46) - ui.px(140);
    ui.slider("strength", slider, bar.middle_y(), ui.px(140), state.strength, 0, 1, 0.01);
    const float label = slider - ui.px(10);
    ui.text(label, bar.middle_y(), "strength of I", theme.muted, Face::mono_small, Align::right);
}

}  // namespace locus
