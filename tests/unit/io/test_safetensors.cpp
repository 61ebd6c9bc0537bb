#include "core/io/safetensors.h"

#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "tests/files.h"

namespace locus::test::test_safetensors {

using Catch::Contains;

namespace {

std::string safetensors(const std::string& header, const std::string& data = {}) {
    return bytes_of<std::uint64_t>(header.size()) + header + data;
}

/// The refusal of a file with this header and 16 bytes of data.
std::string refusal_of_header(const std::string& header) {
    const TemporaryFolder folder;
    const fs::path file = write_bytes(folder / "bad.safetensors", safetensors(header, std::string(16, '\0')));
    const std::string sentence = refusal([&] { open_safetensors(file); });
    CHECK_THAT(sentence, Contains("bad.safetensors"));
    return sentence;
}

}  // namespace

TEST_CASE("safetensors: every dtype is widened exactly", "[safetensors]") {
    const TemporaryFolder folder;
    std::string data;
    data += bytes_of(0.1) + bytes_of(-2.5f) + bytes_of<std::uint16_t>(0x3555) + bytes_of<std::uint16_t>(0x0001) +
            bytes_of<std::uint16_t>(0xc049) + bytes_of<std::int64_t>(-5000000000) + bytes_of<std::int32_t>(-70000) +
            bytes_of<std::int16_t>(-300) + "\xff\xff\x01";
    const fs::path file =
        write_bytes(folder / "all.safetensors", safetensors(R"({"f64":{"dtype":"F64","shape":[],"data_offsets":[0,8]},
                        "f32":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},
                        "f16":{"dtype":"F16","shape":[2],"data_offsets":[12,16]},
                        "bf16":{"dtype":"BF16","shape":[1],"data_offsets":[16,18]},
                        "i64":{"dtype":"I64","shape":[1],"data_offsets":[18,26]},
                        "i32":{"dtype":"I32","shape":[1],"data_offsets":[26,30]},
                        "i16":{"dtype":"I16","shape":[1],"data_offsets":[30,32]},
                        "i8":{"dtype":"I8","shape":[1],"data_offsets":[32,33]},
                        "u8":{"dtype":"U8","shape":[1],"data_offsets":[33,34]},
                        "bool":{"dtype":"BOOL","shape":[1],"data_offsets":[34,35]}})",
                                                            data));
    const TensorFile tensors = open_safetensors(file);
    const auto value = [&](const char* name, Index n = 0) { return read_tensor<double>(*tensors.find(name))[n]; };
    CHECK(value("f64") == 0.1);
    CHECK(value("f32") == -2.5);
    CHECK(value("f16", 0) == 1365.0 / 4096);       // 0x3555, the half nearest to 1/3
    CHECK(value("f16", 1) == std::ldexp(1, -24));  // the smallest half, a subnormal
    CHECK(value("bf16") == -3.140625);
    CHECK(value("i64") == -5e9);
    CHECK(value("i32") == -70000);
    CHECK(value("i16") == -300);
    CHECK(value("i8") == -1);
    CHECK(value("u8") == 255);
    CHECK(value("bool") == 1);
    CHECK(read_tensor<std::int64_t>(*tensors.find("i64"))[0] == -5000000000);
    CHECK(tensors.find("f64")->shape.empty());
    CHECK(tensors.find("absent") == nullptr);
    CHECK_THAT(refusal([&] { read_tensor<std::int64_t>(*tensors.find("f32")); }), Contains("f32") && Contains("F32"));
}

TEST_CASE("safetensors: rows of the first axis, and none beyond it", "[safetensors]") {
    const TemporaryFolder folder;
    std::string data;
    for (int n = 0; n < 12; ++n) data += bytes_of(static_cast<float>(n));
    const fs::path file =
        write_bytes(folder / "rows.safetensors",
                    safetensors(R"({"x":{"dtype":"F32","shape":[3,2,2],"data_offsets":[0,48]}})", data));
    const TensorFile tensors = open_safetensors(file);
    const TensorEntry& entry = *tensors.find("x");
    const Matrix<double> rows = read_rows<double>(entry, 1, 2);
    REQUIRE((rows.rows() == 2 && rows.cols() == 4));
    CHECK(rows(0, 0) == 4);
    CHECK(rows(1, 3) == 11);
    CHECK(read_rows<float>(entry, 3, 0).rows() == 0);
    for (const auto& [first, count] : {std::pair<Index, Index>{2, 2}, {-1, 1}, {0, -1}, {4, 0}}) {
        INFO(first << " " << count);
        CHECK_THAT(refusal([&, from = first, many = count] { read_rows<float>(entry, from, many); }), Contains("x"));
    }
}

TEST_CASE("safetensors: empty tensors are fine, entries come in file order", "[safetensors]") {
    const TemporaryFolder folder;
    const fs::path file =
        write_bytes(folder / "order.safetensors", safetensors(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},
                        "b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                        "none":{"dtype":"F32","shape":[0,281474976710656],"data_offsets":[2,2]},
                        "__metadata__":{"who":"me"}})",
                                                              "2378"));
    const TensorFile tensors = open_safetensors(file);
    REQUIRE(tensors.entries.size() == 3);
    CHECK(tensors.entries.front().name == "b");
    CHECK(tensors.entries.back().name == "a");
    CHECK(read_tensor<std::int64_t>(*tensors.find("b")).values() == std::vector<std::int64_t>{'2', '3'});
    CHECK(read_tensor<float>(*tensors.find("none")).size() == 0);
    CHECK(tensors.metadata == decltype(tensors.metadata){{"who", "me"}});
}

TEST_CASE("safetensors: a byte of the data that belongs to no tensor is refused", "[safetensors]") {
    const auto refused = [](const std::string& a, const std::string& b) {
        return refusal_of_header(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + a +
                                 R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}");
    };
    CHECK_THAT(refused("[4,12]", "[12,16]"), Contains("tensor a begins at byte 4 of the data, expected 0"));
    CHECK_THAT(refused("[0,8]", "[12,16]"), Contains("tensor b begins at byte 12") && Contains("tensor a ends"));
    CHECK_THAT(refused("[0,8]", "[8,12]"), Contains("4 bytes of data after its last tensor"));
    CHECK_THAT(refusal_of_header("{}"), Contains("16 bytes of data after its last tensor"));
    CHECK_THAT(refusal_of_header(R"({"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},
                                     "none":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})"),
               Contains("tensors a and none overlap"));
}

TEST_CASE("safetensors: what stands before or after the header's JSON is refused", "[safetensors]") {
    const std::string header = R"({"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}})";
    CHECK_THAT(refusal_of_header(header + std::string(8, '\0')), Contains("not valid JSON at byte"));
    CHECK_THAT(refusal_of_header("\xef\xbb\xbf" + header), Contains("byte order mark"));
    const TemporaryFolder folder;
    const std::string padded = safetensors(header + "    ", std::string(16, 'x'));
    CHECK(open_safetensors(write_bytes(folder / "padded.safetensors", padded)).entries.size() == 1);
}

TEST_CASE("safetensors: a header longer than the file is refused", "[safetensors]") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& bytes) {
        return refusal([&] { open_safetensors(write_bytes(folder / "bad.safetensors", bytes)); });
    };
    CHECK_THAT(refused(bytes_of<std::uint64_t>(100) + "{}"), Contains("100 bytes") && Contains("only 2 follow"));
    CHECK_THAT(refused(bytes_of(std::numeric_limits<std::uint64_t>::max()) + "{}"), Contains("only 2 follow"));
    CHECK_THAT(refused("1234567"), Contains("7 bytes long"));
    CHECK_THAT(refused(""), Contains("0 bytes long"));
}

TEST_CASE("safetensors: a header that is not what it should be is refused by name", "[safetensors]") {
    CHECK_THAT(refusal_of_header("not json"), Contains("JSON"));
    CHECK_THAT(refusal_of_header("[1]"), Contains("JSON object"));
    CHECK_THAT(refusal_of_header(R"({"x":1e999})"), Contains("JSON"));
    CHECK_THAT(refusal_of_header("{\"\xff\":1}"), Contains("JSON"));
    CHECK_THAT(refusal_of_header(R"({"x":3})"), Contains("tensor x lacks"));
    CHECK_THAT(refusal_of_header(R"({"__metadata__":{"n":3}})"), Contains("__metadata__"));
    const std::string nested = std::string(100000, '[') + std::string(100000, ']');
    CHECK_THAT(refusal_of_header(R"({"x":{"dtype":"F32","shape":)" + nested + R"(,"data_offsets":[0,4]}})"),
               Contains("nests deeper"));
    const std::string x = R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
    CHECK_THAT(refusal_of_header("{" + x + "," + x + "}"), Contains("\"x\" twice"));
}

TEST_CASE("safetensors: an unknown dtype is refused by name", "[safetensors]") {
    CHECK_THAT(refusal_of_header(R"({"x":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})"),
               Contains("tensor x") && Contains("F8_E4M3"));
}

TEST_CASE("safetensors: offsets that leave the data, overlap or do not fit the shape are refused", "[safetensors]") {
    const auto refused = [](const std::string& shape, const std::string& offsets) {
        return refusal_of_header(R"({"x":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}");
    };
    CHECK_THAT(refused("[2]", "[12,20]"), Contains("inside the 16 bytes"));
    CHECK_THAT(refused("[2]", "[12,4]"), Contains("inside the 16 bytes"));
    CHECK_THAT(refused("[2]", "[18446744073709551608,18446744073709551615]"), Contains("inside the 16 bytes"));
    CHECK_THAT(refused("[2]", "[-8,0]"), Contains("[begin, end]"));
    CHECK_THAT(refused("[2]", "[0]"), Contains("[begin, end]"));
    CHECK_THAT(refused("[3]", "[0,8]"), Contains("8 bytes, expected 12"));
    CHECK_THAT(refused("[-1]", "[0,8]"), Contains("size -1"));
    CHECK_THAT(refused("[1.5]", "[0,8]"), Contains("size 1.5"));
    CHECK_THAT(refused("[4294967296,4294967296]", "[0,0]"), Contains("larger than any file"));
    CHECK_THAT(refused("[0,281474976710656,281474976710656]", "[0,0]"), Contains("larger than any file"));
    CHECK_THAT(refusal_of_header(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                                     "y":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})"),
               Contains("x and y overlap"));
}

TEST_CASE("safetensors: what is no file is refused", "[safetensors]") {
    const TemporaryFolder folder;
    CHECK_THAT(refusal([&] { open_safetensors(folder / "absent.safetensors"); }), Contains("absent.safetensors"));
    CHECK_THAT(refusal([&] { open_safetensors(folder.path()); }), Contains("not a regular file"));
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK_THAT(refusal([&] { open_safetensors(folder / "pipe"); }), Contains("not a regular file"));
}

}  // namespace locus::test::test_safetensors
