// JSON texts that the parser alone would take, or would take for ever.
#include "core/json_text.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/files.h"

namespace locus::test::test_json_text {

using Catch::Contains;

namespace {

std::string refused(const std::string& text) {
    return refusal([&] { parse_json_object(text, "file"); });
}

}  // namespace

TEST_CASE("json_text: one object and nothing else", "[json_text]") {
    CHECK(parse_json_object(R"({"a": [1, {"a": null}], "b": "\u0000"})", "file")["a"][0] == 1);
    CHECK_THAT(refused("{} {}"), Contains("file: not valid JSON at byte"));
    CHECK_THAT(refused(std::string("{}\0\0", 4)), Contains("file: not valid JSON at byte 3"));
    CHECK_THAT(refused(std::string("{\0}", 3)), Contains("file: not valid JSON at byte 2"));
    CHECK_THAT(refused("[1]"), Contains("not a JSON object"));
    CHECK_THAT(refused("{\"a\": 1e999}"), Contains("a number is larger than any double"));
    CHECK_THAT(refused("{\"a\": NaN}"), Contains("not valid JSON at byte"));
    CHECK_THAT(refused(R"({"a": {"b": 1, "c": [{"b": 2}], "b": 3}})"), Contains("the key \"b\" twice"));
    CHECK_THAT(refused(std::string(100000, '[')), Contains("nests deeper than 64"));
}

TEST_CASE("json_text: a field and an object to a line, a list of numbers or words on one", "[json_text]") {
    const auto value = nlohmann::ordered_json::parse(
        R"({"name":"a \"b\"","shape":[2,7],"none":[],"nothing":{},"list":[{"x":[0.5,null]},[[1],[2]]],"flag":true})");
    CHECK(indented(value) == R"({
 "name": "a \"b\"",
 "shape": [2,7],
 "none": [],
 "nothing": {},
 "list": [
  {
   "x": [0.5,null]
  },
  [
   [1],
   [2]
  ]
 ],
 "flag": true
})");
    CHECK(nlohmann::ordered_json::parse(indented(value)) == value);
    CHECK(indented("a") == "\"a\"");
}

TEST_CASE("json_text: a list of many objects takes a moment", "[json_text]") {
    std::string text = "{\"x\":[";
    for (int n = 0; n < 200000; ++n) text += "{},";
    const auto start = std::chrono::steady_clock::now();
    CHECK(parse_json_object(text + "0]}", "file")["x"].size() == 200001);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));  // it was a minute
}

}  // namespace locus::test::test_json_text
