#pragma once
// Stages of a wrong pass as they would be if some formulas were others.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

/// Thrown by a formula that lacks a stage, a weight or an input; a hypothesis that throws it is not judged.
struct NotEnough {
    std::string what;
};

class Replay;

/// How one stage follows from others.  Names: "q" stands in the same layer; "/relative.index" is a full name; "x" and
/// "x_q" are what keys and values, and what queries are made of (the output of the layer before; in the mask decoder
/// h and emd.query.t; in the query stream of XLNet h and g).  "memory" is what a segment hands on at this layer.
///
/// Some names only link formulas, so that a mistake can replace them; few are ever reported (bias.u and bias.v):
/// "memory_before" (what the segment before handed on), "visible" [B,Tq,Tk] of 0 and 1, "query_tokens" [B,Tq] (-1: not
/// used), "bias.u", "bias.v", "bias.s" [H,d], "/query_stream" (what XLNet's query stream starts from), "scatter.c2p"
/// [B,H,Tq,2k] and "scatter.p2c" [B,H,Tk,2k] (what a backward pass has added up per row of the table, for every query
/// and for every key). A gradient is a stage too: "grad.q" is "grad.layer.0.q" in the scope "layer.0.".
struct Formula {
    std::string stem;
    std::vector<std::string> inputs;
    std::function<Tensor<double>(const Replay&)> compute;
};

/// Right formulas of a family, in the order of a pass.
const std::vector<Formula>& formulas_of(Family family);

/// Stages as they would be if some formulas were others: what is replaced, and everything that follows from it, is
/// computed; the rest is the candidate's own, else the reference's.
class Replay {
public:
    /// `scope` is what stands before the stem, e.g. "layer.0." or "emd.1." or "".  `assumed`: formulas that are known
    /// to be the candidate's in stages that it does not report; what it reports after them is taken as it is.
    Replay(const Evidence& evidence, std::string scope, std::vector<Formula> replaced = {},
           std::vector<Formula> assumed = {});

    /// A stage of this scope, or "/full.name", "x", "x_q".  Throws NotEnough.
    const Tensor<double>& operator()(const std::string& stem) const;
    /// The stage by its formula, although it was reported.  Throws NotEnough.
    Tensor<double> computed(const std::string& stem) const;
    /// The stage by its right formula, whatever replaces it; called by a formula that stands in place of it, by the
    /// next one that does, so that two mistakes in one stage meet.  Throws NotEnough.
    Tensor<double> right(const std::string& stem) const;
    /// What the reference says of a stage; nothing where it is silent.  Shows which convention the recorded code has.
    std::optional<Tensor<double>> expected(const std::string& stem) const;
    /// What the candidate says of a stage; for numbers that only it knows, such as a forgotten random bias.
    std::optional<Tensor<double>> found(const std::string& stem) const;
    /// The same, kept: nullptr where the candidate is silent.
    const Tensor<double>* claimed(const std::string& stem) const;
    /// True where the candidate reports the stage, or was given it.
    bool is_known(const std::string& stem) const { return claimed(stem) != nullptr || is_given(stem); }
    /// Axes of the stage as the candidate reports it, also where its shape is another one; 0 where it is silent.
    Index claimed_rank(const std::string& stem) const;
    /// True where all stages are those of one pass that a mistake was made in: nothing is concluded from what it has.
    bool in_whole_pass() const { return evidence_.is_whole_pass; }
    /// Products of all rows of a stage [B,H,T,d] with all rows of a table [H,2k,d] -> [B,H,T,2k]; made once where
    /// nothing replaces either.
    const Tensor<double>& table_products(const std::string& rows, const std::string& table) const;
    /// What is the same for every hypothesis, made by the first who asks, under a name that no stage has.
    const Tensor<double>& common(const std::string& name, const std::function<Tensor<double>()>& make) const {
        return *evidence_.shared->get(name, make);
    }
    /// Called with a part of a stage as soon as it is computed: of a stage [B,H,Tq,Tk] head number at = b * H + h, of
    /// another one all rows of its columns from `at` on.  May throw to stop the rest.
    using Watch = std::function<void(Index at, const Matrix<double>& part)>;
    /// A formula that computes `stem` part by part shows each to `watch`.
    void watch(std::string stem, Watch watch);
    /// By a formula of `stem` that computes part by part, so that a hypothesis that fails early costs little.
    void show(const std::string& stem, Index at, const Matrix<double>& part) const;
    /// What one of two mistakes alone makes of a stage that the other does not touch; nullptr where that is not known.
    using Apart = std::function<const Tensor<double>*(const std::string& stem)>;
    /// Of a hypothesis with two mistakes: stages that `apart` knows are not computed.
    void take(Apart apart) { apart_ = std::move(apart); }
    /// How many values of computed stages are kept.
    Index kept_values() const;
    /// In a whole pass: true if the stage was asked for in vain, or something that its right formula is made of.
    bool is_lacking(const std::string& stem) const;
    /// True if the stage, or one it follows from, has a replaced formula.
    bool touches(const std::string& stem) const;
    /// The stems whose replacement can make the stage wrong: what stands before a settled stage (full name) cannot.
    /// Throws NotEnough.
    std::unordered_set<std::string> origins(const std::string& stem, const std::set<std::string>& settled) const;

    /// What a stage is directly made of by its right formula; nothing where it has none.
    std::vector<std::string> inputs_of(const std::string& stem) const;

    const std::string& scope() const { return scope_; }
    /// What the segment of this scope was given.  Throws NotEnough where no inputs are known.
    const ModelInput& input() const;
    /// s of "segment.s."; 0 where there is one alone.
    std::size_t segment() const;
    /// Rows that the segments before handed on, by what the configuration keeps.
    Index remembered() const;
    /// Throws NotEnough where there is no model folder, or one of another family.
    const ModelFolder& model() const;
    const DebertaWeights<double>& deberta() const;
    const RoformerConfig& roformer() const;
    const TransformerXlConfig& transformer_xl() const;
    const XlnetConfig& xlnet() const;
    Family family() const { return known_family(evidence_).value_or(Family::deberta); }
    Dialect dialect() const { return evidence_.dialect; }
    /// Of a case of indices; 0 where it is not known.
    Index max_position() const { return evidence_.max_position; }
    /// What the reference makes of a query that sees nothing; where it shows none, what its dialect makes of one.  A
    /// query that is not used, such as a target of XLNet that stands for no token, is zero in every convention and
    /// decides nothing.
    MaskedRow masked_row() const;
    bool has_model() const { return evidence_.model != nullptr; }
    /// Layer whose weights compute this scope: l of "layer.l.", the last one of "emd.t.".
    Index layer() const;
    /// True for "layer.l.g.", the query stream of XLNet; its keys and values are those of "layer.l.".
    bool is_query_stream() const { return scope_.ends_with(".g."); }
    /// 1 = visible, [Tq,Tk] of sample b; empty where everything is.
    Mask mask(Index b) const;
    /// The same hypothesis and these formulas before it.
    Replay with(std::vector<Formula> more) const;
    /// The same hypothesis elsewhere, e.g. at "segment.0.layer.1.".
    Replay elsewhere(std::string scope) const { return {evidence_, std::move(scope), replaced_, assumed_}; }

    /// "layer.0." and "q" -> "layer.0.q".
    std::string full_name(const std::string& stem) const;
    /// The same; nothing where the stem stands in a layer and this scope is none.
    std::optional<std::string> name_here(const std::string& stem) const;

private:
    /// "x" by the name of the formula it follows from, where that stands in no layer: "/embeddings.output".
    std::string canonical(const std::string& stem) const;
    const Formula* formula_of(const std::string& stem) const;
    /// What stands in place of the right formula, number `at` of them; nullptr where there are no more.
    const Formula* replacement_of(const std::string& stem, std::size_t at) const;
    const Formula* right_formula_of(const std::string& stem) const;
    bool is_replaced(const std::string& stem) const;
    /// True for what the case hands to the port, which therefore computes it by no formula.
    bool is_given(const std::string& stem) const {
        if (evidence_.given.empty()) return false;
        const auto name = name_here(stem);
        return name && evidence_.given.contains(*name);
    }
    /// True if the stage has an assumed formula, or follows from one through nothing that the candidate reports.
    bool follows_assumed(const std::string& stem) const;
    /// Of a stage that is computed: kept, and so is what it lacks.  Throws NotEnough.
    const Tensor<double>& computed_once(const std::string& stem) const;
    /// False where the stage is what was reported.
    bool is_computed(const std::string& stem) const;
    /// The candidate reports it, in the right shape.
    bool is_reported(const std::string& name) const { return is_of_right_shape(evidence_, evidence_.candidate, name); }
    /// nullptr if nobody reports it.
    const Tensor<double>* reported(const std::string& name) const;
    /// What the reference says, although the candidate may say something else; nullptr where it is silent.
    const Tensor<double>* of_reference(const std::string& name) const;
    /// mask(b) of a family whose masks are inputs alone.
    Mask mask_of_input(Index b) const;
    /// The stage and all it follows from, but what is given to the port, and what that alone is made of.
    Lineage::Stems everything_behind(const std::string& stem) const;
    /// Layer l's input: what it is made of in this scope.
    std::string input_name(bool of_query) const;
    /// "layer.0.g." without its segment.
    std::string place() const { return scope_.substr(segment_.size()); }

    const Evidence& evidence_;
    std::string scope_, segment_;
    std::vector<Formula> replaced_, assumed_;
    std::string watched_;
    Watch watch_;
    Apart apart_;
    mutable std::size_t not_shown_ = 0;  // formulas under way whose result another one still changes
    mutable std::unordered_map<std::string, Tensor<double>> kept_;
    mutable std::unordered_set<std::string> lacking_;                        // stages that could not be computed
    mutable std::unordered_map<std::string, const Tensor<double>*> shared_;  // those of evidence_ that were asked for
    mutable std::unordered_map<std::string, bool> touched_;                  // what follows from a replaced formula
    mutable std::unordered_map<std::string, bool> assumes_;                  // and from an assumed one
    mutable std::unordered_map<std::string, std::size_t> busy_;  // how many replacements of a stem are being computed
};

}  // namespace locus::conformance
