#pragma once
// A block of threads on the host: runs the text of a fused kernel lane after lane, and watches its shared memory.  What
// a device would only sometimes get wrong is wrong here always: a byte that two threads touch between two barriers, one
// of them writing; a byte that is read while it is still in flight, or before anybody wrote it.
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/fused/half_types.h"

namespace locus::test {

template <class Lane>
class EmulatedBlock {
public:
    struct Factors {
        const std::uint32_t* a;
        std::uint32_t b0, b1;
        float* c;
    };

    EmulatedBlock(int threads, int bytes) : lanes_(static_cast<std::size_t>(threads)) {
        for (int n = 0; n < threads; ++n) lanes_[static_cast<std::size_t>(n)].thread = n;
        memory_.resize(static_cast<std::size_t>(bytes), 0xff);  // not a number, in halves and bfloats
        watched_.resize(memory_.size());
    }

    template <class F>
    void each(F f) {
        // No order is promised.
        if (turn_++ % 2 == 0)
            for (std::size_t n = 0; n < lanes_.size(); ++n) f(lanes_[n]);
        else
            for (std::size_t n = lanes_.size(); n-- > 0;) f(lanes_[n]);
    }
    virtual ~EmulatedBlock() = default;

    void sync() { full_epoch_ = ++epoch_; }
    void arrive() {
        for (const Copy& copy : copies_) {
            std::memcpy(memory_.data() + copy.to, copy.bytes, 16);
            for (std::size_t n = 0; n < 16; ++n) watched_[copy.to + n].on_its_way = false;
        }
        copies_.clear();
        sync();
    }

    template <class Value>
    Value* shared(int bytes) {
        return reinterpret_cast<Value*>(memory_.data() + bytes);
    }
    template <class Value>
    Value load(const Lane& r, const Value* from) {
        touch(r.thread, from, sizeof(Value), false);
        return *from;
    }
    template <class Value>
    void store(Lane& r, Value* to, Value value) {
        touch(r.thread, to, sizeof(Value), true);
        *to = value;
    }
    void copy16(Lane& r, void* to, const void* from) {
        if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) throw std::logic_error("16 bytes from a place between");
        if (is_guard(from)) throw std::logic_error("16 bytes from beyond the rows that are there");
        touch(r.thread, to, 16, true);
        Copy copy{place_of(to), {}};
        if (copy.to % 16 != 0) throw std::logic_error("16 bytes to a place between");
        std::memcpy(copy.bytes, from, 16);
        for (std::size_t n = 0; n < 16; ++n) watched_[copy.to + n].on_its_way = true;
        copies_.push_back(copy);
    }
    void zero16(Lane& r, void* to) {
        touch(r.thread, to, 16, true);
        std::memset(to, 0, 16);
    }
    template <class Scalar>
    void store_pair(Scalar* to, std::uint32_t pair) {
        std::memcpy(static_cast<void*>(to), &pair, sizeof(pair));
    }

    template <bool transposed, class F>
    void load_matrices(F f) {
        for (std::size_t warp = 0; warp < lanes_.size(); warp += 32) {
            std::uint16_t matrices[4][8][8];
            for (std::size_t n = 0; n < 32; ++n) {
                const auto [row, out] = f(lanes_[warp + n]);
                if (place_of(row) % 16 != 0) throw std::logic_error("a matrix row at a place between");
                touch(lanes_[warp + n].thread, row, 16, false);
                std::memcpy(matrices[n / 8][n % 8], row, 16);
            }
            for (std::size_t n = 0; n < 32; ++n) {
                std::uint32_t* out = f(lanes_[warp + n]).second;
                for (std::size_t m = 0; m < 4; ++m) {
                    const std::size_t major = n / 4, minor = n % 4 * 2;
                    const std::uint16_t low = transposed ? matrices[m][minor][major] : matrices[m][major][minor];
                    const std::uint16_t high =
                        transposed ? matrices[m][minor + 1][major] : matrices[m][major][minor + 1];
                    out[m] = low | static_cast<std::uint32_t>(high) << 16;
                }
            }
        }
    }

    template <class Scalar, class F>
    void multiply(F f) {
        for (std::size_t warp = 0; warp < lanes_.size(); warp += 32) {
            float a[16][16], b[16][8];
            for (std::size_t n = 0; n < 32; ++n) {
                const Factors at = f(lanes_[warp + n]);
                const std::size_t group = n / 4, pair = n % 4 * 2;
                for (std::size_t e = 0; e < 8; ++e)
                    a[group + e / 2 % 2 * 8][pair + e % 2 + e / 4 * 8] = number<Scalar>(at.a[e / 2], e % 2);
                for (std::size_t e = 0; e < 4; ++e)
                    b[pair + e % 2 + e / 2 * 8][group] = number<Scalar>(e / 2 ? at.b1 : at.b0, e % 2);
            }
            for (std::size_t n = 0; n < 32; ++n) {
                float* c = f(lanes_[warp + n]).c;
                for (std::size_t e = 0; e < 4; ++e)
                    for (std::size_t k = 0; k < 16; ++k) c[e] += a[n / 4 + e / 2 * 8][k] * b[k][n % 4 * 2 + e % 2];
            }
        }
    }

    template <class F>
    void quad_largest(F f) {
        quads(f, larger);
    }
    template <class F>
    void quad_sum(F f) {
        quads(f, [](float x, float y) { return x + y; });
    }
    template <class F>
    void warp_sum(F f) {
        for (std::size_t warp = 0; warp < lanes_.size(); warp += 32) {
            float sum = 0;
            for (std::size_t n = 0; n < 32; ++n) sum += f(lanes_[warp + n]);
            for (std::size_t n = 0; n < 32; ++n) f(lanes_[warp + n]) = sum;
        }
    }
    static float larger(float x, float y) { return std::fmax(x, y); }
    static float exp2(float x) { return std::exp2(x); }

protected:
    struct Watched {
        int writer = -1, reader = -1;  // of this epoch; -2: several, of one group of threads or of all
        int readers = -1;              // which group, -1: all
        long written = -1, read = -1;  // in which epoch; 0: before the first
        bool on_its_way = false;
    };
    struct Copy {
        std::size_t to;
        unsigned char bytes[16];
    };

    /// Threads with barriers of their own.
    virtual int group_of(int) const { return 0; }

    /// What guarded.h puts around buffers: the quiet NaN of halves or of bfloats, eight times.
    static bool is_guard(const void* from) {
        std::uint16_t halves[8];
        std::memcpy(halves, from, sizeof halves);
        for (const std::uint16_t one : halves)
            if (one != halves[0]) return false;
        return halves[0] == 0x7e00 || halves[0] == 0x7fc0;
    }
    template <class Scalar>
    static float number(std::uint32_t pair, std::size_t which) {
        return cuda::to_float(Scalar{static_cast<std::uint16_t>(which ? pair >> 16 : pair)});
    }
    template <class F, class Join>
    void quads(F f, Join join) {
        for (std::size_t quad = 0; quad < lanes_.size(); quad += 4) {
            float joined = f(lanes_[quad]);
            for (std::size_t n = 1; n < 4; ++n) joined = join(joined, f(lanes_[quad + n]));
            for (std::size_t n = 0; n < 4; ++n) f(lanes_[quad + n]) = joined;
        }
    }
    std::size_t place_of(const void* at) const {
        const auto place = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - memory_.data());
        if (place >= memory_.size()) throw std::logic_error("beyond the shared memory");
        return place;
    }
    [[noreturn]] static void refuse(const char* what, std::size_t byte) {
        throw std::logic_error(std::string(what) + ": byte " + std::to_string(byte) + " of shared memory");
    }
    virtual void touch(int thread, const void* at, std::size_t bytes, bool writes) {
        const std::size_t first = place_of(at);
        if (first + bytes > memory_.size()) throw std::logic_error("beyond the shared memory");
        for (std::size_t n = first; n < first + bytes; ++n) {
            Watched& byte = watched_[n];
            if (byte.on_its_way) refuse("touched in flight", n);
            if (!writes && byte.written < 0) refuse("read before it was written", n);
            const int group = group_of(thread), writers = byte.writer < 0 ? -1 : group_of(byte.writer);
            const auto is_open = [&](long when, int other) { return when >= (other == group ? epoch_ : full_epoch_); };
            if (byte.writer != thread && is_open(byte.written, writers))
                refuse("written and touched by two threads without a barrier", n);
            if (writes && byte.reader != thread && is_open(byte.read, byte.readers))
                refuse("read and written by two threads without a barrier", n);
            if (writes) {
                byte.writer = thread;
                byte.written = epoch_;
            } else {
                const bool others = byte.reader != thread && is_open(byte.read, -1);
                byte.readers = others && byte.readers != group ? -1 : group;
                byte.reader = others ? -2 : thread;
                byte.read = epoch_;
            }
        }
    }

    std::vector<Lane> lanes_;
    std::vector<unsigned char> memory_;
    std::vector<Watched> watched_;
    std::vector<Copy> copies_;
    long epoch_ = 1, full_epoch_ = 1;  // barriers so far: of any threads, and when the last one of all was
    unsigned turn_ = 0;
};

}  // namespace locus::test
