#pragma once
// Numbers that end where no page follows: a read past their end stops the program.
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace locus::test {

template <class Scalar>
class BeforeGuardPage {
public:
    /// Zeros.  Starts at a multiple of 16 bytes if they fill a multiple of 16 bytes.
    explicit BeforeGuardPage(std::size_t count) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = count * sizeof(Scalar);
        const std::size_t rounded = (bytes + page - 1) / page * page;
        all_ = rounded + page;
        start_ = mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start_ == MAP_FAILED) throw std::bad_alloc();
        auto* guard = static_cast<unsigned char*>(start_) + rounded;
        mprotect(guard, page, PROT_NONE);
        data_ = reinterpret_cast<Scalar*>(guard - bytes);
    }
    ~BeforeGuardPage() { munmap(start_, all_); }
    BeforeGuardPage(const BeforeGuardPage&) = delete;
    BeforeGuardPage& operator=(const BeforeGuardPage&) = delete;
    Scalar* data() { return data_; }

private:
    std::size_t all_ = 0;
    void* start_ = nullptr;
    Scalar* data_ = nullptr;
};

}  // namespace locus::test
