// What locus text refuses: one sentence that names it, and the right status.
#include <catch2/catch.hpp>

#include "tests/run_program.h"

namespace locus::test::test_text_bad_input {

using Catch::Contains;

namespace {

void check_refusal(const std::vector<std::string>& arguments, int status, const std::vector<std::string>& named,
                   const std::string& before = "") {
    const Outcome outcome = run("locus-text", arguments, before);
    INFO("stderr: " << outcome.err);
    CHECK(outcome.status == status);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.out.empty());
    for (const std::string& word : named) CHECK_THAT(outcome.err, Contains(word));
}

struct Folder {
    TemporaryFolder folder;
    std::string with(const std::string& name, const std::string& bytes) const {
        write_bytes(folder / name, bytes);
        return (folder / name).string();
    }
};

}  // namespace

TEST_CASE("text: an empty file, a file of dashes and an empty text are refused", "[cli][text]") {
    const Folder folder;
    check_refusal({"bow", folder.with("empty.txt", "")}, 3, {"empty.txt", "no words"});
    check_refusal({"tfidf", folder.with("dashes.txt", "--- ...\n"), "--whole"}, 3, {"dashes.txt", "no words"});
    check_refusal({"bow", folder.with("a.txt", "a"), folder.with("empty.txt", "")}, 3, {"empty.txt"});
    check_refusal({"bow", "-"}, 3, {"standard input", "no words"});
    check_refusal({"bow", "--text", ""}, 2, {"text 1", "no words"});
    check_refusal({"bow", "--text", "the of", "--stop-words", "english"}, 2, {"stop words only"});
    check_refusal({"bow"}, 2, {"expected files or --text"});
}

TEST_CASE("text: files that are missing, folders, or closed are refused by name", "[cli][text]") {
    const Folder folder;
    check_refusal({"bow", "/nowhere/at/all"}, 3, {"/nowhere/at/all", "No such file"});
    check_refusal({"bow", folder.folder.path().string()}, 3, {"is a folder"});
    check_refusal({"bow", "--text", "a", "--stop-words", "/nowhere/stop"}, 3, {"/nowhere/stop"});
    check_refusal({"bow", "--text", "a", "--stop-words", ""}, 2, {"--stop-words", "empty"});
    check_refusal({"wmd", "--text", "a", "--text", "b", "--vectors", "/nowhere/v"}, 3, {"/nowhere/v"});
    check_refusal({"wmd", "--text", "a", "--text", "b", "--vectors", folder.folder.path().string()}, 3,
                  {"is a folder"});
    check_refusal({"vectors", "--text", "a b", "--out", "/nowhere/out"}, 3, {"/nowhere/out"});
    check_refusal({"bow", folder.with("wide.txt", std::string("\xff\xfe"
                                                              "a\0",
                                                              4))},
                  3, {"wide.txt", "UTF-16"});
}

TEST_CASE("text: words in front that hold no word are refused", "[cli][text]") {
    check_refusal({"next", "...", "--text", "a b"}, 2, {"\"...\" is 0 words, expected one or more"});
}

TEST_CASE("text: bytes that are not UTF-8 are replaced, counted and told", "[cli][text]") {
    const Folder folder;
    const Outcome outcome = run("locus-text", {"bow", folder.with("bad.txt", "car \xff car\xc0\xaf van\n"), "--json"});
    CHECK(outcome.status == 0);
    CHECK(outcome.sentences() == 1);
    CHECK_THAT(outcome.err, Contains("bad.txt") && Contains("3 places are not UTF-8"));
    CHECK_THAT(outcome.out, Contains("\"van\": 1"));
    const Outcome given = run("locus-text", {"bow", "--text", "car \xff"});
    CHECK_THAT(given.err, Contains("text 1: 1 place is not UTF-8"));
}

TEST_CASE("text: n below 1, options that do not exist, and commands that do not", "[cli][text]") {
    check_refusal({"ngrams", "-n", "0", "--text", "a"}, 2, {"-n", "0"});
    check_refusal({"ngrams", "-n", "-2", "--text", "a"}, 2, {"-n"});
    check_refusal({"suggest", "a", "-n", "0", "--text", "a"}, 2, {"-n"});
    check_refusal({"bow", "--fly", "--text", "a"}, 2, {"--fly"});
    check_refusal({"fly"}, 2, {"fly"});
    check_refusal({}, 2, {"no command", "tfidf"});
    check_refusal({"tfidf", "--text", "a", "--idf", "odd"}, 2, {"odd"});
    check_refusal({"tfidf", "--text", "a", "--log", "7"}, 2, {"7"});
    check_refusal({"bow", "--lines", "--whole", "--text", "a"}, 2, {"--lines", "--whole"});
    check_refusal({"wmd", "--text", "a", "--text", "b", "--vectors", ""}, 2, {"--vectors"});
}

TEST_CASE("text: too few documents, words nobody knows, topics nobody has", "[cli][text]") {
    const Folder folder;
    const std::string vectors = folder.with("v.txt", "car 1 2\n");
    check_refusal({"similar", "--text", "a"}, 2, {"one document"});
    check_refusal({"wmd", "--text", "a", "--vectors", vectors}, 2, {"one document"});
    check_refusal({"wmd", "--text", "car", "--text", "zebra", "--vectors", vectors}, 2, {"text 2", "v.txt"});
    std::string many;
    for (int n = 0; n < 1001; ++n) many += "car\n";
    check_refusal({"wmd", "--lines", folder.with("many.txt", many), "--vectors", vectors}, 4,
                  {"1001 documents", "1000"});
    check_refusal({"lsa", "--text", "a b", "--text", "c", "--topics", "3"}, 2, {"topics is 3", "1 to 2"});
    check_refusal({"next", "fly me", "--text", "a b"}, 2, {"fly me"});
    check_refusal({"suggest", "two words", "--text", "a"}, 2, {"two words", "expected one"});
    check_refusal({"order", "1,1"}, 2, {"1,1"});
    check_refusal({"order", "1,x"}, 2, {"1,x"});
    check_refusal({"order", "1,2", "--sentence", "a"}, 2, {"1 words", "2 positions"});
    check_refusal({"vectors", "--text", "a"}, 2, {"no two words"});
}

TEST_CASE("text: damaged vectors are refused by line", "[cli][text]") {
    const Folder folder;
    const auto refused = [&](const std::string& bytes, int status, const std::vector<std::string>& named) {
        check_refusal({"wmd", "--text", "car", "--text", "van", "--vectors", folder.with("v.txt", bytes)}, status,
                      named);
    };
    refused("car 1 2\nvan 1\n", 3, {"v.txt", "line 2", "expected 2"});
    refused("car 1 nan\nvan 1 2\n", 3, {"v.txt", "line 1", "nan"});
    refused("car 1 2\nvan 1 inf\n", 3, {"line 2", "inf"});
    refused("9 2\ncar 1 2\n", 3, {"has 1 vectors", "9"});
    refused("", 3, {"empty"});
    refused(std::string("\x1f\x8b\x08", 3), 4, {"gunzip"});
}

}  // namespace locus::test::test_text_bad_input
