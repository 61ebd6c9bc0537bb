// Numbers that leave the program: every bit of the trace, whatever the format.
#include <catch2/catch.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "tests/run_program.h"
#include "viewer/data/deberta_session.h"
#include "viewer/export/number_files.h"

namespace locus::test::test_number_files {

namespace {

/// RFC 4180, read by a second hand: rows of fields.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
    std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        std::string& field = rows.back().back();
        if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"')
            field += text[++at];
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && c == ',')
            rows.back().emplace_back();
        else if (!quoted && c == '\r')
            continue;
        else if (!quoted && c == '\n')
            rows.emplace_back(1);
        else
            field += c;
    }
    rows.pop_back();  // after the last end of line
    return rows;
}

template <class Scalar>
bool same_bits(const std::string& text, Scalar value) {
    Scalar read{};
    if (text == "nan") return std::isnan(static_cast<double>(value));
    if (text == "inf" || text == "-inf")
        read = text == "inf" ? std::numeric_limits<Scalar>::infinity() : -std::numeric_limits<Scalar>::infinity();
    else if (std::from_chars(text.data(), text.data() + text.size(), read).ptr != text.data() + text.size())
        return false;
    return std::memcmp(&read, &value, sizeof value) == 0;
}

template <class Scalar>
NamedMatrix odd_matrix() {
    Stage stage;
    stage.name = "layer.0.c2p";
    const Scalar tiny = std::numeric_limits<Scalar>::denorm_min(), huge = std::numeric_limits<Scalar>::max();
    stage.values = Tensor<Scalar>(
        {2, 4}, {Scalar(1) / 3, tiny, huge, Scalar(-0.0), std::numeric_limits<Scalar>::quiet_NaN(),
                 std::numeric_limits<Scalar>::infinity(), -std::numeric_limits<Scalar>::infinity(), Scalar(0.1)});
    NamedMatrix matrix = named_slice("c2p", "content", stage);
    matrix.rows = {"a, b", "two\nlines \""};
    matrix.cols = {"발", "", "c\nd", "[MASK]"};
    return matrix;
}

}  // namespace

TEST_CASE("numbers: a CSV file reads back bit for bit, labels included", "[view][export]") {
    const auto holds = [](auto scalar) {
        using Scalar = decltype(scalar);
        const NamedMatrix matrix = odd_matrix<Scalar>();
        const auto rows = read_csv(csv_of(matrix));
        REQUIRE(rows.size() == 3);
        CHECK(rows[0] == std::vector<std::string>{"layer.0.c2p", "발", "", "c\nd", "[MASK]"});
        CHECK(rows[1][0] == "a, b");
        CHECK(rows[2][0] == "two\nlines \"");
        for (std::size_t n = 0; n < 8; ++n)
            CHECK(same_bits(rows[1 + n / 4][1 + n % 4], matrix.stage.as<Scalar>()[static_cast<Index>(n)]));
    };
    holds(float{});
    holds(double{});
}

TEST_CASE("numbers: several matrices are one line a cell", "[view][export]") {
    std::vector<NamedMatrix> matrices = {odd_matrix<float>(), odd_matrix<float>()};
    matrices[1].part = "head 3";
    const auto rows = read_csv(csv_of(matrices));
    REQUIRE(rows.size() == 17);
    CHECK(rows[0] == std::vector<std::string>{"stage", "part", "i", "j", "row", "column", "value"});
    CHECK(rows[10][1] == "head 3");
    for (std::size_t n = 0; n < 16; ++n) {
        CHECK(rows[n + 1][2] + rows[n + 1][3] == std::to_string(n % 8 / 4) + std::to_string(n % 4));
        CHECK(rows[n + 1][0] == "layer.0.c2p");
        CHECK(rows[n + 1][4] == matrices[0].rows[n % 8 / 4]);
        CHECK(rows[n + 1][5] == matrices[0].cols[n % 4]);
        CHECK(same_bits(rows[n + 1][6], matrices[0].stage.as<float>()[static_cast<Index>(n % 8)]));
    }
}

TEST_CASE("numbers: a .npy file holds the stage, read by the kit's reader", "[view][export]") {
    const test::TemporaryFolder folder;
    const auto holds = [&](Stage stage) {
        test::write_file(folder / "one.npy", npy_of(stage));
        std::string stored;
        const Stage read = read_npy(folder / "one.npy", stored);
        CHECK(read.shape() == stage.shape());
        REQUIRE(std::string(read.dtype()) == stage.dtype());
        CHECK(npy_of(read) == npy_of(stage));
        std::visit(
            [&](const auto& tensor) {
                const auto& other = std::get<std::decay_t<decltype(tensor)>>(read.values);
                CHECK(std::memcmp(tensor.data(), other.data(),
                                  static_cast<std::size_t>(tensor.size()) * sizeof tensor[0]) == 0);
            },
            stage.values);
    };
    holds(odd_matrix<float>().stage);
    holds(odd_matrix<double>().stage);
    Stage whole;
    whole.values = IndexTensor({2, 1, 3}, {1, -2, 3, 4, 5, std::numeric_limits<std::int64_t>::max()});
    holds(whole);
    whole.values = IndexTensor({3}, {1, 2, 3});
    holds(whole);
}

TEST_CASE("numbers: matrices of a page share no name in a trace", "[view][export]") {
    std::vector<NamedMatrix> matrices = {odd_matrix<float>(), odd_matrix<float>()};
    matrices[1].id = "B";
    CHECK(trace_of(matrices).names() == std::vector<std::string>{"layer.0.c2p", "layer.0.c2p.B"});
}

TEST_CASE("numbers: one head of a stage is its own bits", "[view][export]") {
    Stage stage;
    stage.name = "layer.1.probs";
    Tensor<float> values({2, 3, 2, 2});
    for (Index n = 0; n < values.size(); ++n) values[n] = static_cast<float>(n) / 7;
    stage.values = values;
    stage.axes = {"B", "H", "Tq", "Tk"};
    const NamedMatrix sheet = named_slice("probs", "probabilities", stage, 1, 2);
    CHECK(sheet.part == "sample 1, head 2");
    CHECK(sheet.stage.axes == std::vector<std::string>{"Tq", "Tk"});
    for (Index n = 0; n < 4; ++n) CHECK(sheet.stage.as<float>()[n] == values[20 + n]);
    // All six sheets: sample by sample, and head by head in each.
    for (Index sample = 0; sample < 2; ++sample)
        for (Index head = 0; head < 3; ++head)
            CHECK(named_slice("probs", "", stage, sample, head).stage.as<float>()[0] ==
                  values[(sample * 3 + head) * 4]);
    CHECK_THROWS_WITH(named_slice("probs", "", stage, 0, 3), Catch::Contains("layer.1.probs has no sample 0, head 3"));
}

TEST_CASE("numbers: a .npy file begins its values on a multiple of 64 bytes, after an end of line", "[view][export]") {
    for (Index rows = 1; rows < 100000; rows *= 10) {
        Stage stage;
        stage.values = Tensor<float>({rows, 1}, std::vector<float>(static_cast<std::size_t>(rows), 1.5f));
        const std::string bytes = npy_of(stage);
        const std::size_t values = bytes.size() - static_cast<std::size_t>(rows) * sizeof(float);
        CHECK(values % 64 == 0);
        CHECK(bytes[values - 1] == '\n');
        CHECK(values == 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]));
    }
}

TEST_CASE("numbers: a trace says by what command it was made, and of which head", "[view][export]") {
    const test::TemporaryFolder folder;
    std::vector<NamedMatrix> matrices = {odd_matrix<float>(), odd_matrix<float>()};
    matrices[1].id = "B";
    matrices[1].part = "head 3";
    write_numbers(folder / "two.safetensors", matrices, "locus view --head 3");
    const std::string bytes = test::read_file(folder / "two.safetensors");
    CHECK_THAT(bytes, Catch::Contains("\"command\":\"locus view --head 3\"") &&
                          Catch::Contains("\"part.B\":\"head 3\"") && !Catch::Contains("\"part.c2p\""));
}

TEST_CASE("numbers: one matrix is a table, with numbers for the names that it lacks", "[view][export]") {
    const test::TemporaryFolder folder;
    NamedMatrix matrix = odd_matrix<float>();
    matrix.part = "head 3";
    matrix.rows.clear();
    write_numbers(folder / "one.csv", {matrix}, "");
    const auto rows = read_csv(test::read_file(folder / "one.csv"));
    REQUIRE(rows.size() == 3);
    CHECK(rows[0][0] == "layer.0.c2p head 3");
    CHECK(rows[1][0] == "0");
    CHECK(rows[2][0] == "1");
    CHECK(find_matrix({matrix}, "layer.0.c2p") != nullptr);
    CHECK(find_matrix({matrix}, "layer.0") == nullptr);
}

TEST_CASE("numbers: what cannot be written is refused and leaves nothing", "[view][export]") {
    const test::TemporaryFolder folder;
    const std::vector<NamedMatrix> two = {odd_matrix<float>(), odd_matrix<float>()};
    CHECK_THROWS_WITH(write_numbers(folder / "two.npy", two, ""), Catch::Contains("holds one matrix"));
    CHECK_THROWS_WITH(write_numbers(folder / "none.csv", {}, ""), Catch::Contains("no matrix"));
    CHECK_THROWS_WITH(write_numbers(folder / "missing" / "one.csv", two, ""), Catch::Contains("cannot be written"));
    CHECK(test::listing(folder.path()).empty());
}

}  // namespace locus::test::test_number_files
