// Similarity and latent semantics: what must hold for any text.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/products.h"
#include "core/text/statistics/similarity.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_text_laws {

using Catch::Contains;

TEST_CASE("cosine: within [-1, 1], 1 for one direction, untouched by length, float and double alike", "[text][law]") {
    Numbers numbers(8);
    for (int round = 0; round < 50; ++round) {
        const RowVector<double> a = numbers.matrix(1, 30), b = numbers.matrix(1, 30);
        const double cosine = cosine_similarity<double>(a, b);
        CHECK((cosine >= -1 && cosine <= 1));
        CHECK(std::abs(cosine_similarity<double>(a, a * 3) - 1) <= rounding(30, 1));
        CHECK(std::abs(cosine_similarity<double>(a, -a) + 1) <= rounding(30, 1));
        CHECK(std::abs(cosine_similarity<double>(a * 1e200, b * 1e-200) - cosine) <= rounding(30, 1));
        CHECK(std::abs(cosine_similarity<float>(a.cast<float>(), b.cast<float>()) - cosine) <= 60 * 6e-8);
        CHECK(std::abs(euclidean_distance<float>(a.cast<float>(), b.cast<float>()) -
                       euclidean_distance<double>(a, b)) <= 60 * 6e-8 * 10);
    }
    const RowVector<double> zero = RowVector<double>::Zero(3), one = RowVector<double>::Ones(3);
    CHECK(cosine_similarity<double>(zero, one) == 0);
    const RowVector<double> unknown = RowVector<double>::Constant(3, std::nan(""));
    CHECK(std::isnan(cosine_similarity<double>(unknown, one)));
}

TEST_CASE("similarity: sparse rows and dense rows agree", "[text][law]") {
    Numbers numbers(9);
    Matrix<double> dense = numbers.matrix(6, 20);
    dense = (dense.array().abs() < 0.6).select(0, dense);
    dense.row(4).setZero();
    const SparseRows sparse = dense.sparseView();
    const Matrix<double> cosines = cosine_similarities<double>(dense), distances = euclidean_distances<double>(dense);
    CHECK(max_abs(cosine_similarities(sparse) - cosines) <= rounding(40, 1));
    CHECK(max_abs(euclidean_distances(sparse) - distances) <= rounding(40, 5));
    CHECK(distances.diagonal().isZero(0));
    CHECK(cosines(4, 4) == 0);
    CHECK(cosines == cosines.transpose());
}

TEST_CASE("lsa: all topics give the matrix back, fewer the nearest of their rank", "[text][law]") {
    Numbers numbers(10);
    for (const auto& [documents, words] : {std::pair<Index, Index>{5, 9}, {9, 5}, {6, 6}, {1, 4}}) {
        const Matrix<double> rows = numbers.matrix(documents, words);
        const Index all = std::min(documents, words);
        const LatentSemantics whole = latent_semantics(rows, all);
        CHECK(max_abs(whole.reconstruct() - rows) <= rounding(64, 1));
        CHECK(std::abs(whole.shares.sum() - 1) <= rounding(16, 1));
        CHECK(max_abs(transposed_times<double>(whole.words, whole.words) - Matrix<double>::Identity(all, all)) <=
              rounding(64, 1));
        for (Index topics = 1; topics < all; ++topics) {
            // Eckart and Young: what is lost is what the other singular values hold.
            const LatentSemantics space = latent_semantics(rows, topics);
            const double lost = (space.reconstruct() - rows).squaredNorm();
            CHECK(std::abs(lost - whole.strengths.tail(all - topics).squaredNorm()) <=
                  rounding(256, rows.squaredNorm()));
            CHECK(space.strengths[topics - 1] >= whole.strengths[topics]);
        }
    }
}

TEST_CASE("lsa: where documents repeat each other, the topics left over have strength 0 and are orthonormal",
          "[text][law]") {
    Numbers numbers(12);
    for (const auto& [documents, words] : {std::pair<Index, Index>{4, 9}, {9, 4}, {5, 5}}) {
        const Matrix<double> rows = times<double>(numbers.matrix(documents, 2), numbers.matrix(2, words));  // of rank 2
        const Index all = std::min(documents, words);
        const LatentSemantics space = latent_semantics(rows, all);
        CHECK(max_abs(space.reconstruct() - rows) <= rounding(64, 2));
        CHECK(max_abs(transposed_times<double>(space.words, space.words) - Matrix<double>::Identity(all, all)) <=
              rounding(64, 1));
        CHECK(space.strengths.tail(all - 2).maxCoeff() <= rounding(64, space.strengths[0]));
    }
    const LatentSemantics nothing = latent_semantics(Matrix<double>::Zero(3, 7), 3);
    CHECK(nothing.strengths.isZero(0));
    CHECK(nothing.shares.isZero(0));
    CHECK(transposed_times<double>(nothing.words, nothing.words) == Matrix<double>::Identity(3, 3));
}

TEST_CASE("lsa: the first topics do not depend on how many are asked for", "[text][law]") {
    for (const auto& [documents, words] : {std::pair{9, 40}, {40, 9}}) {
        const Matrix<double> rows = Numbers(13).matrix(documents, words);
        const LatentSemantics all = latent_semantics(rows, 9);
        for (Index topics = 1; topics < 9; ++topics) {
            const LatentSemantics some = latent_semantics(rows, topics);
            CHECK(max_abs(some.words - all.words.leftCols(topics)) <= rounding(40, 1));
            CHECK(max_abs(some.documents - all.documents.leftCols(topics)) <= rounding(40, all.strengths[0]));
            CHECK(max_abs(some.shares - all.shares.leftCols(topics)) <= rounding(40, 1));
        }
    }
}

TEST_CASE("lsa: a document is where its words put it, and a topic's largest word is positive", "[text][law]") {
    const Matrix<double> rows = Numbers(11).matrix(7, 5);
    const LatentSemantics space = latent_semantics(rows, 3);
    for (Index document = 0; document < rows.rows(); ++document)
        CHECK(max_abs(space.project(rows.row(document)) - space.documents.row(document)) <= rounding(64, 4));
    for (Index topic = 0; topic < 3; ++topic)
        CHECK(space.words.col(topic).maxCoeff() == max_abs(space.words.col(topic)));
}

TEST_CASE("lsa: documents that share no word but a neighbour meet in the space of topics", "[text][law]") {
    // car-engine, engine-motor: the first and third share nothing; flower-garden stays away.
    const Matrix<double> rows{{1, 1, 0, 0, 0}, {0, 1, 1, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 1, 1}};
    const Matrix<double> before = cosine_similarities<double>(rows);
    const Matrix<double> after = cosine_similarities<double>(latent_semantics(rows, 2).documents);
    CHECK(before(0, 2) == 0);
    CHECK(after(0, 2) > 0.9);
    CHECK(std::abs(after(0, 3)) <= rounding(64, 1));
}

TEST_CASE("lsa: topics out of range and NaN are refused", "[text]") {
    Matrix<double> rows = Matrix<double>::Ones(2, 3);
    for (const Index topics : {0, -1, 3})
        CHECK_THAT(refusal([&] { latent_semantics(rows, topics); }, Fault::usage), Contains("expected 1 to 2"));
    rows(0, 0) = std::nan("");
    CHECK_THAT(refusal([&] { latent_semantics(rows, 1); }, Fault::usage), Contains("not finite"));
}

}  // namespace locus::test::test_text_laws
