#include "core/fast/disentangled.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/fast/slices.h"

namespace locus {

namespace {

constexpr Index kBlock = kSimdBlock;

Index padded(Index extent) { return (extent + kBlock - 1) / kBlock * kBlock; }

/// Scores of one query to exponentials over the keys it sees, 0 elsewhere; returns their sum, 0 if it sees none.
/// scores [keys, padded]; shown [keys] or null: every key is seen.
template <class Scalar>
Scalar exponentials(Scalar* scores, Index keys, const std::uint8_t* shown, Scalar divisor,
                    const SimdKernels<Scalar>& kernels) {
    if (shown && std::all_of(shown, shown + keys, [](std::uint8_t one) { return one == 0; })) {
        std::fill_n(scores, keys, Scalar(0));
        return 0;
    }
    return kernels.exponentials(scores, keys, shown, Scalar(1) / divisor);
}

/// A row length whose neighbours start in other sets of the cache: an odd number of 64-byte lines.
template <class Scalar>
Index odd_lines(Index extent) {
    constexpr Index buckets = 64 / static_cast<Index>(sizeof(Scalar));
    return ((extent + buckets - 1) / buckets | 1) * buckets;
}

/// A row length for the tables by channel, where a tile of scores reads nine lines of every row: as the rows are 9
/// lines longer than a multiple of 16, these pieces of neighbouring rows lie in different sets.
template <class Scalar>
Index spread_lines(Index extent) {
    constexpr Index buckets = 64 / static_cast<Index>(sizeof(Scalar)), group = 16, read = 9;
    const Index lines = (extent + buckets - 1) / buckets;
    return (lines + (group + read - lines % group) % group) * buckets;
}

/// low and high: beyond them all offsets have the row of the end.  Where the rows have no flat end, their own end.
std::pair<Index, Index> varying_offsets(const RelativeBuckets& buckets) {
    Index low = 1 - buckets.keys(), high = buckets.queries() - 1;
    while (low < high && buckets.row_of_offset(low + 1) == buckets.row_of_offset(low)) ++low;
    while (high > low && buckets.row_of_offset(high - 1) == buckets.row_of_offset(high)) --high;
    return {low, high};
}

template <class Scalar>
void check_table(const char* what, const Tensor<Scalar>& table, const RelativeBuckets& buckets,
                 const Tensor<Scalar>& other) {
    if (table.empty()) return;
    LOCUS_CHECK(
        table.rank() == 3 && table.extent(1) == 2 * buckets.span() && (other.empty() || other.shape() == table.shape()),
        std::string("offset_tables: ") + what + " is " + to_string(table.shape()) + ", expected [H, " +
            std::to_string(2 * buckets.span()) + ", d] for both tables");
}

/// Row of each column of the tables; beyond the offsets of the buckets the row of their end, so that no other row is
/// ever read.
std::vector<std::ptrdiff_t> rows_by_column(const RelativeBuckets& buckets, Index from, Index columns, bool mirrored) {
    std::vector<std::ptrdiff_t> rows(static_cast<std::size_t>(columns));
    for (Index x = 0; x < columns; ++x) {
        const Index offset = std::clamp<Index>(from - x, 1 - buckets.keys(), buckets.queries() - 1);
        rows[static_cast<std::size_t>(x)] = buckets.row_of_offset(mirrored ? -offset : offset);
    }
    return rows;
}

}  // namespace

template <class Scalar>
OffsetTables<Scalar> offset_tables(const Tensor<Scalar>& k_r, const Tensor<Scalar>& q_r, const RelativeBuckets& buckets,
                                   P2cIndex index, ThreadPool& pool, OffsetTables<Scalar> spent,
                                   const SimdKernels<Scalar>& kernels) {
    check_table("k_r", k_r, buckets, q_r);
    check_table("q_r", q_r, buckets, k_r);
    LOCUS_CHECK(!k_r.empty() || !q_r.empty(), "offset_tables: neither k_r nor q_r, expected one table or both");
    const bool mirrored = index == P2cIndex::paper_ji;
    LOCUS_CHECK(!mirrored || buckets.queries() == buckets.keys(),
                "offset_tables: " + std::to_string(buckets.queries()) + " queries and " +
                    std::to_string(buckets.keys()) + " keys, expected the same number where p2c is asked as printed");
    const Tensor<Scalar>& one = k_r.empty() ? q_r : k_r;
    OffsetTables<Scalar> tables = std::move(spent);
    tables.queries = buckets.queries(), tables.keys = buckets.keys();
    tables.heads = one.extent(0), tables.width = one.extent(2);
    std::tie(tables.low, tables.high) = varying_offsets(buckets);
    if (mirrored) {  // offsets o and -o must lie on the same side of both ends
        tables.low = std::min(tables.low, -tables.high);
        tables.high = -tables.low;
    }
    // A block with an offset between the ends reaches less than two blocks beyond them, and none beyond its own rows.
    tables.first = std::min(tables.high + 2 * kBlock, padded(tables.queries) - 1);
    const Index last = std::max(tables.low - 2 * kBlock, 1 - padded(tables.keys));
    const Index columns = padded(tables.first - last + 1);
    tables.stride = spread_lines<Scalar>(columns);
    const auto size = static_cast<std::size_t>(tables.heads * tables.width * tables.stride);
    for (auto [laid_out, table] : {std::pair(&tables.k_r, &k_r), std::pair(&tables.q_r, &q_r)}) {
        if (table->empty()) laid_out->clear();  // comes back as zeros
        laid_out->resize(size);
    }
    tables.k_r_ends.assign(static_cast<std::size_t>(2 * tables.heads * tables.width), Scalar(0));
    tables.q_r_ends = tables.k_r_ends;

    const auto k_rows = rows_by_column(buckets, tables.first, columns, false),
               q_rows = rows_by_column(buckets, tables.first, columns, mirrored);
    const Index low_column = tables.first - tables.low, high_column = tables.first - tables.high;
    pool.parallel_for(2 * tables.heads, [&](Index piece, int) {
        const Index h = piece / 2, width = tables.width;
        const bool keys = piece % 2 == 0;
        const Tensor<Scalar>& table = keys ? k_r : q_r;
        if (table.empty()) return;
        Scalar* out = (keys ? tables.k_r : tables.q_r).data() + h * width * tables.stride;
        kernels.transpose_rows(table.matrix(h).data(), width, (keys ? k_rows : q_rows).data(), columns, width, out,
                               tables.stride);
        for (Index c = 0; c < width; ++c) {
            const Scalar low = out[c * tables.stride + low_column], high = out[c * tables.stride + high_column];
            Scalar* ends =
                keys ? tables.k_r_ends.data() + (h * width + c) * 2 : tables.q_r_ends.data() + 2 * h * width + c;
            ends[0] = low;
            ends[keys ? 1 : width] = high;
        }
    });
    return tables;
}

namespace {

/// One sample of a call: its sizes and where it lies in operands and buffers.
struct Sample {
    Index first_row = 0, queries = 0, keys = 0;
    Index columns = 0, stride = 0;          // keys, padded; from row to row of the scores
    Index k_at = 0, ends_at = 0, v_at = 0;  // of its first head
    Index v_size = 0;                       // of one head
};

/// One call of disentangled_blocks, cut into pieces.
template <class Scalar>
class Blocks {
public:
    Blocks(const DisentangledBlocks<Scalar>& task, BlockBuffers<Scalar>& buffers, const SimdKernels<Scalar>& kernels,
           int members)
        : task_(task), tables_(task.tables), buffers_(buffers), kernels_(kernels) {
        const Index panels = (tables_.width + kernels.columns - 1) / kernels.columns * kernels.columns;
        Sample next;
        Index widest = 0;
        for (Index b = 0; b < task.batch; ++b) {
            next.queries = task.lengths ? (*task.lengths)[static_cast<std::size_t>(b)] : tables_.queries;
            next.keys = task.lengths ? next.queries : tables_.keys;
            next.columns = padded(next.keys);
            next.stride = odd_lines<Scalar>(next.columns);
            next.v_size = panels * next.keys;
            samples_.push_back(next);
            for (Index h = 0; h < tables_.heads; ++h)
                for (Index i0 = 0; i0 < next.queries; i0 += kBlock) pieces_.push_back({b * tables_.heads + h, i0});
            next.first_row += next.queries;
            next.k_at += tables_.heads * tables_.width * next.columns / kBlock * key_stride();
            next.ends_at += tables_.heads * 2 * next.columns;
            next.v_at += tables_.heads * next.v_size;
            widest = std::max(widest, next.stride);
        }
        buffers.k.resize(static_cast<std::size_t>(next.k_at));
        buffers.p2c_ends.resize(static_cast<std::size_t>(next.ends_at));
        buffers.v.resize(static_cast<std::size_t>(next.v_at));
        buffers.members.resize(static_cast<std::size_t>(members));
        for (AlignedVector<Scalar>& own : buffers.members)
            own.resize(static_cast<std::size_t>(kBlock * (tables_.width + widest + 2)));
    }

    Index heads() const { return task_.batch * tables_.heads; }
    Index pieces() const { return static_cast<Index>(pieces_.size()); }

    /// The keys of one head by channel, what the far ends of the query table make of them, and its values in panels.
    void lay_out_keys(Index head) {
        const Sample& sample = sample_of(head);
        const Index h = head % tables_.heads, width = tables_.width, panel = kernels_.columns;
        for (Index j0 = 0; j0 < sample.columns; j0 += kBlock) {
            Scalar* keys = keys_of(head, j0);
            transpose_padded<Scalar>(rows_of(task_.k, head) + j0 * task_.k.row, task_.k.row,
                                     std::min(kBlock, sample.keys - j0), width, keys, key_stride(), kernels_);
            kernels_.multiply(tables_.q_r_ends.data() + 2 * h * width, width, keys, key_stride(), 2, kBlock, width,
                              p2c_ends_of(head) + j0, sample.columns, nullptr, 0);
        }
        const Scalar* values = rows_of(task_.v, head);
        for (Index c = 0; c < width; c += panel)
            for (Index j = 0; j < sample.keys; ++j)
                std::copy_n(values + j * task_.v.row + c, std::min(panel, width - c), values_of(head, c) + j * panel);
    }

    /// 64 queries of one head from their vectors to their context.
    void attend(Index piece, int member, Scalar* context, const HeadsAt<Scalar>& context_at, Tensor<Scalar>* probs) {
        const auto [head, i0] = pieces_[static_cast<std::size_t>(piece)];
        const Sample& sample = sample_of(head);
        const Index h = head % tables_.heads, width = tables_.width, stride = sample.stride;
        const Index rows = std::min(kBlock, sample.queries - i0);
        Scalar* q = buffers_.members[static_cast<std::size_t>(member)].data();
        Scalar *c2p_ends = q + kBlock * width, *scores = c2p_ends + 2 * kBlock;
        const Scalar* source = rows_of(task_.q, head) + i0 * task_.q.row;
        for (Index i = 0; i < kBlock; ++i)  // padded with the last query, whose values are there anyway
            std::copy_n(source + std::min(i, rows - 1) * task_.q.row, width, q + i * width);
        if (i0 >= tables_.high || i0 - sample.columns < tables_.low)  // some keys may lie beyond an end
            kernels_.multiply(q, width, tables_.k_r_ends.data() + 2 * h * width, 2, kBlock, 2, width, c2p_ends, 2,
                              nullptr, 0);
        for (Index j0 = 0; j0 < sample.columns; j0 += kBlock) score_tile(head, i0, j0, q, c2p_ends, scores + j0);

        Scalar inverse[kBlock];
        for (Index i = 0; i < rows; ++i) inverse[i] = unscaled_probabilities(head, i0 + i, scores + i * stride);
        Scalar* out = context + (rows_of(context_at, head) - context_at.data) + i0 * context_at.row;
        add_values(head, scores, rows, out, context_at.row);
        for (Index i = 0; i < rows; ++i) {
            for (Index c = 0; c < width; ++c) out[i * context_at.row + c] *= inverse[i];
            if (!probs) continue;
            Scalar* probs_i = probs->matrix(head).row(i0 + i).data();
            for (Index j = 0; j < sample.keys; ++j) probs_i[j] = scores[i * stride + j] * inverse[i];
        }
    }

private:
    const Sample& sample_of(Index head) const { return samples_[static_cast<std::size_t>(head / tables_.heads)]; }
    /// The first row of one sample and head of an operand.
    const Scalar* rows_of(const HeadsAt<Scalar>& operand, Index head) const {
        const Index b = head / tables_.heads, h = head % tables_.heads;
        if (!task_.lengths) return operand.at(b, h);
        return operand.data + sample_of(head).first_row * operand.row + h * operand.head;
    }
    /// Keys lie by channel, 64 beside each other: a tile is in a few pages of memory, however long the text is.
    static Index key_stride() { return odd_lines<Scalar>(kBlock); }
    Scalar* keys_of(Index head, Index j0) {
        const Sample& sample = sample_of(head);
        const Index tile = tables_.width * key_stride();
        return buffers_.k.data() + sample.k_at + (head % tables_.heads * sample.columns + j0) / kBlock * tile;
    }
    Scalar* p2c_ends_of(Index head) {
        const Sample& sample = sample_of(head);
        return buffers_.p2c_ends.data() + sample.ends_at + head % tables_.heads * 2 * sample.columns;
    }
    Scalar* values_of(Index head, Index channel) {
        const Sample& sample = sample_of(head);
        return buffers_.v.data() + sample.v_at + head % tables_.heads * sample.v_size + channel * sample.keys;
    }

    /// out [rows,d] = the exponentials [rows,Tk] times the values of a head.
    void add_values(Index head, const Scalar* exponentials, Index rows, Scalar* out, Index out_stride) {
        constexpr Index kDepth = 512;  // so many keys of 64 queries stay in the second cache for all channels
        const Sample& sample = sample_of(head);
        const Index panel = kernels_.columns;
        for (Index j = 0; j < sample.keys; j += kDepth)
            for (Index c = 0; c < tables_.width; c += panel)
                kernels_.multiply(exponentials + j, sample.stride, values_of(head, c) + j * panel, panel, rows,
                                  std::min(panel, tables_.width - c), std::min(kDepth, sample.keys - j), out + c,
                                  out_stride, j > 0 ? out + c : nullptr, out_stride);
    }

    /// Raw scores of 64 queries and 64 keys.  Where all their offsets lie beyond one end of the table, both position
    /// terms are one number per query and one per key.
    void score_tile(Index head, Index i0, Index j0, const Scalar* q, const Scalar* c2p_ends, Scalar* scores) {
        const Sample& sample = sample_of(head);
        const Index h = head % tables_.heads, width = tables_.width, stride = sample.stride;
        const Scalar* keys = keys_of(head, j0);
        const bool low = i0 + kBlock - 1 - j0 <= tables_.low, high = i0 - (j0 + kBlock - 1) >= tables_.high;
        if (!low && !high) {
            const Index origin = tables_.origin(h) + j0 - i0;
            kernels_.banded_scores(q, width, keys, key_stride(), tables_.q_r.data() + origin,
                                   tables_.k_r.data() + origin, tables_.stride, width, scores, stride);
            return;
        }
        kernels_.multiply(q, width, keys, key_stride(), kBlock, kBlock, width, scores, stride, nullptr, 0);
        const Scalar* p2c_end = p2c_ends_of(head) + (high ? sample.columns : 0) + j0;
        for (Index i = 0; i < kBlock; ++i)
            for (Index j = 0; j < kBlock; ++j) scores[i * stride + j] += c2p_ends[2 * i + (high ? 1 : 0)] + p2c_end[j];
    }

    /// Scores of one query to probabilities times a number, whose inverse is returned.
    Scalar unscaled_probabilities(Index head, Index i, Scalar* scores) {
        const Index keys = sample_of(head).keys;
        const Mask* mask = task_.masks ? &(*task_.masks)[static_cast<std::size_t>(head / tables_.heads)] : nullptr;
        const std::uint8_t* shown = mask && mask->size() > 0 ? mask->row(i).data() : nullptr;
        const Scalar sum = exponentials(scores, keys, shown, task_.divisor, kernels_);
        if (sum != 0) return Scalar(1) / sum;
        if (task_.masked_row == MaskedRow::zero) return 0;
        std::fill_n(scores, keys, Scalar(1));
        return Scalar(1) / Scalar(keys);
    }

    const DisentangledBlocks<Scalar>& task_;
    const OffsetTables<Scalar>& tables_;
    BlockBuffers<Scalar>& buffers_;
    const SimdKernels<Scalar>& kernels_;
    std::vector<Sample> samples_;
    std::vector<std::pair<Index, Index>> pieces_;  // head, first query
};

template <class Scalar>
void check_lengths(const DisentangledBlocks<Scalar>& task, const Tensor<Scalar>* probs) {
    const OffsetTables<Scalar>& tables = task.tables;
    LOCUS_CHECK(!probs, "disentangled_blocks: probabilities of samples of unequal lengths, expected none");
    LOCUS_CHECK(static_cast<Index>(task.lengths->size()) == task.batch && tables.queries == tables.keys,
                "disentangled_blocks: one length for each of " + std::to_string(task.batch) +
                    " samples expected, and tables of as many queries as keys");
    for (const Index length : *task.lengths)
        LOCUS_CHECK(length >= 1 && length <= tables.keys, "disentangled_blocks: a length of " + std::to_string(length) +
                                                              ", expected 1 to " + std::to_string(tables.keys));
}

}  // namespace

template <class Scalar>
void disentangled_blocks(const DisentangledBlocks<Scalar>& task, Scalar* context, const HeadsAt<Scalar>& context_at,
                         Tensor<Scalar>* probs, BlockBuffers<Scalar>& buffers, ThreadPool& pool,
                         const SimdKernels<Scalar>& kernels) {
    const Shape all = {task.batch, task.tables.heads, task.tables.queries, task.tables.keys};
    LOCUS_CHECK(
        !probs || probs->shape() == all,
        "disentangled_blocks: probs is " + to_string(probs ? probs->shape() : all) + ", expected " + to_string(all));
    LOCUS_CHECK(!task.masks || static_cast<Index>(task.masks->size()) == task.batch,
                "disentangled_blocks: one mask for each of " + std::to_string(task.batch) + " samples expected");
    if (task.lengths) check_lengths(task, probs);
    if (task.masks)
        for (std::size_t b = 0; b < task.masks->size(); ++b) {
            const Mask& mask = (*task.masks)[b];
            const Index queries = task.lengths ? (*task.lengths)[b] : all[2], keys = task.lengths ? queries : all[3];
            LOCUS_CHECK(mask.size() == 0 || (mask.rows() == queries && mask.cols() == keys),
                        "disentangled_blocks: a mask of [" + std::to_string(mask.rows()) + ", " +
                            std::to_string(mask.cols()) + "], expected [" + std::to_string(queries) + ", " +
                            std::to_string(keys) + "]");
        }
    Blocks<Scalar> blocks(task, buffers, kernels, pool.threads());
    pool.parallel_for(blocks.heads(), [&](Index head, int) { blocks.lay_out_keys(head); });
    pool.parallel_for(blocks.pieces(),
                      [&](Index piece, int member) { blocks.attend(piece, member, context, context_at, probs); });
}

template OffsetTables<float> offset_tables<float>(const Tensor<float>&, const Tensor<float>&, const RelativeBuckets&,
                                                  P2cIndex, ThreadPool&, OffsetTables<float>,
                                                  const SimdKernels<float>&);
template OffsetTables<double> offset_tables<double>(const Tensor<double>&, const Tensor<double>&,
                                                    const RelativeBuckets&, P2cIndex, ThreadPool&, OffsetTables<double>,
                                                    const SimdKernels<double>&);
template void disentangled_blocks<float>(const DisentangledBlocks<float>&, float*, const HeadsAt<float>&,
                                         Tensor<float>*, BlockBuffers<float>&, ThreadPool&, const SimdKernels<float>&);
template void disentangled_blocks<double>(const DisentangledBlocks<double>&, double*, const HeadsAt<double>&,
                                          Tensor<double>*, BlockBuffers<double>&, ThreadPool&,
                                          const SimdKernels<double>&);

namespace {

// By bucket: one head of one sentence.

/// rows [rows,width] transposed into by_channel [width, padded rows].
template <class Scalar>
void lay_out_by_channel(const Scalar* data, Index stride, Index rows, Index width, Matrix<Scalar>& by_channel) {
    by_channel.resize(width, padded(rows));
    transpose_padded<Scalar>(data, stride, rows, width, by_channel.data(), by_channel.cols());
}

/// c [rows,cols] = or (add) += a b, all with strides.
template <class Scalar>
void multiply(const Scalar* a, Index a_stride, const Scalar* b, Index b_stride, Index rows, Index cols, Index depth,
              Scalar* c, Index c_stride, bool add) {
    best_simd_kernels<Scalar>().multiply(a, a_stride, b, b_stride, rows, cols, depth, c, c_stride, add ? c : nullptr,
                                         c_stride);
}

/// x [T,d] against `count` rows by channel -> [T, padded count]; what stands after column `count` is never looked at.
template <class Scalar>
void against(HeadRows<const Scalar> x, const Matrix<Scalar>& by_channel, Index count, Matrix<Scalar>& out) {
    constexpr Index kRegister = 16;
    out.resize(x.rows, by_channel.cols());
    multiply(x.data, x.stride, by_channel.data(), by_channel.cols(), x.rows,
             (count + kRegister - 1) / kRegister * kRegister, x.width, out.data(), out.cols(), false);
}

/// Row by row: softmax of scores / divisor over the keys that are seen; `scores` has padded columns and is used up.
template <class Scalar>
void softmax_rows(Matrix<Scalar>& scores, Index keys, const Mask* mask, Scalar divisor, Matrix<Scalar>& probs) {
    probs.resize(scores.rows(), keys);
    for (Index i = 0; i < scores.rows(); ++i) {
        const Scalar sum = exponentials(&scores(i, 0), keys, mask ? mask->row(i).data() : nullptr, divisor,
                                        best_simd_kernels<Scalar>());
        if (sum == 0)
            probs.row(i).setZero();
        else
            probs.row(i) = scores.row(i).head(keys) / sum;
    }
}

/// One position term backwards: `scattered` [T,2k] holds the scores' gradient by table row.  Adds scattered * table to
/// d_x [T,d] and scattered^T x to d_table [2k,d].
template <class Scalar>
void term_backward(const Matrix<Scalar>& scattered, const Matrix<Scalar>& table, HeadRows<const Scalar> x,
                   HeadBuffers<Scalar>& buffers, HeadRows<Scalar> d_x, HeadRows<Scalar> d_table) {
    multiply(scattered.data(), scattered.cols(), table.data(), table.cols(), x.rows, x.width, table.rows(), d_x.data,
             d_x.stride, true);
    lay_out_by_channel(scattered.data(), scattered.cols(), scattered.rows(), scattered.cols(), buffers.by_channel);
    multiply<Scalar>(buffers.by_channel.data(), buffers.by_channel.cols(), x.data, x.stride, table.rows(), x.width,
                     x.rows, d_table.data, d_table.stride, true);
}

/// d_x = (or +=) scores^T y, scores [T,T] and y [T,d].
template <class Scalar>
void transposed_product(const Matrix<Scalar>& scores, HeadRows<const Scalar> y, HeadBuffers<Scalar>& buffers,
                        HeadRows<Scalar> d_x) {
    lay_out_by_channel(scores.data(), scores.cols(), scores.rows(), scores.cols(), buffers.by_channel);
    multiply<Scalar>(buffers.by_channel.data(), buffers.by_channel.cols(), y.data, y.stride, scores.cols(), y.width,
                     scores.rows(), d_x.data, d_x.stride, false);
}

}  // namespace

template <class Scalar>
HeadTables<Scalar> head_tables(const ConstView<Scalar>& k_r, const ConstView<Scalar>& q_r) {
    HeadTables<Scalar> tables{k_r, q_r, {}, {}};
    if (k_r.size() > 0) {
        const Matrix<Scalar> reversed = k_r.colwise().reverse();  // as add_slices_by_query reads it
        lay_out_by_channel(reversed.data(), reversed.cols(), reversed.rows(), reversed.cols(), tables.k_r_by_channel);
    }
    if (q_r.size() > 0)
        lay_out_by_channel(tables.q_r.data(), tables.q_r.cols(), q_r.rows(), q_r.cols(), tables.q_r_by_channel);
    return tables;
}

template <class Scalar>
void head_probabilities(HeadRows<const Scalar> q, HeadRows<const Scalar> k, const HeadTables<Scalar>& tables,
                        const RelativeBuckets& buckets, const Mask* mask, Scalar divisor, HeadBuffers<Scalar>& buffers,
                        Matrix<Scalar>& probs) {
    lay_out_by_channel(k.data, k.stride, k.rows, k.width, buffers.by_channel);
    against(q, buffers.by_channel, k.rows, buffers.scores);
    View<Scalar> scores = buffers.scores.leftCols(k.rows);
    if (tables.k_r.size() > 0) {
        against(q, tables.k_r_by_channel, tables.k_r.rows(), buffers.table);
        add_slices_by_query<Scalar>(buffers.table.leftCols(tables.k_r.rows()), buckets, scores);
    }
    if (tables.q_r.size() > 0) {
        against(k, tables.q_r_by_channel, tables.q_r.rows(), buffers.table);
        add_slices_by_key<Scalar>(buffers.table.leftCols(tables.q_r.rows()), buckets, scores);
    }
    softmax_rows(buffers.scores, k.rows, mask, divisor, probs);
}

template <class Scalar>
void head_context(const Matrix<Scalar>& probs, HeadRows<const Scalar> v, HeadRows<Scalar> context) {
    multiply<Scalar>(probs.data(), probs.cols(), v.data, v.stride, probs.rows(), v.width, v.rows, context.data,
                     context.stride, false);
}

template <class Scalar>
void head_backward(const HeadBackward<Scalar>& head, const HeadTables<Scalar>& tables, HeadBuffers<Scalar>& buffers,
                   HeadRows<Scalar> d_q, HeadRows<Scalar> d_k, HeadRows<Scalar> d_v, HeadRows<Scalar> d_k_r,
                   HeadRows<Scalar> d_q_r, Matrix<Scalar>& d_scores) {
    const Index length = head.q.rows;
    // dP = (dO V^T) Z, where the dropped probabilities are P Z; dS = P (dP - rowsum(P dP)) / divisor.
    lay_out_by_channel(head.v.data, head.v.stride, length, head.v.width, buffers.by_channel);
    against(head.d_context, buffers.by_channel, length, buffers.scores);
    d_scores.resize(length, length);
    const Matrix<Scalar>& after = head.dropped ? *head.dropped : head.probs;
    for (Index i = 0; i < length; ++i) {
        // P Z dO V^T without P: the sum of a row needs no division by it.
        const auto d_after = buffers.scores.row(i).head(length).array();
        const Scalar along = (after.row(i).array() * d_after).sum();
        d_scores.row(i) = (after.row(i).array() * d_after - head.probs.row(i).array() * along) / head.divisor;
    }
    transposed_product(after, head.d_context, buffers, d_v);
    multiply<Scalar>(d_scores.data(), length, head.k.data, head.k.stride, length, head.k.width, length, d_q.data,
                     d_q.stride, false);
    transposed_product(d_scores, head.q, buffers, d_k);
    if (tables.k_r.size() > 0)
        term_backward<Scalar>(scatter_slices_by_query<Scalar>(d_scores, head.buckets), tables.k_r, head.q, buffers, d_q,
                              d_k_r);
    if (tables.q_r.size() > 0)
        term_backward<Scalar>(scatter_slices_by_key<Scalar>(d_scores, head.buckets), tables.q_r, head.k, buffers, d_k,
                              d_q_r);
}

template HeadTables<float> head_tables<float>(const ConstView<float>&, const ConstView<float>&);
template void head_probabilities<float>(HeadRows<const float>, HeadRows<const float>, const HeadTables<float>&,
                                        const RelativeBuckets&, const Mask*, float, HeadBuffers<float>&,
                                        Matrix<float>&);
template void head_context<float>(const Matrix<float>&, HeadRows<const float>, HeadRows<float>);
template void head_backward<float>(const HeadBackward<float>&, const HeadTables<float>&, HeadBuffers<float>&,
                                   HeadRows<float>, HeadRows<float>, HeadRows<float>, HeadRows<float>, HeadRows<float>,
                                   Matrix<float>&);
template HeadTables<double> head_tables<double>(const ConstView<double>&, const ConstView<double>&);
template void head_probabilities<double>(HeadRows<const double>, HeadRows<const double>, const HeadTables<double>&,
                                         const RelativeBuckets&, const Mask*, double, HeadBuffers<double>&,
                                         Matrix<double>&);
template void head_context<double>(const Matrix<double>&, HeadRows<const double>, HeadRows<double>);
template void head_backward<double>(const HeadBackward<double>&, const HeadTables<double>&, HeadBuffers<double>&,
                                    HeadRows<double>, HeadRows<double>, HeadRows<double>, HeadRows<double>,
                                    HeadRows<double>, Matrix<double>&);

}  // namespace locus
