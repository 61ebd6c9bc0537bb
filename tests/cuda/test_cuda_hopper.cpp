// The Hopper forward kernel: its very text, run on emulated warpgroups and an emulated copy engine, against the
// reference in float64; and the bits by which both are told where operands lie.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "cuda/hopper/hopper_forward.h"
#include "tests/cuda/emulated_warpgroup.h"
#include "tests/cuda/forward_problem.h"

namespace locus::test::test_cuda_hopper {

using cuda::Bfloat16;
using cuda::Half;

namespace {

/// Every block of the kernel, one after the other.   most_rows: of the table that a block keeps at a time.
template <class Scalar, int width, int tile_queries, int most_rows = cuda::HopperLayout::kMostRows>
void run_hopper(const cuda::ForwardArguments<Scalar>& args) {
    using Block = EmulatedHopper<cuda::HopperLane<width>>;
    using Kernel = cuda::HopperForward<Scalar, width, tile_queries, Block>;
    REQUIRE((cuda::suits_tensor_cores(args) && cuda::can_be_mapped(args, width)));
    const auto maps = cuda::maps_of(args, width);
    const int capacity = std::min(most_rows, cuda::HopperLayout::capacity(args.table_rows, tile_queries, args.keys));
    const int bytes = cuda::HopperLayout::of(tile_queries, width, capacity, args.k_r, args.q_r).bytes;
    for (int b = 0; b < args.batch; ++b)
        for (int h = 0; h < args.heads; ++h)
            for (int n = 0; n * tile_queries < args.queries; ++n) {
                Block block(Kernel::kThreads, bytes);
                Kernel(block, args, maps, capacity, n, h, b).run();
                block.check_end();
            }
}

template <class Scalar, int width, int tile_queries, int most_rows = cuda::HopperLayout::kMostRows>
void check_case(const ForwardCase& one) {
    INFO("tile of " << tile_queries << ", at most " << most_rows << " rows");
    check_forward<Scalar>(one, width, RoundedScores::tables_and_queries,
                          run_hopper<Scalar, width, tile_queries, most_rows>);
}

}  // namespace

TEST_CASE("emulation: the Hopper forward kernel is disentangled attention", "[emulation][hopper]") {
    for (const Index length : {1, 7, 31, 33, 63, 64, 65, 127, 128, 129, 300})
        for (const bool logarithmic : {false, true}) {
            check_case<Half, 64, 128>({length, length, 16, logarithmic});
            if (length <= 129) check_case<Half, 64, 64>({length, length, 16, logarithmic});
        }
    check_case<Half, 64, 128>({513, 513, 64, true});
    for (const Index length : {33, 129}) check_case<Bfloat16, 64, 128>({length, length, 16, true});
}

TEST_CASE("emulation: Hopper forward with other numbers of queries and keys", "[emulation][hopper]") {
    check_case<Half, 64, 64>({70, 200, 100});
    check_case<Half, 64, 128>({129, 300, 512});  // a row table of more boxes than the window has slots
    check_case<Bfloat16, 64, 128>({200, 77, 32, true});
    check_case<Half, 64, 64>({1, 129, 4});
    check_case<Half, 64, 128>({300, 1, 4});
    check_case<Half, 64, 64>({65, 513, 1});  // one row in most tiles
    check_case<Bfloat16, 64, 128>({400, 700, 3});
    check_case<Bfloat16, 64, 128>({400, 300, 8, true, true, true, true});  // hidden keys far from the diagonal
    check_case<Bfloat16, 64, 64>({200, 321, 2, false, false});
    check_case<Bfloat16, 64, 64>({321, 200, 2, false, true, false});
}

TEST_CASE("emulation: Hopper forward with more table rows than a block keeps at a time", "[emulation][hopper]") {
    check_case<Half, 64, 128>({129, 500, 512});               // those of deberta-v1
    for (const Index span : {40, 100}) {                      // far tiles before and behind, behind alone
        check_case<Half, 64, 128, 191>({330, 330, span});     // one tile at a time
        check_case<Bfloat16, 64, 64, 255>({130, 450, span});  // three
    }
    check_case<Half, 64, 128, 256>({130, 400, 150, false, true, false});
    check_case<Half, 64, 128, 256>({130, 400, 150, false, false, true});
    check_case<Half, 64, 64, 128>({100, 200, 90, false, true, true, true, 0.25f});
    ForwardCase packed{400, 400, 180};
    packed.lengths = {64, 0, 400, 1, 257};
    check_case<Half, 64, 128, 192>(packed);
}

TEST_CASE("emulation: Hopper forward without a term, with hidden keys, with dropout", "[emulation][hopper]") {
    check_case<Half, 64, 128>({140, 140, 16, true, false, true});
    check_case<Half, 64, 128>({140, 140, 16, true, true, false});
    check_case<Half, 64, 128>({140, 140, 16, true, false, false});
    check_case<Half, 64, 128>({150, 150, 16, true, true, true, true});
    check_case<Half, 64, 64>({150, 90, 16, false, true, true, true});
    check_case<Half, 64, 128>({100, 130, 16, true, true, true, true, 0.25f});
    check_case<Half, 64, 128>({100, 130, 16, true, false, false, true, 0.25f});
}

TEST_CASE("emulation: Hopper forward of scores whose powers no float holds, near the diagonal and far from it",
          "[emulation][hopper]") {
    for (const ForwardCase& one : {ForwardCase{65, 513, 1}, ForwardCase{150, 150, 64}})
        for (const float scale : {16.0f, 4096.0f}) {  // the latter's position scores are beyond halves
            ForwardProblem<Half> made(one, 64);
            made.args.scale = scale;
            run_hopper<Half, 64, 64>(made.args);
            const double largest = max_abs(made.v.wide);
            int beyond = 0;
            for (Index n = 0; n < made.batch * made.kHeads * one.queries * 64; ++n) {
                const double found = cuda::to_float(made.context.data()[n]);
                beyond += !(std::abs(found) <= largest * (1 + 0x1p-10));
            }
            CHECK(beyond == 0);
        }
}

TEST_CASE("emulation: Hopper forward of packed samples, none of which shows in another", "[emulation][hopper]") {
    ForwardCase one{130, 130, 16, true};
    one.lengths = {5, 0, 64, 130, 70, 1};
    one.lost = 2;
    check_case<Half, 64, 64>(one);
    check_case<Bfloat16, 64, 128>(one);
    one.lost = 4;
    one.heads_inside = true;
    check_case<Half, 64, 128>(one);
    ForwardCase padded{100, 100, 16};
    padded.heads_inside = true;
    check_case<Half, 64, 128>(padded);
}

TEST_CASE("emulation: chunks are exchanged within 1024 bytes, and what is read together lies in all banks",
          "[emulation][hopper]") {
    std::set<int> places;
    for (int place = 0; place < 4 * cuda::kPatternBytes; ++place) {
        const int to = cuda::swizzled(place);
        CHECK(to / 128 == place / 128);  // a chunk stays in its row
        CHECK(to % 16 == place % 16);
        CHECK(cuda::swizzled(to) == place);
        places.insert(to);
    }
    CHECK(places.size() == 4 * cuda::kPatternBytes);
    for (int channel = 0; channel < 64; channel += 8) {
        std::set<int> banks;
        for (int row = 8; row < 16; ++row) banks.insert(cuda::place_in_panel(row, channel) % 128 / 16);
        CHECK(banks.size() == 8);
    }
    CHECK(cuda::place_in_panel(0, 0) == 0);
    CHECK(cuda::place_in_panel(1, 0) == 128 + 16);
    CHECK(cuda::place_in_panel(9, 10) == 9 * 128 + 4);  // chunk 1 of a row that is 1 modulo 8
    CHECK(cuda::place_in_panel(7, 63) == 7 * 128 + 14);
}

TEST_CASE("emulation: what a warp reads of the position scores of neighbouring places lies in different banks",
          "[emulation][hopper]") {
    const auto most_words_of_a_bank = [](auto place) {
        std::set<int> words[32];
        for (int lane = 0; lane < 32; ++lane) {
            const int word = place(lane / 4, lane % 4) / 2;
            words[word % 32].insert(word);
        }
        std::size_t most = 0;
        for (const std::set<int>& bank : words) most = std::max(most, bank.size());
        return most;
    };
    for (const int rows : {7, 64, 191, 512, 639, 1024})
        for (const int shift : {0, 1}) {
            const int stride = cuda::HopperLayout::row_stride(rows), keys = cuda::HopperLayout::kKeyStride;
            CHECK((stride >= rows && stride % 2 == 0 && keys % 2 == 0));
            CHECK(most_words_of_a_bank([&](int g, int t) { return 100 + shift + g * (stride + 1) - 2 * t; }) <= 2);
            CHECK(most_words_of_a_bank([&](int g, int t) { return shift + 2 * t * (keys - 1) + g; }) == 1);
        }
}

TEST_CASE("emulation: descriptors have their fields where the manual has them", "[emulation][hopper]") {
    const std::uint64_t rows = cuda::rows_descriptor(0x2c400);
    CHECK((rows & 0x3fff) == 0x2c40);           // start / 16
    CHECK((rows >> 16 & 0x3fff) == 1);          // leading, not used
    CHECK((rows >> 32 & 0x3fff) == 1024 / 16);  // 8 rows further
    CHECK((rows >> 49 & 7) == 0);               // base offset
    CHECK(rows >> 62 == 1);                     // 128-byte swizzle
    CHECK((rows & 0x3ffffffffffffff & ~(0x3fffull | 0x3fffull << 16 | 0x3fffull << 32)) == 0);
    CHECK((cuda::channels_descriptor(0x2c400) >> 32 & 0x3fff) == 1024 / 16);
    CHECK(cuda::advanced(rows, cuda::kStepOfChannels) == cuda::rows_descriptor(0x2c400 + 32));
    CHECK(cuda::advanced(rows, 8192) == cuda::rows_descriptor(0x2c400 + 8192));
    CHECK(cuda::kStepOfRows == 16 * 128);
}

TEST_CASE("emulation: every part of the Hopper layout starts where it must and none lies in another",
          "[emulation][hopper]") {
    using cuda::HopperLayout;
    for (const int queries : {64, 128})
        for (const int width : {64, 128})
            for (const int rows : {1, 7, 64, 191, 512, 639, 1024})
                for (const bool c2p : {false, true})
                    for (const bool p2c : {false, true}) {
                        const HopperLayout at = HopperLayout::of(queries, width, rows, c2p, p2c);
                        const int box = 64 * 2 * width, boxes = queries / 64 + 1;
                        CHECK(HopperLayout::window_boxes(queries) == boxes);
                        CHECK((at.window % 1024 == 0 && at.keys % 1024 == 0 && at.values % 1024 == 0));
                        CHECK(at.keys - at.window == boxes * box);
                        CHECK(at.values - at.keys == 2 * box);
                        CHECK(at.row_table - at.values == 2 * box);
                        CHECK(at.key_table - at.row_table >= (c2p ? 2 * queries * rows : 0));
                        CHECK(at.places - at.key_table >= (p2c ? queries / 64 * 2 * 64 * 134 : 0));
                        CHECK(at.scratch - at.places >= queries / 64 * 2 * (queries + 63));
                        CHECK(at.barriers - at.scratch == 8 * queries);
                        CHECK(at.barriers % 8 == 0);
                        CHECK(at.bytes - at.barriers == 16 * (boxes + 4));
                    }
    CHECK(HopperLayout::of(128, 64, HopperLayout::kMostRows, true, true).bytes <= 227 * 1024);
    CHECK(HopperLayout::of(64, 64, HopperLayout::kMostRows, true, true).bytes <= 227 * 1024);
    CHECK(HopperLayout::of(64, 128, 512, true, true).bytes <= 227 * 1024);
}

TEST_CASE("emulation: what the copy engine cannot read is left to the other kernels", "[emulation][hopper]") {
    ForwardProblem<Half> made({40, 40, 8}, 64);
    const auto served = [&](auto change) {
        auto args = made.args;
        change(args);
        return cuda::can_be_mapped(args, 64);
    };
    CHECK(served([](auto&) {}));
    CHECK_FALSE(served([](auto& args) { args.q.row = 68; }));    // 136 bytes
    CHECK_FALSE(served([](auto& args) { args.k.data += 4; }));   // 8 bytes
    CHECK_FALSE(served([](auto& args) { args.v.sample = 0; }));  // one sample for all
    CHECK_FALSE(served([](auto& args) { args.keys = 0; }));
    CHECK_FALSE(served([](auto& args) { args.q.head = 1LL << 40; }));
    CHECK(served([](auto& args) { args.k_r = nullptr; }));
    const int starts[] = {0, 40, 80};
    CHECK_FALSE(served([&](auto& args) { args.first_key = args.first_query = starts; }));  // how many tokens?
    CHECK(served([&](auto& args) {
        args.first_key = args.first_query = starts;
        args.all_keys = args.all_queries = 80;
    }));
    const cuda::RowsMap map = cuda::maps_of(made.args, 64).k;
    CHECK((map.channels == 64 && map.rows == 40 && map.heads == 3 && map.samples == 2));
    CHECK((map.row_bytes == 128 && map.head_bytes == 40 * 128 && map.sample_bytes == 3 * 40 * 128));
}

}  // namespace locus::test::test_cuda_hopper
