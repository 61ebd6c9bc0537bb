// L0: which row of the table, which column of the shift, which key is visible.  Whole numbers, compared exactly.
#include <set>

#include "core/check.h"
#include "core/conformance/kit/cases.h"
#include "core/io/input_file.h"
#include "core/json_text.h"
#include "core/positions/factorisation_order.h"
#include "core/positions/relative_buckets.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

Stage index_stage(const std::string& name, IndexTensor values, std::vector<std::string> axes, std::string formula) {
    Stage stage;
    stage.name = name;
    stage.axes = std::move(axes);
    stage.formula = std::move(formula);
    stage.values = std::move(values);
    return stage;
}

IndexTensor hidden(const Visibility& visible) {
    IndexTensor values({visible.rows(), visible.cols()});
    for (Index n = 0; n < values.size(); ++n) values[n] = visible.data()[n] == 0;
    return values;
}

/// Column of bd_raw that cell (i,j) reads; -1 right of the diagonal where no distance is.
IndexTensor shift_columns(Index queries, Index memory, bool both_sides) {
    const Index keys = memory + queries;
    IndexTensor columns({queries, keys});
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) {
            const Index distance = memory + i - j, first = both_sides ? keys : keys - 1;
            columns[i * keys + j] = distance < 0 && !both_sides ? -1 : first - distance;
        }
    return columns;
}

/// Queries or keys of an index at most: the matrix of so many has 128 MiB.
constexpr Index kMostTokens = 4096;
/// Rows of a table, which are counted and not kept.
constexpr Index kMostSpan = Index{1} << 30;

/// A whole number of the config of case.json.
Index count_in(const Json& config, const char* name, Index least, Index most) {
    const auto found = config.find(name);
    if (found == config.end() || !found->is_number_integer() || *found < least || *found > most)
        throw Error(Fault::unreadable, std::string("case.json: config.") + name + " is " +
                                           (found == config.end() ? "missing" : excerpt(*found)) +
                                           ", expected a whole number from " + std::to_string(least) + " to " +
                                           std::to_string(most));
    return *found;
}

bool flag_in(const Json& config, const char* name) {
    if (!config.contains(name) || !config[name].is_boolean())
        throw Error(Fault::unreadable, std::string("case.json: config.") + name + " is " +
                                           (config.contains(name) ? excerpt(config[name]) : "missing") +
                                           ", expected true or false");
    return config[name];
}

/// Tokens 1 ... T in the order they are predicted in, each once -> counted from 0.
std::vector<Index> order_in(const Json& config) {
    const Json order = config.value("order", Json());
    std::vector<Index> tokens;
    const auto length = static_cast<Index>(order.size());
    std::set<Index> seen;
    for (const Json& token : order)
        if (token.is_number_integer() && token >= 1 && token <= length && seen.insert(token.get<Index>()).second)
            tokens.push_back(token.get<Index>() - 1);
    if (!order.is_array() || order.empty() || length > kMostTokens || std::ssize(tokens) != length)
        throw Error(Fault::unreadable, "case.json: config.order is " + excerpt(order) +
                                           ", expected the tokens 1 to T, each once, at most " +
                                           std::to_string(kMostTokens));
    return tokens;
}

Trace relative_index(const Json& config, Dialect dialect) {
    const Index queries = count_in(config, "queries", 1, kMostTokens), keys = count_in(config, "keys", 1, kMostTokens);
    const OffsetClamp clamp = dialect == Dialect::hf ? OffsetClamp::hf : OffsetClamp::official;
    const RelativeBuckets buckets =
        config.contains("position_buckets")
            ? RelativeBuckets::logarithmic(queries, keys, count_in(config, "position_buckets", 2, kMostSpan),
                                           count_in(config, "max_position", 1, kMostSpan), clamp)
            : RelativeBuckets::clamped(queries, keys, count_in(config, "span", 1, kMostSpan));
    Trace trace;
    trace.add<std::int64_t>("relative.index", buckets.matrix());
    return trace;
}

CaseContent index_case(const std::string& name, Family family, const std::string& why, Json config,
                       Dialect dialect = Dialect::official) {
    CaseContent content;
    content.id = "L0/" + name;
    content.family = family;
    content.why = why;
    content.dialect = dialect;
    content.source = computed_by_locus();
    content.config = std::move(config);
    content.reference = index_reference(content.config, dialect);
    content.notes = {"Nothing is given but the numbers under config; compute the stages and report them as int64."};
    return content;
}

Json clamp_config(Index queries, Index keys, Index span) {
    return {{"kind", "relative_index"}, {"queries", queries}, {"keys", keys}, {"span", span}};
}

Json bucket_config(Index queries, Index keys, Index buckets, Index max_position) {
    return {{"kind", "relative_index"},
            {"queries", queries},
            {"keys", keys},
            {"position_buckets", buckets},
            {"max_position", max_position}};
}

void add_buckets(std::vector<CaseContent>& cases) {
    const char* corner = " The matrix is the upper left corner of the square one.";
    cases.push_back(
        index_case("buckets_256_512_past", Family::deberta,
                   std::string("Log buckets of a released v3, query far to the right of the key: 127, 128, 129 and "
                               "the edge 510, 511, 512, 513.") +
                       corner,
                   bucket_config(1030, 2, 256, 512)));
    for (const Dialect dialect : {Dialect::official, Dialect::hf})
        cases.push_back(
            index_case(std::string("buckets_256_512_future") + (dialect == Dialect::hf ? "_hf" : ""), Family::deberta,
                       dialect == Dialect::hf
                           ? "Key far to the right of the query, i-j not clamped before the logarithm: row 0 from "
                             "512 on." +
                                 std::string(corner)
                           : "Key far to the right of the query, i-j clamped to 511 first: row 1 from 511 on, row 0 "
                             "never." +
                                 std::string(corner),
                       bucket_config(2, 1030, 256, 512), dialect));
    cases.push_back(index_case("buckets_8_32", Family::deberta, "Small buckets, square: ceil, M - 1 and both signs.",
                               bucket_config(30, 30, 8, 32)));
    cases.push_back(index_case("buckets_20_16", Family::deberta,
                               "So small a distance to M that a denominator of ln(M / mid) misses the end point.",
                               bucket_config(16, 16, 20, 16)));
    cases.push_back(index_case("buckets_16_64", Family::deberta, "Small buckets whose table is wider than the text.",
                               bucket_config(50, 50, 16, 64)));
}

void add_orders(std::vector<CaseContent>& cases) {
    const std::vector<std::vector<Index>> orders = {{3, 2, 4, 1}, {3, 2, 1, 4}, {2, 4, 3, 1},         {1, 4, 2, 3},
                                                    {4, 3, 1, 2}, {1, 2, 3, 4}, {5, 2, 7, 1, 3, 6, 4}};
    for (const std::vector<Index>& order : orders) {
        std::string name = "order_";
        for (const Index token : order) name += std::to_string(token);
        cases.push_back(index_case(
            name, Family::xlnet,
            "Who sees whom when the tokens are predicted in this order; an order is not a rank. 1 = hidden, as in "
            "perm_mask of XLNet and the opposite of mask.",
            {{"kind", "permutation"}, {"order", order}}));
    }
}

}  // namespace

Json computed_by_locus() { return {{"library", "locus"}, {"version", "0.1.0"}, {"dtype", "float64"}}; }

Trace index_reference(const Json& config, Dialect dialect) {
    const std::string kind =
        config.contains("kind") && config["kind"].is_string() ? config["kind"].get<std::string>() : "";
    if (kind == "relative_index") return relative_index(config, dialect);
    Trace trace;
    if (kind == "shift") {
        trace.add(index_stage("shift.column",
                              shift_columns(count_in(config, "queries", 1, kMostTokens),
                                            count_in(config, "memory", 0, kMostTokens), flag_in(config, "both_sides")),
                              {"Tq", "Tk"}, "bd[i,j] = bd_raw[i, column]; -1: no such distance"));
        return trace;
    }
    if (kind != "permutation")
        throw Error(Fault::unreadable, "case.json: config.kind is \"" + printable(kind) +
                                           "\", expected relative_index, shift or permutation");
    const std::vector<Index> order = order_in(config);
    trace.add(
        index_stage("mask.content", hidden(content_visibility(order)), {"Tq", "Tk"}, "1 = hidden: rank[j] > rank[i]"));
    trace.add(
        index_stage("mask.query", hidden(query_visibility(order)), {"Tq", "Tk"}, "1 = hidden: rank[j] >= rank[i]"));
    return trace;
}

std::vector<CaseContent> index_cases() {
    std::vector<CaseContent> cases;
    const auto add = [&](const std::string& name, const std::string& why, Json config) {
        cases.push_back(index_case(name, Family::deberta, why, std::move(config)));
    };
    add("relpos_7x7_k7", "delta(i,j) = i - j + k where nothing is clamped: row 0 is never read.",
        clamp_config(7, 7, 7));
    add("relpos_7x7_k3", "The clamp is not symmetric: row 0 serves i-j <= -k, the last row i-j >= k - 1.",
        clamp_config(7, 7, 3));
    add("relpos_6x6_k8", "Fewer tokens than the span.", clamp_config(6, 6, 8));
    add("relpos_3x6_k4", "Fewer queries than keys: rows are queries.", clamp_config(3, 6, 4));
    add("relpos_11x5_k2", "More queries than keys, both ends of the table shared.", clamp_config(11, 5, 2));
    add_buckets(cases);
    cases.push_back(index_case("shift_txl_t3_m0", Family::transformer_xl, "The shift without memory.",
                               {{"kind", "shift"}, {"queries", 3}, {"memory", 0}, {"both_sides", false}}));
    cases.push_back(index_case("shift_txl_t5_m7", Family::transformer_xl,
                               "The shift of Transformer-XL: rows of R stand in falling distance K-1 ... 0.",
                               {{"kind", "shift"}, {"queries", 5}, {"memory", 7}, {"both_sides", false}}));
    cases.push_back(index_case("shift_xlnet_t4_m6", Family::xlnet,
                               "The shift of XLNet: distances K ... 1-T, one row more, and negative ones too.",
                               {{"kind", "shift"}, {"queries", 4}, {"memory", 6}, {"both_sides", true}}));
    add_orders(cases);
    return cases;
}

}  // namespace locus::conformance
