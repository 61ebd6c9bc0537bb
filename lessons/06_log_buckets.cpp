// Lesson 06: Log buckets
//
// Question: How can a table of 256 rows a side serve distances up to 511, and what happens beyond?
// Before: 05. Minutes: 10. Page: positions.
// Show: positions.length=64&positions.farthest=60&positions.cell=60,5&positions.locked=yes
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/models/dialect.h"
#include "core/positions/relative_buckets.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

constexpr Index kBuckets = 256, kPositions = 512;  // position_buckets and max_position of DeBERTa version 2 and 3

/// The formula by hand, for offset i − j, and the two places where ports slip: `last` is M − 1, `round` is std::ceil.
Index by_hand(Index offset, double last, double (*round)(double)) {
    const double middle = kBuckets / 2;
    const auto distance = static_cast<double>(std::abs(offset));
    if (distance <= middle) return offset;
    const double steps = std::log(distance / middle) / std::log(last / middle) * (middle - 1);
    const auto bucket = static_cast<Index>(round(steps) + middle);
    return offset < 0 ? -bucket : bucket;
}

Index bucket(Index offset) { return log_bucket(offset, kBuckets, kPositions, OffsetClamp::official); }

double ceiling(double value) { return std::ceil(value); }
double floor_of(double value) { return std::floor(value); }

/// Rows of all pairs of so many words.
RelativeBuckets buckets_of(Index words, Dialect dialect) {
    const OffsetClamp clamp = DebertaOptions::of(dialect).offset_clamp;
    return RelativeBuckets::logarithmic(words, words, kBuckets, kPositions, clamp);
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("06", "Log buckets",
                          "How can a table of 256 rows a side serve distances up to 511, and what happens beyond?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "Lesson 5 gave each distance i − j a row, up to a limit. DeBERTa version 2 and 3 keep that for 128 words "
            "either way. Farther out several distances share a row, a bucket: it hardly matters whether a word stands "
            "400 or 402 to the left. With M = 512 positions and k = 256 rows a side:\n"
            "  |i − j| ≤ 128: bucket = i − j\n"
            "  farther: bucket = ±(128 + ceil(127 · ln(|i − j|/128) / ln((M − 1)/128)))\n"
            "  ± is the sign of i − j; row = bucket + k, kept within 0 … 2k − 1 = 511");
        std::vector<double> xs, exact, buckets;
        for (Index offset = 0; offset < kPositions; offset += 8) {
            xs.push_back(static_cast<double>(offset));
            exact.push_back(static_cast<double>(offset));
            buckets.push_back(static_cast<double>(bucket(offset)));
        }
        lesson.curves("rows against distances: below 128 one row each, then fewer", "i − j", xs, "bucket",
                      {{"with buckets", '#', buckets}, {"without", '.', exact}}, 11);
        const RelativeBuckets relative = buckets_of(kPositions, Dialect::official);
        std::vector<double> served(kBuckets);  // distances 0 … 511 of each bucket
        for (Index offset = 0; offset < kPositions; ++offset)
            ++served[static_cast<std::size_t>(relative.row_of_offset(offset) - kBuckets)];
        std::vector<std::vector<std::string>> stairs{{"bucket", "row", "serves i − j =", "how many", "of i − j"}};
        for (const Index one : {Index{1}, Index{128}, Index{131}, Index{192}, bucket(400), Index{255}}) {
            Index first = 0;
            while (bucket(first) != one) ++first;
            const double count = served[static_cast<std::size_t>(one)], from = static_cast<double>(first);
            stairs.push_back({std::to_string(one), std::to_string(one + kBuckets),
                              lesson::text_of(from) + (count > 1 ? " … " + lesson::text_of(from + count - 1) : ""),
                              lesson::text_of(count), lesson::text_of(100 * count / from, "%.1f %%")});
        }
        lesson.table("some buckets: far from the middle one is about one percent of i − j wide", stairs);
        double unlike = 0;
        for (Index offset = 1 - kPositions; offset < kPositions; ++offset)
            unlike += by_hand(offset, kPositions - 1, ceiling) != bucket(offset);
        lesson.prove_equal("offsets −511 … 511 where the formula and core/ differ", unlike, 0);
        lesson.prove_equal(
            "buckets of i − j = 0 … 511 that serve at least one distance",
            static_cast<double>(std::count_if(served.begin(), served.end(), [](double n) { return n > 0; })), kBuckets);
        // Offsets of a bucket differ by the factor (511/128)^(1/127) at most; of whole numbers that is one more.
        const double factor = std::pow(511.0 / 128, 1.0 / 127), widest = 511 * (1 - 1 / factor) + 1;
        lesson.prove("most distances in one bucket; the formula allows",
                     *std::max_element(served.begin(), served.end()), widest);

        std::vector<double> firsts, counts;  // of floor for ceil, and of M for M − 1
        for (const bool floored : {true, false}) {
            double first = 0, count = 0;
            for (Index offset = kPositions - 1; offset >= 0; --offset)
                if ((floored ? by_hand(offset, kPositions - 1, floor_of) : by_hand(offset, kPositions, ceiling)) !=
                    bucket(offset)) {
                    first = static_cast<double>(offset);
                    ++count;
                }
            firsts.push_back(first);
            counts.push_back(count);
        }
        lesson.say("Two mistakes of ports change some rows by one and nothing else: floor for ceil, from i − j = " +
                   lesson::text_of(firsts[0]) + " on, and M for M − 1, from i − j = " + lesson::text_of(firsts[1]) +
                   " on. No test with a short text sees either.");
        lesson.prove_equal("floor for ceil: every i − j of 129 … 510 changes", counts[0], 510 - 128);
        lesson.prove_equal("M for M − 1: so many i − j of 0 … 511 change", counts[1], 45);

        lesson.say("The edge. Microsoft first cuts i − j to −511 … 511; Hugging Face (4.57) cuts the row only:");
        const RelativeBuckets official = buckets_of(1024, Dialect::official), hf = buckets_of(1024, Dialect::hf);
        std::vector<std::vector<std::string>> edge{{"i − j"}, {"row, Microsoft"}, {"row, Hugging Face"}};
        for (const Index offset : {-1023, -512, -511, 0, 511, 512, 1023}) {
            edge[0].push_back(std::to_string(offset));
            edge[1].push_back(std::to_string(official.row_of_offset(offset)));
            edge[2].push_back(std::to_string(hf.row_of_offset(offset)));
        }
        lesson.table("rows at the edge", edge);
        double inside = 0, outside = 0;
        for (Index offset = -1023; offset <= 1023; ++offset)
            (std::abs(offset) < kPositions ? inside : outside) +=
                official.row_of_offset(offset) != hf.row_of_offset(offset);
        lesson.prove_equal("offsets −511 … 511 where both differ", inside, 0);
        lesson.prove_equal("offsets of ±512 … ±1023 where they differ: all below 0", outside, 512);

        lesson.ask("How many distances share the last bucket, 255?", served[255], 0, "506 to 511.");
        const std::vector<std::string> choices{"row 0", "row 1", "row 256", "row 511"};
        const std::string lowest =
            "row " + std::to_string(*std::min_element(official.rows().begin(), official.rows().end()));
        lesson.choose("Which is the lowest row that Microsoft's code ever reads?", choices,
                      std::find(choices.begin(), choices.end(), lowest) - choices.begin(),
                      "Row 0 is never trained there; Hugging Face reads it for keys 512 and more to the right.");
        lesson.exercise("Let M grow, keep k = 256: how many distances share the widest bucket?", [&] {
            std::vector<std::string> labels;
            std::vector<double> widths;
            for (const Index positions : {512, 1024, 4096, 16384}) {
                std::vector<double> count(kBuckets);
                for (Index offset = 0; offset < positions; ++offset)
                    ++count[static_cast<std::size_t>(log_bucket(offset, kBuckets, positions, OffsetClamp::official))];
                labels.push_back("M = " + std::to_string(positions));
                widths.push_back(*std::max_element(count.begin(), count.end()));
            }
            lesson.bars("distances in the widest bucket", labels, widths, "%.0f");
            const double last = 16383, bound = last * (1 - std::pow(last / 128, -1.0 / 127)) + 1;
            lesson.prove("widest bucket for M = 16384; the formula allows", widths[3], bound);
            lesson.say("The table stays as it is: 512 rows. Only the buckets far out grow wider.");
        });
        lesson.end({{"core/positions/relative_buckets.h", "log_bucket"}},
                   "microsoft/DeBERTa, da_utils.py; transformers 4.57, deberta_v2.", "07");
    });
}
