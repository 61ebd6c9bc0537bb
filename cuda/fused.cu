// Host tensors onto the device and back, around the fused kernels.
#include "cuda/fused.h"

#include "cuda/device.h"
#include "cuda/fused_launch.h"
#include "cuda/short_float.h"

namespace locus::cuda {

namespace {

struct Sizes {
    Index batch, heads, queries, keys, width, table;
};

std::string shape_text(const Shape& shape) {
    std::string text = "[";
    for (std::size_t n = 0; n < shape.size(); ++n) text += (n ? "," : "") + std::to_string(shape[n]);
    return text + "]";
}

void check_shape(const char* what, const Tensor<float>& tensor, const Shape& expected) {
    LOCUS_CHECK(tensor.shape() == expected, std::string("fused attention: ") + what + " has the shape " +
                                                shape_text(tensor.shape()) + ", expected " + shape_text(expected));
}

void check_options(const FusedInput& input, const BucketLine& line) {
    LOCUS_CHECK(
        input.dropout >= 0 && input.dropout < 1,
        "fused attention: dropout is " + std::to_string(input.dropout) + ", expected 0 or more and less than 1");
    LOCUS_CHECK(std::is_sorted(line.rows().begin(), line.rows().end()) && 2 * line.span() <= 65536,
                "fused attention: the bucket line falls somewhere or has more than 65536 rows, and the kernels count "
                "on one that does not");
}

Sizes checked(const FusedInput& input, const BucketLine& line) {
    LOCUS_CHECK(input.q.rank() == 4 && input.k.rank() == 4,
                "fused attention: q and k need four axes, [B,H,T,d]; they have the shapes " +
                    shape_text(input.q.shape()) + " and " + shape_text(input.k.shape()));
    const bool packed = !input.lengths.empty();
    const Index heads = input.q.extent(1), width = input.q.extent(3);
    Sizes sizes{input.q.extent(0), heads, input.q.extent(2), input.k.extent(2), width, 2 * line.span()};
    check_shape("k", input.k, {sizes.batch, heads, sizes.keys, width});
    check_shape("v", input.v, input.k.shape());
    if (input.k_r.size() > 0) check_shape("k_r", input.k_r, {heads, sizes.table, width});
    if (input.q_r.size() > 0) check_shape("q_r", input.q_r, {heads, sizes.table, width});
    if (packed) {
        Index tokens = 0, longest = 0;
        for (const Index length : input.lengths) {
            LOCUS_CHECK(length >= 0, "fused attention: a sample has " + std::to_string(length) + " tokens");
            tokens += length;
            longest = std::max(longest, length);
        }
        LOCUS_CHECK(sizes.batch == 1 && sizes.queries == tokens && sizes.keys == tokens,
                    "fused attention: the lengths of the packed samples add up to " + std::to_string(tokens) +
                        ", but q has the shape " + shape_text(input.q.shape()));
        LOCUS_CHECK(input.visible_keys.size() == 0, "fused attention: packed samples have no hidden keys");
        sizes.batch = static_cast<Index>(input.lengths.size());
        sizes.queries = sizes.keys = longest;
    } else if (input.visible_keys.size() > 0) {
        LOCUS_CHECK(input.visible_keys.rows() == sizes.batch && input.visible_keys.cols() == sizes.keys,
                    "fused attention: visible_keys needs a row per sample and a column per key");
    }
    LOCUS_CHECK(line.queries() == sizes.queries && line.keys() == sizes.keys,
                "fused attention: the bucket line is of " + std::to_string(line.queries()) + " x " +
                    std::to_string(line.keys()) + " pairs, expected " + std::to_string(sizes.queries) + " x " +
                    std::to_string(sizes.keys));
    return sizes;
}

template <class Scalar>
DeviceBuffer<Scalar> upload(const Tensor<float>& tensor) {
    std::vector<Scalar> rounded(static_cast<std::size_t>(tensor.size()));
    for (std::size_t n = 0; n < rounded.size(); ++n) rounded[n] = from_float<Scalar>(tensor.data()[n]);
    return {rounded.data(), rounded.size()};
}

/// [samples or 1, H, tokens, d] as it lies.
template <class Any, class Buffer>
Rows<Any> rows_of(Buffer& buffer, const Tensor<float>& shaped) {
    const long long row = shaped.extent(3), head = shaped.extent(2) * row;
    return {buffer.data(), shaped.extent(0) > 1 ? shaped.extent(1) * head : 0, head, row};
}

template <class Scalar>
FusedOutput run(const FusedInput& input, const BucketLine& line) {
    const Sizes sizes = checked(input, line);
    const auto q = upload<Scalar>(input.q), k = upload<Scalar>(input.k), v = upload<Scalar>(input.v),
               k_r = upload<Scalar>(input.k_r), q_r = upload<Scalar>(input.q_r);
    const std::vector<std::uint16_t> rows(line.rows().begin(), line.rows().end());
    const DeviceBuffer<std::uint16_t> device_rows(rows.data(), rows.size());
    const DeviceBuffer<std::uint8_t> visible(input.visible_keys.data(),
                                             static_cast<std::size_t>(input.visible_keys.size()));
    std::vector<int> starts = {0};
    for (const Index length : input.lengths) starts.push_back(starts.back() + static_cast<int>(length));
    const DeviceBuffer<int> device_starts(starts.data(), starts.size());
    FusedOutput output{Tensor<float>(input.q.shape()), Tensor<float>({sizes.batch, sizes.heads, sizes.queries})};
    // Packed samples that are shorter than the longest leave places that nobody writes.
    std::fill(output.log_sum.data(), output.log_sum.data() + output.log_sum.size(), 0.0f);
    DeviceBuffer<Scalar> context(static_cast<std::size_t>(output.context.size()));
    DeviceBuffer<float> log_sum(output.log_sum.data(), static_cast<std::size_t>(output.log_sum.size()));

    ForwardArguments<Scalar> args;
    args.q = rows_of<const Scalar>(q, input.q);
    args.k = rows_of<const Scalar>(k, input.k);
    args.v = rows_of<const Scalar>(v, input.v);
    args.context = rows_of<Scalar>(context, input.q);
    args.log_sum = log_sum.data();
    if (input.k_r.size() > 0) args.k_r = k_r.data();
    if (input.q_r.size() > 0) args.q_r = q_r.data();
    args.line = {device_rows.data(), static_cast<int>(sizes.keys) - 1};
    args.table_rows = static_cast<int>(sizes.table);
    if (input.visible_keys.size() > 0) args.visible_keys = visible.data();
    if (!input.lengths.empty()) args.first_query = args.first_key = device_starts.data();
    args.batch = static_cast<int>(sizes.batch);
    args.heads = static_cast<int>(sizes.heads);
    args.queries = static_cast<int>(sizes.queries);
    args.keys = static_cast<int>(sizes.keys);
    args.scale = input.scale;
    args.dropout = input.dropout;
    args.seed = input.seed;
    launch_fused_forward(args, static_cast<int>(sizes.width));
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());

    std::vector<Scalar> found(static_cast<std::size_t>(output.context.size()));
    context.copy_to(found.data());
    for (std::size_t n = 0; n < found.size(); ++n) output.context.data()[n] = to_float(found[n]);
    log_sum.copy_to(output.log_sum.data());
    return output;
}

}  // namespace

FusedOutput fused_attention(const FusedInput& input, const BucketLine& line, FusedPrecision precision) {
    check_options(input, line);
    switch (precision) {
        case FusedPrecision::f16:
            return run<Half>(input, line);
        case FusedPrecision::bf16:
            return run<Bfloat16>(input, line);
        default:
            return run<float>(input, line);
    }
}

}  // namespace locus::cuda
