// The disentangled terms of one layer in plain loops, as a kernel finds its rows; mistakes 15, 80 and 81.
#include <cmath>

#include "tests/conformance/toy/term_ports.h"

namespace locus::conformance::toy {

namespace {

template <class Scalar>
class ToyDisentangled {
public:
    ToyDisentangled(const KitCase& one, const Injection& injected)
        : given_(one),
          injected_(injected),
          q_(given_("layer.0.q")),
          k_(given_("layer.0.k")),
          v_(given_("layer.0.v")),
          k_r_(given_("layer.0.k_r")),
          q_r_(given_("layer.0.q_r")),
          visible_(given_.visible()),
          buckets_(one.config.value("position_buckets", Index(0))),
          max_position_(one.config.value("max_position", Index(0))),
          span_(one.config.value("span", buckets_)),
          queries_(q_.extent(2)),
          keys_(k_.extent(2)),
          width_(q_.extent(3)) {
        if (injected.is(80) || injected.is(81)) tile_ = kTileOf[injected.variant % 4];
        loaded_ = injected.is(80) && injected.variant >= 4 ? 2 * span_ / tile_ * tile_ : 2 * span_;
    }

    Trace run(bool with_index) {
        const Shape shape = {q_.extent(0), q_.extent(1), queries_, keys_};
        A c2c(shape), c2p(shape), p2c(shape), scores(shape), probs(shape);
        for (Index n = 0; n < c2c.runs(); ++n) {
            const Index i = n % queries_, head = n / queries_, table = head % shape[1];
            for (Index j = 0; j < keys_; ++j) {
                const Scalar* key = k_.run(head * keys_ + j);
                c2c.run(n)[j] = dot(q_.run(n), key);
                const Index row = read_row(i, j);
                if (row >= 0 && row < loaded_) {
                    c2p.run(n)[j] = dot(q_.run(n), k_r_.run(table * 2 * span_ + row));
                    p2c.run(n)[j] = dot(key, q_r_.run(table * 2 * span_ + row));
                }
                scores.run(n)[j] = (c2c.run(n)[j] + c2p.run(n)[j] + p2c.run(n)[j]) /
                                   static_cast<Scalar>(std::sqrt(3 * double(width_)));
            }
            softmax(scores.run(n), visible_.run(head / shape[1] * queries_ + i), probs.run(n));
        }
        Trace trace;
        if (with_index) trace.add("relative.index", index());
        trace.add("layer.0.c2c", as_stage(c2c));
        trace.add("layer.0.c2p", as_stage(c2p));
        trace.add("layer.0.p2c", as_stage(p2c));
        trace.add("layer.0.scores", as_stage(scores));
        trace.add("layer.0.probs", as_stage(probs));
        trace.add("layer.0.context", as_stage(context(probs)));
        return trace;
    }

private:
    using A = Array<Scalar>;

    Scalar dot(const Scalar* a, const Scalar* b) const {
        Scalar sum = 0;
        for (Index c = 0; c < width_; ++c) sum += a[c] * b[c];
        return sum;
    }
    Index within(Index row) const { return row < 0 ? 0 : row > 2 * span_ - 1 ? 2 * span_ - 1 : row; }
    Index bucket(Index offset) const {
        const Index mid = buckets_ / 2, far = std::abs(offset);
        if (buckets_ == 0 || far <= mid) return offset;
        const double ratio = std::log(double(std::min(far, max_position_ - 1)) / double(mid)) /
                             std::log(double(max_position_ - 1) / double(mid));
        const Index steps = mid + static_cast<Index>(std::ceil(ratio * double(mid - 1)));
        return offset < 0 ? -steps : steps;
    }
    Index row(Index offset) const { return within(bucket(offset) + span_); }
    /// The row that the terms read for (i,j).
    Index read_row(Index i, Index j) const {
        if (injected_.is(15, 1)) return row(i + keys_ - queries_ - j);
        if (injected_.is(15)) {  // built [Tk,Tq], read [Tq,Tk]
            const Index flat = i * keys_ + j;
            return row(flat / queries_ - flat % queries_);
        }
        if (!injected_.is(81)) return row(i - j);
        const Index tile_i = i / tile_, tile_j = j / tile_, offset = i - j;
        switch (injected_.variant % 100 / 4) {
            case 0:
                return row((tile_i - tile_j) * tile_) + (i - tile_i * tile_) - (j - tile_j * tile_);
            case 1:
                return within(row((tile_i - tile_j) * tile_) + (i - tile_i * tile_) - (j - tile_j * tile_));
            case 2: {
                const Index rest = offset % tile_ < 0 ? offset % tile_ + tile_ : offset % tile_;
                return row(offset / tile_ * tile_ + rest);
            }
            default:
                return offset > -tile_ && offset < tile_ ? offset + span_ : row(offset);
        }
    }
    IndexTensor index() const {
        IndexTensor rows({queries_, keys_});
        for (Index n = 0; n < rows.size(); ++n) {
            const Index i = n / keys_, j = n % keys_;
            rows[n] = injected_.variant >= 100 ? read_row(i, j) : row(i - j);
        }
        return rows;
    }
    void softmax(const Scalar* scores, const char* sees, Scalar* probs) const {
        // Keys that only the last tile has: their scores are zeros, and they are not masked.
        const Index extra = injected_.is(80) && injected_.variant < 4 ? (tile_ - keys_ % tile_) % tile_ : 0;
        Scalar most = extra > 0 ? Scalar(0) : -std::numeric_limits<Scalar>::infinity(), sum = 0;
        for (Index j = 0; j < keys_; ++j)
            if (sees[j]) most = std::max(most, scores[j]);
        for (Index j = 0; j < keys_; ++j)
            if (sees[j]) sum += probs[j] = std::exp(scores[j] - most);
        for (Index j = 0; j < extra; ++j) sum += std::exp(-most);
        for (Index j = 0; j < keys_; ++j) probs[j] /= sum;
    }
    A context(const A& probs) const {
        const Index heads = q_.extent(1);
        A y({q_.extent(0), queries_, heads * width_});
        for (Index n = 0; n < probs.runs(); ++n)
            for (Index j = 0; j < keys_; ++j)
                for (Index c = 0; c < width_; ++c)
                    y(n / (heads * queries_), n % queries_, n / queries_ % heads * width_ + c) +=
                        probs.run(n)[j] * v_.run(n / queries_ * keys_ + j)[c];
        return y;
    }

    Given<Scalar> given_;
    Injection injected_;
    A q_, k_, v_, k_r_, q_r_;
    Array<char> visible_;  // [B,Tq,Tk]
    Index buckets_, max_position_, span_, queries_, keys_, width_, tile_ = 1, loaded_ = 0;
};

}  // namespace

template <class Scalar>
Trace run_disentangled(const KitCase& one, const Injection& injected) {
    return ToyDisentangled<Scalar>(one, injected).run(one.stages.front() == "relative.index");
}

template Trace run_disentangled<float>(const KitCase&, const Injection&);
template Trace run_disentangled<double>(const KitCase&, const Injection&);

}  // namespace locus::conformance::toy
