// Mistakes 16 to 21 and 110.  The logarithmic buckets of DeBERTa v2 and v3, and those of T5 in their place.
#include <algorithm>
#include <cstdlib>

#include "core/conformance/formulas/relative_rule.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"
#include "core/positions/offset_bias.h"

namespace locus::conformance {

namespace bucket_rounded_down {  // mistake 16

std::vector<Formula> rounded(double (*round)(double, bool)) {
    return {log_index_by([round](const RelativeRule& rule, Index offset) {
        return log_row(rule, offset, [&](double distance, double middle) {
            return round(log_steps(distance, middle, static_cast<double>(rule.max_position - 1)), offset > 0);
        });
    })};
}

Mistake mistake() {
    return {
        .number = 16,
        .name = "the log bucket is rounded down, to the nearest, or with its sign, instead of up, or is off by one",
        .symptom = "attention at long range is shifted",
        .betrays = "relative.index is right for |i-j| <= b/2 and nearer to the centre by one beyond",
        .evidence = "",
        .lesson = "06",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {{"floor, or a cast to an integer", rounded([](double steps, bool) { return std::floor(steps); })},
                     {"rounded to the nearest", rounded([](double steps, bool) { return std::round(steps); })},
                     {"floor of the signed value",
                      rounded([](double steps, bool past) { return past ? std::floor(steps) : std::ceil(steps); })},
                     {"ceil of the signed value",
                      rounded([](double steps, bool past) { return past ? std::ceil(steps) : std::floor(steps); })},
                     {"one more than up", rounded([](double steps, bool) { return std::ceil(steps) + 1; })},
                     {"one less than up", rounded([](double steps, bool) { return std::ceil(steps) - 1; })}}};
}

}  // namespace bucket_rounded_down

namespace log_of_m {  // mistake 17

/// The right bucket of a model whose M is another one.
Variant with_m(std::string how, Index (*other)(const Replay&, const RelativeRule&)) {
    return {std::move(how), {{"/relative.index", {}, [other](const Replay& at) {
                                  RelativeRule rule = log_rule(at);
                                  const Index m = other(at, rule);
                                  if (m == rule.max_position || m < rule.middle() + 2) throw NotEnough{"another M"};
                                  rule.max_position = m;
                                  return rule.matrix([&](Index offset) {
                                      return log_row(rule, offset, [&](double distance, double middle) {
                                          return std::ceil(log_steps(distance, middle, static_cast<double>(m - 1)));
                                      });
                                  });
                              }}}};
}

Mistake mistake() {
    return {
        .number = 17,
        .name =
            "the log bucket divides by ln(M / mid) instead of ln((M - 1) / mid), M is another model's, or buckets "
            "beyond mid are counted as mid, not mid - 1",
        .symptom = "a few far keys are off by one bucket, or many",
        .betrays = "relative.index differs in a few far offsets only, first at 170 for b = 256, M = 512",
        .evidence = "",
        .lesson = "06",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {
            {"by ln(M / mid)", {log_index_by([](const RelativeRule& rule, Index offset) {
                 return log_row(rule, offset, [&](double distance, double middle) {
                     return std::ceil(log_steps(distance, middle, static_cast<double>(rule.max_position)));
                 });
             })}},
            with_m("M is 512", [](const Replay&, const RelativeRule&) { return Index{512}; }),
            with_m("M is 128", [](const Replay&, const RelativeRule&) { return Index{128}; }),
            with_m("M is the number of rows, 2b", [](const Replay&, const RelativeRule& rule) { return rule.rows(); }),
            with_m("M is max_position_embeddings, although max_relative_positions says another one",
                   [](const Replay& at, const RelativeRule&) { return at.deberta().config().max_position_embeddings; }),
            {"mid buckets for those beyond, instead of mid - 1",
             {log_index_by([](const RelativeRule& rule, Index offset) {
                 return log_row(rule, offset, [&](double distance, double middle) {
                     const auto last = static_cast<double>(rule.max_position - 1);
                     return std::ceil(log_steps(distance, middle, last) / (middle - 1) * middle);
                 });
             })}}}};
}

}  // namespace log_of_m

namespace span_of_m {  // mistake 18

/// Rows of zeros after a table of 2k rows, up to row 2M - 1.
Tensor<double> zeros_behind(const Replay& at, const char* stem) {
    const Tensor<double>& table = at(stem);
    const Index rows = 2 * at.deberta().config().max_relative_positions;
    if (rows <= table.extent(1)) throw NotEnough{"rows after the table"};
    // Where the index is not reported, zeros may as well be a term that was left out: only whole passes know both.
    if (!at.claimed("/relative.index") && !at.in_whole_pass()) throw NotEnough{"the port's own index"};
    Tensor<double> longer({table.extent(0), rows, table.extent(2)});
    for (Index h = 0; h < table.extent(0); ++h) {
        longer.matrix(h).setZero();
        longer.matrix(h).topRows(table.extent(1)) = table.matrix(h);
    }
    return longer;
}

Index around_m(const RelativeRule& rule, Index offset) {
    return std::clamp<Index>(rule.bucket(offset) + rule.max_position, 0, 2 * rule.max_position - 1);
}

Mistake mistake() {
    return {.number = 18,
            .is_rare = true,
            .name = "the index is centred at M although it holds log buckets of span b",
            .symptom = "out of range, or the wrong half of the table",
            .betrays = "the diagonal of relative.index is M instead of b",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {
                {"clamped to 0 ... 2M - 1", {log_index_by(around_m)}},
                {"clamped to the table", {log_index_by([](const RelativeRule& rule, Index offset) {
                     return rule.inside(rule.bucket(offset) + rule.max_position);
                 })}},
                {"not clamped, rows after the table read as zeros",
                 {log_index_by(around_m), c2p_by(index_here, [](const Replay& at) { return zeros_behind(at, "k_r"); }),
                  p2c_by(index_here, [](const Replay& at) { return zeros_behind(at, "q_r"); })}}}};
}

}  // namespace span_of_m

namespace log_of_a_negative {  // mistake 19

/// Right but for keys further right than b/2, whose bucket is another.
std::vector<Formula> far_right(Index (*bucket)(const RelativeRule&, Index)) {
    return {log_index_by([bucket](const RelativeRule& rule, Index offset) {
        return offset < -rule.middle() ? rule.inside(bucket(rule, offset) + rule.span) : rule.row(offset);
    })};
}

Mistake mistake() {
    return {.number = 19,
            .name = "keys on the far right take the logarithm of a negative number, or lose their sign",
            .symptom = "one side of the text is wrong from |i - j| > b/2 on",
            .betrays = "index[i,j] + index[j,i] is not 2b for far pairs",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {
                {"NaN becomes the smallest integer",
                 far_right([](const RelativeRule& rule, Index) { return -4 * rule.span; })},
                {"NaN becomes 0", far_right([](const RelativeRule&, Index) { return Index{0}; })},
                {"NaN becomes 0 before b/2 is added",
                 far_right([](const RelativeRule& rule, Index) { return -rule.middle(); })},
                {"the sign is lost",
                 far_right([](const RelativeRule& rule, Index offset) { return rule.bucket(-offset); })},
                {"the sign is lost in c2p and, negated, in p2c",
                 negated_for_p2c([](const RelativeRule& rule,
                                    Index offset) { return rule.bucket(offset < -rule.middle() ? -offset : offset); },
                                 log_rule)}}};
}

}  // namespace log_of_a_negative

namespace integer_division {  // mistake 20

std::vector<Formula> divided_after(double (*denominator)(double, double)) {
    return {log_index_by([denominator](const RelativeRule& rule, Index offset) {
        return log_row(rule, offset, [&](double distance, double middle) {
            const double ratio = std::log(std::floor(distance / middle)) /
                                 std::log(denominator(static_cast<double>(rule.max_position - 1), middle));
            return std::ceil(ratio * (middle - 1));
        });
    })};
}

Mistake mistake() {
    return {.number = 20,
            .name = "the logarithm is taken of an integer quotient, |i - j| / mid",
            .symptom = "staircases: all distances of one multiple of mid share a bucket",
            .betrays = "the bucket of x is mid for all mid <= x < 2 mid",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"the numerator alone", divided_after([](double top, double middle) { return top / middle; })},
                         {"the denominator too",
                          divided_after([](double top, double middle) { return std::floor(top / middle); })}}};
}

}  // namespace integer_division

namespace end_point_rounded_up {  // mistake 21

/// Bucket b instead of b - 1 for offsets that the logarithm sees as M - 1; row 2b, as for all beyond, unless clamped.
Index one_up(const RelativeRule& rule, Index offset) {
    const Index x = rule.clamped_offset(offset);
    if (std::abs(x) != rule.max_position - 1) return std::clamp<Index>(rule.bucket(offset) + rule.span, 0, rule.rows());
    return x > 0 ? rule.rows() : 0;
}

Mistake mistake() {
    return {
        .number = 21,
        .is_rare = true,
        .name = "the logarithm of M - 1 comes out one ulp too high, and ceil makes bucket b of it",
        .symptom = "reads past the end of the table, or row 0 for keys at distance M - 1 on the right",
        .betrays = "relative.index reaches 2b before it is clamped; row 0 where 1 is right",
        .evidence = "deberta.cpp 6e15fe6",
        .lesson = "06",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {
            {"clamped to the table",
             {log_index_by([](const RelativeRule& rule, Index offset) { return rule.inside(one_up(rule, offset)); })}},
            {"not clamped, row 2b reads as zeros",
             {log_index_by(one_up), c2p_by(index_here, [](const Replay& at) { return with_row_behind(at("k_r")); }),
              p2c_by(index_here, [](const Replay& at) { return with_row_behind(at("q_r")); })}}}};
}

}  // namespace end_point_rounded_up

std::vector<Mistake> log_bucket_mistakes() {
    return {
        bucket_rounded_down::mistake(),   // 16
        log_of_m::mistake(),              // 17
        span_of_m::mistake(),             // 18
        log_of_a_negative::mistake(),     // 19
        integer_division::mistake(),      // 20
        end_point_rounded_up::mistake(),  // 21
    };
}

// Mistake 110.  Buckets of T5: of another model, or of its other half.

namespace buckets_of_t5 {  // mistake 110

/// T5's buckets that the reference itself has, where no DeBERTa made its index: both sides, or one.
std::vector<T5Buckets> buckets_behind(const Tensor<double>& index) {
    std::vector<T5Buckets> all;
    if (index.rank() != 2 || index.empty()) return all;
    const Index queries = index.extent(0), keys = index.extent(1);
    for (const bool both : {true, false})
        for (const Index buckets : {8, 16, 32, 64, 128, 256, 512})
            for (const Index farthest : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
                const T5Buckets config{buckets, farthest, both};
                if (farthest <= buckets / (both ? 4 : 2)) continue;
                bool fits = true;
                for (Index n = 0; n < index.size() && fits; ++n)
                    fits = index[n] == static_cast<double>(t5_bucket(n % keys - n / keys, config));
                if (fits && queries > 1 && keys > 1) all.push_back(config);
            }
    return all;
}

Tensor<double> index_of_t5(Index queries, Index keys, const T5Buckets& config) {
    const IndexTensor rows = t5_index(queries, keys, config);
    return {rows.shape(), std::vector<double>(rows.values().begin(), rows.values().end())};
}

/// The reference's own buckets for the other number of sides.
Formula other_sides(bool both) {
    return {"/relative.index", {}, [both](const Replay& at) {
                const auto expected = at.expected("/relative.index");
                if (!expected || at.has_model()) throw NotEnough{"an index of T5's buckets"};
                for (T5Buckets config : buckets_behind(*expected)) {
                    if (config.bidirectional == both) continue;
                    config.bidirectional = both;
                    if (config.max_distance <= config.buckets / (both ? 4 : 2)) continue;
                    const Tensor<double> rows = index_of_t5(expected->extent(0), expected->extent(1), config);
                    const Tensor<double>* claim = at.claimed("/relative.index");
                    if (claim && claim->shape() == rows.shape() && claim->values() == rows.values()) return rows;
                }
                throw NotEnough{"an index of T5's buckets"};
            }};
}

/// T5's buckets in place of DeBERTa's.  buckets: of 2k, or 0 for all of them; farthest: 0 for M.
Formula in_place_of_ours(bool both, Index buckets, Index farthest) {
    return {"/relative.index", {}, [=](const Replay& at) {
                const RelativeRule rule = log_rule(at);
                const T5Buckets config{buckets > 0 ? buckets : rule.rows(), farthest > 0 ? farthest : rule.max_position,
                                       both};
                if (config.buckets > rule.rows() || config.buckets < 4 || config.buckets % 4 != 0 ||
                    config.max_distance <= config.buckets / (both ? 4 : 2))
                    throw NotEnough{"buckets that fit into the table"};
                return index_of_t5(rule.queries, rule.keys, config);
            }};
}

std::vector<Variant> ways() {
    std::vector<Variant> all = {
        {"causal buckets, those of a decoder, where the model has both sides", {other_sides(false)}},
        {"buckets of both sides where the model has those of a decoder", {other_sides(true)}}};
    for (const bool both : {true, false})
        for (const auto& [buckets, farthest] : {std::pair<Index, Index>{0, 0}, {0, 128}, {32, 128}})
            all.push_back({std::string(both ? "buckets of both sides" : "causal buckets, those of a decoder") + ", " +
                               (buckets > 0 ? "32" : "as many as rows") + (farthest > 0 ? " up to 128" : " up to M"),
                           {in_place_of_ours(both, buckets, farthest)}});
    return all;
}

Mistake mistake() {
    return {.number = 110,
            .name = "the index counts in T5's buckets: those of another model, or of one side instead of both",
            .symptom = "before and after are the same or exchanged, and far keys share other rows",
            .betrays = "relative.index is 0 on the diagonal, and rounds down; causal: 0 for every later key, too",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = ways()};
}

}  // namespace buckets_of_t5

std::vector<Mistake> other_bucket_mistakes() { return {buckets_of_t5::mistake()}; }

}  // namespace locus::conformance
