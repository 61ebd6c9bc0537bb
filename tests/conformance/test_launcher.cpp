// The launcher, as far as it answers without building anything.
#include <catch2/catch.hpp>
#include <chrono>

#include "core/text/text_table.h"
#include "tests/lessons/lesson_files.h"

namespace locus::test::test_launcher {

namespace {

const fs::path kRoot = LOCUS_SOURCE_DIR;

Outcome launch(const std::vector<std::string>& arguments, const std::string& before = "") {
    return run_file(kRoot / "locus", arguments, before);
}

/// A copy of the source tree in which nothing is built.
fs::path unbuilt_tree(const TemporaryFolder& folder) {
    const fs::path tree = folder / "a tree";
    for (const char* name : {"core", "cuda", "viewer", "lessons", "tests"}) fs::create_directories(tree / name);
    for (const char* file : {"CMakeLists.txt", "CMakePresets.json"}) write_file(tree / file, "");
    fs::copy_file(kRoot / "locus", tree / "locus");
    return tree;
}

/// Shell scripts that play programs, by name and body.
void add_programs(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& programs) {
    fs::create_directories(folder);
    for (const auto& [name, body] : programs) {
        write_file(folder / name, "#!/bin/sh\n" + body + "\n");
        fs::permissions(folder / name, fs::perms::owner_all);
    }
}

/// A copy of the source tree in which everything is built already; its lessons are shell scripts.
struct BuiltTree {
    const TemporaryFolder folder;
    const fs::path tree = unbuilt_tree(folder);

    /// `more`: what its source says after the title.
    void add_lesson(const std::string& number, const std::string& title, const std::string& script,
                    const std::string& more = "") const {
        write_file(tree / "lessons" / (number + "_x.cpp"), "// Lesson " + number + ": " + title + "\n" + more);
        add_programs(tree / "build/release/bin", {{"lesson-" + number, script}});
        const fs::path stamp = tree / "build/release/.built-all-";
        write_file(stamp, "");
        fs::last_write_time(stamp, fs::file_time_type::clock::now() + std::chrono::hours(1));
    }
};

}  // namespace

TEST_CASE("launcher: alone it prints the verbs, one line each", "[cli]") {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{}, std::vector<std::string>{"--help"}, std::vector<std::string>{"help"}}) {
        const Outcome outcome = launch(arguments, "cd /; ");
        CHECK(outcome.status == 0);
        CHECK(outcome.err.empty());
        CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 16);
        for (const char* verb : {"view", "trace", "check", "kit", "fill", "classify", "train", "tokens", "rope", "text",
                                 "lesson", "bench", "test", "fuzz", "web", "package"})
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

TEST_CASE("launcher: a misspelt verb is named with the one that was meant", "[cli]") {
    const auto refusal = [](const std::string& verb) { return launch({verb}).err; };
    for (const auto& [verb, meant] : std::vector<std::pair<std::string, std::string>>{{"veiw", "view"},
                                                                                      {"viewer", "view"},
                                                                                      {"tests", "test"},
                                                                                      {"clasify", "classify"},
                                                                                      {"benchmark", "bench"}}) {
        INFO(refusal(verb));
        CHECK(refusal(verb).find("did you mean " + meant + "?") != std::string::npos);
    }
    for (const char* verb : {"fly", "documentation", "../x"})
        CHECK(refusal(verb).find("did you mean") == std::string::npos);
    CHECK(refusal("build").find("each verb builds what it needs") != std::string::npos);
}

TEST_CASE("launcher: the table of contents holds every lesson under its title", "[cli]") {
    const Outcome outcome = launch({"lesson"}, "export LC_ALL=C; ");
    CHECK(outcome.status == 0);
    const std::vector<LessonFile> files = lesson_files();
    CHECK(!files.empty());
    std::istringstream lines(outcome.out);
    std::string line;
    std::getline(lines, line);
    for (const LessonFile& file : files) {
        std::getline(lines, line);
        INFO(line);
        CHECK(line.find(file.number + "  " + file.title) != std::string::npos);
        const std::size_t minutes = line.find(" " + file.minutes + " min");
        REQUIRE(minutes != std::string::npos);
        // One column, however many bytes the title takes.
        CHECK(display_width(line.substr(0, line.find(" min"))) == 43);
        CHECK((line.find("locus view --page " + file.page) != std::string::npos) == (file.page != "none"));
    }
    CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("launcher: lesson --all counts what was proved, shows what was not, and ends with 1", "[cli]") {
    const BuiltTree built;
    built.add_lesson("01", "First", "printf '\u2713 a (1 = 1)\n\u2713 b (2 = 2)\n'");
    built.add_lesson("02", "Second", "echo '\u2713 c (3 = 3)'");
    const Outcome good = run_file(built.tree / "locus", {"lesson", "--all"});
    CHECK(good.status == 0);
    CHECK(good.out.find(" 1/2  01  First") != std::string::npos);
    CHECK(good.out.find("2 lessons, 3 claims proved, none failed, ") != std::string::npos);

    built.add_lesson("02", "Second", "echo '\u2713 c (3 = 3)'; echo '\u2717 d (4, not 5)'; exit 1");
    built.add_lesson("03", "Third", "echo 'cannot' >&2; exit 70");
    const Outcome bad = run_file(built.tree / "locus", {"lesson", "--all"});
    CHECK(bad.status == 1);
    CHECK(bad.out.find("\u2717 d (4, not 5)\n") != std::string::npos);
    CHECK(bad.out.find("cannot\n") != std::string::npos);
    CHECK(bad.err.find("lesson 03 ended with status 70") != std::string::npos);
    CHECK(bad.out.find("3 lessons, 3 claims proved, 2 lessons failed, ") != std::string::npos);
}

TEST_CASE("launcher: after a lesson stands what to type for its page, and nothing where it has none or failed",
          "[cli]") {
    const BuiltTree built;
    const std::string before = "// Before: none. Minutes: 1. Page: ";
    built.add_lesson("01", "First", "echo text $*",
                     before + "attention.\n// Show: text=it%27s+a+%5BMASK%5D&layer=1&attention.c2p=no\n");
    built.add_lesson("02", "Second", "echo text", before + "none.\n");
    built.add_lesson("03", "Third", "exit 1", before + "rope.\n// Show: rope.m=7\n");
    const Outcome shown = run_file(built.tree / "locus", {"lesson", "1"});
    CHECK(shown.status == 0);
    CHECK(shown.out == "text\n");
    CHECK(shown.err ==
          "locus: the same in the window: ./locus view --page attention --text 'it'\\''s a [MASK]' --layer 1 "
          "--set attention.c2p=no\n");
    const Outcome printed = run_file(built.tree / "locus", {"lesson", "1", "--json"});
    CHECK(printed.out == "text --json\n");
    CHECK(printed.err.empty());
    CHECK(run_file(built.tree / "locus", {"lesson", "2"}).err.empty());
    const Outcome failed = run_file(built.tree / "locus", {"lesson", "3"});
    CHECK(failed.status == 1);
    CHECK(failed.err.empty());
}

TEST_CASE("launcher: lesson --update keeps the old text of a lesson that fails", "[cli]") {
    const BuiltTree built;
    built.add_lesson("01", "First", "echo new $*");
    built.add_lesson("02", "Second", "echo broken; exit 1");
    const fs::path golden = built.tree / "tests/lessons/golden";
    fs::create_directories(golden);
    for (const char* file : {"01.txt", "01.json", "02.txt", "02.json"}) write_file(golden / file, "old\n");
    const Outcome outcome = run_file(built.tree / "locus", {"lesson", "--update"});
    CHECK(outcome.status == 1);
    CHECK(read_file(golden / "01.txt") == "new\n");
    CHECK(read_file(golden / "01.json") == "new --json\n");
    CHECK(read_file(golden / "02.txt") == "old\n");
    CHECK(read_file(golden / "02.json") == "old\n");
    CHECK(listing(golden) == std::vector<std::string>{"01.json", "01.txt", "02.json", "02.txt"});
}

TEST_CASE("launcher: starts at the same time build one after the other, and nothing twice", "[cli]") {
    // Builds are played by a small cmake that takes a second and says so if another one is at work.
    const TemporaryFolder folder;
    const fs::path tree = unbuilt_tree(folder), programs = folder / "programs", log = folder / "log";
    add_programs(programs, {{"dpkg-query", "echo installed"},
                            {"cmake",
                             "[ \"$1\" = --build ] || exit 0\n"
                             "mkdir \"$2/at-work\" || echo two at once >>" +
                                 quoted(log.string()) +
                                 "\n"
                                 "echo \"built $4\" >>" +
                                 quoted(log.string()) +
                                 "\n"
                                 "sleep 1; mkdir -p \"$2/bin\"\n"
                                 "printf '#!/bin/sh\\necho \"$@\"\\n' >\"$2/bin/$4\"; chmod +x \"$2/bin/$4\"\n"
                                 "rmdir \"$2/at-work\""}});
    const std::string locus = quoted((tree / "locus").string());
    const Outcome outcome = run_file(
        "/bin/sh",
        {"-c", "for word in one two three; do " + locus + " tokens $word & done; " + locus + " fill four & wait"},
        "export PATH=" + quoted(programs.string()) + ":\"$PATH\"; ");
    INFO(outcome.err);
    for (const char* word : {"one\n", "two\n", "three\n", "four\n"}) CHECK(outcome.out.find(word) != std::string::npos);
    CHECK(outcome.err.find("waiting for another build in build/release") != std::string::npos);
    const std::string told = read_file(log);
    CHECK((told == "built locus-tokens\nbuilt locus-fill\n" || told == "built locus-fill\nbuilt locus-tokens\n"));
    CHECK_FALSE(fs::exists(tree / "build/release/.started"));
}

TEST_CASE("launcher: without root and sudo the one line to run, and status 3", "[cli]") {
    // A machine where nothing is installed and nobody is root, played by three small programs in front of the path.
    const TemporaryFolder folder;
    const fs::path tree = unbuilt_tree(folder), programs = folder / "programs";
    add_programs(programs, {{"dpkg-query", "exit 1"}, {"id", "echo 1000"}, {"sudo", "exit 1"}});
    const Outcome outcome =
        run_file(tree / "locus", {"tokens", "a"}, "export PATH=" + quoted(programs.string()) + ":\"$PATH\"; ");
    CHECK(outcome.status == 3);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.out.starts_with("apt-get install "));
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 1);
    for (const char* package : {"build-essential", "libeigen3-dev", "libsentencepiece-dev", "fonts-noto-cjk"})
        CHECK(outcome.out.find(package) != std::string::npos);
}

}  // namespace locus::test::test_launcher
