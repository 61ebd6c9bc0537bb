#include "viewer/plots/pyramid.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/check.h"

namespace locus {

namespace {

/// What is known of a block after some of its cells.
struct Block {
    float sum = 0, chosen = 0;
    int count = 0;

    template <Pooling kPooling>
    void add(float value) {
        const bool first = count++ == 0;
        sum += value;  // also how NaN gets through
        if constexpr (kPooling == Pooling::largest) {
            if (first || std::abs(value) > std::abs(chosen)) chosen = value;
        } else if constexpr (kPooling == Pooling::high) {
            if (first || value > chosen) chosen = value;
        } else if constexpr (kPooling == Pooling::low) {
            if (first || value < chosen) chosen = value;
        }
    }
    template <Pooling kPooling>
    float value() const {
        if (kPooling == Pooling::mean) return count > 0 ? sum / static_cast<float>(count) : 0.0f;
        return std::isnan(sum) && !std::isinf(chosen) ? sum : chosen;
    }
};

/// Where each of so many blocks begins among the cells, and where the last one ends.
std::vector<Index> begins(Index cells, Index blocks) {
    std::vector<Index> all(static_cast<std::size_t>(blocks) + 1);
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = static_cast<Index>(n) * cells / blocks;
    return all;
}

template <Pooling kPooling>
void pool_row(const ConstView<float>& fine, const Mask& hidden, Index r0, Index r1, const std::vector<Index>& columns,
              std::vector<Block>& blocks) {
    std::fill(blocks.begin(), blocks.end(), Block());
    for (Index y = r0; y < r1; ++y) {
        const float* row = fine.data() + y * fine.cols();
        const std::uint8_t* hides = hidden.size() > 0 ? hidden.data() + y * fine.cols() : nullptr;
        for (std::size_t c = 0; c < blocks.size(); ++c)
            for (Index x = columns[c]; x < columns[c + 1]; ++x)
                if (!hides || !hides[x]) blocks[c].add<kPooling>(row[x]);
    }
}

/// rows x cols blocks, each side as many as before or half of them.
template <Pooling kPooling>
CellLevel pool(const ConstView<float>& fine, const Mask& hidden, Index rows, Index cols) {
    CellLevel coarse{Matrix<float>(rows, cols), {}};
    if (hidden.size() > 0) coarse.hidden = Mask::Zero(rows, cols);
    std::vector<Block> blocks(static_cast<std::size_t>(cols));
    const std::vector<Index> down = begins(fine.rows(), rows), across = begins(fine.cols(), cols);
    for (Index r = 0; r < rows; ++r) {
        const auto at = static_cast<std::size_t>(r);
        pool_row<kPooling>(fine, hidden, down[at], down[at + 1], across, blocks);
        for (Index c = 0; c < cols; ++c) {
            const Block& block = blocks[static_cast<std::size_t>(c)];
            coarse.values(r, c) = block.value<kPooling>();
            if (block.count == 0) coarse.hidden(r, c) = 1;
        }
    }
    return coarse;
}

CellLevel pool(const ConstView<float>& fine, const Mask& hidden, Index rows, Index cols, Pooling pooling) {
    switch (pooling) {
        case Pooling::mean:
            return pool<Pooling::mean>(fine, hidden, rows, cols);
        case Pooling::largest:
            return pool<Pooling::largest>(fine, hidden, rows, cols);
        case Pooling::high:
            return pool<Pooling::high>(fine, hidden, rows, cols);
        case Pooling::low:
            break;
    }
    return pool<Pooling::low>(fine, hidden, rows, cols);
}

}  // namespace

SharedMatrix::SharedMatrix(Matrix<float>&& values) {
    const auto own = std::make_shared<const Matrix<float>>(std::move(values));
    *this = SharedMatrix(own, *own);
}

SharedMatrix::SharedMatrix(std::shared_ptr<const void> owner, const ConstView<float>& values)
    : owner_(std::move(owner)), data_(values.data()), rows_(values.rows()), cols_(values.cols()) {
    LOCUS_CHECK(values.outerStride() == values.cols(), "a matrix with gaps between its rows, expected none");
}

Pyramid::Pyramid(SharedMatrix values, Mask visible, Pooling pooling)
    : base_(std::move(values)), hidden_(std::move(visible)), pooling_(pooling) {
    LOCUS_CHECK(base_.size() > 0, "a picture of a matrix without cells, expected at least one");
    LOCUS_CHECK(hidden_.size() == 0 || (hidden_.rows() == base_.rows() && hidden_.cols() == base_.cols()),
                "a mask of [" + std::to_string(hidden_.rows()) + ", " + std::to_string(hidden_.cols()) +
                    "] for values of [" + std::to_string(base_.rows()) + ", " + std::to_string(base_.cols()) + "]");
    for (Index n = 0; n < hidden_.size(); ++n) hidden_.data()[n] = hidden_.data()[n] == 0;
}

void Pyramid::pool_by(Pooling pooling) {
    if (pooling == pooling_) return;
    pooling_ = pooling;
    levels_.clear();
}

const CellLevel& Pyramid::level(Detail detail) {
    LOCUS_CHECK(detail.rows > 0 || detail.cols > 0, "the matrix itself is no pooled level");
    const auto known = levels_.find(detail);
    if (known != levels_.end()) return known->second;
    const Index rows = std::max<Index>(1, base_.rows() >> detail.rows);
    const Index cols = std::max<Index>(1, base_.cols() >> detail.cols);
    // From the level that is one step finer on both sides.
    const Detail finer{std::max(0, detail.rows - 1), std::max(0, detail.cols - 1)};
    if (finer == Detail{})
        return levels_.emplace(detail, pool(base_.values(), hidden_, rows, cols, pooling_)).first->second;
    const CellLevel& fine = level(finer);
    return levels_.emplace(detail, pool(fine.values, fine.hidden, rows, cols, pooling_)).first->second;
}

Detail Pyramid::detail_for(double rows_per_pixel, double cols_per_pixel) const {
    const auto halvings = [](double cells_per_pixel, Index cells) {
        int n = 0;
        // One cell in a thousand more than a pixel holds is rounding, not loss.
        while (std::ldexp(1.001, n) < cells_per_pixel && (cells >> n) > 1) ++n;
        return n;
    };
    return {halvings(rows_per_pixel, base_.rows()), halvings(cols_per_pixel, base_.cols())};
}

}  // namespace locus
