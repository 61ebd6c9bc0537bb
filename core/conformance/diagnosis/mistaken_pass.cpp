#include "core/conformance/diagnosis/mistaken_pass.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/compare.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/models/deberta.h"

namespace locus::conformance {

namespace {

Stage stage_with(Stage stage, const Tensor<double>& values) {
    if (std::holds_alternative<IndexTensor>(stage.values)) {
        IndexTensor whole(values.shape());
        for (Index n = 0; n < values.size(); ++n) whole[n] = static_cast<std::int64_t>(values[n]);
        stage.values = std::move(whole);
    } else {
        stage.values = values;
    }
    return stage;
}

/// How far the values of a stage may be off by rounding alone.
double allowed_of(const Stage& stage, const Tolerance& rounding) {
    double size = 0;
    const auto measure = [&](const auto& right) {
        for (const auto stored : right.values())
            if (const auto value = static_cast<double>(stored); std::isfinite(value))
                size = std::max(size, std::abs(value));
    };
    std::visit(measure, stage.values);
    return rounding.absolute + rounding.relative * size;
}

/// How many values are farther from the right ones than rounding explains; all of them where the shape is another.
ChangedStage change_of(const Stage& stage, const Tensor<double>& values, double allowed) {
    ChangedStage change{stage.name, 0, values.size()};
    if (values.shape() != stage.shape()) {
        change.wrong = values.size();
        return change;
    }
    const auto count = [&](const auto& right) {
        for (Index n = 0; n < values.size(); ++n) {
            const auto value = static_cast<double>(right[n]);
            if (std::abs(values[n] - value) <= allowed || values[n] == value) continue;
            change.wrong += !(std::isnan(values[n]) && std::isnan(value));
        }
    };
    std::visit(count, stage.values);
    return change;
}

/// Formulas by which the dialect of the right pass differs from the right ones; they stand after those of a mistake.
std::vector<Formula> formulas_of_dialect(const RightPass& right) {
    if (!right.model || right.model->family != Family::deberta || right.dialect != Dialect::paper) return {};
    return mistake_of(1).variants.front().formulas;  // the paper's p2c is the code's first mistake
}

/// The stages so that each comes after all that it may be made of.  A memory that is handed on may follow from its
/// whole segment where a mistake is made, and nothing in that segment reads it.
std::vector<const Stage*> in_order_of_need(const Trace& trace) {
    std::vector<const Stage*> order;
    std::vector<const Stage*> memories;
    std::string segment;
    const auto hand_on = [&] {
        order.insert(order.end(), memories.begin(), memories.end());
        memories.clear();
    };
    for (const Stage& stage : trace.stages()) {
        const std::string own = stage.name.starts_with("segment.") ? stage.name.substr(0, stage.name.find('.', 8)) : "";
        if (own != segment) hand_on();
        segment = own;
        (scope_and_stem(stage.name).second == "memory" ? memories : order).push_back(&stage);
    }
    hand_on();
    return order;
}

}  // namespace

PassSteps::PassSteps(const RightPass& right) : right_(right), names_(right.trace.names()) {
    const DerivedTolerances tolerances(right.trace);
    for (const Stage* stage : in_order_of_need(right.trace)) {
        auto [scope, stem] = scope_and_stem(stage->name);
        const auto known = std::find(scopes_.begin(), scopes_.end(), scope);
        const auto number = static_cast<std::size_t>(known - scopes_.begin());
        if (known == scopes_.end()) scopes_.push_back(std::move(scope));
        if (!right.given.contains(stage->name)) computed_.insert(stem);
        goes_back_ = goes_back_ || stage->name.starts_with("grad.");
        steps_.push_back({stage, number, std::move(stem), allowed_of(*stage, tolerances.of(*stage, *stage))});
    }
}

namespace {

/// Goes through the stages of the right pass.
class Port {
public:
    Port(const PassSteps& steps, const Variant& variant, bool keeps, const StageWatch& ends = {})
        : steps_(steps), keeps_(keeps), ends_(ends), formulas_(variant.formulas) {
        const bool is_of_gradients = std::all_of(formulas_.begin(), formulas_.end(), [](const Formula& formula) {
            return formula.stem.starts_with("grad.") || formula.stem.starts_with("/grad.") ||
                   formula.stem.starts_with("scatter.");
        });
        if (is_of_gradients && !steps.goes_back()) throw NotEnough{"a backward pass, and this one goes forward alone"};
        for (const Formula& formula : variant.formulas)
            if (steps.computes(formula.stem)) applied_[formula.stem] = false;
        for (Formula& formula : formulas_of_dialect(right_)) formulas_.push_back(std::move(formula));
        evidence_.model = right_.model;
        evidence_.segments = right_.segments;
        evidence_.dialect = right_.dialect;
        evidence_.family = right_.family;
        evidence_.formulas = right_.formulas;
        evidence_.dump = right_.dump;
        evidence_.lineage = steps.lineage();
        evidence_.is_whole_pass = true;
        for (const std::string& name : right_.given)
            if (const Stage* stage = right_.trace.find(name); stage && std::string_view(stage->dtype()) != "I64")
                evidence_.given.insert(name);
    }
    Port(const Port&) = delete;

    void take(const PassSteps::Step& step) {
        const Stage& stage = *step.stage;
        if (right_.given.contains(stage.name)) return keep(stage);
        const Replay& replay = replay_of(step.scope);
        const bool touched = replay.touches(step.stem);
        if (!touched && !follows_from_other(replay, step.stem)) return keep(stage);
        if (follows_from_left_out(stage.name)) return leave_out(stage);
        if (!why_not_.empty() && replay.is_lacking(step.stem)) return go_on(step);
        const auto wrong = applied_.find(step.stem);
        try {
            add(step, touched ? replay(step.stem) : replay.computed(step.stem));
            applied_any_ = applied_any_ || touched;
            if (wrong != applied_.end()) wrong->second = true;
        } catch (const NotEnough& lacking) {
            if (why_not_.empty()) why_not_ = lacking.what;
            go_on(step);
        } catch (const Error&) {  // the port stops here: shapes do not fit, or an index leaves its table
            if (why_not_.empty()) why_not_ = "other shapes than this input has";
            if (pass.changed.empty())
                keep(stage);
            else
                leave_out(stage);
        }
    }
    bool has_ended() const { return ended_; }
    /// True once every wrong formula of a stage that this model has was applied somewhere.
    bool applied_all() const {
        return std::all_of(applied_.begin(), applied_.end(), [](const auto& each) { return each.second; });
    }
    /// Throws NotEnough where a wrong formula could be applied nowhere: half a mistake is another one.
    void require_applied() const {
        if (applied_any_ && applied_all()) return;
        throw NotEnough{why_not_.empty() ? "a stage that this model does not have" : why_not_};
    }

    MistakenPass pass;

private:
    void keep(const Stage& stage) {
        if (keeps_) pass.trace.add(stage);
        ended_ = ended_ || (ends_ && ends_(stage.name, nullptr));
    }
    void add(const PassSteps::Step& step, const Tensor<double>& values) {
        const Stage& stage = *step.stage;
        const ChangedStage change = change_of(stage, values, step.allowed);
        if (change.wrong == 0) return keep(stage);
        pass.changed.push_back(change);
        others_.insert(stage.name);
        pass.trace.add(stage_with(stage, values));
        ended_ = ended_ || (ends_ && ends_(stage.name, &values));
    }
    void leave_out(const Stage& stage) {
        others_.insert(stage.name);
        pass.left_out.push_back(stage.name);
    }
    /// True if something that the stage is made of is no longer the right pass's, or if nobody knows what it is made
    /// of.
    bool follows_from_other(const Replay& replay, const std::string& stem) const {
        if (others_.empty()) return false;
        const std::vector<std::string> inputs = replay.inputs_of(stem);
        return inputs.empty() || std::any_of(inputs.begin(), inputs.end(),
                                             [&](const std::string& input) { return is_other(replay, input); });
    }
    bool is_other(const Replay& replay, const std::string& input) const {
        const auto name = replay.name_here(input);
        if (!name || others_.count(*name)) return true;
        const bool is_stage = right_.trace.find(*name);  // else a link of formulas
        return !is_stage && follows_from_other(replay, input);
    }
    /// A mistake that does not speak of this place, as one of the mask decoder in the encoder, leaves it right: what
    /// was wrong before goes on through the right formulas.
    void go_on(const PassSteps::Step& step) {
        const Stage& stage = *step.stage;
        if (pass.changed.empty()) return keep(stage);
        const std::string& scope = steps_.scopes()[step.scope];
        try {
            return add(step, Replay(evidence_, scope, formulas_of_dialect(right_)).computed(step.stem));
        } catch (const NotEnough&) {
        } catch (const Error&) {
        }
        if (depends_of(stage.name, steps_.names()).empty()) return keep(stage);  // an input, such as mlm.positions
        leave_out(stage);
    }
    bool follows_from_left_out(const std::string& name) const {
        if (pass.left_out.empty()) return false;
        const std::vector<std::string> sources = depends_of(name, steps_.names());
        return std::any_of(sources.begin(), sources.end(), [&](const std::string& source) {
            return std::find(pass.left_out.begin(), pass.left_out.end(), source) != pass.left_out.end();
        });
    }
    const Replay& replay_of(std::size_t scope) {
        std::optional<Replay>& replay = replays_[scope];
        return replay ? *replay : replay.emplace(evidence_, steps_.scopes()[scope], formulas_);
    }

    const PassSteps& steps_;
    const RightPass& right_ = steps_.right();
    const bool keeps_;  // also the stages that stay as they are
    const StageWatch ends_;
    bool ended_ = false;
    std::vector<Formula> formulas_;
    Evidence evidence_{right_.trace, pass.trace, nullptr, {}};
    // One for all stages of a scope, so that nothing is computed twice.
    std::vector<std::optional<Replay>> replays_{steps_.scopes().size()};
    std::map<std::string, bool> applied_;  // wrong formulas of stages that this model has, by stem
    bool applied_any_ = false;             // or of what leads to such a stage
    std::set<std::string> others_;         // stages that changed or were left out
    std::string why_not_;
};

std::string families_in_words(const Mistake& mistake) {
    std::string words;
    for (const Family family : mistake.families) words += (words.empty() ? "" : ", ") + std::string(to_string(family));
    return words;
}

[[noreturn]] void refuse_mistake(const std::string& title, const std::string& needs) {
    throw Error(Fault::unsupported, title + " cannot be made with this model and input: it needs " + needs);
}

}  // namespace

RightPass RightPass::of(std::shared_ptr<const ModelFolder> model, std::vector<ModelInput> segments, Dialect dialect,
                        const CancelToken& stop) {
    throw_if_cancelled(stop);
    RightPass right{std::move(model), std::move(segments), dialect, {}};
    const ModelFolder& folder = *right.model;
    if (folder.family == Family::deberta && right.segments.size() == 1)  // the one that can be stopped between layers
        right.trace = Deberta<double>(parse_deberta_config(folder.config_json, folder.location), folder.source)
                          .forward(right.segments.front(), DebertaOptions::of(dialect), {}, stop);
    else
        right.trace =
            open_model<double>(folder.config_json, folder.location, folder.source)->forward(right.segments, dialect);
    throw_if_cancelled(stop);
    return right;
}

MistakeChoice MistakeChoice::parse(const std::string& text) {
    MistakeChoice choice;
    const char* end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, choice.number);
    bool good = number.ec == std::errc{} && choice.number > 0;
    if (good && number.ptr != end) {
        const auto way = std::from_chars(number.ptr + 1, end, choice.way);
        good = *number.ptr == '.' && way.ec == std::errc{} && way.ptr == end && choice.way > 0;
    }
    LOCUS_CHECK(good,
                "the mistake is \"" + text + "\", expected a number of the catalogue, or one of its ways: 7 or 7.2");
    return choice;
}

namespace {

/// The stages of `made` in the order of another trace.
Trace in_order_of(const Trace& like, const Trace& made) {
    Trace trace;
    for (const Stage& stage : like.stages())
        if (const Stage* found = made.find(stage.name)) trace.add(*found);
    return trace;
}

/// The whole pass of a port; `keeps`: with the stages that stay as they are.
MistakenPass pass_through(const PassSteps& steps, const Variant& variant, bool keeps, const StageWatch& ends,
                          const CancelToken& stop) {
    Port port(steps, variant, keeps, ends);
    for (const PassSteps::Step& step : steps.steps()) {
        throw_if_cancelled(stop);
        port.take(step);
        if (port.has_ended()) return std::move(port.pass);
    }
    port.require_applied();
    return std::move(port.pass);
}

}  // namespace

MistakenPass mistaken_pass(const RightPass& right, const Variant& variant, const CancelToken& stop) {
    MistakenPass pass = pass_through(right, variant, true, {}, stop);
    pass.trace = in_order_of(right.trace, pass.trace);
    return pass;
}

MistakenPass changed_stages(const PassSteps& steps, const Variant& variant, const StageWatch& ends,
                            const CancelToken& stop) {
    return pass_through(steps, variant, false, ends, stop);
}

std::vector<ChangedStage> first_change(const PassSteps& steps, const Variant& variant, const CancelToken& stop) {
    Port port(steps, variant, false);
    for (const PassSteps::Step& step : steps.steps()) {
        throw_if_cancelled(stop);
        port.take(step);
        if (!port.pass.changed.empty() && port.applied_all()) break;
    }
    port.require_applied();
    if (port.pass.changed.size() > 1) port.pass.changed.resize(1);
    return port.pass.changed;
}

const Variant& chosen_way(const RightPass& right, const MistakeChoice& choice, const CancelToken& stop) {
    const PassSteps steps(right);
    const Mistake& mistake = mistake_of(choice.number);
    const auto& families = mistake.families;
    const std::string title = "mistake " + std::to_string(mistake.number);
    LOCUS_CHECK(
        std::find(families.begin(), families.end(), right.model->family) != families.end(),
        title + " is one of " + families_in_words(mistake) + ", and this model is a " + to_string(right.model->family));
    const auto ways = static_cast<int>(mistake.variants.size());
    LOCUS_CHECK(choice.way <= ways, title + "." + std::to_string(choice.way) + " is not in the catalogue: " + title +
                                        " is made in " + std::to_string(ways) + (ways == 1 ? " way" : " ways"));
    const Variant* possible = nullptr;
    std::string needs;
    for (int way = 1; way <= ways; ++way) {
        if (choice.way > 0 && way != choice.way) continue;
        const Variant& variant = mistake.variants[static_cast<std::size_t>(way - 1)];
        try {
            if (!first_change(steps, variant, stop).empty()) return variant;
            if (!possible) possible = &variant;
        } catch (const NotEnough& lacking) {
            if (needs.empty()) needs = lacking.what;
        }
    }
    if (!possible) refuse_mistake(title, needs);
    return *possible;
}

}  // namespace locus::conformance
