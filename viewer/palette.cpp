// Commands by name: type a few letters, Enter does the first.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>

#include "viewer/rooms.h"
#include "viewer/sentence_presets.h"

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
    for (const char* text : kSentencePresets)
        commands.push_back({std::string("sentence: ") + text, "", [text](State& s) {
                                s.text = text;
                                s.tokens.clear();
                                s.mask.clear();
                            }});
    const auto attention = [&](const std::string& name, const char* key, auto change) {
        commands.push_back({"attention " + name, key, [change](State& s) {
                                s.page = "attention";
                                change(s.attention, s);
                            }});
    };
    attention("one head", "v", [](AttentionState& a, State&) { a.picture = AttentionPicture::head; });
    attention("all heads", "v", [](AttentionState& a, State&) { a.picture = AttentionPicture::all_heads; });
    attention("any stage by name", "v", [](AttentionState& a, State&) { a.picture = AttentionPicture::stage; });
    attention("drop content to content", "q", [](AttentionState& a, State&) { a.kept.c2c = false; });
    attention("drop content to position", "w", [](AttentionState& a, State&) { a.kept.c2p = false; });
    attention("drop position to content", "e", [](AttentionState& a, State&) { a.kept.p2c = false; });
    attention("every term back", "q w e", [](AttentionState& a, State&) { a.kept = {}; });
    attention("scale follows the terms or stays", "r",
              [](AttentionState& a, State&) { a.scale_follows = !a.scale_follows; });
    attention("exchange rows and columns", "x", [](AttentionState& a, State&) { a.transposed = !a.transposed; });
    attention("strength or share by distance", "s", [](AttentionState& a, State&) { a.curve = 1 - a.curve; });
    attention("clear the selection", "Esc", [](AttentionState& a, State&) { a.selection = {}; });
    attention("table of channels", "p", [](AttentionState& a, State&) { a.table = !a.table; });
    attention("copy the microscope as text", "c", [](AttentionState& a, State&) { a.copies = true; });
    attention("every masked token back", "m", [](AttentionState&, State& s) { s.masked.clear(); });
    commands.push_back({"rope interleaved or half-split", "x", [](State& s) {
                            s.page = "rope";
                            s.rope.layout = 1 - s.rope.layout;
                        }});
    constexpr std::pair<const char*, std::size_t> kRopeViews[] = {
        {"rope walk", 0}, {"rope scores", 1}, {"rope probabilities", 2}, {"rope linear attention", 3}};
    for (const auto& [name, shown] : kRopeViews)
        commands.push_back({name, "w", [shown = shown](State& s) {
                                s.page = "rope";
                                s.rope.shown = shown;
                            }});
    commands.push_back({"rope play the shift", "p", [](State& s) {
                            s.page = "rope";
                            s.rope.shift = {0, true, s.rope.shift.speed};
                        }});
    commands.push_back({"decoder play the passes", "p", [](State& s) {
                            s.page = "decoder";
                            s.decoder.film = {0, true, s.decoder.film.speed};
                        }});
    commands.push_back({"decoder explain a cell", "e", [](State& s) {
                            s.page = "decoder";
                            s.decoder.side = 1;
                        }});
    commands.push_back({"decoder add I at the input", "", [](State& s) {
                            s.page = "decoder";
                            s.decoder.at_input = !s.decoder.at_input;
                        }});
    commands.push_back({"reduce motion, or not", "", [](State& s) { s.reduce_motion = !s.reduce_motion; }});
    commands.push_back({"transformer-xl without memory", "m", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.memory = 0;
                        }});
    commands.push_back({"transformer-xl play the shift", "p", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.strip = 0;
                            s.memory.film.at = 0;
                            s.memory.film.playing = true;
                        }});
    commands.push_back({"transformer-xl the shift of xlnet", "x", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.strip = 0;
                            s.memory.trick = 1;
                            s.memory.film.at = 5;
                        }});
    commands.push_back({"transformer-xl how far back every layer knows", "e", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.strip = 1;
                        }});
    commands.push_back({"transformer-xl take the cell apart", "w", [](State& s) {
                            s.page = "transformer-xl";
                            s.memory.side = 1;
                        }});
    commands.push_back({"permutation take the cell apart", "w", [](State& s) {
                            s.page = "permutation";
                            s.permutation.side = 1;
                        }});
    commands.push_back({"permutation with or without the segment term", "g", [](State& s) {
                            s.page = "permutation";
                            s.permutation.segments = !s.permutation.segments;
                        }});
    for (const std::size_t sentence : {0, 1, 2})
        commands.push_back({"permutation sentence " + std::to_string(sentence + 1), "x", [sentence](State& s) {
                                s.page = "permutation";
                                s.permutation = {};
                                s.permutation.sentence = sentence;
                            }});
    commands.push_back({"start the tour", "Enter", [](State& s) {
                            go_to_step(s, 0, s.layer + 1, s.head + 1);  // what is shown now exists
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
    commands.push_back({"export a figure or numbers", "Ctrl E", [](State& s) { s.exports.open = true; }});
    commands.push_back({"copy the command of this screen", "Ctrl Shift C", [](State& s) { s.exports.copies = true; }});
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
