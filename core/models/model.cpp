#include "core/models/model.h"

#include "core/models/config_fields.h"
#include "core/models/deberta.h"
#include "core/models/roformer.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"

namespace locus {

namespace {

/// DeBERTa has options of its own; as one model among others a dialect sets them all.
template <class Scalar>
class DebertaModel : public Model<Scalar> {
public:
    DebertaModel(DebertaConfig config, std::shared_ptr<const WeightSource> weights, const Operations<Scalar>& compute,
                 ForwardPath path)
        : deberta_(std::move(config), std::move(weights), compute, path) {}

    Family family() const override { return Family::deberta; }
    ModelSizes sizes() const override {
        const DebertaConfig& config = deberta_.config();
        return {config.vocab_size, config.num_hidden_layers, config.num_attention_heads, config.attention_head_size};
    }
    std::vector<std::string> input_names() const override { return {"tokens", "mask", "token_types", "labels"}; }
    std::vector<std::string> stage_names(const std::vector<ModelInput>& segments, Dialect dialect) const override {
        return deberta_.stage_names(segments.front(), DebertaOptions::of(dialect));
    }
    void check(const std::vector<ModelInput>& segments, Dialect dialect, const StageFilter& wanted) const override {
        check_one_segment(segments);
        deberta_.check(segments.front(), DebertaOptions::of(dialect), wanted);
    }
    Trace forward(const std::vector<ModelInput>& segments, Dialect dialect, const StageFilter& wanted) const override {
        check_one_segment(segments);
        return deberta_.forward(segments.front(), DebertaOptions::of(dialect), wanted);
    }
    std::vector<Trace> forward_texts(const std::vector<ModelInput>& texts, Dialect dialect,
                                     const StageFilter& wanted) const override {
        return deberta_.forward_texts(texts, DebertaOptions::of(dialect), wanted);
    }
    bool takes_fast_path(const ModelInput& text, Dialect dialect, const StageFilter& wanted) const override {
        return deberta_.takes_fast_path(text, DebertaOptions::of(dialect), wanted);
    }
    std::vector<std::string> warnings() const override { return deberta_.warnings(); }

private:
    Deberta<Scalar> deberta_;
};

}  // namespace

template <class Scalar>
std::vector<Trace> Model<Scalar>::forward_texts(const std::vector<ModelInput>& texts, Dialect dialect,
                                                const StageFilter& wanted) const {
    std::vector<Trace> traces;
    for (const ModelInput& text : texts) traces.push_back(forward({text}, dialect, wanted));
    return traces;
}

template <class Scalar>
bool Model<Scalar>::takes_fast_path(const ModelInput&, Dialect, const StageFilter&) const {
    return false;
}

void check_one_segment(const std::vector<ModelInput>& segments) {
    LOCUS_CHECK(segments.size() == 1,
                std::to_string(segments.size()) + " segments, expected one: this family has no memory to hand on");
}

template <class Scalar>
void check_memory(const Model<Scalar>& model, const std::vector<ModelInput>& segments, Dialect dialect) {
    if (segments.size() < 2) return;
    for (const std::string& name : model.stage_names(segments, dialect))
        if (name.starts_with("segment.0.memory.")) return;
    throw Error(Fault::usage, std::to_string(segments.size()) +
                                  " segments, expected one: mem_len of this model is 0 or null, and in the dialect " +
                                  to_string(dialect) + " it hands on no memory");
}

const char* to_string(Family family) {
    switch (family) {
        case Family::roformer:
            return "roformer";
        case Family::transformer_xl:
            return "transfo-xl";
        case Family::xlnet:
            return "xlnet";
        case Family::deberta:
            break;
    }
    return "deberta";
}

Family family_of(const std::string& config_json, const std::string& location) {
    const ConfigFields fields(config_json, location);
    const std::string type = fields.text("model_type", "");
    if (type == "deberta" || type == "deberta-v2") return Family::deberta;
    for (const Family family : {Family::roformer, Family::transformer_xl, Family::xlnet})
        if (type == to_string(family)) return family;
    fields.throw_unreadable("model_type", "deberta, deberta-v2, roformer, transfo-xl or xlnet", Fault::unsupported);
}

template <class Scalar>
std::unique_ptr<Model<Scalar>> open_model(const std::string& config_json, const std::string& location,
                                          std::shared_ptr<const WeightSource> weights,
                                          const Operations<Scalar>& compute, ForwardPath path) {
    switch (family_of(config_json, location)) {
        case Family::roformer:
            return std::make_unique<Roformer<Scalar>>(parse_roformer_config(config_json, location), std::move(weights),
                                                      compute);
        case Family::transformer_xl:
            return std::make_unique<TransformerXl<Scalar>>(parse_transformer_xl_config(config_json, location),
                                                           std::move(weights), compute);
        case Family::xlnet:
            return std::make_unique<Xlnet<Scalar>>(parse_xlnet_config(config_json, location), std::move(weights),
                                                   compute);
        case Family::deberta:
            break;
    }
    return std::make_unique<DebertaModel<Scalar>>(parse_deberta_config(config_json, location), std::move(weights),
                                                  compute, path);
}

template class Model<float>;
template class Model<double>;
template void check_memory<float>(const Model<float>&, const std::vector<ModelInput>&, Dialect);
template void check_memory<double>(const Model<double>&, const std::vector<ModelInput>&, Dialect);
template std::unique_ptr<Model<float>> open_model<float>(const std::string&, const std::string&,
                                                         std::shared_ptr<const WeightSource>, const Operations<float>&,
                                                         ForwardPath);
template std::unique_ptr<Model<double>> open_model<double>(const std::string&, const std::string&,
                                                           std::shared_ptr<const WeightSource>,
                                                           const Operations<double>&, ForwardPath);

}  // namespace locus
