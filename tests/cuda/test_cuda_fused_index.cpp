// The index arithmetic of the fused kernels, for every pair of every size: no device is needed to find a mistake in it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/positions/relative_buckets.h"
#include "cuda/fused/arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/layout.h"

namespace locus::test::test_cuda_fused_index {

using namespace locus::cuda;

namespace {

struct Line {
    std::vector<std::uint16_t> rows;
    BucketRows line;
    explicit Line(const RelativeBuckets& buckets)
        : rows(buckets.rows().begin(), buckets.rows().end()),
          line(bucket_rows(rows, rows.data(), static_cast<int>(buckets.keys()) - 1)) {}
};

constexpr int kTiles[][2] = {{16, 16}, {32, 32}, {64, 64}, {128, 64}, {64, 32}};

/// True if every pair of the line is served once, by its own row, from inside the ranges its block and tile announce.
bool serves_every_pair(const RelativeBuckets& buckets, int tile_queries, int tile_keys) {
    const Line line(buckets);
    const int queries = static_cast<int>(buckets.queries()), keys = static_cast<int>(buckets.keys());
    std::vector<int> served(static_cast<std::size_t>(queries) * keys, 0);
    for (int i0 = 0; i0 < queries; i0 += tile_queries) {
        const RowRange block = line.line.reached_by(offsets_of_block(i0, tile_queries, queries, keys));
        if (block.count > tile_queries + keys - 1 || block.count > 2 * buckets.span()) return false;
        for (int j0 = 0; j0 < keys; j0 += tile_keys) {
            const OffsetRange offsets = offsets_of_tile(i0, j0, tile_queries, tile_keys, queries, keys);
            const RowRange tile = line.line.reached_by(offsets);
            if (tile.count > tile_queries + tile_keys - 1 ||
                tile.count > ForwardLayout::window_rows(tile_queries, tile_keys))
                return false;
            std::vector<int> rows(static_cast<std::size_t>(tile_queries + tile_keys - 1));
            for (int place = 0; place < tile_queries + tile_keys - 1; ++place)
                rows[static_cast<std::size_t>(place)] =
                    line.line.row(offset_at_place(place, i0, j0, tile_keys, offsets));
            for (int i = i0; i < std::min(i0 + tile_queries, queries); ++i)
                for (int j = j0; j < std::min(j0 + tile_keys, keys); ++j) {
                    const int place = place_in_tile(i - i0, j - j0, tile_keys);
                    const int row = rows.at(static_cast<std::size_t>(place)),
                              expected = static_cast<int>(buckets.row(i, j));
                    if (row != expected || row < tile.first || row >= tile.first + tile.count) return false;
                    if (row < block.first || row >= block.first + block.count) return false;
                    if (tile.count == 1 && expected != tile.first) return false;
                    ++served[static_cast<std::size_t>(i) * keys + j];
                }
        }
    }
    return std::all_of(served.begin(), served.end(), [](int times) { return times == 1; });
}

}  // namespace

TEST_CASE("emulation: every pair finds its table row, T 1 to 300, every span and tile", "[emulation][fused]") {
    for (const auto& [tile_queries, tile_keys] : kTiles)
        for (int length = 1; length <= 300; ++length)
            for (const Index span : {1, 2, 3, 4, 8, 16, 32, 64}) {
                INFO("T " << length << ", k " << span << ", tile " << tile_queries << " x " << tile_keys);
                if (!serves_every_pair(RelativeBuckets::clamped(length, length, span), tile_queries, tile_keys)) FAIL();
                if (span < 4) continue;
                const RelativeBuckets log =
                    RelativeBuckets::logarithmic(length, length, span, 4 * span, OffsetClamp::official);
                if (!serves_every_pair(log, tile_queries, tile_keys)) FAIL("log buckets");
            }
}

TEST_CASE("emulation: every pair finds its table row where queries and keys differ in number", "[emulation][fused]") {
    for (const auto& [tile_queries, tile_keys] : kTiles)
        for (const int queries : {1, 2, 15, 16, 17, 63, 64, 65, 129, 200})
            for (const int keys : {1, 3, 16, 31, 33, 64, 100, 127, 128, 129, 257}) {
                INFO(queries << " x " << keys << ", tile " << tile_queries << " x " << tile_keys);
                if (!serves_every_pair(RelativeBuckets::clamped(queries, keys, 24), tile_queries, tile_keys)) FAIL();
                if (!serves_every_pair(RelativeBuckets::logarithmic(queries, keys, 16, 64, OffsetClamp::hf),
                                       tile_queries, tile_keys))
                    FAIL("log buckets");
            }
}

TEST_CASE("emulation: a launch has a block for every tile, head and sample, however many samples there are",
          "[emulation][fused]") {
    for (const auto& [tokens, batch] : {std::pair{1, 70000}, {64, 65536}, {65, 3}, {300, 1}}) {
        const int tile = 64, heads = 3, tiles = tiles_of(tokens, tile);
        std::vector<int> served(static_cast<std::size_t>(tiles) * heads * batch, 0);
        for (unsigned y = 0; y < 3; ++y)
            for (unsigned x = 0; x < static_cast<unsigned>(tiles * batch); ++x) {
                const BlockPlace at = place_of_block(x, y, tokens, tile);
                REQUIRE((at.tile >= 0 && at.tile < tiles && at.head == static_cast<int>(y) && at.sample < batch));
                ++served[(static_cast<std::size_t>(at.sample) * heads + static_cast<std::size_t>(at.head)) * tiles +
                         static_cast<std::size_t>(at.tile)];
            }
        CHECK(std::count(served.begin(), served.end(), 1) == static_cast<std::ptrdiff_t>(served.size()));
    }
}

TEST_CASE("emulation: a line that leaves rows out is told from one that does not", "[emulation][fused]") {
    const auto skips = [](const RelativeBuckets& buckets) { return Line(buckets).line.skips; };
    for (const OffsetClamp clamp : {OffsetClamp::official, OffsetClamp::hf})
        for (const Index length : {1, 64, 300, 1024}) {
            INFO("T " << length);
            for (const auto& [buckets, most] : {std::pair{256, 512}, {32, 128}, {64, 256}, {16, 64}, {8, 128}})
                CHECK_FALSE(skips(RelativeBuckets::logarithmic(length, length, buckets, most, clamp)));
            // Rows are left out after offset buckets / 2, if the text is that long.
            for (const Index buckets : {16, 128, 256})
                CHECK(skips(RelativeBuckets::logarithmic(length, length, buckets, buckets, clamp)) ==
                      (length > buckets / 2 + 1));
        }
    CHECK_FALSE(skips(RelativeBuckets::clamped(300, 300, 512)));

    // Of 64 x 64 pairs beside the break, more rows are reached than there are offsets.
    const Line line(RelativeBuckets::logarithmic(256, 256, 256, 256, OffsetClamp::official));
    const OffsetRange tile = offsets_of_tile(192, 64, 64, 64, 256, 256);
    CHECK(line.line.reached_by(tile).count > tile.last - tile.first + 1);
}

TEST_CASE("emulation: rows that do not start at multiples of 16 bytes, and lines that leave rows out, are told apart",
          "[emulation][fused]") {
    alignas(16) static Half numbers[64];
    ForwardArguments<Half> good;
    CHECK(good.buckets.skips);  // unless somebody looked
    good.buckets.skips = false;
    good.q = good.k = good.v = {numbers, 640, 64, 192};
    good.context = {numbers, 640, 64, 64};
    good.k_r = numbers;  // q_r is off: nothing there to be read
    CHECK(suits_tensor_cores(good));
    BackwardArguments<Half> backward;
    backward.forward = good;
    backward.d_context = good.q;
    backward.d_q = backward.d_k = backward.d_v = good.context;
    CHECK(suits_tensor_cores(backward));
    const auto is_seen = [&](auto change) {
        ForwardArguments<Half> bad = good;
        change(bad);
        BackwardArguments<Half> around = backward;
        around.forward = bad;
        return !suits_tensor_cores(bad) && !suits_tensor_cores(around);
    };
    CHECK(is_seen([](auto& args) { args.q.data += 1; }));
    CHECK(is_seen([](auto& args) { args.k.row = 100; }));
    CHECK(is_seen([](auto& args) { args.v.head = 20; }));
    CHECK(is_seen([](auto& args) { args.context.sample = 641; }));
    CHECK(is_seen([](auto& args) { args.k_r += 4; }));
    CHECK(is_seen([](auto& args) { args.buckets.skips = true; }));
    backward.d_v.row = 4;
    CHECK_FALSE(suits_tensor_cores(backward));
}

TEST_CASE("emulation: a tile far from the diagonal reaches one row, and only there numbers replace tables",
          "[emulation][fused]") {
    // At 8192 tokens 86 of 100 tiles of 128 x 128 with deberta-v3's buckets are such: the counted share of the design.
    const Line line(RelativeBuckets::logarithmic(8192, 8192, 256, 512, OffsetClamp::official));
    int one = 0, all = 0;
    for (int i0 = 0; i0 < 8192; i0 += 128)
        for (int j0 = 0; j0 < 8192; j0 += 128, ++all)
            one += line.line.reached_by(offsets_of_tile(i0, j0, 128, 128, 8192, 8192)).count == 1;
    CHECK(std::lround(100.0 * one / all) == 86);
}

TEST_CASE("emulation: lanes that read tables together read different banks", "[emulation][fused]") {
    // Where the line rises by one per offset, as it does around the diagonal.
    const auto worst = [](auto place) {
        std::size_t most = 0;
        for (int shift = 0; shift < 2; ++shift) {
            std::vector<std::set<int>> words(32);
            for (int lane = 0; lane < 32; ++lane) {
                const int word = (place(lane / 4, lane % 4 * 2) + shift) / 2;
                words[static_cast<std::size_t>(word % 32)].insert(word);
            }
            for (const auto& bank : words) most = std::max(most, bank.size());
        }
        return most;
    };
    for (int rows = 1; rows <= 1100; ++rows) {
        INFO(rows << " rows");
        const int of_queries = row_table_stride(rows), of_keys = key_table_stride(rows);
        REQUIRE(of_queries >= rows);
        REQUIRE(of_keys >= rows);
        CHECK(worst([&](int g, int t) { return g * of_queries + g - t + 64; }) == 1);
        CHECK(worst([&](int g, int t) { return t * of_keys + g - t + 64; }) == 1);
    }
}

}  // namespace locus::test::test_cuda_fused_index
