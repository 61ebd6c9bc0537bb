#include "core/text/tokenizers/json_processor.h"

namespace locus {

namespace {

/// ["[CLS]", 1]
SpecialToken read_pair(const JsonFields& json, const std::string& name) {
    const nlohmann::json* pair = json.find(name);
    if (!pair || !pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_number_unsigned())
        json.throw_unreadable(name, "a token and its id");
    SpecialToken token;
    token.name = (*pair)[0];
    token.id = (*pair)[1];
    return token;
}

/// The ids of one special token of a template, with their names.
std::vector<SpecialToken> read_template_token(const JsonFields& table, const std::string& name) {
    const JsonFields entry = table.child(name);
    const nlohmann::json *ids = entry.find("ids"), *names = entry.find("tokens");
    if (!ids || !ids->is_array()) entry.throw_unreadable("ids", "a list of ids");
    if (!names || !names->is_array() || names->size() != ids->size())
        entry.throw_unreadable("tokens", "one name per id");
    std::vector<SpecialToken> tokens;
    for (std::size_t n = 0; n < ids->size(); ++n) {
        if (!(*ids)[n].is_number_unsigned() || !(*names)[n].is_string())
            entry.throw_unreadable("ids", "ids and their names");
        SpecialToken token;
        token.name = (*names)[n];
        token.id = (*ids)[n];
        tokens.push_back(token);
    }
    return tokens;
}

JsonFrame read_template(const JsonFields& json) {
    JsonFrame frame;
    bool behind = false;
    for (const JsonFields& step : json.list("single")) {
        if (step.find("Sequence")) {
            if (behind || step.child("Sequence").text("id") != "A") json.throw_unreadable("single", "the text A once");
            behind = true;
            continue;
        }
        const std::string name = step.child("SpecialToken").text("id");
        for (const SpecialToken& token : read_template_token(json.child("special_tokens"), name))
            (behind ? frame.behind : frame.front).push_back(token);
    }
    if (!behind) json.throw_unreadable("single", "the text A once");
    return frame;
}

JsonFrame read_sequence(const JsonFields& json) {
    JsonFrame frame;
    for (const JsonFields& one : json.list("processors")) {
        JsonFrame outer = read_processor(one);
        frame.front.insert(frame.front.begin(), outer.front.begin(), outer.front.end());
        frame.behind.insert(frame.behind.end(), outer.behind.begin(), outer.behind.end());
    }
    return frame;
}

}  // namespace

JsonFrame read_processor(const JsonFields& json) {
    const std::string type = json.type();
    if (type == "Sequence") return read_sequence(json);
    if (type == "TemplateProcessing") return read_template(json);
    if (type == "BertProcessing" || type == "RobertaProcessing")
        return {{read_pair(json, "cls")}, {read_pair(json, "sep")}};
    if (type == "ByteLevel") return {};
    json.refuse_type("Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel");
}

}  // namespace locus
