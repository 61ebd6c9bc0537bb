// A head without some of its terms, every head in short, several cells at once.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/check.h"
#include "core/compare.h"
#include "viewer/data/deberta_session.h"
#include "viewer/plots/head_terms.h"
#include "viewer/plots/matrix_view.h"

namespace locus::test::test_head_terms {

namespace {

const DebertaSession& tiny() {
    static const DebertaSession session("tiny-v3");
    return session;
}

std::shared_ptr<const Answer> ask(Request request) {
    auto answer = tiny().answer(request);
    INFO(answer->error);
    REQUIRE(answer->error.empty());
    return answer;
}

Request sentence() {
    Request request;
    request.text = "a new [MASK] opened beside the new [MASK].";
    request.layer = 2;
    return request;
}

HeadTerms terms_of(const Answer& answer, Index head) {
    return {answer.stage("c2c")->matrix(head), answer.stage("c2p")->matrix(head), answer.stage("p2c")->matrix(head)};
}

TermScale scale_of(const Answer& answer, bool follows = true) {
    return {answer.divisor_terms, follows, tiny().config().attention_head_size};
}

/// How far rounding may take a value of a stage of the layer on screen.
double allowed(const Answer& answer, const std::string& stem) {
    const Stage& stage = answer.trace.at("layer." + std::to_string(answer.request.layer) + "." + stem);
    const Tolerance tolerance = derived_tolerance(answer.trace, stage, stage);
    return tolerance.absolute + tolerance.relative * stage.as<float>().rows().cwiseAbs().maxCoeff();
}

/// By how much the values of all terms of a head differ from the means of their rows, per pair.
double mean_deviation(const HeadTerms& terms) {
    double sum = 0;
    for (const Matrix<float>* term : {&terms.c2c, &terms.c2p, &terms.p2c})
        sum += (term->colwise() - term->rowwise().mean()).cwiseAbs().mean();
    return sum;
}

KeptTerms kept_of(int bits) { return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}; }

}  // namespace

TEST_CASE("ablation: with every term in place a head is the model's own, bit for bit", "[view][attention][law]") {
    Request padded;
    padded.tokens = "1,7,8,9,10,2,0,0";
    padded.mask = "1,1,1,1,1,1,0,0";
    for (const Request& request : {sentence(), padded}) {
        const auto answer = ask(request);
        for (Index head = 0; head < tiny().config().num_attention_heads; ++head) {
            const AblatedHead whole =
                ablate(terms_of(*answer, head), {}, scale_of(*answer), answer->visible, answer->options.masked_row);
            CHECK(whole.scores == answer->stage("scores")->matrix(head));
            CHECK(whole.probs == answer->stage("probs")->matrix(head));
            CHECK(whole.divisor_terms == answer->divisor_terms);
        }
    }
}

TEST_CASE("ablation: the microscope replays every cell of every ablated head, bit for bit", "[view][attention][law]") {
    for (const Dialect dialect : {Dialect::official, Dialect::paper}) {
        Request request = sentence();
        request.dialect = dialect;
        const auto answer = ask(request);
        const Index head = 3, length = answer->length();
        const HeadTensors<float> tensors{answer->stage("q")->matrix(head), answer->stage("k")->matrix(head),
                                         answer->stage("k_r")->matrix(head), answer->stage("q_r")->matrix(head),
                                         answer->visible};
        for (int bits = 0; bits < 8; ++bits)
            for (const bool follows : {true, false}) {
                const AblatedHead left = ablate(terms_of(*answer, head), kept_of(bits), scale_of(*answer, follows),
                                                answer->visible, answer->options.masked_row);
                for (Index i = 0; i < length; ++i)
                    for (Index j = 0; j < length; ++j) {
                        const auto cell = explain_cell<float>(tensors, *answer->buckets, answer->options.p2c_index,
                                                              left.divisor_terms, i, j, kept_of(bits));
                        REQUIRE(cell.score == left.scores(i, j));
                        REQUIRE(cell.probability == left.probs(i, j));
                        REQUIRE(cell.c2p.value == answer->stage("c2p")->matrix(head)(i, j));
                    }
            }
    }
}

TEST_CASE("ablation: the scale counts the terms that are left, or stays", "[view][attention]") {
    const Terms all{}, content{false, false};
    CHECK(divisor_terms_left(all, {}, {3, true, 32}) == 3);
    CHECK(divisor_terms_left(all, {true, false, true}, {3, true, 32}) == 2);
    CHECK(divisor_terms_left(all, {false, false, true}, {3, true, 32}) == 1);
    CHECK(divisor_terms_left(all, {false, false, false}, {3, true, 32}) == 1);
    CHECK(divisor_terms_left(all, {true, false, true}, {3, false, 32}) == 3);
    CHECK(divisor_terms_left(content, {true, false, false}, {1, true, 32}) == 1);  // it never had the others
    CHECK(divisor_terms_left({false, true}, {true, false, true}, {2, true, 32}) == 2);
    CHECK(divisor_terms_left({true, false}, {true, true, false}, {2, true, 32}) == 2);
    const Matrix<float> one = Matrix<float>::Constant(1, 1, 6.0f);
    CHECK(ablate({one, one, one}, {true, false, false}, {3, true, 4}, {}, MaskedRow::zero).scores(0, 0) == 3.0f);
    CHECK(ablate({one, one, one}, {true, false, false}, {4, false, 4}, {}, MaskedRow::zero).scores(0, 0) == 1.5f);
    for (const auto& [rows, cols] : {std::pair{2, 2}, {2, 1}, {1, 2}})
        CHECK_THROWS_AS(ablate({one, Matrix<float>::Ones(rows, cols), one}, {}, {3, true, 4}, {}, MaskedRow::zero),
                        Error);
}

TEST_CASE("ablation: without any term every visible key gets the same", "[view][attention]") {
    const Matrix<float> term = Matrix<float>::Random(4, 4) * 5;
    Mask visible = Mask::Ones(4, 4);
    visible.col(3).setZero();
    const AblatedHead none = ablate({term, term, term}, kept_of(0), {3, true, 8}, visible, MaskedRow::zero);
    CHECK(none.probs.leftCols(3) == Matrix<float>::Constant(4, 3, 1.0f / 3));
    CHECK(none.probs.col(3).isZero(0));
    visible.row(2).setZero();
    const auto hidden = [&](MaskedRow row) {
        return ablate({term, term, term}, kept_of(7), {3, true, 8}, visible, row).probs.row(2).eval();
    };
    CHECK(hidden(MaskedRow::zero).isZero(0));
    CHECK(hidden(MaskedRow::uniform) == RowVector<float>::Constant(4, 0.25f));
}

TEST_CASE("shares: a number added to a whole row of a term changes nothing", "[view][attention][law]") {
    HeadTerms terms{Matrix<float>(2, 2), Matrix<float>(2, 2), Matrix<float>(2, 2)};
    terms.c2c << 1, 3, 0, 4;   // strays by 1 1 2 2
    terms.c2p << 5, 5, -8, 8;  // 0 0 8 8
    terms.p2c << 1, 1, 9, 9;   // nowhere
    const TermShares shares = term_shares(terms, {});
    CHECK(shares[0] == Approx(6.0 / 22));
    CHECK(shares[1] == Approx(16.0 / 22));
    CHECK(shares[2] == 0);
    CHECK(dominant_term(shares) == std::optional<std::size_t>(1));
    terms.c2c.row(0).array() += 64;
    terms.p2c.row(1).array() -= 1024;
    CHECK(term_shares(terms, {}) == shares);
    CHECK_THROWS_AS(term_shares(terms, Mask::Ones(3, 3)), Error);
}

TEST_CASE("shares: hidden keys count neither in the mean nor beside it", "[view][attention]") {
    HeadTerms terms{Matrix<float>(2, 3), Matrix<float>(2, 3), {}};
    terms.c2c << 1, 3, 900, 2, 2, -70;
    terms.c2p << 0, 6, 5, 1, 1, 5;
    Mask visible = Mask::Ones(2, 3);
    visible.col(2).setZero();
    const TermShares shares = term_shares(terms, visible);
    CHECK(shares[0] == 0.25);
    CHECK(shares[1] == 0.75);
    CHECK(shares[2] == 0);
}

TEST_CASE("shares: nothing dominates where nothing strays or a value is not finite", "[view][attention]") {
    const Matrix<float> one = Matrix<float>::Constant(1, 1, 7.0f);
    CHECK_FALSE(dominant_term(term_shares({one, one, one}, {})));
    CHECK(term_shares({one, one, one}, {}) == TermShares{0, 0, 0});
    Matrix<float> broken = Matrix<float>::Random(3, 3);
    broken(1, 1) = std::nanf("");
    CHECK_FALSE(dominant_term(term_shares({broken, Matrix<float>::Random(3, 3), {}}, {})));
    CHECK(term_shares({broken, Matrix<float>::Random(3, 3), {}}, {}) == TermShares{0, 0, 0});
}

TEST_CASE("shares: by distance they add up to one, and all distances together are the head", "[view][attention][law]") {
    const auto answer = ask(sentence());
    const HeadTerms terms = terms_of(*answer, 3);
    const auto curves = shares_by_distance(terms, answer->visible);
    REQUIRE(curves[0].size() == static_cast<std::size_t>(2 * answer->length() - 1));
    for (std::size_t n = 0; n < curves[0].size(); ++n) CHECK(curves[0][n] + curves[1][n] + curves[2][n] == Approx(1.0));
    // One key to the left of the last token only: offset T - 1 has one pair.
    const Index last = answer->length() - 1;
    const auto strays = [&](const Matrix<float>& term) {
        return std::abs(static_cast<double>(term(last, 0)) - term.row(last).cast<double>().mean());
    };
    CHECK(curves[1].back() == Approx(strays(terms.c2p) / (strays(terms.c2c) + strays(terms.c2p) + strays(terms.p2c))));
    const auto alone = shares_by_distance({Matrix<float>::Ones(1, 1), {}, {}}, {});
    CHECK(std::isnan(alone[0].front()));
}

TEST_CASE("overview: every head's picture and shares are those of its own layer", "[view][attention][law]") {
    Request request = sentence();
    request.overview = true;
    const auto answer = ask(request);
    REQUIRE(answer->overview);
    const DebertaConfig& config = tiny().config();
    CHECK(answer->overview->layers == config.num_hidden_layers);
    CHECK(answer->overview->heads == config.num_attention_heads);
    for (Index layer = 0; layer < config.num_hidden_layers; ++layer) {
        Request one = sentence();
        one.layer = layer;
        const auto alone = ask(one);
        CHECK_FALSE(alone->overview);
        for (Index head = 0; head < config.num_attention_heads; ++head) {
            const HeadSummary& summary = answer->overview->at(layer, head);
            // Layers below it ran by the fast path: equal up to rounding, NaN never.
            const Matrix<float> probs = alone->stage("probs")->matrix(head);
            REQUIRE(summary.picture.rows() == probs.rows());
            REQUIRE(summary.picture.cols() == probs.cols());
            CHECK((summary.picture - probs).cwiseAbs().maxCoeff() <= allowed(*alone, "probs"));
            const HeadTerms terms = terms_of(*alone, head);
            const TermShares shares = term_shares(terms, alone->visible);
            // A value that is off by e moves its row's mean, itself and the sum of all deviations by e each.
            const double off = allowed(*alone, "c2c") + allowed(*alone, "c2p") + allowed(*alone, "p2c");
            for (std::size_t term = 0; term < shares.size(); ++term)
                CHECK(std::abs(summary.shares[term] - shares[term]) <= 4 * off / mean_deviation(terms));
        }
    }
    request.layer = 4;
    CHECK(ask(request)->overview == answer->overview);  // another layer on screen costs nothing
    request.masked = {5};
    CHECK(ask(request)->overview != answer->overview);
}

TEST_CASE("overview: a long head's picture keeps its brightest cell", "[view][attention]") {
    Mask some = Mask::Ones(2, 3);
    some.col(2).setZero();
    Matrix<float> term(2, 3);
    term << 1, 3, 900, 2, 2, -70;
    const HeadSummary small = summarise_head({term, term.rowwise().reverse(), {}}, term, some);
    REQUIRE(small.visible.size() == some.size());
    CHECK(small.visible == some);
    CHECK(small.shares == term_shares({term, term.rowwise().reverse(), {}}, some));
    CHECK(small.shares != term_shares({term, term.rowwise().reverse(), {}}, {}));
    Matrix<float> probs = Matrix<float>::Zero(300, 300);
    probs(123, 217) = 0.875f;
    const Matrix<float> flat = Matrix<float>::Zero(300, 300);
    const HeadSummary summary = summarise_head({flat, flat, flat}, probs, {});
    CHECK(summary.picture.rows() <= kPictureSide);
    CHECK(summary.picture.maxCoeff() == 0.875f);
    Mask visible = Mask::Ones(300, 300);
    visible.rightCols(100).setZero();
    const HeadSummary hidden = summarise_head({flat, flat, flat}, probs, visible);
    CHECK(hidden.picture.maxCoeff() == 0);
    CHECK(hidden.visible(0, 0) == 1);
    CHECK(hidden.visible(0, hidden.visible.cols() - 1) == 0);
}

TEST_CASE("selection: a rectangle may be drawn from any corner", "[view][attention]") {
    const Selection block{{2, 3, 4}, {1, 2}};
    CHECK(block_of({2, 1}, {4, 2}) == block);
    CHECK(block_of({4, 2}, {2, 1}) == block);
    CHECK(block_of({2, 2}, {4, 1}) == block);
    CHECK(runs_in_words({2, 3, 4, 8, 9, 11}) == "2 \u2026 4, 8, 9, 11");
    CHECK(runs_in_words({}) == "");
    std::vector<Index> numbers;
    for (const Index n : {5, 1, 9, 5, 3}) toggle(numbers, n);
    CHECK(numbers == std::vector<Index>{1, 3, 9});
    CHECK(inside({{1, 3, 9}, {0, 7}}, 9, 7) == Selection{{1, 3}, {0}});
}

TEST_CASE("selection: means and sums leave hidden pairs out", "[view][attention]") {
    Matrix<float> values(2, 3);
    values << 1, 2, 4, 8, 16, 32;
    Mask visible = Mask::Ones(2, 3);
    visible(1, 2) = 0;
    const SelectionTotal block = total_of(values, visible, {{0, 1}, {1, 2}});
    CHECK(block.pairs == 3);
    CHECK(block.sum == 22);
    CHECK(total_of(values, {}, {{1}, {}}).sum == 56);      // a whole row
    CHECK(total_of(values, {}, {{}, {0}}).mean() == 4.5);  // a whole column
    const auto below = totals_of_rows(values, visible, {0, 1});
    REQUIRE(below.size() == 3);
    CHECK(below[0].mean() == 4.5);
    CHECK(below[2].mean() == 4);
    const auto beside = totals_of_cols(values, visible, {2});
    CHECK(beside[0].sum == 4);
    CHECK(beside[1].pairs == 0);
    CHECK(std::isnan(beside[1].mean()));
    CHECK_THROWS_AS(total_of(values, {}, {}), Error);
    CHECK_THROWS_AS(total_of(values, {}, {{2}, {}}), Error);
}

TEST_CASE("distance_curve: the mean magnitude of every diagonal, keys at the right first", "[viewer]") {
    Matrix<float> term(3, 3);
    term << 1, -2, 9, 4, -3, 2, -7, 6, 5;
    // offsets -2 (j right of i) ... 2
    CHECK(strength_by_distance(term, {}) == std::vector<double>{9, 2, 3, 5, 7});
}

TEST_CASE("distance_curve: hidden pairs do not count, and a diagonal without pairs has no value", "[viewer]") {
    Matrix<float> term(2, 2);
    term << 1, 50, 4, 3;
    Mask visible(2, 2);
    visible << 1, 0, 1, 0;
    const std::vector<double> curve = strength_by_distance(term, visible);
    REQUIRE(curve.size() == 3);
    CHECK(std::isnan(curve[0]));
    CHECK(curve[1] == 1);
    CHECK(curve[2] == 4);
}

TEST_CASE("distance_curve: one token has one distance", "[viewer]") {
    CHECK(strength_by_distance(Matrix<float>::Constant(1, 1, -2.0f), {}) == std::vector<double>{2});
}

TEST_CASE("distance_curve: a term that is not square is refused", "[viewer]") {
    CHECK_THROWS_AS(strength_by_distance(Matrix<float>::Ones(2, 3), {}), Error);
    CHECK_THROWS_AS(strength_by_distance(Matrix<float>::Ones(2, 2), Mask::Ones(3, 3)), Error);
}

// What a head has learnt of distance: products with the row of every offset.

TEST_CASE("learned curve: every offset takes the row that the buckets give it", "[view][training]") {
    // 4 rows for offsets clamped to -2 ... 1.
    const RelativeBuckets buckets = RelativeBuckets::clamped(4, 4, 2);
    Matrix<float> contents(2, 2), table(4, 2);
    contents << 1, 0, 2, 10;
    table << 1, 5, 2, 6, 3, 7, 4, 8;
    const Matrix<float> products = distance_products(contents, table, buckets, 3);
    Matrix<float> expected(2, 7);     // offsets -3 ... 3
    expected << 1, 1, 2, 3, 4, 4, 4,  //
        52, 52, 64, 76, 88, 88, 88;
    CHECK(products == expected);
    CHECK(mean_of_rows(products) == std::vector<double>{26.5, 26.5, 33, 39.5, 46, 46, 46});
    CHECK(std::isnan(mean_of_rows(Matrix<float>(0, 1)).front()));
}

TEST_CASE("learned curve: what does not fit is refused", "[view][training]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(4, 4, 2);
    const Matrix<float> two = Matrix<float>::Ones(3, 2), table = Matrix<float>::Ones(4, 2);
    CHECK_NOTHROW(distance_products(two, table, buckets, 3));
    CHECK_THROWS_AS(distance_products(two, table, buckets, 4), Error);
    CHECK_THROWS_AS(distance_products(two, table, buckets, -1), Error);
    CHECK_THROWS_AS(distance_products(Matrix<float>::Ones(3, 3), table, buckets, 3), Error);
    CHECK_THROWS_AS(distance_products(two, Matrix<float>::Ones(5, 2), buckets, 3), Error);
}

}  // namespace locus::test::test_head_terms
