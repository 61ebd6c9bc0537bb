// locus text as a user meets it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/text/text_table.h"
#include "tests/run_program.h"

namespace locus::test::test_text_cli {

using Json = nlohmann::json;
using Catch::Contains;

namespace {

Outcome text(const std::vector<std::string>& arguments, const std::string& before = "") {
    return run("locus-text", arguments, before);
}

Json json_of(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = text(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return Json::parse(outcome.out);
}

std::string cli_number(const Json& value) { return format_number(value.get<double>()); }

std::vector<std::string> lines_of(const std::string& out) {
    std::vector<std::string> lines;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// A folder of the files that most tests here read.
struct Files {
    TemporaryFolder folder;
    Files() {
        write_file(folder / "ab.txt",
                   "a new car, used car, car review\r\n\n---\na friend in need is a friend indeed\n");
        write_file(folder / "king.txt", "The king speaks to the crowd in London\n");
        write_file(folder / "queen.txt", "A queen addresses people in Paris.\n");
        write_file(folder / "vectors.txt",
                   "king 1 0 0\nqueen 1 0.5 0\nspeaks 0 1 0\naddresses 0 1 0.2\ncrowd 0 0 1\npeople 0 0.1 1\n"
                   "london 2 2 2\nparis 2 2.1 2\n");
    }
    std::string operator/(const std::string& name) const { return (folder / name).string(); }
};

}  // namespace

TEST_CASE("text: tfidf of the source's two sentences", "[cli][text]") {
    const Files files;
    const Json json = json_of({"tfidf", files / "ab.txt"});
    REQUIRE(json["documents"].size() == 2);  // lines without a word are none, but they count as lines
    CHECK(json["documents"][0]["name"] == files / "ab.txt:1");
    CHECK(json["documents"][1]["name"] == files / "ab.txt:4");
    CHECK(json["documents"][0]["words"][0]["word"] == "car");
    CHECK(cli_number(json["documents"][0]["words"][0]["tf_idf"]) == "0.129013");
    CHECK(cli_number(json["documents"][1]["words"][0]["tf_idf"]) == "0.0752575");
    CHECK(cli_number(json_of({"tfidf", files / "ab.txt", "--log", "e"})["documents"][0]["words"][0]["tf_idf"]) ==
          "0.297063");
    CHECK(json_of({"tfidf", files / "ab.txt", "--log", "2"})["log"] == "2");
    CHECK(json_of({"tfidf", files / "ab.txt", "--log", "2", "--idf", "scikit-learn"})["log"] == "e");  // what is used
    CHECK(json_of({"tfidf", files / "ab.txt", "--top", "2"})["documents"][1]["words"].size() == 2);
    CHECK(json_of({"tfidf", files / "ab.txt", "--idf", "df-plus-one", "--top",
                   "0"})["documents"][0]["words"][4]["idf"] < -0.17);
}

TEST_CASE("text: one file is a document per line, several are one each, and options turn that round", "[cli][text]") {
    const Files files;
    const std::string ab = files / "ab.txt", king = files / "king.txt";
    const auto count = [&](const std::vector<std::string>& arguments) {
        return json_of(arguments)["documents"].size();
    };
    CHECK(count({"bow", ab}) == 2);
    CHECK(count({"bow", ab, "--whole"}) == 1);
    CHECK(count({"bow", ab, king}) == 2);
    CHECK(count({"bow", ab, king, "--lines"}) == 3);
    CHECK(count({"bow", ab, "--text", "one more", "--text", "[and one]"}) == 4);
    CHECK(count({"bow", "--text", "one more", ab}) == 3);
    const Outcome piped = text({"bow", "-", "--json"}, "printf 'x y\\nz\\n' | ");
    CHECK(Json::parse(piped.out)["documents"][1]["name"] == "standard input:2");
}

TEST_CASE("text: bow counts, case and stop words", "[cli][text]") {
    const Json json = json_of({"bow", "--text", "The car, the CAR"});
    CHECK(json["words"] == Json({"the", "car"}));
    CHECK(json["documents"][0]["counts"] == Json({{"the", 2}, {"car", 2}}));
    CHECK(json_of({"bow", "--text", "The car, the CAR", "--keep-case"})["words"].size() == 4);
    CHECK(json_of({"bow", "--text", "The car", "--stop-words", "english"})["words"] == Json({"car"}));
    // The built-in words are meant in any case, those of a file as they are written.
    CHECK(json_of({"bow", "--text", "The CAR", "--stop-words", "english", "--keep-case"})["words"] == Json({"CAR"}));
    std::string million;
    for (int n = 0; n < 1234567; ++n) million += "a ";
    const Files files;
    write_file(files / "million", million);
    CHECK_THAT(text({"bow", files / "million", "--text", "b"}).out, Contains("1234567"));
    write_file(files / "stop", "Car\nin\n");
    CHECK(json_of({"bow", "--text", "the car", "--stop-words", files / "stop"})["words"] == Json({"the"}));
    CHECK(json_of({"bow", "--text", "In car", "--stop-words", files / "stop", "--keep-case"})["words"] ==
          Json({"In", "car"}));
}

TEST_CASE("text: columns stand straight, in Korean too", "[cli][text]") {
    const Outcome outcome = text({"bow", "--text", "발 없는 말이 천리 간다", "--text", "나 go"});
    const std::vector<std::string> lines = lines_of(outcome.out);
    REQUIRE(lines.size() == 8);
    for (const std::string& line : lines) CHECK(display_width(line) == display_width(lines[0]));
    CHECK(lines[2] == "없는       1       0");
    CHECK(lines[7] == "go         0       1");
    const std::vector<std::string> many = {"bow", "--text", "a", "--text", "b", "--text", "c", "--text", "d",  "--text",
                                           "e",   "--text", "f", "--text", "g", "--text", "h", "--text", "a i"};
    CHECK(lines_of(text(many).out)[0] == "document  word  count");
}

TEST_CASE("text: ngrams, next and suggest give the source's counts", "[cli][text]") {
    const std::vector<std::string> how = {"--text", "how are you doing", "--text", "how are you",
                                          "--text", "how are they"};
    const auto with = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), how.begin(), how.end());
        return json_of(arguments);
    };
    const Json grams = with({"ngrams", "-n", "3"});
    CHECK(grams["total"] == 4);
    CHECK(grams["distinct"] == 3);
    CHECK(grams["ngrams"][0] == Json({{"text", "how are you"}, {"count", 2}, {"share", 0.5}}));
    const Json next = with({"next", "How are"});
    CHECK(next["next"][0] == Json({{"word", "you"}, {"count", 2}, {"probability", 2.0 / 3}}));
    CHECK(with({"next", ""})["next"][0]["word"] == "how");  // no context: the most frequent word
    const Json spelt = json_of({"suggest", "qwal", "--text", "quality, quater, quit"});
    CHECK(spelt["unknown"] == Json({"qw", "wa"}));
    CHECK(spelt["suggestions"][0]["word"] == "quality");
    CHECK(json_of({"ngrams", "-n", "2", "--characters", "--text", "fine thank you"})["total"] == 13);
    CHECK_THAT(text({"ngrams", "--characters", "--text", "a b"}).out, Contains("\"a \""));
}

TEST_CASE("text: similar and lsa", "[cli][text]") {
    const Files files;
    const auto value = [&](const std::string& by, const std::string& measure) {
        return cli_number(
            json_of({"similar", files / "ab.txt", "--by", by, "--measure", measure})["pairs"][0]["value"]);
    };
    CHECK(value("counts", "cosine") == "0.160128");
    CHECK(value("tf", "cosine") == "0.160128");
    CHECK(value("tfidf", "cosine") == "0");
    CHECK(value("counts", "euclid") == "4.58258");
    CHECK(value("tfidf", "euclid") == "0.183084");
    const Json order = json_of({"similar", "--text", "a b", "--text", "c d", "--text", "a b c", "--by", "counts"});
    CHECK(order["pairs"][0]["a"] == "text 1");
    CHECK(order["pairs"][0]["b"] == "text 3");
    const Json lsa = json_of({"lsa", files / "ab.txt", "--topics", "2"});
    CHECK(lsa["topics"][0]["words"][0]["word"] == "car");
    CHECK(std::abs(lsa["topics"][0]["share"].get<double>() + lsa["topics"][1]["share"].get<double>() - 1) < 1e-12);
    CHECK(lsa["documents"].size() == 2);
    CHECK(text({"lsa", files / "ab.txt"}).out.find("-0 ") == std::string::npos);
}

TEST_CASE("text: wmd, its bounds and what travels where", "[cli][text]") {
    const Files files;
    const std::vector<std::string> arguments = {
        "wmd", files / "king.txt", files / "queen.txt", "--vectors", files / "vectors.txt", "--stop-words", "english"};
    const Json pair = json_of(arguments)["pairs"][0];
    CHECK(cli_number(pair["distance"]) == "0.225");
    CHECK(pair["relaxed"].get<double>() <= pair["distance"].get<double>() * (1 + 1e-15));
    CHECK(pair["plan"].size() == 4);
    CHECK(pair["plan"][0] == Json({{"from", "king"}, {"to", "queen"}, {"share", 0.25}, {"distance", 0.5}}));
    CHECK_THAT(text(arguments).out, Contains("king    queen       0.25       0.5  0.125"));
    const Outcome unknown =
        text({"wmd", "--text", "king zebra", "--text", "queen", "--vectors", files / "vectors.txt"});
    CHECK(unknown.status == 0);
    CHECK(unknown.sentences() == 1);
    CHECK_THAT(unknown.err, Contains("zebra") && Contains("text 1"));
}

TEST_CASE("text: wmd without vectors learns them, the same ones every time", "[cli][text]") {
    const std::vector<std::string> words = {"wmd",
                                            "--text",
                                            "the president speaks to the press",
                                            "--text",
                                            "the president greets the press",
                                            "--text",
                                            "the band played a song",
                                            "--stop-words",
                                            "english"};
    const auto pairs = json_of(words)["pairs"];
    REQUIRE(pairs.size() == 3);
    CHECK(pairs == json_of(words)["pairs"]);
    // speaks and greets stand in the same sentences of the built-in text; a song is somewhere else.
    const double near = pairs[0]["distance"], far = pairs[1]["distance"];
    CHECK(near > 0);
    CHECK(near < 0.5 * far);
    // Every word has a vector: the documents' own, too.
    const Outcome outcome = text({"wmd", "--text", "qwx yzzk vvrq", "--text", "song"});
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
}

TEST_CASE("text: vectors learnt here can be read by wmd", "[cli][text]") {
    const Files files;
    const std::vector<std::string> train = {"vectors", files / "ab.txt", "--width",           "4", "--epochs",
                                            "3",       "--out",          files / "learnt.txt"};
    const Json json = json_of(train);
    CHECK(json["losses"].size() == 3);
    CHECK(json["words"].size() == 10);
    const std::string bytes = read_file(files / "learnt.txt");
    CHECK(bytes.starts_with("10 4\na "));
    json_of(train);
    CHECK(read_file(files / "learnt.txt") == bytes);
    CHECK(json_of({"wmd", files / "ab.txt", "--vectors", files / "learnt.txt"})["pairs"][0]["distance"] > 0);
}

TEST_CASE("text: an order of prediction as rows of ones and in words", "[cli][text]") {
    const Outcome outcome = text({"order", "3,2,4,1", "--sentence", "나 어제 학교 갔어"});
    CHECK_THAT(outcome.out, Contains("나    1111     0111") && Contains("어제  0110     0010") &&
                                Contains("word 4 is predicted from 3 (학교), 2 (어제)"));
    CHECK(json_of({"order", "2,1", "--memory", "1"})["query"] == Json({{1, 0, 1}, {1, 0, 0}}));
}

}  // namespace locus::test::test_text_cli
