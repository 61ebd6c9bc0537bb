// Which row of the table and why; the microscope as text; tokens masked without touching the text; stages by name.
#include <algorithm>
#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/attention/rotary.h"
#include "tests/files.h"
#include "viewer/data/deberta_session.h"
#include "viewer/plots/cell_text.h"
#include "viewer/plots/matrix_view.h"

namespace locus::test::test_cell_text {

namespace {

const DebertaSession& tiny_model() {
    static const DebertaSession session("tiny-v3");
    return session;
}

std::shared_ptr<const Answer> answer_to(const Request& request) {
    auto answer = tiny_model().answer(request);
    INFO(answer->error);
    REQUIRE(answer->error.empty());
    return answer;
}

/// The number after the last blank of the line that starts with these words.
float number_in(const std::string& text, const std::string& words) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(words)) return std::strtof(line.c_str() + line.find_last_of(' ') + 1, nullptr);
    FAIL("no line starts with " << words);
    return 0;
}

}  // namespace

TEST_CASE("table steps: they end on the row of the model's own line, for every rule", "[view][attention][law]") {
    const Index length = 700;
    std::vector<std::pair<TableRule, RelativeBuckets>> rules;
    for (const OffsetClamp clamp : {OffsetClamp::official, OffsetClamp::hf})
        for (const auto& [buckets, farthest] : std::vector<std::pair<Index, Index>>{{32, 512}, {8, 32}, {256, 512}})
            rules.push_back({{buckets, buckets, farthest, clamp},
                             RelativeBuckets::logarithmic(length, length, buckets, farthest, clamp)});
    rules.push_back({{256, 256, 64, OffsetClamp::official},
                     RelativeBuckets::logarithmic(length, length, 256, 64, OffsetClamp::official)});
    for (const Index span : {1, 4, 512})
        rules.push_back({{0, span, span, OffsetClamp::official}, RelativeBuckets::clamped(length, length, span)});
    for (const auto& [rule, line] : rules)
        for (Index offset = 1 - length; offset < length; ++offset) {
            const std::vector<TableStep> steps = table_steps(rule, offset);
            REQUIRE(steps.front().value == offset);
            REQUIRE(steps.back().value == line.row_of_offset(offset));
        }
}

TEST_CASE("table steps: the words name the numbers of the formula", "[view][attention]") {
    const TableRule rule{32, 32, 512, OffsetClamp::official};
    const auto near = table_steps(rule, -2);
    REQUIRE(near.size() == 3);
    CHECK(near[1].label == "bucket (|i\u2212j| \u2264 16: itself)");
    CHECK(near[2].value == 30);
    const auto far = table_steps(rule, -26);
    REQUIRE(far.size() == 4);
    CHECK(far[1].label == "16 + \u230815 ln(26/16)/ln(511/16)\u2309");
    CHECK(far[1].value == 19);  // 16 + ceil(15 * 0.4855 / 3.4639) = 16 + ceil(2.10)
    CHECK(far[2].value == -19);
    CHECK(far[3].value == 13);
    CHECK(table_steps(rule, 600)[1].label == "kept within \u00b1511");
    const auto edge = table_steps({0, 4, 4, OffsetClamp::official}, 9);
    CHECK(edge[1].label == "clamped to \u22124 \u2026 3");
    CHECK(edge[2].value == 7);
    const TableRule clamped{0, 4, 4, OffsetClamp::official};
    CHECK(table_steps(clamped, 3)[1].label == "inside \u22124 \u2026 3: itself");
    CHECK(table_steps(clamped, 4)[1].value == 3);  // the table has no row for its own span
}

TEST_CASE("cell text: every number reads back as the float32 it was", "[view][attention][law]") {
    Request request;
    request.text = "a new [MASK] opened beside the new [MASK].";
    request.layer = 2;
    const auto answer = answer_to(request);
    const Index head = 3;
    const HeadTensors<float> tensors{answer->stage("q")->matrix(head), answer->stage("k")->matrix(head),
                                     answer->stage("k_r")->matrix(head), answer->stage("q_r")->matrix(head),
                                     answer->visible};
    const Matrix<float> scores = answer->stage("scores")->matrix(head), probs = answer->stage("probs")->matrix(head);
    for (const Cell at : {Cell{3, 5}, Cell{0, 0}, Cell{10, 1}}) {
        const auto cell = explain_cell<float>(tensors, *answer->buckets, answer->options.p2c_index,
                                              answer->divisor_terms, at.i, at.j);
        CellText about;
        about.where = "here";
        about.tokens = answer->labels;
        about.scores.assign(scores.row(at.i).data(), scores.row(at.i).data() + scores.cols());
        about.steps = table_steps(TableRule::of(tiny_model().config(), answer->options.offset_clamp), cell.offset);
        const std::string text = cell_text(cell, about);
        CHECK(text.starts_with("here\ncell (" + std::to_string(at.i) + ", " + std::to_string(at.j) +
                               "): " + answer->labels[static_cast<std::size_t>(at.i)] + " looks at " +
                               answer->labels[static_cast<std::size_t>(at.j)] + ", "));
        CHECK(number_in(text, "score - row maximum") == cell.score - cell.row_maximum);
        CHECK(number_in(text, "exp of it") == std::exp(cell.score - cell.row_maximum));
        // Official: p2c reads the row of i - j like c2p does, so there is no second row to tell of.
        CHECK(text.find("uses j - i") == std::string::npos);
        CHECK(text.find(answer->labels[static_cast<std::size_t>(at.j)]) != std::string::npos);
        CHECK(number_in(text, "score  ") == scores(at.i, at.j));
        CHECK(number_in(text, "probability  ") == probs(at.i, at.j));
        CHECK(number_in(text, "content to content") == cell.c2c.value);
        CHECK(number_in(text, "content to position") == cell.c2p.value);
        CHECK(number_in(text, "position to content") == cell.p2c.value);
        CHECK(number_in(text, "     31") == cell.c2c.running.back());
        const std::string row = text.substr(text.find("the whole row"));
        std::istringstream words(row.substr(row.find("\n      0") + 8));
        float score = 0, exponential = 0, probability = 0;
        words >> score >> exponential >> probability;
        CHECK(score == scores(at.i, 0));
        CHECK(probability == probs(at.i, 0));
        CHECK(text.find("+ span k = 32 \u2192 row: " + std::to_string(cell.c2p.row)) != std::string::npos);
        CHECK(text.back() == '\n');
        about.softmax_follows = false;
        const std::string mixed = cell_text(cell, about);
        CHECK(mixed.find("this model mixes the heads before the softmax\n") != std::string::npos);
        CHECK(mixed.find("probability") == std::string::npos);
        CHECK(mixed.find("the whole row") == std::string::npos);
    }
    const auto paper = explain_cell<float>(tensors, *answer->buckets, P2cIndex::paper_ji, answer->divisor_terms, 3, 5);
    CellText about{"here", answer->labels, {}, {}, {}, true};
    about.steps = table_steps(TableRule::of(tiny_model().config(), answer->options.offset_clamp), paper.offset);
    REQUIRE(paper.p2c.row != paper.c2p.row);
    CHECK(cell_text(paper, about).find("position to content uses j - i: " + std::to_string(paper.p2c.row) + "\n") !=
          std::string::npos);
}

TEST_CASE("cell text: dropped terms and hidden pairs are said to be so", "[view][attention]") {
    HeadTensors<float> head{
        Matrix<float>::Random(3, 4), Matrix<float>::Random(3, 4), Matrix<float>::Random(4, 4), {}, Mask::Ones(3, 3)};
    head.mask(1, 2) = 0;
    const RelativeBuckets buckets = RelativeBuckets::clamped(3, 3, 2);
    const auto cell = explain_cell<float>(head, buckets, P2cIndex::official_ij, 1, 1, 2, {true, false, true});
    CellText about{"here", {"a", "b", "c"}, {1, 2, 3}, {true, true, false}, {}, true};
    const std::string text = cell_text(cell, about);
    CHECK(text.find("content to position") != std::string::npos);
    CHECK(text.find("(dropped: not in the sum)") != std::string::npos);
    CHECK(text.find("position to content") == std::string::npos);  // the head has none
    CHECK(text.find("its probability is exactly 0") != std::string::npos);
    CHECK(text.find("c (hidden)") != std::string::npos);
    CHECK(text.find("which table row") == std::string::npos);
}

TEST_CASE("microscope: a masked query's row has the probabilities that the dialect's stage has",
          "[view][attention][law]") {
    for (const Dialect dialect : {Dialect::official, Dialect::hf}) {
        Request request;
        request.tokens = "1,40,41,42,2";
        request.mask = "1,1,0,1,1";
        request.dialect = dialect;
        request.layer = 2;
        const auto answer = answer_to(request);
        const HeadTensors<float> tensors = head_tensors(*answer, "layer.2", 1);
        const Matrix<float> probs = answer->stage("probs")->matrix(1);
        for (Index i = 0; i < 5; ++i)
            for (Index j = 0; j < 5; ++j) {
                const auto cell = explain_cell<float>(tensors, *answer->buckets, answer->options.p2c_index,
                                                      answer->divisor_terms, i, j);
                CAPTURE(to_string(dialect), i, j);
                CHECK(cell.probability == probs(i, j));
            }
        const auto cell =
            explain_cell<float>(tensors, *answer->buckets, answer->options.p2c_index, answer->divisor_terms, 2, 3);
        const CellText about{"here", answer->labels, {1, 2, 3, 4, 5}, std::vector<bool>(5, false), {}, true};
        const std::string text = cell_text(cell, about);
        CHECK((text.find("exactly 0") != std::string::npos) == (dialect == Dialect::official));
        CHECK((text.find("the same probability, 1 / 5.") != std::string::npos) == (dialect == Dialect::hf));
        CHECK((text.find("0.200000003") != std::string::npos) == (dialect == Dialect::hf));  // in the whole row
    }
}

TEST_CASE("labels: where the tokenizer calls its mask <mask>, [MASK] is one token of that name", "[view][attention]") {
    const TemporaryFolder folder;
    for (const char* file : {"config.json", "pytorch_model.bin"})
        fs::copy_file(resolve_model("tiny-v3") / file, folder / file);
    write_bytes(folder / "vocab.txt", "[PAD]\n[CLS]\n[SEP]\n[UNK]\n<mask>\nthe\ncat\nsat\n.\n");
    write_bytes(folder / "tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer", "mask_token": "<mask>"})");
    const DebertaSession session(folder.path().string());
    Request request;
    request.text = "the [MASK] sat.";
    const auto answer = session.answer(request);
    INFO(answer->error);
    REQUIRE(answer->error.empty());
    CHECK(answer->labels == std::vector<std::string>{"[CLS]", "the", "<mask>", "sat", ".", "[SEP]"});
    CHECK(answer->labels == session.words_of({"", request.text, "", ""}, session.input_of(request)));
    CHECK(answer->special == std::vector<bool>{true, false, true, false, false, true});
}

TEST_CASE("masked tokens: as if [MASK] had been written, and the text stays", "[view][attention][law]") {
    Request written;
    written.text = "the capital of [MASK] is paris.";
    Request chosen;
    chosen.text = "the capital of france is paris.";
    const auto plain = answer_to(chosen);
    const auto place = std::find(plain->labels.begin(), plain->labels.end(), "france") - plain->labels.begin();
    REQUIRE(place < static_cast<std::ptrdiff_t>(plain->labels.size()));
    const auto at = static_cast<std::size_t>(place);
    chosen.masked = {place, 4000};  // a place that the text does not have changes nothing
    const auto masked = answer_to(chosen), expected = answer_to(written);
    CHECK(masked->stage("scores")->values() == expected->stage("scores")->values());
    CHECK(masked->stage("scores")->values() != plain->stage("scores")->values());
    CHECK(masked->labels[at] == "[MASK]");
    CHECK(masked->special[at]);
    CHECK(masked->behind[at] == "france");
    CHECK(plain->behind[at].empty());
    CHECK(tiny_model().input_of(chosen).mask_positions.values() ==
          tiny_model().input_of(written).mask_positions.values());
    CHECK(answer_to(written)->behind[at].empty());
}

TEST_CASE("masked tokens: right-to-left text and emoji keep their places", "[view][attention]") {
    for (const char* text :
         {"\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\U0001F468\u200D\U0001F469 ok", "a"}) {
        Request request;
        request.text = text;
        const auto plain = answer_to(request);
        for (Index t = 0; t < plain->length(); ++t) {
            request.masked = {t};
            const auto masked = answer_to(request);
            REQUIRE(masked->length() == plain->length());
            for (std::size_t n = 0; n < plain->labels.size(); ++n)
                CHECK(masked->labels[n] == (static_cast<Index>(n) == t ? "[MASK]" : plain->labels[n]));
        }
    }
}

TEST_CASE("stages by name: every one that is listed can be asked for", "[view][attention]") {
    Request request;
    request.text = "a [MASK].";
    const auto first = answer_to(request);
    CHECK(first->shown_stage.empty());
    REQUIRE(first->stages.size() > 20);
    for (const std::string& name : first->stages) {
        request.stage = name;
        const auto answer = answer_to(request);
        CHECK(answer->shown_stage == name);
        CHECK(answer->trace.find(name) != nullptr);
        CHECK(answer->stage("probs") != nullptr);
    }
    request.stage = "layer.1.nothing";
    CHECK_FALSE(answer_to(request)->shown_stage.empty());
}

// What "copy as text" copies: every number of the cell, written so that it reads back with the same bits.

namespace {

/// The number after "name = ".
float value_of(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("\n" + name + " = ");
    REQUIRE(at != std::string::npos);
    float number = 0;
    const char* from = text.data() + at + name.size() + 4;
    REQUIRE(std::from_chars(from, text.data() + text.size(), number).ec == std::errc{});
    return number;
}

/// The cells of the line that follows `heading` by `below` lines.
std::vector<std::string> cells_below(const std::string& text, const std::string& heading, int below) {
    std::istringstream lines(text.substr(text.find(heading)));
    std::string line, cell;
    for (int n = 0; n <= below; ++n) std::getline(lines, line);
    std::istringstream row(line);
    std::vector<std::string> cells;
    while (std::getline(row, cell, '\t')) cells.push_back(cell);
    return cells;
}

RotaryHeadTensors<float> some_head() {
    const auto table = rotary_table<float>(inverse_frequencies(8), 0, 5);
    return {Matrix<float>::Random(5, 8), Matrix<float>::Random(5, 8), table, table, RotaryLayout::interleaved, {}};
}

const ExplainedPair kPair{"tiny-roformer, layer 1, head 2", "beside", "opened", 4, 1};

}  // namespace

TEST_CASE("copied text: a rotary cell has every step with its bits", "[viewer][rope][text]") {
    const auto cell = explain_rotary_cell<float>(some_head(), 4, 1);
    const std::string text = cell_text(cell, kPair, inverse_frequencies(8), true);
    CHECK_THAT(text, Catch::StartsWith("tiny-roformer, layer 1, head 2\nquery \"beside\" at 4 looks at key "
                                       "\"opened\" at 1, m - n = 3\n"));
    CHECK(value_of(text, "sum") == cell.sum);
    CHECK(value_of(text, "square root of d") == cell.divisor);
    CHECK(value_of(text, "score") == cell.score);
    CHECK(value_of(text, "probability") == cell.softmax.probability);
    for (int c = 0; c < 8; ++c) {
        const auto row = cells_below(text, "channel\t", c + 1);
        REQUIRE(row.size() == 5);
        const auto at = static_cast<std::size_t>(c);
        CHECK(std::stof(row[1]) == cell.left[at]);
        CHECK(std::stof(row[2]) == cell.right[at]);
        CHECK(std::stof(row[3]) == cell.products[at]);
        CHECK(std::stof(row[4]) == cell.running[at]);
    }
    const auto two = [](const std::string& both, const std::string& between) {
        const std::size_t at = both.find(between);
        REQUIRE(at != std::string::npos);
        return std::pair(std::stof(both), std::stof(both.substr(at + between.size())));
    };
    for (std::size_t t = 0; t < 4; ++t) {
        const auto row = cells_below(text, "plane\t", static_cast<int>(t) + 1);
        REQUIRE(row.size() == 8);
        const RotatedPlane<float>& plane = cell.planes[t];
        CHECK(row[0] == std::to_string(t));
        CHECK(row[1] == std::to_string(2 * t) + ", " + std::to_string(2 * t + 1));
        CHECK(std::stod(row[2]) == inverse_frequencies(8)[t]);
        CHECK(std::stod(row[3]) == Approx(3 * inverse_frequencies(8)[t]));
        CHECK(two(row[4], ", ") == std::pair(plane.q_a_rot, plane.q_b_rot));
        CHECK(two(row[5], ", ") == std::pair(plane.k_a_rot, plane.k_b_rot));
        CHECK(two(row[6], " + ") == std::pair(plane.product_a, plane.product_b));
        CHECK(std::stof(row[7]) == plane.step);
    }
    const SoftmaxSteps<float>& steps = cell.softmax;
    CHECK(value_of(text, "row maximum (key " + std::to_string(steps.row_maximum_key) + ")") == steps.row_maximum);
    CHECK(value_of(text, "score - row maximum") == steps.shifted);
    CHECK(value_of(text, "exp") == steps.exponential);
    CHECK(value_of(text, "row sum of exp") == steps.denominator);
    CHECK_THAT(cell_text(cell, kPair, inverse_frequencies(8), false), !Catch::Contains("probability"));
}

TEST_CASE("copied text: a hidden pair says so", "[viewer][rope][text]") {
    auto head = some_head();
    head.mask = Mask::Ones(5, 5);
    head.mask(4, 1) = 0;
    CHECK_THAT(cell_text(explain_rotary_cell<float>(head, 4, 1), kPair, inverse_frequencies(8), true),
               Catch::Contains("the mask hides this pair"));
}

TEST_CASE("copied text: linear attention has both sums, key by key", "[viewer][linear][text]") {
    const auto head = some_head();
    const auto cell = explain_linear_cell<float>(head.q, head.k, head.q_table, RotaryLayout::interleaved,
                                                 LinearForm::paper, false, {}, 4, 1);
    const std::string text = cell_text(cell, kPair, {"a", "b", "c", "d", "e"});
    for (std::size_t c = 0; c < 8; ++c) {
        const auto row = cells_below(text, "channel\t", static_cast<int>(c) + 1);
        REQUIRE(row.size() == 5);
        CHECK(std::stof(row[1]) == cell.left[c]);
        CHECK(std::stof(row[2]) == cell.right[c]);
    }
    CHECK(value_of(text, "denominator") == cell.denominator);
    CHECK(value_of(text, "weight") == cell.weight);
    for (int j = 0; j < 5; ++j) {
        const auto row = cells_below(text, "key\tnumerator", j + 1);
        REQUIRE(row.size() == 6);
        CHECK(row[0] == std::to_string(j) + " " + std::string(1, static_cast<char>('a' + j)));
        const LinearKey<float>& key = cell.keys[static_cast<std::size_t>(j)];
        CHECK(std::stof(row[1]) == key.numerator);
        CHECK(std::stof(row[2]) == key.running_numerator);
        CHECK(std::stof(row[3]) == key.positive);
        CHECK(std::stof(row[4]) == key.running_denominator);
        CHECK(std::stof(row[5]) == key.weight);
    }
}

}  // namespace locus::test::test_cell_text
