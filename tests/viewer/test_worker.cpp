#include "viewer/data/worker.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace locus::test::test_worker {

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
    std::atomic<int> started = 0;
    std::vector<int> made;
    {
        Worker<int, int> worker(
            [&](const int& request) {
                ++started;
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                made.push_back(request);
                return std::make_shared<const int>(request);
            },
            [] {});
        worker.submit(1);
        REQUIRE(eventually([&] { return started == 1; }));
        worker.submit(2);
    }
    CHECK(made == std::vector<int>{1});  // what it was at, but nothing more
}

TEST_CASE("worker: long work is told when its window closes", "[viewer]") {
    std::atomic<bool> started = false, told = false;
    {
        Worker<int, int> worker(
            [&](const int&, const CancelToken& stop) -> std::shared_ptr<const int> {
                started = true;
                eventually([&] { return told = stop(); });
                return nullptr;
            },
            [] {});
        worker.submit(1);
        REQUIRE(eventually([&] { return started.load(); }));
    }
    CHECK(told);
}

TEST_CASE("worker: short work is finished and shown although a newer request waits", "[viewer]") {
    using Clock = std::chrono::steady_clock;
    std::atomic<bool> open = false, asked = false, slow = false;
    std::atomic<int> started = 0;
    const auto start = Clock::now();
    Worker<int, int> worker(
        [&](const int& request, const CancelToken& stop) {
            ++started;
            while (!open) std::this_thread::yield();
            if (request == 1) {
                asked = stop();
                slow = Clock::now() - start > std::chrono::duration<double>(Worker<int, int>::kPatience);
            }
            return std::make_shared<const int>(request);
        },
        [] {});
    worker.submit(1);
    REQUIRE(eventually([&] { return started == 1; }));
    worker.submit(2);
    open = true;
    REQUIRE(eventually([&] { return started == 2; }));
    if (slow)
        WARN("skipped: this machine is too busy to be fast");
    else
        CHECK_FALSE(asked);
}

TEST_CASE("worker: what waits is cancelled with what is worked on", "[viewer]") {
    std::atomic<bool> open = false;
    std::atomic<int> started = 0, ended = 0;
    Worker<int, int> worker(
        [&](const int& request) {
            ++started;
            while (!open) std::this_thread::yield();
            return std::make_shared<const int>(request);
        },
        [&] { ++ended; });
    worker.submit(1);
    REQUIRE(eventually([&] { return started == 1; }));
    worker.submit(2);
    worker.cancel();
    CHECK_FALSE(worker.busy());
    open = true;
    REQUIRE(eventually([&] { return ended == 1; }));
    CHECK(worker.take() == nullptr);
    worker.submit(3);
    std::shared_ptr<const int> answer;
    REQUIRE(eventually([&] { return (answer = worker.take()) != nullptr; }));
    CHECK(*answer == 3);
    CHECK(started == 2);  // never 2
    worker.submit(4);
    REQUIRE(eventually([&] { return ended == 3; }));
    CHECK(worker.busy());  // an answer waits to be taken
    worker.cancel();
    CHECK(worker.take() == nullptr);
}

}  // namespace locus::test::test_worker
