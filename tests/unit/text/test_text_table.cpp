// Columns of text, and the text that a vocabulary is learnt from.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>

#include "core/text/corpus/corpus_text.h"
#include "core/text/text_table.h"
#include "tests/files.h"

namespace locus::test::test_text_table {

using Catch::Contains;
using Lines = std::vector<std::string_view>;

TEST_CASE("text table: columns are as wide as their widest cell, numbers stand at the right", "[text]") {
    CHECK(text_table({{"word", "count"}, {"a", "12"}, {"longer", "3"}}, {false, true}) ==
          "word    count\n"
          "a          12\n"
          "longer      3\n");
    CHECK(text_table({{"a", "b"}, {"ccc", ""}}, {false, false}) == "a    b\nccc\n");  // no blanks at the end
    CHECK(text_table({}, {}).empty());
    // What a file calls something cannot steer the terminal.
    CHECK(text_table({{"a\x1b[2Jb", "1"}, {"c\u009bd\x7f\n", "2"}}, {false, true}) == "a?[2Jb  1\nc?d??   2\n");
}

TEST_CASE("text table: a width is counted in columns of a terminal", "[text]") {
    CHECK(display_width("") == 0);
    CHECK(display_width("abc") == 3);
    CHECK(display_width("\u00e9") == 1);
    CHECK(display_width("e\u0301") == 1);  // a combining accent takes none
    CHECK(display_width("\uc790\ub9ac") == 4);
    CHECK(display_width("\uff21") == 2);
    CHECK(display_width("a\xff"
                        "b") == 2);  // a byte of no character
    CHECK(text_table({{"\uc790", "1"}, {"abc", "2"}}, {false, true}) == "\uc790   1\nabc  2\n");
}

TEST_CASE("text table: numbers have six digits", "[text]") {
    CHECK(format_number(1.23456789) == "1.23457");
    CHECK(format_number(-3.2e-7) == "-3.2e-07");
    CHECK(format_number(std::numeric_limits<double>::quiet_NaN()) == "nan");
    CHECK(format_number(1.23456789, 3) == "1.23");
    CHECK(format_number(1.0 / 3, 17) == "0.33333333333333331");
}

TEST_CASE("text table: numbers have a point, whatever the locale is", "[text]") {
    struct Comma : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
    };
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
    std::ostringstream here;
    here << 0.25;
    const std::string found = format_number(0.25);
    std::locale::global(before);
    REQUIRE(here.str() == "0,25");
    CHECK(found == "0.25");
}

TEST_CASE("corpus text: a file without different words, or that is no text, is named", "[text][bad]") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& bytes) {
        const fs::path file = write_bytes(folder / "corpus.txt", bytes);
        const std::string sentence = refusal([&] { read_corpus_text(file); });
        CHECK_THAT(sentence, Contains("corpus.txt: "));
        return sentence;
    };
    CHECK_THAT(refused(" \n\t\n"), Contains("holds no word"));
    CHECK_THAT(refused("word word\nword"), Contains("holds one word only, \"word\""));
    CHECK_THAT(refused(std::string("a\0b", 3)), Contains("a NUL byte at byte 1"));
    CHECK_THAT(refused("ab \xff cd"), Contains("is not UTF-8 at byte 3"));
    CHECK(read_corpus_text(write_bytes(folder / "good.txt", "a b\n")) == "a b\n");
}

TEST_CASE("corpus text: long lines are cut at a blank, or in front of a character", "[text]") {
    CHECK(short_lines("one\n\n  two \r\nthree", 100) == Lines{"one", "two", "three"});
    CHECK(short_lines("one two three", 7) == Lines{"one two", "three"});
    CHECK(short_lines("\U0001f600\U0001f600", 5) == Lines{"\U0001f600", "\U0001f600"});
    CHECK_THAT(refusal([] { short_lines("a", 3); }, Fault::usage), Contains("expected 4 or more"));
}

}  // namespace locus::test::test_text_table
