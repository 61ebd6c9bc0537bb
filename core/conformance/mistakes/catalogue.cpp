// The catalogue as a whole, and as text and JSON for those who only read it.
#include "core/conformance/mistakes/catalogue.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

std::vector<Mistake> all_groups() {
    std::vector<Mistake> all;
    for (const auto group : {term_gather_mistakes,
                             relative_index_mistakes,
                             log_bucket_mistakes,
                             projection_and_scale_mistakes,
                             mask_mistakes,
                             softmax_mistakes,
                             dropout_mistakes,
                             softmax_backward_mistakes,
                             gelu_mistakes,
                             norm_mistakes,
                             layer_and_input_mistakes,
                             mask_decoder_mistakes,
                             head_and_objective_mistakes,
                             rotation_mistakes,
                             linear_attention_mistakes,
                             transformer_xl_mistakes,
                             memory_mistakes,
                             xlnet_mistakes,
                             gradient_mistakes,
                             tile_and_memory_mistakes,
                             more_term_mistakes,
                             rotary_angle_mistakes,
                             encoder_part_mistakes,
                             norm_without_mean_mistakes,
                             activation_mistakes,
                             left_out_mistakes,
                             later_relative_mistakes,
                             rope_scaling_mistakes,
                             other_bucket_mistakes,
                             tile_step_mistakes,
                             untied_head_mistakes,
                             adaptive_softmax_mistakes,
                             classifier_mistakes,
                             token_type_mistakes,
                             rotation_step_mistakes,
                             angle_precision_mistakes,
                             later_index_mistakes,
                             head_cut_mistakes,
                             norm_parameter_mistakes,
                             residual_mistakes,
                             later_softmax_mistakes,
                             term_count_mistakes,
                             norm_axis_mistakes,
                             query_stream_mistakes,
                             attention_gradient_mistakes,
                             model_gradient_mistakes,
                             parameter_gradient_mistakes}) {
        std::vector<Mistake> mistakes = group();
        all.insert(all.end(), std::make_move_iterator(mistakes.begin()), std::make_move_iterator(mistakes.end()));
    }
    return all;
}

Json entry(const Mistake& mistake) {
    Json families = Json::array(), first = Json::array(), ways = Json::array();
    for (const Family family : mistake.families) families.push_back(to_string(family));
    for (const std::string& stage : first_wrong_stages(mistake)) first.push_back(stage);
    for (const Variant& variant : mistake.variants)
        if (!variant.how.empty()) ways.push_back(variant.how);
    return {{"number", mistake.number},   {"name", mistake.name},         {"symptom", mistake.symptom},
            {"betrays", mistake.betrays}, {"evidence", mistake.evidence}, {"lesson", mistake.lesson},
            {"families", families},       {"first_wrong", first},         {"ways", ways}};
}

}  // namespace

const std::vector<Mistake>& catalogue() {
    static const std::vector<Mistake> all = all_groups();
    return all;
}

const Mistake& mistake_of(int number) {
    int last = 0;
    for (const Mistake& mistake : catalogue()) {
        if (mistake.number == number) return mistake;
        last = std::max(last, mistake.number);
    }
    throw Error(Fault::usage, "mistake " + std::to_string(number) + " is not in the catalogue, expected 1 to " +
                                  std::to_string(last) + "; locus check --catalogue lists them");
}

std::vector<std::string> first_wrong_stages(const Mistake& mistake) {
    std::vector<std::string> stages;
    for (std::string stem : mistake.stems) {
        if (stem == "grad.x" || stem == "grad.x_q") stem = "grad.output";  // what a layer reads the layer before gives
        if (const std::size_t mark = stem.find('#'); mark != std::string::npos) stem[mark] = 'N';
        if (stem.starts_with('/')) stem.erase(0, 1);
        if (std::find(stages.begin(), stages.end(), stem) == stages.end()) stages.push_back(stem);
    }
    return stages;
}

std::string catalogue_json() {
    Json entries = Json::array();
    for (const Mistake& mistake : catalogue()) entries.push_back(entry(mistake));
    return Json{{"format", "locus-mistakes"}, {"version", "1.0"}, {"mistakes", entries}}.dump(1) + "\n";
}

std::string catalogue_text() {
    std::vector<std::vector<std::string>> rows = {{"", "mistake", "lesson"}};
    for (const Mistake& mistake : catalogue())
        rows.push_back({std::to_string(mistake.number), mistake.name,
                        mistake.lesson.empty() ? "" : std::to_string(std::stoi(mistake.lesson))});
    return text_table(rows, {true, false, true}) + "locus check --explain N tells more of one\n";
}

}  // namespace locus::conformance
