#pragma once
// A team of threads for independent pieces of work.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace locus {

/// The caller of `parallel_for` works too, so a team of 1 has no thread of its own.  One call of `parallel_for` at a
/// time.
class ThreadPool {
public:
    /// A smaller team where the system gives fewer threads.  Throws Error(usage) unless 1 <= threads <= 1024.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(threads_.size()) + 1; }
    /// Calls work(piece, member) once for each piece = 0 ... count - 1, on any member that is free; returns when all
    /// are done.  member < threads() is the same during one piece, so that it can choose a buffer.  The first exception
    /// ends the call: pieces not begun are left out, and it is thrown here.
    void parallel_for(std::ptrdiff_t count, const std::function<void(std::ptrdiff_t piece, int member)>& work);

private:
    void serve(int member);
    void take_pieces(int member);

    std::mutex guard_;
    std::condition_variable begins_, ends_;
    const std::function<void(std::ptrdiff_t, int)>* work_ = nullptr;
    std::ptrdiff_t count_ = 0;
    bool open_ = false;  // pieces may be left: a thread that wakes now joins in
    std::exception_ptr failure_;
    // Read without the guard by those who wait a moment for work before they sleep; written under it, `next_` apart.
    std::atomic<std::ptrdiff_t> next_{0};
    std::atomic<std::size_t> round_{0}, busy_{0};
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

}  // namespace locus
