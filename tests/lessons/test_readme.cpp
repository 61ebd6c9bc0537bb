// The samples of README.md and lessons/README.md are what the programs print.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "tests/lessons/lesson_files.h"

namespace locus::test::test_readme {

namespace {

const fs::path kRoot = LOCUS_SOURCE_DIR;

/// The blocks of a page between "```console" and "```".
std::vector<std::string> console_blocks(const std::string& page) {
    const std::string open = "\n```console\n", close = "\n```";
    std::vector<std::string> blocks;
    for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
        at += open.size();
        const std::size_t end = page.find(close, at);
        REQUIRE(end != std::string::npos);
        blocks.push_back(page.substr(at, end - at) + "\n");
        at = end;
    }
    return blocks;
}

/// A shell script that repeats a block: it prints each line that begins with "$ " and runs it.
std::string script_of(const std::string& block) {
    std::string script;
    std::istringstream lines(block);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) script += "echo\n";
        if (!line.starts_with("$ ")) continue;
        script += "printf '%s\\n' " + test::quoted(line) + "\n" + line.substr(2) + "\n";
    }
    return script;
}

/// A folder in which the samples run: ./locus starts the programs of this build, tests/ is that of the sources.
struct Place {
    const TemporaryFolder folder;

    Place() {
        const std::string bin = test::quoted((fs::path(LOCUS_BINARY_DIR) / "bin").string());
        fs::create_symlink(kRoot / "tests", folder / "tests");
        fs::create_directory(folder / "build");
        write_file(folder / "locus", "#!/bin/sh\n[ \"$*\" = lesson ] && exec " +
                                         test::quoted((kRoot / "locus").string()) +
                                         " lesson\nverb=$1\nshift\nif [ \"$verb\" = lesson ]; then\n  number=$(printf "
                                         "%02d \"$1\")\n  shift\n  exec " +
                                         bin + "/lesson-$number \"$@\"\nfi\nexec " + bin + "/locus-$verb \"$@\"\n");
        fs::permissions(folder / "locus", fs::perms::owner_all);
    }
    std::string output_of(const std::string& block) const {
        write_file(folder / "sample.sh", script_of(block));
        const Outcome outcome = run_file("/bin/sh", {"sample.sh"}, "cd " + test::quoted(folder.path().string()) + "; ");
        INFO(outcome.err);
        CHECK(outcome.err.empty());
        return outcome.out;
    }
};

/// Two words of a sample: the same text, or numbers that agree to four digits or are both residues of rounding, whose
/// last digits differ between processors.
bool same_word(std::string a, std::string b) {
    if (a == b) return true;
    const auto take_end = [](std::string& word) {
        std::string end;
        while (!word.empty() && std::string(",;:").find(word.back()) != std::string::npos) {
            end += word.back();
            word.pop_back();
        }
        return end;
    };
    if (take_end(a) != take_end(b) || a.empty() || b.empty()) return false;
    char *a_end = nullptr, *b_end = nullptr;
    const double x = std::strtod(a.c_str(), &a_end), y = std::strtod(b.c_str(), &b_end);
    if (*a_end != '\0' || *b_end != '\0' || !std::isfinite(x) || !std::isfinite(y)) return false;
    return std::abs(x - y) <= 1e-4 * std::abs(x) || (std::abs(x) < 1e-6 && std::abs(y) < 1e-6);
}

/// Line by line and word by word; blanks between words are columns, whose width the numbers decide.
bool same_sample(const std::string& printed, const std::string& page) {
    std::istringstream left(printed), right(page);
    for (std::string a, b;;) {
        const bool more_a = static_cast<bool>(std::getline(left, a)),
                   more_b = static_cast<bool>(std::getline(right, b));
        if (!more_a || !more_b) return more_a == more_b;
        std::istringstream words_a(a), words_b(b);
        const std::vector<std::string> one{std::istream_iterator<std::string>(words_a), {}},
            other{std::istream_iterator<std::string>(words_b), {}};
        if (!std::equal(one.begin(), one.end(), other.begin(), other.end(), same_word)) return false;
    }
}

}  // namespace

TEST_CASE("readme: a sample that says something else is no sample of the program", "[readme]") {
    CHECK(same_sample("a  1.00001 2\n", "a 1 2\n"));
    CHECK(same_sample("mean 3e-12, ok\n", "mean -2e-12, ok\n"));
    CHECK(!same_sample("a 1.001\n", "a 1\n"));
    CHECK(!same_sample("a 1e-3\n", "a 1e-12\n"));
    CHECK(!same_sample("a nan\n", "a 1\n"));
    CHECK(!same_sample("a 1\n", "b 1\n"));
    CHECK(!same_sample("a 1\n", "a 1\nb\n"));
    CHECK(!same_sample("a 1\n", "a 1 2\n"));
}

TEST_CASE("readme: every sample is what the programs print", "[readme]") {
    const Place place;
    for (const char* page : {"README.md", "lessons/README.md"}) {
        const std::vector<std::string> blocks = console_blocks(read_file(kRoot / page));
        INFO(page);
        REQUIRE(!blocks.empty());
        for (const std::string& block : blocks) {
            REQUIRE(block.starts_with("$ "));
            const std::string printed = place.output_of(block);
            INFO(printed);
            CHECK(same_sample(printed, block));
        }
    }
}

TEST_CASE("readme: files and folders that README.md links to are there", "[readme]") {
    for (const char* page : {"README.md", "lessons/README.md", "viewer/README.md"}) {
        const std::string text = read_file(kRoot / page);
        const std::regex link(R"re(\]\(([^)#:]+)\))re");
        std::size_t links = 0;
        for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at, ++links) {
            INFO(page << ": " << (*at)[1]);
            CHECK(fs::exists((kRoot / page).parent_path() / (*at)[1].str()));
        }
        CHECK(links >= 5);
    }
}

TEST_CASE("readme: the version to cite is the version of the project", "[readme]") {
    const std::string cmake = read_file(kRoot / "CMakeLists.txt"), citation = read_file(kRoot / "CITATION.cff");
    std::smatch version;
    REQUIRE(std::regex_search(cmake, version, std::regex("project\\(locus VERSION ([0-9.]+)")));
    CHECK(citation.find("\nversion: " + version[1].str() + "\n") != std::string::npos);
    CHECK(citation.starts_with("cff-version: 1.2.0\n"));
}

}  // namespace locus::test::test_readme
