#include "core/conformance/diagnosis/other_parts.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/diagnosis/saved.h"
#include "core/conformance/formulas/arithmetic.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

constexpr double kMostWork = 1e10;  // multiplications that all tries may take, at a thousand for each value at least,
constexpr double kFewestTried = 16, kMostTried = 400;  // and how many of them there are at least and at most
constexpr std::size_t kFewRead = 12;                   // tensors that a stage is made with directly,
constexpr std::size_t kMostRead = 64;                  // and from as far back as the last stages that are reported

// Other weights.

/// A change of the parameters of a checkpoint; names as in its files.
struct Change {
    std::map<std::string, std::string> taken = {};  // the values of the second name stand under the first
    std::map<std::string, double> constant = {};    // every value of the tensor is this number
    std::map<std::string, Index> first_row = {};    // its rows are read so many further on
    std::set<std::string> one_more = {};            // 1 is added to every value
    std::set<std::string> twice = {};               // every value is twice what it is
    double (*rounded)(double) = nullptr;            // every value of every tensor goes through this,
    bool matrices_alone = false;                    // or only those of tensors with two axes and more
    std::set<std::string> identity = {};            // square matrices that change nothing
};

/// The parameters of a checkpoint after a change; remembers which were read.
class ChangedWeights : public WeightSource {
public:
    ChangedWeights(std::shared_ptr<const WeightSource> original, Change change)
        : original_(std::move(original)), change_(std::move(change)) {}

    std::optional<Shape> shape(const std::string& name) const override { return original_->shape(name); }
    std::vector<std::string> names() const override { return original_->names(); }
    std::string location() const override { return original_->location(); }
    Matrix<float> rows_f32(const std::string& name, Index first_row, Index rows) const override {
        return rows_f64(name, first_row, rows).cast<float>();
    }
    Matrix<double> rows_f64(const std::string& name, Index first_row, Index rows) const override {
        {
            const std::lock_guard alone(busy_);
            read_.insert(name);
        }
        const auto taken = change_.taken.find(name);
        if (const auto further = change_.first_row.find(name); further != change_.first_row.end()) {
            first_row += further->second;
            // One row is that of a token, looked up; of a table that is read as a whole the last rows are not there.
            if (const Index count = original_->shape(name).value_or(Shape{1}).front(); rows == 1)
                first_row = (first_row + count) % count;
        }
        Matrix<double> values =
            original_->rows_f64(taken == change_.taken.end() ? name : taken->second, first_row, rows);
        if (const auto constant = change_.constant.find(name); constant != change_.constant.end())
            values.setConstant(constant->second);
        if (change_.one_more.contains(name)) values.array() += 1;
        if (change_.twice.contains(name)) values *= 2;
        const bool is_rounded = !change_.matrices_alone || original_->shape(name).value_or(Shape()).size() > 1;
        if (change_.rounded && is_rounded) values = values.unaryExpr(change_.rounded).eval();
        if (change_.identity.contains(name))
            for (Index n = 0; n < values.rows(); ++n)
                for (Index c = 0; c < values.cols(); ++c) values(n, c) = first_row + n == c;
        return values;
    }

    std::set<std::string> read() const {
        const std::lock_guard alone(busy_);
        return read_;
    }

private:
    std::shared_ptr<const WeightSource> original_;
    Change change_;
    mutable std::mutex busy_;
    mutable std::set<std::string> read_;
};

/// "x.weight" and "x.bias" are parts of "x"; every other name stands for itself.
std::string part_of(const std::string& name) {
    for (const std::string end : {".weight", ".bias"})
        if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
    return name;
}

/// "encoder.layer.#.output.dense": the same for every layer.
std::string without_numbers(const std::string& name) {
    std::string text;
    for (const char letter : name)
        if (letter < '0' || letter > '9')
            text += letter;
        else if (text.empty() || text.back() != '#')
            text += '#';
    return text;
}

/// "encoder.layer.3.output.dense.bias" -> "encoder.layer." and 3; nothing where a name holds no number between points.
std::optional<std::pair<std::string, Index>> layer_of(const std::string& name) {
    for (std::size_t at = name.find('.'); at != std::string::npos; at = name.find('.', at + 1)) {
        const std::size_t end = name.find_first_not_of("0123456789", at + 1);
        if (end != std::string::npos && end > at + 1 && end < at + 8 && name[end] == '.')
            return std::pair(name.substr(0, at + 1), Index(std::stol(name.substr(at + 1, end - at - 1))));
    }
    return std::nullopt;
}

/// The same name in another layer.
std::string in_layer(const std::string& name, Index number) {
    const auto layer = layer_of(name);
    return layer->first + std::to_string(number) + name.substr(name.find('.', layer->first.size()));
}

/// A change of what a stage is made of, and how a person says it.
struct Other {
    std::string sentence;
    std::function<Evidence()> make;
};

Eigen::Map<const Eigen::VectorXd> flat(const Tensor<double>& values) { return {values.data(), values.size()}; }

class Parts {
public:
    Parts(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
          const std::vector<Formula>& assumed)
        : evidence_(evidence), comparison_(comparison), verdict_(verdict), assumed_(assumed) {
        std::tie(scope_, stem_) = scope_and_stem(verdict.name);
        if (!evidence.model) return;
        // First by what the candidate itself reports, as far back as that is; the reference's values of what it does
        // not report would hide which part is another one.
        for (const std::string& name : evidence.reference.names())
            if (!is_of_right_shape(evidence, evidence.candidate, name)) evidence_.not_its_own.insert(name);
        evidence_.shared = std::make_shared<SharedWork>();
        read_ = weights_read();
        if (read_ && read_->size() <= kMostRead && most_tries() >= kFewestTried) return;
        evidence_ = evidence;
        read_ = weights_read();
        if (read_ && read_->size() > kFewRead) read_.reset();
    }

    std::optional<std::string> sentence(bool first) const {
        if (const auto counts = counts_of_terms()) return counts;
        if (evidence_.model && !read_) return std::nullopt;
        std::optional<std::string> found;
        Tensor<double> predicted;
        double left = std::max(most_tries(), kFewestTried);
        for (const auto& tried : {&Parts::other_weights, &Parts::other_stages})
            for (const Other& other : (this->*tried)()) {
                if (--left < 0) return found;
                throw_if_cancelled(evidence_.stop);
                const std::optional<Hypothesis> each = right_formula(other.make());
                if (!each || !each->explanation.fits()) continue;
                if (first) return other.sentence;
                if (!found) {
                    found = other.sentence;
                    predicted = each->predicted;
                } else if (largest_difference(each->predicted, predicted) >
                           each->explanation.allowed * largest_size(predicted)) {
                    return std::nullopt;
                }
            }
        return found;
    }

private:
    std::optional<Hypothesis> right_formula(const Evidence& evidence) const {
        static const Variant as_it_should_be;
        try {
            return Judge(evidence, comparison_, verdict_, assumed_).judge(0, as_it_should_be);
        } catch (const Error&) {  // a table without so many rows
            return std::nullopt;
        }
    }

    /// How many tries the work allows; each multiplies every token by every matrix that is read.
    double most_tries() const {
        const Shape shape = widened(*evidence_.candidate.at(verdict_.name)).shape();
        double work = 1000 * static_cast<double>(element_count(shape)), elements = 0;
        for (const std::string& name : read_.value_or(std::set<std::string>()))
            if (const Shape matrix = evidence_.model->source->shape(name).value_or(Shape{}); matrix.size() > 1)
                elements += static_cast<double>(element_count(matrix));
        Index tokens = 0;
        for (const ModelInput& segment : evidence_.segments) tokens += segment.tokens.size();
        work = std::max(work, elements * static_cast<double>(tokens));
        return std::min(kMostWork / work, kMostTried);
    }

    Evidence changed() const {
        Evidence other = evidence_;
        other.shared = std::make_shared<SharedWork>();
        return other;
    }

    /// Names of reported stages that this one is made of, through those that nobody reports.
    void add_inputs(const Replay& here, const std::string& stem, std::set<std::string>& names, int steps = 4) const {
        for (const std::string& from : here.inputs_of(stem)) {
            const auto name = here.name_here(from);
            if (!name) continue;
            if (is_of_right_shape(evidence_, evidence_.candidate, *name))
                names.insert(*name);
            else if (steps > 0)
                add_inputs(here, from, names, steps - 1);
        }
    }

    std::set<std::string> inputs() const {
        std::set<std::string> names;
        add_inputs(Replay(evidence_, scope_), stem_, names);
        return names;
    }

    /// A sum of terms of its own shape, each times a number: scores.
    std::optional<std::string> counts_of_terms() const;
    std::vector<Other> other_stages() const;
    std::optional<std::set<std::string>> weights_read() const;
    std::vector<Other> other_weights() const;
    void add_layers(const std::set<std::string>& read, std::vector<Other>& all) const;
    void add_weights(const std::string& part, const std::set<std::string>& read, std::vector<Other>& all) const;
    void add_tensors(const std::string& name, const std::vector<std::string>& own, std::vector<Other>& all) const;
    void add_change(std::string sentence, Change change, std::vector<Other>& all) const {
        all.push_back({std::move(sentence), [this, change = std::move(change)] {
                           Evidence other = changed();
                           other.model =
                               evidence_.model->with(std::make_shared<ChangedWeights>(evidence_.model->source, change));
                           return other;
                       }});
    }

    Evidence evidence_;
    const Comparison& comparison_;
    const StageVerdict& verdict_;
    const std::vector<Formula>& assumed_;
    std::string scope_, stem_;
    std::optional<std::set<std::string>> read_;  // weights
};

std::optional<std::string> Parts::counts_of_terms() const {
    const Tensor<double> found = widened(*evidence_.candidate.at(verdict_.name));
    std::vector<std::string> names;
    for (const std::string& name : inputs())
        if (*evidence_.candidate.shape_of(name) == found.shape()) names.push_back(name);
    const auto count = static_cast<Index>(names.size());
    if (!stem_.ends_with("scores") || count < 2 || found.size() < 8 * count) return std::nullopt;
    const Tensor<double> right = Replay(evidence_, scope_, {}, assumed_).computed(stem_);
    if (right.shape() != found.shape()) return std::nullopt;

    // Least squares twice: what the terms count here, and what they count in the right sum.
    Eigen::MatrixXd terms(found.size(), count);
    for (Index n = 0; n < count; ++n)
        terms.col(n) = flat(widened(*evidence_.candidate.at(names[static_cast<std::size_t>(n)])));
    if (!terms.allFinite() || !flat(found).allFinite() || !flat(right).allFinite()) return std::nullopt;
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(terms);
    const auto fitted = [&](const Tensor<double>& sum) {
        const Eigen::VectorXd numbers = solver.solve(Eigen::VectorXd(flat(sum)));
        const double off = (terms * numbers - flat(sum)).cwiseAbs().maxCoeff();
        return std::pair(numbers, off <= verdict_.tolerance.absolute + verdict_.tolerance.relative * largest_size(sum));
    };
    const auto [here, explains] = fitted(found);
    const auto [should, is_sum] = fitted(right);
    // A term that the right sum does not have counts no number of times what it should.
    if (solver.rank() < count || !explains || !is_sum || !(should.cwiseAbs().minCoeff() > 1e-9)) return std::nullopt;
    const Eigen::VectorXd times = here.cwiseQuotient(should);
    if ((times.array() - times[0]).abs().maxCoeff() <= 1e-4) return std::nullopt;  // one factor: another scale
    std::string text = "its terms count differently than they should:";
    for (Index n = 0; n < count; ++n) {
        const double rounded = std::round(times[n]);
        const double counted = std::abs(times[n] - rounded) <= 1e-4 ? rounded + 0.0 : times[n];
        const std::string often = counted == 1   ? "once"
                                  : counted == 2 ? "twice"
                                  : counted == 0 ? "not at all"
                                                 : format_number(counted) + " times";
        text += (n == 0 ? " " : ", ") + names[static_cast<std::size_t>(n)] + " " + often;
    }
    return text;
}

/// What the scores were multiplied with before their softmax, read off the logarithms of its values: in a row those
/// differ as the scores do, times this.  Nothing where no row has two values.
std::optional<double> factor_before_softmax(const Tensor<double>& scores, const Tensor<double>& probs) {
    double product = 0, square = 0;
    for (Index row = 0; row < probs.size() / probs.extent(probs.rank() - 1); ++row) {
        const Index keys = probs.extent(probs.rank() - 1);
        Index first = -1;
        for (Index n = row * keys; n < (row + 1) * keys; ++n) {
            if (!(probs[n] > 1e-6)) continue;  // hidden, or too small for a logarithm of a rounded number
            if (first < 0) first = n;
            const double score = scores[n] - scores[first], log = std::log(probs[n] / probs[first]);
            product += score * log;
            square += score * score;
        }
    }
    return square > 0 && std::isfinite(product / square) ? std::optional(product / square) : std::nullopt;
}

/// A stage of the same layer, of none, or the output of a layer, in the place of one that this is made of.
std::vector<Other> Parts::other_stages() const {
    std::vector<Other> all;
    const std::vector<std::string> names = evidence_.candidate.names();
    const auto add = [&](const std::string& sentence, const std::string& input, const std::string& name,
                         double factor) {
        all.push_back({sentence, [this, input, name, factor] {
                           Tensor<double> values = widened(*evidence_.candidate.at(name));
                           for (Index n = 0; n < values.size(); ++n) values[n] *= factor;
                           Evidence other = changed();
                           other.candidate = with_values(evidence_.candidate, input, values);
                           return other;
                       }});
    };
    for (const std::string& input : inputs()) {
        // A norm or a softmax after it hides what a factor would show.
        std::vector<double> factors = {-1, 2, 0.5};
        const Tensor<double> own = widened(*evidence_.candidate.at(input));
        const Tensor<double> found = widened(*evidence_.candidate.at(verdict_.name));
        if (stem_ == "probs" && own.shape() == found.shape())
            if (const auto factor = factor_before_softmax(own, found)) factors.push_back(*factor);
        for (const double factor : factors)
            add("it is made of " + format_number(factor) + " times " + input, input, input, factor);
        for (const std::string& name : names) {
            const std::string scope = scope_and_stem(name).first;
            const bool near = scope == scope_ || scope.empty() || name.ends_with(".output");
            if (near && name != input && name != verdict_.name &&
                *evidence_.candidate.shape_of(name) == *evidence_.candidate.shape_of(input))
                add("it is made of " + name + " instead of " + input, input, name, 1);
        }
    }
    return all;
}

/// Names of the weights that the right formula reads; nothing where it cannot be computed.
std::optional<std::set<std::string>> Parts::weights_read() const {
    const auto source = std::make_shared<ChangedWeights>(evidence_.model->source, Change());
    Evidence watched = changed();
    watched.model = evidence_.model->with(source);
    return right_formula(watched) ? std::optional(source->read()) : std::nullopt;
}

std::vector<Other> Parts::other_weights() const {
    std::vector<Other> all;
    if (!evidence_.model) return all;
    const std::set<std::string>& read = *read_;
    std::set<std::string> parts;
    for (const std::string& name : read) parts.insert(part_of(name));
    add_layers(read, all);
    add_change("it is made with weights that were rounded to F16, or to TF32, which keeps as many digits",
               {.rounded = stored<Eigen::half>}, all);
    add_change("it is made with weights that were rounded to BF16", {.rounded = stored<Eigen::bfloat16>}, all);
    add_change("it is made with weights that were cut to BF16, without rounding", {.rounded = cut_to_bfloat16}, all);
    // As files of ggml have them.
    add_change("it is made with matrices that were rounded to F16, and with biases and norms that were not",
               {.rounded = stored<Eigen::half>, .matrices_alone = true}, all);
    add_change("it is made with matrices that were rounded to BF16, and with biases and norms that were not",
               {.rounded = stored<Eigen::bfloat16>, .matrices_alone = true}, all);
    for (const std::string& part : parts) add_weights(part, read, all);
    return all;
}

/// Everything that is read of one layer, from another one.
void Parts::add_layers(const std::set<std::string>& read, std::vector<Other>& all) const {
    const WeightSource& source = *evidence_.model->source;
    std::set<std::pair<std::string, Index>> own;
    for (const std::string& name : read)
        if (const auto layer = layer_of(name)) own.insert(*layer);
    if (own.size() != 1) return;
    const auto [stem, number] = *own.begin();
    for (Index other = 0;; ++other) {
        if (other == number) continue;
        Change change;
        for (const std::string& name : read)
            if (layer_of(name)) change.taken[name] = in_layer(name, other);
        const bool is_there = std::all_of(change.taken.begin(), change.taken.end(), [&](const auto& each) {
            return source.shape(each.second) == source.shape(each.first);
        });
        if (!is_there && other > number) return;
        if (is_there)
            add_change("it is made with the weights of " + stem + std::to_string(other) + " instead of those of " +
                           stem + std::to_string(number),
                       std::move(change), all);
    }
}

void Parts::add_weights(const std::string& part, const std::set<std::string>& read, std::vector<Other>& all) const {
    const WeightSource& source = *evidence_.model->source;
    std::vector<std::string> own;
    for (const std::string& name : read)
        if (part_of(name) == part) own.push_back(name);
    const auto end_of = [&](const std::string& name) { return name.substr(part.size()); };
    const auto rank = [&](const std::string& name) { return source.shape(name).value_or(Shape{}).size(); };

    // Left out, or one for the other.
    if (own.size() == 2 && rank(own[0]) == 1 && rank(own[1]) == 1)  // what a norm is before anything is loaded
        add_change("it is made without weight and bias of " + part,
                   {.constant = {{part + ".weight", 1.0}, {part + ".bias", 0.0}}}, all);
    for (const std::string& name : own)
        if (rank(name) == 1)
            add_change("it is made without " + name, {.constant = {{name, name.ends_with(".weight") ? 1.0 : 0.0}}},
                       all);
    for (const std::string& name : own)
        if (rank(name) == 1 && !name.ends_with(".weight"))
            add_change("it is made with " + name + " added twice", {.twice = {name}}, all);
    for (const std::string& name : own)  // as norms do whose gain is stored minus 1
        if (rank(name) == 1 && name.ends_with(".weight"))
            add_change("it is made with 1 + " + name + " instead of " + name, {.one_more = {name}}, all);
    const Shape matrix = source.shape(part + ".weight").value_or(Shape{});
    if (own.size() == 2 && matrix.size() == 2 && matrix[0] == matrix[1])
        add_change("it is made without " + part, {.constant = {{part + ".bias", 0.0}}, .identity = {part + ".weight"}},
                   all);
    if (own.size() == 2 && source.shape(own[0]) == source.shape(own[1]))
        add_change("it is made with weight and bias of " + part + " exchanged",
                   {.taken = {{own[0], own[1]}, {own[1], own[0]}}}, all);
    // A table whose rows are counted from another one on.
    if (own.size() == 1 && rank(own[0]) == 2)
        for (const Index first : {1, 2, -1})
            add_change("the rows of " + own[0] + " are read " + std::to_string(std::abs(first)) +
                           (first > 0 ? " too far on" : " too early"),
                       {.first_row = {{own[0], first}}}, all);

    // The same part of another layer first, then whatever has its shapes.
    std::vector<std::string> others;
    for (const std::string& name : source.names())
        if (const std::string other = part_of(name);
            other != part && std::find(others.begin(), others.end(), other) == others.end() &&
            std::all_of(own.begin(), own.end(), [&](const std::string& each) {
                return source.shape(other + end_of(each)) == source.shape(each);
            }))
            others.push_back(other);
    std::stable_partition(others.begin(), others.end(),
                          [&](const std::string& other) { return without_numbers(other) == without_numbers(part); });
    for (const std::string& other : others) {
        Change change;
        for (const std::string& name : own) change.taken[name] = other + end_of(name);
        add_change("it is made with " + other + " instead of " + part, std::move(change), all);
    }
    for (const std::string& name : own) add_tensors(name, own, all);
}

/// One tensor of a dense layer, from another part of the same layer, where the rest of its own is right.
void Parts::add_tensors(const std::string& name, const std::vector<std::string>& own, std::vector<Other>& all) const {
    const WeightSource& source = *evidence_.model->source;
    const auto layer = layer_of(name);
    if (own.size() != 2 || !layer || source.shape(own[0]) == source.shape(own[1])) return;
    const std::string end = name.substr(part_of(name).size());
    for (const std::string& other : source.names())
        if (other != name && layer_of(other) == layer && other.ends_with(end) &&
            source.shape(other) == source.shape(name))
            add_change("it is made with " + other + " instead of " + name, {.taken = {{name, other}}}, all);
}

}  // namespace

std::optional<std::string> made_of_other_parts(const Evidence& evidence, const Comparison& comparison,
                                               const StageVerdict& verdict, const std::vector<Formula>& assumed,
                                               bool first) try {
    return Parts(evidence, comparison, verdict, assumed).sentence(first);
} catch (const NotEnough&) {
    return std::nullopt;
}

}  // namespace locus::conformance
