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

TEST_CASE("worker: work that was handed no CancelToken is given up where it polls", "[viewer]") {
    constexpr int kMost = 5000;
    std::atomic<int> polls = 0;
    std::atomic<bool> ended = false;
    Worker<int, int> worker(
        [&](const int& request) {
            try {
                for (; polls < kMost; ++polls) {
                    poll_work();
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
            } catch (const Cancelled&) {
                ended = true;
                throw;
            }
            return std::make_shared<const int>(request);
        },
        [] {});
    CHECK_NOTHROW(poll_work());              // outside of a worker it asks nobody
    CHECK_FALSE(worker.cancel_long_work());  // there is none
    worker.submit(1);
    REQUIRE(eventually([&] { return polls > 3; }));
    REQUIRE(eventually([&] { return worker.cancel_long_work(); }));
    REQUIRE(eventually([&] { return ended.load(); }));
    CHECK(polls < kMost);
    CHECK(worker.take() == nullptr);
    CHECK_FALSE(worker.busy());
}

// Without threads.

namespace {

/// Work of so many steps of a millisecond, each of which may be the last of its slice.
struct SlowSteps {
    int steps = 0, done = 0, calls = 0, given_up = 0;

    std::shared_ptr<const int> make(const int& request, const CancelToken& stop, const SliceEnd& over) {
        ++calls;
        for (; done < steps; ++done) {
            if (stop()) {
                ++given_up;
                return nullptr;
            }
            if (over()) throw Paused();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        done = 0;
        return std::make_shared<const int>(request);
    }
    Worker<int, int> worker() {
        return {[this](const int& request, const CancelToken& stop, const SliceEnd& over) {
                    return make(request, stop, over);
                },
                [] {}, false};
    }
};

}  // namespace

TEST_CASE("worker: without threads, long work comes in slices with frames between", "[viewer]") {
    SlowSteps slow{200};
    Worker<int, int> worker = slow.worker();
    worker.submit(7);
    int frames = 0;
    std::shared_ptr<const int> answer;
    while (!answer && frames < 1000) {
        const auto start = std::chrono::steady_clock::now();
        answer = worker.take();
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        CHECK(took < 10 * Worker<int, int>::kSlice);  // the machine may be busy
        if (!answer) CHECK((worker.busy() && worker.paused() && worker.seconds() > 0));
        ++frames;
    }
    REQUIRE(answer);
    CHECK(*answer == 7);
    CHECK(frames > 3);
    CHECK(frames == slow.calls);
    CHECK_FALSE((worker.busy() || worker.paused()));
}

TEST_CASE("worker: without threads, short work is answered in its first slice", "[viewer]") {
    SlowSteps slow{2};
    Worker<int, int> worker = slow.worker();
    worker.submit(7);
    REQUIRE(worker.take());
    CHECK(slow.calls == 1);
}

TEST_CASE("worker: without threads, work that paused is given up by cancel and by a newer request", "[viewer]") {
    SlowSteps slow{100'000};
    Worker<int, int> worker = slow.worker();
    worker.submit(1);
    CHECK(worker.take() == nullptr);
    worker.cancel();
    CHECK_FALSE((worker.busy() || worker.paused()));
    CHECK(worker.take() == nullptr);
    CHECK(slow.calls == 1);  // nothing more was done for it

    worker.submit(2);
    CHECK(worker.take() == nullptr);
    std::this_thread::sleep_for(std::chrono::duration<double>(Worker<int, int>::kPatience));
    worker.submit(3);
    slow.steps = slow.done = 0;
    const auto answer = worker.take();
    REQUIRE(answer);
    CHECK(*answer == 3);
}

TEST_CASE("worker: without threads, work is finished for a newer request where it took little so far", "[viewer]") {
    SlowSteps slow{60};
    Worker<int, int> worker = slow.worker();
    worker.submit(1);
    CHECK(worker.take() == nullptr);
    worker.submit(2);
    std::vector<int> answers;
    for (int frame = 0; frame < 100 && answers.size() < 2; ++frame)
        if (const auto answer = worker.take()) answers.push_back(*answer);
    CHECK(answers == std::vector<int>{1, 2});
}

TEST_CASE("worker: without threads, what sliced work throws comes out of take", "[viewer]") {
    int calls = 0;
    Worker<int, int> worker(
        [&](const int&, const CancelToken&, const SliceEnd&) -> std::shared_ptr<const int> {
            if (++calls < 3) throw Paused();
            throw Error(Fault::usage, "no");
        },
        [] {}, false);
    worker.submit(1);
    CHECK(worker.take() == nullptr);
    CHECK(worker.take() == nullptr);
    CHECK_THROWS_AS(worker.take(), Error);
    CHECK_FALSE(worker.busy());
}

}  // namespace locus::test::test_worker
