// When a training is photographed.
#include "viewer/plots/snapshot_schedule.h"

#include <catch2/catch.hpp>
#include <vector>

namespace locus::test::test_snapshot_schedule {

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

}  // namespace locus::test::test_snapshot_schedule
