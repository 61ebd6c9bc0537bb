#include "core/conformance/diagnosis/tiles.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Row of the table of (i,j) as a kernel with tiles of this size finds it; may lie outside of the table.
using TileRow = Index (*)(const RelativeRule& rule, Index i, Index j, Index tile);

/// The row of the tile's first cell, and from there one row per step.
Index stepped(const RelativeRule& rule, Index i, Index j, Index tile) {
    return rule.row((i / tile - j / tile) * tile) + i % tile - j % tile;
}

Index stepped_and_clamped(const RelativeRule& rule, Index i, Index j, Index tile) {
    return rule.inside(stepped(rule, i, j, tile));
}

/// (i - j) / tile goes towards 0 while the rest is never negative: one tile too far for every key in front.
Index divided_towards_zero(const RelativeRule& rule, Index i, Index j, Index tile) {
    const Index offset = i - j, rest = (offset % tile + tile) % tile;
    return rule.row(offset / tile * tile + rest);
}

/// The band |i - j| < tile that is kept in fast memory holds rows of i - j as it is.
Index plain_in_the_band(const RelativeRule& rule, Index i, Index j, Index tile) {
    return std::abs(i - j) < tile ? i - j + rule.span : rule.row(i - j);
}

Formula term(const char* stem, TileRow row, Index tile) {
    const bool by_query = std::string(stem) == "c2p";
    const char *content = by_query ? "q" : "k", *table = by_query ? "k_r" : "q_r";
    return {stem, {content, table}, [=](const Replay& at) {
                const RelativeRule rule = relative_rule(at);
                require_tiles(tile, rule.queries, rule.keys);
                if (!at.claimed(stem)) throw NotEnough{"the candidate's own term"};
                return picked(at.claimed(stem), at.table_products(content, table), rule.queries, rule.keys, by_query,
                              [&](Index i, Index j) { return row(rule, i, j, tile); });
            }};
}

/// Only where the candidate writes the index down: its terms are explained without it.
Formula index(TileRow row, Index tile) {
    return {"/relative.index", {}, [=](const Replay& at) {
                if (!at.claimed("/relative.index")) throw NotEnough{"the candidate's index"};
                const RelativeRule rule = relative_rule(at);
                require_tiles(tile, rule.queries, rule.keys);
                Tensor<double> rows({rule.queries, rule.keys});
                for (Index n = 0; n < rows.size(); ++n)
                    rows[n] = static_cast<double>(row(rule, n / rule.keys, n % rule.keys, tile));
                return rows;
            }};
}

std::vector<Variant> band_of_a_tile() {
    const std::vector<std::pair<std::string, TileRow>> ways = {
        {"one row per step from a tile's first cell on, not clamped, none beyond the table", stepped},
        {"one row per step from a tile's first cell on, clamped to the table", stepped_and_clamped},
        {"offsets divided by the tile towards zero", divided_towards_zero},
        {"the cached band |i-j| < tile is neither clamped nor put into buckets", plain_in_the_band}};
    std::vector<Variant> all;
    for (const auto& [how, row] : ways)
        for (const Index tile : kTiles) {
            all.push_back({how + in_tiles_of(tile), {term("c2p", row, tile), term("p2c", row, tile)}});
            all.push_back({how + ", in the index" + in_tiles_of(tile), {index(row, tile)}});
        }
    return all;
}

}  // namespace

Mistake mistake_81() {
    return {.number = 81,
            .name = "the rows that a tile keeps are not clamped, or its offset is divided towards zero",
            .symptom = "short texts are right; in long ones only far tiles, or only keys in front, are wrong",
            .betrays = "the error, drawn as a picture, has the edges of tiles",
            .evidence = "",
            .lesson = "07",
            .families = {Family::deberta},
            .stems = {"/relative.index", "c2p", "p2c"},
            .variants = band_of_a_tile()};
}

}  // namespace locus::conformance
