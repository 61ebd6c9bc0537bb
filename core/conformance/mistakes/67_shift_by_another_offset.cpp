#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// bd[i,j] read at place(i, j) of a head's buffer of `width` numbers per row, 0 beyond its end; hidden cells 0.
template <class Place>
Tensor<double> read_at(const Replay& at, Place place) {
    const Tensor<double>& raw = at("bd_raw");
    if (at.is_query_stream()) throw NotEnough{"all rows of the query stream"};
    const Index keys = keys_of(at), columns = raw.extent(3);
    return without_hidden(at, each_head(raw, raw.extent(2), keys, [&](Index n, Index, Index) {
                              const auto rows = raw.matrix(n);
                              Matrix<double> moved(rows.rows(), keys);
                              for (Index i = 0; i < moved.rows(); ++i)
                                  for (Index j = 0; j < keys; ++j) moved(i, j) = place(rows, i, j, columns);
                              return moved;
                          }));
}

/// Number `flat` of a row-major matrix; 0 beyond its end.
double number_of(const Eigen::Ref<const Matrix<double>>& rows, Index flat) {
    return flat < rows.size() ? rows(flat / rows.cols(), flat % rows.cols()) : 0;
}

/// Transformer-XL under XLNet's offset T - i, XLNet under Transformer-XL's T - 1 - i; 0 where there is no column.
Tensor<double> one_off(const Replay& at) {
    const Index extra = at.family() == Family::xlnet ? -1 : 0;
    return without_hidden(
        at, shifted_by(at, at("bd_raw"), [&](Index token, Index key) { return key + queries_of(at) - token + extra; }));
}

/// XLNet's shift on Transformer-XL's rows: it has no column for distance 0 and reads on into the next row.
Tensor<double> reading_on(const Replay& at) {
    at.transformer_xl();
    return read_at(at, [&](const auto& rows, Index i, Index j, Index columns) {
        return number_of(rows, i * columns + j + queries_of(at) - i);
    });
}

/// The folded buffer loses its last row instead of its first.
Tensor<double> last_row_dropped(const Replay& at) {
    const bool padded = at.family() == Family::transformer_xl;
    return read_at(at, [&](const auto& rows, Index i, Index j, Index columns) {
        if (!padded) return number_of(rows, i * (columns - 1) + j);
        const Index flat = i * columns + j, width = columns + 1;
        return flat % width == 0 ? 0.0 : rows(flat / width, flat % width - 1);
    });
}

}  // namespace

Mistake mistake_67() {
    const auto bd = [](Tensor<double> (*compute)(const Replay&)) {
        return std::vector<Formula>{{"bd", {"bd_raw", "visible", "query_tokens"}, compute}};
    };
    return {.number = 67,
            .name = "the shift has another offset: that of the other family, or the wrong row is dropped",
            .symptom = "every distance is off by one, or all are mixed up; bd_raw is right",
            .betrays = "bd[i,j] equals bd_raw at the column of distance M + i - j - 1 (XLNet: + 1)",
            .evidence = "xlnet #97; keras-xlnet #22; labml #185, #218",
            .lesson = "26",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"bd"},
            .variants = {{"off by one", bd(one_off)},
                         {"off by one, reading on into the next row", bd(reading_on)},
                         {"the last row is dropped instead of the first", bd(last_row_dropped)}}};
}

}  // namespace locus::conformance
