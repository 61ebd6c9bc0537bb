// What the Text page shows, against sums written out here.
#include <catch2/catch.hpp>

#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "core/text/corpus/small_corpus.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"
#include "viewer/data/text_study.h"
#include "viewer/state/state.h"

namespace locus::test::test_text_study {

using Catch::Contains;

namespace {

std::shared_ptr<const TextStudy> study_of(const std::string& documents, Cell pair = {0, 1}, bool stop_words = true,
                                          Index topics = 2) {
    return TextStudies().answer({documents, stop_words, topics, pair});
}

/// Words of a line without capitals or punctuation.
std::vector<std::string> plain_words(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

std::map<std::string, double> counted(const std::string& line) {
    std::map<std::string, double> counts;
    for (const std::string& word : plain_words(line)) ++counts[word];
    return counts;
}

double cosine(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
    double dot = 0, aa = 0, bb = 0;
    for (const auto& [word, value] : a) {
        aa += value * value;
        if (const auto other = b.find(word); other != b.end()) dot += value * other->second;
    }
    for (const auto& [word, value] : b) bb += value * value;
    return aa == 0 || bb == 0 ? 0 : dot / std::sqrt(aa * bb);
}

const std::vector<std::string> kLines = {"the car met the other car", "a car and a van", "rain fell on the lake",
                                         "rain on rain on rain"};
std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("text page: it opens on two documents without a common word that lie nearest", "[view][text_page]") {
    const TextPageState state;
    const auto study = TextStudies().answer({state.documents, state.stop_words, state.topics, state.pair});
    REQUIRE(study->error.empty());
    const TextTables& tables = *study->tables;
    CHECK(tables.by_counts(0, 1) == 0);
    CHECK(tables.by_weights(0, 1) == 0);
    for (Index other = 2; other < study->documents(); ++other)
        CHECK(tables.distances(0, 1) < 0.5 * tables.distances(0, other));
    // Each word goes to the one that means the same.
    std::set<std::pair<std::string, std::string>> moves;
    for (const Travel& travel : travels(study->plan.movers))
        moves.insert({study->words_of(0).words[static_cast<std::size_t>(travel.move.i)].text,
                      study->words_of(1).words[static_cast<std::size_t>(travel.move.j)].text});
    CHECK(moves == std::set<std::pair<std::string, std::string>>{
                       {"obama", "president"}, {"speaks", "greets"}, {"media", "press"}, {"illinois", "chicago"}});
    // 1 and 5 share no word, but 4 has words of both: topics find that, counts do not.
    CHECK(tables.by_counts(0, 4) == 0);
    CHECK(study->by_topics(0, 4) > 0.9);
    // No topic touches document 2: it is not even like itself, and that is said.
    CHECK(study->by_topics(1, 1) == 0);
    CHECK(study->outside_topics({1, 1}) == "not in these 2 topics");
    CHECK(study->outside_topics({0, 1}) == "not in these 2 topics");
    CHECK(study->outside_topics({0, 4}).empty());
    CHECK(tables.bag.words.word(state.weight.j) == "car");
    CHECK(tables.weights(state.weight.i, state.weight.j) == Approx(3.0 / 6 * std::log10(6.0 / 2)).epsilon(1e-14));
}

TEST_CASE("text page: counts, weights and cosines are those of sums by hand", "[view][text_page]") {
    const auto study = study_of(joined(kLines));
    REQUIRE(study->error.empty());
    const TextTables& tables = *study->tables;
    REQUIRE(study->documents() == 4);
    std::vector<std::map<std::string, double>> counts, weights;
    for (const std::string& line : kLines) counts.push_back(counted(line));
    for (std::size_t d = 0; d < kLines.size(); ++d) {
        weights.push_back(counts[d]);
        for (auto& [word, value] : weights.back()) {
            double holding = 0;
            for (const auto& other : counts) holding += static_cast<double>(other.count(word));
            value = value / static_cast<double>(plain_words(kLines[d]).size()) * std::log10(4 / holding);
        }
    }
    for (Index d = 0; d < 4; ++d)
        for (Index w = 0; w < tables.bag.words.size(); ++w) {
            const std::string& word = tables.bag.words.word(w);
            const auto at = counts[static_cast<std::size_t>(d)].find(word);
            const bool there = at != counts[static_cast<std::size_t>(d)].end();
            CHECK(tables.counts(d, w) == (there ? at->second : 0));
            CHECK(std::abs(
                      tables.tf(d, w) -
                      (there ? at->second / static_cast<double>(plain_words(kLines[static_cast<std::size_t>(d)]).size())
                             : 0)) < 1e-15);
            double holding = 0;
            for (const auto& other : counts) holding += static_cast<double>(other.count(word));
            CHECK(tables.df[static_cast<std::size_t>(w)] == holding);
            CHECK(tables.idf[w] == Approx(std::log10(4 / holding)).margin(1e-15));
            CHECK(std::abs(tables.weights(d, w) - (there ? weights[static_cast<std::size_t>(d)][word] : 0)) < 1e-15);
        }
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b) {
            const auto i = static_cast<Index>(a), j = static_cast<Index>(b);
            CHECK(std::abs(tables.by_counts(i, j) - cosine(counts[a], counts[b])) < 1e-14);
            CHECK(std::abs(tables.by_weights(i, j) - cosine(weights[a], weights[b])) < 1e-14);
        }
}

TEST_CASE("text page: the parts of a cosine add up to it, the largest first", "[view][text_page][law]") {
    const auto study = study_of(joined(kLines));
    const TextTables& tables = *study->tables;
    for (const auto* rows : {&tables.counts, &tables.weights})
        for (Index i = 0; i < 4; ++i)
            for (Index j = 0; j < 4; ++j) {
                double sum = 0, before = 2;
                for (const CosinePart& part : cosine_parts(*rows, {i, j})) {
                    CHECK(part.share == Approx((*rows)(i, part.word) * (*rows)(j, part.word) / rows->row(i).norm() /
                                               rows->row(j).norm()));
                    CHECK(std::abs(part.share) <= before);
                    before = std::abs(part.share);
                    sum += part.share;
                }
                const Matrix<double>& cosines = rows == &tables.counts ? tables.by_counts : tables.by_weights;
                CHECK(std::abs(sum - cosines(i, j)) < 1e-13);
            }
}

TEST_CASE("text page: the plan carries every word, and its price is the distance", "[view][text_page][law]") {
    for (const Cell pair : {Cell{0, 1}, Cell{1, 3}, Cell{2, 0}, Cell{3, 3}}) {
        const auto study = study_of(joined(kLines), pair);
        const TravelPlan& plan = study->plan;
        REQUIRE(plan.unavailable.empty());
        const PlacedWords &a = study->words_of(pair.i), &b = study->words_of(pair.j);
        double price = 0, dearest = std::numeric_limits<double>::infinity();
        for (const Travel& travel : travels(plan.movers)) {
            double square = 0;
            for (Index c = 0; c < a.vectors.cols(); ++c)
                square += std::pow(a.vectors(travel.move.i, c) - b.vectors(travel.move.j, c), 2);
            CHECK(std::abs(travel.distance - std::sqrt(square)) < 1e-7);
            price += travel.flow * std::sqrt(square);
            CHECK(travel.flow * travel.distance <= dearest);
            dearest = travel.flow * travel.distance;
        }
        CHECK(std::abs(price - plan.movers.distance) < 1e-7);
        CHECK(std::abs(study->tables->distances(pair.i, pair.j) - plan.movers.distance) < 1e-12);
        const auto counts = counted(kLines[static_cast<std::size_t>(pair.i)]);
        double all = 0;
        for (const auto& [word, count] : counts) all += count;
        for (Index w = 0; w < static_cast<Index>(a.words.size()); ++w)
            CHECK(std::abs(plan.movers.flow.row(w).sum() - counts.at(a.words[static_cast<std::size_t>(w)].text) / all) <
                  1e-12);
        RowVector<double> between = RowVector<double>::Zero(a.vectors.cols());
        for (const auto& [placed, line, sign] : {std::tuple{&a, pair.i, 1.0}, {&b, pair.j, -1.0}})
            for (std::size_t w = 0; w < placed->words.size(); ++w) {
                const std::string& sentence = kLines[static_cast<std::size_t>(line)];
                between += sign * counted(sentence).at(placed->words[w].text) /
                           static_cast<double>(plain_words(sentence).size()) *
                           placed->vectors.row(static_cast<Index>(w));
            }
        CHECK(std::abs(plan.centroids - between.norm()) < 1e-12);
        CHECK(plan.bound.larger() <= plan.movers.distance + 1e-9);
        CHECK(plan.centroids <= plan.movers.distance + 1e-9);
    }
}

TEST_CASE("text page: vectors have length 1, and one text gives the same ones on every run", "[view][text_page][law]") {
    const auto once = study_of(joined(kLines)), again = study_of(joined(kLines));
    for (Index d = 0; d < 4; ++d) {
        CHECK(max_abs(once->words_of(d).vectors.rowwise().norm().array() - 1) < 1e-12);
        CHECK(once->words_of(d).unknown.empty());
    }
    CHECK(once->tables->distances == again->tables->distances);
}

TEST_CASE("text page: identical documents are alike in every way", "[view][text_page]") {
    const auto study = study_of("rain fell on the lake\nrain fell on the lake\nRain fell, on the LAKE!");
    REQUIRE(study->error.empty());
    const Matrix<double> ones = Matrix<double>::Ones(3, 3);
    CHECK(max_abs(study->tables->by_counts - ones) < 1e-14);
    CHECK(max_abs(study->by_topics - ones) < 1e-12);
    CHECK(max_abs(study->tables->distances) == 0);
    CHECK(max_abs(study->tables->weights) == 0);  // every word is in every document: idf is 0
    CHECK(max_abs(study->tables->by_weights) == 0);
}

TEST_CASE("text page: one document, and topics beyond what it has", "[view][text_page]") {
    const auto study = study_of("only this", {0, 5}, true, 40);
    REQUIRE(study->error.empty());
    CHECK(study->documents() == 1);
    CHECK(study->plan.pair == Cell{0, 0});
    CHECK(study->plan.movers.distance == 0);
    CHECK(study->space.strengths.size() == 1);
}

TEST_CASE("text page: no documents, no words and damaged text are refused in one sentence", "[view][text_page]") {
    CHECK_THAT(study_of("")->error, Contains("no document"));
    CHECK_THAT(study_of(" \n\t\n\r\n")->error, Contains("no document"));
    CHECK_THAT(study_of("...\n!!")->error, Contains("not one word"));
    CHECK_THAT(study_of("the\nof and", {0, 1}, false)->error, Contains("stop words"));
    CHECK_FALSE(study_of("caf\xc3")->error.empty());
    // Studies go on after a refusal.
    TextStudies studies;
    CHECK_FALSE(studies.answer({"", false, 2, {}})->error.empty());
    CHECK(studies.answer({"rain and snow", false, 2, {}})->error.empty());
}

TEST_CASE("text page: a document of stop words alone is a row of zeros from which nothing travels",
          "[view][text_page]") {
    const auto study = study_of("the and of\nrain fell\nrain", {0, 1}, false);
    REQUIRE(study->error.empty());
    CHECK(study->tables->counts.row(0).sum() == 0);
    CHECK(std::isnan(study->tables->distances(0, 1)));
    CHECK(std::isnan(study->tables->distances(0, 0)));
    CHECK(std::isfinite(study->tables->distances(1, 2)));
    CHECK(study->by_topics(0, 1) == 0);
    CHECK_THAT(study->plan.unavailable, Contains("Document 1"));
}

TEST_CASE("text page: two hundred documents, and lines beyond what is compared", "[view][text_page]") {
    Numbers numbers(11);
    std::string many;
    for (int line = 0; line < 400; ++line) {
        if (line == 200) CHECK(study_of(many)->documents() == 200);
        for (int word = 0; word < 6; ++word) many += "w" + std::to_string(numbers.below(300)) + " ";
        many += "\n";
    }
    const auto study = study_of(many);
    REQUIRE(study->error.empty());
    CHECK(study->documents() + study->tables->left_out == 400);
    CHECK(study->tables->left_out > 0);
    CHECK(study->tables->distances.allFinite());
    CHECK(study->tables->distances == study->tables->distances.transpose());
}

TEST_CASE("text page: twelve thousand words are compared, one more is left out with its line", "[view][text_page]") {
    const auto words = [](int count) {
        std::string line;
        for (int n = 0; n < count; ++n) line += n % 2 == 0 ? "rain " : "snow ";
        return line + "\n";
    };
    CHECK(study_of(words(8000) + words(4000))->tables->left_out == 0);
    const auto more = study_of(words(8000) + words(4000) + "hail\n");
    CHECK(more->documents() == 2);
    CHECK(more->tables->left_out == 1);
    CHECK(study_of(words(12001))->documents() == 1);  // never nothing
}

TEST_CASE("text page: Chinese, Hebrew and a line of 5000 characters", "[view][text_page]") {
    const auto study = study_of(
        "\xe6\x88\x91\xe5\x96\x9c\xe6\xac\xa2\xe6\x96\xb0\xe8\xbd\xa6\n"
        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd7\xa2\xd7\x95\xd7\x9c\xd7\x9d\n"
        "\xeb\xb0\x9c \xec\x97\x86\xeb\x8a\x94 \xeb\xa7\x90\xec\x9d\xb4",
        {1, 2});
    REQUIRE(study->error.empty());
    CHECK(study->documents() == 3);
    CHECK(study->words_of(1).words.size() == 2);
    CHECK(study->words_of(2).words.size() == 3);
    CHECK(study->plan.unavailable.empty());

    std::string line;
    for (int word = 0; line.size() < 5000; ++word) line += "word" + std::to_string(word) + " ";
    const auto longer = study_of(line + "\n" + line + " again", {0, 1});
    REQUIRE(longer->error.empty());
    CHECK(longer->plan.relaxed);
    CHECK(longer->plan.movers.distance == Approx(longer->plan.bound.larger()).margin(1e-12));
    CHECK(longer->tables->relaxed);
    CHECK(study_of(std::string(5000, 'x'))->documents() == 1);
}

TEST_CASE("text page: another pair does not learn the words again, other documents do", "[view][text_page]") {
    TextStudies studies;
    const auto first = studies.answer({joined(kLines), true, 2, {0, 1}});
    const auto pair = studies.answer({joined(kLines), true, 2, {2, 3}});
    const auto other = studies.answer({joined(kLines) + "snow", true, 2, {2, 3}});
    CHECK(first->tables == pair->tables);
    CHECK(pair->tables != other->tables);
    CHECK(other->documents() == 5);
    CHECK(first->serial != pair->serial);
    const auto fewer = studies.answer({joined(kLines) + "snow", false, 2, {2, 3}});
    CHECK(fewer->tables->bag.words.size() < other->tables->bag.words.size());
}

TEST_CASE("text page: the small corpus has no sentence of one word and says the same every time", "[view][text_page]") {
    const std::vector<Document> corpus = small_corpus();
    CHECK(corpus == small_corpus());
    CHECK(corpus.size() > 200);
    for (const Document& sentence : corpus) CHECK(sentence.size() >= 2);
}

}  // namespace locus::test::test_text_study
