// Batches without padding.
#include <catch2/catch.hpp>

#include "core/training/batch.h"
#include "tests/files.h"

namespace locus::test::test_batch {

using locus::test::refusal;

namespace {

ModelInput two_sentences() {
    ModelInput input;
    input.tokens = IndexTensor({2, 3}, {1, 5, 2, 1, 2, 0});
    input.labels = IndexTensor({2, 3}, {0, 7, 0, 0, 0, 0});
    return input;
}

PackedBatch uneven() {
    PackedBatch batch;
    batch.tokens = {1, 5, 6, 2, 1, 2};
    batch.starts = {0, 4, 6};
    return batch;
}

}  // namespace

TEST_CASE("packed batch: sentences of a padded input keep their rows, labels and order", "[batch]") {
    const PackedBatch batch = packed_batch(two_sentences());
    CHECK(batch.tokens == std::vector<std::int64_t>{1, 5, 2, 1, 2, 0});
    CHECK(batch.labels == std::vector<std::int64_t>{0, 7, 0, 0, 0, 0});
    CHECK(batch.starts == std::vector<Index>{0, 3, 6});
    CHECK(batch.sentences() == 2);
    CHECK(batch.rows() == 6);
    CHECK(batch.length(1) == 3);
    CHECK(batch.masks.empty());
    CHECK(batch.visible.empty());
    CHECK_NOTHROW(check_batch(batch, 8));
}

TEST_CASE("packed batch: a hidden token stays a row, sees nobody and is seen by nobody", "[batch]") {
    ModelInput input = two_sentences();
    input.mask = IndexTensor({2, 3}, {1, 1, 1, 1, 1, 0});
    const PackedBatch batch = packed_batch(input);
    CHECK(batch.rows() == 6);
    CHECK(batch.visible == std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0});
    REQUIRE(batch.masks.size() == 2);
    CHECK(batch.masks[0].cast<int>().sum() == 9);
    Mask expected(3, 3);
    expected << 1, 1, 0, 1, 1, 0, 0, 0, 0;
    CHECK(batch.masks[1] == expected);
    CHECK_NOTHROW(check_batch(batch, 8));
}

TEST_CASE("packed batch: a mask of pairs is kept as it is; a token is visible if anyone sees it", "[batch]") {
    ModelInput input = two_sentences();
    input.mask = IndexTensor({2, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0});
    const PackedBatch batch = packed_batch(input);
    Mask lower(3, 3), first(3, 3);
    lower << 1, 0, 0, 1, 1, 0, 1, 1, 1;
    first << 1, 0, 0, 1, 0, 0, 1, 0, 0;
    REQUIRE(batch.masks.size() == 2);
    CHECK(batch.masks[0] == lower);
    CHECK(batch.masks[1] == first);
    CHECK(batch.visible == std::vector<std::uint8_t>{1, 1, 1, 1, 0, 0});
}

TEST_CASE("packed batch: what does not fit is named", "[batch]") {
    CHECK_NOTHROW(check_batch(uneven(), 7));
    const auto sentence = [](auto spoil) {
        PackedBatch batch = uneven();
        spoil(batch);
        return refusal([&] { check_batch(batch, 7); }, Fault::usage);
    };
    CHECK(sentence([](PackedBatch& b) {
              b.starts = {0, 4};
          }) == "batch: starts has 2 numbers, from 0 to 4, expected from 0 to the 6 rows of tokens");
    CHECK(sentence([](PackedBatch& b) {
              b.starts = {0, 4, 4, 6};
          }) == "batch: sentence 1 has 0 tokens, expected at least one");
    CHECK(sentence([](PackedBatch& b) { b.tokens[2] = 7; }) ==
          "batch: tokens holds 7, expected ids from 0 to vocab_size - 1 = 6");
    CHECK(sentence([](PackedBatch& b) { b.labels = {0, -1, 0, 0, 0, 0}; }) ==
          "batch: labels holds -1, expected ids from 0 to vocab_size - 1 = 6");
    CHECK(sentence([](PackedBatch& b) { b.labels = {0}; }) == "batch: labels has 1 entries, expected 6 like tokens");
    CHECK(sentence([](PackedBatch& b) { b.masks = {Mask(4, 4)}; }) ==
          "batch: there are 1 masks, expected one for each of the 2 sentences");
    CHECK(sentence([](PackedBatch& b) {
              b.masks = {Mask::Ones(4, 4), Mask::Ones(3, 2)};
          }) == "batch: the mask of sentence 1 has shape [3, 2], expected [2, 2]");
}

}  // namespace locus::test::test_batch
