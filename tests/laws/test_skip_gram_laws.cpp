#include <catch2/catch.hpp>
#include <cmath>

#include "core/text/statistics/similarity.h"
#include "core/text/statistics/skip_gram.h"
#include "tests/files.h"

namespace locus::test::test_skip_gram_laws {

using Catch::Contains;

namespace {

/// Two kinds of things, each with its own verbs: a cat and a dog never meet, but they keep the same company.
std::vector<Document> two_worlds() {
    std::vector<Document> documents;
    for (const char* animal : {"cat", "dog"})
        for (const char* verb : {"eats", "sleeps", "runs", "plays"}) documents.push_back({"the", animal, verb});
    for (const char* car : {"car", "truck"})
        for (const char* verb : {"parks", "rusts", "brakes", "honks"}) documents.push_back({"the", car, verb});
    return documents;
}

double cosine(const SkipGram& model, const char* a, const char* b) {
    const auto row = [&](const char* word) -> RowVector<double> {
        return model.vectors.vectors.row(model.vectors.words.find(word).value());
    };
    return cosine_similarity<double>(row(a), row(b));
}

}  // namespace

TEST_CASE("skip-gram: the gradients are those of the loss", "[text][law]") {
    const RowVector<double> centre{{0.3, -0.7, 1.1}};
    const Matrix<double> contexts{{0.5, 0.2, -0.4}, {-1.0, 0.8, 0.3}, {0.1, 0.1, 2.0}};
    const PairLoss exact = negative_sampling_loss(centre, contexts);
    REQUIRE(exact.contexts_gradient.rows() == 3);
    REQUIRE(exact.contexts_gradient.cols() == 3);
    const double step = 1e-5, tolerance = 1e-9;  // the error of a central difference is of size step^2
    for (Index n = 0; n < 3; ++n) {
        RowVector<double> up = centre, down = centre;
        up[n] += step;
        down[n] -= step;
        const double slope =
            (negative_sampling_loss(up, contexts).loss - negative_sampling_loss(down, contexts).loss) / (2 * step);
        CHECK(std::abs(slope - exact.centre_gradient[n]) <= tolerance);
    }
    for (Index n = 0; n < 9; ++n) {
        Matrix<double> up = contexts, down = contexts;
        up.data()[n] += step;
        down.data()[n] -= step;
        const double slope =
            (negative_sampling_loss(centre, up).loss - negative_sampling_loss(centre, down).loss) / (2 * step);
        CHECK(std::abs(slope - exact.contexts_gradient.data()[n]) <= tolerance);
    }
}

TEST_CASE("skip-gram: zero vectors know nothing, and large scores do not overflow", "[text][law]") {
    const RowVector<double> zero = RowVector<double>::Zero(4);
    const Matrix<double> contexts = Matrix<double>::Random(6, 4);
    CHECK(std::abs(negative_sampling_loss(zero, contexts).loss - 6 * std::log(2.0)) <= 1e-15);
    const RowVector<double> far{{1000}};
    CHECK(negative_sampling_loss(far, Matrix<double>{{1}, {-1}}).loss == 0);
    CHECK(negative_sampling_loss(far, Matrix<double>{{-1}}).loss == 1000);
    CHECK(negative_sampling_loss(far, Matrix<double>{{-1}}).centre_gradient[0] == 1);
}

TEST_CASE("skip-gram: words in like company get like vectors, whatever the seed", "[text][law]") {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SkipGramOptions options;
        options.seed = seed;
        options.epochs = 200;
        const SkipGram model = train_skip_gram(two_worlds(), options);
        INFO("seed " << seed << ": cat-dog " << cosine(model, "cat", "dog") << ", cat-car "
                     << cosine(model, "cat", "car"));
        CHECK(cosine(model, "cat", "dog") > 0.8);
        CHECK(cosine(model, "car", "truck") > 0.8);
        for (const char* animal : {"cat", "dog"})
            for (const char* car : {"car", "truck"})
                CHECK(cosine(model, animal, car) < cosine(model, "cat", "dog") - 0.3);
        CHECK(model.losses.size() == 200);
        CHECK(model.losses.back() < 0.8 * model.losses.front());
    }
}

TEST_CASE("skip-gram: one seed gives the same vectors to the last bit, another gives others", "[text][law]") {
    SkipGramOptions options;
    options.epochs = 5;
    const SkipGram first = train_skip_gram(two_worlds(), options), second = train_skip_gram(two_worlds(), options);
    CHECK(first.vectors.vectors == second.vectors.vectors);
    CHECK(first.contexts == second.contexts);
    CHECK(first.losses == second.losses);
    options.seed = 2;
    CHECK(train_skip_gram(two_worlds(), options).vectors.vectors != first.vectors.vectors);
}

TEST_CASE("skip-gram: it asks every 1000 pairs whether to stop", "[text]") {
    SkipGramOptions options;
    options.epochs = 200;
    int asked = 0;
    CHECK_THROWS_AS(train_skip_gram(two_worlds(), options, [&] { return ++asked == 3; }), Cancelled);
    CHECK(asked == 3);
    asked = 0;
    const auto stopped_never = train_skip_gram(two_worlds(), options, [&] { return ++asked < 0; });
    CHECK(asked > 3);
    CHECK(stopped_never.vectors.vectors == train_skip_gram(two_worlds(), options).vectors.vectors);
}

TEST_CASE("skip-gram: sizes, rates and texts it cannot learn from are refused", "[text]") {
    const auto refused = [](auto change, const std::vector<Document>& documents = {{"a", "b"}}) {
        SkipGramOptions options;
        change(options);
        return refusal([&] { train_skip_gram(documents, options); }, Fault::usage);
    };
    CHECK_THAT(refused([](SkipGramOptions& o) { o.width = 0; }), Contains("width is 0"));
    CHECK_THAT(refused([](SkipGramOptions& o) { o.window = -1; }), Contains("window is -1"));
    CHECK_THAT(refused([](SkipGramOptions& o) { o.negatives = 0; }), Contains("negatives is 0"));
    CHECK_THAT(refused([](SkipGramOptions& o) { o.epochs = 0; }), Contains("epochs is 0"));
    for (const double rate : {0.0, -1.0, std::nan(""), double{INFINITY}})
        CHECK_THAT(refused([&](SkipGramOptions& o) { o.learning_rate = rate; }), Contains("learning_rate"));
    CHECK_THAT(refused([](SkipGramOptions&) {}, {}), Contains("no two words"));
    CHECK_THAT(refused([](SkipGramOptions&) {}, {{"a"}, {"b"}}), Contains("no two words"));
    CHECK_THAT(
        refusal([] { negative_sampling_loss(RowVector<double>::Ones(2), Matrix<double>::Ones(2, 3)); }, Fault::usage),
        Contains("[2, 3]"));
}

}  // namespace locus::test::test_skip_gram_laws
