// The samples of README.md and lessons/README.md are what the programs print.
#include <catch2/catch.hpp>

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

}  // namespace

TEST_CASE("readme: every sample is what the programs print", "[readme]") {
    const Place place;
    for (const char* page : {"README.md", "lessons/README.md"}) {
        const std::vector<std::string> blocks = console_blocks(read_file(kRoot / page));
        INFO(page);
        REQUIRE(!blocks.empty());
        for (const std::string& block : blocks) {
            REQUIRE(block.starts_with("$ "));
            CHECK(place.output_of(block) == block);
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
