// Lesson 22: Permutation language model
//
// Question: How can a model that predicts one word after the other learn from both sides of a word?
// Before: 02, 21. Minutes: 12. Page: permutation.
// Show: permutation.layer=1&permutation.head=1&permutation.side=cell&permutation.cell=3,6
#include <algorithm>
#include <numeric>
#include <set>

#include "core/attention/relative.h"
#include "core/positions/factorisation_order.h"
#include "core/text/statistics/factorisation.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// Positions in the order of their prediction, counted from 1 as the papers do.
using Order = std::vector<Index>;

/// The same counted from 0, as core/positions does.
Order from_zero(Order order) {
    for (Index& position : order) --position;
    return order;
}

/// 1, 2, ..., length, and then every other order of them.
std::vector<Order> all_orders(Index length) {
    Order order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), Index(1));
    std::vector<Order> orders;
    do orders.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    return orders;
}

std::set<Index> seen(const Order& order, Index target) {
    const Order known = seen_by(order, target);
    return {known.begin(), known.end()};
}

/// Masks of several orders beside each other.
Matrix<double> beside(const std::vector<Order>& orders, Visibility (*mask_of)(const std::vector<Index>&)) {
    const auto length = static_cast<Index>(orders[0].size());
    Matrix<double> all(length, length * std::ssize(orders));
    for (Index n = 0; n < std::ssize(orders); ++n)
        all.middleCols(n * length, length) = mask_of(from_zero(orders[static_cast<std::size_t>(n)])).cast<double>();
    return all;
}

double cells_that_differ(const Visibility& one, const Visibility& other) {
    return static_cast<double>((one.array() != other.array()).count());
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("22", "Permutation language model",
                          "How can a model that predicts one word after the other learn from both sides of a word?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "A language model multiplies chances: p(word 1) \u00b7 p(word 2, knowing word 1) \u00b7 \u2026 Any order "
            "of the words gives such a product. An order z lists positions: z = 2,4,3,1,6,5 predicts word 2 first and "
            "word 5 last, each from those before it in z. The example of NLP 기초 is a proverb, a word without feet "
            "goes a thousand li: 발 foot, 없는 without, 말 word, 이 (marks the subject), 천리 thousand li, 간다 goes.");
        const std::vector<std::string> words = {"발", "없는", "말", "이", "천리", "간다"};
        std::vector<std::vector<std::string>> rows = {{"order z", "천리 is predicted from", "which is"}};
        for (const auto& [order, name] :
             std::vector<std::pair<Order, std::string>>{{{1, 2, 3, 4, 5, 6}, "left to right"},
                                                        {{6, 5, 4, 3, 2, 1}, "right to left"},
                                                        {{1, 2, 5, 4, 3, 6}, "a part of the left"},
                                                        {{2, 4, 3, 1, 6, 5}, "everything, as in BERT"}}) {
            std::string z, known;
            for (const Index position : order) z += (z.empty() ? "" : ",") + std::to_string(position);
            for (const Index position : seen_by(order, 5)) known += words[static_cast<std::size_t>(position) - 1] + " ";
            rows.push_back({z, known, name});
        }
        lesson.table("발 없는 말 이 천리 간다: six words, 720 orders; 천리 is word 5", rows);
        std::set<std::set<Index>> contexts;
        for (const Order& order : all_orders(6)) contexts.insert(seen(order, 5));
        lesson.prove_equal("sets of words that predict 천리 in 720 orders: all subsets of 5",
                           static_cast<double>(contexts.size()), 32);

        lesson.say(
            "No word moves. The order lives in the attention mask: row i looks, column j is looked at, 1 = visible. "
            "rank(i) is the index of word i in z. To predict word i one may see j if rank(j) < rank(i): the query "
            "stream. The stream that passes word i on sees it too, rank(j) \u2264 rank(i): the content stream (lesson "
            "23):");
        const std::vector<Order> figures = {{3, 2, 4, 1}, {2, 4, 3, 1}, {1, 4, 2, 3}, {4, 3, 1, 2}};
        const Matrix<double> query = beside(figures, query_visibility), content = beside(figures, content_visibility);
        lesson.show("   3,2,4,1     2,4,3,1     1,4,2,3     4,3,1,2     query stream: never itself", query, "%2.0f", 4);
        lesson.show("                                                   content stream: itself too", content, "%2.0f",
                    4);
        const Matrix<double> selves = Matrix<double>::Identity(4, 4).replicate(1, 4);
        lesson.prove_equal("cells of 64 that break \"content stream = query stream + diagonal\"",
                           static_cast<double>(((content - query).array() != selves.array()).count()), 0);
        const std::vector<std::set<Index>> printed = {{}, {2, 4}, {1, 2, 4}, {4}};  // NLP 기초, figures 7 to 10
        double same = 0;
        for (std::size_t n = 0; n < figures.size(); ++n) {
            std::set<Index> sees;
            for (Index j = 0; j < 4; ++j)
                if (query(2, 4 * static_cast<Index>(n) + j) > 0) sees.insert(j + 1);
            same += sees == printed[n];
        }
        lesson.prove_equal("orders whose row 3 is as in figures 7\u201310: nothing; 2,4; 1,4,2; 4", same, 4);

        lesson.correct("NLP 기초, fig. 11", "row i sees j < i, as in GPT",
                       "GPT: row i sees j \u2264 i and predicts word i + 1");
        const Order natural = {0, 1, 2, 3};
        const Visibility gpt = transformer_xl_mask(4, 0, false, 0);
        lesson.prove_equal("cells of 16 in which GPT's mask is not figure 11: its diagonal",
                           cells_that_differ(gpt, query_visibility(natural)), 4);

        Matrix<double> counts = Matrix<double>::Zero(4, 8);
        for (const Order& order : all_orders(4)) {
            counts.leftCols(4) += query_visibility(from_zero(order)).cast<double>();
            counts.rightCols(4) += content_visibility(from_zero(order)).cast<double>();
        }
        lesson.show("  in how many of the 24 orders does row i see column j? query, content stream", counts, "%4.0f",
                    4);
        double uneven = 0;
        for (Index i = 0; i < 4; ++i)
            for (Index j = 0; j < 4; ++j)
                if (i != j) uneven += counts(i, j) != 12;
        lesson.prove_equal("pairs of 12 that do not see each other in half of the orders", uneven, 0);

        lesson.say(
            "An order is not a list of ranks: z = 3,2,4,1 gives the words 1 2 3 4 the ranks 4 2 1 3. Reading z itself "
            "as ranks makes another mask, and counting does not tell: its rows see 0, 1, 2 and 3 words, too.");
        const Order order = from_zero({3, 2, 4, 1});
        const Visibility right = query_visibility(order), wrong = query_visibility(ranks_of_order(order));
        Matrix<double> both(4, 8);
        both << right.cast<double>(), wrong.cast<double>();
        lesson.show("   3,2,4,1     taken for ranks", both, "%2.0f", 4);
        lesson.prove_equal("cells of 16 that differ", cells_that_differ(right, wrong), 8);

        double immune = 0;
        for (const Order& z : all_orders(4)) immune += ranks_of_order(from_zero(z)) == from_zero(z);
        lesson.ask("For how many of the 24 orders does the mistake \"order taken for ranks\" not show?", immune, 0,
                   "Those that only exchange words in pairs are their own ranks; 3,2,4,1 is not one of them.");
        lesson.ask("z = 1,4,2,3: how many words predict word 2?", static_cast<double>(seen_by({1, 4, 2, 3}, 2).size()),
                   0, "1 and 4 stand before it in z.");
        lesson.exercise("How often is a word of four predicted from 0, 1, 2, 3 others, over all 24 orders?", [&] {
            Matrix<double> sizes = Matrix<double>::Zero(4, 4);
            for (const Order& z : all_orders(4))
                for (Index target = 1; target <= 4; ++target) sizes(target - 1, std::ssize(seen_by(z, target))) += 1;
            lesson.show("row: the word; column: how many others it is predicted from", sizes, "%4.0f");
            lesson.prove_equal("least minus most of these counts: every amount of context is equally frequent",
                               sizes.minCoeff() - sizes.maxCoeff(), 0);
        });
        lesson.end({{"core/positions/factorisation_order.h", "query_visibility"},
                    {"core/text/statistics/factorisation.h", "seen_by"}},
                   "Yang et al. 2019, section 2.2; NLP 기초, figures 4 to 12.", "23");
    });
}
