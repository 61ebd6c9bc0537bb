#include "tests/conformance/toy/toy_port.h"
#include "core/io/checkpoint.h"
#include "tests/conformance/toy/toy_deberta.h"
#include "tests/conformance/toy/toy_roformer.h"
#include "tests/conformance/toy/toy_transformer_xl.h"
#include "tests/conformance/toy/toy_xlnet.h"

namespace locus::conformance::toy {

template <class Scalar>
Trace run_toy(const std::string& model_folder, const std::vector<ModelInput>& segments, const ToyOptions& options) {
    const Checkpoint checkpoint = open_checkpoint(model_folder);
    const std::string& json = checkpoint.config_json;
    const std::string location = checkpoint.config_file.string();
    const WeightSource& weights = *checkpoint.weights;
    switch (family_of(json, location)) {
        case Family::deberta:
            return ToyDeberta<Scalar>(parse_deberta_config(json, location), weights, options).run(segments.front());
        case Family::roformer:
            return ToyRoformer<Scalar>(parse_roformer_config(json, location), weights, options).run(segments.front());
        case Family::transformer_xl:
            return ToyTransformerXl<Scalar>(parse_transformer_xl_config(json, location), weights, options)
                .run(segments);
        case Family::xlnet:
            return ToyXlnet<Scalar>(parse_xlnet_config(json, location), weights, options).run(segments);
    }
    return {};
}

template Trace run_toy<float>(const std::string&, const std::vector<ModelInput>&, const ToyOptions&);
template Trace run_toy<double>(const std::string&, const std::vector<ModelInput>&, const ToyOptions&);

}  // namespace locus::conformance::toy
