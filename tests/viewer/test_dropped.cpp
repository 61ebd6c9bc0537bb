// What lands on the window is looked at before it is opened; what it is not is said in one sentence.
#include "viewer/data/dropped.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "tests/files.h"
#include "viewer/data/check_report.h"
#include "viewer/data/comparison.h"

namespace locus::test::test_dropped {

namespace {

std::string why(const fs::path& path) {
    const Dropped dropped = classify_drop(path);
    INFO(path);
    CHECK(dropped.kind == DropKind::nothing);
    CHECK(dropped.why.find('\n') == std::string::npos);
    CHECK(dropped.why.find(path.filename().string()) != std::string::npos);
    return dropped.why;
}

/// A dump with one stage.
fs::path one_stage(const fs::path& file) {
    Trace trace;
    Tensor<double> values({1, 2, 4, 4});
    for (Index n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n % 5);
    trace.add("layer.0.p2c", std::move(values));
    write_trace(file, trace);
    return file;
}

}  // namespace

TEST_CASE("drop: a folder with a configuration is a model, also by one of its files or a link", "[viewer][desk]") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "model");
    write_bytes(folder / "model" / "config.json", "{}");
    write_bytes(folder / "model" / "model.safetensors", "x");
    fs::create_directory_symlink(folder / "model", folder / "link");
    for (const char* name : {"model", "model/", "model/config.json", "model/model.safetensors"}) {
        const Dropped dropped = classify_drop(folder / name);
        INFO(name << ": " << dropped.why);
        CHECK(dropped.kind == DropKind::model);
        CHECK(dropped.path == folder / "model");
    }
    CHECK(classify_drop(folder / "link").kind == DropKind::model);
    for (const char* name : {"pytorch_model.bin", "model.safetensors.index.json"}) {
        write_bytes(folder / "model" / name, "x");
        INFO(name);
        CHECK(classify_drop(folder / "model" / name).kind == DropKind::model);
        CHECK(classify_drop(folder / "model" / name).path == folder / "model");
    }
    // The same name with nothing beside it is what its bytes are.
    write_bytes(folder / "model.safetensors", "x");
    CHECK_THAT(why(folder / "model.safetensors"), !Catch::Contains("config.json"));
    fs::create_directories(folder / "odd" / "config.json");
    CHECK_THAT(why(folder / "odd"), Catch::Contains("config.json"));
    State state;
    show_dropped(classify_drop(folder / "link"), state);
    CHECK(state.wanted_model == (folder / "link").string());
    CHECK(state.model == "tiny-v3");
}

TEST_CASE("drop: what is nothing says why", "[viewer][desk]") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "photos");
    CHECK_THAT(why(folder / "photos"), Catch::Contains("config.json"));
    CHECK_THAT(why(folder / "nowhere"), Catch::Contains("not there"));
    for (const char* name : {"empty.txt", "empty.safetensors", "empty.json", "empty"}) {
        write_bytes(folder / name, "");
        CHECK_THAT(why(folder / name), Catch::Contains("0 bytes"));
    }
    write_bytes(folder / "picture.png", "\x89PNG");
    CHECK_THAT(why(folder / "picture.png"), Catch::Contains("no kind"));
    write_bytes(folder / "blank.txt", "  \n\t ");
    CHECK_THAT(why(folder / "blank.txt"), Catch::Contains("blanks"));
    write_bytes(folder / "latin.txt", "caf\xe9");
    CHECK_THAT(why(folder / "latin.txt"), Catch::Contains("byte 3") && Catch::Contains("UTF-8"));
    write_bytes(folder / "long.txt", "\xc1\xa1");
    CHECK_THAT(why(folder / "long.txt"), Catch::Contains("UTF-8"));  // "a" in two bytes
    write_bytes(folder / "torn.txt", "abc\xe2\x82");
    CHECK_THAT(why(folder / "torn.txt"), Catch::Contains("byte 3"));
    write_bytes(folder / "list.json", "[1, 2]");
    why(folder / "list.json");
    write_bytes(folder / "torn.safetensors", "12345678901234567890");
    why(folder / "torn.safetensors");
    write_bytes(folder / "torn.npy", "12345678901234567890");
    CHECK_THAT(why(folder / "torn.npy"), Catch::Contains("NumPy"));  // a dump, but not a whole one
    write_bytes(folder / "many.npz", "PK\3\4");
    CHECK_THAT(why(folder / "many.npz"), Catch::Contains("no kind"));
    fs::create_symlink(folder / "gone", folder / "dangling.txt");
    CHECK_THAT(why(folder / "dangling.txt"), Catch::Contains("link"));
    State state;
    show_dropped(classify_drop(folder / "photos"), state);
    CHECK(state.refusal == why(folder / "photos"));
    CHECK(state.wanted_model.empty());
}

TEST_CASE("drop: a NumPy array is a dump of the stage that it is called after", "[viewer][desk]") {
    const TemporaryFolder folder;
    Stage stage;
    stage.values = Tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});
    write_bytes(folder / "layer.0.c2p.npy", npy_of(stage));
    CHECK(classify_drop(folder / "layer.0.c2p.npy").kind == DropKind::dump);
    const OpenedDump dump = open_dump(folder / "layer.0.c2p.npy");
    REQUIRE(dump.trace.names() == std::vector<std::string>{"layer.0.c2p"});
    CHECK(dump.trace.at("layer.0.c2p").at(3) == 4);
    CHECK(dump.stored.at("layer.0.c2p") == "F32");
}

TEST_CASE("drop: a pipe or a device is refused without being opened", "[viewer][desk]") {
    const TemporaryFolder folder;
    REQUIRE(mkfifo((folder / "pipe.txt").c_str(), 0600) == 0);
    CHECK_THAT(why(folder / "pipe.txt"), Catch::Contains("pipe"));  // reading it would wait for ever
    fs::create_symlink("/dev/zero", folder / "zero.txt");
    CHECK_THAT(why(folder / "zero.txt"), Catch::Contains("device"));
}

TEST_CASE("drop: a text becomes the sentence, its beginning where it is long", "[viewer][desk]") {
    const TemporaryFolder folder;
    write_bytes(folder / "a.TXT", "\xef\xbb\xbfthe capital\r\nof\tfrance");
    State state;
    state.tokens = "1,2";
    state.mask = "1,1";
    state.page = "rope";
    const Dropped small = classify_drop(folder / "a.TXT");
    CHECK(small.kind == DropKind::text);
    CHECK(small.text == "the capital \nof france");
    CHECK_FALSE(small.cut);
    show_dropped(small, state);
    CHECK(state.text == "the capital  of france");
    CHECK(state.tokens.empty());
    CHECK(state.mask.empty());
    CHECK(state.page == "attention");
    CHECK(state.notice.empty());
    state.page = "decoder";  // it reads the sentence as well
    show_dropped(small, state);
    CHECK(state.page == "decoder");
    write_bytes(folder / "c.md", "a\x7f\x01z");
    CHECK(classify_drop(folder / "c.md").text == "a  z");
    CHECK(state.text != "untouched");
    state.text = "untouched";

    state.page = "text";
    show_dropped(small, state);
    CHECK(state.text_page.documents == small.text);
    CHECK(state.page == "text");
    CHECK(state.text == "untouched");

    state.page = "training";
    state.training.run = true;
    show_dropped(small, state);
    CHECK(state.training.corpus == small.path.string());
    CHECK_FALSE(state.training.run);
    CHECK(state.page == "training");
    CHECK(state.notice.find("learns from") != std::string::npos);
    state.notice.clear();
    state.page = "text";
    CHECK(state.text == "untouched");

    // The last character that is shown, and the first that is not, whatever number of bytes they have.
    for (const std::string& character : {std::string("x"), std::string("\xc3\xa9"), std::string("\xf0\x9f\x91\xa8")}) {
        std::string exact = "\xef\xbb\xbf";  // a mark that is no character of the text
        for (std::size_t n = 0; n < kDroppedCharacters; ++n) exact += character;
        write_bytes(folder / "exact.txt", exact);
        Dropped all = classify_drop(folder / "exact.txt");
        INFO(all.why);
        CHECK_FALSE(all.cut);
        CHECK(all.text == exact.substr(3));
        write_bytes(folder / "exact.txt", exact + "y");
        all = classify_drop(folder / "exact.txt");
        CHECK(all.cut);
        CHECK(all.text == exact.substr(3));
    }

    std::string large;
    for (int n = 0; n < 100000; ++n) large += "\xc3\xa9";
    write_bytes(folder / "b.txt", large);
    const Dropped cut = classify_drop(folder / "b.txt");
    CHECK(cut.cut);
    CHECK(cut.text.size() == 2 * kDroppedCharacters);
    show_dropped(cut, state);
    CHECK_THAT(state.notice, Catch::Contains("b.txt") && Catch::Contains("4000"));
}

TEST_CASE("drop: a dump, even of one stage, is compared; a report opens where it is red", "[viewer][desk]") {
    const TemporaryFolder folder;
    const fs::path file = one_stage(folder / "port.safetensors");
    State state;
    state.compare.report = std::make_shared<const CheckReport>();  // the one before
    state.compare.locked = true;
    const Dropped dump = classify_drop(file);
    INFO(dump.why);
    REQUIRE(dump.kind == DropKind::dump);
    show_dropped(dump, state);
    CHECK(state.page == "compare");
    CHECK(state.compare.b.file == file.string());
    CHECK(state.compare.a.file.empty());
    CHECK_FALSE(state.compare.report);
    CHECK_FALSE(state.compare.locked);

    write_bytes(folder / "report.json",
                "{\"pass\": false, \"first\": {\"stage\": \"layer.0.p2c\"}, \"diagnosis\": null, \"missing\": [], "
                "\"reference_file\": \"port.safetensors\", \"candidate_file\": \"port.safetensors\", \"stages\": "
                "[{\"stage\": \"layer.0.p2c\", \"pass\": false, \"reason\": \"1 of 32 values outside\", \"index\": [0, "
                "1, 2, 1], \"allowed\": 1e-6, \"wrong\": 1, \"size\": 32}]}");
    const Dropped report = classify_drop(folder / "report.json");
    INFO(report.why);
    REQUIRE(report.kind == DropKind::report);
    show_dropped(report, state);
    REQUIRE(state.compare.report);
    CHECK(state.compare.stage == "layer.0.p2c");
}

}  // namespace locus::test::test_dropped
