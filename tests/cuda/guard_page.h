#pragma once
// Numbers that end where no page follows: whoever reads behind them does not come back.
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace locus::test {

template <class Scalar>
class BeforeWall {
public:
    /// Zeros.  Starts at a multiple of 16 bytes if they fill a multiple of 16 bytes.
    explicit BeforeWall(std::size_t count) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = count * sizeof(Scalar);
        const std::size_t room = (bytes + page - 1) / page * page;
        all_ = room + page;
        start_ = mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start_ == MAP_FAILED) throw std::bad_alloc();
        auto* wall = static_cast<unsigned char*>(start_) + room;
        mprotect(wall, page, PROT_NONE);
        data_ = reinterpret_cast<Scalar*>(wall - bytes);
    }
    ~BeforeWall() { munmap(start_, all_); }
    BeforeWall(const BeforeWall&) = delete;
    BeforeWall& operator=(const BeforeWall&) = delete;
    Scalar* data() { return data_; }

private:
    std::size_t all_ = 0;
    void* start_ = nullptr;
    Scalar* data_ = nullptr;
};

}  // namespace locus::test
