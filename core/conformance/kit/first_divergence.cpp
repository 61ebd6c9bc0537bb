#include "core/conformance/kit/first_divergence.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/stages.h"

namespace locus::conformance {

namespace {

/// What was said about each stage: true right, false wrong, absent nothing.
std::map<std::string, bool> verdicts_of(const Comparison& comparison) {
    std::map<std::string, bool> verdicts;
    for (const StageVerdict& stage : comparison.stages) verdicts[stage.name] = stage.pass;
    return verdicts;
}

const std::vector<std::string>& made_of(const KitCase& one, const std::string& stage) {
    static const std::vector<std::string> nothing;
    const auto found = one.depends.find(stage);
    return found == one.depends.end() ? nothing : found->second;
}

/// Everything a stage follows from, itself included, through the stages that `passes` lets through.
template <class Passes>
void collect(const KitCase& one, const std::string& stage, Passes passes, std::set<std::string>& found) {
    if (!passes(stage) || !found.insert(stage).second) return;
    for (const std::string& from : made_of(one, stage)) collect(one, from, passes, found);
}

/// How many places are left on average, times the number of places, if these stages were reported, too.
std::size_t places_left(const KitCase& one, const std::set<std::string>& suspects,
                        const std::vector<std::string>& reported) {
    // A mistake at a suspect makes wrong what follows from it; suspects that give the same verdicts stay together.
    std::map<std::vector<bool>, std::size_t> groups;
    std::vector<std::set<std::string>> behind;
    for (const std::string& stage : reported) {
        behind.emplace_back();
        collect(
            one, stage, [&](const std::string& name) { return suspects.contains(name); }, behind.back());
    }
    for (const std::string& suspect : suspects) {
        std::vector<bool> wrong;
        for (const auto& stages : behind) wrong.push_back(stages.contains(suspect));
        ++groups[wrong];
    }
    std::size_t squares = 0;
    for (const auto& [wrong, size] : groups) squares += size * size;
    return squares;
}

}  // namespace

KitCase case_of(const TraceView& reference) {
    KitCase one;
    one.stages = reference.names();
    for (const std::string& stage : one.stages) one.depends[stage] = depends_of(stage, one.stages);
    return one;
}

std::vector<std::string> first_wrong(const KitCase& one, const Comparison& comparison) {
    const std::map<std::string, bool> verdicts = verdicts_of(comparison);
    std::vector<std::string> roots;
    for (const StageVerdict& stage : comparison.stages) {
        if (stage.pass) continue;
        std::set<std::string> behind;
        collect(
            one, stage.name, [](const std::string&) { return true; }, behind);
        behind.erase(stage.name);
        const bool blocked = std::any_of(behind.begin(), behind.end(), [&](const std::string& name) {
            const auto verdict = verdicts.find(name);
            return verdict != verdicts.end() && !verdict->second;
        });
        if (!blocked) roots.push_back(stage.name);
    }
    return roots;
}

std::vector<std::string> would_narrow(const KitCase& one, const Comparison& comparison, const std::string& wrong) {
    const std::map<std::string, bool> verdicts = verdicts_of(comparison);
    std::set<std::string> suspects;
    collect(
        one, wrong, [&](const std::string& name) { return name == wrong || !verdicts.contains(name); }, suspects);
    std::vector<std::string> chosen;
    std::size_t left = suspects.size() * suspects.size();
    // In the order of a pass, so that of two that help equally the earlier one is named.
    while (chosen.size() < 2) {
        std::string best;
        for (const std::string& stage : one.stages) {
            if (stage == wrong || !suspects.contains(stage)) continue;
            std::vector<std::string> tried = chosen;
            tried.push_back(stage);
            const std::size_t places = places_left(one, suspects, tried);
            if (places >= left) continue;
            left = places;
            best = stage;
        }
        if (best.empty()) break;
        chosen.push_back(best);
    }
    return chosen;
}

// What every stage is made of, by its name.

namespace {

/// A stem and what it is made of; "x" and "x_q" are the inputs of keys and of queries, "/..." a name of the segment,
/// "^..." one of the content stream, "~" what stands in a layer only.
struct Row {
    const char* stem;
    std::vector<const char*> from;
};

const std::vector<Row>& layer_rows() {
    static const std::vector<Row> rows = {
        {"q", {"x_q"}},
        {"k", {"x"}},
        {"v", {"x"}},
        {"q_r", {"/relative.table"}},
        {"k_r", {"/relative.table"}},
        {"r_k", {"/positions.r"}},
        {"r_k_backward", {"/positions.r_backward"}},
        {"q_rot", {"q", "/rotary.sin", "/rotary.cos"}},
        {"k_rot", {"k", "/rotary.sin", "/rotary.cos"}},
        {"v_rot", {"v", "/rotary.sin", "/rotary.cos"}},
        {"phi_q", {"q"}},
        {"phi_k", {"k"}},
        {"phi_q_rot", {"phi_q"}},
        {"phi_k_rot", {"phi_k"}},
        {"denominator", {"phi_q", "phi_k"}},
        {"weights", {"phi_q_rot", "phi_k_rot", "denominator"}},
        {"c2c", {"q", "k"}},
        {"c2p", {"q", "k_r", "/relative.index"}},
        {"p2c", {"k", "q_r", "/relative.index"}},
        {"ac", {"q", "k"}},
        {"bd_raw", {"q", "r_k", "r_k_backward"}},
        {"bd", {"bd_raw"}},
        {"ef", {"q"}},
        {"scores", {"c2c", "c2p", "p2c", "ac", "bd", "ef", "q_rot", "k_rot"}},
        {"scores_mixed", {"scores"}},
        {"probs", {"scores_mixed|scores"}},
        {"probs_mixed", {"probs"}},
        {"context", {"weights|probs_mixed|probs", "v_rot|v"}},
        {"attention", {"context", "x_q"}},
        {"ffn_act", {"attention"}},
        {"ffn", {"ffn_act"}},
        {"output_before_conv", {"ffn", "attention"}},
        {"conv", {"/embeddings.output"}},
        {"conv_act", {"conv"}},
        {"output", {"output_before_conv|ffn", "output_before_conv|attention", "conv_act"}},
    };
    return rows;
}

/// The same for gradients, "grad." before the whole name; names without it are stages of the forward pass.
const std::vector<Row>& gradient_rows() {
    static const std::vector<Row> rows = {
        {"probs", {"grad.context", "v_rot|v", "keep"}},
        {"scores", {"probs", "grad.probs"}},
        {"c2c", {"grad.scores"}},
        {"c2p", {"grad.scores"}},
        {"p2c", {"grad.scores"}},
        {"v", {"probs", "keep", "grad.context", "/rotary.sin", "/rotary.cos"}},
        {"q", {"grad.scores", "k_rot|k", "k_r", "r_k", "/relative.index", "/rotary.sin", "/rotary.cos"}},
        {"k", {"grad.scores", "q_rot|q", "q_r", "bias.u", "/relative.index", "/rotary.sin", "/rotary.cos"}},
        {"q_r", {"grad.scores", "k", "/relative.index"}},
        {"k_r", {"grad.scores", "q", "/relative.index"}},
        {"r_k", {"grad.scores", "q", "bias.v"}},
        {"bias.u", {"grad.scores", "k"}},
        {"bias.v", {"grad.scores", "r_k"}},
        {"context", {"grad.attention", "context", "x_q"}},
        {"attention", {"grad.ffn", "grad.ffn_act", "attention"}},
        {"ffn_act", {"grad.ffn"}},
        {"ffn", {"grad.output_before_conv|grad.output", "ffn", "attention"}},
        {"output_before_conv", {"grad.output", "output_before_conv", "conv_act"}},
        {"conv_act", {"grad.output", "output_before_conv", "conv_act"}},
        {"conv", {"grad.conv_act", "conv"}},
    };
    return rows;
}

/// The same for parameters of a layer, by the end of their names.
const std::vector<Row>& parameter_rows() {
    static const std::vector<Row> rows = {
        {"attention.self.query_proj", {"grad.q", "x_q", "grad.q_r", "/relative.table"}},
        {"attention.self.key_proj", {"grad.k", "x", "grad.k_r", "/relative.table"}},
        {"attention.self.value_proj", {"grad.v", "x"}},
        {"attention.self.pos_key_proj", {"grad.k_r", "/relative.table"}},
        {"attention.self.pos_query_proj", {"grad.q_r", "/relative.table"}},
        {"attention.output.dense", {"grad.attention", "context", "x_q"}},
        {"attention.output.LayerNorm", {"grad.attention", "context", "x_q"}},
        {"intermediate.dense", {"grad.ffn_act", "attention"}},
        {"output.dense", {"grad.ffn", "ffn_act"}},
        {"output.LayerNorm", {"grad.output_before_conv|grad.output", "ffn", "attention"}},
    };
    return rows;
}

/// And for what stands in no layer; "uses" are all layers and passes of the decoder that the loss depends on.
const std::vector<Row>& model_gradient_rows() {
    static const std::vector<Row> rows = {
        {"mlm.logits", {"mlm.logits"}},
        {"mlm.transform", {"grad.mlm.logits"}},
        {"relative.table", {"uses.k_r", "uses.q_r"}},
        {"embeddings.LayerNorm", {"grad.embeddings.output", "embeddings.word"}},
        {"embeddings.word_embeddings",
         {"grad.embeddings.output", "embeddings.word", "grad.mlm.logits", "mlm.transform"}},
        {"embeddings.position_embeddings", {"grad.emd.query.0", "grad.embeddings.output"}},
        {"embeddings.token_type_embeddings", {"grad.embeddings.output"}},
        {"encoder.rel_embeddings", {"grad.relative.table"}},
        {"encoder.LayerNorm", {"grad.relative.table"}},
        {"encoder.conv.conv", {"grad.layer.0.conv", "embeddings.output"}},
        {"encoder.conv.LayerNorm", {"grad.layer.0.output", "layer.0.output_before_conv", "layer.0.conv_act"}},
        {"lm_head.dense", {"grad.mlm.transform", "last"}},
        {"lm_head.LayerNorm", {"grad.mlm.transform", "last"}},
        {"lm_head.bias", {"grad.mlm.logits"}},
        {"cls.predictions.transform.dense", {"grad.mlm.transform", "last"}},
        {"cls.predictions.transform.LayerNorm", {"grad.mlm.transform", "last"}},
        {"cls.predictions.bias", {"grad.mlm.logits"}},
    };
    return rows;
}

const std::vector<Row>& model_rows() {
    static const std::vector<Row> rows = {
        {"embeddings.output", {"embeddings.word"}},
        {"classifier.pooled", {"encoder"}},
        {"classifier.logits", {"classifier.pooled"}},
        {"classifier.token_logits", {"encoder"}},
        {"mlm.transform", {"last"}},
        {"mlm.logits", {"mlm.transform"}},
        {"mlm.transform_at_positions", {"last", "mlm.positions"}},
        {"mlm.logits_at_positions", {"mlm.transform_at_positions"}},
        {"mlm.loss", {"mlm.logits"}},
        {"lm.clusters", {"last"}},
        {"lm.logits", {"last", "lm.clusters"}},
        {"lm.loss", {"lm.logits"}},
        {"rtd.norm", {"last"}},
        {"rtd.transform", {"rtd.norm"}},
        {"rtd.logits", {"rtd.transform"}},
        {"rtd.loss", {"rtd.logits", "rtd.labels"}},
        {"sift.logits_clean", {"sift.xhat"}},
        {"sift.logits0", {"sift.xhat", "sift.delta0"}},
        {"sift.loss0", {"sift.logits0", "sift.logits_clean"}},
        {"sift.grad", {"sift.logits0", "sift.logits_clean"}},
        {"sift.delta", {"sift.delta0", "sift.grad"}},
        {"sift.logits", {"sift.xhat", "sift.delta"}},
        {"sift.loss", {"sift.logits", "sift.logits_clean"}},
    };
    return rows;
}

/// "segment.1.layer.0.g.bd" -> {"segment.1.", "layer.", 0, "g.", "bd"}.
struct Place {
    std::string segment, group, stream, stem;
    int number = -1;
    std::string scope() const { return segment + group + std::to_string(number) + "."; }
};

Place place_of(const std::string& name) {
    Place place;
    std::size_t at = name.starts_with("segment.") ? name.find('.', 8) + 1 : 0;
    place.segment = name.substr(0, at);
    for (const std::string group : {"layer.", "emd."}) {
        const std::size_t begin = at + group.size();
        if (name.compare(at, group.size(), group) != 0 || begin >= name.size() ||
            !std::isdigit(static_cast<unsigned char>(name[begin])))
            continue;
        const std::size_t end = name.find('.', begin);
        if (end == std::string::npos) continue;
        place.group = group;
        place.number = number_in_name(name, begin);
        at = end + 1;
    }
    if (!place.group.empty() && name.compare(at, 2, "g.") == 0) {
        place.stream = "g.";
        at += 2;
    }
    place.stem = name.substr(at);
    return place;
}

class Finder {
public:
    explicit Finder(const std::vector<std::string>& known) : known_(known.begin(), known.end()) {}

    /// Goes back from the stage, depth first, as far as the first names that are known.
    std::vector<std::string> direct(const std::string& stage) const {
        std::vector<std::string> found;
        std::set<std::string> seen;  // many ways lead to one stage
        std::vector<std::string> open;
        const auto go_back_from = [&](const std::string& name) {
            const std::vector<std::string> from = made_of(name);
            open.insert(open.end(), from.rbegin(), from.rend());
        };
        go_back_from(stage);
        while (!open.empty() && seen.size() < kMostNames) {
            const std::string name = std::move(open.back());
            open.pop_back();
            if (!seen.insert(name).second) continue;
            if (known_.contains(name))
                found.push_back(name);
            else
                go_back_from(name);
        }
        return found;
    }

private:
    /// Of some five hundred layers that nobody reports; a file may speak of layer 2147483647.
    static constexpr std::size_t kMostNames = 10'000;

    /// The rows `from` of a layer as names; "grad." ones are gradients of stages there.
    void add_gradients(const Place& place, const std::vector<const char*>& from,
                       std::vector<std::string>& names) const {
        for (const std::string each : from) {
            const std::size_t bar = each.find('|');
            if (!each.starts_with("grad."))
                add(place, each, names);
            else if (bar == std::string::npos)
                names.push_back("grad." + place.scope() + each.substr(5));
            else if (const std::string first = "grad." + place.scope() + each.substr(5, bar - 5);
                     known_.contains(first))
                names.push_back(first);
            else
                names.push_back("grad." + place.scope() + each.substr(bar + 6));
        }
    }

    bool decodes() const {
        return std::any_of(known_.begin(), known_.end(), [](const std::string& name) {
            return name.starts_with("emd.") || name.starts_with("grad.emd.");
        });
    }
    static Place scope_of(const std::string& group, int number) {
        Place place;
        place.group = group;
        place.number = number;
        return place;
    }
    /// What a layer hands back to its query, or to its keys and values.
    static std::vector<std::string> handed_back(const Place& place, bool query, bool keys) {
        std::vector<std::string> names;
        for (const char* stem : {"attention", "q"})
            if (query) names.push_back("grad." + place.scope() + stem);
        for (const char* stem : {"k", "v"})
            if (keys) names.push_back("grad." + place.scope() + stem);
        return names;
    }

    /// The gradient of what a layer, or a pass of the decoder, gives: by what reads it.
    std::vector<std::string> gradient_of_output(const Place& place) const {
        const int next = place.number + 1, last = last_layer("");
        if (place.group == "emd.")
            return next == 2 ? std::vector<std::string>{"grad.mlm.transform"}
                             : handed_back(scope_of("emd.", next), true, false);
        if (next > last) return {"grad.mlm.transform"};
        if (next < last || !decodes()) return handed_back(scope_of("layer.", next), true, true);
        std::vector<std::string> names = {"grad.emd.query.0"};
        for (const int pass : {0, 1})
            for (std::string& name : handed_back(scope_of("emd.", pass), false, true)) names.push_back(std::move(name));
        return names;
    }

    /// The scopes that use the parameters of a layer; of every layer where it is -1.
    std::vector<Place> uses_of(int layer) const {
        std::vector<Place> uses;
        const int last = last_layer("");
        for (int l = 0; l <= last; ++l)
            if ((layer < 0 || l == layer) && (l < last || !decodes())) uses.push_back(scope_of("layer.", l));
        for (const int pass : {0, 1})
            if (decodes() && (layer < 0 || layer == last)) uses.push_back(scope_of("emd.", pass));
        return uses;
    }

    /// Of a parameter, or of a stage that stands in no layer; empty where nobody knows.
    std::vector<std::string> gradient_outside(const std::string& of) const {
        std::vector<std::string> names;
        const std::size_t layer = of.find("encoder.layer.");
        if (layer != std::string::npos) {
            const std::string rest = of.substr(layer + 14);
            for (const Row& row : parameter_rows())
                if (rest.find('.' + std::string(row.stem) + '.') != std::string::npos)
                    for (const Place& use : uses_of(number_in_name(rest, 0))) add_gradients(use, row.from, names);
            return names;
        }
        for (const Row& row : model_gradient_rows()) {
            const std::size_t at = of.find(row.stem);
            if (at == std::string::npos || (at > 0 && of[at - 1] != '.')) continue;
            for (const std::string from : row.from)
                if (from == "last")
                    names.push_back(last_output(""));
                else if (from.starts_with("uses."))
                    for (const Place& use : uses_of(-1)) names.push_back("grad." + use.scope() + from.substr(5));
                else
                    names.push_back(from);
        }
        return names;
    }

    /// A gradient of a stage or of a parameter.  Where nobody knows better it begins at the loss.
    std::vector<std::string> gradient_of(const std::string& of) const {
        const Place place = place_of(of);
        if (place.stem == "output" && !place.group.empty() && place.stream.empty() && place.segment.empty())
            return gradient_of_output(place);
        if (of == "emd.query.0") return handed_back(scope_of("emd.", 0), true, false);
        if (of == "embeddings.output") {
            std::vector<std::string> names = handed_back(scope_of("layer.", 0), true, true);
            if (known_.contains("layer.0.conv")) names.push_back("grad.layer.0.conv");
            return names;
        }
        std::vector<std::string> names;
        const bool has_loss = known_.contains("mlm.logits") || known_.contains("grad.mlm.logits");
        if (place.stem == "context" && !has_loss) return names;  // where the backward pass of one attention starts
        for (const Row& row : gradient_rows())
            if (!place.group.empty() && place.stem == row.stem) add_gradients(place, row.from, names);
        if (place.group.empty() && has_loss) names = gradient_outside(of);
        if (names.empty() && place.group.empty()) names = {"mlm.loss", "lm.loss", "sift.loss"};
        return names;
    }

    std::vector<std::string> made_of(const std::string& name) const {
        if (name.starts_with("grad.")) return gradient_of(name.substr(5));
        const Place place = place_of(name);
        if (!place.group.empty()) return of_layer(place);
        if (place.stem.starts_with("emd.query.")) return {content(place.segment, last_layer(place.segment) - 1)};
        if (place.stem.starts_with("memory.")) return {content(place.segment, number_in_name(place.stem, 7) - 1)};
        std::vector<std::string> names;
        for (const Row& row : model_rows())
            if (place.stem == row.stem)
                for (const std::string from : row.from)
                    names.push_back(from == "last"      ? last_output(place.segment)
                                    : from == "encoder" ? encoder_output(place.segment)
                                                        : place.segment + from);
        return names;
    }

    std::vector<std::string> of_layer(const Place& place) const {
        std::vector<std::string> names;
        for (const Row& row : layer_rows())
            if (place.stem == row.stem)
                for (const char* from : row.from) add(place, from, names);
        // Scores without any of their terms follow from what those are made of.
        for (const Row& row : layer_rows())
            if (names.empty() && place.stem == "scores" && row.stem == place.stem)
                for (const char* from : row.from) names.push_back(place.scope() + place.stream + from);
        // Memory is a part of the keys.
        const int segment = segment_of(place.segment);
        if ((place.stem == "k" || place.stem == "v") && segment > 0)
            names.push_back("segment." + std::to_string(segment - 1) + ".memory." + std::to_string(place.number));
        return names;
    }

    void add(const Place& place, const std::string& from, std::vector<std::string>& names) const {
        const std::size_t bar = from.find('|');
        if (bar != std::string::npos) {
            std::vector<std::string> first;
            add(place, from.substr(0, bar), first);
            if (!first.empty() && known_.contains(first.front()))
                names.push_back(first.front());
            else
                add(place, from.substr(bar + 1), names);
        } else if (from == "x") {
            names.push_back(input(place, false));
        } else if (from == "x_q") {
            names.push_back(input(place, true));
        } else if (from.front() == '/') {
            names.push_back(place.segment + from.substr(1));
        } else {
            // The query stream has no keys, values and position keys of its own.
            const bool shared = from == "k" || from == "v" || from == "r_k" || from == "r_k_backward";
            const std::string name = place.scope() + (shared ? "" : place.stream) + from;
            // A term that a model does not have is not a stage that the port forgot to report.
            const bool optional = place.stem == "scores" || from == "conv_act" || from == "r_k_backward";
            if (!optional || known_.contains(name)) names.push_back(name);
        }
    }

    std::string input(const Place& place, bool of_query) const {
        if (place.group == "emd.") {
            if (!of_query) return content(place.segment, last_layer(place.segment) - 1);
            return place.segment + (place.number == 0 ? std::string("emd.query.0")
                                                      : "emd." + std::to_string(place.number - 1) + ".output");
        }
        if (!place.stream.empty() && of_query)
            return place.number == 0 ? "" : place.segment + "layer." + std::to_string(place.number - 1) + ".g.output";
        return content(place.segment, place.number - 1);
    }

    static std::string content(const std::string& segment, int layer) {
        return segment + (layer < 0 ? "embeddings.output" : "layer." + std::to_string(layer) + ".output");
    }

    int last_layer(const std::string& segment) const {
        int last = -1;
        for (const std::string& name : known_) {
            const Place place = place_of(name);
            if (place.segment == segment && place.group == "layer.") last = std::max(last, place.number);
        }
        return last;
    }

    std::string last_output(const std::string& segment) const {
        return known_.contains(segment + "emd.1.output") ? segment + "emd.1.output" : encoder_output(segment);
    }

    std::string encoder_output(const std::string& segment) const {
        const std::string layer = segment + "layer." + std::to_string(last_layer(segment));
        return known_.contains(layer + ".g.output") ? layer + ".g.output" : layer + ".output";
    }

    std::set<std::string> known_;
};

}  // namespace

std::vector<std::string> depends_of(const std::string& stage, const std::vector<std::string>& known) {
    return Finder(known).direct(stage);
}

}  // namespace locus::conformance
