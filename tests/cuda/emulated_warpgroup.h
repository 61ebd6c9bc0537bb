#pragma once
// Hopper on the host: what hopper_forward.h asks of a block, played after the PTX manual.  The copy engine delivers
// boxes when a thread waits for them, exchanged as the manual says; barriers count arrivals and bytes; products decode
// the bits of their descriptors.  What a device would get wrong now and then is refused here always: a wait that will
// never end, bytes that are read on their way or overwritten while a product reads them, registers that change under a
// product, a missing fence between ordinary stores and the copy engine or the tensor cores.
// Source: PTX ISA 9.0, "Tensor swizzling modes", "mbarrier", "Asynchronous warpgroup level matrix shared memory
// layout", "Matrix descriptor format", "wgmma.fence", "Async proxy".  Nothing is shared with
// cuda/hopper/hopper_layout.h.
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <unordered_map>

#include "cuda/hopper/rows_map.h"
#include "tests/cuda/emulated_block.h"

namespace locus::test {

template <class Lane>
class EmulatedHopper : public EmulatedBlock<Lane> {
    using Base = EmulatedBlock<Lane>;
    using Base::epoch_, Base::full_epoch_, Base::lanes_, Base::memory_, Base::refuse, Base::watched_;

public:
    using Map = cuda::RowsMap;
    struct HeldFactors {
        const std::uint32_t* a;
        std::uint64_t b;
        float (*c)[4];
    };
    struct SharedFactors {
        std::uint64_t a, b;
        float (*c)[4];
    };

    /// Shared memory starts at a multiple of 1024 that is not 0.
    static constexpr std::uint32_t kStart = 1024;

    EmulatedHopper(int threads, int bytes) : Base(threads, bytes), beside_(memory_.size()) {}

    int warpgroup(const Lane& r) const { return r.thread / 128; }
    std::uint32_t address(int place) const { return kStart + static_cast<std::uint32_t>(place); }

    template <class F>
    void each(F f) {
        registers_are_fenced_ = false;
        Base::each(f);
    }
    template <bool transposed, class F>
    void load_matrices(F f) {
        registers_are_fenced_ = false;
        Base::template load_matrices<transposed>(f);
    }
    template <class Holds, class Out>
    void vote(Holds holds, Out out) {
        registers_are_fenced_ = false;
        for (std::size_t warp = 0; warp < lanes_.size(); warp += 32) {
            std::uint32_t bits = 0;
            for (std::size_t n = 0; n < 32; ++n) bits |= std::uint32_t{holds(lanes_[warp + n])} << n;
            for (std::size_t n = 0; n < 32; ++n) out(lanes_[warp + n]) = bits;
        }
    }
    template <class F>
    void one(F f) const {
        f();
    }
    void sync() {
        Base::sync();
        for (auto& [place, barrier] : barriers_)
            if (barrier.state == State::announced) barrier.state = State::ready;
    }

    // Barriers and the copy engine; who asks speaks for the block.

    void start_barrier(int place, int arrivals) {
        barriers_[place] = Barrier{};
        barriers_[place].arrivals = barriers_[place].all_arrivals = arrivals;
    }
    void barriers_are_started() {
        for (auto& [place, barrier] : barriers_) barrier.state = State::announced;
    }
    void expect(int place, int bytes) {
        Barrier& barrier = ready(place);
        if (barrier.arrivals == 0) throw std::logic_error("a second arrival in a phase of " + std::to_string(place));
        --barrier.arrivals;
        barrier.bytes += bytes;
    }
    void copy_box(int to, const Map& map, int channel, int row, int head, int sample, int place) {
        constexpr int kChannels = 64, kRows = 64;
        if (!cuda::can_be_mapped(map)) throw std::logic_error("no such map");
        if (address(to) % 128 != 0) throw std::logic_error("a box to a place between");
        Copy copy;
        for (int r = 0; r < kRows; ++r)
            for (int c = 0; c < kChannels; ++c) {
                const bool exists = channel + c >= 0 && channel + c < map.channels && row + r >= 0 &&
                                    row + r < map.rows && head >= 0 && head < map.heads && sample >= 0 &&
                                    sample < map.samples;
                std::uint16_t number = 0;
                if (exists)
                    std::memcpy(&number,
                                static_cast<const char*>(map.data) + 2LL * (channel + c) + (row + r) * map.row_bytes +
                                    head * map.head_bytes + sample * map.sample_bytes,
                                2);
                const std::size_t at = exchanged(address(to) + static_cast<std::uint32_t>(128 * r + 2 * c));
                asked_to_fill(at);
                asked_to_fill(at + 1);
                copy.numbers.push_back({at, number});
            }
        ready(place).copies.push_back(copy);
    }
    void wait(int place, std::uint32_t parity) {
        Barrier& barrier = ready(place);
        if ((barrier.phase & 1) != parity) return;  // that phase is over
        for (const Copy& copy : barrier.copies) deliver(copy);
        barrier.bytes -= 2L * 64 * 64 * static_cast<long>(barrier.copies.size());
        barrier.copies.clear();
        if (barrier.arrivals != 0 || barrier.bytes != 0)
            throw std::logic_error("a wait that never ends: barrier " + std::to_string(place) + ", " +
                                   std::to_string(barrier.arrivals) + " arrivals and " + std::to_string(barrier.bytes) +
                                   " bytes are missing");
        ++barrier.phase;
        barrier.arrivals = barrier.all_arrivals;
        let_go_ = std::max(let_go_, barrier.moment);
    }
    /// What any lane and any product that was waited for has used so far comes before the end of this phase.
    void arrive_by_warp(int place) {
        Barrier& barrier = ready(place);
        barrier.arrivals -= static_cast<int>(lanes_.size() / 32);
        if (barrier.arrivals < 0) throw std::logic_error("too many arrivals in a phase of " + std::to_string(place));
        barrier.moment = moment_++;
    }
    void wait_for_warps(int place, std::uint32_t parity) { wait(place, parity); }
    void sync_all() { sync(); }
    void sync_warpgroup() { ++epoch_; }
    /// Every thread does it.
    void fence_copies() { ++fences_; }

    // Products.

    void fence_registers() { registers_are_fenced_ = true; }
    template <class Scalar, bool transposed, bool adds, class F>
    void multiply_held(F f) {
        for (std::size_t group = 0; group < lanes_.size(); group += kGroup) {
            Product product;
            float left[64][16];
            const std::uint64_t descriptor = f(lanes_[group]).b;
            for (std::size_t n = 0; n < kGroup; ++n) {
                const HeldFactors at = f(lanes_[group + n]);
                if (at.b != descriptor) throw std::logic_error("lanes of a warpgroup describe different operands");
                product.held.push_back({at.a, {at.a[0], at.a[1], at.a[2], at.a[3]}});
                const std::size_t row = n / 32 * 16 + n % 32 / 4, column = n % 4 * 2;
                for (std::size_t e = 0; e < 8; ++e)
                    left[row + e / 2 % 2 * 8][column + e % 2 + e / 4 * 8] =
                        Base::template number<Scalar>(at.a[e / 2], e % 2);
            }
            multiply<Scalar, adds>(product, left, transposed, descriptor,
                                   [&](std::size_t n) { return f(lanes_[group + n]).c; });
        }
    }
    template <class Scalar, bool adds, class F>
    void multiply_shared(F f) {
        for (std::size_t group = 0; group < lanes_.size(); group += kGroup) {
            const SharedFactors first = f(lanes_[group]);
            for (std::size_t n = 0; n < kGroup; ++n) {
                const SharedFactors at = f(lanes_[group + n]);
                if (at.a != first.a || at.b != first.b)
                    throw std::logic_error("lanes of a warpgroup describe different operands");
            }
            Product product;
            float left[64][16];
            for (int row = 0; row < 64; ++row)
                for (int k = 0; k < 16; ++k) left[row][k] = operand<Scalar>(product, first.a, false, row, k);
            multiply<Scalar, adds>(product, left, false, first.b,
                                   [&](std::size_t n) { return f(lanes_[group + n]).c; });
        }
    }
    void settle(Lane& r, int scratch, float number) {
        Base::store(r, Base::template shared<float>(scratch) + r.thread, number);
    }
    void commit_products() {
        groups_.push_back(std::move(open_));
        open_.clear();
    }
    template <int groups>
    void wait_for_products() {
        while (groups_.size() > groups) {
            for (const Product& product : groups_.front()) finish(product);
            groups_.pop_front();
        }
    }

    /// Throws if the block ends while something is under way.
    void check_end() const {
        if (!open_.empty() || !groups_.empty()) throw std::logic_error("products under way at the end");
        for (const auto& [place, barrier] : barriers_)
            if (!barrier.copies.empty()) throw std::logic_error("copies under way at the end");
    }

private:
    static constexpr std::size_t kGroup = 128;
    enum class State { started, announced, ready };
    struct Copy {
        std::vector<std::pair<std::size_t, std::uint16_t>> numbers;
    };
    struct Barrier {
        State state = State::started;
        unsigned phase = 0;
        int arrivals = 1, all_arrivals = 1;
        long bytes = 0, moment = 0;
        std::vector<Copy> copies;
    };
    /// Of a byte: how many products under way read it, how many fences there had been when a lane last used it, and
    /// when anybody did.
    struct Beside {
        int readers = 0;
        long used = -1, moment = 0;
    };
    struct Product {
        std::vector<std::size_t> bytes;  // that it reads
        std::vector<std::pair<const std::uint32_t*, std::array<std::uint32_t, 4>>> held;
        std::vector<float*> accumulators;
    };
    /// What an accumulator will be, while its registers may not be read.
    struct Coming {
        std::vector<float> values;
        int products = 0;
    };
    /// No NaN, which arithmetic would leave as it is, but a number that spoils every sum.
    static float poison() { return 54321.9f; }

    Barrier& ready(int place) {
        const auto found = barriers_.find(place);
        if (found == barriers_.end() || found->second.state != State::ready)
            throw std::logic_error("a barrier that was not started for everybody: " + std::to_string(place));
        return found->second;
    }

    /// 128-byte swizzle: bits 4 to 6 of the address, exclusive-or bits 7 to 9.  The place in memory_.
    std::size_t exchanged(std::uint32_t at) const {
        const std::uint32_t chunk = (at / 16 % 8) ^ (at / 128 % 8), to = at / 128 * 128 + chunk * 16 + at % 16 - kStart;
        if (at < kStart || to >= memory_.size()) throw std::logic_error("beyond the shared memory");
        return to;
    }

    void asked_to_fill(std::size_t n) {
        auto& byte = watched_[n];
        if (byte.on_its_way) refuse("filled twice", n);
        if (beside_[n].readers > 0) refuse("filled while a product reads it", n);
        if (beside_[n].used == fences_) refuse("filled after ordinary use without a fence", n);
        if (beside_[n].moment > let_go_ && (byte.written >= full_epoch_ || byte.read >= full_epoch_))
            refuse("filled while others use it, without a barrier", n);
        byte.on_its_way = true;
    }
    void deliver(const Copy& copy) {
        for (const auto& [at, number] : copy.numbers) {
            std::memcpy(memory_.data() + at, &number, 2);
            for (std::size_t n = at; n < at + 2; ++n) {
                watched_[n].on_its_way = false;
                watched_[n].written = watched_[n].read = 0;  // for everyone who waited
            }
        }
    }
    int group_of(int thread) const override { return thread / 128; }
    void touch(int thread, const void* at, std::size_t bytes, bool writes) override {
        Base::touch(thread, at, bytes, writes);
        const std::size_t first = Base::place_of(at);
        for (std::size_t n = first; n < first + bytes; ++n) {
            if (writes && beside_[n].readers > 0) refuse("written while a product reads it", n);
            beside_[n].used = fences_;
            beside_[n].moment = moment_;
        }
    }

    /// Element (row or column mn, k) of a described operand.
    template <class Scalar>
    float operand(Product& product, std::uint64_t descriptor, bool transposed, int mn, int k) {
        const auto field = [&](int bit) { return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4; };
        if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0)
            throw std::logic_error("a descriptor that is not of the 128-byte swizzle from a multiple of 1024 on");
        const std::uint32_t start = field(0), leading = field(16), stride = field(32);
        const auto at = [](int n) { return static_cast<std::uint32_t>(n); };
        const std::uint32_t linear =
            transposed ? start + at(mn / 64) * leading + at(mn % 64) * 2 + at(k % 8) * 128 + at(k / 8) * stride
                       : start + at(mn / 8) * stride + at(mn % 8) * 128 + at(k) * 2;
        const std::size_t place = exchanged(linear);
        for (std::size_t n = place; n < place + 2; ++n) {
            auto& byte = watched_[n];
            if (byte.on_its_way) refuse("multiplied in flight", n);
            if (byte.written < 0) refuse("multiplied before it was written", n);
            if (byte.written >= full_epoch_) refuse("multiplied without a barrier after the store", n);
            if (beside_[n].used == fences_) refuse("multiplied after ordinary use without a fence", n);
            ++beside_[n].readers;
            product.bytes.push_back(n);
        }
        std::uint16_t bits;
        std::memcpy(&bits, memory_.data() + place, 2);
        return cuda::to_float(Scalar{bits});
    }

    template <class Scalar, bool adds, class C>
    void multiply(Product& product, const float (&left)[64][16], bool transposed, std::uint64_t descriptor, C c) {
        constexpr int columns = 64;
        if (!registers_are_fenced_) throw std::logic_error("registers were used, and no fence before the product");
        float right[16][columns];
        for (int k = 0; k < 16; ++k)
            for (int n = 0; n < columns; ++n) right[k][n] = operand<Scalar>(product, descriptor, transposed, n, k);
        for (std::size_t lane = 0; lane < kGroup; ++lane) {
            float* registers = c(lane)[0];
            Coming& coming = coming_[registers];
            if (coming.products++ == 0) {
                coming.values.assign(registers, registers + columns / 2);
                std::fill(registers, registers + columns / 2, poison());
            }
            if (coming.values.size() != columns / 2) throw std::logic_error("an accumulator of another shape");
            if (!adds) std::fill(coming.values.begin(), coming.values.end(), 0.0f);
            const std::size_t row = lane / 32 * 16 + lane % 32 / 4, column = lane % 4 * 2;
            for (std::size_t e = 0; e < columns / 2; ++e) {
                float& value = coming.values[e];
                for (std::size_t k = 0; k < 16; ++k)
                    value += left[row + e / 2 % 2 * 8][k] * right[k][e / 4 * 8 + column + e % 2];
            }
            product.accumulators.push_back(registers);
        }
        open_.push_back(std::move(product));
    }
    void finish(const Product& product) {
        for (const std::size_t n : product.bytes) {
            --beside_[n].readers;
            watched_[n].read = epoch_;
            watched_[n].reader = -2;
            watched_[n].readers = -1;
            beside_[n].moment = moment_;
        }
        for (const auto& [registers, values] : product.held)
            if (!std::equal(values.begin(), values.end(), registers))
                throw std::logic_error("a left factor changed under its product");
        for (float* registers : product.accumulators) {
            Coming& coming = coming_.at(registers);
            for (std::size_t e = 0; e < coming.values.size(); ++e)
                if (std::bit_cast<std::uint32_t>(registers[e]) != std::bit_cast<std::uint32_t>(poison()))
                    throw std::logic_error("an accumulator changed under its product");
            if (--coming.products > 0) continue;
            std::copy(coming.values.begin(), coming.values.end(), registers);
            coming_.erase(registers);
        }
    }

    std::vector<Beside> beside_;
    long fences_ = 0;
    long moment_ = 1, let_go_ = 0;  // arrivals so far, and the last one that thread 0 has waited for
    std::map<int, Barrier> barriers_;
    std::vector<Product> open_;
    std::deque<std::vector<Product>> groups_;
    std::unordered_map<float*, Coming> coming_;
    bool registers_are_fenced_ = false;
};

}  // namespace locus::test
