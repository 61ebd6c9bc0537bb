#pragma once
// KernelVersion 2 with bought products: what changed: the four products, two tables of them, q k^T and probabilities v,
// are a library's; index, gathers, scale and softmax are those of rung 2, and so is the traffic of scores through
// memory. This is what frameworks run.  The library is found when the rung is climbed, or one sentence says that it is
// not.
#include <utility>

#include "cuda/encoder/cublas.h"
#include "cuda/ladder/gather.h"

namespace locus::cuda::ladder {

/// Multiply: what takes SheetProducts<float>, cuBLAS on the device.
template <class Place, class Multiply>
class CublasGather {
public:
    CublasGather(const Place& place, const Problem& at, Multiply multiply)
        : place_(place),
          at_(at),
          multiply_(std::move(multiply)),
          by_query_(place.template room<float>(static_cast<std::size_t>(at.sheets) * at.queries * at.rows)),
          by_key_(place.template room<float>(static_cast<std::size_t>(at.sheets) * at.keys * at.rows)),
          index_(place.template room<long long>(static_cast<std::size_t>(at.queries) * at.keys)),
          scores_(place.template room<float>(static_cast<std::size_t>(at.scores()))),
          probs_(place.template room<float>(static_cast<std::size_t>(at.scores()))) {
        place_.each(static_cast<long long>(at.queries) * at.keys, IndexCell{at_, index_.data()});
    }
    void run(float* context) {
        fill_table(at_.q, at_.queries, at_.k_r, by_query_.data());
        fill_table(at_.k, at_.keys, at_.q_r, by_key_.data());
        multiply_(sheets(at_.q, at_.k, scores_.data(), at_.queries, at_.keys, at_.width));
        place_.each(at_.scores(), GatherByQueryCell{at_, by_query_.data(), index_.data(), scores_.data()});
        place_.each(at_.scores(), GatherByKeyCell{at_, by_key_.data(), index_.data(), scores_.data()});
        place_.each(at_.scores(), ScaleCell{at_.scale, scores_.data()});
        place_.each(static_cast<long long>(at_.sheets) * at_.queries,
                    SoftmaxCell{scores_.data(), at_.keys, probs_.data()});
        SheetProducts<float> values = sheets(probs_.data(), at_.v, context, at_.queries, at_.width, at_.keys);
        values.first.b_row = at_.width;
        values.turned = false;
        multiply_(values);
    }

private:
    /// a [sheets,rows,depth], b [sheets,columns,depth] -> c [sheets,rows,columns].
    SheetProducts<float> sheets(const float* a, const float* b, float* c, int rows, int columns, int depth) const {
        SheetProducts<float> all;
        all.first = ProductArguments<float>::whole(a, b, c, rows, columns, depth);
        all.sheets = at_.sheets;
        all.a_sheet = static_cast<long long>(rows) * depth;
        all.b_sheet = static_cast<long long>(columns) * depth;
        all.c_sheet = static_cast<long long>(rows) * columns;
        return all;
    }
    /// Every sample has the relative rows of its heads.
    void fill_table(const float* tokens, int count, const float* relative, float* table) const {
        for (int sheet = 0; sheet < at_.sheets; sheet += at_.heads) {
            SheetProducts<float> of_sample =
                sheets(tokens + static_cast<long long>(sheet) * count * at_.width, relative,
                       table + static_cast<long long>(sheet) * count * at_.rows, count, at_.rows, at_.width);
            of_sample.sheets = at_.heads;
            multiply_(of_sample);
        }
    }

    const Place& place_;
    Problem at_;
    Multiply multiply_;
    decltype(std::declval<const Place&>().template room<float>(0)) by_query_, by_key_;
    decltype(std::declval<const Place&>().template room<long long>(0)) index_;
    decltype(std::declval<const Place&>().template room<float>(0)) scores_, probs_;
};

}  // namespace locus::cuda::ladder
