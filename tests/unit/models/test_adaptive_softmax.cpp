// Words in clusters: log-probabilities given a cluster, and the tables that the words of Transformer-XL stand in.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/models/transformer_xl_words.h"
#include "core/models/word_logits.h"
#include "tests/files.h"
#include "tests/random_model.h"

namespace locus::test::test_adaptive_softmax {

TEST_CASE("log softmax: its exponentials are the softmax, given what the words stand in", "[words]") {
    Matrix<double> logits(3, 4);
    logits << 0, 1, 2, 3, -1000, 1000, 0, 1, 5, 5, 5, 5;
    const RowVector<double> given = RowVector<double>::LinSpaced(3, -1, -3);
    const Matrix<double> plain = log_softmax<double>(logits, {}), of_cluster = log_softmax<double>(logits, given);
    for (Index n = 0; n < 3; ++n) {
        CHECK(std::abs(plain.row(n).array().exp().sum() - 1) <= 1e-15);
        CHECK(std::abs(of_cluster.row(n).array().exp().sum() - std::exp(given[n])) <= 1e-15);
        for (Index w = 0; w < 4; ++w) {  // the loss of a word is minus its log-probability
            const double loss = cross_entropy<double>(logits.row(n), w);
            CHECK(std::abs(plain(n, w) + loss) <= 1e-12);
        }
    }
    CHECK(plain(1, 0) == -2000);  // nothing overflows
    CHECK(std::abs(plain(2, 3) + std::log(4)) <= 1e-15);
    CHECK(refusal([&] { log_softmax<double>(logits, RowVector<double>::Zero(4)); }, Fault::usage).find("given") !=
          std::string::npos);
}

TEST_CASE("clusters of words: where they begin, how many words they hold and how wide their vectors are", "[words]") {
    TransformerXlConfig config;
    config.vocab_size = 267735;
    config.d_model = config.d_embed = 1024;
    CHECK(config.clusters() == 1);
    CHECK(config.cluster_size(0) == 267735);
    CHECK_FALSE(config.projected());
    config.cutoffs = {20000, 40000, 200000};
    config.div_val = 4;
    CHECK(config.clusters() == 4);
    CHECK(config.projected());
    const Index sizes[] = {20000, 20000, 160000, 67735}, widths[] = {1024, 256, 64, 16};
    for (Index n = 0; n < 4; ++n) {
        CHECK(config.cluster_size(n) == sizes[n]);
        CHECK(config.cluster_width(n) == widths[n]);
    }
    config.d_embed = 100;  // 100 // 4 ** n, as Python divides
    CHECK(config.cluster_width(1) == 25);
    CHECK(config.cluster_width(2) == 6);
    CHECK(config.cluster_width(3) == 1);
}

TEST_CASE("clusters of words: ids are looked up in the table of their cluster, in any order", "[words]") {
    TransformerXlConfig config;
    config.vocab_size = 6;
    config.d_model = config.d_embed = config.div_val = 2;
    config.cutoffs = {2};
    auto weights = std::make_shared<MemoryWeights>();
    const auto put = [&](const std::string& name, const Matrix<double>& values) {
        weights->tensors[name] = {{values.rows(), values.cols()}, values};
    };
    Matrix<double> twice(2, 2), first(2, 2), column(2, 1);
    first << 1, 2, 3, 4;
    twice << 2, 0, 0, 2;
    column << 1, -1;
    put("word_emb.emb_layers.0.weight", first);
    put("word_emb.emb_projs.0", twice);
    Matrix<double> narrow(4, 1);
    narrow << 5, 6, 7, 8;
    put("word_emb.emb_layers.1.weight", narrow);
    put("word_emb.emb_projs.1", column);
    const WeightReader<double> reader(weights);
    const TransformerXlWords<double> words(config, reader);
    CHECK_FALSE(words.has_output());
    Matrix<double> expected(4, 2);
    expected << 8, -8, 6, 8, 5, -5, 2, 4;
    CHECK(words.vectors({5, 1, 2, 0}) == expected);
    CHECK((words.scaled(expected) - expected * std::sqrt(2)).cwiseAbs().maxCoeff() <= 1e-15);
}

}  // namespace locus::test::test_adaptive_softmax
