// The launcher, as far as it answers without building anything.
#include <catch2/catch.hpp>

#include "tests/conformance/run_program.h"

using namespace locus::test;

namespace {

const fs::path kRoot = LOCUS_SOURCE_DIR;

Outcome launch(const std::vector<std::string>& arguments, const std::string& before = "") {
    return run_file(kRoot / "locus", arguments, before);
}

}  // namespace

TEST_CASE("launcher: alone it prints the verbs, one line each", "[cli]") {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{}, std::vector<std::string>{"--help"}, std::vector<std::string>{"help"}}) {
        const Outcome outcome = launch(arguments, "cd /; ");
        CHECK(outcome.status == 0);
        CHECK(outcome.err.empty());
        CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 10);
        for (const char* verb : {"view", "trace", "check", "fill", "tokens", "rope", "text", "lesson", "bench", "test"})
            CHECK(outcome.out.find(std::string("locus ") + verb) != std::string::npos);
    }
}

TEST_CASE("launcher: a verb or a lesson that does not exist is one sentence and status 2", "[cli]") {
    const std::vector<std::vector<std::string>> wrong = {{"fly"},           {"--view"},     {"lesson", "99"},
                                                         {"lesson", "two"}, {"lesson", ""}, {"lesson", "*"}};
    for (const std::vector<std::string>& arguments : wrong) {
        const Outcome outcome = launch(arguments);
        INFO(arguments.back() << ": " << outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.out.empty());
    }
    CHECK(launch({"fly"}).err.find("\"fly\"") != std::string::npos);
}

TEST_CASE("launcher: the table of contents holds every lesson under its title", "[cli]") {
    const Outcome outcome = launch({"lesson"});
    CHECK(outcome.status == 0);
    std::size_t lessons = 0;
    for (const auto& entry : fs::directory_iterator(kRoot / "lessons")) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string first = read_file(entry.path()), number = entry.path().filename().string().substr(0, 2);
        INFO(entry.path());
        const std::string start = "// Lesson " + number + ": ";
        REQUIRE(first.starts_with(start));
        const std::string title = first.substr(start.size(), first.find('\n') - start.size());
        CHECK(outcome.out.find(number + "  " + title) != std::string::npos);
        ++lessons;
    }
    CHECK(lessons > 0);
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == static_cast<std::ptrdiff_t>(lessons) + 1);
}

TEST_CASE("launcher: without root and sudo the one line to run, and status 3", "[cli]") {
    // A machine where nothing is installed and nobody is root, played by three small programs in front of the path.
    const TemporaryFolder folder;
    const fs::path tree = folder / "a house", programs = folder / "programs";
    for (const char* room : {"core", "cuda", "viewer", "lessons", "tests"}) fs::create_directories(tree / room);
    for (const char* file : {"CMakeLists.txt", "CMakePresets.json"}) write_file(tree / file, "");
    fs::copy_file(kRoot / "locus", tree / "locus");
    fs::create_directory(programs);
    for (const auto& [name, body] : {std::pair{"dpkg-query", "exit 1"}, {"id", "echo 1000"}, {"sudo", "exit 1"}}) {
        write_file(programs / name, std::string("#!/bin/sh\n") + body + "\n");
        fs::permissions(programs / name, fs::perms::owner_all);
    }
    const Outcome outcome =
        run_file(tree / "locus", {"tokens", "a"}, "export PATH=" + quoted(programs.string()) + ":\"$PATH\"; ");
    CHECK(outcome.status == 3);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.out.starts_with("apt-get install "));
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 1);
    for (const char* package : {"build-essential", "libeigen3-dev", "libsentencepiece-dev", "fonts-noto-cjk"})
        CHECK(outcome.out.find(package) != std::string::npos);
}
