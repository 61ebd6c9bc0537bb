// Commands by name: type a few letters, Enter does the first.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>

#include "viewer/rooms.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

struct Command {
    std::string name, key;
    std::function<void(State&)> run;
};

std::vector<Command> fixed_commands() {
    std::vector<Command> commands;
    for (const PageName& known : page_names()) {
        const char* page = known.name;
        commands.push_back({std::string("page ") + page, {known.key}, [page](State& s) { s.page = page; }});
    }
    commands.push_back({"write the sentence", "Ctrl L", [](State& s) { s.editing = true; }});
    for (const Dialect dialect : {Dialect::paper, Dialect::official, Dialect::hf})
        commands.push_back(
            {std::string("dialect ") + to_string(dialect), "d", [dialect](State& s) { s.dialect = dialect; }});
    commands.push_back({"theme dark", "t", [](State& s) { s.theme = ThemeName::dark; }});
    commands.push_back({"theme light", "t", [](State& s) { s.theme = ThemeName::light; }});
    commands.push_back({"fit the matrices", "f", [](State& s) { s.view = {}; }});
    for (const char* text :
         {"a new [MASK] opened beside the new [MASK].", "the capital of france is [MASK].", "발 없는 말이 천리 간다."})
        commands.push_back({std::string("sentence: ") + text, "", [text](State& s) {
                                s.text = text;
                                s.tokens.clear();
                                s.mask.clear();
                            }});
    commands.push_back({"rope interleaved or half-split", "x", [](State& s) {
                            s.page = "rope";
                            s.rope.layout = 1 - s.rope.layout;
                        }});
    commands.push_back({"transformer-xl without memory", "m", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.memory = 0;
                        }});
    commands.push_back({"transformer-xl play the shift", "p", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.frame = 0;
                            s.memory.playing = true;
                        }});
    for (const std::size_t sentence : {0, 1, 2})
        commands.push_back({"permutation sentence " + std::to_string(sentence + 1), "x", [sentence](State& s) {
                                s.page = "permutation";
                                s.permutation = {};
                                s.permutation.sentence = sentence;
                            }});
    commands.push_back({"text counts or tf-idf", "x", [](State& s) {
                            s.page = "text";
                            s.text_page.weights = 1 - s.text_page.weights;
                        }});
    commands.push_back({"text edit the documents", "Ctrl L", [](State& s) {
                            s.page = "text";
                            s.editing = true;
                        }});
    commands.push_back({"text with or without stop words", "w", [](State& s) {
                            s.page = "text";
                            s.text_page.stop_words = !s.text_page.stop_words;
                        }});
    commands.push_back({"compare next worst cell", "n", [](State& s) {
                            s.page = "compare";
                            s.compare.jumps = true;
                        }});
    commands.push_back({"bug zoo", "z", [](State& s) {
                            s.page = "compare";
                            s.compare.zoo = true;
                        }});
    commands.push_back({"compare the code with the paper", "", [](State& s) {
                            s.page = "compare";
                            s.compare = {};
                        }});
    commands.push_back({"compare f32 with f64", "", [](State& s) {
                            s.page = "compare";
                            s.compare = {};
                            s.compare.b = {"", Dialect::official, true};
                        }});
    commands.push_back({"keys", "?", [](State& s) { s.key_sheet = true; }});
    return commands;
}

/// The number that follows a word in what was typed: "layer 3 head 2", "head" -> 2.
bool number_after(const std::string& typed, const std::string& word, Index& number) {
    const std::size_t at = typed.find(word + " ");
    if (at == std::string::npos) return false;
    const char* end = typed.data() + typed.size();
    return std::from_chars(typed.data() + at + word.size() + 1, end, number).ec == std::errc{};
}

/// Commands that carry numbers exist once the numbers are typed.
void add_numbered(const Scene& scene, const std::string& typed, std::vector<Command>& commands) {
    if (has_own_head(scene.state.page)) return;  // these numbers are the opened model's
    const DebertaConfig& config = scene.session.config();
    Index layer = scene.state.layer, head = scene.state.head, i = 0;
    const bool named = number_after(typed, "layer", layer) | number_after(typed, "head", head);
    if (named && layer >= 0 && layer < config.num_hidden_layers && head >= 0 && head < config.num_attention_heads)
        commands.push_back(
            {"layer " + std::to_string(layer) + " head " + std::to_string(head), "[ ] , .", [layer, head](State& s) {
                 s.layer = layer;
                 s.head = head;
             }});
    const std::size_t comma = typed.find(',');
    Index j = 0;
    if (!number_after(typed, "go", i) || comma == std::string::npos) return;
    const char* end = typed.data() + typed.size();
    const bool whole = std::from_chars(typed.data() + comma + 1, end, j).ec == std::errc{};
    const Index length = scene.answer ? scene.answer->length() : 0;
    if (whole && i >= 0 && j >= 0 && i < length && j < length)
        commands.push_back({"go " + std::to_string(i) + "," + std::to_string(j), "arrows", [i, j](State& s) {
                                s.cell = {i, j};
                                s.locked = true;
                            }});
}

/// True if the letters of `typed` occur in `name` in this order.
bool matches(const std::string& name, const std::string& typed) {
    std::size_t at = 0;
    for (const char c : name)
        if (at < typed.size() &&
            std::tolower(static_cast<unsigned char>(c)) == std::tolower(static_cast<unsigned char>(typed[at])))
            ++at;
    return at == typed.size();
}

}  // namespace

void Palette::draw(Scene& scene, const Rect& screen) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    std::vector<Command> shown;
    add_numbered(scene, typed_, shown);
    for (Command& command : fixed_commands())
        if (matches(command.name, typed_)) shown.push_back(std::move(command));
    if (shown.size() > 12) shown.resize(12);

    const float width = ui.px(480), pitch = ui.px(28), pad = ui.px(12);
    const float height = ui.px(52) + pitch * static_cast<float>(std::max<std::size_t>(1, shown.size())) + pad;
    const Rect box{screen.middle_x() - width / 2, screen.y0 + ui.px(110), screen.middle_x() + width / 2,
                   screen.y0 + ui.px(110) + height};
    ui.fill(screen, faded(ui.theme->background, 0.6f));
    ui.fill(box, ui.theme->panel, 6);
    ui.outline(box, ui.theme->line, 1, 6);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::SetCursorScreenPos({box.x0 + pad, box.y0 + pad});
    ImGui::SetNextItemWidth(width - 2 * pad);
    if (!open_) ImGui::SetKeyboardFocusHere();
    ui.fonts->require(typed_);
    const bool entered = ImGui::InputTextWithHint("##command", "page, dialect, layer 3 head 2, go 3,5 \u2026", &typed_,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    ui.fonts->require("page, dialect, layer 3 head 2, go 3,5 \u2026");
    ImGui::PopFont();
    const std::size_t last = shown.empty() ? 0 : shown.size() - 1;
    chosen_ = std::min(chosen_, last);

    float y = box.y0 + ui.px(52) + pitch / 2;
    if (shown.empty()) ui.text(box.x0 + ui.px(22), y, "nothing of that name", ui.theme->muted);
    std::optional<std::size_t> run;
    for (std::size_t n = 0; n < shown.size(); ++n, y += pitch) {
        const Rect line{box.x0 + pad, y - pitch / 2, box.x1 - pad, y + pitch / 2};
        if (n == chosen_) ui.fill(line, ui.theme->chip, 5);
        if (ui.touch(shown[n].name.c_str(), line).clicked) run = n;
        ui.text_within(line.x0 + ui.px(10), y, width - ui.px(120), shown[n].name, ui.theme->text);
        ui.text(line.x1 - ui.px(10), y, shown[n].key, ui.theme->muted, Face::mono_small, Align::right);
    }
    if (entered && !shown.empty()) run = chosen_;
    open_ = !entered;  // the box lets go of the keyboard on Enter: it takes it back while the list is open
    if (!run) return;
    close(state);
    shown[*run].run(state);
}

void Palette::press(const KeyPress& press) {
    if (press.key == Key::down) ++chosen_;
    if (press.key == Key::up && chosen_ > 0) --chosen_;
}

void Palette::close(State& state) {
    state.palette = false;
    open_ = false;
    typed_.clear();
    chosen_ = 0;
}

}  // namespace locus
