// Writes a kit: its cases, what is copied unchanged, and the index with the hash of every file.
#include "core/conformance/kit/export.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/conformance/kit/case.h"
#include "core/conformance/kit/cases.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/sha256.h"
#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"
#include "core/io/torch_pickle.h"
#include "core/json_text.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Stages of other names beside this one, in the same layer or head, say what it is made of where a configuration
/// changes the formula; "" where it is the usual one.
std::string formula_beside(const std::string& stage, const std::set<std::string>& names) {
    const std::size_t dot = stage.rfind('.');
    const std::string scope = stage.substr(0, dot + 1), stem = stage.substr(dot + 1);
    if (stage.find("grad.") != std::string::npos) return "";
    const auto has = [&](const char* other) { return names.contains(scope + other); };
    const bool of_layer = scope.find("layer.") != std::string::npos || scope.find("emd.") != std::string::npos;
    if (of_layer && stem == "output" && has("conv_act")) return "mask * norm(output_before_conv + conv_act)";
    if (of_layer && stem == "probs" && has("scores_mixed")) return "softmax_j(scores_mixed)";
    if (of_layer && stem == "context" && has("probs_mixed")) return "probs_mixed v, heads joined";
    if (of_layer && stem == "scores" && has("c2c") && has("c2p") != has("p2c"))
        return has("c2p") ? "(c2c + c2p) / sqrt(n d), n = 2" : "(c2c + p2c) / sqrt(n d), n = 2";
    if (stem == "logits" && has("clusters")) return "log p(cluster) + log p(word | cluster)";
    return "";
}

struct InputNote {
    const char *name, *axes, *formula;
};

/// What a text comes with, by the name without the number of its segment.
constexpr InputNote kInputNotes[] = {
    {"tokens", "B T", "ids, rows of the word table"},
    {"mask", "B T", "1 = visible; every token is, in cases without one"},
    {"mask", "B Tq Tk", "1 = visible"},
    {"token_types", "B T", "rows of the table of types; in XLNet who shares a segment"},
    {"labels", "B T", "the id to predict at each token; 0: none, but in Transformer-XL and XLNet, where each counts"},
    {"perm_mask", "B Tq Tk", "1 = hidden from the query"},
    {"target_mapping", "B N T", "1 at the token that row n of the query stream predicts"},
    {"input_mask", "B T", "1 = padding"},
};

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

/// Axes and a sentence for an input that is no stage; nothing for one that nobody knows.
const InputNote* note_of_input(const Stage& stage) {
    const std::string name = stage.name.substr(0, stage.name.find('.'));
    const auto found = std::find_if(std::begin(kInputNotes), std::end(kInputNotes), [&](const InputNote& note) {
        return note.name == name && words_of(note.axes).size() == stage.shape().size();
    });
    return found == std::end(kInputNotes) ? nullptr : found;
}

Json describe(const Trace& trace, Scheme scheme, bool with_depends) {
    Json list = Json::array();
    const std::vector<std::string> names = trace.names();
    const std::set<std::string> others(names.begin(), names.end());
    for (const Stage& stage : trace.stages()) {
        const auto known = describe_stage(stage.name, scheme);
        const InputNote* note = with_depends ? nullptr : note_of_input(stage);
        const std::vector<std::string> axes = known ? known->axes : note ? words_of(note->axes) : stage.axes;
        Json entry = {{"name", stage.name}, {"dtype", stage.dtype()}, {"shape", stage.shape()}};
        if (axes.size() == stage.shape().size()) entry["axes"] = axes;
        std::string formula = formula_beside(stage.name, others);
        if (formula.empty()) formula = known && !known->formula.empty() ? known->formula : stage.formula;
        if (note && stage.formula.empty()) formula = note->formula;
        if (!formula.empty()) entry["formula"] = formula;
        if (with_depends) entry["depends"] = depends_of(stage.name, names);
        list.push_back(entry);
    }
    return list;
}

std::string case_json(const CaseContent& content) {
    const bool turned = content.family == Family::deberta && content.dialect == Dialect::paper;
    const Scheme scheme = turned ? Scheme::disentangled_ji : scheme_of(content.family);
    Json json = {{"format", "locus-kit-case"},
                 {"version", kKitVersion},
                 {"id", content.id},
                 {"level", content.id.substr(0, content.id.find('/'))},
                 {"family", to_string(content.family)},
                 {"why", content.why},
                 {"dialect", to_string(content.dialect)},
                 {"source", content.source},
                 {"accuracy", content.accuracy}};
    if (!content.cut_from.empty()) json["cut_from"] = content.cut_from;
    if (!content.checkpoint.empty()) json["checkpoint"] = content.checkpoint.generic_string();
    json["config"] = content.config;
    json["inputs"] = describe(content.inputs, scheme, false);
    json["stages"] = describe(content.reference, scheme, true);
    json["notes"] = content.notes;
    return indented(json) + "\n";
}

/// The weights under the names of their file, always as model.safetensors in float32, which every recorded model is.
void write_model(const fs::path& from, const fs::path& to) {
    fs::create_directories(to);
    fs::copy_file(from / "config.json", to / "config.json");
    if (fs::exists(from / "model.safetensors")) {
        fs::copy_file(from / "model.safetensors", to / "model.safetensors");
        return;
    }
    if (fs::exists(from / "model.safetensors.index.json") || !fs::exists(from / "pytorch_model.bin"))
        throw Error(Fault::unreadable, from.string() + ": its weights lie in shards, expected one file, " +
                                           "model.safetensors or pytorch_model.bin");
    Trace weights;
    for (const TensorEntry& entry : open_torch_pickle(from / "pytorch_model.bin").entries) {
        Stage stage;
        stage.name = entry.name;
        stage.values = read_tensor<float>(entry);
        weights.add(std::move(stage));
    }
    write_trace(to / "model.safetensors", weights);
}

void write_case(const fs::path& root, const CaseContent& content) {
    const fs::path folder = root / "cases" / content.id;
    fs::create_directories(folder);
    write_atomic_file(folder / "case.json", case_json(content));
    write_trace(folder / "inputs.safetensors", content.inputs);  // readers find one everywhere, some of no tensors
    write_trace(folder / "reference.safetensors", content.reference);
    if (!content.model.empty()) write_model(content.model, folder / "model");
}

/// A whole folder, except hidden files and Python's caches.
void copy_tree(const fs::path& from, const fs::path& to) {
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(from)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with('.') || name == "__pycache__") continue;
        if (entry.is_directory())
            copy_tree(entry.path(), to / name);
        else
            fs::copy_file(entry.path(), to / name);
    }
}

/// Hash of every file below a folder, by its name from there.
std::map<std::string, std::string> hashes_below(const fs::path& folder, ExportSummary& summary) {
    std::map<std::string, std::string> hashes;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        const MappedFile file(entry.path());
        hashes[entry.path().lexically_relative(folder).generic_string()] =
            sha256({reinterpret_cast<const char*>(file.data()), file.size()});
        ++summary.files;
        summary.bytes += file.size();
    }
    return hashes;
}

void write_index(const fs::path& root, const std::vector<CaseContent>& contents, ExportSummary& summary) {
    Json cases = Json::array(), files = Json::object();
    std::map<std::string, std::string> all = hashes_below(root, summary);
    for (const CaseContent& content : contents) {
        Json own = Json::object();
        const std::string beginning = "cases/" + content.id + "/";
        for (auto at = all.begin(); at != all.end();) {
            if (at->first.starts_with(beginning)) {
                own[at->first.substr(beginning.size())] = at->second;
                at = all.erase(at);
            } else {
                ++at;
            }
        }
        cases.push_back({{"id", content.id},
                         {"level", content.id.substr(0, content.id.find('/'))},
                         {"family", to_string(content.family)},
                         {"files", own}});
    }
    for (const auto& [name, hash] : all) files[name] = hash;
    const Json json = {{"format", kKitFormat},
                       {"version", kKitVersion},
                       {"generator", "locus 0.1.0, locus kit export"},
                       {"files", files},
                       {"cases", cases}};
    write_atomic_file(root / "kit.json", indented(json) + "\n");
    ++summary.files;
    summary.bytes += fs::file_size(root / "kit.json");
    summary.cases = contents.size();
}

std::vector<CaseContent> all_cases(const fs::path& oracle, const CancelToken& stop) {
    throw_if_cancelled(stop);
    std::vector<CaseContent> cases = index_cases(), whole = recorded_cases(oracle);
    const auto add = [&](std::vector<CaseContent> more) {
        std::move(more.begin(), more.end(), std::back_inserter(cases));
        throw_if_cancelled(stop);
    };
    add(term_cases(whole));
    add(linear_cases(oracle));
    add(layer_cases(whole));
    add(gradient_cases(oracle));
    add(std::move(whole));
    return cases;
}

/// Writes cases, what `copy` adds and the index; the folder appears as a whole or not at all.
ExportSummary write_kit(const fs::path& folder, const std::vector<CaseContent>& cases, const CancelToken& stop,
                        const std::function<void(const fs::path& draft)>& copy) {
    ExportSummary summary;
    write_new_folder(folder, [&](const fs::path& draft) {
        for (const CaseContent& content : cases) {
            throw_if_cancelled(stop);
            write_case(draft, content);
        }
        copy(draft);
        write_index(draft, cases, summary);
    });
    return summary;
}

void require_new(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
        throw Error(Fault::usage, folder.string() + ": is there already, expected a new or an empty folder");
}

/// A folder of the source tree that a kit is copied from.
fs::path require_source(const fs::path& source) {
    const fs::path copied = source / "core/conformance/kit/copied";
    if (!fs::is_directory(copied))
        throw Error(Fault::unreadable,
                    copied.string() + ": no such folder, expected core/conformance/kit/copied of the source tree");
    return copied;
}

void copy_shims(const fs::path& source, const fs::path& draft) {
    const fs::path shims = source / "core/conformance/shims";
    if (fs::is_directory(shims)) copy_tree(shims, draft / "shims");
}

}  // namespace

fs::path source_tree() {
    std::error_code error;
    const fs::path installed = asset_path("source");
    return fs::is_directory(installed, error) ? installed : fs::path(LOCUS_SOURCE_DIR);
}

ExportSummary export_kit(const fs::path& folder, const fs::path& source, const CancelToken& stop) {
    require_new(folder);
    const fs::path copied = require_source(source);
    return write_kit(folder, all_cases(source / "tests/oracle", stop), stop, [&](const fs::path& draft) {
        copy_tree(copied, draft);
        copy_shims(source, draft);
    });
}

ExportSummary export_kit_for(const fs::path& folder, const fs::path& source, const fs::path& model, Dialect dialect,
                             const CancelToken& stop, ModelPlace place) {
    require_new(folder);
    const fs::path copied = require_source(source);
    std::vector<CaseContent> cases = model_cases(model, dialect, stop);
    const fs::path weights = cases.front().checkpoint;
    if (place == ModelPlace::copied)
        for (CaseContent& content : cases)
            content.checkpoint = fs::path("model").lexically_relative(fs::path("cases") / content.id);
    return write_kit(folder, cases, stop, [&](const fs::path& draft) {
        copy_tree(copied / "schema", draft / "schema");
        fs::copy_file(copied.parent_path() / "for_model.md", draft / "README.md");
        copy_shims(source, draft);
        if (place == ModelPlace::copied) write_model(weights, draft / "model");
    });
}

}  // namespace locus::conformance
