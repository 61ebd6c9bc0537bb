#include "core/conformance/diagnosis/tiles.h"
#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Keys behind the last one, up to the end of its tile, have a score of 0 and are added up.
Formula keys_past_the_end(Index tile) {
    return probs_by([tile](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        const Index keys = scores.cols(), filled = (keys + tile - 1) / tile * tile;
        require_tiles(tile, keys, keys);
        if (filled == keys) throw NotEnough{"a last tile that is not full"};
        Matrix<double> longer = Matrix<double>::Zero(scores.rows(), filled);
        longer.leftCols(keys) = scores;
        Mask mask = visible_pairs(at, b, h);
        if (mask.size() > 0) {
            Mask seen = Mask::Ones(scores.rows(), filled);
            seen.leftCols(keys) = mask;
            mask = seen;
        }
        return Matrix<double>(masked_softmax<double>(longer, mask).leftCols(keys));
    });
}

/// Rows of the table are loaded in whole tiles: the last ones are zero.
Formula rows_past_the_last_tile(const char* stem, Index tile) {
    const bool by_query = std::string(stem) == "c2p";
    const char *content = by_query ? "q" : "k", *table = by_query ? "k_r" : "q_r";
    return {stem, {content, table, "/relative.index"}, [=](const Replay& at) {
                if (!at.claimed(stem)) throw NotEnough{"the candidate's own term"};
                const Tensor<double>&all = at.table_products(content, table), &index = at("/relative.index");
                const Index loaded = all.extent(3) / tile * tile;
                require_tiles(tile, index.extent(0), index.extent(1));
                if (loaded == all.extent(3) || loaded == 0) throw NotEnough{"a last tile of rows that is not full"};
                return picked(at.claimed(stem), all, index.extent(0), index.extent(1), by_query, [&](Index i, Index j) {
                    const Index row = row_of(index, i, j, all.extent(3));
                    return row < loaded ? row : -1;
                });
            }};
}

std::vector<Variant> edge_of_a_tile() {
    std::vector<Variant> all;
    for (const Index tile : kTiles) {
        all.push_back({"keys past the text count with a score of 0" + in_tiles_of(tile), {keys_past_the_end(tile)}});
        all.push_back({"rows of the table behind its last whole tile are zero" + in_tiles_of(tile),
                       {rows_past_the_last_tile("c2p", tile), rows_past_the_last_tile("p2c", tile)}});
    }
    return all;
}

}  // namespace

Mistake mistake_80() {
    return {.number = 80,
            .name = "a tile's edge reads past the text or past the table, or atomic additions race",
            .symptom =
                "wrong or NaN at sizes that are no multiple of a tile; a race differs from run to run, which no "
                "single dump shows: run the same input twice and compare the two dumps bit by bit",
            .betrays =
                "right for 64 tokens, wrong for 63 and 65; to find reads past the end, put guard rows of NaN "
                "around the table and try 1, 7, 31, 33, 63 and 65 tokens",
            .evidence = "",
            .lesson = "07",
            .families = {Family::deberta},
            .stems = {"c2p", "p2c", "probs"},
            .variants = edge_of_a_tile()};
}

}  // namespace locus::conformance
