#pragma once
// Files for tests that read and write: a folder that goes away, bytes in and out, and the sentence of a refusal.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/check.h"

namespace locus::test {

namespace fs = std::filesystem;

/// A new, empty folder, removed with what it holds at the end of the test.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "locus-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code error;
        fs::remove_all(path_, error);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const fs::path& path() const { return path_; }
    fs::path operator/(const std::string& name) const { return path_ / name; }
    std::size_t count() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

private:
    fs::path path_;
};

inline fs::path write_bytes(const fs::path& file, const std::string& bytes) {
    fs::remove(file);  // a new file: ext4 flushes one that is cut to nothing and written again
    std::ofstream stream(file, std::ios::binary);
    stream << bytes;
    stream.close();
    REQUIRE(stream);
    return file;
}

inline std::string read_bytes(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    REQUIRE(stream);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Little-endian bytes of a number.
template <class Number>
std::string bytes_of(Number value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// The sentence `call` refuses with; fails the test if it does not refuse, or with another fault.
template <class Call>
std::string refusal(Call call, Fault fault = Fault::unreadable) {
    try {
        call();
    } catch (const Error& error) {
        CHECK(error.fault() == fault);
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        return error.what();
    }
    FAIL("nothing was refused");
    return {};
}

}  // namespace locus::test
