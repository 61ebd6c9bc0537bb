#include <catch2/catch.hpp>
#include <numeric>
#include <string>

#include "core/positions/factorisation_order.h"
#include "tests/files.h"

namespace locus::test::test_factorisation_order {

namespace {

/// "0111/0010/0000/0110"
std::string rows_of(const Visibility& visible) {
    std::string text;
    for (Index i = 0; i < visible.rows(); ++i) {
        if (i > 0) text += '/';
        for (Index j = 0; j < visible.cols(); ++j) text += visible(i, j) ? '1' : '0';
    }
    return text;
}

}  // namespace

TEST_CASE("factorisation order: the masks of the seed's orders", "[order][golden]") {
    struct Golden {
        std::vector<Index> order;  // positions from 1, as printed
        std::string query, content;
    };
    for (const Golden& golden : {Golden{{1, 2, 3, 4}, "0000/1000/1100/1110", "1000/1100/1110/1111"},
                                 Golden{{3, 2, 4, 1}, "0111/0010/0000/0110", "1111/0110/0010/0111"},
                                 Golden{{2, 4, 3, 1}, "0111/0000/0101/0100", "1111/0100/0111/0101"},
                                 Golden{{1, 4, 2, 3}, "0000/1001/1101/1000", "1000/1101/1111/1001"},
                                 Golden{{4, 3, 1, 2}, "0011/1011/0001/0000", "1011/1111/0011/0001"},
                                 Golden{{3, 2, 1, 4}, "0110/0010/0000/1110", "1110/0110/0010/1111"}}) {
        std::vector<Index> order = golden.order;
        for (Index& position : order) --position;
        CHECK(rows_of(query_visibility(order)) == golden.query);
        CHECK(rows_of(content_visibility(order)) == golden.content);
    }
}

TEST_CASE("factorisation order: ranks are the inverse of the order", "[order][golden]") {
    CHECK(ranks_of_order({2, 1, 3, 0}) == std::vector<Index>{3, 1, 0, 2});
}

TEST_CASE("factorisation order: content sees what the query sees, and itself", "[order][law]") {
    std::vector<Index> order(5);
    std::iota(order.begin(), order.end(), Index(0));
    int orders = 0;
    do {
        Visibility both = query_visibility(order);
        both.diagonal().array() += 1;
        CHECK(both == content_visibility(order));
        CHECK(query_visibility(order).cast<int>().sum() == 10);  // every pair in one direction
        ++orders;
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(orders == 120);
}

TEST_CASE("factorisation order: partial prediction as the data code has it", "[order][golden]") {
    const PartialOrder partial{{3, 1, 0, 2}, {true, false, true, false}, {false, false, false, true}};
    CHECK(rows_of(local_permutation_mask(partial)) == "1000/1011/1011/1000");
    // All tokens targets: hidden is what the query stream does not see.
    const std::vector<Index> order = {2, 1, 3, 0};
    const PartialOrder all{ranks_of_order(order), std::vector<bool>(4, true), std::vector<bool>(4, false)};
    const Visibility hidden = local_permutation_mask(all), seen = query_visibility(order);
    CHECK((hidden.array() + seen.array() == 1).all());
}

TEST_CASE("factorisation order: an order that is no permutation is refused", "[order][bad]") {
    const auto refused = [](auto call) { return test::refusal(call, Fault::usage); };
    CHECK(refused([] { ranks_of_order({0, 2, 2}); }).find("entry 2 is 2") != std::string::npos);
    CHECK(refused([] { content_visibility({1, 2, 3}); }).find("entry 2 is 3") != std::string::npos);
    CHECK(refused([] { query_visibility({-1, 0}); }).find("entry 0 is -1") != std::string::npos);
    CHECK(refused([] {
              local_permutation_mask({{0, 1}, {true}, {false, false}});
          }).find("as many") != std::string::npos);
}

}  // namespace locus::test::test_factorisation_order
