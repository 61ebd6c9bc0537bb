// Both sides of the Compare page: a pass of the model each, or a dump.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/compare.h"
#include "core/io/input_file.h"
#include "core/io/model_request.h"
#include "core/io/subprocess.h"
#include "cuda/library.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/polling_operations.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

namespace {

constexpr std::size_t kKeptDumps = 4, kKeptMistakes = 4, kKeptModels = 2;

double largest_magnitude(const Stage& stage) {
    double largest = 0;
    for (Index n = 0; n < stage.size(); ++n)
        if (std::isfinite(stage.at(n))) largest = std::max(largest, std::abs(stage.at(n)));
    return largest;
}

std::string in_words(const CompareSide& side) {
    if (!side.file.empty()) return printable(side.file);
    return side.model.empty() ? "the opened model" : printable(side.model);
}

/// Is that one folder, by a built-in name or any path to it?
bool is_one_model(const std::string& a, const std::string& b) {
    if (a == b) return true;
    try {
        std::error_code error;
        return std::filesystem::equivalent(resolve_model(a), resolve_model(b), error) && !error;
    } catch (const Error&) {  // the dump names what is not here
        return false;
    }
}

/// Of its one sample.
std::vector<std::string> ids_of(const ModelInput& input) {
    std::vector<std::string> ids;
    for (const std::int64_t id : input.tokens.values()) ids.push_back(std::to_string(id));
    return ids;
}

std::optional<std::int64_t> whole_number(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

const OpenedDump& DebertaSession::dump(const std::string& file) const {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file, error);
    const auto known =
        std::find_if(dumps_.begin(), dumps_.end(), [&](const OpenedDump& one) { return one.file == file; });
    if (known != dumps_.end() && !error && known->written == written) {
        dumps_.splice(dumps_.end(), dumps_, known);
        return dumps_.back();
    }
    if (known != dumps_.end()) dumps_.erase(known);
    OpenedDump opened = open_dump(file);
    while (dumps_.size() >= kKeptDumps) dumps_.pop_front();
    return dumps_.emplace_back(std::move(opened));
}

const DebertaSession& DebertaSession::session_of(const std::string& model) const {
    if (model.empty()) return *this;
    const auto known =
        std::find_if(others_.begin(), others_.end(), [&](const auto& one) { return one.first == model; });
    if (known != others_.end()) return *known->second;
    auto opened = std::make_unique<DebertaSession>(model);
    while (others_.size() >= kKeptModels) others_.pop_front();
    return *others_.emplace_back(model, std::move(opened)).second;
}

std::optional<DebertaSession::Pass> DebertaSession::pass_of(const CompareSide& side, const Request& request) const {
    if (!side.file.empty()) return std::nullopt;
    if (side.gpu) {
        cuda::library();  // throws where no device answers
        LOCUS_CHECK(side.mistake.empty(), "a mistake of the catalogue is made on the CPU, expected the device cpu");
    }
    Pass pass;
    pass.session = &session_of(side.model);
    if (side.text.empty())
        pass.request = {request.text, request.tokens, request.mask};
    else
        pass.request = {side.text, "", ""};
    pass.request.dialect = side.dialect;
    pass.input = pass.session->input_of(pass.request);
    return pass;
}

std::vector<std::string> DebertaSession::stage_names(const CompareSide& side, const std::optional<Pass>& pass) const {
    if (!pass) return dump(side.file).trace.names();
    return pass->session->deberta_.stage_names(pass->input, DebertaOptions::of(side.dialect));
}

const MadeMistake& DebertaSession::made(const MistakeQuery& query, const CompareSide& side) const {
    const auto known = std::find_if(mistakes_.begin(), mistakes_.end(), [&](const KeptMistake& one) {
        return one.query == query && one.mistake == side.mistake && one.exact == side.exact;
    });
    if (known != mistakes_.end()) {
        mistakes_.splice(mistakes_.end(), mistakes_, known);
        return mistakes_.back().made;
    }
    LOCUS_CHECK(parse_mistake(side.mistake),
                "the mistake is \"" + printable(side.mistake) +
                    "\", expected a number of the catalogue, or one of its ways: 7 or 7.2");
    MadeMistake made = make_mistake(query, side.mistake, side.exact, stop_);
    while (mistakes_.size() >= kKeptMistakes) mistakes_.pop_front();
    return mistakes_.emplace_back(KeptMistake{query, side.mistake, side.exact, std::move(made)}).made;
}

const Trace& DebertaSession::trace_of(const CompareSide& side, const std::string& stage, std::optional<Pass>& pass,
                                      Trace& own) const {
    if (!pass) return dump(side.file).trace;
    const DebertaSession& session = *pass->session;
    if (!side.mistake.empty()) {
        const Request& request = pass->request;
        const MadeMistake& wrong =
            made({session.opened_as(), request.text, request.tokens, request.mask, side.dialect}, side);
        pass->mistake = SideMistake{wrong.number, wrong.way,   wrong.name, wrong.how,
                                    wrong.first,  wrong.wrong, wrong.size, wrong.stages};
        return wrong.trace;
    }
    const StageFilter wanted(at_layer(stage, side.layer));
    const DebertaOptions options = DebertaOptions::of(side.dialect);
    if (side.exact && !side.gpu && !session.exact_)
        session.exact_.emplace(open_deberta<double>(session.checkpoint(), polling_operations<double>()));
    if (side.exact && side.gpu && !session.exact_on_device_)
        session.exact_on_device_.emplace(
            open_deberta<double>(session.checkpoint(), cuda::library().operations<double>()));
    if (!side.exact && side.gpu && !session.on_device_)
        session.on_device_.emplace(open_deberta<float>(session.checkpoint(), cuda::library().operations<float>()));
    if (side.exact)
        own = (side.gpu ? session.exact_on_device_ : session.exact_)->forward(pass->input, options, wanted, stop_);
    else
        own = run(side.gpu ? *session.on_device_ : session.deberta_, pass->input, options, wanted);
    return own;
}

std::vector<std::string> DebertaSession::words_of_side(const Pass& pass) const {
    Answer named;
    named.request = pass.request;
    pass.session->name_tokens(named, pass.input);
    return named.labels;
}

/// The model whose tokenizer made the ids of a dump: the one that the dump names, else the one that it is compared
/// with. nullptr where that is neither this one nor the other side's: ids of another vocabulary would become wrong
/// words.
const DebertaSession* DebertaSession::maker_of(const OpenedDump& dump, const std::optional<Pass>& other) const {
    if (dump.model.empty()) return other ? other->session : nullptr;
    for (const DebertaSession* one : {this, other ? other->session : nullptr})
        if (one && is_one_model(dump.model, one->opened_as())) return one;
    return nullptr;
}

void DebertaSession::name_tokens_of_dump(CompareAnswer& answer, const OpenedDump& dump,
                                         const std::optional<Pass>& other) const {
    const DebertaSession* maker = maker_of(dump, other);
    const Tokenizer* tokenizer = maker ? maker->tokenizer() : nullptr;
    if (other && maker == other->session &&
        dump.tokens == std::vector<std::vector<std::string>>{ids_of(other->input)}) {
        answer.tokens = {words_of_side(*other)};  // which name words of the text that the vocabulary lacks
        answer.tokens_in_words = tokenizer != nullptr;
    } else if (!dump.pieces.empty() && dump.pieces != dump.tokens) {
        answer.tokens = dump.pieces;
        answer.tokens_in_words = true;
    } else if (answer.tokens.empty() || tokenizer) {
        if (dump.tokens.empty()) return;
        answer.tokens = dump.tokens;
        answer.tokens_in_words = tokenizer != nullptr;
        if (!tokenizer) return;
        for (std::vector<std::string>& sample : answer.tokens)
            for (std::string& token : sample)
                if (const auto id = whole_number(token)) token = label_of_piece(tokenizer, *id, tokenizer->piece(*id));
    }
}

void DebertaSession::fill_comparison(CompareAnswer& answer, const Request& asked) const {
    const CompareRequest& request = *asked.compare;
    if (request.stage.empty()) return;
    std::optional<Pass> pass_a = pass_of(request.a, asked), pass_b = pass_of(request.b, asked);
    if (pass_a) answer.words_a = words_of_side(*pass_a);
    if (pass_b) answer.words_b = words_of_side(*pass_b);
    answer.stages =
        common_stages(stage_names(request.a, pass_a), stage_names(request.b, pass_b), request.a.layer, request.b.layer);
    answer.stage = nearest_stage(request.stage, answer.stages);
    if (request.exactly) answer.stage = request.stage;
    for (const CompareSide* side : {&request.a, &request.b})
        if (!side->file.empty()) {
            require_stage(dump(side->file), at_layer(answer.stage, side->layer),
                          request.exactly ? "the report" : "the comparison");
            if (!answer.tokens_in_words) name_tokens_of_dump(answer, dump(side->file), pass_a ? pass_a : pass_b);
        }
    LOCUS_CHECK(!answer.stage.empty(),
                in_words(request.a) + " and " + in_words(request.b) + " have no stage in common");
    if (pass_a && pass_b && pass_a->input.length() != pass_b->input.length()) {
        answer.stages = stages_without_tokens(answer.stages);
        if (std::find(answer.stages.begin(), answer.stages.end(), answer.stage) == answer.stages.end())
            throw Error(Fault::usage, "A has " + std::to_string(pass_a->input.length()) + " tokens and B " +
                                          std::to_string(pass_b->input.length()) + ", and " + answer.stage +
                                          " has a cell for each: only stages of one shape can be subtracted" +
                                          (answer.stages.empty() ? "" : ", such as " + answer.stages.back()));
    }
    Trace own_a, own_b;
    const Trace& a = trace_of(request.a, answer.stage, pass_a, own_a);
    const Trace& b = trace_of(request.b, answer.stage, pass_b, own_b);
    if (pass_a) answer.mistake_a = pass_a->mistake;
    if (pass_b) answer.mistake_b = pass_b->mistake;
    answer.a = a.at(at_layer(answer.stage, request.a.layer));
    answer.b = b.at(at_layer(answer.stage, request.b.layer));
    if (answer.a.shape() != answer.b.shape())
        throw Error(Fault::unreadable, answer.stage + " is " + to_string(answer.a.shape()) + " in " +
                                           in_words(request.a) + " and " + to_string(answer.b.shape()) + " in " +
                                           in_words(request.b) + ": only one shape can be subtracted");
    if (answer.a.size() == 0)
        throw Error(Fault::unreadable, answer.stage + " is " + to_string(answer.a.shape()) + ": it has no values");
    const auto stored = request.b.file.empty() ? std::map<std::string, std::string>() : dump(request.b.file).stored;
    const Tolerance tolerance = derived_tolerance(a, answer.a, answer.b, stored);
    answer.allowed = tolerance.absolute + tolerance.relative * largest_magnitude(answer.a);
}

CompareAnswer DebertaSession::compare(const Request& request) const {
    CompareAnswer answer;
    try {
        fill_comparison(answer, request);
    } catch (const Error& error) {
        answer.error = error.what();
        answer.fault = error.fault();
    } catch (const std::bad_alloc&) {
        answer.error = "this comparison needs more memory than there is, expected smaller dumps or a shorter text";
        answer.fault = Fault::memory;
    }
    return answer;
}

}  // namespace locus
