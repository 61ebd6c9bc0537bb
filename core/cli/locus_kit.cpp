// locus kit: cases for a port in any language, and the judgement of what it computed.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

#include "core/cli/program.h"
#include "core/cli/words.h"
#include "core/conformance/kit/check.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/export.h"
#include "core/conformance/kit/mistake.h"
#include "core/conformance/kit/rehearse.h"
#include "core/conformance/report/report.h"
#include "core/io/atomic_file.h"
#include "core/io/write_target.h"
#include "core/text/text_table.h"

namespace {

using namespace locus;
using namespace locus::conformance;
namespace fs = std::filesystem;

struct Arguments {
    std::string folder, model, kit, dumps, mistake, command, family, dialect, waivers, junit, html;
    double timeout = kPatience;
    bool json = false, copies_model = false;
};

int run_export(const Arguments& arguments) {
    LOCUS_CHECK(arguments.dialect.empty() || !arguments.model.empty(), "--dialect goes with --for only");
    LOCUS_CHECK(!arguments.copies_model || !arguments.model.empty(), "--copy-model goes with --for only");
    const Dialect dialect = arguments.dialect.empty() ? Dialect::hf : parse_dialect(arguments.dialect);
    const ModelPlace place = arguments.copies_model ? ModelPlace::copied : ModelPlace::stays;
    const ExportSummary summary =
        arguments.model.empty() ? export_kit(arguments.folder, source_tree())
                                : export_kit_for(arguments.folder, source_tree(), arguments.model, dialect, {}, place);
    std::cout << arguments.folder << ": " << summary.cases << " cases, " << summary.files << " files, "
              << summary.bytes / 1000 << " kB; README.md says what to do with them\n";
    return 0;
}

int run_rehearsal(const Arguments& arguments) {
    const Rehearsal done = rehearse(open_kit(arguments.kit), MistakeChoice::parse(arguments.mistake), arguments.dumps);
    std::cout << arguments.dumps << ": mistake " << done.number << "." << done.way << " changes " << done.wrong.size()
              << " cases" << (done.wrong.empty() ? "" : ", the first is " + done.wrong.front()) << '\n';
    return 0;
}

DumpOf dumps_of(const Arguments& arguments) {
    if (!arguments.command.empty())
        return [&arguments](const KitCase& one) -> std::optional<Dump> {
            Dump dump = run_port(arguments.command, one.folder, arguments.timeout);
            if (dump.trace.stages().empty()) return std::nullopt;
            return dump;
        };
    const fs::path dumps = arguments.dumps;
    if (!fs::is_directory(dumps))
        throw Error(Fault::unreadable, dumps.string() + ": no such folder, expected one with dumps");
    return [dumps](const KitCase& one) { return read_dump(dumps, one.id); };
}

int run_check(const cli::Command& program, const Arguments& arguments) {
    LOCUS_CHECK(arguments.dumps.empty() != arguments.command.empty(),
                "expected either a folder with dumps or --run PROGRAM");
    LOCUS_CHECK(arguments.timeout >= 0.001 && arguments.timeout <= 86400,
                "--timeout is " + format_number(arguments.timeout) + ", expected 0.001 to 86400 seconds");
    check_apart({arguments.junit, arguments.html}, {arguments.waivers, arguments.kit + "/kit.json"});
    CheckOptions options;
    options.family = arguments.family;
    if (!arguments.dialect.empty()) options.dialect = parse_dialect(arguments.dialect);
    if (!arguments.waivers.empty()) options.waivers = read_waivers(arguments.waivers);
    options.today = today();
    options.candidate = arguments.command.empty() ? arguments.dumps : arguments.command;
    const Kit kit = open_kit(arguments.kit);
    CheckResult result = check_kit(kit, dumps_of(arguments), options);
    if (!arguments.dumps.empty())
        for (std::string& sentence : strange_dumps(arguments.dumps, kit))
            result.report.errors.push_back(std::move(sentence));
    if (!arguments.junit.empty()) write_atomic_file(arguments.junit, report_junit(result.report));
    if (!arguments.html.empty()) write_atomic_file(arguments.html, report_html(result.report));
    const char* no = std::getenv("NO_COLOR");  // counts when it holds anything
    const bool colour = ::isatty(STDOUT_FILENO) && !(no && *no);
    std::cout << (arguments.json ? report_json(result.report) : report_text(result.report, colour));
    if (result.refusal) {
        cli::say(program, result.refusal->what());
        return result.refusal->exit_status();
    }
    return result.report.pass() ? 0 : 1;
}

void add_mistake(cli::Command& command, MistakeRequest& request) {
    command
        .option("mistake", request.mistake,
                "its number in the catalogue, or a way of making it that locus check --explain lists: 7 or 7.2")
        .not_empty();
    command.option("--model", request.input.model, "model folder, or the name of a built-in one")
        .not_empty()
        .required();
    command.option("--text", request.input.texts, "one or several texts").one_value_each();
    command.option("--tokens", request.input.tokens, "token ids instead of text: 1,2,3").not_empty();
    command.option("--mask", request.input.mask, "1 = visible, for --tokens: 1,1,0").not_empty();
    command.option("--input", request.input.input_file, "a safetensors file, as in locus trace --input").not_empty();
    command
        .option("--segment", request.input.segment,
                "cut the text into segments of so many tokens and hand on the memory (transfo-xl and xlnet with a "
                "mem_len)")
        .within(1, 1000000);
    command.option("--stages", request.stages, "globs (*, ?, [0-3]) separated by commas; all stages if absent")
        .not_empty();
    command.option("--precision", request.precision, "of the dump: f32 or f64").shows_default();
    command.option("--dialect", request.dialect, "of everything but the mistake: reference, official, hf or paper")
        .shows_default();
    command.option("--out", request.out, "write the dump to this safetensors file").not_empty();
    command.flag("--list", request.list, "list what every mistake changes first with this model and input");
    command.flag("--json", request.json, "print JSON");
}

}  // namespace

int main(int argc, char** argv) {
    keep_freed_memory();
    cli::Command program(
        "Cases for a port of DeBERTa, RoFormer, Transformer-XL or XLNet, and the judgement of what it computed.\n"
        "  locus kit export my-kit/\n"
        "  locus kit export my-kit/ --for my-model/\n"
        "  locus kit check my-kit/ dumps/ --family deberta\n"
        "  locus kit check my-kit/ --run \"python3 my_port.py\"\n"
        "  locus kit mistake 7 --model tiny-v3 --text \"tom went to the bakery\" --out wrong.safetensors\n"
        "A dump holds any of the stages of a case: dumps/<id>.safetensors, dumps/<id>/dump.safetensors or\n"
        "dumps/<id>/<stage>.npy; a program writes frames name\\0dtype\\0shape\\0values.  What is not there is not "
        "reported,\n"
        "never wrong.\n"
        "Exit status: 0 all right, 1 something is wrong, 2 wrong usage, 3 unreadable, 4 unsupported.",
        "locus kit");
    program.takes_commands(1, 1);
    Arguments arguments;
    cli::Command exporting =
        program.command("export", "writes the cases, their references and a README into a new folder");
    exporting.option("folder", arguments.folder, "a new or empty folder").required().not_empty();
    exporting
        .option("--for", arguments.model,
                "a model folder, or the name of a built-in one: cases of its real sizes, of its first two layers")
        .not_empty();
    exporting
        .option("--dialect", arguments.dialect,
                "with --for: whose conventions: hf (if absent), official, paper or reference")
        .not_empty();
    exporting.flag("--copy-model", arguments.copies_model,
                   "with --for: its config.json and weights go into the kit, which may then be moved");
    cli::Command checking =
        program.command("check", "finds the first wrong stage of every case, and the mistake behind it");
    checking.option("kit", arguments.kit, "what locus kit export wrote").required().not_empty();
    checking.option("dumps", arguments.dumps, "what the port computed").not_empty();
    checking.option("--run", arguments.command, "a command, started once per case with the case's folder after it")
        .not_empty();
    checking.option("--timeout", arguments.timeout, "with --run: how many seconds one case may take")
        .value_name("SECONDS")
        .shows_default();
    checking.option("--family", arguments.family, "deberta, roformer, transfo-xl or xlnet alone").not_empty();
    checking
        .option("--dialect", arguments.dialect,
                "what the port follows: hf, official, paper or reference; as recorded if absent")
        .not_empty();
    checking.option("--waivers", arguments.waivers, "a JSON file: a list of {id, stage, reason, expires: YYYY-MM-DD}")
        .not_empty();
    checking.option("--junit", arguments.junit, "also write this JUnit file").not_empty();
    checking.option("--html", arguments.html, "also write this page").not_empty();
    checking.flag("--json", arguments.json, "print JSON");
    cli::Command rehearsing =
        program.command("rehearse", "writes the dumps of a port that has everything right but one mistake");
    rehearsing.option("kit", arguments.kit, "what locus kit export wrote").required().not_empty();
    rehearsing.option("dumps", arguments.dumps, "a new or empty folder").required().not_empty();
    rehearsing
        .option("--mistake", arguments.mistake,
                "its number in the catalogue, or a way of making it that locus check --explain lists: 7 or 7.2")
        .required()
        .not_empty();
    MistakeRequest mistake;
    cli::Command making = program.command("mistake", "what a port that makes a mistake of the catalogue would dump");
    add_mistake(making, mistake);
    return cli::run_program(program, cli::name_each_value(argc, argv, "--text"), [&] {
        LOCUS_CHECK(!making.given("--stages") || making.given("--out"),
                    "--stages says what --out holds; --out is missing");
        LOCUS_CHECK(!checking.given("--timeout") || checking.given("--run"), "--timeout goes with --run");
        for (std::string& text : mistake.input.texts) text = cli::readable_text(program, text);
        if (making.chosen()) std::cout << run_mistake(mistake);
        if (making.chosen()) return 0;
        if (rehearsing.chosen()) return run_rehearsal(arguments);
        return exporting.chosen() ? run_export(arguments) : run_check(program, arguments);
    });
}
