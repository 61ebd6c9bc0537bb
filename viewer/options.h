#pragma once
// From the command line to a first screen.
#include <optional>
#include <string>
#include <vector>

#include "viewer/data/deberta_session.h"
#include "viewer/state/settings.h"
#include "viewer/state/state.h"

namespace locus::cli {
class Command;
}

namespace locus {

/// What the user wrote, as it was written.
struct Options {
    std::string model = "tiny-v3";
    std::optional<std::string> text, tokens, mask, page, cell, theme, size, dialect, screenshot, script;
    std::optional<std::string> report, stage, dumps, mistake;
    std::vector<std::string> set;      // NAME=VALUE of state_fields
    std::vector<std::string> compare;  // one dump against the model, or two against each other
    std::optional<long> layer, head;
    double scale = 1;
    std::vector<std::string> exports, regions;  // one region for all of them, or one for each
    int pixels = 1;
    bool transparent = false;
    bool list_pages = false, list_fields = false, bench = false;
    bool window = false;                  // a script is played in one
    std::optional<std::uint64_t> monkey;  // a seed
    long actions = 10000;
    std::vector<std::string> monkey_pages;
    int width = 1280, height = 800;  // from `size`
};

void add_options(cli::Command& program, Options& options);

/// Checks every value that needs no model.  Throws Error(usage) naming the option and what was expected.
State state_of(Options& options);

/// Throws Error(usage) if a picture or an export would be written over the model, a dump, the report or the script that
/// is read, or over another one.
void check_written(const Options& options);

/// Puts a model of another family on its page and opens it unless the user named a page; gives --text, --tokens and
/// --mask to the family of the shown page.  Returns the DeBERTa to open: the user's or the built-in one.
/// Throws as family_of_model.
std::string place_model(const Options& options, State& state);

/// Opens the report or the dumps that the user named.  Throws Error(unreadable) for a report or a dump that is missing
/// or is something else, and for a dump without the stage that is asked for; each sentence names file and field.
void open_sources(const Options& options, State& state);

/// Checks layer, head and cell against the model and the number of tokens; defaults shrink to fit, values that the user
/// wrote do not.
void fit_to_model(const Options& options, const DebertaSession& session, State& state);

/// Theme, zoom and motion as the settings say, where the command line says nothing.
void recall(const Settings& known, const Options& options, State& state);

/// What --export asks for.  Throws Error(usage) that names the value and what was expected.
std::vector<ExportRequest> export_requests(const Options& options);

/// One sentence for each option that the picture of this page does not depend on.
std::vector<std::string> without_effect(const Options& options, const std::string& page);

/// Throws Error(usage) where the page could not keep what --set said: it was outside the model, or the sentence.
void check_kept(const Options& options, const State& shown);

}  // namespace locus
