#pragma once
// The kinds of values that fields of the state hold: how each is written and read.  For state_fields.cpp alone.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.h"
#include "viewer/pages/permutation/token_cards.h"
#include "viewer/state/state_fields.h"

namespace locus::state_field_kinds {

[[noreturn]] inline void refuse(const std::string& name, const std::string& value, const std::string& expected) {
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

inline std::vector<std::string> split(const std::string& text) {
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

    /// Positions counted from 1 in the order of their prediction, "-" for none, nothing for the sentence's own.
    template <class Find>
    void order(const std::string& name, Find find) {
        add(
            name, [find](const State& s) { return find(const_cast<State&>(s)); },
            [name, find](State& s, const std::string& value) {
                try {
                    cards_of_text(value, 0);
                } catch (const Error& error) {
                    throw Error(Fault::usage, name + ": " + error.what());
                }
                find(s) = value;
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

    /// Whole numbers from 0, rising: "1,4,5"; empty: none.
    template <class Find>
    void numbers(const std::string& name, Find find) {
        add(
            name,
            [find](const State& s) {
                std::string text;
                for (const Index number : find(const_cast<State&>(s)))
                    text += (text.empty() ? "" : ",") + std::to_string(number);
                return text;
            },
            [name, find](State& s, const std::string& value) {
                std::vector<Index> numbers;
                for (const std::string& part : value.empty() ? std::vector<std::string>() : split(value)) {
                    Index number = 0;
                    if (!parse_number(part, number) || number < (numbers.empty() ? 0 : numbers.back() + 1))
                        refuse(name, value, "rising whole numbers from 0 such as 1,4,5");
                    numbers.push_back(number);
                }
                find(s) = numbers;
            });
    }

    std::vector<StateField> all;

private:
    void add(const std::string& name, std::function<std::string(const State&)> get,
             std::function<void(State&, const std::string&)> set) {
        all.push_back({name, std::move(get), std::move(set)});
    }
};

}  // namespace locus::state_field_kinds
