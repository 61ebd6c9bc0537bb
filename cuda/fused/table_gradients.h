#pragma once
// dK_r and dQ_r on tensor cores: the scores' gradients by token and relative row, transposed, times the tokens; a
// block has 64 relative rows of a head, and adds up all samples and tokens in order.
#include "cuda/fused/arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/operand_rows.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width>
struct TableLane : LaneBase {
    std::uint32_t a[4] = {};
    std::uint32_t b[4] = {};
    float sums[width / 8][4] = {};
};

template <class Scalar, int width, bool around_keys, class Block>
class TableGradients {
public:
    using Lane = TableLane<width>;
    static constexpr int kColumns = 64, kTokens = 64, kThreads = 2 * kColumns;

    static constexpr int bytes() { return 2 * kTokens * 2 * (operand_stride(kColumns) + operand_stride(width)); }

    constexpr TableGradients(Block& block, const BackwardArguments<Scalar>& args, int column_block, int head)
        : block_(block), table_(block), tokens_(block), side_{args}, column0_(column_block * kColumns), head_(head) {}

    constexpr void run() {
        Step step = existing({0, 0});
        if (step.sample < side_.forward().batch) prefetch(step, 0);
        for (int buffer = 0; step.sample < side_.forward().batch; buffer = 1 - buffer) {
            const Step next = existing({step.sample, step.first + kTokens});
            block_.arrive();
            if (next.sample < side_.forward().batch) prefetch(next, 1 - buffer);
            unrolled<kTokens / 16>([&](auto n) {
                table_.load_left_transposed(
                    gradients(buffer), 16 * n, [](Lane& r) { return 16 * r.warp(); },
                    [](Lane & r) -> auto& { return r.a; });
                unrolled<width / 16>([&](auto c) {
                    tokens_.multiply_down(
                        factors(buffer), [=](Lane&) { return 16 * n; }, 16 * c, [](Lane& r) { return r.a; },
                        [=](Lane& r) { return &r.sums[2 * c]; });
                });
            });
            block_.sync();
            step = next;
        }
        store();
    }

private:
    /// Some tokens of a sample.
    struct Step {
        int sample, first;
    };
    /// The step itself, or the first of the next sample that has one.
    constexpr Step existing(Step step) const {
        while (step.sample < side_.forward().batch && step.first >= side_.outer(step.sample).count)
            step = {step.sample + 1, 0};
        return step;
    }

    constexpr std::uint16_t* gradients(int buffer) const {
        return block_.template shared<std::uint16_t>(buffer * kTokens * 2 * operand_stride(kColumns));
    }
    constexpr std::uint16_t* factors(int buffer) const {
        return block_.template shared<std::uint16_t>(2 * kTokens * 2 * operand_stride(kColumns) +
                                                     buffer * kTokens * 2 * operand_stride(width));
    }

    constexpr void prefetch(Step step, int buffer) {
        const Tokens tokens = side_.outer(step.sample);
        const Rows<Scalar>& table = side_.table();
        const Rows<const Scalar>& rows = side_.outer_tokens();
        table_.copy(gradients(buffer),
                    ForwardArguments<Scalar>::at(table, tokens, step.sample, head_) + step.first * table.row + column0_,
                    table.row, kTokens, tokens.count - step.first);
        tokens_.copy(factors(buffer),
                     ForwardArguments<Scalar>::at(rows, tokens, step.sample, head_) + step.first * rows.row, rows.row,
                     kTokens, tokens.count - step.first);
    }

    constexpr void store() {
        block_.each([&](Lane& r) {
            unrolled<width / 8>([&](auto n) {
                unrolled<4>([&](auto e) {
                    const int column = column0_ + 16 * r.warp() + r.group() + e / 2 * 8;
                    if (column >= side_.args.reached.count) return;
                    const long long row =
                        static_cast<long long>(head_) * side_.forward().table_rows + side_.args.reached.first + column;
                    side_.d_rows()[row * width + 8 * n + 2 * r.pair() + e % 2] = r.sums[n][e] * side_.forward().scale;
                });
            });
        });
    }

    Block& block_;
    OperandRows<Scalar, kColumns, kThreads, Block> table_;
    OperandRows<Scalar, width, kThreads, Block> tokens_;
    const BackwardSide<Scalar, around_keys> side_;
    int column0_, head_;
};

}  // namespace locus::cuda
