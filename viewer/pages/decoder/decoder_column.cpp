// What the model would write, with the decoder and without; and the formula with the strength of I.
#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/pages/decoder/decoder.h"
#include "viewer/plots/cell_text.h"
#include "viewer/plots/chances.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

void DecoderPage::draw_side(Scene& scene, const Rect& area) {
    if (!scene.answer) return;
    side_height_ = area.height() / scene.ui.px(1);
    const Ui& ui = scene.ui;
    const DecoderAnswer& decoder = scene.answer->decoder;
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, area, scroll_);
    DecoderState& state = scene.state.decoder;
    if (decoder.unavailable.empty()) {
        ui.choice("side", column.left(), column.y(), {"words", "cell of pass 1", "of pass 2"}, state.side);
        column.skip(34);
    }
    if (state.side > 0 && decoder.unavailable.empty())
        draw_cell(scene, column);
    else
        draw_all_words(scene, column);
    draw_lesson_links(scene, column, {{"13", "Enhanced mask decoder"}, {"04", "Absolute position"}});
    scroll_column(ui, column, area, scroll_);
}

void DecoderPage::draw_all_words(Scene& scene, SideColumn& column) const {
    const DecoderAnswer& decoder = scene.answer->decoder;
    DecoderState& state = scene.state.decoder;
    draw_classes(scene, column);
    if (!decoder.no_words.empty() && decoder.classes.empty()) {
        column.heading("What stands at [MASK]?");
        column.sentence(decoder.no_words);
    }
    for (const MaskWords& mask : decoder.masks) draw_words(scene, column, mask);
    if (decoder.unavailable.empty())
        column.sentence("Keys and values come from H in both passes; only the query has a position.");
    if (decoder.unavailable.empty() && scene.state.dialect == Dialect::hf)
        column.sentence("hf: transformers leaves the decoder out, so its words are the grey ones.");
    if (decoder.masks.empty()) return;
    if (column.link(state.ten ? "fewer words, as bars" : "ten words, with their logits")) state.ten = !state.ten;
    if (!decoder.unavailable.empty()) return;
    if (column.link(state.at_input ? "without I at the input" : "compare: I added at the input"))
        state.at_input = !state.at_input;
}

namespace {

/// Name and probability, and below them a bar of that share of the column: names of classes are long.
void draw_class(const Ui& ui, SideColumn& column, const ClassScore& one) {
    const Theme& theme = *ui.theme;
    const float y = column.y(), under = y + ui.px(10);
    ui.text_within(column.left(), y, column.width() * 0.78f, one.name, theme.text);
    ui.text(column.right(), y, fixed(one.probability, 3), theme.text, Face::mono, Align::right);
    ui.fill({column.left(), under, column.right(), under + ui.px(3)}, faded(theme.c2c, 0.2f));
    const float width = column.width() * static_cast<float>(one.probability);
    if (width > 0) ui.fill({column.left(), under, column.left() + width, under + ui.px(3)}, theme.c2c);
    column.skip(28);
}

}  // namespace

/// Of a text every class with a bar; of a token the best one in a row.
void DecoderPage::draw_classes(const Scene& scene, SideColumn& column) const {
    const std::vector<Classes>& classes = scene.answer->decoder.classes;
    if (classes.empty()) return;
    using Of = Classes::Of;
    const bool of_tokens = classes.front().of == Of::token, of_text = classes.front().of == Of::text;
    if (of_tokens) column.heading("What is each token?", "probability");
    for (const Classes& each : classes) {
        const ClassScore& best = each.best.front();
        if (of_tokens) {
            const std::string& token = scene.answer->labels[static_cast<std::size_t>(each.token)];
            scene.ui.note(("decoder/class of " + token).c_str(), best.probability);
            column.row(scene.ui.cut(token, column.width() * 0.4f),
                       scene.ui.cut(best.name, column.width() * 0.35f) + "  " + fixed(best.probability, 3));
            continue;
        }
        const std::string end = of_text ? "" : each.of == Of::begin ? "begins" : "ends";
        if (of_text && (each.count == 1 || std::isnan(best.probability))) {  // scores, as a reranker gives one
            column.heading("What is this text?", std::isnan(best.probability) ? "logit" : "logit, sigmoid");
            for (const ClassScore& one : each.best)
                column.row(each.count == 1 ? "score" : one.name,
                           fixed(one.logit, 4) + (std::isnan(one.probability) ? "" : "  " + fixed(one.probability, 3)),
                           true);
            column.skip(8);
            continue;
        }
        const std::size_t shown = std::min<std::size_t>(each.best.size(), of_text ? 10 : 5);
        column.heading(of_text ? "What is this text?" : "Where the answer " + end,
                       static_cast<Index>(shown) < each.count ? "best " + std::to_string(shown) : "probability");
        for (std::size_t n = 0; n < shown; ++n) {
            const ClassScore& one = each.best[n];
            scene.ui.note(("decoder/class " + end + one.name).c_str(), one.probability);
            draw_class(scene.ui, column, one);
        }
        column.skip(8);
    }
    if (of_tokens) column.skip(6);
    if (const std::string& warning = scene.answer->decoder.classes_warning; !warning.empty()) column.sentence(warning);
    column.sentence(of_tokens ? "Of classifier.token_logits, each token by itself."
                    : of_text ? "Read off token 0 of the last layer: classifier.pooled, classifier.logits. [SEP] "
                                "between two texts lets the model judge them together."
                              : "Softmax of classifier.token_logits over the tokens.");
    column.rule();
}

/// How many words of each list the column holds beside its headings and links: 3 to 5.
std::size_t DecoderPage::words_that_fit(const Scene& scene) const {
    const std::vector<MaskWords>& masks = scene.answer->decoder.masks;
    std::size_t lists = 0;
    for (const MaskWords& mask : masks)
        for (const auto* words : {&mask.with_decoder, &mask.last_layer, &mask.at_input}) lists += !words->empty();
    const float headings = 158 + 46 * static_cast<float>(masks.size()) + 20 * static_cast<float>(lists);
    const float rows = (side_height_ - headings) / (19 * static_cast<float>(lists));
    return static_cast<std::size_t>(std::clamp(rows, 3.0f, 5.0f));
}

void DecoderPage::draw_words(const Scene& scene, SideColumn& column, const MaskWords& mask) const {
    const Theme& theme = *scene.ui.theme;
    const std::size_t few = words_that_fit(scene);
    const bool ten = scene.state.decoder.ten;
    double largest = 1e-9;
    for (const auto* words : {&mask.with_decoder, &mask.last_layer, &mask.at_input})
        for (const Word& word : *words) largest = std::max(largest, word.probability);
    const auto list = [&](const char* caption, const std::vector<Word>& words, ImU32 colour) {
        if (words.empty()) return;
        scene.ui.text(column.left(), column.y(), caption, theme.muted, Face::label);
        if (std::isnan(words.front().probability)) {
            column.skip(19);
            column.sentence(kNoRank);
            return;
        }
        if (ten)
            scene.ui.text(column.right(), column.y(), "logit   probability", theme.muted, Face::label, Align::right);
        column.skip(19);
        for (std::size_t n = 0; n < std::min(words.size(), ten ? words.size() : few); ++n) {
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
    column.heading("What stands at [MASK] " + std::to_string(mask.position) + "?",
                   "top " + std::to_string(ten ? 10 : few));
    column.skip(-4);
    list("with the mask decoder", mask.with_decoder, theme.c2p);
    list("last layer alone, same head", mask.last_layer, theme.muted);
    list("I at the input instead", mask.at_input, theme.accent);
    column.skip(-8);
    column.rule();
}

void DecoderPage::draw_formula(Scene& scene, const Rect& bar) {
    if (!scene.answer) return;
    if (!scene.answer->decoder.unavailable.empty()) return draw_bar_note(scene, bar, "", bar.x0);
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    State& state = scene.state;
    const auto part = [](const std::string& text, ImU32 colour) { return Span{text, colour, Face::formula}; };
    const auto low = [](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    const std::string last = std::to_string(scene.session.config().num_hidden_layers - 1);
    const std::string factor = state.strength == 1 ? "" : fixed(state.strength, 2) + "\u00b7";
    const float x = bar.x0 + ui.px(16);
    const float end =
        x + ui.spans(x, bar.middle_y(),
                     {part("q", theme.c2p), low("0", theme.c2p), part(" = ", theme.text), part("H", theme.c2c),
                      part(" + " + factor, theme.text), part("I", theme.c2p), part(",  ", theme.text),
                      part("q", theme.c2p), low("t+1", theme.c2p), part(" = layer", theme.text), low(last, theme.text),
                      part("(Q = ", theme.text), part("q", theme.c2p), low("t", theme.c2p),
                      part(", K = V = ", theme.text), part("H", theme.c2c), part(")", theme.text)});
    const float right = bar.x1 - ui.px(16);
    ui.text(right, bar.middle_y(), fixed(state.strength, 2), theme.text, Face::mono, Align::right);
    const float slider = right - ui.px(46) - ui.px(140);
    ui.slider("strength", slider, bar.middle_y(), ui.px(140), state.strength, 0, 1, 0.01);
    const float label = slider - ui.px(10);
    const float words = ui.text(label, bar.middle_y(), "strength of I", theme.muted, Face::mono_small, Align::right);
    if (!scene.warning.empty()) draw_bar_note(scene, {bar.x0, bar.y0, label - words, bar.y1}, "", end);
}

// One cell of a pass of the decoder: its three terms, down to the products of two vectors, and the softmax.

namespace {

const Tensor<float>* stage_of(const Answer& answer, std::size_t pass, const char* stem) {
    const Stage* found = answer.trace.find("emd." + std::to_string(pass) + "." + stem);
    return found ? &found->as<float>() : nullptr;
}

std::size_t pass_of(const State& state) { return state.decoder.side == 2 ? 1 : 0; }

/// The chosen cell; while another sentence is on its way the answer may be too short for it.
Cell cell_of(const Scene& scene) {
    const Index last = scene.answer->length() - 1;
    return {std::min(scene.state.cell.i, last), std::min(scene.state.cell.j, last)};
}

/// The head whose cell is explained: the chosen one, or under a mean the one that looks there most.
Index head_that_looks(const Scene& scene) {
    const State& state = scene.state;
    if (state.decoder_head >= 0) return state.decoder_head;
    const Tensor<float>& probs = *stage_of(*scene.answer, pass_of(state), "probs");
    const Cell at = cell_of(scene);
    Index best = 0;
    for (Index h = 1; h < probs.extent(1); ++h)
        if (probs.matrix(h)(at.i, at.j) > probs.matrix(best)(at.i, at.j)) best = h;
    return best;
}

}  // namespace

const CellExplanation<float>& DecoderPage::explain(const Scene& scene) {
    const Answer& answer = *scene.answer;
    const State& state = scene.state;
    const std::size_t pass = pass_of(state);
    const Index head = head_that_looks(scene);
    const Cell at = cell_of(scene);
    const std::string wanted = std::to_string(answer.serial) + " " + std::to_string(pass) + " " + std::to_string(head) +
                               " " + std::to_string(at.i) + " " + std::to_string(at.j);
    if (wanted == explained_) return cell_;
    explained_ = wanted;
    const HeadTensors<float> tensors = head_tensors(answer, "emd." + std::to_string(pass), head);
    const RelativeBuckets buckets =
        answer.buckets ? *answer.buckets : RelativeBuckets::clamped(answer.length(), answer.length(), 1);
    cell_ = explain_cell<float>(tensors, buckets, answer.options.p2c_index, answer.divisor_terms, at.i, at.j);
    return cell_;
}

std::string DecoderPage::explanation(const Scene& scene) {
    const CellExplanation<float>& cell = explain(scene);
    const Answer& answer = *scene.answer;
    const std::size_t pass = pass_of(scene.state);
    const Index head = head_that_looks(scene);
    CellText about;
    about.where = scene.session.name() + ", mask decoder, pass " + std::to_string(pass + 1) + ", head " +
                  std::to_string(head) + ", dialect " + to_string(scene.state.dialect);
    about.tokens = answer.labels;
    const auto scores = stage_of(answer, pass, "scores")->matrix(head);
    for (Index j = 0; j < scores.cols(); ++j) {
        about.scores.push_back(scores(cell.i, j));
        if (answer.visible.size() > 0) about.visible.push_back(answer.visible(cell.i, j) != 0);
    }
    about.softmax_follows = !scene.session.config().talking_head;
    return cell_text(cell, about);
}

void DecoderPage::draw_cell(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const CellExplanation<float>& cell = explain(scene);
    const auto word = [&](Index t) { return scene.answer->labels[static_cast<std::size_t>(t)]; };
    column.heading("Why is this cell " + compact(cell.probability, 3) + "?",
                   "pass " + std::to_string(pass_of(state) + 1) + ", head " + std::to_string(head_that_looks(scene)));
    const float half = column.width() * 0.32f;
    float x = column.left();
    x += ui.text_within(x, column.y(), half, word(cell.i), ui.theme->c2p, Face::title) + ui.px(5);
    x += ui.text(x, column.y(), "looks at", ui.theme->muted) + ui.px(5);
    ui.text_within(x, column.y(), half, word(cell.j), ui.theme->c2c, Face::title);
    column.skip(24);
    column.sentence(pass_of(state) == 0
                        ? "The query q\u2080 = H + I holds its absolute position; the key comes from H and does not."
                        : "The query is what pass 1 made of it; the key comes from H, as in pass 1.");
    if (state.decoder_head < 0) draw_heads(scene, column);
    draw_cell_steps(scene, column);
}

void DecoderPage::draw_heads(Scene& scene, SideColumn& column) const {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Tensor<float>& probs = *stage_of(*scene.answer, pass_of(state), "probs");
    const Index heads = std::min<Index>(probs.extent(1), 12), shown = head_that_looks(scene);
    const Cell at = cell_of(scene);
    ui.text(column.left(), column.y(), "the mean is made of these heads; click one", ui.theme->muted, Face::label);
    column.skip(18);
    float x = column.left(), width = column.width() / 6;
    for (Index h = 0; h < heads; ++h) {
        const Rect box{x, column.y() - ui.px(9), x + width, column.y() + ui.px(9)};
        const Touch mouse = ui.touch(("of head " + std::to_string(h)).c_str(), box);
        if (mouse.clicked) state.decoder_head = h;
        if (mouse.hovered) ui.fill(box, ui.theme->chip, 4);
        ui.text(box.middle_x(), column.y(), compact(probs.matrix(h)(at.i, at.j), 3, 0),
                h == shown ? ui.theme->text : ui.theme->muted, h == shown ? Face::mono_strong : Face::mono_small,
                Align::centre);
        x += width;
        if (h % 6 == 5 || h + 1 == heads) {
            x = column.left();
            column.skip(19);
        }
    }
    column.skip(6);
}

void DecoderPage::draw_cell_steps(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    double largest = 1e-30;
    int strongest = 0;
    for (int term = 0; term < 3; ++term)
        if (term_of(cell_, term).active && std::abs(static_cast<double>(term_of(cell_, term).value)) > largest) {
            largest = std::abs(static_cast<double>(term_of(cell_, term).value));
            strongest = term;
        }
    for (int term = 0; term < 3; ++term) {
        const TermExplanation<float>& part = term_of(cell_, term);
        if (!part.active) continue;
        column.bar(term_formula(term_colour(*ui.theme, term), cell_, term),
                   faded(term_colour(*ui.theme, term), part.value < 0 ? 0.45f : 1.0f),
                   std::abs(static_cast<double>(part.value)) / largest, compact(part.value, 4));
        column.skip(25);
    }
    ui.note("microscope/score", static_cast<double>(cell_.score));
    ui.note("microscope/probability", static_cast<double>(cell_.probability));
    column.row("sum", compact(cell_.sum, 4));
    column.row("\u00f7 \u221a(" + std::to_string(cell_.terms) + " \u00b7 " +
                   std::to_string(scene.session.config().attention_head_size) + ")",
               compact(cell_.score, 4));
    if (!cell_.visible) {
        column.sentence(hidden_pair_sentence(cell_));
    } else {
        column.row("\u2212 row maximum " + compact(cell_.row_maximum, 4), compact(cell_.shifted, 4));
        column.row("exp", compact(cell_.exponential, 4));
        column.row("\u00f7 row sum " + compact(cell_.denominator, 4), compact(cell_.probability, 4), true);
    }
    const TermExplanation<float>& part = term_of(cell_, strongest);
    column.skip(6);
    draw_product_chart(ui, column, "decoder products",
                       {doubles(part.left), doubles(part.right), doubles(part.products), doubles(part.running),
                        term_colour(*ui.theme, strongest)});
    if (column.link("copy as text")) {
        ImGui::SetClipboardText(explanation(scene).c_str());
        scene.state.notice = "copied: every number of this cell";
    }
}

}  // namespace locus
