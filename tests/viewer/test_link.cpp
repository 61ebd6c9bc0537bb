// Links of a browser: the words of a command, said after "#".
#include <catch2/catch.hpp>

#include "tests/lessons/lesson_files.h"
#include "viewer/state/command_line.h"
#include "viewer/state/link.h"
#include "viewer/state/state_fields.h"

namespace locus::test::test_link {

using Words = std::vector<std::string>;

TEST_CASE("link: a screen as an address, and back to the words that draw it", "[viewer][link]") {
    State state;
    state.page = "decoder";
    state.text = "50 % of \"a & b\" = #[MASK]+\u00e9";
    state.layer = 4;
    state.cell = {3, 5};
    state.rope.m = -7;
    const Words words = command_words(state, 1280, 800);
    const std::string link = link_of(words);
    CHECK(link.find_first_of(" \"#+\u00e9") == link.find('+'));  // a plus sign stands for a blank
    REQUIRE(words.size() > 6);
    Words pairs;
    for (std::size_t at = 2; at + 1 < words.size(); at += 2) pairs.push_back(words[at] + "=" + words[at + 1]);
    CHECK((words_of_link("#" + link) == pairs));
}

TEST_CASE("link: names, escapes, and the parts that say nothing", "[viewer][link]") {
    CHECK(link_of({"locus", "view", "tiny-xlnet", "--text", "a b", "--set", "rope.m=7", "--size", "800x600"}) ==
          "model=tiny-xlnet&text=a+b&rope.m=7");
    CHECK(link_of({"locus", "view", "--text=-1 %"}) == "text=-1+%25");
    CHECK(link_of({"locus", "view", "--set", "text=a=b"}) == "set.text=a%3Db");
    CHECK((words_of_link("page=text&set.text=a%3Db") == Words{"--page=text", "--set=text=a=b"}));
    CHECK((words_of_link("page=rope&rope.m=7&text=a+b%26c") == Words{"--page=rope", "--set=rope.m=7", "--text=a b&c"}));
    CHECK((words_of_link("") == Words{}));
    CHECK((words_of_link("#&page&=x&cell=3,5&text=%4") == Words{"--cell=3,5", "--text=%4"}));
}

TEST_CASE("link: the state that a lesson shows is one that the viewer takes", "[viewer][link]") {
    int shown = 0;
    for (const LessonFile& file : lesson_files()) {
        INFO("lesson " << file.number);
        CHECK(file.show.empty() == (file.page == "none"));
        State state;
        for (const std::string& word : words_of_link(file.show)) {
            INFO(word);
            const std::string pair = word.starts_with("--set=") ? word.substr(6) : word.substr(2);
            REQUIRE_NOTHROW(set_field(state, pair));
            CHECK(state_field(pair.substr(0, pair.find('='))).get(state) == pair.substr(pair.find('=') + 1));
            ++shown;
        }
        CHECK((file.show.empty() || !changed_fields(state).empty()));
    }
    CHECK(shown > 60);
}

}  // namespace locus::test::test_link
