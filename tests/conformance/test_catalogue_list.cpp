// The catalogue in words is what lessons and pictures read: the file holds what the code says, entry by entry.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/check.h"
#include "core/conformance/mistakes/catalogue_list.h"
#include "core/conformance/mistakes/mistake.h"
#include "core/io/mistake_list.h"
#include "tests/files.h"

namespace locus::test::test_catalogue_list {

using namespace locus::conformance;

TEST_CASE("catalogue: assets/mistakes.json holds every mistake as the code has it", "[kit]") {
    std::ifstream file(std::string(LOCUS_SOURCE_DIR) + "/assets/mistakes.json");
    std::stringstream text;
    text << file.rdbuf();
    INFO("locus check --catalogue --json > assets/mistakes.json writes it anew");
    CHECK(text.str() == catalogue_json());

    const std::vector<MistakeEntry> entries = read_mistake_list(mistake_list_file());
    REQUIRE(entries.size() == catalogue().size());
    for (std::size_t n = 0; n < entries.size(); ++n) {
        CHECK(entries[n].number == catalogue()[n].number);
        CHECK(entries[n].name == catalogue()[n].name);
        CHECK(entries[n].symptom == catalogue()[n].symptom);
        CHECK(entries[n].betrays == catalogue()[n].betrays);
        CHECK(entries[n].evidence == catalogue()[n].evidence);
        CHECK(entries[n].lesson == catalogue()[n].lesson);
        CHECK(entries[n].families.size() == catalogue()[n].families.size());
        CHECK(entries[n].first_wrong.size() == catalogue()[n].stems.size());
    }
}

TEST_CASE("catalogue: a list that is none is refused by file and field", "[kit][bad-input]") {
    const auto refusal = [](const std::string& text) -> std::string {
        const test::TemporaryFolder scratch;
        const std::filesystem::path file = scratch.path() / "mistakes.json";
        std::ofstream(file) << text;
        try {
            read_mistake_list(file);
        } catch (const Error& error) {
            CHECK(error.fault() == Fault::unreadable);
            return error.what();
        }
        return "";
    };
    CHECK(refusal("no JSON").find("mistakes.json") != std::string::npos);
    CHECK(refusal(R"({"version": "1.0"})").find("'mistakes' not found") != std::string::npos);
    CHECK(refusal(R"({"mistakes": [{"number": 1}]})").find("mistakes[0] is not an entry") != std::string::npos);
    CHECK(refusal(R"({"mistakes": [{"number": "one"}]})").find("type must be number") != std::string::npos);
    CHECK_THROWS_WITH(entry_of({}, 1), Catch::Contains("no mistake 1"));
}

}  // namespace locus::test::test_catalogue_list
