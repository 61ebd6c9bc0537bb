#pragma once
// The host as a backend for passes that stay on the device (cuda/encoder/encoder_pass.h): the same steps and the very
// text of every kernel, lane after lane, between guards of NaN.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "cuda/encoder/encoder_kernels.h"
#include "cuda/encoder/product_kernels.h"
#include "cuda/fused/fused_forward.h"
#include "cuda/fused/portable_forward.h"
#include "tests/cuda/emulated_block.h"
#include "tests/cuda/guarded.h"

namespace locus::test {

/// The kernel that a product runs on the device, block after block.
template <class Kernel, class Block, class Scalar>
void run_product_blocks(const cuda::ProductArguments<Scalar>& args, int tile_rows, int tile_columns) {
    for (int i = 0; i * tile_rows < args.rows; ++i)
        for (int j = 0; j * tile_columns < args.columns; ++j) {
            Block block(Kernel::kThreads, Kernel::kBytes);
            Kernel(block, args, i, j).run();
        }
}

template <int tile, class Scalar>
void run_tensor_product(const cuda::ProductArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::TensorProductLane<tile / 2>>;
    run_product_blocks<cuda::TensorProduct<Scalar, tile, tile, Block>, Block>(args, tile, tile);
}

template <class Scalar>
void run_plain_product(const cuda::ProductArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::PlainProductLane>;
    using Kernel = cuda::PlainProduct<Scalar, Block>;
    run_product_blocks<Kernel, Block>(args, Kernel::kTile, Kernel::kTile);
}

template <int numbers, class Scalar, class Source>
void run_norm_rows(const cuda::NormRowsArguments<Scalar, Source>& args) {
    using Block = EmulatedBlock<cuda::NormLane<numbers>>;
    using Kernel = cuda::NormRows<Scalar, Source, numbers, Block>;
    for (int tile = 0; tile * Kernel::kWarps < args.rows; ++tile) {
        Block block(Kernel::kThreads, 0);
        Kernel(block, args, tile).run();
    }
}

template <int width, class Scalar>
void run_fused_forward(const cuda::ForwardArguments<Scalar>& args, int query_block, int head, int sample) {
    using Block = EmulatedBlock<cuda::ForwardLane<width, 32>>;
    using Kernel = cuda::FusedForward<Scalar, width, 32, 32, Block>;
    const int capacity = std::min(args.table_rows, 32 + args.keys - 1);
    Block block(Kernel::kThreads, cuda::ForwardLayout::of(32, 32, width, capacity, args.k_r, args.q_r).bytes);
    Kernel(block, args, capacity, query_block, head, sample).run();
}

template <class Scalar>
void run_portable_forward(const cuda::ForwardArguments<Scalar>& args, int width, int query_block, int head,
                          int sample) {
    using Block = EmulatedBlock<cuda::PortableLane>;
    using Kernel = cuda::PortableForward<Scalar, Block>;
    Block block(Kernel::kThreads, Kernel::bytes(width));
    Kernel(block, args, width, query_block, head, sample).run();
}

/// Numbers that start at a multiple of 16 bytes, as on the device, between guards of 0xFF bytes, NaN in every format;
/// tells at its end whether they held.
template <class Value>
class EmulatedBuffer {
public:
    EmulatedBuffer(std::size_t count, bool& guards_held, const Value* host = nullptr)
        : bytes_(count * sizeof(Value) + 2 * kGuard + 16, 0xFF), count_(count), guards_held_(guards_held) {
        void* first = bytes_.data() + kGuard;
        std::size_t left = bytes_.size() - kGuard;
        data_ = static_cast<Value*>(std::align(16, 1, first, left));
        if (host) std::copy_n(host, count, data_);
    }
    ~EmulatedBuffer() {
        const auto* begin = reinterpret_cast<const unsigned char*>(data_);
        const auto held = [](unsigned char byte) { return byte == 0xFF; };
        guards_held_ = guards_held_ && std::all_of(bytes_.data(), bytes_.data() + (begin - bytes_.data()), held) &&
                       std::all_of(begin + count_ * sizeof(Value),
                                   static_cast<const unsigned char*>(bytes_.data()) + bytes_.size(), held);
    }
    EmulatedBuffer(const EmulatedBuffer&) = delete;
    EmulatedBuffer& operator=(const EmulatedBuffer&) = delete;
    Value* data() { return data_; }
    const Value* data() const { return data_; }
    std::size_t size() const { return count_; }

private:
    static constexpr std::size_t kGuard = 256;
    std::vector<unsigned char> bytes_;
    std::size_t count_;
    bool& guards_held_;
    Value* data_;
};

class EmulatedBackend {
public:
    template <class Value>
    EmulatedBuffer<Value> allocate(std::size_t count) const {
        return {count, guards_held_};
    }
    template <class Value>
    EmulatedBuffer<Value> upload(const Value* host, std::size_t count) const {
        return EmulatedBuffer<Value>(count, guards_held_, host);
    }
    template <class Value>
    void write(EmulatedBuffer<Value>& to, const Value* host, std::size_t count) const {
        if (count > to.size()) throw std::logic_error("more values than the buffer holds");
        std::copy_n(host, count, to.data());
    }
    /// Last to first: a kernel that reads what another element writes is found.
    template <class Kernel>
    void parallel_for(long long count, const Kernel& kernel) const {
        for (long long n = count - 1; n >= 0; --n) kernel(n);
    }
    template <class Scalar>
    void multiply(const cuda::ProductArguments<Scalar>& args) const {
        if constexpr (sizeof(Scalar) == 2)
            if (cuda::fits_tensor_cores(args)) return run_tensor_product<64>(args);
        run_plain_product(args);
    }
    template <class Scalar, class Source>
    void norm(const cuda::NormRowsArguments<Scalar, Source>& args) const {
        if (args.row <= 32 * 8) return run_norm_rows<8>(args);
        run_norm_rows<cuda::kMostNormed / 32>(args);
    }
    template <class Scalar>
    void attend(const cuda::ForwardArguments<Scalar>& args, int width) const {
        for (int b = 0; b < args.batch; ++b)
            for (int h = 0; h < args.heads; ++h)
                for (int n = 0; n * 32 < args.queries; ++n) {
                    if constexpr (sizeof(Scalar) == 2)
                        if (width == 64) {
                            run_fused_forward<64>(args, n, h, b);
                            continue;
                        }
                    run_portable_forward(args, width, n, h, b);
                }
    }
    /// True if nothing was written outside any buffer that is gone.
    bool guards_held() const { return guards_held_; }

private:
    mutable bool guards_held_ = true;
};

}  // namespace locus::test
