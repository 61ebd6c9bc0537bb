#include "viewer/worker.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

using namespace locus;

namespace {

/// Waits until a condition holds; false after five seconds.
template <class Condition>
bool eventually(Condition condition) {
    for (int n = 0; n < 5000; ++n) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

}  // namespace

TEST_CASE("worker: while it works, only the latest request waits", "[viewer]") {
    std::atomic<bool> open = false;
    std::atomic<int> answered = 0, started = 0;
    std::vector<int> made;  // touched by the worker's thread alone until it is idle
    Worker<int, int> worker(
        [&](const int& request) {
            ++started;
            while (!open) std::this_thread::yield();
            made.push_back(request);
            return std::make_shared<const int>(request * 10);
        },
        [&] { ++answered; });
    worker.submit(1);
    REQUIRE(eventually([&] { return started == 1; }));
    worker.submit(2);
    worker.submit(3);
    worker.submit(4);
    CHECK(worker.busy());
    CHECK(worker.take() == nullptr);
    open = true;
    REQUIRE(eventually([&] { return answered == 2; }));
    const auto answer = worker.take();
    REQUIRE(answer);
    CHECK(*answer == 40);
    CHECK(made == std::vector<int>{1, 4});
    CHECK_FALSE(worker.busy());
    CHECK(worker.take() == nullptr);
}

TEST_CASE("worker: submitting does not wait for the work", "[viewer]") {
    std::atomic<bool> open = false;
    Worker<int, int> worker(
        [&](const int& request) {
            while (!open) std::this_thread::yield();
            return std::make_shared<const int>(request);
        },
        [] {});
    const auto start = std::chrono::steady_clock::now();
    for (int n = 0; n < 1000; ++n) worker.submit(n);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));  // the work itself would never end
    open = true;
    REQUIRE(eventually([&] { return !worker.busy() || worker.take(); }));
}

TEST_CASE("worker: ends although a request still waits", "[viewer]") {
    std::atomic<int> made = 0;
    {
        Worker<int, int> worker(
            [&](const int& request) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                ++made;
                return std::make_shared<const int>(request);
            },
            [] {});
        worker.submit(1);
        worker.submit(2);
    }
    CHECK(made <= 2);
}
