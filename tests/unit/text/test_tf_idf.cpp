#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "core/text/statistics/similarity.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/word_movers.h"
#include "core/text/statistics/words.h"
#include "tests/files.h"

namespace locus::test::test_tf_idf {

using Catch::Contains;

namespace {

const std::vector<Document> kCarAndFriend = {split_words("a new car, used car, car review"),
                                             split_words("a friend in need is a friend indeed")};

/// True if `value`, written with six digits after the point, is `printed`.
bool prints_as(double value, const std::string& printed) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", value);
    return text == printed;
}

}  // namespace

TEST_CASE("tf-idf: the source's table, all ten words", "[text][golden]") {
    struct Line {
        const char* word;
        double tf_a, tf_b;
        const char *idf, *tf_idf_a, *tf_idf_b;
    };
    const Line lines[] = {{"a", 1.0 / 7, 2.0 / 8, "0.000000", "0.000000", "0.000000"},
                          {"new", 1.0 / 7, 0, "0.301030", "0.043004", "0.000000"},
                          {"car", 3.0 / 7, 0, "0.301030", "0.129013", "0.000000"},
                          {"used", 1.0 / 7, 0, "0.301030", "0.043004", "0.000000"},
                          {"review", 1.0 / 7, 0, "0.301030", "0.043004", "0.000000"},
                          {"friend", 0, 2.0 / 8, "0.301030", "0.000000", "0.075257"},
                          {"in", 0, 1.0 / 8, "0.301030", "0.000000", "0.037629"},
                          {"need", 0, 1.0 / 8, "0.301030", "0.000000", "0.037629"},
                          {"is", 0, 1.0 / 8, "0.301030", "0.000000", "0.037629"},
                          {"indeed", 0, 1.0 / 8, "0.301030", "0.000000", "0.037629"}};
    const BagOfWords bag = bag_of_words(kCarAndFriend);
    const Matrix<double> tf = term_frequencies(bag.counts), weights = tf_idf(bag.counts);
    const RowVector<double> idf = inverse_document_frequencies(bag.counts);
    REQUIRE(bag.words.size() == 10);
    for (const Line& line : lines) {
        INFO(line.word);
        const Index column = bag.words.find(line.word).value();
        CHECK(tf(0, column) == line.tf_a);
        CHECK(tf(1, column) == line.tf_b);
        CHECK(prints_as(idf[column], line.idf));
        CHECK(prints_as(weights(0, column), line.tf_idf_a));
        CHECK(prints_as(weights(1, column), line.tf_idf_b));
    }
}

TEST_CASE("tf-idf: 0.3 was a logarithm of base 10", "[text][golden]") {
    const BagOfWords bag = bag_of_words(kCarAndFriend);
    const Matrix<double> natural = tf_idf(bag.counts, Idf::plain, LogBase::natural);
    CHECK(prints_as(natural(0, bag.words.find("car").value()), "0.297063"));
    CHECK(inverse_document_frequency(8, 1, Idf::plain, LogBase::two) == 3);
    CHECK(inverse_document_frequency(100, 1) == 2);
}

TEST_CASE("tf-idf: four forms of idf, with and without + 1", "[text][golden]") {
    CHECK(inverse_document_frequency(2, 1, Idf::df_plus_one) == 0);
    CHECK(prints_as(inverse_document_frequency(2, 2, Idf::df_plus_one), "-0.176091"));
    CHECK(prints_as(inverse_document_frequency(2, 0, Idf::df_plus_one), "0.301030"));
    CHECK(inverse_document_frequency(2, 1, Idf::as_printed) == std::log10(3.0));
    CHECK(inverse_document_frequency(2, 2, Idf::scikit_learn) == 1);
    CHECK(inverse_document_frequency(2, 1, Idf::scikit_learn) == std::log(1.5) + 1);
    // As printed, the + 1 stands outside the division and saves nobody from df = 0.
    for (const Idf form : {Idf::plain, Idf::as_printed})
        CHECK_THAT(refusal([&] { inverse_document_frequency(2, 0, form); }, Fault::usage), Contains("df is 0"));
    for (const auto& [documents, df] : {std::pair<Index, Index>{2, 3}, {2, -1}, {0, 0}})
        CHECK_THROWS_AS(inverse_document_frequency(documents, df, Idf::scikit_learn), Error);
}

TEST_CASE("tf-idf: term frequencies sum to 1 or, for an empty document, to 0", "[text][law]") {
    const Matrix<double> tf = term_frequencies(bag_of_words({{"a", "b", "a"}, {}, {"c"}}).counts);
    REQUIRE(tf.rows() == 3);
    CHECK(std::abs(tf.row(0).sum() - 1) <= 1e-15);
    CHECK(tf.row(1).isZero(0));
    CHECK(tf.row(2).sum() == 1);
}

TEST_CASE("tf-idf: a word of every document weighs nothing, one of a single document most", "[text][law]") {
    const BagOfWords bag = bag_of_words({{"all", "two", "one"}, {"all", "two"}, {"all"}});
    const RowVector<double> idf = inverse_document_frequencies(bag.counts);
    CHECK(document_frequencies(bag.counts) == std::vector<Index>{3, 2, 1});
    CHECK(idf[0] == 0);
    CHECK(idf[1] > idf[0]);
    CHECK(idf[2] > idf[1]);
}

TEST_CASE("similarity: the source's two documents", "[text][golden]") {
    const BagOfWords bag = bag_of_words(kCarAndFriend);
    const SparseRows tf = term_frequencies(bag.counts), weights = tf_idf(bag.counts);
    CHECK(prints_as(cosine_similarities(bag.counts)(0, 1), "0.160128"));
    CHECK(prints_as(cosine_similarities(tf)(0, 1), "0.160128"));
    CHECK(cosine_similarities(weights)(0, 1) == 0);
    CHECK(prints_as(euclidean_distances(bag.counts)(0, 1), "4.582576"));
    CHECK(prints_as(euclidean_distances(weights)(0, 1), "0.183084"));
}

TEST_CASE("similarity: three, four, five, and angles of 60 and 180 degrees", "[text][golden]") {
    CHECK(euclidean_distance<double>(RowVector<double>{{4, 6}}, RowVector<double>{{1, 2}}) == 5);
    CHECK(euclidean_distance<float>(RowVector<float>{{4, 6}}, RowVector<float>{{1, 2}}) == 5);
    CHECK(std::abs(cosine_similarity<double>(RowVector<double>{{2, 0}}, RowVector<double>{{1, std::sqrt(3.0)}}) -
                   0.5) <= 1e-15);
    CHECK(cosine_similarity<double>(RowVector<double>{{2, 0}}, RowVector<double>{{-3, 0}}) == -1);
}

TEST_CASE("similarity: vectors of two lengths are refused", "[text]") {
    const RowVector<double> two = RowVector<double>::Ones(2), three = RowVector<double>::Ones(3);
    CHECK_THAT(refusal([&] { cosine_similarity<double>(two, three); }, Fault::usage), Contains("2 and 3"));
    CHECK_THAT(refusal([&] { euclidean_distance<double>(two, three); }, Fault::usage), Contains("2 and 3"));
}

TEST_CASE("tensor: the source's shapes hold what it says they do", "[text][golden]") {
    CHECK(Tensor<float>({3, 2, 4}).rows().rows() == 6);          // 3 sentences of 2 words, each of 4 numbers
    CHECK(Tensor<float>({3, 5, 5}).matrix(2).size() == 25);      // 3 grey images
    CHECK(Tensor<float>({3, 5, 5, 3}).size() == 225);            // 3 images in three colours
    CHECK(Tensor<float>({3, 5, 5, 5, 3}).size() == 3 * 5 * 75);  // 3 videos of 5 frames
    CHECK(Tensor<float>({3, 5, 5, 5, 3}).rank() == 5);
}

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

TEST_CASE("word vectors: a byte order mark is no part of the first word", "[text][vectors]") {
    const std::string mark = "\xEF\xBB\xBF";
    for (const char* head : {"", "2 1\n"}) {
        const WordVectors vectors = read(mark + head + "car 1\nvan 2\n");
        CHECK(vectors.words.words() == std::vector<std::string>{"car", "van"});
    }
}

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

}  // namespace locus::test::test_tf_idf
