// Numbers that were saved wrongly by a port which computes rightly: that is told from a mistake of the computation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/conformance/diagnosis/all_mistakes.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/report/report.h"
#include "tests/conformance/toy/recorded_ranges.h"

namespace locus::test::test_saved {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

/// The right pass, and one stage that is saved as `change` makes it.
Trace with_saved(const Trace& right, const std::string& name,
                 const std::function<Tensor<double>(Tensor<double>)>& change) {
    Trace port;
    for (const Stage& stage : right.stages()) {
        Stage own = stage;
        if (stage.name == name) own.values = change(std::get<Tensor<double>>(own.values));
        port.add(own);
    }
    return port;
}

Tensor<double> strange(Tensor<double> values) {
    for (Index n = 0; n < values.size(); ++n) values[n] += 0.3 * std::sin(7.0 * static_cast<double>(n));
    return values;
}

/// [a,b,c,d] -> [a,c,b,d].
Tensor<double> exchanged(const Tensor<double>& values) {
    const Shape shape = values.shape();
    Tensor<double> other({shape[0], shape[2], shape[1], shape[3]});
    for (Index a = 0; a < shape[0]; ++a)
        for (Index b = 0; b < shape[1]; ++b)
            for (Index c = 0; c < shape[2]; ++c)
                for (Index d = 0; d < shape[3]; ++d)
                    other[((a * shape[2] + c) * shape[1] + b) * shape[3] + d] =
                        values[((a * shape[1] + b) * shape[2] + c) * shape[3] + d];
    return other;
}

const Range& deberta() { return several_range(Family::deberta, "ms_deberta_v3_emd"); }

struct SavedStage {
    Family family;
    std::string where, stage;
};

}  // namespace

TEST_CASE("saved: a stage that the port does not go on with is told from a mistake", "[kit][saved]") {
    const SavedStage one = GENERATE(values<SavedStage>({{Family::deberta, "ms_deberta_v3_emd", "layer.0.q"},
                                                        {Family::deberta, "ms_deberta_v3_emd", "layer.1.c2p"},
                                                        {Family::deberta, "ms_deberta_v3_emd", "layer.0.probs"},
                                                        {Family::deberta, "ms_deberta_v3_emd", "layer.0.output"},
                                                        {Family::deberta, "hf_deberta_v1", "layer.0.q_r"},
                                                        {Family::roformer, "hf_roformer", "layer.0.q_rot"},
                                                        {Family::transformer_xl, "txl_basic", "segment.0.layer.0.bd"},
                                                        {Family::xlnet, "hf_xlnet_bi", "layer.0.context"}}));
    const Range& range = several_range(one.family, one.where);
    const CaseReport report = judged(range, with_saved(range.sharp, one.stage, strange));
    INFO(one.where << " " << one.stage << "\n" << divergence_text(report));
    REQUIRE(report.all);
    REQUIRE(report.all->stages.size() == 1);
    const WrongStage& wrong = report.all->stages.front();
    CHECK(wrong.stage == one.stage);
    CHECK_FALSE(wrong.named());
    CHECK_THAT(wrong.saved, Catch::StartsWith("the port computes it rightly and saves other numbers under its name: "));
    CHECK(report.all->repaired == Repaired::yes);
    CHECK_THAT(divergence_text(report),
               Catch::Contains(wrong.saved) && !Catch::Contains("no mistake of the catalogue"));
    CHECK(case_json(report)["diagnoses"][0]["saved"] == wrong.saved);
}

TEST_CASE("saved: what was saved is described, and named where a mistake makes it", "[kit][saved]") {
    const Range& range = deberta();
    // Of another stage.
    Trace port = with_saved(range.sharp, "layer.1.q", [&](const Tensor<double>&) {
        return std::get<Tensor<double>>(range.sharp.at("layer.1.k").values);
    });
    CHECK_THAT(divergence_text(judged(range, port)), Catch::Contains("it holds the numbers of layer.1.k"));
    const auto scaled = [](double factor) {
        return [factor](Tensor<double> values) {
            for (Index n = 0; n < values.size(); ++n) values[n] *= factor;
            return values;
        };
    };
    port = with_saved(range.sharp, "layer.1.c2p", scaled(0.5));
    CHECK_THAT(divergence_text(judged(range, port)),
               Catch::Contains("saves other numbers") && Catch::Contains("every value is 0.5 times"));
    port = with_saved(range.sharp, "layer.1.c2p", scaled(1 / std::sqrt(12.0)));
    CHECK_THAT(divergence_text(judged(range, port)),
               Catch::Contains("every value is 0.288675 times what it should be = 1/sqrt(n d): scaled already"));
    // The paper's p2c, which the port does not use.
    const Trace other = port_with_all<double>(range, {{1, 0}});
    port = with_saved(range.sharp, "layer.0.p2c",
                      [&](const Tensor<double>&) { return std::get<Tensor<double>>(other.at("layer.0.p2c").values); });
    const CaseReport report = judged(range, port);
    INFO(divergence_text(report));
    REQUIRE(report.diagnosis);
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 1);
    CHECK_THAT(divergence_text(report),
               Catch::Contains("this is mistake 1") && Catch::Contains("  yet the port computes"));
}

TEST_CASE("saved: right numbers in another order of axes are right numbers", "[kit][saved]") {
    const Range& range = deberta();
    const Trace& right = range.sharp;
    const auto every = [&](const std::string& end, const std::function<Tensor<double>(Tensor<double>)>& change) {
        Trace port;
        for (const Stage& stage : right.stages()) {
            Stage own = stage;
            if (stage.name.ends_with(end)) own.values = change(std::get<Tensor<double>>(own.values));
            port.add(own);
        }
        return port;
    };
    const CaseReport by_token = judged(range, every(".k", exchanged));
    INFO(divergence_text(by_token));
    REQUIRE(by_token.all);
    CHECK(by_token.all->stages.front().stage == "layer.0.k");
    CHECK_THAT(
        by_token.all->stages.front().saved,
        Catch::StartsWith("the right numbers with their axes in the order [B,T,H,d]: transpose them to [B,H,T,d]"));
    CHECK_THAT(by_token.all->stages.front().saved, !Catch::Contains("copy it before"));  // its shape says so

    CHECK(by_token.all->repaired == Repaired::yes);
    for (std::size_t n = 1; n < by_token.all->stages.size(); ++n)
        CHECK(by_token.all->stages[n].first_at == "layer.0.k");
    const CaseReport merged =
        judged(range, every(".v", [](const Tensor<double>& values) {
                   const Shape shape = values.shape();
                   return Tensor<double>({shape[0] * shape[1], shape[2], shape[3]}, values.values());
               }));
    INFO(divergence_text(merged));
    REQUIRE(merged.all);
    CHECK_THAT(merged.all->stages.front().saved,
               Catch::StartsWith("the right numbers in the right order, but of shape [") &&
                   Catch::Contains(": save them as [B,H,T,d] = ["));
    CHECK(merged.all->repaired == Repaired::yes);
    // Other numbers of the right count are not.
    const CaseReport wrong =
        judged(range, every("layer.0.k", [](const Tensor<double>& values) { return exchanged(strange(values)); }));
    CHECK(wrong.all->stages.front().saved.empty());
}

namespace {

/// `times` as many values: each block of so many stands that often, one after another.
Tensor<double> blocks_repeated(const Tensor<double>& values, Index block, Index times, const Shape& shape) {
    Tensor<double> more(shape);
    for (Index n = 0; n < more.size(); ++n) more[n] = values[n / (block * times) * block + n % block];
    return more;
}

/// Rows of other numbers before and after those of a matrix.
Tensor<double> among_others(const Tensor<double>& values, Index before, Index after) {
    const Index rows = values.extent(0), width = values.extent(1);
    Tensor<double> more({before + rows + after, width});
    for (Index n = 0; n < more.size(); ++n) more[n] = 3 + std::cos(static_cast<double>(n));
    for (Index n = 0; n < values.size(); ++n) more[before * width + n] = values[n];
    return more;
}

/// What is said of a stage that is saved as `change` makes it: its pattern, which is what was saved.
std::string said_of(const Range& range, const std::string& stage,
                    const std::function<Tensor<double>(Tensor<double>)>& change) {
    const CaseReport report = judged(range, with_saved(range.sharp, stage, change));
    INFO(divergence_text(report));
    REQUIRE(report.all);
    REQUIRE(report.all->stages.size() == 1);
    CHECK(report.all->stages.front().stage == stage);
    CHECK(report.all->repaired == Repaired::yes);
    CHECK(report.all->stages.front().diagnosis.pattern == report.all->stages.front().saved);
    return report.all->stages.front().saved;
}

}  // namespace

TEST_CASE("saved: right numbers that stand there several times are right numbers", "[kit][saved]") {
    const Range& range = several_range(Family::roformer, "hf_roformer");
    const Shape table = range.sharp.at("rotary.cos").shape();
    const Index rows = table[0], pairs = table[1];
    const std::string once = ": save them once, as [T,d/2] = " + to_string(table);
    const auto each = [&](Index block, const Shape& shape) {
        return said_of(range, "rotary.cos",
                       [&](const Tensor<double>& values) { return blocks_repeated(values, block, 2, shape); });
    };
    CHECK(each(pairs, {rows, 2 * pairs}) == "the right numbers, but each [d/2] twice, one after another" + once);
    CHECK(each(1, {rows, 2 * pairs}) == "the right numbers, but each of them twice, one after another" + once);
    CHECK(each(rows * pairs, {2, rows, pairs}) == "the right numbers, but all of them twice, one after another" + once);
    CHECK(each(pairs, {1, 1, rows, 2 * pairs}) == "the right numbers, but each [d/2] twice, one after another" + once);
    // Twice as many, and other ones.
    const CaseReport wrong = judged(range, with_saved(range.sharp, "rotary.cos", [&](const Tensor<double>& values) {
                                        return blocks_repeated(strange(values), pairs, 2, {rows, 2 * pairs});
                                    }));
    CHECK(wrong.all->stages.front().saved.empty());
}

TEST_CASE("saved: right numbers among others, and some of them, are right numbers", "[kit][saved]") {
    const Range& range = deberta();
    const Shape table = range.sharp.at("relative.table").shape(), q = range.sharp.at("layer.0.q").shape();
    const std::string last = std::to_string(table[0] + 1), all = std::to_string(table[0] + 5);
    CHECK(said_of(range, "relative.table", [](const Tensor<double>& values) { return among_others(values, 2, 3); }) ==
          "the right numbers are 2 to " + last + " of " + all + " along 2k: save those, [2k,D] = " + to_string(table));
    // The first sample and the first two tokens of it.
    CHECK(said_of(range, "layer.0.q",
                  [&](const Tensor<double>& values) {
                      Tensor<double> few({1, q[1], 2, q[3]});
                      for (Index n = 0; n < few.size(); ++n)
                          few[n] = values[n / (2 * q[3]) * q[2] * q[3] + n % (2 * q[3])];
                      return few;
                  }) == "the right numbers, but only 0 of " + std::to_string(q[0]) + " along B and 0 to 1 of " +
                            std::to_string(q[2]) + " along T: save all, [B,H,T,d] = " + to_string(q));
    // Rows of 0 before the first text of a Transformer-XL are keys that it sees.
    const Range& xl = several_range(Family::transformer_xl, "txl_basic");
    const std::string keys =
        xl.sharp.stages().front().name.starts_with("segment.") ? "segment.0.layer.0.k" : "layer.0.k";
    const Index zeros = xl.model->transformer_xl->mem_len;
    const CaseReport padded = judged(xl, with_saved(xl.sharp, keys, [&](const Tensor<double>& values) {
                                         const Shape shape = values.shape();
                                         Tensor<double> more({shape[0], shape[1], shape[2] + zeros, shape[3]});
                                         const Index own = shape[2] * shape[3], wide = more.extent(2) * shape[3];
                                         for (Index n = 0; n < values.size(); ++n)
                                             more[n / own * wide + (wide - own) + n % own] = values[n];
                                         return more;
                                     }));
    CHECK_THAT(padded.all->stages.front().diagnosis.pattern, Catch::Contains("begins with a memory of"));
    CHECK(padded.all->stages.front().saved.empty());
}

TEST_CASE("saved: heads that are not joined, a mean of heads and chosen tokens are right numbers", "[kit][saved]") {
    const Range& range = deberta();
    const Shape context = range.sharp.at("layer.1.context").shape(), probs = range.sharp.at("layer.0.probs").shape();
    const Index heads = probs[1], width = context[2] / heads;
    const auto split = [&](const Tensor<double>& values) {
        return exchanged(Tensor<double>({context[0], context[1], heads, width}, values.values()));
    };
    const std::string joined = to_string(context);
    for (const std::string layer : {"layer.0.", "layer.1."})
        CHECK_THAT(said_of(range, layer + "context", split),
                   Catch::StartsWith("the right numbers with their heads apart, in the order [B,H,T,d]: join the heads "
                                     "to [") &&
                       Catch::EndsWith(" = " + joined));
    CHECK(said_of(range, "layer.0.probs", [&](const Tensor<double>& values) {
              Tensor<double> mean({probs[0], probs[2], probs[3]});
              const Index pairs = probs[2] * probs[3];
              for (Index n = 0; n < values.size(); ++n)
                  mean[n / (heads * pairs) * pairs + n % pairs] += values[n] / static_cast<double>(heads);
              return mean;
          }) == "the mean of the right numbers along H: save all, [B,H,Tq,Tk] = " + to_string(probs));
    const Shape logits = range.sharp.at("mlm.logits").shape();
    const Index rows = logits[0] * logits[1], words = logits[2];
    CHECK(said_of(range, "mlm.logits",
                  [&](const Tensor<double>& values) {
                      Tensor<double> chosen({2, words});
                      for (Index n = 0; n < words; ++n) {
                          chosen[n] = values[words + n];
                          chosen[words + n] = values[(rows - 2) * words + n];
                      }
                      return chosen;
                  }) == "the right numbers, but only rows 1, " + std::to_string(rows - 2) + " of the " +
                            std::to_string(rows) + " of [B,T]: save all, [B,T,V] = " + to_string(logits));
}

TEST_CASE("saved: scores less the largest of each row, and all of a layer with queries and keys exchanged",
          "[kit][saved]") {
    const Range& range = deberta();
    const auto every = [&](const std::string& stems, const std::function<Tensor<double>(Tensor<double>)>& change) {
        const StageFilter filter(stems);
        Trace port;
        for (const Stage& stage : range.sharp.stages()) {
            Stage own = stage;
            if (filter.keeps(stage.name)) own.values = change(std::get<Tensor<double>>(own.values));
            port.add(own);
        }
        return judged(range, port);
    };
    const CaseReport shifted = every("*.scores", [](Tensor<double> values) {
        const Index keys = values.shape().back();
        for (Index row = 0; row < values.size() / keys; ++row) {
            double* own = values.data() + row * keys;
            const double largest = *std::max_element(own, own + keys);
            for (Index j = 0; j < keys; ++j) own[j] -= largest;
        }
        return values;
    });
    INFO(divergence_text(shifted));
    CHECK(shifted.all->stages.front().saved.starts_with("the right numbers less the largest of each row"));
    CHECK(shifted.all->repaired == Repaired::yes);

    const std::string pairs = "*.c2c,*.c2p,*.p2c,*.scores,*.probs";
    const auto transpose = [](const Tensor<double>& values) {
        Tensor<double> other(values.shape());
        for (Index n = 0; n < values.extent(0) * values.extent(1); ++n) other.matrix(n) = values.matrix(n).transpose();
        return other;
    };
    const CaseReport by_key = every(pairs, transpose);
    INFO(divergence_text(by_key));
    for (const WrongStage& stage : by_key.all->stages) {
        INFO(stage.stage);
        CHECK_FALSE(stage.named());
        CHECK(stage.saved.starts_with("the right numbers with their axes in the order [B,H,Tk,Tq]"));
        CHECK_THAT(stage.saved, Catch::Contains("copy it before it is saved (np.ascontiguousarray)"));
    }
    CHECK(by_key.all->repaired == Repaired::yes);
    const double root = std::sqrt(3.0 * static_cast<double>(range.sharp.at("layer.0.q").shape()[3]));
    const CaseReport scaled = every("*.c2c,*.c2p,*.p2c", [&](Tensor<double> values) {
        for (Index n = 0; n < values.size(); ++n) values[n] /= root;
        return values;
    });
    INFO(divergence_text(scaled));
    for (const WrongStage& stage : scaled.all->stages) CHECK_THAT(stage.saved, Catch::Contains("scaled already"));
    CHECK(scaled.all->repaired == Repaired::yes);
    Trace exchanged_names;
    for (Stage stage : range.sharp.stages()) {
        const std::string other = stage.name == "layer.0.c2p"   ? "layer.0.p2c"
                                  : stage.name == "layer.0.p2c" ? "layer.0.c2p"
                                                                : stage.name;
        stage.values = range.sharp.at(other).values;
        exchanged_names.add(std::move(stage));
    }
    const CaseReport named = judged(range, exchanged_names);
    INFO(divergence_text(named));
    for (const WrongStage& stage : named.all->stages)
        CHECK(stage.saved ==
              std::string("it holds the numbers of layer.0.") + (stage.stage == "layer.0.c2p" ? "p2c" : "c2p"));
    CHECK(named.all->repaired == Repaired::yes);
    // A context that is wrong, too, is one that was made of them.
    const CaseReport made = every(pairs + ",layer.*.context", [&](const Tensor<double>& values) {
        return values.rank() == 4 ? transpose(values) : strange(values);
    });
    CHECK(made.all->repaired != Repaired::yes);
}

TEST_CASE("saved: an index as floating point numbers holds the right numbers, or others", "[kit][saved]") {
    const Range& range = deberta();
    const auto as_float = [&](double factor) {
        Trace port;
        for (Stage stage : range.sharp.stages()) {
            if (stage.name == "relative.index") {
                Tensor<double> values = widened(stage);
                for (Index n = 0; n < values.size(); ++n) values[n] *= factor;
                stage.values = values;
            }
            port.add(std::move(stage));
        }
        return judged(range, port);
    };
    const CaseReport report = as_float(1);
    INFO(divergence_text(report));
    CHECK(report.all->stages.front().saved == "the right numbers, but as F64: save them as I64");
    CHECK(report.all->repaired == Repaired::yes);
    CHECK(as_float(1.5).all->stages.front().saved.empty());
}

TEST_CASE("saved: an index without its span is one that the port cannot have used", "[kit][saved]") {
    const Range& range = deberta();
    const Index span = range.model->deberta->config().span();
    Trace port;
    for (Stage stage : range.sharp.stages()) {
        if (stage.name == "relative.index") {
            IndexTensor buckets = std::get<IndexTensor>(stage.values);
            for (Index n = 0; n < buckets.size(); ++n) buckets[n] -= span;
            stage.values = buckets;
        }
        port.add(stage);
    }
    const CaseReport report = judged(range, port);
    INFO(divergence_text(report));
    REQUIRE(report.all);
    REQUIRE(report.all->stages.size() == 1);
    const WrongStage& wrong = report.all->stages.front();
    CHECK_THAT(wrong.saved, Catch::Contains("cannot be computed from these"));
    CHECK_THAT(wrong.diagnosis.pattern,
               Catch::Contains("the bucket, to which the span of " + std::to_string(span) + " is not yet added"));
    CHECK(report.all->repaired == Repaired::yes);
}

TEST_CASE("saved: a list of outputs that begins one too early is one mistake in every layer", "[kit][saved]") {
    const Range& range = deberta();
    const auto outputs = [&](std::size_t late) {
        const std::vector<std::string> names = {"embeddings.output", "layer.0.output", "layer.1.output",
                                                "layer.2.output"};
        Trace port;
        for (std::size_t n = 1; n < names.size(); ++n) {
            Stage stage = range.sharp.at(names[n]);
            stage.values = range.sharp.at(names[n - late]).values;
            port.add(std::move(stage));
        }
        return port;
    };
    CHECK(judged(range, outputs(0)).verdict == Verdict::pass);
    const CaseReport report = judged(range, outputs(1));
    INFO(divergence_text(report));
    REQUIRE(report.all);
    REQUIRE(report.all->stages.size() == 3);
    for (const WrongStage& stage : report.all->stages) {
        REQUIRE(stage.diagnosis.named);
        CHECK(stage.diagnosis.named->mistake == 51);
        CHECK(stage.first_at == (stage.stage == "layer.0.output" ? "" : "layer.0.output"));
    }
    CHECK(report.all->repaired == Repaired::yes);
}

TEST_CASE("doubt: a reference that does not follow from itself is said, and no right one is", "[kit][saved]") {
    const Range& range = deberta();
    const Trace port = port_with_all<double>(range, {{1, 0}});
    CHECK(judged(range, port).all->doubt.empty());
    // The two files exchanged.
    Range exchanged = several_range(Family::deberta, "ms_deberta_v3_emd");
    exchanged.sharp = port;
    const CaseReport report = judged(exchanged, range.sharp);
    INFO(divergence_text(report));
    CHECK_THAT(report.all->doubt,
               Catch::StartsWith("the reference's own layer.0.p2c does not follow from its other stages"));
    CHECK_THAT(divergence_text(report), Catch::Contains("  but " + report.all->doubt));
    CHECK(case_json(report)["doubt"] == report.all->doubt);
    // The port is not told to look before a stage that it has right.
    CHECK(report.diagnosis->pattern == "layer.0.p2c follows from what the candidate reports by the right formula");
    CHECK_THAT(divergence_text(report), !Catch::Contains("lies before"));
    // Recorded by other people's code, in float32 and in double: every stage of every case.
    for (const Family family : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
        for (const Range& one : ranges_of(family))
            for (const Trace* trace : {&one.recorded, &one.sharp}) {
                const Evidence evidence{*trace, *trace, one.model, one.segments};
                const Comparison comparison = compare(*trace, *trace);
                for (const StageVerdict& verdict : comparison.stages) {
                    INFO(one.name << " " << verdict.name);
                    CHECK(doubt_of_reference(evidence, comparison, verdict) == "");
                }
            }
}

TEST_CASE("saved: a stage that the port goes on with is a mistake", "[kit][saved]") {
    const Range& range = deberta();
    const Trace port = port_with_all<double>(range, {{4, 0}});  // c2p by delta(j,i), and all that follows from it
    const CaseReport report = judged(range, port);
    INFO(divergence_text(report));
    REQUIRE(report.all);
    CHECK(report.diagnosis->named);
    for (const WrongStage& stage : report.all->stages) CHECK(stage.saved.empty());
}

TEST_CASE("saved: scores after the mask are told from wrong ones", "[kit][saved]") {
    const SavedStage one =
        GENERATE(values<SavedStage>({{Family::deberta, "ms_deberta_v3_emd", "layer.0.scores"},
                                     {Family::transformer_xl, "txl_basic", "segment.0.layer.0.scores"},
                                     {Family::xlnet, "hf_xlnet_bi", "layer.0.scores"}}));
    const Range& range = several_range(one.family, one.where);
    const std::string probs_name = one.stage.substr(0, one.stage.rfind('.')) + ".probs";
    const auto probs = std::get<Tensor<double>>(range.sharp.at(probs_name).values);
    const auto said = [&](double filled, double added, bool everywhere = false) {
        const CaseReport report = judged(range, with_saved(range.sharp, one.stage, [&](Tensor<double> scores) {
                                             for (Index n = 0; n < scores.size(); ++n)
                                                 if (probs[n] == 0 || (everywhere && n == 0))
                                                     scores[n] = added != 0 ? scores[n] + added : filled;
                                             return scores;
                                         }));
        return report.all->stages.front().saved;
    };
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK_THAT(said(-1e30, 0),
               Catch::StartsWith("saved after the mask: ") && Catch::Contains(" hold -1e+30, the others"));
    CHECK_THAT(said(-infinity, 0), Catch::Contains(" hold -inf, the others are right"));
    CHECK_THAT(said(0, -10000), Catch::Contains(" are 1e+04 too low, the others are right"));
    CHECK_THAT(said(0, -10), !Catch::StartsWith("saved after"));          // too little to be a mask
    CHECK_THAT(said(-1e30, 0, true), !Catch::StartsWith("saved after"));  // a visible pair, too
}

TEST_CASE("saved: what the mask hides is hidden, whatever the reference makes of a query that sees nothing",
          "[kit][saved]") {
    const Range& range = several_range(Family::deberta, "hf_deberta_v2_short");
    const IndexTensor& mask = range.segments.front().mask;
    const Tensor<double> probs = widened(range.sharp.at("layer.0.probs"));
    const Index heads = probs.extent(1), length = probs.extent(2);
    Index hidden = 0, seen = 0;  // hidden pairs whose probability is not 0: transformers has 1 / T there
    const Trace port = with_saved(range.sharp, "layer.0.scores", [&](Tensor<double> scores) {
        for (Index n = 0; n < scores.size(); ++n) {
            const Index b = n / (heads * length * length), i = n / length % length, j = n % length;
            if (mask[b * length + i] != 0 && mask[b * length + j] != 0) continue;
            scores[n] = -3.4e38;
            ++hidden;
            seen += probs[n] != 0;
        }
        return scores;
    });
    REQUIRE(seen > 0);
    CHECK_THAT(judged(range, port).all->stages.front().saved,
               Catch::StartsWith("saved after the mask: " + std::to_string(hidden) + " hidden pairs hold -3.4e+38"));
}

}  // namespace locus::test::test_saved
