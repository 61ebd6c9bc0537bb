// Cards that are moved, and who sees whom afterwards.
#include "viewer/pages/permutation/token_cards.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace locus::test::test_token_cards {

namespace {

std::string bits(const Visibility& visible) {
    std::string text;
    for (Index i = 0; i < visible.rows(); ++i) {
        if (i > 0) text += "/";
        for (Index j = 0; j < visible.cols(); ++j) text += visible(i, j) ? "1" : "0";
    }
    return text;
}

}  // namespace

TEST_CASE("cards: the seed's orders open the seed's masks", "[viewer][xlnet][golden]") {
    const auto check = [](const std::vector<Index>& order, const std::string& query, const std::string& content) {
        const StreamVisibility visible = visibility_of(cards_of_order(order));
        CHECK(bits(visible.query) == query);
        CHECK(bits(visible.content) == content);
    };
    check({2, 1, 3, 0}, "0111/0010/0000/0110", "1111/0110/0010/0111");
    check({1, 3, 2, 0}, "0111/0000/0101/0100", "1111/0100/0111/0101");
    check({0, 3, 1, 2}, "0000/1001/1101/1000", "1000/1101/1111/1001");
    check({3, 2, 0, 1}, "0011/1011/0001/0000", "1011/1111/0011/0001");
}

TEST_CASE("cards: given words see each other and no target", "[viewer][xlnet]") {
    // The mask of the trained example: the last two words are predicted, 2 before 1.
    const CardRow cards = {0, 3, kDivider, 2, 1};
    const StreamVisibility visible = visibility_of(cards);
    CHECK(bits(visible.content) == "1001/1111/1011/1001");
    CHECK(bits(visible.query) == "0000/1011/1001/0000");
}

TEST_CASE("cards: moving one past the divider makes it a target", "[viewer][xlnet]") {
    const CardRow cards = {0, 1, 2, kDivider, 3};
    CHECK(moved(cards, 1, 3) == CardRow{0, 2, kDivider, 1, 3});
    CHECK(moved(cards, 1, 4) == CardRow{0, 2, kDivider, 3, 1});
    // The divider itself can be moved, and given cards fall back into text order.
    CHECK(moved(cards, 3, 1) == CardRow{0, kDivider, 1, 2, 3});
    CHECK(moved({2, kDivider, 1, 0}, 3, 1) == CardRow{0, 2, kDivider, 1});
    CHECK(moved(cards, 2, 2) == cards);
    CHECK(predicted_of(moved(cards, 1, 3)) == std::vector<Index>{1, 3});
    CHECK(given_of(moved(cards, 1, 3)) == std::vector<Index>{0, 2});
    CHECK_THROWS_AS(moved(cards, 5, 0), Error);
}

TEST_CASE("cards: keys move one past the divider and back, and along the prediction", "[viewer][xlnet]") {
    const CardRow cards = {0, 1, 2, kDivider, 4, 3};
    CHECK(stepped(cards, 1, 1) == CardRow{0, 2, kDivider, 1, 4, 3});
    CHECK(stepped(cards, 1, -1) == cards);
    CHECK(stepped(stepped(cards, 1, 1), 3, -1) == cards);
    CHECK(stepped(cards, 4, 1) == CardRow{0, 1, 2, kDivider, 3, 4});
    CHECK(stepped(cards, 5, 1) == cards);
    CHECK(stepped(cards, 3, -1) == CardRow{0, 1, kDivider, 2, 4, 3});
    CHECK(stepped({kDivider, 0}, 0, -1) == CardRow{kDivider, 0});
    CHECK(slot_of(cards, 4) == 4);
}

TEST_CASE("cards: every move keeps every card", "[viewer][xlnet][law]") {
    CardRow cards = {0, 1, kDivider, 4, 2, 3};
    for (std::size_t from = 0; from < cards.size(); ++from)
        for (std::size_t to = 0; to < cards.size(); ++to) {
            CardRow after = moved(cards, from, to);
            std::sort(after.begin(), after.end());
            CHECK(after == CardRow{kDivider, 0, 1, 2, 3, 4});
        }
}

TEST_CASE("cards: who sees whom in words", "[viewer][xlnet]") {
    const CardRow cards = cards_of_order({2, 1, 3, 0});
    CHECK(sees_in_words(cards, 3) == "position 4 is predicted from 3 and 2");
    CHECK(sees_in_words(cards, 1) == "position 2 is predicted from 3");
    CHECK(sees_in_words(cards, 0) == "position 1 is predicted from 3, 2 and 4");
    CHECK(sees_in_words(cards, 2) == "position 3 is predicted from its position alone");
    CHECK(sees_in_words({0, 3, kDivider, 1, 2}, 2) == "position 3 is predicted from 1, 4 and 2");
    CHECK(sees_in_words({0, 3, 4, kDivider, 1, 2}, 2) ==
          "position 3 is predicted from the 3 given words and from position 2");
    const CardRow later = {0, 3, 4, 5, kDivider, 1, 6, 2};
    CHECK(sees_in_words(later, 2) == "position 3 is predicted from the 4 given words and from positions 2 and 7");
    // Padding is seen by nothing.
    CHECK(sees_in_words(later, 2, {false, false, false, false, false, true, true}) ==
          "position 3 is predicted from the 3 given words and from position 2");
    CHECK(sees_in_words(later, 2, {false, false, false, true, true, true, true}) ==
          "position 3 is predicted from 1 and 2");
    CHECK(sees_in_words(later, 1, std::vector<bool>(7, true)) == "position 2 is predicted from its position alone");
    CHECK(sees_in_words({0, kDivider, 1}, 0) == "position 1 is given, not predicted");
}

TEST_CASE("cards: the slot under the pointer is the slot that is drawn there", "[viewer][xlnet]") {
    const CardRow cards = {0, 1, kDivider, 2};
    const CardPlaces places{10, 50, 20};
    CHECK(places.edge(cards, 0) == 10);
    CHECK(places.edge(cards, 2) == 110);
    CHECK(places.edge(cards, 3) == 130);
    CHECK(places.edge(cards, 4) == 180);
    for (std::size_t slot = 0; slot < cards.size(); ++slot)
        CHECK(places.slot_at(cards, (places.edge(cards, slot) + places.edge(cards, slot + 1)) / 2) == slot);
    CHECK(places.slot_at(cards, -100) == 0);
    CHECK(places.slot_at(cards, 1000) == 3);
}

TEST_CASE("cards: an order written as on screen reads back as itself", "[viewer][xlnet]") {
    const CardRow cards = cards_of_text("4 6", 9);
    CHECK(cards == CardRow{0, 1, 2, 4, 6, 7, 8, kDivider, 3, 5});
    CHECK(order_text(cards) == "4 6");
    CHECK(cards_of_text("4 12 6", 9) == cards);  // beyond the sentence
    CHECK(cards_of_text("-", 2) == CardRow{0, 1, kDivider});
    CHECK(order_text(cards_of_text("-", 2)) == "-");
    CHECK_THROWS_WITH(cards_of_text("4 six", 9), Catch::Contains("\"six\""));
    CHECK_THROWS_WITH(cards_of_text("0", 9), Catch::Contains("counted from 1"));
    CHECK_THROWS_WITH(cards_of_text("4 4", 9), Catch::Contains("twice"));
    CHECK_THROWS_WITH(cards_of_text("4,6", 9), Catch::Contains("with blanks between them"));
}

TEST_CASE("cards: a click predicts a given card last, and gives a predicted one", "[viewer][xlnet]") {
    const CardRow cards = cards_of_text("4 6", 9);
    CHECK(order_text(toggled(cards, 1)) == "4 6 2");
    CHECK(order_text(toggled(cards, 3)) == "6");
    CHECK(given_of(toggled(cards, 3)) == std::vector<Index>{0, 1, 2, 3, 4, 6, 7, 8});
    for (Index position = 0; position < 9; ++position)
        CHECK(order_text(toggled(toggled(toggled(cards, position), position), position)) ==
              order_text(toggled(cards, position)));
}

TEST_CASE("cards: two orders with the same words before ask for different places, and only g can tell",
          "[viewer][xlnet][law]") {
    const CardRow cards = cards_of_order({2, 1, 3, 0});  // 3 2 4 1
    CHECK_FALSE(same_prefix(cards, 0).has_value());
    const auto other = same_prefix(cards, 3);
    REQUIRE(other.has_value());
    CHECK(order_text(*other) == "3 2 1 4");
    const StreamVisibility one = visibility_of(cards), two = visibility_of(*other);
    // The words that were predicted before: the same ones, with the same view.
    for (const Index before : {2, 1}) CHECK(one.content.row(before) == two.content.row(before));
    // What the target may look at is the same set; which target it is, is not.
    CHECK(one.query.row(3) == two.query.row(0));
    CHECK_FALSE(same_prefix(cards_of_text("4 6", 9), 0).has_value());
}

}  // namespace locus::test::test_token_cards
