// A training that somebody watches, without the window: what is published, what is remembered, how it ends.
#include "viewer/data/training_course.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/files.h"

namespace locus::test::test_training_course {

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
    REQUIRE(course->trouble.empty());
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
    CHECK(course->trouble.empty());
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
    REQUIRE(course->trouble.empty());
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
        INFO(course->trouble);
        CHECK(course->subject == nullptr);
        CHECK(course->done);
        CHECK(course->fault == Fault::unreadable);
        CHECK(course->trouble.find(named) != std::string::npos);
    }
    CHECK(fs::exists(corpus_that_comes_along()));
}

}  // namespace locus::test::test_training_course
