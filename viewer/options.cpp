#include "viewer/options.h"

#include <algorithm>
#include <charconv>

#include "core/check.h"
#include "core/cli/program.h"
#include "core/io/checkpoint.h"
#include "core/io/write_target.h"
#include "viewer/data/memory_text.h"
#include "viewer/data/model_session.h"
#include "viewer/data/permutation_sentence.h"
#include "viewer/page.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/state/state_fields.h"

namespace locus {

namespace {

/// "3,5" or "1280x800": two whole numbers around a separator; false for anything else.
bool parse_pair(const std::string& text, char separator, long& first, long& second) {
    const char* end = text.data() + text.size();
    const auto a = std::from_chars(text.data(), end, first);
    if (a.ec != std::errc{} || a.ptr == end || *a.ptr != separator) return false;
    const auto b = std::from_chars(a.ptr + 1, end, second);
    return b.ec == std::errc{} && b.ptr == end;
}

/// Row and column of a text of `length` tokens.
Cell cell_of(const std::string& text, Index length) {
    long i = 0, j = 0;
    LOCUS_CHECK(parse_pair(text, ',', i, j) && i >= 0 && j >= 0 && i < length && j < length,
                "--cell is \"" + text + "\", expected I,J with both from 0 to " + std::to_string(length - 1));
    return {i, j};
}

/// A query of the segment that Transformer-XL reads, and a key of that segment or of the memory in sight.
Cell cell_of(const std::string& text, const MemoryAnswer& shown) {
    const Index first = shown.longest - shown.memory, last = shown.longest + shown.length - 1;
    long i = 0, j = 0;
    LOCUS_CHECK(parse_pair(text, ',', i, j) && i >= 0 && i < shown.length && j >= first && j <= last,
                "--cell is \"" + text + "\", expected I,J with I from 0 to " + std::to_string(shown.length - 1) +
                    " and J from " + std::to_string(first) + " to " + std::to_string(last));
    return {i, j};
}

bool is_set(const Options& options, const std::string& field) {
    return std::any_of(options.set.begin(), options.set.end(),
                       [&](const std::string& set) { return set.starts_with(field + "="); });
}

void apply_sets(const Options& options, State& state) {
    for (const std::string& set : options.set) set_field(state, set);
    // For DeBERTa the reference is the official code.
    if (state.dialect == Dialect::reference) state.dialect = Dialect::official;
}

std::string known_pages() {
    std::string names;
    for (const PageName& page : page_names()) names += (names.empty() ? "" : ", ") + std::string(page.name);
    return names;
}

}  // namespace

void add_options(cli::Command& program, Options& options) {
    program.option("model,--model", options.model, "model folder of any family, or the name of a built-in one")
        .shows_default();
    program.option("--text", options.text, "the sentence, or two with [SEP] between them");
    program.option("--tokens", options.tokens, "token ids instead of a sentence: 1,2,3");
    program.option("--mask", options.mask, "with --tokens: 1 = visible, 0 = hidden, one per token");
    program.option("--page", options.page, "first page: " + known_pages());
    program.option("--layer", options.layer, "layer of the opened model, from 0");
    program.option("--head", options.head, "head of the opened model, from 0");
    program.option("--cell", options.cell, "query and key of the cell: I,J");
    program.option(
        "--dialect", options.dialect,
        "official (if absent), hf or paper; reference is official here, and paper on the page permutation, where these "
        "two are one");
    program
        .option("--report", options.report,
                "what locus kit check --json or locus check --json printed: its first wrong "
                "stage is opened")
        .not_empty();
    program.option("--dumps", options.dumps, "a folder with a port's dumps: the conformance kit judges them")
        .not_empty();
    program.option("--compare", options.compare, "a dump to compare with the opened model; given twice, two dumps")
        .one_value_each()
        .not_empty();
    program.option("--stage", options.stage, "of the page compare: layer.2.p2c").not_empty();
    program
        .option("--mistake", options.mistake,
                "compare the model with a port that makes this mistake of the catalogue, or makes it in one of the "
                "ways that "
                "locus check --explain lists: 7 or 7.2")
        .not_empty();
    program.option("--theme", options.theme, "dark, light or contrast");
    program
        .option("--set", options.set,
                "anything else on screen: rope.m=7; given as often as needed, --list-fields names them")
        .one_value_each();
    program.option("--size", options.size, "size of the window or picture in pixels: WxH");
    program
        .option("--scale", options.scale,
                "scale of everything drawn: 0.5 to 4; smaller where --size has no room for it")
        .shows_default();
    program.option("--screenshot", options.screenshot, "write the page to this PNG file and exit");
    program
        .option("--export", options.exports,
                "write a figure (.png, .svg) or its numbers (.csv, .npy, .safetensors) and exit; "
                "given as often as needed")
        .one_value_each()
        .not_empty();
    program
        .option(
            "--region", options.regions,
            "with --export, which part: page, screen, layer (numbers, of the pages start and attention), or a matrix "
            "such as probs")
        .one_value_each();
    program.option("--pixels", options.pixels, "with --export FILE.png: pixels for each pixel of the window, 1, 2 or 4")
        .shows_default();
    program.flag("--transparent", options.transparent, "with --export: no background in a .png or .svg");
    program
        .option("--script", options.script,
                "play the actions of this JSON file without a window and exit; --size, --scale and the model win "
                "over the script's; status 1 where an assertion of the script fails")
        .not_empty();
    program.flag("--window", options.window, "with --script: play it in a window, at a speed that can be watched");
    // For the tests: random input instead of a user.
    program.option("--monkey", options.monkey, "seed").hidden();
    program.option("--actions", options.actions, "of --monkey").hidden();
    program.option("--monkey-pages", options.monkey_pages, "where it stays: rope,decoder").separated_by(',').hidden();
    program.flag("--list-pages", options.list_pages, "print the names of the pages and exit");
    program.flag("--list-fields", options.list_fields,
                 "print what --set can set, as NAME=VALUE with the values that it has now, and exit");
    program.flag("--bench", options.bench, "measure redraw, panning and idling, print JSON and exit");
}

namespace {

/// Refuses options that do not go with each other.
void check_together(const Options& options) {
    LOCUS_CHECK(!options.bench || (!options.script && !options.screenshot),
                "--bench measures alone, found --script or --screenshot beside it");
    LOCUS_CHECK(!options.window || options.script, "--window goes with --script only");
    LOCUS_CHECK(!options.script || !options.screenshot,
                "expected one of --script and --screenshot, found both; a script takes pictures itself");
    LOCUS_CHECK(!options.text || !options.tokens, "expected one of --text and --tokens, found both");
    LOCUS_CHECK(!options.mask || options.tokens, "--mask goes with --tokens only");
    LOCUS_CHECK(!options.tokens || !options.tokens->empty(), "--tokens is empty, expected ids such as 1,2,3");
    LOCUS_CHECK(!options.report || options.compare.empty(), "expected one of --report and --compare, found both");
    LOCUS_CHECK(!options.report || !options.stage, "--stage goes without --report, which names the stage itself");
    LOCUS_CHECK(options.compare.size() <= 2,
                "--compare is given " + std::to_string(options.compare.size()) + " times, expected at most twice");
    const auto given = static_cast<int>(options.dumps.has_value()) + static_cast<int>(options.report.has_value()) +
                       static_cast<int>(options.mistake.has_value()) + static_cast<int>(!options.compare.empty());
    LOCUS_CHECK(given <= 1, "expected one of --dumps, --report, --mistake and --compare, found several");
    LOCUS_CHECK(
        !options.mistake || parse_mistake(*options.mistake),
        "--mistake is \"" + *options.mistake + "\", expected a number of the catalogue, or one of its ways: 7 or 7.2");
}

}  // namespace

State state_of(Options& options) {
    State state;
    if (options.page) {
        const auto& pages = page_names();
        LOCUS_CHECK(std::any_of(pages.begin(), pages.end(), [&](const PageName& p) { return *options.page == p.name; }),
                    "--page is \"" + *options.page + "\", expected one of " + known_pages());
        state.page = *options.page;
    }
    if (options.theme) {
        const auto named = std::find(std::begin(kThemeNames), std::end(kThemeNames), *options.theme);
        LOCUS_CHECK(named != std::end(kThemeNames),
                    "--theme is \"" + *options.theme + "\", expected dark, light or contrast");
        state.theme = static_cast<ThemeName>(named - std::begin(kThemeNames));
    }
    if (options.dialect) state.dialect = parse_dialect(*options.dialect);
    LOCUS_CHECK(options.scale >= 0.5 && options.scale <= 4,
                "--scale is " + std::to_string(options.scale) + ", expected 0.5 to 4");
    state.zoom = static_cast<float>(options.scale);
    long width = 0, height = 0;
    if (options.size) {
        LOCUS_CHECK(parse_pair(*options.size, 'x', width, height) && width >= 800 && height >= 600 && width <= 8192 &&
                        height <= 8192,
                    "--size is \"" + *options.size + "\", expected WxH from 800x600 to 8192x8192");
        options.width = static_cast<int>(width);
        options.height = static_cast<int>(height);
    }
    check_together(options);
    LOCUS_CHECK(!options.stage || !options.page || state.page == "compare",
                "--stage goes with the page compare, found --page " + options.page.value_or(""));
    if (options.dumps && !options.page) state.page = "conformance";
    state.conformance.dumps = options.dumps.value_or("");
    state.conformance.report = options.report.value_or("");
    if ((options.report || options.stage || options.mistake || !options.compare.empty()) && !options.page)
        state.page = "compare";
    if (options.text) state.text = *options.text;
    state.tokens = options.tokens.value_or("");
    state.mask = options.mask.value_or("");
    if (!has_own_head(state.page)) {  // others read these as their own; fit_to_model judges them
        if (options.layer) state.layer = *options.layer;
        if (options.head) state.head = *options.head;
        long i = 0, j = 0;
        if (options.cell && parse_pair(*options.cell, ',', i, j)) state.cell = {i, j};
    }
    apply_sets(options, state);
    return state;
}

void check_written(const Options& options) {
    std::vector<std::string> written = options.exports, read = options.compare;
    written.push_back(options.screenshot.value_or(""));
    for (const auto& file : {options.report, options.script}) read.push_back(file.value_or(""));
    for (std::string& file : files_of_model(resolve_model(options.model))) read.push_back(std::move(file));
    check_apart(written, read);
}

namespace {

/// What --text says on a page whose words are not those of the opened model.
void place_text(const Options& options, State& state) {
    if (!options.text || (state.page != "training" && state.page != "text")) return;
    state.text = State().text;
    if (state.page == "text") {
        state.text_page.documents = *options.text;
    } else {
        state.training.text = *options.text;
        state.training.masked.clear();  // those of the sentence that was there; this one has [MASK] in it, or none
    }
}

}  // namespace

std::string place_model(const Options& options, State& state) {
    const std::string page = state.page;
    const bool other_family = show_model(state, options.model);
    LOCUS_CHECK(!options.mistake || !other_family,
                "--mistake goes with a DeBERTa, which the page Compare shows, found --model " + options.model +
                    "; locus kit mistake makes those of the other families");
    if (options.page || page != State().page) state.page = page;
    place_text(options, state);
    if (ModelChoice* choice = choice_of_page(state, state.page)) {
        if (options.text) choice->text = *options.text;
        if (options.tokens) choice->tokens = *options.tokens;
        if (options.mask) choice->mask = *options.mask;
        state.text = State().text;
        state.tokens.clear();
        state.mask.clear();
        // So are --layer, --head and --cell, which were taken for the DeBERTa's before the page was known.
        state.layer = State().layer;
        state.head = State().head;
        state.cell = State().cell;
    }
    // Of XLNet, where the official code is not right in everything, the paper is the reference.
    if (state.page == "permutation" && options.dialect && parse_dialect(*options.dialect) == Dialect::reference)
        state.dialect = Dialect::paper;
    apply_sets(options, state);  // once more: they are said of the page that is shown
    state.wanted_model.clear();
    // The default is named by nobody.
    if (!other_family && options.model != Options().model) state.asked_model = options.model;
    return other_family ? Options().model : options.model;
}

void open_sources(const Options& options, State& state) {
    CompareState& compare = state.compare;
    if (options.dialect && state.page == "compare" && !options.report) {
        const Dialect asked = parse_dialect(*options.dialect);
        compare.a.dialect = asked == Dialect::reference ? Dialect::official : asked;
        if (compare.b.dialect == compare.a.dialect) compare.b.dialect = Dialect::official;  // or they do not differ
    }
    if (options.stage) compare.stage = *options.stage;
    if (options.mistake) {
        const auto [number, way] = *parse_mistake(*options.mistake);
        const std::vector<MistakeEntry> known = read_mistake_list(mistake_list_file());
        const std::size_t ways = std::max<std::size_t>(1, entry_of(known, number).ways.size());
        LOCUS_CHECK(static_cast<std::size_t>(way) <= ways,
                    "--mistake is \"" + *options.mistake + "\", expected " + std::to_string(number) +
                        (ways == 1 ? ", which is made in one way alone"
                                   : "." + std::string("1 to ") + std::to_string(number) + "." + std::to_string(ways)));
        compare.b = {};
        compare.make_mistake(*options.mistake);
        compare.shows_mistakes = true;
        if (options.stage) compare.opens_first = false;
    }
    if (options.report) {
        compare.open(std::make_shared<const CheckReport>(read_check_report(*options.report)));
        if (is_set(options, "compare.shown_case")) {
            State wished;
            apply_sets(options, wished);
            const std::size_t cases = compare.report->cases.size();
            LOCUS_CHECK(wished.compare.shown_case < cases,
                        "compare.shown_case is \"" + std::to_string(wished.compare.shown_case) + "\", expected 0 to " +
                            std::to_string(cases - 1) + ", the cases of " + *options.report);
            compare.open_case(wished.compare.shown_case);
        }
        for (const std::string& file : {compare.a.file, compare.b.file})
            if (!compare.request().stage.empty())
                require_stage(open_dump(file), compare.stage, "the report " + *options.report);
    }
    if (!options.compare.empty()) {
        compare.a = options.compare.size() == 2 ? CompareSide{options.compare[0]} : CompareSide{"", compare.a.dialect};
        compare.b = {options.compare.back()};
    }
    for (const std::string& file : options.compare) {
        const OpenedDump dump = open_dump(file);
        if (options.stage) require_stage(dump, compare.stage, "--stage");
    }
    apply_sets(options, state);  // once more: they are said of what was opened
    for (const char* place : {"sample", "head", "other_head", "cell", "locked"})
        compare.keeps_place |= is_set(options, std::string("compare.") + place);
}

namespace {

/// A layer or a head: what --set says of `field`, else what the option `name` says, which have to be there; else the
/// value as it is, or the last one there is.
void fit(const Options& options, const char* name, const char* field, std::optional<long> wished, Index& value,
         Index count) {
    if (is_set(options, field)) {
        name = field;
        wished = value;
    }
    if (!wished) {
        value = std::min(value, count - 1);
        return;
    }
    LOCUS_CHECK(*wished >= 0 && *wished < count,
                std::string(name) + " is " + std::to_string(*wished) + ", expected 0 to " + std::to_string(count - 1));
    value = *wished;
}

// Pages of another family take --layer, --head and --cell as their own; their model is opened for these alone.

void fit_rope(const Options& options, State& state) {
    const ModelSession shown(state.choices.roformer.model, Family::roformer);
    fit(options, "--layer", "rope.layer", options.layer, state.rope.layer, shown.model().sizes().layers);
    fit(options, "--head", "rope.head", options.head, state.rope.head, shown.model().sizes().heads);
    if (!options.cell) return;
    const Cell cell = cell_of(*options.cell, shown.input_of(state.choices.roformer).length());
    state.rope.query = state.rope.m = cell.i;
    state.rope.key = state.rope.n = cell.j;
}

void fit_memory(const Options& options, State& state) {
    MemoryState& memory = state.memory;
    const auto shown = open_sentence<MemoryText>(state.choices.transformer_xl);
    fit(options, "--layer", "memory.layer", options.layer, memory.layer, shown->sizes().layers);
    fit(options, "--head", "memory.head", options.head, memory.head, shown->sizes().heads);
    if (!options.cell) return;
    // How much memory there is only a pass over the segments before tells.
    const auto answer = MemoryAnswer::make({shown, memory.segment_tokens, memory.segment, memory.memory, memory.layer});
    if (!answer->error.empty()) return;  // the page says it
    memory.cell = cell_of(*options.cell, *answer);
    if (!is_set(options, "memory.side")) memory.side = 1;  // as a click on the cell does
}

void fit_permutation(const Options& options, State& state) {
    PermutationState& permutation = state.permutation;
    LOCUS_CHECK(permutation.sentence == 0,
                "--layer, --head and --cell go with the model's own sentence, found "
                "permutation.sentence=" +
                    std::to_string(permutation.sentence));
    const auto shown = open_sentence<PermutationSentence>(state.choices.xlnet);
    fit(options, "--layer", "permutation.layer", options.layer, permutation.layer, shown->sizes().layers);
    fit(options, "--head", "permutation.head", options.head, permutation.head, shown->sizes().heads);
    if (!options.cell) return;
    const auto length = static_cast<Index>(shown->words().size());
    permutation.cell = cell_of(*options.cell, length);
    if (!is_set(options, "permutation.row")) permutation.row = permutation.cell.i;
    if (!is_set(options, "permutation.side")) permutation.side = 1;  // as a click on the cell does
    const std::vector<Index> looking =
        predicted_of(permutation.order.empty() ? shown->usual_cards() : cards_of_text(permutation.order, length));
    if (std::find(looking.begin(), looking.end(), permutation.cell.i) != looking.end()) return;
    // A given token looks in the content stream alone.
    LOCUS_CHECK(permutation.stream == 0 || !is_set(options, "permutation.stream"),
                "--cell is \"" + *options.cell +
                    "\", expected a predicted position as I, because a given token has no row in the query stream");
    permutation.stream = 0;
}

void fit_positions(const Options& options, PositionsState& positions) {
    if (!options.cell) return;
    positions.cell = cell_of(*options.cell, static_cast<Index>(positions.length));
    if (!is_set(options, "positions.locked")) positions.locked = true;  // as a click on the cell does
}

/// The model is made while the page is open, so that what it does not have is said later (check_kept).
void fit_training(const Options& options, TrainingPageState& training) {
    const auto take = [&](const char* field, std::optional<long> wished, Index& value) {
        if (wished && !is_set(options, field)) value = std::max<Index>(0, *wished);
    };
    take("training.layer", options.layer, training.layer);
    take("training.head", options.head, training.head);
    long i = 0, j = 0;
    if (!options.cell || is_set(options, "training.cell")) return;
    LOCUS_CHECK(parse_pair(*options.cell, ',', i, j) && i >= 0 && j >= 0,
                "--cell is \"" + *options.cell + "\", expected row and column: I,J");
    training.cell = {i, j};
}

/// The layer of the stage that the page Attention shows by name; --layer may only say the same.
void fit_stage(const Options& options, State& state, Index layers) {
    const std::string& stage = state.attention.stage;
    const Index layer = layer_of(stage);
    if (state.attention.picture != AttentionPicture::stage || !is_set(options, "attention.stage") || layer < 0) return;
    LOCUS_CHECK(layer < layers,
                "attention.stage is \"" + stage + "\", expected a layer from 0 to " + std::to_string(layers - 1));
    const bool named = is_set(options, "layer");
    LOCUS_CHECK((!named || state.layer == layer) && (named || !options.layer || *options.layer == layer),
                "attention.stage is \"" + stage + "\", expected a stage of layer " + std::to_string(state.layer) +
                    ", as " + (named ? "--set layer" : "--layer") + " says");
    state.layer = layer;
}

}  // namespace

void fit_to_model(const Options& options, const DebertaSession& session, State& state) {
    const DebertaConfig& config = session.config();
    if (state.page == "compare" && !state.compare.has_files()) {
        Index layer = std::max<Index>(0, layer_of(state.compare.stage));
        fit(options, "--layer", "compare.stage", options.layer, layer, config.num_hidden_layers);
        state.compare.stage = at_layer(state.compare.stage, layer);
        fit(options, "--head", "compare.head", options.head, state.compare.head, config.num_attention_heads);
    }
    const bool of_family = choice_of_page(state, state.page) != nullptr;
    if (of_family && (options.layer || options.head || options.cell)) {
        if (state.page == "rope") fit_rope(options, state);
        if (state.page == "transformer-xl") fit_memory(options, state);
        if (state.page == "permutation") fit_permutation(options, state);
    }
    if (state.page == "positions") fit_positions(options, state.positions);
    if (state.page == "training") fit_training(options, state.training);
    if (state.page == "decoder" && options.head && !is_set(options, "decoder.head")) state.decoder_head = *options.head;
    const bool own_model = of_family || state.page == "training";
    const std::optional<long> unsaid;
    fit(options, "--layer", "layer", own_model ? unsaid : options.layer, state.layer, config.num_hidden_layers);
    fit(options, "--head", "head", own_model ? unsaid : options.head, state.head, config.num_attention_heads);
    if (state.page == "attention") fit_stage(options, state, config.num_hidden_layers);
    const Index length = session.input_of({state.text, state.tokens, state.mask}).length();
    long i = 0, j = 0;
    if (options.cell && state.compare.has_files()) {
        LOCUS_CHECK(parse_pair(*options.cell, ',', i, j) && i >= 0 && j >= 0,
                    "--cell is \"" + *options.cell + "\", expected row and column: I,J");
        state.compare.wished = Cell{i, j};
    } else if (options.cell && !own_model && state.page != "positions") {
        state.cell = cell_of(*options.cell, length);
    }
    LOCUS_CHECK(!is_set(options, "cell") || (state.cell.i < length && state.cell.j < length),
                "cell is \"" + std::to_string(state.cell.i) + "," + std::to_string(state.cell.j) +
                    "\", expected I,J with both from 0 to " + std::to_string(length - 1));
    state.cell = {std::min(state.cell.i, length - 1), std::min(state.cell.j, length - 1)};
}

std::vector<std::string> without_effect(const Options& options, const std::string& page) {
    std::vector<std::string> said;
    const auto check = [&](bool given, const std::string& name, const std::vector<std::string>& pages) {
        if (given && std::find(pages.begin(), pages.end(), page) != pages.end())
            said.push_back("note: " + name + " changes nothing on the page " + page);
    };
    check(options.text.has_value(), "--text", {"positions", "conformance"});
    check(options.layer.has_value(), "--layer", {"positions", "text", "conformance"});
    check(options.head.has_value(), "--head", {"positions", "text", "conformance"});
    check(options.cell.has_value(), "--cell", {"text", "conformance"});
    check(options.dialect.has_value(), "--dialect", {"text", "training", "conformance"});
    // Their families' code and papers say the same but for rows that see nothing, and for the memory of hf.
    const auto computes = [&](const char* on, Dialect dialect) {
        if (options.dialect && page == on && parse_dialect(*options.dialect) != dialect)
            said.push_back("note: --dialect changes nothing on the page " + page + ", which computes the dialect " +
                           to_string(dialect));
    };
    computes("rope", Dialect::official);
    computes("transformer-xl", Dialect::reference);
    return said;
}

void check_kept(const Options& options, const State& shown) {
    if (options.stage) {
        const std::string stage = options.layer ? at_layer(*options.stage, *options.layer) : *options.stage;
        LOCUS_CHECK(stage == shown.compare.stage, "--stage is \"" + *options.stage +
                                                      "\", which the page does not have: it would show \"" +
                                                      shown.compare.stage + "\" instead");
    }
    if (shown.page == "training") {
        const auto kept = [](const char* name, const auto& given, Index value) {
            LOCUS_CHECK(!given || *given == value, std::string(name) + " is " + std::to_string(*given) +
                                                       ", which the page does not have: it would show " +
                                                       std::to_string(value) + " instead");
        };
        if (!is_set(options, "training.layer")) kept("--layer", options.layer, shown.training.layer);
        if (!is_set(options, "training.head")) kept("--head", options.head, shown.training.head);
        const std::string cell = state_field("training.cell").get(shown);
        LOCUS_CHECK(!options.cell || is_set(options, "training.cell") || *options.cell == cell,
                    "--cell is \"" + *options.cell + "\", which the page does not have: it would show \"" + cell +
                        "\" instead");
    }
    State wished = shown;
    for (const std::string& set : options.set) {
        const std::string name = set.substr(0, set.find('='));
        const StateField& field = state_field(name);
        // An animation that plays moves on by itself.
        if (field.name.ends_with(".playing") || is_set(options, field.name + ".playing") || field.name == "dialect" ||
            field.name == "model")
            continue;
        field.set(wished, set.substr(set.find('=') + 1));
        LOCUS_CHECK(field.get(wished) == field.get(shown), field.name + " is \"" + field.get(wished) +
                                                               "\", which the page does not have: it would show \"" +
                                                               field.get(shown) + "\" instead");
    }
}

void recall(const Settings& known, const Options& options, State& state) {
    const auto theme = std::find(std::begin(kThemeNames), std::end(kThemeNames), known.theme);
    const auto set = [&](const std::string& name) {
        return std::any_of(options.set.begin(), options.set.end(),
                           [&](const std::string& one) { return one.starts_with(name + "="); });
    };
    if (!options.theme && !set("theme") && theme != std::end(kThemeNames))
        state.theme = static_cast<ThemeName>(theme - std::begin(kThemeNames));
    if (options.scale == 1 && !set("zoom")) state.zoom = static_cast<float>(known.zoom);
    if (!set("reduce_motion")) state.reduce_motion = known.reduce_motion;
}

// From --export, --region, --pixels and --transparent to what is written.

std::vector<ExportRequest> export_requests(const Options& options) {
    const std::size_t count = options.exports.size(), regions = options.regions.size();
    LOCUS_CHECK(count > 0 || (regions == 0 && options.pixels == 1 && !options.transparent),
                "--region, --pixels and --transparent go with --export");
    LOCUS_CHECK(regions <= 1 || regions == count, "--region is given " + std::to_string(regions) +
                                                      " times, expected once, or once for each of the " +
                                                      std::to_string(count) + " files");
    std::vector<ExportRequest> requests;
    bool png = false, picture = false;
    for (std::size_t n = 0; n < count; ++n) {
        ExportRequest request{options.exports[n]};
        if (regions > 0) request.region = options.regions[regions == 1 ? 0 : n];
        const ExportFormat format = request.format();
        png |= format == ExportFormat::png;
        picture |= is_picture(format);
        // What is said for all of them holds for those that it can hold for.
        if (count == 1 || format == ExportFormat::png) request.pixels = options.pixels;
        if (count == 1 || is_picture(format)) request.transparent = options.transparent;
        check(request);
        requests.push_back(std::move(request));
    }
    LOCUS_CHECK(count == 0 || png || options.pixels == 1, "--pixels goes with .png alone, and no --export is one");
    LOCUS_CHECK(count == 0 || picture || !options.transparent,
                "--transparent goes with .png and .svg, and no --export is one");
    return requests;
}

}  // namespace locus
