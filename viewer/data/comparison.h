#pragma once
// Two sources of one stage: what is asked for, and what came of it.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/models/dialect.h"
#include "core/trace.h"

namespace locus {

/// Where one side of a comparison comes from.
struct CompareSide {
    std::string file;  // a trace or dump; empty: the opened model, with ...
    Dialect dialect = Dialect::official;
    bool exact = false;        // f64 instead of f32
    Index layer = -1;          // another one than the stage names; -1: that one
    std::string mistake = {};  // of the catalogue, "7" or "7.2"; empty: none is made
    std::string text = {};     // a sentence of its own; empty: the one on screen
    std::string model = {};    // another folder or built-in model; empty: the opened one
    bool gpu = false;          // on the graphics card

    bool operator==(const CompareSide&) const = default;
};

struct CompareRequest {
    CompareSide a, b;
    std::string stage;     // empty: nothing is compared
    bool exactly = false;  // another stage does not serve where one side lacks this one

    bool operator==(const CompareRequest&) const = default;
};

/// The mistake that a side makes.
struct SideMistake {
    int number = 0, way = 0;
    std::string name, how, first;           // first: the stage where it begins; empty: it changes nothing here
    Index wrong = 0, size = 0, stages = 0;  // cells of that stage; stages that differ in all
};

struct CompareAnswer {
    std::string error;                // why there is nothing to compare: one sentence, or empty
    Fault fault = Fault::unreadable;  // of the error
    std::string stage;                // the one that was asked for, or the nearest that both sides have
    std::vector<std::string> stages;  // that both sides have, in the order of a model
    Stage a, b;
    double allowed = 0;                            // what rounding explains
    std::vector<std::vector<std::string>> tokens;  // per sample, where a dump says them; else empty
    bool tokens_in_words = false;                  // these are pieces, not ids
    std::vector<std::string> words_a, words_b;     // tokens of the sides that are passes of a model
    std::optional<SideMistake> mistake_a, mistake_b;
};

/// A dump with what its header says beside the stages.
struct OpenedDump {
    std::filesystem::path file;
    std::filesystem::file_time_type written;
    Trace trace;
    std::map<std::string, std::string> stored;     // dtypes in the file
    std::vector<std::vector<std::string>> tokens;  // ids per sample, where the file says them
    std::vector<std::vector<std::string>> pieces;  // the same in words
    std::string model;                             // that made it, as the file names it; mostly empty for a port's
};

/// Throws Error(unreadable) for a file that is missing or no dump, with one sentence.
OpenedDump open_dump(const std::filesystem::path& file);

/// Throws Error(unreadable) where the dump has no such stage; the sentence names both and what wanted it.
void require_stage(const OpenedDump& dump, const std::string& stage, const std::string& wanted_by);

/// Stages that both have; `b_layer` as CompareSide::layer of the second.
std::vector<std::string> common_stages(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                       Index a_layer, Index b_layer);

/// The wanted stage if it is among them, else the same stem of another layer, else the first matrix of scores, else the
/// first.  Empty for an empty list.
std::string nearest_stage(const std::string& wanted, const std::vector<std::string>& stages);

/// Stages without an axis of tokens: those that two sentences of other length still have in one shape.
std::vector<std::string> stages_without_tokens(const std::vector<std::string>& stages);

}  // namespace locus
