// The index arithmetic of the kernels, exhaustively for small sizes, against the plain meaning of each index.
#include <catch2/catch.hpp>

#include "core/positions/offset_bias.h"
#include "core/positions/position_rows.h"
#include "cuda/reference/indexing.h"

namespace locus::test::test_cuda_indexing {

using namespace locus::cuda;

TEST_CASE("cuda emulation: cells count a matrix row by row, beyond 2^31 too", "[emulation]") {
    for (int columns = 1; columns <= 70; ++columns)
        for (long long n = 0; n < 5LL * columns; ++n) {
            const CellIndex cell = cell_of(n, columns);
            REQUIRE((cell.j >= 0 && cell.j < columns));
            REQUIRE(row_start(cell.i, columns) + cell.j == n);
        }
    const int columns = 70001;
    for (const long long n : {5000000000LL, 5000000000LL + columns - 1}) {
        const CellIndex cell = cell_of(n, columns);
        CHECK(row_start(cell.i, columns) + cell.j == n);
    }
}

TEST_CASE("cuda emulation: a bias stands where its line has it", "[emulation]") {
    for (int queries = 1; queries <= 40; ++queries)
        for (int keys = 1; keys <= 40; ++keys) {
            const auto line =
                make_offset_bias<double>("test", 1, queries, keys, [](Index, Index n) { return double(n); });
            for (int i = 0; i < queries; ++i)
                for (int j = 0; j < keys; ++j) {
                    REQUIRE(bias_index(i, j, queries) >= 0);
                    REQUIRE(bias_index(i, j, queries) < line.values.cols());
                    REQUIRE(line.values(0, bias_index(i, j, queries)) == j - i);
                }
        }
}

TEST_CASE("cuda emulation: a pair reads the row of its own distance", "[emulation]") {
    for (int queries = 1; queries <= 24; ++queries)
        for (int memory = 0; memory <= 24; ++memory) {
            const int keys = memory + queries;
            const auto distances = transformer_xl_distances(keys, 0);
            const auto both = xlnet_distances(queries, keys, Direction::bidirectional, 0, false);
            for (int i = 0; i < queries; ++i)
                for (int j = 0; j < keys; ++j) {
                    const int column = shift_column(keys - 1, memory, i, j);
                    REQUIRE((column < keys) == (j <= i + memory));
                    if (column < keys) REQUIRE(distances.at(static_cast<std::size_t>(column)) == memory + i - j);
                    REQUIRE(both.at(static_cast<std::size_t>(shift_column(keys, memory, i, j))) == memory + i - j);
                }
        }
}

TEST_CASE("cuda emulation: rotation pairs every channel with one other and signs one of the two", "[emulation]") {
    for (int planes = 1; planes <= 70; ++planes)
        for (const bool interleaved : {true, false})
            for (int channel = 0; channel < 2 * planes; ++channel) {
                const RotaryChannel place = rotary_channel(channel, planes, interleaved);
                REQUIRE((place.partner >= 0 && place.partner < 2 * planes && place.partner != channel));
                const RotaryChannel other = rotary_channel(place.partner, planes, interleaved);
                REQUIRE(other.partner == channel);
                REQUIRE(other.plane == place.plane);
                REQUIRE(other.sign == -place.sign);
                const int first = interleaved ? 2 * place.plane : place.plane;
                REQUIRE(place.sign == (channel == first ? -1 : 1));
                REQUIRE(std::max(channel, place.partner) == (interleaved ? first + 1 : first + planes));
            }
}

TEST_CASE("cuda emulation: the taps of a convolution lie around their row, their weights in file order",
          "[emulation]") {
    for (int kernel = 1; kernel <= 9; ++kernel)
        for (int t = 0; t < 20; ++t) {
            REQUIRE(tap_row(t, 0, kernel) == t - (kernel - 1) / 2);
            REQUIRE(tap_row(t, kernel - 1, kernel) == t + kernel / 2);
        }
    long long next = 0;
    for (int out = 0; out < 6; ++out)
        for (int in = 0; in < 5; ++in)
            for (int tap = 0; tap < 3; ++tap) REQUIRE(tap_index(out, in, tap, 5, 3) == next++);
}

TEST_CASE("cuda emulation: the kernels read the rows that RelativeBuckets has, for every pair", "[emulation]") {
    for (int queries = 1; queries <= 64; ++queries)
        for (const int keys : {1, 2, 17, queries, 64}) {
            const RelativeBuckets buckets = RelativeBuckets::clamped(queries, keys, 5),
                                  line_ji = RelativeBuckets::clamped(keys, queries, 5);
            for (long long n = 0; n < static_cast<long long>(queries) * keys; ++n) {
                const cuda::CellIndex cell = cuda::cell_of(n, keys);
                REQUIRE(cell.i * keys + cell.j == n);
                REQUIRE((cell.i < queries && cell.j < keys));
                REQUIRE(buckets.rows()[static_cast<std::size_t>(cuda::bucket_index(cell.i, cell.j, keys))] ==
                        buckets.row(cell.i, cell.j));
                REQUIRE(line_ji.rows()[static_cast<std::size_t>(cuda::bucket_index(cell.j, cell.i, queries))] ==
                        line_ji.row(cell.j, cell.i));
            }
        }
}

}  // namespace locus::test::test_cuda_indexing
