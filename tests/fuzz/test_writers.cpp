// Whatever stops a program while it writes, the old file or folder is whole or the new one is, and nothing else stays.
#include <unistd.h>

#include "tests/fuzz/writers.h"
#include "tests/kill_while_writing.h"

namespace locus::test::test_writers {

using Catch::Matchers::Contains;

namespace {

/// Refused in one sentence that names the output; all that was there is still there, and nothing more.
void check_refused(const Writer& writer, const fs::path& out, const std::string& why, const std::string& before = "") {
    const fs::path folder = out.parent_path();
    const auto old = snapshot(folder);
    const Outcome outcome = run(writer.program, writer.arguments(out), before);
    INFO(writer.name << ", " << out << ": " << outcome.err);
    CHECK((outcome.status == 3 || outcome.status == 2));
    CHECK(outcome.sentences() == 1);
    CHECK_THAT(outcome.err, Contains(out.string()) && Contains(why));
    CHECK(snapshot(folder) == old);
}

/// Lines of shell in a namespace of mounts that ends with them.
Outcome in_own_mounts(const std::string& lines) {
    return run_file("/usr/bin/env", {"unshare", ::getuid() == 0 ? "-m" : "-rm", "/bin/sh", "-c", "set -e\n" + lines});
}

bool can_mount() {
    const TemporaryFolder folder;
    return in_own_mounts("mount -t tmpfs -o size=16k none " + quoted(folder.path().string())).status == 0;
}

/// Refused in one sentence that ends in `why`, in a folder that `mount` puts in the place of $PLACE, with a copy of
/// what was prepared in $OLD and a "filler" where it is to be full; all is then as it was.
void check_refused_mounted(const Writer& writer, const std::string& mount, const std::string& why) {
    const TemporaryFolder place, old, said;
    writer.prepare(old / "out");
    fs::create_directory(said / "after");
    const fs::path out = place / "out";
    std::string line = quoted((fs::path(LOCUS_BINARY_DIR) / "bin" / writer.program).string());
    for (const std::string& word : writer.arguments(out)) line += " " + quoted(word);
    const auto to = [&](const char* name) { return quoted((said / name).string()); };
    const Outcome made =
        in_own_mounts("PLACE=" + quoted(place.path().string()) + "\nOLD=" + quoted(old.path().string()) + "\n" + mount +
                      "\n" + line + " >/dev/null 2>" + to("err") + " && status=0 || status=$?\necho $status >" +
                      to("status") + "\nrm -f $PLACE/filler\ncp -a $PLACE/. " + to("after"));
    REQUIRE(made.err.empty());
    const std::string err = read_file(said / "err");
    INFO(err);
    CHECK(std::atoi(read_file(said / "status").c_str()) == 3);
    CHECK(std::count(err.begin(), err.end(), '\n') == 1);
    CHECK_THAT(err, Contains(out.string()) && Contains(why));
    CHECK(snapshot(said / "after") == snapshot(old.path()));
}

/// Those of `names`; a report is one of two that are written alike, and a fresh training writes twice
/// (test_killed_training.cpp).
void kill_writers(const std::vector<std::string>& names, int kills = 50) {
    const WriterInputs inputs;
    std::size_t killed = 0;
    for (const Writer& writer : writers(inputs)) {
        if (std::find(names.begin(), names.end(), writer.name) == names.end()) continue;
        INFO(writer.name);
        check_killed_writes(
            {[&](const fs::path& out) { become(writer.program, writer.arguments(out)); }, writer.prepare}, kills);
        ++killed;
    }
    CHECK(killed == names.size());
}

/// A folder of hundreds of files takes a second: 50 of them are left to the longer run.
constexpr int kKillsOfFolders = 12;

}  // namespace

TEST_CASE("writers: killed at any moment, the old file is whole or the new one is", "[fuzz][writers]") {
    kill_writers({"trace", "check --html", "kit check --junit", "text vectors"});
}

TEST_CASE("writers: an export that is killed leaves no part of a kit", "[fuzz][writers]") {
    kill_writers({"kit export"}, kKillsOfFolders);
}

TEST_CASE("writers: a rehearsal that is killed leaves no part of its dumps", "[fuzz][writers]") {
    kill_writers({"kit rehearse"}, kKillsOfFolders);
}

TEST_CASE("writers: a training that is killed leaves the old model or the new one", "[fuzz][writers]") {
    kill_writers({"train --resume"}, kKillsOfFolders);
}

TEST_CASE("writers: folders whose writing is killed at 50 moments", "[.][long]") {
    kill_writers({"kit export", "kit rehearse", "train --resume"});
}

TEST_CASE("writers: on a full disk the old output stays, and nothing else", "[fuzz][writers]") {
    const WriterInputs inputs;
    const bool mounts = can_mount();
    if (!mounts) WARN("not with a small file system: none can be mounted here; files that may not grow stand for it");
    for (const Writer& writer : writers(inputs)) {
        INFO(writer.name);
        if (writer.program != "locus-train") {  // its scratch folder meets this limit first
            const TemporaryFolder folder;
            writer.prepare(folder / "out");
            // What is no longer than the limit does not meet it.
            const TemporaryFolder free;
            REQUIRE(run(writer.program, writer.arguments(free / "out")).status <= 1);
            if (!fs::is_regular_file(free / "out") || fs::file_size(free / "out") > 1024)
                check_refused(writer, folder / "out", "cannot be written", "ulimit -f 1; exec >/dev/null; ");
        }
        if (mounts)
            check_refused_mounted(writer,
                                  "mount -t tmpfs -o size=$(($(du -s $OLD | cut -f1) + 24))k none $PLACE\n"
                                  "cp -a $OLD/. $PLACE\n"
                                  "cat /dev/zero > $PLACE/filler 2>/dev/null || true",
                                  "No space left on device");
    }
}

TEST_CASE("writers: a folder that may not be written stays as it is", "[fuzz][writers]") {
    if (!can_mount()) {
        WARN("skipped: nothing can be mounted here, and root may write into every other folder");
        return;
    }
    const WriterInputs inputs;
    for (const Writer& writer : writers(inputs)) {
        INFO(writer.name);
        check_refused_mounted(writer,
                              "cp -a $OLD/. $PLACE\nmount --bind $PLACE $PLACE\nmount -o remount,ro,bind $PLACE",
                              "Read-only file system");
    }
}

TEST_CASE("writers: what is in the way of the output is refused, and stays", "[fuzz][writers]") {
    const WriterInputs inputs;
    for (const Writer& writer : writers(inputs)) {
        if (writer.resumes) continue;  // it is refused for what is not there
        const TemporaryFolder folder;
        fs::create_directories(folder / "taken/inside");
        write_file(folder / "file", "a file");
        fs::create_symlink("loop", folder / "loop");
        if (writer.folder) {
            check_refused(writer, folder / "file", "");
            check_refused(writer, folder / "taken", "");
        } else {
            check_refused(writer, folder / "taken", "cannot be written: there is a folder of that name");
        }
        check_refused(writer, folder / "loop", "Too many levels of symbolic links");
        const fs::path below = folder / "file" / "out";
        const Outcome outcome = run(writer.program, writer.arguments(below));
        INFO(writer.name << ": " << outcome.err);
        CHECK(outcome.status == 3);
        CHECK_THAT(outcome.err, Contains(below.string()) && Contains("Not a directory"));
        CHECK(folder.count() == 3);
    }
}

TEST_CASE("writers: a link stays, and what it points to is written", "[fuzz][writers]") {
    const WriterInputs inputs;
    for (const Writer& writer : writers(inputs)) {
        if (writer.resumes) continue;
        INFO(writer.name);
        const TemporaryFolder folder;
        fs::create_directory(folder / "there");
        const fs::path target = folder / "there" / "target";
        const auto written = [&](const std::string& link) {
            const Outcome outcome = run(writer.program, writer.arguments(folder / link));
            INFO(link << ": " << outcome.err);
            CHECK(outcome.status == 0);
            CHECK(fs::is_symlink(folder / link));
            CHECK(listing(folder / "there") == std::vector<std::string>{"target"});
            CHECK((writer.folder ? fs::is_directory(target) && !fs::is_empty(target)
                                 : fs::is_regular_file(target) && fs::file_size(target) > 100));
            fs::remove_all(target);
        };
        fs::create_symlink("there/target", folder / "first");  // points to nothing yet
        written("first");
        fs::create_symlink("first", folder / "second");
        writer.folder ? static_cast<void>(fs::create_directory(target)) : write_file(target, "old");
        written("second");
    }
}

}  // namespace locus::test::test_writers
