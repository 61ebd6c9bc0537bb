// A refusal is one line, whatever was quoted in it.
#include "core/check.h"

#include <catch2/catch.hpp>

namespace locus::test::test_check {

TEST_CASE("refusal: control characters of a file or a user become question marks", "[check]") {
    const std::string quoted =
        "a\nb\x7f"
        "c\xc2\x9b"
        "31m \xc3\xa9\xc2\xa0\xe2\x86\x92";
    CHECK(Error(Fault::usage, quoted).what() == std::string("a?b?c?31m \xc3\xa9\xc2\xa0\xe2\x86\x92"));
    CHECK(Error(Fault::usage, std::string("\xc2\0\xc2", 3)).what() == std::string("\xc2?\xc2"));
    CHECK(one_line("") == "");
}

}  // namespace locus::test::test_check
