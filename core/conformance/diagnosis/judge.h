#pragma once
// Holds one wrong stage of a candidate against hypotheses: what would the stage be, if these formulas were its own?
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

inline constexpr double kBeyondBest = 100;     // how many times the best residual every other hypothesis must leave,
inline constexpr double kBeyondRounding = 10;  // and how many times what rounding allows

/// A hypothesis and the numbers it predicts.
struct Hypothesis {
    Explanation explanation;
    const Variant* variant = nullptr;
    Tensor<double> predicted;
};

/// One that is to be judged: a number of the catalogue, 0 for the right formula, and a way to make it.
struct OpenHypothesis {
    int mistake = 0;
    const Variant* variant = nullptr;
};

/// max |a - b|; infinity for another shape, and where either is not a number unless both are: a hypothesis may predict
/// NaN.
double largest_difference(const Tensor<double>& a, const Tensor<double>& b);
/// What Replay::show calls part `at` of a stage; nothing where one like this does not fit into it.
std::optional<Matrix<double>> part_of(const Tensor<double>& stage, Index at, const Matrix<double>& like);
/// Largest |value|.
double largest_size(const Tensor<double>& values);
/// A gradient that is 0 everywhere: nothing was ever written there, and whatever multiplies by 0 would explain it.
bool is_unwritten_gradient(const Evidence& evidence, const StageVerdict& verdict);
/// True where the candidate's stage is all NaN and infinity, which every mistake that ends in NaN would explain.
bool has_no_number(const Evidence& evidence, const StageVerdict& verdict);

class Judge {
public:
    /// `assumed`: formulas that are known to be the candidate's in stages that it does not report.
    /// All arguments but the last must outlive this.
    Judge(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
          std::vector<Formula> assumed = {});

    /// The hypothesis that these formulas are the candidate's; nothing if it says nothing about the stage.  `apart`:
    /// what is known of two mistakes in it, see Replay::take.
    std::optional<Hypothesis> judge(int mistake, const Variant& variant, const Replay::Apart& apart = {}) const;
    /// Every mistake of the family that nothing contradicts, in the order of the catalogue, the right formula first.
    std::vector<OpenHypothesis> open_hypotheses() const;
    /// Those that say something about the stage, in the order given.  `apart`: of each one that has two mistakes in it.
    /// Throws Cancelled.
    std::vector<Hypothesis> judge_all(const std::vector<OpenHypothesis>& open,
                                      const std::function<Replay::Apart(std::size_t n)>& apart = {}) const;
    /// True if the candidate reports a stage that this way of making the mistake makes wrong, and has it right.
    bool contradicted(const Mistake& mistake, const Variant& variant) const;
    /// Stages around this one by these formulas.
    Replay replay(const std::vector<Formula>& formulas) const { return {evidence_, scope(), formulas, assumed_}; }
    /// The stage by these formulas, to its last part; nothing if they say nothing about it.
    std::optional<Tensor<double>> computed(const std::vector<Formula>& formulas) const;
    /// True if this way alone makes other numbers of the stage than the right formula does, by more than rounding
    /// explains.
    bool changes(const Variant& variant) const;
    /// True if it changes a stage that the case hands to the port as well: that part of it cannot be seen here.
    bool speaks_of_given(const Variant& variant) const;
    /// How many stages that the candidate reports around this one are as the variant would have them.
    int explained_around(const Variant& variant) const;
    /// The same of the query stream beside the layer of this stage; 0 in models with one stream.
    int explained_in_query_stream(const Variant& variant) const;
    Index size() const { return found_.size(); }
    /// What rounding may explain of another hypothesis where `best` fits: a part of the largest value.  The tolerance
    /// of the stage counts all sums since the tokens.  Where the candidate reports everything that the stage is made
    /// of, what was rounded before is in those values, and the sums of this one step are left; so it is if `best`
    /// leaves no more than they do.  Stages in F16 and BF16 are taken to be rounded as they are stored.
    double rounding_beside(const Explanation& best) const;
    /// True if `other` leaves so much more than `best` that only `best` can be meant: kBeyondBest times as much, and
    /// kBeyondRounding times what rounding may explain. The second is not asked of one that does not fit where `best`
    /// leaves nothing but the last digit of its numbers: an eps of 1e-5 for 1e-7 is small, and seen all the same.
    bool is_far(const Explanation& other, const Explanation& best) const;
    /// Of a stage behind the layers: true if this way would change a stage of a layer that the candidate has right.
    bool changes_right_layers(const Variant& variant) const;
    /// True if this way would change another stage of the same layer that the candidate reports and has right, and that
    /// does not follow from this one.
    bool changes_right_neighbours(const Variant& variant) const;

private:
    const std::string& scope() const { return place_.first; }
    const std::string& stem() const { return place_.second; }
    std::string dtype() const;  // that the stage came in
    std::optional<Tensor<double>> predict(int mistake, const Variant& variant, const Replay::Apart& apart) const;
    /// True if this way changes a stage, made of what is reported, by more than `times` what rounding explains.
    bool changes_in(const std::string& scope, const std::string& stem, const Variant& variant, double times) const;
    void stop_if_far(Index at, const Matrix<double>& part) const;
    int explained_where(const Variant& variant,
                        const std::function<bool(const std::string& where, const std::string& what)>& asked) const;

    const Evidence& evidence_;
    const Comparison& comparison_;
    const StageVerdict& verdict_;
    std::vector<Formula> assumed_;
    std::pair<std::string, std::string> place_;
    Tensor<double> found_;
    double largest_ = 0;             // of found_
    bool says_something_ = true;     // false where nothing found is a number: every hypothesis with NaN would fit
    std::set<std::string> settled_;  // what the candidate reports and has right
    std::unordered_set<std::string> origins_;  // of the stage; none where its place is not known
};

/// Calls work(n) once for each n < count, on a few threads; returns when all are done.  Throws Cancelled as soon as
/// `stop` says yes.
void share_out(std::size_t count, const CancelToken& stop, const std::function<void(std::size_t n)>& work);

/// Hypotheses that fit equally well are told apart by the other stages that the candidate reports: those that explain
/// fewer of them than another are dropped, and the rest stand in the order of the catalogue, those that speak of what
/// the case gives last.  `all`: best first.
void settle_ties(std::vector<Hypothesis>& all, const Judge& judge);
/// Ways of the best one's mistake whose numbers differ by less than it leaves are not told apart: the first of them in
/// the catalogue comes to the front, if it can one that does not speak of layers which are right.
void prefer_first_way(std::vector<Hypothesis>& all, const Judge& judge);

}  // namespace locus::conformance
