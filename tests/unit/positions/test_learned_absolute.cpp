#include "core/positions/learned_absolute.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_learned_absolute {

TEST_CASE("learned absolute: the same position has the same row, whatever the word", "[learned_absolute][golden]") {
    // "I love studying deep learning so much" and "I love deep cheeze burguer so much": seven words, seven rows.
    const Matrix<double> table = random_rows(7, 512, 1);
    const Matrix<double> a = learned_rows<double>(table, 7), b = learned_rows<double>(table, 7);
    CHECK(a == table);
    CHECK(a == b);
    CHECK(learned_rows<double>(table, 3, 2) == table.middleRows(2, 3));
    CHECK(learned_rows<double>(table, std::vector<std::int64_t>{6, 0, 6}).row(2) == table.row(6));
    CHECK(learned_rows<double>(table, std::vector<std::int64_t>{6, 0, 6}).row(1) == table.row(0));
    CHECK(learned_rows<float>(table.cast<float>(), 0).rows() == 0);
}

TEST_CASE("learned absolute: past the end is one sentence", "[learned_absolute][bad input]") {
    const Matrix<float> table = Matrix<float>::Zero(7, 4);
    const std::string past = "learned_rows: position 7 is past the end of a learned table of 7 rows, expected 0 to 6";
    CHECK(refusal([&] { learned_rows<float>(table, 8); }, Fault::unsupported) == past);
    CHECK(refusal([&] { learned_rows<float>(table, 2, 6); }, Fault::unsupported) == past);
    CHECK(refusal([&] { learned_rows<float>(table, std::vector<std::int64_t>{0, 7}); }, Fault::unsupported) == past);
    CHECK(refusal([&] { learned_rows<float>(table, std::vector<std::int64_t>{-1}); }, Fault::usage) ==
          "learned_rows: position -1, expected 0 or more");
    CHECK(refusal([&] { learned_rows<float>(table, 1, -1); }, Fault::usage) ==
          "learned_rows: position -1, expected 0 or more");
    CHECK(refusal([&] { learned_rows<float>(table, -1); }, Fault::usage) ==
          "learned_rows: -1 positions, expected 0 or more");
}

}  // namespace locus::test::test_learned_absolute
