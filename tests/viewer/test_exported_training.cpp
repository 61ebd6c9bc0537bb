// What page Training exports, beside the same training run here.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/io/safetensors.h"
#include "tests/files.h"
#include "tests/viewer/run_view.h"
#include "viewer/data/training_look.h"

namespace locus::test::test_exported_training {

namespace {

constexpr const char* kText = "the cat of tom chased the dog of emma.";

std::string sixty_sentences() {
    std::string text;
    const char* names[] = {"tom", "emma", "ruth", "ben", "anna"};
    for (int n = 0; n < 60; ++n)
        text += std::string("the cat of ") + names[n % 5] + " chased the dog of " + names[n % 7 % 5] + ".\n";
    return text;
}

bool same(const Stage& found, const Matrix<float>& expected) {
    const auto& values = found.as<float>();
    return found.shape() == Shape{expected.rows(), expected.cols()} &&
           std::memcmp(values.data(), expected.data(), static_cast<std::size_t>(values.size()) * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("export: page Training leaves one head's terms, both curves and every loss",
          "[view][training][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no page can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const std::string corpus = write_bytes(folder / "corpus.txt", sixty_sentences()).string();
    const fs::path file = folder / "training.safetensors";
    // The film stands at the second snapshot, layer and head are others than at the start.
    const Outcome outcome = view({"--page",   "training",         "--set",    "training.corpus=" + corpus,
                                  "--set",    "training.steps=2", "--set",    "training.seed=3",
                                  "--set",    "training.run=yes", "--set",    std::string("training.text=") + kText,
                                  "--set",    "training.masked=", "--set",    "training.film=1",
                                  "--set",    "training.layer=1", "--set",    "training.head=2",
                                  "--export", file.string(),      "--region", "page"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Trace found = read_trace(file);

    CourseBoard board({});
    const auto course = Courses().run({corpus, 2, 60, 3, true}, board);
    LookQuery query{course->subject, {}, kText, {}};
    for (const CourseSnapshot& snapshot : course->snapshots) query.snapshots.push_back(snapshot.values);
    const auto look = TrainingLooks().answer(query);
    REQUIRE(look->snapshots.size() == 3);
    for (const std::string stage : {"layer.1.c2c", "layer.1.c2p", "layer.1.p2c"}) {
        INFO(stage);
        CHECK(same(found.at(stage), look->snapshots[1]->trace.at(stage).as<float>().matrix(2)));
    }
    const HeadFilm film = head_film(*look, 1, 2);
    for (const auto& [name, curve] : {std::pair("curve c2p", &film.c2p), std::pair("curve p2c", &film.p2c)}) {
        INFO(name);
        const auto& values = found.at(name).as<double>();
        REQUIRE(values.shape() == Shape{2 * kCurveReach + 1, 3});
        for (Index n = 0; n < 3; ++n)
            for (Index d = 0; d <= 2 * kCurveReach; ++d)
                CHECK(values.matrix()(d, n) == curve->means[static_cast<std::size_t>(n)][static_cast<std::size_t>(d)]);
    }
    const Matrix<double> snapshots = found.at("snapshots").as<double>().matrix(),
                         losses = found.at("loss").as<double>().matrix();
    REQUIRE((snapshots.rows() == 3 && snapshots.cols() == 3));
    REQUIRE((losses.rows() == 2 && losses.cols() == 2));
    CHECK(std::isnan(snapshots(0, 1)));  // nothing was learnt yet
    for (Index n = 0; n < 3; ++n) CHECK(snapshots(n, 2) == course->snapshots[static_cast<std::size_t>(n)].heldout);
    for (Index n = 0; n < 2; ++n) CHECK(losses(n, 1) == course->steps[static_cast<std::size_t>(n)].loss);
    CHECK(losses(0, 0) < losses(1, 0));  // seconds
    CHECK(snapshots(2, 0) >= losses(1, 0));
    CHECK(snapshots(1, 1) == losses(0, 1));
}

}  // namespace locus::test::test_exported_training
