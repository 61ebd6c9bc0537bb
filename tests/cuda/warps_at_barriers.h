#pragma once
// Whether the warps of a Hopper kernel can ever wait for each other for good, or take one phase of a barrier for
// another, in whatever order a device lets them run.
//
// What a warp does at barriers depends on sizes alone, never on numbers or on other warps.  So the kernel's text is run
// once for every kind of warp, without its arithmetic, and what it does at barriers is written down (BarrierRecorder);
// then all warps run through their lists (WarpsAtBarriers).  A warp that goes on only ever lets others go on, so it is
// enough to hold each warp, at each place of its list, until nobody else can move: what is right in all of these orders
// is right in every one.
// Source: PTX ISA 9.0, "mbarrier" (phases, arrivals, transaction bytes, parity waits) and "bar".
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cuda/emulated_warpgroup.h"

namespace locus::test {

/// starts: a barrier, with so many arrivals; announces: arrives, and so many bytes will come; fills: bytes that come;
/// arrives; waits: for the end of a phase with this parity; meets: the barrier `place` of so many warps.
struct BarrierStep {
    enum Kind { starts, announces, fills, arrives, waits, meets } kind;
    int place, number;
};
using BarrierSteps = std::vector<BarrierStep>;

/// What a warp is there for; one may do both.   warps, computing: how many the block has, and of them compute.
struct WarpRole {
    bool computes, asks;  // for copies
    int warpgroup, warps, computing;
};

/// A block, for one warp, that keeps nothing but its steps at barriers.
template <class Lane>
class BarrierRecorder : public EmulatedHopper<Lane> {
    using Base = EmulatedHopper<Lane>;

public:
    using Map = typename Base::Map;

    BarrierRecorder(WarpRole role, int bytes) : Base(32, bytes), role_(role) {}

    const BarrierSteps& steps() const { return steps_; }

    template <class F>
    void each(F) {}
    template <bool transposed, class F>
    void load_matrices(F) {}
    template <class Holds, class Out>
    void vote(Holds, Out) {}
    template <class F>
    void quad_largest(F) {}
    template <class F>
    void quad_sum(F) {}
    template <class Scalar, bool transposed, bool adds, class F>
    void multiply_held(F) {}
    template <class Scalar, bool adds, class F>
    void multiply_shared(F) {}
    template <int groups>
    void wait_for_products() {}
    void commit_products() {}
    void fence_registers() {}
    void fence_copies() {}
    void barriers_are_started() {}

    template <class F>
    void one(F f) {
        if (role_.asks) f();
    }
    void start_barrier(int place, int arrivals) { note(BarrierStep::starts, place, arrivals); }
    void expect(int place, int bytes) { note(BarrierStep::announces, place, bytes); }
    void copy_box(int, const Map&, int, int, int, int, int place) { note(BarrierStep::fills, place, 64 * 64 * 2); }
    void wait_for_warps(int place, std::uint32_t parity) { note(BarrierStep::waits, place, static_cast<int>(parity)); }
    void wait(int place, std::uint32_t parity) {
        if (role_.computes) note(BarrierStep::waits, place, static_cast<int>(parity));
    }
    void arrive_by_warp(int place) {
        if (role_.computes) note(BarrierStep::arrives, place, 1);
    }
    // Their places are beside those of shared memory.
    void sync_all() { note(BarrierStep::meets, -1, role_.warps); }
    void sync() {
        if (role_.computes) note(BarrierStep::meets, -2, role_.computing);
    }
    void sync_warpgroup() {
        if (role_.computes) note(BarrierStep::meets, -3 - role_.warpgroup, 4);
    }

private:
    void note(BarrierStep::Kind kind, int place, int number) { steps_.push_back({kind, place, number}); }

    const WarpRole role_;
    BarrierSteps steps_;
};

/// Warps with their steps; copies arrive as soon as they are asked for, which is the earliest.
class WarpsAtBarriers {
public:
    explicit WarpsAtBarriers(std::vector<BarrierSteps> steps) : steps_(std::move(steps)) {
        for (std::size_t warp = 0; warp < steps_.size(); ++warp) meant_.push_back(meant_phases(warp));
    }

    /// Nobody is held; then each warp in turn is the last to take each of its steps.
    /// Throws std::logic_error that says what goes wrong.
    void try_orders() {
        begin();
        end();
        for (std::size_t slow = 0; slow < steps_.size(); ++slow) {
            begin();
            for (held_ = slow, held_at_ = 0; held_at_ < steps_[slow].size(); ++held_at_) run();
            end();
        }
    }

private:
    struct Warp {
        std::size_t at = 0;
        std::map<int, int> arrivals, meetings;  // so far, by place
    };
    struct Barrier {
        int arrivals = 0, all_arrivals = 0, phase = 0;
        long bytes = 0;
    };

    [[noreturn]] static void refuse(std::size_t warp, std::size_t at, int place, const char* what) {
        throw std::logic_error("warp " + std::to_string(warp) + ", step " + std::to_string(at) + ", barrier " +
                               std::to_string(place) + ": " + what);
    }
    [[noreturn]] void refuse(std::size_t warp, const char* what) const {
        const std::size_t at = warps_[warp].at;
        refuse(warp, at, steps_[warp][at].place, what);
    }

    /// For every wait the phase whose end it means.  Parities of a warp's waits alternate, so that each means the one
    /// after the one before; parity 1 at first means the phase before the first, which counts as over.
    std::vector<int> meant_phases(std::size_t warp) const {
        std::vector<int> meant;
        std::map<int, int> next;
        for (const BarrierStep& step : steps_[warp]) {
            meant.push_back(0);
            if (step.kind != BarrierStep::waits) continue;
            const auto phase = next.try_emplace(step.place, -step.number).first;
            meant.back() = phase->second++;
            if ((meant.back() & 1) != step.number) refuse(warp, meant.size() - 1, step.place, "a parity twice");
        }
        return meant;
    }

    void begin() {
        warps_.assign(steps_.size(), Warp{});
        barriers_.clear();
        met_.clear();
        held_ = steps_.size();
    }
    void end() {
        held_ = steps_.size();
        run();
        for (std::size_t warp = 0; warp < steps_.size(); ++warp)
            if (warps_[warp].at < steps_[warp].size()) refuse(warp, "waits for ever");
    }
    /// Until nobody moves any more.
    void run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t warp = 0; warp < steps_.size(); ++warp)
                while (may_go(warp) && goes(warp)) {
                    ++warps_[warp].at;
                    moved = true;
                }
        }
    }
    bool may_go(std::size_t warp) const {
        return warps_[warp].at < steps_[warp].size() && (warp != held_ || warps_[warp].at != held_at_);
    }
    /// False: it has to wait.
    bool goes(std::size_t warp) {
        const BarrierStep& step = steps_[warp][warps_[warp].at];
        if (step.kind == BarrierStep::meets) return meets(warps_[warp], step);
        if (step.kind == BarrierStep::starts) {
            barriers_[step.place] = Barrier{step.number, step.number};
            return true;
        }
        const auto found = barriers_.find(step.place);
        if (found == barriers_.end()) refuse(warp, "was not started");
        Barrier& barrier = found->second;
        if (step.kind == BarrierStep::waits) {
            const int meant = meant_[warp][warps_[warp].at];
            if (barrier.phase > meant + 1) refuse(warp, "the phase after the one that is meant is over, too");
            return barrier.phase > meant;
        }
        if (step.kind != BarrierStep::fills) {
            // A warp that arrives in one phase arrives in all of them.
            if (warps_[warp].arrivals[step.place]++ != barrier.phase) refuse(warp, "arrives in another phase");
            --barrier.arrivals;
        }
        if (step.kind == BarrierStep::announces) barrier.bytes += step.number;
        if (step.kind == BarrierStep::fills) barrier.bytes -= step.number;
        if (barrier.arrivals < 0) refuse(warp, "one arrival too many");
        if (barrier.arrivals == 0 && barrier.bytes == 0) {
            ++barrier.phase;
            barrier.arrivals = barrier.all_arrivals;
        }
        return true;
    }
    bool meets(Warp& warp, const BarrierStep& step) {
        int &all = met_[step.place], &own = warp.meetings[step.place];  // own is odd between arriving and going on
        if (own % 2 == 0) {
            ++own;
            ++all;
        }
        if (all / step.number <= own / 2) return false;
        ++own;
        return true;
    }

    const std::vector<BarrierSteps> steps_;
    std::vector<std::vector<int>> meant_;
    std::vector<Warp> warps_;
    std::map<int, Barrier> barriers_;
    std::map<int, int> met_;  // arrivals at meetings
    std::size_t held_ = 0, held_at_ = 0;
};

}  // namespace locus::test
