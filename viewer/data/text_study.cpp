#include "viewer/data/text_study.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/check.h"
#include "core/text/corpus/small_corpus.h"
#include "core/text/statistics/similarity.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
#include "viewer/data/worker.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

constexpr std::size_t kMostDocuments = 300;
constexpr Index kMostWords = 12'000;  // of all documents together
constexpr double kExactWork = 6e7;    // sum of (words of both)^3: about a quarter of a second

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines(1);
    for (const char c : text) {
        if (c == '\n')
            lines.emplace_back();
        else if (c != '\r')
            lines.back() += c;
    }
    std::erase_if(lines,
                  [](const std::string& line) { return line.find_first_not_of(" \t\v\f") == std::string::npos; });
    return lines;
}

void read_documents(const TextQuery& query, TextTables& tables) {
    tables.lines = split_lines(query.documents);
    LOCUS_CHECK(!tables.lines.empty(), "There is no document: write one per line");
    Index words = 0;
    for (const std::string& line : tables.lines) {
        Document document = split_words(normalise_text(line));
        if (!query.stop_words) document = without_words(document, english_stop_words());
        words += static_cast<Index>(document.size());
        const bool first = tables.documents.empty();
        if (!first && (tables.documents.size() == kMostDocuments || words > kMostWords)) break;
        tables.documents.push_back(std::move(document));
    }
    tables.left_out = static_cast<Index>(tables.lines.size() - tables.documents.size());
    tables.lines.resize(tables.documents.size());
    const bool none = std::all_of(tables.documents.begin(), tables.documents.end(),
                                  [](const Document& document) { return document.empty(); });
    LOCUS_CHECK(!none, query.stop_words ? "There is not one word in these documents"
                                        : "There is not one word in these documents besides stop words");
}

void count(TextTables& tables) {
    tables.bag = bag_of_words(tables.documents);
    const SparseRows weights = tf_idf(tables.bag.counts);
    tables.counts = tables.bag.counts;
    tables.tf = term_frequencies(tables.bag.counts);
    tables.weights = weights;
    tables.df = document_frequencies(tables.bag.counts);
    tables.idf = inverse_document_frequencies(tables.bag.counts);
    tables.by_counts = cosine_similarities(tables.bag.counts);
    tables.by_weights = cosine_similarities(weights);
}

double cube(double x) { return x * x * x; }
double work(const PlacedWords& a, const PlacedWords& b) {
    return cube(static_cast<double>(a.words.size() + b.words.size()));
}

void measure_distances(TextTables& tables) {
    const auto n = tables.placed.size();
    double all = 0;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a + 1; b < n; ++b) all += work(tables.placed[a], tables.placed[b]);
    tables.relaxed = all > kExactWork;
    tables.distances = Matrix<double>::Zero(static_cast<Index>(n), static_cast<Index>(n));
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a; b < n; ++b) {
            poll_work();
            const PlacedWords &from = tables.placed[a], &to = tables.placed[b];
            const auto i = static_cast<Index>(a), j = static_cast<Index>(b);
            if (from.words.empty() || to.words.empty())
                tables.distances(i, j) = std::numeric_limits<double>::quiet_NaN();
            else if (a != b)
                tables.distances(i, j) = tables.relaxed
                                             ? relaxed_word_movers_distance(from, to, work_is_unwanted).larger()
                                             : word_movers_distance(from, to, work_is_unwanted).distance;
            tables.distances(j, i) = tables.distances(i, j);
        }
}

std::shared_ptr<const TextTables> study_documents(const TextQuery& query) {
    auto tables = std::make_shared<TextTables>();
    read_documents(query, *tables);
    poll_work();
    count(*tables);
    poll_work();
    const WordVectors vectors = learn_word_vectors(tables->documents, work_is_unwanted);
    tables->taught_by = static_cast<Index>(small_corpus().size());
    for (const Document& document : tables->documents) tables->placed.push_back(place_words(document, vectors));
    measure_distances(*tables);
    return tables;
}

/// Every word goes to its nearest one, whichever others go there.
WordMovers relaxed_plan(const PlacedWords& a, const PlacedWords& b, bool from_a) {
    WordMovers plan;
    const auto n = static_cast<Index>(a.words.size()), m = static_cast<Index>(b.words.size());
    std::vector<Index> nearest_in_a(static_cast<std::size_t>(m), 0);
    plan.costs.resize(n, m);
    plan.flow = Matrix<double>::Zero(n, m);
    const RowVector<double> weights = from_a ? a.weights() : b.weights();
    for (Index i = 0; i < n; ++i) {
        poll_work();
        plan.costs.row(i) = distances_from(a, i, b);
        if (from_a) {
            Index nearest = 0;
            plan.costs.row(i).minCoeff(&nearest);
            plan.flow(i, nearest) = weights[i];
        }
        for (Index j = 0; j < m && !from_a; ++j) {
            Index& nearest = nearest_in_a[static_cast<std::size_t>(j)];
            if (plan.costs(i, j) < plan.costs(nearest, j)) nearest = i;
        }
    }
    for (Index j = 0; j < m && !from_a; ++j) plan.flow(nearest_in_a[static_cast<std::size_t>(j)], j) = weights[j];
    plan.distance = (plan.flow.array() * plan.costs.array()).sum();
    return plan;
}

void fill_topics(Index wished, TextStudy& study, const Matrix<double>& counts) {
    const Index topics = std::clamp<Index>(wished, 1, std::min(counts.rows(), counts.cols()));
    study.space = latent_semantics(counts, topics);
    // A document that no topic touches is left with rounding, which has a direction but means nothing.
    Matrix<double> places = study.space.documents;
    for (Index row = 0; row < places.rows(); ++row) {
        study.in_topics.push_back(!(places.row(row).norm() < 1e-9 * study.space.strengths[0]));
        if (!study.in_topics.back()) places.row(row).setZero();
    }
    study.by_topics = cosine_similarities<double>(places);
}

TravelPlan plan_of(const TextTables& tables, Cell pair) {
    TravelPlan plan;
    const auto last = static_cast<Index>(tables.lines.size()) - 1;
    plan.pair = {std::min(pair.i, last), std::min(pair.j, last)};
    const PlacedWords& a = tables.placed[static_cast<std::size_t>(plan.pair.i)];
    const PlacedWords& b = tables.placed[static_cast<std::size_t>(plan.pair.j)];
    for (const auto& [placed, number] : {std::pair{&a, plan.pair.i}, {&b, plan.pair.j}})
        if (placed->words.empty()) {
            plan.unavailable = "Document " + std::to_string(number + 1) +
                               " has no word that counts, so nothing can travel from it or to it.";
            return plan;
        }
    plan.bound = relaxed_word_movers_distance(a, b, work_is_unwanted);
    plan.centroids = centroid_distance(a, b);
    plan.relaxed = work(a, b) > kExactWork;
    plan.movers = plan.relaxed ? relaxed_plan(a, b, plan.bound.from_a >= plan.bound.from_b)
                               : word_movers_distance(a, b, work_is_unwanted);
    poll_work();
    plan.moves = travels(plan.movers);
    plan.leaving = plan.movers.flow.rowwise().sum().transpose();
    plan.arriving = plan.movers.flow.colwise().sum();
    return plan;
}

}  // namespace

std::string TextStudy::outside_topics(Cell pair) const {
    const auto inside = [&](Index document) {
        return static_cast<bool>(in_topics.at(static_cast<std::size_t>(document)));
    };
    if (inside(pair.i) && inside(pair.j)) return {};
    const Index topics = space.strengths.size();
    return "not in " + std::string(topics == 1 ? "this " : "these ") + several(topics, "topic");
}

std::vector<CosinePart> cosine_parts(const Matrix<double>& rows, Cell pair) {
    std::vector<CosinePart> parts;
    const double lengths = rows.row(pair.i).norm() * rows.row(pair.j).norm();
    for (Index word = 0; word < rows.cols(); ++word) {
        const double a = rows(pair.i, word), b = rows(pair.j, word);
        if (a * b != 0) parts.push_back({word, a, b, a * b / lengths});
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const CosinePart& x, const CosinePart& y) { return std::abs(x.share) > std::abs(y.share); });
    return parts;
}

std::vector<Travel> travels(const WordMovers& movers) {
    std::vector<Travel> all;
    for (Index i = 0; i < movers.flow.rows(); ++i)
        for (Index j = 0; j < movers.flow.cols(); ++j)
            if (movers.flow(i, j) > 0) all.push_back({{i, j}, movers.flow(i, j), movers.costs(i, j)});
    std::stable_sort(all.begin(), all.end(),
                     [](const Travel& a, const Travel& b) { return a.flow * a.distance > b.flow * b.distance; });
    return all;
}

std::shared_ptr<const TextStudy> TextStudies::answer(const TextQuery& query) {
    auto study = std::make_shared<TextStudy>();
    study->query = query;
    study->serial = ++serial_;
    try {
        if (!tables_ || asked_.documents != query.documents || asked_.stop_words != query.stop_words) {
            tables_ = study_documents(query);
            asked_ = query;
        }
        fill_topics(query.topics, *study, tables_->counts);
        study->plan = plan_of(*tables_, query.pair);
        study->tables = tables_;
    } catch (const Cancelled&) {
        return nullptr;
    } catch (const std::bad_alloc&) {
        study->error = "these documents need more memory than there is, expected fewer or shorter ones";
    } catch (const std::exception& error) {
        study->error = error.what();
    }
    return study;
}

}  // namespace locus
