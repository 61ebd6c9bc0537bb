// Lesson 27: One table, seven schemes
//
// Question: What does each scheme add to a score, and at what price?
// Before: 04, 08, 16, 25. Minutes: 20. Page: positions.
// Show: positions.length=48&positions.farthest=40&positions.cell=40,4&positions.locked=yes
#include <array>
#include <cmath>

#include "core/attention/relative.h"
#include "core/attention/rotary.h"
#include "core/attention/shaw.h"
#include "core/io/checkpoint.h"
#include "core/positions/fire.h"
#include "core/positions/offset_bias.h"
#include "core/positions/position_rows.h"
#include "core/positions/relative_buckets.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;
using Rows = std::vector<std::vector<std::string>>;

namespace {
enum Way { kAbsolute, kDeberta, kRope, kXl, kShaw, kT5, kAlibi };
const std::vector<std::string> kNames = {"absolute", "DeBERTa", "RoPE", "T-XL", "Shaw", "T5", "ALiBi"};
constexpr int kWays = 7;

/// One head of D = d channels, and what the schemes learn: 8 rows U, 2k = 8 rows P, W_{k,R} and v; Shaw's 2k + 1 rows
/// of keys and T5's number for each of 32 buckets.
struct Head {
    Matrix<double> w_q, w_k, absolute, relative, w_kr, v, shaw, t5;
};
using Price = std::array<double, 4>;  // parameters of the model, of a layer; a layer's multiplications, kept numbers

/// What positions add to q_i · k_j of the words x [T,D]; counts what it spends beyond q · k.
Matrix<double> added(Way way, const Head& head, const Matrix<double>& x, Price& spent) {
    const auto times = [&](const Matrix<double>& a, const Matrix<double>& b) {
        Matrix<double> products = Matrix<double>::Zero(a.rows(), b.rows());
        for (Index m = 0; m < a.rows(); ++m)
            for (Index n = 0; n < b.rows(); ++n)
                for (Index c = 0; c < a.cols(); ++c, ++spent[2]) products(m, n) += a(m, c) * b(n, c);
        return products;
    };
    const Index T = x.rows(), D = x.cols();
    const Matrix<double> q = products_of_rows<double>(x, head.w_q), k = products_of_rows<double>(x, head.w_k);
    Matrix<double> sum = Matrix<double>::Zero(T, T);
    if (way == kAbsolute) {
        if (T > head.absolute.rows()) return sum.setConstant(std::nan(""));  // learned_rows would refuse
        const Matrix<double> u = learned_rows<double>(head.absolute, T);
        const Matrix<double> q_u = products_of_rows<double>(x + u, head.w_q),
                             k_u = products_of_rows<double>(x + u, head.w_k);
        sum = products_of_rows<double>(q_u, k_u) - products_of_rows<double>(q, k);
    } else if (way == kDeberta) {
        const RelativeBuckets buckets = RelativeBuckets::clamped(T, T, head.relative.rows() / 2);
        const Matrix<double> k_r = times(head.relative, head.w_k), q_r = times(head.relative, head.w_q);
        spent[3] = double(k_r.size() + q_r.size());
        const Matrix<double> by_query = times(q, k_r), by_key = times(k, q_r);
        for (Index i = 0; i < T; ++i)
            for (Index j = 0; j < T; ++j) sum(i, j) = by_query(i, buckets.row(i, j)) + by_key(j, buckets.row(i, j));
    } else if (way == kRope) {
        const auto table = rotary_table<double>(inverse_frequencies(D), 0, T);
        spent[2] = double(2 * q.size() + 2 * k.size());  // every channel times cos, its partner times sin
        spent[3] = double(table.sin.size() + table.cos.size());
        sum = std::sqrt(double(D)) * rotary_scores<double>(q, k, table, table, RotaryLayout::interleaved);
        sum -= products_of_rows<double>(q, k);
    } else if (way == kShaw) {
        times(q, head.shaw);  // what it spends; the scores pick from these products
        sum = shaw_position_scores<double>(q, head.shaw, T);
    } else if (way == kT5 || way == kAlibi) {
        const OffsetBias<double> bias = way == kT5 ? t5_bias<double>(head.t5, T, T, T5Buckets())
                                                   : alibi_bias<double>(1, T, T, AlibiForm::symmetric);
        spent[3] = double(bias.values.size());
        sum = bias.matrix(0);
    } else {
        const auto distances = xlnet_distances(T, T, Direction::bidirectional, 0, false);
        const Matrix<double> r = sinusoidal_rows<double>(distances, D, SinusoidLayout::concatenated);
        const Matrix<double> r_k = times(r, head.w_kr);
        spent[3] = double(r_k.size());
        return shift_by_index<double>(times(q.rowwise() + head.v.row(0), r_k), T, T);
    }
    return sum;
}

/// The formulas, for D channels in heads of d, T words, P absolute rows, 2k of DeBERTa and R of Transformer-XL.
Price price(Way way, double D, double d, double T, double P, double k, double R) {
    switch (way) {
        case kAbsolute:
            return {P * D, 0, 0, 0};
        case kDeberta:
            return {2 * k * D + 2 * D, 0, 4 * k * D * (D + T), 4 * k * D};
        case kRope:
            return {0, 0, 4 * T * D, T * d};
        case kXl:
            return {2 * D, D * D, R * D * (D + T), R * D};
        case kShaw:
            return {0, (2 * k + 1) * d, (2 * k + 1) * D * T, 0};
        case kT5:
            return {32 * D / d, 0, 0, (2 * T - 1) * D / d};
        default:
            return {0, 0, 0, (2 * T - 1) * D / d};
    }
}

double parameters(const std::string& model, const std::string& name) {
    return double(element_count(*open_checkpoint(resolve_model(model)).weights->shape(name)));
}
double largest(const Matrix<double>& m) { return m.cwiseAbs().maxCoeff(); }
/// A row of a table; what only rounding keeps from 0 is 0.
std::vector<std::string> row(const std::string& name, const std::vector<double>& values) {
    std::vector<std::string> cells = {name};
    for (const double x : values) cells.push_back(lesson::text_of(std::abs(x) < 1e-9 ? 0 : x, "%.4g"));
    return cells;
}
}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("27", "One table, seven schemes", "What does each scheme add to a score, and at what price?");
    return lesson.run(argc, argv, [&] {
        lesson::Seeded seeded(27);
        const auto rows = [&](Index n, double size = 1) -> Matrix<double> { return seeded.gaussians(n, 8) * size; };
        Head head = {rows(8, 0.35), rows(8, 0.35), rows(8), rows(8), rows(8, 0.35), rows(1), {}, {}};
        const Matrix<double> words = rows(6), dogs = words.row(0).replicate(12, 1);
        const Matrix<double> late = words(std::vector{3, 4, 5, 0, 1, 2, 1, 0}, Eigen::all), text = late.bottomRows(5);
        head.shaw = rows(9), head.t5 = seeded.gaussians(32, 1);
        lesson.say(
            "dog bites man bites dog: by content alone both dogs give \"man\" the same score. What positions add to "
            "q_i · k_j in a seeded head of D = d = 8, each divided by its largest number: absolute, 8 learned rows U "
            "added to the words; DeBERTa, c2p + p2c, k = 4; RoPE, q and k rotated; Transformer-XL, (q_i + v) · "
            "r_{i−j} with XLNet's rows for both sides.");
        std::vector<std::pair<std::string, Matrix<double>>> maps;
        Rows facts = {{"scheme", "left − right", "three words before", "words are 0", "4 or 11 away"}};
        Rows bill = {{"scheme", "parameters", "in a layer", "multiplications", "%", "kB kept"}};
        Matrix<double> fact(kWays, 4);
        double miscounted = 0;
        for (const Way way : {kAbsolute, kDeberta, kRope, kXl, kShaw, kT5, kAlibi}) {
            Price spent{}, other{};
            const Matrix<double> part = added(way, head, text, spent);
            if (way <= kXl) maps.push_back({kNames[way], (part.array().abs() < 1e-9).select(0, part) / largest(part)});
            const Matrix<double> moved = added(way, head, late, other).bottomRightCorner(5, 5) - part;
            const Matrix<double> far = added(way, head, dogs, other);
            fact.row(way) << part(2, 0) - part(2, 4), largest(moved), largest(added(way, head, 0 * text, other)),
                far(4, 0) - far(11, 0);
            facts.push_back(row(kNames[way], {fact(way, 0), fact(way, 1), fact(way, 2), fact(way, 3)}));
            const Price small = price(way, 8, 8, 5, 8, 4, 10),
                        b = price(way, 768, 64, 512, 512, way == kShaw ? 16 : 256, 2 * 512);
            miscounted += std::abs(spent[2] - small[2]) + std::abs(spent[3] - small[3]);
            const double attention = 4 * 512 * 768 * 768 + 2 * 512 * 512 * 768;
            bill.push_back(
                row(kNames[way], {b[0] / 1e3, b[1] / 1e3, b[2] / 1e6, 100 * b[2] / attention, 4 * b[3] / 1e3}));
        }
        lesson.heatmaps(maps, {"dog", "bites", "man", "bites", "dog"});
        lesson.say(
            "Four columns, also for Shaw's q_i · a_{j−i} (clipped at 4), T5's learned bias and ALiBi's fixed −m|i − "
            "j|: the score of \"man\" for the left dog minus that for the right one; the largest change when three "
            "words are put in front; the largest that is left where all words are 0, so q = k = 0; the score of the "
            "key 4 back minus that of the key 11 back (nan: U has no such row).");
        lesson.table("Properties", facts);
        lesson.prove_at_least("smallest size of the first four in left − right",
                              fact.col(0).head(4).cwiseAbs().minCoeff(), 0.1);
        lesson.prove_at_least("three words before: largest change, absolute", fact(0, 1), 0.1);
        const double size = head.w_q.norm() * head.w_k.norm() * late.rowwise().squaredNorm().maxCoeff();
        lesson.prove("the same, largest of the six others; at most 3 · (7 + 4) + 12 roundings",
                     fact.col(1).tail(kWays - 1).maxCoeff(), 45 * size * 0x1p-52);
        lesson.prove_equal("DeBERTa and Shaw, clipped at 4: score of the key 4 back minus that of 11 back",
                           std::abs(fact(kDeberta, 3)) + std::abs(fact(kShaw, 3)), 0);
        lesson.prove_equal("ALiBi: the same, over its slope 1/256", fact(kAlibi, 3) * 256, 11 - 4);
        lesson.say(
            "The price, H heads (DeBERTa: share_att_key; T-XL: R = 2T; Shaw: k = 16, keys, as much for values):\n"
            "            parameters   in a layer   multiplications   numbers kept\n"
            "  absolute  P·D          0            0                 0\n"
            "  DeBERTa   2k·D + 2D    0            4k·D·(D + T)      4k·D\n"
            "  RoPE      0            0            4T·D              T·d\n"
            "  T-XL      2D           D²           R·D·(D + T)       R·D\n"
            "  Shaw      0            (2k+1)·d     (2k+1)·T·D        0\n"
            "  T5, ALiBi 32·H, 0      0            0                 (2T − 1)·H\n"
            "Numbers below in thousands, multiplications in millions, kB at 4 bytes a number:");
        lesson.table("D = 768, d = 64, T = P = 512, k = 256; % of attention's own 4T·D² + 2T²·D", bill);
        lesson.prove("counts of the head above against the formulas", miscounted, 0);
        const double v3 = parameters("tiny-v3", "encoder.rel_embeddings.weight") +
                          parameters("tiny-v3", "encoder.LayerNorm.weight") +
                          parameters("tiny-v3", "encoder.LayerNorm.bias");
        const double xl = parameters("tiny-txl", "layers.0.dec_attn.r_net.weight");
        lesson.prove_equal("numbers in the table and the norm of tiny-v3, k = 32", v3,
                           price(kDeberta, 192, 32, 0, 0, 32, 0)[0]);
        lesson.prove_equal("numbers in a W_{k,R} of tiny-txl, D = 128", xl, price(kXl, 128, 32, 0, 0, 0, 0)[1]);
        // One head of FIRE with L = 4 and 8 random hidden units; numbers of their own, so that nothing above changes.
        lesson::Seeded learned(2023);
        const Matrix<double> in = learned.gaussians(1, 8), shift = learned.gaussians(1, 8),
                             out = learned.gaussians(1, 8);
        const Matrix<double> bias =
            fire_bias<double>({0.1, 4, in, shift, out, RowVector<double>::Zero(1)}, 12).bias.matrix(0);
        lesson.say(
            "Whatever depends on i − j alone treats row 400 like row 4. FIRE (Li et al. 2023) adds f(ψ(i − j) / "
            "ψ(max(L, i))) with ψ(x) = ln(cx + 1) and a small learned network f: beyond row L the first word "
            "always has ψ/ψ = 1, however long the text, and one distance gets a smaller ratio the later the row.");
        lesson.prove_equal("FIRE, L = 4: bias of two words three apart, row 4 minus row 3", bias(4, 1) - bias(3, 0), 0);
        lesson.prove_at_least("the same, rows 11 and 4", std::abs(bias(11, 8) - bias(4, 1)), 0.1);
        lesson.say(
            "Two-sided, Transformer-XL costs what DeBERTa does; to the left alone, as in its paper, half. RoPE, T5 and "
            "ALiBi are almost free. What can be computed for a longer text need not be good there.");
        lesson.ask("All words are 0: in how many of the seven do positions still add something?",
                   double((fact.col(2).array() > 0).count()), 0,
                   "U, v · r and both biases need no word; DeBERTa, RoPE and Shaw multiply all they add with q or k.");
        lesson.ask("DeBERTa 3 with T = 128, D = 768, k = 256: how many million multiplications a layer?",
                   price(kDeberta, 768, 64, 128, 0, 256, 0)[2] / 1e6, 1, "4k·D·(D + T).");
        lesson.exercise("By which factor does the extra work grow from 512 to 2048 words?", [&] {
            const auto work = [](Way way, double T) { return price(way, 768, 64, T, 0, 256, 2 * T)[2]; };
            const auto growth = [&](Way way) { return work(way, 2048) / work(way, 512); };
            lesson.say("DeBERTa " + lesson.number("growth, DeBERTa", growth(kDeberta), "%.1f") +
                       ", for most of it is the table's; RoPE and Shaw 4, like the words; Transformer-XL " +
                       lesson.number("growth, T-XL", growth(kXl), "%.1f") + ", for its table grows too.");
            lesson.prove_equal("RoPE: like the words", growth(kRope), 4);
            lesson.prove("T-XL over DeBERTa: like them again, minus 4", growth(kXl) / growth(kDeberta) - 4, 0x1p-49);
        });
        lesson.end({{"core/attention/disentangled.h", "position_to_content"},
                    {"core/attention/relative_shift.h", "shift_by_index"}},
                   "He, Su 2021; Dai 2019; Shaw 2018; Raffel 2020; Press 2022; Li 2023 (each et al.).", "28");
    });
}
