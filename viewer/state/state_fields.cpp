#include "viewer/state/state_fields.h"

#include <algorithm>

#include "viewer/state/state_field_kinds.h"

namespace locus {

namespace {

using state_field_kinds::Fields;

void add_frame(Fields& fields) {
    // The one that is open, or will be.
    fields.text(
        "model", [](State & s) -> auto& { return s.wanted_model.empty() ? s.model : s.wanted_model; });
    fields.text(
        "page", [](State & s) -> auto& { return s.page; });
    fields.text(
        "text", [](State & s) -> auto& { return s.text; });
    fields.text(
        "tokens", [](State & s) -> auto& { return s.tokens; });
    fields.text(
        "mask", [](State & s) -> auto& { return s.mask; });
    fields.word(
        "dialect", {"official", "hf", "paper", "reference"}, [](State & s) -> auto& { return s.dialect; });
    fields.word(
        "theme", {std::begin(kThemeNames), std::end(kThemeNames)}, [](State & s) -> auto& { return s.theme; });
    fields.real(
        "zoom", 0.5, 4, [](State & s) -> auto& { return s.zoom; });
    fields.word(
        "pooling", {"mean", "largest", "high", "low"}, [](State & s) -> auto& { return s.pooling; });
    fields.flag(
        "reduce_motion", [](State & s) -> auto& { return s.reduce_motion; });
    fields.whole(
        "layer", 0, [](State & s) -> auto& { return s.layer; });
    fields.whole(
        "head", 0, [](State & s) -> auto& { return s.head; });
    fields.cell(
        "cell", [](State & s) -> auto& { return s.cell; });
    fields.flag(
        "locked", [](State & s) -> auto& { return s.locked; });
    fields.view(
        "view", [](State & s) -> auto& { return s.view; });
    fields.whole(
        "term", -1, [](State & s) -> auto& { return s.shown_term; });
    fields.numbers(
        "masked", [](State & s) -> auto& { return s.masked; });
}

void add_attention(Fields& fields) {
    fields.word(
        "attention.picture", {"head", "heads", "stage"}, [](State & s) -> auto& { return s.attention.picture; });
    fields.word(
        "attention.curve", {"strength", "share"}, [](State & s) -> auto& { return s.attention.curve; });
    fields.flag(
        "attention.c2c", [](State & s) -> auto& { return s.attention.kept.c2c; });
    fields.flag(
        "attention.c2p", [](State & s) -> auto& { return s.attention.kept.c2p; });
    fields.flag(
        "attention.p2c", [](State & s) -> auto& { return s.attention.kept.p2c; });
    fields.flag(
        "attention.scale_follows", [](State & s) -> auto& { return s.attention.scale_follows; });
    fields.flag(
        "attention.transposed", [](State & s) -> auto& { return s.attention.transposed; });
    fields.numbers(
        "attention.rows", [](State & s) -> auto& { return s.attention.selection.rows; });
    fields.numbers(
        "attention.cols", [](State & s) -> auto& { return s.attention.selection.cols; });
    fields.text(
        "attention.stage", [](State & s) -> auto& { return s.attention.stage; });
    fields.cell(
        "attention.stage_cell", [](State & s) -> auto& { return s.attention.stage_cell; });
    fields.flag(
        "attention.table", [](State & s) -> auto& { return s.attention.table; });
    fields.real(
        "attention.scroll", 0, 100000, [](State & s) -> auto& { return s.attention.scroll; });
}

/// The current frame of an animation under its own name; whether it plays, and how fast, after it.
template <class Find>
void add_animation(Fields& fields, const std::string& name, Find find) {
    fields.real(
        name, 0, 65536, [find](State & s) -> auto& { return find(s).at; });
    fields.flag(
        name + ".playing", [find](State & s) -> auto& { return find(s).playing; });
    fields.real(
        name + ".speed", 0.25, 4, [find](State & s) -> auto& { return find(s).speed; });
}

void add_choices(Fields& fields) {
    const auto choice = [&](const std::string& name, auto find) {
        fields.text(
            name + ".model", [find](State & s) -> auto& { return find(s).model; });
        fields.text(
            name + ".text", [find](State & s) -> auto& { return find(s).text; });
        fields.text(
            name + ".tokens", [find](State & s) -> auto& { return find(s).tokens; });
        fields.text(
            name + ".mask", [find](State & s) -> auto& { return find(s).mask; });
    };
    choice(
        "rope", [](State & s) -> auto& { return s.choices.roformer; });
    choice(
        "memory", [](State & s) -> auto& { return s.choices.transformer_xl; });
    choice(
        "permutation", [](State & s) -> auto& { return s.choices.xlnet; });
}

void add_pages(Fields& fields) {
    fields.whole(
        "decoder.head", -1, [](State & s) -> auto& { return s.decoder_head; });
    fields.real(
        "decoder.strength", 0, 1, [](State & s) -> auto& { return s.strength; });
    fields.view(
        "decoder.view", [](State & s) -> auto& { return s.decoder_view; });
    fields.word(
        "decoder.side", {"words", "pass-1", "pass-2"}, [](State & s) -> auto& { return s.decoder.side; });
    fields.flag(
        "decoder.ten", [](State & s) -> auto& { return s.decoder.ten; });
    fields.flag(
        "decoder.at_input", [](State & s) -> auto& { return s.decoder.at_input; });
    add_animation(
        fields, "decoder.film", [](State & s) -> auto& { return s.decoder.animation; });
    fields.real(
        "positions.length", 1, 4096, [](State & s) -> auto& { return s.positions.length; });
    fields.real(
        "positions.span", 1, 4096, [](State & s) -> auto& { return s.positions.span; });
    fields.real(
        "positions.farthest", 1, 65536, [](State & s) -> auto& { return s.positions.farthest; });
    fields.word(
        "positions.kind", {"clamp", "log"}, [](State & s) -> auto& { return s.positions.kind; });
    fields.cell(
        "positions.cell", [](State & s) -> auto& { return s.positions.cell; });
    fields.flag(
        "positions.locked", [](State & s) -> auto& { return s.positions.locked; });
    fields.view(
        "positions.view", [](State & s) -> auto& { return s.positions.view; });
    fields.whole(
        "rope.m", 0, [](State & s) -> auto& { return s.rope.m; });
    fields.whole(
        "rope.n", 0, [](State & s) -> auto& { return s.rope.n; });
    add_animation(
        fields, "rope.shift", [](State & s) -> auto& { return s.rope.shift; });
    fields.whole(
        "rope.query", 0, [](State & s) -> auto& { return s.rope.query; });
    fields.whole(
        "rope.key", 0, [](State & s) -> auto& { return s.rope.key; });
    fields.whole(
        "rope.layer", 0, [](State & s) -> auto& { return s.rope.layer; });
    fields.whole(
        "rope.head", 0, [](State & s) -> auto& { return s.rope.head; });
    fields.word(
        "rope.layout", {"interleaved", "half-split"}, [](State & s) -> auto& { return s.rope.layout; });
    fields.whole(
        "rope.base", 0, [](State & s) -> auto& { return s.rope.base; });
    fields.whole(
        "rope.scaling", 0, [](State & s) -> auto& { return s.rope.scaling; });
    fields.whole(
        "rope.factor", 1, [](State & s) -> auto& { return s.rope.factor; });
    fields.word(
        "rope.shown", {"walk", "scores", "probabilities", "linear"}, [](State & s) -> auto& { return s.rope.shown; });
    fields.view(
        "rope.view", [](State & s) -> auto& { return s.rope.view; });
}

void add_memory(Fields& fields) {
    fields.whole(
        "memory.length", 0, [](State & s) -> auto& { return s.memory.memory; });
    fields.whole(
        "memory.segment_tokens", 0, [](State & s) -> auto& { return s.memory.segment_tokens; });
    fields.whole(
        "memory.segment", 0, [](State & s) -> auto& { return s.memory.segment; });
    fields.whole(
        "memory.layer", 0, [](State & s) -> auto& { return s.memory.layer; });
    fields.whole(
        "memory.head", 0, [](State & s) -> auto& { return s.memory.head; });
    fields.cell(
        "memory.cell", [](State & s) -> auto& { return s.memory.cell; });
    fields.flag(
        "memory.locked", [](State & s) -> auto& { return s.memory.locked; });
    fields.word(
        "memory.side", {"next-word", "cell", "channels"}, [](State & s) -> auto& { return s.memory.side; });
    fields.whole(
        "memory.term", -1, [](State & s) -> auto& { return s.memory.term; });
    fields.whole(
        "memory.first_channel", 0, [](State & s) -> auto& { return s.memory.first_channel; });
    fields.word(
        "memory.strip", {"shift", "reach"}, [](State & s) -> auto& { return s.memory.strip; });
    fields.word(
        "memory.trick", {"transformer-xl", "xlnet"}, [](State & s) -> auto& { return s.memory.trick; });
    add_animation(
        fields, "memory.film", [](State & s) -> auto& { return s.memory.animation; });
    fields.whole(
        "memory.film_queries", 1, [](State & s) -> auto& { return s.memory.animation_queries; });
    fields.whole(
        "memory.film_memory", 0, [](State & s) -> auto& { return s.memory.animation_memory; });
}

void add_permutation(Fields& fields) {
    fields.whole(
        "permutation.sentence", 0, [](State & s) -> auto& { return s.permutation.sentence; });
    fields.order(
        "permutation.order", [](State & s) -> auto& { return s.permutation.order; });
    fields.flag(
        "permutation.segments", [](State & s) -> auto& { return s.permutation.segments; });
    fields.whole(
        "permutation.layer", 0, [](State & s) -> auto& { return s.permutation.layer; });
    fields.whole(
        "permutation.head", 0, [](State & s) -> auto& { return s.permutation.head; });
    fields.whole(
        "permutation.card", -1, [](State & s) -> auto& { return s.permutation.card; });
    fields.whole(
        "permutation.row", -1, [](State & s) -> auto& { return s.permutation.row; });
    fields.word(
        "permutation.side", {"row", "cell", "channels"}, [](State & s) -> auto& { return s.permutation.side; });
    fields.word(
        "permutation.stream", {"content", "query"}, [](State & s) -> auto& { return s.permutation.stream; });
    fields.cell(
        "permutation.cell", [](State & s) -> auto& { return s.permutation.cell; });
    fields.flag(
        "permutation.locked", [](State & s) -> auto& { return s.permutation.locked; });
    fields.whole(
        "permutation.term", -1, [](State & s) -> auto& { return s.permutation.term; });
    fields.whole(
        "permutation.first_channel", 0, [](State & s) -> auto& { return s.permutation.first_channel; });
}

void add_text_page(Fields& fields) {
    fields.text(
        "text_page.documents", [](State & s) -> auto& { return s.text_page.documents; });
    fields.word(
        "text_page.weights", {"counts", "tf-idf"}, [](State & s) -> auto& { return s.text_page.weights; });
    fields.flag(
        "text_page.stop_words", [](State & s) -> auto& { return s.text_page.stop_words; });
    fields.whole(
        "text_page.topics", 1, [](State & s) -> auto& { return s.text_page.topics; });
    fields.cell(
        "text_page.weight", [](State & s) -> auto& { return s.text_page.weight; });
    fields.cell(
        "text_page.pair", [](State & s) -> auto& { return s.text_page.pair; });
    fields.cell(
        "text_page.move", [](State & s) -> auto& { return s.text_page.move; });
    fields.view(
        "text_page.view", [](State & s) -> auto& { return s.text_page.view; });
    fields.flag(
        "text_page.locked", [](State & s) -> auto& { return s.text_page.locked; });
}

void add_tour(Fields& fields) {
    fields.whole(
        "tour.step", -1, [](State & s) -> auto& { return s.tour.step; });
    fields.text(
        "tour.text", [](State & s) -> auto& { return s.tour.text; });
}

void add_compare(Fields& fields) {
    const auto side = [&](const std::string& name, auto find) {
        fields.text(
            name + ".file", [find](State & s) -> auto& { return find(s).file; });
        fields.word(
            name + ".dialect",
            {"official", "hf", "paper", "reference"}, [find](State & s) -> auto& { return find(s).dialect; });
        fields.flag(
            name + ".exact", [find](State & s) -> auto& { return find(s).exact; });
        fields.whole(
            name + ".layer", -1, [find](State & s) -> auto& { return find(s).layer; });
        fields.text(
            name + ".mistake", [find](State & s) -> auto& { return find(s).mistake; });
        fields.text(
            name + ".text", [find](State & s) -> auto& { return find(s).text; });
        fields.text(
            name + ".model", [find](State & s) -> auto& { return find(s).model; });
        fields.word(
            name + ".device", {"cpu", "cuda"}, [find](State & s) -> auto& { return find(s).gpu; });
    };
    side(
        "compare.a", [](State & s) -> auto& { return s.compare.a; });
    side(
        "compare.b", [](State & s) -> auto& { return s.compare.b; });
    fields.text(
        "compare.stage", [](State & s) -> auto& { return s.compare.stage; });
    fields.whole(
        "compare.sample", 0, [](State & s) -> auto& { return s.compare.sample; });
    fields.whole(
        "compare.head", 0, [](State & s) -> auto& { return s.compare.head; });
    fields.whole(
        "compare.other_head", -1, [](State & s) -> auto& { return s.compare.other_head; });
    fields.view(
        "compare.view", [](State & s) -> auto& { return s.compare.view; });
    fields.cell(
        "compare.cell", [](State & s) -> auto& { return s.compare.cell; });
    fields.flag(
        "compare.locked", [](State & s) -> auto& { return s.compare.locked; });
    fields.flag(
        "compare.zoo", [](State & s) -> auto& { return s.compare.shows_mistakes; });
    fields.text(
        "compare.zoo_typed", [](State & s) -> auto& { return s.compare.mistake_filter; });
    fields.whole(
        "compare.shown_case", 0, [](State & s) -> auto& { return s.compare.shown_case; });
}

void add_conformance(Fields& fields) {
    fields.text(
        "conformance.report", [](State & s) -> auto& { return s.conformance.report; });
    fields.text(
        "conformance.dumps", [](State & s) -> auto& { return s.conformance.dumps; });
    fields.whole(
        "conformance.mistake", 1, [](State & s) -> auto& { return s.conformance.mistake; });
    fields.text(
        "conformance.dialect", [](State & s) -> auto& { return s.conformance.dialect; });
    fields.text(
        "conformance.case", [](State & s) -> auto& { return s.conformance.shown_case; });
    fields.text(
        "conformance.stage", [](State & s) -> auto& { return s.conformance.stage; });
    fields.flag(
        "conformance.only_failing", [](State & s) -> auto& { return s.conformance.only_failing; });
}

void add_training(Fields& fields) {
    fields.flag(
        "training.run", [](State & s) -> auto& { return s.training.run; });
    fields.whole(
        "training.steps", 0, [](State & s) -> auto& { return s.training.steps; });
    fields.real(
        "training.seconds", 1, 86400, [](State & s) -> auto& { return s.training.seconds; });
    fields.whole(
        "training.seed", 0, [](State & s) -> auto& { return s.training.seed; });
    fields.text(
        "training.corpus", [](State & s) -> auto& { return s.training.corpus; });
    fields.text(
        "training.text", [](State & s) -> auto& { return s.training.text; });
    fields.numbers(
        "training.masked", [](State & s) -> auto& { return s.training.masked; });
    fields.whole(
        "training.layer", 0, [](State & s) -> auto& { return s.training.layer; });
    fields.whole(
        "training.head", 0, [](State & s) -> auto& { return s.training.head; });
    add_animation(
        fields, "training.film", [](State & s) -> auto& { return s.training.animation; });
    fields.cell(
        "training.cell", [](State & s) -> auto& { return s.training.cell; });
    fields.flag(
        "training.locked", [](State & s) -> auto& { return s.training.locked; });
    fields.flag(
        "training.own_scale", [](State & s) -> auto& { return s.training.own_scale; });
    fields.view(
        "training.view", [](State & s) -> auto& { return s.training.view; });
}

}  // namespace

const std::vector<StateField>& state_fields() {
    static const std::vector<StateField> fields = [] {
        Fields all;
        add_frame(all);
        add_attention(all);
        add_choices(all);
        add_pages(all);
        add_memory(all);
        add_permutation(all);
        add_tour(all);
        add_text_page(all);
        add_compare(all);
        add_conformance(all);
        add_training(all);
        return std::move(all.all);
    }();
    return fields;
}

const StateField& state_field(const std::string& name) {
    const auto& all = state_fields();
    const auto found = std::find_if(all.begin(), all.end(), [&](const StateField& f) { return f.name == name; });
    if (found == all.end())
        throw Error(Fault::usage,
                    "there is no \"" + name + "\" on screen, expected a name such as page, cell or rope.m");
    return *found;
}

void set_field(State& state, const std::string& name_and_value) {
    const std::size_t equals = name_and_value.find('=');
    LOCUS_CHECK(equals != std::string::npos, "\"" + name_and_value + "\" sets nothing, expected NAME=VALUE");
    state_field(name_and_value.substr(0, equals)).set(state, name_and_value.substr(equals + 1));
}

std::vector<std::string> changed_fields(const State& state, const State& other) {
    std::vector<std::string> changed;
    for (const StateField& field : state_fields()) {
        const std::string value = field.get(state);
        if (value != field.get(other)) changed.push_back(field.name + "=" + value);
    }
    return changed;
}

}  // namespace locus
