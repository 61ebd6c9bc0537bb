#include <catch2/catch.hpp>
#include <cmath>

#include "core/text/statistics/similarity.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
#include "tests/files.h"

namespace locus::test::test_tf_idf {

using Catch::Contains;

namespace {

const std::vector<Document> kCarAndFriend = {split_words("a new car, used car, car review"),
                                             split_words("a friend in need is a friend indeed")};

/// True if `value`, written with six digits behind the point, is `printed`.
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

}  // namespace locus::test::test_tf_idf
