// A sentence as every snapshot of a training sees it.
#include "tests/max_abs.h"
#include "viewer/data/training_look.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/files.h"
#include "viewer/plots/learned_curve.h"

namespace locus::test::test_training_look {

namespace {

/// Two steps on a few sentences.
std::shared_ptr<const Course> small_course() {
    static const std::shared_ptr<const Course> course = [] {
        const TemporaryFolder folder;
        std::string text;
        const char* names[] = {"tom", "emma", "ruth", "ben", "anna"};
        for (int n = 0; n < 60; ++n)
            text += std::string("the cat of ") + names[n % 5] + " chased the dog of " + names[n % 7 % 5] + ".\n";
        write_bytes(folder / "corpus.txt", text);
        CourseBoard board({});
        return Courses().run({(folder / "corpus.txt").string(), 2, 60, 3, true}, board);
    }();
    return course;
}

LookQuery query_of(const std::string& text, std::vector<Index> masked) {
    LookQuery query{small_course()->subject, {}, text, std::move(masked)};
    for (const CourseSnapshot& snapshot : small_course()->snapshots) query.snapshots.push_back(snapshot.values);
    return query;
}

constexpr const char* kText = "the cat of tom chased the dog of emma.";

Matrix<float> head_of(const TrainingLook& look, std::size_t snapshot, const std::string& stage, Index head) {
    return look.snapshots[snapshot]->trace.at(stage).as<float>().matrix(head);
}

}  // namespace

TEST_CASE("training look: the curve at i - j is the term of the trace, cell by cell", "[view][training]") {
    const auto look = TrainingLooks().answer(query_of(kText, {}));
    REQUIRE(look->error.empty());
    REQUIRE(look->snapshots.size() == 3);
    const Index length = look->length(), head = 2;
    REQUIRE(length == 12);  // ten tokens between [CLS] and [SEP]
    const HeadFilm film = head_film(*look, 1, head);
    REQUIRE(film.c2p.means.size() == 3);
    for (std::size_t snapshot = 0; snapshot < 3; ++snapshot) {
        const Matrix<float> c2p = head_of(*look, snapshot, "layer.1.c2p", head),
                            p2c = head_of(*look, snapshot, "layer.1.p2c", head);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j) {
                CHECK(film.c2p.tokens[snapshot](i, i - j + kCurveReach) == Approx(c2p(i, j)).margin(1e-5));
                CHECK(film.p2c.tokens[snapshot](j, i - j + kCurveReach) == Approx(p2c(i, j)).margin(1e-5));
            }
        // The mean, summed up directly from the trace's own vectors.
        const Matrix<float> q = head_of(*look, snapshot, "layer.1.q", head),
                            k_r = head_of(*look, snapshot, "layer.1.k_r", head);
        for (const Index offset : {-kCurveReach, Index{-3}, Index{0}, Index{1}, kCurveReach}) {
            double sum = 0;
            for (Index i = 0; i < length; ++i) sum += q.row(i).dot(k_r.row(look->line->row_of_offset(offset)));
            CHECK(film.c2p.means[snapshot][static_cast<std::size_t>(offset + kCurveReach)] ==
                  Approx(sum / static_cast<double>(length)).margin(1e-5));
        }
    }
    double widest = 0;
    for (std::size_t snapshot = 0; snapshot < 3; ++snapshot)
        widest = std::max(widest, static_cast<double>(max_abs(head_of(*look, snapshot, "layer.1.p2c", head))));
    CHECK(film.widest[2] == widest);
    CHECK(film.c2p.low <= 0);
    CHECK(film.c2p.high >= film.c2p.means[2][kCurveReach]);
    std::vector<double> curve(2 * kCurveReach + 1, 0);
    curve[kCurveReach + 3] = 1;
    CHECK(peak_of(curve) == 3);
    CHECK(head_film(*look, 0, head).c2p.means != film.c2p.means);
}

TEST_CASE("training look: the words behind a hidden place, and what was hidden", "[view][training]") {
    const auto look = TrainingLooks().answer(query_of(kText, {4, 99}));
    REQUIRE(look->error.empty());
    REQUIRE(look->masks == std::vector<Index>{4});
    CHECK(look->sentence.labels[4] == "[MASK]");
    CHECK(look->sentence.behind[4] == "tom");
    CHECK(look->word(look->hidden[0]) == "tom");
    CHECK(look->followed(0) == look->hidden[0]);
    for (const auto& snapshot : look->snapshots) {
        REQUIRE(snapshot->chances.size() == 1);
        const std::vector<double>& all = snapshot->chances[0];
        CHECK(static_cast<Index>(all.size()) == small_course()->subject->pieces);
        CHECK(std::accumulate(all.begin(), all.end(), 0.0) == Approx(1));
    }
    const std::vector<Word> best = look->words(2, 0, 3);
    REQUIRE(best.size() == 3);
    CHECK(best[0].probability ==
          *std::max_element(look->snapshots[2]->chances[0].begin(), look->snapshots[2]->chances[0].end()));
    CHECK(best[0].probability >= best[1].probability);
    CHECK(best[1].probability >= best[2].probability);
    CHECK(look->chances(0, look->hidden[0])[1] ==
          look->snapshots[1]->chances[0][static_cast<std::size_t>(look->hidden[0])]);

    const auto written = TrainingLooks().answer(query_of("the cat of [MASK] chased the dog of emma.", {}));
    REQUIRE(written->masks == std::vector<Index>{4});
    CHECK(written->hidden == std::vector<Index>{-1});
    CHECK(written->sentence.behind[4].empty());
    CHECK(written->snapshots[2]->chances[0] == look->snapshots[2]->chances[0]);  // the same tokens reach the model
    CHECK(written->word(written->followed(0)) == best[0].piece);
    CHECK(TrainingLooks().answer(query_of(kText, {}))->masks.empty());
}

TEST_CASE("training look: the same sentence looks at each snapshot once", "[view][training]") {
    TrainingLooks looks;
    LookQuery query = query_of(kText, {4});
    const auto all = query.snapshots;
    query.snapshots.resize(2);
    const auto first = looks.answer(query);
    query.snapshots = all;
    const auto second = looks.answer(query);
    REQUIRE(second->snapshots.size() == 3);
    CHECK(second->snapshots[0] == first->snapshots[0]);
    CHECK(second->snapshots[1] == first->snapshots[1]);
    CHECK(second->serial > first->serial);
    query.masked = {5};
    CHECK(looks.answer(query)->snapshots[0] != first->snapshots[0]);
    CHECK(looks.answer(query, [] { return true; }) != nullptr);  // everything is known: nothing to give up
    query.masked = {6};
    CHECK(looks.answer(query, [] { return true; }) == nullptr);
}

TEST_CASE("training look: a text that cannot be shown is one sentence", "[view][training]") {
    TrainingLooks looks;
    CHECK(looks.answer(query_of("  ", {}))->error.find("empty") != std::string::npos);
    std::string long_text;
    for (int n = 0; n < 200; ++n) long_text += "cat ";
    const auto refused = looks.answer(query_of(long_text, {}));
    CHECK(refused->error.find("expected at most 128") != std::string::npos);
    CHECK(refused->fault == Fault::usage);
    CHECK(refused->snapshots.empty());
}

}  // namespace locus::test::test_training_look
