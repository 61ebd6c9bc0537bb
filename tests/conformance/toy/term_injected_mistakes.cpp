#include "tests/conformance/toy/term_injected_mistakes.h"

#include "core/conformance/kit/check.h"

namespace locus::conformance::toy {

namespace {

const std::vector<std::string> kLinear = {"L1/linear_attention", "L1/linear_attention_causal",
                                          "L1/linear_attention_small"};
// The second layout first: no model of the kit has it.
const std::vector<std::string> kHalves = {"L1/rope_half_split"}, kCache = {"L1/rope_cache"},
                               kRotation = {"L1/rope_half_split", "L1/rope_interleaved"},
                               kPositions = {"L1/rope_half_split", "L1/rope_cache"};
const std::vector<std::string> kTiled = {"L1/tiles_t70_k37", "L1/tiles_t70_b18"};
const std::vector<std::string> kClamped = {"L1/tiles_t70_k37"}, kBuckets = {"L1/tiles_t70_b18"};

// clang-format off
std::vector<InjectedTermMistake> linear_mistakes() {
    return {
        {{64, 0}, kLinear, "phi(R x) in numerator and denominator", {"phi_q_rot"}},
        {{64, 1}, kLinear, "queries and keys rotated before everything else", {"phi_q"}},
        {{64, 2}, kLinear, "phi(R x) in the numerator alone", {"phi_q_rot"}},
        {{64, 3}, kLinear, "the denominator rotated too", {"denominator"}},
        {{64, 4}, kLinear, "the denominator rotated too, without its bound", {"denominator"}},
        {{64, 5}, kLinear, "queries over sqrt(d)", {"phi_q"}},
        {{64, 6}, kLinear, "queries and keys over the root of sqrt(d)", {"phi_q"}},
        {{64, 7}, kLinear, "weights over sqrt(d)", {"weights"}},
        {{64, 8}, kLinear, "eps added to the denominator", {"denominator"}, true},
        {{64, 9}, kLinear, "eps added to every visible product below", {"denominator"}, true},
        {{64, 10}, kLinear, "eps added to every product below", {"denominator"}, true},
        {{64, 11}, kLinear, "eps added to every visible feature below", {"denominator"}, true},
        {{64, 12}, kLinear, "eps added to every feature below", {"denominator"}, true},
        {{64, 13}, kLinear, "features of padding not set to 0", {"phi_k"}},
        {{64, 14}, kLinear, "keys of padding set to 0 before phi", {"phi_k"}},
        {{64, 15}, kLinear, "padding counted below", {"denominator"}},
        {{64, 16}, kLinear, "padding counted above", {"weights"}},
        {{64, 17}, kLinear, "phi is elu", {"phi_q"}},
        {{64, 18}, kLinear, "phi is relu", {"phi_q"}},
        {{64, 19}, kLinear, "phi is relu plus 1", {"phi_q"}},
        {{64, 20}, {kLinear[0], kLinear[1]}, "phi is exp", {"phi_q"}},
        {{64, 21}, kLinear, "phi is softplus", {"phi_q"}},
        {{64, 22}, kLinear, "no phi", {"phi_q"}},
    };
}

std::vector<InjectedTermMistake> rotation_mistakes() {
    const std::vector<std::string> turned = {"q_rot", "rotary.sin"};
    return {
        {{56, 0}, kHalves, "neighbours rotated instead of halves", {"q_rot"}},
        {{56, 1}, kHalves, "neighbours rotated, and written as halves", {"q_rot"}},
        {{57, 0}, kHalves, "keys of halves not rotated", {"k_rot"}},
        {{57, 3}, kHalves, "queries by neighbours, keys by halves", {"q_rot"}, false, true},
        {{58, 0}, kHalves, "halves rotated the other way", {"q_rot"}},
        {{60, 0}, kHalves, "sines and cosines exchanged, of halves", {"q_rot"}},
        {{61, 0}, kRotation, "angles from a width of 64", turned},
        {{63, 0}, kCache, "queries of the second step start at 0 again", {"q_rot"}},
        {{63, 1}, kCache, "new keys of the second step start at 0 again", {"k_rot"}},
        {{63, 2}, kCache, "the second step starts at 0 again", {"q_rot"}},
        {{63, 3}, kCache, "every token of the second step stands at 0", {"q_rot"}},
        {{88, 0}, kRotation, "only the first head rotated", {"q_rot"}},
        {{89, 0}, kHalves, "angles of base 42000, of halves", turned},
        {{90, 0}, kPositions, "positions divided by 3", turned},
        {{91, 0}, kHalves, "half of the angles, of halves", turned},
        {{92, 0}, kHalves, "partners of halves, angles of neighbours", {"q_rot"}},
        {{92, 1}, kHalves, "partners of neighbours, angles of halves", {"q_rot"}},
        {{92, 2}, kRotation, "cosines of halves, sines of neighbours", {"q_rot"}},
        {{92, 3}, kRotation, "cosines of neighbours, sines of halves", {"q_rot"}},
        {{93, 0}, kHalves, "half of the head, by its angles, as halves", {"q_rot"}},
        {{93, 1}, kHalves, "half of the head, by angles of its own, as halves", {"q_rot"}},
        {{93, 2}, kRotation, "a quarter of the head, by its angles", {"q_rot"}},
        {{93, 3}, kRotation, "a quarter of the head, by angles of its own", {"q_rot"}},
        {{93, 4}, kRotation, "the last half of the head, by its first angles", {"q_rot"}},
        {{93, 5}, kRotation, "the last half of the head, by angles of its own", {"q_rot"}},
        {{94, 0}, kPositions, "positions from 1, without a table", {"q_rot"}, false, true},
        {{94, 1}, kPositions, "positions from 5", {"q_rot"}, false, true},
        {{94, 2}, kPositions, "queries one place further on", {"q_rot"}, false, true},
        {{94, 3}, kPositions, "keys one place further on", {"k_rot"}},
        {{94, 4}, kPositions, "queries three places further on", {"q_rot"}, false, true},
        {{94, 5}, kPositions, "keys three places further on", {"k_rot"}},
        {{117, 0}, kHalves, "halves rotated in place", {"q_rot"}},
        {{118, 2}, kHalves, "queries of halves rotated twice", {"q_rot"}, false, true},
    };
}

std::vector<InjectedTermMistake> other_mistakes() {
    return {
        {{15, 0}, {"L1/terms_h5_q3_k6"}, "index built [Tk,Tq], read [Tq,Tk]", {"c2p"}},
        {{15, 1}, {"L1/terms_h5_q3_k6"}, "queries at the end of the keys", {"c2p"}},
        {{34, 0}, {"L1/softmax_huge_hidden"}, "maximum over hidden keys too", {"probs"}},
        {{34, 1}, {"L1/softmax_huge_hidden"}, "maximum over hidden keys too, in float16", {"probs"}},
        {{34, 2}, {"L1/softmax_huge_hidden"}, "maximum over hidden keys too, in bfloat16", {"probs"}},
    };
}
// clang-format on

/// Mistakes 80 and 81, tile by tile.
std::vector<InjectedTermMistake> tile_mistakes() {
    std::vector<InjectedTermMistake> all;
    for (int n = 0; n < 4; ++n) {
        const std::string tiles = ", tiles of " + std::to_string(kTileOf[n]);
        all.push_back({{80, n}, kTiled, "keys past the text have score 0" + tiles, {"probs"}});
        all.push_back({{80, 4 + n}, n < 3 ? kTiled : kClamped, "the table's last rows not loaded" + tiles, {"c2p"}});
        all.push_back({{81, n}, kTiled, "a tile's rows stepped, none beyond the table" + tiles, {"c2p"}});
        all.push_back({{81, 4 + n}, kTiled, "a tile's rows stepped, then clamped" + tiles, {"c2p"}});
        all.push_back({{81, 8 + n}, kTiled, "offset divided towards 0" + tiles, {"c2p"}});
        // A band of 8 lies within the buckets that are single offsets.
        if (n > 0)
            all.push_back({{81, 12 + n}, n < 3 ? kBuckets : kTiled, "plain rows in the cached band" + tiles, {"c2p"}});
        all.push_back(
            {{81, 104 + n}, kTiled, "a tile's rows stepped, then clamped, in the index" + tiles, {"relative.index"}});
        all.push_back({{81, 108 + n}, kTiled, "offset divided towards 0, in the index" + tiles, {"relative.index"}});
    }
    return all;
}

Finding judge(const Kit& kit, const KitCase& one, const Trace& trace, const std::string& last) {
    Dump dump;
    for (const Stage& stage : trace.stages())
        if (last.empty() || stage.name == last) {
            dump.trace.add(stage);
            dump.stored[stage.name] = stage.dtype();
        }
    const CaseReport report = check_case(kit, one, dump, {});
    Finding finding;
    finding.dump = last.empty() ? "everything" : "the last stage";
    if (!report.first) return finding;
    finding.first = report.first->name;
    if (!report.diagnosis) return finding;
    finding.equivalent = report.diagnosis->equivalent;
    if (!report.diagnosis->named) return finding;
    finding.named = report.diagnosis->named->mistake;
    finding.residual = report.diagnosis->named->residual;
    return finding;
}

}  // namespace

const std::vector<InjectedTermMistake>& injected_term_mistakes() {
    static const std::vector<InjectedTermMistake> all = [] {
        std::vector<InjectedTermMistake> made;
        for (const auto& part : {linear_mistakes(), rotation_mistakes(), other_mistakes(), tile_mistakes()})
            made.insert(made.end(), part.begin(), part.end());
        return made;
    }();
    return all;
}

const std::vector<std::string>& term_case_ids() {
    static const std::vector<std::string> all = {
        "L1/linear_attention",    "L1/linear_attention_causal", "L1/linear_attention_small", "L1/rope_cache",
        "L1/rope_half_split",     "L1/rope_interleaved",        "L1/terms_h5_t7_k3",         "L1/terms_h5_q3_k6",
        "L1/softmax_huge_hidden", "L1/tiles_t70_k37",           "L1/tiles_t70_b18"};
    return all;
}

std::vector<Finding> try_term_mistake(const Kit& kit, const InjectedTermMistake& known) {
    std::vector<Finding> findings;
    for (const std::string& id : known.cases) {
        const KitCase* one = kit.find(id);
        LOCUS_CHECK(one, "toy ports: the kit has no case " + id);
        for (const bool in_float : {true, false}) {
            const Trace trace =
                in_float ? run_term<float>(*one, known.injected) : run_term<double>(*one, known.injected);
            for (const std::string& last : {std::string(), one->stages.back()}) {
                Finding finding = judge(kit, *one, trace, last);
                finding.where = id + (in_float ? ", float32" : ", float64");
                finding.in_float = in_float;
                findings.push_back(std::move(finding));
            }
        }
    }
    return findings;
}

}  // namespace locus::conformance::toy
