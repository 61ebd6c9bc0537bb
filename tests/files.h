#pragma once
// Files for tests that read and write: a folder that goes away, bytes in and out, and the sentence of a refusal.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "core/check.h"
#include "tests/temporary_folder.h"

namespace locus::test {

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
