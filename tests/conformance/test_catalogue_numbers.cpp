// Right formulas give what foreign code computed; wrong indices have the numbers that were counted by hand.
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "core/conformance/formulas/formulas.h"
#include "core/conformance/mistakes/wrong_attention.h"
#include "core/models/deberta.h"
#include "core/products.h"
#include "tests/conformance/catalogue_ports.h"
#include "tests/seeded.h"

namespace locus::test::test_catalogue_numbers {

using namespace locus::conformance;

namespace {

/// relative.index of T tokens under a variant (0: right), for clamped offsets or log buckets.
Tensor<double> index_of(const RelativeBuckets& buckets, int number, std::size_t variant = 0) {
    Trace reference;
    Stage stage;
    stage.name = "relative.index";
    stage.values = buckets.matrix();
    reference.add(stage);
    const Trace silent;
    const Evidence evidence{reference, silent, nullptr, {}};
    if (number == 0) return widened(stage);
    return Replay(evidence, "", mistake_of(number).variants.at(variant).formulas).computed("/relative.index");
}

RelativeBuckets clamped(Index length, Index span) { return RelativeBuckets::clamped(length, length, span); }
RelativeBuckets log_buckets(Index length, Index b, Index m) {
    return RelativeBuckets::logarithmic(length, length, b, m, OffsetClamp::official);
}

std::vector<double> row(const Tensor<double>& index, Index i) {
    const Index keys = index.extent(1);
    return {index.values().begin() + i * keys, index.values().begin() + (i + 1) * keys};
}

using Row = std::vector<double>;

/// Distances x = 0 ... 511 whose row differs, on the side where queries follow their keys.
std::vector<Index> differing(int number, std::size_t variant) {
    const RelativeBuckets buckets = log_buckets(512, 256, 512);
    const Tensor<double> wrong = index_of(buckets, number, variant);
    std::vector<Index> distances;
    for (Index x = 0; x < 512; ++x)
        if (wrong[x * 512] != static_cast<double>(buckets.row_of_offset(x))) distances.push_back(x);
    return distances;
}

}  // namespace

TEST_CASE("catalogue: right formulas give every recorded stage of a layer, masks and clamps as recorded", "[kit]") {
    for (const RecordedPort& one : recorded_ports()) {
        const Trace silent;
        const Evidence evidence{one.reference, silent, one.model, one.segments};
        const Replay replay(evidence, "layer.0.");
        for (const std::string& stem : every_stem()) {
            const Stage* stage = one.reference.find(stem.starts_with('/') ? stem.substr(1) : "layer.0." + stem);
            if (!stage) continue;
            INFO(one.name << " " << stem);
            const Tensor<double> expected = widened(*stage), computed = replay.computed(stem);
            REQUIRE(expected.shape() == computed.shape());
            double worst = 0;
            for (Index n = 0; n < expected.size(); ++n)
                worst = std::max(worst, std::abs(expected[n] - computed[n]) / std::max(1.0, std::abs(expected[n])));
            CHECK(worst <= (stem == "/relative.index" ? 0 : 3e-6));
        }
    }
}

TEST_CASE("catalogue: wrong clamped indices", "[kit]") {
    const RelativeBuckets buckets = clamped(6, 3);
    CHECK(row(index_of(buckets, 0), 0) == Row{3, 2, 1, 0, 0, 0});
    CHECK(row(index_of(buckets, 0), 5) == Row{5, 5, 5, 5, 4, 3});
    CHECK(row(index_of(buckets, 5), 0) == Row{3, 4, 5, 5, 5, 5});
    CHECK_THROWS_AS(index_of(buckets, 4), NotEnough);  // of c2p, which an index alone does not show
    CHECK(row(index_of(buckets, 7, 0), 0) == Row{2, 1, 0, 0, 0, 0});
    CHECK(row(index_of(buckets, 7, 1), 0) == Row{4, 3, 2, 1, 0, 0});
    CHECK(row(index_of(buckets, 7, 2), 5) == Row{4, 4, 4, 4, 3, 2});
    CHECK(row(index_of(buckets, 7, 3), 0) == Row{4, 3, 2, 1, 1, 1});
    CHECK(row(index_of(buckets, 8), 5) == Row{6, 6, 6, 5, 4, 3});
    CHECK(row(index_of(buckets, 9, 0), 0) == Row{3, 2, 1, 1, 1, 1});
    CHECK(row(index_of(buckets, 9, 1), 0) == Row{3, 2, 1, 0, 5, 4});  // k + 1 at T = 2k
    CHECK(row(index_of(buckets, 9, 2), 0) == Row{3, 2, 1, 0, -1, -2});
    CHECK(row(index_of(buckets, 10, 0), 5) == Row{5, 5, 0, 0, 0, 0});
    CHECK(row(index_of(buckets, 10, 1), 5) == Row{5, 5, 5, 0, 0, 0});
    CHECK(row(index_of(buckets, 12, 0), 2) == Row{5, 4, 3, 4, 5, 5});
    CHECK(row(index_of(buckets, 12, 1), 2) == Row{1, 2, 3, 2, 1, 0});
    CHECK(row(index_of(buckets, 12, 2), 2) == Row{2, 1, 0, 1, 2, 3});
    // A text shorter than the span: k = 5, s = 3, so every row is 2 off.
    CHECK(row(index_of(clamped(3, 5), 0), 1) == Row{6, 5, 4});
    CHECK(row(index_of(clamped(3, 5), 11, 0), 1) == Row{4, 3, 2});
    CHECK(row(index_of(clamped(3, 5), 11, 1), 1) == Row{8, 7, 6});
    CHECK(row(index_of(clamped(3, 5), 11, 2), 1) == Row{7, 7, 6});
    // Six tokens: the span is 3 whatever k is.
    CHECK(row(index_of(clamped(6, 20), 13), 0) == Row{3, 2, 1, 0, 0, 0});
    CHECK(row(index_of(clamped(7, 20), 13, 0), 6) == Row{6, 6, 6, 6, 5, 4, 3});
    CHECK(row(index_of(clamped(7, 20), 13, 1), 6) == Row{5, 5, 5, 5, 5, 4, 3});
    // Two queries and three keys: 4 5 6 / 3 4 5 would be right for keys; [3,2] holds 4 3 5 4 6 5.
    CHECK(row(index_of(RelativeBuckets::clamped(2, 3, 4), 15), 0) == Row{4, 3, 5});
    CHECK(row(index_of(RelativeBuckets::clamped(2, 3, 4), 15), 1) == Row{4, 6, 5});
}

TEST_CASE("catalogue: wrong log buckets, as counted for b = 256 and M = 512", "[kit]") {
    CHECK(differing(16, 0).size() == 382);
    CHECK(differing(16, 0).front() == 129);
    CHECK(differing(17, 0).size() == 45);
    CHECK(differing(17, 0).front() == 170);
    CHECK(differing(17, 0).back() == 506);
    const RelativeBuckets buckets = log_buckets(512, 256, 512);
    const Tensor<double> right = index_of(buckets, 0), floored = index_of(buckets, 16), centred = index_of(buckets, 18),
                         divided = index_of(buckets, 20);
    for (Index x = 1; x < 512; ++x) {
        INFO(x);
        CHECK((floored[x * 512] == right[x * 512] || floored[x * 512] == right[x * 512] - 1));
        CHECK((floored[x] == right[x] || floored[x] == right[x] + 1));
        if (x >= 128 && x < 256) CHECK(divided[x * 512] == 256 + 128);
    }
    CHECK(centred[0] == 512);
    // Right keys beyond 128: NaN to row 0, to the centre, to -128, and no sign: rows of 0, 256, 128 and the mirror.
    for (const auto& [variant, at_150] :
         std::vector<std::pair<std::size_t, double>>{{0, 0}, {1, 256}, {2, 128}, {3, 399}}) {
        const Tensor<double> one_sided = index_of(buckets, 19, variant);
        CHECK(one_sided[150] == at_150);
        CHECK(one_sided[128] == right[128]);
        CHECK(one_sided[150 * 512] == right[150 * 512]);
    }
    // The far end alone: rows 511 and 1 are right at distance 511.
    const Tensor<double> inside = index_of(buckets, 21, 0), past = index_of(buckets, 21, 1);
    CHECK(inside[511 * 512] == 511);
    CHECK(inside[511] == 0);
    CHECK(past[511 * 512] == 512);
    CHECK(inside[510] == right[510]);
}

// Mistakes that no recorded case can show: two lengths, huge hidden scores, folded tables, numbers only the port knows.

namespace {

const RecordedPort& case_named(const std::string& name) {
    const auto& all = recorded_ports();
    const auto found = std::find_if(all.begin(), all.end(), [&](const RecordedPort& one) { return one.name == name; });
    REQUIRE(found != all.end());
    return *found;
}

Stage stage_of(const std::string& name, StageValues values) {
    Stage stage;
    stage.name = name;
    stage.values = std::move(values);
    return stage;
}

/// Named by this number, alone, whichever of these reports the port writes.
void check_named(const RecordedPort& one, const Variant& variant, int number, const std::vector<Stems>& reports) {
    for (const Stems& stems : reports) {
        const auto port = port_with(one, variant, stems);
        REQUIRE(port);
        const PortOutcome outcome = outcome_of(one, *port);
        INFO(one.name << ", " << variant.how << ", " << stems.back() << ": " << outcome.stage << ", " << outcome.best);
        REQUIRE(outcome.seen);
        CHECK(outcome.size > 100);
        CHECK(outcome.is(number));
        CHECK(outcome.same.empty());
    }
}

/// Keys [.., H, R, d] with a random row of their own per head.
Formula biased(const char* stem, unsigned seed) {
    return {stem, {"x"}, [=](const Replay& at) {
                Tensor<double> heads = at.right(stem);
                const Index count = at("v").extent(1), width = heads.extent(heads.rank() - 1);
                const Tensor<double> bias = random_tensor({count, width}, seed);
                for (Index n = 0; n < heads.size() / heads.extent(heads.rank() - 2) / width; ++n)
                    heads.matrix(n).rowwise() += bias.matrix().row(n % count);
                return heads;
            }};
}

/// table W^T in heads like these.
Tensor<double> by_projection(const Tensor<double>& table, Tensor<double> heads, const Matrix<double>& weight) {
    const Matrix<double> rows = times_transposed<double>(table.matrix(), weight);
    const Index width = heads.extent(2);
    for (Index h = 0; h < heads.extent(0); ++h) heads.matrix(h) = rows.middleCols(h * width, width);
    return heads;
}

/// Position keys or queries by a matrix that nobody trained.
Formula projected(const char* stem, unsigned seed) {
    return {stem, {"/relative.table"}, [=](const Replay& at) {
                const Tensor<double> right = at.right(stem), &table = at("/relative.table");
                const Index width = right.extent(0) * right.extent(2);
                return by_projection(table, right, random_tensor({width, table.extent(1)}, seed).matrix());
            }};
}

}  // namespace

TEST_CASE("catalogue: a bias that only the port knows is found in keys, terms and scores", "[kit]") {
    for (const char* name : {"hf_deberta_v1", "hf_deberta_v1_long"}) {
        check_named(case_named(name), {"key bias", {biased("k", 1)}}, 23,
                    {every_stem(), {"c2c"}, {"p2c"}, {"scores"}, {"c2c", "p2c", "scores"}});
        check_named(case_named(name), {"position key bias", {biased("k_r", 2)}}, 23,
                    {every_stem(), {"c2p"}, {"scores"}});
    }
}

TEST_CASE("catalogue: noise in keys is no forgotten bias", "[kit]") {
    const Variant noisy{"noise", {{"k", {"x"}, [](const Replay& at) {
                                       Tensor<double> k = at.right("k");
                                       return sum_of(k, random_tensor(k.shape(), 3));
                                   }}}};
    for (const Stems& stems : {every_stem(), Stems{"c2c"}, Stems{"p2c"}, Stems{"scores"}}) {
        const PortOutcome outcome =
            outcome_of(case_named("hf_deberta_v1"), *port_with(case_named("hf_deberta_v1"), noisy, stems));
        INFO(outcome.best);
        CHECK(outcome.seen);
        CHECK_FALSE(outcome.named);
    }
}

TEST_CASE("catalogue: a projection that only the port knows is found in position keys and queries", "[kit]") {
    for (const char* stem : {"k_r", "q_r"})
        check_named(case_named("ms_deberta_v3_emd"), {stem, {projected(stem, 4)}}, 24, {every_stem(), {stem}});
}

TEST_CASE("catalogue: noise, other weights of the model and scaled position keys are no unknown projection", "[kit]") {
    const auto keys_by = [](Tensor<double> (*make)(const Replay&)) {
        return Variant{"", {{"k_r", {"/relative.table"}, make}}};
    };
    const std::vector<Variant> others = {
        keys_by([](const Replay& at) { return sum_of(at.right("k_r"), random_tensor(at.right("k_r").shape(), 5)); }),
        keys_by([](const Replay& at) {
            return by_projection(at("/relative.table"), at.right("k_r"), at.deberta().projection(1, 2).weight);
        }),
        keys_by([](const Replay& at) { return mapped(at.right("k_r"), [](double value) { return 3 * value; }); })};
    for (const Variant& other : others) {
        const PortOutcome outcome = outcome_of(case_named("ms_deberta_v3_emd"),
                                               *port_with(case_named("ms_deberta_v3_emd"), other, every_stem()));
        INFO(outcome.best);
        CHECK(outcome.seen);
        CHECK_FALSE(outcome.named);
    }
}

TEST_CASE("catalogue: a table whose rows are all the same is no unknown projection", "[kit]") {
    const Variant constant{"constant", {{"q_r", {"/relative.table"}, [](const Replay& at) {
                                             Tensor<double> q_r = at.right("q_r");
                                             for (Index h = 0; h < q_r.extent(0); ++h)
                                                 q_r.matrix(h).rowwise() = RowVector<double>(2 * q_r.matrix(h).row(0));
                                             return q_r;
                                         }}}};
    const RecordedPort& one = case_named("hf_deberta_v2_short");
    const PortOutcome outcome = outcome_of(one, *port_with(one, constant, every_stem()));
    INFO(outcome.best);
    CHECK(outcome.seen);
    CHECK_FALSE(outcome.named);
}

TEST_CASE("catalogue: a leak past the mask betrays its constant, or whatever else it is", "[kit]") {
    const auto leaking = [](double constant, bool keys_alone) {
        return Variant{"", {{"probs", {"scores"}, [=](const Replay& at) {
                                 const Tensor<double>& scores = at("scores");
                                 return each_head(
                                     scores, scores.extent(2), scores.extent(3), [&](Index n, Index h, Index b) {
                                         const Mask mask = keys_alone ? visible_keys(at, b) : visible_pairs(at, b, h);
                                         Matrix<double> sum = scores.matrix(n);
                                         for (Index c = 0; mask.size() > 0 && c < sum.size(); ++c)
                                             if (mask.data()[c] == 0) sum.data()[c] += constant;
                                         return masked_softmax<double>(sum, {});
                                     });
                             }}}};
    };
    for (const bool keys_alone : {true, false})
        for (const double constant : {-4.0, -6.0}) {
            check_named(case_named("ms_deberta_v3_emd"), leaking(constant, keys_alone), 35,
                        {{"scores", "probs"}, {"probs"}});
            check_named(case_named("hf_deberta_v2_clamp"), leaking(constant, keys_alone), 35, {{"scores", "probs"}});
        }
    check_named(case_named("ms_deberta_v3_emd"), leaking(-1, false), 31, {{"scores", "probs"}});
}

TEST_CASE("catalogue: a table whose rows fold into the batch", "[kit]") {
    const RecordedPort& whole = case_named("ms_deberta_v3_emd");  // 2k = 16
    for (const auto& [batch, length] : {std::pair<Index, Index>{2, 8}, {4, 4}}) {
        RecordedPort one{"B T = 2k", {}, whole.model, {ModelInput{}}};
        one.segments[0].tokens = IndexTensor({batch, length});
        for (Index n = 0; n < batch * length; ++n) one.segments[0].tokens[n] = 1 + (7 * n + n / length) % 30;
        const Deberta<double> model(parse_deberta_config(whole.model->config_json, whole.model->location),
                                    whole.model->source);
        one.reference = model.forward(one.segments[0], DebertaOptions::of(Dialect::official));
        check_named(one, mistake_of(14).variants.at(0), 14, {every_stem(), {"c2p"}, {"p2c"}, {"scores"}});
    }
}

TEST_CASE("catalogue: an index built for the other length shows where lengths differ", "[kit]") {
    const Index queries = 3, keys = 6, k = 4;
    RecordedPort one{"Tq = 3, Tk = 6", {}, nullptr, {}};
    one.reference.add(stage_of("relative.index", RelativeBuckets::clamped(queries, keys, k).matrix()));
    one.reference.add(stage_of("layer.0.q", random_tensor({2, 3, queries, 4}, 4)));
    one.reference.add(stage_of("layer.0.k", random_tensor({2, 3, keys, 4}, 5)));
    one.reference.add(stage_of("layer.0.q_r", random_tensor({3, 2 * k, 4}, 6)));
    one.reference.add(stage_of("layer.0.k_r", random_tensor({3, 2 * k, 4}, 7)));
    const Trace silent;
    for (const char* stem : {"c2c", "c2p", "p2c", "scores"}) {
        const Trace before = one.reference;
        const Evidence evidence{before, silent, nullptr, {}};
        one.reference.add(stage_of(std::string("layer.0.") + stem, Replay(evidence, "layer.0.").computed(stem)));
    }
    for (const Variant& variant : mistake_of(15).variants)
        check_named(one, variant, 15, {every_stem(), {"/relative.index"}, {"c2p"}, {"p2c"}, {"scores"}});
    // The index alone says k, so that other mistakes are told apart without a model folder too.
    check_named(one, mistake_of(7).variants.at(0), 7, {every_stem(), {"/relative.index"}, {"scores"}});
    check_named(one, mistake_of(12).variants.at(0), 12, {every_stem(), {"/relative.index"}, {"scores"}});
}

TEST_CASE("catalogue: log buckets are read off an index that nobody explains", "[kit]") {
    for (const OffsetClamp clamp : {OffsetClamp::official, OffsetClamp::hf}) {
        RecordedPort one{"buckets", {}, nullptr, {}};
        one.reference.add(stage_of("relative.index", RelativeBuckets::logarithmic(700, 700, 256, 512, clamp).matrix()));
        for (const int number : {16, 17, 18, 19, 20, 21}) {
            const Variant& variant = mistake_of(number).variants.at(0);
            check_named(one, variant, number, {{"/relative.index"}});
        }
    }
}

TEST_CASE("catalogue: a huge score in a hidden cell takes the precision of the others", "[kit]") {
    RecordedPort one{"huge hidden score", {}, nullptr, {ModelInput{}}};
    one.segments[0].tokens = IndexTensor({1, 3});
    one.segments[0].mask = IndexTensor({1, 3}, {1, 1, 0});
    for (const double huge : {1e4, 1e9}) {
        Tensor<double> scores({1, 1, 3, 3}, {1.125, 2.25, huge, -1.5, 0.375, huge, 0, 1, 2});
        one.reference = {};
        one.reference.add(stage_of("layer.0.scores", scores));
        Tensor<double> probs(scores.shape());
        probs.matrix() = masked_softmax<double>(scores.matrix(), (Mask(3, 3) << 1, 1, 0, 1, 1, 0, 0, 0, 0).finished());
        one.reference.add(stage_of("layer.0.probs", probs));
        for (std::size_t v = huge > 1e5 ? 0 : 1; v < 3; ++v) {
            if (v == 1 && huge > 7e4) continue;  // float16 ends at 65504
            check_named(one, mistake_of(34).variants.at(v), 34, {{"scores", "probs"}, {"probs"}});
        }
    }
}

}  // namespace locus::test::test_catalogue_numbers
