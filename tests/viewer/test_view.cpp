// The viewer as a program: options, refusals, and a picture of every page.
#include <sys/stat.h>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <set>

#include "core/io/safetensors.h"
#include "tests/run_program.h"
#include "tests/sanitizers.h"
#include "tests/viewer/picture_likeness.h"
#include "tests/viewer/run_view.h"

namespace locus::test::test_view {

namespace {

/// How many different colours a picture has; 0 if it cannot be read or has another size.
std::size_t colours_of(const fs::path& file, int width, int height) {
    const Picture picture = read_picture(file);
    if (picture.width != width || picture.height != height) return 0;
    std::set<std::uint32_t> colours;
    for (std::size_t n = 0; n < picture.rgb.size(); n += 3)
        colours.insert(picture.rgb[n] | picture.rgb[n + 1] << 8u | picture.rgb[n + 2] << 16u);
    return colours.size();
}

/// Two dumps that differ in one cell, and what a check would say of them.
struct Report {
    Report(const TemporaryFolder& folder, const std::string& stage, double found = 9)
        : file(folder / "report.json"), candidate(folder / "candidate.safetensors") {
        for (const bool right : {true, false}) {
            locus::Trace trace;
            locus::Tensor<double> values({1, 2, 4, 4});
            for (locus::Index n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n % 5);
            if (!right) values[25] = found;
            trace.add("layer.0.p2c", std::move(values));
            locus::write_trace(right ? folder / "reference.safetensors" : candidate, trace);
        }
        write_file(file, "{\"pass\": false, \"first\": {\"stage\": \"" + stage +
                             "\"}, \"diagnosis\": null, \"missing\": [\"layer.0.k\"], \"reference_file\": "
                             "\"reference.safetensors\", \"candidate_file\": \"candidate.safetensors\", \"stages\": "
                             "[{\"stage\": \"" +
                             stage +
                             "\", \"pass\": false, \"reason\": \"1 of 32 values outside\", \"index\": [0, 1, 2, 1], "
                             "\"allowed\": 1e-6, \"wrong\": 1, \"size\": 32}]}");
    }
    fs::path file, candidate;
};

}  // namespace

TEST_CASE("view: a crash in a test says in which library it was", "[viewer][cli]") {
    if (kSanitized || std::string(LOCUS_BINARY_DIR).find_first_of(" :'\"$\\") != std::string::npos) return;
    const Outcome fine = run_file("/bin/sh", {"-c", traced() + "sh -c 'exit 3'"});
    CHECK(fine.status == 3);
    CHECK(fine.err.empty());
    const Outcome crashed = run_file("/bin/sh", {"-c", traced() + "sh -c 'kill -SEGV $$'"});
    CHECK(crashed.status == 128 + SIGSEGV);
    CHECK(crashed.err.find("libc.so") != std::string::npos);
}

TEST_CASE("view: the pages there are", "[viewer][cli]") {
    CHECK(run("locus-view", {"--list-pages"}).out ==
          "start\npositions\nattention\ndecoder\nrope\ntransformer-xl\npermutation\ntext\ncompare\nconformance\n"
          "training\n");
}

TEST_CASE("view: cells of differences that would all say 0 say nothing", "[viewer][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const auto zeros = [](double found) {
        const TemporaryFolder folder;
        const std::string report = Report(folder, "layer.0.p2c", found).file.string();
        const fs::path svg = folder / "difference.svg";
        const Outcome outcome = view({"--report", report, "--export", svg.string(), "--region", "B-A"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        const std::string picture = read_file(svg);
        std::ptrdiff_t count = 0;
        for (std::size_t at = 0; (at = picture.find(">0</text>", at)) != std::string::npos; ++at) ++count;
        return count;
    };
    CHECK(zeros(9) == 2 + 15);  // of both axes, and of the cells that are right
    CHECK(zeros(1e-5) == 2);
}

TEST_CASE("view: the number of a marked cell stands on its mark, in ink that can be read there", "[viewer][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no window can be opened");
        return;
    }
    const TemporaryFolder folder;
    for (const std::string theme : {"light", "dark"}) {
        const fs::path file = folder / (theme + ".png");
        const Outcome outcome =
            view({"--page", "positions", "--theme", theme, "--size", "1280x800", "--set", "positions.kind=clamp",
                  "--set", "positions.length=8", "--set", "positions.span=4", "--set", "positions.cell=5,2", "--set",
                  "positions.locked=yes", "--screenshot", file.string()});
        INFO(theme << ": " << outcome.err);
        REQUIRE(outcome.status == 0);
        const Picture picture = read_picture(file);
        REQUIRE(picture.width == 1280);
        // Inside the chosen cell of the right matrix: its ground, and the 7.
        int darkest = 255, brightest = 0;
        for (int y = 386; y < 416; ++y)
            for (int x = 708; x < 736; ++x) {
                const std::uint8_t* pixel = picture.at(x, y);
                const int light = (pixel[0] + pixel[1] + pixel[2]) / 3;
                darkest = std::min(darkest, light);
                brightest = std::max(brightest, light);
            }
        CHECK(brightest - darkest > 150);
    }
}

TEST_CASE("view: --model names the model as every other verb has it", "[viewer][cli]") {
    const Outcome named = run("locus-view", {"--model", "tiny-roformer", "--list-fields"});
    CHECK(named.status == 0);
    CHECK(named.out.find("rope.model=tiny-roformer\n") != std::string::npos);
    CHECK(named.out.find("page=rope\n") != std::string::npos);
    CHECK(run("locus-view", {"tiny-roformer", "--list-fields"}).out == named.out);
    CHECK(run("locus-view", {"tiny-v3", "--model", "tiny-roformer", "--list-fields"}).status == 2);
}

TEST_CASE("view: wrong values are refused before a window opens", "[viewer][cli]") {
    const auto refusal = [](const std::vector<std::string>& arguments, int status, const std::string& named) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(named) != std::string::npos);
    };
    refusal({"--page", "paintings"}, 2, "paintings");
    refusal({"--theme", "blue"}, 2, "blue");
    refusal({"--size", "100x100"}, 2, "100x100");
    refusal({"--size", "wide"}, 2, "wide");
    refusal({"--cell", "3"}, 2, "--cell");
    refusal({"--dialect", "latin"}, 2, "latin");
    refusal({"--text", " "}, 2, "empty");
    refusal({"/nowhere/at/all"}, 3, "/nowhere/at/all");
    refusal({}, 3, "no display");
    refusal({"--report", "/nowhere/report.json"}, 3, "/nowhere/report.json");
    refusal({"--compare", "/nowhere/dump.safetensors"}, 3, "/nowhere/dump.safetensors");
    refusal({"--report", "a.json", "--compare", "b"}, 2, "--compare");
    const TemporaryFolder folder;
    write_file(folder / "prose.json", "all is well");
    refusal({"--report", (folder / "prose.json").string()}, 3, "not valid JSON");
    write_file(folder / "other.json", "{\"pass\": true}");
    refusal({"--report", (folder / "other.json").string()}, 3, "stages");
    Report report(folder, "layer.0.p2c");
    fs::remove(report.candidate);
    refusal({"--report", report.file.string()}, 3, "candidate.safetensors");
    report = Report(folder, "layer.7.p2c");
    refusal({"--report", report.file.string()}, 3, "layer.7.p2c");
}

TEST_CASE("view: the top bar names the report that is shown, not the opened model", "[viewer][script]") {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    const Report report(folder, "layer.0.p2c");
    write_file(folder / "card.json", R"({"actions": [{"wait": "settled"}, {"assert": {"text": "report of 1 case"}},
        {"assert": {"no_text": "6 layers"}}]})");
    const Outcome outcome = view({"--report", report.file.string(), "--script", "card.json"}, folder.path());
    INFO(outcome.err);
    CHECK(outcome.status == 0);
}

TEST_CASE("view: of an option that cannot change the picture a note says so", "[viewer][script]") {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    const auto said = [&](const std::string& page, const std::vector<std::string>& given) {
        std::vector<std::string> words = {"--page", page, "--screenshot", "x.png"};
        words.insert(words.end(), given.begin(), given.end());
        const Outcome outcome = view(words, folder.path());
        INFO(outcome.err);
        CHECK(outcome.status == 0);
        return outcome.err;
    };
    CHECK_THAT(said("positions", {"--text", "one two", "--layer", "0"}),
               Catch::Contains("note: --text changes nothing on the page positions") &&
                   Catch::Contains("note: --layer changes nothing on the page positions"));
    CHECK_THAT(said("text", {"--head", "0"}), Catch::Contains("note: --head changes nothing on the page text"));
    CHECK_THAT(said("attention", {"--text", "one two", "--head", "0"}), !Catch::Contains("note:"));
    CHECK_THAT(said("transformer-xl", {"--dialect", "hf"}), Catch::Contains("which computes the dialect reference"));
    CHECK_THAT(said("rope", {"--dialect", "paper"}), Catch::Contains("which computes the dialect official"));
    CHECK_THAT(said("text", {"--dialect", "hf"}), Catch::Contains("note: --dialect changes nothing on the page text"));
    CHECK_THAT(said("permutation", {"--dialect", "hf"}), !Catch::Contains("note:"));
}

TEST_CASE("view: an option is that of the page, where the page has such a thing", "[viewer][script]") {
    if (!has_virtual_display()) return;
    const auto shows = [](std::vector<std::string> arguments, const std::vector<std::array<std::string, 2>>& fields) {
        const TemporaryFolder folder;
        std::string actions = R"({"wait": "settled"})";
        for (const auto& [field, value] : fields)
            actions += R"(, {"assert": {"field": ")" + field + R"(", "is": ")" + value + "\"}}";
        write_file(folder / "fields.json", "{\"actions\": [" + actions + "]}");
        arguments.insert(arguments.begin(), {"--script", "fields.json", "--page"});
        const Outcome outcome = view(arguments, folder.path());
        INFO(outcome.err);
        CHECK(outcome.status == 0);
    };
    shows({"training", "--layer", "0", "--head", "1", "--cell", "2,4", "--text", "the dog chased the [MASK]."},
          {{"training.layer", "0"},
           {"training.head", "1"},
           {"training.cell", "2,4"},
           {"training.text", "the dog chased the [MASK]."},
           {"training.masked", ""},
           {"text", "a new [MASK] opened beside the new [MASK]."}});
    shows({"text", "--text", "one two three"}, {{"text_page.documents", "one two three"}});
    shows({"positions", "--cell", "2,7"}, {{"positions.cell", "2,7"}, {"positions.locked", "yes"}});
    shows({"decoder", "--head", "2"}, {{"decoder.head", "2"}});
    shows({"compare", "--dialect", "paper"}, {{"compare.a.dialect", "paper"}, {"compare.b.dialect", "official"}});
    shows({"compare", "--dialect", "hf"}, {{"compare.a.dialect", "hf"}, {"compare.b.dialect", "paper"}});
    const Outcome outside = view({"--page", "training", "--layer", "7", "--screenshot", "x.png"});
    CHECK(outside.status == 2);
    CHECK(outside.err.find("--layer is 7, which the page does not have") != std::string::npos);
}

TEST_CASE("view: every page becomes a picture", "[viewer][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    for (const std::string page : {"start", "positions", "attention", "decoder", "rope", "transformer-xl",
                                   "permutation", "text", "compare", "training"}) {
        // One theme each: test_screens.cpp looks at every page in both.
        const std::string theme = page.size() % 2 == 0 ? "dark" : "light";
        const fs::path picture = folder / (page + ".png");
        const Outcome outcome =
            view({"--page", page, "--theme", theme, "--size", "1000x700", "--screenshot", picture.string()});
        INFO(page << " " << theme << ": " << outcome.err);
        CHECK(outcome.status == 0);
        CHECK(colours_of(picture, 1000, 700) > 200);
    }
}

TEST_CASE("view: a report opens on its first red stage, in both themes", "[viewer][cli][compare]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const Report report(folder, "layer.0.p2c");
    for (const std::string theme : {"dark", "light"}) {
        const fs::path picture = folder / (theme + ".png");
        const Outcome outcome = view({"--report", report.file.string(), "--theme", theme, "--size", "1000x700",
                                      "--screenshot", picture.string()});
        INFO(theme << ": " << outcome.err);
        CHECK(outcome.status == 0);
        CHECK(colours_of(picture, 1000, 700) > 200);
    }
}

TEST_CASE("view: a report of two files, which are no named case, is drawn on page Conformance",
          "[viewer][cli][conformance]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const fs::path picture = folder / "page.png";
    const Outcome outcome = view({"--report", Report(folder, "layer.0.p2c").file.string(), "--page", "conformance",
                                  "--size", "1000x700", "--screenshot", picture.string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(colours_of(picture, 1000, 700) > 100);
}

TEST_CASE("view: a stage of another shape is drawn beside the reference's, and there is no difference",
          "[viewer][cli][conformance]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const auto dump = [&](const char* name, const locus::Shape& shape) {
        locus::Trace trace;
        locus::Tensor<double> values(shape);
        for (locus::Index n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n) / 7;
        trace.add("layer.0.p2c", std::move(values));
        locus::write_trace(folder / name, trace);
        return (folder / name).string();
    };
    // The port took heads and queries for each other.
    const Outcome judged = run(
        "locus-check", {dump("reference.safetensors", {1, 2, 4, 4}), dump("port.safetensors", {1, 4, 2, 4}), "--json"});
    REQUIRE(judged.status == 1);
    write_file(folder / "report.json", judged.out);
    const fs::path numbers = folder / "page.safetensors", picture = folder / "page.png";
    const Outcome drawn = view({"--report", (folder / "report.json").string(), "--page", "conformance", "--set",
                                "conformance.stage=layer.0.p2c", "--export", numbers.string(), "--region", "page",
                                "--export", picture.string(), "--region", "page"});
    INFO(drawn.err);
    REQUIRE(drawn.status == 0);
    const locus::Trace page = locus::read_trace(numbers);
    REQUIRE(page.stages().size() == 2);
    CHECK(page.stages()[0].shape() == locus::Shape{4, 4});
    CHECK(page.stages()[1].shape() == locus::Shape{2, 4});
    CHECK(page.stages()[1].at(7) == 1);
}

TEST_CASE("view: every dialect has a picture, and the reference is drawn as the official code", "[viewer][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing");
        return;
    }
    const TemporaryFolder folder;
    std::string official, reference;
    for (const std::string dialect : {"official", "reference", "hf", "paper"}) {
        const fs::path picture = folder / (dialect + ".png");
        const Outcome outcome = view({"--dialect", dialect, "--size", "1000x700", "--screenshot", picture.string()});
        INFO(dialect << ": " << outcome.err);
        REQUIRE(outcome.status == 0);
        if (dialect == "official") official = colours_of(picture, 1000, 700) > 200 ? read_file(picture) : "";
        if (dialect == "reference") reference = read_file(picture);
        if (dialect == "paper") CHECK(read_file(picture) != official);
    }
    CHECK(reference == official);
}

TEST_CASE("view: a selection outside the model or the text is refused and leaves no picture", "[viewer][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing");
        return;
    }
    const TemporaryFolder folder;
    const std::string picture = (folder / "picture.png").string();
    for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
             {"--cell", "3,99"}, {"--head", "17"}, {"--layer", "17"}, {"--stage", "zz"}, {"--stage", "layer.6.p2c"}}) {
        std::vector<std::string> arguments = {"--screenshot", picture};
        arguments.insert(arguments.end(), wrong.begin(), wrong.end());
        const Outcome outcome = view(arguments);
        INFO(wrong[0] << ": " << outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.err.find(wrong[0].substr(2)) != std::string::npos);
        CHECK(listing(folder.path()).empty());
    }
}

TEST_CASE("view: a stage goes with the page compare, and a picture is never written over what is read",
          "[viewer][cli]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    fs::copy(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", model);
    const std::string weights = (model / "pytorch_model.bin").string(), picture = (folder / "picture.png").string();
    const std::string report = (folder / "report.json").string();
    write_bytes(report, "{}");
    const std::string before = read_bytes(weights);
    const std::pair<std::vector<std::string>, const char*> wrong[] = {
        {{"--page", "attention", "--stage", "layer.0.p2c", "--screenshot", picture}, "--stage goes with the page"},
        {{"--model", model.string(), "--screenshot", weights}, "is read as"},
        {{"--model", model.string(), "--export", picture, "--screenshot", picture}, "is to be written twice"},
        {{"--report", report, "--screenshot", report}, "is read as"},
        {{"--compare", weights, "--screenshot", weights}, "is read as"},
    };
    for (const auto& [arguments, sentence] : wrong) {
        const Outcome outcome = run("locus-view", arguments);
        INFO(sentence << ": " << outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.err.find(sentence) != std::string::npos);
    }
    CHECK((read_bytes(weights) == before));
    CHECK_FALSE(fs::exists(picture));
}

// What nobody expects of a user, and every user does: each is shown, or refused in one sentence; nothing crashes.

namespace {

bool has_display_program() { return std::system("command -v xvfb-run Xvfb xauth >/dev/null") == 0; }

/// As a user would, on a display nobody sees, with settings of its own.
Outcome look(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
    Outcome outcome = run("locus-view", arguments,
                          "XDG_CONFIG_HOME=" + quoted((folder / "config").string()) +
                              " xvfb-run -a -n $((5300 + $$ % 5000)) -s '-screen 0 1280x800x24' "
                              "sh -c '\"$0\" \"$@\"; echo \"status $?\" >&2' ");
    const std::size_t at = outcome.err.find("status ");
    if (at == std::string::npos) return outcome;
    outcome.status = std::atoi(outcome.err.c_str() + at + 7);
    outcome.err.erase(at);
    return outcome;
}

std::string repeated(const std::string& part, int times) {
    std::string text;
    for (int n = 0; n < times; ++n) text += part;
    return text;
}

}  // namespace

TEST_CASE("view: one token, 600 tokens, 5000 characters, right to left, a family of emoji: all are drawn",
          "[viewer][cli][desk]") {
    if (!has_display_program()) {
        WARN("skipped: xvfb-run is missing");
        return;
    }
    const TemporaryFolder folder;
    const std::pair<const char*, std::string> texts[] = {
        {"one", "a"},
        {"600", repeated("a ", 600)},
        {"5000", repeated("the mall is open. ", 278)},
        {"hebrew", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"},
        {"arabic", "\u0633\u0644\u0627\u0645"},
        {"family", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 at home"},
    };
    for (const auto& [name, text] : texts) {
        const fs::path picture = folder / (std::string(name) + ".png");
        const Outcome outcome = look(folder, {"--text", text, "--size", "1000x700", "--screenshot", picture.string()});
        INFO(name << ": " << outcome.err);
        CHECK(outcome.status == 0);
        CHECK(fs::exists(picture));
    }
    // Pictures neither read nor write what is remembered.
    CHECK_FALSE(fs::exists(folder / "config"));
}

TEST_CASE("view: two documents of six thousand words are drawn without measuring every beginning of every line",
          "[viewer][cli][text_page]") {
    if (!has_display_program()) {
        WARN("skipped: xvfb-run is missing");
        return;
    }
    const std::string seconds = std::to_string(40 * kPatience);  // of processor time: about four are needed
    std::string documents;
    for (int word = 0; word < 12000; ++word)
        documents += "w" + std::string(1, static_cast<char>('a' + word * 7 % 26)) + std::to_string(word * 5 % 9000) +
                     (word == 5999 ? "\n" : " ");
    const TemporaryFolder folder;
    const fs::path picture = folder / "long.png";
    const Outcome outcome =
        view({"--page", "text", "--set", "text_page.documents=" + documents, "--screenshot", picture.string()},
             folder.path(), "ulimit -t " + seconds + "; ");
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(fs::exists(picture));
}

TEST_CASE("view: blanks, a folder without a model, empty and foreign files are refused in one sentence",
          "[viewer][cli][desk]") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::vector<std::string>& arguments, int status, const std::string& named) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(named) != std::string::npos);
    };
    fs::create_directory(folder / "photos");
    write_file(folder / "empty.safetensors", "");
    refused({"--text", "   "}, 2, "empty");
    refused({(folder / "photos").string()}, 3, "config.json");
    refused({"--compare", (folder / "empty.safetensors").string()}, 3, "empty.safetensors");
    refused({"--report", (folder / "empty.safetensors").string()}, 3, "empty.safetensors");
}

TEST_CASE("view: a display that goes away ends the program in one sentence, and settings are kept",
          "[viewer][cli][desk]") {
    if (!has_display_program()) {
        WARN("skipped: Xvfb is missing");
        return;
    }
    const TemporaryFolder folder;
    const std::string said = (folder / "said").string();
    const std::string script =
        "cd " + quoted(folder.path().string()) +
        "; Xvfb -displayfd 3 -screen 0 1280x800x24 3>number 2>/dev/null & server=$!; "
        "for n in $(seq 100); do [ -s number ] && break; sleep 0.1; done; "
        "XDG_CONFIG_HOME=$PWD/config DISPLAY=:$(cat number) " +
        quoted((fs::path(LOCUS_BINARY_DIR) / "bin" / "locus-view").string()) +
        " tiny-v3 2>said & viewer=$!; "
        "for n in $(seq 100); do [ -e config/locus/settings.json ] && break; sleep 0.1; done; sleep 1; "
        "kill $server; for n in $(seq 100); do kill -0 $viewer 2>/dev/null || break; sleep 0.1; done; "
        "kill -9 $viewer 2>/dev/null; wait $viewer";
    const int status = std::system(("sh -c " + quoted(script)).c_str());
    const std::string sentence = read_file(said);
    INFO(sentence);
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(sentence.find("display went away") != std::string::npos);
    CHECK(std::count(sentence.begin(), sentence.end(), '\n') == 1);
    CHECK(read_file(folder / "config" / "locus" / "settings.json").find("tiny-v3") != std::string::npos);
}

}  // namespace locus::test::test_view
