// One thread a cell, one loop over the channels: as readable as the CPU, and summed in the same order, with product and
// sum rounded one by one.  The fast kernels are measured against these.
#include "cuda/disentangled.h"

#include "cuda/device.h"
#include "cuda/indexing.h"

namespace locus::cuda {

namespace {

constexpr int kThreads = 256;

unsigned blocks_for(long long cells) { return static_cast<unsigned>((cells + kThreads - 1) / kThreads); }

template <class Scalar>
__device__ Scalar dot(const Scalar* a, const Scalar* b, int channels) {
    Scalar sum = 0;
    for (int c = 0; c < channels; ++c) sum += a[c] * b[c];
    return sum;
}

template <class Scalar>
__global__ void content_to_content_kernel(const Scalar* q, const Scalar* k, int queries, int keys, int channels,
                                          Scalar* scores) {
    const long long n = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (n >= static_cast<long long>(queries) * keys) return;
    const CellIndex cell = cell_of(n, keys);
    scores[n] = dot(q + cell.i * channels, k + cell.j * channels, channels);
}

/// rows: the bucket line, offset -(keys - 1) first.
template <class Scalar>
__global__ void content_to_position_kernel(const Scalar* q, const Scalar* k_r, const int* rows, int queries, int keys,
                                           int channels, Scalar* scores) {
    const long long n = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (n >= static_cast<long long>(queries) * keys) return;
    const CellIndex cell = cell_of(n, keys);
    const int row = rows[line_place(cell.i, cell.j, keys)];
    scores[n] = dot(q + cell.i * channels, k_r + row * channels, channels);
}

/// by_key: the line is that of the pairs (j, i), as the paper prints it, and has one place per key and query turned.
template <class Scalar>
__global__ void position_to_content_kernel(const Scalar* k, const Scalar* q_r, const int* rows, int queries, int keys,
                                           int channels, bool by_key, Scalar* scores) {
    const long long n = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (n >= static_cast<long long>(queries) * keys) return;
    const CellIndex cell = cell_of(n, keys);
    const int row = by_key ? rows[line_place(cell.j, cell.i, queries)] : rows[line_place(cell.i, cell.j, keys)];
    scores[n] = dot(k + cell.j * channels, q_r + row * channels, channels);
}

/// One thread a row; hidden keys are told by mask[i * keys + j] == 0, or mask == nullptr: none is.
template <class Scalar>
__global__ void masked_softmax_kernel(const Scalar* scores, const unsigned char* mask, int queries, int keys,
                                      bool uniform, Scalar* probs) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= queries) return;
    const long long first = static_cast<long long>(i) * keys;
    bool any = false;
    Scalar maximum = 0;
    for (int j = 0; j < keys; ++j) {
        if (mask && !mask[first + j]) continue;
        // A NaN score becomes the maximum and shows in the whole row, as on the CPU.
        if (!any || !(scores[first + j] <= maximum)) maximum = scores[first + j];
        any = true;
    }
    Scalar denominator = 0;
    for (int j = 0; j < keys; ++j) {
        const bool visible = !mask || mask[first + j];
        probs[first + j] = visible ? exp(scores[first + j] - maximum) : Scalar(0);
        denominator += probs[first + j];
    }
    for (int j = 0; j < keys; ++j)
        probs[first + j] = any ? probs[first + j] / denominator : uniform ? Scalar(1) / Scalar(keys) : Scalar(0);
}

template <class Scalar>
__global__ void context_kernel(const Scalar* probs, const Scalar* v, int queries, int keys, int channels,
                               Scalar* context) {
    const long long n = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (n >= static_cast<long long>(queries) * channels) return;
    const CellIndex cell = cell_of(n, channels);
    Scalar sum = 0;
    for (int j = 0; j < keys; ++j)
        sum += probs[static_cast<long long>(cell.i) * keys + j] * v[static_cast<long long>(j) * channels + cell.j];
    context[n] = sum;
}

template <class Scalar>
DeviceBuffer<Scalar> upload(const Matrix<Scalar>& matrix) {
    return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

DeviceBuffer<int> upload(const BucketLine& line) {
    const std::vector<int> rows(line.rows().begin(), line.rows().end());
    return {rows.data(), rows.size()};
}

/// Waits for the kernel, checks it, and brings the result back.
template <class Scalar>
Matrix<Scalar> download(const DeviceBuffer<Scalar>& buffer, Index rows, Index cols) {
    LOCUS_CUDA_CHECK(cudaGetLastError());
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());
    Matrix<Scalar> matrix(rows, cols);
    buffer.copy_to(matrix.data());
    return matrix;
}

void check_width(const char* who, Index a, Index b) {
    LOCUS_CHECK(a == b, std::string("cuda::") + who + ": widths " + std::to_string(a) + " and " + std::to_string(b) +
                            " differ");
}

void check_rows(const char* who, Index found, Index expected) {
    LOCUS_CHECK(found == expected, std::string("cuda::") + who + ": " + std::to_string(found) + " rows, expected " +
                                       std::to_string(expected));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> content_to_content(const Matrix<Scalar>& q, const Matrix<Scalar>& k) {
    check_width("content_to_content", q.cols(), k.cols());
    const auto device_q = upload(q), device_k = upload(k);
    DeviceBuffer<Scalar> scores(static_cast<std::size_t>(q.rows() * k.rows()));
    content_to_content_kernel<<<blocks_for(q.rows() * k.rows()), kThreads>>>(
        device_q.data(), device_k.data(), static_cast<int>(q.rows()), static_cast<int>(k.rows()),
        static_cast<int>(q.cols()), scores.data());
    return download(scores, q.rows(), k.rows());
}

template <class Scalar>
Matrix<Scalar> content_to_position(const Matrix<Scalar>& q, const Matrix<Scalar>& k_r, const BucketLine& line) {
    check_width("content_to_position", q.cols(), k_r.cols());
    check_rows("content_to_position", q.rows(), line.queries());
    check_rows("content_to_position", k_r.rows(), 2 * line.span());
    const auto device_q = upload(q), device_k_r = upload(k_r);
    const auto rows = upload(line);
    DeviceBuffer<Scalar> scores(static_cast<std::size_t>(line.queries() * line.keys()));
    content_to_position_kernel<<<blocks_for(line.queries() * line.keys()), kThreads>>>(
        device_q.data(), device_k_r.data(), rows.data(), static_cast<int>(line.queries()),
        static_cast<int>(line.keys()), static_cast<int>(q.cols()), scores.data());
    return download(scores, line.queries(), line.keys());
}

template <class Scalar>
Matrix<Scalar> position_to_content(const Matrix<Scalar>& k, const Matrix<Scalar>& q_r, const BucketLine& line,
                                   P2cIndex index) {
    const bool by_key = index == P2cIndex::paper_ji;
    const Index queries = by_key ? line.keys() : line.queries(), keys = by_key ? line.queries() : line.keys();
    check_width("position_to_content", k.cols(), q_r.cols());
    check_rows("position_to_content", k.rows(), keys);
    check_rows("position_to_content", q_r.rows(), 2 * line.span());
    const auto device_k = upload(k), device_q_r = upload(q_r);
    const auto rows = upload(line);
    DeviceBuffer<Scalar> scores(static_cast<std::size_t>(queries * keys));
    position_to_content_kernel<<<blocks_for(queries * keys), kThreads>>>(
        device_k.data(), device_q_r.data(), rows.data(), static_cast<int>(queries), static_cast<int>(keys),
        static_cast<int>(k.cols()), by_key, scores.data());
    return download(scores, queries, keys);
}

template <class Scalar>
Matrix<Scalar> masked_softmax(const Matrix<Scalar>& scores, const Mask& mask, MaskedRow masked_row) {
    LOCUS_CHECK(mask.size() == 0 || (mask.rows() == scores.rows() && mask.cols() == scores.cols()),
                "cuda::masked_softmax: the mask's shape is not that of the scores");
    const auto device_scores = upload(scores);
    const DeviceBuffer<unsigned char> device_mask(mask.data(), static_cast<std::size_t>(mask.size()));
    DeviceBuffer<Scalar> probs(static_cast<std::size_t>(scores.size()));
    masked_softmax_kernel<<<blocks_for(scores.rows()), kThreads>>>(
        device_scores.data(), mask.size() ? device_mask.data() : nullptr, static_cast<int>(scores.rows()),
        static_cast<int>(scores.cols()), masked_row == MaskedRow::uniform, probs.data());
    return download(probs, scores.rows(), scores.cols());
}

template <class Scalar>
Matrix<Scalar> context(const Matrix<Scalar>& probs, const Matrix<Scalar>& v) {
    check_rows("context", v.rows(), probs.cols());
    const auto device_probs = upload(probs), device_v = upload(v);
    DeviceBuffer<Scalar> result(static_cast<std::size_t>(probs.rows() * v.cols()));
    context_kernel<<<blocks_for(probs.rows() * v.cols()), kThreads>>>(
        device_probs.data(), device_v.data(), static_cast<int>(probs.rows()), static_cast<int>(probs.cols()),
        static_cast<int>(v.cols()), result.data());
    return download(result, probs.rows(), v.cols());
}

template Matrix<float> content_to_content<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<float> content_to_position<float>(const Matrix<float>&, const Matrix<float>&, const BucketLine&);
template Matrix<float> position_to_content<float>(const Matrix<float>&, const Matrix<float>&, const BucketLine&,
                                                  P2cIndex);
template Matrix<float> masked_softmax<float>(const Matrix<float>&, const Mask&, MaskedRow);
template Matrix<float> context<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<double> content_to_content<double>(const Matrix<double>&, const Matrix<double>&);
template Matrix<double> content_to_position<double>(const Matrix<double>&, const Matrix<double>&, const BucketLine&);
template Matrix<double> position_to_content<double>(const Matrix<double>&, const Matrix<double>&, const BucketLine&,
                                                    P2cIndex);
template Matrix<double> masked_softmax<double>(const Matrix<double>&, const Mask&, MaskedRow);
template Matrix<double> context<double>(const Matrix<double>&, const Matrix<double>&);

}  // namespace locus::cuda
