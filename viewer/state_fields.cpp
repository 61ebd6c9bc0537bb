#include "viewer/state_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/check.h"

namespace locus {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& expected) {
    throw Error(Fault::usage, name + " is \"" + value + "\", expected " + expected);
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    return end.ec == std::errc{} && end.ptr == text.data() + text.size();
}

/// The shortest text that reads back as the same number.
template <class Number>
std::string number_text(Number number) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text)
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

/// Collects fields; `find` leads from a State to the member.
class Fields {
public:
    template <class Find>
    void text(const std::string& name, Find find) {
        add(
            name, [find](const State& s) { return find(const_cast<State&>(s)); },
            [find](State& s, const std::string& value) { find(s) = value; });
    }

    /// Whole numbers from `low`.
    template <class Find>
    void whole(const std::string& name, Index low, Find find) {
        add(
            name, [find](const State& s) { return std::to_string(find(const_cast<State&>(s))); },
            [name, low, find](State& s, const std::string& value) {
                Index number = 0;
                if (!parse_number(value, number) || number < low)
                    refuse(name, value, "a whole number from " + std::to_string(low));
                find(s) = static_cast<std::remove_reference_t<decltype(find(s))>>(number);
            });
    }

    template <class Find>
    void real(const std::string& name, double low, double high, Find find) {
        add(
            name, [find](const State& s) { return number_text(find(const_cast<State&>(s))); },
            [name, low, high, find](State& s, const std::string& value) {
                double number = 0;
                if (!parse_number(value, number) || !(number >= low && number <= high))
                    refuse(name, value, "a number from " + number_text(low) + " to " + number_text(high));
                find(s) = static_cast<std::remove_reference_t<decltype(find(s))>>(number);
            });
    }

    template <class Find>
    void flag(const std::string& name, Find find) {
        add(
            name, [find](const State& s) { return std::string(find(const_cast<State&>(s)) ? "yes" : "no"); },
            [name, find](State& s, const std::string& value) {
                if (value != "yes" && value != "no") refuse(name, value, "yes or no");
                find(s) = value == "yes";
            });
    }

    /// One of several words, in the order of the values 0, 1, 2 ...
    template <class Find>
    void word(const std::string& name, std::vector<std::string> words, Find find) {
        add(
            name,
            [words, find](const State& s) { return words.at(static_cast<std::size_t>(find(const_cast<State&>(s)))); },
            [name, words, find](State& s, const std::string& value) {
                const auto found = std::find(words.begin(), words.end(), value);
                if (found == words.end()) {
                    std::string expected = "one of";
                    for (const std::string& word : words) expected += (word == words.front() ? " " : ", ") + word;
                    refuse(name, value, expected);
                }
                find(s) = static_cast<std::remove_reference_t<decltype(find(s))>>(found - words.begin());
            });
    }

    template <class Find>
    void cell(const std::string& name, Find find) {
        add(
            name,
            [find](const State& s) {
                const Cell& at = find(const_cast<State&>(s));
                return std::to_string(at.i) + "," + std::to_string(at.j);
            },
            [name, find](State& s, const std::string& value) {
                const std::vector<std::string> parts = split(value);
                Cell at;
                if (parts.size() != 2 || !parse_number(parts[0], at.i) || !parse_number(parts[1], at.j) || at.i < 0 ||
                    at.j < 0)
                    refuse(name, value, "row and column: I,J");
                find(s) = at;
            });
    }

    template <class Find>
    void view(const std::string& name, Find find) {
        add(
            name,
            [find](const State& s) {
                const MatrixView& v = find(const_cast<State&>(s));
                return number_text(v.first_i) + "," + number_text(v.first_j) + "," + number_text(v.extent);
            },
            [name, find](State& s, const std::string& value) {
                const std::vector<std::string> parts = split(value);
                MatrixView v;
                if (parts.size() != 3 || !parse_number(parts[0], v.first_i) || !parse_number(parts[1], v.first_j) ||
                    !parse_number(parts[2], v.extent) || !(v.first_i >= 0 && v.first_j >= 0 && v.extent >= 0))
                    refuse(name, value, "first row, first column and cells shown, 0 for all: I,J,N");
                find(s) = v;
            });
    }

    std::vector<StateField> all;

private:
    void add(const std::string& name, std::function<std::string(const State&)> get,
             std::function<void(State&, const std::string&)> set) {
        all.push_back({name, std::move(get), std::move(set)});
    }
};

void add_frame(Fields& fields) {
    // The one that is open, or will be.
    fields.text(
        "model", [](State & s) -> auto& { return s.wanted_model.empty() ? s.model : s.wanted_model; });
    fields.text(
        "page", [](State & s) -> auto& { return s.page; });
    fields.text(
        "text", [](State & s) -> auto& { return s.text; });
    fields.text(
        "tokens", [](State & s) -> auto& { return s.tokens; });
    fields.text(
        "mask", [](State & s) -> auto& { return s.mask; });
    fields.word(
        "dialect", {"official", "hf", "paper", "reference"}, [](State & s) -> auto& { return s.dialect; });
    fields.word(
        "theme", {"dark", "light"}, [](State & s) -> auto& { return s.theme; });
    fields.real(
        "zoom", 0.5, 4, [](State & s) -> auto& { return s.zoom; });
    fields.flag(
        "reduce_motion", [](State & s) -> auto& { return s.reduce_motion; });
    fields.whole(
        "layer", 0, [](State & s) -> auto& { return s.layer; });
    fields.whole(
        "head", 0, [](State & s) -> auto& { return s.head; });
    fields.cell(
        "cell", [](State & s) -> auto& { return s.cell; });
    fields.flag(
        "locked", [](State & s) -> auto& { return s.locked; });
    fields.view(
        "view", [](State & s) -> auto& { return s.view; });
    fields.whole(
        "term", -1, [](State & s) -> auto& { return s.shown_term; });
}

void add_exhibits(Fields& fields) {
    const auto choice = [&](const std::string& name, auto find) {
        fields.text(
            name + ".model", [find](State & s) -> auto& { return find(s).model; });
        fields.text(
            name + ".text", [find](State & s) -> auto& { return find(s).text; });
        fields.text(
            name + ".tokens", [find](State & s) -> auto& { return find(s).tokens; });
        fields.text(
            name + ".mask", [find](State & s) -> auto& { return find(s).mask; });
    };
    choice(
        "rope", [](State & s) -> auto& { return s.exhibits.roformer; });
    choice(
        "memory", [](State & s) -> auto& { return s.exhibits.transformer_xl; });
    choice(
        "permutation", [](State & s) -> auto& { return s.exhibits.xlnet; });
}

void add_pages(Fields& fields) {
    fields.whole(
        "decoder.head", -1, [](State & s) -> auto& { return s.decoder_head; });
    fields.real(
        "decoder.strength", 0, 1, [](State & s) -> auto& { return s.strength; });
    fields.real(
        "positions.length", 1, 4096, [](State & s) -> auto& { return s.positions.length; });
    fields.real(
        "positions.span", 1, 4096, [](State & s) -> auto& { return s.positions.span; });
    fields.real(
        "positions.farthest", 1, 65536, [](State & s) -> auto& { return s.positions.farthest; });
    fields.word(
        "positions.kind", {"clamp", "log"}, [](State & s) -> auto& { return s.positions.kind; });
    fields.cell(
        "positions.cell", [](State & s) -> auto& { return s.positions.cell; });
    fields.flag(
        "positions.locked", [](State & s) -> auto& { return s.positions.locked; });
    fields.whole(
        "rope.m", 0, [](State & s) -> auto& { return s.rope.m; });
    fields.whole(
        "rope.n", 0, [](State & s) -> auto& { return s.rope.n; });
    fields.real(
        "rope.shift", 0, 65536, [](State & s) -> auto& { return s.rope.shift; });
    fields.whole(
        "rope.query", 0, [](State & s) -> auto& { return s.rope.query; });
    fields.whole(
        "rope.key", 0, [](State & s) -> auto& { return s.rope.key; });
    fields.whole(
        "rope.layer", 0, [](State & s) -> auto& { return s.rope.layer; });
    fields.whole(
        "rope.head", 0, [](State & s) -> auto& { return s.rope.head; });
    fields.word(
        "rope.layout", {"interleaved", "half-split"}, [](State & s) -> auto& { return s.rope.layout; });
    fields.whole(
        "rope.base", 0, [](State & s) -> auto& { return s.rope.base; });
    fields.whole(
        "rope.scaling", 0, [](State & s) -> auto& { return s.rope.scaling; });
    fields.whole(
        "rope.factor", 1, [](State & s) -> auto& { return s.rope.factor; });
    fields.whole(
        "memory.length", 0, [](State & s) -> auto& { return s.memory.memory; });
    fields.whole(
        "memory.layer", 0, [](State & s) -> auto& { return s.memory.layer; });
    fields.whole(
        "memory.head", 0, [](State & s) -> auto& { return s.memory.head; });
    fields.cell(
        "memory.cell", [](State & s) -> auto& { return s.memory.cell; });
    fields.flag(
        "memory.locked", [](State & s) -> auto& { return s.memory.locked; });
    fields.whole(
        "memory.frame", 0, [](State & s) -> auto& { return s.memory.frame; });
    fields.flag(
        "memory.playing", [](State & s) -> auto& { return s.memory.playing; });
    fields.whole(
        "permutation.sentence", 0, [](State & s) -> auto& { return s.permutation.sentence; });
    fields.whole(
        "permutation.layer", 0, [](State & s) -> auto& { return s.permutation.layer; });
    fields.whole(
        "permutation.head", 0, [](State & s) -> auto& { return s.permutation.head; });
    fields.whole(
        "permutation.card", -1, [](State & s) -> auto& { return s.permutation.card; });
    fields.whole(
        "permutation.row", -1, [](State & s) -> auto& { return s.permutation.row; });
}

void add_text_page(Fields& fields) {
    fields.text(
        "text_page.documents", [](State & s) -> auto& { return s.text_page.documents; });
    fields.word(
        "text_page.weights", {"counts", "tf-idf"}, [](State & s) -> auto& { return s.text_page.weights; });
    fields.flag(
        "text_page.stop_words", [](State & s) -> auto& { return s.text_page.stop_words; });
    fields.whole(
        "text_page.topics", 1, [](State & s) -> auto& { return s.text_page.topics; });
    fields.cell(
        "text_page.weight", [](State & s) -> auto& { return s.text_page.weight; });
    fields.cell(
        "text_page.pair", [](State & s) -> auto& { return s.text_page.pair; });
    fields.cell(
        "text_page.move", [](State & s) -> auto& { return s.text_page.move; });
    fields.view(
        "text_page.view", [](State & s) -> auto& { return s.text_page.view; });
    fields.flag(
        "text_page.locked", [](State & s) -> auto& { return s.text_page.locked; });
}

void add_compare(Fields& fields) {
    const auto side = [&](const std::string& name, auto find) {
        fields.text(
            name + ".file", [find](State & s) -> auto& { return find(s).file; });
        fields.word(
            name + ".dialect",
            {"official", "hf", "paper", "reference"}, [find](State & s) -> auto& { return find(s).dialect; });
        fields.flag(
            name + ".exact", [find](State & s) -> auto& { return find(s).exact; });
        fields.whole(
            name + ".layer", -1, [find](State & s) -> auto& { return find(s).layer; });
        fields.text(
            name + ".mistake", [find](State & s) -> auto& { return find(s).mistake; });
        fields.text(
            name + ".text", [find](State & s) -> auto& { return find(s).text; });
        fields.text(
            name + ".model", [find](State & s) -> auto& { return find(s).model; });
        fields.word(
            name + ".device", {"cpu", "cuda"}, [find](State & s) -> auto& { return find(s).gpu; });
    };
    side(
        "compare.a", [](State & s) -> auto& { return s.compare.a; });
    side(
        "compare.b", [](State & s) -> auto& { return s.compare.b; });
    fields.text(
        "compare.stage", [](State & s) -> auto& { return s.compare.stage; });
    fields.whole(
        "compare.sample", 0, [](State & s) -> auto& { return s.compare.sample; });
    fields.whole(
        "compare.head", 0, [](State & s) -> auto& { return s.compare.head; });
    fields.whole(
        "compare.other_head", -1, [](State & s) -> auto& { return s.compare.other_head; });
    fields.view(
        "compare.view", [](State & s) -> auto& { return s.compare.view; });
    fields.cell(
        "compare.cell", [](State & s) -> auto& { return s.compare.cell; });
    fields.flag(
        "compare.locked", [](State & s) -> auto& { return s.compare.locked; });
    fields.flag(
        "compare.zoo", [](State & s) -> auto& { return s.compare.zoo; });
    fields.text(
        "compare.zoo_typed", [](State & s) -> auto& { return s.compare.zoo_typed; });
    fields.whole(
        "compare.shown_case", 0, [](State & s) -> auto& { return s.compare.shown_case; });
}

}  // namespace

const std::vector<StateField>& state_fields() {
    static const std::vector<StateField> fields = [] {
        Fields all;
        add_frame(all);
        add_exhibits(all);
        add_pages(all);
        add_text_page(all);
        add_compare(all);
        return std::move(all.all);
    }();
    return fields;
}

const StateField& state_field(const std::string& name) {
    const auto& all = state_fields();
    const auto found = std::find_if(all.begin(), all.end(), [&](const StateField& f) { return f.name == name; });
    if (found == all.end())
        throw Error(Fault::usage,
                    "there is no \"" + name + "\" on screen, expected a name such as page, cell or rope.m");
    return *found;
}

void set_field(State& state, const std::string& name_and_value) {
    const std::size_t equals = name_and_value.find('=');
    LOCUS_CHECK(equals != std::string::npos, "\"" + name_and_value + "\" sets nothing, expected NAME=VALUE");
    state_field(name_and_value.substr(0, equals)).set(state, name_and_value.substr(equals + 1));
}

std::vector<std::string> changed_fields(const State& state, const State& other) {
    std::vector<std::string> changed;
    for (const StateField& field : state_fields()) {
        const std::string value = field.get(state);
        if (value != field.get(other)) changed.push_back(field.name + "=" + value);
    }
    return changed;
}

}  // namespace locus
