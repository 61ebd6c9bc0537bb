#include <catch2/catch.hpp>

#include "core/io/input_file.h"

namespace locus::test::test_unreadable {

TEST_CASE("refuse: one line that a terminal can show, whatever a damaged file holds", "[io]") {
    const auto refused = [](const std::string& place, const std::string& what, auto... fault) {
        try {
            throw_unreadable(place, what, fault...);
        } catch (const Error& error) {
            return std::to_string(error.exit_status()) + " " + error.what();
        }
    };
    CHECK(refused("model/a.safetensors", "is cut short") == "3 model/a.safetensors: is cut short");
    CHECK(refused("a.npy", "is of version 9", Fault::unsupported) == "4 a.npy: is of version 9");
    CHECK(refused("two\nlines", "tensor \x1b[31mred\r") == "3 two?lines: tensor ?[31mred?");
    const std::string cut = refused(std::string(400, 'f'), std::string(400, 'w'));
    CHECK(cut == "3 " + std::string(300, 'f') + "...: " + std::string(300, 'w') + "...");
}

}  // namespace locus::test::test_unreadable
