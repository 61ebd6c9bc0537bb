#include "core/conformance/kit/case.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/conformance/diagnosis/backward_pass.h"
#include "core/conformance/kit/cases.h"
#include "core/conformance/kit/sha256.h"
#include "core/io/checkpoint.h"
#include "core/io/input_file.h"
#include "core/io/model_request.h"
#include "core/io/safetensors.h"
#include "core/json_text.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;
using KitJson = nlohmann::json;

/// A field that must be there and of this kind.
const KitJson& field(const KitJson& json, const char* name, KitJson::value_t kind, const fs::path& file) {
    const auto found = json.find(name);
    if (found == json.end() || found->type() != kind)
        throw_unreadable(file, std::string("has no \"") + name + "\" of the expected kind");
    return *found;
}

std::string text_field(const KitJson& json, const char* name, const fs::path& file) {
    return field(json, name, KitJson::value_t::string, file).get<std::string>();
}

/// A path that stays below the folder it is joined to.
bool stays_below(const std::string& name) {
    const fs::path relative = fs::path(name).lexically_normal();
    return !name.empty() && name.find('\0') == name.npos && !relative.is_absolute() && relative != "." &&
           relative.begin()->string() != "..";
}

void check_file(const fs::path& root, const std::string& name, const KitJson& expected, const fs::path& kit_file) {
    const fs::path relative = fs::path(name).lexically_normal();
    if (!stays_below(name) || !expected.is_string())
        throw_unreadable(kit_file, "names the file \"" + name + "\", expected one below the kit's folder and its hash");
    const fs::path file = root / relative;
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored))
        throw_unreadable(file, "is missing, but kit.json lists it; export the kit again");
    const std::string hash = [&] {
        const MappedFile mapped(file);
        return sha256({reinterpret_cast<const char*>(mapped.data()), mapped.size()});
    }();
    if (hash != expected.get<std::string>())
        throw_unreadable(file, "was changed since the kit was exported: its SHA-256 begins with " + hash.substr(0, 12) +
                                   ", kit.json says " + expected.get<std::string>().substr(0, 12));
}

/// What the reference may be away from exact numbers: a kit that asks for nothing would pass every port.
double accuracy_in(const KitJson& json, const fs::path& file) {
    if (!json.contains("accuracy")) return 0;
    const double accuracy = json["accuracy"].is_number() ? json["accuracy"].get<double>() : -1;
    if (!(accuracy >= 0 && accuracy <= 0.01))
        throw_unreadable(file, "accuracy is " + excerpt(json["accuracy"]) + ", expected a number from 0 to 0.01");
    return accuracy;
}

/// A text of case.json that may be left out.
std::string optional_text(const KitJson& json, const char* name, const fs::path& file) {
    return json.contains(name) ? text_field(json, name, file) : "";
}

void read_stages(KitCase& one, const KitJson& json, const fs::path& file) {
    for (const KitJson& stage : field(json, "stages", KitJson::value_t::array, file)) {
        one.stages.push_back(text_field(stage, "name", file));
        if (one.depends.contains(one.stages.back()))
            throw_unreadable(file, "lists the stage " + one.stages.back() + " twice");
        std::vector<std::string>& depends = one.depends[one.stages.back()];
        for (const KitJson& name : field(stage, "depends", KitJson::value_t::array, file)) {
            if (!name.is_string())
                throw_unreadable(file, "says that " + one.stages.back() + " depends on " + excerpt(name) +
                                           ", expected names of stages");
            depends.push_back(name.get<std::string>());
        }
    }
    if (one.stages.empty()) throw_unreadable(file, "lists no stage, expected those that a port must compute");
}

/// What case.json itself says.
void read_description(KitCase& one, const KitJson& json, const fs::path& file) {
    one.level = text_field(json, "level", file);
    one.family = text_field(json, "family", file);
    one.why = text_field(json, "why", file);
    one.cut_from = optional_text(json, "cut_from", file);
    if (const std::string model = optional_text(json, "checkpoint", file); !model.empty())
        one.checkpoint = (one.folder / model).lexically_normal();  // an absolute path stays as it is
    one.accuracy = accuracy_in(json, file);
    one.config = json.contains("config") ? field(json, "config", KitJson::value_t::object, file) : KitJson::object();
    try {
        one.dialect = parse_dialect(text_field(json, "dialect", file));
        family_named(one.family);
    } catch (const Error& error) {
        if (error.fault() != Fault::usage) throw;
        throw_unreadable(file, error.what());
    }
    read_stages(one, json, file);
}

KitCase read_case(const fs::path& folder, const KitJson& entry, const fs::path& kit_file) {
    KitCase one;
    one.id = text_field(entry, "id", kit_file);
    // Dumps are read and written under this name.
    if (!stays_below(one.id) || fs::path(one.id).lexically_normal().generic_string() != one.id)
        throw_unreadable(kit_file,
                         "names a case \"" + one.id + "\", expected a path below the kit's folder like L0/one");
    one.folder = folder / "cases" / one.id;
    const KitJson& files = field(entry, "files", KitJson::value_t::object, kit_file);
    for (const char* needed : {"case.json", "inputs.safetensors", "reference.safetensors"})
        if (!files.contains(needed)) throw_unreadable(kit_file, "case " + one.id + " lists no " + needed);
    for (const auto& [name, hash] : files.items()) check_file(folder, "cases/" + one.id + "/" + name, hash, kit_file);

    const fs::path file = one.folder / "case.json";
    read_description(one, read_json_file(file), file);
    for (const auto& [name, here] : {std::pair("level", &one.level), std::pair("family", &one.family)})
        if (entry.contains(name) && entry[name] != *here)
            throw_unreadable(file, std::string("its ") + name + " is not that of kit.json");
    return one;
}

/// At least one case, and each once.
void check_ids(const Kit& kit, const fs::path& kit_file) {
    if (kit.cases.empty()) throw_unreadable(kit_file, "lists no case, expected at least one");
    std::set<std::string> ids;
    for (const KitCase& one : kit.cases)
        if (!ids.insert(one.id).second) throw_unreadable(kit_file, "lists the case " + one.id + " twice");
}

Kit read_kit(const fs::path& folder) {
    const fs::path file = folder / "kit.json";
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored))
        throw_unreadable(folder, "is no kit: there is no kit.json in it; locus kit export DIR writes one");
    Kit kit;
    kit.folder = folder;
    kit.hash = sha256(read_json_text(file));
    const KitJson json = read_json_file(file);
    if (json.value("format", KitJson()) != KitJson(kKitFormat))
        throw_unreadable(file, std::string("is no kit: its format is not \"") + kKitFormat + "\"");
    kit.version = text_field(json, "version", file);
    if (kit.version != kKitVersion)
        throw_unreadable(file, "is a kit of version " + kit.version + ", this program reads version " + kKitVersion,
                         Fault::unsupported);
    for (const auto& [name, hash] : field(json, "files", KitJson::value_t::object, file).items())
        check_file(folder, name, hash, file);
    for (const KitJson& entry : field(json, "cases", KitJson::value_t::array, file))
        kit.cases.push_back(read_case(folder, entry, file));
    check_ids(kit, file);
    return kit;
}

}  // namespace

const KitCase* Kit::find(const std::string& id) const {
    const auto found = std::find_if(cases.begin(), cases.end(), [&](const KitCase& one) { return one.id == id; });
    return found == cases.end() ? nullptr : &*found;
}

KitCase parse_case(std::string_view text, const fs::path& file) {
    KitCase one;
    one.folder = file.parent_path();
    read_description(one, parse_json_object(text, printable(file.string())), file);
    return one;
}

Kit open_kit(const fs::path& folder) {
    try {
        return read_kit(folder);
    } catch (const KitJson::exception&) {
        throw_unreadable(folder / "kit.json",
                         "or a case.json that it lists has a value of another kind than its schema says");
    }
}

double accuracy_beside(const fs::path& reference_file) {
    const fs::path file = reference_file.parent_path() / "case.json";
    std::error_code ignored;
    if (reference_file.filename() != "reference.safetensors" || !fs::is_regular_file(file, ignored)) return 0;
    return accuracy_in(read_json_file(file), file);
}

Trace reference_of(const KitCase& one) {
    const fs::path file = one.folder / "reference.safetensors";
    Trace reference = read_trace(file);
    for (const std::string& name : one.stages)
        if (!reference.find(name)) throw_unreadable(file, "has no stage " + name + ", which case.json lists");
    for (const std::string& name : reference.names())
        if (!one.depends.contains(name))
            throw_unreadable(file, "holds the stage " + name + ", which case.json does not list");
    return reference;
}

Trace inputs_of(const KitCase& one) {
    const fs::path file = one.folder / "inputs.safetensors";
    Trace stages;
    const Trace all = read_trace(file);
    for (const Stage& stage : all.stages())
        if (describe_stage(stage.name)) stages.add(stage);
    return stages;
}

std::set<std::string> given_to(const KitCase& one) {
    const Trace inputs = inputs_of(one);
    std::set<std::string> names;
    for (const Stage& stage : inputs.stages())
        if (std::string_view(stage.dtype()) != "I64") names.insert(stage.name);
    return names;
}

Family family_named(const std::string& name) {
    for (const Family family : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
        if (name == to_string(family)) return family;
    throw Error(Fault::usage, "family is \"" + name + "\", expected deberta, roformer, transfo-xl or xlnet");
}

Scheme scheme_of(Family family) {
    switch (family) {
        case Family::roformer:
            return Scheme::rotary;
        case Family::transformer_xl:
            return Scheme::transformer_xl;
        case Family::xlnet:
            return Scheme::two_stream;
        case Family::deberta:
            break;
    }
    return Scheme::disentangled;
}

std::vector<ModelInput> segments_in(const fs::path& file) {
    const TensorFile tensors = open_safetensors(file);
    if (!tensors.find("tokens") && !tensors.find("tokens.0")) return {};
    ModelRequest request;
    request.input_file = file.string();
    static const std::vector<std::string> names = {"tokens",    "mask",           "token_types", "labels",
                                                   "perm_mask", "target_mapping", "input_mask",  "memory"};
    // A family with memory: the others ask a tokenizer for the places of [MASK], and a case has none.
    return prepare_input(request, file.parent_path(), Family::xlnet, names).segments;
}

// Everything that is known about a case beside what a port says of it.

Background background_of(const Kit& kit, const KitCase& one, const Trace& reference, Dialect dialect) {
    Background background;
    const KitCase* whole = one.cut_from.empty() ? &one : kit.find(one.cut_from);
    for (const Stage& stage : reference.stages()) background.reference.add(stage);
    const auto add_all = [&](const Trace& more) {
        for (const Stage& stage : more.stages())
            if (!background.reference.find(stage.name)) background.reference.add(stage);
    };
    add_all(inputs_of(one));
    const Trace given = read_trace(one.folder / "inputs.safetensors");
    if (const Stage* noise = given.find("noise")) background.reference.add(*noise);  // of SiFT
    // A case that was cut out of no model brings its mask with it.
    if (const Stage* mask = given.find("mask"); mask && whole == &one && !one.has_model())
        background.reference.add(*mask);
    if (!whole) return background;
    if (whole != &one) add_all(reference_under(kit, *whole, dialect));
    if (whole->has_model()) {
        background.model = ModelFolder::open(whole->model().string());
        background.segments = segments_in(whole->folder / "inputs.safetensors");
    }
    return background;
}

// What a case expects of a port that follows another dialect than the recorded code.

namespace {

/// The whole case that a case is, or was cut out of; nullptr for index tensors and what Locus made up itself.
const KitCase* whole_case(const Kit& kit, const KitCase& one) {
    if (one.cut_from.empty()) return one.level == "L3" ? &one : nullptr;
    return kit.find(one.cut_from);
}

Trace recompute(const KitCase& whole, Dialect dialect) {
    const auto model = open_model_of<double>(open_checkpoint(whole.model()));
    const std::vector<ModelInput> segments = segments_in(whole.folder / "inputs.safetensors");
    const std::set<std::string> stages(whole.stages.begin(), whole.stages.end());
    if (std::any_of(stages.begin(), stages.end(), [](const std::string& name) { return name.starts_with("grad."); })) {
        RightPass pass{ModelFolder::open(whole.model().string()), segments, dialect, model->forward(segments, dialect)};
        add_backward_pass(pass, [&](const std::string& name) { return stages.contains(name); });
        return std::move(pass.trace);
    }
    if (whole.checkpoint.empty()) return model->forward(segments, dialect);
    // Of a real model the first layers alone.
    return model->forward(segments, dialect, StageFilter::of(whole.stages));
}

/// True if every stage that the case is given has the same values in the dialect.
bool gives_the_same(const KitCase& one, const Trace& all) {
    const Trace given = inputs_of(one);
    for (const Stage& stage : given.stages()) {
        const Stage* other = all.find(stage.name);
        if (!other || other->shape() != stage.shape()) return false;
        double size = 1;
        for (Index n = 0; n < stage.size(); ++n) size = std::max(size, std::abs(stage.at(n)));
        for (Index n = 0; n < stage.size(); ++n)
            if (!(std::abs(stage.at(n) - other->at(n)) <= 10 * std::max(one.accuracy, 1e-12) * size)) return false;
    }
    return true;
}

/// Replaced tokens and SiFT are in the official code alone, and no pass of Locus returns their stages.
bool has_one_dialect(const KitCase& one) {
    return std::any_of(one.stages.begin(), one.stages.end(), [](const std::string& stage) {
        return stage.starts_with("rtd.") || stage.starts_with("sift.");
    });
}

}  // namespace

Trace reference_under(const Kit& kit, const KitCase& one, Dialect dialect) {
    const KitCase* whole = whole_case(kit, one);
    const bool is_index = one.level == "L0";
    if (dialect == one.dialect || (!is_index && !whole) || has_one_dialect(one)) return reference_of(one);
    if (is_index) return index_reference(one.config, dialect);
    if (whole == &one) return recompute(*whole, dialect);
    // Where the paper's p2c has changed what is given, its other conventions still are those of the reference.
    for (const Dialect tried : {dialect, dialect == Dialect::paper ? Dialect::reference : dialect}) {
        const Trace all = recompute(*whole, tried);
        if (!gives_the_same(one, all)) continue;
        Trace part;
        for (const std::string& name : one.stages)
            if (const Stage* stage = all.find(name)) part.add(*stage);
        return part;
    }
    return reference_of(one);
}

}  // namespace locus::conformance
