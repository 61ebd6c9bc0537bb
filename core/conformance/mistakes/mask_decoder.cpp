// Mistakes 46 to 50.  The enhanced mask decoder: what asks, what is looked at, and how often.
#include <cmath>
#include <functional>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace decoder_keys_and_values {  // mistake 46

std::vector<Formula> from_the_query() {
    std::vector<Formula> all = keys_and_values_from([](const Replay& at) {
        decoder_pass(at);
        return at("x_q");
    });
    // Tells it from 47, which has the first pass right.
    for (const char* stem : {"k", "v"})
        all.push_back({std::string("/emd.0.") + stem, {"/emd.query.0"}, [stem](const Replay& at) {
                           return at.elsewhere("emd.0.")(stem);
                       }});
    return decoder_of(std::move(all));
}

Mistake mistake() {
    return {.number = 46,
            .name = "the mask decoder makes keys and values of something else than the last layer's input",
            .symptom = "logits are wrong although the encoder is right",
            .betrays = "emd.t.k is the key projection of the query states, or of the last layer's output",
            .evidence = "candle debertav2.rs: key_proj and value_proj read query_states",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"k", "v", "/emd.0.k", "/emd.0.v"},
            .variants = {{"of the query states", from_the_query()},
                         {"of the last layer's output", decoder_of(keys_and_values_from([](const Replay& at) {
                              decoder_pass(at);
                              return hidden_state(at, 1);
                          }))}}};
}

}  // namespace decoder_keys_and_values

namespace decoder_passes {  // mistake 47

Formula head_reads(std::function<Tensor<double>(const Replay&)> what) { return {"/head_input", {}, std::move(what)}; }

/// n passes that start from hs[-n], keys and values too; right for n = 2 alone.
std::vector<Formula> as_many_passes_as_layers_back(Index n) {
    std::vector<Formula> all = keys_and_values_from([n](const Replay& at) {
        decoder_pass(at);
        return hidden_state(at, n);
    });
    all.push_back({"/emd.query.0", {}, [n](const Replay& at) {
                       const Tensor<double>& h = hidden_state(at, n);
                       return sum_of(absolute_rows(at, h), h);
                   }});
    return decoder_of(std::move(all), n);
}

/// A decoder where the model has none, so that its head reads the last layer: the file holds no absolute table, the
/// embeddings have added it, or the code is transformers'.
std::vector<Formula> in_a_model_without_one() {
    return decoder_of({{"/emd.query.0", {}, [](const Replay& at) {
                            const auto& weights = at.deberta();
                            const Tensor<double>& h = hidden_state(at, 2);
                            const bool has_rows =
                                weights.has_absolute_table() && weights.config().embedding_size == h.extent(2);
                            if (has_rows && !weights.config().position_biased_input && at.dialect() != Dialect::hf)
                                throw NotEnough{"a model without a mask decoder"};
                            Tensor<double> query = h;
                            const Matrix<double> rows =
                                has_rows ? weights.absolute_rows(h.extent(1)) : Matrix<double>();
                            for (Index b = 0; b < h.extent(0) && has_rows; ++b) query.matrix(b) += rows;
                            return query;
                        }}});
}

Mistake mistake() {
    return {
        .number = 47,
        .name = "the mask decoder's passes follow each other in another way, or there are not two",
        .symptom = "logits are wrong although the encoder and the first pass are right",
        .betrays = "emd.1.q, emd.1.k and what the head reads tell which state went where",
        .evidence = "",
        .lesson = "13",
        .families = {Family::deberta},
        .stems = {"/emd.query.0", "q", "k", "v", "/mlm.transform"},
        .variants = {
            {"the second pass starts from I + h again", decoder_of({{"x_q",
                                                                     {"/emd.query.0"},
                                                                     [](const Replay& at) {
                                                                         decoder_pass(at);
                                                                         return at("/emd.query.0");
                                                                     }}})},
            {"the second pass takes keys and values from the first one",
             decoder_of(
                 keys_and_values_from([](const Replay& at) { return decoder_pass(at) == 0 ? at("x") : at("x_q"); }))},
            {"one pass", {head_reads([](const Replay& at) { return at("/emd.0.output"); })}},
            {"three passes", {head_reads([](const Replay& at) { return at.elsewhere("emd.2.")("output"); })}},
            {"no pass: the head reads the last layer",
             {head_reads([](const Replay& at) { return hidden_state(at, 1); })}},
            {"one pass that starts from the last layer", as_many_passes_as_layers_back(1)},
            {"three passes that start from the layer before the last two", as_many_passes_as_layers_back(3)},
            {"two passes in a model without a decoder, whose head reads the last layer", in_a_model_without_one()}}};
}

}  // namespace decoder_passes

namespace decoder_residual {  // mistake 48

Mistake mistake() {
    return {.number = 48,
            .name = "the mask decoder's residual is h instead of the query",
            .symptom = "absolute positions reach the output of a pass through attention alone; masked words get worse",
            .betrays = "emd.t.attention == norm(dense(context) + h)",
            .evidence = "",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"attention"},
            .variants = {{"", decoder_of({{"attention", {"context", "x"}, [](const Replay& at) {
                                               decoder_pass(at);
                                               const Tensor<double> sum = attention_sum(at, at("x"));
                                               return shaped(sum, layer_norm<double>(sum.rows(), attention_norm_of(at),
                                                                                     norm_eps_of(at)));
                                           }}})}}};
}

}  // namespace decoder_residual

namespace decoder_query_lost {  // mistake 49

Mistake mistake() {
    return {.number = 49,
            .name = "the absolute query never reaches attention in the mask decoder",
            .symptom = "logits do not change when the absolute table does",
            .betrays = "emd.0.q is the query projection of h; where the whole layer missed it, emd.0 is the last layer",
            .evidence = "",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"/emd.query.0", "q"},
            .variants = {{"the sum I + h is never made",
                          decoder_of({{"/emd.query.0",
                                       {},
                                       [](const Replay& at) {
                                           absolute_rows(at, hidden_state(at, 2));  // a model that has a decoder
                                           return hidden_state(at, 2);
                                       }}})},
                         {"the layer is called without it", decoder_of({{"x_q",
                                                                         {"x"},
                                                                         [](const Replay& at) {
                                                                             decoder_pass(at);
                                                                             return at("x");
                                                                         }}})},
                         {"it is the residual alone", decoder_of({{"q", {"x"}, [](const Replay& at) {
                                                                       decoder_pass(at);
                                                                       return key_or_value(at, at("x"), 0);
                                                                   }}})}}};
}

}  // namespace decoder_query_lost

namespace decoder_positions_changed {  // mistake 50

/// emd.query.0 = sum(I, h), the absolute rows and the last layer's input.
std::vector<Formula> query_by(std::function<Tensor<double>(const Replay&, Tensor<double>, const Tensor<double>&)> sum) {
    return decoder_of({{"/emd.query.0", {}, [sum](const Replay& at) {
                            const Tensor<double>& h = hidden_state(at, 2);
                            return sum(at, absolute_rows(at, h), h);
                        }}});
}

/// emd.query.0 = change(I) + h.
template <class Change>
std::vector<Formula> query_of(Change change) {
    return query_by([change](const Replay& at, Tensor<double> rows, const Tensor<double>& h) {
        return sum_of(change(at, std::move(rows)), h);
    });
}

Tensor<double> normed_rows(const Replay& at, const Tensor<double>& rows, const Norm<double>& norm) {
    return shaped(rows, layer_norm<double>(rows.rows(), norm, at.deberta().config().layer_norm_eps));
}

Tensor<double> masked(const Replay& at, Tensor<double> rows) {
    hide_tokens(at, rows);
    return rows;
}

/// The n-th call with one tensor that every call adds h to.
std::vector<Formula> call(Index n) {
    return query_of([n](const Replay& at, Tensor<double> rows) {
        for (Index before = 1; before < n; ++before) rows = sum_of(std::move(rows), hidden_state(at, 2));
        return rows;
    });
}

Tensor<double> with_the_words(const Replay& at, Tensor<double> rows, const Tensor<double>& h) {
    const Tensor<double>& words = at("/embeddings.word");
    if (words.shape() != h.shape()) throw NotEnough{"words as wide as the model"};
    return sum_of(sum_of(std::move(rows), h), words);
}

/// The second pass begins with what the first one made and the absolute rows once more.
std::vector<Formula> added_before_every_pass() {
    return decoder_of({{"x_q", {"/emd.query.0"}, [](const Replay& at) {
                            const Index pass = decoder_pass(at);
                            if (pass == 0) return at("/emd.query.0");
                            const Tensor<double> made = at.elsewhere("emd." + std::to_string(pass - 1) + ".")("output");
                            return sum_of(absolute_rows(at, made), made);
                        }}});
}

Tensor<double> times_root_of_width(const Replay&, Tensor<double> rows) {
    rows.rows() *= std::sqrt(static_cast<double>(rows.extent(2)));
    return rows;
}

Mistake mistake() {
    const auto embeddings_norm = [](const Replay& at) { return at.deberta().norm("embeddings.LayerNorm"); };
    return {
        .number = 50,
        .name =
            "the query of the mask decoder is not I + h: its absolute rows are normed, masked, scaled, alone or added "
            "twice",
        .symptom = "emd.query.0 is wrong; in place: the second call differs from the first",
        .betrays = "emd.query.0 - h is not the raw rows of the absolute table",
        .evidence = "microsoft/DeBERTa masked_language_model.py: z_states += hidden_states",
        .lesson = "13",
        .families = {Family::deberta},
        .stems = {"/emd.query.0"},
        .variants = {
            {"normed, without weights",
             query_of([](const Replay& at, const Tensor<double>& rows) { return normed_rows(at, rows, {}); })},
            {"normed as the embeddings are", query_of([=](const Replay& at, const Tensor<double>& rows) {
                 return normed_rows(at, rows, embeddings_norm(at));
             })},
            {"masked", query_of(masked)},
            {"normed as the embeddings are, and masked", query_of([=](const Replay& at, const Tensor<double>& rows) {
                 return masked(at, normed_rows(at, rows, embeddings_norm(at)));
             })},
            {"added to in place, second call", call(2)},
            {"added to in place, third call", call(3)},
            {"times sqrt(D)", query_of(times_root_of_width)},
            {"alone, without h",
             query_by([](const Replay&, Tensor<double> rows, const Tensor<double>&) { return rows; })},
            {"with the words added too", query_by(with_the_words)},
            {"added once more before the second pass", added_before_every_pass(), {"q"}}}};
}

}  // namespace decoder_positions_changed
std::vector<Mistake> mask_decoder_mistakes() {
    return {
        decoder_keys_and_values::mistake(),    // 46
        decoder_passes::mistake(),             // 47
        decoder_residual::mistake(),           // 48
        decoder_query_lost::mistake(),         // 49
        decoder_positions_changed::mistake(),  // 50
    };
}

}  // namespace locus::conformance
