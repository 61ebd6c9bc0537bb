// Forward passes of models in folders, and their words.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "core/io/classes.h"
#include "core/io/model_request.h"
#include "core/io/recorded_inputs.h"
#include "core/positions/relative_buckets.h"
#include "core/python/interruptible.h"
#include "core/python/module.h"
#include "core/text/tokenizers/tokenizer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace locus::python {

namespace {

/// A pass, and what is needed to talk about it.
struct Pass {
    Trace trace;
    std::string family;
    std::vector<std::vector<std::int64_t>> tokens;          // [B][T], segments joined
    std::vector<std::vector<std::string>> pieces;           // of the tokens; numbers where there is no tokenizer
    std::vector<std::vector<std::int64_t>> mask_positions;  // [N][2]: sample, token
    std::string inputs;                                     // JSON, as a trace file keeps it; may be empty
    std::vector<std::string> warnings;                      // one sentence each
};

/// The folder's tokenizer, or none where it has no file of one.
std::unique_ptr<Tokenizer> tokenizer_if_any(const std::filesystem::path& folder) {
    try {
        return open_tokenizer(folder);
    } catch (const Error& error) {
        if (error.fault() == Fault::unsupported) return nullptr;
        throw;
    }
}

void describe_input(Pass& pass, const std::vector<ModelInput>& segments, const Tokenizer* tokenizer) {
    for (Index b = 0; b < segments.front().batch(); ++b) {
        std::vector<std::int64_t> ids;
        std::vector<std::string> pieces;
        for (const ModelInput& segment : segments)
            for (Index t = 0; t < segment.length(); ++t) ids.push_back(segment.tokens[b * segment.length() + t]);
        for (const std::int64_t id : ids) pieces.push_back(tokenizer ? tokenizer->piece(id) : std::to_string(id));
        pass.tokens.push_back(std::move(ids));
        pass.pieces.push_back(std::move(pieces));
    }
    const IndexTensor& places = segments.front().mask_positions;
    for (Index n = 0; !places.empty() && n < places.extent(0); ++n)
        pass.mask_positions.push_back({places[2 * n], places[2 * n + 1]});
}

template <class Scalar>
Pass compute(const ModelRequest& request, bool cut, const std::string& stages, Dialect dialect, bool fast,
             const CancelToken& stop, StepCount& layers) {
    Checkpoint checkpoint = open_checkpoint(resolve_model(request.model));
    checkpoint.weights = interruptible(checkpoint.weights, stop, layers);
    const auto model =
        open_model_of<Scalar>(checkpoint, cpu_operations<Scalar>(), fast ? ForwardPath::fast : ForwardPath::reference);
    const PreparedInput prepared = prepare_input(request, checkpoint.folder, model->family(), model->input_names(),
                                                 token_types_for(checkpoint, model->family()));
    if (cut) check_memory(*model, prepared.segments, dialect);
    Pass pass;
    pass.trace = model->forward(prepared.segments, dialect, stages.empty() ? StageFilter() : StageFilter(stages));
    pass.family = to_string(model->family());
    pass.warnings = model->warnings();
    if (!prepared.ignored.empty())
        pass.warnings.push_back(about_ignored(prepared, request.input_file, model->input_names()));
    pass.inputs = inputs_as_json(prepared.segments);
    describe_input(pass, prepared.segments, tokenizer_if_any(checkpoint.folder).get());
    return pass;
}

Pass run(const std::string& model, const std::vector<std::string>& texts, const std::string& input_file, Index segment,
         const std::string& stages, const std::string& precision, const std::string& dialect, bool reference,
         const nb::object& progress) {
    LOCUS_CHECK(precision == "f32" || precision == "f64", "precision is \"" + precision + "\", expected f32 or f64");
    const Dialect wanted = parse_dialect(dialect);
    ModelRequest request;
    request.model = model;
    request.texts = texts;
    request.input_file = input_file;
    request.segment = input_file.empty() ? segment : 0;  // tokens come cut, in a file
    Pass pass;
    run_interruptibly(
        [&](const CancelToken& stop, StepCount& layers) {
            pass = precision == "f64" ? compute<double>(request, segment > 0, stages, wanted, false, stop, layers)
                                      : compute<float>(request, segment > 0, stages, wanted, !reference, stop, layers);
        },
        progress);
    return pass;
}

/// ids, pieces, marks of special tokens and token types, with what the model wants around a text or a pair of them.
std::tuple<std::vector<std::int64_t>, std::vector<std::string>, std::vector<bool>, std::vector<std::int64_t>> tokens_of(
    const std::string& model, const std::string& text, const std::optional<std::string>& second) {
    const nb::gil_scoped_release released;  // a vocabulary of 250,000 pieces takes half a second
    const std::filesystem::path folder = resolve_model(model);
    const Tokens tokens = tokens_read(*open_tokenizer(folder), folder, text, second);
    return {tokens.ids, tokens.pieces, tokens.special, tokens.types};
}

using Scores = std::vector<std::tuple<std::string, Index, double, double>>;

/// (what of, position, its classes: name, number, logit, probability) of the stages classifier.* of a pass of one text.
std::vector<std::tuple<std::string, Index, Scores>> classes_of(const std::string& model, const Pass& pass, Index top) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model(model));
    std::vector<std::string> pieces;
    for (const std::string& piece : pass.pieces.front()) pieces.push_back(display_piece(piece));
    const char* const names[] = {"text", "token", "begin", "end"};
    std::vector<std::tuple<std::string, Index, Scores>> all;
    for (const Classes& each : classes_in(pass.trace, 0, class_names(checkpoint), pieces, top)) {
        if (each.holds_nan)
            throw Error(
                Fault::unreadable,
                checkpoint.folder.string() + ": the logits of the classes hold NaN, expected numbers to rank them by");
        Scores scores;
        for (const ClassScore& one : each.best) scores.emplace_back(one.name, one.number, one.logit, one.probability);
        all.emplace_back(names[static_cast<int>(each.of)], each.token, std::move(scores));
    }
    return all;
}

using Logits = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// (piece, id, logit, probability) of the best `top` words; probabilities are over the whole vocabulary.
std::vector<std::tuple<std::string, std::int64_t, double, double>> words_of(const std::string& model,
                                                                            const Logits& logits, Index top) {
    const RowVector<float> row = Eigen::Map<const RowVector<float>>(logits.data(), static_cast<Index>(logits.shape(0)));
    LOCUS_CHECK(row.size() > 0 && !row.hasNaN(), "the logits are empty or hold NaN, expected numbers to rank words by");
    const auto tokenizer = tokenizer_if_any(resolve_model(model));
    std::vector<std::tuple<std::string, std::int64_t, double, double>> words;
    for (const Guess& guess : best_words(row, tokenizer.get(), top))
        words.emplace_back(guess.piece, guess.id, guess.logit, guess.probability);
    return words;
}

std::string family_of_folder(const std::string& model) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model(model));
    return to_string(family_of(checkpoint.config_json, checkpoint.config_file.string()));
}

/// delta(i,j) [queries, keys] of DeBERTa: logarithmic buckets where `buckets` is above 0, else clamped offsets.
nb::object relative_index(Index queries, Index keys, Index span, Index buckets, Index max_position, bool official) {
    const RelativeBuckets rows = buckets > 0
                                     ? RelativeBuckets::logarithmic(queries, keys, buckets, max_position,
                                                                    official ? OffsetClamp::official : OffsetClamp::hf)
                                     : RelativeBuckets::clamped(queries, keys, span);
    auto matrix = std::make_unique<IndexTensor>(rows.matrix());
    const std::size_t shape[] = {static_cast<std::size_t>(queries), static_cast<std::size_t>(keys)};
    const std::int64_t* values = matrix->data();
    const nb::capsule owner(matrix.release(), [](void* held) noexcept { delete static_cast<IndexTensor*>(held); });
    return nb::cast(nb::ndarray<nb::numpy, const std::int64_t>(values, 2, shape, owner));
}

}  // namespace

void bind_models(nb::module_& module) {
    nb::class_<Pass>(module, "Pass")
        .def_prop_ro(
            "trace", [](Pass& self) -> Trace& { return self.trace; }, nb::rv_policy::reference_internal)
        .def_ro("family", &Pass::family)
        .def_ro("tokens", &Pass::tokens)
        .def_ro("pieces", &Pass::pieces)
        .def_ro("mask_positions", &Pass::mask_positions)
        .def_ro("inputs", &Pass::inputs)
        .def_ro("warnings", &Pass::warnings);
    module.def("run", run, "model"_a, "texts"_a, "input_file"_a, "segment"_a, "stages"_a, "precision"_a, "dialect"_a,
               "reference"_a, "progress"_a.none());
    module.def("tokens", tokens_of, "model"_a, "text"_a, "second"_a.none());
    module.def("classes", classes_of, "model"_a, "done"_a, "top"_a);
    module.def("family_of", family_of_folder, "model"_a);
    module.def("relative_index", relative_index, "queries"_a, "keys"_a, "span"_a, "buckets"_a, "max_position"_a,
               "official"_a);
    module.def("best_words", words_of, "model"_a, "logits"_a, "top"_a);
    module.def(
        "resolve_model", [](const std::string& name) { return resolve_model(name).string(); }, "name"_a);
}

}  // namespace locus::python
