// A training that somebody watches, without the window: what is published, what is remembered, how it ends.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/files.h"
#include "tests/max_abs.h"
#include "viewer/data/training_course.h"
#include "viewer/data/training_look.h"
#include "viewer/plots/head_terms.h"

namespace locus::test::test_training {

namespace {

/// Sixty short sentences.
std::string small_corpus(const TemporaryFolder& folder) {
    std::string text;
    const char* names[] = {"tom", "emma", "ruth", "ben", "anna"};
    for (int n = 0; n < 60; ++n)
        text += std::string("the cat of ") + names[n % 5] + " chased the dog of " + names[n % 7 % 5] + ".\n";
    write_bytes(folder / "corpus.txt", text);
    return (folder / "corpus.txt").string();
}

CourseQuery three_steps(const TemporaryFolder& folder) { return {small_corpus(folder), 3, 60, 7, true}; }

bool same_bits(const CourseSnapshot& a, const CourseSnapshot& b) {
    return a.step == b.step && a.heldout == b.heldout && a.values->numbers() == b.values->numbers();
}

}  // namespace

TEST_CASE("training course: fresh weights first, every step's loss, the last step photographed", "[view][training]") {
    const TemporaryFolder folder;
    std::size_t published = 0;
    CourseBoard board([&] { ++published; });
    CHECK(board.newest() == nullptr);
    Courses courses;
    const auto course = courses.run(three_steps(folder), board);
    REQUIRE(course->error.empty());
    CHECK(course->done);
    CHECK_FALSE(course->stopped);
    CHECK(course->share == 1);
    CHECK(course->seconds_left() == 0);
    REQUIRE(course->steps.size() == 3);
    for (std::size_t n = 0; n < 3; ++n) {
        CHECK(course->steps[n].step == static_cast<Index>(n) + 1);
        CHECK(course->steps[n].loss > 0);
    }
    REQUIRE(course->snapshots.size() == 4);
    for (std::size_t n = 0; n < 4; ++n) {
        CHECK(course->snapshots[n].step == static_cast<Index>(n));
        CHECK(course->snapshots[n].heldout > 0);
    }
    CHECK(std::isnan(course->snapshots[0].loss));
    CHECK(course->snapshots[2].loss == Approx((course->steps[0].loss + course->steps[1].loss) / 2));
    CHECK(course->snapshots[3].values->numbers() != course->snapshots[0].values->numbers());
    CHECK(published >= 4);
    CHECK(board.newest()->steps.size() == 3);
    const CourseSubject& subject = *course->subject;
    CHECK(subject.sentences == 60);
    CHECK(subject.weights == course->snapshots[0].values->size());
    CHECK(subject.config.vocab_size == subject.pieces);
    REQUIRE_FALSE(subject.opening.empty());
    CHECK(subject.opening[0] == "the cat of tom chased the dog of tom.");
    CHECK(subject.opening.size() <= 12);
}

TEST_CASE("training course: seed and steps decide every bit; fresh weights are the same before a run and in it",
          "[view][training]") {
    const TemporaryFolder folder;
    CourseBoard board({});
    CourseQuery query = three_steps(folder);
    const auto once = Courses().run(query, board);
    Courses others;
    query.train = false;
    const auto fresh = others.run(query, board);
    REQUIRE(fresh->snapshots.size() == 1);
    CHECK(fresh->steps.empty());
    CHECK(fresh->done);
    query.train = true;
    const auto again = others.run(query, board);  // goes on from what stands prepared
    REQUIRE(again->snapshots.size() == once->snapshots.size());
    for (std::size_t n = 0; n < once->snapshots.size(); ++n) CHECK(same_bits(once->snapshots[n], again->snapshots[n]));
    CHECK(same_bits(fresh->snapshots[0], once->snapshots[0]));
    query.seed = 8;
    CHECK_FALSE(same_bits(others.run(query, board)->snapshots[0], once->snapshots[0]));
    query.train = false;
    const auto eighth = others.run(query, board);
    query.seed = 7;
    CHECK_FALSE(same_bits(others.run(query, board)->snapshots[0], eighth->snapshots[0]));
}

TEST_CASE("training course: stopped, it keeps what was learnt; the last two are remembered", "[view][training]") {
    const TemporaryFolder folder;
    CourseQuery query = three_steps(folder);
    query.steps = 1000000;
    Courses courses;
    std::unique_ptr<CourseBoard> board;
    board = std::make_unique<CourseBoard>([&] {
        if (board->newest()->steps.size() >= 2) board->ask_to_stop();
    });
    const auto course = courses.run(query, *board);
    CHECK(course->done);
    CHECK(course->stopped);
    CHECK(course->error.empty());
    CHECK(course->steps.size() >= 2);
    CHECK(course->steps.size() < 1000);
    CHECK(course->snapshots.back().step == static_cast<Index>(course->steps.size()));
    CourseBoard other({});
    CHECK(courses.run(query, other) == course);
    CHECK(other.newest()->snapshots.size() == course->snapshots.size());
    query.steps = 1;
    const auto second = courses.run(query, other);
    query.seed = 9;
    courses.run(query, other);
    query.seed = 7;
    CHECK(courses.run(query, other) == second);

    int asked = 0;
    query.seed = 10;
    query.steps = 100;
    const auto given_up = courses.run(query, other, [&] { return ++asked > 2; });
    CHECK(given_up->steps.size() == 2);
    CHECK(courses.run(query, other, [] { return true; }) != given_up);  // nobody wanted it: it is not remembered
}

TEST_CASE("training course: by time it ends when the time is over", "[view][training]") {
    const TemporaryFolder folder;
    CourseBoard board({});
    const auto course = Courses().run({small_corpus(folder), 0, 1, 1, true}, board);
    REQUIRE(course->error.empty());
    CHECK(course->done);
    CHECK(course->share == 1);
    CHECK(course->seconds() >= 1);
    CHECK(course->snapshots.back().step == static_cast<Index>(course->steps.size()));
    CHECK(course->tokens_per_second > 0);
    Course half;
    half.query.steps = 10;
    half.share = 0.25;
    half.steps = {{1, 3, 1}};
    CHECK(half.seconds_left() == 9);
    half.query.steps = 0;
    half.query.seconds = 5;
    CHECK(half.seconds_left() == 2);
}

TEST_CASE("training course: a corpus that cannot be learnt from is one sentence", "[view][training]") {
    const TemporaryFolder folder;
    write_bytes(folder / "one.txt", "word\n");
    CourseBoard board({});
    Courses courses;
    for (const auto& [file, named] : {std::pair<std::string, std::string>{"/nowhere/corpus.txt", "/nowhere/corpus.txt"},
                                      {(folder / "one.txt").string(), "one.txt"}}) {
        const auto course = courses.run({file, 1, 60, 1, true}, board);
        INFO(course->error);
        CHECK(course->subject == nullptr);
        CHECK(course->done);
        CHECK(course->fault == Fault::unreadable);
        CHECK(course->error.find(named) != std::string::npos);
    }
    CHECK(fs::exists(corpus_that_comes_along()));
}

// A sentence as every snapshot of a training sees it.

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
    const HeadHistory animation = head_history(*look, 1, head);
    REQUIRE(animation.c2p.means.size() == 3);
    for (std::size_t snapshot = 0; snapshot < 3; ++snapshot) {
        const Matrix<float> c2p = head_of(*look, snapshot, "layer.1.c2p", head),
                            p2c = head_of(*look, snapshot, "layer.1.p2c", head);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j) {
                CHECK(animation.c2p.tokens[snapshot](i, i - j + kCurveReach) == Approx(c2p(i, j)).margin(1e-5));
                CHECK(animation.p2c.tokens[snapshot](j, i - j + kCurveReach) == Approx(p2c(i, j)).margin(1e-5));
            }
        // The mean, summed up directly from the trace's own vectors.
        const Matrix<float> q = head_of(*look, snapshot, "layer.1.q", head),
                            k_r = head_of(*look, snapshot, "layer.1.k_r", head);
        for (const Index offset : {-kCurveReach, Index{-3}, Index{0}, Index{1}, kCurveReach}) {
            double sum = 0;
            for (Index i = 0; i < length; ++i) sum += q.row(i).dot(k_r.row(look->buckets->row_of_offset(offset)));
            CHECK(animation.c2p.means[snapshot][static_cast<std::size_t>(offset + kCurveReach)] ==
                  Approx(sum / static_cast<double>(length)).margin(1e-5));
        }
    }
    double widest = 0;
    for (std::size_t snapshot = 0; snapshot < 3; ++snapshot)
        widest = std::max(widest, static_cast<double>(max_abs(head_of(*look, snapshot, "layer.1.p2c", head))));
    CHECK(animation.widest[2] == widest);
    CHECK(animation.c2p.low <= 0);
    for (const Matrix<float>& tokens : animation.c2p.tokens) {  // no curve leaves the plot
        CHECK(animation.c2p.low <= tokens.minCoeff());
        CHECK(animation.c2p.high >= tokens.maxCoeff());
    }
    std::vector<double> curve(2 * kCurveReach + 1, 0);
    curve[kCurveReach + 3] = 1;
    CHECK(peak_of(curve) == 3);
    CHECK(head_history(*look, 0, head).c2p.means != animation.c2p.means);
}

TEST_CASE("training look: the words for a hidden place, and what was hidden", "[view][training]") {
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

// When a training is photographed.

namespace {

std::vector<Index> due_steps(Index steps) {
    SnapshotSchedule schedule;
    std::vector<Index> due;
    for (Index step = 0; step <= steps; ++step)
        if (schedule.due(step, static_cast<double>(step) / static_cast<double>(steps))) due.push_back(step);
    return due;
}

}  // namespace

TEST_CASE("snapshot schedule: doubling steps at first, then sixteenths, the last step always", "[view][training]") {
    CHECK(due_steps(160) ==
          std::vector<Index>{0, 1, 2, 4, 8, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160});
    CHECK(due_steps(800).size() == 7 + 16);  // 0, 1, 2, 4, ... 32
    for (const Index steps : {1, 2, 3, 7, 16, 40, 1000}) {
        INFO(steps);
        CHECK(due_steps(steps).front() == 0);
        CHECK(due_steps(steps).back() == steps);
        CHECK(due_steps(steps).size() <= 28);
    }
}

TEST_CASE("snapshot schedule: a step that crosses several parts of the time is one snapshot", "[view][training]") {
    SnapshotSchedule schedule;
    CHECK(schedule.due(0, 0));
    CHECK(schedule.due(1, 0.2));
    CHECK_FALSE(schedule.due(2, 0.21));
    CHECK(schedule.due(3, 0.26));
    CHECK(schedule.due(4, 1.7));
    CHECK_FALSE(schedule.due(5, 1.9));
}

}  // namespace locus::test::test_training
