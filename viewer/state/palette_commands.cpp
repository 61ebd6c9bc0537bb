#include "viewer/state/palette_commands.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <numeric>

#include "viewer/pages/page_names.h"
#include "viewer/state/state.h"

namespace locus {

namespace {

constexpr int kNone = std::numeric_limits<int>::min() / 2;
constexpr int kLetter = 16, kFollows = 14, kBeginsWord = 10, kBeginsName = 8;
constexpr std::size_t kLongest = 400;  // letters of a name that are looked at

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Bytes above 0x7f are letters of some alphabet.
bool is_letter(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x7f || (byte >= '0' && byte <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

int worth(std::string_view name, std::size_t at) {
    if (at == 0) return kLetter + kBeginsWord + kBeginsName;
    return is_letter(name[at]) && !is_letter(name[at - 1]) ? kLetter + kBeginsWord : kLetter;
}

}  // namespace

std::optional<int> fuzzy_score(std::string_view name, std::string_view typed) {
    std::string letters;
    for (const char c : typed)
        if (c != ' ') letters += lower(c);
    name = name.substr(0, kLongest);
    if (letters.empty()) return 0;
    if (letters.size() > name.size()) return std::nullopt;
    // best[at]: of all ways to place the letters so far with the last one at `at`.
    std::vector<int> best(name.size(), kNone), next(name.size());
    for (std::size_t n = 0; n < letters.size(); ++n) {
        int before = n == 0 ? 0 : kNone;  // the best that ends anywhere in front of `at`
        for (std::size_t at = 0; at < name.size(); ++at) {
            next[at] = kNone;
            if (lower(name[at]) == letters[n]) {
                int reached = before;
                if (n > 0 && at > 0) reached = std::max(reached, best[at - 1] + kFollows);
                if (reached > kNone / 2) next[at] = reached + worth(name, at);
            }
            if (n > 0) before = std::max(before, best[at]);
        }
        best.swap(next);
    }
    const int score = *std::max_element(best.begin(), best.end());
    if (score < kNone / 2) return std::nullopt;
    return score - static_cast<int>((name.size() - letters.size()) / 4);
}

std::vector<std::size_t> fuzzy_order(const std::vector<std::string>& names, std::string_view typed,
                                     const std::vector<std::size_t>& first) {
    std::vector<std::size_t> order = first;
    for (std::size_t n = 0; n < names.size(); ++n)
        if (std::find(first.begin(), first.end(), n) == first.end()) order.push_back(n);
    std::vector<int> scores(names.size(), kNone);
    for (const std::size_t n : order)
        if (const auto score = fuzzy_score(names[n], typed)) scores[n] = *score;
    std::erase_if(order, [&](std::size_t n) { return scores[n] == kNone; });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return order;
}

namespace {

using Change = std::function<void(State&)>;

/// The number that follows a word in what was typed: "layer 3 head 2", "head" -> 2.
bool number_after(const std::string& typed, const std::string& word, Index& number) {
    const std::size_t at = typed.find(word);
    if (at == std::string::npos) return false;
    const std::size_t digits = typed.find_first_not_of(' ', at + word.size());
    if (digits == std::string::npos) return false;
    return std::from_chars(typed.data() + digits, typed.data() + typed.size(), number).ec == std::errc{};
}

/// Commands that carry numbers exist once the numbers are typed.
void add_numbered(const State& state, const CommandScope& scope, const std::string& typed,
                  std::vector<Command>& commands) {
    if (has_own_head(state.page)) return;  // these numbers are the opened model's
    Index layer = state.layer, head = state.head, i = 0, j = 0;
    const bool layer_named = number_after(typed, "layer", layer), head_named = number_after(typed, "head", head);
    if ((layer_named || head_named) && layer >= 0 && layer < scope.layers && head >= 0 && head < scope.heads)
        commands.push_back({"", "layer " + std::to_string(layer) + " head " + std::to_string(head), "[ ] , .", nullptr,
                            [layer, head](State& s) {
                                s.layer = layer;
                                s.head = head;
                            }});
    const std::size_t comma = typed.find(',');
    if (!number_after(typed, "go", i) || comma == std::string::npos) return;
    const std::size_t digits = std::min(typed.find_first_not_of(' ', comma + 1), typed.size());
    const bool whole = std::from_chars(typed.data() + digits, typed.data() + typed.size(), j).ec == std::errc{};
    const auto length = static_cast<Index>(scope.labels.size());
    if (whole && i >= 0 && j >= 0 && i < length && j < length)
        commands.push_back(
            {"", "go " + std::to_string(i) + "," + std::to_string(j), "arrows", nullptr, [i, j](State& s) {
                 s.cell = {i, j};
                 s.locked = true;
             }});
}

void add_tokens(const CommandScope& scope, std::vector<Command>& commands) {
    for (std::size_t t = 0; t < scope.labels.size(); ++t) {
        const auto at = static_cast<Index>(t);
        const std::string name = "token " + scope.labels[t] + " (" + std::to_string(t) + ")";
        commands.push_back({"", name + " as the query", "click", nullptr, [at](State& s) {
                                s.cell.i = at;
                                s.locked = true;
                            }});
        commands.push_back({"", name + " as the key", "Shift click", nullptr, [at](State& s) {
                                s.cell.j = at;
                                s.locked = true;
                            }});
    }
}

void add_values(const CommandScope& scope, std::vector<Command>& commands) {
    const auto add = [&](const std::string& id, const std::string& title, const std::string& key, Change change) {
        commands.push_back({id, title, key, nullptr, std::move(change)});
    };
    for (const Dialect dialect : {Dialect::paper, Dialect::official, Dialect::hf})
        add(std::string("dialect.") + to_string(dialect), std::string("dialect ") + to_string(dialect), "d",
            [dialect](State& s) { s.dialect = dialect; });
    const char* themes[] = {"theme dark", "theme light", "theme high contrast"};
    for (std::size_t n = 0; n < std::size(themes); ++n)
        add(std::string("theme.") + kThemeNames[n], themes[n], "t",
            [n](State& s) { s.theme = static_cast<ThemeName>(n); });
    for (const char* text : kSentencePresets) {
        if (!scope.reads_text) break;
        add(std::string("sentence.") + text, std::string("sentence: ") + text, "", [text](State& s) {
            s.text = text;
            s.tokens.clear();
            s.mask.clear();
        });
    }
    add("compare.paper", "compare the code with the paper", "", [](State& s) {
        s.page = "compare";
        s.compare = {};
    });
    add("compare.exact", "compare f32 with f64", "", [](State& s) {
        s.page = "compare";
        s.compare = {};
        s.compare.b = {"", Dialect::official, true};
    });
    for (const std::size_t sentence : {0, 1, 2})
        add("permutation." + std::to_string(sentence), "permutation sentence " + std::to_string(sentence + 1), "x",
            [sentence](State& s) {
                s.page = "permutation";
                s.permutation = {};
                s.permutation.sentence = sentence;
            });
}

/// Pages in a state that no single key leads to.
void add_views(std::vector<Command>& commands) {
    const auto add = [&](const std::string& page, const std::string& title, const std::string& key, Change change) {
        commands.push_back({"view." + page + "." + title, page + ": " + title, key, nullptr,
                            [page, change = std::move(change)](State& s) {
                                s.page = page;
                                change(s);
                            }});
    };
    add("attention", "all heads", "v", [](State& s) { s.attention.picture = AttentionPicture::all_heads; });
    add("attention", "any stage by name", "v", [](State& s) { s.attention.picture = AttentionPicture::stage; });
    add("attention", "every term back", "q w e", [](State& s) { s.attention.kept = {}; });
    add("attention", "clear the selection", "Esc", [](State& s) { s.attention.selection = {}; });
    add("attention", "every masked token back", "m", [](State& s) { s.masked.clear(); });
    constexpr std::pair<const char*, std::size_t> kRopeViews[] = {
        {"walk", 0}, {"scores", 1}, {"probabilities", 2}, {"linear attention", 3}};
    for (const auto& [name, shown] : kRopeViews)
        add("rope", name, "w", [shown = shown](State& s) { s.rope.shown = shown; });
    add("decoder", "add I at the input, or not", "", [](State& s) { s.decoder.at_input = !s.decoder.at_input; });
    add("transformer-xl", "without memory", "m", [](State& s) { s.memory.memory = 0; });
    add("transformer-xl", "the shift of xlnet", "x", [](State& s) {
        s.memory.strip = 0;
        s.memory.trick = 1;
        s.memory.animation.at = 5;
    });
    add("training", "the built-in corpus", "", [](State& s) {
        s.training.corpus.clear();
        s.training.run = false;
    });
    add("training", "fresh weights", "", [](State& s) { s.training.run = false; });
    add("text", "edit the documents", "Ctrl L", [](State& s) { s.editing = true; });
}

void add_models(const State& state, std::vector<Command>& commands) {
    std::vector<std::string> models = state.recent.models;
    for (const char* built_in : {"tiny-v3", "tiny-roformer", "tiny-txl", "tiny-xlnet"})
        if (std::find(models.begin(), models.end(), built_in) == models.end()) models.emplace_back(built_in);
    for (const std::string& model : models)
        commands.push_back(
            {"model." + model, "open model " + model, "", nullptr, [model](State& s) { s.wanted_model = model; }});
}

void add_stages(const CommandScope& scope, std::vector<Command>& commands) {
    for (const std::string& stage : scope.stages)
        commands.push_back({"", "stage " + stage, "s", nullptr, [stage](State& s) {
                                s.page = "compare";
                                s.compare.open_stage(stage);
                            }});
}

/// Pages' own actions say where they belong.
std::string title_of(const NamedAction& action) {
    return action.page.empty() ? action.title : action.page + ": " + action.title;
}

}  // namespace

std::vector<Command> find_commands(const State& state, const CommandScope& scope, const std::string& typed) {
    std::vector<Command> all, found;
    add_numbered(state, scope, typed, found);
    for (const NamedAction& action : actions())
        all.push_back({action.id, title_of(action), action.key, &action, nullptr});
    add_values(scope, all);
    add_views(all);
    add_models(state, all);
    if (!typed.empty()) {
        add_tokens(scope, all);
        add_stages(scope, all);
    }
    std::vector<std::string> titles;
    for (const Command& command : all) titles.push_back(command.title);
    std::vector<std::size_t> first;
    for (const std::string& id : state.recent.commands)
        for (std::size_t n = 0; n < all.size(); ++n)
            if (all[n].id == id && std::find(first.begin(), first.end(), n) == first.end()) first.push_back(n);
    for (const std::size_t n : fuzzy_order(titles, typed, first)) found.push_back(all[n]);
    return found;
}

}  // namespace locus
