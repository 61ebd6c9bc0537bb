#include "core/io/zip_directory.h"

#include "tests/torch_bytes.h"

namespace locus::test::test_zip_directory {

using Catch::Contains;

TEST_CASE("zip_directory: an archive with 64-bit fields, and with a comment", "[zip_directory][torch_pickle]") {
    ZipBytes zip = torch_zip(pickled_dict({TorchTensor()}), kFourFloats);
    zip.wide = true;
    zip.comment = "made by hand, PK\5\6 included";
    CHECK(values_in(zip.bytes()) == std::vector<float>{0, 1, 2, 3});
}

TEST_CASE("zip_directory: a truncated zip is refused wherever it ends", "[zip_directory][torch_pickle]") {
    const std::string bytes = torch_zip(pickled_dict({TorchTensor()}), kFourFloats).bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) refusal_of(bytes.substr(0, size));
    CHECK_THAT(refusal_of(bytes.substr(0, bytes.size() - 1)), Contains("zip archive is cut short"));
    CHECK_THAT(refusal_of(bytes.substr(0, bytes.size() / 2)), Contains("zip archive is cut short"));
}

TEST_CASE("zip_directory: a zip that torch did not write is refused", "[zip_directory][torch_pickle]") {
    const std::string pickle = pickled_dict({TorchTensor()});
    ZipBytes zip = torch_zip(pickle, kFourFloats);
    SECTION("a compressed member") {
        zip.members[2].method = 8;
        CHECK_THAT(refusal_of(zip.bytes()), Contains("archive/data/0") && Contains("compressed"));
    }
    SECTION("an encrypted member") {
        zip.members[0].flags = 1;
        CHECK_THAT(refusal_of(zip.bytes()), Contains("archive/data.pkl") && Contains("encrypted"));
    }
    SECTION("big-endian values") {
        zip.members[1].bytes = "big";
        CHECK_THAT(refusal_of(zip.bytes()), Contains("byteorder"));
    }
    SECTION("no pickle") {
        zip.members[0].name = "archive/other.pkl";
        CHECK_THAT(refusal_of(zip.bytes()), Contains("without data.pkl"));
    }
    SECTION("two pickles") {
        zip.members.push_back({"b/data.pkl", pickle});
        CHECK_THAT(refusal_of(zip.bytes()), Contains("data.pkl twice"));
    }
    SECTION("a member twice") {
        zip.members.push_back(zip.members[2]);
        CHECK_THAT(refusal_of(zip.bytes()), Contains("archive/data/0 is there twice"));
    }
}

TEST_CASE("zip_directory: what two readers of one archive would see differently is refused",
          "[zip_directory][torch_pickle]") {
    const ZipBytes zip = torch_zip(pickled_dict({TorchTensor()}), kFourFloats);
    std::string bytes = zip.bytes();
    const std::size_t local = bytes.find("PK\3\4"), end = bytes.rfind("PK\5\6");
    SECTION("another name in a member's own header") {
        bytes[bytes.find("data.pkl")] = 'D';
        CHECK_THAT(refusal_of(bytes), Contains("archive/data.pkl is archive/Data.pkl in its own header"));
    }
    SECTION("encrypted by its own header only") {
        bytes[local + 6] = 1;
        CHECK_THAT(refusal_of(bytes), Contains("archive/data.pkl is compressed or encrypted"));
    }
    SECTION("compressed by its own header only") {
        bytes[local + 8] = 8;
        CHECK_THAT(refusal_of(bytes), Contains("archive/data.pkl is compressed or encrypted"));
    }
    SECTION("fewer members than the directory has") {
        --bytes[end + 10];
        CHECK_THAT(refusal_of(bytes), Contains("2 members fill"));
    }
    SECTION("another number of bytes stored") {
        ++bytes[bytes.find("PK\1\2") + 20];
        CHECK_THAT(refusal_of(bytes), Contains("expected the same number"));
    }
}

TEST_CASE("zip_directory: members that share bytes are refused", "[zip_directory][torch_pickle]") {
    ZipBytes zip = torch_zip(pickled_dict({TorchTensor()}), kFourFloats);
    ZipBytes inner;
    inner.members.push_back({"archive/data/1", "abc"});
    const std::string inside = inner.bytes();
    zip.members.push_back({"archive/data/2", inside.substr(0, inside.find("PK\1\2"))});
    zip.members.push_back({"archive/data/1", "abc"});
    std::string bytes = zip.bytes();
    const std::size_t record = bytes.rfind("PK\1\2"), place = bytes.find("PK\3\4", bytes.find("archive/data/2"));
    bytes.replace(record + 42, 4, bytes_of(static_cast<std::uint32_t>(place)));
    CHECK_THAT(refusal_of(bytes), Contains("member archive/data/2 overlaps member archive/data/1"));
}

}  // namespace locus::test::test_zip_directory
