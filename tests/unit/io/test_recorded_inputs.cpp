// What a pass was given, in the metadata of its trace.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/io/mistake_list.h"
#include "core/io/recorded_inputs.h"
#include "tests/files.h"

namespace locus::test::test_recorded_inputs {

using Catch::Contains;

namespace {

bool same(const IndexTensor& a, const IndexTensor& b) {
    return a.shape() == b.shape() && std::equal(a.values().begin(), a.values().end(), b.values().begin());
}

std::string refused(const std::string& text) {
    return refusal([&] { inputs_from_json(text, "a.safetensors"); });
}

}  // namespace

TEST_CASE("recorded inputs: what is written is read again, segment by segment", "[inputs]") {
    std::vector<ModelInput> segments(2);
    segments[0].tokens = IndexTensor({2, 3}, {1, 2, 3, 4, 5, 6});
    segments[0].mask = IndexTensor({2, 3}, {1, 1, 1, 1, 1, 0});
    segments[0].perm_mask = IndexTensor({1, 2, 2}, {0, 1, 0, 0});
    segments[1].tokens = IndexTensor({1, 1}, {-7});
    const std::string text = inputs_as_json(segments);
    CHECK(text == R"([{"tokens":[[1,2,3],[4,5,6]],"mask":[[1,1,1],[1,1,0]],"perm_mask":[[[0,1],[0,0]]]},)"
                  R"({"tokens":[[-7]]}])");
    const std::vector<ModelInput> again = inputs_from_json(text, "here");
    REQUIRE(again.size() == 2);
    CHECK(same(again[0].tokens, segments[0].tokens));
    CHECK(same(again[0].mask, segments[0].mask));
    CHECK(same(again[0].perm_mask, segments[0].perm_mask));
    CHECK(again[0].labels.empty());
    CHECK(same(again[1].tokens, segments[1].tokens));
    CHECK(inputs_as_json(again) == text);
}

TEST_CASE("recorded inputs: one object is one segment, and nested lists are tokens", "[inputs]") {
    CHECK(same(inputs_from_json(R"({"tokens": [[1, 2]]})", "here").front().tokens, IndexTensor({1, 2}, {1, 2})));
    CHECK(same(inputs_from_json("[[1, 2], [3, 4]]", "here").front().tokens, IndexTensor({2, 2}, {1, 2, 3, 4})));
}

TEST_CASE("recorded inputs: memories, and more numbers than a header should hold, are not written", "[inputs]") {
    std::vector<ModelInput> one(1);
    one.front().tokens = IndexTensor({1, 1000001});
    CHECK(inputs_as_json(one).empty());
    one.front().tokens = IndexTensor({1, 1});
    CHECK_FALSE(inputs_as_json(one).empty());
    one.front().memories.resize(1);
    CHECK(inputs_as_json(one).empty());
}

TEST_CASE("recorded inputs: anything else is refused in one sentence", "[inputs][bad]") {
    CHECK_THAT(refused("{"), Contains("a.safetensors: not valid JSON at byte 2, expected one value"));
    // Copied or printed, it would cost the stack.
    CHECK_THAT(refused(std::string(2'000'000, '[') + std::string(2'000'000, ']')),
               Contains("a.safetensors: the JSON nests deeper than 64"));
    CHECK_THAT(refused("7"), Contains("expected a list of segments"));
    CHECK_THAT(refused("[]"), Contains("expected a list of segments"));
    CHECK_THAT(refused("[7]"), Contains("segment 0: expected an object"));
    CHECK_THAT(refused("{}"), Contains("has no tokens [B, T]"));
    CHECK_THAT(refused(R"([{"tokens":[[1]]},{"mask":[[1]]}])"), Contains("segment 1: has no tokens"));
    CHECK_THAT(refused(R"({"tokens":[1]})"), Contains("has no tokens [B, T]"));
    CHECK_THAT(refused(R"({"tokens":[[1],[2,3]]})"), Contains("tokens: its lists differ in length, expected 1"));
    CHECK_THAT(refused(R"({"tokens":[[1],2]})"), Contains("expected nested lists of whole numbers"));
    CHECK_THAT(refused(R"({"tokens":[1,[2]]})"), Contains("tokens: numbers and lists stand beside each other"));
    CHECK_THAT(refused(R"({"tokens":[[1.5]]})"), Contains("expected nested lists of whole numbers"));
    CHECK_THAT(refused(R"({"tokens":[[[[[1]]]]]})"), Contains("expected nested lists of whole numbers"));
    CHECK_THAT(refused(R"({"tokens":[[]]})"), Contains("expected nested lists of whole numbers"));
    CHECK_THAT(refused(R"({"tokens":"1"})"), Contains("expected nested lists of whole numbers"));
}

TEST_CASE("mistake list: the file that comes along is read, another is refused by its entry", "[inputs]") {
    const std::vector<MistakeEntry> entries = read_mistake_list(mistake_list_file());
    REQUIRE(entries.size() >= 100);
    CHECK(entry_of(entries, 7).number == 7);
    CHECK_FALSE(entry_of(entries, 7).ways.empty());
    CHECK_THAT(refusal([&] { entry_of(entries, 999); }, Fault::usage), Contains("no mistake 999"));
    const TemporaryFolder folder;
    const fs::path file = write_bytes(folder / "list.json", R"({"mistakes": [{"number": 1}]})");
    CHECK_THAT(refusal([&] { read_mistake_list(file); }), Contains("list.json: mistakes[0] is not an entry"));
    write_bytes(file, R"({})");
    CHECK_THAT(refusal([&] { read_mistake_list(file); }), Contains("list.json: mistakes[0] is not an entry"));
}

}  // namespace locus::test::test_recorded_inputs
