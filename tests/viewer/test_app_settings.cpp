// What is remembered lies in one file that is whole or not there; a damaged one is kept aside.
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "tests/files.h"
#include "viewer/data/model_opener.h"
#include "viewer/plots/plot_layout.h"
#include "viewer/state/settings.h"
#include "viewer/ui/characters.h"
#include "viewer/ui/toasts.h"

namespace locus::test::test_app_settings {

namespace {

Settings some_settings() {
    Settings settings;
    settings.recent = {"/models/a b", "tiny-v2"};
    settings.commands = {"page.rope"};
    settings.theme = "contrast";
    settings.zoom = 1.25;
    settings.reduce_motion = true;
    settings.window = WindowPlace{-20, 40, 1300, 900};
    return settings;
}

}  // namespace

TEST_CASE("settings: what was written is read back, in a folder made for it", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder / "deep" / "locus");
    std::string trouble;
    CHECK(file.read(trouble) == Settings{});
    CHECK(trouble.empty());
    file.write(some_settings());
    CHECK(file.read(trouble) == some_settings());
    CHECK(file.peek() == some_settings());
    CHECK(trouble.empty());
    CHECK(std::distance(fs::directory_iterator(folder / "deep" / "locus"), {}) == 1);
}

TEST_CASE("settings: a damaged file is kept aside and said once", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    for (const std::string damage : {"", "{", "[1]", "\x00\xff"}) {
        write_bytes(file.file(), damage);
        CHECK(file.peek() == Settings{});
        CHECK(fs::exists(file.file()));
        std::string trouble;
        CHECK(file.read(trouble) == Settings{});
        CHECK_THAT(trouble, Catch::Contains("settings.damaged.json"));
        CHECK(read_bytes(folder / "settings.damaged.json") == damage);
        CHECK_FALSE(fs::exists(file.file()));
        CHECK(file.read(trouble) == Settings{});
        CHECK(trouble.empty());
    }
}

TEST_CASE("settings: a value that cannot be is left out, the others stay", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    std::string trouble;
    write_bytes(file.file(),
                "{\"theme\": 7, \"zoom\": 99, \"recent\": [\"a\", 3, \"\", \"b\"], \"reduce_motion\": true, "
                "\"window\": {\"x\": 1, \"y\": 2, \"width\": -5, \"height\": 99999999999}, \"other\": null}");
    Settings expected;
    expected.recent = {"a", "b"};
    expected.reduce_motion = true;
    CHECK(file.read(trouble) == expected);
    CHECK(trouble.empty());
    CHECK(fs::exists(file.file()));
}

TEST_CASE("settings: every bound of a value, and the longest lists", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    const auto read = [&](const std::string& json) {
        write_bytes(file.file(), json);
        return file.peek();
    };
    CHECK(read("{\"zoom\": 0.5}").zoom == 0.5);
    CHECK(read("{\"zoom\": 0.4}").zoom == Settings{}.zoom);
    CHECK(read("{\"zoom\": 4}").zoom == 4);
    CHECK(read("{\"zoom\": 4.1}").zoom == Settings{}.zoom);
    const auto window = [&](const std::string& place) { return read("{\"window\": " + place + "}").window; };
    CHECK(window("{\"x\": -5, \"y\": 7, \"width\": 800, \"height\": 600}") == WindowPlace{-5, 7, 800, 600});
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 0, \"height\": 600}"));
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 800, \"height\": -1}"));
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 800, \"height\": 40000}"));
    CHECK_FALSE(window("{\"x\": -40000, \"y\": 2, \"width\": 800, \"height\": 600}"));
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 800}"));
    std::string many = "\"a\"";
    for (int n = 0; n < 1000; ++n) many += ", \"" + std::to_string(n) + "\"";
    CHECK(read("{\"recent\": [" + many + "]}").recent.size() == kRecentModels);
    CHECK(read("{\"commands\": [" + many + "]}").commands.size() == kRecentCommands);
}

TEST_CASE("settings: a path that is no UTF-8 leaves the file readable", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    Settings settings = some_settings();
    settings.recent = {"/models/caf\xe9", "tiny-v2"};
    file.write(settings);
    const Settings read = file.peek();
    REQUIRE(read.recent.size() == 2);
    CHECK(read.recent[1] == "tiny-v2");
    CHECK(read.theme == settings.theme);
}

TEST_CASE("settings: a folder in the place of the file stays, and is said", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    fs::create_directory(file.file());
    std::string trouble;
    CHECK(file.read(trouble) == Settings{});
    CHECK_THAT(trouble, Catch::Contains("settings"));
    CHECK(file.peek() == Settings{});
}

TEST_CASE("settings: a folder that cannot be written is said once and nothing else happens", "[viewer][desk]") {
    const TemporaryFolder folder;
    write_bytes(folder / "file", "in the way");
    SettingsKeeper keeper(SettingsFile(folder / "file" / "locus"), {});
    Settings settings = some_settings();
    CHECK_THAT(keeper.keep(settings, 0), Catch::Contains("cannot be kept"));
    CHECK(keeper.keep(settings, 100).empty());
    CHECK(keeper.keep_at_once(settings).empty());
    CHECK(read_bytes(folder / "file") == "in the way");
}

TEST_CASE("settings: changes are written, but not at every turn of the wheel", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    SettingsKeeper keeper(file, {});
    keeper.keep({}, 0);
    CHECK_FALSE(fs::exists(file.file()));  // nothing changed
    Settings settings = some_settings();
    keeper.keep(settings, 1);
    CHECK(file.peek() == settings);
    fs::remove(file.file());
    keeper.keep(settings, 1 + 2 * SettingsKeeper::kPause);
    CHECK_FALSE(fs::exists(file.file()));  // it was written already
    settings.zoom = 1.25;
    settings.theme = "light";
    keeper.keep(settings, 1 + 3 * SettingsKeeper::kPause);
    CHECK(file.peek() == settings);
    settings.zoom = 2;
    CHECK(std::isinf(keeper.wait(1 + 3.25 * SettingsKeeper::kPause)));
    keeper.keep(settings, 1 + 3.5 * SettingsKeeper::kPause);
    CHECK(file.peek().zoom == 1.25);
    // Nothing else may happen until then: who draws only what changes has to be told.
    CHECK(keeper.wait(1 + 3.5 * SettingsKeeper::kPause) == 0.5 * SettingsKeeper::kPause);
    keeper.keep(settings, 1 + 4 * SettingsKeeper::kPause);
    CHECK(file.peek().zoom == 2);
    CHECK(std::isinf(keeper.wait(1 + 4 * SettingsKeeper::kPause)));
    settings.zoom = 3;
    keeper.keep_at_once(settings);
    CHECK(file.peek().zoom == 3);
}

TEST_CASE("settings: the folder is the user's, never the working one", "[viewer][desk]") {
    CHECK(settings_folder("/x", "/home/me") == fs::path("/x/locus"));
    CHECK(settings_folder(nullptr, "/home/me") == fs::path("/home/me/.config/locus"));
    CHECK(settings_folder("", "/home/me") == fs::path("/home/me/.config/locus"));
    CHECK(settings_folder("relative", "/home/me") == fs::path("/home/me/.config/locus"));
    CHECK_FALSE(settings_folder(nullptr, nullptr));
    CHECK_FALSE(settings_folder(nullptr, "home"));
    CHECK_FALSE(settings_folder("here", "there"));
}

TEST_CASE("settings: the last opened is first, once, and the list stays short", "[viewer][desk]") {
    std::vector<std::string> list;
    for (const char* name : {"a", "b", "a", "c"}) remember(list, name, 4);
    CHECK(list == std::vector<std::string>{"c", "a", "b"});
    for (const char* name : {"d", "e"}) remember(list, name, 4);
    CHECK(list == std::vector<std::string>{"e", "d", "c", "a"});
    CHECK(lasting_name("tiny-v3") == "tiny-v3");
    CHECK(lasting_name(fs::temp_directory_path().string() + "/") == fs::temp_directory_path().string());
}

// Small manners: tooltips beside their cell, sentences that stay long enough, letters in their order, another model.

namespace {

template <class Condition>
bool comes_true(Condition condition) {
    for (int n = 0; n < 20000; ++n) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

}  // namespace

TEST_CASE("tooltip: never over its cell while there is room on any side, always on the screen", "[viewer][desk]") {
    const float wide = 1000, high = 700, gap = 6;
    for (const float size : {3.0f, 40.0f, 200.0f})
        for (float x = 0; x + size <= wide; x += 49)
            for (float y = 0; y + size <= high; y += 43) {
                const Box cell{x, y, x + size, y + size};
                for (const float width : {60.0f, 380.0f}) {
                    const Corner at = tooltip_place(cell, width, 120, wide, high, gap);
                    const Box box{at.x, at.y, at.x + width, at.y + 120};
                    INFO(x << " " << y << " " << size << " " << width);
                    CHECK_FALSE(box.meets(cell));
                    CHECK((box.x0 >= 0 && box.y0 >= 0 && box.x1 <= wide && box.y1 <= high));
                }
            }
    CHECK(tooltip_place({100, 100, 120, 120}, 50, 50, wide, high, gap).x == 126);
    CHECK(tooltip_place({960, 100, 980, 120}, 50, 50, wide, high, gap).x == 904);  // flips to the left
    // Neither beside it, a unit short of its gap: below, where there is room, else above.
    const Corner below = tooltip_place({55, 100, 95, 120}, 50, 50, 100, high, gap);
    CHECK((below.x == 50 && below.y == 126));
    const Corner above = tooltip_place({55, 640, 95, 690}, 50, 50, 100, high, gap);
    CHECK((above.x == 50 && above.y == 584));
    // Nowhere: over the side with most room.
    CHECK(tooltip_place({10, 40, 45, 60}, 60, 60, 100, 100, gap).x == 40);
    CHECK(tooltip_place({55, 40, 90, 60}, 60, 60, 100, 100, gap).x == 0);
    CHECK(tooltip_place({40, 10, 60, 45}, 60, 60, 100, 100, gap).y == 40);
    // A cell as large as the screen: over it, but on the screen.
    const Corner corner = tooltip_place({0, 0, wide, high}, 50, 50, wide, high, gap);
    CHECK((corner.x >= 0 && corner.x <= 950 && corner.y >= 0 && corner.y <= 650));
}

TEST_CASE("toasts: stay to be read, fade where things may move, and go", "[viewer][desk]") {
    Toasts toasts;
    CHECK(toasts.next_change(0, false) > 1e9);
    toasts.add("", true, 0);
    CHECK(toasts.shown().empty());
    toasts.add("saved", false, 0);
    toasts.add("the folder has no config.json", true, 1);
    REQUIRE(toasts.shown().size() == 2);
    const double life = toasts.shown()[0].lifetime();
    CHECK(life > 2);
    CHECK(toasts.shown()[1].lifetime() > life);
    CHECK(Toasts::opacity(toasts.shown()[0], 1, false) == 1);
    CHECK(Toasts::opacity(toasts.shown()[0], life - Toasts::kFade / 2, false) == Approx(0.5));
    CHECK(Toasts::opacity(toasts.shown()[0], life - Toasts::kFade / 2, true) == 1);
    CHECK(toasts.next_change(0, false) == Approx(life - Toasts::kFade));
    CHECK(toasts.next_change(0, true) == Approx(life));
    toasts.update(life);
    REQUIRE(toasts.shown().size() == 1);
    CHECK(toasts.dismiss());
    CHECK_FALSE(toasts.dismiss());
}

TEST_CASE("toasts: the same sentence is shown once, anew, and old ones make room", "[viewer][desk]") {
    Toasts toasts;
    toasts.add("a", false, 0);
    toasts.add("b", false, 1);
    toasts.add("a", false, 2);
    REQUIRE(toasts.shown().size() == 2);
    CHECK(toasts.shown()[1].sentence == "a");
    CHECK(toasts.shown()[1].since == 2);
    for (char c = 'c'; c < 'z'; ++c) toasts.add({c}, false, 3);
    CHECK(toasts.shown().size() == Toasts::kMost);
    CHECK(toasts.shown().back().sentence == "y");
}

TEST_CASE("characters: a box says which one is missing", "[viewer][desk]") {
    CHECK(hex_of(0x1f468) == "1F468");
    CHECK(hex_of(0x41) == "0041");
    CHECK(hex_of(0x10ffff) == "10FFFF");
    CHECK(has_no_shape(0x200d));  // joins the members of an emoji family
    CHECK(has_no_shape(0xfe0f));
    CHECK_FALSE(has_no_shape('a'));
    std::string_view family = "\U0001f468\u200d\U0001f469";
    CHECK(take_character(family) == 0x1f468);
    CHECK(take_character(family) == 0x200d);
    CHECK(take_character(family) == 0x1f469);
    CHECK(family.empty());
    std::string_view torn = "\xe2\x82x";
    CHECK(take_character(torn) == 0xfffd);
    for (const char32_t c : {U'a', U'\u00e9', U'\u05d0', U'\ud55c', U'\U0001f468'}) {
        const std::string bytes = utf8_of(c);
        std::string_view text = bytes;
        CHECK(take_character(text) == c);
        CHECK(text.empty());
    }
}

TEST_CASE("characters: right-to-left letters stand in their order, everything else stays", "[viewer][desk]") {
    CHECK(visual_order("plain text, 1 2 3.") == "plain text, 1 2 3.");
    CHECK(visual_order("\u05d0\u05d1\u05d2") == "\u05d2\u05d1\u05d0");
    CHECK(visual_order("a \u05d0\u05d1 \u05d2\u05d3 b") == "a \u05d3\u05d2 \u05d1\u05d0 b");
    CHECK(visual_order("\u05d0\u05b8\u05d1") == "\u05d1\u05d0\u05b8");  // the vowel stays behind its letter
    CHECK(visual_order("\u0633\u0644\u0627\u0645!") == "\u0645\u0627\u0644\u0633!");
    CHECK(visual_order("\ud55c\uae00") == "\ud55c\uae00");
}

TEST_CASE("worker: what is cancelled is not answered, and stops when it asks", "[viewer][desk]") {
    std::atomic<int> started = 0, stopped = 0;
    Worker<int, int> worker(
        [&](const int& request, const CancelToken& stop) -> std::shared_ptr<const int> {
            ++started;
            if (request == 1)
                while (!stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (stop()) {
                ++stopped;
                return nullptr;
            }
            return std::make_shared<const int>(request * 10);
        },
        [] {});
    CHECK(worker.seconds() == 0);
    worker.submit(1);
    REQUIRE(comes_true([&] { return started == 1; }));
    CHECK(worker.busy());
    worker.cancel();
    CHECK_FALSE(worker.busy());
    CHECK(worker.seconds() == 0);
    REQUIRE(comes_true([&] { return stopped == 1; }));
    CHECK(worker.take() == nullptr);
    worker.submit(2);
    std::shared_ptr<const int> answer;
    REQUIRE(comes_true([&] { return (answer = worker.take()) != nullptr; }));
    CHECK(*answer == 20);
}

TEST_CASE("worker: long work is given up for a newer request", "[viewer][desk]") {
    std::atomic<int> started = 0;
    Worker<int, int> worker(
        [&](const int& request, const CancelToken& stop) -> std::shared_ptr<const int> {
            ++started;
            while (request == 1 && !stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return stop() ? nullptr : std::make_shared<const int>(request * 10);
        },
        [] {});
    worker.submit(1);
    REQUIRE(comes_true([&] { return started == 1; }));
    worker.submit(2);
    std::shared_ptr<const int> answer;
    REQUIRE(comes_true([&] { return (answer = worker.take()) != nullptr; }));
    CHECK(*answer == 20);
}

TEST_CASE("session: gives up between layers, and answers the next request as ever", "[viewer][desk]") {
    const DebertaSession session("tiny-v3");
    const Request request{"the capital of france", "", "", Dialect::official, 3};
    int asked = 0;
    CHECK(session.answer(request, [&] { return ++asked > 2; }) == nullptr);
    CHECK(asked == 3);
    const auto whole = session.answer(request, [] { return false; });
    REQUIRE(whole);
    CHECK(whole->error.empty());
}

TEST_CASE("session: asks in every pass whether to give up, also in the one with I at the input", "[viewer][desk]") {
    const DebertaSession session("tiny-v3");
    const auto asked = [&](bool at_input, int most) {
        Request request{State().text, "", "", Dialect::official, 0, true};
        request.at_input = at_input;
        int times = 0;
        const auto answer = session.answer(request, [&] { return ++times > most; });
        return answer ? times : -1;
    };
    const int without = asked(false, 1000), with = asked(true, 1000);
    REQUIRE(without > 0);
    // One pass more, which takes as many layers as the others.
    CHECK(with >= without + session.config().num_hidden_layers);
    CHECK(asked(true, without + 1) == -1);
}

TEST_CASE("another model: opened beside the window, refused in one sentence, fitted", "[viewer][desk]") {
    ModelOpener opener([] {});
    std::shared_ptr<const OpenedSession> opened;
    opener.open("/nowhere/at/all");
    REQUIRE(comes_true([&] { return (opened = opener.take()) != nullptr; }));
    CHECK_FALSE(opened->session);
    CHECK_THAT(opened->error, Catch::Contains("/nowhere/at/all"));
    opener.open("tiny-v3");
    REQUIRE(comes_true([&] { return (opened = opener.take()) != nullptr; }));
    REQUIRE(opened->session);
    const DebertaSession& session = *opened->session;
    const DebertaSession first("tiny-v3");
    const Request request{"a", "", "", Dialect::official, 0};
    CHECK(session.answer(request)->serial != first.answer(request)->serial);

    State state;
    state.layer = 99;
    state.head = 99;
    state.decoder_head = -1;
    state.compare.stage = "layer.99.p2c";
    state.tokens = "1,2,999999999";
    state.mask = "1,1,1";
    CHECK_FALSE(fit_to_session(session, state).empty());
    CHECK(state.layer == session.config().num_hidden_layers - 1);
    CHECK(state.head == session.config().num_attention_heads - 1);
    CHECK(state.decoder_head == -1);
    CHECK(state.compare.stage == "layer." + std::to_string(state.layer) + ".p2c");
    CHECK(state.tokens.empty());
    CHECK(state.mask.empty());
    state.tokens = "1," + std::to_string(session.config().vocab_size);  // one more than the last
    CHECK_FALSE(fit_to_session(session, state).empty());
    state.tokens = "1," + std::to_string(session.config().vocab_size - 1);
    CHECK(fit_to_session(session, state).empty());
    state.decoder_head = state.compare.head = state.compare.other_head = 99;
    state.compare.a.layer = state.compare.b.layer = 99;
    fit_to_session(session, state);
    const Index last_head = session.config().num_attention_heads - 1;
    CHECK(state.decoder_head == last_head);
    CHECK(state.compare.head == last_head);
    CHECK(state.compare.other_head == last_head);
    CHECK(state.compare.b.layer == session.config().num_hidden_layers - 1);
    // What is compared from files is not this model's.
    state.compare.b.file = "dump.safetensors";
    state.compare.b.layer = state.compare.head = 99;
    fit_to_session(session, state);
    CHECK(state.compare.b.layer == 99);
    CHECK(state.compare.head == (state.compare.from_model() ? last_head : 99));
    state.compare.b.file.clear();
    state.tokens = "1,2";
    CHECK(fit_to_session(session, state).empty());
    CHECK(state.tokens == "1,2");
}

TEST_CASE("text: A to Z become small, the first of a sentence large, and no other letter of any script", "[viewer]") {
    CHECK(capital("zebra z") == "Zebra z");
    CHECK(capital("a") == "A");
    for (const char* same : {"", "`a", "{a", "A", "2 a", "\u00e4rger"}) CHECK(capital(same) == same);
    CHECK(lower_ascii("AZaz@[`{") == "azaz@[`{");
    CHECK(lower_ascii("\u00c4RGER \u0416") == "\u00c4rger \u0416");
}

}  // namespace locus::test::test_app_settings
