#include <catch2/catch.hpp>
#include <sstream>

#include "core/text/statistics/word_movers.h"
#include "tests/files.h"

namespace locus::test::test_word_vectors {

using Catch::Contains;

namespace {

WordVectors read(const std::string& text, const std::vector<std::string>& words = {"car", "van"}) {
    WordList wanted;
    for (const std::string& word : words) wanted.add(word);
    std::istringstream stream(text);
    return read_word_vectors(stream, "v.txt", wanted);
}

std::string refused(const std::string& text, Fault fault = Fault::unreadable) {
    return refusal([&] { read(text); }, fault);
}

}  // namespace

TEST_CASE("word vectors: word2vec and GloVe, and nothing but the wanted words", "[text][vectors]") {
    const std::string body = "bus 9 9 9\ncar 1 2.5 -3e-1\r\nvan 4\t5 6 \n";
    for (const std::string& text : {body, "3 3\n" + body, body.substr(0, body.size() - 1)}) {
        const WordVectors vectors = read(text);
        CHECK(vectors.words.words() == std::vector<std::string>{"car", "van"});
        CHECK(vectors.vectors == Matrix<double>{{1, 2.5, -0.3}, {4, 5, 6}});
    }
}

TEST_CASE("word vectors: the first of two counts, absent words are absent, spaces may be in a word",
          "[text][vectors]") {
    const WordVectors vectors = read("car 1 2\ncar 3 4\n. . . 5 6\n", {"van", ". . .", "car"});
    CHECK(vectors.words.words() == std::vector<std::string>{"car", ". . ."});
    CHECK(vectors.vectors == Matrix<double>{{1, 2}, {5, 6}});
    CHECK(read("bus 1 2\n").words.size() == 0);
    CHECK(read("bus 1 2\n").vectors.cols() == 2);
}

TEST_CASE("word vectors: reading stops at the last wanted word", "[text][vectors]") {
    CHECK(read("car 1 2\nvan 3 4\nbroken\n").words.size() == 2);
    CHECK_THAT(refused("car 1 2\nbroken\n"), Contains("line 2"));
}

TEST_CASE("word vectors: a line of the wrong width is refused by its number", "[text][vectors]") {
    CHECK_THAT(refused("bus 1 2 3\ncar 1 2\n"), Contains("v.txt: line 2 has 2 numbers") && Contains("expected 3"));
    CHECK_THAT(refused("bus 1 2\ncar 1 2 3\n"), Contains("line 2 has 3 numbers"));
    CHECK_THAT(refused("2 3\nbus 1 2\ncar 1 2 3\n"), Contains("line 2"));
    CHECK_THAT(refused("bus 1 2\n\ncar 1 2\n"), Contains("line 2"));
    CHECK_THAT(refused("bus\n"), Contains("line 1"));
}

TEST_CASE("word vectors: a value that is no finite number is refused with its word", "[text][vectors]") {
    for (const char* value : {"nan", "NaN", "inf", "-inf", "1e999", "1e39", "x", "1,5", "0x1p3", "1e"}) {
        INFO(value);
        CHECK_THAT(refused("bus 1 2\ncar 1 " + std::string(value) + "\n"),
                   Contains("line 2") && Contains("\"car\"") && Contains(value) && Contains("finite"));
    }
}

TEST_CASE("word vectors: a file cut short is noticed where its first line gives the length", "[text][vectors]") {
    CHECK_THAT(refused("3 2\nbus 1 2\ncar 1 2\n"), Contains("has 2 vectors, its first line says 3"));
    CHECK_THAT(refused("1 2\nbus 1 2\ncar 1 2\n"), Contains("has 2 vectors"));
    CHECK_THAT(refused("1 2\n"), Contains("has 0 vectors"));
    CHECK_THAT(refused(""), Contains("is empty"));
}

TEST_CASE("word vectors: compressed and binary files are named for what they are", "[text][vectors]") {
    CHECK_THAT(refused(std::string("\x1f\x8b\x08\x00 x", 6), Fault::unsupported), Contains("gunzip"));
    CHECK_THAT(refused("3000000 300\n</s> " + std::string(1200, '\0') + "\n", Fault::unsupported),
               Contains("not text"));
    CHECK_THAT(refused(std::string((std::size_t{1} << 22) + 1, 'a'), Fault::unsupported), Contains("not text"));
}

TEST_CASE("word movers: words without a vector are left out by name", "[text][vectors]") {
    const PlacedWords placed = place_words({"van", "x", "car", "van", "y", "x"}, read("car 1 2\nvan 3 4\n"));
    CHECK(placed.words == std::vector<Counted>{{"van", 2}, {"car", 1}});
    CHECK(placed.vectors == Matrix<double>{{3, 4}, {1, 2}});
    CHECK(placed.unknown == std::vector<std::string>{"x", "y"});
    CHECK(placed.total() == 3);
    CHECK(placed.weights() == RowVector<double>{{2.0 / 3, 1.0 / 3}});
}

}  // namespace locus::test::test_word_vectors
