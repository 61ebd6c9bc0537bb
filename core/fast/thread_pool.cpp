#include "core/fast/thread_pool.h"

#include <chrono>
#include <exception>
#include <string>

#include "core/check.h"

namespace locus {

namespace {

/// Waking a thread that sleeps costs tens of microseconds, as much as a small round of work; the next round of a pass
/// mostly comes sooner.  Whoever waits lets others have the core: there may be fewer cores than threads.
template <class Ready>
void wait_a_moment(Ready ready) {
    constexpr auto kMoment = std::chrono::microseconds(30);
    const auto end = std::chrono::steady_clock::now() + kMoment;
    while (!ready() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
    LOCUS_CHECK(threads >= 1 && threads <= 1024, "pool: " + std::to_string(threads) + " threads, expected 1 to 1024");
    threads_.reserve(static_cast<std::size_t>(threads - 1));
    try {
        for (int member = 1; member < threads; ++member) threads_.emplace_back([this, member] { serve(member); });
    } catch (const std::exception&) {  // no more threads, or no memory for them: those that are there do the work
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(guard_);
        over_ = true;
    }
    begins_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::take_pieces(int member) {
    for (;;) {
        const std::ptrdiff_t piece = next_.fetch_add(1);
        if (piece >= count_) return;
        try {
            (*work_)(piece, member);
        } catch (...) {
            const std::lock_guard lock(guard_);
            if (!failure_) failure_ = std::current_exception();
            next_ = count_;
        }
    }
}

void ThreadPool::serve(int member) {
    for (std::size_t seen = 0;;) {
        wait_a_moment([&] { return over_ || round_ != seen; });
        {
            std::unique_lock lock(guard_);
            begins_.wait(lock, [&] { return over_ || round_ != seen; });
            if (over_) return;
            seen = round_;
            if (!open_) continue;  // the others were done before this thread had a core
            ++busy_;
        }
        take_pieces(member);
        const std::lock_guard lock(guard_);
        if (--busy_ == 0) ends_.notify_one();
    }
}

void ThreadPool::parallel_for(std::ptrdiff_t count, const std::function<void(std::ptrdiff_t, int)>& work) {
    {
        const std::lock_guard lock(guard_);
        work_ = &work;
        next_ = 0;
        count_ = count;
        failure_ = nullptr;
        open_ = true;
        ++round_;
    }
    begins_.notify_all();
    take_pieces(0);
    {
        const std::lock_guard lock(guard_);
        open_ = false;  // no piece is left: who has not come by now need not
    }
    wait_a_moment([&] { return busy_ == 0; });
    std::unique_lock lock(guard_);
    ends_.wait(lock, [&] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace locus
