// Mistakes 80 to 83 and 111.  Tiles of a kernel, buffers read in another order, and sums in a short number format.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/relative_rule.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace {

// What kernels that work tile by tile make of the disentangled terms at the edges of their tiles.

/// Rows and columns of a tile that kernels are written with.
constexpr std::array<Index, 4> kTiles = {8, 16, 32, 64};

std::string in_tiles_of(Index tile) { return " (tiles of " + std::to_string(tile) + ")"; }

/// Throws NotEnough for a text that fits into one tile: nothing has an edge there.
void require_tiles(Index tile, Index queries, Index keys) {
    if (std::max(queries, keys) <= tile) throw NotEnough{"a text longer than a tile"};
}

/// all[b,h,x,r] of every row of the table, picked where row(i,j) says; rows that are not there count as zero.
/// by_query: x is i (c2p), else j (p2c).  Only for a candidate that reports the term, `claim`, and throws NotEnough as
/// soon as one of a few cells refutes it: there are many tiles to try, and long texts.
template <class Row>
Tensor<double> picked(const Tensor<double>* claim, const Tensor<double>& all, Index queries, Index keys, bool by_query,
                      Row row) {
    constexpr Index kProbes = 199;
    const Index count = all.extent(3);
    if (all.extent(2) != (by_query ? queries : keys)) throw NotEnough{"terms of the text's length"};
    Tensor<double> terms({all.extent(0), all.extent(1), queries, keys});
    if (!claim || claim->shape() != terms.shape()) throw NotEnough{"the candidate's own term"};
    const auto value = [&](Index n, Index at) {
        const Index cell = n % (queries * keys), head = n / (queries * keys), x = by_query ? cell / keys : cell % keys;
        return at >= 0 && at < count ? all[(head * all.extent(2) + x) * count + at] : 0.0;
    };
    const Index step = std::max<Index>(1, terms.size() / kProbes);
    double size = 0, worst = 0;
    for (Index n = 0; n < terms.size(); n += step) {
        const Index cell = n % (queries * keys);
        size = std::max(size, std::abs((*claim)[n]));
        worst = std::max(worst, std::abs((*claim)[n] - value(n, row(cell / keys, cell % keys))));
    }
    if (worst > 0.1 * size) throw NotEnough{"numbers that a tile makes"};
    std::vector<Index> rows;
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) rows.push_back(row(i, j));
    for (Index n = 0; n < terms.size(); ++n) terms[n] = value(n, rows[static_cast<std::size_t>(n % (queries * keys))]);
    return terms;
}

}  // namespace

namespace edge_of_a_tile {  // mistake 80

/// Keys after the last one, up to the end of its tile, have a score of 0 and are added up.
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
        all.push_back({"rows of the table after its last whole tile are zero" + in_tiles_of(tile),
                       {rows_past_the_last_tile("c2p", tile), rows_past_the_last_tile("p2c", tile)}});
    }
    return all;
}

Mistake mistake() {
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

}  // namespace edge_of_a_tile

namespace band_of_a_tile {  // mistake 81

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

Mistake mistake() {
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

}  // namespace band_of_a_tile

namespace rows_read_as_columns {  // mistake 82

constexpr const char* kStems[] = {"q", "k", "v"};

/// The buffer of a row-major matrix as a column-major one of the same shape holds it.
Matrix<double> by_columns(const Matrix<double>& stored) {
    using Columns = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
    return Eigen::Map<const Columns>(stored.data(), stored.rows(), stored.cols());
}

/// The misread projection of q, k or v (part 0, 1, 2) [H*d,D], with its right bias.
Dense<double> misread(const Replay& at, int part) {
    const Dense<double> right = projection_of(at, part);
    if (at.family() == Family::transformer_xl) {  // the three lie in one buffer
        const Index rows = right.weight.rows();
        Matrix<double> all(3 * rows, right.weight.cols());
        for (int each = 0; each < 3; ++each) all.middleRows(each * rows, rows) = projection_of(at, each).weight;
        return {by_columns(all).middleRows(part * rows, rows), {}};
    }
    if (at.family() == Family::xlnet) return {by_columns(right.weight.transpose()).transpose(), {}};  // stored [D,H,d]
    return {by_columns(right.weight), right.bias};
}

Formula projection(int part) {
    return {kStems[part], {part == 0 ? "x_q" : "x"}, [part](const Replay& at) {
                const Tensor<double> split =
                    project_heads<double>(projection_input(at, part), misread(at, part), heads_of(at));
                return part == 0 && at.family() == Family::xlnet ? without_unused(at, split) : split;
            }};
}

/// One block of Transformer-XL's qkv_net by its transpose, where H d = D.
Formula block_transposed(int part) {
    return {kStems[part], {part == 0 ? "x_q" : "x"}, [part](const Replay& at) {
                if (at.family() != Family::transformer_xl) throw NotEnough{"a qkv_net"};
                const Matrix<double> block = projection_of(at, part).weight;
                if (block.rows() != block.cols()) throw NotEnough{"a block as wide as it is high"};
                return project_heads<double>(projection_input(at, part), {block.transpose(), {}}, heads_of(at));
            }};
}

/// Position keys of Transformer-XL and XLNet by the transpose of their weight, where H d = D.
Formula position_keys_transposed(const char* stem, const char* rows) {
    return {stem, {rows}, [rows](const Replay& at) {
                const Matrix<double> weight = position_projection_of(at);
                if (weight.rows() != weight.cols()) throw NotEnough{"a projection as wide as it is high"};
                return project_positions<double>(at(rows).matrix(), weight.transpose(), heads_of(at));
            }};
}

/// What a layer does after attention, with a weight read by columns.
Formula attention_misread() {
    return {"attention", {"context", "x_q"}, [](const Replay& at) {
                const Dense<double> right = attention_dense_of(at);
                const Tensor<double>& residual = at("x_q");
                const Tensor<double> sum = sum_of(
                    shaped(residual, dense<double>(at("context").rows(), {by_columns(right.weight), right.bias})),
                    residual);
                return after_sum(at, sum, attention_norm_of(at));
            }};
}

Formula ffn_act_misread() {
    return {"ffn_act", {"attention"}, [](const Replay& at) {
                const Dense<double> right = ffn_dense_of(at);
                Matrix<double> x = at("attention").rows();
                if (norm_first(at)) x = layer_norm<double>(x, ffn_norm_of(at), norm_eps_of(at));
                return shaped(
                    at("attention"),
                    activate<double>(dense<double>(x, {by_columns(right.weight), right.bias}), activation_of(at)));
            }};
}

Formula ffn_misread() {
    return {
        "ffn", {"ffn_act"}, [](const Replay& at) {
            const Dense<double> right = ffn_down_of(at);
            return shaped(at("ffn_act"), dense<double>(at("ffn_act").rows(), {by_columns(right.weight), right.bias}));
        }};
}

/// The table through the projection of queries or keys, whose weight is read by columns.
Formula table_misread(bool of_queries) {
    return {of_queries ? "q_r" : "k_r", {"/relative.table"}, [of_queries](const Replay& at) {
                const Dense<double>& right =
                    of_queries ? at.deberta().position_query(at.layer()) : at.deberta().position_key(at.layer());
                return table_heads(at, at("/relative.table"), {by_columns(right.weight), right.bias});
            }};
}

Formula head_misread() {
    return {"/mlm.transform", {"/head_input"}, [](const Replay& at) {
                const HeadParts head = head_parts(at);
                const Tensor<double>& x = head_input(at);
                const Matrix<double> inner = dense<double>(x.rows(), {by_columns(head.dense.weight), head.dense.bias});
                return shaped(x, layer_norm<double>(activate<double>(inner, head.activation), head.norm, head.eps));
            }};
}

Formula transposed_stage(const std::string& stem) {
    return {stem, {"q", "k"}, [stem](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                if (right.extent(2) != right.extent(3)) throw NotEnough{"as many keys as queries"};
                return transposed(right);
            }};
}

/// sum_i P_ij v_i for sum_j P_ij v_j: the probabilities themselves are right.
Formula product_with_the_transpose() {
    return {"context", {"probs", "v", "v_rot"}, [](const Replay& at) {
                const Tensor<double>& probs = at("probs");
                if (probs.extent(2) != probs.extent(3)) throw NotEnough{"as many keys as queries"};
                const bool rotated = at.family() == Family::roformer && rotates_values(at);
                return joined_heads(transposed(probs), at(rotated ? "v_rot" : "v"));
            }};
}

Mistake mistake() {
    std::vector<Variant> variants;
    for (int part = 0; part < 3; ++part)
        variants.push_back({std::string("the weight of ") + kStems[part] + " read by columns", {projection(part)}});
    const std::pair<const char*, Formula (*)()> behind[] = {{"the dense layer after attention", attention_misread},
                                                            {"the first feed-forward layer", ffn_act_misread},
                                                            {"the second feed-forward layer", ffn_misread}};
    for (const auto& [what, formula] : behind) {
        const Formula misread = formula();
        variants.push_back({std::string("the weight of ") + what + " read by columns", {misread}, {misread.stem}});
    }
    variants.push_back({"the weight of q_r read by columns", {table_misread(true)}, {"q_r"}});
    variants.push_back({"the weight of k_r read by columns", {table_misread(false)}, {"k_r"}});
    variants.push_back({"the weight of the head read by columns", {head_misread()}, {"/mlm.transform"}});
    for (const char* stem : {"c2c", "ac", "scores", "probs", "c2p"})
        variants.push_back({std::string(stem) + " transposed", {transposed_stage(stem)}});
    variants.push_back({"context made of probs transposed", {product_with_the_transpose()}, {"context"}});
    for (int part = 0; part < 3; ++part)
        variants.push_back({std::string("Transformer-XL: the block of ") + kStems[part] + " in qkv_net transposed",
                            {block_transposed(part)},
                            {kStems[part]}});
    variants.push_back({"the weight of position keys transposed",
                        {position_keys_transposed("r_k", "/positions.r"),
                         position_keys_transposed("r_k_backward", "/positions.r_backward")},
                        {"r_k"}});
    return {.number = 82,
            .name = "a row-major buffer is read by columns, or a square result transposed",
            .symptom = "right for symmetric data, wrong otherwise; with unequal sizes garbage instead of a transpose",
            .betrays = "the stage equals the right one with its last two axes exchanged, or q that of W^T",
            .evidence = "",
            .lesson = "28",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"q", "k", "v", "q_r", "k_r", "r_k", "c2c", "ac", "c2p", "context", "attention", "ffn_act", "ffn",
                      "/mlm.transform"},
            .variants = std::move(variants)};
}

}  // namespace rows_read_as_columns

namespace added_up_in_float {  // mistake 83

/// Whether each product is rounded to float as well, or their sum alone.
enum class Rounded { everything, sums };

/// a b with every cell added up in float, in the order of its terms.  a [M,N], b [N,W] -> [M,W].
Matrix<double> narrow_product(const Matrix<double>& a, const Matrix<double>& b, Rounded rounded) {
    const Matrix<float> narrow = b.cast<float>();
    Matrix<double> product(a.rows(), b.cols());
    RowVector<float> sums(b.cols());
    for (Index m = 0; m < a.rows(); ++m) {
        sums.setZero();
        for (Index n = 0; n < a.cols(); ++n) {
            if (rounded == Rounded::everything)
                sums += static_cast<float>(a(m, n)) * narrow.row(n);
            else
                sums = (sums.cast<double>() + a(m, n) * b.row(n)).cast<float>();
        }
        product.row(m) = sums.cast<double>();
    }
    return product;
}

/// probs v; heads joined.  DeBERTa 1 may mix its probabilities over heads before.
Tensor<double> narrow_context(const Replay& at, const std::string& values, Rounded rounded) {
    const Tensor<double>&probs = at(at.family() == Family::deberta ? "probs_mixed" : "probs"), &v = at(values);
    return join_heads(each_head(probs, probs.extent(2), v.extent(3), [&](Index n, Index, Index) {
        return narrow_product(probs.matrix(n), v.matrix(n), rounded);
    }));
}

/// q_i . k_j.
Tensor<double> narrow_products(const Tensor<double>& q, const Tensor<double>& k, Rounded rounded) {
    return each_head(q, q.extent(2), k.extent(2), [&](Index n, Index, Index) {
        return narrow_product(q.matrix(n), k.matrix(n).transpose(), rounded);
    });
}

void add_variants(Rounded rounded, const std::string& how, std::vector<Variant>& variants) {
    variants.push_back(
        {"probs v " + how, {{"context", {"probs", "probs_mixed", "v", "v_rot"}, [rounded](const Replay& at) {
                                 const bool rotated = at.family() == Family::roformer && at.roformer().rotary_value;
                                 return narrow_context(at, rotated ? "v_rot" : "v", rounded);
                             }}}});
    variants.push_back({"c2c " + how, {{"c2c", {"q", "k"}, [rounded](const Replay& at) {
                                            return narrow_products(at("q"), at("k"), rounded);
                                        }}}});
    variants.push_back({"q_rot k_rot " + how, {{"scores", {"q_rot", "k_rot"}, [rounded](const Replay& at) {
                                                    const Tensor<double>& q = at("q_rot");
                                                    const double root = std::sqrt(static_cast<double>(q.extent(3)));
                                                    return mapped(narrow_products(q, at("k_rot"), rounded),
                                                                  [&](double score) { return score / root; });
                                                }}}});
}

Mistake mistake() {
    std::vector<Variant> variants;
    add_variants(Rounded::everything, "in float", variants);
    add_variants(Rounded::sums, "with a sum in float", variants);
    return {.number = 83,
            .name = "a sum is added up in float although its terms are double",
            .symptom = "an error that grows with the square root of the text's length",
            .betrays = "the stage is wrong by about 6e-8 sqrt(n) and right in what it is made of",
            .evidence = "",
            .lesson = "28",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"c2c", "context"},
            .variants = std::move(variants)};
}

}  // namespace added_up_in_float

std::vector<Mistake> tile_and_memory_mistakes() {
    return {
        edge_of_a_tile::mistake(),        // 80
        band_of_a_tile::mistake(),        // 81
        rows_read_as_columns::mistake(),  // 82
        added_up_in_float::mistake(),     // 83
    };
}

// Mistake 111.  A kernel's pointer from one tile of keys to the next.

namespace next_tile_by_columns {  // mistake 111

/// How the rows of a head lie in memory: one after the other, or those of all heads side by side.
enum class Rows { of_a_head, of_all_heads };

/// Rows of x [B,H,T,d] as a kernel reads them whose pointer moves on by `tile` numbers instead of `tile` rows.
Matrix<double> stepped_rows(const Tensor<double>& x, Index at, Index tile, Rows rows) {
    const Index heads = x.extent(1), length = x.extent(2), width = x.extent(3);
    const Index step = rows == Rows::of_a_head ? width : heads * width;
    Matrix<double> read(length, width);
    for (Index j = 0; j < length; ++j)
        for (Index c = 0; c < width; ++c) {
            const Index first = j / tile * tile, column = rows == Rows::of_a_head ? c : at % heads * width + c;
            const Index flat = first + (j - first) * step + column;
            const Index head = rows == Rows::of_a_head ? at : at / heads * heads + flat % step / width;
            read(j, c) = x.matrix(head)(flat / step, flat % width);
        }
    return read;
}

/// scores[b,h,i,j] of q and the keys that are read, each times `factor`.
Formula of_keys(const char* stem, const char* query, const char* key, bool scaled, Index tile, Rows rows) {
    return {stem, {query, key}, [=, name = std::string(stem)](const Replay& at) {
                const Tensor<double>&q = at(query), &k = at(key);
                require_tiles(tile, 0, k.extent(2));
                const double factor = scaled ? 1 / std::sqrt(static_cast<double>(q.extent(3))) : 1;
                return each_head(q, q.extent(2), k.extent(2), [&](Index n, Index, Index) {
                    const Matrix<double> head =
                        products_of_rows<double>(q.matrix(n), stepped_rows(k, n, tile, rows)) * factor;
                    at.show(name, n, head);
                    return head;
                });
            }};
}

Formula of_values(Index tile, Rows rows) {
    return {"context", {"probs", "probs_mixed", "v", "v_rot"}, [=](const Replay& at) {
                const bool rotated = at.family() == Family::roformer && at.has_model() && at.roformer().rotary_value;
                const bool talks =
                    at.family() == Family::deberta && at.has_model() && at.deberta().config().talking_head;
                const Tensor<double>&v = at(rotated ? "v_rot" : "v"), &probs = at(talks ? "probs_mixed" : "probs");
                require_tiles(tile, 0, v.extent(2));
                return join_heads(each_head(probs, probs.extent(2), v.extent(3), [&](Index n, Index, Index) {
                    return Matrix<double>(times<double>(probs.matrix(n), stepped_rows(v, n, tile, rows)));
                }));
            }};
}

std::vector<Variant> ways() {
    std::vector<Variant> all;
    for (const Rows rows : {Rows::of_a_head, Rows::of_all_heads})
        for (const Index tile : kTiles) {
            const std::string where =
                in_tiles_of(tile) + (rows == Rows::of_a_head ? "" : ", rows of all heads side by side");
            all.push_back(
                {"keys" + where,
                 {of_keys("c2c", "q", "k", false, tile, rows), of_keys("scores", "q_rot", "k_rot", true, tile, rows)}});
            all.push_back({"values" + where, {of_values(tile, rows)}});
        }
    return all;
}

Mistake mistake() {
    return {.number = 111,
            .name = "the next tile of keys or values begins as many numbers further on as it should rows",
            .symptom = "texts of one tile are right, of longer ones only the first keys",
            .betrays = "key j after the first tile is a piece of a row in front of it",
            .evidence = "",
            .lesson = "07",
            .families = {Family::deberta, Family::roformer},
            .stems = {"c2c", "scores", "context"},
            .variants = ways()};
}

}  // namespace next_tile_by_columns

std::vector<Mistake> tile_step_mistakes() { return {next_tile_by_columns::mistake()}; }

}  // namespace locus::conformance
